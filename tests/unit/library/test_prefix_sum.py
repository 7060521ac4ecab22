"""Sums that grow along a row, made in lanes: which loops are some, and what is run in their place."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from planish.ir.checker import check_kernel
from planish.ir.nest import Block, For, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import arrays_in, used_names, walk
from planish.library.loops.scan.parallel_prefix_sum import PrefixSumShares, may_share
from planish.library.loops.scan.prefix_sum import find_sum
from planish.library.loops.scan.prefix_sum_lanes import Sums
from planish.library.loops.scan.strip_statements import STRIP, ValueRegisters
from planish.library.loops.scan.vector_scan import find_scans, own_arrays, scan_versions
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target

TARGETS = [load_target(x) for x in ("aarch64-neon", "x86-avx2", "x86-avx512")]
SUMS = {
    "all before": "x[j] = x[j - 1] + y[j]",
    "in place": "x[j] += x[j - 1]",
    "half is lost": "x[j] = x[j - 1] * T(0.5) + y[j] * y[j - 1]",
    "a parameter": "x[j] = y[j] + a * x[j - 1]",
    "it changes its sign": "x[j] = y[j + 1] - x[j - 1]",
    "both are divided": "x[j] = (x[j - 1] + y[j]) / T(3.0)",
    "what is there comes in": "x[j] = x[j - 1] - a * x[j - 1] + a * x[j]",
}
NEAR_MISSES = {
    "a factor that moves": "x[j] = x[j - 1] * y[j]",
    "two before": "x[j] = x[j - 2] + y[j]",
    "two of them": "x[j] = x[j - 1] + x[j - 2] + y[j]",
    "no sum": "x[j] = max(x[j - 1], y[j])",
    "a square": "x[j] = x[j - 1] * x[j - 1] + y[j]",
    "one cell": "x[0] = x[0] + y[j]",
    "integers with a factor": "i[j] = 3:i32 * i[j - 1] + 3:i32",
    "a cell that is read elsewhere": "s[] += y[j] x[j] = s[] + x[j - 1]",
    "a cell of which nothing is stored": "s[] += y[j] x[j] = y[j]",
    "what was stored comes in": "x[j] = s[] s[] += x[j]",
    "what was stored before comes in": "s[] += x[j - 1] x[j] = s[]",
    "one place": "s[] += y[j] x[3] = s[]",
}
TEMPORARIES = {
    "exclusive": "t[j] = x[j] x[j] = s[] s[] += t[j]",
    "the next one is kept": "t[j] = s[] + x[j] x[j] = s[] s[] = t[j]",
    "something is made of it": "t[j] = x[j] * y[j] x[j] = s[] * T(2.0) s[] = s[] * T(0.5) + t[j]",
    "of those ahead": "t[j] = x[j + 1] x[j] = s[] + y[j] s[] += t[j]",
    "a cell that two updates change": "s[] += y[j] s[] += T(2.0) * x[j] x[j] = s[]",
}
NO_TEMPORARIES = {
    "it is read before it is set": "s[] += t[j - 1] t[j] = x[j] x[j] = s[]",
    "it has what was stored": "t[j] = x[j - 1] x[j] = s[] s[] += t[j]",
    "it is changed": "t[j] = x[j] t[j] += y[j] x[j + 1] = s[] s[] += t[j]",
}
CELLS = {
    "with its own": "s[] += y[j] x[j] = s[]",
    "without its own": "x[j] = s[] s[] += y[j]",
    "in place": "s[] += x[j] x[j] = s[]",
    "half is lost": "s[] = s[] * T(0.5) + y[j] x[j] = s[]",
    "something is made of it": "s[] += y[j] * y[j] x[j] = s[] * a + x[j] * s[]",
    "what was lost": "x[j] = x[j] - s[] s[] = y[j] + a * s[]",
    "ahead": "s[] += x[j + 1] x[j] = s[]",
}
INTEGERS = {
    "along a row": "i[j] = i[j - 1] + k[j]",
    "in place": "i[j] += i[j - 1]",
    "less and more": "i[j] = k[j] - 7:i32 + i[j - 1]",
    "with its own": "c[] += k[j] i[j] = c[]",
    "without its own": "i[j] = c[] c[] += k[j]",
    "bytes": "c[] += i32(b[j]) i[j] = c[] * 3:i32",
    "what is read is stored over": "v[j] = i[j] i[j] = c[] c[] += v[j]",
    "two updates": "c[] += k[j] c[] += -i[j] i[j] = c[]",
    "without signs": "w[j] = u[j] u[j] = d[] * 3:u32 d[] += w[j]",
    "along a row, without signs": "u[j] = u[j - 1] + u32(k[j])",
}


def kernel_of(body: str, type: str = "f32") -> Kernel:
    arrays = f"x: {type}[n + 2], y: {type}[n + 2], i: i32[n + 2], k: i32[n + 2], b: u8[n + 2], s: {type}[], c: i32[]"
    head = f"kernel k(n; a: {type}; {arrays}, u: u32[n + 2], d: u32[])"
    body = re.sub(r"T\((.*?)\)", rf"\1:{type}", body)
    own = [f"alloc {x}: {y}[n + 2]" for x, y in (("t", type), ("v", "i32"), ("w", "u32")) if f"{x}[" in body]
    return parse_kernel(f"{head} assume n >= 0 {{ {' '.join(own)} for j in 1 .. n {{ {body} }} }}")


def run(kernel: Kernel, n: int, *special: float) -> np.ndarray:
    """What is in x, the integers and the cells after it, where some values of y, if there are so many, are special."""
    random = np.random.default_rng(n)
    kind = kernel.array("x").type.numpy
    x, y = (random.uniform(-1, 1, n + 2).astype(kind) for _ in "xy")
    for place, value in enumerate(special):
        y[min(7 + 20 * place, n)] = value
    i, k = (random.integers(-(2**31), 2**31, n + 2).astype(np.int32) for _ in "ik")
    b, s, c = random.integers(0, 256, n + 2).astype(np.uint8), np.array(0.5, kind), np.array(-9, np.int32)
    u, d = random.integers(0, 2**32, n + 2).astype(np.uint32), np.array(7, np.uint32)
    with np.errstate(all="ignore"):
        run_kernel(kernel, {"n": n, "a": 0.75, "x": x, "y": y, "i": i, "k": k, "b": b, "s": s, "c": c, "u": u, "d": d})
    for name, row, cell in (("u", u, d), ("i", i, c)):
        if name in arrays_in(kernel.body):
            return np.append(row, cell)
    return np.concatenate([x, s[None]])


@pytest.mark.each_value
@pytest.mark.parametrize("body", [*SUMS.values(), *CELLS.values(), *TEMPORARIES.values()])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_sums_in_lanes_are_what_they_are_one_by_one(body: str, type: str) -> None:
    kernel = kernel_of(body, type)
    for target in TARGETS if "0.5" in body else TARGETS[-1:]:
        (made,) = scan_versions(prepare(kernel), target, reassociate=True)
        for n in (0, 1, 2, 9, 16, 17, 18, 33, STRIP, STRIP + 1, STRIP + 20):
            wanted, found = run(kernel, n), run(made.kernel, n)
            np.testing.assert_allclose(found, wanted, rtol=1e-4 if type == "f32" else 1e-12, atol=1e-5)


@pytest.mark.parametrize("name", INTEGERS)
def test_sums_of_integers_are_exact_whatever_order_floats_are_in(name: str) -> None:
    kernel = kernel_of(INTEGERS[name])
    for target in TARGETS:
        (made,) = scan_versions(prepare(kernel), target)
        for n in (0, 1, 2, 17, 18, STRIP + 1, STRIP + 20):
            np.testing.assert_array_equal(run(made.kernel, n), run(kernel, n))


@pytest.mark.parametrize("body", [*SUMS.values(), CELLS["with its own"], CELLS["without its own"]])
def test_what_is_no_number_stays_so_from_where_it_comes_in(body: str) -> None:
    kernel = kernel_of(body)
    (made,) = scan_versions(prepare(kernel), TARGETS[-1], reassociate=True)
    for special in ((np.inf,), (np.inf, -np.inf), (np.nan,), (3e38, -3e38, 3e38), (3e38, 3e38, -3e38)):
        wanted, found = run(kernel, 70, *special), run(made.kernel, 70, *special)
        largest = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * largest)


@pytest.mark.parametrize("name", [*NEAR_MISSES, *NO_TEMPORARIES])
def test_what_is_no_such_sum(name: str) -> None:
    kernel = kernel_of({**NEAR_MISSES, **NO_TEMPORARIES}[name])
    assert not find_scans(kernel)
    assert not scan_versions(prepare(kernel), TARGETS[-1], reassociate=True)


def test_the_order_of_sums_is_kept_where_it_matters() -> None:
    assert not scan_versions(prepare(kernel_of(SUMS["all before"])), TARGETS[-1])


SHARED = {**{x: SUMS[x] for x in ("all before", "in place")}, **{x: CELLS[x] for x in ("with its own", "in place")}}
SHARED = {f"{x}, of floats": y for x, y in SHARED.items()} | {x: y for x, y in INTEGERS.items() if "less" not in x}


def shared(kernel: Kernel, threads: int, long: int = 32) -> Kernel:
    """The kernel with its sum in parts, in loops over lanes as they are before they become instructions."""
    loop = kernel.body.body[-1]
    found = find_sum(loop, {"a"}, own_arrays(kernel))
    assert found is not None
    assert may_share(found)
    sums = Sums(found, ValueRegisters("avx512", "zmm", 16), {*used_names(kernel)})
    return replace(kernel, body=Block((PrefixSumShares(sums, threads, long).stmt(),)))


@pytest.mark.each_value
@pytest.mark.parametrize("body", SHARED.values(), ids=SHARED)
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_make_parts_of_a_sum(body: str, threads: int) -> None:
    kernel = kernel_of(body)
    made = shared(kernel, threads)
    check_kernel(made, "shared")
    for n in (0, 1, 40, 159, 160, 161, 239, 400, 401, 641):
        np.testing.assert_allclose(run(made, n), run(kernel, n), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("place", [7, 20, 40, 70, 100])
def test_parts_behind_what_is_no_number_are_made_as_they_are_written(place: int) -> None:
    kernel = kernel_of(SUMS["all before"])
    made = shared(kernel, 2)
    for special in ((np.inf,), (np.nan,), (3e38, -3e38, 3e38), (1.0, np.inf, -np.inf)):
        values = (*(0.0,) * (place // 20), *special)
        wanted, found = run(kernel, 300, *values), run(made, 300, *values)
        largest = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * largest)


@pytest.mark.parametrize("body", ["x[j] = x[j - 1] + y[j] * x[j + 1]", CELLS["ahead"], SUMS["half is lost"]])
def test_what_other_parts_store_is_not_read(body: str) -> None:
    found = find_sum(kernel_of(body).body.body[0], {"a"})
    assert found is not None
    assert not may_share(found)
    assert not scan_versions(prepare(kernel_of(body)), TARGETS[-1], reassociate=True, threads=2)


def test_sums_of_rows_are_not_shared() -> None:
    nest = "for i in 0 .. m { for j in 1 .. n { x[i, j] = x[i, j - 1] + y[i, j] } }"
    kernel = parse_kernel(f"kernel k(m, n; x: f32[m, n], y: f32[m, n]) {{ {nest} }}")
    assert not scan_versions(prepare(kernel), TARGETS[-1], reassociate=True, threads=2)


def test_threads_have_facts() -> None:
    (made,) = scan_versions(prepare(kernel_of(SUMS["all before"])), TARGETS[-1], reassociate=True, threads=2)
    assert sum(isinstance(x, For) and x.facts.parallel for x in walk(made.kernel.body)) == 2


def test_rows_have_sums_of_their_own() -> None:
    nest = "for i in 0 .. m { for j in 1 .. n { x[i, j] = x[i, j - 1] + y[i, j] } }"
    kernel = parse_kernel(f"kernel k(m, n; x: f32[m, n], y: f32[m, n]) {{ {nest} }}")
    (made,) = scan_versions(prepare(kernel), TARGETS[-1], reassociate=True)
    for m, n in ((0, 5), (3, 1), (3, 40)):
        results = []
        for each in (kernel, made.kernel):
            x, y = (np.random.default_rng(seed).random((m, n), np.float32) for seed in range(2))
            run_kernel(each, {"m": m, "n": n, "x": x, "y": y})
            results.append(x)
        np.testing.assert_allclose(*results, rtol=1e-5)
