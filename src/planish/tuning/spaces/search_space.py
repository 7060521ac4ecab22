"""A conditional search space (auto-tuning): versions, each with arguments, and what has to hold between these.

>>> from planish.schedule.arguments import TuningArgument
>>> tile, jam = TuningArgument("tile", (0, 8, 16), 0), TuningArgument("jam", (1, 2), 1, only=("tile", (8, 16)))
>>> space = SearchSpace({"maxfuse": TuningArguments((tile, jam)), "original": TuningArguments()})
>>> str(space.size()), [str(x) for x in space.points()][:3]
('6', ['tile=0 version=maxfuse', 'version=original', 'jam=1 tile=8 version=maxfuse'])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random

from planish.schedule.arguments import VERSION, Point, TuningArgument, TuningArguments, TuningConstraint, Value

MOST_COUNTED = 200_000
"""Combinations of arguments that belong together, which are gone through to be counted."""
_ATTEMPTS = 1000
"""Random values of arguments that belong together, until some fit."""


@dataclass(frozen=True, slots=True)
class SpaceSize:
    """How many points there are: as counted, or at most so many where there are too many to look at each."""

    points: int
    exact: bool = True

    def __str__(self) -> str:
        return f"{'' if self.exact else 'at most '}{self.points:,}"


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """The points of some versions, by name, the default one first."""

    alternatives: Mapping[str, TuningArguments]

    @property
    def default(self) -> Point:
        """The first version with all arguments at their defaults."""
        return self.default_of(next(iter(self.alternatives)))

    def default_of(self, version: str) -> Point:
        """A version with all arguments at their defaults."""
        found = self.complete({VERSION: version})
        assert found is not None, f"the defaults of {version} break a constraint"
        return found

    def arguments(self, version: str) -> tuple[TuningArgument, ...]:
        """The arguments of a version."""
        return self.alternatives[version].arguments

    def active(self, values: Mapping[str, Value]) -> tuple[TuningArgument, ...]:
        """The arguments that there are of a version where others have some values."""
        out: list[TuningArgument] = []
        known: dict[str, Value] = {}
        for x in self.arguments(str(values[VERSION])):
            if x.only is None or known.get(x.only[0]) in x.only[1]:
                known[x.name] = values.get(x.name, x.default)
                out.append(x)
        return tuple(out)

    def complete(self, values: Mapping[str, Value]) -> Point | None:
        """The point of a version with some values, and others at their defaults; values of arguments that there are not
        are left out. None where there is no such version or a constraint does not hold."""
        version = values.get(VERSION)
        if not isinstance(version, str) or version not in self.alternatives:
            return None
        own = {x.name: values.get(x.name, x.default) for x in self.active(values)}
        if any(own[x.name] not in x.values for x in self.active(values)):
            return None
        if not _fit(own, self.alternatives[version].constraints):
            return None
        return Point.of({VERSION: version, **own})

    def extended(self, point: Point) -> Point | None:
        """A point of before there were some of the arguments, with these at their defaults; None where it has values
        that there are no longer."""
        made = self.complete(point.as_dict())
        return made if made is not None and {*point.values} <= {*made.values} else None

    def size(self) -> SpaceSize:
        """How many points there are: arguments that nothing links are counted apart."""
        sizes = [_count(x) for x in self.alternatives.values()]
        return SpaceSize(sum(x.points for x in sizes), all(x.exact for x in sizes))

    def size_of(self, version: str) -> SpaceSize:
        """How many points there are of a version."""
        return _count(self.alternatives[version])

    def points(self) -> Iterator[Point]:
        """All points: the defaults of the versions first, then the others, the last argument fastest."""
        firsts = [self.default_of(x) for x in self.alternatives]
        yield from firsts
        for version, own in self.alternatives.items():
            for combined in product(*(_combinations(x, own.constraints) for x in _components(own))):
                point = Point.of({VERSION: version, **{k: v for part in combined for k, v in part.items()}})
                if point not in firsts:
                    yield point

    def sample(self, rng: Random) -> Point:
        """A random point: any version, then any values that fit, those that are linked together."""
        version = rng.choice([*self.alternatives])
        own = self.alternatives[version]
        values: dict[str, Value] = {VERSION: version}
        for part in _components(own):
            values |= _draw(part, own.constraints, rng)
        found = self.complete(values)
        return self.default_of(version) if found is None else found

    def mutate(self, point: Point, rng: Random, strength: int = 1) -> Point:
        """A point near another one: some of its arguments have a neighbouring value or any; seldom another version."""
        values = point.as_dict()
        for _ in range(_ATTEMPTS):
            changed = dict(values)
            if len(self.alternatives) > 1 and rng.random() < 0.1:
                changed[VERSION] = rng.choice([*self.alternatives])
            active = self.active(changed)
            for x in rng.sample(active, min(strength, len(active))):
                changed[x.name] = _step(x, changed.get(x.name, x.default), rng)
            made = self.complete(changed)
            if made is not None and made != point:
                return made
        return point

    def cross(self, first: Point, second: Point, rng: Random) -> Point:
        """A point with values of two, of the version of the first; the first where those do not fit."""
        other = second.as_dict()
        mixed = {x: other[x] for x, _ in first.values if x in other and x != VERSION and rng.random() < 0.5}
        made = self.complete({**first.as_dict(), **mixed})
        return first if made is None else made

    def neighbours(self, point: Point) -> Iterator[Point]:
        """The points at which one argument has the next smaller or larger value."""
        values = point.as_dict()
        for x in self.active(values):
            place = x.values.index(values[x.name]) if values[x.name] in x.values else 0
            for other in (place - 1, place + 1):
                if 0 <= other < len(x.values):
                    made = self.complete({**values, x.name: x.values[other]})
                    if made is not None:
                        yield made


def _fit(values: Mapping[str, Value], constraints: Sequence[TuningConstraint]) -> bool:
    """Whether all constraints hold; what an argument that there is not would be is left to each."""
    return all(x.holds({name: values[name] for name in x.names if name in values}) for x in constraints)


def _components(own: TuningArguments) -> list[tuple[TuningArgument, ...]]:
    """The arguments in parts that no constraint and no condition links."""
    parts = [{x.name} for x in own.arguments]
    links = [{*x.names} for x in own.constraints] + [{x.name, x.only[0]} for x in own.arguments if x.only]
    for link in links:
        touched = [x for x in parts if x & link]
        parts = [x for x in parts if not x & link] + ([set().union(*touched)] if touched else [])
    ordered = [tuple(x for x in own.arguments if x.name in part) for part in parts]
    return sorted(ordered, key=lambda part: own.arguments.index(part[0]))


def _linked(part: Sequence[TuningArgument], constraints: Sequence[TuningConstraint]) -> list[TuningConstraint]:
    names = {x.name for x in part}
    return [x for x in constraints if names & {*x.names}]


def _combinations(
    part: tuple[TuningArgument, ...], constraints: Sequence[TuningConstraint]
) -> Iterator[dict[str, Value]]:  # fmt: skip
    """The values of arguments that belong together, as far as there are these and they fit."""
    linked = _linked(part, constraints)

    def extend(place: int, values: dict[str, Value]) -> Iterator[dict[str, Value]]:
        if place == len(part):
            if _fit(values, linked):
                yield values
            return
        x = part[place]
        if x.only is not None and values.get(x.only[0]) not in x.only[1]:
            yield from extend(place + 1, values)
            return
        for value in x.values:
            yield from extend(place + 1, {**values, x.name: value})

    return extend(0, {})


def _count(own: TuningArguments) -> SpaceSize:
    total, exact = 1, True
    for part in _components(own):
        most = prod(len(x.values) for x in part)
        if most > MOST_COUNTED:
            exact = False
        total *= most if most > MOST_COUNTED else sum(1 for _ in _combinations(part, own.constraints))
    return SpaceSize(total, exact)


def _draw(part: tuple[TuningArgument, ...], constraints: Sequence[TuningConstraint], rng: Random) -> dict[str, Value]:
    """Random values that fit; the defaults where none were found."""
    linked = _linked(part, constraints)
    for _ in range(_ATTEMPTS):
        values: dict[str, Value] = {}
        for x in part:
            if x.only is None or values.get(x.only[0]) in x.only[1]:
                values[x.name] = rng.choice(x.values)
        if _fit(values, linked):
            return values
    return {}


def _step(argument: TuningArgument, value: Value, rng: Random) -> Value:
    """Another value: mostly the next one, sometimes any."""
    others = [x for x in argument.values if x != value]
    if not others:
        return value
    if rng.random() < 0.3 or value not in argument.values:
        return rng.choice(others)
    place = argument.values.index(value)
    near = [argument.values[x] for x in (place - 1, place + 1) if 0 <= x < len(argument.values)]
    return rng.choice(near)
