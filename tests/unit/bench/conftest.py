"""The scripts under bench/ are programs, not a package: their folder is put on the path as Python does for a script."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[3] / "bench"

if str(BENCH) not in sys.path:
    sys.path.insert(0, str(BENCH))
