"""The 30 PolyBench kernels: every compiler with its best flags, Polly, and the drop-in of planish, on one core.

    python -m bench.races.polybench                                # LARGE; goes on where it was stopped
    python -m bench.races.polybench --dataset MEDIUM --kernels gemm,atax --fresh
"""

from __future__ import annotations

import sys

from bench.harness.places import EXAMPLES
from bench.harness.run_suite import main
from bench.harness.suite import Suite

POLYBENCH = Suite("polybench", EXAMPLES / "polybench", by_macro=True)

if __name__ == "__main__":
    sys.exit(main(POLYBENCH, sys.argv[1:]))
