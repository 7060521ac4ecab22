"""Cascades with a stage in each lane, compiled, with what lies around their arrays, beside the loops as written."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from test_lms import TYPES
from test_raised_versions import NATIVE, DropIn, compile_both, enclosed
from test_raised_versions import pytestmark as pytestmark

from planish.library.signal.biquad.lane_pipeline import cascade_versions
from planish.schedule.auto.plan import Prepared, Version

HEAD = "void {}(int n, int m, TYPE *x, TYPE *restrict y, const TYPE *restrict c, TYPE *restrict z)\n"
BODIES = {
    "biquads": """\
    while (n-- > 0) {
        const TYPE *a = c;
        TYPE *w = z, s = *x++;
        for (int k = m; k > 0; k--) {
            TYPE out = a[0] * s + w[0];
            w[0] = a[1] * s - a[3] * out + w[1];
            w[1] = a[2] * s - a[4] * out;
            s = out;
            a += 5;
            w += 2;
        }
        *y++ = s;
    }
""",
    "lattice": """\
    for (int t = 0; t < n; t++) {
        TYPE f = x[t], g = x[t];
        for (int k = 0; k < m; k++) {
            TYPE old = z[k];
            z[k] = g;
            g = c[k] * f + old;
            f = f + c[k] * old;
        }
        y[t] = f - x[t];
    }
""",
    "poles": """\
    for (int t = 0; t < n; t++) {
        TYPE s = x[t], o = 0;
        for (int k = 2; k < m; k++) {
            z[k] += c[k] * (s - z[k]);
            o = z[k] > 1 ? 1 : z[k];
            s = o;
        }
        x[t] = o;
    }
    (void)y;
""",
    "in_place": """\
    for (int t = 0; t < n; t++)
        for (int k = 0; k < m; k++) {
            TYPE in = x[t], out = c[5 * k] * in + z[2 * k];
            z[2 * k] = c[5 * k + 1] * in + z[2 * k + 1] - c[5 * k + 3] * out;
            z[2 * k + 1] = c[5 * k + 2] * in - c[5 * k + 4] * out;
            x[t] = out;
        }
    (void)y;
""",
    "sections_first": """\
    for (int t = 0; t < n; t++) {
        y[t] = x[t];
        for (int k = 0; k < m; k++) {
            TYPE w = y[t] - c[k] * z[k];
            y[t] = w + c[m + k] * z[k];
            z[k] = w;
        }
        y[t] = y[t] * c[0];
    }
""",
}
TEXT = "".join(f"{HEAD.format(name)}{{\n{body}}}\n" for name, body in BODIES.items())
SIZES = [(n, m) for n in (0, 1, 2, 15, 33, 66, 101) for m in (0, 1, 2, 4, 7, 8, 9, 16, 17, 33)]


@pytest.fixture(scope="module", params=[("float", True), ("double", False)])
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, float, DropIn, DropIn]:
    """The type, how near results have to be, the loops as they are written, and the drop-in with stages in lanes,
    whatever the clock would say of it."""
    folder = tmp_path_factory.mktemp("cascades")
    type, reassociate = request.param
    text = TEXT.replace("TYPE", type)

    def choose(prepared: Prepared) -> Version:
        (only,) = cascade_versions(prepared, NATIVE, reassociate)
        return only

    plain, made = compile_both(text, choose, folder, "reassociate" if reassociate else "strict")
    return type, TYPES[type][1] if reassociate else 0.0, plain, made


@pytest.mark.parametrize("name", BODIES)
def test_stages_in_lanes(name: str, built: tuple[str, float, DropIn, DropIn]) -> None:
    type, near, plain, made = built
    assert f"planish_{name}" in made.text
    before = made.fallbacks
    for n, m in SIZES:
        results = []
        for library in (plain, made):
            arrays = [enclosed(TYPES[type][0], count, seed) for seed, count in enumerate((n, n, 5 * m + 1, 2 * m))]
            arrays[2][0][...] *= 0.4
            getattr(library.library, name)(n, m, *(ctypes.c_void_p(x.ctypes.data) for x, _ in arrays))
            results.append([whole for _, whole in arrays])
        assert all(np.allclose(a, b, near, near) for a, b in zip(*results, strict=True)), (n, m)
    # What keeps samples of arrays in variables asks for a section.
    kept = name in ("in_place", "sections_first")
    assert made.fallbacks - before == kept * sum(m == 0 for _, m in SIZES)
