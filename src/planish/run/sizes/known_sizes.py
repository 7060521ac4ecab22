"""What is known of a function's arguments: which are the sizes, the data and the arrays of the kernels in it.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.poly.scop.extraction import extract_scop
>>> text = "void f(int n, float *x) { for (int i = 0; i < n; i++) x[i] = x[i - 2]; }"
>>> function = read_c(Source("f.c", text)).functions[0]
>>> region = function.regions[0]
>>> known = find_known(region, extract_scop(region.kernel), function)
>>> dict(known.sizes), known.first("x", {"n": 10})
({'n': 'n'}, -2)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from planish.frontend.c.text.lexer import tokenize
from planish.frontend.c.translation_unit import ArrayBase, CFunction, RecastArray, Region
from planish.ir.expr import Expr, Var
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import place
from planish.ir.traverse import variables
from planish.ir.types import INDEX
from planish.poly.scop.extents import evaluate_extent, with_values
from planish.poly.scop.extraction import Scop
from planish.run.calls.passing import MEMORY_OF, ROW, leaves_of

_NO_WORD = re.compile(r"\W+")


@dataclass(frozen=True, slots=True, eq=False)
class KnownSizes:
    """What is known of a function's arguments: the sizes that a region's scop names, as the function's parameters.

    `data`: parameters that the region only computes with. `alone`: nothing else in the function touches arrays, so
    that they need reach no further than the regions do. `computed`: sizes that the function computes from others. What
    a loop without a count never reaches is a size, too, of which only the arrays know.
    """

    scop: Scop
    sizes: Mapping[str, str]
    arrays: Mapping[str, str]
    data: frozenset[str] = frozenset()
    alone: bool = False
    computed: Mapping[str, Expr] = field(default_factory=dict)
    recast: Mapping[str, RecastArray] = field(default_factory=dict)
    bases: Mapping[str, ArrayBase] = field(default_factory=dict)

    def room(self, name: str, count: int) -> int:
        """The elements, as they are declared, of the array of the function that has so many of one of the region's."""
        size = self.scop.kernel.array(name).type.size
        if self.arrays[name].endswith(MEMORY_OF):
            return count * size
        seen = self.recast.get(name)
        return count if seen is None else -(-(count * size + seen.offset) // seen.size)

    def first(self, name: str, sizes: Mapping[str, int]) -> int | None:
        """The number, in the array of the function, of the first element of one of the region's; None where that
        depends on what is no size, such as the counter of a loop around the region."""
        base = self.bases.get(name)
        if base is None:
            return 0
        inner = {**sizes, **inner_sizes(self, sizes)}
        if not variables(base.before) <= inner.keys():
            return None
        return evaluate(base.moved, sizes) - evaluate(base.before, inner)


def find_known(region: Region, scop: Scop, function: CFunction, text: str = "") -> KnownSizes:
    """A region's sizes and arrays that are the function's own parameters, or in them; `text` is the file's, `scop` the
    region's as it is scheduled."""
    shown = {x.text: x.shown for x in region.distances}
    shown |= {dict(region.names)[x.apart]: x.table + ROW for x in region.spaced}
    names = {key: shown.get(text, text) for key, text in region.names}
    own = {p.name for p in leaves_of(function)} | {p.name + ROW for p in leaves_of(function) if p.form == "rows"}
    endless = region.exits.uncounted if region.exits is not None else ""
    sizes = {s: s if s == endless else names[s] for s in scop.kernel.sizes if s == endless or names[s] in own}
    arrays = {a.name: names[a.name] for a in scop.kernel.arrays if names[a.name] in own}
    recast = {x.array: x for x in region.recast if x.text in own}
    arrays |= {x: y.text for x, y in recast.items()}
    arrays |= {x: text + MEMORY_OF for x, text in region.views.items() if text + MEMORY_OF in own}
    data = frozenset(names[x.name] for x in scop.kernel.scalars)
    known = {c: s for s, c in sizes.items()}
    others = dict.fromkeys(v for _, x in region.computed for v in sorted(variables(x)) if v not in known)
    # Members of structures have no names that sizes could have.
    known |= {v: v if v.isidentifier() else f"{_NO_WORD.sub('_', v)}_given" for v in others}
    computed = {s: place(x, {v: Var(known[v], INDEX) for v in variables(x)}) for s, x in region.computed}
    sizes |= {known[v]: v for v in others}
    alone = bool(text) and set(scop.kernel.sizes) <= sizes.keys() | computed.keys() and is_alone(function, text)
    bases = {x.array: x for x in region.bases if x.array in arrays}
    return KnownSizes(with_values(scop, computed), sizes, arrays, data, alone, computed, recast, bases)


def is_alone(function: CFunction, text: str) -> bool:
    """Whether the function's arrays are named nowhere outside of its regions."""
    at, outside = function.start, ""
    for region in sorted(function.regions, key=lambda r: r.start):
        outside += text[at : region.start] + " "
        at = region.end
    outside += text[at : function.end]
    used = {token.text for token in tokenize(outside).tokens}
    return not used & {p.name for p in function.parameters if p.pointer}


def inner_sizes(known: KnownSizes, sizes: Mapping[str, int]) -> dict[str, int]:
    """The region's sizes, for those of the function."""
    given = {s: sizes[c] for s, c in known.sizes.items() if c in sizes}
    values = {s: evaluate_extent(x, given) for s, x in known.computed.items()}
    return given | {s: v for s, v in values.items() if v is not None}
