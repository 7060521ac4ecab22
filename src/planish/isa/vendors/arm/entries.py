"""Arm's page as entries of the library: what can be read has a definition, what cannot says why.

>>> c = "int8x8_t", (("int8x8_t", "a"),)
>>> given = ArmIntrinsic("vx", *c, "X Vd.8B,Vn.8B", "a → Vn.8B", "", "V[d] = F(V[n]);", "", 1)
>>> entry_of(given, None).reason
'the function `F` is not known'
"""

from __future__ import annotations

import re

from planish.core.span import Source
from planish.isa.entry import Entry, IntrinsicSignature
from planish.isa.vendors.arm.features import features_of
from planish.isa.vendors.arm.page import ArmIntrinsic
from planish.isa.vendors.arm.translate import ranges, translate
from planish.isa.vendors.entry_definition import with_definition

_NAME = re.compile(r"(?:v|__)[A-Za-z0-9_]+")


def entry_of(given: ArmIntrinsic, source: Source | None) -> Entry:
    """An intrinsic as an entry: refused with a reason, or not proven as yet."""
    signature = IntrinsicSignature(given.result, given.parameters)
    mnemonic = given.instruction.split()[0].lower() if given.instruction else ""
    own = ("v7",) if given.architectures.startswith("v7") else ("A64", *given.architectures.split()[1:])
    features = (*own, *features_of(mnemonic, given.name))
    values = {name: found for name, found in ranges(given).items() if any(name == x for _, x in given.parameters)}
    entry = Entry(given.name, "arm", signature, "", features, mnemonic, "", values, "refused")
    return with_definition(entry, _NAME, lambda: translate(given, source))
