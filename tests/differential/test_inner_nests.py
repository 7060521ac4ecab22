"""Transforms of small blocks, compiled with each nest shaped by itself, beside the loops as they are written."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from test_raised_versions import MARGIN, NATIVE, DropIn, compile_text, counted
from test_raised_versions import pytestmark as pytestmark

from planish.build.emit import make_replacement
from planish.build.read import read_file
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.library.loops.inner_nests.nest_schedules import inside_versions
from planish.options import Options
from planish.schedule.auto.plan import prepare

BLOCKS = """\
void forward(int n, int m, int width, const TYPE *in, TYPE *out, const TYPE *c)
{
    TYPE tmp[SIZE * SIZE];
    (void)m, (void)width;
    for (int b = 0; b < n; b++) {
        for (int i = 0; i < SIZE; i++)
            for (int u = 0; u < SIZE; u++) {
                TYPE acc = 0;
                for (int k = 0; k < SIZE; k++)
                    acc += in[SIZE * i + k] * c[SIZE * u + k];
                tmp[SIZE * i + u] = acc;
            }
        for (int u = 0; u < SIZE; u++)
            for (int i = 0; i < SIZE; i++) {
                TYPE acc = 0;
                for (int k = 0; k < SIZE; k++)
                    acc += c[SIZE * u + k] * tmp[SIZE * k + i];
                out[SIZE * u + i] = acc;
            }
        in += SIZE * SIZE;
        out += SIZE * SIZE;
    }
}
void image(int n, int m, int width, const TYPE *in, TYPE *out, const TYPE *c)
{
    TYPE tmp[SIZE][SIZE];
    for (int y = 0; y < n; y++)
        for (int x = 0; x < m; x++) {
            for (int k = 0; k < SIZE; k++)
                for (int u = 0; u < SIZE; u++) {
                    tmp[k][u] = 0;
                    for (int i = 0; i < SIZE; i++)
                        tmp[k][u] += c[SIZE * i + k] * in[(SIZE * y + i) * width + SIZE * x + u];
                }
            for (int i = 0; i < SIZE; i++)
                for (int u = 0; u < SIZE; u++) {
                    TYPE acc = 0;
                    for (int k = 0; k < SIZE; k++)
                        acc += tmp[i][k] * c[SIZE * k + u];
                    out[(SIZE * y + i) * width + SIZE * x + u] = acc;
                }
        }
}
void twice(int n, int m, int width, const TYPE *in, TYPE *out, const TYPE *c)
{
    TYPE tmp[SIZE * SIZE];
    (void)m, (void)width;
    for (int b = 0; b < n; b++) {
        for (int i = 0; i < SIZE; i++)
            for (int u = 0; u < SIZE; u++) {
                TYPE acc = 0;
                for (int k = 0; k < SIZE; k++)
                    acc += in[SIZE * SIZE * b + SIZE * i + k] * c[SIZE * u + k];
                tmp[SIZE * u + i] = acc;
            }
        for (int i = 0; i < SIZE; i++)
            for (int u = 0; u < SIZE; u++) {
                TYPE acc = 0;
                for (int k = 0; k < SIZE; k++)
                    acc += tmp[SIZE * i + k] * c[SIZE * u + k];
                out[SIZE * SIZE * b + SIZE * u + i] = acc;
            }
    }
}
"""
TYPES = {"float": ("float32", 3e-5), "double": ("float64", 1e-13)}
WAYS = (("float", 8), ("double", 5))
Vector = np.ndarray[Any, Any]


@pytest.fixture(scope="module", params=WAYS, ids=[f"{x}-{y}" for x, y in WAYS])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int, DropIn, DropIn]:
    """The type, the rows of a block, the loops as they are written, and drop-ins whatever the clock would say."""
    folder = tmp_path_factory.mktemp("inside")
    type, size = request.param
    text = BLOCKS.replace("TYPE", type).replace("SIZE", str(size))
    source, options, made = Source("blocks.c", text), Options(), []
    for number, region in enumerate(x for f in read_file(source, options).functions for x in f.regions):
        prepared = prepare(region.kernel)
        candidate = inside_versions(prepared, NATIVE, scratch=region.scratch)[-number]
        made.append(counted(make_replacement(region, prepared, candidate, source, options)))
    text_of_made = "int fallbacks;\n" + compose(text, made, "")
    plain = compile_text(text, (), folder / "plain", folder)
    return type, size, plain, compile_text(text_of_made, (), folder / "made", folder)


def fill(type: str, count: int, seed: int) -> tuple[Vector, Vector]:
    """Numbers in the middle of nothing but 7, and all of it."""
    whole: Vector = np.full(count + 2 * MARGIN, 7, TYPES[type][0])
    out = whole[MARGIN : MARGIN + count]
    out[...] = np.random.default_rng(seed).uniform(-50, 50, count).astype(out.dtype)
    return out, whole


@pytest.mark.parametrize("name", ["forward", "image", "twice"])
def test_blocks(name: str, built: tuple[str, int, DropIn, DropIn]) -> None:
    type, size, plain, made = built
    assert f"planish_{name}" in made.text
    for n, m in ((0, 0), (0, 3), (3, 0), (1, 1), (3, 2), (1, 7)):
        results, count, before = [], (n * m if name == "image" else n) * size**2, made.fallbacks
        for library in (plain, made):
            arrays = [fill(type, x, seed) for seed, x in enumerate((count, count, size**2))]
            getattr(library.library, name)(n, m, size * m, *(ctypes.c_void_p(x.ctypes.data) for x, _ in arrays))
            results.append([whole for _, whole in arrays])
        largest = max(1.0, float(np.abs(results[0][1]).max()))
        assert all(np.allclose(a, b, 0, TYPES[type][1] * largest) for a, b in zip(*results, strict=True)), (n, m)
        # Rows that no declaration gives are no array type of C where they are empty.
        assert made.fallbacks - before == (name == "image" and m == 0), (n, m)


def test_no_table_is_read_without_blocks(built: tuple[str, int, DropIn, DropIn]) -> None:
    for library in built[2:]:
        library.library.forward(0, 5, 1, None, None, None)


def test_blocks_in_place_are_done_as_written(built: tuple[str, int, DropIn, DropIn]) -> None:
    """Where a table, or what is transformed, lies in the result, all is as it was."""
    type, size, plain, made = built
    results = []
    for library in (plain, made):
        whole = np.sign(fill(type, 4 * size**2, 3)[0])
        at = [ctypes.c_void_p(whole.ctypes.data + x * whole.itemsize * size**2) for x in (0, 1, 2)]
        library.library.forward(2, 1, 1, *at)
        results.append(whole)
    largest = max(1.0, float(np.abs(results[0]).max()))
    assert np.allclose(results[0], results[1], 0, TYPES[type][1] * largest) and made.fallbacks > 0
