"""Tokens of C text with their offsets: comments, strings and preprocessor lines never hide or fake a brace.

>>> [t.text for t in tokenize("a /* { */ += 'x';").tokens]
['a', '+=', "'x'", ';']
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from planish.core.span import lines_of, place_in

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\f\v\n]|\\\r?\n)+)
  | (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:[uUL])?'(?:\\.|[^'\\\n])*')
  | (?P<word>[A-Za-z_$][A-Za-z_$0-9]*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[A-Za-z0-9_.])*)
  | (?P<punct>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S)
    """,
    re.X | re.S,
)
_DIRECTIVE = re.compile(r"[ \t]*#(?:\\\r?\n|/\*.*?\*/|//[^\n]*|[^\n])*", re.S)
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b")

_LONG = 2000
"""Longer texts are files, which several parts of the reader ask for."""


@dataclass(frozen=True, slots=True)
class CToken:
    """A token of the text: where it starts, and on which line (from 1)."""

    text: str
    start: int
    line: int

    @property
    def end(self) -> int:
        """Offset one past the last character."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Directive:
    """A preprocessor line with its continuations."""

    text: str
    start: int
    line: int

    @property
    def conditional(self) -> str | None:
        """`if`, `ifdef`, … where the directive belongs to a conditional group, otherwise None."""
        found = _CONDITIONAL.match(self.text)
        return found.group(1) if found else None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text cut into tokens and preprocessor lines; `line_starts` are the offsets of its lines."""

    text: str
    tokens: tuple[CToken, ...]
    directives: tuple[Directive, ...]
    line_starts: tuple[int, ...]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        return place_in(self.line_starts, offset)


def tokenize(text: str) -> Tokens:
    """Cut C text (preprocessed or not) into tokens; never fails: an unknown character is a token of its own."""
    return _tokenize_file(text) if len(text) > _LONG else _tokenize(text)


@lru_cache(maxsize=4)
def _tokenize_file(text: str) -> Tokens:
    return _tokenize(text)


def _tokenize(text: str) -> Tokens:
    starts = lines_of(text)
    tokens: list[CToken] = []
    directives: list[Directive] = []
    at, fresh = 0, True
    while at < len(text):
        if fresh and (found := _DIRECTIVE.match(text, at)):
            directives.append(Directive(found.group(), at, bisect_right(starts, at)))
            at, fresh = found.end(), False
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            break
        kind = match.lastgroup
        if kind == "space":
            newline = match.group().rfind("\n")
            if newline >= 0:
                # A directive must be the first thing on its line: continue from the line's start.
                at, fresh = match.start() + newline + 1, True
                if not _DIRECTIVE.match(text, at):
                    at, fresh = match.end(), False
                continue
        elif kind != "comment":
            tokens.append(CToken(match.group(), match.start(), bisect_right(starts, match.start())))
            fresh = False
        elif "\n" not in match.group():
            fresh = fresh and kind == "comment"
        at = match.end()
    return Tokens(text, tuple(tokens), tuple(directives), starts)
