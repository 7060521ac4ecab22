"""What a kernel stores, in regions of arrays: each is stored as one vector, in smaller regions, or element by element.

Stores come in the order of their places, so that what a vector leaves behind its region is stored again.

>>> split_rows(range(0, 18), 6, 15)
[(range(0, 12), [range(0, 6), range(6, 12)]), (range(12, 18), [range(12, 18)])]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Array
from planish.vliw.saturation.rules import Vectoriser
from planish.vliw.saturation.straight import extent
from planish.vliw.saturation.terms import ConcatTerm, ElementStore, ElementTerm, VectorStore
from planish.vliw.streams.stream import RefusedError

MOST_PLACES = 1024
"""Elements of the largest array that is stored to."""

MOST_SINGLE = 64
"""Elements of an array up to which each may be stored by itself."""


def split_rows(places: range, row: int, lanes: int) -> list[tuple[range, list[range]]]:
    """As many whole rows as a vector has room for, and these one by one; longer rows in vectors."""
    out: list[tuple[range, list[range]]] = []
    rows = max(1, lanes // row)
    for start in range(places.start, places.stop, rows * row):
        own = range(start, min(start + rows * row, places.stop))
        pieces = [range(x, min(x + min(row, lanes), own.stop)) for x in _starts(own, row, lanes)]
        out.append((own, pieces))
    return out


def _starts(own: range, row: int, lanes: int) -> list[int]:
    """Where the vectors of some rows start."""
    return [x for y in range(own.start, own.stop, row) for x in range(y, min(y + row, own.stop), lanes)]


def stores_of(made: Vectoriser, vectors: bool, scattered: bool, only_flat: bool = False) -> list[int]:
    """For each array that is stored to, the class of its stores: `vectors`, elements one by one (`scattered`), or what
    is better. `only_flat`: vectors are filled with what follows in memory, whatever the rows are."""
    out = []
    for name, values in made.straight.outputs.items():
        array = made.straight.arrays[name]
        kept = _kept(made, array, values)
        out.append(_regions(made, array, kept, (vectors, scattered), only_flat))
    return out


def _kept(made: Vectoriser, array: Array, values: Mapping[int, int]) -> dict[int, int]:
    """The values of an array from the first place that is stored to up to its end, which lanes behind the last place
    would reach: what it held, where nothing is stored."""
    size = extent(array)
    if size is None:
        raise RefusedError(f"`{array.name}` has no size that is known")
    if size - min(values) > MOST_PLACES:
        raise RefusedError(f"`{array.name}` is too large to be written out")
    own = {}
    for x in range(min(values), size):
        own[x] = values[x] if x in values else made.graph.add(ElementTerm(array.name, x, array.type))
        made.straight.types.setdefault(own[x], array.type)
    return own


def _regions(made: Vectoriser, array: Array, values: Mapping[int, int], how: tuple[bool, bool], only_flat: bool) -> int:
    vectors, scattered = how
    whole = range(min(values), max(values) + 1)
    if not vectors or not made.width:
        return concat(made, [_single(made, array, values, x) for x in whole])
    lanes = made.width
    flat = [range(x, min(x + lanes, whole.stop)) for x in range(whole.start, whole.stop, lanes)]
    chosen = concat(made, [region(made, array, values, x, scattered) for x in flat])
    for row in () if only_flat else _row_lengths(array):
        if row < len(whole):
            groups = split_rows(whole, row, lanes)
            rows = concat(made, [_halved(made, array, values, x, scattered) for _, x in groups])
            chosen = _either(made, chosen, rows)
    return chosen


def _halved(made: Vectoriser, array: Array, values: Mapping[int, int], rows: Sequence[range], scattered: bool) -> int:
    """Rows as one vector, where there is room for them, or as two halves of them."""
    if len(rows) == 1:
        return region(made, array, values, rows[0], scattered)
    half = (len(rows) + 1) // 2
    parts = concat(made, [_halved(made, array, values, x, scattered) for x in (rows[:half], rows[half:])])
    whole = range(rows[0].start, rows[-1].stop)
    if len(whole) > made.width:
        return parts
    return _either(made, region(made, array, values, whole, scattered), parts)


def _either(made: Vectoriser, one: int, other: int) -> int:
    made.graph.merge(one, other)
    made.graph.rebuild()
    return made.graph.find(one)


def _row_lengths(array: Array) -> list[int]:
    """The lengths of the rows of an array, and of what is behind each of its subscripts."""
    found: list[int] = []
    size = 1
    for x in reversed(array.shape[1:]):
        size *= evaluate(x, {}) if x is not None else 1
        found.append(size)
    return found


def concat(made: Vectoriser, parts: Sequence[int]) -> int:
    """Stores one after the other."""
    return parts[0] if len(parts) == 1 else made.graph.add(ConcatTerm(), parts)


def region(made: Vectoriser, array: Array, values: Mapping[int, int], places: range, scattered: bool) -> int:
    """The stores of a region: a vector, or its elements."""
    graph = made.graph
    own = [values[x] for x in places]
    if len(places) > made.width:
        starts = range(places.start, places.stop, made.width)
        inner = [range(x, min(x + made.width, places.stop)) for x in starts]
        return concat(made, [region(made, array, values, x, scattered) for x in inner])
    found = graph.add(VectorStore(array.name, places.start, len(places)), (made.lanes(own),))
    if scattered and len(values) <= MOST_SINGLE:
        found = _either(made, found, concat(made, [_single(made, array, values, x) for x in places]))
    return found


def _single(made: Vectoriser, array: Array, values: Mapping[int, int], place: int) -> int:
    return made.graph.add(ElementStore(array.name, place), (values[place],))
