"""Local scalars that become bindings, and those that must not.

>>> bound("kernel k(n; A: f64[n], B: f64[n]) { for i in 0 .. n { alloc t: f64[] t[] = A[i] B[i] = t[] } }")
1
"""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.nest import Alloc, Let
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import walk
from planish.poly.canonical.temporaries import bind_temporaries
from planish.schedule.auto.plan import plan, prepare
from planish.target.load import load_target


def bound(text: str) -> int:
    """How many bindings the kernel has once its temporaries are bound."""
    return sum(isinstance(s, Let) for s in walk(bind_temporaries(parse_kernel(text)).body))


HEAD = "kernel k(n; A: f64[n], B: f64[n])"

CASES = {
    "read after the write": ("alloc t: f64[] t[] = A[i] B[i] = t[] * t[]", 1),
    "a chain": ("alloc t: f64[] alloc u: f64[] t[] = A[i] u[] = t[] + 1.0:f64 t[] = u[] * t[] B[i] = t[]", 3),
    "an update in place": ("alloc t: f64[] t[] = A[i] t[] += 2.0:f64 B[i] = t[]", 2),
    "read before the write": ("alloc t: f64[] B[i] = t[] t[] = A[i]", 0),
    "its source is stored between": ("alloc t: f64[] t[] = A[i] A[i] = 0.0:f64 B[i] = t[]", 0),
    "its source is stored in a loop between": (
        "alloc t: f64[] t[] = A[i] for j in 0 .. n { A[j] = 0.0:f64 } B[i] = t[]", 0,
    ),
    "used in a loop": ("alloc t: f64[] t[] = 0.0:f64 for j in 0 .. n { t[] += A[j] } B[i] = t[]", 0),
    "loaded from a local array": ("alloc u: f64[4] stack u[0] = A[i] alloc t: f64[] t[] = u[0] B[i] = t[]", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_bound(name: str) -> None:
    body, count = CASES[name]
    assert bound(f"{HEAD} {{ for i in 0 .. n {{ {body} }} }}") == count


@pytest.mark.each_value
@pytest.mark.parametrize("name", [n for n in CASES if n != "read before the write"])
@pytest.mark.parametrize("n", [0, 1, 5, 33])
def test_the_versions_compute_the_same(name: str, n: int) -> None:
    kernel = parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ {CASES[name][0]} }} }}")
    start = {"A": np.arange(1.0, n + 1.0), "B": np.zeros(n)}
    want = {k: v.copy() for k, v in start.items()}
    run_kernel(kernel, {"n": n, **want})
    for candidate in plan(prepare(kernel), load_target("x86-avx512"), reassociate=False):
        got = {k: v.copy() for k, v in start.items()}
        run_kernel(candidate.kernel, {"n": n, **got})
        assert all(np.array_equal(got[k], want[k]) for k in start), candidate.name


def test_no_alloc_is_left_for_what_was_bound() -> None:
    kernel = bind_temporaries(parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ {CASES['a chain'][0]} }} }}"))
    assert not any(isinstance(s, Alloc) for s in walk(kernel.body))
