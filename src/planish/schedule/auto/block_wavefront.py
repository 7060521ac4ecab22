"""Blocked wavefront over a triangular DP table: square blocks by diagonals, those of one diagonal independent. Within a
block, the terms from other blocks come first, in GEMM order; the rest runs by rows, in strips of the same shape.

Before: for i { for j { A[i, j] from A[i, k] and A[k, j], for k between i and j } }
After:  for each diagonal of blocks { for each block of it {
          for k in the blocks between { all A[i, j] of the block from A[i, k] and A[k, j] };
          for i { for each strip of columns { for k outside of the strip { all A[i, j] of the strip };
            for j in the strip { the rest as before } } } } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.dependence import find_order
>>> from planish.poly.scop.extraction import extract_scop
>>> update = "for k in n - r .. j { A[n - r - 1, j] max= A[n - r - 1, k] + A[k, j] }"
>>> nest = "for r in 0 .. n { for j in n - r .. n { %s } }" % update
>>> scop = extract_scop(parse_kernel("kernel k(n; A: f64[n, n]) { %s }" % nest))
>>> band = block_diagonals(scop, find_order(scop), scop.schedule, 64).get_root().get_child(0)
>>> band.band_n_member(), band.band_member_get_coincident(1)
(2, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product

import islpy as isl

from planish.poly.scop.extraction import Scop, Statement
from planish.poly.scop.legality import find_violation, schedule_map
from planish.schedule.auto.rewrites.loop_fission import merge_bands
from planish.schedule.auto.tiling.band import same_time
from planish.schedule.auto.tiling.strip_mining import floor_of, join

BLOCK = 64
"""The rows and columns of a block: a few registers wide; its columns of all rows stay in the second cache."""
STRIP = 16
"""The columns of a strip: one register, or a few. Within it values are made one by one."""


def block_diagonals(
    scop: Scop, order: isl.UnionMap, schedule: isl.Schedule, size: int = BLOCK
) -> isl.Schedule | None:
    """The schedule inside of loops over diagonals of blocks, and over the blocks of each, where all statements store to
    one matrix; None where there is no order of diagonals that keeps the pairs of `order` in order, or lone loops walk
    along the matrix."""
    places = _places(scop)
    if places is None or all(len(x.iterators) < 2 for x in scop.statements):
        return None
    rows, columns = (floor_of(x, size) for x in places)
    for signs in product((1, -1), repeat=2):
        outer = join([_signed(rows, signs[0]).add(_signed(columns, signs[1])), rows])
        if find_violation(schedule_map(_inside(outer, schedule)), order) is not None:
            continue
        when, where = (_times(outer.get_at(x), scop) for x in range(2))
        if not same_time(when).intersect(order).subtract(same_time(where)).is_empty():
            return None
        strips = join([_signed(places[0], signs[0]), _signed(floor_of(places[1], STRIP), signs[1])])
        blocks = [(_inside(outer, x), kept) for x, kept in (*_separate(scop, schedule, strips, size), (schedule, None))]
        made, kept = next(x for x in blocks if find_violation(schedule_map(x[0]), order) is None)
        band = made.get_root().get_child(0).band_member_set_coincident(1, 1)
        return merge_bands(band.get_schedule(), order, kept)
    return None


def _signed(value: isl.UnionPwAff, sign: int) -> isl.UnionPwAff:
    return value if sign > 0 else value.neg()


def _inside(outer: isl.MultiUnionPwAff, schedule: isl.Schedule) -> isl.Schedule:
    return schedule.get_root().get_child(0).insert_partial_schedule(outer).get_schedule()


def _separate(
    scop: Scop, schedule: isl.Schedule, strips: isl.MultiUnionPwAff, size: int
) -> Iterator[tuple[isl.Schedule, isl.UnionSet | None]]:
    """Schedules of a block, the best first, that begin with what is made of other blocks alone, or, where they are
    begun by the statements in fewer loops, go on so; none where nothing is made so. The rest is in strips, or as in
    `schedule`. With each, what is to stay in its order: the values of a strip, which wait for each other."""
    deepest = max(len(x.iterators) for x in scop.statements)
    own = _from_others(scop, deepest, size, size)
    if own is None:
        return
    first = own.schedule((0, 1))
    strip = _from_others(scop, deepest, 1, STRIP)
    before = _pieces(strip, size, own.domain) if strip is not None else []
    fewer = [isl.UnionSet.from_set(x.domain) for x in scop.statements if len(x.iterators) < deepest]
    for in_strips, begun in product((True, False) if before else (False,), (False, True)):
        begin = reduce(isl.UnionSet.union, fewer if begun else (), isl.UnionSet.empty(scop.domain.get_space()))
        left = scop.domain.subtract(begin).subtract(own.instances)
        rest, kept = schedule.intersect_domain(left), None
        if in_strips:
            kept = reduce(isl.UnionSet.subtract, (x.instances for x in before), left)
            values = scop.schedule.intersect_domain(kept)
            rest = reduce(isl.Schedule.sequence, [*(x.schedule((1,)) for x in before), values])
            rest = _inside(strips.intersect_domain(left), rest)
        yield reduce(isl.Schedule.sequence, [schedule.intersect_domain(begin), first, rest]), kept


@dataclass(frozen=True, slots=True, eq=False)
class _Product:
    """Instances of a statement that depend on nothing near, and may come in any order of its loops."""

    statement: Statement
    domain: isl.Set

    @property
    def instances(self) -> isl.UnionSet:
        """The domain, beside those of other statements."""
        return isl.UnionSet.from_set(self.domain)

    def schedule(self, dimensions: tuple[int, ...]) -> isl.Schedule:
        """Loops over these dimensions of what is stored to, and over what of it is one element."""
        relation = self.statement.write.relation.intersect_domain(self.domain)
        stored = isl.PwMultiAff.from_map(relation)
        iterators = isl.PwMultiAff.from_multi_aff(isl.MultiAff.identity_on_domain_space(self.domain.get_space()))
        loops = [stored.get_at(x) for x in dimensions]
        for value in map(iterators.get_at, range(len(self.statement.iterators))):
            if not relation.reverse().apply_range(isl.Map.from_pw_aff(value)).is_single_valued():
                loops.append(value)
        schedule = isl.Schedule.from_domain(self.instances)
        for value in reversed(loops):
            over = isl.UnionPwAff.from_pw_aff(value.intersect_domain(self.domain))
            schedule = _inside(isl.MultiUnionPwAff.from_union_pw_aff(over), schedule)
        return schedule


def _from_others(scop: Scop, depth: int, rows: int, columns: int) -> _Product | None:
    """The instances of the one statement in so many loops that read nothing of the block to which they store, but for
    the place itself; None where there are none, or of several statements."""
    deep = [x for x in scop.statements if len(x.iterators) == depth]
    found = [_Product(x, reduce(isl.Set.subtract, _near(x, rows, columns), x.domain).coalesce()) for x in deep]
    found = [x for x in found if not x.domain.is_empty()]
    return found[0] if len(found) == 1 else None


def _pieces(strip: _Product, size: int, done: isl.Set) -> list[_Product]:
    """What a strip makes of others without what is `done`, by what of it is read in the block around."""
    out: list[_Product] = []
    for near in _near(strip.statement, size, size):
        piece = strip.domain.intersect(near).subtract(done).coalesce()
        done = done.union(near)
        out += [] if piece.is_empty() else [_Product(strip.statement, piece)]
    return out


def _near(statement: Statement, rows: int, columns: int) -> list[isl.Set]:
    """For each access to another element of the array that is stored to, the instances that read of their own block."""
    write, apart = statement.write, [x for x in statement.accesses[1:] if x.index != statement.write.index]
    blocks = [_block_of(x.relation, rows, columns) for x in apart if x.array == write.array]
    own = _block_of(write.relation, rows, columns)
    return [x.intersect(own).domain() for x in blocks]


def _block_of(relation: isl.Map, rows: int, columns: int) -> isl.Map:
    """The block in which the element lies that a map leads to."""
    name = relation.get_tuple_name(isl.dim_type.out)
    bounds = f"{rows} r <= i < {rows} r + {rows} and {columns} c <= j < {columns} c + {columns}"
    tiles = isl.Map(f"{{ {name}[i, j] -> [r, c] : {bounds} }}")
    return relation.apply_range(tiles.align_params(relation.get_space().params()))


def _times(value: isl.UnionPwAff, scop: Scop) -> isl.UnionMap:
    return isl.UnionMap.from_union_pw_aff(value).intersect_domain(scop.domain)


def _places(scop: Scop) -> tuple[isl.UnionPwAff, isl.UnionPwAff] | None:
    """The row and the column to which each instance stores; None where these are not of one matrix, or nothing of that
    is read elsewhere in it."""
    (array, *others) = dict.fromkeys(x.write.array for x in scop.statements)
    if others or any(len(x.write.index) != 2 for x in scop.statements):
        return None
    elsewhere = (y for x in scop.statements for y in x.accesses if y.array == array and y.index != x.write.index)
    if not any(True for _ in elsewhere):
        return None
    pieces = [isl.PwMultiAff.from_map(x.write.relation.intersect_domain(x.domain)) for x in scop.statements]
    first, second = (
        reduce(isl.UnionPwAff.union_add, (isl.UnionPwAff.from_pw_aff(x.get_at(d)) for x in pieces)) for d in range(2)
    )
    return first, second
