"""Statements in front of a region that set pointers to something that still holds where the region starts.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> tree = CParser().parse("void f(float *a) { float *p = a + 4, *q = a; q++; }")
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> [x.name for x in pointer_facts(bound.function.body.block_items, bound)]
['p']
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_pointer, written
from planish.frontend.c.types.constants import walk_tree


def pointer_facts(before: list[c_ast.Node], bound: BoundNames) -> list[c_ast.Node]:
    """Statements right before a region that set pointers to something that still holds when the region starts."""
    changed: list[Symbol] = [x for node in before for x in written(node, bound)]
    facts: list[c_ast.Node] = []
    trusted: set[Symbol] = set()
    for node in before:
        match node:
            case c_ast.Decl(init=init) if init is not None:
                symbol, value = bound.symbol(node), init
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=rvalue):
                symbol, value = bound.symbol(target), rvalue
            case _:
                symbol, value = None, node
        if _may_store(node):
            # What is read from memory may be another value now.
            facts = [x for x in facts if not _reads_members(x)]
        if symbol is None or not is_pointer(symbol) or changed.count(symbol) != 1:
            continue
        used = {bound.symbol(x) for x in walk_tree(value)} - trusted
        if not used & set(changed) and not any(isinstance(x, (c_ast.FuncCall, c_ast.Cast)) for x in walk_tree(value)):
            facts.append(node)
            trusted.add(symbol)
    return facts


def _may_store(node: c_ast.Node) -> bool:
    """Whether a statement may write to memory, and not to variables alone."""
    for part in walk_tree(node):
        match part:
            case c_ast.FuncCall():
                return True
            case c_ast.Assignment(lvalue=target) | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=target):
                if not isinstance(target, c_ast.ID):
                    return True
            case _:
                pass
    return False


def _reads_members(node: c_ast.Node) -> bool:
    return any(isinstance(x, c_ast.StructRef) for x in walk_tree(node))
