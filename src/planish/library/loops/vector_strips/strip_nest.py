"""Nests whose inner loop is cut into strips of vectors, several rows at a time, each given to an instruction.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; A: u8[n], B: u8[n]) { for i in 0 .. n { B[i] = A[i] } }"
>>> (nest,) = find_nests(parse_kernel(text))
>>> made = strip_nest(nest, 16, 1, lambda part, rows: "copy")
>>> print(print_stmt(made[0]), end="")
for i_strip in 0 .. n // 16 {
  for i_lane in 0 .. 16 as copy {
    B[16 * i_strip + i_lane] = A[16 * i_strip + i_lane]
  }
}
>>> print(print_stmt(made[1]), end="")
if n % 16 > 0 {
  if n >= 16 {
    for i_lane in 0 .. 16 as copy {
      B[n + i_lane - 16] = A[n + i_lane - 16]
    }
  } else {
    for i in 0 .. n {
      B[i] = A[i]
    }
  }
}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from planish.ir.expr import Binary, Compare, Expr, Var, index, type_of
from planish.ir.index.polynomial import add, build, constant, mul, polynomial, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Assign, Block, For, If, Kernel, Let, LoopFacts, Stmt
from planish.ir.traverse import (
    arrays_in,
    blocks_of,
    loads,
    substitute_block,
    substitute_stmt,
    used_names,
    variables,
    walk,
)
from planish.ir.types import INDEX
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.padded_tails import Left, Tails, steps_of
from planish.library.loops.vector_strips.straight_line import NotStraight, straight_line

Part = Callable[[int, int], For]
"""The loop over lanes of some rows of a strip, from the first on up to the second, exclusive."""
Give = Callable[[Part, int], str]
"""The name of the instruction that does all of a strip of so many rows; it raises where there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class StripNest:
    """A loop whose iterations are independent, the loop over rows directly around it, if these are as well, and the
    assignments of an iteration. `stmt` is what they stand for; `own`: the arrays that nothing else uses; `taken`: names
    that are none of new ones.

    `again`: an iteration may be done twice, since it reads nothing that is written."""

    stmt: For
    rows: For | None
    loop: For
    body: tuple[Let | Assign, ...]
    own: frozenset[str]
    taken: frozenset[str]
    again: bool

    @property
    def assigned(self) -> tuple[Assign, ...]:
        """The assignments of an iteration."""
        return tuple(x for x in self.body if isinstance(x, Assign))

    def fresh(self, name: str) -> str:
        """A name that begins like this one, and is none that there is."""
        while name in self.taken:
            name += "_"
        return name

    @property
    def window(self) -> int:
        """The rows that one row reads of an array whose elements its neighbours read as well; 1 where there is none."""
        if self.rows is None:
            return 1
        row = self.rows.var
        places: dict[tuple[str, frozenset[object], int], set[int]] = {}
        for x in self.body:
            for y in loads(x.value):
                for dimension in y.index:
                    terms = polynomial(dimension)
                    step = terms.get((Var(row, INDEX),), 0)
                    if step:
                        # Where a row moves on by two, its neighbours have every other one.
                        rest = frozenset((m, c) for m, c in terms.items() if m)
                        at, left = divmod(terms.get((), 0), step)
                        places.setdefault((y.array, rest, left), set()).add(at)
        return max((max(x) - min(x) + 1 for x in places.values()), default=1)


def find_nests(kernel: Kernel) -> Iterator[StripNest]:
    """The nests of a kernel that can be cut into strips."""
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    yield from _find(kernel, kernel.body, local)


def _find(kernel: Kernel, block: Block, local: set[str]) -> Iterator[StripNest]:
    for x in block.body:
        found = nest_of(kernel, x, local) if isinstance(x, For) else None
        if found is not None:
            yield found
        else:
            for inner in blocks_of(x):
                yield from _find(kernel, inner, local)


def nest_of(kernel: Kernel, stmt: For, local: set[str]) -> StripNest | None:
    """The nest that a loop is: of two loops, or of one."""
    (inner,) = stmt.body.body if len(stmt.body.body) == 1 else (None,)
    for rows, loop in ((stmt, inner), (None, stmt)):
        if not isinstance(loop, For) or loop.step != 1 or (rows is not None and rows.step != 1):
            continue
        if rows is not None and rows.var in variables(loop.lower) | variables(loop.upper):
            continue
        own = frozenset(x for x in local if is_only_in(kernel, loop, x))
        taken = used_names(kernel)
        try:
            body = straight_line(loop.body, own, taken, {x.name: x for x in kernel.arrays if x.values})
        except NotStraight:
            continue
        names = [loop.var] if rows is None else [rows.var, loop.var]
        if body and is_independent(body, names, sub(loop.upper, loop.lower)):
            written = {x.array for x in body if isinstance(x, Assign)}
            again = not any(y.array in written for x in body for y in loads(x.value))
            return StripNest(stmt, rows, loop, body, own, taken | {x.var for x in body if isinstance(x, Let)}, again)
    return None


