"""Access maps: for each lane a number, kept as a nest of counted strides and written out when it is asked for.

The text of a map has the numbers of one turn, and behind them counts and strides, innermost first.

>>> affine([0, 4, 8, 12, 64, 68, 72, 76])
'0;4 4 2 64'
>>> expand('0;4 4 2 64')
(0, 4, 8, 12, 64, 68, 72, 76)
>>> affine([3, 1, 2, 11, 9, 10])
'3 1 2;2 8'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeVar, overload

_Member = TypeVar("_Member")


def affine(numbers: Sequence[int]) -> str:
    """The map that gives some numbers."""
    turn, levels = _found(numbers)
    return f"{' '.join(map(str, turn))};{' '.join(map(str, levels))}"


def _found(numbers: Sequence[int]) -> tuple[Sequence[int], list[int]]:
    levels = _levels(numbers)
    if levels is not None:
        return numbers[:1], levels
    size = len(numbers)
    for block in (x for x in range(2, size // 2 + 1) if size % x == 0):
        turns = range(0, size, block)
        if all(numbers[at + i] - numbers[at] == numbers[i] - numbers[0] for at in turns for i in range(block)):
            outer = _levels(numbers[::block])
            if outer is not None:
                return numbers[:block], outer
    return numbers, []


def _levels(numbers: Sequence[int]) -> list[int] | None:
    """Counts and strides of the nest that numbers are from their first on; None where they are none."""
    levels: list[int] = []
    rest = numbers
    while len(rest) > 1:
        step = rest[1] - rest[0]
        run = next((at for at in range(2, len(rest)) if rest[at] - rest[at - 1] != step), len(rest))
        if len(rest) % run:
            return None
        heads = rest[::run]
        if any(rest[at * run + i] != head + i * step for at, head in enumerate(heads) for i in range(run)):
            return None
        levels += [run, step]
        rest = heads
    return levels


@cache
def expand(text: str) -> tuple[int, ...]:
    """The numbers of a map."""
    turn, _, nest = text.partition(";")
    found = [int(x) for x in turn.split()]
    levels = [int(x) for x in nest.split()]
    for count, stride in zip(levels[::2], levels[1::2], strict=True):
        found = [x + at * stride for at in range(count) for x in found]
    return tuple(found)


class Expanded(Sequence[_Member]):
    """A sequence that is written out at its first use; equal to any other one of the same members."""

    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[], tuple[_Member, ...]]) -> None:
        self._make = make
        self._known: tuple[_Member, ...] | None = None

    @property
    def members(self) -> tuple[_Member, ...]:
        """All of them."""
        if self._known is None:
            self._known = self._make()
        return self._known

    @overload
    def __getitem__(self, at: int) -> _Member: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[_Member, ...]: ...
    def __getitem__(self, at: int | slice) -> _Member | tuple[_Member, ...]:
        return self.members[at]

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[_Member]:
        return iter(self.members)

    def __eq__(self, other: object) -> bool:
        return tuple(other) == self.members if isinstance(other, (tuple, Expanded)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.members)

    def __repr__(self) -> str:
        return repr(self.members)
