r"""Rerolls statements that differ by an arithmetic progression in their subscripts: loops that are unrolled again.

What unrolling and unroll-and-jam leave is long for people to read. The loops run the same statements in the same order.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> lines = "\n".join(f"c[{i}, {j}] = x[n + {2 * j}]" for i in range(3) for j in range(4))
>>> kernel = parse_kernel(f"kernel k(n; c: f32[3, 4], x: f32[n + 8]) {{ {lines} }}")
>>> print(print_stmt(reroll(kernel).body.body[0]))
for s in 0 .. 3 unroll 3 {
  for r in 0 .. 4 unroll 4 {
    c[s, r] = x[n + 2 * r]
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from planish.ir.expr import Binary, Const, Expr, Load, Var, index, type_of
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Kernel, Launch, Let, LoopFacts, Reduce, Stmt, While
from planish.ir.traverse import (
    bindings,
    blocks_of,
    children,
    expressions,
    used_names,
    walk,
    walk_expr,
    with_blocks,
    with_children,
)
from planish.ir.types import INDEX

_LONGEST = 12
"""As many statements are looked at as what comes again and again."""
_COUNTERS = "rstuvw"
_FIXED = frozenset({"mul", "quo", "rem", "floordiv", "mod", "shl", "shr"})
"""Operations whose numbers stay as they are: with other ones they are other operations."""

Holds = Callable[[Stmt], bool]
Place = tuple[str, int] | None
"""An array and a dimension of it, where a number is its subscript."""


def reroll(kernel: Kernel, holds: Holds = lambda _: True) -> Kernel:
    """The kernel with loops, marked to be unrolled, in place of statements that repeat; those of loops in lanes stay.

    `holds`: whether a statement may stand in a loop as it is made there (of its counter, where there were numbers).
    """
    taken = used_names(kernel)
    counters = [next(x for x in (name + "_" * n for n in range(9)) if x not in taken) for name in _COUNTERS]
    return replace(kernel, body=_rolled_below(kernel.body, counters, holds))


def _rolled_below(block: Block, counters: Sequence[str], holds: Holds) -> Block:
    body = [
        x if isinstance(x, For) and (x.facts.simd or x.facts.instruction or x.facts.stream)
        else with_blocks(x, [_rolled_below(y, counters, holds) for y in blocks_of(x)])
        for x in block.body
    ]  # fmt: skip
    while (shorter := _shorten(body, counters, holds)) is not None:
        body = shorter
    return Block(tuple(body))


def _shorten(body: list[Stmt], counters: Sequence[str], holds: Holds) -> list[Stmt] | None:
    """The statements with the runs that repeat as loops, inner ones first; None where there are none."""
    lines = _Lines.of(body)
    out: list[Stmt] = []
    at, found = 0, False
    while at < len(body):
        period, count = _find_run(lines, at)
        loop = _make_loop(body, at, period, count, counters, holds) if count else None
        if loop is None:
            out.append(body[at])
            at += 1
        else:
            out.append(loop)
            at += period * count
            found = True
    return out if found else None


@dataclass(slots=True)
class _Names:
    """How names that are bound in some statements are called in what is compared: by their order, if that is `told`."""

    of: dict[str, str] = field(default_factory=dict)
    told: bool = True

    def bind(self, name: str) -> str:
        self.of[name] = f"?{len(self.of) if self.told else ''}"
        return self.of[name]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A statement without its numbers (None where it is not to be rolled), and these, with the places where they are
    subscripts."""

    shape: Stmt | None
    numbers: tuple[int, ...]
    size: int
    places: tuple[Place, ...] = ()

    @staticmethod
    def of(stmt: Stmt) -> _Piece:
        return _Piece.all([stmt])[0]

    @staticmethod
    def all(stmts: Sequence[Stmt], names: _Names | None = None) -> list[_Piece]:
        """The pieces of statements that see what those before them bind."""
        names, out = names or _Names(), []
        for stmt in stmts:
            if any(isinstance(x, Launch | Barrier) or (isinstance(x, Alloc) and _is_block(x)) for x in walk(stmt)):
                out.append(_Piece(None, (), 1))
                continue
            found: list[tuple[int, Place]] = []

            def take(number: int, place: Place, found: list[tuple[int, Place]] = found) -> Expr:
                found.append((number, place))
                return Var("?", INDEX)

            shape = _rewrite(stmt, take, names)
            out.append(_Piece(shape, tuple(x for x, _ in found), _lines(stmt), tuple(x for _, x in found)))
        return out


