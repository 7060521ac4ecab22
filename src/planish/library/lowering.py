"""A raised kernel as a kernel again: products of matrices are calls of the library's, all else is scheduled as nests.

>>> from planish.ir.expr import index
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.raising.raised import Loops
>>> from planish.target.load import load_target
>>> kernel = parse_kernel("kernel zero(n; A: f64[n]) { for i in 0 .. n { A[i] = 0.0 } }")
>>> try:
...     lower_raised(Raised(kernel, (Loops(kernel.body),)), load_target("generic"), KernelCache())
... except NotLoweredError as error:
...     print(error)
there is no product of matrices
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

import islpy as isl

from planish.core.diagnostic import PlanishError, Remark
from planish.core.names import free_name
from planish.ir.expr import Compare, Const, Expr, Load, index
from planish.ir.nest import Alloc, Array, Block, For, If, Kernel, Stmt
from planish.ir.text.printer import print_expr
from planish.ir.traverse import arrays_in, variables, walk
from planish.ir.types import BOOL, Type
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import shipped
from planish.library.conv.low_precision import as_it_is, with_copies, with_types
from planish.library.dense.blocked_factorisation import cut_factor, is_factor, is_one_block
from planish.library.dense.floyd_warshall import WIDTH, cut_paths, is_paths
from planish.library.dense.triangular import BlockSplit, Triangle, choose_width, find_triangle, split
from planish.library.kernels.batched_gemm import BatchedProduct, NoMatricesError, find_matrices, turn
from planish.library.kernels.flatten import with_one_name
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.renaming import renamed, with_name
from planish.library.kernels.tensor_transpose import Transposition, share_transposition
from planish.library.parallel.work_sharing import are_apart, is_at_most, on_threads, with_own, without_own
from planish.library.work import Work, begun, describe, find_work, loops_for, make_kernel, vectors_for
from planish.poly.isl.affine import NotAffineError
from planish.poly.match.matcher import MismatchError
from planish.poly.scop.extents import most_instances
from planish.raising.algebra.product_writer import write_product
from planish.raising.expansion import inline, wrap, write_steps
from planish.raising.raised import Apply, Choice, Loops, Raised, Repeat, Step, bound_names, case_locals, walk_steps
from planish.schedule.accesses import redirect
from planish.schedule.auto.plan import plan, prepare
from planish.schedule.context import follows, throughout
from planish.schedule.match_instruction import match_instruction
from planish.schedule.nodes import label_kernel, nodes
from planish.schedule.program import holds
from planish.target.machine import Target

_MOST_DIMENSIONS = 2
"""What is private to an iteration has a cell for each: of more loops than so many, these are too many."""
_DEPTH = 64
"""The rows and columns of blocks on the diagonal of what is solved or factorised."""
_FEW = 1 << 15
"""So many instances of statements are left to one thread: to wake the others would take longer."""
_SHARES = 4
"""Fewer blocks are not shared out among threads: these share what is done for each of them."""


class NotLoweredError(Exception):
    """A raised kernel of which no version is made; the text says why."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """The kernel, the kernels that it calls, and what each of its operations became.

    What is assumed besides what the raised kernel assumes has to be asked before it is run.
    """

    kernel: Kernel
    catalogue: Catalogue
    remarks: tuple[Remark, ...]


def lower_raised(
    raised: Raised, target: Target, maker: KernelCache, kept: Sequence[str] = (), threads: int = 1,
    narrow: Mapping[str, Type] | None = None,
) -> Lowered:  # fmt: skip
    """The kernel that runs a raised one on a target; sums of floats are made in another order. `kept`: locals that are
    arrays of the caller's, which needs them no more; `narrow`: the types of arrays that were made wide.

    Raises NotLoweredError where no operation of it is a product of matrices that the library has, or where what it
    needs cannot be written as one kernel."""
    lowering = _Lowering(raised, target, maker, threads, with_copies(raised, narrow or {}, kept))
    lowering.expect_product()
    body = lowering.steps(raised.steps, _Place(raised.kernel.sizes, raised.kernel.assumptions))
    if not lowering.made and not lowering.blocked:
        raise NotLoweredError(lowering.reason or "there is no product of matrices")
    kernel = raised.kernel
    heap = [*(x for x in raised.locals if x.name not in kept), *lowering.heap]
    caller = (*kernel.arrays, *(x for x in raised.locals if x.name in kept))
    arrays, heap, block = with_one_name(caller, heap, Block(tuple(body)), lowering.arrays, lowering.bases)
    # The thread keeps them: fresh memory costs more than what is done in it.
    heap = [replace(x, memory="scratch") if x.shape and x.memory == "dram" else x for x in heap]
    used = set(arrays_in(block))
    own = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    wide = next((x.name for x in heap if x.name in own & used and len(x.shape) > _MOST_DIMENSIONS), None)
    if wide is not None:
        raise NotLoweredError(f"`{wide}` would need memory of its own in every iteration")
    whole = replace(
        kernel, arrays=arrays, body=Block((*(Alloc(x) for x in heap if x.name in used), *block.body)),
        assumptions=tuple(dict.fromkeys((*kernel.assumptions, *lowering.conditions))),
    )  # fmt: skip
    whole = as_it_is(whole, lowering.narrow)
    return Lowered(whole, Catalogue().with_instructions(lowering.made.values()), tuple(lowering.remarks))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a step stands: the sizes that it sees, and what is known of them."""

    sizes: tuple[str, ...]
    known: tuple[Expr, ...]


