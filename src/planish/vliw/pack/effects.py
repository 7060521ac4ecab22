"""What an operation of a stream takes and touches: registers that it reads and writes, and when; memory; units.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import Machine, Operation, RegisterFile, Unit
>>> from planish.vliw.program import Instr, Register
>>> mac = parse_kernel("kernel MAC(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] += a[l] } }")
>>> tiny = Machine("tiny", {"v": 1}, (Unit("U", "v"),), (RegisterFile("V", 8, 128),), (),
...     (Operation("MAC", "MAC {d}, {a}", mac, ("U",), latency=3),))
>>> effects = Described(tiny).effects(Instr("MAC", (Register("V", "d"), Register("V", "a"))))
>>> [str(x) for x in effects.reads], [(str(x.register), x.latency) for x in effects.writes]
(['V.d', 'V.a'], [('V.d', 3)])
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product

from planish.ir.expr import Binary, Const, Expr, Var
from planish.ir.nest import Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import expressions, loads, walk
from planish.vliw.machine import Kind, Machine, Operation
from planish.vliw.program import Address, Guard, Immediate, Instr, Label, Place, Register


@dataclass(frozen=True, slots=True)
class Write:
    """A register that packets `latency` cycles later read anew. `certain`: it is always written, and all of it."""

    register: Register
    latency: int
    certain: bool


@dataclass(frozen=True, slots=True)
class Access:
    """An access of a memory; a store is in it `latency` cycles later, a load reads it at once (latency 0)."""

    memory: str
    store: bool
    latency: int
    place: Place | None


@dataclass(frozen=True, slots=True)
class Effects:
    """An operation as the schedulers see it."""

    instr: Instr
    kind: Kind
    units: tuple[str, ...]
    latency: int
    busy: int
    reads: tuple[Register, ...]
    writes: tuple[Write, ...]
    accesses: tuple[Access, ...]

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
class _Role:
    """What a definition does with an operand: reads it, writes it, all of it."""

    array: Array
    read: bool
    written: bool


@dataclass(slots=True)
class Described:
    """A machine whose operations have been looked at: what each does with its operands is found once."""

    machine: Machine
    _known: dict[str, tuple[Operation, Kind, tuple[_Role | None, ...]]] = field(default_factory=dict)
    _memories: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._memories = frozenset(x.name for x in self.machine.memories)

    def roles(self, name: str) -> tuple[Operation, Kind, tuple[_Role | None, ...]]:
        """The operation of that name, its kind, and what it does with each operand (None: an immediate)."""
        if name not in self._known:
            operation = self.machine.operation(name)
            self._known[name] = (operation, self.machine.kind(name), _roles(operation.definition))
        return self._known[name]

    def effects(self, instr: Instr) -> Effects:
        """What an operation takes and touches. ValueError where its operands are not those of its definition."""
        operation, kind, roles = self.roles(instr.operation)
        reads: list[Register] = []
        writes: list[Write] = []
        accesses: list[Access] = []
        labels = sum(isinstance(x, Label) for x in instr.operands)
        if len(instr.operands) - labels != len(roles):
            raise ValueError(f"{instr}: {len(roles)} operands are wanted")
        for operand, role in zip((x for x in instr.operands if not isinstance(x, Label)), roles, strict=True):
            match operand:
                case Register():
                    if role is None or role.read:
                        reads.append(operand)
                    if role is not None and role.written:
                        writes.append(Write(operand, operation.latency, instr.guard is None))
                case Address(base=base, offset=offset, step=step):
                    reads.append(base)
                    reads += (x for x in (offset, step) if isinstance(x, Register))
                    if step != 0:
                        writes.append(Write(base, self.machine.update_latency, instr.guard is None))
                    if role is not None and role.read:
                        accesses.append(Access(role.array.memory, False, 0, instr.place))
                    if role is not None and role.written:
                        accesses.append(Access(role.array.memory, True, operation.latency, instr.place))
                case Immediate() | Label():
                    pass
        if instr.guard is not None:
            reads.append(instr.guard.register)
        done = (tuple(reads), tuple(writes), tuple(accesses))
        return Effects(instr, kind, operation.units, operation.latency, operation.busy, *done)


def _roles(definition: Kernel) -> tuple[_Role | None, ...]:
    immediates = len(definition.sizes) + len(definition.scalars)
    read = {x.array for stmt in walk(definition.body) for e in expressions(stmt) for x in loads(e)}
    read |= {x.array for x in walk(definition.body) if isinstance(x, Reduce)}
    written = {x.array for x in walk(definition.body) if isinstance(x, Assign | Reduce)}
    covered = _covered(definition)
    arrays = (
        # What is written in part only keeps the rest: the old value goes into it.
        _Role(x, x.name in read or (x.name in written and x.name not in covered), x.name in written)
        for x in definition.arrays
    )
    return (*(None for _ in range(immediates)), *arrays)


def _covered(definition: Kernel) -> frozenset[str]:
    """The arrays each element of which is assigned to, whatever the values are."""
    cells: dict[str, set[tuple[int, ...]]] = {}
    _collect(definition.body, {}, cells)
    return frozenset(x.name for x in definition.arrays if x.name in cells and _all_cells(x) <= cells[x.name])


def _all_cells(array: Array) -> set[tuple[int, ...]]:
    extents = [None if x is None else _value(x, {}) for x in array.shape]
    if any(x is None for x in extents):
        return {(-1,)}
    return set(product(*(range(x or 0) for x in extents)))


def _collect(stmt: Stmt, values: dict[str, int], cells: dict[str, set[tuple[int, ...]]]) -> None:
    match stmt:
        case Block(body=body):
            for x in body:
                _collect(x, values, cells)
        case For(var=var, lower=lower, upper=upper, step=step, body=body):
            first, last = _value(lower, values), _value(upper, values)
            if first is not None and last is not None:
                for i in range(first, last, step):
                    _collect(body, {**values, var: i}, cells)
        case Assign(array=array, index=index):
            at = tuple(_value(x, values) for x in index)
            if all(x is not None for x in at):
                cells.setdefault(array, set()).add(tuple(x for x in at if x is not None))
        case _:
            pass


def _value(expr: Expr, values: dict[str, int]) -> int | None:
    match expr:
        case Const(value=value) if isinstance(value, int):
            return value
        case Var(name=name):
            return values.get(name)
        case Binary(op=op, left=left, right=right):
            a, b = _value(left, values), _value(right, values)
            if a is None or b is None:
                return None
            match op:
                case "add":
                    return a + b
                case "sub":
                    return a - b
                case "mul":
                    return a * b
                case _:
                    return None
        case _:
            return None
