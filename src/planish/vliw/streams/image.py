"""Arrays of a kernel in the memories of a machine, where the parameters of its stream say that they are, and back.

>>> place_rows(np.arange(6, dtype="float32"), 2, 3, 4, 0.0).tolist()
[0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Array
from planish.ir.types import INDEX
from planish.vliw.machine import VliwMachine
from planish.vliw.program import StreamRegister
from planish.vliw.simulator.state import MachineState, make_state
from planish.vliw.streams.lower import LoweredStream

Values = Mapping[str, Any]
"""Sizes and scalars as numbers, arrays as flat vectors of elements."""

MARGIN = 512
"""Bytes before the first array of a memory, and behind each."""


@dataclass(slots=True)
class Image:
    """Where arrays lie: by the name and the memory, the address; and how many bytes each memory needs."""

    places: dict[tuple[str, str], int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)


def place_rows(values: np.ndarray[Any, Any], rows: int, columns: int, pitch: int, pad: float) -> np.ndarray[Any, Any]:
    """Rows of elements, each with padding behind it."""
    if pitch == columns or not rows:
        return values
    out = np.full((rows, pitch), pad, values.dtype)
    out[:, :columns] = values[: rows * columns].reshape(rows, columns)
    return out.reshape(-1)


def lay_out(lowered: LoweredStream, machine: VliwMachine, values: Values) -> Image:
    """The place of each array."""
    image = Image()
    widest = max(x.bits // 8 for x in machine.files)
    numbers = _numbers(lowered, values)
    for given in lowered.given:
        memory = given.parameter.memory
        if given.array is None:
            continue
        start = image.ends.get(memory, MARGIN)
        image.places[given.array.name, memory] = start
        size = _elements(given.array, lowered, numbers, values) * given.array.type.size
        image.ends[memory] = -(-(start + size + widest + MARGIN) // widest) * widest
    return image


def _numbers(lowered: LoweredStream, values: Values) -> dict[str, int]:
    """The sizes that are given, and those that follow."""
    known = {x: int(values[x]) for x in lowered.kernel.sizes if x in values}
    for name, value in lowered.sizes.items():
        known[name] = evaluate(value, known)
    return known | {x.parameter.name: evaluate(x.value, known) for x in lowered.given if x.value is not None}


def _shape(array: Array, numbers: Mapping[str, int]) -> tuple[int | None, ...]:
    return tuple(None if x is None else evaluate(x, numbers) for x in array.shape)


def _elements(array: Array, lowered: LoweredStream, numbers: Mapping[str, int], values: Values) -> int:
    rows, _, pitch = _rows(array, lowered, numbers, values)
    return rows * pitch


def _rows(array: Array, lowered: LoweredStream, numbers: Mapping[str, int], values: Values) -> tuple[int, int, int]:
    """The rows of an array, the elements that each has, and with its padding."""
    if not array.shape:
        return 1, 1, 1
    shape = _shape(array, numbers)
    pitch = shape[-1]
    count = len(values[array.name]) if array.name in values else int(np.prod([max(x or 0, 0) for x in shape]))
    plain = lowered.plain.get(array.name)
    columns = pitch if plain is None else _shape(plain, numbers)[-1]
    if len(shape) < 2 or columns is None or pitch is None or columns == pitch or columns <= 0:
        return 1, count, count
    return -(-count // columns), columns, pitch


def excess(lowered: LoweredStream, machine: VliwMachine, values: Values) -> str:
    """Which memory the arrays do not fit; "" where they do."""
    for name, end in lay_out(lowered, machine, values).ends.items():
        room = machine.memory(name).bytes
        if end > room:
            return f"the arrays in {name} take {end} bytes, which has {room}"
    return ""


def fill_state(
    lowered: LoweredStream, machine: VliwMachine, values: Values, registers: Mapping[str, StreamRegister]
) -> MachineState:
    """A machine with all values where a stream expects them; `registers`: those of the parameters by name."""
    image = lay_out(lowered, machine, values)
    state = make_state(machine, {x.name: max(image.ends.get(x.name, 0), MARGIN) for x in machine.memories})
    numbers = _numbers(lowered, values)
    kinds = {x.name: x.type for x in lowered.kernel.scalars}
    for given in lowered.given:
        name, register = given.parameter.name, registers[given.parameter.name]
        array, memory = given.array, given.parameter.memory
        if array is None:
            kind = kinds.get(name, INDEX)
            state.set_register(register, numbers[name] if kind == INDEX and name in numbers else values[name], kind)
            continue
        address = image.places[array.name, memory]
        state.set_register(register, address, INDEX)
        if array.name in values:
            rows, columns, pitch = _rows(array, lowered, numbers, values)
            filled = np.zeros(rows * columns, array.type.numpy)
            given_values = np.asarray(values[array.name]).reshape(-1)
            filled[: len(given_values)] = given_values
            state.set_array(memory, address, place_rows(filled, rows, columns, pitch, 0))
        elif array.values:
            state.set_array(memory, address, np.array(array.values, array.type.numpy))
    return state


def read_arrays(
    lowered: LoweredStream, machine: VliwMachine, values: Values, state: MachineState
) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays as a stream has left them."""
    image = lay_out(lowered, machine, values)
    numbers = _numbers(lowered, values)
    out: dict[str, np.ndarray[Any, Any]] = {}
    for given in lowered.given:
        array = given.array
        if array is None or array.name not in values:
            continue
        rows, columns, pitch = _rows(array, lowered, numbers, values)
        address = image.places[array.name, given.parameter.memory]
        found = state.array(given.parameter.memory, address, array.type, rows * pitch)
        count = np.asarray(values[array.name]).size
        out[array.name] = found.reshape(rows, pitch)[:, :columns].reshape(-1)[:count]
    return out
