"""Privatisation (scalar expansion): local scalars get an element for each iteration; after scheduling, elements that
are never alive together are contracted again.

Before: for i { for j { t = 0; for k { t += A[i, k] * B[k, j] };  C[i, j] = t } }
After:  for i { for j { t[i, j] = 0; for k { t[i, j] += … };  C[i, j] = t[i, j] } }

The first cell belongs to the first iteration, where loops do not count from 0.

>>> from planish.ir.nest import Kernel
>>> privatise(Kernel("empty")).body.body
()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.ir.expr import Expr, Load, Var, index
from planish.ir.index.polynomial import sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import map_block, map_expr, map_exprs
from planish.ir.types import INDEX
from planish.poly.canonical.webs import split_webs
from planish.poly.isl.expression import add, aff_expr, extremum, normalise, piecewise_expr
from planish.poly.isl.to_list import list_maps, list_pieces
from planish.poly.scop.dependence import find_flow
from planish.poly.scop.extraction import Scop, Statement, extract_scop


@dataclass(frozen=True, slots=True)
class Expansion:
    """The outer loops that index a local array: the extents that they add, and the values at which they begin."""

    extents: tuple[Expr, ...]
    origins: tuple[Expr, ...]

    @property
    def depth(self) -> int:
        """How many loops there are."""
        return len(self.extents)

    def prefix(self, iteration: Sequence[Expr]) -> tuple[Expr, ...]:
        """The subscripts of an iteration of the loops."""
        return tuple(x if y == index(0) else sub(x, y) for x, y in zip(iteration, self.origins, strict=True))


def privatise(kernel: Kernel) -> Kernel:
    """The kernel with every local array at its top, expanded along the loops in which its values do not flow."""
    unique = _with_unique_locals(kernel)
    scop = extract_scop(unique)
    if not scop.locals:
        return unique
    flow = _flow(scop)
    split = split_webs(unique, scop, flow)
    if split is not unique:
        unique, scop = split, extract_scop(split)
        flow = _flow(scop)
    expansions = {a.name: expansion_of(a, scop, flow) for a in scop.locals}
    allocs = tuple(Alloc(expanded(a, expansions[a.name])) for a in scop.locals)
    body = expand_block(unique.body, (), expansions)
    return replace(unique, body=Block((*allocs, *body.body)))


def _flow(scop: Scop) -> isl.UnionMap:
    """The flow through local arrays."""
    return find_flow(scop, {x.name for x in scop.locals})[0]


def expanded(array: Array, expansion: Expansion) -> Array:
    """The array with the dimensions that it gets."""
    return replace(array, shape=(*expansion.extents, *array.shape), memory="dram" if expansion.depth else array.memory)


def _accessing(scop: Scop, array: str) -> list[Statement]:
    return [s for s in scop.statements if any(a.array == array for a in s.accesses)]


def expansion_of(array: Array, scop: Scop, flow: isl.UnionMap) -> Expansion:
    """The loops around all uses of an array in which its values do not flow from one iteration to another."""
    users = _accessing(scop, array.name)
    if not users:
        return Expansion((), ())
    shared = min(len(s.loops) for s in users)
    while shared and len({s.loops[:shared] for s in users}) > 1:
        shared -= 1
    own = isl.UnionSet.empty(scop.context.get_space())
    for s in users:
        if s.write.array == array.name:
            own = own.union(isl.UnionSet.from_set(s.domain))
    chain = flow.intersect_domain(own)
    ranges: list[tuple[Expr, Expr]] = []
    while len(ranges) < shared and _is_constant_along(chain, len(ranges)):
        found = _range(users, len(ranges))
        if found is None:
            break
        ranges.append(found)
    return Expansion(tuple(extent for extent, _ in ranges), tuple(origin for _, origin in ranges))


def _is_constant_along(chain: isl.UnionMap, depth: int) -> bool:
    """Whether every flow stays within one iteration of the loop at `depth`."""
    for relation in list_maps(chain):
        if not relation.is_subset(relation.equate(isl.dim_type.in_, depth, isl.dim_type.out, depth)):
            return False
    return True


def _range(users: list[Statement], depth: int) -> tuple[Expr, Expr] | None:
    """How many cells an iterator needs, and the value that has the first of them: 0 where none is negative, else the
    smallest one. None where it has no bound, or where the smallest one is no affine function of the sizes."""
    spread = users[0].domain.project_out(isl.dim_type.set, depth + 1, len(users[0].iterators) - depth - 1)
    spread = spread.project_out(isl.dim_type.set, 0, depth).reset_tuple_id()
    for user in users[1:]:
        other = user.domain.project_out(isl.dim_type.set, depth + 1, len(user.iterators) - depth - 1)
        spread = spread.union(other.project_out(isl.dim_type.set, 0, depth).reset_tuple_id())
    if spread.is_empty():
        return None
    try:
        origin = _origin(spread)
        if origin is None:
            return None
        last = spread.dim_max(0) if origin == index(0) else spread.dim_max(0).sub(spread.dim_min(0))
        return extremum("max", [index(0), normalise(add(piecewise_expr(last, ()), index(1)))]), origin
    except isl.Error:
        return None


def _origin(spread: isl.Set) -> Expr | None:
    lowest = spread.dim_min_val(0)
    if lowest.is_int() and int(lowest.to_python()) >= 0:
        return index(0)
    pieces = list_pieces(isl.PwMultiAff.from_pw_aff(spread.dim_min(0).coalesce()))
    if len(pieces) != 1 or pieces[0][1].get_aff(0).dim(isl.dim_type.div):
        return None
    return normalise(aff_expr(pieces[0][1].get_aff(0), ()))


def expand_block(block: Block, around: tuple[str, ...], expansions: Mapping[str, Expansion]) -> Block:
    """The block, without allocations, with expanded arrays subscripted by the loops around."""
    out: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case Block():
                out.append(expand_block(stmt, around, expansions))
            case For():
                out.append(replace(stmt, body=expand_block(stmt.body, (*around, stmt.var), expansions)))
            case If():
                then = expand_block(stmt.then, around, expansions)
                otherwise = expand_block(stmt.otherwise, around, expansions)
                out.append(replace(stmt, then=then, otherwise=otherwise))
            case Alloc():
                continue
            case _:
                out.append(_expand_exprs(stmt, around, expansions))
    return Block(tuple(out))


def _expand_exprs(stmt: Stmt, around: tuple[str, ...], expansions: Mapping[str, Expansion]) -> Stmt:
    def visit(x: Expr) -> Expr:
        if isinstance(x, Load) and x.array in expansions:
            return replace(x, index=(*_prefix(around, expansions[x.array]), *x.index))
        return x

    done = map_exprs(lambda x: map_expr(visit, x), stmt)
    if isinstance(done, Assign | Reduce) and done.array in expansions:
        return replace(done, index=(*_prefix(around, expansions[done.array]), *done.index))
    return done


def _prefix(around: tuple[str, ...], expansion: Expansion) -> tuple[Expr, ...]:
    return expansion.prefix([Var(name, INDEX) for name in around[: expansion.depth]])


def _with_unique_locals(kernel: Kernel) -> Kernel:
    """The kernel with local arrays that bear the same name in different blocks told apart."""
    taken = {a.name for a in kernel.arrays} | set(kernel.sizes) | {s.name for s in kernel.scalars}

    def visit(block: Block, names: Mapping[str, str]) -> Block:
        here = dict(names)
        out: list[Stmt] = []
        for stmt in block.body:
            match stmt:
                case Alloc(array=array):
                    name, number = array.name, 1
                    while name in taken:
                        number += 1
                        name = f"{array.name}_{number}"
                    taken.add(name)
                    here[array.name] = name
                    out.append(Alloc(replace(array, name=name), stmt.span))
                case Block():
                    out.append(visit(stmt, here))
                case For():
                    out.append(replace(stmt, body=visit(stmt.body, here)))
                case If():
                    out.append(replace(stmt, then=visit(stmt.then, here), otherwise=visit(stmt.otherwise, here)))
                case _:
                    out.append(_renamed(stmt, here))
        return Block(tuple(out))

    return replace(kernel, body=visit(kernel.body, {}))


def rename_arrays(block: Block, names: Mapping[str, str]) -> Block:
    """The block with other names for arrays."""
    return map_block(lambda stmt: _renamed(stmt, names), block)


def _renamed(stmt: Stmt, names: Mapping[str, str]) -> Stmt:
    def visit(x: Expr) -> Expr:
        return replace(x, array=names[x.array]) if isinstance(x, Load) and x.array in names else x

    done = map_exprs(lambda x: map_expr(visit, x), stmt)
    if isinstance(done, Assign | Reduce) and done.array in names:
        return replace(done, array=names[done.array])
    return done


def contract(
    scop: Scop, flow: isl.UnionMap, times: isl.UnionMap, array: Array, dropped: frozenset[int]
) -> bool:
    """Whether a local array may lose the dimensions `dropped` when instances run at `times`: no cell that they merge
    is written anew while an older value of another cell is still to be read."""
    writes = _writes(scop, array.name)
    chain = flow.intersect_domain(writes.domain())
    # Only the array's own instances are compared: all pairs of statements would take very long.
    times = times.intersect_domain(writes.domain().union(chain.range()))
    written = times.intersect_domain(writes.domain())
    merged = writes.apply_range(_keeping(array, dropped, scop))
    rivals = merged.apply_range(merged.reverse()).subtract(writes.apply_range(writes.reverse()))
    if _outlive_a_part(rivals, chain, times):
        return False
    if _live_in_own_parts(rivals, chain, times):
        return True
    later = rivals.intersect(written.lex_lt_union_map(written))
    if later.is_empty():
        return True
    before_read = written.lex_lt_union_map(times.intersect_domain(chain.range()))
    return bool(later.apply_range(before_read).intersect(chain).is_empty())


def _outlive_a_part(rivals: isl.UnionMap, chain: isl.UnionMap, times: isl.UnionMap) -> bool:
    """Whether two values that cannot share a cell are made in one of the outermost parts of a schedule, and both are
    needed in later ones; that is asked first, since it takes little time. A schedule without loops has one part."""
    part = _outer_parts(times, 1)
    kept = chain.intersect(part.lex_lt_union_map(part)).domain()
    part = part.intersect_domain(kept)
    return not rivals.intersect(part.apply_range(part.reverse())).is_empty()


def _live_in_own_parts(rivals: isl.UnionMap, chain: isl.UnionMap, times: isl.UnionMap) -> bool:
    """Whether each value is read in the part of a schedule that makes it, and the parts of any two that cannot share a
    cell differ: which takes little time as well, and holds for what is local to a loop that goes on as written."""
    depths = [own.dim(isl.dim_type.out) for own in list_maps(times)]
    for depth in reversed(range(1, min(depths, default=0) + 1)):
        part = _outer_parts(times, depth)
        together = part.apply_range(part.reverse())
        if chain.is_subset(together):
            return bool(rivals.intersect(together).is_empty())
    return False


def _outer_parts(times: isl.UnionMap, depth: int) -> isl.UnionMap:
    """The first dimensions of a schedule, as many as there are."""
    out = isl.UnionMap.empty(times.get_space())
    for own in list_maps(times):
        inner = max(0, own.dim(isl.dim_type.out) - depth)
        out = out.add_map(own.project_out(isl.dim_type.out, depth, inner) if inner else own)
    return out


def _writes(scop: Scop, array: str) -> isl.UnionMap:
    out = isl.UnionMap.empty(scop.context.get_space())
    for statement in scop.statements:
        if statement.write.array == array:
            out = out.add_map(statement.write.relation)
    return out


def _keeping(array: Array, dropped: frozenset[int], scop: Scop) -> isl.UnionMap:
    """The map from an array's cells to the cells without the dropped dimensions."""
    names = [f"d{i}" for i in range(len(array.shape))]
    kept = [n for i, n in enumerate(names) if i not in dropped]
    text = f"{{ {array.name}[{', '.join(names)}] -> [{', '.join(kept)}] }}"
    return isl.UnionMap(text).align_params(scop.context.get_space())
