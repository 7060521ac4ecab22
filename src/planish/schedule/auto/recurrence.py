"""First- and second-order recurrences by blocks: independent terms in lanes first, then the block's own recurrence,
then the carry from before the block.

Before: for j { x[j] = a * x[j - 1] + f(j) }
After:  for blocks of j { f in lanes;  y[k] = sum over m of a^(k - m) f[m];  x[k] = y[k] + a^(k + 1) x[-1] }

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n; x: f64[n], y: f64[n]) { for j in 1 .. n { x[j] = (x[j - 1] + y[j]) / 9.0 } }"
>>> found = find_recurrence(parse_kernel(text).body.body[0])
>>> from planish.ir.text.printer import print_expr
>>> [print_expr(x) for x in found.factors], print_expr(found.rest)
(['1.0:f64 / 9.0:f64'], 'y[j] / 9.0:f64')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.core.span import Span
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Unary, Var, index
from planish.ir.index.polynomial import add, coefficient_of, constant, extremum, floordiv, mul, sub
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, LoopFacts, Reduce, Stmt
from planish.ir.traverse import loads, map_block, used_names, variables
from planish.poly.isl.expression import conjunction
from planish.poly.match.sum_of_products import join
from planish.poly.scop.extraction import Statement
from planish.schedule.auto.cost.recurrences import BLOCK
from planish.schedule.auto.lower import place_expr
from planish.schedule.auto.rewrites.rematerialise import MOST, are_same, before, unfold

WIDTH = BLOCK
"""The values of a block."""
LONG = 64
"""The iterations for which it is worth while to make powers of factors."""
WORTH = 256
"""The iterations from which on a loop alone takes less time by blocks."""
LANES = LoopFacts(simd=True)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """`target` = the sum of `factors[d]` times the target of d + 1 iterations before, plus `rest`."""

    target: Load
    factors: tuple[Expr, ...]
    rest: Expr


def use_blocks(kernel: Kernel) -> tuple[Kernel, tuple[Remark, ...]]:
    """The kernel with every recurrence by blocks whose factors are made of numbers and parameters, and a remark on each
    array; sums of floats are made in another order."""
    names, scalars = {*used_names(kernel)}, {x.name for x in kernel.scalars}
    openings: list[Stmt] = []
    arrays: dict[str, Span | None] = {}

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        found = find_recurrence(stmt)
        if found is not None:
            assert isinstance(stmt, For)
            return blocked(stmt, found)
        unfolded = unfold(stmt) if isinstance(stmt, For) else None
        if unfolded is None:
            return stmt
        first, rest, last = unfolded
        found = find_recurrence(rest)
        return stmt if found is None else (first, *blocked(rest, found), last)

    def blocked(loop: For, found: Recurrence) -> tuple[Stmt, ...]:
        arrays.setdefault(found.target.array, getattr(loop.body.body[0], "span", None))
        writer = _Writer(loop, found, names)
        if not all(variables(x) <= scalars and not loads(x) for x in found.factors):
            return (writer.where_long(),)
        openings.extend(writer.opening())
        return writer.blocks()

    body = map_block(visit, kernel.body)
    if not arrays:
        return kernel, ()
    body = simplify_block(Block((*openings, *body.body)), assumptions=kernel.assumptions)
    message = f"recurrence by blocks of {WIDTH} values, of which one is carried to the next block"
    remarks = (Remark("recurrence-blocks", "done", f"{x}: {message}", y) for x, y in arrays.items())
    return replace(kernel, body=body), tuple(remarks)


def find_recurrence(stmt: Stmt) -> Recurrence | None:
    """The recurrence of floats that a loop is; None where it is none, or where its other values wait, too."""
    match stmt:
        case For(step=1, body=Block(body=(Assign() | Reduce(op="add") as update,))) if not stmt.facts.simd:
            pass
        case _:
            return None
    value, var = update.value, stmt.var
    type = next((x.type for x in loads(value) if x.array == update.array), None)
    if type is None or not type.is_float or not update.index or var not in variables(update.index[-1]):
        return None
    moved = [coefficient_of(x, var) for x in update.index]
    if None in moved or not any(x[0] for x in moved if x is not None):
        return None  # iterations may share a cell
    target = Load(update.array, update.index, type)
    if isinstance(update, Reduce):
        value = Binary("add", target, value)
    factors: list[Expr] = []
    for distance in range(1, MOST + 1):
        earlier = before(target, var, distance)
        cell = next((x for x in loads(value) if x.array == target.array and are_same(x, earlier)), None)
        found = linear(value, cell) if cell is not None else (None, value)
        if found is None:
            return None
        factor, rest = found
        factors.append(Const(0.0, type) if factor is None else factor)
        value = Const(0.0, type) if rest is None else rest
    if factors[-1] == Const(0.0, type):
        factors.pop()
    waits = any(x.array == target.array and not is_ready(x, target, var) for x in loads(value))
    moves = any(var in variables(x) or any(y.array == target.array for y in loads(x)) for x in factors)
    # Where only every other value waits for one, these would be joined by products with zero.
    apart = factors[0] == Const(0.0, type)
    return None if apart or waits or moves else Recurrence(target, tuple(factors), value)


def is_recurrence(statement: Statement) -> bool:
    """Whether a statement would be a recurrence of floats if it stood alone in its innermost loop.

    >>> from planish.ir.text.parser import parse_kernel
    >>> from planish.poly.scop.extraction import extract_scop
    >>> loop = "for j in 1 .. n { x[j] = x[j - 1] * 0.5 + y[j]  z[j] = x[j] }"
    >>> scop = extract_scop(parse_kernel("kernel k(n; x: f64[n], y: f64[n], z: f64[n]) { %s }" % loop))
    >>> [is_recurrence(x) for x in scop.statements]
    [True, False]
    """
    if not statement.iterators or statement.lets:
        return False
    alone = Block((statement.stmt,))
    return find_recurrence(For(statement.iterators[-1], index(0), index(WORTH), 1, alone)) is not None


def linear(value: Expr, cell: Load) -> tuple[Expr | None, Expr | None] | None:
    """A value as a factor times a cell plus a rest (each None where there is none of it); None where it is no such."""
    if cell not in loads(value):
        return None, value
    one = Const(1.0 if cell.type.is_float else 1, cell.type)
    match value:
        case Load():
            return (one, None) if value == cell else None
        case Unary(op="neg", operand=x):
            inner = linear(x, cell)
            return None if inner is None else (_negated(inner[0]), _negated(inner[1]))
        case Binary(op="add" | "sub" as op, left=a, right=b):
            left, right = linear(a, cell), linear(b, cell)
            if left is None or right is None:
                return None
            second = right if op == "add" else (_negated(right[0]), _negated(right[1]))
            return _sum(left[0], second[0]), _sum(left[1], second[1])
        case Binary(op="mul", left=a, right=b) if cell in loads(b) and cell not in loads(a):
            return linear(Binary("mul", b, a), cell)
        case Binary(op="mul" | "div" as op, left=a, right=b) if cell not in loads(b):
            inner = linear(a, cell)
            if inner is None:
                return None
            scaled = [None if x is None else b if op == "mul" and x == one else Binary(op, x, b) for x in inner]
            return scaled[0], scaled[1]
        case _:
            return None


def _negated(value: Expr | None) -> Expr | None:
    return None if value is None else Unary("neg", value)


def _sum(a: Expr | None, b: Expr | None) -> Expr | None:
    return b if a is None else a if b is None else Binary("add", a, b)


def is_ready(load: Load, target: Load, var: str) -> bool:
    """Whether no earlier iteration of the loop writes what is loaded."""
    ahead: list[bool] = []
    for x, y in zip(load.index, target.index, strict=True):
        distance, moved = constant(sub(x, y)), coefficient_of(y, var)
        if moved is None:
            return False
        if distance is not None and not moved[0]:
            if distance:
                return True  # another row
        elif distance is None:
            return False
        else:
            ahead.append(distance * moved[0] >= 0)
    return all(ahead)


class _Writer:
    """A recurrence on its way to blocks: names for what is the same for all, and for what a block has."""

    def __init__(self, loop: For, found: Recurrence, names: set[str]) -> None:
        self.loop, self.found, self.type = loop, found, found.target.type
        self.response = Array(take_name("response", names), self.type, (index(WIDTH + 1),), memory="stack")
        self.table = Array(take_name("powers", names), self.type, (index(WIDTH), index(WIDTH)), memory="stack")
        self.own = Array(take_name("own", names), self.type, (index(WIDTH),), memory="stack")
        self.sums = Array(take_name("sums", names), self.type, (index(WIDTH),), memory="stack")
        self.last = [Array(take_name("last", names), self.type, memory="register") for _ in found.factors]
        self.lane, self.first = take_name("lane", names), take_name("first", names)
        self.next = [take_name("next", names) for _ in found.factors]

    def opening(self) -> tuple[Stmt, ...]:
        """What one value adds to those after it, once for all blocks."""
        lane, m = index(self.lane), index(self.first)
        zero, one = Const(0.0, self.type), Const(1.0, self.type)
        before = [self.at(self.response, index(0)), *(self.at(self.response, sub(lane, index(d))) for d in (1, 2))]
        grown = [Binary("mul", x, y) for x, y in zip(self.found.factors, before[1:], strict=False)]
        out: list[Stmt] = [Alloc(self.response), Alloc(self.table)]
        out.append(Assign(self.response.name, (index(0),), one))
        out.append(Assign(self.response.name, (index(1),), self.found.factors[0]))
        value = join("add", tuple(grown))
        out.append(For(self.lane, index(2), index(WIDTH + 1), 1, Block((Assign(self.response.name, (lane,), value),))))
        below = Assign(self.table.name, (m, lane), zero)
        above = Assign(self.table.name, (m, lane), self.at(self.response, sub(lane, m)))
        rows = For(self.lane, index(0), m, 1, Block((below,))), For(self.lane, m, index(WIDTH), 1, Block((above,)))
        return (*out, For(self.first, index(0), index(WIDTH), 1, Block(rows)))

    def where_long(self) -> Stmt:
        """The loop by blocks where it is long enough for what these need, which is made in front of it."""
        long = Compare("ge", sub(self.loop.upper, self.loop.lower), index(LONG))
        return If(long, Block((*self.opening(), *self.blocks())), Block((self.loop,)))

    def blocks(self) -> tuple[Stmt, ...]:
        """The loop over whole blocks, and what is left."""
        loop, size = self.loop, index(WIDTH)
        whole = add(loop.lower, mul(size, floordiv(sub(loop.upper, loop.lower), size)))
        begin = [Assign(x.name, (), self.earlier(d + 1, {loop.var: loop.lower})) for d, x in enumerate(self.last)]
        blocks = For(self.first, loop.lower, whole, WIDTH, Block(self.block()))
        some = If(Compare("lt", loop.lower, whole), Block((*map(Alloc, self.last), *begin, blocks)))
        rest = For(loop.var, extremum("max", loop.lower, whole), loop.upper, 1, loop.body, loop.facts)
        return some, rest

    def block(self) -> tuple[Stmt, ...]:
        """One block: what does not wait, what it adds to itself, and its values. Where one of them is NaN, it
        would be one of those before it, too: these are made one by one."""
        lane = index(self.lane)
        own = Assign(self.own.name, (lane,), place_expr(self.found.rest, self.here(lane)))
        total = join("add", tuple(self.product(index(m), lane) for m in range(WIDTH)))
        ends = [Let(x, self.value(index(WIDTH - 1 - d))) for d, x in enumerate(self.next)]
        finite = conjunction(self.is_finite(Var(x, self.type)) for x in self.next)
        kept = [Assign(x.name, (), Var(y, self.type)) for x, y in zip(self.last, self.next, strict=True)]
        read = [Assign(x.name, (), self.earlier(d, self.here(index(WIDTH - 1)))) for d, x in enumerate(self.last)]
        together: tuple[Stmt, ...] = (self.store(self.value(lane)), *kept)
        one_by_one: tuple[Stmt, ...] = (self.store(self.waiting(lane), LoopFacts()), *read)
        sums = Assign(self.sums.name, (lane,), total)
        chosen = If(finite, Block(together), Block(one_by_one))
        return Alloc(self.own), Alloc(self.sums), self.lanes(own), self.lanes(sums), *ends, chosen

    def here(self, lane: Expr) -> dict[str, Expr]:
        """The iteration that makes a value of a block."""
        return {self.loop.var: add(index(self.first), lane)}

    def earlier(self, distance: int, at: Mapping[str, Expr]) -> Expr:
        """The value so many before the one of an iteration."""
        return place_expr(before(self.found.target, self.loop.var, distance), at)

    def waiting(self, lane: Expr) -> Expr:
        """A value of a block, made from those before it."""
        earlier = (self.earlier(d + 1, self.here(lane)) for d in range(len(self.last)))
        parts = [Binary("mul", x, y) for x, y in zip(self.found.factors, earlier, strict=True)]
        return join("add", (self.at(self.own, lane), *parts))

    def store(self, value: Expr, facts: LoopFacts = LANES) -> For:
        """The loop that stores the values of a block."""
        target = place_expr(self.found.target, self.here(index(self.lane)))
        assert isinstance(target, Load)
        return self.lanes(Assign(target.array, target.index, value), facts)

    def lanes(self, stmt: Stmt, facts: LoopFacts = LANES) -> For:
        """A statement for each value of a block."""
        return For(self.lane, index(0), index(WIDTH), 1, Block((stmt,)), facts)

    def at(self, array: Array, *where: Expr) -> Load:
        return Load(array.name, where, array.type)

    def product(self, m: Expr, lane: Expr) -> Expr:
        """What one value of a block adds to another one."""
        return Binary("mul", self.at(self.table, m, lane), self.at(self.own, m))

    def value(self, lane: Expr) -> Expr:
        """A value of a block: what the block adds to it, and what the values before the block do."""
        shares: list[Expr] = [self.at(self.response, add(lane, index(1)))]
        if len(self.last) > 1:
            shares.append(Binary("mul", self.found.factors[1], self.at(self.response, lane)))
        parts = [Binary("mul", x, self.at(y)) for x, y in zip(shares, self.last, strict=True)]
        return join("add", (self.at(self.sums, lane), *parts))

    def is_finite(self, value: Expr) -> Expr:
        return Compare("eq", Binary("sub", value, value), Const(0.0, self.type))
