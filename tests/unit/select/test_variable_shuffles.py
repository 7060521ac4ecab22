"""Shuffles that an operand steers come from where their tables say, and are steered to where they are wanted."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.select.lane_checks import random_operands

from planish.isa.collection import load_collection
from planish.isa.semantics.evaluate import evaluate
from planish.select.factored.index_fields import find_index_fields
from planish.select.factored.lane_file import write_file
from planish.select.factored.lane_functions import LaneInstruction, load_lane_file
from planish.select.factored.variable_shuffles import VariableShuffle, load_variable_shuffles, usable_shuffles

ISAS = ("arm", "hvx", "x86")


def differing(shuffle: VariableShuffle) -> list[int]:
    """The lanes that come from elsewhere than their tables say, for random values of all operands."""
    same = LaneInstruction(
        shuffle.entry, shuffle.isa, shuffle.result, shuffle.operands, (), shuffle.result_type, shuffle.features,
        fixed=shuffle.fixed,
    )  # fmt: skip
    given = random_operands(same, 3, 5)
    bits = {name: np.unpackbits(x, axis=1, bitorder="little") for name, x in given.items()}
    outcome = evaluate(load_collection(shuffle.isa).entry(shuffle.entry).definition, given).result
    found = np.unpackbits(outcome, axis=1, bitorder="little")
    wrong = []
    for row in range(3):
        for at, lane in enumerate(shuffle.lanes):
            field = bits[shuffle.operands[shuffle.index].name][row, shuffle.fields[at] :][: shuffle.field_width]
            place = shuffle.places(at)[sum(int(x) << n for n, x in enumerate(field))]
            wanted = np.zeros(shuffle.width, np.uint8)
            if place is not None:
                wanted = bits[shuffle.operands[place[0]].name][row, place[1] : place[1] + shuffle.width]
            if (found[row, lane : lane + shuffle.width] != wanted).any():
                wrong.append(at)
    return wrong


@pytest.mark.parametrize("isa", ISAS)
def test_a_sample_is_equal_to_its_definitions(isa: str) -> None:
    assert [x.entry for x in load_variable_shuffles(isa)[::9] if differing(x)] == []


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
def test_all_are_equal_to_their_definitions(isa: str) -> None:
    assert [x.entry for x in load_variable_shuffles(isa) if differing(x)] == []


@pytest.mark.parametrize("isa", ISAS)
def test_what_is_shipped_is_what_is_found_in_the_definitions(isa: str) -> None:
    collection, file = load_collection(isa), load_lane_file(isa)
    names = list(file.shuffles)[::7]
    again = write_file(collection, {}, {x: find_index_fields(collection.entry(x)) for x in names}, {})
    for name in names:
        for mine, theirs in zip(again.shuffles[name][2], file.shuffles[name][2], strict=True):
            (*one, lanes, fields), (*other, places, starts) = mine.split(" "), theirs.split(" ")
            assert one == other
            assert [again.maps[int(x)] for x in (lanes, fields)] == [file.maps[int(x)] for x in (places, starts)]


def test_two_tables_are_told_apart() -> None:
    both = next(x for x in usable_shuffles("x86", ("AVX512F", "AVX512VL", "AVX512BW"))
                if x.entry == "_mm256_permutex2var_epi16")  # fmt: skip
    wanted = [(0 if lane % 2 else 2, 16 * (15 - lane)) for lane in range(16)]
    control = both.control(wanted)
    assert control is not None
    assert [control >> 16 * lane & 31 for lane in range(16)] == [
        15 - lane + 16 * (lane % 2 == 0) for lane in range(16)
    ]  # fmt: skip
    assert both.control([None] * 16) is None
