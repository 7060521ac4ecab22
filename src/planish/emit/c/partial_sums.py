"""The shape of a loop with partial sums: strips of many lanes, strips of one register, and what is left under a mask.

>>> from planish.emit.idioms.lane_sums import LaneSum
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F32
>>> loop = parse_kernel("kernel k(n; x: f32[n], s: f32[]) { for i in 0 .. n simd { s[] += x[i] } }").body.body[0]
>>> own = [Partial(LaneSum("add", "s", F32), "s", "s_lanes", "s_many", "s_lane", 64, 16)]
>>> parts = [*Strips(loop, LoopBounds("0", "n"), own, "i", "i_first", "l", None).parts()]
>>> print("\\n".join(x if isinstance(x, str) else "  " * x.depth + "..." for x in parts))
if (n < 16) {
  for (ptrdiff_t i = 0; i < n; i++) {
    ...
  }
} else {
  float s_lanes[16];
  for (int l = 0; l < 16; l++) {
    s_lanes[l] = 0;
  }
  ptrdiff_t i_first = 0;
  if (n >= 128) {
    float s_many[64];
    for (int l = 0; l < 64; l++) {
      s_many[l] = 0;
    }
    for (; i_first <= n - 64; i_first += 64) {
      planish_lanes
      for (int l = 0; l < 64; l++) {
        const ptrdiff_t i = i_first + l;
        ...
      }
    }
    planish_fold_add_64_16_f32(s_many, s_lanes);
  }
  for (; i_first <= n - 16; i_first += 16) {
    planish_strip
    for (int l = 0; l < 16; l++) {
      const ptrdiff_t i = i_first + l;
      ...
    }
  }
  const int l_end = (int)(n - i_first);
  planish_strip
  for (int l = 0; l < 16; l++) {
    const ptrdiff_t i = i_first + l;
    float s_lane = s_lanes[l];
    if (l < l_end) {
      ...
    }
    s_lanes[l] = s_lane;
  }
  s = s + planish_add_16_f32(s_lanes);
}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.emit.c.context import EmitContext, adds_in
from planish.emit.c.expression import c_type, emit_expr
from planish.emit.c.pragmas import WRITTEN_OUT, LoopBounds, in_lanes, reads_under_conditions
from planish.emit.idioms.lane_sums import (
    Accumulators,
    LaneSum,
    Partial,
    begins_with,
    clear,
    count_lanes,
    fold_name,
    has_macro,
    joiner,
    total_name,
)
from planish.emit.idioms.update_statements import is_conditional, update
from planish.ir.accesses import values
from planish.ir.expr import Cast, Load, Var, type_of
from planish.ir.nest import For, Let, Reduce
from planish.ir.passes.vector_loops import FEW
from planish.ir.traverse import variables
from planish.ir.types import I32

WORTH = 2
"""Many lanes are worth their beginning and their end from so many iterations of a strip on."""


REDUCE = """\
/* A loop that adds to `sum`, in lanes that begin with `none`: many of them, those of several registers, then few, those
 * of one, the rest under a mask. clang makes lanes of a sum itself where it is told that it may. */
#if defined(__clang__)
#define planish_reduce(type, many, few, sum, none, join, fold, total, i, lower, upper, ...) \\
  planish_lanes for (ptrdiff_t i = lower; i < upper; i++) { __VA_ARGS__ }
