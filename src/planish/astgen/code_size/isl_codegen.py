"""isl's own answer as a nest of the IR, so that it can be run, counted and compared with ours.

>>> from planish.astgen.formats import parse_input
>>> found = parse_input("[n] -> { S[i] -> [i] : 0 <= i < n } { : } { }", "a.in")
>>> loop = rival_nest(found).body[0]
>>> loop.var, loop.upper.name, loop.body.body[0].array
('c0', 'n', 'S')
"""

from __future__ import annotations

import islpy as isl

from planish.astgen.checking.verify import record
from planish.astgen.formats import CodegenInput
from planish.astgen.state import Instantiate
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import (
    MIRRORED,
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Select,
    Unary,
    Var,
    index,
    type_of,
)
from planish.ir.nest import Block, For, If, Let, Stmt
from planish.ir.traverse import variables
from planish.ir.types import BOOL, INDEX
from planish.poly.isl.affine import CONTEXT, source_name
from planish.poly.isl.expression import add, normalise

NODE = isl.ast_node_type
EXPR = isl.ast_expr_type
OP = isl.ast_expr_op_type

_LOGICAL: dict[str, BinaryOp] = {"and_": "and", "and_then": "and", "or_": "or", "or_else": "or"}
_CHAINS: dict[str, BinaryOp] = {
    "min": "min", "max": "max", "add": "add", "sub": "sub", "mul": "mul", "fdiv_q": "floordiv", "pdiv_q": "quo",
    "pdiv_r": "rem", "zdiv_r": "rem", "div": "quo",
}  # fmt: skip
"""`pdiv` and `zdiv` are printed as C's own operators: what they give for a negative dividend is what C gives."""

_COMPARISONS: dict[str, CompareOp] = {"eq": "eq", "le": "le", "lt": "lt", "ge": "ge", "gt": "gt"}


def rival_nest(found: CodegenInput, instantiate: Instantiate = record) -> Block:
    """The nest that isl generates; PlanishError E0513 where it generates none or one that the IR cannot hold."""
    try:
        return convert(run_isl(found), instantiate)
    except isl.Error as error:
        raise _refuse(found, str(error)) from error
    except _ForeignError as error:
        raise _refuse(found, str(error)) from error


def _refuse(found: CodegenInput, reason: str) -> PlanishError:
    message = f"isl generates no nest for {found.name}: {reason}"
    return PlanishError(Diagnostic("E0513", message, found.source.point(1)), found.source)


def run_isl(found: CodegenInput) -> isl.AstNode:
    """isl's own tree for the input, with the settings of its own tests; raises isl.Error."""
    before = CONTEXT.get_ast_build_detect_min_max()
    CONTEXT.set_ast_build_detect_min_max(1)
    try:
        if found.schedule is not None:
            return isl.AstBuild.alloc(CONTEXT).node_from_schedule(found.schedule)
        build = isl.AstBuild.from_context(found.context).set_options(found.options)
        return build.node_from_schedule_map(found.schedule_map)
    finally:
        CONTEXT.set_ast_build_detect_min_max(before)


class _ForeignError(Exception):
    """Something in isl's tree that the IR has no counterpart for."""


def convert(node: isl.AstNode, instantiate: Instantiate = record) -> Block:
    """A node of isl's tree and what is below it."""
    return Block(tuple(_statements(node, instantiate)))


def _statements(node: isl.AstNode, instantiate: Instantiate) -> list[Stmt]:
    kind = NODE(node.get_type()).name
    if kind == "block":
        children = node.block_get_children()
        return [x for i in range(children.n_ast_node()) for x in _statements(children.get_at(i), instantiate)]
    if kind == "mark":
        return _statements(node.mark_get_node(), instantiate)
    if kind == "if_":
        then = convert(node.if_get_then_node(), instantiate)
        otherwise = convert(node.if_get_else_node(), instantiate) if node.if_has_else_node() else Block(())
        return [If(_condition(node.if_get_cond()), then, otherwise)]
    if kind == "for_":
        return [_loop(node, instantiate)]
    if kind == "user":
        name, *at = _arguments(node.user_get_expr())
        return [instantiate(_identifier(name), tuple(_index(x) for x in at))]
    raise _ForeignError(f"a node of kind {kind}")


