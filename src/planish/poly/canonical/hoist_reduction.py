"""Loop-invariant reductions: a sum into a local array that is the same in every iteration is computed in the first one
only.

Before: for i { for c { xx[i, c] = 0;  for d { xx[i, c] += x[i, d] * x[i, d] };  D[i, c] = xx[i, c] } }
After:  for i { for c { if c == 0 { xx[i] = 0;  for d { xx[i] += x[i, d] * x[i, d] } };  D[i, c] = xx[i] } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "alloc s: f64[n] for i in 0 .. n { s[i] = 0.0 for d in 0 .. m { s[i] += x[d] } y[i] = s[i] }"
>>> print(print_stmt(compute_once(parse_kernel("kernel k(n, m; x: f64[m], y: f64[n]) { " + text + " }")).body))
{
  alloc s: f64[]
  for i in 0 .. n {
    if i == 0 {
      s[] = 0.0:f64
    }
    for d in 0 .. m {
      if i == 0 {
        s[] += x[d]
      }
    }
    y[i] = s[]
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from planish.ir.expr import Compare, Expr, Load, Var
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import expressions, loads, map_block, map_expr, map_exprs, variables, walk
from planish.ir.types import INDEX

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class _Use:
    """A statement that uses an array: the loops and conditions around it, outer ones first."""

    stmt: Stmt
    around: tuple[For | If, ...]
    writes: bool
    cells: tuple[tuple[Expr, ...], ...]


def compute_once(kernel: Kernel) -> Kernel:
    """The kernel with such sums; the same one where there are none."""
    while (fresh := _lower_one(kernel)) is not None:
        kernel = fresh
    return kernel


def _lower_one(kernel: Kernel) -> Kernel | None:
    for array in [x.array for x in walk(kernel.body) if isinstance(x, Alloc)]:
        uses = list(_uses(kernel.body, array.name, ()))
        for dim in range(len(array.shape)):
            loop = _loop_of(uses, dim)
            if loop is not None and _is_repeated(array.name, uses, dim, loop):
                return _without(kernel, array, dim, loop)
    return None


def _uses(stmt: Stmt, array: str, around: tuple[For | If, ...]) -> Iterator[_Use]:
    own = tuple(x.index for e in expressions(stmt) for x in loads(e) if x.array == array)
    match stmt:
        case Assign() | Reduce():
            writes = stmt.array == array
            if writes or own:
                yield _Use(stmt, around, writes, (*own, *((stmt.index,) if writes else ())))
        case Block(body=body):
            for x in body:
                yield from _uses(x, array, around)
        case For() | If():
            if own:
                yield _Use(stmt, around, False, own)
            inside = (*around, stmt)
            for block in (stmt.body,) if isinstance(stmt, For) else (stmt.then, stmt.otherwise):
                yield from _uses(block, array, inside)
        case Alloc() | Let():
            if own:
                yield _Use(stmt, around, False, own)
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
        case _:
            assert_never(stmt)


def _goes_along(name: str, uses: list[_Use]) -> bool:
    """Whether each iteration of a loop has elements of its own: its counter is the same subscript of every use."""
    cells = [cell for use in uses for cell in use.cells]
    return any(all(x == Var(name, INDEX) for x in column) for column in zip(*cells, strict=True))


def _loop_of(uses: list[_Use], dim: int) -> For | None:
    """The loop whose counter is this subscript of every use, if there is one."""
    cells = [cell for use in uses for cell in use.cells]
    name = cells[0][dim] if cells else None
    if not isinstance(name, Var) or any(cell[dim] != name for cell in cells):
        return None
    loops = [next((x for x in use.around if isinstance(x, For) and x.var == name.name), None) for use in uses]
    return loops[0] if loops[0] is not None and all(x is loops[0] for x in loops) else None


def _is_repeated(array: str, uses: list[_Use], dim: int, loop: For) -> bool:
    """Whether every iteration of the loop computes the same, in a loop of its own, before the first use."""
    # What an element keeps from one iteration of a loop around to the next is the same only if it is in all of them.
    outer = uses[0].around[: _depth(uses[0], loop)]
    carried = {x.var for x in outer if isinstance(x, For) and not _goes_along(x.var, uses)}
    if carried & (variables(loop.lower) | variables(loop.upper)):
        return False
    changed = {x.array for x in walk(loop.body) if isinstance(x, Assign | Reduce)}
    named = {x.var for x in walk(loop.body) if isinstance(x, Let)}
    writes = [x for x in uses if x.writes]
    for use in writes:
        assert isinstance(use.stmt, Assign | Reduce)
        inside = use.around[_depth(use, loop) + 1 :]
        cells = [x for cell in use.cells for x in _cut(cell, dim)]
        own = [*cells, *(e for x in inside for e in expressions(x)), _without_own(use.stmt)]
        if any({loop.var, *named} & variables(x) for x in own):
            return False
        if any(y.array in changed - {use.stmt.array} for x in own for y in loads(x)):
            return False
    # What is no sum costs nothing.
    sums = any(isinstance(x.stmt, Reduce) and _own_loops(x, loop) for x in writes)
    fresh = any(isinstance(x, Alloc) and x.array.name == array for x in walk(loop.body))
    return sums and not fresh and _is_ready(array, loop)


def _cut(index: tuple[_Part, ...], dim: int) -> tuple[_Part, ...]:
    return index[:dim] + index[dim + 1 :]


def _without_own(stmt: Assign | Reduce) -> Expr:
    """What is stored, but for the array's old values."""

    def blank(expr: Expr) -> Expr:
        return Load(stmt.array, (), expr.type) if isinstance(expr, Load) and expr.array == stmt.array else expr

    return map_expr(blank, stmt.value)


