"""A function's declaration: its parameters' annotations read as types, shapes and sizes.

>>> from planish.frontend.python.text import find_in_text
>>> text = find_in_text('def f(n: size, A: f32["n", "2 * m"], x: float): pass', "<text>", "f")
>>> declared = declare(text)
>>> print(declared.signature, declared.sizes)
(n: size, A: f32[n, 2 * m], x: f64) ('n', 'm')
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planish.core.python_text import parse_expression
from planish.frontend.python.annotations import ArrayType, ElementType, Size
from planish.frontend.python.arithmetic import TypedValue
from planish.frontend.python.functions import numpy_type
from planish.frontend.python.signature import PythonParameter, PythonSignature
from planish.frontend.python.text import FunctionText
from planish.ir.expr import Binary, BinaryOp, Const, Expr, Unary, Var, index
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array, Scalar
from planish.ir.traverse import variables, walk_expr
from planish.ir.types import BOOL, F64, INDEX, Type

_ADVICE = 'write `f32` for a number, `f32["n", "m"]` for an array, `size` for a size'
_SHAPE = "a shape holds names of sizes, whole numbers, + - * // % and parentheses"
_OPERATORS: dict[type[ast.operator], BinaryOp] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "mod",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declaration:
    """The parameters of a kernel, as the user sees them and as the kernel holds them."""

    signature: PythonSignature
    sizes: tuple[str, ...]
    scalars: tuple[Scalar, ...]
    arrays: tuple[Array, ...]
    values: tuple[tuple[str, TypedValue], ...]


def declare(text: FunctionText) -> Declaration:
    """Read the parameters. Raises PlanishError E0304 (no annotation), E0305 (not understood), E0306 (`*args`)."""
    function = text.function
    arguments = function.args
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            text.fail(extra, "E0306", f"the parameter `{extra.arg}` takes any number of arguments", "name each one")
    names = [x.arg for x in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    nodes = [*arguments.posonlyargs, *arguments.args]
    late: list[ast.expr | None] = [None] * (len(nodes) - len(arguments.defaults))
    defaults: list[ast.expr | None] = [*late, *arguments.defaults, *arguments.kw_defaults]
    returns = function.returns
    if returns is not None and not (isinstance(returns, ast.Constant) and returns.value is None):
        text.fail(returns, "E0335", "a kernel returns nothing", "write the result to an array parameter")
    parameters = [
        _parameter(node, default, names, text)
        for node, default in zip([*nodes, *arguments.kwonlyargs], defaults, strict=True)
    ]
    shown = {x for p in parameters for extent in p.shape for x in variables(extent)}
    for node, parameter in zip([*nodes, *arguments.kwonlyargs], parameters, strict=True):
        if parameter.kind == "scalar" and parameter.name in shown:
            advice = f"annotate it as a size: `{parameter.name}: size`"
            text.fail(node, "E0305", f"`{parameter.name}` is a number, but stands in a shape", advice)
        if parameter.kind == "array" and parameter.name in shown:
            text.fail(node, "E0305", f"the array `{parameter.name}` stands in a shape", _SHAPE)
    sizes = [p.name for p in parameters if p.kind == "size"]
    hidden = _in_order(parameters, sizes)
    told = _told(parameters)
    parameters = [replace(p, inferred=p.kind == "size" and p.name in told) for p in parameters]
    weak = {p.name for p, node in zip(parameters, [*nodes, *arguments.kwonlyargs], strict=True) if _is_weak(node, text)}
    scalars = tuple(Scalar(p.name, p.type) for p in parameters if p.kind == "scalar")
    return Declaration(
        PythonSignature(function.name, tuple(parameters), hidden),
        (*sizes, *hidden),
        scalars,
        tuple(Array(p.name, p.type, p.shape) for p in parameters if p.kind == "array"),
        tuple((x.name, TypedValue(Var(x.name, x.type), x.name in weak)) for x in scalars),
    )


def _in_order(parameters: Sequence[PythonParameter], sizes: Sequence[str]) -> tuple[str, ...]:
    """Sizes that stand in shapes only, in the order in which they appear."""
    out: dict[str, None] = {}
    for parameter in parameters:
        for extent in parameter.shape:
            for part in walk_expr(extent):
                if isinstance(part, Var) and part.name not in sizes:
                    out[part.name] = None
    return tuple(out)


def _told(parameters: Sequence[PythonParameter]) -> set[str]:
    """Sizes that follow from the shapes, one after the other."""
    extents = [variables(x) for p in parameters for x in p.shape]
    plain = [x for p in parameters for x in p.shape]
    told: set[str] = set()
    while True:
        fresh = {
            next(iter(names - told))
            for names, extent in zip(extents, plain, strict=True)
            if len(names - told) == 1 and not any(isinstance(x, Binary) and x.op in _LOSSY for x in walk_expr(extent))
        }
        if not fresh:
            return told
        told |= fresh


_LOSSY = ("floordiv", "mod", "min", "max")


def _is_weak(node: ast.arg, text: FunctionText) -> bool:
    """Whether the annotation is Python's `float`, whose values give way to other types."""
    return isinstance(node.annotation, ast.Name) and text.outer.get(node.annotation.id) is float


