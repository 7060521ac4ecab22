"""Whole convolutions, made for each target from one text, run where its instructions are beside the plain loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.property.sampling import slow
from tests.targets.test_microkernels import need, run

from planish.core.cache import Cache
from planish.emit.dropin.kernel_file import emit_file
from planish.ir.types import F32
from planish.isa.shipped import shipped
from planish.library.kernels.convolution import choose_shape, make_convolution
from planish.library.kernels.gemm.window import Window
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import PRODUCTS, find_vectors
from planish.target.load import load_target

TARGETS = {"avx2": "x86-avx2", "neon": "aarch64-neon"}
WINDOW = Window((3, 2), (2, 1), (1, 2))
SIZES = ((33, 3, 2, 21), (8, 5, 3, 9), (48, 2, 1, 1), (1, 1, 4, 70))
FLOATS = """
#define LEFT float
#define RIGHT float
#define SUM float
#define TO_LEFT(x) ((float)((x) - 8) / 4)
#define TO_RIGHT(x) ((float)(x) / 4)
#define OF_LEFT(x) x
#define OF_RIGHT(x) x
#define CALL(x) if (x != 0) return 1
"""
INTEGERS = """
#define LEFT @LEFT@_t
#define RIGHT @RIGHT@_t
#define SUM int32_t
#define TO_LEFT(x) (LEFT)(16 * (x) - ((LEFT)-1 < 0 ? 128 : 0))
#define TO_RIGHT(x) (RIGHT)(16 * (x) + ((RIGHT)-1 < 0 ? 0 : 128))
#define OF_LEFT(x) x
#define OF_RIGHT(x) x
#define CALL(x) x
"""
HALVES = """
#include <stdint.h>
#define LEFT uint16_t
#define RIGHT uint16_t
#define SUM float
typedef union { float number; uint32_t bits; } number_t;
static uint16_t shorten(float x) { return (uint16_t)((number_t){.number = x}.bits >> 16); }
static float widen(uint16_t x) { return (number_t){.bits = (uint32_t)x << 16}.number; }
#define TO_LEFT(x) shorten((float)(x - 8) / 4)
#define TO_RIGHT(x) shorten((float)(x) / 4)
#define OF_LEFT(x) widen(x)
#define OF_RIGHT(x) widen(x)
#define CALL(x) x
"""
GROUPED = {
    "bf16": (HALVES, "avx512_bf16"),
    "i16": (INTEGERS.replace("@LEFT@", "int16").replace("@RIGHT@", "int16"), "avx512_vnni"),
    "u8s8": (INTEGERS.replace("@LEFT@", "uint8").replace("@RIGHT@", "int8"), "avx512_vnni"),
    "s8u8": (INTEGERS.replace("@LEFT@", "int8").replace("@RIGHT@", "uint8"), "avx512_vnni"),
}
"""Numbers of which instructions add groups of products: their types in C, and what a processor needs for them."""
DEPTH = 3
"""Groups of channels that are summed at a time."""
MORE = ((32, 8, 2, 14), (33, 7, 9, 20), (130, 27, 3, 5), (64, 1, 2, 3), (5, 12, 17, 115), (70, 13, 1, 1))
CHECK = """
#include <stdio.h>
#include <stdlib.h>
static unsigned state = 1;
/* Small numbers, so that sums are exact in whatever order. */
static int any(void) { return (int)((state = state * 1103515245u + 12345u) >> 16) % 16; }
#define FILL(type, name, count, value) \\
  type *name = malloc(sizeof(type) * (size_t)(count)); \\
  for (long i = 0; i < (count); i++) name[i] = TO_##type(value)
static int check(long nf, long nc, long oh, long ow)
{
  const long ih = 2 * oh + 1, iw = ow + 2;
  FILL(LEFT, x, nc * ih * iw, any());
  FILL(RIGHT, w, nf * nc * 6, any() - 8);
  SUM *o = malloc(sizeof(SUM) * (size_t)(nf * oh * ow));
  CALL(NAME(nf, nc, oh, ow, ih, iw, 6 * nc, oh, ow, (void *)x, (void *)w, (void *)o));
  for (long f = 0; f < nf; f++)
    for (long y = 0; y < oh; y++)
      for (long i = 0; i < ow; i++) {
        SUM sum = 0;
        for (long c = 0; c < nc; c++)
          for (long r = 0; r < 3; r++)
            for (long s = 0; s < 2; s++)
              sum += OF_LEFT(x[(c * ih + 2 * y + r) * iw + i + 2 * s]) * OF_RIGHT(w[((f * nc + c) * 3 + r) * 2 + s]);
        const SUM got = o[(f * oh + y) * ow + i];
        if (got != sum) return printf("%ld, %ld, %ld: %g, not %g\\n", f, y, i, (double)got, (double)sum), 1;
      }
  return 0;
}
"""


@pytest.mark.parametrize("extension", ["neon", slow("avx2")])
def test_a_convolution_is_what_its_loops_are(extension: str, tmp_path: Path) -> None:
    need(extension)
    shape = choose_shape(find_vectors(extension, F32), WINDOW, load_target(TARGETS[extension]), first=True)
    shape = replace(shape, tile=replace(shape.tile, rows=4))
    whole, made = make_convolution(shape, KernelCache(Cache()))
    text = emit_file(whole.implementation, catalogue=shipped().with_instructions(made))
    calls = " || ".join(f"check({', '.join(map(str, x))})" for x in SIZES)
    check = FLOATS + CHECK.replace("NAME", whole.name)
    run(f"{text}{check}\nint main(void)\n{{\n  return {calls};\n}}\n", extension, tmp_path)


@pytest.mark.parametrize("product, first, threads", [
    ("i16", False, 1), ("u8s8", False, 2), slow("bf16", True, 2), slow("s8u8", True, 1),
])  # fmt: skip
def test_a_convolution_of_groups_is_what_its_loops_are(product: str, first: bool, threads: int, tmp_path: Path) -> None:
    need("avx512")
    types, feature = GROUPED[product]
    if feature not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip(f"this processor has no {feature}")
    shape = choose_shape(find_vectors("avx512", PRODUCTS[product]), WINDOW, load_target("x86-avx512"), first=first)
    shape = replace(shape, depth=DEPTH, tile=replace(shape.tile, rows=4))
    whole, made = make_convolution(shape, KernelCache(Cache()), threads)
    text = emit_file(whole.implementation, catalogue=shipped().with_instructions(made))
    calls = " || ".join(f"check({', '.join(map(str, x))})" for x in MORE)
    check = types + CHECK.replace("NAME", whole.name)
    if not first:
        before = "for (long i = 0; i < nf * oh * ow; i++) o[i] = 3;\n  CALL("
        check = check.replace("SUM sum = 0", "SUM sum = 3").replace("  CALL(", f"  {before}")
    run(f"{text}{check}\nint main(void)\n{{\n  return {calls};\n}}\n", "avx512", tmp_path)
