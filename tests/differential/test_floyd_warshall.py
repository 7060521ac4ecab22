"""Least distances by blocks of stops, compiled and called beside numpy, for one block and several."""

from __future__ import annotations

from ctypes import c_void_p
from pathlib import Path

import numpy as np
import pytest
from test_raised_versions import make
from test_raised_versions import pytestmark as pytestmark
from tests.property.sampling import slow

from planish.core.span import Source

TEXT = """\
void paths(int n, TYPE d[restrict n][n])
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                d[i][j] = d[i][k] + d[k][j] < d[i][j] ? d[i][k] + d[k][j] : d[i][j];
}
"""
TYPES = {"int": "int32", "long": "int64", "float": "float32"}


@pytest.mark.parametrize("type", ["int", slow("long"), "float"])
def test_all_pairs(type: str, tmp_path: Path) -> None:
    made = make(Source("paths.c", TEXT.replace("TYPE", type)), tmp_path / "made", tmp_path)
    assert made.kinds.count("floyd-warshall-blocked") == 1
    for n, low in ((1, 0), (63, 0), (64, 1), (65, 0), (131, 0), (200, 0), (9, -1)):
        rng = np.random.default_rng(n)
        whole = np.full(n * n + 64, 77, TYPES[type])
        found = whole[32:-32].reshape(n, n)
        found[...] = np.where(rng.random((n, n)) < 0.9, 4000, rng.integers(low, 99, (n, n)))
        wanted = found.astype("int64")
        for k in range(n):
            wanted = np.minimum(wanted, wanted[:, k : k + 1] + wanted[k])
        made.library.paths(n, found.ctypes.data_as(c_void_p))
        assert (found == wanted).all(), n
        assert (whole[:32] == 77).all() and (whole[-32:] == 77).all()
