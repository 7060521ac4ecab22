"""C expressions as typed expressions over data, with every conversion written out.

Integer variables of the symbolic state enter as casts of index expressions:

>>> from planish.ir.expr import Var
>>> as_data(Var("i", INDEX), I32)
Cast(operand=Var(name='i', type=Type(kind='int', bits=64)), type=Type(kind='int', bits=32))
"""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol, is_integer
from planish.frontend.c.assumed.granted_conditions import grant_address, is_nowhere
from planish.frontend.c.idioms.data_dependent_rows import search_value, searched
from planish.frontend.c.idioms.inner_assignments import assign_inside, run_inside
from planish.frontend.c.numbers.library_calls import is_library_function, library_value
from planish.frontend.c.structures.address_elements import address_element
from planish.frontend.c.translate.addresses import call_name, distance, form_of, is_address
from planish.frontend.c.translate.arithmetic import (
    common,
    conjunction,
    convert,
    fits,
    folded,
    literal,
    promoted,
    truth,
    wrap,
)
from planish.frontend.c.translate.constant_tables import constant_element
from planish.frontend.c.translate.members import member_address, member_number
from planish.frontend.c.translate.state import (
    Address,
    Again,
    CTranslation,
    KnownInteger,
    KnownNumber,
    LostValue,
    NotIndex,
    Refused,
)
from planish.frontend.c.translate.subscripts import address_of, element_of, element_place, fitted, index_of
from planish.frontend.c.types.constants import is_null, walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CUnknown, CVoid, resolve
from planish.ir.conditional_accesses import opposite
from planish.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    type_of,
)
from planish.ir.index.polynomial import constant, same
from planish.ir.traverse import walk_expr
from planish.ir.types import BF16, BOOL, F32, I32, INDEX, Type

_ARITHMETIC: dict[str, BinaryOp] = {
    "+": "add", "-": "sub", "*": "mul", "/": "quo", "%": "rem", "&": "and", "|": "or", "^": "xor",
    "<<": "shl", ">>": "shr",
}  # fmt: skip
_COMPARISON: dict[str, CompareOp] = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def as_data(expr: Expr, type: Type) -> Expr:
    """An index expression used as a number of C type `type`."""
    value = constant(expr)
    return Const(wrap(value, type), type) if value is not None and type.is_int else Cast(expr, type)


def value_of(node: c_ast.Node, cx: CTranslation) -> Expr:
    """Read an expression as a value. Raises Refused where it cannot stand in a kernel."""
    match node:
        case c_ast.Constant(type=kind, value=text):
            try:
                return literal(kind, text)
            except Refused as refused:
                raise Refused(refused.cause, refused.message, node) from None
        case c_ast.ID():
            return _variable(node, cx)
        case c_ast.ArrayRef() if (symbol := searched(node, cx)) is not None:
            return search_value(node, symbol, cx, lambda: value_of(node, cx))
        case c_ast.ArrayRef(name=name, subscript=subscript):
            with cx.gathering():
                return load(element_of(node, name, subscript, cx), node, cx)
        case c_ast.UnaryOp(op="*", expr=operand):
            with cx.gathering():
                return load(address_of(operand, cx), node, cx)
        case c_ast.UnaryOp():
            return _unary(node, cx)
        case c_ast.BinaryOp(op="&&" | "||" | "==" | "!=" | "<" | "<=" | ">" | ">="):
            return Cast(condition_of(node, cx), I32)
        case c_ast.BinaryOp(op="-", left=left, right=right) if is_address(left, cx) and is_address(right, cx):
            return _through_index(node, cx)
        case c_ast.BinaryOp(op=op, left=left, right=right):
            return operate(op, value_of(left, cx), value_of(right, cx), node)
        case c_ast.TernaryOp() if any(isinstance(x, c_ast.Assignment) for x in walk_tree(node)):
            raise Refused("scop-assignment", "an assignment in an operand that may not be evaluated", node)
        case c_ast.TernaryOp(cond=condition, iftrue=then, iffalse=otherwise):
            return _choice(condition, then, otherwise, cx)
        case c_ast.Cast(to_type=to_type, expr=operand):
            match resolve(to_type, cx.bound.typedefs):
                case CScalar(type=type):
                    return convert(value_of(operand, cx), type)
                case CUnknown(text=text):
                    raise Refused("scop-type", f"a conversion to {text}", node)
                case CVoid() | CPointer() | CArray():
                    raise Refused("scop-cast", "a conversion to something that is not a number", node)
        case c_ast.FuncCall():
            return _call(node, cx)
        case c_ast.StructRef():
            return _member(node, cx)
        case c_ast.Assignment():
            assign_inside(node, cx)
            return value_of(node.lvalue, cx)
        case c_ast.Compound(block_items=[*before, last]):
            # A statement expression of GNU C has the value of its last statement.
            for stmt in before:
                cx.execute(stmt, cx)
            return value_of(last, cx)
        case c_ast.ExprList(exprs=[*before, last]):
            for part in before:
                run_inside(part, cx)
            return value_of(last, cx)
        case _:
            raise Refused("scop-expression", f"an expression of the form {form_of(node)}", node)


