"""Rules are equalities: each way to write a term gives its low bits, for all values of two numbers of 8 bits."""

from itertools import product

import pytest

from planish.isa.semantics import build
from planish.isa.semantics.node import const, node
from planish.select import cases, exhaustive, proof
from planish.select.forms.difference_masks import masks_by_difference
from planish.select.forms.split_products import split_products
from planish.select.rules import alternatives, mask_of, opposite


def read(name, signed=False, width=8):
    return build.bits(name, const(0), width, signed)


def terms(x, y):
    """Terms of two numbers to which rules apply."""
    difference = build.subtract(x, y)
    yield build.absolute(difference)
    yield from (build.shift_right(build.add(x, y, const(up)), const(1)) for up in (0, 1))
    yield from (build.shift_right(build.add(x, const(1 << by - 1)), const(by)) for by in (1, 3))
    yield build.saturate(build.add(x, y), 8, x.low < 0)
    for condition in (build.less(x, y), build.at_most(x, y), build.equal(x, y), build.less(x, const(7))):
        for found in (condition, opposite(condition)):
            yield mask_of(found)
            yield found
            yield build.select(found, x, y)
            yield build.select(found, x, build.ZERO)
            yield build.select(found, const(9), const(4))
            yield build.add(x, found)
    for most in (100, 20):
        yield build.select(build.less(x, y), y, build.minimum(x, const(most)))
        yield build.select(build.less(build.maximum(x, const(30)), y), y, build.minimum(x, const(most)))
    both = build.conjoin(build.less(x, y), build.less(const(3), x))
    yield mask_of(both)
    yield build.select(both, y, x)
    yield mask_of(build.truth(build.wrap(build.shift_right(x, const(2)), 1)))
    yield node("shl", (x, build.wrap(y, 2)))
    yield node("shr", (x, build.wrap(y, 2)))


@pytest.mark.parametrize("signed", list(product((False, True), repeat=2)))
def test_each_way_to_write_a_term_is_that_term(signed):
    x, y = (read(name, kind) for name, kind in zip("xy", signed, strict=True))
    seen = 0
    for term in terms(x, y):
        for other in (*alternatives(term, 8), *masks_by_difference(term, 8)):
            assert exhaustive.are_equal(term, other, 8), (term, other)
            seen += 1
    assert seen > 60


@pytest.mark.parametrize("width", [16, 32])
def test_what_rules_say_is_shown_by_cases_in_wider_numbers(width):
    x, y = read("x", width=width), read("y", width=width)
    shown = [build.absolute(build.subtract(x, y)), build.select(build.less(x, y), x, y), mask_of(build.less(x, y))]
    clamped = build.select(build.less(x, y), y, build.minimum(x, read("z", width=width)))
    for term in (*shown, clamped, mask_of(build.equal(x, y)), build.shift_right(build.add(x, y), const(1))):
        for other in (*alternatives(term, width), *masks_by_difference(term, width)):
            if term is clamped and other.op not in ("max", "select"):
                continue  # bits that are chosen one by one
            assert cases.are_equal(term, other, width), (term, other)


def test_what_is_not_the_same_is_not_shown():
    x, y = read("x", width=16), read("y", width=16)
    up = build.maximum(build.subtract(x, y), build.ZERO)
    assert not cases.are_equal(build.absolute(build.subtract(x, y)), up, 16)
    assert not cases.are_equal(mask_of(build.less(x, y)), mask_of(build.at_most(x, y)), 16)
    assert not cases.are_equal(build.wrap(build.add(x, y), 16), build.minimum(build.add(x, y), const(65535)), 16)
    assert exhaustive.are_equal(read("x"), read("y"), 8) is False


def test_halves_are_shown_only_of_the_same_two_numbers():
    x, y, z = (read(name, width=16) for name in "xyz")
    half = build.shift_right(build.add(x, y), const(1))
    for a, b, same in ((x, y, True), (x, z, False)):
        made = build.add(build.conjoin(a, b), build.shift_right(build.exclude(x, y), const(1)))
        assert cases.are_equal(half, made, 16) is same


