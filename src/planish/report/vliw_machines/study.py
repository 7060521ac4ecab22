"""What machines make of the same functions: a table, and a figure with a line for each function.

>>> [round(x, 1) for x in ticks(1.0, 60.0)]
[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
"""

from __future__ import annotations

from html import escape
from math import ceil, floor, log2

from rich.table import Table

from planish.build.machine_study import MachineStudy

_COLOURS = ("#2f6db3", "#e0913a", "#4a9a5b", "#a0529a", "#8c8c8c", "#b33a3a", "#3aa6a6", "#6b5b2f")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 420, 60, 170, 40, 70


def study_table(study: MachineStudy) -> Table:
    """A line for each machine: cycles of each function and its gain over the first machine, and their mean."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for axis in study.axes:
        table.add_column(axis.name)
    for name in study.functions:
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("mean", justify="right")
    for point in study.points:
        cells = [f"{point.cycles[x]} ({study.gain(point, x):.2f}x)" for x in study.functions]
        table.add_row(*point.values, *cells, f"{study.mean(point):.2f}x")
    return table


def refused_lines(study: MachineStudy) -> list[str]:
    """The functions that are not compared, and the machines that have no right packets of them."""
    out: list[str] = []
    for name in study.points[0].cycles:
        without = [x.machine.name for x in study.points if not x.cycles.get(name)]
        if without:
            out.append(f"{name} is left out: no packets on {'; '.join(without)}")
    return out


def study_rows(study: MachineStudy) -> str:
    """The same as values with commas: a line for each machine and function."""
    head = ",".join((*(x.name for x in study.axes), "function", "cycles", "gain", "over_naive_scalar"))
    lines = [head]
    for point in study.points:
        for name in study.functions:
            gains = f"{study.gain(point, name):.4f},{study.gain_over_naive(point, name):.4f}"
            lines.append(",".join((*point.values, name, str(point.cycles[name]), gains)))
    return "\n".join(lines) + "\n"


def ticks(low: float, high: float) -> list[float]:
    """Powers of two around some values."""
    return [2.0**n for n in range(floor(log2(low)), ceil(log2(max(high, low * 1.01))) + 1)]


def study_figure(study: MachineStudy) -> str:
    """The gains over the first machine as lines, as SVG: machines from left to right, in the order of the study."""
    names = study.functions
    gains = {x: [study.gain(p, x) for p in study.points] for x in names}
    every = [y for x in gains.values() for y in x] or [1.0]
    marks = ticks(min(every), max(every))
    low, high = log2(marks[0]), log2(marks[-1])
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(number: int, gain: float) -> tuple[float, float]:
        across = number / max(1, len(study.points) - 1)
        return _LEFT + width * across, _TOP + height * (1 - (log2(gain) - low) / (high - low))

    parts = [_text(_LEFT, 22, "gain over the first machine", size=14)]
    for mark in marks:
        y = place(0, mark)[1]
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + width}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{mark:g}x", anchor="end"))
    for number, point in enumerate(study.points):
        for row, value in enumerate(point.values):
            parts.append(_text(place(number, marks[0])[0], _TOP + height + 18 + 15 * row, value, anchor="middle"))
    for row, axis in enumerate(study.axes):
        parts.append(_text(_LEFT + width + 14, _TOP + height + 18 + 15 * row, axis.name))
    for number, name in enumerate(names):
        colour = _COLOURS[number % len(_COLOURS)]
        points = [place(n, gain) for n, gain in enumerate(gains[name])]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(_text(_LEFT + width + 14, _TOP + 14 + 16 * number, name, fill=colour))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>', *parts, "</svg>\n"])


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, fill: str = "#222222") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"'
    return f"<text {place}>{escape(words)}</text>"
