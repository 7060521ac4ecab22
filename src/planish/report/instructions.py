"""Instructions as tables, and one of them in full.

>>> from planish.isa.entry import IntrinsicSignature
>>> text = "(a: 16, b: 16) -> dst: 16 { for i < 2 { dst.u8[i] = u8(a.u8[i] + b.u8[i]) } }"
>>> add = Entry("add8", "toy", IntrinsicSignature("int", (("int", "a"), ("int", "b"))), text, status="verified")
>>> print(explain_entry(add, "a sheet of paper"))
int add8(int a, int b)
<BLANKLINE>
  i8 = i8 + i8
<BLANKLINE>
(a: 16, b: 16) -> dst: 16
  for i < 2
    dst.u8[i] = u8(a.u8[i] + b.u8[i])
<BLANKLINE>
toy, integer; verified
from a sheet of paper
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from planish.isa.classes.signature import outlines
from planish.isa.collection import Collection
from planish.isa.costs.tables import CYCLES, PROCESSORS, Cost
from planish.isa.entry import Entry
from planish.isa.semantics.definition import LaneLoop, Statement
from planish.isa.semantics.scalable import USUAL
from planish.isa.semantics.text import print_heading, print_put
from planish.schedule.query_instruction import Answer

_KINDS = ("integer", "float", "masked", "memory")
_STATUSES = ("unproven", "excluded", "refused")
_WAYS = 6


def collections_table(collections: Iterable[Collection]) -> Table:
    """How many instructions there are of each architecture: those verified by their main kind, and the others."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("architecture")
    for name in ("verified", *_KINDS, *_STATUSES):
        table.add_column(name, justify="right")
    for collection in collections:
        counts = count_entries(collection)
        row = [sum(counts[x] for x in _KINDS), *(counts[x] for x in (*_KINDS, *_STATUSES))]
        table.add_row(collection.isa, *map(str, row))
    return table


def count_entries(entries: Iterable[Entry]) -> Counter[str]:
    """Entries that are verified by their main kind, the others by their status."""
    return Counter(x.kinds[0] if x.status == "verified" else x.status for x in entries)


def entries_table(entries: Sequence[Entry]) -> Table:
    """One row for each entry."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("instruction", "needs", "status", "what it does"):
        table.add_column(name, overflow="fold", no_wrap=name == "instruction")
    for x in entries:
        table.add_row(escape(x.name), escape(" ".join(x.features)), x.status, escape(_summary(x)))
    return table


def _summary(entry: Entry) -> str:
    if not entry.text:
        return entry.reason
    ways = outlines(entry.definition)
    text = str(ways[0]) if len(ways) == 1 else f"{len(ways)} kinds of lanes"
    text = text if len(text) <= 80 else text[:77] + "…"
    return f"{text} ({entry.reason})" if entry.reason and entry.status != "verified" else text


def answers_table(answers: Iterable[Answer]) -> Table:
    """What does a statement in C, for each kind of registers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("registers", "C", "needs"):
        table.add_column(name, overflow="fold")
    for x in answers:
        told = " /* rounded once */" if x.fused else ""
        table.add_row(x.registers, escape(x.text + told), escape(" ".join(x.needs)))
    return table


def explain_entry(entry: Entry, source: str) -> str:
    """All that is known of an entry."""
    parameters = ", ".join(f"{kind} {name}" for kind, name in entry.signature.parameters) or "void"
    parts = [f"{entry.signature.result} {entry.name}({parameters})"]
    if entry.text:
        definition = entry.definition
        ways = outlines(definition)
        if len(ways) <= _WAYS:
            parts.append("\n".join(f"  {x}" for x in ways))
        lines = [x for statement in definition.body for x in _lines(statement, 1)]
        if entry.is_scalable:
            lines.append(f"where registers have {USUAL} bits, which may be any number:\n  {entry.text}")
        parts.append("\n".join([print_heading(definition), *lines]))
    kinds = f", {', '.join(entry.kinds)}" if entry.text else ""
    needs = f", {' '.join(entry.features)}" if entry.features else ""
    called = f", {entry.mnemonic}" if entry.mnemonic else ""
    reason = f" ({entry.reason})" if entry.reason else ""
    parts.append(f"{entry.isa}{needs}{called}{kinds}; {entry.status}{reason}\nfrom {source}")
    return "\n\n".join(parts)


def explain_costs(isa: str, costs: Mapping[str, Cost], source: str) -> str:
    """What an instruction costs on each processor that is known."""
    lines = []
    for processor, told in PROCESSORS.get(isa, {}).items():
        if processor in costs:
            x = costs[processor]
            ports = ", ".join(f"{name} {cycles:g}" for name, cycles in x.ports)
            operations = f"{x.operations} micro-operation{'s' if x.operations != 1 else ''}"
            each = f"latency {x.latency}, one in {x.throughput:g} {CYCLES.get(isa, 'cycles')}"
            lines.append(f"  {told}: {operations}, {each}; {ports}")
    return "\n".join([f"by {source}:", *lines]) if lines else ""


def _lines(statement: Statement, depth: int) -> list[str]:
    indent = "  " * depth
    if isinstance(statement, LaneLoop):
        inner = [x for y in statement.body for x in _lines(y, depth + 1)]
        return [f"{indent}for {statement.var} < {statement.count}", *inner]
    return [indent + x for x in print_put(statement).split("; ")]
