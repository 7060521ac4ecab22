"""What must hold of every program: each check runs a kernel before and after, and tells what differs.

A check returns a sentence about the first difference, or None. `count` notes what a check really did, so that a suite
can show that it was not vacuous.

>>> from tests.property.programs import make_program
>>> check_order(make_program(3), Counter())
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import islpy as isl
import numpy as np
from tests.property.enumerated import find_conflicts, find_early, find_flow, find_reversed, list_events
from tests.property.programs import Program, make_values
from tests.property.rearranged import rearrange

from planish.astgen.checking.verify import Instance, evaluate, list_instances
from planish.ir.checker import check_kernel
from planish.ir.expr import Binary, Expr, Load, Var, index, type_of
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, LoopFacts, Reduce, Stmt
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import map_block, map_exprs, substitute
from planish.ir.types import INDEX
from planish.poly.isl.affine import isl_name
from planish.poly.isl.op_budget import budget
from planish.poly.isl.schedule_tree import find_node
from planish.poly.isl.to_list import list_maps
from planish.poly.scop.dependence import Dependences, find_dependences, is_live_in, movable_updates
from planish.poly.scop.extraction import Scop, extract_scop
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto import policies
from planish.schedule.auto.lower import lower
from planish.schedule.auto.plan import plan, prepare
from planish.schedule.auto.policies import POLICIES, compute_schedule
from planish.schedule.auto.tiling.band import read_band
from planish.schedule.auto.tiling.strip_mining import StripOrder, leaf_bands, shape_band
from planish.schedule.auto.tiling.tile_sizes import choose
from planish.target.machine import CacheLevel, Target

TARGETS = (
    Target("wide", "x86-64", 256, 16, True, (CacheLevel(1, 32768), CacheLevel(2, 1 << 20))),
    Target("tiny", "any", 64, 8, False, (CacheLevel(1, 256, 16), CacheLevel(2, 1024, 16))),
)
WORK_LIMIT = 30_000_000
SCHEDULE_LIMIT, SCHEDULE_SECONDS = 500_000, 1.5
"""Bounds on isl's operations for one check and for one schedule; what needs more is given up, and counted."""

LARGEST = 800
"""The most instances that are enumerated to compare flow."""

ORDERS: tuple[StripOrder, ...] = ("full-first", "rest-first", "whole")

Check = Callable[[Program, "Counter[str]"], str | None]


def run(kernel: Kernel, program: Program, sizes: dict[str, int]) -> dict[str, bytes]:
    """The content of every array after a run."""
    values = make_values(program, sizes)
    run_kernel(kernel, values)
    return {n: v.tobytes() for n, v in values.items() if isinstance(v, np.ndarray)}


def compare(program: Program, changed: Kernel, what: str, exact: bool = True) -> str | None:
    """What differs between the program and a changed kernel, for all sizes of the program; if not `exact`, by more than
    floats that are summed in another order may."""
    check_kernel(changed, what)
    for sizes in program.sizes:
        wanted, got = run(program.kernel, program, sizes), run(changed, program, sizes)
        for name in wanted:
            same = wanted[name] == got[name]
            if not same and (exact or not _is_close(program.kernel.array(name), wanted[name], got[name])):
                return f"{what}: {name} differs for {sizes}\n{print_kernel(program.kernel)}\n{print_kernel(changed)}"
    return None


def _is_close(array: Array, wanted: bytes, got: bytes) -> bool:
    """Whether floats differ by rounding at most; huge numbers, which may cancel, are not judged."""
    if not array.type.is_float:
        return False
    a, b = (np.frombuffer(x, array.type.numpy) for x in (wanted, got))
    return bool(np.nanmax(np.abs(a), initial=0.0) > 1e9 or np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True))


def fix_sizes(relation: isl.UnionMap, sizes: dict[str, int]) -> isl.UnionMap:
    """The relation for given sizes."""
    text = " and ".join(f"{isl_name(n)} = {v}" for n, v in sizes.items()) or "0 = 0"
    params = isl.Set(f"[{', '.join(isl_name(n) for n in sizes)}] -> {{ : {text} }}")
    return relation.intersect_params(params)


def check_order(program: Program, count: Counter[str]) -> str | None:
    """The extracted domain and schedule list exactly the instances that run, in order; accesses are the real ones."""
    scop = extract_scop(program.kernel)
    for sizes in program.sizes:
        events = list_events(program.kernel, sizes)
        listed = [x for _, x in list_instances(scop.schedule, sizes)]
        count["instances"] += len(events)
        if [e.instance for e in events] != listed:
            return f"order: instances differ for {sizes}\n{print_kernel(program.kernel)}"
    return None


