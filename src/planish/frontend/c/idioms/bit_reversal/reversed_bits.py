"""Whether statements compute a number with its bits in reverse order, however they are written: they are run, bit by
bit.

For each number of bits, what loops and shifts count with is a number that is known, and each bit of what is made of the
loop's counter is 0, 1 or a bit of the counter. Statements that give anything else, that overflow or that touch memory
compute something else, as far as is known here.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import FileScope, bind_function
>>> text = "void f(int i, int n) { int r = 0; for (int m = 1; m < n; m *= 2) { r *= 2; if (i & m) r |= 1; } r; }"
>>> bound = bind_function(CParser().parse(text).ext[0], FileScope({}, {}, {}, frozenset()))
>>> i, n, r = (x for x in bound.symbols if x.name in ("i", "n", "r"))
>>> run = BitRun(bound, {i: tuple(range(10)), n: 1 << 10})
>>> run.run(bound.function.body)
>>> run.values[r] == tuple(reversed(range(10)))
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import and_, ge, gt, le, lt, or_, xor

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_plain
from planish.frontend.c.types.constants import has_effects, walk_tree
from planish.frontend.c.types.declarations import CScalar

MOST_BITS = 30
"""Numbers of more bits are not looked at: they might overflow."""
_MOST_STEPS = 4000
"""Statements that run longer are given up."""


@dataclass(frozen=True, slots=True)
class _Fixed:
    """A bit that is set; one that is not is None, and one of the counter is its place there."""


ONE = _Fixed()
Bit = int | _Fixed | None
Bits = tuple[Bit, ...]
"""From the last bit on; the first ones that are not set are left out."""
Value = int | Bits


class UnknownBitsError(Exception):
    """What statements compute is not known bit by bit."""


def _known(condition: bool) -> None:
    if not condition:
        raise UnknownBitsError


def bits_of_number(number: int) -> Bits:
    """A number that is known.

    >>> bits_of_number(2) == (None, ONE)
    True
    """
    _known(0 <= number < 1 << (MOST_BITS + 1))
    return tuple(ONE if number >> x & 1 else None for x in range(number.bit_length()))


def _as_bits(value: Value) -> Bits:
    return bits_of_number(value) if isinstance(value, int) else value


def _short(bits: list[Bit]) -> Value:
    """A value without bits in front that are not set, as a number where none is the counter's."""
    while bits and bits[-1] is None:
        bits.pop()
    _known(len(bits) <= MOST_BITS + 1)
    if all(x is None or x is ONE for x in bits):
        return sum(1 << n for n, x in enumerate(bits) if x is ONE)
    return tuple(bits)


def _bitwise(left: Value, right: Value, of: Callable[[Bit, Bit], Bit]) -> Value:
    a, b = [*_as_bits(left)], [*_as_bits(right)]
    size = max(len(a), len(b))
    pairs = zip(a + [None] * (size - len(a)), b + [None] * (size - len(b)), strict=True)
    return _short([of(x, y) for x, y in pairs])


def _both(a: Bit, b: Bit) -> Bit:
    if a is None or b is None:
        return None
    _known(a is ONE or b is ONE or a == b)
    return b if a is ONE else a


def _either(a: Bit, b: Bit) -> Bit:
    if a is None or b is None or a == b:
        return b if a is None else a
    _known(a is ONE or b is ONE)
    return ONE


def _single(a: Bit, b: Bit) -> Bit:
    """Of a sum without carries, or of what is not the same in both."""
    _known(a is None or b is None)
    return b if a is None else a


def _chosen(bit: int, then: Value, otherwise: Value) -> Value:
    """One value where a bit of the counter is set, and another one where it is not."""

    def of(a: Bit, b: Bit) -> Bit:
        if a == b:
            return a
        _known(a in (ONE, bit) and b in (None, bit))
        return bit

    return _bitwise(then, otherwise, of)


def _shift(value: Value, places: int) -> Value:
    """To the left, or to the right by less than nothing."""
    bits = [*_as_bits(value)]
    return _short([None] * places + bits) if places >= 0 else _short(bits[-places:])


def _power(value: Value) -> int | None:
    """Which power of two a number is."""
    whole = isinstance(value, int) and value > 0 and value & (value - 1) == 0
    return value.bit_length() - 1 if isinstance(value, int) and whole else None


