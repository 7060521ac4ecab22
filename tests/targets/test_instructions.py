"""Every instruction of every shipped set is executed, and gives what the interpreter gives for its definition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from execution import AT_END, Machine, Reply, Request, build, call_all, machine
from operands import Values, inputs, sizes_of
from reference import LARGEST_SUMMED, LOOSE, SUMS_OF_LANES, calculates, canonical, meanings, near, results
from wrapping import OFFSET, extent, visible, wrap, wrapping_catalogue

from planish.ir.nest import PLAIN_MEMORIES, Array, Kernel
from planish.ir.types import Type
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import extension, extensions
from planish.run.sizes.random_arguments import from_memory, memory_dtype, to_memory

UNTESTED: dict[str, str] = {
    name: "its operands have rows at any distance: test_transposes.py"
    for extension_ in extensions() for name in extension(extension_).instructions
    if any(word in name for word in ("transpose", "_turn_", "_gather_", "_weave_columns_"))
}  # fmt: skip
"""Shipped instructions that are not executed here, each with the reason."""


@dataclass(frozen=True)
class Group:
    """Instructions of a set that need the same features: those whose text has one of `words`, and otherwise those that
    are in no other group of the set."""

    set: str
    processor: str
    features: tuple[str, ...]
    flags: tuple[str, ...]
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.set}-{self.features[-1]}"

    def members(self, names: Collection[str] | None = None) -> list[Instruction]:
        """The instructions of the group, or those of these names; the texts of all others need not be written."""
        others = [x.words for x in GROUPS if x.set == self.set and x.words]
        found = [x for x in extension(self.set).instructions.values() if x.name not in UNTESTED]
        if names is not None:
            found = [x for x in found if x.name in names]
        if self.words:
            return [x for x in found if _has(x, self.words)]
        return [x for x in found if not any(_has(x, words) for words in others)]


def _has(instruction: Instruction, words: Iterable[str]) -> bool:
    return any(word in instruction.template for word in words)


_ARM = ("-march=armv8.2-a+fp16+dotprod",)

_WITH_BW = ("madd_epi16", "shuffle_epi8", "permutexvar_epi16")

GROUPS = (
    Group("avx2", "x86_64", ("avx2", "fma"), ("-mavx2", "-mfma")),
    Group("avx512", "x86_64", ("avx512f",), ("-mavx512f",)),
    Group("avx512", "x86_64", ("avx512f", "avx512bw"), ("-mavx512f", "-mavx512bw"), _WITH_BW),
    Group("avx512", "x86_64", ("avx512f", "avx512_vnni"), ("-mavx512f", "-mavx512vnni"), ("_dpbusd_", "_dpwssd_")),
    Group("avx512", "x86_64", ("avx512f", "avx512_bf16"), ("-mavx512f", "-mavx512bf16"), ("_dpbf16_",)),
    Group("neon", "aarch64", ("asimd", "asimdhp", "asimddp"), _ARM),
)


@dataclass(frozen=True)
class Placement:
    """Where operands in memory lie: `place` of the array, how many elements come before the operand (these make it
    unaligned), and whether the array ends with the last element that the instruction may touch."""

    place: int
    before: int
    short: bool = False


# No operand of the last one is aligned to more than its elements.
PLACEMENTS = (Placement(AT_END, 1, short=True), Placement(0, 0), Placement(208, 3))


@dataclass(frozen=True)
class Trial:
    """An instruction, what it is tried on, and what it may give; `lanes` is the most that a size of it may be."""

    instruction: Instruction
    kernel: Kernel
    lanes: int
    sizes: Mapping[str, int]
    values: Values
    wanted: tuple[Values, ...]
    placement: Placement

    def request(self, function: int) -> Request:
        """The call of the wrapping kernel."""
        before = self.placement.before
        known = {OFFSET: before} | {name: value + before for name, value in self.sizes.items()}
        sizes = tuple(known[x] for x in self.kernel.sizes)
        scalars = tuple(_stored(self.values[x.name], x.type) for x in self.instruction.definition.scalars)
        return Request(function, sizes, scalars, tuple(self.image(x) for x in visible(self.instruction.definition)))

    def image(self, array: Array) -> tuple[int, bytes]:
        """The place of an array, and its bytes."""
        values = self.values[array.name]
        if array.memory not in PLAIN_MEMORIES:
            return 0, _stored(values, array.type)
        around = np.resize(values[::-1], self.placement.before)
        return self.placement.place, _stored(np.concatenate([around, values[: self.length(array)]]), array.type)

    def length(self, array: Array) -> int:
        """How many elements of an operand the array holds: all, or with `short` those of the first lanes."""
        runtime = [x for x in self.instruction.definition.sizes if x in self.kernel.sizes]
        whole = extent(array)
        if not self.placement.short or not runtime or array.memory not in PLAIN_MEMORIES or whole < self.lanes:
            return whole
        return whole * self.sizes[runtime[0]] // self.lanes

    def problem(self, reply: Reply) -> str:
        """What is wrong with a reply; empty where nothing is."""
        if reply.signal:
            return f"signal {reply.signal}"
        if any(reply.spilled):
            return "it writes outside its operands"
        found = dict(self.values)
        for array, data in zip(visible(self.instruction.definition), reply.arrays, strict=True):
            before = self.placement.before if array.memory in PLAIN_MEMORIES else 0
            elements = _read(data, array.type)
            if data[: before * array.type.size] != self.image(array)[1][: before * array.type.size]:
                return f"it writes before `{array.name}`"
            rest = self.values[array.name][len(elements) - before :]
            found[array.name] = np.concatenate([elements[before:], rest])
        return self.difference(found)

    def difference(self, found: Values) -> str:
        """Which operand is not what it may be, with the values; empty where none is."""
        name = self.instruction.name
        if name in SUMS_OF_LANES:
            operands = [self.values[x.name] for x in visible(self.instruction.definition)]
            scalars = [self.values[x.name] for x in self.instruction.definition.scalars]
            if any(not (np.abs(x) < LARGEST_SUMMED).all() for x in (*operands, *scalars)):
                return ""
            return near(self.instruction, self.sizes, self.values, found, 32)
        if self.instruction.fused and (far := near(self.instruction, self.sizes, self.values, found)):
            return f"`{far}` is {found[far]}, which is not near {self.wanted[0][far]}"
        if name in LOOSE:
            return ""
        same = canonical if calculates(self.instruction.definition) else np.ndarray.tobytes
        wrong = [[x for x in wanted if same(wanted[x]) != same(found[x])] for wanted in self.wanted]
        if not all(wrong):
            return ""
        return f"`{wrong[0][0]}` is {found[wrong[0][0]]}, not {self.wanted[0][wrong[0][0]]}"


def _stored(values: Any, type: Type) -> bytes:
    return to_memory(np.asarray(values), type).tobytes()


def _read(data: bytes, type: Type) -> np.ndarray[Any, Any]:
    return from_memory(np.frombuffer(data, memory_dtype(type)), type).astype(type.numpy)


def trials(shipped: Instruction, instruction: Instruction) -> Iterator[Trial]:
    """All that an instruction is tried on; `instruction` is the shipped one with operands that C can spell."""
    kernels: dict[tuple[int, ...], Kernel] = {}
    allowed = list(sizes_of(shipped))
    lanes = max((number for sizes in allowed for number in sizes.values()), default=0)
    for sizes in allowed:
        immediates = {x: sizes[x] for x in shipped.immediate}
        kernel = kernels.setdefault(tuple(immediates.values()), wrap(instruction, immediates))
        for values in inputs(shipped, sizes):
            wanted = tuple(results(x, sizes, values) for x in meanings(shipped))
            for placement in PLACEMENTS:
                yield Trial(shipped, kernel, lanes, sizes, values, wanted, placement)


def problems(
    members: Iterable[Instruction], catalogue: Catalogue, target: Machine, folder: Path
) -> dict[str, tuple[int, str]]:
    """How many trials there were of each instruction, and the first problem with it (empty where there is none)."""
    known = wrapping_catalogue(catalogue)
    plan = [x for shipped in members for x in trials(shipped, known.instruction(shipped.name))]
    kernels = list({id(x.kernel): x.kernel for x in plan}.values())
    numbers = {id(x): number for number, x in enumerate(kernels)}
    program = build(kernels, known, target, folder)
    replies = call_all(program, target, [x.request(numbers[id(x.kernel)]) for x in plan])
    out: dict[str, tuple[int, str]] = {}
    for trial, reply in zip(plan, replies, strict=True):
        count, first = out.get(trial.instruction.name, (0, ""))
        if not first and (text := trial.problem(reply)):
            sizes = "".join(f", {name} = {value}" for name, value in trial.sizes.items())
            given = ", ".join(f"{name} = {value}" for name, value in trial.values.items())
            first = f"{text} ({trial.placement}{sizes}; {given})"
        out[trial.instruction.name] = count + 1, first
    return out


def _machine(group: Group) -> Machine:
    found = machine(group.processor, group.features, group.flags)
    if isinstance(found, str):
        pytest.skip(f"{group}: {found}")
    return found


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_instructions_do_what_they_say(group: Group, tmp_path: Path) -> None:
    members = group.members()
    found = problems(members, extension(group.set), _machine(group), tmp_path)
    assert set(found) == {x.name for x in members}
    wrong = [f"{name}: {text}" for name, (_, text) in found.items() if text]
    assert not wrong, "\n".join(wrong)


def test_no_instruction_is_forgotten() -> None:
    tested = [x.name for group in GROUPS for x in group.members()]
    known = [name for name in extensions() for name in extension(name).instructions]
    assert sorted([*tested, *UNTESTED]) == sorted(known)
    assert all(UNTESTED.values())
    for group in GROUPS:
        for member in group.members():
            assert next(inputs(member, next(sizes_of(member)))) is not None


WRONG = {
    "avx2_load_f32": "{d} = _mm256_load_ps({s});",
    "avx2_load_f64": "{d} = _mm256_load_pd({s});",
    "avx2_store_i32": "_mm256_store_si256((__m256i *){d}, {s});",
    "avx2_set_i32": "{d} = _mm256_set1_epi16((short){x});",
    "avx2_add_f32": "{d} = _mm256_add_ps({a}, _mm256_add_ps({b}, _mm256_setzero_ps()));",
    "avx2_fmadd_f32": "{d} = _mm256_add_ps({d}, _mm256_mul_ps({a}, {b}));",
    "avx2_update_f32": "_mm256_storeu_ps({m}, _mm256_fmadd_ps({a}, _mm256_set1_ps({y}), "
    "_mm256_mul_ps(_mm256_set1_ps({x}), _mm256_loadu_ps({m}))));",
    "avx2_masked_store_f64": "_mm256_storeu_pd({d}, {s}); (void)({n});",
    "avx2_masked_scaled_store_f64": "_mm256_maskstore_pd({m}, _mm256_cmpgt_epi64(_mm256_set1_epi64x({n} + 1), "
    "_mm256_setr_epi64x(0, 1, 2, 3)), _mm256_mul_pd({a}, _mm256_set1_pd({x})));",
    "avx2_masked_load_f32": "{d} = _mm256_loadu_ps({s}); (void)({n});",
    "avx2_madd_i16": "{d} = _mm256_add_epi32({d}, _mm256_madd_epi16({a}, {a})); (void){b};",
    "avx2_madd_i16_pair": "{d} = _mm256_madd_epi16(_mm256_set1_epi32(planish_word({a})), {b});",
    "avx2_prefetch_f32": "*(volatile char *){s} = 0;",
    "avx512_scaled_sum_to_f32": "*({s}) += {x} * _mm512_reduce_add_ps(_mm512_maskz_mov_ps(0x7fff, {a}));",
    "avx512_scaled_sums_to_f32": "for (int i = 0; i < 4; i++) ({s})[i] += {x} * _mm512_reduce_add_ps((__m512[]){"
    "{a0}, {a1}, {a3}, {a2}}[i]);",
    "avx512_scaled_sums_apart_f32": "*({s0}) += {x} * _mm512_reduce_add_ps({a0}); *({s1}) += {x} * "
    "_mm512_reduce_add_ps({a1}); *({s2}) += {x} * _mm512_reduce_add_ps({a2}); *({s3}) += _mm512_reduce_add_ps({a3});",
    "avx512_sum_to_f64": "*({s}) += _mm512_reduce_add_pd(_mm512_maskz_mov_pd(0x7f, {a}));",
    "avx512_sums_to_f64": "for (int i = 0; i < 4; i++) ({s})[i] += _mm512_reduce_add_pd((__m512d[]){"
    "{a0}, {a2}, {a1}, {a3}}[i]);",
    "avx512_accumulate_f64": "{d} = _mm512_add_pd({d}, {d}); (void){a};",
    "avx512_weave_i16": "_mm512_storeu_si512((void *){d}, _mm512_or_si512(_mm512_cvtepi16_epi32(_mm256_loadu_si256(("
    "const __m256i *)(const void *){s0})), _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)"
    "(const void *){s1})), 16)));",
    "avx512_dpbusd": "{d} = _mm512_dpbusds_epi32({d}, {a}, {b});",
    "avx512_dpbusd_word": "{d} = _mm512_dpbusd_epi32({d}, {b}, _mm512_set1_epi32(planish_word({a})));",
    "avx512_dpwssd_word": "{d} = _mm512_dpwssds_epi32({d}, _mm512_set1_epi32(planish_word({a})), {b});",
    "avx512_dpbf16_word": "{d} = _mm512_dpbf16_ps({d}, (__m512bh)_mm512_rol_epi32(_mm512_set1_epi32("
    "planish_word({a})), 16), (__m512bh){b});",
    "neon_fmadd_f16": "{d} = vaddq_f16({d}, vmulq_f16({a}, {b}));",
    "neon_fmadd_lane_f64": "{d} = vfmaq_laneq_f64({d}, {a}, {b}, 1 - {k});",
    "neon_dot_lane_i8": "{d} = vdotq_laneq_s32({d}, {a}, {b}, {k} ^ 1);",
    "neon_dot_u8": "{d} = vreinterpretq_u32_s32(vdotq_s32(vreinterpretq_s32_u32({d}), vreinterpretq_s8_u8({a}), "
    "vreinterpretq_s8_u8({b})));",
}
"""Texts that do something else than the definition."""


def _wrong(group: Group) -> list[Instruction]:
    return [replace(x, text=WRONG[x.name]) for x in group.members(WRONG)]


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_wrong_instructions_are_found(group: Group, tmp_path: Path) -> None:
    wrong = _wrong(group)
    assert wrong
    found = problems(wrong, extension(group.set).with_instructions(wrong), _machine(group), tmp_path)
    assert [name for name, (_, text) in found.items() if not text] == []
