"""Figures of what races have left: each function's speed beside the best compiler's and Polly's, as files of SVG.

    python bench/figures.py          # writes docs/figures/dsp.svg and docs/figures/polybench.svg

>>> bar = Bar("fir", {"the best compiler": 2.9, "Polly": 3.3})
>>> "fir" in draw([bar], "Filters", 4.0)
True
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log2
from pathlib import Path

from dsp import DSP
from polybench import POLYBENCH
from record import RESULTS, Result, Team, load
from suite import Suite
from svg import colour, document, line, text

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
WIDTH, LEFT, RIGHT, TOP, HEIGHT = 900, 180, 30, 70, 26
TEAMS: Mapping[str, Team] = {"the best compiler": "compiler", "Polly": "polly"}
Scale = Callable[[float], float]
"""Where a ratio lies."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A function, and how many times as fast it is as others, by their names."""

    name: str
    ratios: Mapping[str, float]


def bars_of(results: Sequence[Result]) -> list[Bar]:
    """One for each function that was raced, the one that has gained most first."""
    out = []
    for heat in (x for result in results for x in result.heats):
        found = {name: heat.ratio(team) for name, team in TEAMS.items()}
        out.append(Bar(heat.function.removeprefix("kernel_"), {x: y for x, y in found.items() if y is not None}))
    return sorted((x for x in out if x.ratios), key=lambda x: -min(x.ratios.values()))


def draw(bars: Sequence[Bar], title: str, most: float) -> str:
    """The figure, up to `most` times; lengths are logarithms."""
    bottom = TOP + HEIGHT * len(bars)
    scale = (WIDTH - LEFT - RIGHT) / log2(2 * most)

    def x(ratio: float) -> float:
        return LEFT + scale * log2(max(2 * ratio, 1.0))

    parts = [text(12, 26, title, size=15), *_legend(), *_axis(x, most, bottom)]
    for place, bar in enumerate(bars):
        y = TOP + HEIGHT * place
        parts.append(text(LEFT - 8, y + 15, bar.name, anchor="end"))
        parts += _pair(bar, x, y)
    return document(WIDTH, bottom + 30, parts)


def _legend() -> Iterator[str]:
    for number, name in enumerate(TEAMS):
        left = LEFT + 240 * number
        yield f'<rect x="{left}" y="37" width="11" height="11" fill="{colour(number)}"/>'
        yield text(left + 16, 47, f"times as fast as {name}")


def _axis(x: Scale, most: float, bottom: float) -> Iterator[str]:
    ratio = 0.5
    while ratio <= most:
        yield line(x(ratio), TOP - 6, x(ratio), bottom, "#c0392b" if ratio == 1 else "#dddddd")
        yield text(x(ratio), bottom + 16, f"{ratio:g}x", anchor="middle", size=11)
        ratio *= 2


def _pair(bar: Bar, x: Scale, y: float) -> Iterator[str]:
    thick = (HEIGHT - 6) / len(TEAMS)
    for number, name in enumerate(TEAMS):
        ratio = bar.ratios.get(name)
        if ratio is None:
            continue
        left, right = sorted((x(1.0), x(ratio)))
        told = f"<title>{escape(f'{bar.name}: {ratio:.2f}x over {name}')}</title>"
        place = f'x="{left:.1f}" y="{y + number * thick:.1f}" width="{max(right - left, 1.5):.1f}" height="{thick:.1f}"'
        yield f'<rect {place} fill="{colour(number)}">{told}</rect>'


def write(suite: Suite, title: str) -> Path | None:
    """The figure of a suite's race; None where not all of it is stored."""
    stored = [load(RESULTS / f"{suite.name}-large" / f"{x.stem}.json") for x in suite.files()]
    found = [x for x in stored if x is not None]
    if len(found) < len(stored):
        return None
    bars = bars_of(found)
    most = 2.0 ** (int(log2(max(y for x in bars for y in x.ratios.values()))) + 1)
    FIGURES.mkdir(exist_ok=True)
    path = FIGURES / f"{suite.name}.svg"
    path.write_text(draw(bars, title, most))
    return path


def main() -> int:
    """0 where both were drawn, 1 where a race, or a part of one, is missing."""
    made = [
        write(DSP, "DSP functions, plain C, one core: Planish beside gcc 12, clang 19 and Polly, each at its best"),
        write(POLYBENCH, "PolyBench, LARGE, one core: Planish beside gcc 12, clang 19 and Polly, each at its best"),
    ]
    for path in made:
        print("left out: its race is not stored as a whole" if path is None else f"wrote {path.name}")
    return int(None in made)


if __name__ == "__main__":
    sys.exit(main())