_ORDER: Mapping[str, Callable[[int, int], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_LOGIC: Mapping[str, Callable[[int, int], int]] = {"&": and_, "|": or_, "^": xor}


@dataclass(slots=True)
class BitRun:
    """Statements that are run with the `values` of variables. `signed`: all numbers have a sign, so that one less than
    nothing is no large one."""

    bound: BoundNames
    values: dict[Symbol, Value]
    signed: bool = False
    steps: int = 0

    def run(self, node: c_ast.Node | None) -> None:
        """One statement; UnknownBitsError where it does more than set numbers."""
        self.steps += 1
        _known(self.steps < _MOST_STEPS)
        match node:
            case None | c_ast.EmptyStatement() | c_ast.ID() | c_ast.Constant():
                pass
            case c_ast.Compound(block_items=items):
                for x in items or ():
                    self.run(x)
            case c_ast.DeclList(decls=nodes) | c_ast.ExprList(exprs=nodes):
                for x in nodes:
                    self.run(x)
            case c_ast.Decl(init=value):
                symbol = self.bound.symbol(node)
                _known(symbol is not None and isinstance(symbol.ctype, CScalar))
                assert symbol is not None
                self.values.pop(symbol, None)
                if value is not None:
                    self.set(symbol, self.value(value))
            case c_ast.Assignment() | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                self.value(node)
            case c_ast.If(cond=cond, iftrue=then, iffalse=otherwise):
                self.branch(cond, then, otherwise)
            case c_ast.For(init=init, cond=cond, next=step, stmt=body):
                self.run(init)
                self.repeat(cond, body, step)
            case c_ast.While(cond=cond, stmt=body):
                self.repeat(cond, body, None)
            case c_ast.DoWhile(cond=cond, stmt=body):
                self.run(body)
                self.repeat(cond, body, None)
            case _:
                raise UnknownBitsError

    def repeat(self, cond: c_ast.Node | None, body: c_ast.Node, step: c_ast.Node | None) -> None:
        """A loop, whose condition has to be known."""
        _known(cond is not None)
        assert cond is not None
        while holds := self.truth(cond):
            _known(isinstance(holds, bool))
            self.run(body)
            self.run(step)

    def branch(self, cond: c_ast.Node, then: c_ast.Node, otherwise: c_ast.Node | None) -> None:
        """Both branches where the condition is a bit of the counter: each variable is chosen by it then."""
        truth = self.truth(cond)
        if isinstance(truth, bool):
            self.run(then if truth else otherwise)
            return
        bit, holds = truth
        before = {**self.values}
        self.run(then if holds else otherwise)
        first, self.values = self.values, before
        self.run(otherwise if holds else then)
        both = first.keys() & self.values.keys()
        self.values = {x: _chosen(bit, first[x], self.values[x]) for x in both}

    def truth(self, node: c_ast.Node) -> bool | tuple[int, bool]:
        """Whether a condition holds: that, or the bit of the counter that it is, and whether it is so as it is set."""
        match node:
            case c_ast.UnaryOp(op="!", expr=inner):
                found = self.truth(inner)
                return not found if isinstance(found, bool) else (found[0], not found[1])
            case c_ast.BinaryOp(op="&&" | "||" as op, left=left, right=right):
                first = self.truth(left)
                _known(isinstance(first, bool))
                return first if first is (op == "||") else self.truth(right)
            case c_ast.BinaryOp(op="<" | "<=" | ">" | ">=" | "==" | "!=" as op, left=left, right=right):
                a, b = self.value(left), self.value(right)
                if isinstance(a, int) and isinstance(b, int):
                    return _ORDER[op](a, b) if op in _ORDER else (a == b) is (op == "==")
                # Of one bit that is set or not, it may be asked whether it is that bit, or nothing.
                bits, number = (a, b) if isinstance(b, int) else (b, a)
                _known(isinstance(bits, tuple) and isinstance(number, int) and op in ("==", "!="))
                assert isinstance(bits, tuple)
                bit = self.only(bits)
                _known(number in (0, 1 << (len(bits) - 1)))
                return bit, (number != 0) is (op == "==")
            case _:
                value = self.value(node)
                return value != 0 if isinstance(value, int) else (self.only(value), True)

    def only(self, bits: Bits) -> int:
        """The one bit of a value that may be set."""
        found = [x for x in bits if x is not None]
        _known(len(found) == 1 and isinstance(found[0], int))
        assert isinstance(found[0], int)
        return found[0]

    def set(self, symbol: Symbol, value: Value) -> None:
        """A variable has a value then."""
        _known(is_plain(symbol) and isinstance(symbol.ctype, CScalar) and symbol.ctype.type.kind in ("int", "uint"))
        self.values[symbol] = value

    def value(self, node: c_ast.Node) -> Value:
        """What an expression is; what it sets is set."""
        number = self.bound.value(node)
        if number is not None:
            return self.checked(number)
        match node:
            case c_ast.ID():
                symbol = self.bound.symbol(node)
                _known(symbol in self.values)
                assert symbol is not None
                return self.values[symbol]
            case c_ast.Assignment(op=op, lvalue=c_ast.ID() as target, rvalue=right):
                value = self.value(right) if op == "=" else self.result(op[:-1], self.value(target), self.value(right))
                return self.assign(target, value)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--" as op, expr=c_ast.ID() as target):
                before = self.value(target)
                after = self.assign(target, self.result(op[-1], before, 1))
                return before if op[0] == "p" else after
            case c_ast.UnaryOp(op="+", expr=inner):
                return self.value(inner)
            case c_ast.Cast(expr=inner, to_type=c_ast.Typename(type=c_ast.TypeDecl(type=kind))):
                _known(isinstance(kind, c_ast.IdentifierType) and {*kind.names} <= _WIDE)
                return self.value(inner)
            case c_ast.TernaryOp(cond=cond, iftrue=then, iffalse=otherwise):
                truth = self.truth(cond)
                if isinstance(truth, bool):
                    return self.value(then if truth else otherwise)
                # Only one of them is computed, which is not known here.
                _known(not has_effects(then) and not has_effects(otherwise))
                a, b = self.value(then), self.value(otherwise)
                return _chosen(truth[0], *((a, b) if truth[1] else (b, a)))
            case c_ast.BinaryOp(op=op, left=left, right=right) if op not in _TESTS:
                return self.result(op, self.value(left), self.value(right))
            case c_ast.BinaryOp() | c_ast.UnaryOp(op="!"):
                truth = self.truth(node)
                return int(truth) if isinstance(truth, bool) else _chosen(truth[0], int(truth[1]), int(not truth[1]))
            case _:
                raise UnknownBitsError

    def assign(self, target: c_ast.ID, value: Value) -> Value:
        """A variable is set."""
        symbol = self.bound.symbol(target)
        _known(symbol is not None)
        assert symbol is not None
        self.set(symbol, value)
        return value

    def result(self, op: str, a: Value, b: Value) -> Value:
        """What an operator makes of two values."""
        if isinstance(a, int) and isinstance(b, int):
            return self.checked(self.number(op, a, b))
        places = _power(b)
        match op:
            case "&":
                return _bitwise(a, b, _both)
            case "|":
                return _bitwise(a, b, _either)
            case "^" | "+":
                return _bitwise(a, b, _single)
            case "<<" | ">>" if isinstance(b, int) and 0 <= b <= MOST_BITS:
                return _shift(a, b if op == "<<" else -b)
            case "*" if places is not None:
                return _shift(a, places)
            case "*" if (left := _power(a)) is not None:
                return _shift(b, left)
            case "/" if places is not None:
                return _shift(a, -places)
            case "%" if places is not None:
                return _short([*_as_bits(a)[:places]])
            case _:
                raise UnknownBitsError

    def number(self, op: str, a: int, b: int) -> int:
        """What an operator makes of two numbers."""
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/" | "%" if a >= 0 and b > 0:
                return a // b if op == "/" else a % b
            case "<<" | ">>" if a >= 0 and 0 <= b <= MOST_BITS:
                return a << b if op == "<<" else a >> b
            case "&" | "|" | "^" if a >= 0 and b >= 0:
                return _LOGIC[op](a, b)
            case _:
                raise UnknownBitsError

    def checked(self, number: int) -> int:
        """A number that all types in question have."""
        _known(-(1 << MOST_BITS) <= number <= 1 << MOST_BITS and (number >= 0 or self.signed))
        return number


def all_signed(node: c_ast.Node, bound: BoundNames) -> bool:
    """Whether a statement only computes with numbers that have a sign, as far as is seen."""
    for x in walk_tree(node):
        symbol = bound.symbol(x) if isinstance(x, c_ast.ID | c_ast.Decl) else None
        kind = symbol.ctype.type.kind if symbol is not None and isinstance(symbol.ctype, CScalar) else ""
        if isinstance(x, c_ast.UnaryOp) and x.op in ("sizeof", "_Alignof"):
            return False
        if kind == "uint" or isinstance(x, c_ast.Cast) or (isinstance(x, c_ast.Constant) and "unsigned" in x.type):
            return False
    return True


_TESTS = frozenset({"<", "<=", ">", ">=", "==", "!=", "&&", "||"})
_WIDE = frozenset({"int", "long", "unsigned", "signed", "size_t", "ssize_t", "ptrdiff_t", "uint32_t", "int32_t",
                   "uint64_t", "int64_t", "uint", "uintptr_t"})  # fmt: skip
