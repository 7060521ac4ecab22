"""What an editor shows of a C file while it is written: problems, and the verdict on each nest.

>>> from planish.options import Options
>>> text = "void halve(int n, float *x) { for (int i = 0; i < n; i++) x[i] *= 0.5f; }"
>>> found = analyse(Source("h.c", text), Options(target="x86-avx2"))
>>> found["problems"], [(x["name"], x["line"]) for x in found["functions"]]
([], [('halve', 1)])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Literal

from planish.build.lower import RegionPlan, lower_region
from planish.build.project import NOTHING
from planish.build.read import read_file
from planish.core.cache import Cache
from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.span import Source, Span
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.options import Options
from planish.report.account import FileAccount, FunctionAccount, is_about
from planish.report.page.contents import describe_outcome
from planish.report.store import recall
from planish.report.verdicts.verdict import describe_verdict
from planish.target.load import load_target


def analyse(source: Source, options: Options, quiet: Collection[str] = NOTHING) -> dict[str, Any]:
    """The problems of a file, and the functions that are asked for with their nests; nothing is run. Errors that are
    `quiet` are no problems of a file that is only being looked at: it has no loop, or nothing yet."""
    try:
        target, file = load_target(options.target), read_file(source, options)
    except PlanishError as error:
        problem = error.diagnostic
        return {"problems": [] if problem.code in quiet else [_problem(problem, source)], "functions": []}
    earlier = _recall(source, options)
    wanted = [x for x in file.functions if options.takes(x.name)]
    remarks = [r for r in file.remarks if not options.functions or any(is_about(r, x) for x in wanted)]
    functions = []
    for function in wanted:
        plans = tuple(lower_region(r, options, target, most=1) for r in function.regions)
        remarks += [r for p in plans if not p.versions for r in p.remarks]
        built = next((f for f in (earlier.functions if earlier else ()) if f.function == function.name), None)
        functions.append(_function(function, plans, file, source, built))
    lacking = [_remark(r, "warning") for r in file.missing_remarks if r.place is not None]
    refused = [_remark(r) for r in dict.fromkeys(remarks) if r.kind == "refused" and r.place is not None]
    problems = [*lacking, *refused]
    return {"problems": problems, "functions": [x for x in functions if x["nests"] or x["stays"]]}


def _recall(source: Source, options: Options) -> FileAccount | None:
    try:
        return recall(source, options, Cache())
    except PlanishError:
        return None  # there is no compiler, or no header: a build says so


def _function(
    function: CFunction, plans: tuple[RegionPlan, ...], file: CFile, source: Source, built: FunctionAccount | None
) -> dict[str, Any]:
    refused = [r for r in file.remarks if is_about(r, function) and r.kind == "refused"]
    verdict = "\n".join(describe_verdict(function, plans, refused, source, built))
    return {
        "name": function.name, "line": function.span.line, "verdict": verdict, "stays": bool(refused),
        "outcome": "" if built is None else describe_outcome(built), "nests": [x for p in plans for x in _nest(p)],
    }  # fmt: skip


def _nest(plan: RegionPlan) -> Iterator[dict[str, Any]]:
    span = plan.region.span
    if span is None:
        return
    first = next(iter(plan.candidates), None)
    name = plan.versions[0].name if plan.versions else ""
    does = [r.summary for r in first.remarks if r.kind == "done" and r.summary] if first is not None else []
    why = [r.message for r in plan.remarks if r.kind == "refused"] if not plan.versions else []
    yield {"line": span.line, "end_line": span.end_line, "version": name, "does": does, "why": why}


def _remark(remark: Remark, severity: Literal["information", "warning"] = "information") -> dict[str, Any]:
    place = remark.place
    assert place is not None
    return {**_place(place), "severity": severity, "code": remark.id, "message": remark.message,
            "help": remark.advice}  # fmt: skip


def _problem(problem: Diagnostic, source: Source) -> dict[str, Any]:
    place, message = problem.span or source.point(1), problem.message
    if place.file != source.name:  # a header, whose lines are not those of the file
        place, message = source.point(1), f"{place}: {message}"
    return {**_place(place), "severity": problem.severity, "code": problem.code, "message": message,
            "help": problem.advice}  # fmt: skip


def _place(span: Span) -> dict[str, int]:
    return {"line": span.line, "column": span.column, "end_line": span.end_line, "end_column": span.end_column}
