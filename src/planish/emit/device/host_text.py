"""The host functions of launches: one that starts them on arrays of the device, one that copies the caller's arrays.

Both return 0, or something else: sizes that 32 bits do not hold, no memory on the device, or another error of it. The
one that copies has then changed nothing that the caller sees, so that the original can run in its place; where arrays
cannot be copied back, of which some may have been, it ends the program.

>>> from planish.emit.device.dialect import CUDA
>>> from planish.ir.text.parser import parse_kernel
>>> text = "launch (b: (n + 63) // 64) of (t: 64) { let i = 64 * b + t if i < n { A[i] = 0.0:f32 } }"
>>> made = emit_launches(parse_kernel(f"kernel k(n; A: f32[n]) {{ {text} }}"), "zero", {"A": "4 * n"}, CUDA)
>>> made.head
'int zero_launch(ptrdiff_t n, float *A, cudaStream_t stream)'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planish.emit.c.c_names import spell_names
from planish.emit.c.context import EmitContext, size_ranges
from planish.emit.c.expression import c_type, emit_expr
from planish.emit.device.bfloat import define_bfloat
from planish.emit.device.copies import define_copies
from planish.emit.device.dialect import DeviceDialect
from planish.emit.device.kernel_text import TAKEN, DeviceKernel, emit_kernel
from planish.ir.expr import Binary, Const, index
from planish.ir.nest import Alloc, Array, Block, For, If, Kernel, Launch, Let, Stmt
from planish.ir.traverse import blocks_of, stored_arrays, used_names


@dataclass(frozen=True, slots=True)
class DeviceText:
    """The kernels of a nest, the function that launches them with its head, and that on the caller's arrays (`copied`).
    `workspace`: the head of the function that gives the bytes of arrays that the launches need; "" where none are.
    `name`: what these begin with."""

    kernels: tuple[DeviceKernel, ...]
    head: str
    launch: str
    copied: str
    workspace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Copies:
    """Arrays whose content is needed on the device, and those that come back."""

    into: frozenset[str]
    out: frozenset[str]


def emit_launches(
    kernel: Kernel, name: str, bytes: Mapping[str, str], dialect: DeviceDialect, copies: Copies | None = None,
    entry: str = "", factor: int = 1,
) -> DeviceText:  # fmt: skip
    """The functions NAME_launch and ENTRY (or NAME_copied) of a kernel whose nests are launches; `bytes` are C
    expressions of how much of each array is reached; 32 bits have to hold sizes `factor` times over."""
    host = _Host(kernel, name, dialect)
    host.block(kernel.body, "  ")
    spelt, stored = host.spelt, stored_arrays(kernel.body)
    copies = copies or Copies(frozenset(x.name for x in kernel.arrays), stored)
    parameters = [f"ptrdiff_t {spelt[x]}" for x in kernel.sizes]
    parameters += [f"{c_type(x.type)} {spelt[x.name]}" for x in kernel.scalars]
    arrays = [f"{'' if x.name in stored else 'const '}{c_type(x.type)} *{spelt[x.name]}" for x in kernel.arrays]
    on_device = [f"{dialect.handle} {spelt[x.name]}" for x in kernel.arrays] if dialect.handle else arrays
    extra = [dialect.buffer("workspace")] if host.locals else []
    head = f"int {name}_launch({', '.join([*parameters, *on_device, *extra, f'{dialect.stream} {dialect.order}'])})"
    times = f"{factor} * " if factor > 1 else ""
    guards = [f"planish_fits({times}{spelt[x]})" for x in kernel.sizes]
    guards += [f"planish_spans({bytes[x.name]}, {x.type.size})" for x in kernel.arrays]
    sized = f"size_t {name}_workspace({', '.join(parameters) or 'void'})"
    lines = [head, "{"]
    if guards:
        lines.append(f"  if (!({_joined(guards)})) {{")
        lines += ["    return planish_declined; /* Indices of 32 bits do not reach so far. */", "  }"]
    if dialect.handle:
        lines.append(f"  int planish_status = PLANISH_READY({name}, {dialect.order});")
        lines += ["  if (planish_status != 0) {", "    return planish_status;", "  }"]
    if host.locals:
        lines += [] if dialect.handle else ["  char *const planish_space = (char *)workspace;"]
        at = "0"
        for x in host.locals:
            place = f"{c_type(x.type)} *const {spelt[x.name]} = ({c_type(x.type)} *)(planish_space + {at})"
            lines.append(f"  const int64_t planish_at_{spelt[x.name]} = {at};" if dialect.handle else f"  {place};")
            at = f"{at} + planish_lines({host.bytes_of(x)})" if at != "0" else f"planish_lines({host.bytes_of(x)})"
        total = " + ".join(f"planish_lines({host.bytes_of(x)})" for x in host.locals)
        named = [*(spelt[x] for x in kernel.sizes), *(spelt[x.name] for x in kernel.scalars)]
        unused = [f"  (void){x};" for x in named if not re.search(rf"\b{x}\b", total)]
        lines = [sized, "{", *unused, f"  return {total};", "}", "", *lines]
    lines += [*host.lines, f"  return {dialect.calls.status};", "}", ""]
    whole = _copied(kernel, name, entry or f"{name}_copied", bytes, copies, dialect, host, parameters, arrays)
    return DeviceText(tuple(host.kernels), head, "\n".join(lines), whole, sized if host.locals else "", name)


def _joined(guards: list[str]) -> str:
    text = " && ".join(guards)
    return text if len(text) < 90 else " &&\n        ".join(guards)


def _copied(
    kernel: Kernel, name: str, entry: str, bytes: Mapping[str, str], copies: Copies, dialect: DeviceDialect,
    host: _Host, parameters: list[str], arrays: list[str],
) -> str:  # fmt: skip
    """The function on the caller's arrays."""
    calls, spelt = dialect.calls, host.spelt
    lines = [f"int {entry}({', '.join([*parameters, *arrays]) or 'void'})", "{", "  int planish_status = 0;"]
    named = {
        x.name: {"on": f"on_{spelt[x.name]}", "of": spelt[x.name], "bytes": f"bytes_{spelt[x.name]}"}
        for x in kernel.arrays
    }
    for x in kernel.arrays:
        lines.append(f"  const size_t bytes_{spelt[x.name]} = planish_bytes({bytes[x.name]});")
        kind = f"{dialect.handle} " if dialect.handle else f"{c_type(x.type)} *"
        lines.append(f"  {kind}on_{spelt[x.name]} = NULL;")
    arguments = [spelt[x] for x in (*kernel.sizes, *(s.name for s in kernel.scalars))]
    lines += [f"  {dialect.buffer('workspace')} = NULL;"] if host.locals else []
    tests = [f"{calls.allocate.format(**x)} != 0" for x in named.values()]
    if host.locals:
        needed = f"{name}_workspace({', '.join(arguments)})"
        tests.append(f"{calls.allocate.format(on='workspace', bytes=needed)} != 0")
    tests += [f"{calls.into.format(**named[x.name])} != 0" for x in kernel.arrays if x.name in copies.into]
    passed = [*arguments, *(x["on"] for x in named.values()), *(["workspace"] if host.locals else []), calls.first]
    tests += [f"{name}_launch({', '.join(passed)}) != 0", f"{calls.finish} != 0"]
    lines.append("  planish_status = " + " ||\n      ".join(tests) + ";")
    back = [named[x.name] for x in kernel.arrays if x.name in copies.out]
    if back:
        failed = " ||\n       ".join(f"{calls.back.format(**x)} != 0" for x in back)
        lines += [f"  if (planish_status == 0 &&\n      ({failed})) {{", "    planish_stop();", "  }"]
    lines += [f"  {calls.release.format(**x)};" for x in named.values()]
    lines += [f"  {calls.release.format(on='workspace')};"] if host.locals else []
    if calls.forget:
        # Else the next launch that goes well would give it.
        lines += ["  if (planish_status != 0) {", f"    {calls.forget};", "  }"]
    return "\n".join([*lines, "  return planish_status;", "}", ""])


