"""Choices are read as rounded shifts, and as bounds of sizes, only where that is exact."""

from __future__ import annotations

import pytest

from planish.ir.text.parser import parse_kernel
from planish.isa.select.lane_values import Reader, read_nest
from planish.isa.semantics.node import Node, walk

WIDE = "(v[l] + (1:i32 << {less}) >> {by})"
LOW = "(p[l] & 31:i32)"
ROUNDED = WIDE.format(less=f"{LOW} - 1:i32", by=LOW)


def read(value: str) -> Node:
    head = "kernel f(n; k: i32; d: i32[4], v: i32[4], w: i16[4], p: i32[4])"
    kernel = parse_kernel(f"{head} {{ for l in 0 .. 4 {{ d[l] = {value} }} }}")
    nest = read_nest(kernel)
    return Reader({x.name: x for x in kernel.arrays}, nest).value(nest.value, {nest.lane: 1})


def chooses(value: str) -> bool:
    return any(x.op == "select" for x in walk([read(value)]))


@pytest.mark.parametrize(
    "value",
    [
        f"select({LOW} != 0:i32, {ROUNDED}, v[l])",
        f"select({LOW} == 0:i32, v[l], {ROUNDED})",
        f"select({LOW} != 0:i32, i32(i64({ROUNDED})), v[l])",
        f"select({LOW} != 0:i32, i32(i16({ROUNDED.replace('v[l]', 'i32(w[l])')})), i32(w[l]))",
        f"select(k > 0:i32, {WIDE.format(less='k - 1:i32', by='k')}, v[l])",
        f"select(i8(p[l]) != 0:i8, {ROUNDED}, v[l])",
    ],
)
def test_a_shift_by_what_may_be_0_is_one_shift(value: str) -> None:
    assert not chooses(value)


@pytest.mark.parametrize(
    "value",
    [
        f"select({LOW} != 0:i32, i32(u8({ROUNDED})), v[l])",
        f"select({LOW} == 0:i32, v[l], i32(i16({ROUNDED})))",
        f"select({LOW} != 0:i32, i32(u8({ROUNDED.replace('v[l]', 'i32(w[l])')})), i32(w[l]))",
        f"select((p[l] & 7:i32) != 0:i32, {ROUNDED}, v[l])",
        f"select(i8(p[l]) != 0:i8, {WIDE.format(less='p[l] - 1:i32', by='p[l]')}, v[l])",
        f"select(p[l] > 0:i32, {ROUNDED.replace('31', '7')}, v[l])",
        f"select(p[l] != 0:i32, {WIDE.format(less=f'{LOW} - 1:i32', by='p[l]')}, v[l])",
        f"select({LOW} != 0:i32, {WIDE.format(less=f'({LOW} - 1:i32 & 7:i32)', by=LOW)}, v[l])",
        f"select(k > 0:i32, {WIDE.format(less='(k - 1:i32 & 31:i32)', by='k')}, v[l])",
    ],
)
def test_what_is_cut_or_another_amount_stays_a_choice(value: str) -> None:
    assert chooses(value)


def test_a_size_is_bounded_in_types_that_hold_it() -> None:
    assert not chooses("v[l] >> select(n < 15, i32(n), 15:i32)")
    assert chooses("i32(select(n > 200, u8(n), 200:u8))")
    assert chooses("i32(w[l] >> select(n < 15, i16(n), 15:i16))")
