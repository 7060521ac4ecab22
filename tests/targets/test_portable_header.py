"""The portable header on every machine that is here: its functions do what their definitions say, with the extensions
of the processor and without, and it is C and C++ without a warning."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.property.sampling import one_in

from planish.isa.classes.shipped import shipped_classes
from planish.isa.exports.header import write_header
from planish.isa.exports.operations import ExportedOperation, find_operations
from planish.run.instructions.compile import Machine
from planish.run.instructions.hexagon import hexagon_machines
from planish.run.instructions.machines import arm_machines, x86_machines
from planish.run.instructions.portable import check_operations, offered, plainly
from planish.run.toolchains.toolchain import find_compilers

_STEP = 60
TURNS = 4
"""In how many parts the functions are checked; one of them is in the suite."""
_MACHINES = {
    "x86": x86_machines, "x86 without extensions": lambda: tuple(map(plainly, x86_machines())), "Neon": arm_machines,
    "HVX": hexagon_machines,
}  # fmt: skip


@pytest.fixture(scope="module")
def operations() -> tuple[ExportedOperation, ...]:
    return find_operations(shipped_classes())


@pytest.mark.parametrize("turn", one_in(TURNS, range(TURNS)))
@pytest.mark.parametrize("kind", list(_MACHINES))
def test_functions_do_what_their_definitions_say(
    kind: str, turn: int, operations: tuple[ExportedOperation, ...]
) -> None:
    machines: tuple[Machine, ...] = _MACHINES[kind]()
    if not machines:
        pytest.skip(f"no compiler or emulator for {kind}")
    for at, machine in enumerate(machines):
        there = offered(operations, machine)
        shared = [x for x in there if len({y.entry.isa for y in x.members}) > 1]
        odd = [x for x in there if x.of == "bfdot"]  # rounds to odd
        chosen = list(dict.fromkeys(x.name for x in [*shared[at::4], *odd[at::2], *there[7 * at :: _STEP]]))
        named = {x.name: x for x in there}
        found = check_operations([named[x] for x in chosen[turn::TURNS]], operations, machine, rows=32)
        assert {x: y.message or y.unknown for x, y in found.items() if y.kind != "verified"} == {}


@pytest.mark.parametrize(("suffix", "standard"), [(".c", "-std=c11"), (".cc", "-std=c++11")])
def test_it_is_c_and_cpp(tmp_path: Path, suffix: str, standard: str, operations: tuple[ExportedOperation, ...]) -> None:
    compilers = find_compilers()
    if not compilers:
        pytest.skip("no C compiler here")
    source = tmp_path / f"use{suffix}"
    (tmp_path / "planish_operations.h").write_text(write_header(operations[::10]))
    source.write_text('#include "planish_operations.h"\nint main(void) { return 0; }\n')
    for compiler in compilers:
        command = [str(compiler.path), standard, "-Wall", "-Wextra", "-Werror", "-O1", "-fsyntax-only", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]


def test_a_person_can_use_it(tmp_path: Path, operations: tuple[ExportedOperation, ...]) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here")
    adds = [x for x in operations if x.of in ("add", "add_saturate")]
    (tmp_path / "planish_operations.h").write_text(write_header(adds))
    (tmp_path / "use.c").write_text(
        '#include "planish_operations.h"\n'
        "int main(void) {\n"
        "  planish_v128 a = {250, 1}, b = {10, 2};\n"
        "  planish_v128 c = planish_add_i8x16(a, b), d = planish_add_saturate_i8x16(a, b);\n"
        "  return !(c[0] == 4 && c[1] == 3 && d[0] == 255 && d[1] == 3);\n"
        "}\n"
    )
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "use.c", "-o", "use"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0


def test_what_a_macro_is_given_may_be_an_expression(operations: tuple[ExportedOperation, ...]) -> None:
    text = write_header(operations)
    macros = re.findall(r"^#define planish_(\w+)\(([^)]*)\) (\(.*\))$", text, re.M)
    assert len(macros) > 500
    for name, parameters, body in macros:
        for x in parameters.split(", "):
            assert len(re.findall(rf"\b{x}\b", body)) == body.count(f"({x})"), name
