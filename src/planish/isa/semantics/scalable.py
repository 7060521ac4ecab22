"""Definitions for registers of any length: `VL` in their text is the number of bits that a processor's have.

>>> at_length("(a: VL) -> dst: VL { for i < VL/32 { dst.u32[i] = a.u32[i] } }", 512)
'(a: 512) -> dst: 512 { for i < 16 { dst.u32[i] = a.u32[i] } }'
"""

from __future__ import annotations

import re

USUAL = 256
"""The length that is taken where none is said."""

_LENGTH = re.compile(r"\bVL(?:/(\d+))?")


def at_length(text: str, bits: int = USUAL) -> str:
    """The text for registers of so many bits; the same text where it does not depend on them."""
    if not is_scalable(text):
        return text
    return _LENGTH.sub(lambda found: str(bits // int(found[1] or 1)), text)


def is_scalable(text: str) -> bool:
    """Whether a definition depends on the length of registers."""
    return "VL" in text
