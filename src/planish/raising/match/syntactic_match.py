"""Syntactic matching: nests equal to a definition statement by statement, in order.

Names do not matter, nor where loops begin to count, nor the order of the operands of a sum or a product; anything else
does. So every value is made as the definition makes it, and what a definition does may be anything: subscripts that
are data, indices as values, tests.

>>> from planish.ir.text.parser import parse_kernel
>>> scan = parse_kernel("kernel scan(n; x: f64[n]) { for i in 1 .. n { x[i] += x[i - 1] } }")
>>> kernel = parse_kernel("kernel k(m; A: f32[m]) { for j in 0 .. m - 1 { A[j + 1] = A[j] + A[j + 1] } }")
>>> operands, sizes, scalars, conditions = compare(scan, kernel, kernel.body.body, ())
>>> print(operands["x"], conditions)
A[0 + x0 | x0 < m] ()
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, index, type_of
from planish.ir.index.polynomial import add, linear_in, names, neg, place, same, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.passes.update_idioms import as_update
from planish.ir.traverse import chained, flatten, loads, substitute, variables
from planish.ir.types import BOOL, F64, INDEX, Type
from planish.raising.raised import View

_COMMUTE = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})


class Likeness(NamedTuple):
    """What the names of a definition are in a nest that is one, and what has to hold of the sizes."""

    operands: Mapping[str, View]
    sizes: Mapping[str, Expr]
    scalars: Mapping[str, Expr]
    conditions: tuple[Expr, ...]


def compare(definition: Kernel, kernel: Kernel, nest: Sequence[Stmt], free: Collection[str]) -> Likeness | None:
    """What the names of a definition are in some statements of a kernel; None where these are something else.

    `free`: the arrays that nothing but these statements uses; the kernel's local arrays are among its arrays."""
    return _Comparison(kernel, definition, set(free)).likeness(definition.body.body, nest)


