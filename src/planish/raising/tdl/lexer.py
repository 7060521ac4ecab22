"""The words of a text of tactics, with their places, and the texts in other languages between them.

>>> lexer = Lexer(Source("t.tdl", "C(i) max= 2.5 * A(i)  # remark"))
>>> words = []
>>> while lexer.token.kind != "end":
...     words.append(lexer.next().text)
>>> words
['C', '(', 'i', ')', 'max=', '2.5', '*', 'A', '(', 'i', ')']
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span, lines_of, place_in
from planish.raising.tdl.syntax import Verbatim

Kind = Literal["word", "integer", "float", "string", "sign", "end"]

_TOKEN = re.compile(
    r"(?P<update>(?:min|max|and|or)=(?!=))"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)"
    r"|(?P<integer>\d+)"
    r"|\"(?P<string>[^\"\n]*)\""
    r"|(?P<sign>\+=|-=|\*=|<=|>=|==|!=|[-+*/<>=(){},])"
)
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_QUOTED = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*"
_SKIPPED = {"C": re.compile(_QUOTED, re.DOTALL), "nest": re.compile(r"#[^\n]*")}
"""What brackets do not count in, in the two other languages."""


@dataclass(frozen=True, slots=True)
class TdlToken:
    """A word, number, text or sign."""

    kind: Kind
    text: str
    span: Span
    start: int


class Lexer:
    """A place in a text: `token` comes next."""

    def __init__(self, source: Source, start: int = 0) -> None:
        self.source = source
        self._lines = lines_of(source.text)
        self._place = start
        self.token = self._read()
        self.last = self.token

    def next(self) -> TdlToken:
        """The next token, which is consumed; PlanishError E0810 where the one behind it is none."""
        self.last = self.token
        if self.token.kind != "end":
            self.token = self._read()
        return self.last

    def span(self, start: int, end: int) -> Span:
        """The place of the characters from `start` to `end`."""
        return Span(self.source.name, *place_in(self._lines, start), *place_in(self._lines, end))

    def verbatim(self, language: Literal["C", "nest"], brackets: str) -> Verbatim:
        """A text in brackets of another language, from the next token on, which is consumed with what closes it.

        PlanishError E0810 where nothing does.
        """
        start = self.token.start
        depth, place, text = 0, start, self.source.text
        skipped = _SKIPPED[language]
        while place < len(text):
            if found := skipped.match(text, place):
                place = found.end()
                continue
            depth += (text[place] == brackets[0]) - (text[place] == brackets[1])
            place += 1
            if depth == 0:
                self._place = place
                self.last = TdlToken("sign", brackets[1], self.span(place - 1, place), place - 1)
                self.token = self._read()
                return Verbatim(text[start:place], start, self.span(start, place))
        raise self._wrong(f"nothing closes this `{brackets[0]}`", start, start + 1)

    def _read(self) -> TdlToken:
        text = self.source.text
        blank = _BLANK.match(text, self._place)
        start = blank.end() if blank is not None else self._place
        if start >= len(text):
            return TdlToken("end", "", self.span(len(text), len(text)), len(text))
        match = _TOKEN.match(text, start)
        if match is None:
            if text[start] == '"':
                raise self._wrong("this text is not closed on its line", start, start + 1)
            raise self._wrong(f"unexpected character {text[start]!r}", start, start + 1)
        self._place = match.end()
        kinds: dict[str | None, Kind] = {"word": "word", "float": "float", "integer": "integer", "string": "string"}
        kind = kinds.get(match.lastgroup, "sign")
        return TdlToken(kind, match[str(match.lastgroup)], self.span(start, match.end()), start)

    def _wrong(self, message: str, start: int, end: int) -> PlanishError:
        advice = "a choice `@WORD(…)` needs a word of the tactic's `variants`" if self.source.text[start] == "@" else ""
        return PlanishError(Diagnostic("E0810", message, self.span(start, end), advice), self.source)
