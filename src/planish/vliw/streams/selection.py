"""The cheapest operations for an expression: patterns cover it bottom-up, values move between register files on the
way.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.streams.patterns import read_patterns
>>> text = {"ADD": "d[] = a[] + b[]", "MUL": "d[] = a[] * b[]"}
>>> head = "d: f32[] @S, a: f32[] @S, b: f32[] @S"
>>> kernels = {n: parse_kernel(f"kernel {n}({head}) {{ {x} }}") for n, x in text.items()}
>>> operations = [MachineOperation(n, n, x, ("U",)) for n, x in kernels.items()]
>>> machine = VliwMachine("m", {"s": 1}, (Unit("U", "s"),), (VliwRegisterFile("S", 8, 32),), (), tuple(operations))
>>> one = OperationSelector(read_patterns(machine), lambda e, s: isinstance(e, Load), lambda load, pattern: False)
>>> x, y, z = (Load(name, (), F32) for name in "xyz")
>>> found = one.best(Binary("add", Binary("mul", x, y), z), ("S", 0))
>>> found.pattern.operation.name, round(found.cost, 2)
('ADD', 2.02)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from planish.ir.expr import (
    OPPOSITE,
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
from planish.ir.traverse import loads, walk_expr
from planish.ir.types import BOOL, F32, F64, I8, I16, I32, I64, INDEX, U8, U16, U32, U64, Type
from planish.vliw.machine import VliwMachine
from planish.vliw.streams.patterns import LANE, Bindings, Matcher, OperationPattern, PatternSet

Slot = tuple[str, int]
"""A register file, and how many values are wanted in a register of it: 0 for one value, or the lanes."""

_LATENCY = 0.01
_WHOLE = (I8, I16, I32, I64, U8, U16, U32, U64)
_FLOATS: Mapping[Type, tuple[str, str]] = {F32: ("float32", "int32"), F64: ("float64", "int64")}


@dataclass(frozen=True, slots=True)
class OperationChoice:
    """How a value comes into a slot: it is there (`pattern` None, `source` None), by an operation over operands, or by
    a move (`pattern`) of the same value from another slot (`source`). `same`: it is the value of another expression."""

    cost: float
    pattern: OperationPattern | None = None
    bindings: Bindings | None = None
    source: Slot | None = None
    same: Expr | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A copy from one slot to another by a pattern."""

    pattern: OperationPattern
    source: Slot
    target: Slot
    cost: float


@dataclass(frozen=True, slots=True)
class SelectionFacts:
    """What is read off the patterns once for each machine."""

    matchers: Mapping[tuple[Slot, str], tuple[Matcher, ...]]
    moves: tuple[Move, ...]
    loads: Mapping[Slot, tuple[OperationPattern, ...]]
    stores: tuple[OperationPattern, ...]
    immediates: Mapping[Slot, tuple[OperationPattern, ...]]
    memories: frozenset[str]


def cost_of(pattern: OperationPattern) -> float:
    """Cycles of the units that can take an operation, with a little for its latency."""
    operation = pattern.operation
    return operation.busy / max(1, len(operation.units)) + _LATENCY * operation.latency


@lru_cache(maxsize=64)
def _facts(patterns: PatternSet) -> SelectionFacts:
    memories = frozenset(x.name for x in patterns.machine.memories)
    counter = patterns.counter
    matchers: dict[tuple[Slot, str], list[Matcher]] = {}
    loading: dict[Slot, list[OperationPattern]] = {}
    immediates: dict[Slot, list[OperationPattern]] = {}
    moves: list[Move] = []
    stores: list[OperationPattern] = []
    for p in patterns.patterns:
        kernel = p.operation.definition
        slot = (p.result.memory, p.lanes)
        reads = [kernel.array(x.array) for x in loads(p.value)]
        if p.result.memory in memories:
            stores.append(p)
        elif any(x.memory in memories for x in reads):
            loading.setdefault(slot, []).append(p)
        elif isinstance(p.value, Load):
            source = (reads[0].memory, p.lanes if p.value.index else 0)
            if not (reads[0].shape and not p.value.index):
                moves.append(Move(p, source, slot, cost_of(p)))
        else:
            if not reads:
                immediates.setdefault(slot, []).append(p)
            matchers.setdefault((slot, _root(p.value)), []).append(Matcher.of(p, counter))
    return SelectionFacts(
        {k: tuple(v) for k, v in matchers.items()}, tuple(moves), {k: tuple(v) for k, v in loading.items()},
        tuple(stores), {k: tuple(v) for k, v in immediates.items()}, memories,
    )  # fmt: skip


