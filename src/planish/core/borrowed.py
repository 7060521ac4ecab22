"""Definitions of a project's other files with which a file is read.

>>> lent = Borrowed('# 1 "b.c"\\nint f(int x) { return x; }\\n', (("f", "b.c"),), ("f",))
>>> lent.origin("f"), lent.origin("g"), lent.completion()
('b.c', '', '# 1 "b.c"\\nint f(int x) { return x; }\\n')
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Borrowed:
    """C `text` behind the preprocessor, with line markers, and the `names` that it defines: `functions` with the files
    that they are from; `tables`: constant arrays, with a definition of each that may stand anywhere in a file.
    `undefined`: words of it that macros of the file may not change. `refused`: functions that other files define, and
    why nests cannot have them; `files`: all whose text decides about this."""

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
        words = {x for text in texts for x in re.findall(r"[A-Za-z_]\w*", text)} if self.tables else set[str]()
        return tuple(definition for name, definition in self.tables if name in words)

    def completion(self) -> str:
        """The definitions as a text that stands behind that of the file, where its tables may be defined already."""
        lines = "".join(f"#undef {x}\n" for x in self.undefined)
        own = {name: f"{name}_lent" for name, _ in self.tables}
        return lines + re.sub(r"[A-Za-z_]\w*", lambda x: own.get(x[0], x[0]), self.text)
