"""A launch as a kernel of a device's language.

>>> from planish.emit.device.dialect import CUDA
>>> from planish.ir.text.parser import parse_kernel
>>> text = "launch (b: (n + 63) // 64) of (t: 64) { let i = 64 * b + t if i < n { A[i] = 0.0:f32 } }"
>>> kernel = parse_kernel(f"kernel k(n; A: f32[n]) {{ {text} }}")
>>> print(emit_kernel(kernel, kernel.body.body[0], "zero", CUDA).text)
static __global__ void __launch_bounds__(64) zero(int n, float *__restrict__ A)
{
  const int b = blockIdx.x;
  const int t = threadIdx.x;
  const int i = 64 * b + t;
  if (i < n) {
    A[i] = 0.0f;
  }
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import assert_never

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.names import free_name
from planish.emit.c.c_names import RESERVED, spell_names
from planish.emit.c.context import EmitContext, size_ranges
from planish.emit.c.expression import c_type, emit_expr, emit_place, literal
from planish.emit.c.function_head import write_head
from planish.emit.device.copies import LAND, copies_in, emit_copy, emit_row_copy
from planish.emit.device.dialect import DeviceDialect
from planish.emit.idioms.update_statements import update
from planish.ir.expr import Cast, Compare, Const, Expr, Load, Var, type_of
from planish.ir.nest import (
    Alloc,
    Array,
    Assign,
    Barrier,
    Block,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Reduce,
    Stmt,
    While,
)
from planish.ir.traverse import (
    arrays_in,
    bindings,
    children,
    expressions,
    map_block,
    map_expr,
    map_exprs,
    stored_arrays,
    variables,
    walk,
    with_children,
)
from planish.ir.types import BF16, BOOL, F16, INDEX, Type
from planish.ir.wrapping import has_data, wrapped

MOST_UNROLLED = 64
"""A loop over registers with more iterations is left to the compiler."""

TAKEN = RESERVED | {
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "dim3", "kernel", "global", "local", "constant",
    "private", "half", "uint", "uchar", "ushort", "ulong", "sampler_t", "event_t", "class", "template", "new", "delete",
    "this", "operator", "namespace", "public", "protected", "virtual", "friend", "try", "catch", "throw", "using",
    "explicit", "export", "mutable", "typename", "and", "or", "not", "xor", "bitand", "bitor", "compl", "signed",
    "min", "max", "stream", "workspace", "queue", "bool", "read_only", "write_only", "read_write", "pipe", "generic",
    "barrier",
}  # fmt: skip
"""Names that the languages of devices, and the host functions, have a meaning for."""


MOST_RESIDENT, MANY_SUMS = 256, 64
"""Of blocks of so many threads at most, each of which keeps so many sums in registers or more, two are to be on a
multiprocessor: one waits for memory while the other computes, which is worth a few registers kept elsewhere."""


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """The text of a kernel, its name, the names of what it is called with, how the host declares these, and the threads
    of a block along x, y and z."""

    name: str
    text: str
    arguments: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    threads: tuple[int, int, int] = (1, 1, 1)


def free_names(launch: Launch, arrays: Mapping[str, Array]) -> frozenset[str]:
    """The values and arrays that a launch uses, and does not make itself; values that say how long rows are as well."""
    used = {name for stmt in walk(launch.body) for x in expressions(stmt) for name in variables(x)}
    met = set(arrays_in(launch.body))
    rows = (x for name in met if name in arrays for x in arrays[name].shape[1:] if x is not None)
    return frozenset((used | met | {name for x in rows for name in variables(x)}) - set(bindings(launch)))


def emit_kernel(
    kernel: Kernel, launch: Launch, name: str, dialect: DeviceDialect, outer: Mapping[str, Array] | None = None,
    declared: Mapping[str, Type] | None = None,
) -> DeviceKernel:  # fmt: skip
    """The kernel of a launch. Indices have 32 bits: the host asks whether that is enough. `outer` are arrays that the
    host makes, `declared` the types of sizes in the user's code. PlanishError E0716 for floats of 16 bits,
    but for arrays of bf16."""
    if not dialect.booleans:
        launch = replace(launch, body=map_block(lambda x: map_exprs(partial(map_expr, _tested), x), launch.body))
    known_arrays = {x.name: x for x in kernel.arrays} | dict(outer or {})
    used = free_names(launch, known_arrays)
    arrays = [x for x in known_arrays.values() if x.name in used]
    stored = stored_arrays(launch.body)
    scalars = [x for x in kernel.scalars if x.name in used]
    known = {x.name for x in arrays} | {x.name for x in scalars}
    sizes = sorted(used - known)
    for type in (*(a.type for a in arrays), *(s.type for s in scalars)):
        # How one is passed by value is not the same in all languages.
        if type == F16 or (type == BF16 and type in {s.type for s in scalars}):
            raise PlanishError(Diagnostic("E0716", f"kernels of devices do not compute with {type} values"))
    spelt = spell_names({*used, *bindings(launch)}, TAKEN)
    cells = frozenset(x.name for x in arrays if not x.shape)
    ranges = {k: v for k, v in size_ranges(kernel, declared).items() if k in sizes}
    context = EmitContext(
        spelt, cells, known=ranges, seen=dict.fromkeys(sizes, (-(1 << 31), (1 << 31) - 1)),
        flat={x.name: x.shape for x in arrays if len(x.shape) > 1},
    )  # fmt: skip
    parameters = [f"int {spelt[x]}" for x in sizes]
    parameters += [f"{c_type(x.type)} {spelt[x.name]}" for x in scalars]
    passed = list(parameters)
    writer = _Writer(dialect, frozenset(x.name for x in scalars), copies_in(launch, dialect))
    for x in arrays:
        own, at = ("const " if x.name not in stored else "") + c_type(x.type), spelt[x.name]
        if dialect.handle and x.name in (outer or {}):
            parameters += [f"{dialect.pointer}char *planish_in_{at}", f"int64_t planish_at_{at}"]
            passed += [f"{dialect.handle} planish_in_{at}", f"int64_t planish_at_{at}"]
            place = f"({dialect.pointer}{own} *)(planish_in_{at} + planish_at_{at})"
            writer.lines.append(f"  {dialect.pointer}{own} *const {dialect.restrict} {at} = {place};")
        else:
            parameters.append(f"{dialect.pointer}{own} *{dialect.restrict} {at}")
            passed.append(f"{dialect.handle} {at}" if dialect.handle else parameters[-1])
    axes = {name: axis for (name, _), axis in zip(launch.block, "xyz", strict=False)}
    extents = (*(n for _, n in launch.block), 1, 1, 1)
    threads = extents[0], extents[1], extents[2]
    resident = ", 2" if prod(threads) <= MOST_RESIDENT and _keeps_sums(launch) else ""
    head = dialect.head.format(threads=prod(threads), resident=resident, x=threads[0], y=threads[1], z=threads[2])
    begin = len(writer.lines)
    for (id, _), axis in zip(launch.grid, "xyz", strict=False):
        writer.lines.append(f"  const int {spelt[id]} = {dialect.block(axis)};")
    for id, axis in axes.items():
        writer.lines.append(f"  const int {spelt[id]} = {dialect.thread(axis)};")
        context = _within(context, id, (0, dict(launch.block)[id] - 1))
    for id, _ in launch.grid:
        context = _within(context, id, (0, (1 << 31) - 1))
    writer.block(launch.body, context, "  ")
    writer.lines[begin:begin] = writer.hoisted
    text = "\n".join([*write_head(f"{head} {name}", parameters), "{", *writer.lines, "}", ""])
    names = (*sizes, *(x.name for x in scalars), *(x.name for x in arrays))
    return DeviceKernel(name, text, names, tuple(passed), threads)


def _tested(value: Expr) -> Expr:
    """A conversion to a truth value as a comparison, for languages that hold these as numbers."""
    match value:
        case Cast(operand=operand, type=type) if type == BOOL and type_of(operand) != BOOL:
            return Compare("ne", operand, Const(0.0 if type_of(operand).is_float else 0, type_of(operand)))
        case _:
            return value


def _keeps_sums(launch: Launch) -> bool:
    """Whether each thread adds to many elements in registers."""
    added = {x.array for x in walk(launch.body) if isinstance(x, Reduce) and x.op == "add"}
    own = [x.array for x in walk(launch.body) if isinstance(x, Alloc) and x.array.memory == "register"]
    return any(x.name in added and prod(_extent(y) for y in x.shape) >= MANY_SUMS for x in own)


def _extent(extent: Expr | None) -> int:
    return int(extent.value) if isinstance(extent, Const) else 1


def _within(context: EmitContext, name: str, reach: tuple[int, int]) -> EmitContext:
    return replace(context, known={**context.known, name: reach}, seen={**context.seen, name: reach})


@dataclass(slots=True)
class _Writer:
    """The lines of a kernel's body, and declarations that have to stand before them. `data`: names of values that are
    no iterators or sizes: scalars, and what was computed of arrays and got a name; `copies`: some are under way until a
    barrier."""

    dialect: DeviceDialect
    data: frozenset[str] = frozenset()
    copies: bool = False
    lines: list[str] = field(default_factory=list)
    hoisted: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def block(self, block: Block, context: EmitContext, indent: str) -> None:
        """Statements in order."""
        for stmt in block.body:
            context = self.statement(stmt, context, indent)

    def statement(self, stmt: Stmt, context: EmitContext, indent: str) -> EmitContext:
        """One statement; gives the context of those behind it."""
        match stmt:
            case Block():
                self.nested("", stmt, context, indent)
            case For():
                self.loop(stmt, context, indent)
            case If(condition=condition, then=then, otherwise=otherwise):
                shown = self.shown(condition, context) if has_data(condition, self.data) else condition
                self.nested(f"if ({emit_expr(shown, context)}) ", then, context, indent)
                if otherwise.body:
                    self.lines.pop()
                    self.nested("} else ", otherwise, context, indent)
            case Assign(array=array, index=at, value=value):
                copy = emit_copy(stmt, context, self.dialect)
                if copy is not None:
                    self.lines.append(f"{indent}{copy}")
                    return context
                place = emit_place(array, at, context)
                self.lines.append(f"{indent}{place} = {emit_expr(self.shown(value, context), context)};")
            case Reduce():
                self.lines.append(f"{indent}{update(replace(stmt, value=self.shown(stmt.value, context)), context)};")
            case Alloc(array=array) if array.memory == "shared" and self.dialect.hoisted:
                # Two arrays of one name in blocks beside each other remain two.
                spelt = context.names[array.name]
                own = free_name(spelt, ({*context.names.values()} - {spelt}) | self.taken)
                self.taken.add(own)
                context = replace(context.with_name(array.name, own), cells=context.cells - {array.name})
                self.hoisted.append(f"  {self.local(array, context)}")
                return context
            case Alloc(array=array):
                self.lines.append(indent + self.local(array, context))
                return replace(context, cells=context.cells - {array.name})
            case Let(var=var, value=value):
                type = type_of(value)
                # What arrays hold has all bits of its type; what is computed of iterators and sizes is an index.
                data = type != INDEX or has_data(value, self.data)
                kind = c_type(type) if data else "int"
                shown = self.shown(value, context) if data else value
                self.lines.append(f"{indent}const {kind} {context.names[var]} = {emit_expr(shown, context)};")
                if not data:
                    return context.with_value(var, value)
                self.data |= {var}
            case Barrier():
                self.lines += [indent + LAND] if self.copies else []
                self.lines.append(indent + self.dialect.barrier)
            case Launch() | While():
                raise AssertionError("threads run nests whose loops are counted, and no launches")
            case _:
                assert_never(stmt)
        return context

    def shown(self, value: Expr, context: EmitContext) -> Expr:
        """A value that is data, not a subscript."""
        return _wide(wrapped(value, self.data), self.data, context)

    def nested(self, head: str, block: Block, context: EmitContext, indent: str) -> None:
        """A block behind a head."""
        self.lines.append(f"{indent}{head}{{")
        self.block(block, context, indent + "  ")
        self.lines.append(f"{indent}}}")

    def loop(self, loop: For, context: EmitContext, indent: str) -> None:
        """A loop; one of few iterations over registers is unrolled, so that these have constant places."""
        row = emit_row_copy(loop, context, self.dialect)
        if row is not None:
            self.lines.append(f"{indent}{row}")
            return
        name = context.names[loop.var]
        lower, upper = emit_expr(loop.lower, context), emit_expr(loop.upper, context, 12)
        if not isinstance(loop.upper, Const | Var):
            end = f"{name}_end"
            head = f"for (int {name} = {lower}, {end} = {emit_expr(loop.upper, context)}; {name} < {end}; "
        else:
            head = f"for (int {name} = {lower}; {name} < {upper}; "
        head += f"{name}++) " if loop.step == 1 else f"{name} += {loop.step}) "
        if loop.facts.unroll or _is_short(loop):
            self.lines += [f"{indent}{self.dialect.unroll}"] if self.dialect.unroll else []
        self.nested(head, loop.body, context.inside(loop), indent)

    def local(self, array: Array, context: EmitContext) -> str:
        """The declaration of an array of the block or of the thread."""
        rows = "".join(f"[{emit_expr(x, context)}]" for x in array.shape if x is not None)
        name = context.names[array.name]
        if array.memory == "table":
            values = ", ".join(literal(Const(x, array.type))[0] for x in array.values)
            return f"const {c_type(array.type)} {name}{rows} = {{{values}}};"
        shared = f"{self.dialect.shared} " if array.memory == "shared" else ""
        return f"{shared}{c_type(array.type)} {name}{rows};"


def _is_short(loop: For) -> bool:
    """Whether a loop has a known small number of iterations, and no other loop in it has not."""
    if not (isinstance(loop.lower, Const) and isinstance(loop.upper, Const)):
        return False
    if int(loop.upper.value) - int(loop.lower.value) > MOST_UNROLLED:
        return False
    return all(isinstance(x.upper, Const) for x in walk(loop.body) if isinstance(x, For))


def _wide(value: Expr, data: Set[str], context: EmitContext) -> Expr:
    """A value in which iterators, which have 32 bits, count as the 64 bits that they stand for; not in subscripts. What
    is in `data` has 64."""
    match value:
        case Load():
            return value
        case Var(name=name, type=type) if type == INDEX and name not in data:
            return Var(f"((int64_t){context.names.get(name, name)})", INDEX)
        case _:
            return with_children(value, tuple(_wide(x, data, context) for x in children(value)))
