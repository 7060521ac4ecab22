"""`planish targets`: the machines that --target takes.

$ planish targets
"""

from __future__ import annotations

import sys

import typer

from planish.cli.exits import OK, guarded
from planish.report.console import make_console
from planish.report.tables import gpus_table, targets_table
from planish.report.vliw_machines.machines import machines_table
from planish.target.description import target_names
from planish.target.device import device_names, load_device
from planish.target.load import load_target
from planish.vliw.description import load_machine, machine_names

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def targets() -> int:
    """List the machines that --target takes: processors, those that `planish vliw` makes packets for, and GPUs; a .toml
    file of your own is taken as well."""
    console = make_console(sys.stdout)
    console.print(targets_table([load_target(name) for name in target_names()]))
    console.print()
    console.print(machines_table([load_machine(name) for name in machine_names()]))
    console.print()
    console.print(gpus_table([load_device(name) for name in device_names()]))
    return OK
