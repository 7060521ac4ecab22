"""What a function asserts of its parameters: known to its nests, and still checked where the user's text checks it."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile, Region
from planish.ir.text.printer import print_expr, print_stmt

LOOP = "for (int i = 0; i < n; i++) y[i] = x[i] * k >> 4;"
HEAD = "#include <assert.h>\n#include <stdlib.h>\n#define SURE(x) do { if (!(x)) __builtin_unreachable(); } while (0)\n"


def read(body: str, head: str = "int n, int k, const short *restrict x, short *restrict y") -> CFile:
    """A file with one function."""
    return read_c(Source("f.c", f"{HEAD}enum {{ TOP = 99 }};\nvoid f({head})\n{{\n{body}\n}}\n"))


def region_of(body: str) -> Region:
    (region,) = read(body).functions[0].regions
    return region


def assumed(region: Region) -> list[str]:
    return [print_expr(x) for x in region.kernel.assumptions]


@pytest.mark.parametrize(
    ("fact", "known"),
    [
        ("assert(n < 1000);", ["n < 1000"]),
        ("assert(n < 1000 && n >= 8);", ["n < 1000", "n >= 8"]),
        ("assert(!(n >= 1000 || n % 2));", ["n < 1000", "n % 2 == 0"]),
        ("__builtin_assume(n <= TOP);", ["n <= 99"]),
        ("SURE(n <= TOP);", ["n <= 99"]),
        ("if (n > TOP) return;", ["n <= 99"]),
        ("if (n > 7 || n < 2) { return; }", ["n <= 7", "n >= 2"]),
        ("if (n > 7) abort();", ["n <= 7"]),
        ("int t = 3; if (n > 7) { t = 2; exit(t); } y[0] = t;", ["n <= 7"]),
        ("if (n > 7 && k) return;", []),
        ("if (n > 7) return; else y[0] = 1;", []),
        ("if (n > 7) y[0] = 1;", []),
        ("if (n > x[0]) return;", []),
        ("", []),
    ],
)
def test_facts_about_sizes_are_assumptions(fact: str, known: list[str]) -> None:
    found = assumed(region_of(fact + LOOP))
    assert sorted(found) == sorted(known)


def test_facts_about_numbers_narrow_them() -> None:
    region = region_of("if (k < 0 || k > 255) return;" + LOOP)
    assert region.conditions == ("k >= 0", "k <= 255")
    assert "i32(u8(k))" in print_stmt(region.kernel.body) and not region.kernel.assumptions
    assert region_of("assert(k < 256);" + LOOP).conditions == ()
    assert region_of("assert(k < 100 && -100 < k);" + LOOP).conditions == ("k >= -99", "k <= 99")


@pytest.mark.parametrize("change", ["k = 300;", "k += n;", "int *p = &k; *p = 300;"])
def test_nothing_is_known_of_what_changes(change: str) -> None:
    regions = read(f"assert(k >= 0 && k < 256); {change} {LOOP}").functions[0].regions
    assert all(x.conditions == () and "u8" not in print_stmt(x.kernel.body) for x in regions)


def test_facts_behind_a_loop_are_not_known_in_it() -> None:
    first, second = read(f"{LOOP} assert(n < 9); {LOOP}").functions[0].regions
    assert not first.kernel.assumptions and not second.kernel.assumptions


def test_an_assertion_in_a_nest_is_kept() -> None:
    body = "for (int i = 0; i < n; i++) { assert(x[i] > 0); y[i] = x[i]; }"
    (region,) = read(body).functions[0].regions
    assert region.exits is not None  # the loop goes on as it is written where it fails
    assert read(body.replace("x[i] > 0", "y[i] > 0")).functions[0].regions  # each element is read before it is set
    assert not read(body.replace("x[i] > 0", "y[i + 1] > 0")).functions[0].regions
    text = f"#define NDEBUG\n{HEAD}void f(int n, const int *x, int *restrict y) {{ {body} }}"
    quiet = read_c(Source("f.c", text))
    assert len(quiet.functions[0].regions) == 1


def test_an_assertion_between_nests_divides_them() -> None:
    region = region_of("int a; assert(n < 9); a = 3; for (int i = 0; i < n; i++) y[i] = a;")
    assert assumed(region) == ["n < 9"]


def test_what_is_told_to_the_compiler_alone_is_no_obstacle() -> None:
    body = "for (int i = 0; i < n; i++) { __builtin_assume(x[i] < 8); SURE(x[i] > 0); y[i] = x[i]; }"
    assert len(read(body).functions[0].regions) == 1


def test_what_a_promise_counts_is_counted() -> None:
    region = region_of("for (int i = 0; i < n; i++) { if (k++ > 99) __builtin_unreachable(); y[i] = k; }")
    assert region.exits is None and "y[i] = i16(i32(k + i + 1))" in print_stmt(region.kernel.body)


@pytest.mark.parametrize("condition", ["(k = x[i]) < 2", "rand() < 0"])
def test_what_a_condition_does_is_kept(condition: str) -> None:
    file = read("for (int i = 0; i < n; i++) { if (%s) __builtin_unreachable(); y[i] = k; }" % condition)  # noqa: UP031
    assert not file.functions[0].regions
