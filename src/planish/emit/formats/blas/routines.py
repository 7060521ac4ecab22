"""The routines of a BLAS: which one does a step of an operation, and with which arguments.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> text = "kernel gemm(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[m, n]) { for i in 0 .. m { for j in 0 .. n { "
>>> text += "C[i, j] = 0.0 for l in 0 .. k { C[i, j] += A[i, l] * B[l, j] } } } }"
>>> gemm = Operation("gemm", parse_kernel(text))
>>> kernel = parse_kernel("kernel k(n; A: f64[n, n], B: f64[n, n], C: f64[n, n]) { }")
>>> sizes = {x: index("n") for x in "mnk"}
>>> raised = Raised(kernel, (Apply(gemm, {x.name: whole(x) for x in kernel.arrays}, sizes),))
>>> [x.function for x in choose_calls(raised.steps[0], raised)]
['gemm']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

from planish.emit.formats.blas.operands import (
    Argument,
    BlasFlag,
    BlasMatrix,
    BlasSize,
    BlasValue,
    BlasVector,
    RoutineCall,
    as_matrix,
    as_vector,
    major,
)
from planish.emit.formats.blas.triangular import fit_triangular
from planish.emit.formats.mlir.layout import in_order
from planish.emit.formats.numpy.array_statements import (
    Bulk,
    Part,
    Plain,
    ViewAccess,
    ViewLoop,
    ViewProduct,
    as_products,
    as_update,
    list_parts,
)
from planish.emit.formats.step_comment import named_loops_of
from planish.ir.expr import Binary, Compare, Const, Expr, Load, index, type_of
from planish.ir.expr import Call as Function
from planish.ir.index.polynomial import same
from planish.ir.nest import Array, Assign, Reduce
from planish.ir.traverse import loads, variables
from planish.ir.types import F32, F64, Type
from planish.raising.raised import Apply, Raised, View, arrays_of

_MOST_LOOPS = 6
"""Of a product's result: each pair of them is tried as rows and columns."""

Step = RoutineCall | Assign | Reduce
"""A call, or a statement over single elements."""


def choose_calls(apply: Apply, raised: Raised) -> tuple[Step, ...] | None:
    """The calls that do an operation; None where there is no routine for a part of it."""
    arrays = arrays_of(raised)
    if any(arrays[x.array].type not in (F32, F64) for x in apply.operands.values()):
        return None
    bases = {x.array.name: x.of for x in raised.reshapes}
    names = {x.array for x in apply.operands.values()}
    if len({bases.get(x, x) for x in names}) < len(names):
        # Under two names, nothing says which elements are the same.
        return None
    found = fit_triangular(apply, arrays)
    if found is not None:
        return (found,)
    steps = _Chooser(arrays).steps(list_parts(named_loops_of(apply, raised)))
    return steps if steps is not None and any(isinstance(x, RoutineCall) for x in steps) else None


@dataclass(frozen=True, slots=True)
class _Scaling:
    """What is done to the target before a product is added: it is multiplied by `factor`."""

    view: View
    factor: Expr


