"""The sizes of checking calls: those that a function's constraints allow, small, odd, around tiles and large.

>>> wanted_sizes(("n", "m"), 5)
{'n': 5, 'm': 6}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod

import islpy as isl

from planish.frontend.c.translation_unit import CFunction, CParameter, RecordParameter
from planish.ir.accesses import SHIFTED, shift_amounts
from planish.ir.expr import Binary, Call, Load
from planish.ir.index.overflow import limits, may_overflow
from planish.ir.nest import Block, Reduce
from planish.ir.traverse import expressions, loads, may_fail, walk, walk_expr
from planish.library.loops.coalesce.coalesced import row_lengths
from planish.poly.canonical.delinearise import delinearise
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extents import (
    busy_sizes,
    count_elements,
    count_instances,
    evaluate_extent,
    pick_sizes,
    reach_elements,
    valid_sizes,
    with_values,
)
from planish.poly.scop.extraction import Scop
from planish.poly.scop.factors import find_factors, with_factors
from planish.run.calls.passing import (
    BEFORE,
    COUNT_OF,
    MEMORY_OF,
    ROW,
    ROWS,
    entered_in,
    leaves_of,
    outcomes_of,
    spread_cells,
    spread_in,
)
from planish.run.calls.signature import CallCase
from planish.run.sizes.asserted_equalities import asserted_equal
from planish.run.sizes.gathered_elements import asks_for_many, find_gathers, held_ranges
from planish.run.sizes.guessed_extents import guess_extent, largest_constant
from planish.run.sizes.known_sizes import KnownSizes, inner_sizes
from planish.run.sizes.size_roles import Role, find_roles
from planish.run.sizes.uncounted_inputs import find_ends

CHECK_SIZES = (0, 1, 2, 3, 5, 8, 13, 17, 31, 33, 63, 65, 127, 130, 259, 515)
FEW_SIZES, FEW_SEED = (259, 130, 33), 100
"""The sizes of calls with small strides, channels and offsets, and the first of their seeds."""
CHECK_INSTANCES = 12_000_000
CHECK_BYTES = 64 << 20
"""The most that arrays of a call may hold which only checks: large strides need much memory for few instances."""
FIXED_INSTANCES = 480_000_000
"""The most for sizes that the user gave, and for functions without any: there is nothing to choose."""
LOOSE_SIZES = (1, 4, 16, 64, 256, 2, 6, 34, 130)
"""Values of integers from which a function computes a region's sizes; powers of four first, then of two, which some ask
for: after a call that does not end, no other one is made."""
LOOSE_RANGE = (1, 7)
"""The bounds of integers of which nothing is known."""
INDEX_RANGE = (0, 7)
"""The bounds of integers in variables of the file, and behind pointers in structures."""
LONG_RANGE, LONG_OF = (0, 1024), 2
"""The bounds of such integers in every so manieth call, where regions ask for many iterations between two of them:
these rise."""
LARGEST_GUESS = 1 << 20
"""The most elements of an array of which nothing is known, where the user did not give the sizes."""
DISTANCES, DISTANCES_OF = (0, 100), 4
"""The bounds of distances between places, which would grow beyond any bound if they were negative; of so many calls
that check, one has others."""
WIDE_OF, WIDE_AT = 4, 2
"""Of so many calls that check, the one with this number has integers of the whole range of their type, where these are
harmless."""
TURNED_OF, TURNED_AT = 4, 3
"""Of so many calls that check, the one with this number has the last rows first, where it takes addresses of rows."""
SEEDS = 4
"""So many calls check a function that has no sizes."""
STREWN, STREWN_CASES = 100, 3
"""The seeds, from the first, of so many calls in whose arrays the constants of the function are strewn."""
POWERS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
"""Integers that two is raised to the power of."""
FEWEST_CALLS = 3
"""So many calls check a function of which the smallest that does anything runs longer than others may."""
LARGEST_FACTOR = 3
"""What sizes are at most that others are multiplied by in conditions, such as the stride of a window."""
SHORT_ROWS, OF_SHORT_ROWS = (3, 9), 300
"""The columns of short rows, in calls that check, and what other sizes are then."""
ODD_LOOSE = 7
"""The one check in which a size of an untouched part is no power of two: transforms may not come to an end with it."""


def wanted_sizes(names: tuple[str, ...], value: int) -> dict[str, int]:
    """The same size for each name, a little apart, so that mixed-up dimensions show."""
    return {name: value + (i % 3 if value > 2 else 0) for i, name in enumerate(names)}


def check_cases(function: CFunction, known: tuple[KnownSizes, ...], given: Mapping[str, int]) -> tuple[CallCase, ...]:
    """The calls with which a new version is compared with the original."""
    out: list[CallCase] = []
    odd: list[CallCase] = []
    most = CHECK_INSTANCES if size_names(known) else FIXED_INSTANCES
    # With other amounts the original may do what C leaves undefined.
    told = {x: given[x] for x in sorted(_amounts(known)) if x in given}
    loose_only = not size_names(known) and _has_unknown_size(known)
    for i, value, usual in () if loose_only else _check_sizes(known, most, told):
        untouched = loose_names(function, known)
        usual |= dict.fromkeys(untouched, value if i == ODD_LOOSE else power_of_two(value))
        usual |= dict.fromkeys(powers_of(function, usual), POWERS[i % len(POWERS)])
        case = make_case(function, known, usual, seed=i)
        if not out or bytes_of(function, case) <= CHECK_BYTES:
            # Loops that halve what is odd may not end, and no call is made after one that does not.
            made = odd if untouched and i == ODD_LOOSE else out
            made.append(replace(case, placement="end" if i % 2 == 0 else "start"))
    few = {x: role for x, role in roles_of(known).items() if role in ("stride", "channels", "sections", "offset")}
    for i, value in enumerate(FEW_SIZES if few else ()):
        # Strides, channels and offsets as they are in real calls.
        wanted = {x: y for x, y in wanted_sizes(size_names(known), value).items() if x not in few}
        wanted |= {x: i if role == "offset" else 1 + i for x, role in few.items()}
        sizes = sizes_near(known, wanted, told)
        if sizes is not None and instances_of(known, sizes) <= CHECK_INSTANCES:
            sizes |= dict.fromkeys(loose_names(function, known), power_of_two(value))
            sizes |= dict.fromkeys(powers_of(function, sizes), POWERS[i])
            out.append(make_case(function, known, sizes, seed=FEW_SEED + i))
    rows = short_rows(known)
    for i, columns in enumerate(SHORT_ROWS if rows else ()):
        wanted = wanted_sizes(size_names(known), OF_SHORT_ROWS) | dict.fromkeys(rows, columns)
        sizes = sizes_near(known, wanted, told)
        if sizes is not None and instances_of(known, sizes) <= CHECK_INSTANCES:
            out.append(make_case(function, known, sizes, seed=FEW_SEED + len(FEW_SIZES) + i))
    if _has_unknown_size(known):
        for i, value in enumerate(LOOSE_SIZES):
            sizes = sizes_near(known, wanted_sizes(size_names(known), min(value, 34)), told)
            if sizes is not None and instances_of(known, sizes) <= CHECK_INSTANCES:
                loose = {p.name: value for p in leaves_of(function) if _is_loose_integer(p, sizes)}
                loose |= dict.fromkeys(powers_of(function, loose), value.bit_length() - 1)
                out.append(make_case(function, known, sizes, seed=len(CHECK_SIZES) + 1 + i, loose=loose))
    if given:
        sizes = sizes_near(known, wanted_sizes(size_names(known), 20), given)
        if sizes is not None and instances_of(known, sizes) <= FIXED_INSTANCES:
            out.append(make_case(function, known, sizes, seed=len(CHECK_SIZES)))
    alike = {repr(sorted(c.values.items())): c for c in out}
    if not any(c.values for c in out):
        if instances_of(known, {}) > CHECK_INSTANCES:
            return tuple(alike.values())
        # What has no sizes is called with other data.
        alike = {str(c.seed): c for c in out[:SEEDS]}
    pool = function.conditions.constants
    strewn = [replace(c, pool=pool, seed=c.seed + STREWN) for c in [*alike.values()][-STREWN_CASES:] if pool]
    return (*alike.values(), *strewn, *odd)


def _check_sizes(
    known: tuple[KnownSizes, ...], most: int, told: Mapping[str, int]
) -> list[tuple[int, int, dict[str, int]]]:
    """The sizes of calls, each with its number and what was wanted, in which at most so many instances run; where none
    of these does anything, also the smallest calls that do: one product of large matrices is more."""
    found = [(i, x, sizes_near(known, wanted_sizes(size_names(known), x), told)) for i, x in enumerate(CHECK_SIZES)]
    counted = [(instances_of(known, sizes), (i, x, sizes)) for i, x, sizes in found if sizes is not None]
    kept = [call for count, call in counted if count <= most]
    if any(0 < count <= most for count, _ in counted):
        return kept
    alike = {repr(sorted(call[2].items())): (count, call) for count, call in counted if most < count <= FIXED_INSTANCES}
    return kept + [call for _, call in sorted(alike.values(), key=lambda x: x[0])[:FEWEST_CALLS]]


def roles_of(known: tuple[KnownSizes, ...]) -> dict[str, Role]:
    """The roles of a function's own sizes: what a loop goes to in one region is an extent in all."""
    out: dict[str, Role] = {}
    for k in known:
        for size, role in find_roles(k.scop.kernel, k.computed).items():
            name = k.sizes.get(size)
            if name is not None and (name not in out or role in ("extent", "window")):
                out[name] = role
    return {x: out.get(x, "extent") for x in size_names(known)}


