"""Proofs that nests run what is scheduled: right nests are proven, spoilt ones are found out by an example.

>>> verdict_of("{ S[i] -> [i] : 0 <= i < 9 }", "for i in 0 .. 9 { S[i] = true }")
'proven'
"""

from __future__ import annotations

import islpy as isl
import pytest

from planish.astgen.checking.positions import list_positions, read_items
from planish.astgen.checking.symbolic import verify_map, verify_tree
from planish.astgen.checking.times import list_times, map_times
from planish.astgen.checking.verify import record
from planish.astgen.generate import generate
from planish.ir.nest import Block
from planish.ir.text.parser import parse_kernel

ARRAYS = "S: bool[9], T: bool[9], A: bool[9, 9], E: bool[]"
WORK_LIMIT = 5_000_000


def nest_of(text: str) -> Block:
    return parse_kernel(f"kernel test(n, m; {ARRAYS}) {{ {text} }}").body


def verdict_of(schedule: str, text: str, context: str = "[n, m] -> { : }", operations: int = WORK_LIMIT) -> str:
    return str(verify_map(nest_of(text), isl.UnionMap(schedule), isl.Set(context), operations))


ROW = "[n] -> { S[i] -> [i] : 0 <= i < n }"


BOTH = "[n] -> { S[i] -> [i, 0] : 0 <= i < n; T[i] -> [i, 1] : 0 <= i < n }"
APART = "[n] -> { S[i] -> [0] : 0 <= i < n; T[i] -> [1] : 0 <= i < n }"
TWICE = "[n] -> { S[i] -> [t] : 0 <= i < n and i <= t <= i + 1 }"
ROUNDS = "[n, m] -> { S[i] -> [t] : 0 <= i < n and 0 <= t < m }"
SLANTED = "[n] -> { A[i, j] -> [i + j] : 0 <= i, j < n }"

RIGHT = {
    "a row": (ROW, "for i in 0 .. n { S[i] = true }"),
    "extrema": (ROW, "for i in max(0, -n) .. min(n, n + 4) { S[i] = true }"),
    "tiles": (ROW, "for b in 0 .. n step 4 { for i in b .. min(b + 4, n) { S[i] = true } }"),
    "pairs": (
        ROW,
        "for i in 0 .. n // 2 * 2 step 2 { S[i] = true S[i + 1] = true } if n % 2 == 1 && n > 0 { S[n - 1] = true }",
    ),
    "alternatives": (ROW, "for i in 0 .. n { if i < 5 { S[i] = true } else { S[i] = true } }"),
    "a value": (ROW, "for i in 0 .. n { let k = n - i S[n - k] = true }"),
    "a choice": (ROW, "for i in 0 .. n { S[select(i < 3, i, 2 * i - i)] = true }"),
    "two statements": (BOTH, "for i in 0 .. n { S[i] = true T[i] = true }"),
    "any order": ("[n] -> { S[i] -> [0] : 0 <= i < n }", "for i in 0 .. n { S[n - 1 - i] = true }"),
    "diagonals": (
        SLANTED,
        "for t in 0 .. 2 * n - 1 { for i in max(0, t - n + 1) .. min(n, t + 1) { A[i, t - i] = true } }",
    ),
    "one instance": ("{ E[] -> [0] }", "E[] = true"),
    "a condition": ("[n] -> { E[] -> [0] : n >= 3 }", "if n >= 3 { E[] = true }"),
    "twice each": (TWICE, "for t in 0 .. n + 1 { if t < n { S[t] = true } if t > 0 { S[t - 1] = true } }"),
    "in rounds": (ROUNDS, "for t in 0 .. m { for i in 0 .. n { S[i] = true } }"),
}


@pytest.mark.parametrize(("schedule", "text"), RIGHT.values(), ids=RIGHT.keys())
def test_what_is_right_is_proven(schedule: str, text: str) -> None:
    assert verdict_of(schedule, text) == "proven"


REPEATED = "{ S[i] -> [t] : 0 <= i < 4 and 0 <= t <= 1 }"

WRONG = {
    "too few": (ROW, "for i in 0 .. n - 1 { S[i] = true }", "is scheduled, and does not run"),
    "too many": (ROW, "for i in 0 .. max(0, n + 1) { S[i] = true }", "runs, and is not scheduled"),
    "twice": (
        ROW,
        "for i in 0 .. n { S[i] = true } if n == 7 { S[0] = true }",
        "S(0) runs twice, for n = 7",
    ),
    "backwards": (ROW, "for i in 0 .. n { S[n - 1 - i] = true }", "runs before"),
    "the first last": (ROW, "for i in 1 .. n { S[i] = true } if n > 0 { S[0] = true }", "S(1) runs before S(0)"),
    "another name": (ROW, "for i in 0 .. n { T[i] = true }", "S(0) is scheduled, and does not run"),
    "mixed": (APART, "for i in 0 .. n { S[i] = true T[i] = true }", "T(0) runs before S(1)"),
    "once only": (REPEATED, "for i in 0 .. 4 { S[i] = true }", "does not run as often as it is scheduled"),
    "thrice": (
        REPEATED,
        "for t in 0 .. 3 { for i in 0 .. 4 { S[i] = true } }",
        "runs more often than it is scheduled",
    ),
    "at once": (REPEATED, "for i in 0 .. 4 { S[i] = true S[i] = true }", "runs before"),
}


