"""Intel's listing as entries of the library: what can be read has a definition, what cannot says why.

>>> from planish.isa.vendors.x86.data import IntelParameter
>>> result = IntelParameter("__m64", "dst", "UI8")
>>> given = IntelIntrinsic("_mm_x", "SSE2", ("SSE2",), "", result, (), "dst := unknown", 1)
>>> entry_of(given, None).reason
'`unknown` is not known'
"""

from __future__ import annotations

import re

from planish.core.span import Source
from planish.isa.entry import Entry, IntrinsicSignature
from planish.isa.vendors.entry_definition import with_definition
from planish.isa.vendors.x86.data import IntelIntrinsic
from planish.isa.vendors.x86.overrides import shipped_overrides
from planish.isa.vendors.x86.translate import translate

_NAME = re.compile(r"_[A-Za-z0-9_]+")

_VALUES = {
    "_MM_FROUND": (8, 9, 10, 11, 4),
    "_MM_FROUND_SAE": (4, 8),
    "_MM_INDEX_SCALE": (1, 2, 4, 8),
    "_MM_CMPINT": tuple(range(8)),
    "_MM_MANTISSA_NORM": tuple(range(4)),
    "_MM_MANTISSA_SIGN": tuple(range(3)),
}
"""The values that immediates of some kinds may have."""

_OTHER = {
    "SVML": "a function of a library, not an instruction",
    "SVML/KNC": "a function of a library, not an instruction",
    "KNC": "of the first Xeon Phi, which no compiler here knows",
}
"""Parts of the listing that are left out, and why."""


def entry_of(given: IntelIntrinsic, source: Source | None) -> Entry:
    """An intrinsic as an entry: refused or excluded with a reason, or not proven as yet."""
    signature = IntrinsicSignature(given.result.type, tuple((x.type, x.name) for x in given.parameters))
    values = {x.name: _VALUES[x.role] for x in given.parameters if x.role in _VALUES}
    entry = Entry(
        given.name, "x86", signature, "", given.features, given.instruction.lower(), given.category, values, "refused"
    )
    if given.technology in _OTHER:
        return entry.judged("excluded", _OTHER[given.technology])
    for override in shipped_overrides():
        if override.exclude and override.holds(given.name):
            return entry.judged("excluded", override.reason)
    return with_definition(entry, _NAME, lambda: translate(given, source))
