"""Progress: what is being done now, reported to a progress bar, or to nobody.

>>> keep_quiet("reading")
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""Hears what is being done now, for a progress bar; what it raises ends the work."""


def keep_quiet(message: str) -> None:
    """Tells nobody."""
