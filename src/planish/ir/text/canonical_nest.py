"""The canonical text of a nest: the same for nests that differ in names and places alone.

>>> from planish.ir.text.parser import parse_kernel
>>> first = "kernel f(n; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] = x[i] } }"
>>> other = "kernel g(len; src: f64[len], dst: f64[len]) { for k in 0 .. len { dst[k] = src[k] } }"
>>> canonical_text(parse_kernel(first)) == canonical_text(parse_kernel(other))
True
>>> canonical_names(parse_kernel(other))
{'len': 'v0', 'src': 'v1', 'dst': 'v2', 'k': 'v3'}
"""

from __future__ import annotations

import re
from dataclasses import replace

from planish.ir.nest import Kernel
from planish.ir.text.printer import print_kernel
from planish.ir.traverse import used_names

_WORD = re.compile(r"`?\b([A-Za-z_]\w*)\b(?!\()`?")
"""A name, in quotes where it is a word of the language. What is called is a function, and keeps its name."""
NAME = "nest"
"""What every kernel is called."""


def canonical_text(kernel: Kernel) -> str:
    """The text of a kernel with all names by the order in which they come."""
    names = canonical_names(kernel)
    return _WORD.sub(lambda found: names.get(found[1], found[0]), _text(kernel))


def canonical_names(kernel: Kernel) -> dict[str, str]:
    """What each name of a kernel is called in its canonical text."""
    used = used_names(kernel)
    order = dict.fromkeys(x for x in _WORD.findall(_text(kernel)) if x in used)
    return {name: f"v{number}" for number, name in enumerate(order)}


def _text(kernel: Kernel) -> str:
    return print_kernel(replace(kernel, name=NAME))
