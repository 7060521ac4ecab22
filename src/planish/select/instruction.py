"""A strip as an instruction: what it means is its nest, what it is in C are the instructions that were selected.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> text = "kernel k(A: u8[32], B: u8[32]) { for l in 0 .. 32 { B[l] = u8(i32(A[l]) + i32(B[l]) + 1:i32 >> 1:i32) } }"
>>> kernel = parse_kernel(text)
>>> found = select_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays}, extension_of(load_target("x86-avx2")))
>>> print(found.instruction.template)
{
  const __m256i planish_v0 = _mm256_loadu_si256((__m256i const *)((char *)(void *){m1}));
  const __m256i planish_v1 = _mm256_loadu_si256((__m256i const *)((char *)(void *){m0}));
  const __m256i planish_v2 = _mm256_avg_epu8(planish_v0, planish_v1);
  _mm256_storeu_si256((__m256i *)((char *)(void *){m0}), planish_v2);
}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from planish.core.cache import key
from planish.core.recursion_limit import deep
from planish.ir.nest import Array, For
from planish.ir.text.printer import print_kernel
from planish.isa.collection import load_collection
from planish.isa.costs.tables import load_costs
from planish.isa.instruction import Instruction, make_instruction
from planish.isa.select.instruction_text import InstructionFinder
from planish.isa.select.lane_values import NoCover
from planish.isa.shipped import extension
from planish.select.body import LaneBody, Output
from planish.select.c_text import DIALECTS, Store, write_statements
from planish.select.cover import Cover
from planish.select.demand import Demand, Lane
from planish.select.factored.lane_functions import usable
from planish.select.forms.masked_comparisons import fold_masks
from planish.select.gathers import Gatherer
from planish.select.lane_table import LaneTable
from planish.select.program import Value, in_order
from planish.select.proof import Proof
from planish.select.strip import Strip, read_strip
from planish.target.machine import Target


@dataclass(frozen=True, slots=True)
class VectorExtension:
    """What strips are covered with: an architecture, the features of a processor, the widths of its registers, that of
    strips first, the processor whose costs count, and the header of the intrinsics; `pairs`: the bits of registers that
    are pairs of these, 0 where there are none."""

    isa: str
    features: tuple[str, ...]
    widths: tuple[int, ...]
    processor: str
    header: str
    pairs: int = 0


_MORE = {"avx512": ("AVX512VL", "AVX512DQ", "AVX512CD", "AVX512_VNNI")}
"""What the targets of an extension have besides what its shipped instructions need."""
_LATER = {"icelake-server": ("AVX512_VBMI",), "znver4": ("AVX512_VBMI",)}
"""What processors with AVX-512 have besides."""
_SLOWER = {f"_mm{bits}_permutex2var_epi8": 2.0 for bits in ("", "256", "512")}
"""Cycles of what takes more than the tables say: two shuffles are in it on Intel's processors, as measured."""
_ALIKE = {
    f"_mm{bits}_{name}_epi32": f"_mm{bits}_madd_epi16" for bits in ("", "256", "512") for name in ("dpwssd", "dpbusd")
}
"""What takes no more than another instruction, though tables have it twice: sums of products, as measured on Zen 5."""
_WIDEST = 1 << 16
_NARROWEST = {"x86": 128, "arm": 64, "hvx": 1024}
"""The narrowest registers of integers."""
_PAIRED = ("hvx",)
"""Architectures two registers of which are one as well, each half of which is its own."""
_NO_STRIPS = ("HVX_VectorPred",)
"""Types of operands that no program has: predicates of HVX are as wide as registers, and may not be taken for these."""


def extension_of(target: Target) -> VectorExtension:
    """What a machine covers strips with; NoCover where it has no vector extension that is known."""
    name = target.vector_extension
    if name is None:
        raise NoCover(f"no vector instructions are known for `{target.name}`")
    shipped = extension(name)
    (kind,) = shipped.memories.values()
    finder, header = shipped.speakers[kind.name]
    assert isinstance(finder, InstructionFinder)
    known = finder.register_file.instruction_set
    halvings = kind.bits.bit_length() - _NARROWEST[known.isa].bit_length() + 1
    widths = tuple(kind.bits >> at for at in range(halvings))
    pairs = 2 * kind.bits if known.isa in _PAIRED else 0
    later = _LATER.get(target.processor, ()) if name == "avx512" else ()
    features = (*known.features, *_MORE.get(name, ()), *later)
    return VectorExtension(
        known.isa, features, (*widths, pairs) if pairs else widths, target.processor, header, pairs
    )  # fmt: skip


