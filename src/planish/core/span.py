"""Places in the user's source, so that every message can point at what it speaks of.

>>> source = Source("a.c", "int x;\\nint y;\\n")
>>> source.line(2)
'int y;'

A text may be made of the user's. Places in it are told where that stood in the user's text which it stands for.

>>> made = rewrite(source, "int x;\\nlong long y;\\n", [TextChange(7, 10, 7, 16, (7, 13))])
>>> str(made.point(2, 11)), made.line(2)
('a.c:2:5', 'int y;')

A file may be read with definitions of others.

>>> lent = Borrowed('# 1 "b.c"\\nint f(int x) { return x; }\\n', (("f", "b.c"),), ("f",))
>>> lent.origin("f"), lent.origin("g"), lent.completion()
('b.c', '', '# 1 "b.c"\\nint f(int x) { return x; }\\n')
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from re import findall, finditer, sub

Place = tuple[int, int]
"""A line and a column, both from 1."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters: lines and columns count from 1, the end column is exclusive. `made`: where it stands in a
    text that was made of the user's, which tells apart what stands for the same there."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    made: tuple[Place, Place] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class TextChange:
    """Characters `start` to `end` of a text that gave way to the characters `made_start` to `made_end` of another one.
    `whole`: what all of it was changed for, which stands for what is new; `beside`: that stays beside the new text."""

    start: int
    end: int
    made_start: int
    made_end: int
    whole: tuple[int, int]
    beside: bool = False

    @property
    def told(self) -> tuple[int, int]:
        """What a place in the changed characters is said to be."""
        return (self.start, self.end) if self.start < self.end else self.whole


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What a text was made of, in as many lines: `changes` in their order, and where the lines of both texts begin."""

    source: Source
    changes: tuple[TextChange, ...]
    lines: tuple[int, ...]
    made_lines: tuple[int, ...]

    def origin(self, offset: int) -> tuple[int, int]:
        """The characters that one of the made text stands for."""
        n = bisect_right(self.changes, offset, key=lambda x: x.made_start)
        if n and offset < self.changes[n - 1].made_end:
            return self.changes[n - 1].told
        before = unmoved(offset, self.changes)
        return before, before + 1

    def wholes(self) -> list[TextChange]:
        """What changes were made for, each as one change."""
        groups = [[*x] for _, x in groupby(self.changes, key=lambda x: x.whole)]
        extents = [(x[0].made_start - x[0].start + x[0].whole[0], x[-1].made_end - x[-1].end + x[-1].whole[1])
                   for x in groups]  # fmt: skip
        return [
            TextChange(*x[0].whole, *made, x[0].whole, any(y.beside for y in x))
            for x, made in zip(groups, extents, strict=True)
        ]

    def between(self, start: Place, end: Place) -> tuple[Place, Place]:
        """The places of what stands between two places of the made text."""
        first, last = (self.made_lines[min(x, len(self.made_lines)) - 1] + y - 1 for x, y in (start, end))
        ends = [*self.origin(first), *self.origin(max(first, last - 1))]
        return place_in(self.lines, min(ends)), place_in(self.lines, max(ends))


@dataclass(frozen=True, slots=True)
class Borrowed:
    """Definitions of a project's other files: C `text` behind the preprocessor, with line markers, and the `names` that
    it defines; `functions`: those of these that were asked for, with the files that they are from; `tables`: constant
    arrays, with a definition of each that may stand anywhere in a file. `undefined`: words of it that its macros
    may not change. `refused`: functions that other files define, and why nests cannot have them; `files`: those whose
    text is here.
    """

    text: str = ""
    functions: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()
    tables: tuple[tuple[str, str], ...] = ()
    undefined: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()

    def origin(self, function: str) -> str:
        """The file that a function is from; "" where it is none of these."""
        return dict(self.functions).get(function, "")

    def tables_in(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The definitions of tables that texts name."""
        words = {x for text in texts for x in findall(r"[A-Za-z_]\w*", text)} if self.tables else set[str]()
        return tuple(definition for name, definition in self.tables if name in words)

    def completion(self) -> str:
        """The definitions as a text that stands behind that of the file, where its tables may be defined already."""
        lines = "".join(f"#undef {x}\n" for x in self.undefined)
        own = {name: f"{name}_lent" for name, _ in self.tables}
        return lines + sub(r"[A-Za-z_]\w*", lambda x: own.get(x[0], x[0]), self.text)


