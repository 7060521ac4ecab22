"""Access maps: for each lane a number, kept as a nest of counted strides and written out when it is asked for.

>>> affine([0, 4, 8, 12, 64, 68, 72, 76])
[0, 4, 4, 2, 64]
>>> expand([0, 4, 4, 2, 64])
(0, 4, 8, 12, 64, 68, 72, 76)
>>> affine([3, 1, 2, 11, 9, 10])
[[3, 1, 2], 2, 8]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

_Member = TypeVar("_Member")


def affine(numbers: Sequence[int]) -> list[Any]:
    """A start, or the numbers of one turn, and behind it counts and strides, innermost first."""
    size = len(numbers)
    start, levels = _rolled(list(numbers))
    best: list[Any] = [start, *levels]
    if isinstance(start, list):
        for block in (x for x in range(2, size // 2 + 1) if size % x == 0):
            firsts = numbers[::block]
            turns = range(0, size, block)
            if all(numbers[at + i] - numbers[at] == numbers[i] - numbers[0] for at in turns for i in range(block)):
                head, outer = _rolled(list(firsts))
                if not isinstance(head, list):
                    return [list(numbers[:block]), *outer]
    return best


def _rolled(numbers: list[int]) -> tuple[int | list[int], list[int]]:
    """The start and the levels of a nest that gives the numbers; the numbers themselves where none does."""
    levels: list[int] = []
    rest = numbers
    while len(rest) > 1:
        step = rest[1] - rest[0]
        run = 1
        while run < len(rest) and rest[run] - rest[run - 1] == step:
            run += 1
        if len(rest) % run:
            return numbers, []
        heads = rest[::run]
        if any(rest[at * run + i] != head + i * step for at, head in enumerate(heads) for i in range(run)):
            return numbers, []
        levels += [run, step]
        rest = heads
    return (rest[0] if rest else numbers), levels


def expand(code: Sequence[Any]) -> tuple[int, ...]:
    """The numbers of a nest."""
    start, *levels = code
    found: list[int] = list(start) if isinstance(start, list) else [start]
    for at in range(0, len(levels), 2):
        count, stride = levels[at], levels[at + 1]
        found = [x + turn * stride for turn in range(count) for x in found]
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
