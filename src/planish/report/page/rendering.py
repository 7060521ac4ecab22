"""Writes the page: one file of HTML with its style and script in it, that needs nothing else.

    text = render_page(files, "gemm.c")
    len(text.encode()) <= MOST_BYTES
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from planish.report.explanation import LEGEND
from planish.report.page.chart import draw_chart, spell_count, spell_rate
from planish.report.page.contents import FilePage, FunctionPage
from planish.report.page.highlight import highlight_assembly, highlight_c
from planish.report.tables import format_bytes, format_ratio, format_seconds
from planish.version import VERSION

TEMPLATES = Path(__file__).with_name("templates")
GENERATOR, HEAD = '<meta name="generator" content="Planish', 4096
"""What every page has, and in how many bytes from its beginning."""
MOST_BYTES = 2 << 20
"""Of a page: it is read, sent and kept as a whole."""
_LIMITS = (1500, 600, 250, 100, 40, 0)
"""Lines of C that functions call, and of assembly, which are shown of each function; fewer where the page is large."""


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a listing as HTML: its number, the lines of the source (`places`), the line of C (`made`)."""

    number: int
    html: Markup
    places: str
    made: str = ""


def render_page(files: Sequence[FilePage], title: str) -> str:
    """The page of some files, with as much of the listings as has room in it."""
    text = ""
    for most in _LIMITS:
        text = _render(files, title, most)
        if len(text.encode("utf-8", "surrogateescape")) <= MOST_BYTES:
            break
    return text


def _render(files: Sequence[FilePage], title: str, most: int) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["code"] = quote_code
    return environment.get_template("page.html.j2").render(
        title=title, files=files, version=VERSION, legend=LEGEND, most=most,
        style=Markup((TEMPLATES / "page.css").read_text("utf-8")),
        script=Markup((TEMPLATES / "page.js").read_text("utf-8")),
        seconds=format_seconds, ratio=format_ratio, rate=spell_rate, count=spell_count, bytes=format_bytes,
        chart=draw_chart, show=Listings(most),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Listings:
    """The listings of a function, each line ready to be shown; at most so many lines of what is not its own."""

    most: int

    def source(self, page: FunctionPage) -> list[ShownLine]:
        """The function as it was written."""
        marked = highlight_c([text for _, text in page.source])
        return [ShownLine(k, html, str(k)) for (k, _), html in zip(page.source, marked, strict=True)]

    def own(self, page: FunctionPage) -> list[tuple[str, list[ShownLine]]]:
        """The function in the drop-in, and what stands for its nests."""
        return [(x.name, _lines(x.lines)) for x in page.passages if x.own]

    def called(self, page: FunctionPage) -> list[tuple[str, list[ShownLine]]]:
        """What these call."""
        out, left = [], self.most
        for passage in (x for x in page.passages if not x.own):
            if len(passage.lines) <= left:
                out.append((passage.name, _lines(passage.lines)))
                left -= len(passage.lines)
        return out

    def left_out(self, page: FunctionPage) -> int:
        """The functions that are called and not shown."""
        return sum(not x.own for x in page.passages) - len(self.called(page))

    def assembly(self, page: FunctionPage) -> list[tuple[str, bool, list[ShownLine]]]:
        """The instructions of the function and of what it calls, with the lines of the source of their lines of C; and
        whether these are its own."""
        places = {k: x for passage in page.passages for k, _, x in passage.lines}
        out, left = [], self.most
        for passage in page.assembly:
            lines = passage.lines if len(passage.lines) <= left else passage.lines[:left] if passage.own else ()
            left -= len(lines)
            shown = [
                ShownLine(k, highlight_assembly(x.text), " ".join(map(str, places.get(x.line, ()))), str(x.line or ""))
                for k, x in enumerate(lines, 1)
            ]
            out += [(passage.name, passage.own, shown)] if shown else []
        return out


_QUOTED = re.compile(r"`([^`]*)`")


def quote_code(text: str) -> Markup:
    """A sentence as HTML, with names in backquotes as code.

    >>> quote_code("values of `a<b`")
    Markup('values of <code>a&lt;b</code>')
    """
    return Markup(_QUOTED.sub(r"<code>\1</code>", str(escape(text))))


def _lines(lines: Sequence[tuple[int, str, tuple[int, ...]]]) -> list[ShownLine]:
    marked = highlight_c([text for _, text, _ in lines])
    return [
        ShownLine(k, html, " ".join(map(str, places)), str(k))
        for (k, _, places), html in zip(lines, marked, strict=True)
    ]  # fmt: skip
