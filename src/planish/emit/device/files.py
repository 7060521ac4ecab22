"""The files of launches: kernels, and functions of the host that launch them, in one or in two.

>>> from planish.emit.device.dialect import OPENCL
>>> device_files((), OPENCL, True).kernels
'#pragma OPENCL FP_CONTRACT OFF\\n'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.emit.device.bfloat import define_bfloat
from planish.emit.device.dialect import DeviceDialect
from planish.emit.device.host_text import DeviceText, file_text, helpers_of, macros_of
from planish.emit.device.kernel_text import DeviceKernel
from planish.emit.device.opencl import host_prologue, opencl_text, program_text


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """The text of kernels; and that of the functions of the host, "" where it is in the same file."""

    kernels: str
    host: str = ""

    @property
    def whole(self) -> str:
        """Both, as they are compiled for the emulator."""
        return self.kernels + self.host


def device_files(parts: Sequence[DeviceText], dialect: DeviceDialect, exact: bool) -> DeviceFiles:
    """The files of some nests. `exact`: no product and sum are rounded once."""
    line = dialect.exact if exact else ""
    if not dialect.host:
        text = file_text(parts, dialect)
        return DeviceFiles(f"{line}\n{text}" if line else text)
    kernels = [x for part in parts for x in part.kernels]
    hosts = "\n".join(x for part in parts for x in (part.launch, part.copied))
    programs = [program_text(x.name, x.kernels, _program(x.kernels, line)) for x in parts]
    named = define_bfloat(hosts, "")
    host = (
        f"{host_prologue(programs, exact)}{named}{macros_of(hosts)}\n{helpers_of(hosts)}\n"
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{hosts}\n#ifdef __cplusplus\n}}\n#endif\n'
    )
    return DeviceFiles(_program(kernels, line), host)


def _program(kernels: Sequence[DeviceKernel], exact: str) -> str:
    """A program of OpenCL: what kernels use, and these."""
    text = "".join(x.text for x in kernels)
    return opencl_text(kernels, define_bfloat(text, "") + macros_of(text), exact)
