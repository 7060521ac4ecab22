"""What a machine's operations compute, as patterns that expressions are matched with: read off their definitions.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel FMA(d: f32[4] @V, a: f32[4] @V, s: f32[] @S) { for l in 0 .. 4 { d[l] += a[l] * s[] } }"
>>> found = read_pattern(MachineOperation("FMA", "FMA {d}, {a}, {s}", parse_kernel(text), ("VALU",)), frozenset())
>>> print(found)
FMA: d[lane] = d[lane] + a[lane] * s[] (4 lanes)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from planish.ir.expr import (
    MIRRORED,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    type_of,
)
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, ReduceOp, Stmt
from planish.ir.passes.update_idioms import updated
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import children, map_expr, stored_arrays, substitute, variables, walk, walk_expr
from planish.ir.types import BOOL, I32, I64, INDEX, Type
from planish.vliw.machine import MachineOperation, VliwMachine

LANE = Var("lane", INDEX)
"""The number of the lane, in patterns."""

COMMUTATIVE = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})


@dataclass(frozen=True, slots=True)
class OperationPattern:
    """`operation` makes `value` in its operand `result`; of `lanes` values (0: one). Other operands are loads of
    `value`: with the subscript LANE, of the lane's own element; without one, the same for all lanes."""

    operation: MachineOperation
    result: Array
    value: Expr
    lanes: int

    @property
    def is_tied(self) -> bool:
        """Whether it reads what it writes."""
        return any(isinstance(x, Load) and x.array == self.result.name for x in walk_expr(self.value))

    def __str__(self) -> str:
        place = f"[{print_expr(LANE)}]" if self.lanes else "[]"
        lanes = f" ({self.lanes} lanes)" if self.lanes else ""
        return f"{self.operation.name}: {self.result.name}{place} = {print_expr(self.value)}{lanes}"


@dataclass(frozen=True, slots=True)
class SumPattern:
    """`operation` combines all lanes of `source` by `op`: in `result`, which is one value."""

    operation: MachineOperation
    result: Array
    source: Array
    op: ReduceOp
    lanes: int


@dataclass(frozen=True, slots=True)
class Shuffle:
    """`operation` moves lanes: lane l of `result` is lane `lane` of `source`, an expression over LANE and numbers."""

    operation: MachineOperation
    result: Array
    source: Array
    lane: Expr
    lanes: int


@dataclass(frozen=True, slots=True, eq=False)
class PatternSet:
    """The patterns of a machine's operations: those of one assignment, sums over lanes, and shuffles."""

    machine: VliwMachine
    patterns: tuple[OperationPattern, ...]
    sums: tuple[SumPattern, ...]
    shuffles: tuple[Shuffle, ...]

    @property
    def counter(self) -> Type:
        """The type of counters and addresses: of 64 bits where values of so many are added, else of 32."""
        wide = any(not x.lanes and type_of(x.value) == I64 and isinstance(x.value, Binary) for x in self.patterns)
        return I64 if wide else I32

    @property
    def lane_counts(self) -> tuple[int, ...]:
        """How many lanes operations have, most first."""
        return tuple(sorted({x.lanes for x in self.patterns if x.lanes}, reverse=True))


def read_patterns(machine: VliwMachine) -> PatternSet:
    """The patterns of a machine's operations; what is of another form is not among them."""
    memories = frozenset(x.name for x in machine.memories)
    found = [read_pattern(x, memories) for x in machine.operations if not x.branch and not x.aligned]
    return PatternSet(
        machine,
        tuple(x for x in found if isinstance(x, OperationPattern)),
        tuple(x for x in found if isinstance(x, SumPattern)),
        tuple(x for x in found if isinstance(x, Shuffle)),
    )


def read_pattern(
    operation: MachineOperation, memories: frozenset[str]
) -> OperationPattern | SumPattern | Shuffle | None:
    """What an operation computes; None where it is no single assignment, over lanes or not."""
    kernel = operation.definition
    match kernel.body.body:
        case (Assign() | Reduce() as stmt,):
            return _single(operation, stmt, "", 0)
        case (For(body=Block((Assign() | Reduce() as stmt,))) as loop,):
            lanes = _lanes(loop)
            array = kernel.array(stmt.array)
            if not lanes or isinstance(stmt, Reduce) and not array.shape:
                return None
            return _shuffle(operation, stmt, loop.var, lanes, memories) or _single(operation, stmt, loop.var, lanes)
        case _:
            return _sum(operation, memories)


def _lanes(loop: For) -> int:
    fixed = loop.step == 1 and loop.lower == Const(0, INDEX) and isinstance(loop.upper, Const)
    return int(loop.upper.value) if fixed and isinstance(loop.upper, Const) else 0


