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

from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.ir.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.traverse import loads, variables
from planish.ir.types import F32, F64
from planish.library.scans.strips import STRIP, Registers
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


class Sums:
    """The statements of a sum in registers; names that are made are `taken` then. `given`: the loops over lanes that
    have to become instructions, with the names of those that are known; `apart`: the loops whose iterations make what
    no other one reads."""

    def __init__(self, found: Sum, registers: Registers, taken: set[str]) -> None:
        self.found, self.type, self.lanes, self.taken = found, found.target.type, registers.lanes, taken
        self.registers, self.given, self.apart = registers, list[tuple[str, str]](), list[str]()
        self.first, self.count = self.fresh("first"), self.fresh("count")
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
        count = extremum("min", index(STRIP), sub(loop.upper, index(self.first)))
        strip = Block((Alloc(self.sums), Let(self.count, count), *self.strip()))
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
        return [*out, Alloc(self.ramp), self.copy(self.ramp.name, None, self.row.name, index(0))]

    def power(self, n: int) -> Expr:
        """The factor so many times."""
        return Load(self.row.name, (index(n - 1),), self.type)

    def strip(self) -> list[Stmt]:
        """One strip: whole registers, the rest, and all of it put where it belongs."""
        place = self.fresh("place")
        target = self.at(self.found.target, index(place))
        assert isinstance(target, Load)
        put = Assign(target.array, target.index, Load(self.sums.name, (index(place),), self.type))
        return [self.registers_of(), self.rest(), self.over(place, index(self.count), put)]

    def at(self, value: Expr, place: Expr) -> Expr:
        """A value at a place of a strip."""
        return place_expr(value, {self.found.loop.var: add(index(self.first), place)})

    def over(self, place: str, count: Expr, stmt: Stmt) -> Stmt:
        """A statement for so many places, which do not wait for each other."""
        self.apart.append(place)
        return For(place, index(0), count, 1, Block((stmt,)))

    def registers_of(self) -> Stmt:
        """The loop over whole registers of a strip."""
        block, carried, next, place = (self.fresh(x) for x in ("block", "carried", "next", "place"))
        before, here = Var(carried, self.type), add(index(block), index(place))
        make = Assign(self.own.name, (index(place),), self.at(self.found.rest, here))
        body: list[Stmt] = [*map(Alloc, (self.own, self.made)), self.over(place, index(self.lanes), make)]
        body.append(self.copy(self.v.name, None, self.own.name, index(0)))
        for k in self.registers.moves:
            body += self.move(k)
        body.append(self.copy(self.made.name, index(0), self.v.name, None))
        last = Load(self.made.name, (index(self.lanes - 1),), self.type)
        grown = before if self.is_plain else Binary("mul", self.power(self.lanes), before)
        body += [Let(carried, Load(self.carry.name, (), self.type)), Let(next, Binary("add", last, grown))]
        sum = Var(next, self.type)
        finite = Compare("eq", Binary("sub", sum, sum), Const(0.0, self.type))
        store = self.copy(self.sums.name, index(block), self.v.name, None)
        together = Block((*self.join(before), store, Assign(self.carry.name, (), sum)))
        one = self.fresh("one")
        one_by_one = For(one, index(0), index(self.lanes), 1, Block(self.one(add(index(block), index(one)))))
        body.append(If(finite, together, Block((one_by_one,))))
        return For(block, index(0), self.whole, self.lanes, Block(tuple(body)))

    def move(self, k: int) -> list[Stmt]:
        """To each value comes the one so many lanes before it."""
        lane = self.fresh("lane")
        moved = Load(self.v.name, (sub(index(lane), index(k)),), self.type)
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
        value: Expr = Load(by.name, (index(lane),), self.type)
        value = value if factor is None else Binary("mul", factor, value)
        own = Load(self.v.name, (index(lane),), self.type)
        if factor is None:
            return self.loop(lane, Assign(self.v.name, (index(lane),), Binary("add", own, value)))
        return self.loop(lane, Reduce(self.v.name, (index(lane),), "add", value))

    def rest(self) -> Stmt:
        """The values of a strip that fill no register, one by one."""
        var = self.fresh("rest")
        return For(var, self.whole, index(self.count), 1, Block(self.one(index(var))))

    def one(self, place: Expr) -> tuple[Stmt, Stmt]:
        """A value from the one before it."""
        carry, own = Load(self.carry.name, (), self.type), self.at(self.found.rest, place)
        left = carry if self.is_plain else Binary("mul", self.found.factor, carry)
        return Assign(self.carry.name, (), Binary("add", own, left)), Assign(self.sums.name, (place,), carry)

    @property
    def whole(self) -> Expr:
        """The values of a strip that fill registers."""
        return mul(index(self.lanes), floordiv(index(self.count), index(self.lanes)))

    def copy(self, target: str, own: Expr | None, source: str, other: Expr | None) -> Stmt:
        """Lanes from a row to a register, or back; of a row the place of the first one is given."""
        lane = self.fresh("lane")
        there, here = (index(lane) if x is None else add(x, index(lane)) for x in (own, other))
        return self.loop(lane, Assign(target, (there,), Load(source, (here,), self.type)))

    def loop(self, lane: str, put: Assign | Reduce, instruction: str = "") -> Stmt:
        self.given.append((lane, instruction))
        return For(lane, index(0), index(self.lanes), 1, Block((put,)))

    def fresh(self, name: str) -> str:
        return take_name(name, self.taken)
