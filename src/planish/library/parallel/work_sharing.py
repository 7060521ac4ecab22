"""Work-sharing loops: iterations for threads, with thread-private memory, proven not to conflict.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.ir.types import F64
>>> head = "kernel k(n; x: f64[n], t: f64[4])"
>>> kernel = parse_kernel(f"{head} {{ for i in 0 .. n {{ t[0] = x[i] x[i] = t[0] + 1.0 }} }}")
>>> loop, (x, t) = kernel.body.body[0], kernel.arrays
>>> print(print_stmt(on_threads(loop, [t], replace(kernel, arrays=(x,)))))
for i in 0 .. n parallel {
  alloc t: f64[4] stack
  t[0] = x[i]
  x[i] = t[0] + 1.0:f64
}
>>> on_threads(loop, [], kernel) is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import PlanishError
from planish.core.names import take_name
from planish.ir.accesses import accesses
from planish.ir.expr import Binary, Compare, Const, Expr, Load, index, type_of
from planish.ir.index.polynomial import add, constant, extremum, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import (
    arrays_in,
    bindings,
    blocks_of,
    expressions,
    map_block,
    map_expr,
    map_exprs,
    stored_arrays,
    substitute_block,
    variables,
    walk,
    walk_expr,
)
from planish.ir.types import BOOL, INDEX
from planish.raising.raised import Repeat, Shares, Step
from planish.schedule.legality import check_parallel
from planish.schedule.nodes import label_kernel, nodes

GRAIN = 32
"""The parts of a range are multiples of so many rows, or columns: tiles are whole."""
MOST_CELLS = 1 << 15
"""The elements of an array on a thread's stack."""


Range = tuple[Expr, Expr]
"""Where some rows or columns begin, and how many there are."""


def share_out(
    range: Range, threads: int, taken: set[str], steps: Callable[[Range], tuple[Step, ...]], grain: int = GRAIN,
    besides: int = 0,
) -> tuple[Step, ...]:  # fmt: skip
    """Steps for some rows or columns, of which each of several threads has a share: a multiple of `grain` but for the
    last one, and for the first one, which has so many less as is done `besides` in it. `taken`: names that loops may
    not have, and those of the loop afterwards."""
    return share_numbered(range, threads, taken, lambda part, _: steps(part), grain, besides)


def share_numbered(
    range: Range, threads: int, taken: set[str], steps: Callable[[Range, Expr], tuple[Step, ...]], grain: int,
    besides: int = 0,
) -> tuple[Step, ...]:  # fmt: skip
    """As `share_out`; steps may use the number of the share, from 0 on, to have memory of their own."""
    if threads == 1 or is_at_most(range[1], grain):
        return steps(range, index(0))
    width, var, share = (take_name(x, taken) for x in ("width", "part", "share"))
    end = add(*range)
    part = index(var), extremum("min", index(width), sub(end, index(var)))
    return (Repeat(var, range[0], end, grain, steps(part, index(share)), Shares(threads, width, share, besides)),)


def is_at_most(extent: Expr, size: int) -> bool:
    """Whether an extent is known to be so many at most."""
    return simplify(Compare("le", extent, index(size))) == Const(True, BOOL)


def on_threads(loop: For, own: Sequence[Array], around: Kernel) -> For | None:
    """The loop with its iterations on threads and `own` arrays in each; None where these are too large, or iterations
    would meet elsewhere. `around`: the sizes, scalars and other arrays that it uses, and what is known of them."""
    shared = with_own(loop, own)
    return shared if shared is not None and _is_parallel(replace(shared, facts=loop.facts), around) else None


def with_own(loop: For, own: Sequence[Array]) -> For | None:
    """The loop with its iterations on threads and `own` arrays in each, whose iterations are known not to meet; None
    where these are too large."""
    if not all(_is_small(x.shape) for x in own):
        return None
    body = Block((*(Alloc(replace(x, memory="stack")) for x in own), *loop.body.body))
    return replace(loop, body=body, facts=replace(loop.facts, parallel=True))


