"""Rows in vector registers: which parts instructions load, multiply and store, whole or masked.

>>> from planish.ir.text.printer import print_stmt
>>> from planish.ir.types import F64
>>> from planish.library.kernels.vectors import find_vectors
>>> rows = RegisterRows(find_vectors("avx2", F64), {"w"})
>>> row = rows.take("row", 2)
>>> print(print_stmt(rows.scale(row, 1, Const(0.5, F64), row, 0)))
for lane in 0 .. 4 as avx2_fmadd_scalar_f64 {
  row[1, lane] += 0.5:f64 * row[0, lane]
}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, index
from planish.ir.index.polynomial import add, floordiv, mul, place, sub
from planish.ir.nest import Array, Assign, Block, For, If, LoopFacts, Reduce, Stmt
from planish.library.kernels.vectors import Vectors

Step = Callable[[Expr, Expr | None], list[Stmt]]
"""What is done with the elements of rows in a register: from which place on, and with how many where not with all."""
Singly = Callable[[Expr], list[Stmt]]
"""What is done with the elements at one place."""
AT_ONCE = 4
"""So many registers are added up by one instruction, where there is one."""


class RegisterRows:
    """The statements over registers of some vectors; names that are made are `taken` then."""

    def __init__(self, vectors: Vectors, taken: set[str]) -> None:
        self.vectors, self.taken = vectors, taken
        self.lane = take_name("lane", taken)

    def take(self, name: str, count: int) -> Array:
        """So many registers under one name."""
        v = self.vectors
        return Array(take_name(name, self.taken), v.type, (index(count), index(v.lanes)), True, v.memory)

    def at(self, array: Array, number: int) -> Load:
        """A lane of a register."""
        return Load(array.name, (index(number), index(self.lane)), array.type)

    def clear(self, array: Array, number: int) -> Stmt:
        """A register set to zero."""
        return self.set(array, number, 0.0)

    def set(self, array: Array, number: int, value: float) -> Stmt:
        """A register with a number in all lanes."""
        return self._each(self._put(array, number, Const(value, array.type)), "set")

    def load(self, array: Array, number: int, row: Load, var: str, first: Expr, count: Expr | None = None) -> Stmt:
        """A register with the elements of a row from the `first` value of a variable on; with zeros from the one that
        is `count` after it on, where that is given."""
        source: Expr = self._moved(row, var, first)
        if count is not None:
            source = Select(Compare("lt", index(self.lane), count), source, Const(0.0, array.type))
        return self._each(self._put(array, number, source), "masked_load" if count is not None else "load")

    def store(self, array: Array, number: int, row: Load, var: str, first: Expr, count: Expr | None = None) -> Stmt:
        """The elements of a row from the `first` value of a variable on, or so many of them, from a register."""
        target = self._moved(row, var, first)
        copy = Assign(target.array, target.index, self.at(array, number))
        return self._each(copy, "masked_store" if count is not None else "store", count)

    def multiply(self, sums: Array, number: int, a: Load, b: Load) -> Stmt:
        """Products of two registers added to a third one."""
        product = Binary("mul", a, b)
        return self._each(Reduce(sums.name, self.at(sums, number).index, "add", product), "fmadd")

    def multiply_row(self, sums: Array, number: int, row: Load, var: str, first: Expr, other: Load) -> Stmt:
        """Products of a register and the elements of a row from the `first` value of a variable on, which are used only
        once, added to another register."""
        product = Binary("mul", self._moved(row, var, first), other)
        return self._each(Reduce(sums.name, self.at(sums, number).index, "add", product), "fmadd_from")

    def scale(self, sums: Array, number: int, factor: Expr, row: Array, other: int) -> Stmt:
        """A register, times a factor, added to another one."""
        product = Binary("mul", factor, self.at(row, other))
        return self._each(Reduce(sums.name, self.at(sums, number).index, "add", product), "fmadd_scalar")

    def add_up(self, sums: Array, totals: Array, count: int) -> list[Stmt]:
        """The lanes of some registers added to as many elements."""
        together = AT_ONCE if self.vectors.has("sums_to") else 1
        out: list[Stmt] = []
        for first in range(0, count, together):
            numbers = range(first, min(first + together, count))
            groups = [numbers] if len(numbers) == together else [range(n, n + 1) for n in numbers]
            out += [self._sum(sums, totals, x) for x in groups]
        return out

    def whole(self, inner: For, count: int = 1) -> Expr:
        """Up to where a loop over elements of rows fills registers, so many at a time."""
        lanes = index(count * self.vectors.lanes)
        return add(inner.lower, mul(lanes, floordiv(sub(inner.upper, inner.lower), lanes)))

    def along(self, inner: For, place: str, whole: str, step: Step, singly: Singly | None) -> list[Stmt]:
        """Register-wise statements over rows up to `whole`, and the remainder in a partial register or one by one;
        `place`: the variable of the loops that are made."""
        body = Block(tuple(step(index(place), None)))
        out: list[Stmt] = [For(place, inner.lower, index(whole), self.vectors.lanes, body)]
        if singly is not None:
            out.append(For(place, index(whole), inner.upper, 1, Block(tuple(singly(index(place))))))
        else:
            part = Block(tuple(step(index(whole), sub(inner.upper, index(whole)))))
            out.append(If(Compare("lt", index(whole), inner.upper), part))
        return out

    def _sum(self, sums: Array, totals: Array, numbers: range) -> Stmt:
        adds = tuple(Reduce(totals.name, (index(n),), "add", self.at(sums, n)) for n in numbers)
        return self._over(Block(adds), "sums_to" if len(numbers) > 1 else "sum_to")

    def _put(self, array: Array, number: int, value: Expr) -> Assign:
        return Assign(array.name, self.at(array, number).index, value)

    def _moved(self, row: Load, var: str, first: Expr) -> Load:
        values = {var: add(first, index(self.lane))}
        return replace(row, index=tuple(place(x, values) for x in row.index))

    def _each(self, stmt: Assign | Reduce, operation: str, count: Expr | None = None) -> Stmt:
        return self._over(Block((stmt,)), operation, count)

    def _over(self, body: Block, operation: str, count: Expr | None = None) -> Stmt:
        """A loop over lanes, which an instruction does."""
        upper = index(self.vectors.lanes) if count is None else count
        return For(self.lane, index(0), upper, 1, body, LoopFacts(instruction=self.vectors.name(operation)))
