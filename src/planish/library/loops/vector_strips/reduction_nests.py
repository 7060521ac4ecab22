"""Nests whose iterations each reduce over inner loops: pieces before, in and behind these, and the cells between them.

>>> from planish.ir.text.parser import parse_kernel
>>> text = '''kernel k(n, m; A: u8[m, n], B: u8[n]) { alloc s: u8[max(n, 0)] distinct for c in 0 .. n {
...   s[c] = 7:u8 for i in 0 .. m { s[c] = max(s[c], A[i, c]) } B[c] = s[c] } }'''
>>> (nest,) = find_reductions(parse_kernel(text))
>>> [*nest.cells], [isinstance(x, For) for x in pieces(nest.loop.body)], nest.again
(['s'], [False, True, False], True)
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from planish.ir.accesses import accesses, reads
from planish.ir.expr import Binary, Expr, Load, Var, type_of
from planish.ir.index.polynomial import constant, polynomial, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import arrays_in, loads, used_names, variables, walk
from planish.ir.types import INDEX
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.straight_line import NotStraight, straight_line
from planish.library.loops.vector_strips.strip_nest import is_independent, is_only_in, nest_of
from planish.schedule.accesses import rename

_MOST_TURNS = 8
"""A loop of no more iterations is written out."""


@dataclass(frozen=True, slots=True, eq=False)
class ReductionNest:
    """A loop whose iterations are independent and have loops inside, and the loop over rows directly around it, if
    these are as well and share what they read. `cells`: the arrays whose element each iteration has for itself, across
    loops; `own`: those that are used in one piece only; `taken`: names that are none of new ones; `again`: an iteration
    may be done twice, since it reads nothing that is written."""

    stmt: For
    rows: For | None
    loop: For
    cells: Mapping[str, Array]
    own: frozenset[str]
    taken: frozenset[str]
    again: bool
    tables: Mapping[str, Array]

    def fresh(self, name: str) -> str:
        """A name that begins like this one, and is none that there is."""
        while name in self.taken:
            name += "_"
        return name


def find_reductions(kernel: Kernel) -> Iterator[ReductionNest]:
    """The nests of a kernel whose iterations reduce over inner loops, and whose lanes are neighbours in memory."""
    local = {x.array.name: x.array for x in walk(kernel.body) if isinstance(x, Alloc)}
    yield from _find(kernel, kernel.body, local)


def _find(kernel: Kernel, block: Block, local: Mapping[str, Array]) -> Iterator[ReductionNest]:
    for x in block.body:
        if not isinstance(x, For) or nest_of(kernel, x, set(local)) is not None:
            continue
        found = _reduction_of(kernel, x, local)
        if found is not None:
            yield found
        else:
            yield from _find(kernel, x.body, local)


def _reduction_of(kernel: Kernel, stmt: For, local: Mapping[str, Array]) -> ReductionNest | None:
    (inner,) = stmt.body.body if len(stmt.body.body) == 1 else (None,)
    for rows, loop in ((stmt, inner), (None, stmt)):
        if not isinstance(loop, For) or loop.step != 1 or (rows is not None and rows.step != 1):
            continue
        if rows is not None and (rows.var in variables(loop.lower) | variables(loop.upper) or not _shares(rows, loop)):
            continue
        names = [loop.var] if rows is None else [rows.var, loop.var]
        statements = _each_element_once(_assignments(loop.body))
        bounds = {y for x in walk(loop) if isinstance(x, For) and x is not loop for y in _bounds(x)}
        if not statements or bounds & set(names) or not is_independent(statements, names):
            continue
        if not all(_is_in_lanes(x, loop.var) for x in reads(loop)):
            continue
        kept = _kept_elements(kernel, loop)
        arrays = {**local, **{x.array.name: x.array for x in kept}}
        found = _with_cells(kernel, stmt, rows, _with_kept(loop, kept), arrays, {x.array.name for x in kept})
        if found is not None:
            return found
    return None


def _shares(rows: For, loop: For) -> bool:
    """Whether rows read something in common that each lane has for itself."""
    return any(loop.var in variables(x) and rows.var not in variables(x) for x in reads(loop))


def iterations(x: For) -> Expr:
    return sub(x.upper, x.lower)


def _bounds(x: For) -> frozenset[str]:
    return variables(x.lower) | variables(x.upper)


def _assignments(block: Block) -> list[Let | Assign]:
    """All that a block assigns, whatever loops it is in; nothing where it does anything else."""
    found: list[Let | Assign] = []
    for stmt in block.body:
        for x in walk(stmt):
            match x:
                case Let() | Assign():
                    found.append(x)
                case Reduce(array=name, index=place, op="add" | "mul" | "min" | "max" as op, value=value):
                    found.append(Assign(name, place, Binary(op, Load(name, place, type_of(value)), value)))
                case For() | Block():
                    pass
                case _:
                    return []
    return found


def _each_element_once(statements: Sequence[Let | Assign]) -> list[Let | Assign]:
    """The same, where an element that is assigned to again is only read there."""
    seen: set[tuple[str, tuple[Expr, ...]]] = set()
    made: list[Let | Assign] = []
    for x in statements:
        again = isinstance(x, Assign) and (x.array, x.index) in seen
        made.append(Let(x.array, x.value) if isinstance(x, Assign) and again else x)
        if isinstance(x, Assign):
            seen.add((x.array, x.index))
    return made


def _is_in_lanes(x: Load, lane: str) -> bool:
    """Whether lanes read neighbours, or one element."""
    if any(lane in variables(y) for y in x.index[:-1]):
        return False
    return not x.index or all(
        monomial == (Var(lane, INDEX),) or lane not in {z for y in monomial for z in variables(y)}
        for monomial in polynomial(x.index[-1])
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """An element of an operand that an iteration updates across loops: `array` stands for it meanwhile. `made`: the
    iteration assigns to it first."""

    name: str
    index: tuple[Expr, ...]
    array: Array
    made: bool


def _kept_elements(kernel: Kernel, loop: For) -> list[_Kept]:
    """The elements of operands that are like cells: each iteration touches one, whatever else it does, in a piece that
    is always done."""
    taken = used_names(kernel)
    around = [y for x in pieces(loop.body) if not isinstance(x, For) for z in x for y in accesses(z)]
    inside = [y for x in pieces(loop.body) if isinstance(x, For) for y in accesses(x)]
    found = []
    for x in kernel.arrays:
        places = [y.index for y in (*around, *inside) if y.array == x.name]
        written = {y.array for y in _assignments(loop.body) if isinstance(y, Assign)}
        if (
            x.name not in written
            or len(set(places)) != 1
            or not all(any(y.array == x.name for y in z) for z in (around, inside))
        ):
            continue
        first = next(y for y in loop.body.body if any(z.array == x.name for z in accesses(y)))
        made = isinstance(first, Assign) and first.array == x.name and x.name not in map(_array, loads(first.value))
        name = next(y for at in count(1) if (y := f"{x.name}_{at}") not in taken)
        found.append(_Kept(x.name, places[0], Array(name, x.type, x.shape), made))
    return found


def _array(x: Load) -> str:
    return x.array


def _with_kept(loop: For, kept: Sequence[_Kept]) -> For:
    """The loop in which elements are read first, and stored last."""
    body = loop.body
    for x in kept:
        body = rename(body, x.name, x.array.name)
        own = Load(x.array.name, x.index, x.array.type)
        before = () if x.made else (Assign(x.array.name, x.index, Load(x.name, x.index, x.array.type)),)
        body = Block((*before, *body.body, Assign(x.name, x.index, own)))
    return replace(loop, body=body)


def _with_cells(
    kernel: Kernel, stmt: For, rows: For | None, loop: For, local: Mapping[str, Array], kept: Container[str]
) -> ReductionNest | None:  # fmt: skip
    """The nest with its cells, where each is one element in all of an iteration."""
    runs = list(_runs(loop.body))
    used = [{x for y in run for x in arrays_in(y)} for run in runs]
    cells: dict[str, Array] = {}
    own = set()
    for name, array in local.items():
        within = [at for at, x in enumerate(used) if name in x]
        if not within:
            continue
        if name not in kept and not is_only_in(kernel, loop, name):
            return None
        places = {y.index for run in runs for x in run for y in accesses(x) if y.array == name}
        if len(within) > 1:
            if len(places) > 1:
                return None
            cells[name] = array
        else:
            own.add(name)
    if not cells:
        return None
    written = {x.array for x in _assignments(loop.body) if isinstance(x, Assign)} - {*cells, *own}
    again = not any(y.array in written for run in runs for x in run for y in reads(x))
    tables = {x.name: x for x in kernel.arrays if x.values}
    taken = used_names(kernel) | set(local)
    return ReductionNest(stmt, rows, loop, cells, frozenset(own), taken, again, tables)


def _runs(block: Block) -> Iterator[list[Stmt]]:
    """What lies between loops that stay, in these as well."""
    for x in pieces(block):
        if isinstance(x, For):
            yield from _runs(x.body)
        else:
            yield x


def is_short(x: For) -> bool:
    """Whether a loop is written out: it has few iterations, the number of which is known."""
    count = constant(simplify(sub(x.upper, x.lower)))
    return (
        count is not None
        and count <= _MOST_TURNS * x.step
        and all(is_short(y) for y in x.body.body if isinstance(y, For))
    )


def pieces(block: Block) -> Iterator[list[Stmt] | For]:
    """The loops that stay, and what lies between them."""
    run: list[Stmt] = []
    for x in block.body:
        if not isinstance(x, For) or is_short(x):
            run.append(x)
            continue
        if run:
            yield run
        run = []
        yield x
    if run:
        yield run


def straight_piece(nest: ReductionNest, run: Sequence[Stmt]) -> tuple[Let | Assign, ...]:
    try:
        return straight_line(Block(tuple(run)), nest.own, nest.taken, nest.tables)
    except NotStraight as error:
        raise NoCover(str(error)) from error
