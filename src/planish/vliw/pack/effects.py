"""What an operation of a stream takes and touches: registers that it reads and writes, and when; memory; units.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.program import Instr, StreamRegister
>>> mac = parse_kernel("kernel MAC(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] += a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 8, 128),), (),
...     (MachineOperation("MAC", "MAC {d}, {a}", mac, ("U",), latency=3),))
>>> effects = Described(tiny).effects(Instr("MAC", (StreamRegister("V", "d"), StreamRegister("V", "a"))))
>>> [str(x) for x in effects.reads], [(str(x.register), x.latency) for x in effects.writes]
(['V.d', 'V.a'], [('V.d', 3)])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

from planish.ir.expr import Const, Load, Var
from planish.ir.nest import Array, Assign, For, Kernel
from planish.ir.traverse import flatten
from planish.vliw.machine import Kind, MachineOperation, VliwMachine
from planish.vliw.program import AccessPlace, Guard, Immediate, Instr, Label, MemoryAddress, StreamRegister


@dataclass(frozen=True, slots=True)
class Write:
    """A register that packets `latency` cycles later read anew. `certain`: it is always written, and all of it."""

    register: StreamRegister
    latency: int
    certain: bool


@dataclass(frozen=True, slots=True)
class AddressedAccess:
    """An access of a memory, of so many bytes (0: that is not known) at an address; a store is in it `latency` cycles
    later, a load reads it at once (latency 0)."""

    memory: str
    store: bool
    latency: int
    place: AccessPlace | None
    address: MemoryAddress
    bytes: int


@dataclass(frozen=True, slots=True)
class Effects:
    """An operation as the schedulers see it."""

    instr: Instr
    kind: Kind
    units: tuple[str, ...]
    latency: int
    busy: int
    reads: tuple[StreamRegister, ...]
    writes: tuple[Write, ...]
    accesses: tuple[AddressedAccess, ...]

    @property
    def guard(self) -> Guard | None:
        """The condition under which it is done."""
        return self.instr.guard

    def on(self, unit: str) -> Effects:
        """The same operation, which may go to one unit only."""
        return replace(self, units=(unit,))

    @property
    def span(self) -> int:
        """The cycles from its issue until all of it is done: results there, unit free."""
        return max([self.latency, self.busy, *(x.latency for x in self.writes)])


@dataclass(frozen=True, slots=True)
class BasePointer:
    """A register that each iteration moves on by `step`, in the operation `update`, `latency` cycles later. All else
    that reads it are addresses with constant offsets."""

    update: int
    step: int
    latency: int


@dataclass(frozen=True, slots=True)
class _Role:
    """What a definition does with an operand: reads it, or keeps a part of it; writes it."""

    array: Array
    read: bool
    written: bool

    @property
    def bytes(self) -> int:
        """How many bytes the operand has; 0 where that depends on an immediate."""
        extents = [x.value if isinstance(x, Const) else 0 for x in self.array.shape]
        return prod(int(x) for x in extents) * ((self.array.type.bits + 7) // 8)


@dataclass(slots=True)
class Described:
    """A machine whose operations have been looked at: what each does with its operands is found once."""

    machine: VliwMachine
    _known: dict[str, tuple[MachineOperation, Kind, tuple[_Role | None, ...]]] = field(default_factory=dict)
    moves: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The operations that copy a register, all of it or as much as the other one has: to which file, from which."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Those within a file, and that file."""
    _effects: dict[int, Effects] = field(default_factory=dict)
    """What is known of operations, by their identity: equal ones may differ in their places."""

    def __post_init__(self) -> None:
        found = ((x.name, _moved_files(x.definition, self.machine)) for x in self.machine.operations)
        self.moves = {name: files for name, files in found if files is not None}
        self.copies = {name: to for name, (to, source) in self.moves.items() if to == source}

    def move(self, to: StreamRegister, source: StreamRegister) -> Instr:
        """The operation that copies a register; StopIteration where there is none."""
        name = next(name for name, files in self.moves.items() if files == (to.file, source.file))
        return Instr(name, (to, source))

    def roles(self, name: str) -> tuple[MachineOperation, Kind, tuple[_Role | None, ...]]:
        """The operation of that name, its kind, and what it does with each operand (None: an immediate)."""
        if name not in self._known:
            operation = self.machine.operation(name)
            self._known[name] = (operation, self.machine.kind(name), _roles(self.machine, operation))
        return self._known[name]

    def effects(self, instr: Instr) -> Effects:
        """What an operation takes and touches. ValueError where its operands are not those of its definition."""
        known = self._effects.get(id(instr))
        if known is None:
            # It keeps the operation alive, so that no other one has its identity.
            known = self._effects[id(instr)] = self._described(instr)
        return known

    def _described(self, instr: Instr) -> Effects:
        operation, kind, roles = self.roles(instr.operation)
        reads: list[StreamRegister] = []
        writes: list[Write] = []
        accesses: list[AddressedAccess] = []
        labels = sum(isinstance(x, Label) for x in instr.operands)
        if len(instr.operands) - labels != len(roles):
            raise ValueError(f"{instr}: {len(roles)} operands are wanted")
        for operand, role in zip((x for x in instr.operands if not isinstance(x, Label)), roles, strict=True):
            match operand:
                case StreamRegister():
                    if role is None or role.read:
                        reads.append(operand)
                    if role is not None and role.written:
                        writes.append(Write(operand, operation.latency, instr.guard is None))
                case MemoryAddress(base=base, offset=offset, step=step):
                    reads.append(base)
                    reads += (x for x in (offset, step) if isinstance(x, StreamRegister))
                    if step != 0:
                        writes.append(Write(base, self.machine.update_latency, instr.guard is None))
                    if role is not None and role.read:
                        accesses.append(AddressedAccess(role.array.memory, False, 0, instr.place, operand, role.bytes))
                    if role is not None and role.written:
                        late = operation.latency
                        accesses.append(
                            AddressedAccess(role.array.memory, True, late, instr.place, operand, role.bytes)
                        )
                case Immediate() | Label():
                    pass
        # Nothing that a transfer may touch is moved across the end of one.
        nowhere = MemoryAddress(StreamRegister("", ""))
        accesses += (AddressedAccess(x, True, operation.latency, None, nowhere, 0) for x in operation.waits)
        if instr.guard is not None:
            reads.append(instr.guard.register)
        done = (tuple(reads), tuple(writes), tuple(accesses))
        return Effects(instr, kind, operation.units, operation.latency, operation.busy, *done)


