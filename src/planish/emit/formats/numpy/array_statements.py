"""Loops that may run at once, each statement over whole views of arrays; the others stay loops around them.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n; A: f64[n, n], x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] = 0.0 for j in 0 .. i "
>>> kernel = parse_kernel(text + "{ y[i] += A[j, i] * x[n - 1 - j] } } }")
>>> for part in list_parts(kernel.body):
...     print(part)
y[0 + x0 | x0 < n] = 0.0:f64
for i in 0 .. n: y[i] += A[j, i] * x[n - 1 - j]
>>> print(list_parts(kernel.body)[1].body[0].read(kernel.body.body[0].body.body[1].body.body[0].value.right).view)
x[n - 1 - x0 | x0 < i]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from planish.ir.expr import Binary, Const, Expr, Load, Unary, Var, index, type_of
from planish.ir.index.polynomial import add, coefficient_of, constant, mul, normal, same, sub
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, ReduceOp, Stmt, While
from planish.ir.passes.update_idioms import rest_of
from planish.ir.text.operator_names import SIGNS
from planish.ir.text.printer import print_expr, print_stmt
from planish.ir.traverse import expressions, loads, map_block, map_expr, map_exprs, substitute, variables, walk
from planish.ir.types import BOOL, INDEX
from planish.raising.raised import View


@dataclass(frozen=True, slots=True)
class ViewLoop:
    """`var` runs from `lower` on, `extent` times (never, where that is negative)."""

    var: str
    lower: Expr
    extent: Expr


@dataclass(frozen=True, slots=True)
class ViewAccess:
    """The elements of an array that some loops use: dimension i of the view is the loop `loops[i]`."""

    loops: tuple[str, ...]
    view: View


@dataclass(frozen=True, slots=True)
class Bulk:
    """`target op= value` for all iterations of some loops, in any order; `op` is None where it is `target = value`.

    No element that is written is read, but for the target's own. The loops that the target does not step through are
    reduced over.
    """

    loops: tuple[ViewLoop, ...]
    target: Load
    op: ReduceOp | None
    value: Expr

    def read(self, load: Load) -> ViewAccess:
        """What the loops use of an array."""
        used = [x for x in self.loops if any(x.var in variables(e) for e in load.index)]
        start = list(load.index)
        steps = [[0] * len(load.index) for _ in used]
        for i, loop in enumerate(used):
            for d, place in enumerate(start):
                found = coefficient_of(place, loop.var)
                assert found is not None
                steps[i][d] = found[0]
                start[d] = add(found[1], mul(index(found[0]), loop.lower))
        view = View(load.array, tuple(map(normal, start)), tuple(map(tuple, steps)), tuple(x.extent for x in used))
        return ViewAccess(tuple(x.var for x in used), view)

    @property
    def reduced(self) -> tuple[ViewLoop, ...]:
        """The loops that the target does not step through."""
        kept = self.read(self.target).loops
        return tuple(x for x in self.loops if x.var not in kept)

    def __str__(self) -> str:
        access = self.read(self.target)
        sign = "=" if self.op is None else SIGNS[self.op]
        target = str(access.view) if not self.reduced else f"{print_expr(self.target)}"
        return f"{target} {sign} {print_expr(self.value)}"


@dataclass(frozen=True, slots=True)
class Serial:
    """Parts that run in order, once for each iteration of a loop."""

    loop: For
    body: tuple[Part, ...]

    def __str__(self) -> str:
        head = f"for {self.loop.var} in {print_expr(self.loop.lower)} .. {print_expr(self.loop.upper)}: "
        return head + "; ".join(map(str, self.body))


@dataclass(frozen=True, slots=True)
class Plain:
    """A statement that runs as it is."""

    stmt: Stmt

    def __str__(self) -> str:
        return print_stmt(self.stmt)


Part = Bulk | Serial | Plain


def list_parts(block: Block) -> tuple[Part, ...]:
    """The parts of a nest, in order; arrays of different names must not overlap, floats may be summed in any order."""
    if any(isinstance(x, Alloc | Let) for x in walk(block)):
        return tuple(Plain(x) for x in block.body)
    return tuple(_part(x) for x in distribute(map_block(ascending, block)))


def ascending(stmt: Stmt) -> Stmt:
    """A sum over elements that are read backwards, forwards."""
    match stmt:
        case For(var=var, body=Block(body=(Reduce(op="add") as leaf,))) if stmt.step == 1:
            used = [x for load in loads(leaf.value) for x in load.index if var in variables(x)]
            found = [coefficient_of(x, var) for x in used]
            if var in {y for x in leaf.index for y in variables(x)} or not found:
                return stmt
            if all(x is not None and x[0] < 0 for x in found):
                here = sub(sub(add(stmt.lower, stmt.upper), index(1)), Var(var, INDEX))
                turned = map_exprs(lambda x: substitute(x, {var: here}), leaf)
                return replace(stmt, body=Block((turned,)))
        case _:
            pass
    return stmt


def distribute(block: Block) -> tuple[Stmt, ...]:
    """The statements of a nest, each in loops of its own where that makes no difference."""
    return tuple(x for stmt in block.body for x in _apart(stmt))


def _apart(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statement as several that run one after the other, each in loops of its own where that makes no
    difference."""
    match stmt:
        case Block(body=body):
            return distribute(Block(body))
        case For(body=body):
            parts = distribute(body)
            if len(parts) > 1 and all(_is_separate(name, stmt.var, parts) for name in _written(parts)):
                return tuple(replace(stmt, body=Block((x,))) for x in parts)
            return (replace(stmt, body=Block(parts)),)
        case Assign() | Reduce() | If() | Let() | Alloc():
            return (stmt,)
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
        case _:
            assert_never(stmt)


