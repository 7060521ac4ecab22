"""The specifications that instructions can be learnt from: where they lie, what runs the instructions, what is missing.

>>> [x.isa for x in VENDORS]
['x86', 'arm', 'hvx', 'sve']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planish.isa.entry import Entry
from planish.isa.vendors.arm import specification as arm
from planish.isa.vendors.specification import Opener
from planish.isa.vendors.sve.specification import open_own
from planish.isa.vendors.x86 import specification as x86
from planish.isa.vendors.x86.features import missing
from planish.run.instructions import hexagon
from planish.run.instructions.compile import Machine
from planish.run.instructions.machines import arm_machines, sve_machines, x86_flags, x86_machines


@dataclass(frozen=True, slots=True)
class Vendor:
    """`package`: what puts the specification on a Debian machine, at one of `places`, both empty where there is none
    but ours; `opener` takes its path; `lacking` says what an entry needs that no machine here has."""

    isa: str
    package: str
    places: tuple[str, ...]
    opener: Opener
    machines: Callable[[], tuple[Machine, ...]]
    lacking: Callable[[Entry], str | None]


def _x86_lacks(entry: Entry) -> str | None:
    feature = missing(entry.features, x86_flags())
    return f"this processor has no {feature}" if feature else None


VENDORS = (
    Vendor("x86", x86.PACKAGE, x86.PLACES, x86.open_listing, x86_machines, _x86_lacks),
    Vendor("arm", arm.PACKAGE, arm.PLACES, arm.open_page, arm_machines, lambda _: None),
    Vendor("hvx", hexagon.PACKAGE, hexagon.PLACES, hexagon.open_semantics, hexagon.hexagon_machines, lambda _: None),
    Vendor("sve", "", (), open_own, sve_machines, lambda _: None),
)
