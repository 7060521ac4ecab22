"""The files of the one folder that the explorer shows; nothing outside of it is read or written.

>>> import tempfile
>>> files = SharedFolder(Path(tempfile.mkdtemp()))
>>> _ = (files.root / "a.c").write_text("int x;")
>>> files.names(), files.read("a.c")
(['a.c'], 'int x;')
>>> files.read("../a.c")
Traceback (most recent call last):
planish.core.diagnostic.PlanishError: error[E0132]: `../a.c` is no file of the folder
  = help: name a C file or a script (.sched) inside of the folder
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from planish.build.project import OUTPUT
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import write_whole

MOST_FILES = 500
MOST_TEXT = 256 << 10
"""Bytes of a file that is shown, or of a text that is sent."""
ADVICE = "name a C file or a script (.sched) inside of the folder"
SOURCES, SCRIPTS = (".c",), (".sched",)
"""What is read; scripts are written, too."""


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder whose C files and scripts are shown."""

    root: Path

    def names(self) -> list[str]:
        """The C files and scripts, relative to the folder; left out are hidden ones, what lies too deep, links that
        lead elsewhere, and names that are not UTF-8."""
        out = []
        for folder, inner, names in os.walk(self.root):
            inner[:] = sorted(x for x in inner if not x.startswith(".") and x != OUTPUT.name)
            place = Path(folder).relative_to(self.root)
            inner[:] = inner if len(place.parts) < 4 else []
            out += [name for x in sorted(names) if self._has(name := str(place / x))]
            if len(out) >= MOST_FILES:
                break
        return out[:MOST_FILES]

    def _has(self, name: str) -> bool:
        try:
            return self.path(name).is_file()
        except PlanishError:
            return False

    def path(self, name: str, endings: tuple[str, ...] = SOURCES + SCRIPTS) -> Path:
        """The place of a file; PlanishError E0132 for one that is not in the folder, also by a link, or of another
        kind."""
        wrong = PlanishError(Diagnostic("E0132", f"`{name[:200]}` is no file of the folder", help=ADVICE))
        if "\0" in name or not name.endswith(endings):
            raise wrong
        root = self.root.resolve()
        try:
            name.encode()
            found = (root / name).resolve()
            found.lstat()
        except FileNotFoundError:
            pass
        except (OSError, RuntimeError, ValueError):  # too long, a file for a folder, links in a ring, no UTF-8
            raise wrong from None
        if not found.is_relative_to(root) or Path(name).is_absolute() or ".." in Path(name).parts:
            raise wrong
        if any(x.startswith(".") for x in Path(name).parts):
            raise wrong
        return found

    def read(self, name: str) -> str:
        """The text of a file; PlanishError E0132, E0133."""
        path = self.path(name)
        if not path.is_file():
            raise PlanishError(Diagnostic("E0132", f"there is no file `{name}`", help=ADVICE))
        if path.stat().st_size > MOST_TEXT:
            raise PlanishError(Diagnostic("E0133", f"`{name}` has more than {MOST_TEXT >> 10} KiB"))
        try:
            return path.read_text("utf-8", "replace")
        except OSError as error:
            message = f"`{name}` cannot be read: {error.strerror}"
            raise PlanishError(Diagnostic("E0132", message, help="check the permissions")) from error

    def write(self, name: str, text: str) -> None:
        """Writes a script; PlanishError E0132 for anything else. Sources are the user's editor's to write."""
        path = self.path(name, SCRIPTS)
        try:
            write_whole(path.parent, {path.name: text})
        except OSError as error:
            message = f"`{name}` cannot be written: {error.strerror}"
            raise PlanishError(Diagnostic("E0132", message, help="check the folder and its permissions")) from error
