"""Recognises elimination with row pivoting (LU with partial pivoting): the statements of a step, and that there are no
others.

A step k chooses the row p, by whatever it finds in column k; swaps the rows k and p, makes multipliers of the column,
and takes multiples of row k off the rows below:

>>> from planish.ir.text.parser import parse_kernel
>>> choose = "p[] = i32(k) for i in k + 1 .. n { p[] = select(fabs(A[i, k]) > fabs(A[k, k]), i32(i), p[]) }"
>>> to = "A[k, j] = select(p[] == i32(r), A[r, j], A[k, j]) A[r, j] = select(p[] == i32(r), t[], A[r, j])"
>>> swap = "for r in k .. n { for j in 0 .. n { alloc t: f64[] t[] = A[k, j] %s } }" % to
>>> rest = "for j in k + 1 .. n { A[i, j] += -(A[i, k] * A[k, j]) }"
>>> below = "for i in k + 1 .. n { A[i, k] = A[i, k] / A[k, k] %s }" % rest
>>> step = f"for k in 0 .. n {{ alloc p: i32[] {choose} {swap} {below} }}"
>>> found = find_pivoting(parse_kernel(f"kernel lu(n; A: f64[n, n]) {{ {step} }}"))
>>> found.array, found.row, found.whole, len(found.before), len(found.after)
('A', 'p', True, 2, 1)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.ir.expr import Binary, Cast, Compare, Expr, Load, Select, Unary, Var, index
from planish.ir.index.polynomial import add, constant, names, same
from planish.ir.index.ranges import find_range
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import chained, flatten, walk
from planish.ir.types import F32, F64
from planish.poly.idioms.column_access import is_at_most, is_in_column, sets


@dataclass(frozen=True, slots=True)
class PartialPivoting:
    """Steps `var` from 0 up to `steps` on the `rows` and `columns` of an array.

    A step runs `before`, which sets the cell `row`, of a value from `var` up to below `rows`; swaps the rows `var` and
    `row`, all of them (`whole`) or from column `var` on; runs `after`; and takes A[i, var] A[var, j] off A[i, j], for
    all larger i and j. Of the array, `before` and `after` touch column `var` only. `cells`: those that the step has for
    itself. All expressions are over the kernel's sizes, and `steps` is no larger than `rows` and `columns`.
    """

    loop: For
    array: str
    row: str
    steps: Expr
    rows: Expr
    columns: Expr
    whole: bool
    before: tuple[Stmt, ...]
    after: tuple[Stmt, ...]
    cells: tuple[Array, ...]

    @property
    def var(self) -> str:
        """The name of the step's number."""
        return self.loop.var


@dataclass(frozen=True, slots=True)
class _Swap:
    """Rows that change places: row `var` and that which a cell says, which is one from `lower` up to below `upper`."""

    array: str
    row: str
    lower: Expr
    upper: Expr
    first: Expr
    columns: Expr


@dataclass(frozen=True, slots=True)
class _Update:
    """A[i, j] -= A[i, k] A[k, j] up to below so many rows and columns, and what makes the multipliers before it."""

    array: str
    rows: Expr
    columns: Expr
    before: tuple[Stmt, ...]


def find_pivoting(kernel: Kernel) -> PartialPivoting | None:
    """The elimination with a choice of rows that a kernel is, all of it; None where it is anything else.

    The array's subscripts have to be rows and columns already, and rows that data choose have to be searched for, as
    the front-end writes them."""
    match [x for x in flatten(kernel.body.body) if not isinstance(x, Alloc)]:
        case [For(step=1) as loop] if constant(loop.lower) == 0:
            pass
        case _:
            return None
    step = flatten(loop.body.body)
    cells = tuple(x.array for part in (kernel.body, loop.body) for x in walk(part) if isinstance(x, Alloc))
    cells = tuple(dict.fromkeys(cells))
    body = [x for x in step if not isinstance(x, Alloc)]
    at, swap = next(((n, y) for n, x in enumerate(body) if (y := _swap(x, loop.var, body[:n])) is not None), (0, None))
    if swap is None:
        return None
    end, update = _last(body, at, loop.var, swap.array)
    types = {x.name: x.type for x in kernel.arrays}
    if update is None or types.get(swap.array) not in (F32, F64) or swap.row in types:
        return None
    if any(x.shape for x in cells) or len({x.name for x in cells}) < len(cells):
        return None
    before, after = tuple(body[:at]), (*body[at + 1 : end], *update.before, *body[end + 1 :])
    whole = constant(swap.first) == 0
    sizes = {*kernel.sizes}
    known = (loop.upper, update.rows, update.columns)
    chosen = find_range(loop.body, swap.row, (loop,))
    fits = chosen is not None and (
        (whole or same(swap.first, index(loop.var)))
        and all(names(x) <= sizes for x in known)
        and same(swap.columns, update.columns)
        and all(is_at_most(loop.upper, x) for x in known)
        and same(chosen[0], swap.lower)
        and same(chosen[1], swap.upper)
        and is_at_most(index(loop.var), swap.lower)
        and is_at_most(swap.upper, update.rows)
    )
    in_column = all(is_in_column(x, swap.array, loop, index(loop.var), update.rows) for x in (*before, *after))
    if not fits or not in_column or not sets(before, swap.row) or sets(after, swap.row):
        return None
    return PartialPivoting(loop, swap.array, swap.row, *known, whole, before, after, _plain(cells))


