"""The inputs of instruction selection: an instruction set, registers and masks, and the floating-point flags.

>>> Mask("__mmask8", "(__mmask8)((1u << {n}) - 1u)").is_vector
False
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planish.ir.expr import Const
from planish.ir.nest import PLAIN_MEMORIES, Kernel
from planish.ir.types import INDEX
from planish.isa.instruction import MemoryKind
from planish.isa.select.instruction_set import InstructionSet
from planish.isa.select.lane_values import NoCover


@dataclass(frozen=True, slots=True)
class Mask:
    """How the first lanes are said in C: the type of a mask of so many lanes, and its text with `{n}` for the size."""

    kind: str
    text: str

    @property
    def is_vector(self) -> bool:
        """Whether the highest bit of each lane says it."""
        return not self.kind.startswith("__mmask")


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """What a vector extension says: its instructions, its registers, and masks by the number of
    lanes."""

    instruction_set: InstructionSet
    registers: MemoryKind
    masks: Mapping[int, Mask] = field(default_factory=dict)


def check_registers(kernel: Kernel, kind: MemoryKind) -> None:
    """NoCover where an operand is in registers of another kind, or is no whole one."""
    for x in kernel.arrays:
        if x.memory not in (*PLAIN_MEMORIES, kind.name):
            raise NoCover(f"`{x.name}` is in registers of another kind")
        if x.memory == kind.name and x.shape != (Const(kind.lanes(x.type), INDEX),):
            raise NoCover(f"`{x.name}` is no whole register")


@dataclass(frozen=True, slots=True)
class FpFlags:
    """How an instruction may differ from its definition: `fused`: a product and a sum are rounded once; `reassociates`:
    sums are made in another order. `flushes`: denormal numbers are taken for zero. `streams`: it makes non-temporal
    stores where that can be done."""

    fused: bool = False
    reassociates: bool = False
    flushes: bool = False
    streams: bool = False

    @property
    def is_loose(self) -> bool:
        """Whether sums of products may be made in any way."""
        return self.fused and self.reassociates and self.flushes
