"""Tree covering: a nest over lanes becomes instructions, the largest that does all of it, else one for its last
operation with its operands covered in turn.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> from planish.isa.instruction import MemoryKind
>>> from planish.isa.select.instruction_set import InstructionSet
>>> zmm = RegisterFile(InstructionSet("x86", ("SSE", "AVX", "AVX512F")), MemoryKind("zmm", 512, 32, {F32: "__m512"}))
>>> text = "kernel k(x: f32; m: f32[16], a: f32[16] @zmm) { for l in 0 .. 16 { m[l] += x * a[l] } }"
>>> cover(parse_kernel(text), zmm, FpFlags(fused=True))
'_mm512_storeu_ps({m}, _mm512_fmadd_ps({a}, _mm512_set1_ps({x}), _mm512_loadu_ps({m})));'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from math import isfinite

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.nest import Array, Kernel
from planish.ir.types import F32, I32, INDEX, Type
from planish.isa.select.fp_modulo import loosen
from planish.isa.select.instruction_set import POINTER, RequiredOperand, Spelt
from planish.isa.select.lane_values import MASK, LaneNest, NoCover, Reader, fuse, leaves_of, read_nest
from planish.isa.select.selector import FpFlags, Mask, RegisterFile, check_registers
from planish.isa.semantics import build
from planish.isa.semantics.node import const
from planish.isa.semantics.scalarised import ByteWrite, Scalarised, bytes_of

_SCALARS = {"f16": "float16_t", "f32": "float", "f64": "double", "i32": "int", "u32": "uint32_t", "i64": "long long",
            "u64": "uint64_t", "i16": "short", "i8": "char"}  # fmt: skip
ELEMENTS = {"f32": "float", "f64": "double", "i32": "int", "i64": "long long", "i16": "int16_t", "i8": "int8_t",
             "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t"}  # fmt: skip
"""What C takes an array's address for without a cast."""

_WORD = 32


def cover(kernel: Kernel, register_file: RegisterFile, fp_flags: FpFlags, immediate: tuple[str, ...] = ()) -> str:
    """The C of an instruction whose definition is a kernel; NoCover where no instructions of the extension do it."""
    return _Cover(kernel, register_file, fp_flags, immediate).spell()


