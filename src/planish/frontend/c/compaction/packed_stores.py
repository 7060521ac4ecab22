"""Loops that pack elements, or spread them, as counted loops that set cells: whether an iteration keeps something, and
what.

Before: for (i = 0; i < n; i++) if (x[i] > 0) out[k++] = x[i];
After:  for (i = 0; i < n; i++) if (x[i] > 0) { value = x[i]; keeps = 1; }

Of `x[i] = in[k++]` the cell holds the element that is stored to, `value = x[i]`.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> loop = "while (n--) { if (*x > 9) out[k++] = *x; x++; }"
>>> tree = CParser().parse("void f(int n, int *x, int *out) { int k = 0; %s }" % loop)
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> loop, packs = with_cells(bound.function.body.block_items[1], bound)
>>> print(" ".join(CGenerator().visit(loop).split()))
while (n--) { if ((*x) > 9) { planish_value0 = *x; planish_keeps0 = 1; } x++; }
>>> [(x.counter.name, [y.address for y in x.stores]) for x in packs]
[('k', ['out + k'])]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_integer, is_pointer, settings, step_of, written
from planish.frontend.c.analysis.statement_runs import LOOPS
from planish.frontend.c.idioms.early_continue import without_continue
from planish.frontend.c.idioms.recast_views import element_of_root
from planish.frontend.c.types.constants import items_of, walk_tree
from planish.frontend.c.types.declarations import CPointer, CScalar
from planish.ir.types import I32

Loop: TypeAlias = c_ast.For | c_ast.While
KEEPS, VALUE = "planish_keeps", "planish_value"
_JUMPS = (c_ast.Break, c_ast.Return, c_ast.Goto, c_ast.Continue, c_ast.Label, c_ast.Switch)
_MEMORY = (c_ast.ArrayRef, c_ast.StructRef, c_ast.FuncCall)
_FEWEST_BITS = 32
"""Narrower counters may wrap around."""


@dataclass(frozen=True, slots=True)
class StoredCell:
    """The cell `value` that an iteration stores to the C address `address`, of elements of a type; `spread`: the cell
    is what is stored to, with what is at the address. `later`: the variables by way of which the iteration reads
    elements after that, "" for one that is not known."""

    address: str
    value: Symbol
    type: CScalar
    spread: bool = False
    later: set[str] = field(default_factory=set)


@dataclass(slots=True)
class CountedStores:
    """What an iteration stores where it sets the cell `keeps`, and then advances the `counter` by one: all of it in one
    `branch`, since what is stored where the counter stays would have to be stored as well."""

    counter: Symbol
    keeps: Symbol
    branch: int
    stores: list[StoredCell] = field(default_factory=list)


class _NoPacking(Exception):
    """The loop does something else with what it counts."""


def with_cells(loop: Loop, bound: BoundNames) -> tuple[Loop, tuple[CountedStores, ...]] | None:
    """The same loop with cells in the place of what it packs; None where it packs nothing, or does more than that with
    its counters."""
    body = without_continue(loop.stmt)
    if loop.cond is None or any(isinstance(x, (*LOOPS, *_JUMPS)) for x in walk_tree(body)):
        return None
    counters = [*_counters(loop, body, bound)]
    if not counters:
        return None
    rewriting = _Rewriting(loop, counters, bound)
    try:
        stmt = c_ast.Compound(rewriting.items(items_of(body), {}, 0), loop.stmt.coord)
    except _NoPacking:
        return None
    used = {bound.symbol(x) for part in (stmt, loop.cond, getattr(loop, "next", None)) for x in _names(part)}
    if used & {*counters} or not any(x.stores for x in rewriting.packs.values()):
        return None
    made = c_ast.For(loop.init, loop.cond, loop.next, stmt, loop.coord) if isinstance(loop, c_ast.For) else None
    whole: Loop = made if made is not None else c_ast.While(loop.cond, stmt, loop.coord)
    return bound.keep(whole), tuple(rewriting.packs.values())


def _base(node: c_ast.Node) -> str:
    """The variable by way of which an element is read; "" where it is another place."""
    match node:
        case c_ast.ArrayRef(name=inner) | c_ast.UnaryOp(op="*" | "++" | "--" | "p++" | "p--", expr=inner):
            return _base(inner)
        case c_ast.ID(name=name):
            return str(name)
        case _:
            return ""


def spreads(loop: Loop, bound: BoundNames) -> bool:
    """Whether a loop reads an element after the other, where it keeps something."""
    made = with_cells(loop, bound)
    return made is not None and any(x.spread for pack in made[1] for x in pack.stores)


def _names(node: c_ast.Node | None) -> Iterator[c_ast.ID]:
    return iter(()) if node is None else (x for x in walk_tree(node) if isinstance(x, c_ast.ID))


def _counters(loop: Loop, body: c_ast.Node, bound: BoundNames) -> Iterator[Symbol]:
    """Variables that an iteration may advance by one, under a condition, and that nothing else in the loop sets."""
    inside = [x for part in walk_tree(body) if isinstance(part, c_ast.If) for x in walk_tree(part)]
    stepped = {found[0]: None for x in inside if (found := step_of(x, bound)) is not None and found[1] == 1}
    parts = [x for x in (body, loop.cond, getattr(loop, "next", None)) if x is not None]
    for symbol in stepped:
        if symbol.lasting or sum(s is symbol for x in parts for s, _ in settings(x, bound)) != 1:
            continue
        if is_pointer(symbol) or (isinstance(symbol.ctype, CScalar) and symbol.ctype.type.bits >= _FEWEST_BITS):
            yield symbol


class _Rewriting:
    """What is made while stores give way to cells."""

    def __init__(self, loop: Loop, counters: list[Symbol], bound: BoundNames) -> None:
        self.bound, self.counters, self.loop = bound, counters, loop
        self.packs: dict[Symbol, CountedStores] = {}
        self.values = self.branches = 0
        self.is_spread = False

    def items(self, items: list[c_ast.Node], ahead: dict[Symbol, int], branch: int) -> list[c_ast.Node]:
        """Statements of an iteration; `ahead`: how far counters are advanced already; `branch`: the number of the one
        that they are in, 0 where they are run always."""
        out: list[c_ast.Node] = []
        for item in items:
            if self.is_spread and not self.is_read_before(item):
                raise _NoPacking
            self.note(item.cond if isinstance(item, c_ast.If) else item)
            match item:
                case c_ast.If(cond=cond, iftrue=then, iffalse=otherwise):
                    sides = [self.side(x, ahead) for x in (then, otherwise)]
                    out.append(c_ast.If(cond, sides[0], sides[1], item.coord))
                case c_ast.Compound(block_items=inner):
                    out.append(c_ast.Compound(self.items(inner or [], ahead, branch), item.coord))
                case c_ast.Assignment(op="=", lvalue=c_ast.ArrayRef() | c_ast.UnaryOp(op="*") as place, rvalue=value):
                    counted = self.counted(value) if branch else False
                    out += self.store(*((value, place) if counted else (place, value)), ahead, branch, counted)
                case _ if (found := step_of(item, self.bound)) is not None and found[0] in self.counters:
                    out += self.advance(found[0], ahead, branch)
                case _:
                    out.append(item)
        return out

    def side(self, node: c_ast.Node | None, ahead: dict[Symbol, int]) -> c_ast.Node | None:
        """One side of a condition, which is a branch of its own."""
        if node is None:
            return None
        self.branches += 1
        return c_ast.Compound(self.items(items_of(node), dict(ahead), self.branches))

    def advance(self, counter: Symbol, ahead: dict[Symbol, int], branch: int) -> list[c_ast.Node]:
        if not branch or ahead.get(counter):
            raise _NoPacking
        ahead[counter] = 1
        return [self.assign(self.pack(counter, branch).keeps, c_ast.Constant("int", "1"))]

    def is_read_before(self, item: c_ast.Node) -> bool:
        """Whether a statement behind one that spreads something reads nothing that this may have stored to: nothing at
        all, but for what it spreads itself."""
        read = sum(isinstance(x, _MEMORY) or (isinstance(x, c_ast.UnaryOp) and x.op == "*") for x in walk_tree(item))
        own = isinstance(item, c_ast.Assignment) and item.op == "=" and self.counted(item.rvalue)
        return read == 2 * own or isinstance(item, c_ast.Compound)

    def note(self, node: c_ast.Node) -> None:
        """Elements that are read, or stored to, behind stores."""
        if isinstance(node, c_ast.Compound):
            return
        names = {_base(x) for x in walk_tree(node) if isinstance(x, _MEMORY) or getattr(x, "op", "") == "*"}
        for pack in self.packs.values():
            for x in pack.stores:
                x.later.update(names)

    def counted(self, value: c_ast.Node) -> bool:
        """Whether a value is the element at a counter."""
        match value:
            case c_ast.ArrayRef(name=c_ast.ID(), subscript=at) | c_ast.UnaryOp(op="*", expr=at):
                step = at.op if isinstance(at, c_ast.UnaryOp) and at.op in ("++", "p++") else ""
                return self.bound.symbol(at.expr if step else at) in self.counters
            case _:
                return False

    def store(
        self, place: c_ast.Node, value: c_ast.Node, ahead: dict[Symbol, int], branch: int, spread: bool
    ) -> list[c_ast.Node]:
        """What stands for a store; several of one iteration go to places of their own, which is asked later. `spread`:
        it is stored to `value` what is at `place`."""
        match place:
            case c_ast.ArrayRef(name=c_ast.ID() as base, subscript=at):
                pass
            case c_ast.UnaryOp(expr=at):
                base = None
            case _:
                raise _NoPacking
        step = at.op if isinstance(at, c_ast.UnaryOp) and at.op in ("++", "p++") else ""
        counter = self.bound.symbol(at.expr if step else at)
        if counter is None or counter not in self.counters or not branch:
            raise _NoPacking
        offset = ahead.get(counter, 0) + (step == "++")
        target = counter if base is None else self.bound.symbol(base)
        element = None if target is None else self._element(target, base is not None)
        if element is None or target is None or (base is not None) != is_integer(counter):
            raise _NoPacking
        name = f"{VALUE}{self.values}"
        self.values += 1
        cell = Symbol(name, name, element, "local")
        address = " + ".join([*([base.name] if base is not None else []), counter.name, *(["1"] if offset else [])])
        self.pack(counter, branch).stores.append(StoredCell(address, cell, element, spread))
        self.is_spread |= spread
        made = [self.assign(cell, value)]
        return [*made, *self.advance(counter, ahead, branch)] if step else made

    def _element(self, target: Symbol, base: bool) -> CScalar | None:
        """The type of the elements behind a variable that stays as it is, or is the counter."""
        if isinstance(target.ctype, CPointer) and target.lasting:
            return None
        ctype = element_of_root(target)
        moved = base and any(target in written(x, self.bound) for x in (self.loop.stmt, self.loop.cond))
        known = isinstance(ctype, CScalar) and (ctype.type.is_int or ctype.type.kind == "float")
        return ctype if known and isinstance(ctype, CScalar) and not moved else None

    def pack(self, counter: Symbol, branch: int) -> CountedStores:
        name = f"{KEEPS}{len(self.packs)}"
        known = self.packs.get(counter)
        if known is None:
            known = CountedStores(counter, Symbol(name, name, CScalar(I32, "int", "int"), "local"), branch)
            self.packs[counter] = known
        if known.branch != branch:
            raise _NoPacking
        return known

    def assign(self, symbol: Symbol, value: c_ast.Node) -> c_ast.Node:
        return c_ast.Assignment("=", self.bound.mention(symbol, self.loop.coord), value, self.loop.coord)
