"""Bit-reversal (digit-reversal) permutation loops, as before or after the stages of an FFT; the reversed index is
counted up from its first digit on.

Before: for (i = 0, j = 0; i < n - 1; i++) {
            if (i < j) { t = x[i]; x[i] = x[j]; x[j] = t; }
            for (k = n / 2; k <= j; k /= 2) j -= k;
            j += k;
        }
After:  order[0] = 0;  for i in 1 .. n { order[i] = order[i / 2] / 2 + i % 2 * (n / 2) }
        for i in 0 .. n { if (i < order[i]) { exchange x[i] and x[order[i]] } }

While a digit in front is the largest there is, it becomes 0, and the next one is increased: this is how one is added to
a number that is read backwards. Each digit is less than `base` and `n` is a power of it, so that the first digit that
is not yet 0 is the largest if and only if the number is at least (base - 1) * k, where k is what the digit counts.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> swap = "if (i < j) { float t = x[i]; x[i] = x[j]; x[j] = t; }"
>>> loop = "for (i = 0, j = 0; i < n - 1; i++) { %s for (k = n / 2; k <= j; k /= 2) j -= k; j += k; }" % swap
>>> region, = read_c(Source("f.c", "void f(float *x, int n) { int i, j, k; %s }" % loop)).functions[0].regions
>>> region.reversal
BitReversal(base=2, widths={'x': 1})
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from planish.frontend.c.analysis.liveness import Live
from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_plain, step_of, written
from planish.frontend.c.translation_unit import TILE, BitReversal
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar
from planish.ir.nest import Kernel
from planish.ir.text.operator_names import quoted
from planish.ir.text.parser import parse_kernel
from planish.ir.types import Type


class _OtherError(Exception):
    """It is another loop."""


@dataclass(frozen=True, slots=True)
class Reversed:
    """What a loop is: the kernel, the C expressions to pass to it, and how digits are reversed."""

    kernel: Kernel
    names: tuple[tuple[str, str], ...]
    reversal: BitReversal


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


def find_reversal(loop: c_ast.For, bound: BoundNames, live: Live) -> Reversed | None:
    """How a loop reverses digits; None where it does something else, or what it counts with may be read behind it.
    `live`: what may be read behind it."""
    try:
        return _Reader(loop, bound).read(live)
    except _OtherError:
        return None


def _demand(condition: bool) -> None:
    if not condition:
        raise _OtherError


@dataclass(slots=True)
class _Reader:
    """A loop on its way."""

    loop: c_ast.For
    bound: BoundNames

    def read(self, live: Live) -> Reversed:
        """What the loop is; raises _OtherError."""
        starts = self.starts()
        counter = self.counted()
        body = [x for x in self.statements(self.loop.stmt) if not self.is_empty(x)]
        _demand(len(body) >= 3)
        first = isinstance(body[0], c_ast.If)
        exchange, steps = (body[0], body[1:]) if first else (body[-1], body[:-1])
        count, base, mirrored, weight = self.carry(steps)
        _demand(self.limits(counter, count) and mirrored is not counter)
        # Number 0 is 0 backwards; where one is added before elements are exchanged, that belongs to number 1.
        _demand(starts.get(counter) == (0 if first else 1) and starts.get(mirrored, 0) == 0)
        _demand(starts.keys() <= {counter, mirrored})
        widths = self.exchanged(exchange, counter, mirrored)
        scalars = {x for x in written(self.loop, self.bound) if isinstance(x.ctype, CScalar)}
        numbers = [counter, mirrored, weight, *([count] if isinstance(count, Symbol) else [])]
        _demand(all(map(is_plain, numbers)) and not scalars & live and not any(x.lasting for x in scalars))
        _demand(count not in scalars)
        return self.made(count, base, widths, None if mirrored in starts else mirrored)

    def made(self, count: Symbol | int, base: int, widths: dict[Symbol, int], entry: Symbol | None) -> Reversed:
        """The kernel, over tiles of elements."""
        name = self.bound.function.decl.name
        spelled = f"(long long){count.name}" if isinstance(count, Symbol) else str(count)
        asked = [f"{spelled} >= {TILE * TILE}", f"({spelled} & ({spelled} - 1)) == 0"]
        if base > 2:
            powers = sum(1 << x for x in range(0, 63, base.bit_length() - 1))
            asked.append(f"({spelled} & {powers}) != 0")
        if entry is not None:
            asked.append(f"{entry.name} == 0")
        passed = f"({' && '.join(asked)} ? {spelled} / {TILE * TILE} : -1)"
        arrays = {x.key: _element(x) for x in widths}
        kernel = parse_kernel(_text(name, base, {x.key: y for x, y in widths.items()}, arrays))
        names = (("tiles", passed), *((x.key, x.name) for x in widths))
        return Reversed(kernel, names, BitReversal(base, {x.key: y for x, y in widths.items()}))

    def starts(self) -> dict[Symbol, int]:
        """What the first part of the loop sets variables to."""
        out: dict[Symbol, int] = {}
        match self.loop.init:
            case c_ast.DeclList(decls=nodes) | c_ast.ExprList(exprs=nodes):
                pass
            case node:
                nodes = [node] if node is not None else []
        for node in nodes:
            symbol, value = self.setting(node)
            number = self.bound.value(value)
            _demand(number is not None)
            assert number is not None
            out[symbol] = number
        return out

    def counted(self) -> Symbol:
        """The loop's counter, which is increased by one."""
        match step_of(self.loop.next, self.bound):
            case (symbol, 1):
                return symbol
            case _:
                raise _OtherError

    def limits(self, counter: Symbol, count: Symbol | int) -> bool:
        """Whether the loop goes to the last number or the one before it; the last one is the same backwards."""
        match self.loop.cond:
            case c_ast.BinaryOp(op="<" | "<=" as op, left=left, right=end) if self.is_variable(left, counter):
                pass
            case _:
                return False
        last = -1 if op == "<" else 0
        if isinstance(count, int):
            number = self.number(end)
            return number is not None and number + last - count in (-1, -2)
        if isinstance(end, c_ast.BinaryOp) and end.op == "-" and (less := self.number(end.right)) is not None:
            end, last = end.left, last - less
        return self.is_variable(end, count) and last in (-1, -2)

    def carry(self, steps: Sequence[c_ast.Node]) -> tuple[Symbol | int, int, Symbol, Symbol]:
        """How many numbers there are, the base of their digits, the variable that one is added to, backwards, and the
        one that tells what a digit counts."""
        match steps:
            case [c_ast.For(init=c_ast.DeclList(decls=[first]), cond=cond, next=shift, stmt=stmt), add]:
                inner = [*self.statements(stmt), shift]
            case [c_ast.For(init=first, cond=cond, next=shift, stmt=stmt), add] if first is not None:
                inner = [*self.statements(stmt), shift]
            case [first, c_ast.For(init=None, cond=cond, next=shift, stmt=stmt), add]:
                inner = [*self.statements(stmt), shift]
            case [first, c_ast.While(cond=cond, stmt=stmt), add]:
                inner = self.statements(stmt)
            case _:
                raise _OtherError
        weight, value = self.setting(first)
        count, base = self.quotient(value)
        mirrored = self.added(add, weight, base)
        _demand(len(inner) == 2 and self.takes(inner[0], mirrored, weight, base))
        _demand(self.divides(inner[1], weight, base) and self.asks(cond, mirrored, weight, base))
        return count, base, mirrored, weight

    def quotient(self, node: c_ast.Node) -> tuple[Symbol | int, int]:
        """What is divided, and by which base."""
        whole = self.number(node)
        if whole is not None:
            return 2 * whole, 2
        match node:
            case c_ast.BinaryOp(op=">>", left=left, right=right):
                base = 1 << (self.number(right) or 0)
            case c_ast.BinaryOp(op="/", left=left, right=right):
                base = self.number(right) or 0
            case _:
                raise _OtherError
        count = self.amount(left)
        _demand(count is not None and base > 1 and any(base**x == TILE for x in range(TILE)))
        assert count is not None
        return count, base

    def divides(self, node: c_ast.Node, weight: Symbol, base: int) -> bool:
        """Whether a statement goes on to the next digit."""
        match node:
            case c_ast.Assignment(op=">>=", lvalue=target, rvalue=value):
                by = 1 << (self.number(value) or 0)
            case c_ast.Assignment(op="/=", lvalue=target, rvalue=value):
                by = self.number(value) or 0
            case c_ast.Assignment(op="=", lvalue=target, rvalue=c_ast.BinaryOp(op=">>", left=left, right=value)):
                _demand(self.is_variable(left, weight))
                by = 1 << (self.number(value) or 0)
            case c_ast.Assignment(op="=", lvalue=target, rvalue=c_ast.BinaryOp(op="/", left=left, right=value)):
                _demand(self.is_variable(left, weight))
                by = self.number(value) or 0
            case _:
                return False
        return self.is_variable(target, weight) and by == base

    def takes(self, node: c_ast.Node, mirrored: Symbol, weight: Symbol, base: int) -> bool:
        """Whether a statement makes the last digit there is a 0."""
        match node:
            case c_ast.Assignment(op="-=", lvalue=target, rvalue=value):
                good = self.is_last(value, weight, base)
            case c_ast.Assignment(op="^=", lvalue=target, rvalue=value):
                good = base == 2 and self.is_variable(value, weight)
            case c_ast.Assignment(op="&=", lvalue=target, rvalue=c_ast.UnaryOp(op="~", expr=value)):
                good = base == 2 and self.is_variable(value, weight)
            case c_ast.Assignment(op="=", lvalue=target, rvalue=c_ast.BinaryOp(op="-", left=left, right=value)):
                good = self.is_variable(left, mirrored) and self.is_last(value, weight, base)
            case _:
                return False
        return good and self.is_variable(target, mirrored)

    def is_last(self, node: c_ast.Node, weight: Symbol, base: int) -> bool:
        """Whether an expression is what the last digit there is counts."""
        if base == 2 and self.is_variable(node, weight):
            return True
        match node:
            case c_ast.BinaryOp(op="*", left=a, right=b):
                return any(self.number(x) == base - 1 and self.is_variable(y, weight) for x, y in ((a, b), (b, a)))
            case _:
                return False

    def added(self, node: c_ast.Node, weight: Symbol, base: int) -> Symbol:
        """The variable that a statement adds one of a digit to, which is not the last one there is."""
        match node:
            case c_ast.Assignment(op="+=", lvalue=c_ast.ID() as target, rvalue=value):
                pass
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=c_ast.BinaryOp(op="+", left=a, right=b)):
                own = self.symbol(target)
                value = b if self.is_variable(a, own) else a
                _demand(self.is_variable(a, own) or self.is_variable(b, own))
            case c_ast.Assignment(op="|=" | "^=", lvalue=c_ast.ID() as target, rvalue=value):
                _demand(base == 2)
            case _:
                raise _OtherError
        _demand(self.is_variable(value, weight))
        return self.symbol(target)

    def asks(self, node: c_ast.Node, mirrored: Symbol, weight: Symbol, base: int) -> bool:
        """Whether a condition holds if and only if the digit is the last one there is; where there are no more digits
        it may hold or not."""
        match node:
            case c_ast.BinaryOp(op="&&", left=a, right=b):
                ways = ((a, b), (b, a))
                return any(self.is_positive(x, weight) and self.asks(y, mirrored, weight, base) for x, y in ways)
            case c_ast.BinaryOp(op="<=", left=less, right=more) | c_ast.BinaryOp(op=">=", left=more, right=less):
                return self.is_last(less, weight, base) and self.is_variable(more, mirrored)
            case c_ast.BinaryOp(op="&", left=a, right=b):
                ways = ((a, b), (b, a))
                return base == 2 and any(self.is_variable(x, weight) and self.is_variable(y, mirrored) for x, y in ways)
            case _:
                return False

    def is_positive(self, node: c_ast.Node, weight: Symbol) -> bool:
        """Whether a condition only asks for a digit."""
        match node:
            case c_ast.BinaryOp(op=">=", left=left, right=right):
                return self.is_variable(left, weight) and self.number(right) == 1
            case c_ast.BinaryOp(op=">" | "!=", left=left, right=right):
                return self.is_variable(left, weight) and self.number(right) == 0
            case _:
                return self.is_variable(node, weight)

    def exchanged(self, node: c_ast.Node, counter: Symbol, mirrored: Symbol) -> dict[Symbol, int]:
        """The arrays whose elements are exchanged where the counter is less, and how many side by side."""
        match node:
            case c_ast.If(cond=c_ast.BinaryOp(op="<", left=a, right=b), iftrue=body, iffalse=None):
                pass
            case c_ast.If(cond=c_ast.BinaryOp(op=">", left=b, right=a), iftrue=body, iffalse=None):
                pass
            case _:
                raise _OtherError
        _demand(self.is_variable(a, counter) and self.is_variable(b, mirrored))
        exchange = _Exchange()
        for stmt in self.statements(body):
            if not self.is_empty(stmt):
                self.move(stmt, exchange, (counter, mirrored))
        widths: dict[Symbol, int] = {}
        for place in exchange.elements:
            _demand(widths.setdefault(place.array, place.width) == place.width)
        wanted = {
            _Place(array, x, width, side): _Place(array, y, width, side)
            for array, width in widths.items() for side in range(width)
            for x, y in ((counter, mirrored), (mirrored, counter))
        }  # fmt: skip
        _demand(bool(wanted) and exchange.elements == wanted)
        return widths

    def move(self, node: c_ast.Node, exchange: _Exchange, numbers: tuple[Symbol, Symbol]) -> None:
        """One statement that moves an element, or what one held."""
        if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ArrayRef):
            _demand(node.op == "=")
            exchange.elements[self.place(node.lvalue, numbers)] = self.held(node.rvalue, exchange, numbers)
            return
        symbol, value = self.setting(node)
        held = self.held(value, exchange, numbers)
        _demand(isinstance(symbol.ctype, CScalar) and symbol.ctype.type == _element(held.array))
        exchange.variables[symbol] = held

    def held(self, node: c_ast.Node, exchange: _Exchange, numbers: tuple[Symbol, Symbol]) -> _Place:
        """The element that held before what an expression is now."""
        if isinstance(node, c_ast.ArrayRef):
            place = self.place(node, numbers)
            return exchange.elements.get(place, place)
        symbol = self.bound.symbol(node) if isinstance(node, c_ast.ID) else None
        _demand(symbol in exchange.variables)
        assert symbol is not None
        return exchange.variables[symbol]

    def place(self, node: c_ast.ArrayRef, numbers: tuple[Symbol, Symbol]) -> _Place:
        """The element that is meant."""
        _demand(isinstance(node.name, c_ast.ID))
        array, at = self.symbol(node.name), node.subscript
        side: int | None = 0
        width: int | None = 1
        _element(array)
        if isinstance(at, c_ast.BinaryOp) and at.op == "+":
            number = self.number(at.right)
            at, side = (at.left, number) if number is not None else (at.right, self.number(at.left))
        if isinstance(at, c_ast.BinaryOp) and at.op in ("*", "<<"):
            number = self.number(at.right)
            if at.op == "<<":
                at, width = at.left, 1 << (number or 0)
            else:
                at, width = (at.left, number) if number is not None else (at.right, self.number(at.left))
        _demand(side is not None and width is not None and 0 <= side < width and isinstance(at, c_ast.ID))
        assert side is not None and width is not None
        symbol = self.symbol(at)
        _demand(symbol in numbers)
        return _Place(array, symbol, width, side)

    def setting(self, node: c_ast.Node | None) -> tuple[Symbol, c_ast.Node]:
        """The variable that a statement sets, and to what."""
        match node:
            case c_ast.Decl(init=value) if value is not None:
                symbol = self.bound.symbol(node)
                _demand(symbol is not None)
                assert symbol is not None
                return symbol, value
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=value):
                return self.symbol(target), value
            case _:
                raise _OtherError

    def statements(self, node: c_ast.Node) -> list[c_ast.Node]:
        """The statements of a body."""
        return list(node.block_items or []) if isinstance(node, c_ast.Compound) else [node]

    def is_empty(self, node: c_ast.Node) -> bool:
        """Whether a statement does nothing."""
        return isinstance(node, c_ast.EmptyStatement) or (isinstance(node, c_ast.Decl) and node.init is None)

    def symbol(self, node: c_ast.ID) -> Symbol:
        """The variable that is meant."""
        found = self.bound.symbol(node)
        _demand(found is not None)
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


