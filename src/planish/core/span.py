"""Places in the user's source, so that every message can point at what it speaks of.

>>> source = Source("a.c", "int x;\\nint y;\\n")
>>> source.line(2)
'int y;'
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters: lines and columns count from 1, the end column is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Source:
    """A named text: a file that was read, or a string that the user passed."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), or the empty string past the end."""
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def point(self, line: int, column: int = 1, width: int = 1) -> Span:
        """A span of `width` characters on one line."""
        return Span(self.name, line, column, line, column + width)