@dataclass(slots=True)
class _Host:
    """The walk over what runs on the host: its lines, the kernels that it launches, the arrays that it makes."""

    kernel: Kernel
    name: str
    dialect: DeviceDialect
    lines: list[str] = field(default_factory=list)
    kernels: list[DeviceKernel] = field(default_factory=list)
    locals: list[Array] = field(default_factory=list)
    spelt: dict[str, str] = field(default_factory=dict)
    context: EmitContext = field(default_factory=EmitContext)

    def __post_init__(self) -> None:
        self.spelt = spell_names(used_names(self.kernel), TAKEN)
        self.context = EmitContext(self.spelt, known=size_ranges(self.kernel))
        self.collect(self.kernel.body)

    def collect(self, block: Block) -> None:
        """The arrays that the host makes."""
        for stmt in block.body:
            if isinstance(stmt, Alloc):
                self.locals.append(stmt.array)
            elif not isinstance(stmt, Launch):
                for part in blocks_of(stmt):
                    self.collect(part)

    def bytes_of(self, array: Array) -> str:
        """The bytes of an array that the host makes, as a C expression."""
        out = index(array.type.size)
        for extent in array.shape:
            assert extent is not None, "local arrays have extents"
            out = Binary("mul", out, extent if isinstance(extent, Const) else Binary("max", extent, index(0)))
        return emit_expr(out, self.context)

    def block(self, block: Block, indent: str) -> None:
        """Statements in order."""
        for stmt in block.body:
            self.statement(stmt, indent)

    def statement(self, stmt: Stmt, indent: str) -> None:
        """A loop, a test or a name on the host, or a launch."""
        match stmt:
            case Block():
                self.block(stmt, indent)
            case For(var=var, lower=lower, upper=upper, step=step, body=body):
                name = self.spelt[var]
                first, end = (emit_expr(x, self.context) for x in (lower, upper))
                more = f"{name}++" if step == 1 else f"{name} += {step}"
                self.lines.append(f"{indent}for (ptrdiff_t {name} = {first}; {name} < {end}; {more}) {{")
                self.block(body, indent + "  ")
                self.lines.append(f"{indent}}}")
            case If(condition=condition, then=then, otherwise=otherwise):
                self.lines.append(f"{indent}if ({emit_expr(condition, self.context)}) {{")
                self.block(then, indent + "  ")
                if otherwise.body:
                    self.lines.append(f"{indent}}} else {{")
                    self.block(otherwise, indent + "  ")
                self.lines.append(f"{indent}}}")
            case Let(var=var, value=value):
                self.lines.append(f"{indent}const ptrdiff_t {self.spelt[var]} = {emit_expr(value, self.context)};")
                # A product of sizes may be larger than each of them.
                self.lines += [f"{indent}if (!planish_fits({self.spelt[var]})) {{"]
                self.lines += [f"{indent}  return planish_declined;", f"{indent}}}"]
            case Alloc():
                pass
            case Launch():
                self.launch(stmt, indent)
            case _:
                raise AssertionError("what runs on the host is loops, tests, names and launches")

    def launch(self, launch: Launch, indent: str) -> None:
        """The start of a kernel, where it has blocks."""
        name = f"{self.name}_kernel{len(self.kernels)}"
        made = emit_kernel(self.kernel, launch, name, self.dialect, {x.name: x for x in self.locals})
        self.kernels.append(made)
        self.lines.append(f"{indent}{{")
        grid = {axis: emit_expr(x, self.context) for axis, (_, x) in zip("xyz", launch.grid, strict=False)}
        for axis, count in grid.items():
            self.lines.append(f"{indent}  const ptrdiff_t planish_{axis} = {count};")
        blocks = [f"planish_{axis}" if axis in grid else "1" for axis in "xyz"]
        threads = [str(n) for _, n in launch.block] + ["1"] * (3 - len(launch.block))
        own = {x.name for x in (*self.kernel.arrays, *self.locals)} | {x.name for x in self.kernel.scalars}
        passed = [self.passed(x) if x in own else f"(int){self.spelt[x]}" for x in made.arguments]
        order = self.dialect.order
        call = f"PLANISH_LAUNCH({name}, {', '.join(blocks)}, {', '.join(threads)}, {order}, {', '.join(passed)});"
        most = {"x": 2147483647, "y": 65535, "z": 65535}
        inner = indent + "  "
        if grid:
            self.lines.append(f"{inner}if ({' && '.join(f'planish_{axis} > 0' for axis in grid)}) {{")
            over = " || ".join(f"planish_{axis} > {most[axis]}" for axis in grid)
            self.lines += [f"{inner}  if ({over}) {{", f"{inner}    return planish_declined;", f"{inner}  }}"]
        self.lines.append(f"{inner}  {call}" if grid else f"{inner}{call}")
        if grid:
            self.lines.append(f"{inner}}}")
        self.lines.append(f"{indent}}}")

    def passed(self, name: str) -> str:
        """An array or a scalar as it is passed to a kernel: an array of the workspace where handles have no places by
        where it begins there."""
        local = self.dialect.handle and any(x.name == name for x in self.locals)
        return f"workspace, planish_at_{self.spelt[name]}" if local else self.spelt[name]


