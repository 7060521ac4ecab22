"""The text of programs and packets: what is read is printed, and what is wrong is told at its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.types import F32, I64
from planish.vliw.description import load_machine
from planish.vliw.program import (
    AccessPlace,
    Guard,
    Immediate,
    Instr,
    Issue,
    Item,
    Label,
    Loop,
    MemoryAddress,
    PacketCode,
    StreamParameter,
    StreamProgram,
    StreamRegister,
)
from planish.vliw.text import is_code, machine_of, parse_code, parse_program, print_code, print_program

NARROW = load_machine(str(Path(__file__).with_name("narrow.toml")))

TEXT = """program dot on narrow
param a: P.a in RAM f32[16]
param n: P.n i64 = 4
param m: P.m

SETF #0.0, P.sum
ZERO #-1.5e-07, X.`odd name`
loop rows P.n at_least 1 multiple 4 {
  LDF P.x, *P.a[-4]++P.n @a.rows[0:4 +4]
  [!P.3] FADD P.sum, P.sum, P.x
  loop inner 3 {
    [P.x] PUT *P.a[P.n], X.y @a.`i + 1`[16:32 -16]
  }
}
"""


def places(items: tuple[Item, ...]) -> list[AccessPlace | None]:
    return [y for x in items for y in (places(x.body) if isinstance(x, Loop) else [x.place])]


def test_what_is_read_is_printed() -> None:
    text = TEXT.replace("SETF #0.0, P.sum", "SETF #0.0, P.sum  ; a remark").replace("#0.0, P.sum", "#0.0, P.sum", 1)
    program = parse_program(Source("dot.sa", text), NARROW)
    assert print_program(program, NARROW) == TEXT
    assert program.parameters == (
        StreamParameter("a", StreamRegister("P", "a"), "RAM", F32, 16),
        StreamParameter("n", StreamRegister("P", "n"), "", I64, 0, 4),
        StreamParameter("m", StreamRegister("P", "m")),
    )  # fmt: skip
    loop = program.body[2]
    assert isinstance(loop, Loop) and (loop.at_least, loop.multiple, loop.is_innermost) == (1, 4, False)
    assert places((loop,)) == [AccessPlace("a", "rows", 0, 4, 4), None, AccessPlace("a", "i + 1", 16, -16, 16)]
    assert loop.body[1].span is not None and loop.body[1].span.line == 10
    assert (machine_of(Source("", TEXT)), is_code(Source("", TEXT))) == ("narrow", False)


def test_packets_are_printed_and_read() -> None:
    go = Instr("GO", (Label("top"),), Guard(StreamRegister("P", "1"), negated=True))
    add = Instr("ADDP", (StreamRegister("P", "1"), StreamRegister("P", "2"), StreamRegister("P", "3")))
    code = PacketCode(
        "c", ((Issue(add, "RIGHT"), Issue(go, "LEFT")), (), (Issue(add, "LEFT"),)), {"top": 0, "end": 3}, ()
    )
    text = print_code(code, NARROW)
    assert text.splitlines()[2:] == [
        "top:", "  RIGHT: ADDP P.1, P.2, P.3 | LEFT: [!P.1] GO @top", "  -", "  LEFT: ADDP P.1, P.2, P.3", "end:"
    ]  # fmt: skip
    assert parse_code(Source("c.sa", text), NARROW) == code
    assert is_code(Source("c.sa", text))


names = st.one_of(st.from_regex(r"[a-z_][a-z0-9_]{0,3}", fullmatch=True), st.text("ab +.-'", min_size=1, max_size=4))
registers = st.builds(lambda n: StreamRegister("P", n), names)
vectors = st.builds(lambda n: StreamRegister("X", n), names)
amounts = st.one_of(st.integers(-999, 999), registers)
addresses = st.builds(MemoryAddress, registers, amounts, amounts)
place = st.builds(AccessPlace, names, names, st.integers(-9, 99), st.integers(-9, 9), st.integers(1, 64))
guards = st.none() | st.builds(Guard, registers, st.booleans())
numbers = st.floats(width=32, allow_nan=False).map(float)
instrs = st.one_of(
    st.builds(lambda d, a, g: Instr("ADDX", (d, a, a), g), vectors, vectors, guards),
    st.builds(lambda k, d, g: Instr("ZERO", (Immediate(k), d), g), numbers, vectors, guards),
    st.builds(lambda k, d: Instr("ADDK", (Immediate(k), d, d)), st.integers(-(2**63), 2**63 - 1), registers),
    st.builds(lambda d, m, g, p: Instr("GET", (d, m), g, p), vectors, addresses, guards, st.none() | place),
)
items = st.recursive(
    instrs,
    lambda x: st.builds(
        lambda name, count, body, least, multiple: Loop(name, count, tuple(body), least, multiple),
        names, st.integers(0, 9) | registers, st.lists(x, min_size=1, max_size=3), st.integers(0, 3), st.integers(1, 3),
    ),
    max_leaves=8,
)  # fmt: skip


def test_infinities_and_what_is_no_number() -> None:
    text = "program p\n\nZERO #inf, X.a\nZERO #-inf, X.a\nZERO #nan, X.a\n"
    assert print_program(parse_program(Source("a.sa", text), NARROW)) == text


@settings(max_examples=60, deadline=None)
@given(names, st.lists(items, max_size=5))
def test_any_program_round_trips(name: str, body: list[Item]) -> None:
    program = StreamProgram(name, (StreamParameter("a", StreamRegister("P", "1"), "RAM"),), tuple(body))
    read = parse_program(Source("a.sa", print_program(program)), NARROW)
    assert read == program
    assert places(read.body) == places(program.body)


WRONG = {
    "no head": ("SETK #1, P.a", "E0721", "expected `program NAME on MACHINE`", "SETK"),
    "no name": ("program", "E0721", "expected a name, found the end of the line", ""),
    "a strange character": ("program p\nSETK #1, P.a $", "E0721", "unexpected character '$'", "$"),
    "no operation": ("program p\nSETX #1, P.a", "E0720", "has no operation SETX; did you mean SETK?", "SETX #1, P.a"),
    "no file": ("program p\nSETK #1, Q.a", "E0721", "narrow has no register file Q", "Q.a"),
    "no memory": ("program p\nparam a: P.a in ROM", "E0721", "narrow has no memory ROM", "ROM"),
    "no type": ("program p\nparam a: P.a in RAM f33[4]", "E0721", "`f33` is no type", "f33"),
    "no extent": ("program p\nparam a: P.a in RAM f32", "E0721", "expected `[`", ""),
    "no number": ("program p\nSETK #, P.a", "E0721", "expected a number, found `,`", ","),
    "no operand": ("program p\nSETK #1,", "E0721", "expected an operand, found the end of the line", ""),
    "too few": ("program p\nADDP P.a, P.b", "E0720", "ADDP has 3 operands, not 2", "ADDP P.a, P.b"),
    "another file": ("program p\nADDP P.a, P.b, X.c", "E0720", "`b` of ADDP is a register of P, not X.c", "ADDP"),
    "no address": ("program p\nGET X.a, P.a", "E0720", "`m` of GET is an address in RAM, not P.a", "GET X.a, P.a"),
    "no base": ("program p\nGET X.a, *X.b[0]", "E0720", "X.b cannot be the base of an address", "GET"),
    "no guard": ("program p\n[X.a] SETK #1, P.a", "E0720", "X.a cannot guard an operation", "[X.a] SETK"),
    "a loop without an end": ("program p\nloop l 3 {\nSETK #1, P.a", "E0721", "expected `}`, found the end", "a"),
    "a loop of nothing": ("program p\nloop l 3 {\n}", "E0721", "the loop l has no operations", "loop"),
    "a loop without a count": ("program p\nloop l {\n}", "E0721", "expected a whole number, found `{`", "{"),
    "half a count": ("program p\nloop l 1.5 {\n}", "E0721", "expected a whole number, found `1.5`", "1.5"),
    "no multiple": ("program p\nloop l 4 multiple 0 {\n}", "E0721", "a multiple of 1 or more", "0"),
    "too much": ("program p\nSETK #1, P.a P.b", "E0721", "expected the end of the line, found `P.b`", "P.b"),
    "an end of nothing": ("program p\n}", "E0721", "expected the name of an operation, found `}`", "}"),
    "twice": ("program p\nLDP P.a, *P.a[0]++8", "E0720", "LDP writes one register twice", "LDP P.a"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_at_its_place(case: str) -> None:
    text, code, message, at = WRONG[case]
    with pytest.raises(PlanishError) as caught:
        parse_program(Source("a.sa", text), NARROW)
    found = caught.value.diagnostic
    assert (found.code, message in found.message) == (code, True), found.message
    assert found.span is not None
    assert text.splitlines()[found.span.line - 1][found.span.column - 1 :].startswith(at)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("code c\nUP: SETK #1, P.1", "narrow has no unit UP"),
        ("code c\na:\na:", "the label a is there twice"),
        ("code c\nLEFT SETK #1, P.1", "expected `:`"),
        ("code c\nLEFT: SETK #1, P.1 |", "expected a unit"),
    ],
)
def test_what_is_wrong_with_packets(text: str, message: str) -> None:
    with pytest.raises(PlanishError, match=message):
        parse_code(Source("a.sa", text), NARROW)