def load_instructions(target: Target, widths: Collection[int]) -> None:
    """Reads what selection for a machine begins with, and the instructions for lanes of some widths: what is made once
    in a process is there in all that are forked from it."""
    registers = extension_of(target)
    if not widths:
        return
    table = _table(registers)
    for bits in registers.widths:
        for width in widths:
            table.computing(bits, width)


@dataclass(frozen=True, slots=True)
class Selected:
    """An instruction for a strip, the strip, the stores of its program, and its cost in cycles of throughput."""

    instruction: Instruction
    strip: Strip
    stores: tuple[Store, ...]
    cost: float


@dataclass(frozen=True, slots=True)
class SelectedProgram:
    """An instruction for a strip, the stores of the program that it stands for, and its cycles of throughput."""

    instruction: Instruction
    stores: tuple[Store, ...]
    cost: float


def select_strip(loop: For, arrays: Mapping[str, Array], registers: VectorExtension) -> Selected:
    """Cover a loop over lanes; NoCover where it is no strip, or is not covered, or the program is not proven."""
    return select(read_strip(loop, arrays), registers)


def select(strip: Strip, registers: VectorExtension) -> Selected:
    """Cover a strip; NoCover where it is not covered, or the program is not proven."""
    stores, cost = cover_strip(strip, registers)
    return Selected(as_instruction(strip, stores, registers), strip, stores, cost)


def as_instruction(strip: Strip, stores: tuple[Store, ...], registers: VectorExtension) -> Instruction:
    """A strip with its program as an instruction."""
    operands = [*(x.name for x in strip.kernel.arrays), *(x.name for x in strip.kernel.scalars)]
    names = {x: f"{{{x}}}" for x in operands}
    lines = write_statements(stores, DIALECTS[registers.isa], names, strip.body.scalars)
    text = "\n".join(["{", *(f"  {x}" for x in lines), "}"])
    name = f"select_{key(print_kernel(strip.kernel), text)[:8]}"
    definition = replace(strip.kernel, name=name)
    return make_instruction(name, definition, text, header=registers.header)


def cover_strip(strip: Strip, registers: VectorExtension) -> tuple[tuple[Store, ...], float]:
    """The proven stores of a strip and what they cost; NoCover where there are none."""
    try:
        with deep():
            return _covered(strip, registers)
    except RecursionError:
        raise NoCover("its values are nested too deep for the search") from None


def _covered(strip: Strip, registers: VectorExtension) -> tuple[tuple[Store, ...], float]:
    body = strip.body
    cover = cover_for(body, registers)
    proof = Proof(body, registers.isa, cover.claims)
    made: list[Store] = []
    wanted_lanes: list[tuple[Sequence[Lane], Sequence[Lane], int]] = []
    values: set[Value] = set()
    for side in channels_of(body.outputs):
        row, offset, width = side[0].row, side[0].offset, side[0].width
        lanes = [(channel.value, at) for at in range(body.lanes) for channel in side]
        bits = next((x for x in registers.widths if len(lanes) * width % x == 0), None)
        if bits is None:
            raise NoCover(f"{len(lanes)} lanes of {width} bits are no whole registers")
        count = bits // width
        for first in range(0, len(lanes), count):
            wanted = lanes[first : first + count]
            demand = Demand.of(bits, width, wanted)
            found = cover.stored(demand)
            if found is None:
                bound = " before the search ended at its bound" if cover.is_cut_off else ""
                raise NoCover(f"no instructions of {registers.isa} were found for `{row}`{bound}")
            guard = side[0].guard
            guards = [(guard, first + at) for at in range(count)] if guard is not None else []
            if guards:
                found = cover.stored_where(found, width, guards)
                if found is None:
                    raise NoCover("no instructions were found for where something is stored")
            made.append((found.value, row, offset + width * first))
            wanted_lanes.append((wanted, guards, width))
            values |= found.values
    folded = fold_masks([x for x, _, _ in made], cover.program, registers.isa)
    for (_, row, _), value, asked in zip(made, folded.roots, wanted_lanes, strict=True):
        _prove(proof, row, value, *asked)
    before, after = (set(in_order(x)) for x in ([x for x, _, _ in made], folded.roots))
    cost = cover.cost((values - (before - after)) | (after - before), folded.instead)
    return tuple((x, row, at) for x, (_, row, at) in zip(folded.roots, made, strict=True)), cost


