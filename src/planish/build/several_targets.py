"""Builds one drop-in with code for several targets out of the builds for each: `planish build --target avx2,neon`.

>>> split_targets("avx2,avx512, neon")
('x86-avx2', 'x86-avx512', 'aarch64-neon')
>>> [(x.target, x.variant) for x in per_target(Options(target="avx2,avx512,neon"))]
[('x86-avx512', 'avx512'), ('x86-avx2', 'avx2'), ('aarch64-neon', 'neon')]
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from planish.build.assemble import FileResult
from planish.build.batch import Entrant, compare_together
from planish.build.functions import FunctionResult
from planish.build.job import make_workbench
from planish.build.read import read_file
from planish.build.verify import verify
from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.progress import Progress
from planish.core.span import Source
from planish.emit.c.compiler_attributes import without
from planish.emit.dropin.header import common_interface, emit_header, share_types
from planish.emit.dropin.joint_text import PatchPlace, Reading, join_readings
from planish.emit.dropin.patched_file import Patch, emit_banner
from planish.emit.dropin.replacement import Replacement
from planish.emit.dropin.target_versions import ARCHITECTURES, TargetVersions, compose_targets
from planish.frontend.c.translation_unit import CFile
from planish.ir.types import Type
from planish.options import Options
from planish.run.calls.passing import signature_of
from planish.run.oracle.nest_coverage import missed, with_counters
from planish.run.toolchains.cross import is_foreign
from planish.run.workbench import DropIn, Reference, Workbench
from planish.target.description import NATIVE, described_names, full_name
from planish.target.load import load_target
from planish.version import VERSION

_ANY = "generic"
_KINDS = {"vliw": "a VLIW machine", "gpu": "a GPU"}


@dataclass(frozen=True, slots=True, eq=False)
class TargetBuild:
    """What became of a file for one of several targets, which its options name."""

    options: Options
    result: FileResult


@dataclass(frozen=True, slots=True, eq=False)
class JoinedTargets:
    """One drop-in for several targets, its header, the commands that compile it for each processor, and the builds."""

    text: str
    header: str
    command: str
    link: str
    builds: tuple[TargetBuild, ...]


def split_targets(text: str) -> tuple[str, ...]:
    """The full names in the text of --target; one alone is any target. Raises PlanishError E0705 where several do not
    go together."""
    names = tuple(full_name(x.strip()) for x in text.split(","))
    if len(names) == 1:
        return names
    for name in names:
        if not name:
            raise _refused(f"a name is missing in '{text}'", "name targets with one comma in between: avx2,avx512")
        if names.count(name) > 1:
            raise _refused(f"{name} is named twice", "name each target once")
        if name == NATIVE:
            advice = "name what this processor is, so that others know it, too: `planish targets` lists names"
            raise _refused(f"{NATIVE} is no part of a list of targets", advice)
        if name == _ANY:
            advice = "leave it out: where no other target's code can run, the original does"
            raise _refused(f"{_ANY} is no part of a list of targets", advice)
        for kind, what in _KINDS.items():
            if name in described_names(kind):
                advice = f"build for {name} by itself: what it runs is no part of an object for other processors"
                raise _refused(f"{name} is {what}, of which there is no C beside that for others", advice)
    return names


def per_target(options: Options) -> tuple[Options, ...]:
    """The options for each of several targets, for each architecture in the order in which its versions are tried; of
    one target, the options as they are. A compiler that is named is for the targets of this processor. Raises
    PlanishError E0701 to E0703 as `load_target`, E0705 where several targets do not go together."""
    names = split_targets(options.target)
    if len(names) == 1:
        return (options,)
    made: list[Options] = []
    for name, variant in zip(names, _variants(names), strict=True):
        target = load_target(name)
        if target.architecture not in ARCHITECTURES:
            known = ", ".join(ARCHITECTURES)
            raise _refused(f"which processor {name} has is not known", f"its `isa` is to be that of one of: {known}")
        compiler = None if is_foreign(target) else options.compiler
        choices = tuple(x for x in options.choices if x.target in ("", name))
        made.append(replace(options, target=name, variant=variant, compiler=compiler, choices=choices))
    order = list(dict.fromkeys(_architecture(x) for x in made))
    for a, b in combinations(made, 2):
        if _architecture(a) == _architecture(b) and a.settings.features == b.settings.features:
            message = f"{a.target} and {b.target} cannot be told apart where the code runs"
            raise _refused(message, "name one of them: they have the same vector instructions")
    return tuple(sorted(made, key=lambda x: (order.index(_architecture(x)), -len(x.settings.features))))


def read_for_all(source: Source, options: Options) -> CFile:
    """The file as it is read for the first of several targets. Its interface has the functions that are the same for
    all of them: a plain `char` may have a sign on some. Raises PlanishError as `read_file`."""
    files = [read_file(source, x) for x in per_target(options)]
    interfaces = []
    for file in files:
        kept = [x for x in file.interface.prototypes if _types_of(file, x.name) == _types_of(files[0], x.name)]
        interfaces.append(replace(file.interface, prototypes=tuple(kept)))
    return replace(files[0], interface=common_interface(interfaces))


def _types_of(file: CFile, name: str) -> list[tuple[Type | None, ...]]:
    """The types of the numbers that a function returns and takes."""
    return [(x.result, *(y.type for y in x.parameters)) for x in file.functions if x.name == name]


def _refused(message: str, advice: str) -> PlanishError:
    return PlanishError(Diagnostic("E0705", message, help=advice))


def _variants(names: Sequence[str]) -> tuple[str, ...]:
    """What targets are called in C: by the last words of their names, where these differ."""
    stems = [Path(x).stem if x.endswith(".toml") else x for x in names]
    short = [x.rpartition("-")[2] for x in stems]
    chosen = short if len({*short}) == len(short) else stems
    return tuple(re.sub(r"\W", "_", x) for x in chosen)


def _architecture(options: Options) -> str:
    return load_target(options.target).architecture


def join_targets(source: Source, options: Options, builds: Sequence[TargetBuild], tell: Progress) -> JoinedTargets:
    """The drop-in that has what was built for all targets. On each, every function is checked again as it stands there,
    with the versions for others left out; what computes something else is left out, and a remark says so."""
    checked, text = _join_texts(builds)
    commands: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        for n, build in enumerate(checked):
            tell(f"{build.options.target}: checking it beside the other targets")
            target = load_target(build.options.target)
            bench = make_workbench(build.options, target, Path(folder), source)
            commands.setdefault(target.architecture, f"{bench.compiler.name} {' '.join(bench.command_flags)}")
            checked[n] = _check(build, checked, text, bench)
    command = "; ".join(f"{x} ({name})" if len(commands) > 1 else x for name, x in commands.items())
    link = " ".join(dict.fromkeys(x.result.link for x in checked if x.result.link))
    given = builds[0].result.source
    banner = emit_banner(VERSION, options.describe(), given.text, command, link)
    shipped = [_versions(x, [y for f in x.result.functions for y in f.replacements], text) for x in checked]
    stem, interface = Path(given.name).stem, common_interface([x.result.file.interface for x in builds])
    made = share_types(compose_targets(text, shipped, banner), stem, interface)
    return JoinedTargets(made, banner + emit_header(stem, interface), command, link, tuple(checked))


def _versions(build: TargetBuild, replacements: Sequence[Replacement], text: Source) -> TargetVersions:
    """What stands for nests on a target, in the text of all targets."""
    reading = Reading(build.result.file.source)
    places = [reading.place(x.patch.start, x.patch.end).within(text) for x in replacements]
    patches = [Patch(*place, x.patch.text) for x, place in zip(replacements, places, strict=True)]
    placed = tuple(replace(x, patch=y) for x, y in zip(replacements, patches, strict=True))
    return TargetVersions(build.options.variant, _architecture(build.options), placed)


def _join_texts(builds: Sequence[TargetBuild]) -> tuple[list[TargetBuild], Source]:
    """The builds without functions whose nests are others than those for a target before, but share some text, or whose
    text is rewritten otherwise for it; and the text of which all the others replace something."""
    taken: list[PatchPlace] = []
    out = []
    for build in builds:
        reading = Reading(build.result.file.source)
        before, functions = tuple(taken), []
        for x in build.result.functions:
            own = [reading.place(y.patch.start, y.patch.end) for y in x.replacements]
            if any(y.clashes(z) for y in own for z in before):
                x = _left_out(x, f"for {build.options.target} its nests are others than for the targets before")
            else:
                taken += own
            functions.append(x)
        out.append(replace(build, result=replace(build.result, functions=tuple(functions))))
    return out, join_readings(builds[0].result.file.source.written, taken)


def _left_out(result: FunctionResult, why: str) -> FunctionResult:
    remark = Remark("verify-targets", "refused", f"{why}; kept as written", result.function.span)
    return replace(result, replacements=(), remarks=(*result.remarks, remark))


def _check(build: TargetBuild, builds: Sequence[TargetBuild], text: Source, bench: Workbench) -> TargetBuild:
    """The build with those of its functions that compute the same where all targets' versions stand in one text: all
    functions at once or, where one of them is no good, each by itself."""
    others = (without(x.options.variant) for x in builds if x is not build)
    bench = replace(bench, defines=(*bench.defines, *others))
    entrants = [
        Entrant(signature, x.selection.cases, x.selection.version)
        for x in build.result.functions
        if x.replacements and x.selection is not None and x.selection.version
        and (signature := signature_of(x.function)) is not None
    ]  # fmt: skip
    reference = Reference(text.written.text, bench, tuple(x.signature for x in entrants))
    if not entrants or _hold_together(entrants, builds, text, reference):
        return build
    known = {x.name: x for x in entrants}
    functions = tuple(
        _checked(x, known[x.function.name], builds, text, reference) if x.function.name in known else x
        for x in build.result.functions
    )
    return replace(build, result=replace(build.result, functions=functions))


def _hold_together(
    entrants: Sequence[Entrant], builds: Sequence[TargetBuild], text: Source, reference: Reference
) -> bool:  # fmt: skip
    """Whether functions compute the same, and run, where all are replaced at once."""
    names, signatures = [x.name for x in entrants], [x.signature for x in entrants]
    link = tuple(dict.fromkeys(y for x in entrants for y in x.version.link))
    joined = DropIn("together", with_counters(_counted(names, builds, text), names), link)
    try:
        library = reference.bench.build_checked(joined, signatures)
        taken = compare_together(entrants, library, reference, reference.bench)
    except PlanishError:
        return False
    return taken.keys() >= {*names}


def _counted(names: Sequence[str], builds: Sequence[TargetBuild], text: Source) -> str:
    """The text with some functions' versions for all targets, which note the nests that run."""
    made: list[TargetVersions] = []
    for x in builds:
        found = (y.selection for y in x.result.functions if y.function.name in names and y.replacements)
        patches = [z for y in found if y is not None and y.version is not None for z in y.version.patches]
        made.append(_versions(x, patches, text))
    return compose_targets(text, made, "")


def _checked(
    result: FunctionResult, own: Entrant, builds: Sequence[TargetBuild], text: Source, reference: Reference
) -> FunctionResult:
    joined = replace(own.version, counted=with_counters(_counted([own.name], builds, text), (own.name,)))
    outcome, _ = verify(joined, reference, own.signature, own.cases, reference.bench)
    if isinstance(outcome, Remark):
        return _left_out(result, f"beside the versions for other targets, {outcome.message}")
    if missed(outcome[0].ran, len(own.version.nests), 1):
        return _left_out(result, "beside the versions for other targets, no call runs all of it")
    return result
