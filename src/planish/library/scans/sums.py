"""A sum that grows along a row, of which a part may be lost with each value, in lanes: in a register, all that does not
wait is made first, then each sum within it from those 1, 2, 4, ... places before it; one is handed on.

Before: for j { x[j] = a * x[j - 1] + f(j) }
After:  for strips of j { for registers v of sums { v = f in lanes;
        for k = 1, 2, 4, ... { v += a^k (v moved by k lanes) };  v[l] += a^(l + 1) carry;  carry = v[last] };
        x = sums in lanes }

Where a sum is no number, it may be one that only this order has: the register's are made one by one then.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_stmt
>>> loop = "for j in 1 .. n { x[j] = x[j - 1] * a + y[j] }"
>>> text = "kernel k(n; a: f32; x: f32[n], y: f32[n]) { " + loop + " }"
>>> found = find_sum(parse_kernel(text).body.body[0], {"a"})
>>> sums = Sums(found, Registers("avx512", "zmm", 16), {"x", "y", "n", "j", "a"})
>>> print(print_stmt(sums.rest()))
for rest in 16 * (count // 16) .. count {
  carry[] = y[first + rest] + a * carry[]
  sums[rest] = carry[]
}
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.ir.polynomial import add, sub
from planish.ir.traverse import loads, variables
from planish.ir.types import F32, F64
from planish.library.scans.lanes import STRIP, Lanes, Registers
from planish.schedule.automatic.lower import place_expr
from planish.schedule.automatic.recurrence import find_recurrence
from planish.schedule.automatic.states import before


@dataclass(frozen=True, slots=True)
class Sum:
    """`target` = `factor` times the target of the iteration before, plus `rest`."""

    loop: For
    target: Load
    factor: Expr
    rest: Expr


def find_sum(stmt: Stmt, scalars: Collection[str]) -> Sum | None:
    """The sum that a loop is, whose factor does not change; None where it is none."""
    found = find_recurrence(stmt)
    if found is None or len(found.factors) > 1 or found.target.type not in (F32, F64):
        return None
    assert isinstance(stmt, For)
    (factor,) = found.factors
    fixed = not loads(factor) and variables(factor) <= {*scalars}
    return Sum(stmt, found.target, factor, found.rest) if fixed else None


class Sums(Lanes):
    """The statements of a sum in registers."""

    def __init__(self, found: Sum, registers: Registers, taken: set[str]) -> None:
        super().__init__(found.loop, found.target.type, registers, taken)
        self.found = found
        self.sums = Array(self.fresh("sums"), self.type, (index(STRIP),), True, "stack")
        self.own, self.made = (
            Array(self.fresh(x), self.type, (index(self.lanes),), True, "stack") for x in ("own", "made")
        )
        self.row = Array(self.fresh("row"), self.type, (index(self.lanes),), True, "stack")
        self.carry = Array(self.fresh("carry"), self.type, (), True, "register")
        self.v, self.w, self.ramp = (
            Array(self.fresh(x), self.type, (index(self.lanes),), True, registers.memory)
            for x in ("values", "moved", "ramp")
        )

    @property
    def is_plain(self) -> bool:
        """Whether nothing is lost from one value to the next one."""
        return self.found.factor == Const(1.0, self.type)

    def stmt(self) -> Stmt:
        """All of it: what is before the first value is only there where there is one."""
        loop = self.found.loop
        start = place_expr(before(self.found.target, loop.var, 1), {loop.var: loop.lower})
        strip = Block((Alloc(self.sums), Let(self.count, self.length), *self.strip()))
        body = (
            *map(Alloc, (self.v, self.w, self.carry)), *self.powers(),
            Assign(self.carry.name, (), start), For(self.first, loop.lower, loop.upper, STRIP, strip),
        )  # fmt: skip
        return If(Compare("lt", loop.lower, loop.upper), Block(body))

    def powers(self) -> list[Stmt]:
        """What the value before a register is for each of its lanes."""
        if self.is_plain:
            return []
        out: list[Stmt] = [Alloc(self.row), Assign(self.row.name, (index(0),), self.found.factor)]
        for n in range(1, self.lanes):
            half = Binary("mul", self.power((n + 1) // 2), self.power(n + 1 - (n + 1) // 2))
            out.append(Assign(self.row.name, (index(n),), half))
        return [*out, Alloc(self.ramp), self.copy(self.ramp.name, (), self.row.name, (index(0),))]

    def power(self, n: int) -> Expr:
        """The factor so many times."""
        return self.load(self.row, index(n - 1))

    def strip(self) -> list[Stmt]:
        """One strip: whole registers, the rest, and all of it put where it belongs."""
        place = self.fresh("place")
        target = self.target_at(self.found.target, index(place))
        put = Assign(target.array, target.index, self.load(self.sums, index(place)))
        return [self.registers_of(), self.rest(), self.over(place, index(self.count), put)]

    def registers_of(self) -> Stmt:
        """The loop over whole registers of a strip."""
        block, carried, next, place = (self.fresh(x) for x in ("block", "carried", "next", "place"))
        before, here = Var(carried, self.type), add(index(block), index(place))
        make = Assign(self.own.name, (index(place),), self.at(self.found.rest, here))
        body: list[Stmt] = [*map(Alloc, (self.own, self.made)), self.over(place, index(self.lanes), make)]
        body.append(self.copy(self.v.name, (), self.own.name, (index(0),)))
        for k in self.registers.moves:
            body += self.move(k)
        body.append(self.copy(self.made.name, (index(0),), self.v.name, ()))
        last = self.load(self.made, index(self.lanes - 1))
        grown = before if self.is_plain else Binary("mul", self.power(self.lanes), before)
        body += [Let(carried, self.load(self.carry)), Let(next, Binary("add", last, grown))]
        sum = Var(next, self.type)
        finite = Compare("eq", Binary("sub", sum, sum), Const(0.0, self.type))
        store = self.copy(self.sums.name, (index(block),), self.v.name, ())
        together = Block((*self.join(before), store, Assign(self.carry.name, (), sum)))
        one = self.fresh("one")
        one_by_one = For(one, index(0), index(self.lanes), 1, Block(self.one(add(index(block), index(one)))))
        body.append(If(finite, together, Block((one_by_one,))))
        return For(block, index(0), self.whole, self.lanes, Block(tuple(body)))

    def move(self, k: int) -> list[Stmt]:
        """To each value comes the one so many lanes before it."""
        lane = self.fresh("lane")
        moved = self.load(self.v, sub(index(lane), index(k)))
        entering = Select(Compare("lt", index(lane), index(k)), Const(0.0, self.type), moved)
        slide = self.loop(lane, Assign(self.w.name, (index(lane),), entering), self.registers.slide(k, str(self.type)))
        return [slide, self.grow(self.w, None if self.is_plain else self.power(k))]

    def join(self, carried: Expr) -> list[Stmt]:
        """To each value comes what is left of the one before the register."""
        if not self.is_plain:
            return [self.grow(self.ramp, carried)]
        lane = self.fresh("lane")
        return [self.loop(lane, Assign(self.w.name, (index(lane),), carried)), self.grow(self.w, None)]

    def grow(self, by: Array, factor: Expr | None) -> Stmt:
        """Another register, times a factor where there is one, is added to the values."""
        lane = self.fresh("lane")
        own, value = self.load(self.v, index(lane)), self.load(by, index(lane))
        if factor is None:
            return self.loop(lane, Assign(self.v.name, (index(lane),), Binary("add", own, value)))
        return self.loop(lane, Reduce(self.v.name, (index(lane),), "add", Binary("mul", factor, value)))

    def rest(self) -> Stmt:
        """The values of a strip that fill no register, one by one."""
        var = self.fresh("rest")
        return For(var, self.whole, index(self.count), 1, Block(self.one(index(var))))

    def one(self, place: Expr) -> tuple[Stmt, Stmt]:
        """A value from the one before it."""
        carry, own = self.load(self.carry), self.at(self.found.rest, place)
        left = carry if self.is_plain else Binary("mul", self.found.factor, carry)
        return Assign(self.carry.name, (), Binary("add", own, left)), Assign(self.sums.name, (place,), carry)
