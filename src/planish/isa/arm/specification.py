"""Arm's page as a specification that is learnt from: names, what each depends on, and entries of some of them.

>>> Specification.found() is None or Specification.found().isa == "arm"
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planish.core.files import read_input
from planish.isa.arm.additions import additions
from planish.isa.arm.entries import entry_of
from planish.isa.arm.page import Intrinsic, Page, read_page
from planish.isa.entry import Entry

PACKAGE = "rust-src"
_PLACES = "usr/src/rustc-*/library/stdarch/crates/stdarch-verify/arm-intrinsics.html"


@dataclass(frozen=True, slots=True)
class Specification:
    """Arm's page of Neon intrinsics in a file."""

    path: str
    isa: str = "arm"

    @classmethod
    def found(cls, root: Path = Path("/")) -> Specification | None:
        """The one that Debian's package has put below a root."""
        places = sorted(root.glob(_PLACES))
        return cls(str(places[-1])) if places else None

    @property
    def source(self) -> str:
        """What it is, with its version."""
        return f"Arm's page of Neon intrinsics, {_page(self.path).version}, and definitions of what came later"

    def identities(self) -> Mapping[str, str]:
        """For each intrinsic, those that are added here among them, all that its definition depends on."""
        own = {x.name: f"{x.signature} {x.text}" for x in additions()}
        return own | {x.name: _identity(x) for x in _page(self.path).intrinsics}

    def read(self, names: Sequence[str]) -> list[Entry]:
        """The entries of some intrinsics."""
        wanted = set(names)
        source = read_input(self.path).source
        found = {x.name: entry_of(x, source) for x in _page(self.path).intrinsics if x.name in wanted}
        return [*found.values(), *(x for x in additions() if x.name in wanted and x.name not in found)]


def _identity(x: Intrinsic) -> str:
    # The line is where it stands, not what it says.
    return repr((x.result, x.parameters, x.instruction, x.preparation, x.operation, x.architectures))


@cache
def _page(path: str) -> Page:
    return read_page(read_input(path).source)
