"""Judges a generated nest against its input: the context of the parameters, and a proof, or at least trials, that it
runs the schedule.

>>> from planish.astgen.formats import generate_input, parse_input
>>> found = parse_input("[n] -> { S[i] -> [-i] : 0 <= i < n } [n] -> { : n >= 3 } { }", "backwards.in")
>>> find_ranges(found)["n"][0], choose_sizes(found)[0]
(3, {'n': 3})
>>> print(verify_input(found, generate_input(found), ()))
proven
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from planish.astgen.checking.symbolic import OPERATIONS, ScheduleVerdict, verify_map, verify_tree
from planish.astgen.checking.times import Times, fix_sizes, list_times, map_times, tree_times
from planish.astgen.checking.verify import compare_traces
from planish.astgen.code_size.effort import EffortLimitError, compile_nest
from planish.astgen.code_size.isl_codegen import run_isl
from planish.astgen.formats import CodegenInput
from planish.astgen.option_names import find_word
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.index.interval import Interval
from planish.ir.nest import Block
from planish.poly.isl.affine import CONTEXT, isl_name, source_name
from planish.poly.isl.op_budget import budget, is_used_up
from planish.poly.isl.to_list import list_maps

PARAM, SET = isl.dim_type.param, isl.dim_type.set
Sizes = Mapping[str, int]

FAR = 1 << 40
"""Parameters are taken to lie within this distance of zero, where nothing else is known."""

MOST_INSTANCES, MOST_STEPS, MOST_RUNS = 5_000, 2_000_000, 5
"""What running a nest to check it may take: instances and loop steps a run, runs."""

LISTING = 3_000_000
"""The work of isl for choosing values of the parameters."""

_RANGES = ((0, 1), (1, 3), (2, 6), (5, 9), (8, 20), (0, 40), (-5, 200), (-2000, 5000))


def times_of(found: CodegenInput) -> Times:
    """When each instance of an input is to run."""
    if found.schedule is not None:
        return tree_times(found.schedule, found.context)
    return map_times(found.schedule_map, found.context)


def find_ranges(found: CodegenInput) -> dict[str, Interval]:
    """Where each parameter lies, as far as the context bounds it by constants."""
    context = found.context.params()
    out = dict.fromkeys(found.parameters, (-FAR, FAR))
    if context.is_empty():
        return out
    for i in range(context.dim(PARAM)):
        alone = isl.Set.from_params(context).move_dims(SET, 0, PARAM, i, 1)
        alone = alone.project_out(PARAM, 0, alone.dim(PARAM))
        low, high = alone.dim_min_val(0), alone.dim_max_val(0)
        name = source_name(str(context.get_dim_name(PARAM, i)))
        out[name] = (
            int(low.to_python()) if low.is_int() else -FAR,
            int(high.to_python()) if high.is_int() else FAR,
        )
    return out


def verify_input(
    found: CodegenInput, nest: Block, sizes: Sequence[Sizes], operations: int = OPERATIONS
) -> ScheduleVerdict:
    """Whether a nest of tracing statements runs what is scheduled, for all parameters; where no proof is found, it is
    run for `sizes` (or some that are chosen), and the verdict is `given up` unless something differs."""
    if found.schedule is not None:
        verdict = verify_tree(nest, found.schedule, found.context, operations)
    else:
        verdict = verify_map(nest, found.schedule_map, found.context, operations)
    if verdict.answer == "differs":
        shown = _run(found, nest, [verdict.sizes], f"not confirmed by running: {verdict.detail}")
        return verdict if shown.answer == "differs" else shown
    return verdict if verdict.answer == "proven" else _run(found, nest, sizes, verdict.detail)


def _run(found: CodegenInput, nest: Block, sizes: Sequence[Sizes], reason: str) -> ScheduleVerdict:
    run, times = compile_nest(nest), times_of(found)
    done = []
    for here in sizes or choose_sizes(found):
        try:
            fault = compare_traces(run(here, MOST_STEPS).trace, list_times(times, here))
        except EffortLimitError:
            continue
        if fault is not None:
            return ScheduleVerdict("differs", f"{fault}{describe_sizes(here)}")
        done.append(describe_sizes(here).removeprefix(", ") or "as it has no parameters")
    told = f"; right {'; '.join(done)}" if done else "; no parameters were found for which it can be run"
    return ScheduleVerdict("given up", f"{reason}{told}")


def describe_sizes(sizes: Sizes) -> str:
    """The values as the end of a sentence."""
    values = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    return f", for {values}" if values else ""


def choose_sizes(found: CodegenInput) -> list[dict[str, int]]:
    """A few values of the parameters that the context allows, and for which there are some instances, not too many."""
    times = times_of(found)
    out: list[dict[str, int]] = []
    for low, high in _RANGES:
        with budget(isl.DEFAULT_CONTEXT, LISTING):
            try:
                sizes = _pick(times, found.parameters, low, high)
                parts = [] if sizes is None else list_maps(fix_sizes(times, sizes))
                counts = [part.wrap().count_val() for part in parts]
            except (isl.Error, TypeError):
                if not is_used_up(isl.DEFAULT_CONTEXT):
                    raise
                continue
        # Numbers are read outside, since a value cannot tell that there was no work left to print it.
        total = sum(int(x.to_python()) if x.is_int() else MOST_INSTANCES + 1 for x in counts)
        if sizes is not None and sizes not in out and total <= MOST_INSTANCES:
            out.append(sizes)
        if len(out) == MOST_RUNS or not found.parameters:
            break
    return out


def _pick(times: Times, names: Sequence[str], low: int, high: int) -> dict[str, int] | None:
    """Values between two bounds; 0 for parameters that nothing depends on."""
    box = times.context
    for i in range(box.dim(PARAM)):
        box = box.lower_bound_val(PARAM, i, isl.Val(low)).upper_bound_val(PARAM, i, isl.Val(high))
    busy = times.relation.params().intersect(box)
    box = box if busy.is_empty() else busy
    if box.is_empty():
        return None
    point = box.sample_point()
    positions = {name: box.find_dim_by_name(PARAM, isl_name(name)) for name in names}
    return {name: 0 if i < 0 else int(point.get_coordinate_val(PARAM, i).to_python()) for name, i in positions.items()}


def name_unbounded(found: CodegenInput) -> PlanishError | None:
    """The statement and the dimension of its schedule for which a loop would have no bound (E0512); None if there is
    no such."""
    for relation in list_maps(times_of(found).relation):
        statement = str(relation.get_tuple_name(isl.dim_type.in_))
        values = relation.range()
        for k in range(values.dim(SET)):
            outer = values.project_out(SET, k + 1, values.dim(SET) - k - 1)
            sides = [
                side
                for side, bounded in (
                    ("lower", outer.dim_has_lower_bound(SET, k)),
                    ("upper", outer.dim_has_upper_bound(SET, k)),
                )
                if not bounded
            ]
            if sides:
                message = f"`{statement}` has no {' and no '.join(sides)} bound in dimension {k} of its schedule"
                advice = "bound its instances from below and above"
                place = find_word(statement, found.source)
                return PlanishError(Diagnostic("E0512", message, place, advice), found.source)
    return None


def rival_text(found: CodegenInput) -> str:
    """isl's own answer as isl prints it, with the macros that it uses; PlanishError E0513 where it has none."""
    try:
        node = run_isl(found)
    except isl.Error as error:
        message = f"isl generates no nest for {found.source.name}: {error}"
        raise PlanishError(Diagnostic("E0513", message, found.source.point(1)), found.source) from error
    printer = isl.Printer.to_str(CONTEXT).set_output_format(isl.format.C)
    return str(node.print_macros(printer).print_ast_node(node).get_str())
