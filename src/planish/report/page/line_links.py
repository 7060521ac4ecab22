"""Which lines of the source a line of a drop-in comes from: those that it repeats, or whose statement it does.

>>> link_repeated(["a();", "for (;;)", "  b();"], ["#include <x>", "a();", "if (ok)", "  b();"])
{2: (1,), 4: (3,)}
>>> facts = [SourceStatement((4,), (2, 3), "y", frozenset({"x"}))]
>>> link_generated(["static void f_1()", "{", "  for (i = 0; i < n; i++)", "    y[i] += x[i];", "}"], facts)
{3: (2, 3), 4: (4,)}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from planish.core.span import Span
from planish.ir.nest import Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import expressions, loads

_WORD = re.compile(r"[A-Za-z_]\w*")
_STORED = re.compile(r"(?:^|[(\s*;])([A-Za-z_]\w*)(?:\[.*?\])*\s*(?:[-+*/|&^]|<<|>>)?=(?!=)")
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)|//.*")
"""One behind the last statement of a nest does not stand in what was replaced."""
_STORE_CALL = re.compile(r"(?:store|stream|scatter|vst1)\w*\s*\((.*)")


@dataclass(frozen=True, slots=True)
class SourceStatement:
    """A statement of a nest: its lines, those of the loops around it, what it stores to and what it reads."""

    lines: tuple[int, ...]
    loops: tuple[int, ...]
    stored: str
    read: frozenset[str]


def statements_of(kernel: Kernel, file: str) -> list[SourceStatement]:
    """The statements of a kernel as it was read, whose places in a file are known."""
    return [x for stmt in kernel.body.body for x in _statements(stmt, (), file)]


def _statements(stmt: Stmt, loops: tuple[int, ...], file: str) -> list[SourceStatement]:
    match stmt:
        case Block(body=body):
            return [x for inner in body for x in _statements(inner, loops, file)]
        case For(body=body, span=span):
            around = loops if span is None or span.file != file else (*loops, span.line)
            return _statements(body, around, file)
        case If(then=then, otherwise=otherwise):
            return [*_statements(then, loops, file), *_statements(otherwise, loops, file)]
        case Assign(array=name, span=Span() as span) | Reduce(array=name, span=Span() as span) if span.file == file:
            lines = tuple(range(span.line, span.end_line + 1))
            return [SourceStatement(lines, loops, name, _names(stmt))]
        case Let(var=name, span=Span() as span) if span.file == file:
            return [SourceStatement((span.line,), loops, name, _names(stmt))]
        case _:
            return []


def _names(stmt: Assign | Reduce | Let) -> frozenset[str]:
    return frozenset(x.array for e in expressions(stmt) for x in loads(e))


def link_repeated(source: Sequence[str], made: Sequence[str], first: int = 1) -> dict[int, tuple[int, ...]]:
    """The lines of a drop-in, numbered from `first`, that stand in the source as well."""
    out: dict[int, tuple[int, ...]] = {}
    ours, theirs = ([_COMMENT.sub("", x).strip() for x in lines] for lines in (source, made))
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    for here, there, count in matcher.get_matching_blocks():
        for k in range(count):
            if theirs[there + k]:
                out[first + there + k] = (here + k + 1,)
    return out


def link_generated(
    lines: Sequence[str], statements: Sequence[SourceStatement], first: int = 1
) -> dict[int, tuple[int, ...]]:  # fmt: skip
    """The source lines of each line of a function that stands for a nest, numbered from `first`: a line that stores to
    an array belongs to the statements that do, a loop to the loops around the statements in it."""
    out: dict[int, tuple[int, ...]] = {}
    open_loops: list[tuple[int, int]] = []  # the line and its indentation
    inside: dict[int, set[int]] = {}
    for number, line in enumerate(lines, first):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if not text or text.startswith(("#", "/*")):
            continue
        while open_loops and indent <= open_loops[-1][1] and not text.startswith("}"):
            open_loops.pop()
        found = _statements_of_line(text, statements) if number > first else []
        if found:
            if "for (" not in text or not text.endswith(("{", ")", "++)")):
                out[number] = tuple(sorted({y for x in found for y in x.lines}))
            for place, _ in open_loops:
                inside.setdefault(place, set()).update(y for x in found for y in x.loops)
        if "for (" in text:
            open_loops.append((number, indent))
    for number, places in inside.items():
        out[number] = tuple(sorted({*out.get(number, ()), *places}))
    return dict(sorted(out.items()))


def _statements_of_line(text: str, statements: Sequence[SourceStatement]) -> list[SourceStatement]:
    """The statements that a line does: those that store to what it stores to, and of these the ones that read most of
    what it names; else the ones that read what it names."""
    names = {*_WORD.findall(text)}
    stored = {*_STORED.findall(text)}
    for call in _STORE_CALL.findall(text):
        stored |= {*_WORD.findall(call.partition(",")[0])}
    writing = [x for x in statements if x.stored in stored]
    if not writing and "for (" in text:
        return []
    chosen = writing or [x for x in statements if x.read & names]
    most = max((len(x.read & names) for x in chosen), default=0)
    return [x for x in chosen if len(x.read & names) == most]
