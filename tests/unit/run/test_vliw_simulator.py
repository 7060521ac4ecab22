"""The simulator in C: the same as the one in Python, on packets and machines that nobody wrote."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from bench.sweeps.vliw_packets import differences, random_code, random_machine, random_state
from planish.core.cache import Cache
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F32, I64
from planish.run.toolchains.toolchain import find_compilers
from planish.run.vliw.operations_text import stays_inside
from planish.run.vliw.programs import run_code
from planish.run.vliw.simulator import simulate_fast, simulator_for
from planish.vliw.description import load_machine
from planish.vliw.program import Guard, Immediate, Instr, Issue, Label, MemoryAddress, PacketCode, StreamRegister
from planish.vliw.simulator.cycles import simulate
from planish.vliw.simulator.state import make_state

pytestmark = pytest.mark.skipif(not find_compilers(), reason="no C compiler here")


@pytest.mark.parametrize("seed", range(8))
def test_both_say_the_same_of_random_packets(seed: int) -> None:
    machine = random_machine(seed)
    for number in range(15):
        assert differences(machine, random_code(machine, 100 * seed + number), number) == "", (seed, number)


def test_random_code_runs_and_has_faults() -> None:
    machines = [random_machine(x) for x in range(8)]
    runs = [simulate_fast(random_code(m, x), m, random_state(m, x), 300) for m in machines for x in range(8)]
    assert sum(x.faults == () for x in runs) > 8
    assert len({y.kind for x in runs for y in x.faults}) > 2
    assert any(x.stalled for x in runs)


def test_ft_matrix_operations_do_the_same_in_both() -> None:
    machine = load_machine("ftmatrix")
    numbers = np.random.default_rng(1)
    state = make_state(machine, {"AM": 4096, "SM": 4096})
    for file in machine.files:
        for number in range(min(8, file.count)):
            values = numbers.integers(-9, 40, file.bits // 32).astype("int32" if number % 2 else "float32")
            state.registers[StreamRegister(file.name, str(number))] = values.tobytes()
    for number in range(8):
        state.set_register(StreamRegister("AR", str(number)), 128 * number, I64)
        state.set_register(StreamRegister("OR", str(number)), 128, I64)
    state.memories["AM"][:] = numbers.integers(-9, 9, 1024).astype("float32").tobytes()
    for operation in machine.operations:
        if operation.branch or operation.transfer:
            continue
        definition = operation.definition
        operands = [Immediate(3)] * (len(definition.sizes) + len(definition.scalars))
        at = MemoryAddress(StreamRegister("AR", "1"), 128)
        places = [at if x.memory in ("AM", "SM") else StreamRegister(x.memory, str(i + 1))
                  for i, x in enumerate(definition.arrays)]  # fmt: skip
        issue = Issue(Instr(operation.name, (*operands, *places)), operation.units[0])
        code = PacketCode("one", ((issue,),), {}, ())
        slow, fast = simulate(code, machine, state), simulate_fast(code, machine, state)
        assert (slow.faults, fast.faults, slow.cycles) == ((), (), fast.cycles), operation.name
        assert slow.state.registers == fast.state.registers, operation.name
        assert slow.state.memories == fast.state.memories, operation.name


def test_what_leads_out_of_an_operand_is_left_to_python() -> None:
    machine = load_machine("ftmatrix")
    get = Issue(Instr("VGET", (Immediate(32), StreamRegister("S", "1"), StreamRegister("V", "1"))), "VIEU")
    run = simulate_fast(PacketCode("c", ((get,),), {}, ()), machine, make_state(machine))
    assert [x.kind for x in run.faults] == ["lanes"]


def test_a_simulator_is_made_once(tmp_path: Path) -> None:
    machine, cache = random_machine(1), Cache(tmp_path)
    simulator_for(machine, cache=cache)
    entries = cache.info().entries
    simulator_for(machine, cache=cache)
    assert cache.info().entries == entries


LANES = "for l in 0 .. 4 "


@pytest.mark.parametrize(
    ("body", "inside"),
    [
        (LANES + "{ d[l] = a[3 - l] }", True),
        (LANES + "{ d[l] = a[l + 1] }", False),
        (LANES + "{ d[l] = select(l < 3, a[l + 1], 0.0:f32) }", True),
        (LANES + "{ if l > 0 { d[l] = a[l - 1] } else { d[l] = a[l] } }", True),
        (LANES + "{ d[l] = a[i64(p[l])] }", False),
        (LANES + "{ d[l] = a[i64(p[l] & 3:i32)] }", True),
        ("alloc t: f32[2] stack t[0] = a[0] t[2] = a[1] d[0] = t[0]", False),
    ],
)
def test_accesses_are_proven_to_stay_inside(body: str, inside: bool) -> None:
    operands = "d: f32[4] @V, a: f32[4] @V, p: i32[4] @V"
    assert stays_inside(parse_kernel(f"kernel k({operands}) {{ {body} }}"), {}) is inside


def test_a_long_loop_of_vectors() -> None:
    machine = load_machine("ftmatrix")
    count, base, total = StreamRegister("S", "1"), StreamRegister("AR", "1"), StreamRegister("V", "1")
    state = make_state(machine, {"AM": 1 << 20})
    state.set_array("AM", 0, np.ones(32 * 1000, "float32"))
    state.set_register(count, 1000, I64)
    body: list[tuple[Issue, ...]] = [()] * 15
    body[0] = (Issue(Instr("VLDW", (StreamRegister("V", "2"), MemoryAddress(base, 0, 128))), "VLDST1"),)
    body[1] = (Issue(Instr("SADDID", (Immediate(-1), count, count)), "SIEU"),)
    body[9] = (Issue(Instr("VFADDS32", (total, total, StreamRegister("V", "2"))), "VMAC1"),)
    body[8] = (Issue(Instr("SBR", (Label("top"),), Guard(count)), "SBR"),)
    run = simulate_fast(PacketCode("sum", tuple(body), {"top": 0}, ()), machine, state)
    values = np.frombuffer(run.state.read(total), F32.numpy)
    assert (run.faults, run.cycles, values.tolist()) == ((), 15000, [1000.0] * 32)


def test_a_crash_of_the_simulator_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine("ftmatrix")
    code = PacketCode("c", (), {}, ())
    assert run_code(code, machine, make_state(machine), 9).faults == ()
    monkeypatch.setattr("planish.run.vliw.simulator._call", lambda *_: os._exit(9))
    with pytest.raises(RuntimeError, match="ends with"):
        run_code(code, machine, make_state(machine), 9)
