"""Why a file is built as it is: each nest with its statements, the dependences that hold it, its schedules, refusals.

print(explain_file(source, Options()))
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from planish.build.lower import RegionPlan, lower_region
from planish.build.read import read_file
from planish.core.diagnostic import Remark, render_at
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.nest import Array, For
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.options import Options
from planish.report.account import FileAccount, is_about
from planish.report.operations import describe_choice, describe_operations
from planish.report.verdicts.dependences import at_line, list_waits
from planish.report.verdicts.verdict import describe_verdict
from planish.schedule.auto.plan import Prepared, Version
from planish.target.load import load_target
from planish.target.machine import Target

LEGEND = "flow: reads what was written; anti: overwrites what was read; output: overwrites what was written"


def explain_file(
    source: Source, options: Options, earlier: FileAccount | None = None, detailed: bool = True
) -> str:  # fmt: skip
    """The explanation as text: verdicts, and the details behind them where they are asked for; `earlier` is the account
    of a build, which tells what was chosen in the end.

    Raises PlanishError for input that cannot be read.
    """
    target = load_target(options.target)
    file = read_file(source, options)
    functions = [f for f in file.functions if options.takes(f.name)]
    parts: list[str] = []
    verdicts: list[str] = []
    told: set[Remark] = set()
    for function in functions:
        plans = tuple(_with_operations(lower_region(r, options, target), options, target) for r in function.regions)
        refused = [r for r in file.remarks if is_about(r, function)]
        told |= set(refused)
        built = next((f for f in (earlier.functions if earlier else ()) if f.function == function.name), None)
        verdict = describe_verdict(function, plans, _refusals(refused), source, built, carets=not detailed)
        verdicts.append("\n".join(verdict))
        parts += _explain_function(function, plans, refused, source, earlier)
    rest = [r for r in file.remarks if r not in told and (not options.functions or r.span is None)]
    rest = [r for r in rest if r not in file.missing_remarks]
    parts += [r.render(source) for r in rest]
    verdicts += [r.render(source) for r in file.missing_remarks]
    if not detailed:
        name = shlex.quote(source.name)
        parts = [f"planish explain -v {name} tells the dependences, the schedules, and all refusals"]
    return "\n\n".join((*verdicts, *parts)) + "\n"


def _refusals(remarks: list[Remark]) -> list[Remark]:
    return [x for x in remarks if x.kind == "refused"]


def _with_operations(plan: RegionPlan, options: Options, target: Target) -> RegionPlan:
    """The plan with remarks on what its statements are as operations."""
    if plan.prepared is None:
        return plan
    region = plan.region
    remarks = describe_operations(region.kernel, region.scratch, target, options.fp, dict(options.sizes))
    return replace(plan, remarks=(*plan.remarks, *remarks))


def _explain_function(
    function: CFunction, plans: tuple[RegionPlan, ...], refused: list[Remark], source: Source,
    earlier: FileAccount | None,
) -> Iterator[str]:  # fmt: skip
    if not plans and not refused:
        yield f"=== {function.name} ({function.span}): there is no loop in it"
        return
    count = "one loop nest is" if len(plans) == 1 else f"{len(plans) or 'no'} loop nests are"
    yield f"=== {function.name} ({function.span}): {count} recognised"
    for plan in plans:
        yield from _explain_region(plan, len(plans), source)
    for remark in refused:
        yield remark.render(source)
    built = next((f for f in earlier.functions if f.function == function.name), None) if earlier is not None else None
    if built is not None and built.before is not None and built.after is not None:
        yield describe_choice(built)


def _explain_region(plan: RegionPlan, count: int, source: Source) -> Iterator[str]:
    yield render_at(_headline(plan.region, count), plan.region.span, source, "")
    for assumption in plan.region.kernel.assumptions:
        message = f"only where {print_expr(assumption)}; otherwise the original runs"
        yield Remark("guard", "note", message, plan.region.span).render()
    if plan.prepared is not None:
        yield from _explain_dependences(plan.prepared, source)
        yield from _explain_candidates(plan.candidates, source)
    for remark in plan.remarks:
        yield remark.render(source)


def _headline(region: Region, count: int) -> str:
    kernel = region.kernel
    loops = sum(1 for s in walk(kernel.body) if isinstance(s, For))
    number = f" {region.ordinal} of {count}" if count > 1 else ""
    sizes = f" over {', '.join(kernel.sizes)}" if kernel.sizes else ""
    arrays = f"; arrays {', '.join(_array(a) for a in kernel.arrays)}" if kernel.arrays else ""
    return f"done[nest]: loop nest{number}: {loops} loop{'' if loops == 1 else 's'}{sizes}{arrays}"


def _array(array: Array) -> str:
    shape = "".join(f"[{'?' if x is None else print_expr(x)}]" for x in array.shape)
    return f"{array.name}{shape} ({array.type})"


def _explain_dependences(prepared: Prepared, source: Source) -> Iterator[str]:
    """One block for each statement that waits for something: the statement, then what it waits for."""
    waits = list_waits(prepared)
    busy = {x.sink.name for x in waits}
    free = [s for s in prepared.scop.statements if s.name not in busy]
    for statement in (s for s in prepared.scop.statements if s.name in busy):
        block = render_at(f"note[dependence]: {statement.name} waits for", statement.stmt.span, source, "")
        yield "\n".join([block, *(f"  = {x}" for x in waits if x.sink is statement)])
    if free:
        names = ", ".join(f"{s.name}{at_line(s.stmt.span)}" for s in free)
        yield f"note[dependence]: {names}: wait{'s' if len(free) == 1 else ''} for nothing"
    if waits:
        yield f"note[dependence]: {LEGEND}"


def _explain_candidates(candidates: tuple[Version, ...], source: Source) -> Iterator[str]:
    for place, candidate in enumerate(candidates):
        why = "the cheapest by estimate, tried first" if place == 0 else f"alternative {place}"
        # Versions of other strategies than loops are ranked by what these are known to bring, not by cycles.
        cost = f" (about {candidate.cost:.3g} cycles for each innermost instance)" if candidate.cost else ""
        head = f"done[schedule]: `{candidate.name}`: {why}{cost}"
        if place == 0:
            yield "\n\n".join([head, *(r.render(source) for r in candidate.remarks)])
        else:
            told = [f"line {r.span.line}: {r.message}" if r.span else r.message for r in candidate.remarks]
            yield "\n".join([head, *(f"  = {x}" for x in told)])
    if len(candidates) > 1:
        yield "note[schedule]: a build checks each of these, times them beside the original, and uses the fastest"
