"""`planish vliw pack|run|trace FILE.sa`: streams of operations of VLIW machines as packets, run in the simulator.

$ planish vliw pack axpy.sa --assembly
$ planish vliw run axpy.sa --set n=7 --show y
$ planish vliw trace axpy.sa --set n=7 --html axpy.html
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from planish.build.machine_study import read_axis
from planish.build.machine_study import study as make_study
from planish.cli.exits import OK, USER_ERROR, guarded
from planish.cli.files import write_files
from planish.cli.options import Function
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.core.span import Source
from planish.options import Options
from planish.report.console import make_console
from planish.report.vliw_machines.study import refused_lines, study_figure, study_rows, study_table
from planish.report.vliw_machines.trace import packets_html, packets_text, use_text
from planish.run.vliw.programs import PreparedCode, prepare, run_code
from planish.vliw.assembly import print_assembly
from planish.vliw.description import load_machine
from planish.vliw.machine import VliwMachine
from planish.vliw.pack.packing import pack as pack_program
from planish.vliw.program import PacketCode, StreamParameter, StreamProgram
from planish.vliw.simulator.cycles import SimulatedRun
from planish.vliw.simulator.execution import MachineFault
from planish.vliw.simulator.interpreter import interpret
from planish.vliw.text import is_code, machine_of, parse_code, parse_program, print_code

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=True)

_SHOWN = 16
"""Elements of an array that are printed."""

File = Annotated[str, typer.Argument(metavar="FILE.sa", help="A program, or packets.")]
Target = Annotated[str | None, typer.Option(metavar="NAME", help="The machine, where not the one that FILE names.")]
Values = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="What a number is.")]
Most = Annotated[int, typer.Option("--cycles", metavar="N", help="Stop after N cycles.")]


@app.callback()
def vliw() -> None:
    """Pack, run and show streams of operations of VLIW machines."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A file that was read: its program (None where it holds packets), and the packets."""

    source: Source
    machine: VliwMachine
    program: StreamProgram | None
    code: PacketCode
    loops: Sequence[object]

    @property
    def parameters(self) -> tuple[StreamParameter, ...]:
        """What the packets are given."""
        return self.code.parameters


@app.command()
@guarded
def pack(
    file: File,
    target: Target = None,
    assembly: Annotated[bool, typer.Option("--assembly", help="As the machine's assembler reads it.")] = False,
) -> int:
    """Print the packets that a program becomes."""
    work = _read(file, target)
    text = print_assembly(work.code, work.machine) + "\n" if assembly else print_code(work.code, work.machine)
    sys.stdout.write(text)
    return OK


@app.command()
@guarded
def run(
    file: File,
    target: Target = None,
    values: Values = None,
    show: Annotated[list[str] | None, typer.Option(metavar="ARRAY", help="Print an array at the end.")] = None,
    most: Most = 100_000_000,
) -> int:
    """Run a program in the simulator: cycles, how busy units are, and whether it does what the program says."""
    work = _read(file, target)
    prepared, ended = _run(work, values, most)
    print(f"{work.code.name} on {work.machine.name}: {len(work.code.packets)} packets")
    for loop in work.loops:
        print(f"  {loop}")
    for line in use_text(work.code, work.machine, ended):
        print(f"  {line}")
    arrays = {x.name: x for x in work.parameters if x.memory}
    for name in show or ():
        if name not in arrays:
            advice = f"arrays: {', '.join(arrays) or 'none'}"
            raise PlanishError(Diagnostic("E0722", f"'{name}' is no array of the program", help=advice))
        shown = prepared.values(ended.state, arrays[name]).tolist()
        more = " …" if len(shown) > _SHOWN else ""
        print(f"  {name} = {' '.join(f'{x:g}' for x in shown[:_SHOWN])}{more}")
    if work.program is None:
        return OK
    return OK if _is_meant(work, values, ended) else USER_ERROR


