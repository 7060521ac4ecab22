"""Intel's file as a specification that is learnt from: names, what each depends on, and entries of some of them.

>>> Specification.found() is None or Specification.found().isa == "x86"
True
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planish.core.files import read_input
from planish.isa.entry import Entry
from planish.isa.x86.data import Intrinsic, Listing, read_listing
from planish.isa.x86.entries import entry_of

PACKAGE = "rust-src"
_PLACES = "usr/src/rustc-*/library/stdarch/crates/stdarch-verify/x86-intel.xml"


@dataclass(frozen=True, slots=True)
class Specification:
    """Intel's description of its intrinsics in a file."""

    path: str
    isa: str = "x86"

    @classmethod
    def found(cls, root: Path = Path("/")) -> Specification | None:
        """The newest one that Debian's package has put below a root."""
        places = sorted(root.glob(_PLACES), key=lambda x: [int(n) for n in re.findall(r"\d+", x.parts[-6])])
        return cls(str(places[-1])) if places else None

    @property
    def source(self) -> str:
        """What it is, with its version."""
        return f"Intel's description of its intrinsics, version {_listing(self.path).version}"

    def identities(self) -> Mapping[str, str]:
        """For each intrinsic all that its definition depends on."""
        return {x.name: _identity(x) for x in _listing(self.path).intrinsics}

    def read(self, names: Sequence[str]) -> list[Entry]:
        """The entries of some intrinsics."""
        wanted = set(names)
        source = read_input(self.path).source
        return [entry_of(x, source) for x in _listing(self.path).intrinsics if x.name in wanted]


def _identity(x: Intrinsic) -> str:
    # The line is where it stands, not what it says.
    return repr((x.technology, x.features, x.category, x.result, x.parameters, x.operation, x.instruction))


@cache
def _listing(path: str) -> Listing:
    return read_listing(read_input(path).source)
