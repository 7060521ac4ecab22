"""What threads share out: parts that meet nowhere, memory of their own, and copies in another order."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.expr import index
from planish.ir.index.polynomial import mul
from planish.ir.nest import Array, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_stmt
from planish.ir.types import F64
from planish.library.kernels.tensor_transpose import share_transposition
from planish.library.parallel.work_sharing import are_apart, without_own
from planish.raising.algebra.product import Product
from planish.raising.algebra.product_writer import whole_term, write_product
from planish.raising.expansion import expand
from planish.raising.raised import Loops, Raised, Repeat, Shares

HEAD = "kernel k(n, share; own: f64[2, n], same: f64[2, n], other: f64[2, n], x: f64[n], y: f64[n])"


def left(text: str, bases: dict[str, str] | None = None, head: str = HEAD) -> str:
    kernel = parse_kernel(f"{head} {{ {text} }}")
    kept = without_own(kernel.body, "share", {x.name: x for x in kernel.arrays}, bases or {})
    return " ".join(" ".join(map(print_stmt, kept.body)).split())


def test_what_a_share_sets_for_itself_is_left_out() -> None:
    assert left("for i in 0 .. n { own[share, i] = x[i] } y[0] = own[share, 0]") == "y[0] = own[share, 0]"
    # Under two names, of which only one is asked for by the share's number.
    text = "own[share, 0] = 1.0 same[share, 1] = 2.0"
    assert left(text, {"same": "own"}) == ""
    assert left(text + " x[0] = same[0, 0]", {"same": "own"}).startswith("own[share, 0] = 1.0")
    # Of another shape: its first subscript says nothing.
    head = HEAD.replace("same: f64[2, n]", "same: f64[n, 2]")
    assert left(text, {"same": "own"}, head).startswith("own[share, 0] = 1.0")


def test_what_another_share_may_have_set_is_still_read() -> None:
    for text in (
        "y[0] = 1.0 own[share, 0] = y[1]", "y[0] = 1.0 let v = y[1] own[share, 0] = v",
        "own[share, 0] += other[1 - share, 0] other[share, 0] = own[share, 0] other[0, 0] = 1.0",
    ):  # fmt: skip
        assert "own[share, 0]" in left(text).partition(" = 1.0")[2] or left(text).startswith("own[share, 0]"), text


def test_the_first_of_several_shares_is_shorter_by_what_it_does_besides() -> None:
    text = "kernel k(n, part, width, share; A: f64[n], s: f64[9]) { for i in part .. min(n, part + width) {"
    body = parse_kernel(f"{text} A[i] += 1.0 s[share] += 1.0 }} }}").body
    arrays = (Array("A", F64, (index("n"),)), Array("s", F64, (index(9),)))
    for threads in (1, 2, 3, 4):
        step = Repeat("part", index(0), index("n"), 2, (Loops(body),), Shares(threads, "width", "share", 5))
        kernel = expand(Raised(Kernel("k", ("n",), arrays=arrays), (step,)))
        for n in (0, 1, 4, 5, 6, 10, 11, 20, 50, 51):
            values = {"n": n, "A": np.zeros(n), "s": np.zeros(9)}
            run_kernel(kernel, values)
            first = values["s"][0]
            assert (values["A"] == 1).all() and sum(values["s"]) == n
            assert first >= min(n, 5), "what is done besides needs as many"
            assert threads == 1 or first + 5 <= max(10, -(-(n + 5) // threads) + 1), "it has less"


def test_shares_of_other_widths_are_told_apart() -> None:
    around = parse_kernel("kernel k(n; A: f64[n]) { }")
    step = Repeat("part", index(0), index("n"), 2, (), Shares(2, "width", "share", 4))
    head = "kernel k(n, part, width; A: f64[n]) { for q in part .. 1 { for i in q .. min(n, q +"
    for count, apart in ((4, True), (5, False)):
        text = f"{head} {count}) {{ A[i] = 0.0 }} }} for i in part .. min(n, part + width) {{ A[i] += 1.0 }} }}"
        assert are_apart(step, parse_kernel(text).body, around) == apart
    # The other part is as wide as it likes.
    text = "kernel k(n, part, width; A: f64[n]) { for i in part .. min(n, part + width) { A[width] = 0.0 } }"
    assert not are_apart(step, parse_kernel(text).body, around)


@pytest.mark.parametrize("subscripts,apart", [("i, j", True), ("i, n * m - 1 - j", True), ("i, 0", False)])
def test_a_range_may_be_a_product_of_sizes(subscripts: str, apart: bool) -> None:
    step = Repeat("part", index(0), mul(index("n"), index("m")), 2, (), Shares(2, "width", "share"))
    loops = f"for i in 0 .. n {{ for j in part .. min(n * m, part + width) {{ A[{subscripts}] = 0.0 }} }}"
    around = parse_kernel("kernel k(n, m; A: f64[n, n * m]) { }")
    kernel = parse_kernel(f"kernel k(n, m, part, width; A: f64[n, n * m]) {{ {loops} }}")
    assert are_apart(step, kernel.body, around) == apart


@pytest.mark.parametrize("local,begins", [("A", "A"), ("B", "B"), ("", "B")])
def test_copies_are_shared_along_what_lies_far_apart_in_the_local_array(local: str, begins: str) -> None:
    extents = {"a": index("m"), "b": index("n")}
    arrays = {x: Array(x, F64, tuple(extents[y] for y in z)) for x, z in (("A", "ab"), ("B", "ba"))}
    terms = [whole_term(arrays[x], y) for x, y in (("B", "ba"), ("A", "ab"))]
    step = write_product(Product(terms[0], (terms[1],), extents, ""))
    cut = share_transposition(step, arrays, {local}, 2, {"m", "n"})
    assert cut is not None and cut.upper == (index("m") if begins == "A" else index("n"))
    kernel = Kernel("k", ("m", "n"), arrays=tuple(arrays.values()))
    for m, n in ((3, 80), (80, 3), (0, 5), (70, 65)):
        given = np.random.default_rng(m).random((m, n))
        values = {"m": m, "n": n, "A": given.copy(), "B": np.zeros((n, m))}
        run_kernel(expand(Raised(kernel, (cut,))), values)
        assert np.array_equal(values["B"], given.T)


def test_little_is_copied_by_one_thread() -> None:
    arrays = {x: Array(x, F64, (index(16), index(16))) for x in "AB"}
    terms = [whole_term(arrays[x], y) for x, y in (("B", "ba"), ("A", "ab"))]
    step = write_product(Product(terms[0], (terms[1],), {"a": index(16), "b": index(16)}, ""))
    assert share_transposition(step, arrays, (), 2, set()) is None
