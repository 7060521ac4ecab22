"""Lets these tests import the modules beside them, the corpus, and the way to run C that the front-end's tests have."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "raising"), str(HERE.parent / "unit" / "frontend_c")]
