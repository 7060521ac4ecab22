"""How much there is of a block: as much as of all others, or less where a loop over blocks ends.

>>> from planish.ir.text.parser import parse_expr, parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> (loop,) = parse_kernel("kernel f(n; A: f32[n]) { for b in 0 .. 3 { A[b] = 0.0:f32 } }").body.body
>>> [print_expr(in_cases(parse_expr(x), [loop])) for x in ("min(96, 250 - 96 * b)", "select(b == 2, 58, 96)", "2 * b")]
['select(b < 2, 96, 58)', 'select(b < 2, 96, 58)', '2 * b']
"""

from __future__ import annotations

from collections.abc import Sequence

from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.index.polynomial import constant, linear_in, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Stmt
from planish.ir.traverse import children, substitute, variables, walk_expr, with_children
from planish.ir.types import INDEX

MOST_BLOCKS = 4096
"""So many blocks of a loop are looked at one by one."""


def in_cases(x: Expr, loops: Sequence[For]) -> Expr:
    """A number as a choice between that of all blocks of a loop but the last one, and that of the last one; as it is
    where it depends on no loop in that way, or on several."""
    x = simplify(x)
    own = [y for y in loops if y.var in variables(x)]
    if len(own) != 1 or not any(isinstance(y, Binary | Select) and _is_choice(y) for y in walk_expr(x)):
        return x
    (loop,) = own
    last = sub(loop.upper, index(1))
    whole = _whole(x, loop)
    if whole is None:
        return x
    tail = simplify(substitute(x, {loop.var: last}))
    if whole == tail:
        return whole
    return Select(Compare("lt", Var(loop.var, INDEX), simplify(last)), whole, tail)


def _is_choice(x: Binary | Select) -> bool:
    return isinstance(x, Select) or x.op in ("min", "max")


def _whole(x: Expr, loop: For) -> Expr | None:
    """What a number is for all blocks but the last one; None where that is not known to be one number."""
    trip = constant(sub(loop.upper, loop.lower))
    if trip is not None and trip <= MOST_BLOCKS and constant(loop.lower) == 0:
        values = [constant(simplify(substitute(x, {loop.var: index(n)}))) for n in range(trip - 1)]
        if all(y is not None and y == values[0] for y in values):
            return simplify(substitute(x, {loop.var: index(0)}))
    match x:
        case Binary(op="min", left=a, right=b):
            # A block that is not the last one is whole: what ends with the loop is beyond it.
            for held, other in ((a, b), (b, a)):
                parted = linear_in(other, loop.var)
                if isinstance(held, Const) and parted is not None and parted[0]:
                    return held
            return None
        case _ if not any(isinstance(y, Binary | Select) and _is_choice(y) for y in walk_expr(x)):
            return x if loop.var not in variables(x) else None
        case Select():
            return None
        case _:
            parts = [_whole(y, loop) for y in children(x)]
            return None if any(y is None for y in parts) else simplify(with_children(x, tuple(y for y in parts if y)))


def in_cell(name: str, x: Expr) -> tuple[list[Stmt], Expr]:
    """Statements that put a number into a cell, and what stands for it then; none where it is a constant, or a plain
    name."""
    if isinstance(x, Const | Var):
        return [], x
    made: list[Stmt] = [Alloc(Array(name, INDEX, (), memory="register"))]
    match x:
        case Select(condition=condition, then=then, otherwise=otherwise):
            made += [Assign(name, (), otherwise), If(condition, Block((Assign(name, (), then),)))]
        case _:
            made.append(Assign(name, (), x))
    return made, Load(name, (), INDEX)


def whole_of(x: Expr) -> Expr:
    """What a number is for whole blocks."""
    return x.then if isinstance(x, Select) else x


def mapped(x: Expr, values: dict[str, Expr]) -> Expr:
    """An expression over numbers that are choices, as a choice where all of them are of one condition."""
    chosen = [values[y] for y in variables(x) if y in values and isinstance(values[y], Select)]
    conditions = {y.condition for y in chosen if isinstance(y, Select)}
    if len(conditions) != 1:
        return simplify(substitute(x, values))
    (condition,) = conditions
    then = {n: whole_of(y) for n, y in values.items()}
    otherwise = {n: y.otherwise if isinstance(y, Select) else y for n, y in values.items()}
    return Select(condition, simplify(substitute(x, then)), simplify(substitute(x, otherwise)))