#else
#define planish_reduce(type, many, few, sum, none, join, fold, total, i, lower, upper, ...) \\
  if ((upper) - (lower) < 16) { \\
    for (ptrdiff_t i = lower; i < upper; i++) { __VA_ARGS__ } \\
  } else { \\
    type planish_f[few]; \\
    for (int planish_l = 0; planish_l < few; planish_l++) { planish_f[planish_l] = none; } \\
    ptrdiff_t planish_i = lower; \\
    if ((upper) - (lower) >= 2 * many) { \\
      type planish_m[many]; \\
      for (int planish_l = 0; planish_l < many; planish_l++) { planish_m[planish_l] = none; } \\
      for (; planish_i <= (upper) - many; planish_i += many) { \\
        planish_lanes for (int planish_l = 0; planish_l < many; planish_l++) { \\
          const ptrdiff_t i = planish_i + planish_l; \\
          type sum = planish_m[planish_l]; \\
          __VA_ARGS__ \\
          planish_m[planish_l] = sum; \\
        } \\
      } \\
      fold(planish_m, planish_f); \\
    } \\
    for (; planish_i <= (upper) - few; planish_i += few) { \\
      planish_strip for (int planish_l = 0; planish_l < few; planish_l++) { \\
        const ptrdiff_t i = planish_i + planish_l; \\
        type sum = planish_f[planish_l]; \\
        __VA_ARGS__ \\
        planish_f[planish_l] = sum; \\
      } \\
    } \\
    const int planish_rest = (int)((upper) - planish_i); \\
    planish_strip for (int planish_l = 0; planish_l < few; planish_l++) { \\
      const ptrdiff_t i = planish_i + planish_l; \\
      type sum = planish_f[planish_l]; \\
      if (planish_l < planish_rest) { __VA_ARGS__ } \\
      planish_f[planish_l] = sum; \\
    } \\
    sum = join(sum, total(planish_f)); \\
  }
#endif"""
"""The same as a macro, for loops of which nothing but the sum is special."""


REDUCE_EACH = """\
/* The same for several sums, each of which has the lanes of one register: `sums` names each of them. */
#define planish_lane_array(x, type, few) type x##_lanes[few];
#define planish_lane_clear(x, none) x##_lanes[planish_l] = none;
#define planish_lane_load(x, type) type x = x##_lanes[planish_l];
#define planish_lane_store(x, lanes) x##_##lanes[planish_l] = x;
#define planish_lane_total(x, join, total) x = join(x, total(x##_lanes));
#if defined(__clang__)
#define planish_reduce_each(type, few, sums, none, join, total, i, lower, upper, ...) \\
  planish_lanes for (ptrdiff_t i = lower; i < upper; i++) { __VA_ARGS__ }
#else
#define planish_reduce_each(type, few, sums, none, join, total, i, lower, upper, ...) \\
  if ((upper) - (lower) < 16) { \\
    for (ptrdiff_t i = lower; i < upper; i++) { __VA_ARGS__ } \\
  } else { \\
    sums(planish_lane_array, type, few) \\
    for (int planish_l = 0; planish_l < few; planish_l++) { sums(planish_lane_clear, none) } \\
    ptrdiff_t planish_i = lower; \\
    for (; planish_i <= (upper) - few; planish_i += few) { \\
      planish_strip for (int planish_l = 0; planish_l < few; planish_l++) { \\
        const ptrdiff_t i = planish_i + planish_l; \\
        sums(planish_lane_load, type) \\
        __VA_ARGS__ \\
        sums(planish_lane_store, lanes) \\
      } \\
    } \\
    const int planish_rest = (int)((upper) - planish_i); \\
    planish_strip for (int planish_l = 0; planish_l < few; planish_l++) { \\
      const ptrdiff_t i = planish_i + planish_l; \\
      sums(planish_lane_load, type) \\
      if (planish_l < planish_rest) { __VA_ARGS__ } \\
      sums(planish_lane_store, lanes) \\
    } \\
    sums(planish_lane_total, join, total) \\
  }
#endif"""


@dataclass(frozen=True, slots=True)
class MacroCall:
    """The call of a macro that stands for a loop, without what is in the loop; the `sums` where there are several."""

    head: str
    sums: tuple[str, ...] = ()

    def lines(self, body: Sequence[str], indent: str) -> list[str]:
        """The whole call, of which the last argument is what is in the loop."""
        if not self.sums:
            return [f"{indent}{self.head}", f"{indent}               {' '.join(body)})"]
        names = [f"each({x}, __VA_ARGS__)" for x in self.sums]
        rows = [" ".join(names[i : i + 4]) for i in range(0, len(names), 4)]
        defined = " \\\n  ".join(["#define planish_sums(each, ...)", *rows])
        inner = [f"{indent}    {x}" for x in body]
        return [defined, f"{indent}{self.head}", *inner[:-1], f"{inner[-1]})", "#undef planish_sums"]


@dataclass(frozen=True, slots=True)
class StripBody:
    """Where the loop's body stands: how deep, what its sums are called there, and the iterator's low bits."""

    depth: int
    names: Mapping[str, str] = field(default_factory=dict)
    low: str = ""


