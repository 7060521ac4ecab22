"""What a function asserts of its parameters before its first loop, so that nests may rely on it.

Known are `assert(x)`, `__builtin_assume(x)`, `if (!x) __builtin_unreachable();` and `if (!x) return;`.

>>> from pycparser.c_parser import CParser
>>> from pycparser.c_generator import CGenerator
>>> text = "int f(int n, int m) { ((void)sizeof(!(n < 9 && m))); if (n > 4 || m == 2) { return 1; } n = m; return 0; }"
>>> body = CParser().parse(text).ext[0].body
>>> [(CGenerator().visit(x), holds) for x, holds in find_assertions(body)]
[('n < 9', True), ('m', True), ('n > 4', False), ('m == 2', False)]
"""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from planish.frontend.c.types.constants import has_effects, walk_tree

_ENDS = frozenset({"abort", "exit", "_Exit", "__builtin_unreachable", "__builtin_trap"})
"""Functions that do not return."""
ASSUMES = frozenset({"__builtin_assume", "__assume"})
"""What compilers are told by: the calls do nothing."""
_LOOPS = (c_ast.For, c_ast.While)


def asserted(node: c_ast.Node) -> c_ast.Node | None:
    """The condition of an `assert`, as the header that is read says it; None where the statement is another one."""
    match node:
        case c_ast.Cast(expr=c_ast.UnaryOp(op="sizeof", expr=c_ast.UnaryOp(op="!", expr=condition))):
            return condition
        case _:
            return None


def assumed(node: c_ast.Node) -> c_ast.Node | None:
    """What a statement that does nothing tells the compiler; None where the statement is another one."""
    match node:
        case c_ast.FuncCall(name=c_ast.ID(name=name), args=c_ast.ExprList(exprs=[condition])) if name in ASSUMES:
            return condition
        case c_ast.If(cond=condition, iftrue=then, iffalse=None) if (
            _calls(then) == ["__builtin_unreachable"] and not has_effects(condition)
        ):
            return c_ast.UnaryOp("!", condition, condition.coord)
        case c_ast.DoWhile(cond=c_ast.Constant(value="0"), stmt=c_ast.Compound(block_items=[single])):
            return assumed(single)
        case _:
            return None


def find_assertions(body: c_ast.Compound) -> Iterator[tuple[c_ast.Node, bool]]:
    """Conditions that hold, or (False) do not hold, from the first loop of a function on, as far as their variables
    keep their values."""
    for node in body.block_items or []:
        if any(isinstance(x, (*_LOOPS, c_ast.Label, c_ast.Goto)) for x in walk_tree(node)):
            return
        yield from _told(node)


def _told(node: c_ast.Node) -> Iterator[tuple[c_ast.Node, bool]]:
    match node:
        case c_ast.DoWhile(cond=c_ast.Constant(value="0"), stmt=c_ast.Compound(block_items=[*items])):
            for item in items:
                yield from _told(item)
        case c_ast.If(cond=condition, iftrue=then, iffalse=None) if _leaves(then):
            yield from _parts(condition, False)
        case _:
            condition = asserted(node) or assumed(node)
            if condition is not None:
                yield from _parts(condition, True)


def _parts(condition: c_ast.Node, holds: bool) -> Iterator[tuple[c_ast.Node, bool]]:
    match condition:
        case c_ast.UnaryOp(op="!", expr=inner):
            yield from _parts(inner, not holds)
        case c_ast.BinaryOp(op="&&" | "||" as op, left=left, right=right) if (op == "&&") == holds:
            yield from _parts(left, holds)
            yield from _parts(right, holds)
        case _:
            yield condition, holds


def _leaves(node: c_ast.Node) -> bool:
    """Whether nothing behind a statement is run after it."""
    match node:
        case c_ast.Compound(block_items=[*_, last]):
            return _leaves(last)
        case c_ast.Return():
            return True
        case _:
            return any(x in _ENDS for x in _calls(node))


def _calls(node: c_ast.Node) -> list[str]:
    """The function that a statement calls, where it is no more than that."""
    match node:
        case c_ast.Compound(block_items=[single]):
            return _calls(single)
        case c_ast.FuncCall(name=c_ast.ID(name=name)):
            return [name]
        case _:
            return []