def _single(operation: MachineOperation, stmt: Assign | Reduce, lane: str, lanes: int) -> OperationPattern | None:
    value = updated(stmt) if isinstance(stmt, Reduce) else stmt.value
    own = {lane: LANE} if lane else {}
    index = tuple(substitute(x, own) for x in stmt.index)
    if index not in (((), (Const(0, INDEX),)) if not lanes else ((LANE,),)):
        return None
    value = as_truth(map_expr(_without_zero, substitute(value, own)))
    for x in walk_expr(value):
        if isinstance(x, Load) and x.index not in ((), (LANE,)):
            return None
    return OperationPattern(operation, operation.definition.array(stmt.array), value, lanes)


def _without_zero(x: Expr) -> Expr:
    """An operand that is one element in memory is spelt as one value."""
    return replace(x, index=()) if isinstance(x, Load) and x.index == (Const(0, INDEX),) else x


def _shuffle(
    operation: MachineOperation, stmt: Assign | Reduce, lane: str, lanes: int, memories: frozenset[str]
) -> Shuffle | None:
    if not isinstance(stmt, Assign) or stmt.index != (Var(lane, INDEX),) or not isinstance(stmt.value, Load):
        return None
    source, result = operation.definition.array(stmt.value.array), operation.definition.array(stmt.array)
    if len(stmt.value.index) != 1 or {source.memory, result.memory} & memories or source.name == result.name:
        return None
    place = substitute(stmt.value.index[0], {lane: LANE})
    if place == LANE or not any(x == LANE for x in walk_expr(place)):
        return None
    return Shuffle(operation, result, source, place, lanes)


def _sum(operation: MachineOperation, memories: frozenset[str]) -> SumPattern | None:
    """What combines all lanes of a vector, told by what it makes of vectors of which one lane stands out: there are no
    operations but additions in it, or none but one extremum."""
    kernel = operation.definition
    written = stored_arrays(kernel.body) & {x.name for x in kernel.arrays}
    ops = {y for stmt in walk(kernel.body) for y in _operations(stmt)}
    op = _EXTREMA.get(next(iter(ops))) if len(ops) == 1 else None
    if len(kernel.arrays) != 2 or len(written) != 1 or op is None or kernel.sizes or kernel.scalars:
        return None
    (result,), (source,) = ([x for x in kernel.arrays if (x.name in written) == y] for y in (True, False))
    if result.shape or len(source.shape) != 1 or {result.memory, source.memory} & memories:
        return None
    lanes = source.shape[0]
    if not isinstance(lanes, Const) or result.type != source.type:
        return None
    if all(_combines(kernel, result, source, int(lanes.value), n, op) for n in range(int(lanes.value))):
        return SumPattern(operation, result, source, op, int(lanes.value))
    return None


_EXTREMA: Mapping[str, ReduceOp] = {
    "add": "add", "min": "min", "max": "max", "fmin": "min", "fmax": "max"
}  # fmt: skip


def _operations(stmt: Stmt) -> Iterator[str]:
    """The operations on elements in a statement, but for subscripts."""
    values = [stmt.value] if isinstance(stmt, Assign | Reduce) else []
    if isinstance(stmt, Reduce):
        yield stmt.op
    while values:
        x = values.pop()
        match x:
            case Binary(op=op):
                yield op
            case Call(function=function):
                yield function
            case Load() | Const() | Var():
                continue
            case _:
                yield type(x).__name__
        values += children(x)


def _combines(kernel: Kernel, result: Array, source: Array, lanes: int, lane: int, op: ReduceOp) -> bool:
    """Whether a lane that stands out among zeros is what comes out."""
    values = np.zeros(lanes, source.type.numpy)
    values[lane] = -1 if op == "min" else 1
    made = np.zeros((), result.type.numpy)
    run_kernel(kernel, {source.name: values, result.name: made})
    return bool(made == values[lane])


def as_truth(x: Expr) -> Expr:
    """Numbers that are 1 or 0 by a condition as the condition, and what asks whether one is not zero as its truth: a
    condition in a register is a number there.

    >>> from planish.ir.types import I64
    >>> c = Compare("lt", Load("a", (), I64), Load("b", (), I64))
    >>> as_truth(Cast(c, I64)) == c, as_truth(Compare("ne", Load("c", (), I64), Const(0, I64)))
    (True, Load(array='c', index=(), type=Type(kind='bool', bits=8)))
    """

    def truth(y: Expr) -> Expr:
        match y:
            case Compare(op="ne", left=Load() as load, right=Const(value=0)) if load.type.kind != "bool":
                return replace(load, type=BOOL) if not load.type.is_float else y
            case _:
                return y

    x = map_expr(truth, x)
    match x:
        case Cast(operand=inner, type=kind) if type_of(inner) == BOOL and kind.is_int:
            return inner
        case Select(condition=condition, then=Const(value=1), otherwise=Const(value=0)):
            return condition
        case _:
            return x


Bindings = dict[str, Expr]
"""What operands, sizes and scalars of a pattern stand for."""

_MODULAR = frozenset({"add", "sub", "mul", "and", "or", "xor"})


