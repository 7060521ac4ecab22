"""The loops of a Fourier transform: Stockham passes over butterflies, in natural order between passes.

A pass of radix r turns transforms of s elements, which lie s apart from each other's, into transforms of r * s. The
first one reads elements where they are, the last one writes them in their order.

>>> from planish.ir.expr import Load, index
>>> from planish.ir.text.printer import print_stmt
>>> from planish.ir.types import F64
>>> def load(part, place): return RealValue(Load("xy"[part], (place,), F64))
>>> def store(place, number, code): return set_parts("ab", (place,), number, code)
>>> made = make_passes(4, (2, 2), F64, load, store, set())
>>> [x.name for x in made.arrays], made.lanes
(['re0', 'im0', 'cosine0', 'sine0'], ('p0', 'q1'))
>>> print(print_stmt(made.body[1]).splitlines()[0])
for q1 in 0 .. 2 {
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planish.core.names import take_name
from planish.ir.accesses import values
from planish.ir.expr import Expr, Load, Var, index
from planish.ir.index.polynomial import add, mul
from planish.ir.nest import Array, Assign, Block, For, Let, Stmt
from planish.ir.traverse import variables
from planish.ir.types import Type
from planish.library.kernels.fft.butterfly import ComplexValue, RealValue, StraightLineCode, root, transform

_STACK = 1 << 15
"""Bytes that buffers may have on the stack."""

LoadPart = Callable[[int, Expr], RealValue]
"""The real (0) or imaginary part (1) of an element."""
Store = Callable[[Expr, ComplexValue, StraightLineCode], list[Stmt]]
"""What sets an element to a number."""


@dataclass(frozen=True, slots=True)
class Passes:
    """The loops of a transform, one after the other, the arrays that they need, and the loops whose iterations may run
    in lanes."""

    arrays: tuple[Array, ...]
    body: tuple[Stmt, ...]
    lanes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a butterfly stands: the transforms that are there have `done` elements, of which it joins `radix`; there
    are `left` groups of these. `group`, `element`: which of them it is."""

    radix: int
    done: int
    left: int
    group: Expr
    element: Expr

    def source(self, number: int) -> Expr:
        """Where the pass reads."""
        return add(mul(index(self.done), add(self.group, index(self.left * number))), self.element)

    def target(self, number: int) -> Expr:
        """Where the pass writes."""
        row = add(mul(index(self.radix), self.group), index(number))
        return add(mul(index(self.done), row), self.element)


def make_passes(size: int, radices: Sequence[int], type: Type, load: LoadPart, store: Store, taken: set[str]) -> Passes:
    """The passes of a transform; names that are made are `taken` then."""
    memory = "stack" if 2 * 2 * size * type.size <= _STACK else "scratch"
    buffers = [
        tuple(Array(take_name(f"{x}{n}", taken), type, (index(size),), True, memory) for x in ("re", "im"))
        for n in range(min(2, len(radices) - 1))
    ]
    arrays = [x for pair in buffers for x in pair]
    prefix = _free_prefix("t", taken)
    body: list[Stmt] = []
    lanes: list[str] = []
    done = 1
    for number, radix in enumerate(radices):
        left = size // done // radix
        last = number == len(radices) - 1
        outer = [(take_name(f"p{number}", taken), left)] if left > 1 else []
        inner = [(take_name(f"q{number}", taken), done)] if done > 1 else []
        place = _Place(radix, done, left, *(index(x[0][0]) if x else index(0) for x in (outer, inner)))
        weights = _tables(place, number, type, taken)
        arrays += weights
        code = StraightLineCode(type, prefix)
        read = load if number == 0 else _reader(buffers[(number - 1) % 2])
        write = store if last else _writer(buffers[number % 2])
        stmts = _butterfly(place, code, read, write, weights)
        made: Stmt = Block(tuple(stmts))
        for var, count in (*inner, *outer):
            made = For(var, index(0), index(count), 1, made if isinstance(made, Block) else Block((made,)))
        lanes += [x[0] for x in (inner or outer)]
        body.append(made)
        done *= radix
    return Passes(tuple(arrays), tuple(body), tuple(lanes))


def _butterfly(
    place: _Place, code: StraightLineCode, read: LoadPart, write: Store, weights: Sequence[Array]
) -> list[Stmt]:
    """The code of one butterfly, whose results are turned to their places in larger transforms."""

    def named(part: RealValue) -> RealValue:
        return part if part.value is None else code.name(part.value)

    elements = [ComplexValue(*(named(read(part, place.source(n))) for part in (0, 1))) for n in range(place.radix)]
    out: list[Stmt] = []
    for n, made in enumerate(transform(elements, code)):
        if weights and n:
            cosine, sine = (Load(x.name, (_weight(place, n),), x.type) for x in weights)
            made = code.twist(made, cosine, sine)
        out += write(place.target(n), made, code)
    return [*_needed(code.lines, out), *out]


def _needed(lines: Sequence[Let], after: Sequence[Stmt]) -> list[Let]:
    """The lines of which a later one, or what comes after, uses the value."""
    used = {x.name for stmt in after for x in values(stmt) if isinstance(x, Var)}
    out: list[Let] = []
    for line in reversed(lines):
        if line.var in used:
            out.insert(0, line)
            used |= variables(line.value)
    return out


def set_parts(arrays: Sequence[str], at: tuple[Expr, ...], number: ComplexValue, code: StraightLineCode) -> list[Stmt]:
    """Stores of a complex value's real and imaginary parts to two arrays."""
    parts = (number.real, number.imaginary)
    return [Assign(x, at, code.valued(y)) for x, y in zip(arrays, parts, strict=True)]


def _free_prefix(wanted: str, taken: set[str]) -> str:
    """What no name begins with."""
    prefix = wanted
    while any(x.startswith(prefix) for x in taken):
        prefix += "_"
    taken.add(prefix)
    return prefix


def _tables(place: _Place, number: int, type: Type, taken: set[str]) -> tuple[Array, ...]:
    """The weights of a pass, cosines and sines apart; none in the last one. Those that lanes read are neighbours."""
    if place.left == 1:
        return ()
    size = place.radix * place.left
    pairs = [(group, n) for group in range(place.left) for n in range(1, place.radix)]
    if place.done == 1:
        pairs.sort(key=lambda x: (x[1], x[0]))
    roots = [root(group * n % size, size) for group, n in pairs]
    values = {"cosine": tuple(c for c, _ in roots), "sine": tuple(0.0 - s for _, s in roots)}
    shape = (index(len(pairs)),)
    return tuple(Array(take_name(f"{x}{number}", taken), type, shape, True, "table", y) for x, y in values.items())


def _weight(place: _Place, n: int) -> Expr:
    """Where the weight of a butterfly's result is in the tables."""
    if place.done == 1:
        return add(index((n - 1) * place.left), place.group)
    return add(mul(index(place.radix - 1), place.group), index(n - 1))


def _reader(buffers: tuple[Array, ...]) -> LoadPart:
    def read(part: int, at: Expr) -> RealValue:
        return RealValue(Load(buffers[part].name, (at,), buffers[part].type))

    return read


def _writer(buffers: tuple[Array, ...]) -> Store:
    def write(at: Expr, number: ComplexValue, code: StraightLineCode) -> list[Stmt]:
        return set_parts([x.name for x in buffers], (at,), number, code)

    return write
