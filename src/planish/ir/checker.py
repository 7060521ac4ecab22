"""The well-formedness checker: names bound once, types that agree, ranks that match; a fault names the stage and the
node.

>>> from planish.ir.text.parser import parse_kernel
>>> check_kernel(parse_kernel("kernel zero(n; A: f64[n]) { for i in 0 .. n { A[i] = 0.0 } }"), "frontend")
>>> check_kernel(parse_kernel("kernel zero(n; A: f64[n]) { A[0] = 0.0:f32 }"), "frontend")  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
planish.core.diagnostic.PlanishError: error[E0411]: after frontend, in kernel `zero`: ...
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NoReturn, assert_never

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Span
from planish.ir.expr import (
    PURE_FUNCTIONS,
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
)
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
    Memory,
    Reduce,
    Stmt,
    While,
)
from planish.ir.semantics.arithmetic import limits
from planish.ir.text.printer import print_expr, print_stmt
from planish.ir.traverse import walk_expr
from planish.ir.types import ALL_TYPES, BOOL, INDEX, Type

_FLOAT_OPS: frozenset[BinaryOp] = frozenset({"add", "sub", "mul", "div", "min", "max"})
_BOOL_OPS: frozenset[BinaryOp] = frozenset({"and", "or", "xor"})

Kind = Literal["size", "scalar", "iterator", "let", "array"]


@dataclass(frozen=True, slots=True)
class _Bound:
    """What a name stands for."""

    kind: Kind
    type: Type
    rank: int = 0
    memory: Memory = "dram"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the checker is: the stage, the kernel, the statement, and the names in scope."""

    stage: str
    kernel: Kernel
    names: Mapping[str, _Bound]
    span: Span | None = None
    node: Stmt | Expr | None = None

    def fail(self, code: str, message: str) -> NoReturn:
        """PlanishError that names stage, kernel and node."""
        where = "" if self.node is None else f" (at `{_show(self.node)}`)"
        text = f"after {self.stage}, in kernel `{self.kernel.name}`: {message}{where}"
        raise PlanishError(Diagnostic(code, text, self.span or self.kernel.span))

    def bind(self, name: str, bound: _Bound) -> _Place:
        """One more name, which must be free."""
        if name in self.names:
            self.fail("E0410", f"`{name}` is bound twice")
        return _Place(self.stage, self.kernel, {**self.names, name: bound}, self.span, self.node)


def _show(node: Stmt | Expr) -> str:
    """An expression, or the first line of a statement."""
    if isinstance(node, Block | For | While | If | Assign | Reduce | Alloc | Let | Launch | Barrier):
        return print_stmt(node).splitlines()[0].rstrip(" {")
    return print_expr(node)


def check_kernel(kernel: Kernel, stage: str) -> None:
    """Raise PlanishError unless the kernel is well-formed; `stage` is what produced it.

    E0410: a name is unbound, bound twice, or of the wrong kind; E0411: types; E0412: ranks and shapes; E0413: a
    loop's step or facts; E0414: a call; E0415: a literal that is no value of its type; E0416: what is `nowhere` is
    read, or a table is written, or has more or fewer values than elements.
    """
    place = _Place(stage, kernel, {})
    for size in kernel.sizes:
        place = place.bind(size, _Bound("size", INDEX))
    for scalar in kernel.scalars:
        place = place.bind(scalar.name, _Bound("scalar", scalar.type))
    for array in kernel.arrays:
        _check_shape(array, place, local=False)
        place = place.bind(array.name, _Bound("array", array.type, len(array.shape)))
    for assumption in kernel.assumptions:
        here = replace(place, node=assumption)
        _want(assumption, BOOL, here, "an assumption")
        _check_sizes_only(assumption, here, "an assumption")
    _check_block(kernel.body, place)


def _check_block(block: Block, place: _Place) -> None:
    for stmt in block.body:
        place = _check_stmt(stmt, place)


