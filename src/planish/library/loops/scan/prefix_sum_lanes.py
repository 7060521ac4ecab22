"""Prefix sum (with decay) in lanes: independent terms first, then log-step sums within a register (distances 1, 2, 4,
...); one carry goes to the next.

Before: for j { x[j] = a * x[j - 1] + f(j) }
After:  for strips of j { for registers v of sums { v = f in lanes;
        for k = 1, 2, 4, ... { v += a^k (v moved by k lanes) };  v[l] += a^(l + 1) carry;  carry = v[last] };
        x = sums in lanes }

Where a sum of floats is NaN, it may be one that only this order has: the register's are made one by one then.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> loop = "for j in 1 .. n { x[j] = x[j - 1] * a + y[j] }"
>>> text = "kernel k(n; a: f32; x: f32[n], y: f32[n]) { " + loop + " }"
>>> from planish.library.loops.scan.prefix_sum import find_sum
>>> found = find_sum(parse_kernel(text).body.body[0], {"a"})
>>> sums = Sums(found, ValueRegisters("avx512", "zmm", 16), {"x", "y", "n", "j", "a"})
>>> print(print_stmt(sums.others()))
for rest in 16 * (count // 16) .. count {
  carry[] = y[first + rest] + a * carry[]
  sums[rest] = carry[]
}
"""

from __future__ import annotations

from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.index.polynomial import add, extremum, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Reduce, Stmt
from planish.ir.traverse import map_expr
from planish.library.loops.scan.prefix_sum import RunningSum, in_type, zero
from planish.library.loops.scan.strip_statements import LoopLanes, ValueRegisters
from planish.schedule.auto.rewrites.rematerialise import are_same


