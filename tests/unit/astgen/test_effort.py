"""What is counted when a nest runs, and what its text comes to."""

from __future__ import annotations

import pytest

from planish.astgen.checking.verify import record, trace_nest
from planish.astgen.code_size.effort import Effort, EffortLimitError, compile_nest, count_lines, flatten, measure
from planish.ir.expr import Binary, Compare, Const, Expr, Select, Unary, Var, index
from planish.ir.nest import Block, For, If, Let, Stmt
from planish.ir.text.parser import parse_expr
from planish.ir.types import BOOL

AT, N = index("i"), index("n")


def block(*stmts: Stmt) -> Block:
    return Block(stmts)


def loop(*body: Stmt, upper: Expr = N, step: int = 1) -> For:
    return For("i", index(0), upper, step, block(*body))


def less(a: Expr, b: int) -> Compare:
    return Compare("lt", a, index(b))


S, T = record("S", (AT,)), record("T", (AT,))


def test_a_loop() -> None:
    assert measure(block(loop(S)), {"n": 3}) == Effort(3, 0, 8, 2, 1)
    assert measure(block(loop(S, step=2)), {"n": 3}).control == 6
    assert measure(block(loop(S)), {"n": -1}).control == 2


def test_bounds_count_once_an_entry() -> None:
    upper = Binary("min", Binary("floordiv", N, index(2)), Select(less(N, 9), index(4), N))
    assert measure(block(loop(S, upper=upper)), {"n": 8}).control == 2 + 4 * 2 + 3


def test_bounds_in_the_condition_count_at_each_test() -> None:
    upper = Binary("min", Binary("floordiv", N, index(2)), index(9))
    lower = Binary("max", N, index(0))
    nest = block(For("i", lower, Binary("add", upper, N), 1, block(S)))
    for n, iterations in ((8, 4), (4, 2), (-3, 0)):
        once, each = (compile_nest(nest, at_each_test=x)({"n": n}, 99).effort for x in (False, True))
        assert (once.statements_run, each.statements_run) == (iterations, iterations)
        # The two operations of the upper bound once an entry, or at each test; that of the lower one once.
        assert once.control == 1 + 2 + 2 + 2 * iterations
        assert each.control == 1 + 2 + 2 + (2 + 2) * iterations


def test_conditions_decide_from_left_to_right() -> None:
    both = Binary("and", less(AT, 2), less(AT, 1))
    assert measure(block(loop(If(both, block(S)))), {"n": 4}) == Effort(1, 6, 10, 3, 1)
    either = Binary("or", less(AT, 2), Binary("or", less(AT, 3), less(AT, 1)))
    assert measure(block(loop(If(either, block(S)))), {"n": 4}).guards == 1 + 1 + 2 + 3


def test_divisions_extrema_and_flags_count_in_conditions() -> None:
    condition = Compare("eq", Binary("mod", Binary("max", AT, index(1)), index(3)), index(0))
    assert measure(block(loop(If(condition, block(S)))), {"n": 4}).guards == 4 * 3
    flag = block(Let("f", less(N, 3)), loop(If(Unary("not", Var("f", BOOL)), block(S))))
    effort = measure(flag, {"n": 5})
    assert (effort.guards, effort.control, effort.statements_run) == (5, 12 + 1, 5)
    assert measure(block(If(Const(True, BOOL), block(record("S", ())))), {}).guards == 0


def test_a_name_counts_where_its_value_reaches_control() -> None:
    half = Let("h", Binary("floordiv", N, index(2)))
    twice = Let("k", Binary("min", index("h"), index(9)))
    for_control = block(half, twice, loop(S, upper=index("k")))
    for_subscripts = block(half, twice, loop(record("S", (index("k"),))))
    assert measure(for_control, {"n": 4}).control == 2 + 2 * 2 + 2
    assert measure(for_subscripts, {"n": 4}).control == 2 + 4 * 2


def test_the_trace_is_that_of_the_interpreter() -> None:
    at = (parse_expr("i // 3 + min(i, n - i) * 2"), Binary("rem", Binary("sub", AT, index(2)), index(3)))
    inner = For("k", AT, Binary("add", AT, index(2)), 1, block(record("U", at)))
    nest = block(loop(S, If(less(AT, 2), block(T), block(inner)), record("V", at)))
    assert compile_nest(nest)({"n": 6}, 1000).trace == trace_nest(nest, {"n": 6}) != []


def test_an_inner_name_ends_with_its_block() -> None:
    nest = block(Let("h", N), Block((Let("h", index(7)), record("S", (index("h"),)))), record("S", (index("h"),)))
    assert compile_nest(nest)({"n": 2}, 10).trace == [("S", (7,)), ("S", (2,))]


def test_many_loops_and_long_conditions() -> None:
    nest = block(record("S", tuple(index(f"i{k}") for k in range(30))))
    for k in reversed(range(30)):
        nest = block(For(f"i{k}", index(k), index(k + 1), 1, nest))
    assert compile_nest(nest)({}, 1000).trace == [("S", tuple(range(30)))]
    condition: Expr = less(N, 0)
    for k in range(1, 400):
        condition = Binary("or", condition, less(N, k))
    assert measure(block(If(condition, block(record("S", ())))), {"n": 398}).guards == 400


def test_a_limit_ends_long_runs() -> None:
    with pytest.raises(EffortLimitError):
        measure(block(loop(S)), {"n": 10**15})


def test_lines_are_those_of_isl() -> None:
    yes, no = less(AT, 1), less(AT, 2)
    assert count_lines(block(S, T)) == 2
    assert count_lines(loop(S, T)) == 4  # for (…) { S; T; }
    assert count_lines(If(yes, block(loop(S)))) == 3
    assert count_lines(If(yes, block(S), block(T))) == 5  # if { S; } else { T; }
    assert count_lines(If(yes, block(S), block(If(no, block(T))))) == 5  # if { S; } else if { T; }
    assert count_lines(If(yes, block(S), block(If(no, block(T, T))))) == 6
    assert count_lines(If(yes, block(S), block(If(no, block(T), block(S))))) == 7
    assert count_lines(block(Let("k", N), Block((S,)))) == 2


def test_chains() -> None:
    a, b, c = less(AT, 1), less(AT, 2), less(AT, 3)
    assert flatten(Binary("and", Binary("and", a, b), c), "and") == [a, b, c]
    assert flatten(Binary("or", a, Binary("or", b, c)), "or") == [a, b, c]
    assert flatten(Binary("or", a, Binary("and", b, c)), "or") == [a, Binary("and", b, c)]
