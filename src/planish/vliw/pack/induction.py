"""Address registers that move by constants: their steps in an iteration become one, the rest goes into offsets.

>>> from planish.vliw.program import StreamRegister
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineMemory, MachineOperation, VliwRegisterFile, Unit
>>> load = parse_kernel("kernel L(d: f32[4] @V, a: f32[4] @M) { for l in 0 .. 4 { d[l] = a[l] } }")
>>> files = (VliwRegisterFile("V", 8, 128), VliwRegisterFile("A", 8, 32))
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), files,
...     (MachineMemory("M", 512),), (MachineOperation("L", "L {d}, {a}", load, ("U",), latency=3),))
>>> p, x, y = StreamRegister("A", "p"), StreamRegister("V", "x"), StreamRegister("V", "y")
>>> body = [Instr("L", (x, MemoryAddress(p, 0, 16))), Instr("L", (y, MemoryAddress(p, 8, 16)))]
>>> folded, pointers = fold_steps(body, Control(tiny), Described(tiny))
>>> for instr in folded: print(instr)
L V.x, *A.p[0]
L V.y, *A.p[24]++32
>>> pointers[p].update, pointers[p].step
(1, 32)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planish.vliw.machine import VliwMachine
from planish.vliw.pack.control import Control
from planish.vliw.pack.effects import BasePointer, Described
from planish.vliw.program import Instr, MemoryAddress, Operand, StreamRegister

_Registers = frozenset[StreamRegister]
_Folded = tuple[list[Instr], dict[StreamRegister, BasePointer]]


def fold_within_reach(body: Sequence[Instr], control: Control, described: Described) -> _Folded:
    """The body with at most one update of each pointer, and the pointers; where offsets got out of reach, its sums stay
    sums, and if that is not enough, it is as it was and none of the pointers."""
    summed: _Registers = frozenset()
    given: _Registers = frozenset()
    while True:
        folded, pointers = fold_steps(body, control, described, summed, given)
        far = frozenset(y for x in folded for y in far_bases(x, described.machine))
        if far <= given:
            return folded, pointers
        given, summed = given | (far & summed), summed | far


def far_bases(instr: Instr, machine: VliwMachine) -> Iterator[StreamRegister]:
    """The bases of an operation's addresses whose offsets or steps the machine does not have."""
    for x in instr.operands:
        if isinstance(x, MemoryAddress):
            offset, step = (y if isinstance(y, int) else 0 for y in (x.offset, x.step))
            if not machine.may_address(instr.operation, offset, step, instr.guard is not None):
                yield x.base


def fold_steps(
    body: Sequence[Instr], control: Control, described: Described,
    summed: _Registers = frozenset(), given: _Registers = frozenset(),
) -> _Folded:  # fmt: skip
    """The body with at most one update of each pointer, and the pointers. The sums of those that are `summed` do not
    become steps of accesses; those that are `given` stay as they are."""
    candidates = _movable(body, control, described) - given
    moved = dict.fromkeys(candidates, 0)
    done: list[Instr] = []
    updates: dict[StreamRegister, list[int]] = {x: [] for x in candidates}
    for i, instr in enumerate(body):
        added = control.is_sum(instr)
        if added is not None and added[0] in candidates:
            moved[added[0]] += added[1]
            updates[added[0]].append(i)
            done.append(instr)
            continue
        operands: list[Operand] = []
        for x in instr.operands:
            if isinstance(x, MemoryAddress) and x.base in candidates:
                assert isinstance(x.offset, int) and isinstance(x.step, int)
                operands.append(MemoryAddress(x.base, x.offset + moved[x.base]))
                if x.step != 0:
                    updates[x.base].append(i)
                    moved[x.base] += x.step
            else:
                operands.append(x)
        done.append(replace(instr, operands=tuple(operands)))
    return _with_updates(done, updates, moved, control, described, summed)


