"""Runs the functions of the corpus as gcc compiles them, on random data of either sign.

>>> import numpy as np
>>> differs(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-12])), differs(np.array([1.0]), np.array([1.1]))
(False, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from corpus import Entry
from replay import arguments_for, build, call

from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile, CFunction

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call left in each array, and what it gave back."""

    arrays: Mapping[str, Array]
    result: int | float | None


def read_entry_file(entry: Entry) -> CFile:
    """The entry through the front-end."""
    return read_c(Source(str(entry.path), entry.text), defines=entry.defines, include_dirs=entry.include_dirs)


def signed_arguments(function: CFunction, sizes: Mapping[str, int], seed: int) -> dict[str, int | float | Array]:
    """Arguments for a call: floats have either sign, square matrices are symmetric in no way and heavy on the diagonal.

    Arrays without extents have 4096 elements.
    """
    random = np.random.default_rng(seed)
    arguments = arguments_for(function, dict(sizes), seed)
    for value in arguments.values():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            value[...] = random.uniform(0.3, 1.5, value.shape) * random.choice((-1, 1), value.shape)
            if value.ndim == 2 and value.shape[0] == value.shape[1]:
                value += ((len(value) + 8) * np.eye(len(value))).astype(value.dtype)
    return arguments


def run(entry: Entry, function: CFunction, arguments: Mapping[str, int | float | Array], place: Path) -> Outcome:
    """Compile an entry in a folder and call its function on copies of the arguments."""
    place.mkdir(exist_ok=True)
    library = build(entry.text, place, "run", entry.path.parent, entry.defines)
    mine = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    result = call(library, function, mine)
    return Outcome({k: v for k, v in mine.items() if isinstance(v, np.ndarray)}, result if function.result else None)


def differs(a: Array, b: Array) -> bool:
    """Whether two arrays differ by more than the rounding of sums in another order."""
    rounding = 1e-3 if a.dtype == np.float32 else 1e-8
    return not np.allclose(a, b, rtol=rounding, atol=rounding)
