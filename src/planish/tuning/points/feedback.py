"""What points are compared by: their time, or what their library tells of itself, as the bytes of its code.

>>> read_feedback("size,time")
('size', 'time')
>>> measure_library("size", b"no library")
0.0
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct, error, unpack_from
from typing import Literal, assert_never, get_args

Feedback = Literal["time", "size"]
"""`time`: of races beside the default; `size`: bytes of machine code and constants of the function as it is shipped."""
FEEDBACKS: tuple[Feedback, ...] = get_args(Feedback)
METRICS: dict[Feedback, str] = {"time": "seconds", "size": "bytes"}
"""The units."""
_SHIPPED = (b".text", b".rodata", b".data")
"""How the names of sections begin that hold a function's code and constants."""
_LONGEST = 64
"""Bytes of a name that are looked at."""


def read_feedback(text: str) -> tuple[Feedback, ...]:
    """The kinds in a text, with commas between them, each once; ValueError names one that there is not."""
    found: list[Feedback] = []
    for name in text.split(","):
        kind = next((x for x in FEEDBACKS if x == name.strip()), None)
        if kind is None:
            raise ValueError(f"'{name.strip()}' is none of {', '.join(FEEDBACKS)}")
        found.append(kind)
    return tuple(dict.fromkeys(found))


def measure_library(kind: Feedback, library: bytes) -> float:
    """What a library tells of itself, lower is better; time is told by races only."""
    match kind:
        case "size":
            return float(sum(size for name, size in _sections(library) if name.startswith(_SHIPPED)))
        case "time":
            raise ValueError("a library does not tell how long it takes")
        case _:
            assert_never(kind)


def _sections(library: bytes) -> Iterator[tuple[bytes, int]]:
    """The names and sizes of the sections of an ELF file (System V ABI, chapter 4); none of another file."""
    if library[:4] != b"\x7fELF":
        return
    wide, order = library[4] == 2, "<" if library[5] == 1 else ">"
    header = Struct(order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII"))
    try:
        (table,) = unpack_from(order + ("Q" if wide else "I"), library, 40 if wide else 32)
        entry, count, names = unpack_from(order + "HHH", library, 58 if wide else 46)
        headers = [header.unpack_from(library, table + number * entry) for number in range(count)]
        begin = headers[names][4]
    except (error, IndexError):
        return
    for name, _, _, _, _, size, *_ in headers:
        start = begin + name
        yield library[start : start + _LONGEST].partition(b"\0")[0], size
