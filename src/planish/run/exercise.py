"""Which calls of a check ran a nest, seen by a bit that a text sets where the nest begins. Shipped text has none of it.

>>> count_call("if (n > 0) {\\n    planish_f_1(n, x);\\n}", "planish_f_1", 0)
'if (n > 0) {\\n    (planish_entered |= 1ull << 0, planish_f_1)(n, x);\\n}'
>>> missed((3, 1), 3, 2)
(1, 2)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from planish.emit.replacement import Replacement, name_of
from planish.frontend.c.unit import Region
from planish.run.entry import COUNTED
from planish.run.signature import MOST_NESTS

LEAST_CALLS = 2
"""The new code of each nest must have run in so many calls that changed an element or returned a number but 0, or in
all where fewer are made."""

_HEAD = f"#define {COUNTED}\nstatic unsigned long long planish_entered;\n#line 1\n"


def with_counters(text: str) -> str:
    """A text in which nests set bits, with what these need."""
    return _HEAD + text


def count_call(patch: str, name: str, bit: int) -> str:
    """The text that stands for a nest, in which calls of functions whose names begin with `name` set a bit first."""
    if bit >= MOST_NESTS:
        return patch
    return re.sub(rf"\b({name}\w*)\(", rf"(planish_entered |= 1ull << {bit}, \1)(", patch)


def count_calls(made: Sequence[Replacement], regions: Mapping[int, Region]) -> list[Replacement]:
    """Replacements of regions, by where these begin, each of which sets a bit where its new code is called."""
    named = ((x, name_of(regions[x.patch.start])) for x in made)
    return [
        replace(x, patch=replace(x.patch, text=count_call(x.patch.text, y, bit))) for bit, (x, y) in enumerate(named)
    ]


def count_statement(original: str, bit: int, alone: bool) -> str:
    """A nest as it is written, which sets a bit first; `alone`: as one statement."""
    if bit >= MOST_NESTS:
        return original
    counted = f"planish_entered |= 1ull << {bit}; {original}"
    return f"{{ {counted} }}" if alone else counted


def missed(ran: Sequence[int], nests: int, least: int) -> tuple[int, ...]:
    """Which of the first `nests` nests ran in fewer than `least` calls, or in none."""
    return tuple(n for n in range(min(nests, MOST_NESTS)) if (ran[n] if n < len(ran) else 0) < max(1, least))
