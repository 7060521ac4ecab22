"""An interlocked machine with hardware loops: what it may address, how its loops end, and what C is given of it."""

from __future__ import annotations

import numpy as np
import pytest

from planish.core.span import Source
from planish.emit.assembly.subroutine import print_subroutine
from planish.ir.text.parser import parse_kernel
from planish.ir.types import I32, I64
from planish.vliw.assembly import print_assembly
from planish.vliw.description import load_machine
from planish.vliw.machine import operand_names
from planish.vliw.operands import check_operands
from planish.vliw.pack import pack
from planish.vliw.program import Immediate, Instr, MemoryAddress, StreamProgram, StreamRegister
from planish.vliw.sequences import spelt_out
from planish.vliw.simulator.cycles import check_code, simulate
from planish.vliw.simulator.interpreter import interpret
from planish.vliw.simulator.state import MachineState, make_state
from planish.vliw.streams.lower import lower
from planish.vliw.streams.stream import RefusedError
from planish.vliw.text import parse_program

MACHINE = load_machine("hexagon")
DOT = """program dot on hexagon
param x: R.x in MEM
param y: R.y in MEM
param z: R.z in MEM
param n: R.n
{rows}MOVI #0, R.s
loop rows R.n {{
  MEMW R.a, *R.x[0]++4   @x.all[0:4 +4]
  MEMW R.b, *R.y[0]++4   @y.all[0:4 +4]
  MACI R.s, R.a, R.b
}}
STW *R.z[0], R.s
{end}"""


def _state(registers: dict[str, StreamRegister], count: int) -> MachineState:
    state = make_state(MACHINE, {"MEM": 4096})
    for i, name in enumerate("xyz"):
        state.set_register(registers[name], 1024 * i, I64)
        state.set_array("MEM", 1024 * i, np.arange(200, dtype="int32") % 7 - 2)
    state.set_register(registers["n"], count, I64)
    return state


@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 101])
@pytest.mark.parametrize("nested", [False, True])
def test_hardware_loops_run_as_often_as_they_are_told(count: int, nested: bool) -> None:
    text = DOT.format(rows="loop outer 3 {\n" if nested else "", end="}\n" if nested else "")
    program = parse_program(Source("dot.sa", text), MACHINE)
    meant = interpret(program, MACHINE, _state({x.name: x.register for x in program.parameters}, count))
    code = pack(program, MACHINE).code
    run = simulate(code, MACHINE, _state({x.name: x.register for x in code.parameters}, count))
    assert run.faults == ()
    assert run.state.array("MEM", 2048, I32, 1).tolist() == meant.array("MEM", 2048, I32, 1).tolist()
    text = print_assembly(code, MACHINE)
    assert "endloop0" in text
    assert ("endloop1" in text) == nested


def test_a_loop_takes_no_slot_for_its_control() -> None:
    program = parse_program(Source("dot.sa", DOT.format(rows="", end="")), MACHINE)
    (loop,) = pack(program, MACHINE).loops
    assert (loop.method, loop.interval, loop.unroll) == ("modulo", 1, 1)


@pytest.mark.parametrize(
    ("offset", "step", "may"),
    [(4092, 0, True), (4096, 0, False), (2, 0, False), (0, 28, True), (0, 32, False), (4, 4, False)],
)
def test_addresses_have_their_reach(offset: int, step: int, may: bool) -> None:
    load = Instr("MEMW", (StreamRegister("R", "a"), MemoryAddress(StreamRegister("R", "p"), offset, step)))
    assert (check_operands(load, MACHINE) == "") == may


def test_immediates_have_their_range() -> None:
    a, b = StreamRegister("R", "a"), StreamRegister("R", "b")
    assert check_operands(Instr("ADDI", (Immediate(32767), a, b)), MACHINE) == ""
    assert "from -32768 to 32767" in check_operands(Instr("ADDI", (Immediate(32768), a, b)), MACHINE)


