"""A lazy sequence: its members are computed on first use, and kept.

>>> squares = Lazy(x * x for x in range(1, 1_000_000_000))
>>> squares[2], squares[0], bool(squares)
(9, 1, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Lazy(Sequence[T]):
    """The members that an iterator yields; its length, and members counted from its end, ask for all of them."""

    __slots__ = ("_made", "_rest")

    def __init__(self, members: Iterator[T]) -> None:
        self._made: list[T] = []
        self._rest = members

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, int) and at >= 0:
            while len(self._made) <= at:
                try:
                    self._made.append(next(self._rest))
                except StopIteration:
                    raise IndexError(at) from None
        else:
            self._made += self._rest
        return self._made[at]

    def __len__(self) -> int:
        self._made += self._rest
        return len(self._made)

    def __bool__(self) -> bool:
        return any(True for _ in self)
