"""A function for a GPU as Python calls it: libraries that launch its kernels by the driver, and the kernels' code.

    built = build_for_device(source, options, device)
    made = build_device_code(built, file, function, options, device)
    made.code.names, made.fresh
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.build.device_checks import DeviceBuild
from planish.build.devices import DeviceNest, copies_of
from planish.build.job import make_workbench
from planish.emit.device.dialect import DIALECTS
from planish.emit.device.resident import emit_resident, kernels_text, launches_text
from planish.emit.dropin.patched_file import emit_guard
from planish.emit.dropin.replacement import Replacement, compose, name_of
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.ir.expr import Binary, index
from planish.ir.traverse import stored_arrays
from planish.options import Options
from planish.poly.scop.dependence import is_live_in
from planish.poly.scop.reached import reached_elements
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.arguments import text_outside
from planish.run.calls.device_function import DeviceCode
from planish.run.calls.signature import Signature
from planish.run.devices.emulator import compile_emulated
from planish.run.devices.host_launches import compile_launches
from planish.run.devices.nvrtc import compile_kernels
from planish.run.toolchains.toolchain import compile_library
from planish.run.workbench import Workbench
from planish.target.device import Device
from planish.target.load import load_target

_DECLINE = "extern void planish_decline(void);\n"


@dataclass(frozen=True, slots=True, eq=False)
class DeviceLibrary:
    """The code of a function, and the arrays that it writes of which nothing is read that it has not written."""

    code: DeviceCode
    fresh: frozenset[str]


def build_device_code(
    built: DeviceBuild, file: CFile, function: CFunction, signature: Signature, options: Options, device: Device
) -> DeviceLibrary:  # fmt: skip
    """What a GPU and its host need. Raises PlanishError E0801 and E0803 as the compilers of both, E0852."""
    nests = [x for x in built.nests if x.function == function.name and x.region.start in built.used]
    dialect = DIALECTS[device.dialect]
    parts = [(x.text, _resident(x)) for x in nests if x.text is not None]
    names = tuple(x.name for part, _ in parts for x in part.kernels)
    code = b""
    if names:
        text = kernels_text([x for x, _ in parts], dialect)
        code = compile_kernels(text, device.architecture, options.fp == "strict")
    why = _why_not_resident(built, function, nests, file.source.text)
    with tempfile.TemporaryDirectory(prefix="planish-") as name:
        folder = Path(name)
        bench = _bench(options, folder, file)
        launches = compile_launches(launches_text(parts, dialect), folder)
        host = _library(bench, built.file.text, signature, launches)
        resident = b""
        if not why:
            made = next(x for x in built.file.functions if x.function.name == function.name).replacements
            text = compose(file.source, [_declining(x, file.source.text) for x in made], "")
            resident = _library(bench, text, signature, launches)
    return DeviceLibrary(DeviceCode(host, resident, code, names, why), _fresh(built, function, file.source.text))


def build_emulated(
    built: DeviceBuild, file: CFile, function: CFunction, signature: Signature, options: Options
) -> tuple[bytes, frozenset[str]]:  # fmt: skip
    """The library of a function whose kernels run in the emulator, and the arrays that are `fresh`."""
    with tempfile.TemporaryDirectory(prefix="planish-") as name:
        folder = Path(name)
        kernels = compile_emulated(built.device_text, 0, folder) if built.device_text else None
        library = _library(_bench(options, folder, file), built.file.text, signature, kernels)
    return library, _fresh(built, function, file.source.text)


def _bench(options: Options, folder: Path, file: CFile) -> Workbench:
    options = replace(options, target="native", measure=False)
    return make_workbench(options, load_target("native"), folder, file.given)


def _library(bench: Workbench, text: str, signature: Signature, beside: Path | None) -> bytes:
    flags = ("-w", *bench.check_flags, *(() if beside is None else (f"-Wl,{beside}",)))
    made = compile_library(
        bench.compiler, text + entry_text(signature), flags, bench.folder, include_dirs=bench.include_dirs, whole=True
    )
    return made.read_bytes()


def _resident(nest: DeviceNest) -> str:
    assert nest.kernel is not None and nest.prepared is not None and nest.text is not None
    reached = ((x, reached_elements(nest.prepared.scop, x)) for x in nest.kernel.arrays)
    bytes = {x.name: emit_guard(Binary("mul", index(x.type.size), count)) for x, count in reached}
    return emit_resident(nest.kernel, name_of(nest.region), bytes, copies_of(nest.prepared.scop), nest.text)


def _declining(replacement: Replacement, text: str) -> Replacement:
    """A call of kernels that does nothing where they cannot be launched: the original cannot run on the device."""
    original = text[replacement.patch.start : replacement.patch.end]
    before, found, after = replacement.patch.text.rpartition(original)
    assert found, "the original stands in what replaces it"
    patch = replace(replacement.patch, text=f"{before}planish_decline();{after}")
    return replace(replacement, patch=patch, callees=(*replacement.callees, _DECLINE))


def _why_not_resident(built: DeviceBuild, function: CFunction, nests: Sequence[DeviceNest], text: str) -> str:
    """Why arrays cannot stay on the device during a call; "" where they can."""
    if not nests:
        return "no nest of it became a kernel"
    kept = [x for x in function.regions if x.start not in built.used]
    if kept:
        place = f"the nest in line {kept[0].span.line}" if kept[0].span is not None else "a nest"
        return f"{place} stays on the host"
    outside = text_outside(function, text)
    own = {x.name for x in function.parameters if x.pointer}
    for name in sorted(own):
        if re.search(rf"\b{name}\b", outside):
            return f"`{name}` is used outside of the nests as well"
    for nest in nests if len(nests) > 1 else ():
        assert nest.kernel is not None
        passed, stored = dict(nest.region.names), stored_arrays(nest.kernel.body)
        if any(passed.get(x.name, x.name) not in own for x in nest.kernel.arrays if x.name in stored):
            return "a nest gives other nests values through variables of the host"
    return ""


def _fresh(built: DeviceBuild, function: CFunction, text: str) -> frozenset[str]:
    """Arrays that are written, and of which nothing is read before."""
    outside, nests = text_outside(function, text), [x for x in built.nests if x.function == function.name]
    out: set[str] = set()
    for parameter in function.parameters:
        if not parameter.pointer or re.search(rf"\b{parameter.name}\b", outside):
            continue
        using = [(x, n) for x in nests for n, t in x.region.names if re.search(rf"\b{parameter.name}\b", t)]
        stored = any(x.prepared is not None and n in _stored(x) for x, n in using)
        read = any(x.prepared is None or is_live_in(x.prepared.scop, {n}) for x, n in using)
        if stored and not read:
            out.add(parameter.name)
    return frozenset(out)


def _stored(nest: DeviceNest) -> frozenset[str]:
    assert nest.prepared is not None
    return frozenset(x.write.array for x in nest.prepared.scop.statements)
