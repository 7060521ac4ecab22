"""Descriptions of VLIW machines: published facts, machines over others, and what is wrong told at its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.vliw.description import load_machine, machine_names, parse_machine
from planish.vliw.machine import operand_names, written_arrays

NARROW = Path(__file__).with_name("narrow.toml")


def test_published_facts_of_ft_matrix() -> None:
    machine = load_machine("ftmatrix")
    assert dict(machine.sides) == {"scalar": 5, "vector": 6}
    counts = {x: sum(u.name.rstrip("123") == x for u in machine.units) for x in ("SMAC", "SIEU", "SLDST", "SBR")}
    assert counts == {"SMAC": 2, "SIEU": 1, "SLDST": 1, "SBR": 1}
    counts = {x: sum(u.name.rstrip("123") == x for u in machine.units) for x in ("VMAC", "VIEU", "VLDST")}
    assert counts == {"VMAC": 3, "VIEU": 1, "VLDST": 2}
    latencies = {
        "VFMULAS32": 6, "VLDW": 9, "VSTW": 4, "SLDW": 7, "SVBCAST": 4, "VBALE2": 1, "SMVAGA": 2, "SADDA": 2,
        "SADD": 1, "SLT": 1, "SMOV": 1, "SBR": 7,
    }  # fmt: skip
    for name, latency in latencies.items():
        operation = machine.operation(name)
        assert (operation.latency, operation.assumed) == (latency, False), name
    assert set(machine.operation("SVBCAST").units) == {"SMAC1", "SMAC2"}
    assert machine.operation("VBALE2").units == ("VIEU",)
    assert (machine.memory("AM").bytes, machine.memory("SM").bytes) == (768 << 10, 64 << 10)
    assert (machine.memory("GSM").bytes, machine.memory("DDR").bytes) == (6 << 20, 32 << 30)
    assert (machine.file("V").bits, machine.constants["WORDS"], machine.frequency_ghz) == (1024, 32, 1.8)


@pytest.mark.parametrize("name", [*machine_names(), str(NARROW)])
def test_every_operation_has_a_text_of_all_its_operands(name: str) -> None:
    machine = load_machine(name)
    assert len({x.name for x in machine.operations}) == len(machine.operations)
    for x in machine.operations:
        words = set(re.findall(r"\{(\w+)\}", x.text)) - {"counter"} - ({"target"} if not x.branch or x.loop else set())
        named = set() if x.loop or not x.text else set(operand_names(x.definition, x.branch))
        assert words == named, x.name
        assert machine.kind(x.name) == "branch" if x.branch else written_arrays(x.definition) or x.waits


def test_a_study_point_is_a_few_overrides() -> None:
    text = """