@app.command()
@guarded
def trace(
    file: File,
    target: Target = None,
    values: Values = None,
    page: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a page instead.")] = None,
    most: Most = 100_000_000,
) -> int:
    """Show packets by units, how often each was issued, and the lines of the source that they belong to."""
    work = _read(file, target)
    _, ended = _run(work, values, most)
    if page is None:
        print(packets_text(work.code, work.machine, ended))
        return OK
    path = Path(page)
    write_files(path.parent, {path.name: packets_html(work.code, work.machine, ended, work.source)})
    print(f"wrote {path}")
    return OK


@app.command()
@guarded
def study(
    files: Annotated[list[str], typer.Argument(metavar="FILE.c...", help="C files with nests.")],
    axis: Annotated[list[str], typer.Option("--axis", metavar="ENTRY=VALUES", help="An entry and its values.")],
    target: Annotated[str, typer.Option(metavar="NAME", help="The machine that is changed.")] = "ftmatrix",
    function: Function = None,
    figure: Annotated[str | None, typer.Option(metavar="FILE.svg", help="Draw the gains.")] = None,
    rows: Annotated[str | None, typer.Option(metavar="FILE.csv", help="Write the numbers.")] = None,
) -> int:
    """Build the same functions for variants of a machine, made by other values of some entries of its description."""
    sources = [read_input(x).source for x in files]
    found = make_study(sources, target, [read_axis(x) for x in axis], Options(functions=tuple(function or ())))
    console = make_console(sys.stdout)
    console.print(study_table(found))
    for line in refused_lines(found):
        console.print(line, markup=False, soft_wrap=True)
    for name, text in ((figure, study_figure), (rows, study_rows)):
        if name is not None:
            path = Path(name)
            write_files(path.parent, {path.name: text(found)})
            print(f"wrote {path}")
    return OK if found.functions else USER_ERROR


def _read(file: str, target: str | None) -> _Work:
    source = read_input(file, "a program of a VLIW machine").source
    name = target or machine_of(source)
    if not name:
        advice = "write `program NAME on MACHINE` in its first line, or give --target"
        raise PlanishError(Diagnostic("E0722", f"{file} names no machine", source.point(1), advice), source)
    machine = load_machine(name)
    if is_code(source):
        return _Work(source, machine, None, parse_code(source, machine), ())
    program = parse_program(source, machine)
    packed = pack_program(program, machine)
    return _Work(source, machine, program, packed.code, packed.loops)


def _values(given: list[str] | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        try:
            found[name] = float(value) if any(x in value for x in ".enEN") else int(value, 0)
        except ValueError:
            equals = ""
        if not equals:
            raise PlanishError(Diagnostic("E0722", f"--set {text} gives no number", help="write --set NAME=VALUE"))
    return found


def _run(work: _Work, values: list[str] | None, most: int) -> tuple[PreparedCode, SimulatedRun]:
    """The machine after the packets; PlanishError E0723 at a fault."""
    prepared = prepare(work.parameters, work.machine, _values(values))
    ended = run_code(work.code, work.machine, prepared.state, most)
    if ended.faults:
        fault = ended.faults[0]
        raise PlanishError(Diagnostic("E0723", str(fault), fault.span), work.source)
    return prepared, ended


def _is_meant(work: _Work, values: list[str] | None, ended: SimulatedRun) -> bool:
    """Whether memories hold what the program says, its operations done one after the other."""
    assert work.program is not None
    prepared = prepare(work.program.parameters, work.machine, _values(values))
    try:
        meant = interpret(work.program, work.machine, prepared.state)
    except MachineFault as error:
        raise PlanishError(Diagnostic("E0723", str(error.fault), error.fault.span), work.source) from error
    differing = [x for x, held in meant.memories.items() if held != ended.state.memories[x]]
    print(f"  memories hold {'something else than' if differing else 'what'} the program says")
    return not differing
