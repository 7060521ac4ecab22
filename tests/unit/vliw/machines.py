"""Machines that are written in code, for the tests of packing: names, widths, units and latencies are made up."""

from __future__ import annotations

from planish.ir.text.parser import parse_kernel
from planish.vliw.machine import MachineMemory, MachineOperation, Unit, VliwMachine, VliwRegisterFile


def operation(text: str, units: str, latency: int = 1, busy: int = 1, branch: bool = False) -> MachineOperation:
    """An operation from its definition."""
    kernel = parse_kernel(text)
    names = (*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays))
    operands = ", ".join(f"{{{x}}}" for x in names) if not branch else "{label}"
    return MachineOperation(
        kernel.name, f"{kernel.name} {operands}", kernel, tuple(units.split()), latency, busy, branch
    )


def lanes(name: str, value: str, arrays: str, width: int) -> str:
    """The text of an operation over lanes that sets or updates d."""
    parameters = ", ".join(f"{x.split('@')[0]}: f32[{width}] @{x.split('@')[1]}" for x in arrays.split())
    return f"kernel {name}({parameters}) {{ for l in 0 .. {width} {{ d[l] {value} }} }}"


def wide() -> VliwMachine:
    """Three multipliers and two load units beside scalars, latencies as of a deep pipeline."""
    mul = "M0 M1 M2"
    return VliwMachine(
        "wide",
        sides={"s": 5, "v": 6},
        units=(
            *(Unit(x, "s") for x in ("SM0", "SM1", "SI", "SL", "SB")),
            *(Unit(x, "v") for x in ("M0", "M1", "M2", "VI", "L0", "L1")),
        ),
        files=(
            VliwRegisterFile("V", 64, 1024),
            VliwRegisterFile("S", 64, 64, predicates=True),
            VliwRegisterFile("A", 16, 64, addresses=True),
        ),
        memories=(MachineMemory("AM", 786432, 128), MachineMemory("SM", 65536, 4)),
        operations=(
            operation(lanes("FMA", "+= a[l] * b[l]", "d@V a@V b@V", 32), mul, 6),
            operation(lanes("FADD", "= a[l] + b[l]", "d@V a@V b@V", 32), mul, 6),
            operation(lanes("MOVE", "= a[l]", "d@V a@V", 32), mul + " VI", 1),
            operation(lanes("LOAD", "= a[l]", "d@V a@AM", 32), "L0 L1", 9),
            operation(lanes("STORE", "= a[l]", "d@AM a@V", 32), "L0 L1", 4),
            operation("kernel SLOAD(d: f32[] @S, a: f32[] @SM) { d[] = a[] }", "SL", 7),
            operation("kernel BCAST(d: f32[32] @V, a: f32[] @S) { for l in 0 .. 32 { d[l] = a[] } }", "SM0 SM1", 4),
            operation("kernel ADDI(v: i64, d: i64[] @S, a: i64[] @S) { d[] = a[] + v }", "SI SM0", 1),
            operation("kernel ADDA(v: i64, d: i64[] @A, a: i64[] @A) { d[] = a[] + v }", "SI SM0", 2),
            operation("kernel MOVI(v: i64, d: i64[] @S) { d[] = v }", "SI", 1),
            operation("kernel COPY(d: i64[] @S, a: i64[] @S) { d[] = a[] }", "SI", 1),
            operation("kernel LT(d: i64[] @S, a: i64[] @S, b: i64[] @S) { d[] = i64(a[] < b[]) }", "SI", 1),
            operation("kernel JUMP() { }", "SB", 7, branch=True),
        ),
        update_latency=2,
    )


def narrow() -> VliwMachine:
    """Two units, four lanes, ports, a unit that is not pipelined, odd latencies, predicates in a file of their own."""
    return VliwMachine(
        "narrow",
        sides={"one": 2},
        units=(Unit("X", "one"), Unit("Y", "one")),
        files=(
            VliwRegisterFile("R", 12, 128, readers=4, writers=2),
            VliwRegisterFile("G", 12, 32, addresses=True),
            VliwRegisterFile("P", 3, 1, predicates=True),
        ),
        memories=(MachineMemory("DATA", 4096, 16),),
        operations=(
            operation(lanes("MAC", "+= a[l] * b[l]", "d@R a@R b@R", 4), "X", 3),
            operation(lanes("ADD", "= a[l] + b[l]", "d@R a@R b@R", 4), "X Y", 2),
            operation(lanes("DIV", "= a[l] / b[l]", "d@R a@R b@R", 4), "Y", 5, busy=4),
            operation(lanes("MV", "= a[l]", "d@R a@R", 4), "X Y", 1),
            operation(lanes("LD", "= a[l]", "d@R a@DATA", 4), "Y", 3),
            operation(lanes("ST", "= a[l]", "d@DATA a@R", 4), "Y", 2),
            operation("kernel SUBI(v: i32, d: i32[] @G, a: i32[] @G) { d[] = a[] - v }", "X Y", 1),
            operation("kernel SET(v: i32, d: i32[] @G) { d[] = v }", "X", 1),
            operation("kernel GE(v: i32, d: i32[] @P, a: i32[] @G) { d[] = i32(a[] >= v) }", "X", 2),
            operation("kernel BR() { }", "X", 4, branch=True),
        ),
        update_latency=1,
    )
