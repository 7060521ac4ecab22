"""What to do after a build, in one line: the first of what would gain most.

>>> from planish.report.account import FunctionAccount
>>> taken = FunctionAccount("dot", 3, True, ("line 4: lanes",), (), "", None, None, None)
>>> print(advise([FileAccount("dot.c", "", "", "gcc", "strict", (taken,), ())], True))
advice: planish bench dot.c compares with all compilers here; planish tune dot.c searches further
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from planish.report.account import FileAccount, FunctionAccount

_HELP = re.compile(r"^  = help: (.*)$", re.MULTILINE)
_PLACE = re.compile(r"line (\d+): ")
_MISSING = re.compile(r"note\[c-include\]: the header (.*?) was not found")
_NOTHING = "nothing needs to change"


def advise(accounts: Sequence[FileAccount], measured: bool) -> str:
    """The advice after a build, whose versions were `measured` or not."""
    return f"advice: {next(_advices(accounts, measured))}"


def _advices(accounts: Sequence[FileAccount], measured: bool) -> Iterator[str]:
    functions = [(account, f) for account in accounts for f in account.functions]
    for account in accounts:
        for header in (x[1] for warning in account.warnings if (x := _MISSING.match(warning)) is not None):
            yield f"give the folder of {header}, which {account.name} includes, with -I DIR"
    for _, function in functions:
        if not function.replaced and (told := _remedy(function)):
            yield told
    names = " ".join(dict.fromkeys(shlex.quote(account.name) for account, f in functions if f.replaced))
    if names and not measured and not any(account.emulator for account in accounts):
        yield f"nothing was timed: planish build {names}, without --no-measure, times all versions on this machine"
    if names:
        yield f"planish bench {names} compares with all compilers here; planish tune {names} searches further"
    yield "planish explain tells what holds each nest back"


def _remedy(function: FunctionAccount) -> str:
    """What to change in a function that stays as written, where that is known."""
    for reason, refusal in zip(function.reasons, function.refusals, strict=False):
        found, place = _HELP.search(refusal), _PLACE.match(reason)
        if found is not None and not found[1].startswith(_NOTHING):
            where = f", line {place[1]}" if place is not None else ""
            return f"{function.function} stays as written{where}: {found[1]}"
    return ""