@dataclass(slots=True)
class _Lowering:
    """A raised kernel on its way: local arrays that were added, kernels that are called, what has to be asked."""

    raised: Raised
    target: Target
    maker: KernelCache
    threads: int
    narrow: Mapping[str, Type]
    heap: list[Array] = field(default_factory=list)
    made: dict[str, Instruction] = field(default_factory=dict)
    conditions: list[Expr] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    blocked: bool = False
    reason: str = ""
    arrays: dict[str, Array] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    local: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        raised = self.raised
        known = (*raised.kernel.arrays, *raised.locals, *(x.array for x in raised.reshapes))
        self.arrays = {x.name: x for x in known}
        self.bases = {x.array.name: x.of for x in raised.reshapes}
        own = {x.name for x in raised.locals}
        self.local = frozenset(x for x in self.arrays if self.base(x) in own)

    def expect_product(self) -> None:
        """That an operation is a product of matrices, before anything is made for it."""
        arrays = with_types({**self.arrays, **{x.name: x for x in case_locals(self.raised.steps)}}, self.narrow)
        taken = {*arrays, *self.raised.kernel.sizes, *bound_names(self.raised.steps)}
        for step in walk_steps(self.raised.steps):
            if isinstance(step, Apply):
                if find_triangle(step, arrays, {*taken}) is not None or is_factor(step, arrays):
                    return
                if is_paths(step, arrays, self.raised.kernel.sizes):
                    return
                try:
                    find_work(step, arrays, taken)
                except NoMatricesError as error:
                    self.reason = f"`{step.operation.name}`: {error}"
                else:
                    return
        raise NotLoweredError(self.reason or "there is no product of matrices")

    def steps(self, steps: Sequence[Step], place: _Place) -> list[Stmt]:
        """The statements that run some steps; neighbours that are nests are scheduled together."""
        out: list[Stmt] = []
        nests: list[Stmt] = []

        def finish() -> None:
            out.extend(self.planned(nests, place) if nests else ())
            nests.clear()

        def wait(stmts: Sequence[Stmt]) -> None:
            if self.meet(nests, stmts):
                finish()
            nests.extend(stmts)

        for step in steps:
            match step:
                case Loops(body=body, settled=True):
                    finish()
                    out += body.body
                case Loops(body=body):
                    wait(body.body)
                case Apply():
                    self.ask(step.conditions, place)
                    if is_paths(step, self.arrays, self.raised.kernel.sizes):
                        finish()
                        out.extend(self.paths(step, place))
                        continue
                    if is_factor(step, with_types(self.arrays, self.narrow)):
                        finish()
                        out.extend(self.factor(step, place))
                        continue
                    triangle = self.triangle(step, place)
                    call = None if triangle else self.product(step, place)
                    if triangle is not None:
                        wait(triangle.first)
                        finish()
                        out.extend(self.blocks(triangle, place))
                    elif call is None:
                        wait(inline(step, self.arrays, self.taken(place)).body)
                    else:
                        wait(call[0])
                        finish()
                        out.append(call[1])
                case Repeat():
                    finish()
                    out.append(self.repeat(step, place))
                case Choice():
                    finish()
                    out.extend(self.chosen(step, place))
                case _:
                    assert_never(step)
        finish()
        return out

    def taken(self, place: _Place) -> set[str]:
        """Names that loops may not have."""
        return {*self.arrays, *place.sizes, *(x.name for x in self.heap), *(x.name for x in self.raised.kernel.scalars)}

    def triangle(self, step: Apply, place: _Place) -> Triangle | None:
        """The triangle that an operation computes, of which what is asked of the whole has been proven or asked: it
        holds of its parts, whose sizes differ from one iteration to the next."""
        triangle = find_triangle(step, with_types(self.arrays, self.narrow), self.taken(place))
        try:
            for product in triangle.products if triangle is not None else ():
                self.call(find_matrices(write_product(product), self.arrays, self.taken(place)), place)
        except NoMatricesError as error:
            self.refuse(step, error)
            return None
        return triangle

    def refuse(self, step: Apply, error: NoMatricesError) -> None:
        """Tell why an operation stays loops."""
        self.reason = f"`{step.operation.name}`: {error}"
        message = f"`{step.operation.name}` runs as loops: {error}"
        self.remarks.append(Remark("raise-loops", "note", message, step.span))

    def blocks(self, triangle: Triangle, place: _Place) -> list[Stmt]:
        """The statements that compute a triangle by blocks."""
        width = choose_width(self.target, triangle.type)
        name, var = self.fresh("diagonal", place), self.fresh("first", place)
        few = is_at_most(triangle.extent, _SHARES * width)
        cut = split(triangle, var, name, width, self.threads if few else 1, self.taken(place))
        self.arrays[name] = cut.block
        operation = triangle.step.operation.name
        message = f"`{operation}` is blocked by {width}: blocks on the diagonal are computed whole"
        self.remarks.append(Remark("raise-triangle", "done", message, triangle.step.span))
        shared = self.shares(cut, place) if self.threads > 1 and not few else None
        if shared is not None:
            return [shared]
        self.heap.append(cut.block)
        return self.steps(cut.steps, place)

    def shares(self, cut: BlockSplit, place: _Place) -> For | None:
        """The blocks of a triangle on threads, which take the next one when they are done with one; None where these
        would meet."""
        (repeat,) = cut.steps

        def share(loop: For, own: Sequence[Array]) -> For | None:
            own = [cut.block, *own]
            around = self.around(loop, place, own)
            return on_threads(loop, own, around) if around is not None else None

        return self.alone(repeat, place, share)

    def alone(self, step: Repeat, place: _Place, share: Callable[[For, Sequence[Array]], For | None]) -> For | None:
        """A loop whose steps are run by one thread each, and what it becomes with the arrays of each; None where it
        becomes nothing, as if it had not been tried."""
        before = tuple(self.heap), tuple(self.remarks), tuple(self.conditions)
        threads, self.threads = self.threads, 1
        loop = wrap(step, self.repeated(step, place))
        self.threads = threads
        shared = share(loop, self.heap[len(before[0]) :])
        self.heap = [*before[0]]
        if shared is None:
            self.remarks, self.conditions = [*before[1]], [*before[2]]
        return shared

    def around(self, block: Stmt, place: _Place, own: Sequence[Array] = ()) -> Kernel | None:
        """The sizes, scalars and arrays that statements use besides `own`; None where some memory has two names: names
        are what is told apart."""
        names = {*arrays_in(block)} - {x.name for x in own}
        arrays = tuple(replace(self.arrays[x], memory="dram") for x in sorted(names))
        known = (*place.known, *self.conditions)
        around = Kernel("shares", place.sizes, self.raised.kernel.scalars, arrays, Block(()), known)
        return around if len({self.base(x) for x in names}) == len(names) else None

    def repeat(self, step: Repeat, place: _Place) -> Stmt:
        """The loop of some steps: on threads where they share it out and are proven not to meet."""
        shared = None if step.shares is None or self.threads == 1 else self.shared(step, place)
        if shared is not None:
            return shared
        whole = step if step.shares is None else replace(step, shares=replace(step.shares, number=1))
        return wrap(whole, self.repeated(whole, place))

    def shared(self, step: Repeat, place: _Place) -> For | None:
        """The loop of some steps on threads; None where these are not proven to meet nowhere."""
        assert step.shares is not None
        plain = Block(tuple(write_steps(step.steps, self.arrays, self.taken(self.within(step, place)))))
        plain = without_own(plain, step.shares.share, self.arrays, self.bases)
        around = self.around(plain, place)
        return self.alone(step, place, with_own) if around is not None and are_apart(step, plain, around) else None

    def factor(self, step: Apply, place: _Place) -> list[Stmt]:
        """The statements that solve, multiply by a triangle or factorise by blocks."""
        cut, own = cut_factor(step, self.arrays, _DEPTH, self.taken(place), self.threads)
        self.heap += own
        self.arrays |= {x.name: x for x in own}
        if not is_one_block(step, _DEPTH) and any(isinstance(x, Repeat) and x.shares is None for x in cut):
            message = f"`{step.operation.name}` is blocked by {_DEPTH} along the diagonal"
            self.remarks.append(Remark("raise-factor", "done", message, step.span))
        return self.steps(cut, place)

    def paths(self, step: Apply, place: _Place) -> list[Stmt]:
        """The statements that find least distances by blocks, or one stop after the other where that is asked for by
        what the distances are."""
        cut = cut_paths(step, self.arrays, taken := self.taken(place))
        self.heap += (*cut.buffers, cut.wrong)
        self.arrays |= {x.name: x for x in (*cut.buffers, cut.wrong)}
        around = Repeat(cut.var, index(0), cut.extent, WIDTH, ())
        inside = self.within(around, place)
        rest = [Block(tuple(self.planned(part.body, inside))) for part in cut.rest]
        blocks = For(cut.var, index(0), cut.extent, WIDTH, Block((*cut.stops, *rest)))
        plain = self.planned(inline(step, self.arrays, taken).body, place)
        right = Compare("eq", Load(cut.wrong.name, (), cut.wrong.type), Const(0, cut.wrong.type))
        message = f"`{step.operation.name}` is blocked Floyd-Warshall by {WIDTH} vertices, if no distance is negative"
        self.remarks.append(Remark("floyd-warshall-blocked", "done", message, step.span))
        self.blocked = True
        return [cut.check, If(right, Block((blocks,)), Block(tuple(plain)))]

    def repeated(self, step: Repeat, place: _Place) -> list[Stmt]:
        """The statements of one iteration."""
        return self.steps(step.steps, self.within(step, place))

    def within(self, step: Repeat, place: _Place) -> _Place:
        """The place of an iteration's steps."""
        var, own = index(step.var), tuple(bound_names((replace(step, steps=()),)))
        bounds = [Compare("ge", var, step.lower), Compare("lt", var, step.upper)]
        if step.shares is not None:
            share, number = index(step.shares.share), index(step.shares.number)
            bounds.append(Compare("ge", index(step.shares.width), index(step.shares.least(step.by))))
            bounds += (Compare("ge", share, index(0)), Compare("lt", share, number))
        return _Place((*place.sizes, *own), (*place.known, *bounds))

    def chosen(self, step: Choice, place: _Place) -> list[Stmt]:
        """The statements of the first case whose condition holds."""
        otherwise: list[Stmt] = []
        for number, case in reversed(list(enumerate(step.cases))):
            steps, own = case.steps, {x.name for x in case.locals}
            for array in case.locals:
                # One whose turn is still to come keeps its name until then.
                taken = self.taken(place)
                name = array.name if array.name not in taken else free_name(array.name, taken | own)
                steps = tuple(with_name(x, array.name, name) for x in steps)
                self.arrays[name] = replace(array, name=name)
                self.heap.append(self.arrays[name])
            body = self.steps(steps, place)
            last = number == len(step.cases) - 1
            otherwise = body if last else [If(case.condition, Block(tuple(body)), Block(tuple(otherwise)))]
        return otherwise

    def ask(self, conditions: Sequence[Expr], place: _Place) -> None:
        """Have conditions asked before the kernel is run, or proven where that is too early."""
        inside = [x for x in conditions if not self.may_ask(x) and not follows(place.sizes, place.known, x)]
        if inside:
            text = print_expr(inside[0])
            raise NotLoweredError(f"what has to be asked of an operation depends on the iteration: {text}")
        known = {*self.conditions, *self.raised.kernel.assumptions}
        self.conditions += (x for x in dict.fromkeys(conditions) if x not in known and self.may_ask(x))

    def may_ask(self, condition: Expr) -> bool:
        """Whether a condition is known before the kernel is run."""
        return variables(condition) <= {*self.raised.kernel.sizes}

    def base(self, name: str) -> str:
        """The array whose memory a name stands for."""
        return self.bases.get(name, name)

    def meet(self, first: Sequence[Stmt], second: Sequence[Stmt]) -> bool:
        """Whether two parts have different names for the same memory: the planner knows arrays by their names."""
        one, other = set(arrays_in(Block(tuple(first)))), set(arrays_in(Block(tuple(second))))
        return any(a != b and self.base(a) == self.base(b) for a in one for b in other)

    def product(self, step: Apply, place: _Place) -> tuple[list[Stmt], Stmt] | None:
        """The loops that set what a product begins with, and those that the library's kernel does; None where the
        operation is another one, or the kernel does not do it."""
        try:
            fill: list[Stmt] = []
            work = find_work(step, with_types(self.arrays, self.narrow), self.taken(place))
            if isinstance(work, Transposition) and self.threads > 1:
                part = share_transposition(step, self.arrays, self.local, self.threads, self.taken(place))
                shared = self.shared(part, place) if part is not None else None
                if shared is not None:
                    return [], shared
            if isinstance(work, BatchedProduct) and work.is_turned:
                work, array, *fill = turn(work, self.fresh("turned", place), self.raised.kernel.sizes)
                self.heap.append(array)
                self.arrays[array.name] = array
            call = self.call(work, place)
        except NoMatricesError as error:
            self.refuse(step, error)
            return None
        message = f"`{step.operation.name}` is a {describe(work)}, done by `{call.facts.instruction}`"
        self.remarks.append(Remark("raise-gemm", "done", message, step.span))
        return [*fill, *begun(work)], _within(work.batch, call)

    def call(self, work: Work, place: _Place) -> For:
        """The loops of a product, given to the library's kernel; what has to hold for it is proven, or asked."""
        try:
            vectors = vectors_for(work, self.target)
        except PlanishError as error:
            raise NoMatricesError(error.diagnostic.message) from error
        target, *others = work.names
        shared = any(self.base(x) == self.base(target) for x in others)
        # Parts of one array are told apart by their subscripts: not in a batch, nor where its memory has two shapes.
        if shared and (work.batch or target not in others or target in {*self.bases, *self.bases.values()}):
            raise NoMatricesError("an operand is in the array that is written")
        loop = loops_for(work)
        sizes = (*place.sizes, *work.batch)
        known = with_types(self.arrays, self.narrow)
        arrays = tuple(known[x] for x in dict.fromkeys(work.names))
        kernel = label_kernel(
            Kernel("call", sizes, self.raised.kernel.scalars, arrays, Block((loop,)), (*place.known, *self.conditions))
        )
        chosen, made = make_kernel(work, vectors, self.target, self.maker, self.threads)
        labelled = next(x for x in nodes(kernel.body) if isinstance(x, For))
        try:
            in_scope, known_here = {x.name: x for x in arrays}, partial(holds, kernel, labelled)
            found = match_instruction(chosen, labelled, in_scope, shipped().bits, known_here)
        except MismatchError as error:
            raise NoMatricesError(f"the library's kernel does not do it: {error.reason}") from error
        unproven = [x for x in found.conditions if not holds(kernel, labelled, x)]
        iterators = set(kernel.sizes) - set(self.raised.kernel.sizes)
        asked = [throughout(kernel, iterators, x) or x for x in unproven] if iterators else unproven
        if Const(False, BOOL) in asked:
            raise NoMatricesError("what has to hold for it does not hold in every iteration, whatever the sizes are")
        inside = next((x for x in asked if not self.may_ask(x)), None)
        if inside is not None:
            raise NoMatricesError(f"what has to be asked of it depends on the iteration: {print_expr(inside)}")
        self.ask(asked, place)
        self.made |= {x.name: x for x in made}
        return replace(loop, facts=replace(loop.facts, instruction=chosen.name))

    def planned(self, nests: Sequence[Stmt], place: _Place) -> list[Stmt]:
        """Nests in the order that the planner likes best, or as they are where it finds none."""
        kernel = self.raised.kernel
        used = set(arrays_in(Block(tuple(nests))))
        arrays = tuple(replace(x, memory="dram") for x in self.arrays.values() if x.name in used)
        part = Kernel(kernel.name, place.sizes, kernel.scalars, arrays, Block(tuple(nests)), place.known)
        arrays = (part := as_it_is(part, self.narrow)).arrays
        try:
            prepared = prepare(part)
            work = most_instances(prepared.scop)
            threads = 1 if work is not None and work <= _FEW else self.threads
            found = plan(prepared, self.target, reassociate=True, threads=threads, most=1)
        except (NotAffineError, isl.Error):
            return list(nests)
        if not found or prepared.scop.kernel.arrays != arrays:
            return list(nests)
        asked = [x for x in prepared.scop.kernel.assumptions if x not in place.known]
        self.ask(asked, place)
        body = found[0].kernel.body
        for own in [x.array for x in body.body if isinstance(x, Alloc)]:
            fresh = self.fresh(own.name, place)
            body = redirect(body, own.name, partial(renamed, fresh))
            self.heap.append(replace(own, name=fresh))
        self.remarks += map(self.placed, found[0].bands)
        return [x for x in body.body if not isinstance(x, Alloc)]

    def placed(self, remark: Remark) -> Remark:
        """A remark without its place where that is in a text of ours, such as an operation's definition."""
        own, span = self.raised.kernel.span, remark.span
        return remark if own is None or span is None or span.file == own.file else replace(remark, span=None)

    def fresh(self, name: str, place: _Place) -> str:
        """A name for an array that nothing else has."""
        return free_name(name, self.taken(place))


def _within(batch: Mapping[str, Expr], loop: For) -> Stmt:
    """The loops of one product of matrices for each of a batch."""
    out: Stmt = loop
    for var, extent in reversed(tuple(batch.items())):
        out = For(var, index(0), extent, 1, Block((out,)))
    return out