def _root(x: Expr) -> str:
    """What an expression does last; a constant is what a number in an operation's text makes."""
    match x:
        case Binary(op=op) | Unary(op=op):
            return op
        case Call(function=function):
            return function
        case Const():
            return "Var"
        case _:
            return type(x).__name__


@dataclass(slots=True)
class OperationSelector:
    """Chooses operations. `held(expr, slot)` says whether a value is in a register of a slot already, `reaches(load,
    pattern)` whether a load of memory may be made by a pattern."""

    patterns: PatternSet
    held: Callable[[Expr, Slot], bool]
    reaches: Callable[[Load, OperationPattern], bool]
    contract: bool = True
    memo: dict[tuple[Expr, Slot], OperationChoice | None] = field(default_factory=dict)
    moves_for: dict[Type, dict[Slot, tuple[Move, ...]]] = field(default_factory=dict)

    @property
    def machine(self) -> VliwMachine:
        """The machine whose operations are chosen."""
        return self.patterns.machine

    def forget(self) -> None:
        """What is held has changed."""
        self.memo.clear()

    def best(self, expr: Expr, slot: Slot) -> OperationChoice | None:
        """The cheapest way to have a value in a slot; None where there is none."""
        key = (expr, slot)
        if key in self.memo:
            return self.memo[key]
        self.memo[key] = None  # an expression that is rewritten to itself is no way
        choices = [x for x in (self._direct(expr, slot), self._moved(expr, slot)) if x is not None]
        found = min(choices, key=lambda x: x.cost, default=None)
        self.memo[key] = found
        return found

    def _moved(self, expr: Expr, slot: Slot) -> OperationChoice | None:
        """The cheapest way over another slot."""
        best: OperationChoice | None = None
        for move in self._moves(type_of(expr), slot):
            if move.source[1] == 0 and slot[1] and varies(expr):
                continue
            key = (expr, move.source)
            inner = self.memo.get(key) if key in self.memo else self._direct(expr, move.source)
            if inner is None and key not in self.memo:
                # One more step: between files that are not neighbours.
                inner = self._moved_once(expr, move.source)
            if inner is not None and (best is None or inner.cost + move.cost < best.cost):
                best = OperationChoice(inner.cost + move.cost, move.pattern, None, move.source)
        return best

    def _moved_once(self, expr: Expr, slot: Slot) -> OperationChoice | None:
        best: OperationChoice | None = None
        for move in self._moves(type_of(expr), slot):
            if move.source[1] == 0 and slot[1] and varies(expr):
                continue
            inner = self._direct(expr, move.source)
            if inner is not None and (best is None or inner.cost + move.cost < best.cost):
                best = OperationChoice(inner.cost + move.cost, move.pattern, None, move.source)
        return best

    def _moves(self, type: Type, slot: Slot) -> tuple[Move, ...]:
        """The copies into a slot of values of a type: bits are copied, whatever they stand for."""
        known = self.moves_for.get(type)
        if known is None:
            known = {}
            # A condition is in the lowest bits, a counter in as many as counters have.
            least = 8 if type == BOOL else self.patterns.counter.bits if type == INDEX else type.bits
            for move in _facts(self.patterns).moves:
                own = type_of(move.pattern.value).bits
                whole = move.source[1] == move.target[1]
                if own >= least if whole and not move.source[1] else whole or own == type.bits:
                    known[move.target] = (*known.get(move.target, ()), move)
            self.moves_for[type] = known
        return tuple(x for x in known.get(slot, ()) if x.source != slot)

    def copy(self, type: Type, slot: Slot) -> OperationPattern | None:
        """What copies a register of a slot to another one of it."""
        self._moves(type, slot)
        found = [x for x in self.moves_for[type].get(slot, ()) if x.source == slot]
        return min(found, key=lambda x: x.cost).pattern if found else None

    def _direct(self, expr: Expr, slot: Slot) -> OperationChoice | None:
        """The cheapest way that makes a value in the slot itself."""
        if self.held(expr, slot):
            return OperationChoice(0.0)
        facts = _facts(self.patterns)
        best: OperationChoice | None = None
        if isinstance(expr, Load):
            for p in facts.loads.get(slot, ()):
                # Of a narrow element the low bits count, whatever it is extended by.
                own = loads(p.value)[0]
                as_is = p.value == own or (p.value == Cast(own, type_of(p.value)) and expr.type.is_int)
                if as_is and own.type.is_int == expr.type.is_int and self.reaches(expr, p):
                    best = _cheaper(best, OperationChoice(cost_of(p), p, {own.array: expr}))
            return best
        if isinstance(expr, Const):
            for p in facts.immediates.get(slot, ()):
                bound = immediate(p, expr)
                if bound is not None:
                    best = _cheaper(best, OperationChoice(cost_of(p), p, bound))
        if isinstance(expr, Cast) and _is_free(expr):
            inner = self.best(expr.operand, slot)
            if inner is not None:
                best = OperationChoice(inner.cost, same=expr.operand)
        forms = (expr, *_same_bits(expr))
        if isinstance(expr, Cast) and isinstance(expr.operand, Load):
            for p in facts.loads.get(slot, ()):
                # What a narrow element is extended by depends on its sign: the type has to be that of the operation.
                own = loads(p.value)[0]
                widened = own.type == expr.operand.type and any(p.value == Cast(own, type_of(x)) for x in forms)
                if widened and self.reaches(expr.operand, p):
                    best = _cheaper(best, OperationChoice(cost_of(p), p, {own.array: expr.operand}))
        for matcher in facts.matchers.get((slot, _root(expr)), ()):
            for bound in (y for x in forms for y in matcher.matches(x)):
                total = self._operands(matcher.pattern, bound, best.cost if best else None)
                if total is not None:
                    # Of two that do it, the one for numbers of this type.
                    total += 0.1 if type_of(matcher.pattern.value) != type_of(expr) else 0.0
                    best = _cheaper(best, OperationChoice(total, matcher.pattern, bound))
        wider = () if slot[1] else _widened(expr, self.patterns.counter.bits)
        for other in (*alternatives(expr, self.contract), *wider):
            found = self.best(other, slot)
            if found is not None:
                best = _cheaper(best, OperationChoice(found.cost + 0.001, same=other))
        return best

    def _operands(self, pattern: OperationPattern, bound: Bindings, limit: float | None) -> float | None:
        """What an operation costs with its operands; None where one cannot be had, or it is more than the limit."""
        total = cost_of(pattern)
        for name, expr in bound.items():
            slot = operand_slot(pattern, name)
            if slot is None:
                continue
            if limit is not None and total >= limit:
                return None
            if not slot[1] and varies(expr):
                return None
            found = self.best(expr, slot)
            if found is None:
                return None
            total += found.cost
        return total


