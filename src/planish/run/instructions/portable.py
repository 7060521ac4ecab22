"""Runs the functions of the portable header beside their definitions, on any machine that runs instructions.

    verdicts = check_operations(operations, operations, machine, rows=64)

With `plainly`, no extension of the host is asked for, so that what is plain C there runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from planish.isa.entry import Entry
from planish.isa.exports.floats import OPERATORS
from planish.isa.exports.header import PREFIX, find_bodies, signature_of, write_header
from planish.isa.exports.operations import ExportedOperation
from planish.isa.exports.parts import SplitOperation, find_parts
from planish.isa.semantics.node import walk
from planish.isa.semantics.text import print_definition
from planish.run.instructions.compile import Machine
from planish.run.instructions.program import Dialect
from planish.run.instructions.verify import InstructionVerdict, verify

_BATCH = 250


def check_operations(
    operations: Sequence[ExportedOperation], among: Sequence[ExportedOperation], machine: Machine, rows: int = 64,
    tell: Callable[[int], None] = lambda _: None,
) -> dict[str, InstructionVerdict]:
    """A verdict for the function of each operation, by the operation's name; parts are those `among` all that there
    are."""
    parts = find_parts(among)
    verdicts: dict[str, InstructionVerdict] = {}
    for at in range(0, len(operations), _BATCH):
        batch = operations[at : at + _BATCH]
        needed = {x.name: x for x in _with_parts(batch, parts)}
        text = write_header([x for x in among if x.name in needed])
        found = verify([_entry_of(x) for x in batch], _including(machine, text), rows)
        verdicts |= {name.removeprefix(PREFIX): verdict for name, verdict in found.items()}
        tell(len(batch))
    return verdicts


def offered(operations: Sequence[ExportedOperation], machine: Machine) -> list[ExportedOperation]:
    """Those that the header has for a machine; one without an operating system has no floats to try."""
    bodies = find_bodies(operations)
    hosted = bool(machine.libraries)
    return [
        x for x in operations
        if bodies[x.name].lines and (hosted or not (bodies[x.name].conditions or _needs_floats(x)))
    ]  # fmt: skip


def plainly(machine: Machine) -> Machine:
    """The machine with nothing but what all of its kind have."""
    kept = tuple(x for x in machine.compiler if not x.startswith("-m"))
    return replace(machine, name=f"{machine.name}, no extensions", compiler=kept)


def _needs_floats(operation: ExportedOperation) -> bool:
    """Whether a processor without floats needs a library for it."""
    nodes = (x for put in operation.definition.puts for x in walk((put.offset, put.value, put.when)))
    return any(x.op in OPERATORS for x in nodes)


def _with_parts(batch: Sequence[ExportedOperation], parts: Mapping[str, SplitOperation]) -> list[ExportedOperation]:
    found = []
    for x in batch:
        found.append(x)
        while x.name in parts:
            x = parts[x.name].operation
            found.append(x)
    return found


def _entry_of(operation: ExportedOperation) -> Entry:
    signature = signature_of(operation)
    text = print_definition(operation.definition)
    return Entry(f"{PREFIX}{operation.name}", "header", signature, text, values=operation.values)


def _including(machine: Machine, header: str) -> Machine:
    return replace(machine, dialect=Dialect((), f"{machine.dialect.preamble}\n{header}"), level="-O2")
