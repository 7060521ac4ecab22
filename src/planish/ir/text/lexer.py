"""The words of the text form, with their places.

>>> [token.text for token in tokenize("A[i] min= 2.5:f32  # remark")]
['A', '[', 'i', ']', 'min=', '2.5', ':', 'f32', '']
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span

Kind = Literal["word", "quoted", "integer", "float", "sign", "end"]

_PATTERN = re.compile(
    r"(?P<blank>[ \t\r\n]+|#[^\n]*)"
    r"|(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)"
    r"|(?P<integer>\d+)"
    r"|(?P<update>(?:min|max)=(?!=))"
    r"|`(?P<quoted>[A-Za-z_]\w*)`"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign>\.\.|\|\||&&|<<|>>|<=|>=|==|!=|//|\+=|\*=|&=|\|=|\^=|[-+*/%<>=!~&|^(){}\[\],;:?@])"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign; a quoted word is never taken for a keyword."""

    kind: Kind
    text: str
    span: Span


def tokenize(text: str, name: str = "<text>") -> list[Token]:
    """The tokens of the text, the last one of kind `end`; PlanishError E0401 at a character that starts none."""
    tokens: list[Token] = []
    line, start, place = 1, 0, 0
    while place < len(text):
        match = _PATTERN.match(text, place)
        if match is None:
            span = Span(name, line, place - start + 1, line, place - start + 2)
            what = f"unexpected character {text[place]!r}"
            raise PlanishError(Diagnostic("E0401", what, span), Source(name, text))
        end = match.end()
        group = match.lastgroup
        if group != "blank":
            span = Span(name, line, place - start + 1, line, end - start + 1)
            kinds: dict[str | None, Kind] = {"float": "float", "integer": "integer", "quoted": "quoted", "word": "word"}
            tokens.append(Token(kinds.get(group, "sign"), match[str(group)], span))
        breaks = text.count("\n", place, end)
        if breaks:
            line += breaks
            start = text.rindex("\n", place, end) + 1
        place = end
    column = place - start + 1
    tokens.append(Token("end", "", Span(name, line, column, line, column + 1)))
    return tokens