name = "wide"
kind = "vliw"
base = "ftmatrix"
constants.VPES = 32
[units]
VMAC.count = 4
[operations]
VLDW = { latency = 11 }
"""
    machine, base = parse_machine(Source("wide.toml", text)), load_machine("ftmatrix")
    assert (machine.file("V").bits, machine.constants["WORDS"], machine.sides["vector"]) == (2048, 64, 7)
    assert machine.operation("VLDW").latency == 11
    assert len(machine.operation("VFMULAS32").units) == 4
    assert machine.operation("VSTW").latency == base.operation("VSTW").latency
    assert len(machine.operations) == len(base.operations)


GOOD = """
name = "m"
kind = "vliw"
[constants]
L = 4
[units.A]
side = "s"
[files.R]
count = 4
bits = "32 * L"
[memories.M]
bytes = 64
[operations.ADD]
definition = '(d: f32[L] @R, a: f32[L] @R) { for l in 0 .. L { d[l] = d[l] + a[l] } }'
units = ["A"]
latency = 2
"""

WRONG = {
    "unknown unit": ('units = ["A"]', 'units = ["B"]', "E0703", 'units = ["B"]', "there is no unit 'B'"),
    "latency": ("latency = 2", "latency = 0", "E0703", "latency = 0", "from 1 on, not 0"),
    "busy": ("latency = 2", "busy = 0", "E0703", "busy = 0", "from 1 on"),
    "no text of a kernel": ("d[l] + a[l]", "d[l] + ", "E0704", "} }'", "expected an expression"),
    "a name in no scope": ("d[l] + a[l]", "d[l] + b[l]", "E0704", "b[l] }", "no array `b`"),
    "types that differ": ("a: f32[L]", "a: f64[L]", "E0704", "d[l] =", "differ: f32 and f64"),
    "no file or memory": ("a: f32[L] @R", "a: f32[L] @Q", "E0704", "definition", "no register file or memory"),
    "too wide": ("d: f32[L]", "d: f32[8]", "E0704", "definition", "256 bits, a register of R has 128"),
    "lanes unknown": ("a: f32[L]", "n, a: f32[n]", "E0704", "definition", "whose number is known"),
    "written last": ("(d: f32[L] @R, a: f32[L] @R)", "(a: f32[L] @R, d: f32[L] @R)", "E0704", "definition", "behind"),
    "writes nothing": ("{ d[l] = d[l] + a[l] }", "{ let x = a[l] }", "E0704", "definition", "it writes nothing"),
    "two in memory": ("(d: f32[L] @R, a: f32[L] @R)", "(d: f32[L] @M, a: f32[L] @M)", "E0704", "definition", "both"),
    "a text of no operand": ("latency = 2", 'text = "ADD {x}"', "E0704", "text", "{x}, which is no operand"),
    "constant": ('"32 * L"', '"32 * N"', "E0703", "bits", "there is no constant N"),
    "no expression": ('"32 * L"', '"32 *"', "E0703", "bits", "no expression"),
    "bits": ('"32 * L"', "12", "E0703", "bits", "a multiple of 8"),
    "no units": ('[units.A]\nside = "s"', "[sides]", "E0703", "", "there is no section [units.NAME]"),
    "no side": ('side = "s"', 'side = "s"\n[sides]\nt = 1', "E0703", "t = 1", "no unit is on a side 't'"),
    "size": ("bytes = 64", 'bytes = "lots"', "E0703", "bytes", "a size as"),
    "file and memory": ("[memories.M]", "[memories.R]", "E0703", "[memories.R]", "a register file as well"),
    "misspelt": ("latency = 2", "latensy = 2", "E0703", "latensy", "unknown entry 'latensy'"),
    "type": ("latency = 2", 'type = "f33"', "E0703", "type", "'f33' is no type"),
    "base": ('kind = "vliw"', 'kind = "vliw"\nbase = "nothing"', "E0703", "base", "unknown target 'nothing'"),
    "assembly": ("[memories.M]", '[assembly]\nguard = "{p}"\n[memories.M]', "E0703", "guard", "{p} stands for nothing"),
    "transfers": ("[memories.M]", "[transfers]\nchannels = 1\n[memories.M]", "E0703", "[transfers]", "above 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_at_its_place(case: str) -> None:
    old, new, code, line, message = WRONG[case]
    assert old in GOOD
    parse_machine(Source("m.toml", GOOD))
    text = GOOD.replace(old, new)
    with pytest.raises(PlanishError) as caught:
        parse_machine(Source("m.toml", text))
    found = caught.value.diagnostic
    assert (found.code, message in found.message) == (code, True), found.message
    assert found.span is not None and line in text.splitlines()[found.span.line - 1], str(caught.value)


def test_a_caret_inside_of_a_definition() -> None:
    text = GOOD.replace("+ a[l]", "+ b[l]")
    with pytest.raises(PlanishError) as caught:
        parse_machine(Source("m.toml", text))
    span = caught.value.diagnostic.span
    assert span is not None
    assert text.splitlines()[span.line - 1][span.column - 1 :].startswith("b[l]")


def test_an_error_in_the_base_is_told_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(GOOD.replace("a[l]", "b[l]"))
    over = f'name = "n"\nkind = "vliw"\nbase = "{tmp_path / "base.toml"}"\n[operations.ADD]\nlatency = 3\n'
    with pytest.raises(PlanishError) as caught:
        parse_machine(Source("over.toml", over))
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.file == str(tmp_path / "base.toml")


def test_a_description_based_on_itself(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(f'name = "n"\nkind = "vliw"\nbase = "{path}"\n')
    with pytest.raises(PlanishError, match="based on itself"):
        load_machine(str(path))


def test_machines_of_the_other_kind() -> None:
    with pytest.raises(PlanishError, match="unknown target 'x86-avx2'"):
        load_machine("x86-avx2")
