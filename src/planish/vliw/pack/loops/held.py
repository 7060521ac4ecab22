"""Registers that hold something in every cycle of a loop, however its operations are scheduled.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.program import Instr
>>> neg = parse_kernel("kernel NEG(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = -a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 8, 128),), (),
...     (MachineOperation("NEG", "NEG {d}, {a}", neg, ("U",), latency=2),))
>>> a, b, c, n = (StreamRegister("V", x) for x in "abcn")
>>> body = (Loop("i", n, (Instr("NEG", (b, b)), Instr("NEG", (b, c)))), Instr("NEG", (b, a)))
>>> [sorted(map(str, x)) for x in held_through(body, frozenset(), Described(tiny), hoists=False)]
[['V.a', 'V.c']]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planish.vliw.pack.effects import Described
from planish.vliw.pack.loops.invariants import hoist
from planish.vliw.pack.loops.unrolling import MOST_FLAT
from planish.vliw.pack.webs import Registers, live_at_head, live_before
from planish.vliw.program import Instr, Item, Loop, StreamRegister


def held_through(items: Sequence[Item], after: Registers, described: Described, *, hoists: bool) -> Iterator[Registers]:
    """For each loop that has a jump the registers that are wanted in it or behind it and are not free while their next
    value is under way. `hoists`: operations move out of loops."""
    live = after
    for item in reversed(items):
        before: list[Instr] = []
        if isinstance(item, Loop):
            wanted = live | live_at_head(item, live, described)
            if hoists:
                before, item = hoist(item, wanted, described)
                wanted = live | live_at_head(item, live, described)
            if not _is_straight(item):
                yield wanted - _set_late(item.body, described)
            if item.count != 0:
                yield from held_through(item.body, wanted, described, hoists=hoists)
        live = live_before([*before, item], live, described)


def _is_straight(loop: Loop) -> bool:
    """Whether packets of a loop may have no jump, or there are none: what is before and behind them then goes into
    them."""
    if not loop.body or isinstance(loop.count, StreamRegister):
        return not loop.body
    return loop.count < 2 or (loop.is_innermost and loop.count * len(loop.body) <= MOST_FLAT)


def _set_late(items: Sequence[Item], described: Described) -> Registers:
    """The registers that some items may set to what they do not hold a cycle after the last use of what they held."""
    found: Registers = frozenset()
    for x in items:
        if isinstance(x, Loop):
            found |= _set_late(x.body, described)
        else:
            effects = described.effects(x)
            # Steps of pointers may go to accesses.
            latency = described.machine.update_latency
            found |= {
                y.register for y in effects.writes if max(y.latency, latency) > 1 or y.register not in effects.reads
            }
    return found
