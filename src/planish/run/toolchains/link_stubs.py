"""Link stubs: what a file calls and does not define gets a stub that says so and aborts.

>>> undefined_names("a.c:(.text+0x9): undefined reference to `report_progress'\\nld: undefined symbol: log_line\\n")
('log_line', 'report_progress')
>>> missing_name("planish: `log_line` is not defined in this file\\n")
'log_line'
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNDEFINED = re.compile(
    r"undefined reference to [`'](?P<gnu>[A-Za-z_$][\w$]*)'"
    r"|undefined symbol: (?P<lld>[A-Za-z_$][\w$]*)"
    r"|hidden symbol [`'](?P<hidden>[A-Za-z_$][\w$]*)' isn't defined"
    r"|^\s*\"_(?P<apple>[A-Za-z_$][\w$]*)\", referenced from",
    re.MULTILINE,
)
_MISSING = re.compile(r"^planish: `([\w$]+)` is not defined in this file$", re.MULTILINE)


def undefined_names(said: str) -> tuple[str, ...]:
    """The symbols that a linker found no definition of, by what it printed (GNU ld, gold, lld, mold, Apple's ld)."""
    found = (next(x for x in m.groups() if x is not None) for m in _UNDEFINED.finditer(said))
    return tuple(sorted(dict.fromkeys(found)))


def stub_text(names: Iterable[str]) -> str:
    """C text that defines these symbols as functions which print their name to the standard error and abort.

    It includes no header, so that no declaration contradicts a name.
    """
    parts = ["void abort(void);\nlong write(int, const void *, unsigned long);\n"]
    for name in names:
        line = f"planish: `{name}` is not defined in this file\\n"
        length = len(line) - 1
        body = f'if (write(2, "{line}", {length}ul) < 0) abort();\n  abort();'
        parts.append(f"void {name}(void);\nvoid {name}(void)\n{{\n  {body}\n}}\n")
    return "".join(parts)


def missing_name(said: str) -> str:
    """The function whose stub was called last, by what a process printed to its standard error; "" for none."""
    found = _MISSING.findall(said)
    return str(found[-1]) if found else ""
