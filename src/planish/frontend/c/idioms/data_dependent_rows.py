"""Data-dependent rows as searches: `A[p][j]`, where `p` was computed from data, is `A[row][j]` for the `row` that
equals `p`.

Before: for j { swap A[k][j] and A[p][j] }
After:  for row in k .. n { for j { A[k][j] = p == row ? … : A[k][j];  A[row][j] = p == row ? … : A[row][j] } }

So a kernel says exactly what such a program means, and all its subscripts are affine. Nobody would run it in this way:
it is made only for those who know better ones.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> swap = "for (int j = 0; j < n; j++) { double t = A[k][j]; A[k][j] = A[p][j]; A[p][j] = t; }"
>>> scale = "for (int i = k + 1; i < n; i++) A[i][k] /= A[k][k];"
>>> take = "for (int i = k + 1; i < n; i++) for (int j = k + 1; j < n; j++) A[i][j] -= A[i][k] * A[k][j];"
>>> choose = "int p = k; for (int i = k + 1; i < n; i++) if (A[i][k] > A[k][k]) p = i;"
>>> text = f"void lu(int n, double A[n][n]) {{ for (int k = 0; k < n; k++) {{ {choose} {swap} {scale} {take} }} }}"
>>> region, = read_c(Source("lu.c", text)).functions[0].regions
>>> from planish.ir.text.printer import print_stmt
>>> print(print_stmt(region.kernel.body.body[0].body.body[3]))  # doctest: +ELLIPSIS
for row in k .. n {
  for j in 0 .. n {
    alloc t: f64[] distinct register
    t[] = A[k, j]
    A[k, j] = select(p[] == i32(row), A[row, j], A[k, j])
    A[row, j] = select(p[] == i32(row), t[], A[row, j])
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from pycparser import c_ast

from planish.frontend.c.analysis.scope import Symbol, is_integer, written
from planish.frontend.c.translate.arithmetic import conjunction
from planish.frontend.c.translate.state import CTranslation, Enclosing, Refused
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CScalar
from planish.ir.expr import Cast, Compare, Const, Expr, Load, Select, Var, index, type_of
from planish.ir.index.polynomial import constant
from planish.ir.index.ranges import Range, find_range
from planish.ir.nest import Alloc, Assign, Block, For, Stmt
from planish.ir.passes.declaration_sinking import exposed
from planish.ir.types import INDEX, Type

Execute = Callable[[c_ast.Node, CTranslation], None]
_UNKNOWN: Range = (index(0), index(1))
"""What stands for a range until it is known."""


def searched(node: c_ast.Node, cx: CTranslation) -> Symbol | None:
    """The one variable, computed from data, that stands in subscripts of a statement or value, and nowhere else in it;
    None where there is none, or none is to be searched for."""
    if cx.searches is None:
        return None
    found = {x for x in _subscripts(node, False, cx) if x[1] not in cx.inlined}
    symbols = {symbol for symbol, _, inside in found if inside}
    if len(symbols) != 1:
        return None
    symbol = next(iter(symbols))
    elsewhere = any(x is symbol and not inside for x, _, inside in found)
    return None if elsewhere or symbol in written(node, cx.bound) else symbol


def _subscripts(node: c_ast.Node, inside: bool, cx: CTranslation) -> Iterator[tuple[Symbol, int, bool]]:
    """Where integers that are computed from data are named, and whether in a subscript."""
    match node:
        case c_ast.ArrayRef(name=name, subscript=subscript):
            yield from _subscripts(name, inside, cx)
            yield from _subscripts(subscript, True, cx)
        case c_ast.ID():
            symbol = cx.bound.symbol(node)
            if symbol is not None and is_integer(symbol) and cx.is_cell(symbol):
                yield symbol, id(node), inside
        case _:
            for _, child in node.children():
                yield from _subscripts(child, inside, cx)


def search_statement(node: c_ast.Node, symbol: Symbol, cx: CTranslation, execute: Execute) -> None:
    """Translate a statement for the value that a variable has, among all that it may have. Raises Refused, Again."""
    guards, cx.guards = cx.guards, []
    with _each(node, symbol, cx) as (name, bounds), cx.inside() as body:
        execute(node, cx)
    cx.guards = guards
    test = conjunction([*guards, _is_found(symbol, name, cx)])
    own = {x.array.name for x in _statements(body) if isinstance(x, Alloc)} | _finished(node, body, cx)
    cx.emit(For(name, *bounds, 1, Block(tuple(_guarded(x, test, own, node) for x in body)), span=cx.span_of(node)))


def search_value(node: c_ast.Node, symbol: Symbol, cx: CTranslation, read: Callable[[], Expr]) -> Expr:
    """A cell with the value that is read from where a variable says. Raises Refused and Again."""
    lower, _ = cx.searches[symbol] if cx.searches and symbol in cx.searches else _UNKNOWN
    with _instead(node, symbol, lower, cx):
        first = read()
    type = type_of(first)
    cell = cx.temporary("found", type, first, node)
    with _each(node, symbol, cx) as (name, bounds):
        value = Select(_is_found(symbol, name, cx), read(), Load(cell, (), type))
    body = Block((Assign(cell, (), value, cx.span_of(node)),))
    cx.emit(For(name, *bounds, 1, body, span=cx.span_of(node)))
    return Load(cell, (), type)


def _finished(node: c_ast.Node, body: list[Stmt], cx: CTranslation) -> set[str]:
    """The variables that a statement sets before it reads them, and that are not read behind it."""
    if id(node) not in cx.live:
        return set()
    done = {x for x in written(node, cx.bound) if x not in cx.live[id(node)] and not x.lasting}
    return {x.key for x in done if isinstance(x.ctype, CScalar) and not exposed(Block(tuple(body)), x.key)}


@contextmanager
def _each(node: c_ast.Node, symbol: Symbol, cx: CTranslation) -> Iterator[tuple[str, Range]]:
    """Read what is inside with an iterator for a variable: its name and bounds."""
    name = cx.fresh("row")
    bounds = cx.searches.get(symbol, _UNKNOWN) if cx.searches else _UNKNOWN
    cx.iterators.append(Enclosing(name, *bounds))
    with _instead(node, symbol, Var(name, INDEX), cx):
        yield name, bounds
    cx.iterators.pop()


@contextmanager
def _instead(node: c_ast.Node, symbol: Symbol, value: Expr, cx: CTranslation) -> Iterator[None]:
    """Read what is inside with an index expression for a variable."""
    outer = dict(cx.inlined)
    number = constant(value)
    typed: Expr = Cast(value, _type(symbol)) if number is None else Const(number, _type(symbol))
    cx.inlined |= {id(x): typed for x in walk_tree(node) if isinstance(x, c_ast.ID) and cx.bound.symbol(x) is symbol}
    yield
    cx.inlined = outer


def _is_found(symbol: Symbol, name: str, cx: CTranslation) -> Expr:
    cx.used.setdefault(symbol)
    cx.choosers.add(symbol)
    return Compare("eq", Load(symbol.key, (), _type(symbol)), Cast(Var(name, INDEX), _type(symbol)))


def _type(symbol: Symbol) -> Type:
    assert isinstance(symbol.ctype, CScalar)
    return symbol.ctype.type


def _statements(stmts: list[Stmt] | tuple[Stmt, ...]) -> Iterator[Stmt]:
    for stmt in stmts:
        yield stmt
        if isinstance(stmt, For):
            yield from _statements(stmt.body.body)


def _guarded(stmt: Stmt, test: Expr, own: set[str], node: c_ast.Node) -> Stmt:
    """A statement that changes nothing unless a condition holds; arrays that are its `own` do not matter."""
    match stmt:
        case For(body=body):
            return replace(stmt, body=Block(tuple(_guarded(x, test, own, node) for x in body.body)))
        case Assign(array=array, index=at, value=value) if array not in own:
            return replace(stmt, value=Select(test, value, Load(array, at, type_of(value))))
        case Assign() | Alloc():
            return stmt
        case _:
            raise Refused("scop-condition", "a row that data choose, in more than loops and assignments", node)


def find_ranges(stmts: list[Stmt], symbols: frozenset[Symbol]) -> dict[Symbol, Range]:
    """Between which values variables are wherever they are read, of those of which that is proven."""
    found = {x: find_range(Block(tuple(stmts)), x.key) for x in symbols if is_integer(x)}
    return {x: y for x, y in found.items() if y is not None}
