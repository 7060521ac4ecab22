"""Annotated code: statements with the condition under which they are to run, which a place further out may enforce
(sections 4.4 and 5.9).

>>> import islpy as isl
>>> from planish.ir.expr import Const, index
>>> from planish.ir.nest import Assign
>>> from planish.ir.types import BOOL
>>> one, other = (Assign(name, (), Const(True, BOOL)) for name in "AB")
>>> both = [Graft((one,), isl.Set("{ [i] : i >= 5 }")), Graft((other,), isl.Set("{ [i] : i < 5 }"))]
>>> (branch,) = materialise(both, isl.Set("{ [i] }"), (index("i"),))
>>> len(branch.then.body), len(branch.otherwise.body)
(1, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from planish.astgen.dimensions.divisions import convex_without_divisions, with_known_divisions
from planish.ir.expr import Expr
from planish.ir.nest import Assign, Block, For, If, Reduce, Stmt
from planish.ir.traverse import walk
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.expression import conjunction, set_condition

SET = isl.dim_type.set
MOST_SWITCHED = 3
"""A loop with more statements than this is not made twice to free it from a test that it does not change."""
MOST_PIECES = 8
"""A condition that makes for more convex parts, its opposite included, does not decide between two innermost loops."""
MOST_ALTERNATIVES = 4
"""A complement of more convex parts than this is not used to simplify what follows in `else`."""
MOST_COMPARISONS = 8
"""The comparisons that are tried as the one that divides branches into two."""


@dataclass(frozen=True, slots=True, eq=False)
class Graft:
    """Code, and the set of points (of the schedule dimensions around it, simplified in their context) at which it
    runs: `guard` is not part of the code yet. At points outside of `busy` the code does nothing anyway, since its loops
    have no iteration (None: it always does something)."""

    code: tuple[Stmt, ...]
    guard: isl.Set
    busy: isl.Set | None = None

    def simplified(self, context: isl.Set) -> Graft:
        """The graft where `context` holds."""
        if self.guard.plain_is_universe():
            return self
        return Graft(self.code, self.guard.gist(context), self.busy)


def materialise(grafts: Sequence[Graft], context: isl.Set, dims: tuple[Expr, ...]) -> list[Stmt]:
    """The code of the grafts in order, with their guards: common conditions are tested once, and of two that exclude
    each other the second only where the first fails."""
    out: list[Stmt] = []
    runs = _absorbed(_runs(_joined(grafts, context), context), context)
    number = 0
    while number < len(runs):
        members, common = runs[number]
        number += 1
        if common is None:
            out += members[0].code
            continue
        chain = [(members, common)]
        covered = common
        while number < len(runs) and (later := runs[number][1]) is not None and _excludes(covered, later, context):
            chain.append((runs[number][0], later))
            covered = covered.union(later)
            number += 1
        out += _chain(chain, context, dims)
    return out


def _joined(grafts: Sequence[Graft], context: isl.Set) -> list[Graft]:
    """The grafts with neighbours of the same code made one, if never both run."""
    out: list[Graft] = []
    for graft in grafts:
        if out and out[-1].code == graft.code and _excludes(out[-1].guard, graft.guard, context):
            either = coalesce(out[-1].guard.union(graft.guard))
            out[-1] = Graft(graft.code, either.gist(context))
        else:
            out.append(graft)
    return out


Run = tuple[list[Graft], "isl.Set | None"]
"""Neighbours with a condition that all of them need; None for a graft without one."""


def _runs(grafts: Sequence[Graft], context: isl.Set) -> list[Run]:
    out: list[Run] = []
    for graft in grafts:
        if graft.guard.plain_is_universe():
            out.append(([graft], None))
            continue
        if out:
            members, common = out[-1]
            if common is not None:
                wider = None if _excludes(common, graft.guard, context) else _common(common, graft.guard, context)
                if wider is not None:
                    out[-1] = ([*members, graft], wider)
                    continue
        out.append(([graft], graft.guard))
    return out


def _common(a: isl.Set, b: isl.Set, context: isl.Set) -> isl.Set | None:
    """A condition of both; None where there is none."""
    if a.plain_is_equal(b):
        return a
    hull = coalesce(a.union(b)).unshifted_simple_hull().remove_divs().to_set()
    hull = hull if hull.plain_is_universe() else hull.gist(context)
    return None if hull.plain_is_universe() else hull


def _excludes(a: isl.Set, b: isl.Set, context: isl.Set) -> bool:
    return a.plain_is_disjoint(b) or a.intersect(b).intersect(context).is_empty()


def _absorbed(runs: list[Run], context: isl.Set) -> list[Run]:
    """The runs, with each that does nothing outside of its neighbour's condition inside of that."""
    out: list[Run] = []
    for run in runs:
        out.append(run)
        while len(out) > 1:
            (before, outer), (after, later) = out[-2:]
            if later is not None and _needs(before, later, context):
                out[-2:] = [([*before, *after], later)]
            elif outer is not None and _needs(after, outer, context):
                out[-2:] = [([*before, *after], outer)]
            else:
                break
    return out