def _written(parts: Sequence[Stmt]) -> set[str]:
    return {x.array for part in parts for x in walk(part) if isinstance(x, Assign | Reduce)}


def _places(name: str, parts: Sequence[Stmt]) -> Iterator[tuple[Expr, ...]]:
    """The subscripts of every use of an array."""
    for stmt in (x for part in parts for x in walk(part)):
        if isinstance(stmt, Assign | Reduce) and stmt.array == name:
            yield stmt.index
        yield from (x.index for e in expressions(stmt) for x in loads(e) if x.array == name)


def _is_separate(name: str, var: str, parts: Sequence[Stmt]) -> bool:
    """Whether each iteration of a loop has elements of an array for itself: one of the subscripts says so."""
    places = list(_places(name, parts))
    inner = {x.var for part in parts for x in walk(part) if isinstance(x, For)}
    for d in range(len(places[0])):
        first = places[0][d]
        found = coefficient_of(first, var)
        if found is None or not found[0] or variables(found[1]) & inner or loads(first):
            continue
        if all(same(x[d], first) for x in places):
            return True
    return False


def _part(stmt: Stmt) -> Part:
    """A statement as one part."""
    loops: list[For] = []
    leaf: Stmt = stmt
    while isinstance(leaf, For) and len(leaf.body.body) == 1:
        loops.append(leaf)
        leaf = leaf.body.body[0]
    if isinstance(leaf, Assign | Reduce):
        for outer in range(len(loops)):
            bulk = _bulk(loops[outer:], leaf)
            if bulk is not None:
                out: Part = bulk
                for loop in reversed(loops[:outer]):
                    out = Serial(loop, (out,))
                return out
    if isinstance(stmt, For):
        return Serial(stmt, tuple(_part(x) for x in stmt.body.body))
    return Plain(stmt)


def _bulk(loops: Sequence[For], leaf: Assign | Reduce) -> Bulk | None:
    """The statement in all of the loops at once; None where that is not possible, or not known to be."""
    names = {x.var for x in loops}
    if any(x.step != 1 or (variables(x.lower) | variables(x.upper)) & names for x in loops) or len(names) < len(loops):
        return None
    leaf = as_update(leaf)
    target = Load(leaf.array, leaf.index, type_of(leaf.value))
    op = leaf.op if isinstance(leaf, Reduce) else None
    ranges = tuple(ViewLoop(x.var, normal(x.lower), sub(x.upper, x.lower)) for x in loops)
    bulk = Bulk(ranges, target, op, leaf.value)
    used = (target, *loads(leaf.value))
    if any(coefficient_of(e, name) is None or loads(e) for load in used for e in load.index for name in names):
        return None
    if any(load.array == target.array for loop in loops for e in (loop.lower, loop.upper) for load in loads(e)):
        return None
    counted = map_expr(lambda x: Const(0, type_of(x)) if isinstance(x, Load) else x, leaf.value)
    if variables(counted) & names:
        return None
    if not _hits_once(bulk) or (op is None and bulk.reduced):
        return None
    return bulk if all(_is_harmless(bulk, x) for x in loads(leaf.value)) else None


def _hits_once(bulk: Bulk) -> bool:
    """Whether different iterations of the loops that the target steps through have different targets."""
    steps = bulk.read(bulk.target).view.steps
    own = [[d for d, step in enumerate(x) if step] for x in steps]
    return all(len(x) == 1 for x in own) and len({x[0] for x in own}) == len(own)


def _is_harmless(bulk: Bulk, load: Load) -> bool:
    """Whether a load sees nothing that the loops write, or just what the iteration itself replaces."""
    if load.array != bulk.target.array:
        return True
    if _is_same(load, bulk.target):
        return not bulk.reduced
    return are_apart(bulk.read(bulk.target).view, bulk.read(load).view)


