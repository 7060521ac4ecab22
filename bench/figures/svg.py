"""Lines, texts and colours of figures, as SVG.

>>> text(3, 4, "a < b", anchor="end")
'<text x="3.0" y="4.0" text-anchor="end" font-size="12" fill="#222222">a &lt; b</text>'
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

COLOURS = ("#2f6db3", "#e0913a", "#8c8c8c", "#4a9a5b", "#a0529a")
"""Of the series, which differ in lightness as well."""


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """A figure on white."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>', *parts, "</svg>\n"])


def colour(number: int) -> str:
    """That of a series."""
    return COLOURS[number % len(COLOURS)]


def line(x: float, y: float, to_x: float, to_y: float, stroke: str, dashes: str = "none") -> str:
    """A line."""
    place = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {place} stroke="{stroke}" stroke-dasharray="{dashes}"/>'


def text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, fill: str = "#222222") -> str:
    """Some words."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"'
    return f"<text {place}>{escape(words)}</text>"
