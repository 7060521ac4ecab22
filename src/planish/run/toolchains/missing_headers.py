"""What the compiler does not take of a file, reported at its line: headers that it does not find, and what is no C.

>>> from planish.core.span import Source
>>> source = Source("a.c", '#include "own.h"\\n')
>>> missing = MissingHeader("own.h", source.point(1))
>>> error = PlanishError(Diagnostic("E0803", "gcc failed: a.c:1:10: fatal error: own.h: No such file or directory"))
>>> print(point_at_header(error, (missing,), source))
error[E0803]: the compiler does not find the header own.h either
 --> a.c:1:1
  |
1 | #include "own.h"
  | ^
  = help: give the folder that own.h is in with -I DIR
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.frontend.c.text.preprocess import MissingHeader
from planish.run.toolchains.toolchain import missing_header

_TOLD = re.compile(
    r"^kernel\.c:(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<said>.*)\n(?: *\d+ \| )?(?P<text>.*)$",
    re.MULTILINE,
)
"""What compilers print of the text that they are given, and the line of it that they show."""


@contextmanager
def pointing_at_headers(missing: Sequence[MissingHeader], source: Source) -> Iterator[None]:
    """Around what compiles a file: where a header is missing, the error says which line asks for it; where the file
    itself is wrong, in which line of it."""
    try:
        yield
    except PlanishError as error:
        raise point_at_line(point_at_header(error, missing, source), source) from error


def point_at_header(error: PlanishError, missing: Sequence[MissingHeader], source: Source) -> PlanishError:
    """The error of a compiler at the line that includes the header which it does not find; any other as it is."""
    header = missing_header(error.diagnostic.message) if error.diagnostic.code == "E0803" else ""
    asked = next((x for x in missing if header == x.name), None)
    if asked is None:
        return error
    message, advice = f"the compiler does not find the header {header} either", f"give the folder that {header} is in"
    return PlanishError(Diagnostic("E0803", message, asked.span, f"{advice} with -I DIR"), source)


def point_at_line(error: PlanishError, source: Source) -> PlanishError:
    """The error of a compiler at the line of the file that it shows; any other as it is.

    >>> told = Diagnostic("E0803", "gcc failed:\\nkernel.c:1:5: error: `a` undeclared\\n    1 | x = a;\\n")
    >>> print(point_at_line(PlanishError(told), Source("own.c", "x = a;")).diagnostic.span)
    own.c:1:5
    """
    found = _TOLD.search(error.diagnostic.message) if error.diagnostic.code == "E0803" else None
    if found is None or source.line(int(found["line"])).rstrip() != found["text"].rstrip():
        return error  # of what was made of the file
    message = f"the compiler does not take the file: {found['said']}"
    advice = "correct the line; a name of a header needs its folder (-I DIR); --cc NAME takes another compiler"
    span = source.point(int(found["line"]), int(found["column"]))
    return PlanishError(Diagnostic("E0803", message, span, advice), source)
