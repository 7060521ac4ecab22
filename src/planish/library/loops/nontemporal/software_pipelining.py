"""Software pipelining of two row loops: stores of row i-1 overlap the computation of row i.

Before: for i { for j { t[j] = f(x[i, j]) } s = … for j { y[i, j] = g(t[j], s) } }
After:  the first t; for i from 1 { for j { y[i - 1, j] = g(t[j], s[(i - 1) % 2]) t[j] = f(x[i, j]) } s[i % 2] = … };
        the last y

What the last loop reads has two cells for one, of this row and of the row before, but where each is read in the very
iteration that writes it anew: a row that is kept twice takes the place of others in the nearest cache.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> first = "s[] = x[i, 0] for j in 0 .. n simd { t[j] = x[i, j] * x[i, j] }"
>>> last = "for j in 0 .. n simd past p { y[i, j] = t[j] / s[] }"
>>> head = "kernel k(m, n; x: f32[m, n] distinct, y: f32[m, n] distinct)"
>>> allocs = "alloc t: f32[n] distinct alloc s: f32[] register"
>>> made = overlap(parse_kernel(f"{head} {{ {allocs} for i in 0 .. m {{ {first} {last} }} }}"))
>>> print(print_stmt(made.kernel.body.body[3]), end="")
for i in 1 .. m {
  s[i % 2] = x[i, 0]
  for j in 0 .. n simd past p {
    y[i - 1, j] = t[j] / s[(i - 1) % 2]
    t[j] = x[i, j] * x[i, j]
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

import islpy as isl

from planish.core.names import take_name
from planish.ir.accesses import map_accesses, reads, values
from planish.ir.expr import Call, Compare, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import add, extremum, mod, place, same, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, LoopFacts, Reduce, Stmt
from planish.ir.traverse import (
    arrays_in,
    bindings,
    loads,
    map_block,
    map_expr,
    map_exprs,
    stored_arrays,
    used_names,
    walk,
    walk_expr,
    with_stmts,
)
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.to_list import list_maps
from planish.poly.scop.dependence import find_dependences, find_flow, together
from planish.poly.scop.extraction import Scop, Statement, extract_scop
from planish.poly.scop.legality import find_violation

IN, OUT = isl.dim_type.in_, isl.dim_type.out
FUNCTION = 16
"""The operations that a function of C's library is taken for."""


@dataclass(frozen=True, slots=True)
class Overlapped:
    """A kernel with rows written while the next ones are made, and the same kernel in its own order, with as much
    memory."""

    kernel: Kernel
    plain: Kernel


@dataclass(frozen=True, slots=True)
class _Rows:
    """A loop over rows, the loops around it, the number of the first statement in it; its last loop, and the one that
    this is to run along with, in the statement of its body at `position`."""

    outer: For
    depth: int
    first: int
    last: For
    partner: For
    position: int


def overlap(kernel: Kernel) -> Overlapped | None:
    """The kernel with two row loops software-pipelined, of which the last may make non-temporal stores; None where
    there are none, or legality is not proven."""
    kernel = _sum_apart(kernel)
    local = {x.array.name for x in kernel.body.body if isinstance(x, Alloc)}
    for rows in _find(kernel.body, 0, 0):
        made = _overlapped(kernel, rows, local)
        if made is not None:
            return made
    return None


