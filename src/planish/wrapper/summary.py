"""A report of a build as a table: for each file the functions that were replaced, and why others are as written.

>>> from planish.wrapper.request import TranslatedFunction
>>> f = TranslatedFunction("dot", 3, True, "lane-sums")
>>> print(summary_line([SourceRecord("a.c", "/p", ("gcc",), "a.o", "taken", "", 0.25, (f,))]))
1 function of 1 in 1 file of 1 replaced; files took 0.25 s longer (median), 0.25 s at most
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median

from rich.markup import escape
from rich.table import Table

from planish.report.console import make_console
from planish.wrapper.record import SourceRecord, read_records

_MOST = 100
"""Characters of a reason that are shown."""


def print_summary(path: str) -> int:
    """Prints the table of a report, and how much was replaced; 0. Raises PlanishError where the file is none."""
    records = read_records(path)
    make_console(sys.stdout).print(summary_table(records))
    print(summary_line(records))
    return 0


def summary_table(records: Sequence[SourceRecord]) -> Table:
    """A row for each function that was looked at; for files without one, why."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("file", "function", "now"):
        table.add_column(name, overflow="fold")
    for record in sorted(records, key=lambda x: (x.outcome != "taken", x.source)):
        name = escape(record.source)
        if not record.functions:
            table.add_row(name, "-", escape(_short(f"as written: {record.reason}")))
        for f in record.functions:
            reason = next(iter(f.reasons), "") or record.reason or "nothing that was verified is faster"
            told = next(iter(f.done), f.version) if f.taken else f"as written: {reason}"
            table.add_row(name, escape(f.name), escape(_short(told)))
            name = ""
    return table


def summary_line(records: Sequence[SourceRecord]) -> str:
    """How much was replaced, and what it cost."""
    functions = [f for x in records for f in x.functions]
    taken, files = sum(f.taken for f in functions), sum(x.outcome == "taken" for x in records)
    seconds = [x.seconds for x in records] or [0.0]
    unfinished = sum(x.unfinished for x in records)
    line = (
        f"{_count(taken, 'function')} of {len(functions)} in {_count(files, 'file')} of {len(records)} replaced; "
        f"files took {median(seconds):.2f} s longer (median), {max(seconds):.2f} s at most"
    )
    later = f"\n{_count(unfinished, 'file')} had no time for all: `planish cc --finish` does it for the next build"
    return line + (later if unfinished else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
