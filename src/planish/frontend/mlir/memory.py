"""Memrefs: arrays of a function, views of them, loads and stores.

>>> from planish.ir.index.polynomial import show
>>> view = dense_view("A", Type("float", 32), (index("n"), index(8)))
>>> [show(x) for x in view.place((index("i"), index("j")))]
['i', 'j']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from planish.frontend.mlir.maps import NotAMap, read_map
from planish.frontend.mlir.scalars import map_of
from planish.frontend.mlir.state import Axis, MemrefView, MlirTranslation, is_plain
from planish.frontend.mlir.types import MemrefType, layout_of
from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import add, constant, mul
from planish.ir.nest import Alloc, Array
from planish.ir.traverse import variables
from planish.ir.types import Type

_DYNAMIC = -(1 << 63)
"""How the attribute of a list says that an entry is an operand."""
_LARGEST_ON_STACK = 1 << 16


def dense_view(array: str, type: Type, extents: tuple[Expr, ...]) -> MemrefView:
    """All of an array."""
    axes = tuple(Axis(index(0), ((number, index(1)),)) for number in range(len(extents)))
    return MemrefView(array, type, extents, axes)


def read_layout(value: SSAValue, op: Operation, cx: MlirTranslation) -> MemrefType:
    """The layout of a memref; PlanishError E0865, E0866."""
    found = layout_of(value.type)
    if isinstance(found, MemrefType):
        return found
    if not isinstance(value.type, MemRefType):
        kind = value.type.name.partition(".")[2] or value.type.name
        advice = "run one-shot-bufferize first: results come by memref" if kind == "tensor" else "use memrefs"
        cx.fail(op, "E0865", f"`{op.name}` of a {kind}: `{value.type}`", advice)
    cx.fail(op, "E0866", f"the memref `{value.type}`: {found}", "see docs/mlir.md for the layouts that are read")


def load(op: Operation, cx: MlirTranslation) -> None:
    """`memref.load` and `affine.load`."""
    view = cx.view(op.operands[0], op)
    place = view.place(_subscripts(op, op.operands[1:], view, cx))
    cx.define(op.results[0], Load(view.array, place, view.type), op)


def store(op: Operation, cx: MlirTranslation) -> None:
    """`memref.store` and `affine.store`."""
    value, view = cx.expr(op.operands[0], op), cx.view(op.operands[1], op)
    place = view.place(_subscripts(op, op.operands[2:], view, cx))
    cx.done.add(op)
    cx.store(view.array, place, value, op)


def _subscripts(op: Operation, operands: Sequence[SSAValue], view: MemrefView, cx: MlirTranslation) -> tuple[Expr, ...]:
    subscripts = tuple(cx.index(x, op) for x in operands)
    if "map" in op.properties:
        try:
            subscripts = read_map(map_of(op.properties["map"], op, cx), subscripts) if view.extents else ()
        except NotAMap as fault:
            cx.fail(op, "E0862", f"`{op.name}` is not well-formed: {fault}")
    if len(subscripts) != len(view.extents):
        message = f"{len(subscripts)} subscripts for a memref of {len(view.extents)} dimensions"
        cx.fail(op, "E0862", f"`{op.name}` is not well-formed: {message}")
    return subscripts


def dimension(op: Operation, cx: MlirTranslation) -> None:
    """`memref.dim`."""
    view, axis = cx.view(op.operands[0], op), constant(cx.index(op.operands[1], op))
    if axis is None or not 0 <= axis < len(view.extents):
        advice = f"write a constant from 0 to {len(view.extents) - 1}"
        cx.fail(op, "E0866", "the dimension that `memref.dim` asks for is not a constant that the memref has", advice)
    cx.define(op.results[0], view.extents[axis], op)


def rank(op: Operation, cx: MlirTranslation) -> None:
    """`memref.rank`."""
    cx.define(op.results[0], index(len(cx.view(op.operands[0], op).extents)), op)


def allocate(op: Operation, cx: MlirTranslation) -> None:
    """`memref.alloc` and `memref.alloca`: an array of the function, whose content is undefined at first."""
    layout = read_layout(op.results[0], op, cx)
    if layout.strides is not None:
        cx.fail(op, "E0866", f"`{op.name}` of a memref with a layout of its own", "allocate it dense")
    given = iter([cx.index(x, op) for x in op.operands])
    extents = tuple(next(given, index(0)) if n is None else index(n) for n in layout.extents)
    for extent in extents:
        if not is_plain(extent) or not variables(extent) <= cx.sizes:
            advice = "allocate as much as the largest one needs, and take a subview"
            cx.fail(op, "E0869", f"`{op.name}` of an extent that is not made of the sizes of the function", advice)
    name = cx.name(op.results[0], "t")
    if not extents:
        cx.out.append(Alloc(Array(name, layout.type, (), True, "register"), cx.span(op)))
    else:
        fixed = [constant(x) for x in extents]
        known = [n for n in fixed if n is not None]
        small = len(known) == len(fixed) and prod(known) * layout.type.size <= _LARGEST_ON_STACK
        if small:
            cx.out.append(Alloc(Array(name, layout.type, extents, True, "stack"), cx.span(op)))
        else:
            # One block serves all iterations of the loops around it, since each begins with an undefined content.
            cx.head.append(Alloc(Array(name, layout.type, extents, True, "dram"), cx.span(op)))
    cx.values[op.results[0]] = dense_view(name, layout.type, extents)


def forget(op: Operation, cx: MlirTranslation) -> None:
    """`memref.dealloc` and what only promises something: arrays end with the function."""


def cast(op: Operation, cx: MlirTranslation) -> None:
    """`memref.cast` and `memref.memory_space_cast`: the same elements under another type."""
    source = cx.view(op.operands[0], op)
    layout = read_layout(op.results[0], op, cx)
    if len(layout.extents) != len(source.extents):
        cx.fail(op, "E0862", f"`{op.name}` is not well-formed: the number of dimensions changes")
    extents = tuple(old if new is None else index(new) for old, new in zip(source.extents, layout.extents, strict=True))
    cx.values[op.results[0]] = MemrefView(source.array, source.type, extents, source.axes)


def alias(op: Operation, cx: MlirTranslation) -> None:
    """`memref.assume_alignment`, where it gives a result: the memref itself."""
    if op.results:
        cx.values[op.results[0]] = cx.view(op.operands[0], op)


def subview(op: Operation, cx: MlirTranslation) -> None:
    """`memref.subview`: a part of a memref, every so many elements; axes of one element may be left out."""
    source = cx.view(op.operands[0], op)
    given = iter([cx.index(x, op) for x in op.operands[1:]])
    offsets, sizes, strides = (_listed(op, x, given) for x in ("static_offsets", "static_sizes", "static_strides"))
    if not len(offsets) == len(sizes) == len(strides) == len(source.extents):
        cx.fail(op, "E0862", "`memref.subview` is not well-formed: an offset, size and stride for each dimension")
    layout = read_layout(op.results[0], op, cx)
    kept = _kept(_static(op, "static_sizes"), layout.extents)
    if kept is None:
        cx.fail(op, "E0866", "the dimensions that `memref.subview` leaves out have not one element each")
    position = {axis: number for number, axis in enumerate(kept)}
    axes = []
    for axis in source.axes:
        offset = axis.offset
        steps = []
        for number, step in axis.steps:
            offset = add(offset, mul(step, offsets[number]))
            if number in position:
                steps.append((position[number], mul(step, strides[number])))
        axes.append(Axis(offset, tuple(steps)))
    extents = tuple(sizes[axis] for axis in kept)
    cx.values[op.results[0]] = MemrefView(source.array, source.type, extents, tuple(axes))


def _static(op: Operation, name: str) -> tuple[int, ...]:
    values = op.properties[name]
    assert isinstance(values, DenseArrayBase)
    return tuple(int(n) for n in values.get_values())


def _listed(op: Operation, name: str, given: Iterator[Expr]) -> list[Expr]:
    """A list of numbers, the next operands in the place of those that are not constant."""
    return [next(given) if n == _DYNAMIC else index(n) for n in _static(op, name)]


def _kept(sizes: Sequence[int], extents: Sequence[int | None]) -> tuple[int, ...] | None:
    """The axes that a view of these extents keeps; the others have one element. Of two axes of one element it does not
    matter which is kept."""
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        wanted = extents[len(kept)] if len(kept) < len(extents) else 0
        if (size == _DYNAMIC and wanted is None) or size == wanted:
            kept.append(axis)
        elif size != 1:
            return None
    return tuple(kept) if len(kept) == len(extents) else None


def transpose(op: Operation, cx: MlirTranslation) -> None:
    """`memref.transpose`: the axes in another order."""
    source, order = cx.view(op.operands[0], op), map_of(op.properties["permutation"], op, cx)
    places = [int(constant(x) or 0) for x in read_map(order, [index(n) for n in range(len(source.extents))])]
    position = {old: new for new, old in enumerate(places)}
    axes = tuple(Axis(a.offset, tuple((position[n], step) for n, step in a.steps)) for a in source.axes)
    cx.values[op.results[0]] = MemrefView(source.array, source.type, tuple(source.extents[n] for n in places), axes)


def expand(op: Operation, cx: MlirTranslation) -> None:
    """`memref.expand_shape`: one axis becomes several."""
    source, layout = cx.view(op.operands[0], op), read_layout(op.results[0], op, cx)
    groups = _groups(op, cx)
    if any(n is None for n in layout.extents):
        cx.fail(op, "E0866", "`memref.expand_shape` to extents that are not constant", "use memref.subview")
    extents = tuple(index(n or 0) for n in layout.extents)
    axes = []
    for axis in source.axes:
        steps: list[tuple[int, Expr]] = []
        for number, step in axis.steps:
            for new in reversed(groups[number]):
                steps.append((new, step))
                step = mul(step, extents[new])
        axes.append(Axis(axis.offset, tuple(steps)))
    cx.values[op.results[0]] = MemrefView(source.array, source.type, extents, tuple(axes))


def _groups(op: Operation, cx: MlirTranslation) -> list[list[int]]:
    listed = op.properties["reassociation"]
    assert isinstance(listed, ArrayAttr)
    out: list[list[int]] = []
    for group in listed.data:
        assert isinstance(group, ArrayAttr)
        out.append([x.value.data for x in group.data if isinstance(x, IntegerAttr)])
    return out


Handler = Callable[[Operation, MlirTranslation], None]
HANDLERS: dict[str, Handler] = {
    "memref.load": load, "affine.load": load, "memref.store": store, "affine.store": store, "memref.dim": dimension,
    "memref.rank": rank, "memref.alloc": allocate, "memref.alloca": allocate, "memref.dealloc": forget,
    "memref.cast": cast, "memref.memory_space_cast": cast, "memref.subview": subview, "memref.transpose": transpose,
    "memref.expand_shape": expand, "memref.assume_alignment": alias,
}  # fmt: skip
"""What is done for each operation on memrefs."""

WRITES = {"memref.store": (1,), "affine.store": (1,), "memref.copy": (1,)}
"""The operands that an operation writes to; the outputs of linalg's come on top."""