def _sum_apart(kernel: Kernel) -> Kernel:
    """The kernel where what lanes add up to in a local scalar is made in a register of the loop: the scalar may get two
    cells, and lanes sum in none that has a subscript."""
    scalars = {x.array.name: x.array for x in kernel.body.body if isinstance(x, Alloc) and not x.array.shape}
    taken = {*used_names(kernel)}

    def visit(stmt: Stmt) -> Stmt:
        found = {x for _, x in stmt.facts.reductions if x in scalars} if isinstance(stmt, For) else set()
        if not isinstance(stmt, For) or not found:
            return stmt
        own = {x: replace(scalars[x], name=take_name(x, taken), memory="register") for x in sorted(found)}

        def rename(inner: Stmt) -> Stmt:
            if isinstance(inner, Assign | Reduce) and inner.array in own:
                return replace(inner, array=own[inner.array].name)
            return inner

        sums = tuple((op, own[x].name if x in own else x) for op, x in stmt.facts.reductions)
        loop = replace(stmt, body=map_block(rename, stmt.body), facts=replace(stmt.facts, reductions=sums))
        opening = [y for x, register in own.items() for y in (Alloc(register), _copy(register.name, scalars[x]))]
        closing = [_copy(x, register) for x, register in own.items()]
        return If(Compare("gt", stmt.upper, stmt.lower), Block((*opening, loop, *closing)))

    return replace(kernel, body=map_block(visit, kernel.body))


def _copy(target: str, source: Array) -> Assign:
    return Assign(target, (), Load(source.name, (), source.type))


def _find(block: Block, depth: int, first: int) -> Iterator[_Rows]:
    """The loops whose last statement makes non-temporal stores, with what it may run along with."""
    for stmt in block.body:
        match stmt:
            case For() if not stmt.facts.simd:
                yield from _of_rows(stmt, depth, first)
                yield from _find(stmt.body, depth + 1, first)
            case If():
                yield from _find(stmt.then, depth, first)
                yield from _find(stmt.otherwise, depth, first + _count(stmt.then))
            case Block():
                yield from _find(stmt, depth, first)
            case _:
                pass
        first += _count(stmt)


def _count(stmt: Stmt) -> int:
    return sum(isinstance(x, Assign | Reduce) for x in walk(stmt))


def _of_rows(outer: For, depth: int, first: int) -> Iterator[_Rows]:
    *others, last = outer.body.body or (Block(()),)
    if not isinstance(last, For) or not last.facts.stream or outer.step != 1 or outer.facts.parallel:
        return
    bounds = (outer.lower, outer.upper, last.lower, last.upper)
    moved = {x.name for bound in bounds[2:] for x in walk_expr(bound) if isinstance(x, Var)}
    if any(loads(x) for x in bounds) or outer.var in moved:
        return
    found = [(x, i) for i, stmt in enumerate(others) for x in _partners(stmt, last)]
    found = [(x, i) for x, i in found if sum(y is x for y in walk(outer.body)) == 1]
    if found:
        partner, position = max(found, key=lambda x: _work(x[0]))
        yield _Rows(outer, depth, first, last, partner, position)


def _partners(stmt: Stmt, last: For) -> Iterator[For]:
    """Loops in lanes with the bounds of the last one, which run whenever that has an iteration."""
    match stmt:
        case For(facts=LoopFacts(simd=True, instruction="", stream="")) if stmt.step == last.step == 1:
            if same(stmt.lower, last.lower) and same(stmt.upper, last.upper):
                yield stmt
        case Block():
            for x in stmt.body:
                yield from _partners(x, last)
        case If(condition=Compare(op="gt", left=left, right=right)) if same(
            sub(left, right), sub(last.upper, last.lower)
        ):
            yield from _partners(stmt.then, last)
        case _:
            pass


def _work(loop: For) -> int:
    """How much a loop computes for each element."""
    parts = list(values(loop.body))
    return len(parts) + FUNCTION * sum(isinstance(x, Call) for x in parts)