def is_only_in(kernel: Kernel, loop: For, array: str) -> bool:
    """Whether nothing but a loop touches an array."""
    return Counter(arrays_in(kernel.body))[array] == Counter(arrays_in(loop))[array]


def is_independent(body: Sequence[Let | Assign], names: Sequence[str], columns: Expr | None = None) -> bool:
    """Whether iterations may be done in any order: each writes its own cells of an array, and reads of what is written
    only these. A cell is an iteration's own where each loop counts a dimension of its own; several lie side by side
    there. `columns`: the iterations of the inner loop, so that both may also count one dimension, a row of so many
    cells behind the other."""
    written: dict[str, list[tuple[Expr, ...]]] = {}
    for x in body:
        if isinstance(x, Let):
            continue
        if not _counts(x.index, names, columns):
            return False
        if not all(_are_apart(x.index, y, names) for y in written.get(x.array, ())):
            return False
        written.setdefault(x.array, []).append(x.index)
    for x in body:
        for y in loads(x.value):
            if not all(y.index == z or _are_apart(y.index, z, names) for z in written.get(y.array, ())):
                return False
            if any(loads(z) for z in y.index):
                return False
    return True


def _are_apart(a: tuple[Expr, ...], b: tuple[Expr, ...], names: Sequence[str]) -> bool:
    """Whether two cells are different ones in whatever iterations: in one dimension they lie apart, by no multiple of
    what an iteration moves on there."""
    for x, y in zip(a, b, strict=True):
        apart, terms = constant(sub(x, y)), polynomial(x)
        moving = [name for name in names if any(name in variables(z) for m in terms for z in m)]
        if apart is None or len(moving) > 1:
            continue
        step = terms.get((Var(moving[0], INDEX),), 0) if moving else 0
        alone = not moving or sum(moving[0] in variables(z) for m in terms for z in m) == 1
        if alone and (apart % step if step else apart and not moving):
            return True
    return False


def _counts(place: tuple[Expr, ...], names: Sequence[str], columns: Expr | None) -> bool:
    dimensions: dict[str, int] = {}
    for at, x in enumerate(place):
        if loads(x):
            return False
        moving = variables(x) & set(names)
        if not moving:
            continue
        if len(moving) == 2 and columns is not None and _follow(x, names, columns):
            return not dimensions and at == len(place) - 1
        if len(moving) > 1 or (Var(next(iter(moving)), INDEX),) not in polynomial(x):
            return False
        terms = polynomial(x)
        (name,) = moving
        if name in dimensions or any(len(m) > 1 and name in {z for y in m for z in variables(y)} for m in terms):
            return False
        dimensions[name] = at
    return set(dimensions) == set(names) and dimensions[names[-1]] == len(place) - 1


def _follow(place: Expr, names: Sequence[str], columns: Expr) -> bool:
    """Whether a subscript counts the columns of one row and then those of the next one."""
    row, column = (Var(x, INDEX) for x in names)
    rest = sub(place, add(mul(row, columns), column))
    return not variables(build(polynomial(rest))) & set(names)


def strip_nest(
    nest: StripNest, lanes: int, rows: int, give: Give, tails: Tails | None = None
) -> tuple[Stmt, ...]:  # fmt: skip
    """The nest in strips of so many lanes and rows; what `give` raises where a strip has no instruction. `tails`: what
    fills no strip, and may not be done twice, is a strip as well where that can be."""
    if nest.rows is None:
        return tuple(_strips(nest, (index(0),), lanes, give, tails))
    if rows == 1:
        inside = _strips(nest, (Var(nest.rows.var, INDEX),), lanes, give, tails)
        return (replace(nest.rows, body=Block(tuple(inside)), label=0),)
    return (_blocks(nest, lanes, rows, give),)


