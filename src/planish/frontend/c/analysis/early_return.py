"""Early returns as one result at the end of a function, so that its body is statements and one expression.

>>> from pycparser.c_parser import CParser
>>> from pycparser.c_generator import CGenerator
>>> text = "int f(int v) { if (v < 0) return 0; if (v > 9) return 9; return v; }"
>>> body = single_exit(CParser().parse(text).ext[0], "r")
>>> body.statements, CGenerator().visit(body.value)
([], '(v < 0) ? ((int) 0) : ((v > 9) ? ((int) 9) : ((int) v))')
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pycparser import c_ast

from planish.frontend.c.idioms.switch_cases import as_branches
from planish.frontend.c.types.constants import items_of, walk_tree

_MOST_COPIES = 64
"""Statements behind a branch that only sometimes returns are written once for each way there, up to so many."""


class NotSingleExit(Exception):
    """A function returns from within a loop or a switch; `node` is where."""

    def __init__(self, message: str, node: c_ast.Node) -> None:
        super().__init__(message)
        self.message = message
        self.node = node


@dataclass(slots=True)
class SingleExit:
    """A function's body as `statements` and the `value` that it returns then (None: it returns nothing).

    Where no expression gives the value, it is that of a variable, which `result` declares and `uses` mention.
    """

    statements: list[c_ast.Node]
    value: c_ast.Node | None
    result: c_ast.Decl | None = None
    uses: list[c_ast.ID] = field(default_factory=list)


def single_exit(function: c_ast.FuncDef, name: str) -> SingleExit:
    """The body of a function with one exit; `name` is that of the variable for the result, where one is needed.

    Raises NotSingleExit for returns from within loops and switches.
    """
    shape = _Shape(function, name)
    items = list(function.body.block_items or [])
    if not any(map(_returns, items)):
        return SingleExit(items, None)
    n = next(n for n, item in enumerate(items) if _returns(item))
    value = shape.value_of(items[n:])
    if value is not None:
        return SingleExit(items[:n], value)
    statements = [*items[:n], *shape.ended(items[n:])]
    if shape.result is None:
        return SingleExit(statements, None)
    return SingleExit([shape.result, *statements], shape.use(), shape.result, shape.uses)


def _returns(node: c_ast.Node) -> bool:
    return any(isinstance(x, c_ast.Return) for x in walk_tree(node))


def _always_returns(items: list[c_ast.Node]) -> bool:
    match items[-1:]:
        case [c_ast.Return()]:
            return True
        case [c_ast.If(iftrue=then, iffalse=otherwise)] if otherwise is not None:
            return _always_returns(items_of(then)) and _always_returns(items_of(otherwise))
        case [c_ast.Compound(block_items=inner)]:
            return _always_returns(inner or [])
        case _:
            return False


class _Shape:
    """What is made while a function's returns are taken to its end."""

    def __init__(self, function: c_ast.FuncDef, name: str) -> None:
        self._type = function.decl.type.type
        self._name = name
        self._copies = 0
        self.result: c_ast.Decl | None = None
        self.uses: list[c_ast.ID] = []

    def use(self) -> c_ast.ID:
        """A new mention of the result's variable."""
        self.uses.append(found := c_ast.ID(self._name, self._type.coord))
        return found

    def value_of(self, items: list[c_ast.Node]) -> c_ast.Node | None:
        """What statements that are nothing but conditions and returns give, as an expression."""
        match items:
            case [c_ast.Return(expr=value), *_] if value is not None:
                return value
            case [c_ast.Compound(block_items=inner), *rest]:
                return self.value_of([*(inner or []), *rest])
            case [c_ast.Switch() as switch, *rest] if (branches := as_branches(switch, returns=True)) is not None:
                return self.value_of([branches, *rest])
            case [c_ast.If(cond=cond, iftrue=then, iffalse=otherwise, coord=coord), *rest]:
                a, b = (self._branch(items_of(x), rest) for x in (then, otherwise))
                if a is None or b is None:
                    return None
                return c_ast.TernaryOp(cond, self._converted(a), self._converted(b), coord)
            case _:
                return None

    def _branch(self, items: list[c_ast.Node], rest: list[c_ast.Node]) -> c_ast.Node | None:
        return self.value_of(items if _always_returns(items) else [*items, *rest])

    def _converted(self, value: c_ast.Node) -> c_ast.Node:
        # Each return converts its own value: the sides of a choice would meet in a type of their own.
        if isinstance(value, c_ast.TernaryOp) and isinstance(value.iftrue, c_ast.Cast):
            return value
        return c_ast.Cast(c_ast.Typename(None, [], None, self._type), value, value.coord)

    def ended(self, items: list[c_ast.Node]) -> list[c_ast.Node]:
        """Statements that set the result's variable where they would return."""
        for n, item in enumerate(items):
            if not _returns(item):
                continue
            match item:
                case c_ast.Return(expr=value):
                    return [*items[:n], *([self._set(value, item)] if value is not None else [])]
                case c_ast.Compound(block_items=inner):
                    return [*items[:n], *self.ended([*(inner or []), *items[n + 1 :]])]
                case c_ast.If():
                    return [*items[:n], self._branches(item, items[n + 1 :])]
                case c_ast.Switch() if (branches := as_branches(item, returns=True)) is not None:
                    return [*items[:n], *self.ended([branches, *items[n + 1 :]])]
                case _:
                    where = next(x for x in walk_tree(item) if isinstance(x, c_ast.Return))
                    raise NotSingleExit(f"a return out of a {_KINDS.get(type(item), 'statement')}", where)
        return items

    def _branches(self, node: c_ast.If, rest: list[c_ast.Node]) -> c_ast.If:
        sides = []
        for side in (items_of(node.iftrue), items_of(node.iffalse)):
            sides.append(side if _always_returns(side) else [*side, *rest])
        if not any(_always_returns(items_of(x)) for x in (node.iftrue, node.iffalse)):
            self._copies += sum(1 for x in rest for _ in walk_tree(x))
            if self._copies > _MOST_COPIES or any(isinstance(y, c_ast.Decl) for x in rest for y in walk_tree(x)):
                raise NotSingleExit("a return on some of the ways through a branch", node)
        then, otherwise = (c_ast.Compound(self.ended(x), node.coord) for x in sides)
        return c_ast.If(node.cond, then, otherwise, node.coord)

    def _set(self, value: c_ast.Node, node: c_ast.Node) -> c_ast.Assignment:
        if self.result is None:
            self.result = c_ast.Decl(self._name, [], [], [], [], self._type, None, None, self._type.coord)
        return c_ast.Assignment("=", self.use(), value, node.coord)


_KINDS: dict[type[c_ast.Node], str] = {
    c_ast.For: "loop", c_ast.While: "loop", c_ast.DoWhile: "loop", c_ast.Switch: "switch", c_ast.Label: "label",
}  # fmt: skip