def are_apart(one: View, other: View) -> bool:
    """Whether two views are known to have no element in common."""
    if one.array != other.array:
        return True
    for (a, b), (c, d) in zip(_reach(one), _reach(other), strict=True):
        if any((gap := constant(sub(x, y))) is not None and gap > 0 for x, y in ((a, d), (c, b))):
            return True
    return False


def _is_same(one: Load, other: Load) -> bool:
    return one.array == other.array and all(map(same, one.index, other.index))


def _reach(view: View) -> list[tuple[Expr, Expr]]:
    """The first and the last subscript of each dimension of the array."""
    out = []
    for d, start in enumerate(view.start):
        low = high = start
        for step, extent in zip(view.steps, view.shape, strict=True):
            far = mul(index(step[d]), sub(extent, index(1)))
            low, high = (add(low, far), high) if step[d] < 0 else (low, add(high, far))
        out.append((low, high))
    return out


def as_update(stmt: Assign | Reduce) -> Assign | Reduce:
    """`a = a + b` and `a = a - b` as updates."""
    if isinstance(stmt, Reduce) or not isinstance(stmt.value, Binary) or type_of(stmt.value) == BOOL:
        return stmt
    op, left, right = stmt.value.op, stmt.value.left, stmt.value.right
    if op == "sub" and _is_own(left, stmt):
        return Reduce(stmt.array, stmt.index, "add", Unary("neg", right), stmt.span)
    if op in ("add", "mul", "min", "max"):
        rest = rest_of(stmt.value, lambda x: _is_own(x, stmt))
        if rest is not None and not any(_is_own(x, stmt) for x in loads(rest)):
            return Reduce(stmt.array, stmt.index, op, rest, stmt.span)
    return stmt


def _is_own(expr: Expr, stmt: Assign) -> bool:
    return isinstance(expr, Load) and _is_same(expr, Load(stmt.array, stmt.index, expr.type))


@dataclass(frozen=True, slots=True)
class ViewProduct:
    """`target += factors * operands` over some loops, or `target = ..`; every loop is one of an operand's."""

    bulk: Bulk
    target: ViewAccess
    operands: tuple[ViewAccess, ...]
    factors: tuple[Expr, ...]


def as_products(bulk: Bulk) -> tuple[ViewProduct, ...] | None:
    """A sum of products of elements, as several steps; None where it is something else."""
    if bulk.op not in (None, "add") or any(_is_same(x, bulk.target) for x in loads(bulk.value)):
        return None
    terms = terms_of(bulk.value)
    if len(terms) > 1 and bulk.op is None:
        return None
    products = [_product(replace(bulk, value=x)) for x in terms]
    return tuple(x for x in products if x is not None) if None not in products else None


def terms_of(value: Expr) -> list[Expr]:
    """What a sum is the sum of."""
    match value:
        case Binary(op="add", left=a, right=b):
            return [*terms_of(a), *terms_of(b)]
        case Binary(op="sub", left=a, right=b):
            return [*terms_of(a), *terms_of(Unary("neg", b))]
        case Unary(op="neg", operand=Binary(op="add" | "sub" as op, left=a, right=b)):
            other = terms_of(b) if op == "sub" else terms_of(Unary("neg", b))
            return [*terms_of(Unary("neg", a)), *other]
        case _:
            return [value]


def _product(bulk: Bulk) -> ViewProduct | None:
    moving = {x.var for x in bulk.loops}
    operands: list[ViewAccess] = []
    factors: list[Expr] = []
    for factor in factors_of(bulk.value):
        named = variables(factor) & moving
        if isinstance(factor, Load) and named:
            operands.append(bulk.read(factor))
        elif named:
            return None
        else:
            factors.append(factor)
    target = bulk.read(bulk.target)
    covered = {x for access in operands for x in access.loops}
    if not operands or covered != moving:
        return None
    return ViewProduct(bulk, target, tuple(operands), tuple(factors))


def factors_of(value: Expr) -> list[Expr]:
    """What a product is the product of."""
    match value:
        case Binary(op="mul", left=a, right=b):
            return [*factors_of(a), *factors_of(b)]
        case Unary(op="neg", operand=a):
            kind = type_of(a)
            return [*factors_of(a), Const(-1.0 if kind.is_float else -1, kind)]
        case _:
            return [value]


def letters(product: ViewProduct) -> tuple[dict[str, str], str]:
    """A letter for each loop, and the product in the notation of einsum."""
    free = "ijklmnopqrstuvwxyzabcdefghABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names = {x.var: free[i] for i, x in enumerate(product.bulk.loops)}
    spelt = [x for x in names if len(x) == 1 and x.isalpha() and x.isascii()]
    if len(set(spelt)) == len(names):
        names = {x: x for x in names}
    inputs = ",".join("".join(names[x] for x in operand.loops) for operand in product.operands)
    return names, f"{inputs}->{''.join(names[x] for x in product.target.loops)}"