def _blocks(nest: StripNest, lanes: int, rows: int, give: Give) -> Stmt:
    """Blocks of rows in strips, the last ones of which overlap those before: what is done twice is the same. Strips of
    one row where there are fewer rows, or columns, than a block has."""
    assert nest.rows is not None and nest.again
    row, y = clamped(nest.fresh, nest.rows, rows)
    column, x = clamped(nest.fresh, nest.loop, lanes)
    lane = nest.fresh(f"{nest.loop.var}_lane")
    places = [add(Var(y.var, INDEX), index(r)) for r in range(rows)]

    def part(first: int, last: int) -> For:
        body = _at(nest, places[first:last], add(Var(x.var, INDEX), Var(lane, INDEX)))
        return _loop(lane, index(lanes), body)

    whole = replace(part(0, rows), facts=LoopFacts(instruction=give(part, rows)))
    inner = replace(column, body=Block((x, whole)))
    blocks = replace(row, body=Block((y, inner)))
    enough = Binary("and", has_iterations(nest.rows, rows), has_iterations(nest.loop, lanes))
    return If(simplify(enough), Block((blocks,)), Block(strip_nest(nest, lanes, 1, give)))


def counted_strips(nest: StripNest, lanes: int, rows: int, give: Give) -> tuple[Stmt, ...]:
    """The nest in loops over whole strips and, behind each, a loop that runs at most once, over the strip that ends
    with the row and overlaps the one before: no condition is in it. It is right where there are as many iterations as
    a strip has lanes and rows (`enough`)."""
    if nest.rows is None:
        return tuple(_counted_columns(nest, (index(0),), lanes, give))
    if rows == 1:
        inside = _counted_columns(nest, (Var(nest.rows.var, INDEX),), lanes, give)
        return (replace(nest.rows, body=Block(tuple(inside)), label=0),)
    row, y = clamped(nest.fresh, nest.rows, rows)
    places = [add(Var(y.var, INDEX), index(r)) for r in range(rows)]
    return (replace(row, body=Block((y, *_counted_columns(nest, places, lanes, give)))),)


def _counted_columns(nest: StripNest, rows: Sequence[Expr], lanes: int, give: Give) -> Iterator[Stmt]:
    loop = nest.loop
    count = simplify(sub(loop.upper, loop.lower))
    strip, lane = nest.fresh(f"{loop.var}_strip"), nest.fresh(f"{loop.var}_lane")
    counter = Var(lane, INDEX)

    def part(begin: Expr, first: int, last: int) -> For:
        return _loop(lane, index(lanes), _at(nest, rows[first:last], add(begin, counter)))

    begin = add(loop.lower, mul(index(lanes), Var(strip, INDEX)))
    name = give(partial(part, begin), len(rows))
    named = LoopFacts(instruction=name)
    whole = simplify(Binary("floordiv", count, index(lanes)))
    yield _loop(strip, whole, (replace(part(begin, 0, len(rows)), facts=named),))
    if constant(left := simplify(Binary("mod", count, index(lanes)))) == 0:
        return
    if not nest.again:
        filled = simplify(add(loop.lower, Binary("mul", whole, index(lanes))))
        for y in rows:
            yield plain_rest(nest, y, filled)
        return
    # It moves on like the others, so that nothing that it reads is taken to be the same in all iterations.
    again = nest.fresh(f"{loop.var}_last")
    end = add(sub(loop.upper, index(lanes)), mul(index(lanes), Var(again, INDEX)))
    once = simplify(Binary("min", left, index(1)))
    yield For(again, index(0), once, 1, Block((replace(part(end, 0, len(rows)), facts=named),)))


def plain_rest(nest: StripNest, row: Expr, begin: Expr) -> For:
    """The iterations of a row from one on, as they are written."""
    rest = replace(nest.loop, lower=begin, facts=LoopFacts(), label=0)
    if nest.rows is None:
        return rest
    return replace(rest, body=substitute_block(rest.body, {nest.rows.var: row}))


def enough(nest: StripNest, lanes: int, rows: int) -> Expr:
    """That a nest has as many iterations as a strip."""
    columns = has_iterations(nest.loop, lanes)
    if rows == 1 or nest.rows is None:
        return simplify(columns)
    return simplify(Binary("and", has_iterations(nest.rows, rows), columns))


def clamped(fresh: Callable[[str], str], loop: For, block: int) -> tuple[For, Let]:
    """A loop over the blocks of a loop, without a body, and where a block begins: the last one ends with the loop."""
    count = simplify(sub(loop.upper, loop.lower))
    at = fresh(f"{loop.var}_block")
    blocks = Binary("floordiv", add(count, index(block - 1)), index(block))
    begin = Binary("min", mul(index(block), Var(at, INDEX)), sub(count, index(block)))
    return _loop(at, simplify(blocks), ()), Let(fresh(f"{loop.var}_begin"), add(loop.lower, begin))


def has_iterations(loop: For, count: int) -> Expr:
    """Whether a loop has so many iterations."""
    return Compare("ge", simplify(sub(loop.upper, loop.lower)), index(count))


