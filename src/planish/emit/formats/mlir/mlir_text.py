"""A raised kernel as MLIR: linalg's named operations where there are some, generic ones, and affine loops.

>>> from planish.ir.expr import index
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> text = "kernel gemv(m, n; A: f64[m, n], x: f64[n], y: f64[m]) "
>>> text += "{ for i in 0 .. m { for j in 0 .. n { y[i] += A[i, j] * x[j] } } }"
>>> gemv = Operation("gemv", parse_kernel(text))
>>> kernel = parse_kernel("kernel k(n; A: f64[n, n], x: f64[n], y: f64[n]) { }")
>>> step = Apply(gemv, {x.name: whole(x) for x in kernel.arrays}, {"m": index("n"), "n": index("n")})
>>> print(emit_mlir(Raised(kernel, (step,))), end="")
module {
  func.func @k(%n: index, %A: memref<?x?xf64>, %x: memref<?xf64>, %y: memref<?xf64>) {
    // gemv
    linalg.matvec ins(%A, %x : memref<?x?xf64>, memref<?xf64>) outs(%y : memref<?xf64>)
    return
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from planish.emit.formats.blas.operands import stride_of
from planish.emit.formats.mlir.layout import (
    as_loops,
    attributes,
    dimensions_of,
    fold_of,
    in_order,
    is_plain,
    is_whole,
    map_text,
    spec_of,
    turned_around,
    window_of,
)
from planish.emit.formats.mlir.linalg import (
    Dimension,
    name_loops,
    named_convolution,
    named_pool,
    named_product,
    spell,
)
from planish.emit.formats.mlir.mlir_values import MlirWriter, memref_type, stored_type
from planish.emit.formats.numpy.array_statements import (
    Bulk,
    Part,
    Plain,
    Serial,
    ViewAccess,
    ViewProduct,
    as_products,
    list_parts,
)
from planish.emit.formats.step_comment import describe, head_of, loops_of
from planish.ir.expr import Binary, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import add, constant, mul, same, sub
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import loads
from planish.ir.types import BOOL
from planish.raising.raised import Apply, Case, Choice, Loops, Raised, Repeat, Step, View


def emit_mlir(*kernels: Raised) -> str:
    """A module with a function for each kernel, of its sizes (index), scalars and arrays (memrefs), in this order.

    Arrays do not overlap. What the kernel assumes and what an operation asks for is asserted.
    """
    functions = [_Function(x) for x in kernels]
    lines = [line for x in functions for line in x.text()]
    declared = sorted({text for x in functions for text in x.writer.functions.values()})
    return "\n".join(["module {", *(f"  {x}" for x in (*declared, *lines)), "}"]) + "\n"


@dataclass(frozen=True, slots=True)
class _Operand:
    """A value that is a memref, its type, and the loops that its dimensions are."""

    value: str
    type: str
    loops: tuple[str, ...]


@dataclass(slots=True)
class _Function:
    """The function that is being written."""

    raised: Raised
    writer: MlirWriter = field(default_factory=MlirWriter)

    def text(self) -> list[str]:
        """The lines of the function."""
        kernel, writer = self.raised.kernel, self.writer
        arrays = (*kernel.arrays, *self.raised.locals)
        names = [*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays)]
        writer.names = {x: f"%{x}" for x in names}
        writer.arrays = {x.name: x for x in arrays}
        writer.affine = writer.fixed = frozenset(kernel.sizes)
        writer.indent = "  "
        parameters = [f"%{x}: index" for x in kernel.sizes]
        parameters += [f"%{x.name}: {stored_type(x.type)}" for x in kernel.scalars]
        parameters += [f"%{x.name}: {memref_type(x)}" for x in kernel.arrays]
        for scalar in kernel.scalars:
            writer.names[scalar.name] = writer.opened(f"%{scalar.name}", scalar.type)
        for condition in kernel.assumptions:
            self.check(condition)
        for array in self.raised.locals:
            self.allocate(array)
        self.steps(self.raised.steps)
        for array in reversed(self.raised.locals):
            writer.line(f"memref.dealloc {writer.names[array.name]} : {memref_type(array)}")
        writer.line("return")
        head = f"func.func @{kernel.name}({', '.join(parameters)}) {{"
        return [head, *writer.lines, "}"]

    def steps(self, steps: Sequence[Step]) -> None:
        """Steps in order."""
        for step in steps:
            for line in describe(step):
                self.writer.line(f"// {line}")
            match step:
                case Apply(conditions=conditions):
                    for condition in conditions:
                        self.check(condition)
                    body = loops_of(step, self.raised)
                    parts = list_parts(body)
                    if all(isinstance(x, Plain) for x in parts):
                        self.block(body)
                    else:
                        self.parts(parts)
                case Loops(body=body):
                    self.block(body)
                case Repeat():
                    self.loop(head_of(step), partial(self.steps, step.steps))
                case Choice(cases=cases):
                    self.choose(cases)
                case _:
                    assert_never(step)

    def choose(self, cases: Sequence[Case]) -> None:
        """The first of several ways whose condition holds."""
        if len(cases) == 1:
            self.case(cases[0])
            return
        writer = self.writer
        writer.line(f"scf.if {writer.value(cases[0].condition)} {{")
        self.within(partial(self.case, cases[0]))
        writer.line("} else {")
        self.within(partial(self.choose, cases[1:]))
        writer.line("}")

    def case(self, case: Case) -> None:
        """One of several ways, with its arrays."""
        for array in case.locals:
            self.allocate(array)
        self.steps(case.steps)
        for array in reversed(case.locals):
            self.writer.line(f"memref.dealloc {self.writer.names[array.name]} : {memref_type(array)}")

    def check(self, condition: Expr) -> None:
        """Assert that a condition holds."""
        value = self.writer.value(condition)
        self.writer.line(f'cf.assert {value}, "what {self.raised.kernel.name} assumes does not hold"')

    def allocate(self, array: Array) -> None:
        """Memory for a local array."""
        writer = self.writer
        writer.arrays = {**writer.arrays, array.name: array}
        dynamic = [writer.value(x) for x in array.shape if x is not None and constant(x) is None]
        writer.names[array.name] = writer.define(f"memref.alloc({', '.join(dynamic)}) : {memref_type(array)}")

    def parts(self, parts: Sequence[Part]) -> None:
        """The parts of an operation, in order."""
        for part in parts:
            match part:
                case Plain(stmt=stmt):
                    self.statement(stmt)
                case Serial(loop=loop, body=body):
                    self.loop(loop, partial(self.parts, body))
                case Bulk():
                    self.bulk(part)
                case _:
                    assert_never(part)

    def loop(self, loop: For, body: Callable[[], None]) -> None:
        """A loop, affine where its bounds are."""
        writer = self.writer
        affine = writer.is_affine(loop.lower) and writer.is_affine(loop.upper)
        name = writer.fresh()
        if affine:
            lower, upper = writer.affine_map(loop.lower), writer.affine_map(loop.upper)
            step = f" step {loop.step}" if loop.step != 1 else ""
            writer.line(f"affine.for {name} = {lower} to {upper}{step} {{")
        else:
            lower, upper = writer.value(loop.lower), writer.value(loop.upper)
            stride = writer.define(f"arith.constant {loop.step} : index")
            writer.line(f"scf.for {name} = {lower} to {upper} step {stride} {{")
        before = (writer.names, writer.affine, writer.indent)
        writer.names = {**writer.names, loop.var: name}
        writer.affine = writer.affine | {loop.var} if affine else writer.affine - {loop.var}
        writer.indent += "  "
        body()
        writer.names, writer.affine, writer.indent = before
        writer.line("}")

    def bulk(self, bulk: Bulk) -> None:
        """A statement over whole arrays, by its name where it has one."""
        if self.moved(bulk) or self.pool(bulk):
            return
        products = as_products(bulk) if bulk.op == "add" else None
        for product in products or ():
            if not self.product(product):
                self.generic(product.bulk)
        if products is None:
            self.generic(bulk)

    def product(self, product: ViewProduct) -> bool:
        """A product that has a name: of matrices, or a convolution."""
        if product.factors or len(product.operands) != 2:
            return False
        target = in_order(product.target)
        turned = [turned_around(target)] if len(target.loops) == 2 else []
        for out in (target, *turned):
            for a, b in (product.operands, product.operands[::-1]):
                left, right = in_order(a), in_order(b)
                if all(is_plain(x.view) for x in (target, left, right)):
                    found = named_product(spec_of(left, right, out))
                    if found is not None:
                        self.named(f"linalg.{found}", [self.view(left), self.view(right)], self.view(out))
                        return True
                elif self.convolution(a, right, out):
                    return True
        return False

    def convolution(self, taken: ViewAccess, kernel: ViewAccess, target: ViewAccess) -> bool:
        """A convolution that has a name."""
        if not (is_plain(kernel.view) and is_plain(target.view)):
            return False
        dimensions = dimensions_of(taken)
        names = name_loops(target.loops, kernel.loops, taken.loops)
        if dimensions is None:
            return False
        found = named_convolution(
            spell(dimensions, names), "".join(names[x] for x in kernel.loops), len(target.loops)
        )
        window = window_of(dimensions, target)
        if found is None or window is None:
            return False
        bare = found in ("conv_1d", "conv_2d", "conv_3d")
        if bare and any(x != 1 for x in (*window[0], *window[1])):
            return False
        words = "" if bare else attributes(*window)
        given = self.slid(taken, dimensions)
        self.named(f"linalg.{found}{words}", [given, self.view(kernel)], self.view(target))
        return True

    def pool(self, bulk: Bulk) -> bool:
        """The sum, the greatest or the least of each window, where that has a name."""
        if not isinstance(bulk.value, Load) or bulk.op is None:
            return False
        taken, target = bulk.read(bulk.value), in_order(bulk.read(bulk.target))
        dimensions = dimensions_of(taken)
        if dimensions is None or not is_plain(target.view) or set(taken.loops) != {x.var for x in bulk.loops}:
            return False
        windows = [loop for x in dimensions for loop, _ in x if loop not in target.loops]
        found = named_pool(spell(dimensions, name_loops(target.loops, windows)), bulk.op)
        shape = [x.extent for name in windows for x in bulk.loops if x.var == name]
        window = window_of(dimensions, target)
        if found is None or window is None or any(constant(x) is None for x in shape):
            return False
        type = f"memref<{''.join(f'{constant(x)}x' for x in shape)}{stored_type(bulk.target.type)}>"
        operand = _Operand(self.writer.define(f"memref.alloc() : {type}"), type, ())
        given = self.slid(taken, dimensions)
        self.named(f"linalg.{found}{attributes(*window)}", [given, operand], self.view(target))
        self.writer.line(f"memref.dealloc {operand.value} : {type}")
        return True

    def moved(self, bulk: Bulk) -> bool:
        """A fill, a copy, a transpose or a reduction along axes."""
        writer = self.writer
        target = in_order(bulk.read(bulk.target))
        used = loads(bulk.value)
        if bulk.op is None and not any(bulk.read(x).loops for x in used):
            value = self.scalar(bulk.value)
            operand = self.view(target)
            type = stored_type(bulk.target.type)
            writer.line(f"linalg.fill ins({value} : {type}) outs({operand.value} : {operand.type})")
            return True
        if not isinstance(bulk.value, Load):
            return False
        source = in_order(bulk.read(bulk.value))
        if not is_plain(source.view) or set(source.loops) != {x.var for x in bulk.loops}:
            return False
        if bulk.op is None and source.loops == target.loops:
            self.named("linalg.copy", [self.view(source)], self.view(target))
            return True
        if bulk.op is None and len(source.loops) == len(target.loops):
            given, out = self.view(source), self.view(target)
            order = [source.loops.index(x) for x in target.loops]
            writer.line(f"linalg.transpose ins({given.value} : {given.type}) outs({out.value} : {out.type}) "
                        f"permutation = {order}")  # fmt: skip
            return True
        kept = tuple(x for x in source.loops if x in target.loops)
        if bulk.target.type == BOOL or bulk.op is None or kept != target.loops or not bulk.reduced:
            return False
        given, out = self.view(source), self.view(target)
        axes = [i for i, x in enumerate(source.loops) if x not in kept]
        word = fold_of(bulk.op, bulk.target.type)
        writer.line(f"linalg.reduce {{ {word} }} ins({given.value} : {given.type}) outs({out.value} : {out.type}) "
                    f"dimensions = {axes}")  # fmt: skip
        return True

    def scalar(self, expr: Expr) -> str:
        """A number as it is stored."""
        return self.writer.closed(self.writer.value(expr), type_of(expr))

    def named(self, name: str, given: Sequence[_Operand], out: _Operand) -> None:
        """An operation with its operands."""
        values, types = ", ".join(x.value for x in given), ", ".join(x.type for x in given)
        self.writer.line(f"{name} ins({values} : {types}) outs({out.value} : {out.type})")

    def generic(self, bulk: Bulk) -> None:
        """Any statement over whole arrays."""
        writer = self.writer
        target = in_order(bulk.read(bulk.target))
        order = [x.var for x in bulk.loops]
        if {x for load in (bulk.target, *loads(bulk.value)) for x in bulk.read(load).loops} != set(order):
            # No operand would say how often a loop runs.
            self.statement(as_loops(bulk))
            return
        moving: dict[Load, ViewAccess] = {}
        fixed: dict[Load, str] = {}
        own: list[Load] = []
        for load in dict.fromkeys(loads(bulk.value)):
            access = in_order(bulk.read(load))
            if load.array == bulk.target.array and all(map(same, load.index, bulk.target.index)):
                own.append(load)
            elif access.loops:
                moving[load] = access
            else:
                fixed[load] = writer.value(load)
        given, out = [self.view(x) for x in moving.values()], self.view(target)
        maps = ", ".join(map_text(x.loops, order) for x in (*given, out))
        kinds = ", ".join('"parallel"' if x in target.loops else '"reduction"' for x in order)
        head = f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}"
        ins = f" ins({', '.join(x.value for x in given)} : {', '.join(x.type for x in given)})" if given else ""
        writer.line(f"{head}{ins} outs({out.value} : {out.type}) {{")
        inside = [writer.fresh() for _ in given] + [writer.fresh()]
        kind = stored_type(bulk.target.type)
        kinds_in = [*(stored_type(x.type) for x in moving), kind]
        writer.line(f"^bb0({', '.join(f'{x}: {t}' for x, t in zip(inside, kinds_in, strict=True))}):")
        before = (writer.known, writer.indent)
        writer.indent += "  "
        known = dict(fixed)
        for load, name in zip((*moving, *([own[0]] if own else [bulk.target])), inside, strict=True):
            known[load] = writer.opened(name, load.type)
        for load in own:
            known[load] = known[own[0]]
        writer.known = known
        old = own[0] if own else bulk.target
        value_expr: Expr = bulk.value if bulk.op is None else Binary(bulk.op, old, bulk.value)
        value = self.scalar(value_expr)
        writer.line(f"linalg.yield {value} : {kind}")
        writer.known, writer.indent = before
        writer.line("}")

    def view(self, access: ViewAccess) -> _Operand:
        """The memref of a view."""
        array = self.writer.arrays[access.view.array]
        if is_whole(access.view, array):
            return _Operand(self.writer.names[array.name], memref_type(array), access.loops)
        offset = self.offset(access.view, array)
        strides = [stride_of(access.view, i, array) for i in range(len(access.loops))]
        return self.cast(array, offset, list(access.view.shape), strides, access.loops)

    def slid(self, access: ViewAccess, dimensions: Sequence[Dimension]) -> _Operand:
        """The part of an array that windows slide along, with the array's own dimensions."""
        view = access.view
        extents: list[Expr] = []
        for moving in dimensions:
            reach: Expr = index(1)
            for loop, step in moving:
                reach = add(reach, mul(index(step), sub(view.shape[access.loops.index(loop)], index(1))))
            extents.append(reach)
        kept = [d for d in range(len(view.start)) if any(steps[d] for steps in view.steps)]
        steps = tuple(tuple(int(d == e) for e in range(len(view.start))) for d in kept)
        return self.view(ViewAccess(tuple(f"d{d}" for d in kept), View(view.array, view.start, steps, tuple(extents))))

    def offset(self, view: View, array: Array) -> Expr:
        """How many elements before the first one of a view are."""
        out: Expr = index(0)
        for place, extent in zip(view.start, array.shape, strict=True):
            out = add(mul(out, extent) if extent is not None else index(0), place)
        return out

    def cast(
        self, array: Array, offset: Expr, shape: list[Expr], strides: list[Expr], loops: tuple[str, ...]
    ) -> _Operand:
        """A memref of an array's elements, counted from its first one."""
        writer = self.writer

        def spelt(x: Expr) -> tuple[str, str]:
            known = constant(x)
            return (str(known), str(known)) if known is not None else (writer.value(x), "?")

        def extent(x: Expr) -> tuple[str, str]:
            known = constant(x)
            if known is not None:
                return str(max(0, known)), str(max(0, known))
            return (writer.value(x) if isinstance(x, Var) else writer.value(Binary("max", x, index(0)))), "?"

        first, sizes, steps = spelt(offset), [extent(x) for x in shape], [spelt(x) for x in strides]
        element = stored_type(array.type)
        layout = f"strided<[{', '.join(t for _, t in steps)}], offset: {first[1]}>"
        type = f"memref<{''.join(f'{t}x' for _, t in sizes)}{element}, {layout}>"
        value = writer.define(
            f"memref.reinterpret_cast {writer.names[array.name]} to offset: [{first[0]}], "
            f"sizes: [{', '.join(v for v, _ in sizes)}], strides: [{', '.join(v for v, _ in steps)}] : "
            f"{memref_type(array)} to {type}"
        )
        return _Operand(value, type, loops)

    def block(self, block: Block) -> None:
        """Statements in order; local arrays end with it."""
        writer = self.writer
        names, arrays, affine = dict(writer.names), writer.arrays, writer.affine
        local = []
        for stmt in block.body:
            if isinstance(stmt, Alloc):
                self.allocate(stmt.array)
                local.append(stmt.array)
            else:
                self.statement(stmt)
        for array in reversed(local):
            writer.line(f"memref.dealloc {writer.names[array.name]} : {memref_type(array)}")
        writer.names, writer.arrays, writer.affine = names, arrays, affine

    def statement(self, stmt: Stmt) -> None:
        """One statement, element by element."""
        writer = self.writer
        match stmt:
            case Block():
                self.block(stmt)
            case For():
                self.loop(stmt, partial(self.block, stmt.body))
            case If():
                writer.line(f"scf.if {writer.value(stmt.condition)} {{")
                self.within(partial(self.block, stmt.then))
                if stmt.otherwise.body:
                    writer.line("} else {")
                    self.within(partial(self.block, stmt.otherwise))
                writer.line("}")
            case Assign(array=array, index=at, value=value):
                writer.store(writer.arrays[array], at, writer.value(value))
            case Reduce(array=array, index=at):
                writer.store(writer.arrays[array], at, writer.value(updated(stmt)))
            case Let(var=var, value=value):
                writer.names = {**writer.names, var: writer.value(value)}
                writer.affine -= {var}
            case Alloc(array=array):
                self.allocate(array)
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)

    def within(self, body: Callable[[], None]) -> None:
        """What `body` writes, further in; names that it adds end there."""
        writer = self.writer
        before = (writer.names, writer.affine, writer.indent)
        writer.indent += "  "
        body()
        writer.names, writer.affine, writer.indent = before
