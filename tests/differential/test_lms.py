"""Adaptive filters that look ahead, compiled, with what lies around their arrays, beside the loops as written."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from test_raised_versions import NATIVE, DropIn, compile_both, enclosed
from test_raised_versions import pytestmark as pytestmark
from tests.property.sampling import slow

from planish.core.span import Source
from planish.library.signal.lms.look_ahead import lookahead_versions
from planish.options import Options
from planish.pipeline import build_file

FILTERS = """\
void lms(int n, int taps, TYPE mu, const TYPE *x, const TYPE *d, TYPE *w, TYPE *y, TYPE *e)
{
    for (int i = 0; i < n; i++) {
        const TYPE *px = &x[i];
        TYPE acc = 0;
        for (int k = 0; k < taps; k++)
            acc += w[k] * px[k];
        y[i] = acc;
        e[i] = d[i] - acc;
        TYPE step = mu * e[i];
        for (int k = 0; k < taps; k++)
            w[k] += step * px[k];
    }
}
void learn(int n, int taps, TYPE mu, const TYPE *x, const TYPE *d, TYPE *w, TYPE *y, TYPE *e)
{
    for (int i = 0; i < n; i++) {
        e[i] = y[i] = d[i];
        for (int k = 0; k < taps; k++)
            e[i] -= x[i * taps + k] * w[k];
        y[i] += e[i];
        for (int k = 0; k < taps; k++)
            w[k] = w[k] + 2 * mu * e[i] * x[i * taps + k];
    }
}
void past(int n, int taps, TYPE mu, const TYPE *x, const TYPE *d, TYPE *w, TYPE *y, TYPE *e)
{
    for (int i = 0; i < n; i++) {
        TYPE sum = 0;
        for (int k = 0; k < taps; k++)
            sum += w[k] * x[i + taps - 1 - k];
        y[i] = sum;
        e[i] = d[i] - sum;
        for (int k = 0; k < taps; k++)
            w[k] += mu * e[i] * x[i + taps - 1 - k];
    }
}
"""
TYPES = {"float": ("float32", 1e-5), "double": ("float64", 1e-13)}
SIZES = ((0, 0), (0, 7), (7, 0), (1, 1), (5, 16), (6, 1), (13, 3), (32, 31), (33, 33), (64, 64), (50, 100))


WAYS = [("float", False), ("double", True), slow(("float", True)), slow(("double", False))]


@pytest.fixture(scope="module", params=WAYS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, DropIn, DropIn]:
    """The type, the loops as they are written, and the drop-in that looks ahead by long or short blocks, whatever the
    clock would say of it."""
    folder = tmp_path_factory.mktemp("lookahead")
    type, fewer = request.param
    text = FILTERS.replace("TYPE", type)
    plain, made = compile_both(text, lambda x: lookahead_versions(x, NATIVE)[-1 if fewer else 0], folder)
    return type, plain, made


@pytest.mark.parametrize("name", ["lms", "learn", "past"])
def test_filters_look_ahead(name: str, built: tuple[str, DropIn, DropIn]) -> None:
    type, plain, made = built
    assert f"planish_{name}" in made.text
    near = TYPES[type][1]
    for n, taps in SIZES:
        counts = (n * taps if name == "learn" else n + taps, n, taps, n, n)
        results, before = [], made.fallbacks
        for library in (plain, made):
            arrays = [enclosed(TYPES[type][0], count, seed) for seed, count in enumerate(counts)]
            step = (ctypes.c_float if type == "float" else ctypes.c_double)(0.01)
            getattr(library.library, name)(n, taps, step, *(ctypes.c_void_p(x.ctypes.data) for x, _ in arrays))
            results.append([whole for _, whole in arrays])
        assert all(np.allclose(a, b, near, near) for a, b in zip(*results, strict=True)), (n, taps)
        # Rows that no declaration gives are no array type of C where they are empty.
        assert made.fallbacks - before == (name == "learn" and taps == 0), (n, taps)


def test_a_build_verifies_them_and_takes_one() -> None:
    text = FILTERS.split("void learn")[0].replace("TYPE", "float")
    options = Options(sizes={"n": 16384, "taps": 64}, measure=False)
    (function,) = build_file(Source("filters.c", text), options).functions
    assert function.selection is not None
    verdicts = [x for x in function.selection.remarks if x.message.startswith("lms-block")]
    assert not [x for x in verdicts if x.id.startswith("verify")], verdicts
    assert function.selection.version is not None and function.selection.version.label.startswith("lms-block")