def lane_loop(nest: StripNest, lanes: int, rows: int = 1) -> For:
    """A strip of a nest: the loop over so many lanes of some rows, from its first row and column on."""
    lane = nest.fresh(f"{nest.loop.var}_lane")
    at = add(nest.loop.lower, Var(lane, INDEX))
    first = index(0) if nest.rows is None else nest.rows.lower
    places = [add(first, index(r)) for r in range(1 if nest.rows is None else rows)]
    return _loop(lane, index(lanes), _at(nest, places, at))


def _loop(name: str, upper: Expr, body: Sequence[Stmt], instruction: str = "") -> For:
    return For(name, index(0), upper, 1, Block(tuple(body)), LoopFacts(instruction=instruction))


def _strips(
    nest: StripNest, rows: Sequence[Expr], lanes: int, give: Give, tails: Tails | None = None
) -> list[Stmt]:  # fmt: skip
    """The strips of some rows, and what is left of these."""
    loop = nest.loop
    first = loop.lower
    count = simplify(sub(loop.upper, first))
    strip, lane = nest.fresh(f"{loop.var}_strip"), nest.fresh(f"{loop.var}_lane")
    whole = simplify(Binary("floordiv", count, index(lanes)))
    at = add(first, add(mul(index(lanes), Var(strip, INDEX)), Var(lane, INDEX)))
    body = _at(nest, rows, at)
    name = give(lambda first, last: _loop(lane, index(lanes), _at(nest, rows[first:last], at)), len(rows))
    main = _loop(strip, whole, (_loop(lane, index(lanes), body, name),))
    left = simplify(Binary("mod", count, index(lanes)))
    if not nest.again:
        # Where the loop ends before it begins, rounding down would begin before both.
        filled = Binary("floordiv", simplify(Binary("max", count, index(0))), index(lanes))
        begin = simplify(add(first, Binary("mul", filled, index(lanes))))
        rest = tuple(plain_rest(nest, y, begin) for y in rows)
        if tails is None or constant(left) == 0:
            return [main, *rest]

        def behind(start: Expr) -> For:
            return _loop(lane, index(lanes), _at(nest, rows, add(start, Var(lane, INDEX))), name)

        return [main, *_padded(nest, behind, begin, lanes, tails, rest)]
    # The last strip overlaps the one before: what is done twice is the same.
    last = _loop(lane, index(lanes), _at(nest, rows, add(sub(loop.upper, index(lanes)), Var(lane, INDEX))), name)
    few = [replace(loop, body=Block(tuple(_at(nest, (y,), Var(loop.var, INDEX)))), label=0) for y in rows]
    inner = If(Compare("ge", count, index(lanes)), Block((last,)), Block(tuple(few)))
    return [main, If(Compare("gt", left, index(0)), Block((inner,)))]


def _padded(
    nest: StripNest, strip: Callable[[Expr], For], begin: Expr, lanes: int, tails: Tails,
    rest: tuple[Stmt, ...],
) -> tuple[Stmt, ...]:  # fmt: skip
    """What is left of a row as a strip on copies, or under masks; as it was written where that cannot be."""
    left = simplify(sub(nest.loop.upper, begin))
    try:
        made = tails.pad(strip, begin, Left(lanes, left, steps_of(nest.body, nest.loop.var)))
    except NoCover:
        return rest
    body = Block((*made.before, made.strip, *made.behind))
    return (If(Compare("gt", left, index(0)), body),)


def _at(nest: StripNest, rows: Sequence[Expr], place: Expr) -> list[Stmt]:
    """What iterations of some rows do at a place."""
    row = None if nest.rows is None else nest.rows.var
    return [*copies(nest, [{nest.loop.var: place} | ({} if row is None else {row: y}) for y in rows])]


def copies(nest: StripNest, iterations: Sequence[Mapping[str, Expr]]) -> list[Let | Assign]:
    """What iterations, each by its iterators, do: all values first, since nothing that is stored is read again. What is
    the same in all lanes has no name: in an instruction it is a scalar operand."""
    moving = {nest.loop.var}
    for x in nest.body:
        if isinstance(x, Let) and moving & variables(x.value):
            moving.add(x.var)
    names: dict[str, Let | Assign] = {}
    stores: list[Let | Assign] = []
    for at, iteration in enumerate(iterations):
        values = dict(iteration)
        for x in nest.body:
            made = substitute_stmt(x, values)
            if isinstance(made, Let) and made.var not in moving:
                values[made.var] = made.value
            elif isinstance(made, Let):
                new = nest.fresh(f"{made.var}_{at}") if at else made.var
                while new in names:
                    new += "_"
                values[made.var] = Var(new, type_of(made.value))
                names[new] = replace(made, var=new)
            elif isinstance(made, Assign):
                stores.append(made)
    return [*names.values(), *stores]
