"""Movements of elements, whichever bits of addresses they exchange, are written with shuffles that do them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from execution import AT_END, Machine, Request, build, call_all, machine

from planish.ir.text.parser import parse_kernel
from planish.ir.types import BY_NAME
from planish.isa.instruction import Instruction, make_instruction
from planish.isa.select.instruction_text import InstructionFinder, spell
from planish.isa.select.selector import FpFlags
from planish.isa.shipped import extension
from planish.schedule.program import Program
from planish.schedule.steps.instructions import Replace

SETS = {
    "avx2": ("ymm", "x86_64", ("avx2", "fma"), ("-mavx2", "-mfma")),
    "avx512": ("zmm", "x86_64", ("avx512f", "avx512bw"), ("-mavx512f", "-mavx512bw")),
    "neon": ("neon", "aarch64", ("asimd", "asimdhp", "asimddp"), ("-march=armv8.2-a+fp16+dotprod",)),
}
CASES = 12
SUMS = (("f32", 1, False), ("f32", 4, False), ("f32", 2, True), ("f64", 2, False), ("f64", 1, True))

Table = npt.NDArray[np.int64]


def movement(name: str, kind: str, lanes: int, chance: random.Random) -> tuple[str, Table]:
    """A kernel that moves elements by exchanging bits of their addresses; the number of what each becomes."""
    inside = lanes.bit_length() - 1
    bits = inside + chance.randrange(3)
    order = list(range(bits))
    chance.shuffle(order)
    table = np.array([sum((i >> j & 1) << bit for j, bit in enumerate(order)) for i in range(1 << bits)])
    moves = " ".join(f"d[{i}] = s[{x}]" for i, x in enumerate(table.tolist()))
    head = f"kernel {name}(d: {kind}[{1 << bits}], s: {kind}[{1 << bits}])"
    return f"{head} {{ for z in 0 .. 1 {{ {moves} }} }}", table


def sums(name: str, kind: str, lanes: int, count: int, apart: bool) -> str:
    """A kernel that adds the lanes of some registers to numbers that lie side by side, or apart."""
    into = ", ".join(f"s{i}: {kind}[1]" for i in range(count)) if apart else f"s: {kind}[{count}]"
    arrays = ", ".join(f"a{i}: {kind}[{lanes}] @KIND" for i in range(count))
    body = " ".join(f"{f's{i}[0]' if apart else f's[{i}]'} += x * a{i}[l]" for i in range(count))
    return f"kernel {name}(x: {kind}; {into}, {arrays}) {{ for l in 0 .. {lanes} {{ {body} }} }}"


def instruction(text: str, finder: InstructionFinder, header: str, fp_flags: FpFlags) -> Instruction:
    """The instruction that does a kernel."""
    definition = parse_kernel(text)
    found = spell(definition, finder.register_file, fp_flags)
    assert found is not None, text[:200]
    return make_instruction(definition.name, definition, found, reassociates=fp_flags.reassociates, header=header)


@pytest.mark.parametrize("name", list(SETS))
def test_elements_come_where_they_belong(name: str, tmp_path: Path) -> None:
    registers, processor, features, flags = SETS[name]
    known = extension(name)
    finder, header = known.speakers[registers]
    assert isinstance(finder, InstructionFinder)
    chance = random.Random(name)
    made: list[tuple[Instruction, Table, str]] = []
    for number in range(CASES):
        kind = chance.choice([x for x in ("f32", "f64", "i16", "i8") if BY_NAME[x] in known.memories[registers].types])
        text, table = movement(f"move_{number}", kind, known.memories[registers].lanes(BY_NAME[kind]), chance)
        # Bytes of AVX2 cannot cross the halves of a register in every way.
        if kind in ("f32", "f64") or spell(parse_kernel(text), finder.register_file) is not None:
            made.append((instruction(text, finder, header, FpFlags()), table, kind))
    assert len(made) >= CASES // 2
    target = machine(processor, features, flags)
    if not isinstance(target, Machine):
        pytest.skip(f"{name}: {target}")
    catalogue = known.with_instructions(x for x, _, _ in made)
    programs = [Program.of(x.definition, catalogue=catalogue) for x, _, _ in made]
    kernels = [y.apply(Replace("z", x.name)).kernel for (x, _, _), y in zip(made, programs, strict=True)]
    program = build(kernels, catalogue, target, tmp_path)
    requests, wanted = [], []
    for number, (_, table, kind) in enumerate(made):
        dtype = np.dtype(BY_NAME[kind].numpy)
        source = np.arange(len(table)).astype(dtype)
        empty = np.zeros(len(table), dtype)
        for place in (AT_END, 0):
            requests.append(Request(number, (), (), ((place, empty.tobytes()), (place, source.tobytes()))))
            wanted.append((made[number][0], source[table].tobytes()))
    for (x, expected), reply in zip(wanted, call_all(program, target, requests), strict=True):
        assert reply.signal == 0 and not any(reply.spilled), x.template
        assert reply.arrays[0] == expected, x.template


@pytest.mark.parametrize("name", list(SETS))
def test_lanes_are_added_up(name: str, tmp_path: Path) -> None:
    registers, processor, features, flags = SETS[name]
    known = extension(name)
    finder, header = known.speakers[registers]
    assert isinstance(finder, InstructionFinder)
    made, texts = [], []
    for kind, count, apart in SUMS:
        lanes = known.memories[registers].lanes(BY_NAME[kind])
        text = sums(f"sum_{len(made)}", kind, lanes, count, apart)
        made.append(instruction(text.replace("KIND", registers), finder, header, FpFlags(reassociates=True)))
        loads = " ".join(
            f"alloc a{i}: {kind}[{lanes}] @{registers} for f{i} in 0 .. {lanes} {{ a{i}[f{i}] = A[{i}, f{i}] }}"
            for i in range(count)
        )
        head = text[: text.index(", a0")] + f", A: {kind}[{count}, {lanes}])"
        texts.append((f"{head} {{ {loads} {text[text.index('for l in') :]}", kind, count, apart, lanes))
    target = machine(processor, features, flags)
    if not isinstance(target, Machine):
        pytest.skip(f"{name}: {target}")
    catalogue = known.with_instructions(made)
    kernels = []
    for x, (text, kind, count, _, _) in zip(made, texts, strict=True):
        fill = [Replace(f"f{i}", f"{name}_load_{kind}") for i in range(count)]
        kernels.append(Program.of(parse_kernel(text), catalogue=catalogue).apply(*fill, Replace("l", x.name)).kernel)
    program = build(kernels, catalogue, target, tmp_path)
    requests = []
    for number, (_, kind, count, apart, lanes) in enumerate(texts):
        dtype = np.dtype(BY_NAME[kind].numpy)
        into = np.arange(count).astype(dtype)
        parts = [(AT_END, x.tobytes()) for x in (into.reshape(-1, 1) if apart else [into])]
        values = (np.arange(count * lanes) ** 2 % 101).astype(dtype)
        requests.append(Request(number, (), (np.array(2, dtype).tobytes(),), (*parts, (AT_END, values.tobytes()))))
    for (_, kind, count, _, lanes), x, reply in zip(texts, made, call_all(program, target, requests), strict=True):
        assert reply.signal == 0 and not any(reply.spilled), x.template
        dtype = np.dtype(BY_NAME[kind].numpy)
        values = np.frombuffer(reply.arrays[-1], dtype).reshape(count, lanes)
        wanted = np.arange(count) + 2 * values.sum(axis=1)
        assert b"".join(reply.arrays[:-1]) == wanted.astype(dtype).tobytes(), x.template
