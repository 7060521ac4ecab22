"""Random loops on random machines, pipelined: the packets do what the stream does, and nothing that is not possible."""

from __future__ import annotations

from random import Random

import pytest
from tests.unit.vliw.judge import run_code, run_program
from tests.unit.vliw.random_loops import Maker, random_machine

from planish.vliw.pack import pack
from planish.vliw.pack.passes import issued

COUNTS = (0, 1, 2, 3, 5, 8, 12, 17, 30)


@pytest.mark.parametrize("seed", [*range(47), 127, 919, 20167, 100092])
def test_packets_equal_the_stream(seed: int) -> None:
    random = Random(seed)
    machine = random_machine(random)
    program, values = Maker(random, machine).program(random.randrange(2, 26), COUNTS)
    wanted = run_program(program, machine, values)
    packed = pack(program, machine)
    state, cycles = run_code(packed.code, machine, values)
    assert state.cells == wanted.cells
    assert issued(len(packed.code.packets), packed.passes, lambda _: values["n"]) == cycles


@pytest.mark.parametrize("seed", range(40))
def test_values_that_loops_carry(seed: int) -> None:
    random = Random(seed)
    machine = random_machine(random)
    program, values = Maker(random, machine).program(random.randrange(2, 9), COUNTS, carrying=True)
    wanted = run_program(program, machine, values)
    packed = pack(program, machine)
    state, cycles = run_code(packed.code, machine, values)
    assert state.cells == wanted.cells
    assert issued(len(packed.code.packets), packed.passes, lambda _: values["n"]) == cycles
