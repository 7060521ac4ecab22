"""Extents: how much of each array a kernel touches, and with which sizes it may be called.

>>> from planish.ir.expr import Const, index
>>> from planish.ir.nest import Array, Assign, Block, For, Kernel
>>> from planish.ir.types import F32
>>> from planish.poly.scop.extraction import extract_scop
>>> loop = For("i", index(0), index("n"), 1, Block((Assign("A", (index("i"),), Const(0.0, F32)),)))
>>> scop = extract_scop(Kernel("zero", ("n",), arrays=(Array("A", F32, (index(100),)),), body=Block((loop,))))
>>> pick_sizes(valid_sizes(scop), {"n": 1000}), pick_sizes(valid_sizes(scop), {"n": (1 << 64) - 1})
({'n': 100}, {'n': 100})
>>> count_elements(scop, {"n": 7})
{'A': 100}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from math import prod

import islpy as isl

from planish.ir.expr import Compare, Const, Expr, index
from planish.ir.index.evaluate import evaluate
from planish.ir.index.polynomial import normal
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array
from planish.ir.traverse import substitute, variables
from planish.poly.isl.affine import CONTEXT, NotAffineError, affine_text, condition_set, isl_name
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.expression import TRUE, extremum, piecewise_expr
from planish.poly.scop.extraction import Access, Scop, Statement, access_of
from planish.poly.scop.subscript_range import bound_subscript

PARAM = isl.dim_type.param
SET = isl.dim_type.set
_UNBOUNDED = 1 << 31
"""What is at most so much, or more, is bounded by its type alone."""


@lru_cache(maxsize=64)
def valid_sizes(scop: Scop) -> isl.Set:
    """The sizes that the kernel assumes and with which no access leaves its array, as far as extents are known."""
    space = scop.context.get_space()
    bad = isl.Set.empty(space)
    arrays = {a.name: a for a in scop.kernel.arrays}
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array in arrays:
                bad = bad.union(_leaving(access, arrays[access.array], space))
    return coalesce(isl.Set.universe(space).intersect(scop.context).subtract(bad))


def with_values(scop: Scop, values: Mapping[str, Expr]) -> Scop:
    """The scop where some of its sizes are known to be what others determine, as far as isl can say it."""
    context = scop.context
    for name in {v for x in values.values() for v in variables(x)} - set(scop.kernel.sizes):
        context = context.align_params(isl.Space.create_from_names(CONTEXT, params=[isl_name(name)], set=[]))
    for name, value in values.items():
        with suppress(NotAffineError):
            context = context.intersect(condition_set(Compare("eq", index(name), value), context.get_space()))
    return replace(scop, context=context)


@lru_cache(maxsize=64)
def busy_sizes(scop: Scop) -> isl.Set:
    """The valid sizes with which every statement runs; all valid ones where there are none such."""
    valid = valid_sizes(scop)
    busy = valid
    for statement in scop.statements:
        busy = busy.intersect(statement.domain.params().align_params(valid.get_space()))
    return valid if busy.is_empty() else coalesce(busy)


def _leaving(access: Access, array: Array, space: isl.Space) -> isl.Set:
    reached = access.relation.range().align_params(space)
    out = isl.Set.empty(space)
    for position, extent in enumerate(array.shape):
        if position in access.inexact and (isinstance(extent, Const) or not _is_bounded(reached, position)):
            continue  # a table is as long as it has to be; else numbers tell for which sizes it stays inside
        local = isl.LocalSpace.from_space(reached.get_space())
        value = isl.Aff.var_on_domain(local, SET, position)
        out = out.union(reached.intersect(value.lt_set(isl.Aff.zero_on_domain(local))).params())
        limit = _extent(extent, access, array, position, space)
        if limit is not None:
            out = out.union(reached.intersect(limit).params())
    return out


def _is_bounded(reached: isl.Set, position: int) -> bool:
    """Whether a dimension of what is reached has ends that isl can hold."""
    return reached.dim_has_lower_bound(SET, position) and reached.dim_has_upper_bound(SET, position)


def _extent(extent: Expr | None, access: Access, array: Array, position: int, space: isl.Space) -> isl.Set | None:
    """The elements at or past the extent; None where it is not known as an affine expression."""
    if extent is None:
        return None
    dims = [f"d{i}" for i in range(len(array.shape))]
    names = [str(space.get_dim_name(PARAM, i)) for i in range(space.dim(PARAM))]
    try:
        text = affine_text(extent)
    except NotAffineError:
        return None
    head = f"[{', '.join(names)}] -> " if names else ""
    return isl.Set(f"{head}{{ {isl_name(array.name)}[{', '.join(dims)}] : {dims[position]} >= {text} }}")


def pick_sizes(valid: isl.Set, wanted: Mapping[str, int]) -> dict[str, int] | None:
    """Sizes in `valid`, each as near to the wanted value as the earlier ones allow; None where the set is empty."""
    left = valid
    out: dict[str, int] = {}
    for name, value in wanted.items():
        position = left.find_dim_by_name(PARAM, isl_name(name))
        if position < 0:
            out[name] = value
            continue
        exact = left.fix_val(PARAM, position, isl.Val(str(value)))
        if exact.is_empty():
            nearest = _nearest(left, position, value)
            if nearest is None:
                return None
            value, exact = nearest, left.fix_val(PARAM, position, isl.Val(nearest))
        out[name] = value
        left = exact
    return out


def _nearest(left: isl.Set, position: int, value: int) -> int | None:
    """The value of a size that the set allows and that is nearest, at or below `value` if possible."""
    line = isl.Set.from_params(left).move_dims(SET, 0, PARAM, position, 1).project_out_all_params()
    below = line.intersect(isl.Set(f"{{ [x] : x <= {value} }}")).dim_max_val(0)
    if below.is_int():
        return int(below.to_python())
    above = line.intersect(isl.Set(f"{{ [x] : x >= {value} }}")).dim_min_val(0)
    return int(above.to_python()) if above.is_int() else None


def largest_sizes(valid: isl.Set) -> dict[str, int]:
    """The largest value of each size that has one in `valid`, as those have that count the elements of an array with a
    constant extent.

    >>> largest_sizes(isl.Set("[n, m] -> { : 0 <= n <= 100 and m >= n }"))
    {'n': 100}
    """
    values = isl.Set.from_params(valid).move_dims(SET, 0, PARAM, 0, valid.dim(PARAM))
    names = [str(valid.get_dim_name(PARAM, i)) for i in range(valid.dim(PARAM))]
    ends = [values.dim_max_val(i) for i in range(len(names))]
    return {name: int(end.to_python()) for name, end in zip(names, ends, strict=True) if end.is_int()}


def fix_sizes(domain: isl.Set, sizes: Mapping[str, int]) -> isl.Set:
    """The set for given sizes."""
    for name, value in sizes.items():
        position = domain.find_dim_by_name(PARAM, isl_name(name))
        if position >= 0:
            domain = domain.fix_val(PARAM, position, isl.Val(str(value)))
    return domain


def count_elements(scop: Scop, sizes: Mapping[str, int]) -> dict[str, int]:
    """Elements that each array must have: what its declared extents say, else what the accesses reach.

    Arrays that depend on sizes which are not given are left out."""
    out: dict[str, int] = {}
    for array in scop.kernel.arrays:
        if not _sizes_of(scop, array) <= set(sizes):
            continue
        extents = [None if e is None else _value(e, sizes) for e in array.shape]
        known = [e for e in extents if e is not None]
        if len(known) == len(extents):
            out[array.name] = prod(known)
        else:
            out[array.name] = _reach(scop, array, [e or 0 for e in extents], sizes)
    return out


def _sizes_of(scop: Scop, array: Array) -> set[str]:
    """The sizes on which the array's extents and accesses depend."""
    out = {name for extent in array.shape if extent is not None for name in variables(extent)}
    return out | _reaching_sizes(scop, array) if None in array.shape else out


