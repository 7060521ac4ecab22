"""Loops that pack what they keep: under which conditions, and what, over rows of elements that iterations read.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> from planish.frontend.c.translation_unit import Pack, PackedStore
>>> body = "let t = x[i] > 9:i32 v[] = select(t, x[i] + 1:i32, v[]) f[] = select(t, 1:i32, f[])"
>>> arrays = "x: i32[?] distinct, v: i32[] distinct, f: i32[] distinct"
>>> kernel = parse_kernel("kernel k(n; %s) { for i in 0 .. n { %s } }" % (arrays, body))
>>> found = find_compaction(kernel, (Pack("k", "f", (PackedStore("out + k", "v", kernel.arrays[0].type),)),))
>>> print_expr(found.packs[0].condition), print_expr(found.packs[0].values[0]), found.rows[0].step
('0[] > 9:i32', '0[] + 1:i32', 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from planish.ir.conditional_accesses import read_always
from planish.ir.expr import Expr, Load, Select, Var, type_of
from planish.ir.nest import For, Kernel
from planish.ir.traverse import loads, variables
from planish.ir.types import Type
from planish.poly.early_exit.candidates import has_lanes
from planish.poly.early_exit.exit_condition import NoExitTest, iteration_values
from planish.poly.early_exit.exit_test import FARTHEST, Placement, Row, trips_of
from planish.poly.early_exit.narrow_comparisons import narrowed

_OLD = "planish_old"
"""What a cell holds where nothing is kept."""
_STEPS = range(FARTHEST + 1)
_WHOLE = 4
"""The bytes of the smallest elements that lanes are spread to."""


class StoredElement(Protocol):
    """A cell whose value is stored, and the type of the elements; `spread`: the element that it is set to is stored
    to."""

    @property
    def value(self) -> str: ...
    @property
    def type(self) -> Type: ...
    @property
    def spread(self) -> bool: ...


class PackedElements(Protocol):
    """A cell that is set where an iteration keeps something, and what is stored then."""

    @property
    def keeps(self) -> str: ...
    @property
    def stores(self) -> Sequence[StoredElement]: ...


@dataclass(frozen=True, slots=True)
class KeptValues:
    """Where the `condition` holds, the `values` are stored; both are over the number of the iteration and elements of
    rows, as those of an `ExitTest`. Those that are `masked` are read there alone."""

    condition: Expr
    values: tuple[Expr, ...]
    masked: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class CompactionTest:
    """A loop of `trips` iterations that packs what it keeps."""

    trips: Expr
    rows: tuple[Row, ...]
    packs: tuple[KeptValues, ...]


def find_compaction(kernel: Kernel, packs: Sequence[PackedElements]) -> CompactionTest:
    """What iterations of a kernel keep. Raises NoExitTest where lanes cannot tell."""
    loop = next(x for x in kernel.body.body if isinstance(x, For))
    placement = Placement(kernel, loop)
    conditions, values = [], []
    for pack in packs:
        olds = {x.value: Var(_OLD, x.type) for x in pack.stores}
        known = iteration_values(kernel, loop, pack.keeps, olds)
        conditions.append(placement.placed(known[pack.keeps]))
        values.append([placement.placed(_kept(known[x.value])) for x in pack.stores])
    rows = placement.rows
    certain = {int(x.array) for condition in conditions for x in read_always(condition)}

    def is_certain(x: Load) -> bool:
        return int(x.array) in certain and rows[int(x.array)].step in _STEPS

    made = []
    for condition, kept, pack in zip(conditions, values, packs, strict=True):
        exact = narrowed(condition)
        if not has_lanes(exact) or not all(map(is_certain, loads(exact))) or not _moves(exact, rows):
            raise NoExitTest("lanes do not compute what it asks")
        masked = tuple(isinstance(x, Load) and not is_certain(x) and rows[int(x.array)].step == 1 for x in kept)
        for x, alone, told in zip(kept, masked, pack.stores, strict=True):
            if told.spread:
                if not isinstance(x, Load) or rows[int(x.array)].step != 1 or told.type.size < _WHOLE:
                    raise NoExitTest("what it spreads goes to no row side by side")
            elif not alone and (not has_lanes(x) or not all(map(is_certain, loads(x)))):
                raise NoExitTest("lanes do not compute what it stores")
        made.append(KeptValues(exact, tuple(kept), masked))
    return CompactionTest(trips_of(loop), rows, tuple(made))


def _moves(x: Expr, rows: Sequence[Row]) -> bool:
    return any(rows[int(y.array)].step > 0 for y in loads(x))


def _kept(x: Expr) -> Expr:
    """What a cell is set to where something is kept. Raises NoExitTest."""
    while isinstance(x, Select) and _OLD in {y for part in (x.then, x.otherwise) for y in variables(part)}:
        x = x.otherwise if x.then == Var(_OLD, type_of(x)) else x.then
    if _OLD in variables(x):
        raise NoExitTest("it stores what another iteration has left")
    return x
