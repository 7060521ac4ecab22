"""Definitions with other names for their operands.

>>> from planish.isa.semantics.text import parse_definition, print_definition
>>> add = parse_definition("(a: 8, b: 8) -> dst: 8 { dst.u8[0] = u8(a.u8[0] + b.u8[0]) }")
>>> print_definition(rename_operands(add, {"a": "x", "b": "y", "dst": "r"}, ("b", "a")))
'(y: 8, x: 8) -> r: 8 { r.u8[0] = u8(x.u8[0] + y.u8[0]) }'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planish.isa.semantics.definition import Definition, LaneLoop, Operand, Put, Statement
from planish.isa.semantics.node import Node, node, rebuild


def rename_operands(definition: Definition, names: Mapping[str, str], order: Sequence[str] = ()) -> Definition:
    """The definition with a new name for each operand, and for the result, that has one; `order`: the operands that it
    has, by their old names, where these are not all in their order."""

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "bits":
            return node("bits", args, (names.get(str(old.attr[0]), old.attr[0]), *old.attr[1:]))
        return old if args == old.args else node(old.op, args, old.attr)

    def visit(x: Statement) -> Statement:
        if isinstance(x, LaneLoop):
            return replace(x, body=tuple(map(visit, x.body)))
        offset, value, when = (rebuild(y, change) for y in (x.offset, x.value, x.when))
        return Put(names.get(x.target, x.target), offset, x.width, value, when)

    def named(x: Operand) -> Operand:
        return replace(x, name=names.get(x.name, x.name))

    kept = [definition.operand(x) for x in order] if order else definition.operands
    result = named(definition.result) if definition.result else None
    return Definition(tuple(map(named, kept)), result, tuple(map(visit, definition.body)))
