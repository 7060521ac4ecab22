"""The instructions that come with Planish, one file for each vector extension.

>>> sorted(extensions())
['avx2', 'avx512', 'neon']
>>> shipped().instruction("avx512_load_f32").lanes
16
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from planish.core.span import Source
from planish.isa.instruction import Catalogue
from planish.isa.reader import read_instructions


def extensions() -> tuple[str, ...]:
    """The names of the vector extensions."""
    found = (x.name for x in files("planish.isa").joinpath("sets").iterdir())
    return tuple(sorted(x.removesuffix(".isa") for x in found if x.endswith(".isa")))


@cache
def extension(name: str) -> Catalogue:
    """The instructions of one vector extension."""
    file = files("planish.isa").joinpath("sets", f"{name}.isa")
    return read_instructions(Source(f"{name}.isa", file.read_text("utf-8")), lazy=True)


@cache
def shipped() -> Catalogue:
    """All instructions that come with Planish."""
    found = Catalogue()
    for name in extensions():
        found = found.joined(extension(name))
    return found
