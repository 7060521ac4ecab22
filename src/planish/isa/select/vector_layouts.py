"""Vector layouts: data in registers, bit by bit of their addresses, and the cheapest way from one layout to another.

The bits of an address in a register, and those that say which of several registers it is, are names: `k0 k1 …` those
of the place in a row of memory, `r0 r1 …` those of the number of the row. Turning a square round exchanges them; an
instruction that weaves two registers takes the bit that says which one into the address, and another one out.

>>> from planish.isa.select.shuffle_table import find_moves
>>> from planish.isa.select.instruction_set import InstructionSet
>>> moves = find_moves(InstructionSet("x86", ("SSE", "SSE2")), 16)
>>> square = VectorLayout(("k0", "k1", "r0", "r1"), frozenset(("k2", "k3")))  # 4 x 4 floats turned round
>>> way = find_way(square, moves, lambda x: 4.0 if x.lanes == ("k0", "k1", "k2", "k3") else None, element=2)
>>> [(x.before.lanes, x.out) for x in way]
[(('k0', 'k1', 'k2', 'k3'), 'k3'), (('k0', 'k1', 'r0', 'k2'), 'k2')]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Literal

from planish.isa.entry import Entry
from planish.isa.select.permute_instructions import Mover, Steer
from planish.isa.select.shuffle_table import Moves, is_fine

_MOST_STATES = 100_000
_CONTROL, _FINE = 1.25, 1.5
"""What a shuffle that reads a constant costs beside one that does not, of whole words and of what is in them."""


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """`lanes`: the names of the bits of addresses in a register, the lowest first, "" where nothing has to be;
    `apart`: those that say which register; `summed`: those whose two halves are still to be added."""

    lanes: tuple[str, ...]
    apart: frozenset[str]
    summed: frozenset[str] = frozenset()

    @property
    def registers(self) -> int:
        """How many there are."""
        return 1 << len(self.apart)


@dataclass(frozen=True, slots=True)
class LayoutStep:
    """What makes a layout of the one before it. "weave": `movers` make of two registers, that `into` tells apart, the
    two that `out` tells apart (one where that is ""); "rearrange": of one register another; "add": those that `out`
    tells apart are added; "fold": a register and itself with `out` exchanged. `control`: an instruction that takes bits
    of addresses (`take`) as a constant says, instead of movers."""

    kind: Literal["weave", "rearrange", "add", "fold"]
    before: VectorLayout
    after: VectorLayout
    movers: tuple[tuple[Mover, ...], ...] = ()
    into: str = ""
    out: str = ""
    control: Entry | None = None
    take: tuple[int, ...] = ()


def find_way(
    target: VectorLayout,
    moves: Moves,
    cost: Callable[[VectorLayout], float | None],
    *,
    element: int,
    least: float = 0.0,
) -> tuple[LayoutStep, ...] | None:
    """The cheapest steps to a layout from one that can be loaded, which `cost` says of one that can; None where there
    are none. `element`: how many of the lowest bits are within an element; `least`: what loading a register costs at
    least, so that what is too dear with that is left."""
    number = count()
    queue: list[tuple[float, int, VectorLayout, LayoutStep | None]] = [(0.0, next(number), target, None)]
    came: dict[VectorLayout, tuple[LayoutStep | None, VectorLayout | None]] = {}
    best: tuple[float, VectorLayout] | None = None
    known: dict[VectorLayout, float] = {target: 0.0}
    while queue and len(known) < _MOST_STATES:
        spent, _, here, step = heappop(queue)
        if here in came:
            continue
        if best is not None and spent >= best[0]:
            break
        came[here] = (step, step.after if step else None)
        loaded = cost(here) if not here.summed else None
        if loaded is not None and (best is None or spent + loaded < best[0]):
            best = spent + loaded, here
        for more, before, make in _steps_to(here, moves, element):
            total = spent + more
            dear = best is not None and total + least * before.registers >= best[0]
            if not dear and total < known.get(before, float("inf")):
                known[before] = total
                heappush(queue, (total, next(number), before, make()))
    if best is None:
        return None
    way: list[LayoutStep] = []
    at: VectorLayout | None = best[1]
    while at is not None:
        last, at = came[at]
        way += [last] if last else []
    return tuple(way)


_Found = tuple[float, VectorLayout, Callable[[], LayoutStep]]
"""What a step costs, what it is made of, and the step: most are too dear, and never made."""


def _steps_to(after: VectorLayout, moves: Moves, element: int) -> Iterator[_Found]:
    plain = tuple(range(element))
    for take, pair in moves.weaves.items():
        if take[:element] == plain:
            yield from _weaves(after, take, pair)
    for take, movers in moves.turns.items():
        if take[:element] == plain:
            before = VectorLayout(_moved(after.lanes, take, moves.bits), after.apart, after.summed)
            yield float(after.registers), before, partial(LayoutStep, "rearrange", before, after, (movers,))
    yield from _rearrangements(after, moves, element)
    for name in sorted(after.summed):
        before = VectorLayout(after.lanes, after.apart | {name}, after.summed - {name})
        yield float(after.registers), before, partial(LayoutStep, "add", before, after, out=name)
        for j, movers in moves.flips.items():
            if j >= element and not after.lanes[j]:
                lanes = (*after.lanes[:j], name, *after.lanes[j + 1 :])
                before = VectorLayout(lanes, after.apart, after.summed - {name})
                yield 2.0 * after.registers, before, partial(LayoutStep, "fold", before, after, (movers,), out=name)


def _weaves(after: VectorLayout, take: tuple[int, ...], pair: tuple[tuple[Mover, ...], ...]) -> Iterator[_Found]:
    bits = len(take)
    rest, cost = Steer(take, 0).rest, float(after.registers)
    for out in (*sorted(after.apart), ""):
        lanes = [""] * (bits + 1)
        for j, bit in enumerate(take):
            lanes[bit] = after.lanes[j]
        lanes[rest] = out
        into = lanes.pop()
        apart = (after.apart - {out}) | ({into} if into else frozenset())
        before = VectorLayout(tuple(lanes), apart, after.summed)
        yield cost, before, partial(LayoutStep, "weave", before, after, pair if out else pair[:1], into, out)


def _moved(lanes: tuple[str, ...], take: tuple[int, ...], bits: int) -> tuple[str, ...]:
    found = [""] * bits
    for j, bit in enumerate(take):
        found[bit] = lanes[j]
    return tuple(found)


def _rearrangements(after: VectorLayout, moves: Moves, element: int) -> Iterator[_Found]:
    """Controlled shuffles that sort what they reach: bits of places in a row first, or those of the row's number."""
    for (low, high), entry in moves.controlled.items():
        if low < element:
            continue
        cost = (_FINE if is_fine(low) else _CONTROL) * after.registers
        for first in "kr":
            order = sorted(range(low, high + 1), key=lambda j: _rank(after.lanes[j], first))
            lanes = tuple(after.lanes[j] for j in order)
            before = VectorLayout((*after.lanes[:low], *lanes, *after.lanes[high + 1 :]), after.apart, after.summed)
            if before != after:
                places = (low + order.index(j) for j in range(low, high + 1))
                take = (*range(low), *places, *range(high + 1, moves.bits))
                yield cost, before, partial(LayoutStep, "rearrange", before, after, control=entry, take=take)


def _rank(name: str, first: str) -> tuple[bool, bool, int]:
    return not name, not name.startswith(first), int(name[1:] or 0)
