"""Loops up to a product of sizes, `for (i = c; i < w * c - c; i++)`: the product is a size of its own.

>>> from planish.ir.index.polynomial import show
>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel f(h, w, c, s; d: u8[?]) { for y in 0 .. h { for i in c .. c * w - c { d[s * y + i] = 0:u8 } } }"
>>> names = (("h", "rows"), ("w", "width"), ("c", "(*channels)"), ("s", "s"), ("d", "d"))
>>> found = with_product_sizes(FinishedKernel(parse_kernel(text), names, (), ()), ())
>>> found.names[4], show(found.kernel.body.body[0].body.body[0].upper)
(('c_times_w', '((long long)((unsigned long long)(*channels) * (unsigned long long)width))'), 'c_times_w - c')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from planish.core.names import take_name
from planish.frontend.c.translate.kernels import FinishedKernel
from planish.ir.expr import Binary, Expr, Unary, Var, type_of
from planish.ir.index.polynomial import Monomial, add, build, cofactor, mul, names, place, polynomial
from planish.ir.nest import For, Kernel
from planish.ir.traverse import children, map_block, map_exprs, used_names, walk, with_children
from planish.ir.types import INDEX
from planish.poly.canonical.delinearise import check_strides
from planish.poly.canonical.temporaries import bind_temporaries
from planish.poly.canonical.uncollapse import unfold
from planish.poly.isl.affine import NotAffineError


def with_product_sizes(finished: FinishedKernel, taken: Iterable[str]) -> FinishedKernel:
    """The kernel with a size for each product of sizes that bounds loops, where these are not told apart otherwise: not
    loops of each size in turn, whose subscripts are rows and columns. `taken`: names that C has."""
    kernel = finished.kernel
    if not _bounding(kernel) or _is_told_apart(kernel):
        return finished
    texts, known, used = dict(finished.names), dict(finished.products), {*used_names(kernel), *taken}
    while products := _bounding(kernel):
        product = products[0]
        factors = [x.name for x in product if isinstance(x, Var)]
        if not all(x in texts for x in factors):
            return finished
        name = take_name("_times_".join(factors), used)
        kernel = _with_size(kernel, product, name)
        # Without a sign: this may be where nobody has asked yet whether it leaves its type.
        whole = " * ".join(f"(unsigned long long){texts[x]}" for x in factors)
        texts[name] = f"((long long)({whole}))"
        known[name] = build({product: 1})
    if not _has_strides(kernel):
        return finished
    passed = tuple((x, texts[x]) for x in (*kernel.sizes, *(x for x, _ in finished.names if x not in kernel.sizes)))
    return replace(finished, kernel=kernel, names=passed, products=known)


def computed_sizes(
    finished: FinishedKernel, known: Iterable[tuple[str, Expr]], given: Mapping[str, Expr]
) -> tuple[tuple[str, Expr], ...]:
    """The sizes of a kernel that its function computes from what a call gives: those known by name, and products."""
    values = dict(known)
    for name, product in finished.products.items():
        if names(product) <= values.keys() | given.keys():
            values[name] = place(product, {**given, **values})
    return tuple((x, y) for x, y in values.items() if x in finished.kernel.sizes)


def _bounding(kernel: Kernel) -> list[Monomial]:
    """The products of several sizes in the bounds of loops, the longest first."""
    bounds = (e for x in walk(kernel.body) if isinstance(x, For) for e in (x.lower, x.upper))
    terms = dict.fromkeys(m for e in bounds for m in polynomial(e))
    sizes = {*kernel.sizes}
    found = [m for m in terms if len(m) > 1 and all(isinstance(x, Var) and x.name in sizes for x in m)]
    return sorted(found, key=len, reverse=True)


def _is_told_apart(kernel: Kernel) -> bool:
    """Whether loops of each size in turn can stand for those up to products."""
    apart = unfold(bind_temporaries(kernel))
    return not _bounding(apart) and _has_strides(apart)


def _has_strides(kernel: Kernel) -> bool:
    try:
        check_strides(kernel)
    except NotAffineError:
        return False
    return True


def _with_size(kernel: Kernel, product: Monomial, name: str) -> Kernel:
    """The kernel with a size of this name in the place of a product; sizes that nothing else needs stay."""

    def named(expr: Expr) -> Expr:
        match expr:
            case Binary(op="add" | "sub" | "mul") | Unary(op="neg") if type_of(expr) == INDEX:
                out: Expr = build({})
                for monomial, coefficient in polynomial(expr).items():
                    rest = cofactor(monomial, product)
                    factors = monomial if rest is None else (Var(name, INDEX), *rest)
                    term = build({(): coefficient})
                    for factor in factors:
                        term = mul(term, named(factor))
                    out = add(out, term)
                return out
            case _:
                return with_children(expr, tuple(named(x) for x in children(expr)))

    arrays = tuple(replace(x, shape=tuple(y if y is None else named(y) for y in x.shape)) for x in kernel.arrays)
    return replace(
        kernel, sizes=(*kernel.sizes, name), arrays=arrays, assumptions=tuple(named(x) for x in kernel.assumptions),
        body=map_block(lambda x: map_exprs(named, x), kernel.body),
    )  # fmt: skip
