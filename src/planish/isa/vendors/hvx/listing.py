"""The vector instructions of a preprocessed list: tags, how assembly writes them, and what they do, in C.

>>> text = '@@V6_vnot@@"Vd32=vnot(Vu32)"@@{ fHIDE(int i;) fVFOREACH(16, i) { VdV.uh[i] = ~VuV.uh[i]; } }@@'
>>> (found,) = read_listing(Source("ext", text))
>>> found.tag, found.syntax, found.body
('V6_vnot', 'Vd32=vnot(Vu32)', '{ int i; for (i = 0; i < 64; i++) { VdV.uh[i] = ~VuV.uh[i]; } }')
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source

BITS = 1024
"""The width of a vector register."""

PROBE = """\
#define EXTINSN(TAG, BEH, ATTRIBS, DESCR, SEM) @@TAG@@BEH@@SEM@@
#define Q6INSN(TAG, BEH, ATTRIBS, DESCR, SEM) @@TAG@@BEH@@SEM@@
#include "imported/mmvec/ext.idef"
"""
"""What a preprocessor of C makes the list of, in QEMU's folder `target/hexagon`."""

_ENTRY = re.compile(r"@@(\w+)@@(.*?)@@(.*?)@@", re.DOTALL)
_EACH = re.compile(r"fVFOREACH\((\d+),\s*(\w+)\)")
_LONGEST = 20_000
_DROPPED = ("warn", "fGATHER_INIT", "fSCATTER_INIT")


@dataclass(frozen=True, slots=True)
class ListedInstruction:
    """One entry: `syntax` is its assembly, `body` the statements of C."""

    tag: str
    syntax: str
    body: str


def read_listing(source: Source) -> tuple[ListedInstruction, ...]:
    """The entries, the first one of each tag; PlanishError E0650 where there are none."""
    found: dict[str, ListedInstruction] = {}
    for tag, syntax, body in _ENTRY.findall(source.text):
        if len(body) <= _LONGEST:
            plain = "".join(re.findall(r'"([^"]*)"', syntax))
            found.setdefault(tag, ListedInstruction(tag, plain, _as_c(body)))
    if not found:
        advice = "give the folder `target/hexagon` of QEMU's source (`apt-get source qemu`)"
        raise PlanishError(Diagnostic("E0650", "no instruction stands in this list", source.point(1), advice), source)
    return tuple(found.values())


def _as_c(body: str) -> str:
    """The statements without what hides declarations, and with loops over lanes written out."""
    body = " ".join(re.sub(r"^# .*$", "", body, flags=re.MULTILINE).split())
    while (place := body.find("fHIDE(")) >= 0:
        end = _closing(body, place + 5)
        inner = body[place + 6 : end]
        body = body[:place] + ("" if inner.strip().startswith(_DROPPED) else inner) + body[end + 1 :]
    body = re.sub(r"\b(\d)_\d\b", r"\1", body)  # the bytes of what is shifted, as a type
    body = re.sub(r"\bfECHO\(", "(", body)
    body = re.sub(r"\b(?:IV1DEAD|fUARCH_NOTE_PUMP_\dX)\(\);?", "", body)
    return _EACH.sub(lambda x: f"for ({x[2]} = 0; {x[2]} < {BITS // int(x[1])}; {x[2]}++)", body)


def _closing(text: str, opening: int) -> int:
    depth = 0
    for place in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text) - 1
