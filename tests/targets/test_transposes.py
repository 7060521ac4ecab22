"""Instructions that turn squares round: their operands have rows at any distance, unlike those of all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from execution import AT_END, Machine, Request, build, call_all, machine
from operands import corners
from reference import canonical
from test_instructions import GROUPS, UNTESTED, Group

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
