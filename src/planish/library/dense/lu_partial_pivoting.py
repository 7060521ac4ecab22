"""LU with partial pivoting by panels of columns: the trailing matrix is updated by matrix products.

Before: for k { choose a row of column k, swap it with row k, scale the column, take multiples of row k off the rest }
After:  for each block of columns {
          the same steps in these columns only; for k { the same swaps in the others };
          solve(L[b, b], A[b, rest]);  A[rest, rest] -= L[rest, b] * A[b, rest]
        }

In exact arithmetic both choose the same rows: a column sees the same swaps and multiples as before when it is its turn.
The block itself is made of smaller ones in the same way, whose columns lie one after the other in a block of memory.

>>> from planish.ir.text.parser import parse_kernel
>>> choose = "p[] = i32(k) for i in k + 1 .. n { p[] = select(fabs(A[i, k]) > fabs(A[k, k]), i32(i), p[]) }"
>>> to = "A[k, j] = select(p[] == i32(r), A[r, j], A[k, j]) A[r, j] = select(p[] == i32(r), t[], A[r, j])"
>>> swap = "for r in k .. n { for j in 0 .. n { alloc t: f64[] t[] = A[k, j] %s } }" % to
>>> rest = "for j in k + 1 .. n { A[i, j] += -(A[i, k] * A[k, j]) }"
>>> below = "for i in k + 1 .. n { A[i, k] = A[i, k] / A[k, k] %s }" % rest
>>> text = f"kernel lu(n; A: f64[n, n]) {{ for k in 0 .. n {{ alloc p: i32[] {choose} {swap} {below} }} }}"
>>> raised = raise_pivoting(parse_kernel(text))
>>> [x.name for x in raised.locals], [type(x).__name__ for x in raised.steps[0].steps]
(['chosen', 'panel'], ['Repeat', 'Loops', 'Apply', 'Apply'])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Expr, Load, Unary, index
from planish.ir.index.polynomial import add, extremum, sub
from planish.ir.index.ranges import find_range
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, LoopFacts, Reduce, Stmt
from planish.ir.traverse import flatten, used_names
from planish.ir.types import INDEX
from planish.library.dense.blocked_factorisation import Cut, part_of
from planish.library.kernels.trsv import operation_of
from planish.poly.canonical.search_elimination import without_searches
from planish.poly.idioms.lu_partial_pivoting import PartialPivoting, find_pivoting
from planish.raising.raised import Apply, Loops, Raised, Repeat, Step, View
from planish.schedule.accesses import redirect

NAME = "lu-panel"
"""What the version is called."""
WIDTH, _NARROW = 64, 8
"""The columns of a block, and of those that it is made of."""


def raise_pivoting(kernel: Kernel, size: int = WIDTH) -> Raised | None:
    """The steps by blocks of so many columns of a kernel that chooses a row in each step; None where it is another
    one."""
    found = find_pivoting(kernel)
    if found is None:
        return None
    taken = {*used_names(kernel)}
    array = kernel.array(found.array)
    cells = {x.name: x for x in found.cells}
    chosen = Array(take_name("chosen", taken), cells[found.row].type, (found.steps,), True)
    panel = Array(take_name("panel", taken), array.type, (index(_NARROW), found.rows), True)
    outer = tuple(x.array for x in flatten(kernel.body.body) if isinstance(x, Alloc))
    blocks = _Blocks(found, array, chosen, panel, taken, size)
    return Raised(kernel, (blocks.all(),), (*(replace(x, memory="register") for x in outer), chosen, panel))


@dataclass(frozen=True, slots=True)
class _Blocks:
    """An elimination on its way to blocks: its array, the rows that were chosen, and the memory of some columns."""

    found: PartialPivoting
    array: Array
    chosen: Array
    panel: Array
    taken: set[str]
    width: int

    def all(self) -> Repeat:
        """A block of columns after the other."""
        found = self.found
        first, part_ = take_name("first", self.taken), take_name("part", self.taken)
        here, end = self.range(first, self.width, found.steps)
        inner, stop = self.range(part_, _NARROW, end)
        others = ((here, inner), (stop, end))
        narrow = (
            Loops(Block((*self.narrow(inner, stop), *(self.swaps(inner, stop, *x) for x in others))), settled=True),
            *self.taken_off((inner, stop), (stop, end)),
        )
        rest = [(end, found.columns)]
        if found.whole:
            rest.insert(0, (index(0), here))
        steps: list[Step] = [
            Repeat(part_, here, end, _NARROW, narrow),
            Loops(Block(tuple(self.swaps(here, end, *x) for x in rest)), settled=True),
            *self.taken_off((here, end), (end, found.columns)),
        ]
        if not found.whole:
            steps.append(Loops(Block((self.undone(here, end),)), settled=True))
        return Repeat(first, index(0), found.steps, self.width, tuple(steps))

    def range(self, var: str, width: int, limit: Expr) -> tuple[Expr, Expr]:
        """Where a block begins and ends."""
        here = index(var)
        return here, add(here, extremum("min", index(width), sub(limit, here)))

    def taken_off(self, block: tuple[Expr, Expr], columns: tuple[Expr, Expr]) -> tuple[Apply, Apply]:
        """The panel's update of other columns, after the row swaps."""
        found, identity = self.found, ((1, 0), (0, 1))
        whole = View(found.array, (index(0), index(0)), identity, (found.rows, found.columns))
        step = Apply(operation_of("lu"), {"A": whole}, {"n": found.steps}, span=found.loop.span)
        cut = Cut(step, {found.array: self.array}, self.width, self.taken)
        here, right = (block[0], sub(block[1], block[0])), (columns[0], sub(columns[1], columns[0]))
        below = (block[1], sub(found.rows, block[1]))
        upper = part_of(whole, here, right)
        return (
            cut.solved("trsm_left_lower_plain_unit", part_of(whole, here, here), upper, here[1], right[1]),
            cut.product(part_of(whole, below, right), part_of(whole, below, here), upper),
        )

    def narrow(self, first: Expr, stop: Expr) -> tuple[Stmt, ...]:
        """The steps of a few columns, which are copied to lie one after the other, and back."""
        found, panel = self.found, self.panel
        q, i = take_name("q", self.taken), take_name("i", self.taken)
        there, place = (index(q), index(i)), (index(i), add(first, index(q)))
        count = sub(stop, first)
        load = Assign(panel.name, there, Load(found.array, place, panel.type))
        store = Assign(found.array, place, Load(panel.name, there, panel.type))
        copies = [
            For(i, first, found.rows, 1, Block((For(q, index(0), count, 1, Block((x,))),))) for x in (load, store)
        ]
        return copies[0], self.steps(first, stop), copies[1]

    def steps(self, first: Expr, stop: Expr) -> For:
        """The steps from `first` to `stop` as they were, in the columns that were copied."""
        found, panel = self.found, self.panel
        k = index(found.var)
        cells = {x.name for x in found.cells}
        ranges = {x: y for x in cells if (y := find_range(found.loop.body, x, (found.loop,))) is not None}

        def own(stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
            block = without_searches(Block(tuple(stmts)), ranges)
            return redirect(block, found.array, lambda at: (panel.name, (sub(k, first), at[0]))).body

        q = take_name("q", self.taken)
        row = Load(found.row, (), self.chosen.type)
        places = tuple((index(q), x) for x in (k, Cast(row, INDEX)))
        body = (
            *(x for x in flatten(found.loop.body.body) if isinstance(x, Alloc)),
            *own(found.before),
            Assign(self.chosen.name, (k,), row),
            For(q, index(0), sub(stop, first), 1, self.exchange(panel, *places)),
            *own(found.after),
            self.update(first, stop),
        )
        return replace(found.loop, lower=first, upper=stop, body=Block(body))

    def update(self, first: Expr, stop: Expr) -> For:
        """A step's update of the panel's copied columns that come after it."""
        panel, k, rows = self.panel, index(self.found.var), self.found.rows
        i, j, cell = (take_name(x, self.taken) for x in ("i", "j", "factor"))
        factor = Array(cell, panel.type, (), True, "register")
        after, here, at = add(k, index(1)), sub(k, first), sub(index(j), first)
        value = Binary("mul", Load(panel.name, (here, index(i)), panel.type), Load(cell, (), panel.type))
        change = Reduce(panel.name, (at, index(i)), "add", Unary("neg", value))
        # Columns are apart, and so are the elements of one.
        inner = For(i, after, rows, 1, Block((change,)), LoopFacts(simd=True))
        keep = Assign(cell, (), Load(panel.name, (at, k), panel.type))
        return For(j, after, stop, 1, Block((Alloc(factor), keep, inner)))

    def swaps(self, first: Expr, stop: Expr, left: Expr, right: Expr) -> For:
        """The swaps of some steps in other columns."""
        k, j = take_name("k", self.taken), take_name("j", self.taken)
        swap = For(j, left, right, 1, self.exchange(self.array, *self.pair(index(k), index(j))), LoopFacts())
        return For(k, first, stop, 1, Block((swap,)))

    def undone(self, first: Expr, stop: Expr) -> For:
        """The swaps undone in columns that had had their step before: these keep their multipliers where they are."""
        q, j = take_name("q", self.taken), take_name("j", self.taken)
        k = sub(sub(stop, index(1)), index(q))
        swap = For(j, first, k, 1, self.exchange(self.array, *self.pair(k, index(j))))
        return For(q, index(0), sub(stop, first), 1, Block((swap,)))

    def pair(self, k: Expr, j: Expr) -> tuple[tuple[Expr, Expr], tuple[Expr, Expr]]:
        """The elements of a column that a step swaps."""
        return (k, j), (Cast(Load(self.chosen.name, (k,), self.chosen.type), INDEX), j)

    def exchange(self, array: Array, one: tuple[Expr, ...], other: tuple[Expr, ...]) -> Block:
        """Two elements of an array change places."""
        cell = Array(take_name("kept", self.taken), array.type, (), True, "register")
        return Block((
            Alloc(cell),
            Assign(cell.name, (), Load(array.name, one, array.type)),
            Assign(array.name, one, Load(array.name, other, array.type)),
            Assign(array.name, other, Load(cell.name, (), array.type)),
        ))  # fmt: skip
