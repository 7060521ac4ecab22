"""Accounts as tables for a terminal or a log.

>>> format_seconds(0.00125), format_seconds(3.2e-7), format_ratio(1.5)
('1.25 ms', '320 ns', '1.50x')
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from planish.core.cache import CacheInfo
from planish.raising.tdl.tactic import Tactic
from planish.report.account import Check, FileAccount, FunctionAccount
from planish.target.device import Device
from planish.target.machine import Target

WIDTH = 100
"""Columns of the table that a build ends with."""
_MOST_LINES = 4  # of a cell: what does not fit is told by `planish explain`


_KEPT = "the loop stays as written: "
"""How reasons begin, which a table says in other words."""
_WRITTEN = "the loops as written, with arrays told apart"
"""What is said of the version that has the loops of the original."""
_MOST_REFUSALS, _MOST_IN_A_FILE = 3, 12  # reasons that are told, of a function and of a file


def build_table(accounts: Sequence[tuple[FileAccount, bool]]) -> Table:
    """One row for each function of each build: what was done, what it gained, how it was verified; without times where
    nothing was timed."""
    timed = any(f.before is not None for account, _ in accounts for f in account.functions)
    table = Table(box=None, pad_edge=False, header_style="bold")
    several = any(f.target for account, _ in accounts for f in account.functions)
    for name in ("function", "target", "what was done") if several else ("function", "what was done"):
        table.add_column(name, overflow="fold")
    for name in ("before -> after", "ratio") if timed else ():
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verified", overflow="fold")
    for account, cached in accounts:
        for function, target in _entries(account):
            name = escape(function.function) + (" [dim](cached)[/dim]" if cached else "")
            times = _times(function) if timed else ()
            cells = (*([escape(target)] if several else []), escape(_done(function)), *times)
            table.add_row(name, *cells, escape(_verified(function, account.floats)))
    return table


def _entries(account: FileAccount) -> list[tuple[FunctionAccount, str]]:
    """The functions, each with the target that it is about: "all", once, where it stays as written for each of them,
    for the same reasons.

    >>> from dataclasses import replace
    >>> kept = FunctionAccount("f", 3, False, (), ("a call of g",), "", None, None, None, target="avx2")
    >>> other = [replace(kept, target="neon"), replace(kept, target="neon", reasons=("a goto",))]
    >>> for x in other:
    ...     account = FileAccount("f.c", "", "", "", "strict", (kept, x), ())
    ...     print([target for _, target in _entries(account)])
    ['all']
    ['avx2', 'neon']
    """
    targets, own = {x.target for x in account.functions}, dict[str, list[FunctionAccount]]()
    for x in account.functions:
        own.setdefault(x.function, []).append(x)
    alike = {
        name: entries[0] for name, entries in own.items()
        if not any(x.replaced for x in entries) and len({x.reasons for x in entries}) == 1
        and 1 < len(entries) == len(targets)
    }  # fmt: skip
    shown = [x for x in account.functions if alike.get(x.function, x) is x]
    return [(x, "all" if x.function in alike else x.target) for x in shown]


def _done(function: FunctionAccount) -> str:
    if function.replaced:
        done = function.done or ((_WRITTEN,) if function.version == "original" else ())
        lines = [f"{function.version}: {done[0]}" if done else function.version, *done[1:]]
    else:
        reasons = [x.replace(_KEPT, "") for x in function.reasons]
        lines = [f"kept as written: {x}" for x in reasons[:1]] or ["kept as written"]
        lines += reasons[1:]
    hidden = len(lines) - _MOST_LINES
    return "\n".join(lines[:_MOST_LINES] + ([f"… and {hidden} more (planish explain)"] if hidden > 0 else []))


def describe_refusals(accounts: Sequence[FileAccount]) -> tuple[str, ...]:
    """Why functions stay as written, each reason with its line, a caret and advice; the rest is left to `explain`."""
    out: list[str] = []
    for account in accounts:
        kept = [f.refusals for f, _ in _entries(account) if not f.replaced]
        shown = [x for refusals in kept for x in refusals[:_MOST_REFUSALS]][:_MOST_IN_A_FILE]
        hidden = sum(map(len, kept)) - len(shown)
        out += [*shown, *([f"… and {hidden} more: planish explain {shlex.quote(account.name)}"] if hidden else [])]
    return tuple(out)


def _verified(function: FunctionAccount, floats: str) -> str:
    if function.check is None or not function.replaced:
        return "-" if not function.replaced else "not verified"
    check = function.check
    return f"{check.cases} calls, new code in {check.ran}, {_worst(check, floats)}"


def _worst(check: Check, floats: str) -> str:
    if check.worst_absolute == 0:
        return "bit-exact" if floats == "strict" else "no difference"
    return f"worst {check.worst_relative:.1e}"


def _times(function: FunctionAccount) -> tuple[str, str]:
    if function.before is None or function.after is None:
        return "-", "-"
    before, after = format_seconds(function.before.median), format_seconds(function.after.median)
    return f"{before} -> {after}", format_ratio(function.ratio) if function.replaced else "1.00x"


def format_seconds(seconds: float) -> str:
    """A duration with three digits and a unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def format_ratio(ratio: float | None) -> str:
    """How many times faster."""
    return "-" if ratio is None else f"{ratio:.2f}x"