Part = str | StripBody


@dataclass(frozen=True, slots=True)
class Strips:
    """A loop from bound to bound whose iterations are counted by `var`; `first` is what counts strips, `lane` lanes.

    `length`: the number of iterations, None where it is not known. `low`: the name of an iteration's low 32 bits, ""
    where nothing is made of them.
    """

    loop: For
    bounds: LoopBounds
    own: Sequence[Partial]
    var: str
    first: str
    lane: str
    length: int | None
    low: str = ""

    def parts(self) -> Iterator[Part]:
        """The lines, and the places of the body among them."""
        step, count, few = self.loop.step, self.own[0].count, self.own[0].few
        if self.length is None:
            yield f"if ({self.bounds.distance} < {(FEW - 1) * step + 1}) {{"
            yield f"  {self.bounds.head(self.var, step)} {{"
            yield StripBody(2)
            yield "  }"
            yield "} else {"
        else:
            yield "{"
        yield from (f"  {x}" for x in clear(self.own, self.lane, many=False))
        yield f"  ptrdiff_t {self.first} = {self.bounds.lower};"
        worth = WORTH * count
        if count > few and (self.length is None or self.length >= worth):
            condition = "" if self.length is not None else f"if ({self.bounds.distance} >= {worth * step}) "
            yield f"  {condition}{{"
            yield from (f"    {x}" for x in clear(self.own, self.lane, many=True))
            yield from self._strips(count, "    ", {x.sum.name: f"{x.many}[{self.lane}]" for x in self.own})
            yield from (f"    {x.folded}" for x in self.own)
            yield "  }"
        left = self.length if self.length is None or self.length < worth or count == few else self.length % count
        if left is None or left >= few:
            yield from self._strips(few, "  ", {x.sum.name: f"{x.lanes}[{self.lane}]" for x in self.own})
        if left is None or left % few:
            yield from self._rest(few)
        yield from (f"  {x.added}" for x in self.own)
        yield "}"

    def _strips(self, count: int, indent: str, names: Mapping[str, str]) -> Iterator[Part]:
        """So many lanes at a time, as often as there are as many iterations."""
        step, strip = self.loop.step, count * self.loop.step
        last = strip - step + 1
        yield f"{indent}for (; {self.first} <= {self.bounds.upper} - {last}; {self.first} += {strip}) {{"
        # A compiler would write out as few as a register has before it looks for lanes.
        yield f"{indent}  {in_lanes(self.loop, count) if count > self.own[0].few else 'planish_strip'}"
        yield f"{indent}  for (int {self.lane} = 0; {self.lane} < {count}; {self.lane}++) {{"
        yield from (f"{indent}    {x}" for x in self._place())
        yield StripBody(len(indent) // 2 + 2, names, self.low)
        yield f"{indent}  }}"
        yield f"{indent}}}"

    def _place(self) -> Iterator[str]:
        """The iteration of a lane, and its low bits by themselves: what is computed of them has lanes as short."""
        far = self.lane if self.loop.step == 1 else f"{self.lane} * {self.loop.step}"
        yield f"const ptrdiff_t {self.var} = {self.first} + {far};"
        if self.low:
            yield f"const uint32_t {self.low} = (uint32_t){self.first} + (uint32_t)({far});"

    def _rest(self, few: int) -> Iterator[Part]:
        """What is left, fewer iterations than a register has lanes: the others are switched off. A lane is read and
        written by all of them, since what is stored under a mask is not forwarded to the load that follows."""
        step, end = self.loop.step, f"{self.lane}_end"
        distance = replace(self.bounds, lower=self.first).distance
        rounded = distance if step == 1 else f"({distance} + {step - 1}) / {step}"
        yield f"  const int {end} = (int)({rounded});"
        yield "  planish_strip"
        yield f"  for (int {self.lane} = 0; {self.lane} < {few}; {self.lane}++) {{"
        yield from (f"    {x}" for x in self._place())
        for x in self.own:
            yield f"    {c_type(x.sum.type)} {x.lane} = {x.lanes}[{self.lane}];"
        yield f"    if ({self.lane} < {end}) {{"
        yield StripBody(3, {x.sum.name: x.lane for x in self.own}, self.low)
        yield "    }"
        for x in self.own:
            yield f"    {x.lanes}[{self.lane}] = {x.lane};"
        yield "  }"


def reduced(
    loop: For, bounds: LoopBounds, sums: Sequence[LaneSum], cells: Sequence[str], var: str, by: Accumulators
) -> tuple[MacroCall | None, tuple[int, int]]:
    """The call of the macro that stands for a loop, None where there is none; and the number of lanes, and those of a
    register.

    `cells`: C's names of the sums, `var` of the iterator.
    """
    many, few = count_lanes(sums, by, *_loaded(loop))
    if len(sums) == 1 and reads_under_conditions(loop):
        many = max(many, 2 * WRITTEN_OUT)
    return _call_of(loop, bounds, sums, cells, var, (many, few)), (many, few)


def _call_of(
    loop: For, bounds: LoopBounds, sums: Sequence[LaneSum], cells: Sequence[str], var: str, lanes: tuple[int, int]
) -> MacroCall | None:
    updates = [x for x in loop.body.body if isinstance(x, Reduce)]
    plain = all(isinstance(x, Let | Reduce) for x in loop.body.body) and not any(map(is_conditional, updates))
    (many, few), x = lanes, sums[0]
    alike = all((y.op, y.type) == (x.op, x.type) for y in sums) and has_macro(x)
    plain = plain and (many == few or in_lanes(loop, many) == "planish_lanes")
    each = {y.array for y in updates} == {y.name for y in sums} and len(updates) == len(sums)
    if loop.step != 1 or not plain or not alike or not each or not isinstance(loop.body.body[-1], Reduce):
        return None
    join, total, own = joiner(x.op, x.type), total_name(x.op, x.type, few), c_type(x.type)
    place = f"{var}, {bounds.lower}, {bounds.upper},"
    if len(sums) == 1 and many > few:
        names = f"{begins_with(x.op)}, {join}, {fold_name(x.op, x.type, many, few)}, {total}"
        return MacroCall(f"planish_reduce({own}, {many}, {few}, {cells[0]}, {names}, {place}")
    if len(sums) == 1 or many > few:
        return None
    head = f"planish_reduce_each({own}, {few}, planish_sums, {begins_with(x.op)}, {join}, {total}, {place}"
    return MacroCall(head, tuple(cells))


def _loaded(loop: For) -> tuple[int, int]:
    """How many elements an iteration loads that are not those of all others, and the bytes of the narrowest one."""
    loads = {x for x in values(loop.body) if isinstance(x, Load)}
    sizes = [type_of(x).size for x in loads if loop.var in variables(x)]
    return len(sizes), min(sizes, default=8)


def needs_low_bits(loop: For) -> bool:
    """Whether a loop makes 32 bits of its iterator."""
    parts = values(loop.body)
    return any(isinstance(x, Cast) and x.type == I32 and loop.var in variables(x.operand) for x in parts)


def without_unused(lines: Sequence[str], name: str) -> list[str]:
    """Lines without the declarations of a name that nothing else in them uses: casts may have vanished as they were
    written.

    >>> without_unused(["  const uint32_t i_low = 1;", "  x = i;"], "i_low")
    ['  x = i;']
    """
    declares = [x.lstrip().startswith(f"const uint32_t {name} =") for x in lines]
    used = any(not here and re.search(rf"\b{re.escape(name)}\b", x) for here, x in zip(declares, lines, strict=True))
    return list(lines) if not name or used else [x for here, x in zip(declares, lines, strict=True) if not here]


def sum_alone(stmt: Reduce, context: EmitContext, fresh: Callable[[str], str]) -> list[str]:
    """A sum of floats that clang may add in any order; where the value is a sum itself, it stays as it is."""
    before = []
    if adds_in(stmt.value):
        type = type_of(stmt.value)
        name = fresh(f"{stmt.array}_term")
        before = [f"const {c_type(type)} {name} = {emit_expr(stmt.value, context)};"]
        stmt = replace(stmt, value=Var(name, type))
    return [*before, f"{{ planish_sum {update(stmt, context)}; }}"]
