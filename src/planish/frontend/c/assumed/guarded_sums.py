"""Sums in memory that data decide whether anything is added to: kept in a cell of the nest, and added once, if at all.

Before: for (i = 0; i < n; i++) if (a[i] > x) (*count)++;
After:  int c = 0; for (i = 0; i < n; i++) c += a[i] > x; if (c != 0) *count += c;

Nothing is read or stored where the user's program does not do so.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.ir.text.printer import print_stmt
>>> text = "void f(int n, const int *a, int *count) { for (int i = 0; i < n; i++) if (a[i] > 9) *count += a[i]; }"
>>> region, = read_c(Source("f.c", text)).functions[0].regions
>>> for x in region.kernel.body.body[2:]: print(print_stmt(x).rstrip())
for i in 0 .. n {
  count_sum[] += select(a[i] > 9:i32, a[i], 0:i32)
}
count[0] = select(count_sum[] != 0:i32, i32(u32(count[0]) + u32(count_sum[])), count[0])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Unary, type_of
from planish.ir.nest import Alloc, Array, Assign, Block, For, Reduce, Stmt
from planish.ir.traverse import arrays_in, expressions, loads, map_block, walk
from planish.ir.types import I32, I64, U32, U64, Type


def sum_apart(body: Block, arrays: Iterable[str], fresh: Callable[[str], str]) -> Block:
    """The body with sums of integers to one element, of a constant place, of each of some arrays in cells of their own,
    where it does nothing else with the array. `fresh` makes names."""
    for array in arrays:
        body = _with_cell(body, array, fresh)
    return body


def _with_cell(body: Block, array: str, fresh: Callable[[str], str]) -> Block:
    touching = [n for n, x in enumerate(body.body) if any(array in arrays_in(y) for y in walk(x))]
    places = {x.index for x in walk(body) if isinstance(x, Assign) and x.array == array}
    if len(places) != 1 or not all(isinstance(body.body[n], For) for n in touching):
        return body
    (place,) = places
    if not all(isinstance(x, Const) for x in place):
        return body
    inside = [y for n in touching for y in walk(body.body[n])]
    stmts = [y for y in inside if isinstance(y, Assign | Reduce) and y.array == array]
    added = [_added(x, array) for x in stmts]
    reads = sum(y.array == array for x in inside for e in expressions(x) for y in loads(e))
    if None in added or reads != 2 * len(stmts):
        return body
    type = type_of(stmts[0].value)
    cell = fresh(f"{array}_sum")

    def summed(x: Stmt) -> Stmt:
        term = _added(x, array)
        return x if term is None or not isinstance(x, Assign) else Reduce(cell, (), "add", term, x.span)

    loops = map_block(summed, Block(body.body[touching[0] : touching[-1] + 1]))
    own, total = Load(array, place, type), Load(cell, (), type)
    value = Select(Compare("ne", total, Const(0, type)), _wrapping_sum(own, total, type), own)
    first = stmts[0].span
    begun = (Alloc(Array(cell, type, (), True, "register"), first), Assign(cell, (), Const(0, type), first))
    behind = Assign(array, place, value, first)
    return Block((*body.body[: touching[0]], *begun, *loops.body, behind, *body.body[touching[-1] + 1 :]))


def _added(x: Stmt, array: str) -> Expr | None:
    """What a statement adds to an element, 0 where a condition does not hold; None for another one."""
    match x:
        case Assign(
            array=name, index=place,
            value=Select(condition=test, then=Binary(op="add" | "sub" as op, left=own, right=term), otherwise=same),
        ) if name == array and type_of(term).is_int and own == same == Load(name, place, type_of(term)):  # fmt: skip
            nothing = Const(0, type_of(term))
            return Select(test, term if op == "add" else Unary("neg", term), nothing)
        case _:
            return None


def _wrapping_sum(a: Expr, b: Expr, type: Type) -> Expr:
    """A sum that the user's program does not compute: on the way there, what is added may have wrapped around."""
    unsigned = {I32: U32, I64: U64}.get(type)
    if unsigned is None:
        return Binary("add", a, b)
    return Cast(Binary("add", Cast(a, unsigned), Cast(b, unsigned)), type)
