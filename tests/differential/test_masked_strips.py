"""Stores and reads under conditions on data in strips: nothing is stored, or read, where the original does not."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from compiled import compile_text
from test_vector_strips import missing

from planish.core.span import Source
from planish.emit.idioms.conditional_stores import store_changes
from planish.ir.text.parser import parse_kernel
from planish.ir.text.printer import print_stmt
from planish.options import Options
from planish.pipeline import build_file
from planish.target.load import load_target

MACHINE = "x86-avx512"
pytestmark = pytest.mark.skipif(missing(MACHINE), reason="this processor has no AVX-512")
TEXT = """
#include <stddef.h>
#include <stdint.h>
void adjust(uint8_t *count, size_t stride, size_t width, size_t height, uint8_t *value, uint8_t threshold)
{
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            if (count[x] < threshold) {
                if (value[x] > 0)
                    value[x]--;
            } else if (count[x] > threshold) {
                if (value[x] < 255)
                    value[x]++;
            }
            count[x] = 0;
        }
        count += stride;
        value += stride;
    }
}
static inline void raise_to(int16_t *p, int16_t v) { if (*p < v) *p = v; }
void raise(uint8_t *mask, size_t stride, size_t width, size_t height, int16_t *value, uint8_t index)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            if (mask[y * stride + x] == index)
                raise_to(&value[y * stride + x], 300);
}
void keep(uint8_t *mask, size_t stride, size_t width, size_t height, uint16_t *value, uint8_t index)
{
    for (size_t y = 0; y < height; ++y) {
        uint8_t *m = mask + y * stride;
        uint16_t *v = value + y * stride;
        for (size_t x = 0; x < width; ++x)
            if (m[x] < index)
                v[x] = m[x] & 1 ? v[x] >> 1 : 7;
    }
}
void twice(uint8_t *mask, size_t stride, size_t width, size_t height, uint8_t *value, uint8_t index)
{
    for (size_t y = 0; y < height; ++y)
        for (size_t x = 0; x < width; ++x)
            if (mask[y * stride + x] < index) {
                if (value[y * stride + x] > 3)
                    value[y * stride + x] -= 3;
                if (value[y * stride + x] < 200)
                    value[y * stride + x]++;
            }
}
void bound(uint8_t *mask, size_t stride, size_t width, size_t height, int16_t *value, uint8_t index)
{
    for (size_t y = 0; y < height; ++y)
        for (size_t x = 0; x < width; ++x)
            if (mask[y * stride + x] < index) {
                int next = value[y * stride + x] + 30000;
                value[y * stride + x] = (int16_t)(next < 20000 + index ? next : 20000 + index);
            }
}
void step(uint8_t *mask, size_t stride, size_t width, size_t height, uint8_t *value, uint8_t index)
{
    for (size_t y = 0; y < height; ++y)
        for (size_t x = 0; x < width; ++x) {
            int apart = mask[y * stride + x] - value[y * stride + x];
            if (apart < index)
                value[y * stride + x] -= 5;
        }
}
uint64_t weigh(const uint8_t *mask, size_t stride, size_t width, size_t height, const uint8_t *value, uint8_t index)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < height; ++y)
        for (size_t x = 0; x < width; ++x)
            if (mask[y * stride + x] < index)
                sum += value[y * stride + x] * value[y * stride + x] + 3;
    return sum;
}
"""
ELEMENTS = {
    "adjust": np.uint8, "raise": np.int16, "keep": np.uint16, "twice": np.uint8, "bound": np.int16, "step": np.uint8,
}  # fmt: skip


@dataclass(frozen=True)
class Pages:
    """Memory whose pages can be taken away."""

    memory: mmap.mmap
    address: int

    @classmethod
    def of(cls, size: int) -> Pages:
        memory = mmap.mmap(-1, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        return cls(memory, ctypes.addressof(ctypes.c_char.from_buffer(memory)))

    def allow(self, bits: int, size: int | None = None) -> None:
        call = ctypes.CDLL(None, use_errno=True).mprotect
        count = len(self.memory) if size is None else size
        assert call(ctypes.c_void_p(self.address), ctypes.c_size_t(count), bits) == 0


Functions = tuple[Callable[..., None], Callable[..., None]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Functions]:
    folder: Path = tmp_path_factory.mktemp("masked")
    made = build_file(Source("masked.c", TEXT), Options(measure=False, target=MACHINE))
    assert made.text.count("_mask_storeu_epi") >= 5 and "_maskz_loadu_epi" in made.text
    libraries = []
    for name, text in (("original", TEXT), ("ours", made.text)):
        (folder / name).mkdir()
        libraries.append(compile_text(text, folder / name, flags=load_target(MACHINE).flags_for("gcc")))
    for x in libraries:
        x.weigh.restype = ctypes.c_uint64
    return {x: (getattr(libraries[0], x), getattr(libraries[1], x)) for x in (*ELEMENTS, "weigh")}


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("width", [0, 1, 7, 63, 64, 65, 257])
def test_what_is_stored_under_conditions_is_what_the_original_stores(
    built: dict[str, Functions], name: str, width: int
) -> None:  # fmt: skip
    rows, stride = 3, width + 5
    source = np.random.default_rng(width)
    masks = source.integers(0, 8, (rows, stride)).astype(np.uint8)
    values = source.integers(0, 1 << 15, (rows, stride)).astype(ELEMENTS[name])
    values[:, ::3] = 255 if name in ("adjust", "twice") else 0
    after = []
    for function in built[name]:
        mask, value = masks.copy(), values.copy()
        function(mask.ctypes, ctypes.c_size_t(stride), ctypes.c_size_t(width), ctypes.c_size_t(rows), value.ctypes, 4)
        after.append((mask, value))
    assert all((x == y).all() for x, y in zip(*after, strict=True))


@pytest.mark.parametrize("name", [x for x in ELEMENTS if x != "step"])
def test_what_no_condition_allows_is_neither_read_nor_stored(built: dict[str, Functions], name: str) -> None:
    """The array is on pages that cannot be touched: no lane's condition holds."""
    width, rows = 200, 2
    masks = np.full((rows, width), 4 if name == "adjust" else 9, np.uint8)
    pages = Pages.of(rows * width * 2)
    pages.allow(0)
    built[name][1](
        masks.ctypes, ctypes.c_size_t(width), ctypes.c_size_t(width), ctypes.c_size_t(rows),
        ctypes.c_void_p(pages.address), 4,
    )  # fmt: skip
    pages.allow(mmap.PROT_READ | mmap.PROT_WRITE)


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_rest_of_a_row_ends_with_it(built: dict[str, Functions], name: str) -> None:
    """Behind the only row there is a page that cannot be touched: what is left of it fills no strip."""
    width = 3 * 64 + 37
    sizes = width, width * np.dtype(ELEMENTS[name]).itemsize
    source = np.random.default_rng(width)
    first = [source.integers(0, 7, size).astype(np.uint8).tobytes() for size in sizes]
    after = []
    for function in built[name]:
        ends = [Pages.of(2 * mmap.PAGESIZE) for _ in sizes]
        for pages, held in zip(ends, first, strict=True):
            pages.memory[mmap.PAGESIZE - len(held) : mmap.PAGESIZE] = held
            Pages(pages.memory, pages.address + mmap.PAGESIZE).allow(0, mmap.PAGESIZE)
        mask, value = (ctypes.c_void_p(x.address + mmap.PAGESIZE - y) for x, y in zip(ends, sizes, strict=True))
        function(mask, ctypes.c_size_t(width), ctypes.c_size_t(width), ctypes.c_size_t(1), value, 4)
        after.append([x.memory[: mmap.PAGESIZE] for x in ends])
    assert after[1] == after[0]
    assert after[0][1][-sizes[1] :] != first[1], "the original stores nothing"


