"""Scalar promotion: a local scalar that ends up in an array element lives there throughout, where that exposes a
recurrence or removes a copy.

Before: w = 0;        for k { w += A[i, k] * x[k] };     x[i] = (b[i] - w) / A[i, i]
After:  x[i] = b[i];  for k { x[i] += -(A[i, k] * x[k]) };  x[i] = x[i] / A[i, i]

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. n { w[] = b[i] for k in 0 .. i { w[] += -(A[i, k] * x[k]) } x[i] = w[] }"
>>> head = "kernel trsv(n; A: f64[n, n], b: f64[n], x: f64[n]) { alloc w: f64[] "
>>> print(print_stmt(settle(parse_kernel(head + text + " }")).body))
{
  for i in 0 .. n {
    x[i] = b[i]
    for k in 0 .. i {
      x[i] += -(A[i, k] * x[k])
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.ir.expr import Binary, Const, Expr, Load, Unary, type_of
from planish.ir.nest import Alloc, Array, Assign, Block, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import (
    bindings,
    blocks_of,
    children,
    expressions,
    loads,
    map_block,
    map_expr,
    map_exprs,
    variables,
    walk,
    with_blocks,
    with_children,
)
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import Scop, Statement, extract_scop

IN, OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class _Run:
    """Statements of a block, those from the first that gives an accumulator a value to its last use (`body`): the first
    of them is at `at`, its first assignment has the number `first` in the kernel, and `stop` says which of them stores
    the accumulator's value, which does not change any more."""

    block: Block
    at: int
    body: tuple[Stmt, ...]
    first: int
    stop: int

    @property
    def start(self) -> Assign:
        """What the accumulator begins with."""
        assert isinstance(self.body[0], Assign)
        return self.body[0]

    @property
    def end(self) -> Assign:
        """What stores the accumulator's value: an update is what it assigns."""
        end = self.body[self.stop]
        assert isinstance(end, Assign | Reduce)
        if isinstance(end, Assign):
            return end
        assert end.op == "add"
        old = Load(end.array, end.index, type_of(end.value))
        return Assign(end.array, end.index, Binary("add", old, end.value), end.span, end.label)

    @property
    def cell(self) -> Load:
        """The accumulator."""
        return Load(self.start.array, self.start.index, type_of(self.start.value))

    @property
    def place(self) -> Load:
        """Where its value ends."""
        return Load(self.end.array, self.end.index, type_of(self.end.value))


def settle(kernel: Kernel, reassociate: bool = True, everywhere: bool = False) -> Kernel:
    """The kernel with such accumulators where they are stored to; the same one where there are none. Without
    `reassociate`, only those that nothing is added to in the end; `everywhere`: also where that exposes nothing."""
    # Where one ends in another, that one has to settle first.
    while (settled := _settle_once(kernel, reassociate, everywhere)) is not kernel:
        kernel = settled
    return kernel


def _settle_once(kernel: Kernel, reassociate: bool, everywhere: bool) -> Kernel:
    """The kernel with one accumulator less, if that is possible."""
    for array in [x.array for x in walk(kernel.body) if isinstance(x, Alloc)]:
        run = _find(array, kernel, everywhere)
        if run is None or not _may_settle(run, kernel):
            continue
        body = (_absorbed(run) if reassociate else None) or _renamed(run)
        if body is not None:
            return replace(kernel, body=_replaced(kernel.body, run, body, array))
    return kernel


def _find(array: Array, kernel: Kernel, everywhere: bool) -> _Run | None:
    """The statements in which a local array is one accumulator that ends in a recurrence (`everywhere`: or not), if
    that is all it is."""
    total = _count(kernel.body, array)
    if any(isinstance(x, Let) and array.name in {y.array for y in loads(x.value)} for x in walk(kernel.body)):
        return None
    for block, first in _blocks(kernel.body, 0):
        using = [n for n, x in enumerate(block.body) if _count(x, array)]
        if len(using) > 1:
            at, body = using[0], block.body[using[0] : using[-1] + 1]
            number = first + sum(map(_count, block.body[:at]))
            runs = [_Run(block, at, body, number, x) for x in _stores(body, array)]
            whole = _count(Block(body), array) == total
            found = (x for x in runs if whole and _is_accumulator(array, x))
            return next((x for x in found if everywhere or _matters(kernel, x)), None)
    return None


def _stores(body: Sequence[Stmt], array: Array) -> Iterator[int]:
    """Where an accumulator may end: the last statement, or one that stores it as it is."""
    for n, x in enumerate(body):
        if isinstance(x, Assign | Reduce) and x.array != array.name and array.name in _loaded(x):
            kept = isinstance(x, Assign) and isinstance(x.value, Load) and x.value.array == array.name
            if kept or n == len(body) - 1 and (isinstance(x, Assign) or x.op == "add"):
                yield n


