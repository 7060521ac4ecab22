"""C functions in the styles that users write: `snippets.c` holds them, each under a line `/// name regions=N`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_HEAD = re.compile(r"^/// (\w+) regions=(\d+)(?: least=(-?\d+))?( strict)?\n", re.M)


@dataclass(frozen=True)
class Snippet:
    """A function `f` (and what it needs); `least` is the least `n` for which it is defined, where there is one;
    `strict` ones hold for floating-point sums in the order as written only."""

    text: str
    regions: int
    least: int | None
    strict: bool


def read_snippets() -> dict[str, Snippet]:
    """All snippets by name."""
    parts = _HEAD.split((Path(__file__).parent / "snippets.c").read_text())[1:]
    return {
        name: Snippet(text, int(count), int(least) if least else None, bool(strict))
        for name, count, least, strict, text in zip(*(parts[n::5] for n in range(5)), strict=True)
    }


SNIPPETS = read_snippets()
