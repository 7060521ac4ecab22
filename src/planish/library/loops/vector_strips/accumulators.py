"""Reductions in strips of vectors: partial sums in lanes, as many as keep the processor busy, folded behind the loops.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.library.loops.vector_strips.accumulated_loops import find_accumulated
>>> text = '''kernel k(m, n; A: u8[m, n], s: u32[] distinct) {
...   for y in 0 .. m { for x in 0 .. n { s[] += u32(A[y, x]) } } }'''
>>> (found,) = find_accumulated(parse_kernel(text))
>>> lanes = Accumulator(found.updates[0], (Array("s_lanes", found.updates[0].type, (index(4),)),), ((0, 1),), "dot")
>>> print(print_stmt(lanes.strip(found, index("i"), 0)), end="")
for x_lane in 0 .. 4 as dot {
  let terms_0_1 = u32(A[y, i + 2 * x_lane])
  let terms_0_1_1 = u32(A[y, i + 2 * x_lane + 1])
  s_lanes[x_lane] = s_lanes[x_lane] + terms_0_1 + terms_0_1_1
}
>>> [print_stmt(x).partition(" {")[0].strip() for x in reduce_strips(found, 8, [lanes])[:3]]
['alloc s_lanes: u32[4]', 'for x_lane in 0 .. 4 simd', 'for y in 0 .. m']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from planish.core.names import take_name
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Var, index
from planish.ir.index.polynomial import add, extremum, floordiv, mul, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Let, LoopFacts, Reduce, Stmt
from planish.ir.traverse import map_expr, substitute, variables, with_stmts
from planish.ir.types import INDEX, Type
from planish.isa.select.lane_values import NoCover
from planish.library.loops.vector_strips.accumulated_loops import AccumulatedCell, AccumulatedLoop, as_type, used_lets
from planish.library.loops.vector_strips.padded_tails import Left, Tails, steps_of
from planish.library.loops.vector_strips.strip_nest import copies

_NARROW = 32


@dataclass(frozen=True, slots=True)
class Accumulator:
    """How a cell is updated: each strip that is on its way at once has an array of accumulators, whose lane q has the
    iterations of all `groups`, each q times its length further. `instruction` does a strip, `joining` makes one of the
    arrays, each of `halving` half as many lanes of what is left, in an array; `most`: how many strips may
    be added up before a lane wraps around, `row`: how many iterations before a cell of a row's own would, 0 where that
    does not matter."""

    update: AccumulatedCell
    arrays: tuple[Array, ...]
    groups: tuple[tuple[int, ...], ...]
    instruction: str = ""
    joining: str = ""
    halving: tuple[tuple[Array, str], ...] = ()
    most: int = 0
    row: int = 0

    @property
    def array(self) -> Array:
        """The accumulators that all become."""
        return self.arrays[0]

    @property
    def lanes(self) -> int:
        """The accumulators of a strip."""
        (extent,) = self.array.shape
        assert isinstance(extent, Const)
        return int(extent.value)

    def strip(self, found: AccumulatedLoop, first: Expr, turn: int) -> For:
        """The loop over the lanes of a strip that begins at a place, for the accumulators of a number."""
        nest = found.nest
        lane = nest.fresh(f"{found.loop.var}_lane")
        at: Expr = Var(lane, INDEX)
        places = [
            simplify(add(first, add(mul(index(len(group)), at), index(x)))) for group in self.groups for x in group
        ]  # fmt: skip
        made = copies(nest, [{found.loop.var: x} for x in places])
        values = [x.value for x in made if isinstance(x, Assign) and x.array == self.update.terms.name]
        assert len(values) == len(places)
        array = self.arrays[turn]
        total = self.joined([Load(array.name, (at,), array.type), *(as_type(x, array.type) for x in values)])
        body = Block((*used_lets(made, [total]), Assign(array.name, (at,), total)))
        return For(lane, index(0), index(self.lanes), 1, body, LoopFacts(instruction=self.instruction))

    def join(self, lane: str) -> For:
        """The loop over lanes that makes one of all arrays."""
        at: Expr = Var(lane, INDEX)
        total = self.joined([Load(x.name, (at,), x.type) for x in self.arrays])
        body = Block((Assign(self.array.name, (at,), total),))
        return For(lane, index(0), index(self.lanes), 1, body, LoopFacts(instruction=self.joining))

    def halve(self, lane: str, whole: Array, half: Array, instruction: str = "") -> For:
        """The loop over lanes that makes half as many of an array of them, in another."""
        (count,) = half.shape
        assert count is not None
        at = Var(lane, INDEX)
        total = self.joined([Load(whole.name, (x,), whole.type) for x in (at, add(at, count))])
        body = Block((Assign(half.name, (at,), total),))
        return For(lane, index(0), count, 1, body, LoopFacts(instruction=instruction))

    def joined(self, values: Sequence[Expr]) -> Expr:
        """Values as one."""
        op = self.update.op
        assert op in ("add", "min", "max", "and", "or")
        return reduce(lambda a, b: Binary(op, a, b), values)

    @property
    def first(self) -> Expr:
        """What lanes begin with: nothing that is added; what there was, of which the extremum may be taken twice, or,
        in lanes of another type, what changes nothing."""
        type, op = self.array.type, self.update.op
        low, high = range_of(type)
        if op != "add" and type == self.update.type:
            return self.update.cell
        ones = high if type.kind == "uint" else -1
        return Const({"min": high, "max": low, "and": ones}.get(op, 0), type)


def range_of(type: Type) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    low = -(1 << type.bits - 1) if type.kind == "int" else 0
    return low, low + (1 << type.bits) - 1


def reduce_strips(
    found: AccumulatedLoop, lanes: int, updates: Sequence[Accumulator], storing: str = "", counted: bool = False,
    tails: Tails | None = None,
) -> tuple[Stmt, ...]:  # fmt: skip
    """The statements that stand for `found.around`; strips have so many lanes. `storing`: the instruction that does
    what a strip stores beside; `counted`: loops alone, without conditions, where `few_enough` holds; `tails`: what
    fills no strip is one as well, where that can be."""
    return tuple(_Reduction(found, lanes, updates, storing, counted, tails).stmts())


def few_enough(found: AccumulatedLoop, lanes: int, updates: Sequence[Accumulator]) -> Expr | None:
    """That lanes cannot wrap around; None where none may."""
    bound = _Reduction(found, lanes, updates).bound
    count = simplify(sub(found.loop.upper, found.loop.lower))
    return Compare("le", count, index(bound)) if bound else None


@dataclass(frozen=True, slots=True)
class _Reduction:
    found: AccumulatedLoop
    lanes: int
    updates: Sequence[Accumulator]
    storing: str = ""
    counted: bool = False
    tails: Tails | None = None

    @property
    def bound(self) -> int:
        """The most iterations of a row; 0 where there may be any number."""
        wide = [x for x in self.updates if self.wide_of(x) is not None]
        bounds = [x.most * self.lanes for x in wide if x.most] + [x.row for x in self.updates if x.row]
        return min(bounds, default=0)

    @property
    def jammed(self) -> int:
        """How many strips are on their way at once."""
        return min(len(x.arrays) for x in self.updates)

    @property
    def whole(self) -> Expr:
        """How many strips there are."""
        loop = self.found.loop
        return simplify(floordiv(extremum("max", sub(loop.upper, loop.lower), index(0)), index(self.lanes)))

    def stmts(self) -> Iterator[Stmt]:
        """Lanes that begin with nothing, the loops, and the lanes folded."""
        loop, around = self.found.loop, self.found.around
        rest = self.rest()
        left = Compare("gt", simplify(sub(rest.upper, rest.lower)), index(0))
        inner: list[Stmt] = [*self.strips(), rest if self.counted else If(left, Block(self.tail(rest)))]
        wide = [x for x in self.updates if self.wide_of(x) is not None]
        begun = (y for x in wide for y in self.cleared(x.arrays, Const(0, x.array.type)))
        inner = [*begun, *inner, *(y for x in wide for y in self.drained(x))]
        few = few_enough(self.found, self.lanes, self.updates)
        if few is not None and not self.counted:
            inner = [If(few, Block(tuple(inner)), Block(self.found.plain))]
        body = tuple(inner) if around is self.found.origin else (self.around(inner),)
        made = [*self.begun(), *body, *(y for x in self.updates for y in self.folded(x))]
        if around is not self.found.origin or self.counted:
            yield from made
            return
        enough = Compare("ge", simplify(sub(loop.upper, loop.lower)), index(self.lanes))
        yield If(enough, Block(tuple(made)), Block(self.found.plain))

    def around(self, inner: Sequence[Stmt]) -> Stmt:
        """What is around the loop, with other statements in its place."""
        block = with_stmts(Block((self.found.around,)), self.found.origin, inner)
        for x in self.found.gone:
            block = with_stmts(block, x, ())
        return block.body[0]

    def wide_of(self, x: Accumulator) -> Array | None:
        """The lanes of 64 bits that narrower sums are added to, of a cell that is as wide."""
        if x.update.op != "add" or x.update.type.bits <= _NARROW:
            return None
        return Array(f"{x.array.name}_wide", x.update.type, (index(x.lanes),), memory="stack")

    def begun(self) -> Iterator[Stmt]:
        for x in self.updates:
            wide = self.wide_of(x)
            arrays = x.arrays if wide is None else (wide,)
            yield from self.cleared(arrays, as_type(x.first, arrays[0].type))

    def lane(self) -> str:
        return self.found.nest.fresh(f"{self.found.loop.var}_lane")

    def cleared(self, arrays: Sequence[Array], value: Expr) -> Iterator[Stmt]:
        """Arrays of lanes that all begin with a value."""
        lane = self.lane()
        for x in arrays:
            (count,) = x.shape
            assert count is not None
            body = Block((Assign(x.name, (Var(lane, INDEX),), value),))
            yield Alloc(x)
            yield For(lane, index(0), count, 1, body, LoopFacts(simd=True))

    def strips(self) -> Iterator[Stmt]:
        """The strips, several at once, and those that are left."""
        loop, strip = self.found.loop, self.found.nest.fresh(f"{self.found.loop.var}_strip")
        at: Expr = Var(strip, INDEX)

        def begin(number: Expr) -> Expr:
            return simplify(add(loop.lower, mul(index(self.lanes), number)))

        rounds = simplify(floordiv(self.whole, index(self.jammed)))
        turns = [
            x for turn in range(self.jammed)
            for x in self.strip(begin(add(mul(index(self.jammed), at), index(turn))), turn)
        ]  # fmt: skip
        yield For(strip, index(0), rounds, 1, Block(tuple(turns)))
        if self.jammed > 1:
            one = Block(tuple(self.strip(begin(at), 0)))
            yield For(strip, simplify(mul(index(self.jammed), rounds)), self.whole, 1, one)

    def strip(self, first: Expr, turn: int) -> Iterator[For]:
        """What a strip does: all is read before anything is stored, but what is read of that."""
        yield from (x.strip(self.found, first, turn) for x in self.updates if not x.update.behind)
        if self.storing:
            yield self.found.lane_loop(self.found.stored, first, self.lanes, self.storing)
        yield from (x.strip(self.found, first, turn) for x in self.updates if x.update.behind)

    def rest(self) -> For:
        """What is left of a row, as it was written."""
        loop = self.found.loop
        return replace(loop, lower=simplify(add(loop.lower, mul(index(self.lanes), self.whole))), label=0)

    def tail(self, rest: For) -> tuple[Stmt, ...]:
        """What is left of a row: sums of a strip on copies, less what its other lanes have added; extrema of the last
        strip, once more. As it was written where there is no such strip, or something is stored."""
        if self.tails is None or self.storing:
            return (rest,)
        left, last = simplify(sub(rest.upper, rest.lower)), simplify(sub(rest.upper, index(self.lanes)))
        made: list[Stmt] = []
        try:
            lost = Left(self.lanes, left, steps_of(self.found.nest.body, self.found.loop.var), apart=True)
            for x in self.updates:
                if x.update.op != "add":
                    made.append(x.strip(self.found, last, 0))
                    continue
                padded = self.tails.pad(partial(x.strip, self.found, turn=0), rest.lower, lost, (x.array,))
                made.append(Block((*padded.before, padded.strip, *self.corrected(x.update, rest.lower, left))))
        except NoCover:
            return (rest,)
        if all(x.update.op == "add" for x in self.updates):
            return tuple(made)
        enough = Compare("ge", simplify(sub(self.found.loop.upper, self.found.loop.lower)), index(self.lanes))
        return (If(enough, Block(tuple(made)), Block((rest,))),)

    def corrected(self, update: AccumulatedCell, first: Expr, left: Expr) -> Iterator[Stmt]:
        """The cell without what lanes behind a row have added, which read nothing but 0."""
        assert self.tails is not None
        loop, wrapping = self.found.loop, Type("uint", update.type.bits)
        values: dict[str, Expr] = {}
        zeros: dict[Type, str] = {}
        taken = self.tails.taken

        def zero(x: Expr) -> Expr:
            if isinstance(x, Load) and any(loop.var in variables(y) for y in x.index):
                # Under a name, since compilers warn of constants that decide comparisons.
                name = zeros.get(x.type) or zeros.setdefault(x.type, take_name("nothing", taken))
                return Var(name, x.type)
            return values.get(x.name, x) if isinstance(x, Var) else x

        term: Expr | None = None
        for x in self.found.nest.body:
            if isinstance(x, Let):
                values[x.var] = map_expr(zero, x.value)
            elif isinstance(x, Assign) and x.array == update.terms.name:
                term = map_expr(zero, x.value)
        assert term is not None
        term = substitute(term, {loop.var: first})
        yield from (Let(name, Const(0, type)) for type, name in zeros.items())
        count = Cast(simplify(sub(index(self.lanes), left)), wrapping)
        added = Binary("mul", count, as_type(term, wrapping))
        value = Binary("sub", as_type(update.cell, wrapping), added)
        yield Assign(update.array, update.index, as_type(value, update.type))

    def joined(self, x: Accumulator) -> Iterator[For]:
        if len(x.arrays) > 1:
            yield x.join(self.lane())

    def drained(self, x: Accumulator) -> Iterator[For]:
        """The lanes of a row are added to those of 64 bits."""
        wide, lane = self.wide_of(x), self.lane()
        assert wide is not None
        at: Expr = Var(lane, INDEX)
        yield from self.joined(x)
        value = Cast(Load(x.array.name, (at,), x.array.type), wide.type)
        body = Block((Assign(wide.name, (at,), Binary("add", Load(wide.name, (at,), wide.type), value)),))
        yield For(lane, index(0), index(x.lanes), 1, body, LoopFacts(simd=True))

    def folded(self, x: Accumulator) -> Iterator[Stmt]:
        """The lanes become one value, which the cell is updated with."""
        wide, lane, cell = self.wide_of(x), self.lane(), x.update.cell
        lanes, op = wide or x.array, x.update.op
        if wide is None:
            yield from self.joined(x)
            for half, instruction in x.halving:
                yield Alloc(half)
                yield x.halve(lane, lanes, half, instruction)
                lanes = half
        total = Array(f"{x.array.name}_total", lanes.type, memory="register")
        yield Alloc(total)
        yield Assign(total.name, (), as_type(x.first, lanes.type))
        (left,) = lanes.shape
        assert left is not None
        # Compilers add registers up in registers where they see a plain loop over as many lanes.
        body = Block((Reduce(total.name, (), op, Load(lanes.name, (Var(lane, INDEX),), lanes.type)),))
        yield For(lane, index(0), left, 1, body, LoopFacts(simd=self.counted))
        assert op in ("add", "min", "max", "and", "or")
        wrapping = Type("uint", cell.type.bits) if op == "add" else cell.type
        value = Binary(op, as_type(cell, wrapping), as_type(Load(total.name, (), lanes.type), wrapping))
        yield Assign(cell.array, cell.index, as_type(value, cell.type))
