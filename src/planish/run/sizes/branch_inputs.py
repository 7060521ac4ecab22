"""Inputs that reach a nest which ordinary calls do not: found by the constants of its conditions.

A search: each parameter alone over the constants that it is compared with and their neighbours, then pairs, then any
of them at random; what enters is seen by running the original, in which nests set bits.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "void f(int mode, int n, int *a) { if (mode == 9) for (int i = 0; i < n; i++) a[i] = 0; }"
>>> function = read_c(Source("f.c", text)).functions[0]
>>> 9 in pools_of(function)["mode"]
True
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, islice, product

from planish.core.diagnostic import PlanishError
from planish.emit.dropin.patched_file import Patch, assemble
from planish.frontend.c.translation_unit import CFunction, Region
from planish.ir.expr import Expr
from planish.ir.semantics.arithmetic import limits
from planish.run.calls.passing import leaves_of
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import survey
from planish.run.oracle.nest_coverage import count_statement, with_counters
from planish.run.sizes.asked_sizes import asked_cases
from planish.run.sizes.call_sizes import instances_of, make_case, size_names, usable_sizes
from planish.run.sizes.gathered_elements import counting_elements
from planish.run.sizes.known_sizes import KnownSizes
from planish.run.sizes.uneven_sizes import uneven_cases
from planish.run.workbench import ReplacedNest, Workbench

MOST_PROPOSED = 600
MOST_TAKEN = 6
"""Calls that are proposed, and those of them that are taken for each nest."""
SOONER_OF = 7
"""Of so many proposed calls one is tried before all others, which are left where enough come to each nest. It has no
factor in common with the numbers by which calls take turns."""
LONG_SIZES, MOST_LONG = (601, 1030), 4
"""What one size is in calls where all others are small, and of how many sizes there are such calls."""
STREWN_OF = 3
"""Of so many calls one has the function's constants strewn in its arrays."""
SMALL_SIZES, COUNTED_SEED, COUNTED_RANGE = (2, 3, 5), 400, (0, 200)
"""What sizes are in calls with such integers in arrays that say how often loops run, and the first seed of these."""
_PATIENCE = 0.5
_BASES = (71, 64, 5)
_FEW, _MOST_INSTANCES = 19, 10_000
"""Sizes of most calls: as many iterations as strips have lanes, for which new code may ask; few in deep nests."""
_SEED = 1

Values = Mapping[str, int | float]


