"""The verdict on a function in a few lines: what becomes of its nests, and the one thing that holds them back.

print("\\n".join(describe_verdict(function, plans, refused, source, None)))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planish.build.lower import RegionPlan
from planish.core.diagnostic import Remark
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.poly.scop.dependence_levels import list_links
from planish.report.account import FunctionAccount
from planish.report.tables import format_ratio, format_seconds
from planish.report.verdicts.dependences import describe_carrier, describe_chain, spans_of_loops
from planish.schedule.auto.plan import Prepared


def describe_verdict(
    function: CFunction, plans: Sequence[RegionPlan], refused: Sequence[Remark], source: Source,
    built: FunctionAccount | None, carets: bool = True,
) -> Iterator[str]:  # fmt: skip
    """The verdict on a function: `plans` are those of its nests, `refused` what the front-end left as it is, `built`
    what an earlier build made of it; a refusal has its line with `carets`, or stands in one line."""
    place = f"{function.name} ({function.span.file}:{function.span.line})"
    if not plans and not refused:
        yield f"{place}: no loop"
        return
    made = [x for x in plans if x.versions]
    names = ", ".join(dict.fromkeys(f"`{x.versions[0].name}`" for x in made))
    whole = len(made) == len(plans) and not refused
    count = "" if whole and len(made) == 1 else f"{len(made)} nest{'' if len(made) == 1 else 's'} "
    left = "" if whole else ", other loops stay as written"
    yield f"{place}: {count}to be replaced by {names}{left}" if made else f"{place}: stays as written"
    if built is not None and built.before is not None and built.after is not None:
        times = f"{format_seconds(built.before.median)} -> {format_seconds(built.after.median)}"
        yield f"  built: {times}, {format_ratio(built.ratio)}"
    hindrance = find_hindrance(plans, refused, source, carets)
    yield hindrance if "\n" in hindrance else f"  {hindrance}"


def find_hindrance(plans: Sequence[RegionPlan], refused: Sequence[Remark], source: Source, carets: bool = True) -> str:
    """What holds a function back most: the first loop that is left out, else a dependence through values, else none."""
    left = [r for x in plans if not x.versions for r in x.remarks if r.kind == "refused"]
    for remark in (*refused, *left):
        where = f"line {remark.span.line}: " if remark.span is not None else ""
        return remark.render(source) if carets else f"held back by: {where}{remark.message}"
    for plan in plans:
        if plan.prepared is not None and (told := _dependence(plan.prepared)):
            return told
    return "nothing holds it back: all iterations are independent"


def _dependence(prepared: Prepared) -> str:
    """The outermost dependence through values, one that keeps its order before a chain of updates."""
    links = [x for x in list_links(prepared.scop, prepared.dependences) if x.kind == "flow" and x.carrier is not None]
    links.sort(key=lambda x: (x.reduction, x.carrier))
    if not links:
        return ""
    first = links[0]
    statement = prepared.scop.statement(first.sink)
    where = describe_carrier(first, statement, spans_of_loops(prepared.scop))
    what = describe_chain(first, prepared.scop) if first.reduction else f"values passed through `{first.array}`"
    return f"held back by: {what}, from iteration to iteration of {where}"
