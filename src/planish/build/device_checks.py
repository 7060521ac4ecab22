"""A file's kernels beside its functions as they are written: each function runs in the emulator, in every order.

built = build_for_device(source, Options(), load_device("cuda-sm90"))
built.file.text, built.device_text
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.build.assemble import FileResult, assemble_file
from planish.build.devices import DeviceNest, DevicePlan, launched, plan_devices
from planish.build.emit import compose_drop_in
from planish.build.functions import FunctionResult, call_nests
from planish.build.job import Job, make_job, make_workbench
from planish.build.lower import RegionPlan
from planish.build.selection import Selection, select
from planish.core.diagnostic import Remark
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.emit.c.element_types import declared_type
from planish.emit.c.function_head import write_head
from planish.emit.device.dialect import DIALECTS
from planish.emit.device.files import DeviceFiles, device_files
from planish.emit.dropin.replacement import Replacement, call_instead, name_of
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.gpu.dispatch import sizes_of_versions
from planish.gpu.sweeps import repetitions
from planish.ir.traverse import stored_arrays
from planish.options import Options
from planish.run.calls.signature import CallCase
from planish.run.devices.emulator import ORDERS, compile_emulated
from planish.run.devices.nvcc import KernelUsage
from planish.run.devices.opencl import OpenClDevice, compile_for_opencl
from planish.run.devices.usage import usage_of
from planish.run.sizes.call_sizes import check_cases, instances_of, make_case, size_names, sizes_near, wanted_sizes
from planish.run.sizes.known_sizes import KnownSizes
from planish.target.device import Device
from planish.target.load import load_target

LABEL = "kernels"
LARGER = (64, 147, 290, 1100)
"""Sizes of calls besides those of every check."""
LARGER_SEED = 4000
OTHERS = (37, 3)
"""The other sizes where those that the host chooses by are large: several pieces of a sum, or few elements."""
REPEATED = 12
"""How often repeated sweeps run in calls with these sizes."""
MOST_INSTANCES = 30_000_000
"""The most statements that run in such a call: the emulator takes a second or two for them."""
MOST_OF_VERSIONS = 150_000_000
"""The same where a kernel is launched for large sizes only."""


@dataclass(frozen=True, slots=True)
class LinkedKernels:
    """A way to run kernels: in an order, or on a device, by its name; and the flags that link them."""

    name: str
    link: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DeviceBuild:
    """What became of a file: its nests, those whose kernels are right (`used`), the drop-in, the text of the kernels
    with the declarations of their functions, and that of the functions of the host where it is apart, `calls` that were
    compared, and what the device's compiler says of kernels, where it is here. `wrong`: functions whose kernels
    computed something else."""

    nests: tuple[DeviceNest, ...]
    used: frozenset[int]
    file: FileResult
    device_text: str
    host_text: str
    heads: tuple[str, ...]
    calls: int
    usage: Mapping[str, KernelUsage]
    remarks: tuple[Remark, ...]
    wrong: tuple[str, ...] = ()


def build_for_device(
    source: Source, options: Options, device: Device, tell: Progress = keep_quiet, orders: Sequence[int] = (0, 1, 2),
    opencl: OpenClDevice | None = None,
) -> DeviceBuild:  # fmt: skip
    """The drop-in of a file and its kernels, checked in the emulator, and on a device of `opencl` where kernels are of
    OpenCL. Raises PlanishError as `plan_devices`, `make_workbench`, `compile_emulated` and `compile_for_opencl`."""
    plan = plan_devices(source, options, device, tell)
    options = replace(options, target="native", measure=False)
    host, nests, exact = load_target("native"), launched(plan.nests), options.fp == "strict"
    with tempfile.TemporaryDirectory(prefix="planish-device-") as name:
        folder = Path(name)
        bench = make_workbench(options, host, folder, source)
        job = make_job(plan.functions, plan.file, options, host, bench)
        runs: list[LinkedKernels] = []
        if nests:
            files = _files(nests, device, exact)
            tell("compiling kernels for the emulator")
            runs = [LinkedKernels(ORDERS[x], (f"-Wl,{compile_emulated(files.whole, x, folder)}",)) for x in orders]
            if opencl is not None and device.dialect == "opencl":
                made_here = compile_for_opencl(files.host, folder)
                runs.append(LinkedKernels(opencl.name, (f"-Wl,{made_here}", *opencl.link)))
        made: list[FunctionResult] = []
        for function in plan.functions:
            tell(f"{function.name}: checking kernels in the emulator")
            made.append(_checked(function, [x for x in nests if x.function == function.name], job, plan, runs))
        file = assemble_file(plan.file, replace(options, target=device.name), tuple(made), bench)
    good = {x.function.name for x in made if x.replacements}
    kept = [x for x in nests if x.function in good]
    files = _files(kept, device, exact) if kept else DeviceFiles("")
    ran = [x.selection.verdict for x in made if x.selection is not None]
    flag = DIALECTS[device.dialect].exact_flag if exact else ""
    usage = usage_of(files.kernels, device.dialect, device.architecture, flag) if kept else {}
    return DeviceBuild(
        plan.nests, frozenset(x.region.start for x in kept), file, files.kernels, files.host, _heads(kept),
        len(runs) * sum(x.cases_run for x in ran if x is not None), usage, tuple(y for x in made for y in x.remarks),
        tuple(x.function.name for x in made if x.selection is not None and x.selection.refuted),
    )  # fmt: skip


def _files(nests: Sequence[DeviceNest], device: Device, exact: bool) -> DeviceFiles:
    return device_files([x.text for x in nests if x.text is not None], DIALECTS[device.dialect], exact)


def _heads(nests: Sequence[DeviceNest]) -> tuple[str, ...]:
    """The heads of the functions that launch kernels on arrays of the device."""
    return tuple(y for x in nests if x.text is not None for y in (x.text.head, x.text.workspace) if y)


def _checked(
    function: CFunction, nests: Sequence[DeviceNest], job: Job, plan: DevicePlan, runs: Sequence[LinkedKernels]
) -> FunctionResult:  # fmt: skip
    """A function whose nests are launched, or why it stays as it is."""
    made_of = {x.region.start: x for x in nests}

    def make(plan: RegionPlan) -> Replacement:
        return _replacement(made_of[plan.region.start], job.file)

    text = job.file.source.text
    called = call_nests(function, [RegionPlan(x.region, x.prepared, (), ()) for x in nests], make, text)
    if isinstance(called, FunctionResult):
        return called
    cases = (
        *check_cases(function, called.known, job.options.sizes), *_larger(function, called.known),
        *_of_each_version(function, called.known, nests),
    )  # fmt: skip
    regions, remarks = {x.start: x for x in function.regions}, list(called.remarks)
    found: Selection | None = None
    bench = replace(job.bench, patient=True)
    for run in runs:
        version = compose_drop_in(f"{LABEL}, {run.name}", called.replacements, regions, job.file.source, run.link)
        found = select(
            job.reference, [version], called.signature, cases, (), bench, function.span, called.finder.find
        )  # fmt: skip
        remarks += found.remarks
        if found.version is None:
            return FunctionResult(function, called.plans, found, (), tuple(dict.fromkeys(remarks)))
    assert found is not None and found.version is not None
    clean = replace(found, version=replace(found.version, link=()))
    return FunctionResult(function, called.plans, clean, called.replacements, tuple(dict.fromkeys(remarks)))


def _larger(function: CFunction, known: tuple[KnownSizes, ...]) -> Iterator[CallCase]:
    """Calls with whole tiles and parts of them, and with several blocks along each axis."""
    names = size_names(known)
    times = {k.sizes[x] for k in known for x in repetitions(k.scop.kernel) if x in k.sizes}
    for number, value in enumerate(LARGER):
        wanted = {x: REPEATED if x in times else n for x, n in wanted_sizes(names, value).items()}
        sizes = sizes_near(known, wanted, {})
        if sizes is not None and instances_of(known, sizes) <= MOST_INSTANCES:
            yield make_case(function, known, sizes, seed=LARGER_SEED + number)


def _of_each_version(
    function: CFunction, known: tuple[KnownSizes, ...], nests: Sequence[DeviceNest]
) -> Iterator[CallCase]:  # fmt: skip
    """Calls for each of the kernels between which the host chooses by sizes."""
    met = [x for nest in nests if nest.kernel is not None for x in sizes_of_versions(nest.kernel)]
    for number, asked in enumerate(met):
        for k in (x for x in known if asked.keys() <= x.sizes.keys()):
            for others in OTHERS:
                wanted = {**wanted_sizes(size_names(known), others), **{k.sizes[x]: n for x, n in asked.items()}}
                sizes = sizes_near(known, wanted, {})
                if sizes is not None and instances_of(known, sizes) <= MOST_OF_VERSIONS:
                    yield make_case(function, known, sizes, seed=LARGER_SEED + len(LARGER) + number)
                    break


def _replacement(nest: DeviceNest, file: CFile) -> Replacement:
    region, prepared, kernel = nest.region, nest.prepared, nest.kernel
    assert prepared is not None and kernel is not None
    name, declared, stored = name_of(region), dict(region.declared), stored_arrays(kernel.body)
    parameters = ["ptrdiff_t"] * len(kernel.sizes)
    parameters += [declared_type(x, declared) for x in kernel.scalars]
    parameters += [f"{'' if x.name in stored else 'const '}{declared_type(x, declared)} *" for x in kernel.arrays]
    head = "\n".join(write_head(f"extern int {name}", parameters)) + ";\n"
    return call_instead(
        region, prepared.scop, name, head, file.source.text, True, assumptions=region.kernel.assumptions
    )  # fmt: skip
