"""Stores to one place by both branches of a condition, amid other statements: a single store of a value that is chosen.

Before: if (c) { x = f(i); a[i] = x; b[i] = x; } else { a[i] = 0; b[i] = 1; }
After:  if (c) x = f(i); a[i] = c ? x : 0; b[i] = c ? x : 1;

Such a store is made in every case by the user's program, too.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.ir.text.printer import print_stmt
>>> loop = "for (int i = 0; i < n; i++) if (a[i] > 9) { int x = a[i] * n; b[i] = x; } else b[i] = 0;"
>>> region, = read_c(Source("f.c", f"void f(int n, const int *a, int *b) {{ {loop} }}")).functions[0].regions
>>> print(print_stmt(region.kernel.body.body[0].body.body[-1]))
b[i] = select(test[], x[], 0:i32)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planish.frontend.c.assumed.guarded_stores import GuardedStore
from planish.frontend.c.translate.state import CTranslation
from planish.ir.expr import Expr
from planish.ir.index.polynomial import constant, sub
from planish.ir.nest import Assign, Reduce, Stmt
from planish.ir.traverse import expressions, loads, walk

Guards = tuple[Expr, ...]


def joined(
    then: Sequence[GuardedStore], otherwise: Sequence[GuardedStore], guards: tuple[Guards, Guards], cx: CTranslation
) -> list[tuple[GuardedStore, GuardedStore]]:
    """The pairs of stores of two branches, each under exactly the guards of its branch, that are one, taken out of what
    has been written, in the order of the first branch. Nothing that either store is then made behind of touches the
    place, or changes what is stored."""
    places = {id(x): n for n, x in enumerate(cx.out)}
    found: list[tuple[GuardedStore, GuardedStore]] = []
    for a in then:
        others = [x for x in otherwise if _place(x) == _place(a)]
        same = [x for x in then if _place(x) == _place(a)]
        if len(others) != 1 or len(same) != 1 or (a.guards, others[0].guards) != guards:
            continue
        (b,) = others
        if not (isinstance(a.stmt, Assign) and isinstance(b.stmt, Assign)):
            continue
        first, second = (places.get(id(x.stmt), -1) for x in (a, b))
        if not 0 <= first < second:
            continue
        # The pairs are in the order of the first branch: of the other one, some stores that stood behind are before it.
        passed = [y.stmt for _, y in found if places[id(y.stmt)] > second]
        after = [x for x in cx.out if places[id(x)] > first and x is not b.stmt]
        behind = [x for x in after if places[id(x)] > second]
        if _may_wait(a, after, guards) and _may_wait(b, [*behind, *passed], guards):
            found.append((a, b))
            cx.out[:] = [x for x in cx.out if x is not a.stmt and x is not b.stmt]
            cx.guarded[:] = [x for x in cx.guarded if x is not a and x is not b]
    return found


def _place(x: GuardedStore) -> tuple[str, tuple[Expr, ...]]:
    return x.stmt.array, x.stmt.index


def _may_wait(store: GuardedStore, passed: Iterable[Stmt], guards: tuple[Guards, Guards]) -> bool:
    """Whether a store may be made behind some statements instead of before them."""
    array, place = _place(store)
    parts = (store.value, *guards[0], *guards[1], *place)
    read = {y.array for x in parts for y in loads(x)}
    for stmt in (y for x in passed for y in walk(x)):
        if isinstance(stmt, Assign | Reduce) and stmt.array in read and stmt.array != array:
            return False
        places = [stmt.index] if isinstance(stmt, Assign | Reduce) and stmt.array == array else []
        places += [y.index for x in expressions(stmt) for y in loads(x) if y.array == array]
        if not all(_are_apart(place, x) and not any(_reads(y, array, x) for y in parts) for x in places):
            return False
    return True


def _reads(value: Expr, array: str, place: tuple[Expr, ...]) -> bool:
    """Whether a value may depend on an element."""
    return any(y.array == array and not _are_apart(y.index, place) for y in loads(value))


def _are_apart(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two elements are different ones."""
    return any(constant(sub(x, y)) not in (None, 0) for x, y in zip(a, b, strict=True))
