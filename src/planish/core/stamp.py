"""What this program is: its version and its own files, so that nothing that another one made is taken for its own.

>>> stamp_program() == stamp_program()
True
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from planish.core.cache import key
from planish.version import VERSION

_PACKAGE = Path(__file__).resolve().parent.parent


@lru_cache(maxsize=1)
def stamp_program() -> str:
    """The stamp of this program: its version, that of the polyhedral library, and its own files."""
    files = sorted(p for p in _PACKAGE.rglob("*") if p.suffix in (".py", ".toml", ".h", ".isa", ".tdl"))
    stamps = [(str(p.relative_to(_PACKAGE)), p.stat().st_size, p.stat().st_mtime_ns) for p in files]
    return key(VERSION, version("islpy"), stamps)
