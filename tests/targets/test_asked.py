"""What is found for a statement in C does what the statement does, lane by lane, on the machines that are here."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.property.sampling import one_in

from planish.core.diagnostic import PlanishError
from planish.isa.vendors.x86.features import missing
from planish.run.instructions.compile import Machine
from planish.run.instructions.machines import arm_machines, x86_flags, x86_machines
from planish.run.processes.process import Limits, run_process
from planish.schedule.query_instruction import Answer, find_for_statement

KNOWN = [
    ("uint8_t d, a, b; d = (a + b + 1) >> 1;", {"xmm": "_mm_avg_epu8", "neon": "vrhaddq_u8", "hvx": "V6_vavgubrnd"}),
    ("uint8_t d, a, b; d = a + b > 255 ? 255 : a + b;", {"zmm": "_mm512_adds_epu8", "hvx": "V6_vaddubsat"}),
    ("int32_t d; uint8_t a[4]; int8_t b[4]; for (int q = 0; q < 4; q++) d += a[q] * b[q];",
     {"zmm": "_mm512_dpbusd_epi32", "neon": "vusdotq_s32", "hvx": "V6_vrmpybusv_acc"}),
    ("int32_t d; int16_t a[2], b[2]; d = a[0] * b[0] + a[1] * b[1];", {"ymm": "_mm256_madd_epi16"}),
    ("unsigned short d, a, b; d = (a * b) >> 16;", {"xmm": "_mm_mulhi_epu16"}),
    ("float d, a, b; d = a > b ? a : b;", {"ymm": "_mm256_max_ps"}),
    ("float d, a; d = a < 0 ? 0 : a;", {"xmm": "_mm_max_ps"}), ("double d, a; d = sqrt(a);", {"neon": "vsqrtq_f64"}),
    ("short d, a; d = a >> 3;", {"zmm": "_mm512_srai_epi16", "neon": "vshrq_n_s16"}),
    ("unsigned d, a; d = a << 5;", {"ymm": "_mm256_slli_epi32", "neon": "vshlq_n_u32"}),
    ("int d, a, b; d = a & b;", {"xmm": "_mm_and_si128", "neon": "vandq_s32", "hvx": "V6_vand"}),
    ("long d, a, b; d = a & ~b;", {"ymm": "_mm256_andnot_si256", "neon": "vbicq_s64"}),
    ("uint16_t d, a; d = ~a;", {"neon": "vmvnq_u16", "hvx": "V6_vnot"}),
    ("int d, a; d = (a + 7) >> 3;", {"xmm": "_mm_srai_epi32"}),
    ("float d, a, b; d += a * b;", {"ymm": "_mm256_fmadd_ps"}),
    ("int8_t d, a; d = a < 0 ? -a : a;", {"zmm": "_mm512_abs_epi8", "neon": "vabsq_s8", "hvx": "V6_vabsb"}),
    ("int d, a; d = a >= 0 ? a : -a;", {"xmm": "_mm_abs_epi32", "neon": "vabsq_s32"}),
    ("uint8_t d, a, b; d = a > b ? a - b : b - a;", {"neon": "vabdq_u8", "hvx": "V6_vabsdiffub"}),
    ("short d, a, b; d = a + b > 32767 ? 32767 : a + b < -32768 ? -32768 : a + b;", {"ymm": "_mm256_adds_epi16"}),
    ("int8_t d, a, b; d = a - b < -128 ? -128 : a - b > 127 ? 127 : a - b;", {"xmm": "_mm_subs_epi8"}),
    ("const int8_t a; int8_t d; d = a;", {"xmm": "d = a;"}),
]  # fmt: skip
TYPES = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "float", "double")
FORMS = ("a + b", "a - b", "a * b", "a < b ? a : b", "b < a ? a : b", "a & b", "a | b", "a ^ b", "a & ~b", "~a",
         "a >> 3", "a << 2",
         "(a + b) >> 1", "(a + b + 1) >> 1", "a == b ? c : a", "a < b ? c : d", "d + a * b", "a * 3 + b", "a - b * c",
         "a <= 9 ? 9 : a", "(a > b ? a - b : b - a)", "a < 0 ? -a : a", "a <= b ? b - a : a - b",
         "a < b ? a - b : b - a", "a > 100 ? 100 : a < -100 ? -100 : a", "a < b ? b : a > 50 ? 50 : a",
         "(a * b) >> 8", "a / b")  # fmt: skip
FLOATS = ("a + b", "a - b", "a * b", "a / b", "a < b ? a : b", "a > b ? a : b", "b <= a ? a : b", "a == b ? c : a",
          "a != b ? c : a", "d + a * b", "a * 0.5 + b", "sqrt(a)", "-a", "a < 0 ? 0 : a")  # fmt: skip
VECTORS = {"zmm": ("__m512i", "__m512", "__m512d"), "ymm": ("__m256i", "__m256", "__m256d"),
           "xmm": ("__m128i", "__m128", "__m128d")}  # fmt: skip
BITS = {"zmm": 512, "ymm": 256, "xmm": 128, "neon": 128}
ROUNDS = 40
PARTS = 12
"""In how many parts all statements are compared: of three groups of types, four each. One of them is in the suite."""


@pytest.mark.parametrize("known", one_in(2, KNOWN), ids=range(len(KNOWN)))
def test_the_instruction_is_found(known: tuple[str, dict[str, str]]) -> None:
    statement, instructions = known
    found = find_for_statement(statement)
    for registers, name in instructions.items():
        assert any(name in x.text for x in found if x.registers == registers), found


def test_an_architecture_can_be_chosen() -> None:
    assert {x.isa for x in find_for_statement(KNOWN[0][0], "arm")} == {"arm"}


@pytest.mark.parametrize(
    "query",
    ["int d, a;", "int d[99]; d = 1;", "int d, d; d = 1;", "foo d; int a; d = a;", "int d, a; d = a @ 3;",
     "int d, a; if (a) d = 3;", "int d, a; for (;;) d = a;", "int d, a; d = f(a);", "int d, a; d = a[99];"],
)  # fmt: skip
def test_what_is_no_such_statement_is_refused(query: str) -> None:
    try:
        assert find_for_statement(query) == []
    except PlanishError as error:
        assert error.diagnostic.code == "E0658"


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("uint8_t a[4]; int d; for (int q = 0; q < 1000; q++) d += a[q];", "at most 16 steps"),
        ("uint8_t d, a[4]; d = a[9];", "each lane has 4 of `a`"),
        ("uint8_t d, a[4]; d = a[-1];", "each lane has 4 of `a`"),
        ("uint8_t a[4]; int d; for (int q = 0; q < 5; q++) d += a[q];", "each lane has 4 of `a`"),
        ("uint8_t d, a; d = q;", "declare `q`"),
        ("uint8_t d; bool a; d = a;", "types are"),
        ("int128 d, a; d = a + a;", "types are"),
        ("uint8_t d;", "d = EXPRESSION"),
    ],
)
def test_the_refusal_says_what_to_do(query: str, advice: str) -> None:
    with pytest.raises(PlanishError) as caught:
        find_for_statement(query)
    assert caught.value.diagnostic.code == "E0658"
    assert advice in (caught.value.diagnostic.help or "")


def test_what_neon_needs_is_told() -> None:
    (answer,) = find_for_statement(KNOWN[2][0], "arm")
    assert answer.needs == ("A64", "I8MM")


def _vector(registers: str, kind: str) -> str:
    if registers == "neon":
        element = {"float": "float32_t", "double": "float64_t"}.get(kind, kind)
        return f"{element.removesuffix('_t')}x{128 // _bits(kind)}_t"
    whole, single, double = VECTORS[registers]
    return {"float": single, "double": double}.get(kind, whole)


def _bits(kind: str) -> int:
    return {"float": 32, "double": 64}.get(kind) or int("".join(x for x in kind if x.isdigit()))


def _function(number: int, kind: str, value: str, answer: Answer) -> str:
    """Compares the statement with what was found for it, on random registers."""
    lanes = BITS[answer.registers] // _bits(kind)
    vector = _vector(answer.registers, kind)
    declared = " ".join(f"{kind} s{x}[{lanes}]; {vector} {x};" for x in "dabc")
    filled = " ".join(f"fill_{kind}(s{x}, {lanes}); memcpy(&{x}, s{x}, sizeof {x});" for x in "dabc")
    scalar = f"{kind} d = sd[l], a = sa[l], b = sb[l], c = sc[l]; (void)d; (void)a; (void)b; (void)c; sd[l] = {value};"
    return f"""static int test_{number}(void) {{
  {declared}
  for (int round = 0; round < {ROUNDS}; round++) {{
    {filled}
    for (int l = 0; l < {lanes}; l++) {{ {scalar} }}
    {answer.text}
    if (!same_{kind}(sd, &d, {lanes})) return 1;
  }}
  return 0;
}}
"""


def _program(functions: list[str], header: str) -> str:
    filling = []
    for kind in TYPES:
        number = "(double)(int)(next() % 64) / 4 - 8" if kind in ("float", "double") else "next() >> next() % 60"
        same = "x[i] != y[i] && (x[i] == x[i] || y[i] == y[i])" if kind in ("float", "double") else "x[i] != y[i]"
        filling.append(
            f"static void fill_{kind}({kind} *x, int n) {{ for (int i = 0; i < n; i++) x[i] = ({kind})({number}); }}\n"
            f"static int same_{kind}(const {kind} *x, const void *z, int n) {{\n"
            f"  {kind} y[64]; memcpy(y, z, n * sizeof *y);\n"
            f"  for (int i = 0; i < n; i++) if ({same}) return 0;\n  return 1; }}\n"
        )
    calls = " ".join(f'if (test_{i}()) printf("{i} ");' for i in range(len(functions)))
    return (
        f"#include <{header}>\n#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
        "static uint64_t next(void) { static uint64_t s = 7; s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; }\n"
        f"{''.join(filling)}{''.join(functions)}int main(void) {{ {calls} return 0; }}\n"
    )


@pytest.mark.parametrize("part", one_in(PARTS, range(PARTS)))
@pytest.mark.parametrize("isa", ["x86", "arm"])
def test_it_does_what_the_statement_does(isa: str, part: int, tmp_path: Path) -> None:
    machines: tuple[Machine, ...] = x86_machines() if isa == "x86" else arm_machines()
    if not machines:
        pytest.skip(f"no compiler or emulator for {isa}")
    asked = [(x, form) for x in TYPES for form in (FLOATS if x in ("float", "double") else FORMS)[part // 3 :: 4]]
    functions, statements = [], []
    for kind, value in [x for x in asked if x[0] in TYPES[(part + 1) % 3 :: 3]]:
        if value == "sqrt(a)" and kind == "float":
            value = "sqrtf(a)"
        for answer in find_for_statement(f"{kind} d, a, b, c; d = {value};", isa):
            if not answer.fused and (isa == "arm" or missing(answer.needs, x86_flags()) is None):
                functions.append(_function(len(functions), kind, value, answer))
                statements.append((kind, value, answer.text))
    assert len(functions) > 7
    source, program = tmp_path / "asked.c", tmp_path / "asked"
    source.write_text(_program(functions, "immintrin.h" if isa == "x86" else "arm_neon.h"))
    options = ("-O1", "-w", "-fwrapv", "-ffp-contract=off", str(source), "-o", str(program), "-lm")
    compiled = run_process([*machines[0].compiler, *options], Limits(seconds=300))
    assert compiled.code == 0, compiled.stderr[:2000]
    finished = run_process([*machines[0].command, str(program)], Limits(seconds=120))
    assert finished.code == 0
    assert [statements[int(x)] for x in finished.stdout.split()] == []