def _variable(node: c_ast.ID, cx: CTranslation) -> Expr:
    if id(node) in cx.inlined:
        return cx.inlined[id(node)]
    if (number := cx.bound.constants.get(id(node))) is not None:
        if not fits(number, I32):
            raise Refused("scop-type", f"{node.name} is an enumerator that an int does not hold", node)
        return Const(number, I32)
    if id(node) in cx.bound.constants:
        raise Refused("scop-type", f"{node.name} is an enumerator whose value is not known", node)
    symbol = cx.bound.symbol(node)
    if symbol is None:
        raise Refused("scop-unknown", f"{node.name} {cx.bound.tell_undeclared(node)}", node)
    match symbol.ctype:
        case CScalar(type=type):
            return read_variable(symbol, type, node, cx)
        case CUnknown() as unknown:
            raise Refused("scop-type", f"{node.name} {unknown.told}", node)
        case CPointer() | CArray() | CVoid():
            raise Refused("scop-pointer", f"the address {node.name} used as a value", node)


def _member(node: c_ast.StructRef, cx: CTranslation) -> Expr:
    undo = cx.remember()
    try:
        symbol = member_number(node, cx, address_of)
    except NotIndex as reason:
        undo()
        place = member_address(node, cx, address_of) if reason.cause == "scop-struct" else None
        if place is not None and place.symbol.rows:
            return load(place, node, cx)
        raise reason.refusal() from None
    return read_variable(symbol, cx.element(symbol), node, cx)


def read_variable(symbol: Symbol, type: Type, node: c_ast.Node, cx: CTranslation) -> Expr:
    """The value of a scalar variable: a number known by name, a cell in memory, or an index expression."""
    if isinstance(known := cx.values.get(symbol), KnownNumber):
        return known.expr
    if cx.is_cell(symbol):
        cx.used.setdefault(symbol)
        return Load(symbol.key, (), type)
    if symbol.const and symbol.storage == "global" and symbol.init is not None:
        return convert(value_of(symbol.init, cx), type)
    if not is_integer(symbol):
        cx.used.setdefault(symbol)
        return Var(symbol.key, type)
    match cx.value(symbol):
        case KnownInteger(expr=expr):
            return as_data(cx.settle(expr), type)
        case LostValue():
            raise Again(cell=symbol)
        case Address() | KnownNumber():
            raise Refused("scop-pointer", f"the address {symbol.name} used as a value", node)


def load(address: Address, node: c_ast.Node, cx: CTranslation) -> Expr:
    """The number at an address."""
    if (known := constant_element(address, cx, value_of)) is not None:
        return known
    array, subscripts, type = element_place(address, node, cx)
    return Load(array, subscripts, type)


def _through_index(node: c_ast.Node, cx: CTranslation) -> Expr:
    try:
        value = index_of(node, cx)
    except NotIndex as reason:
        raise reason.refusal() from None
    return as_data(value.expr, value.type)


