"""Contractions of two arrays, and copies of one, that have no name: an operation is made for their subscripts.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.match.composition import normal_form
>>> text = "for a in 0 .. n { for b in 0 .. n { for c in 0 .. n { C[a, b] += A[c, b, a] * B[c] } } }"
>>> form = normal_form(parse_kernel("kernel k(n; A: f64[n, n, n], B: f64[n], C: f64[n, n]) { " + text + " }"))
>>> contraction_of(form).einsum
'cba,c->ab'
>>> text = "for x in 0 .. n { for f in 0 .. n { for s in 0 .. 3 { O[f, x] += X[2 * x + s] * W[f, s] } } }"
>>> form = normal_form(parse_kernel("kernel k(n; X: f64[2 * n + 1], W: f64[n, 3], O: f64[n, n]) { " + text + " }"))
>>> contraction_of(form).name
'convolution'
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from string import ascii_lowercase

from planish.ir.expr import Expr
from planish.ir.nest import Reduce
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import loads, variables, walk
from planish.poly.match.access_geometry import Geometry, geometries
from planish.poly.match.normal_form import NormalForm, Term, is_own
from planish.raising.operation import Operation

CONVOLUTION = "convolution"
"""What a product is called of which one array is seen through a window."""
_MOST_AXES = 14
_NAMED_AXES = 3
"""Copies of tensors with so many dimensions have tactics."""
Subscript = tuple[tuple[str, int], ...]
"""A sum of letters, each so many times."""
Access = tuple[Subscript, ...]
"""The subscripts of an operand."""


def contraction_of(form: NormalForm) -> Operation | None:
    """The contraction that a form could be: a sum of products of two arrays, each subscript moving with one index
    only; the old values are kept, multiplied, or overwritten. Or a convolution, whose subscripts of one array move with
    several. Or a copy of one array with its dimensions in another order. None where it is neither at first sight."""
    old = [x for x in form.terms if len(x.heads) == 1 and is_own(x.heads[0], x, form)]
    rest = [x for x in form.terms if x not in old]
    if form.op != "add" or len(rest) != 1 or len(old) > 1 or old and form.lost.is_empty():
        return None
    (term,) = rest
    if len(term.heads) not in (1, 2) or any(x.text or x.cells[0].array == form.target for x in term.heads):
        return None
    for geometry in geometries(term.points):
        operands = _accesses(geometry, term, form.rank)
        if operands is not None:
            scaled = bool(term.coefficients) or term.negative
            start = "" if form.lost.is_empty() else "*= beta" if old else "= 0.0"
            if len(operands) == 3:
                return _operation(operands, scaled, start)
            source, out = map(_letters, operands)
            plain = start == "= 0.0" and not scaled
            return _permutation(source, out) if plain and _is_permutation(source, out) else None
    return None


def is_layer(form: NormalForm) -> bool:
    """Whether a form could be a convolution that sums channels, and makes features of them."""
    operation = contraction_of(form)
    if operation is None or operation.name != CONVOLUTION:
        return False
    update = next(x for x in walk(operation.definition.body) if isinstance(x, Reduce) and x.op == "add")
    image, kernel = sorted(loads(update.value), key=lambda x: -max(len(variables(e)) for e in x.index))
    seen, window = _names(image.index), _names(e for e in image.index if len(variables(e)) > 1)
    out, weighed = _names(update.index), _names(kernel.index)
    return bool(out & weighed - seen) and bool(seen & weighed - out - window)


def _names(subscripts: Iterable[Expr]) -> set[str]:
    return {x for e in subscripts for x in variables(e)}


def _is_permutation(source: str, out: str) -> bool:
    """Whether all dimensions of a tensor of many come in another order."""
    return len(out) > _NAMED_AXES and source != out and sorted(source) == sorted(out)


def _accesses(geometry: Geometry, term: Term, rank: int) -> tuple[Access, ...] | None:
    """The subscripts of the factors and of the output; None where these are no contraction's and no convolution's."""
    count = len(geometry.extents)
    if not 0 < count <= _MOST_AXES:
        return None
    groups = [range(rank), *(x.cells[0].columns for x in term.heads)]
    moving = [[[a for a in range(count) if geometry.steps[c][a]] for c in group] for group in groups]
    order = list(dict.fromkeys(a for group in moving for axes in group for a in axes))
    names = {a: ascii_lowercase[i] for i, a in enumerate(order)}
    out, *factors = (
        tuple(
            # What moves with one index only is a view of its operand, which may have any step.
            tuple((names[a], geometry.steps[c][a] if len(axes) > 1 else 1) for a in axes)
            for c, axes in zip(group, found, strict=True)
            if axes
        )
        for group, found in zip(groups, moving, strict=True)
    )
    windowed = [x for x in factors if _is_windowed(x)]
    if _is_windowed(out) or len(windowed) > (len(factors) > 1):
        return None
    if any(step < 0 for x in windowed for subscript in x for _, step in subscript):
        return None
    letters = [_letters(x) for x in (out, *factors)]
    if any(len(set(x)) < len(x) for x in letters) or not set(letters[0]) <= set("".join(letters[1:])):
        return None
    return *factors, out


def _is_windowed(access: Access) -> bool:
    """Whether a subscript moves with several indices."""
    return any(len(x) > 1 for x in access)


def _letters(access: Access) -> str:
    return "".join(letter for subscript in access for letter, _ in subscript)


@lru_cache(maxsize=256)
def _permutation(source: str, out: str) -> Operation:
    sizes = ", ".join(f"n{x}" for x in sorted(source))
    shapes = [f"{name}: f64[{', '.join(f'n{x}' for x in of)}]" for name, of in (("A", source), ("C", out))]
    body = _nest(out, f"C[{', '.join(out)}] = A[{', '.join(source)}]")
    kernel = parse_kernel(f"kernel permutation({sizes}; {', '.join(shapes)}) {{ {body} }}")
    return Operation("permutation", kernel, f"{source}->{out}")


@lru_cache(maxsize=256)
def _operation(operands: tuple[Access, ...], scaled: bool, start: str) -> Operation:
    left, right, out = map(_letters, operands)
    used = sorted(set(left + right))
    scalars = [x for x, wanted in (("alpha", scaled), ("beta", "beta" in start)) if wanted]
    shapes = [f"{name}: f64[{', '.join(map(_extent, of))}]" for name, of in zip("ABC", operands, strict=True)]
    head = f"{', '.join('n' + x for x in used)}; "
    head += f"{', '.join(f'{x}: f64' for x in scalars)}; " if scalars else ""
    a, b, c = (", ".join(map(_place, x)) for x in operands)
    inner = [x for x in used if x not in out]
    body = _nest(out, f"C[{c}] {start}") if start else ""
    body += _nest([*out, *inner], f"C[{c}] += {'alpha * ' * scaled}A[{a}] * B[{b}]")
    windowed = any(map(_is_windowed, operands))
    name = CONVOLUTION if windowed else "contraction"
    kernel = parse_kernel(f"kernel {name}({head}{', '.join(shapes)}) {{ {body} }}")
    return Operation(name, kernel, "" if windowed else f"{left},{right}->{out}")


def _place(subscript: Subscript) -> str:
    return " + ".join(f"{step} * {letter}" if step > 1 else letter for letter, step in subscript)


def _extent(subscript: Subscript) -> str:
    """How many elements a subscript reaches over."""
    text = " + ".join(f"{step} * n{letter}" if step > 1 else f"n{letter}" for letter, step in subscript)
    beyond = sum(step for _, step in subscript) - 1
    return f"{text} - {beyond}" if beyond else text


def _nest(loops: Iterable[str], stmt: str) -> str:
    loops = tuple(loops)
    opened = "".join(f"for {x} in 0 .. n{x} {{ " for x in loops)
    return f"{opened}{stmt} {'} ' * len(loops)}"
