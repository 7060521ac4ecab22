"""Whether a file was read as the user's compiler reads it: with the same lines, macros and headers.

The front-end reads files with headers of its own and without most flags. Nests are replaced only where the text after
the preprocessor is the same token by token: in their function, outside of all functions, and in the user's headers; the
bodies of other functions have the same lines.

>>> a, b = ('# 1 "a.c"\\nint n;\\nint f(void)\\n{\\n  return %s;\\n}\\n' % x for x in ("0", "((void *)0)"))
>>> same_outside(a, b, "a.c", [("f", 2, 5)]), same_function(a, b, "a.c", 2, 5)
(True, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planish.frontend.c.text.lexer import tokenize
from planish.frontend.c.text.preprocess import STUBS
from planish.frontend.c.text.syntax import line_map, main_lines
from planish.wrapper.standard_forms import same_form

Bodies = Sequence[tuple[str, int, int]]
"""Functions: name, first and last line."""


def same_function(ours: str, theirs: str, name: str, first: int, last: int) -> bool:
    """Whether some lines of a file are the same in both texts."""
    return _tokens(_between(ours, name, first, last)) == _tokens(_between(theirs, name, first, last))


def same_outside(ours: str, theirs: str, name: str, functions: Bodies) -> bool:
    """Whether all is the same outside of the functions of a file, whose bodies have the same lines."""
    a, b = dict(_merged(main_lines(ours, name))), dict(_merged(main_lines(theirs, name)))
    inside = {line for _, first, last in functions for line in range(first, last + 1)}
    if {x for x in a if x in inside} != {x for x in b if x in inside}:
        return False
    left, right = ("\n".join(x[n] for n in sorted(x) if n not in inside) for x in (a, b))
    return _tokens(left) == _tokens(right)


def same_headers(ours: str, theirs: str, name: str, system: frozenset[str]) -> bool:
    """Whether the user's headers are the same in both texts; `system` are the names of the compiler's own."""
    a = {x: text for x, text in _by_file(ours, name).items() if not Path(x).is_relative_to(STUBS)}
    b = _by_file(theirs, name)
    return set(a) <= set(b) and all(
        x in a and _tokens(a[x]) == _tokens(text) for x, text in b.items() if x in a or x not in system
    )


def system_headers(text: str) -> frozenset[str]:
    """The headers that line markers say to be the compiler's own (flag 3), resolved."""
    found = set()
    for line in text.splitlines():
        if line.startswith("# ") and " 3" in line.rpartition('"')[2]:
            found.add(_resolved(line.partition('"')[2].rpartition('"')[0]))
    return frozenset(found)


def _between(text: str, name: str, first: int, last: int) -> str:
    return "\n".join(x for n, x in main_lines(text, name) if first <= n <= last)


def _by_file(text: str, name: str) -> dict[str, str]:
    parts: dict[str, list[str]] = {}
    for (file, _), line in zip(line_map(text), text.split("\n"), strict=True):
        if file != name and not file.startswith("<") and line.strip() and not line.startswith("#"):
            parts.setdefault(file, []).append(line)
    out: dict[str, str] = {}
    for file, lines in parts.items():
        resolved = _resolved(file)
        out[resolved] = "\n".join((*([out[resolved]] if resolved in out else []), *lines))
    return out


def _resolved(file: str) -> str:
    return str(Path(file).resolve())


def _merged(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Lines with something in them; what has one number is one line."""
    found: dict[int, str] = {}
    for number, text in lines:
        if text.strip():
            found[number] = f"{found[number]} {text}" if number in found else text
    return list(found.items())


def _tokens(text: str) -> str:
    return same_form([t.text for t in tokenize(text).tokens])