def _unary(node: c_ast.UnaryOp, cx: CTranslation) -> Expr:
    match node.op:
        case "++" | "--" | "p++" | "p--":
            return _step(node, cx)
        case "sizeof":
            return _through_index(node, cx)
        case "!":
            return Cast(opposite(condition_of(node.expr, cx)), I32)
        case "&":
            raise Refused("scop-pointer", "an address used as a value", node)
        case "+" | "-" | "~" as op:
            operand = value_of(node.expr, cx)
            operand = convert(operand, promoted(type_of(operand)))
            if op == "+":
                return operand
            expect_one_way(type_of(operand), node)
            if op == "~":
                return Unary("bitnot", operand)
            if isinstance(operand, Const) and operand.type.kind != "uint":
                return Const(-operand.value, operand.type)
            return Unary("neg", operand)
        case _:
            raise Refused("scop-expression", f"the operator {node.op}", node)


def _step(node: c_ast.UnaryOp, cx: CTranslation) -> Expr:
    symbol = cx.bound.symbol(node.expr) if isinstance(node.expr, c_ast.ID) else None
    if symbol is None or not is_integer(symbol) or cx.is_cell(symbol):
        raise Refused("scop-assignment", "a step of a value in memory inside an expression", node)
    try:
        value = index_of(node, cx)
    except NotIndex:
        raise Again(cell=symbol) from None
    return as_data(value.expr, value.type)


def operate(op: str, left: Expr, right: Expr, node: c_ast.Node) -> Expr:
    """A binary operator of C on two values, promoted and converted as C does."""
    if op not in _ARITHMETIC:
        raise Refused("scop-expression", f"the operator {op}", node)
    name = _ARITHMETIC[op]
    if op in ("<<", ">>"):
        type = promoted(type_of(left))
    else:
        type = common(type_of(left), type_of(right))
    if type.is_float:
        expect_one_way(type, node)
        if op not in ("+", "-", "*", "/"):
            raise Refused("scop-expression", f"the operator {op} on floating-point numbers", node)
        name = "div" if op == "/" else name
    a, b = convert(left, type), convert(right, type)
    if isinstance(a, Const) and isinstance(b, Const) and (value := folded(name, a, b)) is not None:
        return value
    return Binary(name, a, b)


def expect_one_way(type: Type, node: c_ast.Node) -> None:
    """That C says when results of a type are rounded; Refused for bf16, which compilers may keep wider meanwhile."""
    if type == BF16:
        raise Refused("scop-type", "arithmetic in bf16, which compilers round where they like: convert to float", node)


def _choice(condition: c_ast.Node, then: c_ast.Node, otherwise: c_ast.Node, cx: CTranslation) -> Expr:
    test = condition_of(condition, cx)
    before = dict(cx.values)
    if isinstance(test, Const):
        # Of the other side only the type is of interest.
        chosen, other = (then, otherwise) if test.value else (otherwise, then)
        with cx.trial():
            type = type_of(value_of(other, cx))
        a = b = value_of(chosen, cx)
        type = common(type_of(a), type)
    else:
        if _inlines(then, cx) or _inlines(otherwise, cx):
            test = _kept(test, condition, cx)
        with cx.conditional(operand=True):
            a = _guarded(then, test, cx, value_of)
            b = _guarded(otherwise, opposite(test), cx, value_of)
        type = common(type_of(a), type_of(b))
    if any(cx.values.get(s) != v for s, v in before.items()):
        raise Refused("scop-condition", "a step inside one side of a choice", then)
    return choose(test, convert(a, type), convert(b, type))


def _inlines(node: c_ast.Node, cx: CTranslation) -> bool:
    """Whether an expression holds statements: a function of the file is called in it, or it has some of its own."""
    functions = cx.bound.file.functions
    return any(
        isinstance(x, c_ast.Compound) or isinstance(x, c_ast.FuncCall) and call_name(x) in functions
        for x in walk_tree(node)
    )


