"""Definitions of instructions: text and back, what they give, loops that are found, floats beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planish.core.diagnostic import PlanishError
from planish.isa.semantics import build, floats
from planish.isa.semantics.definition import LaneLoop, Put
from planish.isa.semantics.evaluate import Memory, evaluate
from planish.isa.semantics.node import Node, const
from planish.isa.semantics.reroll import roll, roll_sums
from planish.isa.semantics.text import parse_definition, print_definition

_TEXTS = (
    "(a: 32, b: 32) -> out: 32 { for i < 4 { out.u8[i] = u8(sat_s8(a.s8[i] + b.s8[i])) } }",
    "(a: 64, k: 8) -> out: 64 { for i < 8 { out.u8[i] = select(k.u1[i], a.u8[7 - i + 0], 0) } }",
    "(a: 32, n: 8 immediate) -> out: 32 { out.u32[0] = u32(a.u32[0] << n.u8[0]) }",
    "(p: 32 memory, a: 32) { for i < 4 { p.u8[i] = a.u8[i] if a.u1[8*i + 7] } }",
    "(a: 32 f32, b: 32 f32) -> out: 32 f32 { out.u32[0] = fma.f32(a.u32[0], b.u32[0], a.u32[0], 4) }",
    "(a: 32) -> out: 32 { let t0 = a.u8[0] * a.u8[1]; out.u32[0] = t0 ^ ~t0 }",
)


@pytest.mark.parametrize("text", _TEXTS)
def test_text_comes_back(text: str) -> None:
    once = print_definition(parse_definition(text))
    assert print_definition(parse_definition(once)) == once


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("(a: 8) -> out: 8 { out.u8[0] = b }", "`b` is not known"),
        ("(a: 8) -> out: 8 { out.x8[0] = 1 }", "a width stand behind the point"),
        ("(a: 8) -> out: 8 { out.u8[0] = frob(1) }", "`frob` is no operator"),
        ("(a: 8", "`)` is missing"),
        ("(a: 8) { } }", "stands behind the end"),
        ("(a: 8) { ? }", "is no part of a definition"),
    ],
)
def test_what_is_no_definition_is_refused(text: str, what: str) -> None:
    with pytest.raises(PlanishError, match="E0652") as caught:
        parse_definition(text)
    assert what in str(caught.value)


def _row(*values: int, bits: int = 8) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.array([values], f"i{bits // 8}").view(np.uint8)


def test_saturation_masks_and_memory() -> None:
    adds = parse_definition(_TEXTS[0])
    found = evaluate(adds, {"a": _row(100, -100, 1, -1), "b": _row(100, -100, 1, 1)}).result
    assert found.view(np.int8).tolist() == [[127, -128, 2, 0]]
    store = parse_definition(_TEXTS[3])
    memory = Memory(_row(1, 2, 3, 4, 5, 6), 1)
    left = evaluate(store, {"p": memory, "a": _row(-1, 1, -2, 2)}).memory["p"]
    assert left.view(np.int8).tolist() == [[1, -1, 3, -2, 5, 6]]


def test_what_nothing_is_put_into_is_not_defined() -> None:
    found = evaluate(parse_definition("(a: 8) -> out: 16 { out.u8[0] = a.u8[0] }"), {"a": _row(3)})
    assert found.defined.tolist() == [[255, 0]]


def _lane(operand: str, at: int, width: int = 8) -> Node:
    return build.bits(operand, const(at), width)


def test_blocks_of_lanes_become_nests() -> None:
    puts = [Put("out", const(8 * x), 8, _lane("a", 8 * (x % 4 + 8 * (x // 4)))) for x in range(16)]
    (outer,) = roll(puts)
    assert isinstance(outer, LaneLoop)
    (inner,) = outer.body
    assert isinstance(inner, LaneLoop)
    assert (outer.count, inner.count) == (4, 4)


def test_lanes_without_an_order_stay_as_they_are() -> None:
    puts = [Put("out", const(8 * x), 8, _lane("a", at)) for x, at in enumerate((8, 0, 24, 40, 16))]
    assert roll(puts) == tuple(puts)


def test_terms_become_sums() -> None:
    products = [build.multiply(_lane("a", 8 * x), build.bits("b", const(8 * x), 8, True)) for x in range(4)]
    total = roll_sums(build.add(build.bits("c", const(0), 32, True), *products))
    assert [x.op for x in total.args] == ["bits", "sum"]
    assert total.args[1].attr[1] == 4


def test_terms_become_sums_of_sums() -> None:
    places = [(y, x) for y in range(4) for x in (0, 1)]
    products = [build.multiply(_lane("a", 8 * (4 * y + x)), _lane("b", 8 * (64 * y + x))) for y, x in places]
    total = roll_sums(build.add(build.bits("c", const(0), 32, True), *products))
    assert [x.op for x in total.args] == ["bits", "sum"]
    outer = total.args[1]
    assert (outer.attr[1], outer.args[0].op, outer.args[0].attr[1]) == (4, "sum", 2)


_OPERATORS = ["add", "mul", "and", "or", "xor", "shl", "wrap", "sat", "select"]


@given(st.lists(st.sampled_from(_OPERATORS), max_size=8), st.data())
@settings(max_examples=200, deadline=None)
def test_constructors_keep_the_value(ops: list[str], data: st.DataObject) -> None:
    """A tree made by the constructors is what Python's numbers say of it."""
    left, right = data.draw(st.integers(0, 255)), data.draw(st.integers(0, 255))
    value, tree = left, _lane("a", 0)
    for op in ops:
        constant = data.draw(st.integers(-300, 300))
        match op:
            case "add":
                value, tree = value + constant + right, build.add(tree, const(constant), _lane("a", 8))
            case "mul":
                value, tree = value * constant, build.multiply(tree, const(constant))
            case "and":
                value, tree = value & constant, build.conjoin(tree, const(constant))
            case "or":
                value, tree = value | right, build.disjoin(tree, _lane("a", 8))
            case "xor":
                value, tree = value ^ constant, build.exclude(tree, const(constant))
            case "shl":
                value, tree = value << 3, build.shift_left(tree, const(3))
            case "wrap":
                value, tree = ((value & 0xFFFF) ^ 0x8000) - 0x8000, build.wrap(tree, 16, True)
            case "sat":
                value, tree = min(max(value, 0), 255), build.saturate(tree, 8, False)
            case _:
                value, tree = (value if left < right else right), build.select(
                    build.less(_lane("a", 0), _lane("a", 8)), tree, _lane("a", 8)
                )  # fmt: skip
    low = build.wrap(tree, 64)
    definition = parse_definition("(a: 16) -> out: 64 { out.u64[0] = 0 }")
    body = (Put("out", const(0), 64, low),)
    made = type(definition)(definition.operands, definition.result, body)
    again = parse_definition(print_definition(made))
    for each in (made, again):
        found = evaluate(each, {"a": np.array([[left, right]], np.uint8)}).result
        assert int(found.view(np.uint64)[0, 0]) == value & ((1 << 64) - 1)


