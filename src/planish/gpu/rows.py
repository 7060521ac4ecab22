"""Rows by teams of threads: what is done to each row of an array is done by all threads of a block, or by a warp.

>>> from planish.gpu.mapping import map_kernel
>>> from planish.ir.text.parser import parse_kernel
>>> loops = "for i in 0 .. n { for j in 0 .. m { s[i] += A[i, j] } }"
>>> kernel = parse_kernel(f"kernel r(n, m; A: f32[n, m], s: f32[n]) {{ {loops} }}")
>>> map_kernel(kernel, techniques=(map_rows,)).nests[0].told
'each `i` by 256 threads; by 32 where rows have at most 1024 elements'
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from planish.core.diagnostic import PlanishError
from planish.core.names import take_name
from planish.gpu.mapping import Chain, boxed, numbered
from planish.ir.expr import Binary, Const, Expr
from planish.ir.index.simplify import simplify
from planish.ir.nest import Block, For, If
from planish.ir.text.printer import print_expr
from planish.ir.traverse import arrays_in, blocks_of, used_names, variables, walk
from planish.schedule.accesses import arrays_of
from planish.schedule.program import Cursor, Program
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.devices import MapBlocks
from planish.schedule.steps.promote_row import PromoteRow, StagedRow, find_row
from planish.schedule.steps.teams import MapTeam, spread_loop
from planish.schedule.strides import accesses_of, coalescing

TEAM, WARP = 256, 32
"""The threads of a long row, and of a short one."""
LONG = 1024
"""A row with more elements is long."""
FEW = 16
"""So few elements are left to one thread."""
KEPT, MOST_KEPT = 32, 96
"""The words of a row that a thread keeps in registers at most, and those of all rows together."""


@dataclass(frozen=True, slots=True)
class RowTeam:
    """So many threads for each row, `rows` of these in a block, for rows of `most` elements at most (0: of any length);
    `kept`: each thread keeps so many elements of them."""

    threads: int
    rows: int = 1
    most: int = 0
    kept: int = 0


def map_rows(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """Each iteration of the innermost of independent loops by a team; None where what is in it is no row, or where
    neighbouring iterations are neighbours in memory. PlanishError where a step is not legal."""
    rows = list(_rows(chain.body))
    if not rows or len(chain.loops) > 3 or not _is_read_along(chain, rows):
        return None
    program = boxed(program, chain)
    loop = program.path(chain.loops[-1].label)[-1]
    assert isinstance(loop, For)
    if loop.body.body and isinstance(loop.body.body[0], If) and len(chain.loops) > 1:
        return None
    walked, around = _walked(program, loop), {x.var for x in chain.loops}
    length = simplify(Binary("sub", rows[0][-1].upper, rows[0][-1].lower))
    for row in [*walked.values()][:1]:
        length = simplify(Binary("sub", row.upper, row.lower))
    words = max((_words(program, x) for x in walked), default=0)
    teams = _teams(length, words) if not variables(length) & around else (RowTeam(TEAM),)
    outer = [x.var for x in chain.loops[:-1]]
    # Versions stand in the text from that for the longest rows on.
    for number, shorter in enumerate(teams[1:]):
        longer = f"{print_expr(length)} > {shorter.most}"
        program = program.apply(Specialise(numbered(program, chain.loops[0].var, number), longer))
    kept: tuple[str, ...] = ()
    # Each leaves as many loops of that name before it as there are versions before its own.
    for number, team in reversed(list(enumerate(teams))):
        program, own = _by_team(program, numbered(program, loop.var, number), team)
        kept = kept or own
        for var, axis in zip(reversed(outer), ("y", "z"), strict=False):
            program = program.apply(MapBlocks(numbered(program, var, number), "y" if axis == "y" else "z"))
    told = f"each `{loop.var}` by {teams[0].threads} threads"
    if len(teams) > 1:
        told += f"; by {teams[-1].threads} where rows have at most {teams[-1].most} elements"
    if kept:
        most = max(x.most for x in teams if x.kept)
        told += f"; {', '.join(f'`{x}`' for x in kept)} in registers"
        told += f" where rows have at most {most}" if not teams[0].kept else ""
    return program, told


def _words(program: Program, array: str) -> int:
    """The registers that an element takes: one for those of few bits, too."""
    return (arrays_of(program.kernel)[array].type.size + 3) // 4


def _teams(length: Expr, words: int) -> tuple[RowTeam, ...]:
    """The teams for rows of a length, those for long rows first; `words`: the registers that an element takes which is
    used again, 0 where none is."""
    own = KEPT // words if words else 0
    if isinstance(length, Const):
        count = int(length.value)
        threads, rows = (WARP, TEAM // WARP) if count <= (WARP * own or LONG) else (TEAM, 1)
        each = (count + threads - 1) // threads
        return (RowTeam(threads, rows, count, each if each <= own else 0),)
    if not own:
        return RowTeam(TEAM), RowTeam(WARP, TEAM // WARP, LONG)
    return RowTeam(TEAM), RowTeam(TEAM, 1, TEAM * own, own), RowTeam(WARP, TEAM // WARP, WARP * own, own)


def _walked(program: Program, loop: For) -> dict[str, StagedRow]:
    """The arrays of whose rows some elements are used by several loops, and these rows."""
    found = ((x, find_row(program, loop, x)) for x in dict.fromkeys(arrays_in(loop)))
    return {x: row for x, row in found if row is not None and row.walks > 1}


def _by_team(program: Program, at: Cursor, team: RowTeam) -> tuple[Program, tuple[str, ...]]:
    """The program with a loop by a team, and the arrays whose rows are kept in registers."""
    mapped = MapTeam(at, take_name("lane", set(used_names(program.kernel))), team.threads, team.rows)
    if not team.kept:
        return program.apply(mapped), ()
    made, kept, words = program, list[str](), 0
    for array in _walked(program, program.loop(at)):
        words += team.kept * _words(program, array)
        if words > MOST_KEPT:
            break
        name = take_name(f"row_{array}", set(used_names(made.kernel)))
        with suppress(PlanishError):
            made = made.apply(PromoteRow(made.cursor(at), array, name, team.threads * team.kept))
            kept.append(array)
    with suppress(PlanishError):
        name = take_name("lane", set(used_names(made.kernel)))
        return made.apply(MapTeam(made.cursor(at), name, team.threads, team.rows)), tuple(kept)
    return program.apply(mapped), ()


def _rows(block: Block) -> Iterator[tuple[For, ...]]:
    """The loops in a nest that would be spread over a team, each below those around it; short ones are not."""
    for stmt in block.body:
        if isinstance(stmt, For):
            found = spread_loop(stmt)
            length = simplify(Binary("sub", found[-1].upper, found[-1].lower))
            if not isinstance(length, Const) or int(length.value) > FEW:
                yield found
        elif isinstance(stmt, If):
            for part in blocks_of(stmt):
                yield from _rows(part)


def _is_read_along(chain: Chain, rows: list[tuple[For, ...]]) -> bool:
    """Whether some access is to another element in each iteration of all loops, and more accesses are to neighbouring
    elements from one element of a row to the next than from row to row."""
    around = {x.var for x in chain.loops}
    streamed = any(
        around | {row[-1].var} <= {v for x in at for v in variables(x)}
        for row in rows for stmt in walk(row[-1].body) for _, at in accesses_of(stmt)
    )  # fmt: skip
    along = sum(coalescing(row[-1].body, row[-1].var) for row in rows)
    across = max(sum(coalescing(row[-1].body, x.var) for row in rows) for x in chain.loops)
    return streamed and along > across
