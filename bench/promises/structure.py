"""Claims on how the code is kept: the size of the pipeline, names that mean one thing, one list of strategies.

    python bench/claims.py structure
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from bench.harness.places import ROOT
from bench.promises.claim import Claim, Note, at_least, at_most

SOURCE = ROOT / "src" / "planish"
LINES = 104_459
"""The lines of the program before it had a registry of strategies."""
_READ = re.compile(r"\bx\.id (==|!=|in) .*\bremarks\b|\.id (==|!=|in) .*[\"'][a-z]+-[a-z]")
"""A decision by the code of a remark."""


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All of them; neither `quick` nor `stored` matters, since nothing is measured."""
    pipeline = (SOURCE / "pipeline.py").read_text()
    yield at_most("pipeline.lines", len(pipeline.splitlines()), 120)
    imports = [x for x in ast.parse(pipeline).body if isinstance(x, ast.ImportFrom | ast.Import)]
    yield at_most("pipeline.imports", len(imports), 15)
    texts = {x: x.read_text() for x in sorted(SOURCE.rglob("*.py"))}
    names = Counter(
        x.name for t in texts.values() for x in ast.parse(t).body if isinstance(x, ast.ClassDef) and x.name[0] != "_"
    )
    yield at_most("classes.names_with_two_meanings", sum(n > 1 for n in names.values()), 0)
    lines = [(x.relative_to(SOURCE), line.strip()) for x, t in texts.items() for line in t.splitlines()]
    reads = [f"{x}: {line}" for x, line in lines if _READ.search(line)]
    yield from (Note(f"a remark is read: {x}") for x in reads)
    yield at_most("remarks.read", len(reads), 0)
    several = [x for x, t in texts.items() if t.count("\nfrom planish.library.strategies.") > 1]
    yield at_most("strategies.lists_besides_the_registry", sum(x.name != "registry.py" for x in several), 0)
    longest = max(len(t.splitlines()) for x, t in texts.items() if "strategies" in x.parts)
    yield at_most("strategies.longest_file", longest, 150)
    yield at_least("source.lines_fewer", LINES - len(lines), 2500)
