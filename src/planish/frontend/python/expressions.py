"""Python expressions as typed expressions of a nest.

>>> from planish.frontend.python.reader import read_python_source
>>> from planish.ir.text.printer import print_kernel
>>> text = '''
... def half(A: f32["n"]):
...     for i in range(len(A)):
...         A[i] = 0.5 * A[i] if 0 <= A[i] < 1 else A[n - 1 - i]
... '''
>>> kernel = read_python_source(text, "<text>").kernel
>>> print(print_kernel(kernel).splitlines()[3].strip())
A[i] = select(0.0:f32 <= A[i] && A[i] < 1.0:f32, 0.5:f32 * A[i], A[n - i - 1])
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import ModuleType

import numpy as np

from planish.frontend.python import arithmetic
from planish.frontend.python.affinity import ALLOWED, find_condition_fault, find_fault, is_linear
from planish.frontend.python.annotations import ArrayType, ElementType, Size
from planish.frontend.python.arithmetic import Sign, TypedValue, Untranslatable
from planish.frontend.python.functions import apply
from planish.frontend.python.signs import is_natural, is_positive
from planish.frontend.python.state import PythonTranslation
from planish.ir.expr import Binary, Cast, CompareOp, Const, Expr, Load, Unary, Var
from planish.ir.index.simplify import simplify
from planish.ir.traverse import walk_expr
from planish.ir.types import BOOL, INDEX
from planish.poly.scop.subscript_range import data_range

OPERATORS: dict[type[ast.operator], Sign] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], CompareOp] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_REFUSED: dict[type[ast.expr], tuple[str, str]] = {
    ast.ListComp: ("a list comprehension", "write a loop"),
    ast.SetComp: ("a set comprehension", "write a loop"),
    ast.DictComp: ("a dict comprehension", "write a loop"),
    ast.GeneratorExp: ("a generator", "write a loop"),
    ast.Lambda: ("a lambda", "write the expression where it is used"),
    ast.NamedExpr: ("an assignment inside an expression", "assign on a line of its own"),
    ast.List: ("a list", "use an array parameter"),
    ast.Tuple: ("a tuple", "use one name for each value"),
    ast.Dict: ("a dict", "use an array parameter"),
    ast.Set: ("a set", "use an array parameter"),
    ast.JoinedStr: ("text", "a kernel computes with numbers only"),
    ast.Slice: ("a slice", "write a loop over the elements"),
    ast.Await: ("`await`", "a kernel is a plain function"),
    ast.Yield: ("`yield`", "write the result to an array"),
    ast.YieldFrom: ("`yield from`", "write the result to an array"),
    ast.Starred: ("`*`", "write the values one by one"),
}


def evaluate(node: ast.expr, cx: PythonTranslation) -> TypedValue:
    """The value of an expression. Raises PlanishError at the innermost part that cannot be translated."""
    try:
        return _evaluate(node, cx)
    except Untranslatable as reason:
        cx.fail(node, reason.code, reason.message, reason.advice)


def _evaluate(node: ast.expr, cx: PythonTranslation) -> TypedValue:
    match node:
        case ast.Constant(value=bool() | int() | float() as number):
            return arithmetic.weak(number)
        case ast.Constant(value=other):
            raise Untranslatable("E0311", f"{type(other).__name__} is no number", "a kernel computes with numbers only")
        case ast.Name(id=name):
            return _name(name, node, cx)
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            return arithmetic.power(evaluate(a, cx), evaluate(b, cx))
        case ast.BinOp(left=a, op=op, right=b):
            if type(op) not in OPERATORS:
                raise Untranslatable("E0311", "a product of matrices", "write its loops")
            return quotient(node, arithmetic.combine(OPERATORS[type(op)], evaluate(a, cx), evaluate(b, cx)), cx)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))) if not isinstance(number, bool):
            return arithmetic.weak(-number)
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return arithmetic.negate(evaluate(x, cx))
        case ast.UnaryOp(op=ast.UAdd(), operand=x):
            return evaluate(x, cx)
        case ast.UnaryOp(op=ast.Invert(), operand=x):
            return arithmetic.invert(evaluate(x, cx))
        case ast.UnaryOp(op=ast.Not()):
            return TypedValue(condition_of(node, cx))
        case ast.BoolOp(values=parts):
            for part in parts:
                if evaluate(part, cx).type != BOOL:
                    cx.fail(part, "E0330", "`and` and `or` of numbers as a value", "compare with 0 first")
            return TypedValue(condition_of(node, cx))
        case ast.Compare():
            return TypedValue(_comparison(node, cx))
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            return arithmetic.choose(condition_of(test, cx), evaluate(then, cx), evaluate(otherwise, cx))
        case ast.Subscript():
            return _element(node, cx)
        case ast.Attribute():
            meaning = outer_meaning(node, cx)
            if isinstance(meaning, int | float | np.integer | np.floating):
                return arithmetic.weak(_number(meaning))
            raise Untranslatable("E0312", f"`{ast.unparse(node)}` is no number that a kernel knows")
        case ast.Call(func=function, args=arguments, keywords=keywords):
            return _call(function, arguments, keywords, cx)
        case _:
            what, advice = _REFUSED.get(type(node), (f"an expression of the form {type(node).__name__}", ""))
            raise Untranslatable("E0311", f"{what} has no place in a kernel", advice)


def quotient(node: ast.BinOp, value: TypedValue, cx: PythonTranslation) -> TypedValue:
    """The value of an operation; a quotient as C divides where that is the same, in functions with loops without a
    count."""
    match value.expr:
        case Binary(op="floordiv", left=a, right=b) if cx.uncounted and value.type == INDEX:
            same = is_natural(node.left, cx) and is_positive(node.right, cx)
            return TypedValue(Binary("quo", a, b), value.weak) if same else value
        case _:
            return value


def _name(name: str, node: ast.Name, cx: PythonTranslation) -> TypedValue:
    if name in cx.iterators:
        return TypedValue(cx.iterators[name], True)
    if name in cx.names.iterators:
        advice = "a loop variable is known in its loop only"
        raise Untranslatable("E0317", f"`{name}` is read outside of its loop", advice)
    if name in cx.names.locals:
        return _local(name, cx)
    if name in cx.scalars:
        return cx.scalars[name]
    if name in cx.sizes:
        return TypedValue(Var(name, INDEX), True)
    if name in cx.arrays:
        raise Untranslatable(
            "E0321", f"the whole array `{name}`", f"a kernel works on elements: write `{name}[…]` in a loop"
        )
    return _outer_value(name, cx)


def _local(name: str, cx: PythonTranslation) -> TypedValue:
    if name in cx.symbolic:
        if name in cx.values:
            return TypedValue(cx.values[name], True)
        # It does not hold one known value here; the next reading takes it for a cell in memory.
        cx.demote(name)
        return TypedValue(Load(name, (), INDEX), True)
    kind = cx.kind_of(name)
    if name not in cx.assigned or kind is None:
        advice = f"set `{name}` before the loop or condition"
        raise Untranslatable("E0333", f"`{name}` may be read before it is set", advice)
    return TypedValue(Load(name, (), kind[0]), kind[1])


def _outer_value(name: str, cx: PythonTranslation) -> TypedValue:
    meaning = cx.text.outer.get(name)
    match meaning:
        case None:
            known = ", ".join(f"`{x}`" for x in (*cx.sizes, *cx.scalars, *cx.arrays, *cx.iterators))
            raise Untranslatable("E0312", f"the name `{name}` is unknown", f"known here: {known}" if known else "")
        case bool() | int() | float() | np.integer() | np.floating() | np.bool_():
            return arithmetic.weak(_number(meaning))
        case Size(text=text) if text in cx.sizes:
            return TypedValue(Var(text, INDEX), True)
        case Size(text=text):
            raise Untranslatable("E0312", f"the size `{text}` stands in no array's shape and is no parameter")
        case np.ndarray():
            raise Untranslatable("E0312", f"`{name}` is an array outside of the kernel", "make it a parameter")
        case _:
            raise Untranslatable("E0312", f"`{name}` is no number that a kernel knows", "make it a parameter")


def _number(value: object) -> float:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    assert isinstance(value, float | np.floating)
    return float(value)


def outer_meaning(node: ast.expr, cx: PythonTranslation) -> object | None:
    """The object that a name or a dotted name outside of the function stands for; None where it is not known."""
    match node:
        case ast.Name(id=name):
            inner = (name in cx.names.locals, name in cx.names.iterators, name in cx.scalars, name in cx.arrays)
            return None if any(inner) or name in cx.sizes else cx.text.outer.get(name)
        case ast.Attribute(value=value, attr=attribute):
            base = outer_meaning(value, cx)
            # Only modules are looked into: other objects may run code of their own.
            return getattr(base, attribute, None) if isinstance(base, ModuleType) else None
        case _:
            return None


def condition_of(node: ast.expr, cx: PythonTranslation) -> Expr:
    """An expression as a condition."""
    match node:
        case ast.BoolOp(op=op, values=parts):
            conditions = [condition_of(x, cx) for x in parts]
            return fold_conditions("and" if isinstance(op, ast.And) else "or", conditions)
        case ast.UnaryOp(op=ast.Not(), operand=x):
            return opposite(condition_of(x, cx))
        case _:
            return arithmetic.truth(evaluate(node, cx))


def fold_conditions(op: Sign, conditions: Iterable[Expr]) -> Expr:
    """`and` or `or` of conditions in order; those that are known are decided."""
    out: Expr | None = None
    for condition in conditions:
        out = condition if out is None else simplify(Binary(op, out, condition))
    return out if out is not None else Const(op == "and", BOOL)


def opposite(condition: Expr) -> Expr:
    """The condition turned round."""
    return simplify(Unary("not", condition))


def _comparison(node: ast.Compare, cx: PythonTranslation) -> Expr:
    values = [evaluate(x, cx) for x in (node.left, *node.comparators)]
    parts = []
    for op, a, b in zip(node.ops, values, values[1:], strict=False):
        if type(op) not in _COMPARISONS:
            raise Untranslatable("E0311", "`in` and `is` have no place in a kernel", "compare numbers")
        parts.append(arithmetic.compare(_COMPARISONS[type(op)], a, b))
    return fold_conditions("and", parts)


def _element(node: ast.Subscript, cx: PythonTranslation) -> TypedValue:
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis) if name in cx.arrays:
            number = evaluate(axis, cx).expr
            shape = cx.arrays[name].shape
            if not isinstance(number, Const) or not -len(shape) <= number.value < len(shape):
                raise Untranslatable(
                    "E0321", f"`{name}` has {len(shape)} dimensions", "write the dimension as a number"
                )
            return TypedValue(extent_of(name, int(number.value), cx), True)
        case _:
            array, subscripts = subscripts_of(node, cx, reading=True)
            return TypedValue(cx.load(array, subscripts, node))


def extent_of(array: str, axis: int, cx: PythonTranslation) -> Expr:
    """The extent of a dimension."""
    extent = cx.arrays[array].shape[axis]
    assert extent is not None
    return extent


def subscripts_of(
    node: ast.Subscript, cx: PythonTranslation, reading: bool = False
) -> tuple[str, tuple[Expr, ...]]:
    """The array and the subscripts of `A[i, j]` or `A[i][j]`. Data may choose an element where it is known how far they
    go; where the array is read, subscripts need not be affine if nothing is stored to it."""
    parts: list[ast.expr] = []
    base: ast.expr = node
    while isinstance(base, ast.Subscript):
        parts[:0] = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
        base = base.value
    if not isinstance(base, ast.Name) or base.id not in cx.arrays:
        name = ast.unparse(base)
        what = f"the name `{name}` is unknown" if isinstance(base, ast.Name) and not _is_known(base, cx) else None
        cx.fail(base, "E0312", what or f"`{name}` is no array parameter", 'arrays are parameters: `A: f32["n"]`')
    shape = cx.arrays[base.id].shape
    out: list[Expr] = []
    for axis, part in enumerate(parts):
        if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is Ellipsis):
            cx.fail(part, "E0311", "a slice has no place in a kernel", "write a loop")
        subscript = _subscript(part, base.id, cx, reading and base.id not in stored_arrays(cx.text.function))
        if isinstance(subscript, Const) and int(subscript.value) < 0 and axis < len(shape):
            # Python counts from the end.
            subscript = simplify(Binary("add", extent_of(base.id, axis, cx), subscript))
        out.append(subscript)
    if len(out) != len(shape):
        given = f"{len(out)} subscript{'s' if len(out) != 1 else ''}"
        message = f"`{base.id}` has {len(shape)} dimension{'s' if len(shape) != 1 else ''} but {given}"
        cx.fail(node, "E0321", message, "a kernel works on single elements")
    return base.id, tuple(out)


def _is_known(node: ast.Name, cx: PythonTranslation) -> bool:
    places = (cx.sizes, cx.scalars, cx.names.locals, cx.names.iterators, cx.text.outer)
    return any(node.id in place for place in places)


def stored_arrays(function: ast.FunctionDef) -> frozenset[str]:
    """The names whose elements a function assigns."""
    out = set[str]()
    for node in ast.walk(function):
        base: ast.AST = node
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(base, ast.Name):
            out.add(base.id)
    return frozenset(out)


def _subscript(node: ast.expr, array: str, cx: PythonTranslation, free: bool) -> Expr:
    chosen = _chosen_by_data(node, cx, free or cx.uncounted)
    if chosen is not None:
        return chosen
    expr = index_of(node, f"the subscript of `{array}`", "E0320", cx)
    fault = find_fault(expr)
    # A product of a size and a loop variable is a linear subscript, which a later stage splits.
    if fault is not None and not is_linear(expr, cx.sizes) and not free and not cx.uncounted:
        cx.fail(node, "E0320", f"the subscript of `{array}` is not affine: {fault}", ALLOWED)
    return expr


def _chosen_by_data(node: ast.expr, cx: PythonTranslation, anywhere: bool) -> Expr | None:
    """A subscript that is an integer from an array, unless its type or the expression says that it may be negative, or,
    where it may not be `anywhere`, does not say how far it goes; None for others."""
    value = evaluate(node, cx)
    if value.type == INDEX or not value.type.is_int or is_static(value.expr, cx):
        return None
    known = data_range(value.expr)
    return Cast(value.expr, INDEX) if (anywhere if known is None else known[0] >= 0) else None


def index_of(node: ast.expr, what: str, code: str, cx: PythonTranslation) -> Expr:
    """An integer expression of loop variables and sizes. Raises PlanishError with `code` for anything else."""
    value = evaluate(node, cx)
    for part in walk_expr(value.expr):
        match part:
            case Load(array=name, index=()) if name not in cx.arrays and not cx.uncounted:
                advice = "write it as an expression of loop variables and sizes"
                cx.fail(node, code, f"{what} depends on `{name}`, which is computed", advice)
            case Load(array=name) if name in cx.arrays and not cx.uncounted:
                advice = "a kernel's accesses and bounds must not depend on data"
                cx.fail(node, code, f"{what} depends on the content of `{name}`", advice)
            case Var(name=name) if name in cx.scalars:
                advice = f"annotate it as a size: `{name}: size`"
                cx.fail(node, code, f"{what} depends on `{name}`, which is data", advice)
            case _:
                pass
    if cx.uncounted and value.type.is_int and value.type != INDEX:
        return Cast(value.expr, INDEX)
    if not value.type.is_int or not (cx.uncounted or (value.weak and value.type == INDEX)):
        advice = "write `//` for a division" if value.type.is_float else "write an integer"
        cx.fail(node, code, f"{what} is {value.type}, not an integer of loop variables and sizes", advice)
    return simplify(value.expr)


def affine_index(node: ast.expr, what: str, code: str, cx: PythonTranslation) -> Expr:
    """Like `index_of`, and affine."""
    expr = index_of(node, what, code, cx)
    fault = find_fault(expr)
    if fault is not None and not cx.uncounted:
        cx.fail(node, code, f"{what} is not affine: {fault}", ALLOWED)
    return expr


def is_static(condition: Expr, cx: PythonTranslation) -> bool:
    """Whether a condition depends on loop variables and sizes only."""
    data = (isinstance(x, Load) or (isinstance(x, Var) and x.name in cx.scalars) for x in walk_expr(condition))
    return not any(data)


def check_affine(condition: Expr, node: ast.expr, cx: PythonTranslation) -> None:
    """Raise PlanishError unless a condition over loop variables and sizes is affine."""
    fault = find_condition_fault(condition)
    if fault is not None:
        cx.fail(node, "E0323", f"the condition is not affine: {fault}", ALLOWED)


def _call(
    function: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword], cx: PythonTranslation
) -> TypedValue:
    name = ast.unparse(function)
    meaning = outer_meaning(function, cx)
    if meaning is None:
        cx.fail(function, "E0313", f"the function `{name}` is unknown", "known are abs, min, max and those of math")
    if keywords:
        raise Untranslatable("E0313", f"`{name}` with named arguments", "pass them in order")
    if meaning is len:
        match arguments:
            case [ast.Name(id=array)] if array in cx.arrays and cx.arrays[array].shape:
                return TypedValue(extent_of(array, 0, cx), True)
            case _:
                raise Untranslatable("E0313", "`len` is for array parameters")
    if isinstance(meaning, ArrayType):
        raise Untranslatable("E0313", f"`{name}` is a type of arrays, which cannot be called")
    values = tuple(evaluate(x, cx) for x in arguments)
    if isinstance(meaning, ElementType):
        if len(values) != 1:
            raise Untranslatable("E0313", f"`{name}` converts one value")
        return TypedValue(arithmetic.convert(values[0], meaning.type, stored=True))
    return apply(meaning, name, values)
