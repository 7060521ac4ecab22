"""Parallel prefix sum on threads: the sums of all chunks come first, then each thread scans its chunk from its offset.

Before: for j { x[j] = x[j - 1] + f(j) }
After:  for spans of j, a short part and then a long one for each thread {
          on threads: one makes the short part, the others add up f of a long part each;
          starts of the parts = what comes before them, added up;
          on threads: each makes a long part from its start, what it has added up itself where it has }

A long part fits into the second cache of a core, so that memory is read once; to make the short one takes as long as to
add up a long one. Where a start of floats is NaN, what is behind the short part is made one after the other. (A
sum that leaves the range of its type within a part, and comes back in it, stays out of it in this part alone.)

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.library.loops.scan.strip_statements import ValueRegisters
>>> from planish.library.loops.scan.prefix_sum import find_sum
>>> loop = "for j in 1 .. n { x[j] = x[j - 1] + y[j] }"
>>> found = find_sum(parse_kernel("kernel k(n; x: f32[n], y: f32[n]) { " + loop + " }").body.body[0], ())
>>> shares = PrefixSumShares(Sums(found, ValueRegisters("avx512", "zmm", 16), {"x", "y", "n", "j"}), 3, 4096)
>>> print(print_stmt(shares.starts_of_parts()))
{
  starts[1] = totals[0]
  for number in 2 .. 3 {
    starts[number] = starts[number - 1]
    starts[number] += totals[number - 1]
  }
  starts[0] = starts[2]
  starts[0] += totals[2]
}
"""

from __future__ import annotations

from planish.ir.expr import Compare, Expr, Load, index
from planish.ir.index.polynomial import add, extremum, mod, mul, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, LoopFacts, Reduce, Stmt
from planish.ir.traverse import loads
from planish.library.loops.scan.prefix_sum import RunningSum, in_type, zero
from planish.library.loops.scan.prefix_sum_lanes import Sums
from planish.poly.isl.expression import conjunction
from planish.schedule.auto.lower import place_expr
from planish.schedule.auto.rewrites.rematerialise import are_same

SPANS = 2
"""So many spans there have to be at least: fewer are made by one thread."""


def may_share(found: RunningSum) -> bool:
    """Whether parts of a sum may be added up while others are made: nothing is lost on the way, and of what is stored
    each iteration reads its own alone."""
    return found.is_plain and all(x.array != found.put.array or are_same(x, found.target) for x in loads(found.rest))


class PrefixSumShares:
    """The statements of a sum for some threads, with long parts of so many values."""

    def __init__(self, sums: Sums, threads: int, long: int) -> None:
        self.sums, self.threads, self.long, self.short = sums, threads, long, long // 2
        self.span = self.short + threads * long
        self.starts, self.totals = (
            Array(sums.fresh(x), sums.type, (index(threads),), True, "stack") for x in ("starts", "totals")
        )
        self.first, self.upper = sums.fresh("span"), sums.around.upper

    def stmt(self) -> Stmt:
        """All of it: by one thread where that is little."""
        loop, sums = self.sums.found.loop, self.sums
        body = Block((self.ahead(), self.starts_of_parts(), self.parts()))
        begin = self.put(self.starts, index(0), sums.found.begin())
        spans = For(self.first, loop.lower, loop.upper, self.span, body)
        last = sums.kept(self.at(self.starts, index(0)))
        whole = *map(Alloc, (self.starts, self.totals)), begin, spans, *last
        much = Compare("ge", sub(loop.upper, loop.lower), index(SPANS * self.span))
        return If(much, Block(whole), Block((sums.stmt(),)))

    def ahead(self) -> Stmt:
        """The short part is made, and what the next ones add up to is found."""
        sums, number = self.sums, self.sums.fresh("part")
        part, last = index(number), self.put(self.totals, index(0), sums.load(sums.carry))
        make = sums.along(index(self.first), self.middle, self.at(self.starts, index(0)), last)
        place = sums.fresh("place")
        total = Array(sums.fresh("total"), sums.type, (), True, "register")
        value = in_type(sums.type, place_expr(sums.found.rest, {sums.around.var: index(place)}))
        sums.facts[place] = LoopFacts(simd=True, reductions=(("add", total.name),))
        low, high = self.ends(sub(part, index(1)))
        count = For(place, low, high, 1, Block((Reduce(total.name, (), "add", value),)))
        keep = self.put(self.totals, part, sums.load(total))
        others = Alloc(total), Assign(total.name, (), zero(sums.type)), count, keep
        choice = If(Compare("eq", part, index(0)), Block(tuple(make)), Block(others))
        return self.on_threads(number, Block((choice,)))

    def starts_of_parts(self) -> Stmt:
        """The offsets of all long chunks: the first thread computes the last one."""
        number = self.sums.fresh("number")
        here, before, last = index(number), sub(index(number), index(1)), index(self.threads - 1)
        first = self.put(self.starts, index(1), self.at(self.totals, index(0)))
        between = For(number, index(2), index(self.threads), 1, Block(self.next(here, before)))
        return Block((first, *((between,) if self.threads > 2 else ()), *self.next(index(0), last)))

    def next(self, target: Expr, before: Expr) -> tuple[Stmt, Stmt]:
        """The start behind the part that a thread has added up."""
        add_up = Reduce(self.starts.name, (target,), "add", self.at(self.totals, before))
        return self.put(self.starts, target, self.at(self.starts, before)), add_up

    def parts(self) -> Stmt:
        """The long parts, each by the thread that has added it up, and the last one by the first thread."""
        sums, number = self.sums, self.sums.fresh("part")
        part = index(number)
        last = self.put(self.starts, index(0), sums.load(sums.carry))
        keep = If(Compare("eq", part, index(0)), Block((last,)))
        low, high = self.ends(mod(add(part, index(self.threads - 1)), index(self.threads)))
        make = Block(tuple(sums.along(low, high, self.at(self.starts, part), keep)))
        together = self.on_threads(number, make)
        if not sums.type.is_float:
            return together
        known = conjunction(sums.is_finite(self.at(self.starts, index(x))) for x in range(self.threads))
        rest = sums.along(self.middle, self.end, self.at(self.totals, index(0)), last)
        return If(known, Block((together,)), Block(tuple(rest)))

    def on_threads(self, number: str, body: Block) -> Stmt:
        """The work of each thread, by its number."""
        self.sums.facts[number] = LoopFacts(parallel=True)
        return For(number, index(0), index(self.threads), 1, body)

    @property
    def middle(self) -> Expr:
        """The end of the short part of a span."""
        return extremum("min", add(index(self.first), index(self.short)), self.upper)

    @property
    def end(self) -> Expr:
        """The end of a span."""
        return extremum("min", add(index(self.first), index(self.span)), self.upper)

    def ends(self, number: Expr) -> tuple[Expr, Expr]:
        """Where a long part begins, and where it ends."""
        low = add(add(index(self.first), index(self.short)), mul(number, index(self.long)))
        return extremum("min", low, self.upper), extremum("min", add(low, index(self.long)), self.upper)

    def at(self, array: Array, place: Expr) -> Load:
        """An element of a thread."""
        return Load(array.name, (place,), array.type)

    def put(self, array: Array, place: Expr, value: Expr) -> Assign:
        """The store to an element of a thread."""
        return Assign(array.name, (place,), value)
