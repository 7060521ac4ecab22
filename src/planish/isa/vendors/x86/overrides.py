"""Corrections of the vendor's data: a file of entries, each with the names that it is for and its reason.

>>> entries = read_overrides('[[override]]\\nnames = ["_mm_x*"]\\nreason = "a slip"\\nfind = "bb"\\nreplace = "b"')
>>> correct("_mm_xor", "abba", entries)
'aba'
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Override:
    """A correction of the operations of some intrinsics."""

    names: tuple[str, ...]
    reason: str
    find: str = ""
    replace: str = ""
    operation: str = ""
    exclude: bool = False

    def holds(self, name: str) -> bool:
        """Whether it is for an intrinsic of a name."""
        return any(fnmatchcase(name, x) for x in self.names)


def read_overrides(text: str) -> tuple[Override, ...]:
    """The entries of a file."""
    found = tomllib.loads(text).get("override", [])
    return tuple(Override(**{**entry, "names": tuple(entry["names"])}) for entry in found)


@cache
def shipped_overrides() -> tuple[Override, ...]:
    """The entries that come with Planish."""
    return read_overrides(files("planish.isa.vendors.x86").joinpath("overrides.toml").read_text("utf-8"))


def correct(name: str, operation: str, entries: tuple[Override, ...]) -> str:
    """The operation of an intrinsic after all entries for it."""
    for entry in entries:
        if not entry.holds(name):
            continue
        if entry.operation:
            operation = entry.operation
        if entry.find:
            operation = re.sub(entry.find, entry.replace, operation, flags=re.MULTILINE | re.DOTALL)
    return operation
