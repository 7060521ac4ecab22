"""What is read and stored under conditions on data: stores of chosen values, and what they store where.

A choice evaluates one of its two values, as in C. `a[i] = c ? x : a[i]` is what is made of `if (c) a[i] = x;`.

>>> from planish.ir.expr import Const
>>> from planish.ir.types import BOOL, U8
>>> own, c, d = Load("a", (), U8), Var("c", BOOL), Var("d", BOOL)
>>> one = Const(1, U8)
>>> found = conditional_store(Select(c, one, own), own)
>>> found.guard == c, found.value == one
(True, True)
>>> found = conditional_store(Select(d, one, Select(c, Binary("sub", own, one), own)), own)
>>> found.guard == Binary("or", d, c), type(found.value).__name__
(True, 'Select')
>>> found = conditional_store(Binary("add", own, Select(c, one, Const(0, U8))), own)
>>> found.guard == c, found.value == Binary("add", own, one)
(True, True)
>>> [x.array for x in read_always(Select(c, own, Const(0, U8)))], [x.array for x in read_always(Select(c, own, own))]
([], ['a'])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Literal

from planish.ir.expr import OPPOSITE, Binary, BinaryOp, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.nest import Assign, Block, For, If, Reduce, Stmt
from planish.ir.traverse import children, expressions, loads, map_expr, walk_expr, with_children
from planish.ir.types import BOOL, INDEX

_MOST_STEPS = 4_000
TRUE = Const(True, BOOL)


class TooMany(Exception):
    """More ways to a read than are looked at."""


@dataclass(frozen=True, slots=True)
class ConditionalStore:
    """A value that is stored where a condition holds; nothing is stored elsewhere."""

    guard: Expr
    value: Expr


def opposite(condition: Expr) -> Expr:
    """The condition that holds where another one does not; comparisons of floats stay, for the sake of NaN."""
    match condition:
        case Unary(op="not", operand=inner):
            return inner
        case Compare(op=op, left=left, right=right) if not type_of(left).is_float:
            return Compare(OPPOSITE[op], left, right)
        case Const(value=value):
            return Const(not value, BOOL)
        case _:
            return Unary("not", condition)


def both(a: Expr, b: Expr) -> Expr:
    """Both conditions, the second one evaluated where the first one holds."""
    if a == TRUE:
        return b
    return a if b == TRUE else Binary("and", a, b)


def conditional_store(value: Expr, own: Load, names: Mapping[str, Expr] | None = None) -> ConditionalStore | None:
    """What is stored to an element, and where, when its own value is what is chosen elsewhere; None where it is stored
    in any case, or in none. `names`: values of variables."""
    guard, stored = _chosen(value, own, names or {})
    return None if guard == TRUE or stored is None else ConditionalStore(guard, stored)


def _either(a: Expr, b: Expr) -> Expr:
    return Binary("or", a, b)


_FALSE = Const(False, BOOL)


def _chosen(x: Expr, own: Load, names: Mapping[str, Expr]) -> tuple[Expr, Expr | None]:
    """The condition under which another value than the own one is chosen, and this."""
    match x:
        case Load() if x == own:
            return _FALSE, None
        case Var(name=name) if name in names and _may_be(names[name], own, names):
            return _chosen(names[name], own, names)
        case Select(condition=test, then=then, otherwise=otherwise):
            (a, first), (b, second) = _chosen(then, own, names), _chosen(otherwise, own, names)
            if first is None or second is None:
                if first is None and second is None:
                    return _FALSE, None
                return (both(test, a), first) if second is None else (both(opposite(test), b), second)
            value = Select(test, first, second)
            if a == TRUE and b == TRUE:
                return TRUE, x
            if a == TRUE:
                return Binary("or", test, b), value
            if b == TRUE:
                return Binary("or", opposite(test), a), value
            return Binary("or", both(test, a), both(opposite(test), b)), value
        case Binary(op="min" | "max" as op, left=left, right=right) if own in (left, right) and own.type.is_int:
            other = right if left == own else left
            return Compare("lt" if op == "min" else "gt", other, own), other
        case Binary(op="add" | "sub" as op, left=left, right=Select() as added) if _is_own(left, own, names):
            return _changed(op, left, added)
        case _:
            return TRUE, x


def _is_own(x: Expr, own: Load, names: Mapping[str, Expr]) -> bool:
    """Whether an integer is the own value."""
    while isinstance(x, Var) and x.name in names:
        x = names[x.name]
    return x == own and own.type.is_int


def _changed(op: BinaryOp, own: Expr, added: Select) -> tuple[Expr, Expr]:
    """The condition under which something is added to the own value, and the sum."""
    nothing = Const(0, type_of(own))
    if added.otherwise == nothing:
        return added.condition, Binary(op, own, added.then)
    if added.then == nothing:
        return opposite(added.condition), Binary(op, own, added.otherwise)
    return TRUE, Binary(op, own, added)


def _may_be(x: Expr, own: Load, names: Mapping[str, Expr]) -> bool:
    """Whether the own value may be what is chosen."""
    match x:
        case Select(then=then, otherwise=otherwise):
            return _may_be(then, own, names) or _may_be(otherwise, own, names)
        case Var(name=name) if name in names:
            return _may_be(names[name], own, names)
        case Binary(op="min" | "max", left=left, right=right):
            return own in (left, right) and own.type.is_int
        case Binary(op="add" | "sub", left=left, right=Select()):
            return _is_own(left, own, names)
        case _:
            return x == own


def read_always(x: Expr) -> Iterator[Load]:
    """What is read whenever an expression is evaluated."""
    match x:
        case Select(condition=condition, then=then, otherwise=otherwise):
            yield from read_always(condition)
            either = set(read_always(otherwise))
            yield from (y for y in read_always(then) if y in either)
        case Binary(op="and" | "or", left=left) if type_of(x) == BOOL:
            yield from read_always(left)
        case _:
            if isinstance(x, Load):
                yield x
            for y in children(x):
                yield from read_always(y)


def read_in_any_case(stmts: Sequence[Stmt]) -> Iterator[Load]:
    """What statements read under no condition on data. What is stored to the element that it is read of, if anything,
    is not read."""
    for x in stmts:
        match x:
            case Assign(array=array, index=place, value=value):
                found = conditional_store(value, Load(array, place, type_of(value)))
                yield from read_always(value if found is None else found.guard)
                yield from (y for z in place for y in read_always(z))
            case If(condition=condition, then=then, otherwise=otherwise):
                yield from read_always(condition)
                if not _is_on_data(condition):
                    yield from read_in_any_case((*then.body, *otherwise.body))
            case Block(body=body) | For(body=Block(body=body)):
                yield from (y for e in expressions(x) for y in read_always(e))
                yield from read_in_any_case(body)
            case Reduce():
                yield Load(x.array, x.index, type_of(x.value))
                yield from (y for e in expressions(x) for y in read_always(e))
            case _:
                yield from (y for e in expressions(x) for y in read_always(e))


def _is_on_data(condition: Expr) -> bool:
    return any(isinstance(x, Load) or (isinstance(x, Var) and x.type != INDEX) for x in walk_expr(condition))


@dataclass(slots=True)
class ReadConditions:
    """Under which conditions elements are read. `names`: values of variables, each evaluated where it is used.

    What is read under a condition on what is read itself is read wherever that is evaluated: of such conditions the
    part that does not read it stays."""

    names: Mapping[str, Expr]
    found: dict[Load, list[Expr]] = field(default_factory=dict)
    followed: set[tuple[str, Expr]] = field(default_factory=set)
    _reached: dict[str, frozenset[Load]] = field(default_factory=dict)
    steps: int = 0

    def store(self, value: Expr, own: Load, path: Expr = TRUE) -> None:
        """A value that is stored where it is not the element's own one."""
        match value:
            case Load() if value == own:
                pass
            case Var(name=name) if name in self.names and _may_be(self.names[name], own, self.names):
                self.store(self.names[name], own, path)
            case Select(condition=test, then=then, otherwise=otherwise):
                self.read(test, path)
                self.store(then, own, both(path, test))
                self.store(otherwise, own, both(path, opposite(test)))
            case _:
                self.read(value, path)

    def read(self, x: Expr, path: Expr = TRUE) -> None:
        """An expression that is evaluated where a condition holds; raises TooMany."""
        if path != TRUE:
            if all(TRUE in self.found.get(y, ()) for y in self.cells(x)):
                return  # all of it is read in any case
            self._step()
        match x:
            case Var(name=name) if name in self.names:
                # A name that is used often stands for one value: where it was read before, it is read already.
                if (name, path) not in self.followed:
                    self.followed.add((name, path))
                    self.read(self.names[name], path)
            case Select(condition=test, then=then, otherwise=otherwise):
                for read in read_always(x):
                    self.record(read, path)
                self.read(test, path)
                self.read(then, both(path, test))
                self.read(otherwise, both(path, opposite(test)))
            case Binary(op="and" | "or" as op, left=left, right=right) if type_of(x) == BOOL:
                self.read(left, path)
                self.read(right, both(path, left if op == "and" else opposite(left)))
            case _:
                if isinstance(x, Load):
                    self.record(x, path)
                for y in children(x):
                    self.read(y, path)

    def record(self, cell: Load, path: Expr) -> None:
        """That an element is read where a condition holds."""
        known = self.found.setdefault(cell, [])
        if TRUE in known:
            return
        condition = self.weakened(path, cell, True)
        if condition not in known:
            known.append(condition)

    def cells(self, x: Expr) -> Iterator[Load]:
        """What an expression may read, itself or by names."""
        for y in walk_expr(x):
            if isinstance(y, Load):
                yield y
            elif isinstance(y, Var) and y.name in self.names:
                if y.name not in self._reached:
                    self._reached[y.name] = frozenset(self.cells(self.names[y.name]))
                yield from self._reached[y.name]

    def conditions(self) -> dict[Load, Expr]:
        """The condition of each element that is not read always."""
        made = {}
        for cell, paths in self.found.items():
            known: list[Expr] = []
            for x in sorted((self._parts(y) for y in paths), key=len):
                # In `a or a and b` there is no second part, and in `a or not a and b` it is b.
                if any(y in known for y in x):
                    continue
                left = [y for y in x if opposite(y) not in known]
                known.append(reduce(both, left) if left else TRUE)
            if TRUE not in known:
                made[cell] = reduce(_either, dict.fromkeys(known))
        return made

    def _parts(self, x: Expr) -> list[Expr]:
        """What has to hold for a condition to hold, each once."""
        match x:
            case Var(name=name) if name in self.names:
                return self._parts(self.names[name])
            case Binary(op="and", left=left, right=right) if type_of(x) == BOOL:
                return list(dict.fromkeys((*self._parts(left), *self._parts(right))))
            case Unary(op="not", operand=Var(name=name)) if name in self.names:
                return self._parts(opposite(self.names[name]))
            case _:
                return [] if x == TRUE else [x]

    def weakened(self, x: Expr, cell: Load, positive: bool) -> Expr:
        """A condition without what reads an element: what is evaluated with it is true where it is asked whether the
        condition holds, else false."""
        self._step()
        if not self._reads(x, cell):
            return _folded(x)
        match x:
            case Var(name=name):
                return self.weakened(self.names[name], cell, positive)
            case Unary(op="not", operand=inner):
                return opposite(self.weakened(inner, cell, not positive))
            case Binary(op="and" | "or" as op, left=left, right=right) if type_of(x) == BOOL:
                a, b = self.weakened(left, cell, positive), self.weakened(right, cell, positive)
                return _joined(op, a, b)
            case _:
                return self._without(self._expanded(x, cell), cell, positive)

    def _without(self, x: Expr, cell: Load, positive: bool) -> Expr:
        """The same of what is neither of several conditions nor the opposite of one: where the element is a part of a
        choice, each side of that."""
        if cell in read_always(x):
            return TRUE if positive else _FALSE
        choice = next((y for y in walk_expr(x) if isinstance(y, Select) and cell in loads(y)), None)
        if choice is None:
            raise TooMany
        sides = []
        for test, side in ((choice.condition, choice.then), (opposite(choice.condition), choice.otherwise)):
            taken = map_expr(partial(_replaced, choice, side), x)
            # Where the test reads the element, a side is taken or the element is read already.
            chosen = self.weakened(test, cell, positive)
            sides.append(_joined("and", chosen, self.weakened(taken, cell, positive)))
        return _joined("or", *sides)

    def _expanded(self, x: Expr, cell: Load) -> Expr:
        """An expression with the values of variables of which the element is a part."""
        self._step()
        if isinstance(x, Var) and x.name in self.names and self._reads(x, cell):
            return self._expanded(self.names[x.name], cell)
        return with_children(x, tuple(self._expanded(y, cell) for y in children(x)))

    def _reads(self, x: Expr, cell: Load) -> bool:
        if isinstance(x, Var) and x.name in self.names:
            return self._reads(self.names[x.name], cell)
        return x == cell or any(self._reads(y, cell) for y in children(x))

    def _step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise TooMany


def _replaced(old: Expr, new: Expr, x: Expr) -> Expr:
    return new if x == old else x


def _joined(op: Literal["and", "or"], a: Expr, b: Expr) -> Expr:
    neutral, final = (TRUE, _FALSE) if op == "and" else (_FALSE, TRUE)
    if final in (a, b):
        return final
    if neutral in (a, b):
        return b if a == neutral else a
    return a if a == b else Binary(op, a, b)


def _folded(x: Expr) -> Expr:
    match x:
        case Compare(op=op, left=Const(value=a), right=Const(value=b)):
            holds = {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b}[op]
            return TRUE if holds else _FALSE
        case _:
            return x
