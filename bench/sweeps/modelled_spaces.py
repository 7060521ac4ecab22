"""Spaces whose times are the performance model's cycles: searches are compared on them without a machine.

    for space in list_spaces(): print(space.name, space.recorded.space.size())

The points are real (schedules that are shaped and proven legal); the cycles are an estimate, so that what is shown is
how searches deal with such spaces, not what tuning gains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf

from planish.ir.text.parser import parse_kernel
from planish.library.strategies.nests.loops import LOOPS
from planish.library.strategy import Context
from planish.poly.isl.op_budget import OverBudgetError, within
from planish.schedule.arguments import Point
from planish.schedule.auto.cost.estimate import CostModel
from planish.schedule.auto.draft_arguments import draft_at
from planish.schedule.auto.plan import SHAPING_LIMIT, cycles_of, shape_bands
from planish.target.load import load_target
from planish.tuning.recorded_space import RecordedSpace
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.spaces.strategy_space import find_space

NESTS = {
    "gemm": (
        "A: f32[n, k], B: f32[k, m], C: f32[n, m]",
        "for i in 0 .. n { for j in 0 .. m { for p in 0 .. k { C[i, j] += A[i, p] * B[p, j] } } }",
        {"n": 512, "m": 512, "k": 512},
    ),
    "transposed product": (
        "A: f64[n, m], x: f64[n], y: f64[m]",
        "for i in 0 .. n { for j in 0 .. m { y[j] += A[i, j] * x[i] } }",
        {"n": 2000, "m": 2000},
    ),
    "stencil": (
        "A: f32[n, m], B: f32[n, m]",
        "for i in 1 .. n - 1 { for j in 1 .. m - 1 {"
        " B[i, j] = A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j] } }",
        {"n": 2000, "m": 2000},
    ),
}
"""Each with its arrays, its loops and the sizes that cycles are estimated for."""
TARGET = "x86-avx512"


@dataclass(frozen=True, slots=True, eq=False)
class ModelledSpace:
    """A nest's space with its modelled ratios, each of which is found when it is first asked for."""

    name: str
    recorded: RecordedSpace


class _Ratios(Mapping[Point, float]):
    """The cycles of points over those of the default."""

    def __init__(self, cx: Context, space: SearchSpace) -> None:
        self._cx, self._space, self._known = cx, space, dict[Point, float]()
        self._drafts = {str(x.policy.name): x for x in LOOPS.match(cx)}
        self._default = self._cycles(space.default)

    def __getitem__(self, point: Point) -> float:
        if point not in self._known:
            self._known[point] = self._cycles(point) / self._default
        return self._known[point]

    def __contains__(self, point: object) -> bool:
        return isinstance(point, Point) and self._space.complete(point.as_dict()) == point

    def __iter__(self) -> Iterator[Point]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _cycles(self, point: Point) -> float:
        cx = self._cx
        draft = self._drafts[str(point.get("version"))]
        made = draft_at(cx.prepared, draft, point.under(LOOPS.name), cx.target)
        try:
            schedule, _ = within(partial(shape_bands, made.schedule, made.bands), SHAPING_LIMIT)
        except OverBudgetError:
            return inf
        return cycles_of(CostModel(cx.prepared.scop, cx.target, cx.sizes), schedule)


def list_spaces(count: int = len(NESTS)) -> Iterator[ModelledSpace]:
    """The first spaces."""
    for name, (arrays, loops, sizes) in [*NESTS.items()][:count]:
        kernel = parse_kernel(f"kernel k({', '.join(sizes)}; {arrays}) {{ {loops} }}")
        plain = Context.of(kernel, load_target(TARGET))
        cx = Context(kernel, plain.nest, plain.target, sizes=sizes)
        space = find_space(cx, [LOOPS])
        yield ModelledSpace(name, RecordedSpace(space, _Ratios(cx, space)))
