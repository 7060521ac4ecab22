"""The account of a build: what was done to each function, how it was verified, what it gained; plain data as JSON.

>>> kept = FunctionAccount("dot", 3, False, (), ("a call of g",), "", None, None, None)
>>> account = FileAccount("dot.c", "text", "header", "gcc -O3", "strict", (kept,), ())
>>> parse_account(print_account(account)) == account
True
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from planish.build.assemble import FileResult
from planish.build.functions import FunctionResult
from planish.build.several_targets import JoinedTargets
from planish.core.diagnostic import Diagnostic, Remark
from planish.core.former_names import current_version
from planish.core.reasons import LOSSES
from planish.frontend.c.translation_unit import CFunction
from planish.ir.types import Floats
from planish.options import Options
from planish.run.calls.passing import leaves_of
from planish.run.oracle.comparison import Verdict
from planish.run.timing.clock import Timing
from planish.run.workbench import DropIn


@dataclass(frozen=True, slots=True)
class Check:
    """What the oracle found: how many calls were compared, the worst difference (relative to the largest element), and
    in how many of the calls the new code ran and changed something (of each nest: that of the fewest)."""

    cases: int
    worst_absolute: float
    worst_relative: float
    ran: int = 0


@dataclass(frozen=True, slots=True)
class Clocked:
    """Seconds per call: median, 10th and 90th percentile."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RacedVersion:
    """A version that computed the same, and what it took in the call that was timed."""

    name: str
    time: Clocked


@dataclass(frozen=True, slots=True)
class FunctionAccount:
    """What became of a function, at `line`.

    `done` says what was done to it, one entry for each band of loops; `reasons` why something stays as written,
    `refusals` the same with the line, a caret and advice. `timed` names the arguments with which
    `before` and `after` were measured ("" where they were not). `lost` is the id of what ended its analysis before
    that was done, if anything did. `raced`: all versions that were timed beside the original. `target`: which one of
    several this is about.
    """

    function: str
    line: int
    replaced: bool
    done: tuple[str, ...]
    reasons: tuple[str, ...]
    timed: str
    check: Check | None
    before: Clocked | None
    after: Clocked | None
    version: str = ""
    refusals: tuple[str, ...] = ()
    lost: str = ""
    raced: tuple[RacedVersion, ...] = ()
    target: str = ""

    @property
    def ratio(self) -> float | None:
        """Time before over time after; None where nothing was timed."""
        return self.before.median / self.after.median if self.before and self.after else None


@dataclass(frozen=True, slots=True)
class FileAccount:
    """What became of a file: the texts to write, the compiler's command line to use, and every function's account.

    `warnings` are diagnostics as text; `link` are flags for the libraries that the text calls; `emulator`: what ran the
    checks, where this processor did not.
    """

    name: str
    text: str
    header: str
    compile: str
    floats: str
    functions: tuple[FunctionAccount, ...]
    warnings: tuple[str, ...]
    link: str = ""
    emulator: str = ""

    @property
    def lasting(self) -> bool:
        """Whether a build of the same text would come to the same: nothing ended it that may be gone the next time."""
        return all(f.lost in ("", LOSSES["processor"], LOSSES["depth"]) for f in self.functions)


def drop_in_files(name: str, text: str, header: str) -> dict[str, str]:
    """The files that a drop-in for the file `name` consists of, by their names. A header that the text includes by the
    same name is the user's own, which another one beside the drop-in would hide.

    >>> [*drop_in_files("src/dot.c", "double dot(int n);", "")], [*drop_in_files("dot.c", '#include "dot.h"', "")]
    (['dot.c', 'dot.h'], ['dot.c'])
    """
    stem = Path(name).stem
    files = {f"{stem}.c": text, f"{stem}.h": header}
    if re.search(rf'^[ \t]*#[ \t]*include[ \t]*"(?:\./)*{re.escape(stem)}\.h"', text, re.MULTILINE):
        del files[f"{stem}.h"]
    return files


def account_for(result: FileResult, options: Options) -> FileAccount:
    """The account of a finished build."""
    functions = tuple(x for f in result.functions if (x := _function(f, result)) is not None)
    lacking = [r.render(result.source) for r in result.file.missing_remarks]
    warnings = (*lacking, *(d.render(result.source) for d in _warnings(result, options)))
    return FileAccount(
        result.source.name, result.text, result.header, result.command, options.fp, functions, warnings, result.link,
        result.emulator,
    )  # fmt: skip


def account_for_targets(joined: JoinedTargets, fp: Floats) -> FileAccount:
    """The account of a build for several targets: of each function, one entry for each target."""
    accounts = [account_for(x.result, x.options) for x in joined.builds]
    names = [x.options.target for x in joined.builds]
    entries = [replace(f, target=name) for name, x in zip(names, accounts, strict=True) for f in x.functions]
    emulated = [f"{x.emulator} ({name})" for name, x in zip(names, accounts, strict=True) if x.emulator]
    warnings = tuple(dict.fromkeys(y for x in accounts for y in x.warnings))
    return FileAccount(
        accounts[0].name, joined.text, joined.header, joined.command, fp, tuple(sorted(entries, key=lambda x: x.line)),
        warnings, joined.link, ", ".join(emulated),
    )  # fmt: skip


