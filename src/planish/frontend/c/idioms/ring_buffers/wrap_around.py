"""Wrap-around variables: what they hold in an iteration was computed in the one before, and at first before the loop.

`last = n - 1; for (i = 0; i < n; i++) { … b[last] …; last = i; }` reads `b[i < 1 ? n - 1 : i - 1]`: such a choice is
decided by cutting off the first iteration.

>>> from planish.ir.expr import Var
>>> from planish.ir.index.polynomial import show
>>> from planish.ir.types import INDEX
>>> variable = WrapAround(index(7), Var("i@1", INDEX))
>>> turn = Turn(Var("i", INDEX), index(0), 1, {"i@1": (index(0), index(1))})
>>> choice = value_before("last@2", {"last@2": variable}, turn)
>>> show(choice.then), show(choice.otherwise)
('7', 'i - 1')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planish.frontend.c.idioms.modular_subscripts import choose_index
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import add, mul, names, place, sub
from planish.ir.nest import Stmt
from planish.ir.traverse import expressions, variables, walk

_MOST_BEHIND = 3
"""A value may be taken over from variable to variable through so many iterations."""


@dataclass(frozen=True, slots=True)
class WrapAround:
    """A variable that holds `entry` in the first iteration, and `end`, over what stood for variables at its beginning,
    once an iteration is done."""

    entry: Expr
    end: Expr


@dataclass(frozen=True, slots=True)
class Turn:
    """An iteration of a loop whose counter, from `lower` on by `step`, has a `value`; `advances`: of what advances, by
    what stands for it at the beginning of an iteration, the base and what it gains while the counter gains one."""

    value: Expr
    lower: Expr
    step: int
    advances: Mapping[str, tuple[Expr, Expr]]

    def number(self, before: int) -> Expr:
        """What the counter has gained by the iteration that lies so many before this one."""
        return sub(sub(self.value, self.lower), index(before * self.step))


def value_before(unknown: str, known: Mapping[str, WrapAround], turn: Turn, before: int = 0) -> Expr | None:
    """What a variable holds at the beginning of the iteration that lies `before` iterations before this one; None where
    that is not made of counters and sizes."""
    variable = known.get(unknown)
    if variable is None or before == _MOST_BEHIND:
        return None
    number, values = turn.number(before + 1), dict[str, Expr]()
    for name in names(variable.end):
        if name in turn.advances:
            base, amount = turn.advances[name]
            values[name] = add(base, mul(amount, number))
        elif "@" in name:
            earlier = value_before(name, known, turn, before + 1)
            if earlier is None:
                return None
            values[name] = earlier
    last = place(variable.end, values)
    return choose_index(Compare("lt", turn.number(before), index(1)), variable.entry, last)


def names_in(stmts: Iterable[Stmt]) -> frozenset[str]:
    """The variables that statements read, anywhere in them."""
    return frozenset(y for stmt in stmts for part in walk(stmt) for x in expressions(part) for y in variables(x))
