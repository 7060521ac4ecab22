"""Profiles: the share of a program's time that each function takes.

>>> parse_profile(Source("p", "  45.12%  app  app  [.] gemm\\n# a note\\nfir 0.2\\n"))
{'gemm': 0.4512, 'fir': 0.2}

A line is a function's name and its share, or what `perf report --stdio` prints of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import read_input
from planish.core.span import Source

_SHARE = r"(?P<share>\d+(?:\.\d*)?)\s*(?P<percent>%?)"
_PLAIN = re.compile(rf"(?P<name>[A-Za-z_]\w*)[\s,:]+{_SHARE}")
_PERF = re.compile(rf"{_SHARE}\s(?:.*\s)?(?P<name>[A-Za-z_]\w*)(?:\.\w+)*")


def read_profile(name: str) -> Mapping[str, float]:
    """The shares in a file; PlanishError as of `read_input` and `parse_profile`."""
    return parse_profile(read_input(name, "a profile").source)


def parse_profile(source: Source) -> Mapping[str, float]:
    """The shares in a text, 1 for all of the time; PlanishError E0930 for a line that is none, and where none is more
    than nothing."""
    shares: dict[str, float] = {}
    for number, line in enumerate(source.text.splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        found = _PLAIN.fullmatch(text) or _PERF.fullmatch(text)
        if found is None:
            message = f"`{text[:60]}` is no share of a function"
            raise PlanishError(Diagnostic("E0930", message, source.point(number)), source)
        share = float(found["share"]) / (100 if found["percent"] else 1)
        shares[found["name"]] = shares.get(found["name"], 0.0) + share
    if not any(shares.values()):
        raise PlanishError(Diagnostic("E0930", f"{source.name} has no share of a function", source.point(1)), source)
    return {name: share for name, share in shares.items() if share > 0}
