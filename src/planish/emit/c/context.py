"""The context of an expression in C: the names' spelling, and the known ranges of integers.

>>> from planish.ir.expr import index
>>> from planish.ir.nest import Block, For
>>> inner = EmitContext(known={"n": (1, 99)}).inside(For("i", index(0), index("n"), 4, Block(())))
>>> inner.known["i"], inner.residues["i"]
((0, 98), (4, 0))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import gcd

from planish.ir.accesses import values
from planish.ir.expr import Binary, Compare, Expr, Unary, Var, index, type_of
from planish.ir.index.congruence import Residue, Residues, residue, residue_of
from planish.ir.index.interval import Interval, range_of
from planish.ir.index.polynomial import polynomial, sub
from planish.ir.nest import For, Kernel, Reduce
from planish.ir.semantics.arithmetic import limits
from planish.ir.traverse import walk, walk_expr
from planish.ir.types import INDEX, Type

HUGE = 1 << 40
"""No size is larger: arithmetic on iterators then stays within 64 bits, and its sign can be told."""


@dataclass(frozen=True, slots=True)
class EmitContext:
    """How names are spelt in C, which arrays are cells behind a pointer, and what is known of integers.

    `known` are ranges that hold, `seen` those that a C compiler finds by itself (it does not know what was assumed of
    sizes), `residues` the residue classes. `lanes`: functions are to be such as compilers make lanes of, which may
    round otherwise than those of C's library. `flat`: arrays whose rows C is not told of, and their extents. `apart`:
    products of floats are rounded before they are used, whatever a compiler is inclined to do. `low`: the low 32 bits
    of iterators, where a compiler would make lanes of 64 bits first.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    cells: frozenset[str] = frozenset()
    known: Mapping[str, Interval] = field(default_factory=dict)
    seen: Mapping[str, Interval] = field(default_factory=dict)
    residues: Residues = field(default_factory=dict)
    lanes: bool = False
    flat: Mapping[str, tuple[Expr | None, ...]] = field(default_factory=dict)
    apart: bool = False
    low: Mapping[str, str] = field(default_factory=dict)

    def with_name(self, name: str, spelling: str) -> EmitContext:
        """The context with another spelling of a name."""
        return replace(self, names={**self.names, name: spelling})

    def with_value(self, name: str, value: Expr) -> EmitContext:
        """The context with a name for the value of an integer expression."""
        return self._where(name, *self._ranges(value), residue_of(value, self.residues))

    def inside(self, loop: For) -> EmitContext:
        """The context in a loop's body."""
        lower, upper = self._ranges(loop.lower), self._ranges(loop.upper)
        known, seen = ((a[0], max(a[0], b[1] - 1)) for a, b in zip(lower, upper, strict=True))
        modulus, remainder = residue_of(loop.lower, self.residues)
        return self._where(loop.var, known, seen, residue(gcd(modulus, loop.step), remainder))

    def _ranges(self, expr: Expr) -> tuple[Interval, Interval]:
        return range_of(expr, self.known), range_of(expr, self.seen)

    def _where(self, name: str, known: Interval, seen: Interval, modulo: Residue) -> EmitContext:
        return replace(
            self,
            known={**self.known, name: known},
            seen={**self.seen, name: seen},
            residues={**self.residues, name: modulo},
        )


def size_ranges(kernel: Kernel, types: Mapping[str, Type] | None = None) -> dict[str, tuple[int, int]]:
    """Where the sizes lie: what the assumptions say of one (`n >= 1`, `n - 1 >= 0` and the like), what the `types` hold
    that they have where the kernel is called, and that memory is finite.

    >>> from planish.ir.text.parser import parse_kernel
    >>> from planish.ir.types import I32
    >>> kernel = parse_kernel("kernel k(n, m; A: f32[n]) assume m - 1 >= 0 assume 2 * n < 9 { A[0] = 1.0:f32 }")
    >>> size_ranges(kernel, {"m": I32})["m"], size_ranges(kernel)["n"][1]
    ((1, 2147483647), 4)
    """
    out = {x: limits((types or {})[x]) if x in (types or {}) else (-HUGE, HUGE) for x in kernel.sizes}
    for assumption in kernel.assumptions:
        match assumption:
            case Compare(op="ge" | "gt" | "le" | "lt" as op, left=left, right=right) if type_of(left) == INDEX:
                # What is not negative: a number times a size, and a constant.
                more = sub(left, right) if op in ("ge", "gt") else sub(right, left)
                terms = dict(polynomial(sub(more, index(int(op in ("gt", "lt"))))))
                rest = terms.pop((), 0)
            case _:
                continue
        match list(terms.items()):
            case [((Var(name=name),), times)] if name in out:
                low, high = out[name]
                out[name] = (max(low, -(rest // times)), high) if times > 0 else (low, min(high, rest // -times))
            case _:
                pass
    return out


def adds_in(expr: Expr) -> bool:
    """Whether floats are added or subtracted in an expression."""
    return any(isinstance(x, Binary) and x.op in ("add", "sub") and type_of(x).is_float for x in walk_expr(expr))


def adds_and_subtracts(kernel: Kernel) -> bool:
    """Whether floats are added and subtracted: only then may a compiler take both for one operation in lanes."""
    parts = list(values(kernel.body))
    signs = {x.op for x in parts if isinstance(x, Binary) and type_of(x).is_float}
    sums = {x.op for x in walk(kernel.body) if isinstance(x, Reduce)}
    less = "sub" in signs or any(isinstance(x, Unary) and x.op == "neg" and type_of(x).is_float for x in parts)
    return less and "add" in signs | sums
