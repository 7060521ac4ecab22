"""`planish isa list|show|find|classes|export|costs|lanes|learn`: the instructions of processors.

$ planish isa list --isa x86 --kind masked
$ planish isa show _mm_maddubs_epi16
$ planish isa find 'i32 += u8*s8 by 4'
$ planish isa classes dot_accumulate
$ planish isa export --format markdown -o pages/
$ planish isa export --format header --class 'add*' -o include/
$ planish isa lanes -o lanes/
$ planish isa learn --x86 x86-intel.xml -o lib/
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from planish.cli.exits import OK, guarded
from planish.cli.files import check_outputs, write_files
from planish.cli.options import Quiet
from planish.cli.terminal.progress import show_progress
from planish.core.cache import Cache
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.isa.classes.operation_classes import Class, find_classes, of_known_lengths
from planish.isa.classes.shipped import shipped_classes
from planish.isa.collection import Collection, collection_names, file_name, load_collection
from planish.isa.costs.hexagon import HEXAGON_PLACES, read_hexagon_costs
from planish.isa.costs.tables import PROCESSORS, costs_file, load_costs
from planish.isa.entry import Entry
from planish.isa.exports.header import write_header
from planish.isa.exports.irdl import write_irdl
from planish.isa.exports.operations import ExportedOperation, choose_operations, find_operations
from planish.isa.exports.smt import write_smt
from planish.isa.exports.tablegen import write_tablegen
from planish.isa.finding import find_entries
from planish.isa.vendors.specification import newest
from planish.report.catalogue import classes_table, explain_class, export_json, export_markdown
from planish.report.console import make_console
from planish.report.instructions import (
    answers_table,
    collections_table,
    entries_table,
    explain_costs,
    explain_entry,
)  # fmt: skip
from planish.report.vliw_machines.machines import explain_operation, machines_table, operations_table
from planish.run.instructions.costs import read_costs
from planish.run.instructions.learn import learn
from planish.run.instructions.shapes import find_shapes
from planish.run.instructions.vendors import VENDORS, Vendor
from planish.run.processes.workers import Workers, find_workers
from planish.schedule.query_instruction import STATEMENT_ISAS, find_for_statement, is_statement
from planish.select.factored.lane_file import extract
from planish.select.factored.lane_functions import lanes_file
from planish.target.load import load_target
from planish.vliw.description import load_machine, machine_names
from planish.vliw.machine import VliwMachine

EXPORTS = "planish-isa"
"""Where files go that are exported."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=True)

Isa = Annotated[str | None, typer.Option("--isa", metavar="NAME", help="Of one architecture only.")]
Cluster = Annotated[str, typer.Option(metavar="ADDRESS", help="Use a Dask cluster, as tcp://host:8786.")]


@app.callback()
def isa() -> None:
    """List, find, show and learn the instructions of processors."""


@app.command("list")
@guarded
def list_instructions(
    pattern: Annotated[str | None, typer.Argument(metavar="[PATTERN]", help="Names, as `_mm_*add*`.")] = None,
    isa: Isa = None,
    kind: Annotated[str | None, typer.Option(help="integer, float, masked or memory.")] = None,
    status: Annotated[str | None, typer.Option(help="verified, unproven, excluded or refused.")] = None,
    feature: Annotated[str | None, typer.Option(help="An extension, as AVX512_VNNI.")] = None,
) -> int:
    """Count the instructions that have been learnt, or list some of them."""
    _check_choice("--kind", kind, ("integer", "float", "masked", "memory"))
    _check_choice("--status", status, ("verified", "unproven", "excluded", "refused"))
    wanted = pattern if pattern is None or set("*?[") & set(pattern) else f"*{pattern}*"
    if isa in machine_names():
        _list_operations(load_machine(isa), wanted or "*")
        return OK
    loaded = _loaded(isa)
    if feature is not None:
        _check_choice("--feature", feature, sorted({word for entries in loaded for x in entries for word in _words(x)}))
    if pattern is None and kind is None and status is None and feature is None:
        console = make_console(sys.stdout)
        console.print(collections_table(loaded))
        if isa is None:
            console.print()
            console.print(machines_table([load_machine(x) for x in machine_names()]))
        return OK
    chosen = [
        x for entries in loaded for x in entries
        if (wanted is None or fnmatchcase(x.name, wanted)) and (status is None or x.status == status)
        and (feature is None or feature in _words(x)) and (kind is None or (x.text and kind in x.kinds))
    ]  # fmt: skip
    if not chosen:
        print("no instruction is so")
        return OK
    make_console(sys.stdout).print(entries_table(chosen))
    return OK


