"""Kernels that the functions of the host choose between by the sizes of a call.

>>> from planish.ir.text.parser import parse_kernel
>>> one = "launch () of (t: 32) { A[t] = 1.0:f32 }"
>>> text = f"if n * m > 700 {{ {one} }} else {{ if 2 * m >= 40 {{ {one} }} else {{ {one} }} }}"
>>> sizes_of_versions(parse_kernel(f"kernel k(n, m; A: f32[32]) {{ {text} }}"))
[{'n': 20, 'm': 40}, {'n': 3, 'm': 20}, {'n': 3, 'm': 3}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from planish.ir.expr import Compare, Const, Expr, Unary
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Block, If, Kernel, Launch, Let
from planish.ir.text.parser import parse_expr
from planish.ir.traverse import blocks_of, substitute, variables, walk_expr
from planish.schedule.names import name_buffers
from planish.schedule.nodes import label_kernel
from planish.schedule.program import Program

TRIED = (3, 20, 40, 70, 150, 300, 600, 1200, 1800)
"""Sizes that are looked for."""
MOST_TRIED = 10_000


def choose_by_sizes(versions: Sequence[tuple[str, Program]]) -> Program:
    """The program that runs the first of some versions of one program whose condition holds, the last one where none
    does ("" is its condition). Each computes the same, so that any choice between them is right, also one that the
    model does not take."""
    (_, last), body = versions[-1], versions[-1][1].kernel.body
    for where, made in reversed(versions[:-1]):
        body = Block((If(parse_expr(where), made.kernel.body, body),))
    return replace(last, kernel=label_kernel(name_buffers(replace(last.kernel, body=body))))


def sizes_of_versions(kernel: Kernel) -> list[dict[str, int]]:
    """For each choice of the host between launches small sizes with which it is made; none where there is one way, or
    sizes are not found."""
    values: dict[str, Expr] = {}
    for stmt in kernel.body.body:
        values |= {stmt.var: substitute(stmt.value, values)} if isinstance(stmt, Let) else {}
    ways = [tuple(substitute(y, values) for y in x) for x in _ways(kernel.body, ()) if x]
    asked = {v for way in ways for x in way for v in variables(x)}
    names = [x for x in kernel.sizes if x in asked]
    found = sorted({*TRIED, *(y for way in ways for x in way for y in _constants(x))})
    if len(found) ** len(names) > MOST_TRIED:
        found = [*TRIED]
    tried = sorted(product(found, repeat=len(names)), key=prod)[:MOST_TRIED] if names else []
    out: list[dict[str, int]] = []
    for way in ways:
        for sizes in (dict(zip(names, x, strict=True)) for x in tried):
            if _holds(way, sizes):
                out.append(sizes)
                break
    return out


def _ways(block: Block, known: tuple[Expr, ...]) -> Iterator[tuple[Expr, ...]]:
    """What holds where launches are reached on the host."""
    if any(isinstance(x, Launch) for x in block.body):
        yield known
    for stmt in block.body:
        match stmt:
            case If(condition=condition, then=then, otherwise=otherwise):
                yield from _ways(then, (*known, condition))
                yield from _ways(otherwise, (*known, Unary("not", condition)))
            case Launch():
                pass
            case _:
                for part in blocks_of(stmt):
                    yield from _ways(part, known)


def _holds(way: Sequence[Expr], sizes: Mapping[str, int]) -> bool:
    try:
        return all(evaluate(x, sizes) for x in way)
    except (KeyError, ValueError, ZeroDivisionError):
        return False


def _constants(condition: Expr) -> Iterator[int]:
    """Sizes a little beyond constants that something is compared with."""
    for x in walk_expr(condition):
        if isinstance(x, Compare):
            yield from (int(y.value) + TRIED[0] for y in (x.left, x.right) if isinstance(y, Const) and y.value > 0)
