"""Independent loops as kernels over any range of their iterations.

A loop is chosen in each nest; instances with different values in the loops that are chosen use no cell together, of
which one writes, but for sums, which each range may make apart.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> kernel = parse_kernel("kernel k(n; x: f64[n], y: f64[n]) { for i in 1 .. n { x[i] = y[i - 1] } }")
>>> found = find_range(kernel, reassociate=True)
>>> print(print_stmt(found.kernel.body.body[0]), end="")
for i in low .. high {
  x[i] = y[i - 1]
}
>>> chain = parse_kernel("kernel k(n; x: f64[n]) { for i in 1 .. n { x[i] = x[i - 1] } }")
>>> find_range(chain, reassociate=True) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import islpy as isl

from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import coefficient_of, extremum, mod, same, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, LoopFacts, Reduce, ReduceOp, Stmt
from planish.ir.traverse import arrays_in, blocks_of, expressions, loads, used_names, variables, walk
from planish.ir.types import F32, F64, Type
from planish.poly.isl.affine import NotAffineError, isl_name
from planish.poly.isl.op_budget import budget
from planish.poly.scop.dependence import find_flow, find_order
from planish.poly.scop.extraction import Scop, Statement, extract_scop
from planish.schedule.accesses import rename
from planish.schedule.auto.tiling.band import same_time
from planish.schedule.legality import updates_of

DEEPEST = 3
"""So many loops of a nest, from the outermost one, may be chosen."""
MOST = 24
"""So many choices are tried."""
OPERATIONS = 20_000_000
"""The work of isl (a second or two) after which nothing is known."""
LINE = 64
"""The bytes of a line of the cache."""
PARAM = isl.dim_type.param


@dataclass(frozen=True, slots=True)
class IterationLimits:
    """The sizes `low` and `high` from and to which a part goes, of all from `lower` to `upper`."""

    low: str
    high: str
    lower: Expr
    upper: Expr


@dataclass(frozen=True, slots=True)
class IterationRange:
    """A part of a kernel that may be run for any range of the whole one.

    `kernel`: that part for the iterations within some `limits`, of which there is one in each `step`, best by multiples
    of `grain`; what else it uses of local arrays is among its arrays. Around it: local arrays (`shared`), statements
    before and after. `sums`: cells that it only updates, each by one operation. `loops`: the variables of the loops
    that are chosen.
    """

    kernel: Kernel
    limits: IterationLimits
    step: int
    grain: int
    shared: tuple[Alloc, ...]
    before: tuple[Stmt, ...]
    after: tuple[Stmt, ...]
    sums: tuple[tuple[ReduceOp, str], ...]
    loops: tuple[str, ...]


def find_range(kernel: Kernel, *, reassociate: bool, scratch: Collection[str] = ()) -> IterationRange | None:
    """The loops of a kernel of which any range may be run by itself: one in each of the nests that follow each other
    and compute most; None where there are none, or that is not known. `reassociate`: sums of floats may be made in
    another order. `scratch`: arrays of which nothing is read behind the kernel; each range has its own where nothing
    goes through them from one iteration to another."""
    stmts = [x for x in kernel.body.body if not isinstance(x, Alloc)]
    try:
        with budget(isl.DEFAULT_CONTEXT, OPERATIONS):
            for first, last in _runs(stmts):
                found = _in_run(kernel, stmts, first, last, reassociate, scratch)
                if found is not None:
                    return found
    except (NotAffineError, isl.Error):
        pass
    return None


def _runs(stmts: Sequence[Stmt]) -> Iterator[tuple[int, int]]:
    """Where nests that follow each other begin and end: as many as there are, then one alone; all that are as deep as
    any are among them."""
    depths = [_depth(x) for x in stmts]
    deep = [i for i, x in enumerate(depths) if x == max(depths)] if any(depths) else []
    if not deep:
        return
    first, last = deep[0], deep[-1]
    if not all(isinstance(x, For) for x in stmts[first : last + 1]):
        return
    wide = first, last
    while first and isinstance(stmts[first - 1], For):
        first -= 1
    while last + 1 < len(stmts) and isinstance(stmts[last + 1], For):
        last += 1
    yield first, last
    if wide != (first, last):
        yield wide


def _depth(stmt: Stmt) -> int:
    """How many loops are in each other in a statement."""
    below = (_depth(x) for block in blocks_of(stmt) for x in block.body)
    return isinstance(stmt, For) + max(below, default=0)


def _in_run(
    kernel: Kernel, stmts: Sequence[Stmt], first: int, last: int, reassociate: bool, scratch: Collection[str]
) -> IterationRange | None:
    nests = [x for x in stmts[first : last + 1] if isinstance(x, For)]
    choices = [loops_to_choose(x, kernel) for x in nests]
    if not all(choices):
        return None
    scop = extract_scop(kernel)
    parts = statements_of(scop, stmts)[first : last + 1]
    inside = replace(scop, statements=tuple(x for part in parts for x in part))
    sums = _sums(kernel, nests, reassociate)
    order, movable = _order(inside, sums, {}), _movable(kernel, stmts, first, last, scratch)
    tried = sorted(product(*(range(len(x)) for x in choices)), key=lambda x: (sum(x), x))
    for depths in tried[:MOST]:
        chosen = [x[y] for x, y in zip(choices, depths, strict=True)]
        if not _go_together(chosen):
            continue
        one = _in_one(inside, parts, depths)
        own = () if order.is_subset(one) else tuple(x for x in movable if _stays(inside, x, one))
        if (_order(inside, sums, {x: depths[movable[x]] + 1 for x in own}) if own else order).is_subset(one):
            made = _make(kernel, stmts, (first, last), chosen, sums, own)
            wanted = [(x, ((y, made.limits),)) for part, y in zip(parts, depths, strict=True) for x in part]
            return made if is_part(made.kernel, wanted) else None
    return None


def _order(scop: Scop, sums: Sequence[tuple[ReduceOp, str]], private: Mapping[str, int]) -> isl.UnionMap:
    """The pairs of instances that keep their order, but for updates of sums; `private` as of `find_order`."""
    order = find_order(scop, private)
    return order.subtract(updates_of(scop, order, {x for _, x in sums}))


def _movable(
    kernel: Kernel, stmts: Sequence[Stmt], first: int, last: int, scratch: Collection[str]
) -> dict[str, int]:
    """Arrays of `scratch` that one of some nests uses, and nothing else; with its number among them."""
    known = [x.name for x in kernel.arrays if x.name in scratch and None not in x.shape]
    users = {name: [n for n, x in enumerate(stmts) if name in arrays_in(x)] for name in known}
    return {x: at[0] - first for x, at in users.items() if len(at) == 1 and first <= at[0] <= last}


def _stays(scop: Scop, array: str, one: isl.UnionMap) -> bool:
    """Whether all that is read of an array comes from the same iteration of the loops that are chosen."""
    flow, live_in = find_flow(scop, {array})
    return bool(live_in.is_empty()) and bool(flow.is_subset(one))


Bounds = tuple[int, IterationLimits]
"""Which of the loops around a statement has which limits, the outermost one being 0."""


def is_part(part: Kernel, wanted: Sequence[tuple[Statement, Sequence[Bounds]]]) -> bool:
    """Whether a kernel runs those instances of some statements whose values are within limits, and no others."""
    scop = extract_scop(part)
    space, out = scop.context.get_space(), len(scop.statements) == len(wanted)
    for found, (statement, bounds) in zip(scop.statements, wanted, strict=False):
        domain = statement.domain.align_params(space).reset_tuple_id().intersect_params(scop.context)
        local = isl.LocalSpace.from_space(domain.get_space())
        for depth, limits in bounds:
            value = isl.Aff.var_on_domain(local, isl.dim_type.set, depth)
            places = (local.find_dim_by_name(PARAM, isl_name(x)) for x in (limits.low, limits.high))
            low, high = (isl.Aff.var_on_domain(local, PARAM, x) for x in places)
            domain = domain.intersect(value.ge_set(low)).intersect(value.lt_set(high))
        out = out and domain.is_equal(found.domain.reset_tuple_id())
    return out


def _go_together(loops: Sequence[For]) -> bool:
    """Whether loops take each value, or the same ones."""
    first = loops[0]
    return all(x.step == first.step and (x.step == 1 or same(x.lower, first.lower)) for x in loops)


def loops_to_choose(nest: For, kernel: Kernel) -> list[For]:
    """The loops of a nest that may be chosen, from the outermost one: around all of its statements, with bounds that do
    not move."""
    out: list[For] = []
    stmt: Stmt = nest
    while isinstance(stmt, For) and len(out) < DEEPEST:
        moved = variables(stmt.lower) | variables(stmt.upper)
        if not moved <= {*kernel.sizes} or loads(stmt.lower) or loads(stmt.upper):
            break
        out.append(stmt)
        if len(stmt.body.body) != 1:
            break
        stmt = stmt.body.body[0]
    return out


def statements_of(scop: Scop, stmts: Sequence[Stmt]) -> list[list[Statement]]:
    """The statements of a kernel, by which of its parts they are in."""
    out, first = [], 0
    for stmt in stmts:
        count = sum(isinstance(x, Assign | Reduce) for x in walk(stmt))
        out.append(list(scop.statements[first : first + count]))
        first += count
    return out


def _sums(kernel: Kernel, nests: Sequence[For], reassociate: bool) -> list[tuple[ReduceOp, str]]:
    """The cells that nests only update, by one operation each, in whatever order."""
    local = [x.array for x in kernel.body.body if isinstance(x, Alloc)]
    cells = {x.name: x for x in (*kernel.arrays, *local) if not x.shape and (x.type.is_int or x.type in (F32, F64))}
    out: dict[str, ReduceOp] = {}
    others: set[str] = set()
    for stmt in (x for nest in nests for x in walk(nest)):
        others |= {load.array for x in expressions(stmt) for load in loads(x)}
        if isinstance(stmt, Assign):
            others.add(stmt.array)
        elif isinstance(stmt, Reduce) and stmt.array in cells:
            if out.setdefault(stmt.array, stmt.op) != stmt.op or (cells[stmt.array].type.is_float and not reassociate):
                others.add(stmt.array)
    return [(op, name) for name, op in out.items() if name not in others]


def _in_one(scop: Scop, parts: Sequence[Sequence[Statement]], depths: Sequence[int]) -> isl.UnionMap:
    """The pairs of instances with the same value in the loops that are chosen."""
    values = isl.UnionMap.empty(scop.context.get_space())
    for part, depth in zip(parts, depths, strict=True):
        for statement in part:
            space = isl.LocalSpace.from_space(statement.domain.get_space())
            value = isl.Map.from_aff(isl.Aff.var_on_domain(space, isl.dim_type.set, depth))
            values = values.add_map(value.intersect_domain(statement.domain))
    return same_time(values)


def _make(
    kernel: Kernel, stmts: Sequence[Stmt], run: tuple[int, int], chosen: Sequence[For],
    sums: Sequence[tuple[ReduceOp, str]], own: Collection[str],
) -> IterationRange:  # fmt: skip
    first, last = run
    before, nests, after = stmts[:first], stmts[first : last + 1], stmts[last + 1 :]
    taken = {*used_names(kernel)}
    apart = {x: take_name(f"own_{x}", taken) for x in own}
    low, high = take_name("low", taken), take_name("high", taken)
    lower, upper = chosen[0].lower, chosen[0].upper
    for loop in chosen[1:]:
        lower, upper = extremum("min", lower, loop.lower), extremum("max", upper, loop.upper)
    narrowed: dict[int, For] = {}
    for loop in chosen:
        begin = index(low) if same(loop.lower, lower) else extremum("max", loop.lower, index(low))
        end = index(high) if same(loop.upper, upper) else extremum("min", loop.upper, index(high))
        narrowed[id(loop)] = replace(loop, lower=begin, upper=end, facts=LoopFacts())
    body = Block(tuple(_narrowed(x, narrowed) for x in nests))
    for old, new in apart.items():
        body = rename(body, old, new)
    used, outside = set(arrays_in(body)), {y for x in (*before, *after) for y in arrays_in(x)}
    allocs = [x for x in kernel.body.body if isinstance(x, Alloc)]
    types = {x.name: x.type for x in (*kernel.arrays, *(x.array for x in allocs))}
    cells = {name for _, name in sums}
    shared = tuple(x for x in allocs if x.array.name in outside | cells or x.array.name not in used)
    local = [x for x in allocs if x not in shared]
    local += [_as_local(x, apart[x.name]) for x in kernel.arrays if x.name in apart]
    arrays = (*kernel.arrays, *(_as_argument(x.array) for x in shared if x.array.name in used))
    step = chosen[0].step
    known = [Compare("le", x, y) for x, y in pairwise((lower, index(low), index(high), upper))]
    if step > 1:
        known.append(Compare("eq", mod(sub(index(low), lower), index(step)), index(0)))
    part = replace(
        kernel, sizes=(*kernel.sizes, low, high), arrays=arrays, body=Block((*local, *body.body)),
        assumptions=(*kernel.assumptions, *known),
    )  # fmt: skip
    grain = max(_grain(x, types) for x in chosen)
    names = tuple(x.var for x in chosen)
    limits = IterationLimits(low, high, lower, upper)
    return IterationRange(part, limits, step, grain, shared, tuple(before), tuple(after), tuple(sums), names)


def _narrowed(nest: Stmt, loops: Mapping[int, For]) -> Stmt:
    """A nest with another loop in the place of the one that is chosen, which is around all of it or alone in another
    one."""
    if id(nest) in loops:
        return loops[id(nest)]
    assert isinstance(nest, For)
    (only,) = nest.body.body
    return replace(nest, body=Block((_narrowed(only, loops),)))


def _grain(loop: For, types: Mapping[str, Type]) -> int:
    """The iterations that store to one line of the cache, which is best left to one thread; 1 where there are none."""
    stores = [x for x in walk(loop) if isinstance(x, Assign | Reduce) and x.index]
    found = [types[x.array].size for x in stores if _goes_along(x.index[-1], loop.var)]
    return max(LINE // min(found) // loop.step, 1) if found else 1


def _goes_along(subscript: Expr, var: str) -> bool:
    moved = coefficient_of(subscript, var)
    return moved is not None and moved[0] == 1


def _as_local(array: Array, name: str) -> Alloc:
    """An array as one that each range has for itself."""
    return Alloc(replace(array, name=name, memory="dram", distinct=True))


def _as_argument(array: Array) -> Array:
    """A local array as one of a kernel's."""
    return replace(array, memory="dram", distinct=True)
