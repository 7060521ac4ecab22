"""Loops that run a few times for certain become straight code, so that what is around them can be pipelined.

>>> from planish.vliw.program import MemoryAddress, Loop, AccessPlace, StreamRegister
>>> at = MemoryAddress(StreamRegister("A", "p"), 0, 16)
>>> load = Instr("L", (StreamRegister("V", "x"), at), place=AccessPlace("a", "p", 0, 16, 16))
>>> for x in unroll_short([Loop("i", 2, (load,))], 8): print(x, x.place.offset)
L V.x, *A.p[0]++16 0
L V.x, *A.p[0]++16 16
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from planish.vliw.program import Instr, Item

MOST_FLAT = 600
"""Operations of all iterations up to which a pipelined loop becomes packets without a jump."""


def unroll_short(items: Sequence[Item], most: int) -> list[Item]:
    """The items with each innermost loop of a known count that comes to `most` operations in all or fewer replaced by
    its iterations, inner ones first."""
    return _unroll(items, most, count())


def _unroll(items: Sequence[Item], most: int, numbers: Iterator[int]) -> list[Item]:
    done: list[Item] = []
    for item in items:
        if isinstance(item, Instr):
            done.append(item)
            continue
        loop = replace(item, body=tuple(_unroll(item.body, most, numbers)))
        if isinstance(loop.count, int) and loop.is_innermost and loop.count * len(loop.body) <= most:
            number = next(numbers)
            done += (_copy(x, i, number) for i in range(loop.count) for x in loop.body if isinstance(x, Instr))
        else:
            done.append(loop)
    return done


def _copy(instr: Instr, iteration: int, number: int) -> Instr:
    """An operation of one iteration. What is known of its place counts from a point of this loop, of which nothing is
    known in the loop around it."""
    place = instr.place
    if place is None:
        return instr
    group = f"{place.group} in {number}"
    if place.stride is None:
        # Nothing is known of how iterations lie to each other.
        return replace(instr, place=replace(place, group=f"{group}, {iteration}"))
    offset = place.offset + iteration * place.stride
    return replace(instr, place=replace(place, group=group, offset=offset, stride=None))
