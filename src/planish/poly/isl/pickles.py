"""Pickles of isl sets and maps: written as text, since they may have dimensions of one name.

>>> import islpy as isl
>>> square = isl.Set("[n] -> { A[i, j] : 0 <= i, j < n }")
>>> read_sets(write_sets({"square": square}), ())["square"].is_equal(square)
True
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import islpy as isl

from planish.core.pickles import Writer, read_pickle

_KINDS = {x.__name__: x for x in (isl.Set, isl.BasicSet, isl.UnionSet, isl.Map, isl.BasicMap, isl.UnionMap)}


def write_sets(value: object) -> bytes:
    """A value in which there may be sets and maps; pickle.PicklingError for other objects of the polyhedral library."""
    out = io.BytesIO()
    _Writer(out, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return out.getvalue()


def read_sets(content: bytes, places: tuple[str, ...]) -> object:
    """What `write_sets` has written, as by `read_pickle`."""
    return read_pickle(content, places, (_read_set,))


class _Writer(Writer):
    def reducer_override(self, obj: object) -> Any:
        """How a set or map is made again; NotImplemented for what is pickled as always."""
        name = type(obj).__name__
        if type(obj) is _KINDS.get(name):
            return _read_set, (name, str(obj))
        if type(obj).__module__.startswith("islpy"):
            raise pickle.PicklingError(f"no text is written of {name}")
        return super().reducer_override(obj)


def _read_set(kind: str, text: str) -> object:
    return _KINDS[kind](text)
