"""Instructions found by what they compute, or by words of their names.

>>> from planish.isa.collection import Collection
>>> from planish.isa.entry import IntrinsicSignature
>>> text = "(a: 16, b: 16) -> dst: 16 { for i < 2 { dst.u8[i] = u8(a.u8[i] + b.u8[i]) } }"
>>> entries = Collection.of("toy", "", [Entry("add8", "toy", IntrinsicSignature("int", ()), text, status="verified")])
>>> [x.name for query in ("i8 = i8 + i8", "ADD", "i8 = i8 - i8") for x in find_entries(query, entries)]
['add8', 'add8']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from planish.isa.classes.signature import Outline, outlines, read_query
from planish.isa.entry import Entry


def find_entries(query: str, entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries whose lanes all become what a query says; those whose names, instruction, category or
    extension hold all its words where it is no assignment. PlanishError E0658 where it cannot be read."""
    asked = read_query(query)
    meant = {read_query(query, sign) for sign in "ius"}  # `i` where signs matter is any, the same everywhere
    words = query.lower().split()
    for entry in entries:
        if asked is None:
            told = " ".join((entry.name, entry.mnemonic, entry.category, *entry.features)).lower()
            if all(x in told for x in words):
                yield entry
        elif entry.text and _may_be(entry, asked) and meant.issuperset(outlines(entry.definition)):
            yield entry


def _may_be(entry: Entry, asked: Outline) -> bool:
    # Most definitions are told apart by their text, which need not be read for that.
    for kind in re.findall(r"\b(?:[ius]\d+|b?f\d+)", f"{asked.result} {asked.value}"):
        if kind[0] in "bf":
            there = kind in entry.text
        else:
            names = [sign + kind[1:] for sign in ("us" if kind[0] == "i" else kind[0])]
            there = any(before + name in entry.text for name in names for before in ". (")
        if there:
            continue
        return False
    return True
