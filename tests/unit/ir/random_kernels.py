"""Random kernels for the text form: every node type, names that are keywords, types that need not agree."""

from __future__ import annotations

import math
from typing import get_args

from hypothesis import strategies as st

from planish.ir import expr as e
from planish.ir import nest as n
from planish.ir.types import ALL_TYPES, BOOL, F64, INDEX

names = st.sampled_from(["i", "n", "A", "B", "s", "step", "min", "f64", "sqrt", "in", "x_1", "let", "inf", "select"])
types = st.sampled_from(ALL_TYPES)
numbers = st.one_of(
    st.builds(e.Const, st.integers(-(2**63), 2**63 - 1), st.sampled_from([INDEX, *ALL_TYPES])),
    st.builds(e.Const, st.floats(allow_nan=False), types),
    st.builds(e.Const, st.just(math.nan), st.just(F64)),
    st.builds(e.Const, st.booleans(), st.just(BOOL)),
)
leaves = st.one_of(numbers, st.builds(e.Var, names, types), st.builds(e.Load, names, st.just(()), types))


def _larger(inner: st.SearchStrategy[e.Expr]) -> st.SearchStrategy[e.Expr]:
    def many(least: int) -> st.SearchStrategy[tuple[e.Expr, ...]]:
        return st.lists(inner, min_size=least, max_size=3).map(tuple)

    return st.one_of(
        st.builds(e.Load, names, many(0), types),
        st.builds(e.Unary, st.sampled_from(get_args(e.UnaryOp)), inner),
        st.builds(e.Binary, st.sampled_from(get_args(e.BinaryOp)), inner, inner),
        st.builds(e.Compare, st.sampled_from(get_args(e.CompareOp)), inner, inner),
        st.builds(e.Select, inner, inner, inner),
        st.builds(e.Cast, inner, types),
        st.builds(e.Call, st.sampled_from(["sqrt", "fma", "min", "quo", "f32", "abs"]), many(1)),
    )


exprs = st.recursive(leaves, _larger, max_leaves=8)
small = st.recursive(leaves, _larger, max_leaves=3)
operators = st.sampled_from(get_args(n.ReduceOp))
memories = st.sampled_from(n.PLAIN_MEMORIES)
indexes = st.lists(small, max_size=3).map(tuple)
facts = st.builds(
    n.LoopFacts, st.booleans(), st.booleans(), st.lists(st.tuples(operators, names), max_size=2).map(tuple),
    st.integers(0, 8),
)  # fmt: skip
arrays = st.builds(
    n.Array, names, types, st.lists(st.one_of(st.none(), small), max_size=3).map(tuple), st.booleans(), memories
)
simple = st.one_of(
    st.builds(n.Assign, names, indexes, exprs),
    st.builds(n.Reduce, names, indexes, operators, exprs),
    st.builds(n.Alloc, arrays),
    st.builds(n.Let, names, exprs),
)


def _compound(inner: st.SearchStrategy[n.Stmt]) -> st.SearchStrategy[n.Stmt]:
    blocks = st.lists(inner, max_size=3).map(lambda body: n.Block(tuple(body)))
    return st.one_of(
        blocks,
        st.builds(n.If, small, blocks, blocks),
        st.builds(n.For, names, small, small, st.integers(-2, 4), blocks, facts),
    )


statements = st.recursive(simple, _compound, max_leaves=5)
kernels = st.builds(
    n.Kernel,
    names,
    st.lists(names, max_size=2).map(tuple),
    st.lists(st.builds(n.Scalar, names, types), max_size=2).map(tuple),
    st.lists(arrays, max_size=3).map(tuple),
    st.lists(statements, max_size=3).map(lambda body: n.Block(tuple(body))),
    st.lists(small, max_size=2).map(tuple),
)
