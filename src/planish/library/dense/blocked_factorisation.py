"""Blocked triangular solves, triangular products and factorisations: GEMM off the diagonal, small unblocked kernels on
it.

Before: solve(L, B), of n rows
After:  for b in 0 .. n by w { solve(L[b, b], B[b]);  B[b + w ..] -= L[b + w .., b] * B[b] }

>>> from planish.ir.types import F64
>>> from planish.raising.raised import whole
>>> cholesky = operations_by_name()["cholesky"]
>>> arrays = {"A": Array("A", F64, (index("n"), index("n")))}
>>> step = Apply(cholesky, {"A": whole(arrays["A"])}, {"n": index("n")})
>>> (loop,), _ = cut_factor(step, arrays, 64, {"A", "n"})
>>> [x.operation.name if isinstance(x, Apply) else "loops" for x in loop.steps]
['syrk_lower_plain', 'loops', 'gemm', 'trsm_right_upper_transposed_nonunit']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from planish.core.names import take_name
from planish.ir.expr import Const, Expr, index
from planish.ir.index.polynomial import add, extremum, sub
from planish.ir.nest import Array
from planish.ir.types import F32, F64, Type
from planish.library.kernels.trsv import operation_of, turn_solve
from planish.library.parallel.work_sharing import GRAIN, Range, is_at_most, share_out
from planish.raising.algebra.product import Product, ProductOperand, stepped
from planish.raising.algebra.product_writer import Origin, write_product
from planish.raising.expansion import inline
from planish.raising.match.operation_index import operations_by_name
from planish.raising.raised import Apply, Loops, Repeat, Step, View

CHOLESKY, LU = (("cholesky", "cholesky_steps"), ("lu", "lu_steps"))
"""The factorisations: what columns before take off is taken off when a column's turn has come, or step by step."""
ROWS = 8
"""Shares of what is no longer than its rows are multiples of so many: less is waited for than with more."""


def is_factor(step: Apply, arrays: Mapping[str, Array]) -> bool:
    """Whether an operation is one that there are blocks for."""
    name = step.operation.name
    has_blocks = name in (*CHOLESKY, *LU) or name.startswith(("trsm_", "trmm_"))
    types = {arrays[x.array].type for x in step.operands.values()}
    return has_blocks and operations_by_name().get(name) == step.operation and types in ({F32}, {F64})


def cut_factor(
    step: Apply, arrays: Mapping[str, Array], width: int, taken: set[str], threads: int = 1, grain: int = GRAIN
) -> tuple[tuple[Step, ...], tuple[Array, ...]]:
    """The steps by blocks of `width` on the diagonal, and the arrays that they need; `taken` are names that loops and
    arrays may not have. Each of several threads has a share of the sides of a solve or triangular product, of the rows
    below the diagonal, or of the columns beside it, a multiple of `grain`."""
    step = _forwards(step)
    cut = Cut(step, arrays, width, {*taken}, threads, grain)
    steps = cut.steps()
    return steps, tuple(cut.locals)


def is_one_block(step: Apply, width: int) -> bool:
    """Whether there is nothing beside one block on the diagonal."""
    return is_at_most(step.sizes[_size_of(step)], width)


def _size_of(step: Apply) -> str:
    """The size of the matrix that is factorised, or has a triangle."""
    return "m" if "_left_" in step.operation.name else "n"


def _forwards(step: Apply) -> Apply:
    """A solve or product whose operands are seen from their last row on, as the one with the other triangle that sees
    them from the first one on: products of matrices know no other way."""
    words = step.operation.name.split("_")
    if words[0] not in ("trsm", "trmm"):
        return step
    a, b = step.operands["A"], step.operands["B"]
    last = sub(step.sizes[_size_of(step)], index(1))
    along = 0 if words[1] == "left" else 1
    if not all(sum(x) < 0 for x in (*a.steps, b.steps[along])):
        return step
    words[2] = "upper" if words[2] == "lower" else "lower"
    operands = {"A": _turned(_turned(a, 0, last), 1, last), "B": _turned(b, along, last)}
    return replace(step, operation=operation_of("_".join(words)), operands=operands)


def _turned(view: View, dimension: int, last: Expr) -> View:
    """A matrix from the last one of a dimension on."""
    step = view.steps[dimension]
    steps = list(view.steps)
    steps[dimension] = tuple(-x for x in step)
    return View(view.array, stepped(view.start, step, last), tuple(steps), view.shape)


