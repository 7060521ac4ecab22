"""Iterations are written out only where each cell that is read is known."""

from __future__ import annotations

import pytest

from planish.ir.nest import Assign, Let
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_stmt
from planish.library.loops.vector_strips.straight_line import NotStraight, straight_line


def iteration(body: str) -> tuple[Let | Assign, ...]:
    text = f"kernel k(n, p, q; A: u8[n], B: u8[n]) {{ alloc m: u8[n, 4] for i in 0 .. n {{ {body} }} }}"
    return straight_line(parse_kernel(text).body.body[1].body, {"m"}, {"m", "A", "B"})


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("m[i, p] = A[i] m[i, q] = B[i] B[i] = m[i, p]", "may be the same one"),
        ("m[p, 0] = A[i] m[i, 0] = 1:u8 B[i] = m[p, 0]", "may be the same one"),
        ("B[i] = m[i, 0]", "is read before it is written"),
        ("for j in 0 .. p { m[i, 0] = A[j] } B[i] = m[i, 0]", "has no constant bounds"),
        ("if i < p { m[i, 0] = A[i] } B[i] = 1:u8", "decides what it assigns"),
        ("for j in 0 .. 200 { m[i, 0] = A[i] } B[i] = m[i, 0]", "too many statements"),
    ],
)
def test_others_are_refused(body: str, reason: str) -> None:
    with pytest.raises(NotStraight, match=reason):
        iteration(body)


def test_cells_that_differ_are_kept_apart() -> None:
    made = iteration("m[i, 0] = A[i] m[i, 1] = B[i] B[i] = max(m[i, 0], m[i, 1])")
    assert "max(m_1, B_1)" in "".join(map(print_stmt, made))


def test_what_is_stored_later_is_read_before_it() -> None:
    made = [print_stmt(x).strip() for x in iteration("m[i, 0] = A[i] A[i] = B[i] B[i] = m[i, 0]")]
    assert [x.split(" = ")[0] for x in made] == ["let A_1", "let B_1", "A[i]", "B[i]"]
    assert made[2:] == ["A[i] = B_1", "B[i] = A_1"]