class Sums(LoopLanes):
    """The statements of a sum in registers."""

    def __init__(self, found: RunningSum, registers: ValueRegisters, taken: set[str]) -> None:
        super().__init__(found.loop, found.type, registers, taken)
        self.found = found
        self.sums = Array(self.fresh("sums"), self.type, (index(registers.strip + found.is_late),), True, "stack")
        # A loop over all of a strip has lanes in any compiler; one over a register, with much in it, has not.
        self.computes = not isinstance(found.rest, Load | Const)
        length = registers.strip if self.computes else self.lanes
        self.own = Array(self.fresh("own"), self.type, (index(length),), True, "stack")
        self.made = Array(self.fresh("made"), self.type, (index(self.lanes),), True, "stack")
        self.row = Array(self.fresh("row"), self.type, (index(self.lanes),), True, "stack")
        self.carry = Array(self.fresh("carry"), self.type, (), True, "register")
        self.v, self.w, self.ramp = (
            Array(self.fresh(x), self.type, (index(self.lanes),), True, registers.memory)
            for x in ("values", "moved", "ramp")
        )

    def stmt(self) -> Stmt:
        """All of it: what is before the first value is only there where there is one."""
        loop = self.found.loop
        whole = self.along(loop.lower, loop.upper, self.found.begin(), *self.kept(self.load(self.carry)))
        return If(Compare("lt", loop.lower, loop.upper), Block(tuple(whole)))

    def kept(self, last: Expr) -> list[Stmt]:
        """The final value of a running sum's cell."""
        cell = self.found.cell
        return [Assign(cell.array, cell.index, in_type(cell.type, last))] if self.found.keeps else []

    def rest_at(self, place: Expr) -> Expr:
        """What a value adds to the one before it, at a place of a strip."""
        return in_type(self.type, self.at(self.found.rest, place))

    def along(self, lower: Expr, upper: Expr, begin: Expr, *end: Stmt) -> list[Stmt]:
        """All values from one place to another one, and then what is done with the last one of them, `carry`."""
        count = extremum("min", index(self.registers.strip), sub(upper, index(self.first)))
        own = [Alloc(self.own)] if self.computes else []
        strip = Block((Alloc(self.sums), *own, Let(self.count, count), *self.strip()))
        over = For(self.first, lower, upper, self.registers.strip, strip)
        cells = map(Alloc, (self.v, self.w, self.carry))
        return [*cells, *self.powers(), Assign(self.carry.name, (), begin), over, *end]

    def powers(self) -> list[Stmt]:
        """The weight of the carry in each lane."""
        if self.found.is_plain:
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
        """One strip: whole registers, the rest, and what is stored of all of it."""
        place, put, late = self.fresh("place"), self.found.put, self.found.is_late
        known = in_type(self.found.cell.type, self.load(self.sums, index(place)))

        def in_place(x: Expr) -> Expr:
            is_cell = isinstance(x, Load) and x.array == self.found.cell.array and are_same(x, self.found.cell)
            return known if is_cell else x

        target = self.target_at(self.found.target, index(place))
        stored = Assign(target.array, target.index, self.at(map_expr(in_place, put.value), index(place)), put.span)
        before = [Assign(self.sums.name, (index(0),), self.load(self.carry))] if late else []
        make = [self.make(index(self.count))] if self.computes else []
        return [*before, *make, self.registers_of(), self.others(), self.over(place, index(self.count), stored)]

    def make(self, count: Expr, first: Expr | None = None) -> Stmt:
        """What so many values of a strip add to those before them, from one of them on."""
        place = self.fresh("place")
        here = index(place) if first is None else add(first, index(place))
        return self.over(place, count, Assign(self.own.name, (index(place),), self.rest_at(here)))

    def kept_at(self, place: Expr) -> Expr:
        """Where a sum is kept in a strip: behind the one before the strip, where that is stored, too."""
        return add(place, index(1)) if self.found.is_late else place

    def registers_of(self) -> Stmt:
        """The loop over whole registers of a strip."""
        block, carried, next = (self.fresh(x) for x in ("block", "carried", "next"))
        before = Var(carried, self.type)
        each = [] if self.computes else [self.make(index(self.lanes), index(block))]
        body: list[Stmt] = [*map(Alloc, (self.made,) if self.computes else (self.own, self.made)), *each]
        body.append(self.copy(self.v.name, (), self.own.name, (index(block if self.computes else 0),)))
        for k in self.registers.moves:
            body += self.move(k)
        body.append(self.copy(self.made.name, (index(0),), self.v.name, ()))
        last = self.load(self.made, index(self.lanes - 1))
        grown = before if self.found.is_plain else Binary("mul", self.power(self.lanes), before)
        body += [Let(carried, self.load(self.carry)), Let(next, Binary("add", last, grown))]
        sum = Var(next, self.type)
        store = self.copy(self.sums.name, (self.kept_at(index(block)),), self.v.name, ())
        together = (*self.join(before), store, Assign(self.carry.name, (), sum))
        if self.type.is_float:
            one = self.fresh("one")
            one_by_one = For(one, index(0), index(self.lanes), 1, Block(self.one(add(index(block), index(one)))))
            body.append(If(self.is_finite(sum), Block(together), Block((one_by_one,))))
        else:
            body += together
        return For(block, index(0), self.whole, self.lanes, Block(tuple(body)))

    def is_finite(self, value: Expr) -> Expr:
        """Whether a value is a number."""
        return Compare("eq", Binary("sub", value, value), zero(self.type))

    def move(self, k: int) -> list[Stmt]:
        """To each value comes the one so many lanes before it."""
        lane = self.fresh("lane")
        moved = self.load(self.v, sub(index(lane), index(k)))
        entering = Select(Compare("lt", index(lane), index(k)), zero(self.type), moved)
        slide = self.loop(lane, Assign(self.w.name, (index(lane),), entering), self.registers.slide(k, str(self.type)))
        return [slide, self.grow(self.w, None if self.found.is_plain else self.power(k))]

    def join(self, carried: Expr) -> list[Stmt]:
        """To each value comes what is left of the one before the register."""
        if not self.found.is_plain:
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

    def others(self) -> Stmt:
        """The values of a strip that fill no register, one by one."""
        var = self.fresh("rest")
        return For(var, self.whole, index(self.count), 1, Block(self.one(index(var))))

    def one(self, place: Expr) -> tuple[Stmt, Stmt]:
        """A value from the one before it."""
        carry, own = self.load(self.carry), self.load(self.own, place) if self.computes else self.rest_at(place)
        left = carry if self.found.is_plain else Binary("mul", self.found.factor, carry)
        made = Assign(self.carry.name, (), Binary("add", own, left))
        return made, Assign(self.sums.name, (self.kept_at(place),), carry)
