"""Fingerprints of programs as keys of their findings, which are made again where a program has changed.

>>> len(stamp_of("planish.isa.classes")) > 8
True
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from planish.core.cache import key


@cache
def stamp_of(*packages: str, without: tuple[str, ...] = ()) -> str:
    """A key of all modules and tables of packages, but those in folders of these names."""
    return key(*(text for package in packages for text in _texts(files(package), without)))


def _texts(folder: Traversable, without: tuple[str, ...]) -> Iterator[str]:
    for x in sorted(folder.iterdir(), key=lambda x: x.name):
        if x.is_dir() and x.name not in (*without, "__pycache__"):
            yield from _texts(x, without)
        elif x.name.endswith((".py", ".toml")):
            yield x.read_text("utf-8")
