"""Without the clock: loops that a C compiler makes as well stay as written, those that promise a gain are taken."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.library.driver import make_versions
from planish.library.gain import GAIN, with_gain
from planish.library.registry import STRATEGIES
from planish.library.strategy import Context
from planish.target.load import load_target

HEAD = "kernel k(n; s: f64[1] distinct, a: f64[n] distinct, b: f64[n] distinct, c: f64[n, n] distinct)"
TARGET = load_target("x86-avx512")


def versions(loops: str, threads: int = 1) -> tuple[list[str], list[str]]:
    """The versions that are left, and the ids of the remarks on those that are not."""
    cx = Context.of(parse_kernel(f"{HEAD} {{ {loops} }}"), TARGET, threads=threads)
    made = with_gain(cx, make_versions(cx, STRATEGIES, 1), GAIN)
    return [x.name for x in made.versions], [x.id for x in made.remarks if x.kind == "refused"]


@pytest.mark.parametrize(
    "loops",
    [
        "for i in 0 .. n { a[i] = b[i] * 2.0 }",
        "for i in 0 .. n { a[i] = a[i] / b[i] }",
        "for i in 0 .. n { for j in 0 .. n { c[i, j] = c[i, j] * c[i, j] } }",
        "for i in 1 .. n { for j in 1 .. n { c[i, j] = c[i, j - 1] * c[i - 1, j] } }",
    ],
)
def test_what_compilers_do_as_well_stays(loops: str) -> None:
    assert versions(loops) == ([], ["schedule-gain"])


@pytest.mark.parametrize(
    "loops",
    [
        "for i in 0 .. n { s[0] += a[i] * b[i] }",
        "for i in 0 .. n { for j in 0 .. n { c[j, i] = c[j, i] * 2.0 } }",
        "for i in 0 .. n { a[i] = exp(b[i]) }",
    ],
)
def test_what_promises_a_gain_is_taken(loops: str) -> None:
    kept, refused = versions(loops)
    assert len(kept) == 1 and not refused


def test_a_remark_says_once_what_becomes_of_the_loops() -> None:
    cx = Context.of(parse_kernel(f"{HEAD} {{ for i in 0 .. n {{ a[i] = b[i] * 2.0 }} }}"), TARGET)
    told = with_gain(cx, make_versions(cx, STRATEGIES, 1), GAIN).remarks[-1]
    assert told.id == "schedule-gain" and told.message.endswith(" of these loops, and nothing is timed")


def test_threads_are_a_gain() -> None:
    assert versions("for i in 0 .. n { a[i] = b[i] * 2.0 }", 2)[0]
