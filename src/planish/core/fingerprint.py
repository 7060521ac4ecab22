"""The fingerprint of this program: its version and its own files, so that no cached result of another one is taken for
its own.

>>> stamp_program() == stamp_program()
True
"""

from __future__ import annotations

import os
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
    stamps = [(name, x.st_size, x.st_mtime_ns) for name, file in _list_files("") for x in (file.stat(),)]
    return key(VERSION, version("islpy"), stamps)


def stamp_contents(*packages: str) -> str:
    """The stamp of what the files of some packages hold, which is the same wherever they are installed."""
    files = [x for name in packages for x in _list_files(name)]
    contents = [x for name, file in files for x in (name, Path(file).read_bytes())]
    return key(VERSION, version("islpy"), sys.version_info[:2], *contents)


def _list_files(below: str) -> list[tuple[str, os.DirEntry[str]]]:
    """The files of the package below one of its folders, by their paths in the package, in order."""
    found, folders = list[tuple[str, os.DirEntry[str]]](), [below]
    while folders:
        folder = folders.pop()
        with os.scandir(_PACKAGE / folder) as entries:
            for x in entries:
                path = f"{folder}/{x.name}" if folder else x.name
                if x.is_dir():
                    folders.append(path)
                elif x.name.endswith(_OWN):
                    found.append((path, x))
    return sorted(found, key=lambda x: x[0].split("/"))