def _kept(test: Expr, node: c_ast.Node, cx: CTranslation) -> Expr:
    """A condition that may be named often: one on data, in a cell."""
    if only_sizes(test) or not any(isinstance(x, Load) for x in walk_expr(test)):
        return test
    value = conjunction([*cx.guards, test])
    return Load(cx.temporary("test", BOOL, value, node), (), BOOL)


def _guarded(node: c_ast.Node, test: Expr, cx: CTranslation, read: Callable[[c_ast.Node, CTranslation], Expr]) -> Expr:
    """What is evaluated only where a condition holds: so are the bodies of functions that it calls."""
    if not _inlines(node, cx):
        return read(node, cx)
    outer, cx.guards = cx.guards, [*cx.guards, test]
    try:
        return read(node, cx)
    finally:
        cx.guards = outer


def choose(test: Expr, a: Expr, b: Expr) -> Expr:
    """`test ? a : b`; a minimum or maximum of integers is written as such.

    >>> from planish.ir.expr import Var
    >>> x, y = Var("x", I32), Var("y", I32)
    >>> choose(Compare("gt", x, y), x, y).op
    'max'
    >>> choose(Compare("lt", x, Const(0, I32)), Const(0, I32), Binary("min", x, Const(255, I32))).op
    'max'
    """
    if isinstance(test, Const):
        return a if test.value else b
    if a == b:
        return a
    if isinstance(test, Compare) and test.op in ("lt", "le", "gt", "ge") and type_of(a).is_int:
        less = test.op in ("lt", "le")
        # What is compared must be what is chosen: a conversion to a narrower type may change the order.
        if (test.left, test.right) == (a, b):
            return Binary("min" if less else "max", a, b)
        if (test.left, test.right) == (b, a):
            return Binary("max" if less else "min", b, a)
        if (clamped := _clamp(test, a, b, less)) is not None:
            return clamped
    return Select(test, a, b)


def _clamp(test: Compare, a: Expr, b: Expr, less: bool) -> Expr | None:
    """`v < low ? low : min(v, high)` for numbers `low <= high`, and the same the other way round, as an extremum of an
    extremum; None where it is none."""
    match test.right, a, b:
        case Const(value=first), Const(), Binary(op="min" | "max" as op, left=inner, right=Const(value=last)) if (
            test.right == a and inner == test.left and op == ("min" if less else "max")
        ):
            ordered = first <= last if less else last <= first
            return Binary("max" if less else "min", b, a) if ordered else None
        case _:
            return None


def condition_of(node: c_ast.Node, cx: CTranslation) -> Expr:
    """Read a condition as a bool; comparisons of index expressions stay comparisons of index expressions."""
    match node:
        case c_ast.BinaryOp(op="&&" | "||" as op, left=left, right=right):
            a = condition_of(left, cx)
            before = dict(cx.values)
            if _inlines(right, cx):
                a = _kept(a, left, cx)
            with cx.conditional(operand=True):
                b = _guarded(right, a if op == "&&" else opposite(a), cx, condition_of)
            if any(cx.values.get(s) != v for s, v in before.items()):
                raise Refused("scop-condition", f"a step on the right of {op}", right)
            if isinstance(a, Const):
                return b if bool(a.value) == (op == "&&") else a
            return Binary("and" if op == "&&" else "or", a, b)
        case c_ast.UnaryOp(op="!", expr=operand):
            return opposite(condition_of(operand, cx))
        case c_ast.BinaryOp(op="==" | "!=" | "<" | "<=" | ">" | ">=" as op, left=left, right=right):
            return _comparison(node, op, left, right, cx)
        case _ if (held := address_element(node, cx)) is not None:
            return truth(held)
        case _ if is_nowhere(node, cx) or grant_address(node, cx, address_of):
            return Const(not is_nowhere(node, cx), BOOL)
        case _:
            undo = cx.remember()
            try:
                value = index_of(node, cx)
            except NotIndex:
                undo()
                return truth(value_of(node, cx))
            return _decided(Compare("ne", value.expr, Const(0, INDEX)))


