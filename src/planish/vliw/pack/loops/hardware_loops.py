"""Hardware loops: a counter that is set before a loop, and packets that end an iteration and take no slot for it.

>>> from planish.vliw.description import load_machine
>>> loops = HardwareLoops(Control(load_machine("hexagon")))
>>> counter = loops.counter(Loop("i", 8, (Instr("NOT", ()),)))
>>> print(*loops.begin(counter, 8, lambda file: StreamRegister(file, "n")), *loops.ends(counter, "top"), sep="; ")
LOOPI #8, LC.0; DOWN LC.0; [LC.0] ENDLOOP @top
>>> HardwareLoops(Control(load_machine("ftmatrix"))).counter(Loop("i", 8, ())) is None
True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planish.core.diagnostic import PlanishError
from planish.ir.expr import Binary, Const, Load, Var
from planish.vliw.pack.control import Control, Spare
from planish.vliw.pack.effects import Described
from planish.vliw.program import Guard, Immediate, Instr, Issue, Label, Loop, StreamRegister


@dataclass(frozen=True, slots=True)
class HardwareLoops:
    """What a machine has for loops that count by themselves. A counter holds how often the loop is still repeated; in
    the packet that ends an iteration it is looked at, and goes down."""

    control: Control

    def counter(self, loop: Loop) -> StreamRegister | None:
        """The counter of a loop: the first one for innermost loops, the next for those around them; None where there
        is none left."""
        machine = self.control.machine
        file = next((x for x in machine.files if x.loops), None)
        level = _height(loop)
        if file is None or level >= file.count or not any(x.loop for x in machine.operations):
            return None
        register = StreamRegister(file.name, str(level))
        source = loop.count.file if isinstance(loop.count, StreamRegister) else self.control.counter_file(None)
        known = self._from_register(register, StreamRegister(source, "0"))
        return register if known is not None and self._down(register) is not None else None

    def begin(self, counter: StreamRegister, count: int | StreamRegister, spare: Spare) -> tuple[Instr, ...]:
        """Sets the counter of a loop that runs `count` times, once at least."""
        if isinstance(count, int):
            for form in self.control.forms:
                match form.value:
                    case Binary(op="sub", left=Var() as number, right=Const(value=1)) if form.file == counter.file:
                        if form.operation.may_have(count):
                            return (form.instr(counter, {number: Immediate(count)}),)
                    case _:
                        pass
            held = spare(self.control.counter_file(None))
            return (*self.control.constant(held, count), *self.begin(counter, held, spare))
        found = self._from_register(counter, count)
        assert found is not None
        return (found,)

    def ends(self, counter: StreamRegister, label: str) -> tuple[Instr, Instr]:
        """What goes into the packet that ends an iteration: the counter goes down, and there is a jump unless it was
        0."""
        down = self._down(counter)
        assert down is not None
        jump = next(x for x in self.control.machine.operations if x.loop)
        return down, Instr(jump.name, (Label(label),), Guard(counter))

    def issues(self, counter: StreamRegister, label: str, described: Described) -> list[Issue]:
        """The same on their units."""
        return [Issue(x, described.effects(x).units[0]) for x in self.ends(counter, label)]

    def passes(
        self, to: StreamRegister, left: StreamRegister, count: StreamRegister, by: int
    ) -> tuple[Instr, ...] | None:
        """How often `by` goes into a count, and what is left of it; None where no operations tell."""
        try:
            bits = by.bit_length() - 1
            if 1 << bits != by:
                return None
            whole = self.control.with_number("shr", to, count, bits)
            return (*whole, *self.control.with_number("and", left, count, by - 1))
        except PlanishError:
            return None

    def _from_register(self, counter: StreamRegister, count: StreamRegister) -> Instr | None:
        for form in self.control.forms:
            match form.value:
                case Binary(op="sub", left=Load(array=name) as number, right=Const(value=1)):
                    if form.file == counter.file and name != form.target and form.file_of(number) == count.file:
                        return form.instr(counter, {number: count})
                case _:
                    pass
        return None

    def _down(self, counter: StreamRegister) -> Instr | None:
        for form in self.control.forms:
            match form.value:
                case Binary(op="sub", left=Load(array=name), right=Const(value=1)):
                    if form.file == counter.file and name == form.target:
                        return form.instr(counter, {})
                case _:
                    pass
        return None


def _height(loop: Loop) -> int:
    return max(_heights(loop), default=-1) + 1


def _heights(loop: Loop) -> Iterator[int]:
    return (_height(x) for x in loop.body if isinstance(x, Loop))
