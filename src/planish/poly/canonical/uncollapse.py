"""Uncollapses loops: `for t in 0 .. m * n` over a matrix or tensor becomes a loop for each dimension.

The dimensions are those of the arrays that it touches, as their other subscripts have them, or the sizes in any order:

>>> from planish.ir.text.parser import parse_kernel
>>> text = "for t in 0 .. n * m { C[t] = 0.0 } for i in 0 .. m { for j in 0 .. n { C[i * n + j] += A[j, i] } }"
>>> kernel = unfold(parse_kernel("kernel k(m, n; C: f64[?], A: f64[?, m]) { " + text + " }"))
>>> print(kernel.body.body[0].var, kernel.body.body[0].upper.name, kernel.body.body[0].body.body[0].upper.name)
t_0 m n
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, Load, Var, index
from planish.ir.index.polynomial import (
    add,
    build,
    chain,
    constant,
    degree,
    exact_quotient,
    mul,
    names,
    normal,
    polynomial,
)
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import expressions, map_block, map_exprs, substitute, variables, walk, walk_expr
from planish.ir.types import INDEX
from planish.poly.canonical.delinearise import iterators, strides_of, subscripts

Divisors = tuple[Expr, ...]
"""By what a loop's counter is taken apart, each a multiple of the next one: h * w and w give planes, rows, columns."""


def unfold(kernel: Kernel) -> Kernel:
    """The kernel with every loop from 0 to a product of sizes as a loop for each of them; others stay as they are.

    It assumes that no size but the first of each is negative, where the loop may run at all.
    """
    if not any(_is_folded(x, kernel) for x in walk(kernel.body)):
        return kernel
    strides = {x.name: _strides(x.name, kernel) for x in kernel.arrays if len(x.shape) == 1}
    taken = {*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays)}
    taken |= set(_bound_names(kernel.body))
    assumed: dict[Expr, None] = {}

    def visit(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or not _is_folded(stmt, kernel):
            return stmt
        divisors = _divisors(stmt, strides)
        extents = _extents(stmt.upper, divisors)
        if any(degree(x) > 1 for x in extents):
            return stmt
        counters = [take_name(f"{stmt.var}_{level}", taken) for level in range(len(extents))]
        value: Expr = index(0)
        for counter, stride in zip(counters, (*divisors, index(1)), strict=True):
            value = add(value, mul(Var(counter, INDEX), stride))
        body = map_block(lambda x: map_exprs(lambda e: substitute(e, {stmt.var: value}), x), stmt.body)
        nest = replace(stmt, var=counters[-1], upper=extents[-1], body=body)
        for counter, extent in zip(counters[-2::-1], extents[-2::-1], strict=True):
            nest = replace(stmt, var=counter, upper=extent, body=Block((nest,)))
        assumed.update(dict.fromkeys(Compare("ge", x, index(0)) for x in extents[1:] if constant(x) is None))
        return nest

    body = map_block(visit, kernel.body)
    fresh = tuple(x for x in assumed if x not in kernel.assumptions)
    return replace(kernel, body=body, assumptions=(*kernel.assumptions, *fresh))


def _is_folded(stmt: Stmt, kernel: Kernel) -> bool:
    """Whether it is a loop from 0 by 1 to a product of sizes."""
    if not isinstance(stmt, For) or constant(stmt.lower) != 0 or stmt.step != 1:
        return False
    if stmt.var in _bound_names(stmt.body):
        return False
    atoms = {atom for monomial in polynomial(stmt.upper) for atom in monomial}
    return degree(stmt.upper) > 1 and all(isinstance(x, Var) and x.name in kernel.sizes for x in atoms)


def _bound_names(block: Block) -> Iterator[str]:
    """The names that loops, bindings and local arrays bring."""
    for stmt in walk(block):
        match stmt:
            case For(var=name) | Let(var=name):
                yield name
            case Alloc(array=array):
                yield array.name
            case _:
                pass


def _strides(array: str, kernel: Kernel) -> list[Expr]:
    """What the subscripts of an array advance by, the largest first."""
    products, factors = strides_of((x for (x,) in subscripts(array, kernel.body)), iterators(kernel))
    return sorted(products | factors, key=lambda x: (-degree(x), repr(x)))


def _divisors(loop: For, strides: dict[str, list[Expr]]) -> Divisors:
    """By what to take a loop's counter apart: the strides of arrays that it is a subscript of, then any others."""
    own = list(dict.fromkeys(_touched(loop)))
    wanted = [x for name in (*own, *strides) for x in strides.get(name, ())]
    found: Divisors = ()
    for stride in wanted:
        quotient = exact_quotient(loop.upper, stride)
        if quotient is not None and constant(quotient) is None:
            found = chain(found, stride) or found
    # What is still a product of several sizes is taken apart by its factors.
    while (divisor := next(_factors(loop.upper, found), None)) is not None:
        longer = chain(found, divisor)
        assert longer is not None
        found = longer
    return found


def _factors(whole: Expr, divisors: Divisors) -> Iterator[Expr]:
    """Further divisors, one for each extent that is a product."""
    for smaller, extent in zip((*divisors, index(1)), _extents(whole, divisors), strict=True):
        terms = polynomial(extent)
        if len(terms) == 1 and degree(extent) > 1:
            (monomial,) = terms
            yield mul(smaller, build({monomial[1:]: 1}))


def _extents(whole: Expr, divisors: Divisors) -> list[Expr]:
    out = []
    for larger, smaller in pairwise((whole, *divisors, index(1))):
        extent = exact_quotient(larger, smaller)
        assert extent is not None
        out.append(normal(extent))
    return out


def _touched(loop: For) -> Iterable[str]:
    """The arrays that a loop's counter is a subscript of."""
    for stmt in walk(loop.body):
        if isinstance(stmt, Assign | Reduce) and any(loop.var in names(x) for x in stmt.index):
            yield stmt.array
        for expr in expressions(stmt):
            for x in walk_expr(expr):
                if isinstance(x, Load) and any(loop.var in variables(i) for i in x.index):
                    yield x.array
