"""Elements that a loop compares by their place: `if (x[i] < x[at]) at = i;` with the value of `x[at]` in a variable.

Before: for (i = 1; i < n; i++) if (x[i] < x[at]) at = i;
After:  if (i < n) best = x[at];  for (; i < n; i++) if (x[i] < best) { at = i; best = x[i]; }

No iteration then waits for an element that data choose, and the loop is one that finds the place of an extremum.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import FileScope, bind_function
>>> text = "void f(int n, float *x, int at) { for (int i = 1; i < n; i++) if (x[i] < x[at]) at = i; }"
>>> bound = bind_function(CParser().parse(text).ext[0], FileScope({}, {}, {}, frozenset()))
>>> found, = find_named(bound.function.body.block_items[0], bound)
>>> found.place.name, found.text, found.fresh
('at', 'x[at]', 'x[i]')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import TypeAlias

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_integer, settings, written
from planish.frontend.c.numbers.complex_numbers import LENGTHS
from planish.frontend.c.numbers.library_calls import is_library_function
from planish.frontend.c.translate.addresses import call_name
from planish.frontend.c.translate.assignments import start_cell
from planish.frontend.c.translate.expressions import value_of
from planish.frontend.c.translate.state import CTranslation
from planish.frontend.c.types.constants import STEPS, items_of, walk_tree
from planish.frontend.c.types.declarations import CScalar, text_of
from planish.ir.expr import type_of

Loop: TypeAlias = c_ast.For | c_ast.While
Execute = Callable[[c_ast.Node, CTranslation], None]
_NO_VALUE = (c_ast.Assignment, c_ast.Compound, c_ast.TernaryOp)
_ACTS = STEPS | {"&"}
_ORDER = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class NamedElement:
    """A value that is compared, `element` (its `text`), at the place that a variable holds. Where the condition of
    `branch` holds, `store` sets that, and the value becomes `fresh`, which the condition reads as well."""

    place: Symbol
    element: c_ast.Node
    text: str
    branch: c_ast.If
    store: c_ast.Assignment
    fresh: str


def find_named(loop: Loop, bound: BoundNames) -> tuple[NamedElement, ...]:
    """What a loop compares by places that it changes; nothing where it stores to memory, or does anything else with
    one of these places."""
    changed = [*settings(loop, bound)]
    if _without_steps(loop.cond, bound) is None:
        return ()
    if not all(_is_pure(x, bound) for x in walk_tree(loop) if isinstance(x, c_ast.FuncCall)):
        return ()
    stores = [x.lvalue for x in walk_tree(loop.stmt) if isinstance(x, c_ast.Assignment)]
    if any(not isinstance(x, c_ast.ID) or (s := bound.symbol(x)) is None or s.lasting for x in stores):
        return ()
    found: list[NamedElement] = []
    for branch in walk_tree(loop.stmt):
        if not isinstance(branch, c_ast.If) or branch.iffalse is not None:
            continue
        for store in items_of(branch.iftrue):
            one = _named(store, branch, loop, bound)
            if one is not None and sum(s is one.place for s, _ in changed) == 1:
                found.append(one)
    return tuple(found)


def _is_pure(call: c_ast.FuncCall, bound: BoundNames) -> bool:
    """Whether a call is one of the C library that does nothing but compute a number."""
    name = call_name(call)
    return name not in bound.file.defined and (is_library_function(name) or name in LENGTHS)


def _named(store: c_ast.Node, branch: c_ast.If, loop: Loop, bound: BoundNames) -> NamedElement | None:
    match store:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=value):
            place = bound.symbol(target)
        case _:
            return None
    match branch.cond:
        case c_ast.BinaryOp(op=op, left=left, right=right) if op in _ORDER:
            pass
        case _:
            return None
    if place is None or not is_integer(place) or place.lasting or not _is_plain(value):
        return None
    if any(bound.symbol(x) is place for x in walk_tree(value)):
        return None
    for element, other in ((right, left), (left, right)):
        mentions = [x for x in walk_tree(element) if isinstance(x, c_ast.ID) and bound.symbol(x) is place]
        everywhere = [x for x in walk_tree(loop) if isinstance(x, c_ast.ID) and bound.symbol(x) is place]
        if not mentions or len(everywhere) != len(mentions) + 1 or not _is_plain(element):
            continue
        moving = written(loop, bound) - {place}
        if any(bound.symbol(x) in moving for x in walk_tree(element) if isinstance(x, c_ast.ID)):
            continue
        text, fresh = text_of(element), text_of(other)
        if not any(isinstance(x, c_ast.ArrayRef) for x in walk_tree(element)) or not _is_plain(other):
            continue
        if text_of(_placed(element, place, value, bound)) == fresh:
            return NamedElement(place, element, text, branch, store, fresh)
    return None


def _is_plain(node: c_ast.Node) -> bool:
    """Whether an expression is evaluated as a whole, and changes nothing."""
    return not any(
        isinstance(x, _NO_VALUE)
        or (isinstance(x, c_ast.UnaryOp) and x.op in _ACTS)
        or (isinstance(x, c_ast.BinaryOp) and x.op in ("&&", "||"))
        for x in walk_tree(node)
    )


def _without_steps(condition: c_ast.Node, bound: BoundNames) -> c_ast.Node | None:
    """What is asked before a loop's first iteration, without the effects of asking, `n > 0` for `n-- > 0`: the loop
    itself asks it again. None where it has others."""
    steps = [x for x in walk_tree(condition) if isinstance(x, c_ast.UnaryOp) and x.op in _ACTS]
    named = [bound.symbol(x) for x in walk_tree(condition) if isinstance(x, c_ast.ID)]
    if any(isinstance(x, c_ast.Assignment) for x in walk_tree(condition)):
        return None
    if any(not isinstance(x.expr, c_ast.ID) or x.op == "&" or named.count(bound.symbol(x.expr)) > 1 for x in steps):
        return None

    def asked(node: c_ast.Node) -> c_ast.Node:
        match node:
            case c_ast.UnaryOp(op="p++" | "p--", expr=variable):
                return variable
            case c_ast.UnaryOp(op="++" | "--" as op, expr=variable):
                return c_ast.BinaryOp(op[0], variable, c_ast.Constant("int", "1", node.coord), node.coord)
            case _:
                return _with_children(node, asked)

    return asked(condition)


def _placed(node: c_ast.Node, place: Symbol, value: c_ast.Node, bound: BoundNames) -> c_ast.Node:
    """An expression with a value in the place of a variable."""
    if isinstance(node, c_ast.ID) and bound.symbol(node) is place:
        return value
    return _with_children(node, lambda x: _placed(x, place, value, bound))


def _with_children(node: c_ast.Node, change: Callable[[c_ast.Node], c_ast.Node]) -> c_ast.Node:
    """A node with changed children; the node itself where none of them is another one."""
    fresh = copy(node)
    different = False
    for name, child in node.children():
        made = change(child)
        if made is child:
            continue
        different = True
        if "[" in name:
            field, place = name.rstrip("]").split("[")
            items = list(getattr(fresh, field))
            items[int(place)] = made
            setattr(fresh, field, items)
        else:
            setattr(fresh, name, made)
    return fresh if different else node


def with_values(loop: Loop, body: c_ast.Node, cx: CTranslation, execute: Execute) -> c_ast.Node:
    """The body of a loop, whose first part has been run, with what it compares by places in variables; what sets these
    in front of the loop is emitted. Raises Refused and Again."""
    for found in find_named(loop, cx.bound):
        with cx.trial():
            type = type_of(value_of(found.element, cx))
        symbol = Symbol(f"{found.place.name}'s value", cx.fresh("best"), CScalar(type, "", str(type)), "local")
        cx.lengthy = True
        cx.cells |= {symbol}
        cx.local.add(symbol)
        start_cell(symbol, type, None, loop, cx)
        first = _assignment(symbol, found.element, cx)
        entered = _without_steps(loop.cond, cx.bound)
        assert entered is not None
        execute(cx.bound.keep(c_ast.If(entered, first, None, loop.coord)), cx)
        body = cx.bound.keep(_named_body(body, found, symbol, cx))
    return body


def _named_body(body: c_ast.Node, found: NamedElement, symbol: Symbol, cx: CTranslation) -> c_ast.Node:
    test = found.branch.cond
    other = test.left if test.right is found.element else test.right

    def change(node: c_ast.Node) -> c_ast.Node:
        if node is found.element:
            return cx.bound.mention(symbol, node.coord)
        if node is found.branch:
            items = [*_stores(found, symbol, other, cx)]
            return c_ast.If(change(node.cond), c_ast.Compound(items, node.coord), None, node.coord)
        return _with_children(node, change)

    return change(body)


def _stores(found: NamedElement, symbol: Symbol, other: c_ast.Node, cx: CTranslation) -> Iterator[c_ast.Node]:
    for item in items_of(found.branch.iftrue):
        yield item
        if item is found.store:
            yield _assignment(symbol, other, cx)


def _assignment(symbol: Symbol, value: c_ast.Node, cx: CTranslation) -> c_ast.Assignment:
    return c_ast.Assignment("=", cx.bound.mention(symbol, value.coord), value, value.coord)
