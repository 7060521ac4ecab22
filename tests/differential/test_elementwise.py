"""Elementary loops: a seeded sample, built and run beside the original (`python -m bench.sweeps.elementwise`: all)."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from tests.property.sampling import slow

from bench.sweeps.elementwise import choose, is_fault, split
from bench.sweeps.elementwise_loops import BY_NAME, FORMS, OPERATIONS, TYPES, Loop, all_loops, is_meant
from bench.sweeps.elementwise_run import MARGIN, Finding, compare_records, run_loops
from planish.ir.types import Floats

has_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
SEED = 45


@has_gcc
@pytest.mark.parametrize(("first", "end"), [(0, 8), slow(8, 16), slow(16, 40)])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_a_sample_is_taken_and_right(fp: Floats, first: int, end: int, tmp_path: Path) -> None:
    found = run_loops(choose(40, SEED, "")[first:end], fp, tmp_path)
    assert len(found) == end - first and not [x for x in found if is_fault(x)]


@has_gcc
@pytest.mark.parametrize(("first", "end"), [(0, 3), slow(3, 8)])
def test_a_sample_passes_the_checks_of_a_build(first: int, end: int, tmp_path: Path) -> None:
    found = run_loops(choose(8, SEED, "/(map|update|sum)/")[first:end], "strict", tmp_path, "checked")
    assert len(found) == end - first and not [x for x in found if is_fault(x)]


@has_gcc
def test_bytes_are_taken(tmp_path: Path) -> None:
    """The simplest loops over the narrowest types."""
    byte, char = BY_NAME["uint8_t"], BY_NAME["char"]
    loops = [
        Loop("add", "map", byte, byte, byte, "int", False),
        Loop("add", "inplace", char, char, char, "int", False),
        Loop("key", "inplace", char, char, char, "int", False),
        Loop("average", "rows", byte, byte, byte, "size_t", True),
    ]
    assert "    a[i] ^= b[i % 4];\n" in loops[2].text("f")
    assert [x.outcome for x in run_loops(loops, "strict", tmp_path, "checked")] == ["taken"] * 4


def test_all_loops_are_all() -> None:
    loops = all_loops()
    assert len({x.key for x in loops}) == len(loops) > 20_000
    plain = {(x.operation, x.form, (x.a.kind, x.a.bits)) for x in loops}
    for operation in OPERATIONS:
        for form in FORMS:
            for type in TYPES:
                alike = Loop(operation.name, form, type, type, type, "int", False)
                assert not is_meant(alike) or (operation.name, form, (type.kind, type.bits)) in plain


def test_a_sample_is_told_by_its_seed() -> None:
    assert choose(20, 3, "") == choose(20, 3, "") != choose(20, 4, "")
    assert all("add/map/" in x.key for x in choose(5, 3, "^add/map/"))
    parts = list(split(choose(7, 3, ""), "strict", 3, "first"))
    assert [len(x.loops) for x in parts] == [3, 3, 1]


def test_what_is_a_fault() -> None:
    guarded = "scop-condition: a store under a condition that depends on data"
    assert not is_fault(Finding("add/guard/int,int,int/int", "strict", "unchanged", guarded))
    assert is_fault(Finding("add/guard/int,int,int/int", "strict", "unchanged", "scop-limit: …"))
    assert is_fault(Finding("add/map/int,int,int/int", "strict", "unchanged", guarded))
    for outcome in ("wrong", "internal error", "refused", "not compiled", "invalid"):
        assert is_fault(Finding("add/guard/int,int,int/int", "strict", outcome, guarded))


def test_differences_are_seen() -> None:
    margin, number = b"\x5a" * MARGIN, BY_NAME["float"]
    loop = Loop("add", "map", number, number, number, "int", False)

    def memory(*values: float) -> bytes:
        return margin + struct.pack(f"{len(values)}f", *values) + margin

    nan, one = float("nan"), memory(1.0, 2.0)
    assert compare_records(loop, "strict", "o", one, one) == ""
    assert compare_records(loop, "strict", "o", memory(nan), memory(-nan)) == ""
    assert "[1]" in compare_records(loop, "strict", "o", one, memory(1.0, 2.0000002))
    assert compare_records(loop, "reassociate", "o", one, memory(1.0, 2.0000002)) == ""
    assert "[0]" in compare_records(loop, "reassociate", "o", one, memory(1.1, 2.0))
    assert "[0]" in compare_records(loop, "reassociate", "o", one, memory(nan, 2.0))
    assert "beside" in compare_records(loop, "strict", "o", one, one[:-1] + b"\0")
    assert "bytes" in compare_records(loop, "strict", "o", one, b"")