def describe_floats(accounts: Sequence[FileAccount]) -> str:
    """What the option --fp allowed, and how far results moved because of it; "" where nothing was replaced."""
    if not any(f.replaced for a in accounts for f in a.functions):
        return ""
    floats = accounts[0].floats
    checks = [f.check for a in accounts for f in a.functions if f.replaced and f.check is not None]
    if floats == "strict":
        return "--fp strict: every result is bit-exact"
    worst = max(checks, key=lambda c: c.worst_relative, default=None)
    allowed = {
        "contract": "a product and a sum may be rounded once",
        "reassociate": "sums may be added in another order",
    }[floats]
    far = "no result differs from the original"
    if worst is not None and worst.worst_absolute:
        far = (
            f"the worst difference from the original is {worst.worst_relative:.1e} of the array's largest element "
            f"({worst.worst_absolute:.1e})"
        )
    default = " (the default)" if floats == "reassociate" else ""
    advice = "; --fp strict is bit-exact" if checks else ""
    return f"--fp {floats}{default}: {allowed}; {far}{advice}"


def describe_times(accounts: Sequence[FileAccount]) -> tuple[str, ...]:
    """With which arguments the times were taken, one line for each function; or that an emulator tells none."""
    timed = [(_named(f), f.timed) for a in accounts for f in a.functions if f.timed and f.before is not None]
    emulated = dict.fromkeys(a.emulator for a in accounts if a.emulator)
    what = "checked in {}, which says nothing of the speed: the most promising version of each is taken"
    return (*(f"timed {function} with {arguments}" for function, arguments in timed), *map(what.format, emulated))


def _named(function: FunctionAccount) -> str:
    return f"{function.function} for {function.target}" if function.target else function.function


def targets_table(targets: Sequence[Target]) -> Table:
    """The machines that --target takes."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("target", "vectors", "caches", "cores", "description"):
        table.add_column(name, overflow="fold")
    for t in targets:
        vectors = f"{t.vector_registers} x {t.vector_bits} bit" if t.vector_bits else "none"
        caches = ", ".join(f"L{c.level} {format_bytes(c.bytes)}" for c in t.caches)
        table.add_row(escape(t.name), vectors, caches, str(t.cores), escape(t.description))
    return table


def gpus_table(devices: Sequence[Device]) -> Table:
    """The GPUs that --target takes."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("GPU", "kernels", "multiprocessors", "shared memory of a block", "description"):
        table.add_column(name, overflow="fold")
    for x in devices:
        row = (x.dialect, str(x.multiprocessors), format_bytes(x.shared_bytes), escape(x.description))
        table.add_row(escape(x.name), *row)
    return table


def tactics_table(tactics: Sequence[Tactic]) -> Table:
    """Tactics, those that are variants of one in one row."""
    families: dict[tuple[str, str], list[Tactic]] = {}
    for tactic in tactics:
        families.setdefault((tactic.family, tactic.source.name), []).append(tactic)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("tactic", overflow="fold")
    for name in ("variants", "builders"):
        table.add_column(name, justify="right")
    table.add_column("what it is", overflow="fold")
    for (family, _), members in families.items():
        count = str(len(members)) if members[0].name != family else "-"
        builders = max(len(x.builders) for x in members)
        table.add_row(escape(family), count, str(builders) if builders else "-", escape(members[0].summary))
    return table


def describe_cache(info: CacheInfo) -> str:
    """What the cache holds, in one line."""
    entries = f"{info.entries} entr{'y' if info.entries == 1 else 'ies'}"
    return f"{info.path}: {entries}, {format_bytes(info.bytes)}"


def format_bytes(count: int) -> str:
    """A number of bytes with a unit.

    >>> format_bytes(49152), format_bytes(12), format_bytes(1 << 20)
    ('48 KiB', '12 B', '1 MiB')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if size < 100 else f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"
