"""What became of the nests of a file on a VLIW machine: a table, and why each loop's interval is what it is.

>>> packets_table(()).columns[0].header
'function'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from planish.build.packets import PacketResult, explain_loops, spell_sizes
from planish.core.span import Source


def packets_table(results: Sequence[PacketResult]) -> Table:
    """A line for each nest: cycles, those of operations one by one, intervals of inner loops and their least."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("function", "line", "runs", "sizes", "cycles", "naive", "speed-up", "II (least)", "multiplies"):
        table.add_column(name, overflow="fold")
    for x in results:
        line = str(x.span.line) if x.span is not None else ""
        if x.planned is None:
            table.add_row(escape(x.function), line, "refused", *[""] * 6)
            continue
        loops = ", ".join(f"{y.interval} ({y.least})" for y in x.planned.packed.loops)
        runs = "WRONG" if x.message else x.planned.described
        table.add_row(
            escape(x.function), line, runs, spell_sizes(x.sizes), str(x.cycles or ""), str(x.naive or ""),
            f"{x.speedup:.1f}x" if x.speedup else "", loops, f"{x.busy:.0%}" if x.cycles else "",
        )  # fmt: skip
    return table


def describe_packets(result: PacketResult, source: Source, all_remarks: bool) -> Iterator[str]:
    """Why a nest's loops have the intervals that they have, and what was refused or is taken to be so; with
    `all_remarks` also what was refused in favour of what was done."""
    if result.message:
        yield f"{result.function}: WRONG: {result.message}"
    for line in result.blocks.describe() if result.blocks is not None else ():
        yield f"{result.function}: {line}"
    for report, span in explain_loops(result):
        where = f"line {span.line}: " if span is not None else ""
        yield f"{result.function}: {where}{report}"
        yield from (
            f"{x.line:>5} | {source.line(x.line).strip()}" for x in report.spans
            if x.file == source.name and report.recurrences.interval >= report.resources.interval
        )  # fmt: skip
    every = all_remarks or result.planned is None
    for remark in result.remarks if every else (x for x in result.remarks if x.kind == "note"):
        yield f"{result.function}: {remark.render(source)}"
