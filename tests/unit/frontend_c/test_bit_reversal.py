"""Loops that exchange elements whose numbers are each other's backwards, and loops that only look like it."""

from __future__ import annotations

import pytest

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import BitReversal

LOOP = "for (i = 0, j = 0; i < n - 1; i++) { if (i < j) { SWAP } for (k = n >> 1; k <= j; k >>= 1) j -= k; j += k; }"
SWAP = "float t = x[i]; x[i] = x[j]; x[j] = t;"
LATER = "for (i = 1, j = 0; i < n; i++) { k = n >> 1; for (; j & k; k >>= 1) j ^= k; j ^= k; if (i < j) { SWAP } }"


BITS = "for (j = 0; j < k; j++) r |= (i >> j & 1) << (k - 1 - j);"
EACH = f"for (i = 0; i < n; i++) {{ int r = 0; {BITS} if (i < r) {{ SWAP }} }}"
MASKS = "for (i = 0; i < n; i++) { int r = 0, m = 1; while (m < n) { r *= 2; if (i & m) r++; m *= 2; } y[r] = x[i]; }"


def read(loop: str, before: str = "", behind: str = "") -> BitReversal | None:
    """How the loop of a function reverses digits."""
    text = f"int g; void f(float *x, float *y, double *z, int n) {{ int i, j, k; {before} {loop} {behind} }}"
    regions = read_c(Source("a.c", text.replace("SWAP", SWAP))).functions[0].regions
    return regions[0].reversal if regions else None


@pytest.mark.parametrize(
    ("loop", "base"),
    [
        (LOOP, 2),
        (LATER, 2),
        (LOOP.replace("SWAP", "float t; t = x[j]; x[j] = x[i]; x[i] = t;"), 2),
        (LOOP.replace("n >> 1", "n / 2").replace("k >>= 1", "k = k / 2"), 2),
        (LOOP.replace("n >> 1", "n >> 2").replace("k >>= 1", "k /= 4").replace("k <= j", "j >= k * 3")
         .replace("-= k", "-= 3 * k"), 4),
        (LOOP.replace("k <= j", "k > 0 && j >= k"), 2),
        (LOOP.replace("i < n - 1", "i <= n - 2"), 2),
        (LOOP.replace("n - 1", "1023").replace("n >> 1", "512"), 2),
    ],
)  # fmt: skip
def test_digits_are_reversed(loop: str, base: int) -> None:
    assert read(loop) == BitReversal(base, {"x": 1})


@pytest.mark.parametrize(
    ("swap", "widths"),
    [
        (SWAP + "t = y[i]; y[i] = y[j]; y[j] = t;", {"x": 1, "y": 1}),
        ("float t = x[2*i], u = x[2*i+1]; x[2*i] = x[2*j]; x[2*i+1] = x[2*j+1]; x[2*j] = t; x[2*j+1] = u;", {"x": 2}),
    ],
)
def test_elements_side_by_side(swap: str, widths: dict[str, int]) -> None:
    assert read(LOOP.replace("SWAP", swap)) == BitReversal(2, widths)