def _cheaper(a: OperationChoice | None, b: OperationChoice) -> OperationChoice:
    return b if a is None or b.cost < a.cost else a


def operand_slot(pattern: OperationPattern, name: str) -> Slot | None:
    """Where an operand of a pattern has to be; None for a number in its text."""
    array = next((x for x in pattern.operation.definition.arrays if x.name == name), None)
    if array is None:
        return None
    own = any(x.array == name and x.index for x in loads(pattern.value))
    return array.memory, pattern.lanes if own else 0


def varies(expr: Expr) -> bool:
    """Whether a value is another one in each lane."""
    return any(x == LANE for x in walk_expr(expr))


def immediate(pattern: OperationPattern, value: Const) -> Bindings | None:
    """The number in a move's text that makes a constant as the bits that it is; None where it cannot."""
    numbers = Matcher.of(pattern).numbers
    own = type_of(pattern.value)
    if not isinstance(pattern.value, Var) or not own.is_int:
        return None
    if value.type in _FLOATS and own.bits >= value.type.bits and (not pattern.lanes or own.bits == value.type.bits):
        kind, whole = _FLOATS[value.type]
        bound: Bindings = {pattern.value.name: Const(int(np.array(value.value, kind).view(whole)), own)}
    elif not value.type.is_float and (own.bits >= value.type.bits or value.type == BOOL):
        bound = {pattern.value.name: Const(int(value.value), own)}
    else:
        return None
    return bound if numbers and Matcher.of(pattern).allows(bound) else None