def _matters(kernel: Kernel, run: _Run) -> bool:
    """Whether the array where an accumulator ends is used in another place in the same nest, or nothing is added up."""
    if isinstance(run.end.value, Load) and sum(x.array == run.cell.array for x in _assignments(Block(run.body))) == 1:
        return True
    nests = [x for x in kernel.body.body if any(y is run.block for z in walk(x) for y in blocks_of(z))]
    inside = [x for nest in nests or run.body for x in walk(nest)]
    read = [y for x in inside for e in expressions(x) for y in loads(e)]
    stored = [_target(x) for x in inside if isinstance(x, Reduce)]
    return any(x.array == run.end.array and x.index != run.end.index for x in (*read, *stored))


def _blocks(stmt: Stmt, first: int) -> Iterator[tuple[Block, int]]:
    """The blocks in a statement, outer ones first, with how many assignments stand before each (`first` before the
    statement)."""
    for block in blocks_of(stmt):
        yield block, first
        for x in block.body:
            yield from _blocks(x, first)
            first += _count(x)


def _count(stmt: Stmt, array: Array | None = None) -> int:
    """How many assignments there are, of those that use an array if one is given."""
    return sum(array is None or array.name in {x.array, *_loaded(x)} for x in _assignments(stmt))


def _assignments(stmt: Stmt) -> Iterator[Assign | Reduce]:
    return (x for x in walk(stmt) if isinstance(x, Assign | Reduce))


def _is_accumulator(array: Array, run: _Run) -> bool:
    """Whether one cell of an array is set, changed, and in the end read by what sets a cell."""
    start, end = run.body[0], run.end
    if not isinstance(start, Assign) or start.array != array.name or array.name in _loaded(start):
        return False
    inside = [y for x in run.body for y in walk(x)]
    bound = {name for x in run.body for name in bindings(x)}
    if any(bound & variables(x) for x in (*start.index, *end.index)):
        return False
    using = [x for x in inside if isinstance(x, Assign | Reduce) and array.name in {x.array, *_loaded(x)}]
    if any(x.array == array.name for y in run.body[run.stop :] for x in _assignments(y)):
        return False
    cells = [*(x for y in using for e in expressions(y) for x in loads(e)), *(_target(x) for x in using)]
    return all(x.index == start.index for x in cells if x.array == array.name)


def _target(stmt: Assign | Reduce) -> Load:
    return Load(stmt.array, stmt.index, type_of(stmt.value))


def _loaded(stmt: Assign | Reduce) -> set[str]:
    return {x.array for e in expressions(stmt) for x in loads(e)}


def _may_settle(run: _Run, kernel: Kernel) -> bool:
    """Whether nothing else uses the cell where an accumulator ends from where it begins on, nor changes it afterwards
    before its last use."""
    arrays = {x.name: x.type for x in (*kernel.arrays, *(x.array for x in walk(kernel.body) if isinstance(x, Alloc)))}
    if arrays[run.cell.array] != arrays[run.place.array]:
        return False
    try:
        scop = extract_scop(kernel)
    except NotAffineError:
        return False
    numbers = range(run.first + 1, run.first + _count(Block(run.body)))
    stop = run.first + _count(Block(run.body[: run.stop]))
    end = scop.statements[stop]
    named = [x for let in end.lets for x in loads(let.value)]
    return run.place not in named and not any(_meet(end, scop.statements[n], scop, n > stop) for n in numbers)


def _meet(end: Statement, other: Statement, scop: Scop, after: bool) -> bool:
    """Whether a statement uses the cell that another one stores to in the same iteration of the loops around that, or
    changes it where it stands after that; what that one itself loads there by the same subscripts is its own affair."""
    depth = len(end.iterators)
    assert other.loops[:depth] == end.loops
    for access in other.accesses:
        if access.array != end.write.array or other is end and access.index == end.write.index:
            continue
        pairs = end.write.relation.apply_range(access.relation.reverse()).intersect_params(scop.context)
        for d in range(depth):
            pairs = pairs.equate(IN, d, OUT, d)
        if not pairs.is_empty() and (access.write or not after):
            return True
    return False


def _renamed(run: _Run) -> list[Stmt] | None:
    """The cell holds what the accumulator held; it may not be used for anything else."""
    if run.place in loads(run.end.value):
        return None
    return _moved([*run.body[: run.stop], run.end, *run.body[run.stop + 1 :]], run)


