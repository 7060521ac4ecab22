"""Loops as people write them: up and down, with steps, triangular, clipped, tiled, empty; `for`, `while` and `do`.

>>> make_loop(random.Random(5), [], [("n", Index("n", 0, 67))], lambda stem: stem + "0").head[:5]
'for ('
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.property.listings.places import Index, Iterator


@dataclass(frozen=True, slots=True)
class Loop:
    """The text around a loop's body and the variable inside, with others that move along: `declare` at the function's
    top, lines before and after the loop, the last in it, and what follows the closing brace."""

    head: str
    iterator: Iterator
    others: tuple[Iterator, ...] = ()
    declare: tuple[tuple[str, str], ...] = ()
    before: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    tail: str = ""
    can_be_bare: bool = True


@dataclass(frozen=True, slots=True)
class Bounds:
    """The first value and the one behind the last; `start`, `size` and `past` as in Iterator."""

    low: Index
    high: Index
    start: int = -1
    size: str = ""
    past: int = 1


def make_loop(
    rng: random.Random, outer: Sequence[Iterator], sizes: Sequence[tuple[str, Index]], fresh: Callable[[str], str]
) -> Loop:
    """A loop; `outer` are those around it, `fresh` gives names."""
    bounds = _bounds(rng, outer, sizes)
    unsigned = bounds.low.low >= 0 and rng.random() < 0.15 and bounds.high.low >= 0
    type = rng.choice(("size_t", "unsigned", "uint32_t")) if unsigned else rng.choice(("int",) * 8 + ("long", "short"))
    if bounds.low.low >= 0 and bounds.high.high < 120 and rng.random() < 0.03:
        # A narrow counter has a sign in what it is added to.
        unsigned, type = False, rng.choice(("unsigned char", "signed char", "uint16_t", "char"))
    name = fresh(rng.choice(("i", "j", "k", "x", "row", "col")))
    index = Index(name, bounds.low.low, max(bounds.high.high - 1, bounds.low.low), unsigned)
    iterator = Iterator(index, bounds.start, bounds.size, bounds.past)
    mixed = bounds.low.unsigned or bounds.high.unsigned
    if unsigned and mixed and (bounds.low.low < 0 or bounds.high.low < 0):
        return make_loop(rng, outer, sizes, fresh)
    roll = rng.random()
    if unsigned and bounds.low.text == "0" and type == "unsigned" and bounds.high.unsigned and rng.random() < 0.3:
        # Below 0 stands the largest number.
        return Loop(f"for ({type} {name} = {bounds.high.text} - 1; {name} < {bounds.high.text}; {name}--)", iterator)
    if roll > 0.96 and not unsigned and not mixed and bounds.size and bounds.start >= 0 and bounds.past <= 0:
        return _both_ends(name, fresh("z"), bounds, iterator)
    if roll < 0.08:
        return _while(rng, name, type, bounds, iterator)
    if roll < 0.25 and not unsigned and not mixed and type not in ("unsigned char", "uint16_t"):
        return _down(rng, name, type, bounds, iterator)
    if roll < 0.28 and bounds.low.text == "0" and not mixed:
        head = f"for ({type} {name} = {bounds.high.text}; {name}-- > 0; )"
        # A count that starts below 0 would run for ever.
        return Loop(f"if ({bounds.high.operand} > 0) {head}", iterator)
    return _up(rng, name, type, bounds, iterator)


def _up(rng: random.Random, name: str, type: str, bounds: Bounds, iterator: Iterator) -> Loop:
    low, high = bounds.low, bounds.high
    step = rng.choice((1,) * 8 + (2, 3, 4))
    test = f"{name} < {high.text}"
    roll = rng.random()
    if roll < 0.1 and not high.unsigned and not iterator.index.unsigned:
        test = f"{name} <= {high.plus(-1).text}"
    elif roll < 0.14 and not low.unsigned:
        test = f"{high.text} > {name}"
    elif roll < 0.18 and step == 1 and low.high <= high.low:
        test = f"{name} != {high.text}"
    steps = (f"{name}++", f"++{name}", f"{name} += 1", f"{name} = {name} + 1")
    after = rng.choice(steps if rng.random() < 0.3 else steps[:1]) if step == 1 else f"{name} += {step}"
    if rng.random() < 0.25:
        return Loop(f"for ({name} = {low.text}; {test}; {after})", iterator, declare=((type, name),))
    register = "register " if rng.random() < 0.03 else ""
    if rng.random() < 0.08:
        return Loop(f"for({register}{type} {name}={low.text};{test};{after})", iterator)
    return Loop(f"for ({register}{type} {name} = {low.text}; {test}; {after})", iterator)


def _both_ends(name: str, other: str, bounds: Bounds, iterator: Iterator) -> Loop:
    """Two variables that walk towards each other."""
    low, high = bounds.low.text, bounds.high.plus(-1).text
    head = f"for (int {name} = {low}, {other} = {high}; {name} < {other}; {name}++, {other}--)"
    index = Index(other, bounds.low.low, max(bounds.high.high - 1, bounds.low.low))
    return Loop(head, iterator, (Iterator(index, bounds.start, bounds.size, bounds.past),))


def _down(rng: random.Random, name: str, type: str, bounds: Bounds, iterator: Iterator) -> Loop:
    low, high = bounds.low, bounds.high
    first = high.plus(-1)
    test = f"{name} > {low.plus(-1).text}" if rng.random() < 0.2 else f"{name} >= {low.text}"
    step = rng.choice((f"{name}--", f"--{name}", f"{name} -= 1", f"{name} -= 2"))
    return Loop(f"for ({type} {name} = {first.text}; {test}; {step})", iterator)


def _while(rng: random.Random, name: str, type: str, bounds: Bounds, iterator: Iterator) -> Loop:
    low, high = bounds.low, bounds.high
    before = (f"{type} {name} = {low.text};",)
    if rng.random() < 0.6:
        return Loop(f"while ({name} < {high.text})", iterator, before=before, last=(f"{name}++;",), can_be_bare=False)
    head = f"if ({name} < {high.operand}) do"
    return Loop(head, iterator, before=before, last=("",), tail=f" while (++{name} < {high.text});", can_be_bare=False)


def _bounds(rng: random.Random, outer: Sequence[Iterator], sizes: Sequence[tuple[str, Index]]) -> Bounds:
    """Any bounds: whole, a part, triangular, clipped, tiled, empty."""
    roll = rng.random()
    zero = Index("0", 0, 0)
    name, size = rng.choice(list(sizes)) if sizes else ("", Index("40", 40, 40))
    if not sizes or roll < 0.15:
        low, high = rng.choice((0, 0, 0, 1, 2, -1)), rng.choice((4, 8, 16, 31, 40, 1, 3))
        return Bounds(Index(str(low), low, low), Index(str(high), high, high))
    if roll < 0.4 or (not outer and roll < 0.5):
        return Bounds(zero, size, 0, name, 0)
    if roll < 0.53:
        start, past = rng.choice((0, 1, 1, 2)), rng.choice((0, -1, -1, -2, 1))
        past = past if not size.unsigned or past >= 0 else 0
        return Bounds(Index(str(start), start, start), size.plus(past), start, name, past)
    if outer and roll < 0.72:
        return _triangle(rng, rng.choice(list(outer)), name, size)
    if outer and roll < 0.8:
        return _clipped(rng, rng.choice(list(outer)), size)
    if roll < 0.86:
        by = rng.choice((2, 3, 4))
        if rng.random() < 0.5:
            return Bounds(zero, size.divided("/", by), 0, name, 0)
        if rng.random() < 0.5:
            return Bounds(zero, size.divided("%", by), 0, name, 0)
        low = size.divided("/", by)
        return Bounds(low, size, 0, name, 0)
    if roll < 0.9:
        other_name, other = rng.choice(list(sizes))
        spelling = rng.choice((f"MIN({name}, {other_name})", f"({name} < {other_name} ? {name} : {other_name})"))
        if size.unsigned == other.unsigned:
            return Bounds(zero, Index(spelling, 0, min(size.high, other.high), size.unsigned), 0, name, 0)
    if roll < 0.95:
        # No iteration.
        first, last = rng.choice(((5, 3), (2, 2), (0, 0), (1, -1)))
        if rng.random() < 0.5:
            return Bounds(size, size, 0, name, 0)
        return Bounds(Index(str(first), first, first), Index(str(last), last, last))
    number = rng.choice((1, 2, 3))
    return Bounds(zero, Index(str(number), number, number))


def _triangle(rng: random.Random, it: Iterator, name: str, size: Index) -> Bounds:
    """From or to the variable of a loop around this one."""
    index = it.index
    if rng.random() < 0.5:
        low = index.plus(rng.choice((0, 0, 1, 1, 2)))
        if low.low < 0 and size.unsigned:
            return Bounds(Index("0", 0, 0), size, 0, name, 0)
        return Bounds(low, size, low.low, name, 0)
    past = rng.choice((0, 0, 1, 1, 2))
    high = index.plus(past)
    low = rng.choice((0, 0, 0, 1))
    high = high if high.low >= 0 or not high.unsigned else index
    return Bounds(Index(str(low), low, low), high, low, it.size, it.past + past - 1)


def _clipped(rng: random.Random, it: Iterator, size: Index) -> Bounds:
    """A window or a tile around the variable of a loop around this one, inside of the whole."""
    index = it.index
    if index.low < 0 or index.unsigned or size.unsigned:
        return Bounds(Index("0", 0, 0), Index("3", 3, 3))
    width = rng.choice((1, 2, 3, 5))
    ahead = index.plus(width)
    high = Index(
        rng.choice((f"MIN({ahead.text}, {size.text})", f"({ahead.text} < {size.text} ? {ahead.text} : {size.text})")),
        0, min(ahead.high, size.high),
    )  # fmt: skip
    if rng.random() < 0.5:
        return Bounds(index, high)
    behind = index.plus(-width)
    low = Index(
        rng.choice((f"MAX({behind.text}, 0)", f"({index.text} > {width} ? {behind.text} : 0)")),
        0, max(behind.high, 0),
    )  # fmt: skip
    return Bounds(low, high)
