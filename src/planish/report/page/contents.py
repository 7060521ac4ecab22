"""What the page tells of each function of a build: gathered from its account, and from the plans of its nests.

    pages = gather_file(source, options, account, Cache())
    pages.functions[0].verdict
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planish.build.emit import labels_of
from planish.build.job import make_workbench
from planish.build.lower import RegionPlan, lower_region
from planish.build.read import read_file
from planish.core.cache import Cache
from planish.core.diagnostic import Remark
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.options import Options
from planish.report.account import FileAccount, FunctionAccount, is_about
from planish.report.page.assembly import AssemblyLine, read_assembly
from planish.report.page.c_listing import list_passages
from planish.report.page.line_links import SourceStatement, link_generated, link_repeated, statements_of
from planish.report.page.loop_tree import TreeEntry, draw_tree
from planish.report.page.roofline import Roofline, draw_roofline
from planish.report.tables import format_ratio, format_seconds
from planish.report.verdicts.dependences import Wait, list_waits
from planish.report.verdicts.verdict import find_hindrance
from planish.run.timing.roofs import Roofs, measure_roofs
from planish.run.toolchains.cross import is_foreign
from planish.schedule.auto.plan import Version
from planish.target.load import load_target
from planish.target.machine import Target

Lines = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ListedPassage:
    """A function of the drop-in as it is shown: each line with its number and the lines of the source it comes from;
    `own`: it is the function itself, or stands for one of its nests."""

    name: str
    lines: tuple[tuple[int, str, Lines], ...]
    own: bool


@dataclass(frozen=True, slots=True)
class AssemblyPassage:
    """What a compiler makes of a function of the drop-in; `own` as of `ListedPassage`."""

    name: str
    lines: tuple[AssemblyLine, ...]
    own: bool


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A version of a function: what it does, what became of it ("chosen", "slower", "refused", "not run"), its time and
    ratio as text, and why it was refused."""

    name: str
    state: str
    time: str
    ratio: str
    does: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class NestTrees:
    """A nest before and after: its first line, and the loops; `after` is empty where no schedule is in use."""

    line: int
    before: tuple[TreeEntry, ...]
    after: tuple[TreeEntry, ...]
    name: str


@dataclass(frozen=True, slots=True)
class FunctionPage:
    """A function: the verdict in words, in one word (`state`), and everything behind it."""

    account: FunctionAccount
    state: str
    verdict: str
    hindrance: str
    checked: str
    source: tuple[tuple[int, str], ...]
    passages: tuple[ListedPassage, ...]
    assembly: tuple[AssemblyPassage, ...]
    no_assembly: str
    trees: tuple[NestTrees, ...]
    waits: tuple[Wait, ...]
    free: tuple[tuple[str, int], ...]
    candidates: tuple[CandidateRow, ...]
    roofline: Roofline | str


@dataclass(frozen=True, slots=True)
class FilePage:
    """A file with its functions; `machine` and `command` say for what and how it was built."""

    name: str
    account: FileAccount
    functions: tuple[FunctionPage, ...]
    machine: str

    @property
    def shown(self) -> str:
        """The name as it was given, without the folders of this machine where it is a whole path."""
        return Path(self.name).name if Path(self.name).is_absolute() else self.name


@dataclass(frozen=True, slots=True, eq=False)
class _Making:
    """What all functions of a file have in common."""

    source: Source
    text: str
    options: Options
    target: Target
    account: FileAccount
    remarks: tuple[Remark, ...]
    assembly: Mapping[str, tuple[AssemblyLine, ...]] | str
    roofs: Roofs | None


def gather_file(
    source: Source, options: Options, account: FileAccount, cache: Cache, tell: Progress = keep_quiet
) -> FilePage:  # fmt: skip
    """The page of a file that was built with these options. Raises PlanishError as reading and compiling do."""
    target = load_target(options.target)
    file = read_file(source, options)
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        tell("assembling")
        assembly = read_assembly(account.text, bench, Path(folder))
        timed = any(f.before is not None for f in account.functions)
        tell("measuring this machine")
        roofs = measure_roofs(bench.compiler, target, cache) if timed and not is_foreign(target) else None
    making = _Making(source, file.source.text, options, target, account, file.remarks, assembly, roofs)
    pages = []
    for own in account.functions:
        function = next((f for f in file.functions if f.name == own.function), None)
        if function is not None:
            tell(f"{own.function}: its loops")
            pages.append(_gather(function, own, making))
    return FilePage(source.name, account, tuple(pages), describe_machine(target))


def describe_machine(target: Target) -> str:
    """The machine in one line."""
    vectors = f"{target.vector_bits}-bit vectors" if target.vector_bits else "no vectors"
    cores = f"{target.cores} core{'s' if target.cores > 1 else ''}"
    return f"{target.description or target.name}, {target.isa}, {vectors}, {cores}"


def _gather(function: CFunction, own: FunctionAccount, making: _Making) -> FunctionPage:
    plans = tuple(lower_region(r, making.options, making.target) for r in function.regions)
    refused = [r for r in making.remarks if is_about(r, function) and r.kind == "refused"]
    state = state_of(own)
    prepared = [p.prepared for p in plans if p.prepared is not None]
    waits = tuple(x for p in prepared for x in list_waits(p))
    busy = {id(x.sink) for x in waits}
    free = [(s.name, s.stmt.span.line if s.stmt.span else 0) for p in prepared for s in p.scop.statements
            if id(s) not in busy]  # fmt: skip
    passages = _passages(function, plans, making)
    assembly, missing = _assembly(passages, making)
    span = function.span
    lines = making.source.text.splitlines()
    last = min(_last_line(function, making.text), len(lines))
    return FunctionPage(
        own, state, describe_outcome(own), find_hindrance(plans, refused, making.source),
        _checked(own, making.account.floats), tuple((k, lines[k - 1]) for k in range(span.line, last + 1)),
        passages, assembly, missing, tuple(_trees(p, own, making.source.name) for p in plans), waits, tuple(free),
        tuple(_candidates(own, plans)), draw_roofline(function, plans, own, making.roofs, making.text),
    )  # fmt: skip


