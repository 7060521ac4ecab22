"""What makes the library's kernels, and finds those that were made before: an interrupted run is resumed by the next.

>>> import tempfile
>>> from planish.core.cache import Cache
>>> from planish.ir.types import F32
>>> from planish.library.gemm.edges import make_family
>>> from planish.library.gemm.microkernel import Tile
>>> from planish.library.vectors import find_vectors
>>> tile, cache = Tile(find_vectors("avx512", F32), 1, 1), Cache(tempfile.mkdtemp())
>>> first, second = Maker(cache), Maker(cache)
>>> made = make_family(tile, maker=first)
>>> make_family(tile, maker=second) == made
True
>>> (first.made, first.found, second.made, second.found)
(3, 0, 0, 3)
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ParamSpec

from planish.core.cache import Cache, key
from planish.core.pickles import read_pickle
from planish.core.stamp import stamp_program
from planish.core.telling import Tell, keep_quiet
from planish.isa.instruction import Catalogue, Instruction

_P = ParamSpec("_P")
_PLACES = ("planish.ir.", "planish.isa.", "planish.core.")
"""Where the classes are that a kernel consists of."""


@dataclass(slots=True)
class Maker:
    """Makes kernels, and keeps them in a `cache`; those that are there already are only read, unless `anew`.

    `tell` hears of each kernel before it is made or read. `made`, `found`, `kept`: how many were made, were found, and
    are in the cache now."""

    cache: Cache | None = None
    tell: Tell = keep_quiet
    anew: bool = False
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
        what = [self._describe(x) for x in (*arguments, *sorted(named.items()))]
        address = key("kernel", stamp_program(), make.__module__, make.__qualname__, *what)
        content = None if self.anew else self.cache.get(address)
        known = None if content is None else read_pickle(content, _PLACES)
        if isinstance(known, Instruction):
            self.found, self.kept = self.found + 1, self.kept + 1
            return known
        kernel = make(*arguments, **named)
        self.made += 1
        self.kept += self.cache.put(address, pickle.dumps(kernel, protocol=pickle.HIGHEST_PROTOCOL))
        return kernel

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
