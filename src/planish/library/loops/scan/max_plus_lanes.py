"""Max-plus scan in lanes: independent terms of a strip first, then log-step maxima within a register (distances 1, 2,
4, ...); one carry goes to the next.

Before: for j { x[j] = max(f(j), x[j - 1] - c) }
After:  for strips of j { own = f in lanes;  own[0] = max(own[0], x[-1] - c);
        for registers v of own { for k = 1, 2, 4, ... { v = max(v, (v moved by k lanes) - k c) };
        x[l] = max(v[l], carry - (l + 1) c);  carry = max(v[last], carry - lanes c) } }

What a cost is taken from never goes below the least value of the type: either no own value is small enough for that,
or a value is raised to `least + k c` before, which leaves larger ones as they are, and makes others the least value.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.library.loops.scan.max_plus import find_chain
>>> loop = "for j in 1 .. n { x[j] = max(y[j], x[j - 1] - 2:i32) }"
>>> found = find_chain(parse_kernel("kernel k(n; x: i32[n], y: i32[n]) { " + loop + " }").body.body[0])
>>> strips = MaxPlusStrips(found, ValueRegisters("avx512", "zmm", 16), {"x", "y", "n", "j"})
>>> print(print_stmt(strips.rest()))
for rest in 16 * (count // 16) .. count {
  carry[] = max(own[rest], max(carry[], -2147483646:i32) - 2:i32)
  x[first + rest] = carry[]
}
"""

from __future__ import annotations

from typing import Literal

from planish.ir.expr import Binary, Compare, Const, Expr, Load, Select, Var, index
from planish.ir.index.polynomial import add, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, Stmt
from planish.ir.semantics.arithmetic import limits
from planish.library.loops.scan.max_plus import Cost, MaxPlusChain, Second
from planish.library.loops.scan.strip_statements import LoopLanes, ValueRegisters
from planish.poly.isl.expression import conjunction

LARGE = 1 << 16
"""Costs below it are as large as those of alignments are."""


