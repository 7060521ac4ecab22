"""Live variables after a statement: only their values must be given back by a kernel.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import FileScope, bind_function
>>> text = "int f(int n) { int i, s; s = 0; for (i = 0; i < n; i++) s += i; return s; }"
>>> bound = bind_function(CParser().parse(text).ext[0], FileScope({}, {}, {}, frozenset()))
>>> loop = bound.function.body.block_items[3]
>>> sorted(s.name for s in live_after(bound)[id(loop)])
['s']
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol
from planish.frontend.c.types.constants import walk_tree

Live = frozenset[Symbol]


class _Context:
    """Where jumps go to, and what was found so far."""

    __slots__ = ("bound", "breaks", "continues", "out")

    def __init__(self, bound: BoundNames) -> None:
        self.bound = bound
        self.breaks: list[Live] = []
        self.continues: list[Live] = []
        self.out: dict[int, Live] = {}


def live_after(bound: BoundNames) -> dict[int, Live]:
    """For the id of each statement of a function, the variables that may be read after it before they are set.

    With goto and labels every variable that is used anywhere counts as live everywhere.
    """
    context = _Context(bound)
    if bound.jumps:
        everything = frozenset(s for x in walk_tree(bound.function.body) if (s := bound.symbol(x)) is not None)
        return {id(x): everything for x in walk_tree(bound.function.body)}
    _before(bound.function.body, frozenset(), context)
    return context.out


def _uses(node: c_ast.Node | None, context: _Context) -> Live:
    """All variables that an expression mentions."""
    if node is None:
        return frozenset()
    return frozenset(s for x in walk_tree(node) if (s := context.bound.symbol(x)) is not None)


def _before(node: c_ast.Node | None, after: Live, context: _Context) -> Live:
    """Variables that may be read from before `node` on, when those in `after` may be read behind it."""
    if node is None:
        return after
    # A statement in a loop is visited several times; what is live behind it only grows.
    context.out[id(node)] = context.out.get(id(node), frozenset()) | after
    match node:
        case c_ast.Compound(block_items=items):
            for item in reversed(items or []):
                after = _before(item, after, context)
            return after
        case c_ast.DeclList(decls=items) | c_ast.ExprList(exprs=items):
            for item in reversed(items):
                after = _before(item, after, context)
            return after
        case c_ast.Decl():
            symbol = context.bound.symbol(node)
            kept = after - {symbol} if symbol is not None else after
            return kept | _uses(node.type, context) | _uses(node.init, context)
        case c_ast.Assignment(op=op, lvalue=c_ast.ID() as target, rvalue=value):
            symbol = context.bound.symbol(target)
            if op == "=" and symbol is not None:
                return _before_value(value, after - {symbol}, context)
            return after | _uses(node, context)
        case c_ast.If(cond=cond, iftrue=then, iffalse=otherwise):
            joined = _before(then, after, context) | _before(otherwise, after, context)
            return joined | _uses(cond, context)
        case c_ast.For(init=init, cond=cond, next=step, stmt=body):
            head = _loop(cond, step, body, after, context)
            return _before(init, head, context)
        case c_ast.While(cond=cond, stmt=body):
            return _loop(cond, None, body, after, context)
        case c_ast.DoWhile(cond=cond, stmt=body):
            return _loop(cond, None, body, after, context)
        case c_ast.Switch(cond=cond, stmt=body):
            context.breaks.append(after)
            context.continues.append(context.continues[-1] if context.continues else after)
            inside = _uses(body, context) | after
            _before(body, inside, context)
            context.breaks.pop()
            context.continues.pop()
            return inside | _uses(cond, context)
        case c_ast.Return(expr=value):
            return _uses(value, context)
        case c_ast.Break():
            return context.breaks[-1] if context.breaks else after
        case c_ast.Continue():
            return context.continues[-1] if context.continues else after
        case _:
            for _, child in node.children():
                if isinstance(
                    child, (c_ast.Compound, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.If, c_ast.Assignment)
                ):
                    _before(child, after | _uses(node, context), context)
            return after | _uses(node, context)


def _before_value(value: c_ast.Node, after: Live, context: _Context) -> Live:
    """An assigned value may itself be an assignment: `a = b = 0`."""
    if isinstance(value, c_ast.Assignment):
        return _before(value, after, context)
    return after | _uses(value, context)


def _loop(cond: c_ast.Node | None, step: c_ast.Node | None, body: c_ast.Node, after: Live, context: _Context) -> Live:
    """Iterate to the fixed point; the number of rounds is bounded by what can be added."""
    head = after | _uses(cond, context)
    while True:
        behind_body = _before(step, head, context) if step is not None else head
        context.breaks.append(after)
        context.continues.append(behind_body)
        again = head | _before(body, behind_body, context)
        context.breaks.pop()
        context.continues.pop()
        if again == head:
            return head
        head = again