def _is_free(x: Cast) -> bool:
    """Whether a conversion leaves the low bits as they are, which alone count: a narrower whole number, one with the
    other sign, a condition as a number."""
    source, target = type_of(x.operand), x.type
    if source == BOOL:
        return target.is_int
    if not (source.is_int and target.is_int):
        return source == target
    return target.bits <= source.bits


def _same_bits(x: Expr) -> Iterator[Expr]:
    """A whole number made wider, as one of the other sign: by what it is extended only its own type says.

    >>> [str(x) for x in map(type_of, _same_bits(Cast(Load("a", (), I16), U32)))]
    ['i32']
    """
    if isinstance(x, Cast) and x.type.is_int and type_of(x.operand).is_int and x.type.bits > type_of(x.operand).bits:
        yield from (Cast(x.operand, y) for y in _WHOLE if y.bits == x.type.bits and y != x.type)


def _widened(x: Expr, bits: int) -> Iterator[Expr]:
    """What depends on the upper bits of narrow whole numbers, by wider ones of so many bits at most: its low bits are
    the same.

    >>> a, b = (Load(x, (), U8) for x in "ab")
    >>> [str(type_of(x)) for x in _widened(Binary("max", a, b), 32)], list(_widened(Binary("add", a, b), 32))
    (['i32'], [])
    """
    for wide in (y for y in (I32, I64) if y.bits <= bits):
        match x:
            case Binary(op="min" | "max" | "shr") | Compare() if _is_narrow(x.left, wide):
                yield replace(x, left=_extended(x.left, wide), right=_extended(x.right, wide))
            case Select() if _is_narrow(x.then, wide):
                yield replace(x, then=_extended(x.then, wide), otherwise=_extended(x.otherwise, wide))
            case Cast(operand=inner) if _is_narrow(x, wide) and _is_narrow(inner, x.type):
                yield Cast(inner, wide)
            case _:
                pass


def _is_narrow(x: Expr, wide: Type) -> bool:
    return type_of(x).is_int and type_of(x).bits < wide.bits


def _extended(x: Expr, wide: Type) -> Expr:
    match x:
        case Const(value=value):
            return Const(value, wide)
        case Cast(operand=inner, type=own) if _is_narrow(inner, own) and own.kind in ("int", type_of(inner).kind):
            return Cast(inner, wide)
        case _:
            return Cast(x, wide)


def alternatives(x: Expr, contract: bool = True) -> Iterator[Expr]:
    """Other expressions with the same value, simpler or of fewer kinds of operations; `contract`: a product and a sum
    may be rounded once."""
    kind = type_of(x)
    if contract and kind.is_float:
        yield from _fused(x, kind)
    match x:
        case Unary(op="neg", operand=Const(value=value)):
            yield Const(-value, kind)
        case Unary(op="neg", operand=a):
            if kind.is_float:
                yield Binary("mul", a, Const(-1.0, kind))
            else:
                yield Binary("sub", Const(0, kind), a)
        case Cast(operand=inner, type=narrow) if narrow.is_int and narrow.bits < type_of(inner).bits:
            yield from _narrowed(inner, narrow)
        case Unary(op="not", operand=Compare(op=op, left=a, right=b)) if not type_of(a).is_float:
            yield Compare(OPPOSITE[op], a, b)
        case Unary(op="not", operand=a):
            yield Compare("eq", Cast(a, INDEX), Const(0, INDEX))
        case Unary(op="bitnot", operand=a):
            yield Binary("xor", a, Const(-1, kind))
        case Binary(op="sub", left=a, right=Const(value=value)):
            yield Binary("add", a, Const(-value, kind))
        case Binary(op="sub", left=a, right=b) if kind.is_float:
            yield Binary("add", a, Unary("neg", b))
        case Binary(op="mul", left=a, right=Const(value=value)) if kind.is_int and _is_power(value):
            yield Binary("shl", a, Const(int(value).bit_length() - 1, kind))
        case Binary(op="mul", left=Const(value=value), right=a) if kind.is_int and _is_power(value):
            yield Binary("shl", a, Const(int(value).bit_length() - 1, kind))
        case Binary(op="floordiv", left=a, right=Const(value=value)) if _is_power(value):
            yield Binary("shr", a, Const(int(value).bit_length() - 1, kind))
        case Binary(op="mod", left=a, right=Const(value=value)) if _is_power(value):
            yield Binary("and", a, Const(int(value) - 1, kind))
        case Binary(op="shl", left=a, right=Const(value=value)) if value == 1:
            yield Binary("add", a, a)
        case Binary(op="div", left=a, right=Const(value=value)) if _is_power(abs(value)):
            yield Binary("mul", a, Const(1 / value, kind))
        case Binary(op="div", left=a, right=b) if a != Const(1.0, kind):
            yield Binary("mul", a, Binary("div", Const(1.0, kind), b))
        case Binary(op="min" | "max" as op, left=a, right=b):
            if kind.is_float:
                yield Call(f"f{op}", (a, b))
            yield Select(Compare("lt" if op == "min" else "gt", a, b), a, b)
        case Call(function="fmin" | "fmax" as function, arguments=(a, b)):
            yield Select(Compare("lt" if function == "fmin" else "gt", a, b), a, b)
        case Call(function="fabs" | "abs", arguments=(a,)):
            yield Binary("max", a, Unary("neg", a))
        case Compare(op="gt" | "ge" as op, left=a, right=b):
            yield Compare("lt" if op == "gt" else "le", b, a)
        case Compare(op="le", left=a, right=Const(value=value)) if type_of(a).is_int:
            yield Compare("lt", a, Const(int(value) + 1, type_of(a)))
        case Compare(op="le", left=a, right=b) if type_of(a).is_int:
            yield Unary("not", Compare("lt", b, a))
        case Compare(op="ne" as op, left=a, right=b):
            yield Unary("not", Compare("eq", a, b))
        case _:
            pass


