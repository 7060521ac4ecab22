"""Rows whose addresses lie in an array are found to be evenly spaced before a kernel is called that takes them for one.

>>> spacing_guard("a", ("0", "n - 1"), "planish_a_rows", "planish_a_rows_first")
'(planish_a_rows = planish_spaced(a, 0, n - 1, sizeof(**(a)), &planish_a_rows_first)) > 0'
"""

from __future__ import annotations

import islpy as isl

from planish.ir.expr import Expr
from planish.poly.isl.expression import piecewise_expr
from planish.poly.scop.extents import NoExtentError
from planish.poly.scop.extraction import Scop

FUNCTION = """\
/* How many elements rows lie apart that are evenly spaced, by an array of their addresses: 0 where they are not. */
static ptrdiff_t planish_spaced(const void *rows, ptrdiff_t first, ptrdiff_t last, size_t size, void **start)
{
  const char *at = (const char *)rows;
  void *row, *next;
  uintptr_t apart;
  if (last <= first)
    return 0;
  __builtin_memcpy(&row, at + first * (ptrdiff_t)sizeof row, sizeof row);
  __builtin_memcpy(&next, at + (first + 1) * (ptrdiff_t)sizeof row, sizeof row);
  apart = (uintptr_t)next - (uintptr_t)row;
  if ((ptrdiff_t)apart <= 0 || apart % size != 0)
    return 0;
  for (ptrdiff_t k = first + 2; k <= last; k++) {
    __builtin_memcpy(&next, at + k * (ptrdiff_t)sizeof row, sizeof row);
    if ((uintptr_t)next - (uintptr_t)row != (uintptr_t)(k - first) * apart)
      return 0;
  }
  *start = (void *)((uintptr_t)row - (uintptr_t)first * apart);
  return (ptrdiff_t)(apart / size);
}
"""


def row_ends(scop: Scop, array: str) -> tuple[Expr, Expr]:
    """The numbers of the first and the last row that a kernel accesses. Raises NoExtentError where it does not access
    rows."""
    least: isl.PwAff | None = None
    most: isl.PwAff | None = None
    for access in (x for statement in scop.statements for x in statement.accesses if x.array == array):
        reached = access.relation.range()
        if reached.dim(isl.dim_type.set) != 2 or 0 in access.inexact:
            raise NoExtentError(array)
        low, high = reached.dim_min(0), reached.dim_max(0)
        least = low if least is None else least.union_min(low)
        most = high if most is None else most.union_max(high)
    if least is None or most is None:
        raise NoExtentError(array)
    return piecewise_expr(least, ()), piecewise_expr(most, ())


def spacing_guard(table: str, ends: tuple[str, str], apart: str, first: str) -> str:
    """The condition that rows are evenly spaced, which sets how far and where the first one begins."""
    return f"({apart} = planish_spaced({table}, {ends[0]}, {ends[1]}, sizeof(**({table})), &{first})) > 0"


def declare_spacing(apart: str, first: str) -> str:
    """The variables that it sets."""
    return f"ptrdiff_t {apart} = 0; void *{first} = 0;"
