"""The sizes of a function: its index arguments, and an extent for each `?` in the types of its memrefs.

Extents that an operation of linalg at the top of the function asks to be equal are one size. Its name is that of the
`memref.dim` that reads it, else of the memref and the axis: `A_1`.

name_sizes(op, body, cx).names      # ("m", "n", "A_stride0")
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Block as Body
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from planish.frontend.mlir.memory import read_layout
from planish.frontend.mlir.state import MlirTranslation, clean_name
from planish.frontend.mlir.structured import HANDLERS, structure_of
from planish.frontend.mlir.types import LARGEST_SIZE, MemrefType
from planish.ir.expr import Expr, Var, index
from planish.ir.types import INDEX

Place = tuple[int, int]
"""An argument and an axis of it."""


@dataclass(slots=True)
class Sizes:
    """The names of a function's arguments, and its sizes in the order of the arguments.

    `layouts` are those of the arguments that are memrefs; `extents`, `strides` and `offsets` say what stands for those
    that the types do not tell.
    """

    arguments: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    layouts: dict[int, MemrefType] = field(default_factory=dict)
    extents: dict[Place, Expr] = field(default_factory=dict)
    strides: dict[Place, Expr] = field(default_factory=dict)
    offsets: dict[int, Expr] = field(default_factory=dict)


def name_sizes(op: Operation, body: Body, cx: MlirTranslation) -> Sizes:
    """Name the arguments and find the sizes of a function; `cx` learns where the sizes lie."""
    out = Sizes()
    for number, value in enumerate(body.args):
        out.arguments.append(cx.name(value, "a"))
        if isinstance(value.type, MemRefType):
            out.layouts[number] = read_layout(value, op, cx)
    equal = _equal_extents(body, out, cx)
    wanted = _wanted_names(body, cx)
    found: dict[Place, Expr] = {}
    for number, value in enumerate(body.args):
        layout, name = out.layouts.get(number), out.arguments[number]
        if layout is None:
            if _is_size(value):
                out.names.append(name)
            continue
        for axis, extent in enumerate(layout.extents):
            if extent is not None:
                continue
            first = equal.find((number, axis))
            if first not in found:
                fixed = equal.fixed.get(first)
                best = min((x for x in wanted if equal.find(x) == first), default=None)
                called = wanted[best] if best is not None else f"{name}_{axis}"
                found[first] = index(fixed) if fixed is not None else _size(called, 0, out, cx)
            out.extents[number, axis] = found[first]
        if layout.strides is not None:
            for axis, stride in enumerate(layout.strides):
                if stride is None:
                    out.strides[number, axis] = _size(f"{name}_stride{axis}", -LARGEST_SIZE, out, cx)
            if layout.offset is None:
                out.offsets[number] = _size(f"{name}_offset", -LARGEST_SIZE, out, cx)
    return out


def _size(wanted: str, least: int, sizes: Sizes, cx: MlirTranslation) -> Expr:
    name = cx.fresh(wanted)
    cx.known[name] = (least, LARGEST_SIZE)
    sizes.names.append(name)
    return Var(name, INDEX)


def _is_size(value: SSAValue) -> bool:
    """Whether a scalar argument is an index, or an integer that is used as one: in a cast, or as a loop's bound."""
    if isinstance(value.type, IndexType):
        return True
    if not isinstance(value.type, IntegerType) or value.type.width.data not in (8, 16, 32, 64):
        return False
    return any(
        use.operation.name == "arith.index_cast" or (use.operation.name == "scf.for" and use.index < 3)
        for use in value.uses
    )


def _wanted_names(body: Body, cx: MlirTranslation) -> dict[Place, str]:
    """What `memref.dim` calls the extents of arguments."""
    out: dict[Place, str] = {}
    for op in body.walk():
        if op.name == "memref.dim" and (place := _argument(op.operands[0])) is not None:
            name = cx.module.name_of(op.results[0])
            axis = _constant(op.operands[1])
            if axis is not None and name and not name[0].isdigit() and not name.startswith("dim"):
                out.setdefault((place, axis), clean_name(name, "n"))
    return out


def _argument(value: SSAValue) -> int | None:
    """The number of a function's argument."""
    owner = value.owner
    if isinstance(value, BlockArgument) and isinstance(owner, Body):
        parent = owner.parent_op()
        return value.index if parent is not None and parent.name == "func.func" else None
    return None


def _constant(value: SSAValue) -> int | None:
    if isinstance(value, OpResult) and value.op.name == "arith.constant":
        held = value.op.properties.get("value")
        return held.value.data if isinstance(held, IntegerAttr) else None
    return None


@dataclass(slots=True)
class _Classes:
    """Extents that are equal: each leads to another of its class, and some classes have a constant value."""

    leads: dict[Place, Place] = field(default_factory=dict)
    fixed: dict[Place, int] = field(default_factory=dict)

    def find(self, place: Place) -> Place:
        """The one that stands for all of the class."""
        while place in self.leads:
            place = self.leads[place]
        return place

    def join(self, a: Place, b: Place) -> bool:
        """Make one class of two; False where their values differ."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return True
        first, other = min(a, b), max(a, b)
        values = {x for x in (self.fixed.get(a), self.fixed.get(b)) if x is not None}
        self.leads[other] = first
        if values:
            self.fixed[first] = min(values)
        return len(values) < 2


def _equal_extents(body: Body, sizes: Sizes, cx: MlirTranslation) -> _Classes:
    """The extents of arguments that must be equal, since an operation that always runs asks for it."""
    out = _Classes()
    for number, layout in sizes.layouts.items():
        for axis, extent in enumerate(layout.extents):
            if extent is not None:
                out.fixed[number, axis] = extent
    for op in body.ops:
        if op.name not in HANDLERS:
            continue
        structure = structure_of(op, partial(cx.fail, op))
        for axes in structure.equal() if structure is not None else ():
            places = [(n, axis) for value, axis in axes if (n := _argument(value)) in sizes.layouts and n is not None]
            for place in places[1:]:
                if not out.join(places[0], place):
                    values = sorted({sizes.layouts[n].extents[axis] or 0 for n, axis in places} - {0})
                    message = f"extents that must be equal are {' and '.join(map(str, values)) or 'not'}"
                    cx.fail(op, "E0871", f"`{op.name}`: {message}", "its memrefs do not fit each other")
    return out
