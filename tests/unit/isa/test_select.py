"""Nests over lanes are written with learnt instructions that are found by their definitions alone."""

from __future__ import annotations

import numpy as np
import pytest

import planish
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.nest import For
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.isa.instruction_file import read_instructions
from planish.isa.semantics.scalarised import unroll
from planish.isa.semantics.text import parse_definition
from planish.isa.shipped import extension, extensions, shipped
from planish.library.kernels.as_instruction import make_callable
from planish.run.toolchains.toolchain import host_features
from planish.schedule.program import Program
from planish.schedule.script import parse_script
from planish.schedule.steps.instructions import Replace

_REGISTERS = "alloc a: {0}[{1}] @{2} alloc b: {0}[{1}] @{2} alloc d: {0}[{1}] @{2}"


def _found(kind: str, lanes: int, memory: str, statement: str) -> str:
    head = f"kernel f(x: f32; A: u8[64, 64]) {{ {_REGISTERS.format(kind, lanes, memory)}"
    program = Program.of(parse_kernel(f"{head} for l in 0 .. {lanes} {{ {statement} }} }}"))
    made = program.apply(Replace("l"))
    loop = made.loop("l")
    return made.catalogue.instruction(loop.facts.instruction).template


@pytest.mark.parametrize(
    ("kind", "lanes", "memory", "statement", "text"),
    [
        ("i16", 32, "zmm", "d[l] = i16(max(min(i32(a[l]) + i32(b[l]), 32767:i32), -32768:i32))",
         "{r0} = _mm512_adds_epi16({r1}, {r2});"),
        ("u8", 64, "zmm", "d[l] = u8(min(u16(a[l]) + u16(b[l]), 255:u16))", "{r0} = _mm512_adds_epu8({r1}, {r2});"),
        ("u8", 16, "neon", "d[l] = u8(select(i32(a[l]) + i32(b[l]) > 255:i32, 255:i32, i32(a[l]) + i32(b[l])))",
         "{r0} = vqaddq_u8({r1}, {r2});"),
        ("u8", 32, "ymm", "d[l] = u8((i32(a[l]) + i32(b[l]) + 1:i32) >> 1:i32)", "{r0} = _mm256_avg_epu8({r1}, {r2});"),
        ("u16", 32, "zmm", "d[l] = u16((u32(a[l]) * u32(b[l])) >> 16:u32)", "{r0} = _mm512_mulhi_epu16({r1}, {r2});"),
        ("i32", 16, "zmm", "d[l] = a[l] * b[l]", "{r0} = _mm512_mullo_epi32({r1}, {r2});"),
        ("u8", 64, "zmm", "d[l] = max(a[l], b[l])", "{r0} = _mm512_max_epu8({r1}, {r2});"),
        ("f64", 8, "zmm", "d[l] = a[l] / b[l]", "{r0} = _mm512_div_pd({r1}, {r2});"),
        ("f32", 8, "ymm", "d[l] = a[l] - b[l] * d[l]", "{r0} = _mm256_fnmadd_ps({r2}, {r0}, {r1});"),
        ("f32", 8, "ymm", "d[l] = sqrt(a[l])", "{r0} = _mm256_sqrt_ps({r1});"),
        ("f32", 4, "neon", "d[l] += a[l] * x", "{r0} = vfmaq_n_f32({r0}, {r1}, {x0});"),
        ("i16", 16, "ymm", "d[l] = a[l] >> 3:i16", "{r0} = _mm256_srai_epi16({r1}, 3);"),
        ("u32", 4, "neon", "d[l] = a[l] << 7:u32", "{r0} = vshlq_n_u32({r1}, 7);"),
        ("f32", 16, "zmm", "d[l] = select(a[l] > b[l], a[l], b[l])", "{r0} = _mm512_max_ps({r1}, {r2});"),
        ("f32", 16, "zmm", "d[l] = select(a[l] < 0.0:f32, 0.0:f32, a[l])",
         "{r0} = _mm512_max_ps(_mm512_set1_ps({x0}), {r1});"),
        ("i32", 8, "ymm", "d[l] = (a[l] + 7:i32) >> 3:i32",
         "{r0} = _mm256_srai_epi32(_mm256_add_epi32({r1}, _mm256_set1_epi32(7)), 3);"),
        ("u8", 64, "zmm", "d[l] = A[3, l]", "{r0} = _mm512_loadu_epi32({m1}); planish_keep({r0});"),
    ],
)  # fmt: skip
def test_a_loop_finds_its_instruction(kind: str, lanes: int, memory: str, statement: str, text: str) -> None:
    assert _found(kind, lanes, memory, statement) == text


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("d[l] = a[l] % b[l]", "none of those for `zmm`"), ("A[l, 0] = 1:u8", "lanes of `A` are not neighbours"),
        ("d[l] = a[63 - l]", "the subscript"), ("d[l] = u8(l)", "the number of the lane is a value"),
        ("A[0, l] = A[1, l]", "nothing of it is in vector registers"),
        ("d[l] = min(a[l], b[l]) d[l] = 0:u8", "more than one"),
        ("d[l] = u8(min(u16(a[l]) + u16(b[l]), 254:u16))", "none of those"),  # one less than what saturates
    ],
)  # fmt: skip
def test_what_no_instruction_does_is_refused(statement: str, reason: str) -> None:
    with pytest.raises(PlanishError) as told:
        _found("u8", 64, "zmm", statement)
    assert told.value.diagnostic.code == "E0632"
    assert reason in told.value.diagnostic.message


