"""Cycles in the core: the ports that an iteration occupies, and the latency of what waits for the iteration before.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.extraction import extract_scop
>>> from planish.schedule.auto.cost.loop_tree import read_loops
>>> from planish.target.load import load_target
>>> text = "kernel k(n; A: f64[n], x: f64[n]) { for i in 1 .. n { x[i] = x[i - 1] * 0.5 + A[i] } }"
>>> scop = extract_scop(parse_kernel(text))
>>> (loop,) = read_loops(scop.schedule, scop, {"n": 1001})
>>> core_cycles(loop.body, load_target("x86-avx512")).busy / 1000
4.0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log2, prod

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Select, Unary, type_of
from planish.ir.nest import Reduce
from planish.ir.traverse import walk_expr
from planish.ir.types import INDEX
from planish.schedule.auto.cost.loop_tree import Leaf, Step
from planish.schedule.auto.cost.recurrences import BlockWork, Latencies, Way, is_ambiguous, recurrence_bound
from planish.schedule.auto.tiling.strides import stride_kind
from planish.target.machine import Target

BRANCH = 8.0
"""Cycles that are lost where a loop begins and ends: its bounds, what stays in it, a branch that is predicted wrongly
every other time."""
OVERHEAD = 2
"""Instructions of an iteration besides those of its statements: it is counted and compared."""
FUNCTION = 20
"""Additions in whose time a function of C's library is computed."""
DIVISION, DIVISION_32 = 2.0, 0.7
"""Cycles in which the unit that divides makes a quotient of 64 bits, and of fewer, in a register full of them; a lone
one takes `DIVISION_ALONE`."""
DIVISION_ALONE = 4.0
MULTIPLIED = 4.0
"""Additions in whose time an integer is divided by a constant: multiplied, shifted, and put right where it is negative.
"""
DIVISION_LATENCY, FORWARD = 14, 5
"""Cycles until the result of a division is there, and until what was stored can be loaded."""
PARTIAL, MANY = 4, 4
"""The registers in which a lone sum is made in lanes; from so many sums on, each has one."""
GATHERED, SCATTERED = 2.0, 1.5
"""Loads in whose time an element of a register is gathered; stores in whose time one is scattered."""
FEW = 16
"""Sums of fewer terms have no lanes."""
TAIL = 1.5
"""The iterations over vectors in whose time a rest is done that does not fill one."""


@dataclass(frozen=True, slots=True)
class Cycles:
    """Cycles of a loop: `busy` but for loads, in which lines may come from the caches; `loads`, in which none do; and
    `lost`, in which nothing else is done."""

    busy: float
    loads: float
    lost: float


def core_cycles(
    body: Sequence[Leaf], target: Target, partial_sums: int = PARTIAL, linear: Mapping[str, Way] | None = None
) -> Cycles:  # fmt: skip
    """The cycles of all iterations of an innermost loop whose statements these are; of statements outside of loops, as
    of one iteration. `partial_sums`: the registers of a lone sum; `linear`: the statements that are recurrences which
    are made some values at a time, and how."""
    return _Loop(tuple(body), target, partial_sums, linear or {}).cycles()


