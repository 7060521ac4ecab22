"""Rerolled kernels do what they did, statement by statement; what is no progression stays."""

from __future__ import annotations

import re

import pytest

from planish.ir.expr import Const, Expr, Load, type_of
from planish.ir.index.polynomial import normal
from planish.ir.nest import Block, For, Kernel, Stmt
from planish.ir.passes.reroll import reroll
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_stmt
from planish.ir.traverse import map_block, map_expr, map_exprs, substitute_block, walk
from planish.ir.types import INDEX

CASES = {
    "rows": [f"s[{i}] += x[n + {3 * i}] * y[{7 - i}]" for i in range(8)],
    "blocks": [f"c[{i}, {j}] = x[{5 * i + j}]" for i in range(3) for j in range(4)],
    "pairs": [line for i in range(5) for line in (f"s[{i}] = x[{2 * i}]", f"c[{i}, 1] += s[{i}] * y[n - {i + 1}]")],
    "edges": ["s[9] = 0.0", *[f"s[{i}] = x[{i}]" for i in range(4)], *[f"y[{i}] = 2.0" for i in (3, 5, 7)]],
    "nests": [f"for k in 0 .. n {{ s[{i}] += x[k + {i}] }}" for i in range(4)],
    "masked": [x for i in range(3) for x in (*[f"c[{i}, {j}] = x[{j}]" for j in range(3)], f"c[{i}, 3] = y[{i}]")],
    "values": [x for i in range(4) for x in (f"let a{i} = x[{2 * i}] + 1.0", f"y[{i}] = a{i} * a{i}")],
    "cells": [x for i in range(4) for x in (f"alloc t{i}: f64[2] stack", f"t{i}[1] = x[{i}]", f"y[{i}] += t{i}[1]")],
}  # fmt: skip


def read(lines: list[str]) -> Kernel:
    body = "\n".join(lines)
    return parse_kernel(f"kernel k(n; s: f64[10], x: f64[n + 30], y: f64[n + 30], c: f64[8, 4]) {{ {body} }}")


def unrolled(block: Block) -> Block:
    """The block without the loops that are marked, in the subscripts' normal form."""

    def unroll(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if isinstance(stmt, For) and stmt.facts.unroll:
            assert isinstance(stmt.upper, Const)
            count = int(stmt.upper.value)
            return tuple(x for i in range(count) for x in substitute_block(stmt.body, {stmt.var: Const(i, INDEX)}).body)
        return stmt

    def settle(x: Expr) -> Expr:
        if isinstance(x, Load):
            return Load(x.array, tuple(normal(y) for y in x.index), x.type)
        return x

    def normalise(stmt: Stmt) -> Stmt:
        return map_exprs(lambda x: normal(x) if type_of(x) == INDEX else map_expr(settle, x), stmt)

    return map_block(normalise, map_block(unroll, block))


def renamed(block: Block) -> str:
    """The text, in which names that are bound in turn are the same."""
    return re.sub(r"\b([at])\d\b", r"\1", "\n".join(print_stmt(x) for x in block.body))


@pytest.mark.parametrize("name", CASES)
def test_the_same_statements_in_the_same_order(name: str) -> None:
    kernel = read(CASES[name])
    made = reroll(kernel)
    assert sum(1 for _ in walk(made.body)) < sum(1 for _ in walk(kernel.body))
    assert renamed(unrolled(made.body)) == renamed(unrolled(kernel.body))


@pytest.mark.parametrize(
    "lines",
    [
        ["s[0] = x[0]", "s[1] = x[1]", "s[3] = x[2]"],  # no even steps
        ["s[0] += x[0]", "s[0] += x[0]", "s[0] += x[0]"],  # no steps at all
        ["s[0] = x[0]", "s[1] += x[1]", "s[2] = x[2]"],
        ["s[4] += x[1]", "s[5] += x[2]", "s[7] += x[3]", "s[6] += x[4]"],  # by chance
        ["s[0] = x[n]", "s[1] = x[2 * n]", "s[2] = x[3 * n]"],  # another product is another operation
        [x for i in range(4) for x in (f"let a{i} = x[{i}]", f"y[{i}] = a{i} * a{max(i - 1, 0)}")],  # of another turn
        [*[x for i in range(4) for x in (f"let a{i} = x[{i}]", f"y[{i}] = a{i}")], "s[0] = a3"],
        ["for l in 0 .. 4 simd { s[0] = x[l] s[1] = x[l + 1] s[2] = x[l + 2] }"],
    ],
)
def test_what_is_no_progression_stays(lines: list[str]) -> None:
    kernel = read(lines)
    assert reroll(kernel).body == kernel.body


def test_counters_are_new_names() -> None:
    text = "kernel k(r, s; t: f64[9], x: f64[r + s + 9]) { t[0] = x[r] t[1] = x[r + 1] t[2] = x[r + 2] }"
    (loop,) = reroll(parse_kernel(text)).body.body
    assert isinstance(loop, For) and loop.var not in ("r", "s", "t", "x")


def test_refused_loops_stay() -> None:
    kernel = read(CASES["rows"])
    assert reroll(kernel, lambda _: False).body == kernel.body