def _plain(cells: Iterable[Array]) -> tuple[Array, ...]:
    return tuple(replace(x, memory="register") for x in cells)


def _one(block: Block) -> Stmt | None:
    """The only statement of a block."""
    body = flatten(block.body)
    return body[0] if len(body) == 1 else None


def _swap(stmt: Stmt, var: str, before: Sequence[Stmt]) -> _Swap | None:
    """The swap that a nest is: of each row that may be the one, and each column."""
    match stmt:
        case For(step=1) as rows:
            pass
        case _:
            return None
    match _one(rows.body):
        case For(step=1) as columns:
            body = [x for x in flatten(columns.body.body) if not isinstance(x, Alloc)]
        case _:
            return None
    if not all(isinstance(x, Assign) for x in body) or rows.var in names(columns.lower) | names(columns.upper):
        return None
    assigned = [x for x in body if isinstance(x, Assign)]
    arrays = {x.array for x in assigned if x.index}
    test = next((x.value.condition for x in assigned if x.index and isinstance(x.value, Select)), None)
    if len(arrays) != 1 or test is None:
        return None
    array = arrays.pop()
    row = _chosen_by(test, rows.var, var, before)
    places = {"k": (index(var), index(columns.var)), "r": (index(rows.var), index(columns.var))}
    if row is None or row == array or row in {x.array for x in assigned}:
        return None
    for decision, expected in ((True, {"k": "r", "r": "k"}), (False, {"k": "k", "r": "r"})):
        if _moved(assigned, array, places, test, decision) != expected:
            return None
    return _Swap(array, row, rows.lower, rows.upper, columns.lower, columns.upper)


def _chosen_by(test: Expr, candidate: str, var: str, before: Sequence[Stmt]) -> str | None:
    """The cell that says whether a row is the one. What else is asked holds wherever the row is another one than
    `var`: to swap a row with itself does nothing."""
    row = None
    others = []
    for part in chained(test, "and"):
        match part:
            case Compare(op="eq", left=Load(array=name, index=()), right=Cast(operand=Var(name=x))) if x == candidate:
                row = name
            case _:
                others.append(part)
    return row if row is not None and all(_is_another(x, row, var, before) for x in others) else None


def _is_another(test: Expr, row: str, var: str, before: Sequence[Stmt]) -> bool:
    """Whether a condition says that the chosen row is another one than `var`."""
    match test:
        case Load(array=name, index=()):
            # What was asked before is kept in a cell.
            setting = [n for n, x in enumerate(before) if sets([x], name)]
            if not setting or sets(before[setting[-1] :], row):
                return False
            last = before[setting[-1]]
            return isinstance(last, Assign) and _is_another(last.value, row, var, ())
        case Compare(op="ne", left=Load(array=name, index=()), right=Cast(operand=Var(name=x))):
            return name == row and x == var
        case Compare(op="ne", left=Cast(operand=Var(name=x)), right=Load(array=name, index=())):
            return name == row and x == var
        case _:
            return False


def _moved(
    assigned: Sequence[Assign], array: str, places: Mapping[str, tuple[Expr, ...]], test: Expr, decision: bool
) -> Mapping[str, str] | None:
    """Which of two elements each of them becomes; None where it becomes anything else."""
    held: dict[str, str] = {x: x for x in places}
    cells: dict[str, str] = {}

    def place_of(at: tuple[Expr, ...]) -> str | None:
        return next((x for x, y in places.items() if len(at) == len(y) and all(map(same, at, y))), None)

    def value_of(value: Expr) -> str | None:
        match value:
            case Select(condition=condition) if condition == test:
                return value_of(value.then if decision else value.otherwise)
            case Load(array=name, index=()):
                return cells.get(name)
            case Load(array=name, index=at) if name == array:
                place = place_of(at)
                return held[place] if place is not None else None
            case _:
                return None

    for stmt in assigned:
        value = value_of(stmt.value)
        if value is None:
            return None
        if stmt.array == array:
            place = place_of(stmt.index)
            if place is None:
                return None
            held[place] = value
        elif stmt.index:
            return None
        else:
            cells[stmt.array] = value
    return held


