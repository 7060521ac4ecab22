"""Sizes that others are multiplied by, such as the stride of a window: with numbers in their places, all is affine.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extents import pick_sizes, valid_sizes
>>> text = "kernel k(n, m, s; x: f32[m], y: f32[n]) { for i in 0 .. n { y[i] = x[i * s] } }"
>>> scop = extract_scop(parse_kernel(text))
>>> find_factors(scop)
('s',)
>>> pick_sizes(valid_sizes(with_factors(scop, (("s", 3),))), {"m": 10, "n": 10, "s": 3})
{'m': 10, 'n': 4, 's': 3}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from planish.ir.expr import Compare, Expr, Var, index
from planish.ir.index.polynomial import polynomial
from planish.ir.traverse import substitute, substitute_block, walk_expr
from planish.poly.isl.affine import NotAffineError, condition_set
from planish.poly.scop.extraction import Scop, extract_scop


@lru_cache(maxsize=64)
def find_factors(scop: Scop) -> tuple[str, ...]:
    """The sizes, as few as can be seen, without which nothing is multiplied in a kernel's assumptions, or in subscripts
    of arrays whose extents are given."""
    products = [{x.name for x in m if isinstance(x, Var)} for e in _asked(scop) for m in polynomial(e) if len(m) > 1]
    out: list[str] = []
    while left := [x for x in products if len(x - {*out}) > 1]:
        counts = Counter(x for names in left for x in sorted(names) if x in scop.kernel.sizes and x not in out)
        if not counts:
            break
        out.append(max(counts, key=lambda x: counts[x]))
    return tuple(out)


def _asked(scop: Scop) -> Iterator[Expr]:
    """What is compared: the sides of assumptions that are not affine, and subscripts that are not."""
    space = scop.context.get_space()
    for assumption in scop.kernel.assumptions:
        try:
            condition_set(assumption, space)
        except NotAffineError:
            yield from (y for x in walk_expr(assumption) if isinstance(x, Compare) for y in (x.left, x.right))
    shapes = {x.name: x.shape for x in scop.kernel.arrays}
    for access in (x for statement in scop.statements for x in statement.accesses):
        for dimension in sorted(access.inexact):
            if access.array in shapes and shapes[access.array][dimension] is not None:
                yield access.index[dimension]


@lru_cache(maxsize=256)
def with_factors(scop: Scop, values: tuple[tuple[str, int], ...]) -> Scop:
    """The scop of a kernel for numbers in the places of some sizes, which remain its sizes."""
    fixed = {x: index(n) for x, n in values}
    equal = (Compare("eq", index(x), n) for x, n in fixed.items())
    assumptions = (*(substitute(x, fixed) for x in scop.kernel.assumptions), *equal)
    shapes = (tuple(None if x is None else substitute(x, fixed) for x in a.shape) for a in scop.kernel.arrays)
    arrays = tuple(replace(a, shape=shape) for a, shape in zip(scop.kernel.arrays, shapes, strict=True))
    body = substitute_block(scop.kernel.body, fixed)
    return extract_scop(replace(scop.kernel, arrays=arrays, assumptions=assumptions, body=body))
