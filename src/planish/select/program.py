"""A selected program: registers, each made by a load, a constant, a broadcast or an instruction; equal ones are one.

>>> maker = RegisterProgram()
>>> a = maker.make("load", 128, ("p", 0))
>>> a is maker.make("load", 128, ("p", 0)), maker.make("call", 128, ("vaddq_u8", ()), (a, a)).args == (a, a)
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["load", "masked load", "masked", "constant", "splat", "scalar", "call", "part"]


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A register, mask or scalar. `detail`: (row, bit offset) of a load; (width, lanes) of a constant; (width, term) of
    a splat; (entry, fixed immediates) of a call, whose arguments are its operands in order; (first bit,) of a part of a
    register, which has a name of its own; (row, bit offset, width) of a masked load, whose argument says which lanes
    are read; (width,) of a register of which the lanes are stored that the second argument says."""

    kind: Kind
    bits: int
    detail: tuple[object, ...]
    args: tuple[Value, ...] = ()

    def __repr__(self) -> str:
        return f"{self.kind}{self.detail}({', '.join(map(repr, self.args))})"


@dataclass(slots=True)
class RegisterProgram:
    """Makes values, equal ones once."""

    _known: dict[tuple[object, ...], Value] = field(default_factory=dict)

    def make(self, kind: Kind, bits: int, detail: tuple[object, ...], args: Sequence[Value] = ()) -> Value:
        """The value of a kind."""
        key = (kind, bits, detail, *map(id, args))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Value(kind, bits, detail, tuple(args))
        return found


def in_order(roots: Sequence[Value]) -> Iterator[Value]:
    """All values that some are made of, arguments first."""
    seen: set[int] = set()
    stack = [(x, False) for x in reversed(roots)]
    while stack:
        x, done = stack.pop()
        if done:
            yield x
        elif id(x) not in seen:
            seen.add(id(x))
            stack.append((x, True))
            stack += [(y, False) for y in reversed(x.args)]
