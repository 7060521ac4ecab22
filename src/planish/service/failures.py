"""What went wrong with a request, as JSON.

>>> describe_error(Diagnostic("E0128", "there is no request `x`"))["text"].splitlines()[0]
'error[E0128]: there is no request `x`'
"""

from __future__ import annotations

from typing import Any

from planish.core.diagnostic import Diagnostic
from planish.core.span import Source


def describe_error(problem: Diagnostic, source: Source | None = None) -> dict[str, Any]:
    """A diagnostic as JSON; `text` is how a terminal shows it."""
    line = problem.span.line if problem.span is not None else None
    return {"code": problem.code, "message": problem.message, "line": line, "help": problem.advice,
            "text": problem.render(source)}  # fmt: skip
