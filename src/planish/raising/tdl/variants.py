"""Tactics in variants: `@lower(k <= i)` stands for what is in it where `lower` is chosen, and else for nothing.

What is not chosen becomes blanks, so that every place in the text stays where it is.

>>> choose("C(i) += A(@plain(i, k)@transposed(k, i))", {"plain": False, "transposed": True})
'C(i) += A(                        k, i )'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

_CHOICE = re.compile(r"@(\w+)\(")
_INK = re.compile(r"[^\n]")


def choose(text: str, chosen: Mapping[str, bool]) -> str:
    """The text of one variant; choices of words that are not among those given are left as they are."""
    place = 0
    while found := _CHOICE.search(text, place):
        place = found.end()
        if found[1] not in chosen:
            continue
        end = _closing(text, found.end())
        if end is None:
            continue
        if chosen[found[1]]:
            text = _blanked(text, found.start(), found.end())
            text = _blanked(text, end - 1, end)
        else:
            text = _blanked(text, found.start(), end)
    return text


def combinations(options: Sequence[tuple[str, Sequence[str]]]) -> Iterator[tuple[str, ...]]:
    """One word of each option, in every way."""
    return product(*(words for _, words in options))


def _closing(text: str, place: int) -> int | None:
    """Behind the parenthesis that closes the one before `place`."""
    depth = 1
    for found in re.finditer(r"[()]", text[place:]):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return place + found.end()
    return None


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + _INK.sub(" ", text[start:end]) + text[end:]