@dataclass(slots=True)
class _Chooser:
    """The choice of routines for the parts of one operation."""

    arrays: Mapping[str, Array]

    def steps(self, parts: Sequence[Part]) -> tuple[Step, ...] | None:
        """Routines for all parts, in order."""
        out: list[Step] = []
        rest = list(parts)
        while rest:
            found = self.first(rest)
            if found is None:
                return None
            steps, used = found
            out += steps
            rest = rest[used:]
        return tuple(out)

    def first(self, parts: Sequence[Part]) -> tuple[tuple[Step, ...], int] | None:
        """Routines for the first parts, and how many these are."""
        norm = self.norm(parts)
        if norm is not None:
            return (norm,), 3
        head = parts[0]
        if isinstance(head, Plain) and isinstance(head.stmt, Assign | Reduce):
            update = as_update(head.stmt)
            return None if isinstance(update, Reduce) and update.op not in ("add", "mul") else ((update,), 1)
        if not isinstance(head, Bulk):
            return None
        scaling = _scaling(head)
        if scaling is not None and len(parts) > 1 and isinstance(parts[1], Bulk):
            made = self.products(parts[1], scaling)
            if made is not None:
                return made, 2
        made = self.products(head, None) or self.single(head)
        return (made, 1) if made is not None else None

    def norm(self, parts: Sequence[Part]) -> RoutineCall | None:
        """`s = sqrt(sum of squares)`."""
        match parts[:3]:
            case [Plain(stmt=Assign(value=Const(value=0)) as start), Bulk() as bulk, Plain(stmt=Assign() as end)]:
                pass
            case _:
                return None
        products = as_products(bulk) or ()
        place = Load(start.array, start.index, bulk.target.type)
        if len(products) != 1 or products[0].factors or bulk.op != "add" or bulk.target != place:
            return None
        if end.value != Function("sqrt", (place,)) or (end.array, end.index) != (start.array, start.index):
            return None
        match products[0].operands:
            case (a, b) if a == b and len(a.loops) == 1:
                vector = as_vector(a.view, self.arrays[a.view.array])
                if vector is not None:
                    words = (BlasSize(vector.count), *vector.arguments(signed=False))
                    return self.call("nrm2", words, vector, result=replace(end, value=place))
            case _:
                pass
        return None

    def call(
        self, function: str, arguments: tuple[Argument, ...], *operands: BlasVector | BlasMatrix,
        result: Assign | Reduce | None = None, conditions: tuple[Expr, ...] = (), loops: tuple[ViewLoop, ...] = (),
    ) -> RoutineCall:  # fmt: skip
        """A call on operands, each with its conditions."""
        asked = tuple(c for x in operands if isinstance(x, BlasVector) for c in x.conditions)
        return RoutineCall(
            function, self.arrays[operands[0].array].type, arguments, (*asked, *conditions), result, loops
        )

    def products(self, bulk: Bulk, scaling: _Scaling | None) -> tuple[Step, ...] | None:
        """A sum of products, the first one with what is done to the target before."""
        found = as_products(bulk)
        if found is None:
            return None
        if bulk.op is None:
            if scaling is not None:
                return None
            view = in_order(bulk.read(bulk.target)).view
            scaling = _Scaling(view, Const(0.0, type_of(bulk.value)))
        elif scaling is not None and not _alike(scaling.view, in_order(found[0].target).view):
            return None
        out: list[Step] = []
        for product in found:
            call = self.product(product, scaling, bulk.op is None)
            if call is None:
                return None
            out.append(call)
            scaling = None
        return tuple(out)

    def product(self, product: ViewProduct, scaling: _Scaling | None, stores: bool) -> RoutineCall | None:
        """One product, by how many dimensions it has; one of more dimensions as products of matrices in a loop."""
        batch = tuple(
            x for x in product.bulk.loops
            if len(product.operands) == 2 and all(x.var in y.loops for y in (product.target, *product.operands))
        )  # fmt: skip
        found = self.within(product, batch, scaling, stores)
        if found is not None:
            return found
        rest = [x for x in product.bulk.loops if x.var in product.target.loops and x not in batch]
        for more in combinations(rest, max(0, len(rest) - 2)) if len(rest) <= _MOST_LOOPS else ():
            found = self.within(product, (*batch, *more), scaling, stores) if more else None
            if found is not None and found.function == "gemm":
                return found
        return None

    def within(
        self, product: ViewProduct, batch: tuple[ViewLoop, ...], scaling: _Scaling | None, stores: bool
    ) -> RoutineCall | None:
        """One product in an iteration of the loops of a batch."""
        inner = _without(product, batch)
        if inner is None:
            return None
        kind = type_of(product.bulk.value)
        alpha = BlasValue(_times(product.factors, kind))
        beta = BlasValue(scaling.factor if scaling is not None else _one(kind))
        shape = (len(inner.target.loops), tuple(len(x.loops) for x in inner.operands))
        match shape:
            case (2, (2, 2)):
                return self.gemm(inner, alpha, beta, batch)
            case (1, (2, 1) | (1, 2)):
                return self.gemv(inner, alpha, beta, batch, scaling is not None)
            case (2, (1, 1)) if scaling is None:
                return self.ger(inner, alpha, batch)
            case (0, (1, 1)) if scaling is None and not batch:
                return self.dot(inner)
            case (1, (1,)) if scaling is None:
                return self.line("axpy", inner, (alpha,))
            case (1, (1,)) if stores and not product.factors:
                return self.line("copy", inner, ())
            case _:
                return None

    def gemm(
        self, product: ViewProduct, alpha: BlasValue, beta: BlasValue, batch: tuple[ViewLoop, ...]
    ) -> RoutineCall | None:
        """C = alpha A B + beta C."""
        for row, column in (product.target.loops, product.target.loops[::-1]):
            for left, right in (product.operands, product.operands[::-1]):
                shared = set(left.loops) & set(right.loops)
                if len(shared) != 1 or row not in left.loops or column not in right.loops:
                    continue
                (k,) = shared
                c = self.matrix(product.target, row, column)
                a, b = self.matrix(left, row, k), self.matrix(right, k, column)
                if c is None or a is None or b is None:
                    return None
                words = (major(c.order), a.turn(c.order), b.turn(c.order))
                sizes = (BlasSize(c.rows), BlasSize(c.columns), BlasSize(a.columns))
                arguments = (*words, *sizes, alpha, *a.arguments(), *b.arguments(), beta, *c.arguments())
                return self.call("gemm", arguments, c, a, b, loops=batch)
        return None

    def gemv(
        self, product: ViewProduct, alpha: BlasValue, beta: BlasValue, batch: tuple[ViewLoop, ...], scaled: bool
    ) -> RoutineCall | None:
        """y = alpha A x + beta y."""
        first, second = sorted(product.operands, key=lambda x: -len(x.loops))
        (row,), (column,) = product.target.loops, second.loops
        if set(first.loops) != {row, column}:
            return None
        a, x, y = self.matrix(first, row, column), self.vector(second), self.vector(product.target)
        if a is None or x is None or y is None:
            return None
        arguments = (major(a.order), BlasFlag("NoTrans"), BlasSize(a.rows), BlasSize(a.columns), alpha, *a.arguments(),
                     *x.arguments(), beta, *y.arguments())  # fmt: skip
        # Without a column nothing is done, and y is not scaled.
        asked = (Compare("ge", a.columns, index(1)),) if scaled else ()
        return self.call("gemv", arguments, a, x, y, conditions=asked, loops=batch)

    def ger(self, product: ViewProduct, alpha: BlasValue, batch: tuple[ViewLoop, ...]) -> RoutineCall | None:
        """A += alpha x yT."""
        first, second = product.operands
        if set(product.target.loops) != {*first.loops, *second.loops}:
            return None
        a = self.matrix(product.target, first.loops[0], second.loops[0])
        x, y = self.vector(first), self.vector(second)
        if a is None or x is None or y is None:
            return None
        sizes = (BlasSize(a.rows), BlasSize(a.columns))
        arguments = (major(a.order), *sizes, alpha, *x.arguments(), *y.arguments(), *a.arguments())
        return self.call("ger", arguments, a, x, y, loops=batch)

    def dot(self, product: ViewProduct) -> RoutineCall | None:
        """s += x y."""
        if product.operands[0].loops != product.operands[1].loops or product.factors:
            return None
        x, y = (self.vector(z) for z in product.operands)
        if x is None or y is None:
            return None
        target = product.bulk.target
        result = Reduce(target.array, target.index, "add", target)
        return self.call("dot", (BlasSize(x.count), *x.arguments(), *y.arguments()), x, y, result=result)

    def line(self, function: str, product: ViewProduct, words: tuple[Argument, ...]) -> RoutineCall | None:
        """y += alpha x, or y = x."""
        x, y = self.vector(product.operands[0]), self.vector(product.target)
        if x is None or y is None or product.operands[0].loops != product.target.loops:
            return None
        return self.call(function, (BlasSize(x.count), *words, *x.arguments(), *y.arguments()), x, y)

    def single(self, bulk: Bulk) -> tuple[Step, ...] | None:
        """x *= alpha, or s += sum of absolute values."""
        target = bulk.read(bulk.target)
        moving = {x.var for x in bulk.loops}
        match bulk.op, bulk.value:
            case "mul", factor if len(target.loops) == 1 and not bulk.reduced and not variables(factor) & moving:
                x = self.vector(target)
                if x is not None and not any(y.array == x.array for y in loads(factor)):
                    return (self.call("scal", (BlasSize(x.count), BlasValue(factor), *x.arguments(signed=False)), x),)
            case "add", Function(function="fabs", arguments=(Load() as load,)) if not target.loops:
                x = self.vector(bulk.read(load))
                if x is not None and len(bulk.loops) == 1:
                    result = Reduce(bulk.target.array, bulk.target.index, "add", bulk.target)
                    return (self.call("asum", (BlasSize(x.count), *x.arguments(signed=False)), x, result=result),)
            case _:
                pass
        return None

    def vector(self, access: ViewAccess) -> BlasVector | None:
        """An operand of one dimension."""
        return as_vector(access.view, self.arrays[access.view.array])

    def matrix(self, access: ViewAccess, row: str, column: str) -> BlasMatrix | None:
        """An operand of two dimensions, of which one is its rows."""
        order = [access.loops.index(x) for x in (row, column)]
        view = access.view
        steps, shape = tuple(view.steps[i] for i in order), tuple(view.shape[i] for i in order)
        return as_matrix(replace(view, steps=steps, shape=shape), self.arrays[view.array])


