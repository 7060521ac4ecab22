"""What is written for solvers says what definitions say: a solver finds the same results, and no others."""

from __future__ import annotations

import random

import bitwuzla
import pytest

from planish.isa.collection import collection_names, load_collection
from planish.isa.entry import Entry
from planish.isa.exports.smt import write_smt
from planish.isa.semantics.evaluate import evaluate
from planish.run.instructions.vectors import make_inputs

SAMPLE = 24
FREE = ("fsqrt", "fdiv", "fmul", "fma", "fadd", "fsub", "fconvert", "fround")
"""What may leave a NaN, of which the bits are free."""


def solve(text: str) -> str:
    """What the solver says: "sat" or "unsat"."""
    options = bitwuzla.Options()
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(text, True, False)
    return str(parser.bitwuzla().check_sat())


def _is_plain(entry: Entry) -> bool:
    definition = entry.definition
    roles = {x.role for x in definition.operands}
    return definition.result is not None and roles == {"value"}


@pytest.mark.parametrize("isa", collection_names())
def test_a_solver_finds_what_definitions_compute(isa: str) -> None:
    entries = [x for x in load_collection(isa) if x.status == "verified" and _is_plain(x)]
    tried = 0
    for entry in random.Random(isa).sample(entries, SAMPLE):
        text = write_smt([entry])
        if "is not written" in text:
            continue
        definition, tried = entry.definition, tried + 1
        assert definition.result is not None
        given = make_inputs(definition, entry.name, 2, {})
        outcome = evaluate(definition, given)
        for row in range(2):
            known = text
            for x in definition.operands:
                value = int.from_bytes(bytes(given[x.name][row]), "little") % (1 << x.bits)
                known += f"(assert (= |{entry.name}.{x.name}| (_ bv{value} {x.bits})))\n"
            bits = definition.result.bits
            defined = int.from_bytes(bytes(outcome.defined[row]), "little") % (1 << bits)
            wanted = int.from_bytes(bytes(outcome.result[row]), "little") & defined
            left = f"(bvand |{entry.name}.{definition.result.name}| (_ bv{defined} {bits}))"
            assert solve(f"{known}(assert (= {left} (_ bv{wanted} {bits})))") == "sat", entry.name
            if not any(x in entry.text for x in FREE):
                assert solve(f"{known}(assert (distinct {left} (_ bv{wanted} {bits})))") == "unsat", entry.name
    assert tried > SAMPLE // 2


@pytest.mark.parametrize(("name", "told"), [("vrhaddq_u8", "unsat"), ("vhaddq_u8", "sat")])
def test_two_architectures_are_compared(name: str, told: str) -> None:
    one, other = load_collection("x86").entry("_mm_avg_epu8"), load_collection("arm").entry(name)
    text = write_smt([one, other])
    for place in ("a", "b"):
        text += f"(assert (= |_mm_avg_epu8.{place}| |{name}.{place}|))\n"
    assert solve(f"{text}(assert (distinct |_mm_avg_epu8.dst| |{name}.dst|))") == told


def test_what_has_no_form_there_is_told() -> None:
    text = write_smt([load_collection("x86").entry("_mm_rcp14_ss")])
    assert "; is not written: " in text