def prologue(dialect: DeviceDialect) -> str:
    """What the file begins with: the API, or what stands for it in the emulator, and functions of the host."""
    return f"""\
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#ifndef PLANISH_LAUNCH
{dialect.header}
#define PLANISH_LAUNCH(kernel, x, y, z, tx, ty, tz, stream, ...) \\
  kernel<<<dim3(x, y, z), dim3(tx, ty, tz), 0, stream>>>(__VA_ARGS__)
#define planish_declined 1
#endif
"""


_HELPERS = {
    "planish_stop": "#include <stdio.h>\n#include <stdlib.h>\n"
    "/* Some arrays may be copied back, and others not: the original cannot run in place of kernels any more. */\n"
    "static inline void planish_stop(void)\n"
    '{\n  fputs("planish: arrays could not be copied back from the device\\n", stderr);\n  abort();\n}',
    "planish_fits": "/* Whether 32 bits hold a size, with room for the ends of tiles. */\n"
    "static inline int planish_fits(ptrdiff_t n) { return n > -(1 << 30) && n < 1 << 30; }",
    "planish_spans": "/* Whether 32 bits hold the numbers of elements of so many bytes. */\n"
    "static inline int planish_spans(int64_t bytes, int64_t size) { return bytes / size < (1u << 31) - (1 << 20); }",
    "planish_bytes": "static inline size_t planish_bytes(int64_t bytes) { return bytes > 0 ? (size_t)bytes : 0; }",
    "planish_lines": "/* Bytes up to the next multiple of 256. */\n"
    "static inline size_t planish_lines(int64_t bytes)\n"
    "{\n  return bytes > 0 ? ((size_t)bytes + 255) / 256 * 256 : 0;\n}",
}

