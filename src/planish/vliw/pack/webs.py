"""Liveness over a stream, and a name of its own for each value in it, so that reuse of a name costs no order.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.machine import VliwMachine, MachineOperation, VliwRegisterFile, Unit
>>> from planish.vliw.pack.effects import Described
>>> from planish.vliw.program import Instr, StreamProgram, StreamRegister
>>> neg = parse_kernel("kernel NEG(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = -a[l] } }")
>>> tiny = VliwMachine("tiny", {"v": 1}, (Unit("U", "v"),), (VliwRegisterFile("V", 2, 128),), (),
...     (MachineOperation("NEG", "NEG {d}, {a}", neg, ("U",), latency=2),))
>>> a, b, c = (StreamRegister("V", x) for x in "abc")
>>> body = tuple(Instr("NEG", x) for x in ((b, a), (c, b), (b, c)))
>>> for item in name_values(body, frozenset({b}), Described(tiny)): print(item)
NEG V.b'1, V.a
NEG V.c'2, V.b'1
NEG V.b, V.c'2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planish.vliw.pack.effects import Described
from planish.vliw.program import Guard, Instr, Item, Label, Loop, MemoryAddress, Operand, StreamRegister

Registers = frozenset[StreamRegister]


def live_before(items: Sequence[Item], after: Registers, described: Described) -> Registers:
    """The registers whose values some items, or what comes after them, read."""
    live = after
    for item in reversed(items):
        if isinstance(item, Loop):
            live = live | live_at_head(item, live, described)
            live |= {item.count} if isinstance(item.count, StreamRegister) else frozenset()
        else:
            effects = described.effects(item)
            live = (live - {x.register for x in effects.writes if x.certain}) | frozenset(effects.reads)
    return live


def live_at_head(loop: Loop, after: Registers, described: Described) -> Registers:
    """The registers whose values an iteration of a loop, or what comes after it, reads."""
    head: Registers = frozenset()
    while True:
        fresh = live_before(loop.body, after | head, described)
        if fresh == head:
            return head
        head = fresh


def name_values(items: Sequence[Item], after: Registers, described: Described) -> tuple[Item, ...]:
    """The same items; a register that a block sets, all of it, and that is not wanted behind the block under its name,
    is another one than it was before."""
    return tuple(_Namer(described).items(items, after))


@dataclass(slots=True)
class _Namer:
    described: Described
    made: int = 0
    names: dict[StreamRegister, StreamRegister] = field(default_factory=dict)

    def items(self, items: Sequence[Item], after: Registers) -> list[Item]:
        done: list[Item] = []
        live = after
        block: list[Instr] = []
        for item in reversed(items):
            if isinstance(item, Instr):
                block.insert(0, item)
                continue
            done[:0] = self.block(block, live)
            live, block = live_before(block, live, self.described), []
            head = live_at_head(item, live, self.described)
            done.insert(0, replace(item, body=tuple(self.items(item.body, live | head))))
            live |= head | ({item.count} if isinstance(item.count, StreamRegister) else frozenset())
        done[:0] = self.block(block, live)
        return done

    def block(self, block: Sequence[Instr], after: Registers) -> list[Instr]:
        starts: dict[StreamRegister, int] = {}
        for i, instr in enumerate(block):
            starts |= dict.fromkeys(self.fresh(instr), i)
        names: dict[StreamRegister, StreamRegister] = {}
        done: list[Instr] = []
        for i, instr in enumerate(block):
            old = dict(names)
            for register in self.fresh(instr):
                if register.name.isdecimal() or (register in after and starts[register] == i):
                    names.pop(register, None)
                else:
                    self.made += 1
                    names[register] = StreamRegister(register.file, f"{register.name}'{self.made}")
            done.append(self.renamed(instr, old, names))
        return done

    def fresh(self, instr: Instr) -> list[StreamRegister]:
        """The registers that an operation sets without a look at what they held as the same operand."""
        if instr.guard is not None:
            return []
        roles = self.described.roles(instr.operation)[2]
        operands = [x for x in instr.operands if not isinstance(x, Label)]
        kept = {x for x, role in zip(operands, roles, strict=True) if role and role.read and role.written} | {
            x.base for x in operands if isinstance(x, MemoryAddress) and x.step != 0
        }
        return [
            x
            for x, role in zip(operands, roles, strict=True)
            if isinstance(x, StreamRegister) and role and role.written and not role.read and x not in kept
        ]

    def renamed(
        self, instr: Instr, old: dict[StreamRegister, StreamRegister], new: dict[StreamRegister, StreamRegister]
    ) -> Instr:
        roles = iter(self.described.roles(instr.operation)[2])

        def named(operand: Operand) -> Operand:
            match operand:
                case StreamRegister():
                    role = next(roles)
                    names = new if role and role.written and not role.read else old
                    return names.get(operand, operand)
                case MemoryAddress(base=base, offset=offset, step=step):
                    next(roles)
                    parts = (old.get(x, x) if isinstance(x, StreamRegister) else x for x in (offset, step))
                    return MemoryAddress(old.get(base, base), *parts)
                case Label():
                    return operand
                case _:
                    next(roles)
                    return operand

        guard = instr.guard and Guard(old.get(instr.guard.register, instr.guard.register), instr.guard.negated)
        return replace(instr, operands=tuple(named(x) for x in instr.operands), guard=guard)