def _loop(node: isl.AstNode, instantiate: Instantiate) -> Stmt:
    var = source_name(_identifier(node.for_get_iterator()))
    lower = _index(node.for_get_init())
    body = convert(node.for_get_body(), instantiate)
    if node.for_is_degenerate():
        return Block((Let(var, lower), *body.body))
    step = _expression(node.for_get_inc())
    if not isinstance(step, Const):
        raise _ForeignError("a loop's step is not constant")
    limit = _limit(_condition(node.for_get_cond()), var, lower)
    return For(var, lower, normalise(limit), int(step.value), body)


def _limit(condition: Expr, var: str, lower: Expr) -> Expr:
    """The first value at which a loop's condition does not hold: the exclusive upper bound."""
    match condition:
        case Compare(op=op, left=Var(name=name), right=bound) if name == var and not _mentions(bound, var):
            return _exclusive(op, bound)
        case Compare(op=op, left=bound, right=Var(name=name)) if name == var and not _mentions(bound, var):
            return _exclusive(MIRRORED[op], bound)
        case Compare(op=op, left=Binary(op="mul", left=Const(value=factor), right=Var(name=name)), right=bound) if (
            name == var and int(factor) > 0 and not _mentions(bound, var)
        ):
            return _exclusive("le", Binary("floordiv", add(_exclusive(op, bound), index(-1)), index(int(factor))))
        case Binary(op="and" | "or" as op, left=a, right=b) if _mentions(a, var) and _mentions(b, var):
            return Binary("min" if op == "and" else "max", _limit(a, var, lower), _limit(b, var, lower))
        case Binary(op="and", left=a, right=b) if _mentions(a, var):
            return Select(b, _limit(a, var, lower), lower)
        case Binary(op="and", left=a, right=b):
            return Select(a, _limit(b, var, lower), lower)
        case _:
            raise _ForeignError(f"the loop over {var} has no upper bound")


def _exclusive(op: CompareOp, bound: Expr) -> Expr:
    if op == "le":
        return add(bound, index(1))
    if op == "lt":
        return bound
    raise _ForeignError("a loop does not end at an upper bound")


def _mentions(expr: Expr, var: str) -> bool:
    return var in variables(expr)


def _identifier(expr: isl.AstExpr) -> str:
    return str(expr.get_id().get_name())


def _arguments(expr: isl.AstExpr) -> list[isl.AstExpr]:
    return [expr.op_get_arg(i) for i in range(expr.op_get_n_arg())]


def _index(expr: isl.AstExpr) -> Expr:
    return normalise(_expression(expr))


def _condition(expr: isl.AstExpr) -> Expr:
    """An expression where a condition is wanted: isl writes numbers for what always or never holds."""
    match _expression(expr):
        case Const(value=value):
            return Const(bool(value), BOOL)
        case found if type_of(found) == BOOL:
            return found
        case found:
            return Compare("ne", found, index(0))


def _expression(expr: isl.AstExpr) -> Expr:
    kind = EXPR(expr.get_type()).name
    if kind == "int":
        return index(int(expr.get_val().to_python()))
    if kind == "id":
        return Var(source_name(_identifier(expr)), INDEX)
    if kind == "op":
        return _operation(OP(expr.op_get_type()).name, _arguments(expr))
    raise _ForeignError(f"an expression of kind {kind}")


def _operation(op: str, arguments: list[isl.AstExpr]) -> Expr:
    if op in _LOGICAL:
        return _chain(_LOGICAL[op], [_condition(x) for x in arguments])
    if op in ("cond", "select"):
        condition, then, otherwise = arguments
        return Select(_condition(condition), _expression(then), _expression(otherwise))
    parts = [_expression(x) for x in arguments]
    if op == "minus":
        return Unary("neg", parts[0])
    if op in _CHAINS:
        return _chain(_CHAINS[op], parts)
    if op in _COMPARISONS:
        return Compare(_COMPARISONS[op], *parts)
    raise _ForeignError(f"the operation {op}")


def _chain(op: BinaryOp, parts: list[Expr]) -> Expr:
    out, *rest = parts
    for part in rest:
        out = Binary(op, out, part)
    return out


__all__ = ["convert", "rival_nest", "run_isl"]
