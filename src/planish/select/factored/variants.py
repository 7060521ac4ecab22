"""The lane instructions that an entry of the library is: one for each value of what decides where lanes come from.

>>> from planish.isa.collection import load_collection
>>> entry = load_collection("x86").entry("_mm_srai_epi16")
>>> (shift,) = variants(entry)
>>> shift.pieces[0].function, shift.ranges
(wrap(16, False, shr(bits('0', 16, True, const(0)), bits('imm8', 8, False, const(0)))), {'imm8': (1, 15)})
>>> len(variants(load_collection("x86").entry("_mm_shuffle_epi32")))
256
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from itertools import product

from planish.isa.entry import Entry
from planish.isa.select.instruction_set import is_word
from planish.isa.semantics.build import ZERO
from planish.isa.semantics.definition import Definition
from planish.isa.semantics.node import Node, walk
from planish.select.factored.factoring import ALL, WIDEST, FactoredPiece, Parameters, Refusal, factor, lane_puts

_MASK = re.compile(r"__mmask\d+|HVX_VectorPred|svbool_t")
_REGISTER = re.compile(r"__m(?:128|256|512)\w*|b?[a-z]+\d+x\d+(?:x\d)?_t|HVX_Vector(?:Pair)?|sv[a-z]+\d+(?:x\d)?_t")
_LEFT_OUT = re.compile(r"_round_|__m64")
_MASKED = re.compile(r"_mask(?:z|3)?_")
_GOVERNING = "pg"
_MOST_VALUES = 256
_MOST_PIECES = 16
"""Functions of a result that are still some for many lanes each."""


@dataclass(frozen=True, slots=True)
class FixedVariant:
    """An entry with values for some of its parameters, and the ranges of those that are amounts."""

    fixed: Mapping[str, int]
    ranges: Mapping[str, tuple[int, int]]
    pieces: tuple[FactoredPiece, ...]


def role_of(kind: str, immediate: bool) -> str:
    """What a parameter of a C type is: "register", "mask", "scalar" or "immediate"."""
    if immediate:
        return "immediate"
    return "mask" if _MASK.fullmatch(kind) else "register" if _REGISTER.fullmatch(kind) else "scalar"


def left_out(entry: Entry, names: Mapping[str, object]) -> str:
    """Why an entry is no lane instruction whatever it computes; "" where nothing is said against it. `names`: all that
    there are."""
    if not is_word(entry.name, entry):
        return "not verified, or no compiler has it"
    definition = entry.definition
    if definition.result is None or any(x.role == "memory" for x in definition.operands):
        return "memory"
    if _LEFT_OUT.search(entry.name) or any(_LEFT_OUT.search(kind) for kind, _ in entry.signature.parameters):
        return "a way of rounding, or registers of MMX"
    if entry.signature.result == "__m64" or "MMX" in entry.features:
        return "a way of rounding, or registers of MMX"
    if _MASKED.search(entry.name) and _MASKED.sub("_", entry.name, count=1) in names:
        return "a blend of another instruction"
    return ""


def variants(entry: Entry, names: Container[str] = ()) -> list[FixedVariant]:
    """The lane instructions of an entry, none twice; Refusal where it has none. `names` are those of all entries: where
    one leaves lanes without its predicate as they come, others are not taken with a predicate that holds everywhere."""
    definition = entry.definition
    known = parameters_of(entry)
    if _GOVERNING not in known.bits:
        return _by_values(entry, definition, known)
    found: list[FixedVariant] = []
    refused: Refusal | None = None
    everywhere = entry.name.endswith("_x") or re.sub("_[mz]$", "_x", entry.name) not in names
    for fixed in ({}, {_GOVERNING: ALL})[: 1 + everywhere]:
        try:
            found += _by_values(entry, definition, replace(known, fixed=fixed))
        except Refusal as error:
            refused = error
    if not found and refused is not None:
        raise refused
    return _distinct(found)


def parameters_of(entry: Entry) -> Parameters:
    """What is known of the operands of an entry."""
    definition = entry.definition
    kinds = {name: kind for kind, name in entry.signature.parameters}
    positions = {name: at for at, (_, name) in enumerate(entry.signature.parameters)}
    bits = {x.name: x.bits for x in definition.operands}
    masks = frozenset(x for x in bits if kinds[x] == "HVX_VectorPred")
    unsigned = frozenset(x for x in bits if kinds[x].startswith(("u", "svu", "poly")))
    assert definition.result is not None
    return Parameters(
        positions, bits, predicates=masks, unsigned=unsigned,
        is_predicate=entry.signature.result == "HVX_VectorPred",
    )  # fmt: skip


def _by_values(entry: Entry, definition: Definition, known: Parameters) -> list[FixedVariant]:
    puts = lane_puts(definition)
    kinds = {name: kind for kind, name in entry.signature.parameters}
    steering = [
        x.name for x in definition.operands
        if role_of(kinds[x.name], x.role == "immediate") in ("immediate", "scalar") and x.name not in known.fixed
    ]  # fmt: skip
    immediates = [x.name for x in definition.operands if x.role == "immediate"]
    positions = known.positions
    scalars = frozenset(positions[x] for x in steering) if len(steering) < len(definition.operands) else frozenset()
    amounts = _amounts(definition, steering)
    ranges = _ranges(entry, definition, amounts)
    named = frozenset(immediates) | {name for name, _, _ in amounts}
    whole: FixedVariant | None = None
    refused = Refusal("each lane has a function of its own")
    try:
        pieces = factor(puts, replace(known, ranges=ranges, named=named))
        given = {name: ranges[name, offset, width] for name, offset, width in amounts}
        whole = FixedVariant(dict(known.fixed), given, pieces)
        if not any(_is_steered(x, named, scalars) for x in pieces) and len(pieces) <= _MOST_PIECES:
            return [whole]
    except Refusal as error:
        refused = error
    chosen = immediates or [x for x in steering if _steers(definition, x)]
    values = [values_of(entry, x) for x in chosen]
    count = 1
    for x in values:
        count *= len(x)
    if not chosen or not 0 < count <= _MOST_VALUES:
        if whole is not None and len(whole.pieces) <= _MOST_PIECES:
            return [whole]
        raise refused
    found = []
    for given_values in product(*values):
        fixed = {**known.fixed, **dict(zip(chosen, given_values, strict=True))}
        left = {x for x in amounts if x[0] not in fixed}
        own = {x: ranges[x] for x in left}
        pieces = factor(puts, replace(known, fixed=fixed, ranges=own, named=frozenset(x[0] for x in left)))
        found.append(FixedVariant(fixed, {name: own[name, offset, width] for name, offset, width in left}, pieces))
    return _distinct(found)


def _distinct(found: list[FixedVariant]) -> list[FixedVariant]:
    first: dict[tuple[FactoredPiece, ...], FixedVariant] = {}
    for x in found:
        first.setdefault(x.pieces, x)
    return list(first.values())


def _roots(definition: Definition) -> list[Node]:
    return [y for x in definition.puts for y in (x.offset, x.value, x.when)]


def _amounts(definition: Definition, steering: list[str]) -> set[tuple[str, int, int]]:
    """Reads of immediates and of scalars by which something is shifted."""
    found = set()
    for x in walk(_roots(definition)):
        places = [x.args[1]] if x.op in ("shl", "shr") else []
        if x.op == "bits" and x.attr[0] not in steering and int(x.attr[1]) <= WIDEST:
            places = [y for y in _terms(x.args[0]) if y.op == "bits"]
        for y in walk(places):
            if y.op == "bits" and y.attr[0] in steering and y.args[0] is ZERO and not y.attr[2]:
                found.add((str(y.attr[0]), y.args[0].low, int(y.attr[1])))
    names = [name for name, _, _ in found]
    return {x for x in found if names.count(x[0]) == 1}


def _terms(x: Node) -> tuple[Node, ...]:
    return x.args if x.op == "add" else (x,)


def _ranges(
    entry: Entry, definition: Definition, amounts: set[tuple[str, int, int]]
) -> dict[tuple[str, int, int], tuple[int, int]]:
    """From 1 to the greatest amount that leaves something."""
    widest = max(x.width for x in definition.puts)
    found = {}
    for name, offset, width in amounts:
        values = entry.values.get(name)
        high = max(values) if values else min((1 << width) - 1, max(widest - 1, 1))
        if values is None and definition.operand(name).role == "value":
            high = (1 << width) - 1
        found[name, offset, width] = (min(1, high), high)
    return found


def _is_steered(piece: FactoredPiece, named: frozenset[str], scalars: frozenset[int]) -> bool:
    """Whether a value that is the same for all lanes says which way a function goes, or where it reads."""
    steering = named | {str(slot) for slot, places in enumerate(piece.slots) if places[0][0] in scalars}
    for x in walk([piece.function]):
        if x.op == "select":
            reads = {str(y.attr[0]) for y in walk([x.args[0]]) if y.op == "bits"}
            if reads and reads <= steering:
                return True
    return piece.width > WIDEST and any(x.op == "bits" and x.attr[0] in named for x in walk([piece.function]))


def _steers(definition: Definition, name: str) -> bool:
    """Whether places or choices depend on an operand."""
    for x in walk(_roots(definition)):
        if x.op == "bits" and any(y.op == "bits" and y.attr[0] == name for y in walk([x.args[0]])):
            return True
        if x.op == "select" and any(y.op == "bits" and y.attr[0] == name for y in walk([x.args[0]])):
            return True
    return False


def values_of(entry: Entry, name: str) -> tuple[int, ...]:
    """The values of an operand that differ in what an entry does; none where there are very many."""
    definition = entry.definition
    if name in entry.values:
        return entry.values[name]
    bits = min(_used_bits(definition, name), definition.operand(name).bits)
    return tuple(range(1 << bits)) if bits <= 8 else ()


def _used_bits(definition: Definition, name: str) -> int:
    """The low bits of an operand that matter."""
    whole = masked = 0
    for x in walk(_roots(definition)):
        mask = x.args[1].constant if x.op == "and" else None
        for y in x.args:
            if y.op == "bits" and y.attr[0] == name:
                if mask is not None and mask >= 0 and y.args[0] is ZERO:
                    masked = max(masked, mask.bit_length())
                else:
                    whole = max(whole, y.args[0].high + int(y.attr[1]))
    return max(whole, masked)
