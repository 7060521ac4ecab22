"""Permutation instructions: the source byte of each result byte, found by running the definition on numbers.

>>> found = find_movers(InstructionSet("x86", ("SSE", "AVX", "AVX512F")))
>>> low = next(x for x in found if x.entry.name == "_mm_unpacklo_ps")
>>> low.moves
(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23)
>>> steer_of(low)
Steer(take=(0, 1, 4, 2), flip=0)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from planish.isa.collection import load_collection
from planish.isa.entry import Entry, definition_of
from planish.isa.select.instruction_set import InstructionSet, is_word, named_operators
from planish.isa.semantics.build import ONE
from planish.isa.semantics.definition import Definition, Operand, nested_puts
from planish.isa.semantics.evaluate import evaluate
from planish.isa.semantics.node import Node, walk
from planish.isa.semantics.text import parse_definition

_VECTOR = re.compile(r"__m(?:128|256|512)\w*|[a-z]+\d+x\d+_t|HVX_Vector(?:Pair)?")
_MOST_VALUES = 256
_Table = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Mover:
    """An instruction with values for its immediates, in the order of its parameters. Bytes of its operands, those of
    the first one first, are numbered; `moves` has such a number for each byte of the result, None where it is no byte
    of theirs. `control` are the bytes of an operand that says where bytes go."""

    entry: Entry
    moves: tuple[int | None, ...]
    values: tuple[int, ...] = ()
    control: tuple[int, ...] = ()

    @property
    def control_name(self) -> str:
        """The operand that says where bytes go, "" where none does."""
        return (control_of(self.entry.text) or "") if self.control else ""

    @property
    def sources(self) -> tuple[tuple[str, int], ...]:
        """The operands that bytes come from: their types in C, and how many bytes they have."""
        return _sources_of(self.entry.text, self.entry.signature.parameters, self.control_name)

    @property
    def is_built(self) -> bool:
        """Whether its operands are scalars."""
        return not any(_VECTOR.fullmatch(kind) for kind, _ in self.sources)

    def call(self, operands: Sequence[str], control: str = "") -> str:
        """A call with the texts of its operands, and the one of its control."""
        given, values = iter(operands), iter(self.values)
        texts = []
        for _, name in self.entry.signature.parameters:
            if self.entry.definition.operand(name).role == "immediate":
                texts.append(str(next(values)))
            elif self.control and name == self.control_name:
                texts.append(control)
            else:
                texts.append(next(given))
        return f"{self.entry.name}({', '.join(texts)})"


@dataclass(frozen=True, slots=True)
class Steer:
    """A movement that acts on addresses: bit j of an address in the result is bit `take[j]` of the one that the byte
    comes from (the bit behind the last one says which of two operands), and bits of `flip` are the other way round."""

    take: tuple[int, ...]
    flip: int

    @property
    def rest(self) -> int:
        """The one bit of addresses that bits of the result do not become, of two operands."""
        (found,) = set(range(len(self.take) + 1)) - set(self.take)
        return found


def steer_of(mover: Mover) -> Steer | None:
    """The movement of addresses; None for others, and where not all bytes of the result are said."""
    found = np.array([-1 if x is None else x for x in mover.moves])
    return None if (found < 0).any() else linear_of(found)


def linear_of(found: _Table) -> Steer | None:
    """The movement of addresses that numbers of bytes, or of elements, are; None where they are none."""
    bits = len(found).bit_length() - 1
    if len(found) != 1 << bits:
        return None
    images = [int(found[1 << j] ^ found[0]) for j in range(bits)]
    if any(x.bit_count() != 1 for x in images) or len(set(images)) != bits:
        return None
    places = np.arange(len(found))
    made = np.full(len(found), found[0])
    for j, image in enumerate(images):
        made ^= np.where(places >> j & 1, image, 0)
    if (made != found).any():
        return None
    return Steer(tuple(x.bit_length() - 1 for x in images), int(found[0]))


@cache
def find_movers(instruction_set: InstructionSet) -> tuple[Mover, ...]:
    """All of them that a vocabulary has, with each value of an immediate; those that most processors have first."""
    found: list[tuple[int, Mover]] = []
    for needs, entry in _candidates(instruction_set):
        if control_of(entry.text) == "":
            found += [(needs, x) for x in _run(entry)]
    return tuple(x for _, x in sorted(found, key=lambda x: (x[0], len(x[1].entry.name))))


@cache
def find_controlled(instruction_set: InstructionSet) -> tuple[Entry, ...]:
    """The instructions that move the bytes of one operand as another one says."""
    found = [(needs, x) for needs, x in _candidates(instruction_set) if control_of(x.text) and _has_two_vectors(x)]
    return tuple(x for _, x in sorted(found, key=lambda x: (x[0], len(x[1].name))))


@cache
def find_shifters(instruction_set: InstructionSet) -> tuple[Mover, ...]:
    """The instructions that shift two operands, one behind the other, by whole bytes, and leave a part of both; with
    each value of an immediate."""
    found: list[tuple[int, Mover]] = []
    for name, record in load_collection(instruction_set.isa).records.items():
        entry = Entry.parsed(record)
        if " >> " not in entry.text or not is_word(name, entry) or "memory" in entry.text:
            continue
        needs = instruction_set.needs(entry)
        if needs is not None and _VECTOR.fullmatch(entry.signature.result) and _data_of(entry) and _shifts(entry.text):
            found += [(needs, x) for x in _run(entry)]
    return tuple(x for _, x in sorted(found, key=lambda x: (x[0], len(x[1].entry.name))))


def _shifts(text: str) -> bool:
    """Whether all parts of a result are what is left of a number that two operands make, shifted by whole bytes."""
    return all(
        put.when is ONE and not put.width % 8 and not _operands_in(put.offset) and _is_shifted(put.value)
        for put, _ in nested_puts(parse_definition(text).body)
    )


def _is_shifted(x: Node) -> bool:
    if x.op != "wrap" or x.args[0].op != "shr":
        return False
    both, by = x.args[0].args
    if both.op != "add" or both.args[0].op != "mul" or by.op != "mul":
        return False
    (upper, width), lower = both.args[0].args, both.args[1]
    return (
        (upper.op, lower.op) == ("bits", "bits")
        and not lower.attr[2]
        and int(lower.attr[1]) % 8 == 0
        and width.constant == 1 << int(lower.attr[1])
        and any(y.constant is not None and y.constant % 8 == 0 for y in by.args)
    )


def _has_two_vectors(entry: Entry) -> bool:
    """Whether those are all of its operands."""
    return len(_data_of(entry)) == len(entry.signature.parameters) == 2


def numbers_of(take: Sequence[int]) -> tuple[int, ...]:
    """The number of the byte that each byte is, of a movement that takes bits of addresses."""
    return tuple(sum((place >> j & 1) << bit for j, bit in enumerate(take)) for place in range(1 << len(take)))


def find_control(entry: Entry, moves: tuple[int, ...]) -> Mover | None:
    """An instruction with what makes it move bytes to their places; None where nothing does."""
    found = _found_control(entry.text, moves)
    return None if found is None else Mover(entry, moves, (), found)


@cache
def _found_control(text: str, moves: tuple[int, ...]) -> tuple[int, ...] | None:
    control, definition = control_of(text), parse_definition(text)
    assert control
    size = definition.operand(control).bits // 8
    if size != len(moves):
        return None
    table = _by_control(text)
    wanted = table == np.array(moves)  # a row for each value of a byte of the control
    for granule in (1, 2, 4, 8):
        fits = wanted.reshape(_MOST_VALUES, size // granule, granule).all(axis=2)
        if fits.any(axis=0).all():
            chosen = tuple(int(x) for x in np.repeat(fits.argmax(axis=0), granule))
            if _outcome(definition, {control: np.array([chosen], np.uint8)}).tolist() == [list(moves)]:
                return chosen
    return None


@cache
def _by_control(text: str) -> _Table:
    """The moves for each value that all bytes of the control have."""
    control, definition = control_of(text), parse_definition(text)
    assert control
    size = definition.operand(control).bits // 8
    return _outcome(definition, {control: np.repeat(np.arange(_MOST_VALUES, dtype=np.uint8)[:, None], size, axis=1)})


def _candidates(instruction_set: InstructionSet) -> Iterator[tuple[int, Entry]]:
    for name, record in load_collection(instruction_set.isa).records.items():
        entry = Entry.parsed(record)
        if not is_word(name, entry) or not named_operators(entry.text) <= {"select"} or "memory" in entry.text:
            continue
        needs = instruction_set.needs(entry)
        if needs is not None and _VECTOR.fullmatch(entry.signature.result) and _data_of(entry):
            yield needs, entry


@cache
def _sources_of(text: str, parameters: tuple[tuple[str, str], ...], control: str) -> tuple[tuple[str, int], ...]:
    """The operands that bytes come from; a search asks for those of each mover very often."""
    return tuple((kind, x.bits // 8) for kind, x in _data_in(text, parameters) if x.name != control)


def _data_of(entry: Entry) -> tuple[tuple[str, Operand], ...]:
    """The operands that are no immediates, with their types in C; none where they are neither all vectors nor all
    scalars, or not all whole bytes."""
    return _data_in(entry.text, entry.signature.parameters)


@cache
def _data_in(text: str, given: tuple[tuple[str, str], ...]) -> tuple[tuple[str, Operand], ...]:
    definition = definition_of(text)
    parameters = [(kind, definition.operand(name)) for kind, name in given]
    data = [(kind, x) for kind, x in parameters if x.role == "value"]
    vectors = sum(bool(_VECTOR.fullmatch(kind)) for kind, _ in data)
    plain = not any(kind.startswith("__mmask") or x.bits % 8 for kind, x in data)
    enough = sum(x.bits for _, x in data) <= 8 * _MOST_VALUES and len(parameters) <= len(data) + 1
    return tuple(data) if plain and enough and vectors in (0, len(data)) else ()


@cache
def control_of(text: str) -> str | None:
    """The operand that says where bytes go, "" where none does; None where a definition does more than move."""
    definition = parse_definition(text)
    names = {x.name for x in definition.operands if x.role == "value"}
    steering: set[str] = set()
    data: set[str] = set()
    for put, _ in nested_puts(definition.body):
        whole = put.when is ONE and not put.width % 8 and not _operands_in(put.offset)
        if not whole or not _moves(put.value, steering, data):
            return None
    steering &= names
    if len(steering) > 1 or steering & data:
        return None
    return next(iter(steering), "")


def _moves(x: Node, steering: set[str], data: set[str]) -> bool:
    match x.op:
        case "const":
            return x.low == 0
        case "bits":
            steering |= _operands_in(x.args[0])
            data.add(str(x.attr[0]))
            return not x.attr[2]
        case "select":
            steering |= _operands_in(x.args[0])
            return all(_moves(y, steering, data) for y in x.args[1:])
        case _:
            return False


def _operands_in(x: Node) -> set[str]:
    return {str(y.attr[0]) for y in walk([x]) if y.op == "bits"}


def _run(entry: Entry) -> list[Mover]:
    """The movers that an instruction is, one for each value of its immediate."""
    immediates = [x for x in entry.definition.operands if x.role == "immediate"]
    if not immediates:
        return [Mover(entry, _numbers(_outcome(entry.definition, {})[0]))]
    (immediate,) = immediates
    values = entry.values.get(immediate.name) or tuple(range(min(1 << immediate.bits, _MOST_VALUES)))
    given = {immediate.name: np.array([[x % _MOST_VALUES] for x in values], np.uint8)}
    return [Mover(entry, _numbers(row), (x,)) for x, row in zip(values, _outcome(entry.definition, given), strict=True)]


def _numbers(row: _Table) -> tuple[int | None, ...]:
    return tuple(None if x < 0 else int(x) for x in row)


def _outcome(definition: Definition, given: Mapping[str, NDArray[np.uint8]]) -> _Table:
    """The number of the byte that each byte of the result is, -1 for none, in a row for each row that is given."""
    rows = next((len(x) for x in given.values()), 1)
    total = 0
    operands: dict[str, NDArray[np.uint8]] = dict(given)
    for x in definition.operands:
        if x.role == "value" and x.name not in given:
            operands[x.name] = np.tile(np.arange(total, total + x.bits // 8).astype(np.uint8), (rows, 1))
            total += x.bits // 8
    numbers = evaluate(definition, operands)
    # The same with all bits the other way round: what differs then is a byte, and no zero.
    others = evaluate(definition, {x: y if x in given else 255 - y for x, y in operands.items()})
    known = (numbers.result == 255 - others.result) & (numbers.defined == 255)
    return np.where(known, numbers.result.astype(np.int64), -1)
