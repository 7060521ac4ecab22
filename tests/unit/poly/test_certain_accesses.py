"""Arrays that may be read whether a condition holds or not, and near misses."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.poly.scop.certain_accesses import always_readable
from planish.poly.scop.extraction import extract_scop

SUM = "s[] += select(M[i] > 0:i32, A[i], 0:i32)"
NESTS = {
    "read in the same iteration": (f"for i in 0 .. n {{ B[i] = A[i] {SUM} }}", True),
    "read by a loop before": (f"for j in 0 .. n {{ B[j] = A[j] }} for i in 0 .. n {{ {SUM} }}", True),
    "stored by a loop behind": (f"for i in 0 .. n {{ {SUM} }} for j in 0 .. n {{ A[j] = 1:i32 }}", True),
    "between two": (f"B[0] = A[0] A[n - 1] += 1:i32 for i in 0 .. n {{ {SUM} }}", True),
    "not the last": (f"for j in 0 .. n - 1 {{ B[j] = A[j] }} for i in 0 .. n {{ {SUM} }}", False),
    "where the loop runs, though it may not": (f"for j in 1 .. n {{ B[j] = A[j] }} for i in 1 .. n {{ {SUM} }}", True),
    "under another condition": (f"for i in 0 .. n {{ B[i] = select(M[i] > 3:i32, A[i], 1:i32) {SUM} }}", False),
    "stored under a condition": (f"for i in 0 .. n {{ B[i] = 1:i32 {SUM} "
                                 "C[i] = select(M[i] > 3:i32, 1:i32, C[i]) B[i] = select(M[i] > 2:i32, C[i], 0:i32) }",
                                 False),
    "at places that are data": (f"for i in 0 .. n {{ B[i] = A[M[i]] {SUM} }}", False),
    "another array": (f"for i in 0 .. n {{ B[i] = C[i] {SUM} }}", False),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTS)
def test_what_is_touched_in_any_case_may_be_read(name: str) -> None:
    body, known = NESTS[name]
    arrays = ", ".join(f"{x}: i32[n]" for x in "ABCM")
    scop = extract_scop(parse_kernel(f"kernel k(n; {arrays}, s: i32[]) assume n >= 1 {{ {body} }}"))
    assert always_readable(scop) == ({"A"} if known else set())