def check_flow(program: Program, count: Counter[str]) -> str | None:
    """The flow holds every enumerated one, and (but for a few kernels that isl cannot do) nothing else; for the sizes
    of the program and for larger ones, at which arrays need not be large enough."""
    scop = extract_scop(program.kernel)
    dependences, live = find_dependences(scop), find_live(scop)
    names = program.kernel.sizes
    larger = [dict(zip(names, values, strict=False)) for values in ((45, 17), (11, 46))]
    for sizes in (*program.sizes, *larger):
        if not all(evaluate(a, sizes) for a in program.kernel.assumptions):
            continue
        events = list_events(program.kernel, sizes)
        if len(events) > LARGEST:
            continue
        early = find_early(events) - live
        if early:
            return f"flow: what {sorted(early)} held before is read for {sizes}\n{print_kernel(program.kernel)}"
        wanted = find_flow(events)
        found = list_pairs(fix_sizes(dependences.flow, sizes))
        if not wanted <= found:
            return f"flow: {sorted(wanted - found)[:2]} missing for {sizes}\n{print_kernel(program.kernel)}"
        count["flow exact" if found == wanted else "flow wider"] += 1
        if sizes in larger:
            continue
        missing = find_conflicts(events) - list_pairs(fix_sizes(dependences.order, sizes))
        if missing:
            return f"order: {sorted(missing)[:2]} missing for {sizes}\n{print_kernel(program.kernel)}"
    return None


def find_live(scop: Scop) -> set[str]:
    """The arrays of which something may be read that was there before, no more of them than the reads in question."""
    names = {x.array for statement in scop.statements for x in statement.accesses}
    return {name for name in names if is_live_in(scop, {name})}


def list_pairs(relation: isl.UnionMap) -> set[tuple[Instance, Instance]]:
    """The pairs of a bounded relation between instances."""
    out: set[tuple[Instance, Instance]] = set()
    for part in list_maps(relation):
        names = (part.get_tuple_name(isl.dim_type.in_), part.get_tuple_name(isl.dim_type.out))
        split = part.dim(isl.dim_type.in_)

        def visit(point: isl.Point, names: tuple[str, str] = names, split: int = split) -> None:
            count = point.get_space().dim(isl.dim_type.set)
            at = tuple(int(point.get_coordinate_val(isl.dim_type.set, i).to_python()) for i in range(count))
            out.add(((names[0], at[:split]), (names[1], at[split:])))

        part.wrap().foreach_point(visit)
    return out


def check_same(program: Program, count: Counter[str]) -> str | None:
    """Generated from its own schedule, the kernel means the same."""
    scop = extract_scop(program.kernel)
    return compare(program, lower(scop, scop.schedule, scop.locals), "same")


def check_strategies(program: Program, count: Counter[str]) -> str | None:
    """Every automatic schedule is legal and means the same, with sums of integers in any order."""
    scop, dependences = _prepared(program)
    kept = _kept(scop, dependences)
    for strategy in POLICIES[:2]:
        schedule = compute_schedule(scop, dependences, kept, strategy)
        if schedule is None:
            count["given up"] += 1
            continue
        if find_violation(schedule_map(schedule), kept) is not None:
            return f"{strategy.name}: the automatic schedule is illegal\n{print_kernel(program.kernel)}"
        count["automatic"] += 1
        fault = compare(program, lower(scop, schedule, scop.locals), strategy.name)
        if fault is not None:
            return f"{fault}\n{schedule}"
    return None


def _prepared(program: Program) -> tuple[Scop, Dependences]:
    scop = extract_scop(program.kernel)
    return scop, find_dependences(scop)


def _kept(scop: Scop, dependences: Dependences) -> isl.UnionMap:
    """The pairs that keep their order where results are to be the same to the bit."""
    return dependences.order.subtract(movable_updates(scop, dependences, reassociate=False))