@dataclass(slots=True)
class _Comparison:
    """What the names of a definition are in a nest, as far as is known.

    `free` are the nest's arrays that nothing else uses, `hidden` the types of the definition's local arrays. A cell of
    the definition may be an element: `cells` says which. `floats` are the types that stand for f64.
    """

    kernel: Kernel
    definition: Kernel
    free: set[str]
    hidden: dict[str, Type] = field(default_factory=dict)
    sizes: dict[str, Expr] = field(default_factory=dict)
    scalars: dict[str, Expr] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    values: dict[str, Expr] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    cells: dict[str, tuple[Expr, ...]] = field(default_factory=dict)
    floats: set[Type] = field(default_factory=set)

    def likeness(self, own: Sequence[Stmt], other: Sequence[Stmt]) -> Likeness | None:
        """What the names are, where the statements are those of the definition."""
        self.types = {x.name: x.type for x in self.kernel.arrays}
        kept, definition = {*self.types}, self.definition
        if not self.block(own, other):
            return None
        if {*definition.sizes} - {*self.sizes} or {x.name for x in definition.scalars} - {*self.scalars}:
            return None
        if len({*self.arrays.values()}) != len(self.arrays) or not self.elements():
            return None
        if not all(self.arrays.get(x.name) in kept for x in definition.arrays):
            return None
        operands = {x.name: self.view(x) for x in definition.arrays}
        assumed = [*(substitute(x, self.sizes) for x in definition.assumptions), *self.within(operands.values())]
        conditions = tuple(x for x in map(simplify, assumed) if x != Const(True, BOOL))
        return Likeness(operands, dict(self.sizes), dict(self.scalars), conditions)

    def within(self, views: Iterable[View]) -> Iterator[Expr]:
        """That operands lie within the nest's arrays."""
        arrays = {x.name: x for x in self.kernel.arrays}
        for view in views:
            for extent, shape in zip(arrays[view.array].shape, view.shape, strict=False):
                if extent is not None and not same(extent, shape):
                    yield Compare("le", shape, extent)

    def elements(self) -> bool:
        """Whether all that is f64 in the definition is of one type in the nest, and the rest of its own."""
        wanted = {**self.hidden, **{x.name: x.type for x in self.definition.arrays}}
        pairs = [(wanted[own], self.types[other]) for own, other in self.arrays.items()]
        self.floats |= {b for a, b in pairs if a == F64}
        return len(self.floats) <= 1 and all(a == b for a, b in pairs if a != F64)

    def view(self, array: Array) -> View:
        """The operand that an array of the definition is: the nest's, from its first element on."""
        shape = tuple(place(x, self.sizes) for x in array.shape if x is not None)
        if not shape:
            return View(self.arrays[array.name], self.cells.get(array.name, ()), (), ())
        rank = len(shape)
        steps = tuple(tuple(int(i == d) for d in range(rank)) for i in range(rank))
        return View(self.arrays[array.name], (index(0),) * rank, steps, shape)

    def block(self, own: Sequence[Stmt], other: Sequence[Stmt]) -> bool:
        """Whether statements are those of the definition, in order."""
        own, other = flatten(own), flatten(other)
        mine, theirs = ({x.array.name: x.array for x in side if isinstance(x, Alloc)} for side in (own, other))
        self.hidden |= {name: x.type for name, x in mine.items()}
        self.free |= {*theirs}
        self.types |= {name: x.type for name, x in theirs.items()}
        own, other = ([x for x in side if not isinstance(x, Alloc)] for side in (own, other))
        return len(own) == len(other) and all(self.statement(a, b) for a, b in zip(own, other, strict=True))

    def statement(self, own: Stmt, other: Stmt) -> bool:
        """Whether a statement is one of the definition."""
        match as_update(own), as_update(other):
            case For() as a, For() as b:
                return self.loop(a, b)
            case If() as a, If() as b:
                (mine, a), (theirs, b) = _tests(a), _tests(b)
                if len(mine) != len(theirs) or not all(self.test(x, y) for x, y in zip(mine, theirs, strict=True)):
                    return False
                return self.block(a.then.body, b.then.body) and self.block(a.otherwise.body, b.otherwise.body)
            case Assign() as a, Assign() as b:
                return self.element(a.array, a.index, b.array, b.index) and self.value(a.value, b.value)
            case Reduce() as a, Reduce() as b:
                stored = a.op == b.op and self.element(a.array, a.index, b.array, b.index)
                return stored and self.value(a.value, b.value)
            case Let() as a, Let() as b:
                if not self.value(a.value, b.value):
                    return False
                self.values[a.var] = Var(b.var, type_of(b.value))
                return True
            case _:
                return False

    def test(self, own: Expr, other: Expr) -> bool:
        """Whether a condition is that of the definition; comparisons of places may be written in any way."""
        a, b = _distance(own), _distance(other)
        return self.number(a, b) if a is not None and b is not None else self.value(own, other)

    def loop(self, own: For, other: For) -> bool:
        """Whether two loops run as often, with bodies that are alike."""
        trips = sub(own.upper, own.lower), sub(other.upper, other.lower)
        if own.step != 1 or other.step != 1 or not self.number(*trips):
            return False
        lower = place(own.lower, {**self.sizes, **self.values})
        if {*names(own.lower)} & {x for x in self.definition.sizes if x not in self.sizes}:
            return False
        # One iteration of the definition's loop is the one of the nest's that is as far from its beginning.
        self.values[own.var] = add(Var(other.var, INDEX), sub(lower, other.lower))
        return self.block(own.body.body, other.body.body)

    def number(self, own: Expr, other: Expr) -> bool:
        """Whether two index expressions are equal; a size that is not known yet becomes what makes them so."""
        here = place(own, {**self.sizes, **self.values})
        unknown = [x for x in self.definition.sizes if x not in self.sizes and x in names(own)]
        if not unknown:
            return same(here, other)
        found = linear_in(here, unknown[0])
        if len(unknown) > 1 or found is None or found[0] not in ({(): 1}, {(): -1}):
            return False
        rest = sub(other, found[1])
        solved = rest if found[0] == {(): 1} else neg(rest)
        if names(solved) - {*self.kernel.sizes}:
            return False
        self.sizes[unknown[0]] = solved
        return True

    def element(self, own: str, at: tuple[Expr, ...], other: str, there: tuple[Expr, ...]) -> bool:
        """Whether an element is that of the definition."""
        if own in self.hidden and other not in self.free:
            return False
        if self.arrays.setdefault(own, other) != other:
            return False
        if not at and there:
            fixed = all(names(x) <= {*self.kernel.sizes} for x in there)
            known = self.cells.setdefault(own, there)
            return fixed and all(same(a, b) for a, b in zip(known, there, strict=True))
        return len(at) == len(there) and all(self.number(a, b) for a, b in zip(at, there, strict=True))

    def value(self, own: Expr, other: Expr) -> bool:
        """Whether a value is that of the definition."""
        if type_of(own) == INDEX or type_of(other) == INDEX:
            return type_of(own) == type_of(other) and self.number(own, other)
        match own, other:
            case Var(name=name), _ if name in {x.name for x in self.definition.scalars}:
                fixed = {*self.kernel.sizes, *(x.name for x in self.kernel.scalars)}
                return not loads(other) and variables(other) <= fixed and self.scalars.setdefault(name, other) == other
            case Var(name=name), Var():
                return self.values.get(name) == other
            case Const(value=a), Const(value=b):
                return a == b
            case Load(), Load():
                return self.element(own.array, own.index, other.array, other.index)
            case Unary(op=a), Unary(op=b) if a == b:
                return self.value(own.operand, other.operand)
            case Binary(op=a), Binary(op=b) if a == b:
                return self.either(own, other)
            case Compare(op=a), Compare(op=b) if a == b:
                return self.value(own.left, other.left) and self.value(own.right, other.right)
            case Select(), Select():
                inner = zip((own.condition, own.then, own.otherwise), (other.condition, other.then, other.otherwise),
                            strict=True)  # fmt: skip
                return all(self.value(a, b) for a, b in inner)
            case Cast(type=a), Cast(type=b) if a in (b, F64):
                self.floats |= {b} if a == F64 else set()
                return self.value(own.operand, other.operand)
            case Call(function=a), Call(function=b) if a == b:
                return all(self.value(x, y) for x, y in zip(own.arguments, other.arguments, strict=True))
            case _:
                return False

    def either(self, own: Binary, other: Binary) -> bool:
        """Whether two operands are those of the definition, in either order where that does not matter."""
        known = [dict(x) for x in self.found()]
        if self.value(own.left, other.left) and self.value(own.right, other.right):
            return True
        for now, before in zip(self.found(), known, strict=True):
            now.clear()
            now.update(before)
        return own.op in _COMMUTE and self.value(own.left, other.right) and self.value(own.right, other.left)

    def found(self) -> tuple[dict[str, Any], ...]:
        """What comparing values changes."""
        return self.sizes, self.scalars, self.arrays, self.values, self.cells


def _tests(stmt: If) -> tuple[list[Expr], If]:
    """The conditions of tests within each other, and the innermost test."""
    found = list(chained(stmt.condition, "and"))
    inner = flatten(stmt.then.body)
    if stmt.otherwise.body or len(inner) != 1 or not isinstance(inner[0], If) or inner[0].otherwise.body:
        return found, stmt
    rest, last = _tests(inner[0])
    return found + rest, last


def _distance(condition: Expr) -> Expr | None:
    """What is at least 0 where a comparison of two places holds."""
    match condition:
        case Compare(op="lt" | "le" | "gt" | "ge" as op, left=left, right=right) if type_of(left) == INDEX:
            more, less = (right, left) if op in ("lt", "le") else (left, right)
            return sub(sub(more, less), index(int(op in ("lt", "gt"))))
        case _:
            return None
