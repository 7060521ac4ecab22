"""`planish doctor`: what is found on this machine, what is missing, and how to get it.

$ planish doctor
$ planish doctor --json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from planish.cli.exits import OK, USER_ERROR, guarded
from planish.report.console import make_console
from planish.run.installation import Finding, examine, is_usable

FORMAT = 1

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> int:
    """Say what of the compilers, emulators, libraries and packages that Planish uses is found here.

    Nothing is installed or changed. The exit code is 0 where all is there that `planish build` needs, and else 1.
    """
    findings = examine()
    usable = is_usable(findings)
    if as_json:
        listed = [{**asdict(x), "found": x.found} for x in findings]
        print(json.dumps({"format": FORMAT, "usable": usable, "findings": listed}, indent=1))
    else:
        make_console(sys.stdout).print(findings_table(findings))
        print(f"\n{verdict(findings)}")
    return OK if usable else USER_ERROR


def findings_table(findings: Sequence[Finding]) -> Table:
    """What was found first, then what was not, with how to get it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "what", "found, or how to get it", "for"):
        table.add_column(name, overflow="fold")
    for x in sorted(findings, key=lambda x: not x.found):
        mark = "ok" if x.found else "MISSING" if x.need == "needed" else "-"
        table.add_row(mark, escape(x.name), escape(x.detail or x.install), escape(x.purpose))
    return table


def verdict(findings: Sequence[Finding]) -> str:
    """The state of the installation in one line."""
    missing = [x for x in findings if x.need == "needed" and not x.found]
    if missing:
        return f"planish build cannot work: {', '.join(f'{x.name} ({x.install})' for x in missing)}"
    optional = [x.name for x in findings if not x.found]
    return "planish build can work" + (f"; not here, and not needed: {', '.join(optional)}" if optional else "")
