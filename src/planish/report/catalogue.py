"""Classes of instructions as a table, one of them in full, and everything as JSON or Markdown.

>>> from planish.isa.entry import Entry, IntrinsicSignature
>>> from planish.isa.classes.operation_classes import find_classes
>>> text = "(a: 16, b: 16) -> dst: 16 { for i < 2 { dst.u8[i] = u8(a.u8[i] + b.u8[i]) } }"
>>> add = Entry("add8", "toy", IntrinsicSignature("int", (("int", "a"), ("int", "b"))), text, status="verified")
>>> print(explain_class(find_classes([add])[0]))
add: i8 = i8 + i8, and the like; 1 instruction, 0 numbers in which they differ
<BLANKLINE>
toy (1): add8
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from planish.isa.classes.operation_classes import Class
from planish.isa.classes.signature import outlines
from planish.isa.collection import Collection
from planish.isa.entry import Entry


def classes_table(classes: Sequence[Class]) -> Table:
    """One row for each class."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("class", overflow="fold")
    table.add_column("members", justify="right")
    table.add_column("parameters", justify="right")
    table.add_column("of")
    table.add_column("such as", overflow="fold")
    for x in classes:
        of = ", ".join(f"{isa} {count}" for isa, count in x.isas().items())
        table.add_row(x.name, str(len(x.members)), str(len(x.parameters)), of, escape(_example(x)))
    return table


def _example(x: Class) -> str:
    entry = x.members[0].entry
    ways = outlines(entry.definition)
    return f"{entry.name}: {ways[0]}" if len(ways) == 1 else f"{entry.name}: {len(ways)} kinds of lanes"


def explain_class(x: Class) -> str:
    """A class, what its members have in common, and their names."""
    ways = "; ".join(str(y) for y in outlines(x.members[0].entry.definition)[:3])
    members = f"{len(x.members)} instruction{'s' if len(x.members) > 1 else ''}"
    lines = [f"{x.name}: {ways}, and the like; {members}, {len(x.parameters)} numbers in which they differ", ""]
    for isa, count in x.isas().items():
        names = ", ".join(y.entry.name for y in x.members if y.entry.isa == isa)
        lines.append(f"{isa} ({count}): {names}")
    return "\n".join(lines)


def export_json(collections: Sequence[Collection], classes: Sequence[Class]) -> dict[str, str | bytes]:
    """One file with all instructions and classes."""
    named = {(y.entry.isa, y.entry.name): x.name for x in classes for y in x.members}
    content = {
        "sources": {x.isa: x.source for x in collections},
        "instructions": [_plain(y, named.get((y.isa, y.name), "")) for x in collections for y in x],
        "classes": [
            {"name": x.name, "parameters": len(x.parameters), "members": [y.entry.name for y in x.members]}
            for x in classes
        ],
    }
    return {"instructions.json": json.dumps(content, indent=1, ensure_ascii=False) + "\n"}


def _plain(x: Entry, of: str) -> dict[str, object]:
    parameters = [{"type": kind, "name": name} for kind, name in x.signature.parameters]
    return {
        "name": x.name, "isa": x.isa, "result": x.signature.result, "parameters": parameters,
        "features": list(x.features), "mnemonic": x.mnemonic, "status": x.status, "reason": x.reason,
        "definition": x.text, "class": of,
    }  # fmt: skip


def export_markdown(collections: Sequence[Collection], classes: Sequence[Class]) -> dict[str, str | bytes]:
    """A page of classes, and one for each architecture."""
    pages: dict[str, str | bytes] = {"classes.md": "\n".join(["# Classes", "", *map(_section, classes)])}
    named = {(y.entry.isa, y.entry.name): x.name for x in classes for y in x.members}
    for collection in collections:
        rows = [f"# {collection.isa}", "", f"From {collection.source}.", "", "| instruction | class | definition |",
                "| --- | --- | --- |"]  # fmt: skip
        for x in collection:
            told = f"`{x.text}`" if x.status == "verified" else f"{x.status}: {x.reason}"
            rows.append(f"| `{x.name}` | {named.get((x.isa, x.name), '')} | {told.replace('|', chr(92) + '|')} |")
        pages[f"{collection.isa}.md"] = "\n".join([*rows, ""])
    return pages


def _section(x: Class) -> str:
    members = "\n".join(f"- {isa}: " + ", ".join(f"`{y.entry.name}`" for y in x.members if y.entry.isa == isa)
                        for isa in x.isas())  # fmt: skip
    return f"## {x.name}\n\n`{x.members[0].entry.text}`\n\n{members}\n"
