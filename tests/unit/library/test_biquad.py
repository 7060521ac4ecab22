"""Cascades of stages: which loops are some, and what is run in their place."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr, print_kernel
from planish.library.signal.biquad.lane_pipeline import cascade_versions
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target
from planish.target.machine import Target

AVX2, NEON = load_target("x86-avx2"), load_target("aarch64-neon")
ARRAYS = "x: f64[n + 1], y: f64[n + 1], c: f64[2 * m + 1], z: f64[2 * m + 1]"
STAGE = "o[] = c[2 * k] * s[] + z[k] z[k] = c[2 * k + 1] * s[] - g * o[] - c[2 * k] * z[k] s[] = o[]"


def kernel_of(
    stage: str = STAGE, before: str = "s[] = x[t]", after: str = "y[t] = s[]", arrays: str = ARRAYS
) -> Kernel:
    nest = f"for t in 0 .. n {{ {before} for k in 0 .. m {{ {stage} }} {after} }}"
    cells = "alloc s: f64[] alloc o: f64[] alloc r: f64[]"
    return parse_kernel(f"kernel k(n, m; g: f64; {arrays}) assume n >= 0 assume m >= 0 {{ {cells} {nest} }}")


def run(kernel: Kernel, n: int, m: int) -> list[np.ndarray]:
    random = np.random.default_rng(n + m)
    counts = {"x": n + 1, "y": n + 1, "c": 2 * m + 1, "z": 2 * m + 1}
    values = {name: random.uniform(-0.5, 0.5, count) for name, count in counts.items()}
    run_kernel(kernel, {"n": n, "m": m, "g": 0.5, **values})
    return [*values.values()]


CASCADES = {
    "two coefficients": kernel_of(),
    "what comes after": kernel_of(after="r[] = s[] + g y[t] = r[] - x[t]"),
    "in place": kernel_of(after="x[t] = s[]"),
    "the next one is read": kernel_of(before="s[] = x[t + 1]", after="x[t] = s[]"),
    "the last output": kernel_of(before="s[] = x[t] o[] = g", after="y[t] = o[]"),
    "two links": kernel_of("z[k] = c[k] * r[] + z[k] s[] = s[] + z[k] r[] = s[] * g", "s[] = x[t] r[] = g"),
    "a link that stays": kernel_of("s[] = s[] * c[k] + r[]", "s[] = x[t] r[] = x[t] * g", "y[t] = s[] + r[]"),
    "the same for all": kernel_of("s[] = s[] * c[0] + z[k] z[k] = s[] * g"),
    "samples in memory": kernel_of(
        "o[] = c[2 * k] * x[t] + z[k] z[k] = c[2 * k + 1] * x[t] - g * o[] x[t] = o[]", "", "y[t] = g"
    ),
    "an old sample": kernel_of("o[] = y[t + 1] y[t + 1] = o[] * g + z[k] z[k] = o[] - y[t + 1] * c[k]", "", ""),
    "a sum in memory": kernel_of("y[t] += c[k] * z[k] z[k] += y[t]", "y[t] = x[t]", ""),
    "sums": kernel_of("s[] += c[k] * z[k] z[k] += s[]"),
}
NEAR_MISSES = {
    "the stage before is read": kernel_of("s[] = c[k] * s[] + z[k] z[k + 1] = s[]"),
    "the next stage is read": kernel_of("s[] = c[k] * s[] + z[k + 1] z[k] = s[]"),
    "one state for all": kernel_of("s[] = c[k] * s[] + z[0] z[0] = s[]"),
    "states meet": kernel_of("s[] = c[k] * s[] + z[2 * k] z[m - k] = s[]"),
    "the last result comes back": kernel_of(before="s[] = x[t] + g * y[t]", after="y[t + 1] = s[]"),
    "what was made last time": kernel_of(before="s[] = x[t] + r[]", after="r[] = s[] y[t] = s[]"),
    "a sum of all samples": kernel_of(after="r[] = r[] + s[] y[t] = r[]"),
    "coefficients change": kernel_of(after="c[0] = s[] y[t] = s[]"),
    "a sample for each stage": kernel_of("s[] = c[k] * s[] + x[t]"),
    "the number of the stage": kernel_of("s[] = c[k] * s[] + f64(k)"),
    "nothing goes on": kernel_of("o[] = c[k] * z[k] z[k] = o[]", after="y[t] = g"),
    "two samples in memory": kernel_of("x[t] = c[k] * x[t] + z[k] z[k] = x[t + 1]", "", ""),
    "a sample for each stage in memory": kernel_of("y[k] = c[k] * y[k] + z[k] z[k] = y[k]", "", ""),
    "samples without a state": kernel_of("y[t] = y[t] * c[k] + g", "y[t] = 0.0", ""),
    "a sample elsewhere": kernel_of("y[t] = y[t] * c[k] + z[k] z[k] = y[0]", "", ""),
    "a plain sum": kernel_of("s[] += c[k] * g", "s[] = x[t]"),
    "sums of two kinds": kernel_of("s[] += c[k] r[] += z[k] * c[k]", "s[] = x[t] r[] = 0.0", "y[t] = s[] + r[]"),
    "a cosine transform": kernel_of("s[] += c[k] * cos(f64(k) * f64(t))", "s[] = 0.0"),
    "no floats": parse_kernel(
        "kernel k(n, m; x: i32[n], c: i32[m], y: i32[n]) { alloc s: i32[] for t in 0 .. n { s[] = x[t]"
        " for k in 0 .. m { s[] = s[] * c[k] } y[t] = s[] } }"
    ),
}


@pytest.mark.parametrize("name", CASCADES)
def test_cascades_are_found(name: str) -> None:
    kernel = CASCADES[name]
    (version,) = cascade_versions(prepare(kernel), AVX2, False)
    assert "as avx2_slide_f64" in print_kernel(version.kernel)
    assert [x.id for x in version.remarks] == ["biquad-simd"]
    # What keeps samples of arrays in cells asks for a section.
    least = int("m > 0" in map(print_expr, version.kernel.assumptions))
    for n, m in ((0, 5), (5, least), (5, 1), (3, 2), (4, 2), (8, 4), (13, 5), (19, 9)):
        for made, wanted in zip(run(version.kernel, n, m), run(kernel, n, m), strict=True):
            assert np.isfinite(wanted).all() and (made == wanted).all(), (n, m)


@pytest.mark.parametrize("stages", [3, 5, 11])
def test_a_constant_number_of_stages(stages: int) -> None:
    """Only one of the ways is left: few stages are in one group of lanes, many in several."""
    kernel = CASCADES["two coefficients"]
    loop = f"for k in 0 .. {stages} "
    few = parse_kernel(print_kernel(kernel).replace("for k in 0 .. m ", loop).replace("m >= 0", f"m >= {stages}"))
    (version,) = cascade_versions(prepare(few), AVX2, False)
    for n in (0, 1, 9, 30):
        for made, wanted in zip(run(version.kernel, n, stages), run(few, n, stages), strict=True):
            assert np.isfinite(wanted).all() and (made == wanted).all(), n


@pytest.mark.parametrize("target", [AVX2, NEON], ids=["avx2", "neon"])
def test_products_of_three_may_be_rounded_once(target: Target) -> None:
    """No instruction takes a product of three off in one rounding: then two do it."""
    kernel = kernel_of("o[] = s[] - g * c[k] * z[k] z[k] = o[] s[] = o[]")
    assert len(cascade_versions(prepare(kernel), target, True)) == 1


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_are_none(name: str) -> None:
    assert cascade_versions(prepare(NEAR_MISSES[name]), AVX2, True) == ()


@pytest.mark.parametrize(("samples", "found"), [("n", 1), ("n - h", 0)])
def test_channels_with_as_many_samples(samples: str, found: int) -> None:
    stage = "s[] = c[k] * s[] + z[k] z[k] = s[] * g"
    loop = f"for t in 0 .. {samples} {{ s[] = x[t] for k in 0 .. m {{ {stage} }} y[t] += s[] }}"
    head = f"kernel k(n, m; g: f64; {ARRAYS}) assume n >= 0 assume m >= 0"
    kernel = parse_kernel(f"{head} {{ alloc s: f64[] for h in 0 .. 2 {{ {loop} }} }}")
    versions = cascade_versions(prepare(kernel), AVX2, False)
    assert len(versions) == found
    for version in versions:
        for made, wanted in zip(run(version.kernel, 13, 5), run(kernel, 13, 5), strict=True):
            assert (made == wanted).all()


def test_sums_are_in_another_order_only_where_they_may_be() -> None:
    kernel = kernel_of("o[] = c[2 * k] * s[] + z[k] z[k] = g * o[] + c[k] * s[] + z[k] s[] = o[]")
    written, free = (cascade_versions(prepare(kernel), AVX2, x)[0].kernel for x in (False, True))
    assert "g * o_lanes" in print_kernel(written)
    for made, wanted in zip(run(free, 21, 9), run(kernel, 21, 9), strict=True):
        assert np.allclose(made, wanted, 1e-12)
    assert print_kernel(free) != print_kernel(written)


def test_neon_has_them_too() -> None:
    text = print_kernel(CASCADES["in place"])
    for type in ("f32", "f64"):
        (version,) = cascade_versions(prepare(parse_kernel(text.replace("f64", type))), NEON, True)
        assert f"as neon_slide_{type}" in print_kernel(version.kernel)
