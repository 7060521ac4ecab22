"""Calls for nests whose sizes follow from several arguments, which only have them where these fit each other.

A length `n` and its bits fit where `n == 1 << bits`, `k * n / len` is a multiple of k where `len` divides `n`. Nests
have such sizes by C expressions of a function's arguments that are negative elsewhere: arguments are searched for which
they are not, nor any assumption is broken.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> body = "for (int k = 0; k < len / 2; k++) y[k] = w[k * n / len];"
>>> text = f"void f(int n, int len, const float *w, float *y) {{ {body} }}"
>>> (function,) = read_c(Source("f.c", text)).functions
>>> fits = fitting(function, {}, (8, 12, 16, 24))
>>> all(x["n"] % x["len"] == 0 for x in fits), len(fits)
(True, 7)
"""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, product
from math import prod

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from planish.frontend.c.translation_unit import CFunction, Region
from planish.frontend.c.types.constants import fold, walk_tree
from planish.ir.expr import Expr
from planish.ir.index.evaluate import evaluate
from planish.ir.semantics.arithmetic import limits
from planish.run.calls.passing import leaves_of
from planish.run.calls.signature import CallCase
from planish.run.sizes.call_sizes import CHECK_INSTANCES, instances_of, make_case, size_names, sizes_near, wanted_sizes
from planish.run.sizes.known_sizes import KnownSizes

CHECKED = (256, 8, 64, 16, 4, 512, 9, 1024, 10, 2048, 11, 4096, 12, 32, 128, 48, 96, 5, 7, 3, 6, 2, 60, 1, 100, 1000)
"""Values of arguments in calls that check."""
TIMED = (1 << 18, 18, 1 << 16, 16, 1 << 14, 14, 4096, 12, 1024, 10, 256, 8, 64, 3, 4, 1)
"""The same in calls that are timed."""
MOST_TRIED, MOST_TAKEN = 1_500, 10
FIRST_SEED = 700
_COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Derived:
    """Sizes of a region, each with the C expression of arguments that it is."""

    texts: Mapping[str, c_ast.Node]
    names: tuple[str, ...]