def _parameter(node: ast.arg, default: ast.expr | None, names: Sequence[str], text: FunctionText) -> PythonParameter:
    if node.annotation is None:
        text.fail(node, "E0304", f"the parameter `{node.arg}` has no annotation", _ADVICE)
    value = _default(default, text)
    match read_annotation(node.annotation, text):
        case Size():
            return PythonParameter(node.arg, "size", INDEX, default=value)
        case ElementType(type=type):
            return PythonParameter(node.arg, "scalar", type, default=value)
        case ArrayType(type=type, shape=extents):
            if default is not None:
                text.fail(default, "E0305", f"a default for the array `{node.arg}`", "leave it out")
            shape = tuple(_shape(x, node.annotation, names, text) for x in extents)
            return PythonParameter(node.arg, "array", type, shape)


def _default(node: ast.expr | None, text: FunctionText) -> int | float | bool | None:
    if node is None:
        return None
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        value = None
    if not isinstance(value, bool | int | float):
        text.fail(node, "E0305", "a default that is no number", "write a number")
    return value


def read_annotation(node: ast.expr, text: FunctionText) -> Size | ElementType | ArrayType:
    """What an annotation states. Raises PlanishError E0305."""
    match node:
        case ast.Constant(value=str(inner)):
            try:
                parsed = parse_expression(inner)
            except SyntaxError:
                text.fail(node, "E0305", f"`{inner}` is no annotation of a kernel", _ADVICE)
            return read_annotation(_placed(parsed, node), text)
        case ast.Subscript(value=value, slice=inside):
            parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            if ast.unparse(value).split(".")[-1] == "Annotated" and len(parts) > 1:
                return read_annotation(parts[-1], text)
            element = _meaning(value, text)
            if not isinstance(element, ElementType):
                text.fail(value, "E0305", f"`{ast.unparse(value)}` is no element type", _ADVICE)
            return ArrayType(element.type, tuple(_extent_text(x, text) for x in parts))
        case _:
            meaning = _meaning(node, text)
            if meaning is None:
                text.fail(node, "E0305", f"`{ast.unparse(node)}` is no annotation of a kernel", _ADVICE)
            return meaning


def _placed(node: ast.expr, at: ast.expr) -> ast.expr:
    """The tree of a text in quotes, all of it standing where the text stands."""
    for part in ast.walk(node):
        ast.copy_location(part, at)
    return node


def _meaning(node: ast.expr, text: FunctionText) -> Size | ElementType | ArrayType | None:
    value: object | None
    match node:
        case ast.Name(id=name):
            value = text.outer.get(name)
        case ast.Attribute(value=ast.Name(id=module), attr=attribute):
            value = getattr(text.outer.get(module), attribute, None)
        case _:
            return None
    match value:
        case ElementType() | ArrayType():
            return value
        case type() if value is Size or value is int:
            return Size(ast.unparse(node))
        case type() if value is float:
            return ElementType(F64)
        case type() if value is bool:
            return ElementType(BOOL)
        case _:
            found: Type | None = numpy_type(value)
            return ElementType(found) if found is not None else None


def _extent_text(node: ast.expr, text: FunctionText) -> str:
    """One extent between the brackets, as text over names of sizes."""
    match node:
        case ast.Constant(value=str(inner)):
            return inner
        case ast.Name(id=name):
            match text.outer.get(name):
                case Size(text=symbol):
                    return symbol
                case int() | np.integer() as number if not isinstance(number, bool):
                    return str(int(number))
                case _:
                    return name
        case ast.BinOp(left=a, right=b):
            spelt = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b")))[1:-1]
            return f"({_extent_text(a, text)}{spelt}{_extent_text(b, text)})"
        case _:
            return ast.unparse(node)


def _shape(extent: str, node: ast.expr, names: Sequence[str], text: FunctionText) -> Expr:
    try:
        tree = parse_expression(extent.strip())
    except SyntaxError:
        text.fail(node, "E0305", f"`{extent}` is no extent", _SHAPE)
    expr = _extent(tree, names, text)
    if expr is None:
        text.fail(node, "E0305", f"`{extent}` is no extent", _SHAPE)
    simple = simplify(expr)
    if isinstance(simple, Const) and simple.value < 0:
        text.fail(node, "E0305", f"the extent {simple.value} is negative", _SHAPE)
    return simple


def _extent(node: ast.expr, names: Sequence[str], text: FunctionText) -> Expr | None:
    match node:
        case ast.Constant(value=value):
            return index(value) if type(value) is int and abs(value) < 1 << 62 else None
        case ast.Name(id=name):
            number = text.outer.get(name)
            if name not in names and isinstance(number, int) and not isinstance(number, bool):
                return index(number)
            return Var(name, INDEX)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _extent(operand, names, text)
            return None if inner is None else Unary("neg", inner)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _extent(left, names, text), _extent(right, names, text)
            if a is None or b is None:
                return None
            if isinstance(op, ast.FloorDiv | ast.Mod) and not (isinstance(b, Const) and b.value > 0):
                return None
            return Binary(_OPERATORS[type(op)], a, b)
        case _:
            return None
