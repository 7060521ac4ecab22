"""Blocked Householder QR (compact WY): panels of columns, with matrix products for the columns after the panel.

Before: for k { make v, w of A[, k];  for j > k { A[, j] += v (w . A[, j]) } }
After:  for each block b of columns {
          the same steps in these columns only, with each v kept as V[, k], each w as W[, k];
          X = W' A[, rest];  solve(1 - W' V below its diagonal and ones on it, X);  A[, rest] += V X
        }

Step k sees what the steps before it in the block have made of a column: x_k = w_k . (a + sum over l < k of x_l v_l), so
that x_k - sum over l < k of (w_k . v_l) x_l = w_k . a. Where any of that is not finite, the steps reflect the columns
after the block one after the other: what is zero in V would else matter.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.raising.raised import walk_steps
>>> make = "s[] = 0.0 for i in k .. m { s[] += A[i, k] * A[i, k] } A[k, k] += copysign(sqrt(s[]), A[k, k])"
>>> dot = "d[] = 0.0 for i in k .. m { d[] += A[i, k] * A[i, j] } d[] = -d[] / t[k]"
>>> take = "for i in k .. m { A[i, j] += d[] * A[i, k] }"
>>> each = "for j in k + 1 .. n { alloc d: f64[] %s %s }" % (dot, take)
>>> step = "for k in 0 .. n { alloc s: f64[] %s %s }" % (make, each)
>>> kernel = parse_kernel("kernel z(m, n; A: f64[m, n], t: f64[n]) { %s }" % step)
>>> [x.operation.name for x in walk_steps(raise_reflecting(kernel).steps) if isinstance(x, Apply)]
['gemm', 'gemm', 'trsm_left_lower_plain_unit', 'gemm']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, LoopFacts, Reduce, Stmt
from planish.ir.traverse import arrays_in, flatten, loads, map_block, substitute, used_names
from planish.ir.types import BOOL, I32
from planish.library.kernels.trsv import operation_of
from planish.poly.idioms.householder import Householder, find_reflecting
from planish.poly.idioms.rank_one_update import VectorPart
from planish.raising.algebra.product import Product, ProductOperand
from planish.raising.algebra.product_writer import Origin, write_product
from planish.raising.raised import Apply, Case, Choice, Loops, Raised, Repeat, Step, View
from planish.schedule.accesses import redirect

NAME = "qr-panel"
"""What the version is called."""
WIDTH, _JAM = 32, 4
"""The columns of a block, and how many of them are reflected at a time."""
_IDENTITY = ((1, 0), (0, 1))

Range = tuple[Expr, Expr]
"""Where some rows or columns begin, and how many there are."""
Place = Callable[[Expr, Expr], tuple[str, tuple[Expr, ...]]]
"""The array and the subscripts of the element in a row and a column."""


def raise_reflecting(kernel: Kernel, scratch: Collection[str] = (), size: int = WIDTH) -> Raised | None:
    """The steps by blocks of so many columns of a kernel that reflects columns; None where it is another one.
    `scratch`: arrays that nobody reads afterwards."""
    found = find_reflecting(kernel, scratch)
    if found is None:
        return None
    taken = {*used_names(kernel)}
    type = kernel.array(found.matrix.array).type
    width = index(size)

    def local(stem: str, *shape: Expr) -> Array:
        return Array(take_name(stem, taken), type, shape, True)

    own = _Memory(
        local("panel", width, found.rows), local("weights", width, found.rows), local("changes", width, found.rows),
        local("overlaps", width, width), local("amounts", width, found.columns),
        Array(take_name("skipped", taken), I32, (width,), True),
        Array(take_name("outcome", taken), I32, (), True, "register"),
    )  # fmt: skip
    blocks = _Blocks(found, own, taken, size)
    asked = replace(kernel, assumptions=tuple(dict.fromkeys((*kernel.assumptions, *found.asked))))
    outer = [x.array for x in flatten(kernel.body.body) if isinstance(x, Alloc)]
    kept = [replace(x, memory="dram" if x.shape else "register") for x in found.own if x in outer or x.shape]
    return Raised(asked, (blocks.all(),), (*kept, *own.all))


@dataclass(frozen=True, slots=True)
class _Memory:
    """Arrays of a block: its columns, the vectors of its steps, and what they make of the other columns; which steps
    did nothing, and what is found out of all that."""

    panel: Array
    weights: Array
    changes: Array
    overlaps: Array
    amounts: Array
    skipped: Array
    outcome: Array

    @property
    def all(self) -> tuple[Array, ...]:
        """Each of them."""
        return (
            self.panel, self.weights, self.changes, self.overlaps, self.amounts, self.skipped, self.outcome,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Steps on their way to blocks, of which the columns and vectors lie one after the other in memory of their own."""

    found: Householder
    own: _Memory
    taken: set[str]
    width: int

    def all(self) -> Repeat:
        """A block of steps after the other."""
        found, own = self.found, self.own
        var = take_name("first", self.taken)
        first, count = index(var), extremum("min", index(self.width), sub(found.steps, index(var)))
        end = add(first, count)
        base = first if found.follows else index(0)
        rows, steps = (base, sub(found.rows, base)), (index(0), count)
        rest = (end, sub(found.columns, end)) if found.has_panel else (index(0), found.columns)
        weights, changes = self.vectors(own.weights, steps, rows), self.vectors(own.changes, steps, rows)
        overlaps = View(own.overlaps.name, (index(0), index(0)), _IDENTITY, (count, count))
        amounts = View(own.amounts.name, (index(0), rest[0]), _IDENTITY, (count, rest[1]))
        others = self.part(rows, rest)
        solve = Apply(
            operation_of("trsm_left_lower_plain_unit"), {"A": overlaps, "B": amounts},
            {"m": count, "n": rest[1]}, span=found.loop.span,
        )  # fmt: skip
        fast = self.product(others, ProductOperand(changes, "ca"), ProductOperand(amounts, "cb"), count, 1.0, adds=True)
        slow = Loops(Block((self.one_by_one(first, end, rest),)), settled=True)
        delayed: tuple[Step, ...] = (
            self.product(overlaps, ProductOperand(weights, "ac"), ProductOperand(changes, "bc"), rows[1], -1.0),
            self.product(amounts, ProductOperand(weights, "ac"), ProductOperand(others, "cb"), rows[1]),
            solve,
            Loops(Block(self.check(count, rest)), settled=True),
            Choice((Case(self.is_found(0), (fast,)), Case(Const(True, BOOL), (slow,)))),
        )  # fmt: skip
        if found.change.test is not None:
            # Where no step does anything, nobody says that there are other columns.
            does = Case(self.is_found(1), delayed)
            delayed = (Loops(Block(self.look(count)), settled=True), Choice((does, Case(Const(True, BOOL), ()))))
        panel = (self.copied(rows, (first, count)),) if found.has_panel else ()
        back = (self.copied(rows, (first, count), back=True),) if found.has_panel else ()
        steps_ = Loops(Block((*panel, self.steps(first, end, base))), settled=True)
        return Repeat(var, index(0), found.steps, self.width, (steps_, Loops(Block(back), settled=True), *delayed))

    def is_found(self, number: int) -> Expr:
        """Whether the outcome of the search is that number."""
        return Compare("eq", Load(self.own.outcome.name, (), I32), Const(number, I32))

    def look(self, count: Expr) -> tuple[Stmt, ...]:
        """Whether any step of a block does something (1), or none (0)."""
        q, outcome = take_name("q", self.taken), self.own.outcome.name
        none = Compare("eq", Load(self.own.skipped.name, (index(q),), I32), Const(1, I32))
        found = Assign(outcome, (), Select(none, Load(outcome, (), I32), Const(1, I32)))
        return Assign(outcome, (), Const(0, I32)), For(q, index(0), count, 1, Block((found,)))

    def vectors(self, array: Array, steps: Range, rows: Range) -> View:
        """Some rows of the vectors of some steps."""
        return View(array.name, (steps[0], rows[0]), _IDENTITY, (steps[1], rows[1]))

    def part(self, rows: Range, columns: Range) -> View:
        """Some rows and columns of the matrix."""
        matrix = self.found.matrix
        steps = tuple(tuple(int(d == y) for d in range(2)) for y in (1 - matrix.column, matrix.column))
        return View(matrix.array, self.place(rows[0], columns[0]), steps, (rows[1], columns[1]))

    def place(self, row: Expr, column: Expr) -> tuple[Expr, Expr]:
        """The subscripts of an element of the matrix."""
        return (row, column) if self.found.matrix.column else (column, row)

    def product(
        self,
        target: View,
        one: ProductOperand,
        other: ProductOperand,
        depth: Expr,
        factor: float = 1.0,
        adds: bool = False,
    ) -> Apply:
        """A product that a matrix becomes, times a factor, or that is added to it."""
        extents = {"a": target.shape[0], "b": target.shape[1], "c": depth}
        type = self.own.panel.type
        alpha = Const(factor, type) if factor != 1 else None
        beta = Const(1.0, type) if adds else None
        origin = Origin((), (), self.found.loop.span)
        return write_product(
            Product(ProductOperand(target, "ab"), (one, other), extents, "c", alpha, beta, False), origin
        )

    def copied(self, rows: Range, columns: Range, back: bool = False) -> For:
        """Columns of the matrix copied to lie one after the other, or back."""
        panel, matrix = self.own.panel, self.found.matrix
        q, i = take_name("q", self.taken), take_name("i", self.taken)
        row = add(rows[0], index(i))
        there, place = (index(q), row), self.place(row, add(columns[0], index(q)))
        copy = Assign(panel.name, there, Load(matrix.array, place, panel.type))
        if back:
            copy = Assign(matrix.array, place, Load(panel.name, there, panel.type))
        loops = [(i, rows[1]), (q, columns[1])]
        stmt: Stmt = copy
        for var, extent in reversed(loops if matrix.column else loops[::-1]):
            stmt = For(var, index(0), extent, 1, Block((stmt,)))
        assert isinstance(stmt, For)
        return stmt

    def steps(self, first: Expr, end: Expr, base: Expr) -> For:
        """The steps of a block in its own columns, with their vectors kept."""
        found, k = self.found, index(self.found.var)
        place = found.matrix.place

        def at(indices: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
            return self.own.panel.name, (sub(k, first), place(indices)[0])

        def inside(stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
            block = with_lanes(_without_arrays(Block(tuple(stmts))))
            return redirect(block, found.matrix.array, at).body

        others = Block((*found.before, *found.after))
        used = {*arrays_in(others)} | {x.array for x in _reads(found)}
        allocated = (x for x in flatten(found.loop.body.body) if isinstance(x, Alloc))
        kept = tuple(x for x in allocated if not x.array.shape and x.array.name in used)
        step, rows = sub(k, first), (found.low, found.rows)
        parts = [(self.own.weights, x) for x in found.change.weights]
        parts += [(self.own.changes, x) for x in found.change.changes]
        kept_vectors = tuple(self.filled(x, y, step) for x, y in parts)
        vectors: tuple[Stmt, ...] = (self.cleared(step, (base, found.low)), *inside(kept_vectors))
        if found.has_panel:
            panel = self.own.panel.name
            inner = (found.change.first, end)
            vectors += self.each(step, rows, inner, lambda i, j: (panel, (sub(j, first), i)), _JAM)
        # Where no column is left the vectors need not exist.
        does: Expr = Compare("lt", found.change.first, found.columns)
        if found.change.test is not None:
            does = Binary("and", does, found.change.test)
        mark = [Assign(self.own.skipped.name, (step,), Const(x, I32)) for x in (0, 1)]
        nothing = Block((mark[1], self.cleared(step, (base, found.rows))))
        change = redirect(Block((If(does, Block((mark[0], *vectors)), nothing),)), found.matrix.array, at).body
        body = (*kept, *inside(found.before), *change, *inside(found.after))
        return replace(found.loop, lower=first, upper=end, body=Block(body))

    def filled(self, array: Array, part: VectorPart, step: Expr) -> Stmt:
        """A part of a vector."""
        if not part.var:
            return Assign(array.name, (step, part.lower), part.value)
        i = take_name("i", self.taken)
        value = substitute(part.value, {part.var: index(i)})
        return For(i, part.lower, part.upper, 1, Block((Assign(array.name, (step, index(i)), value),)))

    def cleared(self, step: Expr, rows: tuple[Expr, Expr]) -> For:
        """Rows of a step's vectors set to zero."""
        i, zero = take_name("i", self.taken), Const(0.0, self.own.panel.type)
        stmts = (Assign(x.name, (step, index(i)), zero) for x in (self.own.weights, self.own.changes))
        return For(i, *rows, 1, Block(tuple(stmts)), LoopFacts(simd=True))

    def one_by_one(self, first: Expr, end: Expr, rest: Range) -> For:
        """The panel's reflectors applied to the trailing columns one after the other."""
        k = take_name("k", self.taken)
        step = sub(index(k), first)
        rows = (substitute(self.found.low, {self.found.var: index(k)}), self.found.rows)
        matrix = self.found.matrix.array
        each = self.each(step, rows, (rest[0], add(*rest)), lambda i, j: (matrix, self.place(i, j)), 1)
        does = Compare("eq", Load(self.own.skipped.name, (step,), I32), Const(0, I32))
        return For(k, first, end, 1, Block((If(does, Block(each)),)))

    def each(
        self, step: Expr, rows: tuple[Expr, Expr], columns: tuple[Expr, Expr], place: Place, number: int
    ) -> tuple[For, ...]:
        """Columns from one up to below another one reflected in a step, wherever their elements are: so many at a time,
        and then the others."""
        first, end = columns
        whole = add(first, mul(index(number), floordiv(sub(end, first), index(number))))
        ranges = [(number, first, whole), (1, whole, end)] if number > 1 else [(1, first, end)]
        return tuple(self.together(step, rows, x, place) for x in ranges)

    def together(self, step: Expr, rows: tuple[Expr, Expr], columns: tuple[int, Expr, Expr], place: Place) -> For:
        """Columns reflected in a step, so many at a time."""
        number, first, end = columns
        type = self.own.panel.type
        j, i, i2 = (take_name(x, self.taken) for x in ("j", "i", "i"))
        cells = [Array(take_name("amount", self.taken), type, (), True, "register") for _ in range(number)]
        weight = Load(self.own.weights.name, (step, index(i)), type)
        change = Load(self.own.changes.name, (step, index(i2)), type)
        sums: list[Stmt] = []
        changes: list[Stmt] = []
        for n, cell in enumerate(cells):
            array, at = place(index(i), add(index(j), index(n)))
            sums.append(Reduce(cell.name, (), "add", Binary("mul", weight, Load(array, at, type))))
            array, at = place(index(i2), add(index(j), index(n)))
            changes.append(Reduce(array, at, "add", Binary("mul", change, Load(cell.name, (), type))))
        names = tuple(x.name for x in cells)
        body: tuple[Stmt, ...] = (
            *map(Alloc, cells), *(Assign(x, (), Const(0.0, type)) for x in names),
            For(i, *rows, 1, Block(tuple(sums)), LoopFacts(simd=True, reductions=tuple(("add", x) for x in names))),
            For(i2, *rows, 1, Block(tuple(changes)), LoopFacts(simd=True)),
        )  # fmt: skip
        return For(j, first, end, number, Block(body))

    def check(self, count: Expr, rest: Range) -> tuple[Stmt, ...]:
        """Whether what is zero in vectors makes no difference (0), as all that it meets in products is finite, or may
        make one (1)."""
        own, type = self.own, self.own.panel.type
        q, j, cell = (take_name(x, self.taken) for x in ("q", "j", "finite"))
        zero = Const(0.0, type)
        finite = Array(cell, type, (), True, "register")
        # What vectors hold that is not finite is so in their product as well, and times zero it is no zero.
        product = Binary("mul", Load(own.overlaps.name, (index(q), index(q)), type), zero)
        amount = Binary("mul", Load(own.amounts.name, (index(q), add(rest[0], index(j))), type), zero)
        sums = For(
            j, index(0), rest[1], 1, Block((Reduce(cell, (), "add", amount),)),
            LoopFacts(simd=True, reductions=(("add", cell),)),
        )  # fmt: skip
        is_finite = Compare("eq", Load(cell, (), type), zero)
        outcome = Select(is_finite, Load(own.outcome.name, (), I32), Const(1, I32))
        body = (Alloc(finite), Assign(cell, (), product), sums, Assign(own.outcome.name, (), outcome))
        return Assign(own.outcome.name, (), Const(0, I32)), For(q, index(0), count, 1, Block(body))


def _reads(found: Householder) -> list[Load]:
    """What vectors and their condition are made of."""
    exprs = [x.value for x in (*found.change.weights, *found.change.changes)]
    exprs += [found.change.test] if found.change.test is not None else []
    return [x for e in exprs for x in loads(e)]


def _without_arrays(block: Block) -> Block:
    """A block without the declarations of arrays, which are declared elsewhere."""
    return map_block(lambda x: () if isinstance(x, Alloc) and x.array.shape else x, block)


def with_lanes(block: Block) -> Block:
    """A block whose sums in a cell, with nothing else in their loop, are made in lanes: in another order."""
    return map_block(lambda x: replace(x, facts=_lanes(x)) if isinstance(x, For) else x, block)


def _lanes(loop: For) -> LoopFacts:
    match flatten(loop.body.body):
        case [Reduce(op="add", array=cell, index=(), value=value)] if loop.step == 1:
            if cell not in (x.array for x in loads(value)):
                return replace(loop.facts, simd=True, reductions=(("add", cell),))
        case _:
            pass
    return loop.facts
