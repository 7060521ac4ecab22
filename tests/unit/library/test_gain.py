"""Without the clock: loops that a C compiler makes as well stay as written, those that promise a gain are taken."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_kernel
from planish.library.driver import make_versions
from planish.library.gain import GAIN, in_own_order, with_gain
from planish.library.registry import STRATEGIES
from planish.library.strategy import Context
from planish.schedule.auto.plan import Version
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


@pytest.mark.parametrize(
    ("loops", "left"),
    [
        # one loop, as it stands
        ("for i in 0 .. n { a[i] = b[i] * 2.0 }", ["maxfuse"]),
        ("for i in 1 .. n { a[i] = a[i - 1] * b[i] }", ["maxfuse"]),
        # tiles and strips for nothing
        ("for i in 0 .. n { for j in 0 .. n { c[i, j] = max(c[i, j] + a[i], 0.0) } }", ["original"]),
        # waits in both loops
        ("for i in 1 .. n { for j in 1 .. n { c[i, j] = c[i, j - 1] * c[i - 1, j] } }", ["original"]),
        # loops of three iterations, which compilers write out
        (
            "for i in 1 .. n - 1 { alloc t: f64[] t[] = 0.0 for k in 0 .. 3 { t[] += b[i + k - 1] } a[i] = t[] }",
            ["original"],
        ),
        # memory is as slow for both, the caches are not
        ("for i in 0 .. n { for j in 0 .. n { a[j] += c[i, j] } }", ["maxfuse"]),
        ("for i in 0 .. n { s[0] += a[i] * b[i] }", ["maxfuse"]),
    ],
)
def test_what_gains_nothing_is_in_its_own_order(loops: str, left: list[str]) -> None:
    cx = Context.of(parse_kernel(f"{HEAD} {{ {loops} }}"), TARGET)
    made = in_own_order(cx, make_versions(cx, STRATEGIES, 1))
    assert [x.name for x in made.versions[:1]] == left
    assert not [x for x in made.remarks if x.kind == "refused"]


def test_tables_that_data_choose_from_gain_nothing_in_lanes() -> None:
    head = "kernel k(n; x: u8[n] distinct, t: u16[256] distinct, y: u16[n] distinct)"
    cx = Context.of(parse_kernel(f"{head} {{ for i in 0 .. n {{ y[i] = t[i64(x[i])] }} }}"), TARGET)
    made = in_own_order(cx, make_versions(cx, STRATEGIES, 1))
    first = made.versions[0]
    assert first.name == "original" and isinstance(first, Version) and " simd" not in print_kernel(first.kernel)
