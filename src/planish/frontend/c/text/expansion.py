"""Statements of the text after macros are expanded, with their extents in the user's text.

Each identifier is marked, with the arguments behind it, before the text is preprocessed once more: what stands between
two marks then is what the user's characters between them expand to.

>>> text = "void f(void) { ALL(i) a[i] = N; ALL(k) { a[k] = 0; } }"
>>> marked = mark_names(tokenize(text), frozenset({1}))
>>> marked.text[:67]
'void planish_open_0 f(void) planish_close_0  { planish_open_1 ALL(i'
>>> made = marked.text.replace("ALL(i)", "for (i = 0; i < 9; i++)").replace("ALL(k)", "for (;;)")
>>> body = scan_expanded(place_tokens(marked, tokenize(made)), "f", 1)
>>> [(x.form, text[x.start : x.end]) for x in body.children]
[('for', 'ALL(i) a[i] = N;'), ('for', 'ALL(k) { a[k] = 0; }')]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from planish.frontend.c.text.extent import Item, UnreadableText, active_tokens, balanced, find_body, scan_statement
from planish.frontend.c.text.lexer import CToken, Tokens, tokenize

_WORD = re.compile(r"[A-Za-z_]\w*")
_KEYWORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
})  # fmt: skip
_OPEN, _CLOSE = "planish_open_", "planish_close_"
_NOWHERE = -1
"""Where a statement begins or ends that does so within what a macro stands for."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with marks around names; `groups`: from where to where each of them goes, `plain`: the other
    tokens, in their order."""

    text: str
    groups: tuple[tuple[int, int], ...]
    plain: tuple[CToken, ...]


@dataclass(frozen=True, slots=True)
class ExpandedToken:
    """A token after macros are expanded, and the extent in the user's text of what it comes from: it has a start there
    if it is the first, and an end if it is the last token of that."""

    text: str
    start: int
    end: int
    line: int


@dataclass(slots=True)
class MacroExpansion:
    """What the preprocessor makes of a marked text, each token with its place; made when it is first asked for."""

    make: Callable[[], tuple[MarkedText, Tokens]]
    made: list[ExpandedToken] | None = None
    fault: str = ""

    def get(self) -> list[ExpandedToken]:
        """The tokens. Raises UnreadableText."""
        if self.fault:
            raise UnreadableText(self.fault)
        if self.made is None:
            try:
                self.made = place_tokens(*self.make())
            except UnreadableText as reason:
                self.fault = str(reason)
                raise
        return self.made


def lines_of(lines: Iterable[tuple[int, str]]) -> Tokens:
    """The tokens of numbered lines of the preprocessed text: each stands on the line with its number."""
    numbered = list(lines)
    found = tokenize("\n".join(text for _, text in numbered))
    placed = tuple(CToken(x.text, x.start, numbered[x.line - 1][0]) for x in found.tokens)
    return Tokens(found.text, placed, found.directives, found.line_starts)


def mark_names(tokens: Tokens, active: frozenset[int]) -> MarkedText:
    """Mark the names of a text, each with the arguments behind it; `active`: the lines that the preprocessor keeps.
    Raises UnreadableText."""
    kept = active_tokens(tokens, active)
    groups: list[tuple[int, int]] = []
    plain: list[CToken] = []
    out: list[str] = []
    done, at = 0, 0
    while at < len(kept):
        token = kept[at]
        if not _WORD.fullmatch(token.text) or token.text in _KEYWORDS:
            plain.append(token)
            at += 1
            continue
        after = at + 1
        if after < len(kept) and kept[after].text == "(":
            after = balanced(kept, after)
        start, end, number = token.start, kept[after - 1].end, len(groups)
        out += [tokens.text[done:start], f"{_OPEN}{number} ", tokens.text[start:end], f" {_CLOSE}{number} "]
        groups.append((start, end))
        done, at = end, after
    return MarkedText("".join((*out, tokens.text[done:])), tuple(groups), tuple(plain))


def scan_expanded(found: Sequence[ExpandedToken], name: str, line: int) -> Item:
    """The body of the function `name`, whose declarator starts near `line`, of the marked text after the preprocessor.
    Statements that begin or end within a macro have no start or end. Raises UnreadableText."""
    return scan_statement(found, find_body(found, name, line))[0]


def place_tokens(marked: MarkedText, made: Tokens) -> list[ExpandedToken]:
    """The tokens after the preprocessor, each with the place that it comes from. Raises UnreadableText."""
    out: list[ExpandedToken] = []
    expanded, plain, position, at = made.tokens, marked.plain, 0, 0
    while at < len(expanded):
        token = expanded[at]
        at += 1
        if token.text.startswith(_OPEN):
            number = token.text.removeprefix(_OPEN)
            after = next((n for n in range(at, len(expanded)) if expanded[n].text == _CLOSE + number), None)
            if after is None:
                raise UnreadableText("a macro takes what stands behind it")
            out += _group(marked.groups[int(number)], expanded[at:after])
            at = after + 1
            continue
        if position >= len(plain) or plain[position].text != token.text:
            raise UnreadableText("the text is not what the preprocessor makes of it")
        out.append(ExpandedToken(token.text, plain[position].start, plain[position].end, token.line))
        position += 1
    return out


def _group(extent: tuple[int, int], inner: tuple[CToken, ...]) -> list[ExpandedToken]:
    """The tokens that stand for what was marked."""
    last = len(inner) - 1
    return [
        ExpandedToken(x.text, extent[0] if n == 0 else _NOWHERE, extent[1] if n == last else _NOWHERE, x.line)
        for n, x in enumerate(inner)
    ]