def _list_operations(machine: VliwMachine, pattern: str) -> None:
    """The operations of a VLIW machine whose names are so."""
    chosen = [x for x in machine.operations if fnmatchcase(x.name, pattern)]
    if chosen:
        make_console(sys.stdout).print(operations_table(machine, chosen))
    else:
        print("no operation is so")


def _words(x: Entry) -> list[str]:
    """The extensions that an instruction needs, or needs one of."""
    return [word for feature in x.features for word in feature.split("/")]


@app.command()
@guarded
def show(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    isa: Isa = None,
    target: Annotated[str | None, typer.Option(metavar="NAME", help="What it costs on that machine only.")] = None,
) -> int:
    """Say what an instruction does, how C calls it, what it costs, and how that was found to be so."""
    machines = [load_machine(x) for x in machine_names() if isa in (None, x)]
    for machine in machines:
        if any(x.name == name for x in machine.operations):
            print(explain_operation(machine, name))
            return OK
    loaded = _loaded(isa) if isa not in machine_names() else []
    processor = None if target is None else load_target(target).processor
    for entries in loaded:
        if name in entries.records:
            print(explain_entry(entries.entry(name), entries.source))
            costs = load_costs(entries.isa)
            known = {} if costs is None else costs.of(name)
            chosen = {x: y for x, y in known.items() if processor in (None, x)}
            if costs is not None and (told := explain_costs(entries.isa, chosen, costs.source)):
                print(f"\n{told}")
            return OK
    everything = [x for entries in loaded for x in entries.records]
    everything += [x.name for machine in machines for x in machine.operations]
    close = difflib.get_close_matches(name, everything, 3)
    advice = f"did you mean {', '.join(close)}?" if close else "`planish isa list PATTERN` lists names"
    raise PlanishError(Diagnostic("E0655", f"there is no instruction '{name}'", help=advice))


@app.command()
@guarded
def find(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="`i32 += u8*s8 by 4`, a statement in C, or words.")],
    isa: Isa = None,
) -> int:
    """Find the instructions that compute something, that do what a statement in C says, or whose names hold words.

    A statement follows the declarations of its variables: `uint8_t d, a, b; d = (a + b + 1) >> 1;`. With `int8_t
    a[4]` each lane has four of them: `for (int q = 0; q < 4; q++) d += a[q] * b[q];`.
    """
    loaded = _loaded(isa)
    if is_statement(query):
        _check_choice("--isa, with a statement,", isa, STATEMENT_ISAS)
        answers = find_for_statement(query, isa)
        if answers:
            make_console(sys.stdout).print(answers_table(answers))
        else:
            print("no instructions are known to do this for whole registers")
        return OK
    chosen = [x for entries in loaded for x in find_entries(query, entries)]
    if not chosen:
        print("no instruction does this by itself")
        return OK
    make_console(sys.stdout).print(entries_table(chosen))
    return OK


@app.command("classes")
@guarded
def list_classes(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A class, or a part of its name.")] = None,
    isa: Isa = None,
    cluster: Cluster = "",
    quiet: Quiet = False,
) -> int:
    """List the operations that instructions of all architectures are, or show one of them with its members."""
    workers = find_workers(cluster)
    wanted = {x.isa for x in _loaded(isa)}
    everything = _find_classes(workers, quiet)
    classes = [x for x in everything if wanted & set(x.isas())]  # with the names that they have among all
    found = next((x for x in classes if x.name == name), None)
    if found is not None:
        print(explain_class(found))
        return OK
    wanted_name = name if name is None or set("*?[") & set(name) else f"*{name}*"
    chosen = [x for x in classes if wanted_name is None or fnmatchcase(x.name, wanted_name)]
    if not chosen:
        close = difflib.get_close_matches(name or "", [x.name for x in classes], 3)
        advice = f"did you mean {', '.join(close)}?" if close else "`planish isa classes` lists them"
        raise PlanishError(Diagnostic("E0659", f"there is no class '{name}'", help=advice))
    make_console(sys.stdout).print(classes_table(chosen))
    return OK


