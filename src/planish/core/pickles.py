"""Pickles what this program makes, and reads that, and nothing that would run code of somebody else.

>>> from planish.core.span import Span
>>> read_pickle(write_pickle(Span("a.c", 1, 2, 1, 3)), ("planish.core.",))
Span(file='a.c', line=1, column=2, end_line=1, end_column=3)
>>> print(read_pickle(pickle.dumps(print), ("planish.core.",)))
None
"""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import MemberDescriptorType
from typing import Any


def write_pickle(value: object) -> bytes:
    """A value as a pickle, which is read several times faster than one of `pickle.dumps` where there are dataclasses
    with slots in it; raises what that raises."""
    out = io.BytesIO()
    Writer(out, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return out.getvalue()


class Writer(pickle.Pickler):
    """Writes dataclasses with slots by their fields alone: what `dataclasses` has for them looks each of them up."""

    def reducer_override(self, obj: object) -> Any:
        """How an object is made again; NotImplemented for what is pickled as always."""
        kind: Any = type(obj)
        slots = _slots(kind)
        return NotImplemented if slots is None else (_restore, (kind, *(x.__get__(obj) for x in slots)))


@cache
def _slots(kind: type[Any]) -> tuple[MemberDescriptorType, ...] | None:
    """The fields of a dataclass, if each has a slot; None for other classes."""
    if not is_dataclass(kind):
        return None
    found = tuple(getattr(kind, x.name, None) for x in fields(kind))
    slots = tuple(x for x in found if isinstance(x, MemberDescriptorType))
    return slots if len(slots) == len(found) else None


def _restore(kind: Any, *values: object) -> object:
    """An object of a dataclass with slots, whose fields have some values; it was checked when it was first made."""
    made: object = object.__new__(kind)
    for slot, value in zip(_slots(kind) or (), values, strict=True):
        slot.__set__(made, value)
    return made


def read_pickle(content: bytes, places: tuple[str, ...], functions: Sequence[Callable[..., object]] = ()) -> object:
    """What was pickled, if it consists of dataclasses of modules whose names begin with one of `places`, and of what
    some functions make; None for anything else, and for what cannot be read."""
    try:
        return _Reader(content, places, functions).load()
    except Exception:  # Whatever is wrong with what lies there, it is not worth more than making it again.
        return None


class _Reader(pickle.Unpickler):
    def __init__(self, content: bytes, places: tuple[str, ...], functions: Sequence[Callable[..., object]]) -> None:
        super().__init__(io.BytesIO(content))
        self._places = places
        self._functions = {(x.__module__, x.__qualname__): x for x in (_restore, *functions)}

    def find_class(self, module: str, name: str) -> object:
        """The dataclass or function that has the name; pickle.UnpicklingError for anything else."""
        if (module, name) in self._functions:
            return self._functions[module, name]
        found = getattr(importlib.import_module(module), name) if module.startswith(self._places) else None
        if not (isinstance(found, type) and is_dataclass(found) and found.__module__ == module):
            raise pickle.UnpicklingError(f"{module}.{name} may not be read")
        return found
