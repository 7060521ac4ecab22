"""Statements that exchange or copy elements whose numbers are two variables, as loops of permutations have them.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import FileScope, bind_function
>>> text = "void f(float *x, int i, int j) { if (i < j) { float t = x[i]; x[i] = x[j]; x[j] = t; } }"
>>> bound = bind_function(CParser().parse(text).ext[0], FileScope({}, {}, {}, frozenset()))
>>> x, i, j = bound.symbols[:3]
>>> {a.name: width for a, width in ElementMoves(bound).exchanged(bound.function.body.block_items[0], i, j).items()}
{'x': 1}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar
from planish.ir.types import Type

_MOST_PLACES = 31
"""All integers that are computed with are shifted by less."""


class OtherLoopError(Exception):
    """It is another loop."""


def demand(condition: bool) -> None:
    if not condition:
        raise OtherLoopError


@dataclass(frozen=True, slots=True)
class _Place:
    """`width * number + side` is a subscript; `number` is one of the two."""

    array: Symbol
    number: Symbol
    width: int
    side: int


@dataclass(slots=True)
class _Exchange:
    """What elements and variables hold, each what some element held before."""

    elements: dict[_Place, _Place] = field(default_factory=dict)
    variables: dict[Symbol, _Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ElementMoves:
    """What statements of a function move."""

    bound: BoundNames

    def exchanged(self, node: c_ast.Node, counter: Symbol, mirrored: Symbol) -> dict[Symbol, int]:
        """The arrays whose elements are exchanged where the counter is less, and how many side by side."""
        match node:
            case c_ast.If(cond=c_ast.BinaryOp(op="<", left=a, right=b), iftrue=body, iffalse=None):
                pass
            case c_ast.If(cond=c_ast.BinaryOp(op=">", left=b, right=a), iftrue=body, iffalse=None):
                pass
            case _:
                raise OtherLoopError
        demand(self.is_variable(a, counter) and self.is_variable(b, mirrored))
        exchange = _Exchange()
        for stmt in self.statements(body):
            if not self.is_empty(stmt):
                self.move(stmt, exchange, (counter, mirrored))
        # Places are told by the variables, which an element that is held there would change.
        demand(not {counter, mirrored} & exchange.variables.keys())
        widths: dict[Symbol, int] = {}
        for place in exchange.elements:
            demand(widths.setdefault(place.array, place.width) == place.width)
        wanted = {
            _Place(array, x, width, side): _Place(array, y, width, side)
            for array, width in widths.items() for side in range(width)
            for x, y in ((counter, mirrored), (mirrored, counter))
        }  # fmt: skip
        demand(bool(wanted) and exchange.elements == wanted)
        return widths

    def copied(
        self, moves: Sequence[c_ast.Node], counter: Symbol, mirrored: Symbol
    ) -> tuple[dict[Symbol, int], dict[Symbol, Symbol]]:
        """The arrays that all elements are copied to, how many lie side by side, and the arrays that they come from."""
        widths: dict[Symbol, int] = {}
        sources: dict[Symbol, Symbol] = {}
        seen: set[tuple[Symbol, int]] = set()
        for node in moves:
            demand(isinstance(node, c_ast.Assignment) and node.op == "=")
            assert isinstance(node, c_ast.Assignment)
            to, of = (self.place(x, (counter, mirrored)) for x in (node.lvalue, node.rvalue))
            demand(to.number is not of.number and (to.width, to.side) == (of.width, of.side))
            demand(widths.setdefault(to.array, to.width) == to.width)
            demand(sources.setdefault(to.array, of.array) is of.array)
            demand(element_type(to.array) == element_type(of.array))
            seen.add((to.array, to.side))
        demand(len(seen) == sum(widths.values()) and not {*sources} & {*sources.values()})
        return widths, sources

    def move(self, node: c_ast.Node, exchange: _Exchange, numbers: tuple[Symbol, Symbol]) -> None:
        """One statement that moves an element, or what one held."""
        if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ArrayRef):
            demand(node.op == "=")
            exchange.elements[self.place(node.lvalue, numbers)] = self.held(node.rvalue, exchange, numbers)
            return
        symbol, value = self.setting(node)
        held = self.held(value, exchange, numbers)
        demand(isinstance(symbol.ctype, CScalar) and symbol.ctype.type == element_type(held.array))
        exchange.variables[symbol] = held

    def held(self, node: c_ast.Node, exchange: _Exchange, numbers: tuple[Symbol, Symbol]) -> _Place:
        """The element that held before what an expression is now."""
        if isinstance(node, c_ast.ArrayRef):
            place = self.place(node, numbers)
            return exchange.elements.get(place, place)
        symbol = self.bound.symbol(node) if isinstance(node, c_ast.ID) else None
        demand(symbol in exchange.variables)
        assert symbol is not None
        return exchange.variables[symbol]

    def place(self, node: c_ast.Node, numbers: tuple[Symbol, Symbol]) -> _Place:
        """The element that is meant."""
        if not isinstance(node, c_ast.ArrayRef) or not isinstance(node.name, c_ast.ID):
            raise OtherLoopError
        array, at = self.symbol(node.name), node.subscript
        side: int | None = 0
        width: int | None = 1
        element_type(array)
        if isinstance(at, c_ast.BinaryOp) and at.op == "+":
            number = self.number(at.right)
            at, side = (at.left, number) if number is not None else (at.right, self.number(at.left))
        if isinstance(at, c_ast.BinaryOp) and at.op in ("*", "<<"):
            number = self.number(at.right)
            if at.op == "<<":
                at, width = at.left, shifted_one(number)
            else:
                at, width = (at.left, number) if number is not None else (at.right, self.number(at.left))
        demand(side is not None and width is not None and 0 <= side < width and isinstance(at, c_ast.ID))
        assert side is not None and width is not None
        symbol = self.symbol(at)
        demand(symbol in numbers)
        return _Place(array, symbol, width, side)

    def setting(self, node: c_ast.Node | None) -> tuple[Symbol, c_ast.Node]:
        """The variable that a statement sets, and to what."""
        match node:
            case c_ast.Decl(init=value) if value is not None:
                symbol = self.bound.symbol(node)
                demand(symbol is not None)
                assert symbol is not None
                return symbol, value
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=value):
                return self.symbol(target), value
            case _:
                raise OtherLoopError

    def statements(self, node: c_ast.Node) -> list[c_ast.Node]:
        """The statements of a body."""
        return list(node.block_items or []) if isinstance(node, c_ast.Compound) else [node]

    def is_empty(self, node: c_ast.Node) -> bool:
        """Whether a statement does nothing."""
        if isinstance(node, c_ast.Decl) and node.init is None:
            symbol = self.bound.symbol(node)
            return symbol is not None and isinstance(symbol.ctype, CScalar)
        return isinstance(node, c_ast.EmptyStatement)

    def symbol(self, node: c_ast.ID) -> Symbol:
        """The variable that is meant."""
        found = self.bound.symbol(node)
        demand(found is not None)
        assert found is not None
        return found

    def is_variable(self, node: c_ast.Node, symbol: Symbol) -> bool:
        """Whether an expression is that variable."""
        return isinstance(node, c_ast.ID) and self.bound.symbol(node) is symbol

    def number(self, node: c_ast.Node) -> int | None:
        """The number that an expression always is."""
        return self.bound.value(node)

    def amount(self, node: c_ast.Node) -> Symbol | int | None:
        """The variable or number that an expression is."""
        number = self.number(node)
        return number if number is not None or not isinstance(node, c_ast.ID) else self.bound.symbol(node)


def shifted_one(places: int | None) -> int | None:
    """What a shift by a number of places multiplies or divides by; None where that is not known, or no such shift."""
    return 1 << places if places is not None and 0 <= places < _MOST_PLACES else None


def element_type(symbol: Symbol) -> Type:
    """The type of the elements that a variable has, or points to."""
    match symbol.ctype:
        case CPointer(target=CScalar(type=type)) | CArray(element=CScalar(type=type)):
            return type
        case _:
            raise OtherLoopError
