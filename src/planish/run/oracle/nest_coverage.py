"""Nest coverage: which calls of a check ran a nest, by a bit that instrumented text sets. Shipped text has none of it.

>>> count_call("if (n > 0) {\\n    planish_f_1(n, x);\\n}", "f", "planish_f_1", 0)
'if (n > 0) {\\n    (planish_entered_f |= 1ull << 0, planish_f_1)(n, x);\\n}'
>>> missed((3, 1), 3, 2)
(1, 2)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from planish.emit.dropin.replacement import Replacement, name_of
from planish.frontend.c.translation_unit import Region
from planish.run.calls.abi_wrapper import counter_of
from planish.run.calls.signature import MOST_NESTS

LEAST_CALLS = 2
"""The new code of each nest must have run in so many calls that changed an element or returned a number but 0, or in
all where fewer are made."""


def with_counters(text: str, functions: Iterable[str]) -> str:
    """A text in which nests of some functions set bits, with what these need."""
    counters = [counter_of(x) for x in functions]
    return "".join(f"static unsigned long long {x};\n#define {x} {x}\n" for x in counters) + "#line 1\n" + text


def count_call(patch: str, function: str, name: str, bit: int) -> str:
    """The text that stands for a nest of a function, in which calls of what begins with `name` set a bit first."""
    if bit >= MOST_NESTS:
        return patch
    return re.sub(rf"\b({name}\w*)\(", rf"({counter_of(function)} |= 1ull << {bit}, \1)(", patch)


def count_calls(made: Sequence[Replacement], regions: Mapping[int, Region]) -> list[Replacement]:
    """Replacements of regions, by where these begin, each of which sets a bit where its new code is called."""
    out = []
    for bit, x in enumerate(made):
        region = regions[x.patch.start]
        text = count_call(x.patch.text, region.function, name_of(region), bit)
        out.append(replace(x, patch=replace(x.patch, text=text)))
    return out


def count_statement(original: str, function: str, bit: int, alone: bool) -> str:
    """A nest of a function as it is written, which sets a bit first; `alone`: as one statement."""
    if bit >= MOST_NESTS:
        return original
    counted = f"{counter_of(function)} |= 1ull << {bit}; {original}"
    return f"{{ {counted} }}" if alone else counted


def missed(ran: Sequence[int], nests: int, least: int) -> tuple[int, ...]:
    """Which of the first `nests` nests ran in fewer than `least` calls, or in none."""
    return tuple(n for n in range(min(nests, MOST_NESTS)) if (ran[n] if n < len(ran) else 0) < max(1, least))
