"""What a machine holds while it runs: bytes of registers and memories.

>>> from planish.ir.types import F32, I64
>>> from planish.vliw.description import load_machine
>>> state = make_state(load_machine("ftmatrix"), {"SM": 64})
>>> state.set_register(StreamRegister("S", "3"), -2, I64)
>>> state.set_array("SM", 8, np.array([1.5, 2.5], "float32"))
>>> state.register(StreamRegister("S", "3"), I64), state.array("SM", 12, F32, 1).tolist()
(-2, [2.5])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planish.ir.types import Type
from planish.vliw.machine import VliwMachine
from planish.vliw.program import StreamRegister

LARGEST = 1 << 20
"""The bytes of a memory that are there unless more is asked for: some are larger than the memory of this computer."""


@dataclass(slots=True)
class MachineState:
    """Bytes of registers, least significant first, and of memories from address 0 on.

    `files`: the bytes of a register of each file. A register that was never written holds the byte `fill` throughout.
    """

    files: Mapping[str, int]
    memories: dict[str, bytearray]
    registers: dict[StreamRegister, bytes] = field(default_factory=dict)
    fill: int = 0

    def read(self, register: StreamRegister) -> bytes:
        """The bytes of a register; KeyError where there is no such file."""
        found = self.registers.get(register)
        return bytes([self.fill]) * self.files[register.file] if found is None else found

    def set_register(self, register: StreamRegister, value: float, type: Type) -> None:
        """Put a value into a register, extended to its width."""
        self.registers[register] = extended(np.array(value, type.numpy).tobytes(), type, self.files[register.file])

    def register(self, register: StreamRegister, type: Type) -> Any:
        """The value of a type that a register holds."""
        return np.frombuffer(self.read(register), type.numpy, 1)[0].item()

    def set_array(self, memory: str, address: int, values: np.ndarray[Any, Any]) -> None:
        """Put the elements of an array into a memory, one after the other."""
        raw = values.tobytes()
        self.memories[memory][address : address + len(raw)] = raw

    def array(self, memory: str, address: int, type: Type, count: int) -> np.ndarray[Any, Any]:
        """A copy of the elements of a type that lie in a memory from an address on."""
        return np.frombuffer(self.memories[memory], type.numpy, count, address).copy()

    def copy(self) -> MachineState:
        """The same, that changes by itself."""
        memories = {name: bytearray(x) for name, x in self.memories.items()}
        return MachineState(self.files, memories, dict(self.registers), self.fill)


def make_state(machine: VliwMachine, sizes: Mapping[str, int] | None = None, fill: int = 0) -> MachineState:
    """A machine before it runs. `sizes`: the bytes that are there of memories, where not the first megabyte of each."""
    asked = dict(sizes or {})
    memories = {x.name: bytearray(asked.get(x.name, min(x.bytes, LARGEST))) for x in machine.memories}
    return MachineState({x.name: x.bits // 8 for x in machine.files}, memories, fill=fill)


def extended(raw: bytes, type: Type, width: int) -> bytes:
    """The bytes of one value in a register of `width` bytes: signed integers keep their sign, others get zeros.

    >>> from planish.ir.types import I8, U8
    >>> extended(b"\\xff", I8, 2), extended(b"\\xff", U8, 2)
    (b'\\xff\\xff', b'\\xff\\x00')
    """
    sign = b"\xff" if type.kind == "int" and raw[-1] & 0x80 else b"\0"
    return raw + sign * (width - len(raw))
