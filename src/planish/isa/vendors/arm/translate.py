"""An entry of Arm's page becomes a definition: its instructions are decoded and run, one after another.

>>> from planish.isa.semantics.text import print_definition
>>> text = "bits(datasize) x = V[n];\\nfor e = 0 to elements-1\\n"
>>> text += "    Elem[result, e, esize] = NOT(Elem[x, e, esize]);\\nV[d] = result;"
>>> given = ArmIntrinsic("vnot", "int8x8_t", (("int8x8_t", "a"),), "XNOT Vd.8B,Vn.8B", "a → Vn.8B", "", text, "", 1)
>>> print_definition(translate(given))
'(a: 64) -> dst: 64 { for i < 8 { dst.u8[i] = a.u8[i] ^ 255 } }'
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from planish.core.span import Source
from planish.isa.semantics.definition import Definition, Operand
from planish.isa.semantics.reroll import roll
from planish.isa.vendors.arm.decode import Decoded, decode
from planish.isa.vendors.arm.execute import run
from planish.isa.vendors.arm.grammar import parse_operation
from planish.isa.vendors.arm.page import ArmIntrinsic
from planish.isa.vendors.arm.shapes import c_bits, c_element
from planish.isa.vendors.arm.structures import structure
from planish.isa.vendors.arm.syntax import Stmt
from planish.isa.vendors.symbolic_state import Register, Unreadable, put_register

_PLACED = re.compile(r"(\w+) → (?:32\()?[VBHSDQRXWr]([a-z])\b")
_RANGE = re.compile(r"\b(\d{1,2}) << (\w+) << (\d{1,2})\b")


@dataclass(frozen=True, slots=True)
class _Body:
    names: tuple[str, ...]
    operation: str
    registers: int


def translate(entry: ArmIntrinsic, source: Source | None = None) -> Definition:
    """The definition of an intrinsic; PlanishError E0651 where its operation cannot be read, Unreadable where it cannot
    be run, or is not understood."""
    operands = tuple(_operand(kind, name, ranges(entry)) for kind, name in entry.parameters)
    width = c_bits(entry.result)
    name = "out" if any(x.name == "dst" for x in operands) else "dst"
    result = Operand(name, width, element=c_element(entry.result)) if width else None
    made = structure(entry, operands, result)
    if made is not None:
        return made
    if result is None:
        raise Unreadable("nothing is left by it")
    puts = put_register(_executed(entry, source), result)
    if not puts:
        raise Unreadable("nothing is left by it")
    return Definition(operands, result, roll(puts))


def ranges(entry: ArmIntrinsic) -> dict[str, tuple[int, ...]]:
    """The values that immediates may have."""
    return {name: tuple(range(int(low), int(high) + 1)) for low, name, high in _RANGE.findall(entry.preparation)}


def _operand(kind: str, name: str, known: dict[str, tuple[int, ...]]) -> Operand:
    if "*" in kind:
        return Operand(name, 0, "memory", c_element(kind))
    if name in known or kind == "const int":
        return Operand(name, 8, "immediate")
    return Operand(name, c_bits(kind), element=c_element(kind))


def _executed(entry: ArmIntrinsic, source: Source | None) -> Register:
    """What the instructions leave: those with numbered destinations (`Vd1`, `Vd2`) one behind the other."""
    placed = {letter: name for name, letter in _PLACED.findall(entry.preparation)}
    types = {name: kind for kind, name in entry.parameters}
    whole = Register()
    at = 0
    between: dict[str, Register] = {}
    for line in entry.instruction.splitlines():
        line = _corrected(entry.name, line)
        plain = re.sub(r"Vd\d\.", "Vd.", line)
        found = decode(plain, placed, types, between)
        left = run(_body(found, entry, source), found.registers, found.known)
        if plain.split()[1].startswith("Vt"):
            between["t"] = left
            continue
        if plain == line:
            return left
        value = left.whole()
        whole.write(at, value.width or 64, value)
        at += value.width or 64
    return whole


def _corrected(name: str, instruction: str) -> str:
    for names, find, replacement in _corrections():
        if any(fnmatchcase(name, x) for x in names):
            instruction = re.sub(find, replacement, instruction)
    return instruction


def _body(found: Decoded, entry: ArmIntrinsic, source: Source | None) -> tuple[Stmt, ...]:
    for body in _bodies():
        if found.mnemonic in body.names and body.registers in (0, found.registers_count):
            return parse_operation(body.operation)
    if not entry.operation.strip():
        raise Unreadable("the page has no operation for it")
    return parse_operation(entry.operation, source, entry.line)


@cache
def _data() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(files("planish.isa.vendors.arm").joinpath("bodies.toml").read_text("utf-8"))


@cache
def _bodies() -> tuple[_Body, ...]:
    return tuple(_Body(tuple(x["names"]), x["operation"], x.get("registers", 0)) for x in _data()["body"])


@cache
def _corrections() -> tuple[tuple[tuple[str, ...], str, str], ...]:
    return tuple((tuple(x["names"]), x["find"], x["replace"]) for x in _data()["correction"])
