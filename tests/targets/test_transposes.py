"""Instructions that turn squares or columns round: they have operands whose rows are at any distance, unlike others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from execution import AT_END, Machine, Request, build, call_all, machine
from operands import corners
from reference import canonical
from tests.targets.test_instructions import GROUPS, UNTESTED, Group

from planish.ir.types import Type
from planish.isa.instruction import Instruction
from planish.isa.shipped import extension
from planish.schedule.program import Program
from planish.schedule.steps.instructions import Replace

Square = npt.NDArray[Any]


def turning(group: Group) -> list[Instruction]:
    """The instructions of a set that turn squares round."""
    return [x for x in extension(group.set).instructions.values() if "transpose" in x.name]


def square(kind: Type, size: int, distance: int, seed: int) -> Square:
    """Rows of all values at which things go wrong, without what lies behind the last one."""
    values = corners(kind)
    at = (np.arange((size - 1) * distance + size) * 5 + seed) % len(values)
    found: Square = values[at]
    return found


def rows(flat: Square, size: int, distance: int) -> Square:
    """The square in an array."""
    return np.lib.stride_tricks.as_strided(flat, (size, size), (distance * flat.itemsize, flat.itemsize))


@pytest.mark.parametrize("group", [x for x in GROUPS if not x.words], ids=str)
def test_squares_are_turned_round(group: Group, tmp_path: Path) -> None:
    target = machine(group.processor, group.features, group.flags)
    if not isinstance(target, Machine):
        pytest.skip(f"{group}: {target}")
    members = turning(group)
    assert members and {x.name for x in members} <= set(UNTESTED)
    kernels = [Program.of(x.definition).apply(Replace("l", x.name)).kernel for x in members]
    program = build(kernels, extension(group.set), target, tmp_path)
    requests, wanted = [], []
    for number, member in enumerate(members):
        kind, size = member.definition.arrays[0].type, member.lanes
        assert size is not None
        for i, (more_d, more_s) in enumerate(((0, 0), (3, 5), (5, 0))):
            d, s = square(kind, size, size + more_d, i), square(kind, size, size + more_s, i + 3)
            scaled = bool(member.definition.scalars)
            x = np.array(1.5, kind.numpy)
            place = (AT_END, 0, 200)[i]
            arrays = ((place, d.tobytes()), (place, s.tobytes()))
            requests.append(Request(number, (size + more_d, size + more_s), (x.tobytes(),) * scaled, arrays))
            expected = d.copy()
            with np.errstate(all="ignore"):
                rows(expected, size, size + more_d)[:] = rows(x * s if scaled else s, size, size + more_s).T
            wanted.append((member.name, expected, s))
    for (name, expected, source), reply in zip(wanted, call_all(program, target, requests), strict=True):
        assert reply.signal == 0 and not any(reply.spilled), name
        found = np.frombuffer(reply.arrays[0], expected.dtype)
        assert canonical(found) == canonical(expected), name
        assert reply.arrays[1] == source.tobytes(), name


@pytest.mark.parametrize("group", [x for x in GROUPS if str(x) == "avx512-avx512f"], ids=str)
def test_columns_become_rows(group: Group, tmp_path: Path) -> None:
    target = machine(group.processor, group.features, group.flags)
    if not isinstance(target, Machine):
        pytest.skip(f"{group}: {target}")
    members = [x for x in extension(group.set).instructions.values() if "_turn_" in x.name or "_gather_" in x.name]
    assert len(members) == 3 and {x.name for x in members} <= set(UNTESTED)
    kernels = [Program.of(x.definition).apply(Replace("l", x.name)).kernel for x in members]
    program = build(kernels, extension(group.set), target, tmp_path)
    requests, wanted = [], []
    for number, member in enumerate(members):
        columns = len(member.definition.arrays) - 1
        for i, distance in enumerate((columns, columns + 1, 37)):
            lanes, kind = member.lanes, member.definition.arrays[0].type
            assert lanes is not None
            at = (np.arange((lanes - 1) * distance + columns) * 5 + i) % len(corners(kind))
            source = corners(kind)[at]
            place = (AT_END, 0, 200)[i]
            empty = np.zeros(lanes, kind.numpy).tobytes()
            requests.append(Request(number, (distance,), (), (*[(place, empty)] * columns, (place, source.tobytes()))))
            wanted.append((member.name, [source[c::distance][:lanes] for c in range(columns)]))
    for (name, expected), reply in zip(wanted, call_all(program, target, requests), strict=True):
        assert reply.signal == 0 and not any(reply.spilled), name
        for row, found in zip(expected, reply.arrays, strict=False):
            assert found == row.tobytes(), name


@pytest.mark.parametrize("group", [x for x in GROUPS if str(x) == "avx512-avx512bw"], ids=str)
def test_columns_that_lie_apart_become_words(group: Group, tmp_path: Path) -> None:
    target = machine(group.processor, group.features, group.flags)
    if not isinstance(target, Machine):
        pytest.skip(f"{group}: {target}")
    members = [x for x in extension(group.set).instructions.values() if "_weave_columns_" in x.name]
    assert len(members) == 2 and {x.name for x in members} <= set(UNTESTED)
    kernels = [Program.of(x.definition).apply(Replace("l", x.name)).kernel for x in members]
    program = build(kernels, extension(group.set), target, tmp_path)
    rng = np.random.default_rng(1)
    requests, wanted = [], []
    for number, member in enumerate(members):
        for i, (ldd, lds) in enumerate(((32, 8), (32, 9), (70, 18))):
            sources = [rng.integers(0, 1 << 16, 15 * lds + 8, np.uint16) for _ in range(2)]
            out = rng.integers(0, 1 << 16, 7 * ldd + 32, np.uint16)
            place = (AT_END, 0, 200)[i]
            arrays = [(place, x.tobytes()) for x in (out, *sources)]
            requests.append(Request(number, (ldd, lds), (), tuple(arrays)))
            expected = out.copy()
            for row, column, which in np.ndindex(16, 8, 2):
                expected[column * ldd + 2 * row + which] = sources[which][row * lds + column]
            wanted.append((member.name, expected))
    for (name, expected), reply in zip(wanted, call_all(program, target, requests), strict=True):
        assert reply.signal == 0 and not any(reply.spilled), name
        assert reply.arrays[0] == expected.tobytes(), name
