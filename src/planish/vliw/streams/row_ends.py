"""The ends of rows: what becomes of a last vector that has more lanes than there are iterations left.

>>> from planish.ir.text.parser import parse_kernel
>>> kernel = parse_kernel("kernel f(A: f32[3, 40]) { for i in 0 .. 3 { for j in 0 .. 40 { A[i, j] = 0.0 } } }")
>>> inner = next(x for x in walk(kernel.body) if isinstance(x, For) and x.var == "j")
>>> ends = RowEnds(kernel, inner, 32, False, {x.name: x for x in kernel.arrays})
>>> ends.last_vector(), ends.arrays["A"].shape[-1].value
('padding', 64)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.ir.accesses import reads
from planish.ir.expr import Expr, Var, index
from planish.ir.index.interval import range_of
from planish.ir.index.polynomial import add, build, constant, extremum, floordiv, linear_in, mul, names, sub
from planish.ir.index.ranges import extreme
from planish.ir.index.simplify import simplify
from planish.ir.nest import Array, Assign, Block, For, If, Kernel, Reduce
from planish.ir.traverse import expressions, loads, variables, walk
from planish.ir.types import INDEX
from planish.vliw.streams.addresses import PITCH
from planish.vliw.streams.stream import RefusedError


def trip_of(loop: For, around: Sequence[For]) -> Expr:
    """How often a loop runs in loops around it, outer ones first: never less than 0, whatever its bounds are."""
    span = simplify(sub(loop.upper, loop.lower))
    least = extreme(span, around, False)
    if least is not None and range_of(simplify(least), {}, True)[0] >= 0:
        return span
    return extremum("max", span, index(0))


@dataclass(slots=True)
class RowEnds:
    """The rows that a loop in lanes stores to. `is_sum`: it adds to sums; `arrays`: all of them by name, with padding
    where they have got some; `plain`: those that have, as they were; `sizes`: new ones, which follow from others;
    `exact`: none may get any."""

    kernel: Kernel
    loop: For
    lanes: int
    is_sum: bool
    arrays: dict[str, Array]
    plain: dict[str, Array] = field(default_factory=dict)
    sizes: dict[str, Expr] = field(default_factory=dict)
    exact: bool = False

    def last_vector(self) -> str:
        """What becomes of lanes beyond the last iteration: "none" (there are none), "padding" (they compute what is
        stored behind a row), "overlap" (the last vector repeats some iterations), "rest" (no vector, one by one)."""
        loop = self.loop
        trip = constant(sub(loop.upper, loop.lower))
        if loop.step != 1:
            raise RefusedError(f"`{loop.var}` goes on by {loop.step}: lanes are no neighbours", loop.span)
        if trip is not None and trip % self.lanes == 0:
            return "none"
        if self.is_sum:
            return "rest"
        if not self.exact and all(self.has_padding(x) for x in self.stores()):
            for x in self.stores():
                self.pad(x)
            return "padding"
        if trip is not None and trip >= self.lanes and self.may_repeat():
            return "overlap"
        if self.exact:
            return "rest"
        name = next(x.array for x in self.stores() if not self.has_padding(x))
        raise RefusedError(f"the last vector of `{loop.var}` would store to `{name}` beyond its elements", loop.span)

    def stores(self) -> list[Assign | Reduce]:
        """What is stored to memory in the loop."""
        return [x for x in walk(self.loop) if isinstance(x, Assign | Reduce) and self.arrays[x.array].shape]

    def may_repeat(self) -> bool:
        """Whether an iteration may run twice: nothing that it stores is read in it."""
        stored = {x.array for x in self.stores()}
        read = {y.array for y in reads(self.loop)}
        read |= {x.array for x in self.stores() if isinstance(x, Reduce)}
        return not stored & read

    def has_padding(self, stmt: Assign | Reduce) -> bool:
        """Whether what is stored beyond the last iteration lies behind a row, where the array has nothing. A row ends
        where it is declared to, one without a length where the last access of it is."""
        loop, array = self.loop, self.arrays[stmt.array]
        apart = linear_in(stmt.index[-1], loop.var)
        if apart is None or apart[0] != {(): 1} or any(loop.var in variables(x) for x in stmt.index[:-1]):
            return False
        end = add(apart[1], loop.upper)
        own = self.plain.get(array.name, array).shape[-1]
        if own is not None:
            return constant(sub(end, own)) == 0
        return len(array.shape) == 1 and self.nothing_beyond(array.name, end)

    def nothing_beyond(self, name: str, end: Expr) -> bool:
        """Whether no access of an array reaches the element with some number, or one behind it."""
        for most in _reaches(self.kernel.body, name, {}):
            if most is None:
                return False
            gap = constant(sub(end, most))
            if gap is None or gap < 1:
                return False
        return True

    def pad(self, stmt: Assign | Reduce) -> None:
        """Rows get as many elements more as the last vector stores there, unless they have them."""
        array = self.arrays[stmt.array]
        plain = self.plain.get(array.name, array)
        row = plain.shape[-1]
        if len(plain.shape) < 2 or row is None:
            return
        loop, lanes = self.loop, index(self.lanes)
        apart = linear_in(stmt.index[-1], loop.var)
        assert apart is not None
        whole = constant(add(apart[1], loop.lower)) == 0
        if whole and array is not plain:
            return
        needed = row if whole else add(row, lanes)
        pitch = simplify(mul(floordiv(add(needed, index(self.lanes - 1)), lanes), lanes))
        if constant(pitch) is None:
            name = f"{array.name}{PITCH}"
            self.sizes[name] = pitch
            pitch = Var(name, INDEX)
        self.plain[array.name] = plain
        self.arrays[array.name] = replace(array, shape=(*array.shape[:-1], pitch))


def _reaches(block: Block, name: str, bounds: Mapping[str, tuple[Expr, Expr]]) -> list[Expr | None]:
    """The greatest last subscript of each access of an array; None where it is not seen."""
    out: list[Expr | None] = []
    for stmt in block.body:
        own = [stmt.index] if isinstance(stmt, Assign | Reduce) and stmt.array == name else []
        own += [x.index for e in expressions(stmt) for x in loads(e) if x.array == name]
        out += [_greatest(x[-1], bounds) for x in own if x]
        match stmt:
            case For(var=var, lower=lower, upper=upper, body=body):
                out += _reaches(body, name, {**bounds, var: (lower, sub(upper, index(1)))})
            case If(then=then, otherwise=otherwise):
                out += _reaches(then, name, bounds) + _reaches(otherwise, name, bounds)
            case Block():
                out += _reaches(stmt, name, bounds)
            case _:
                pass
    return out


def _greatest(x: Expr, bounds: Mapping[str, tuple[Expr, Expr]]) -> Expr | None:
    """The greatest value of a subscript, where it moves with loops by numbers."""
    for _ in range(len(bounds) + 1):
        moving = names(x) & bounds.keys()
        if not moving:
            return x
        # The innermost first: its bounds may depend on the others.
        var = [y for y in bounds if y in moving][-1]
        apart = linear_in(x, var)
        factor = constant(build(apart[0])) if apart is not None else None
        if apart is None or factor is None:
            return None
        x = add(mul(index(factor), bounds[var][1 if factor > 0 else 0]), apart[1])
    return None