def _needs(members: Sequence[Graft], condition: isl.Set, context: isl.Set) -> bool:
    """Whether none of the grafts does anything where a condition does not hold."""
    for graft in members:
        acts = graft.guard if graft.busy is None else graft.guard.intersect(graft.busy)
        if acts.plain_is_universe() or not acts.intersect(context).is_subset(condition):
            return False
    return True


Guarded = tuple[list[Graft], isl.Set]


def _chain(runs: list[Guarded], context: isl.Set, dims: tuple[Expr, ...]) -> list[Stmt]:
    """Branches over runs whose conditions exclude each other, whose order is therefore free."""
    parted = _part(runs, context) if len(runs) > 1 else None
    if parted is not None:
        test, yes, no = parted
        sides = [(yes, coalesce(context.intersect(test))), (no, _without(context, test))]
        branches = [Block(tuple(_chain([(m, c.gist(known)) for m, c in side], known, dims))) for side, known in sides]
        return [If(set_condition(test, dims), branches[0], branches[1])]
    if runs[0][1].plain_is_universe():
        return _inside(*runs[0], context, dims)
    number = min(range(len(runs)), key=lambda n: count_tests(runs[n][1]))
    (members, common), later = runs[number], runs[:number] + runs[number + 1 :]
    then = _inside(members, common, context, dims)
    otherwise: list[Stmt] = []
    if later:
        left = _without(context, common)
        rest = [([g.simplified(left) for g in m], c.gist(left)) for m, c in later]
        if len(rest) == 1 and (rest[0][1].plain_is_universe() or left.is_subset(later[0][1])):
            known = left.intersect(later[0][1])
            otherwise = materialise([g.simplified(known) for g in later[0][0]], known, dims)
        else:
            otherwise = _chain(rest, left, dims)
    condition = set_condition(common, dims)
    match then:
        case [If(condition=inner, then=body, otherwise=Block(body=()))] if not otherwise:
            return [If(conjunction([condition, inner]), body)]
        case _:
            return [If(condition, Block(tuple(then)), Block(tuple(otherwise)))]


def _without(context: isl.Set, condition: isl.Set) -> isl.Set:
    """What is known where a condition fails; less than that where it would be many pieces."""
    left = coalesce(context.subtract(condition))
    return left if left.n_basic_set() <= MOST_ALTERNATIVES else context


def _part(runs: list[Guarded], context: isl.Set) -> tuple[isl.Set, list[Guarded], list[Guarded]] | None:
    """One comparison that divides the runs into those where it holds and those where it does not, so that the fewest
    are left to make; None where a run's own condition does as well."""
    best: tuple[int, isl.Set, list[Guarded], list[Guarded]] | None = None
    total = sum(count_tests(common) for _, common in runs)
    for test in _comparisons(runs):
        holds, fails = context.intersect(test), _without(context, test)
        yes = [run for run in runs if run[1].intersect(fails).is_empty()]
        no = [run for run in runs if run[1].intersect(holds).is_empty()]
        if not yes or not no or len(yes) + len(no) < len(runs):
            continue
        left = sum(count_tests(c.gist(known)) for side, known in ((yes, holds), (no, fails)) for _, c in side)
        if left < total and (best is None or left < best[0]):
            best = left, test, yes, no
    if best is None:
        return None
    _, test, yes, no = best
    opposite = coalesce(test.complement())
    # A chain of `else if` reads better than branches within the first branch.
    return (opposite, no, yes) if len(yes) > len(no) and opposite.n_basic_set() == 1 else (test, yes, no)


def _comparisons(runs: list[Guarded]) -> list[isl.Set]:
    """The single comparisons in the conditions of some runs."""
    out: list[isl.Set] = []
    for _, common in runs:
        if common.n_basic_set() == 1:
            for c in common.get_basic_sets()[0].get_constraints():
                test = isl.BasicSet.from_constraint(c).to_set()
                if not c.is_div_constraint() and not any(test.plain_is_equal(other) for other in out):
                    out.append(test)
    return out[:MOST_COMPARISONS]


def count_tests(condition: isl.Set) -> int:
    """The comparisons in a condition."""
    return sum(
        not c.is_div_constraint() for basic in condition.get_basic_sets() for c in basic.get_constraints()
    )


def _inside(members: list[Graft], common: isl.Set, context: isl.Set, dims: tuple[Expr, ...]) -> list[Stmt]:
    if len(members) == 1 or all(g.guard.plain_is_equal(common) for g in members):
        return [s for g in members for s in g.code]
    known = context.intersect(common)
    simpler = [g.simplified(known) for g in members]
    left = _runs(simpler, known)
    if len(left) == 1 and left[0][1] is not None and left[0][1].plain_is_equal(common):
        return [s for g in simpler for s in materialise([g], known, dims)]
    return materialise(simpler, known, dims)


