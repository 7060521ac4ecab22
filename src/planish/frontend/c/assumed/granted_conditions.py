"""Conditions over sizes that a nest relies on: where one does not hold, the original runs.

Before: for i { if (i >= limit) fail(i); y[i] = x[i]; }
After:  for i { y[i] = x[i] }    under the condition n - 1 < limit

So a branch that cannot be read need not be: it is what a program does in rare cases, such as complaints, traces and
checks.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> from planish.frontend.c.translate.state import Enclosing
>>> from planish.ir.expr import Var
>>> tree = CParser().parse("void f(int n, int m) { }")
>>> cx = CTranslation(bind_function(tree.ext[0], bind_file(tree)), "strict", frozenset(), lambda _: None)
>>> cx.iterators.append(Enclosing("i", index(0), Var("n", INDEX)))
>>> grant(Compare("lt", Var("i", INDEX), Var("m", INDEX)), cx), len(cx.assumptions)
(True, 1)
>>> grant(Compare("ne", Var("i", INDEX), index(0)), cx)
False
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from pycparser import c_ast

from planish.frontend.c.refusals import UNREADABLE
from planish.frontend.c.translate.addresses import is_address
from planish.frontend.c.translate.state import Address, CTranslation, LostValue, Refused
from planish.frontend.c.types.declarations import CPointer
from planish.ir.conditional_accesses import opposite
from planish.ir.expr import Binary, Compare, Const, Expr, Unary, index, type_of
from planish.ir.index.polynomial import names, neg, normal, sub
from planish.ir.traverse import variables
from planish.ir.types import INDEX

_T = TypeVar("_T")
ReadAddress = Callable[[c_ast.Node, CTranslation], Address]

NOWHERE = LostValue("it leads nowhere")
"""What a pointer variable holds that is set to `NULL`."""


def is_rare(refusal: Refused, test: Expr, cx: CTranslation) -> bool:
    """Whether a branch that is refused may be one that is not reached in most calls: jumps in some iterations are how a
    loop runs, and what is in front of all loops may as well stay there."""
    its = {it.name for it in cx.iterators}
    moves = bool(variables(test) & its) or any("@" in x for x in variables(test))
    return cx.repeats and refusal.cause in UNREADABLE and not (moves and refusal.cause == "scop-jump")


def grant(condition: Expr, cx: CTranslation) -> bool:
    """Take a condition over sizes and loop variables as granted in every iteration; False where that is none that can
    be asked where the nest begins."""
    match condition:
        case Const(value=value):
            return bool(value)
        case Unary(op="not", operand=Binary(op="or", left=left, right=right)):
            return grant(opposite(left), cx) and grant(opposite(right), cx)
        case Binary(op="and", left=left, right=right):
            return grant(left, cx) and grant(right, cx)
        case Compare(op=op, left=left, right=right) if type_of(left) == INDEX:
            apart = sub(left, right)
            match op:
                case "ge":
                    return cx.never_negative(apart)
                case "gt":
                    return cx.never_negative(sub(apart, index(1)))
                case "le":
                    return cx.never_negative(neg(apart))
                case "lt":
                    return cx.never_negative(sub(neg(apart), index(1)))
                case "eq":
                    return cx.never_negative(apart) and cx.never_negative(neg(apart))
                case "ne":
                    return _differs(apart, cx)
        case _:
            return False


def granted_side(test: Expr, sides: Mapping[bool, Callable[[], _T]], cx: CTranslation) -> _T | None:
    """What is read on the first of several sides of a condition that can be, where it holds or not, under the condition
    that this one is taken; None where there is none that can be asked where the nest begins."""
    for holds, read in sides.items():
        try:
            with cx.attempt():
                if grant(test if holds else opposite(test), cx):
                    return read()
                raise Refused("scop-condition", "a condition that cannot be asked where the nest begins")
        except Refused:
            pass
    return None


def _differs(apart: Expr, cx: CTranslation) -> bool:
    """Take it as granted that a difference of sizes is not 0."""
    if cx.dry:
        return True
    if names(apart) & {it.name for it in cx.iterators} or any("@" in n for n in names(apart)):
        return False
    condition = Compare("ne", normal(apart), index(0))
    if condition not in cx.assumptions:
        cx.assumptions.append(condition)
    return True


def is_nowhere(node: c_ast.Node, cx: CTranslation) -> bool:
    """Whether an expression is a pointer variable that leads nowhere."""
    symbol = cx.bound.symbol(node) if isinstance(node, c_ast.ID) else None
    return symbol is not None and cx.values.get(symbol) == NOWHERE


def grant_address(node: c_ast.Node, cx: CTranslation, address_of: ReadAddress) -> bool:
    """Take it as granted that an address leads somewhere; False where the expression is none. Raises Refused where it
    cannot be asked where the nest begins."""
    if not is_address(node, cx):
        return False
    root = address_of(node, cx).symbol
    if isinstance(root.ctype, CPointer):
        if root.apart is not None or not cx.repeats:
            raise Refused("scop-pointer", f"the address {root.name} used as a value", node)
        if not cx.dry:
            cx.used.setdefault(root)
            cx.layouts[f"{root.name} != 0"] = None
    return True
