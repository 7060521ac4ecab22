"""Addresses of accesses: pointers that move with the loops around them, so that nothing is multiplied in a loop.

>>> from planish.ir.expr import Var
>>> i, n = Var("i", INDEX), Var("n", INDEX)
>>> split_constant(polynomial(add(mul(i, n), index(3))))
({(Var(name='i', type=Type(kind='int', bits=64)), Var(name='n', type=Type(kind='int', bits=64))): 1}, 3)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planish.ir.expr import Binary, Expr, Load, Var, index
from planish.ir.index.polynomial import (
    Polynomial,
    add,
    build,
    constant,
    linear_in,
    mul,
    normal,
    polynomial,
    show,
    sub,
)
from planish.ir.index.polynomial import place as put
from planish.ir.nest import Array
from planish.ir.types import INDEX
from planish.vliw.program import AccessPlace, Instr, Loop, MemoryAddress, StreamRegister
from planish.vliw.streams.patterns import LANE, OperationPattern
from planish.vliw.streams.selection import operand_slot
from planish.vliw.streams.stream import RefusedError, Scope, Stream, StreamCell, StreamPointer, names_in


def split_constant(terms: Polynomial) -> tuple[Polynomial, int]:
    """A polynomial without its constant, and that."""
    return {m: c for m, c in terms.items() if m}, terms.get((), 0)


def linear_bytes(array: Array, subscripts: tuple[Expr, ...]) -> Expr:
    """By how many bytes an element is behind the first one of its array."""
    total: Expr = index(0)
    stride: Expr = index(array.type.size)
    for subscript, extent in zip(reversed(subscripts), reversed(array.shape), strict=True):
        total = add(total, mul(subscript, stride))
        stride = mul(stride, extent) if extent is not None else stride
    return total


def base_name(array: str, memory: str) -> str:
    """The parameter that holds the address of an array in a memory."""
    return f"&{array}@{memory}"


def add_number(terms: Polynomial, number: int) -> Polynomial:
    """A polynomial and a constant."""
    return polynomial(add(build(terms), index(number)))


@dataclass(slots=True)
class Pointers:
    """Accesses by pointers that are moved on at the end of each iteration: no more than `most` in a loop (0: as many as
    there are addresses), from which other addresses are added up where they are needed."""

    most: int = 0
    known: dict[tuple[str, tuple[Expr, ...]], tuple[Polynomial, int, int] | None] = field(default_factory=dict)
    count: int = 0

    def reaches(self, stream: Stream, load: Load, pattern: OperationPattern) -> bool:
        """Whether a load may be made by a pattern: its array is in that memory, its lanes are neighbours."""
        array = stream.arrays.get(load.array)
        names_ = stream.patterns.machine.memories
        for operand in pattern.operation.definition.arrays:
            if operand.memory in {x.name for x in names_}:
                slot = operand_slot(pattern, operand.name)
                if array is None or slot is None or operand.memory not in stream.memories.get(load.array, ()):
                    return False
                if operand.type.bits != array.type.bits or (operand.type.is_float != array.type.is_float and slot[1]):
                    return False
                return self.lane_step(stream, load) == (array.type.size if slot[1] else 0)
        return False

    def place(self, stream: Stream, load: Load) -> tuple[Polynomial, int] | None:
        """By how many bytes an access is behind the first element of its array: but for a constant, and that."""
        found = self._place(stream, load)
        return found[:2] if found is not None else None

    def lane_step(self, stream: Stream, load: Load) -> int | None:
        """By how many bytes an access goes on from lane to lane; None where that is no number."""
        found = self._place(stream, load)
        return None if found is None else found[2]

    def _place(self, stream: Stream, load: Load) -> tuple[Polynomial, int, int] | None:
        """An access's bytes without the constant, that, and the step from lane to lane."""
        key = (load.array, load.index)
        if key not in self.known:
            self.known[key] = self._found(stream, load)
        return self.known[key]

    def _found(self, stream: Stream, load: Load) -> tuple[Polynomial, int, int] | None:
        apart = linear_in(linear_bytes(stream.arrays[load.array], load.index), LANE.name)
        if apart is None:
            return None
        step = constant(build(apart[0]))
        if step is None:
            return None
        terms, offset = split_constant(polynomial(apart[1]))
        return terms, offset, step

    def address(self, stream: Stream, load: Load, memory: str, lanes: int) -> tuple[MemoryAddress, AccessPlace]:
        """The operand of an access, and what is known of its place."""
        found = self._place(stream, load)
        assert found is not None
        terms, offset, _ = found
        array = stream.arrays[load.array]
        self._check_alignment(stream, array, terms, offset, memory, lanes)
        width = array.type.size * max(1, lanes)
        place = self._known_place(stream, load.array, memory, terms, offset, width)
        shared = self._beside(stream, (load.array, memory), terms)
        if shared is not None:
            file = next(x.name for x in stream.patterns.machine.files if x.offsets)
            return MemoryAddress(shared[0].register, stream.value(add(shared[1], index(offset)), (file, 0))), place
        if stream.patterns.machine.memory(memory).either:
            # Its base begins where the access does, so that it can move on in it.
            terms, offset = add_number(terms, offset), 0
        pointer = self.pointer(stream, load.array, memory, terms, width)
        rest = constant(sub(build(terms), build(pointer.terms)))
        assert rest is not None
        return MemoryAddress(pointer.register, offset + rest), place

    def _beside(self, stream: Stream, key: tuple[str, str], terms: Polynomial) -> tuple[StreamPointer, Expr] | None:
        """A pointer of the loop from which an address is off by what is the same in the whole program: that can be in
        a register for offsets."""
        if not any(x.offsets for x in stream.patterns.machine.files):
            return None
        found: tuple[StreamPointer, Expr] | None = None
        for known in stream.scope.pointers.get(key, ()):
            rest = sub(build(terms), build(known.terms))
            if constant(rest) is not None:
                return None
            if not any(x.depends(names_in(rest)) for x in stream.scope.chain()) and found is None:
                found = known, rest
        return found

    def _check_alignment(
        self, stream: Stream, array: Array, terms: Polynomial, offset: int, memory: str, lanes: int
    ) -> None:
        """RefusedError where a vector does not lie where its memory wants it."""
        size = array.type.size * max(1, lanes)
        wanted = min(stream.patterns.machine.memory(memory).alignment, size)
        if wanted <= array.type.size:
            return
        told = f"a vector of `{array.name}` does not lie at a multiple of {wanted} bytes in {memory}"
        rest: Expr = build(terms)
        for scope in stream.scope.chain():
            # Each iteration moves by a multiple; what is left is where the first one begins.
            apart = linear_in(rest, scope.var) if scope.var else ({}, rest)
            if apart is None or not _are_multiples(apart[0], wanted, scope.step):
                raise RefusedError(told, stream.span)
            rest = add(mul(build(apart[0]), scope.lower), apart[1]) if apart[0] else rest
        terms, first = split_constant(polynomial(rest))
        offset += first
        if not _are_multiples(terms, wanted):
            raise RefusedError(told, stream.span)
        if offset % wanted:
            raise RefusedError(f"a vector of `{array.name}` is {offset % wanted} bytes off in {memory}", stream.span)

    def pointer(self, stream: Stream, array: str, memory: str, terms: Polynomial, width: int = 0) -> StreamPointer:
        """A register that holds the address, but for a constant, that a polynomial stands for; one within reach of
        accesses of `width` bytes (0: of all)."""
        key = (array, memory)
        for scope in stream.scope.chain():
            for known in scope.pointers.get(key, ()):
                rest = constant(sub(build(terms), build(known.terms)))
                if rest is not None and self._is_near(stream, memory, rest, width):
                    return known
        if self.most and len(stream.scope.steps) >= self.most:
            near = self._near(stream, key, terms)
            if near is not None:
                return near
        own = names_in(build(terms))
        scope = next((x for x in stream.scope.chain() if x.depends(own)), stream.root)
        if scope is stream.root or scope.parent is None:
            return self._computed(stream, scope, key, terms)
        apart = linear_in(build(terms), scope.var)
        inner = scope.mutated - {scope.var}
        if apart is None or not apart[0] or names_in(build(apart[0])) & scope.mutated or names_in(apart[1]) & inner:
            return self._computed(stream, stream.scope, key, terms)
        return self._moving(stream, scope, key, terms, build(apart[0]))

    def _near(self, stream: Stream, key: tuple[str, str], terms: Polynomial) -> StreamPointer | None:
        """An address that is added up from another one of the innermost loop: a constant away, or by what is the same
        in the whole program, as the next row is."""
        found: tuple[int, StreamPointer, Expr] | None = None
        for known in stream.scope.pointers.get(key, ()):
            rest = sub(build(terms), build(known.terms))
            apart = constant(rest)
            if apart is None and any(x.depends(names_in(rest)) for x in stream.scope.chain()):
                continue
            # A stride that is there already is better than a multiple of it.
            terms_ = polynomial(rest)
            cost = min(1, abs(apart)) if apart is not None else 2 * len(terms_) + any(x != 1 for x in terms_.values())
            if found is None or cost < found[0]:
                found = cost, known, rest
        if found is None:
            return None
        cost, known, rest = found
        if cost == 0:
            return known
        made = StreamPointer(stream.fresh(self.address_slot(stream)[0], "q"), terms)
        self._set(stream, known.register, rest, made.register)
        stream.scope.pointers[key].append(made)
        return made

    def _is_near(self, stream: Stream, memory: str, offset: int, width: int) -> bool:
        """Whether an access of `width` bytes may have an offset."""
        found = stream.patterns.machine.memory(memory)
        reach = found.guarded if stream.scope.guards and found.guarded else found.reach
        if width > 8 and found.vectors is not None:
            reach = found.vectors
        return not width or reach is None or reach[0] * width <= offset <= reach[1] * width and offset % width == 0

    def _computed(self, stream: Stream, scope: Scope, key: tuple[str, str], terms: Polynomial) -> StreamPointer:
        """An address that is added up."""
        slot = self.address_slot(stream)
        base: Expr = Load(base_name(*key), (), INDEX)
        with stream.within(scope):
            register = stream.value(Binary("add", base, build(terms)) if terms else base, slot)
        made = StreamPointer(register, terms)
        if scope is stream.root:
            scope.pointers.setdefault(key, []).append(made)
        return made

    def _moving(
        self, stream: Stream, scope: Scope, key: tuple[str, str], terms: Polynomial, factor: Expr
    ) -> StreamPointer:
        """A pointer that a loop moves on: it begins where its first iteration needs it."""
        parent = scope.parent
        assert parent is not None
        slot = self.address_slot(stream)
        first = polynomial(put(build(terms), {scope.var: scope.lower}))
        with stream.within(parent):
            outer, offset = split_constant(first)
            start = self.pointer(stream, *key, outer)
            rest = constant(sub(build(outer), build(start.terms)))
            assert rest is not None
            register = stream.fresh(slot[0], "p")
            self._set(stream, start.register, index(offset + rest), register)
        self.count += 1
        step = mul(factor, index(scope.step))
        self.move_on(stream, scope, f"&{self.count}", StreamCell(register, slot, INDEX), step)
        made = StreamPointer(register, terms)
        scope.pointers.setdefault(key, []).append(made)
        return made

    def _set(self, stream: Stream, source: StreamRegister, offset: Expr, into: StreamRegister) -> None:
        """A register becomes another one and an offset."""
        slot = self.address_slot(stream)
        name = f"&of {source}"
        stream.cells[name] = StreamCell(source, slot, INDEX)
        stream.scope.mutated |= {name}
        old: Expr = Load(name, (), INDEX)
        stream.value(old if constant(offset) == 0 else Binary("add", old, offset), slot, into)
        del stream.cells[name]
        stream.selector.forget()

    def address_slot(self, stream: Stream) -> tuple[str, int]:
        """The file of bases."""
        found = next((x.name for x in stream.patterns.machine.files if x.addresses), None)
        if found is None:
            raise RefusedError("no register can hold an address", stream.span)
        return found, 0

    def move_on(self, stream: Stream, scope: Scope, name: str, cell: StreamCell, step: Expr) -> None:
        """A register that moves on by a step at the end of each iteration."""
        stream.cells[name] = cell
        scope.mutated |= {name}
        scope.steps[name] = normal(step)

    def variable(self, stream: Stream, name: str) -> None:
        """Make the cell that counts with a loop."""
        scope = next((x for x in stream.scope.chain() if x.var == name), None)
        if scope is None or scope.parent is None:
            raise RefusedError(f"nothing is known of `{name}`", stream.span)
        cell = f"&{name}"
        slot = stream.slot_for(INDEX, 0)
        register = stream.fresh(slot[0], name)
        with stream.within(scope.parent):
            stream.value(scope.lower, slot, register)
        self.move_on(stream, scope, cell, StreamCell(register, slot, INDEX), index(scope.step))
        stream.cells[name] = stream.cells[cell]
        stream.selector.forget()

    def finish(self, stream: Stream) -> None:
        """Move on what moves at the end of an iteration: in the last access by a pointer where that is possible."""
        scope = stream.scope
        offsets = {x.name for x in stream.patterns.machine.files if x.offsets}
        either = any(x.either for x in stream.patterns.machine.memories)
        for name, step in scope.steps.items():
            cell = stream.cells[name]
            amount = constant(step)
            # Where addresses have no offset when they move, packing finds the access that moves this one on.
            last = _last_access(scope, cell.register) if not either else None
            if last is not None and amount is None and offsets:
                slot = (next(iter(sorted(offsets))), 0)
                if stream.selector.best(step, slot) is not None and stream.home(step) is not scope:
                    _fold(scope, last, cell.register, stream.value(step, slot))
                    continue
            if last is not None and amount is not None:
                _fold(scope, last, cell.register, amount)
                continue
            stream.value(Binary("add", Load(name, (), INDEX), step), cell.slot, cell.register)
        for name in scope.steps:
            del stream.cells[name]
        stream.cells.pop(scope.var, None)

    def _known_place(
        self, stream: Stream, array: str, memory: str, terms: Polynomial, offset: int, width: int
    ) -> AccessPlace:
        """What is known of the bytes of an access from iteration to iteration of the innermost loop."""
        scope = stream.scope
        apart = linear_in(build(terms), scope.var) if scope.var else ({}, build(terms))
        stride: int | None = None
        if apart is not None and not names_in(apart[1]) & (scope.mutated - {scope.var}):
            factor = constant(mul(build(apart[0]), index(scope.step)))
            stride = factor if factor is not None else None
        if stride is None or apart is None:
            self.count += 1
            return AccessPlace(f"{array}@{memory}", f"#{self.count}", 0, 0, width)
        return AccessPlace(f"{array}@{memory}", show(normal(apart[1])), offset, stride, width)


