"""The state of a translation: what each C variable holds, symbolically, at the place that is being read.

>>> KnownInteger(index(3)).expr.value
3
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Protocol, TypeVar

from pycparser import c_ast

from planish.core.span import Span
from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_integer
from planish.frontend.c.analysis.trip_counts import ComputedSize
from planish.frontend.c.assumed.guarded_stores import GuardedStore
from planish.frontend.c.refusals import Cause
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CType, leaf_of
from planish.frontend.c.types.records import as_written
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.index.overflow import within_index
from planish.ir.index.polynomial import add, build, constant, linear_in, names, neg, normal, place, polynomial, sub
from planish.ir.nest import Alloc, Array, Assign, Reduce, Stmt
from planish.ir.traverse import map_expr, walk_expr
from planish.ir.types import INDEX, Type


class Refused(Exception):
    """The statements are not a static control part: `cause` and `message` go into a remark, `node` says where;
    `within`: the message names the call that leads there."""

    def __init__(self, cause: Cause, message: str, node: c_ast.Node | None = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.message = as_written(message)
        self.node = node
        self.within = False


class NotIndex(Exception):
    """The expression is not an index expression; `message` says why."""

    def __init__(self, message: str, node: c_ast.Node | None = None, cause: Cause = "scop-affine") -> None:
        super().__init__(message)
        self.cause = cause
        self.message = as_written(message)
        self.node = node
        self.within = False

    def refusal(self) -> Refused:
        """The same, where there is no other way to read the expression."""
        found = Refused(self.cause, self.message, self.node)
        found.within = self.within
        return found


class Again(Exception):
    """The translation must start again: `cell` is no symbolic integer but a value in memory, `flat` is an array that
    must be seen as one row of elements, or `fold` is a loop (its node) whose counter is to be divided by something."""

    def __init__(
        self, cell: Symbol | None = None, flat: Symbol | None = None, fold: tuple[int, Expr] | None = None
    ) -> None:
        super().__init__()
        self.cell = cell
        self.flat = flat
        self.fold = fold


@dataclass(frozen=True, slots=True)
class KnownInteger:
    """An integer variable that equals an index expression over iterators and the sizes on entry."""

    expr: Expr


@dataclass(frozen=True, slots=True)
class KnownNumber:
    """A parameter of an inlined function that equals an expression of its type."""

    expr: Expr


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the element `index` of what `symbol` points to (its first subscript counts from there).

    `target` is the type of the thing at that address: a scalar, or an array when subscripts are left to be given.
    """

    symbol: Symbol
    index: tuple[Expr, ...]
    target: CType


@dataclass(frozen=True, slots=True)
class LostValue:
    """A variable whose value cannot be given here, and why."""

    reason: str


Value = KnownInteger | KnownNumber | Address | LostValue
Read = TypeVar("Read")


class InlinedCall(Protocol):
    """How a call of a function of the file is translated: the body, then what `read` makes of what it returns."""

    def __call__(
        self, node: c_ast.FuncCall, cx: CTranslation, read: Callable[[c_ast.Node | None, CTranslation], Read]
    ) -> Read: ...


def _refuse_call(
    node: c_ast.FuncCall, cx: CTranslation, read: Callable[[c_ast.Node | None, CTranslation], Read]
) -> Read:
    raise NotIndex("the result of a call", node, "scop-data")


def _refuse_subscript(node: c_ast.Node, reason: NotIndex, cx: CTranslation) -> Expr:
    raise reason.refusal()


def _refuse_part(node: c_ast.FuncCall, cx: CTranslation) -> Expr | None:
    return None


def _refuse_choice(node: c_ast.TernaryOp, cx: CTranslation) -> Address:
    raise Refused("scop-pointer", "a choice between two addresses", node)


def _refuse_statement(node: c_ast.Node, cx: CTranslation) -> None:
    raise Refused("scop-statement", "a statement", node)


@dataclass(frozen=True, slots=True)
class Enclosing:
    """A loop around the place that is being read: `lower <= name < upper`.

    `node` identifies the user's loop, `stride` is by how many of its iterations this one's counter advances.
    """

    name: str
    lower: Expr
    upper: Expr
    node: int = 0
    stride: Expr = index(1)


