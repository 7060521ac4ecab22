"""The values of one schedule dimension as a loop runs through them, and the constraints that bound them.

>>> import islpy as isl
>>> between = isl.BasicSet("[n] -> { [i] : 0 <= i < n }").get_constraints()
>>> [str(c) for c in one_side(between, 0, -1)]
['[n] -> { [i] : -1 + n - i >= 0 }']
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from planish.ir.expr import Expr
from planish.poly.isl.expression import add, normalise, scale

SET = isl.dim_type.set


@dataclass(frozen=True, slots=True, eq=False)
class DimensionRange:
    """The values of a dimension: from `lower` to `upper` (inclusive) by `stride`; `only` where there is just one.
    With an `origin`, the bounds are numbers of steps from there. `fractional`: `guard` asks that the offset of the
    stride, or the single value, be whole, which the loop itself does not see to.

    `ensured`: the points for which a loop with these bounds (or the single value) runs, if `guard` holds and what is
    known around. `guard`: what remains to be tested of the outer dimensions, a set that still has this one. `certain`:
    what the bounds see to as they are written, whatever holds around them: a test outside of the loop may only be left
    out for that reason, since the bounds may rely on the test.
    """

    lower: Expr
    upper: Expr
    stride: int
    only: Expr | None
    ensured: isl.Set
    guard: isl.Set
    certain: isl.Set
    origin: Expr | None = None
    fractional: bool = False

    def value_of(self, steps: Expr) -> Expr:
        """The value of the dimension at a value of the loop."""
        return steps if self.origin is None else normalise(add(scale(self.stride, steps), self.origin))


def coefficient(constraint: isl.Constraint, position: int) -> int:
    """The factor of a dimension in a constraint."""
    return int(constraint.get_coefficient_val(SET, position).to_python())


def one_side(constraints: list[isl.Constraint], position: int, sign: int) -> list[isl.Constraint]:
    """Constraints that bound the dimension from below (sign 1) or above (-1); an equality does both."""
    out = []
    for c in constraints:
        if not c.involves_dims(SET, position, 1):
            continue
        if c.is_equality():
            flip = coefficient(c, position) * sign < 0
            aff = c.get_aff()
            out.append(isl.Constraint.inequality_from_aff(aff.neg() if flip else aff))
        elif coefficient(c, position) * sign > 0:
            out.append(c)
    return out
