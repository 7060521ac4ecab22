"""Random machines and random programs with loops, for the sweeps over packing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.unit.vliw.machines import narrow, wide

from planish.vliw.machine import VliwMachine
from planish.vliw.program import (
    AccessPlace,
    Guard,
    Immediate,
    Instr,
    Item,
    Loop,
    MemoryAddress,
    StreamParameter,
    StreamProgram,
    StreamRegister,
)


def random_machine(random: Random, slow: float = 0.33) -> VliwMachine:
    """A made-up machine with other latencies, ports, and units that a part of the operations keep for longer."""
    base = random.choice([wide, narrow])()
    operations = tuple(
        replace(
            x,
            latency=max(1, x.latency + random.randint(-2, 3)),
            busy=1 if x.branch or random.random() >= slow else random.choice([2, 3]),
        )
        for x in base.operations
    )
    if base.name == "narrow":
        files = tuple(
            replace(x, count=40 if x.name == "R" else x.count, readers=random.choice([0, 4, 6]) if x.name == "R" else 0)
            for x in base.files
        )
    else:
        files = base.files
    return replace(base, operations=operations, files=files, update_latency=random.randint(1, 3))


class Maker:
    """Random bodies over a machine of `random_machine`."""

    def __init__(self, random: Random, machine: VliwMachine, values: int = 10) -> None:
        self.random, self.values = random, values
        wide_one = machine.name == "wide"
        self.data, self.address = ("V", "A") if wide_one else ("R", "G")
        self.memory = "AM" if wide_one else "DATA"
        self.bytes = 128 if wide_one else 16
        self.load, self.store = ("LOAD", "STORE") if wide_one else ("LD", "ST")
        self.binary = ("FADD",) if wide_one else ("ADD", "DIV")
        self.update = ("FMA",) if wide_one else ("MAC",)
        self.copy = "MOVE" if wide_one else "MV"
        self.step = "ADDA" if wide_one else "SUBI"
        self.sign = 1 if wide_one else -1
        self.count_file, self.predicate = ("S", "S") if wide_one else ("G", "P")
        self.pointers = [StreamRegister(self.address, f"p{i}") for i in range(3)]

    def value(self) -> StreamRegister:
        return StreamRegister(self.data, f"v{self.random.randrange(self.values)}")

    def body(self, size: int) -> tuple[Instr, ...]:
        """Some operations; pointers move as they like, so that stores may meet later loads."""
        made: list[Instr] = []
        guards = self.random.random() < 0.3
        places = self.random.random() < 0.5
        steps = {p: self.random.choice([0, 1, 1, 2]) for p in self.pointers}
        left = dict(steps)
        moved = dict.fromkeys(self.pointers, 0)
        for _ in range(size):
            kind = self.random.random()
            guard = Guard(StreamRegister(self.predicate, "g"), self.random.random() < 0.5) if guards else None
            guard = guard if self.random.random() < 0.4 else None
            if kind < 0.45:
                pointer = self.random.choice(self.pointers)
                offset = self.random.randrange(4) * self.bytes
                step = 0
                if left[pointer] and guard is None and self.random.random() < 0.5:
                    step, left[pointer] = self.bytes, left[pointer] - 1
                stride = steps[pointer] * self.bytes
                at = offset + moved[pointer]
                place = AccessPlace("d", pointer.name, at, stride, self.bytes) if places else None
                moved[pointer] += step
                address = MemoryAddress(pointer, offset, step)
                if kind < 0.3:
                    made.append(Instr(self.load, (self.value(), address), guard, place))
                else:
                    made.append(Instr(self.store, (address, self.value()), guard, place))
            elif kind < 0.6:
                made.append(Instr(self.random.choice(self.update), (self.value(), self.value(), self.value()), guard))
            elif kind < 0.9:
                made.append(Instr(self.random.choice(self.binary), (self.value(), self.value(), self.value()), guard))
            else:
                made.append(Instr(self.copy, (self.value(), self.value()), guard))
        for pointer, count in left.items():
            if count:
                step = Immediate(self.sign * count * self.bytes)
                made.append(Instr(self.step, (step, pointer, pointer)))
        if guards and self.predicate == "P":
            made.insert(0, Instr("GE", (Immediate(3), StreamRegister("P", "g"), StreamRegister("G", "k"))))
            made.append(Instr("SUBI", (Immediate(1), StreamRegister("G", "k"), StreamRegister("G", "k"))))
        elif guards:
            three = StreamRegister("S", "three")
            made.insert(0, Instr("LT", (StreamRegister("S", "g"), StreamRegister("S", "k"), three)))
            made.append(Instr("ADDI", (Immediate(-1), StreamRegister("S", "k"), StreamRegister("S", "k"))))
        return tuple(made)

    def carrying(self, size: int) -> tuple[Instr, ...]:
        """A body of copies for the most part: values go from register to register, and round in circles."""
        made: list[Instr] = []
        order = [StreamRegister(self.data, f"v{i}") for i in range(self.values)]
        self.random.shuffle(order)
        for register in order[:size]:
            if self.random.random() < 0.6:
                made.append(Instr(self.copy, (register, self.value())))
            else:
                made.append(Instr(self.random.choice(self.binary), (register, self.value(), self.value())))
            if self.random.random() < 0.3:
                address = MemoryAddress(self.pointers[0], self.random.randrange(4) * self.bytes)
                made.append(Instr(self.store, (address, self.value())))
        step = Immediate(self.sign * self.bytes)
        return (*made, Instr(self.step, (step, self.pointers[0], self.pointers[0])))

    def program(
        self, size: int, counts: tuple[int, ...], carrying: bool = False
    ) -> tuple[StreamProgram, dict[str, int]]:
        """A loop, or a loop in a loop; results are stored behind it. `carrying`: its body is of copies."""
        random = self.random
        count_register = StreamRegister(self.count_file, "n")
        n = random.choice(counts)
        multiple = random.choice([x for x in (1, 2, 3, 4) if n % x == 0])
        known = random.random()
        loop: Item = Loop(
            "i",
            n if known < 0.3 else count_register,
            self.carrying(size) if carrying else self.body(size),
            at_least=n if known > 0.8 else random.choice([0, min(n, 1)]),
            multiple=multiple,
        )
        items: tuple[Item, ...] = (loop,)
        if random.random() < 0.3:
            outer = random.choice([0, 1, 2, 3])
            before, after = self.body(random.randrange(4)), self.body(random.randrange(4))
            items = (Loop("j", outer, (*before, loop, *after)),)
        out = StreamRegister(self.address, "out")
        stores = tuple(
            Instr(self.store, (MemoryAddress(out, i * self.bytes), StreamRegister(self.data, f"v{i}")))
            for i in range(10)
        )
        ends = tuple(Instr(self.store, (MemoryAddress(p), StreamRegister(self.data, "v0"))) for p in self.pointers)
        parameters = [StreamParameter(f"p{i}", p, self.memory) for i, p in enumerate(self.pointers)]
        parameters += [StreamParameter("n", count_register), StreamParameter("out", out, self.memory)]
        parameters += [StreamParameter(f"v{i}", StreamRegister(self.data, f"v{i}")) for i in range(10)]
        parameters += [StreamParameter("k", StreamRegister(self.count_file, "k"))]
        if self.count_file == "S":
            parameters += [
                StreamParameter("three", StreamRegister("S", "three")),
                StreamParameter("g", StreamRegister("S", "g")),
            ]
        else:
            parameters += [StreamParameter("g", StreamRegister("P", "g"))]
        values = {f"p{i}": (1 + i) * 1024 * self.bytes for i in range(3)}
        values |= {f"v{i}": 1000 + i for i in range(10)}
        values |= {"n": n, "out": 0, "k": 7, "three": 3, "g": 1}
        if random.random() < 0.3:
            values["p1"] = values["p0"] + random.randrange(5) * self.bytes
        return StreamProgram("random", tuple(parameters), (*items, *stores, *ends)), values
