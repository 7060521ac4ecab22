"""Declarations and functions at file scope of a preprocessed text, told apart without parsing them, and those of
headers that a file needs.

>>> text = '# 1 "a.h"\\ntypedef long far;\\nint idle(far x);\\n# 1 "f.c"\\nfar f(far x) { return x; }\\n'
>>> parts = split_text(text)
>>> [(x.file, x.line, x.names, x.body is not None) for x in parts]
[('a.h', 1, ('far',), False), ('a.h', 2, ('idle',), False), ('f.c', 1, ('f',), True)]
>>> [x.names for x in needed_parts(parts, "f.c")]
[('far',), ('f',)]
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from planish.core.span import lines_of
from planish.frontend.c.text.extent import UnreadableText, behind_declarations
from planish.frontend.c.text.lexer import CToken

_LEXEME = re.compile(
    r"""(?P<skip>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:[uUL])?'(?:\\.|[^'\\\n])*'|\.?[0-9](?:[eEpP][+-]|[\w.])*)"""
    r"""|(?P<line>^[ \t]*\#[^\n]*)|(?P<own>[A-Za-z_$][\w$]*|[][(){};,=*:])""",
    re.X | re.M,
)
_MARKER = re.compile(r'^#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"')
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_TAGGED = frozenset({"struct", "union", "enum"})
_LONGEST_LIST = 6_000
"""Tokens of an initial value; of longer ones, the elements are not read."""


@dataclass(frozen=True, slots=True)
class Part:
    """A declaration, or the definition of a function: its extent in the text, the file and line where it begins, the
    words in it, and the names that it may define; `body`: from the brace that opens the body of a function to that
    which closes it; `initial`: the extent of an initial value in braces; `typedef`: it names types."""

    start: int
    end: int
    file: str
    line: int
    words: frozenset[str]
    names: tuple[str, ...]
    body: tuple[int, int] | None = None
    initial: tuple[int, int] | None = None
    long: bool = False
    typedef: bool = False


@lru_cache(maxsize=2)
def split_text(text: str) -> tuple[Part, ...]:
    """The parts of a preprocessed text with line markers, in their order."""
    places = _Places(text)
    out: list[Part] = []
    tokens = [CToken(x.group(), x.start(), 0) for x in _LEXEME.finditer(text) if x.lastgroup == "own"]
    at = 0
    while at < len(tokens):
        end, body = _end(tokens, at)
        if tokens[at].text != ";":
            out.append(_part(tokens, at, end, body, places))
        at = end
    return tuple(out)


class _Places:
    """File and line of offsets of a text."""

    def __init__(self, text: str) -> None:
        self._starts = lines_of(text)
        self._markers: list[tuple[int, int, str]] = [(0, 1, "")]
        for x in re.finditer(r"^#[^\n]*", text, re.M):
            if (found := _MARKER.match(x.group())) is not None:
                after = bisect_right(self._starts, x.start()) + 1
                self._markers.append((after, int(found[1]), re.sub(r"\\(.)", r"\1", found[2])))

    def of(self, offset: int) -> tuple[str, int]:
        physical = bisect_right(self._starts, offset)
        first, line, file = self._markers[bisect_right(self._markers, physical, key=lambda x: x[0]) - 1]
        return file, line + physical - first


def _end(tokens: Sequence[CToken], at: int) -> tuple[int, int | None]:
    """The position behind the part that begins at a token, and that of the brace that opens its body."""
    depth, body, n = 0, None, at
    while n < len(tokens):
        text = tokens[n].text
        if depth == 0 and body is None and n > at and tokens[n - 1].text == ")" and (brace := _old(tokens, n)) > n:
            # The declarations of parameters in front of it are a part of the function.
            body, n, depth = brace, brace + 1, 1
            continue
        if text in _OPEN:
            if text == "{" and depth == 0 and body is None and (n == at or tokens[n - 1].text == ")"):
                body = n
            depth += 1
        elif text in _CLOSE:
            depth = max(0, depth - 1)
            if depth == 0 and text == "}" and body is not None:
                return n + 1, body
        elif text == ";" and depth == 0:
            return n + 1, None
        n += 1
    return n, None


def _old(tokens: Sequence[CToken], at: int) -> int:
    """The position of the brace of a definition as before 1989, whose parameters are declared at `at`; else `at`."""
    if not tokens[at].text.isidentifier():
        return at
    try:
        return behind_declarations(tokens, at)
    except UnreadableText:
        return at


def _part(tokens: Sequence[CToken], at: int, end: int, body: int | None, places: _Places) -> Part:
    file, line = places.of(tokens[at].start)
    own = tokens[at:end]
    words = frozenset(x.text for x in own if _NAME.match(x.text))
    initial = None if body is not None else _initial(own)
    long = initial is not None and initial[1] - initial[0] > _LONGEST_LIST
    return Part(
        own[0].start, own[-1].end, file, line, words, tuple(dict.fromkeys(_names(own))),
        None if body is None else (tokens[body].start, own[-1].end),
        None if initial is None else (own[initial[0]].start, own[initial[1] - 1].end),
        long, own[0].text == "typedef" or "typedef" in words,
    )  # fmt: skip


def _initial(own: Sequence[CToken]) -> tuple[int, int] | None:
    """Where the last initial value in braces of a declaration stands."""
    first = next((n for n, x in enumerate(own[1:], 1) if x.text == "{" and own[n - 1].text == "="), None)
    if first is None:
        return None
    last = max(n for n, x in enumerate(own) if x.text == "}") + 1
    return first, last


def _names(own: Sequence[CToken]) -> Iterable[str]:
    """The names that a part may define: more than it does do no harm."""
    depth, inside = 0, [""]
    for n, token in enumerate(own):
        text = token.text
        before = own[n - 1].text if n else ""
        after = own[n + 1].text if n + 1 < len(own) else ""
        if text in _OPEN:
            listed = text == "{" and ("enum" in (before, own[n - 2].text if n > 1 else ""))
            depth += 1
            inside.append("enum" if listed else text)
        elif text in _CLOSE:
            depth -= 1
            if len(inside) > 1:
                inside.pop()
        elif not _NAME.match(text):
            continue
        elif before in _TAGGED or (inside[-1] == "enum" and before in ("{", ",")):
            yield text
        elif depth == 0 and after in ("(", "[", "=", ";", ",", ""):
            yield text
        elif depth == 1 and before == "*" and own[n - 2].text == "(":
            yield text  # an address of a function
        elif depth == 1 and before == "*" and [x.text for x in own[n + 1 : n + 3]] == [")", "("]:
            yield text


def needed_parts(parts: Sequence[Part], own: str) -> list[Part]:
    """The parts of the file `own`, and those of others that these need, in their order."""
    by_name: dict[str, list[int]] = {}
    for number, part in enumerate(parts):
        for name in part.names:
            by_name.setdefault(name, []).append(number)
    kept = {n for n, x in enumerate(parts) if x.file == own or not x.names}
    waiting, seen = [*kept], set[str]()
    while waiting:
        for word in parts[waiting.pop()].words - seen:
            seen.add(word)
            fresh = [n for n in by_name.get(word, ()) if n not in kept]
            kept.update(fresh)
            waiting += fresh
    return [x for n, x in enumerate(parts) if n in kept]
