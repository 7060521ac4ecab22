"""Dimensions whose extents are numbers, out of one subscript: `w[(c * 3 + p) * 3 + q]` is `w[c, p, q]` where p and q
run over 3 each.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> loops = "for c in 0 .. n { for p in 0 .. 3 { for q in 0 .. 3 { y[p] += w[9 * c + 3 * p + q] } } }"
>>> print(print_kernel(with_dense_dims(parse_kernel("kernel k(n; y: f32[3], w: f32[9 * n]) { %s }" % loops))), end="")
kernel k(n; y: f32[3], w: f32[n, 3, 3])
{
  for c in 0 .. n {
    for p in 0 .. 3 {
      for q in 0 .. 3 {
        y[p] += w[c, p, q]
      }
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from planish.ir.accesses import map_accesses
from planish.ir.expr import Expr, Load, Var, index
from planish.ir.index.polynomial import constant, exact_quotient, polynomial
from planish.ir.nest import Array, For, Kernel
from planish.ir.traverse import walk
from planish.poly.canonical.delinearise import subscripts


def with_dense_dims(kernel: Kernel) -> Kernel:
    """The kernel with subscripts of its arrays told apart, where all of one dimension count alike; the same one where
    there are none."""
    counts = _counts(kernel)
    found = {x.name: y for x in kernel.arrays if any(y := _extents(x, kernel, counts))}
    if not found:
        return kernel

    def told_apart(x: Load) -> Load:
        if x.array not in found:
            return x
        parts = zip(x.index, found[x.array], strict=True)
        return replace(x, index=tuple(y for e, extents in parts for y in (_names(e) if extents else (e,))))

    arrays = tuple(_with_extents(x, found[x.name]) if x.name in found else x for x in kernel.arrays)
    return replace(kernel, arrays=arrays, body=map_accesses(told_apart, kernel.body))


def _counts(kernel: Kernel) -> dict[str, int]:
    """How often loops from 0 run, of those whose every loop of that name runs as often, which is a number; else -1."""
    out: dict[str, int] = {}
    for loop in (x for x in walk(kernel.body) if isinstance(x, For)):
        upper = constant(loop.upper) if constant(loop.lower) == 0 and loop.step == 1 else None
        count = -1 if upper is None else upper
        out[loop.var] = count if out.get(loop.var, count) == count else -1
    return out


def _terms(subscript: Expr) -> list[tuple[int, Var]] | None:
    """By what a subscript moves with each name in it, the farthest first; None where it is anything else."""
    terms: list[tuple[int, Var]] = []
    for factors, step in polynomial(subscript).items():
        if len(factors) != 1 or not isinstance(factors[0], Var):
            return None
        terms.append((step, factors[0]))
    return sorted(terms, key=lambda x: -x[0])


def _names(subscript: Expr) -> tuple[Expr, ...]:
    """The names in a subscript, in their order."""
    return tuple(var for _, var in _terms(subscript) or ())


def _extents(array: Array, kernel: Kernel, counts: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
    """Of each dimension the extents of those behind the first one that it is; none where it is only one."""
    places, out = subscripts(array.name, kernel.body), list[tuple[int, ...]]()
    for d, whole in enumerate(array.shape):
        found = {_extents_of(x[d], counts) for x in places}
        extents = found.pop() if len(found) == 1 else ()
        out.append(extents if whole is None or exact_quotient(whole, index(prod(extents))) is not None else ())
    return tuple(out)


def _extents_of(subscript: Expr, counts: Mapping[str, int]) -> tuple[int, ...]:
    """The extents that the names in a subscript have, but for the first one."""
    terms = _terms(subscript)
    if not terms or any(x.name not in counts for _, x in terms):
        return ()
    extents = [counts[x.name] for _, x in terms[1:]]
    steps = [prod(extents[n:]) for n in range(len(terms))]
    return tuple(extents) if all(x > 1 for x in extents) and [x for x, _ in terms] == steps else ()


def _with_extents(array: Array, extents: Sequence[Sequence[int]]) -> Array:
    """An array whose dimensions are told apart."""
    shape: list[Expr | None] = []
    for whole, inner in zip(array.shape, extents, strict=True):
        shape += [None if whole is None else exact_quotient(whole, index(prod(inner))), *map(index, inner)]
    return replace(array, shape=tuple(shape))
