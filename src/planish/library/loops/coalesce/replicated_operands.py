"""What recurs in every row, taken once and replicated, so that a flat loop reads it a vector at a time.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.library.loops.coalesce.flat_loops import find_flat_loops
>>> text = '''kernel k(n; A: i8[?], b: i8[?]) {
...   for i in 0 .. n { for c in 0 .. 8 { A[8 * i + c] += i8(i32(b[c])) } } }'''
>>> kernel = parse_kernel(text)
>>> (found,) = find_flat_loops(kernel)
>>> made = replicate(found, {x.name: x for x in kernel.arrays})
>>> made.element, made.place
('i_element', 'c_each')
>>> for x in made.body: print(print_stmt(x))
let A_1 = A[i_element]
let A_2 = A_1 + b_each[c_each]
A[i_element] = A_2
>>> [(x.array, str(x.type)) for x in made.operands]
[('b_each', 'i8')]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Var, type_of
from planish.ir.index.polynomial import build, polynomial, same, sub
from planish.ir.nest import Array, Assign, Let
from planish.ir.traverse import children, loads, may_fail, substitute, variables, with_children
from planish.ir.types import BOOL, INDEX, Type
from planish.library.loops.coalesce.flat_loops import FlatLoop


class NotFlat(Exception):
    """A loop that is not one over elements side by side; the message says what of it."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedOperand:
    """An array of copies of what an expression is in the columns of a row."""

    array: str
    value: Expr
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Replication:
    """An iteration of a flat loop: what it assigns, in terms of the `element` and of its `place` in the operands."""

    element: str
    place: str
    body: tuple[Let | Assign, ...]
    operands: tuple[ReplicatedOperand, ...]
    taken: frozenset[str]


def replicate(loop: FlatLoop, arrays: Mapping[str, Array]) -> Replication:
    """The iteration of a loop as one of a flat loop; NotFlat where it touches other elements than its own."""
    taken = set(loop.taken)
    element, place = take_name(f"{loop.row or loop.element}_element", taken), take_name(f"{loop.column}_each", taken)
    least = min(arrays[x].type.bits for x in loop.written)
    rewriting = _Rewriting(loop, arrays, least, element, place, taken)
    body = tuple(made for x in loop.body if (made := rewriting.statement(x)) is not None)
    _check_apart(body, element)
    return Replication(element, place, body, tuple(rewriting.operands.values()), frozenset(taken))


def _check_apart(body: tuple[Let | Assign, ...], element: str) -> None:
    """That each iteration has cells of its own of what is written, and reads no others."""
    cells = {x.array: x.index for x in body if isinstance(x, Assign)}
    moving = {element}
    for x in body:
        if isinstance(x, Let) and variables(x.value) & moving:
            moving.add(x.var)
    for x in body:
        if isinstance(x, Assign) and x.index != cells[x.array]:
            raise NotFlat(f"several elements of `{x.array}` are written")
        if any(y.index != cells[y.array] for y in loads(x.value) if y.array in cells):
            raise NotFlat(f"another element of `{x.array if isinstance(x, Assign) else x.var}` is read")
    for name, place in cells.items():
        if not place or variables(place[-1]) & moving != {element}:
            raise NotFlat(f"`{name}` is written in another order")
        if any(variables(x) & moving for x in place[:-1]):
            raise NotFlat(f"`{name}` is written in another order")


