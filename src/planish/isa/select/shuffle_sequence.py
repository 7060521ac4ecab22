"""Shuffle sequences: a permutation through registers as loads, shuffles in the cheapest order, and stores.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> from planish.isa.select.instruction_set import InstructionSet
>>> from planish.isa.instruction import MemoryKind
>>> neon = MemoryKind("neon", 128, 32, {F32: "float32x4_t"})
>>> text = "kernel t(d: f32[2, 4], a: f32[4], b: f32[4]) { for l in 0 .. 2 { for i in 0 .. 2 { SPREAD } } }"
>>> text = text.replace("SPREAD", "d[i, 2 * l] = a[2 * i + l] d[i, 2 * l + 1] = b[2 * i + l]")
>>> speech = RegisterFile(InstructionSet("arm", ("v7", "A64")), neon)
>>> print(shuffle(parse_kernel(text), speech, FpFlags()).replace("; ", ";" + chr(10) + "  "))
{ const float32x4_t planish_0 = vld1q_f32({a});
  const float32x4_t planish_1 = vld1q_f32({b});
  const float32x4_t planish_2 = vzip1q_f32(planish_0, planish_1);
  vst1q_f32({d}, planish_2);
  const float32x4_t planish_3 = vzip2q_f32(planish_0, planish_1);
  vst1q_f32(({d} + 4), planish_3);
  }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product

from planish.ir.expr import Binary, Const, Expr, Load, Var
from planish.ir.nest import PLAIN_MEMORIES, Array, Assign, Block, For, Kernel, Reduce
from planish.ir.types import F32, F64, INDEX, Type
from planish.isa.instruction import MemoryKind
from planish.isa.select.instruction_set import InstructionSet
from planish.isa.select.lane_values import NoCover
from planish.isa.select.permutation import MOVED, ArrayRow, Movement, element_bits, read_movement
from planish.isa.select.permute_instructions import Mover, find_control, numbers_of
from planish.isa.select.row_loads import LOAD, Loads
from planish.isa.select.selector import FpFlags, RegisterFile, check_registers
from planish.isa.select.shuffle_table import find_moves
from planish.isa.select.tree_cover import cover
from planish.isa.select.vector_layouts import LayoutStep, VectorLayout, find_way

_LANE = Var("l", INDEX)
_Bits = Mapping[str, int]


def shuffle(kernel: Kernel, register_file: RegisterFile, fp_flags: FpFlags) -> str:
    """The C of a kernel that moves elements, or sums those of registers; NoCover for another one, and where the
    instructions of the extension cannot do it."""
    kind = register_file.registers
    check_registers(kernel, kind)
    movement = read_movement(kernel, kind.bits // 8)
    if movement.type not in kind.types:
        raise NoCover(f"no registers of {movement.type}")
    if movement.sums and not (fp_flags.reassociates and movement.type in (F32, F64)):
        raise NoCover("its sums have an order")
    places = {x.array.memory == kind.name for x in movement.sources}
    if len(places) > 1 or (movement.sums and any(x.array.memory == kind.name for x in movement.targets)):
        raise NoCover("some of it is in registers, and some in memory")
    (in_registers,) = places
    loads, way = _planned(
        register_file.instruction_set, movement, kind.bits // 8, kind.types[movement.type], in_registers
    )
    return _Writer(kernel, movement, loads, way, in_registers, register_file, fp_flags).write()


def _planned(
    instruction_set: InstructionSet, movement: Movement, size: int, kind: str, in_registers: bool
) -> tuple[Loads, tuple[LayoutStep, ...]]:
    loads, way = _found(instruction_set, movement.target, movement.type, size, kind, in_registers)
    if way is None:
        raise NoCover("no shuffles do it")
    return loads, way


@cache
def _found(
    instruction_set: InstructionSet, target: VectorLayout, type: Type, size: int, kind: str, in_registers: bool
) -> tuple[Loads, tuple[LayoutStep, ...] | None]:
    loads = Loads(instruction_set, find_moves(instruction_set, size), type, kind)

    def whole(layout: VectorLayout) -> float | None:
        return 0.0 if all(name == f"k{i}" for i, name in enumerate(layout.lanes)) else None

    cost, least = (whole, 0.0) if in_registers else (loads.cost, LOAD)
    return loads, find_way(target, loads.moves, cost, element=element_bits(type), least=least)


@dataclass(frozen=True, slots=True)
class _Value:
    """A register: its name, and its type in C."""

    text: str
    kind: str


@dataclass(slots=True)
class _Writer:
    kernel: Kernel
    movement: Movement
    loads: Loads
    way: tuple[LayoutStep, ...]
    in_registers: bool
    register_file: RegisterFile
    fp_flags: FpFlags
    lines: list[str] = field(default_factory=list)
    known: dict[tuple[int, tuple[tuple[str, int], ...]], _Value] = field(default_factory=dict)
    controls: dict[tuple[int, ...], str] = field(default_factory=dict)
    spelt: dict[tuple[Kernel, str], str] = field(default_factory=dict)
    count: int = 0

    def write(self) -> str:
        """A block of C."""
        if self.movement.sums:
            self.add_up(self.value(len(self.way), {}))
        else:
            for bits in self.orders():
                self.store(self.value(len(self.way), bits), self.target(bits))
        return f"{{ {' '.join(self.lines)} }}"

    @property
    def kind(self) -> str:
        return self.register_file.registers.types[self.movement.type]

    def orders(self) -> Iterator[_Bits]:
        """The bits of each target; those that the last steps tell apart change most often."""
        last = [x.out for x in reversed(self.way) if x.out in self.movement.order]
        names = [*dict.fromkeys((*last, *self.movement.order))]
        for values in product((0, 1), repeat=len(names)):
            yield dict(zip(reversed(names), values, strict=True))

    def target(self, bits: _Bits) -> ArrayRow:
        return self.movement.targets[sum(bits[name] << i for i, name in enumerate(self.movement.order))]

    def value(self, stage: int, bits: _Bits) -> _Value:
        """The register after some steps that has these bits apart."""
        at = stage, tuple(sorted(bits.items()))
        if at not in self.known:
            self.known[at] = self.made(self.way[stage - 1], stage, bits) if stage else self.loaded(bits)
        return self.known[at]

    def made(self, step: LayoutStep, stage: int, bits: _Bits) -> _Value:
        rest = {x: y for x, y in bits.items() if x != step.out}
        match step.kind:
            case "weave":
                sides = (0, 1) if step.into else (0, 0)
                operands = [self.value(stage - 1, {**rest, **({step.into: x} if step.into else {})}) for x in sides]
                return self.moved(step.movers[bits.get(step.out, 0)], operands)
            case "rearrange" if step.control is not None:
                mover = find_control(step.control, numbers_of(step.take))
                if mover is None:
                    raise NoCover("a shuffle that nothing controls")
                return self.moved((mover,), [self.value(stage - 1, bits)])
            case "rearrange":
                return self.moved(step.movers[0], [self.value(stage - 1, bits)])
            case "add":
                return self.added(*(self.value(stage - 1, {**bits, step.out: x}) for x in (0, 1)))
            case "fold":
                one = self.value(stage - 1, bits)
                return self.added(one, self.moved(step.movers[0], [one]))

    def loaded(self, bits: _Bits) -> _Value:
        layout = self.way[0].before if self.way else self.movement.target
        if self.in_registers:
            return _Value(self.row(bits).address(), self.kind)
        text, kind = self.loads.load(layout, lambda own: self.address({**bits, **own}))
        return self.named(text, kind)

    def row(self, bits: _Bits) -> ArrayRow:
        return self.movement.sources[sum(x << int(name[1:]) for name, x in bits.items() if name[0] == "r")]

    def address(self, bits: _Bits) -> str:
        place = sum(x << int(name[1:]) for name, x in bits.items() if name[0] == "k")
        place >>= element_bits(self.movement.type)
        return self.row(bits).address(place)

    def named(self, text: str, kind: str) -> _Value:
        name = f"planish_{self.count}"
        self.count += 1
        self.lines.append(f"const {kind} {name} = {text};")
        return _Value(name, kind)

    def moved(self, movers: tuple[Mover, ...], operands: list[_Value]) -> _Value:
        """A call of the instruction, of some that move alike, that takes operands as they are, where there is one."""

        def casts(x: Mover) -> tuple[int, bool]:
            given = (*operands, *operands)[: len(x.sources)]
            unlike = sum(y.kind != kind for y, (kind, _) in zip(given, x.sources, strict=True))
            return unlike, "poly" in x.entry.signature.result

        mover = min(movers, key=casts)
        given = (*operands, *operands)[: len(mover.sources)]
        texts = [self.cast(x, kind) for x, (kind, _) in zip(given, mover.sources, strict=True)]
        control = self.control(mover) if mover.control else ""
        return self.named(mover.call(texts, control), mover.entry.signature.result)

    def cast(self, x: _Value, kind: str) -> str:
        if x.kind == kind:
            return x.text
        found = self.loads.moves.casts.get((x.kind, kind))
        if found is None:
            raise NoCover(f"nothing makes {kind} of {x.kind}")
        return found.call([x.text])

    def control(self, mover: Mover) -> str:
        """The register of a constant that says where bytes go."""
        if mover.control not in self.controls:
            name = f"planish_at{len(self.controls)}"
            values = ", ".join(map(str, mover.control))
            self.lines.insert(0, f"static const unsigned char {name}[{len(mover.control)}] = {{{values}}};")
            kind = next(x for x, y in mover.entry.signature.parameters if y == mover.control_name)
            call = self.loads.call(kind, self.loads.moves.bits, self.loads.moves.bits)
            if call is None:
                raise NoCover(f"nothing loads {kind}")
            self.controls[mover.control] = call.call({"m": name})
        return self.controls[mover.control]

    def added(self, one: _Value, other: _Value) -> _Value:
        number = self.register_file.registers.lanes(self.movement.type)
        memory = self.register_file.registers.name
        total = Binary("add", self.element("a"), self.element("b"))
        text = self.covered(total, ("d", "a", "b"), memory, number, self.register_file)
        name = f"planish_{self.count}"
        self.count += 1
        texts = {"d": name, "a": self.cast(one, self.kind), "b": self.cast(other, self.kind)}
        self.lines.append(f"{self.kind} {name}; {_filled(text, texts)}")
        return _Value(name, self.kind)

    def element(self, name: str) -> Load:
        return Load(name, (_LANE,), self.movement.type)

    def covered(
        self,
        value: Expr,
        names: tuple[str, ...],
        memory: str,
        count: int,
        register_file: RegisterFile,
        sums: bool = False,
    ) -> str:
        """The C of `names[0][l] = value` for lanes: the first one in some memory, the others in registers."""
        shape = (Const(count, INDEX),)
        first, *others = names
        arrays = [Array(first, self.movement.type, shape, memory=memory)]
        arrays += [Array(x, self.movement.type, shape, memory=register_file.registers.name) for x in others]
        put = Reduce(first, (_LANE,), "add", value) if sums else Assign(first, (_LANE,), value)
        loop = For("l", Const(0, INDEX), Const(count, INDEX), 1, Block((put,)))
        kernel = Kernel("part", scalars=self.kernel.scalars, arrays=tuple(arrays), body=Block((loop,)))
        known = kernel, register_file.registers.name
        if known not in self.spelt:
            self.spelt[known] = cover(kernel, register_file, self.fp_flags)
        return self.spelt[known]

    def store(self, value: _Value, target: ArrayRow) -> None:
        count = self.register_file.registers.lanes(self.movement.type)
        text = self.covered(self.movement.value, ("planish_m", MOVED), target.array.memory, count, self.register_file)
        texts = {"planish_m": target.address(), MOVED: self.cast(value, self.kind)}
        self.lines.append(_filled(text, texts))

    def add_up(self, total: _Value) -> None:
        """The first lanes of a register are added to what they are sums for."""
        targets = self.movement.targets
        total = _Value(self.cast(total, self.kind), self.kind)
        size = len(targets) * self.movement.type.bits // 8
        together = len({(x.array.name, x.row) for x in targets}) == 1
        together &= [x.start for x in targets] == list(range(len(targets)))
        movers = [x for x in self.loads.moves.narrow.get(size, ()) if x.sources[0][0] == self.kind]
        if together and movers:
            short = self.named(movers[0].call([total.text]), movers[0].entry.signature.result)
            kind = MemoryKind("planish_short", size * 8, 0, {self.movement.type: short.kind})
            register_file = replace(self.register_file, registers=kind)
            names = ("planish_m", MOVED)
            text = self.covered(self.movement.value, names, PLAIN_MEMORIES[0], len(targets), register_file, sums=True)
            self.lines.append(_filled(text, {"planish_m": targets[0].address(), MOVED: short.text}))
            return
        name = self.named(total.text, total.kind).text
        for lane, x in enumerate(targets):
            self.lines.append(f"*{x.address()} += {self.scaled(f'{name}[{lane}]')};")

    def scaled(self, lane: str) -> str:
        """What is added of one lane, in C."""
        match self.movement.value:
            case Load():
                return lane
            case Binary("mul", Var(name=name), Load()) | Binary("mul", Load(), Var(name=name)):
                return f"{{{name}}} * {lane}"
            case other:
                raise AssertionError(other)


def _filled(text: str, texts: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda x: texts.get(x[1], x[0]), text)
