"""Compiler comparisons as tables and as JSON.

>>> geometric_mean([2.0, 8.0])
4.0
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import exp, log
from typing import Any

from rich.markup import escape
from rich.table import Table

from planish.options import Options
from planish.report.compiler_comparison import Contest, Standing
from planish.report.tables import format_ratio, format_seconds
from planish.version import VERSION


def contest_table(contest: Contest) -> Table:
    """Every contestant of one function, the fastest first; ratios are to the fastest original."""
    title = f"{contest.function} ({contest.file}), {contest.arguments}"
    table = Table(box=None, pad_edge=False, header_style="bold", title=escape(title), title_justify="left")
    for name in ("what", "compiler"):
        table.add_column(name, no_wrap=True)
    for name in ("median", "10 % to 90 %", "ratio"):
        table.add_column(name, justify="right")
    table.add_column("")
    best = contest.best("original")
    base = best.timing.median if best is not None and best.timing is not None else None
    for place in sorted(contest.places, key=_order):
        t = place.timing
        side = place.contestant.side
        what = "planish (as written)" if side == "planish" and not contest.replaced else side
        times = ("-", "-", "-")
        if t is not None:
            spread = f"{format_seconds(t.low)} to {format_seconds(t.high)}"
            times = (format_seconds(t.median), spread, format_ratio(base / t.median if base else None))
        table.add_row(what, escape(place.contestant.label), *times, escape(place.reason))
    return table


def _order(place: Standing) -> float:
    return place.timing.median if place.timing is not None else float("inf")


def summary_table(contests: Sequence[Contest]) -> Table:
    """One row for each function, each side under its best compiler and flags; the last row is the geometric mean."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("kernel", no_wrap=True)
    for name in ("original", "polly", "planish", "over original", "over polly"):
        table.add_column(name, justify="right", no_wrap=True)
    for c in contests:
        sides = [c.best("original"), c.best("polly"), c.best("planish")]
        times = ["-" if p is None or p.timing is None else format_seconds(p.timing.median) for p in sides]
        table.add_row(escape(c.function), *times, format_ratio(c.ratio("original")), format_ratio(c.ratio("polly")))
    if len(contests) > 1:
        plain = [r for c in contests if (r := c.ratio("original")) is not None]
        polly = [r for c in contests if (r := c.ratio("polly")) is not None]
        means = [format_ratio(geometric_mean(x)) if x else "-" for x in (plain, polly)]
        table.add_row("geometric mean", "", "", "", *means)
    return table


def geometric_mean(ratios: Sequence[float]) -> float:
    """The n-th root of the product of n positive numbers; ValueError for none."""
    if not ratios:
        raise ValueError("no ratios")
    return exp(sum(log(r) for r in ratios) / len(ratios))


def print_contests(contests: Sequence[Contest], options: Options) -> str:
    """The contests as JSON; times in seconds."""
    data = {"planish": VERSION, "options": options.describe(), "contests": [_contest(c) for c in contests]}
    return json.dumps(data, indent=1) + "\n"


def _contest(contest: Contest) -> dict[str, Any]:
    return {
        "file": contest.file,
        "function": contest.function,
        "arguments": contest.arguments,
        "replaced": contest.replaced,
        "over_original": contest.ratio("original"),
        "over_polly": contest.ratio("polly"),
        "contestants": [_place(p) for p in contest.places],
    }


def _place(place: Standing) -> dict[str, Any]:
    who, timing = place.contestant, place.timing
    times = {} if timing is None else {
        "median": timing.median, "low": timing.low, "high": timing.high, "rounds": timing.rounds,
    }  # fmt: skip
    return {
        "side": who.side, "compiler": who.compiler.name, "kind": who.compiler.kind, "version": who.compiler.version,
        "flags": list(who.flags), **times, "left_out": place.reason,
    }  # fmt: skip