def completed(account: FileAccount, function: CFunction) -> FileAccount:
    """The account with an entry for the function, also where there was nothing to treat."""
    if account.functions:
        return account
    reasons = ("no loop nest was found that could be treated",)
    return replace(
        account,
        functions=(FunctionAccount(function.name, function.span.line, False, (), reasons, "", None, None, None),),
    )


def _function(result: FunctionResult, file: FileResult) -> FunctionAccount | None:
    """None for a function in which there is nothing to treat: no loop was found, and none was refused."""
    function, selection = result.function, result.selection
    refused = remarks_of(function, result.remarks, file.remarks)
    if not result.plans and not refused:
        return None
    reasons = tuple(dict.fromkeys(f"line {r.span.line}: {r.message}" if r.span else r.message for r in refused))
    refusals = tuple(dict.fromkeys(r.render(file.source) for r in refused))
    check = before = after = None
    version, done, raced = "", tuple[str, ...](), tuple[RacedVersion, ...]()
    if selection is not None:
        check = None if selection.verdict is None else _check(selection.verdict, selection.version)
        before, after = _clocked(selection.before), _clocked(selection.after)
        raced = tuple(RacedVersion(x.label, Clocked(x.median, x.low, x.high)) for x in selection.raced)
        if selection.version is not None:
            version = selection.version.label
            done = describe_version(result, version)
    return FunctionAccount(
        function.name, function.span.line, bool(result.replacements), done, reasons, result.timed, check, before,
        after, version, refusals, result.lost, raced,
    )  # fmt: skip


def remarks_of(function: CFunction, own: tuple[Remark, ...], file: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """What was refused in a function: by the later stages, and by the front-end within its lines."""
    inside = [r for r in file if is_about(r, function)]
    return tuple(r for r in dict.fromkeys((*inside, *own)) if r.kind == "refused")


def is_about(remark: Remark, function: CFunction) -> bool:
    """Whether a remark is about something in a function's lines."""
    place = remark.place
    return place is not None and place.file == function.span.file and (
        function.span.line <= place.line <= function.span.end_line
    )  # fmt: skip


def describe_version(result: FunctionResult, label: str) -> tuple[str, ...]:
    """What a version does, one sentence for each band of loops: "line 12: tiles 32 x 64; …"."""
    out: list[str] = []
    known = {x.patch.start: x.done for x in result.replacements}
    for plan in result.plans:
        if made := known.get(plan.region.start):
            span = plan.region.span
            out.append(f"line {span.line}: {', '.join(made)}" if span is not None else ", ".join(made))
            continue
        chosen = next((c for c in plan.candidates if c.name == label), next(iter(plan.candidates), None))
        for remark in chosen.remarks if chosen is not None else ():
            if remark.kind == "done" and (what := remark.summary):
                out.append(f"line {remark.span.line}: {what}" if remark.span else what)
    return tuple(dict.fromkeys(out))


def _check(verdict: Verdict, version: DropIn | None) -> Check:
    nests = len(version.nests) if version is not None else 0
    ran = min(verdict.ran[:nests], default=verdict.effects)
    return Check(verdict.cases_run, verdict.worst_absolute, verdict.worst_relative, ran)


def _clocked(timing: Timing | None) -> Clocked | None:
    return None if timing is None else Clocked(timing.median, timing.low, timing.high)


def _warnings(result: FileResult, options: Options) -> list[Diagnostic]:
    parameters = [p.name for f in result.functions for p in f.function.parameters]
    known = {*parameters, *(p.name for f in result.functions for p in leaves_of(f.function))}
    unknown = [name for name in options.sizes if name not in known]
    return [
        Diagnostic("E0106", f"no function has a parameter `{name}`, which --size sets", result.source.point(1),
                   f"the parameters are: {', '.join(dict.fromkeys(parameters)) or 'none'}", "warning")
        for name in unknown
    ]  # fmt: skip


def print_account(account: FileAccount) -> str:
    """The account as JSON."""
    return json.dumps(asdict(account))


def parse_account(text: str) -> FileAccount:
    """The account in a JSON text that `print_account` made."""
    data: dict[str, Any] = json.loads(text)
    functions = tuple(_read_function(f) for f in data.pop("functions"))
    return FileAccount(**{**data, "functions": functions, "warnings": tuple(data["warnings"])})


def _read_function(data: dict[str, Any]) -> FunctionAccount:
    check, before, after = data["check"], data["before"], data["after"]
    parts = {
        "version": current_version(data["version"]),
        "done": tuple(data["done"]),
        "reasons": tuple(data["reasons"]),
        "refusals": tuple(data["refusals"]),
        "check": Check(**check) if check else None,
        "before": Clocked(**before) if before else None,
        "after": Clocked(**after) if after else None,
        "raced": tuple(RacedVersion(current_version(x["name"]), Clocked(**x["time"])) for x in data.get("raced", ())),
    }
    return FunctionAccount(**{**data, **parts})
