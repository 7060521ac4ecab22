"""Packets in a drop-in: nests of C functions give way to calls of packets, which are checked beside the original.

built = build_called(source, Options(), load_machine("hexagon"))
built.text, built.assembly
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.build.assemble import FileResult, assemble_file
from planish.build.emit import compose_drop_in
from planish.build.functions import FunctionResult, call_nests
from planish.build.job import Job, make_job, make_workbench
from planish.build.lower import RegionPlan
from planish.build.packets import PacketResult, build_packets
from planish.build.plan import plan_region
from planish.build.read import read_file
from planish.build.selection import select
from planish.core.diagnostic import PlanishError
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.emit.assembly.called_packets import PacketVersion, function_text, packets_text
from planish.emit.dropin.replacement import Replacement, call_instead, name_of
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.ir.traverse import variables
from planish.options import Options
from planish.run.sizes.call_sizes import check_cases
from planish.run.sizes.uneven_sizes import uneven_cases
from planish.target.load import load_target
from planish.vliw.machine import VliwMachine
from planish.vliw.streams.plan import Planned

LABEL = "packets"


@dataclass(frozen=True, slots=True, eq=False)
class CalledPackets:
    """What became of a file: of each nest, the drop-in (None: nothing can be compiled here, and `missing` says why),
    the assembly of all nests that are right, and `calls` that were compared in the emulator."""

    results: tuple[PacketResult, ...]
    file: FileResult | None
    assembly: str
    calls: int = 0
    missing: str = ""


def build_called(
    source: Source, options: Options, machine: VliwMachine, tell: Progress = keep_quiet
) -> CalledPackets:  # fmt: skip
    """The nests of a file as packets that C calls; each function is checked in the emulator of the machine's target.
    Raises as `build_packets`."""
    target = load_target(machine.target)
    asked, options = options.target, replace(options, target=machine.target, measure=False)
    results = build_packets(source, options, machine, tell)
    file = read_file(source, options)
    functions = [f for f in file.functions if options.takes(f.name)]
    with tempfile.TemporaryDirectory(prefix="planish-packets-") as folder:
        try:
            bench = make_workbench(options, target, Path(folder), source)
        except PlanishError as error:
            return CalledPackets(results, None, assembly_of(results, machine), 0, error.diagnostic.message)
        if bench.runner.missing:
            return CalledPackets(results, None, assembly_of(results, machine), 0, bench.runner.missing)
        job = make_job(functions, file, options, target, bench)
        made: list[FunctionResult] = []
        for function in functions:
            tell(f"{function.name}: checking packets in the emulator")
            own = [x for x in results if x.function == function.name]
            made.append(_checked(function, own, job, machine))
        judged = tuple(_judged(x, made) for x in results)
        whole = assemble_file(file, replace(options, target=asked), tuple(made), bench)
    ran = [x.selection.verdict for x in made if x.selection is not None]
    calls = sum(x.cases_run for x in ran if x is not None)
    return CalledPackets(judged, whole, assembly_of(judged, machine), calls)


def _checked(function: CFunction, results: Sequence[PacketResult], job: Job, machine: VliwMachine) -> FunctionResult:
    """A function whose nests are calls of packets, or why it stays as it is."""
    good = {x.start: x for x in results if x.planned is not None and not x.message}
    plans: list[RegionPlan] = []
    for region in function.regions:
        if region.start in good and (prepared := plan_region(region, job.options, job.target).context.nest) is not None:
            plans.append(RegionPlan(region, prepared, (), ()))

    def make(plan: RegionPlan) -> Replacement:
        return _replacement(plan, good[plan.region.start], job.file, machine)

    called = call_nests(function, plans, make, job.file.source.text)
    if isinstance(called, FunctionResult):
        return called
    needed = {x for y in good.values() if y.planned is not None for e in y.planned.needs for x in variables(e)}
    large = {own for k in called.known for inner, own in k.sizes.items() if inner in needed}
    cases = tuple(check_cases(function, called.known, job.options.sizes))
    cases += uneven_cases(function, called.known, large) if large and not job.options.sizes else ()
    regions = {x.start: x for x in function.regions}
    version = compose_drop_in(LABEL, called.replacements, regions, job.file.source)
    found = select(job.reference, [version], called.signature, cases, (), job.bench, function.span, called.finder.find)
    used = called.replacements if found.version is not None else ()
    return FunctionResult(function, called.plans, found, used, (*called.remarks, *found.remarks))


def _replacement(plan: RegionPlan, result: PacketResult, file: CFile, machine: VliwMachine) -> Replacement:
    planned, prepared, region = result.planned, plan.prepared, plan.region
    assert planned is not None and prepared is not None
    name = name_of(region)
    text = packets_text(region.kernel, _versions(planned), machine, name)
    return call_instead(
        region,
        prepared.scop,
        name,
        text,
        file.source.text,
        False,
        assumptions=(*region.kernel.assumptions, *planned.needs),
    )


def _versions(planned: Planned) -> list[PacketVersion]:
    """The packets for any call, and those for some."""
    made = [PacketVersion(x.lowered, x.packed.code, x.alignment) for x in (planned, planned.aligned) if x]
    few = planned.few
    return made + ([PacketVersion(few.lowered, few.packed.code, where=planned.few_where)] if few else [])


def _judged(result: PacketResult, made: Sequence[FunctionResult]) -> PacketResult:
    """A nest with what the emulator has shown."""
    own = next((x for x in made if x.function.name == result.function), None)
    if own is None or result.planned is None or result.message:
        return result
    if own.selection is not None and own.selection.version is not None:
        return result
    refuted = own.selection is not None and own.selection.refuted
    told = next((x.message for x in own.remarks if x.kind == "refused"), "it was not seen to run in the emulator")
    return replace(result, message=told) if refuted else replace(result, planned=None, remarks=own.remarks)


def assembly_of(results: Sequence[PacketResult], machine: VliwMachine) -> str:
    """The functions of all nests that are right, in assembly."""
    out: list[str] = []
    for x in results:
        if x.planned is None or x.message:
            continue
        name = f"planish_{x.function}_{x.ordinal}"
        out.append(f"{machine.assembly.remark.format(text=f'{x.function}: {x.planned.described}')}")
        for version in _versions(x.planned):
            out.append(function_text(version.code, machine, f"{name}{version.suffix}", visible=True) + "\n")
    return "\n".join(out)