def _last(body: Sequence[Stmt], swap: int, var: str, array: str) -> tuple[int, _Update | None]:
    """The update and its place among the statements of a step. What comes after it may as well come before it: it does
    not store to the matrix, and reads nothing that the update changes."""
    stores = [n for n, x in enumerate(body) if sets([x], array)]
    at = stores[-1] if stores else 0
    return at, _update(body[at], var, array) if at > swap else None


def _update(stmt: Stmt, var: str, array: str) -> _Update | None:
    """The update that a nest is, with what else is done for each row: all of that may be done before it."""
    match stmt:
        case For(step=1) as outer:
            body = [x for x in flatten(outer.body.body) if not isinstance(x, Alloc)]
        case _:
            return None
    at = max((n for n, x in enumerate(body) if isinstance(x, For) and sets([x], array)), default=0)
    last, later, others = body[at], body[at + 1 :], [*body[:at], *body[at + 1 :]]
    match last:
        case For(step=1) as inner:
            deepest = _one(inner.body)
        case _:
            return None
    below = add(index(var), index(1))
    if not same(outer.lower, below) or not same(inner.lower, below) or outer.var in names(inner.upper):
        return None
    match deepest:
        case Reduce(op="add", array=name, index=(Var(name=i), Var(name=j))) as update if name == array:
            pass
        case _:
            return None
    if {i, j} != {outer.var, inner.var} or (len(body) > 1 and i != outer.var):
        return None
    # What the multiplier is stays so, and what holds it, where it is read, is not yet another one.
    cells = {x for x in _multipliers(others, array, (index(i), index(var))) if not sets(later, x)}
    stored = not sets(later, array)
    rows, columns = (outer, inner) if i == outer.var else (inner, outer)
    if not _takes_off(update.value, array, (i, var, j), cells, stored) or not _stay_in_row(others, array, i):
        return None
    before = Block(tuple(x for x in flatten(outer.body.body) if x is not last))
    return _Update(array, rows.upper, columns.upper, (replace(outer, body=before),) if len(body) > 1 else ())


def _takes_off(value: Expr, array: str, at: tuple[str, str, str], cells: set[str], stored: bool) -> bool:
    """Whether -(A[i, k] A[k, j]) is added, where cells may hold the first factor, and the array does if it is `stored`
    already."""
    i, k, j = at
    match value:
        case Unary(op="neg", operand=Binary(op="mul", left=left, right=right)):
            pass
        case Binary(op="mul", left=Unary(op="neg", operand=left), right=right):
            pass
        case Binary(op="mul", left=left, right=Unary(op="neg", operand=right)):
            pass
        case _:
            return False

    def is_multiplier(x: Expr) -> bool:
        return (stored and _is_element(x, array, i, k)) or _is_cell(x, cells)

    if is_multiplier(right):
        left, right = right, left
    return is_multiplier(left) and _is_element(right, array, k, j)


def _is_element(expr: Expr, array: str, row: str, column: str) -> bool:
    return isinstance(expr, Load) and expr.array == array and expr.index == (index(row), index(column))


def _is_cell(expr: Expr, cells: set[str]) -> bool:
    return isinstance(expr, Load) and not expr.index and expr.array in cells


def _multipliers(first: Sequence[Stmt], array: str, at: tuple[Expr, ...]) -> Iterator[str]:
    """The cells that hold an element after some statements."""
    for n, stmt in enumerate(first):
        match stmt:
            case Assign(array=name, index=place, value=Load(array=cell, index=())) if name == array and place == at:
                pass
            case Assign(array=cell, index=(), value=Load(array=name, index=place)) if name == array and place == at:
                pass
            case _:
                continue
        if not sets(first[n + 1 :], cell) and not sets(first[n + 1 :], array):
            yield cell


def _stay_in_row(first: Sequence[Stmt], array: str, row: str) -> bool:
    """Whether of an array one row at most is stored to: what is done for other rows is then none of its business."""
    stored = (x for stmt in first for x in walk(stmt) if isinstance(x, Assign | Reduce) and x.array == array)
    return all(x.index[0] == index(row) for x in stored)
