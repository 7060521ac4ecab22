"""Packets by units, how often each was issued, which lines of the source they belong to, and how busy units were.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import Immediate, Instr, Issue, StreamRegister
>>> from planish.vliw.simulator.cycles import simulate
>>> from planish.vliw.simulator.state import make_state
>>> machine = load_machine("ftmatrix")
>>> add = Issue(Instr("SADDI", (Immediate(1), StreamRegister("S", "1"), StreamRegister("S", "1"))), "SIEU")
>>> code = PacketCode("c", ((add,), (), (add,)), {"here": 2}, ())
>>> print(packets_text(code, machine, simulate(code, machine, make_state(machine))))
packet  times  SIEU   lines
     0      1  SADDI
     1      1  -
here:
     2      1  SADDI
<BLANKLINE>
3 cycles: packets in 2, none in 1
scalar: 2 of 15 slots (13%); SIEU 67%
vector: 0 of 18 slots (0%)
"""

from __future__ import annotations

import html
from collections.abc import Iterator

from planish.core.span import Source
from planish.vliw.assembly import spell
from planish.vliw.machine import VliwMachine
from planish.vliw.program import Packet, PacketCode
from planish.vliw.simulator.cycles import SimulatedRun

_COLOURS = {"load": "#cfe8ff", "store": "#ffe0c2", "compute": "#d8f3d0", "branch": "#f3d0e6"}


def packets_text(code: PacketCode, machine: VliwMachine, run: SimulatedRun) -> str:
    """A line for each packet, a column for each unit that has something to do, and how busy all were."""
    units = _units(code, machine)
    rows: list[tuple[str, ...] | str] = [("packet", "times", *units, "lines")]
    labels = _labels(code)
    for number, packet in enumerate(code.packets):
        rows += [f"{x}:" for x in labels.get(number, ())]
        cells = {x.unit: ("?" if x.instr.guard else "") + x.instr.operation for x in packet}
        shown = [cells.get(x, "-" if not packet and x == units[0] else "") for x in units] if units else []
        rows.append((str(number), str(run.counts[number]), *shown, _lines_of(packet)))
    rows += [f"{x}:" for x in labels.get(len(code.packets), ())]
    widths = [max(len(x[i]) for x in rows if not isinstance(x, str)) for i in range(len(units) + 3)]
    lines = [x if isinstance(x, str) else _row(x, widths) for x in rows]
    return "\n".join([*lines, "", *use_text(code, machine, run)])


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    placed = [x.rjust(w) if i < 2 else x.ljust(w) for i, (x, w) in enumerate(zip(cells, widths, strict=True))]
    return "  ".join(placed).rstrip()


def _units(code: PacketCode, machine: VliwMachine) -> list[str]:
    """The units that have something to do, in the machine's order."""
    used = {issue.unit for packet in code.packets for issue in packet}
    return [x.name for x in machine.units if x.name in used]


def _labels(code: PacketCode) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for label, place in code.labels.items():
        found.setdefault(place, []).append(label)
    return found


def _lines_of(packet: Packet) -> str:
    """The lines of the source that a packet's operations stand on."""
    return ", ".join(str(x) for x in sorted({y.instr.span.line for y in packet if y.instr.span is not None}))


def use_text(code: PacketCode, machine: VliwMachine, run: SimulatedRun) -> Iterator[str]:
    """How many cycles had packets, and how busy sides and units were."""
    busy = sum(n for n, packet in zip(run.counts, code.packets, strict=True) if packet)
    drained = max(0, run.cycles - run.stalled - sum(run.counts))
    waiting = f", {run.stalled} held up until transfers were done" if run.stalled else ""
    waiting += f", {drained} for what was under way at the end" if drained else ""
    none = run.cycles - run.stalled - busy - drained
    yield f"{run.cycles} cycles: packets in {busy}, none in {none}{waiting}"
    issued = _issued(code, run)
    for side, slots in machine.sides.items():
        units = [x.name for x in machine.units if x.side == side]
        count = sum(issued.get(x, 0) for x in units)
        shares = "".join(f"; {x} {_share(issued[x], run.cycles)}" for x in units if issued.get(x, 0))
        yield f"{side}: {count} of {slots * run.cycles} slots ({_share(count, slots * run.cycles)}){shares}"


