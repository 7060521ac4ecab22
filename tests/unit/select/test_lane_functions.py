"""Lane functions and access maps are the definitions that they were made of, and what is shipped is of what is
shipped."""

from __future__ import annotations

import pytest
from tests.unit.select.lane_checks import differing_lanes, random_operands

from planish.isa.collection import collection_names, load_collection
from planish.isa.semantics.definition import Definition
from planish.isa.semantics.evaluate import evaluate
from planish.select.factored.lane_file import LaneFile, digest, write_file
from planish.select.factored.lane_functions import (
    LaneInstruction,
    Piece,
    divided,
    load_lane_file,
    load_lane_instructions,
    usable,
)  # fmt: skip
from planish.select.factored.variants import variants

ISAS = collection_names()


def found(isa: str, name: str, **fixed: int) -> LaneInstruction:
    """An instruction, with the values that are fixed where it has some."""
    return next(x for x in load_lane_instructions(isa) if x.entry == name and x.fixed == fixed)


@pytest.mark.parametrize("isa", ISAS)
def test_what_is_shipped_is_of_the_shipped_library(isa: str) -> None:
    assert load_lane_file(isa).library == digest(load_collection(isa))


@pytest.mark.parametrize("isa", ISAS)
def test_a_sample_of_what_is_shipped_is_what_factoring_gives(isa: str) -> None:
    file = load_lane_file(isa)
    names = [x for x, (_, _, lines) in file.entries.items() if len(lines) < 20][::97]
    assert _instructions(write_sample(isa, names), names) == _instructions(file, names)


def write_sample(isa: str, names: list[str]) -> LaneFile:
    """A file of some entries, factored now."""
    collection = load_collection(isa)
    return write_file(collection, {x: variants(collection.entry(x), collection.records) for x in names}, {}, {})


def _instructions(file: LaneFile, names: list[str]) -> list[list[object]]:
    return [[x, *file.entries[x][:2], [_line(file, line) for line in file.entries[x][2]]] for x in names]


def _line(file: LaneFile, line: str) -> list[object]:
    fixed, ranges, *pieces = line.split(";")
    plain = [[int(x) for x in piece.split()] for piece in pieces]
    return [fixed, ranges, *([file.function(x), y, z, *(file.maps[at] for at in maps)] for x, y, z, *maps in plain)]


@pytest.mark.parametrize("isa", ISAS)
def test_a_sample_is_equal_to_its_definitions(isa: str) -> None:
    sample = load_lane_instructions(isa)[::61]
    assert [(x.entry, x.fixed) for x in sample if differing_lanes(x)] == []


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
def test_all_are_equal_to_their_definitions(isa: str) -> None:
    assert [(x.entry, x.fixed) for x in load_lane_instructions(isa) if differing_lanes(x, rows=12)] == []


def test_shifts_by_an_immediate_are_plain_within_its_range() -> None:
    shift = found("x86", "_mm256_srai_epi16")
    assert repr(shift.pieces[0].function) == (
        "wrap(16, False, shr(bits('0', 16, True, const(0)), bits('imm8', 8, False, const(0))))"
    )
    assert (shift.operands[1].low, shift.operands[1].high) == (1, 15)
    assert repr(found("arm", "vqrshrun_n_s16").pieces[0].function) == (
        repr(found("hvx", "V6_vasrhubrndsat").pieces[0].function)
        .replace("bits('Rt', 3, False", "bits('n', 8, False")
    )  # fmt: skip


def test_halves_that_read_other_registers_are_one_piece() -> None:
    (pack,) = found("x86", "_mm256_packs_epi32").pieces
    assert pack.lanes == tuple(range(0, 256, 16))
    assert pack.slots[0][:6] == ((0, 0), (0, 32), (0, 64), (0, 96), (1, 0), (1, 32))
    sums, zeros = found("x86", "_mm256_sad_epu8").pieces
    assert (sums.width, zeros.width, zeros.function.constant, zeros.lanes) == (16, 48, 0, (16, 80, 144, 208))


def test_immediates_that_decide_places_are_fixed() -> None:
    (align,) = found("x86", "_mm_alignr_epi8", imm8=3).pieces
    assert (align.width, align.slots[0][12], align.slots[0][13]) == (8, (1, 120), (0, 0))
    rows = [x for x in load_lane_instructions("arm") if x.entry == "vextq_s8"]
    assert [x.fixed["n"] for x in rows] == list(range(16))


def test_bitwise_lanes_are_cut_to_any_width() -> None:
    (both,) = found("x86", "_mm512_and_si512").pieces
    bytes_of = divided(both, 8)
    assert both.divisible and len(bytes_of.lanes) == 64 and bytes_of.slots[1][:2] == ((1, 0), (1, 8))
    assert repr(bytes_of.function) == "and(bits('0', 8, False, const(0)), bits('1', 8, False, const(0)))"
    blend = found("x86", "_mm512_mask_blend_epi32").pieces[0]
    assert divided(blend, 16).slots[0][:4] == ((0, 0), (0, 0), (0, 1), (0, 1))
    with pytest.raises(ValueError, match="not cut"):
        divided(found("x86", "_mm256_packs_epi32").pieces[0], 8)


@pytest.mark.parametrize("isa", ISAS)
def test_narrower_lanes_are_equal_to_the_definitions(isa: str) -> None:
    whole = [x for x in load_lane_instructions(isa) if any(y.divisible and y.width > 8 for y in x.pieces)][::211]
    cut = [_with_pieces(x, [divided(y, 8) if y.divisible and y.width % 8 == 0 else y for y in x.pieces]) for x in whole]
    assert whole and [(x.entry, x.fixed) for x in cut if differing_lanes(x)] == []


def _with_pieces(x: LaneInstruction, pieces: list[Piece]) -> LaneInstruction:
    return LaneInstruction(
        x.entry, x.isa, x.result, x.operands, pieces, x.result_type, x.features, x.values, x.fixed
    )  # fmt: skip


def test_an_extension_has_what_its_features_allow() -> None:
    names = {x.entry for x in usable("x86", ("SSE", "SSE2", "SSSE3", "AVX", "AVX2"))}
    assert "_mm256_maddubs_epi16" in names and "_mm512_maddubs_epi16" not in names


def test_definitions_and_operands_that_are_compared_are_those_of_the_entry() -> None:
    shift = found("x86", "_mm256_srai_epi16")
    definition: Definition = load_collection("x86").entry(shift.entry).definition
    assert evaluate(definition, random_operands(shift, 3, 7)).result.shape == (3, 32)
