"""Packets do what their streams do, one operation after the other, and nothing that the machine cannot."""

from dataclasses import replace

import pytest
from tests.unit.vliw.judge import run_code, run_program
from tests.unit.vliw.machines import narrow, operation, wide

from planish.vliw.machine import VliwMachine
from planish.vliw.pack import pack
from planish.vliw.program import (
    AccessPlace,
    Guard,
    Immediate,
    Instr,
    Loop,
    MemoryAddress,
    StreamParameter,
    StreamProgram,
    StreamRegister,
)


def check(program: StreamProgram, machine: VliwMachine, values: dict[str, int]) -> int:
    packed = pack(program, machine)
    wanted = run_program(program, machine, values)
    state, cycles = run_code(packed.code, machine, values)
    assert state.cells == wanted.cells
    return cycles


def v(name: str) -> StreamRegister:
    return StreamRegister("V", name)


def dot(count: int | StreamRegister) -> StreamProgram:
    """z[0] = the sum of x[i] * y[i]."""
    x, y, z = (StreamRegister("A", n) for n in "xyz")
    body = (
        Instr("LOAD", (v("a"), MemoryAddress(x, 0, 128)), place=AccessPlace("x", "x", 0, 128, 128)),
        Instr("LOAD", (v("b"), MemoryAddress(y, 0, 128)), place=AccessPlace("y", "y", 0, 128, 128)),
        Instr("FMA", (v("s"), v("a"), v("b"))),
    )
    return StreamProgram(
        "dot",
        (
            StreamParameter("x", x, "AM"),
            StreamParameter("y", y, "AM"),
            StreamParameter("z", z, "AM"),
            StreamParameter("n", StreamRegister("S", "n")),
        ),
        (
            Instr("LOAD", (v("s"), MemoryAddress(z)), place=AccessPlace("z", "z", 0, 0, 128)),
            Loop("i", count, body),
            Instr("STORE", (MemoryAddress(z), v("s")), place=AccessPlace("z", "z", 0, 0, 128)),
        ),
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 20])
@pytest.mark.parametrize("known", [True, False])
def test_dot(count: int, known: bool) -> None:
    program = dot(count if known else StreamRegister("S", "n"))
    check(program, wide(), {"x": 0, "y": 4096, "z": 8192, "n": count})


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("columns", [0, 1, 2, 9])
def test_nests_with_stores_that_the_next_iteration_loads(rows: int, columns: int) -> None:
    p, n, m = StreamRegister("G", "p"), StreamRegister("G", "n"), StreamRegister("G", "m")
    r = [StreamRegister("R", str(f"r{i}")) for i in range(4)]
    inner = (
        Instr("LD", (r[0], MemoryAddress(p)), place=AccessPlace("d", "p", 0, 16, 16)),
        Instr("LD", (r[1], MemoryAddress(p, 16)), place=AccessPlace("d", "p", 16, 16, 16)),
        Instr("DIV", (r[2], r[0], r[1])),
        Instr("ADD", (r[0], r[2], r[2])),
        Instr("MAC", (r[3], r[0], r[1])),
        Instr("ST", (MemoryAddress(p, 16, 16), r[0]), place=AccessPlace("d", "p", 16, 16, 16)),
    )
    body = (
        Instr("LD", (r[3], MemoryAddress(p))),
        Loop("j", m, inner),
        Instr("ST", (MemoryAddress(p, 32), r[3])),
    )
    program = StreamProgram(
        "nest",
        (StreamParameter("p", p, "DATA"), StreamParameter("n", n), StreamParameter("m", m)),
        (Loop("i", n, body),),
    )
    check(program, narrow(), {"p": 64, "n": rows, "m": columns})


def test_guards() -> None:
    p, n = StreamRegister("G", "p"), StreamRegister("G", "n")
    r, c = StreamRegister("R", "r"), StreamRegister("P", "c")
    body = (
        Instr("GE", (Immediate(3), c, n)),
        Instr("LD", (r, MemoryAddress(p))),
        Instr("ADD", (r, r, r), Guard(c)),
        Instr("DIV", (r, r, r), Guard(c, negated=True)),
        Instr("ST", (MemoryAddress(p, 0, 16), r)),
        Instr("SUBI", (Immediate(1), n, n)),
    )
    program = StreamProgram("guards", (StreamParameter("p", p, "DATA"), StreamParameter("n", n)), (Loop("i", 6, body),))
    check(program, narrow(), {"p": 0, "n": 6})


def test_an_operation_writes_each_register_once() -> None:
    p, x = StreamRegister("G", "p"), StreamRegister("G", "x")
    moved = Instr("LDG", (x, MemoryAddress(p, 0, 16)))
    program = StreamProgram("moved", (StreamParameter("p", p, "DATA"),), (moved,))
    load = operation("kernel LDG(d: i32[] @G, a: i32[] @DATA) { d[] = a[] }", "Y", 3)
    machine = replace(narrow(), operations=(*narrow().operations, load))
    (issue,) = (y for packet in pack(program, machine).code.packets for y in packet)
    target, address = issue.instr.operands
    assert isinstance(address, MemoryAddress) and target != address.base
