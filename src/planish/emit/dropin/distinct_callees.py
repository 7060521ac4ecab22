"""Gives kernels of one name and other texts names of their own: products whose blocks are tuned, each in another way.

>>> first = ["static void tile(int n)\\n{\\n}\\n", "static void product(int n)\\n{\\n  tile(n);\\n}\\n"]
>>> other = [first[0].replace("{\\n}", "{\\n  n++;\\n}"), first[1]]
>>> made = name_apart([(first, "f() { product(1); }"), (other, "g() { product(1); }")])
>>> [x[1] for x in made], [x.splitlines()[0] for x in made[1][0]]
(['f() { product(1); }', 'g() { product_2(1); }'], ['static void tile_2(int n)', 'static void product_2(int n)'])
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

Part = tuple[Sequence[str], str]
"""The functions that a function calls, each behind those that it calls itself, and the function."""
_DEFINED = re.compile(r"(?:planish_\w+\s+)?static\b[^({;=]*?(\w+)\([^;{]*\{")
"""How the definition of a kernel begins; group 1: its name."""


def name_apart(parts: Sequence[Part]) -> list[Part]:
    """The same functions, of which no two of other texts have one name: later ones are renamed, where they are defined
    and where they are called."""
    known: dict[str, str] = {}
    out: list[Part] = []
    for callees, function in parts:
        renamed: dict[str, str] = {}
        own: list[str] = []
        for text in callees:
            text = _with_names(text, renamed)
            found = _DEFINED.match(text)
            if found is not None:
                name = next(x for x in _names(found[1]) if known.get(x) in (None, _with_names(text, {found[1]: x})))
                if name != found[1]:
                    renamed[found[1]] = name
                    text = _with_names(text, renamed)
                known[name] = text
            own.append(text)
        out.append((own, _with_names(function, renamed)))
    return out


def _names(first: str) -> Iterator[str]:
    """A name, and others like it."""
    yield first
    number = 2
    while True:
        yield f"{first}_{number}"
        number += 1


def _with_names(text: str, renamed: Mapping[str, str]) -> str:
    if not renamed:
        return text
    return re.sub(r"\w+", lambda found: renamed.get(found[0], found[0]), text)
