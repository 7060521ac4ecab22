"""One text for the versions of several targets, of which each reads the user's text rewritten in its own way.

>>> written = Source("a.c", "A; x; B; y;")
>>> one = Reading(rewrite(written, "a + a; x; B; y;", [TextChange(0, 1, 0, 5, (0, 1))]))
>>> other = Reading(rewrite(written, "A; x; b + b; y;", [TextChange(6, 7, 6, 11, (6, 7))]))
>>> places = [one.place(0, 6), other.place(6, 15), other.place(3, 5)]
>>> joint = join_readings(written, places)
>>> joint.text, [joint.text[slice(*x.within(joint))] for x in places]
('a + a; x; b + b; y;', ['a + a;', 'b + b; y;', 'x;'])
>>> one.place(7, 12).clashes(places[1]), one.place(7, 9).clashes(places[2])
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from planish.core.span import Source, TextChange, moved, rewrite, unmoved, wholes_of


@dataclass(frozen=True, eq=False)
class Reading:
    """The user's text as it was rewritten when it was read."""

    source: Source

    @cached_property
    def changes(self) -> tuple[TextChange, ...]:
        """What is written otherwise than by the user."""
        return wholes_of(self.source)

    def place(self, start: int, end: int) -> PatchPlace:
        """The place of what gives way to something else in the text that was read."""
        touched = [x for x in self.changes if start < x.made_end and x.made_start < end]
        first = unmoved(min([start, *(x.made_start for x in touched)]), self.changes)
        last = unmoved(max([end, *(x.made_end for x in touched)]), self.changes)
        starts = [(x.start, start - x.made_start) for x in touched if x.made_start <= start]
        ends = [(x.start, end - x.made_start) for x in touched if end <= x.made_end]
        return PatchPlace(self, (first, last), (starts or [(first, 0)])[0], (ends or [(last, 0)])[0])

    def rewritten(self, start: int, end: int) -> dict[tuple[int, int], tuple[str, bool]]:
        """What stands for parts of the user's text between two places, and whether that stays beside it."""
        return {
            (x.start, x.end): (self.source.text[x.made_start : x.made_end], x.beside)
            for x in self.changes if x.start < end and start < x.end
        }  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class PatchPlace:
    """What gives way in a reading: its `extent` in the user's text, with all that is written otherwise there; and where
    it starts and ends: each an offset in the user's text, and how far behind that in what stands for it."""

    reading: Reading
    extent: tuple[int, int]
    start: tuple[int, int]
    end: tuple[int, int]

    def clashes(self, other: PatchPlace) -> bool:
        """Whether no text can have both: they share some of what the user wrote, and are not the same place of it, or
        it is read in two ways there."""
        first, last = max(self.extent[0], other.extent[0]), min(self.extent[1], other.extent[1])
        if first >= last:
            return False
        if self.reading.rewritten(first, last) != other.reading.rewritten(first, last):
            return True
        same = (self.start, self.end) == (other.start, other.end)
        return not same and self.start < other.end and other.start < self.end

    def within(self, joint: Source) -> tuple[int, int]:
        """Where it starts and ends in a text that `join_readings` made."""
        changes = wholes_of(joint)
        (start, first), (end, last) = self.start, self.end
        return moved(start, changes) + first, moved(end, changes) + last


def join_readings(written: Source, places: Iterable[PatchPlace]) -> Source:
    """The user's text in which is written otherwise what is so at some place in its reading; no two of them clash."""
    known: dict[tuple[int, int], tuple[str, bool]] = {}
    for x in places:
        known |= x.reading.rewritten(*x.extent)
    parts: list[str] = []
    changes: list[TextChange] = []
    at = length = 0
    for (start, end), (text, beside) in sorted(known.items()):
        parts += [written.text[at:start], text]
        length += start - at
        changes.append(TextChange(start, end, length, length + len(text), (start, end), beside))
        length, at = length + len(text), end
    return rewrite(written, "".join((*parts, written.text[at:])), changes) if changes else written
