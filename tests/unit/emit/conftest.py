"""Lets these tests import the modules beside them; compilers that a test may do without."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def need_compiler() -> Callable[[str], None]:
    """Skip the test where the named compiler is missing."""

    def check(name: str) -> None:
        if shutil.which(name) is None:
            pytest.skip(f"no {name} here")

    return check
