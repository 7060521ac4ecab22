r"""Rematerialises loop-carried scalars from their defining arrays.

Before: for j in 0 .. n { y[j] = a * x[j] + z;  z = b * x[j] - c * y[j] }
After:  the first iteration as written;
        for j in 1 .. n { y[j] = a * x[j] + (b * x[j - 1] - c * y[j - 1]) }
        z = b * x[n - 1] - c * y[n - 1]

>>> from planish.ir.text.parser import parse_kernel
>>> loop = "for j in 0 .. n { y[j] = x[j] + z[0]\n z[0] = 0.5 * y[j] }"
>>> kernel = parse_kernel("kernel k(n; x: f64[n], y: f64[n], z: f64[1]) { " + loop + " }")
>>> from planish.ir.text.printer import print_stmt
>>> first, rest, last = unfold(kernel.body.body[0])
>>> print(print_stmt(rest))
for j in 1 .. n {
  y[j] = x[j] + 0.5:f64 * y[j - 1]
}
"""

from __future__ import annotations

from dataclasses import replace

from planish.ir.expr import Call, Compare, Expr, Load, index, type_of
from planish.ir.index.polynomial import add, coefficient_of, constant, extremum, place, same, sub
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.passes.update_idioms import updated
from planish.ir.traverse import loads, map_block, map_expr, variables, walk_expr
from planish.schedule.auto.lower import place_expr

MOST = 2
"""From so many iterations before it a value may be made."""
LARGEST = 200
"""The nodes of an expression that is still worth making anew."""

Cell = tuple[str, tuple[Expr, ...]]


def without_carried(kernel: Kernel) -> Kernel:
    """The kernel with loops of which nothing waits any more once what they carry is made anew, without calls, as
    `unfold` gives them: a C compiler runs these in lanes.

    Before: for j { y[j] = x[j] + p + q;  q = p;  p = x[j] }
    After:  the first two iterations as written; for j { y[j] = x[j] + x[j - 1] + x[j - 2] };  q = x[n - 2];  p = …
    """

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        unfolded = unfold(stmt) if isinstance(stmt, For) else None
        if unfolded is None:
            return stmt
        (made,) = unfolded[1].body.body
        assert isinstance(made, Assign)
        waits = any(x.array == made.array for x in loads(made.value))
        return stmt if waits or any(isinstance(x, Call) for x in walk_expr(made.value)) else unfolded

    body = map_block(visit, kernel.body)
    if body == kernel.body:
        return kernel
    return replace(kernel, body=simplify_block(body, assumptions=kernel.assumptions))


def unfold(loop: For) -> tuple[For, For, If] | None:
    """The first iterations as they are written; the others, which make the array alone; and what is kept after the
    last one. None where nothing is kept, or it is not made of what the last few iterations left in arrays."""
    stmts = [x for x in loop.body.body if isinstance(x, Assign | Reduce)]
    moving = [x for x in stmts if _moves(x, loop.var)]
    if loop.step != 1 or loop.facts.simd or len(stmts) < len(loop.body.body) or len(moving) != 1:
        return None
    body = _Body(loop.var, moving[0])
    if not all(_goes_along(x, loop.var) for x in moving) or not all(map(body.run, stmts)):
        return None
    if not body.knows_cells():
        return None
    body.use_target()
    depths = [body.depth(x) for x in body.ends]
    if not any(_cell(x) in body.ends for x in loads(body.value)) or max(depths) > MOST:
        return None
    value = body.at_begin(body.value)
    ends = {x: place_expr(body.at_begin(y), {loop.var: sub(loop.upper, index(1))}) for x, y in body.ends.items()}
    if any(sum(1 for _ in walk_expr(x)) > LARGEST for x in (value, *ends.values())):
        return None
    start = add(loop.lower, index(max(depths)))
    first = replace(loop, upper=extremum("min", start, loop.upper))
    rest = replace(loop, lower=start, body=Block((Assign(moving[0].array, moving[0].index, value, moving[0].span),)))
    last = tuple(Assign(array, at, end) for (array, at), end in ends.items())
    return first, rest, If(Compare("lt", start, loop.upper), Block(last))


