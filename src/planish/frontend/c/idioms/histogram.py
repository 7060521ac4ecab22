"""Histogram statements: `h[x[i]]++` as an addition to each element of `h` whose index is `x[i]`.

Before: for i { h[x[i]] += w[i] }
After:  for i { for row in 0 .. 256 { h[row] += x[i] == row ? w[i] : 0 } }

So a kernel says exactly what such a program means, and all its subscripts are affine. Nobody would run it in this way.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "void count(int n, const unsigned char x[n], int h[256]) { for (int i = 0; i < n; i++) h[x[i]]++; }"
>>> region, = read_c(Source("count.c", text)).functions[0].regions
>>> from planish.ir.text.printer import print_stmt
>>> print(print_stmt(region.kernel.body), end="")
{
  for i in 0 .. n {
    alloc found: u8[] distinct register
    found[] = x[i]
    for row in 0 .. 256 {
      h[row] += select(found[] == u8(row), 1:i32, 0:i32)
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from planish.frontend.c.translate.arithmetic import conjunction
from planish.frontend.c.translate.expressions import choose, value_of
from planish.frontend.c.translate.state import CTranslation, Enclosing, NotIndex, Refused
from planish.frontend.c.translate.subscripts import index_of, subscript_of
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CArray
from planish.ir.expr import Cast, Compare, Const, Load, Var, index, type_of
from planish.ir.index.cell_ranges import range_behind
from planish.ir.index.polynomial import constant
from planish.ir.nest import Block, For
from planish.ir.types import INDEX

MOST = 1 << 16
"""So many elements may be chosen from."""
Execute = Callable[[c_ast.Node, CTranslation], None]


def counted(node: c_ast.Node, cx: CTranslation) -> c_ast.ArrayRef | None:
    """The element of a row that a statement adds to, and that data choose; None where it is another statement, or where
    nothing is to be searched for."""
    match as_update(node):
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=c_ast.ArrayRef() as element):
            pass
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ArrayRef() as element):
            pass
        case _:
            return None
    if cx.searches is None or not isinstance(element.name, c_ast.ID):
        return None
    try:
        with cx.trial():
            subscript_of(element.subscript, cx)
    except Refused:
        return element
    return None


def as_update(node: c_ast.Node) -> c_ast.Node:
    """A statement `h[x] = h[x] + v` as `h[x] += v` where nothing in it has an effect of its own; others stay."""
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ArrayRef() as own, rvalue=c_ast.BinaryOp() as value):
            pass
        case _:
            return node
    left, right = value.left, value.right
    if value.op in ("+", "-") and _is_same(left, own):
        return c_ast.Assignment(f"{value.op}=", own, right, node.coord)
    return c_ast.Assignment("+=", own, left, node.coord) if value.op == "+" and _is_same(right, own) else node


def _is_same(node: c_ast.Node, own: c_ast.ArrayRef) -> bool:
    """Whether an expression is the same element, spelt the same, of names, numbers and operators only."""
    plain = all(
        isinstance(x, c_ast.ID | c_ast.Constant | c_ast.ArrayRef | c_ast.BinaryOp | c_ast.Cast | c_ast.Typename
                   | c_ast.TypeDecl | c_ast.IdentifierType)
        for x in walk_tree(own)
    )  # fmt: skip
    return plain and isinstance(node, c_ast.ArrayRef) and CGenerator().visit(node) == CGenerator().visit(own)


def count_statement(node: c_ast.Node, element: c_ast.ArrayRef, cx: CTranslation, execute: Execute) -> None:
    """Translate a statement that adds to an element, for the one that data choose among all. Raises Refused, Again."""
    value = value_of(element.subscript, cx)
    kind = type_of(value)
    if cx.guards:
        # What is read under conditions may not be there where these do not hold, and lies where these say.
        value = choose(conjunction(cx.guards), value, Const(0, kind))
    low, high = range_behind(value, cx.out) if kind.is_int else (-1, -1)
    if low < 0 or high >= MOST:
        raise Refused("scop-data", "a subscript holds a value that is read from memory, which may be anything", node)
    if high >= _extent(element, cx):
        message = "a subscript holds a value that is read from memory, which may lie behind the end of the array"
        raise Refused("scop-data", message, node)
    found = cx.temporary("found", kind, value, node)
    row, bounds = cx.fresh("row"), (index(0), index(high + 1))
    name = c_ast.ID(row, node.coord)
    changed = cx.bound.keep(_with_subscript(as_update(node), element, name))
    outer = dict(cx.inlined)
    cx.inlined[id(name)] = Cast(Var(row, INDEX), kind)
    cx.iterators.append(Enclosing(row, *bounds))
    cx.guards.append(Compare("eq", Load(found, (), kind), Cast(Var(row, INDEX), kind)))
    with cx.inside() as body:
        execute(changed, cx)
    cx.guards.pop()
    cx.iterators.pop()
    cx.inlined = outer
    cx.emit(For(row, *bounds, 1, Block(tuple(body)), span=cx.span_of(node)))


def _extent(element: c_ast.ArrayRef, cx: CTranslation) -> int:
    """The elements that a row is declared with; more than may be chosen from where that is no number."""
    symbol = cx.bound.symbol(element.name)
    declared = None if symbol is None or symbol in cx.written else symbol.declared or symbol.ctype
    if not isinstance(declared, CArray) or declared.extent is None:
        return MOST
    try:
        return constant(index_of(declared.extent, cx).expr) or MOST
    except NotIndex:
        return MOST


def _with_subscript(node: c_ast.Node, element: c_ast.ArrayRef, name: c_ast.ID) -> c_ast.Node:
    """The statement with another subscript."""
    place = c_ast.ArrayRef(element.name, name, element.coord)
    if isinstance(node, c_ast.UnaryOp):
        return c_ast.UnaryOp(node.op, place, node.coord)
    assert isinstance(node, c_ast.Assignment)
    return c_ast.Assignment(node.op, place, node.rvalue, node.coord)
