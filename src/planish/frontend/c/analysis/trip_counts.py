"""Quotients of sizes that C computes where the kernel is called: the trip count of `for (i = j; i < n; i += len)`, the
length `w / 2` of the rows of `p[y * (w / 2) + x]`.

>>> from planish.ir.expr import index
>>> Quotient(Var("n", INDEX), Var("len", INDEX), whole=True).spell({"n": "n", "len": "len"})
'((long long)len > 0 && ((long long)n) % ((long long)len) == 0 ? ((long long)n) / ((long long)len) : -1)'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import add, constant, names, place, polynomial, show, sub
from planish.ir.types import INDEX


@dataclass(frozen=True, slots=True)
class Quotient:
    """What two sums of products of sizes give: `dividend / divisor` rounded up, or where it has to be `whole`, that
    quotient, and -1 where it is no whole number. Not more than 0 where the divisor is not positive."""

    dividend: Expr
    divisor: Expr
    whole: bool

    def spell(self, variables: Mapping[str, str]) -> str:
        """The quotient in C, over the variables that hold the sizes."""
        wide = {x: Var(f"(long long){y}", INDEX) for x, y in variables.items()}
        up = sub(add(self.dividend, self.divisor), index(1))
        a, b, c = (show(place(x, wide)) for x in (self.dividend, self.divisor, up))
        known = constant(self.divisor)
        if self.whole and known is not None and known > 0:
            return f"(({a}) % {b} == 0 ? ({a}) / {b} : -1)"
        if self.whole:
            return f"({b} > 0 && ({a}) % ({b}) == 0 ? ({a}) / ({b}) : -1)"
        return f"({b} > 0 ? ({c}) / ({b}) : 0)"


def is_of_sizes(expr: Expr, around: set[str]) -> bool:
    """Whether an expression is a sum of products of sizes, and of no iterator of the loops around.

    >>> is_of_sizes(Var("w", INDEX), {"x"}), is_of_sizes(Var("x", INDEX), {"x"})
    (True, False)
    """
    used = names(expr)
    plain = all(isinstance(x, Var) for m in polynomial(expr) for x in m)
    return plain and not used & around and not any("@" in x for x in used)
