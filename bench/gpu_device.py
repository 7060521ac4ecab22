"""Kernels of plain C loops on a real GPU, beside libraries and baselines of our own, in one run.

    python bench/gpu_device.py prepare .gpu                            # with Planish; no device is needed
    python3 bench/gpu_device.py run .gpu --out gpu.json --seconds 400  # on the device: nvcc, torch, no Planish
    python bench/gpu_device.py table gpu.json                          # ratios beside their bars
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder is on the path, but the package `bench` is found from the repository's root.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

VERBS = {"prepare": "bench.devices.prepare", "run": "bench.devices.run", "table": "bench.devices.table"}
"""Modules by verbs: one is imported, since torch is not where kernels are prepared."""


def main(arguments: list[str]) -> int:
    """Run a verb with its arguments; 2 where there is no such verb."""
    if not arguments or arguments[0] not in VERBS:
        print(__doc__, file=sys.stderr)
        return 2
    return importlib.import_module(VERBS[arguments[0]]).main(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
