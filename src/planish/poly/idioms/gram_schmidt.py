"""Recognises Gram-Schmidt steps: a column is normalised and projected out of the columns to its right.

A step k makes column k of Q of column k of A, in whatever way; then, for each column j after it, R[k, j] becomes how
much of Q's column is in it, and that is taken off:

>>> from planish.ir.text.parser import parse_kernel
>>> make = "R[k, k] = 0.0 for i in 0 .. m { R[k, k] += A[i, k] * A[i, k] } for i in 0 .. m { Q[i, k] = A[i, k] }"
>>> dot = "R[k, j] = 0.0 for i in 0 .. m { R[k, j] += Q[i, k] * A[i, j] }"
>>> take = "for i in 0 .. m { A[i, j] += -(Q[i, k] * R[k, j]) }"
>>> step = "for k in 0 .. n { %s for j in k + 1 .. n { %s %s } }" % (make, dot, take)
>>> found = find_projecting(parse_kernel("kernel z(m, n; A: f64[m, n], Q: f64[m, n], R: f64[n, n]) { %s }" % step))
>>> found.array, found.units, found.shares, len(found.before)
('A', 'Q', 'R', 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.ir.expr import Binary, Const, Expr, Load, Unary, index
from planish.ir.index.polynomial import add, constant, names, same
from planish.ir.nest import Alloc, Array, Assign, For, Kernel, Reduce, Stmt
from planish.ir.traverse import flatten, walk
from planish.ir.types import F32, F64
from planish.poly.idioms.column_access import Leaf, accesses, in_elements, is_at_most, is_in_column, leaves_of


@dataclass(frozen=True, slots=True)
class GramSchmidt:
    """Steps `var` from 0 up to `steps` on the `rows` and `columns` of an array.

    A step runs `before`, which touches nothing but column `var` of the `array` and of the `units` (which may be the
    same one), and the element [var, var] of the `shares`, of these three. Then, for each j after `var`, the share
    [var, j] becomes the product of column `var` of the units and column j of the array, off which so many units are
    taken. All expressions are over the kernel's sizes, and `steps` is no larger than `columns`.
    """

    loop: For
    array: str
    units: str
    shares: str
    steps: Expr
    rows: Expr
    columns: Expr
    before: tuple[Stmt, ...]
    cells: tuple[Array, ...]

    @property
    def var(self) -> str:
        """The name of the step's number."""
        return self.loop.var


def find_projecting(kernel: Kernel) -> GramSchmidt | None:
    """The steps that a kernel consists of, all of it; None where it is anything else. Subscripts have to be rows and
    columns already."""
    match [x for x in flatten(kernel.body.body) if not isinstance(x, Alloc)]:
        case [For(step=1) as loop] if constant(loop.lower) == 0:
            pass
        case _:
            return None
    cells = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc) and not x.array.shape}
    step = flatten(in_elements(loop.body, cells).body)
    body = [x for x in step if not isinstance(x, Alloc)]
    local = tuple(dict.fromkeys(x.array for x in walk(kernel.body) if isinstance(x, Alloc)))
    for at in range(len(body)):
        found = _shares(body[at:], loop.var)
        if found is not None:
            break
    else:
        return None
    array, units, shares, rows, columns = found
    types = {x.name: x.type for x in kernel.arrays}
    sizes = {*kernel.sizes}
    kinds = {types.get(x) for x in (array, units, shares)}
    fits = (
        kinds in ({F32}, {F64})
        and shares not in (array, units)
        and not any(x.shape for x in local)
        and all(names(x) <= sizes for x in (loop.upper, rows, columns))
        and is_at_most(loop.upper, columns)
    )
    before = tuple(body[:at])
    if not fits or not all(_keeps_to_column(x, (array, units), shares, loop, rows) for x in before):
        return None
    return GramSchmidt(loop, array, units, shares, loop.upper, rows, columns, before, local)


def _keeps_to_column(stmt: Stmt, matrices: tuple[str, str], shares: str, step: For, rows: Expr) -> bool:
    """Whether a statement touches only what a step may touch before it turns to other columns."""
    diagonal = (index(step.var), index(step.var))
    return all(is_in_column(stmt, x, step, index(0), rows) for x in matrices) and all(
        all(map(same, at, diagonal)) for at, _ in accesses((stmt,), shares, ())
    )


def _shares(stmts: Sequence[Stmt], var: str) -> tuple[str, str, str, Expr, Expr] | None:
    """The array, the units and the shares of what a step does to other columns, and how many rows and columns there
    are; None where statements do anything else."""
    leaves = [*leaves_of(stmts)]
    if len(leaves) != 3 or None in leaves:
        return None
    first, second, third = (x for x in leaves if x is not None)
    (clear, outer), (dot, middle), (take, inner) = first, second, third
    match clear, dot, take:
        case (
            Assign(value=Const(value=0)),
            Reduce(op="add", value=Binary(op="mul") as shared),
            Reduce(op="add", value=Unary(op="neg", operand=Binary(op="mul") as taken)),
        ) if clear.array == dot.array:
            pass
        case _:
            return None
    array, shares = take.array, dot.array
    k = index(var)
    if (len(outer), len(middle), len(inner)) != (1, 2, 2) or (len(dot.index), len(take.index)) != (2, 2):
        return None
    (j,) = outer
    i2, j2 = _row_and_column(middle, dot.index[-1])
    i3, j3 = _row_and_column(inner, take.index[1])
    if i2 is None or j2 is None or i3 is None or j3 is None:
        return None
    # The sum of a column is clear before it is begun, and complete before anything is taken off.
    if not _apart(first, second, (j, j2)) or not _apart(second, third, (j2, j3)):
        return None
    sides = [x for x in (shared.left, shared.right) if isinstance(x, Load)]
    units = next((x.array for x in sides if x.index == (index(i2.var), k)), None)
    right = (
        clear.index == (k, index(j.var))
        and dot.index == (k, index(j2.var))
        and take.index == (index(i3.var), index(j3.var))
        and units is not None
        and _are(shared, (units, (index(i2.var), k)), (array, (index(i2.var), index(j2.var))))
        and _are(taken, (units, (index(i3.var), k)), (shares, (k, index(j3.var))))
        and all(same(x.lower, add(k, index(1))) and same(x.upper, j.upper) and x.step == 1 for x in (j, j2, j3))
        and all(constant(x.lower) == 0 and same(x.upper, i2.upper) and x.step == 1 for x in (i2, i3))
    )
    return (array, units, shares, i2.upper, j.upper) if right and units is not None else None


def _apart(one: Leaf, other: Leaf, columns: tuple[For, For]) -> bool:
    """Whether two statements share no loop but that over their columns."""
    return all(x is columns[0] and x is columns[1] for x in one[1] for y in other[1] if x is y)


def _row_and_column(loops: Sequence[For], column: Expr) -> tuple[For | None, For | None]:
    """Two loops, the one whose variable is a column second."""
    one, two = loops
    if column == index(one.var):
        return two, one
    return (one, two) if column == index(two.var) else (None, None)


def _is_at(expr: Expr, array: str, at: tuple[Expr, ...]) -> bool:
    return isinstance(expr, Load) and expr.index == at and expr.array == array


def _are(product: Binary, one: tuple[str, tuple[Expr, ...]], other: tuple[str, tuple[Expr, ...]]) -> bool:
    """Whether a product is that of two elements, in either order."""
    left, right = product.left, product.right
    return (_is_at(left, *one) and _is_at(right, *other)) or (_is_at(left, *other) and _is_at(right, *one))