def _check_stmt(stmt: Stmt, outer: _Place) -> _Place:
    """Check one statement; gives the place of those after it."""
    if isinstance(stmt, Block):
        _check_block(stmt, outer)
        return outer
    # There are many statements, and `replace` takes several times as long as this.
    place = _Place(outer.stage, outer.kernel, outer.names, stmt.span or outer.span, stmt)
    match stmt:
        case For():
            _check_loop(stmt, place)
        case While(condition=condition, body=body):
            _want(condition, BOOL, place, "a condition")
            _check_block(body, place)
        case If(condition=condition, then=then, otherwise=otherwise):
            _want(condition, BOOL, place, "a condition")
            _check_block(then, place)
            _check_block(otherwise, place)
        case Assign(array=array, index=index, value=value) | Reduce(array=array, index=index, value=value):
            bound = place.names.get(array)
            if bound is not None and bound.kind != "array":
                place.fail("E0410", f"`{array}` is a {bound.kind}, which cannot be assigned")
            if bound is not None and bound.memory == "table":
                place.fail("E0416", f"`{array}` is a table, which cannot be assigned")
            type = _check_access(array, index, place)
            _want(value, type, place, f"a value for `{array}`")
            if isinstance(stmt, Reduce):
                _check_operator(stmt.op, type, place)
        case Alloc(array=array):
            _check_shape(array, place, local=True)
            bound = _Bound("array", array.type, len(array.shape), array.memory)
            return replace(outer, names=place.bind(array.name, bound).names)
        case Let(var=var, value=value):
            bound = _Bound("let", _check_expr(value, place))
            return replace(outer, names=place.bind(var, bound).names)
        case Launch(grid=grid, block=threads, body=body):
            inner = place
            for name, number in grid:
                _want(number, INDEX, place, "a number of blocks")
                inner = inner.bind(name, _Bound("iterator", INDEX))
            for name, count in threads:
                if count < 1:
                    place.fail("E0413", f"there are {count} threads along `{name}`")
                inner = inner.bind(name, _Bound("iterator", INDEX))
            _check_block(body, inner)
        case Barrier():
            pass
        case _:
            assert_never(stmt)
    return outer


def _check_loop(loop: For, place: _Place) -> None:
    _want(loop.lower, INDEX, place, "a loop bound")
    _want(loop.upper, INDEX, place, "a loop bound")
    if loop.step <= 0:
        place.fail("E0413", f"the step {loop.step} is not positive")
    if loop.facts.unroll < 0:
        place.fail("E0413", f"the loop cannot be unrolled {loop.facts.unroll} times")
    for op, name in loop.facts.reductions:
        bound = place.names.get(name)
        if bound is None or bound.kind != "array" or bound.rank != 0:
            place.fail("E0413", f"the loop reduces `{name}`, which is not a scalar cell outside of it")
        _check_operator(op, bound.type, place)
    _check_block(loop.body, place.bind(loop.var, _Bound("iterator", INDEX)))


def _check_shape(array: Array, place: _Place, local: bool) -> None:
    if array.type not in ALL_TYPES:
        place.fail("E0411", f"`{array.name}` has the unknown type {array.type}")
    for axis, extent in enumerate(array.shape):
        if extent is None:
            if axis or local:
                place.fail("E0412", f"extent {axis + 1} of `{array.name}` must be given")
            continue
        _want(extent, INDEX, place, f"an extent of `{array.name}`")
        _check_sizes_only(extent, place, f"an extent of `{array.name}`")
    if array.memory == "table":
        count = math.prod(int(x.value) if isinstance(x, Const) else -1 for x in array.shape)
        if not local or count != len(array.values):
            place.fail("E0416", f"the table `{array.name}` has {len(array.values)} values")


def _check_sizes_only(expr: Expr, place: _Place, what: str) -> None:
    for x in walk_expr(expr):
        if isinstance(x, Load):
            place.fail("E0410", f"{what} reads `{x.array}`")
        if isinstance(x, Var) and place.names[x.name].kind != "size":
            place.fail("E0410", f"{what} uses `{x.name}`, which is not a size")


