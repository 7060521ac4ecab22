"""Loops that reduce narrow integers to a cell, in strips: partial sums, or extrema, of lanes, joined behind the loop.

A lane takes one element of each strip, or two or four neighbours, so that what adds products of neighbours does all of
it (`vpmaddwd`, `vpdpbusd`, `udot`): the number that costs least.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(n; A: u8[n], s: i32[]) { for i in 0 .. n { s[] += i32(A[i]) } }"
>>> (found,) = find_lane_reductions(parse_kernel(text))
>>> made = strip_lanes(found, 16, lambda part, rows, cells: ("sums", 1.0), (1, 2))
>>> print(print_stmt(made[0]), end="")
if n >= 16 {
  alloc s_lanes: i32[16] distinct stack
  for i_lane in 0 .. 16 {
    s_lanes[i_lane] = 0:i32
  }
  for i_strip in 0 .. n // 16 {
    for i_lane in 0 .. 16 as sums {
      let s_1 = s_lanes[i_lane]
      let s_2 = s_1 + i32(A[16 * i_strip + i_lane])
      s_lanes[i_lane] = s_2
    }
  }
  for i_lane in 0 .. 16 {
    s[] += s_lanes[i_lane]
  }
}
>>> print(print_stmt(made[1]), end="")
for i in 16 * (max(n, 0) // 16) .. n {
  s[] += i32(A[i])
}
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from planish.ir.expr import Binary, Const, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import add, mul, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Reduce, ReduceOp, Stmt
from planish.ir.traverse import expressions, loads, map_expr, map_exprs, substitute_block, used_names, variables, walk
from planish.ir.types import INDEX
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.straight_line import NotStraight, straight_line
from planish.library.loops.vector_strips.strip_nest import has_iterations, is_independent, is_only_in

Choose = Callable[[Callable[[int, int], For], int, Sequence[Array]], tuple[str, float]]
"""The instruction that does a loop over lanes, which may touch some more arrays, and its cycles of throughput."""
TOGETHER = (1, 2, 4)
"""So many neighbours a lane takes of a strip."""


@dataclass(frozen=True, slots=True, eq=False)
class LaneReduction:
    """A loop that updates an element by its iterations' values: `cell`, what joins these, the other arrays that it
    stores to, those that nothing else uses, and names that are taken."""

    loop: For
    cell: Load
    op: ReduceOp
    stored: frozenset[str]
    own: frozenset[str]
    taken: frozenset[str]
    tables: Mapping[str, Array]

    def fresh(self, name: str) -> str:
        """A name that begins like this one, and is none that there is."""
        while name in self.taken:
            name += "_"
        return name


def find_lane_reductions(kernel: Kernel) -> Iterator[LaneReduction]:
    """The innermost loops of a kernel that update one element."""
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    for stmt in kernel.body.body:
        for x in walk(stmt):
            if isinstance(x, For) and x.step == 1 and not any(isinstance(y, For) for y in x.body.body):
                found = _reduction_of(kernel, x, local)
                if found is not None:
                    yield found


def _reduction_of(kernel: Kernel, loop: For, local: set[str]) -> LaneReduction | None:
    moving = {loop.var, *(x.var for x in loop.body.body if isinstance(x, Let))}
    updates = [x for x in loop.body.body if isinstance(x, Reduce) and _is_fixed(x, moving)]
    if len(updates) != 1 or updates[0].op not in ("add", "min", "max"):
        return None
    (update,) = updates
    others = [x for x in loop.body.body if x is not update]
    if not all(isinstance(x, Let | Assign) for x in others):
        return None
    touched = [y for x in others for e in expressions(x) for y in loads(e)] + [*loads(update.value)]
    stored = {x.array for x in others if isinstance(x, Assign)}
    if update.array in stored or any(y.array == update.array for y in touched):
        return None
    if not {y.array for y in touched} & {x.name for x in kernel.arrays}:
        return None  # no elements for lanes, as in `s += 7`
    own = frozenset(x for x in local if x != update.array and is_only_in(kernel, loop, x))
    plain = [x for x in others if isinstance(x, Let) or (isinstance(x, Assign) and x.array not in own)]
    if not is_independent([x for x in plain if isinstance(x, Let | Assign)], [loop.var]):
        return None
    kind = type_of(update.value)
    if not kind.is_int or kind.bits > 32:
        return None
    cell = Load(update.array, update.index, kind)
    tables = {x.name: x for x in kernel.arrays if x.values}
    return LaneReduction(loop, cell, update.op, frozenset(stored - own), own, used_names(kernel), tables)


def _is_fixed(x: Reduce, moving: Container[str]) -> bool:
    """Whether a statement updates the same element in all iterations."""
    return not any(loads(y) or any(z in moving for z in variables(y)) for y in x.index)


def strip_lanes(
    found: LaneReduction, elements: int, choose: Choose, together: Sequence[int] = TOGETHER
) -> tuple[Stmt, ...]:  # fmt: skip
    """The loop in strips of so many elements; NoCover where none of the numbers of neighbours has an instruction."""
    best: tuple[float, int, str, Callable[[int, int], For]] | None = None
    reason = NoCover("it stores what lanes have several of")
    for times in together if not found.stored else (1,):
        lanes = elements // times
        part: Callable[[int, int], For] = partial(_lane_loop, found, _lanes(found, lanes), lanes, times)
        try:
            name, cost = choose(part, 1, [_lanes(found, lanes)])
        except NoCover as error:
            reason = error
            continue
        if best is None or cost < best[0]:
            best = cost, times, name, part
    if best is None:
        raise reason
    _, times, name, part = best
    return _written(found, elements, elements // times, name, part(0, 1))


def _lanes(found: LaneReduction, lanes: int) -> Array:
    name = found.fresh(f"{found.cell.array}_lanes")
    return Array(name, found.cell.type, (index(lanes),), distinct=True, memory="stack")


def _written(found: LaneReduction, elements: int, lanes: int, name: str, whole: For) -> tuple[Stmt, ...]:
    loop, cell, array = found.loop, found.cell, _lanes(found, lanes)
    lane, strip = whole.var, found.fresh(f"{loop.var}_strip")
    count = simplify(sub(loop.upper, loop.lower))
    element = Load(array.name, (Var(lane, INDEX),), cell.type)
    first: Expr = Const(0, cell.type) if found.op == "add" else cell
    strips = simplify(Binary("floordiv", count, index(elements)))

    def over_lanes(x: Stmt) -> For:
        return For(lane, index(0), index(lanes), 1, Block((x,)))

    inner = replace(whole, facts=replace(whole.facts, instruction=name))
    many = Block((
        Alloc(array),
        over_lanes(Assign(array.name, element.index, first)),
        For(strip, index(0), strips, 1, Block((inner,))),
        over_lanes(Reduce(cell.array, cell.index, found.op, element)),
    ))  # fmt: skip
    done = Binary("floordiv", simplify(Binary("max", count, index(0))), index(elements))
    rest = replace(loop, lower=simplify(add(loop.lower, Binary("mul", done, index(elements)))), label=0)
    return If(has_iterations(loop, elements), many), rest


def _lane_loop(found: LaneReduction, array: Array, lanes: int, times: int, first: int, last: int) -> For:
    """The loop over the lanes of a strip, each of which takes so many neighbours."""
    loop = found.loop
    lane, strip = found.fresh(f"{loop.var}_lane"), found.fresh(f"{loop.var}_strip")
    base = add(loop.lower, add(mul(index(lanes * times), Var(strip, INDEX)), mul(index(times), Var(lane, INDEX))))
    run = [y for at in range(times) for y in substitute_block(loop.body, {loop.var: add(base, index(at))}).body]
    try:
        body = straight_line(Block(tuple(run)), found.own, found.taken, found.tables)
    except NotStraight as error:
        raise NoCover(str(error)) from error
    cells = [_in_lanes(found, array, lane, x) for x in body]
    return For(lane, index(0), index(lanes), 1, Block(tuple(_only_moving(cells, lane))))


def _in_lanes(found: LaneReduction, array: Array, lane: str, x: Let | Assign) -> Stmt:
    place = (Var(lane, INDEX),)

    def moved(y: Expr) -> Expr:
        return Load(array.name, place, array.type) if isinstance(y, Load) and y.array == found.cell.array else y

    made = map_exprs(partial(map_expr, moved), x)
    if isinstance(made, Assign) and made.array == found.cell.array:
        return replace(made, array=array.name, index=place)
    return made


def _only_moving(body: Sequence[Stmt], lane: str) -> Iterator[Stmt]:
    """The statements without names of what is the same in all lanes: in an instruction that is a scalar operand."""
    moving, values = {lane}, dict[str, Expr]()
    for x in body:
        y = map_exprs(partial(_substituted, dict(values)), x)
        if isinstance(y, Let) and not moving & variables(y.value):
            values[y.var] = y.value
            continue
        if isinstance(y, Let):
            moving.add(y.var)
        yield y


def _substituted(values: Mapping[str, Expr], x: Expr) -> Expr:
    return map_expr(lambda y: values.get(y.name, y) if isinstance(y, Var) else y, x)
