"""A strip as an instruction: what it means is its nest, what it is in C are the instructions that were selected.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(A: u8[32], B: u8[32]) { for l in 0 .. 32 { B[l] = u8(i32(A[l]) + i32(B[l]) + 1:i32 >> 1:i32) } }"
>>> kernel = parse_kernel(text)
>>> found = select_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays}, EXTENSIONS["x86-avx2"])
>>> print(found.instruction.template)
{
  const __m256i v0 = _mm256_loadu_si256((__m256i const *)(const void *)({m1}));
  const __m256i v1 = _mm256_loadu_si256((__m256i const *)(const void *)({m0}));
  const __m256i v2 = _mm256_avg_epu8(v0, v1);
  _mm256_storeu_si256((__m256i *)(void *)({m0}), v2);
}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from planish.core.cache import key
from planish.ir.nest import Array, For
from planish.ir.text.printer import print_kernel
from planish.isa.costs.tables import load_costs
from planish.isa.instruction import Instruction, make_instruction
from planish.isa.select.lane_values import NoCover
from planish.select.c_text import DIALECTS, Store, write_statements
from planish.select.cover import Cover
from planish.select.demand import Demand
from planish.select.lane_functions import usable
from planish.select.lane_table import LaneTable
from planish.select.proof import Proof
from planish.select.strip import Strip, read_strip


@dataclass(frozen=True, slots=True)
class VectorExtension:
    """What strips are covered with: an architecture, the features of a processor, the widths of its registers, the
    widest first, the processor whose costs count, and the header of the intrinsics."""

    isa: str
    features: tuple[str, ...]
    widths: tuple[int, ...]
    processor: str
    header: str


_AVX2 = ("SSE", "SSE2", "SSE3", "SSSE3", "SSE4.1", "SSE4.2", "AVX", "AVX2")
EXTENSIONS: Mapping[str, VectorExtension] = {
    "x86-avx2": VectorExtension("x86", _AVX2, (256, 128), "skylake-avx512", "immintrin.h"),
    "x86-avx512": VectorExtension(
        "x86", (*_AVX2, "AVX512F", "AVX512VL", "AVX512BW", "AVX512DQ", "AVX512CD", "AVX512_VNNI"), (512, 256, 128),
        "icelake-server", "immintrin.h",
    ),
    "aarch64-neon": VectorExtension("arm", ("v7", "A64", "DOTPROD"), (128, 64), "neoverse-n1", "arm_neon.h"),
    "hvx": VectorExtension("hvx", (), (1024,), "hexagonv66", "hexagon_types.h"),
}  # fmt: skip
"""Extensions by the names of targets."""


@dataclass(frozen=True, slots=True)
class Selected:
    """An instruction for a strip, the strip, the stores of its program, and its cost in cycles of throughput."""

    instruction: Instruction
    strip: Strip
    stores: tuple[Store, ...]
    cost: float


def select_strip(loop: For, arrays: Mapping[str, Array], extension: VectorExtension) -> Selected:
    """Cover a loop over lanes; NoCover where it is no strip, or is not covered, or the program is not proven."""
    strip = read_strip(loop, arrays)
    stores, cost = cover_strip(strip, extension)
    rows = {x.name: f"{{{x.name}}}" for x in strip.kernel.arrays}
    rows |= {x.name: f"={{{x.name}}}" for x in strip.kernel.scalars}
    lines = write_statements(stores, DIALECTS[extension.isa], rows)
    text = "\n".join(["{", *(f"  {x}" for x in lines), "}"])
    name = f"select_{key(print_kernel(strip.kernel), text)[:8]}"
    definition = replace(strip.kernel, name=name)
    return Selected(make_instruction(name, definition, text, header=extension.header), strip, stores, cost)


def cover_strip(strip: Strip, extension: VectorExtension) -> tuple[tuple[Store, ...], float]:
    """The proven stores of a strip and what they cost; NoCover where there are none."""
    body = strip.body
    cover = Cover(body, _table(extension))
    proof = Proof(body, extension.isa)
    stores: list[Store] = []
    cost = 0.0
    for output in body.outputs:
        if output.step != output.width:
            raise NoCover(f"lanes of `{output.row}` are not written one after another")
        bits = next((x for x in extension.widths if body.lanes * output.width % x == 0), None)
        if bits is None:
            raise NoCover(f"{body.lanes} lanes of {output.width} bits are no whole registers")
        count = bits // output.width
        for first in range(0, body.lanes, count):
            found = cover.find(Demand.of(bits, output.width, [(output.value, first + at) for at in range(count)]))
            if found is None:
                raise NoCover(f"no instructions of {extension.isa} were found for `{output.row}`")
            wrong = proof.refuted(found.value, output, range(first, first + count))
            if wrong is not None:
                raise NoCover(f"the instructions for `{output.row}` are not proven at iteration {wrong}")
            stores.append((found.value, output.row, output.offset + output.step * first))
            cost += found.cost
    return tuple(stores), cost


_TABLES: dict[tuple[str, tuple[str, ...]], LaneTable] = {}


def _table(extension: VectorExtension) -> LaneTable:
    key = extension.isa, extension.features
    if key not in _TABLES:
        _TABLES[key] = LaneTable(usable(*key), lambda name: cost_of(extension, name))
    return _TABLES[key]


def cost_of(extension: VectorExtension, name: str) -> float:
    """Cycles of throughput of an instruction; those of one that is not known are 1."""
    return _costs(extension.isa, extension.processor).get(name, 1.0)


@cache
def _costs(isa: str, processor: str) -> Mapping[str, float]:
    found = load_costs(isa)
    if found is None:
        return {}
    costs = {name: found.of(name).get(processor) for name in found.records}
    return {name: max(x.throughput, 0.05 * x.operations) for name, x in costs.items() if x is not None}