def _reaching_sizes(scop: Scop, array: Array) -> set[str]:
    """The sizes on which the elements that are accessed depend."""
    out: set[str] = set()
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array == array.name:
                reached = access.relation.range()
                out |= {n for n in scop.kernel.sizes if _involves(reached, isl_name(n))}
                out |= {n for d in access.inexact for n in variables(access.index[d]) if n in scop.kernel.sizes}
    return out


def _involves(reached: isl.Set, name: str) -> bool:
    position = reached.find_dim_by_name(PARAM, name)
    return position >= 0 and bool(reached.involves_dims(PARAM, position, 1))


def reach_elements(scop: Scop, sizes: Mapping[str, int]) -> dict[str, int]:
    """Elements of each array up to the last one that the kernel reaches, whatever extents were declared.

    Arrays that depend on sizes which are not given are left out."""
    out: dict[str, int] = {}
    for array in scop.kernel.arrays:
        if not _sizes_of(scop, array) | _reaching_sizes(scop, array) <= set(sizes):
            continue
        extents = [None if e is None else evaluate_extent(e, sizes) for e in array.shape]
        out[array.name] = _reach(scop, array, [e or 0 for e in extents], sizes) if array.shape else 1
    return out


def _value(extent: Expr, sizes: Mapping[str, int]) -> int:
    return max(0, evaluate(extent, sizes))


