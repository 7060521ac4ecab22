"""Instructions run beside their definitions: what agrees, differs, crashes, writes beyond its end, or is not there."""

from __future__ import annotations

import pytest

from planish.isa.entry import Entry, IntrinsicSignature
from planish.run.instructions.compile import Machine
from planish.run.instructions.program import HOSTED, Dialect
from planish.run.instructions.verify import InstructionVerdict, verify
from planish.run.toolchains.toolchain import find_compilers

_PREAMBLE = """
static unsigned add(unsigned a, unsigned b) { return a + b; }
static unsigned shift(unsigned a, int n) { return a << n; }
static void put(unsigned char *p, unsigned a) { memcpy(p, &a, 4); }
static unsigned take_too_much(const unsigned char *p) { return p[4]; }
static float third(float a) { return a / 3; }
"""
_TWO = (("unsigned", "a"), ("unsigned", "b"))
_SUM = "(a: 32, b: 32) -> out: 32 { out.u32[0] = u32(a.u32[0] + b.u32[0]) }"
_STORE = "(p: 32 memory, a: 32) { p.u32[0] = a.u32[0] }"


def _entry(name: str, result: str, parameters: tuple[tuple[str, str], ...], text: str) -> Entry:
    return Entry(name, "test", IntrinsicSignature(result, parameters), text)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, InstructionVerdict]:
    compilers = find_compilers()
    if not compilers:
        pytest.skip("no C compiler here")
    machine = Machine("host", (str(compilers[0].path),), (), Dialect(("math.h",), HOSTED + _PREAMBLE))
    store = (("unsigned char *", "p"), ("unsigned", "a"))
    entries = [
        _entry("add", "unsigned", _TWO, _SUM),
        _entry("shift", "unsigned", (("unsigned", "a"), ("int", "n")),
               "(a: 32, n: 8 immediate) -> out: 32 { out.u32[0] = u32(a.u32[0] << n.u3[0]) }"),
        _entry("put", "void", store, _STORE),
        _entry("take_too_much", "unsigned", (("const unsigned char *", "p"),),
               "(p: 32 memory) -> out: 32 { out.u32[0] = p.u8[0] }"),
        _entry("nowhere", "unsigned", _TWO, _SUM),
        _entry("third", "float", (("float", "a"),),
               "(a: 32 f32) -> out: 32 f32 { out.u32[0] = fdiv.f32(a.u32[0], 0x40400000, 4) }"),
    ]  # fmt: skip
    wrong = _entry("shift", "unsigned", _TWO, _SUM)
    found = verify(entries, machine, rows=32)
    found["wrong"] = verify([wrong], machine, rows=32)["shift"]
    return found


@pytest.mark.parametrize(
    ("name", "kind"),
    [("add", "verified"), ("shift", "verified"), ("put", "verified"), ("third", "verified"),
     ("take_too_much", "crashed"), ("nowhere", "not compiled"), ("wrong", "differs")],
)  # fmt: skip
def test_verdicts(verdicts: dict[str, InstructionVerdict], name: str, kind: str) -> None:
    assert verdicts[name].kind == kind, verdicts[name].message


def test_all_values_of_an_immediate_are_tried(verdicts: dict[str, InstructionVerdict]) -> None:
    assert (verdicts["shift"].values, verdicts["shift"].possible, verdicts["shift"].rows) == (8, 8, 256)
