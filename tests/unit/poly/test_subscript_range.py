"""Subscripts that are not affine: how far they go, beside all of their values."""

from __future__ import annotations

from itertools import product

import pytest

from planish.ir.index.evaluate import evaluate
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.poly.canonical.delinearise import delinearise
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extents import (
    NoExtentError,
    busy_sizes,
    byte_extent,
    count_elements,
    inexact_conditions,
    negative_sizes,
    pick_sizes,
)
from planish.poly.scop.extraction import Scop, extract_scop
from planish.poly.scop.factors import find_factors, with_factors
from planish.poly.scop.footprint import find_boxes
from planish.poly.scop.subscript_range import bound_subscript

SUBSCRIPTS = [
    "y * s + i", "(y * s + i) * t + y", "y * y - s * i", "7 - y * s", "min(y * s, i) + max(s * t, y)",
    "floordiv(y * s, 3) - i", "(y * s) % 5 + t", "s * t - y * t",
]  # fmt: skip


@pytest.mark.parametrize("text", SUBSCRIPTS)
@pytest.mark.parametrize("known", [frozenset[str](), frozenset({"s", "t"})])
def test_all_values_are_between_the_ends(text: str, known: frozenset[str]) -> None:
    at = parse_expr(text.replace("floordiv(y * s, 3)", "(y * s) // 3"))
    ranges = {"y": (parse_expr("a"), parse_expr("a + 3")), "i": (parse_expr("0"), parse_expr("2"))}
    ends = bound_subscript(at, ranges, known)
    assert ends is not None
    for a, s, t in product((-2, 0, 1) if not known else (0, 1), (0, 2, 3) if known else (-3, 0, 2), (0, 4)):
        if known and a < 0:
            continue
        low, high = (evaluate(x, {"a": a, "s": s, "t": t}) for x in ends)
        values = [evaluate(at, {"y": y, "i": i, "s": s, "t": t}) for y in range(a, a + 4) for i in range(3)]
        assert low <= min(values) <= max(values) <= high, (text, a, s, t)


def pooled(head: str = "src: f32[?]", at: str = "((y * s + i) * p + x * s) * n + c") -> Scop:
    loops = "for y in 0 .. h { for x in 0 .. w { for c in 0 .. n { for i in 0 .. 3 { out[y, x, c] += src[%s] } } } }"
    text = f"kernel k(h, w, n, s, p; {head}, out: f32[h, w, n]) {{ {loops % at} }}"
    return extract_scop(delinearise(parse_kernel(text)))


def test_rows_of_what_divides_all_strides() -> None:
    scop = pooled()
    assert [str(x) for x in scop.kernel.array("src").shape[:1]] == ["None"] and len(scop.kernel.array("src").shape) == 2
    (read,) = (x for x in scop.statements[0].accesses if x.array == "src")
    assert read.inexact == {0}
    assert negative_sizes(scop).is_empty() and inexact_conditions(scop) == ()
    last = byte_extent(scop, scop.kernel.array("src"))
    assert last is not None and evaluate(last, {"h": 4, "w": 5, "n": 7, "s": 2, "p": 20}) == (3 * 2 + 2) * 20 + 4 * 2
    sizes = {"h": 4, "w": 5, "n": 7, "s": 2, "p": 20}
    assert count_elements(scop, sizes)["src"] == ((3 * 2 + 2) * 20 + 4 * 2) * 7 + 7


def test_declared_extents_bound_the_sizes() -> None:
    scop = pooled("src: f32[p, p, n]", "y * s + i, x * s, c")
    assert find_factors(scop) == ("s",)
    found = pick_sizes(busy_sizes(with_factors(scop, (("s", 3),))), {"p": 20, "h": 99, "w": 99, "n": 4, "s": 3})
    assert found == {"p": 20, "h": 6, "w": 7, "n": 4, "s": 3}


def test_nothing_is_touched_where_nothing_runs() -> None:
    box = find_boxes(pooled().kernel)["src"]
    sizes = {"h": 2, "w": 2, "n": 3, "s": -1, "p": 10}
    assert [evaluate(x, sizes) for x in box.lower] == [-11, 0]
    assert [evaluate(x, {**sizes, "h": 0}) for x in (*box.lower, *box.upper)] == [0, 0, 0, 0]


def test_what_is_stored_has_to_be_known() -> None:
    with pytest.raises(NotAffineError):
        extract_scop(parse_kernel("kernel k(n, s; A: f32[?]) { for i in 0 .. n { A[i] = A[i * s] } }"))


def test_data_of_a_narrow_type_bound_a_subscript() -> None:
    text = "kernel k(n, m; t: f32[m], p: u8[n], A: f32[n]) { for i in 0 .. n { A[i] = t[index(p[i]) + 3] } }"
    scop = extract_scop(parse_kernel(text.replace("index(", "i64(")))
    found = pick_sizes(busy_sizes(scop), {"m": 5, "n": 9})
    assert found == {"m": 259, "n": 9}
    wide = extract_scop(parse_kernel(text.replace("u8", "i32").replace("index(", "i64(")))
    assert pick_sizes(busy_sizes(wide), {"m": 5, "n": 9}) == {"m": 5, "n": 9}
    with pytest.raises(NoExtentError):
        find_boxes(parse_kernel(text.replace("u8", "i32").replace("index(", "i64(").replace("f32[m]", "f32[?]")))
