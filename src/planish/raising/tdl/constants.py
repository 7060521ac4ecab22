"""Strides, dilations and paddings of an operation as numbers, which a kernel's subscripts offer.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_stmt
>>> text = "kernel thin(n, s; X: f64[n * s], Y: f64[n]) { for i in 0 .. n { Y[i] = X[s * i] } }"
>>> thin = Operation("thin", parse_kernel(text))
>>> kernel = parse_kernel("kernel k(m; A: f64[3 * m], B: f64[m]) { for i in 0 .. m { B[i] = A[3 * i] } }")
>>> for found in specialise(thin, kernel):
...     print(print_stmt(found.definition.body.body[0].body.body[0]))
Y[i] = X[i]
Y[i] = X[3 * i]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product

from planish.ir.expr import Compare, Const, Expr, Load, Var, index, type_of
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Reduce
from planish.ir.polynomial import names, normal, place, polynomial
from planish.ir.simplify import simplify
from planish.ir.traverse import (
    expressions,
    map_block,
    map_expr,
    map_exprs,
    substitute,
    substitute_block,
    walk,
    walk_expr,
)
from planish.ir.types import BOOL, INDEX
from planish.raising.operation import Operation

_MOST = 4
"""How many numbers for an operation's constants are tried in a kernel where nobody asked for it."""


def specialise(operation: Operation, kernel: Kernel) -> Iterator[Operation]:
    """The operation with a number for each constant in its subscripts, of those in the kernel's; itself without any."""
    factors, offsets = _constants(operation)
    if not factors and not offsets:
        yield operation
        return
    steps, distances = _offered(kernel)
    choices = [sorted(steps | {1})] * len(factors) + [sorted(distances | {0})] * len(offsets)
    for chosen in product(*choices):
        yield with_constants(operation, dict(zip((*factors, *offsets), chosen, strict=True)))


def specialise_all(operations: Sequence[Operation], kernel: Kernel) -> list[Operation]:
    """The operations with numbers for their constants; those that have some only where a kernel has a subscript in
    which two iterators move, as in a window."""
    window = _has_window(kernel)
    out: list[Operation] = []
    for operation in operations:
        if not any(_constants(operation)):
            out.append(operation)
        elif window:
            out += islice(specialise(operation, kernel), _MOST)
    return out


@lru_cache(maxsize=512)
def _constants(operation: Operation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return constants_in(operation.definition)


def _has_window(kernel: Kernel) -> bool:
    iterators = {x.var for x in walk(kernel.body) if isinstance(x, For)}
    return any(
        sum(any(isinstance(x, Var) and x.name in iterators for x in monomial) for monomial in polynomial(subscript)) > 1
        for subscript in _subscripts(kernel.body)
    )


def with_constants(operation: Operation, values: Mapping[str, int]) -> Operation:
    """The operation with numbers for some of its sizes."""
    kernel = operation.definition
    known: dict[str, Expr] = {x: index(value) for x, value in values.items()}
    body = map_block(lambda x: map_exprs(_tidy, x), substitute_block(kernel.body, known))
    arrays = tuple(
        replace(x, shape=tuple(None if e is None else place(e, known) for e in x.shape)) for x in kernel.arrays
    )
    assumed = [simplify(substitute(x, known)) for x in kernel.assumptions]
    sizes = tuple(x for x in kernel.sizes if x not in values)
    assumptions = tuple(x for x in assumed if x != Const(True, BOOL))
    made = replace(kernel, sizes=sizes, arrays=arrays, body=body, assumptions=assumptions)
    return replace(operation, definition=made)


def _tidy(expr: Expr) -> Expr:
    """An expression with the subscripts and bounds in it in normal form."""
    if type_of(expr) == INDEX:
        return normal(expr)

    def put(x: Expr) -> Expr:
        match x:
            case Load(index=at):
                return replace(x, index=tuple(map(normal, at)))
            case Compare(left=left, right=right) if type_of(left) == INDEX:
                return replace(x, left=normal(left), right=normal(right))
            case _:
                return x

    return map_expr(put, expr)


def constants_in(kernel: Kernel) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sizes in subscripts that are no extent and no bound: those that multiply an iterator, and the others."""
    iterators = {x.var for x in walk(kernel.body) if isinstance(x, For)}
    bounds = {name for x in walk(kernel.body) if isinstance(x, For) for e in (x.lower, x.upper) for name in names(e)}
    local = [x.array for x in walk(kernel.body) if isinstance(x, Alloc)]
    extents = {e.name for x in (*kernel.arrays, *local) for e in x.shape if isinstance(e, Var)}
    factors: dict[str, None] = {}
    offsets: dict[str, None] = {}
    for subscript in _subscripts(kernel.body):
        for monomial in polynomial(subscript):
            named = [x.name for x in monomial if isinstance(x, Var)]
            moves = bool({*named} & iterators)
            for name in named:
                if name in kernel.sizes and name not in bounds | extents:
                    (factors if moves else offsets)[name] = None
    return tuple(factors), tuple(x for x in offsets if x not in factors)


def _offered(kernel: Kernel) -> tuple[set[int], set[int]]:
    """The numbers that multiply an iterator in a subscript, and those that are added."""
    iterators = {x.var for x in walk(kernel.body) if isinstance(x, For)}
    steps: set[int] = set()
    distances: set[int] = set()
    for subscript in _subscripts(kernel.body):
        for monomial, factor in polynomial(subscript).items():
            if monomial == ():
                distances.add(abs(factor))
            elif any(isinstance(x, Var) and x.name in iterators for x in monomial):
                steps.add(abs(factor))
    return steps, distances


def _subscripts(body: Block) -> Iterator[Expr]:
    for stmt in walk(body):
        if isinstance(stmt, Assign | Reduce):
            yield from stmt.index
        for expr in expressions(stmt):
            for part in walk_expr(expr):
                if isinstance(part, Load):
                    yield from part.index
