"""The state of a function's translation: values, names, the statements so far.

A value is the expression that computes it, to stand where it is used. It gets a cell of its own, a local variable,
where the expression would be computed twice, or where memory that it reads may be written before its last use.

>>> clean_name("arg-0.x", "v"), clean_name("0", "v")
('arg_0_x', 'v0')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.ir import Block as Body
from xdsl.ir import Operation, SSAValue

from planish.core.names import take_name
from planish.core.span import Span
from planish.frontend.mlir.maps import MOST_INDEX_NODES
from planish.frontend.mlir.syntax import Module
from planish.ir.expr import Call, Const, Expr, Load, Var, index, type_of
from planish.ir.index.interval import Interval, range_of
from planish.ir.index.polynomial import add, mul
from planish.ir.nest import Alloc, Array, Assign, Reduce, Stmt
from planish.ir.passes.reduction_idioms import accumulation
from planish.ir.traverse import walk_expr
from planish.ir.types import BOOL, INDEX, Floats, Type

_MOST_NODES = 60
"""Longer expressions are computed into a cell, which keeps what is made of them small."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A subscript of an array: an offset, and steps along some axes of a view."""

    offset: Expr
    steps: tuple[tuple[int, Expr], ...]


@dataclass(frozen=True, slots=True)
class MemrefView:
    """A memref: an array of the kernel, the extents of what is seen of it, and a subscript for each dimension of the
    array."""

    array: str
    type: Type
    extents: tuple[Expr, ...]
    axes: tuple[Axis, ...]

    def place(self, subscripts: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The subscripts into the array of an element of the view."""
        out = []
        for axis in self.axes:
            place = axis.offset
            for number, step in axis.steps:
                place = add(place, mul(step, subscripts[number]))
            out.append(place)
        return tuple(out)


@dataclass(frozen=True, slots=True)
class MlirScalar:
    """A scalar: its expression; `exact`: as an index expression, where it has the type of data but cannot wrap."""

    expr: Expr
    exact: Expr | None = None


@dataclass(slots=True)
class MlirTranslation:
    """One function on its way. `head` is what stands before all else: arrays of the function itself; `handed`:
    the cells of what the last operation of a loop's body hands on."""

    module: Module
    floats: Floats
    taken: set[str]
    arguments: frozenset[str] = frozenset()
    sizes: frozenset[str] = frozenset()
    known: dict[str, Interval] = field(default_factory=dict)
    values: dict[SSAValue, MlirScalar | MemrefView] = field(default_factory=dict)
    head: list[Stmt] = field(default_factory=list)
    out: list[Stmt] = field(default_factory=list)
    done: set[Operation] = field(default_factory=set)
    reading: dict[SSAValue, frozenset[str]] = field(default_factory=dict)
    handed: dict[Operation, Sequence[str]] = field(default_factory=dict)

    def fail(self, op: Operation, code: str, message: str, advice: str = "") -> NoReturn:
        """Raise PlanishError at an operation."""
        self.module.fail(op, code, message, advice)

    def span(self, op: Operation) -> Span:
        """Where an operation stands."""
        return self.module.span_of(op)

    # Names

    def fresh(self, wanted: str) -> str:
        """A name that nothing else has."""
        return take_name(wanted, self.taken)

    def name(self, value: SSAValue, otherwise: str) -> str:
        """A name of its own for a value, after the one in the text."""
        return self.fresh(clean_name(self.module.name_of(value), otherwise))

    @contextmanager
    def iterator(self, wanted: str, low: Expr, high: Expr) -> Iterator[str]:
        """The name of a loop's variable, which is free again behind the loop."""
        name = self.fresh(wanted)
        least, most = self.range(low)[0], self.range(high)[1]
        self.known[name] = (least, max(least, most - 1))
        yield name
        self.taken.discard(name)

    def range(self, expr: Expr) -> Interval:
        """Where an index expression lies; index arithmetic is exact."""
        return range_of(expr, self.known, mathematical=True)

    # Values

    def expr(self, value: SSAValue, op: Operation) -> Expr:
        """The expression of a scalar operand."""
        return self.number(value, op).expr

    def number(self, value: SSAValue, op: Operation) -> MlirScalar:
        """A scalar operand of an operation."""
        found = self._find(value, op)
        if isinstance(found, MemrefView):
            self.fail(op, "E0865", f"`{op.name}` takes a memref where a number is expected")
        return found

    def view(self, value: SSAValue, op: Operation) -> MemrefView:
        """A memref operand of an operation."""
        found = self._find(value, op)
        if not isinstance(found, MemrefView):
            self.fail(op, "E0865", f"`{op.name}` takes a number where a memref is expected")
        return found

    def _find(self, value: SSAValue, op: Operation) -> MlirScalar | MemrefView:
        found = self.values.get(value)
        if found is None:
            name = self.module.name_of(value)
            what = f"`%{name}`" if name else "an operand"
            self.fail(op, "E0862", f"{what} is used before it is computed", "an operation may use earlier results only")
        return found

    def index(self, value: SSAValue, op: Operation) -> Expr:
        """A scalar operand as an index expression."""
        number = self.number(value, op)
        exact = number.exact if number.exact is not None else number.expr
        if isinstance(exact, Const) and exact.type.is_int:
            return index(int(exact.value))
        if type_of(exact) != INDEX:
            self.fail(op, "E0868", f"a bound of type {type_of(exact)} that is computed", "compute it as `index`")
        return exact

    def define(self, value: SSAValue, expr: Expr, op: Operation, exact: Expr | None = None) -> None:
        """Say what a result is."""
        users = {use.operation for use in value.uses}
        nodes = sum(1 for _ in walk_expr(expr))
        if is_plain(expr):
            if nodes > MOST_INDEX_NODES:
                self.fail(op, "E0870", "this index is a sum of too many terms", "compute fewer of them at once")
        elif nodes > _MOST_NODES or (nodes > 1 + _address_nodes(expr) and _is_repeated(value, users, op)):
            expr, exact = self.keep(clean_name(self.module.name_of(value), "t"), expr, op), None
        self.values[value] = MlirScalar(expr, exact)
        sources = frozenset(x.array for x in walk_expr(expr) if isinstance(x, Load))
        if sources:
            self.reading[value] = sources

    def keep(self, wanted: str, expr: Expr, op: Operation) -> Load:
        """Compute an expression into a cell of its own."""
        cell = self.cell(wanted, type_of(expr), op)
        self.out.append(Assign(cell, (), expr, self.span(op)))
        return Load(cell, (), type_of(expr))

    def cell(self, wanted: str, type: Type, op: Operation) -> str:
        """Declare a local variable here."""
        name = self.fresh(wanted)
        self.out.append(Alloc(Array(name, type, (), True, "register"), self.span(op)))
        return name

    # Statements

    @contextmanager
    def inside(self) -> Iterator[list[Stmt]]:
        """Statements that are written from here on go to a list of their own."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def store(self, array: str, place: tuple[Expr, ...], value: Expr, op: Operation) -> None:
        """Write the store of a value, as an accumulation where it is one."""
        if value == Load(array, place, type_of(value)):
            return
        self.before_writes({array})
        found = accumulation(array, place, value, self.floats == "reassociate")
        if found is not None:
            self.out.append(Reduce(array, place, found[0], found[1], self.span(op)))
        else:
            self.out.append(Assign(array, place, value, self.span(op)))

    def before_writes(self, arrays: Iterable[str]) -> None:
        """Keep the values that are still needed and read what is about to be written."""
        written = frozenset(arrays)
        if written & self.arguments:
            # Arguments may overlap each other.
            written |= self.arguments
        for value, sources in list(self.reading.items()):
            if not sources & written:
                continue
            del self.reading[value]
            waiting = [use.operation for use in value.uses if use.operation not in self.done]
            held = self.values[value]
            if waiting and isinstance(held, MlirScalar):
                cell = self.keep(clean_name(self.module.name_of(value), "t"), held.expr, waiting[0])
                self.values[value] = MlirScalar(cell)


def is_plain(expr: Expr) -> bool:
    """Whether an expression is an index or a condition over loop variables and sizes."""
    if type_of(expr) not in (INDEX, BOOL):
        return False
    return not any(
        isinstance(x, Load | Call) or (isinstance(x, Var | Const) and x.type not in (INDEX, BOOL))
        for x in walk_expr(expr)
    )


def _address_nodes(expr: Expr) -> int:
    """The parts of an expression that are a single load's subscripts: to load twice costs little."""
    return sum(1 for x in expr.index for _ in walk_expr(x)) if isinstance(expr, Load) else 0


def _is_repeated(value: SSAValue, users: set[Operation], op: Operation) -> bool:
    """Whether a value is used several times, or in a block further in, which may run often."""
    home: Body | None = op.parent
    return sum(1 for _ in value.uses) > 1 or any(user.parent is not home for user in users)


def clean_name(name: str, otherwise: str) -> str:
    """A name of ours made of one of MLIR's; numbers get `otherwise` in front."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"{otherwise}{plain}" if not plain or plain[0].isdigit() else plain
