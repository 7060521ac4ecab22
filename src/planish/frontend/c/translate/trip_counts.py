"""Trip counts that C computes where the kernel is called, such as that of `for (i = j; i < n; i += len)`.

>>> from planish.ir.expr import index
>>> Quotient(Var("n", INDEX), Var("len", INDEX), whole=True).spell({"n": "n", "len": "len"})
'((long long)len > 0 && ((long long)n) % ((long long)len) == 0 ? ((long long)n) / ((long long)len) : -1)'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import add, constant, place, show, sub
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
