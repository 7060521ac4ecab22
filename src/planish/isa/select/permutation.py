"""Reads a kernel that is a permutation of elements, or sums of them: the source element of each lane.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel t(ld; d: f32[4, 4], s: f32[4, ld]) { for l in 0 .. 4 { for q in 0 .. 4 { d[q, l] = s[l, q] } } }"
>>> found = read_movement(parse_kernel(text), 16)
>>> found.target.lanes, found.order, [x.row for x in found.targets]
(('k0', 'k1', 'r0', 'r1'), ('k2', 'k3'), [0, 1, 2, 3])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from planish.ir.expr import Binary, Const, Expr, Load, Var
from planish.ir.nest import Array, Assign, For, Kernel, Reduce, Stmt
from planish.ir.text.printer import print_expr
from planish.ir.types import INDEX, Type
from planish.isa.select.lane_values import NoCover, leaves_of
from planish.isa.select.permute_instructions import linear_of
from planish.isa.select.vector_layouts import VectorLayout

MOVED = "planish_v"
"""What stands for the element that is moved in `Movement.value`."""

_MOST_TURNS, _MOST_MOVES = 64, 1024


@dataclass(frozen=True, slots=True)
class ArrayRow:
    """A row of an array, from an element on."""

    array: Array
    row: int
    start: int = 0

    def address(self, place: int = 0) -> str:
        """Where an element of it is, in C, with names in braces."""
        place += self.start
        return f"({self.begin} + {place})" if place else self.begin

    @property
    def begin(self) -> str:
        """Where the row of the array begins."""
        name = f"{{{self.array.name}}}"
        if not self.row:
            return name
        match self.array.shape[-1]:
            case Const(value=stride):
                return f"({name} + {self.row * int(stride)})"
            case Var(name=stride):
                return f"({name} + {f'{self.row} * ' if self.row > 1 else ''}{{{stride}}})"
            case _:
                raise NoCover("rows at no constant distance")


@dataclass(frozen=True, slots=True)
class Movement:
    """`target`: the layout that is wanted, of rows of `sources`. `targets`: a row for each register, whose number has
    the bits that `order` names, the lowest first; or for sums an element for each lane, from the first one on. `value`:
    what becomes of an element, with `MOVED[l]` for it; `sums`: whether that is added to what is there."""

    target: VectorLayout
    sources: tuple[ArrayRow, ...]
    targets: tuple[ArrayRow, ...]
    order: tuple[str, ...]
    value: Expr
    type: Type
    sums: bool


_Place = tuple[str, int, int]
"""An array, a row of it, and an element there."""


@dataclass(frozen=True, slots=True)
class _Move:
    target: _Place
    source: _Place
    value: Expr
    sums: bool


def read_movement(kernel: Kernel, size: int) -> Movement:
    """The movement of a kernel, in registers of so many bytes; NoCover for what is none."""
    arrays = {x.name: x for x in kernel.arrays}
    moves = []
    for x in _moves(kernel.body.body, {}, arrays):
        moves.append(x)
        if len(moves) > _MOST_MOVES:
            raise NoCover("it moves too many elements")
    if not moves or len({(x.value, x.sums) for x in moves}) != 1:
        raise NoCover("not all elements become the same")
    if {x.target[0] for x in moves} & {x.source[0] for x in moves}:
        raise NoCover("it reads what it has written")
    types = {arrays[name].type for x in moves for name, _, _ in (x.target, x.source)}
    if len(types) != 1:
        raise NoCover("elements of several types")
    (kind,) = types
    made = _read_sums if moves[0].sums else _read_moves
    return made(moves, arrays, kind, size)


def _read_moves(moves: list[_Move], arrays: Mapping[str, Array], kind: Type, size: int) -> Movement:
    lanes = size * 8 // kind.bits
    read = _Numbers.of([x.source for x in moves], arrays)
    written = _Numbers.of([x.target for x in moves], arrays, lanes)
    table = {written.number(x.target): read.number(x.source) for x in moves}
    if len(table) != len(moves) or written.columns != lanes:
        raise NoCover("it does not write whole registers")
    names = _named([table[i] for i in range(len(moves))], read, kind)
    bits = size.bit_length() - 1
    target = VectorLayout(names[:bits], frozenset(names[bits:]))
    return Movement(target, read.rows, written.rows, names[bits:], moves[0].value, kind, False)


def _read_sums(moves: list[_Move], arrays: Mapping[str, Array], kind: Type, size: int) -> Movement:
    read = _Numbers.of([x.source for x in moves], arrays)
    parts: dict[_Place, list[int]] = {}
    for x in moves:
        parts.setdefault(x.target, []).append(read.number(x.source))
    if read.columns * kind.bits != size * 8 or any(len(set(x)) != read.columns for x in parts.values()):
        raise NoCover("sums that are not of whole registers")
    if not _is_linear(moves[0].value):
        raise NoCover("sums of more than products")
    names = _named([y for x in parts.values() for y in sorted(x)], read, kind)
    bits, element = size.bit_length() - 1, element_bits(kind)
    blank = bits - element - len(names[bits:])
    if blank < 0:
        raise NoCover("more sums than lanes")
    lanes = (*names[:element], *names[bits:], *[""] * blank)
    target = VectorLayout(lanes, frozenset(), frozenset(names[element:bits]))
    rows = tuple(ArrayRow(arrays[name], row, column) for name, row, column in parts)
    return Movement(target, read.rows, rows, (), moves[0].value, kind, True)


def _is_linear(x: Expr) -> bool:
    """Whether the sum of values is the value of the sum: an element, or a scalar's product with it."""
    match x:
        case Load() | Binary("mul", Load(), Var()) | Binary("mul", Var(), Load()):
            return True
        case _:
            return False


