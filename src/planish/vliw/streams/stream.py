"""The stream under construction: operations in scopes (the program, and the loops in it), what registers hold, and
where values that stay the same are computed.

>>> Scope("i", frozenset({"i", "s"})).depends(frozenset({"s", "n"}))
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Protocol

from planish.core.diagnostic import Remark
from planish.core.span import Span
from planish.ir.expr import OPPOSITE, Binary, Compare, Const, Expr, Load, Unary, Var, type_of
from planish.ir.index.polynomial import Polynomial
from planish.ir.nest import Array
from planish.ir.text.printer import print_expr
from planish.ir.traverse import children, walk_expr
from planish.ir.types import BOOL, INDEX, Type
from planish.vliw.program import (
    AccessPlace,
    Guard,
    Immediate,
    Instr,
    Item,
    Loop,
    MemoryAddress,
    Operand,
    StreamRegister,
)
from planish.vliw.streams.patterns import LANE, OperationPattern, PatternSet
from planish.vliw.streams.selection import OperationChoice, OperationSelector, Slot, operand_slot, varies


class RefusedError(Exception):
    """Why a nest does not become a stream: what is missing, and where it is needed."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.remark = Remark("vliw-lower", "refused", message, span)


@dataclass(slots=True)
class StreamPointer:
    """A register with the address that a polynomial in bytes stands for, of an array in a memory."""

    register: StreamRegister
    terms: Polynomial


