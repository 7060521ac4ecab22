"""Inputs of loops of which nothing counts the iterations: the last elements of arrays are such that each loop ends.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "int f(const char *s, int c) { int n = 0; while (s[n] && s[n] != c) n++; return n; }"
>>> find_ends(read_c(Source("f.c", text)).functions[0]).arrays
{'s': (1, 0, None)}
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.index.polynomial import constant, sub
from planish.ir.types import Type
from planish.poly.early_exit.exit_test import ExitTest, find_exit_test
from planish.run.calls.passing import leaves_of
from planish.run.sizes.exit_values import Number, arguments_of, compiled, number_pool

_MOST_TRIED = 300
_SOONEST = 64
"""So many choices of other values have to end the loops as well, as far as these are free."""


@dataclass(frozen=True, slots=True)
class Ends:
    """How many of an array's last elements are a number with which loops end, and behind how many elements a counter
    wraps around, if one may: in front of that are such numbers as well. And the scalars that this asks for; by the
    names of the function's parameters."""

    arrays: Mapping[str, tuple[int, Number, int | None]] = field(default_factory=dict)
    scalars: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop without a count: whether iterations leave it, by the C names of what it reads, and where that lies in a
    call; the elements of each array that the iteration reads together; and the `values` of its narrowest counter, if
    that may wrap around."""

    leaving: Callable[[Mapping[str, Number]], list[bool | None]]
    names: Mapping[str, str]
    places: Mapping[str, tuple[str, ...]]
    spans: Mapping[str, int]
    values: int | None
    types: Mapping[str, Type]
    scalars: frozenset[str]


def find_ends(function: CFunction) -> Ends:
    """What ends all loops of a function of which nothing counts the iterations; nothing where there are none, or it is
    not found."""
    loops = [_read(x, function) for x in function.regions if x.exits is not None and x.exits.uncounted]
    own = {p.name for p in leaves_of(function)}
    places = {text: places for x in loops for text, places in x.places.items()}
    spans: dict[str, int] = {}
    values: dict[str, int] = {}
    for x in loops:
        spans |= {text: max(count, spans.get(text, 0)) for text, count in x.spans.items()}
        if x.values is not None:
            values |= {text: min(x.values, values.get(text, x.values)) for text in x.spans}
    types = {text: type for x in loops for text, type in x.types.items()}
    if not loops or not all(places[x] for x in spans):
        return Ends()
    scalars = {text for x in loops for text in x.scalars}
    pools = {x: number_pool(types[x], function.conditions.constants) for x in types}
    source = random.Random(1)

    def end(made: Mapping[str, Number]) -> bool:
        return all(y is True for x in loops for y in x.leaving({key: made[text] for key, text in x.names.items()}))

    def drawn(fixed: Mapping[str, Number]) -> dict[str, Number]:
        return {x: fixed[x] if x in fixed else source.choice(pools[x]) for x in types}

    for attempt in range(_MOST_TRIED):
        made = {x: pools[x][0] for x in types} if attempt == 0 else drawn({})
        if not end(made):
            continue
        chosen = {x: made[x] for x in spans}
        # Scalars are left to chance where they do not matter.
        free = all(end(drawn(chosen)) for _ in range(_SOONEST))
        fixed = {} if free else {x: made[x] for x in scalars if x in own}
        if free or scalars <= own:
            told = {x: (count, chosen[x], values.get(x)) for x, count in spans.items()}
            return Ends({place: told[x] for x in spans for place in places[x]}, fixed)
    return Ends()


def _read(region: Region, function: CFunction) -> _Loop:
    assert region.exits is not None
    test = find_exit_test(region.kernel, region.exits.flag)
    # What are members of one type in C has no name of its own.
    names = {key: key if key in region.views else text.lstrip("&") for key, text in region.names}
    used = {x.array for x in test.rows} | {x.name for x in region.kernel.scalars}
    types = {x.name: x.type for x in region.kernel.arrays if x.name in used}
    types |= {x.name: x.type for x in region.kernel.scalars}
    return _Loop(
        compiled(test, region.kernel),
        {x: names[x] for x in used},
        {names[x]: places for x, places in arguments_of(region, function).items()},
        {names[x.array]: _span(x.array, test, x.array in region.views) for x in test.rows},
        min((x.values for x in region.exits.rooms), default=None),
        {names[x]: type for x, type in types.items()},
        frozenset(names[x.name] for x in region.kernel.scalars),
    )


def _span(array: str, test: ExitTest, members: bool) -> int:
    """So many neighbours hold all elements of an array that some iteration reads: those between the first and the last
    one, or 1 where that is not known, and those that iterations leave out, but among `members` of structures, which are
    drawn without the others."""
    rows = [x for x in test.rows if x.array == array and x.step]
    apart = [constant(sub(x.start, rows[0].start)) for x in rows]
    known = [x for x in apart if x is not None]
    passed = 1 if members else max((abs(x.step) for x in rows), default=1)
    return max(known, default=0) - min(known, default=0) + passed
