"""The loops of a nest as a tree: bounds, what is known of each loop, and the statements in them.

>>> from planish.ir.text.parser import parse_kernel
>>> kernel = parse_kernel("kernel k(n; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] += x[i] * 2.0 } }")
>>> print(print_tree(draw_tree(kernel)))
for i in 0 .. n
  y[i] += x[i] * 2.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import assert_never

from planish.ir.expr import Expr
from planish.ir.nest import (
    Alloc,
    Assign,
    Barrier,
    Block,
    For,
    If,
    Kernel,
    Launch,
    Let,
    LoopFacts,
    Reduce,
    Stmt,
    While,
)
from planish.ir.text.operator_names import SIGNS
from planish.ir.text.printer import print_expr

_TYPES = re.compile(r"(?<=[\w.]):(?:bf|[fiu])\d+\b")
MOST_ENTRIES = 120
"""Of a tree that is shown; a kernel of the library may have thousands."""
MOST_ALIKE, FEW_ALIKE = 6, 4
"""Statements in a row that are shown, and how many are where there are more."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A loop, condition or statement: its text, the words that are known of it, the line (0: none) and the file that it
    comes from, and what is in it."""

    text: str
    kind: str
    marks: tuple[str, ...] = ()
    line: int = 0
    inner: tuple[TreeEntry, ...] = ()
    file: str = ""

    @property
    def count(self) -> int:
        """The entries from here on."""
        return 1 + sum(x.count for x in self.inner)


def draw_tree(kernel: Kernel, file: str = "") -> tuple[TreeEntry, ...]:
    """The entries of a kernel's body, as many as are worth reading; with lines of that file alone, where one is named:
    parts may come from another one, or from a kernel of the library."""
    return _cut(_shortened(tuple(_entries(kernel.body)), file), [MOST_ENTRIES])


def print_tree(entries: Sequence[TreeEntry], indent: str = "") -> str:
    """The tree as indented text."""
    lines = []
    for x in entries:
        marks = f"  [{', '.join(x.marks)}]" if x.marks else ""
        lines += [f"{indent}{x.text}{marks}", *([print_tree(x.inner, indent + "  ")] if x.inner else [])]
    return "\n".join(lines)


def _shortened(entries: tuple[TreeEntry, ...], file: str) -> tuple[TreeEntry, ...]:
    """The entries with the first few of statements in a row: those that unrolling made are alike.

    >>> row = tuple(TreeEntry(f"x[{k}] = 0", "statement") for k in range(9))
    >>> [x.text for x in _shortened(row, "")][-2:]
    ['x[3] = 0', '… 5 more statements']
    """
    out: list[TreeEntry] = []
    for plain, run in groupby(entries, lambda x: x.kind == "statement"):
        listed = [replace(x, line=x.line if file in ("", x.file) else 0, inner=_shortened(x.inner, file)) for x in run]
        if plain and len(listed) > MOST_ALIKE:
            listed[FEW_ALIKE:] = [TreeEntry(f"… {len(listed) - FEW_ALIKE} more statements", "more")]
        out += listed
    return tuple(out)


def _cut(entries: tuple[TreeEntry, ...], left: list[int]) -> tuple[TreeEntry, ...]:
    """The first entries, in the order of the text."""
    out: list[TreeEntry] = []
    for number, x in enumerate(entries):
        if left[0] <= 0:
            rest = sum(y.count for y in entries[number:])
            out.append(TreeEntry(f"… {rest} more", "more"))
            break
        left[0] -= 1
        out.append(replace(x, inner=_cut(x.inner, left)))
    return tuple(out)


def _entries(block: Block) -> Iterator[TreeEntry]:
    for stmt in block.body:
        span = None if isinstance(stmt, Block) else stmt.span
        yield from (x if span is None or x.file else replace(x, file=span.file) for x in _entry(stmt))


def _entry(stmt: Stmt) -> Iterator[TreeEntry]:
    span = None if isinstance(stmt, Block) else stmt.span
    line = 0 if span is None else span.line
    match stmt:
        case Block():
            yield from _entries(stmt)
        case For():
            step = f" step {stmt.step}" if stmt.step != 1 else ""
            text = f"for {stmt.var} in {_say(stmt.lower)} .. {_say(stmt.upper)}{step}"
            yield TreeEntry(text, "loop", marks_of(stmt.facts), line, tuple(_entries(stmt.body)))
        case If(condition=condition, then=then, otherwise=otherwise):
            yield TreeEntry(f"if {_say(condition)}", "branch", (), line, tuple(_entries(then)))
            if otherwise.body:
                yield TreeEntry("else", "branch", (), 0, tuple(_entries(otherwise)))
        case While(condition=condition, body=body):
            yield TreeEntry(f"while {_say(condition)}", "loop", (), line, tuple(_entries(body)))
        case Assign(array=array, index=index, value=value):
            yield TreeEntry(f"{_place(array, index)} = {_say(value)}", "statement", (), line)
        case Reduce(array=array, index=index, op=op, value=value):
            yield TreeEntry(f"{_place(array, index)} {SIGNS[op]} {_say(value)}", "statement", (), line)
        case Alloc(array=array):
            shape = "".join(f"[{'?' if x is None else _say(x)}]" for x in array.shape)
            yield TreeEntry(f"{array.name}{shape}: {array.type} in {array.memory}", "array", (), line)
        case Let(var=var, value=value):
            yield TreeEntry(f"let {var} = {_say(value)}", "statement", (), line)
        case Launch(body=body):
            yield TreeEntry("launch", "loop", (), line, tuple(_entries(body)))
        case Barrier():
            yield TreeEntry("barrier", "statement", (), line)
        case _:
            assert_never(stmt)


def marks_of(facts: LoopFacts) -> tuple[str, ...]:
    """What is known of a loop, in words.

    >>> marks_of(LoopFacts(parallel=True, simd=True, unroll=4))
    ('parallel', 'lanes', 'unrolled 4 times')
    """
    out = ["parallel"] if facts.parallel else []
    out += ["lanes"] if facts.simd else []
    out += [f"sums {name}" for _, name in facts.reductions]
    out += [f"unrolled {facts.unroll} times"] if facts.unroll > 1 else []
    out += [facts.instruction] if facts.instruction else []
    out += ["non-temporal stores"] if facts.stream else []
    return tuple(out)


def _say(expr: Expr) -> str:
    """An expression without the types of its numbers, which the arrays tell."""
    return _TYPES.sub("", print_expr(expr))


def _place(array: str, index: Sequence[Expr]) -> str:
    return array + (f"[{', '.join(_say(x) for x in index)}]" if index else "")