def find_switch(grafts: Sequence[Graft], position: int, context: isl.Set) -> tuple[isl.Set, isl.Set] | None:
    """A condition of some of the grafts, and its opposite, that dimension `position` does not change: a loop for each
    of them needs no test inside. None where there is none, or the copies would be many."""
    if len(grafts) < 2 or sum(count_statements(g.code) for g in grafts) > MOST_SWITCHED:
        return None
    tested = [g for g in grafts if not g.guard.plain_is_universe()]
    if not all(_is_outer(g.guard, position) for g in tested):
        return None
    innermost = not any(isinstance(s, For) for g in grafts for stmt in g.code for s in walk(stmt))
    for graft in tested:
        opposite = coalesce(context.subtract(graft.guard)).gist(context)
        pieces = graft.guard.n_basic_set()
        # A condition of many tests is met too seldom for a loop of its own.
        simple = innermost and count_tests(graft.guard) <= 2 * pieces and pieces + opposite.n_basic_set() <= MOST_PIECES
        if (simple or pieces == opposite.n_basic_set() == 1) and _is_outer(opposite, position):
            return graft.guard, opposite
    return None


def count_statements(code: Sequence[Stmt]) -> int:
    """The statements in a piece of code, in loops and branches too."""
    return sum(isinstance(s, Assign | Reduce) for stmt in code for s in walk(Block((stmt,))))


def find_common(grafts: Sequence[Graft], position: int) -> isl.Set:
    """A condition of all grafts that does not depend on dimension `position` (the last) nor on anything inside: it
    can be tested further out. The set still has that dimension."""
    hull = _independent(grafts[0].guard, position)
    last = grafts[0].guard
    if all(g.guard is last or g.guard.plain_is_equal(last) for g in grafts) and _is_outer(last, position):
        return last
    for graft in grafts[1:]:
        if hull.plain_is_universe():
            break
        if graft.guard is not last and not graft.guard.plain_is_equal(last):
            hull = hull.union(_independent(graft.guard, position)).unshifted_simple_hull().to_set()
            last = graft.guard
    return hull if len(grafts) == 1 or not hull.plain_is_universe() else _either(grafts, position)


def _either(grafts: Sequence[Graft], position: int) -> isl.Set:
    """That one of two conditions holds: a loop in which neither does would run for nothing."""
    out = isl.Set.empty(grafts[0].guard.get_space())
    for graft in grafts:
        out = coalesce(out.union(_independent(graft.guard, position)))
        if out.n_basic_set() > 2:
            return isl.Set.universe(out.get_space())
    return out


def _is_outer(guard: isl.Set, position: int) -> bool:
    """Whether a condition (of any form) speaks of the outer dimensions only."""
    return not guard.involves_dims(SET, position, 1) and not any(
        basic.remove_divs_involving_dims(SET, position, 1).dim(isl.dim_type.div) < basic.dim(isl.dim_type.div)
        for basic in guard.get_basic_sets()
    )


def _independent(guard: isl.Set, position: int) -> isl.Set:
    """What a condition says whatever the value of a dimension."""
    if guard.plain_is_universe():
        return guard
    hull = convex_without_divisions(guard.unshifted_simple_hull(), position)
    return hull.drop_constraints_involving_dims(SET, position, 1).to_set()


def find_busy(grafts: Sequence[Graft], ensured: isl.Set, position: int) -> isl.Set:
    """Points of the outer dimensions outside of which a loop over dimension `position` with these bodies does nothing:
    it has no iteration (those are in `ensured`), or none in which a body does anything, whatever the guards say: these
    are simplified under conditions that this very answer may make superfluous."""
    out: isl.Set | None = None
    for graft in grafts:
        where = ensured if graft.busy is None else ensured.intersect(graft.busy)
        outer = with_known_divisions(where.project_out(SET, position, 1))
        if out is None:
            out = outer
        elif not outer.plain_is_equal(out):
            out = coalesce(out.union(outer))
            if out.n_basic_set() > MOST_ALTERNATIVES:
                out = out.simple_hull().to_set()
    return ensured.project_out(SET, position, 1) if out is None else out


def simplify_guard(guard: isl.Set, known: isl.Set) -> isl.Set:
    """What is left to test of a condition where something is known."""
    if guard.plain_is_universe():
        return guard
    if known.is_subset(guard):
        return isl.Set.universe(guard.get_space())
    # isl 0.28 crashes on some gists in the context of a union.
    return guard.gist(known if known.n_basic_set() <= 1 else known.simple_hull().to_set())
