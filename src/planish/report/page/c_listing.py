"""The parts of a drop-in that belong to one function: what its caller sees, what stands for its nests, what those call.

>>> text = "static int two(void)\\n{\\n  return 2;\\n}\\nint f(void) { return two(); }\\nint g(void) { return 3; }\\n"
>>> find_definitions(text)
{'two': (1, 4), 'f': (5, 5), 'g': (6, 6)}
>>> [(x.name, x.first, len(x.lines)) for x in list_passages(text, "f")]
[('f', 5, 1), ('two', 1, 4)]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.frontend.c.text.lexer import CToken, tokenize

_NO_NAMES = frozenset({"__attribute__", "__declspec", "_Pragma", "_Alignas", "if", "for", "while", "switch"})


@dataclass(frozen=True, slots=True)
class Passage:
    """A function of a drop-in: its name, its first line, its lines."""

    name: str
    first: int
    lines: tuple[str, ...]


def find_definitions(text: str) -> dict[str, tuple[int, int]]:
    """The functions that a C text defines, with their first and last lines, in the order of the text."""
    out: dict[str, tuple[int, int]] = {}
    head: list[CToken] = []
    depth, name = 0, ""
    for token in tokenize(text).tokens:
        if depth == 0:
            if token.text in (";", "}"):
                head = []
                continue
            if token.text == "{":
                name = _name(head)
                depth = 1
                continue
            head.append(token)
        elif token.text == "{":
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0:
                if name:
                    out[name] = (head[0].line, token.line)
                head, name = [], ""
    return out


def _name(head: list[CToken]) -> str:
    """The function that a declaration begins, "" where it is none."""
    if not head or any(x.text == "=" for x in head):
        return ""
    depth = 0
    for token, after in zip(head, head[1:], strict=False):
        if token.text in ("(", ")"):
            depth += 1 if token.text == "(" else -1
        elif depth == 0 and after.text == "(" and token.text.isidentifier() and token.text not in _NO_NAMES:
            return token.text
    return ""


def list_passages(text: str, function: str) -> tuple[Passage, ...]:
    """The function, then all that it calls in this text, the nearest first."""
    found = find_definitions(text)
    lines = text.splitlines()
    uses = _uses(text, found)
    order, wanted = list[str](), [function]
    for name in wanted:
        if name in found and name not in order:
            order.append(name)
            wanted += uses[name]
    return tuple(_passage(name, found[name], lines) for name in order)


def _passage(name: str, place: tuple[int, int], lines: list[str]) -> Passage:
    first, last = place
    # A comment of one line above it says what was done.
    while first > 1 and lines[first - 2].startswith("/*") and lines[first - 2].endswith("*/"):
        first -= 1
    return Passage(name, first, tuple(lines[first - 1 : last]))


def _uses(text: str, found: Mapping[str, tuple[int, int]]) -> dict[str, list[str]]:
    """The functions that each function names."""
    owners = {line: name for name, (first, last) in found.items() for line in range(first, last + 1)}
    out: dict[str, list[str]] = {name: [] for name in found}
    for token in tokenize(text).tokens:
        owner = owners.get(token.line, "")
        if owner and token.text in found and token.text != owner and token.text not in out[owner]:
            out[owner].append(token.text)
    return out