def check_random_schedules(program: Program, count: Counter[str]) -> str | None:
    """A random schedule is called legal exactly if no two conflicting instances change places, and then it means the
    same; the verdict is compared with the enumerated conflicts for every size."""
    rng = random.Random(program.seed)
    scop, dependences = _prepared(program)
    bases = [scop.schedule]
    if rng.random() < 0.5:
        computed = compute_schedule(scop, dependences, dependences.order, rng.choice(POLICIES))
        bases = [computed or scop.schedule]
    events = [list_events(program.kernel, sizes) for sizes in program.sizes]
    for _ in range(4):
        schedule = rearrange(scop, rng.choice(bases), rng)
        times = schedule_map(schedule)
        violated = find_violation(times, dependences.order)
        for sizes, seen in zip(program.sizes, events, strict=True):
            when = {x: time for time, x in list_instances(schedule, sizes)}
            if set(when) != {e.instance for e in seen}:
                return f"random: the schedule lost instances\n{schedule}\n{print_kernel(program.kernel)}"
            reversed_pair = find_reversed(seen, when)
            claimed = violated is not None and not fix_sizes(violated, sizes).is_empty()
            if claimed != (reversed_pair is not None):
                text = print_kernel(program.kernel)
                return f"random: verdict {claimed}, conflict {reversed_pair} for {sizes}\n{schedule}\n{text}"
        count["illegal" if violated is not None else "legal"] += 1
        if violated is None:
            fault = compare(program, lower(scop, schedule, scop.locals), "random")
            if fault is not None:
                return f"{fault}\n{schedule}"
    return None


def check_shapes(program: Program, count: Counter[str]) -> str | None:
    """Tiles, strips and lanes with random sizes mean the same, and loops said to be independent are."""
    rng = random.Random(program.seed)
    scop, dependences = _prepared(program)
    if not scop.statements or scop.domain.is_empty():
        return None
    arrays = {a.name: a for a in (*scop.kernel.arrays, *scop.locals)}
    movable = movable_updates(scop, dependences, reassociate=False)
    kept = dependences.order.subtract(movable)
    schedule = compute_schedule(scop, dependences, kept, rng.choice(POLICIES)) or scop.schedule
    for path in leaf_bands(schedule):
        band = read_band(find_node(schedule, path), scop, dependences.order, movable)
        choice = choose(band, rng.choice(TARGETS), arrays)
        if band.permutable:
            tiles = tuple(rng.choice((0, 0, 2, 3, 4, 8)) for _ in choice.tiles)
            jam = tuple((m, rng.choice((2, 3, 4))) for m, _ in choice.jam)
            choice = replace(choice, tiles=tiles, jam=jam)
        order: StripOrder = rng.choice(ORDERS) if choice.jam else "whole"
        shaped = shape_band(find_node(schedule, path), band, choice, order).get_schedule()
        if find_violation(schedule_map(shaped), kept) is not None:
            count["shape refused"] += 1
            continue
        count["shaped"] += 1
        count["jammed"] += bool(choice.jam)
        schedule = shaped
    return compare_lanes(program, lower(scop, schedule, scop.locals), "shape", count)


def check_plan(program: Program, count: Counter[str]) -> str | None:
    """The whole way that a kernel takes, for every strategy: linear subscripts opened, locals private, bands shaped."""
    prepared = prepare(program.kernel)
    fault = compare(program, prepared.kernel, "prepared")
    if fault is not None:
        return fault
    if not prepared.scop.statements:
        return None
    for target in TARGETS:
        candidates = plan(prepared, target, reassociate=False, threads=1 + program.seed % 2)
        count["candidates"] += len(candidates)
        for candidate in candidates:
            fault = compare_lanes(program, candidate.kernel, f"plan {candidate.name} {target.name}", count)
            if fault is not None:
                return f"{fault}\n{candidate.schedule}"
    return None


def check_sums(program: Program, count: Counter[str]) -> str | None:
    """The whole way, with sums in any order; floats may differ by rounding."""
    prepared = prepare(program.kernel)
    if not prepared.scop.statements:
        return None
    for target in TARGETS:
        for candidate in plan(prepared, target, reassociate=True, threads=1 + program.seed % 2):
            count["candidates"] += 1
            what = f"sums {candidate.name} {target.name}"
            fault = compare_lanes(program, candidate.kernel, what, count, exact=False)
            if fault is not None:
                return f"{fault}\n{candidate.schedule}"
    return None