def derived_cases(function: CFunction, known: tuple[KnownSizes, ...]) -> tuple[CallCase, ...]:
    """Calls that check, in which arguments fit each other."""
    found = fitting(function, {}, CHECKED)
    taken = dict.fromkeys(map(_frozen, (*found[: MOST_TAKEN // 2], *found[:: max(1, len(found) // MOST_TAKEN)])))
    made = (_case(function, known, dict(x), {}, FIRST_SEED + n) for n, x in enumerate(taken))
    cases = (x for x in made if x is not None)
    return tuple(replace(x, placement="start" if n % 2 else "end") for n, x in enumerate(islice(cases, MOST_TAKEN)))


def derived_clocks(
    function: CFunction, known: tuple[KnownSizes, ...], given: Mapping[str, int]
) -> Iterator[CallCase]:
    """Calls that may be timed, in which arguments fit each other; the largest first."""
    found = fitting(function, given, TIMED)
    for values in sorted(found, key=lambda x: -prod(x.values())):
        case = _case(function, known, values, given, 1)
        if case is not None:
            yield case


def fitting(function: CFunction, given: Mapping[str, int], pool: Sequence[int]) -> list[dict[str, int]]:
    """Arguments for which a region has all its sizes, those with the least sizes first; `given` ones are as they are.
    Nothing where no region has sizes that follow from several arguments."""
    types = {p.name: p.type for p in leaves_of(function) if p.type is not None and p.type.is_int and not p.pointer}
    out: dict[tuple[tuple[str, int], ...], int] = {}
    for region in function.regions:
        derived = _derived(region, frozenset(types))
        if derived is None:
            continue
        pools = []
        for name in derived.names:
            low, high = limits(types[name])
            pools.append([given[name]] if name in given else [x for x in pool if low <= x <= high])
        for values in _combinations(pools):
            made = dict(zip(derived.names, values, strict=True))
            sizes = _sizes(region, derived, made)
            if sizes is not None:
                out[_frozen(made)] = sum(sizes)
    return [dict(x) for x in sorted(out, key=lambda x: out[x])]


def _derived(region: Region, integers: frozenset[str]) -> _Derived | None:
    """What follows from several arguments; None where nothing does."""
    texts: dict[str, c_ast.Node] = {}
    names: dict[str, None] = {}
    for size, text in region.names:
        if size not in region.kernel.sizes or text in integers:
            continue
        parsed = _parsed(text)
        used = {x.name for x in walk_tree(parsed) if isinstance(x, c_ast.ID)} if parsed is not None else set()
        if parsed is not None and len(used) > 1 and used <= integers:
            texts[size] = parsed
            names |= dict.fromkeys(sorted(used))
    return _Derived(texts, tuple(names)) if texts else None


@cache
def _parsed(text: str) -> c_ast.Node | None:
    try:
        return CParser().parse(f"long long x = {text};").ext[0].init
    except ParseError:
        return None


def _combinations(pools: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """All choices of one of each, or so many at random."""
    if prod(map(len, pools)) <= MOST_TRIED:
        yield from product(*pools)
        return
    chance = random.Random(1)
    for _ in range(MOST_TRIED):
        yield tuple(chance.choice(x) for x in pools)


def _sizes(region: Region, derived: _Derived, values: Mapping[str, int]) -> list[int] | None:
    """The sizes that follow from some arguments; None where one of them is none, or an assumption does not hold."""
    found = {size: _value(node, values) for size, node in derived.texts.items()}
    sizes = {size: x for size, x in found.items() if x is not None and x > 0}
    if len(sizes) < len(found):
        return None
    own = {size: values[text] for size, text in region.names if text in values}
    for size, x in region.computed:
        value = _known(x, own)
        own |= {} if value is None else {size: value}
    held = (_known(x, own | sizes) for x in region.kernel.assumptions)
    return list(sizes.values()) if all(x is None or x for x in held) else None


def _known(x: Expr, sizes: Mapping[str, int]) -> int | None:
    """The value of an expression; None where it has none, or depends on what is not known."""
    try:
        return evaluate(x, sizes)
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def _value(node: c_ast.Node, values: Mapping[str, int]) -> int | None:
    """The value of a C expression over wide integers."""
    match node:
        case c_ast.TernaryOp(cond=condition, iftrue=then, iffalse=otherwise):
            test = _value(condition, values)
            return None if test is None else _value(then if test else otherwise, values)
        case c_ast.Cast(expr=inner):
            return _value(inner, values)
        case c_ast.BinaryOp(op=op, left=left, right=right):
            a = _value(left, values)
            if a is None or (op == "&&" and not a) or (op == "||" and a):
                return None if a is None else int(bool(a))
            b = _value(right, values)
            if b is None:
                return None
            if op in ("&&", "||"):
                return int(bool(b))
            if op in _COMPARISONS:
                return int(_COMPARISONS[op](a, b))
            return fold(c_ast.BinaryOp(op, c_ast.ID("a"), c_ast.ID("b")), {"a": a, "b": b})
        case _:
            return fold(node, values)


def _case(
    function: CFunction, known: tuple[KnownSizes, ...], values: Mapping[str, int], given: Mapping[str, int], seed: int
) -> CallCase | None:
    """The call with these arguments, if the regions allow it, and others near the largest of these."""
    wanted = wanted_sizes(size_names(known), min(64, max(values.values())))
    sizes = sizes_near(known, {**wanted, **values}, {**given, **values})
    if sizes is None or any(sizes.get(x) != y for x, y in values.items()):
        return None
    return make_case(function, known, sizes, seed=seed) if instances_of(known, sizes) <= CHECK_INSTANCES else None


def _frozen(values: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(values.items())