def _absorbed(run: _Run) -> list[Stmt] | None:
    """What the sum is added to in the end, it begins with: the accumulator is only added to."""
    inner = [y for x in run.body[1:-1] for y in _assignments(x)]
    changes = [x for x in inner if x.array == run.cell.array]
    if any(not isinstance(x, Reduce) or x.op != "add" for x in changes):
        return None
    if any(run.cell in loads(e) for x in inner for e in expressions(x)):
        return None
    found = _split(run.end.value, run)
    if found is None or found.rest is None and not found.negative:
        return None  # nothing is added, as where there are uses after it
    if run.place in loads(found.around):
        return None
    if found.rest is not None and not _is_stable(found.rest, run):
        return None
    begin = _negated(run.start.value) if found.negative else run.start.value
    if found.rest is not None:
        begin = found.rest if _is_zero(begin) else Binary("add", found.rest, begin)

    def turned(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Reduce) and stmt.array == run.cell.array and found.negative:
            return replace(stmt, value=_negated(stmt.value))
        return stmt

    middle = map_block(turned, Block(run.body[1:-1])).body
    return _moved([replace(run.start, value=begin), *middle, replace(run.end, value=found.around)], run)


def _moved(body: Sequence[Stmt], run: _Run) -> list[Stmt]:
    """Statements with the cell in the place of the accumulator, without those that store what is there."""
    place = run.place

    def visit(stmt: Stmt) -> Stmt:
        done = map_exprs(lambda x: map_expr(lambda y: place if y == run.cell else y, x), stmt)
        if isinstance(done, Assign | Reduce) and done.array == run.cell.array:
            return replace(done, array=place.array, index=place.index)
        return done

    fresh = map_block(visit, Block(tuple(body))).body
    return [x for x in fresh if not (isinstance(x, Assign) and x.value == Load(x.array, x.index, type_of(x.value)))]


@dataclass(frozen=True, slots=True)
class _Split:
    """A value as a function (`around`, in which the accumulator stands) of the accumulator, or of it negated, plus a
    rest."""

    negative: bool
    rest: Expr | None
    around: Expr


def _split(value: Expr, run: _Run) -> _Split | None:
    """A value that depends on the accumulator in one place, with all that is added to it there; None for others."""
    here = _linear(value, run.cell)
    if here is not None:
        return _Split(here[0], here[1], run.cell)
    parts = children(value)
    inside = [n for n, x in enumerate(parts) if run.cell in loads(x)]
    if isinstance(value, Load) or len(inside) != 1:
        return None
    found = _split(parts[inside[0]], run)
    if found is None:
        return None
    around = with_children(value, tuple(found.around if n == inside[0] else x for n, x in enumerate(parts)))
    return replace(found, around=around)


def _linear(value: Expr, cell: Load) -> tuple[bool, Expr | None] | None:
    """Whether a value is a cell, or that negated, and what is added to it; None where it is something else."""
    match value:
        case Load() if value == cell:
            return False, None
        case Unary(op="neg", operand=x):
            inner = _linear(x, cell)
            return None if inner is None else (not inner[0], None if inner[1] is None else _negated(inner[1]))
        case Binary(op="add" | "sub" as op, left=a, right=b) if (cell in loads(a)) != (cell in loads(b)):
            first = cell in loads(a)
            inner = _linear(a if first else b, cell)
            if inner is None:
                return None
            negative, rest = inner
            if not first and op == "sub":
                negative, rest = not negative, None if rest is None else _negated(rest)
            other = _negated(b) if first and op == "sub" else b if first else a
            return negative, other if rest is None else Binary("add", other, rest)
        case _:
            return None


def _negated(value: Expr) -> Expr:
    match value:
        case Unary(op="neg", operand=x):
            return x
        case Const(value=number) if number == 0:
            return value
        case _:
            return Unary("neg", value)


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Const) and value.value == 0


def _is_stable(value: Expr, run: _Run) -> bool:
    """Whether a value is the same where the accumulator begins."""
    written = {y.array for x in run.body[:-1] for y in _assignments(x)}
    sources = [x for x in loads(value) if x != run.place]
    bound = {name for x in run.body for name in bindings(x)}
    return not bound & variables(value) and not any(x.array in {*written, run.place.array} for x in sources)


def _replaced(block: Block, run: _Run, settled: Sequence[Stmt], array: Array) -> Block:
    """A block with the statements of a run replaced, and without the accumulator."""

    def visit(stmt: Stmt) -> Stmt:
        return with_blocks(stmt, [changed(x) for x in blocks_of(stmt)])

    def changed(block: Block) -> Block:
        if block is run.block:
            block = Block((*block.body[: run.at], *settled, *block.body[run.at + len(run.body) :]))
        kept = (x for x in block.body if not (isinstance(x, Alloc) and x.array == array))
        return Block(tuple(map(visit, kept)))

    return changed(block)