def evaluate_extent(extent: Expr, sizes: Mapping[str, int]) -> int | None:
    """The value of an extent for given sizes; None where it has none or a size is missing."""
    try:
        return _value(extent, sizes)
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def _reach(scop: Scop, array: Array, extents: list[int], sizes: Mapping[str, int]) -> int:
    """One more than the largest linear offset that any access reaches."""
    most = 0
    rows = [prod(extents[i + 1 :]) for i in range(len(extents))]
    linear = " + ".join(f"{row}d{i}" for i, row in enumerate(rows))
    dims = ", ".join(f"d{i}" for i in range(len(rows)))
    flat = isl.Map(f"{{ {isl_name(array.name)}[{dims}] -> [{linear}] }}")
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array == array.name:
                reached = fix_sizes(_relation_at(scop, statement, access, sizes).range(), sizes).apply(flat)
                highest = reached.dim_max_val(0)
                if highest.is_int():
                    most = max(most, int(highest.to_python()) + 1)
                elif access.inexact and not reached.is_empty():
                    most = max(most, _farthest(scop, statement, access, rows, sizes) + 1)
    return most


def _farthest(
    scop: Scop, statement: Statement, access: Access, rows: Sequence[int], sizes: Mapping[str, int]
) -> int:
    """The linear offset that an access reaches at most, each subscript by itself; -1 where nothing is known."""
    total = 0
    for dimension, row in enumerate(rows):
        if dimension in access.inexact:
            with suppress(NoExtentError):
                total += row * evaluate(subscript_ends(scop, statement, access, dimension)[1], sizes)
                continue
            return -1
        highest = fix_sizes(access.relation.range(), sizes).dim_max_val(dimension)
        total += row * int(highest.to_python()) if highest.is_int() else 0
    return total


def _relation_at(scop: Scop, statement: Statement, access: Access, sizes: Mapping[str, int]) -> isl.Map:
    """The relation of an access for given sizes: exact where it is affine for these."""
    if not access.inexact:
        return access.relation
    fixed = {x: index(n) for x, n in sizes.items()}
    fresh = tuple(normal(substitute(x, fixed)) for x in access.index)
    return access_of(access.array, fresh, False, statement.name, statement.domain, frozenset()).relation


def count_instances(scop: Scop, sizes: Mapping[str, int]) -> int:
    """About how many statement instances run: the volume of each domain's bounding box, halved for each triangle.
    A loop to a size that is not given is one instance, also where all that bounds it is the type that it fits."""
    total = 0
    loose = not sizes.keys() >= {*scop.kernel.sizes}
    for statement in scop.statements:
        domain = fix_sizes(statement.domain, sizes)
        if domain.is_empty():
            continue
        volume = 1
        for i in range(domain.dim(SET)):
            low, high = domain.dim_min_val(i), domain.dim_max_val(i)
            extent = int(high.to_python()) - int(low.to_python()) + 1 if low.is_int() and high.is_int() else 1
            volume *= 1 if extent >= _UNBOUNDED and loose else extent
        total += volume
    return total


