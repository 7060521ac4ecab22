"""Reads what this program has pickled, and nothing that would run code of somebody else.

>>> from planish.core.span import Span
>>> read_pickle(pickle.dumps(Span("a.c", 1, 2, 1, 3)), ("planish.core.",))
Span(file='a.c', line=1, column=2, end_line=1, end_column=3)
>>> print(read_pickle(pickle.dumps(print), ("planish.core.",)))
None
"""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass


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
        self._functions = {(x.__module__, x.__qualname__): x for x in functions}

    def find_class(self, module: str, name: str) -> object:
        """The dataclass or function that has the name; pickle.UnpicklingError for anything else."""
        if (module, name) in self._functions:
            return self._functions[module, name]
        found = getattr(importlib.import_module(module), name) if module.startswith(self._places) else None
        if not (isinstance(found, type) and is_dataclass(found) and found.__module__ == module):
            raise pickle.UnpicklingError(f"{module}.{name} may not be read")
        return found
