"""A process that does requests: one line of JSON in, one out, within a bound on its memory.

$ echo '{"do": "analyse", "name": "f.c", "text": "…"}' | python -m planish.service.worker
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback

from planish.core.diagnostic import Diagnostic
from planish.service.failures import describe_error
from planish.service.requests import answer

MEMORY = 6 << 30
"""Bytes of addresses that the process, and each that it starts, may have."""


def serve() -> None:
    """Does requests until the input ends. What is printed on the way goes to stderr."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    bound = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            told = answer(json.loads(line))
        except MemoryError:
            told = {"error": describe_error(Diagnostic("E0906", "there is not enough memory for it"))}
        except Exception as error:
            traceback.print_exc()
            bug = Diagnostic("E0130", f"a bug in Planish: {type(error).__name__}: {error}")
            told = {"error": describe_error(bug)}
        out.write(json.dumps(told) + "\n")
        out.flush()


if __name__ == "__main__":
    serve()
