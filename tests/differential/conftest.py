"""Lets these tests import the modules beside them, the corpus, and the way to run C that the front-end's tests have."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
UNIT = HERE.parent / "unit"
sys.path[:0] = [str(x) for x in (HERE, HERE.parent / "raising", UNIT / "frontend_c", UNIT / "emit")]
