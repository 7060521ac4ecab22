"""Reads an application as a product in index notation, from the definition of its operation, not from its name.

>>> from planish.ir.expr import index
>>> from planish.ir.nest import Array
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> text = "kernel turn(m, n; A: f64[m, n], B: f64[n, m]) { for i in 0 .. n { for j in 0 .. m { B[i, j] = A[j, i] } } }"
>>> a, b = Array("X", F32, (index(3), index(4))), Array("Y", F32, (index(4), index(3)))
>>> step = Apply(Operation("turn", parse_kernel(text)), {"A": whole(a), "B": whole(b)}, {"m": index(3), "n": index(4)})
>>> read_product(step, F32).einsum
'ba->ab'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from string import ascii_letters

from planish.ir.expr import Binary, Const, Expr, Load, Unary, Var
from planish.ir.index.polynomial import build, normal, polynomial
from planish.ir.nest import Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import loads, map_expr, substitute, variables
from planish.ir.types import F64, INDEX, Type
from planish.raising.algebra.product import Product, ProductOperand, is_number, stepped
from planish.raising.raised import Apply, View


@dataclass(frozen=True, slots=True)
class NestedStatement:
    """A statement of a definition and the loops around it, outermost first."""

    loops: tuple[For, ...]
    stmt: Assign | Reduce


class _OtherwiseError(Exception):
    """The definition is no product; the message says why."""


def read_product(apply: Apply, type: Type) -> Product | str:
    """The product that an application is where its elements are of a type, or why it is none."""
    try:
        return _Reader(apply, type).product(places(apply.operation.definition))
    except _OtherwiseError as error:
        return f"`{apply.operation.name}` {error}"


def places(kernel: Kernel) -> list[NestedStatement] | None:
    """The statements of a definition made of rectangular loops from 0; None for any other."""
    try:
        return list(_places(kernel.body, (), set(kernel.sizes)))
    except _OtherwiseError:
        return None


def _places(block: Block, loops: tuple[For, ...], sizes: set[str]) -> Iterator[NestedStatement]:
    for stmt in block.body:
        yield from _place(stmt, loops, sizes)


def _place(stmt: Stmt, loops: tuple[For, ...], sizes: set[str]) -> Iterator[NestedStatement]:
    match stmt:
        case Block():
            yield from _places(stmt, loops, sizes)
        case For(lower=lower, upper=upper, step=1, body=body) if is_number(lower, 0) and variables(upper) <= sizes:
            yield from _places(body, (*loops, stmt), sizes)
        case Assign() | Reduce():
            yield NestedStatement(loops, stmt)
        case _:
            raise _OtherwiseError("has a loop or a statement of another form")


def retyped(expr: Expr, type: Type) -> Expr:
    """An expression of a definition over elements of a type, which f64 stands for."""

    def change(x: Expr) -> Expr:
        match x:
            case Const(value=value, type=kind) if kind == F64:
                return Const(float(value) if type.is_float else int(value), type)
            case Var(type=kind) | Load(type=kind) if kind == F64:
                return replace(x, type=type)
            case _:
                return x

    return map_expr(change, expr)


@dataclass(frozen=True, slots=True)
class _Reader:
    """An application and the type of its elements."""

    apply: Apply
    type: Type

    def product(self, found: list[NestedStatement] | None) -> Product:
        if found is None:
            raise _OtherwiseError("is no rectangular nest")
        match found:
            case [NestedStatement(stmt=Assign()) as only]:
                return self.assigned(only)
            case [NestedStatement(stmt=Reduce(op="mul")) as only]:
                return self.scaled(only)
            case [NestedStatement(stmt=Reduce(op="add")) as only]:
                return self.summed(only, Const(1, self.type))
            case [first, NestedStatement(stmt=Reduce(op="add")) as second]:
                out = self.summed(second, self.initial(first, second))
                # Without a sum an element is 0 + x, which is not x where x is -0.
                return replace(out, exact=out.exact and bool(out.sums or out.beta))
            case _:
                raise _OtherwiseError("is no single sum of products")

    def assigned(self, place: NestedStatement) -> Product:
        """`C = product`, `C = C + product`, `C = beta * C + product` or `C = beta * C`, without a sum."""
        stmt = place.stmt
        own = Load(stmt.array, stmt.index, F64)
        value = stmt.value
        match value:
            case Binary(op="add", left=left, right=right) if any(x == own for x in loads(value)):
                old, new = (left, right) if any(x == own for x in loads(left)) else (right, left)
                sum_of_new = replace(place, stmt=Reduce(stmt.array, stmt.index, "add", new))
                out = self.summed(sum_of_new, self.multiple(old, own))
                return replace(out, exact=out.exact and old is left)
            case _ if any(x == own for x in loads(value)):
                beta = self.multiple(value, own)
                return self.scaled(replace(place, stmt=Reduce(stmt.array, stmt.index, "mul", beta)))
            case _:
                out = self.summed(replace(place, stmt=Reduce(stmt.array, stmt.index, "add", value)), None)
                if out.sums:
                    raise _OtherwiseError("stores an element more than once")
                return out

    def scaled(self, place: NestedStatement) -> Product:
        """`C = beta * C`: nothing times no factors is added."""
        out = self.summed(replace(place, stmt=replace(place.stmt, value=Const(0.0, F64))), None)
        beta = self.scalar(place.stmt.value)
        if out.sums:
            raise _OtherwiseError("scales an element more than once")
        return replace(out, beta=beta)

    def multiple(self, value: Expr, own: Load) -> Expr:
        """beta of `C`, `beta * C` or `C * beta`."""
        match value:
            case Load() if value == own:
                return Const(1, self.type)
            case Binary(op="mul", left=left, right=right) if own in (left, right):
                return self.scalar(right if left == own else left)
            case _:
                raise _OtherwiseError("reads its output in another way")

    def initial(self, first: NestedStatement, second: NestedStatement) -> Expr | None:
        """beta of a statement that stands before the sum, None for zero; it must see each element once, and before."""
        names = [x.var for x in first.loops]
        index = [x.name for x in first.stmt.index if isinstance(x, Var)]
        target = second.stmt.index
        if first.stmt.array != second.stmt.array or sorted(index) != sorted(names) or len(index) != len(target):
            raise _OtherwiseError("starts its sum in another way")
        shared = [x.var for x, y in zip(first.loops, second.loops, strict=False) if x is y]
        if any(not isinstance(y, Var) or (x in shared and x != y.name) for x, y in zip(index, target, strict=True)):
            raise _OtherwiseError("starts its sum in another way")
        if any(x not in [y.name for y in target if isinstance(y, Var)] for x in shared):
            raise _OtherwiseError("starts its sum in another way")
        ends = [self.extent(second, x.name) for x in target if isinstance(x, Var)]
        if [self.extent(first, x) for x in index] != ends:
            raise _OtherwiseError("starts its sum over other elements than it adds to")
        own = Load(first.stmt.array, first.stmt.index, F64)
        match first.stmt:
            case Assign(value=value) if is_number(value, 0):
                return None
            case Assign(value=value):
                return self.multiple(value, own)
            case Reduce(op="mul", value=value):
                return self.scalar(value)
            case _:
                raise _OtherwiseError("starts its sum in another way")

    def extent(self, place: NestedStatement, var: str) -> Expr:
        upper = next(x.upper for x in place.loops if x.var == var)
        return normal(substitute(upper, dict(self.apply.sizes)))

    def scalar(self, expr: Expr) -> Expr:
        """An expression of the scalars, in terms of the kernel's."""
        if loads(expr):
            raise _OtherwiseError("has a factor that changes with the loops")
        values = dict(self.apply.scalars)
        if variables(expr) - values.keys():
            raise _OtherwiseError("has a factor that changes with the loops")
        return substitute(retyped(expr, self.type), values)

    def summed(self, place: NestedStatement, beta: Expr | None) -> Product:
        """`C = beta * C + sum of the statement's value`."""
        names = {x.var: letter for x, letter in zip(place.loops, ascii_letters, strict=False)}
        if len(names) < len(place.loops):
            raise _OtherwiseError("has a name for two loops, or too many loops")
        extents = {names[x.var]: self.extent(place, x.var) for x in place.loops}
        target = place.stmt.index
        if not all(isinstance(x, Var) and x.name in names for x in target) or len(set(target)) < len(target):
            raise _OtherwiseError("writes at subscripts that are no plain iterators")
        output = self.term(Load(place.stmt.array, target, F64), names, extents)
        scalars, factors = _multiplied(place.stmt.value, place.stmt.array)
        alpha: Expr | None = None
        for x in scalars:
            value = self.scalar(x)
            alpha = value if alpha is None else Binary("mul", alpha, value)
        terms = tuple(self.term(x, names, extents) for x in factors)
        sums = "".join(names[x.var] for x in place.loops if names[x.var] not in output.letters)
        exact = place.stmt.value == _in_order(scalars, factors) and len(scalars) <= 1
        return Product(output, terms, extents, sums, alpha, beta, exact)

    def term(self, load: Load, names: Mapping[str, str], extents: Mapping[str, Expr]) -> ProductOperand:
        """The operand as a view with one dimension for each iterator in its subscripts."""
        view = self.apply.operands[load.array]
        start = view.start
        steps: dict[str, tuple[int, ...]] = {}
        for subscript, step in zip(load.index, view.steps, strict=True):
            rest = dict(polynomial(subscript))
            for name, letter in names.items():
                factor = rest.pop((Var(name, INDEX),), 0)
                if factor:
                    old = steps.get(letter, (0,) * len(start))
                    steps[letter] = tuple(a + factor * b for a, b in zip(old, step, strict=True))
            offset = build(rest)
            if variables(offset) & names.keys():
                raise _OtherwiseError("has a subscript that is no sum of iterators")
            start = stepped(start, step, substitute(offset, dict(self.apply.sizes)))
        letters = "".join(steps)
        shape = tuple(extents[x] for x in letters)
        return ProductOperand(View(view.array, tuple(normal(x) for x in start), tuple(steps.values()), shape), letters)


def _multiplied(expr: Expr, output: str) -> tuple[list[Expr], list[Load]]:
    """The scalars and the elements that are multiplied."""
    match expr:
        case Binary(op="mul", left=left, right=right):
            (a, b), (c, d) = _multiplied(left, output), _multiplied(right, output)
            return a + c, b + d
        case Unary(op="neg", operand=operand):
            scalars, elements = _multiplied(operand, output)
            return [Const(-1.0, F64), *scalars], elements
        case Load(array=array):
            if array == output:
                raise _OtherwiseError("multiplies its output")
            return [], [expr]
        case _:
            return [expr], []


def _in_order(scalars: list[Expr], factors: list[Load]) -> Expr | None:
    out: Expr | None = None
    for x in (*scalars, *factors):
        out = x if out is None else Binary("mul", out, x)
    return out
