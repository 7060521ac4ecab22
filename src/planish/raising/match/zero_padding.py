"""Zero padding: sums that leave out elements beyond the border become sums over a copy padded with zeros.

Before: if 0 <= x + s - 1 && x + s - 1 < h { O[x] += X[x + s - 1] * W[s] }
After:  P = 0;  P[x + 1] = X[x];  O[x] += P[x + s] * W[s]

What meets the border is multiplied by zero: a factor that is infinite or no number makes a NaN there.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> nest = "for x in 0 .. n { for s in 0 .. 3 { if x + s >= 1 && x + s <= h { O[x] += X[x + s - 1] * W[s] } } }"
>>> found = with_borders(parse_kernel(f"kernel k(n, h; X: f32[h], W: f32[3], O: f32[n]) {{ {nest} }}"))
>>> for stmt in found.kernel.body.body:
...     print(print_stmt(stmt).strip())
for i in 0 .. n + 2 {
  padded[i] = 0.0:f32
}
for i in 0 .. min(h, n + 1) {
  padded[i + 1] = X[i]
}
for x in 0 .. n {
  for s in 0 .. 3 {
    O[x] += padded[x + s] * W[s]
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Var, index
from planish.ir.index.polynomial import add, build, constant, extremum, mul, normal, polynomial, same, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import loads, may_fail, variables, walk
from planish.ir.types import BOOL


@dataclass(frozen=True, slots=True)
class Bordered:
    """A kernel with copies of arrays that have a border, the names of which are among those of its arrays."""

    kernel: Kernel
    copies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Border:
    """How far each dimension of an array is seen before its begin, and over how many elements; None for one that is
    never seen beyond."""

    array: Array
    before: tuple[int, ...]
    reach: tuple[Expr | None, ...]

    def shape(self) -> tuple[Expr, ...]:
        """The extents with the border."""
        return tuple(y if x is None else x for x, y in zip(self.reach, self.array.shape, strict=True) if y is not None)


def with_borders(kernel: Kernel) -> Bordered | None:
    """The kernel whose sums see all of an array that has a border; None where there is no sum that stops at one, or
    where the array is written. That nothing else is used outside of its array where the sums did nothing is proven, or
    assumed of the sizes."""
    rewrite = _Rewrite(kernel)
    body = tuple(rewrite.visit(x, ()) for x in kernel.body.body)
    made = rewrite.made
    if not made:
        return None
    fresh = [Array(name, border.array.type, border.shape(), distinct=True) for border, name in made.items()]
    first = [x for border, name in made.items() for x in _filled(border, name, rewrite.taken)]
    asked = [*rewrite.asked, *(Compare("ge", normal(x), index(0)) for border in made for x in border.shape())]
    whole = replace(
        kernel, arrays=(*kernel.arrays, *fresh), body=Block((*first, *body)),
        assumptions=tuple(dict.fromkeys((*kernel.assumptions, *asked))),
    )  # fmt: skip
    return Bordered(whole, tuple(made.values()))


@dataclass(slots=True)
class _Rewrite:
    """A kernel on its way: the arrays that get a border with the names of their copies, what has to hold of the sizes,
    and names in use."""

    kernel: Kernel
    made: dict[_Border, str] = field(default_factory=dict)
    asked: list[Expr] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        kernel = self.kernel
        self.taken = {x.name for x in kernel.arrays} | {x.name for x in kernel.scalars} | {*kernel.sizes}
        self.taken |= {x.var for x in walk(kernel.body) if isinstance(x, For | Let)}
        self.taken |= {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}

    def visit(self, stmt: Stmt, loops: tuple[For, ...]) -> Stmt:
        """The statement without conditions that keep a sum inside of an array."""
        match stmt:
            case Block(body=body):
                return replace(stmt, body=tuple(self.visit(x, loops) for x in body))
            case For(body=inner):
                return replace(stmt, body=Block(tuple(self.visit(x, (*loops, stmt)) for x in inner.body)))
            case If():
                return self.without_conditions(stmt, loops) or stmt
            case _:
                return stmt

    def without_conditions(self, stmt: If, loops: Sequence[For]) -> Stmt | None:
        """The update that stands under conditions which all keep one of its factors inside of an array, with the array
        that has a border; None for any other statement."""
        conditions: list[Expr] = []
        inner: Stmt = stmt
        while isinstance(inner, If) and not inner.otherwise.body and len(inner.then.body) == 1:
            conditions += _conjuncts(inner.condition)
            inner = inner.then.body[0]
        if not (isinstance(inner, Reduce) and inner.op == "add" and isinstance(inner.value, Binary)):
            return None
        left, right = inner.value.left, inner.value.right
        written = {x.array for x in walk(self.kernel.body) if isinstance(x, Assign | Reduce)}
        arrays = {x.name: x for x in self.kernel.arrays if x.name not in written and None not in x.shape}
        for load, other in ((left, right), (right, left)):
            if inner.value.op != "mul" or not isinstance(load, Load) or load.array not in arrays:
                continue
            border = _find_border(load, arrays[load.array], conditions, loops)
            asked = None if border is None else self.inside(inner, load, other, border, loops)
            if border is not None and asked is not None:
                self.asked += asked
                if border not in self.made:
                    self.made[border] = take_name("padded", self.taken)
                at = tuple(add(e, index(n)) for e, n in zip(load.index, border.before, strict=True))
                moved = Load(self.made[border], at, load.type)
                factors = (moved if x is load else x for x in (left, right))
                return replace(inner, value=Binary("mul", *factors), span=inner.span or stmt.span)
        return None

    def inside(
        self, update: Reduce, load: Load, other: Expr, border: _Border, loops: Sequence[For]
    ) -> list[Expr] | None:
        """What has to hold of the sizes so that all else in an update stays inside of its array wherever the loops
        come; None where that is not known."""
        extents = {x.name: x.shape for x in self.kernel.arrays}
        used = [(x.array, x.index) for x in loads(other)]
        pairs = [(e, extent) for e, extent, seen in zip(load.index, border.array.shape, border.reach, strict=True)
                 if seen is None]  # fmt: skip
        if update.index:
            used.append((update.array, update.index))
        if may_fail(other) or any(name not in extents for name, _ in used):
            return None
        for name, at in used:
            pairs += zip(at, extents[name], strict=True)
        out: list[Expr] = []
        for subscript, extent in pairs:
            ends = _ends(subscript, loops)
            if ends is None or extent is None:
                return None
            out += (Compare("ge", ends[0], index(0)), Compare("lt", ends[1], extent))
        out = [x for x in map(simplify, out) if x != Const(True, BOOL)]
        known = Const(False, BOOL) not in out and all(variables(x) <= {*self.kernel.sizes} for x in out)
        return out if known else None


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Binary(op="and", left=left, right=right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield condition


def _find_border(load: Load, array: Array, conditions: Sequence[Expr], loops: Sequence[For]) -> _Border | None:
    """The border of an array if all conditions keep its subscripts inside."""
    rests = [_at_least_zero(x) for x in conditions]
    sides = [
        (e, sub(sub(extent, index(1)), e))
        for e, extent in zip(load.index, array.shape, strict=True) if extent is not None
    ]  # fmt: skip
    asked = [[x for x in rests if x is not None and any(same(x, y) for y in pair)] for pair in sides]
    if not rests or sum(map(len, asked)) < len(rests):
        return None
    ends = [_ends(e, loops) for e in load.index]
    if any(x is None and found for x, found in zip(ends, asked, strict=True)):
        return None
    lowest = [x[0] if x is not None else index(0) for x in ends]
    spans = [add(sub(x[1], x[0]), index(1)) if x is not None else index(0) for x in ends]
    before = [constant(sub(index(0), x)) if found else 0 for x, found in zip(lowest, asked, strict=True)]
    if any(x is None or x < 0 for x in before):
        return None
    reach = tuple(normal(x) if found else None for x, found in zip(spans, asked, strict=True))
    return _Border(array, tuple(x or 0 for x in before), reach)


def _ends(subscript: Expr, loops: Sequence[For]) -> tuple[Expr, Expr] | None:
    """The least and the greatest value of a subscript over loops that are known from the sizes alone, and in which it
    moves by sums of multiples; None for any other."""
    bounds = {x.var: (x.lower, sub(x.upper, index(1))) for x in loops}
    if any(x.step != 1 or variables(y) & bounds.keys() for x in loops for y in (x.lower, x.upper)):
        return None
    low = high = index(0)
    for monomial, times in polynomial(subscript).items():
        match monomial:
            case (Var(name=name),) if name in bounds:
                ends = [mul(index(times), x) for x in bounds[name]]
                first, last = ends if times > 0 else reversed(ends)
            case _ if any(variables(x) & bounds.keys() for x in monomial):
                return None
            case _:
                first = last = build({monomial: times})
        low, high = add(low, first), add(high, last)
    return low, high


def _at_least_zero(condition: Expr) -> Expr | None:
    """What a condition says is no less than 0."""
    match condition:
        case Compare(op="ge", left=left, right=right) | Compare(op="le", left=right, right=left):
            return sub(left, right)
        case Compare(op="gt", left=left, right=right) | Compare(op="lt", left=right, right=left):
            return sub(sub(left, right), index(1))
        case _:
            return None


def _filled(border: _Border, name: str, taken: set[str]) -> Iterator[Stmt]:
    """The loops that clear an array, and those that copy another one into it."""
    array, shape = border.array, border.shape()
    names = [take_name(x, taken) for x in "ijklmn"[: len(shape)]]
    at = tuple(map(index, names))
    inside = tuple(add(x, index(n)) for x, n in zip(at, border.before, strict=True))
    copied = [
        extent if seen is None else extremum("min", extent, sub(seen, index(n)))
        for extent, seen, n in zip(array.shape, border.reach, border.before, strict=True) if extent is not None
    ]  # fmt: skip
    zero = Const(0.0 if array.type.is_float else 0, array.type)
    yield _nest(names, shape, Assign(name, at, zero))
    yield _nest(names, copied, Assign(name, inside, Load(array.name, at, array.type)))


def _nest(names: Sequence[str], extents: Sequence[Expr], stmt: Stmt) -> Stmt:
    for name, extent in zip(reversed(names), reversed(extents), strict=True):
        stmt = For(name, index(0), extent, 1, Block((stmt,)))
    return stmt
