"""The published hand-scheduled SGEMM loop of FT-Matrix: 81 operations, 48 of them multiply-adds, in 16 packets."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.types import F32, I64
from planish.vliw.description import load_machine
from planish.vliw.pack import pack
from planish.vliw.program import (
    AccessPlace,
    Immediate,
    Instr,
    Loop,
    MemoryAddress,
    StreamParameter,
    StreamProgram,
    StreamRegister,
)
from planish.vliw.simulator.cycles import simulate
from planish.vliw.simulator.interpreter import interpret
from planish.vliw.simulator.state import make_state

ROWS, VECTORS, DEPTH, LANES, LENGTH = 6, 4, 2, 32, 24


def sgemm(count: int | StreamRegister) -> StreamProgram:
    """C[6, 128] += A[6, 2 * count] * B[2 * count, 128]: 24 accumulators, each updated twice in an iteration."""
    a, b, c = (StreamRegister("AR", x) for x in "abc")
    body: list[Instr] = []
    for k in range(DEPTH):
        for j in range(VECTORS):
            at = (k * VECTORS + j) * 4 * LANES
            step = DEPTH * VECTORS * 4 * LANES
            last = k == DEPTH - 1 and j == VECTORS - 1
            place = AccessPlace("B", "b", at, step, 4 * LANES)
            body.append(Instr("VLDW", (v(f"b{k}{j}"), MemoryAddress(b, at, step if last else 0)), place=place))
        for i in range(ROWS):
            at, s = 4 * (i * LENGTH + k), StreamRegister("S", f"s{k}{i}")
            body.append(Instr("SLDW", (s, MemoryAddress(a, at)), place=AccessPlace("A", "a", at, 4 * DEPTH, 4)))
            body.append(Instr("SVBCAST", (v(f"a{k}{i}"), s)))
    for k in range(DEPTH):
        for i in range(ROWS):
            for j in range(VECTORS):
                body.append(Instr("VFMULAS32", (v(f"c{i}{j}"), v(f"a{k}{i}"), v(f"b{k}{j}"), v(f"c{i}{j}"))))
    body.append(Instr("SADDAI", (Immediate(4 * DEPTH), a, a)))
    cells = [(f"c{i}{j}", (i * VECTORS + j) * 4 * LANES) for i in range(ROWS) for j in range(VECTORS)]
    before = [Instr("VLDW", (v(x), MemoryAddress(c, at))) for x, at in cells]
    after = [Instr("VSTW", (MemoryAddress(c, at), v(x))) for x, at in cells]
    parameters = (StreamParameter("a", a, "SM"), StreamParameter("b", b, "AM"), StreamParameter("c", c, "AM"))
    body_of_loop = Loop("k", count, tuple(body))
    return StreamProgram(
        "sgemm", (*parameters, StreamParameter("n", StreamRegister("S", "n"))), (*before, body_of_loop, *after)
    )


def v(name: str) -> StreamRegister:
    return StreamRegister("V", name)


def test_the_loop_is_found_at_its_least_interval() -> None:
    (loop,) = pack(sgemm(48), load_machine("ftmatrix")).loops
    assert (loop.operations, loop.interval, loop.resources.interval, loop.recurrences.interval) == (81, 16, 16, 12)
    assert loop.method == "modulo" and loop.unroll == 1


def test_every_multiplier_is_busy_in_every_packet_of_the_kernel() -> None:
    packed = pack(sgemm(48), load_machine("ftmatrix")).code
    start = packed.labels["k_kernel"]
    for packet in packed.packets[start : start + 16]:
        assert sum(x.instr.operation == "VFMULAS32" for x in packet) == 3
    ends = [x.instr.operation for packet in packed.packets[start : start + 16] for x in packet]
    assert len(ends) == 83, "81 operations, the counter and the jump"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 12])
@pytest.mark.parametrize("known", [True, False])
def test_the_result_is_that_of_the_stream(count: int, known: bool) -> None:
    machine = load_machine("ftmatrix")
    program = sgemm(count if known else StreamRegister("S", "n"))
    packed = pack(program, machine)
    random = np.random.default_rng(count)
    values = {"a": 1024, "b": 65536, "c": 0, "n": count}

    def state(parameters: tuple[StreamParameter, ...]) -> object:
        made = make_state(machine)
        made.set_array("SM", 1024, random.integers(-4, 5, ROWS * LENGTH).astype("float32"))
        made.set_array("AM", 0, random.integers(-4, 5, ROWS * VECTORS * LANES).astype("float32"))
        made.set_array("AM", 65536, random.integers(-4, 5, LENGTH * VECTORS * LANES).astype("float32"))
        for x in parameters:
            made.set_register(x.register, values[x.name], I64)
        return made

    start = state(program.parameters)
    wanted = interpret(program, machine, start)
    for x in packed.code.parameters:
        start.set_register(x.register, values[x.name], I64)
    run = simulate(packed.code, machine, start)
    assert run.faults == ()
    size = ROWS * VECTORS * LANES
    assert run.state.array("AM", 0, F32, size).tolist() == wanted.array("AM", 0, F32, size).tolist()
    if count == 12 and known:
        assert run.cycles < 16 * 12 + 100