def _movable(body: Sequence[Instr], control: Control, described: Described) -> set[StreamRegister]:
    """The registers that are moved by constants, for certain, and read by addresses with constant offsets only."""
    moved: set[StreamRegister] = set()
    others: set[StreamRegister] = set()
    for instr in body:
        effects = described.effects(instr)
        summed = control.is_sum(instr)
        if summed is not None:
            moved.add(summed[0])
            continue
        bases: list[StreamRegister] = []
        for x in instr.operands:
            if not isinstance(x, MemoryAddress):
                continue
            if (
                isinstance(x.offset, StreamRegister)
                or isinstance(x.step, StreamRegister)
                or (x.step != 0 and instr.guard)
            ):
                others.add(x.base)
            bases.append(x.base)
            moved |= {x.base} if x.step != 0 else set()
        if len(bases) != len(set(bases)):
            others |= set(bases)
        read = list(effects.reads)
        for x in bases:
            read.remove(x)
        based = {x.base for x in instr.operands if isinstance(x, MemoryAddress) and x.step != 0}
        others |= set(read) | {x.register for x in effects.writes if x.register not in based}
    return moved - others


def _with_updates(
    body: Sequence[Instr],
    updates: dict[StreamRegister, list[int]],
    moved: dict[StreamRegister, int],
    control: Control,
    described: Described,
    summed: _Registers,
) -> _Folded:
    """The body with each pointer's whole step in the last of its updates; sums that are left over go."""
    kept: dict[int, list[StreamRegister]] = {}
    dropped: set[int] = set()
    for register, places in updates.items():
        sums = [i for i in places if control.is_sum(body[i]) is not None]
        # An access moves its pointer on for nothing; a sum takes a unit.
        accesses = [i for i in places if i not in sums]
        if register not in summed:
            accesses = _moving(body, register, moved[register], accesses, described.machine)
        last = accesses[-1] if accesses else sums[-1]
        dropped |= set(sums) - {last}
        if moved[register] != 0:
            kept.setdefault(last, []).append(register)
        elif last in sums:
            dropped.add(last)
    done: list[Instr] = []
    pointers: dict[StreamRegister, BasePointer] = {}
    for i, instr in enumerate(body):
        if i in dropped:
            continue
        back = {x: -pointer.step for x, pointer in pointers.items()}
        instr = replace(instr, operands=tuple(shifted(x, back) for x in instr.operands))
        for register in kept.get(i, ()):
            if control.is_sum(instr) is not None:
                instr = replace(control.with_sum(instr, moved[register]), span=instr.span)
            else:
                instr = replace(instr, operands=tuple(_stepped(x, register, moved[register]) for x in instr.operands))
            latency = next(x.latency for x in described.effects(instr).writes if x.register == register)
            pointers[register] = BasePointer(len(done), moved[register], latency)
        done.append(instr)
    return done, pointers


def _moving(
    body: Sequence[Instr], register: StreamRegister, step: int, places: list[int], machine: VliwMachine
) -> list[int]:
    """The accesses that may move a pointer on: those that do so already; where the machine's addresses either have an
    offset or move, any that has none and is always made."""
    if not any(x.either for x in machine.memories):
        return places
    return [
        i for i, instr in enumerate(body)
        if any(isinstance(x, MemoryAddress) and x.base == register and x.offset == 0 for x in instr.operands)
        and instr.guard is None and machine.may_address(instr.operation, 0, step)
    ]  # fmt: skip


def shifted(operand: Operand, by: Mapping[StreamRegister, int]) -> Operand:
    """An operand with another constant offset where its base is one of some registers."""
    if isinstance(operand, MemoryAddress) and operand.base in by and isinstance(operand.offset, int):
        return replace(operand, offset=operand.offset + by[operand.base])
    return operand


def _stepped(operand: Operand, register: StreamRegister, step: int) -> Operand:
    if isinstance(operand, MemoryAddress) and operand.base == register:
        return replace(operand, step=step)
    return operand
