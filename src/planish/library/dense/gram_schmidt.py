"""Block modified Gram-Schmidt (MGS): panels of columns, with matrix products for the columns after the panel.

Before: for k { make Q[, k] of A[, k];  for j > k { R[k, j] = Q[, k] . A[, j];  A[, j] -= R[k, j] Q[, k] } }
After:  for each block b of columns {
          the same steps in these columns only;
          G = Q[, b]' Q[, b];  R[b, rest] = Q[, b]' A[, rest];
          solve(G below its diagonal and ones on it, R[b, rest]);  A[, rest] -= Q[, b] R[b, rest]
        }

Step k sees what the steps before it in the block have left of a column: r_k = q_k . (a - sum over l < k of r_l q_l), so
that r_k + sum over l < k of (q_k . q_l) r_l = q_k . a. This holds whether the q are orthogonal or not.

>>> from planish.ir.text.parser import parse_kernel
>>> make = "R[k, k] = 0.0 for i in 0 .. m { R[k, k] += A[i, k] * A[i, k] } for i in 0 .. m { Q[i, k] = A[i, k] }"
>>> dot = "R[k, j] = 0.0 for i in 0 .. m { R[k, j] += Q[i, k] * A[i, j] }"
>>> take = "for i in 0 .. m { A[i, j] += -(Q[i, k] * R[k, j]) }"
>>> step = "for k in 0 .. n { %s for j in k + 1 .. n { %s %s } }" % (make, dot, take)
>>> kernel = parse_kernel("kernel z(m, n; A: f64[m, n], Q: f64[m, n], R: f64[n, n]) { %s }" % step)
>>> [x.operation.name if isinstance(x, Apply) else "loops" for x in raise_projecting(kernel).steps[0].steps]
['loops', 'loops', 'gemm', 'gemm', 'trsm_left_lower_plain_unit', 'gemm']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Const, Expr, Load, Unary, index
from planish.ir.index.polynomial import add, extremum, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, LoopFacts, Reduce, Stmt
from planish.ir.traverse import flatten, substitute_block, used_names
from planish.library.kernels.trsv import operation_of
from planish.poly.idioms.gram_schmidt import GramSchmidt, find_projecting
from planish.raising.algebra.product import Product, ProductOperand
from planish.raising.algebra.product_writer import Origin, write_product
from planish.raising.raised import Apply, Loops, Raised, Repeat, View
from planish.schedule.accesses import redirect

NAME = "mgs-panel"
"""What the version is called."""
WIDTH = 64
"""The columns of a block."""
_IDENTITY = ((1, 0), (0, 1))

Range = tuple[Expr, Expr]
"""Where some rows or columns begin, and how many there are."""


def raise_projecting(kernel: Kernel, size: int = WIDTH) -> Raised | None:
    """The steps by blocks of so many columns of a kernel that takes directions out of columns; None where it is
    another one."""
    found = find_projecting(kernel)
    if found is None:
        return None
    taken = {*used_names(kernel)}
    type = kernel.array(found.array).type
    width = index(size)
    columns = Array(take_name("columns", taken), type, (width, found.rows), True)
    units = columns
    if found.units != found.array:
        units = Array(take_name("units", taken), type, (width, found.rows), True)
    overlaps = Array(take_name("overlaps", taken), type, (width, width), True)
    outer = tuple(x.array for x in flatten(kernel.body.body) if isinstance(x, Alloc))
    blocks = _Blocks(found, columns, units, overlaps, taken, size)
    own = dict.fromkeys((columns, units, overlaps))
    return Raised(kernel, (blocks.all(),), (*(replace(x, memory="register") for x in outer), *own))


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Steps on their way to blocks, of which the columns, and the units, lie one after the other in memory of their
    own."""

    found: GramSchmidt
    columns: Array
    units: Array
    overlaps: Array
    taken: set[str]
    width: int

    def all(self) -> Repeat:
        """A block of columns after the other."""
        found = self.found
        var = take_name("first", self.taken)
        first, count = index(var), extremum("min", index(self.width), sub(found.steps, index(var)))
        end = add(first, count)
        here, rest, rows = (first, count), (end, sub(found.columns, end)), (index(0), found.rows)
        units = self.part(self.units.name, (index(0), count), rows)
        overlaps = self.part(self.overlaps.name, (index(0), count), (index(0), count))
        shares, others = self.part(found.shares, here, rest), self.part(found.array, rows, rest)
        solve = Apply(
            operation_of("trsm_left_lower_plain_unit"), {"A": overlaps, "B": shares},
            {"m": count, "n": rest[1]}, span=found.loop.span,
        )  # fmt: skip
        copies = [(found.array, self.columns)] + ([(found.units, self.units)] if self.units is not self.columns else [])
        steps = (
            Loops(Block((*(self.copied(x, y, here) for x, y in copies), self.steps(first, end))), settled=True),
            Loops(Block(tuple(self.copied(x, y, here, back=True) for x, y in copies)), settled=True),
            self.product(overlaps, ProductOperand(units, "ac"), ProductOperand(units, "bc"), found.rows),
            self.product(shares, ProductOperand(units, "ac"), ProductOperand(others, "cb"), found.rows),
            solve,
            self.product(
                others,
                ProductOperand(self.part(found.units, rows, here), "ac"),
                ProductOperand(shares, "cb"),
                count,
                takes=True,
            ),
        )
        return Repeat(var, index(0), found.steps, self.width, steps)

    def part(self, array: str, rows: Range, columns: Range) -> View:
        """Some rows and columns of an array."""
        return View(array, (rows[0], columns[0]), _IDENTITY, (rows[1], columns[1]))

    def product(
        self, target: View, one: ProductOperand, other: ProductOperand, depth: Expr, takes: bool = False
    ) -> Apply:
        """A product that a matrix becomes, or that is taken off it."""
        extents = {"a": target.shape[0], "b": target.shape[1], "c": depth}
        type = self.columns.type
        alpha, beta = (Const(-1.0, type), Const(1.0, type)) if takes else (None, None)
        origin = Origin((), (), self.found.loop.span)
        return write_product(
            Product(ProductOperand(target, "ab"), (one, other), extents, "c", alpha, beta, False), origin
        )

    def copied(self, array: str, own: Array, columns: Range, back: bool = False) -> For:
        """Columns copied to lie one after the other, or back."""
        q, i = take_name("q", self.taken), take_name("i", self.taken)
        there, place = (index(q), index(i)), (index(i), add(columns[0], index(q)))
        copy = Assign(own.name, there, Load(array, place, own.type))
        if back:
            copy = Assign(array, place, Load(own.name, there, own.type))
        inner = For(q, index(0), columns[1], 1, Block((copy,)))
        return For(i, index(0), self.found.rows, 1, Block((inner,)))

    def steps(self, first: Expr, end: Expr) -> For:
        """The steps of a block in its own columns."""
        found, k = self.found, index(self.found.var)

        def own(stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
            block = redirect(Block(tuple(stmts)), found.array, lambda at: (self.columns.name, (sub(k, first), at[0])))
            return redirect(block, found.units, lambda at: (self.units.name, (sub(k, first), at[0]))).body

        allocated = (x for x in flatten(found.loop.body.body) if isinstance(x, Alloc))
        body = (*allocated, *own(found.before), self.others(first, end))
        return replace(found.loop, lower=first, upper=end, body=Block(body))

    def others(self, first: Expr, end: Expr) -> For:
        """The update of the columns after the panel by one step."""
        found, type, k = self.found, self.columns.type, index(self.found.var)
        j, i, cell = (take_name(x, self.taken) for x in ("j", "i", "share"))
        share = Array(cell, type, (), True, "register")
        unit = Load(self.units.name, (sub(k, first), index(i)), type)
        place = (sub(index(j), first), index(i))
        dot = Reduce(cell, (), "add", Binary("mul", unit, Load(self.columns.name, place, type)))
        take = Reduce(self.columns.name, place, "add", Unary("neg", Binary("mul", unit, Load(cell, (), type))))
        sums = For(i, index(0), found.rows, 1, Block((dot,)), LoopFacts(simd=True, reductions=(("add", cell),)))
        i2 = take_name("i", self.taken)
        body = (
            Alloc(share), Assign(cell, (), Const(0.0, type)), sums,
            Assign(found.shares, (k, index(j)), Load(cell, (), type)),
            For(i2, index(0), found.rows, 1, _with_name(take, i, i2), LoopFacts(simd=True)),
        )  # fmt: skip
        return For(j, add(k, index(1)), end, 1, Block(body))


def _with_name(stmt: Stmt, old: str, new: str) -> Block:
    """A statement with another name for a counter."""
    return substitute_block(Block((stmt,)), {old: index(new)})
