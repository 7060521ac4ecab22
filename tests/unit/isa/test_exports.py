"""What other programs get of the instructions: TableGen for LLVM, a dialect that MLIR checks, C of definitions."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from planish.isa.classes.operation_classes import Class
from planish.isa.classes.parameters import label_numbers
from planish.isa.classes.shipped import shipped_classes
from planish.isa.exports.header import find_bodies
from planish.isa.exports.irdl import write_call, write_irdl
from planish.isa.exports.operations import ExportedOperation, choose_operations, find_operations
from planish.isa.exports.statements import conditions_of, write_statements
from planish.isa.exports.tablegen import write_tablegen
from planish.isa.semantics.text import parse_definition

_INCLUDES = Path("/usr/lib/llvm-19/include")


@pytest.fixture(scope="module")
def classes() -> tuple[Class, ...]:
    return shipped_classes()


@pytest.fixture(scope="module")
def operations(classes: tuple[Class, ...]) -> tuple[ExportedOperation, ...]:
    return find_operations(classes)


def test_every_number_of_a_shape_has_a_word(classes: tuple[Class, ...]) -> None:
    for x in classes:
        if x.shape[0] != "text":
            assert len(label_numbers(x.shape)) == len(x.members[0].shaped.numbers), x.name
            assert len(set(x.labels)) == len(x.parameters), x.name


@pytest.mark.parametrize("isa", ["x86", "arm", "hvx"])
def test_names_are_the_same_whatever_is_chosen(
    classes: tuple[Class, ...], operations: tuple[ExportedOperation, ...], isa: str
) -> None:
    everything = {x.name: x for x in operations}
    some = [replace(x, members=tuple(y for y in x.members if y.entry.isa == isa)) for x in classes]
    chosen = choose_operations(operations, some)
    assert 300 < len(chosen) < len(everything)
    for x in chosen:
        assert x.definition is everything[x.name].definition
        assert {y.entry.isa for y in x.members} == {isa}
    assert choose_operations(operations, classes) == operations


def test_nearly_every_operation_is_plain_c(operations: tuple[ExportedOperation, ...]) -> None:
    bodies = find_bodies(operations)
    assert len({x.name for x in operations}) == len(operations)
    assert sum(not bodies[x.name].lines for x in operations) <= 10


@pytest.mark.parametrize(
    ("text", "line"),
    [("(a: 64, b: 64) -> r: 64 { r.u64[0] = u64(a.u64[0] + b.u64[0]) }", "(uint64_t)"),
     ("(a: 32, b: 32) -> r: 32 { r.u32[0] = u32(a.u32[0] * b.u32[0]) }", "(int64_t)planishk_u32(&a, 0)"),
     ("(a: 16) -> r: 8 { r.u8[0] = a.u8@[3] }", "planishk_get(&a, 16, 3, 8)"),
     ("(p: 0 memory, k: 8) -> r: 8 { r.u8[0] = select(k.u1[0], p.u8[0], 0) }", "if ("),
     ("(a: 512) -> r: 512 { r.u512[0] = a.u512[0] }", "__builtin_memcpy"),
     ("(a: 256, b: 256) -> r: 256 { r.u256[0] = a.u256[0] & b.u256[0] }", "planishk_put64(&r, 24,")],
)  # fmt: skip
def test_statements(text: str, line: str) -> None:
    assert line in "\n".join(write_statements(parse_definition(text), "r"))


def test_long_products_need_a_long_type() -> None:
    text = "(a: 64, b: 64) -> r: 64 { r.u64[0] = u64(a.u64[0] * b.u64[0] >> 64) }"
    assert conditions_of(write_statements(parse_definition(text), "r")) == {"defined(__SIZEOF_INT128__)"}


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here")
    return found


def test_llvm_makes_a_selector_of_it(tmp_path: Path, classes: tuple[Class, ...]) -> None:
    tool = _tool("llvm-tblgen-19")
    if not _INCLUDES.is_dir():
        pytest.skip("LLVM's own descriptions (llvm-19-dev) are not here")
    (tmp_path / "planish.td").write_text(write_tablegen(classes))
    command = [tool, "-gen-dag-isel", "-I", str(_INCLUDES), "planish.td", "-o", "selector.inc"]
    subprocess.run(command, cwd=tmp_path, check=True)
    made = (tmp_path / "selector.inc").read_text()
    for name in ("_mm512_dpbusd_epi32", "vdotq_s32", "V6_vrmpybv"):
        assert f"::I_{'x86' if name[0] == '_' else 'hvx' if name[0] == 'V' else 'arm'}_{name}" in made


def test_mlir_checks_programs_in_the_dialect(tmp_path: Path, classes: tuple[Class, ...]) -> None:
    tool = _tool("mlir-opt-19")
    (tmp_path / "planish.irdl.mlir").write_text(write_irdl(classes))
    (add,) = (x for x in classes if x.name == "add")
    member = next(x for x in add.members if x.entry.name == "_mm_add_epi8")
    values = "\n".join(f'  %{x} = "test.value"() : () -> vector<128xi1>' for x in "ab")
    good = write_call(add, member, ["%a", "%b"])
    command = [tool, "--allow-unregistered-dialect", "--irdl-file=planish.irdl.mlir", "program.mlir"]
    wrong = (good.replace("-> vector<128", "-> vector<127"), good.replace("width = ", "wide = "))
    for call, code in ((good, 0), *((x, 1) for x in wrong)):
        (tmp_path / "program.mlir").write_text(f"func.func @f() {{\n{values}\n  {call}\n  return\n}}\n")
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == code, done.stderr
