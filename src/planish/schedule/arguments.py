"""The arguments of a strategy: which values each may take, which go together, and a point, a value for each.

>>> rows = TuningArgument("rows", (1, 4, 8), 4, "rows of a strip")
>>> point = Point.of({"rows": 8})
>>> rows.value(point), rows.value(Point()), str(point)
(8, 4, 'rows=8')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

Value = int | str
"""What an argument may be."""


@dataclass(frozen=True, slots=True)
class Point:
    """The values of some arguments by their names, in the order of these; what is not named is as it is by default."""

    values: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Point:
        """The point of a mapping."""
        return cls(tuple(sorted(values.items())))

    def as_dict(self) -> dict[str, Value]:
        """The values by name."""
        return dict(self.values)

    def get(self, name: str) -> Value | None:
        """The value of an argument, None where the point has none."""
        return next((value for known, value in self.values if known == name), None)

    def under(self, name: str) -> Point:
        """The values whose names begin with a name and a dot, without these.

        >>> str(Point.of({"loops.tile.1.1": 32, "version": "maxfuse"}).under("loops"))
        'tile.1.1=32'
        """
        start = f"{name}."
        return Point(tuple((x.removeprefix(start), value) for x, value in self.values if x.startswith(start)))

    def joined(self, more: Mapping[str, Value]) -> Point:
        """The point with some values in place of its own."""
        return Point.of({**self.as_dict(), **more})

    def __bool__(self) -> bool:
        return bool(self.values)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values)


VERSION = "version"
"""What the choice of a version is called in a point."""


@dataclass(frozen=True, slots=True)
class NestChoice:
    """What a nest is to become: its canonical text (`planish.ir.text.canonical_nest`; "": whichever it is), the point
    that names the version and its arguments, and where this was found. `only`: nothing else is to be tried; `target`:
    the one of several for which it is ("": all)."""

    nest: str
    point: Point
    source: str = ""
    only: bool = False
    target: str = ""

    @property
    def version(self) -> str:
        """The version's name; "" where the nest is to stay as it is written."""
        return str(self.point.get(VERSION) or "")


_VALUES = re.compile(r"([\w.-]+)=(.*?)(?=,?\s+[\w.-]+=|\s*$)")


def parse_point(text: str) -> Point | None:
    """The point of a text such as `planish tune` prints; None where it is none. Where no version is named, it is the
    one that is called after the strategy whose arguments these are.

    >>> str(parse_point("loops.tile.1.1=8 version=maxfuse, nontemporal")), str(parse_point("fir.depth=2"))
    ('loops.tile.1.1=8 version=maxfuse, nontemporal', 'fir.depth=2 version=fir')
    >>> parse_point("8"), parse_point("depth=2")
    (None, None)
    """
    found = _VALUES.findall(text.strip())
    if not found or _VALUES.sub("", text.strip()).strip(", "):
        return None
    values: dict[str, Value] = {name: int(x) if re.fullmatch(r"-?\d+", x) else x for name, x in found}
    strategies = {name.partition(".")[0] for name in values if "." in name}
    if VERSION not in values and len(strategies) == 1:
        values[VERSION] = strategies.pop()
    return Point.of(values) if values.get(VERSION) else None


DEFAULTS = Point()
"""Everything as it is by default."""


MODEL = "model"
"""The value of an argument that is left to the model of the machine, which decides for each loop of a nest."""


@dataclass(frozen=True, slots=True)
class TuningArgument:
    """An argument that a strategy takes: its name, the values that are worth trying, the one that it has by default,
    and what it is in a few words. `only`: another argument with the values for which there is this one."""

    name: str
    values: tuple[Value, ...]
    default: Value
    note: str = ""
    only: tuple[str, tuple[Value, ...]] | None = None

    def value(self, point: Point) -> Value:
        """Its value at a point."""
        given = point.get(self.name)
        return self.default if given is None else given

    def number(self, point: Point) -> int:
        """Its value at a point, of one whose values are numbers; ValueError for another one."""
        return int(self.value(point))

    def chosen(self, point: Point) -> int | None:
        """Its value at a point, of one whose default is `MODEL`; None where it is left to the model.

        >>> unroll = TuningArgument("unroll", (MODEL, 1, 2), MODEL)
        >>> unroll.chosen(Point()), unroll.chosen(Point.of({"unroll": 2}))
        (None, 2)
        """
        return None if self.value(point) == MODEL else self.number(point)

    def around(self, default: int) -> TuningArgument:
        """The same argument with another default, which is one of its values.

        >>> TuningArgument("rows", (2, 4, 8), 4).around(6).values
        (2, 4, 6, 8)
        """
        return replace(self, values=tuple(sorted({*map(int, self.values), default})), default=default)


