"""Which statements of a mapped nest use one cell in different threads of a block, one of them writing.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.nodes import label_kernel
>>> copy = "for t in 0 .. 8 on thread_x { s[t] = A[t] } for u in 0 .. 8 on thread_x { B[u] = s[7 - u] }"
>>> kernel = parse_kernel(f"kernel k(A: f32[8], B: f32[8]) {{ alloc s: f32[8] shared {copy} }}")
>>> found = Conflicts(label_kernel(kernel))
>>> found.between(frozenset({0}), frozenset({1}), 0), found.between(frozenset({1}), frozenset({1}), 0)
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace

import islpy as isl

from planish.ir.nest import Alloc, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import blocks_of, walk
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.op_budget import budget
from planish.poly.scop.extraction import Scop, Statement, extract_scop
from planish.schedule.nodes import Node, paths

IN, OUT = isl.dim_type.in_, isl.dim_type.out
OPERATIONS = 3_000_000
"""The work of isl for one question, after which a conflict is assumed."""


@dataclass(slots=True)
class Conflicts:
    """Answers for the statements of a labelled kernel, which are numbered in the order of the text; arrays in `private`
    have cells of their own in each thread."""

    kernel: Kernel
    private: Set[str] = frozenset()
    known: dict[tuple[frozenset[int], frozenset[int], int, bool], bool] = field(default_factory=dict)
    _scop: Scop | None = None
    _loops: tuple[tuple[For, ...], ...] = ()
    _late: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        stores = [x for x in paths(self.kernel.body) if isinstance(x[-1], Assign | Reduce)]
        self._loops = tuple(tuple(y for y in x if isinstance(y, For)) for x in stores)
        last = [x[-1] for x in stores]
        self._late = frozenset(n for n, x in enumerate(last) if isinstance(x, Assign) and x.asynchronous)
        self.private = self.private | {name for x in paths(self.kernel.body) for name in _own(x)}
        try:
            self._scop = _scop_of(self.kernel)
        except NotAffineError:
            self._scop = None

    def between(self, first: frozenset[int], second: frozenset[int], depth: int, carried: bool = False) -> bool:
        """Whether some statements of `first`, and some of `second`, meet in a cell while they run in different threads
        in the same iteration of the outermost `depth` loops, and those of `first` in an earlier one of the next loop
        where that is `carried`. Copies that are under way meet those of their own thread as well. True where that is
        not found out."""
        key = (first, second, depth, carried)
        if key not in self.known:
            self.known[key] = self._scop is None or self._meet(self._scop, first, second, depth, carried)
        return self.known[key]

    def _meet(self, scop: Scop, first: Set[int], second: Set[int], depth: int, carried: bool) -> bool:
        try:
            with budget(isl.DEFAULT_CONTEXT, OPERATIONS):
                return any(self._pair(scop, a, b, depth, carried) for a in first for b in second)
        except isl.Error:
            return True

    def _pair(self, scop: Scop, a: int, b: int, depth: int, carried: bool) -> bool:
        one, other = scop.statements[a], scop.statements[b]
        for x in one.accesses:
            for y in other.accesses:
                if x.array != y.array or not (x.write or y.write) or x.array in self.private:
                    continue
                pairs = x.relation.apply_range(y.relation.reverse()).intersect_params(scop.context)
                for d in range(depth):
                    pairs = pairs.equate(IN, d, OUT, d)
                if carried:
                    pairs = pairs.order_lt(IN, depth, OUT, depth)
                if not pairs.subtract(self._same_thread(one, other, a, b)).is_empty():
                    return True
        return False

    def _same_thread(self, one: Statement, other: Statement, a: int, b: int) -> isl.Map:
        """Instances that run in one thread of a block, without a loop along an axis in the first one; of copies that
        are under way, each only with itself."""
        space = one.domain.get_space().map_from_domain_and_range(other.domain.get_space())
        if {a, b} & self._late:
            return isl.Map.identity(space) if a == b else isl.Map.empty(space)
        same = isl.Map.universe(space)
        first, second = self._axes(a), self._axes(b)
        for axis in first.keys() | second.keys():
            if axis in first and axis in second:
                same = same.equate(IN, first[axis], OUT, second[axis])
            elif axis in first:
                same = same.fix_val(IN, first[axis], isl.Val(0))
            else:
                same = same.fix_val(OUT, second[axis], isl.Val(0))
        return same

    def _axes(self, number: int) -> dict[str, int]:
        """The loops over threads around a statement, by their axes."""
        return {x.facts.axis: d for d, x in enumerate(self._loops[number]) if x.facts.axis.startswith("thread")}


def _scop_of(kernel: Kernel) -> Scop:
    """The statements of a kernel; where conditions around loops over blocks are not affine, as if they always held:
    what is not run meets nothing. Raises NotAffineError."""
    try:
        return extract_scop(kernel)
    except NotAffineError:
        return extract_scop(replace(kernel, body=Block(tuple(_without_choices(kernel.body)))))


def _without_choices(block: Block) -> Iterator[Stmt]:
    for stmt in block.body:
        inside = any(isinstance(x, For) and x.facts.axis.startswith("block") for x in walk(stmt))
        if isinstance(stmt, If) and inside:
            yield from (y for part in blocks_of(stmt) for y in _without_choices(part))
        else:
            yield stmt


def _own(path: tuple[Node, ...]) -> list[str]:
    """The arrays that are made in a loop over threads: each has its own."""
    inside = any(isinstance(x, For) and x.facts.axis.startswith("thread") for x in path)
    return [path[-1].array.name] if inside and isinstance(path[-1], Alloc) else []
