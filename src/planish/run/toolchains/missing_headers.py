"""Headers that the compiler does not find, reported at the line that includes them.

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

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.frontend.c.text.preprocess import MissingHeader
from planish.run.toolchains.toolchain import missing_header


@contextmanager
def pointing_at_headers(missing: Sequence[MissingHeader], source: Source) -> Iterator[None]:
    """Around what compiles a file: where a header is missing, the error says which line asks for it."""
    try:
        yield
    except PlanishError as error:
        raise point_at_header(error, missing, source) from error


def point_at_header(error: PlanishError, missing: Sequence[MissingHeader], source: Source) -> PlanishError:
    """The error of a compiler at the line that includes the header which it does not find; any other as it is."""
    header = missing_header(error.diagnostic.message) if error.diagnostic.code == "E0803" else ""
    asked = next((x for x in missing if header == x.name), None)
    if asked is None:
        return error
    message, advice = f"the compiler does not find the header {header} either", f"give the folder that {header} is in"
    return PlanishError(Diagnostic("E0803", message, asked.span, f"{advice} with -I DIR"), source)