@pytest.mark.parametrize("statement", ["d[2 * l] = a[2 * l]", "d[l] = a[l]", "d[l] = a[l] + b[l]"])
def test_a_part_of_a_register_is_not_taken_for_all_of_it(statement: str) -> None:
    head = f"kernel f() {{ {_REGISTERS.format('f32', 16, 'zmm')}"
    program = Program.of(parse_kernel(f"{head} for l in 0 .. 8 {{ {statement} }} }}"))
    with pytest.raises(PlanishError) as told:
        program.apply(Replace("l"))
    assert told.value.diagnostic.code == "E0632"


def test_what_is_read_under_a_condition_is_not_read_without_it() -> None:
    head = f"kernel f(A: f32[64]) {{ {_REGISTERS.format('f32', 16, 'zmm')}"
    for value, found in (("select(a[l] > b[l], a[l], A[l])", False), ("select(a[l] > A[l], a[l], A[l])", True)):
        program = Program.of(parse_kernel(f"{head} for l in 0 .. 16 {{ d[l] = {value} }} }}"))
        if found:
            made = program.apply(Replace("l"))
            assert "_mm512_max_ps" in made.catalogue.instruction(made.loop("l").facts.instruction).template
        else:
            with pytest.raises(PlanishError, match="none of those"):
                program.apply(Replace("l"))


def test_one_operand_may_be_two_of_an_instruction() -> None:
    assert _found("f32", 16, "zmm", "d[l] = a[l] * a[l]") == "{r0} = _mm512_mul_ps({r1}, {r1});"
    assert _found("f32", 16, "zmm", "d[l] += a[l] * a[l]") == "{r0} = _mm512_fmadd_ps({r1}, {r1}, {r0});"


def test_bf16_is_not_summed_as_whole_numbers() -> None:
    text = "kernel f() { alloc a: bf16[32] @zmm alloc d: bf16[32] @zmm for l in 0 .. 32 { d[l] += a[l] } }"
    with pytest.raises(PlanishError):
        Program.of(parse_kernel(text)).apply(Replace("l"))


def test_only_what_rounds_once_is_said_to() -> None:
    text = f"kernel f() {{ {_REGISTERS.format('i32', 16, 'zmm')} for l in 0 .. 16 {{ d[l] += a[l] }} }}"
    made = Program.of(parse_kernel(text), "contract").apply(Replace("l"))
    assert not made.catalogue.instruction(made.loop("l").facts.instruction).fused


def test_a_kernel_brings_what_it_was_made_of() -> None:
    head = "kernel twice(A: f32[16], B: f32[16] distinct)"
    definition = parse_kernel(f"{head} {{ for i in 0 .. 16 {{ B[i] = A[i] + A[i] }} }}")
    program = Program.of(definition)
    for line in ('stage_mem("i", "A", "a")', 'set_memory("a: _", "zmm")', 'replace("a_0")'):
        program = program.apply(*parse_script(line))
    made = make_callable(definition, program)
    assert program.found
    known = shipped().with_instructions([made])
    assert all(x.name in known.instructions for x in program.found)


def test_nothing_is_rounded_once_where_that_is_not_allowed() -> None:
    text = f"kernel f() {{ {_REGISTERS.format('f32', 8, 'ymm')} for l in 0 .. 8 {{ d[l] += a[l] * b[l] }} }}"
    found = {}
    for fp in ("strict", "contract"):
        made = Program.of(parse_kernel(text), fp).apply(Replace("l"))  # type: ignore[arg-type]
        found[fp] = made.catalogue.instruction(made.loop("l").facts.instruction).template
    assert found["strict"] == "{r0} = _mm256_add_ps({r0}, _mm256_mul_ps({r1}, {r2}));"
    assert found["contract"] == "{r0} = _mm256_fmadd_ps({r1}, {r2}, {r0});"


@pytest.mark.parametrize("name", extensions())
def test_every_shipped_instruction_has_a_text(name: str) -> None:
    for instruction in extension(name).instructions.values():
        assert instruction.template.strip(), instruction.name


_HEAD = "header immintrin.h\nmemory xmm 128 bits 16 registers: f32 __m128 u8 __m128i\n"
_SUM = "(d: f32[4] @xmm, a: f32[4] @xmm) { for l in 0 .. 4 { d[l] += a[l] } }"