def _last_line(function: CFunction, text: str) -> int:
    """The line on which a function ends."""
    return text.count("\n", 0, function.end) + 1 if function.end else function.span.end_line


def state_of(own: FunctionAccount) -> str:
    """What became of a function in one word: "faster", "replaced" (nothing was timed, or what was asked for is slower),
    "lost", or "kept"."""
    if own.lost:
        return "lost"
    if not own.replaced:
        return "kept"
    return "faster" if own.ratio is not None and own.ratio >= 1.0 else "replaced"


def describe_outcome(own: FunctionAccount) -> str:
    """What became of a function in a few words."""
    times, ratio = "", format_ratio(own.ratio).removesuffix("x")
    if own.before is not None and own.after is not None:
        times = f"{format_seconds(own.before.median)} → {format_seconds(own.after.median)}"
    match state_of(own):
        case "faster":
            return f"{ratio} times faster: {times}"
        case "replaced":
            return f"replaced, {ratio} times as fast: {times}" if times else "replaced; nothing was timed"
        case "lost":
            return "kept as written: its analysis did not end"
        case _:
            return "kept as written"


def _checked(own: FunctionAccount, floats: str) -> str:
    """How a function was verified."""
    if own.check is None or not own.replaced:
        return ""
    worst = own.check.worst_relative
    same = "bit-exact" if floats == "strict" else "no difference"
    far = same if not own.check.worst_absolute else f"worst difference {worst:.1e} of the largest element"
    return f"{own.check.cases} calls beside the original, new code ran in {own.check.ran}: {far}"


def _passages(function: CFunction, plans: Sequence[RegionPlan], making: _Making) -> tuple[ListedPassage, ...]:
    """The parts of the drop-in that are the function's, with their lines of the source."""
    kernels = {f"planish_{r.function}_{r.ordinal}": r.kernel for r in function.regions}
    source, first = making.source.text.splitlines(), function.span.line
    whole = source[first - 1 : _last_line(function, making.text)]
    out = []
    for passage in list_passages(making.account.text, function.name):
        kernel = next((k for name, k in kernels.items() if passage.name.startswith(name)), None)
        links: dict[int, Lines] = {}
        if passage.name == function.name:
            found = link_repeated(whole, passage.lines, passage.first)
            links = {k: tuple(x + first - 1 for x in v) for k, v in found.items()}
        elif kernel is not None:
            statements: list[SourceStatement] = statements_of(kernel, making.source.name)
            links = link_generated(passage.lines, statements, passage.first)
        listed = tuple((k, x, links.get(k, ())) for k, x in enumerate(passage.lines, passage.first))
        out.append(ListedPassage(passage.name, listed, kernel is not None or passage.name == function.name))
    return tuple(sorted(out, key=lambda x: not x.own))


def _assembly(passages: Sequence[ListedPassage], making: _Making) -> tuple[tuple[AssemblyPassage, ...], str]:
    """The assembly of the parts of the drop-in that compilers do not make part of others, or why there is none."""
    known = making.assembly
    if isinstance(known, str):
        return (), known
    found = tuple(AssemblyPassage(x.name, known[x.name], x.own) for x in passages if x.name in known)
    return found, "" if found else "no code is left of it: it is static, and part of what calls it"


def _trees(plan: RegionPlan, own: FunctionAccount, file: str) -> NestTrees:
    line = plan.region.span.line if plan.region.span is not None else 0
    chosen = plan.choose(own.version) if own.replaced else None
    after = draw_tree(chosen.kernel, file) if isinstance(chosen, Version) else ()
    return NestTrees(line, draw_tree(plan.region.kernel, file), after, chosen.name if chosen is not None else "")


def _candidates(own: FunctionAccount, plans: Sequence[RegionPlan]) -> list[CandidateRow]:
    """The versions, that in use first, then by their times."""
    times = {x.name: x.time.median for x in own.raced}
    chosen = own.version if own.replaced else ""
    if chosen and own.after is not None:
        times[chosen] = own.after.median
    names = dict.fromkeys([*([chosen] if chosen else []), *labels_of(plans), *times])
    rows = []
    for name in sorted(names, key=lambda x: (x != chosen, times.get(x, float("inf")))):
        why = next((y.partition(f"{name}: ")[2] for y in own.reasons if f"{name}: " in y), "")
        state = "chosen" if name == chosen else "refused" if why else "slower" if name in times else "not run"
        time = times.get(name)
        ratio = own.before.median / time if own.before is not None and time else None
        does = dict.fromkeys(x for p in plans for x in _does(p, name))
        said = format_seconds(time) if time else ""
        rows.append(CandidateRow(name, state, said, format_ratio(ratio) if ratio else "", tuple(does), why))
    return rows


def _does(plan: RegionPlan, name: str) -> list[str]:
    made = next((x for x in plan.candidates if x.name == name), None)
    return [r.summary for r in made.remarks if r.kind == "done" and r.summary] if made is not None else []
