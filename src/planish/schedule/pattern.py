"""Places in a nest by what stands there: `i`, `for k in _: _`, `C[_] += _`, `if _: _`, `C: _`, `i / C[_] = _ #2`.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.nodes import label_kernel
>>> text = "kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 A[i] += 1.0:f32 } }"
>>> body = label_kernel(parse_kernel(text)).body
>>> [find_all(body, pattern) for pattern in ("i", "for _ in _: _", "A[_] += _", "i / A[_] = _", "A = _ #1")]
[[1], [1], [3], [2], [2]]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, While
from planish.ir.text.operator_names import UPDATES
from planish.ir.traverse import blocks_of
from planish.schedule.nodes import Node, nodes

_NAME = r"[A-Za-z_]\w*"
_FORMS = (
    ("loop", re.compile(rf"({_NAME})")),
    ("loop", re.compile(rf"for\s+({_NAME})\s+in\s+_\s*:\s*_")),
    ("if", re.compile(r"if\s+(_)\s*:\s*_")),
    ("alloc", re.compile(rf"({_NAME})\s*:\s*_")),
    ("assign", re.compile(rf"({_NAME})\s*(?:\[\s*_\s*\])?\s*=\s*_")),
    *((op, re.compile(rf"({_NAME})\s*(?:\[\s*_\s*\])?\s*{re.escape(text)}\s*_")) for text, op in UPDATES.items()),
)
_NUMBER = re.compile(r"(.*?)\s*#(\d+)\s*")
SPELT = {op: text for text, op in UPDATES.items()}
HELP = "write a loop's name, or one of `for i in _: _`, `C[_] = _`, `C[_] += _`, `if _: _`, `C: _`; `#2` is the second"


def find_all(body: Block, pattern: str) -> list[int]:
    """The labels of the statements that a pattern fits, in the order of the text; PlanishError E0601 for a text that is
    no pattern."""
    scopes: list[Block] = [body]
    found: list[int] = []
    for part in pattern.split("/"):
        fitting = list(_fitting(scopes, part.strip(), pattern))
        found = [node.label for node in fitting]
        scopes = [block for node in fitting for block in blocks_of(node)]
    return found


def _fitting(scopes: list[Block], part: str, whole: str) -> Iterator[Node]:
    numbered = _NUMBER.fullmatch(part)
    text, number = (numbered[1], int(numbered[2])) if numbered else (part, 0)
    kind, name = _read(text, whole)
    fitting = [node for scope in scopes for node in nodes(scope) if _fits(node, kind, name)]
    if not numbered:
        yield from fitting
    elif 0 < number <= len(fitting):
        yield fitting[number - 1]


def _read(text: str, whole: str) -> tuple[str, str]:
    for kind, form in _FORMS:
        match = form.fullmatch(text)
        if match is not None:
            return kind, match[1]
    raise PlanishError(Diagnostic("E0601", f"`{whole}` is no pattern of a place", help=HELP))


def _fits(node: Node, kind: str, name: str) -> bool:
    match node:
        case For(var=own):
            return kind == "loop" and name in (own, "_")
        case If():
            return kind == "if"
        case Assign(array=own):
            return kind == "assign" and name in (own, "_")
        case Reduce(array=own, op=op):
            return kind == op and name in (own, "_")
        case Alloc(array=array):
            return kind == "alloc" and name in (array.name, "_")
        case Let(var=own):
            return kind == "alloc" and name in (own, "_")
        case Launch() | Barrier() | While():
            return False


def pattern_of(body: Block, node: Node) -> str:
    """A pattern that fits a statement first, to be found again by."""
    match node:
        case For(var=name):
            text = name
        case If():
            text = "if _: _"
        case Assign(array=name):
            text = f"{name}[_] = _"
        case Reduce(array=name, op=op):
            text = f"{name}[_] {SPELT[op]} _"
        case Alloc(array=array):
            text = f"{array.name}: _"
        case Let(var=name):
            text = f"{name}: _"
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
    place = find_all(body, text).index(node.label)
    return text if place == 0 else f"{text} #{place + 1}"
