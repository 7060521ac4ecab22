"""Columns of elements that several stages are over: what is done with each, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from planish.ir.nest import Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.types import F32
from planish.library.kernels.vectors import find_vectors
from planish.library.signal.fft_stages.butterfly_columns import NoColumnsError, read_columns
from planish.library.signal.fft_stages.column_loops import (
    allows_squares,
    reach,
    write_neighbours,
    write_rows,
    write_squares,
)


def kernel(*bodies: str, arrays: str = "a: f32[?], b: f32[?]") -> Kernel:
    """Stages, the first of rows that are twice as near as those of the next one."""
    out = []
    for number, body in enumerate(bodies):
        span, steps = 1 << number, 1 << len(bodies) - 1 - number
        body = body.replace("LOW", f"{2 * span} * h * i + j").replace("HIGH", f"{2 * span} * h * i + j + {span} * h")
        out.append(f"for i in 0 .. {steps} * s {{ for j in 0 .. {span} * h {{ {body} }} }}")
    return parse_kernel(f"kernel k(h, s; {arrays}) {{ {' '.join(out)} }}")


HAAR = "alloc x: f32[] x[] = a[LOW] a[LOW] = x[] + a[HIGH] a[HIGH] = x[] - a[HIGH]"
OTHERS = "a[LOW] += 2.0:f32 * a[HIGH] let t = a[LOW] * b[HIGH] b[LOW] = t b[HIGH] = t - a[LOW]"


@pytest.mark.parametrize("bodies", [(HAAR,) * 3, (OTHERS,) * 2, (HAAR, OTHERS, HAAR, HAAR)])
@pytest.mark.parametrize("unit", [1, 3])
def test_columns_mean_what_stages_do(bodies: tuple[str, ...], unit: int) -> None:
    stages = kernel(*bodies)
    columns, steps = read_columns(stages, "h", "s"), 19
    made = [write_rows(stages, columns)]
    if unit == 1:
        vectors = find_vectors("avx2", F32)
        made.append(write_neighbours(stages, columns))
        assert allows_squares(columns, vectors) == (len(bodies) > 2)
        if len(bodies) > 2:
            made.append(write_squares(stages, columns, vectors))
    start = np.random.default_rng(1).integers(-9, 9, (2, unit * steps << len(bodies))).astype("float32")
    want = start.copy()
    run_kernel(stages, {"h": unit, "s": steps, "a": want[0], "b": want[1]})
    for other in made:
        got = start.copy()
        shapes = {x.name: (-1, x.shape[1].value) if len(x.shape) > 1 else (-1,) for x in other.arrays}  # type: ignore[union-attr]
        run_kernel(other, {"h": unit, "s": steps, "a": got[0].reshape(shapes["a"]), "b": got[1].reshape(shapes["b"])})
        assert np.array_equal(got, want)


PAIR = (
    "alloc c: f32[] c[] = b[j * t] for i in 0 .. STEPS * s {"
    " alloc x: f32[] x[] = a[2 * LOW + 1] * c[] a[2 * LOW + 1] = a[2 * HIGH] - x[] a[2 * HIGH] += x[] }"
)


def test_columns_of_pairs_read_factors() -> None:
    """What is read before the inner loop is read in each column, of two numbers side by side in each row."""
    out = []
    for number in range(2):
        span, steps = 1 << number, 2 >> number
        body = PAIR.replace("STEPS", str(steps)).replace("j * t", f"{steps} * j * t")
        low = f"({2 * span} * h * i + j)"
        body = body.replace("LOW", low).replace("HIGH", f"({low} + {span} * h)")
        out.append(f"for j in 0 .. {span} * h {{ {body} }}")
    stages = parse_kernel(f"kernel k(h, s, t; a: f32[?], b: f32[?]) {{ {' '.join(out)} }}")
    columns = read_columns(stages, "h", "s")
    assert [(x.at, x.loads, x.stores) for x in columns.places if x.at in (0, 1)] == [(1, True, True)]
    assert (columns.lines["a"].rows, columns.lines["a"].width) == (4, 2)
    start = np.random.default_rng(1).integers(-9, 9, 2 * 4 * 3 * 5).astype("float32")
    factors = np.arange(64, dtype="float32") % 5
    want, got = start.copy(), start.copy()
    run_kernel(stages, {"h": 3, "s": 5, "t": 4, "a": want, "b": factors})
    made = write_rows(stages, columns)
    run_kernel(made, {"h": 3, "s": 5, "t": 4, "a": got, "b": factors})
    assert np.array_equal(got, want)
    (over,) = reach(stages, columns).body.body
    assert len(over.body.body[0].body.body) == 2 + 3  # type: ignore[union-attr]


def test_what_is_reached_are_the_ends_of_columns() -> None:
    stages = kernel(HAAR, HAAR)
    (over,) = reach(stages, read_columns(stages, "h", "s")).body.body
    assert len(over.body.body[0].body.body) == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("a[LOW + 1] = a[LOW]", "many rows apart"),
        ("a[2 * j] = a[j]", "not read in rows"),
        ("a[LOW] = a[HIGH + 4 * h]", "elements of `a` in common"),
        ("a[LOW] = a[4 * h * i + j]", "many rows apart"),
        ("if b[0] > 1.0:f32 { a[LOW] = 1.0:f32 }", "more than to set"),
        ("a[LOW] = select(b[0] > 1.0:f32, a[HIGH], 1.0:f32)", "depends on a condition"),
        ("for q in 0 .. 4 { a[LOW] += 1.0:f32 }", "same elements"),
        ("alloc x: f32[] x[] = a[LOW]", "nothing is set"),
    ],
)
def test_no_columns(body: str, reason: str) -> None:
    with pytest.raises(NoColumnsError, match=reason):
        read_columns(kernel(body), "h", "s")