def test_shifts_by_less_than_nothing_leave_what_is_shifted():
    """Where a case fixes the amount, too: a case must not say more than the values do."""
    x, y = read("x", width=4), read("y", signed=True, width=3)
    for op in ("shl", "shr"):
        assert build.construct(op, (x, const(-2)), ()) is x
    for op, other in ((op, z) for op in ("shl", "shr") for z in (x, build.multiply(x, const(4)), const(0))):
        made = build.construct(op, (build.multiply(x, const(4)), y), ())
        for condition in (build.equal(y, const(-2)), build.less(y, const(-3))):
            first, second = (build.select(condition, z, build.ZERO) for z in (made, other))
            if cases.are_equal(first, second, 8):
                assert exhaustive.are_equal(first, second, 8)
    amount = build.invert(build.less(x, const(3)))
    shifted = build.construct("shl", (build.multiply(x, const(4)), amount), ())
    assert not cases.are_equal(shifted, build.ZERO, 8)


def test_ends_of_a_width_around_its_low_bits_are_what_is_saturated():
    """However the ends are compared; where one is another number, or compared elsewhere, it stays a choice."""
    x = build.add(read("x", width=10), const(-300))
    saturated = 0
    for signed, low, high in ((False, 0, 255), (True, -128, 127)):
        cut = build.wrap(x, 8, signed)
        for least, most in product(range(low - 2, low + 3), range(high - 2, high + 3)):
            below, above = node("lt", (x, const(least))), node("lt", (const(most), x))
            tests = (below, const(low)), (above, const(high))
            for first, second in (tests, tests[::-1]):
                made = build.select(*first, build.select(*second, cut))
                plain = node("select", (*first, node("select", (*second, cut))))
                assert exhaustive.are_equal(made, plain, 16)
                saturated += made.op == "sat"
    assert saturated == 16
    assert build.select(build.less(x, const(0)), const(0), build.wrap(x, 8)).op == "select"


def test_bits_of_many_comparisons_are_told_without_cases():
    """Masks and their bits are multiples of what is compared; another bit is another number."""
    x, *others = (read(name) for name in "xabcdefgh")
    told = [build.at_most(x, y) for y in others]
    wanted = build.add(*(build.multiply(y, const(1 << at)) for at, y in enumerate(told)))
    masks = [build.select(y, const(255), build.ZERO) for y in told]
    bits = build.add(*(node("and", (y, const(1 << at))) for at, y in enumerate(masks)))
    taken = build.add(*(build.multiply(y, const(-(1 << at))) for at, y in enumerate(masks)))
    other = build.add(*(node("and", (y, const(1 << (at + 1) % 8))) for at, y in enumerate(masks)))
    assert proof.same(wanted, bits, 8) and proof.same(wanted, taken, 8)
    assert not proof.same(wanted, other, 8)
    assert not proof.same(wanted, taken, 16)


@pytest.mark.parametrize(("by", "up"), [(31, 1 << 30), (31, 0), (40, 1 << 39), (8, 1 << 7), (17, 0)])
def test_quotients_of_products_of_words_are_made_of_halves(by, up):
    a, b = read("x", True, 9 if by < 31 else 32), read("y", True, 31 if by > 31 else 32)
    quotient = build.shift_right(build.add(build.multiply(a, b), const(up)), const(by))
    (other,) = split_products(quotient, 32)
    assert proof.same(quotient, other, 32)
    assert not proof.same(quotient, build.add(other, const(1)), 32)


def test_products_that_may_not_be_split_are_not():
    a, b, c = (read(name, True, 32) for name in "xyz")
    product = build.multiply(a, b)
    for whole, up, by in ((product, 1 << 20, 31), (product, 1 << 29, 30), (build.add(product, c), 1 << 30, 31)):
        assert not list(split_products(build.shift_right(build.add(whole, const(up)), const(by)), 32))


@pytest.mark.parametrize("signed", list(product((False, True), repeat=2)))
def test_low_products_of_words_are_made_of_halves(signed):
    a, b = (read(name, kind, 32) for name, kind in zip("xy", signed, strict=True))
    for term in (build.multiply(a, b), build.multiply(a, const(2654435761))):
        (other,) = split_products(term, 32)
        assert proof.same(term, other, 32)
        assert not proof.same(term, build.add(other, const(1 << 31)), 32)


def test_shifts_that_round_are_half_a_sum_for_each_amount():
    x, n = read("x", True, 32), read("n", False, 6)
    half = build.shift_right(build.shift_left(const(1), n), const(1))
    rounded = build.shift_right(build.add(x, half), n)
    assert (rounded.low, rounded.high) == (x.low, x.high)
    (other,) = (y for y in alternatives(rounded, 32) if y.op == "shr" and y.args[1].constant == 1)
    assert proof.same(rounded, other, 32) and not proof.same(rounded, build.shift_right(x, n), 32)
