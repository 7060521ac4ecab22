"""Contraction paths: a product of many operands as a matrix chain, and the orders to multiply it in.

The matrices of a chain are numbered; an order is a number, or a pair of orders whose results are multiplied.

>>> best_order((10, 1000, 10, 1000), lambda a, b, c: a * b * c)
((0, 1), 2)
>>> show(((0, 1), 2), "ABC")
'(A B) C'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from planish.raising.algebra.product import Product, ProductOperand

Order = int | tuple["Order", "Order"]


@dataclass(frozen=True, slots=True)
class FactorChain:
    """Factors in order, the letters between and around them ("" where there is none: one row, one column)."""

    factors: tuple[ProductOperand, ...]
    between: tuple[str, ...]
    batch: str


def as_chain(product: Product) -> FactorChain | None:
    """The factors of a product in an order in which each shares its sums with its neighbours only; None for others.

    Letters that every operand has are batches. Parts that share no letter are joined through a dimension of one.
    """
    batch = "".join(x for x in product.output.letters if all(x in y.letters for y in product.factors))
    letters = [[x for x in term.letters if x not in batch] for term in product.factors]
    if any(len(x) > 2 for x in letters) or any(len(x) > 2 for x in _holders(letters).values()):
        return None
    free = [x for x in product.output.letters if x not in batch]
    holders = _holders(letters)
    if any(len(holders.get(x, [])) != 1 for x in free) or len(free) > 2:
        return None
    if any(len(holders.get(x, [])) != 2 for x in product.sums):
        return None
    paths = _paths(letters, free)
    if paths is None:
        return None
    order = _joined(paths)
    if order is None:
        return None
    factors = tuple(product.factors[n] for n, _ in order)
    between = (order[0][1][0], *(x[1] for _, x in order))
    return FactorChain(factors, between, batch)


_Link = tuple[int, tuple[str, str]]
"""A factor by its number, with its letters to the left and to the right."""


def _holders(letters: list[list[str]]) -> dict[str, list[int]]:
    """The factors that have a letter."""
    out: dict[str, list[int]] = {}
    for n, found in enumerate(letters):
        for x in found:
            out.setdefault(x, []).append(n)
    return out


def _paths(letters: list[list[str]], free: list[str]) -> list[list[_Link]] | None:
    """The factors as paths along the letters that two of them share; None where some go round in a circle."""
    holders = _holders(letters)
    left = set(range(len(letters)))
    paths: list[list[_Link]] = []

    def ends(n: int) -> bool:
        return sum(len(holders[x]) == 2 for x in letters[n]) < 2

    # A path begins where the output has a letter, the first one first.
    starts = [holders[x][0] for x in free] + [n for n in range(len(letters)) if ends(n)]
    for start in starts:
        if start not in left:
            continue
        if not ends(start):
            return None
        own = [x for x in letters[start] if len(holders[x]) == 1]
        entry = own[0] if own else ""
        path: list[_Link] = []
        at: int | None = start
        while at is not None:
            left.discard(at)
            rest = [x for x in letters[at] if x != entry]
            out = rest[0] if rest else ""
            path.append((at, (entry, out)))
            entry = out
            at = next((n for n in holders.get(out, []) if n in left), None) if out else None
        paths.append(path)
    return paths if not left else None


def _joined(paths: list[list[_Link]]) -> list[_Link] | None:
    """The paths one after the other, so that letters of the output stand at the ends; None where they cannot."""
    open_ended = [x for x in paths if x[0][1][0] or x[-1][1][1]]
    closed = [x for x in paths if not (x[0][1][0] or x[-1][1][1])]
    match open_ended:
        case []:
            ordered = closed
        case [only] if not closed or not (only[0][1][0] and only[-1][1][1]):
            # A part without letters of the output goes where the chain has an end without one.
            ordered = [only, *closed] if only[0][1][0] else [*closed, only]
        case [first, second] if not (first[0][1][0] and first[-1][1][1]) and not (second[0][1][0] and second[-1][1][1]):
            ordered = [_facing(first, True), *closed, _facing(second, False)]
        case _:
            return None
    return [link for path in ordered for link in path]


def _facing(path: list[_Link], left: bool) -> list[_Link]:
    """The path turned so that its letter of the output is at that end."""
    if bool(path[0][1][0]) == left:
        return path
    return [(n, (b, a)) for n, (a, b) in reversed(path)]


Price = Callable[[int, int, int], float]
"""What it costs to multiply a matrix by another, given rows, the common dimension, and columns."""


def best_order(sizes: Sequence[int], price: Price) -> Order:
    """The cheapest order of a chain whose matrix n has `sizes[n]` rows and `sizes[n + 1]` columns.

    The classic recurrence over intervals (Godbole 1973); of equally cheap orders the one that splits last.
    """
    count = len(sizes) - 1
    cost = {(n, n + 1): 0.0 for n in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for first in range(count - length + 1):
            end = first + length
            options = (
                (cost[first, m] + cost[m, end] + price(sizes[first], sizes[m], sizes[end]), -m)
                for m in range(first + 1, end)
            )
            value, place = min(options)
            cost[first, end], split[first, end] = value, -place

    def build(first: int, end: int) -> Order:
        if end == first + 1:
            return first
        return build(first, split[first, end]), build(split[first, end], end)

    return build(0, count)


def cost_of(order: Order, sizes: Sequence[int], price: Price) -> float:
    """What an order of a chain costs."""
    if isinstance(order, int):
        return 0.0
    left, right = order
    (first, middle), (_, last) = reach(left), reach(right)
    return cost_of(left, sizes, price) + cost_of(right, sizes, price) + price(sizes[first], sizes[middle], sizes[last])


def reach(order: Order) -> tuple[int, int]:
    """The first matrix of an order, and the one after its last."""
    if isinstance(order, int):
        return order, order + 1
    return reach(order[0])[0], reach(order[1])[1]


def multiplications(order: Order) -> Iterator[tuple[Order, Order]]:
    """The pairs that an order multiplies, inner ones first."""
    if not isinstance(order, int):
        yield from multiplications(order[0])
        yield from multiplications(order[1])
        yield order


def show(order: Order, names: Sequence[str]) -> str:
    """An order with parentheses."""
    if isinstance(order, int):
        return names[order]
    return " ".join(show(x, names) if isinstance(x, int) else f"({show(x, names)})" for x in order)
