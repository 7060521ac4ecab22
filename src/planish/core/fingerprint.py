"""The fingerprint of this program: its version and its own files, so that no cached result of another one is taken for
its own.

>>> stamp_program() == stamp_program()
True
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from planish.core.cache import key
from planish.version import VERSION

_PACKAGE = Path(__file__).resolve().parent.parent
_OWN = (".py", ".toml", ".h", ".isa", ".tdl")


@lru_cache(maxsize=1)
def stamp_program() -> str:
    """The stamp of this program: its version, that of the polyhedral library, and its own files."""
    stamps = [(str(p.relative_to(_PACKAGE)), p.stat().st_size, p.stat().st_mtime_ns) for p in _list_files(_PACKAGE)]
    return key(VERSION, version("islpy"), stamps)


def stamp_contents(*packages: str) -> str:
    """The stamp of what the files of some packages hold, which is the same wherever they are installed."""
    files = [p for name in packages for p in _list_files(_PACKAGE / name)]
    contents = [x for p in files for x in (str(p.relative_to(_PACKAGE)), p.read_bytes())]
    return key(VERSION, version("islpy"), sys.version_info[:2], *contents)


def _list_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in _OWN)