@pytest.mark.parametrize(("schedule", "text", "what"), WRONG.values(), ids=WRONG.keys())
def test_what_differs_is_told(schedule: str, text: str, what: str) -> None:
    verdict = verdict_of(schedule, text)
    assert verdict.startswith("differs: ") and what in verdict


def test_what_is_no_affine_expression_is_given_up() -> None:
    verdict = verdict_of(ROW, "for i in 0 .. n { S[i * n] = true }")
    assert verdict.startswith("given up: an expression cannot be read back: it multiplies")


def test_work_is_bounded() -> None:
    schedule = "[n] -> { A[i, j] -> [i mod 7, j mod 5, i] : 0 <= i, j < n }"
    assert verdict_of(schedule, "for i in 0 .. n { for j in 0 .. n { A[i, j] = true } }", operations=20) == (
        "given up: it takes too long"
    )


def test_the_context_is_assumed() -> None:
    text = "for i in 0 .. n { S[i] = true } S[0] = true"
    assert verdict_of(ROW, text, "[n, m] -> { : n = 0 }").startswith("differs")
    assert verdict_of("[n] -> { S[i] -> [i] : 0 <= i < n or i = -1 }", f"S[-1] = true {text[:31]}") == "proven"
    only_large = "for i in 0 .. 3 { S[i] = true } for i in 3 .. n { S[i] = true }"
    assert verdict_of(ROW, only_large, "[n, m] -> { : n >= 3 }") == "proven"
    assert verdict_of(ROW, only_large) == "differs: S(0) runs, and is not scheduled, for n = 0, m = 0"


SET = """
domain: "[n] -> { S[i] : 0 <= i < n; T[i] : 0 <= i < n }"
child:
  KIND:
  - filter: "[n] -> { S[i] }"
    child:
      schedule: "[n] -> [{ S[i] -> [(i)] }]"
  - filter: "[n] -> { T[i] }"
    child:
      schedule: "[n] -> [{ T[i] -> [(i)] }]"
"""


@pytest.mark.parametrize(
    ("text", "as_set", "as_sequence"),
    [
        ("for i in 0 .. n { S[i] = true } for i in 0 .. n { T[i] = true }", "proven", "proven"),
        ("for i in 0 .. n { T[i] = true } for i in 0 .. n { S[i] = true }", "proven", "differs"),
        ("for i in 0 .. n { T[i] = true S[i] = true }", "proven", "differs"),
        ("for i in 0 .. n { T[n - 1 - i] = true } for i in 0 .. n { S[i] = true }", "differs", "differs"),
    ],
)
def test_children_of_a_set_run_in_any_order(text: str, as_set: str, as_sequence: str) -> None:
    for kind, wanted in (("set", as_set), ("sequence", as_sequence)):
        assert verify_tree(nest_of(text), isl.Schedule(SET.replace("KIND", kind))).answer == wanted


def test_copies_of_unknown_number_are_paired() -> None:
    tree = isl.Schedule("""
domain: "[n, m] -> { S[i] : 0 <= i < n }"
child:
  schedule: "[n, m] -> [{ S[i] -> [i] }]"
  child:
    extension: "[n, m] -> { [i] -> T[k] : 0 <= k < m }"
    child:
      sequence:
      - filter: "[n, m] -> { T[k] }"
        child:
          schedule: "[n, m] -> [{ T[k] -> [-k] }]"
      - filter: "[n, m] -> { S[i] }"
""")
    right = "for i in 0 .. n { for k in 0 .. m { T[m - 1 - k] = true } S[i] = true }"
    assert str(verify_tree(generate(tree, record, frozenset({"n", "m"})), tree)) == "proven"
    assert verify_tree(nest_of(right.replace("k in 0 .. m", "k in 0 .. m - 1")), tree).answer == "differs"
    assert verify_tree(nest_of(right.replace("m - 1 - k", "k")), tree).answer != "proven"


def test_positions_name_sequence_and_loops() -> None:
    nest = nest_of("E[] = true for i in 0 .. n step 2 { S[i] = true if i > 2 { T[i] = true } }")
    found = list_positions(read_items(nest, isl.Set("[n] -> { : }")))
    assert found.is_equal(isl.UnionMap(
        "[n] -> { E[] -> [0, 0, 0]; S[i] -> [1, i, 0] : 0 <= i < n and i mod 2 = 0;"
        " T[i] -> [1, i, 1] : 2 < i < n and i mod 2 = 0 }"
    ))  # fmt: skip


def test_times_are_listed() -> None:
    times = map_times(isl.UnionMap("[n] -> { S[i] -> [i, 0] : 0 <= i < n; E[] -> [1] }"), isl.Set("[n] -> { : }"))
    assert list_times(times, {"n": 2}) == [((0, 0), ("S", (0,))), ((1, 0), ("E", ())), ((1, 0), ("S", (1,)))]
