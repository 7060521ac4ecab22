"""Random schedule trees: the nest runs exactly the scheduled instances, in order.

>>> check_tree(1)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import islpy as isl
import pytest
from tests.property.sampling import one_in
from tests.property.trees import make_tree

from planish.astgen.checking.verify import check_nest, compare_traces, list_instances, record, trace_nest
from planish.astgen.generate import generate
from planish.ir.nest import Block, For, Stmt
from planish.ir.traverse import map_block, walk
from planish.poly.isl.op_budget import budget

TREES = 240
STEP = 20
WORK_LIMIT = 10_000_000
SLOW = frozenset({12, 60, 93, 98, 186, 191})
"""Trees whose loops run through very many values at which nothing is to be done."""


def check_tree(seed: int) -> str | None:
    """What is wrong with the nests of a tree; trees that are too much work for isl count as right."""
    tree = make_tree(seed)
    for sizes in tree.sizes:
        try:
            with budget(isl.DEFAULT_CONTEXT, WORK_LIMIT):
                fault = check_nest(tree.schedule, sizes)
        except isl.Error as error:
            if "maximal number" not in str(error):
                raise
            return None
        if fault is not None:
            return f"tree {seed} for {sizes}: {fault}\n{tree.schedule}"
    return None


@pytest.mark.parametrize("first", one_in(7, range(0, TREES, STEP)))
def test_nests_run_what_is_scheduled(first: int) -> None:
    for seed in range(first, first + STEP):
        if seed not in SLOW:
            fault = check_tree(seed)
            assert fault is None, fault


def test_trees_have_every_kind_of_node() -> None:
    found: Counter[str] = Counter()
    for seed in range(TREES):
        text = str(make_tree(seed).schedule)
        kinds = ("set:", "sequence:", "guard:", "context:", "expansion:", "extension:")
        found += Counter(k for k in kinds if k in text)
        found += Counter(k for k in ("mark:", "separate", "unroll", "atomic", "mod 3", "isolate") if k in text)
    assert len(found) == 12 and min(found.values()) >= 10


def test_a_wrong_nest_is_found_out() -> None:
    """The check says something about nests that were spoilt on purpose."""
    caught: Counter[str] = Counter()
    for seed in range(30):
        tree = make_tree(seed)
        nest = generate(tree.schedule, record, frozenset({"n", "m"}))
        if not any(isinstance(s, For) for s in walk(nest)):
            continue
        for sizes in tree.sizes:
            wanted = list_instances(tree.schedule, sizes)
            assert compare_traces(trace_nest(nest, sizes), wanted) is None
            for fault in ("shorter", "longer", "swapped"):
                spoilt = map_block(partial(_spoil, fault=fault), nest)
                caught[fault] += compare_traces(trace_nest(spoilt, sizes), wanted) is not None
    assert len(caught) == 3 and min(caught.values()) >= 5


def _spoil(stmt: Stmt, fault: str) -> Stmt:
    match stmt, fault:
        case For(), "shorter":
            return replace(stmt, upper=stmt.lower)
        case For(), "longer":
            return replace(stmt, body=Block((*stmt.body.body, *stmt.body.body)))
        case For(), _:
            return replace(stmt, body=Block(tuple(reversed(stmt.body.body))))
        case _:
            return stmt
