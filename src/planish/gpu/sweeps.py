"""Repeated sweeps over arrays: each sweep of a time loop makes one array of another at constant distances.

>>> from planish.ir.text.parser import parse_kernel
>>> there, back = (f"for i in 1 .. n - 1 {{ {a}[i] = {b}[i - 1] + {b}[i + 1] }}" for a, b in ("BA", "AB"))
>>> kernel = parse_kernel(f"kernel k(n, s; A: f32[n], B: f32[n]) {{ for t in 0 .. s {{ {there} {back} }} }}")
>>> found = find_sweeps(kernel.body.body[0])
>>> [(x.array, sorted(x.offsets)) for x in found.sweeps]
[('B', [(-1,), (1,)]), ('A', [(-1,), (1,)])]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.ir.expr import Binary, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import constant, normal
from planish.ir.index.simplify import simplify
from planish.ir.nest import Assign, For, Kernel
from planish.ir.traverse import expressions, loads, variables, walk
from planish.ir.types import INDEX, Type

Offset = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GridSweep:
    """One sweep: it assigns `value` to each cell of a box (`lower` to `upper`, exclusive, by dimension of the array),
    from cells of `source` at the given distances, and from what does not change. `places`: what the loops' names stand
    for, as a dimension of the cell and what is taken off it."""

    array: str
    source: str
    lower: tuple[Expr, ...]
    upper: tuple[Expr, ...]
    offsets: frozenset[Offset]
    value: Expr
    places: Mapping[str, tuple[int, int]]

    def reach(self, dim: int) -> tuple[int, int]:
        """How far the cells that are read lie before and behind the one that is made, in a dimension; 0 at least."""
        along = [x[dim] for x in self.offsets]
        return max(0, *(-x for x in along)), max(0, *along)

    def distance(self, load: Load) -> Offset | None:
        """The distance of a cell of the source from the one that is made; None where there is no constant one, and
        for other arrays."""
        if load.array != self.source or len(load.index) != len(self.places):
            return None
        names = {d: (name, shift) for name, (d, shift) in self.places.items()}
        out = []
        for d, at in enumerate(load.index):
            name, shift = names[d]
            far = constant(normal(Binary("sub", at, Var(name, INDEX))))
            if far is None:
                return None
            out.append(far - shift)
        return tuple(out)


@dataclass(frozen=True, slots=True)
class RepeatedSweeps:
    """A time loop and its sweeps in order, each of which reads what the one before it has made, the first what the
    last has."""

    loop: For
    sweeps: tuple[GridSweep, ...]

    @property
    def rank(self) -> int:
        """The dimensions of the arrays."""
        return len(self.sweeps[0].lower)


class NotSweepsError(Exception):
    """Why a loop is no repetition of sweeps."""


def looks_like_sweeps(loop: For) -> bool:
    """Whether a loop holds nothing but nests, which write the same cells of arrays in each of its iterations."""
    inner = loop.body.body
    stores = [x for x in walk(loop) if isinstance(x, Assign)]
    return (
        bool(inner)
        and all(isinstance(x, For) for x in inner)
        and any(x.index for x in stores)
        and not any(loop.var in variables(y) for x in stores for y in x.index)
    )


def repetitions(kernel: Kernel) -> frozenset[str]:
    """The sizes that only say how often loops over sweeps run."""
    times = [x for x in walk(kernel.body) if isinstance(x, For) and looks_like_sweeps(x)]
    inner = [x for x in walk(kernel.body) if isinstance(x, For) and not any(x is y for y in times)]
    used = {z for x in inner for y in (x.lower, x.upper) for z in variables(y)}
    used |= {y for x in kernel.arrays for extent in x.shape if extent is not None for y in variables(extent)}
    return frozenset(y for x in times for y in variables(x.upper)) - used


def find_sweeps(loop: For) -> RepeatedSweeps:
    """The sweeps of a time loop, proven from its access relations: each array has one writer, all of whose reads of
    what changes are at constant distances in what the sweep before has made. NotSweepsError says what is otherwise."""
    if loop.step != 1:
        raise NotSweepsError(f"`{loop.var}` has steps")
    nests = [x for x in loop.body.body if isinstance(x, For)]
    if len(nests) < len(loop.body.body):
        raise NotSweepsError(f"there are statements beside the sweeps in `{loop.var}`")
    parts = [_nest(x, loop.var) for x in nests]
    written = [x.array for _, x in parts]
    if len(set(written)) < len(written):
        raise NotSweepsError("several sweeps write one array")
    if len(written) == 1:
        raise NotSweepsError(f"the sweep over `{written[0]}` reads what it writes, or does not repeat anything")
    made: list[GridSweep] = []
    for number, (loops, store) in enumerate(parts):
        made.append(_sweep(loops, store, written[number - 1], frozenset(written), loop.var))
    if len({len(x.lower) for x in made}) > 1:
        raise NotSweepsError("sweeps go over arrays of several dimensions")
    if len({y for x in made for y in _types(x)}) > 1:
        raise NotSweepsError("sweeps make elements of several types")
    return RepeatedSweeps(loop, tuple(made))


def _types(sweep: GridSweep) -> frozenset[Type]:
    """The types of what a sweep makes, and of what it reads of the sweep before."""
    read = (x.type for x in loads(sweep.value) if x.array == sweep.source)
    return frozenset((type_of(sweep.value), *read))


def _nest(outer: For, time: str) -> tuple[tuple[For, ...], Assign]:
    """The loops of a sweep and the assignment in them."""
    loops = [outer]
    while len(loops[-1].body.body) == 1 and isinstance(loops[-1].body.body[0], For):
        loops.append(loops[-1].body.body[0])
    body = loops[-1].body.body
    if len(body) != 1 or not isinstance(store := body[0], Assign):
        raise NotSweepsError(f"what is in `{loops[-1].var}` is not one assignment")
    own = {time, *(x.var for x in loops)}
    for x in loops:
        if x.step != 1 or any(variables(y) & own or loads(y) for y in (x.lower, x.upper)):
            raise NotSweepsError(f"`{x.var}` has steps, or its bounds change")
    return tuple(loops), store


def _sweep(loops: tuple[For, ...], store: Assign, source: str, written: frozenset[str], time: str) -> GridSweep:
    if len(store.index) != len(loops):
        raise NotSweepsError(f"`{store.array}` has other dimensions than loops around it")
    if any(time in variables(x) for x in expressions(store)):
        raise NotSweepsError(f"what is made depends on `{time}`")
    places: dict[str, tuple[int, int]] = {}
    lower: list[Expr] = []
    upper: list[Expr] = []
    for d, at in enumerate(store.index):
        for x in loops:
            shift = constant(normal(Binary("sub", at, Var(x.var, INDEX))))
            if shift is not None and x.var not in places:
                places[x.var] = (d, shift)
                lower.append(simplify(Binary("add", x.lower, index(shift))))
                upper.append(simplify(Binary("add", x.upper, index(shift))))
                break
        else:
            raise NotSweepsError(f"subscripts of `{store.array}` are not loops of the sweep")
    bare = GridSweep(store.array, source, tuple(lower), tuple(upper), frozenset(), store.value, places)
    offsets: set[Offset] = set()
    for load in loads(store.value):
        # The cells of a rim that no sweep makes hold any values: as subscripts, they would be places anywhere.
        if any(x.array in written for at in load.index for x in loads(at)):
            raise NotSweepsError(f"subscripts of `{load.array}` are read from what sweeps make")
        if load.array not in written:
            continue
        if load.array != source:
            raise NotSweepsError(f"`{store.array}` is made of `{load.array}`, which is not what the sweep before makes")
        far = bare.distance(load)
        if far is None:
            raise NotSweepsError(f"`{load.array}` is read at distances that are not constant")
        offsets.add(far)
    if not offsets:
        raise NotSweepsError(f"`{store.array}` is not made of `{source}`")
    return GridSweep(store.array, source, tuple(lower), tuple(upper), frozenset(offsets), store.value, places)
