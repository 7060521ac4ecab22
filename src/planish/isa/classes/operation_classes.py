"""Operation classes: operations with parameters, and the instructions of all ISAs that are instances.

Two instructions are in one class if their definitions have one shape. What all members have in common is a constant of
the class, numbers that are always the same are one parameter (Hydride, algorithm 1: constants become parameters,
arguments are permuted, arguments that are not needed go).

>>> from planish.isa.entry import Entry, IntrinsicSignature
>>> text = "(a: 16, b: 16) -> dst: 16 {{ for i < 2 {{ dst.u8[i] = {v} }} }}"
>>> c = IntrinsicSignature("short", (("short", "a"), ("short", "b")))
>>> values = {"one": "u8(a.u8[i] + b.u8[i])", "other": "u8(b.u8[i] + a.u8[i])", "third": "a.u8[i] & b.u8[i]"}
>>> entries = [Entry(name, "toy", c, text.format(v=v), status="verified") for name, v in values.items()]
>>> [(x.name, [y.entry.name for y in x.members], len(x.parameters)) for x in find_classes(entries)]
[('add', ['one', 'other'], 0), ('and', ['third'], 0)]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from planish.isa.classes.names import name_of
from planish.isa.classes.parameters import label_numbers
from planish.isa.classes.term import Shape, Shaped, definition_of, shaped
from planish.isa.entry import Entry
from planish.isa.semantics.definition import Definition


@dataclass(frozen=True, slots=True)
class ClassMember:
    """An instruction as its class with numbers and operands."""

    entry: Entry
    shaped: Shaped

    def definition(self) -> Definition:
        """What its class with its numbers does: what the instruction does, if it is one of the class."""
        own = self.entry.definition
        if self.shaped.shape[0] == "text":
            return own
        return definition_of(self.shaped.shape, self.shaped.numbers, own.operands, self.shaped.operands, own.result)


@dataclass(frozen=True, slots=True)
class Class:
    """An operation: `parameters` are the places of the numbers that differ among its members, those that always are the
    same as one together."""

    name: str
    shape: Shape
    members: tuple[ClassMember, ...]
    parameters: tuple[tuple[int, ...], ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """A word for each parameter, all of them different."""
        known = label_numbers(self.shape) if self.parameters else []
        used: Counter[str] = Counter()
        found = []
        for places in self.parameters:
            word = known[places[0]]
            used[word] += 1
            found.append(word if used[word] == 1 else f"{word}_{used[word]}")
        return tuple(found)

    def isas(self) -> dict[str, int]:
        """How many members it has of each architecture."""
        return dict(sorted(Counter(x.entry.isa for x in self.members).items()))


def of_known_lengths(classes: Iterable[Class]) -> list[Class]:
    """The classes without members whose registers may have any length."""
    found = [replace(x, members=tuple(y for y in x.members if not y.entry.is_scalable)) for x in classes]
    return [x for x in found if x.members]


def shape_all(entries: Iterable[Entry]) -> list[Shaped]:
    """The shapes of definitions, one after another."""
    return [shaped(x.definition) for x in entries]


def find_classes(
    entries: Iterable[Entry], find_shapes: Callable[[Sequence[Entry]], Sequence[Shaped]] = shape_all
) -> tuple[Class, ...]:
    """The classes of all verified entries, those with most members first; their names are the same every time.
    `find_shapes` finds the shapes of their definitions, in their order."""
    verified = [x for x in entries if x.status == "verified"]
    found: dict[Shape, list[ClassMember]] = {}
    for entry, made in zip(verified, find_shapes(verified), strict=True):
        found.setdefault(made.shape, []).append(ClassMember(entry, made))
    ordered = sorted(found.items(), key=lambda x: (-len(x[1]), min(y.entry.name for y in x[1])))
    used: Counter[str] = Counter()
    classes = []
    for shape, members in ordered:
        name = name_of([x.entry for x in members])
        used[name] += 1
        name = name if used[name] == 1 else f"{name}_{used[name]}"
        classes.append(Class(name, shape, tuple(members), _parameters([x.shaped.numbers for x in members])))
    return tuple(classes)


def _parameters(numbers: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    columns = list(zip(*numbers, strict=True))
    varying = [(column, place) for place, column in enumerate(columns) if len(set(column)) > 1]
    varying.sort()
    groups = [tuple(place for _, place in run) for _, run in groupby(varying, key=lambda x: x[0])]
    return tuple(sorted(groups))
