"""Strides, dilations and paddings of an operation as numbers, which a kernel's subscripts offer.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel thin(n, s; X: f64[n * s], Y: f64[n]) { for i in 0 .. n { Y[i] = X[s * i] } }"
>>> thin = Operation("thin", parse_kernel(text))
>>> kernel = parse_kernel("kernel k(m; A: f64[3 * m], B: f64[m]) { for i in 0 .. m { B[i] = A[3 * i] } }")
>>> [print_stmt(found.definition.body.body[0].body.body[0]) for found in specialise(thin, kernel)]
['Y[i] = X[3 * i]']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, islice
from math import gcd

from planish.ir.expr import Compare, Const, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import Monomial, names, normal, place, polynomial
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Reduce
from planish.ir.traverse import (
    expressions,
    loads,
    map_block,
    map_expr,
    map_exprs,
    substitute,
    substitute_block,
    variables,
    walk,
    walk_expr,
)
from planish.ir.types import BOOL, INDEX
from planish.raising.operation import Operation

_MOST = 8
"""How many choices of numbers for an operation's constants are tried in a kernel where nobody asked for it."""


@dataclass(frozen=True, slots=True)
class SubscriptWindow:
    """How a subscript moves: with what the statement stores to (`place`), with what it sums over (`inside`), each by so
    many elements or by a constant's name (0: not at all), and from where on (`start`)."""

    place: int | str
    inside: int | str
    start: int | str

    @property
    def names(self) -> tuple[str, ...]:
        """The constants in it."""
        return tuple(x for x in (self.place, self.inside, self.start) if isinstance(x, str))

    def numbers(self, seen: SubscriptWindow) -> dict[str, int] | None:
        """What its constants are if it is another window; None where it cannot be."""
        found: dict[str, int] = {}
        for wanted, number in ((self.place, seen.place), (self.inside, seen.inside)):
            assert isinstance(number, int)
            if isinstance(wanted, str) and number:
                found[wanted] = number
            elif wanted != number:
                return None
        if isinstance(self.start, str):
            assert isinstance(seen.start, int)
            found[self.start] = max(0, -seen.start)
        return found


def specialise(operation: Operation, kernel: Kernel) -> Iterator[Operation]:
    """The operation with a number for each constant in its subscripts, as the windows of the kernel have them; itself
    without any."""
    if not any(_constants(operation)):
        yield operation
        return
    tried: list[dict[str, int]] = []
    wanted = [x for access in _windows(operation.definition, named=True) for x in access if x.names]
    for access in _windows(kernel):
        for chosen in combinations(access, len(wanted)):
            numbers = [x.numbers(y) for x, y in zip(wanted, chosen, strict=True)]
            values = {name: value for x in numbers if x is not None for name, value in x.items()}
            if None not in numbers and values not in tried:
                tried.append(values)
                yield with_constants(operation, values)


def specialise_all(operations: Sequence[Operation], kernel: Kernel) -> list[Operation]:
    """The operations with numbers for their constants; those that have some only where a kernel has a subscript in
    which two iterators move, as in a window."""
    window = any(x.place and x.inside for access in _windows(kernel) for x in access)
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


def _windows(kernel: Kernel, named: bool = False) -> list[tuple[SubscriptWindow, ...]]:
    """The windows of each access, the slowest dimension first; `named`: those of a definition, which has constants."""
    names = frozenset(x for part in constants_in(kernel) for x in part) if named else frozenset()
    iterators = {x.var for x in walk(kernel.body) if isinstance(x, For)}
    stores = [x for x in walk(kernel.body) if isinstance(x, Assign | Reduce)]
    anywhere = {name for x in stores for e in x.index for name in variables(e)}
    out: list[tuple[SubscriptWindow, ...]] = []
    for stmt in walk(kernel.body):
        if isinstance(stmt, Assign | Reduce):
            # What is summed in a scalar is stored to an array later.
            stored = {x for e in stmt.index for x in variables(e)} or anywhere
            for access in [x.index for e in expressions(stmt) for x in loads(e)]:
                found = [y for x in access for y in _windows_of(x, iterators, stored, names)]
                out.append(tuple(found))
    return list(dict.fromkeys(out))


def _windows_of(
    subscript: Expr, iterators: Collection[str], stored: Collection[str], constants: Collection[str]
) -> Iterator[SubscriptWindow]:
    """The windows of a subscript: one for each extent by which iterators are multiplied, as where it is linear."""
    moves: dict[Monomial, tuple[list[int | str], list[int | str]]] = {}
    starts: dict[Monomial, int | str] = {}
    for monomial, factor in polynomial(subscript).items():
        named = [x.name for x in monomial if isinstance(x, Var)]
        constant = next((x for x in named if x in constants), None)
        moving = [x for x in named if x in iterators]
        rest = tuple(x for x in monomial if not (isinstance(x, Var) and x.name in {*moving, constant}))
        if moving:
            place, inside = moves.setdefault(rest, ([], []))
            (place if {*moving} & {*stored} else inside).append(abs(factor) if constant is None else constant)
        else:
            starts[rest] = factor if constant is None else constant
    for rest, (place, inside) in moves.items():
        yield SubscriptWindow(_common(place), _common(inside), starts.get(rest, 0))


def _common(steps: Sequence[int | str]) -> int | str:
    """By how much several iterators move together, as those of tiles do."""
    named = next((x for x in steps if isinstance(x, str)), None)
    return gcd(*(x for x in steps if isinstance(x, int))) if named is None else named


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


def _subscripts(body: Block) -> Iterator[Expr]:
    for stmt in walk(body):
        if isinstance(stmt, Assign | Reduce):
            yield from stmt.index
        for expr in expressions(stmt):
            for part in walk_expr(expr):
                if isinstance(part, Load):
                    yield from part.index