def are_apart(step: Repeat, body: Block, around: Kernel) -> bool:
    """Whether any two parts of a range meet nowhere: the first one and the second one, each of any width, which lie
    anywhere in it, and have numbers that differ. `body`: what is done in a part."""
    assert step.shares is not None
    width, share, least = step.shares.width, step.shares.share, index(step.shares.least(step.by))
    taken = {*around.sizes, *bindings(body), width, share}
    part, first, second, wide = (take_name(x, taken) for x in ("part", "one", "other", "wide"))
    begins, widths = (index(first), index(second)), (index(width), index(wide))
    known = (
        Compare("le", step.lower, index(first)), *(Compare("ge", x, least) for x in widths),
        Compare("le", add(index(first), index(width)), index(second)), Compare("lt", index(second), step.upper),
    )  # fmt: skip
    both = (
        If(Compare("eq", index(part), index(i)), substitute_block(body, {step.var: x, width: y, share: index(i)}))
        for i, (x, y) in enumerate(zip(begins, widths, strict=True))
    )
    named = _Named({*around.sizes}, taken | {part, first, second})
    arrays = tuple(replace(x, shape=tuple(y and named.expr(y) for y in x.shape)) for x in around.arrays)
    assumptions = (*around.assumptions, *map(named.expr, known))
    loop = For(part, index(0), index(2), 1, map_block(named.stmt, Block(tuple(both))))
    sizes = (*around.sizes, width, wide, first, second, *named.products.values())
    return _is_parallel(loop, replace(around, sizes=sizes, arrays=arrays, assumptions=assumptions))


@dataclass(slots=True)
class _Named:
    """Products of sizes under names of their own: whatever they are, they do not change."""

    sizes: set[str]
    taken: set[str]
    products: dict[Expr, str] = field(default_factory=dict)

    def stmt(self, stmt: Stmt) -> Stmt:
        """A statement over the names."""
        return map_exprs(self.expr, stmt)

    def expr(self, expr: Expr) -> Expr:
        """An expression over the names."""
        return map_expr(self._change, expr)

    def _change(self, expr: Expr) -> Expr:
        match expr:
            case Binary(op="mul", left=left, right=right) if type_of(expr) == INDEX:
                inside = [variables(left), variables(right)]
                if not all(inside) or any(x - self.sizes for x in inside):
                    return expr
                if expr not in self.products:
                    self.products[expr] = take_name("product", self.taken)
                    self.sizes.add(self.products[expr])
                return index(self.products[expr])
            case _:
                return expr


def without_own(body: Block, share: str, arrays: Mapping[str, Array], bases: Mapping[str, str]) -> Block:
    """What a share does, without that which meets nothing of the others: it sets memory of which each has a part, as
    the first subscript is the share's number, and nothing is read for it that others set. `bases`: whose memory it is
    that an array has, if not its own."""
    base = {x: bases.get(x, x) for x in arrays_in(body)}
    firsts: dict[str, set[tuple[Expr | None, ...]]] = {}
    for name in base:
        firsts.setdefault(base[name], set()).add(arrays[name].shape[:1])
    strange = {base[x.array] for x in accesses(body) if not x.index or x.index[0] != index(share)}
    own = {x for x, y in firsts.items() if len(y) == 1} - strange
    others = {base[x] for x in stored_arrays(body)} - own

    def is_met(stmt: Stmt) -> bool:
        return any(base[x.array] in others for x in _loads(stmt))

    def keep(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        blocks = blocks_of(stmt)
        is_own = isinstance(stmt, Assign | Reduce) and base[stmt.array] in own and not is_met(stmt)
        return () if is_own or (blocks and not any(x.body for x in blocks)) else stmt

    # What is named is read where the name is used.
    return body if any(is_met(x) for x in walk(body) if isinstance(x, Let)) else map_block(keep, body)


def _loads(stmt: Stmt) -> Iterator[Load]:
    return (x for e in expressions(stmt) for x in walk_expr(e) if isinstance(x, Load))


def _is_parallel(loop: For, around: Kernel) -> bool:
    kernel = label_kernel(replace(around, body=Block((loop,))))
    try:
        check_parallel(kernel, (next(x for x in nodes(kernel.body) if isinstance(x, For)),))
    except PlanishError:
        return False
    return True


def _is_small(shape: Sequence[Expr | None]) -> bool:
    cells = 1
    for extent in shape:
        length = constant(extent) if extent is not None else None
        if length is None:
            return False
        cells *= length
    return cells <= MOST_CELLS
