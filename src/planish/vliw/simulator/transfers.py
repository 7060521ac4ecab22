"""Block transfers: rows of bytes that are moved from one memory to another beside the running code.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.simulator.state import make_state
>>> state = make_state(load_machine("ftmatrix"))
>>> state.memories["GSM"][:6] = b"abcdef"
>>> block = TransferredBlock(0, "AM", 8, "GSM", 0, bytes=2, rows=3, d_step=4, s_step=2)
>>> perform(block, state)
>>> bytes(state.memories["AM"][8:20]), block.meets("AM", 11, 2, True), block.meets("AM", 10, 2, True)
(b'ab\\x00\\x00cd\\x00\\x00ef\\x00\\x00', True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from planish.vliw.machine import VliwMachine
from planish.vliw.program import Immediate, Instr, MemoryAddress, StreamRegister
from planish.vliw.simulator.execution import Fault, MachineFault, number_in, place_of
from planish.vliw.simulator.state import MachineState


@dataclass(frozen=True, slots=True)
class TransferredBlock:
    """A transfer on a channel: `rows` of `bytes` each from `s` in the memory `source` to `d` in the memory `to`, whose
    beginnings lie `s_step` and `d_step` bytes apart."""

    channel: int
    to: str
    d: int
    source: str
    s: int
    bytes: int
    rows: int
    d_step: int
    s_step: int

    @property
    def total(self) -> int:
        """The bytes that are moved."""
        return max(0, self.rows) * max(0, self.bytes)

    def meets(self, memory: str, start: int, count: int, is_store: bool) -> bool:
        """Whether an access may not be made while this is under way: of what it writes, or a store to what it reads."""
        return (memory == self.to and self._touches(self.d, self.d_step, start, count)) or (
            is_store and memory == self.source and self._touches(self.s, self.s_step, start, count)
        )

    def _touches(self, base: int, step: int, start: int, count: int) -> bool:
        if self.total == 0 or count <= 0:
            return False
        if step < 0:
            base, step = base + (self.rows - 1) * step, -step
        row = max(0, (start - base - self.bytes) // step + 1) if step else 0
        return row < self.rows and base + row * step < start + count and start < base + row * step + self.bytes


def block_of(instr: Instr, machine: VliwMachine, state: MachineState) -> TransferredBlock:
    """The transfer that an operation starts. MachineFault for a channel that is not there, and for rows that are not in
    their memory."""
    definition = machine.operation(instr.operation).definition
    channel = channel_of(instr, machine)
    d, s, *numbers = instr.operands[1:]
    assert isinstance(d, MemoryAddress) and isinstance(s, MemoryAddress)
    counts = [number_in(x, state) for x in numbers if isinstance(x, StreamRegister)]
    places = place_of(d, state), place_of(s, state)
    to, source = definition.array("d").memory, definition.array("s").memory
    block = TransferredBlock(channel, to, places[0], source, places[1], counts[0], counts[1], counts[2], counts[3])
    if block.total:
        for memory, base, step in ((to, block.d, block.d_step), (source, block.s, block.s_step)):
            last = base + (block.rows - 1) * step
            there = min(machine.memory(memory).bytes, len(state.memories[memory]))
            if min(base, last) < 0 or max(base, last) + block.bytes > there:
                message = f"{block.rows} rows of {block.bytes} bytes at {base} are not in the {there} bytes of {memory}"
                raise MachineFault(Fault("outside", message, instr))
    return block


def channel_of(instr: Instr, machine: VliwMachine) -> int:
    """The channel of a transfer. MachineFault where there is none of that number."""
    channel = instr.operands[0]
    assert isinstance(channel, Immediate)
    if not 0 <= channel.value < machine.transfers.channels:
        message = f"there is no channel {channel.value}; there are {machine.transfers.channels}"
        raise MachineFault(Fault("channel", message, instr))
    return int(channel.value)


def perform(block: TransferredBlock, state: MachineState) -> None:
    """Move all rows; what they hold is read before any is written."""
    if not block.total:
        return
    read = state.memories[block.source]
    rows = [bytes(read[x : x + block.bytes]) for x in (block.s + i * block.s_step for i in range(block.rows))]
    for i, row in enumerate(rows):
        place = block.d + i * block.d_step
        state.memories[block.to][place : place + block.bytes] = row


def done_at(block: TransferredBlock, machine: VliwMachine, now: int, free: int) -> int:
    """The cycle in which a transfer is done that is started now, where those started before are done in another one:
    bytes of one are moved after those of the other.

    >>> from planish.vliw.description import load_machine
    >>> block = TransferredBlock(0, "AM", 0, "DDR", 0, bytes=1400, rows=1, d_step=0, s_step=0)
    >>> [done_at(block, load_machine("ftmatrix"), 10, free) for free in (0, 110, 500)]
    [210, 210, 600]
    """
    return max(now + machine.transfers.startup, free) + ceil(block.total / machine.transfers.bytes_per_cycle)
