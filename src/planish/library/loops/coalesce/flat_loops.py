"""Loops that may be coalesced: over rows of few columns, and over elements with subscripts modulo a number.

>>> from planish.ir.text.parser import parse_kernel
>>> text = '''kernel k(n; A: u8[n, 3], b: u8[3]) {
...   for i in 0 .. n { for c in 0 .. 3 { A[i, c] = A[i, c] ^ b[c] } } }'''
>>> kernel = with_flat_rows(parse_kernel(text))
>>> (found,) = find_flat_loops(kernel)
>>> found.row, found.column, found.period.value
('i', 'c', 3)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from planish.core.names import free_name
from planish.ir.accesses import accesses, map_accesses, map_values, values
from planish.ir.expr import Binary, Const, Expr, Load, Var, index
from planish.ir.index.polynomial import add, constant, mul, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Stmt
from planish.ir.traverse import blocks_of, used_names, variables, walk
from planish.ir.types import INDEX
from planish.library.loops.vector_strips.straight_line import NotStraight, straight_line
from planish.library.loops.vector_strips.strip_nest import is_only_in

MOST_COLUMNS = 64
"""Longer rows fill vectors by themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatLoop:
    """A loop over rows of `period` columns each, or over elements whose `column` is what they are modulo `period`.

    `stmt` is what it stands for; `row`: its iterator where there are rows, and `element` where there are none. `body`:
    what an iteration assigns, in these names and `column`; `own`: the arrays that nothing else uses; `taken`: names
    that are none of new ones."""

    stmt: For
    row: str
    element: str
    column: str
    period: Expr
    body: tuple[Let | Assign, ...]
    own: frozenset[str]
    taken: frozenset[str]

    @property
    def written(self) -> frozenset[str]:
        """The arrays that are assigned to."""
        return frozenset(x.array for x in self.body if isinstance(x, Assign))

    @property
    def count(self) -> Expr:
        """How many rows there are, or elements."""
        return simplify(sub(self.stmt.upper, self.stmt.lower))

    @property
    def place(self) -> Expr:
        """The number of an element, in the names of an iteration."""
        if self.element:
            return Var(self.element, INDEX)
        return add(mul(Var(self.row, INDEX), self.period), Var(self.column, INDEX))

    @property
    def first(self) -> Expr:
        """The number of the first element."""
        return self.stmt.lower if self.element else simplify(mul(self.stmt.lower, self.period))


def with_flat_rows(kernel: Kernel) -> Kernel:
    """The kernel with arrays in one dimension less whose rows a loop over rows runs through from end to end: a row is
    followed by the next one."""
    flat: dict[str, Array] = {}
    for x in walk(kernel.body):
        if not isinstance(x, For) or (rows := _rows_of(x, kernel)) is None:
            continue
        for array in kernel.arrays:
            if _is_run_through(array, x, rows):
                leading = array.shape[-2]
                extent = None if leading is None else simplify(mul(leading, rows.upper))
                flat[array.name] = replace(array, shape=(*array.shape[:-2], extent))
    if not flat:
        return kernel
    widths = {x.name: width for x in kernel.arrays if (width := x.shape[-1] if x.shape else None) is not None}
    arrays = tuple(flat.get(x.name, x) for x in kernel.arrays)
    placed = {x: widths[x] for x in flat}
    return replace(kernel, arrays=arrays, body=with_joined_ends(kernel.body, placed))


def find_flat_loops(kernel: Kernel) -> Iterator[FlatLoop]:
    """The loops that may be coalesced, none in another one."""
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    yield from _find(kernel, kernel.body, local)


def _find(kernel: Kernel, block: Block, local: Collection[str]) -> Iterator[FlatLoop]:
    for x in block.body:
        found = None
        if isinstance(x, For) and x.step == 1:
            found = _over_rows(kernel, x, local) or _over_elements(kernel, x, local)
        if found is not None:
            yield found
            continue
        for inner in blocks_of(x):
            yield from _find(kernel, inner, local)