def _prove(
    proof: Proof, row: str, value: Value, wanted: Sequence[Lane], guards: Sequence[Lane], width: int
) -> None:  # fmt: skip
    """NoCover where it is not proven what is stored, or where."""
    if guards and (wrong := proof.wrong_lane(value.args[1], guards, 1)) is not None:
        raise NoCover(f"where something is stored is not proven at iteration {guards[wrong][1]}")
    if (wrong := proof.wrong_lane(value, wanted, width)) is not None:
        raise NoCover(f"the instructions for `{row}` are not proven at iteration {wanted[wrong][1]}")


def cover_for(body: LaneBody, registers: VectorExtension) -> Cover:
    """What answers demands for the terms of a strip."""
    widened = DIALECTS[registers.isa].widen
    # Halves of the widest registers alone: quarters would be looked at once more each.
    narrowest = registers.widths[0] // 2 if widened else _WIDEST
    return Cover(
        body, _table(registers), registers.widths, narrowest=narrowest, pairs=registers.pairs,
        gatherer=_gatherer(registers),
    )  # fmt: skip


def channels_of(outputs: Sequence[Output]) -> Iterator[list[Output]]:
    """What is written, row by row: what an iteration writes side by side. NoCover where there is something between what
    iterations write, or some of it is written under a condition."""
    rows: dict[tuple[str, int, int], list[Output]] = {}
    for x in outputs:
        rows.setdefault((x.row, x.width, x.step), []).append(x)
    for (row, width, step), found in rows.items():
        found.sort(key=lambda x: x.offset)
        while found:
            start = found[0].offset
            side = [x for x in found if x.offset - start < step]
            # Lanes that go down have a step below 0, and nothing lies beside the first one.
            if not side or [x.offset for x in side] != list(range(start, start + step, width)):
                raise NoCover(f"lanes of `{row}` are not written one after another")
            if len(side) > 1 and any(x.guard is not None for x in side):
                raise NoCover(f"channels of `{row}` are stored under conditions")
            yield side
            found = found[len(side) :]


@cache
def _gatherer(registers: VectorExtension) -> Gatherer:
    return Gatherer(registers.isa, registers.features, lambda name: cost_of(registers, name))


@cache
def _table(registers: VectorExtension) -> LaneTable:
    known = usable(registers.isa, registers.features)
    plain = [x for x in known if not any(map(_is_structure, (x.result_type, *(y.kind for y in x.operands))))]
    if registers.pairs:
        costs = _costs(registers.isa, registers.processor)
        plain = [x for x in plain if x.entry in costs and _is_said(registers.isa, x.entry)]
    return LaneTable(plain, lambda name: cost_of(registers, name))


def _is_structure(kind: str) -> bool:
    """Whether a type of C is several registers: `uint8x16x2_t`."""
    return kind in _NO_STRIPS or (kind.endswith(("x2_t", "x3_t", "x4_t")) and kind.count("x") > 1)


def _is_said(isa: str, name: str) -> bool:
    return DIALECTS[isa].intrinsic(load_collection(isa).entry(name)) is not None


def cost_of(registers: VectorExtension, name: str) -> float:
    """Cycles of throughput of an instruction: one where that is not known."""
    return _costs(registers.isa, registers.processor).get(name, 1.0)


@cache
def _costs(isa: str, processor: str) -> Mapping[str, float]:
    """Cycles of throughput of instructions by their names."""
    found = load_costs(isa)
    if found is None:
        return {}
    costs = {name: found.of(name).get(processor) for name in found.records}
    known = {name: max(x.throughput, 0.05 * x.operations) for name, x in costs.items() if x is not None}
    known |= {name: min(known[name], known[y]) for name, y in _ALIKE.items() if name in known and y in known}
    return known | {name: _SLOWER[name] for name in _SLOWER if name in known and known[name] < _SLOWER[name]}
