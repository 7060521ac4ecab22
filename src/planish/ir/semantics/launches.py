"""Runs launches: the threads of a block go from barrier to barrier together, in an order that may be chosen.

>>> def block():
...     def thread(x):
...         seen.append(x)
...         yield
...         seen.append(-x)
...     return thread
>>> seen = []
>>> run_launch(block, (), (3,), backward)
>>> seen
[2, 1, 0, -2, -1, 0]
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

Phases = Callable[[Sequence[Any]], Sequence[Any]]
"""The order in which blocks run, and in each phase the threads of one."""


def forward(items: Sequence[Any]) -> Sequence[Any]:
    """As they are numbered."""
    return items


def backward(items: Sequence[Any]) -> Sequence[Any]:
    """From the last to the first."""
    return items[::-1]


def shuffled(seed: int) -> Phases:
    """In an order drawn anew each time, the same for the same seed."""
    generator = random.Random(seed)
    return lambda items: generator.sample(items, len(items))


def run_launch(
    block: Callable[..., Callable[..., Iterator[None]]], grid: Sequence[int], threads: Sequence[int],
    phases: Phases,
) -> None:  # fmt: skip
    """All blocks of a grid; `block` gives the function of a thread for the ids of a block. Extents are those along x, y
    and z, of which x is the fastest. ArithmeticError where some threads wait at a barrier and others have ended."""
    for at in phases(_ids(grid)):
        thread = block(*at)
        running = [thread(*x) for x in _ids(threads)]
        while running:
            waiting = {id(x) for x in phases(running) if next(x, True) is None}
            if waiting and len(waiting) < len(running):
                raise ArithmeticError(f"{len(waiting)} of {len(running)} threads wait at a barrier, others have ended")
            running = [x for x in running if id(x) in waiting]


def _ids(extents: Sequence[int]) -> list[tuple[int, ...]]:
    """All ids, the first number the fastest."""
    return [x[::-1] for x in product(*(range(n) for n in reversed(extents)))]
