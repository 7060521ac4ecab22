"""Assignments to elements and local names, updates, and the values that hold under a condition.

A store under a condition on data becomes a store of a chosen value, so that every statement runs always:

>>> from planish.frontend.python.reader import read_python_source
>>> from planish.ir.text.printer import print_stmt
>>> text = '''
... def relu(A: f32["n"], count: i32[1]):
...     for i in range(len(A)):
...         if A[i] < 0:
...             A[i] = 0
...             count[0] += 1
... '''
>>> print(print_stmt(read_python_source(text, "<text>").kernel.body.body[0]))
for i in 0 .. n {
  alloc t1: bool[] distinct register
  t1[] = A[i] < 0.0:f32
  A[i] = select(t1[], 0.0:f32, A[i])
  count[0] += select(t1[], 1:i32, 0:i32)
}
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from planish.frontend.python import arithmetic
from planish.frontend.python.annotations import ElementType
from planish.frontend.python.arithmetic import TypedValue, Untranslatable
from planish.frontend.python.expressions import (
    OPERATORS,
    evaluate,
    extent_of,
    index_of,
    outer_meaning,
    quotient,
    subscripts_of,
)
from planish.frontend.python.functions import numpy_type
from planish.frontend.python.state import PythonTranslation
from planish.ir.expr import Const, Expr, Load, Select, Unary, type_of
from planish.ir.nest import Assign, Reduce, ReduceOp
from planish.ir.passes.reduction_idioms import neutral
from planish.ir.traverse import loads
from planish.ir.types import BOOL, INDEX, Type

_UPDATES: dict[type[ast.operator], ReduceOp] = {
    ast.Add: "add", ast.Sub: "add", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip


def assign(node: ast.Assign, cx: PythonTranslation) -> None:
    """`target = value`, several targets, or one tuple to another."""
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets)], value=ast.Attribute(value=ast.Name(id=name), attr="shape")
        ) if name in cx.arrays:
            _unpack_shape(node, targets, name, cx)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            if len(targets) != len(values):
                cx.fail(node, "E0311", f"{len(values)} values for {len(targets)} targets")
            _assign_together(node, targets, values, cx)
        case ast.Assign(targets=[target], value=value):
            _assign_one(node, target, value, cx)
        case ast.Assign(targets=targets, value=value):
            if not isinstance(evaluate(value, cx).expr, Const):
                advice = "write one assignment on each line"
                cx.fail(node, "E0311", "several targets of a value that is no constant", advice)
            for target in targets:
                _assign_one(node, target, value, cx)


def _unpack_shape(node: ast.Assign, targets: Sequence[ast.expr], name: str, cx: PythonTranslation) -> None:
    if len(targets) != len(cx.arrays[name].shape):
        cx.fail(node, "E0321", f"`{name}` has {len(cx.arrays[name].shape)} dimensions, not {len(targets)}")
    for axis, target in enumerate(targets):
        if not isinstance(target, ast.Name):
            cx.fail(target, "E0311", "an extent is given a name", "write `n, m = A.shape`")
        extent = extent_of(name, axis, cx)
        if target.id in cx.symbolic:
            _bind(target, extent, cx)
        else:
            store(target, TypedValue(extent, True), node, cx)


def _assign_together(
    node: ast.Assign, targets: Sequence[ast.expr], values: Sequence[ast.expr], cx: PythonTranslation
) -> None:
    """All values are computed before the first is stored."""
    held: list[TypedValue] = []
    for number, value in enumerate(values):
        result = evaluate(value, cx)
        if number and not isinstance(result.expr, Const):
            cell = cx.temporary(result.type)
            cx.out.append(Assign(cell, (), _guarded(result.expr, None, cx), cx.text.span_of(node)))
            result = TypedValue(Load(cell, (), result.type), result.weak)
        held.append(result)
    for target, result in zip(targets, held, strict=True):
        store(target, result, node, cx)


def _assign_one(node: ast.stmt, target: ast.expr, value: ast.expr, cx: PythonTranslation) -> None:
    if isinstance(target, ast.Name) and target.id in cx.symbolic:
        _bind(target, index_of(value, f"`{target.id}`", "E0320", cx), cx)
        return
    match target, value:
        case ast.Name() | ast.Subscript(), ast.BinOp(left=left, op=op, right=right) if type(op) in _UPDATES:
            # `x = x + e` is an update as `x += e` is.
            if ast.unparse(left) == ast.unparse(target) and not _mentions(right, target):
                _update(node, target, op, right, cx)
                return
            commutes = isinstance(op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.BitXor)
            if commutes and ast.unparse(right) == ast.unparse(target) and not _mentions(left, target):
                _update(node, target, op, left, cx)
                return
        case _:
            pass
    store(target, evaluate(value, cx), node, cx)


def _mentions(value: ast.expr, target: ast.expr) -> bool:
    names = {x.id for x in ast.walk(value) if isinstance(x, ast.Name)}
    base: ast.expr = target
    while isinstance(base, ast.Subscript):
        base = base.value
    return isinstance(base, ast.Name) and base.id in names


def _bind(target: ast.Name, value: Expr, cx: PythonTranslation) -> None:
    """A local name that stands for an index value; a cell in the next reading where it was made of other names' cells,
    which may be set before it is read."""
    if any(x.array in cx.names.locals for x in loads(value)):
        cx.demote(target.id)
    cx.values[target.id] = value


def annotated(node: ast.AnnAssign, cx: PythonTranslation) -> None:
    """`name: f32 = value`."""
    if not isinstance(node.target, ast.Name):
        cx.fail(node, "E0311", "a type for an element", "types are stated where the array is a parameter")
    if node.value is not None:
        _assign_one(node, node.target, node.value, cx)


def declared_type(node: ast.AnnAssign, cx: PythonTranslation) -> Type | None:
    """The type that an annotation of a local name states; None for `int` and `float`, which give way."""
    meaning = outer_meaning(node.annotation, cx)
    if isinstance(meaning, ElementType):
        return meaning.type
    if meaning is bool:
        return BOOL
    if meaning is int or meaning is float:
        return None
    type = numpy_type(meaning)
    if type is None:
        advice = "local names hold single values: f32, f64, i32, …"
        cx.fail(node.annotation, "E0305", f"`{ast.unparse(node.annotation)}` is no element type", advice)
    return type


def store(target: ast.expr, value: TypedValue, node: ast.stmt, cx: PythonTranslation) -> None:
    """Store a value; under a condition on data, store what was there where it does not hold."""
    try:
        match target:
            case ast.Name(id=name):
                type = cx.record(name, value.kind, node)
                old: Expr | None = Load(name, (), type) if name in cx.assigned else None
                fresh = _guarded(arithmetic.convert(value, type, stored=True), old, cx)
                cx.out.append(Assign(name, (), fresh, cx.text.span_of(node)))
                cx.assigned.add(name)
            case ast.Subscript():
                array, subscripts = _element(target, cx)
                type = cx.arrays[array].type
                fresh = arithmetic.convert(value, type, stored=True)
                if cx.guards:
                    fresh = _guarded(fresh, cx.load(array, subscripts, target), cx)
                cx.out.append(Assign(array, subscripts, fresh, cx.text.span_of(node)))
            case _:
                advice = "assign to names and to elements of arrays"
                cx.fail(target, "E0311", f"an assignment to `{ast.unparse(target)}`", advice)
    except Untranslatable as reason:
        cx.fail(node, reason.code, reason.message, reason.advice)


def _element(target: ast.Subscript, cx: PythonTranslation) -> tuple[str, tuple[Expr, ...]]:
    array, subscripts = subscripts_of(target, cx)
    cx.touch(array, subscripts, target)
    return array, subscripts


def _guarded(value: Expr, old: Expr | None, cx: PythonTranslation) -> Expr:
    """The value where the conditions on data hold, else what was there (nothing in particular where nothing was)."""
    condition = cx.guard()
    if condition is None:
        return value
    type = type_of(value)
    if old is None:
        old = Const(False, BOOL) if type == BOOL else Const(0.0 if type.is_float else 0, type)
    return arithmetic.choose(condition, TypedValue(value), TypedValue(old)).expr


def augment(node: ast.AugAssign, cx: PythonTranslation) -> None:
    """`target op= value`."""
    _update(node, node.target, node.op, node.value, cx)


def _update(node: ast.stmt, target: ast.expr, op: ast.operator, operand: ast.expr, cx: PythonTranslation) -> None:
    if isinstance(target, ast.Name):
        if target.id in cx.symbolic:
            cx.demote(target.id)
        cx.values.pop(target.id, None)
    value = evaluate(operand, cx)
    place = _current(target, cx)
    try:
        if isinstance(op, ast.Pow):
            result = arithmetic.power(place, value)
        elif type(op) in OPERATORS:
            result = quotient(ast.BinOp(target, op, operand), arithmetic.combine(OPERATORS[type(op)], place, value), cx)
        else:
            raise Untranslatable("E0311", "a product of matrices", "write its loops")
        if isinstance(target, ast.Name):
            held = cx.record(target.id, result.kind, node)
        else:
            held = place.type
        # A counter of loops is set: updates of numbers wrap around.
        counts = cx.uncounted and isinstance(target, ast.Name) and result.kind == (INDEX, True)
        if type(op) in _UPDATES and place.type == result.type == held and not counts:
            _reduce(node, target, op, value, held, cx)
            return
    except Untranslatable as reason:
        cx.fail(node, reason.code, reason.message, reason.advice)
    store(target, result, node, cx)


def _current(target: ast.expr, cx: PythonTranslation) -> TypedValue:
    """What the target of an update holds."""
    match target:
        case ast.Name() | ast.Subscript():
            return evaluate(target, cx)
        case _:
            cx.fail(target, "E0311", f"an assignment to `{ast.unparse(target)}`", "assign to names and elements")


def _reduce(
    node: ast.stmt, target: ast.expr, op: ast.operator, value: TypedValue, type: Type, cx: PythonTranslation
) -> None:
    operation = _UPDATES[op.__class__]
    operand = arithmetic.convert(value, type)
    if isinstance(op, ast.Sub):
        operand = arithmetic.negate(TypedValue(operand)).expr
        if isinstance(operand, Unary) and isinstance(operand.operand, Const):
            operand = Const(-operand.operand.value, type) if type.is_float else operand
    condition = cx.guard()
    if condition is not None:
        nothing = neutral(operation, type)
        assert nothing is not None
        operand = Select(condition, operand, nothing)
    span = cx.text.span_of(node)
    if isinstance(target, ast.Name):
        cx.out.append(Reduce(target.id, (), operation, operand, span))
    elif isinstance(target, ast.Subscript):
        array, subscripts = _element(target, cx)
        cx.out.append(Reduce(array, subscripts, operation, operand, span))
