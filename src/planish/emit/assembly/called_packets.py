"""A nest of a C file by packets: a function in assembly, and the C that calls it with what its registers are to hold.

    text = packets_text(lowered, code, machine, "planish_f_0")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.emit.assembly.subroutine import print_subroutine
from planish.emit.c.expression import c_type
from planish.emit.c.function_head import write_head
from planish.emit.dropin.patched_file import emit_guard
from planish.ir.expr import Expr
from planish.ir.nest import Kernel
from planish.ir.traverse import substitute
from planish.ir.types import I32, INDEX, Type
from planish.vliw.machine import VliwMachine
from planish.vliw.program import PacketCode
from planish.vliw.streams.lower import Given, LoweredStream

SUFFIX = "_packets"
"""What the names of functions in assembly end with."""


@dataclass(frozen=True, slots=True)
class _Passed:
    """An argument: its C type where it arrives, and what is passed."""

    type: str
    value: str


def packets_text(kernel: Kernel, lowered: LoweredStream, code: PacketCode, machine: VliwMachine, name: str) -> str:
    """C that defines a static function `name` of a kernel's parameters, done by packets. They are in it as assembly."""
    called = f"{name}{SUFFIX}"
    assembly = function_text(code, machine, called)
    quoted = "\n".join(f'  "{line}\\n"' for line in assembly.splitlines())
    names = {x: f"a{i}" for i, x in enumerate(_parameters(kernel))}
    passed = [_passed(_given(lowered, x.name), kernel, lowered, names) for x in code.parameters]
    types = ", ".join(x.type for x in passed) or "void"
    head = write_head(f"static void {name}", [f"{y} {names[x]}" for x, y in _parameters(kernel).items()])
    unused = [f"  (void){x};" for x in names.values()]
    call = f"  {called}({', '.join(x.value for x in passed)});"
    return "\n".join(
        [f"__asm__(\n{quoted});", f"void {called}({types});", "", *head, "{", *unused, call, "}", ""]
    )


def function_text(code: PacketCode, machine: VliwMachine, name: str, visible: bool = False) -> str:
    """The assembly of a function, with what makes a symbol of it."""
    head = ["    .text", "    .p2align 5", *([f"    .globl {name}"] if visible else []), f"    .type {name},@function"]
    return "\n".join([*head, print_subroutine(code, machine, name), f"    .size {name}, .-{name}"])


def _parameters(kernel: Kernel) -> dict[str, str]:
    """The parameters of a kernel with their types in C."""
    sizes = dict.fromkeys(kernel.sizes, "ptrdiff_t")
    return sizes | {x.name: c_type(x.type) for x in kernel.scalars} | {x.name: "const void *" for x in kernel.arrays}


def _given(lowered: LoweredStream, name: str) -> Given:
    return next(x for x in lowered.given if x.parameter.name == name)


def _passed(given: Given, kernel: Kernel, lowered: LoweredStream, names: Mapping[str, str]) -> _Passed:
    if given.array is not None:
        return _Passed("const void *", names[given.array.name.rstrip("*")])
    name = given.parameter.name
    scalar = next((x.type for x in kernel.scalars if x.name == name), INDEX)
    if given.value is None and name in names:
        return _Passed(_register_type(scalar), names[name])
    value = given.value if given.value is not None else lowered.sizes[name]
    return _Passed(_register_type(INDEX), emit_guard(_over_sizes(value, lowered.sizes), names))


def _over_sizes(value: Expr, sizes: Mapping[str, Expr]) -> Expr:
    """An expression over the sizes that the caller knows."""
    for _ in sizes:
        value = substitute(value, dict(sizes))
    return value


def _register_type(kind: Type) -> str:
    """The type of a value in a register: numbers of 32 bits, and floats."""
    return c_type(kind) if kind.is_float else c_type(I32)