def _overlapped(kernel: Kernel, rows: _Rows, local: Set[str]) -> Overlapped | None:
    """The kernel with one loop's rows overlapped, where that is proven to be right."""
    outer, last = rows.outer, rows.last
    inside = {x for stmt in outer.body.body for x in bindings(stmt)}
    own = {x for stmt in walk(last) for x in bindings(stmt)}
    if (inside - own) & _used(last):
        return None
    names = frozenset({x.array for x in reads(last)} & stored_arrays(outer.body) & local)
    if any(name in names for x in walk(kernel.body) if isinstance(x, For) for _, name in x.facts.reductions):
        return None
    rows_of = {x.array.name for x in kernel.body.body if isinstance(x, Alloc) and x.array.shape}
    try:
        if not _are_private(extract_scop(kernel), rows, names):
            return None
        for twice in dict.fromkeys((names - rows_of, names)):
            doubled = _doubled(kernel, rows, twice)
            (exact,) = (x for x in _find(doubled.body, 0, 0) if (x.depth, x.first) == (rows.depth, rows.first))
            if _may_overlap(extract_scop(doubled), exact):
                body = with_stmts(doubled.body, exact.outer, _in_three(exact, {*used_names(kernel)}))
                plain = map_block(_without_marks, doubled.body)
                return Overlapped(replace(doubled, body=body), replace(doubled, body=plain))
    except NotAffineError:
        pass
    return None


def _used(stmt: Stmt) -> set[str]:
    """The names that a statement uses."""
    return {x.name for x in values(stmt) if isinstance(x, Var)} | {*arrays_in(stmt)}


def _are_private(scop: Scop, rows: _Rows, names: Set[str]) -> bool:
    """Whether what is read of some local arrays was stored in the same iteration: then each iteration may have cells of
    its own."""
    within = range(rows.first, rows.first + _count(rows.outer))
    outside = [x for i, x in enumerate(scop.statements) if i not in within]
    if any(x.array in names for statement in outside for x in statement.accesses):
        return False
    flow, before = find_flow(scop, names)
    return before.is_empty() and bool(flow.is_subset(together(scop, rows.depth + 1)))


def _doubled(kernel: Kernel, rows: _Rows, names: Set[str]) -> Kernel:
    """The kernel where some local arrays have cells for iterations with even and with odd numbers."""
    at = mod(index(rows.outer.var), index(2))

    def placed(x: Load) -> Load:
        return replace(x, index=(at, *x.index)) if x.array in names else x

    def declared(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Alloc) or stmt.array.name not in names:
            return stmt
        memory = "stack" if stmt.array.memory == "register" else stmt.array.memory
        return replace(stmt, array=replace(stmt.array, shape=(index(2), *stmt.array.shape), memory=memory))

    return replace(kernel, body=map_block(declared, map_accesses(placed, kernel.body)))


def _may_overlap(scop: Scop, rows: _Rows) -> bool:
    """Whether the last loop over each row may run at any time during the statement of the next iteration that it is to
    run along with, if each of its iterations comes before the same one of the partner, which may replace what that one
    reads: whatever else depends on it, or it on, is done before that statement or after it."""
    nothing = isl.UnionMap.empty(scop.context.get_space())
    times, forth, back, first = nothing, nothing, nothing, rows.first
    moved: dict[str, Statement] = {}
    beside: dict[str, Statement] = {}
    inside = {id(x) for x in walk(rows.partner) if isinstance(x, Assign | Reduce)}
    for position, stmt in enumerate(rows.outer.body.body):
        is_last = stmt is rows.last
        at = rows.position if is_last else position
        own = [x for x in walk(stmt) if isinstance(x, Assign | Reduce)]
        for store, statement in zip(own, scop.statements[first : first + len(own)], strict=True):
            time = _time(statement, rows.depth + 1, int(is_last), at)
            times = times.add_map(time)
            if is_last or id(store) in inside:
                (moved if is_last else beside)[statement.name] = statement
                forth = forth.add_map(_within(statement, time, rows.depth + 1, 1, int(not is_last)))
                back = back.add_map(_within(statement, time, rows.depth + 1, -1, int(not is_last)))
        first += len(own)
    # What the last loop stores non-temporally is not to be waited for.
    stored = {x.write.array for x in moved.values()}
    waiting = any(access.array in stored for x in beside.values() for access in x.accesses)
    apart, along = nothing, nothing
    for pair in list_maps(find_dependences(scop).order):
        source, sink = pair.get_tuple_name(IN), pair.get_tuple_name(OUT)
        if source in moved and sink in beside and not waiting:
            along = along.add_map(pair)
        elif (source in moved) != (sink in moved):
            apart = apart.add_map(pair)
    # Lanes are iterations at the same time: what is in order forwards and backwards is of one.
    checked = ((times, apart), (forth, along), (back, along))
    return all(find_violation(when, order) is None for when, order in checked)


