"""Definitions written out byte by byte are the same functions, whatever is simplified on the way."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.property.sampling import one_in

from planish.isa.collection import load_collection
from planish.isa.entry import Entry
from planish.isa.select.instruction_set import with_value
from planish.isa.semantics.definition import Definition, Put
from planish.isa.semantics.evaluate import evaluate
from planish.isa.semantics.node import const
from planish.isa.semantics.scalarised import unroll
from planish.isa.semantics.text import parse_definition
from planish.run.instructions.judge import differing

ROWS = 24
STEPS = {"x86": 9, "arm": 7, "hvx": 3, "sve": 5}
TURNS = 3
"""In how many parts they are compared; one of them is in the suite."""


def _written_out(definition: Definition) -> Definition | None:
    found = unroll(definition)
    if found is None or definition.result is None:
        return None
    name = definition.result.name
    puts = tuple(Put(x.target or name, const(8 * x.byte), 8, x.value, x.when) for x in found.places)
    return replace(definition, body=puts)


def _check(definition: Definition, chance: np.random.Generator) -> bool:
    made = _written_out(definition)
    if made is None or any(x.role == "memory" for x in definition.operands):
        return False
    given = {}
    for x in definition.operands:
        data = chance.integers(0, 256, (ROWS, -(-x.bits // 8)), dtype=np.uint8)
        data[: ROWS // 3] = chance.choice(np.array([0, 1, 0x7F, 0x80, 0xFF], np.uint8), (ROWS // 3, data.shape[1]))
        if x.bits % 8:
            data[:, -1] &= (1 << x.bits % 8) - 1
        given[x.name] = data
    one, other = evaluate(definition, given), evaluate(made, given)
    assert (one.defined == other.defined).all()
    assert not differing(definition, one, other.result, {}, given).any()  # one NaN is as good as another
    return True


@pytest.mark.parametrize("turn", one_in(TURNS, range(TURNS)))
@pytest.mark.parametrize("isa", STEPS)
def test_they_are_the_same_functions(isa: str, turn: int) -> None:
    chance = np.random.default_rng(3)
    checked = 0
    entries = [x for x in load_collection(isa) if x.status == "verified" and len(x.text) < 2000]
    for entry in entries[turn * STEPS[isa] :: TURNS * STEPS[isa]]:
        definition = entry.definition
        bits = sum(x.bits for x in definition.operands)
        try:
            checked += bits < 4096 and _check(definition, chance)
        except AssertionError as error:
            raise AssertionError(entry.name) from error
    assert checked > 30


def _immediate(entry: Entry) -> str:
    (name, *more) = [x.name for x in entry.definition.operands if x.role == "immediate"] or [""]
    return "" if more else name


@pytest.mark.parametrize("isa", ["x86", "arm"])
def test_so_they_are_for_each_value_of_an_immediate(isa: str) -> None:
    chance, drawn = np.random.default_rng(4), random.Random(4)
    entries = [x for x in load_collection(isa) if x.status == "verified" and "hift" in f"{x.category} {x.mnemonic}"]
    entries += [x for x in load_collection(isa) if x.status == "verified" and "shr" in x.name + x.mnemonic]
    checked = 0
    for entry in entries[::4]:
        name = _immediate(entry)
        if name:
            for value in drawn.sample(entry.values.get(name) or range(70), 4):
                definition = parse_definition(with_value(entry.text, name, value))
                given = replace(definition, operands=tuple(x for x in definition.operands if x.name != name))
                if f"{name}." not in with_value(entry.text, name, value):
                    checked += _check(given, chance)
    assert checked > 20


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_shifts_keep_the_sign_of_what_is_left(width: int) -> None:
    chance = np.random.default_rng(5)
    for by in range(1, width):
        for sign in "us":
            text = f"(a: 128) -> d: 128 {{ for i < {128 // width} {{ d.u{width}[i] = "
            text += f"u{width}(a.{sign}{width}[i] >> {by}) }} }}"
            assert _check(parse_definition(text), chance)
