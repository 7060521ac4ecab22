"""The instructions of one architecture, learnt from its vendor's description: a file of entries, read when asked for.

>>> from planish.isa.entry import IntrinsicSignature
>>> add = Entry("add8", "toy", IntrinsicSignature("char", (("char", "a"),)), "(a: 8) -> dst: 8 { dst.u8[0] = a.u8[0] }")
>>> text = Collection.of("toy", "a sheet of paper", [add]).packed()
>>> found = Collection.unpacked(text)
>>> found.source, found.entry("add8") == add, len(found)
('a sheet of paper', True, 1)
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.isa.entry import Entry

_FORMAT = 1
_SUFFIX = ".json.gz"


@dataclass(frozen=True, slots=True)
class Collection:
    """`source` says what the entries come from; `records` are the entries as they stand in the file, by their names."""

    isa: str
    source: str
    records: Mapping[str, list[Any]]

    @classmethod
    def of(cls, isa: str, source: str, entries: Iterable[Entry]) -> Collection:
        """The collection of some entries, in the order of their names."""
        return cls(isa, source, {x.name: x.plain() for x in sorted(entries, key=lambda x: x.name)})

    @classmethod
    def unpacked(cls, data: bytes, name: str = "the collection") -> Collection:
        """What a file holds; PlanishError E0653 where it is none of ours."""
        try:
            found = json.loads(gzip.decompress(data))
            if found["format"] != _FORMAT:
                raise ValueError(f"it has format {found['format']}")
            return cls(found["isa"], found["source"], {x[0]: x for x in found["entries"]})
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, IndexError) as error:
            advice = "write it anew with `planish isa learn`"
            raise PlanishError(Diagnostic("E0653", f"{name} cannot be read: {error}", help=advice)) from error

    def packed(self) -> bytes:
        """The bytes of a file: the same for the same entries."""
        content = {"format": _FORMAT, "isa": self.isa, "source": self.source, "entries": list(self.records.values())}
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        return gzip.compress(text.encode(), 9, mtime=0)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Entry]:
        return (self.entry(name) for name in self.records)

    def entry(self, name: str) -> Entry:
        """The entry of a name; KeyError where there is none."""
        return Entry.parsed(self.records[name])


def collection_names() -> tuple[str, ...]:
    """The architectures that come with Planish."""
    names = (x.name for x in files("planish.isa").joinpath("lib").iterdir())
    return tuple(sorted(x.removesuffix(_SUFFIX) for x in names if x.endswith(_SUFFIX)))


def file_name(isa: str) -> str:
    """The name of the file of an architecture."""
    return isa + _SUFFIX


@cache
def load_collection(isa: str) -> Collection:
    """The instructions of an architecture that come with Planish; PlanishError E0654 for an unknown one."""
    if isa not in collection_names():
        advice = f"those that come with Planish: {', '.join(collection_names())}"
        raise PlanishError(Diagnostic("E0654", f"no instructions of '{isa}' have been learnt", help=advice))
    return Collection.unpacked(files("planish.isa").joinpath("lib", file_name(isa)).read_bytes(), isa)
