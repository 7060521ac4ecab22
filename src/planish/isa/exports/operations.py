"""Operations that other programs may call: each class with the numbers of some of its members, and how each
architecture does it.

>>> from planish.isa.entry import Entry, IntrinsicSignature
>>> from planish.isa.classes.operation_classes import find_classes
>>> text = "(a: 128, b: 128) -> dst: 128 { for i < 16 { dst.u8[i] = u8(a.u8[i] + b.u8[i]) } }"
>>> x86 = IntrinsicSignature("__m128i", (("__m128i", "a"), ("__m128i", "b")))
>>> neon = IntrinsicSignature("int8x16_t", (("int8x16_t", "a"), ("int8x16_t", "b")))
>>> entries = [Entry("_mm_add_epi8", "x86", x86, text, ("SSE2",), status="verified"),
...            Entry("vaddq_s8", "arm", neon, text, ("v7",), status="verified")]
>>> (add,) = find_operations(find_classes(entries))
>>> add.name, [x.entry.name for x in add.members]
('add_i8x16', ['_mm_add_epi8', 'vaddq_s8'])
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from planish.isa.classes.operation_classes import Class, ClassMember
from planish.isa.entry import Entry
from planish.isa.semantics.definition import Definition, Operand, nested_puts
from planish.isa.semantics.node import FLOAT_OPERATORS, walk
from planish.isa.semantics.rename import rename_operands
from planish.isa.vendors.x86.features import wants_round_address

RESULT = "planish_result"

_ORDER = {"x86": 0, "arm": 1, "hvx": 2}
_TAKEN = re.compile(r"[it]\d+|planish_.*|const|char|short|int|long|float|double|mask|register")


@dataclass(frozen=True, slots=True)
class InstructionUse:
    """How an instruction does an operation: what each of its parameters is, a parameter of the operation or a
    number."""

    entry: Entry
    arguments: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ExportedOperation:
    """`definition` has the operands in their order; `values` are those that an immediate may have, where not all of its
    bits are free; `members` are the instructions that do it, the preferred one of each architecture first."""

    name: str
    of: str
    definition: Definition
    values: Mapping[str, tuple[int, ...]]
    members: tuple[InstructionUse, ...]

    def __hash__(self) -> int:
        # Names tell operations apart.
        return hash(self.name)

    @property
    def stored(self) -> frozenset[str]:
        """The memories that it writes."""
        return frozenset(x.target for x in self.definition.puts) - {RESULT}


def find_operations(classes: Iterable[Class]) -> tuple[ExportedOperation, ...]:
    """The operations of some classes, one for all members with the same numbers; those with names that need to be told
    apart are numbered."""
    found = []
    used: Counter[str] = Counter()
    for of in classes:
        groups: dict[tuple[object, ...], list[ClassMember]] = {}
        for member in of.members:
            if _is_offered(member.entry):
                groups.setdefault(_key(member), []).append(member)
        for members in groups.values():
            ordered = sorted(members, key=lambda x: (_ORDER.get(x.entry.isa, 9), _taste(x.entry)))
            made = _operation(of.name, ordered)
            used[made.name] += 1
            number = used[made.name]
            found.append(made if number == 1 else replace(made, name=f"{made.name}_{number}"))
    return tuple(found)


def choose_operations(among: Iterable[ExportedOperation], classes: Iterable[Class]) -> tuple[ExportedOperation, ...]:
    """Those of some classes, or of some of their members, by the names that they have among all."""
    wanted = {x.name: {(y.entry.isa, y.entry.name) for y in x.members} for x in classes}
    found = []
    for x in among:
        calls = tuple(y for y in x.members if (y.entry.isa, y.entry.name) in wanted.get(x.of, ()))
        if calls:
            found.append(replace(x, members=calls))
    return tuple(found)


def _is_offered(entry: Entry) -> bool:
    """Whether other programs may have it: what wants its memory at round addresses, the registers of the x87, or
    registers of any length, is left out."""
    kinds = [kind for kind, _ in entry.signature.parameters] + [entry.signature.result]
    if entry.isa == "hvx" and ("memory" in entry.kinds or "(P" in entry.mnemonic or "(!P" in entry.mnemonic):
        return False
    if entry.is_scalable:
        return False
    return not wants_round_address(entry.name) and not any("__m64" in x for x in kinds)


def _taste(entry: Entry) -> tuple[bool, int, int, str]:
    """Whole numbers first, then few extensions, then short names."""
    return "float" in entry.kinds, len(entry.features), len(entry.name), entry.name


def _key(member: ClassMember) -> tuple[object, ...]:
    definition = member.entry.definition
    operands = [definition.operand(x) for x in member.shaped.operands]
    places = tuple((x.bits, x.role, member.entry.values.get(x.name)) for x in operands)
    result = definition.result.bits if definition.result else 0
    return member.shaped.numbers, places, result


def _operation(of: str, members: list[ClassMember]) -> ExportedOperation:
    first = members[0]
    definition = first.entry.definition
    own = [name for _, name in first.entry.signature.parameters if name in first.shaped.operands]
    own += [x for x in first.shaped.operands if x not in own]
    names = dict(zip(own, _safe_names(own), strict=True))
    if definition.result:
        names[definition.result.name] = RESULT
    made = rename_operands(definition, names, own)
    values = {names[x]: y for x, y in first.entry.values.items() if x in names}
    calls = []
    for member in members:
        places = dict(zip(member.shaped.operands, first.shaped.operands, strict=True))
        arguments = _arguments(member.entry, {mine: names[its] for mine, its in places.items()})
        if arguments is not None:
            calls.append(InstructionUse(member.entry, arguments))
    return ExportedOperation(f"{of}_{_suffix(made)}", of, made, values, tuple(calls))


def _safe_names(names: Iterable[str]) -> list[str]:
    return [f"{x}_" if _TAKEN.fullmatch(x) else x for x in names]


def _arguments(entry: Entry, names: Mapping[str, str]) -> tuple[str | int, ...] | None:
    """What each parameter is; None where one matters of which nothing is known."""
    found: list[str | int] = []
    operands = {x.name: x for x in entry.definition.operands}
    for _, name in entry.signature.parameters:
        if name in names:
            found.append(names[name])
        elif name in operands and operands[name].role == "immediate":
            found.append(entry.values.get(name, (0,))[0])
        else:
            return None
    return tuple(found)


def _suffix(definition: Definition) -> str:
    """The lanes of the result, and the types of lanes of operands that are others."""
    puts = [(put, loops) for put, loops in nested_puts(definition.body)]
    widths = {put.width for put, _ in puts}
    floats = (definition.result is not None and bool(definition.result.element)) or any(
        x.op in FLOAT_OPERATORS for put, _ in puts for x in walk([put.value]) if x is put.value
    )
    element = definition.result.element if definition.result else ""
    letter = element.rstrip("0123456789") if element else "f" if floats and widths <= {16, 32, 64} else "i"
    if not widths <= {16, 32, 64}:
        letter = "i"
    if len(widths) == 1:
        (width,) = widths
        lanes = 0
        for _, loops in puts:
            count = 1
            for loop in loops:
                count *= loop.count
            lanes += count
        own = f"{letter}{width}"
        told = own if lanes == 1 else f"{own}x{lanes}"
    else:
        own, told = "", f"b{definition.result.bits}" if definition.result else "b"
    given = [x for operand in definition.operands for x in _lanes_of(operand, definition)]
    others = [x for x in dict.fromkeys(given) if x.replace("u", "i") != own.replace("f", "i") and x != own]
    return "_".join([told, *others[:3]])


def _lanes_of(operand: Operand, definition: Definition) -> list[str]:
    if operand.role == "immediate":
        return []
    found = []
    for put in definition.puts:
        for x in walk((put.value,)):
            if x.op == "bits" and x.attr[0] == operand.name and int(x.attr[1]) > 1:
                width, signed = int(x.attr[1]), bool(x.attr[2])
                kind = operand.element.rstrip("0123456789") if width in (16, 32, 64) else ""
                found.append(f"{kind or ('s' if signed else 'u')}{width}")
    return list(dict.fromkeys(found))[:1]
