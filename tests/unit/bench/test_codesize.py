"""The tables of code sizes: the texts that are measured, what is read from nm and callgrind, and the comparison."""

from __future__ import annotations

from itertools import product

import pytest

from bench.codegen import codesize
from bench.codegen.codesize import (
    Row,
    describe,
    losses,
    measure_tables,
    parameter_ranges,
    read_costs,
    write_functions,
    written_cases,
)


def text_of(case: str, tool: str, type: str = "int") -> str:
    chosen = [x for x in written_cases() if x.name == case]
    return next(x.text for x in write_functions(chosen) if (x.tool, x.type) == (tool, type))


def test_the_same_statements_are_counted() -> None:
    for case in written_cases():
        for tool in codesize.TOOLS:
            text = text_of(case.name, tool)
            for statement in codesize.statement_names(case):
                assert f"extern uint32_t cells_{statement}[];" in text
                assert text.count(f"cells_{statement}[") >= 2


def test_remainders_become_masks_in_ours() -> None:
    assert "n & 127" in text_of("modulo, simple", "ours")
    assert "(t1 + 121) & 127" in text_of("modulo, shifted", "ours")
    assert "n % 128" in text_of("modulo, simple", "isl")


@pytest.mark.parametrize("tool", codesize.TOOLS)
def test_either_type_is_written(tool: str) -> None:
    for type in codesize.TYPES:
        text = text_of("multiple bounds", tool, type)
        assert f"({type} t1, {type} t2)" in text and f"for ({type} " in text


def test_the_context_bounds_parameters() -> None:
    cases = {x.name: x.input for x in written_cases()}
    assert parameter_ranges(cases["modulo, simple"]) == {"n": (0, codesize.BIG)}
    assert parameter_ranges(cases["multiple bounds"]) == {"t1": (125, 127), "t2": (254, 256)}


def test_costs_are_read() -> None:
    text = "fn=main\n3 1\ncfn=f\ncalls=1 7\n4 12\ncfn=printf\ncalls=2 9\n5 99\ncfn=g\ncalls=1 8\n+1 3\n"
    assert read_costs(text, {"f", "g"}) == {"f": 12, "g": 3}
    with pytest.raises(RuntimeError, match="did not see h"):
        read_costs(text, {"f", "h"})


def test_what_is_lost_is_told() -> None:
    rows = [Row("a", "ours", "int", "gcc", 20, 9), Row("a", "isl", "int", "gcc", 10, 8)]
    assert losses(rows) == ["a, int, gcc: 20 bytes, isl 10", "a, int, gcc: 9 instructions, isl 8"]
    assert losses([Row("a", "ours", "int", "gcc", 10, 8), rows[1]]) == []


def test_one_case_is_measured() -> None:
    reason = codesize.missing()
    if reason:
        pytest.skip(reason)
    cases = written_cases()[:2]
    rows = measure_tables(cases)
    kinds = {x.kind for x in codesize.pick_compilers()}
    wanted = product((x.name for x in cases), codesize.TOOLS, codesize.TYPES, kinds)
    assert {(x.case, x.tool, x.type, x.compiler) for x in rows} == set(wanted)
    assert all(row.size > 0 and row.instructions > 0 for row in rows)
    table = "\n".join(describe(cases, rows))
    assert "paper, CodeGen+" in table and "100/15" in table
