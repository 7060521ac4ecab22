"""Braces and lines that C does not need: a loop or branch of one statement, directives of the loop behind them.

>>> lines = ["#pragma GCC unroll 4", "for (int i = 0; i < 4; i++) {", "  if (i < n) {", "    a[i] = 0;", "  }", "}"]
>>> print("\\n".join(without_braces(lines)))
_Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
  if (i < n)
    a[i] = 0;
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_DIRECTIVE = re.compile(r"^(\s*)#pragma (GCC unroll \d+)$")
_WORDS = ("planish_lanes", "planish_strip")
_STATEMENT = re.compile(r"^(?!const |[a-z_0-9]+ \**[A-Za-z_]\w*(?:\[|;| =)|#|planish_sum)[^;{}]*;$")
"""One that declares nothing."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A line, or several branches: each the head of a block and what is in it; one of them where it is a loop."""

    line: str = ""
    branches: tuple[tuple[str, tuple[_Part, ...]], ...] = ()

    @property
    def is_loop(self) -> bool:
        return bool(self.branches) and self.branches[0][0].endswith(")") and "for (" in self.branches[0][0]

    @property
    def is_choice(self) -> bool:
        return bool(self.branches) and self.branches[0][0].lstrip().startswith("if (")

    @property
    def is_simple(self) -> bool:
        return not self.branches and bool(_STATEMENT.match(self.line.strip()))


def without_braces(lines: Sequence[str]) -> list[str]:
    """The lines of a function's body, or of the whole function, without what is not needed."""
    parts, rest = _parse(_joined(lines), 0)
    assert rest == len(_joined(lines)), "the emitter closes what it opens"
    return [y for x in parts for y in _write(x)]


def _joined(lines: Sequence[str]) -> list[str]:
    """A directive and its loop on one line."""
    out: list[str] = []
    for line in lines:
        before = out[-1] if out else ""
        found = _DIRECTIVE.match(before)
        if line.lstrip().startswith("for (") and found is not None:
            out[-1] = f'{found[1]}_Pragma("{found[2]}") {line.lstrip()}'
        elif line.lstrip().startswith("for (") and before.strip() in _WORDS:
            out[-1] = f"{before} {line.lstrip()}"
        else:
            out.append(line)
    return out


def _parse(lines: Sequence[str], at: int) -> tuple[tuple[_Part, ...], int]:
    """The parts up to what closes the block that they are in, and where that stands."""
    out: list[_Part] = []
    while at < len(lines) and not lines[at].lstrip().startswith("}"):
        head = lines[at]
        if not head.endswith("{"):
            out.append(_Part(head))
            at += 1
            continue
        branches = []
        while True:
            inner, at = _parse(lines, at + 1)
            branches.append((head[:-1].rstrip() if head.strip() != "{" else head[:-1], inner))
            head, at = lines[at], at + 1
            if not head.endswith("{"):
                break
            head, at = head.replace("} ", "", 1), at - 1
        out.append(_Part(head if head.strip() != "}" else "", tuple(branches)))
    return tuple(out), at


def _write(part: _Part) -> Iterator[str]:
    if not part.branches:
        yield part.line
        return
    bodies = [_only_block(x) for _, x in part.branches]
    plain = not part.line and all(_may_stand_alone(part, x) for x in bodies)
    for i, ((head, _), body) in enumerate(zip(part.branches, bodies, strict=True)):
        indent = head[: len(head) - len(head.lstrip())]
        if plain:
            yield head
        else:
            opening = f"{head} {{" if head.strip() else f"{head}{{"
            yield f"{indent}}} {opening.lstrip()}" if i else opening
        yield from (y for x in body for y in _write(x))
    if not plain:
        yield part.line or f"{part.branches[0][0][: len(indent)]}}}"


def _may_stand_alone(part: _Part, body: tuple[_Part, ...]) -> bool:
    if len(body) != 1 or not (part.is_loop or part.is_choice):
        return False
    (only,) = body
    # An `else` behind a branch in a branch would belong to that one.
    return only.is_simple or (part.is_loop and not only.line and (only.is_loop or only.is_choice))


def _only_block(body: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """What is in a block that is the only statement of another one."""
    if len(body) == 1 and len(body[0].branches) == 1 and not body[0].branches[0][0].strip():
        return _only_block(tuple(_shallower(x) for x in body[0].branches[0][1]))
    return body


def _shallower(part: _Part) -> _Part:
    branches = tuple((head[2:], tuple(_shallower(x) for x in body)) for head, body in part.branches)
    return _Part(part.line.removeprefix("  "), branches)
