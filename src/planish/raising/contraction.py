"""Products of two arrays, and copies of one, that have no name of their own: an operation made for the subscripts.

>>> from planish.ir.parser import parse_kernel
>>> from planish.poly.chain import normal_form
>>> text = "for a in 0 .. n { for b in 0 .. n { for c in 0 .. n { C[a, b] += A[c, b, a] * B[c] } } }"
>>> form = normal_form(parse_kernel("kernel k(n; A: f64[n, n, n], B: f64[n], C: f64[n, n]) { " + text + " }"))
>>> contraction_of(form).einsum
'cba,c->ab'
"""

from __future__ import annotations

from functools import lru_cache
from string import ascii_lowercase

from planish.ir.parser import parse_kernel
from planish.poly.form import Form, Term, is_own
from planish.poly.geometry import Geometry, geometries
from planish.raising.operation import Operation

_MOST_AXES = 14
_NAMED_AXES = 3
"""Copies of tensors with so many dimensions have tactics."""


def contraction_of(form: Form) -> Operation | None:
    """The contraction that a form could be: a sum of products of two arrays, each subscript moving with one index
    only; the old values are kept, multiplied, or overwritten. Or a copy of one array with its dimensions in another
    order. None where it is neither at first sight."""
    old = [x for x in form.terms if len(x.heads) == 1 and is_own(x.heads[0], x, form)]
    rest = [x for x in form.terms if x not in old]
    if form.op != "add" or len(rest) != 1 or len(old) > 1 or old and form.lost.is_empty():
        return None
    (term,) = rest
    if len(term.heads) not in (1, 2) or any(x.text or x.cells[0].array == form.target for x in term.heads):
        return None
    for geometry in geometries(term.points):
        letters = _letters(geometry, term, form.rank)
        if letters is not None:
            scaled = bool(term.coefficients) or term.negative
            start = "" if form.lost.is_empty() else "*= beta" if old else "= 0.0"
            if len(letters) == 3:
                return _operation(letters, scaled, start)
            plain = start == "= 0.0" and not scaled
            return _permutation(*letters) if plain and _is_permutation(*letters) else None
    return None


def _is_permutation(source: str, out: str) -> bool:
    """Whether all dimensions of a tensor of many come in another order."""
    return len(out) > _NAMED_AXES and source != out and sorted(source) == sorted(out)


def _letters(geometry: Geometry, term: Term, rank: int) -> tuple[str, ...] | None:
    """The einsum of the columns: of the factors and the output; None where it is no plain one."""
    count = len(geometry.extents)
    if count > _MOST_AXES:
        return None
    groups = [range(rank), *(x.cells[0].columns for x in term.heads)]
    moving = [[[a for a in range(count) if geometry.steps[c][a]] for c in group] for group in groups]
    if any(len(axes) > 1 for group in moving for axes in group):
        return None
    order = list(dict.fromkeys(a for group in moving for axes in group for a in axes))
    names = {a: ascii_lowercase[i] for i, a in enumerate(order)}
    out, *factors = ("".join(names[a] for axes in group for a in axes) for group in moving)
    if any(len(set(x)) < len(x) for x in (out, *factors)) or not set(out) <= set("".join(factors)):
        return None
    return *factors, out


@lru_cache(maxsize=256)
def _permutation(source: str, out: str) -> Operation:
    sizes = ", ".join(f"n{x}" for x in sorted(source))
    shapes = [f"{name}: f64[{', '.join(f'n{x}' for x in of)}]" for name, of in (("A", source), ("C", out))]
    body = _nest(out, f"C[{', '.join(out)}] = A[{', '.join(source)}]")
    kernel = parse_kernel(f"kernel permutation({sizes}; {', '.join(shapes)}) {{ {body} }}")
    return Operation("permutation", kernel, f"{source}->{out}")


@lru_cache(maxsize=256)
def _operation(letters: tuple[str, ...], scaled: bool, start: str) -> Operation:
    left, right, out = letters
    used = sorted(set(left + right))
    scalars = [x for x, wanted in (("alpha", scaled), ("beta", "beta" in start)) if wanted]
    shapes = [f"{name}: f64[{', '.join('n' + x for x in of)}]" for name, of in zip("ABC", letters, strict=True)]
    head = f"{', '.join('n' + x for x in used)}; "
    head += f"{', '.join(f'{x}: f64' for x in scalars)}; " if scalars else ""
    update = f"C[{', '.join(out)}] += {'alpha * ' * scaled}A[{', '.join(left)}] * B[{', '.join(right)}]"
    inner = [x for x in used if x not in out]
    body = _nest(out, f"C[{', '.join(out)}] {start}") if start else ""
    body += _nest([*out, *inner], update)
    kernel = parse_kernel(f"kernel contraction({head}{', '.join(shapes)}) {{ {body} }}")
    return Operation("contraction", kernel, f"{left},{right}->{out}")


def _nest(loops: str | list[str], stmt: str) -> str:
    opened = "".join(f"for {x} in 0 .. n{x} {{ " for x in loops)
    return f"{opened}{stmt} {'} ' * len(loops)}"
