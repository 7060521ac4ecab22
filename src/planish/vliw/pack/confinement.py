"""Which registers operations confine: two operands to neighbouring registers, some to the first ones of their file.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import StreamRegister
>>> low, high, a = (StreamRegister("V", x) for x in ("low", "high", "a"))
>>> found = confinement([Instr("V6_vmpybus", (low, high, a, StreamRegister("R", "r")))], load_machine("hexagon"))
>>> found.partners == {low: high}, found.least
(True, {})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planish.vliw.machine import VliwMachine, operand_names
from planish.vliw.program import Instr, StreamRegister


@dataclass(frozen=True, slots=True)
class Confined:
    """`partners`: for the even register of each pair the other one; `least`: for registers that are one of so many
    first, how many; `contradiction`: a register that is part of two pairs."""

    partners: Mapping[StreamRegister, StreamRegister]
    least: Mapping[StreamRegister, int]
    contradiction: StreamRegister | None = None

    @property
    def upper(self) -> frozenset[StreamRegister]:
        """The odd registers of pairs."""
        return frozenset(self.partners.values())


def confinement(instrs: Iterable[Instr], machine: VliwMachine) -> Confined:
    """What operations ask of their registers."""
    partners: dict[StreamRegister, StreamRegister] = {}
    lower: dict[StreamRegister, StreamRegister] = {}
    least: dict[StreamRegister, int] = {}
    contradiction: StreamRegister | None = None
    for instr in instrs:
        operation = machine.operation(instr.operation)
        if not operation.pairs and not operation.near:
            continue
        named = dict(zip(operand_names(operation.definition), instr.operands, strict=True))
        for x, y in operation.pairs:
            low, high = named[x], named[y]
            assert isinstance(low, StreamRegister) and isinstance(high, StreamRegister)
            apart = partners.setdefault(low, high) != high or lower.setdefault(high, low) != low
            if apart or low in lower or high in partners:
                contradiction = contradiction or low
        for x, count in operation.near:
            register = named[x]
            assert isinstance(register, StreamRegister)
            least[register] = min(count, least.get(register, count))
    return Confined(partners, least, contradiction)
