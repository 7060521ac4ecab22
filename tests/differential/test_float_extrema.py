"""Extrema by fmax and fmin, in lanes: what comes out beside NaN in all places, and where they begin with one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compiled import compile_text

from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file

TEXT = """
#include <math.h>
void rows(int n, const float *restrict x, float *restrict r)
{
    for (int i = 0; i < 3; i++) {
        float most = -INFINITY;
        for (int j = 0; j < n; j++)
            most = fmaxf(most, x[i * n + j]);
        r[i] = most;
    }
}
void peak(int n, const float *restrict x, float *restrict r)
{
    float p = r[0];
    for (int i = 0; i < n; i++)
        p = fmaxf(fabsf(x[i]), p);
    r[0] = p;
}
void bounds(int n, const float *restrict x, float *restrict r)
{
    float a = r[0], b = r[1];
    for (int i = 0; i < n; i++) {
        a = fminf(a, x[i]);
        b = fmaxf(b, x[i]);
    }
    r[0] = a, r[1] = b;
}
void product(int n, const float *restrict x, float *restrict r)
{
    float p = r[2];
    for (int i = 0; i < n; i++)
        p = fmaxf(p * 0.5f, x[i]);
    r[2] = p;
}
"""
NAMES = ("rows", "peak", "bounds", "product")


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Callable[..., None], ...]]:
    built = build_file(Source("extrema.c", TEXT), Options(measure=False))
    assert built.text.count("planish_max_f32") >= 3 and "p == p" in built.text
    libraries = []
    for name, text in (("original", TEXT), ("ours", built.text)):
        (folder := Path(tmp_path_factory.mktemp(name))).mkdir(exist_ok=True)
        libraries.append(compile_text(text, folder))
    return {x: tuple(getattr(y, x) for y in libraries) for x in NAMES}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("begin", [0.5, -np.inf, np.nan])
def test_they_are_those_of_the_functions(
    functions: dict[str, tuple[Callable[..., None], ...]], name: str, begin: float
) -> None:
    source = np.random.default_rng(3)
    for n in (0, 1, 15, 16, 17, 300):
        for share in (0.0, 0.1, 1.0):
            values = source.standard_normal(3 * n + 1).astype(np.float32)
            values[source.random(3 * n + 1) < share] = np.nan
            results = []
            for function in functions[name]:
                result = np.full(3, begin, np.float32)
                function(n, values.ctypes, result.ctypes)
                results.append(result)
            assert np.array_equal(*results, equal_nan=True), (n, share)
