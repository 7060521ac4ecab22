"""Why statements of C are no static control part: a closed set of causes, by which the reader decides what else to try.

>>> "scop-jump" in UNREADABLE, "scop-data" in UNREADABLE
(True, False)
>>> type(remark_of("scop-macro", "it comes out of a macro", None)).__name__
'HiddenRemark'
"""

from __future__ import annotations

import re
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
    return kind(cause, "refused", message, span, _help_with(cause, message), about=about)


_LIBRARY = (
    "abort|calloc|clock|exit|fclose|fflush|fgetc|fgets|fopen|fprintf|fputc|fputs|fread|free|fscanf|fwrite|getc|getchar|"
    "getenv|malloc|perror|printf|putc|putchar|puts|qsort|rand|realloc|scanf|snprintf|sprintf|srand|sscanf|time"
)
"""Functions of C that every iteration has to call in its turn."""
_HELPS: tuple[tuple[Cause, str, str], ...] = (
    ("scop-call", r"a call of str(?:len|nlen)\b", "call it once in front of the loop, and keep what it returns"),
    ("scop-call", rf"a call of (?:{_LIBRARY})(?:$| \(in|, which is not)", "call it in a loop of its own"),
    ("scop-expression", "quotient by a complex", "write the quotient out in real numbers, by creal and cimag"),
    ("scop-jump", r": a switch$", "write it as if and else, or end each of its cases with a break"),
    ("scop-jump", "an exit out of a loop", "find where it ends in a loop of its own, and let this one count up to it"),
    ("scop-statement", "inline assembly", "write it in C, or move it in front of the loop or behind it"),
    ("scop-type", "which no header declares", "give the folder of the header that does with -I DIR, or declare it"),
    ("scop-type", "is volatile or atomic", "declare it plain, or copy it into a plain variable in front of the loop"),
    ("scop-type", "has a type with an attribute", "let elements be plain numbers: lanes are made of these"),
)
"""What to change where that is more than what helps against all of a cause, by what the message says."""
_KEPT_FUNCTION = re.compile(r", which .* (?:defines?\b|is not read$)", re.S)
_HELPS_WITH_KEPT = (
    (r"` may change", "give macros with -D NAME and headers with -I DIR and #include instead of that flag"),
    (r"in several ways", "let one command compile each of the two files"),
    (r"with other flags", "compile both files with the same flags"),
    (r"with -fPIC\)", "compile that file with -fvisibility=hidden, unless programs replace its functions"),
    (r"is not read$", "give the folder of that file's headers with -I DIR, and its macros with -D NAME"),
    (r" and [^,]* define$", "give only the files that are linked into one program"),
    (r"the header .* was not found", "give its folder with -I DIR"),
    (r"a variable of that file alone", "hand the variable to the function as an argument"),
    (r"not declared here|otherwise here|another one|something else here", "let both files have it of one header"),
)


def _help_with(cause: Cause, message: str) -> str:
    """What to change where more is known than the cause; "" elsewhere."""
    if cause == "scop-call" and _KEPT_FUNCTION.search(message):
        return _help_with_kept(message)
    return next((y for known, x, y in _HELPS if known == cause and re.search(x, message)), "")


def _help_with_kept(message: str) -> str:
    """What to change where a function of another file, which is known, stays there."""
    first = next((y for x, y in _HELPS_WITH_KEPT if re.search(x, message)), "let it be a function that both files know")
    return f"{first}; or define it in a header of both as `static inline`, or move the call out of the nest"
