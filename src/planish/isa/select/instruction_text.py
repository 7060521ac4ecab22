"""The C of an instruction of which only the definition is known.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> from planish.isa.instruction import MemoryKind
>>> from planish.isa.select.instruction_set import InstructionSet
>>> xmm = RegisterFile(InstructionSet("x86", ("SSE",)), MemoryKind("xmm", 128, 16, {F32: "__m128"}))
>>> spell(parse_kernel("kernel k(d: f32[4] @xmm, a: f32[4] @xmm) { for l in 0 .. 4 { d[l] += a[l] } }"), xmm)
'{d} = _mm_add_ps({d}, {a});'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Const, Var
from planish.ir.nest import PLAIN_MEMORIES, Array, Assign, For, Kernel, Reduce, Stmt
from planish.isa.select.lane_shift import slide
from planish.isa.select.lane_values import NoCover
from planish.isa.select.selector import FpFlags, RegisterFile
from planish.isa.select.shuffle_sequence import shuffle
from planish.isa.select.tree_cover import cover

_EXACT = FpFlags()


def spell(
    kernel: Kernel, register_file: RegisterFile, fp_flags: FpFlags = _EXACT, immediate: tuple[str, ...] = ()
) -> str | None:
    """The C of an instruction whose definition is a kernel; None where no instructions of the extension do it."""
    if fp_flags.streams:
        return _spell_streams(kernel, register_file, fp_flags, immediate)
    try:
        return cover(kernel, register_file, fp_flags, immediate)
    except NoCover:
        pass
    try:
        return shuffle(kernel, register_file, fp_flags)
    except NoCover:
        pass
    try:
        return slide(kernel, register_file)
    except NoCover:
        return None


def _spell_streams(
    kernel: Kernel, register_file: RegisterFile, fp_flags: FpFlags, immediate: tuple[str, ...]
) -> str | None:
    """The one that makes non-temporal stores where all that it stores to begins at whole registers, else the other."""
    plain = spell(kernel, register_file, replace(fp_flags, streams=False), immediate)
    written = [x for x in kernel.arrays if x.name in _written(kernel.body.body)]
    size = register_file.registers.bits // 8
    if plain is None or not all(x.memory in PLAIN_MEMORIES and _may_be_round(x, size) for x in written):
        return plain
    try:
        streamed = shuffle(kernel, register_file, fp_flags)
    except NoCover:
        return plain
    places = [y for x in written for y in _addresses(x)]
    return f"if ((({' | '.join(places)}) & {size - 1}) == 0) {streamed} else {plain}"


def _may_be_round(x: Array, size: int) -> bool:
    """Whether all rows of an array begin at multiples of a size where the first one does; of those whose distance is
    not known that is asked."""
    known = [y.value * x.type.bits // 8 for y in x.shape[1:] if isinstance(y, Const)]
    return all(y % size == 0 for y in known)


def _written(body: tuple[Stmt, ...]) -> set[str]:
    found: set[str] = set()
    for x in body:
        match x:
            case For():
                found |= _written(x.body.body)
            case Assign() | Reduce():
                found.add(x.array)
            case _:
                pass
    return found


def _addresses(x: Array) -> list[str]:
    """Where an array begins, and how far its rows are apart, in bytes."""
    rows = [f"(uintptr_t)({{{y.name}}} * {x.type.bits // 8})" for y in x.shape[1:] if isinstance(y, Var)]
    return [f"(uintptr_t){{{x.name}}}", *rows]


@dataclass(frozen=True, slots=True)
class InstructionFinder:
    """Finds the C of definitions."""

    register_file: RegisterFile

    def find(self, definition: Kernel, *, fused: bool) -> str | None:
        """The C of what a definition says; None where no instructions do it."""
        return spell(definition, self.register_file, FpFlags(fused))


@dataclass(frozen=True, slots=True, eq=False)
class InstructionText:
    """The C of an instruction, found by its definition when it is asked for."""

    kernel: Kernel
    register_file: RegisterFile
    fp_flags: FpFlags = _EXACT
    immediate: tuple[str, ...] = ()

    def write(self) -> str:
        """The text; PlanishError E0630 where no instructions do it."""
        return _spelt(self)


@dataclass(frozen=True, slots=True)
class Hint:
    """The C of what computes nothing, such as a prefetch."""

    text: str

    def write(self) -> str:
        """The text."""
        return self.text


@cache
def _spelt(x: InstructionText) -> str:
    found = spell(x.kernel, x.register_file, x.fp_flags, x.immediate)
    if found is None:
        isa = x.register_file.instruction_set.isa
        told = f"no instructions of {isa} that are named by `from` do what `{x.kernel.name}` is"
        advice = "write its C behind its name, or name more extensions: `planish isa find` looks for an instruction"
        raise PlanishError(Diagnostic("E0630", told, x.kernel.span, advice))
    return found
