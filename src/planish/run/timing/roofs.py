"""The roofs of a roofline: what this machine reaches on one core, in floating operations and in bytes, measured.

    roofs = measure_roofs(compiler, load_target("native"), Cache())
    roofs.peak["f64"], [(x.name, x.bytes_per_second) for x in roofs.memories]
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from planish.core.cache import Cache, key
from planish.core.diagnostic import PlanishError
from planish.run.processes.process import Limits, run_process
from planish.run.toolchains.toolchain import Compiler, compile_program
from planish.target.machine import Target

_LIMITS = Limits(seconds=60.0)
_LARGE = 96 << 20
"""Bytes of an array that no cache holds, at least."""
_MOST = 3 << 30
"""Bytes of all three arrays together, at most."""

_TEXT = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
/* Sixteen chains of products and sums hide the latency of any unit. */
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define MAKE(i) lanes a##i = (lanes){0} + (T)i;
#define STEP(i) a##i = a##i * m + c; __asm__ volatile("" : "+" WHERE(a##i));
#define JOIN(i) sum += a##i;
#define WHERE(x) REGISTER(x)
#define PEAK(NAME, T_)                                                            \
  static double NAME(void) {                                                      \
    typedef T_ T;                                                                 \
    typedef T lanes __attribute__((vector_size(BYTES)));                          \
    EACH(MAKE)                                                                    \
    const lanes m = (lanes){0} + (T)0.5, c = (lanes){0} + (T)1;                   \
    double best = 0;                                                              \
    for (int round = 0; round < 7; round++) {                                     \
      const double begin = now();                                                 \
      for (int k = 0; k < 400000; k++) { EACH(STEP) }                             \
      const double rate = 400000.0 * 16 * 2 * (BYTES / sizeof(T)) / (now() - begin); \
      best = rate > best ? rate : best;                                           \
    }                                                                             \
    lanes sum = (lanes){0};                                                       \
    EACH(JOIN)                                                                    \
    volatile T kept = sum[0];                                                     \
    (void)kept;                                                                   \
    return best;                                                                  \
  }
PEAK(peak_f64, double)
PEAK(peak_f32, float)
static double triad(size_t n, double *restrict a, const double *restrict b, const double *restrict c) {
  size_t times = 1 + ((size_t)1 << 21) / n;
  double best = 0;
  for (int round = 0; round < 5; round++) {
    const double begin = now();
    for (size_t t = 0; t < times; t++) {
      for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 0.5 * c[i];
      __asm__ volatile("" : : "r"(a) : "memory");
    }
    const double rate = 24.0 * n * times / (now() - begin);
    best = rate > best ? rate : best;
  }
  return best;
}
int main(int count, char **words) {
  printf("f64 %.6g\nf32 %.6g\n", peak_f64(), peak_f32());
  for (int k = 1; k < count; k++) {
    const size_t n = strtoull(words[k], NULL, 10) / 24;
    double *a = aligned_alloc(64, (n * 8 + 63) / 64 * 64), *b = aligned_alloc(64, (n * 8 + 63) / 64 * 64),
           *c = aligned_alloc(64, (n * 8 + 63) / 64 * 64);
    if (!a || !b || !c)
      return 1;
    for (size_t i = 0; i < n; i++)
      a[i] = b[i] = c[i] = 1;
    printf("bytes %.6g\n", triad(n, a, b, c));
    free(a), free(b), free(c);
  }
  return 0;
}
"""


@dataclass(frozen=True, slots=True)
class MemoryRoof:
    """A level of the memory, the bytes per second that a sum of two rows moves to and from it, and the bytes that it
    holds for one core (0: all)."""

    name: str
    bytes_per_second: float
    capacity: int = 0


@dataclass(frozen=True, slots=True)
class Roofs:
    """Floating operations per second by type ("f64", "f32"), and the levels of the memory, the nearest first."""

    peak: Mapping[str, float]
    memories: tuple[MemoryRoof, ...]


def measure_roofs(compiler: Compiler, target: Target, cache: Cache) -> Roofs | None:
    """The roofs of this machine, measured in about a second or remembered; None where they cannot be.

    Operations: chains of products and sums in vectors of the target's width. Bytes: the triad of McCalpin's STREAM,
    `a[i] = b[i] + s * c[i]`, with arrays that fill half of each cache, and with some that no cache holds.
    """
    address = key("roofs", 2, compiler.stamp, target.description, target.caches, target.vector_bits, _TEXT)
    known = cache.get(address)
    if known is not None:
        return _read(known)
    levels = [(f"L{x.level}", x.share) for x in target.caches] + [("memory", 0)]
    large = min(3 * max(_LARGE, 2 * target.caches[-1].bytes), _MOST)
    made = _run(compiler, target, [holds // 2 or large for _, holds in levels])
    if made is None:
        return None
    memories = tuple(MemoryRoof(name, rate, holds) for (name, holds), rate in zip(levels, made[1], strict=True))
    roofs = Roofs(made[0], memories)
    cache.put(address, json.dumps(asdict(roofs)).encode())
    return roofs


def _run(compiler: Compiler, target: Target, sizes: list[int]) -> tuple[dict[str, float], list[float]] | None:
    bits = target.vector_bits or 128
    place = "v" if target.architecture == "x86_64" else "w" if target.architecture == "aarch64" else "m"
    flags = (
        "-O3", "-ffp-contract=fast", *target.flags_for(compiler.kind), f"-DBYTES={bits // 8}",
        f'-DREGISTER(x)="{place}"(x)', "-w",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="planish-roofs-") as folder:
        try:
            program = compile_program(compiler, _TEXT, flags, Path(folder))
        except PlanishError:
            return None
        done = run_process([str(program), *map(str, sizes)], _LIMITS)
    words = [line.split() for line in done.stdout.splitlines()]
    found = [float(x[1]) for x in words if x[0] == "bytes"]
    peak = {x[0]: float(x[1]) for x in words if x[0] != "bytes"}
    return (peak, found) if done.code == 0 and len(found) == len(sizes) and peak else None


def _read(data: bytes) -> Roofs:
    found = json.loads(data)
    return Roofs(found["peak"], tuple(MemoryRoof(**x) for x in found["memories"]))
