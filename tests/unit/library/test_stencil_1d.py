"""Repeated sweeps over a line in segments, interpreted beside the loops that they come from."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.property.sampling import one_in

from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.library.loops.stencil_1d.dimension_lifting import segment_versions
from planish.library.loops.stencil_1d.line_sweeps import find_sweeps
from planish.schedule.auto.plan import prepare
from planish.target.machine import CacheLevel, Target

TINY = Target("tiny", "x86-64", 128, 16, False, (CacheLevel(1, 1024),))
"""Two lanes of doubles; a tile has some 100 elements."""


def kernel_of(*sweeps: str, inner: str = "") -> Kernel:
    body = " ".join(f"for i in {x} {inner}" for x in sweeps)
    arrays = "A: f64[n] distinct, B: f64[n] distinct, C: f64[n] distinct, w: f64[4] distinct"
    return parse_kernel(f"kernel k(s, n; a: f64; {arrays}) {{ for t in 0 .. s {{ {body} }} }}")


def random_kernel(seed: int) -> Kernel:
    """Up to four sweeps over parts of three arrays, each from elements up to three away."""
    rng = random.Random(seed)
    bounds = {x: (rng.randrange(4, 7), rng.randrange(4, 7)) for x in "ABC"}
    sweeps = []
    for _ in range(rng.randrange(1, 5)):
        target = rng.choice("ABC")
        lower, upper = bounds[target]
        shift = rng.randrange(-2, 3)
        terms = []
        for _ in range(rng.randrange(1, 4)):
            source, away = rng.choice("ABC"), rng.randrange(-3, 4)
            place = shift if source == target else shift + away
            factor = rng.choice(["a", "0.25", "w[1]", "(0.5 * f64(t))"])
            terms.append(f"{factor} * {source}[i + {place}]".replace("+ -", "- "))
        update = rng.choice(["=", "+="])
        at = f"{target}[i + {shift}]".replace("+ -", "- ")
        sweeps.append(f"{lower - shift} .. n - {upper + shift} {{ {at} {update} {' + '.join(terms)} }}")
    return kernel_of(*(x.replace("- -", "+ ") for x in sweeps))


def run(kernel: Kernel, times: int, length: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(length)
    arrays = {x: rng.random(length) for x in "ABC"} | {"w": rng.random(4)}
    run_kernel(kernel, {"s": times, "n": length, "a": 0.3, **arrays})
    return arrays


@pytest.mark.parametrize("seed", one_in(4, range(40)))
def test_random_sweeps(seed: int) -> None:
    kernel = random_kernel(seed)
    versions = segment_versions(prepare(kernel), TINY)
    found = find_sweeps(kernel.body.body[0])
    assert bool(versions) == (found is not None)
    rng = random.Random(seed)
    for version, length in zip(versions, (rng.randrange(80, 140), rng.randrange(600, 900)), strict=False):
        for times in (4, rng.randrange(5, 12)):
            wanted, made = run(kernel, times, length), run(version.kernel, times, length)
            assert all((made[x] == wanted[x]).all() for x in wanted), (version.name, length, times)


def test_most_random_sweeps_are_found() -> None:
    kernels = [random_kernel(seed) for seed in range(40)]
    assert sum(find_sweeps(x.body.body[0]) is not None for x in kernels) > 20


@pytest.mark.parametrize(
    "sweeps",
    [
        ("1 .. n { A[i] = A[i - 1] }",),  # each waits for the one before it
        ("1 .. n { A[i] = B[i] }",),  # nothing comes from a neighbour
        ("1 .. n { A[i] = B[i - 1] }", "2 .. n { A[i] = B[i - 2] }"),  # ends that are made in different ways
        ("1 .. n { A[i] = B[i - 1] * f64(i) }",),
        ("0 .. n { A[i] = B[n - 1 - i] }",),
        ("1 .. n { A[i] = B[i - 1] + A[0] }",),  # one element is for all
        ("t .. n - 1 { A[i] = B[i + 1] }",),
        ("1 .. n step 2 { A[i] = B[i - 1] }",),
        ("9 .. n { A[i] = B[i - 9] }",),  # too far away
        ("1 .. n { A[i] = select(a > 0.0, B[i - 1], 0.0) }",),  # it may not be there
    ],
)
def test_others_are_left(sweeps: tuple[str, ...]) -> None:
    assert find_sweeps(kernel_of(*sweeps).body.body[0]) is None


def test_what_is_read_in_any_case_may_be_chosen_from() -> None:
    kernel = kernel_of("1 .. n - 1 { A[i] = select(B[i - 1] > B[i + 1], B[i - 1], a) }")
    (version, tiles) = segment_versions(prepare(kernel), TINY)
    for made, length in ((version, 131), (tiles, 800)):
        assert (run(made.kernel, 7, length)["A"] == run(kernel, 7, length)["A"]).all()


def test_few_repetitions_and_short_lines_stay_loops() -> None:
    for version in segment_versions(prepare(kernel_of("1 .. n { A[i] = B[i - 1] }")), TINY):
        assert len(version.kernel.assumptions) == 2


def test_many_sweeps_that_reach_far() -> None:
    # What is kept of a tile is no longer than the tile.
    sweeps = [f"8 .. n - 8 {{ {x}[i] = 0.5 * ({y}[i - 8] + {y}[i + 8]) }}" for x, y in ("BA", "AB") * 8]
    kernel = kernel_of(*sweeps)
    (_, tiles) = segment_versions(prepare(kernel), TINY)
    wanted, made = run(kernel, 5, 2900), run(tiles.kernel, 5, 2900)
    assert all((made[x] == wanted[x]).all() for x in wanted)
    assert find_sweeps(kernel_of(*sweeps, sweeps[0]).body.body[0]) is None


def test_a_line_that_is_known_to_be_short_has_no_version() -> None:
    loop = "for t in 0 .. s { for i in 1 .. 49 { A[i] = B[i - 1] + B[i + 1] } }"
    kernel = parse_kernel(f"kernel k(s; A: f64[50] distinct, B: f64[50] distinct) {{ {loop} }}")
    assert [x.name for x in segment_versions(prepare(kernel), TINY)] == ["stencil-lanes"]
    kernel = parse_kernel(print_kernel(kernel).replace("50", "12").replace("49", "11"))
    assert segment_versions(prepare(kernel), TINY) == ()
