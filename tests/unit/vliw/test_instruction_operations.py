"""Operations out of an instruction library: meaning, pairs of registers, aligned vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from planish.build.vliw_machines import strip_packets
from planish.build.vliw_machines.strip_packets import plan_strips
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_expr
from planish.isa.collection import load_collection
from planish.isa.semantics.evaluate import evaluate
from planish.library.loops.vector_strips.packet_strips import StripProgram, packet_strips
from planish.target.load import load_target
from planish.vliw.assembly import spell
from planish.vliw.description import load_machine
from planish.vliw.pack.allocate import TooFewRegisters, allocate
from planish.vliw.pack.confinement import confinement
from planish.vliw.pack.packing import pack
from planish.vliw.program import Instr, Issue, Loop, PacketCode, StreamRegister
from planish.vliw.simulator.meaning import meaning_of
from planish.vliw.streams.lower import lower
from planish.vliw.streams.oracle import check_code, check_stream, draw_values, sizes_for
from planish.vliw.streams.plan import Planned
from planish.vliw.streams.programs.selected import Alignment

MACHINE = load_machine("hexagon")
V, R = ([StreamRegister(file, x) for x in "abcdefgh"] for file in "VR")


@pytest.mark.parametrize(
    "tag", ["V6_vmpybus", "V6_vaddubh_acc", "V6_vasrhubrndsat", "V6_vrmpybusv_acc", "V6_vdealb", "V6_vshuffeb",
            "V6_vtmpybus", "V6_vasrwh", "V6_vdelta", "V6_vabsdiffub", "V6_vsathub", "V6_vmpyhv"],
)  # fmt: skip
def test_operations_do_what_their_definitions_say(tag: str) -> None:
    definition = load_collection("hvx").entry(tag).definition
    assert definition is not None
    draw = np.random.default_rng(3)
    given = {x.name: draw.integers(0, 256, (1, x.bits // 8), dtype=np.uint8) for x in definition.operands}
    meaning = meaning_of(MACHINE.operation(tag))
    operands = []
    for array in meaning.arrays:
        base, _, part = array.name.rpartition("_") if array.name.endswith(("_low", "_high")) else (array.name, "", "")
        raw = given[base][0].tobytes() if base in given else bytes(256)
        operands.append(raw[128:] if part == "high" else raw)
    found = b"".join(meaning.run((), operands))
    assert found == evaluate(definition, given).result[0].tobytes()[: len(found)]


def test_numbers_in_the_text_are_part_of_the_name() -> None:
    instr = Instr("V6_valignbi.3", tuple(StreamRegister("V", x) for x in "123"))
    assert spell(instr, MACHINE) == "v1 = valign(v2,v3,#3)"
    with pytest.raises(KeyError):
        MACHINE.operation("V6_valignbi")


def test_a_pair_is_spelt_as_one() -> None:
    registers = (StreamRegister("V", "4"), StreamRegister("V", "5"), StreamRegister("V", "1"), StreamRegister("R", "2"))
    assert spell(Instr("V6_vmpybus", registers), MACHINE) == "v5:4.h = vmpy(v1.ub,r2.b)"


def test_pairs_get_an_even_register_and_the_next() -> None:
    first = Instr("V6_vmpybus", (V[1], V[2], V[0], R[0]))
    second = Instr("V6_vaddubh_acc", (V[1], V[2], V[0], V[0]))
    code = PacketCode("k", ((Issue(first, "S2_MPY2"),), (Issue(second, "S2_MPY2"),)), {}, ())
    made = allocate(code, MACHINE)
    low, high = (int(x.name) for x in made.packets[0][0].instr.operands[:2])
    assert low % 2 == 0 and high == low + 1


def test_a_register_of_two_pairs_is_refused() -> None:
    one = Instr("V6_vmpybus", (V[1], V[2], V[0], R[0]))
    other = Instr("V6_vmpybus", (V[2], V[3], V[0], R[0]))
    assert confinement((one, other), MACHINE).contradiction is not None
    code = PacketCode("k", ((Issue(one, "S2_MPY2"),), (Issue(other, "S2_MPY2"),)), {}, ())
    with pytest.raises(TooFewRegisters):
        allocate(code, MACHINE)


def test_some_operands_are_among_the_first_registers() -> None:
    shift = Instr("V6_vasrhubrndsat", (V[0], V[1], V[2], R[0]))
    assert confinement((shift,), MACHINE).least == {R[0]: 8}


KERNELS = {
    "rounded means": "kernel k(n; A: u8[n] distinct, B: u8[n] distinct) {"
    " for i in 0 .. n { B[i] = u8(i32(A[i]) + i32(B[i]) + 1:i32 >> 1:i32) } }",
    "three neighbours": "kernel k(h, n, p; A: u8[h, p] distinct, B: u8[h, p] distinct) assume n + 2 <= p {"
    " for y in 0 .. h { for x in 0 .. n {"
    " B[y, x] = u8(i32(A[y, x]) + 2:i32 * i32(A[y, x + 1]) + i32(A[y, x + 2]) + 2:i32 >> 2:i32) } } }",
    "bounds": "kernel k(n; a: u8, A: u8[n] distinct, B: u8[n] distinct) {"
    " for i in 0 .. n { B[i] = min(max(A[i], a), 200:u8) } }",
    "weights": "kernel k(n, m; W: i8[2] distinct, A: u8[m] distinct, B: u8[n] distinct) assume n + 1 <= m {"
    " for i in 0 .. n { B[i] = u8(min(max(i16(i32(A[i]) * i32(W[0]) + i32(A[i + 1]) * i32(W[1])) >> 4:i16, 0:i16),"
    " 255:i16)) } }",
}


@pytest.mark.parametrize("name", KERNELS)
def test_strips_in_selected_instructions_are_right(name: str) -> None:
    kernel = parse_kernel(KERNELS[name])
    found = plan_strips(kernel, MACHINE)
    assert found.planned is not None, [x.message for x in found.remarks]
    versions = [x for x in (found.planned, found.planned.aligned) if x is not None]
    for sizes in sizes_for(found.kernel, (128, 131, 260)):
        values = draw_values(found.kernel, sizes)
        for x in versions:
            assert check_stream(x.lowered, found.kernel, MACHINE, values) == ""
            assert check_code(x.packed.code, x.lowered, found.kernel, MACHINE, values).message == ""


def test_aligned_packets_shift_neighbours() -> None:
    kernel = parse_kernel(KERNELS["three neighbours"])
    strips = next(x for x in packet_strips(kernel, load_target("hexagon-hvx")) if isinstance(x, StripProgram))
    alignment = Alignment()
    lowered = lower(strips.kernel, MACHINE, programs=strips.programs, alignment=alignment)
    code = pack(lowered.program, MACHINE).code
    used = {x.instr.operation for packet in code.packets for x in packet}
    assert {"VLDA", "VSTA", "V6_valignbi.1", "V6_valignbi.2"} <= used
    assert (alignment.arrays, alignment.width) == ({"A", "B"}, 128)
    assert [print_expr(x) for x in alignment.bytes] == ["p"]
    needed = replace(kernel, assumptions=(*kernel.assumptions, *strips.needs))
    for sizes in sizes_for(needed, (128, 256, 300)):
        values = draw_values(kernel, sizes)
        assert check_code(code, lowered, kernel, MACHINE, values).message == ""


def test_strips_share_what_is_made_of_scalars() -> None:
    kernel = parse_kernel(KERNELS["weights"])
    strips = next(x for x in packet_strips(kernel, load_target("hexagon-hvx")) if isinstance(x, StripProgram))
    program = lower(strips.kernel, MACHINE, programs=strips.programs).program
    loops = [x for x in program.body if isinstance(x, Loop)]
    assert len(loops) == 2 and sum(x.operation == "MPYI" for x in program.body if isinstance(x, Instr)) == 2


def test_aligned_packets_are_those_of_wide_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    # Cycles of a row, and of an element of it: what is the best for 300 elements is not for 1024.
    kernel = parse_kernel(KERNELS["three neighbours"])
    costs = {False: (10, 1.0), True: (130, 0.8)}

    def cycles(costs: Any, lowered: object, sizes: Mapping[str, int]) -> float:
        first, each = costs.costs
        return max(sizes.values()) * (first + each * max(sizes.values()))

    def packed(form: Any, pointers: int, alignment: Alignment | None, limit: float) -> Any:
        made = SimpleNamespace(costs=costs[alignment is not None], loops=())
        return Planned(kernel, Any, made, (), cycles(made, None, form.sizes))  # type: ignore[arg-type]

    monkeypatch.setattr(strip_packets, "_packed", packed)
    monkeypatch.setattr(strip_packets, "estimate", cycles)
    found = plan_strips(kernel, MACHINE)
    assert found.planned is not None and found.planned.aligned is not None
    costs[True] = (250, 0.8)
    found = plan_strips(kernel, MACHINE)
    assert found.planned is not None and found.planned.aligned is None


def test_a_machine_without_a_library_has_no_strips() -> None:
    assert plan_strips(parse_kernel(KERNELS["bounds"]), replace(MACHINE, library=None)).planned is None
