"""The options of a request, as JSON has them.

>>> read_wishes({"target": "x86-avx2", "sizes": {"n": 100}, "measure": False}).target
'x86-avx2'
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.ir.types import Floats
from planish.options import Options

MOST_THREADS = 1024
MOST_SIZE = 10**12
_KNOWN = {
    "target": str, "functions": list, "threads": int, "fp": str, "measure": bool, "sizes": dict, "defines": list,
    "include_dirs": list, "compiler": str, "script": str,
}  # fmt: skip


def read_wishes(data: Mapping[str, Any]) -> Options:
    """The options that a request wishes; PlanishError E0128 for one that is none."""
    for name, value in data.items():
        wanted = _KNOWN.get(name)
        if wanted is None:
            raise refuse(f"there is no option `{name}`", f"the options are: {', '.join(_KNOWN)}")
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise refuse(f"the option `{name}` must be a {wanted.__name__}")
    lists = {name: data.get(name, []) for name in ("functions", "defines", "include_dirs")}
    for name, values in lists.items():
        if not all(isinstance(x, str) for x in values):
            raise refuse(f"the option `{name}` must be a list of texts")
    sizes = data.get("sizes", {})
    if not all(isinstance(x, int) and not isinstance(x, bool) and 0 <= x < MOST_SIZE for x in sizes.values()):
        raise refuse("the option `sizes` must have a number of at most 12 digits for each name")
    if not 1 <= (threads := data.get("threads", 1)) <= MOST_THREADS:
        raise refuse(f"the option `threads` must be from 1 to {MOST_THREADS}")
    floats = next((x for x in get_args(Floats) if x == data.get("fp", "reassociate")), None)
    if floats is None:
        raise refuse(f"the option `fp` must be one of {', '.join(get_args(Floats))}")
    script = data.get("script", "")
    return Options(
        target=data.get("target", "native"), functions=tuple(lists["functions"]), threads=threads, fp=floats,
        measure=data.get("measure", True), sizes=dict(sizes), defines=tuple(lists["defines"]),
        include_dirs=tuple(map(Path, lists["include_dirs"])), compiler=data.get("compiler"),
        script=Source("script.sched", script) if script.strip() else None,
    )  # fmt: skip


def refuse(message: str, advice: str = "") -> PlanishError:
    """A request that cannot be done as it stands."""
    return PlanishError(Diagnostic("E0128", message, help=advice))
