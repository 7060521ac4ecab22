"""The claims `gpu` of other languages than CUDA: PolyBench in OpenCL, on a device of it too, and in HIP.

for item in examine_dialects(("gemm", "atax"), wanted={"opencl": 2, "hip-gfx942": 2}): print(item)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time

from bench.promises.claim import Claim, Note, at_least, at_most
from planish.build.device_checks import build_for_device
from planish.core.span import Source
from planish.options import Options
from planish.run.devices.opencl import find_opencl
from planish.run.devices.usage import has_compiler
from planish.target.device import load_device

POLYBENCH = Path(__file__).resolve().parents[2] / "examples" / "polybench"
WANTED = {"opencl": 60, "hip-gfx942": 20}
"""The least kernels of all of PolyBench."""


def examine_dialects(names: Sequence[str], wanted: Mapping[str, int]) -> Iterator[Claim | Note]:
    """Kernels that are right in the emulator, and on a device of OpenCL where one is here, with the bits of the
    originals; and what a compiler of HIP says."""
    opencl = find_opencl()
    yield Note(f"OpenCL: {opencl.name}" if opencl is not None else "no device of OpenCL is here")
    for target, least in wanted.items():
        device = load_device(target)
        kernels = wrong = spilled = calls = asked = most = 0
        begun = process_time()
        for name in names:
            source = Source(str(POLYBENCH / f"{name}.c"), (POLYBENCH / f"{name}.c").read_text())
            built = build_for_device(source, Options(fp="strict"), device, orders=(2,), opencl=opencl)
            kernels += sum(len(x.text.kernels) for x in built.nests if x.text and x.region.start in built.used)
            wrong, calls, asked = wrong + len(built.wrong), calls + built.calls, asked + len(built.usage)
            spilled += sum(x.spilled for x in built.usage.values())
            most = max(most, *(x.registers for x in built.usage.values()), 0)
            for function in built.wrong:
                yield Note(f"{name}: {function} is wrong: {'; '.join(x.message[:400] for x in built.remarks)}")
        short = device.dialect
        yield at_least(f"gpu.{short}.kernels", kernels, least)
        yield at_most(f"gpu.{short}.wrong", wrong, 0)
        spent = process_time() - begun
        yield Note(f"{target}: {kernels} kernels of {len(names)} programs, {calls} calls ({spent:.0f} s)")
        if has_compiler(short):
            yield at_most(f"gpu.{short}.spilled_bytes", spilled, 0)
            yield Note(f"{target}: {asked} kernels compiled, at most {most} registers")
