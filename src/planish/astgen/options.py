"""The user's AST-generation options, from isl's own forms (sections 5.1 and 5.6).

>>> import islpy as isl
>>> found = map_options(isl.UnionMap("{ [i, j] -> separate[x]; [i, j] -> unroll[1] : i >= 4 }"), 2)
>>> [kind for kind, _ in found.kinds(0, False)], [kind for kind, _ in found.kinds(1, False)]
(['separate'], ['unroll', 'separate'])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import islpy as isl

from planish.astgen.code_size.cuts import CutPlan
from planish.astgen.levels import LevelOptions, LoopKind
from planish.core.diagnostic import Remark
from planish.poly.isl.schedule_tree import has_band, loop_type_of

SET = isl.dim_type.set
KINDS: tuple[LoopKind, ...] = ("unroll", "atomic", "separate")
"""The kinds in the order in which they take their points."""

CLASSES = "separation_class"

_TYPES = {
    isl.ast_loop_type.atomic: "atomic",
    isl.ast_loop_type.unroll: "unroll",
    isl.ast_loop_type.separate: "separate",
}


@dataclass(frozen=True, slots=True)
class CodegenSettings:
    """What holds where options say nothing: for loops with loops inside, and for the innermost ones; with a `plan`,
    what is cut is chosen loop by loop. Conditions do not move out of the loops of the outermost `hoist` dimensions.
    `remark` hears of what is asked for and not done."""

    outer: LoopKind = "default"
    inner: LoopKind = "default"
    plan: CutPlan | None = None
    hoist: int = 0
    remark: Callable[[Remark], None] = lambda remark: None

    def apply(self, options: LevelOptions) -> LevelOptions:
        """The options with what does not depend on the dimension."""
        return replace(options, plan=self.plan, hoist=self.hoist, remark=self.remark)


PLAIN = CodegenSettings()


def map_options(options: isl.UnionMap, total: int, settings: CodegenSettings = PLAIN) -> LevelOptions:
    """The options `{ schedule point -> kind[position] : condition }`; those with other names say nothing here."""
    found: dict[int, list[tuple[LoopKind, isl.Set | None]]] = {}
    maps: list[isl.Map] = []
    options.foreach_map(maps.append)
    for kind in KINDS:
        for relation in maps:
            if relation.get_tuple_name(isl.dim_type.out) != kind or relation.dim(isl.dim_type.in_) != total:
                continue
            for position in range(total):
                where = relation.fix_val(isl.dim_type.out, 0, isl.Val(position)).domain().reset_tuple_id()
                if where.is_empty():
                    continue
                here = where.project_out(SET, position + 1, total - position - 1)
                whole = here.plain_is_universe()
                found.setdefault(position, []).append((kind, None if whole else here))
    everywhere = {position: _until_whole(kinds) for position, kinds in found.items()}
    return settings.apply(LevelOptions(everywhere, classes=_classes(maps, total)))


def _classes(maps: Sequence[isl.Map], total: int) -> dict[int, tuple[isl.Set, ...]]:
    """The options `{ schedule point -> separation_class[[position] -> [class]] }`, an older form of isolation: the
    points of each class, for each position."""
    found: dict[int, list[isl.Set]] = {}
    for relation in maps:
        if relation.get_tuple_name(isl.dim_type.out) != CLASSES or relation.dim(isl.dim_type.in_) != total:
            continue
        for position in range(total):
            where = relation.fix_val(isl.dim_type.out, 0, isl.Val(position))
            numbers = where.range().project_out(SET, 0, 1)
            low, high = numbers.dim_min_val(0), numbers.dim_max_val(0)
            if where.is_empty() or not (low.is_int() and high.is_int()):
                continue
            for number in range(int(low.to_python()), int(high.to_python()) + 1):
                points = where.fix_val(isl.dim_type.out, 1, isl.Val(number)).domain().reset_tuple_id()
                found.setdefault(position, []).append(points.project_out(SET, position + 1, total - position - 1))
    return {position: tuple(parts) for position, parts in found.items()}


def _until_whole(
    kinds: list[tuple[LoopKind, isl.Set | None]]
) -> tuple[tuple[LoopKind, isl.Set | None], ...]:
    """The kinds up to the first that holds everywhere."""
    out = []
    for kind, where in kinds:
        out.append((kind, where))
        if where is None:
            break
    return tuple(out)


def band_options(node: isl.ScheduleNode, first: int, settings: CodegenSettings = PLAIN) -> LevelOptions:
    """The options of a band's members, for all points and for the isolated part."""
    everywhere: dict[int, tuple[tuple[LoopKind, isl.Set | None], ...]] = {}
    isolated: dict[int, tuple[tuple[LoopKind, isl.Set | None], ...]] = {}
    for member in range(node.band_n_member()):
        kind = _TYPES.get(loop_type_of(node, member))
        if kind is not None:
            everywhere[first + member] = ((cast(LoopKind, kind), None),)
        inner = _TYPES.get(cast(isl.ast_loop_type, node.band_member_get_isolate_ast_loop_type(member)))
        if inner is not None:
            isolated[first + member] = ((cast(LoopKind, inner), None),)
    members = node.band_n_member()
    last = first + members - 1
    otherwise = dict.fromkeys(range(first, last + 1), settings.outer)
    if not has_band(node.get_child(0)):
        otherwise[last] = settings.inner
    return settings.apply(LevelOptions(everywhere, isolated, otherwise))


def isolated_part(node: isl.ScheduleNode, first: int) -> isl.Set | None:
    """The points (of all dimensions up to the band's last) that are isolated; None where the band isolates nothing."""
    part = node.band_get_ast_isolate_option()
    if part.is_empty():
        return None
    flat = part.unwrap().flatten().wrap().flatten() if part.is_wrapping() else part
    return flat.reset_tuple_id() if flat.has_tuple_id() else flat
