"""Conditions under which elements are read: names that are used often are followed once."""

from __future__ import annotations

from planish.ir.conditional_accesses import ReadConditions
from planish.ir.expr import Binary, Compare, Const, Load, Select, Var, index
from planish.ir.types import I32

CELL = Load("A", (index("i"),), I32)
OTHER = Load("B", (index("i"),), I32)


def test_values_that_are_doubled_often_are_read_once() -> None:
    names = {"x0": CELL} | {f"x{n + 1}": Binary("add", *2 * (Var(f"x{n}", I32),)) for n in range(60)}
    reads = ReadConditions(names)
    reads.read(Var("x60", I32))
    assert not reads.conditions() and list(reads.found) == [CELL]


def test_what_is_read_in_any_case_has_no_condition() -> None:
    test = Compare("gt", OTHER, Const(0, I32))
    reads = ReadConditions({"x": CELL})
    reads.read(Select(test, Var("x", I32), Const(0, I32)))
    assert reads.conditions() == {CELL: test}
    reads.read(Var("x", I32))
    assert not reads.conditions()