def short_rows(known: tuple[KnownSizes, ...]) -> tuple[str, ...]:
    """Those of a function's own sizes that are the columns of rows, which may be few of many rows."""
    own = {k.sizes.get(x): None for k in known for x in sorted(row_lengths(k.scop.kernel))}
    return tuple(x for x in own if x is not None)


def usable_sizes(
    known: tuple[KnownSizes, ...], value: int, apart: bool = True, given: Mapping[str, int] | None = None
) -> dict[str, int] | None:
    """Sizes near `value`, all alike or a little apart, that regions allow and in which they are soon done; `given` ones
    are kept."""
    names = size_names(known)
    wanted = wanted_sizes(names, value) if apart else dict.fromkeys(names, value)
    sizes = sizes_near(known, wanted, given or {})
    return sizes if sizes is not None and instances_of(known, sizes) <= CHECK_INSTANCES else None


def _has_unknown_size(known: tuple[KnownSizes, ...]) -> bool:
    """Whether some region has a size that parameters of the function do not tell, such as what a call gives."""
    return any(set(k.scop.kernel.sizes) - k.sizes.keys() - k.computed.keys() for k in known)


def loose_names(function: CFunction, known: tuple[KnownSizes, ...]) -> tuple[str, ...]:
    """Integer parameters that no region speaks of: sizes of what was left as it is, most likely."""
    told = {c for k in known for c in k.sizes.values()} | {name for k in known for name in k.data}
    integers = [p.name for p in leaves_of(function) if p.type is not None and p.type.is_int and not p.pointer]
    return tuple(name for name in integers if name not in told)


