"""A VLIW machine as its description file tells it: units, issue slots, register files, memories and operations.

Nothing behind this module knows a machine by its name. What an operation does is a kernel over its operands, so that
the selection of operations, the simulator and the tests read the same line of the description.

>>> from planish.ir.text.parser import parse_kernel
>>> add = parse_kernel("kernel VADD(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = a[l] + d[l] } }")
>>> tiny = VliwMachine(
...     "tiny", sides={"vector": 1}, units=(Unit("VALU", "vector"),), files=(VliwRegisterFile("V", 8, 128),),
...     memories=(), operations=(MachineOperation("VADD", "VADD {d}, {a}", add, ("VALU",), latency=2),))
>>> tiny.operation("VADD").latency, tiny.file("V").count, tiny.kind("VADD")
(2, 8, 'compute')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, Protocol, TypeVar

from planish.ir.accesses import reads
from planish.ir.expr import Binary, Const, Load, Var
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import stored_arrays, walk
from planish.ir.types import I64, U8
from planish.vliw.calling import Calling

Kind = Literal["compute", "load", "store", "branch"]
"""What an operation is to the scheduler: a value from registers, one from memory, one to memory, or a jump."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One functional unit, and the side of the packet (the group of issue slots) that it takes its operations from; or
    several units that an operation takes at once (`parts`). A `shared` one is taken by as many operations of a packet
    as its side has slots."""

    name: str
    side: str
    parts: tuple[str, ...] = ()
    shared: bool = False


@dataclass(frozen=True, slots=True)
class VliwRegisterFile:
    """`count` registers of `bits` bits. `readers` and `writers` are the values that can be read and written in a cycle
    (0: as many as are asked for); `predicates`: its registers can guard operations; `addresses`: they can be bases of
    addresses; `offsets`: they can be offsets from them, and steps. `loops`: they count hardware loops, the first one
    innermost ones, the next one those around them. `text`: how assembly spells one (`{number}`), whose
    number there is `first` for the first one."""

    name: str
    count: int
    bits: int
    readers: int = 0
    writers: int = 0
    predicates: bool = False
    addresses: bool = False
    offsets: bool = False
    text: str = ""
    loops: bool = False
    first: int = 0


LOOP_WORDS = ("target", "counter")
"""What stands in the text of operations that begin and end hardware loops: where the loop begins, and its counter."""

Reach = tuple[int, int]
"""The least and the greatest offset, or step, of an address, in accesses of an operation."""


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """A memory of `bytes` bytes that operations address; accesses of a vector start at multiples of `alignment`.

    `reach`, `stride`: the constant offsets and steps that an address may have (None: any); `guarded`: the offsets of
    an access under a condition, `vectors`: those of vectors (None: as of others); `either`: an address whose base moves
    has no offset."""

    name: str
    bytes: int
    alignment: int = 1
    reach: Reach | None = None
    stride: Reach | None = None
    guarded: Reach | None = None
    vectors: Reach | None = None
    either: bool = False


@dataclass(frozen=True, slots=True)
class Transfers:
    """Block transfers (DMA) between memories beside the running code: `channels` at a time. Each takes `startup` cycles
    and then, when those started before it are done, moves `bytes_per_cycle`. What is moved may not be touched
    meanwhile."""

    channels: int
    startup: int
    bytes_per_cycle: float


@dataclass(frozen=True, slots=True)
class MachineOperation:
    """An operation: its assembly text with `{name}` for operands, its meaning, and what it takes of the machine.

    Arrays of `definition` are operands: those in a register file are registers (rank 0: one value of the file's width
    or less; rank 1: lanes), those in a memory are addressed. The first arrays are what it writes. Sizes and scalars of
    the definition are immediates. A jump (`branch`) has an empty definition. It is issued on one of `units`, which it
    keeps for `busy` cycles; a register that is written in cycle t holds the new value for packets from cycle
    t + `latency` on (and the old one until then: the pipeline is exposed); a load reads memory in the cycle in which
    it is issued, a store has written it at t + `latency`.
    Where the machine is `interlocked`, what is read too early is waited for: `latency` is 1, and `stall` the cycles
    that a reader in the next packet waits. An empty `text`: the machine does it by itself. `bare`: it takes no guard.
    `loop`: a jump behind a packet that ends a hardware loop, counted in the register of its guard. `scaled`: the
    assembly of its address counts accesses, not bytes. `sequence`: it stands for these operations (see `sequences`).
    `immediates`: the least and the greatest whole number in its text. `reach`, `stride`: as of its memory, where they
    differ. `assumed`: the latency is not published, but taken from like operations. `transfer`: it starts a block
    transfer on a channel (its definition is `transfer_kernel`), or holds up everything until that of a channel is done;
    `waits` are the memories that transfers touch, no access of which is moved across such a wait.
    `pairs`: operands that are two neighbouring registers, an even one and the next; in the text `{high:low}` is how
    both are spelt as one. `near`: operands that are in one of so many first registers of their file.
    `aligned`: it accesses multiples of so many bytes alone, and is used where that is known.
    """

    name: str
    text: str
    definition: Kernel
    units: tuple[str, ...]
    latency: int = 1
    busy: int = 1
    branch: bool = False
    assumed: bool = False
    transfer: Literal["", "start", "wait"] = ""
    waits: tuple[str, ...] = ()
    stall: int = 0
    bare: bool = False
    loop: bool = False
    scaled: bool = False
    sequence: tuple[str, ...] = ()
    immediates: Reach | None = None
    reach: Reach | None = None
    stride: Reach | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    near: tuple[tuple[str, int], ...] = ()
    aligned: int = 0

    def may_have(self, value: float) -> bool:
        """Whether a number may stand in its text."""
        return self.immediates is None or self.immediates[0] <= value <= self.immediates[1]


@dataclass(frozen=True, slots=True)
class Assembly:
    """How the machine's assembler writes what is around operations: `{unit}` behind the first word of an operation,
    guards and negated ones before it, addresses whose base stays and whose base moves, the lines of a packet's `first`
    operation and of the `others`, what stands before and behind a packet, an `empty` one, labels, remarks, and two
    registers as one by their numbers (`pair`)."""

    unit: str = ".{unit}"
    guard: str = "[{register}] "
    negated: str = "[!{register}] "
    address: str = "*{base}[{offset}]"
    moving: str = "*{base}[{offset}]++[{step}]"
    first: str = "    {operation}"
    others: str = "||  {operation}"
    before: str = ""
    behind: str = ""
    empty: str = "    NOP"
    label: str = "{label}:"
    remark: str = "; {text}"
    pair: str = "{high}:{low}"


class OperationLibrary(Protocol):
    """Operations that a machine has besides those of its description, made when they are asked for."""

    @property
    def vectors(self) -> str:
        """The file of vectors."""

    def operation(self, name: str) -> MachineOperation:
        """The operation of that name; KeyError where there is none."""

    def parameters(self, name: str) -> tuple[str, ...]:
        """The operands of an instruction in the order of its arguments, but for numbers in its text."""

    def shifted(self, bytes_: int, width: int) -> str | None:
        """The operation that takes the bytes from `bytes_` on of two neighbours of `width` bytes, the upper one of
        which is its first operand; None where there is none."""


@dataclass(frozen=True, slots=True)
class IssueSlots:
    """The single units that an operation holds on each unit, its slots of each side of a packet there, and how often
    each file of registers is read or written in a cycle, where that is limited."""

    parts: Mapping[str, tuple[str, ...]]
    sides: Mapping[str, tuple[tuple[str, int], ...]]
    ports: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class VliwMachine:
    """A machine. `sides` are the groups of issue slots and how many operations of each a packet has;
    `update_latency` the cycles after which an address register that an access has moved can be read again.
    `interlocked`: it waits for values that are not there yet; without that, old ones are read. `calling`: how C calls
    packets, `target`: with whose compiler and emulator that is done; `library`: operations that are not described.

    `constants` are the names for numbers that the description was written with (lanes of a vector, say).
    """

    name: str
    sides: Mapping[str, int]
    units: tuple[Unit, ...]
    files: tuple[VliwRegisterFile, ...]
    memories: tuple[MachineMemory, ...]
    operations: tuple[MachineOperation, ...]
    transfers: Transfers = Transfers(0, 0, 0.0)
    update_latency: int = 1
    frequency_ghz: float = 0.0
    description: str = ""
    constants: Mapping[str, int] = field(default_factory=dict)
    assembly: Assembly = Assembly()
    interlocked: bool = False
    calling: Calling | None = None
    target: str = ""
    library: OperationLibrary | None = field(default=None, compare=False)
    _known: Mapping[str, MachineOperation] = field(init=False, repr=False, compare=False)
    _places: dict[str, tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)
    _slots: list[IssueSlots] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        # There are hundreds of operations, and each step of packing and simulating asks for one.
        object.__setattr__(self, "_known", {x.name: x for x in self.operations})

    def operation(self, name: str) -> MachineOperation:
        """The operation of that name, of the description or its library; KeyError where there is none."""
        known = self._known.get(name)
        if known is None and self.library is not None:
            return self.library.operation(name)
        return self._known[name]

    def file(self, name: str) -> VliwRegisterFile:
        """The register file of that name; KeyError where there is none."""
        return _by_name(self.files, name)

    def memory(self, name: str) -> MachineMemory:
        """The memory of that name; KeyError where there is none."""
        return _by_name(self.memories, name)

    def unit(self, name: str) -> Unit:
        """The unit of that name; KeyError where there is none."""
        return _by_name(self.units, name)

    def parts(self) -> dict[str, tuple[Unit, ...]]:
        """The single units that each unit consists of."""
        known = {x.name: x for x in self.units}
        return {x.name: tuple(known[y] for y in x.parts) or (x,) for x in self.units}

    def issue_slots(self) -> IssueSlots:
        """What each unit takes of a packet, which is found once."""
        if not self._slots:
            parts = self.parts()
            held = {unit: tuple(x.name for x in own if not x.shared) for unit, own in parts.items()}
            sides = {unit: tuple(Counter(x.side for x in own).items()) for unit, own in parts.items()}
            ports = {("read", x.name): x.readers for x in self.files if x.readers}
            ports |= {("write", x.name): x.writers for x in self.files if x.writers}
            self._slots.append(IssueSlots(held, sides, ports))
        return self._slots[0]

    def may_address(self, name: str, offset: int, step: int = 0, guarded: bool = False) -> bool:
        """Whether the address of an operation may have a constant offset and a constant step, in bytes."""
        operation = self.operation(name)
        memories = {x.name: x for x in self.memories}
        for array in operation.definition.arrays:
            if array.memory not in memories:
                continue
            memory = memories[array.memory]
            if memory.either and offset and step:
                return False
            reach = operation.reach or memory.reach
            reach = memory.guarded if guarded and memory.guarded else reach
            width = bytes_of(array)
            return _is_within(offset, width, reach) and _is_within(step, width, operation.stride or memory.stride)
        return True

    def kind(self, name: str) -> Kind:
        """What the operation of that name is to the scheduler."""
        operation = self.operation(name)
        if operation.branch:
            return "branch"
        if operation.transfer:
            return "store"
        memories = {x.name for x in self.memories}
        written = self.written(name)
        if any(x.memory in memories for x in written):
            return "store"
        return "load" if any(x.memory in memories for x in operation.definition.arrays) else "compute"

    def written(self, name: str) -> tuple[Array, ...]:
        """The operands that an operation writes: those that its definition assigns to."""
        return written_arrays(self.operation(name).definition)

    def written_places(self, name: str) -> tuple[int, ...]:
        """Where among its operands those are that an operation writes."""
        if name not in self._places:
            own = {x.name for x in self.written(name)}
            names = operand_names(self.operation(name).definition)
            self._places[name] = tuple(n for n, x in enumerate(names) if x in own)
        return self._places[name]

    def read(self, name: str) -> tuple[Array, ...]:
        """The operands whose values an operation depends on: those that its definition loads, and those in registers
        that it may leave a part of as it was."""
        return read_arrays(self.operation(name).definition)


def bytes_of(array: Array) -> int:
    """How many bytes an operand has; 1 where that depends on an immediate."""
    counts = [int(x.value) for x in array.shape if isinstance(x, Const)]
    return array.type.size * (counts[0] if counts else 1) if len(counts) == len(array.shape) else 1


def _is_within(bytes_: int, width: int, reach: Reach | None) -> bool:
    return reach is None or (bytes_ % width == 0 and reach[0] * width <= bytes_ <= reach[1] * width)


def transfer_kernel(name: str, to: str, source: str, file: str) -> Kernel:
    """What an operation does that starts a transfer: `rows` of `bytes` each, whose beginnings lie `d_step` and `s_step`
    bytes apart; these numbers are in registers of a file.

    >>> [x.name for x in transfer_kernel("GET", "AM", "GSM", "S").arrays]
    ['d', 's', 'bytes', 'rows', 'd_step', 's_step']
    """
    numbers = tuple(Array(x, I64, (), memory=file) for x in ("bytes", "rows", "d_step", "s_step"))
    bytes_, rows, d_step, s_step = (Load(x.name, (), I64) for x in numbers)
    row, place = Var("r", I64), Var("i", I64)
    read = Load("s", (Binary("add", Binary("mul", row, s_step), place),), U8)
    stored = Assign("d", (Binary("add", Binary("mul", row, d_step), place),), read)
    inner = For("i", Const(0, I64), bytes_, 1, Block((stored,)))
    body = Block((For("r", Const(0, I64), rows, 1, Block((inner,))),))
    blocks = (Array("d", U8, (None,), memory=to), Array("s", U8, (None,), memory=source))
    return Kernel(name, ("channel",), (), (*blocks, *numbers), body)


def written_arrays(definition: Kernel) -> tuple[Array, ...]:
    """The arrays that a definition assigns to, in the order of its parameters."""
    names = stored_arrays(definition.body)
    return tuple(x for x in definition.arrays if x.name in names)


def operand_names(definition: Kernel, branch: bool = False) -> tuple[str, ...]:
    """The names of the operands of an operation, in the order in which an `Instr` has them."""
    if branch:
        return ("target",)
    return (*definition.sizes, *(x.name for x in definition.scalars), *(x.name for x in definition.arrays))


@lru_cache(maxsize=1024)
def read_arrays(definition: Kernel) -> tuple[Array, ...]:
    """The arrays that a definition loads or does not write all of, in the order of its parameters.

    >>> from planish.ir.text.parser import parse_kernel
    >>> put = parse_kernel("kernel PUT(k, d: f32[4] @V, e: f32[] @V, a: f32[] @S) { d[k] = a[] e[] = a[] }")
    >>> [x.name for x in read_arrays(put)]
    ['d', 'a']
    """
    loaded = {x.array for x in reads(definition.body)}
    loaded |= {x.array for x in walk(definition.body) if isinstance(x, Reduce)}
    written = {x.name for x in written_arrays(definition)}
    return tuple(
        x for x in definition.arrays
        if x.name in loaded or (x.name in written and x.shape != (None,) and not covers(definition, x))
    )  # fmt: skip


def covers(definition: Kernel, array: Array) -> bool:
    """Whether a definition writes all elements of an operand, whatever its values are."""
    count = int(evaluate(array.shape[0], {})) if array.shape and array.shape[0] is not None else 1
    return len(_always_written(definition.body, array.name, {})) == count


def _always_written(stmt: Stmt, array: str, values: Mapping[str, int]) -> frozenset[int]:
    """The elements of an array that a statement writes for given values of the loops around it."""
    try:
        match stmt:
            case Assign(index=index) | Reduce(index=index) if stmt.array == array:
                return frozenset((evaluate(index[0], values) if index else 0,))
            case For(var=var, lower=lower, upper=upper, step=step, body=body):
                rounds = range(evaluate(lower, values), evaluate(upper, values), step)
                return frozenset[int]().union(*(_always_written(body, array, {**values, var: i}) for i in rounds))
            case If(then=then, otherwise=otherwise):
                return _always_written(then, array, values) & _always_written(otherwise, array, values)
            case Block(body=inner):
                return frozenset[int]().union(*(_always_written(x, array, values) for x in inner))
            case _:
                return frozenset()
    except (KeyError, ValueError, ArithmeticError):
        return frozenset()  # it depends on a value


_Named = TypeVar("_Named", Unit, VliwRegisterFile, MachineMemory)


def _by_name(items: tuple[_Named, ...], name: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    raise KeyError(name)