def _comparison(node: c_ast.Node, op: str, left: c_ast.Node, right: c_ast.Node, cx: CTranslation) -> Expr:
    if op in ("==", "!="):
        if is_null(right) and (held := address_element(left, cx)) is not None:
            return Compare(_COMPARISON[op], held, Const(0, held.type))
        for one, other in ((left, right), (right, left)):
            if is_null(other) and (is_nowhere(one, cx) or grant_address(one, cx, address_of)):
                return Const((op == "!=") != is_nowhere(one, cx), BOOL)
    undo = cx.remember()
    try:
        if is_address(left, cx) and is_address(right, cx):
            apart = distance(address_of(left, cx), address_of(right, cx), node, cx)
            return _decided(Compare(_COMPARISON[op], apart, Const(0, INDEX)))
        a, b = index_of(left, cx), index_of(right, cx)
        type = common(a.type, b.type)
        return _decided(Compare(_COMPARISON[op], fitted(a, type, node, cx), fitted(b, type, node, cx)))
    except NotIndex as reason:
        if is_address(left, cx) or is_address(right, cx):
            raise reason.refusal() from None
        undo()
    x, y = value_of(left, cx), value_of(right, cx)
    type = common(type_of(x), type_of(y))
    # What holds of bf16 values holds of them as floats.
    type = F32 if type == BF16 else type
    return Compare(_COMPARISON[op], convert(x, type), convert(y, type))


def _decided(test: Compare) -> Expr:
    a, b = constant(test.left), constant(test.right)
    if same(test.left, test.right):
        a = b = 0
    if a is None or b is None:
        return test
    outcome = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    return Const(outcome[test.op], BOOL)


def only_sizes(test: Expr) -> bool:
    """Whether a condition reads no data: index comparisons joined by and, or, not."""
    match test:
        case Const():
            return True
        case Compare(left=left):
            return type_of(left) == INDEX and _plain(test.left) and _plain(test.right)
        case Binary(op="and" | "or", left=a, right=b):
            return only_sizes(a) and only_sizes(b)
        case Unary(op="not", operand=x):
            return only_sizes(x)
        case _:
            return False


def _plain(expr: Expr) -> bool:
    match expr:
        case Const() | Var():
            return True
        case Unary(op="neg", operand=x):
            return _plain(x)
        case Binary(op="add" | "sub" | "mul" | "floordiv" | "mod" | "min" | "max", left=a, right=b):
            return _plain(a) and _plain(b)
        case _:
            return False


def _call(node: c_ast.FuncCall, cx: CTranslation) -> Expr:
    name = call_name(node)
    arguments = list(node.args.exprs) if node.args is not None else []
    if name in cx.bound.file.functions:
        return cx.inline(node, cx, _returned(node, cx))
    own = name in cx.bound.file.defined  # in whose place a program may have another one
    if not own and (part := cx.complex_part(node, cx)) is not None:
        return part
    known = not own and is_library_function(name)
    value = library_value(name, [_argument(x, cx) for x in arguments]) if known else None
    if value is None:
        told = cx.bound.file.elsewhere.get(name, "which is not a function that Planish knows")
        raise Refused("scop-call", f"a call of {name}, {told}", node)
    return value


def _argument(node: c_ast.Node, cx: CTranslation) -> Expr:
    """An argument of the library; a text is that of what is no number."""
    return Const(0, I32) if isinstance(node, c_ast.Constant) and node.type.endswith("string") else value_of(node, cx)


def _returned(node: c_ast.FuncCall, cx: CTranslation) -> Callable[[c_ast.Node | None, CTranslation], Expr]:
    """How to read what a function of the file returns, as a number."""
    name = call_name(node)
    result = resolve(cx.bound.file.functions[name].decl.type.type, cx.bound.typedefs)
    if not isinstance(result, CScalar):
        raise Refused("scop-call", f"a call of {name}, which returns no number", node)

    def read(value: c_ast.Node | None, cx: CTranslation) -> Expr:
        if value is None:
            raise Refused("scop-call", f"a call of {name}, which returns nothing", node)
        return convert(value_of(value, cx), result.type)

    return read
