"""The instructions that come with Planish, one file for each vector extension.

>>> sorted(extensions())
['avx2', 'avx512', 'hvx', 'neon']
>>> shipped().instruction("avx512_load_f32").lanes
16
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

from planish.core.cache import Cache, key
from planish.core.fingerprint import stamp_contents
from planish.core.lazy_mapping import LazyMapping
from planish.core.pickles import read_pickle, write_pickle
from planish.core.span import Source
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.instruction_file import read_instructions

_PACKAGES = ("core", "ir", "isa")
"""What determines the C of an instruction."""
_PREPARED = Path(__file__).with_name("prepared")
"""Where every user of this installation finds what was made when it was set up."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """The C of an instruction, found by its definition when Planish was set up."""

    text: str

    def write(self) -> str:
        """The text."""
        return self.text


def extensions() -> tuple[str, ...]:
    """The names of the vector extensions."""
    found = (x.name for x in files("planish.isa").joinpath("sets").iterdir())
    return tuple(sorted(x.removesuffix(".isa") for x in found if x.endswith(".isa")))


@cache
def extension(name: str) -> Catalogue:
    """The instructions of one vector extension."""
    read, texts = _read(name), _load_texts().get(name, {})

    def prepared(of: str) -> Instruction:
        found = read.instructions[of]
        return replace(found, text=PreparedText(texts[of])) if of in texts else found

    return replace(read, instructions=LazyMapping({x: partial(prepared, x) for x in read.instructions}))


def _read(name: str) -> Catalogue:
    file = files("planish.isa").joinpath("sets", f"{name}.isa")
    return read_instructions(Source(f"{name}.isa", file.read_text("utf-8")), lazy=True)


@cache
def shipped() -> Catalogue:
    """All instructions that come with Planish."""
    found = Catalogue()
    for name in extensions():
        found = found.joined(extension(name))
    return found


def prepare_texts() -> bool:
    """Find the C of all instructions for every user of this installation; whether that had to be done."""
    place, address = _prepared_place()
    if place.get(address) is not None:
        return False
    place.clear()
    return place.put(address, write_pickle({name: _find_texts(_read(name)) for name in extensions()}))


def _find_texts(catalogue: Catalogue) -> dict[str, str]:
    """The C of the instructions whose definitions say what it is, which takes seconds."""
    return {name: x.template for name, x in catalogue.instructions.items() if not isinstance(x.text, str)}


@cache
def _load_texts() -> dict[str, dict[str, str]]:
    """The C of the instructions of each extension, as far as it was prepared."""
    place, address = _prepared_place()
    content = place.get(address)
    known = None if content is None else read_pickle(content, ())
    return known if isinstance(known, dict) else {}


def _prepared_place() -> tuple[Cache, str]:
    return Cache(_PREPARED), key("texts", stamp_contents(*_PACKAGES))