def powers_of(function: CFunction, loose: Mapping[str, int]) -> set[str]:
    """Loose integers that two is raised to the power of."""
    return {y for x in function.regions for stage in x.stages for y in stage.powers} & {*loose}


def power_of_two(value: int) -> int:
    """The largest power of two up to a value: what transforms ask for."""
    return 1 << max(0, value.bit_length() - 1)


def is_bounded(name: str, known: tuple[KnownSizes, ...]) -> bool:
    for k in known:
        inner = {c: s for s, c in k.sizes.items()}.get(name)
        if inner is None:
            continue
        valid = busy_sizes(k.scop)
        position = valid.find_dim_by_name(isl.dim_type.param, inner)
        if position >= 0:
            line = isl.Set.from_params(valid).move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
            if line.project_out_all_params().dim_max_val(0).is_int():
                return True
    return False


def size_names(known: tuple[KnownSizes, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c for k in known for c in k.sizes.values()))


def sizes_near(
    known: tuple[KnownSizes, ...], wanted: Mapping[str, int], given: Mapping[str, int]
) -> dict[str, int] | None:
    """Sizes near `wanted` that every region allows; `given` ones are kept as they are."""
    chosen = {**wanted, **{k: v for k, v in given.items() if k in wanted}}
    asked = {k: v for k, v in given.items() if k in wanted}
    factors = {k.sizes[s] for k in known for s in find_factors(k.scop) if s in k.sizes}
    chosen |= {x: max(0, min(chosen[x], LARGEST_FACTOR)) for x in factors if x not in given}
    chosen |= {x: max(0, chosen[x]) % SHIFTED for x in _amounts(known) & chosen.keys() if x not in given}
    order = [*(n for n in chosen if n in given), *(n for n in chosen if n not in given)]
    for _ in range(3):
        before = dict(chosen)
        for k in known:
            inner = {s: chosen[c] for c in order for s, cc in k.sizes.items() if cc == c}
            scop = _with_factors(k, inner)
            picked = pick_sizes(busy_sizes(scop), inner) if max(inner.values(), default=0) > 3 else None
            if picked is None or any(picked[s] != asked.get(c, picked[s]) for s, c in k.sizes.items() if s in picked):
                # That something is done for them is less than that they are what was asked for.
                picked = pick_sizes(valid_sizes(scop), inner)
            if picked is None:
                return None
            chosen |= {k.sizes[s]: v for s, v in picked.items()}
        if chosen == before:
            break
    return {**chosen, **{k: v for k, v in given.items() if k not in chosen}}