@dataclass(slots=True)
class _Rewriting:
    """Rewrites the statements of an iteration. `least`: the bits of the narrowest elements that it stores."""

    loop: FlatLoop
    arrays: Mapping[str, Array]
    least: int
    element: str
    place: str
    taken: set[str]
    operands: dict[Expr, ReplicatedOperand] = field(default_factory=dict)
    recurring: dict[str, Expr] = field(default_factory=dict)
    moving: set[str] = field(default_factory=set)

    def statement(self, x: Let | Assign) -> Let | Assign | None:
        """A statement of the flat loop; None for a name of what recurs."""
        value = substitute(x.value, self.recurring)
        if isinstance(x, Let):
            if self.recurs(value):
                self.recurring[x.var] = self.rewritten(value, False)
                return None
            if self.moves(value):
                self.moving.add(x.var)
            return Let(x.var, self.rewritten(value, False))
        return Assign(x.array, self.cell(x.array, x.index), self.rewritten(value, False))

    def moves(self, x: Expr) -> bool:
        """Whether an expression differs between iterations."""
        own = {self.loop.row, self.loop.element, self.loop.column}
        return bool(variables(x) & (own | self.moving))

    def recurs(self, x: Expr) -> bool:
        """Whether an expression is the same in every row, but not in every column."""
        others = {self.loop.row, self.loop.element, self.place} | self.moving
        names = variables(x)
        if self.loop.column not in names or names & others:
            return False
        return not any(y.array in self.loop.written for y in loads(x))

    def rewritten(self, x: Expr, maybe: bool) -> Expr:
        """An expression of the flat loop. `maybe`: it may be that the loop never comes to it."""
        if not self.moves(x):
            return x
        if self.recurs(x):
            return self.replicated(x, maybe)
        match x:
            case Load(array=name, index=place, type=kind):
                return Load(name, self.cell(name, place), kind)
            case Select(condition=condition, then=then, otherwise=otherwise):
                chosen = (self.rewritten(condition, maybe), self.rewritten(then, True), self.rewritten(otherwise, True))
                return with_children(x, chosen)
            case Binary(op="and" | "or", left=left, right=right) if type_of(x) == BOOL:
                return with_children(x, (self.rewritten(left, maybe), self.rewritten(right, True)))
            case Var(name=name):
                if name in self.moving:
                    return x
                if name == self.loop.element:
                    return Var(self.element, INDEX)
                raise NotFlat(f"the number of a row, `{name}`, is used")
            case _:
                return with_children(x, tuple(self.rewritten(y, maybe) for y in children(x)))

    def cell(self, name: str, place: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The subscripts of an element: all but the last one are the same for all, and that one counts them."""
        place = tuple(substitute(x, self.recurring) for x in place)
        if any(loads(x) or variables(x) & self.moving for x in place):
            raise NotFlat(f"the subscript of `{name}` is data")
        if not any(self.moves(x) for x in place):
            return place
        if any(self.moves(x) for x in place[:-1]):
            raise NotFlat(f"`{name}` lies in other rows")
        rest = build(polynomial(sub(place[-1], self.loop.place)))
        if self.moves(rest):
            raise NotFlat(f"`{name}` lies in other rows")
        return (*place[:-1], build(polynomial(Binary("add", Var(self.element, INDEX), rest))))

    def replicated(self, x: Expr, maybe: bool) -> Expr:
        """What recurs, read of an array of copies: the whole of it where it is no wider than what is stored, so that no
        vector is wider for it, or else its parts."""
        if type_of(x) == BOOL:
            mask = Type("uint", self.least)
            asked = Select(x, Const(1, mask), Const(0, mask))
            return Compare("ne", self.operand(asked, maybe), Const(0, mask))
        if isinstance(x, Load) or (type_of(x).bits <= self.least and not _widens(x)):
            return self.operand(x, maybe)
        kept = dict(self.operands), set(self.taken)
        try:
            parts = tuple(y if not self.moves(y) else self.part(y, maybe or isinstance(x, Select)) for y in children(x))
            return with_children(x, parts)
        except NotFlat:
            self.operands, self.taken = kept
            return self.operand(x, maybe)

    def part(self, x: Expr, maybe: bool) -> Expr:
        """A part of what recurs."""
        if isinstance(x, Var):
            raise NotFlat(f"the number of a column, `{x.name}`, is used")
        return self.replicated(x, maybe)

    def operand(self, x: Expr, maybe: bool) -> Expr:
        """The element of the copies of an expression."""
        if maybe and (may_fail(x) or not all(self.is_there(y) for y in loads(x))):
            raise NotFlat("what recurs is not read in each iteration")
        if x not in self.operands:
            names = [y.array for y in loads(x)]
            name = take_name(f"{names[0] if names else self.loop.column}_each", self.taken)
            self.operands[x] = ReplicatedOperand(name, x, type_of(x))
        return Load(self.operands[x].array, (Var(self.place, INDEX),), type_of(x))

    def is_there(self, x: Load) -> bool:
        """Whether all columns have an element in an array, so that it may be read where the program does not."""
        shape = self.arrays[x.array].shape
        return len(shape) == 1 and shape[0] is not None and x.index == (Var(self.loop.column, INDEX),) and same(
            shape[0], self.loop.period
        )  # fmt: skip


def _widens(x: Expr) -> bool:
    """Whether an expression is a narrower one made wider."""
    return isinstance(x, Cast) and type_of(x.operand).bits < x.type.bits and not isinstance(x.operand, Var)
