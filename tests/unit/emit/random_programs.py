"""Random well-formed kernels whose accesses stay in bounds, for the interpreter and the C compiler to agree on."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from planish.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    index,
)
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Reduce, ReduceOp, Scalar, Stmt
from planish.ir.semantics.arithmetic import limits
from planish.ir.types import ALL_TYPES, BF16, BOOL, F16, INDEX, Type

TYPES = tuple(t for t in ALL_TYPES if t != BF16)
FLOAT_OPS: tuple[BinaryOp, ...] = ("add", "sub", "mul", "div", "min", "max")
INT_OPS: tuple[BinaryOp, ...] = ("add", "sub", "mul", "min", "max", "and", "or", "xor")
DIVISIONS: tuple[BinaryOp, ...] = ("quo", "rem", "floordiv", "mod")
COMPARISONS: tuple[CompareOp, ...] = ("eq", "ne", "lt", "le", "gt", "ge")
KINDS = ("assign", "reduce", "let", "alloc", "for", "if", "block")
EXACT = ("sqrt", "fabs", "floor", "ceil", "trunc", "rint", "round")
EXTENTS = (3, 5)


@dataclass(frozen=True)
class Scope:
    """What an expression may use."""

    variables: tuple[Var, ...]
    arrays: tuple[Array, ...]


@st.composite
def constants(draw: st.DrawFn, type: Type) -> Const:
    """A literal of the type."""
    if type == BOOL:
        return Const(draw(st.booleans()), type)
    if type.is_float:
        return Const(draw(st.floats(-100, 100, width=16)), type)
    low, high = limits(type)
    return Const(draw(st.one_of(st.integers(max(low, -9), 9), st.integers(low, high))), type)


@st.composite
def subscripts(draw: st.DrawFn, scope: Scope, array: Array) -> tuple[Expr, ...]:
    """Subscripts within the extents, which are constants or the size n (at least 1)."""
    out: list[Expr] = []
    for extent in array.shape:
        assert extent is not None
        free = draw(expressions(scope, INDEX, 1))
        out.append(Binary("mod", free, extent))
    return tuple(out)


@st.composite
def expressions(draw: st.DrawFn, scope: Scope, type: Type, depth: int) -> Expr:
    """An expression of the type."""
    leaves: list[st.SearchStrategy[Expr]] = [constants(type)]
    leaves += [st.just(x) for x in scope.variables if x.type == type]
    if depth <= 0:
        return draw(st.one_of(leaves))
    held = [x for x in scope.arrays if x.type == type]
    inner = expressions(scope, type, depth - 1)
    other = draw(st.sampled_from(TYPES))
    from_other = expressions(scope, other, depth - 1)
    conditions = expressions(scope, BOOL, depth - 1)
    choices = [*(leaves if depth == 1 else []), st.builds(Select, conditions, inner, inner)]
    choices += [st.builds(Load, st.just(x.name), subscripts(scope, x), st.just(x.type)) for x in held]
    if type == BOOL:
        choices.append(st.builds(Compare, st.sampled_from(COMPARISONS), from_other, from_other))
        choices.append(st.builds(Binary, st.sampled_from(["and", "or", "xor"]), inner, inner))
        choices.append(st.builds(Unary, st.just("not"), inner))
    else:
        choices.append(st.builds(Cast, from_other, st.just(type)))
        choices.append(st.builds(Unary, st.just("neg"), inner))
    if type.is_float:
        choices.append(st.builds(Binary, st.sampled_from(FLOAT_OPS), inner, inner))
        choices.append(st.tuples(st.sampled_from(EXACT), inner).map(lambda x: Call(x[0], (x[1],))))
    elif type.is_int:
        divisor = st.integers(1, 100).map(lambda v: Const(v, type))
        count = st.integers(0, type.bits - 1).map(lambda v: Const(v, type))
        choices.append(st.builds(Binary, st.sampled_from(INT_OPS), inner, inner))
        choices.append(st.builds(Binary, st.sampled_from(DIVISIONS), inner, divisor))
        choices.append(st.builds(Binary, st.sampled_from(["shl", "shr"]), inner, count))
        choices.append(st.builds(Unary, st.just("bitnot"), inner))
    return draw(st.one_of(choices))


@st.composite
def blocks(draw: st.DrawFn, scope: Scope, depth: int, prefix: str, least: int = 1) -> Block:
    """Statements; names that they bind start with the prefix, so that none is bound twice."""
    body: list[Stmt] = []
    for number in range(draw(st.integers(least, least + 1))):
        name = f"{prefix}{number}"
        kind = draw(st.sampled_from(KINDS if depth else KINDS[:1]))
        array = draw(st.sampled_from(scope.arrays))
        value = expressions(scope, array.type, 3)
        if kind == "assign":
            body.append(Assign(array.name, draw(subscripts(scope, array)), draw(value)))
        elif kind == "reduce":
            ops: list[ReduceOp] = ["add", "mul", "min", "max"]
            ops = ["and", "or", "xor"] if array.type == BOOL else ops if array.type.is_float else [*ops, "and", "xor"]
            where = draw(subscripts(scope, array))
            body.append(Reduce(array.name, where, draw(st.sampled_from(ops)), draw(value)))
        elif kind == "let":
            type = draw(st.sampled_from(TYPES))
            body.append(Let(name, draw(expressions(scope, type, 2))))
            scope = Scope((*scope.variables, Var(name, type)), scope.arrays)
        elif kind == "alloc":
            type = draw(st.sampled_from(TYPES))
            extents = draw(st.sampled_from([(), (3,), (2, 3)]))
            local = Array(name, type, tuple(index(x) for x in extents), memory="stack")
            body.append(Alloc(local))
            body += fill(local, name)
            scope = Scope(scope.variables, (*scope.arrays, local))
        elif kind == "for":
            lower = draw(st.integers(-2, 2))
            upper = draw(st.sampled_from([index("n"), index(3), Binary("add", index("n"), index(1))]))
            inner = Scope((*scope.variables, Var(name, INDEX)), scope.arrays)
            loop_body = draw(blocks(inner, depth - 1, name + "_"))
            body.append(For(name, index(lower), upper, draw(st.integers(1, 3)), loop_body))
        elif kind == "if":
            condition = draw(expressions(scope, BOOL, 2))
            then, otherwise = draw(blocks(scope, depth - 1, name + "t")), draw(blocks(scope, depth - 1, name + "e"))
            body.append(If(condition, then, draw(st.sampled_from([otherwise, Block(())]))))
        else:
            body.append(draw(blocks(scope, depth - 1, name + "b")))
    return Block(tuple(body))


def fill(array: Array, name: str) -> list[Stmt]:
    """Loops that give a local array its first content."""
    zero = Const(False if array.type == BOOL else 0, array.type)
    names = [f"{name}f{axis}" for axis in range(len(array.shape))]
    stmt: Stmt = Assign(array.name, tuple(index(x) for x in names), zero)
    for var, extent in reversed(list(zip(names, array.shape, strict=True))):
        assert extent is not None
        stmt = For(var, index(0), extent, 1, Block((stmt,)))
    return [stmt]


@st.composite
def programs(draw: st.DrawFn) -> Kernel:
    """A kernel over two sizes, some scalars, and arrays of three types at ranks 0 to 2."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=3, max_size=3))
    shapes: list[tuple[Expr, ...]] = [(), (index("n"),), (index("n"), index(EXTENTS[0]))]
    arrays = tuple(Array(f"A{i}", t, draw(st.permutations(shapes))[0], distinct=True) for i, t in enumerate(types))
    scalars = tuple(Scalar(f"x{i}", t) for i, t in enumerate(types) if t != F16)
    variables = (Var("n", INDEX), *(Var(x.name, x.type) for x in scalars))
    body = draw(blocks(Scope(variables, arrays), 3, "v", least=3))
    return Kernel("k", ("n",), scalars, arrays, body, (Compare("ge", Var("n", INDEX), Const(1, INDEX)),))
