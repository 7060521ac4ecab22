"""Functions for GPUs from Python: built and checked as by `planish build`, loaded by the driver, or emulated.

>>> text = "void f(int n, const float *a, float *restrict b) { for (int i = 0; i < n; i++) b[i] = 2 * a[i]; }"
>>> import numpy as np, planish
>>> twice = planish.compile(text, target="cuda-sm90", emulate=True)
>>> a, b = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
>>> twice(a, b)
>>> float(b[4]), "__global__" in twice.source
(8.0, True)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from planish.build.device_checks import DeviceBuild, build_for_device
from planish.build.devices import DeviceNest
from planish.build.read import read_file
from planish.compiled import CompiledFunction, PendingFunction, PythonCallee, Report
from planish.core.cache import Cache, key
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.device_library import build_device_code, build_emulated
from planish.ir.text.printer import print_kernel
from planish.options import Options
from planish.report.account import FileAccount, account_for, completed, parse_account, print_account
from planish.report.store import build_address
from planish.run.calls.device_function import DeviceCode, DeviceFunction, EmulatedFunction
from planish.run.devices.driver import find_driver, need_driver
from planish.run.devices.nvrtc import has_compiler
from planish.target.device import Device, device_names, is_device, load_device

ANY = "cuda"
"""The target that is the card that is here."""
_EMULATED = "cuda-sm90"


def is_gpu(target: str) -> bool:
    """Whether a target is a GPU: any, one that is described, or by a TOML file."""
    return target == ANY or is_device(target)


def choose_device(target: str, emulate: bool) -> Device:
    """The device that a target stands for. Raises PlanishError E0851 where no GPU is here and nothing is to be
    emulated, E0122 for kernels in another language than CUDA, E0702 and E0703 as `load_device`."""
    driver = find_driver() if emulate else need_driver()
    if target != ANY:
        device = load_device(target)
        if device.dialect != "cuda":
            message = f"kernels for {target} cannot be called from Python, which calls those of CUDA"
            advice = f"`planish build FILE.c --target {target}` writes them"
            raise PlanishError(Diagnostic("E0122", message, help=advice))
        return device
    if driver is None or driver.count() == 0:
        return load_device(_EMULATED)
    return nearest_device(driver.architecture(driver.current() or 0))


def nearest_device(architecture: str) -> Device:
    """The description of the newest architecture that is not newer than one, for which code is made.

    >>> nearest_device("sm_103").architecture, nearest_device("sm_86").name
    ('sm_103', 'cuda-sm80')
    """
    known = [x for x in map(load_device, device_names()) if re.fullmatch(r"sm_\d+", x.architecture)]
    known.sort(key=lambda x: _number(x.architecture))
    older = [x for x in known if _number(x.architecture) <= _number(architecture)]
    return replace((older or known)[-1 if older else 0], architecture=architecture)


def _number(architecture: str) -> int:
    return int(architecture.removeprefix("sm_"))


def compile_for_gpu(unit: PendingFunction, options: Options, cache: Cache, emulate: bool) -> CompiledFunction:
    """A function whose nests are kernels, of a device that is here or of the emulator. PlanishError as `choose_device`,
    `build_for_device` and `build_device_code`; E0852 where nothing compiles kernels."""
    device = choose_device(options.target, emulate)
    if not emulate and not has_compiler():
        raise PlanishError(Diagnostic("E0852", "no compiler of CUDA is here: neither NVRTC nor nvcc"))
    native = replace(options, target="native", measure=False, race=False)
    # Functions of the device are named in its description, which may be a file.
    address = key("device", build_address(unit.file.source, native), unit.function.name, repr(device), emulate)
    known = cache.get(address)
    entry = known if known is not None else _build(unit, native, device, emulate)
    head, _, rest = entry.partition(b"\n")
    data: dict[str, Any] = json.loads(head)
    account = parse_account(data["account"])
    if known is None:
        cache.put(address, entry)
    blobs = []
    for size in data["sizes"]:
        blobs.append(rest[:size])
        rest = rest[size:]
    unbounded = tuple(a.name for a in unit.interface.arguments if not a.bounded)
    report = Report(account.functions[0], account.floats, data["compile"], unbounded, known is not None)
    callee: PythonCallee
    if emulate:
        callee = EmulatedFunction(blobs[0], unit.interface)
    else:
        code = DeviceCode(blobs[0], blobs[1], blobs[2], tuple(data["names"]), data["why"])
        callee = DeviceFunction(code, unit.interface, need_driver())
    return CompiledFunction(callee, report, data["source"], data["stages"], frozenset(data["fresh"]))


def _build(unit: PendingFunction, options: Options, device: Device, emulate: bool) -> bytes:
    """One line of JSON, then the libraries and the code of the kernels."""
    source = Source(f"{Path(unit.file.source.name).stem}.c", unit.file.source.written.text)
    built, file = build_for_device(source, options, device), read_file(source, replace(options, target="generic"))
    function, signature = file.function(unit.function.name), unit.interface.signature
    launched = [x for x in built.nests if x.function == function.name and x.region.start in built.used]
    head: dict[str, Any] = {"names": [], "why": ""}
    if emulate:
        library, fresh = build_emulated(built, file, function, signature, options)
        blobs, how = [library], "in the emulator"
    else:
        made = build_device_code(built, file, function, signature, options, device)
        fresh, code = made.fresh, made.code
        blobs, how = [code.host, code.resident, code.kernels], f"for {device.architecture}"
        head |= {"names": list(code.names), "why": code.why}
    account = _account(built, unit, launched, options)
    head |= {
        "account": print_account(account), "compile": f"{built.file.command}{f', kernels {how}' if launched else ''}",
        "sizes": [len(x) for x in blobs],
        "source": built.device_text or built.file.text, "stages": _stages(built, unit), "fresh": sorted(fresh),
    }  # fmt: skip
    return json.dumps(head).encode() + b"\n" + b"".join(blobs)


def _account(
    built: DeviceBuild, unit: PendingFunction, launched: Sequence[DeviceNest], options: Options
) -> FileAccount:  # fmt: skip
    """The account of the function: its version is that of its nests, and it stays as written for what was told of
    those that are not launched."""
    own = [x for x in built.nests if x.function == unit.function.name and x.text is None]
    refused = tuple(y for x in own for y in x.remarks if y.kind == "refused")
    made = tuple(
        replace(x, remarks=(*refused, *x.remarks)) if x.function.name == unit.function.name else x
        for x in built.file.functions
    )
    account = completed(account_for(replace(built.file, functions=made), options), unit.function)
    # The label of a check names the order in which the emulator ran, not what is run.
    version = "; ".join(dict.fromkeys(x.version for x in launched))
    return replace(account, functions=tuple(replace(x, version=version) for x in account.functions))


def _stages(built: DeviceBuild, unit: PendingFunction) -> Mapping[str, str]:
    """The text of each stage: what was read, the nests of launches, the kernels, the drop-in that calls them."""
    nests = [print_kernel(x.kernel) for x in built.nests if x.function == unit.function.name and x.kernel is not None]
    return {"read": unit.file.source.text, "nest": "\n".join(nests), "cuda": built.device_text, "c": built.file.text}
