"""Tables of TOML files whose entries are checked as they are taken, so that what is wrong is said with its line.

>>> table = read_table(Source("m.toml", '[core]\\nwidth = 4\\n')).table("core")
>>> table.whole("width", 1), str(table.place("width"))
(4, 'm.toml:2:1')
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span

_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SECTION = re.compile(r"\s*\[+\s*([\w.\"'-]+)\s*\]+")
_ENTRY = re.compile(r"(\s*)([\w\"'-]+(?:\.[\w\"'-]+)*)\s*=")


def read_table(source: Source) -> TomlTable:
    """The whole table of a TOML text. Raises PlanishError E0702, with the place, where it is none."""
    try:
        entries = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (source.text.count("\n") + 1, 1)
        message = re.sub(r"\s*\(at .*\)$", "", str(error))
        raise PlanishError(Diagnostic("E0702", f"not TOML: {message}", source.point(line, column)), source) from error
    return TomlTable(source, "", entries)


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table of the file with the name of its section, so that an error finds its line.

    `ordinal`: which of several sections of that name; `base`: the table of another file whose entries stand here too,
    unless this one has them.
    """

    source: Source
    section: str
    entries: Mapping[str, Any]
    ordinal: int = 0
    base: TomlTable | None = None

    def over(self, base: TomlTable) -> TomlTable:
        """This table, with the entries of another one that it does not have itself."""
        return TomlTable(self.source, self.section, self.entries, self.ordinal, base)

    def __contains__(self, key: str) -> bool:
        return key in self.entries or (self.base is not None and key in self.base)

    def __iter__(self) -> Iterator[str]:
        """The names of the entries, those of the base first."""
        if self.base is not None:
            yield from self.base
        yield from (x for x in self.entries if self.base is None or x not in self.base)

    def owner(self, key: str) -> TomlTable:
        """The table in whose file an entry stands: this one or its base; this one where it stands nowhere."""
        return self if key in self.entries or self.base is None or key not in self.base else self.base.owner(key)

    def error(self, key: str, message: str, advice: str = "", code: str = "E0703") -> PlanishError:
        """What is wrong with an entry (or with the section, where the entry is missing), at its line."""
        owner = self.owner(key)
        return PlanishError(Diagnostic(code, message, owner.place(key), advice), owner.source)

    def place(self, key: str) -> Span:
        """The line of an entry in this table's file; the head of its section where the entry is missing."""
        wanted = (*self.section.split("."), key) if self.section else (key,)
        head, section, seen = 1, "", -1
        around: Span | None = None
        for line in _lines_of(self.source):
            if line.opens:
                section = line.section
                seen += section == self.section
                inside = section == self.section and (not self.section or seen == self.ordinal)
                head = line.span.line if inside else head
                if line.path == wanted:
                    around = around or line.span
                continue
            if section == self.section and self.section and seen != self.ordinal:
                continue
            if line.path == wanted:
                return line.span
            if line.path == wanted[: len(line.path)]:
                around = around or line.span
        return around or self.source.point(head, 1, max(1, len(self.source.line(head))))

    def known(self, *keys: str) -> None:
        """Raise E0703 for an entry that is none of these."""
        for key in self:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                advice = f"did you mean '{near[0]}'?" if near else f"entries here: {', '.join(keys)}"
                raise self.error(key, f"unknown entry '{key}'", advice)

    def take(self, key: str, what: str, valid: Callable[[Any], bool], default: Any = None) -> Any:
        """The value of an entry, which `valid` holds for; the default where it is missing, or E0703 without one."""
        if key not in self:
            if default is not None:
                return default
            section = f" in [{self.section}]" if self.section else ""
            raise self.error(key, f"the entry '{key}' is missing{section}", f"it is {what}")
        value = self.owner(key).entries[key]
        if not valid(value):
            raise self.error(key, f"'{key}' is to be {what}, not {value!r}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not blank."""
        return str(self.take(key, "a text", lambda v: isinstance(v, str) and bool(v.strip()), default))

    def texts(self, key: str, default: list[str] | None = None) -> list[str]:
        """A list of texts."""

        def valid(value: Any) -> bool:
            return isinstance(value, list) and all(isinstance(x, str) for x in value)

        return list(self.take(key, 'a list of texts as ["a", "b"]', valid, default))

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        return bool(self.take(key, "true or false", lambda v: isinstance(v, bool), default))

    def whole(self, key: str, least: int, default: int | None = None) -> int:
        """A whole number, not below the least."""

        def valid(value: Any) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and value >= least

        return int(self.take(key, f"a whole number from {least} on", valid, default))

    def positive(self, key: str, default: float) -> float:
        """A number, not below 0."""

        def valid(value: Any) -> bool:
            return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0

        return float(self.take(key, "a number from 0 on", valid, default))

    def size(self, key: str) -> int:
        """A number of bytes: 49152, or "48K", "1M"."""

        def valid(value: Any) -> bool:
            return isinstance(value, int) and value > 0 or isinstance(value, str) and parse_size(value) > 0

        value = self.take(key, 'a size as 32768, "32K" or "1M"', valid)
        return parse_size(value) if isinstance(value, str) else int(value)

    def table(self, key: str) -> TomlTable:
        """The section of that name; an empty one where there is none."""
        entries = self.entries.get(key, {})
        section = f"{self.section}.{key}" if self.section else key
        if not isinstance(entries, dict):
            raise self.error(key, f"'{key}' is to be a section [{section}], not {entries!r}")
        return TomlTable(self.source, section, entries, base=self.base.table(key) if self.base is not None else None)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that opens a section, or has an entry of one; `path`: the names from the file's root to it."""

    opens: bool
    section: str
    path: tuple[str, ...]
    span: Span


@lru_cache(maxsize=64)
def _lines_of(source: Source) -> tuple[_Line, ...]:
    """The lines of a file that have something: many places are asked for of a description of a machine."""
    found: list[_Line] = []
    section = ""
    for number, line in enumerate(source.text.splitlines(), 1):
        if opened := _SECTION.match(line):
            section = _bare(opened[1])
            found.append(_Line(True, section, tuple(section.split(".")), source.point(number, 1, len(line.rstrip()))))
        elif entry := _ENTRY.match(line):
            path = [*([section] if section else []), _bare(entry[2])]
            span = source.point(number, len(entry[1]) + 1, len(entry[2]))
            found.append(_Line(False, section, tuple(".".join(path).split(".")), span))
    return tuple(found)


def parse_size(text: str) -> int:
    """The bytes of "48K", "1M" or "512"; 0 where it is no size.

    >>> parse_size("48K"), parse_size("many")
    (49152, 0)
    """
    match = re.fullmatch(r"(\d+)\s*([KMG]?)i?B?", text.strip(), re.IGNORECASE)
    return int(match[1]) * _SUFFIXES[match[2].upper()] if match else 0


def _bare(name: str) -> str:
    return name.replace('"', "").replace("'", "")
