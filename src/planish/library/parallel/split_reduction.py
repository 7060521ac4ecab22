"""Split reductions (split-K) on threads: each thread sums a part of the products, the partial sums are added.

Before: for i { for p { C[i] += A[p] * B[i + p] } }
After:  for part in threads { own[part, i] = 0;  for i { for p of the part { own[part, i] += A[p] * B[i + p] } } }
        for i { C[i] += own[0, i] + own[1, i] }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> nest = "for i in 0 .. n { for p in 0 .. m { C[i] += A[p] * B[i + p] } }"
>>> kernel = parse_kernel(f"kernel k(m, n; A: f64[m], B: f64[m + n], C: f64[n]) {{ {nest} }}")
>>> own, shared = share_products(kernel.body.body[0], "", 2, 64, {"i", "p"})
>>> print(print_stmt(shared.body[0].body.body[-1]), end="")
if begin < end {
  for i in 0 .. n {
    for p in begin .. end {
      own[part, i] += A[p] * B[i + p]
    }
  }
}
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.names import take_name
from planish.ir.expr import Compare, Const, Load, index, type_of
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.nest import Array, Assign, Block, For, If, Let, LoopFacts, Reduce
from planish.poly.match.sum_of_products import join


def share_products(nest: For, kernel: str, threads: int, most: int, taken: set[str]) -> tuple[Array, Block] | None:
    """The sums of a nest, one in each of its iterations by the loop in it, at most so many: products are shared out
    among some threads, each of which has its part made by a `kernel` of the library. Before the statements, the array
    of what threads have; None where the nest is another one. Names that are made are `taken` then."""
    match nest:
        case For(step=1, body=Block(body=(For(step=1, body=Block(body=(Reduce(op="add") as update,))) as inner,))):
            pass
        case _:
            return None
    part, begin, end = (take_name(x, taken) for x in ("part", "begin", "end"))
    type, sum = type_of(update.value), sub(index(nest.var), nest.lower)
    own = Array(take_name("own", taken), type, (index(threads), index(most)), True)
    clear = replace(
        nest, body=Block((Assign(own.name, (index(part), sum), Const(0.0, type)),)), facts=LoopFacts(simd=True)
    )
    length = extremum("max", sub(inner.upper, inner.lower), index(0))
    shares = (floordiv(mul(length, x), index(threads)) for x in (index(part), add(index(part), index(1))))
    ends = [add(inner.lower, x) for x in shares]
    reduced = replace(update, array=own.name, index=(index(part), sum))
    inner = replace(inner, lower=index(begin), upper=index(end), body=Block((reduced,)))
    made = replace(nest, body=Block((inner,)), facts=replace(nest.facts, instruction=kernel))
    some = If(Compare("lt", index(begin), index(end)), Block((made,)), Block(()))
    lets = (Let(x, y) for x, y in zip((begin, end), ends, strict=True))
    each = For(part, index(0), index(threads), 1, Block((*lets, clear, some)), LoopFacts(parallel=True))
    total = join("add", tuple(Load(own.name, (index(x), sum), type) for x in range(threads)))
    added = replace(update, value=total)
    return own, Block((each, replace(nest, body=Block((added,)), facts=LoopFacts(simd=True))))
