"""A raised kernel as loops again: every operation is replaced by its definition, over the operands that it has.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> from planish.raising.operation import Operation
>>> from planish.ir.types import F32
>>> scal = Operation("scal", parse_kernel("kernel scal(n; a: f64; x: f64[n]) { for i in 0 .. n { x[i] *= a } }"))
>>> kernel = parse_kernel("kernel k(m; b: f32; A: f32[m, m]) { }")
>>> diagonal = View("A", (index(0), index(0)), ((1, 1),), (index("m"),))
>>> step = Apply(scal, {"x": diagonal}, {"n": index("m")}, {"a": Var("b", F32)})
>>> print(print_kernel(expand(Raised(kernel, (step,)))), end="")
kernel k(m; b: f32; A: f32[m, m])
{
  for i in 0 .. m {
    A[i, i] *= b
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from planish.core.names import free_name, take_name
from planish.ir.expr import Cast, Compare, Const, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import add, extremum, floordiv, mod, mul, normal, sub
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import children, map_block, map_expr, map_exprs, with_children
from planish.ir.types import F64, INDEX, Type
from planish.raising.raised import Apply, Choice, Loops, Raised, Repeat, Reshape, Step, View, arrays_of, bound_names


def expand(raised: Raised) -> Kernel:
    """The kernel with every operation as the loops that define it; f64 in a definition is the type of its operands."""
    kernel, arrays = raised.kernel, arrays_of(raised)
    taken = {*arrays, *kernel.sizes, *(x.name for x in kernel.scalars), *bound_names(raised.steps)}
    body = Block((*map(Alloc, raised.locals), *write_steps(raised.steps, arrays, taken)))
    return replace(kernel, body=without_reshapes(body, raised))


def write_steps(steps: tuple[Step, ...], arrays: Mapping[str, Array], taken: set[str]) -> Iterator[Stmt]:
    """The loops of some steps."""
    for step in steps:
        match step:
            case Loops(body=block):
                yield block
            case Apply():
                yield from inline(step, arrays, taken).body
            case Repeat():
                yield wrap(step, tuple(write_steps(step.steps, arrays, {*taken})))
            case Choice(cases=cases):
                chosen = Block(())
                for case in reversed(cases):
                    inner = tuple(write_steps(case.steps, arrays, {*taken}))
                    chosen = Block((If(case.condition, Block((*map(Alloc, case.locals), *inner)), chosen),))
                yield from chosen.body
            case _:
                assert_never(step)


def wrap(step: Repeat, body: Sequence[Stmt]) -> For:
    """The loop of a step around what its steps became."""
    if step.shares is None:
        return For(step.var, step.lower, step.upper, step.by, Block(tuple(body)))
    number, by = index(step.shares.number), index(step.by)
    share, besides = index(step.shares.share), index(step.shares.besides)
    extent = add(sub(step.upper, step.lower), besides)
    width = mul(_ceildiv(_ceildiv(extent, number), by), by)
    begins = add(step.lower, mul(share, index(step.shares.width)))
    if step.shares.besides:
        width = extremum("max", width, add(besides, besides))
        width = sub(width, extremum("max", sub(besides, mul(besides, share)), index(0)))
        begins = sub(begins, extremum("min", mul(besides, share), besides))
    inside = If(Compare("lt", index(step.var), step.upper), Block(tuple(body)))
    body = Let(step.shares.width, width), Let(step.var, begins), inside
    return For(step.shares.share, index(0), number, 1, Block(body))


def _ceildiv(value: Expr, divisor: Expr) -> Expr:
    return floordiv(add(value, sub(divisor, index(1))), divisor)


def inline(step: Apply, arrays: Mapping[str, Array], taken: set[str]) -> Block:
    """The loops of one operation; names that it binds are none of those that are taken, and are so afterwards."""
    return _inliner(step, arrays).block(step.operation.definition.body, {**step.sizes, **step.scalars}, taken)


def apply_builder(
    step: Apply, builder: Raised, arrays: Mapping[str, Array], taken: set[str]
) -> tuple[tuple[Apply, ...], tuple[Array, ...]]:
    """The operations of a builder that has no other steps, and an operation's parameters, over the operands of that;
    and the arrays that they need besides, under names that are not taken, and are so afterwards."""
    inliner, values = _inliner(step, arrays), {**step.sizes, **step.scalars}
    locals = tuple(inliner.local(x, values, taken) for x in builder.locals)
    steps: list[Apply] = []
    for x in builder.steps:
        assert isinstance(x, Apply)
        steps.append(replace(inliner.apply(x, values), span=step.span))
    return tuple(steps), locals


def _inliner(step: Apply, arrays: Mapping[str, Array]) -> _Inliner:
    generic = (x.name for x in step.operation.definition.arrays if x.type == F64)
    return _Inliner(dict(step.operands), next((arrays[step.operands[x].array].type for x in generic), F64))


@dataclass(frozen=True, slots=True)
class _Inliner:
    """Operands for arrays, and the type that f64 stands for."""

    operands: dict[str, View]
    element: Type

    def block(self, block: Block, values: Mapping[str, Expr], taken: set[str]) -> Block:
        """Statements in order, with values for the names of the definition; bindings are added to what is taken."""
        out: list[Stmt] = []
        for stmt in block.body:
            match stmt:
                case Let(var=var):
                    value, name = self.value(stmt.value, values), free_name(var, taken)
                    out.append(replace(stmt, var=name, value=value))
                    values = {**values, var: Var(name, type_of(value))}
                    taken.add(name)
                case Alloc(array=array):
                    out.append(Alloc(self.local(array, values, taken)))
                case _:
                    out.append(self.statement(stmt, values, taken))
        return Block(tuple(out))

    def statement(self, stmt: Stmt, values: Mapping[str, Expr], taken: set[str]) -> Stmt:
        """One statement, which binds nothing for those after it, over the operands."""
        match stmt:
            case For(var=var):
                lower, upper = self.value(stmt.lower, values), self.value(stmt.upper, values)
                name = free_name(var, taken)
                body = self.block(stmt.body, {**values, var: Var(name, INDEX)}, {*taken, name})
                return replace(stmt, var=name, lower=lower, upper=upper, body=body)
            case If():
                then, otherwise = (self.block(x, values, {*taken}) for x in (stmt.then, stmt.otherwise))
                return replace(stmt, condition=self.value(stmt.condition, values), then=then, otherwise=otherwise)
            case Assign() | Reduce():
                array, at = self.place(stmt.array, tuple(self.value(x, values) for x in stmt.index))
                return replace(stmt, array=array, index=at, value=self.value(stmt.value, values))
            case Block() | Let() | Alloc():
                return self.block(stmt if isinstance(stmt, Block) else Block((stmt,)), values, {*taken})
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)

    def local(self, array: Array, values: Mapping[str, Expr], taken: set[str]) -> Array:
        """A local array of the definition under a name of its own."""
        name = take_name(array.name, taken)
        shape = tuple(None if x is None else self.value(x, values) for x in array.shape)
        rank = len(shape)
        steps = tuple(tuple(int(i == d) for d in range(rank)) for i in range(rank))
        self.operands[array.name] = View(name, (index(0),) * rank, steps, ())
        return replace(array, name=name, shape=shape, type=self.type(array.type))

    def apply(self, step: Apply, values: Mapping[str, Expr]) -> Apply:
        """An operation on operands of the definition, on what these stand for."""
        sizes, scalars = ({x: self.value(y, values) for x, y in z.items()} for z in (step.sizes, step.scalars))
        operands = {x: self.view(y, values) for x, y in step.operands.items()}
        conditions = tuple(self.value(x, values) for x in step.conditions)
        return Apply(step.operation, operands, sizes, scalars, conditions, step.statements, step.span)

    def view(self, view: View, values: Mapping[str, Expr]) -> View:
        """A view of an array of the definition as one of the array that its operand is a view of."""
        seen = self.operands[view.array]
        name, start = self.place(view.array, tuple(self.value(x, values) for x in view.start))
        through = [tuple(x[d] for x in seen.steps) for d in range(len(seen.start))]
        steps = tuple(tuple(sum(a * b for a, b in zip(step, x, strict=True)) for x in through) for step in view.steps)
        return View(name, start, steps, tuple(self.value(x, values) for x in view.shape))

    def value(self, expr: Expr, values: Mapping[str, Expr]) -> Expr:
        """An expression over the operands; what stands for a name is not looked into again."""
        match expr:
            case Var(name=name):
                return values.get(name, expr)
            case Load(array=array, index=at, type=type):
                return Load(*self.place(array, tuple(self.value(x, values) for x in at)), self.type(type))
            case Const(value=number, type=type) if type == F64:
                return Const(float(number) if self.element.is_float else int(number), self.element)
            case Cast(operand=operand, type=type):
                return Cast(self.value(operand, values), self.type(type))
            case _:
                fresh = with_children(expr, tuple(self.value(x, values) for x in children(expr)))
                return normal(fresh) if type_of(fresh) == INDEX else fresh

    def place(self, array: str, at: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
        """Where an element of the definition's array is."""
        view = self.operands[array]
        out = list(view.start)
        for subscript, step in zip(at, view.steps, strict=True):
            for d, factor in enumerate(step):
                if factor:
                    out[d] = add(out[d], mul(index(factor), subscript))
        return view.array, tuple(out)

    def type(self, type: Type) -> Type:
        """The type that stands for one of the definition."""
        return self.element if type == F64 else type