def _are_multiples(terms: Polynomial, wanted: int, times: int = 1) -> bool:
    """Whether each term, so many times, is a multiple of something: by its factor, or by that of padded rows."""
    padded = [any(isinstance(x, Var) and x.name.endswith(PITCH) for x in m) for m in terms]
    return all(known or c * times % wanted == 0 for known, c in zip(padded, terms.values(), strict=True))


PITCH = ".pitch"
"""How the sizes end that are elements of a row with its padding: multiples of whole vectors."""


def _last_access(scope: Scope, register: StreamRegister) -> int | None:
    """Where in a scope the last use of a pointer is, if that is an access that is always made."""
    for number in range(len(scope.items) - 1, -1, -1):
        item = scope.items[number]
        if isinstance(item, Loop):
            if _uses(item, register):
                return None
            continue
        if not _uses(item, register):
            continue
        bases = [x for x in item.operands if isinstance(x, MemoryAddress) and x.base == register]
        direct = len(bases) == 1 and item.guard is None and all(x == bases[0] or x != register for x in item.operands)
        return number if direct and bases[0].step == 0 else None
    return None


def _uses(item: Instr | Loop, register: StreamRegister) -> bool:
    match item:
        case Loop(body=body):
            return any(_uses(x, register) for x in body)
        case Instr(operands=operands, guard=guard):
            named = [x.base if isinstance(x, MemoryAddress) else x for x in operands]
            return register in named or (guard is not None and guard.register == register)


def _fold(scope: Scope, number: int, register: StreamRegister, step: int | StreamRegister) -> None:
    item = scope.items[number]
    assert isinstance(item, Instr)
    moved = tuple(
        replace(x, step=step) if isinstance(x, MemoryAddress) and x.base == register else x for x in item.operands
    )
    scope.items[number] = replace(item, operands=moved)