@dataclass(slots=True)
class CTranslation:
    """The translation of consecutive statements: the variables' values, and what has been written so far.

    `searches`: between which values variables are that are computed from data, where these may stand in subscripts, and
    data may say whether loops are run; `choosers`: those that do; `live`: what may be read behind statements;
    `choosing`: integers may be choices between index expressions; `chosen`: one was made to be that; `ranges`: the
    least and the greatest value, made of sizes, that some choices may have; `certain`: what the condition on data
    around this place loads in every case;
    `guarded`: stores in every case, where the original stores under such a condition;
    `gathers`: what is read may be chosen by data: `data_subscript` reads such a subscript, `gathered` says
    of each why it is no index, and `loose` of each array with one that is not affine;
    `facts`: comparisons of integers that the function asserts, where the statements begin;
    `steady`: ids of nodes that read elements which no name changes, and `addresses` of those that may read addresses;
    `holds`: these may be read where the nest begins; `conditions`: how many conditions decide whether this place is
    reached, besides loops and `guards`, and `operands` how many of these are those of operands of an expression;
    `reached`: the addresses behind which something is read for certain, where the loops are `entered`, and `doubtful`:
    those behind which that may depend on conditions; `layouts`: conditions in C of where members lie; `before`: so many
    of the innermost loops need not be entered for this place;
    `lengthy`: there is a loop that only many iterations make faster; `in_rows`: how many is read from memory;
    `unrolled`: loops that are read an iteration at a time; `calls`: the calls that are being inlined, by the ids of
    their nodes and names; `whole`: the call that is a statement, or the whole of what is assigned; `advances`: what
    each iteration of the loop that was read last adds to variables.
    """

    bound: BoundNames
    fp: str
    written: frozenset[Symbol]
    span_of: Callable[[c_ast.Node], Span | None]
    cells: frozenset[Symbol] = frozenset()
    flat: frozenset[Symbol] = frozenset()
    folds: Mapping[int, tuple[Expr, ...]] = field(default_factory=dict)
    unrolled: frozenset[int] = frozenset()
    values: dict[Symbol, Value] = field(default_factory=dict)
    local: set[Symbol] = field(default_factory=set)
    used: dict[Symbol, None] = field(default_factory=dict)
    iterators: list[Enclosing] = field(default_factory=list)
    assumptions: list[Expr] = field(default_factory=list)
    out: list[Stmt] = field(default_factory=list)
    guards: list[Expr] = field(default_factory=list)
    inlined: dict[int, Expr] = field(default_factory=dict)
    inline: InlinedCall = _refuse_call
    execute: Callable[[c_ast.Node, CTranslation], None] = _refuse_statement
    facts: tuple[Expr, ...] = ()
    data_subscript: Callable[[c_ast.Node, NotIndex, CTranslation], Expr] = _refuse_subscript
    choose_address: Callable[[c_ast.TernaryOp, CTranslation], Address] = _refuse_choice
    complex_part: Callable[[c_ast.FuncCall, CTranslation], Expr | None] = _refuse_part
    gathers: bool = False
    gathered: dict[Expr, Refused] = field(default_factory=dict)
    loose: dict[str, Refused] = field(default_factory=dict)
    calls: list[tuple[int, str]] = field(default_factory=list)
    whole: c_ast.Node | None = None
    divisions: dict[tuple[str, Expr], set[str]] = field(default_factory=dict)
    outer: list[list[Stmt]] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    quotients: dict[str, ComputedSize] = field(default_factory=dict)
    searches: Mapping[Symbol, tuple[Expr, Expr]] | None = None
    choosers: set[Symbol] = field(default_factory=set)
    live: Mapping[int, frozenset[Symbol]] = field(default_factory=dict)
    choosing: bool = True
    ranges: dict[Expr, tuple[Expr, Expr]] = field(default_factory=dict)
    chosen: bool = False
    certain: tuple[Load, ...] = ()
    guarded: list[GuardedStore] = field(default_factory=list)
    steady: frozenset[int] = frozenset()
    addresses: frozenset[int] = frozenset()
    holds: bool = False
    lengthy: bool = False
    in_rows: bool = False
    dry: int = 0
    counter: int = 0
    conditions: int = 0
    before: int = 0
    operands: int = 0
    entered: list[Expr] = field(default_factory=list)
    layouts: dict[str, None] = field(default_factory=dict)
    reached: set[Symbol] = field(default_factory=set)
    doubtful: dict[Symbol, c_ast.Node] = field(default_factory=dict)
    advances: tuple[tuple[Symbol, Expr], ...] = ()

    @property
    def repeats(self) -> bool:
        """Whether this place is in a loop of the nest: what is in front of all loops may as well stay there."""
        return bool(self.iterators or self.dry)

    def emit(self, stmt: Stmt) -> None:
        """Append a statement."""
        self.out.append(stmt)

    @contextmanager
    def inside(self) -> Iterator[list[Stmt]]:
        """Collect statements apart (the body of a loop or branch)."""
        self.outer.append(self.out)
        self.out = []
        try:
            yield self.out
        finally:
            self.out = self.outer.pop()

    @contextmanager
    def conditional(self, operand: bool = False) -> Iterator[None]:
        """Read what may not be evaluated; `operand`: a part of an expression."""
        self.conditions += 1
        self.operands += operand
        try:
            yield
        finally:
            self.conditions -= 1
            self.operands -= operand

    @contextmanager
    def outside(self, loops: int) -> Iterator[None]:
        """Read what is evaluated before the innermost loops, so many, are entered."""
        outer, self.before = self.before, loops
        try:
            yield
        finally:
            self.before = outer

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Read an integer that bounds loops: one in memory is read where the nest begins, if nothing changes it."""
        outer, self.holds = self.holds, True
        try:
            yield
        finally:
            self.holds = outer

    def reach(self, pointer: Symbol, node: c_ast.Node) -> bool:
        """Whether what lies behind an address is read here for certain, so that it may be read where the nest begins:
        the loops around this place are then run at least once."""
        if self.dry or pointer in self.reached:
            return True
        first: dict[str, Expr] = {}
        asked: list[Expr] = []
        for it in self.iterators[: len(self.iterators) - self.before]:
            lower, upper = place(it.lower, first), place(it.upper, first)
            asked.append(sub(sub(upper, lower), index(1)))
            first[it.name] = lower
        unknown = any("@" in n for x in asked for n in names(x)) or any((constant(x) or 0) < 0 for x in asked)
        if self.guards or self.conditions or unknown:
            self.doubtful.setdefault(pointer, node)
            return False
        self.reached.add(pointer)
        self.entered += (Compare("ge", normal(x), index(0)) for x in asked if constant(x) is None)
        return True

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Read an element that data may choose."""
        outer, self.gathers = self.gathers, True
        try:
            yield
        finally:
            self.gathers = outer

    def is_covered(self, array: str, subscripts: tuple[Expr, ...]) -> bool:
        """Whether an element was stored without a condition before, on every way to this place."""
        if any(x.stmt.array == array and x.unread for x in self.guarded):
            return False
        known = (x for stmts in (*self.outer, self.out) for x in stmts if isinstance(x, (Assign, Reduce)))
        places = [x for x in known if (x.array, x.index) == (array, subscripts)]
        return any(all(x.stmt is not y for x in self.guarded) for y in places)

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Run something for what it tells: nothing of it stays in the state, except which symbols were used."""
        values, out, assumptions = dict(self.values), self.out, list(self.assumptions)
        iterators, local, guards, outer = list(self.iterators), set(self.local), list(self.guards), list(self.outer)
        self.outer, self.out = [*self.outer, self.out], []  # what stands before is still before
        guarded, self.guarded = self.guarded, [*self.guarded]
        self.dry += 1
        try:
            yield
        finally:
            self.dry -= 1
            self.outer = outer
            self.values, self.out, self.assumptions, self.guarded = values, out, assumptions, guarded
            self.iterators, self.local, self.guards = iterators, local, guards

    def remember(self) -> Callable[[], None]:
        """What undoes all that is read from now on, steps such as `p++` as well, for what is read once more."""
        values, assumptions, written = dict(self.values), list(self.assumptions), len(self.out)
        return lambda: self._return_to(dict(values), list(assumptions), written)

    def _return_to(self, values: dict[Symbol, Value], assumptions: list[Expr], written: int) -> None:
        self.values, self.assumptions = values, assumptions
        del self.out[written:]

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Run something of which nothing stays in the state where it is refused."""
        known = [(x.name, getattr(self, x.name)) for x in fields(self)]
        held = [(x, copy(x)) for _, x in known if isinstance(x, list | dict | set)]
        try:
            yield
        except Refused:
            for now, then in held:
                now.clear()
                if isinstance(now, list):
                    now.extend(then)
                else:
                    now.update(then)
            for name, value in known:
                setattr(self, name, value)
            raise

    def fresh(self, stem: str) -> str:
        """A name that no C variable has."""
        taken = {s.key for s in self.bound.symbols} | set(self.bound.file.symbols) | {s.key for s in self.used}
        taken |= {it.name for it in self.iterators} | self.named | self.quotients.keys()
        name, n = stem, 1
        while name in taken:
            name, n = f"{stem}_{n + 1}", n + 1
        if not self.dry:
            self.named.add(name)
        return name

    def name_quotient(self, stem: str, quotient: ComputedSize) -> str:
        """The size that is a quotient or a distance: the one that is it already, or a new one."""
        known = next((name for name, x in self.quotients.items() if x == quotient), None)
        if known is None:
            known = self.fresh(stem)
            self.quotients[known] = quotient
        return known

    def is_cell(self, symbol: Symbol) -> bool:
        """Whether a scalar variable lives in memory (an array of rank 0) rather than in the symbolic state."""
        if not isinstance(symbol.ctype, CScalar):
            return False
        if symbol in self.cells:
            return True
        return symbol in self.written and (not is_integer(symbol) or symbol.address_taken)

    def value(self, symbol: Symbol) -> Value:
        """What an integer or pointer variable holds here."""
        if symbol not in self.values:
            self.values[symbol] = self._on_entry(symbol)
        return self.values[symbol]

    def _on_entry(self, symbol: Symbol) -> Value:
        match symbol.ctype:
            case CPointer(target=target):
                return Address(symbol, (index(0),), target)
            case CArray(element=element):
                return Address(symbol, (index(0),), element)
            case _:
                if symbol in self.local:
                    return LostValue(f"{symbol.name} has no value yet")
                self.used.setdefault(symbol)
                return KnownInteger(Var(symbol.key, INDEX))

    def assume(self, expr: Expr) -> bool:
        """Take `expr >= 0` as granted, to be checked on entry; False where it is not over sizes alone."""
        if names(expr) & {it.name for it in self.iterators} or any("@" in n for n in names(expr)):
            return False
        written = within_index(expr)
        if not isinstance(written, Expr):
            return written
        condition = Compare("ge", normal(written), index(0))
        if condition not in self.assumptions:
            self.assumptions.append(condition)
        return True

    def lowest(self, expr: Expr) -> Expr | None:
        """A lower bound of an expression over all iterations, as an expression of sizes; None: not known."""
        bounded = self._bounded(expr)
        if bounded is None:
            return None
        expr, chosen = bounded
        for it in (*chosen, *reversed(self.iterators)):
            if it.name not in names(expr):
                continue
            parts = linear_in(expr, it.name)
            if parts is None:
                return None
            factors = parts[0]
            rises = min(factors.values()) > 0
            if rises != (max(factors.values()) > 0):
                # Such as m - 2: the sum as a whole is taken not to be negative.
                rises, granted = True, self.assume(build(factors))
            else:
                granted = all(self.assume(atom) for monomial in factors for atom in monomial)
            if not granted:
                return None
            expr = place(expr, {it.name: it.lower if rises else sub(it.upper, index(1))})
        return None if any("@" in n for n in names(expr)) else expr

    def _bounded(self, expr: Expr) -> tuple[Expr, list[Enclosing]] | None:
        """An expression with names in the place of the choices in it, as if loops went over their values; None where
        those of one are not known."""
        chosen: dict[Expr, Enclosing] = {}
        for atom in dict.fromkeys(x for monomial in polynomial(expr) for x in monomial if isinstance(x, Select)):
            if atom not in self.ranges:
                return None
            low, high = self.ranges[atom]
            chosen[atom] = Enclosing(f"choice@{len(chosen)}", low, add(high, index(1)))
        if not chosen:
            return expr, []
        named = {m: tuple(Var(chosen[x].name, INDEX) if x in chosen else x for x in m) for m in polynomial(expr)}
        return build({named[m]: c for m, c in polynomial(expr).items()}), list(chosen.values())

    def highest(self, expr: Expr) -> Expr | None:
        """An upper bound over all iterations, as an expression of sizes; None: not known."""
        if self.dry and any("@" in n for n in names(expr)):
            return index(0)
        low = self.lowest(neg(expr))
        return None if low is None else neg(low)

    def never_negative(self, expr: Expr) -> bool:
        """Whether `expr >= 0` wherever it is evaluated, granted what can be checked on entry."""
        if self.dry and any("@" in n for n in names(expr)):
            return True
        low = self.lowest(expr)
        return low is not None and self.assume(low)

    def settle(self, expr: Expr) -> Expr:
        """Replace `max(trip count, 0)` by the trip count where sizes that make it negative can be sent elsewhere."""

        def settled(x: Expr) -> Expr:
            match x:
                case Binary(op="max", left=a, right=Const(value=0)) if self.assume(a):
                    return a
            return x

        if not any(isinstance(x, Binary) and x.op == "max" for x in walk_expr(expr)):
            return expr
        return normal(map_expr(settled, expr))

    def element(self, symbol: Symbol) -> Type:
        """The scalar type of the elements behind a symbol. Raises Refused where it is not a number."""
        leaf = leaf_of(symbol.ctype)
        if leaf is None:
            raise Refused("scop-type", f"{symbol.name} has a type that Planish does not handle")
        return leaf

    def store(self, array: str, subscripts: tuple[Expr, ...], value: Expr, node: c_ast.Node) -> None:
        """Emit a plain assignment."""
        self.emit(Assign(array, subscripts, value, self.span_of(node)))

    def temporary(self, stem: str, type: Type, value: Expr, node: c_ast.Node) -> str:
        """Keep a value in a fresh local cell; gives its name."""
        name = self.fresh(stem)
        self.emit(Alloc(Array(name, type, (), True, "register"), self.span_of(node)))
        self.store(name, (), value, node)
        return name
