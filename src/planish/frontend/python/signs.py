"""Signs of the integers that a function computes: which are positive, and which are not negative.

Sizes in shapes of arrays are not negative. A name that is only ever set to positive numbers, or becomes larger, is
positive; so is one that the condition of a loop says is, until the loop sets it.

>>> import ast
>>> test = ast.parse("n > 0 and 4 <= m and k >= 1", mode="eval").body
>>> sorted(positive_where(test))
['k', 'm', 'n']
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from planish.frontend.python.state import PythonTranslation
from planish.ir.expr import Var


def positive_where(test: ast.expr) -> set[str]:
    """The names that are positive where a condition holds."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            return set().union(*map(positive_where, parts))
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=int(number))]):
            least = {ast.Gt: 0, ast.GtE: 1}.get(type(op))
            return {name} if least is not None and number >= least else set()
        case ast.Compare(left=ast.Constant() as left, ops=[op], comparators=[ast.Name() as right]):
            turned = {ast.Lt: ast.Gt(), ast.LtE: ast.GtE()}.get(type(op))
            return set() if turned is None else positive_where(ast.Compare(right, [turned], [left]))
        case _:
            return set()


def is_positive(node: ast.expr, cx: PythonTranslation) -> bool:
    """Whether an integer is seen to be positive."""
    return _Signs(cx, frozenset(cx.positive)).holds(node, 1)


def is_natural(node: ast.expr, cx: PythonTranslation) -> bool:
    """Whether an integer is seen not to be negative."""
    return _Signs(cx, frozenset(cx.positive)).holds(node, 0)


@dataclass(frozen=True, slots=True)
class _Signs:
    """Which names are positive where an expression stands, and which are taken to be at least 0, or 1, wherever they
    are read: by induction over what runs, each is if all that it is set to is as long as they are."""

    cx: PythonTranslation
    here: frozenset[str] = frozenset()
    taken: frozenset[tuple[str, int]] = frozenset()

    def holds(self, node: ast.expr, least: int) -> bool:
        """Whether an integer is at least 0, or 1."""
        cx = self.cx
        match node:
            case ast.Constant(value=int(number)):
                return number >= least
            case ast.Name(id=name) if name in cx.names.locals:
                return name in self.here or (name, least) in self.taken or self.is_set_so(name, least)
            case ast.Name(id=name):
                extents = (x for array in cx.arrays.values() for x in array.shape if x is not None)
                return least == 0 and name in cx.sizes and any(isinstance(x, Var) and x.name == name for x in extents)
            case ast.BinOp(left=a, op=ast.Add(), right=b):
                return any(self.holds(x, least) and self.holds(y, 0) for x, y in ((a, b), (b, a)))
            case ast.BinOp(left=a, op=ast.Mult(), right=b):
                return self.holds(a, least) and self.holds(b, least)
            case ast.BinOp(left=a, op=ast.LShift(), right=b):
                return self.holds(a, least) and self.holds(b, 0)
            case ast.BinOp(left=a, op=ast.FloorDiv(), right=b):
                return least == 0 and self.holds(a, 0) and self.holds(b, 1)
            case _:
                return False

    def is_set_so(self, name: str, least: int) -> bool:
        """Whether all that the function sets a name to is at least 0, or 1."""
        inner = _Signs(self.cx, taken=self.taken | {(name, least)})
        values = [*_settings(name, self.cx.text.function)]
        return all(x is not None and inner.holds(x, least) for x in values)


def _settings(name: str, function: ast.FunctionDef) -> Iterator[ast.expr | None]:
    """What a function sets a name to; None for what is not told apart."""
    plain = set[int]()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=found) as target], value=value) if found == name:
                plain.add(id(target))
                yield value
            case ast.AugAssign(target=ast.Name(id=found) as target, op=op, value=value) if found == name:
                plain.add(id(target))
                yield ast.BinOp(ast.Name(name, ast.Load()), op, value)
            case ast.Name(id=found, ctx=ast.Store()) if found == name and id(node) not in plain:
                yield None
            case _:
                pass