class MaxPlusStrips(LoopLanes):
    """The statements of a chain in registers. `largest`: the cost up to which it is right. `raises`: values are raised
    before a cost is taken off; this counts on what signed integers are in C, where no value of the loop as it is
    written leaves the type."""

    def __init__(self, found: MaxPlusChain, registers: ValueRegisters, taken: set[str]) -> None:
        super().__init__(found.loop, found.type, registers, taken)
        self.found, self.start = found, self.fresh("start")
        low, high = (0, 0) if self.type.is_float else limits(self.type)
        bound = low if self.type.is_float else int(found.bound)
        room = bound - low if found.op == "max" else high - bound
        plain, self.largest = min(room, high) // self.lanes, high // self.lanes
        known = [int(x.value) for x in self.asked() if isinstance(x, Const)]
        # What begins a row of second values was made elsewhere, and may be worse than all that the loop makes.
        wanted = max((*known, LARGE if len(known) < len(self.asked()) else 0))
        self.raises = found.second is not None or plain < wanted
        if not self.raises:
            self.largest = plain
        # Behind the last value of a strip stands what it has for the next one.
        self.own = Array(self.fresh("own"), self.type, (index(registers.strip + 1),), True, "stack")
        self.kept = Array(self.fresh("kept"), self.type, (index(registers.strip),), True, "stack")
        self.name = self.fresh("cost")
        self.carry = Array(self.fresh("carry"), self.type, (), True, "register")
        self.v, self.w, self.ramp, self.least = (
            Array(self.fresh(x), self.type, (index(self.lanes),), True, registers.memory)
            for x in ("values", "moved", "ramp", "least")
        )

    def asked(self) -> tuple[Cost, ...]:
        """All costs."""
        return (*self.found.costs, *(() if self.found.second is None else (self.found.second.cost,)))

    @property
    def is_free(self) -> bool:
        """Whether values count for later ones as they are."""
        return self.found.cost == Const(0, self.type)

    def stmt(self) -> Stmt | None:
        """All of it, the loop as it is written where a cost is below zero or too large; None where one always is."""
        costs, limit = dict.fromkeys(self.asked()), self.largest
        if self.raises and self.found.may_wrap:
            return None
        if any(isinstance(x, Const) and int(x.value) > limit for x in costs):
            return None
        named = [x for x in costs if isinstance(x, Var)]
        asked: list[Expr] = [Compare("ge", x, Const(0, self.type)) for x in named]
        asked += [Compare("le", x, Const(limit, self.type)) for x in named]
        whole = Block(tuple(self.strips()))
        return If(conjunction(asked), whole, Block((self.found.loop,))) if asked else whole

    def strips(self) -> list[Stmt]:
        """The loop over strips, with what is the same for all of them before it."""
        loop = self.found.loop
        worst = self.found.worst if self.raises else self.found.bound
        body = Block((Alloc(self.own), Let(self.count, self.length), *self.strip()))
        over = For(self.first, loop.lower, loop.upper, self.registers.strip, body)
        named = [] if isinstance(self.found.cost, Const | Var) else [Let(self.name, self.found.cost)]
        opening = [*named, *map(Alloc, (self.v, self.w)), *self.ramps(), Let(self.start, Const(worst, self.type))]
        return [*opening, Alloc(self.carry), over]

    def ramps(self) -> list[Stmt]:
        """The accumulated costs of all lanes from the carry."""
        if self.is_free:
            return []
        row = Array(self.fresh("row"), self.type, (index(self.lanes),), True, "stack")
        puts = [Assign(row.name, (index(n),), self.cost(n + 1)) for n in range(self.lanes)]
        out = [Alloc(row), *puts, Alloc(self.ramp), self.copy(self.ramp.name, (), row.name, ())]
        if self.raises:
            puts = [Assign(row.name, (index(n),), self.floor(n + 1)) for n in range(self.lanes)]
            out += [*puts, Alloc(self.least), self.copy(self.least.name, (), row.name, ())]
        return out

    def strip(self) -> list[Stmt]:
        """One strip: what does not wait, whole registers, and the rest."""
        found = self.found
        # A NaN before the first value stays; among the own values there is none.
        before = self.at(found.start, index(0)) if self.type.is_float else Var(self.start, self.type)
        begin = Assign(self.carry.name, (), before)
        kept = Assign(found.start.array, found.start.index, self.load(self.carry))
        make, end = (self.make(), []) if found.second is None else self.with_second(found.second)
        return [*make, begin, self.registers_of(), self.rest(), *([kept] if found.keeps else []), *end]

    def make(self) -> list[Stmt]:
        """The own values of a strip; the first one has the value before it, too."""
        zero, place = index(0), self.fresh("place")
        make = Assign(self.own.name, (index(place),), self.at(self.found.own, index(place)))
        if self.type.is_float:
            return [self.over(place, index(self.count), make)]
        first = self.better(self.load(self.own, zero), self.step(self.at(self.found.start, zero)))
        return [self.over(place, index(self.count), make), Assign(self.own.name, (zero,), first)]

    def with_second(self, second: Second) -> tuple[list[Stmt], list[Stmt]]:
        """The own values of a strip that are made of the second values' own ones; and these with the chain's."""
        place, own, zero = self.fresh("place"), self.fresh("second"), index(0)
        at = index(place)
        ahead, behind = ([self.placed(x, at) for x in part] for part in (second.ahead, second.behind))
        value = Var(own, self.type)
        made = Let(own, self.at(second.own, at))
        keep = Assign(self.kept.name, (at,), value)
        put = Assign(self.own.name, (add(at, index(1)),), self.less(value, 1, second.cost))
        begin = Assign(self.own.name, (zero,), self.at(second.begin, zero))
        make = self.over(place, index(self.count), *ahead, made, keep, put, *behind)
        place = self.fresh("place")
        both = self.better(self.load(self.kept, index(place)), self.at(self.found.target, index(place)))
        target = self.target_at(second.target, index(place))
        put = Assign(target.array, target.index, both)
        return [Alloc(self.kept), make, begin], [self.over(place, index(self.count), put)]

    def placed(self, stmt: Assign, place: Expr) -> Assign:
        """A statement at a place of a strip."""
        target = self.target_at(Load(stmt.array, stmt.index, self.type), place)
        return Assign(target.array, target.index, self.at(stmt.value, place), stmt.span)

    def registers_of(self) -> Stmt:
        """The loop over whole registers of a strip."""
        block, carried, last = self.fresh("block"), self.fresh("carried"), self.fresh("last")
        made = Array(self.fresh("made"), self.type, (index(self.lanes),), True, "stack")
        body: list[Stmt] = [self.copy(self.v.name, (), self.own.name, (index(block),))]
        for k in self.registers.moves:
            body += self.move(k)
        body += [Alloc(made), self.copy(made.name, (), self.v.name, ())]
        body.append(Let(last, self.load(made, index(self.lanes - 1))))
        body.append(Let(carried, self.load(self.carry)))
        body.append(self.join(Var(carried, self.type)))
        target = self.target_at(self.found.target, index(block))
        body.append(self.copy(target.array, target.index, self.v.name, ()))
        later = self.less(Var(carried, self.type), self.lanes)
        body.append(Assign(self.carry.name, (), self.better(Var(last, self.type), later)))
        return For(block, index(0), self.whole, self.lanes, Block(tuple(body)))

    def move(self, k: int) -> list[Stmt]:
        """Each value is compared with the one so many lanes before it."""
        lane = self.fresh("lane")
        moved = Load(self.v.name, (sub(index(lane), index(k)),), self.type)
        entering = Select(Compare("lt", index(lane), index(k)), Var(self.start, self.type), moved)
        slide = self.loop(lane, Assign(self.w.name, (index(lane),), entering), self.registers.slide(k, str(self.type)))
        lane = self.fresh("lane")
        own, other = self.load(self.v, index(lane)), self.load(self.w, index(lane))
        put = Assign(self.v.name, (index(lane),), self.better(own, self.less(other, k)))
        return [slide, self.loop(lane, put, self.extremum())]

    def join(self, carried: Expr) -> Stmt:
        """Each value is compared with the one before the register."""
        lane = self.fresh("lane")
        if not self.is_free:
            if self.raises:
                carried = self.better(carried, self.load(self.least, index(lane)))
            carried = Binary(self.sign, carried, self.load(self.ramp, index(lane)))
        value = self.better(self.load(self.v, index(lane)), carried)
        return self.loop(lane, Assign(self.v.name, (index(lane),), value), self.extremum("scalar_"))

    def extremum(self, kind: str = "") -> str:
        """The instruction for extrema of floats, of which only some leave the same NaNs; "" for any of integers."""
        return self.registers.extremum(self.found.op, self.type, kind) if self.type.is_float else ""

    def rest(self) -> Stmt:
        """The values of a strip that fill no register, one by one."""
        var = self.fresh("rest")
        target = self.target_at(self.found.target, index(var))
        value = self.better(self.load(self.own, index(var)), self.less(self.load(self.carry), 1))
        body = Assign(self.carry.name, (), value), Assign(target.array, target.index, self.load(self.carry))
        return For(var, self.whole, index(self.count), 1, Block(body))

    @property
    def sign(self) -> Literal["sub", "add"]:
        """How a cost comes to a value."""
        return "sub" if self.found.op == "max" else "add"

    def cost(self, k: int, cost: Expr | None = None) -> Expr:
        """The cost of so many places; that of the chain where none is given."""
        if cost is None:
            cost = self.found.cost if isinstance(self.found.cost, Const | Var) else Var(self.name, self.type)
        if isinstance(cost, Const):
            return Const(int(cost.value) * k, self.type)
        return Binary("mul", cost, Const(k, self.type)) if k > 1 else cost

    def floor(self, k: int, cost: Expr | None = None) -> Expr:
        """The value of which the cost of so many places makes the worst one."""
        taken, worst = self.cost(k, cost), self.found.worst
        if isinstance(taken, Const):
            return Const(worst + int(taken.value) * (1 if self.sign == "sub" else -1), self.type)
        return Binary("add" if self.sign == "sub" else "sub", Const(worst, self.type), taken)

    def less(self, value: Expr, k: int, cost: Expr | None = None) -> Expr:
        """A value less the cost of so many places; the worst one where it would be worse."""
        taken = self.cost(k, cost)
        if taken == Const(0, self.type):
            return value
        return Binary(self.sign, self.better(value, self.floor(k, cost)) if self.raises else value, taken)

    def step(self, value: Expr) -> Expr:
        """A value less the cost of one place, as it is written."""
        return value if self.is_free else Binary(self.sign, value, self.cost(1))

    def better(self, a: Expr, b: Expr) -> Expr:
        return Binary(self.found.op, a, b)