def _find_classes(workers: Workers, quiet: bool) -> tuple[Class, ...]:
    entries = [x for collection in _loaded(None) for x in collection]
    with show_progress(sum(x.status == "verified" for x in entries), quiet) as progress:
        progress.start("comparing")

        def tell(count: int) -> None:
            progress.tell("")
            progress.bar.advance(progress.task, count)

        return find_classes(entries, lambda verified: find_shapes(verified, workers, Cache(), tell))


@app.command("export")
@guarded
def export_instructions(
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Where the files go.")] = EXPORTS,
    format: Annotated[str, typer.Option(help="json, markdown, header, tablegen (LLVM), irdl (MLIR) or smt.")] = "json",
    isa: Isa = None,
    chosen: Annotated[list[str] | None, typer.Option("--class", metavar="NAME", help="Classes, as `add*`.")] = None,
) -> int:
    """Write what is known of the instructions and their classes for people, or for other programs."""
    _check_choice("--format", format, _FORMATS)
    loaded = _loaded(isa)
    everything = shipped_classes()
    classes = [x for x in everything if not chosen or any(fnmatchcase(x.name, y) for y in chosen)]
    if not classes:
        known = [x.name for x in everything]
        close = [y for x in chosen or () for y in difflib.get_close_matches(x, known, 2)]
        advice = f"did you mean {', '.join(close)}?" if close else "`planish isa classes` lists them"
        asked = ", ".join(f"'{x}'" for x in chosen or ())
        raise PlanishError(Diagnostic("E0659", f"there is no class {asked}", help=advice))
    kept = [replace(x, members=y) for x in classes if (y := tuple(m for m in x.members if isa in (None, m.entry.isa)))]
    if not (of_known_lengths(kept) if format in _OF_KNOWN_LENGTHS else kept):
        advice = "those whose registers have no known length (sve) are in json, markdown and smt"
        if not kept:
            advice = "`planish isa classes NAME` lists the instructions of a class"
        message = f"there are no instructions of {isa or 'these classes'} to write as {format}"
        raise PlanishError(Diagnostic("E0659", message, help=advice))
    if chosen:
        names = {(y.entry.isa, y.entry.name) for x in kept for y in x.members}
        loaded = [replace(x, records={y: z for y, z in x.records.items() if (x.isa, y) in names}) for x in loaded]
    for path in write_files(Path(output), _FORMATS[format](loaded, kept)):
        print(f"wrote {path}")
    return OK


def _operations() -> tuple[ExportedOperation, ...]:
    return find_operations(shipped_classes())


_FORMATS: dict[str, Callable[[Sequence[Collection], Sequence[Class]], dict[str, str | bytes]]] = {
    "json": export_json,
    "markdown": export_markdown,
    "header": lambda _, classes: {"planish_operations.h": write_header(choose_operations(_operations(), classes))},
    "tablegen": lambda _, classes: {"planish.td": write_tablegen(classes)},
    "irdl": lambda _, classes: {"planish.irdl.mlir": write_irdl(classes)},
    "smt": lambda _, classes: {"planish.smt2": write_smt(y.entry for x in classes for y in x.members)},
}
_OF_KNOWN_LENGTHS = ("header", "tablegen", "irdl")


@app.command("costs")
@guarded
def read_all_costs(
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Where the tables go.")] = "costs",
    hexagon: Annotated[str | None, typer.Option(metavar="DIR", help="LLVM's llvm/lib/Target/Hexagon.")] = None,
    isa: Isa = None,
    quiet: Quiet = False,
) -> int:
    """Ask Clang, llvm-mca and LLVM's source what the instructions cost on processors, and write that as tables."""
    chosen = [x for x in _loaded(isa) if x.isa in PROCESSORS]
    if not chosen:
        advice = f"there are some for {', '.join(PROCESSORS)}"
        raise PlanishError(Diagnostic("E0660", f"LLVM has no models of processors of '{isa}'", help=advice))
    hexagon = hexagon or newest(Path("/"), *HEXAGON_PLACES)
    if hexagon is None:
        chosen = [x for x in chosen if x.isa != "hvx"]
        if not chosen:
            advice = "`apt-get source llvm-toolchain-19` has it: give its llvm/lib/Target/Hexagon with --hexagon"
            raise PlanishError(Diagnostic("E0660", "LLVM's description of Hexagon is not here", help=advice))
    contents: dict[str, str | bytes] = {}
    for entries in chosen:
        verified = [x for x in entries if x.status == "verified"]
        if entries.isa == "hvx" and hexagon is not None:
            costs = read_hexagon_costs(hexagon, [x.name for x in verified])
        else:
            costs = read_costs(verified, entries.isa)
        contents[costs_file(entries.isa)] = costs.packed()
        if not quiet:
            print(f"{entries.isa}: {len(costs.records)} of {len(verified)} instructions, by {costs.source}")
    write_files(Path(output), contents)
    return OK