_TYPES = ("i8", "i16", "i32", "u8", "u16", "u32", "u64", "f32", "f64")
_WIDTHS = {"i32": ("int32_t", "uint32_t"), "i64": ("int64_t", "uint64_t")}
_BELOW = "((a) % (b) != 0 && ((a) % (b) < 0) != ((b) < 0))"

MACROS: Mapping[str, str] = {
    **{f"planish_{op}{x}": f"((a) {sign} (b) ? (a) : (b))"
       for op, sign in (("min", "<"), ("max", ">")) for x in ("", *(f"_{y}" for y in _TYPES))},
    "planish_floordiv": f"((a) / (b) - {_BELOW})",
    "planish_mod": f"((a) % (b) + ({_BELOW} ? (b) : 0))",
    **{f"planish_wrap_{op}_{x}": f"(({signed})(({unsigned})(a) {sign} ({unsigned})(b)))"
       for x, (signed, unsigned) in _WIDTHS.items() for op, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))},
}  # fmt: skip
"""What expressions call, in a form that all languages of devices take, for indices of 32 bits and values of any."""

_NAME = re.compile(r"\bplanish_\w+")


def macros_of(text: str) -> str:
    """The definitions of what a text calls.

    >>> print(macros_of("planish_min(planish_max(a, b), c)"), end="")
    #define planish_min(a, b) ((a) < (b) ? (a) : (b))
    #define planish_max(a, b) ((a) > (b) ? (a) : (b))
    """
    used = dict.fromkeys(_NAME.findall(text))
    return "".join(f"#define {x}(a, b) {MACROS[x]}\n" for x in used if x in MACROS)


def file_text(parts: Sequence[DeviceText], dialect: DeviceDialect) -> str:
    """All kernels of a file, and the functions that launch them, for compilers of C++."""
    kernels = "\n".join(x.text for part in parts for x in part.kernels)
    hosts = "\n".join(x for part in parts for x in (part.launch, part.copied))
    # C++ has another name for it.
    named = "#define _Bool bool\n" if re.search(r"\b_Bool\b", kernels + hosts) else ""
    named += define_bfloat(kernels + hosts, "__device__ inline ")
    named += define_copies(kernels, dialect)
    top = f"{prologue(dialect)}{named}{macros_of(kernels + hosts)}\n{kernels}\n{helpers_of(hosts)}"
    return f'{top}\nextern "C" {{\n\n{hosts}\n}}\n'


def helpers_of(text: str) -> str:
    """The functions that a text of the host calls."""
    return "\n".join(function for name, function in _HELPERS.items() if name in text)


def header_text(stem: str, heads: Sequence[str], dialect: DeviceDialect) -> str:
    """A header of the functions that launch kernels on arrays of the device."""
    guard = f"{re.sub(r'[^A-Za-z0-9]', '_', stem).upper()}_DEVICE_H"
    note = (
        "/* Arrays are on the device, and do not overlap; nothing is allocated or copied. They return 0, or something\n"
        " * else where a kernel could not be launched: an error of the device, or sizes beyond 32 bits. */\n"
    )
    declared = "".join(f"{x};\n" for x in heads)
    if dialect.handle:
        note = (
            "/* Arrays are buffers of the device of the queue, and do not overlap; nothing is allocated or copied.\n"
            " * The queue runs what it gets in order. They return 0, or something else where a kernel could not be\n"
            " * launched: an error of OpenCL (below 0; CL_INVALID_QUEUE_PROPERTIES for a queue that keeps no order),\n"
            " * or 1 for sizes beyond 32 bits. */\n"
        )
    top = f"#include <stddef.h>\n#include <stdint.h>\n{dialect.header}\n"
    declared = declared.replace("planish_bf16", "uint16_t")
    if re.search(r"\b_Bool\b", declared):
        top, declared = f"#include <stdbool.h>\n{top}", re.sub(r"\b_Bool\b", "bool", declared)
    return (
        f"#ifndef {guard}\n#define {guard}\n\n{top}\n{note}"
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{declared}\n#ifdef __cplusplus\n}}\n#endif\n'
        f"#endif /* {guard} */\n"
    )
