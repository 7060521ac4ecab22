"""The page of reasons and codes is the table that the program has; `--bless` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planish.core.codes import CODES
from planish.core.done_remarks import DONE
from planish.core.former_names import FORMER_CODES
from planish.core.reasons import REASONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reasons.md"
_HEAD = """# Reasons: what is refused, and what to change

A function that is kept as written says why: the line, a caret, and what to change (`= help: …`). `planish build` prints
the first reasons of each such function, `planish explain` all of them. Each has an id that stays the same:

```c trace.c
/* The first loop is replaced, the second one stays. */
void halve(int n, float *x)
{
    for (int i = 0; i < n; i++)
        x[i] *= 0.5f;
}

void trace(int n, const int *height, const int *order, int *seen)
{
    for (int i = 0; i < n; i++)
        seen[order[i]] += height[i];
}
```

```console
$ planish build trace.c --no-measure
…
refused[scop-data]: the loop stays as written: a subscript holds a value that is read from an array
 --> trace.c:11:14
   |
11 |         seen[order[i]] += height[i];
   |              ^^^^^
  = help: put what does not need these values into a nest of its own, before or behind this one
…
```

"""


_ERRORS = """
## Errors

Wrong input ends a command with exit code 1 and one of these codes. What the message itself says of the remedy comes
first; this stands where it says none.

| code | what it says | what to do |
| --- | --- | --- |
"""


def page() -> Iterator[str]:
    yield _HEAD
    yield "## Refusals and notes\n\n| id | what it says | what to change |\n| --- | --- | --- |\n"
    yield from (f"| `{x.id}` | {cell(x.meaning)} | {cell(x.help)} |\n" for x in REASONS)
    yield _ERRORS
    yield from (f"| {code} | {cell(x.meaning)} | {cell(x.help)} |\n" for code, x in CODES.items())
    yield "\n## What was done\n\n| id | what it says |\n| --- | --- |\n"
    yield from (f"| `{id}` | {cell(x)} |\n" for id, x in DONE.items())
    yield "\n## Former ids\n\n| former | now |\n| --- | --- |\n"
    yield from (f"| `{former}` | `{id}` |\n" for former, id in FORMER_CODES.items())


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("][", "]\\[")


def test_the_page_is_the_table(request: pytest.FixtureRequest) -> None:
    text = "".join(page())
    if request.config.getoption("--bless"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "docs/reasons.md is not what the tables say: run this test with --bless"
