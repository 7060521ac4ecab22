"""Functions of a module as kernels: their arguments as sizes, scalars and arrays, their operations as statements.

>>> text = '''
... func.func @scale(%a: f32, %x: memref<?xf32>) {
...   %c0 = arith.constant 0 : index
...   %n = memref.dim %x, %c0 : memref<?xf32>
...   affine.for %i = 0 to %n {
...     %0 = affine.load %x[%i] : memref<?xf32>
...     %1 = arith.mulf %0, %a : f32
...     affine.store %1, %x[%i] : memref<?xf32>
...   }
...   return
... }
... '''
>>> from planish.ir.text.printer import print_kernel
>>> print(print_kernel(read_functions(Source("scale.mlir", text), (), "strict")[0]), end="")
kernel scale(n; a: f32; x: f32[n])
{
  for i in 0 .. n {
    x[i] *= a
  }
}
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block as Body
from xdsl.ir import Operation, SSAValue

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.frontend.mlir.control import HANDLERS as CONTROL
from planish.frontend.mlir.control import body_of
from planish.frontend.mlir.memory import HANDLERS as MEMORY
from planish.frontend.mlir.memory import dense_view, read_layout
from planish.frontend.mlir.scalars import compute
from planish.frontend.mlir.sizes import Sizes, name_sizes
from planish.frontend.mlir.state import Axis, MemrefView, MlirScalar, MlirTranslation, clean_name
from planish.frontend.mlir.structured import HANDLERS as STRUCTURED
from planish.frontend.mlir.syntax import Module, parse_module, verify
from planish.frontend.mlir.types import MemrefType, scalar_type
from planish.ir.expr import Cast, Var, index
from planish.ir.nest import Array, Block, Kernel, Scalar
from planish.ir.types import INDEX, Floats
from planish.poly.canonical.coalesce_cells import coalesce_cells

_STATEMENTS = CONTROL | STRUCTURED
_ENDS = frozenset({"scf.yield", "scf.condition", "affine.yield", "linalg.yield", "scf.reduce", "func.return"})
_ADVICE = "docs/mlir.md lists what is supported; mlir-opt may lower or inline it"


def read_functions(source: Source, wanted: tuple[str, ...], floats: Floats) -> tuple[Kernel, ...]:
    """The kernels of a text's functions, or only of those that are wanted, where any are named.

    Raises PlanishError E0861 to E0873.
    """
    module = parse_module(source)
    found = [op for top in module.operations for op in _functions(top)]
    defined = [op for op in found if op.body.blocks]
    if not defined:
        message, advice = "the file defines no function", "write `func.func @name(…) { … return }`"
        raise PlanishError(Diagnostic("E0863", message, source.point(1), advice), source)
    chosen = [op for op in defined if not wanted or {*wanted} & {*_names(op)}]
    missing = [x for x in wanted if not any(x in _names(op) for op in defined)]
    if missing:
        names = ", ".join(op.sym_name.data for op in defined)
        message = f"no function `{missing[0]}` in {source.name}"
        raise PlanishError(Diagnostic("E0104", message, source.point(1), f"the file defines: {names}"), source)
    return tuple(_read_function(op, module, floats) for op in chosen)


def _names(op: func.FuncOp) -> tuple[str, ...]:
    """What a function is called: in the text, as a kernel, and in C where C has that name already."""
    name = clean_name(op.sym_name.data, "kernel_")
    return op.sym_name.data, name, f"kernel_{name.lstrip('_')}"


def _functions(op: Operation) -> list[func.FuncOp]:
    if isinstance(op, ModuleOp):
        return [x for inner in op.body.blocks[0].ops for x in _functions(inner)] if op.body.blocks else []
    return [op] if isinstance(op, func.FuncOp) else []


def _read_function(op: func.FuncOp, module: Module, floats: Floats) -> Kernel:
    verify(op, module)
    cx = MlirTranslation(module, floats, set())
    if op.function_type.outputs.data:
        advice = "give it a memref to write to: `mlir-opt --buffer-results-to-out-params`"
        cx.fail(op, "E0867", f"`{op.sym_name.data}` gives back a value, and a kernel writes to memrefs", advice)
    body = body_of(op.body, op, cx)
    sizes = name_sizes(op, body, cx)
    cx.sizes = frozenset(sizes.names)
    scalars: list[Scalar] = []
    arrays: list[Array] = []
    for number, value in enumerate(body.args):
        name = sizes.arguments[number]
        if number in sizes.layouts:
            array, view = _argument(name, number, sizes.layouts[number], sizes)
            arrays.append(array)
            cx.values[value] = view
        elif name in cx.sizes:
            _bind_size(value, name, cx)
        else:
            type = scalar_type(value.type)
            if type is None:
                read_layout(value, op, cx)
                cx.fail(op, "E0865", f"an argument of type `{value.type}`", "numbers and memrefs are supported")
            scalars.append(Scalar(name, type))
            cx.values[value] = MlirScalar(Var(name, type))
    cx.arguments = frozenset(x.name for x in arrays)
    _execute(body, cx)
    nest = coalesce_cells(Block((*cx.head, *cx.out)))
    return Kernel(_names(op)[1], tuple(sizes.names), tuple(scalars), tuple(arrays), nest, span=module.span_of(op))


def _bind_size(value: SSAValue, name: str, cx: MlirTranslation) -> None:
    type, variable = scalar_type(value.type), Var(name, INDEX)
    assert type is not None
    cx.values[value] = MlirScalar(variable if type == INDEX else Cast(variable, type), variable)


def _argument(name: str, number: int, layout: MemrefType, sizes: Sizes) -> tuple[Array, MemrefView]:
    """The array behind a memref, and the view of it: of rows where they are dense, else of memory as it lies."""
    extents = tuple(sizes.extents.get((number, axis), index(n or 0)) for axis, n in enumerate(layout.extents))
    if layout.strides is None:
        return Array(name, layout.type, extents), dense_view(name, layout.type, extents)
    offset = sizes.offsets.get(number, index(layout.offset or 0))
    steps = [sizes.strides.get((number, axis), index(n or 0)) for axis, n in enumerate(layout.strides)]
    return Array(name, layout.type, (None,)), MemrefView(
        name, layout.type, extents, (Axis(offset, tuple(enumerate(steps))),)
    )


def _execute(body: Body, cx: MlirTranslation) -> None:
    for op in body.ops:
        if op in cx.done or op.name in _ENDS:
            if op.name == "func.return" and op.operands:
                cx.fail(op, "E0867", "a kernel gives back nothing", "write the result to a memref")
            continue
        if op.name in MEMORY:
            MEMORY[op.name](op, cx)
        elif op.name in _STATEMENTS:
            _STATEMENTS[op.name](op, cx, _execute)
        elif not compute(op, cx):
            _refuse(op, cx)
        cx.done.add(op)


def _refuse(op: Operation, cx: MlirTranslation) -> None:
    match op.name.partition(".")[0]:
        case "func":
            cx.fail(op, "E0867", "a call: a kernel is one function", "inline it: `mlir-opt --inline`")
        case "cf":
            cx.fail(op, "E0873", f"`{op.name}` jumps", "write loops and conditions with scf")
        case "tensor" | "bufferization":
            cx.fail(op, "E0865", f"`{op.name}` works on tensors", "run one-shot-bufferize first")
        case _:
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            cx.fail(op, "E0864", f"the operation `{name}` is not supported", _ADVICE)

