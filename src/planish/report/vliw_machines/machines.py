"""VLIW machines and their operations as tables and text.

>>> from planish.vliw.description import load_machine
>>> print(explain_operation(load_machine("ftmatrix"), "SADDA"))
SADDA {a}, {b}, {d}
<BLANKLINE>
kernel SADDA(d: i64[] @AR, a: i64[] @AR, b: i64[] @OR)
{
  d[] = a[] + b[]
}
<BLANKLINE>
ftmatrix, compute, on SMAC1, SMAC2 or SIEU, latency 2
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from planish.ir.text.printer import print_kernel
from planish.report.tables import format_bytes
from planish.vliw.machine import MachineOperation, VliwMachine


def machines_table(machines: Sequence[VliwMachine]) -> Table:
    """The VLIW machines: what a packet has, and what its operations work on."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("VLIW machine", "packet", "registers", "memories", "operations", "description"):
        table.add_column(name, overflow="fold")
    for m in machines:
        packet = ", ".join(f"{count} {side}" for side, count in m.sides.items())
        registers = ", ".join(f"{x.count} {x.name} x {x.bits} bit" for x in m.files)
        memories = ", ".join(f"{x.name} {format_bytes(x.bytes)}" for x in m.memories)
        told = str(len(m.operations))
        table.add_row(escape(m.name), packet, registers, memories, told, escape(m.description))
    return table


def operations_table(machine: VliwMachine, operations: Sequence[MachineOperation]) -> Table:
    """Operations of a VLIW machine: what they take of it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("operation", "kind", "units", "latency", "busy", "text"):
        table.add_column(name, overflow="fold")
    for x in operations:
        latency = f"{x.latency}{' (assumed)' if x.assumed else ''}"
        row = (x.name, machine.kind(x.name), ", ".join(x.units), latency, str(x.busy), escape(x.text))
        table.add_row(*row)
    return table


def explain_operation(machine: VliwMachine, name: str) -> str:
    """What an operation does and what it takes of the machine; KeyError where there is none."""
    operation = machine.operation(name)
    parts = [operation.text]
    if not operation.branch:
        parts.append(print_kernel(operation.definition).strip())
    units = " or ".join(filter(None, (", ".join(operation.units[:-1]), operation.units[-1])))
    assumed = " (assumed)" if operation.assumed else ""
    busy = f", keeps its unit for {operation.busy} cycles" if operation.busy > 1 else ""
    told = f"latency {operation.latency}{assumed}{busy}"
    parts.append(f"{machine.name}, {machine.kind(name)}, on {units}, {told}")
    return "\n\n".join(parts)