def _rows_of(stmt: For, kernel: Kernel) -> For | None:
    """The loop over all columns of a row that is all there is in a loop over rows."""
    if len(stmt.body.body) != 1 or stmt.step != 1:
        return None
    (inner,) = stmt.body.body
    if not isinstance(inner, For) or inner.step != 1 or inner.lower != index(0):
        return None
    width = inner.upper
    if isinstance(width, Const):
        return inner if 2 <= width.value <= MOST_COLUMNS else None
    return inner if isinstance(width, Var) and width.name in kernel.sizes else None


def _is_run_through(array: Array, stmt: For, rows: For) -> bool:
    """Whether all that a loop over rows touches of an array is the element of its row and column."""
    if len(array.shape) < 2 or array.shape[-1] != rows.upper:
        return False
    places = [x.index for x in accesses(stmt) if x.array == array.name]
    ends = (Var(stmt.var, INDEX), Var(rows.var, INDEX))
    return any(x[-1] == ends[1] and ends[0].name in variables(x[-2]) for x in places)


def with_joined_ends(block: Block, widths: Mapping[str, Expr]) -> Block:
    """A nest in which the last two dimensions of some arrays are one; `widths`: the last extents that these had."""

    def placed(x: Load) -> Load:
        if x.array not in widths:
            return x
        return replace(x, index=(*x.index[:-2], simplify(add(mul(x.index[-2], widths[x.array]), x.index[-1]))))

    return map_accesses(placed, block)


def _over_rows(kernel: Kernel, stmt: For, local: Collection[str]) -> FlatLoop | None:
    inner = _rows_of(stmt, kernel)
    if inner is None:
        return None
    found = _iteration(kernel, stmt, inner, local)
    if found is None:
        return None
    body, own = found
    return FlatLoop(stmt, stmt.var, "", inner.var, inner.upper, body, own, _taken(kernel, body))


def _over_elements(kernel: Kernel, stmt: For, local: Collection[str]) -> FlatLoop | None:
    if not _divisors(stmt, stmt.var):
        return None
    found = _iteration(kernel, stmt, stmt, local)
    if found is None:
        return None
    body, own = found
    divisors = _divisors(Block(body), stmt.var)
    if len(divisors) != 1:
        return None
    (divisor,) = divisors
    taken = _taken(kernel, body)
    column = free_name(f"{stmt.var}_column", taken)

    def named(x: Expr) -> Expr:
        return Var(column, INDEX) if _divisor(x, stmt.var) else x

    plain = tuple(x for x in map_values(named, Block(body)).body if isinstance(x, Let | Assign))
    return FlatLoop(stmt, "", stmt.var, column, index(divisor), plain, own, taken | {column})


def _taken(kernel: Kernel, body: Collection[Let | Assign]) -> frozenset[str]:
    return used_names(kernel) | {x.var for x in body if isinstance(x, Let)}


def _divisors(stmt: Stmt, name: str) -> set[int]:
    """The numbers that a statement has the remainder of a name by, if there are enough of them for a row."""
    return {by for x in values(stmt) if (by := _divisor(x, name))}


def _divisor(x: Expr, name: str) -> int:
    """What an expression is the remainder of a name by; 0 where it is none, or rows would be long."""
    if not isinstance(x, Binary) or x.op != "mod" or x.left != Var(name, INDEX):
        return 0
    by = constant(x.right) or 0
    return by if 2 <= by <= MOST_COLUMNS else 0


def _iteration(
    kernel: Kernel, stmt: For, loop: For, local: Collection[str]
) -> tuple[tuple[Let | Assign, ...], frozenset[str]] | None:
    """An iteration of the inner loop as straight-line code, and the arrays that nothing else uses."""
    if any(isinstance(x, For) for y in loop.body.body for x in walk(y)):
        return None
    own = frozenset(x for x in local if is_only_in(kernel, stmt, x))
    try:
        body = straight_line(loop.body, own, used_names(kernel), {x.name: x for x in kernel.arrays if x.values})
    except NotStraight:
        return None
    return (body, own) if any(isinstance(x, Assign) for x in body) else None
