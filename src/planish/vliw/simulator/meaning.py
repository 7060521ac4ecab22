"""What an operation does, from its definition, as a function from the bytes of its operands to those that it writes.

What a definition leaves undefined has a value here, as it has on machines: see `total`.

>>> from planish.vliw.description import load_machine
>>> shift = meaning_of(load_machine("ftmatrix").operation("SSHL"))
>>> [x.hex() for x in shift.run((), (b"\\0" * 4, b"\\1\\0\\0\\0", b"\\x21\\0\\0\\0"))]
['02000000']
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.nest import Array, Assign, Block, Kernel, Let, Reduce, Stmt
from planish.ir.passes.update_idioms import updated
from planish.ir.semantics.arithmetic import constant, limits
from planish.ir.semantics.interpreter import compile_kernel
from planish.ir.traverse import map_block, map_expr, map_exprs, used_names
from planish.ir.types import INDEX, Type
from planish.vliw.machine import MachineOperation, written_arrays


@dataclass(frozen=True, slots=True)
class Meaning:
    """An operation that can be run: the types of its immediates, its arrays, and which of these it writes."""

    operation: MachineOperation
    immediates: tuple[Type, ...]
    arrays: tuple[Array, ...]
    written: tuple[Array, ...]
    buffers: tuple[bytearray, ...]
    call: Callable[..., None]

    def run(self, immediates: Sequence[float], operands: Sequence[bytes]) -> tuple[bytes, ...]:
        """The bytes of the arrays that are written, for those of all. IndexError where the definition reads past an
        operand, which an immediate may lead to."""
        for buffer, raw in zip(self.buffers, operands, strict=True):
            buffer[:] = raw[: len(buffer)]
        numbers = [constant(x, type) for x, type in zip(immediates, self.immediates, strict=True)]
        with np.errstate(all="ignore"):
            self.call(*numbers)
        return tuple(bytes(self.buffers[i]) for i in range(len(self.written)))


@lru_cache(maxsize=4096)
def meaning_of(operation: MachineOperation) -> Meaning:
    """What an operation, which is no jump, does."""
    definition = operation.definition
    buffers = tuple(bytearray(size_of(x)) for x in definition.arrays)
    views = {
        x.name: np.frombuffer(y, x.type.numpy).reshape(_shape(x))
        for x, y in zip(definition.arrays, buffers, strict=True)
    }  # fmt: skip
    return Meaning(
        operation, (*(INDEX for _ in definition.sizes), *(x.type for x in definition.scalars)), definition.arrays,
        written_arrays(definition), buffers, compile_kernel(total(definition), views),
    )  # fmt: skip


def size_of(array: Array) -> int:
    """The bytes of an operand."""
    return array.type.size * (_shape(array)[0] if array.shape else 1)


def _shape(array: Array) -> tuple[int, ...]:
    return tuple(int(x.value) for x in array.shape if isinstance(x, Const))


def total(definition: Kernel) -> Kernel:
    """The definition with one value wherever C leaves a choice: shifts by the count modulo the width, 0 for quotients
    and remainders of 0, the least integer for floats that no integer is near, one NaN of all, and the first one of
    two zeros by `fmin` and `fmax`.

    >>> from planish.ir.text.parser import parse_kernel
    >>> from planish.ir.text.printer import print_stmt
    >>> text = "kernel f(d: i32[] @S, a: i32[] @S) { d[] = quo(d[], a[]) << a[] }"
    >>> print(print_stmt(total(parse_kernel(text)).body.body[0]).strip())
    d[] = select(a[] == 0:i32, 0:i32, select(a[] == -1:i32, -d[], quo(d[], a[]))) << (a[] & 31:i32)
    """
    taken = used_names(definition)
    result = next(f"r{'_' * i}" for i in range(len(taken) + 1) if f"r{'_' * i}" not in taken)

    def one_nan(stmt: Stmt) -> Stmt:
        stmt = map_exprs(lambda x: map_expr(_defined, x), stmt)
        if isinstance(stmt, Reduce) and type_of(stmt.value).is_float:
            stmt = Assign(stmt.array, stmt.index, updated(stmt), stmt.span)
        if not isinstance(stmt, Assign) or isinstance(stmt.value, Load | Const | Var):
            return stmt
        type = type_of(stmt.value)
        if not type.is_float:
            return stmt
        own = Var(result, type)
        value = Select(Compare("ne", own, own), Const(math.nan, type), own)
        return Block((Let(result, stmt.value), Assign(stmt.array, stmt.index, value)))

    body = map_block(one_nan, definition.body)
    return Kernel(definition.name, definition.sizes, definition.scalars, definition.arrays, body)


def _defined(expr: Expr) -> Expr:
    match expr:
        case Binary(op="shl" | "shr", left=left, right=right):
            type = type_of(expr)
            if isinstance(right, Const) and 0 <= right.value < type.bits:
                return expr
            return Binary(expr.op, left, Binary("and", right, Const(type.bits - 1, type)))
        case Binary(op="quo" | "rem" | "floordiv" | "mod", left=left, right=right):
            type = type_of(expr)
            if isinstance(right, Const) and right.value > 0:
                return expr
            none = Const(0, type)
            inner: Expr = expr
            if type.kind == "int":
                other = Unary("neg", left) if expr.op in ("quo", "floordiv") else none
                inner = Select(Compare("eq", right, Const(-1, type)), other, expr)
            return Select(Compare("eq", right, none), none, inner)
        case Cast(operand=operand, type=type) if type.is_int and type_of(operand).is_float:
            low, high = limits(type)
            source = type_of(operand)
            above = Compare("gt", operand, Const(float(low - 1), source))
            below = Compare("lt", operand, Const(float(high + 1), source))
            return Select(Binary("and", above, below), expr, Const(low, type))
        case Call(function="fmin" | "fmax" as name, arguments=(left, right)):
            test = Compare("lt" if name == "fmin" else "gt", right, left)
            return Select(Binary("or", test, Compare("ne", left, left)), right, left)
        case _:
            return expr
