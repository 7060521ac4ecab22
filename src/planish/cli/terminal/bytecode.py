"""Compiled modules of the program in the user's cache, where the installation has none and gets none: every command
would compile hundreds of modules again.

>>> keep_bytecode(Path("/nowhere"), installed=True)
False
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Sequence
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType, ModuleType

_PACKAGE = __name__.partition(".")[0]
_FOLDER = "bytecode"


def has_bytecode() -> bool:
    """Whether modules of the program are compiled beside their text, or where the user says, as this one is."""
    return __spec__ is None or __spec__.cached is None or os.path.exists(__spec__.cached)


def keep_bytecode(cache: Path, installed: bool | None = None) -> bool:
    """Modules of the program are compiled into a folder of the `cache` from here on, and are taken from there, unless
    it is `installed` with compiled ones; whether they are. Python sees to it that what was changed is compiled anew."""
    if has_bytecode() if installed is None else installed:
        return False
    folder = cache / _FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return False
    # What lies there is run: nobody else may have put it there.
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    sys.meta_path.insert(0, _Finder(str(folder)))
    return True


def clear_bytecode(cache: Path) -> None:
    """Removes what is compiled there."""
    shutil.rmtree(cache / _FOLDER, ignore_errors=True)


class _Finder:
    """Finds the modules of the program."""

    def __init__(self, folder: str) -> None:
        self._finders: dict[str, FileFinder] = {}
        self._loader = type("_CachedLoader", (_Loader,), {"folder": folder})

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module lies, and that it is compiled into the folder; None where it is another program's."""
        if path is None or not fullname.startswith(f"{_PACKAGE}."):
            return None
        for place in path:
            if place not in self._finders:
                self._finders[place] = FileFinder(place, (self._loader, [".py"]))
            if (spec := self._finders[place].find_spec(fullname, target)) is not None:
                return spec
        return None


class _Loader(SourceFileLoader):
    """Loads a module as usual, but for the place of what is compiled."""

    folder = ""

    def get_code(self, fullname: str) -> CodeType | None:
        """The module, compiled."""
        before = sys.pycache_prefix, sys.dont_write_bytecode
        sys.pycache_prefix, sys.dont_write_bytecode = self.folder, False
        try:
            return super().get_code(fullname)
        except (EOFError, ValueError, TypeError):
            # It was cut off, as by a full disk, which Python does not tell.
            Path(cache_from_source(self.get_filename(fullname))).unlink(missing_ok=True)
            return super().get_code(fullname)
        finally:
            sys.pycache_prefix, sys.dont_write_bytecode = before
