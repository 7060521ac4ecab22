"""How many iterations read only what no iteration of them stores to: a search looks no further, since it reads memory
as it is before any of their stores.

Before: while (a[i]) c[i++] = 0;
After:  planish_n = planish_unchanged(a, 1, 1, c, 1, 1, planish_n);  …; while (a[i]) c[i++] = 0;

With `c` 20 elements behind `a`, the first 20 iterations read elements that none of them stores to.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.poly.early_exit.exit_test import find_exit_test
>>> text = "long f(char *a, short *c) { long i = 0; while (a[i]) { c[2 * i] = 0; i++; } return i; }"
>>> (region,) = read_c(Source("f.c", text)).functions[0].regions
>>> for x in bound_search(region, find_exit_test(region.kernel, region.exits.flag), "n"):
...     print(x)
n = planish_unchanged((uintptr_t)(a), 1, 1, (uintptr_t)(c), 2, 4, n);
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planish.emit.dropin.patched_file import emit_guard
from planish.frontend.c.translation_unit import Region
from planish.ir.expr import Expr, Load, Var, index
from planish.ir.index.polynomial import build, linear_in, mul, normal
from planish.ir.nest import Array, Assign, For, Reduce
from planish.ir.traverse import substitute, walk, walk_expr
from planish.poly.early_exit.exit_test import ITERATION, ExitTest, number_of
from planish.poly.match.matched_view import linear_place
from planish.poly.scop.extents import NoExtentError

UNCHANGED = """/* So many iterations, at most n of them, in which nothing is stored to what is read: p and q are where
 * the first one reads and stores so many bytes, and each moves on by so many. */
static inline ptrdiff_t planish_unchanged(
    uintptr_t p, ptrdiff_t p_bytes, ptrdiff_t p_step, uintptr_t q, ptrdiff_t q_bytes, ptrdiff_t q_step, ptrdiff_t n) {
  const uintptr_t apart = p < q ? q - p : p - q, bytes = (uintptr_t)(p < q ? p_bytes : q_bytes);
  const ptrdiff_t up = p < q ? p_step : q_step, down = p < q ? q_step : p_step;
  const uintptr_t nearing = (up > 0 ? (uintptr_t)up : 0) + (down < 0 ? -(uintptr_t)down : 0);
  if (apart < bytes) return 0;
  const uintptr_t most = nearing ? (apart - bytes) / nearing + 1 : (uintptr_t)n;
  return most < (uintptr_t)n ? (ptrdiff_t)most : n;
}"""
"""What statements of `bound_search` call."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The bytes that an iteration reads or stores, all in C: from where on in the first one, how many, and by how many
    each iteration moves on."""

    start: str
    count: str
    step: str


def bound_search(region: Region, test: ExitTest, count: str) -> list[str]:
    """Statements that make the C variable `count`, a number of iterations above 0, at most that of the first ones whose
    `test` reads nothing that they store to. Raises NoExtentError where data choose what is stored to, in arrays of
    which the extent is not known."""
    assert region.exits is not None
    names = dict(region.names)
    arrays = {x.name: x for x in region.kernel.arrays}
    reads = [(arrays[x.array], _row(arrays[x.array], x.start, index(x.step), names)) for x in test.rows]
    loop = next(x for x in region.kernel.body.body if isinstance(x, For))
    asked: dict[str, None] = {}
    for array, at in _stores(loop, arrays, region.exits.flag):
        stored = _stored(array, at, loop, names)
        read = [x for other, x in reads if _may_meet(region, array, other)]
        read += [_Bytes(f"(uintptr_t)({x.address})", x.bytes, "0") for x in region.held if x.array == array.name]
        for x in read:
            given = (x.start, x.count, x.step, stored.start, stored.count, stored.step)
            asked[f"{count} = planish_unchanged({', '.join(given)}, {count});"] = None
    return [*asked]


def _stores(loop: For, arrays: Mapping[str, Array], flag: str) -> Iterator[tuple[Array, tuple[Expr, ...]]]:
    """What iterations store to that others may share."""
    for x in walk(loop.body):
        if isinstance(x, (Assign, Reduce)) and x.array in arrays and x.array != flag and not arrays[x.array].distinct:
            yield arrays[x.array], x.index


def _may_meet(region: Region, stored: Array, read: Array) -> bool:
    """Whether two arrays may share elements; what is stored in an array that is read was looked at before."""
    members = stored.name in region.views and region.views[stored.name] == region.views.get(read.name)
    return not (stored.name == read.name or stored.distinct or read.distinct or members)


def _stored(array: Array, at: tuple[Expr, ...], loop: For, names: Mapping[str, str]) -> _Bytes:
    """What a store reaches: a row of elements, or all of an array of which the extent is known."""
    place = substitute(linear_place(at, array.shape), number_of(loop))
    found = linear_in(place, ITERATION)
    parts = [*walk_expr(place)]
    unknown = {x.name for x in parts if isinstance(x, Var)} - {*names, ITERATION}
    if found is not None and not unknown and not any(isinstance(x, Load) for x in parts):
        return _row(array, found[1], build(found[0]), names)
    extents = [emit_guard(x, names) for x in array.shape if x is not None]
    if len(extents) < len(array.shape):
        raise NoExtentError(array.name)
    return _Bytes(f"(uintptr_t)({names[array.name]})", " * ".join((str(array.type.size), *extents)), "0")


def _row(array: Array, start: Expr, step: Expr, names: Mapping[str, str]) -> _Bytes:
    """Elements of which each iteration reaches one."""
    size = array.type.size
    before, moved = (normal(mul(x, index(size))) for x in (start, step))
    first = f" + (uintptr_t)({emit_guard(before, names)})" if before != index(0) else ""
    return _Bytes(f"(uintptr_t)({names[array.name]}){first}", str(size), emit_guard(moved, names))