def element_bits(kind: Type) -> int:
    """How many of the lowest bits of an address are within an element."""
    return (kind.bits // 8).bit_length() - 1


def _named(table: list[int], read: _Numbers, kind: Type) -> tuple[str, ...]:
    """The names of the bits of addresses of what is written."""
    steer = linear_of(np.array(table))
    if steer is None or steer.flip:
        raise NoCover("elements do not move by the bits of their addresses")
    element = element_bits(kind)
    return (*(f"k{i}" for i in range(element)), *(read.name(bit, element) for bit in steer.take))


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Rows of so many elements each, one after another; of arrays' rows, or of pieces of these."""

    rows: tuple[ArrayRow, ...]
    columns: int
    found: Mapping[_Place, int]

    @classmethod
    def of(cls, places: list[_Place], arrays: Mapping[str, Array], most: int = 0) -> _Numbers:
        by_row: dict[_Place, set[int]] = {}
        for name, row, column in places:
            start = column // most * most if most else 0
            by_row.setdefault((name, row, start), set()).add(column - start)
        columns = {frozenset(x) for x in by_row.values()}
        (used,) = columns if len(columns) == 1 else (frozenset((-1,)),)
        if set(used) != set(range(len(used))) or len(used).bit_count() != 1 or len(by_row).bit_count() != 1:
            raise NoCover("rows that are not of two, four, eight … elements from the first one on, or as many rows")
        known = list(arrays)
        order = sorted(by_row, key=lambda x: (known.index(x[0]), *x[1:]))
        rows = tuple(ArrayRow(arrays[name], row, start) for name, row, start in order)
        return cls(rows, len(used), {x: number for number, x in enumerate(order)})

    def number(self, place: _Place) -> int:
        name, row, column = place
        start = column // self.columns * self.columns
        return self.found[name, row, start] * self.columns + column - start

    def name(self, bit: int, element: int) -> str:
        inside = self.columns.bit_length() - 1
        return f"k{element + bit}" if bit < inside else f"r{bit - inside}"


def _moves(body: tuple[Stmt, ...], counters: dict[str, int], arrays: Mapping[str, Array]) -> Iterator[_Move]:
    for x in body:
        match x:
            case For(lower=Const(value=0), step=1, upper=Const(value=count)) if count <= _MOST_TURNS:
                for turn in range(int(count)):
                    yield from _moves(x.body.body, {**counters, x.var: turn}, arrays)
            case Assign() | Reduce(op="add"):
                yield _move(x, counters, arrays)
            case _:
                raise NoCover("it is more than loops over assignments")


def _move(x: Assign | Reduce, counters: Mapping[str, int], arrays: Mapping[str, Array]) -> _Move:
    loads = [y for y in leaves_of(x.value) if isinstance(y, Load)]
    if len(loads) != 1 or any(y.name in counters for y in leaves_of(x.value) if isinstance(y, Var)):
        raise NoCover("it is not made of one element each")
    (load,) = loads
    moved = Load(MOVED, (Var("l", INDEX),), load.type)
    value = _with(x.value, load, moved)
    source = _place(load.array, load.index, counters, arrays)
    return _Move(_place(x.array, x.index, counters, arrays), source, value, isinstance(x, Reduce))


def _with(x: Expr, old: Expr, new: Expr) -> Expr:
    match x:
        case Load():
            return new if x == old else x
        case Binary(left=left, right=right):
            return replace(x, left=_with(left, old, new), right=_with(right, old, new))
        case Var() | Const():
            return x
        case _:
            raise NoCover(print_expr(x))


def _place(name: str, index: tuple[Expr, ...], counters: Mapping[str, int], arrays: Mapping[str, Array]) -> _Place:
    numbers = [_number(x, counters) for x in index]
    if any(x < 0 for x in numbers):
        raise NoCover("elements before the first one")
    if len(numbers) == 1:
        return name, 0, numbers[0]
    if len(numbers) != 2 or not isinstance(arrays[name].shape[1], Const | Var):
        raise NoCover("an array of neither one nor two dimensions")
    return name, numbers[0], numbers[1]


def _number(x: Expr, counters: Mapping[str, int]) -> int:
    match x:
        case Const(value=value):
            return int(value)
        case Var(name=name) if name in counters:
            return counters[name]
        case Binary(op="add", left=left, right=right):
            return _number(left, counters) + _number(right, counters)
        case Binary(op="mul", left=left, right=right):
            return _number(left, counters) * _number(right, counters)
        case _:
            raise NoCover(f"the subscript {print_expr(x)}")
