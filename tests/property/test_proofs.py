"""Random schedule trees, proven: generated nests are never found wrong, spoilt ones are never proven right.

>>> prove_spoilt(1) in (True, None)
True
"""

from __future__ import annotations

import random
from dataclasses import replace

import islpy as isl
import pytest
from tests.property.sampling import one_in
from tests.property.trees import make_tree

from planish.astgen.checking.symbolic import verify_tree
from planish.astgen.checking.times import list_times, tree_times
from planish.astgen.checking.verify import compare_traces, list_instances, record, trace_nest
from planish.astgen.generate import generate
from planish.ir.expr import Binary, index
from planish.ir.nest import Assign, Block, For, If, Stmt
from planish.ir.traverse import map_block, walk
from planish.poly.isl.op_budget import budget, is_used_up

WORK_LIMIT = 5_000_000
TREES = 80
STEP = 20


def make_nest(seed: int) -> Block | None:
    """The nest of a seed's tree; None where that is too much work for isl."""
    with budget(isl.DEFAULT_CONTEXT, WORK_LIMIT):
        try:
            return generate(make_tree(seed).schedule, record, frozenset({"n", "m"}))
        except (isl.Error, TypeError):
            if not is_used_up(isl.DEFAULT_CONTEXT):
                raise
    return None


@pytest.mark.parametrize("first", one_in(4, range(0, TREES, STEP)))
def test_nests_are_proven(first: int) -> None:
    proven = 0
    for seed in range(first, first + STEP):
        nest = make_nest(seed)
        if nest is not None:
            verdict = verify_tree(nest, make_tree(seed).schedule, None, WORK_LIMIT)
            assert verdict.answer != "differs", f"tree {seed}: {verdict}"
            proven += verdict.answer == "proven"
    assert proven >= STEP * 3 // 4


@pytest.mark.parametrize("first", one_in(4, range(0, TREES, STEP)))
def test_spoilt_nests_are_not(first: int) -> None:
    found = [prove_spoilt(seed) for seed in range(first, first + STEP)]
    assert False not in found, f"tree {first + found.index(False)}"
    assert found.count(True) >= STEP // 4


def prove_spoilt(seed: int) -> bool | None:
    """Whether the nest with one statement changed is not proven; None where runs show no difference."""
    tree, nest = make_tree(seed), make_nest(seed)
    if nest is None:
        return None
    spoilt = spoil(nest, random.Random(seed))
    traces = ((trace_nest(spoilt, sizes), list_instances(tree.schedule, sizes)) for sizes in tree.sizes)
    if all(compare_traces(ran, wanted) is None for ran, wanted in traces):
        return None
    return verify_tree(spoilt, tree.schedule, None, WORK_LIMIT).answer != "proven"


@pytest.mark.parametrize("first", range(0, TREES, STEP))
def test_times_are_those_that_are_listed(first: int) -> None:
    listed = 0
    for seed in range(first, first + STEP):
        tree = make_tree(seed)
        times = tree_times(tree.schedule)
        for sizes in tree.sizes:
            ours, theirs = list_times(times, sizes), list_instances(tree.schedule, sizes)
            # Where a tree has sets, times have other numbers; the instances are the same all the same.
            assert sorted(x for _, x in ours) == sorted(x for _, x in theirs), seed
            if not times.paired:
                assert compare_traces([x for _, x in ours], theirs) is None, seed
            listed += len(ours)
    assert listed > 100


def spoil(nest: Block, rng: random.Random) -> Block:
    """The nest with one statement changed."""
    places = [x for x in walk(nest) if isinstance(x, For | If | Assign)]
    if not places:
        return nest
    target, kind = rng.choice(places), rng.randrange(3)
    left = [True]

    def change(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if stmt != target or not left:
            return stmt
        left.clear()
        match stmt, kind:
            case For(), 0:
                return replace(stmt, upper=Binary("add", stmt.upper, index(1)))
            case For(), 1:
                return replace(stmt, lower=Binary("add", stmt.lower, index(1)))
            case For(), _:
                return replace(stmt, body=Block(tuple(reversed(stmt.body.body))))
            case If(), 0:
                return stmt.then.body
            case Assign(), 0 | 1:
                return (stmt, stmt)
            case _:
                return ()

    return map_block(change, nest)
