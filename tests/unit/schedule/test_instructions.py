"""Steps that lead to instructions: what each makes means the same, and what would not is refused with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planish.astgen.checking.verify import evaluate
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.emit.c.kernel_text import emit_function
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F32, Floats
from planish.isa.instruction import Catalogue, Instruction, MemoryKind, make_instruction
from planish.library.kernels.as_instruction import make_callable
from planish.schedule.program import Program, Step
from planish.schedule.script import print_script, run_script
from planish.schedule.steps.buffers import LiftAlloc, StageMem
from planish.schedule.steps.control import Sink, Specialise, Swap
from planish.schedule.steps.facts import Parallelise, Vectorise
from planish.schedule.steps.instructions import Inline, Replace
from planish.schedule.steps.kernels import Assume, Simplify
from planish.schedule.steps.loops import Fission, Fuse, Peel, Reverse, Split, Unroll
from planish.schedule.steps.padding import Widen
from planish.schedule.steps.prefetch import Prefetch
from planish.schedule.steps.storage import FoldDim, PadDim, ReorderDims, ReuseBuffer, SetLayout, SetMemory, SplitDim
from planish.schedule.steps.values import FactorOut, FoldFactor, SetPrecision

Case = tuple[str, str, str, tuple[Step, ...]]
"""A nest, the code of the refusal of the last step, a piece of its reason, the steps."""


def own(name: str, definition: str) -> Instruction:
    """An instruction of these tests."""
    return make_instruction(name, parse_kernel(f"kernel {name}{definition}"), "")


def called(definition: str, *steps: Step) -> Instruction:
    """A kernel that steps have made, to be called."""
    kernel = parse_kernel(definition)
    return make_callable(kernel, Program.of(kernel).apply(*steps))


PRODUCT = """kernel product(m, n, k, lda, ldb, ldc; P: f32[m, lda], Q: f32[k, ldb], R: f32[m, ldc])
assume m >= 1 assume n >= 1 assume n <= 8 assume lda >= k assume ldb >= n assume ldc >= n
{ for i in 0 .. m { for j in 0 .. n { for p in 0 .. k { R[i, j] += P[i, p] * Q[p, j] } } } }"""
CLEAR = "kernel clear(n; d: f32[n]) assume n >= 1 { for i in 0 .. n { d[i] = 0.0:f32 } }"
OWN = (
    own("copy", "(d: f32[4], s: f32[4]) { for l in 0 .. 4 { d[l] = s[l] } }"),
    own("fill", "(x: f32; d: f32[4]) { for l in 0 .. 4 { d[l] = x } }"),
    own("copies", "(n; d: f32[n], s: f32[n]) assume n >= 0 { for l in 0 .. n { d[l] = s[l] } }"),
    own("both", "(d: f32[4], e: f32[4]) { for l in 0 .. 4 { d[l] = 1.0:f32 e[l] = 2.0:f32 } }"),
    own("load_v4", "(d: f32[4] @v4, s: f32[4]) { for l in 0 .. 4 { d[l] = s[l] } }"),
    own("rows", "(m, n, k; d: f32[m, k], s: f32[m, k]) { for i in 0 .. m { for j in 0 .. n { d[i, j] = s[i, j] } } }"),
    own("fetch", "(d: f32[] nowhere, s: f32[8]) { for l in 0 .. 8 { d[] = s[l] } }"),
    own("unused", "(n, k; d: f32[n]) { for l in 0 .. n { d[l] = 0.0:f32 } }"),
    called(PRODUCT, Split("p", 4, ("po", "pi"), "short")),
    called(CLEAR, Split("i", 4, ("io", "ii"), "guard")),
)  # fmt: skip
CATALOGUE = Catalogue({x.name: x for x in OWN}, {"v4": MemoryKind("v4", 128, 8, {F32: "v4"})})

HEAD = """kernel f(n, m; x: f32, y: f32, w: f64; A: f32[64], B: f32[64], C: f32[n, 8], M: f32[n, m], K: f32[m, 9],
D: f64[64], I: i32[64], P: u8[64], Q: i8[64])"""
PAIRS = ((7, 5), (16, 16), (3, 1), (1, 2), (20, 40), (5, 36))
SIZES = [{"n": n, "m": m} for n, m in PAIRS]


def program(nest: str, fp: Floats = "reassociate") -> Program:
    """A nest over the arrays of these tests; what stands before its first brace is assumed."""
    assumed, _, body = nest.rpartition("!")
    return Program.of(parse_kernel(f"{HEAD} {assumed} {{ {body} }}"), fp, CATALOGUE)


def run(changed: Program, sizes: dict[str, int], seed: int) -> str | None:
    """The arrays after a run with small whole numbers; None where the sizes are not for it."""
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {**sizes, "x": 2.0, "y": 0.5, "w": 4.0}
    for array in changed.kernel.arrays:
        extents = [evaluate(x, sizes) for x in array.shape if x is not None]
        values[array.name] = rng.integers(1, 5, extents).astype(array.type.numpy)
    try:
        run_kernel(changed.kernel, values)
    except ValueError as error:
        assert "assumption" in str(error)
        return None
    # As text, so that what is not a number is equal to itself.
    return str({array.name: np.asarray(values[array.name]).tolist() for array in changed.kernel.arrays})


def check(nest: str, *steps: Step, fp: Floats = "reassociate") -> Program:
    """The program after legal steps, which computes the same; its script makes it again."""
    before = program(nest, fp)
    after = before.apply(*steps)
    runs = 0
    for seed, sizes in enumerate(SIZES):
        expected = run(before, sizes, seed)
        if expected is not None:
            runs += 1
            assert run(after, sizes, seed) == expected, after.show()
    assert runs >= 2
    assert run_script(before, Source("again", print_script(after.steps))).kernel == after.kernel
    return after


def refuse(nest: str, code: str, message: str, *steps: Step, fp: Floats = "reassociate") -> None:
    """The last step is refused, with a reason."""
    ready = program(nest, fp).apply(*steps[:-1])
    with pytest.raises(PlanishError) as error:
        ready.apply(steps[-1])
    assert error.value.diagnostic.code == code, error.value.diagnostic.message
    assert message in error.value.diagnostic.message


BUFFER = "alloc r: f32[16] stack for i in 0 .. 16 { r[i] = A[i + 8] } for o in 0 .. 16 { B[o] += r[o] }"
ZMM = BUFFER.replace("stack", "@zmm")
FOUR = "alloc r: f32[4] stack for i in 0 .. 4 { r[i] = A[i] } for o in 0 .. 4 { B[o] = r[o] }"
NEON = FOUR.replace("stack", "@neon")
THREE = """alloc r: f32[3, 4] @neon
for a in 0 .. 4 { r[0, a] = A[a] } for b in 0 .. 4 { r[1, b] = A[b + 4] } for c in 0 .. 4 { r[2, c] = x }
for l in 0 .. 4 { STATEMENT } for o in 0 .. 4 { B[o] = r[0, o] }"""
LOADED = (
    Replace("a", "neon_load_f32"), Replace("b", "neon_load_f32"), Replace("c", "neon_set_f32"),
    Replace("o", "neon_store_f32"),
)  # fmt: skip
EDGE = "assume n <= 16 assume n >= 1 ! alloc r: f32[16] @zmm for i in 0 .. 16 { r[i] = A[i] } for o in 0 .. n { STORE }"
STAGED = "assume n <= 16 assume m >= 16 assume n >= 1 ! alloc r: f32[16] stack for i in 0 .. n { r[i] = M[0, i] } "
STAGED += "for o in 0 .. n { B[o] = r[o] }"
SUM = "for i in 0 .. n { alloc s: f32[] stack s[] = 0.0:f32 for j in 0 .. m { s[] += x * M[i, j] } B[i] += s[] }"
FOLD = "alloc t: f32[8] stack for i in 0 .. 8 { t[i] = A[i] } for o in 0 .. 8 { B[o] += x * t[o] }"
WINDOW = "alloc t: f32[n + 1] stack t[0] = x for i in 0 .. n { t[i + 1] = A[i] B[i] = t[i] + t[i + 1] }"
DOT = """alloc d: i32[4] @neon alloc p: i8[16] @neon alloc q: i8[16] @neon
for i in 0 .. 4 { d[i] = 7:i32 } for a in 0 .. 16 { p[a] = Q[a] } for b in 0 .. 16 { q[b] = Q[b + 16] }
for l in 0 .. 4 { for k in 0 .. 4 { d[l] += i32(p[4 * l + k]) * i32(q[LANE]) } } for o in 0 .. 4 { I[o] = d[o] }"""
WORD = """alloc d: i32[16] @zmm alloc q: i8[64] @zmm
for i in 0 .. 16 { d[i] = 1:i32 } for b in 0 .. 64 { q[b] = Q[b] }
for l in 0 .. 16 { for k in 0 .. 4 { d[l] += i32(P[8 + k]) * i32(q[4 * l + k]) } } for o in 0 .. 16 { I[o] += d[o] }"""
UPDATE = "alloc r: f32[4] @neon for i in 0 .. 4 { r[i] = A[i] } for o in 0 .. 4 { B[o] = r[o] * x + B[o] * y }"
TRIPLE = "for i in 0 .. n { for j in 0 .. 8 { for p in 0 .. m { C[i, j] += M[i, p] * K[p, j] } } }"
TILED = "for i in 0 .. n { for j in 0 .. n { B[i] += M[i, j] } }"
LINES = "for i in 0 .. n { for j in 0 .. 8 { C[i, j] += x } for k in 0 .. 8 { C[i, k] = C[i, k] * y } }"

ROWS = """assume m >= 16 assume n >= 2 ! for j in 0 .. 8 { B[j] = x }
for i in 0 .. 2 { for k in 0 .. 16 { M[i, k] += A[k] } }"""

WORKS: list[tuple[str, str, tuple[Step, ...]]] = [
    (BUFFER, "for o in 0 .. 16 as avx512_add_to_f32", (
        SetMemory("r: _", "zmm"), Replace("i", "avx512_load_f32"), Replace("o", "avx512_add_to_f32"))),
    (BUFFER, "alloc r: f32[2, 8] @ymm", (
        Split("i", 8, ("io", "ii")), Split("o", 8, ("oo", "oi")), SplitDim("r: _", 0, 8), SetMemory("r: _", "ymm"),
        Replace("ii", "avx2_load_f32"), Replace("oi", "avx2_add_to_f32"))),
    (BUFFER, "B[oi + 12] += r[3, oi]", (
        Split("i", 4, ("io", "ii")), Split("o", 4, ("oo", "oi")), SplitDim("r: _", 0, 4), SetMemory("r: _", "neon"),
        Replace("ii", "neon_load_f32"), Replace("oi", "neon_add_to_f32"), Unroll("oo"))),
    (FOUR, "alloc r: f32[4] register", (SetMemory("r: _", "register"), Replace("i", "copy"), Replace("o", "copy"))),
    (FOUR, "alloc r: f32[4] scratch", (SetMemory("r: _", "scratch"), Replace("i", "copies"))),
    (FOUR.replace("f32[4]", "f32[n]").replace("0 .. 4", "0 .. n"), "alloc r: f32[n + 5]", (
        PadDim("r: _", 0, 5), SetMemory("r: _", "dram"))),
    (THREE.replace("STATEMENT", "r[0, l] += r[1, l] * r[2, l]"), "as neon_fmadd_f32", (
        *LOADED, Replace("l", "neon_fmadd_f32"))),
    (THREE.replace("STATEMENT", "r[0, l] = r[1, 3] * r[2, l] + r[0, l]"), "as neon_fmadd_lane_f32", (
        *LOADED, Replace("l", "neon_fmadd_lane_f32"))),
    (THREE.replace("STATEMENT", "r[0, l] += r[1, l] * A[40]"), "as neon_fmadd_scalar_f32", (
        *LOADED, Replace("l", "neon_fmadd_scalar_f32"))),
    (THREE.replace("STATEMENT", "r[0, l] = r[2, l] + r[1, l]"), "as neon_add_f32", (
        *LOADED, Replace("l", "neon_add_f32"))),
    (THREE.replace("STATEMENT", "r[0, l] = r[1, l] * r[1, l]"), "as neon_mul_f32", (
        *LOADED, Replace("l", "neon_mul_f32"))),
    (THREE.replace("STATEMENT", "r[0, l] = r[1, l]"), "as neon_move_f32", (*LOADED, Replace("l", "neon_move_f32"))),
    (EDGE.replace("STORE", "B[o + 3] = r[o]"), "as avx512_masked_store_f32", (
        Replace("i", "avx512_load_f32"), Replace("o", "avx512_masked_store_f32"))),
    (EDGE.replace("STORE", "B[o] += y * r[o]"), "as avx512_masked_scaled_add_to_f32", (
        Replace("o", "avx512_masked_scaled_add_to_f32"),)),
    (EDGE.replace("STORE", "B[o] = x * r[o] + y * B[o]"), "as avx512_masked_update_f32", (
        Replace("o", "avx512_masked_update_f32"),)),
    (UPDATE, "as neon_update_f32", (Replace("i", "neon_load_f32"), Replace("o", "neon_update_f32"))),
    (STAGED, "r[i] = select(i < n, M[0, i], 0.0:f32)", (
        Widen("i", 16, zero=True), SetMemory("r: _", "zmm"), Replace("i", "avx512_masked_load_f32"),
        Replace("o", "avx512_masked_store_f32"))),
    (DOT.replace("LANE", "4 * l + k"), "for l in 0 .. 4 as neon_dot_i8", (
        Replace("i", "neon_set_i32"), Replace("a", "neon_load_i8"), Replace("b", "neon_load_i8"),
        Replace("l", "neon_dot_i8"), Replace("o", "neon_store_i32"))),
    (DOT.replace("LANE", "8 + k"), "for l in 0 .. 4 as neon_dot_lane_i8", (Replace("l", "neon_dot_lane_i8"),)),
    (WORD, "for l in 0 .. 16 as avx512_dpbusd_word", (
        Replace("i", "avx512_set_i32"), Replace("b", "avx512_load_i8"), Replace("l", "avx512_dpbusd_word"),
        Replace("o", "avx512_add_to_i32"))),
    (f"assume n >= 1 ! {TRIPLE}", "for i in 0 .. n as product", (Replace("i", "product"),)),
    (TRIPLE, "for i in 0 .. n as product", (Specialise("i", "n >= 1 && n + m > 3"), Replace("i", "product"))),
    ("for i in 3 .. n { B[i] = 0.0:f32 }", "for i in 3 .. n as clear", (
        Specialise("i", "n > 3"), Replace("i", "clear"))),
    (ZMM, "for i in 0 .. 16 {", (Replace("i", "avx512_load_f32"), Inline("i"))),
    (ZMM, "for o in 0 .. 16 {", (Replace("o", "avx512_add_to_f32"), SplitDim("r: _", 0, 4))),
    (FOLD, "alloc t: f32[4, 2] stack", (SplitDim("t: _", 0, 4), ReorderDims("t: _", (1, 0)))),
    (FOLD, "alloc t: f32[4, 2] stack", (SetLayout("t: _", ("0 % 4", "0 / 4")),)),
    (ZMM, "for i in 0 .. 16 {", (Replace("i", "avx512_load_f32"), Reverse("i"))),
    (ZMM, "for i in 0 .. 16 {", (Replace("i", "avx512_load_f32"), PadDim("r: _", 0, 16))),
    (LINES, "for pf_1 in 0 .. 8 as fetch", (Prefetch("k", "C", "j", "pf", "fetch"),)),
    (f"assume m >= 35 ! {LINES.replace('C', 'M').replace('8', '32')}", "M[i, pf_1 + 16]", (
        Prefetch("k", "M", "j", "pf", "avx512_prefetch_f32"),)),
    (FOUR.replace("4", "32"), "A[pf_0 + 16]", (Prefetch("i", "A", "i", "pf", "neon_prefetch_f32"),)),
    ("for i in 0 .. 3 { for j in 0 .. 16 { B[j] += A[16 * i + j] } }", "as avx512_prefetch_f32", (
        Prefetch("j", "A", "j", "pf", "avx512_prefetch_f32", 1, "i"),)),
    (ROWS, "M[min(j // 2, 1), pf_1]", (Prefetch("i", "M", "j", "pf", "avx512_prefetch_f32", every=2),)),
    (ROWS.replace("j in 0", "j in 3"), "M[min((j - 3) // 5, 1), pf_1]", (
        Prefetch("i", "M", "j", "pf", "avx512_prefetch_f32", every=5),)),
    ("A[0] = x for i in 0 .. n { B[i] = A[1] }", "A[0] = x", (Swap("i"),)),
    ("for i in 0 .. n { for j in 0 .. 8 { C[i, j] = x } B[i] = y for k in 0 .. 4 { B[i] += A[k] } }", "B[i] = y", (
        Swap("B[_] = _"), Swap("k"))),
    ("for i in 0 .. (n + 15) // 8 - 2 { B[i] = x } for j in 0 .. (n - 1) // 8 { A[j] = B[j] }", "A[i] = B[i]", (
        Fuse("i"),)),
    (STAGED.replace("M[0, i]", "A[i]"), "for i in 0 .. 16 {", (Widen("i", 16),)),
    (f"assume n <= 9 ! {FOLD.replace('0 .. 8', '0 .. n').replace('[8]', '[9]')}", "for i in 0 .. 9 {", (
        Widen("i", 9),)),
    ("assume n <= 4 ! alloc t: f32[4, 4] stack for k in 0 .. 4 { for i in 0 .. n { t[k, i] = B[i] * A[k] } } "
     "for o in 0 .. n { B[o] = t[o, 0] }", "select(i < n, B[i] * A[k], 0.0:f32)", (Widen("i", 4, zero=True),)),
    ("assume n <= 8 ! alloc t: f32[8] stack for k in 0 .. m { for i in 0 .. n { t[i] = A[i] } for o in 0 .. n { "
     "B[o] += t[o] } }", "for i in 0 .. 8", (Widen("i", 8),)),
    ("for i in 0 .. n { B[i] = 0.0:f32 for j in 0 .. 4 { B[i] += A[j] } }", "if j == 0", (Sink("B[_] = _"),)),
    ("for k in 0 .. 8 { B[k] = 0.0:f32 } for j in n .. n + 3 { A[j] = B[j - n] }", "if j == n", (Sink("k"),)),
    ("assume m >= 1 ! for i in 0 .. n { if n > 5 { B[i] = x } for j in 0 .. m { B[i] += M[i, j] } }", "if j == 0", (
        Sink("if _: _"),)),
    ("alloc s: f32[] stack s[] = 0.0:f32 for j in 0 .. 4 { s[] += A[j] } B[0] = s[]", "for j in 0 .. 4 {", (
        Vectorise("j"), Sink("s = _"))),
    (FOLD, "t[i] = x * A[i]", (FoldFactor("t: _", "x"),)),
    ("alloc t: f32[2] stack t[0] = A[0] t[1] = x * t[0] B[0] = t[1] * x", "B[0] = t[1]", (FoldFactor("t: _", "x"),)),
    (SUM, "B[i] += x * s[]", (FactorOut("s: _", "x"),)),
    (SUM.replace("x * M[i, j]", "M[i, j] * (x * A[j])"), "s[] += M[i, j] * A[j]", (FactorOut("s: _", "x"),)),
    (SUM.replace("B[i] += s[]", "B[i] = s[] * s[]"), "x * s[] * (x * s[])", (FactorOut("s: _", "x"),)),
    (FOLD, "alloc t: f32[11]", (PadDim("t: _", 0, 3),)),
    (WINDOW, "B[i] = t[i % 2] + t[(i + 1) % 2]", (FoldDim("t: _", 0, 2),)),
    (FOLD, "alloc t: f32[2, 5]", (SplitDim("t: _", 0, 4), PadDim("t: _", 1, 1), SetMemory("t: _", "scratch"))),
    (f"assume n >= 1 assume m >= n ! {TILED}", "for a_1 in 0 .. min(4, n - 4 * jo)", (
        Split("j", 4, ("jo", "ji"), "short"), StageMem("ji", "M", "a", clip=True))),
    (f"assume n >= 1 assume m >= n ! {TILED}", "B[4 * io + s_0] += s[s_0]", (
        Split("i", 4, ("io", "ii"), "short"),
        StageMem("ii", "B", "s", accumulate=True, clip=True))),
    (LINES, "alloc c: f32[3, 8] scratch", (
        Fission("j"), Split("i #2", 3, ("io", "ii"), "short"), StageMem("ii", "C", "c", "scratch", clip=True),
        LiftAlloc("c: _", 1, expand=False))),
    ("assume n >= 1 assume n <= 8 ! for i in 0 .. n { B[i + m] = A[i] }", "B[m + b_0] = b[b_0]", (
        StageMem("i", "B", "b", clip=True),)),
    ("assume n >= 1 assume n <= 6 ! for i in 0 .. n { B[2 * i] = A[i] }", "b[b_0] = B[b_0]", (
        StageMem("i", "B", "b", clip=True),)),
    (f"assume n >= 1 ! {TRIPLE}", "if n % 4 == 0", (
        Specialise("i", "n % 4 == 0"), Split("i", 4, ("io", "ii"), "perfect"), Specialise("io", "n < 8"), Simplify())),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "shown", "steps"), WORKS)
def test_what_is_legal_means_the_same(nest: str, shown: str, steps: tuple[Step, ...]) -> None:
    assert shown in check(nest, *steps).show()


MEMORIES: list[Case] = [
    (BUFFER, "E0633", "`r` is in stack, not in zmm", (Replace("i", "avx512_load_f32"),)),
    (BUFFER, "E0633", "`r` is in stack, not in zmm", (Replace("o", "avx512_add_to_f32"),)),
    (BUFFER.replace("stack", "register"), "E0633", "`r` is in register, not in zmm", (
        Replace("i", "avx512_load_f32"),)),
    (NEON, "E0633", "`r` is in neon, not in v4", (Replace("i", "load_v4"),)),
    (NEON, "E0633", "`r` is in neon, not in memory", (Replace("i", "copy"),)),
    (NEON, "E0633", "`r` is in neon, not in memory", (Replace("o", "copies"),)),
    (FOUR, "E0633", "`B` is in dram, not in neon", (Replace("o", "neon_load_f32"),)),
    (FOUR, "E0633", "there is no memory `mmx`", (SetMemory("r: _", "mmx"),)),
    (FOUR, "E0633", "not the 16 lanes of zmm", (SetMemory("r: _", "zmm"),)),
    (BUFFER, "E0633", "not the 8 lanes of ymm", (SetMemory("r: _", "ymm"),)),
    (BUFFER, "E0633", "not the 4 lanes of v4", (SplitDim("r: _", 0, 2), SetMemory("r: _", "v4"))),
    (SUM, "E0633", "not the 16 lanes of zmm", (SetMemory("s: _", "zmm"),)),
    (BUFFER.replace("r: f32", "r: f64").replace("A[", "D[").replace("B[o] += r", "D[o] += r"), "E0633",
     "a register of v4 does not hold f64", (SetMemory("r: _", "v4"),)),
    ("alloc t: f16[16] stack t[0] = 1.0:f16 A[0] = f32(t[0])", "E0633", "does not hold f16", (
        SetMemory("t: _", "ymm"),)),
    ("alloc t: f16[32] stack t[0] = f16(A[0]) B[0] = f32(t[0])", "E0633", "zmm does not hold f16", (
        SetMemory("t: _", "zmm"),)),
    (FOUR.replace("[4]", "[n, 4]").replace("r[", "r[0, "), "E0606", "registers are not counted", (
        SetMemory("r: _", "neon"),)),
    (FOUR, "E0416", "`r` is read, but what is stored there goes nowhere", (SetMemory("r: _", "nowhere"),)),
    (FOUR, "E0416", "goes nowhere", (StageMem("o", "B", "b"), StageMem("i", "A", "a", "nowhere"))),
    ("alloc p: f32[] stack for i in 0 .. 16 { p[] = A[i] } B[0] = p[]", "E0633", "`p` is in stack", (
        Replace("i", "avx512_prefetch_f32"),)),
    ("alloc r: f32[4] @neon alloc p: f32[4] nowhere for i in 0 .. 4 { p[i] = r[i] }", "E0633", "`p` is in nowhere", (
        Replace("i", "neon_store_f32"),)),
    (THREE.replace("STATEMENT", "r[0, l] += r[1, l] * r[2, 0]"), "E0632", "`r[2, 0]` is not the same in every", (
        Replace("l", "neon_fmadd_scalar_f32"),)),
    (THREE.replace("STATEMENT", "B[l] = r[1, 0]"), "E0632", "`r[1, 0]` is in a vector register", (
        Replace("l", "fill"),)),
    (THREE.replace("STATEMENT", "r[min(l, 2), 0] = A[l]"), "E0632", "not in one register for all lanes", (
        Replace("l", "neon_load_f32"),)),
    (THREE.replace("STATEMENT", "B[l] = r[0, (l + 1) % 4]"), "E0632", "is not addressed in even steps", (
        Replace("l", "neon_store_f32"),)),
    (FOUR.replace("0 .. 4 { B[o] = r[o]", "0 .. 4 { B[o] = r[3 - o]"), "E0632", "`r` moves by -1", (
        SetMemory("r: _", "neon"), Replace("o", "neon_store_f32"))),
    (f"alloc s: f32[16] stack {ZMM} for u in 0 .. 16 {{ s[u] = A[u] }}", "E0606", "the same type, shape and memory", (
        ReuseBuffer("r: _", "s: _"),)),
    (LINES, "E0606", "registers are not counted", (
        Split("j", 4, ("jo", "ji")), StageMem("ji", "C", "c"), LiftAlloc("c: _", 2), SetMemory("c: _", "neon"))),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "code", "message", "steps"), MEMORIES)
def test_another_memory_is_refused(nest: str, code: str, message: str, steps: tuple[Step, ...]) -> None:
    refuse(nest, code, message, *steps)


def test_lanes_are_left_to_instructions() -> None:
    made = check(ZMM, Replace("i", "avx512_load_f32"), Replace("o", "avx512_add_to_f32"))
    assert "_mm512_storeu_ps(&B[0]" in emit_function(made.kernel, "f")
    with pytest.raises(PlanishError) as error:
        emit_function(made.apply(Inline("o")).kernel, "f")
    assert error.value.diagnostic.code == "E0711" and "touches lanes of `r`" in error.value.diagnostic.message


def test_a_lane_that_is_no_constant_is_no_immediate() -> None:
    nest = THREE.replace("for l", "for k in 0 .. 4 { for l").replace("STATEMENT", "r[0, l] += r[2, l] * r[1, k] }")
    made = check(nest, *LOADED, Replace("l", "neon_fmadd_lane_f32"))
    with pytest.raises(PlanishError) as error:
        emit_function(made.kernel, "f")
    assert error.value.diagnostic.code == "E0712" and "has to be a constant" in error.value.diagnostic.message
    assert "vfmaq_laneq_f32(r[0], r[2], r[1], 3)" in emit_function(made.apply(Unroll("k")).kernel, "f")


Rounding = tuple[str, Floats, str, str, tuple[Step, ...]]
ONCE = "rounds a product and a sum once"
ROUNDING: list[Rounding] = [
    (THREE.replace("STATEMENT", "r[0, l] += r[1, l] * r[2, l]"), "strict", "E0634", ONCE, (
        Replace("l", "neon_fmadd_f32"),)),
    (THREE.replace("STATEMENT", "r[0, l] += r[1, l] * r[2, 1]"), "strict", "E0634", ONCE, (
        Replace("l", "neon_fmadd_lane_f32"),)),
    (THREE.replace("STATEMENT", "r[0, l] += y * r[2, l]"), "strict", "E0634", ONCE, (
        Replace("l", "neon_fmadd_scalar_f32"),)),
    (EDGE.replace("STORE", "B[o] += y * r[o]"), "strict", "E0634", ONCE, (
        Replace("o", "avx512_masked_scaled_add_to_f32"),)),
    (UPDATE, "strict", "E0634", ONCE, (Replace("o", "neon_update_f32"),)),
    (FOUR.replace("f32[4]", "f64[4]").replace("A[", "D[").replace("B[", "D["), "contract", "E0632",
     "is of f64, not f32", (Replace("i", "copy"),)),
    (FOUR.replace("f32[4]", "f64[4]").replace("A[i]", "f64(A[i])").replace("= r[o]", "= f32(r[o])"), "contract",
     "E0632", "`f32(r[o])` is not the definition's `s[l]`", (Replace("o", "copy"),)),
    (WORD.replace("P[8 + k]", "Q[8 + k]"), "contract", "E0632", "is of i8, not u8", (
        Replace("l", "avx512_dpbusd_word"),)),
    (DOT.replace("LANE", "4 * l + k").replace("i32(p[4 * l + k]) *", "i32(p[4 * l + k]) +"), "contract", "E0632",
     "is not the definition's", (Replace("l", "neon_dot_i8"),)),
    (THREE.replace("STATEMENT", "r[0, l] = r[1, l] - r[2, l]"), "reassociate", "E0632", "is not the definition's", (
        Replace("l", "neon_add_f32"),)),
    (THREE.replace("STATEMENT", "r[0, l] = r[0, l] + r[1, l] + r[2, l]"), "reassociate", "E0632",
     "where the definition has `d[l] += a[l] * b[l]`", (Replace("l", "neon_fmadd_f32"),)),
    (STAGED.replace("r[i] = M[0, i]", "r[i] = select(i < n, A[i], -0.0:f32)").replace("i in 0 .. n", "i in 0 .. 16"),
     "reassociate", "E0632", "is not the definition's `0.0:f32`", (
         SetMemory("r: _", "zmm"), Replace("i", "avx512_masked_load_f32"))),
    (SUM, "contract", "E0615", "the sums in `s` would be rounded otherwise", (FactorOut("s: _", "x"),)),
    (SUM, "strict", "E0615", "the sums in `s` would be rounded otherwise", (FactorOut("s: _", "x"),)),
    (SUM, "contract", "E0615", "the sums in `s` would be rounded otherwise", (SetPrecision("s: _", "f64"),)),
    (SUM, "reassociate", "E0615", "f16 holds less than f32", (SetPrecision("s: _", "f16"),)),
    (SUM, "contract", "E0606", "made in another order", (StageMem("j", "s", "t", accumulate=True),)),
    (SUM, "contract", "E0613", "use the same cell of `s`", (Vectorise("j"),)),
    (SUM, "reassociate", "E0606", "`w` is no scalar of the type of `s`", (FactorOut("s: _", "w"),)),
    (FOLD, "reassociate", "E0606", "`w` is no scalar of the type of `t`", (FoldFactor("t: _", "w"),)),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "fp", "code", "message", "steps"), ROUNDING)
def test_another_rounding_is_refused(
    nest: str, fp: Floats, code: str, message: str, steps: tuple[Step, ...]
) -> None:
    refuse(nest, code, message, *steps, fp=fp)


@pytest.mark.parametrize("fp", ["strict", "contract"])
def test_what_rounds_the_same_is_allowed(fp: Floats) -> None:
    check(FOLD, FoldFactor("t: _", "x"), fp=fp)
    check(ZMM, Replace("i", "avx512_load_f32"), Replace("o", "avx512_add_to_f32"), fp=fp)
    check(DOT.replace("LANE", "4 * l + k"), Replace("l", "neon_dot_i8"), fp=fp)


OVERLAP = "may overlap, of which one is written"
ALIASES: list[Case] = [
    ("for i in 0 .. 4 { A[i] = A[i + 1] }", "E0632", f"`A[1]` and `A[0]` {OVERLAP}", (Replace("i", "copy"),)),
    ("for i in 0 .. 4 { A[i + 1] = A[i] }", "E0632", f"`A[0]` and `A[1]` {OVERLAP}", (Replace("i", "copy"),)),
    ("for i in 0 .. 4 { A[i + n] = A[i] }", "E0632", f"`A[0]` and `A[n]` {OVERLAP}", (Replace("i", "copy"),)),
    ("for i in 0 .. n { A[i] = A[2 * n - m + i] }", "E0632", OVERLAP, (Replace("i", "copies"),)),
    ("for i in 0 .. 4 { A[i] = 1.0:f32 A[i + 2] = 2.0:f32 }", "E0632", OVERLAP, (Replace("i", "both"),)),
    ("for i in 0 .. 4 { A[i] = 1.0:f32 A[i] = 2.0:f32 }", "E0632", OVERLAP, (Replace("i", "both"),)),
    ("for i in 1 .. n { for j in 0 .. 8 { C[i, j] = C[i - 1, j] } }", "E0632", OVERLAP, (Replace("i", "rows"),)),
    (TRIPLE.replace("C[", "M["), "E0632", OVERLAP, (
        Assume("m >= 8"), Assume("n >= 1"), Replace("i", "product"))),
    (THREE.replace("STATEMENT", "r[0, l] += r[1, l] * r[0, 3]"), "E0632", f"`r[0]` and `r[0]` {OVERLAP}", (
        Replace("l", "neon_fmadd_lane_f32"),)),
    (THREE.replace("for l", "for g in 0 .. 2 { for l").replace("STATEMENT", "r[g, l] += r[1, l] * r[2, l] }"), "E0632",
     OVERLAP, (Replace("l", "neon_fmadd_f32"),)),
    (EDGE.replace("STORE", "B[o] += B[20] * r[o]"), "E0632", "is not the same in every iteration", (
        Replace("o", "avx512_masked_scaled_add_to_f32"),)),
    (EDGE.replace("STORE", "B[o] += A[o] * r[o]"), "E0632", "is not the same in every iteration", (
        Replace("o", "avx512_masked_scaled_add_to_f32"),)),
    ("for i in 0 .. n { A[0] = B[i] for j in 0 .. 4 { B[j] = A[0] } }", "E0610", "would no longer run before", (
        Fission("A[_] = _"),)),
    ("assume n <= 8 ! alloc t: f32[8] stack for i in 0 .. 8 { t[i] = A[i] } for k in 0 .. n { t[k] = x } "
     "for o in 0 .. 8 { B[o] = t[o] }", "E0617", "would write what is read later", (Widen("k", 8),)),
    ("assume n <= 4 ! alloc t: f32[] stack for i in 0 .. n { t[] = A[i] } B[0] = t[]", "E0617",
     "would write what is read later", (Widen("i", 4),)),
    ("for i in 0 .. n { alloc t: f32[2] stack if i > 0 { B[i] = t[0] } t[0] = A[i] }", "E0606", "another one wrote", (
        LiftAlloc("t: _", 1, expand=False),)),
    ("alloc s: f32[4] stack alloc t: f32[4] stack for i in 0 .. 4 { s[i] = A[i] t[i] = B[i] } for o in 0 .. 4 { "
     "B[o] = s[o] * t[o] }", "E0616", "still holds something that is needed", (ReuseBuffer("t: _", "s: _"),)),
    (WINDOW, "E0616", "would lose what is still needed", (FoldDim("t: _", 0, 1),)),
    ("for i in 0 .. 4 { A[i] += A[i + 1] }", "E0606", "`A` is not only added to there", (
        StageMem("i", "A", "a", accumulate=True, clip=True),)),
    ("for i in 0 .. 4 { B[0] = A[i] }", "E0613", "use the same cell of `B`", (Parallelise("i"),)),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "code", "message", "steps"), ALIASES)
def test_cells_that_are_shared_are_refused(nest: str, code: str, message: str, steps: tuple[Step, ...]) -> None:
    refuse(nest, code, message, *steps)


OTHERS: list[Case] = [
    (FOUR, "E0631", "there is no instruction `sse_load`", (Replace("i", "sse_load"),)),
    (FOUR, "E0602", "the place is no loop", (Replace("r[_] = _", "copy"),)),
    (BUFFER, "E0632", "runs 16 times, and the definition's 4", (Replace("i", "copy"),)),
    (FOUR.replace("4 { r", "8 step 2 { r"), "E0632", "the loop over `i` has a step", (Replace("i", "copy"),)),
    (FOUR.replace("A[i]", "A[2 * i]"), "E0632", "`A` moves by 2 an iteration", (Replace("i", "copy"),)),
    (FOUR.replace("A[i]", "M[i, 0]"), "E0632", "`M` moves by m an iteration", (Replace("i", "copy"),)),
    (FOUR.replace("A[i]", "A[3 - i]"), "E0632", "`A` moves by -1 an iteration", (Replace("i", "copy"),)),
    (FOUR.replace("r[i] = A[i]", "r[i] = A[i] B[i] = x"), "E0632", "it has 2 statements", (Replace("i", "copy"),)),
    (TILED, "E0632", "it has a loop over j where the definition has", (Replace("i", "copies"),)),
    ("for i in 0 .. n { B[i] = A[i] }", "E0632", "`copies` wants `n >= 0`", (Replace("i", "copies"),)),
    ("for i in 0 .. n { B[i] = 0.0:f32 }", "E0632", "`clear` wants `n >= 1`", (Replace("i", "clear"),)),
    (f"assume n >= 1 ! {TRIPLE.replace('0 .. 8', '0 .. m')}", "E0632", "`product` wants", (Replace("i", "product"),)),
    ("for i in 0 .. n { B[i] = 0.0:f32 }", "E0632", "nothing says what `k` of", (Replace("i", "unused"),)),
    (EDGE.replace("16 assume", "17 assume").replace("STORE", "B[o] += r[o]"), "E0632", "wants `n <= 16`", (
        Replace("o", "avx512_masked_add_to_f32"),)),
    (EDGE.replace("n >= 1", "n >= 0 - 1").replace("STORE", "B[o] += r[o]"), "E0632", "wants `n >= 0`", (
        Replace("o", "avx512_masked_add_to_f32"),)),
    (FOUR, "E0602", "no instruction does the loop over `i`", (Inline("i"),)),
    (LINES, "E0631", "there is no instruction `prefetch`", (Prefetch("k", "C", "j", "pf", "prefetch"),)),
    (LINES, "E0606", "`A` is not used there", (Prefetch("k", "A", "j", "pf", "fetch"),)),
    (LINES, "E0606", "has no rows of a multiple of 16 elements", (
        Prefetch("k", "C", "j", "pf", "avx512_prefetch_f32"),)),
    (LINES, "E0604", "is in another block", (Prefetch("k", "C", "i", "pf", "fetch"),)),
    (LINES, "E0603", "the name `C` is taken", (Prefetch("k", "C", "j", "C", "fetch"),)),
    (TILED, "E0606", "has no constant extent", (Prefetch("j", "M", "j", "pf", "fetch"),)),
    (LINES, "E0604", "in no loop over `q`", (Prefetch("k", "C", "j", "pf", "fetch", 1, "q"),)),
    ("for i in 0 .. min(n, 8) { C[0, i] = x }", "E0606", "may reach outside of the array", (
        Prefetch("i", "C", "i", "pf", "fetch"),)),
    (FOLD, "E0606", "is no layout of the 1 dimensions", (SetLayout("t: _", ("0", "0 / 4")),)),
    (FOLD, "E0606", "is no layout of the 1 dimensions", (SetLayout("t: _", ("0 / 4", "0 % 2")),)),
    (FOLD, "E0606", "3 does not divide dimension 0", (SetLayout("t: _", ("0 / 3", "0 % 3")),)),
    (FOLD, "E0606", "is no part of a layout", (SetLayout("t: _", ("0 / 1",)),)),
    (LINES, "E0604", "there is no loop over which to spread", (Prefetch("k", "C", "j", "pf", "fetch", every=2),)),
    ("B[0] = A[1] for i in 0 .. 8 { A[i] = x }", "E0610", "would no longer run before", (Swap("i"),)),
    ("for i in 0 .. 8 { A[i] = x }", "E0604", "no statement is in front of it", (Swap("i"),)),
    ("alloc t: f32[] stack t[] = x B[0] = t[]", "E0604", "a buffer is made before it is used", (Swap("t[_] = _"),)),
    ("for i in 0 .. n { B[i] = x } for j in 0 .. n + 1 { A[j] = y }", "E0604", "none with the same bounds", (
        Fuse("i"),)),
    (STAGED, "E0604", "may run further than 8 already", (Widen("i", 8),)),
    (STAGED, "E0617", "would write more of `B`", (Widen("o", 16),)),
    (STAGED.replace("m >= 16", "m >= 1 assume m >= n"), "E0617", "would touch what is outside of `M`", (
        Widen("i", 16),)),
    (STAGED, "E0617", "would touch what is outside of `r`", (Widen("i", 17),)),
    (STAGED.replace("r[i] = M", "r[i] = x r[i] += M"), "E0604", "does not only store what it reads", (
        Widen("i", 16, zero=True),)),
    (STAGED.replace("M[0, i]", "A[i64(I[i])]"), "E0617", "would touch what is outside of `A`", (Widen("i", 16),)),
    ("B[0] = x B[1] = y", "E0604", "no loop comes after the statement", (Sink("B[_] = _"),)),
    ("for i in 0 .. n { B[i] = x }", "E0602", "no statement beside it", (Sink("B[_] = _"),)),
    ("alloc t: f32[] stack for j in 0 .. 4 { t[] = A[j] B[j] = t[] }", "E0604", "makes what is used there", (
        Sink("t: _"),)),
    ("for i in 0 .. n { B[i] = x for j in 0 .. m { B[i] += M[i, j] } }", "E0611", "does not run any more", (
        Sink("B[_] = _"),)),
    ("for i in 0 .. n { B[i] = x } for i in 0 .. 4 { A[i] = y }", "E0603", "has a loop over `i` itself", (Sink("i"),)),
    (FOLD, "E0602", "the place is no buffer", (FoldFactor("i", "x"),)),
    (FOLD, "E0606", "`n` is no scalar of the type", (FoldFactor("t: _", "n"),)),
    (FOLD, "E0606", "used without the factor `y`", (FoldFactor("t: _", "y"),)),
    (FOLD.replace("x * t[o]", "x + t[o]"), "E0606", "used without the factor `x`", (FoldFactor("t: _", "x"),)),
    (FOLD.replace("x * t[o]", "x * t[o] * t[o]"), "E0606", "used without the factor `x`", (FoldFactor("t: _", "x"),)),
    (FOLD.replace("t[i] = A[i]", "t[i] = A[i] t[i] += x"), "E0606", "is updated", (FoldFactor("t: _", "x"),)),
    (SUM, "E0606", "is a product with `y`", (FactorOut("s: _", "y"),)),
    (SUM.replace("= 0.0:f32", "= A[i]"), "E0606", "is a product with `x`", (FactorOut("s: _", "x"),)),
    (SUM.replace("+= x *", "max= x *"), "E0606", "is a product with `x`", (FactorOut("s: _", "x"),)),
    (SUM.replace("x * M[i, j]", "x + M[i, j]"), "E0606", "is a product with `x`", (FactorOut("s: _", "x"),)),
    (FOLD, "E0606", "none with number 1", (PadDim("t: _", 1, 4),)),
    (FOLD, "E0606", "not made longer by -1", (PadDim("t: _", 0, -1),)),
    (FOLD, "E0602", "the place is no buffer", (PadDim("i", 0, 1),)),
    ("for j in 0 .. min(m, 4) { B[j] += A[j] }", "E0606", "for some sizes nothing of `A` is used", (
        StageMem("j", "A", "a", clip=True),)),
    (TILED, "E0606", "no constant extent", (Assume("n >= 1"), StageMem("j", "M", "a", clip=True))),
    (TILED, "E0603", "the name `B` is taken", (Assume("n >= 1"), StageMem("j", "B", "B", clip=True))),
    ("for i in 0 .. 4 { alloc t: f32[2] stack t[0] = A[i] B[i] = t[0] }", "E0606", "`t` is made in there", (
        StageMem("i", "t", "a", clip=True),)),
    (TILED, "E0605", "`q` is no size and no loop around", (Specialise("j", "q > 1"),)),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "code", "message", "steps"), OTHERS)
def test_what_does_not_apply_is_refused(nest: str, code: str, message: str, steps: tuple[Step, ...]) -> None:
    refuse(nest, code, message, *steps)


def test_facts_go_with_the_loop_that_they_are_about() -> None:
    given = (Replace("i", "avx512_load_f32"), Replace("o", "avx512_add_to_f32"))
    assert check(ZMM, *given, Peel("i", 4)).show().count(" as ") == 1
    assert check(ZMM, *given, Simplify(), Specialise("i", "n > 3")).show().count(" as ") == 3
    assert check(ZMM, *given, SetMemory("r: _", "stack")).show().count(" as ") == 0