def test_sums_of_what_conditions_allow_end_with_their_row(built: dict[str, Functions]) -> None:
    """All lanes behind a row would be added, were they there; where no condition holds nothing is read."""
    pages = Pages.of(2 * mmap.PAGESIZE)
    pages.memory[: mmap.PAGESIZE] = bytes(x % 251 for x in range(mmap.PAGESIZE))
    Pages(pages.memory, pages.address + mmap.PAGESIZE).allow(0, mmap.PAGESIZE)
    for width in (0, 1, 63, 64, 65, 100, 257, 3000):
        masks, end = np.arange(width, dtype=np.uint8) % 9, pages.address + mmap.PAGESIZE
        given = masks.ctypes, ctypes.c_size_t(width), ctypes.c_size_t(width), ctypes.c_size_t(1)
        sums = [x(*given, ctypes.c_void_p(end - width), 4) for x in built["weigh"]]
        assert sums[0] == sums[1], width
        assert built["weigh"][1](*given, ctypes.c_void_p(end), 0) == 0


def test_stores_of_choices_have_their_conditions() -> None:
    text = "kernel k(n; c: u8[n], a: u8[n]) { for i in 0 .. n { a[i] = select(c[i] > 3:u8, 7:u8, a[i]) } }"
    made = print_stmt(store_changes(parse_kernel(text), {"a"}, {"a"}).body)
    assert "if c[i] > 3 {" in made.replace(":u8", "") and "select" not in made
