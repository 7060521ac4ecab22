"""Packets do what their streams do, one operation after the other, and nothing that the machine cannot."""

import pytest
from tests.unit.vliw.judge import run_code, run_program
from tests.unit.vliw.machines import narrow, wide

from planish.vliw.machine import Machine
from planish.vliw.pack import pack
from planish.vliw.program import Address, Guard, Immediate, Instr, Loop, Parameter, Place, Program, Register


def check(program: Program, machine: Machine, values: dict[str, int]) -> int:
    packed = pack(program, machine)
    wanted = run_program(program, machine, values)
    state, cycles = run_code(packed.code, machine, values)
    assert state.cells == wanted.cells
    return cycles


def v(name: str) -> Register:
    return Register("V", name)


def dot(count: int | Register) -> Program:
    """z[0] = the sum of x[i] * y[i]."""
    x, y, z = (Register("A", n) for n in "xyz")
    body = (
        Instr("LOAD", (v("a"), Address(x, 0, 128)), place=Place("x", "x", 0, 128, 128)),
        Instr("LOAD", (v("b"), Address(y, 0, 128)), place=Place("y", "y", 0, 128, 128)),
        Instr("FMA", (v("s"), v("a"), v("b"))),
    )
    return Program(
        "dot",
        (Parameter("x", x, "AM"), Parameter("y", y, "AM"), Parameter("z", z, "AM"), Parameter("n", Register("S", "n"))),
        (
            Instr("LOAD", (v("s"), Address(z)), place=Place("z", "z", 0, 0, 128)),
            Loop("i", count, body),
            Instr("STORE", (Address(z), v("s")), place=Place("z", "z", 0, 0, 128)),
        ),
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 20])
@pytest.mark.parametrize("known", [True, False])
def test_dot(count: int, known: bool) -> None:
    program = dot(count if known else Register("S", "n"))
    check(program, wide(), {"x": 0, "y": 4096, "z": 8192, "n": count})


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("columns", [0, 1, 2, 9])
def test_nests_with_stores_that_the_next_iteration_loads(rows: int, columns: int) -> None:
    p, n, m = Register("G", "p"), Register("G", "n"), Register("G", "m")
    r = [Register("R", str(f"r{i}")) for i in range(4)]
    inner = (
        Instr("LD", (r[0], Address(p)), place=Place("d", "p", 0, 16, 16)),
        Instr("LD", (r[1], Address(p, 16)), place=Place("d", "p", 16, 16, 16)),
        Instr("DIV", (r[2], r[0], r[1])),
        Instr("ADD", (r[0], r[2], r[2])),
        Instr("MAC", (r[3], r[0], r[1])),
        Instr("ST", (Address(p, 16, 16), r[0]), place=Place("d", "p", 16, 16, 16)),
    )
    body = (
        Instr("LD", (r[3], Address(p))),
        Loop("j", m, inner),
        Instr("ST", (Address(p, 32), r[3])),
    )
    program = Program("nest", (Parameter("p", p, "DATA"), Parameter("n", n), Parameter("m", m)), (Loop("i", n, body),))
    check(program, narrow(), {"p": 64, "n": rows, "m": columns})


def test_guards() -> None:
    p, n = Register("G", "p"), Register("G", "n")
    r, c = Register("R", "r"), Register("P", "c")
    body = (
        Instr("GE", (Immediate(3), c, n)),
        Instr("LD", (r, Address(p))),
        Instr("ADD", (r, r, r), Guard(c)),
        Instr("DIV", (r, r, r), Guard(c, negated=True)),
        Instr("ST", (Address(p, 0, 16), r)),
        Instr("SUBI", (Immediate(1), n, n)),
    )
    program = Program("guards", (Parameter("p", p, "DATA"), Parameter("n", n)), (Loop("i", 6, body),))
    check(program, narrow(), {"p": 0, "n": 6})