def _element(symbol: Symbol) -> Type:
    """The type of the elements that a variable has, or points to."""
    match symbol.ctype:
        case CPointer(target=CScalar(type=type)) | CArray(element=CScalar(type=type)):
            return type
        case _:
            raise _OtherError


def _text(name: str, base: int, widths: dict[str, int], types: dict[str, Type]) -> str:
    """The kernel: each number backwards, and the exchanges."""
    count = f"{TILE * TILE} * tiles"
    moves = ""
    for place, (array, side) in enumerate((x, y) for x in widths for y in range(widths[x])):
        low, high = (f"{quoted(array)}[{spell_place(x, widths[array], side)}]" for x in ("number", "mirrored"))
        moves += f"alloc held{place}: {types[array]}[] held{place}[] = {low} {low} = {high} {high} = held{place}[] "
    arrays = ", ".join(f"{quoted(x)}: {types[x]}[?]" for x in widths)
    return (
        f"kernel {quoted(name)}(tiles; {arrays}) assume tiles >= 1 {{ alloc order: i64[{count}] order[0] = 0 "
        f"for number in 1 .. {count} {{ order[number] = order[number // {base}] // {base}"
        f" + number % {base} * ({TILE * TILE // base} * tiles) }} "
        f"for number in 0 .. {count} {{ let mirrored = order[number] if number < mirrored {{ {moves}}} }} }}"
    )


def spell_place(number: str, width: int, side: int) -> str:
    """The subscript of one of several elements side by side."""
    return f"{f'{width} * ' if width > 1 else ''}{number}{f' + {side}' if side else ''}"
