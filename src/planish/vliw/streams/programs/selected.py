"""A loop over lanes by the instructions that were selected for it: a program over registers becomes operations.

A pair of registers that are one is two neighbours here; its halves are read without an operation. An instruction that
changes what it reads gets a copy where the value is wanted later.

    write_selected(stream, loop, stores, writer.store)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.ir.expr import Binary, BinaryOp, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.expr import index as number
from planish.ir.index.polynomial import add, constant, mul
from planish.ir.nest import For
from planish.ir.traverse import variables
from planish.ir.types import I8, I16, I32, U8, U16, U32, Type
from planish.isa.select.lane_values import NoCover
from planish.isa.semantics.node import Node
from planish.select.c_text import Store
from planish.select.program import Value, in_order
from planish.select.strip import Strip, read_strip
from planish.vliw.machine import MachineOperation, operand_names
from planish.vliw.program import Instr, Operand, StreamRegister
from planish.vliw.streams.addresses import Pointers
from planish.vliw.streams.patterns import LANE
from planish.vliw.streams.programs.lane_cells import cell_of, directly, renamed
from planish.vliw.streams.selection import Slot
from planish.vliw.streams.stream import RefusedError, Stream, StreamCell

Registers = tuple[StreamRegister, ...]
"""The registers of a value: one, or the two of a pair, the low one first."""

StoreLanes = Callable[[str, tuple[Expr, ...], Expr, int], None]
"""Stores a value of so many lanes at a place of an array."""

_BITS: Mapping[tuple[int, bool], Type] = {
    (8, True): I8, (16, True): I16, (32, True): I32, (8, False): U8, (16, False): U16, (32, False): U32,
}  # fmt: skip
_INFIX: Mapping[str, BinaryOp] = {
    "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shr": "shr", "shl": "shl", "min": "min", "max": "max",
}  # fmt: skip


@dataclass(slots=True)
class Alignment:
    """What has to hold so that vectors are accessed at multiples of their size: where `arrays` begin is such a
    multiple, and so is each of `bytes`, expressions over sizes; `width`: that size."""

    arrays: set[str] = field(default_factory=set)
    bytes: set[Expr] = field(default_factory=set)
    width: int = 0


def write_selected(
    stream: Stream, loop: For, stores: Sequence[Store], store: StoreLanes, alignment: Alignment | None = None
) -> None:  # fmt: skip
    """Write the operations of a loop over lanes; with an `alignment`, those that access multiples of a vector, from
    which other vectors are put together. RefusedError where the machine has not the instructions, or a scalar operand
    is more than the machine computes."""
    if stream.guard() is not None:
        raise RefusedError("operations over lanes stand under a condition", stream.span)
    try:
        strip = read_strip(loop, {**stream.arrays, **stream.lane_arrays})
    except NoCover as error:
        raise RefusedError(str(error), stream.span) from error
    _SelectedWriter(stream, strip, tuple(stores), store, alignment).write()


@dataclass(slots=True)
class _SelectedWriter:
    stream: Stream
    strip: Strip
    stores: tuple[Store, ...]
    store: StoreLanes
    alignment: Alignment | None = None
    pieces: dict[Load, StreamRegister] = field(default_factory=dict)
    made: dict[Value, Registers] = field(default_factory=dict)
    uses: Counter[Value] = field(default_factory=Counter)
    partners: dict[StreamRegister, StreamRegister] = field(default_factory=dict)
    own: set[Value] = field(default_factory=set)
    cells: set[StreamRegister] = field(default_factory=set)
    moves: list[tuple[StreamRegister, StreamRegister]] = field(default_factory=list)
    bits: int = 0
    file: str = ""

    def write(self) -> None:
        """All values, each store once nothing is loaded of its array any more."""
        roots = [x for x, _, _ in self.stores]
        library = self.stream.patterns.machine.library
        if library is None:
            raise RefusedError("the machine has no instructions for lanes", self.stream.span)
        self.file = library.vectors
        self.bits = self.stream.patterns.machine.file(self.file).bits
        for x in in_order(roots):
            self.uses.update(self.owner(y) for y in x.args)
        self.uses.update(self.owner(x) for x in roots)
        self.cells = self.own_cells(roots)
        begin = len(self.stream.scope.items)
        later = [{self.array(y) for y in in_order(roots[n + 1 :]) if y.kind == "load"} for n in range(len(roots))]
        waiting: list[Store] = []
        for n, one in enumerate(self.stores):
            for x in in_order([one[0]]):
                if x not in self.made:
                    self.made[x] = self.registers(x)
            waiting.append(one)
            for ready in [x for x in waiting if self.strip.places[x[1]].array not in later[n]]:
                waiting.remove(ready)
                self.put(ready)
        self.settle(begin)

    def owner(self, x: Value) -> Value:
        """The value whose registers a part of it has."""
        return self.owner(x.args[0]) if x.kind == "part" else x

    def array(self, x: Value) -> str:
        return self.strip.places[str(x.detail[0])].array

    def slot(self, width: int = 32) -> Slot:
        """Where vectors of elements of so many bits are."""
        return self.file, self.bits // width

    # Values

    def registers(self, x: Value) -> Registers:
        match x.kind:
            case "load":
                row, offset = x.detail
                assert isinstance(row, str) and isinstance(offset, int)
                return self.neighbours([self.loaded(row, offset + at) for at in range(0, x.bits, self.bits)])
            case "constant" | "splat":
                return self.neighbours([self.repeated(x)] * (x.bits // self.bits))
            case "part":
                (start,) = x.detail
                assert isinstance(start, int)
                first = start // self.bits
                return self.made[x.args[0]][first : first + x.bits // self.bits]
            case "scalar":
                return (self.number(x),)
            case "call":
                return self.called(x)
            case "masked load" | "masked":
                raise RefusedError("a load or store of some lanes", self.stream.span)

    def element(self, row: str, offset: int) -> Load:
        """The elements of a row from a bit on, one in each lane."""
        place, least = self.strip.places[row], self.strip.rows[row][1]
        width = place.type.bits
        if offset % width:
            raise RefusedError(f"`{place.array}` is read between its elements", self.stream.span)
        last = add(place.index[-1], number(least + offset // width))
        return Load(place.array, (*place.index[:-1], add(last, LANE)), place.type)

    def cell(self, row: str, offset: int) -> StreamRegister | None:
        """The register with the lanes of a row from a bit on; None where the row is in memory."""
        place, least = self.strip.places[row], self.strip.rows[row][1]
        if place.array not in self.stream.lane_arrays:
            return None
        first = constant(add(place.index[-1], number(least + offset // place.type.bits)))
        if first is None:
            raise RefusedError(f"lanes of `{place.array}` at a place that is not known", self.stream.span)
        return cell_of(self.stream, place, first)

    def own_cells(self, roots: Sequence[Value]) -> set[StreamRegister]:
        """The registers that are loaded by one value, and stored to: they may change when that is wanted no more."""
        loaded: Counter[StreamRegister] = Counter()
        for x in in_order(roots):
            if x.kind == "load":
                row, offset = str(x.detail[0]), int(str(x.detail[1]))
                loaded.update(y for at in range(0, x.bits, self.bits) if (y := self.cell(row, offset + at)))
        stored = {
            y for x, row, offset in self.stores for at in range(0, x.bits, self.bits)
            if (y := self.cell(row, offset + at))
        }  # fmt: skip
        return {x for x in stored if loaded[x] <= 1}

    def loaded(self, row: str, offset: int) -> StreamRegister:
        if (cell := self.cell(row, offset)) is not None:
            return cell
        found = self.element(row, offset)
        if self.alignment is not None and (aligned := self.put_together(found, self.alignment)) is not None:
            return aligned
        return self.stream.value(found, self.slot(found.type.bits))

    # Aligned accesses

    def put_together(self, load: Load, alignment: Alignment) -> StreamRegister | None:
        """A vector of one that is loaded at a multiple of its size, or of two neighbours; None where neither is."""
        start = self.aligned_start(load, alignment)
        library = self.stream.patterns.machine.library
        if start is None:
            return None
        if start == 0:
            return self.piece(load, 0)
        shift = library.shifted(start, self.bits // 8) if library is not None else None
        if shift is None or start % load.type.size:
            return None
        low, high = (self.piece(load, x - start) for x in (0, self.bits // 8))
        made = self.stream.fresh(self.file)
        self.stream.scope.items.append(Instr(shift, (made, high, low), span=self.stream.span))
        return made

    def aligned_start(self, load: Load, alignment: Alignment) -> int | None:
        """How many bytes behind a multiple of a vector's size an access begins, where the alignment holds, which gets
        to know of it; None where that is not known."""
        access, width = self.stream.access, self.bits // 8
        assert isinstance(access, Pointers)
        found = access.place(self.stream, load)
        if found is None or access.lane_step(self.stream, load) != load.type.size:
            return None
        # Rows lie a multiple apart; where one ends is not asked for.
        rows = {y for x in self.stream.arrays[load.array].shape[1:] if x is not None for y in variables(x)}
        wanted: set[Expr] = set()
        for names, factor in found[0].items():
            if factor % width == 0:
                continue
            sizes = [x for x in names if isinstance(x, Var) and x.name in rows]
            if not sizes:
                return None
            wanted.add(mul(number(factor), sizes[0]))
        alignment.arrays.add(load.array)
        alignment.bytes |= wanted
        alignment.width = width
        return found[1] % width

    def piece(self, load: Load, bytes_: int) -> StreamRegister:
        """A vector that is loaded at a multiple of its size, so many bytes behind a place."""
        there = replace(load, index=(*load.index[:-1], add(load.index[-1], number(bytes_ // load.type.size))))
        if there not in self.pieces:
            operation, memory = self.aligned_operation("load", load.array)
            address, place = self.stream.access.address(self.stream, there, memory, self.bits // load.type.bits)
            made = self.pieces[there] = self.stream.fresh(self.file)
            self.stream.scope.items.append(Instr(operation.name, (made, address), None, place, self.stream.span))
        return self.pieces[there]

    def aligned_operation(self, kind: str, array: str) -> tuple[MachineOperation, str]:
        """The operation that loads, or stores, a vector at multiples of its size; and the memory."""
        machine = self.stream.patterns.machine
        for x in machine.operations:
            if x.aligned == self.bits // 8 and machine.kind(x.name) == kind:
                memory = next(y.memory for y in x.definition.arrays if y.memory in self.stream.memories[array])
                return x, memory
        raise RefusedError(f"no operation is for vectors at multiples of {self.bits // 8} bytes", self.stream.span)

    def repeated(self, x: Value) -> StreamRegister:
        """A register whose lanes have a period of no more than 32 bits."""
        width, lanes = x.detail
        assert isinstance(width, int) and isinstance(lanes, tuple)
        period = width * len(lanes)
        if 32 % period:
            raise RefusedError(f"a constant with a period of {period} bits", self.stream.span)
        return self.stream.value(self.packed(width, lanes * (32 // period)), self.slot())

    def number(self, x: Value) -> StreamRegister:
        """A scalar operand."""
        width, lanes = x.detail
        assert isinstance(width, int) and isinstance(lanes, tuple)
        return self.stream.value(self.packed(width, lanes), self.stream.slot_for(I32, 0))

    def neighbours(self, given: Sequence[StreamRegister]) -> Registers:
        """Registers that are one: two of which neither is part of another pair yet."""
        if len(given) == 1:
            return tuple(given)
        low, high = given
        if low == high or self.partners.get(low, high) != high or self.partners.get(high, low) != low:
            low, high = (self.copied(x) for x in given)
        self.partners |= {low: high, high: low}
        return low, high

    def copied(self, register: StreamRegister) -> StreamRegister:
        return self.stream.copy(register, self.stream.fresh(self.file), I32, self.slot())

    # Instructions

    def called(self, x: Value) -> Registers:
        """The registers that an instruction leaves its result in."""
        tag, fixed = str(x.detail[0]), x.detail[1]
        operation = self.operation(tag, fixed)
        given = dict(zip(self.parameters(tag), x.args, strict=True))
        written = [y.name for y in self.stream.patterns.machine.written(operation.name)]
        tied = next((y for y in given if written[0] in (y, f"{y}_low")), None)
        for y in x.args:
            self.uses[self.owner(y)] -= 1
        if tied is not None:
            made = self.changeable(given[tied])
        else:
            made = self.neighbours_of([self.stream.fresh(self.file) for _ in written])
        operands: list[Operand] = []
        for name in operand_names(operation.definition):
            if name in written:
                operands.append(made[written.index(name)])
                continue
            base, _, part = name.rpartition("_") if name not in given else (name, "", "")
            operands.append(self.made[given[base]][part == "high"])
        self.stream.scope.items.append(Instr(operation.name, tuple(operands), span=self.stream.span))
        self.own.add(x)
        return made

    def neighbours_of(self, fresh: Sequence[StreamRegister]) -> Registers:
        return self.neighbours(fresh) if len(fresh) > 1 else tuple(fresh)

    def changeable(self, x: Value) -> Registers:
        """Registers with a value that may be changed: its own, if it is not wanted any more, or copies."""
        owner = self.owner(x)
        owned = owner in self.own or (owner.kind == "load" and self.cells.issuperset(self.made[owner]))
        if owner is x and owned and not self.uses[owner]:
            return self.made[x]
        return self.neighbours_of([self.copied(y) for y in self.made[x]])

    def parameters(self, tag: str) -> list[str]:
        """The names of an instruction's operands that are no numbers in its text, in the order of its arguments."""
        library = self.stream.patterns.machine.library
        return list(library.parameters(tag)) if library is not None else []

    def operation(self, tag: str, fixed: object) -> MachineOperation:
        assert isinstance(fixed, tuple)
        name = ".".join([tag, *(str(y) for _, y in fixed)])
        try:
            return self.stream.patterns.machine.operation(name)
        except KeyError as error:
            raise RefusedError(f"the machine has no operation for {tag}", self.stream.span) from error

    def put(self, one: Store) -> None:
        """A store of all registers of a value."""
        value, row, offset = one
        for n, register in enumerate(self.made[value]):
            if (cell := self.cell(row, offset + n * self.bits)) is not None:
                self.moves.append((register, cell))
                continue
            target = self.element(row, offset + n * self.bits)
            if self.alignment is not None and self.aligned_start(target, self.alignment) == 0:
                operation, memory = self.aligned_operation("store", target.array)
                address, place = self.stream.access.address(
                    self.stream, target, memory, self.bits // target.type.bits
                )  # fmt: skip
                made = Instr(operation.name, (address, register), None, place, self.stream.span)
                self.stream.scope.items.append(made)
                for scope in self.stream.scope.chain():
                    scope.drop(frozenset({target.array}))
                continue
            lanes = self.bits // target.type.bits
            name = f"&lanes{self.stream.count}"
            self.stream.count += 1
            self.stream.scope.mutated |= {name}
            self.stream.cells[name] = StreamCell(register, (self.file, lanes), target.type)
            self.stream.selector.forget()
            self.store(target.array, target.index, Load(name, (LANE,), target.type), lanes)
            del self.stream.cells[name]
        self.stream.selector.forget()

    def settle(self, begin: int) -> None:
        """Cells get what is stored to them, once all that they held has been read: where it was made, or by copies."""
        items = self.stream.scope.items
        own = [x for x in items[begin:] if isinstance(x, Instr)]
        machine = self.stream.patterns.machine
        written = [{x.operands[n] for n in machine.written_places(x.operation)} for x in own]
        moves = [(x, y) for x, y in self.moves if x != y]
        kept = {x.operands[1] for x in own if x.place is not None and len(x.operands) > 1}
        made = {y for x in self.own for y in self.made[x]} - self.cells - kept
        names = directly(own, moves, made, self.partners, written)
        items[begin:] = renamed(own, names)
        left = [(x, y) for x, y in moves if x not in names]
        targets = {y for _, y in left}
        sources = {x: self.copied(x) if x in targets else x for x, _ in left}
        for x, y in left:
            self.stream.copy(sources[x], y, I32, self.slot())
        for scope in self.stream.scope.chain():
            scope.drop(frozenset(self.strip.places[x[1]].array for x in self.stores))
        self.stream.selector.forget()

    # Scalars

    def packed(self, width: int, lanes: Sequence[object]) -> Expr:
        """Numbers side by side in 32 bits."""
        if not any(isinstance(x, Node) and x.constant is None for x in lanes):
            total = 0
            for at, x in enumerate(lanes):
                plain = x.low if isinstance(x, Node) else x
                assert isinstance(plain, int)
                total |= (plain & (1 << width) - 1) << at * width
            return Const(total - (1 << 32) if total >> 31 else total, I32)
        first = lanes[0]
        if isinstance(first, Node) and all(x is first for x in lanes):
            factor = sum(1 << at * width for at in range(len(lanes)))
            one = self.term(first)
            if factor > 1:
                one = Binary("mul", Binary("and", one, Const((1 << width) - 1, I32)), Const(factor, I32))
            return one
        found: Expr | None = None
        for at, x in enumerate(lanes):
            assert isinstance(x, Node | int)
            if (x.constant if isinstance(x, Node) else x) == 0:
                continue
            value = self.term(x) if isinstance(x, Node) else Const(x, I32)
            low: Expr = Binary("and", value, Const((1 << width) - 1, I32))
            low = Binary("shl", low, Const(at * width, I32)) if at else low
            found = low if found is None else Binary("or", found, low)
        assert found is not None
        return found

    def term(self, x: Node) -> Expr:
        """A value that is the same in all lanes, as one of 32 bits."""
        if x.low < -(1 << 31) or x.high >= 1 << 32:
            raise RefusedError("a scalar of more than 32 bits", self.stream.span)
        match x.op:
            case "const":
                return Const(x.low, I32)
            case "bits" if str(x.attr[0]) in self.strip.scalars and x.args[0].constant is not None:
                name, width, signed = x.attr
                start = x.args[0].constant
                return self.extended(self.strip.scalars[str(name)], int(start or 0), int(width), bool(signed))
            case "wrap":
                return self.cut(self.term(x.args[0]), int(x.attr[0]), bool(x.attr[1]))
            case "add":
                first, *rest = map(self.term, x.args)
                for y in rest:
                    first = Binary("add", first, y)
                return first
            case "invert":
                return Unary("bitnot", self.term(x.args[0]))
            case "lt" | "le" | "eq" as op if all(y.high < 1 << 31 for y in x.args):
                return Cast(Compare(op, *map(self.term, x.args)), I32)
            case "select":
                condition = Compare("ne", self.term(x.args[0]), Const(0, I32))
                return Select(condition, *map(self.term, x.args[1:]))
            case op if op in _INFIX:
                return Binary(_INFIX[op], *map(self.term, x.args))
            case op:
                raise RefusedError(f"a scalar made by `{op}`", self.stream.span)

    def extended(self, given: Expr, start: int, width: int, signed: bool) -> Expr:
        """Some bits of a scalar, of which its register holds the low ones, whatever is above."""
        word = self.word(given)
        if start + width < 32 or signed:
            left = Const(32 - start - width, I32)
            word = Binary("shl", word, left) if left.value else word
        kind = I32 if signed else U32
        right = Const(32 - width if start + width < 32 or signed else start, kind)
        moved = Binary("shr", word if kind == I32 else Cast(word, U32), right) if right.value else word
        return moved if type_of(moved) == I32 else Cast(moved, I32)

    def word(self, given: Expr) -> Expr:
        """The register of a scalar as a number of 32 bits."""
        stream, kind = self.stream, type_of(given)
        if kind.bits == 32 and kind.is_int:
            return given
        home = stream.home(given)
        with stream.within(home):
            register = stream.value(given, stream.slot_for(kind, 0))
        # A register that is written once has one name: what one strip has made of it is there for the next one.
        name = f"&word of {register}"
        if any(x.register == register for y, x in stream.cells.items() if y != name):
            name = f"&word{stream.count}"
            stream.count += 1
        home.mutated |= {name} if home is not stream.root else frozenset()
        stream.cells[name] = StreamCell(register, (register.file, 0), I32)
        stream.selector.forget()
        return Load(name, (), I32)

    def cut(self, x: Expr, width: int, signed: bool) -> Expr:
        kind = _BITS.get((width, signed))
        if kind is None and not signed:
            return Binary("and", x, Const((1 << width) - 1, I32))
        if kind is None:
            left = Const(32 - width, I32)
            return Binary("shr", Binary("shl", x, left), left)
        inner = x if type_of(x) == kind else Cast(x, kind)
        return inner if kind == I32 else Cast(inner, I32)
