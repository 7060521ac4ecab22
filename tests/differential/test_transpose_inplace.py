"""Square matrices that are transposed where they are, in several spellings, beside numpy; what lies around is kept."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_raised_versions import MARGIN, NATIVE, DropIn, Matrix, call, compile_text, counted
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.library.dense.transpose_inplace.blocked_transpose import mirror_versions
from planish.options import Options
from planish.pipeline import build_file
from planish.schedule.auto.plan import prepare

SQUARES = """\
void above(int n, int lda, TYPE *a)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            TYPE t = a[i * lda + j];
            a[i * lda + j] = a[j * lda + i];
            a[j * lda + i] = t;
        }
}
void below(int n, int lda, TYPE a[n][lda])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            TYPE t = a[i][j];
            a[i][j] = a[j][i];
            a[j][i] = t;
        }
}
void columns(int n, int lda, TYPE (*a)[lda])
{
    TYPE t;
    for (int j = 0; j < n - 1; j++)
        for (int i = j + 1; i < n; i++) {
            t = a[j][i];
            a[j][i] = a[i][j];
            a[i][j] = t;
        }
}
void backwards(int n, int lda, TYPE *a)
{
    for (int i = n - 1; i > 0; i--)
        for (int j = i - 1; j >= 0; j--) {
            const TYPE upper = a[j * lda + i], lower = a[i * lda + j];
            a[j * lda + i] = lower;
            a[i * lda + j] = upper;
        }
}
"""
MANY = """\
void many(int count, int n, double a[count][n][n + 1])
{
    for (int b = 0; b < count; b++)
        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++) {
                double t = a[b][i][j];
                a[b][i][j] = a[b][j][i];
                a[b][j][i] = t;
            }
}
"""
TYPES = {"float": "float32", "double": "float64", "int": "int32", "unsigned long": "uint64"}
SIZES = ((0, 0), (1, 1), (2, 2), (3, 9), (15, 15), (16, 16), (17, 21), (64, 64), (75, 1000), (271, 271), (300, 304))


def make(text: str, folder: Path) -> DropIn:
    """The drop-in with squares in each nest of a file, whatever the clock would say of it."""
    source, options, made = Source("mirrors.c", text), Options(), []
    for region in (x for f in read_file(source, options).functions for x in f.regions):
        prepared = prepare(region.kernel)
        (candidate,) = mirror_versions(prepared, NATIVE)
        made.append(counted(make_replacement(region, prepared, candidate, source, options)))
    return compile_text("int fallbacks;\n" + compose(text, made, ""), (), folder / "made", folder)


def fill(type: str, *shape: int) -> tuple[Matrix, Matrix]:
    """Numbers in the middle of nothing but 7, and all of it."""
    count = int(np.prod(shape))
    whole: np.ndarray[Any, Any] = np.full(count + 2 * MARGIN, 7, TYPES[type])
    out = whole[MARGIN : MARGIN + count].reshape(shape)
    out[...] = np.random.default_rng(count).uniform(0, 1 << 31, shape)
    return out, whole


@pytest.mark.parametrize("type", TYPES)
def test_matrices_are_transposed_where_they_are(type: str, tmp_path: Path) -> None:
    made = make(SQUARES.replace("TYPE", type), tmp_path)
    for name in ("above", "below", "columns", "backwards"):
        assert f"planish_{name}" in made.text
        for n, lda in SIZES:
            a, whole = fill(type, n, lda)
            wanted = a.copy()
            wanted[:, :n] = a[:, :n].T
            # Lines of memory are no rows of no length: no array may be declared so.
            call(made, name, (n, lda, a), fallbacks=int(lda == 0 and name in ("above", "backwards")))
            assert (a == wanted).all(), (name, n, lda)
            assert (whole[:MARGIN] == 7).all() and (whole[len(whole) - MARGIN :] == 7).all()


def test_rows_that_run_into_each_other_are_left_to_the_loops(tmp_path: Path) -> None:
    text = SQUARES.replace("TYPE", "float")
    made, plain = make(text, tmp_path), compile_text(text, (), tmp_path / "plain", tmp_path)
    for n, lda in ((5, 1), (40, 33), (40, 0)):
        (a, _), (b, _) = fill("float", n * lda + n), fill("float", n * lda + n)
        for library, x in ((made, a), (plain, b)):
            library.library.above(n, lda, ctypes.c_void_p(x.ctypes.data))
        assert (a == b).all(), (n, lda)
    assert made.fallbacks == 3


def test_each_of_many(tmp_path: Path) -> None:
    made = make(MANY, tmp_path)
    for count, n in ((0, 5), (1, 1), (3, 8), (2, 21)):
        a, whole = fill("double", count, n, n + 1)
        wanted = a.copy()
        wanted[..., :n] = a[..., :n].transpose(0, 2, 1)
        call(made, "many", (count, n, a))
        assert (a == wanted).all() and (whole[len(whole) - MARGIN :] == 7).all(), (count, n)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_a_build_verifies_squares_and_takes_them(fp: str) -> None:
    source = Source("mirrors.c", SQUARES.split("void below")[0].replace("TYPE", "float"))
    options = Options(fp=fp, sizes={"n": 1024, "lda": 1024}, measure=False)  # type: ignore[arg-type]
    (function,) = build_file(source, options).functions
    assert function.selection is not None
    verdicts = [x for x in function.selection.remarks if x.message.startswith("transpose-inplace:")]
    assert not [x for x in verdicts if x.id.startswith("verify")], verdicts
    assert function.selection.version is not None and function.selection.version.label == "transpose-inplace"
