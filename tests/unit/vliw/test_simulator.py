"""The sequential meaning of programs, and packets cycle by cycle: what is read when, and each fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planish.core.diagnostic import PlanishError
from planish.ir.types import F32, I32, I64
from planish.vliw.description import load_machine
from planish.vliw.machine import VliwMachine
from planish.vliw.program import (
    Guard,
    Immediate,
    Instr,
    Issue,
    Label,
    Loop,
    MemoryAddress,
    Packet,
    PacketCode,
    StreamProgram,
    StreamRegister,
)
from planish.vliw.simulator.cycles import SimulatedRun, simulate
from planish.vliw.simulator.execution import MachineFault
from planish.vliw.simulator.interpreter import interpret
from planish.vliw.simulator.state import MachineState, make_state

NARROW = load_machine(str(Path(__file__).with_name("narrow.toml")))
MATRIX = load_machine("ftmatrix")


def p(n: int) -> StreamRegister:
    return StreamRegister("P", str(n))


def x(n: int) -> StreamRegister:
    return StreamRegister("X", str(n))


def on(unit: str, operation: str, *operands: object, guard: Guard | None = None) -> Issue:
    return Issue(Instr(operation, tuple(operands), guard), unit)  # type: ignore[arg-type]


def run(
    *packets: Packet, state: MachineState | None = None, machine: VliwMachine = NARROW, **labels: int
) -> SimulatedRun:
    return simulate(PacketCode("c", packets, labels, ()), machine, state or make_state(machine))


def kinds(result: SimulatedRun) -> list[str]:
    return [fault.kind for fault in result.faults]


def test_the_old_value_is_read_until_the_latency_is_over() -> None:
    state = make_state(NARROW)
    state.set_register(p(1), 7, I64)
    add = on("LEFT", "ADDP", p(1), p(1), p(1))
    copies = [(on("RIGHT", "COPYP", p(n), p(1)),) for n in (2, 3, 4)]
    result = run((add,), *copies, state=state)
    assert [result.state.register(p(n), I64) for n in (1, 2, 3, 4)] == [14, 7, 14, 14]
    assert (result.cycles, result.counts) == (4, (1, 1, 1, 1))


def test_all_of_a_packet_read_before_any_writes() -> None:
    state = make_state(NARROW)
    state.set_register(p(1), 1, I64)
    state.set_register(p(2), 2, I64)
    result = run((on("LEFT", "COPYP", p(1), p(2)), on("RIGHT", "COPYP", p(2), p(1))), state=state)
    assert [result.state.register(p(n), I64) for n in (1, 2)] == [2, 1]


def test_a_jump_has_delay_slots_and_ends_late() -> None:
    one = [(on("RIGHT", "ADDK", Immediate(1), p(n), p(n)),) for n in range(6)]
    go = (on("LEFT", "GO", Label("over")), on("RIGHT", "ADDK", Immediate(1), p(9), p(9)))
    result = run(go, *one, over=4)
    assert [result.state.register(p(n), I64) for n in (0, 1, 2, 3, 4, 5, 9)] == [1, 1, 0, 1, 1, 1, 1]
    assert result.counts == (1, 1, 1, 0, 1, 1, 1)


def test_a_loop_of_packets_counts_down() -> None:
    state = make_state(NARROW)
    state.set_register(p(1), 3, I64)
    body = (
        (on("RIGHT", "ADDK", Immediate(-1), p(1), p(1)),),
        (on("LEFT", "GO", Label("top"), guard=Guard(p(1))),),
        (on("RIGHT", "ADDK", Immediate(5), p(2), p(2)),),
        (),
    )
    result = run(*body, state=state, top=0)
    assert result.faults == ()
    assert (result.state.register(p(1), I64), result.state.register(p(2), I64), result.cycles) == (0, 15, 12)


def test_loads_read_at_once_and_stores_are_late() -> None:
    state = make_state(NARROW, {"RAM": 64})
    state.set_array("RAM", 0, np.array([5], "int64"))
    state.set_register(p(1), 9, I64)
    at = MemoryAddress(p(0))
    result = run((on("RIGHT", "STP", at, p(1)),), (on("RIGHT", "LDP", p(2), at),), (on("RIGHT", "LDP", p(3), at),),
                 state=state)  # fmt: skip
    assert [result.state.register(p(n), I64) for n in (2, 3)] == [5, 9]
    assert result.cycles == 7


def test_an_address_moves_on_after_the_access() -> None:
    state = make_state(NARROW, {"RAM": 64})
    state.set_array("RAM", 8, np.array([1, 2, 3], "int64"))
    moving = MemoryAddress(p(0), 8, 8)
    loads = [(on("RIGHT", "LDP", p(n), moving),) for n in (1, 2, 3)]
    late = [*loads[:1], (), (), *loads[1:2]]
    result = run(*late, state=state)
    assert [result.state.register(p(n), I64) for n in (0, 1, 2)] == [16, 1, 2]
    early = run(*loads[:2], state=state)
    assert [early.state.register(p(n), I64) for n in (1, 2)] == [1, 1]


def test_guards_look_at_the_whole_register() -> None:
    state = make_state(NARROW)
    state.set_register(p(1), 1 << 40, I64)
    set_ = [on("LEFT", "SETK", Immediate(1), p(2), guard=Guard(p(1))),
            on("RIGHT", "SETK", Immediate(1), p(3), guard=Guard(p(1), negated=True))]  # fmt: skip
    result = run(tuple(set_), state=state)
    assert [result.state.register(p(n), I64) for n in (2, 3)] == [1, 0]


def test_exclusive_guards_may_write_one_register_in_one_cycle() -> None:
    both = tuple(
        on(unit, "SETK", Immediate(k), p(2), guard=Guard(p(1), negated))
        for unit, k, negated in (("LEFT", 1, False), ("RIGHT", 2, True))
    )
    result = run(both)
    assert (kinds(result), result.state.register(p(2), I64)) == ([], 2)


ONE, NIL = Immediate(1), Immediate(0.0)

FAULTS = {
    "one unit twice": ([(on("LEFT", "COPYP", p(1), p(2)), on("LEFT", "COPYP", p(3), p(2)))], "unit", 0),
    "the wrong unit": ([(on("RIGHT", "FADD", p(1), p(2), p(3)),)], "unit", 0),
    "no unit": ([(on("UP", "FADD", p(1), p(2), p(3)),)], "unit", 0),
    "kept": ([(on("LEFT", "MULX", x(1), x(2), x(3)),), (on("LEFT", "COPYP", p(1), p(2)),)], "busy", 1),
    "written twice": ([(on("LEFT", "ADDP", p(1), p(2), p(3)),), (on("RIGHT", "SETK", ONE, p(1)),)], "writes", 1),
    "read ports": ([(on("LEFT", "MAD", x(1), x(2), x(3)), on("RIGHT", "PUT", MemoryAddress(p(1)), x(4)))], "ports", 0),
    "write ports": ([(on("LEFT", "ZERO", NIL, x(1)), on("RIGHT", "ZERO", NIL, x(2)))], "ports", 0),
    "no register": ([(on("LEFT", "COPYP", p(10), p(2)),)], "operands", 0),
    "a virtual register": ([(on("LEFT", "COPYP", p(1), StreamRegister("P", "a")),)], "operands", 0),
    "no operation": ([(on("LEFT", "NOTHING"),)], "operands", 0),
    "no label": ([(on("LEFT", "GO", Label("nowhere")),)], "label", 0),
    "a guard of another file": ([(on("LEFT", "COPYP", p(1), p(2), guard=Guard(x(1))),)], "operands", 0),
    "outside": ([(), (on("RIGHT", "LDP", p(1), MemoryAddress(p(0), 8192)),)], "outside", 1),
    "below": ([(on("RIGHT", "LDP", p(1), MemoryAddress(p(0), -8)),)], "outside", 0),
    "unaligned": ([(on("RIGHT", "GET", x(1), MemoryAddress(p(0), 8)),)], "unaligned", 0),
    "the end": ([(on("LEFT", "GO", Label("top")),)], "end", 0),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_what_a_machine_does_not_do(case: str) -> None:
    packets, kind, packet = FAULTS[case]
    result = run(*packets, top=0)
    assert kinds(result)[:1] == [kind], [str(y) for y in result.faults]
    assert result.faults[0].packet == packet


def test_two_jumps_that_arrive_together_and_code_without_an_end() -> None:
    jumps = simulate(PacketCode("c", ((on("SBR", "SBR", Label("top")),),), {"top": 0}, ()), MATRIX, make_state(MATRIX))
    assert kinds(jumps) == ["end"]
    endless = simulate(
        PacketCode("c", ((on("LEFT", "GO", Label("top")),), (), ()), {"top": 0}, ()),
        NARROW,
        make_state(NARROW),
        most=50,
    )
    assert kinds(endless) == ["endless"]


def test_slots_of_a_side() -> None:
    few = replace(NARROW, sides={"one": 1})
    packet = (on("LEFT", "COPYP", p(1), p(2)), on("RIGHT", "COPYP", p(3), p(2)))
    assert kinds(run(packet, machine=few)) == ["slots"]


def test_one_value_is_extended_to_its_register() -> None:
    state = make_state(MATRIX, fill=0xA5)
    a, b, c = (StreamRegister("S", str(n)) for n in range(3))
    state.set_register(a, -3, I64)
    program = StreamProgram("p", (), (Instr("SADDI", (Immediate(1), b, a)), Instr("SMOVIF", (Immediate(-1.5), c))))
    after = interpret(program, MATRIX, state)
    assert (after.register(b, I64), after.register(c, I64) >> 32, after.register(c, F32)) == (-2, 0, -1.5)
    assert state.registers.keys() == {a}


def test_undefined_operations_have_values() -> None:
    s = [StreamRegister("S", str(n)) for n in range(6)]
    state = make_state(MATRIX)
    state.set_register(s[0], -(1 << 31), I32)
    state.set_register(s[1], -1, I32)
    state.set_register(s[2], float("nan"), F32)
    body = (Instr("SDIV", (s[3], s[0], s[1])), Instr("SDIV", (s[4], s[0], s[5])), Instr("SFTRUS32", (s[5], s[2])))
    after = interpret(StreamProgram("p", (), body), MATRIX, state)
    assert [after.register(x, I32) for x in s[3:]] == [-(1 << 31), 0, -(1 << 31)]


def test_loops_count_what_is_in_a_register_on_entry() -> None:
    n, k = StreamRegister("P", "n"), StreamRegister("P", "k")
    inner = Loop("inner", n, (Instr("ADDK", (Immediate(1), k, k)),))
    change = Instr("ADDK", (Immediate(5), n, n))
    for count, expected in ((3, 6), (0, 0), (-2, -4)):
        state = make_state(NARROW)
        state.set_register(n, count, I64)
        after = interpret(StreamProgram("p", (), (Loop("outer", 2, (inner,)), Loop("o", 1, (change,)))), NARROW, state)
        assert after.register(k, I64) == max(expected, 0)


def test_what_a_program_may_not_hold() -> None:
    a, b = StreamRegister("X", "a"), StreamRegister("P", "b")
    for instr in (
        Instr("ADDX", (a, a)), Instr("ADDX", (a, a, b)), Instr("GET", (a, MemoryAddress(a))), Instr("GET", (a, b)),
        Instr("SETK", (b, b)), Instr("GO", (Label("l"),)), Instr("LDP", (b, MemoryAddress(b, 0, 8))), Instr("NO", ()),
        Instr("COPYP", (b, b), Guard(a)),
    ):  # fmt: skip
        with pytest.raises(PlanishError) as caught:
            interpret(StreamProgram("p", (), (instr,)), NARROW, make_state(NARROW))
        assert caught.value.diagnostic.code == "E0720"


def test_an_access_out_of_its_memory_stops_a_program() -> None:
    with pytest.raises(MachineFault, match="not in the 64 bytes of RAM"):
        load = Instr("GET", (StreamRegister("X", "a"), MemoryAddress(StreamRegister("P", "b"), 64)))
        interpret(StreamProgram("p", (), (load,)), NARROW, make_state(NARROW, {"RAM": 64}))


def test_lanes_past_the_end_by_an_immediate() -> None:
    get = Instr("VGET", (Immediate(32), StreamRegister("S", "1"), StreamRegister("V", "1")))
    with pytest.raises(MachineFault, match="subscript 1 is 32"):
        interpret(StreamProgram("p", (), (get,)), MATRIX, make_state(MATRIX))