def _issued(code: PacketCode, run: SimulatedRun) -> dict[str, int]:
    """How many operations each unit was given."""
    issued: dict[str, int] = {}
    for count, packet in zip(run.counts, code.packets, strict=True):
        for issue in packet:
            issued[issue.unit] = issued.get(issue.unit, 0) + count
    return issued


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "0%"


def packets_html(code: PacketCode, machine: VliwMachine, run: SimulatedRun, source: Source) -> str:
    """The same as one page that needs nothing else; the source stands beside, with the cycles of each line."""
    units = _units(code, machine)
    head = "".join(f"<th>{html.escape(x)}</th>" for x in ("packet", "times", *units, "lines"))
    most = max([1, *run.counts])
    labels = _labels(code)
    rows: list[str] = []
    for number, packet in enumerate(code.packets):
        rows += [_label_row(x, len(units) + 3) for x in labels.get(number, ())]
        cells = {x.unit: x for x in packet}
        shade = f"background:linear-gradient(90deg,#ffd75e {100 * run.counts[number] // most}%,transparent 0)"
        row = f'<td>{number}</td><td style="{shade}">{run.counts[number]}</td>'
        for unit in units:
            if unit not in cells:
                row += "<td></td>"
                continue
            instr = cells[unit].instr
            colour = _COLOURS[machine.kind(instr.operation)]
            text = html.escape(spell(instr, machine))
            row += f'<td style="background:{colour}" title="{text}">{html.escape(instr.operation)}</td>'
        rows.append(f"<tr>{row}<td>{_lines_of(packet)}</td></tr>")
    rows += [_label_row(x, len(units) + 3) for x in labels.get(len(code.packets), ())]
    used = "".join(f"<li>{html.escape(x)}</li>" for x in use_text(code, machine, run))
    title = html.escape(f"{code.name} on {machine.name}")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>\n{_STYLE}</style>'
        f"</head><body>\n<h1>{title}</h1>\n<ul>{used}</ul>\n<p>{_legend()}</p>\n<table><thead><tr>{head}</tr></thead>"
        f"<tbody>\n" + "\n".join(rows) + f"\n</tbody></table>\n<h2>{html.escape(source.name)}</h2>\n"
        f"<table>{_listing(code, run, source)}</table>\n</body></html>\n"
    )


_STYLE = """body { font: 14px sans-serif; margin: 1.5em; }
table { border-collapse: collapse; font-family: monospace; }
th, td { border: 1px solid #ccc; padding: 1px 6px; text-align: left; }
thead th { position: sticky; top: 0; background: #f4f4f4; }
.label { font-weight: bold; background: #f4f4f4; }
"""


def _label_row(label: str, width: int) -> str:
    return f'<tr><td class="label" colspan="{width}">{html.escape(label)}:</td></tr>'


def _legend() -> str:
    return " ".join(f'<span style="background:{c};padding:1px 6px">{kind}</span>' for kind, c in _COLOURS.items())


def _listing(code: PacketCode, run: SimulatedRun, source: Source) -> str:
    """The lines of the source, with how many operations of each were issued."""
    issued: dict[int, int] = {}
    for count, packet in zip(run.counts, code.packets, strict=True):
        for issue in packet:
            span = issue.instr.span
            if span is not None and span.file == source.name:
                issued[span.line] = issued.get(span.line, 0) + count
    rows = []
    for number, line in enumerate(source.text.splitlines(), 1):
        rows.append(f"<tr><td>{number}</td><td>{issued.get(number, '')}</td><td>{html.escape(line)}</td></tr>")
    return "<tr><th>line</th><th>issued</th><th></th></tr>" + "".join(rows)
