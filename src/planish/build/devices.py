"""A C file for a GPU: its nests become kernels, which run in an emulator beside the functions as they are written.

>>> from planish.core.span import Source
>>> from planish.target.device import load_device
>>> text = "void f(int n, const float *a, float *restrict b) { for (int i = 0; i < n; i++) b[i] += 2 * a[i]; }"
>>> made = plan_devices(Source("f.c", text), Options(), load_device("cuda-sm90"))
>>> [(x.function, x.version, len(x.text.kernels)) for x in made.nests]
[('f', 'device-threads, original', 1)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planish.build.plan import plan_region
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError, Remark
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source, Span
from planish.emit.device.dialect import DIALECTS
from planish.emit.device.host_text import Copies, DeviceText, emit_launches
from planish.emit.dropin.patched_file import emit_guard
from planish.emit.dropin.replacement import NoExtentError, name_of
from planish.frontend.c.translation_unit import CFile, CFunction, Region
from planish.gpu.index_width import index_factor
from planish.gpu.spmd import UnmappedError, make_launches
from planish.ir.expr import Binary, index
from planish.ir.nest import Kernel
from planish.library.driver import MadeVersions, make_versions
from planish.library.registry import strategies_for
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.dependence import is_live_in
from planish.poly.scop.extraction import Scop
from planish.poly.scop.reached import reached_elements
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.run_script import follow
from planish.target.device import Device
from planish.target.load import load_target


@dataclass(frozen=True, slots=True, eq=False)
class DeviceNest:
    """A nest on a device: the version of it, its kernel of launches, and their text; or why it stays on the host.
    `mapping`: those of the remarks that say which of its loops are launched, and which ones run in one thread."""

    function: str
    region: Region
    prepared: Prepared | None
    version: str
    kernel: Kernel | None
    text: DeviceText | None
    remarks: tuple[Remark, ...]
    mapping: tuple[Remark, ...] = ()

    @property
    def span(self) -> Span | None:
        """Its place."""
        return self.region.span


@dataclass(frozen=True, slots=True, eq=False)
class DevicePlan:
    """The nests of a file, as far as they have been made."""

    file: CFile
    functions: tuple[CFunction, ...]
    nests: tuple[DeviceNest, ...]


def plan_devices(
    source: Source, options: Options, device: Device, tell: Progress = keep_quiet
) -> DevicePlan:  # fmt: skip
    """The nests of a file as kernels of a device; nothing is run. PlanishError where the file cannot be read."""
    options = replace(options, target="generic")
    file = read_file(source, options).without_early_exits()
    functions = tuple(f for f in file.functions if options.takes(f.name))
    nests: list[DeviceNest] = []
    for function in functions:
        for region in function.regions:
            tell(f"{function.name}: mapping to {device.name}")
            nests.append(_plan(function, region, options, device))
    return DevicePlan(file, functions, tuple(nests))


def _plan(function: CFunction, region: Region, options: Options, device: Device) -> DeviceNest:
    """A nest on a device, by the best of its versions that can be launched."""
    plan = plan_region(region, options, load_target(options.target), extrema=False)
    prepared, remarks = plan.context.nest, list(plan.remarks)
    if prepared is None:
        return DeviceNest(function.name, region, None, "", None, None, tuple(remarks))
    if options.script is not None:
        prepared, scripted = follow(prepared, options.script, options.fp, options.catalogue)
        made = MadeVersions((scripted,), ())
    else:
        dialect = DIALECTS[device.dialect]
        tried, untried = strategies_for(device, 2 if dialect.copies else 1, in_time=not dialect.swept_alone)
        made = make_versions(plan.context, tried)
        if any(x.match(plan.context) for x in untried):
            told = f"each sweep is a launch of its own: {dialect.swept_alone}"
            remarks.append(Remark("time-tiles", "refused", told, region.span))
    versions = sorted((x for x in made.versions if isinstance(x, Version)), key=lambda x: x.cost)
    for version in versions:
        try:
            kernel = make_launches(version.kernel)
            text = _emit(region, prepared, kernel, device)
        except UnmappedError as error:
            place = error.span or region.span
            remarks.append(Remark("device-launch", "refused", f"{version.name}: {error.reason}", place))
        except NoExtentError as error:
            message = f"data choose how far `{error}` is used, so that it is not known what to copy to the device"
            remarks.append(Remark("device-launch", "refused", message, region.span))
        except (NotAffineError, PlanishError) as error:
            message = f"{version.name}: {str(error).splitlines()[0]}"
            remarks.append(Remark("device-launch", "refused", message, region.span))
        else:
            known = (*remarks, *version.remarks)
            return DeviceNest(function.name, region, prepared, version.name, kernel, text, known, version.bands)
    if not versions and options.script is None:
        told = "the loops that run most often depend on each other: it stays on the host"
        remarks.append(Remark("device-serial", "refused", told, region.span))
    return DeviceNest(function.name, region, prepared, "", None, None, tuple(dict.fromkeys((*remarks, *made.remarks))))


def _emit(region: Region, prepared: Prepared, kernel: Kernel, device: Device) -> DeviceText:
    arrays = [(x, reached_elements(prepared.scop, x)) for x in kernel.arrays]
    bytes = {x.name: emit_guard(Binary("mul", index(x.type.size), count)) for x, count in arrays}
    name, factor = name_of(region), index_factor(prepared.scop.kernel)
    if factor is None:
        raise UnmappedError("its bounds are beyond indices of 32 bits")
    # A bound may multiply what another has multiplied.
    return emit_launches(
        kernel, name, bytes, DIALECTS[device.dialect], copies_of(prepared.scop), name, factor**2
    )  # fmt: skip


def copies_of(scop: Scop) -> Copies:
    """The arrays whose content a nest needs, or parts of which it may leave as they are; and those that it changes."""
    out = frozenset(x.write.array for x in scop.statements)
    # Between the first and the last element that is stored there may be others, but for an array of one element.
    into = {x.name for x in scop.kernel.arrays if x.name not in out or x.shape or is_live_in(scop, {x.name})}
    return Copies(frozenset(into), out & {x.name for x in scop.kernel.arrays})


def launched(nests: Sequence[DeviceNest]) -> tuple[DeviceNest, ...]:
    """The nests that are launched."""
    return tuple(x for x in nests if x.text is not None)
