"""Software pipelining of an innermost loop: its problem, its modulo schedule, how often its kernel is unrolled, and
where the operations that count its passes go.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.program import Instr, StreamRegister
>>> mac = parse_kernel("kernel MAC(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] += a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 8, 128),), (),
...     (MachineOperation("MAC", "MAC {d}, {a}", mac, ("U",), latency=3),))
>>> d, a = StreamRegister("V", "d"), StreamRegister("V", "a")
>>> problem = prepare([Instr("MAC", (d, a))], frozenset({d}), Control(tiny), Described(tiny))
>>> found = roll(problem, least=0, most=9)
>>> found.rolled.kernel.interval, found.least
(3, 3)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from planish.vliw.pack.bounds import IntervalBound, recurrence_bound, resource_bound
from planish.vliw.pack.confinement import confinement
from planish.vliw.pack.control import Control
from planish.vliw.pack.dependence import Edge, graph
from planish.vliw.pack.effects import BasePointer, Described, Effects
from planish.vliw.pack.induction import fold_steps
from planish.vliw.pack.modulo.ejection import place_by_ejection
from planish.vliw.pack.modulo.expand import Rolled
from planish.vliw.pack.modulo.iterative import LoopBody, PipelinedKernel, schedule_at, schedule_by_slack, shortened
from planish.vliw.pack.modulo.lifetimes import copies, pressure, span, values_of
from planish.vliw.pack.modulo.overfull import is_overfull
from planish.vliw.pack.modulo.rotation import Rotation, rotate
from planish.vliw.pack.modulo.search import search
from planish.vliw.pack.reservation import ReservationTable
from planish.vliw.pack.webs import Registers
from planish.vliw.program import Instr, Issue, StreamRegister

_LOOK = 1000
_SEARCH = 20_000
"""Placements with which an interval is searched through: at first, for a proof that it is not possible; and where no
other way has led to a schedule."""

_EJECTIONS = 8000
"""Placements with which an interval is tried by ejection."""

_PART_OF_THE_WAY = 4

_EACH = 1200
"""Operations that are placed for intervals one after the other: of a body of n, so many n-ths of these are tried. Then
each is longer by a sixteenth than the one before, and once one fits, those between are searched."""

_MOST_COPIES = 16
"""Kernels are not unrolled further than this."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An innermost loop to be pipelined. `invariants`: registers that it reads and does not write,
    and its pointers; `rotation`: what it carries."""

    body: LoopBody
    rotation: Rotation
    pointers: Mapping[StreamRegister, BasePointer]
    invariants: Registers
    resources: IntervalBound
    recurrences: IntervalBound

    @property
    def least(self) -> int:
        """MII."""
        return max(self.resources.interval, self.recurrences.interval)


@dataclass(frozen=True, slots=True)
class RolledLoop:
    """A loop with its schedule; no interval is shorter than `least`."""

    rolled: Rolled
    least: int


def prepare(instrs: Sequence[Instr], after: Registers, control: Control, described: Described) -> Problem:
    """The problem of a loop's body; `after` are the registers that are wanted when the loop has ended, or when an
    iteration begins."""
    rotation = rotate(instrs, after, control, described)
    folded, pointers = fold_steps(rotation.body, control, described)
    nodes = tuple(described.effects(x) for x in folded)
    written = {x.register for node in nodes for x in node.writes}
    renamed = frozenset(x for x in written if x not in after and not x.name.isdecimal()) | rotation.homes.keys()
    edges = [x for x in graph(nodes, True, renamed, pointers, free=True) if x.first != x.second or x.distance]
    edges += _carried_edges(nodes, rotation)
    for pointer in pointers.values():
        edges.append(Edge(pointer.update, pointer.update, pointer.latency, 1))
    machine = described.machine
    values = [x for x in values_of(nodes, renamed, rotation.reads) if x.register not in pointers]
    body = LoopBody(machine, nodes, tuple(edges), tuple(values))
    # A pointer takes its register all the time, whenever its next value lands.
    read = frozenset(y for x in nodes for y in x.reads)
    invariants = read - written - rotation.reads.keys() | frozenset(pointers)
    resources, recurrences = resource_bound(machine, nodes), recurrence_bound(len(nodes), edges)
    return Problem(body, rotation, pointers, invariants, resources, recurrences)


def _carried_edges(nodes: Sequence[Effects], rotation: Rotation) -> Iterator[Edge]:
    """What waits for values of earlier iterations."""
    made = {x.register: (i, x.latency) for i, node in enumerate(nodes) for x in node.writes}
    for i, node in enumerate(nodes):
        for root, distance in {rotation.reads[x] for x in node.reads if x in rotation.reads}:
            first, latency = made[root]
            yield Edge(first, i, latency, distance)


@dataclass(frozen=True, slots=True)
class KernelAttempts:
    """What was found of intervals of a loop: a kernel, or none, and whether there is none for certain; and a kernel
    whose values live less long."""

    kernels: dict[int, tuple[PipelinedKernel | None, bool]] = field(default_factory=dict)
    lean: dict[int, PipelinedKernel | None] = field(default_factory=dict)

    def kernel(self, body: LoopBody, interval: int) -> tuple[PipelinedKernel | None, bool]:
        """A kernel of that interval, or None; and whether it is certain that there is none."""
        if interval not in self.kernels:
            self.kernels[interval] = _attempt(body, interval)
        return self.kernels[interval]

    def lean_kernel(self, body: LoopBody, interval: int) -> PipelinedKernel | None:
        """A kernel of that interval by slack, or None."""
        if interval not in self.lean:
            self.lean[interval] = schedule_by_slack(body, interval)
        return self.lean[interval]


def roll(
    problem: Problem, least: int, most: int, lean: bool = False, attempts: KernelAttempts | None = None
) -> RolledLoop | None:
    """The loop with the shortest interval from `least` to `most` at which there are registers enough, and what is
    known of those below. `lean`: of two kernels the one that takes fewer registers; `attempts`: what is known of it."""
    known = attempts or KernelAttempts()
    kept = Counter(x.file for x in problem.invariants)
    if any(count > problem.body.machine.file(file).count for file, count in kept.items()):
        return None
    proven = problem.least
    interval = max(least, proven)
    below, left = interval - 1, _EACH // max(1, len(problem.body.nodes))
    while interval <= most:
        kernel, impossible = known.kernel(problem.body, interval)
        proven += impossible and proven == interval
        if kernel is not None and (lean or not has_registers(problem, kernel)):
            other = known.lean_kernel(problem.body, interval)
            kernel = min((x for x in (kernel, other) if x is not None), key=partial(_fullness, problem))
        if kernel is not None and has_registers(problem, kernel):
            return RolledLoop(with_copies(problem, _shortest(problem, kernel, below, known)), proven)
        left -= kernel is None
        # One more cycle is a smaller part of a long interval, and frees as few registers.
        step = 1 if kernel is None and left > 0 else 1 + interval // (16 if kernel is None else 32)
        below = interval if kernel is None else interval + step - 1
        interval += step
    return None


def _shortest(problem: Problem, kernel: PipelinedKernel, below: int, known: KernelAttempts) -> PipelinedKernel:
    """The kernel of the shortest interval that is found between one at which there was none and that of a kernel."""
    while kernel.interval - below > 1:
        middle = (below + kernel.interval) // 2
        found, _ = known.kernel(problem.body, middle)
        if found is not None and has_registers(problem, found):
            kernel = found
        else:
            below = middle
    return kernel


def _attempt(body: LoopBody, interval: int) -> tuple[PipelinedKernel | None, bool]:
    """A kernel of that interval, or None; and whether it is certain that there is none."""
    if is_overfull(body, interval):
        return None, True
    looked = search(body, interval, _LOOK)
    if looked.outcome == "none":
        return None, True
    kernel = schedule_at(body, interval)
    if kernel is None and looked.outcome == "found":
        kernel = shortened(body, interval, looked.cycles, looked.units)
    slow = any(x.busy > 1 for x in body.nodes)
    for chosen in (False, True) if slow else (False,):
        if kernel is None:
            found = place_by_ejection(body, interval, _EJECTIONS, chosen)
            kernel = shortened(body, interval, found.cycles, found.units) if found is not None else None
    if kernel is None:
        looked = search(body, interval, _SEARCH, slow)
        if looked.outcome == "found":
            kernel = shortened(body, interval, looked.cycles, looked.units)
    return kernel, looked.outcome == "none"


def has_registers(problem: Problem, kernel: PipelinedKernel) -> bool:
    """Whether no cycle of a kernel wants more registers of a file than there are."""
    return _fullness(problem, kernel) <= 1


def _fullness(problem: Problem, kernel: PipelinedKernel) -> float:
    """The share of its registers that the fullest file has taken in the fullest cycle."""
    wanted = pressure(problem.body.values, problem.invariants, kernel.cycles, kernel.interval)
    return max((count / problem.body.machine.file(file).count for file, count in wanted.items()), default=0)


def with_copies(problem: Problem, kernel: PipelinedKernel) -> Rolled:
    """The schedule, and how many registers each value takes turns with."""
    wanted = {x.register: copies(x, kernel.cycles, kernel.interval) for x in problem.body.values if x.renamed}
    wanted = {x: max(count, problem.rotation.least_copies(x)) for x, count in wanted.items()}
    # Two neighbouring registers take turns together.
    confined = confinement((x.instr for x in problem.body.nodes), problem.body.machine)
    for low, high in confined.partners.items():
        both = max(wanted.get(low, 1), wanted.get(high, 1))
        wanted |= {low: both, high: both} if low in wanted and high in wanted else {}
    return Rolled(
        tuple(x.instr for x in problem.body.nodes),
        kernel,
        {x: count for x, count in wanted.items() if count > 1},
        problem.pointers,
        problem.rotation,
    )


def most_copies(rolled: Rolled) -> int:
    """The most registers that a value takes turns with."""
    return max([1, *rolled.copies.values()])


def interval_for(problem: Problem, rolled: Rolled) -> int:
    """A longer interval with which values may take turns with fewer registers: a part of the way to where they do if
    they live as long as now, as they may live less long then; the next one where they never do, as it may have fewer
    stages."""
    here = rolled.kernel.interval
    most = most_copies(rolled) - 1
    if not most:
        return here + 1
    there = here
    for value in problem.body.values:
        if value.renamed and rolled.copies.get(value.register, 1) > most:
            if most < problem.rotation.least_copies(value.register):
                return here + 1
            first, last = span(value, rolled.kernel.cycles, here)
            there = max(there, -(-(last + 1 - first) // most))
    return here + max(1, (there - here) // _PART_OF_THE_WAY)


def unrolled(rolled: Rolled, least: int) -> Rolled:
    """The loop for a kernel that is unrolled `least` times: values take turns with a number of registers that
    divides it."""
    taken = {x: next(i for i in range(count, least + 1) if least % i == 0) for x, count in rolled.copies.items()}
    return replace(rolled, copies=taken)


def unrollings(rolled: Rolled, cycles: int) -> list[int]:
    """How often a kernel may be unrolled so that there are registers for all that lives longer than an iteration, and
    a pass takes `cycles` cycles at least; the best one first."""
    interval = rolled.kernel.interval
    least = max(-(-cycles // interval), most_copies(rolled))
    return list(range(least, max(least, _MOST_COPIES) + 1))


def add_control(
    described: Described,
    rows: Sequence[Sequence[Issue]],
    chain: Sequence[Effects],
    before: Sequence[Sequence[Issue]] | None = None,
) -> list[list[Issue]] | None:
    """Some packets with a chain of operations in them, each of which waits for the one before; the last one jumps where
    the packets end. None where there is no room for them. Without packets that come `before`, they are a kernel."""
    table = ReservationTable(described.machine, len(rows) if before is None else 0)
    number = 0
    for row, issues in enumerate(before or ()):
        for issue in issues:
            table.keep(described.effects(issue.instr), row - len(before or ()), issue.unit)
    for row, issues in enumerate(rows):
        for issue in issues:
            effects = described.effects(issue.instr)
            if not table.place(number, effects.on(issue.unit), row):
                raise AssertionError("a kernel does not fit the table that it was made with")
            number += 1
    fuller = [list(x) for x in rows]
    limit = len(rows)
    for effects in reversed(chain):
        last = limit - effects.latency
        first = last if effects.kind == "branch" else 0
        at = next((x for x in range(last, max(first, 0) - 1, -1) if table.place(number, effects, x)), None)
        if at is None:
            return None
        fuller[at].append(Issue(effects.instr, table.unit_of(number)))
        number, limit = number + 1, at
    return fuller
