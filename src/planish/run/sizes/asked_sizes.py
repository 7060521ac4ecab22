"""Calls with sizes for which new code asks: the least of them, and some that are a little larger.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.ir.expr import Compare, Var, index
>>> from planish.ir.types import INDEX
>>> from planish.poly.scop.extraction import extract_scop
>>> from planish.run.sizes.known_sizes import find_known
>>> text = "void f(int n, int m, float *x) { for (int i = 0; i < n; i++) x[i] = m; }"
>>> (function,) = read_c(Source("f.c", text)).functions
>>> (region,) = function.regions
>>> known = (find_known(region, extract_scop(region.kernel), function),)
>>> many = Compare("ge", Var("n", INDEX), index(5000))
>>> [x.values["n"] for x in asked_cases(function, known, dict(region.names), [many])][:3]
[5000, 5001, 5005]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from planish.frontend.c.translation_unit import CFunction
from planish.ir.expr import Expr, Var
from planish.ir.traverse import substitute, variables
from planish.ir.types import INDEX
from planish.poly.scop.extraction import affine_only
from planish.run.calls.signature import CallCase
from planish.run.sizes.call_sizes import CHECK_INSTANCES, instances_of, make_case, size_names, sizes_near, wanted_sizes
from planish.run.sizes.known_sizes import KnownSizes
from planish.run.workbench import ReplacedNest

_LEAST = 5
_FEW = 2
_MORE, _SEED = (0, 1, 5, 16, 37, 64), 500
"""What is added to the least sizes in each call, and the first seed of these."""


def asked_cases(
    function: CFunction, known: tuple[KnownSizes, ...], names: Mapping[str, str], asked: Sequence[Expr]
) -> tuple[CallCase, ...]:
    """Calls in which conditions on a region's sizes hold, by whose `names` these are the function's; none where they
    are not affine, of other sizes, or hold for too large ones only."""
    there = tuple(_where(x, names, asked) for x in known)
    least = None if there == known else sizes_near(there, wanted_sizes(size_names(known), _LEAST), {})
    out: list[CallCase] = []
    for i, more in enumerate(_MORE if least else ()):
        assert least is not None
        sizes = sizes_near(there, {x: value + more * (n + 1) for n, (x, value) in enumerate(least.items())}, {})
        if sizes is not None and instances_of(known, sizes) <= CHECK_INSTANCES:
            case = make_case(function, known, sizes, seed=_SEED + i)
            out.append(replace(case, placement="end" if i % 2 == 0 else "start"))
    return tuple(out)


def chosen_cases(
    function: CFunction, known: tuple[KnownSizes, ...], nests: Collection[ReplacedNest]
) -> tuple[CallCase, ...]:
    """Calls for each condition by which new code does one thing or another for large sizes, in which it holds: those of
    other calls that check may be too small."""
    names = {x.start: dict(x.names) for x in function.regions}
    asked = dict.fromkeys((x.start, y) for x in nests for y in x.chooses)
    made = (asked_cases(function, known, names[start], (x,))[:_FEW] for start, x in asked)
    return tuple({repr(sorted(y.values.items())): y for x in made for y in x}.values())


def _where(known: KnownSizes, names: Mapping[str, str], asked: Sequence[Expr]) -> KnownSizes:
    """What is known of a region where conditions hold, as far as they are of its sizes."""
    own = {c: s for s, c in known.sizes.items()}
    values = {x: Var(own[c], INDEX) for x, c in names.items() if c in own}
    said = tuple(substitute(x, values) for x in asked if variables(x) <= values.keys())
    if not said:
        return known
    scop = known.scop
    kernel = replace(scop.kernel, assumptions=(*scop.kernel.assumptions, *said))
    context = scop.context.intersect(affine_only(said, scop.context.get_space()))
    return replace(known, scop=replace(scop, kernel=kernel, context=context))