@dataclass(frozen=True, slots=True)
class Source:
    """A named text: a file that was read, or a string that the user passed, or, where it is `made` of such a one, what
    it was rewritten as. `borrowed`: what it is read with of other files."""

    name: str
    text: str
    made: Rewriting | None = None
    borrowed: Borrowed = Borrowed()

    @property
    def written(self) -> Source:
        """What the user wrote."""
        return self if self.made is None else self.made.source.written

    def line(self, number: int) -> str:
        """The user's text of line `number` (from 1), or the empty string past the end."""
        lines = self.written.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def point(self, line: int, column: int = 1, width: int = 1) -> Span:
        """A span of `width` characters on one line."""
        return self.between((line, column), (line, column + width))

    def between(self, start: Place, end: Place) -> Span:
        """A span from one place in the text to another one, in the user's."""
        places, source = (start, end), self
        while source.made is not None:
            places, source = source.made.between(*places), source.made.source
        return Span(self.name, *places[0], *places[1], None if self.made is None else (start, end))


def rewrite(source: Source, text: str, changes: Sequence[TextChange]) -> Source:
    """The text that changes, in their order, make of a source."""
    made = Rewriting(source, tuple(changes), lines_of(source.text), lines_of(text))
    return Source(source.name, text, made, source.borrowed)


def wholes_of(source: Source) -> tuple[TextChange, ...]:
    """What is written otherwise in a text than by the user, over all that it was made of on the way: each extent for
    which something was changed, as one change.

    >>> first = rewrite(Source("a.c", "f; x; g;"), "f; y + z; g;", [TextChange(3, 4, 3, 8, (3, 4))])
    >>> changes = [TextChange(0, 1, 0, 3, (0, 1)), TextChange(5, 6, 7, 8, (3, 8), True)]
    >>> second = rewrite(first, "(f); y - z; g;", changes)
    >>> [(x.start, x.end, x.made_start, x.made_end, x.beside) for x in wholes_of(second)]
    [(0, 1, 0, 3, False), (3, 4, 5, 10, True)]
    """
    if source.made is None:
        return ()
    earlier, later = wholes_of(source.made.source), source.made.wholes()
    parts = [(x.made_start, x.made_end, x.beside) for x in earlier] + [(x.start, x.end, x.beside) for x in later]
    joined: list[tuple[int, int, bool]] = []
    for first, last, beside in sorted(parts):
        if joined and first < joined[-1][1]:
            joined[-1] = joined[-1][0], max(last, joined[-1][1]), beside or joined[-1][2]
        else:
            joined.append((first, last, beside))
    out = []
    for first, last, beside in joined:
        whole = unmoved(first, earlier), unmoved(last, earlier)
        out.append(TextChange(*whole, moved(first, later), moved(last, later), whole, beside))
    return tuple(out)


def moved(offset: int, changes: Iterable[TextChange]) -> int:
    """Where a place of a text, at no changed character, is behind changes."""
    return offset + sum(x.made_end - x.made_start - x.end + x.start for x in changes if x.end <= offset)


def unmoved(offset: int, changes: Iterable[TextChange]) -> int:
    """Where a place of the made text, at no changed character, was before the changes."""
    return offset - sum(x.made_end - x.made_start - x.end + x.start for x in changes if x.made_end <= offset)


def lines_of(text: str) -> tuple[int, ...]:
    """The offsets where the lines of a text begin.

    >>> lines_of("ab\\nc")
    (0, 3)
    """
    return (0, *(x.end() for x in finditer("\n", text)))


def place_in(lines: Sequence[int], offset: int) -> Place:
    """Line and column of an offset into the text whose lines begin there.

    >>> place_in((0, 3), 3)
    (2, 1)
    """
    line = bisect_right(lines, offset)
    return line, offset - lines[line - 1] + 1
