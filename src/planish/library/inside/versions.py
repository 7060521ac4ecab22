"""Further versions of a kernel with small nests inside of its loops: each nest is shaped by itself, on tables that are
turned round where lanes would go across their rows.

>>> from planish.ir.parser import parse_kernel
>>> from planish.schedule.automatic.plan import prepare
>>> from planish.target.load import load_target
>>> nest = "for i in 0 .. 6 { for u in 0 .. 8 { for k in 0 .. 8 { y[b, i, u] += x[b, i, k] * c[u, k] } } }"
>>> arrays = "c: f32[8, 8], x: f32[n, 6, 8], y: f32[n, 6, 8]"
>>> kernel = parse_kernel("kernel k(n; %s) { for b in 0 .. n { %s } }" % (arrays, nest))
>>> [x.name for x in inside_versions(prepare(kernel), load_target("x86-avx2"))]
['inside, turned', 'inside by 2, turned']
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.ir.nest import Alloc, Assign, Kernel, Reduce, Stmt
from planish.ir.traverse import expressions, loads, map_block, walk
from planish.library.inside.tables import turn_tables
from planish.schedule.automatic.inside import Nest, shape_nests
from planish.schedule.automatic.plan import Candidate, Prepared, analyse, lower_schedule
from planish.schedule.automatic.threads import mark_outermost
from planish.target.machine import Target

NAME = "inside"
"""What the version is called."""
FEW = 2
"""The rows that another one does at a time."""


def inside_versions(prepared: Prepared, target: Target, threads: int = 1) -> tuple[Candidate, ...]:
    """The versions of a kernel with its small nests shaped: with the tables turned round, if there are any; with many
    rows in registers, and with few. None where there are no such nests. NotAffineError as of
    `analyse`."""
    if not any(target.lanes(x.type) > 1 for x in prepared.scop.kernel.arrays):
        return ()
    kernel, tables = turn_tables(prepared.kernel)
    names = ", ".join(dict.fromkeys(x.load.array for x in tables))
    message = f"{names}: read across rows again and again, and turned round before"
    turned = (Remark("table-turned", "done", message, prepared.scop.kernel.span),) if tables else ()
    made: list[Candidate] = []
    known = analyse(kernel) if tables else prepared
    for name, rows in ((NAME, target.vector_registers // 2), (f"{NAME} by {FEW}", FEW)):
        candidate = _shaped(known, name, target, rows, threads)
        if candidate is not None and all(x.kernel != candidate.kernel for x in made):
            full = f"{name}, turned" if tables else name
            made.append(replace(candidate, name=full, remarks=(*turned, *candidate.remarks)))
    return tuple(made)


def _shaped(prepared: Prepared, name: str, target: Target, rows: int, threads: int) -> Candidate | None:
    """The version with at most so many rows at a time; None where no nest has a sum that stays in registers."""
    schedule, nests = shape_nests(prepared.scop, prepared.dependences.order, target, rows)
    if not any(x.terms > 1 for x in nests):
        return None
    kept: dict[str, frozenset[int]] = {}
    for array, dimensions in (x for nest in nests for x in nest.kept):
        kept[array] = kept.get(array, frozenset()) | dimensions
    names = {x.name for nest in nests for x in nest.statements}
    marked = mark_outermost(schedule, prepared.dependences.order, names) if threads > 1 else None
    # Nests are too small for several threads to share one.
    lowered = lower_schedule(prepared, marked or schedule, kept, threads if marked else 1)
    return Candidate(name, schedule, drop_unread(lowered), tuple(map(_describe, nests)), 0.0)


def _describe(nest: Nest) -> Remark:
    names = ", ".join(x.name for x in nest.statements)
    rows = f"{nest.rows} rows" if nest.rows > 1 else "a row"
    terms = f"sums of {nest.terms} terms, " if nest.terms > 1 else ""
    message = f"{names}: lanes along `{nest.lanes}`, {terms}{rows} at a time in registers"
    return Remark("nest-inside", "done", message, nest.statements[0].stmt.span)


def drop_unread(kernel: Kernel) -> Kernel:
    """The kernel without local arrays that nothing is read of."""
    read = {x.array for stmt in walk(kernel.body) for e in expressions(stmt) for x in loads(e)}
    read |= {x.array for x in walk(kernel.body) if isinstance(x, Reduce)}
    unread = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)} - read

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        match stmt:
            case Alloc(array=array) if array.name in unread:
                return ()
            case Assign(array=name) if name in unread:
                return ()
            case _:
                return stmt

    return replace(kernel, body=map_block(visit, kernel.body)) if unread else kernel