def test_a_function_keeps_what_its_caller_has_in_registers() -> None:
    names = [f"v{i}" for i in range(20)]
    lines = [f"MEMW R.{x}, *R.p[{4 * i}]" for i, x in enumerate(names)]
    lines += [f"STW *R.q[{4 * i}], R.{x}" for i, x in enumerate(reversed(names))]
    text = "program f on hexagon\nparam p: R.p in MEM\nparam q: R.q in MEM\n" + "\n".join(lines) + "\n"
    code = pack(parse_program(Source("f.sa", text), MACHINE), MACHINE).code
    assert [x.register.name for x in code.parameters] == ["0", "1"]
    made = print_subroutine(code, MACHINE, "f")
    operands = [x for packet in code.packets for y in packet for x in y.instr.operands]
    used = {x.name for x in operands if isinstance(x, StreamRegister)}
    kept = {x for x in used if 16 <= int(x) <= 27}
    assert ("r29 = add(r29,#-" in made) == bool(kept)
    assert made.count("memd(r29") == 2 * len({int(x) // 2 for x in kept})
    assert made.rstrip().endswith("}")
    assert "jumpr r31" in made.splitlines()[-2]


def test_numbers_wider_than_counters_are_refused() -> None:
    text = "kernel k(n; x: i32[n], y: i32[n]) { for i in 0 .. n { y[i] = i32(i64(x[i]) * i64(x[i]) >> 16) } }"
    with pytest.raises(RefusedError, match="64 bits"):
        lower(parse_kernel(text), MACHINE)
    lower(parse_kernel("kernel k(n; y: i32[n]) { for i in 0 .. n { y[i] = i32(i) * i32(i) } }"), MACHINE)


def test_packets_have_no_more_of_vectors_than_pipes() -> None:
    lines = [f"VMPYIH V.p{i}, V.a, V.b" for i in range(3)] + [f"VASLW V.s{i}, V.a, R.k" for i in range(3)]
    lines += [f"VADDW V.t{i}, V.a, V.b" for i in range(9)]
    text = "program f on hexagon\nparam k: R.k\n" + "\n".join(lines) + "\n"
    code = pack(parse_program(Source("f.sa", text), MACHINE), MACHINE).code
    assert check_code(code, MACHINE) == []
    for packet in code.packets:
        names = [x.instr.operation for x in packet]
        assert names.count("VASLW") <= 1
        assert names.count("VMPYIH") <= 1  # which takes both multipliers, and two pipes
        assert len(names) + names.count("VMPYIH") <= 4


@pytest.mark.parametrize("name", [x.name for x in MACHINE.operations if x.sequence])
def test_sequences_do_what_their_definitions_say(name: str) -> None:
    names = operand_names(MACHINE.operation(name).definition)
    files = {x.name: x.memory for x in MACHINE.operation(name).definition.arrays}
    registers = {x: StreamRegister(files[x], str(20 + i)) for i, x in enumerate(names)}
    whole = (Instr(name, tuple(registers[x] for x in names)),)
    draw = np.random.default_rng(3)
    made = []
    for body in (whole, spelt_out(whole, MACHINE)):
        state, draw = make_state(MACHINE), np.random.default_rng(3)
        for register in registers.values():
            if register.file == "V":
                state.registers[register] = draw.integers(0, 256, 128, dtype="uint8").tobytes()
        after = interpret(StreamProgram("s", (), body), MACHINE, state)
        made.append(after.read(registers["d"]))
    assert made[0] == made[1]


def test_no_jump_is_beside_what_begins_a_loop() -> None:
    # Where the loop is far its place takes a second word; llvm-mc 19 crashes where a jump in that packet may grow, too.
    parts = MACHINE.parts()
    jumps = {y.name for x in MACHINE.operation("JUMP").units for y in parts[x]}
    for name in ("LOOP", "LOOPI"):
        for unit in MACHINE.operation(name).units:
            assert jumps <= {x.name for x in parts[unit]}
