"""Block transfers: what they move, how long everything waits for them, and what may not be touched meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.types import I64
from planish.vliw.description import parse_machine
from planish.vliw.program import PacketCode, StreamProgram, StreamRegister
from planish.vliw.simulator.cycles import SimulatedRun, simulate
from planish.vliw.simulator.execution import MachineFault
from planish.vliw.simulator.interpreter import interpret
from planish.vliw.simulator.state import MachineState, make_state
from planish.vliw.text import parse_code, parse_program

HERE = Path(__file__).parent
TOML = (HERE / "narrow.toml").read_text() + (HERE / "transfers.toml").read_text()
MACHINE = parse_machine(Source("moving.toml", TOML))


def state(rows: int = 2) -> MachineState:
    made = make_state(MACHINE)
    made.memories["FAR"][:256] = bytes(range(256))
    for register, value in ((1, 64), (2, 16), (3, rows), (4, 16), (5, 32)):
        made.set_register(StreamRegister("P", str(register)), value, I64)
    return made


def run(text: str, rows: int = 2) -> SimulatedRun:
    code = parse_code(Source("t.sa", f"code t\n{text}"), MACHINE)
    return simulate(code, MACHINE, state(rows))


START = "LEFT: BRING #0, *P.0[0], *P.1[0], P.2, P.3, P.4, P.5\n"
TAKE = "LEFT: TAKE #0, *P.1[0], *P.0[0], P.2, P.3, P.4, P.5\n"


def test_rows_are_moved_and_waited_for() -> None:
    done = run(START + "RIGHT: WAIT #0\nRIGHT: LDP P.6, *P.0[16]\n" + "-\n" * 4)
    assert done.faults == ()
    assert bytes(done.state.memories["RAM"][:32]) == bytes([*range(64, 80), *range(96, 112)])
    # 10 cycles and 32 bytes at 4 a cycle from cycle 0 on; the wait is in cycle 1, its successor reads in cycle 19.
    assert (done.stalled, done.cycles) == (17, 2 + 17 + 5)
    assert done.state.read(StreamRegister("P", "6")) == bytes(range(96, 104))


def test_transfers_on_two_channels_follow_one_another() -> None:
    other = START.replace("#0", "#1").replace("*P.0[0]", "*P.0[64]")
    done = run(START + other + "RIGHT: WAIT #1\nRIGHT: COPYP P.6, P.1")
    # The first one moves 32 bytes in 8 cycles from cycle 10 on, the second one from cycle 18 on, till cycle 26.
    assert (done.faults, done.stalled) == ((), 24)


def test_what_is_under_way_stands_still_while_everything_waits() -> None:
    done = run(START + "LEFT: ADDP P.7, P.2, P.2 | RIGHT: WAIT #0\nRIGHT: COPYP P.8, P.7\nRIGHT: COPYP P.9, P.7\n-")
    assert [done.state.register(StreamRegister("P", x), I64) for x in "89"] == [0, 32]


def test_no_rows_take_the_start_alone() -> None:
    done = run(START + "RIGHT: WAIT #0", rows=0)
    assert (done.faults, done.stalled) == ((), 9)
    assert not any(done.state.memories["RAM"][:64])


FAULTS = {
    "a load of what comes": (START + "RIGHT: LDP P.6, *P.0[8]", "moved"),
    "a store to what comes": (START + "RIGHT: STP *P.0[8], P.1\n-\n-", "moved"),
    "a store to what goes": (TAKE + "RIGHT: STP *P.0[40], P.1\n-\n-", "moved"),
    "a store that lands late": ("RIGHT: STP *P.0[0], P.1\n" + START + "-", "moved"),
    "two on a channel": (START + START, "channel"),
    "no channel": (START.replace("#0", "#2"), "channel"),
    "a wait for none": ("RIGHT: WAIT #7", "channel"),
    "into each other": (START + START.replace("#0", "#1"), "moved"),
    "past the end": (START.replace("*P.0[0]", "*P.0[8180]"), "outside"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_what_may_not_be(case: str) -> None:
    text, kind = FAULTS[case]
    assert [x.kind for x in run(text).faults][:1] == [kind]


def test_what_may_be() -> None:
    beside = START + "RIGHT: LDP P.6, *P.0[32]\nRIGHT: STP *P.0[40], P.1\n-\n-\n-\n-"
    between = START.replace("P.4, P.5", "P.5, P.5") + "RIGHT: LDP P.6, *P.0[16]\nRIGHT: STP *P.0[24], P.1\n-\n-\n-\n-"
    together = START.strip() + " | RIGHT: LDP P.6, *P.0[0]\n-\n-\n-\n-"
    going = TAKE + "RIGHT: LDP P.6, *P.0[0]\n-\n-\n-\n-\n-"
    for text in (beside, between, together, going, START + "RIGHT: WAIT #0\n" + START + "RIGHT: WAIT #0\n-"):
        assert run(text).faults == (), text


def test_a_program_moves_at_once() -> None:
    text = "program t\nBRING #0, *P.0, *P.1, P.2, P.3, P.4, P.5\nWAIT #0\nLDP P.6, *P.0[16]"
    program: StreamProgram = parse_program(Source("t.sa", text), MACHINE)
    after = interpret(program, MACHINE, state())
    assert after.read(StreamRegister("P", "6")) == bytes(range(96, 104))
    with pytest.raises(MachineFault, match="rows of 16 bytes"):
        interpret(parse_program(Source("t.sa", text.replace("*P.0,", "*P.0[8190],")), MACHINE), MACHINE, state())
    with pytest.raises(PlanishError, match="moves no address on"):
        parse_program(Source("t.sa", text.replace("*P.0,", "*P.0[0]++8,")), MACHINE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('transfer = "wait"', 'transfer = "stop"', '"start" or "wait", not \'stop\''),
        ('from = "FAR"', 'from = "AWAY"', "there is no 'AWAY'"),
        ('counts = "P"', 'counts = "Q"', "there is no 'Q'"),
        ("[transfers]\nchannels = 2\nstartup = 10\nbytes_per_cycle = 4\n", "", "no section [transfers]"),
    ],
)
def test_what_is_wrong_in_a_description(old: str, new: str, message: str) -> None:
    assert old in TOML
    with pytest.raises(PlanishError) as caught:
        parse_machine(Source("m.toml", TOML.replace(old, new, 1)))
    assert message in str(caught.value)


def test_an_empty_code_has_no_cycles() -> None:
    assert simulate(PacketCode("c", (), {}, ()), MACHINE, state()).cycles == 0