def _own_loops(use: _Use, loop: For) -> bool:
    """Whether a statement is in a loop, inside of the other one, that the array does not go along with."""
    vars = {x.name for cell in use.cells for x in cell if isinstance(x, Var)}
    return any(isinstance(x, For) and x.var not in vars for x in use.around[_depth(use, loop) + 1 :])


def _depth(use: _Use, loop: For) -> int:
    return next(n for n, x in enumerate(use.around) if x is loop)


def _is_ready(array: str, loop: For) -> bool:
    """Whether each element has its last value before it is used: in a block that all uses are in, of loops that go
    along with the elements, what writes stands before what reads."""
    block = loop.body
    while len(parts := [(x, y) for x in block.body if (y := list(_uses(x, array, ())))]) == 1:
        inner, uses = parts[0]
        own = any(x.stmt is inner for x in uses)
        match inner:
            case Block():
                block = inner
            case If(then=then, otherwise=otherwise) if not own and not any(_uses(otherwise, array, ())):
                block = then
            case For(var=var, body=body) if not own and _goes_along(var, uses):
                block = body
            case _:
                return False
    stored = [n for n, (_, uses) in enumerate(parts) if any(x.writes for x in uses)]
    read = [n for n, (_, uses) in enumerate(parts) if not all(x.writes for x in uses)]
    return bool(stored) and (not read or max(stored) < min(read))


def _without(kernel: Kernel, array: Array, dim: int, loop: For) -> Kernel:
    """The kernel where an array has one dimension less, and is written in the first iteration of a loop."""

    def load(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array == array.name:
            return replace(expr, index=_cut(expr.index, dim))
        return expr

    def lowered(stmt: Stmt) -> Stmt:
        stmt = map_exprs(lambda x: map_expr(load, x), stmt)
        match stmt:
            case Alloc(array=own) if own.name == array.name:
                return replace(stmt, array=replace(array, shape=_cut(array.shape, dim)))
            case Assign() | Reduce() if stmt.array == array.name:
                first = Compare("eq", Var(loop.var, INDEX), loop.lower)
                return If(first, Block((replace(stmt, index=_cut(stmt.index, dim)),)))
            case _:
                return stmt

    return replace(kernel, body=map_block(lowered, kernel.body))