@dataclass(frozen=True, eq=False)  # not slotted: what is found once is kept
class _Loop:
    """An innermost loop, in which others may be written out."""

    body: tuple[Leaf, ...]
    target: Target
    partial_sums: int
    linear: Mapping[str, Way] = field(default_factory=dict)

    @cached_property
    def first(self) -> Leaf:
        """The statement that runs most often: the loop is as it sees it."""
        return max(self.body, key=lambda x: x.instances)

    @cached_property
    def marked(self) -> int | None:
        """The depth of the loop if it runs in lanes, or some rows at a time."""
        one = self.first
        # A sum that may be read elsewhere in the loop stays in memory.
        stays = one.mark == "lanes, sums" and any(is_ambiguous(self.body, x.references[0]) for x in self.body)
        return None if stays or not one.mark.startswith(("lanes", "registers", "nest")) else one.lanes

    @cached_property
    def depth(self) -> int | None:
        """The depth of the loop; None where there is none."""
        inner = [d for d in range(len(self.first.trips)) if d not in self.first.unrolled]
        return self.marked if self.marked is not None else (inner[-1] if inner else None)

    @cached_property
    def trips(self) -> int:
        """How many iterations it has."""
        return 1 if self.depth is None else max(1, self.first.trips[self.depth])

    @cached_property
    def sums(self) -> int:
        """The sums that it makes in registers."""
        if self.marked is None or "sums" not in self.first.mark:
            return 0
        kept = [x for x in self.body if not x.references[0].moves(self.marked)]
        return sum(prod(x.trips[d] for d in x.unrolled if x.references[0].moves(d)) for x in kept)

    @cached_property
    def chain(self) -> float:
        """The cycles of an iteration in which it waits for the one before, one after the other."""
        if self.depth is None or self.marked is not None:
            return 0.0
        latencies = Latencies(float(self.target.fma_latency), DIVISION_LATENCY, FORWARD)
        return recurrence_bound(self.body, self.depth, latencies)

    @cached_property
    def block(self) -> BlockWork | None:
        """What a block of values takes where the loop is a recurrence that is made some values at a time."""
        ways = {self.linear.get(x.statement.name) for x in self.body}
        way = next(iter(ways), None)
        if way is None or len(ways) > 1 or not self.chain or (way == "blocks" and len(self.body) > 1):
            return None
        block = BlockWork.of(way, max(1, self.target.vector_bits // 8 // _widest(self.body)))
        return block if 1 < block.values <= self.trips else None

    @cached_property
    def lanes(self) -> int:
        """How many iterations an instruction is for."""
        if self.block is not None:
            return self.block.values
        if self.marked is None or "rows" in self.first.mark or (self.sums and self.trips < FEW):
            return 1
        return max(1, min(self.target.vector_bits // 8 // _widest(self.body), self.trips))

    @cached_property
    def iterations(self) -> float:
        """How often it runs in all."""
        return max(x.instances / x.copies for x in self.body)

    def cycles(self) -> Cycles:
        """All of it."""
        entries = self.iterations / self.trips
        loads, stores = self.accesses()
        work = sum(x.instances / self.iterations * _operations(x) * self.filled(x) for x in self.body)
        if self.block is not None:
            loads, stores, work = loads + self.block.loads, stores + self.block.stores, work + self.block.operations
        divided = sum(x.instances / self.iterations * _divisions(x) * self.division(x) for x in self.body)
        issued = (loads + stores + work + OVERHEAD) / self.target.issue_width
        busy = max(stores / self.target.store_ports, work / self.target.fma_units, divided, issued, self.waits())
        whole, rest = divmod(self.trips, self.lanes)
        turns = whole + (TAIL if rest else 0.0)
        added = 2 * self.target.fma_latency + self.sums * log2(self.lanes) if self.sums and self.lanes > 1 else 0.0
        if self.block is not None:
            # What fills no block waits, as it does in the order of the source; the first one waits for the factors.
            turns, added = float(whole), rest * self.chain + log2(self.lanes) * self.target.fma_latency + FORWARD
        return Cycles(
            entries * (turns * busy + added), entries * turns * loads / self.target.load_ports, entries * BRANCH
        )

    def filled(self, leaf: Leaf) -> float:
        """The part of a register that the elements of a statement take, of which the widest elements fill one."""
        return 1.0 if self.lanes == 1 else _widest((leaf,)) / _widest(self.body)

    def division(self, leaf: Leaf) -> float:
        """The cycles in which the one unit that divides does the quotients of a statement."""
        return max(DIVISION_ALONE, self.lanes * (DIVISION if _widest((leaf,)) > 4 else DIVISION_32))

    def waits(self) -> float:
        """The cycles of an iteration in which it waits for the one before."""
        add = float(self.target.fma_latency)
        if self.sums:
            registers = self.partial_sums if self.sums < MANY and self.lanes > 1 else 1
            return add / registers
        return add if self.block is not None else self.chain

    def accesses(self) -> tuple[float, float]:
        """The loads and stores of an iteration, each for a register or a part of it; the same ones once."""
        found: dict[tuple[bool, object], float] = {}
        for leaf in self.body:
            share = leaf.instances / leaf.copies / self.iterations
            for n, x in enumerate(leaf.references):
                key: object = (x.array, x.steps, x.origin) if x.regular else (leaf.statement.name, n)
                step = x.steps[self.depth] if x.regular and self.depth is not None else None
                if step is not None and not any(step):
                    continue  # it stays in a register
                copies = prod(leaf.trips[d] for d in leaf.unrolled if x.moves(d))
                cost = share * copies * self.of_step(step, x.bytes, x.write)
                for write in (True, False) if x.write and isinstance(leaf.statement.stmt, Reduce) else (x.write,):
                    found[write, key] = max(found.get((write, key), 0.0), cost)
        stores = sum(x for (write, _), x in found.items() if write)
        return sum(x for (write, _), x in found.items() if not write), stores

    def of_step(self, step: Step | None, bytes: int, write: bool) -> float:
        """The accesses for a register whose elements, of so many bytes, lie a step apart; None: anywhere."""
        if self.lanes == 1:
            return 1.0
        match "far" if step is None else stride_kind(step):
            case "unit":
                # Rows begin anywhere, so that a register may come from two lines.
                return 1.0 + self.lanes * bytes / self.target.caches[0].line
            case "reverse":
                return 2.0
            case "near" if step is not None:
                return 2.0 * abs(step[-1])
            case _:
                return self.lanes * (SCATTERED if write else GATHERED)


def _widest(body: Sequence[Leaf]) -> int:
    """The bytes of the widest element that statements access."""
    return max(x.bytes for leaf in body for x in leaf.references)


def _operations(leaf: Leaf) -> float:
    """What a statement computes, in additions; a product that is added at once is one with the sum."""
    stmt = leaf.statement.stmt
    values = [stmt.value, *(x.value for x in leaf.statement.lets)]
    total = sum(_weight(y) for x in values for y in _parts(x)) - sum(_is_fused(y) for x in values for y in _parts(x))
    if isinstance(stmt, Reduce):
        value = stmt.value.operand if isinstance(stmt.value, Unary) else stmt.value
        fused = stmt.op == "add" and isinstance(value, Binary) and value.op == "mul"
        total += -1.0 if fused and value is not stmt.value else 0.0 if fused else 1.0
    return max(0.0, total)


def _parts(expr: Expr) -> Iterator[Expr]:
    for x in walk_expr(expr):
        operand = x.left if isinstance(x, Compare) else x
        if isinstance(x, Binary | Unary | Select | Call | Compare | Cast) and type_of(operand) != INDEX:
            yield x


def _is_fused(x: Expr) -> bool:
    products = (isinstance(y, Binary) and y.op == "mul" for y in ((x.left, x.right) if isinstance(x, Binary) else ()))
    return isinstance(x, Binary) and x.op in ("add", "sub") and any(products)


def _divisions(leaf: Leaf) -> float:
    """The divisions and roots of a statement."""
    values = [leaf.statement.stmt.value, *(x.value for x in leaf.statement.lets)]
    return sum(_divides(y) for x in values for y in _parts(x))


def _divides(x: Expr) -> float:
    match x:
        case Binary(op="div"):
            return 1.0
        case Binary(op="quo" | "rem" | "floordiv" | "mod", right=Const()):
            return 0.0
        case Binary(op="quo" | "rem" | "floordiv" | "mod"):
            return 2.0
        case Call(function="sqrt"):
            return 1.5
        case _:
            return 0.0


def _weight(x: Expr) -> float:
    match x:
        case Call(function="fabs" | "fmin" | "fmax" | "fma" | "copysign" | "abs"):
            return 1.0
        case Call(function="sqrt"):
            return 1.0
        case Call():
            return FUNCTION
        case Binary(op="quo" | "rem" | "floordiv" | "mod", right=Const()):
            return MULTIPLIED
        case _:
            return 1.0
