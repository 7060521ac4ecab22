"""The DSP-style files, function by function: every compiler, Polly, and the drop-in of planish, on one core.

    python -m bench.races.dsp                                      # LARGE; goes on where it was stopped
    python -m bench.races.dsp --dataset MEDIUM --kernels fir,sobel

>>> from bench.harness.suite import evaluate_length
>>> evaluate_length(LENGTHS["fir"]["x"], DSP.sizes(DSP.files(["fir"])[0], "MINI"))
56
"""

from __future__ import annotations

import sys

from bench.harness.places import EXAMPLES
from bench.harness.run_suite import main
from bench.harness.suite import Lengths, Suite

_IMAGE = {"src": "stride * height", "dst": "stride * height"}

LENGTHS: Lengths = {
    "autocorrelation": {"x": "n", "r": "lags"},
    "axpy": {"x": "n", "y": "n"},
    "axpy_strided": {"x": "(n - 1) * incx + 1", "y": "(n - 1) * incy + 1"},
    "complex_mul": {"a": "2 * n", "b": "2 * n", "c": "2 * n"},
    "conv2d": {
        "img": "width * height",
        "kern": "ksize * ksize",
        "out": "(width - ksize + 1) * (height - ksize + 1)",
    },
    "dct8x8": {"in": "64 * nblocks", "out": "64 * nblocks", "c": "64"},
    "dot": {"x": "n", "y": "n"},
    "fft_radix2": {"x": "2 * n", "w": "n"},
    "fft_radix4": {"re": "n", "im": "n", "wr": "3 * n // 4", "wi": "3 * n // 4"},
    "fir": {"x": "n + taps - 1", "h": "taps", "y": "n"},
    "histogram": {"src": "n", "bins": "256"},
    "iir_biquad_cascade": {"x": "n", "y": "n", "coef": "5 * stages", "state": "2 * stages"},
    "lms": {"x": "n + taps - 1", "d": "n", "w": "taps", "y": "n", "e": "n"},
    "matmul_ptr": {"a": "m * lda", "b": "k * ldb", "c": "m * ldc"},
    "matvec": {"a": "m * lda", "x": "n", "y": "m"},
    "median": _IMAGE,
    "prefix_sum": {"in": "n", "out": "n"},
    "quantised_dot": {"w": "rows * cols", "x": "cols", "bias": "rows", "y": "rows"},
    "sobel": _IMAGE,
    "transpose": {"src": "rows * lds", "dst": "cols * ldd"},
    "transpose_inplace": {"a": "n * lda"},
    "viterbi_step": {"metric": "states", "cost": "2 * states", "next": "states", "decision": "states"},
    "viterbi_frame": {
        "metric": "states",
        "work": "states",
        "cost": "2 * states * steps",
        "decision": "states * steps",
    },
}
"""How many elements each pointer of each function refers to, as the comments in the files say it."""

DSP = Suite("dsp", EXAMPLES / "dsp", lengths=LENGTHS)

if __name__ == "__main__":
    sys.exit(main(DSP, sys.argv[1:]))
