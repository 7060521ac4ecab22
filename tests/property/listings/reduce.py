"""Makes a failing program small: blocks, lines and tokens are taken away as long as it fails in the same way.

>>> reduce_text("int a;\\nfor (x) {\\n    keep(a, b);\\n}\\n", lambda t: "keep(" in t, seconds=5)
'    keep(\\n'
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

_TOKEN = re.compile(r'\s+|\w+(?:\.\w*)?|"[^"]*"|<<=|>>=|[-+*/%&|^<>=!]=|\+\+|--|<<|>>|&&|\|\||.', re.DOTALL)


def reduce_text(text: str, fails: Callable[[str], bool], seconds: float) -> str:
    """The smallest text found within a time for which `fails` holds."""
    deadline = time.monotonic() + seconds
    while True:
        before = text
        for smaller in (_without_lines, _without_blocks, _without_tokens):
            text = _shrink(text, fails, smaller, deadline)
        if text == before or time.monotonic() > deadline:
            return text


def _shrink(text: str, fails: Callable[[str], bool], smaller: Callable[[str], Iterator[str]], deadline: float) -> str:
    """Takes candidates as long as there is one that fails; goes on at the place where the last one was found."""
    tried: set[str] = set()
    found = True
    while found:
        found = False
        for candidate in smaller(text):
            if time.monotonic() > deadline:
                return text
            if candidate in tried or candidate == text:
                continue
            tried.add(candidate)
            if fails(candidate):
                text, found = candidate, True
                break
    return text


def _without_lines(text: str) -> Iterator[str]:
    """Runs of lines are left out, long ones first, and brackets are kept in pairs."""
    lines = text.splitlines(keepends=True)
    size = max(len(lines) // 2, 1)
    while size:
        for at in range(0, len(lines), size):
            cut = "".join(lines[at : at + size])
            if cut.count("{") == cut.count("}"):
                yield "".join(lines[:at] + lines[at + size :])
        size //= 2


def _without_blocks(text: str) -> Iterator[str]:
    """A block is left out with its head, or stands without its head."""
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        if "{" not in line:
            continue
        depth = 0
        for end in range(at, len(lines)):
            depth += lines[end].count("{") - lines[end].count("}")
            if depth <= 0:
                break
        yield "".join(lines[:at] + lines[end + 1 :])
        yield "".join(lines[:at] + lines[at + 1 : end] + lines[end + 1 :])


def _without_tokens(text: str) -> Iterator[str]:
    """Bracketed parts become 1, and runs of tokens of a line are left out."""
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        tokens = _TOKEN.findall(line)
        head, tail = "".join(lines[:at]), "".join(lines[at + 1 :])
        for first, token in enumerate(tokens):
            if token in "([":
                last = _closing(tokens, first)
                if last > first + 1:
                    inner = "1" if token == "(" else "[0]"
                    yield head + "".join([*tokens[:first], inner, *tokens[last + 1 :]]) + tail
                    if token == "(":
                        yield head + "".join(tokens[:first] + tokens[first + 1 : last] + tokens[last + 1 :]) + tail
        for size in (8, 5, 4, 3, 2, 1):
            for first in range(len(tokens) - size):
                if not tokens[first].isspace():
                    yield head + "".join(tokens[:first] + tokens[first + size :]) + tail


def _closing(tokens: list[str], first: int) -> int:
    """The place of the bracket that closes the one at `first`; `first` where there is none."""
    depth = 0
    for at in range(first, len(tokens)):
        depth += (tokens[at] in "([") - (tokens[at] in ")]")
        if depth == 0:
            return at
    return first