@dataclass(frozen=True, slots=True)
class _Lines:
    """The statements of a block with their pieces, the names that each uses, and a number for what it is but for all
    names that the block binds: those that repeat have the same."""

    body: Sequence[Stmt]
    pieces: Sequence[_Piece]
    uses: Sequence[set[str]]
    kinds: Sequence[int]

    @staticmethod
    def of(body: Sequence[Stmt]) -> _Lines:
        bound = {x for stmt in body for x in bindings(stmt)}
        unnamed = _Piece.all(body, _Names(dict.fromkeys(bound, "?"), told=False))
        numbers: dict[Stmt | None, int] = {}
        kinds = [numbers.setdefault(x.shape, len(numbers)) for x in unnamed]
        return _Lines(body, [_Piece.of(x) for x in body], [_used(x) for x in body], kinds)


def _is_block(stmt: Alloc) -> bool:
    """Whether a block of memory is taken, which stays where that is done."""
    return stmt.array.memory in ("dram", "scratch") and bool(stmt.array.shape)


def _lines(stmt: Stmt) -> int:
    if isinstance(stmt, For) and stmt.facts.instruction:
        return 1
    return 1 + sum(_lines(x) for block in blocks_of(stmt) for x in block.body)


def _find_run(lines: _Lines, at: int) -> tuple[int, int]:
    """How many statements from one on repeat, and how often; (0, 0) where no line would be saved. The fewest: where
    more repeat, they are made of these by the next round."""
    for period in range(1, min(_LONGEST, (len(lines.body) - at) // 2) + 1):
        if lines.pieces[at + period - 1].shape is None:
            break
        if isinstance(lines.body[at + period - 1], Let | Alloc):
            continue  # of no use to what stands before it
        count = _count(lines, at, period)
        if sum(x.size for x in lines.pieces[at : at + period]) * (count - 1) > 1:
            return period, count
    return 0, 0


def _count(lines: _Lines, at: int, period: int) -> int:
    """How often statements come one behind the other, their numbers growing evenly; what one turn binds, no statement
    behind it uses."""
    body, kinds = lines.body, lines.kinds[at : at + period]
    binds = any(isinstance(x, Let | Alloc) for x in body[at : at + period])
    first: Sequence[_Piece] = ()
    steps: list[tuple[int, ...]] = []
    count = 1
    while at + (count + 1) * period <= len(body):
        begin, end = at + count * period, at + (count + 1) * period
        if lines.kinds[begin:end] != kinds:
            break
        first = first or (_Piece.all(body[at : at + period]) if binds else lines.pieces[at : at + period])
        here = _Piece.all(body[begin:end]) if binds else lines.pieces[begin:end]
        if any(x.shape != y.shape or x.shape is None for x, y in zip(first, here, strict=True)):
            break
        grown = [_less(y.numbers, x.numbers) for x, y in zip(first, here, strict=True)]
        if count == 1:
            steps = grown
        elif grown != [tuple(count * d for d in x) for x in steps]:
            break
        count += 1
    # What is the same in each turn is no progression: something else makes it do what it does.
    if not any(any(x) for x in steps) or not _go_together(first, steps):
        return 1
    return _without_uses(lines, at, period, count) if binds else count


def _go_together(pieces: Sequence[_Piece], steps: Sequence[tuple[int, ...]]) -> bool:
    """Whether each dimension of an array is gone through in one way: else it is by chance that numbers grow evenly."""
    ways: dict[Place, set[int]] = {}
    for piece, own in zip(pieces, steps, strict=True):
        for place, step in zip(piece.places, own, strict=True):
            if step and place is not None:
                ways.setdefault(place, set()).add(step)
    return all(len(x) == 1 for x in ways.values())


def _without_uses(lines: _Lines, at: int, period: int, count: int) -> int:
    """The count, or 1 where something that a turn binds is used behind it."""
    body, uses = lines.body, lines.uses
    end = at + period * count
    bound = {_bound(x) for x in body[at:end] if isinstance(x, Let | Alloc)}
    for begin in range(at, end, period):
        turn = range(begin, begin + period)
        own = {_bound(x) for n in turn if isinstance(x := body[n], Let | Alloc)}
        if any(uses[n] & (bound - own) for n in turn):
            return 1
    return 1 if any(not bound.isdisjoint(x) for x in uses[end:]) else count


def _bound(stmt: Let | Alloc) -> str:
    return stmt.var if isinstance(stmt, Let) else stmt.array.name


def _used(stmt: Stmt) -> set[str]:
    names: set[str] = set()
    for part in walk(stmt):
        names |= {part.array} if isinstance(part, Assign | Reduce) else set()
        for x in (y for e in expressions(part) for y in walk_expr(e)):
            names |= {x.name} if isinstance(x, Var) else {x.array} if isinstance(x, Load) else set()
        if isinstance(part, For):
            names |= {name for _, name in part.facts.reductions}
    return names


def _less(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _make_loop(
    body: Sequence[Stmt], at: int, period: int, count: int, counters: Sequence[str], holds: Holds,
) -> For | None:  # fmt: skip
    """The loop for statements that repeat; None where it may not be."""
    made: list[Stmt] = []
    inner = {x for stmt in body[at : at + period] for x in bindings(stmt)}
    counter = next((x for x in counters if x not in inner), None)
    if counter is None:
        return None
    turns = [_Piece.all(body[x : x + period]) for x in (at, at + period)]
    for place, one, other in zip(range(at, at + period), *turns, strict=True):
        numbers = iter(zip(one.numbers, _less(other.numbers, one.numbers), strict=True))

        def take(_: int, place: Place, numbers: Iterator[tuple[int, int]] = numbers) -> Expr:
            return _progression(*next(numbers), counter)

        made.append(_rewrite(body[place], take, None))
    if not all(holds(x) for stmt in made for x in walk(stmt)):
        return None
    return For(counter, index(0), index(count), 1, Block(tuple(made)), LoopFacts(unroll=count))


def _progression(first: int, step: int, counter: str) -> Expr:
    if step == 0:
        return index(first)
    term: Expr = Var(counter, INDEX)
    if step != 1:
        term = Binary("mul", index(step), term)
    return _plus(term, index(first))


def _plus(rest: Expr, number: Expr) -> Expr:
    match number:
        case Const(value=0):
            return rest
        case Const(value=value) if value < 0:
            return Binary("sub", rest, index(-int(value)))
        case Binary(op="add" | "sub" as op, left=left, right=Const() as right):
            return Binary(op, Binary("add", rest, left), right)
        case _:
            return Binary("add", rest, number)


def _split(x: Expr) -> tuple[Expr | None, int]:
    """What a subscript is besides a number, and that number."""
    match x:
        case Const(value=value):
            return None, int(value)
        case Binary(op="add" | "sub" as op, left=left, right=right):
            (a, m), (b, n) = _split(left), _split(right)
            if a is None and op == "sub" and b is not None:
                return x, 0
            rest = b if a is None else a if b is None else Binary(op, a, b)
            return rest, m + n if op == "add" else m - n
        case _:
            return x, 0


def _rewrite(stmt: Stmt, take: Callable[[int, Place], Expr], names: _Names | None) -> Stmt:
    """A statement with other numbers; `names`: those that it binds are called as there."""

    def called(name: str) -> str:
        return names.of.get(name, name) if names is not None else name

    def bound(name: str) -> str:
        return names.bind(name) if names is not None else name

    def subscript(x: Expr, place: Place = None) -> Expr:
        rest, number = _split(x)
        if rest is None:
            return take(number, place)
        return _plus(chain(rest), take(number, place))

    def subscripts(array: str, places: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([subscript(x, (array, i)) for i, x in enumerate(places)])

    def chain(x: Expr) -> Expr:
        if isinstance(x, Binary) and x.op in ("add", "sub"):
            return Binary(x.op, chain(x.left), chain(x.right))
        return x if isinstance(x, Const) else inside(x)

    def inside(x: Expr) -> Expr:
        match x:
            case Const(type=type) if type == INDEX:
                return take(int(x.value), None)
            case Const():
                return x
            case Var(name=name, type=type):
                return Var(called(name), type)
            case Load(array=array, index=places, type=type):
                return Load(called(array), subscripts(array, places), type)
            case Binary(op="add" | "sub") if type_of(x) == INDEX:
                return subscript(x)
            case Binary(op=op) if op in _FIXED:
                return with_children(x, tuple([y if isinstance(y, Const) else inside(y) for y in children(x)]))
            case _:
                return with_children(x, tuple([inside(y) for y in children(x)]))

    def bound_of(x: Expr) -> Expr:
        return x if isinstance(x, Const) else inside(x)

    def block(x: Block) -> Block:
        return Block(tuple([visit(y) for y in x.body]))

    def visit(x: Stmt) -> Stmt:
        match x:
            case Block():
                return block(x)
            case For(var=var, lower=lower, upper=upper):
                bounds = bound_of(lower), bound_of(upper)
                return For(bound(var), *bounds, x.step, block(x.body), x.facts, x.span, x.label)
            case If(condition=condition):
                return If(inside(condition), block(x.then), block(x.otherwise), x.span, x.label)
            case Assign(array=array, index=places, value=value):
                made = subscripts(array, places)
                return Assign(called(array), made, inside(value), x.span, x.label)
            case Reduce(array=array, index=places, op=op, value=value):
                made = subscripts(array, places)
                return Reduce(called(array), made, op, inside(value), x.span, x.label)
            case Let(var=var, value=value):
                value = inside(value)
                return Let(bound(var), value, x.span, x.label)
            case Alloc(array=array):
                return Alloc(replace(array, name=bound(array.name)), x.span, x.label)
            case Launch() | Barrier() | While():
                return x
            case _:
                assert_never(x)

    return visit(stmt)


__all__ = ["reroll"]