@pytest.mark.parametrize("name", ["f32", "f64"])
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_floats_are_as_numpy_has_them(name: str, data: st.DataObject) -> None:
    form = floats.FORMATS[name]
    kind = {"f32": np.float32, "f64": np.float64}[name]
    exact = st.floats(width=form.bits)
    a, b = (np.array([data.draw(exact)], kind) for _ in range(2))
    x, y = (int(v.view(f"u{form.bits // 8}")[0]) for v in (a, b))
    with np.errstate(all="ignore"):
        pairs = [
            (floats.add(name, x, y, 0), a + b), (floats.subtract(name, x, y, 0), a - b),
            (floats.multiply(name, x, y, 0), a * b), (floats.divide(name, x, y, 0), a / b),
            (floats.root(name, x, 0), np.sqrt(a)), (floats.round_scaled(name, x, 0, 0), np.rint(a)),
        ]  # fmt: skip
    for got, want in pairs:
        bits = int(want.view(f"u{form.bits // 8}")[0])
        assert got == bits or (floats.is_nan(form, got) and np.isnan(want[0]))


def test_ways_of_rounding_and_integers() -> None:
    third = [floats.divide("f32", 0x3F800000, 0x40400000, mode) for mode in range(5)]
    assert third == [0x3EAAAAAB, 0x3EAAAAAA, 0x3EAAAAAB, 0x3EAAAAAA, 0x3EAAAAAB]
    assert floats.to_integer("f32", 0x40200000, 32, True, 0) == 2  # 2.5, to even
    assert [floats.add("f32", 0x3F800000, x, 9) for x in (0, 1, 0x80000001)] == [0x3F800000, 0x3F800001, 0x3F7FFFFF]
    assert [floats.multiply("f32", 0x7F7FFFFF, 0xC0000000, x) for x in (0, 9, 10)] == [
        0xFF800000, 0xFF7FFFFF, 0xFF800000
    ]  # fmt: skip
    assert floats.to_integer("f32", 0x7FC00000, 32, True, 0) == -(1 << 31)
    assert floats.from_integer("f32", (1 << 24) + 1, 2) == 0x4B800001
    assert floats.convert("f16", "f32", 0x3F800000, 0) == 0x3C00
