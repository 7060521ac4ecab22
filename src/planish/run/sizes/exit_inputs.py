"""Inputs of loops with early exits: with random data, iterations leave at once. Arrays hold a number with which they
stay, but for a few elements.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "int find(int n, const int *x, int v) { for (int i = 0; i < n; i++) if (x[i] > v) return i; return -1; }"
>>> function = read_c(Source("find.c", text)).functions[0]
>>> calm = calm_inputs(function)[0]
>>> calm.arrays["x"][0] <= calm.scalars["v"]
True
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.types import Type
from planish.poly.early_exit.exit_test import find_exit_test
from planish.run.calls.passing import leaves_of
from planish.run.calls.signature import CallCase, Placement
from planish.run.sizes.call_sizes import make_case, usable_sizes
from planish.run.sizes.exit_values import Number, arguments_of, compiled, held, number_pool
from planish.run.sizes.known_sizes import KnownSizes

SIZES, SEEDS = (130, 259, 700, 9000), 3
"""The sizes of calls in which few elements let an iteration leave, and so many calls of each."""
FIRST_SEED = 400
MOST_CALM, MOST_TRIED = 2, 400
_MOST_KEPT, _MIXED = 12, 40
"""So many of the function's numbers are tried, and so many choices of them in several arrays at once."""


@dataclass(frozen=True, slots=True)
class CalmInput:
    """Values with which iterations stay in a loop: of arrays, by the names of the function's parameters, the number
    that they hold, and others with which iterations may leave; and of scalars. With the numbers of the function that
    are `kept`, and their neighbours, they stay as well, wherever these lie."""

    arrays: Mapping[str, tuple[Number, ...]] = field(default_factory=dict)
    scalars: Mapping[str, Number] = field(default_factory=dict)
    kept: tuple[Number, ...] = ()


def exit_cases(function: CFunction, known: tuple[KnownSizes, ...]) -> tuple[CallCase, ...]:
    """Calls of a function with loops that iterations may leave, in which few or no elements let them."""
    out: list[CallCase] = []
    for calm in calm_inputs(function):
        for n, value in enumerate(SIZES):
            if (sizes := usable_sizes(known, value, apart=False)) is None:
                continue
            for seed in range(SEEDS):
                case = make_case(function, known, sizes, seed=FIRST_SEED + SEEDS * n + seed)
                values = {**case.values, **{x: y for x, y in calm.scalars.items() if x not in sizes}}
                placement: Placement = "start" if seed % 3 == 1 else "end"
                # What else is done for an element is seen where the numbers that it asks for are not rare.
                pool = calm.kept if seed == SEEDS - 1 else ()
                out.append(replace(case, values=values, calm=calm.arrays, placement=placement, pool=pool))
    return tuple(out)


def with_far_exits(function: CFunction, cases: Sequence[CallCase]) -> Sequence[CallCase]:
    """Calls that are timed, in which no iteration leaves a loop early."""
    calm = next(iter(calm_inputs(function)), None)
    if calm is None:
        return cases
    arrays = {x: y[:1] for x, y in calm.arrays.items()}
    return tuple(replace(x, values={**calm.scalars, **x.values}, calm=arrays) for x in cases)


def calm_inputs(function: CFunction) -> tuple[CalmInput, ...]:
    """Values with which iterations of all loops with early exits stay; none where the function has no such loops."""
    regions = [x for x in function.regions if x.exits is not None]
    found = [_calm(x, function) for x in regions]
    if not found:
        return ()
    return tuple(_join(x) for x in product(*found))[:MOST_CALM]


def _join(parts: Sequence[CalmInput]) -> CalmInput:
    """What all loops stay with."""
    kept = tuple(x for x in parts[0].kept if all(x in y.kept for y in parts))
    return CalmInput(_joined([x.arrays for x in parts]), _joined([x.scalars for x in parts]), kept)


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in reversed(parts) for name, value in part.items()}


def _calm(region: Region, function: CFunction) -> tuple[CalmInput, ...]:
    """Values with which the iterations of one loop stay."""
    assert region.exits is not None
    test = find_exit_test(region.kernel, region.exits.flag)
    own, names = {p.name for p in leaves_of(function)}, dict(region.names)
    places = arguments_of(region, function)
    leaving = compiled(test, region.kernel)

    def leaves(values: Mapping[str, Number]) -> bool:
        return any(x is not False for x in leaving(values))

    arrays = tuple(dict.fromkeys(x.array for x in test.rows))
    types = {x.name: x.type for x in region.kernel.arrays} | {x.name: x.type for x in region.kernel.scalars}
    scalars = tuple(x.name for x in region.kernel.scalars)
    pools = {x: number_pool(types[x], function.conditions.constants) for x in (*arrays, *scalars)}
    source = random.Random(1)
    found: list[CalmInput] = []
    for attempt in range(MOST_TRIED):
        alike = source.choice([*{y for x in pools.values() for y in x}])
        mixed = {x: source.choice(y) for x, y in pools.items()}
        # A float that equals an integer is none.
        values = {x: y[y.index(alike)] if attempt % 2 and alike in y else mixed[x] for x, y in pools.items()}
        if not leaves(values):
            others = [values | {x: source.choice(pools[x]) for x in arrays} for _ in range(40)]
            # What follows may ask for one of the numbers that the function names.
            last = {tuple(x[y] for y in arrays): x for x in others if leaves(x)}
            named = sorted(last, key=lambda x: any(y not in function.conditions.constants for y in x))
            rare = [last[x] for x in named[:3]] or others[:3]
            told = {place: (values[x], *(y[x] for y in rare)) for x in arrays for place in places[x]}
            fixed = {names[x]: values[x] for x in scalars}
            kept = _kept(function.conditions.constants, {x: types[x] for x in arrays}, values, leaves, source)
            found.append(CalmInput(told, {x: y for x, y in fixed.items() if x in own}, kept))
        if len(found) == MOST_CALM:
            break
    return tuple(found) or (CalmInput(),)


def _kept(
    constants: Sequence[Number], types: Mapping[str, Type], values: Mapping[str, Number],
    leaves: Callable[[Mapping[str, Number]], bool], source: random.Random,
) -> tuple[Number, ...]:  # fmt: skip
    """The numbers that, with their neighbours, let no iteration leave where any of the arrays hold them."""

    def stays(numbers: Sequence[Number]) -> bool:
        pools = {x: [values[x], *held(numbers, type)] for x, type in types.items()}
        alone = ({x: y} for x, pool in pools.items() for y in pool[1:])
        mixed = ({x: source.choice(y) for x, y in pools.items()} for _ in range(_MIXED if len(types) > 1 else 0))
        return not any(leaves({**values, **x}) for x in (*alone, *mixed))

    out: list[Number] = []
    for x in constants[:_MOST_KEPT]:
        near = [y + step for y in (*out, x) for step in (-1, 0, 1)]
        if stays(near):
            out.append(x)
    return tuple(out)
