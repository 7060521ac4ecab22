"""A study of machines: one description with some entries changed, and what the same functions take on each.

>>> axis = read_axis("units.VMAC.count=1,2,3")
>>> axis.path, axis.values
('units.VMAC.count', ('1', '2', '3'))
>>> print(changed("ftmatrix", {"constants.VPES": "4", "units.VMAC.count": "1"}).text, end="")
name = "ftmatrix, VPES 4, VMAC 1"
kind = "vliw"
base = "ftmatrix"
[constants]
VPES = 4
[units.VMAC]
count = 1
>>> parse_machine(changed("ftmatrix", {"constants.VPES": "4"})).file("V").bits
256
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log

from planish.build.packets import PacketResult, build_packets
from planish.build.vliw_machines.packet_runs import runs_on
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.options import Options
from planish.vliw.description import parse_machine
from planish.vliw.machine import VliwMachine


@dataclass(frozen=True, slots=True)
class StudyAxis:
    """An entry of a description, as a path of sections, and the values that it is given."""

    path: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """What tells values apart: the entry, or its section where the entry is a count or the like."""
        return name_of(self.path)


def name_of(path: str) -> str:
    """An axis in one word.

    >>> name_of("units.VMAC.count"), name_of("constants.VPES"), name_of("operations.VLDW.latency")
    ('VMAC', 'VPES', 'VLDW latency')
    """
    *_, section, entry = ("", *path.split("."))
    if entry == "count":
        return section
    return entry if path.count(".") < 2 else f"{section} {entry}"


def read_axis(text: str) -> StudyAxis:
    """`PATH=VALUE,VALUE…`; PlanishError E0722 for what is none."""
    path, equals, values = text.partition("=")
    found = tuple(x.strip() for x in values.split(",") if x.strip())
    if not equals or not found or path.count(".") not in (1, 2) or not all(path.split(".")):
        message = f"--axis {text} names no entry of a description and its values"
        raise PlanishError(Diagnostic("E0722", message, help="write --axis SECTION.ENTRY=VALUE,VALUE"))
    return StudyAxis(path, found)


def changed(base: str, entries: Mapping[str, str]) -> Source:
    """The text of a description that is like another one but for some entries."""
    words = "".join(f", {name_of(path)} {value}" for path, value in entries.items())
    stem = base.rpartition("/")[2].removesuffix(".toml")
    lines = [f'name = "{stem}{words}"', 'kind = "vliw"', f'base = "{base}"']
    sections: dict[str, list[str]] = {}
    for path, value in entries.items():
        section, _, entry = path.rpartition(".")
        plain = value.lstrip("-").replace(".", "", 1).isdigit()
        sections.setdefault(section, []).append(f"{entry} = {value}" if plain else f'{entry} = "{value}"')
    for section, own in sections.items():
        lines += [f"[{section}]", *own]
    return Source("study.toml", "\n".join(lines) + "\n")


@dataclass(frozen=True, slots=True)
class StudyPoint:
    """One machine: the values that it has, and what each function takes on it (0: it is refused, or wrong)."""

    values: tuple[str, ...]
    machine: VliwMachine
    results: Mapping[str, PacketResult]
    cycles: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MachineStudy:
    """What some machines make of some functions; `axes` tell the machines apart. `naive`: what each function takes one
    by one, as it is written, on the first machine."""

    axes: tuple[StudyAxis, ...]
    points: tuple[StudyPoint, ...]
    naive: Mapping[str, int]

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions that became packets on all machines."""
        first = self.points[0].cycles
        return tuple(x for x in first if all(y.cycles.get(x) for y in self.points))

    def gain(self, point: StudyPoint, function: str) -> float:
        """How many times as many cycles the first machine takes."""
        return self.points[0].cycles[function] / point.cycles[function]

    def gain_over_naive(self, point: StudyPoint, function: str) -> float:
        """How many times as many cycles the function takes one by one; 0 where that is not known."""
        return self.naive.get(function, 0) / point.cycles[function]

    def mean(self, point: StudyPoint) -> float:
        """The geometric mean of gains over the first machine."""
        logs = [log(self.gain(point, x)) for x in self.functions]
        return exp(sum(logs) / len(logs)) if logs else 0.0


def study(
    sources: Sequence[Source], base: str, axes: Sequence[StudyAxis], options: Options, tell: Progress = keep_quiet
) -> MachineStudy:  # fmt: skip
    """What all machines that the axes make of a description take for the functions of some files.

    Packets that were made for one machine and run as they are on another one are its packets, too, where they are
    quicker: a machine with more units need do no worse. Raises PlanishError as `parse_machine` and `build_packets`.
    """
    points: list[StudyPoint] = []
    naive: dict[str, int] = {}
    for values in product(*(x.values for x in axes)):
        machine = parse_machine(changed(base, {x.path: y for x, y in zip(axes, values, strict=True)}))
        results: dict[str, PacketResult] = {}
        for source in sources:
            tell(f"{machine.name}: {source.name}")
            for x in build_packets(source, options, machine):
                results[x.function if x.function not in results else f"{x.function}.{len(results)}"] = x
        cycles = {name: x.cycles if not x.message else 0 for name, x in results.items()}
        for name, x in results.items():
            naive.setdefault(name, x.naive)
            for other in points:
                earlier = other.results.get(name)
                planned = earlier.planned if earlier is not None and not earlier.message else None
                taken = runs_on(planned, machine, earlier.sizes) if earlier and planned and other.cycles[name] else 0
                if taken and (not cycles[name] or taken < cycles[name]):
                    cycles[name] = taken
        points.append(StudyPoint(values, machine, results, cycles))
    return MachineStudy(tuple(axes), tuple(points), naive)