@dataclass(frozen=True, slots=True)
class Matcher:
    """Matches one pattern with expressions. `is_modular`: the low bits of what it computes depend on the low bits of
    its operands alone, so that it serves narrower integers as well."""

    pattern: OperationPattern
    numbers: Mapping[str, Type]
    is_modular: bool
    counter: Type = INDEX

    @classmethod
    def of(cls, pattern: OperationPattern, counter: Type = INDEX) -> Matcher:
        """The matcher of a pattern; `counter` is what counters and addresses are on the machine."""
        kernel = pattern.operation.definition
        numbers = {**dict.fromkeys(kernel.sizes, INDEX), **{x.name: x.type for x in kernel.scalars}}
        inner = [x for x in walk_expr(pattern.value) if not isinstance(x, Load | Const | Var)]
        modular = all(isinstance(x, Binary) and x.op in _MODULAR or isinstance(x, Unary) for x in inner)
        return cls(pattern, numbers, modular and type_of(pattern.value).is_int, counter)

    def matches(self, expr: Expr) -> Iterator[Bindings]:
        """The ways in which an expression is what the pattern computes; sizes and scalars of it stand for constants
        that the definition's assumptions allow."""
        if not self.serves(type_of(self.pattern.value), type_of(expr)):
            return
        for bound in self._match(self.pattern.value, expr, {}):
            if self.allows(bound):
                yield bound

    def serves(self, own: Type, other: Type) -> bool:
        """Whether a value of the pattern's type `own` is one of another type."""
        if own == other:
            return True
        if other == BOOL:
            value = self.pattern.value
            return own.is_int and isinstance(value, Binary) and value.op in ("and", "or", "xor")
        if not own.is_int or not other.is_int:
            return False
        if other == INDEX and own == self.counter:
            return True
        return self.is_modular and own.bits >= other.bits

    def cuts(self, wide: Type, narrow: Type) -> bool:
        """Whether a conversion leaves the low bits of one value in a register."""
        return wide.is_int and narrow.is_int and narrow.bits < wide.bits and not self.pattern.lanes

    def allows(self, bound: Bindings) -> bool:
        """Whether the numbers in the operation's text may be what they would be."""
        numbers = {n: x for n, x in bound.items() if n in self.numbers and isinstance(x, Const)}
        if not all(self.pattern.operation.may_have(x.value) for x in numbers.values()):
            return False
        values = {n: int(x.value) for n, x in numbers.items() if not x.type.is_float}
        assumed = self.pattern.operation.definition.assumptions
        return all(evaluate(x, values) for x in assumed if variables(x) <= values.keys())

    def _match(self, p: Expr, e: Expr, bound: Bindings) -> Iterator[Bindings]:
        match p:
            case Load(array=name, type=kind):
                if self.serves(kind, type_of(e)) and bound.get(name, e) == e:
                    yield {**bound, name: e}
            case Var(name=name) if name in self.numbers:
                if isinstance(e, Const) and self._holds(name, e) and bound.get(name, e) == e:
                    yield {**bound, name: e}
            case Const(value=value):
                if isinstance(e, Const) and e.value == value and self.serves(p.type, e.type):
                    yield bound
            case Var():
                if p == e:
                    yield bound
            case Cast(operand=Load(array=name, type=wide), type=kind) if (
                self.cuts(wide, kind) and type_of(e) == kind and not isinstance(e, Cast)
            ):
                # Of a narrow value in a register the low bits count, whatever is above.
                if bound.get(name, e) == e:
                    yield {**bound, name: e}
            case Cast(operand=inner, type=kind):
                if isinstance(e, Cast) and e.type == kind and type_of(e.operand) == type_of(inner):
                    yield from self._match(inner, e.operand, bound)
            case Unary(op=op, operand=inner):
                if isinstance(e, Unary) and e.op == op:
                    yield from self._match(inner, e.operand, bound)
            case Binary(op=op, left=a, right=b):
                if isinstance(e, Binary) and e.op == op:
                    yield from self._match_all((a, b), (e.left, e.right), bound)
                    if op in COMMUTATIVE:
                        yield from self._match_all((a, b), (e.right, e.left), bound)
            case Compare(op=compared, left=a, right=b):
                if isinstance(e, Compare) and e.op == compared:
                    yield from self._match_all((a, b), (e.left, e.right), bound)
                if isinstance(e, Compare) and MIRRORED[e.op] == compared:
                    yield from self._match_all((a, b), (e.right, e.left), bound)
            case Select(condition=c, then=a, otherwise=b):
                if isinstance(e, Select):
                    yield from self._match_all((c, a, b), (e.condition, e.then, e.otherwise), bound)
            case Call(function=function, arguments=arguments):
                if isinstance(e, Call) and e.function == function:
                    yield from self._match_all(arguments, e.arguments, bound)
            case _:
                assert_never(p)

    def _holds(self, name: str, e: Const) -> bool:
        own = self.numbers[name]
        return own == e.type or (own.is_int and e.type.is_int)

    def _match_all(self, ps: tuple[Expr, ...], es: tuple[Expr, ...], bound: Bindings) -> Iterator[Bindings]:
        if not ps:
            yield bound
            return
        for found in self._match(ps[0], es[0], bound):
            yield from self._match_all(ps[1:], es[1:], found)
