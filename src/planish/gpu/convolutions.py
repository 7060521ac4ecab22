"""Convolutions and other contractions of several loops as those of two independent loops and a sum (implicit im2col).

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> sums = "for u in 0 .. 3 { for v in 0 .. 9 { y[o, i, j] += x[i + u, j + v] * k[o, u, v] } }"
>>> text = f"for o in 0 .. m {{ for i in 0 .. h {{ for j in 0 .. w {{ {sums} }} }} }}"
>>> head = "kernel f(m, h, w; x: i32[h + 2, w + 8], k: i32[m, 3, 9], y: i32[m, h, w])"
>>> map_kernel(parse_kernel(f"{head} {{ {text} }}"), techniques=(tile_convolution,)).nests[0].told.partition(":")[0]
'`i`, `j` as `column`; `u`, `v` as `term`'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planish.core.names import take_name
from planish.gpu.mapping import Chain, cursor, find_chain, order_loops
from planish.gpu.tile_shapes import ANY_ROOM, DeviceRoom
from planish.gpu.tiles import tile_contraction
from planish.ir.expr import Expr, Load, Select, index
from planish.ir.index.polynomial import polynomial
from planish.ir.nest import Alloc, Assign, Block, For, Reduce
from planish.ir.traverse import children, loads, used_names, variables
from planish.schedule.program import Program
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.flatten_loops import FlattenLoops


def tile_convolution(
    program: Program, chain: Chain, room: DeviceRoom = ANY_ROOM
) -> tuple[Program, str] | None:  # fmt: skip
    """A contraction of several loops by tiles: the loops of each group are made one, and arrays are accessed by views
    of them. None where the chain is none. PlanishError where a step is not legal."""
    groups = find_groups(chain)
    if groups is None:
        return None
    order = [x.var for y in (groups.outer, groups.rows, groups.columns) for x in y]
    if [x.var for x in chain.loops] != order:
        program = program.apply(Reorder(cursor(program, chain.loops[0]), tuple(order)))
    taken, told = set(used_names(program.kernel)), list[str]()
    named = ("outer", groups.outer), ("row", groups.rows), ("column", groups.columns), ("term", groups.sums)
    for name, group in named:
        if name == "term" or len(group) > 1 or any(x.lower != index(0) for x in group):
            made = take_name(name, taken)
            program = program.apply(FlattenLoops(group[0].var, len(group), made))
            told.append(f"{', '.join(f'`{x.var}`' for x in group)} as `{made}`")
    first = program.kernel.body.body[0]
    flat = find_chain(program, first) if isinstance(first, For) else None
    tiled = tile_contraction(program, flat, room) if flat is not None else None
    return None if tiled is None else (tiled[0], f"{'; '.join(told)}: {tiled[1]}")


@dataclass(frozen=True, slots=True)
class LoopGroups:
    """A contraction whose loops are several: those that both operands depend on (`outer`), the one (`rows`), the other
    (`columns`), and those of the sum."""

    outer: tuple[For, ...]
    rows: tuple[For, ...]
    columns: tuple[For, ...]
    sums: tuple[For, ...]


def find_groups(chain: Chain) -> LoopGroups | None:
    """The groups of loops of a contraction that is none of single loops, such as a convolution; None where the chain is
    none. The last column is the loop along which most accesses go from element to element."""
    sums = _sums(chain.body)
    if sums is None:
        return None
    update = sums[-1].body.body[0]
    assert isinstance(update, Reduce)
    own, around = {x.var for x in sums}, {x.var for x in chain.loops}
    bounds = [x for loop in (*chain.loops, *sums) for x in (loop.lower, loop.upper)]
    if any(variables(x) & (own | around) or loads(x) for x in bounds) or any(variables(x) & own for x in update.index):
        return None
    met = [(x, used) for x in _operands(update.value) if (used := _names(x)) & own]
    if len(met) != 2 or any(x.step != 1 for x in (*chain.loops, *sums)):
        return None
    (one, first), (other, second) = met
    written = {x.array for x in (*chain.body.body, update) if isinstance(x, Assign | Reduce)}
    names = {x.array for y in (one, other) for x in loads(y)}
    if len(names) != 2 or names & written or not around <= first | second:
        return None
    outer = first & second
    best = order_loops(chain)[-1].var
    if best in outer:
        return None
    columns = (first if best in first else second) - outer

    def group(names: set[str]) -> tuple[For, ...]:
        return tuple(x for x in chain.loops if x.var in names)

    found = LoopGroups(group(outer), group(around - outer - columns), group(columns), sums)
    if not found.rows or _is_plain(found, (one, other)):
        return None
    return found


def _sums(body: Block) -> tuple[For, ...] | None:
    """The loops directly inside of each other around the only sum in a chain of loops; None where there is more."""
    inside = [x for x in body.body if isinstance(x, For)]
    if len(inside) != 1 or not all(isinstance(x, For | Alloc | Assign | Reduce) for x in body.body):
        return None
    loops = [inside[0]]
    while len(loops[-1].body.body) == 1 and isinstance(inner := loops[-1].body.body[0], For):
        loops.append(inner)
    last = loops[-1].body.body
    return tuple(loops) if len(last) == 1 and isinstance(last[0], Reduce) and last[0].op == "add" else None


def _operands(value: Expr) -> Iterator[Load | Select]:
    """The loads in a value, and choices between one and something else."""
    match value:
        case Load() | Select(then=Load()):
            yield value
        case _:
            for x in children(value):
                yield from _operands(x)


def _names(value: Load | Select) -> set[str]:
    own = value.index if isinstance(value, Load) else (value,)
    return {name for x in own for name in variables(x)}


def _is_plain(found: LoopGroups, operands: Sequence[Load | Select]) -> bool:
    """Whether all groups are single loops from 0, which stand in subscripts of their own."""
    groups = (found.rows, found.columns, found.sums)
    if any(len(x) > 1 for x in groups) or len(found.outer) > 1 or any(isinstance(x, Select) for x in operands):
        return False
    own = {x.var for y in groups for x in y}
    subscripts = [x for y in operands if isinstance(y, Load) for x in y.index]
    return all(len(variables(x) & own) < 2 and all(len(y) < 2 for y in polynomial(x)) for x in subscripts)
