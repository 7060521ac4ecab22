"""The claims `emitted`: drop-ins are as long as what people would commit, and calls from Python cost next to nothing.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Callable, Iterator
from math import exp, log
from pathlib import Path

import numpy as np

import planish
from bench.harness.places import EXAMPLES
from bench.promises.claim import Claim, Note, at_most
from planish.core.cache import Cache
from planish.core.files import read_input
from planish.emit.dropin.shared_header import share_prologue
from planish.options import Options
from planish.report.store import build_cached

MEAN_BAR, MATVEC_BAR, GEMM_BAR, CALL_BAR = 4.0, 45, 200, 3.0
SAMPLE = ("dsp/dot.c", "dsp/fir.c", "dsp/matmul_ptr.c", "dsp/axpy.c")
MATVEC = """\
/* y += A x, A being m x n with rows lda apart. */
void matvec(int m, int n, const double *A, int lda, const double *x, double *y)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            y[i] += A[i * lda + j] * x[j];
}
"""


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """Lines of drop-ins built without the clock, in the style `compact`, over those of the files that were given; and
    processor time of a call. Builds are taken from the store where they are there."""
    files = sorted(x for x in EXAMPLES.rglob("*.c") if x.name != "main.c")
    chosen = [EXAMPLES / x for x in SAMPLE] if quick else files
    ratios, whole = [], []
    headers: dict[str, int] = {}
    for path in chosen:
        given, text = _count(path.read_text()), _build(path)
        parted = share_prologue(text)
        headers |= {name: _count(x) for name, x in parted.headers.items()}
        ratios.append(_count(parted.text) / given)
        whole.append(_count(text) / given)
        counts = f"{given} lines, {_count(parted.text)} compact, {_count(text)} in one file"
        yield Note(f"{path.relative_to(EXAMPLES)}: {counts}")
        if path.name == "gemm.c":
            yield at_most("emitted.gemm_lines", _count(parted.text), GEMM_BAR)
    yield Note(f"{len(headers)} headers that drop-ins share have {sum(headers.values())} lines: {', '.join(headers)}")
    yield Note(f"in one file: {_mean(whole):.1f} times the lines")
    yield at_most("emitted.lines_mean", _mean(ratios), MEAN_BAR)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matvec.c"
        path.write_text(MATVEC)
        yield at_most("emitted.matvec_lines", _count(share_prologue(_build(path)).text), MATVEC_BAR)
    yield from _calls()


def _build(path: Path) -> str:
    options = Options(measure=False, include_dirs=(path.parent,))
    return build_cached(read_input(str(path)).source, options, Cache(), trials=None)[0].text


def _count(text: str) -> int:
    return len(text.splitlines())


def _mean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def _calls() -> Iterator[Claim | Note]:
    """A call with two small arrays, beside one through ctypes that checks nothing and computes no addresses."""
    text = "void axpy(int n, double a, const double *x, double *y) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }"
    axpy = planish.compile(text, measure=False)
    x, y = np.ones(16), np.zeros(16)
    libm = ctypes.CDLL("libm.so.6")
    libm.fabs.restype, libm.fabs.argtypes = ctypes.c_double, (ctypes.c_double,)
    yield Note(f"a call of fabs through ctypes: {_microseconds(lambda: libm.fabs(2.0)):.2f} microseconds")
    yield at_most("calls.microseconds", _microseconds(lambda: axpy(2.0, x, y)), CALL_BAR)


def _microseconds(call: Callable[[], object], repeats: int = 2000) -> float:
    best = float("inf")
    call()
    for _ in range(9):
        begin = time.process_time()
        for _ in range(repeats):
            call()
        best = min(best, time.process_time() - begin)
    return best / repeats * 1e6
