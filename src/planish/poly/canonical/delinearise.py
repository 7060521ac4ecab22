"""Linear subscripts become rows and columns: `A[i*lda + k]` is `A[i, k]` wherever every k lies within a row.

The condition (here k < lda for all instances) becomes an assumption of the kernel, checked at run time. So does k < 64
for `A[i*64 + k]`, where k goes up to a size: what is known to stay within 64 needs no rows.

>>> from planish.ir.expr import Binary, Var, index
>>> from planish.ir.types import INDEX
>>> n = Var("lda", INDEX)
>>> split(Binary("add", Binary("mul", Var("i", INDEX), n), Var("k", INDEX)), (n,))
(Var(name='i', type=Type(kind='int', bits=64)), Var(name='k', type=Type(kind='int', bits=64)))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, count, islice, pairwise
from math import gcd

import islpy as isl

from planish.ir.expr import Expr, Load, Var, index
from planish.ir.index.polynomial import (
    Monomial,
    Polynomial,
    add,
    build,
    cofactor,
    constant,
    degree,
    divided,
    exact_quotient,
    mul,
    polynomial,
    sub,
)
from planish.ir.nest import Array, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import expressions, loads, map_block, map_expr, map_exprs, stored_arrays, walk, walk_expr
from planish.poly.isl.affine import NotAffineError, affine_function
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.expression import TRUE, set_condition
from planish.poly.scop.extraction import Access, Scop, extract_scop
from planish.poly.scop.subscript_range import forward_conditions

Strides = tuple[Expr, ...]
"""Sums of products of sizes by which linear subscripts advance, the largest first, without the last dimension's 1."""
Owner = int | str
"""What holds a subscript: an assignment, by its place in the text, or a binding, by its name."""

_SHORTEST = 16
"""How long a row is at least whose length is a number; a shorter one may be the step of a window."""
_LARGE = 64
"""Sizes from here on are no rare case."""
_MOST = 64
"""So many choices of numbers are tried as the lengths of an array's rows."""


def delinearise(kernel: Kernel, settled: bool = False) -> Kernel:
    """The kernel with rows and columns instead of linear subscripts, and the assumptions that this needs; `settled`:
    also where rows have a length that is a number, within which all columns are known to stay.

    Of an array that nothing is stored to, subscripts need not be affine: rows are made of what divides all strides.
    Raises NotAffineError where a subscript cannot be split."""
    made = _delinearise(kernel, settled)
    needed = forward_conditions(made)
    return replace(made, assumptions=(*made.assumptions, *needed)) if needed else made


def _delinearise(kernel: Kernel, settled: bool) -> Kernel:
    linear = [x for x in kernel.arrays if len(x.shape) == 1]
    layouts = {x.name: found for x in linear if (found := _layouts(x, kernel))}
    first = {name: x[0] for name, x in layouts.items()}
    others = (x for x in linear if x.name not in layouts)
    numbered = {x.name: strides for x in others if (strides := _numbered(x, kernel, first, settled))}
    if numbered:
        try:
            return _delinearised(kernel, {**first, **numbered}, layouts)
        except NotAffineError:
            pass  # not all of them can be rows at once
    if not layouts:
        return kernel
    stored = stored_arrays(kernel.body)
    needed = {name: x for name, x in layouts.items() if name in stored}
    try:
        made = _delinearised(kernel, first, layouts)
    except NotAffineError:
        if len(needed) == len(layouts):
            raise
        made = None
    if made is not None and (len(needed) == len(layouts) or _rows_are_large(made)):
        return made
    # What is only read need not be in rows.
    fewer = _delinearised(kernel, {name: first[name] for name in needed}, needed) if needed else kernel
    return fewer if made is None or _rows_are_large(fewer) else made


def _rows_are_large(kernel: Kernel) -> bool:
    return not kernel.assumptions or holds_large(extract_scop(kernel))


def holds_large(scop: Scop) -> bool:
    """Whether what a kernel assumes holds for some sizes that are all large."""
    return not sizes_from(_LARGE, scop).is_empty()