def _narrowed(x: Expr, narrow: Type) -> Iterator[Expr]:
    """A whole number of which the low bits are wanted, computed in as many: they depend on the low bits of operands
    alone, or these are extended from so many and compared."""
    match x:
        case Cast(operand=inner) if type_of(inner).is_int and type_of(inner).bits >= narrow.bits:
            yield inner if type_of(inner) == narrow else Cast(inner, narrow)
        case Binary(op="add" | "sub" | "mul" | "and" | "or" | "xor" as op, left=a, right=b):
            yield Binary(op, _low(a, narrow), _low(b, narrow))
        case Binary(op="min" | "max" as op, left=a, right=b):
            if _is_extended(a, narrow) and _is_extended(b, narrow):
                yield Binary(op, _low(a, narrow), _low(b, narrow))
        case Select(condition=c, then=a, otherwise=b):
            yield Select(c, _low(a, narrow), _low(b, narrow))
        case _:
            pass


def _low(x: Expr, narrow: Type) -> Expr:
    match x:
        case Const(value=value):
            low = int(value) & (1 << narrow.bits) - 1
            return Const(low - (1 << narrow.bits) if narrow.kind == "int" and low >> narrow.bits - 1 else low, narrow)
        case Cast(operand=inner) if type_of(inner) == narrow:
            return inner
        case _:
            return Cast(x, narrow)


def _is_extended(x: Expr, narrow: Type) -> bool:
    """Whether a value is one of a narrower type."""
    match x:
        case Const(value=value):
            low = -(1 << narrow.bits - 1) if narrow.kind == "int" else 0
            return low <= value < low + (1 << narrow.bits)
        case Cast(operand=inner):
            return type_of(inner) == narrow
        case _:
            return False


def _fused(x: Expr, kind: Type) -> Iterator[Expr]:
    """A product and a sum as one operation."""
    match x:
        case Binary(op="add", left=a, right=b):
            for one, other in ((a, b), (b, a)):
                match one:
                    case Binary(op="mul", left=left, right=right):
                        yield Call("fma", (left, right, other))
                    case Unary(op="neg", operand=Binary(op="mul", left=left, right=right)):
                        yield Call("fma", (Unary("neg", left), right, other))
                    case _:
                        pass
        case Binary(op="sub", left=a, right=Binary(op="mul", left=left, right=right)):
            yield Call("fma", (Unary("neg", left), right, a))
        case Binary(op="sub", left=Binary(op="mul", left=left, right=right), right=b):
            yield Call("fma", (left, right, Unary("neg", b)))
        case Call(function="fma", arguments=(a, b, c)):
            yield Binary("add", Binary("mul", a, b), c)
        case _:
            pass


def _is_power(value: float) -> bool:
    """Whether a number is a power of two, at least 2."""
    return value >= 1 and value == int(value) and int(value).bit_count() == 1 and value != 1
