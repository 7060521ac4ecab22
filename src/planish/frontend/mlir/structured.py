"""Operations of linalg as loops over the elements of their operands.

HANDLERS["linalg.generic"](op, cx, execute)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, MemRefType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from planish.frontend.mlir.arithmetic import Unsupported, binary, convert_signed, convert_unsigned, truncate
from planish.frontend.mlir.control import Execute, Handler, around, body_of, enter
from planish.frontend.mlir.maps import read_map
from planish.frontend.mlir.memory import read_layout
from planish.frontend.mlir.named import ELEMENTWISE, SHAPES, Meaning, parse_shape
from planish.frontend.mlir.state import MemrefView, MlirScalar, MlirTranslation
from planish.ir.expr import Binary, Call, Cast, Const, Expr, Load, Select, Unary, Var, index, type_of
from planish.ir.traverse import loads
from planish.ir.types import BOOL, INDEX, Floats, Type


@dataclass(frozen=True, slots=True)
class Structure:
    """Loops over elements: how each operand is subscripted (a scalar has no map), how many of the last ones are
    written, and what the loops are called."""

    loops: int
    operands: tuple[SSAValue, ...]
    maps: tuple[AffineMap | None, ...]
    outputs: int
    names: tuple[str, ...] = ()

    def bounds(self) -> tuple[tuple[int, int], ...]:
        """For each loop, the operand and axis whose extent it runs over."""
        found: dict[int, tuple[int, int]] = {}
        for number, map in enumerate(self.maps):
            for axis, result in enumerate(map.results if map is not None else ()):
                if isinstance(result, AffineDimExpr):
                    found.setdefault(result.position, (number, axis))
        return tuple(found.get(loop, (-1, -1)) for loop in range(self.loops))

    def equal(self) -> list[list[tuple[SSAValue, int]]]:
        """For each loop, the axes that must be as long as it runs."""
        return [
            [
                (value, axis)
                for value, map in zip(self.operands, self.maps, strict=True)
                for axis, result in enumerate(map.results if map is not None else ())
                if result == AffineDimExpr(loop)
            ]
            for loop in range(self.loops)
        ]


def structure_of(op: Operation, fail: Callable[[str, str], None]) -> Structure | None:
    """The loops of an operation of linalg, None for another one. `fail(code, message)` raises."""
    if op.name == "linalg.generic":
        listed = op.properties["indexing_maps"]
        assert isinstance(listed, ArrayAttr)
        maps = [x.data for x in listed.data]
        iterators = op.properties["iterator_types"]
        assert isinstance(iterators, ArrayAttr)
        outputs = len(getattr(op, "outputs", ()))
        return _structure(len(iterators.data), op.operands, maps, outputs)
    name = op.name.partition(".")[2]
    if name in SHAPES:
        return _named(name, op, fail)
    if name in ELEMENTWISE or name == "fill":
        ranks = [_rank(x) for x in op.operands]
        rank = ranks[-1] or 0
        if any(n not in (None, rank) for n in ranks) or (None in ranks and name not in ("fill",)):
            fail("E0862", f"`{op.name}` is not well-formed: its operands differ in rank")
        return _structure(rank, op.operands, [AffineMap.identity(rank)] * len(ranks), 1)
    match name:
        case "transpose":
            order = _numbers(op, "permutation")
            back = [order.index(n) for n in range(len(order))]
            source = AffineMap(len(order), 0, tuple(AffineExpr.dimension(n) for n in back))
            return _structure(len(order), op.operands, [source, AffineMap.identity(len(order))], 1)
        case "broadcast":
            rank, extra = _rank(op.operands[1]) or 0, _numbers(op, "dimensions")
            kept = tuple(AffineExpr.dimension(n) for n in range(rank) if n not in extra)
            return _structure(rank, op.operands, [AffineMap(rank, 0, kept), AffineMap.identity(rank)], 1)
        case "reduce":
            rank, gone = _rank(op.operands[0]) or 0, _numbers(op, "dimensions")
            kept = tuple(AffineExpr.dimension(n) for n in range(rank) if n not in gone)
            return _structure(rank, op.operands, [AffineMap.identity(rank), AffineMap(rank, 0, kept)], 1)
        case _:
            return None


def _structure(
    loops: int, operands: Sequence[SSAValue], maps: Sequence[AffineMap], outputs: int, names: tuple[str, ...] = ()
) -> Structure:
    shaped = tuple(
        map if isinstance(value.type, MemRefType) else None for value, map in zip(operands, maps, strict=True)
    )
    return Structure(loops, tuple(operands), shaped, outputs, names or tuple(f"d{n}" for n in range(loops)))


def _rank(value: SSAValue) -> int | None:
    return len(value.type.get_shape()) if isinstance(value.type, MemRefType) else None


def _numbers(op: Operation, name: str) -> list[int]:
    values = op.properties[name]
    assert isinstance(values, DenseArrayBase)
    return [int(n) for n in values.get_values()]


def _named(name: str, op: Operation, fail: Callable[[str, str], None]) -> Structure:
    shape = parse_shape(SHAPES[name].text)
    factors = {f"s{n}": v for n, v in enumerate(_window(op, "strides"))}
    factors |= {f"d{n}": v for n, v in enumerate(_window(op, "dilations"))}
    if len(op.operands) != len(shape.operands):
        fail("E0862", f"`{op.name}` is not well-formed: it takes {len(shape.operands)} operands")
    maps = []
    for value, subscripts in zip(op.operands, shape.operands, strict=True):
        if _rank(value) != len(subscripts):
            fail("E0862", f"`{op.name}` is not well-formed: an operand must have {len(subscripts)} dimensions")
        results = []
        for terms in subscripts:
            total: AffineExpr | None = None
            for loop, factor in terms:
                term = AffineExpr.dimension(shape.loops.index(loop)) * factors.get(factor, 1)
                total = term if total is None else total + term
            results.append(total if total is not None else AffineExpr.constant(0))
        maps.append(AffineMap(len(shape.loops), 0, tuple(results)))
    return _structure(len(shape.loops), op.operands, maps, 1, shape.loops)


def _window(op: Operation, name: str) -> list[int]:
    values = op.properties.get(name)
    return [int(n) for n in values.get_values()] if isinstance(values, DenseIntOrFPElementsAttr) else []


def run_structured(op: Operation, cx: MlirTranslation, execute: Execute) -> None:
    """Write the loops of an operation of linalg, with its body inside."""
    if op.properties.get("indexing_maps") is not None and op.name != "linalg.generic":
        cx.fail(op, "E0864", f"`{op.name}` with maps of its own", "write it as linalg.generic")
    for value in op.operands:
        if not isinstance(cx.values.get(value), MlirScalar):
            read_layout(value, op, cx)
    structure = structure_of(op, lambda code, message: cx.fail(op, code, message))
    assert structure is not None
    views = [cx.view(v, op) if m is not None else None for v, m in zip(structure.operands, structure.maps, strict=True)]
    uppers = _uppers(op, structure, views, cx)
    enter(op, cx)
    names: list[str] = []
    with ExitStack() as stack, cx.inside() as out:
        for wanted, upper in zip(structure.names, uppers, strict=True):
            names.append(stack.enter_context(cx.iterator(wanted, index(0), upper)))
        at: list[Expr] = [Var(name, INDEX) for name in names]
        places = [
            view.place(read_map(map, at)) if view is not None and map is not None else None
            for view, map in zip(views, structure.maps, strict=True)
        ]
        elements: list[Expr] = [
            Load(view.array, place, view.type) if view is not None and place is not None else cx.expr(value, op)
            for view, place, value in zip(views, places, structure.operands, strict=True)
        ]
        results = _results(op, elements, at, cx, execute)
        first = len(elements) - structure.outputs
        for n, result in enumerate(results):
            view, place = views[first + n], places[first + n]
            assert view is not None and place is not None
            if type_of(result) != view.type:
                cx.fail(op, "E0862", f"`{op.name}` gives {type_of(result)} to a memref of {view.type}")
            for later in range(n + 1, len(results)):
                if loads(results[later]):
                    results[later] = cx.keep("t", results[later], op)
            cx.store(view.array, place, results[n], op)
    cx.out.extend(around([(name, index(0), x, 1) for name, x in zip(names, uppers, strict=True)], out, cx.span(op)))


def _uppers(op: Operation, structure: Structure, views: Sequence[MemrefView | None], cx: MlirTranslation) -> list[Expr]:
    out: list[Expr] = []
    for number, axis in structure.bounds():
        view = views[number] if number >= 0 else None
        if view is None:
            advice = "give it an operand that is subscripted by that loop alone"
            cx.fail(op, "E0868", f"no operand of `{op.name}` tells how long a loop is", advice)
        out.append(view.extents[axis])
    return out


def _results(
    op: Operation, elements: list[Expr], at: Sequence[Expr], cx: MlirTranslation, execute: Execute
) -> list[Expr]:
    """What is stored, for the elements of all operands."""
    name = op.name.partition(".")[2]
    try:
        if name in SHAPES:
            return [_combine(SHAPES[name].body, op, elements, cx)]
        if name in ELEMENTWISE:
            return [_elementwise(ELEMENTWISE[name], elements[:-1], type_of(elements[-1]), op, cx.floats)]
    except Unsupported as refused:
        cx.fail(op, "E0872", f"{refused.reason} in `{op.name}`", refused.advice)
    if name == "fill":
        return [_fit(elements[0], type_of(elements[1]), op)]
    if name in ("transpose", "broadcast"):
        return [elements[0]]
    body = body_of(op.regions[0], op, cx)
    for argument, element in zip(body.args, elements, strict=True):
        cx.values[argument] = MlirScalar(element)
        cx.reading[argument] = frozenset(x.array for x in loads(element))
    for inner in body.walk():
        if isinstance(inner, IndexOp):
            number = inner.dim.value.data
            if not 0 <= number < len(at):
                cx.fail(inner, "E0862", f"`linalg.index` is not well-formed: there is no loop {number}")
            cx.values[inner.results[0]] = MlirScalar(at[number])
            cx.done.add(inner)
    execute(body, cx)
    last = body.last_op
    if last is None or last.name != "linalg.yield":
        cx.fail(op, "E0862", f"`{op.name}` is not well-formed: its body ends without linalg.yield")
    return [cx.expr(x, last) for x in last.operands]


def _fit(value: Expr, type: Type, op: Operation) -> Expr:
    """A value in the type of the output: integers count as signed unless the operation says otherwise."""
    source = type_of(value)
    if source == type:
        return value
    unsigned = "unsigned" in str(op.properties.get("cast", ""))
    if type.is_float and source.is_float:
        return Cast(value, type)
    if source.is_float:
        return Cast(value, type)
    if not type.is_float and type.bits <= source.bits and source != BOOL:
        return truncate(value, type)
    return convert_unsigned(value, type) if unsigned else convert_signed(value, type)


def _combine(meaning: Meaning, op: Operation, elements: list[Expr], cx: MlirTranslation) -> Expr:
    """The new element of an operation that reduces."""
    a, b, old = elements
    type = type_of(old)
    if type == BOOL:
        raise Unsupported("arithmetic on i1", "use i8")
    suffix = "f" if type.is_float else "i"
    first = _fit(a, type, op)
    match meaning:
        case "product":
            return binary(f"add{suffix}", old, binary(f"mul{suffix}", first, _fit(b, type, op), cx.floats), cx.floats)
        case "sum":
            return binary(f"add{suffix}", old, first, cx.floats)
        case "max" | "min":
            float_name = "maximumf" if meaning == "max" else "minimumf"
            return binary(float_name if type.is_float else f"{meaning}si", old, first, cx.floats)
        case "max_unsigned" | "min_unsigned":
            return binary(f"{meaning[:3]}ui", old, first, cx.floats)


def _elementwise(what: str, inputs: list[Expr], type: Type, op: Operation, floats: Floats) -> Expr:
    """The new element of an operation that treats each by itself."""
    if what == "copy":
        return _fit(inputs[0], type, op)
    if what == "select":
        return Select(inputs[0], inputs[1], inputs[2])
    if any(type_of(x) != type for x in inputs):
        raise Unsupported("operands of several types", "convert them with linalg.copy first")
    names = _FLOAT_NAMES if type.is_float else _INTEGER_NAMES
    if type == BOOL or (what not in names and what not in _FUNCTIONS):
        raise Unsupported(f"elements of {type}")
    if what in names:
        return binary(names[what], inputs[0], inputs[1], floats)
    if not type.is_float and what != "abs":
        raise Unsupported(f"elements of {type}")
    x, one = inputs[0], Const(1.0, type)
    match what:
        case "negf":
            return Unary("neg", x)
        case "square":
            return Binary("mul", x, x)
        case "reciprocal":
            return Binary("div", one, x)
        case "rsqrt":
            return Binary("div", one, Call("sqrt", (x,)))
        case "abs":
            return Call("fabs" if type.is_float else "abs", (x,))
        case _:
            return Call(what, (x,))


_FLOAT_NAMES = {
    "add": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "maximum": "maximumf", "minimum": "minimumf",
    "powf": "powf",
}  # fmt: skip
_INTEGER_NAMES = {
    "add": "addi", "sub": "subi", "mul": "muli", "div": "divsi", "divui": "divui", "maximum": "maxsi",
    "minimum": "minsi",
}  # fmt: skip
_FUNCTIONS = ("negf", "square", "reciprocal", "rsqrt", "abs", "exp", "log", "ceil", "floor", "sqrt", "tanh", "round")


_NAMES = (
    *(f"linalg.{name}" for name in (*SHAPES, *ELEMENTWISE, "fill", "generic", "transpose", "broadcast", "reduce")),
    "memref.copy",
)
HANDLERS: dict[str, Handler] = dict.fromkeys(_NAMES, run_structured)
"""What is done for each operation on whole memrefs."""
