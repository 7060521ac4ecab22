"""One iteration as straight-line code: inner loops unrolled, names and cells of its own replaced by their values.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = '''kernel k(n; A: u8[n], B: u8[n]) { alloc m: u8[max(n, 0)] distinct for i in 0 .. n {
...   m[i] = A[i] for j in 1 .. 3 { m[i] = max(m[i], A[i + j]) } B[i] = m[i] } }'''
>>> loop = parse_kernel(text).body.body[1]
>>> [print_stmt(x) for x in straight_line(loop.body, {"m"}, {"m"})]
['let m_1 = A[i]', 'let m_2 = max(m_1, A[i + 1])', 'let m_3 = max(m_2, A[i + 2])', 'B[i] = m_3']
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from planish.ir.expr import Binary, Const, Expr, Load, Select, Var, index, type_of
from planish.ir.index.polynomial import build, constant, polynomial, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, Let, Reduce, Stmt
from planish.ir.traverse import children, expressions, variables, walk, with_children
from planish.ir.types import BOOL, INDEX

MOST_STATEMENTS = 160
"""So many statements an iteration may have when it is written out."""

_Cell = tuple[str, tuple[Expr, ...]]


class NotStraight(Exception):
    """An iteration that is not written out; the message says what of it."""


def straight_line(
    body: Block, own: Container[str], taken: Collection[str], tables: Mapping[str, Array] | None = None
) -> tuple[Let | Assign, ...]:
    """The values of an iteration, each with a name, and its assignments, the last one of each cell. `own`: the arrays
    whose cells nothing else reads; `taken`: names that are none of the new ones; `tables`: arrays whose values are
    known. What is read of arrays that are assigned to has a name, so that all may be read before anything is stored.

    NotStraight where a loop in it has no constant bounds, where it decides what it assigns, or where it is not known
    which of its own cells is read."""
    written = frozenset(x.array for y in body.body for x in walk(y) if isinstance(x, Assign | Reduce))
    found = _Iteration(own, set(taken), tables or {}, written)
    found.run(body, {})
    stores = [Assign(name, place, value) for (name, place), value in found.outputs.items()]
    used = {name for x in stores for e in expressions(x) for name in variables(e)}
    names: list[Let] = []
    for x in reversed(found.names):
        if x.var in used:
            used |= variables(x.value)
            names.append(x)
    return (*reversed(names), *stores)


@dataclass(slots=True)
class _Iteration:
    own: Container[str]
    taken: set[str]
    tables: Mapping[str, Array]
    written: frozenset[str]
    names: list[Let] = field(default_factory=list)
    cells: dict[_Cell, Expr] = field(default_factory=dict)
    outputs: dict[_Cell, Expr] = field(default_factory=dict)
    read: dict[_Cell, Expr] = field(default_factory=dict)
    statements: int = 0

    def run(self, block: Block, values: Mapping[str, Expr]) -> None:
        known = dict(values)
        for x in block.body:
            self.statements += 1
            if self.statements > MOST_STATEMENTS:
                raise NotStraight("an iteration has too many statements")
            self.step(x, known)

    def step(self, x: Stmt, known: dict[str, Expr]) -> None:
        match x:
            case Let(var=name, value=value):
                known[name] = self.named(name, self.value(value, known), True)
            case Assign(array=name, index=place, value=value):
                self.store(name, place, self.value(value, known), known)
            case Reduce(array=name, index=place, op=op, value=value):
                before = self.value(Load(name, place, type_of(value)), known)
                self.store(name, place, Binary(op, before, self.value(value, known)), known)
            case For(var=name, lower=lower, upper=upper, step=step):
                first, last = (constant(simplify(self.value(y, known))) for y in (lower, upper))
                if first is None or last is None:
                    raise NotStraight(f"the loop over `{name}` in it has no constant bounds")
                for turn in range(first, last, step):
                    self.run(x.body, {**known, name: index(turn)})
            case Block():
                self.run(x, known)
            case Alloc(array=array) if array.name in self.own:
                pass
            case _:
                raise NotStraight("it decides what it assigns")

    def store(self, name: str, place: tuple[Expr, ...], value: Expr, known: Mapping[str, Expr]) -> None:
        cell = name, self.place(place, known)
        if name in self.own:
            if not all(_are_apart(cell[1], y) for x, y in self.cells if x == name and y != cell[1]):
                raise NotStraight(f"cells of `{name}` may be the same one")
            self.cells[cell] = self.named(name, value, True)
        else:
            self.outputs.pop(cell, None)
            self.outputs[cell] = self.named(name, value)

    def table_element(self, name: str, place: tuple[Expr, ...]) -> Const | None:
        """What an element of a table of one dimension holds."""
        table, at = self.tables.get(name), constant(place[0]) if len(place) == 1 else None
        if table is None or at is None or not 0 <= at < len(table.values):
            return None
        return Const(table.values[at], table.type)

    def named(self, name: str, value: Expr, loads_too: bool = False) -> Expr:
        """A value under a name of its own, unless it is there already, or is read; `loads_too`: reads as well, so that
        they stay where they are: what is read before a condition is read whether it holds or not."""
        there = not loads_too if isinstance(value, Load) else type_of(value) == INDEX
        if there or isinstance(value, Var | Const):
            return value
        new = next(x for at in count(1) if (x := f"{name}_{at}") not in self.taken)
        self.taken.add(new)
        self.names.append(Let(new, value))
        return Var(new, type_of(value))

    def place(self, place: tuple[Expr, ...], known: Mapping[str, Expr]) -> tuple[Expr, ...]:
        """A subscript in its normal form, so that equal ones are one."""
        return tuple(build(polynomial(self.value(x, known))) for x in place)

    def value(self, x: Expr, known: Mapping[str, Expr], always: bool = True) -> Expr:
        """A value; `always`: it is had in any case, so that what is read may be so before."""
        match x:
            case Var(name=name):
                return known.get(name, x)
            case Const():
                return x
            case Load(array=name, index=place):
                cell = name, self.place(place, known)
                if name in self.own:
                    if cell not in self.cells:
                        raise NotStraight(f"`{name}` is read before it is written")
                    return self.cells[cell]
                element = self.table_element(*cell)
                if element is not None:
                    return element
                before = self.outputs.get(cell, replace(x, index=cell[1]))
                there = self.read.get(cell)
                if there is not None and cell not in self.outputs:
                    return there
                if not always:
                    return before
                made = self.named(name, before, name in self.written)
                if isinstance(before, Load) and isinstance(made, Var):
                    self.read[cell] = made
                return made
            case Select(condition=condition, then=then, otherwise=otherwise):
                parts = self.value(condition, known, always), *(self.value(y, known, False) for y in (then, otherwise))
                return with_children(x, parts)
            case Binary(op="and" | "or", left=left, right=right) if type_of(x) == BOOL:
                return with_children(x, (self.value(left, known, always), self.value(right, known, False)))
            case _:
                made = with_children(x, tuple(self.value(y, known, always) for y in children(x)))
                return simplify(made) if made is not x and type_of(x) == INDEX else made


def _are_apart(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two places of an array are surely different ones."""
    return any(constant(sub(x, y)) not in (None, 0) for x, y in zip(a, b, strict=True))