def _time(statement: Statement, depth: int, later: int, position: int) -> isl.Map:
    """When an instance runs: the iteration of each of the outermost loops, so much later of the innermost of these; and
    which statement of its body it is in."""
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    affs = [isl.Aff.var_on_domain(space, isl.dim_type.set, i) for i in range(depth)]
    affs[-1] = affs[-1].add_constant_val(isl.Val(later))
    affs.append(isl.Aff.zero_on_domain(space).add_constant_val(isl.Val(position)))
    out = isl.Map.from_aff(affs[0])
    for aff in affs[1:]:
        out = out.flat_range_product(isl.Map.from_aff(aff))
    return out.intersect_domain(statement.domain)


def _within(statement: Statement, time: isl.Map, depth: int, step: int, place: int) -> isl.Map:
    """When an instance runs, with the iteration of the loop at a depth, forwards or backwards, and its place in that
    one's body."""
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    iteration = isl.Aff.var_on_domain(space, isl.dim_type.set, depth).scale_val(isl.Val(step))
    constant = isl.Aff.zero_on_domain(space).add_constant_val(isl.Val(place))
    for aff in (iteration, constant):
        time = time.flat_range_product(isl.Map.from_aff(aff))
    return time.intersect_domain(statement.domain)


def _in_three(rows: _Rows, taken: set[str]) -> tuple[Stmt, ...]:
    """All but the last loop of the first iteration, the iterations after it with that loop of those before them, and
    the last one of the last."""
    outer, last = rows.outer, rows.last
    before, second = Block(outer.body.body[:-1]), add(outer.lower, index(1))
    main = with_stmts(before, rows.partner, (_along(rows, taken),))
    final = extremum("max", outer.lower, sub(outer.upper, index(1)))
    return (
        replace(outer, upper=extremum("min", second, outer.upper), body=before),
        replace(outer, lower=second, body=main, facts=LoopFacts()),
        replace(outer, lower=final, body=Block((last,))),
    )


def _along(rows: _Rows, taken: set[str]) -> For:
    """A loop over the row before, the last one, with the one over this row after it in each iteration; what the last
    one names has other names here."""
    last, partner = rows.last, rows.partner
    values: dict[str, Expr] = {rows.outer.var: sub(index(rows.outer.var), index(1)), last.var: index(partner.var)}
    for stmt in walk(last.body):
        if isinstance(stmt, Let):
            values[stmt.var] = Var(take_name(stmt.var, taken), type_of(stmt.value))
    body = map_block(lambda x: _placed(x, values), last.body)
    facts = replace(partner.facts, stream=last.facts.stream)
    return replace(partner, body=Block((*body.body, *partner.body.body)), facts=facts)


def _placed(stmt: Stmt, values: dict[str, Expr]) -> Stmt:
    """A statement with values in the place of what it names, its indices as polynomials."""
    match map_exprs(lambda e: _place_indices(e, values), stmt):
        case Assign() as store:
            return replace(store, index=tuple(place(x, {}) for x in store.index))
        case Let(var=name) as let:
            renamed = values[name]
            assert isinstance(renamed, Var)
            return replace(let, var=renamed.name)
        case other:
            return other


def _place_indices(expr: Expr, values: dict[str, Expr]) -> Expr:
    def visit(x: Expr) -> Expr:
        if isinstance(x, Var):
            return values.get(x.name, x)
        return replace(x, index=tuple(place(y, {}) for y in x.index)) if isinstance(x, Load) else x

    return map_expr(visit, expr)


def _without_marks(stmt: Stmt) -> Stmt:
    return replace(stmt, facts=replace(stmt.facts, stream="")) if isinstance(stmt, For) else stmt
