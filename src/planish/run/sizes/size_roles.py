"""The role of a size: trip count, window, stride between rows or elements, offset, channels.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> text = "kernel k(n, lda, inc, at; A: f64[?, lda], x: f64[?, inc], y: f64[?]) {"
>>> text += " for i in 0 .. n { for j in 0 .. n { y[i + at] += A[i, j] * x[j, 0] } } }"
>>> find_roles(extract_scop(parse_kernel(text)).kernel, {})
{'n': 'extent', 'lda': 'distance', 'inc': 'stride', 'at': 'offset'}
>>> text = "kernel k(n, stages; x: f64[n]) { for s in 0 .. stages { for i in 0 .. n { x[i] *= x[i] } } }"
>>> find_roles(extract_scop(parse_kernel(text)).kernel, {})
{'n': 'extent', 'stages': 'sections'}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from planish.ir.expr import Expr, Var
from planish.ir.index.polynomial import place, polynomial, sub
from planish.ir.nest import Assign, For, If, Kernel, Reduce
from planish.ir.traverse import expressions, loads, variables, walk

Role = Literal["extent", "window", "distance", "stride", "channels", "sections", "offset"]
"""- extent: a loop goes so far;
- window: a loop takes the fewer steps the larger it is;
- distance: rows lie so far apart, along which a loop goes, as of a leading dimension: at least their length;
- stride: elements lie so far apart, of which a loop takes one each;
- channels: the same, or the extent of a loop, where the name says that there are few;
- sections: the extent of a loop over the parts of a filter or the terms of a polynomial, as the name says;
- offset: where in an array the data begins."""

FEW = re.compile(r"(?i)channel|comps?\b|components?\b|\bch\b|\bnch\b|bpp|samples_per_pixel")
"""Names of sizes that are small in every call."""

SECTIONS = re.compile(r"(?i)stages?$|sections?$|biquads?$|poles$|(^|_)order$|degree$")
"""Names of how many sections a filter has, or of the degree of a polynomial."""

USUAL: Mapping[Role, tuple[int, ...]] = {
    "distance": (1,), "stride": (1, 2, 4, 1), "channels": (3, 1, 4, 2), "sections": (8, 2, 16, 4),
    "offset": (0, 0, 1, 0),
}  # fmt: skip
"""What sizes of some roles are in calls; the first is the usual one. A distance is as small as it may be."""


def find_roles(kernel: Kernel, computed: Mapping[str, Expr]) -> dict[str, Role]:
    """The role of each size of a kernel, in the order of its sizes; `computed`: sizes that are made of others."""
    loops = [x for x in walk(kernel.body) if isinstance(x, For)]
    steps = [polynomial(place(sub(x.upper, x.lower), computed)) for x in loops]
    windows = {m[0].name for x in steps for m, c in x.items() if c < 0 and len(m) == 1 and isinstance(m[0], Var)}
    extents = {v for x in steps for m in x for part in m for v in variables(part)}
    asked = [x.condition for x in walk(kernel.body) if isinstance(x, If)]
    extents |= {v for x in asked for v in variables(place(x, computed))}
    moving = {x.var for x in loops}
    apart: dict[str, bool] = {}
    used: set[str] = set()
    shapes = {x.name: x.shape for x in kernel.arrays}
    for array, index in _accesses(kernel):
        for extent, at in zip(shapes.get(array, ())[1:], index[1:], strict=False):
            for name in variables(place(extent, computed)) if extent is not None else ():
                apart[name] = apart.get(name, False) or bool(moving & variables(at))
        used |= {v for x in index for v in variables(place(x, computed))}
    sizes = dict.fromkeys((*kernel.sizes, *(v for x in computed.values() for v in sorted(variables(x)))))
    return {x: _role(x, windows, extents, apart, used) for x in sizes if x not in computed}


def _role(name: str, windows: set[str], extents: set[str], apart: Mapping[str, bool], used: set[str]) -> Role:
    if name in windows:
        return "window"
    if name in extents:
        return "channels" if FEW.search(name) else "sections" if SECTIONS.search(name) else "extent"
    if name in apart:
        return "distance" if apart[name] else "channels" if FEW.search(name) else "stride"
    return "offset" if name in used else "extent"


def _accesses(kernel: Kernel) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """The arrays that a kernel reads and writes, with the subscripts."""
    for stmt in walk(kernel.body):
        yield from ((x.array, x.index) for e in expressions(stmt) for x in loads(e))
        if isinstance(stmt, Assign | Reduce):
            yield stmt.array, stmt.index