def without_reshapes(body: Block, raised: Raised) -> Block:
    """Statements with the elements of reshaped arrays as those of the arrays whose memory they have."""
    arrays = arrays_of(raised)
    for reshape in reversed(raised.reshapes):
        body = map_block(partial(_moved, reshape=reshape, memory=arrays[reshape.of]), body)
    return body


def _moved(stmt: Stmt, reshape: Reshape, memory: Array) -> Stmt:
    """A statement with elements of a reshaped array where its memory has them."""
    seen = reshape.array

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array == seen.name:
            return Load(memory.name, _place_in(memory, expr.index, seen), expr.type)
        return expr

    stmt = map_exprs(lambda x: map_expr(change, x), stmt)
    if isinstance(stmt, Assign | Reduce) and stmt.array == seen.name:
        return replace(stmt, array=memory.name, index=_place_in(memory, stmt.index, seen))
    return stmt


def _place_in(memory: Array, place: tuple[Expr, ...], seen: Array) -> tuple[Expr, ...]:
    """The subscripts in an array's memory of the element that has this place in another shape."""
    linear: Expr = index(0)
    for x, extent in zip(place, seen.shape, strict=True):
        linear = x if linear == index(0) or extent is None else add(mul(linear, extent), x)
    out: list[Expr] = []
    for extent in reversed(memory.shape[1:]):
        assert extent is not None
        out.append(mod(linear, extent))
        linear = floordiv(linear, extent)
    return (linear, *reversed(out)) if memory.shape else ()
