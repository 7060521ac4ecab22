"""Legality of a reordered nest: every instance still runs once, and no two dependent ones swap.

What a step does to the order is seen on a trace, the same nest with a statement for each instance in place of the real
ones: rewritten in the same way, it says when each instance of the old nest runs in the new one. A step seldom changes
the order of more than a few statements, so these are looked at alone first.

>>> from planish.ir.text.parser import parse_kernel
>>> kernel = parse_kernel("kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }")
>>> check_order(kernel, lambda block: block)
>>> check_order(kernel, lambda block: Block(()))
Traceback (most recent call last):
    ...
planish.core.diagnostic.PlanishError: error[E0611]: `A[i] = 0.0:f32` does not run any more for i = 0, n = 1
  = help: check the bounds of the step against those of the loop
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace

import islpy as isl

from planish.astgen.checking.positions import list_positions, read_items
from planish.astgen.checking.verify import record
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import index, type_of
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.text.printer import print_expr, print_stmt
from planish.ir.traverse import blocks_of, loads, walk, with_blocks
from planish.ir.types import INDEX
from planish.poly.isl.affine import NotAffineError, source_name
from planish.poly.isl.op_budget import budget, is_used_up
from planish.poly.isl.sample import small_point
from planish.poly.scop.dependence import find_order, reduction_chains, together
from planish.poly.scop.extraction import Scop, extract_scop
from planish.poly.scop.legality import find_violation
from planish.schedule.affected_nest import Affected, find_affected, has_own_names, without_the_rest
from planish.schedule.context import alone
from planish.schedule.nodes import Node, path_to

Rewrite = Callable[[Block], Block]

OPERATIONS = 50_000_000
"""The work of isl (some seconds) after which a step is refused, since nothing is known."""

MOST_CHECKED = 2000
"""So many nests that were found to be legal are kept: variants of a kernel are made by the same steps."""

_CHECKED: dict[tuple[Kernel, Block, bool], None] = {}
_PARALLEL: dict[tuple[Kernel, frozenset[str]], None] = {}

SET, PARAM = isl.dim_type.set, isl.dim_type.param


def check_order(kernel: Kernel, rewrite: Rewrite, reassociate: bool = True) -> None:
    """That the nest of a kernel may be rewritten so. `reassociate`: sums of floats may be summed in another order.

    Raises PlanishError: E0610 where two instances would swap, E0611 where one is lost, added or repeated, E0612 where
    that cannot be decided."""
    with _deciding():
        before = trace(kernel.body)
        after = rewrite(before)
        part = find_affected(kernel, before, after)
        if part is None or not _is_legal(part, reassociate):
            # The whole nest knows more than a part of it, and names the places of a refusal.
            _check_once(kernel, after, reassociate)


def _is_legal(part: Affected, reassociate: bool) -> bool:
    """Whether the part of a nest that a step changes may become what it does, as far as the part alone tells."""
    try:
        _check_once(part.kernel, part.after, reassociate)
    except (PlanishError, NotAffineError):
        return False
    return True


def _check_once(kernel: Kernel, after: Block, reassociate: bool) -> None:
    # Labels and spans, which a refusal names, are no part of this; but only what is legal is kept.
    key = (replace(kernel, name=""), after, reassociate)
    if key in _CHECKED:
        return
    _check(kernel, after, reassociate)
    if len(_CHECKED) >= MOST_CHECKED:
        _CHECKED.clear()
    _CHECKED[key] = None


def check_parallel(kernel: Kernel, path: Sequence[Node], sums: Set[str] = frozenset()) -> None:
    """That the iterations of the loop at the end of a path may run in any order, and at the same time, but for their
    updates of some cells, `sums`, which may be made apart.

    Raises PlanishError: E0613 where one uses what another one writes, E0612 where that cannot be decided."""
    depth = sum(isinstance(node, For) for node in path) - 1
    with _deciding():
        if depth and _is_parallel(kernel, path, sums):
            return
        scop = extract_scop(kernel)
        inside = {f"S{number}" for number in _statements_in(kernel.body, path[-1].label)}
        scop = replace(scop, statements=tuple(x for x in scop.statements if x.name in inside))
        order = find_order(scop, _private(kernel))
        carried = order if depth == 0 else order.intersect(together(scop, depth))
        carried = carried.subtract(together(scop, depth + 1)).subtract(updates_of(scop, order, sums))
        if not carried.is_empty():
            raise _shared(scop, carried)


def _is_parallel(kernel: Kernel, path: Sequence[Node], sums: Set[str]) -> bool:
    """Whether the iterations of a loop share nothing, as far as the loop alone tells, in each iteration of those
    around."""
    if not has_own_names(kernel, path):
        return False
    part = without_the_rest(alone(kernel, path, Block((path[-1],))))
    key = (part, frozenset(sums))
    if key in _PARALLEL:
        return True
    try:
        scop = extract_scop(part)
    except NotAffineError:
        return False
    order = find_order(scop, _private(part))
    carried = order.subtract(together(scop, 1)).subtract(updates_of(scop, order, sums))
    if not carried.is_empty():
        return False
    if len(_PARALLEL) >= MOST_CHECKED:
        _PARALLEL.clear()
    _PARALLEL[key] = None
    return True


def updates_of(scop: Scop, order: isl.UnionMap, cells: Set[str]) -> isl.UnionMap:
    """The chains of updates of some cells."""
    chains = reduction_chains(scop, order)
    out = isl.UnionMap.empty(chains.get_space())
    for statement in scop.statements:
        if statement.write.array in cells:
            out = out.union(chains.intersect_domain(isl.UnionSet.from_set(statement.domain)))
    return out


def _statements_in(block: Block, label: int) -> list[int]:
    """The numbers of the statements in a loop, in the order of the text."""
    stores = [stmt.label for stmt in walk(block) if isinstance(stmt, Assign | Reduce)]
    loop = path_to(block, label)[-1]
    within = {stmt.label for stmt in walk(loop) if isinstance(stmt, Assign | Reduce)}
    return [number for number, own in enumerate(stores) if own in within]


@contextmanager
def _deciding() -> Iterator[None]:
    """What isl or the model cannot decide becomes a PlanishError E0612."""
    with budget(isl.DEFAULT_CONTEXT, OPERATIONS):
        try:
            yield
        except NotAffineError as error:
            message = f"whether the step is legal cannot be decided for `{print_expr(error.expr)}`: {error.reason}"
            advice = "such a nest cannot be put in another order"
            raise PlanishError(Diagnostic("E0612", message, help=advice)) from error
        except (isl.Error, TypeError) as error:
            if not is_used_up(isl.DEFAULT_CONTEXT):
                raise
            message, advice = "whether the step is legal was not found out in time", "try it on a smaller part"
            raise PlanishError(Diagnostic("E0612", message, help=f"{advice}, or fix some sizes")) from error


def _check(kernel: Kernel, after: Block, reassociate: bool) -> None:
    """That a nest may become the one that `after` is a trace of."""
    scop = extract_scop(kernel)
    times = list_positions(read_items(after, scop.context))
    _compare(scop, scop.domain, times.domain(), "does not run any more")
    _compare(scop, times.domain(), scop.domain, "runs, and did not before")
    if not times.is_single_valued():
        first = times.lexmin()
        twice = times.subtract(first).domain()
        raise _lost(scop, twice, "runs more than once")
    order = find_order(scop, _private(kernel))
    chains = reduction_chains(scop, order)
    order = order.subtract(chains) if reassociate else order.subtract(_exact(scop, chains))
    broken = find_violation(times, order)
    if broken is not None:
        raise _swapped(scop, broken)


def trace(block: Block) -> Block:
    """The nest with a record of its instance in place of each statement, S0, S1, … in the order of the text."""
    numbers = iter(range(len(list(walk(block)))))

    def visit(part: Block, iterators: tuple[str, ...]) -> Block:
        return Block(tuple(_traced(stmt, iterators, numbers, visit) for stmt in part.body))

    return visit(block, ())


def _traced(
    stmt: Stmt, iterators: tuple[str, ...], numbers: Iterator[int], visit: Callable[[Block, tuple[str, ...]], Block]
) -> Stmt:
    match stmt:
        case Assign(label=label) | Reduce(label=label):
            made = record(f"S{next(numbers)}", tuple(map(index, iterators)))
            assert isinstance(made, Assign)
            return replace(made, label=label)
        case Let(value=value) if type_of(value) != INDEX or loads(value):
            return replace(stmt, value=index(0))
        case For(var=var):
            return replace(stmt, body=visit(stmt.body, (*iterators, var)))
        case _:
            return with_blocks(stmt, [visit(part, iterators) for part in blocks_of(stmt)])


def private_depths(block: Block, depth: int = 0) -> Mapping[str, int]:
    """The local arrays with the number of loops around them, the least where a name stands for several."""
    out: dict[str, int] = {}
    for stmt in block.body:
        found: Mapping[str, int] = {}
        if isinstance(stmt, Alloc):
            found = {stmt.array.name: depth}
        for part in blocks_of(stmt):
            found = {**found, **private_depths(part, depth + isinstance(stmt, For))}
        for name, own in found.items():
            out[name] = min(own, out.get(name, own))
    return out


def _private(kernel: Kernel) -> dict[str, int]:
    return {name: depth for name, depth in private_depths(kernel.body).items() if depth}


def _exact(scop: Scop, chains: isl.UnionMap) -> isl.UnionMap:
    """The chains of updates whose order makes no difference to a bit: those of integers, least and greatest."""
    names = []
    for statement in scop.statements:
        stmt = statement.stmt
        if isinstance(stmt, Reduce) and (not type_of(stmt.value).is_float or stmt.op in ("min", "max")):
            names.append(statement.domain)
    out = isl.UnionMap.empty(chains.get_space())
    for domain in names:
        out = out.union(chains.intersect_domain(isl.UnionSet.from_set(domain)))
    return out


def _compare(scop: Scop, some: isl.UnionSet, others: isl.UnionSet, what: str) -> None:
    missing = some.subtract(others)
    if not missing.is_empty():
        raise _lost(scop, missing, what)


def _lost(scop: Scop, instances: isl.UnionSet, what: str) -> PlanishError:
    one = _example(scop, instances)
    return PlanishError(Diagnostic("E0611", f"{one.text} {what} for {_values({**one.at, **one.sizes})}"))


def _swapped(scop: Scop, broken: isl.UnionMap) -> PlanishError:
    pair = isl.UnionSet.from_point(small_point(broken.wrap())).unwrap()
    first, second = _example(scop, pair.domain()), _example(scop, pair.range())
    cell = _shared_cell(scop, first.name, second.name, pair)
    message = (
        f"{first.text} for {_values(first.at)} would no longer run before {second.text} for {_values(second.at)}, "
        f"which uses the same {cell}"
    )
    sizes = f" (where {_values(first.sizes)})" if first.sizes else ""
    return PlanishError(Diagnostic("E0610", message + sizes, help="the result would change; choose another order"))


def _shared(scop: Scop, carried: isl.UnionMap) -> PlanishError:
    pair = isl.UnionSet.from_point(small_point(carried.wrap())).unwrap()
    first, second = _example(scop, pair.domain()), _example(scop, pair.range())
    cell = _shared_cell(scop, first.name, second.name, pair)
    message = f"{first.text} for {_values(first.at)} and {second.text} for {_values(second.at)} use the same {cell}"
    sizes = f" (where {_values(first.sizes)})" if first.sizes else ""
    advice = "only a loop whose iterations share nothing that one of them writes runs so"
    return PlanishError(Diagnostic("E0613", message + sizes, help=advice))


@dataclass(frozen=True, slots=True)
class _Example:
    """An instance: its statement's name and text, and the values of its iterators and of the sizes."""

    name: str
    text: str
    at: dict[str, int]
    sizes: dict[str, int]


def _example(scop: Scop, instances: isl.UnionSet) -> _Example:
    point = small_point(instances)
    space = point.get_space()
    statement = scop.statement(space.get_tuple_name(SET))
    at = {name: _whole(point, SET, i) for i, name in enumerate(statement.iterators)}
    sizes = {source_name(str(space.get_dim_name(PARAM, i))): _whole(point, PARAM, i) for i in range(space.dim(PARAM))}
    return _Example(statement.name, f"`{print_stmt(statement.stmt)}`", at, sizes)


def _whole(point: isl.Point, kind: isl.dim_type, position: int) -> int:
    return int(point.get_coordinate_val(kind, position).to_python())


def _shared_cell(scop: Scop, first: str, second: str, pair: isl.UnionMap) -> str:
    """The array of a cell that both instances use."""
    for a in scop.statement(first).accesses:
        for b in scop.statement(second).accesses:
            if a.array == b.array and (a.write or b.write):
                same = isl.UnionMap.from_map(a.relation.apply_range(b.relation.reverse()))
                if not same.intersect(pair).is_empty():
                    return f"cell of `{a.array}`"
    return "cell"


def _values(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or "all sizes"