def _moved_files(definition: Kernel, machine: VliwMachine) -> tuple[str, str] | None:
    """To a register of which file, and from one of which, a definition copies; None where it does something else."""
    if definition.sizes or definition.scalars:
        return None
    match definition.arrays, flatten(definition.body.body):
        case (to, source), [Assign(index=(), value=Load(index=())) as stmt]:
            count = 1
        case (to, source), [For(lower=Const(value=0), upper=Const(value=many), step=1, body=body, var=var)]:
            match flatten(body.body):
                case [Assign(index=(Var(name=i),), value=Load(index=(Var(name=j),))) as stmt] if i == j == var:
                    count = int(many)
                case _:
                    return None
        case _:
            return None
    assert isinstance(stmt.value, Load)
    own = (stmt.array, stmt.value.array) == (to.name, source.name) and to.type == source.type
    files = {x.name: x.bits for x in machine.files}
    shorter = min(files.get(to.memory, 0), files.get(source.memory, 0))
    return (to.memory, source.memory) if own and shorter == count * to.type.bits else None


def _roles(machine: VliwMachine, operation: MachineOperation) -> tuple[_Role | None, ...]:
    definition = operation.definition
    read = {x.name for x in machine.read(operation.name)}
    written = {x.name for x in machine.written(operation.name)}
    arrays = (_Role(x, x.name in read, x.name in written) for x in definition.arrays)
    return (*(None for _ in (*definition.sizes, *definition.scalars)), *arrays)
