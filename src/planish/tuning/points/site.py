"""A site: all that another process needs to make and time points of a nest; the work there, and who does it.

site = TuningSite(source, options, number=0)
built = build_point(site, space.default)            # in one process
found, setup = begin_race(site, built)              # in another one
"""

from __future__ import annotations

import os
import platform
import socket
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from planish.build.job import make_job, make_workbench
from planish.build.read import read_file
from planish.core.cache import key
from planish.core.diagnostic import PlanishError
from planish.core.fingerprint import stamp_contents
from planish.core.span import Source
from planish.options import Options
from planish.run.processes.core_pairs import claimed_cores
from planish.run.toolchains.cross import compiler_for
from planish.run.toolchains.toolchain import Compiler
from planish.schedule.arguments import Point
from planish.target.load import load_target
from planish.target.machine import Target
from planish.tuning.measurement import Measurement
from planish.tuning.points.builder import PointBuilder
from planish.tuning.points.built_point import BuiltPoint, RaceSetup
from planish.tuning.points.feedback import Feedback
from planish.tuning.points.timer import time_point, time_reference
from planish.tuning.spaces.script_space import read_holes
from planish.tuning.tasks import find_nests, fingerprint_of

OPEN = 16
"""Sites that a process keeps ready."""
PARTS = ("core", "ir", "poly", "schedule", "library", "emit", "build", "run", "tuning")
"""Packages of this program that are to be the same wherever points of one run are made."""


@dataclass(frozen=True, slots=True)
class TuningSite:
    """A nest, by its file and its number among those of the file; the script whose holes are filled, if there is one;
    the seconds of a race, and what points are compared by. Headers of the user have to lie where they do here."""

    source: Source
    options: Options
    number: int
    script: Source | None = None
    seconds: float = 0.5
    feedback: tuple[Feedback, ...] = ("time",)


@dataclass(frozen=True)  # not slotted: its kind is kept
class BuildMachine:
    """What a process says of its machine: the target as it is found there, the compiler, and this program's stamp."""

    target: Target
    compiler: Compiler
    program: str
    host: str
    cores: int

    @cached_property
    def kind(self) -> str:
        """The same where the same target and compiler make the same code: where a point may be built, verified and
        timed for one another."""
        own = f"{self.compiler.kind} {self.compiler.version}"
        return key("kind", fingerprint_of(self.target), platform.machine(), own, self.program)


def describe_machine(target: str, compiler: str | None) -> BuildMachine | PlanishError:
    """What this process would build for a target with a compiler; why it cannot."""
    try:
        found = load_target(target)
        made = compiler_for(found, compiler)
    except PlanishError as error:
        return error
    return BuildMachine(found, made, stamp_contents(*PARTS), socket.gethostname(), len(os.sched_getaffinity(0)))


def build_point(site: TuningSite, point: Point) -> BuiltPoint | Measurement:
    """A point that computes what the original does, or what is wrong with it."""
    return _open(site).build(point)


def build_original(site: TuningSite) -> BuiltPoint | Measurement:
    """The function as it was written."""
    try:
        return _open(site).build_original()
    except PlanishError as error:
        return Measurement("compile", message=error.diagnostic.message)


def begin_race(site: TuningSite, built: BuiltPoint) -> tuple[Measurement, RaceSetup]:
    """The times of the reference, and the call that is timed; on cores that nothing else is timed on."""
    setup = _open(site).setup(site.seconds)
    with claimed_cores(setup.threads):
        return time_reference(setup, built, _libraries())


def time_built(setup: RaceSetup, best: float, built: BuiltPoint, reference: BuiltPoint) -> Measurement:
    """What a point takes beside the reference; on cores that nothing else is timed on."""
    with claimed_cores(setup.threads):
        return time_point(setup, built, reference, best, _libraries())


def summarise(built: BuiltPoint | Measurement) -> BuiltPoint | Measurement:
    """What is known of a point without its library, which stays where it was made until it is timed."""
    return replace(built, library=b"") if isinstance(built, BuiltPoint) else built


class _Kept:
    """What this process keeps between calls."""

    sites: OrderedDict[str, tuple[PointBuilder, tempfile.TemporaryDirectory[str]]] = OrderedDict()
    libraries: tempfile.TemporaryDirectory[str] | None = None


def _libraries() -> Path:
    if _Kept.libraries is None:
        _Kept.libraries = tempfile.TemporaryDirectory(prefix="planish-libraries-")
    return Path(_Kept.libraries.name)


def _open(site: TuningSite) -> PointBuilder:
    """The builder of a site, which was read before or is read now."""
    address = key("site", site)
    if address in _Kept.sites:
        _Kept.sites.move_to_end(address)
        return _Kept.sites[address][0]
    folder = tempfile.TemporaryDirectory(prefix="planish-")
    target = load_target(site.options.target)
    bench = make_workbench(site.options, target, Path(folder.name), site.source)
    file = read_file(site.source, site.options)
    nest = find_nests(file, site.options, target, bench.compiler)[site.number]
    script = None if site.script is None else read_holes(site.script)
    builder = PointBuilder.of(nest, make_job(file.functions, file, site.options, target, bench), script, site.feedback)
    _Kept.sites[address] = builder, folder
    while len(_Kept.sites) > OPEN:
        _Kept.sites.popitem(last=False)
    return builder
