"""A lazy mapping: its values are made when they are asked for, and kept.

>>> squares = LazyMapping({x: partial(pow, x, 2) for x in range(1000)})
>>> squares[3], len(squares), 1000 in squares
(9, 1000, False)
>>> both = LazyMapping.over(squares, {3: 0})
>>> both[2], both[3]
(4, 0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LazyMapping(Mapping[K, V]):
    """The values that some functions make, each once; pickled as a dictionary of all."""

    __slots__ = ("_known", "_makers")

    def __init__(self, makers: Mapping[K, Callable[[], V]]) -> None:
        self._makers = makers
        self._known: dict[K, V] = {}

    @classmethod
    def over(cls, *mappings: Mapping[K, V]) -> LazyMapping[K, V]:
        """All of some mappings; the last one that has a key wins."""
        return cls({key: partial(x.__getitem__, key) for x in mappings for key in x})

    def __getitem__(self, key: K) -> V:
        if key not in self._known:
            self._known[key] = self._makers[key]()
        return self._known[key]

    def __contains__(self, key: object) -> bool:
        return key in self._makers

    def __iter__(self) -> Iterator[K]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __reduce__(self) -> tuple[type[dict[K, V]], tuple[dict[K, V]]]:
        return dict, (dict(self),)
