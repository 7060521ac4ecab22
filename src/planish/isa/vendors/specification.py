"""A vendor's specification as it is learnt from, and where it is found.

>>> from planish.isa.entry import IntrinsicSignature
>>> read = lambda x: Entry(x, "toy", IntrinsicSignature("int", ()))
>>> specification = Specification("a sheet", {"add8": "a + b"}, read)
>>> [specification.entry(x).name for x in specification.identities], newest(Path("/nowhere"), "*.xml")
(['add8'], None)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from planish.isa.entry import Entry


@dataclass(frozen=True, slots=True)
class Specification:
    """`source`: what was read, with its version; `identities`: for each instruction, by its name, all that its
    definition depends on; `entry` reads one of them."""

    source: str
    identities: Mapping[str, str]
    entry: Callable[[str], Entry]


Opener = Callable[[str], Specification]
"""Opens the specification at a path, once in each process; PlanishError where there is none."""


def newest(root: Path, *patterns: str) -> str | None:
    """The path below a root that one of the patterns fits, with the highest numbers in it; None where none does."""
    found = [x for pattern in patterns for x in root.glob(pattern)]
    if not found:
        return None
    return str(max(found, key=lambda x: [int(n) for n in re.findall(r"\d+", str(x.relative_to(root)))]))
