"""Places in a ring that are set back where they come to its end: `if (++at == length) at = 0;`, by one or more a step.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> from planish.frontend.c.idioms.ring_buffers.places import read_counted
>>> body = "y[i] = a[at]; at += 2; if (at >= m) at -= m; if (--k < 0) k = m - 1; j = j + 1 < m ? j + 1 : 0;"
>>> tree = CParser().parse("void f(int n, int at, int j, int k, int m) { for (int i = 0; i < n; i++) { %s } }" % body)
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> found = find_set_back(read_counted(bound.function.body.block_items[0], bound))
>>> [(text_of(x.place), x.amount, x.behind, x.keeps, text_of(x.end)) for x in found]
[('at', 2, 2, '<', 'm'), ('k', -1, -1, '>=', '0'), ('j', 1, 1, '<', 'm')]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pycparser import c_ast

from planish.frontend.c.idioms.ring_buffers.places import SteppingLoop, ctype_in, is_own, is_steady, type_in
from planish.frontend.c.idioms.single_store import flat
from planish.frontend.c.types.constants import STEPS, walk_tree
from planish.frontend.c.types.declarations import CScalar, text_of
from planish.ir.types import Type

MOST = 1 << 20
"""A step is at most so long."""
SHORT = 32
"""A place that is set back after fewer iterations is not worth it."""
_OTHERWISE = {"==": "!=", "!=": "==", ">=": "<", "<": ">=", ">": "<=", "<=": ">"}
_MIRRORED = {"==": "==", "!=": "!=", ">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_Test: TypeAlias = tuple[c_ast.Node, int, str, c_ast.Node, int]
"""A comparison of a place plus a number: the place, the number, the sign, what it is compared with, and the step that
the comparison itself makes."""


@dataclass(frozen=True, slots=True)
class SetBack:
    """Statements of each iteration that step a `place` of a type by `amount`, and set it to something else unless, as
    it is before them, `place + behind keeps end`."""

    place: c_ast.Node
    type: Type
    statements: tuple[c_ast.Node, ...]
    amount: int
    behind: int
    keeps: str
    end: c_ast.Node


def find_set_back(loop: SteppingLoop) -> Iterator[SetBack]:
    """The places of a loop that go on by as much in each iteration until they are set back, which nothing else does."""
    body = loop.body()
    at = 0
    while at < len(body):
        found = _at(body, at, loop)
        if found is not None and _is_sound(found, loop) and not _is_short(found, loop):
            yield found
            at += len(found.statements)
        else:
            at += 1


def _is_short(found: SetBack, loop: SteppingLoop) -> bool:
    """Whether a place is known to be set back after few iterations."""
    own = [y for x in found.statements for y in walk_tree(x) if isinstance(y, c_ast.Assignment)]
    values = [x.rvalue for x in own if x.op == "="]
    sides = [y for x in values for y in ([x.iftrue, x.iffalse] if isinstance(x, c_ast.TernaryOp) else [x])]
    set_to = [loop.bound.value(x) for x in sides]
    most = [loop.bound.value(found.end)] if found.amount > 0 else set_to
    return any(x is not None and x < SHORT * abs(found.amount) for x in most)


def _is_sound(found: SetBack, loop: SteppingLoop) -> bool:
    name = text_of(found.place)
    inside = {id(y) for x in found.statements for y in walk_tree(x)}
    own = [x for x in loop.stores if id(x) in inside]
    return (
        is_own(found.place, loop)
        and all(text_of(x) == name for x in own)
        and [text_of(x) for x in loop.stores].count(name) == len(own)
        and not any(isinstance(x, c_ast.FuncCall) for y in found.statements for x in walk_tree(y))
        and is_steady(found.end, loop)
        and (kind := type_in(found.end, loop)) is not None
        and kind.bits <= max(found.type.bits, 32)
        and 0 < abs(found.amount) < MOST
        and abs(found.behind) < MOST
        and found.keeps in (("<", "<=", "!=") if found.amount > 0 else (">", ">=", "!="))
        and (found.keeps != "!=" or abs(found.amount) == 1)
    )


def _at(body: list[c_ast.Node], at: int, loop: SteppingLoop) -> SetBack | None:
    """What the statement at a position, alone or with the next one, steps and sets back."""
    stmt = body[at]
    match stmt:
        case c_ast.If(cond=cond, iftrue=then, iffalse=None):
            return _stepping_test(stmt, cond, then, loop)
        case c_ast.If(cond=cond, iftrue=then, iffalse=other):
            sides = {True: _only(then), False: _only(other)}
            return _chosen(stmt, cond, sides, loop)
        case c_ast.Assignment(op="=", lvalue=place, rvalue=c_ast.TernaryOp(cond=cond, iftrue=then, iffalse=other)):
            sides = {x: c_ast.Assignment("=", place, y) for x, y in ((True, then), (False, other))}
            return _chosen(stmt, cond, sides, loop)
        case _:
            step = _step(stmt, loop)
            behind = body[at + 1] if at + 1 < len(body) else None
            if step is None or not isinstance(behind, c_ast.If) or behind.iffalse is not None:
                return None
            test = _test(behind.cond, loop)
            place, amount = step
            if test is None or test[4] or text_of(test[0]) != text_of(place) or not _sets(behind.iftrue, place):
                return None
            return _made(place, (stmt, behind), amount, test[1] + amount, _OTHERWISE[test[2]], test[3], loop)


def _stepping_test(stmt: c_ast.Node, cond: c_ast.Node, then: c_ast.Node, loop: SteppingLoop) -> SetBack | None:
    """`if (++at == length) at = 0;`"""
    test = _test(cond, loop)
    if test is None or not test[4] or not _sets(then, test[0]):
        return None
    place, behind, sign, end, amount = test
    return _made(place, (stmt,), amount, behind, _OTHERWISE[sign], end, loop)


def _chosen(
    stmt: c_ast.Node, cond: c_ast.Node, sides: dict[bool, c_ast.Node | None], loop: SteppingLoop
) -> SetBack | None:
    """`if (at < last) at++; else at = 0;`, of which one side steps."""
    test = _test(cond, loop)
    if test is None or test[4]:
        return None
    for holds, side in sides.items():
        step, other = None if side is None else _step(side, loop), sides[not holds]
        if step is not None and text_of(step[0]) == text_of(test[0]) and _sets(other, step[0]):
            keeps = test[2] if holds else _OTHERWISE[test[2]]
            return _made(step[0], (stmt,), step[1], test[1], keeps, test[3], loop)
    return None


def _made(
    place: c_ast.Node, statements: tuple[c_ast.Node, ...], amount: int, behind: int, keeps: str, end: c_ast.Node,
    loop: SteppingLoop,
) -> SetBack | None:  # fmt: skip
    type = type_in(place, loop)
    return None if type is None else SetBack(place, type, statements, amount, behind, keeps, end)


def _only(node: c_ast.Node | None) -> c_ast.Node | None:
    """The only statement of a branch."""
    found = flat(node)
    return found[0] if len(found) == 1 else None


def _sets(node: c_ast.Node | None, place: c_ast.Node) -> bool:
    """Whether all that a branch does is to set a place."""
    match _only(node):
        case c_ast.Assignment(lvalue=target, rvalue=value):
            acts = any(isinstance(x, c_ast.Assignment) or _steps(x) for x in walk_tree(value))
            return text_of(target) == text_of(place) and not acts
        case _:
            return False


def _steps(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.UnaryOp) and node.op in STEPS


def _step(node: c_ast.Node, loop: SteppingLoop) -> tuple[c_ast.Node, int] | None:
    """The place that a statement adds a number to, and the number."""
    match node:
        case c_ast.UnaryOp(op="++" | "p++", expr=place) if _is_place(place, loop):
            return place, 1
        case c_ast.UnaryOp(op="--" | "p--", expr=place) if _is_place(place, loop):
            return place, -1
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=place, rvalue=value) if _is_place(place, loop):
            number = loop.bound.value(value)
            return None if number is None else (place, number if op == "+=" else -number)
        case c_ast.Assignment(op="=", lvalue=place, rvalue=value) if _is_place(place, loop):
            found = _moved(value, loop)
            return found if found is not None and text_of(found[0]) == text_of(place) else None
        case _:
            return None


def _moved(node: c_ast.Node, loop: SteppingLoop) -> tuple[c_ast.Node, int] | None:
    """A place plus a number."""
    match node:
        case c_ast.ID() | c_ast.StructRef() if _is_place(node, loop) and not is_steady(node, loop):
            return node, 0
        case c_ast.BinaryOp(op="+" | "-" as op, left=c_ast.ID() | c_ast.StructRef() as left, right=right):
            number, found = loop.bound.value(right), _moved(left, loop)
            if found is None or number is None:
                return None
            return found[0], number if op == "+" else -number
        case _:
            return None


def _test(node: c_ast.Node, loop: SteppingLoop) -> _Test | None:
    """A comparison of a place, or of a place plus a number, with what stays as it is."""
    match node:
        case c_ast.UnaryOp(op="!", expr=place) if (found := _moved(place, loop)) is not None:
            return (*found, "==", c_ast.Constant("int", "0"), 0)
        case c_ast.ID() | c_ast.StructRef() if (found := _moved(node, loop)) is not None:
            return (*found, "!=", c_ast.Constant("int", "0"), 0)
        case c_ast.BinaryOp(op=sign, left=left, right=right) if sign in _OTHERWISE:
            for a, b, op in ((left, right, sign), (right, left, _MIRRORED[sign])):
                if isinstance(a, c_ast.UnaryOp) and a.op in STEPS and (step := _step(a, loop)) is not None:
                    return step[0], 0 if a.op[0] == "p" else step[1], op, b, step[1]
                if (found := _moved(a, loop)) is not None:
                    return (*found, op, b, 0)
            return None
        case _:
            return None


def _is_place(node: c_ast.Node, loop: SteppingLoop) -> bool:
    return isinstance(node, c_ast.ID | c_ast.StructRef) and isinstance(ctype_in(node, loop), CScalar)