def sizes_from(least: int, scop: Scop) -> isl.Set:
    """The sizes that a kernel assumes, none less than `least`."""
    sizes = scop.context
    for i in range(sizes.dim(isl.dim_type.param)):
        sizes = sizes.lower_bound_val(isl.dim_type.param, i, isl.Val(least))
    return sizes


def _delinearised(kernel: Kernel, first: Mapping[str, Strides], layouts: Mapping[str, Sequence[Strides]]) -> Kernel:
    """The kernel with the subscripts of some arrays split, in the first way or one that keeps more sizes."""
    chosen = {**first}
    for name, (usual, *others) in layouts.items():
        for other in others:
            kept, left = (_leave_rows(_within_rows(kernel, {**chosen, name: x})[1], (name,)) for x in (usual, other))
            if not kept.is_subset(left):
                chosen[name] = other
    rows, scop = _within_rows(kernel, chosen)
    good = coalesce(scop.context.subtract(_leave_rows(scop, chosen)))
    idle = [x.domain.intersect_params(good).is_empty() for x in scop.statements]
    # Lengths that are numbers are a guess, which no statement may pay for.
    if idle and (any(idle) if first.keys() - layouts.keys() else all(idle)):
        at = next(iter(chosen))
        raise NotAffineError(chosen[at][0], f"no sizes keep the subscripts of `{at}` within rows")
    condition = set_condition(_as_parameters(coalesce(good.gist(scop.context))), ())
    if condition == TRUE:
        return rows
    return replace(rows, assumptions=(*rows.assumptions, condition))


def _as_parameters(sizes: isl.Set) -> isl.Set:
    return isl.Set.from_params(sizes) if sizes.is_params() else sizes


