"""Machine descriptions: TOML files beside this module, found by their name.

>>> load_description("x86-avx2").vector_bits
256
>>> "generic" in target_names()
True
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span
from planish.isa.costs.tables import PROCESSORS
from planish.target.machine import CacheLevel, Target

MACHINES = Path(__file__).with_name("machines")
"""The folder of the descriptions; a machine is added by one file in it."""

NATIVE = "native"
"""The name of the machine that this program runs on; it is probed and has no file."""

_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def target_names() -> tuple[str, ...]:
    """The names that `--target` takes, "native" first."""
    return (NATIVE, *sorted(path.stem for path in MACHINES.glob("*.toml")))


def load_description(name: str) -> Target:
    """The described machine of that name, or the one in the TOML file at that path (`NAME.toml`).

    Raises PlanishError E0701 where there is none, E0702 where the file is no TOML, E0703 where an entry is wrong.
    """
    path = Path(name) if name.endswith(".toml") else MACHINES / f"{name}.toml"
    known = name.endswith(".toml") or name in target_names()
    try:
        if not known:
            raise FileNotFoundError(name)
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanishError(_unknown(name)) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read the machine description {path}: {error}"
        raise PlanishError(Diagnostic("E0701", message, help="check the file's permissions and encoding")) from error
    return parse_target(Source(str(path), text))


def parse_target(source: Source) -> Target:
    """The machine that a TOML text describes. Raises PlanishError E0702 and E0703 with the line."""
    try:
        table = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (source.text.count("\n") + 1, 1)
        message = re.sub(r"\s*\(at .*\)$", "", str(error))
        raise PlanishError(Diagnostic("E0702", f"not TOML: {message}", source.point(line, column)), source) from error
    return _target(_Table(source, "", table))


def _unknown(name: str) -> Diagnostic:
    names = target_names()
    near = difflib.get_close_matches(name, names, 1, 0.5)
    guess = f"did you mean '{near[0]}'? " if near else ""
    advice = f"{guess}known targets: {', '.join(names)}; or the path of a .toml file"
    return Diagnostic("E0701", f"unknown target '{name}'", help=advice)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the file with the name of its section, so that an error finds its line."""

    source: Source
    section: str
    entries: Mapping[str, Any]
    ordinal: int = 0

    def error(self, key: str, message: str, advice: str = "") -> PlanishError:
        return PlanishError(Diagnostic("E0703", message, self.place(key), advice), self.source)

    def place(self, key: str) -> Span:
        """The line of an entry; the head of its section where the entry is missing."""
        head, section, seen = 1, "", -1
        for number, line in enumerate(self.source.text.splitlines(), 1):
            opened = re.match(r"\s*\[+\s*([\w.-]+)\s*\]+", line)
            if opened:
                section = opened[1]
                seen += section == self.section
            inside = section == self.section and (not self.section or seen == self.ordinal)
            if inside and opened:
                head = number
            entry = re.match(rf"(\s*)[\"']?{re.escape(key)}[\"']?\s*=", line)
            if inside and entry and not opened:
                return self.source.point(number, len(entry[1]) + 1, len(key))
        return self.source.point(head, 1, max(1, len(self.source.line(head))))

    def known(self, *keys: str) -> None:
        for key in self.entries:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                advice = f"did you mean '{near[0]}'?" if near else f"entries here: {', '.join(keys)}"
                raise self.error(key, f"unknown entry '{key}'", advice)

    def take(self, key: str, what: str, valid: Callable[[Any], bool], default: Any = None) -> Any:
        if key not in self.entries:
            if default is not None:
                return default
            section = f" in [{self.section}]" if self.section else ""
            raise self.error(key, f"the entry '{key}' is missing{section}", f"it is {what}")
        value = self.entries[key]
        if not valid(value):
            raise self.error(key, f"'{key}' is to be {what}, not {value!r}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        return str(self.take(key, "a text", lambda v: isinstance(v, str) and bool(v.strip()), default))

    def flag(self, key: str, default: bool | None = None) -> bool:
        return bool(self.take(key, "true or false", lambda v: isinstance(v, bool), default))

    def whole(self, key: str, least: int, default: int | None = None) -> int:
        def valid(value: Any) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and value >= least

        return int(self.take(key, f"a whole number from {least} on", valid, default))

    def positive(self, key: str, default: float) -> float:
        def valid(value: Any) -> bool:
            return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0

        return float(self.take(key, "a number from 0 on", valid, default))

    def size(self, key: str) -> int:
        """A number of bytes: 49152, or "48K", "1M"."""

        def valid(value: Any) -> bool:
            return isinstance(value, int) and value > 0 or isinstance(value, str) and parse_size(value) > 0

        value = self.take(key, 'a size as 32768, "32K" or "1M"', valid)
        return parse_size(value) if isinstance(value, str) else int(value)

    def table(self, key: str) -> _Table:
        entries = self.take(key, f"a section [{key}]", lambda v: isinstance(v, dict), {})
        return _Table(self.source, key, entries)


def parse_size(text: str) -> int:
    """The bytes of "48K", "1M" or "512"; 0 where it is no size."""
    match = re.fullmatch(r"(\d+)\s*([KMG]?)i?B?", text.strip(), re.IGNORECASE)
    return int(match[1]) * _SUFFIXES[match[2].upper()] if match else 0


def _target(root: _Table) -> Target:
    sections = ("vector", "core", "cache", "flags", "tuning")
    root.known("name", "isa", "description", "processor", "cores", "frequency_ghz", *sections)
    vector = root.table("vector")
    vector.known("bits", "registers", "masks", "fma", "fma_units", "fma_latency")
    bits = vector.whole("bits", 0)
    if bits % 64:
        raise vector.error("bits", f"'bits' is to be a multiple of 64, not {bits}")
    core = root.table("core")
    core.known("issue_width", "load_ports", "store_ports", "tlb_entries", "page_walk")
    return Target(
        name=root.text("name"),
        isa=root.text("isa"),
        vector_bits=bits,
        vector_registers=vector.whole("registers", 0),
        fma=vector.flag("fma"),
        caches=_caches(root),
        cores=root.whole("cores", 1, 1),
        masks=vector.flag("masks", False),
        fma_units=vector.whole("fma_units", 1, 1),
        fma_latency=vector.whole("fma_latency", 1, 4),
        issue_width=core.whole("issue_width", 1, 4),
        load_ports=core.whole("load_ports", 1, 2),
        store_ports=core.whole("store_ports", 1, 1),
        tlb_entries=core.whole("tlb_entries", 1, 1536),
        page_walk=core.positive("page_walk", 20.0),
        frequency_ghz=root.positive("frequency_ghz", 0.0),
        flags=_flags(root.table("flags")),
        tuning=_flags(root.table("tuning")),
        description=root.text("description", "a machine"),
        processor=_processor(root),
    )


def _processor(root: _Table) -> str:
    known = [x for names in PROCESSORS.values() for x in names]
    what = f"a processor whose costs are known: {', '.join(known)}"
    return str(root.take("processor", what, lambda x: x in known)) if "processor" in root.entries else ""


def _caches(root: _Table) -> tuple[CacheLevel, ...]:
    tables = root.take("cache", "a list of sections [[cache]]", lambda v: isinstance(v, list) and bool(v))
    caches: list[CacheLevel] = []
    for ordinal, entries in enumerate(tables):
        table = _Table(root.source, "cache", entries, ordinal)
        table.known("level", "bytes", "line", "associativity", "shared", "refill")
        cache = CacheLevel(
            level=table.whole("level", 1),
            bytes=table.size("bytes"),
            line=table.whole("line", 1, 64),
            associativity=table.whole("associativity", 1, 8),
            shared=table.whole("shared", 1, 1),
            refill=table.positive("refill", 0.0),
        )
        if caches and cache.level <= caches[-1].level:
            raise table.error("level", "the caches are to go from the nearest level outwards")
        if cache.bytes % cache.line:
            raise table.error("bytes", f"{cache.bytes} bytes are no multiple of the line of {cache.line} bytes")
        caches.append(cache)
    return tuple(caches)


def _flags(table: _Table) -> dict[str, tuple[str, ...]]:
    def words(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(word, str) and word.startswith("-") for word in value)

    return {kind: tuple(table.take(kind, 'a list of flags as ["-mavx2"]', words)) for kind in table.entries}