def compare_lanes(
    program: Program, kernel: Kernel, what: str, count: Counter[str], exact: bool = True
) -> str | None:
    """As `compare`, and again with every loop that is said to be independent run backwards, and statement by statement,
    as lanes do."""
    fault = compare(program, kernel, what, exact)
    if fault is not None:
        return fault
    arrays = {a.name: a for a in kernel.arrays}
    backwards = replace(kernel, body=map_block(lambda s: _backwards(s, arrays, count), kernel.body))
    fault = compare(program, backwards, f"{what}, lanes backwards", exact) if backwards != kernel else None
    if fault is not None:
        return fault
    abreast = replace(kernel, body=map_block(lambda s: _abreast(s, kernel, count), kernel.body))
    return compare(program, abreast, f"{what}, lanes abreast", exact) if abreast != kernel else None


LANES_ABREAST = 64
"""The most iterations of a loop that are run abreast."""


def _abreast(stmt: Stmt, kernel: Kernel, count: Counter[str]) -> Stmt | tuple[Stmt, ...]:
    """A loop over lanes in which each statement is done for all iterations before the next one, and loads before it
    stores; loops of sums and those around others are left alone."""
    if not isinstance(stmt, For) or not stmt.facts.simd or stmt.facts.reductions:
        return stmt
    body = stmt.body.body
    if not all(isinstance(x, Let | Assign | Reduce) for x in body):
        return stmt
    count["abreast"] += 1
    lane = (Binary("sub", Var(stmt.var, INDEX), stmt.lower),)
    loops: list[Stmt] = []
    cells: list[Stmt] = []
    held: dict[str, Expr] = {}
    plain = replace(stmt, facts=LoopFacts())
    for number, x in enumerate(body):
        assert isinstance(x, Let | Assign | Reduce)
        value = substitute(x.value, held)
        if isinstance(x, Reduce):
            value = Binary(x.op, Load(x.array, x.index, type_of(value)), value)
        own = Array(f"{stmt.var}_lanes{number}", type_of(value), (index(LANES_ABREAST),))
        cells.append(Alloc(own))
        loops.append(replace(plain, body=Block((Assign(own.name, lane, value),))))
        result = Load(own.name, lane, own.type)
        if isinstance(x, Let):
            held[x.var] = result
        else:
            loops.append(replace(plain, body=Block((Assign(x.array, x.index, result),))))
    return Block((*cells, *loops))


def _backwards(stmt: Stmt, arrays: dict[str, Array], count: Counter[str]) -> Stmt:
    """A loop over lanes (or threads) with its iterations in the opposite order; sums of floats are left alone."""
    if not isinstance(stmt, For) or not (stmt.facts.simd or stmt.facts.parallel) or stmt.facts.reductions:
        return stmt
    count["lanes"] += 1
    if stmt.step == 1:
        last = Binary("sub", Binary("add", stmt.lower, stmt.upper), index(1))
    else:
        spread = Binary("sub", Binary("sub", stmt.upper, index(1)), stmt.lower)
        rounded = Binary("mul", Binary("floordiv", spread, index(stmt.step)), index(stmt.step))
        last = Binary("add", Binary("add", stmt.lower, stmt.lower), rounded)
    turned: dict[str, Expr] = {stmt.var: Binary("sub", last, Var(stmt.var, INDEX))}
    return replace(stmt, body=_substituted(stmt.body, turned))


def _substituted(block: Block, values: dict[str, Expr]) -> Block:
    return map_block(lambda stmt: map_exprs(lambda x: substitute(x, values), stmt), block)


CHECKS: dict[str, Check] = {
    "order": check_order,
    "same": check_same,
    "flow": check_flow,
    "strategies": check_strategies,
    "random": check_random_schedules,
    "shapes": check_shapes,
    "plan": check_plan,
    "sums": check_sums,
}


EVERY = {"order": 1, "same": 1, "flow": 3, "random": 2, "strategies": 5, "shapes": 5, "plan": 10, "sums": 10}
"""Each check takes one program in so many where not every program goes through all; the costly ones fewer."""


def run_check(name: str, program: Program, count: Counter[str]) -> str | None:
    """One check under a bound on isl's work; what exceeds it counts as `given up`."""
    try:
        bounds = patch.multiple(policies, OPERATION_LIMIT=SCHEDULE_LIMIT, SECONDS=SCHEDULE_SECONDS)
        with budget(isl.DEFAULT_CONTEXT, WORK_LIMIT), bounds:
            fault = CHECKS[name](program, count)
    except isl.Error as error:
        if "quota" not in str(error).lower() and "maximal number" not in str(error).lower():
            raise
        count["given up"] += 1
        return None
    count[name] += 1
    return None if fault is None else f"seed {program.seed}: {fault}"
