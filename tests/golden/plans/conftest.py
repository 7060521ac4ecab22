"""The script that compares plans is a program under bench/: its folder is put on the path as Python does for a
script."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[3] / "bench"

if str(BENCH) not in sys.path:
    sys.path.insert(0, str(BENCH))