def most_instances(scop: Scop) -> int | None:
    """How many statement instances run at most, whatever the sizes are, by their domains' bounding boxes; None where
    no number is known."""
    total = 0
    for statement in scop.statements:
        domain = statement.domain.intersect_params(scop.context)
        domain = domain.project_out(PARAM, 0, domain.dim(PARAM))
        if domain.is_empty():
            continue
        bounds = [(domain.dim_min_val(i), domain.dim_max_val(i)) for i in range(domain.dim(SET))]
        if not all(x.is_int() for pair in bounds for x in pair):
            return None
        total += prod(int(high.to_python()) - int(low.to_python()) + 1 for low, high in bounds)
    return total


class NoExtentError(Exception):
    """An array whose reach has no expression, so that overlap cannot be tested."""


def byte_extent(scop: Scop, array: Array, dimension: int = 0) -> Expr | None:
    """The last place of a dimension that an access reaches, as an expression over the sizes; None where no instance
    accesses the array, whatever the sizes are. Raises NoExtentError."""
    spread: isl.PwAff | None = None
    others: list[Expr] = []
    for statement in scop.statements:
        for access in statement.accesses:
            named = access.array == array.name and access.relation.dim(isl.dim_type.out) > dimension
            if not named or access.relation.is_empty():
                continue
            if dimension in access.inexact:
                others.append(subscript_ends(scop, statement, access, dimension)[1])
                continue
            highest = access.relation.range().dim_max(dimension)
            spread = highest if spread is None else spread.union_max(highest)
    exact = [] if spread is None else [piecewise_expr(spread, ())]
    return extremum("max", [*exact, *others]) if exact or others else None


def subscript_ends(scop: Scop, statement: Statement, access: Access, dimension: int) -> tuple[Expr, Expr]:
    """The least and the greatest value of a subscript that is not affine, where its statement runs; of an array with so
    many elements, those it has. Raises NoExtentError."""
    arrays = {x.name: x.shape for x in (*scop.kernel.arrays, *scop.locals)}
    if isinstance(extent := arrays[access.array][dimension], Const):
        return index(0), index(int(extent.value) - 1)
    domain = statement.domain.intersect_params(scop.context)
    if domain.is_empty():
        return index(0), index(-1)
    ranges = {
        name: (piecewise_expr(domain.dim_min(d), ()), piecewise_expr(domain.dim_max(d), ()))
        for d, name in enumerate(statement.iterators)
        if name in variables(access.index[dimension])
    }
    found = bound_subscript(access.index[dimension], ranges, positive_sizes(scop))
    if found is None:
        raise NoExtentError(access.array)
    return found


def positive_sizes(scop: Scop) -> frozenset[str]:
    """The sizes that are known not to be negative."""
    space = scop.context.get_space()
    negative = (Compare("lt", index(x), index(0)) for x in scop.kernel.sizes)
    found = zip(scop.kernel.sizes, negative, strict=True)
    return frozenset(x for x, test in found if scop.context.is_disjoint(condition_set(test, space).params()))


def negative_sizes(scop: Scop) -> isl.Set:
    """The sizes with which some access lies before the start of its array; of subscripts that are not affine, see
    `inexact_conditions`."""
    space = scop.context.get_space()
    out = isl.Set.empty(space)
    for statement in scop.statements:
        for access in statement.accesses:
            reached = access.relation.range().align_params(space)
            local = isl.LocalSpace.from_space(reached.get_space())
            for position in range(reached.dim(SET)):
                if position in access.inexact:
                    continue
                value = isl.Aff.var_on_domain(local, SET, position)
                out = out.union(reached.intersect(value.lt_set(isl.Aff.zero_on_domain(local))).params())
    return coalesce(out)


def inexact_conditions(scop: Scop) -> tuple[Expr, ...]:
    """Conditions on sizes under which no subscript that is not affine lies before the start of its array; none of those
    that data choose anywhere, of arrays that no store reaches."""
    lows: list[Expr] = []
    for statement in scop.statements:
        for access in statement.accesses:
            for dimension in sorted(access.inexact) if not access.relation.is_empty() else ():
                with suppress(NoExtentError):
                    lows.append(subscript_ends(scop, statement, access, dimension)[0])
    return tuple(x for x in dict.fromkeys(simplify(Compare("ge", low, index(0))) for low in lows) if x != TRUE)
