"""The 30 PolyBench kernels: every compiler with its best flags, Polly, and the drop-in of planish, on one core.

    python bench/polybench.py                                # LARGE; goes on where it was stopped
    python bench/polybench.py --dataset MEDIUM --kernels gemm,atax --fresh
"""

from __future__ import annotations

import sys

from run_suite import main
from suite import EXAMPLES, Suite

POLYBENCH = Suite("polybench", EXAMPLES / "polybench", by_macro=True)

if __name__ == "__main__":
    sys.exit(main(POLYBENCH, sys.argv[1:]))
