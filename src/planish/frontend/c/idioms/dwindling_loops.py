"""Loops that go on until an integer is used up by shifts or divisions: as many turns as its type has bits, at most.

`while (x) { x >>= 1; n++; }` becomes 32 turns, each of which does nothing once x is 0.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import FileScope, bind_function
>>> tree = CParser().parse("void f(unsigned x) { while (x) x /= 10; }")
>>> bound = bind_function(tree.ext[0], FileScope({}, {}, {}, frozenset()))
>>> found = find_dwindling(bound.function.body.block_items[0], bound)
>>> found.symbol.name, found.turns
('x', 11)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, settings
from planish.frontend.c.translate.expressions import condition_of
from planish.frontend.c.translate.state import Again, CTranslation, Enclosing
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CScalar
from planish.ir.expr import Load, index
from planish.ir.nest import Block, For
from planish.ir.types import BOOL, Type

_JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Return, c_ast.Goto, c_ast.Label)


@dataclass(frozen=True, slots=True)
class Dwindling:
    """A loop that ends when a variable is 0, which it is after so many turns."""

    symbol: Symbol
    turns: int


def find_dwindling(node: c_ast.Node, bound: BoundNames) -> Dwindling | None:
    """What a loop uses up; None where it is another loop."""
    if not isinstance(node, c_ast.While | c_ast.For) or node.cond is None:
        return None
    tested, positive = _tested(node.cond)
    symbol = bound.symbol(tested) if tested is not None else None
    if symbol is None or not isinstance(symbol.ctype, CScalar) or not symbol.ctype.type.is_int or symbol.lasting:
        return None
    if any(isinstance(x, _JUMPS) for x in walk_tree(node)):
        return None
    body = node.stmt.block_items or [] if isinstance(node.stmt, c_ast.Compound) else [node.stmt]
    steps = node.next.exprs if isinstance(next := getattr(node, "next", None), c_ast.ExprList) else [next]
    ends = [x for x in (*body, *steps) if x is not None]
    inside = [x for part in ends for s, x in settings(part, bound) if s is symbol]
    own = [x for x in ends if isinstance(x, c_ast.Assignment) and bound.symbol(x.lvalue) is symbol]
    if len(inside) != 1 or len(own) != 1:
        return None
    turns = _turns(own[0], symbol, symbol.ctype.type, positive, bound)
    return None if turns is None else Dwindling(symbol, turns)


def _tested(cond: c_ast.Node) -> tuple[c_ast.ID | None, bool]:
    """The variable that a condition compares with 0, and whether it holds only where that is positive."""
    match cond:
        case c_ast.ID():
            return cond, False
        case c_ast.BinaryOp(op="!=" | ">" as op, left=c_ast.ID() as left, right=c_ast.Constant(value="0")):
            return left, op == ">"
        case _:
            return None, False


def _turns(step: c_ast.Assignment, symbol: Symbol, type: Type, positive: bool, bound: BoundNames) -> int | None:
    """After how many steps a variable of a type is 0, whatever it was."""
    op, operand = step.op.removesuffix("="), step.rvalue
    if not op and isinstance(step.rvalue, c_ast.BinaryOp) and bound.symbol(step.rvalue.left) is symbol:
        op, operand = step.rvalue.op, step.rvalue.right
    plain = type.kind == "uint" or positive
    number = bound.value(operand)
    match op:
        case ">>" if number is not None and 0 < number < type.bits and plain:
            return -(-type.bits // number)
        case "/" if number is not None and number > 1 and (plain or type.kind == "int"):
            return -(-type.bits // (number.bit_length() - 1))
        case "&" if plain and _is_one_less(operand, symbol, bound):
            return type.bits
        case _:
            return None


def _is_one_less(node: c_ast.Node, symbol: Symbol, bound: BoundNames) -> bool:
    match node:
        case c_ast.BinaryOp(op="-", left=left, right=c_ast.Constant(value="1" | "1u" | "1U")):
            return bound.symbol(left) is symbol
        case _:
            return False


def run_dwindling(
    node: c_ast.While | c_ast.For,
    found: Dwindling,
    cx: CTranslation,
    execute: Callable[[c_ast.Node, CTranslation], None],
) -> None:
    """Translate such a loop, whose first part is done, as one of a fixed number of turns. Raises Refused, Again."""
    if not cx.is_cell(found.symbol):
        raise Again(cell=found.symbol)
    loop = Enclosing(cx.fresh("turn"), index(0), index(found.turns))
    cx.iterators.append(loop)
    with cx.inside() as body:
        test = cx.temporary("goes_on", BOOL, condition_of(node.cond, cx), node)
        cx.guards = [Load(test, (), BOOL)]
        execute(node.stmt, cx)
        if isinstance(node, c_ast.For) and node.next is not None:
            execute(node.next, cx)
        cx.guards = []
    cx.iterators.pop()
    cx.emit(For(loop.name, loop.lower, loop.upper, 1, Block(tuple(body)), span=cx.span_of(node)))
