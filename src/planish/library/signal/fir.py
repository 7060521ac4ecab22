"""FIR filters and correlations: sliding-window sums of products become calls of the `conv_1d` kernel.

Before: for i { acc[i] = 0;  for p { acc[i] += h[p] * x[i + p] };  y[i] = acc[i] }
After:  for i { acc[i] = 0 };  acc += h slid along x, by the kernel;  for i { y[i] = acc[i] }

Where the window gets shorter from sum to sum, what all of them have is done so, and loops do the rest. Where there are
few sums with long windows, threads have a part of the window each.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> nest = "for i in 0 .. m { for p in 0 .. n - i { r[i] += x[p] * x[p + i] } }"
>>> kernel, found = name_filters(parse_kernel(f"kernel k(n, m; x: f32[n], r: f32[n]) {{ {nest} }}"))
>>> print(print_stmt(kernel.body.body[0]))
for sum in 0 .. m {
  for window in 0 .. max(0, n - m + 1) {
    r[sum] += x[window] * x[window + sum]
  }
  for rest in max(0, n - m + 1) .. n - sum {
    r[sum] += x[rest] * x[rest + sum]
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from planish.core.diagnostic import PlanishError, Remark
from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Expr, Load, index, type_of
from planish.ir.index.polynomial import add, coefficient_of, constant, extremum, mul, place, same, sub
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Array, Block, For, If, Kernel, LoopFacts, Reduce, Stmt
from planish.ir.text.printer import print_expr
from planish.ir.traverse import loads, map_block, substitute_block, used_names, variables, walk
from planish.ir.types import F32, F64, Type
from planish.isa.instruction import Catalogue, Instruction
from planish.library.kernels.conv_1d import ALONE, Conv1dShape, choose_shape, list_shape_arguments, make_sliding
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import Vectors, choose_vectors
from planish.library.parallel.split_reduction import share_products
from planish.poly.isl.expression import conjunction
from planish.schedule.arguments import DEFAULTS, NO_ARGUMENTS, Point, TuningArguments
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.auto.tiling.scalar_replacement import SUMS, promote
from planish.schedule.program import Program
from planish.schedule.steps.control import Specialise
from planish.schedule.steps.instructions import Replace
from planish.schedule.steps.loops import Fission, Reverse
from planish.target.machine import Target

NAME = "fir"
"""What the version is called."""
FEWEST = 8
"""The steps of a window from which on it is worth while, with as many sums as fill two registers."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A loop over sums in which a loop over a window stands, by their names; `count` sums of `steps` products each.

    `turned`: one factor goes backwards where the other one goes forwards; `backwards`: the one that is no window goes
    backwards, so that the loop over the window has to; `rest`: the loop over what some sums have more."""

    sum: str
    window: str
    count: Expr
    steps: Expr
    type: Type
    turned: bool
    backwards: bool
    rest: str


def filter_versions(
    prepared: Prepared, target: Target, maker: KernelCache, threads: int = 1, point: Point = DEFAULTS
) -> tuple[Version, ...]:  # fmt: skip
    """The version of a kernel whose filters the library makes, in another order; none where there are none, or no
    instructions for them. `point`: the shape of the kernels (`list_filter_arguments`)."""
    kernel, found = name_filters(prepared.kernel)
    try:
        vectors = {x.type: choose_vectors(target, x.type) for x in found}
    except PlanishError:
        return ()
    shapes = {each: choose_shape(vectors[each.type], each.turned, point) for each in found}
    made: dict[str, Instruction] = {}
    program = Program.of(kernel)
    for each in found:
        if _is_small(each, vectors[each.type]):
            continue
        # What cannot be taken apart stays as it is.
        with suppress(PlanishError):
            program = _give(program, each, shapes[each], maker, made, threads)
    if not {x.facts.instruction for x in walk(program.kernel.body) if isinstance(x, For)} & {*made}:
        return ()
    message = "FIR filter by register blocks of outputs, which share the samples they read"
    remark = Remark(NAME, "done", message, prepared.scop.kernel.span)
    catalogue = Catalogue().with_instructions([made[x] for x in sorted(made)])
    whole = _share_windows(program.kernel, shapes, threads) if threads > 1 else program.kernel
    whole = _sum_in_lanes(whole, {x for each in found for x in (each.window, each.rest)})
    return (Version(NAME, prepared.scop.schedule, whole, (remark,), 0.0, catalogue),)


def _is_small(found: Filter, vectors: Vectors) -> bool:
    """Whether a filter is known to have too few sums, or too short a window."""
    count, steps = constant(found.count), constant(found.steps)
    return (count is not None and count < 2 * vectors.lanes) or (steps is not None and steps < FEWEST)


def list_filter_arguments(found: Sequence[Filter], target: Target) -> TuningArguments:
    """What may be tuned of the kernels of filters of one type; nothing where there are no instructions for it."""
    types = {x.type for x in found}
    if len(types) != 1:
        return NO_ARGUMENTS
    try:
        return list_shape_arguments(choose_vectors(target, *types))
    except PlanishError:
        return NO_ARGUMENTS


def _share_windows(kernel: Kernel, shapes: Mapping[Filter, Conv1dShape], threads: int) -> Kernel:
    """The kernel with threads that have a part of the window each, where there are too few sums for all of them."""
    taken, own = {*used_names(kernel)}, list[Array]()
    known = {x.sum: x for x in shapes}

    def visit(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or stmt.var not in known or not stmt.facts.instruction:
            return stmt
        each = known[stmt.var]
        shape, sizes = shapes[each], (each.count, each.steps)
        shared = share_products(stmt, shape.name, threads, shape.at_a_time, taken)
        if shared is None or any(loads(x) for x in sizes):
            return stmt
        own.append(shared[0])
        few = Compare("le", each.count, index(shape.at_a_time))
        much = Compare("gt", mul(*sizes), index(threads * ALONE))
        return If(conjunction((few, much)), shared[1], Block((stmt,)))

    body = map_block(visit, kernel.body)
    return replace(kernel, body=Block((*map(Alloc, own), *body.body)))


def _sum_in_lanes(kernel: Kernel, names: Collection[str]) -> Kernel:
    """The kernel with the loops of these names that are left in lanes: each adds products to one sum."""

    def mark(stmt: Stmt) -> Stmt:
        match stmt:
            case For(step=1, body=Block(body=(Reduce(op="add") as update,))) if stmt.var in names:
                fixed = not any(stmt.var in variables(x) for x in update.index)
                return replace(stmt, facts=LoopFacts(simd=True, reductions=SUMS)) if fixed else stmt
        return stmt

    def visit(stmt: Stmt) -> Stmt:
        # What a kernel does is its definition, and stays as it is.
        if isinstance(stmt, For) and not stmt.facts.instruction:
            return replace(stmt, body=Block(tuple(map(mark, stmt.body.body))))
        return stmt

    taken = frozenset(used_names(kernel))
    arrays = (*kernel.arrays, *(x.array for x in walk(kernel.body) if isinstance(x, Alloc)))
    return replace(kernel, body=promote(map_block(visit, kernel.body), taken, {x.name: x for x in arrays}))


def name_filters(kernel: Kernel) -> tuple[Kernel, tuple[Filter, ...]]:
    """The kernel with names of their own for the loops of filters, whose windows are as long for all sums; and these.
    What some sums have more is added by another loop."""
    taken = {*used_names(kernel)}
    found: list[Filter] = []

    def visit(stmt: Stmt) -> Stmt:
        read = ((x, _read(x)) for x in (_spellings(stmt) if isinstance(stmt, For) else ()))
        loop, parts = next(((x, y) for x, y in read if y is not None), (None, None))
        if loop is None or parts is None:
            return stmt
        inner, turned, backwards = parts
        sum, window, rest = (take_name(x, taken) for x in ("sum", "window", "rest"))
        upper = _least(inner.upper, loop)
        update = inner.body.body[0]
        assert isinstance(update, Reduce)
        type = type_of(update.value)
        count, steps = sub(loop.upper, loop.lower), sub(upper, inner.lower)
        found.append(Filter(sum, window, count, steps, type, turned, backwards, rest))
        even = _renamed(replace(inner, upper=upper), window)
        more = () if same(upper, inner.upper) else (_renamed(replace(inner, lower=upper), rest),)
        body = (y for x in loop.body.body for y in ((even, *more) if x is inner else (x,)))
        return _renamed(replace(loop, body=Block(tuple(body))), sum)

    return replace(kernel, body=map_block(visit, kernel.body)), tuple(found)


def _spellings(loop: For) -> Iterator[For]:
    """A loop in ways in which it may be a filter: as it is; with windows from 0 on that begin later from sum to sum;
    with the loop in it outside, where it is nothing but sums (these are then in another order)."""
    yield loop
    inside = [x for x in loop.body.body if isinstance(x, For) and loop.var in variables(x.lower) and x.step == 1]
    if len(inside) == 1:
        moved = _from_zero(inside[0])
        yield replace(loop, body=Block(tuple(moved if x is inside[0] else x for x in loop.body.body)))
    match loop.body.body:
        case (For(body=Block(body=(Reduce(op="add"),))) as inner,) if loop.var not in {
            *variables(inner.lower), *variables(inner.upper)
        }:
            yield replace(inner, body=Block((replace(loop, body=inner.body),)))
        case _:
            pass


def _from_zero(loop: For) -> For:
    """A loop whose counter begins with 0."""
    body = substitute_block(loop.body, {loop.var: add(index(loop.var), loop.lower)})
    return replace(loop, lower=index(0), upper=sub(loop.upper, loop.lower), body=simplify_block(body))


def _read(loop: For) -> tuple[For, bool, bool] | None:
    """The loop over the window in a loop over sums, whether one factor is turned, and whether the one that is no window
    goes backwards; None where the loop is no filter."""
    inside = [x for x in loop.body.body if isinstance(x, For)]
    if loop.step != 1 or len(inside) != 1:
        return None
    (inner,) = inside
    i, p = loop.var, inner.var
    match inner:
        case For(step=1, body=Block(body=(Reduce(op="add") as update,))):
            pass
        case _:
            return None
    match update.value:
        case Binary(op="mul", left=Load() as a, right=Load() as b) if a.type == b.type and a.type in (F32, F64):
            pass
        case _:
            return None
    window, other = (a, b) if _step(a.index, i) == 1 else (b, a)
    near, far = _step(window.index, p), _step(other.index, p)
    if (_step(update.index, i), _step(window.index, i), _step(other.index, i)) != (1, 1, 0):
        return None
    if _step(update.index, p) != 0 or near not in (1, -1) or far not in (1, -1):
        return None
    bound = coefficient_of(inner.upper, i)
    if i in variables(inner.lower) or bound is None or update.array in (a.array, b.array):
        return None
    return inner, near != far, far == -1


def _step(at: tuple[Expr, ...], var: str) -> int | None:
    """How an element goes on along its row in a loop, if it goes on in no other way."""
    moved = [coefficient_of(x, var) for x in at]
    if not moved or any(x is None or x[0] for x in moved[:-1]):
        return None
    return None if moved[-1] is None else moved[-1][0]


def _least(upper: Expr, loop: For) -> Expr:
    """Up to where the windows of all sums go."""
    bound = coefficient_of(upper, loop.var)
    assert bound is not None
    last = loop.lower if bound[0] > 0 else sub(loop.upper, index(1))
    (inner,) = (x for x in loop.body.body if isinstance(x, For))
    return upper if not bound[0] else extremum("max", inner.lower, place(upper, {loop.var: last}))


def _renamed(loop: For, name: str) -> For:
    return replace(loop, var=name, body=substitute_block(loop.body, {loop.var: index(name)}))


def _give(
    program: Program, found: Filter, shape: Conv1dShape, maker: KernelCache, made: dict[str, Instruction], threads: int
) -> Program:
    """Have a filter made by a kernel, where there are enough sums of enough products; PlanishError where it cannot be
    taken out of its loop, or is not what the kernel does."""
    place = program.find(found.window)
    siblings = place.parent().body()
    number = next(n for n, x in enumerate(siblings) if x.label == place.label)
    cuts = [siblings[number - 1]] if number else []
    cuts += [place] if number + 1 < len(siblings) else []
    for cut in cuts:
        program = program.apply(Fission(cut))
    program = program.apply(Reverse(found.window)) if found.backwards else program
    many = f"{print_expr(found.count)} >= {2 * shape.vectors.lanes} && {print_expr(found.steps)} >= {FEWEST}"
    program = program.apply(Specialise(program.find(found.window).parent(), many))
    kernels = make_sliding(shape, maker, threads)
    program = replace(program, catalogue=program.catalogue.with_instructions(kernels))
    program = program.apply(Replace(program.find(found.window).parent(), kernels[-1].name))
    made |= {x.name: x for x in kernels}
    return program
