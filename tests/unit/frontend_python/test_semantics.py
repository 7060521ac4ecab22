"""Corners of what Python means: names that outlive loops, conditions on data, truth values, and closures."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planish.frontend.python.annotations as planish
from planish.core.diagnostic import PlanishError
from planish.frontend.python.annotations import boolean, f16, f32, f64, i16, i64, size, sizes, u64
from planish.frontend.python.reader import read_python, read_python_source
from planish.frontend.python.signature import bind_call
from planish.ir.nest import Alloc, For, Reduce
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.traverse import walk

n, m = sizes("n m")
Matrix: Any = f64["n", "n"]


def _agrees(function: Callable[..., None], *arguments: Any) -> None:
    """The kernel leaves the arrays as the function does."""
    mine = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    theirs = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    with np.errstate(all="ignore"):
        function(*theirs)
    read = read_python(function)
    run_kernel(read.kernel, bind_call(read.signature, mine, {}))
    for one, other in zip(mine, theirs, strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)


def _reals(count: int, seed: int = 0, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).random(count) - 0.4).astype(dtype)


def last_index(n: size, A: f64[n]) -> None:
    at = -1
    start = 2
    for i in range(n):
        at = i
        A[i] += start
        start = 3
    A[0] += at * 10 + start


def test_an_index_that_is_read_after_its_loop_is_a_cell() -> None:
    _agrees(last_index, 4, _reals(4))


def reused(n: size, A: f64[n], B: f64[n]) -> None:
    s = 0.0
    for i in range(n):
        s += A[i]
    B[0] = s
    for i in range(n):
        s = A[i] * 2
        B[i] += s
    s = 1.0
    for i in range(1, n):
        s *= B[i]
    A[0] = s


def test_a_name_that_is_set_anew_is_several_cells() -> None:
    _agrees(reused, 5, _reals(5), _reals(5, 1))
    cells = [x for x in walk(read_python(reused).kernel.body) if isinstance(x, Alloc)]
    assert len({x.array.name for x in cells}) == 3


def either(n: size, A: f64[n], B: f64[n]) -> None:
    for i in range(n):
        if i % 2 == 0:
            t = A[i]
            k = i
        else:
            t = B[i] + 1
            k = i
        A[k] = t
        if A[i] > 0:
            if B[i] > 0:
                A[i], B[i] = B[i] * 2, A[i] - 1
            elif i > 1:
                B[i] = A[i]
            B[i] += 1
        else:
            B[i] -= 1


def test_branches_of_both_kinds() -> None:
    _agrees(either, 9, _reals(9), _reals(9, 1))


def in_order(n: size, A: f64[n], B: f64[n]) -> None:
    for i in range(n - 1):
        if A[i] > A[i + 1]:
            A[i], A[i + 1] = A[i + 1], A[i]
        if B[i] < 0.2:
            B[i] = B[i + 1] = 0.25
        else:
            B[i + 1], B[i] = 0.5, A[i]


def test_pairs_are_set_under_a_condition_as_it_was_before() -> None:
    _agrees(in_order, 9, _reals(9), _reals(9, 1))


def flagged(n: size, A: f16[n], on: boolean[n], count: u64[1], limit: i64) -> None:
    for i in range(n):
        on[i] = A[i] > 0 or not on[i]
        if on[i] and i < limit:
            count[0] += 3
        on[i] ^= A[i] < 0.25
        A[i] = A[i] * 1.5 + i16(i)


def test_truth_values_half_precision_and_unsigned_counts() -> None:
    _agrees(flagged, 8, _reals(8, 2, "float16"), np.arange(8) % 3 == 0, np.zeros(1, "uint64"), 5)


def test_names_from_a_closure_and_a_module() -> None:
    factor, taps = 0.25, 3

    def smooth(A: planish.f64[n], B: planish.f64[n - 2]) -> None:
        for i in range(len(B)):
            for j in range(taps):
                B[i] += factor * A[i + j]

    _agrees(smooth, _reals(6), _reals(4, 1))


def identity(n: size, A: Matrix) -> None:
    for i in range(n):
        for j in range(n):
            A[i, j] = 1 if i == j else 0


def test_an_alias_of_an_annotation() -> None:
    _agrees(identity, 3, _reals(9).reshape(3, 3))


def _kept(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def wrapper(*arguments: object) -> None:
        function(*arguments)

    return wrapper


@_kept
def decorated(n: size, A: f64[n]) -> None:
    for i in range(n):
        A[i] = 0


def test_a_decorated_function_is_found() -> None:
    _agrees(decorated, 3, _reals(3))


def summed(n: size, A: f32[n], B: f64[1], C: f32[1]) -> None:
    for i in range(n):
        B[0] += A[i]
        C[0] = C[0] + A[i] * A[i]
        C[0] -= 0.5


def test_updates_are_reductions() -> None:
    _agrees(summed, 6, _reals(6, 3, "float32"), _reals(1), _reals(1, 5, "float32"))
    stmts = [x for x in walk(read_python(summed).kernel.body) if isinstance(x, Reduce)]
    assert [x.op for x in stmts] == ["add"] * 3


def test_sizes_from_shapes_serve_in_the_body() -> None:
    head = 'def f(A: f32["rows", "2 * n"]):\n    for i in range(rows):\n'
    text = head + "        for j in range(n):\n            A[i, 2 * j] = j\n"
    read = read_python_source(text, "x.py")
    assert read.kernel.sizes == ("rows", "n")
    array = np.ones((2, 6), "float32")
    run_kernel(read.kernel, bind_call(read.signature, (array,), {}))
    assert array.tolist() == [[0, 1, 1, 1, 2, 1]] * 2


def test_accesses_that_sizes_decide_become_assumptions() -> None:
    head = 'def f(k: size, A: f32["n"], B: f32["n"]):\n'
    text = head + "    for i in range(len(A)):\n        B[i] = A[i - k] if i >= k else 0\n"
    kernel = read_python_source(text, "x.py").kernel
    ones = np.ones(3, "float32")
    run_kernel(kernel, {"k": 1, "n": 3, "A": ones, "B": ones.copy()})
    with pytest.raises(ValueError, match="assumption"):
        run_kernel(kernel, {"k": -1, "n": 3, "A": ones, "B": ones.copy()})


def test_downward_loops_keep_the_name_and_count_up() -> None:
    text = 'def f(n: size, A: f32["n"]):\n    for i in range(n - 1, -1, -2):\n        A[i] = i\n'
    kernel = read_python_source(text, "x.py").kernel
    (loop,) = kernel.body.body
    assert isinstance(loop, For) and loop.var == "i" and loop.step == 1
    array = np.full(7, -1, "float32")
    run_kernel(kernel, {"n": 7, "A": array})
    assert array.tolist() == [0, -1, 2, -1, 4, -1, 6]


@settings(max_examples=60, deadline=None)
@given(st.integers(-6, 9), st.integers(-6, 9), st.integers(-4, 4).filter(bool))
def test_any_range_visits_what_python_visits(start: int, stop: int, step: int) -> None:
    text = f"def f(A: i64[40]):\n    for i in range({start}, {stop}, {step}):\n        A[2 * i + 18] = i + 100\n"
    visited = np.zeros(40, "int64")
    run_kernel(read_python_source(text, "x.py").kernel, {"A": visited})
    expected = np.zeros(40, "int64")
    for i in range(start, stop, step):
        expected[2 * i + 18] = i + 100
    np.testing.assert_array_equal(visited, expected)


OPERANDS = ["A[i]", "B[i]", "C[i]", "D[i]", "i", "3", "2.5", "x", "y"]
TYPES = {"A": "float32", "B": "float64", "C": "int32", "D": "uint8"}


@st.composite
def _expressions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(OPERANDS))
    one, other = draw(_expressions(depth - 1)), draw(_expressions(depth - 1))
    # A choice between two types is either of them in Python, and always the wider one in a kernel: f64(…) agrees.
    choices = ["f64(min({}, {}))", "f64(max({}, {}))", "f64({0} if {0} < {1} else {1})"]
    form = draw(st.sampled_from(["({} + {})", "({} - {})", "({} * {})", *choices]))
    return form.format(one, other)


@settings(max_examples=150, deadline=None)
@given(_expressions(), st.sampled_from(sorted(TYPES)))
def test_any_expression_is_typed_as_numpy_types_it(expression: str, target: str) -> None:
    parameters = ", ".join(f'{name}: {np.dtype(t).kind}{np.dtype(t).itemsize * 8}["n"]' for name, t in TYPES.items())
    text = f"def f({parameters}, x: f32, y: float):\n    for i in range(n):\n        {target}[i] = {expression}\n"
    arrays = {name: (np.arange(1, 5) * 7 % 11).astype(t) for name, t in TYPES.items()}
    values: dict[str, Any] = {"n": 4, "x": np.float32(1.25), "y": 0.75}
    expected = {name: x.copy() for name, x in arrays.items()}
    scope: dict[str, Any] = {"f64": f64}
    exec("from __future__ import annotations\n" + text, scope)
    with np.errstate(all="ignore"):
        try:
            scope["n"] = 4
            scope["f"](**expected, x=values["x"], y=values["y"])
        except OverflowError:
            return  # NumPy refuses a Python integer that does not fit; a kernel wraps it.
    if any(not _fits(x, np.dtype(TYPES[target])) for x in expected[target].tolist()):
        return
    try:
        kernel = read_python_source(text, "x.py").kernel
        run_kernel(kernel, {**values, **arrays})
    except ArithmeticError:
        return  # A float that does not fit an integer type.
    np.testing.assert_array_equal(arrays[target], expected[target], err_msg=text)


def _fits(value: float, dtype: np.dtype[Any]) -> bool:
    return bool(np.isfinite(value)) or dtype.kind != "f"


def test_the_diagnostic_shows_the_users_own_line() -> None:
    def bad(n: size, A: f64[n]) -> None:
        for i in range(n):
            A[i] = A[2 * i + n]

    with pytest.raises(PlanishError) as caught:
        read_python(bad)
    assert "A[i] = A[2 * i + n]\n" in str(caught.value)
    assert str(caught.value).splitlines()[1].split(":")[0].endswith("test_semantics.py")