@pytest.mark.parametrize(
    "loop",
    [
        LOOP.replace("i < j", "i != j"),
        LOOP.replace("i < j", "j < i"),
        LOOP.replace("if (i < j)", ""),
        LOOP.replace("i = 0", "i = 1"),
        LOOP.replace("j = 0", "j = 1"),
        LOOP.replace("j = 0", "j = 0, y = 0"),
        LATER.replace("i = 1", "i = 0"),
        LOOP.replace("n - 1", "n - 2"),
        LOOP.replace("n - 1", "n + 1"),
        LOOP.replace("n >> 1", "n >> 2"),
        LOOP.replace("k >>= 1", "k >>= 2"),
        LOOP.replace("k <= j", "k < j"),
        LOOP.replace("k <= j", "k >= j"),
        LOOP.replace("j -= k", "j += k"),
        LOOP.replace("j += k", "j -= k"),
        LOOP.replace("j += k", "j += 2 * k"),
        LOOP.replace("n >> 1", "n / 3").replace("k >>= 1", "k /= 3").replace("k <= j", "2 * k <= j")
        .replace("-= k", "-= 2 * k"),
        LOOP.replace("n >> 1", "n >> 2").replace("k >>= 1", "k >>= 2").replace("k <= j", "3 * k <= j")
        .replace("-= k", "-= 3 * k").replace("+= k", "|= k"),
        LOOP.replace("i++", "i += 2"),
        LOOP.replace("SWAP", "x[i] = x[j]; x[j] = x[i];"),
        LOOP.replace("SWAP", "float t = x[i]; x[i] = x[j];"),
        LOOP.replace("SWAP", "float t = x[i]; x[i] = y[j]; y[j] = t;"),
        LOOP.replace("SWAP", "int t = x[i]; x[i] = x[j]; x[j] = t;"),
        LOOP.replace("SWAP", "float t = z[i]; z[i] = z[j]; z[j] = t;"),
        LOOP.replace("SWAP", "float t = x[2 * i]; x[2 * i] = x[2 * j]; x[2 * j] = t;"),
        LOOP.replace("SWAP", "float t = x[i + 1]; x[i + 1] = x[j + 1]; x[j + 1] = t;"),
        LOOP.replace("SWAP", SWAP + " n = 4;"),
        LOOP.replace("SWAP", SWAP + " g = 4;"),
        LOOP.replace("n - 1", "g - 1").replace("n >> 1", "g >> 1"),
        LOOP.replace("j", "g"),
        LOOP.replace("for (k = n >> 1;", "for (short k = n >> 1;"),
        LOOP.replace("for (k = n >> 1; k <= j; k >>= 1)", "for (i = n >> 1; i <= j; i >>= 1)").replace("= k", "= i"),
        LOOP.replace("n >> 1", "n >> -1"),
        LOOP.replace("SWAP", "float t = x[i << n]; x[i << n] = x[j << n]; x[j << n] = t;"),
        LOOP.replace("SWAP", "float t = x[i << -1]; x[i << -1] = x[j << -1]; x[j << -1] = t;"),
        "for (k = -1; i < n && (k = j) == -1; i++) ;",
    ],
)  # fmt: skip
def test_others_are_not(loop: str) -> None:
    assert loop not in (LOOP, LATER)
    assert read(loop) is None


@pytest.mark.parametrize(
    "loop", [LOOP, LATER, EACH.replace("j", "b").replace("int r", "int j").replace("r |", "j |").replace("< r", "< j")]
)
def test_exchanges_keep_the_numbers_of_the_loop(loop: str) -> None:
    """An element is held by one of them, after all are moved or on the way; by any other one it may be."""

    def found(swap: str) -> list[object]:
        text = f"void f(int *w, int n) {{ int i, j, k, b, t; {loop.replace('SWAP', swap)} }}"
        return [x.reversal for x in read_c(Source("a.c", text)).functions[0].regions if x.reversal is not None]

    swap = "t = w[i]; w[i] = w[j]; w[j] = t;"
    assert found(swap) == found(swap.replace("t", "b")) == [BitReversal(2, {"w": 1})]
    for number in "ijn":
        assert not found(f"{swap} {number} = t;") and not found(swap.replace("t", number))
        assert not found(swap.replace("w[j] = t", f"{number} = t; w[j] = {number}"))


def test_what_is_read_behind_the_loop_stays() -> None:
    assert read(LOOP, behind="x[0] = j;") is None
    assert read(LOOP, before="float t;", behind="x[0] = t;") is not None  # the inner `t` is another one
    assert read(LOOP.replace("SWAP", SWAP.replace("float ", "")), before="float t;", behind="x[0] = t;") is None


def test_where_the_second_number_begins_is_asked() -> None:
    text = f"void f(float *x, int n, int j) {{ int i, k; {LOOP.replace(', j = 0', '')} }}".replace("SWAP", SWAP)
    (region,) = read_c(Source("a.c", text)).functions[0].regions
    assert region.reversal is not None and "j == 0" in dict(region.names)["tiles"]


