"""Intel's file as a specification that is learnt from.

>>> import tempfile
>>> with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
...     _ = file.write('<intrinsics_list version="9"><intrinsic name="_mm_x"/></intrinsics_list>')
...     file.flush()
...     open_listing(file.name).source
"Intel's description of its intrinsics, version 9"
"""

from __future__ import annotations

from functools import cache

from planish.core.files import read_input
from planish.isa.vendors.specification import Specification
from planish.isa.vendors.x86.data import IntelIntrinsic, read_listing
from planish.isa.vendors.x86.entries import entry_of

PACKAGE = "rust-src"
PLACES = ("usr/src/rustc-*/library/stdarch/crates/stdarch-verify/x86-intel.xml",)


@cache
def open_listing(path: str) -> Specification:
    """The specification in a file."""
    source = read_input(path, "Intel's data of intrinsics (XML)").source
    listing = read_listing(source)
    named = {x.name: x for x in listing.intrinsics}
    told = f"Intel's description of its intrinsics, version {listing.version}"
    return Specification(told, {x: _identity(y) for x, y in named.items()}, lambda name: entry_of(named[name], source))


def _identity(x: IntelIntrinsic) -> str:
    # The line is where it stands, not what it says.
    return repr((x.technology, x.features, x.category, x.result, x.parameters, x.operation, x.instruction))
