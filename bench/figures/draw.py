"""Figures of what races have left, as files of SVG: each function's speed beside that of the others, a family in each.

    python -m bench.figures.draw          # writes those of docs/figures whose races are stored

>>> bar = Bar("fir", {"the best compiler": 2.9, "Polly": 3.3})
>>> "fir" in draw([bar], "Filters")
True
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from math import ceil, log2

from bench.figures.svg import colour, document, line, text
from bench.harness.places import RESULTS, ROOT
from bench.harness.record import Result, Team, load
from bench.harness.suite import Suite
from bench.harness.thresholds import Bar, stored
from bench.promises.kernels import ONE_CALL, PROGRAMMING, STENCILS
from bench.races.convolutions import LAYERS
from bench.races.dense_algebra import folder_of
from bench.races.dsp import DSP
from bench.races.polybench import POLYBENCH
from bench.races.transforms import SIZES
from bench.races.two_cores import CONVOLUTION, KERNELS, STREAMS

FIGURES = ROOT / "docs" / "figures"
WIDTH, LEFT, RIGHT, TOP, HEIGHT = 900, 180, 30, 70, 26
COMPILERS: Mapping[str, Team] = {"the best compiler": "compiler", "Polly": "polly"}
LIBRARY: Mapping[str, Team] = {"OpenBLAS": "blas"}
Scale = Callable[[float], float]
"""Where a ratio lies."""


def bars_of(results: Sequence[Result], teams: Mapping[str, Team]) -> list[Bar]:
    """One for each function that was raced, the one that has gained most first."""
    out = []
    for heat in (x for result in results for x in result.heats):
        found = {name: heat.ratio(team) for name, team in teams.items()}
        out.append(Bar(heat.function.removeprefix("kernel_"), {x: y for x, y in found.items() if y is not None}))
    return sorted((x for x in out if x.ratios), key=lambda x: -min(x.ratios.values()))


def suite_bars(suite: Suite, names: Sequence[str] = ()) -> list[Bar]:
    """Those of some files of a suite, or all; none where one of them is missing."""
    found = [load(RESULTS / f"{suite.name}-large" / f"{x.stem}.json") for x in suite.files(names)]
    return [] if None in found else bars_of([x for x in found if x is not None], COMPILERS)


def dense_bars() -> list[Bar]:
    """Plain C over OpenBLAS; none where one of the files that are a call of it is missing."""
    found = [y for x in sorted(folder_of("dense", 1).glob("*.json")) if (y := load(x)) is not None]
    raced = {x.file for x in found}
    return bars_of(found, LIBRARY) if raced >= {*ONE_CALL} else []


def family_bars(family: str, names: Iterable[str]) -> list[Bar]:
    """Those of a family; none where one of some names is missing."""
    found = stored(family)
    return found if {x.name for x in found} >= {*names} else []


FIGURES_OF: Mapping[str, tuple[str, Callable[[], list[Bar]]]] = {
    "dsp": ("DSP functions, plain C, one core: Planish beside gcc, clang and Polly", partial(suite_bars, DSP)),
    "polybench": ("PolyBench, LARGE, one core: Planish beside gcc, clang and Polly", partial(suite_bars, POLYBENCH)),
    "sweeps": (
        "Stencils and dynamic programming of PolyBench, LARGE, one core",
        partial(suite_bars, POLYBENCH, (*STENCILS, *PROGRAMMING)),
    ),
    "dense": ("Dense linear algebra in plain C, f64, one core: Planish beside OpenBLAS", dense_bars),
    "convolutions": (
        "Layers of ResNet-50, plain C, one core: Planish beside oneDNN", partial(family_bars, "convolutions", LAYERS),
    ),
    "streams": (
        "What waits for memory, one core",
        partial(family_bars, "streams", [x.stem for x in STREAMS.glob("*.c")]),
    ),
    "transforms": (
        "Fourier transforms from their definition, one core",
        partial(family_bars, "transforms", [f"{x} numbers" for x in SIZES]),
    ),
    "cores": ("The same C on two cores", partial(family_bars, "cores", [*KERNELS, CONVOLUTION])),
}
"""What each is called, and its bars: none where they were not all measured."""


def draw(bars: Sequence[Bar], title: str) -> str:
    """The figure; lengths are logarithms, from half as fast on."""
    bottom = TOP + HEIGHT * len(bars)
    most = 2.0 ** max(1, ceil(log2(max(y for x in bars for y in x.ratios.values()))))
    scale = (WIDTH - LEFT - RIGHT) / log2(2 * most)
    series = list(dict.fromkeys(y for x in bars for y in x.ratios))

    def x(ratio: float) -> float:
        return LEFT + scale * log2(max(2 * ratio, 1.0))

    parts = [text(12, 26, title, size=15), *_legend(series), *_axis(x, most, bottom)]
    for place, bar in enumerate(bars):
        y = TOP + HEIGHT * place
        parts.append(text(LEFT - 8, y + 15, bar.name, anchor="end"))
        parts += _group(bar, series, x, y)
    return document(WIDTH, bottom + 30, parts)


def _legend(series: Sequence[str]) -> Iterator[str]:
    for number, name in enumerate(series):
        left = LEFT + 240 * number
        yield f'<rect x="{left}" y="37" width="11" height="11" fill="{colour(number)}"/>'
        yield text(left + 16, 47, f"times as fast as {name}")


def _axis(x: Scale, most: float, bottom: float) -> Iterator[str]:
    ratio = 0.5
    while ratio <= most:
        yield line(x(ratio), TOP - 6, x(ratio), bottom, "#c0392b" if ratio == 1 else "#dddddd")
        yield text(x(ratio), bottom + 16, f"{ratio:g}x", anchor="middle", size=11)
        ratio *= 2


def _group(bar: Bar, series: Sequence[str], x: Scale, y: float) -> Iterator[str]:
    thick = (HEIGHT - 6) / len(series)
    for number, name in enumerate(series):
        ratio = bar.ratios.get(name)
        if ratio is None:
            continue
        left, right = sorted((x(1.0), x(ratio)))
        told = f"<title>{escape(f'{bar.name}: {ratio:.2f}x over {name}')}</title>"
        place = f'x="{left:.1f}" y="{y + number * thick:.1f}" width="{max(right - left, 1.5):.1f}" height="{thick:.1f}"'
        yield f'<rect {place} fill="{colour(number)}">{told}</rect>'


def main() -> int:
    """0 where all were drawn, 1 where a race, or a part of one, is missing."""
    FIGURES.mkdir(exist_ok=True)
    missing = False
    for name, (title, measured) in FIGURES_OF.items():
        bars = measured()
        missing |= not bars
        if bars:
            (FIGURES / f"{name}.svg").write_text(draw(bars, title))
        print(f"wrote {name}.svg" if bars else f"left out {name}: its race is not stored as a whole")
    return int(missing)


if __name__ == "__main__":
    sys.exit(main())
