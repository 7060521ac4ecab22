"""The text of a function that was typed at Python's own prompt, which keeps it in the history of lines only.

>>> history = ["import planish", "def f(x):", "    x[0] = 1", "f([0])"]
>>> made = compile("def f(x):\\n    x[0] = 1", "<stdin>", "exec").co_consts
>>> print(find_block(history, next(x for x in made if isinstance(x, CodeType))))
def f(x):
    x[0] = 1
<BLANKLINE>
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from types import CodeType

_MOST_LINES = 2000
"""Lines of a history that are looked at, from the last one backwards."""


def find_typed(code: CodeType) -> str | None:
    """The text of the statement in which a function was typed; None where the prompt keeps no lines, or drops some (of
    equal lines one after the other it keeps the first)."""
    readline = sys.modules.get("readline")  # the prompt loads it, where there is a terminal
    if readline is None:
        return None
    last = readline.get_current_history_length()
    items = (readline.get_history_item(n) for n in range(max(1, last - _MOST_LINES), last + 1))
    return find_block([x for x in items if x is not None], code)


def find_block(lines: Sequence[str], code: CodeType) -> str | None:
    """The last `def` among some lines, with its decorators, that gives this very code."""
    head = re.compile(rf"def\s+{re.escape(code.co_name)}\b")
    for at in reversed([n for n, line in enumerate(lines) if head.match(line)]):
        start = at
        while start > 0 and lines[start - 1].startswith("@"):
            start -= 1
        end = at + 1
        while end < len(lines) and not re.match(r"[A-Za-z_@]", lines[end]):
            end += 1
        text = "\n".join(lines[start:end]) + "\n"
        if any(_same(code, x) for x in _functions(text)):
            return "\n" * (code.co_firstlineno - 1) + text
    return None


def _functions(text: str) -> Iterator[CodeType]:
    """The functions at the top of a text, which is not run; none where it is no Python."""
    try:
        whole = compile(text, "<prompt>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    yield from (x for x in whole.co_consts if isinstance(x, CodeType))


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two functions do the same, wherever they stand."""
    alike = ("co_name", "co_code", "co_names", "co_varnames", "co_argcount", "co_kwonlyargcount")
    if any(getattr(a, x) != getattr(b, x) for x in alike) or len(a.co_consts) != len(b.co_consts):
        return False
    return all(
        _same(x, y) if isinstance(x, CodeType) and isinstance(y, CodeType) else (type(x), repr(x)) == (type(y), repr(y))
        for x, y in zip(a.co_consts, b.co_consts, strict=True)
    )
