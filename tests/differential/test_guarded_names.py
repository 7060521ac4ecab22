"""What is stored under a condition on data and used again has a name in new code: nothing else is read or stored."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from compiled import compile_text

from planish.core.span import Source
from planish.ir.types import Floats
from planish.options import Options
from planish.pipeline import build_file

TEXT = """
int added(int n, const int *p, const int *a, int *b, int *d)
{
    int c = 0;
    for (int i = 0; i < n; i++)
        if (p[i]) { int v = a[i] + 1; if (v > 3) { b[i] = v; c += v; } }
    return c;
}
int largest(int n, const int *p, const int *a, int *b, int *d)
{
    int m = 0;
    for (int i = 0; i < n; i++) {
        if (p[i] <= 0) continue;
        int v = a[i] * 3;
        b[i] = v;
        if (v > m) m = v;
    }
    return m;
}
int squares(int n, const int *p, const int *a, double *b, double *d)
{
    double s = 0;
    for (int i = 0; i < n; i++) { double v = a[i] * p[i]; if (v > 0) { b[i] = v; s += v * v; } }
    return (int)s;
}
int again(int n, const int *p, const int *a, int *b, int *d)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        if (p[i]) { b[i] = 3; if (a[i] > 2) b[i] = a[i]; s += b[i]; }
    return s;
}
int linked(int n, const int *p, const int *a, int *b, int *d)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        if (p[i]) { b[i] = a[i]; d[i] = b[i] + 1; s += d[i]; }
    return s;
}
"""


def made(folder: Path, name: str) -> Path:
    """A folder of its own for a library."""
    (folder / name).mkdir()
    return folder / name


NAMES = ("added", "largest", "squares", "again", "linked")


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_nothing_is_read_or_stored_where_no_condition_holds(fp: Floats, tmp_path: Path) -> None:
    result = build_file(Source("names.c", TEXT), Options(fp=fp, measure=False))
    assert [x.selection is not None and x.selection.version is not None for x in result.functions] == [True] * 5
    for flags in (("-O0", "-w"), ("-O3", "-march=native", "-w")):
        library, original = (compile_text(x, made(tmp_path, f"{n}{flags[0]}"), flags=flags)
                             for n, x in enumerate((result.text, TEXT)))  # fmt: skip
        random = np.random.default_rng(1)
        for name in NAMES:
            for n in (0, 1, 7, 300):
                p, a = (random.integers(-3, 4, n).astype(np.int32) for _ in range(2))
                after = []
                for side in (library, original):
                    b, d = (np.full(n, -9, np.float64 if name == "squares" else np.int32) for _ in range(2))
                    value = getattr(side, name)(n, p.ctypes, a.ctypes, b.ctypes, d.ctypes)
                    after.append((value, b.tolist(), d.tolist()))
                assert after[0] == after[1], (name, n)
                # Nothing lies at these addresses: whatever is touched ends the process.
                nowhere = [ctypes.c_void_p(1 << x) for x in (15, 14)]
                assert getattr(library, name)(n, np.zeros(n, np.int32).ctypes, a.ctypes, *nowhere) == 0
