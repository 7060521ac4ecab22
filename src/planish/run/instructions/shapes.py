"""The shapes of many definitions, in parallel and once: those that are alike are one operation.

    shapes = find_shapes(entries, Workers(), Cache(), tell)

What was found is kept in the cache, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from planish.core.cache import Cache, key
from planish.isa.classes.term import Shape, Shaped, shaped
from planish.isa.entry import Entry
from planish.run.instructions.stamp import stamp_of
from planish.run.processes.workers import Workers, leave_interrupts

_BATCH = 200


def find_shapes(
    entries: Sequence[Entry], workers: Workers, store: Cache, tell: Callable[[int], None]
) -> list[Shaped]:
    """The shape of each entry's definition, in their order; `tell` hears how many more are done."""
    batches = [entries[at : at + _BATCH] for at in range(0, len(entries), _BATCH)]
    found: dict[int, list[Shaped]] = {}
    stamp = stamp_of("planish.isa.classes", "planish.isa.semantics")
    addresses = [key("shapes", stamp, *(x.text for x in batch)) for batch in batches]
    for number, address in enumerate(addresses):
        kept = store.get(address)
        if kept is not None:
            found[number] = [_parsed(x) for x in json.loads(kept)]
            tell(len(batches[number]))
    left = [(number, batch) for number, batch in enumerate(batches) if number not in found]
    for number, shapes in workers.run(_shape_batch, left, leave_interrupts):
        found[number] = shapes
        store.put(addresses[number], json.dumps([(x.shape, x.numbers, x.operands) for x in shapes]).encode())
        tell(len(shapes))
    return [x for number in range(len(batches)) for x in found[number]]


def _shape_batch(work: tuple[int, Sequence[Entry]]) -> tuple[int, list[Shaped]]:
    number, entries = work
    return number, [shaped(x.definition) for x in entries]


def _parsed(plain: list[Any]) -> Shaped:
    shape, numbers, operands = plain
    return Shaped(_tupled(shape), tuple(numbers), tuple(operands))


def _tupled(plain: list[Any]) -> Shape:
    return tuple(_tupled(x) if isinstance(x, list) else x for x in plain)
