"""The figure of solo mode: micro-kernels by tile and by depth beside the machine's peak, as a file of SVG.

    text = draw_figure("avx512 f32", bars, lines, peak=250.0)   # what `microkernels.py --figure` measures
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log2

from bench.figures.svg import colour, document, line, text

WIDTH, HEIGHT = 1080, 750
LEFT, RIGHT = 70, 20


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of the figure: where it lies, and how many GFLOPS its height stands for."""

    top: float
    bottom: float
    most: float

    def y(self, gflops: float) -> float:
        """Where a value lies."""
        return self.bottom - gflops / self.most * (self.bottom - self.top)


def draw_figure(
    title: str, bars: Mapping[str, Mapping[str, float]], lines: Mapping[str, Mapping[int, float]], peak: float
) -> str:
    """`bars`: GFLOPS of each kind of kernel for each tile; `lines`: those of some tiles for each depth; `peak`: what
    multiply-adds alone reach."""
    most = 1.08 * max([peak, *(x for values in bars.values() for x in values.values())])
    upper, lower = Panel(90, 380, most), Panel(480, 690, most)
    parts = [
        text(LEFT, 28, title, size=17),
        text(LEFT, 48, "GFLOPS of one call on data in the first cache, each beside the peak at that moment", size=12),
        *_axis(upper, peak), *_bars(upper, bars), *_legend(list(next(iter(bars.values()), {})), 68),
        *_axis(lower, peak), *_lines(lower, lines), *_legend(list(lines), 458),
        text(WIDTH / 2, 428, "rows x columns of C", anchor="middle"),
        text(WIDTH / 2, 730, "k, the products that are summed for each element", anchor="middle"),
    ]  # fmt: skip
    return document(WIDTH, HEIGHT, parts)


def _axis(panel: Panel, peak: float) -> Iterator[str]:
    """Lines at round numbers, and the peak."""
    step = next(x for x in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if panel.most / x <= 7)
    for number in range(int(panel.most / step) + 1):
        y = panel.y(number * step)
        yield line(LEFT, y, WIDTH - RIGHT, y, "#dddddd")
        yield text(LEFT - 8, y + 4, str(number * step), anchor="end")
    yield line(LEFT, panel.y(peak), WIDTH - RIGHT, panel.y(peak), "#c0392b", "6 4")
    yield text(WIDTH - RIGHT, panel.y(peak) - 5, f"peak {peak:.0f}", anchor="end", fill="#c0392b")


def _bars(panel: Panel, bars: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """A group for each tile."""
    group = (WIDTH - LEFT - RIGHT) / max(1, len(bars))
    for place, (tile, values) in enumerate(bars.items()):
        width = 0.8 * group / max(1, len(values))
        for number, (kind, gflops) in enumerate(values.items()):
            x, y = LEFT + (place + 0.1) * group + number * width, panel.y(gflops)
            told = f"<title>{escape(f'{tile}, {kind}: {gflops:.1f} GFLOPS')}</title>"
            yield (
                f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{panel.bottom - y:.1f}"'
                f' fill="{colour(number)}">{told}</rect>'
            )
        yield text(LEFT + (place + 0.5) * group, panel.bottom + 18, tile, anchor="middle", size=11)


def _lines(panel: Panel, lines: Mapping[str, Mapping[int, float]]) -> Iterator[str]:
    """A line for each tile over the depths, in powers of two."""
    depths = sorted({depth for values in lines.values() for depth in values})
    if not depths:
        return
    span = max(1e-9, log2(depths[-1] / depths[0]))

    def x(depth: int) -> float:
        return LEFT + 40 + (WIDTH - LEFT - RIGHT - 100) * log2(depth / depths[0]) / span

    for depth in depths:
        yield text(x(depth), panel.bottom + 18, str(depth), anchor="middle", size=11)
    for number, values in enumerate(lines.values()):
        points = [(x(depth), panel.y(gflops)) for depth, gflops in sorted(values.items())]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour(number)}" stroke-width="2"/>'
        for (a, b), (depth, gflops) in zip(points, sorted(values.items()), strict=True):
            told = f"<title>k = {depth}: {gflops:.1f} GFLOPS</title>"
            yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour(number)}">{told}</circle>'


def _legend(names: Sequence[str], y: float) -> Iterator[str]:
    x: float = LEFT
    for number, name in enumerate(names):
        yield f'<rect x="{x:.0f}" y="{y - 9}" width="11" height="11" fill="{colour(number)}"/>'
        yield text(x + 16, y + 1, name)
        x += 34 + 7 * len(name)
