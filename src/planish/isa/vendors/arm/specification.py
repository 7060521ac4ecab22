"""Arm's page, and what came after it, as a specification that is learnt from.

>>> "vdot_s32" in added()
True
"""

from __future__ import annotations

from functools import cache

from planish.core.files import read_input
from planish.isa.entry import Entry
from planish.isa.vendors.arm.additions import additions
from planish.isa.vendors.arm.bf16_moves import renamed_moves
from planish.isa.vendors.arm.bfloat16 import bfloat16_entries
from planish.isa.vendors.arm.entries import entry_of
from planish.isa.vendors.arm.float16 import float16_entries
from planish.isa.vendors.arm.page import ArmIntrinsic, read_page
from planish.isa.vendors.specification import Specification

PACKAGE = "rust-src"
PLACES = ("usr/src/rustc-*/library/stdarch/crates/stdarch-verify/arm-intrinsics.html",)


@cache
def open_page(path: str) -> Specification:
    """The specification in a file, with definitions of our own for what it does not have."""
    source = read_input(path, "Arm's page of intrinsics (HTML)").source
    page = read_page(source)
    named = {x.name: x for x in (*page.intrinsics, *renamed_moves(page.intrinsics))}
    own = {name: x for name, x in added().items() if name not in named}
    identities = {name: f"{x.signature} {x.text}" for name, x in own.items()}
    identities |= {name: _identity(x) for name, x in named.items()}
    told = f"Arm's page of Neon intrinsics, {page.version}, and definitions of what came later"
    return Specification(told, identities, lambda name: own[name] if name in own else entry_of(named[name], source))


def added() -> dict[str, Entry]:
    """What came after the page, by its names."""
    return {x.name: x for x in (*additions(), *float16_entries(), *bfloat16_entries())}


def _identity(x: ArmIntrinsic) -> str:
    # The line is where it stands, not what it says.
    return repr((x.result, x.parameters, x.instruction, x.preparation, x.operation, x.architectures))