def _amounts(known: tuple[KnownSizes, ...]) -> frozenset[str]:
    """The function's own sizes by which something is shifted."""
    return frozenset(k.sizes[x] for k in known for x in shift_amounts(k.scop.kernel) if x in k.sizes)


def _with_factors(known: KnownSizes, sizes: Mapping[str, int]) -> Scop:
    """A region's scop where the sizes that others are multiplied by are numbers."""
    factors = tuple((x, sizes[x]) for x in find_factors(known.scop) if x in sizes)
    return with_values(with_factors(known.scop, factors), known.computed) if factors else known.scop


def instances_of(known: tuple[KnownSizes, ...], sizes: Mapping[str, int]) -> int:
    return sum(count_instances(k.scop, inner_sizes(k, sizes)) for k in known)


def bytes_of(function: CFunction, case: CallCase) -> int:
    types = {p.name: p.type for p in (*leaves_of(function), *outcomes_of(function))}
    return sum(n * (t.size if (t := types[name]) is not None else 8) for name, n in case.elements.items())


def make_case(
    function: CFunction, known: tuple[KnownSizes, ...], sizes: Mapping[str, int], seed: int,
    loose: Mapping[str, int] | None = None, most_guess: int = LARGEST_GUESS,
) -> CallCase:  # fmt: skip
    """The call with the given sizes: each array as large as its declaration or the regions' accesses need; a guess
    for others is at most `most_guess`.

    `loose` are values of integers that no region knows as a size; others of these are drawn from LOOSE_RANGE.
    """
    fixed = dict(loose or {})
    equal = asserted_equal(function.conditions, {**fixed, **sizes}, loose_names(function, known))
    fixed, sizes = fixed | equal, {**sizes, **equal}
    alone = bool(known) and all(k.alone for k in known)
    leaves = leaves_of(function)
    most = {p.name: fixed.get(p.name, LOOSE_RANGE[1]) for p in leaves if _is_loose_integer(p, sizes)}
    reached: dict[str, int] = {}
    before = dict.fromkeys(entered_in(function), 0)
    rows: dict[str, int] = {}
    unsure: set[str] = set()
    factorised = any(_divides(k.scop.kernel.body) for k in known)
    chosen: dict[str, tuple[int, int]] = {}
    for k in known:
        counts = (reach_elements if alone else count_elements)(k.scop, inner_sizes(k, sizes))
        gathers = find_gathers(k.scop.kernel, inner_sizes(k, sizes)).renamed(k.arrays)
        chosen |= gathers.ranges
        reached |= {x: max(reached.get(x, 0), count) for x, count in gathers.elements.items()}
        unsure |= {c for name, c in k.arrays.items() if name not in counts}
        for name, count in counts.items():
            if name not in k.arrays:
                continue
            array, first = k.arrays[name], k.first(name, {**most, **sizes})
            if first is None:
                unsure.add(array)
            else:
                reached[array] = max(reached.get(array, 0), first + k.room(name, count))
                before |= {array: max(before[array], -first)} if array in before else {}
        rows |= _rows(k, sizes) if factorised else {}
    elements: dict[str, int] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    own = {p.name for p in leaves}
    # Sizes are given to all functions of a file.
    integers = {x: y for x, y in {**most, **sizes}.items() if x in own}
    longest = min(ROWS, 64 + 2 * max(integers.values(), default=1))
    rowed = {p.name: sizes.get(p.name + ROW, longest) for p in leaves if p.form == "rows"}
    for p in leaves:
        if not p.pointer:
            if not p.text:
                elements[p.name] = 1
            continue
        extents = _extents(p, sizes)
        if p.form == "rows":
            elements[p.name] = prod(_extents(p, {}) or (ROWS,)) * rowed[p.name]
        elif extents is not None and not p.text:
            elements[p.name] = prod(extents)
        elif extents is not None:
            sure = alone and p.name in reached and p.name not in unsure
            elements[p.name] = reached[p.name] if sure else prod(extents)
            shapes[p.name] = extents
        elif p.name in reached and p.name not in unsure:
            elements[p.name] = reached[p.name]
        else:
            raised = integers | {x: 1 << integers[x] for x in powers_of(function, integers)}
            guessed = guess_extent([*raised.values(), largest_constant(function)], most_guess)
            elements[p.name] = max(reached.get(p.name, 0), guessed)
    for array, count in before.items():
        elements[array] += count
    records = _records(function, elements)
    elements |= {p.name: prod(_extents(p, {}) or (1,)) for p in outcomes_of(function)}
    ranges = {name: LOOSE_RANGE for name in most if name not in fixed}
    # What is not told apart from an index has to be one.
    ranges |= {p.name: INDEX_RANGE for p in leaves if not p.text and p.pointer and p.type is not None and p.type.is_int}
    rises = seed % LONG_OF > 0 and any(asks_for_many(x) for x in function.regions)
    held = {x: y for x, y in held_ranges(function, LONG_RANGE if rises else INDEX_RANGE).items() if x in own}
    ranges |= held
    ranges |= {p.name: (0, 0) for p in leaves if p.form == "memory"} | chosen
    if seed % DISTANCES_OF != 0:
        ranges |= dict.fromkeys(_distances(function), DISTANCES)
    if alone and seed % WIDE_OF == WIDE_AT and not any(_may_fail(k.scop.kernel.body) for k in known):
        ranges = _whole_ranges(function) | ranges
    values: dict[str, int | float] = {
        p.name: v for p in leaves if (v := sizes.get(p.name, fixed.get(p.name))) is not None
    }
    values |= records | {array + BEFORE: count for array, count in before.items()}
    values |= {name + ROW: -length if seed % TURNED_OF == TURNED_AT else length for name, length in rowed.items()}
    square = {x: r for x, r in rows.items() if x not in shapes and _is_square(elements.get(x, 0), r)}
    rising = frozenset(held if rises else ())
    ends = find_ends(function)
    values |= {x: y for x, y in ends.scalars.items() if x not in values}
    return CallCase(values, elements, shapes, seed, ranges=ranges, rows=square, rising=rising, ends=ends.arrays)


