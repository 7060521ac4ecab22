"""The cache of generated kernels: finds those made before and generates the others; an interrupted run is resumed by
the next.

>>> import tempfile
>>> from planish.core.cache import Cache
>>> from planish.ir.types import F32
>>> from planish.library.kernels.gemm.edges import make_family
>>> from planish.library.kernels.gemm.microkernel import Tile
>>> from planish.library.kernels.vectors import find_vectors
>>> tile, cache = Tile(find_vectors("avx512", F32), 1, 1), Cache(tempfile.mkdtemp())
>>> first, second = KernelCache(cache), KernelCache(cache)
>>> made = make_family(tile, maker=first)
>>> make_family(tile, maker=second) == made
True
>>> (first.made, first.found, second.made, second.found)
(3, 0, 0, 3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ParamSpec

from planish.core.cache import Cache, key
from planish.core.fingerprint import stamp_contents, stamp_program
from planish.core.pickles import read_pickle, write_pickle
from planish.core.progress import Progress, keep_quiet
from planish.isa.instruction import Catalogue, Instruction
from planish.schedule.arguments import DEFAULTS, Point

_P = ParamSpec("_P")
_PLACES = ("planish.ir.", "planish.isa.", "planish.core.")
"""Where the classes are that a kernel consists of."""
_MAKERS = ("astgen", "core", "ir", "isa", "library", "poly", "schedule", "target")
"""The packages that determine what a kernel is."""
_PREPARED = Path(__file__).parent.with_name("prepared")
"""Where every user of this installation finds the kernels that were made when it was set up."""


@dataclass(slots=True)
class KernelCache:
    """Makes kernels, and keeps them in a `cache`; those that are there already are only read, unless `anew`.

    `tell` hears of each kernel before it is made or read. `point`: what was chosen of the arguments of kernels, where
    those who choose blocks look. `made`, `found`, `kept`: how many were made, were found, and
    are in the cache now. Those that were prepared when Planish was set up are found as well, unless it is made `anew`
    or without a cache."""

    cache: Cache | None = None
    tell: Progress = keep_quiet
    anew: bool = False
    point: Point = DEFAULTS
    made: int = 0
    found: int = 0
    kept: int = 0
    _stamps: dict[int, tuple[Catalogue, str]] = field(default_factory=dict)

    def make(
        self, name: str, make: Callable[_P, Instruction], *arguments: _P.args, **named: _P.kwargs
    ) -> Instruction:
        """The kernel that `make` makes of some arguments. What is kept is taken for equal arguments and the same
        program only, so `make` is a function of a module, and looks at nothing else."""
        self.tell(name)
        if self.cache is None:
            self.made += 1
            return make(*arguments, **named)
        what = (make.__module__, make.__qualname__, *map(self._describe, (*arguments, *sorted(named.items()))))
        address = self.address(what)
        known = None if self.anew else _read(self.cache, address) or _read(prepared_kernels(), prepared_address(what))
        if known is not None:
            self.found, self.kept = self.found + 1, self.kept + 1
            return known
        kernel = make(*arguments, **named)
        self.made += 1
        self.kept += self.cache.put(address, write_pickle(kernel))
        return kernel

    def address(self, what: tuple[object, ...]) -> str:
        """Where the cache has the kernel that is made so."""
        return key("kernel", stamp_program(), *what)

    def _describe(self, argument: object) -> object:
        """An argument as a part of an address: of a catalogue, what steps see of it."""
        if not isinstance(argument, Catalogue):
            return argument
        known = self._stamps.get(id(argument))
        if known is None:
            seen = [(x.name, x.definition, x.fused, x.reassociates) for x in argument.instructions.values()]
            # The catalogue is held, so that no other one gets its identity.
            known = self._stamps[id(argument)] = (argument, key(seen, argument.memories))
        return known[1]


class Preparer(KernelCache):
    """Makes kernels where every user of this installation finds them, if `cache` is what `prepared_kernels` gives."""

    def address(self, what: tuple[object, ...]) -> str:
        """Where they are found, whatever is installed beside Planish, and wherever."""
        return prepared_address(what)


def prepared_kernels() -> Cache:
    """The kernels that every user of this installation finds."""
    return Cache(_PREPARED)


def prepared_address(what: tuple[object, ...]) -> str:
    """Where the kernel that is made so is, if it was prepared."""
    return key("kernel", _stamp_makers(), *what)


@cache
def _stamp_makers() -> str:
    return stamp_contents(*_MAKERS)


def _read(place: Cache, address: str) -> Instruction | None:
    content = place.get(address)
    known = None if content is None else read_pickle(content, _PLACES)
    return known if isinstance(known, Instruction) else None