@pytest.mark.parametrize(
    "loop",
    [
        EACH,
        EACH.replace("r |=", "r +=").replace("i >> j & 1", "i / (1 << j) % 2"),
        EACH.replace("r |= (i >> j & 1) << (k - 1 - j)", "if ((i & (1 << j)) != 0) r ^= 1 << (k - j - 1)"),
        EACH.replace("r |= (i >> j & 1) << (k - 1 - j)", "r = r << 1 | (i >> j & 1)"),
        EACH.replace("int r = 0", "int r = 0, b = i")
        .replace("r |= (i >> j & 1) << (k - 1 - j)", "r = 2 * r, r += b & 1, b >>= 1"),
        EACH.replace("j = 0; j < k; j++", "j = k - 1; j >= 0; --j"),
        EACH.replace("i < n", "i < 1 << k"),
        EACH.replace("i < n", "i <= n - 2"),
    ],
)  # fmt: skip
def test_numbers_are_reversed_bit_by_bit(loop: str) -> None:
    assert read(loop.replace("SWAP", SWAP.replace("j", "r"))) == BitReversal(2, {"x": 1})


@pytest.mark.parametrize("loop", [MASKS, MASKS.replace("y[r] = x[i]", "y[i] = x[r]")])
def test_elements_are_copied(loop: str) -> None:
    assert read(loop) == BitReversal(2, {"y": 1}, {"y": "x"})


@pytest.mark.parametrize(
    "loop",
    [
        EACH.replace("k - 1 - j", "k - j"),
        EACH.replace("(i >> j & 1)", "(i >> j & 3)"),
        EACH.replace("j < k", "j < k - 1"),
        EACH.replace("j = 0; j < k", "j = 1; j < k"),
        EACH.replace("int r = 0", "int r = 1"),
        EACH.replace("i < n;", "i < n - 2;"),
        EACH.replace("i = 0", "i = 1"),
        EACH.replace("k - 1 - j", "j"),
        EACH.replace("r |= (i >> j & 1)", "r += (i >> j & 1) + (i & 1)"),
        EACH.replace("int r = 0;", "int r; if (n > 256) r = 0;"),
        EACH.replace("i >> j", "(char)i >> j"),
        EACH.replace("int r", "static int r"),
        EACH.replace("j < k", "j < k + g"),
        EACH.replace("r |=", "g++, r |="),
        MASKS.replace("m < n", "m <= n"),
        MASKS.replace("y[r] = x[i]", "y[r] = x[i + 1]"),
        MASKS.replace("y[r] = x[i]", "y[r] = x[r]"),
        MASKS.replace("y[r] = x[i]", "x[r] = x[i]"),
        MASKS.replace("y[r] = x[i]", "y[2 * r] = x[2 * i]"),
        MASKS.replace("y[r] = x[i]", "z[r] = x[i]"),
        MASKS.replace("i < n", "i < n - 1"),
        MASKS.replace("m *= 2", "m *= 3"),
        MASKS.replace("r++", "r--"),
        MASKS.replace("r *= 2; if (i & m) r++", "k = (i & m) ? (r *= 2) : r; if (i & m) r++"),
        MASKS.replace("r *= 2; if (i & m) r++", "k = (i & m) ? r : r++; r *= 2; if (i & m) r = r / 4 * 2 + 1"),
        MASKS.replace("r *= 2; if (i & m) r++", "if ((i & m) && (r *= 2)) r++"),
        MASKS.replace("y[r]", "while (i & 1) { i = 0; r = 0; } y[r]"),
        MASKS.replace("y[r]", "k = i; while (k & 1) { k = 0; r = 0; } y[r]"),
        MASKS.replace("y[r]", "for (k = i; k & 4; k = 0) r = 0; y[r]"),
        MASKS.replace("y[r]", "k = i; do { k &= 1; } while (k); y[r]"),
        MASKS.replace("i < n", "i < k").replace("int r", "k = n; int r"),
        MASKS.replace("y[r] = x[i]", "y[r] = x[i]; z[r] = 0"),
        MASKS.replace("y[r] = x[i]", "y[r] = x[i]; z[r] = x[i] + 1"),
        MASKS.replace("y[r] = x[i]", "y[r] = x[i]; k = n; y[k = r] = x[i]"),
        MASKS.replace("y[r] = x[i]", "y[k = r] = x[i]"),
        MASKS.replace("int r = 0", "float y[4096]; int r = 0"),
        MASKS.replace("int r = 0", "int v[++n], r = 0"),
        MASKS.replace("r *= 2;", "int v[n++]; r *= 2;"),
        MASKS.replace("m < n", "m < n && n - n - sizeof(int) < 1"),
    ],
)
def test_other_numbers_are_not(loop: str) -> None:
    assert loop not in (EACH, MASKS)
    assert read(loop.replace("SWAP", SWAP.replace("j", "r"))) is None
