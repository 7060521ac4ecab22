"""The collections that ship: what is in them, how they are found, and that their classes are what they are."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.isa.classes.operation_classes import find_classes
from planish.isa.classes.signature import outlines
from planish.isa.classes.term import shaped
from planish.isa.collection import Collection, collection_names, load_collection
from planish.isa.finding import find_entries
from planish.isa.semantics.evaluate import evaluate
from planish.run.instructions.judge import differing

STEP = 23


def test_they_hold_thousands_of_verified_instructions() -> None:
    for name, least in {"x86": 3800, "arm": 2200}.items():
        entries = load_collection(name)
        assert sum(x.status == "verified" for x in entries) >= least
        assert all(x.reason for x in entries if x.status != "verified")


def test_every_definition_can_be_read() -> None:
    for name in collection_names():
        for at, record in enumerate(load_collection(name).records.values()):
            entry = load_collection(name).entry(record[0])
            if at % STEP == 0 and entry.text:
                assert entry.definition.operands or entry.definition.result
                assert outlines(entry.definition)


def test_packing_gives_the_same_bytes() -> None:
    entries = [x for at, x in enumerate(load_collection("arm")) if at % STEP == 0]
    packed = Collection.of("arm", "a page", entries).packed()
    assert packed == Collection.of("arm", "a page", reversed(entries)).packed()
    assert list(Collection.unpacked(packed)) == sorted(entries, key=lambda x: x.name)


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"text", Collection.of("a", "b", []).packed()[:-9]])
def test_a_broken_file_is_refused(data: bytes) -> None:
    with pytest.raises(PlanishError, match="E0653"):
        Collection.unpacked(data)


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(PlanishError, match="E0654"):
        load_collection("pdp11")


@pytest.mark.parametrize(
    ("query", "isa", "name"),
    [
        ("i32 += u8*s8 by 4", "x86", "_mm_dpbusd_epi32"),
        ("i8 = avg(u8, u8)", "x86", "_mm_avg_epu8"),
        ("i16 = sat(u8*s8 by 2)", "x86", "_mm256_maddubs_epi16"),
        ("f32 += f32*f32", "arm", "vfmaq_f32"),
        ("i32 += i8*i8 by 4", "arm", "vdotq_s32"),
        ("i32 += i8*i8 by 4", "arm", "vdotq_u32"),
        ("i16 += i8", "arm", "vaddw_s8"),
        ("i16 = s16*s16 >> 16", "x86", "_mm_mulhi_epi16"),
        ("i8 = max(s8, s8)", "arm", "vmaxq_s8"),
        ("qdmulh lane", "arm", "vqdmulh_lane_s16"),
    ],
)
def test_instructions_are_found_by_what_they_compute(query: str, isa: str, name: str) -> None:
    found = [x.name for x in find_entries(query, load_collection(isa))]
    assert name in found


def test_nothing_else_is_found() -> None:
    found = {x.name for x in find_entries("i32 += u8*s8 by 4", load_collection("x86"))}
    assert "_mm_dpbusds_epi32" not in found
    assert "_mm_dpwssd_epi32" not in found


@pytest.mark.parametrize("query", [
    "", " ", "i32 += @", "i32 = (u8", "= 3", "x = y", "i8 = f(", "i8 = " + "(" * 200 + "u8", "i8 = u8" + "+u8" * 900,
    "i8 += u8*s8 by 0", "i8 = i8 + True", "i8 = max(i8, key=i8)",
])  # fmt: skip
def test_a_query_that_cannot_be_read_is_refused(query: str) -> None:
    with pytest.raises(PlanishError, match="E0658"):
        list(find_entries(query, []))


def test_members_are_their_class_with_numbers() -> None:
    entries = [x for name in ("x86", "arm") for at, x in enumerate(load_collection(name)) if at % STEP == 0]
    members = [y for x in find_classes(entries) for y in x.members if x.shape[0] != "text"]
    assert len(members) > 200
    for x in members:
        again = shaped(x.definition())
        assert (again.shape, again.numbers) == (x.shaped.shape, x.shaped.numbers)


@pytest.mark.parametrize("name", ["_mm_maddubs_epi16", "_mm_mask_mul_round_ss", "_mm256_mask_blend_epi32"])
def test_a_member_computes_what_its_instruction_does(name: str) -> None:
    entry = load_collection("x86").entry(name)
    (found,) = find_classes([entry])
    chance = np.random.default_rng(1)
    given = {x.name: chance.integers(0, 256, (500, x.bits // 8), np.uint8) for x in entry.definition.operands}
    one, other = (evaluate(x, given) for x in (entry.definition, found.members[0].definition()))
    assert not differing(entry.definition, one, other.result, other.memory).any()


def test_names_are_those_that_people_use() -> None:
    classes = {x.name: {y.entry.name for y in x.members} for x in find_classes(
        x for name in ("x86", "arm") for x in load_collection(name) if x.text and x.kinds[0] == "integer")}  # fmt: skip
    assert {"_mm_dpbusd_epi32"} <= classes["dot_accumulate"]
    assert {"_mm_add_epi8", "vaddq_s8"} <= classes["add"]
    assert {"_mm_avg_epu8", "vrhaddq_u8"} <= classes["average_round"]
    assert {"_mm256_unpackhi_epi16", "vzip2q_u16"} <= classes["interleave"]