@app.command("lanes")
@guarded
def factor_lanes(
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Where the files go.")] = "lanes",
    isa: Isa = None,
    quiet: Quiet = False,
) -> int:
    """Factor the definitions into lane functions and access maps, from which instructions are selected."""
    for entries in _loaded(isa):
        found = extract(entries)
        write_files(Path(output), {lanes_file(entries.isa): found.packed()})
        if not quiet:
            print(
                f"{entries.isa}: {sum(len(x[2]) for x in found.entries.values())} instructions of "
                f"{len(found.entries)} entries, {len(found.functions())} lane functions; "
                f"{len(found.shuffles)} shuffles that a register steers; {len(found.refused)} others have none"
            )
    return OK


@app.command("learn")
@guarded
def learn_instructions(
    x86: Annotated[str | None, typer.Option(metavar="FILE", help="Intel's x86-intel.xml.")] = None,
    arm: Annotated[str | None, typer.Option(metavar="FILE", help="Arm's arm-intrinsics.html.")] = None,
    hvx: Annotated[str | None, typer.Option(metavar="DIR", help="QEMU's target/hexagon.")] = None,
    sve: Annotated[bool, typer.Option("--sve", help="Our own definitions of SVE.")] = False,
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Where the collections go.")] = "lib",
    root: Annotated[str, typer.Option(metavar="DIR", help="Below which Debian's packages are looked for.")] = "/",
    cluster: Cluster = "",
    quiet: Quiet = False,
) -> int:
    """Read the vendors' specifications, run every instruction that can be run here, and write the collections.

    Without a file, all that Debian's packages have put on this machine are read, and our own definitions of SVE. An
    interrupted run goes on where it was, and a changed file costs as much as what has changed in it.
    """
    workers = find_workers(cluster)
    given = {"x86": x86, "arm": arm, "hvx": hvx, "sve": "" if sve else None}
    chosen = [(vendor, path) for vendor in VENDORS if (path := given[vendor.isa]) is not None]
    if not chosen:
        chosen = [(vendor, path) for vendor in VENDORS if (path := newest(Path(root), *vendor.places)) is not None]
        if not chosen:
            packages = ", ".join(sorted({x.package for x in VENDORS if x.package}))
            advice = f"install Debian's packages {packages}, or give a file"
            raise PlanishError(Diagnostic("E0656", "no vendor's specification is on this machine", help=advice))
        chosen += [(vendor, "") for vendor in VENDORS if not vendor.places]
    check_outputs([], Path(output), force=True)
    learnt = [_learn(vendor, path, workers, quiet) for vendor, path in chosen]
    write_files(Path(output), {file_name(x.isa): x.packed() for x in learnt})
    if not quiet:
        make_console(sys.stdout).print(collections_table(learnt))
    return OK


def _learn(vendor: Vendor, path: str, workers: Workers, quiet: bool) -> Collection:
    total = len(vendor.opener(path).identities)
    with show_progress(2 * total, quiet) as progress:
        progress.start(vendor.isa)

        def tell(message: str, count: int) -> None:
            progress.tell(message)
            progress.bar.advance(progress.task, count)

        return learn(vendor.isa, vendor.opener, path, vendor.machines(), vendor.lacking, Cache(), tell, workers)


def _loaded(isa: str | None) -> list[Collection]:
    return [load_collection(x) for x in (collection_names() if isa is None else (isa,))]


def _check_choice(option: str, given: str | None, known: Iterable[str]) -> None:
    if given is not None and given not in known:
        close = difflib.get_close_matches(given, list(known), 1)
        advice = f"did you mean {close[0]}?" if close else f"one of {', '.join(known)}"
        raise PlanishError(Diagnostic("E0657", f"{option} knows no '{given}'", help=advice))
