"""A nest becomes a stream of a machine's operations: statements, loops, conditions, and loops over lanes.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.description import load_machine
>>> text = "kernel axpy(n; a: f32, x: f32[n], y: f32[n]) { for i in 0 .. n { y[i] += a * x[i] } }"
>>> made = lower(parse_kernel(text), load_machine("ftmatrix"))
>>> loop = made.program.body[-1]
>>> [x.operation for x in loop.body]
['SLDW', 'SLDW', 'SFMULAS32', 'SSTW']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from planish.ir.expr import Binary, Cast, Compare, Expr, Load, Select, Unary, Var, index, type_of
from planish.ir.index.polynomial import add as plus
from planish.ir.index.polynomial import constant, floordiv, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import (
    WORK,
    bindings,
    expressions,
    loads,
    map_block,
    map_exprs,
    stored_arrays,
    substitute,
    variables,
    walk,
    walk_expr,
)
from planish.ir.types import BOOL, INDEX, Type
from planish.select.c_text import Store
from planish.vliw.machine import VliwMachine
from planish.vliw.program import Loop, StreamParameter, StreamProgram, StreamRegister
from planish.vliw.streams.addresses import Pointers, base_name
from planish.vliw.streams.moves import write_transfer
from planish.vliw.streams.named_values import derive_sizes, without_names
from planish.vliw.streams.patterns import LANE, OperationPattern, PatternSet, SumPattern, read_patterns
from planish.vliw.streams.placement import LANES, place_arrays
from planish.vliw.streams.programs.lane_cells import allocate_lanes, row_cells
from planish.vliw.streams.programs.selected import Alignment, write_selected
from planish.vliw.streams.selection import operand_slot, varies
from planish.vliw.streams.stream import RefusedError, Scope, Stream, StreamCell, used_registers


@dataclass(frozen=True, slots=True)
class Given:
    """What a parameter of a stream is: the address of `array` in `memory`, the value of a scalar or size (`name`), or
    what an expression over sizes is (`value`), which the caller computes."""

    parameter: StreamParameter
    array: Array | None = None
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class LoweredStream:
    """A stream, and what its parameters are. `sizes`: those of the kernel that follow from others; `plain`: arrays
    whose rows are padded, as they are without that; `trips`: how often loops run, by their names."""

    kernel: Kernel
    program: StreamProgram
    given: tuple[Given, ...]
    sizes: Mapping[str, Expr] = field(default_factory=dict)
    plain: Mapping[str, Array] = field(default_factory=dict)
    trips: Mapping[str, Expr] = field(default_factory=dict)


_PATTERNS: dict[int, tuple[VliwMachine, PatternSet]] = {}


def patterns_of(machine: VliwMachine) -> PatternSet:
    """The patterns of a machine, read once."""
    known = _PATTERNS.get(id(machine))
    if known is None or known[0] is not machine:
        known = _PATTERNS[id(machine)] = (machine, read_patterns(machine))
    return known[1]


def lower(
    kernel: Kernel, machine: VliwMachine, contract: bool = True, sizes: Mapping[str, Expr] | None = None,
    plain: Mapping[str, Array] | None = None, programs: Mapping[str, Sequence[Store]] | None = None,
    pointers: int = 0, alignment: Alignment | None = None,
) -> LoweredStream:  # fmt: skip
    """The stream of a kernel; `contract`: a product and a sum may be rounded once. Loops that are marked `simd` and run
    over as many lanes as vectors have are done by operations over lanes; those that are named after one of the
    `programs`, by its instructions. `pointers`: no more than so many move in a loop (0: as
    many as there are addresses). `alignment`: vectors of
    programs are taken to lie where it gets to know that they have to. `sizes`, `plain`: as of `LoweredStream`.

    RefusedError where no operation does what is needed.
    """
    kernel = without_names(kernel, (programs or {}).keys())
    kernel, derived = derive_sizes(kernel)
    patterns = patterns_of(machine)
    writer = _Writer(kernel, Stream(patterns, Pointers(pointers), contract), derived, programs or {}, alignment)
    return replace(writer.written(), sizes=sizes or {}, plain=plain or {})


@dataclass(slots=True)
class _Writer:
    """Writes the statements of a kernel into a stream."""

    kernel: Kernel
    stream: Stream
    derived: dict[str, Expr]
    programs: Mapping[str, Sequence[Store]] = field(default_factory=dict)
    alignment: Alignment | None = None
    given: list[Given] = field(default_factory=list)
    trips: dict[str, Expr] = field(default_factory=dict)

    def written(self) -> LoweredStream:
        stream, kernel = self.stream, self.kernel
        own = [x.array for x in walk(kernel.body) if isinstance(x, Alloc) and x.array.shape and x.array.memory != LANES]
        arrays = (*(x for x in kernel.arrays if x.shape), *own)
        stream.memories = place_arrays(kernel, stream.patterns, arrays)
        stream.arrays = {x.name: x for x in kernel.arrays} | {x.name: x for x in own}
        self.given += [*self.numbers(), *self.addresses(arrays)]
        cells = [x for x in kernel.arrays if not x.shape]
        self.given += self.cells(cells)
        self.block(kernel.body)
        self.store_cells(cells)
        used = used_registers(stream.root.items)
        kept = tuple(x for x in self.given if x.parameter.register in used)
        program = StreamProgram(kernel.name, tuple(x.parameter for x in kept), tuple(stream.root.items))
        return LoweredStream(kernel, program, kept, trips=self.trips)

    def numbers(self) -> Iterable[Given]:
        """Sizes and scalars, which come in registers."""
        values = [(x, INDEX) for x in self.kernel.sizes] + [(x.name, x.type) for x in self.kernel.scalars]
        for name, kind in values:
            slot = self.stream.slot_for(kind, 0)
            register = StreamRegister(slot[0], name)
            self.stream.cells[name] = StreamCell(register, slot, kind)
            yield Given(StreamParameter(name, register), None, self.derived.get(name))

    def addresses(self, arrays: Sequence[Array]) -> Iterable[Given]:
        """The addresses of arrays, which come in registers, too."""
        for array in arrays:
            # Addresses that blocks are moved by are only bases of sums: they need not be where bases of accesses are.
            is_moved = array.memory in self.stream.memories[array.name] or "+" in array.memory
            slot = self.stream.slot_for(INDEX, 0) if is_moved else Pointers().address_slot(self.stream)
            for memory in self.stream.memories[array.name]:
                name = base_name(array.name, memory)
                register = StreamRegister(slot[0], name[1:])
                self.stream.cells[name] = StreamCell(register, slot, INDEX)
                yield Given(StreamParameter(name[1:], register, memory), array)

    def cells(self, cells: Sequence[Array]) -> Iterable[Given]:
        """Scalars behind addresses: they are in registers while the stream runs."""
        slot = Pointers().address_slot(self.stream)
        for array in cells:
            home = f"{array.name}*"
            self.stream.arrays[home] = replace(array, name=home)
            self.stream.memories |= place_arrays(self.kernel, self.stream.patterns, (replace(array, name=home),))
            memory = self.stream.memories[home][0]
            register = StreamRegister(slot[0], f"{array.name}@{memory}")
            self.stream.cells[base_name(home, memory)] = StreamCell(register, slot, INDEX)
            where = self.stream.slot_for(array.type, 0)
            cell = StreamCell(self.stream.fresh(where[0], array.name), where, array.type)
            self.stream.value(Load(home, (), array.type), where, cell.register)
            self.stream.cells[array.name] = cell
            yield Given(StreamParameter(f"{array.name}@{memory}", register, memory), array)

    def store_cells(self, cells: Sequence[Array]) -> None:
        """What was changed of these goes back."""
        for array in cells:
            if array.name in stored_arrays(self.kernel.body):
                self.store(f"{array.name}*", (), Load(array.name, (), array.type), 0)

    # Statements

    def block(self, block: Block, lanes: int = 0) -> None:
        """Statements in order."""
        self.count_uses(block)
        for stmt in block.body:
            self.statement(stmt, lanes)

    def count_uses(self, block: Block) -> None:
        """How often values are used in statements that follow one another."""
        counts: Counter[Expr] = Counter()
        for stmt in block.body:
            stmts = stmt.body.body if isinstance(stmt, For) and stmt.facts.simd else (stmt,)
            for x in stmts:
                value = updated(x) if isinstance(x, Reduce) else None
                own = {stmt.var: LANE} if isinstance(stmt, For) else {}
                for e in (value,) if value is not None else expressions(x):
                    counts.update(walk_expr(substitute(e, own)))
        self.stream.uses = dict(counts)

    def statement(self, stmt: Stmt, lanes: int) -> None:
        stream = self.stream
        stream.span = getattr(stmt, "span", None) or stream.span
        match stmt:
            case Block():
                self.block(stmt, lanes)
            case For() if stmt.facts.simd and self.is_vector(stmt):
                own = {stmt.var: LANE}
                body = map_block(lambda s: map_exprs(lambda e: substitute(e, own), s), stmt.body)
                for x in body.body:
                    self.statement(x, int(constant(stmt.upper) or 0))
            case For() if stmt.facts.instruction in self.programs:
                write_selected(stream, stmt, self.programs[stmt.facts.instruction], self.store, self.alignment)
            case For() if stmt.facts.instruction:
                write_transfer(stream, stmt)
                self.changed(*stored_arrays(stmt))
            case For():
                self.loop(stmt)
            case If() if lanes:
                self.choose(stmt, lanes)
            case If():
                self.branch(stmt)
            case Assign(array=name, index=subscripts, value=value):
                self.assign(name, subscripts, value, lanes)
            case Reduce(array=name, index=subscripts, value=value):
                if lanes and varies(value) and not any(varies(x) for x in subscripts):
                    self.sum(stmt, lanes)
                else:
                    self.assign(name, subscripts, updated(stmt), lanes)
            case Alloc(array=array):
                self.allocate(array)
            case Let():
                raise AssertionError("named values are cells")
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)

    def is_vector(self, loop: For) -> bool:
        """Whether a loop runs over the lanes of a vector."""
        trip = constant(sub(loop.upper, loop.lower))
        return trip in self.stream.patterns.lane_counts and constant(loop.lower) == 0 and loop.step == 1

    def allocate(self, array: Array) -> None:
        """A scalar, or a vector, gets a register; other arrays are in memory."""
        if array.shape and array.memory != LANES:
            return
        if array.memory == LANES and self.programs:
            allocate_lanes(self.stream, array)
            return
        lanes = int(constant(array.shape[0]) or 0) if array.shape and array.shape[0] is not None else 0
        slot = self.stream.slot_for(array.type, lanes)
        self.stream.cells[array.name] = StreamCell(self.stream.fresh(slot[0], array.name), slot, array.type)

    def assign(self, name: str, subscripts: tuple[Expr, ...], value: Expr, lanes: int) -> None:
        cell, guard = self.stream.cells.get(name), self.stream.guard()
        if cell is None and name in self.stream.lane_arrays:
            cells = row_cells(self.stream, name) if guard is None and not varies(value) else ()
            if not cells or subscripts != (LANE,):
                raise RefusedError(f"lanes of `{name}` in several registers are not set to one value", self.stream.span)
            for x in cells:
                self.stream.value(value, x.slot, x.register)
            self.changed(name)
            return
        if cell is None:
            self.store(name, subscripts, value, lanes)
            return
        if guard is None:
            self.stream.value(value, cell.slot, cell.register)
        else:
            made = self.stream.value(value, cell.slot)
            pattern = self.stream.selector.copy(cell.type, cell.slot)
            if pattern is None:
                raise RefusedError(f"no operation copies a register of {cell.slot[0]}", self.stream.span)
            assert isinstance(pattern.value, Load)
            self.stream.write(pattern, {pattern.value.array: made}, cell.register, None, guard)
        self.changed(name)

    def changed(self, *names: str) -> None:
        """Values that depend on a name are to be computed anew."""
        for scope in self.stream.scope.chain():
            scope.drop(frozenset(names))
        self.stream.selector.forget()

    def store(self, name: str, subscripts: tuple[Expr, ...], value: Expr, lanes: int) -> None:
        """An element, or one of each lane, goes to memory."""
        stream = self.stream
        target = Load(name, subscripts, type_of(value))
        pattern, given = self.store_pattern(target, value, lanes)
        (operand,) = [x.array for x in loads(pattern.value)]
        slot = operand_slot(pattern, operand)
        assert slot is not None
        made = stream.value(given, slot)
        memory = pattern.result.memory
        address, place = stream.access.address(stream, target, memory, pattern.lanes)
        stream.write(pattern, {operand: made}, address, place, stream.guard())
        self.changed(name)
        if not stream.scope.guards and type_of(value) == stream.arrays[name].type:
            stream.scope.held[target, slot] = made

    def store_pattern(self, target: Load, value: Expr, lanes: int) -> tuple[OperationPattern, Expr]:
        """The operation that stores an element, and what is given to it."""
        stream = self.stream
        memories = {x.name for x in stream.patterns.machine.memories}
        best: tuple[float, OperationPattern, Expr] | None = None
        for pattern in stream.patterns.patterns:
            if pattern.result.memory not in memories or pattern.lanes != lanes:
                continue
            if not _stores(pattern, stream.arrays[target.array].type) or not _in_reach(stream, target, pattern):
                continue
            given = value
            slot = operand_slot(pattern, next(x.array for x in loads(pattern.value)))
            assert slot is not None
            choice = stream.best(given, slot)
            if choice is not None and (best is None or choice.cost < best[0]):
                best = choice.cost, pattern, given
        if best is None:
            slot = stream.slot_for(type_of(value), lanes if varies(value) else 0)
            stream.value(value, slot)
            what = f"vectors of `{target.array}`" if lanes else f"`{target.array}`"
            raise RefusedError(f"no operation stores {what} ({type_of(value)})", stream.span)
        return best[1], best[2]

    def sum(self, stmt: Reduce, lanes: int) -> None:
        """All lanes are combined in a scalar."""
        stream = self.stream
        cell = stream.cells.get(stmt.array)
        kind = type_of(stmt.value)
        found = next((x for x in stream.patterns.sums if _combines(x, stmt.op, lanes, kind)), None)
        if cell is None or found is None:
            raise RefusedError(f"no operation combines {lanes} lanes of {kind} by {stmt.op}", stream.span)
        source = stream.value(stmt.value, (found.source.memory, lanes))
        name = f"&sum{stream.count}"
        slot = (found.result.memory, 0)
        total = stream.fresh(slot[0], "sum")
        stream.write(_as_pattern(found), {found.source.name: source}, total)
        stream.scope.mutated |= {name}
        stream.cells[name] = StreamCell(total, slot, kind)
        self.assign(stmt.array, (), updated(replace(stmt, value=Load(name, (), kind))), 0)

    # Control

    def choose(self, stmt: If, lanes: int) -> None:
        """A condition in lanes: what is assigned is chosen."""
        for block, holds in ((stmt.then, True), (stmt.otherwise, False)):
            for x in block.body:
                if not isinstance(x, Assign | Reduce):
                    raise RefusedError("a loop under a condition that differs from lane to lane", self.stream.span)
                old = Load(x.array, x.index, type_of(x.value))
                new = updated(x) if isinstance(x, Reduce) else x.value
                both = (new, old) if holds else (old, new)
                self.assign(x.array, x.index, Select(stmt.condition, *both), lanes)

    def branch(self, stmt: If) -> None:
        """A condition: what is in it is guarded. The condition is looked at once."""
        self.stream.count += 1  # conditions inside have names of their own
        name = f"&if{self.stream.count}"
        slot = self.stream.slot_for(BOOL, 0)
        guard = self.stream.truth(stmt.condition)
        self.stream.scope.mutated |= {name}
        self.stream.cells[name] = StreamCell(guard.register, (guard.register.file, slot[1]), BOOL)
        holds: Expr = Load(name, (), BOOL)
        if guard.register in _variables(self.stream):
            held = self.stream.copy(guard.register, self.stream.fresh(slot[0], "if"), BOOL, slot)
            self.stream.cells[name] = StreamCell(held, slot, BOOL)
        fails: Expr = Unary("not", holds)
        for block, condition in ((stmt.then, holds), (stmt.otherwise, fails)):
            if block.body:
                with self.stream.under(_negated(condition) if guard.negated else condition):
                    self.block(block)
        del self.stream.cells[name]

    def loop(self, stmt: For) -> None:
        """A loop over a number of iterations that is known on entry."""
        stream, outer = self.stream, self.stream.scope
        trip = self.derive(_trip(replace(stmt, lower=self.plain(stmt.lower), upper=self.plain(stmt.upper))))
        known = constant(trip)
        if known is not None and known <= 0:
            return
        # Under a condition a register says how often: not at all where that does not hold.
        count = known if known is not None and not outer.guards else self.trip_count(trip)
        changed = frozenset({stmt.var, *stored_arrays(stmt), *bindings(stmt)})
        some = Compare("lt", stmt.lower, stmt.upper)
        inner = Scope(stmt.var, changed, outer, stmt.lower, stmt.step, isinstance(count, int), some)
        stream.selector.forget()
        stream.scope = inner
        uses = stream.uses
        try:
            self.block(stmt.body)
            stream.access.finish(stream)
        finally:
            stream.scope, stream.uses = outer, uses
        name = f"{stmt.var}{stream.count}"
        self.trips[name] = self.plain(trip)
        outer.items.append(Loop(name, count, tuple(inner.items), 0, 1, stmt.span))
        for scope in outer.chain():
            scope.drop(inner.mutated)
        stream.selector.forget()

    def plain(self, x: Expr) -> Expr:
        """An expression over the sizes that there were."""
        return substitute(x, self.derived)

    def derive(self, x: Expr) -> Expr:
        """What takes more than sums and products of sizes is a parameter, which the caller computes."""
        own = variables(x)
        known = set(self.kernel.sizes) - self.derived.keys()
        if not own or not own <= known or not any(isinstance(y, Binary) and y.op in WORK for y in walk_expr(x)):
            return x
        name = next((n for n, y in self.derived.items() if y == x), None)
        if name is None:
            name = f"size.{len(self.derived)}"
            self.derived[name] = x
            slot = self.stream.slot_for(INDEX, 0)
            register = StreamRegister(slot[0], name)
            self.stream.cells[name] = StreamCell(register, slot, INDEX)
            self.given.append(Given(StreamParameter(name, register), None, x))
        return Var(name, INDEX)

    def trip_count(self, trip: Expr) -> StreamRegister:
        """How often a loop runs, in a register: not at all where its condition does not hold."""
        stream = self.stream
        slot = stream.slot_for(INDEX, 0)
        count = stream.value(trip, slot)
        guard = stream.guard()
        if guard is None:
            return count
        made = stream.fresh(slot[0], "trip")
        stream.value(index(0), slot, made)
        pattern = stream.selector.copy(INDEX, slot)
        assert pattern is not None and isinstance(pattern.value, Load)
        stream.write(pattern, {pattern.value.array: count}, made, None, guard)
        return made


def _trip(loop: For) -> Expr:
    """How often a loop runs, where that is more than 0."""
    span = sub(loop.upper, loop.lower)
    if loop.step == 1:
        return simplify(span)
    return simplify(floordiv(plus(span, index(loop.step - 1)), index(loop.step)))


def _negated(x: Expr) -> Expr:
    return x.operand if isinstance(x, Unary) and x.op == "not" else Unary("not", x)


def _variables(stream: Stream) -> set[StreamRegister]:
    return {x.register for name, x in stream.cells.items() if not name.startswith("&")}


def _combines(found: SumPattern, op: str, lanes: int, kind: Type) -> bool:
    """Whether an operation joins lanes of a type; sums wrap around with a sign as without."""
    own = found.result.type
    alike = own == kind or (op == "add" and own.is_int and kind.is_int and own.bits == kind.bits)
    return (found.op, found.lanes) == (op, lanes) and alike


def _as_pattern(found: SumPattern) -> OperationPattern:
    """What writes a sum's operation: it has one operand besides its result."""
    return OperationPattern(found.operation, found.result, Load(found.source.name, (LANE,), found.source.type), 0)


def _stores(pattern: OperationPattern, kind: Type) -> bool:
    """Whether an operation stores elements of a type: their bits, or the low ones of a register."""
    own = pattern.result.type
    inner = loads(pattern.value)
    value = pattern.value.operand if isinstance(pattern.value, Cast) else pattern.value
    return len(inner) == 1 and value == inner[0] and own.bits == kind.bits and (own.is_float == kind.is_float)


def _in_reach(stream: Stream, target: Load, pattern: OperationPattern) -> bool:
    access = stream.access
    assert isinstance(access, Pointers)
    array = stream.arrays[target.array]
    near = pattern.result.memory in stream.memories.get(target.array, ())
    return near and access.lane_step(stream, target) == (array.type.size if pattern.lanes else 0)