def _within_rows(kernel: Kernel, strides: Mapping[str, Strides]) -> tuple[Kernel, Scop]:
    """The kernel with the subscripts of some arrays split, each into its row as far as that can be seen.

    In `A[r * n + (n - 1 - i)]` the n may be one more row or belong to the column; as a column it stays in the row.
    """
    rows = _in_rows(kernel, strides)
    scop = extract_scop(rows)
    moved = _moved_subscripts(scop, strides)
    if not moved:
        return rows, scop

    def placed(owner: Owner, array: str, subscripts: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return moved.get((owner, array, subscripts), subscripts)

    rows = _with_subscripts(rows, placed)
    return rows, extract_scop(rows)


def _moved_subscripts(
    scop: Scop, names: Collection[str]
) -> dict[tuple[Owner, str, tuple[Expr, ...]], tuple[Expr, ...]]:
    """The subscripts that lie in their rows for more sizes when whole rows are carried from one to the next.

    Each statement has its own: on a ring, column j - 1 is in its row, or at the end of the row before.
    """
    reached: dict[tuple[Owner, str, tuple[Expr, ...]], isl.Set] = {}
    for number, statement in enumerate(scop.statements):
        for access in statement.accesses:
            if access.array not in names:
                continue
            elements = access.relation.intersect_params(scop.context).range()
            owners: tuple[Owner, ...] = (number, *(x.var for x in statement.lets if _loads(x, access)))
            for owner in owners:
                place = owner, access.array, access.index
                reached[place] = reached[place].union(elements) if place in reached else elements
    out = {}
    for (owner, array, subscripts), elements in reached.items():
        fresh = _carried(elements, scop.kernel.array(array), subscripts)
        if fresh != subscripts:
            out[owner, array, subscripts] = fresh
    return out


def _loads(let: Let, access: Access) -> bool:
    return any((x.array, x.index) == (access.array, access.index) for x in loads(let.value))


def _carried(elements: isl.Set, array: Array, subscripts: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The subscripts with as many whole rows carried, none, one more or one less, as keeps most elements in them."""
    space = elements.get_space()
    local = isl.LocalSpace.from_space(space)
    values = [isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, d)) for d in range(len(subscripts))]
    out = list(subscripts)
    for d in range(len(subscripts) - 1, 0, -1):
        length = array.shape[d]
        assert length is not None
        extent = affine_function(length, space)
        least = _beyond(elements, values[d], extent)
        if least.is_empty():
            continue
        one = affine_function(index(1), space)
        for step, column, row in ((1, values[d].add(extent), values[d - 1].sub(one)),
                                  (-1, values[d].sub(extent), values[d - 1].add(one))):  # fmt: skip
            beyond = _beyond(elements, column, extent)
            if beyond.is_strict_subset(least):
                least, values[d], values[d - 1] = beyond, column, row
                out[d] = add(subscripts[d], mul(index(step), length))
                out[d - 1] = add(subscripts[d - 1], index(-step))
                break
    return tuple(out)


def _beyond(elements: isl.Set, value: isl.PwAff, extent: isl.PwAff) -> isl.Set:
    """The sizes with which a subscript of some element is negative or not less than the extent."""
    zero = affine_function(index(0), elements.get_space())
    return elements.intersect(value.lt_set(zero).union(value.ge_set(extent))).params()


def _with_subscripts(kernel: Kernel, placed: Callable[[Owner, str, tuple[Expr, ...]], tuple[Expr, ...]]) -> Kernel:
    """The kernel with what `placed` makes of the subscripts of each array in each assignment and binding."""
    numbers = count()

    def fresh(stmt: Stmt) -> Stmt:
        owner: Owner = next(numbers) if isinstance(stmt, Assign | Reduce) else stmt.var if isinstance(stmt, Let) else ""

        def fresh_load(x: Expr) -> Expr:
            return replace(x, index=placed(owner, x.array, x.index)) if isinstance(x, Load) else x

        done = map_exprs(lambda x: map_expr(fresh_load, x), stmt)
        return replace(done, index=placed(owner, done.array, done.index)) if isinstance(done, Assign | Reduce) else done

    return replace(kernel, body=map_block(fresh, kernel.body))


def _in_rows(kernel: Kernel, strides: Mapping[str, Strides]) -> Kernel:
    """The kernel with the subscripts of some arrays split."""
    arrays = tuple(_shaped(a, strides[a.name]) if a.name in strides else a for a in kernel.arrays)

    def placed(_: Owner, array: str, subscripts: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return _parts(subscripts[0], strides[array]) if array in strides else subscripts

    return _with_subscripts(replace(kernel, arrays=arrays), placed)


def check_strides(kernel: Kernel) -> None:
    """Raises NotAffineError where the strides of an array's linear subscripts are no multiples of each other: planes
    and rows with a stride each."""
    for array in kernel.arrays:
        if len(array.shape) == 1:
            _layouts(array, kernel)


def rows_as_written(kernel: Kernel) -> Kernel:
    """The kernel with the linear subscripts split in the usual way, nothing carried from row to row: columns may be
    negative. Raises NotAffineError where a subscript cannot be split."""
    linear = (x for x in kernel.arrays if len(x.shape) == 1)
    return _in_rows(kernel, {x.name: found[0] for x in linear if (found := _layouts(x, kernel))})


def iterators(kernel: Kernel) -> frozenset[str]:
    """The counters of all loops."""
    return frozenset(s.var for s in walk(kernel.body) if isinstance(s, For))


def subscripts(name: str, body: Block) -> list[tuple[Expr, ...]]:
    """Every index with which an array is accessed."""
    out: list[tuple[Expr, ...]] = []
    for stmt in walk(body):
        if isinstance(stmt, Assign | Reduce) and stmt.array == name:
            out.append(stmt.index)
        for expr in expressions(stmt):
            out += [x.index for x in walk_expr(expr) if isinstance(x, Load) and x.array == name]
    return out


def strides_of(linear: Iterable[Expr], moving: frozenset[str]) -> tuple[frozenset[Expr], frozenset[Expr]]:
    """The products of sizes in linear subscripts, and the whole factors of what moves in them, without numbers."""
    products: set[Expr] = set()
    factors: set[Expr] = set()
    for terms in map(polynomial, linear):
        of_iterators: dict[Monomial, dict[Monomial, int]] = {}
        for monomial, coefficient in terms.items():
            sizes = tuple(a for a in monomial if isinstance(a, Var) and a.name not in moving)
            if len(sizes) < len(monomial):
                moved = cofactor(monomial, sizes)
                assert moved is not None
                of_iterators.setdefault(moved, {})[sizes] = coefficient
                products |= {build({sizes: 1})} if sizes else set()
        factors |= {_primitive(x) for x in of_iterators.values() if set(x) != {()}}
    return frozenset(products), frozenset(factors)


def _layouts(array: Array, kernel: Kernel) -> tuple[Strides, ...]:
    """The ways to split the subscripts of an array, the usual one first; none where they need not be split.

    The strides are the products of sizes that stand in the subscripts, or the whole factors of the iterators: these
    differ where rows are n - 2 long; or several times these, where that is how all of it moves: pairs of numbers lie in
    rows of 2 n. Raises NotAffineError where there are strides but no way.
    """
    linear = list(dict.fromkeys(x for (x,) in subscripts(array.name, kernel.body)))
    products, factors = strides_of(linear, iterators(kernel))
    if not products:
        return ()
    out: list[Strides] = []
    refused: NotAffineError | None = None
    multiples = frozenset(mul(index(_common_number(linear, x)), x) for x in factors)
    for strides in dict.fromkeys(tuple(sorted(x, key=_by_degree)) for x in (products, factors, multiples)):
        try:
            _shaped(array, strides)
            for x in linear:
                split(x, strides)
        except NotAffineError as error:
            refused = refused or error
            continue
        out.append(strides)
    if not out and refused is not None:
        if array.name not in stored_arrays(kernel.body):
            return _loose_rows(array, linear, products)
        raise refused
    return tuple(out)


def _loose_rows(array: Array, linear: Sequence[Expr], products: Collection[Expr]) -> tuple[Strides, ...]:
    """The way to split subscripts that are not affine: into rows of what divides all larger strides, and whole columns,
    so that only the first subscript is not affine; none where there is no such way."""
    shared = _common_factor(products)
    strides = tuple(sorted({*products, *([shared] if degree(shared) else [])}, key=_by_degree))
    comparable = [x for x in strides if all(_divides(x, y) or _divides(y, x) for y in strides)]
    for first in range(len(comparable)):
        chosen = tuple(comparable[first:])
        try:
            _shaped(array, chosen)
        except NotAffineError:
            continue
        if all(degree(x) <= 1 for y in linear for x in _parts(y, chosen)[1:]):
            return (chosen,)
    return ()


def _common_factor(products: Iterable[Expr]) -> Expr:
    """The product of the sizes by which all products of sizes can be divided."""
    factors = (Counter(m) for x in products for m in polynomial(x))
    return build({tuple(reduce(lambda a, b: a & b, factors).elements()): 1})


def _divides(a: Expr, b: Expr) -> bool:
    return exact_quotient(b, a) is not None


def _common_number(linear: Iterable[Expr], stride: Expr) -> int:
    """The number by which all multiples of a stride in linear subscripts can be divided."""
    multiples = (divided(x, stride)[0] for x in linear)
    return gcd(*(c for x in multiples for c in polynomial(x).values())) or 1


def _numbered(array: Array, kernel: Kernel, known: Mapping[str, Strides], settled: bool) -> Strides:
    """The lengths of an array's rows as numbers, where it depends on sizes whether the columns stay within them; where
    that is settled, only if these are wanted. `known`: the strides of other arrays."""
    moving, steps = iterators(kernel), list[set[int]]()
    for terms in (polynomial(x) for (x,) in subscripts(array.name, kernel.body)):
        moved = {m: c for m, c in terms.items() if any(isinstance(x, Var) and x.name in moving for x in m)}
        steps += [set(map(abs, moved.values()))] if moved else []
    lengths = sorted({x for row in steps for x in row if x > 1}, reverse=True)
    # As many as there may be: 2 may be the length of a row, or the step of a window that moves along one.
    some = (x for number in range(len(lengths), 0, -1) for x in combinations(lengths, number))
    for strides in (_rows_of(x, steps) for x in islice(some, _MOST) if settled):
        if strides and _leave_rows(_within_rows(kernel, {**known, array.name: strides})[1], (array.name,)).is_empty():
            return strides
    strides = _rows_of([x for x in lengths if x >= _SHORTEST], steps)
    if not strides:
        return ()
    scop = _within_rows(kernel, {**known, array.name: strides})[1]
    left = _leave_rows(scop, (array.name,))
    good = scop.context.subtract(left)
    using = [x for x in scop.statements if any(y.array == array.name for y in x.accesses)]
    if left.is_empty() or any(x.domain.intersect_params(good).is_empty() for x in using):
        return ()
    return strides


def _rows_of(lengths: Sequence[int], steps: Sequence[set[int]]) -> Strides:
    """Numbers, the largest first, as the lengths of rows in which subscripts that advance by `steps` are; none where
    they do not divide each other, where a subscript goes through no rows, or all go through nothing else."""
    if not lengths or any(a % b for a, b in pairwise(lengths)):
        return ()
    # What is no multiple of a row's length goes along both, as 65 does where rows have 64 elements: along a diagonal.
    through = all(any(x >= lengths[-1] for x in row) for row in steps)
    along = any(x % lengths[-1] for row in steps for x in row)
    return tuple(map(index, lengths)) if through and along else ()


def _primitive(terms: Polynomial) -> Expr:
    """A sum without the number by which all of it can be divided, its first product positive."""
    whole = gcd(*terms.values())
    sign = 1 if next(iter(terms.values())) > 0 else -1
    return build({m: sign * c // whole for m, c in terms.items()})


def _by_degree(stride: Expr) -> tuple[int, str]:
    return -degree(stride), repr(stride)


def split(linear: Expr, strides: Strides) -> tuple[Expr, ...]:
    """The subscripts, outermost first, of a linear one; raises NotAffineError where a product fits no stride."""
    parts = _parts(linear, strides)
    if any(degree(x) > 1 for x in parts):
        raise NotAffineError(linear, "a linear subscript mixes strides that do not divide each other")
    return parts


def _parts(linear: Expr, strides: Strides) -> tuple[Expr, ...]:
    """The subscripts, outermost first, of a linear one, affine or not."""
    parts: list[Expr] = []
    rest = linear
    for stride in strides:
        quotient, rest = divided(rest, stride)
        length = constant(stride)
        diagonal, rest = _diagonal(rest, length) if length else (index(0), rest)
        parts.append(add(quotient, diagonal))
    return (*parts, rest)


def _diagonal(linear: Expr, length: int) -> tuple[Expr, Expr]:
    """The rows, and what is left, of a subscript that goes along rows and columns at once, as 65 * i in rows of 64."""
    terms = {m: c for m, c in polynomial(linear).items() if m and abs(c) > length}
    rows = build({m: round(c / length) for m, c in terms.items()})
    return rows, sub(linear, mul(rows, index(length)))


def _shaped(array: Array, strides: Strides) -> Array:
    extents: list[Expr | None] = [None]
    for larger, smaller in pairwise((*strides, index(1))):
        extent = exact_quotient(larger, smaller)
        if extent is None or degree(extent) > 1:
            raise NotAffineError(larger, f"the strides of `{array.name}` do not divide each other")
        extents.append(extent)
    return replace(array, shape=tuple(extents))


def _leave_rows(scop: Scop, names: Collection[str]) -> isl.Set:
    """The sizes with which some inner subscript of the named arrays leaves its row."""
    bad = isl.Set.empty(scop.context.get_space())
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array in names:
                bad = bad.union(_outside(access.relation.range(), scop.kernel.array(access.array)))
    return bad.intersect(scop.context)


def _outside(elements: isl.Set, array: Array) -> isl.Set:
    """The sizes with which some element lies outside of its row."""
    space = elements.get_space()
    local = isl.LocalSpace.from_space(space)
    bad = isl.Set.empty(space.params())
    for position, extent in enumerate(array.shape):
        if extent is not None:
            value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, position))
            bad = bad.union(_beyond(elements, value, affine_function(extent, space)))
    return bad
