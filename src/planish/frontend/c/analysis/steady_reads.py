"""Elements that statements read and that no name in them changes: `w[i]` where neither `i` nor any `w[k]` is set.

>>> from pycparser.c_parser import CParser
>>> from pycparser.c_generator import CGenerator
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> text = "void f(int i, int *w, int *a) { for (int k = 0; k < w[i]; k++) a[k] = w[k] + *w; }"
>>> bound = bind_function(CParser().parse(text).ext[0], bind_file(CParser().parse("")))
>>> body = bound.function.body.block_items
>>> found = steady_reads(body, bound)
>>> [CGenerator().visit(x) for node in body for x in walk_tree(node) if id(x) in found]
['w[i]', '*w']
"""

from __future__ import annotations

from collections.abc import Iterable

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, written
from planish.frontend.c.types.constants import STEPS, walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer


def steady_reads(nodes: Iterable[c_ast.Node], bound: BoundNames) -> frozenset[int]:
    """The ids of the nodes that read such an element. A store through another address may still change it."""
    parts = [x for node in nodes for x in walk_tree(node)]
    unsteady: set[Symbol | None] = {bound.symbol(x) for x in parts if isinstance(x, c_ast.Decl)}
    for node in nodes:
        unsteady |= written(node, bound)
    for x in parts:
        match x:
            case c_ast.Assignment(lvalue=target) | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=target):
                unsteady |= _stored_through(target, bound)
            case _:
                pass
    plain = frozenset(id(x) for x in parts if _reads(x) and _is_steady(x, unsteady, bound))
    return plain | frozenset(id(x) for x in parts if _is_member(x) and _is_steady(x, unsteady, bound, members=True))


def steady_addresses(nodes: Iterable[c_ast.Node], bound: BoundNames) -> frozenset[int]:
    """The ids of the nodes whose elements no name in them changes if they are addresses, which no nest stores."""
    parts = [x for node in nodes for x in walk_tree(node)]
    changed: set[Symbol | None] = {bound.symbol(x) for x in parts if isinstance(x, c_ast.Decl)}
    for node in nodes:
        changed |= written(node, bound)
    read = (x for x in parts if _reads(x) or _is_member(x))
    return frozenset(id(x) for x in read if _is_steady(x, changed, bound, members=True))


def _stored_through(target: c_ast.Node, bound: BoundNames) -> set[Symbol | None]:
    """The arrays and addresses to whose elements an lvalue may belong, by its names."""
    while isinstance(target, c_ast.ArrayRef | c_ast.StructRef):
        target = target.name
    found = {bound.symbol(x) for x in walk_tree(target) if isinstance(x, c_ast.ID)}
    return {x for x in found if x is None or isinstance(x.ctype, CPointer | CArray)}


def _reads(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.UnaryOp) and node.op == "*")


def _is_member(node: c_ast.Node) -> bool:
    """Whether it is a member of one of several structures in a row."""
    base = node.name if isinstance(node, c_ast.StructRef) else None
    return isinstance(base, c_ast.ArrayRef | c_ast.BinaryOp | c_ast.StructRef | c_ast.UnaryOp)


def _is_steady(node: c_ast.Node, unsteady: set[Symbol | None], bound: BoundNames, members: bool = False) -> bool:
    """Whether none of the variables in an expression is unsteady; `members`: structures may be a part of it."""
    for part in walk_tree(node):
        match part:
            case c_ast.ID() if members and bound.symbol(part) is None and id(part) not in bound.constants:
                pass  # the name of a member
            case c_ast.ID() if id(part) not in bound.constants and bound.enumerator(part) is None:
                if bound.symbol(part) is None or bound.symbol(part) in unsteady:
                    return False
            case c_ast.StructRef() if members:
                pass
            case c_ast.FuncCall() | c_ast.Assignment() | c_ast.StructRef() | c_ast.Cast():
                return False
            case c_ast.UnaryOp(op=op) if op in STEPS:
                return False
            case _:
                pass
    return True
