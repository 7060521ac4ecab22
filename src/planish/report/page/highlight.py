"""C and assembly with marks for the eye: the words of a line in spans of few classes, everything escaped.

>>> highlight_c(["int x = 1; /* a", "b */ y < 2;"])[1]
Markup('<i c>b */</i> y &lt; <i n>2</i>;')
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

_C = re.compile(
    r"""(?P<c>//[^\n]*|/\*.*?(?:\*/|\Z))
  | (?P<q>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<p>^[ \t]*\#[^\n]*)
  | (?P<k>\b(?:auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int
      |long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile
      |while|_Bool|_Pragma|_Thread_local|size_t|ptrdiff_t|u?intptr_t|u?int(?:8|16|32|64)_t|__m\d+[id]?)\b)
  | (?P<n>\b\.?\d[\w.]*(?:(?<=[eEpP])[+-]\d+\w*)?)""",
    re.X | re.S | re.M,
)
_ASSEMBLY = re.compile(
    r"(?P<p>^\.[\w$]+:)|(?P<k>^[a-z]\w*(?:\.\w+)?)|(?P<r>%\w+|\b[xwvqdz]\d{1,2}\b)|(?P<n>\$?-?\b(?:0x[\da-f]+|\d+)\b)"
)


def highlight_c(lines: Sequence[str]) -> list[Markup]:
    """Lines of C as HTML; a comment may go over several."""
    return [Markup(x) for x in _split(_marked("\n".join(lines), _C))]


def highlight_assembly(line: str) -> Markup:
    """An instruction or a label as HTML."""
    return Markup("".join(text if not kind else _wrap(kind, text) for kind, text in _marked(line, _ASSEMBLY)))


def _marked(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Pieces of a text, escaped, with their class ("" for none)."""
    place = 0
    for found in pattern.finditer(text):
        yield "", str(escape(text[place : found.start()]))
        yield str(found.lastgroup), str(escape(found[0]))
        place = found.end()
    yield "", str(escape(text[place:]))


def _split(pieces: Iterator[tuple[str, str]]) -> list[str]:
    """The lines of marked pieces."""
    out = [""]
    for kind, text in pieces:
        for number, part in enumerate(text.split("\n")):
            if number:
                out.append("")
            out[-1] += _wrap(kind, part) if kind and part else part
    return out


def _wrap(kind: str, text: str) -> str:
    # A short element: a page has many thousand of them.
    return f"<i {kind}>{text}</i>"