@dataclass(frozen=True, slots=True, eq=False)
class TuningConstraint:
    """What has to hold between arguments: the names of all that it looks at, the test, and what is asked in words. A
    point at which one of these is missing is asked with its default."""

    names: tuple[str, ...]
    holds: Callable[[Mapping[str, Value]], bool]
    note: str


@dataclass(frozen=True, slots=True, eq=False)
class TuningFeature:
    """What a strategy knows of a point that a model may learn from, as a number of the order of one: the names of the
    arguments that it looks at, and the number. A point at which one of these is missing is asked with its default."""

    name: str
    names: tuple[str, ...]
    of: Callable[[Mapping[str, Value]], float]


@dataclass(frozen=True, slots=True, eq=False)
class TuningArguments:
    """All arguments of a strategy for something that it found, what has to hold between them, and what is known of
    points besides."""

    arguments: tuple[TuningArgument, ...] = ()
    constraints: tuple[TuningConstraint, ...] = ()
    features: tuple[TuningFeature, ...] = ()

    def named(self, start: str) -> TuningArguments:
        """The same with a name and a dot in front of all names."""

        def longer(name: str) -> str:
            return f"{start}.{name}"

        def shorter(values: Mapping[str, Value]) -> dict[str, Value]:
            return {name.removeprefix(f"{start}."): value for name, value in values.items()}

        def renamed(x: TuningConstraint) -> TuningConstraint:
            return TuningConstraint(tuple(map(longer, x.names)), lambda values: x.holds(shorter(values)), x.note)

        def known(x: TuningFeature) -> TuningFeature:
            return TuningFeature(longer(x.name), tuple(map(longer, x.names)), lambda values: x.of(shorter(values)))

        own = [
            replace(x, name=longer(x.name), only=x.only and (longer(x.only[0]), x.only[1])) for x in self.arguments
        ]  # fmt: skip
        return TuningArguments(tuple(own), tuple(map(renamed, self.constraints)), tuple(map(known, self.features)))

    def problem(self, values: Mapping[str, Value]) -> tuple[str, str] | None:
        """What is wrong with some values, and what may be done about it; None where they are a point of these.

        >>> rows = TuningArguments((TuningArgument("fir.rows", (1, 4, 8), 4),))
        >>> rows.problem({"fir.rows": 5})
        ('`fir.rows` cannot be 5', 'it is one of 1, 4, 8')
        >>> rows.problem({"fir.row": 4}), rows.problem({"fir.rows": 8})
        (('there is no argument `fir.row`', 'there are: fir.rows'), None)
        """
        known = {x.name: x for x in self.arguments}
        for name, value in values.items():
            if name not in known:
                there = f"there are: {', '.join(known)}" if known else "there are none"
                return f"there is no argument `{name}`", there
            if value not in known[name].values:
                return f"`{name}` cannot be {value}", f"it is one of {', '.join(map(str, known[name].values))}"
        for x in self.constraints:
            own = {name: values.get(name, known[name].default) for name in x.names if name in known}
            if not x.holds(own):
                given = ", ".join(f"{name} = {value}" for name, value in own.items())
                return f"{given} do not go together", f"choose such that {x.note}"
        return None

    def joined(self, more: TuningArguments) -> TuningArguments:
        """Those of both."""
        return TuningArguments(
            (*self.arguments, *more.arguments), (*self.constraints, *more.constraints),
            (*self.features, *more.features),
        )  # fmt: skip

    def __bool__(self) -> bool:
        return bool(self.arguments)


NO_ARGUMENTS = TuningArguments()
"""Of a strategy that takes none."""
