"""What became of the nests of a file on a GPU: a table of kernels, and why a nest stays on the host.

>>> devices_table(()).columns[0].header
'kernel'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from rich.markup import escape
from rich.table import Table

from planish.build.device_checks import DeviceBuild
from planish.build.devices import DeviceNest
from planish.core.diagnostic import Remark
from planish.core.span import Source
from planish.emit.device.dialect import DIALECTS
from planish.frontend.c.translation_unit import CFunction
from planish.gpu.coalescing import Coalescing, count_accesses
from planish.ir.expr import Const
from planish.ir.nest import Alloc, Array, Launch
from planish.ir.text.printer import print_expr
from planish.ir.traverse import walk
from planish.report.account import is_about
from planish.run.devices.nvcc import KernelUsage
from planish.target.device import Device


@dataclass(frozen=True, slots=True)
class KernelReport:
    """A kernel: its blocks and threads, the bytes of shared memory of a block, how its accesses of memory are spread
    over a warp, and what the device's compiler says."""

    name: str
    line: int
    grid: str
    threads: str
    shared: int
    accesses: Coalescing
    usage: KernelUsage | None


def report_kernels(nests: Sequence[DeviceNest], built: DeviceBuild | None = None) -> tuple[KernelReport, ...]:
    """The kernels of some nests, in order; of those that are used, where they were checked."""
    out: list[KernelReport] = []
    for nest in nests:
        used = built is None or nest.region.start in built.used
        if nest.kernel is None or nest.text is None or not used:
            continue
        launches = [x for x in walk(nest.kernel.body) if isinstance(x, Launch)]
        for launch, kernel in zip(launches, nest.text.kernels, strict=True):
            local = [x.array for x in walk(launch.body) if isinstance(x, Alloc)]
            shared = sum(_bytes(x) for x in local if x.memory == "shared")
            grid = " x ".join(print_expr(x) for _, x in launch.grid) or "1"
            threads = " x ".join(str(n) for _, n in launch.block) or "1"
            usage = built.usage.get(kernel.name) if built is not None else None
            line = nest.span.line if nest.span is not None else 0
            accesses = count_accesses(nest.kernel, launch)
            out.append(KernelReport(kernel.name, line, grid, threads, shared, accesses, usage))
    return tuple(out)


def _bytes(array: Array) -> int:
    return array.type.size * prod(int(x.value) for x in array.shape if isinstance(x, Const))


def devices_table(kernels: Sequence[KernelReport]) -> Table:
    """A line for each kernel."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("kernel", "line", "blocks", "threads", "shared", "coalesced", "registers", "spilled"):
        table.add_column(name, overflow="fold")
    for x in kernels:
        known = (str(x.usage.registers), str(x.usage.spilled)) if x.usage is not None else ("", "")
        table.add_row(
            escape(x.name), str(x.line or ""), escape(x.grid), x.threads, str(x.shared or ""), str(x.accesses), *known
        )  # fmt: skip
    return table


def describe_nests(nests: Sequence[DeviceNest], source: Source, every: bool) -> Iterator[str]:
    """What was done with each nest, and why one stays on the host; with `every` also what was refused on the way."""
    for nest in nests:
        where = f"line {nest.span.line}" if nest.span is not None else "a nest"
        if nest.version:
            yield f"{nest.function}, {where}: {nest.version}"
        else:
            yield f"{nest.function}, {where}: stays on the host"
        yield from _rendered(nest.remarks if every or not nest.version else nest.mapping, source)


def describe_unread(functions: Sequence[CFunction], remarks: Sequence[Remark], source: Source) -> Iterator[str]:
    """What the front end says of functions in which it reads no nest, and of what belongs to no function."""
    unread = [x for x in functions if not x.regions]
    yield from _rendered([r for r in remarks if r.span is None or any(is_about(r, x) for x in unread)], source)


def _rendered(remarks: Sequence[Remark], source: Source) -> Iterator[str]:
    yield from dict.fromkeys(x.render(source) for x in remarks)


def describe_checks(built: DeviceBuild, device: Device) -> str:
    """What was compared, and where nothing ran."""
    if not built.used:
        return "nothing became a kernel"
    where = f"no {DIALECTS[device.dialect].title} device was asked: nothing is said of the time that they take"
    return f"{built.calls} calls were checked in an emulator, in three orders of blocks and threads; {where}"