@dataclass(slots=True)
class _Cover:
    kernel: Kernel
    register_file: RegisterFile
    fp_flags: FpFlags
    immediate: tuple[str, ...]
    arrays: dict[str, Array] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    reads_memory: bool = False

    def spell(self) -> str:
        kind = self.register_file.registers
        self.arrays = {x.name: x for x in self.kernel.arrays}
        check_registers(self.kernel, kind)
        names = [*self.kernel.sizes, *(x.name for x in self.kernel.scalars), *self.arrays]
        self.texts = {x: f"{{{x}}}" for x in names}
        nest = read_nest(self.kernel, self.lanes())
        for x in leaves_of(nest.value):
            if isinstance(x, Load) and (len(x.index) != 1 or (x.array == nest.target and x.index[0] != nest.index)):
                raise NoCover(f"`{x.array}` at another place than that which is written")
        always = set(_read_always(nest.value))
        for x in leaves_of(nest.value):  # a register is there in any case
            if isinstance(x, Load) and not nest.chosen and x not in always and not self.is_register(x.array):
                raise NoCover(f"`{x.array}` is read only where a condition holds")
        if self.fp_flags.fused:
            nest = replace(nest, value=fuse(nest.value))
        if nest.masked:
            if not _is_bounded(self.kernel, nest.masked, nest.lanes):
                raise NoCover(f"`{nest.masked}` may be more than the lanes")
            self.texts[MASK] = self.mask(nest).text.replace("{n}", f"{{{nest.masked}}}")
        target = self.arrays[nest.target]
        if nest.size and target.memory == kind.name:
            raise NoCover("only some lanes of a register are written")
        value = self.cover(nest, target.type)
        if target.memory == kind.name:
            keep = f" planish_keep({{{target.name}}});" if self.reads_memory else ""
            return f"{{{target.name}}} = {value};{keep}"
        return f"{self.store(nest, target, value)};"

    def lanes(self) -> int:
        """The lanes of the first register, or of what is in memory where there is none."""
        kind = self.register_file.registers
        registers = [x.type for x in self.kernel.arrays if x.memory == kind.name]
        everything = registers or [x.type for x in self.kernel.arrays]
        if not everything:
            raise NoCover("it has no operands")
        return kind.lanes(everything[0])

    def mask(self, nest: LaneNest) -> Mask:
        found = self.register_file.masks.get(nest.lanes)
        if found is None:
            raise NoCover(f"no mask of {nest.lanes} lanes")
        return found

    def reader(self, nest: LaneNest, width: int) -> Reader:
        vector = bool(nest.masked) and self.mask(nest).is_vector
        return Reader(self.arrays, nest, width if vector else 0)

    def wanted(self, nest: LaneNest, type: Type) -> Scalarised:
        reader = self.reader(nest, type.bits)
        places: list[ByteWrite] = []
        for counters in nest.instances():
            first = reader.place(nest.index, counters)
            if first.op != "const":
                raise NoCover("a target at a place that is not known")
            element = reader.element(counters)
            value = loosen(element) if self.fp_flags.is_loose else element
            places += bytes_of("", first.low * type.bits // 8, type.bits, value)
        return in_order(places)

    def cover(self, nest: LaneNest, type: Type) -> str:
        """The C of a register with the values of a nest."""
        if nest.start is None and isinstance(nest.value, Load) and self.is_register(nest.value.array):
            alike = nest.value.index == (nest.index,) and self.arrays[nest.value.array].type == type
            if alike and self.is_whole(self.wanted(nest, type)):
                return self.texts[nest.value.array]
        if nest.size:  # nothing is read in lanes that are not meant
            nest = self.in_registers(nest)
        found = self.found(nest, type)
        if found is None:
            nest = self.in_registers(nest)
            found = self.found(nest, type) or self.split(nest, type)
        if found is None:
            raise NoCover("no instruction does it")
        return found

    def is_whole(self, wanted: Scalarised) -> bool:
        """Whether all bytes of a register are written, each once."""
        return [x.byte for x in wanted.places] == list(range(self.register_file.registers.bits // 8))

    def found(self, nest: LaneNest, type: Type) -> str | None:
        """A call of the instruction that does all of a nest; one operand may be several of its."""
        operands = self.operands(nest)
        result = self.register_file.registers.types.get(type)
        if operands is None or result is None:
            return None
        wanted = self.wanted(nest, type)
        if not self.is_whole(wanted):
            return None
        registers = [x for x in operands if x.kind in self.register_file.registers.types.values()]
        for by in ((), *self.shifts(nest.value)):
            for count in (0, 1, 2):
                for more in combinations_with_replacement(registers, count):
                    given = [*operands, *by, *more]
                    spelt = self.register_file.instruction_set.find(wanted, result, given, loose=self.fp_flags.is_loose)
                    if spelt is not None:
                        return self.said(spelt)
        return None

    def shifts(self, x: Expr) -> Iterator[tuple[RequiredOperand, ...]]:
        """The one number by which a value is shifted, as what instructions call an immediate."""
        found = {int(y.right.value) for y in _binaries(x) if y.op in ("shl", "shr") and isinstance(y.right, Const)}
        if len(found) == 1:
            (value,) = found
            self.texts["%by"] = str(value)
            for kind in ("int", "uint32_t"):
                yield (RequiredOperand("%by", kind, immediate=True, value=value),)

    def said(self, spelt: Spelt) -> str:
        self.reads_memory |= any(x.kind == POINTER for x in spelt.operands)
        return spelt.call(self.texts)

    def operands(self, nest: LaneNest) -> list[RequiredOperand] | None:
        """What a nest reads; None where an instruction cannot have it."""
        found: dict[str, RequiredOperand] = {}
        leaves = [*leaves_of(nest.value), *(leaves_of(nest.start) if nest.start is not None else ())]
        for x in leaves:
            given = self.operand(x)
            if given is None:
                return None
            found[given.name] = given
        used = {y.name for x in leaves if isinstance(x, Load) for y in _variables(x.index[0])}
        for name in used & set(self.immediate):
            found[name] = RequiredOperand(name, "int", immediate=True)
        if nest.chosen and _is_masked(nest.value):
            found[MASK] = RequiredOperand(MASK, self.mask(nest).kind)
        return sorted(found.values(), key=lambda x: x.name.startswith("%"))  # what is computed last

    def operand(self, x: Expr) -> RequiredOperand | None:
        if isinstance(x, Var):
            kind = _SCALARS.get(str(x.type))
            return RequiredOperand(x.name, kind) if kind else None
        assert isinstance(x, Load)
        array = self.arrays[x.array]
        if self.is_register(x.array):
            kind = self.register_file.registers.types.get(array.type)
            return RequiredOperand(x.array, kind) if kind else None
        return RequiredOperand(x.array, POINTER, element=ELEMENTS.get(str(array.type), ""))

    def is_register(self, name: str) -> bool:
        return self.arrays[name].memory == self.register_file.registers.name

    def in_registers(self, nest: LaneNest) -> LaneNest:
        """The nest with what is in memory, scalars and numbers in registers."""
        kinds = self.register_file.registers.types

        def change(x: Expr) -> Expr:
            match x:
                case Load(array=name, index=(place,), type=kind) if not self.is_register(name):
                    return self.loaded(nest, name, place, kind)
                case Var(name=name, type=kind) if kind != INDEX or name in {y.name for y in self.kernel.scalars}:
                    lane = Var(nest.lane, INDEX)
                    spread = replace(nest, index=lane, value=x, inner=(), terms=(), start=None, size="")
                    return self.made(self.cover_alone(spread, kind), kind, lane)
                case _:
                    return x

        known: dict[Expr, Expr] = {}

        def visit(x: Expr) -> Expr:
            match x:
                case Load() | Var():
                    known[x] = known.get(x) or change(x)
                    return known[x]
                case Const(type=kind) if kind in kinds and self.register_file.registers.lanes(kind) == nest.lanes:
                    known[x] = known.get(x) or self.constant(nest, x)
                    return known[x]
                case Binary(op="shl" | "shr", left=left, right=Const()):
                    return replace(x, left=visit(left))
                case Binary(left=left, right=right):
                    return replace(x, left=visit(left), right=visit(right))
                case Compare(left=left, right=right) if type_of(left) != INDEX:
                    return replace(x, left=visit(left), right=visit(right))
                case Select(condition=Compare(left=left) as condition, then=a, otherwise=b) if type_of(left) != INDEX:
                    return Select(visit(condition), visit(a), visit(b))
                case Call(arguments=arguments):
                    return replace(x, arguments=tuple(map(visit, arguments)))
                case Cast(operand=inner) | Unary(operand=inner):
                    return replace(x, operand=visit(inner))
                case _:
                    return x

        start = visit(nest.start) if nest.start is not None else None
        return replace(nest, value=visit(nest.value), start=start)

    def constant(self, nest: LaneNest, x: Const) -> Expr:
        """A number in all lanes of a register."""
        if not isfinite(x.value):
            raise NoCover(f"{x.value} has no text in C")
        name = f"%number{len(self.texts)}"
        self.texts[name] = repr(x.value) + ("f" if x.type == F32 else "")
        lane = Var(nest.lane, INDEX)
        spread = replace(nest, index=lane, value=Var(name, x.type), inner=(), terms=(), start=None, size="")
        return self.made(self.cover_alone(spread, x.type), x.type, lane)

    def cover_alone(self, nest: LaneNest, type: Type) -> str:
        found = self.found(nest, type)
        if found is None:
            raise NoCover("no instruction does it")
        return found

    def loaded(self, nest: LaneNest, name: str, place: Expr, kind: Type) -> Expr:
        """A row of elements of memory in a register; or few of them, as one word in each lane."""
        if nest.lane not in {x.name for x in _variables(place)}:
            return self.word(nest, name, place, kind)
        inner = nest.terms or nest.inner
        plain = replace(nest, index=place, value=Load(name, (place,), kind), terms=(), start=None, inner=inner)
        if nest.size:
            zero = Const(0.0 if kind.is_float else 0, kind)
            there = _first_lanes(nest)
            plain = replace(plain, value=Select(there, Load(name, (place,), kind), zero), chosen=nest.size, size="")
        return self.made(self.cover_alone(plain, kind), kind, place)

    def word(self, nest: LaneNest, name: str, place: Expr, kind: Type) -> Expr:
        if len(nest.terms) != 1:
            raise NoCover("an element that is the same in all lanes")
        ((term, count),) = nest.terms
        if count * kind.bits != _WORD or place != Var(term, INDEX):
            raise NoCover("elements that are no word")
        word = f"%word{len(self.texts)}"
        self.texts[word] = f"planish_word({self.texts[name]})"
        self.reads_memory = True
        spread = replace(nest, index=Var(nest.lane, INDEX), value=Var(word, I32), terms=(), start=None)
        text = self.cover_alone(spread, I32)
        lanes = Binary("mul", Const(count, INDEX), Var(nest.lane, INDEX))
        return self.made(text, kind, Binary("add", lanes, place))

    def made(self, text: str, kind: Type, place: Expr) -> Expr:
        """What C computes, as a register."""
        name = f"%{len(self.texts)}"
        self.texts[name] = text
        count = Const(self.register_file.registers.lanes(kind), INDEX)
        self.arrays[name] = Array(name, kind, (count,), memory=self.register_file.registers.name)
        return Load(name, (place,), kind)

    def split(self, nest: LaneNest, type: Type) -> str | None:
        """The last operation with what its operands are."""
        lane = Var(nest.lane, INDEX)
        if nest.start is not None:
            zero = replace(nest, start=Const(0, type))
            total = self.made(self.cover_alone(zero, type), type, lane)
            return self.found(replace(nest, value=Binary("add", nest.start, total), terms=(), start=None), type)
        parts = _parts(nest.value)
        if not parts or any(type_of(x) != type_of(nest.value) for x in parts):
            return None

        def part(x: Expr) -> Expr:
            match x:
                case Load():
                    return x
                case Unary(op="neg", operand=Load()) if isinstance(nest.value, Call):
                    return x  # Instructions that round once have factors with the other sign.
                case _:
                    return self.made(self.cover(replace(nest, value=x), type), type, lane)

        return self.found(replace(nest, value=_with_parts(nest.value, [part(x) for x in parts])), type)

    def store(self, nest: LaneNest, target: Array, value: str) -> str:
        register = self.made(value, target.type, nest.index)
        assert isinstance(register, Load)
        reader = self.reader(nest, target.type.bits)
        places: list[ByteWrite] = []
        for counters in nest.instances():
            offset = reader.place(nest.index, counters).low * target.type.bits // 8
            source = build.bits(register.array, const(offset * 8), target.type.bits)
            when = reader.present(counters) if nest.size else build.ONE
            places += bytes_of(target.name, offset, target.type.bits, source, when)
        kind = self.register_file.registers.types[target.type]
        element = ELEMENTS.get(str(target.type), "")
        operands = [RequiredOperand(target.name, POINTER, element=element), RequiredOperand(register.array, kind)]
        if nest.size:
            operands.append(RequiredOperand(MASK, self.mask(nest).kind))
        spelt = self.register_file.instruction_set.find(
            in_order(places), "void", operands, streams=self.fp_flags.streams
        )
        if spelt is None:
            raise NoCover("no instruction stores it")
        return self.said(spelt)


def _is_bounded(kernel: Kernel, size: str, lanes: int) -> bool:
    """Whether a kernel assumes that a size is from 0 to the number of lanes."""
    bounds = {x.op: x.right for x in kernel.assumptions if isinstance(x, Compare) and x.left == Var(size, INDEX)}
    least, most = bounds.get("ge"), bounds.get("le")
    return least == Const(0, INDEX) and isinstance(most, Const) and most.value <= lanes


def in_order(places: Iterable[ByteWrite]) -> Scalarised:
    """What is left, byte after byte."""
    return Scalarised(tuple(sorted(places, key=lambda x: x.byte))).renamed({})


def _first_lanes(nest: LaneNest) -> Expr:
    return Compare("lt", Var(nest.lane, INDEX), Var(nest.size, INDEX))


def _read_always(x: Expr) -> Iterator[Expr]:
    """What is read whatever conditions within a value are."""
    match x:
        case Select(condition=Compare(left=left, right=right)):
            yield from _read_always(left)
            yield from _read_always(right)
        case Binary(left=left, right=right):
            yield from _read_always(left)
            yield from _read_always(right)
        case Cast(operand=inner) | Unary(operand=inner):
            yield from _read_always(inner)
        case Call(arguments=arguments):
            for y in arguments:
                yield from _read_always(y)
        case _:
            yield x


def _binaries(x: Expr) -> Iterator[Binary]:
    match x:
        case Binary(left=left, right=right):
            yield x
            yield from _binaries(left)
            yield from _binaries(right)
        case Cast(operand=inner) | Unary(operand=inner):
            yield from _binaries(inner)
        case Select(then=a, otherwise=b):
            yield from _binaries(a)
            yield from _binaries(b)
        case Call(arguments=arguments):
            for y in arguments:
                yield from _binaries(y)
        case _:
            return


def _is_masked(x: Expr) -> bool:
    return isinstance(x, Select)


def _variables(x: Expr) -> list[Var]:
    return [y for y in leaves_of(x) if isinstance(y, Var)]


def _parts(x: Expr) -> tuple[Expr, ...]:
    match x:
        case Binary(op="shl" | "shr", left=left, right=Const()):
            return (left,)
        case Binary(left=left, right=right):
            return left, right
        case Call(function="fma", arguments=arguments):
            return arguments
        case Select(condition=Compare(left=left, right=right), then=a, otherwise=b) if type_of(left) != INDEX:
            return left, right, a, b
        case _:
            return ()


def _with_parts(x: Expr, parts: list[Expr]) -> Expr:
    match x:
        case Binary():
            return replace(x, left=parts[0], right=parts[1] if parts[1:] else x.right)
        case Select(condition=Compare() as condition):
            return Select(replace(condition, left=parts[0], right=parts[1]), *parts[2:])
        case Call():
            return replace(x, arguments=tuple(parts))
        case _:
            return x