def _records(function: CFunction, elements: dict[str, int]) -> dict[str, int]:
    """How many structures lie in each array of them, whose memory and numbers are made that large in `elements`."""
    out: dict[str, int] = {}
    for p in function.parameters:
        if p.name in spread_in(function) and isinstance(p.form, RecordParameter):
            count = max(1, -(-elements[p.name + MEMORY_OF] // p.form.size))
            elements[p.name + MEMORY_OF] = count * p.form.size
            elements |= {f"{p.name}[].{x.path}": count * x.count for x in spread_cells(p.form)}
            out[p.name + COUNT_OF] = count
    return out


def _divides(body: Block) -> bool:
    """Whether a nest divides by numbers from memory, or takes roots of them, as factorisations and solves do."""
    for x in (y for stmt in walk(body) for e in expressions(stmt) for y in walk_expr(e)):
        match x:
            case Binary(op="div", right=over) if loads(over):
                return True
            case Call(function="sqrt", arguments=arguments) if any(loads(x) for x in arguments):
                return True
            case _:
                pass
    return False


def _may_fail(body: Block) -> bool:
    """Whether a nest does what C leaves undefined for some integers, other than that sums over a loop overflow."""
    products = any(isinstance(x, Reduce) and x.op == "mul" for x in walk(body))
    return products or any(may_fail(x) or may_overflow(x) for stmt in walk(body) for x in expressions(stmt))


def _whole_ranges(function: CFunction) -> dict[str, tuple[int, int]]:
    """The bounds of wide integers in arrays: those of their types."""
    known = [(p.name, p.type) for p in function.parameters if p.pointer and p.form is None and p.type is not None]
    return {name: limits(type) for name, type in known if type.is_int and type.bits > 16}


def _rows(known: KnownSizes, sizes: Mapping[str, int]) -> dict[str, int]:
    """How far apart the rows of matrices lie, by the function's names, where a kernel reads them as such."""
    out: dict[str, int] = {}
    kernel = known.scop.kernel
    with suppress(NotAffineError):
        kernel = delinearise(kernel, settled=True)
    for array in kernel.arrays:
        if len(array.shape) == 2 and array.shape[1] is not None and array.name in known.arrays:
            row = evaluate_extent(array.shape[1], inner_sizes(known, sizes))
            out |= {known.arrays[array.name]: row} if row else {}
    return out


def _is_square(elements: int, row: int) -> bool:
    """Whether so many elements, up to the last one that is used, are as many rows as the last one has columns."""
    rows = -(-elements // row)
    return elements == (rows - 1) * row + rows


def _distances(function: CFunction) -> Iterator[str]:
    """Integer arrays that keep the least sum of two of their own elements."""
    for region in function.regions:
        names = dict(region.names)
        for stmt in walk(region.kernel.body):
            match stmt:
                case Reduce(array=array, op="min", value=Binary(op="add", left=Load() as left, right=Load() as right)):
                    if {left.array, right.array} == {array} and left.type.is_int:
                        yield names[array]
                case _:
                    pass


def _is_loose_integer(parameter: CParameter, sizes: Mapping[str, int]) -> bool:
    integer = parameter.type is not None and parameter.type.is_int
    return integer and not parameter.pointer and parameter.name not in sizes


def _extents(parameter: CParameter, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    out = []
    for extent in parameter.extents:
        value = None if extent is None else evaluate_extent(extent, sizes)
        if value is None:
            return None
        out.append(value)
    return tuple(out)