class BranchFinder:
    """Calls that come to nests of one function; the search is made when it is first asked for."""

    def __init__(
        self, text: str, function: CFunction, signature: Signature, known: tuple[KnownSizes, ...]
    ) -> None:
        self.text, self.function, self.signature, self.known = text, function, signature, known
        self._seen: dict[int, tuple[CallCase, int]] = {}
        self._left = [range(0, MOST_PROPOSED, SOONER_OF), [n for n in range(MOST_PROPOSED) if n % SOONER_OF]]

    def find(self, bench: Workbench, nests: Sequence[ReplacedNest]) -> tuple[CallCase, ...]:
        """Calls of the original that come to nests, some for each, calls in which one size is large, and some with what
        new code asks of sizes."""
        regions = sorted(self.function.regions, key=lambda x: x.start)
        asked = {x.start: x.asked for x in nests}
        bits = [n for n, x in enumerate(regions) if x.start in asked]
        while self._left and any(len(self._hits(x)) < MOST_TAKEN for x in bits):
            self._seen |= self._try(self._left.pop(0), bench)
        out: dict[int, CallCase] = {}
        for bit in bits:
            hits = self._hits(bit)
            # From all over the search, because the first ones are much alike.
            step = max(1, len(hits) // MOST_TAKEN)
            out |= {n: self._seen[n][0] for n in hits[::step][:MOST_TAKEN]}
        # New code may ask for long rows.
        sizes = size_names(self.known)[:MOST_LONG]
        long = [y for x in sizes for y in uneven_cases(self.function, self.known, {x}, LONG_SIZES)]
        large = [y for x in bits for y in self._asked(regions[x], asked[regions[x].start], self._hits(x))]
        return (*(out[n] for n in sorted(out)), *long, *large, *self._counted())

    def _asked(self, region: Region, asked: Sequence[Expr], hits: Sequence[int]) -> Iterator[CallCase]:
        """Calls with what new code asks of sizes, as they are and with all else as in one that came to the nest."""
        sizes = {c for k in self.known for c in k.sizes.values()}
        for case in asked_cases(self.function, self.known, dict(region.names), asked) if asked else ():
            yield case
            for like in (self._seen[x][0] for x in hits[:1]):
                others = {x: v for x, v in like.values.items() if x not in sizes}
                if like.absent or others.items() - case.values.items():
                    ranges = {x: r for x, r in case.ranges.items() if x not in others}
                    yield replace(case, values={**case.values, **others}, absent=like.absent, ranges=ranges)

    def _counted(self) -> Iterator[CallCase]:
        """Calls in which elements of arrays that say how often loops run are large, and sizes small."""
        counting = counting_elements(self.function) & {p.name for p in leaves_of(self.function)}
        for seed, value in enumerate(SMALL_SIZES if counting else ()):
            loose = dict.fromkeys(pools_of(self.function), value)
            sizes = usable_sizes(self.known, value)
            if sizes is not None:
                case = make_case(self.function, self.known, sizes, seed=COUNTED_SEED + seed, loose=loose)
                yield replace(case, ranges={**case.ranges, **dict.fromkeys(sorted(counting), COUNTED_RANGE)})

    def _hits(self, bit: int) -> list[int]:
        """The numbers of the calls that came to a nest."""
        return sorted(n for n, (_, nests) in self._seen.items() if nests >> bit & 1)

    def _try(self, numbers: Sequence[int], bench: Workbench) -> dict[int, tuple[CallCase, int]]:
        """Those of the proposed calls with these numbers that come to nests, each with the bits of these."""
        proposed = dict(enumerate(islice(propose(self.function, self.known), MOST_PROPOSED)))
        cases = {n: proposed[n] for n in numbers if n in proposed}
        regions = sorted(self.function.regions, key=lambda x: x.start)
        patches = []
        for bit, x in enumerate(regions):
            counted = count_statement(self.text[x.start : x.end], x.function, bit, x.alone)
            patches.append(Patch(x.start, x.end, counted))
        counted = with_counters(assemble(self.text, patches, "", ""), [self.function.name])
        flags = (*bench.plain_flags, *(f"-D{d}" for d in bench.defines))
        try:
            library = bench.build(counted, (self.signature,), flags)
        except PlanishError:
            return {}
        found = survey(library, self.signature, tuple(cases.values()), _PATIENCE, bench.runner.command, bench.limits)
        tried = list(cases)
        return {tried[place]: (cases[tried[place]], nests) for place, nests, _ in found if nests}


def pools_of(function: CFunction) -> dict[str, tuple[int | float, ...]]:
    """Values worth trying for each number that a call is made of, those that it is compared with first."""
    conditions = function.conditions
    compared = dict(conditions.compared)
    out: dict[str, tuple[int | float, ...]] = {}
    for p in leaves_of(function):
        if p.pointer or p.type is None:
            continue
        own, others = compared.get(p.name, ()), (0, 1, *conditions.constants)
        near = chain(own, *((x - 1, x + 1) for x in own), others, *((x - 1, x + 1) for x in others[2:]), (-1,))
        if p.type.is_int or p.type.kind == "bool":
            low, high = limits(p.type) if p.type.is_int else (0, 1)
            fitting = (x for x in near if low <= x <= high and x == int(x))
            out[p.name] = tuple(dict.fromkeys(int(x) for x in fitting))
        else:
            out[p.name] = tuple(dict.fromkeys(float(x) for x in near))
    return out


def propose(function: CFunction, known: tuple[KnownSizes, ...]) -> Iterator[CallCase]:
    """Calls that differ in what conditions compare: of the numbers that a call is made of, and of absent arrays."""
    pools = pools_of(function)
    bases = list(_bases(function, known))
    optional = [p.name for p in leaves_of(function) if p.pointer and p.name in function.conditions.bare]
    number, made = 0, dict[frozenset[tuple[str, int]], CallCase | None]()
    for values, absent in _assignments(function, pools, optional):
        for base in bases[: 2 if number < MOST_PROPOSED // 4 else 1]:
            case = _with_values(function, known, base, values, made)
            if case is not None:
                number += 1
                pool = function.conditions.constants if number % STREWN_OF == 0 else ()
                yield replace(case, seed=number, absent=absent, pool=pool)


def _bases(function: CFunction, known: tuple[KnownSizes, ...]) -> Iterator[CallCase]:
    """Calls with sizes that are all alike, and with some that are not."""
    for value in _BASES:
        sizes = usable_sizes(known, value, apart=value != _BASES[1])
        if sizes is not None and value == _BASES[0] and instances_of(known, sizes) > _MOST_INSTANCES:
            sizes = usable_sizes(known, _FEW)
        if sizes is not None:
            loose = {x: value for x in pools_of(function) if x not in sizes}
            yield make_case(function, known, sizes, seed=1, loose=loose if value == _BASES[1] else None)


def _assignments(
    function: CFunction, pools: Mapping[str, tuple[int | float, ...]], optional: Sequence[str]
) -> Iterator[tuple[dict[str, int | float], frozenset[str]]]:
    compared, chance = dict(function.conditions.compared), random.Random(_SEED)
    none = frozenset[str]()
    yield {}, none
    for call in function.conditions.calls:
        yield dict(call), none
    for name in optional:
        yield {}, frozenset({name})
    for name, pool in sorted(pools.items(), key=lambda x: x[0] not in compared):
        for value in pool[:12]:
            yield {name: value}, none
    first = {name: pool[: max(4, 3 * len(compared.get(name, ())))][:12] for name, pool in pools.items()}
    for a, b in combinations(sorted(first, key=lambda x: x not in compared), 2):
        for x, y in islice(product(first[a], first[b]), 60):
            yield {a: x, b: y}, none
    for _ in range(MOST_PROPOSED if pools else 0):
        absent = frozenset(x for x in optional if chance.random() < 0.3)
        some = [x for x in pools if chance.random() < 0.7]
        yield {x: chance.choice(first[x] if chance.random() < 0.7 else pools[x]) for x in some if first[x]}, absent


def _with_values(
    function: CFunction, known: tuple[KnownSizes, ...], base: CallCase, values: Values,
    made: dict[frozenset[tuple[str, int]], CallCase | None],
) -> CallCase | None:  # fmt: skip
    """The call with other values; with arrays as large as other sizes need (of which `made` keeps calls)."""
    sizes = {c for k in known for c in k.sizes.values()}
    kept = {x: int(v) for x, v in base.values.items() if x in sizes}
    changed = kept | {x: int(v) for x, v in values.items() if x in sizes}
    if changed != kept:
        key = frozenset(changed.items())
        if key not in made:
            wanted = usable_sizes(known, 0, given=changed)
            loose = {x: int(v) for x, v in base.values.items() if x not in sizes and v == int(v)}
            made[key] = None if wanted is None else make_case(function, known, wanted, seed=1, loose=loose)
        found = made[key]
        if found is None:
            return None
        base = found
    ranges = {x: r for x, r in base.ranges.items() if x not in values}
    return replace(base, values={**base.values, **{x: v for x, v in values.items() if x not in sizes}}, ranges=ranges)
