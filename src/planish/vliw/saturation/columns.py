"""The terms of sums in columns: those of one column are added to all sums at once, each in its lane.

>>> one, two = Addend(7, False, (1, 2)), Addend(8, False, (3, 4))
>>> [x.is_product for x in columns_of([(0, [one, two]), (1, [two, one])], 2)]
[True, True]
>>> [x.terms for x in columns_of([(0, [one]), (1, [two, Addend(9, False, (1, 5))])], 2)][0][1].value
9
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Addend:
    """A term: the class of its value without a sign, whether it is subtracted, and the two factors of a product."""

    value: int
    negative: bool = False
    factors: tuple[int, ...] = ()

    @property
    def is_product(self) -> bool:
        """Whether it has two factors."""
        return len(self.factors) == 2


@dataclass(frozen=True, slots=True)
class Column:
    """A term for each lane (None: nothing is added there)."""

    terms: dict[int, Addend | None]
    lanes: int

    @property
    def is_product(self) -> bool:
        """Whether all terms are products."""
        return all(x.is_product for x in self.terms.values() if x is not None)

    @property
    def is_mixed(self) -> bool:
        """Whether some are added and some subtracted."""
        return len({x.negative for x in self.terms.values() if x is not None}) > 1


def columns_of(rows: Sequence[tuple[int, list[Addend]]], lanes: int) -> list[Column]:
    """The columns of sums by their lanes: in the order of the terms where all have as many, else such that terms with
    a factor in common are in one."""
    if len({len(x) for _, x in rows}) == 1:
        count = len(rows[0][1])
        ordered = [(n, _ordered(x)) for n, x in rows]
        return [Column({n: x[k] for n, x in ordered}, lanes) for k in range(count)]
    common: Counter[int] = Counter()
    for _, terms in rows:
        common.update({y for x in terms for y in x.factors or (x.value,)})
    keyed: dict[tuple[int, int], dict[int, Addend | None]] = {}
    for lane, terms in rows:
        seen: Counter[int] = Counter()
        for x in terms:
            key = max(x.factors or (x.value,), key=lambda y: (common[y], -y))
            keyed.setdefault((key, seen[key]), {})[lane] = x
            seen[key] += 1
    every = [n for n, _ in rows]
    return [Column({n: x.get(n) for n in every}, lanes) for _, x in sorted(keyed.items())]


def _ordered(terms: Sequence[Addend]) -> list[Addend]:
    """Terms as they stand, but those that are no products first, and those that are subtracted last."""
    return sorted(terms, key=lambda x: (x.negative, x.is_product))
