"""Orders of chains: the optimum against all parenthesisations, what is a chain, and what a kernel chooses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from operations import GEMM, GEMV, GER, apply, einsum, matrix, raised, turned
from written import run

from planish.ir.expr import index
from planish.ir.nest import Array
from planish.ir.types import F64
from planish.raising.algebra.contraction_path import Order, as_chain, best_order, cost_of, show
from planish.raising.algebra.cost import Model
from planish.raising.algebra.effects import study
from planish.raising.algebra.rewrite import improve
from planish.raising.algebra.rule_context import Setting
from planish.raising.algebra.rules.matrix_chain import winners
from planish.raising.algebra.rules.product_flattening import gather
from planish.raising.raised import Apply, Choice, Raised
from planish.target.load import load_target

TARGET = load_target("x86-avx512")


def multiplications(a: int, b: int, c: int) -> float:
    return float(a * b * c)


def all_orders(first: int, end: int) -> Iterator[Order]:
    """Every parenthesisation of the matrices from first to end."""
    if end == first + 1:
        yield first
    for middle in range(first + 1, end):
        for left in all_orders(first, middle):
            for right in all_orders(middle, end):
                yield left, right


@pytest.mark.parametrize("count", range(2, 8))
def test_the_best_order_is_the_best_of_all(count: int) -> None:
    source = random.Random(count)
    orders = list(all_orders(0, count))
    for _ in range(40):
        sizes = [source.choice((1, 2, 3, 10, 50, 400)) for _ in range(count + 1)]
        for price in (multiplications, lambda a, b, c: a * b * c + 20.0 * a * c + 7):
            best = best_order(sizes, price)
            assert best in orders
            assert cost_of(best, sizes, price) == min(cost_of(x, sizes, price) for x in orders)


def test_orders_that_win_serve_all_sizes() -> None:
    for count in (3, 4, 5):
        sizes = [index(x) for x in "abcdef"[: count + 1]]
        found, dropped = winners(sizes, multiplications, 100)
        assert not dropped
        source = random.Random(count)
        for _ in range(200):
            numbers = [source.choice((4, 30, 200, 1500)) for _ in sizes]
            best = min(cost_of(x, numbers, multiplications) for x in all_orders(0, count))
            assert min(cost_of(x, numbers, multiplications) for x in found) <= 1.1 * best
    assert winners([index(1000), index("n"), index(1), index("m")], multiplications, 9)[0] == [((0, 1), 2)]


def chain(sizes: list[int | str], order: Order, seen: bool = False) -> Raised:
    """A product of matrices M0, M1, .. computed in that order, the inner results in local arrays."""
    matrices = [matrix(f"M{n}", a, b) for n, (a, b) in enumerate(pairwise(sizes))]
    locals: list[Array] = []
    steps: list[Apply] = []
    out = matrix("R", sizes[0], sizes[-1])

    def build(x: Order, top: bool) -> Array:
        if isinstance(x, int):
            return matrices[x]
        left, right = build(x[0], False), build(x[1], False)
        result = out if top else Array(f"T{len(locals)}", F64, (left.shape[0], right.shape[1]))
        if not top:
            locals.append(result)
        steps.append(apply(GEMM, {"A": left, "B": right, "C": result}))
        return result

    build(order, True)
    return raised([*matrices, out, *(locals if seen else [])], list(steps), [] if seen else locals)


def left_to_right(count: int) -> Order:
    order: Order = 0
    for n in range(1, count):
        order = (order, n)
    return order


def same_results(before: Raised, after: Raised, sizes: dict[str, int]) -> None:
    source = np.random.default_rng(3)
    values: dict[str, object] = dict(sizes)
    for array in before.kernel.arrays:
        shape = [sizes.get(getattr(x, "name", ""), getattr(x, "value", 0)) for x in array.shape]
        values[array.name] = source.integers(-2, 3, shape).astype("float64")
    want, got = run(before, values), run(after, values)
    for array in before.kernel.arrays:
        np.testing.assert_array_equal(got[array.name], want[array.name])


def order_of(kernel: Raised) -> Order:
    """The order in which the steps of a kernel multiply."""
    made: dict[str, Order] = {f"M{n}": n for n in range(20)}
    for step in kernel.steps:
        assert isinstance(step, Apply)
        a, b = step.operands["A"].array, step.operands["B"].array
        made[step.operands["C"].array] = made[a], made[b]
    return made["R"]


# Chains of 4, 5 and 6 matrices as in table II of Multi-Level Tactics (CGO 2021), and one of sizes that differ more.
CHAINS: list[list[int | str]] = [
    [800, 1100, 900, 1200, 100],
    [1000, 2000, 900, 1500, 600, 800],
    [1500, 400, 2000, 2200, 600, 1400, 1000],
    [300, 10, 200, 5, 400, 20, 30, 7, 90],
]


@pytest.mark.parametrize("sizes", CHAINS)
def test_chains_of_known_sizes_take_the_best_order(sizes: list[int | str]) -> None:
    numbers = [int(x) for x in sizes]
    count = len(sizes) - 1
    best = best_order(numbers, multiplications)
    for order in (left_to_right(count), best):
        fresh, remarks = improve(chain(sizes, order), TARGET, "reassociate")
        assert cost_of(order_of(fresh), numbers, multiplications) <= 1.02 * cost_of(best, numbers, multiplications)
        assert any(x.id == "algebra-chain" for x in remarks)


def test_small_chains_of_any_length_and_order_compute_the_same() -> None:
    source = random.Random(1)
    for _ in range(15):
        count = source.randint(3, 6)
        sizes: list[int | str] = [source.choice((0, 1, 2, 3, 5, 9)) for _ in range(count + 1)]
        before = chain(sizes, source.choice(list(all_orders(0, count))))
        after, _ = improve(before, TARGET, "reassociate")
        same_results(before, after, {})


def test_symbolic_chains_choose_when_they_run() -> None:
    source = random.Random(2)
    for count in (3, 4, 5):
        names: list[int | str] = list("abcdef"[: count + 1])
        before = chain(names, left_to_right(count))
        after, remarks = improve(before, TARGET, "reassociate")
        (choice,) = after.steps
        assert isinstance(choice, Choice)
        assert 2 <= len(choice.cases) <= 6
        assert any("as the sizes are" in x.message for x in remarks)
        for _ in range(4):
            same_results(before, after, {str(x): source.choice((0, 1, 2, 3, 7)) for x in names})


def test_new_arrays_ask_that_their_extents_are_not_negative() -> None:
    before = chain(["a", 1000, 1, 1000], left_to_right(3))
    after, _ = improve(chain([1000, 1, "a", 7], left_to_right(3)), TARGET, "reassociate")
    assert before.steps != after.steps
    assert all(not isinstance(x, Apply) or x.conditions == () for x in after.steps)
    after, _ = improve(chain([3, "b", "a", 1000, 2], (0, (1, (2, 3)))), TARGET, "reassociate")
    steps = [y for x in after.steps for y in (x.cases[0].steps if isinstance(x, Choice) else (x,))]
    assert all(isinstance(x, Apply) for x in steps)


def test_results_that_are_seen_keep_their_order() -> None:
    before = chain([10, 1000, 10, 1000, 5], left_to_right(4), seen=True)
    after, remarks = improve(before, TARGET, "reassociate")
    assert order_of(after) == left_to_right(4)
    assert any("is seen after the kernel" in x.message for x in remarks)


def test_a_long_chain_is_ordered_fast() -> None:
    sizes: list[int | str] = [10 * (1 + (n * 7) % 11) for n in range(25)]
    after, _ = improve(chain(sizes, left_to_right(24)), TARGET, "reassociate")
    numbers = [int(x) for x in sizes]
    best = best_order(numbers, multiplications)
    made: dict[str, Order] = {f"M{n}": n for n in range(24)}
    for step in after.steps:
        assert isinstance(step, Apply)
        made[step.operands["C"].array] = made[step.operands["A"].array], made[step.operands["B"].array]
    old = cost_of(left_to_right(24), numbers, multiplications)
    assert cost_of(made["R"], numbers, multiplications) < 1.02 * cost_of(best, numbers, multiplications) < old


def parts(kernel: Raised) -> tuple[list[str], tuple[str, ...]] | None:
    """The arrays of the chain that the last step of a kernel is, and the letters between them."""
    setting = Setting(Model(TARGET, (dict.fromkeys(kernel.kernel.sizes, 10),)), "reassociate")
    found = as_chain(gather(study(kernel), setting, len(kernel.steps) - 1).product)
    return None if found is None else ([x.view.array for x in found.factors], found.between)


def test_what_is_a_chain() -> None:
    A, B, C, t = matrix("A", "m", "k"), matrix("B", "k", "n"), matrix("C", "p", "m"), matrix("t", "m", "n")
    # (A B)' C' = B' A' C'
    R = matrix("R", "n", "p")
    steps = [apply(GEMM, {"A": A, "B": B, "C": t}), apply(GEMM, {"A": turned(t), "B": turned(C), "C": R})]
    found = parts(raised([A, B, C, R], list(steps), [t]))
    assert found is not None
    assert found[0] in (["B", "A", "C"], ["C", "A", "B"])
    # x' A y
    x, y, s, v = matrix("x", "m"), matrix("y", "k"), matrix("s"), matrix("v", "m")
    dot = [apply(GEMV, {"A": A, "x": y, "y": v}), apply(einsum("i,i->"), {"A": x, "B": v, "C": s})]
    found = parts(raised([A, x, y, s], list(dot), [v]))
    assert found is not None
    assert found[1][0] == found[1][-1] == ""
    # (u v') A
    o, R = matrix("o", "m", "m"), matrix("R", "m", "k")
    outer = [apply(GER, {"x": x, "y": v, "A": o}), apply(GEMM, {"A": o, "B": A, "C": R})]
    found = parts(raised([x, v, A, R], list(outer), [o]))
    assert found is not None
    assert "" in found[1][1:-1]
    # Three operands that share one dimension are no chain.
    wide, three = matrix("w", "m", "n", "p"), matrix("R", "n", "p")
    first = apply(einsum("in,ip->inp"), {"A": t, "B": turned(C), "C": wide})
    triple = [first, apply(einsum("inp,i->np"), {"A": wide, "B": x, "C": three})]
    assert parts(raised([t, C, x, three], list(triple), [wide])) is None


def test_batches_of_chains() -> None:
    A, B, C = (matrix(x, "b", *y) for x, y in zip("ABC", ((6, 300), (300, 5), (5, 400)), strict=True))
    t, R = matrix("t", "b", 300, 400), matrix("R", "b", 6, 400)
    product = einsum("bik,bkj->bij")
    steps = [apply(product, {"A": B, "B": C, "C": t}), apply(product, {"A": A, "B": t, "C": R})]
    before = raised([A, B, C, R], list(steps), [t])
    after, _ = improve(before, TARGET, "reassociate")
    assert [x.name for x in after.locals] != ["t"]
    assert [x.operation.name for x in after.steps if isinstance(x, Apply)] == ["batched_gemm"] * 2


def test_orders_are_shown() -> None:
    assert show((0, (1, 2)), "ABC") == "A (B C)"


def test_the_order_for_the_usual_sizes_is_among_those_chosen_from() -> None:
    names = [index(f"n{i}") for i in range(7)]
    usual = (1500, 400, 2000, 2200, 600, 1400, 1000)
    price = lambda rows, depth, columns: float(rows * depth * columns)  # noqa: E731
    assert best_order(usual, price) not in winners(names, price, 2)[0]
    orders, dropped = winners(names, price, 2, [usual])
    assert orders[0] == best_order(usual, price) and len(orders) == 2 and dropped
