"""What C does not need is left out: braces of one statement, declarations apart from the first value.

>>> lines = ["#pragma GCC unroll 4", "for (int i = 0; i < 4; i++) {", "  if (i < n) {", "    a[i] = 0;", "  }", "}"]
>>> print("\\n".join(tidied(lines)))
_Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
  if (i < n)
    a[i] = 0;
>>> tidied(["float s;", "float t;", "s = x[0];", "t = s + 1.0f;"])
['float s = x[0];', 'float t = s + 1.0f;']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_DIRECTIVE = re.compile(r"^(\s*)#pragma (GCC unroll \d+)$")
_WORDS = ("planish_lanes", "planish_strip")
_STATEMENT = re.compile(r"^(?!const |[a-z_0-9]+ \**[A-Za-z_]\w*(?:\[|;| =)|#|planish_sum)[^;{}]*;$")
"""One that declares nothing."""
_DECLARATION = re.compile(r"^( *)((?!return\b)[A-Za-z_]\w*) (\w+);$")


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


def tidied(lines: Sequence[str]) -> list[str]:
    """The lines of a function's body, or of the whole function, without what is not needed."""
    joined = _joined(lines)
    parts, rest = _parse(joined, 0)
    assert rest == len(joined), "the emitter closes what it opens"
    return [y for x in _with_values(_spliced(parts)) for y in _write(x)]


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


def _with_values(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """The parts with declarations where the first value is."""
    out = [_Part(x.line, tuple((head, _with_values(body)) for head, body in x.branches)) for x in parts]
    for at in range(len(out) - 1, -1, -1):
        declared = _DECLARATION.match(out[at].line)
        if declared is None or out[at].branches:
            continue
        indent, type, name = declared.groups()
        word = re.compile(rf"\b{name}\b")
        first = next((i for i in range(at + 1, len(out)) if _mentions(out[i], word)), None)
        if first is None or any(x.line.startswith("#") for x in out[at:first]):
            continue
        before, sign, value = out[first].line.partition(f"{indent}{name} = ")
        if not before and sign and not out[first].branches and not word.search(value):
            out[first] = _Part(f"{indent}{type} {name} = {value}")
            del out[at]
    return tuple(out)


def _spliced(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """The parts with what is in blocks that declare nothing."""
    out: list[_Part] = []
    for x in parts:
        part = _Part(x.line, tuple((head, _spliced(body)) for head, body in x.branches))
        heads = [head for head, _ in part.branches]
        if not part.line and len(heads) == 1 and heads[0].isspace():
            body = part.branches[0][1]
            if all(y.branches or y.is_simple for y in body):
                out += map(_shallower, body)
                continue
        out.append(part)
    return tuple(out)


def _mentions(part: _Part, word: re.Pattern[str]) -> bool:
    if word.search(part.line):
        return True
    return any(word.search(head) or any(_mentions(x, word) for x in body) for head, body in part.branches)


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
