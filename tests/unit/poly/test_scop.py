"""What the polyhedral view says of a kernel."""

from __future__ import annotations

import pytest

from planish.astgen.checking.verify import list_instances
from planish.ir.text.parser import parse_kernel
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import Scop, extract_scop


def read(text: str, head: str = "n, m; A: f64[n], B: f64[n]") -> Scop:
    """The scop of a kernel with the given body."""
    return extract_scop(parse_kernel(f"kernel k({head}) {{ {text} }}"))


def instances(scop: Scop, **sizes: int) -> list[tuple[str, tuple[int, ...]]]:
    """The instances in their order."""
    return [x for _, x in list_instances(scop.schedule, sizes)]


def test_steps_start_at_the_lower_bound() -> None:
    scop = read("for i in m .. n step 3 { A[i] = 0.0 }")
    assert instances(scop, n=9, m=2) == [("S0", (2,)), ("S0", (5,)), ("S0", (8,))]
    assert instances(scop, n=2, m=2) == []


def test_both_sides_of_a_guard() -> None:
    scop = read("for i in 0 .. n { if i % 2 == 0 || i > m { A[i] = 0.0 } else { B[i] = 0.0 } }")
    assert instances(scop, n=5, m=2) == [("S0", (0,)), ("S1", (1,)), ("S0", (2,)), ("S0", (3,)), ("S0", (4,))]


def test_bounds_with_min_and_max_are_convex() -> None:
    scop = read("for i in max(m, 0) .. min(n, m + 7) { A[i] = 0.0 }")
    assert scop.statements[0].domain.n_basic_set() == 1
    assert instances(scop, n=3, m=-2) == [("S0", (i,)) for i in range(3)]


def test_a_loop_inside_one_of_the_same_name_is_told_apart() -> None:
    kernel = parse_kernel("kernel k(n; A: f64[n]) { for i in 0 .. n { for j in 0 .. i { A[j] = 0.0 } } }")
    scop = extract_scop(kernel)
    assert scop.statements[0].iterators == ("i", "j")
    twice = read("for i in 0 .. n { A[i] = 0.0 } for i in 0 .. n { B[i] = 0.0 }")
    assert [s.loops for s in twice.statements] == [(0,), (1,)]


def test_names_that_are_words_to_isl() -> None:
    scop = read("for mod in 0 .. `min` { A[mod] = 0.0 }", "`min`; A: f64[`min`]")
    assert instances(scop, min=2) == [("S0", (0,)), ("S0", (1,))]


def test_assumptions_are_the_context() -> None:
    kernel = parse_kernel("kernel k(n; A: f64[n]) assume n > 3 assume n % 2 == 0 { for i in 0 .. n { A[i] = 0.0 } }")
    scop = extract_scop(kernel)
    assert str(scop.context) == "[n] -> {  : (n) mod 2 = 0 and n >= 4 }"


def test_accesses_of_an_update() -> None:
    scop = read("for i in 1 .. n { A[i] += A[i - 1] * B[i] }")
    found = [(a.array, a.write, str(a.index)) for a in scop.statements[0].accesses]
    assert [x[:2] for x in found] == [("A", True), ("A", False), ("A", False), ("B", False)]
    assert scop.statements[0].reduction == "add"


def test_an_empty_kernel() -> None:
    assert read("").statements == ()
    assert instances(read("for i in 0 .. n { }"), n=3, m=0) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("for i in 0 .. n { A[i * i] = 0.0 }", "multiplies"),
        ("for i in 0 .. n { if A[i] > 0.0 { A[i] = 0.0 } }", "content of `A`"),
        ("for i in 0 .. n { let x = A[i] A[i] = 0.0 B[i] = x }", "changes before its last use"),
        ("for i in 0 .. n { let x = A[i] for j in 0 .. n { B[j] = x A[j] = 1.0 } }", "changes before its last use"),
        ("for i in 0 .. n { let x = A[i] let y = x + 1.0 A[i] = 0.0 B[i] = y }", "changes before its last use"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    with pytest.raises(NotAffineError, match=reason):
        read(text)


def test_values_that_stay_may_be_bound() -> None:
    scop = read("for i in 0 .. n { let x = A[i] let y = x + 1.0 B[i] = y A[i] = x }")
    assert [tuple(let.var for let in s.lets) for s in scop.statements] == [("x", "y"), ("x",)]
    assert [a.array for a in scop.statements[0].accesses] == ["B", "A"]
