"""A roofline as a drawing: the roofs of the machine, and the versions of a function under them, on logarithmic axes.

    draw_chart(roofline)  # an SVG element in the page's own colours
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, ceil, degrees, floor, log2, log10

from markupsafe import Markup, escape

from planish.report.page.roofline import SOURCE, MeasuredPoint, Roofline

WIDTH, HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 148, 16, 44


class _Axes:
    """Where an intensity and a rate lie in the drawing."""

    def __init__(self, drawn: Roofline) -> None:
        here, memory = drawn.work.intensity, [x.bytes_per_second for x in drawn.roofs.memories]
        top = max(drawn.peak, *(x.rate for x in drawn.points), 0.0) or max(memory) * here
        ridge = top / memory[-1]
        self.x = floor(log2(min(here, 0.25) / 2)), ceil(log2(max(here, ridge) * 4))
        low = min(*(x.rate for x in drawn.points), top)
        self.y = floor(log2(min(low / 2, memory[-1] * 2.0 ** self.x[0]))), ceil(log2(top * 2))

    def at(self, intensity: float, rate: float) -> tuple[float, float]:
        """The place in pixels."""
        (a, b), (c, d) = self.x, self.y
        x = _LEFT + (log2(intensity) - a) / (b - a) * (WIDTH - _LEFT - _RIGHT)
        y = HEIGHT - _BOTTOM - (log2(rate) - c) / (d - c) * (HEIGHT - _TOP - _BOTTOM)
        return round(x, 1), round(y, 1)


def draw_chart(drawn: Roofline) -> Markup:
    """The drawing; what it shows is said in words beside it."""
    axes = _Axes(drawn)
    parts = [*_grid(axes), *_roofs(drawn, axes), *_points(drawn, axes)]
    title = f"Roofline: {len(drawn.points)} measured versions at {drawn.work.intensity:.3g} operations per byte"
    head = f'<svg class="roofline" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
    return Markup(head + "".join(parts) + "</svg>")


def spell_rate(rate: float) -> str:
    """Operations per second with a unit.

    >>> spell_rate(1.35e11), spell_rate(4e6)
    ('135 Gop/s', '4 Mop/s')
    """
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= factor:
            return f"{rate / factor:.3g} {unit}op/s"
    return f"{rate:.3g} op/s"


def spell_count(count: float) -> str:
    """A large number with a unit.

    >>> spell_count(2e7), spell_count(12)
    ('20 million', '12')
    """
    for factor, unit in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if count >= factor:
            return f"{count / factor:.3g}{unit}"
    return f"{count:.3g}"


def _round_values(low: float, high: float) -> list[float]:
    """Round numbers between two, as many as have room: 1, 2 and 5, or 1 of each power of ten.

    >>> _round_values(0.9, 30), len(_round_values(1, 1e8))
    ([1.0, 2.0, 5.0, 10.0, 20.0], 9)
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    digits = (1, 2, 5) if len(powers) < 5 else (1,)
    return [x for power in powers for k in digits if low <= (x := k * 10.0**power) <= high]


def _grid(axes: _Axes) -> Iterator[str]:
    (a, b), (c, d) = axes.x, axes.y
    for power in range(a, b + 1, max(1, (b - a) // 8)):
        x, low = axes.at(2.0**power, 2.0**c)
        top = axes.at(2.0**power, 2.0**d)[1]
        yield f'<path class="grid" d="M{x} {low}V{top}"/>'
        said = f"{2**power}" if power >= 0 else f"1/{2**-power}"
        yield f'<text class="tick" x="{x}" y="{low + 16}" text-anchor="middle">{said}</text>'
    for rate in _round_values(2.0**c, 2.0**d):
        x, y = axes.at(2.0**a, rate)
        yield f'<path class="grid" d="M{x} {y}H{WIDTH - _RIGHT}"/>'
        said = spell_rate(rate).replace("op/s", "").strip()
        yield f'<text class="tick" x="{x - 6}" y="{y + 4}" text-anchor="end">{said}</text>'
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    yield f'<text class="axis" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">operations per byte</text>'
    yield f'<text class="axis" x="{_LEFT - 6}" y="{_TOP - 5}" text-anchor="end">op/s</text>'


def _roofs(drawn: Roofline, axes: _Axes) -> Iterator[str]:
    top, right = 2.0 ** axes.y[1], 2.0 ** axes.x[1]
    limit = drawn.peak or top
    for roof in drawn.roofs.memories:
        begin = max(2.0 ** axes.x[0], 2.0 ** axes.y[0] / roof.bytes_per_second)
        end = min(limit / roof.bytes_per_second, right)
        if end <= begin:
            continue
        (x, y), (u, v) = axes.at(begin, begin * roof.bytes_per_second), axes.at(end, end * roof.bytes_per_second)
        last = roof is drawn.roofs.memories[-1]
        yield f'<path class="roof{" main" if last else ""}" d="M{x} {y}L{u} {v}"/>'
        said = f"{roof.name} {roof.bytes_per_second / 1e9:.3g} GB/s"
        angle = -round(degrees(atan2(y - v, u - x)), 1)
        yield (
            f'<text class="tick" x="{x + 6}" y="{y - 7}" transform="rotate({angle} {x} {y})">{escape(said)}</text>'
        )
    if drawn.peak:
        x, y = axes.at(max(drawn.peak / drawn.roofs.memories[0].bytes_per_second, 2.0 ** axes.x[0]), drawn.peak)
        yield f'<path class="roof main" d="M{x} {y}H{WIDTH - _RIGHT}"/>'
        said = f"{drawn.work.type} peak {spell_rate(drawn.peak)}"
        yield f'<text class="tick" x="{WIDTH - _RIGHT + 6}" y="{y + 4}">{escape(said)}</text>'


def _points(drawn: Roofline, axes: _Axes) -> Iterator[str]:
    best = max(drawn.points, key=lambda x: x.rate)
    if best.name == SOURCE and len(drawn.points) > 1:
        best = max((x for x in drawn.points if x.name != SOURCE), key=lambda x: x.rate)
    for point in drawn.points:
        x, y = axes.at(drawn.work.intensity, point.rate)
        kind = "original" if point.name == SOURCE else "best" if point is best else "other"
        said = f"{point.name}: {spell_rate(point.rate)}"
        yield f'<circle class="point {kind}" cx="{x}" cy="{y}" r="{5 if kind != "other" else 3.5}">'
        yield f"<title>{escape(said)}</title></circle>"
        if kind != "other":
            # Those of the source file and of the best version must not lie on one another.
            yield _label(point, x, y + (12 if kind == "original" else -6), x > WIDTH - _RIGHT - 60)


def _label(point: MeasuredPoint, x: float, y: float, left: bool) -> str:
    place = f'x="{x - 9}" text-anchor="end"' if left else f'x="{x + 9}"'
    return f'<text class="label" {place} y="{y + 4}">{escape(point.name)} {spell_rate(point.rate)}</text>'