def _moves(stmt: Assign | Reduce, var: str) -> bool:
    return any(var in variables(x) for x in stmt.index)


def _goes_along(stmt: Assign | Reduce, var: str) -> bool:
    """Whether each iteration stores in a place of its own."""
    moved = [coefficient_of(x, var) for x in stmt.index]
    return None not in moved and any(x[0] for x in moved if x is not None)


class _Body:
    """One iteration, run on names: what it stores in the array, and what is in the cells that stay when it ends, both
    made of what was in these when it began, and of arrays."""

    def __init__(self, var: str, target: Assign | Reduce) -> None:
        self.var, self.target = var, Load(target.array, target.index, type_of(target.value))
        self.ends: dict[Cell, Expr] = {}
        self.stored: Expr | None = None
        self.reads: set[Cell] = set()

    @property
    def value(self) -> Expr:
        """What the array gets."""
        assert self.stored is not None
        return self.stored

    def run(self, stmt: Assign | Reduce) -> bool:
        """One statement; False where it reads or stores what cannot be followed."""
        value = stmt.value if isinstance(stmt, Assign) else updated(stmt)
        if not all(self._can_follow(x) for x in loads(value)):
            return False
        self.reads |= {_cell(x) for x in loads(value)}
        value = self._now(value)
        if _moves(stmt, self.var):
            self.stored = value
            return True
        self.ends[stmt.array, stmt.index] = value
        return stmt.array != self.target.array

    def knows_cells(self) -> bool:
        """Whether each cell that is read or stored is one of those that are stored, or never is."""
        return all(x == y or _are_apart(x, y) for x in self.ends for y in self.reads | {*self.ends})

    def _can_follow(self, load: Load) -> bool:
        """Whether what is loaded will be there later, too: nothing but the array's own values is written over."""
        if load.array != self.target.array:
            return True
        if self.stored is not None and are_same(load, self.target):
            return True
        return any(are_same(load, before(self.target, self.var, d)) for d in range(1, MOST + 1))

    def _now(self, value: Expr) -> Expr:
        """A value with what the iteration has stored so far."""
        return map_expr(lambda x: self.ends.get(_cell(x), x) if isinstance(x, Load) else x, value)

    def use_target(self) -> None:
        """What the array got need not be made once more: it is there."""
        self.ends = {x: map_expr(lambda y: self.target if y == self.value else y, v) for x, v in self.ends.items()}

    def depth(self, cell: Cell, above: frozenset[Cell] = frozenset()) -> int:
        """From how many iterations what is in a cell comes; too many where it comes from all of them."""
        if cell in above:
            return MOST + 1
        parts = {_cell(x) for x in loads(self.ends[cell])} & self.ends.keys()
        return 1 + max((self.depth(x, above | {cell}) for x in parts), default=0)

    def at_begin(self, value: Expr) -> Expr:
        """A value with what the cells held when the iteration began, made of what the ones before it left."""

        def made(x: Expr) -> Expr:
            if not isinstance(x, Load) or _cell(x) not in self.ends:
                return x
            return place_expr(self.at_begin(self.ends[_cell(x)]), {self.var: sub(index(self.var), index(1))})

        return map_expr(made, value)


def before(target: Load, var: str, distance: int) -> Load:
    """The target of an earlier iteration."""
    earlier = {var: sub(index(var), index(distance))}
    return Load(target.array, tuple(place(x, earlier) for x in target.index), target.type)


def _cell(load: Load) -> Cell:
    return load.array, load.index


def are_same(a: Load, b: Load) -> bool:
    """Whether two loads from one array always read the same element."""
    return all(same(x, y) for x, y in zip(a.index, b.index, strict=True))


def _are_apart(a: Cell, b: Cell) -> bool:
    """Whether two cells are never one."""
    return a[0] != b[0] or any(constant(sub(x, y)) not in (None, 0) for x, y in zip(a[1], b[1], strict=True))
