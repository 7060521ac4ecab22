"""Lane shifts with an incoming scalar: one two-register shuffle with a broadcast, or a shuffle and a blend.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> from planish.isa.select.instruction_set import InstructionSet
>>> neon = RegisterFile(InstructionSet("arm", ("v7", "A64")), MemoryKind("neon", 128, 32, {F32: "float32x4_t"}))
>>> moved = "d[l] = select(l < 1, x, s[l - 1])"
>>> text = "kernel k(x: f32; d: f32[4] @neon, s: f32[4] @neon) { for l in 0 .. 4 { %s } }" % moved
>>> slide(parse_kernel(text), neon)
'{ {d} = vextq_f32(vdupq_n_f32({x}), {s}, 3); }'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var
from planish.ir.nest import Array, Assign, Block, For, Kernel
from planish.ir.types import INDEX, Type
from planish.isa.instruction import MemoryKind
from planish.isa.select.lane_values import NoCover
from planish.isa.select.permute_instructions import Mover, find_control, find_movers, find_shifters
from planish.isa.select.row_loads import Loads
from planish.isa.select.selector import FpFlags, RegisterFile, check_registers
from planish.isa.select.shuffle_table import find_moves
from planish.isa.select.tree_cover import cover

_SPREAD = "planish_spread"
_Bytes = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Slide:
    """Which lane of a source each lane of the target is; None where it is the scalar."""

    target: str
    source: str
    scalar: str
    type: Type
    lanes: tuple[int | None, ...]

    @property
    def bytes(self) -> _Bytes:
        """The same of bytes."""
        size = self.type.bits // 8
        return tuple(None if x is None else x * size + byte for x in self.lanes for byte in range(size))


def slide(kernel: Kernel, register_file: RegisterFile) -> str:
    """The C of a kernel that moves lanes of a register to another one, with a scalar in some; NoCover for another one,
    and where the instructions of the extension cannot do it."""
    check_registers(kernel, register_file.registers)
    return _Writer(read_slide(kernel, register_file.registers), kernel, register_file).write()


def read_slide(kernel: Kernel, registers: MemoryKind) -> Slide:
    """What a kernel moves where; NoCover where it does something else."""
    arrays = {x.name: x for x in kernel.arrays}
    match kernel.body.body:
        case (For(lower=Const(value=0), upper=Const(value=count), step=1) as loop,):
            puts = loop.body.body
        case _:
            raise NoCover("it is no loop over lanes")
    (put,) = puts if len(puts) == 1 else (None,)
    if not isinstance(put, Assign):
        raise NoCover("it is not one assignment")
    taken = [_taken(put.value, {loop.var: lane}) for lane in range(int(count))]
    sources = {(x.array, x.type) for x in taken if isinstance(x, Load)}
    scalars = {x.name for x in taken if isinstance(x, Var)}
    if put.index != (Var(loop.var, INDEX),) or len(sources) != 1 or len(scalars) != 1:
        raise NoCover("it moves no lanes of one register beside one number")
    ((source, kind),), (scalar,) = sources, scalars
    if put.array == source or {arrays[x].memory for x in (put.array, source)} != {registers.name}:
        raise NoCover("not both of its operands are registers")
    if {arrays[put.array].type, *(x.type for x in kernel.scalars if x.name == scalar)} != {kind}:
        raise NoCover("elements of several types")
    lanes = tuple(
        _number(x.index[0], {loop.var: lane}) if isinstance(x, Load) else None for lane, x in enumerate(taken)
    )
    if len(lanes) != registers.lanes(kind) or any(x is not None and not 0 <= x < len(lanes) for x in lanes):
        raise NoCover("lanes that are not there")
    return Slide(put.array, source, scalar, kind, lanes)


def _taken(x: Expr, counters: Mapping[str, int]) -> Load | Var:
    """What a lane gets."""
    match x:
        case Select(condition=Compare(op="lt", left=left, right=right), then=then, otherwise=otherwise):
            return _taken(then if _number(left, counters) < _number(right, counters) else otherwise, counters)
        case Load(index=(_,)):
            return x
        case Var(name=name) if name not in counters and x.type != INDEX:
            return x
        case _:
            raise NoCover("a lane that is neither moved nor a number")


def _number(x: Expr, counters: Mapping[str, int]) -> int:
    match x:
        case Const(value=value):
            return int(value)
        case Var(name=name) if name in counters:
            return counters[name]
        case Binary(op="add" | "sub" | "mul" | "mod" as op, left=left, right=right):
            a, b = _number(left, counters), _number(right, counters)
            if op == "mod":
                if b <= 0:
                    raise NoCover("a remainder of no positive number")
                return a % b
            return a + b if op == "add" else a - b if op == "sub" else a * b
        case _:
            raise NoCover("a lane that is not known")


@dataclass(slots=True)
class _Writer:
    found: Slide
    kernel: Kernel
    register_file: RegisterFile
    lines: list[str] = field(default_factory=list)
    loads: Loads = field(init=False)

    def __post_init__(self) -> None:
        kind = self.register_file.registers
        moves = find_moves(self.register_file.instruction_set, kind.bits // 8)
        self.loads = Loads(self.register_file.instruction_set, moves, self.found.type, kind.types[self.found.type])

    def write(self) -> str:
        """A block of C."""
        source, spread = (f"{{{self.found.source}}}", self.kind), (self.spread(), self.kind)
        text = next(self.texts(source, spread), None)
        if text is None:
            raise NoCover("no shuffles do it")
        return f"{{ {' '.join((*self.lines, f'{{{self.found.target}}} = {text};'))} }}"

    @property
    def kind(self) -> str:
        return self.loads.kind

    @property
    def size(self) -> int:
        return self.register_file.registers.bits // 8

    def spread(self) -> str:
        """The number in all lanes."""
        lane, count = Var("l", INDEX), Const(len(self.found.lanes), INDEX)
        array = Array(_SPREAD, self.found.type, (count,), memory=self.register_file.registers.name)
        put = Assign(_SPREAD, (lane,), Var(self.found.scalar, self.found.type))
        loop = For("l", Const(0, INDEX), count, 1, Block((put,)))
        kernel = Kernel("part", scalars=self.kernel.scalars, arrays=(array,), body=Block((loop,)))
        text = cover(kernel, self.register_file, FpFlags())
        head, tail = f"{{{_SPREAD}}} = ", ";"
        if not text.startswith(head) or text.count(tail) != 1:
            raise NoCover("a number that is not in all lanes by one expression")
        found = text.removeprefix(head).removesuffix(tail)
        scalar = f"{{{self.found.scalar}}}"
        if self.register_file.instruction_set.isa == "x86" and self.found.type.is_float:
            # clang makes shuffles that bring zeros expansions under a mask, which take several times as long.
            found = found.replace(scalar, f"planish_hidden_{self.found.type}({scalar})")
        return found

    def texts(self, source: tuple[str, str], spread: tuple[str, str]) -> Iterator[str]:
        """The ways to do it, those of one shuffle first; with texts and types of both registers."""
        known = self.register_file.instruction_set
        both = [x for x in (*find_movers(known), *find_shifters(known)) if self.is_whole(x, 2)]
        for mover in sorted(both, key=self.unlike):
            for first in (False, True):
                if self.does(mover, self.found.bytes, first):
                    yield from self.call(mover, [spread, source] if first else [source, spread])
        alone = tuple(None if x is None else place for place, x in enumerate(self.found.bytes))
        for mover in sorted(both, key=self.unlike):
            for first in (False, True):
                if self.does(mover, alone, first):
                    for text, kind in self.rearranged(source):
                        turned = text, kind
                        yield from self.call(mover, [spread, turned] if first else [turned, spread])

    def is_whole(self, mover: Mover, count: int) -> bool:
        sizes = [x for _, x in mover.sources]
        return sizes == [self.size] * count and len(mover.moves) == self.size and not mover.is_built

    def unlike(self, mover: Mover) -> int:
        """How many casts it wants."""
        return sum(x != self.kind for x in (*(kind for kind, _ in mover.sources), mover.entry.signature.result))

    def does(self, mover: Mover, wanted: _Bytes, spread_first: bool) -> bool:
        """Whether a shuffle of two registers leaves what is wanted of one, and the number elsewhere."""
        own, other = (self.size, 0) if spread_first else (0, self.size)
        each = self.found.type.bits // 8
        for place, (moved, want) in enumerate(zip(mover.moves, wanted, strict=True)):
            if moved is None:
                return False
            if want is None and not (other <= moved < other + self.size and moved % each == place % each):
                return False
            if want is not None and moved != own + want:
                return False
        return True

    def rearranged(self, source: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """The register with its lanes where they are wanted, those that are not used in the places that are left."""
        wanted = self.found.bytes
        unused = iter(sorted({*range(self.size)} - {*wanted}))
        table = tuple(next(unused, 0) if x is None else x for x in wanted)
        alone = [x for x in find_movers(self.register_file.instruction_set) if self.is_whole(x, 1) and x.moves == table]
        twice = [
            x
            for x in find_movers(self.register_file.instruction_set)
            if self.is_whole(x, 2) and self.with_itself(x) == table
        ]
        for mover in sorted((*alone, *twice), key=self.unlike):
            for text in self.call(mover, [source] * len(mover.sources), cast=False):
                yield text, mover.entry.signature.result
        for entry in self.loads.moves.controlled.values():
            mover_or_none = find_control(entry, table)
            if mover_or_none is not None:
                control = self.control(mover_or_none)
                for text in self.call(mover_or_none, [source], control, cast=False):
                    yield text, entry.signature.result

    def with_itself(self, mover: Mover) -> _Bytes:
        return tuple(None if x is None else x % self.size for x in mover.moves)

    def control(self, mover: Mover) -> str:
        """The register of a constant that says where bytes go."""
        kind = next(x for x, name in mover.entry.signature.parameters if name == mover.control_name)
        bits = self.loads.moves.bits
        call = self.loads.call(kind, bits, bits)
        if call is None:
            raise NoCover(f"nothing loads {kind}")
        values = ", ".join(map(str, mover.control))
        self.lines.append(f"static const unsigned char planish_at[{len(mover.control)}] = {{{values}}};")
        return call.call({"m": "planish_at"})

    def call(
        self, mover: Mover, operands: list[tuple[str, str]], control: str = "", cast: bool = True
    ) -> Iterator[str]:
        """A call of a shuffle, with casts where types are others; nothing where there are none."""
        texts = [self.cast(x, kind) for x, (kind, _) in zip(operands, mover.sources, strict=True)]
        if all(texts):
            called = mover.call([x for x in texts if x], control)
            found = self.cast((called, mover.entry.signature.result), self.kind) if cast else called
            if found:
                yield found

    def cast(self, x: tuple[str, str], kind: str) -> str | None:
        text, own = x
        if own == kind:
            return text
        found = self.loads.moves.casts.get((own, kind))
        return found.call([text]) if found is not None else None
