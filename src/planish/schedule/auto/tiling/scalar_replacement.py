"""Scalar replacement in lanes: what a strip loads twice is loaded once, sums stay in registers.

The loop's marks promise that (a) its iterations are independent, or (`SUMS`) only share cells that they update, and (b)
with strips inside, accesses of one array that are written differently never meet in a strip; so values may be kept by
name.

Before: for j { C[i, j] += A[i, k] * B[k, j];  C[i, j] += A[i, k + 1] * B[k + 1, j] }
After:  let a = A[i, k]; let a2 = A[i, k + 1]; for j { let c = C[i, j]; …; C[i, j] = c2 }

>>> from planish.ir.nest import Block
>>> promote(Block(()), frozenset(), {})
Block(body=())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from planish.ir.conditional_accesses import read_always
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Var
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, LoopFacts, Reduce, ReduceOp, Stmt
from planish.ir.passes.update_idioms import combined
from planish.ir.traverse import bindings, children, expressions, loads, map_block, variables, walk, with_children
from planish.poly.isl.expression import normalise

Cell = tuple[str, tuple[Expr, ...]]

SUMS: tuple[tuple[ReduceOp, str], ...] = (("add", ""),)
"""Of a loop that is marked for lanes: its iterations add to common cells, which are not named yet."""

STRIP = LoopFacts(simd=True, unroll=-1)
"""A loop over lanes with strips inside."""

NEST = LoopFacts(simd=True, unroll=-2)
"""A loop over lanes with a nest inside, all of it written out; accesses of one array may meet in it."""

ROWS = LoopFacts(unroll=-3)
"""A loop in its order with strips inside, one of each of some sums."""


@dataclass(slots=True)
class _Names:
    """Fresh names for values."""

    taken: set[str]
    counts: dict[str, int] = field(default_factory=dict)

    def fresh(self, array: str) -> str:
        while True:
            number = self.counts[array] = self.counts.get(array, -1) + 1
            name = f"{array.lower()}{number}"
            if name not in self.taken:
                self.taken.add(name)
                return name


def promote(nest: Block, taken: frozenset[str], arrays: Mapping[str, Array]) -> Block:
    """The nest with values of every loop over lanes held in names; loops that cannot be lanes lose the mark."""
    names = _Names({*taken, *bindings(nest)})

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if isinstance(stmt, For) and stmt.facts == ROWS:
            return _promote_rows(stmt, names, arrays)
        if not isinstance(stmt, For) or not stmt.facts.simd:
            return stmt
        plain = all(isinstance(s, Assign | Reduce | Let) for s in stmt.body.body)
        if stmt.facts.unroll == NEST.unroll and (not plain or _are_mixed(stmt)):
            return replace(stmt, facts=LoopFacts(simd=True))
        if stmt.facts.unroll in (STRIP.unroll, NEST.unroll) and plain:
            return _promote_strip(stmt, names, arrays)
        return _promote_sums(stmt, names, arrays)

    return map_block(visit, nest)


def _uses(var: str, cell: Cell) -> bool:
    return any(var in variables(x) for x in cell[1])


def _cell(stmt: Assign | Reduce) -> Cell:
    return (stmt.array, stmt.index)


def _targets(body: Sequence[Assign | Reduce | Let]) -> list[Cell]:
    """The cells that statements store to, each once, in order."""
    return list(dict.fromkeys(_cell(x) for x in body if not isinstance(x, Let)))


def _promote_strip(loop: For, names: _Names, arrays: Mapping[str, Array]) -> Stmt | tuple[Stmt, ...]:
    body = [s for s in loop.body.body if isinstance(s, Assign | Reduce | Let)]
    written = set(_targets(body))
    if any(_may_meet(a, b) for a, b in combinations(written, 2)):
        return replace(loop, facts=LoopFacts())
    before: list[Stmt] = []
    fixed: dict[Cell, Expr] = {}
    for stmt in body:
        for load in read_always(stmt.value):
            cell = (load.array, load.index)
            if cell in fixed or cell in written or _uses(loop.var, cell):
                continue
            name = names.fresh(load.array)
            before.append(Let(name, load))
            fixed[cell] = Var(name, load.type)
    sums = [c for c in _targets(body) if not _uses(loop.var, c)]
    if sums:
        return _if_runs(loop, (*before, *_sum_loop(loop, body, fixed, sums, names, arrays)))
    if loop.facts.reductions:
        return replace(loop, facts=LoopFacts())
    values = dict(fixed)
    inside: list[Stmt] = []
    for stmt in body:
        value = _with_values(stmt.value, values, inside, names)
        if isinstance(stmt, Let):
            inside.append(replace(stmt, value=value))
            continue
        cell = _cell(stmt)
        if isinstance(stmt, Reduce):
            old = _with_values(Load(stmt.array, stmt.index, arrays[stmt.array].type), values, inside, names)
            value = combined(stmt.op, old, value)
        name = names.fresh(stmt.array)
        inside.append(Let(name, value, stmt.span))
        values[cell] = Var(name, arrays[stmt.array].type)
    for cell in _targets(body):
        inside.append(Assign(cell[0], cell[1], values[cell]))
    return _if_runs(loop, (*before, replace(loop, body=Block(tuple(inside)), facts=LoopFacts(simd=True))))


def _promote_rows(loop: For, names: _Names, arrays: Mapping[str, Array]) -> Stmt | tuple[Stmt, ...]:
    """Sums of rows side by side: each in a register, where nothing but sums is made, and none of them is read."""
    body = [s for s in loop.body.body if isinstance(s, Assign | Reduce | Let)]
    sums = _targets(body)
    written = {x[0] for x in sums}
    read = {x.array for s in body for x in loads(s.value)}
    apart = not any(_may_meet(a, b) for a, b in combinations(sums, 2))
    if len(body) < len(loop.body.body) or written & read or any(_uses(loop.var, x) for x in sums) or not apart:
        return replace(loop, facts=LoopFacts())
    stmts = _sum_loop(loop, body, {}, sums, names, arrays)
    in_order = (replace(x, facts=LoopFacts()) if isinstance(x, For) else x for x in stmts)
    return _if_runs(loop, tuple(in_order))


def _are_mixed(loop: For) -> bool:
    """Whether some cell that is stored to may be one that is loaded, but is written differently."""
    body = [s for s in loop.body.body if isinstance(s, Assign | Reduce | Let)]
    loaded = {(x.array, x.index) for s in body for x in loads(s.value)}
    return any(x != y and _may_meet(x, y) for x in _targets(body) for y in loaded)


def _may_meet(a: Cell, b: Cell) -> bool:
    """Whether two targets of one strip, written differently, may be one cell: those of one access are, where its
    subscripts are no sums (`(i + 1) // 4` for i and i + 1)."""
    if a[0] != b[0]:
        return False
    apart = (normalise(Binary("sub", x, y)) for x, y in zip(a[1], b[1], strict=True))
    return not any(isinstance(x, Const) and x.value != 0 for x in apart)


def _if_runs(loop: For, stmts: tuple[Stmt, ...]) -> Stmt:
    """The statements, if the loop has an iteration: what is loaded before it need not exist otherwise."""
    if len(stmts) == 1:
        return stmts[0]
    return If(Compare("lt", loop.lower, loop.upper), Block(stmts))


def _with_values(expr: Expr, values: dict[Cell, Expr], out: list[Stmt], names: _Names) -> Expr:
    """The expression with loads taken from `values`, or loaded once into a new name; what only one side of a choice
    reads is loaded there: it need not exist otherwise."""
    always = {*read_always(expr)}

    def fresh(x: Expr) -> Expr:
        made = with_children(x, tuple(map(fresh, children(x))))
        if not isinstance(made, Load):
            return made
        cell = (made.array, made.index)
        if cell not in values:
            if x not in always:
                return made
            name = names.fresh(made.array)
            out.append(Let(name, made))
            values[cell] = Var(name, made.type)
        return values[cell]

    return fresh(expr)


def _sum_loop(
    loop: For,
    body: Sequence[Assign | Reduce | Let],
    fixed: dict[Cell, Expr],
    sums: list[Cell],
    names: _Names,
    arrays: Mapping[str, Array],
) -> tuple[Stmt, ...]:
    """A loop of which some targets stay: each is summed in a register and stored after the loop."""
    # A scalar that is a register already is one for the sum.
    own = {x for x in sums if not x[1] and arrays[x[0]].memory == "register"}
    register = {x: arrays[x[0]] if x in own else _register_of(x, names, arrays) for x in sums}
    updates: set[tuple[Cell, ReduceOp]] = {(_cell(s), s.op) for s in body if isinstance(s, Reduce)}
    ops = dict(updates)
    read = {(x.array, x.index) for s in body for x in loads(s.value)}
    others = {cell: op for cell, op in updates if cell not in sums}
    if len(ops) < len(updates) or set(ops) - set(others) != set(sums) or read & {*sums}:
        return (replace(loop, facts=LoopFacts()),)
    if any(isinstance(s, Assign) and _cell(s) in sums for s in body):
        return (replace(loop, facts=LoopFacts()),)
    inside: list[Stmt] = []
    values = dict(fixed)
    for stmt in body:
        value = _with_values(stmt.value, values, inside, names)
        if isinstance(stmt, Let):
            inside.append(replace(stmt, value=value))
        elif (cell := _cell(stmt)) in sums:
            assert isinstance(stmt, Reduce)
            inside.append(Reduce(register[cell].name, (), ops[cell], value, stmt.span))
        else:
            if isinstance(stmt, Reduce):
                old = _with_values(Load(*cell, arrays[stmt.array].type), values, inside, names)
                value = combined(stmt.op, old, value)
            name = names.fresh(stmt.array)
            values[cell] = Var(name, arrays[stmt.array].type)
            inside += [Let(name, value, stmt.span), Assign(*cell, values[cell], stmt.span)]
    facts = LoopFacts(simd=True, reductions=tuple((ops[c], register[c].name) for c in sums))
    opening: list[Stmt] = []
    left = [x for x in sums if x not in own]
    for cell in left:
        opening += [Alloc(register[cell]), Assign(register[cell].name, (), Load(*cell, register[cell].type))]
    closing = [Assign(*cell, Load(register[cell].name, (), register[cell].type)) for cell in left]
    return (*opening, replace(loop, body=Block(tuple(inside)), facts=facts), *closing)


def _register_of(cell: Cell, names: _Names, arrays: Mapping[str, Array]) -> Array:
    return Array(names.fresh(cell[0]), arrays[cell[0]].type, memory="register")


def _promote_sums(loop: For, names: _Names, arrays: Mapping[str, Array]) -> Stmt | tuple[Stmt, ...]:
    """Lanes without strips: targets that stay become sums if nothing else in the loop touches their array; what else is
    stored, no iteration reads but its own."""
    body = [s for s in loop.body.body if isinstance(s, Assign | Reduce | Let)]
    facts = LoopFacts(simd=True)
    stays = [s for s in walk(loop.body) if isinstance(s, Assign | Reduce) and not _uses(loop.var, _cell(s))]
    if not stays:
        return replace(loop, facts=LoopFacts() if loop.facts.reductions else facts)
    moves = [x for x in _targets(body) if _uses(loop.var, x)]
    if len(body) < len(loop.body.body) or (moves and _are_mixed(loop)):
        return replace(loop, facts=LoopFacts())
    if {x[0] for x in moves} & {s.array for s in stays} or any(_may_meet(a, b) for a, b in combinations(moves, 2)):
        return replace(loop, facts=LoopFacts())
    if len({s.array for s in stays}) != len({_cell(s) for s in stays}):
        return replace(loop, facts=LoopFacts())
    touched = [x.array for s in body for e in expressions(s) for x in loads(e)]
    if any(s.array in touched for s in stays) or any(not isinstance(s, Reduce) for s in stays):
        return replace(loop, facts=LoopFacts())
    sums = list(dict.fromkeys(_cell(s) for s in stays))
    block = _sum_loop(loop, body, {}, sums, names, arrays)
    return _if_runs(loop, block)
