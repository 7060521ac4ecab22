"""A nest of a C file by packets: a function in assembly, and the C that calls it with what its registers are to hold.

    text = packets_text(kernel, [PacketVersion(lowered, code)], machine, "planish_f_0")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from planish.vliw.streams.programs.selected import Alignment

SUFFIX = "_packets"
"""What the names of functions in assembly end with."""

ALIGNED = "_aligned"
"""And those of functions for vectors at multiples of their size."""

FEW = "_few"
"""And those of functions for few iterations."""


@dataclass(frozen=True, slots=True)
class _Passed:
    """An argument: its C type where it arrives, and what is passed."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class PacketVersion:
    """Packets, where what they touch has to lie (None: anywhere), and for which sizes they are (None: all)."""

    lowered: LoweredStream
    code: PacketCode
    alignment: Alignment | None = None
    where: Expr | None = None

    @property
    def suffix(self) -> str:
        """What the name of the function in assembly ends with."""
        return f"{SUFFIX}{ALIGNED if self.alignment is not None else FEW if self.where is not None else ''}"

    def condition(self, names: Mapping[str, str]) -> str:
        """When these packets are the ones that are called; "" where nothing is asked."""
        if self.alignment is not None:
            return _holds(self.alignment, names)
        return emit_guard(self.where, names) if self.where is not None else ""


def packets_text(kernel: Kernel, versions: Sequence[PacketVersion], machine: VliwMachine, name: str) -> str:
    """C that defines a static function `name` of a kernel's parameters, done by packets, which are in it as assembly:
    the last ones whose alignment holds."""
    names = {x: f"a{i}" for i, x in enumerate(_parameters(kernel))}
    lines: list[str] = []
    calls: list[str] = []
    for version in versions:
        called = f"{name}{version.suffix}"
        assembly = function_text(version.code, machine, called)
        quoted = "\n".join(f'  "{line}\\n"' for line in assembly.splitlines())
        passed = [_passed(_given(version.lowered, x.name), kernel, version.lowered, names)
                  for x in version.code.parameters]  # fmt: skip
        types = ", ".join(x.type for x in passed) or "void"
        lines += [f"__asm__(\n{quoted});", f"void {called}({types});", ""]
        call = f"{called}({', '.join(x.value for x in passed)});"
        condition = version.condition(names)
        if condition:
            calls.insert(0, f"  if ({condition}) {{\n    {call}\n    return;\n  }}")
        else:
            calls.append(f"  {call}")
    head = write_head(f"static void {name}", [f"{y} {names[x]}" for x, y in _parameters(kernel).items()])
    unused = [f"  (void){x};" for x in names.values()]
    return "\n".join([*lines, *head, "{", *unused, *calls, "}", ""])


def _holds(alignment: Alignment, names: Mapping[str, str]) -> str:
    """The condition that addresses and distances are multiples of a vector's size."""
    addresses = [f"(uintptr_t){names[x]}" for x in sorted(alignment.arrays)]
    distances = [f"(uintptr_t)({emit_guard(x, names)})" for x in sorted(alignment.bytes, key=str)]
    return f"(({' | '.join([*addresses, *distances])}) & {alignment.width - 1}) == 0"


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
