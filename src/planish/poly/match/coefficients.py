"""Loop-invariant factors as coefficients: a definition's scalar may be an array element of the nest.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F64
>>> from planish.poly.match.composition import normal_form
>>> text = "for i in 0 .. n { y[i] += x[i] / w[n - 1] }"
>>> form = normal_form(parse_kernel("kernel k(n; x: f64[n], y: f64[n], w: f64[n]) { " + text + " }"))
>>> print(hoist(form, {"w": F64}).terms[0])
1.0:f64 / w[n - 1] * x at [n] -> { [i0, i0] : 0 <= i0 < n }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planish.ir.expr import Expr, Load
from planish.ir.traverse import substitute
from planish.ir.types import Type
from planish.poly.match.access_geometry import Geometry, geometries
from planish.poly.match.normal_form import Head, NormalForm, Term, columns


def hoist(form: NormalForm, types: Mapping[str, Type]) -> NormalForm | None:
    """The form with such factors as coefficients; None where there is none. `types` are those of the arrays."""
    terms = tuple(_hoisted(x, form, types) for x in form.terms)
    return replace(form, terms=terms) if any(a is not b for a, b in zip(terms, form.terms, strict=True)) else None


def _hoisted(term: Term, form: NormalForm, types: Mapping[str, Type]) -> Term:
    shape = next(iter(geometries(term.points)), None)
    still = [] if shape is None else [x for x in term.heads if _stands_still(x, form, shape)]
    if shape is None or not still:
        return term
    heads: list[Head] = []
    chosen, at = [*range(form.rank)], form.rank
    for head in (x for x in term.heads if x not in still):
        chosen += [c for cell in head.cells for c in cell.columns]
        heads.append(head.moved(at))
        at += head.rank
    more = tuple(_value(x, shape, types) for x in still)
    points = columns(term.points, chosen)
    return replace(term, coefficients=(*term.coefficients, *more), heads=tuple(heads), points=points)


def _stands_still(head: Head, form: NormalForm, shape: Geometry) -> bool:
    """Whether a factor loads the same cells for every point, and none that the nest writes."""
    cells = [c for cell in head.cells for c in cell.columns]
    return not any(any(shape.steps[c]) for c in cells) and all(x.array != form.target for x in head.cells)


def _value(head: Head, shape: Geometry, types: Mapping[str, Type]) -> Expr:
    loads = [Load(x.array, tuple(shape.offsets[c] for c in x.columns), types[x.array]) for x in head.cells]
    if head.skeleton is None:
        return loads[0]
    values: dict[str, Expr] = {f"#{n}": x for n, x in enumerate(loads)}
    return substitute(head.skeleton, values | {f"${n}": x for n, x in enumerate(head.scalars)})
