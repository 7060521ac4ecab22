"""Loop-invariant motion: operations that make the same value in every iteration go before the loop.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.program import StreamRegister
>>> neg = parse_kernel("kernel NEG(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = -a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 8, 128),), (),
...     (MachineOperation("NEG", "NEG {d}, {a}", neg, ("U",), latency=2),))
>>> a, b, c = (StreamRegister("V", x) for x in "abc")
>>> loop = Loop("i", 9, (Instr("NEG", (b, a)), Instr("NEG", (c, c)), Instr("NEG", (a, b))))
>>> [str(x) for x in hoist(loop, frozenset({a, c}), Described(tiny))[0]]
[]
>>> [str(x) for x in hoist(Loop("i", 9, loop.body[:2]), frozenset({a, c}), Described(tiny))[0]]
['NEG V.b, V.a']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planish.vliw.pack.effects import Described, Effects
from planish.vliw.pack.webs import Registers
from planish.vliw.program import Instr, Item, Loop, StreamRegister


def hoist(loop: Loop, wanted: Registers, described: Described) -> tuple[list[Instr], Loop]:
    """The operations that can be done before a loop, and the loop without them. `wanted` are the registers whose values
    are read when an iteration begins or the loop has ended: these stay as they are if there is no iteration."""
    written = Counter(x.register for item in _instrs(loop.body) for x in described.effects(item).writes)
    before: list[Instr] = []
    rest: list[Item] = []
    for item in loop.body:
        if isinstance(item, Instr) and _moves(described.effects(item), written, wanted):
            before.append(item)
            # What is made of it alone is the same in every iteration, too.
            written.subtract(x.register for x in described.effects(item).writes)
        else:
            rest.append(item)
    return before, replace(loop, body=tuple(rest))


def _moves(effects: Effects, written: Counter[StreamRegister], wanted: Registers) -> bool:
    if effects.kind != "compute" or effects.accesses or effects.guard or not effects.writes:
        return False
    if any(written[x] for x in effects.reads):
        return False
    return all(
        x.certain and written[x.register] == 1 and x.register not in wanted and not x.register.name.isdecimal()
        for x in effects.writes
    )


def _instrs(items: Sequence[Item]) -> Iterator[Instr]:
    for item in items:
        if isinstance(item, Instr):
            yield item
        else:
            yield from _instrs(item.body)
