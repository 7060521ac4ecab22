"""The nests of a kernel in strips of one row, each with the programs that are selected for its pieces.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.select.instruction import extension_of
>>> from planish.target.load import load_target
>>> text = '''kernel k(n, m; A: u8[m, n], B: u8[n]) { alloc s: u8[max(n, 0)] for c in 0 .. n {
...   s[c] = 7:u8 for i in 0 .. m { s[c] = max(s[c], A[i, c]) } B[c] = s[c] } }'''
>>> (found,) = select_nests(parse_kernel(text), extension_of(load_target("aarch64-neon")))
>>> found.lanes, len(found.pieces), found.left
(16, 4, ())
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from planish.ir.nest import Array, For, Kernel
from planish.ir.traverse import walk
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.accumulated_loops import AccumulatedLoop
from planish.library.loops.vector_strips.narrow_elements import own_arrays
from planish.library.loops.vector_strips.reduction_nests import ReductionNest
from planish.library.loops.vector_strips.reduction_strips import strip_reduction
from planish.library.loops.vector_strips.selected_accumulators import (
    find_narrow_accumulated,
    lanes_of_terms,
    select_accumulation,
)
from planish.library.loops.vector_strips.selected_strips import (
    find_reduced,
    find_strips,
    lanes_of,
    lanes_of_reduction,
)
from planish.library.loops.vector_strips.strip_nest import Part, StripNest, lane_loop
from planish.select.instruction import Selected, VectorExtension, select_strip


@dataclass(frozen=True, slots=True)
class SelectedNest:
    """A loop in strips of so many lanes: the programs of its pieces, and why others have none."""

    stmt: For
    lanes: int
    pieces: tuple[Selected, ...]
    left: tuple[str, ...]


def select_nests(kernel: Kernel, registers: VectorExtension) -> Iterator[SelectedNest]:
    """All nests of a kernel that strips are made of, each in the first way in which all of it has instructions."""
    taken: set[int] = set()
    found: tuple[StripNest | ReductionNest | AccumulatedLoop, ...] = (
        *find_strips(kernel), *find_reduced(kernel), *find_narrow_accumulated(kernel, registers),
    )  # fmt: skip
    for x in found:
        if id(x.stmt) not in taken:
            taken |= {id(y) for y in walk(x.stmt)}
            ways = (_selected(kernel, registers, y) for y in found if y.stmt is x.stmt)
            first = next(ways)
            yield first if not first.left else next((y for y in ways if not y.left), first)


def _selected(
    kernel: Kernel, registers: VectorExtension, nest: StripNest | ReductionNest | AccumulatedLoop
) -> SelectedNest:  # fmt: skip
    chosen = _Chosen(kernel, registers)
    left: dict[str, None] = {}
    lanes, pieces = 0, tuple[Selected, ...]()
    try:
        match nest:
            case StripNest():
                lanes = lanes_of(nest, kernel, registers)
                chosen.choose(lambda first, last: lane_loop(nest, lanes), 1, ())
                pieces = (*chosen.known.values(),)
            case ReductionNest():
                lanes = lanes_of_reduction(nest, kernel, registers)
                made = strip_reduction(nest, lanes, 1, chosen.choose, left)
                used = dict.fromkeys(y.facts.instruction for x in made for y in walk(x) if isinstance(y, For))
                pieces = tuple(chosen.known[x] for x in used if x)
            case AccumulatedLoop():
                lanes = lanes_of_terms(nest, kernel, registers)
                pieces = select_accumulation(nest, kernel, registers).programs
    except NoCover as error:
        left[str(error)] = None
    return SelectedNest(nest.stmt, lanes, pieces, tuple(left))


@dataclass(slots=True)
class _Chosen:
    kernel: Kernel
    registers: VectorExtension
    known: dict[str, Selected] = field(default_factory=dict)

    def choose(self, part: Part, rows: int, cells: Sequence[Array]) -> tuple[str, float]:
        arrays = {x.name: x for x in (*self.kernel.arrays, *own_arrays(self.kernel), *cells)}
        found = select_strip(part(0, rows), arrays, self.registers)
        self.known[found.instruction.name] = found
        return found.instruction.name, found.cost
