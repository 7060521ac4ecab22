"""Which loops are written past the caches, and which are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planish.emit.c.kernel_text import emit_function
from planish.ir.nest import Alloc, Block, For, If, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import walk
from planish.library.loops.nontemporal.init_peeling import from_first
from planish.library.loops.nontemporal.prefetch import fetch_rows
from planish.library.loops.nontemporal.row_stores import find_row
from planish.library.loops.nontemporal.staging import keep_apart
from planish.library.loops.nontemporal.streaming_stores import stream_versions
from planish.schedule.auto.plan import Version, plan, prepare
from planish.target.load import load_target

ARRAYS = "A: f32[n, n] distinct, B: f32[n, n] distinct, c: f32[n] distinct, d: f64[n] distinct, e: u8[n] distinct"


def versions_of(body: str, target: str = "x86-avx512") -> tuple[Version, ...]:
    kernel = parse_kernel(f"kernel k(n; s: f32; {ARRAYS}, h: f16[n] distinct) {{ {body} }}")
    prepared, machine = prepare(kernel), load_target(target)
    return stream_versions(prepared, machine, plan(prepared, machine, reassociate=True))


def always(kernel: Kernel) -> Kernel:
    """The kernel without the question how large the array is."""
    body = [y for x in kernel.body.body for y in (x.then.body if isinstance(x, If) else (x,))]
    return replace(kernel, body=Block(tuple(body)))


def marks(kernel: Kernel) -> list[str]:
    return [x.facts.stream for x in walk(kernel.body) if isinstance(x, For) and x.facts.stream]


@pytest.mark.parametrize(
    "body",
    [
        "for i in 0 .. n { c[i] = s }",
        "for i in 0 .. n { d[i] = f64(A[0, i]) }",
        "for i in 0 .. n { e[i] = u8(i) }",
        "for i in 0 .. n { for j in 0 .. n { B[i, j] = A[i, j] * s } }",
        "for i in 0 .. n { for j in 0 .. i { B[i, j] = A[i, j] * s } }",
        "for i in 1 .. n - 1 { for j in 1 .. n - 1 { B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] } }",
        "for i in 0 .. n // 2 { c[2 * i] = A[0, i] c[2 * i + 1] = A[1, i] }",
        "for i in 0 .. n // 2 { c[2 * i + 1] = A[0, i] c[2 * i] = A[1, i] }",
    ],
)
def test_what_is_only_written_is_streamed(body: str) -> None:
    made = versions_of(body)
    assert made and all(x.name.endswith(", nontemporal") for x in made)
    for version in made:
        (switch,) = (x for x in version.kernel.body.body if isinstance(x, If))
        assert marks(version.kernel)
        assert not any(x.facts.stream for x in walk(switch.otherwise) if isinstance(x, For))
        assert parse_kernel(print_kernel(version.kernel)) == version.kernel


@pytest.mark.parametrize(
    "body",
    [
        "for i in 0 .. n { c[i] += s }",  # what is there is read
        "for i in 0 .. n { c[i] = s } for i in 0 .. n { B[i, i] = c[i] }",  # it is read again
        "for i in 1 .. n { c[i] = c[i - 1] * s }",  # each waits for the one before it
        "for i in 0 .. n // 2 { c[2 * i] = s }",  # lines are not filled
        "for i in 0 .. n // 3 { c[3 * i] = s c[3 * i + 1] = s c[3 * i + 2] = s }",  # iterations and lines do not match
        "for i in 0 .. n { for j in 0 .. n { c[j] = A[i, j] } }",  # each is written many times
        "for i in 0 .. n { B[i, 0] = s }",  # a column
        "for i in 0 .. n { h[i] = 1.0:f16 }",  # no instruction for the type
        "for i in 0 .. n { for j in 0 .. n { A[0, 0] += B[i, j] } c[i] = s }",  # most of the time goes elsewhere
        "for i in 0 .. n { for j in 0 .. n { B[0, 0] += A[i, j] } }",
    ],
)
def test_other_loops_are_not(body: str) -> None:
    assert not versions_of(body)


@pytest.mark.parametrize("target", ["aarch64-neon", "generic"])
def test_targets_without_such_stores_have_no_version(target: str) -> None:
    assert not versions_of("for i in 0 .. n { c[i] = s }", target)


def test_a_row_needs_assignments_alone() -> None:
    def row(body: str) -> object:
        loop = parse_kernel(f"kernel k(n; s: f32; {ARRAYS}) {{ for i in 0 .. n {{ {body} }} }}").body.body[0]
        assert isinstance(loop, For)
        return find_row(loop)

    assert row("c[i] = s") is not None
    assert row("let x = A[0, i] c[i] = x") is not None
    assert row("c[i] = s d[i] = 1.0") is None
    assert row("if i < 3 { c[i] = s }") is None
    assert row("let j = i c[j] = s") is None
    assert row("c[n - i] = s") is None
    assert row("c[0] = s") is None


SOFTMAX = """
kernel softmax(m, n; x: f32[m, n] distinct, y: f32[m, n] distinct) {
  for i in 0 .. m {
    alloc most: f32[] register
    alloc sum: f32[] register
    most[] = x[i, 0]
    for j in 1 .. n { most[] max= x[i, j] }
    sum[] = 0.0:f32
    for j in 0 .. n { y[i, j] = exp(x[i, j] - most[]) sum[] += y[i, j] }
    for j in 0 .. n { y[i, j] = y[i, j] / sum[] }
  }
}
"""


def test_rows_are_kept_until_they_are_final() -> None:
    kernel = parse_kernel(SOFTMAX)
    prepared, machine = prepare(kernel), load_target("x86-avx512")
    made = stream_versions(prepared, machine, plan(prepared, machine, reassociate=True), reassociate=True)
    assert [x.name for x in made] == ["original, staged, nontemporal", "original, staged, pipelined, nontemporal"]
    (first,) = (x.array for x in made[0].kernel.body.body if isinstance(x, Alloc) and x.array.shape)
    assert (first.name, len(first.shape)) == ("y_first", 1)
    assert "as avx512_prefetch_f32" in print_kernel(made[0].kernel)
    rng = np.random.default_rng(1)
    for m, n in ((1, 1), (3, 7), (5, 40), (2, 300)):
        x = rng.uniform(-1, 1, (m, n)).astype(np.float32)
        results = []
        for version in (kernel, always(made[0].kernel)):
            y = np.zeros_like(x)
            run_kernel(version, {"m": m, "n": n, "x": x, "y": y})
            results.append(y)
        assert np.allclose(*results, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("for i in 0 .. n { c[i] = s } for i in 0 .. n { c[i] = c[i] * s }", True),
        ("for i in 0 .. n { c[i] = s } for i in 0 .. n { c[i] *= s }", False),  # an update is no assignment
        ("for i in 0 .. n { c[i] = c[i] * s } for i in 0 .. n { c[i] = c[i] + s }", False),  # it reads what was there
        ("for i in 0 .. n { c[i] = s } for i in 1 .. n { c[i] = c[i] * s }", False),  # one stays as it is
        ("for i in 0 .. n { c[i] = s } for i in 1 .. n { c[i] = c[i - 1] * s }", False),  # what is final is read
        ("for i in 0 .. n { c[i] = s d[i] = f64(c[i]) } for i in 0 .. n { c[i] = 2.0:f32 }", True),
        ("for i in 0 .. n { c[0] = s d[i] = f64(c[0]) c[0] = 1.0:f32 }", False),  # the first is stored again after it
    ],
)
def test_what_is_replaced(body: str, kept: bool) -> None:
    kernel = parse_kernel(f"kernel k(n; s: f32; {ARRAYS}) {{ {body} }}")
    made = keep_apart(prepare(kernel))
    assert (made is not None and any(x.name == "c_first" for x in made.scop.locals)) == kept
    if made is not None:
        results = []
        for version in (kernel, made.kernel):
            values = {"c": np.arange(5, dtype=np.float32), "d": np.arange(5.0), "e": np.zeros(5, np.uint8)}
            values |= {x: np.ones((5, 5), np.float32) for x in "AB"}
            run_kernel(version, {"n": 5, "s": 3.0, **values})
            results.append({x: y.tobytes() for x, y in values.items()})
        assert results[0] == results[1]


@pytest.mark.parametrize(
    ("body", "extended"),
    [
        ("s[] = x[0] for i in 1 .. n { s[] max= x[i] }", True),
        ("s[] = x[2] t[] = x[1] for i in 3 .. n { s[] min= x[i] }", True),
        ("s[] = x[0] for i in 2 .. n { s[] max= x[i] }", False),
        ("s[] = x[0] for i in 1 .. n { s[] += x[i] }", False),
        ("s[] = 0.0 for i in 1 .. n { s[] max= x[i] }", False),
        ("s[] = x[0] s[] = t[] for i in 1 .. n { s[] max= x[i] }", False),
        ("s[] = x[0] x[0] = 1.0 for i in 1 .. n { s[] max= x[i] }", False),
        ("s[] = x[0] for i in 0 .. 2 { s[] += 1.0 } for i in 1 .. n { s[] max= x[i] }", False),
        ("s[] = x[0] for i in 1 .. n { s[] max= x[i] * x[i] }", False),
    ],
)
def test_extrema_begin_with_the_first_value(body: str, extended: bool) -> None:
    kernel = parse_kernel(f"kernel k(n; x: f64[n], s: f64[], t: f64[]) {{ {body} }}")
    assert (from_first(kernel) != kernel) == extended


def test_only_rows_that_are_read_twice_are_fetched() -> None:
    def fetched(loops: str) -> bool:
        text = f"kernel k(n; s: f32; {ARRAYS}) {{ for i in 0 .. n {{ {loops} }} }}"
        body = parse_kernel(text).body
        return fetch_rows(body, {"A": "avx512_prefetch_f32"}, {"i", "j"}) != body

    once, again = "for j in 0 .. n simd { c[j] = A[i, j] }", "for j in 0 .. n simd { B[i, j] = A[i, j] }"
    assert fetched(f"{once} {again}")
    assert not fetched(once)
    assert not fetched(f"{once} for j in 0 .. n {{ B[i, j] = A[i, j] }}")
    assert not fetched(f"{once} for j in 0 .. i simd {{ B[i, j] = A[i, j] }}")
    assert not fetched(f"{once} for j in 0 .. n simd {{ B[i, j] = A[j, i] }}")
    assert not fetched("for j in 0 .. n simd { c[j] = A[0, j] } for j in 0 .. n simd { B[i, j] = A[0, j] }")


def test_what_is_known_to_be_small_has_no_version() -> None:
    machine = load_target("x86-avx512")

    def made(arrays: str, **sizes: int) -> bool:
        prepared = prepare(parse_kernel(f"kernel k(n; {arrays}) {{ for i in 0 .. n {{ B[i] = A[i] * 2.0 }} }}"))
        return bool(stream_versions(prepared, machine, plan(prepared, machine, reassociate=True), sizes=sizes))

    assert made("A: f64[n], B: f64[n]")
    assert made("A: f64[n], B: f64[n]", n=1 << 20)
    assert not made("A: f64[n], B: f64[n]", n=1000)
    assert made("A: f64[?], B: f64[?]")
    assert not made("A: f64[?], B: f64[?]", n=1000)


def test_only_calls_that_store_past_the_caches_wait_for_it() -> None:
    made = versions_of("for i in 0 .. n { c[i] = s }")[0].kernel
    text = emit_function(made, "f")
    assert text.count("_mm_sfence();") == 1 and text.index("_mm_sfence();") < text.index("} else {")
    assert emit_function(always(made), "f").rstrip().endswith("_mm_sfence();\n}")
