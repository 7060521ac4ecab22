"""Programs made to go wrong: each step is refused, or what it makes computes the same, and instructions may do it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from planish.astgen.checking.verify import evaluate
from planish.core.diagnostic import PlanishError
from planish.emit.c.kernel_text import emit_function
from planish.ir.nest import For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.isa.instruction import Catalogue, Instruction, make_instruction
from planish.library.kernels.as_instruction import make_callable
from planish.poly.match.matcher import match_nest
from planish.schedule.accesses import arrays_of
from planish.schedule.context import always
from planish.schedule.nodes import nodes
from planish.schedule.program import Program, Step
from planish.schedule.steps.buffers import LiftAlloc, StageMem
from planish.schedule.steps.control import Sink, Specialise
from planish.schedule.steps.instructions import Inline, Replace
from planish.schedule.steps.kernels import Assume, PartialEval
from planish.schedule.steps.loops import Peel, Reverse, Split, Unroll
from planish.schedule.steps.padding import Widen
from planish.schedule.steps.prefetch import Prefetch
from planish.schedule.steps.values import FoldFactor

HEAD = "kernel f(n, m; x: f32; A: f32[n], B: f32[64], I: i32[64], J: i32[64], L: i64[64])"
SIZES = ({"n": 3, "m": 0}, {"n": 0, "m": 0}, {"n": 4, "m": 4}, {"n": 5, "m": 2}, {"n": 1, "m": 7})


def own(name: str, definition: str) -> Instruction:
    """An instruction of these tests."""
    return make_instruction(name, parse_kernel(f"kernel {name}{definition}"), "")


OWN = Catalogue(
    {
        x.name: x
        for x in (
            own("some", "(n; d: f32[8]) assume n >= 0 assume n <= 8 { for l in 0 .. n { d[l] = 0.0:f32 } }"),
            own("many", "(n; d: f32[n]) assume n >= 4 { for l in 0 .. n { d[l] = 0.0:f32 } }"),
            own("scaled", "(n; x: f32; d: f32[8]) assume n >= 0 assume n <= 8 { for l in 0 .. n { d[l] = x } }"),
            own("fetch", "(d: f32[] nowhere, s: f32[8]) { for l in 0 .. 8 { d[] = s[l] } }"),
        )
    }
)


def program(nest: str) -> Program:
    """A nest over the arrays of these tests; what stands before a `!` is assumed."""
    assumed, _, body = nest.rpartition("!")
    return Program.of(parse_kernel(f"{HEAD} {assumed} {{ {body} }}"), "reassociate", OWN)


def run(kernel: Kernel, sizes: dict[str, int]) -> str:
    """The arrays after a run, or that it is undefined; "" where the sizes are not for it."""
    rng = np.random.default_rng(3)
    values: dict[str, Any] = {**sizes, "x": 2.0}
    for array in kernel.arrays:
        extents = [evaluate(x, sizes) for x in array.shape if x is not None]
        values[array.name] = np.asarray(rng.integers(1, 4, extents)).astype(array.type.numpy)
        # Zeros after the first elements, as there are in what was never filled.
        values[array.name][5:] = 0
    try:
        run_kernel(kernel, values)
    except (IndexError, ArithmeticError, ValueError) as error:
        return "" if "assumption" in str(error) else f"undefined: {error}"
    return str({array.name: values[array.name].tolist() for array in kernel.arrays})


def check(nest: str, *steps: Step) -> None:
    """A step is refused, or the program computes the same."""
    before = program(nest)
    try:
        after = before.apply(*steps)
    except PlanishError:
        return
    for sizes in SIZES:
        expected = run(before.kernel, sizes)
        if expected and not expected.startswith("undefined"):
            assert run(after.kernel, sizes) == expected, after.show()
    for loop in (x for x in nodes(after.kernel.body) if isinstance(x, For) and x.facts.instruction):
        definition = after.catalogue.instruction(loop.facts.instruction).definition
        found = match_nest(definition, loop, arrays_of(after.kernel), after.catalogue.bits)
        path = after.path(loop.label)
        assert all(always(after.kernel, path, x) for x in found.conditions), after.show()


BUFFERED = "alloc t: SHAPE stack for i in 0 .. n { t[i] = VALUE } for o in 0 .. n { ARRAY[o] = t[o] }"


def buffered(value: str, array: str = "J", shape: str = "i32[8]") -> str:
    """Values stored in a buffer by a loop over i, and copied to an array."""
    text = BUFFERED.replace("VALUE", value).replace("ARRAY", array).replace("SHAPE", shape)
    return f"assume n <= 8 assume n >= 0 ! {text}"


CHOICE = "assume n <= 8 assume n >= 0 ! for i in 0 .. 8 { B[i] = select(i < n, A[i], 0.0:f32) }"
LIFTED = "for k in 0 .. n { alloc t: f32[n - 1] stack for i in 0 .. n - 1 { t[i] = A[i] B[i] += t[i] } }"
BRANCHES = "if n >= 8 { for i in 0 .. 8 { B[i] = A[i] } } else { for k in 0 .. n { B[k] = x } }"
ROWS = "assume n >= 4 ! for i in 0 .. n { if i < 3 { for j in 0 .. 8 { J[j] += i32(B[8 * i + j]) } } }"
LAST = "assume n >= 4 ! for i in 5 .. n + 5 { if i < 8 { for j in 0 .. 8 { J[j] += i32(B[8 * i + j]) } } }"
BLOCKS = """assume n >= 1 assume n <= 8 ! alloc t: f32[24] stack
for o in 0 .. (n + 7) // 8 { for i in 0 .. min(8, n - 8 * o) { t[8 * o + i] = 0.0:f32 } }
for j in 0 .. n { B[j] = t[j] }"""

ATTACKS = [
    pytest.param(
        "alloc t: f32[] stack t[] = B[0] B[1] = x * (x * t[]) B[2] = t[]", (FoldFactor("t: _", "x"),)),
    pytest.param(
        "alloc t: f32[] stack t[] = B[0] t[] += B[1] B[2] = x * (x * t[])", (FoldFactor("t: _", "x"),)),
    pytest.param(
        "alloc t: f32[] stack t[] = B[0] B[2] = x * t[] + t[]", (FoldFactor("t: _", "x"),)),
    pytest.param(buffered("quo(7:i32, I[i])"), (Widen("i", 8),),),
    pytest.param(buffered("7:i32 << (I[i] - 1:i32)"), (Widen("i", 8),),),
    pytest.param(buffered("i32(1.0:f32 / B[i])"), (Widen("i", 8),),),
    pytest.param(buffered("quo(7:i32, I[i])"), (Widen("i", 8, zero=True),)),
    pytest.param(
        "assume n <= 8 assume n >= 0 ! alloc t: f32[8] stack for i in 0 .. n { let y = A[i] t[i] = x } "
        "for o in 0 .. n { B[o] = t[o] }", (Widen("i", 8),)),
    pytest.param(buffered("A[i]", "B", "f32[8]"), (Widen("i", 8),)),
    pytest.param(buffered("A[i]", "B", "f32[8]"), (Widen("i", 8, zero=True),)),
    pytest.param(
        "for i in L[0] .. L[0] + 2 { L[0] = 5 B[i] = x }", (Unroll("i"),)),
    pytest.param(LIFTED, (LiftAlloc("t: _"),),),
    pytest.param(LIFTED, (LiftAlloc("t: _", expand=False),),),
    pytest.param("for i in 0 .. 4 { B[i] = x }", (Specialise("i", "n % m == 0"),),),
    pytest.param("for i in 0 .. 4 { B[i] = x }", (Specialise("i", "n // 0 == 1"),),),
    pytest.param(
        "for i in 0 .. 4 { for j in 0 .. 4 { B[j] = x } }", (Specialise("j", "n // i == 0"),)),
    pytest.param(CHOICE, (StageMem("i", "A", "a"),),),
    pytest.param(CHOICE, (StageMem("i", "A", "a", clip=True),),),
    pytest.param(CHOICE, (Prefetch("i", "A", "i", "p", "fetch"),),),
    pytest.param(BRANCHES, (Prefetch("i", "A", "k", "p", "fetch"),),),
    pytest.param(ROWS, (Prefetch("j", "B", "j", "p", "fetch", 1, "i"),)),
    pytest.param(LAST, (Prefetch("j", "B", "j", "p", "fetch", 1, "i"),)),
    pytest.param(
        "for i in 0 .. 8 { B[i] = 0.0:f32 }", (Replace("i", "many"), Peel("i", 1))),
    pytest.param(buffered("0.0:f32", "B", "f32[16]"), (Replace("i", "some"), Widen("i", 16))),
    pytest.param(BLOCKS, (Replace("i", "some"), Widen("o", 3))),
    pytest.param("for i in 0 .. 8 { B[i] = 0.0:f32 }", (Replace("i", "many"), Split("i", 4, ("io", "ii")))),
    pytest.param("assume n >= 1 ! for i in 0 .. 1 { B[i] = x } for i in 0 .. 1 { I[i] = 1:i32 }", (Sink("i"),)),
    pytest.param("for i in 0 .. 4 { let y = B[i] I[i] = 1:i32 }", (StageMem("i", "B", "b"),)),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "steps"), ATTACKS)
def test_a_step_is_refused_or_changes_nothing(nest: str, steps: tuple[Step, ...]) -> None:
    check(nest, *steps)


CLEAR = parse_kernel("kernel clear(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }")
DOT = parse_kernel("kernel dot(n; s: f32[], P: f32[n], Q: f32[n]) { for i in 0 .. n { s[] += P[i] * Q[i] } }")


@pytest.mark.parametrize("step", [Assume("n % 4 == 0"), PartialEval("n", 8)])
def test_a_kernel_that_assumes_more_is_not_called(step: Step) -> None:
    with pytest.raises(PlanishError):
        made = make_callable(CLEAR, Program.of(CLEAR).apply(step))
        catalogue = Catalogue({made.name: made})
        Program.of(parse_kernel(f"{HEAD} {{ for j in 0 .. n {{ A[j] = 0.0:f32 }} }}"), catalogue=catalogue).apply(
            Replace("j", "clear")
        )


def test_a_kernel_that_sums_in_another_order_is_not_called_where_that_counts() -> None:
    made = make_callable(DOT, Program.of(DOT).apply(Reverse("i")))
    text = f"{HEAD} {{ alloc s: f32[] stack s[] = x for j in 0 .. n {{ s[] += A[j] * B[j] }} B[0] = s[] }}"
    with pytest.raises(PlanishError):
        Program.of(parse_kernel(text), "strict", Catalogue({made.name: made})).apply(Replace("j", "dot"))


def test_a_scalar_is_not_read_where_the_loop_does_not_run() -> None:
    nest = "assume n >= 0 assume n <= 8 ! for i in 0 .. n { B[i] = A[n - 1] }"
    with pytest.raises(PlanishError):
        program(nest).apply(Replace("i", "scaled"))


FETCHED = "for i in 0 .. 8 { B[i] = B[i] + x }"


@pytest.mark.parametrize(
    "steps",
    [
        (Prefetch("i", "B", "i", "pf", "fetch"), Inline("pf_0")),
        (Prefetch("i", "B", "i", "pf", "fetch"), Unroll("pf_0")),
        (Prefetch("i", "B", "i", "pf", "fetch"), Split("pf_0", 4, ("po", "pi"))),
        (Prefetch("i", "B", "i", "pf", "avx512_load_f64"),),
    ],
)
def test_what_goes_nowhere_is_not_stored(steps: tuple[Step, ...]) -> None:
    try:
        made = program(FETCHED).apply(*steps)
        text = emit_function(made.kernel, "f", catalogue=made.catalogue)
    except PlanishError:
        return
    assert not re.search(r"\bpf\b", text)


@pytest.mark.parametrize("memory", ["dram", "scratch"])
def test_a_large_buffer_in_a_loop_is_refused(memory: str) -> None:
    with pytest.raises(PlanishError):
        made = program("for k in 0 .. m { for i in 0 .. n { A[i] += x } }").apply(StageMem("i", "A", "b", memory))
        emit_function(made.kernel, "f")


NEGATE = parse_kernel("kernel negate(n; P: f32[n], Q: f32[n]) { for i in 0 .. n { P[i] = -Q[i] } }")


def test_a_kernel_called_with_one_array_twice_is_refused() -> None:
    made = make_callable(NEGATE, Program.of(NEGATE))
    catalogue = Catalogue({made.name: made})
    apart = Program.of(parse_kernel(f"{HEAD} {{ for j in 0 .. 8 {{ B[j] = -A[j] }} }}"), catalogue=catalogue)
    assert "as negate" in apart.apply(Replace("j", "negate")).show()
    same = Program.of(parse_kernel(f"{HEAD} {{ for j in 0 .. 8 {{ B[j] = -B[j] }} }}"), catalogue=catalogue)
    with pytest.raises(PlanishError, match="E0632.*operands of a call"):
        same.apply(Replace("j", "negate"))
