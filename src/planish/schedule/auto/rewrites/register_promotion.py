"""Register promotion (scalar replacement): array elements that only one iteration uses are kept in registers, so that
the loop order suits the arrays in memory.

Before: for j { for t { s[j, t] = A[t, j] + B[t, j]; A[t, j] = s[j, t]; B[t, j] = s[j, t] * c } }
After:  for t { for j simd { s = A[t, j] + B[t, j]; A[t, j] = s; B[t, j] = s * c } }

What is read again and again, and made only once before an inner loop, is read where it is used, so that nothing stands
between the loops.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> inner = "alloc s: f32[] s[] = A[t, j] + B[t, j] A[t, j] = s[] B[t, j] = s[] * c[j]"
>>> text = "kernel k(m, n; c: f32[n] distinct, A: f32[m, n] distinct, B: f32[m, n] distinct) { %s }"
>>> kernel = parse_kernel(text % ("for j in 0 .. n { for t in 0 .. m { %s } }" % inner))
>>> made = cell_versions(prepare(kernel), load_target("x86-avx512"), reassociate=False)
>>> [(x.name, [y.var for y in walk(x.kernel.body) if isinstance(y, For)][-2:]) for x in made]
[('original, register-promote', ['t', 'j2'])]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.ir.accesses import map_values
from planish.ir.expr import Cast, Expr, Load, Var
from planish.ir.index.polynomial import same
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Let, Reduce, Stmt
from planish.ir.passes.declaration_sinking import exposed, sink
from planish.ir.traverse import expressions, loads, map_block, map_expr, map_exprs, variables, walk
from planish.poly.scop.dependence import find_dependences
from planish.poly.scop.extraction import extract_scop
from planish.schedule.auto.plan import Prepared, Version, plan
from planish.schedule.auto.policies import POLICIES
from planish.schedule.auto.rewrites.packing import copy_tables
from planish.target.machine import Target

KEPT = ("original",)
"""The strategies that leave statements in common loops."""

Access = tuple[str, tuple[Expr, ...]]
"""An array and the subscripts with which it is accessed."""


def cell_versions(
    prepared: Prepared, target: Target, *, reassociate: bool, threads: int = 1
) -> tuple[Version, ...]:
    """The versions of a kernel with its cells in registers; none where it has no such ones in loops that may change
    places."""
    kernel = forward(prepared.kernel)
    if not find_cells(kernel):
        return ()
    declared = prepared.declared
    out = plan_with_cells(kernel, target, reassociate=reassociate, threads=threads, declared=declared)
    copied = copy_tables(kernel)
    if copied is not kernel:
        made = plan_with_cells(copied, target, reassociate=reassociate, threads=threads, declared=declared)
        out += tuple(replace(x, name=f"{x.name}, pack") for x in made)
    return out


def plan_with_cells(
    kernel: Kernel, target: Target, *, reassociate: bool, threads: int, declared: tuple[Array, ...] = ()
) -> tuple[Version, ...]:
    """The versions of a kernel that leave its statements in common loops, with its cells, if any, in registers."""
    cells, scop = find_cells(kernel), extract_scop(kernel)
    apart = Prepared(kernel, scop, find_dependences(scop), declared)
    written = [x for x in POLICIES if x.name in KEPT]
    planned = plan(apart, target, reassociate=reassociate, threads=threads, policies=written, cells=cells)
    return tuple(y for x in planned if (y := _in_registers(x, cells)) is not None)


def _in_registers(made: Version, cells: frozenset[str]) -> Version | None:
    """A version with its cells in registers; None where some iteration does not have them for itself."""
    kernel = with_cells(made.kernel, cells)
    if kernel is None:
        return None
    message = f"{', '.join(sorted(cells))}: in registers: only the iteration that computes them uses them"
    remarks = (Remark("register-promote", "done", message, kernel.span),) if cells else ()
    return replace(made, name=f"{made.name}, register-promote", kernel=kernel, remarks=(*made.remarks, *remarks))


def forward(kernel: Kernel, widened: bool = False) -> Kernel:
    """The kernel where values of arrays that nothing stores to, kept in local arrays for inner loops, are read from
    where they come instead; `widened`: those that are kept as another type, too."""
    stores = [x for x in walk(kernel.body) if isinstance(x, Assign | Reduce)]
    written, local = [x.array for x in stores], {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    kept = {x.array: x for x in _assignments(kernel.body) if x.array in local and written.count(x.array) == 1}
    copied = {
        name: x for name, x in kept.items()
        if (source := _source(x.value, widened)) is not None and source.array not in written
        and _moved_by(x) is not None
    }  # fmt: skip
    if not copied:
        return kernel

    def read(expr: Expr) -> Expr:
        if not isinstance(expr, Load) or expr.array not in copied:
            return expr
        moved = _moved_by(copied[expr.array])
        assert moved is not None
        values = dict(zip(moved, expr.index, strict=True))
        return map_expr(lambda x: values.get(x.name, x) if isinstance(x, Var) else x, copied[expr.array].value)

    body = map_values(read, kernel.body)
    return replace(kernel, body=_without(body, copied))


def _source(x: Expr, widened: bool) -> Load | None:
    """The element that a value is, as it is or, `widened`, as a number of another type."""
    while widened and isinstance(x, Cast):
        x = x.operand
    return x if isinstance(x, Load) else None


def _moved_by(stmt: Assign) -> tuple[str, ...] | None:
    """The counters that are the subscripts of a local array; None where these are anything else."""
    moved = tuple(x.name for x in stmt.index if isinstance(x, Var))
    return None if len(set(moved)) < len(stmt.index) else moved


def _assignments(block: Block, around: tuple[str, ...] = ()) -> Iterator[Assign]:
    """The assignments to all subscripts of which there is a loop, and whose value moves with these loops only."""
    for stmt in block.body:
        match stmt:
            case Assign():
                own = {v for x in stmt.index for v in variables(x)}
                if not (set(around) & variables(stmt.value)) - own and own <= set(around):
                    yield stmt
            case For():
                yield from _assignments(stmt.body, (*around, stmt.var))
            case Block():
                yield from _assignments(stmt, around)
            case If() | Reduce() | Let() | Alloc():
                pass


def _without(block: Block, copied: Mapping[str, Assign]) -> Block:
    """A block without what is made for some arrays, and without loops in which nothing is left."""
    out: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case Alloc(array=array) if array.name in copied:
                pass
            case Assign(array=array) if array in copied:
                pass
            case For():
                body = _without(stmt.body, copied)
                out += [replace(stmt, body=body)] if body.body else []
            case Block():
                out.append(_without(stmt, copied))
            case If():
                then, otherwise = _without(stmt.then, copied), _without(stmt.otherwise, copied)
                out.append(replace(stmt, then=then, otherwise=otherwise))
            case _:
                out.append(stmt)
    return Block(tuple(out))


def find_cells(kernel: Kernel) -> frozenset[str]:
    """The local arrays of which every element is stored and then read in one iteration of an innermost loop."""
    local = {x.array.name for x in kernel.body.body if isinstance(x, Alloc) and x.array.shape}
    everywhere, held = [name for name, _ in _accesses(kernel.body)], dict.fromkeys(local, 0)
    for loop in walk(kernel.body):
        if isinstance(loop, For) and not any(isinstance(x, For | If) for x in walk(loop.body)):
            inside = list(_accesses(loop.body))
            for name in {x for x, _ in inside} & local:
                own = [index for x, index in inside if x == name]
                held[name] += len(own) if _is_cell(name, own, loop) else 0
    return frozenset(x for x, count in held.items() if 0 < count == everywhere.count(x))


def _is_cell(name: str, accessed: Sequence[tuple[Expr, ...]], loop: For) -> bool:
    """Whether an iteration of a loop has one element of an array for itself, and stores to it before it reads it."""
    index = accessed[0]
    alike = all(len(x) == len(index) and all(map(same, x, index)) for x in accessed)
    return alike and any(loop.var in variables(x) for x in index) and not exposed(loop.body, name)


def _touches(stmt: Stmt, name: str) -> bool:
    stored = isinstance(stmt, Assign | Reduce) and stmt.array == name
    return stored or any(x.array == name for e in expressions(stmt) for x in loads(e))


def _accesses(block: Block) -> Iterator[Access]:
    """All accesses of the statements in a block."""
    for stmt in walk(block):
        if isinstance(stmt, Assign | Reduce):
            yield stmt.array, stmt.index
        for expr in expressions(stmt):
            for load in loads(expr):
                yield load.array, load.index


def with_cells(kernel: Kernel, cells: frozenset[str]) -> Kernel | None:
    """The kernel with a register in each innermost loop for what it keeps there; None where it is not so anywhere."""
    arrays = {x.array.name: x.array for x in kernel.body.body if isinstance(x, Alloc) and x.array.name in cells}
    single = frozenset(arrays) & find_cells(kernel)
    if single < cells:
        return None
    body = Block(tuple(x for x in kernel.body.body if not isinstance(x, Alloc) or x.array.name not in single))
    registers = [replace(arrays[x], shape=(), memory="register", distinct=True) for x in sorted(single)]
    return replace(kernel, body=_declared(body, registers))


def _declared(block: Block, registers: Sequence[Array]) -> Block:
    """A block with registers in place of arrays, each declared in the loop that uses it."""
    names = {x.name for x in registers}

    def whole(stmt: Stmt) -> Stmt:
        done = map_exprs(lambda e: map_expr(read, e), stmt)
        if isinstance(done, Assign | Reduce) and done.array in names:
            return replace(done, index=())
        if isinstance(done, For) and not any(isinstance(x, For) for x in walk(done.body)):
            body = done.body
            for x in registers:
                if any(_touches(y, x.name) for y in walk(body)):
                    body = sink(x.name, x.type, body)
            return replace(done, body=body)
        return done

    def read(expr: Expr) -> Expr:
        return replace(expr, index=()) if isinstance(expr, Load) and expr.array in names else expr

    return map_block(whole, block)
