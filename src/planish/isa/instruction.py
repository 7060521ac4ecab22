"""An instruction: the nest that it does (its definition), and the text of C that does it.

>>> from planish.ir.text.parser import parse_kernel
>>> definition = parse_kernel("kernel neg(d: f32[4] @xmm, s: f32[4] @xmm) { for l in 0 .. 4 { d[l] = -s[l] } }")
>>> Instruction("neg", definition, "{d} = -{s};").lanes
4
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.lazy_mapping import LazyMapping
from planish.ir.checker import check_kernel
from planish.ir.expr import Const
from planish.ir.nest import PLAIN_MEMORIES, For, Kernel
from planish.ir.types import Type

_OPERAND = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A kind of vector register: its width in bits, how many there are, and C's name of one that holds a type."""

    name: str
    bits: int
    count: int
    types: Mapping[Type, str]

    def lanes(self, type: Type) -> int:
        """How many elements of a type a register holds."""
        return self.bits // type.bits


class Text(Protocol):
    """The C of an instruction, found when it is asked for."""

    def write(self) -> str:
        """The text, with `{name}` for operands."""


class Selector(Protocol):
    """Finds the C of definitions, of instructions that are known by theirs."""

    def find(self, definition: Kernel, *, fused: bool) -> str | None:
        """The C of what a definition says, with `{name}` for operands; None where no instructions do it."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """What an instruction does, and how it is spelt in C.

    `definition` is a kernel whose body is one loop over lanes; its arrays are in memory, or in a kind of vector
    register. In `template`, `{name}` stands for an operand: the address of the first element in memory, a register, or
    the value of a size or scalar. `fused`: a product and a sum are rounded once, which the definition does not say;
    `reassociates`: sums of floats are made in another order.
    `immediate`: the sizes that have to be constants. `header`: the one that it needs. `finish`: what stands once at the
    end of a function that uses it. `needs`: instructions that its implementation was found to be made of.
    `implementation`: a kernel that
    does it, made from the definition by steps; it is called then, and there is no template.
    """

    name: str
    definition: Kernel
    text: str | Text
    fused: bool = False
    reassociates: bool = False
    immediate: tuple[str, ...] = ()
    header: str = ""
    implementation: Kernel | None = None
    finish: str = ""
    needs: tuple[Instruction, ...] = ()

    @property
    def template(self) -> str:
        """The C that does it, with `{name}` for operands."""
        return self.text if isinstance(self.text, str) else self.text.write()

    @property
    def loop(self) -> For:
        """The loop that it does all of."""
        loop = self.definition.body.body[0]
        assert isinstance(loop, For)
        return loop

    @property
    def lanes(self) -> int | None:
        """The iterations of its loop, where they are a constant."""
        upper = self.loop.upper
        return int(upper.value) if isinstance(upper, Const) else None

    def spell(self, operands: Mapping[str, str]) -> str:
        """The C text for some operands."""
        return _OPERAND.sub(lambda found: operands[found[1]], self.template)


def make_instruction(
    name: str, definition: Kernel, text: str | Text, *, fused: bool = False, reassociates: bool = False,
    immediate: tuple[str, ...] = (), header: str = "", implementation: Kernel | None = None, finish: str = "",
) -> Instruction:  # fmt: skip
    """A checked instruction; PlanishError E0630 where its definition is not one loop, or its template names an operand
    that it has not."""
    check_kernel(definition, f"instruction {name}")
    problem = _problem(definition, text if isinstance(text, str) else "", immediate)
    if problem:
        advice = "an instruction is one loop over lanes, and `{x}` in its text is an operand of that name"
        raise PlanishError(Diagnostic("E0630", f"instruction `{name}`: {problem}", definition.span, advice))
    return Instruction(name, definition, text, fused, reassociates, immediate, header, implementation, finish)


def _problem(definition: Kernel, template: str, immediate: tuple[str, ...]) -> str:
    body = definition.body.body
    if len(body) != 1 or not isinstance(body[0], For):
        return "its definition is not one loop"
    operands = {*definition.sizes, *(x.name for x in definition.scalars), *(x.name for x in definition.arrays)}
    stray = sorted(set(_OPERAND.findall(template)) - operands)
    if stray:
        return f"its text uses `{stray[0]}`, which is no operand"
    if any(x not in definition.sizes for x in immediate):
        return "an immediate operand is no size of its definition"
    return ""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Instructions and kinds of vector registers by name; what finds instructions for registers of a kind, and the
    header that these need."""

    instructions: Mapping[str, Instruction] = field(default_factory=dict)
    memories: Mapping[str, MemoryKind] = field(default_factory=dict)
    speakers: Mapping[str, tuple[Selector, str]] = field(default_factory=dict)

    def joined(self, other: Catalogue) -> Catalogue:
        """All of this and of another one, which wins where both have a name."""
        return Catalogue(
            LazyMapping.over(self.instructions, other.instructions), {**self.memories, **other.memories},
            {**self.speakers, **other.speakers},
        )  # fmt: skip

    def with_instructions(self, made: Iterable[Instruction]) -> Catalogue:
        """The catalogue with some more instructions, or others of their names."""
        known = {y.name: y for x in made for y in (*x.needs, x)}
        return replace(self, instructions=LazyMapping.over(self.instructions, known) if self.instructions else known)

    @property
    def bits(self) -> Mapping[str, int]:
        """The widths of the kinds of registers."""
        return {name: kind.bits for name, kind in self.memories.items()}

    def instruction(self, name: str) -> Instruction:
        """The instruction of a name; PlanishError E0631 where there is none."""
        if name not in self.instructions:
            advice = "`planish.instructions()` lists those that there are"
            raise PlanishError(Diagnostic("E0631", f"there is no instruction `{name}`", help=advice))
        return self.instructions[name]

    def memory(self, name: str) -> MemoryKind | None:
        """The kind of vector register of a name; None for plain memory; PlanishError E0633 for an unknown name."""
        if name in PLAIN_MEMORIES:
            return None
        if name not in self.memories:
            known = ", ".join((*PLAIN_MEMORIES, *self.memories))
            raise PlanishError(Diagnostic("E0633", f"there is no memory `{name}`", help=f"there are: {known}"))
        return self.memories[name]