@pytest.mark.parametrize(
    ("text", "told", "line"),
    [
        (f"{_HEAD}instr add\n{_SUM}", "without a text needs `from", 3),
        (f"{_HEAD}from vax: D\ninstr add\n{_SUM}", "no instructions of 'vax'", 3),
        (f"{_HEAD}from x86: MMX\ninstr add\n{_SUM}", "do what `add` is", 4),
        (f"{_HEAD}from x86: sse\ninstr add\n{_SUM}", "did you mean SSE", 3),
        (f"{_HEAD}from x86: SSE\ninstr add\n{_SUM}\ninstr add\n{_SUM}", "is there twice", 6),
        (f"{_HEAD}from x86: SSE\ninstr add\n{_SUM.replace('@xmm', '@foo')}", "no `memory foo`", 4),
        (f"{_HEAD}from x86: SSE\ninstr q\n(n) {{ for l in 0 .. n {{ }} }}", "do what `q` is", 4),
        (f"{_HEAD}from x86: SSE\ninstr q\n(d: f32[4] @xmm) {{ for l in 0 .. 4 {{ d[l] = 1e39:f32 }} }}",
         "what `q` is", 4),
        ("memory xmm 0 bits 16 registers: f32 __m128", "no register has 0 bits", 1),
        (f"{_HEAD}from x86: SSE AVX512F AVX512VL\nmask 4 lanes __mmask8 (__mmask8)((1u << {{n}}) - 1u)\ninstr q\n"
         "(n; d: f32[4], a: f32[4] @xmm) { for l in 0 .. n { d[l] = a[l] } }", "what `q` is", 5),
        # what is written only in some lanes, or begins elsewhere, is no whole instruction
        (f"{_HEAD}from x86: SSE\ninstr q\n(n; d: f32[4] @xmm, a: f32[4] @xmm) "
         "{ for l in 0 .. n { d[l] += a[l] } }", "what `q` is", 4),
        (f"{_HEAD}from x86: SSE SSE2 SSSE3 SSE4.1 AVX AVX2\ninstr q\n(d: f32[4] @xmm, a: f32[4] @xmm) "
         "{ for l in 0 .. 2 { for q in 1 .. 2 { d[2 * l + q] = a[2 * l] } } }", "what `q` is", 4),
    ],
)  # fmt: skip
def test_files_say_what_is_missing(text: str, told: str, line: int) -> None:
    with pytest.raises(PlanishError) as error:
        read_instructions(Source("own.isa", text))
    diagnostic = error.value.diagnostic
    assert diagnostic.code == "E0630"
    assert told in diagnostic.message
    assert diagnostic.span is not None
    assert diagnostic.span.line >= line


def test_a_file_without_c_is_read() -> None:
    found = read_instructions(Source("own.isa", f"{_HEAD}from x86: SSE\ninstr add\n{_SUM}"))
    assert found.instruction("add").template == "{d} = _mm_add_ps({d}, {a});"


def test_places_that_depend_on_values_are_not_unrolled() -> None:
    text = "(a: 32, n: 8) -> r: 32 { r.u8[n.u2[0]] = a.u8[0] }"
    assert unroll(parse_definition(text)) is None


_BRIGHTEN = """
#include <stdint.h>
void brighten(int n, const uint8_t *a, const uint8_t *b, uint8_t *restrict out) {
  for (int i = 0; i < n; i++) {
    int s = a[i] + b[i];
    out[i] = s > 255 ? 255 : s;
  }
}
"""
_SCRIPT = """
split("i", 32, ("io", "l"), tail="cut")
stage_mem("l", "a", "ra")
stage_mem("l", "b", "rb")
stage_mem("l", "out", "ro")
set_memory("ra: _", "ymm")
set_memory("rb: _", "ymm")
set_memory("ro: _", "ymm")
replace("ra_0")
replace("rb_0")
replace("l")
replace("ro_0")
"""


def test_plain_c_becomes_instructions_that_nobody_named() -> None:
    program = planish.program(_BRIGHTEN)
    for line in _SCRIPT.strip().splitlines():
        program = program.apply(*parse_script(line))
    used = {x.facts.instruction for x in walk(program.kernel.body) if isinstance(x, For)} - {""}
    texts = {program.catalogue.instruction(x).template for x in used}
    assert any("_mm256_adds_epu8(" in x for x in texts)
    assert len(texts) == 3  # both operands are loaded by one instruction
    if not {"avx2", "fma"} <= set(host_features().split()):
        pytest.skip("this processor has no AVX2: the kernel is not run")
    function = planish.compile(_BRIGHTEN, script=_SCRIPT, target="x86-avx2")
    for n in (0, 1, 31, 32, 33, 1000):
        a, b = (np.arange(n, dtype=np.uint8) * x for x in (7, 13))
        out = np.zeros(n, np.uint8)
        function(n, a, b, out)
        assert (out == np.minimum(a.astype(int) + b, 255)).all()
