"""Random nests of sums: updates of cells that fewer loops choose than are around them, in whatever order they may run.

Two to five loops around one or two updates, of one cell, of cells apart or of each other's; before, between and after
them, what sets a cell and what reads it.

>>> make_sums(1).kernel == make_sums(1).kernel
True
"""

from __future__ import annotations

import random

from tests.property.programs import FLOAT_REDUCE, INT_REDUCE, Program

from planish.ir.expr import Binary, BinaryOp, Const, Expr, Load, Var, index
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, ReduceOp, Stmt
from planish.ir.types import F64, I16, I32, I64, INDEX, Type

MOST_INSTANCES = 700
MIDDLE, EXTENT = 9, 30
"""What is added to subscripts so that none is negative, and the extent of every dimension."""


def make_sums(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(f"sums {seed}")
    type = rng.choice((I32, I32, I64, I16, F64))
    depth = rng.choice((2, 2, 3, 3, 4, 5))
    names = tuple(f"i{d}" for d in range(depth))
    widest = max(2, min(9, int(MOST_INSTANCES ** (1 / depth))))
    size = rng.randint(2, widest)
    arrays = {name: rng.choice((0, 1, 1, 2, 2)) for name in ("A", "B", "C")}
    updates = rng.choice((1, 1, 2)) if depth < 4 else 1
    body: Block = Block(tuple(_statement(rng, type, arrays, names) for _ in range(updates)))
    for d in reversed(range(depth)):
        upper: Expr = Var("n", INDEX) if rng.random() < 0.6 else index(rng.randint(2, widest))
        lower: Expr = Var(rng.choice(names[:d]), INDEX) if d and rng.random() < 0.1 else index(0)
        stmts: list[Stmt] = [For(names[d], lower, upper, 1, body)]
        if rng.random() < 0.6 / depth:
            stmts.insert(rng.randint(0, 1), _statement(rng, type, arrays, names[:d]))
        body = Block(tuple(stmts))
    shapes = tuple(Array(n, type, (index(EXTENT),) * rank, distinct=True) for n, rank in arrays.items())
    sizes = tuple({"n": x} for x in (size, 0, rng.randint(1, size)))
    return Program(seed, Kernel("sums", ("n",), (), shapes, body), sizes)


def _statement(rng: random.Random, type: Type, arrays: dict[str, int], names: tuple[str, ...]) -> Stmt:
    target = rng.choice(("A", "A", "B"))
    where = _subscripts(rng, arrays[target], names)
    value: Expr = Load(source := rng.choice(("B", "C", "C")), _subscripts(rng, arrays[source], names), type)
    if rng.random() < 0.5:
        other = rng.choice(("A", "B", "C", "C"))
        ops: tuple[BinaryOp, ...] = ("add", "sub", "max") if type.is_float else ("add", "sub", "mul", "max")
        op = rng.choice(ops)
        value = Binary(op, value, Load(other, _subscripts(rng, arrays[other], names), type))
    if rng.random() < 0.15:
        return Assign(target, where, value if rng.random() < 0.7 else Const(1.0 if type.is_float else 1, type))
    kinds: tuple[ReduceOp, ...] = ("add",) if rng.random() < 0.6 else FLOAT_REDUCE if type.is_float else INT_REDUCE
    return Reduce(target, where, rng.choice(kinds), value)


def _subscripts(rng: random.Random, rank: int, names: tuple[str, ...]) -> tuple[Expr, ...]:
    return tuple(Binary("add", _subscript(rng, names), index(MIDDLE)) for _ in range(rank))


def _subscript(rng: random.Random, names: tuple[str, ...]) -> Expr:
    """An iterator, the sum or difference of two, half of one, or a number."""
    roll = rng.random()
    if not names or roll < 0.08:
        return index(rng.randint(-2, 3))
    first: Expr = Var(rng.choice(names), INDEX)
    if roll < 0.6:
        return first
    if roll < 0.7:
        return Binary("floordiv", first, index(2))
    if roll < 0.78:
        return Binary("add", first, index(rng.choice((-1, 1, 2))))
    signs: tuple[BinaryOp, ...] = ("add", "add", "sub")
    return Binary(rng.choice(signs), first, Var(rng.choice(names), INDEX))
