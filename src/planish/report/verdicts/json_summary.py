"""The account of a build in short, as the JSON that commands print.

>>> kept = FunctionAccount("dot", 3, False, (), ("line 4: a call of g",), "", None, None, None)
>>> summarise_function(kept)["state"], summarise_function(kept)["reasons"]
('kept', ['line 4: a call of g'])
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from planish.report.account import FileAccount, FunctionAccount
from planish.report.page.contents import state_of

FORMAT = 1
"""Of what is printed; it grows where a field changes or goes."""


def summarise_file(account: FileAccount, cached: bool, written: list[str]) -> dict[str, Any]:
    """A file that was built: what was written, how it is compiled, and its functions."""
    return {
        "file": account.name, "written": written, "cached": cached, "compile": account.compile, "link": account.link,
        "floats": account.floats, "emulator": account.emulator, "warnings": list(account.warnings),
        "functions": [summarise_function(x) for x in account.functions],
    }  # fmt: skip


def summarise_function(account: FunctionAccount) -> dict[str, Any]:
    """A function: its state ("faster", "replaced", "kept", "lost"), times in seconds, how it was verified."""
    used = account.replaced
    return {
        "function": account.function, "line": account.line, "target": account.target or None,
        "state": state_of(account),
        "version": account.version if used else None, "done": list(account.done) if used else [],
        "reasons": list(account.reasons), "verified": asdict(account.check) if used and account.check else None,
        "timed": account.timed, "ratio": account.ratio if used else None,
        "before_seconds": account.before.median if account.before else None,
        "after_seconds": account.after.median if account.after else None,
        "versions": [{"version": x.name, "seconds": x.time.median} for x in account.raced],
    }  # fmt: skip