def _check_access(array: str, index: tuple[Expr, ...], place: _Place) -> Type:
    """The element type."""
    bound = place.names.get(array)
    if bound is None:
        place.fail("E0410", f"no array `{array}` is in scope")
    if bound.kind != "array":
        place.fail("E0410", f"`{array}` is a {bound.kind}, not an array")
    if len(index) != bound.rank:
        place.fail("E0412", f"`{array}` has rank {bound.rank} but is subscripted {len(index)} times")
    for subscript in index:
        _want(subscript, INDEX, place, f"a subscript of `{array}`")
    return bound.type


def _want(expr: Expr, type: Type, place: _Place, what: str) -> None:
    found = _check_expr(expr, place)
    if found != type:
        place.fail("E0411", f"{what} must be {type}, but `{print_expr(expr)}` is {found}")


def _check_operator(op: BinaryOp, type: Type, place: _Place) -> None:
    allowed = op in _BOOL_OPS if type == BOOL else op in _FLOAT_OPS if type.is_float else op != "div"
    if not allowed:
        place.fail("E0411", f"`{op}` has no meaning for {type}")


def _check_expr(expr: Expr, place: _Place) -> Type:
    """The type of the expression."""
    match expr:
        case Const():
            _check_literal(expr, place)
            return expr.type
        case Var(name=name, type=type):
            bound = place.names.get(name)
            if bound is None:
                place.fail("E0410", f"no name `{name}` is in scope")
            if bound.kind == "array":
                place.fail("E0410", f"`{name}` is an array; write `{name}[…]`")
            if bound.type != type:
                place.fail("E0411", f"`{name}` is {bound.type}, but it is used as {type}")
            return type
        case Load(array=array, index=index, type=type):
            found = _check_access(array, index, place)
            if place.names[array].memory == "nowhere":
                place.fail("E0416", f"`{array}` is read, but what is stored there goes nowhere")
            if found != type:
                place.fail("E0411", f"`{array}` holds {found}, but it is loaded as {type}")
            return type
        case Unary(op=op, operand=operand):
            type = _check_expr(operand, place)
            allowed = {"neg": type.is_int or type.is_float, "not": type == BOOL, "bitnot": type.is_int}[op]
            if not allowed:
                place.fail("E0411", f"`{op}` has no meaning for {type}")
            return type
        case Binary(op=op, left=left, right=right):
            type = _same((left, right), place, f"the operands of `{op}`")
            _check_operator(op, type, place)
            return type
        case Compare(op=op, left=left, right=right):
            _same((left, right), place, f"the operands of `{op}`")
            return BOOL
        case Select(condition=condition, then=then, otherwise=otherwise):
            _want(condition, BOOL, place, "the condition of `select`")
            return _same((then, otherwise), place, "the branches of `select`")
        case Cast(operand=operand, type=type):
            _check_expr(operand, place)
            if type not in ALL_TYPES:
                place.fail("E0411", f"{type} is not a type")
            return type
        case Call():
            return _check_call(expr, place)
        case _:
            assert_never(expr)


def _same(operands: Iterable[Expr], place: _Place, what: str) -> Type:
    types = [_check_expr(x, place) for x in operands]
    for type in types[1:]:
        if type != types[0]:
            place.fail("E0411", f"{what} differ: {types[0]} and {type}")
    return types[0]


def _check_call(call: Call, place: _Place) -> Type:
    name = call.function
    if name not in PURE_FUNCTIONS:
        place.fail("E0414", f"`{name}` is not a known function")
    if len(call.arguments) != PURE_FUNCTIONS[name]:
        place.fail("E0414", f"`{name}` takes {PURE_FUNCTIONS[name]} arguments, not {len(call.arguments)}")
    type = _same(call.arguments, place, f"the arguments of `{name}`")
    if not (type.is_int if name == "abs" else type.is_float):
        place.fail("E0414", f"`{name}` has no meaning for {type}")
    return type


def _check_literal(literal: Const, place: _Place) -> None:
    value, type = literal.value, literal.type
    if type not in ALL_TYPES:
        place.fail("E0411", f"{type} is not a type")
    if type.is_float:
        return
    low, high = limits(type)
    if not math.isfinite(value) or int(value) != value or not low <= value <= high:
        place.fail("E0415", f"{value} is not a value of {type}")