@dataclass(slots=True, eq=False)
class Scope:
    """The program, or the body of a loop over `var`: its items so far, names that change in it, values that registers
    hold, pointers, and by how much registers move at the end of each iteration."""

    var: str = ""
    mutated: frozenset[str] = frozenset()
    parent: Scope | None = None
    lower: Expr = Const(0, INDEX)
    step: int = 1
    runs: bool = True
    nonempty: Expr | None = None
    items: list[Item] = field(default_factory=list)
    held: dict[tuple[Expr, Slot], StreamRegister] = field(default_factory=dict)
    pointers: dict[tuple[str, str], list[StreamPointer]] = field(default_factory=dict)
    steps: dict[str, Expr] = field(default_factory=dict)
    guards: list[Expr] = field(default_factory=list)
    guarded: list[list[tuple[Expr, Slot]]] = field(default_factory=list)

    def depends(self, names: frozenset[str]) -> bool:
        """Whether something that these names stand for changes in it."""
        return not names.isdisjoint(self.mutated)

    def chain(self) -> Iterator[Scope]:
        """Itself and the scopes around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def drop(self, names: frozenset[str]) -> None:
        """Forget values that depend on names."""
        for key in [k for k in self.held if not names.isdisjoint(names_in(k[0]))]:
            del self.held[key]


_NAMES: dict[Expr, frozenset[str]] = {}


def names_in(expr: Expr) -> frozenset[str]:
    """The variables and arrays that an expression reads."""
    found = _NAMES.get(expr)
    if found is None:
        found = frozenset(
            x.name if isinstance(x, Var) else x.array for x in walk_expr(expr) if isinstance(x, Var | Load)
        )
        if len(_NAMES) > 100_000:
            _NAMES.clear()
        _NAMES[expr] = found
    return found


def counters_in(expr: Expr) -> frozenset[str]:
    """The names whose values an expression needs outside of subscripts."""
    match expr:
        case Load():
            return frozenset()
        case Var():
            return frozenset({expr.name} if expr != LANE else ())
        case _:
            return frozenset().union(*(counters_in(x) for x in children(expr)))


@dataclass(frozen=True, slots=True)
class StreamCell:
    """A scalar, or a vector, that lives in a register."""

    register: StreamRegister
    slot: Slot
    type: Type


class StreamAccess(Protocol):
    """How arrays in memory are accessed."""

    def reaches(self, stream: Stream, load: Load, pattern: OperationPattern) -> bool:
        """Whether a load may be made by a pattern: its array is in that memory, its lanes are neighbours."""

    def address(self, stream: Stream, load: Load, memory: str, lanes: int) -> tuple[MemoryAddress, AccessPlace]:
        """The operand of an access, and what is known of its place."""

    def variable(self, stream: Stream, name: str) -> None:
        """Make the cell that counts with a loop."""

    def finish(self, stream: Stream) -> None:
        """Write what moves on at the end of an iteration."""


@dataclass(slots=True, eq=False)
class Stream:
    """Operations that are written one after the other; `cells` are in registers, `arrays` in `memories`;
    `lane_arrays`: those whose elements are lanes of registers, for programs."""

    patterns: PatternSet
    access: StreamAccess
    contract: bool = True
    memories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    cells: dict[str, StreamCell] = field(default_factory=dict)
    lane_arrays: dict[str, Array] = field(default_factory=dict)
    root: Scope = field(default_factory=Scope)
    scope: Scope = field(init=False)
    selector: OperationSelector = field(init=False)
    span: Span | None = None
    count: int = 0
    uses: dict[Expr, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scope = self.root
        self.selector = OperationSelector(self.patterns, self.is_held, self._reaches, self.contract)

    def fresh(self, file: str, name: str = "t") -> StreamRegister:
        """A register that nothing else uses."""
        self.count += 1
        return StreamRegister(file, f"{name}{self.count}")

    def slot_for(self, type: Type, lanes: int) -> Slot:
        """Where values of a type live: the file in which most operations make such; RefusedError where none does."""
        counts: dict[Slot, int] = {}
        addresses = {x.name for x in self.patterns.machine.files if x.addresses}
        predicates = {x.name for x in self.patterns.machine.files if x.predicates}
        others = {x.name for x in self.patterns.machine.memories}
        others |= {x.name for x in self.patterns.machine.files if x.loops}
        # Conditions alone are in files of a few bits.
        others |= {x.name for x in self.patterns.machine.files if x.bits < 32 and type != BOOL}
        for p in self.patterns.patterns:
            own = type_of(p.value)
            if p.result.memory in others or p.lanes != lanes:
                continue
            wide = own.is_int and type.is_int and own.bits >= min(type.bits, 32)
            truth = type == BOOL and own.is_int and not lanes and p.result.memory in predicates
            if own == type or wide or truth:
                slot = (p.result.memory, lanes)
                room = self.patterns.machine.file(p.result.memory).count
                counts[slot] = counts.get(slot, 0) + room * (1 if p.result.memory in addresses else 100)
        if not counts:
            where = f"vectors of {lanes} lanes" if lanes else "registers"
            raise RefusedError(f"no operation makes {type} in {where}", self.span)
        return max(counts, key=lambda x: counts[x])

    def _reaches(self, load: Load, pattern: OperationPattern) -> bool:
        return self.access.reaches(self, load, pattern)

    # Values

    def is_held(self, expr: Expr, slot: Slot) -> bool:
        """Whether a value is in a register of a slot."""
        return self.find(expr, slot) is not None

    def find(self, expr: Expr, slot: Slot) -> StreamRegister | None:
        """The register of a slot that holds a value."""
        name = expr.array if isinstance(expr, Load) else expr.name if isinstance(expr, Var) else ""
        if name in self.cells:
            cell = self.cells[name]
            if cell.slot == slot and type_of(expr) == cell.type:
                return cell.register
        key = (expr, slot)
        home = self.home(expr)
        for scope in self.scope.chain():
            if key in scope.held:
                return scope.held[key]
            if scope is home:
                break
        return None

    def home(self, expr: Expr) -> Scope:
        """The outermost scope in which a value is the same all the time, as seen from here; a load of memory leaves no
        condition, and a loop that may not run at all only where that can be asked."""
        names = names_in(expr)
        loads = any(isinstance(x, Load) and x.array in self.memories for x in walk_expr(expr))
        for scope in self.scope.chain():
            if scope.depends(names) or scope.parent is None or (loads and scope.guards):
                return scope
            if loads and not scope.runs and scope.nonempty is None:
                return scope
        return self.root

    @contextmanager
    def within(self, scope: Scope) -> Iterator[None]:
        """What is written goes to another scope."""
        if scope is self.scope:
            yield
            return
        before, self.scope = self.scope, scope
        self.selector.forget()
        try:
            yield
        finally:
            self.scope = before
            self.selector.forget()

    def value(self, expr: Expr, slot: Slot, into: StreamRegister | None = None) -> StreamRegister:
        """A register of a slot with a value, that one if it is given; RefusedError where no operations make it."""
        found = self.find(expr, slot)
        if found is not None:
            return found if into is None or into == found else self.copy(found, into, type_of(expr), slot)
        home = self.home(expr)
        if into is None and home is not self.scope:
            left = [x for x in takewhile(lambda x: x is not home, self.scope.chain()) if not x.runs]
            if left and self._has_memory(expr):
                return self._early(expr, slot, home, left)
            with self.within(home):
                return self.value(expr, slot)
        made = self._make(expr, slot, into)
        if into is None:
            home.held[expr, slot] = made
            if home.guards and home.guarded and self._has_memory(expr):
                home.guarded[-1].append((expr, slot))
        return made

    def _early(self, expr: Expr, slot: Slot, home: Scope, loops: Sequence[Scope]) -> StreamRegister:
        """A value that loops need all of which may not run at all: it is loaded if they do."""
        inner = loops[0]
        assert inner.parent is not None and inner.nonempty is not None
        with self.within(inner.parent), self.under(inner.nonempty):
            made = self._loaded_here(expr, slot)
        inner.held[expr, slot] = made
        return made

    def _loaded_here(self, expr: Expr, slot: Slot) -> StreamRegister:
        """A value that is made where it is asked for."""
        found = self.scope.held.get((expr, slot))
        if found is None:
            found = self.scope.held[expr, slot] = self._make(expr, slot, None)
            if self.scope.guards and self.scope.guarded:
                self.scope.guarded[-1].append((expr, slot))
        return found

    def _has_memory(self, expr: Expr) -> bool:
        return any(isinstance(x, Load) and x.array in self.memories for x in walk_expr(expr))

    def _make(self, expr: Expr, slot: Slot, into: StreamRegister | None) -> StreamRegister:
        choice = self.best(expr, slot)
        if choice is None:
            raise RefusedError(self._missing(expr, slot), self.span)
        if choice.same is not None:
            return self.value(choice.same, slot, into)
        if choice.source is not None:
            assert choice.pattern is not None
            source = self.value(expr, choice.source)
            into = into or self.fresh(slot[0])
            self.write(choice.pattern, {_operand(choice.pattern): source}, into)
            return into
        if choice.pattern is None:
            found = self.find(expr, slot)
            assert found is not None
            return found if into is None else self.copy(found, into, type_of(expr), slot)
        return self._operate(choice.pattern, choice.bindings or {}, slot, into)

    def best(self, expr: Expr, slot: Slot) -> OperationChoice | None:
        """The cheapest way to have a value in a slot; counters of loops are in registers then."""
        for name in counters_in(expr) - self.cells.keys():
            self.access.variable(self, name)
        return self.selector.best(expr, slot)

    def _operate(
        self, pattern: OperationPattern, bound: dict[str, Expr], slot: Slot, into: StreamRegister | None
    ) -> StreamRegister:
        made: dict[str, Operand] = {}
        place: AccessPlace | None = None
        tied = pattern.result.name if pattern.is_tied else ""
        for name, expr in sorted(bound.items(), key=lambda x: x[0] == tied):
            where = operand_slot(pattern, name)
            if where is None:
                assert isinstance(expr, Const)
                made[name] = Immediate(expr.value)
            elif where[0] in {x.name for x in self.patterns.machine.memories}:
                assert isinstance(expr, Load)
                made[name], place = self.access.address(self, expr, where[0], where[1])
            else:
                made[name] = self.value(expr, where)
        if tied:
            into = self._tie(made, bound[tied], tied, type_of(pattern.value), slot, into)
        if into is not None and into in made.values() and pattern.operation.sequence:
            # Of a sequence some operations read operands when others have written.
            apart = self.fresh(slot[0])
            self.write(pattern, made, apart, place)
            return self.copy(apart, into, type_of(pattern.value), slot)
        into = into or self.fresh(slot[0])
        self.write(pattern, made, into, place)
        return into

    def _tie(
        self, made: dict[str, Operand], expr: Expr, tied: str, type: Type, slot: Slot, into: StreamRegister | None
    ) -> StreamRegister:
        """The register that an operation changes: it holds the old value, which nothing else needs any more."""
        old = made.pop(tied)
        assert isinstance(old, StreamRegister)
        if into is not None and (old == into or into not in made.values()):
            return self.copy(old, into, type, slot)
        if into is None and self.uses.get(expr, 2) <= 1 and self.find(expr, slot) == old and self._is_own(expr, old):
            self.forget_register(old)
            return old
        return self.copy(old, self.fresh(slot[0]), type, slot)

    def _is_own(self, expr: Expr, register: StreamRegister) -> bool:
        """Whether a register holds a value of this scope that is no variable's."""
        own = any(x == register for x in self.scope.held.values()) and self.home(expr) is self.scope
        return own and all(x.register != register for x in self.cells.values())

    def forget_register(self, register: StreamRegister) -> None:
        """A register holds something else from now on."""
        for scope in self.scope.chain():
            for key in [k for k, x in scope.held.items() if x == register]:
                del scope.held[key]
        self.selector.forget()

    def copy(self, source: StreamRegister, into: StreamRegister, type: Type, slot: Slot) -> StreamRegister:
        """`into` with what another register of its slot holds; itself where that is the same one."""
        if source == into:
            return into
        pattern = self.selector.copy(type, slot)
        if pattern is None:
            raise RefusedError(f"no operation copies a register of {slot[0]}", self.span)
        self.write(pattern, {_operand(pattern): source}, into)
        return into

    def write(
        self, pattern: OperationPattern, made: dict[str, Operand], into: Operand, place: AccessPlace | None = None,
        guard: Guard | None = None,
    ) -> None:  # fmt: skip
        """Append an operation with its operands, in the order of its definition."""
        kernel = pattern.operation.definition
        names = (*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays))
        given = {**made, pattern.result.name: into}
        loaded = place is not None and isinstance(into, StreamRegister)
        guard = guard or (self.guard() if loaded else None)
        operands = tuple(given[x] for x in names)
        self.scope.items.append(Instr(pattern.operation.name, operands, guard, place, self.span))

    # Conditions

    def truth(self, condition: Expr) -> Guard:
        """A guard that holds where a condition does; RefusedError where no operation tells."""
        slot = self.slot_for(BOOL, 0)
        if isinstance(condition, Unary) and condition.op == "not":
            inner = self.truth(condition.operand)
            return Guard(inner.register, not inner.negated)
        if self.is_held(condition, slot):
            return Guard(self.value(condition, slot))
        plain = self.best(condition, slot)
        if isinstance(condition, Compare) and not type_of(condition.left).is_float:
            other = negation(condition)
            found = self.best(other, slot)
            if found is not None and (plain is None or found.cost < plain.cost):
                return Guard(self.value(other, slot), True)
        return Guard(self.value(condition, slot))

    def guard(self) -> Guard | None:
        """What has to hold so that what is written now is done."""
        if not self.scope.guards:
            return None
        return self.truth(self.scope.guards[-1])

    @contextmanager
    def under(self, condition: Expr) -> Iterator[None]:
        """What is written is done only where a condition holds, too."""
        guards = self.scope.guards
        both = condition if not guards else Binary("and", guards[-1], condition)
        scope = self.scope
        self.truth(both)
        scope.guards.append(both)
        scope.guarded.append([])
        try:
            yield
        finally:
            scope.guards.pop()
            for key in scope.guarded.pop():
                scope.held.pop(key, None)
            self.selector.forget()

    def _missing(self, expr: Expr, slot: Slot) -> str:
        """Which part of an expression no operation makes."""
        for x in _smallest_first(expr):
            if isinstance(x, Const | Var) and x.type == INDEX and x != expr:
                continue
            lanes = slot[1] if varies(x) else 0
            try:
                own = self.slot_for(type_of(x), lanes)
            except RefusedError as error:
                return str(error)
            if self.selector.best(x, own) is None:
                if isinstance(x, Load):
                    return f"the lanes of `{print_expr(x)}` are no neighbours in memory"
                where = f"in {lanes} lanes" if lanes else "of one value"
                return f"no operation computes `{print_expr(x)}` ({type_of(x)}) {where}"
        return f"`{print_expr(expr)}` cannot be moved to registers {slot[0]}"


def negation(x: Compare) -> Compare:
    """The opposite comparison, of whole numbers."""
    return replace(x, op=OPPOSITE[x.op])


def _operand(pattern: OperationPattern) -> str:
    assert isinstance(pattern.value, Load)
    return pattern.value.array


def _smallest_first(expr: Expr) -> Sequence[Expr]:
    """The parts of an expression, but for subscripts, each after its own parts."""
    parts = () if isinstance(expr, Load) else children(expr)
    return [*(y for x in parts for y in _smallest_first(x)), expr]


def used_registers(items: Sequence[Item]) -> set[StreamRegister]:
    """All registers in items of a stream."""
    out: set[StreamRegister] = set()
    for item in items:
        if isinstance(item, Loop):
            out |= used_registers(item.body)
            if isinstance(item.count, StreamRegister):
                out.add(item.count)
            continue
        for x in item.operands:
            if isinstance(x, StreamRegister):
                out.add(x)
            elif isinstance(x, MemoryAddress):
                out |= {y for y in (x.base, x.offset, x.step) if isinstance(y, StreamRegister)}
        if item.guard is not None:
            out.add(item.guard.register)
    return out
