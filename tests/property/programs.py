"""Random affine programs from a seed: nests to depth four whose accesses are in bounds by construction.

Every index expression is built together with the interval of its values; when the program is complete, the subscripts
of each array are shifted so that the smallest is 0, and its extents are made just large enough.

>>> program = make_program(1)
>>> program.kernel == make_program(1).kernel
True
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from planish.ir.expr import Binary, BinaryOp, Cast, Compare, CompareOp, Const, Expr, Load, Select, Unary, Var, index
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Reduce, ReduceOp, Scalar, Stmt
from planish.ir.traverse import map_block, map_expr, map_exprs, variables
from planish.ir.types import F32, F64, I16, I32, I64, INDEX, U8, Type

MAX_INSTANCES = 500
MAX_EXTENT = 40
COMPARISONS: tuple[CompareOp, ...] = ("eq", "ne", "lt", "le", "gt", "ge")
INT_REDUCE: tuple[ReduceOp, ...] = ("add", "add", "mul", "min", "max", "xor", "and", "or")
FLOAT_REDUCE: tuple[ReduceOp, ...] = ("add", "add", "mul", "min", "max")
ITERATORS = ("i", "j", "k", "l", "mod", "exists", "t", "x")


@dataclass(frozen=True, slots=True)
class Term:
    """An index expression and the least and greatest value it can have."""

    expr: Expr
    low: int
    high: int

    def plus(self, number: int) -> Term:
        """The expression with a constant added."""
        if number == 0:
            return self
        expr = Binary("add", self.expr, index(number)) if number > 0 else Binary("sub", self.expr, index(-number))
        return Term(expr, self.low + number, self.high + number)

    def times(self, factor: int) -> Term:
        """The expression multiplied by a constant."""
        ends = (self.low * factor, self.high * factor)
        expr = Unary("neg", self.expr) if factor == -1 else Binary("mul", index(factor), self.expr)
        return Term(self.expr if factor == 1 else expr, min(ends), max(ends))


def constant(number: int) -> Term:
    """A number."""
    return Term(index(number), number, number)


def join(op: BinaryOp, a: Term, b: Term) -> Term:
    """The sum, difference, minimum or maximum of two terms."""
    match op:
        case "add":
            low, high = a.low + b.low, a.high + b.high
        case "sub":
            low, high = a.low - b.high, a.high - b.low
        case "min":
            low, high = min(a.low, b.low), min(a.high, b.high)
        case "max":
            low, high = max(a.low, b.low), max(a.high, b.high)
        case _:
            raise ValueError(op)
    return Term(Binary(op, a.expr, b.expr), low, high)


def interval(expr: Expr, known: Mapping[Var, Term]) -> Term:
    """An expression made of the forms above with the least and greatest value it can have."""
    match expr:
        case Var():
            return known[expr]
        case Const(value=value):
            return constant(int(value))
        case Unary(operand=a):
            inner = interval(a, known)
            return Term(expr, -inner.high, -inner.low)
        case Binary(op="mul", left=Const(value=factor), right=b):
            return Term(expr, *_ends(interval(b, known).times(int(factor))))
        case Binary(op="floordiv" | "mod" | "quo" | "rem" as op, left=a, right=Const(value=by)):
            return division(op, interval(a, known), int(by))
        case Binary(op=op, left=a, right=b):
            return join(op, interval(a, known), interval(b, known))
        case _:
            raise ValueError(f"no index expression: {expr}")


def _ends(term: Term) -> tuple[int, int]:
    return term.low, term.high


def division(op: BinaryOp, a: Term, by: int) -> Term:
    """A term divided by a positive number."""
    expr = Binary(op, a.expr, index(by))
    match op:
        case "floordiv":
            return Term(expr, a.low // by, a.high // by)
        case "mod":
            return Term(expr, 0, by - 1)
        case "quo":
            bound = max(abs(a.low), abs(a.high)) // by
            return Term(expr, -bound, bound)
        case _:
            return Term(expr, 1 - by, by - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A kernel and the values of its sizes that it is to be run with."""

    seed: int
    kernel: Kernel
    sizes: tuple[dict[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where a statement stands: the iterators around it, the number of instances so far, arrays in reach."""

    iterators: tuple[Term, ...] = ()
    instances: int = 1
    names: tuple[str, ...] = ()
    locals: tuple[str, ...] = ()
    guards: int = 0


@dataclass(slots=True)
class _Maker:
    """State of one generation."""

    rng: random.Random
    type: Type
    sizes: dict[str, tuple[int, int]]
    scalars: list[Scalar]
    arrays: dict[str, tuple[Type, int]]
    lows: dict[str, list[int]] = field(default_factory=dict)
    highs: dict[str, list[int]] = field(default_factory=dict)
    used: dict[str, list[tuple[Expr, ...]]] = field(default_factory=dict)
    statements: int = 0
    allowed: int = 1
    made_locals: int = 0

    # -- index expressions

    def atom(self, scope: _Scope) -> Term:
        """An iterator, a size or a small number; iterators mostly, inner ones above all."""
        roll = self.rng.random()
        if scope.iterators and roll < 0.75:
            if self.rng.random() < 0.5:
                return scope.iterators[-1]
            return self.rng.choice(scope.iterators)
        if roll < 0.9 and self.sizes:
            name = self.rng.choice(sorted(self.sizes))
            return Term(Var(name, INDEX), *self.sizes[name])
        return constant(self.rng.randint(-1, 3))

    def affine(self, scope: _Scope) -> Term:
        """A quasi-affine expression of up to three terms."""
        rng = self.rng
        out = self.atom(scope)
        if rng.random() < 0.15:
            out = out.times(rng.choice((-1, 2, 2, 3, -2)))
        while rng.random() < 0.25:
            other = self.atom(scope)
            if rng.random() < 0.2:
                other = other.times(rng.choice((2, 3)))
            out = join(rng.choice(("add", "add", "sub")), out, other)
        if rng.random() < 0.3:
            out = out.plus(rng.choice((-2, -1, -1, 1, 1, 2)))
        roll = rng.random()
        if roll < 0.2:
            ops: tuple[BinaryOp, ...] = ("floordiv", "floordiv", "mod", "mod", "quo", "rem")
            out = division(rng.choice(ops), out, rng.choice((2, 3, 4)))
        return out

    def condition(self, scope: _Scope, depth: int = 1) -> Expr:
        """A condition over iterators and sizes."""
        rng = self.rng
        roll = rng.random()
        if depth > 0 and roll < 0.3:
            op: BinaryOp = rng.choice(("and", "or"))
            return Binary(op, self.condition(scope, depth - 1), self.condition(scope, depth - 1))
        if depth > 0 and roll < 0.4:
            return Unary("not", self.condition(scope, depth - 1))
        if roll < 0.6:
            divisor = rng.choice((2, 2, 3))
            left: Expr = Binary("mod", self.affine(scope).expr, index(divisor))
            return Compare("eq", left, index(rng.randrange(divisor)))
        return Compare(rng.choice(COMPARISONS), self.affine(scope).expr, self.affine(scope).expr)

    # -- loops

    def bounds(self, scope: _Scope) -> tuple[Term, Term]:
        """Lower and upper (exclusive) bound of a new loop."""
        rng = self.rng
        width = rng.randint(2, 6)
        roll = rng.random()
        outer = rng.choice(scope.iterators) if scope.iterators else constant(rng.randint(0, 2))
        size = constant(width)
        if self.sizes:
            name = rng.choice(sorted(self.sizes))
            size = Term(Var(name, INDEX), *self.sizes[name])
        low = constant(rng.choice((0, 0, 0, 0, 1, 1, 2, -1, -2)))
        if roll < 0.2:
            return low, low.plus(width) if rng.random() < 0.5 else constant(low.low + width)
        if roll < 0.5:
            return low, size.plus(rng.choice((0, 0, 0, -1, -1, 1)))
        if roll < 0.65:
            return outer.plus(rng.choice((0, 0, 1))), size
        if roll < 0.78:
            return low, outer.plus(rng.choice((0, 1, 1, 2)))
        if roll < 0.86:
            return join("max", low, outer.plus(rng.choice((-2, -1)))), join("min", size, outer.plus(rng.choice((2, 3))))
        if roll < 0.92:
            tile = outer.times(rng.choice((2, 3, 4)))
            return tile, join("min", tile.plus(rng.choice((2, 3, 4))), size)
        if roll < 0.96:
            half = Term(Binary("floordiv", size.expr, index(2)), size.low // 2, size.high // 2)
            return low, half.plus(1)
        half = Term(Binary("floordiv", outer.expr, index(2)), outer.low // 2, outer.high // 2)
        return half, join("add", half, constant(width))

    def loop(self, scope: _Scope, depth: int) -> Stmt | None:
        """A loop with a body; None where it would run too often or never."""
        rng = self.rng
        low, high = self.bounds(scope)
        step = rng.choice((1, 1, 1, 1, 1, 2, 3))
        trips = (high.high - low.low + step - 1) // step
        if trips < 1 or scope.instances * trips > MAX_INSTANCES or high.high - low.low > 16:
            return None
        names = [x for x in ITERATORS if x not in scope.names]
        name = names[0] if rng.random() < 0.8 else rng.choice(names)
        iterator = Term(Var(name, INDEX), low.low, high.high - 1)
        inner = replace(
            scope,
            iterators=(*scope.iterators, iterator),
            instances=scope.instances * trips,
            names=(*scope.names, name),
        )
        body = self.block(inner, depth - 1)
        return For(name, low.expr, high.expr, step, body) if body.body else None

    def block(self, scope: _Scope, depth: int) -> Block:
        """Statements, loops and guards in order."""
        rng = self.rng
        out: list[Stmt] = []
        if rng.random() < 0.08:
            return self.with_local(scope, depth)
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            if self.statements >= self.allowed:
                break
            stmt: Stmt | None
            roll = rng.random()
            if depth > 0 and roll < (0.75 if scope.iterators else 0.95):
                stmt = self.loop(scope, depth)
            elif roll < 0.87 and scope.iterators and scope.guards < 2:
                stmt = self.guard(replace(scope, guards=scope.guards + 1), depth)
            else:
                stmt = self.assignment(scope)
            if stmt is not None:
                out.append(stmt)
        if not out and self.statements < self.allowed:
            out.append(self.assignment(scope))
        return Block(tuple(out))

    def with_local(self, scope: _Scope, depth: int) -> Block:
        """A block with a scalar of its own, set before it is used."""
        name = f"tmp{self.made_locals}"
        self.made_locals += 1
        self.arrays[name] = (self.type, 0)
        first = Assign(name, (), self.value(scope, 1))
        self.statements += 1
        inner = replace(scope, locals=(*scope.locals, name))
        rest = self.block(inner, depth)
        last = self.assignment(inner)
        return Block((Alloc(Array(name, self.type)), first, *rest.body, last))

    def guard(self, scope: _Scope, depth: int) -> Stmt:
        """An `if` over iterators and sizes."""
        then = self.block(scope, depth - 1)
        otherwise = self.block(scope, depth - 1) if self.rng.random() < 0.4 else Block(())
        return If(self.condition(scope), then, otherwise)

    # -- statements

    def reachable(self, scope: _Scope) -> list[str]:
        return [n for n in self.arrays if not n.startswith("tmp") or n in scope.locals]

    def subscripts(self, array: str, scope: _Scope) -> tuple[Expr, ...]:
        """Subscripts of an array, often a neighbour of ones used before."""
        rng = self.rng
        rank = self.arrays[array][1]
        here = {x.expr: x for x in scope.iterators if isinstance(x.expr, Var)}
        here |= {Var(n, INDEX): Term(Var(n, INDEX), *reach) for n, reach in self.sizes.items()}
        known = [s for s in self.used.get(array, []) if all(variables(x) <= {v.name for v in here} for x in s)]
        if known and rng.random() < 0.55:
            picked = [interval(x, here) for x in rng.choice(known)]
            terms = tuple(t.plus(rng.choice((0, 0, 0, 0, -1, 1, 1, -2))) for t in picked)
        elif rank == 1 and len(scope.iterators) > 1 and rng.random() < 0.3:
            a, b = rng.sample(scope.iterators, 2)
            terms = (join("add", a.times(rng.choice((2, 3, 5))), b),)
        else:
            terms = tuple(self.affine(scope) for _ in range(rank))
        narrow = tuple(t if t.high - t.low < MAX_EXTENT else Term(Binary("mod", t.expr, index(7)), 0, 6) for t in terms)
        self.used.setdefault(array, []).append(tuple(t.expr for t in narrow))
        lows, highs = self.lows.setdefault(array, [0] * rank), self.highs.setdefault(array, [0] * rank)
        for d, t in enumerate(narrow):
            lows[d], highs[d] = min(lows[d], t.low), max(highs[d], t.high)
        return tuple(t.expr for t in narrow)

    def load(self, scope: _Scope) -> Expr:
        """An element of some array, converted to the program's type."""
        array = self.rng.choice(self.reachable(scope))
        type = self.arrays[array][0]
        load = Load(array, self.subscripts(array, scope), type)
        return load if type == self.type else Cast(load, self.type)

    def value(self, scope: _Scope, depth: int) -> Expr:
        """A data expression of the program's type."""
        rng = self.rng
        roll = rng.random()
        if depth == 0 or roll < 0.2:
            if roll < 0.12 and scope.iterators:
                return self._converted(self.affine(scope).expr)
            if roll < 0.16 and self.scalars:
                scalar = rng.choice(self.scalars)
                return Var(scalar.name, scalar.type)
            return self.load(scope) if rng.random() < 0.7 else self.literal()
        if roll < 0.3:
            test = self.condition(scope, 0) if rng.random() < 0.5 else self.data_condition(scope)
            return Select(test, self.value(scope, depth - 1), self.value(scope, depth - 1))
        if roll < 0.36:
            return Unary("neg", self.value(scope, depth - 1))
        ops: tuple[BinaryOp, ...] = ("add", "add", "mul", "sub", "sub", "min", "max")
        if not self.type.is_float:
            ops = (*ops, "xor")
        return Binary(rng.choice(ops), self.value(scope, depth - 1), self.value(scope, depth - 1))

    def _converted(self, expr: Expr) -> Expr:
        return expr if self.type == INDEX else Cast(expr, self.type)

    def literal(self) -> Expr:
        """A small number of the program's type."""
        number = self.rng.choice((-3, -1, 0, 1, 2, 5))
        return Const(number + self.rng.choice((0.0, 0.5)) if self.type.is_float else number, self.type)

    def data_condition(self, scope: _Scope) -> Expr:
        """A comparison of values in memory."""
        return Compare(self.rng.choice(COMPARISONS), self.value(scope, 0), self.literal())

    def assignment(self, scope: _Scope) -> Stmt:
        """An assignment or an update in place."""
        rng = self.rng
        self.statements += 1
        targets = [n for n in self.reachable(scope) if self.type.is_float == self.arrays[n][0].is_float]
        array = rng.choice(targets)
        type = self.arrays[array][0]
        where = self.subscripts(array, scope)
        value = self.value(scope, rng.choice((1, 1, 2)))
        if type != self.type:
            value = Cast(value, type)
        if rng.random() < 0.35:
            return Reduce(array, where, rng.choice(FLOAT_REDUCE if type.is_float else INT_REDUCE), value)
        if rng.random() < 0.4:
            value = Binary(rng.choice(("add", "sub", "mul")), Load(array, where, type), value)
        return Assign(array, where, value)


def make_program(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    type = rng.choice((I32, I32, I32, I64, I64, F64, F64))
    sizes = {name: (0, rng.randint(3, 7)) for name in rng.sample(("n", "m", "min"), rng.choice((0, 1, 1, 2)))}
    scalars = [Scalar("alpha", type)] if rng.random() < 0.3 else []
    arrays: dict[str, tuple[Type, int]] = {}
    for name in ("A", "B", "C", "S0")[: rng.choice((1, 2, 2, 3, 3, 4))]:
        kind = type
        if rng.random() < 0.15:
            kind = rng.choice((F32, I32)) if type.is_float else rng.choice((I16, U8, I64))
        arrays[name] = (kind, rng.choice((0, 1, 1, 1, 2, 2, 3)))
    if all(kind.is_float != type.is_float for kind, _ in arrays.values()):
        arrays["D"] = (type, 1)
    maker = _Maker(rng, type, sizes, scalars, arrays, allowed=rng.choice((1, 1, 2, 2, 3, 4, 5)))
    depth = rng.choice((1, 2, 2, 3, 3, 4))
    body: list[Stmt] = []
    while not body or (maker.statements < maker.allowed and rng.random() < 0.9):
        body += maker.block(_Scope(), depth).body
    assumptions, values = _assume(rng, sizes)
    shapes = tuple(
        Array(n, t, tuple(index(h - w + 1) for w, h in _extents(maker, n, rank)), distinct=True)
        for n, (t, rank) in arrays.items() if not n.startswith("tmp")
    )  # fmt: skip
    kernel = Kernel("random", tuple(sizes), tuple(scalars), shapes, _shifted(Block(tuple(body)), maker), assumptions)
    return Program(seed, kernel, values)


def _extents(maker: _Maker, array: str, rank: int) -> list[tuple[int, int]]:
    return list(zip(maker.lows.get(array, [0] * rank), maker.highs.get(array, [0] * rank), strict=True))


def _shifted(block: Block, maker: _Maker) -> Block:
    """All subscripts moved so that the smallest of each array is 0."""

    def moved(array: str, where: tuple[Expr, ...]) -> tuple[Expr, ...]:
        lows = maker.lows.get(array, [])
        return tuple(Binary("add", x, index(-low)) if low else x for x, low in zip(where, lows, strict=True))

    def expression(expr: Expr) -> Expr:
        return map_expr(lambda x: replace(x, index=moved(x.array, x.index)) if isinstance(x, Load) else x, expr)

    def statement(stmt: Stmt) -> Stmt:
        fresh = map_exprs(expression, stmt)
        if isinstance(fresh, Assign | Reduce):
            return replace(fresh, index=moved(fresh.array, fresh.index))
        return fresh

    return map_block(statement, block)


def _assume(
    rng: random.Random, sizes: dict[str, tuple[int, int]]
) -> tuple[tuple[Expr, ...], tuple[dict[str, int], ...]]:
    """What is assumed of the sizes, and values that fulfil it: the largest, the smallest, and a few others."""
    if not sizes:
        return (), ({},)
    name = rng.choice(sorted(sizes))
    size = Var(name, INDEX)
    least, even = 0, False
    assumptions: tuple[Expr, ...] = ()
    roll = rng.random()
    if roll < 0.3:
        least = rng.choice((1, 2))
        assumptions = (Compare("ge", size, index(least)),)
    elif roll < 0.4:
        even = True
        assumptions = (Compare("eq", Binary("mod", size, index(2)), index(0)),)
    picks = [{n: h for n, (_, h) in sizes.items()}, dict.fromkeys(sizes, 0)]
    picks += [{n: rng.randint(0, h) for n, (_, h) in sizes.items()} for _ in range(2)]
    for pick in picks:
        pick[name] = max(least, pick[name])
        pick[name] -= pick[name] % 2 if even else 0
    return assumptions, tuple({tuple(p.items()): p for p in picks}.values())


def make_values(program: Program, sizes: dict[str, int], seed: int = 0) -> dict[str, int | float | np.ndarray]:
    """Sizes, scalars and arrays with small random content for one run."""
    rng = np.random.default_rng(program.seed * 1000 + seed)
    out: dict[str, int | float | np.ndarray] = dict(sizes)
    for scalar in program.kernel.scalars:
        out[scalar.name] = 2.5 if scalar.type.is_float else 3
    for array in program.kernel.arrays:
        shape = tuple(int(x.value) for x in array.shape if isinstance(x, Const))
        numbers = rng.integers(0 if array.type.kind == "uint" else -9, 10, size=shape)
        out[array.name] = np.array(numbers, array.type.numpy)
    return out
