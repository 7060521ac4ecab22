"""Why statements of C are no static control part: a closed set of causes, by which the reader decides what else to try.

>>> "scop-jump" in UNREADABLE, "scop-data" in UNREADABLE
(True, False)
>>> type(remark_of("scop-macro", "it comes out of a macro", None)).__name__
'HiddenRemark'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planish.core.diagnostic import Remark
from planish.core.span import Span

Cause = Literal[
    "analysis-limit",
    "scop-affine",
    "scop-array",
    "scop-assertion",
    "scop-assignment",
    "scop-bound",
    "scop-call",
    "scop-cast",
    "scop-condition",
    "scop-conditional",
    "scop-data",
    "scop-division",
    "scop-exit",
    "scop-expression",
    "scop-jump",
    "scop-literal",
    "scop-loop",
    "scop-macro",
    "scop-name",
    "scop-narrow",
    "scop-pointer",
    "scop-statement",
    "scop-static",
    "scop-struct",
    "scop-type",
    "scop-unknown",
    "scop-wrap",
]
"""Why statements are refused; it is the code of the remark that says so, too."""

UNREADABLE: frozenset[Cause] = frozenset(
    ("scop-assertion", "scop-call", "scop-expression", "scop-jump", "scop-statement", "scop-static")
)
"""Those that are in what is written there: nothing that could be known of sizes would help."""


@dataclass(frozen=True, slots=True)
class HiddenRemark(Remark):
    """A remark on what comes out of a macro: more may be said of it where that is written out."""


def remark_of(cause: Cause, message: str, span: Span | None, about: Span | None = None) -> Remark:
    """What is said of statements that are refused."""
    kind = HiddenRemark if cause == "scop-macro" else Remark
    return kind(cause, "refused", message, span, about=about)