def _without(product: ViewProduct, batch: tuple[ViewLoop, ...]) -> ViewProduct | None:
    """The product in one iteration of some loops; None where nothing is left of it."""
    if not batch:
        return product
    names = {x.var for x in batch}
    bulk = replace(product.bulk, loops=tuple(x for x in product.bulk.loops if x.var not in names))
    inner = as_products(bulk)
    return inner[0] if inner is not None and len(inner) == 1 else None


def _scaling(bulk: Bulk) -> _Scaling | None:
    """A target that is set to zero, or multiplied by a number."""
    if bulk.reduced:
        return None
    moving = {x.var for x in bulk.loops}
    zero = bulk.op is None and isinstance(bulk.value, Const) and bulk.value.value == 0
    inner = [x for x in loads(bulk.value) if x.array == bulk.target.array]
    if zero or (bulk.op == "mul" and not variables(bulk.value) & moving and not inner):
        return _Scaling(in_order(bulk.read(bulk.target)).view, bulk.value)
    return None


def _alike(a: View, b: View) -> bool:
    """Whether two views are of the same elements."""
    if (a.array, a.steps) != (b.array, b.steps):
        return False
    return all(same(x, y) for x, y in zip((*a.start, *a.shape), (*b.start, *b.shape), strict=True))


def _one(kind: Type) -> Const:
    return Const(1.0, kind)


def _times(factors: Sequence[Expr], kind: Type) -> Expr:
    """The product of some numbers."""
    rest = [x for x in factors if not (isinstance(x, Const) and x.value == 1)]
    return reduce(lambda a, b: Binary("mul", a, b), rest) if rest else _one(kind)