class Cut:
    """An operation on its way to blocks of `width`; `taken` are names that loops may not have."""

    def __init__(
        self, step: Apply, arrays: Mapping[str, Array], width: int, taken: set[str], threads: int = 1,
        grain: int = GRAIN,
    ) -> None:  # fmt: skip
        self.step, self.arrays, self.width, self.taken = step, arrays, width, taken
        self.threads, self.grain = threads, grain
        self.type: Type = arrays[step.operands["A"].array].type
        self.origin = Origin((), step.statements, step.span)
        self.locals: list[Array] = []

    def steps(self) -> tuple[Step, ...]:
        """All of it."""
        step, name = self.step, self.step.operation.name
        if self.threads > 1 and name.startswith(("trsm_", "trmm_")):
            return self.sides()
        if is_one_block(step, self.width):
            return (self.whole(step.operands, step.sizes),)
        if name in CHOLESKY:
            return self.cholesky()
        return (self.lu() if name in LU else self.triangular(),)

    def cholesky(self) -> tuple[Step, ...]:
        """A block of columns after the other: what the columns before it take off, its diagonal, what lies below. Of
        several threads the one with the first rows below looks ahead: it does the diagonal of the next block, too."""
        a, n = self.step.operands["A"], self.step.sizes["n"]
        var, here, below = self.block(n)
        before = (index(0), index(var))
        diagonal, left = part_of(a, here, here), part_of(a, here, before)

        def finish(rows: Range) -> tuple[Step, ...]:
            rest = part_of(a, rows, here)
            return (
                self.product(rest, part_of(a, rows, before), _transposed(left)),
                self.solved("trsm_right_upper_transposed_nonunit", diagonal, rest, rows[1], here[1]),
            )

        if self.threads == 1:
            return (self.repeated(var, n, *self.factorised(here), *finish(below)),)
        following, next, _ = self.block(n)

        def finish_and_look_ahead(rows: Range) -> tuple[Step, ...]:
            return (*finish(rows), Repeat(following, rows[0], add(below[0], index(1)), 1, self.factorised(next)))

        first = (index(0), extremum("min", index(self.width), n))
        begun = self.whole({"A": part_of(a, first, first)}, {"n": first[1]})
        grain = min(self.grain, ROWS)
        shared = share_out(below, self.threads, self.taken, finish_and_look_ahead, grain, besides=self.width)
        return begun, self.repeated(var, n, *shared)

    def factorised(self, rows: Range) -> tuple[Step, ...]:
        """A block on the diagonal, off which the columns before it are taken."""
        a = self.step.operands["A"]
        diagonal, left = part_of(a, rows, rows), part_of(a, rows, (index(0), rows[0]))
        return self.triangle(diagonal, left), self.whole({"A": diagonal}, {"n": rows[1]})

    def lu(self) -> Repeat:
        """A block on the diagonal, what lies below and to the right of it, and what these take off the rest."""
        a, n = self.step.operands["A"], self.step.sizes["n"]
        var, here, after = self.block(n)
        diagonal, below = part_of(a, here, here), part_of(a, after, here)

        def finish(columns: Range) -> tuple[Step, ...]:
            right = part_of(a, here, columns)
            return (
                self.solved("trsm_left_lower_plain_unit", diagonal, right, here[1], columns[1]),
                self.product(part_of(a, after, columns), below, right),
            )

        return self.repeated(
            var, n, self.whole({"A": diagonal}, {"n": here[1]}),
            self.solved("trsm_right_upper_plain_nonunit", diagonal, below, after[1], here[1]),
            *self.shared(after, finish),
        )  # fmt: skip

    def triangular(self) -> Repeat:
        """Rows of the solution of T X = B, a block after the other, and what they take off the others, where T is the
        triangle or, where it stands to the right, its transpose; or rows of T B, where what they were is added to the
        others first. What a triangle is called says how it is used, not how it lies."""
        family, side, uplo, trans, _ = self.step.operation.name.split("_")
        a, b = self.step.operands["A"], self.step.operands["B"]
        solves, left, size = family == "trsm", side == "left", _size_of(self.step)
        rows = self.step.sizes[size]
        t = a if (trans == "plain") == left else _transposed(a)
        x = b if left else _transposed(b)
        var, here, rest = self.block(rows)
        if ((uplo == "lower") == left) != solves:
            # The last row comes first.
            here = (sub(sub(rows, index(var)), here[1]), here[1])
        if (uplo == "lower") == left:
            end = add(*here)
            rest = (end, sub(rows, end))
        else:
            rest = (index(0), here[0])
        columns = (index(0), self.step.sizes["n" if left else "m"])
        mine = part_of(x, here, columns)
        own = {"A": part_of(a, here, here), "B": mine if left else _transposed(mine)}
        small = self.whole(own, {**self.step.sizes, size: here[1]})
        product = self.product(part_of(x, rest, columns), part_of(t, rest, here), mine, -1.0 if solves else 1.0)
        return self.repeated(var, rows, *((small, product) if solves else (product, small)))

    def sides(self) -> tuple[Step, ...]:
        """A solve or product for shares of its columns, or of its rows where the triangle stands to the right."""
        left = "_left_" in self.step.operation.name
        size, b = "n" if left else "m", self.step.operands["B"]
        every = index(0), self.step.sizes["m" if left else "n"]

        def part(range: Range) -> tuple[Step, ...]:
            own = part_of(b, *((every, range) if left else (range, every)))
            sizes = {**self.step.sizes, size: range[1]}
            return (replace(self.step, operands={**self.step.operands, "B": own}, sizes=sizes),)

        return self.shared((index(0), self.step.sizes[size]), part)

    def shared(self, range: Range, steps: Callable[[Range], tuple[Step, ...]]) -> tuple[Step, ...]:
        """Steps for some rows or columns, which are shared out among the threads."""
        return share_out(range, self.threads, self.taken, steps, self.grain)

    def block(self, extent: Expr) -> tuple[str, Range, Range]:
        """A variable for where a block begins, the rows of the block, and those after it."""
        var = take_name("first", self.taken)
        count = extremum("min", index(self.width), sub(extent, index(var)))
        end = add(index(var), count)
        return var, (index(var), count), (end, sub(extent, end))

    def repeated(self, var: str, extent: Expr, *steps: Step) -> Repeat:
        """Steps for each block."""
        return Repeat(var, index(0), extent, self.width, steps)

    def whole(self, operands: Mapping[str, View], sizes: Mapping[str, Expr]) -> Step:
        """The operation on a block, as it is defined, or as a solve in lanes."""
        small = replace(self.step, operands=operands, sizes=sizes)
        turned = None
        if self.step.operation.name.startswith("trsm_"):
            turned = turn_solve(small, self.arrays, self.width, self.taken)
        if turned is None:
            return Loops(inline(small, self.arrays, {*self.taken}))
        self.locals.append(turned[1])
        return turned[0]

    def solved(self, name: str, triangle: View, sides: View, rows: Expr, columns: Expr) -> Apply:
        """Another solve, in blocks of its own."""
        operands, sizes = {"A": triangle, "B": sides}, {"m": rows, "n": columns}
        return Apply(operation_of(name), operands, sizes, {}, (), self.step.statements, self.step.span)

    def product(self, target: View, first: View, second: View, factor: float = -1.0) -> Apply:
        """A product taken off the target, or added to it."""
        extents = {"a": target.shape[0], "b": target.shape[1], "c": first.shape[1]}
        alpha, one = Const(factor, self.type), Const(1.0, self.type)
        factors = ProductOperand(first, "ac"), ProductOperand(second, "cb")
        return write_product(
            Product(ProductOperand(target, "ab"), factors, extents, "c", alpha, one, False), self.origin
        )

    def triangle(self, target: View, factor: View) -> Apply:
        """The lower triangle of a matrix times itself transposed, taken off the target."""
        operands, sizes = {"C": target, "A": factor}, {"n": target.shape[0], "l": factor.shape[1]}
        minus = {"alpha": Const(-1.0, self.type)}
        return Apply(operation_of("syrk_lower_plain"), operands, sizes, minus, (), self.step.statements, self.step.span)


def part_of(view: View, rows: Range, columns: Range) -> View:
    """Some rows and columns of a matrix."""
    start = stepped(stepped(view.start, view.steps[0], rows[0]), view.steps[1], columns[0])
    return View(view.array, start, view.steps, (rows[1], columns[1]))


def _transposed(view: View) -> View:
    return View(view.array, view.start, view.steps[::-1], view.shape[::-1])
