"""Functions of the host for arrays that may be on the device already: those are used where they are, others are copied.

They have the names and parameters of the functions that a drop-in calls, and are compiled behind `launches.h`, which
asks the driver of the device.

>>> from planish.emit.device.dialect import CUDA
>>> from planish.emit.device.host_text import emit_launches
>>> from planish.ir.text.parser import parse_kernel
>>> text = "launch (b: (n + 63) // 64) of (t: 64) { let i = 64 * b + t if i < n { A[i] = 0.0:f32 } }"
>>> kernel = parse_kernel(f"kernel k(n; A: f32[n]) {{ {text} }}")
>>> copies = Copies(frozenset(), frozenset("A"))
>>> made = emit_launches(kernel, "zero", {"A": "4 * n"}, CUDA, copies, "zero")
>>> print(emit_resident(kernel, "zero", {"A": "4 * n"}, copies, made), end="")
int zero(ptrdiff_t n, float *A)
{
  planish::Held on_A(A, planish_bytes(4 * n), false, true);
  return planish::finish(planish::ready() ? zero_launch(n, (float *)on_A.place, planish::stream()) : 1, {&on_A});
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planish.emit.c.c_names import spell_names
from planish.emit.c.expression import c_type
from planish.emit.device.dialect import DeviceDialect
from planish.emit.device.host_text import Copies, DeviceText, file_text
from planish.emit.device.kernel_text import TAKEN
from planish.ir.nest import Kernel
from planish.ir.traverse import stored_arrays, used_names


def emit_resident(kernel: Kernel, name: str, bytes: Mapping[str, str], copies: Copies, text: DeviceText) -> str:
    """The function NAME of a kernel whose launches are in `text`; `bytes` and `copies` are those of `emit_launches`."""
    spelt, stored = spell_names(used_names(kernel), TAKEN), stored_arrays(kernel.body)
    values = [f"ptrdiff_t {spelt[x]}" for x in kernel.sizes]
    values += [f"{c_type(x.type)} {spelt[x.name]}" for x in kernel.scalars]
    passed = [*(spelt[x] for x in kernel.sizes), *(spelt[x.name] for x in kernel.scalars)]
    arrays, held, places = [], [], []
    for x in kernel.arrays:
        own, at = f"{'' if x.name in stored else 'const '}{c_type(x.type)} *", spelt[x.name]
        arrays.append(f"{own}{at}")
        flags = [str(x.name in group).lower() for group in (copies.into, copies.out)]
        held.append(f"  planish::Held on_{at}({at}, planish_bytes({bytes[x.name]}), {', '.join(flags)});")
        places.append(f"({own})on_{at}.place")
    if text.workspace:
        held.append(f"  planish::Held on_workspace(nullptr, {name}_workspace({', '.join(passed)}), false, false);")
        places.append("on_workspace.place")
    every = ", ".join(f"&on_{spelt[x.name]}" for x in kernel.arrays) + (", &on_workspace" if text.workspace else "")
    call = f"{name}_launch({', '.join([*passed, *places, 'planish::stream()'])})"
    lines = [f"int {name}({', '.join([*values, *arrays]) or 'void'})", "{", *held]
    lines += [f"  return planish::finish(planish::ready() ? {call} : 1, {{{every}}});", "}", ""]
    return "\n".join(lines)


def launches_text(parts: Sequence[tuple[DeviceText, str]], dialect: DeviceDialect) -> str:
    """The functions of the host of some nests, each with that of `emit_resident`, with declarations of their kernels
    and the numbers by which these are known to the driver."""
    names = [x.name for part, _ in parts for x in part.kernels]
    numbers = "".join(f"enum {{ planish_number_{x} = {i} }};\n" for i, x in enumerate(names))
    declared = [
        replace(
            part, copied=resident,
            kernels=tuple(replace(x, text=x.text.partition("\n{")[0] + ";\n") for x in part.kernels),
        )
        for part, resident in parts
    ]  # fmt: skip
    return numbers + file_text(declared, dialect)


def kernels_text(parts: Sequence[DeviceText], dialect: DeviceDialect) -> str:
    """The kernels alone, by names that the driver finds."""
    text = file_text([replace(x, launch="", copied="") for x in parts], dialect)
    return "#define PLANISH_LAUNCH\n" + text.replace("static __global__", 'extern "C" __global__')
