"""Loads, stores and moves of bf16, which Arm's page of 2018 lacks (or of half floats, where it has a slip): those of
whole numbers of 16 bits, by other names.

>>> load = ArmIntrinsic("vld1_lane_u16", "uint16x4_t", (("uint16_t const *", "ptr"),), "", "", "", "", "v7", 1)
>>> made, = renamed_moves([load])
>>> made.name, made.result, made.parameters
('vld1_lane_bf16', 'bfloat16x4_t', (('bfloat16_t const *', 'ptr'),))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from planish.isa.vendors.arm.page import ArmIntrinsic

_WHOLE = re.compile(r"v(?:ld[1-4]|st[1-4]|create|dup|get|set|combine|copy)[qh]?(?:_\w+)?_(u16)(?:_x[234])?")
_INTO, _FROM = re.compile(r"vreinterpretq?_(u16)_\w+"), re.compile(r"vreinterpretq?_\w+_(u16)")
_OTHER_INTO, _OTHER_FROM = re.compile(r"vreinterpretq?_(s16)_u16"), re.compile(r"vreinterpretq?_u16_(s16)")
_SLIPS = re.compile(r"vsetq?_lane_(u16)")
"""Where the page has those of half floats, and names a register that is none."""

_TYPES = {"u16": "uint16", "s16": "int16"}


def renamed_moves(given: Iterable[ArmIntrinsic]) -> Iterator[ArmIntrinsic]:
    """What moves other elements of 16 bits, for each of the page's that moves whole numbers alike."""
    for x in given:
        for pattern in (_WHOLE, _INTO, _FROM, _OTHER_INTO, _OTHER_FROM):
            if found := pattern.fullmatch(x.name):
                yield _renamed(x, found, "bfloat16", "bf16", "A64 BF16")
        if found := _SLIPS.fullmatch(x.name):
            yield _renamed(x, found, "float16", "f16", x.architectures)


def _renamed(x: ArmIntrinsic, found: re.Match[str], kind: str, short: str, architectures: str) -> ArmIntrinsic:
    name = f"{x.name[: found.start(1)]}{short}{x.name[found.end(1) :]}"
    old = re.compile(rf"\b{_TYPES[found[1]]}(?=[x_])")
    parameters = tuple((old.sub(kind, of), own) for of, own in x.parameters)
    return replace(x, name=name, result=old.sub(kind, x.result), parameters=parameters, architectures=architectures)
