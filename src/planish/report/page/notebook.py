"""What notebooks show of compiled functions: the verdict first, and the loops, the versions and the C behind it.

>>> from planish.report.account import FunctionAccount
>>> kept = FunctionAccount("dot", 3, False, (), ("line 4: a call of `g`",), "", None, None, None)
>>> "kept as written" in render_outcome(kept, "strict", "gcc -O3", cached=False)
True
"""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from planish.build.dump import parse_stage
from planish.core.diagnostic import PlanishError
from planish.ir.nest import Kernel
from planish.report.account import FunctionAccount
from planish.report.page.contents import describe_outcome, state_of
from planish.report.page.loop_tree import TreeEntry, draw_tree
from planish.report.page.rendering import TEMPLATES, quote_code
from planish.report.tables import format_ratio, format_seconds

Tree = tuple[TreeEntry, ...]
MOST_LINES = 400
"""Of C that a cell shows: kernels of the library have thousands."""


def render_outcome(
    account: FunctionAccount, floats: str, compile: str, *, cached: bool, signature: str = "",
    trees: tuple[Tree, Tree] = ((), ()), source: str = "",
) -> str:  # fmt: skip
    """A part of a page of HTML; it brings no style of its own but for what it needs, and takes the notebook's colours.

    `trees`: the loops before and after; `source`: the C that runs."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    environment.filters["code"] = quote_code
    lines = source.splitlines()
    return environment.get_template("notebook.html.j2").render(
        account=account, floats=floats, compile=compile, cached=cached, signature=signature, before=trees[0],
        after=trees[1], verdict=describe_outcome(account), state=state_of(account), lines=lines[:MOST_LINES],
        more=max(0, len(lines) - MOST_LINES), seconds=format_seconds, ratio=format_ratio,
    )  # fmt: skip


def trees_of(stages: Mapping[str, str], account: FunctionAccount) -> tuple[Tree, Tree]:
    """The loops as they were read, and those of the version in use, from the texts of a compilation's stages."""
    before = _kernels(stages.get("read", ""), "")
    after = _kernels(stages.get("nest", ""), account.version) if account.replaced else []
    return tuple(x for k in before for x in draw_tree(k)), tuple(x for k in after for x in draw_tree(k))


def _kernels(text: str, version: str) -> list[Kernel]:
    """The kernels of a stage, in that version."""
    try:
        records = parse_stage(text)
    except PlanishError:
        return []  # a stage of launches, or one without a nest
    return [x.value for x in records if isinstance(x.value, Kernel) and x.version == version]
