"""A mapped nest becomes launches: what runs in a thread, with barriers where threads depend on each other.

In the mapped nest, loops over threads begin and end together; in a launch each thread runs all of the body, and waits
only where it has to.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> copy = "for t in 0 .. 8 on thread_x { s[t] = A[b, t] } for u in 0 .. 8 on thread_x { B[b, u] = s[7 - u] }"
>>> text = f"for b in 0 .. n on block_x {{ alloc s: f32[8] shared {copy} }}"
>>> print(print_kernel(make_launches(parse_kernel(f"kernel k(n; A: f32[n, 8], B: f32[n, 8]) {{ {text} }}"))).rstrip())
kernel k(n; A: f32[n, 8], B: f32[n, 8])
{
  launch (block_x: n) of (thread_x: 8) {
    alloc s: f32[8] shared
    let b = block_x
    {
      let t = thread_x
      s[t] = A[b, t]
    }
    barrier
    {
      let u = thread_x
      B[b, u] = s[7 - u]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from planish.core.names import take_name
from planish.core.span import Span
from planish.gpu.conflicts import Conflicts
from planish.gpu.views import expand_views
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Var, index
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt
from planish.ir.traverse import (
    blocks_of,
    expressions,
    loads,
    map_block,
    map_expr,
    map_exprs,
    used_names,
    variables,
    walk,
)
from planish.ir.types import INDEX
from planish.schedule.nodes import label_kernel, nodes
from planish.schedule.steps.devices import outer_bound


class UnmappedError(Exception):
    """A nest cannot be launched, and why."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


@dataclass(frozen=True, slots=True)
class _Phase:
    """What threads run between two barriers: a statement, the numbers of the stores in it, and the loops around."""

    stmt: Stmt
    stores: frozenset[int]
    depth: int


@dataclass(frozen=True, slots=True)
class _Uniform:
    """A loop or a test that all threads of a block run alike, with what is in its blocks."""

    stmt: For | If
    parts: tuple[tuple[_Item, ...], ...]


_Item = _Phase | _Uniform | Let | Barrier


def is_bound(stmt: Stmt, kind: str = "") -> bool:
    """Whether there is a loop over blocks or threads in a statement, or one of that kind."""
    return any(isinstance(x, For) and x.facts.axis.startswith(kind or ("block", "thread")) for x in walk(stmt))


def make_launches(kernel: Kernel) -> Kernel:
    """The kernel whose loops over blocks and threads are launches; what stands beside them runs in one thread, loops
    around them stay on the host. Raises UnmappedError."""
    labelled = label_kernel(kernel)
    return expand_views(replace(labelled, body=_Host(labelled).block(labelled.body, 0)))


def _is_launched(stmt: Stmt) -> bool:
    """Whether there are launches in a statement already."""
    return any(isinstance(x, Launch) for x in walk(stmt))


@dataclass(slots=True)
class _Host:
    """The walk over what runs on the host."""

    kernel: Kernel

    def block(self, block: Block, depth: int) -> Block:
        """Statements in order; neighbours that run in one thread share a launch."""
        out: list[Stmt] = []
        alone: list[Stmt] = []
        for stmt in block.body:
            if is_bound(stmt) or isinstance(stmt, Alloc | Let) or _is_launched(stmt):
                out += self.serial(alone, depth)
                alone = []
                out.append(self.statement(stmt, depth))
            else:
                alone.append(stmt)
        return Block((*out, *self.serial(alone, depth)))

    def serial(self, stmts: Sequence[Stmt], depth: int) -> list[Stmt]:
        """A launch of one thread."""
        return [_Device(self.kernel, depth).launch([], Block(tuple(stmts)))] if stmts else []

    def statement(self, stmt: Stmt, depth: int) -> Stmt:
        """A statement that holds loops over blocks or threads, or makes a name."""
        match stmt:
            case For() if not stmt.facts.axis:
                return replace(stmt, body=self.block(stmt.body, depth + 1))
            case For():
                chain = [stmt] if stmt.facts.axis.startswith("block") else []
                body = stmt.body if chain else Block((stmt,))
                while chain and len(body.body) == 1:
                    inner = body.body[0]
                    if not isinstance(inner, For) or not inner.facts.axis.startswith("block"):
                        break
                    chain, body = [*chain, inner], inner.body
                return _Device(self.kernel, depth).launch(chain, body)
            case If(condition=condition):
                if loads(condition):
                    raise UnmappedError("what is launched depends on values of arrays", stmt.span)
                parts = [self.block(x, depth) for x in blocks_of(stmt)]
                return replace(stmt, then=parts[0], otherwise=parts[1])
            case Let(value=value) if loads(value):
                raise UnmappedError("a name on the host depends on values of arrays", stmt.span)
            case _:
                return stmt


@dataclass(slots=True)
class _Device:
    """The walk over what one launch runs; `host`: so many loops are around it on the host."""

    kernel: Kernel
    host: int

    def launch(self, blocks: Sequence[For], body: Block) -> Launch:
        """The launch of loops over blocks, and what is in them."""
        if any(is_bound(x, "block") for x in body.body):
            raise UnmappedError("loops over blocks do not stand directly in each other", blocks[0].span)
        taken = set(used_names(self.kernel))
        axes = _extents(body)
        ids = {axis: take_name(axis, taken) for axis in (*(x.facts.axis for x in blocks), *axes)}
        private = _registers(body, axes)
        numbers = {x.label: n for n, x in enumerate(_stores(self.kernel.body))}
        depth = self.host + len(blocks)
        conflicts = Conflicts(self.kernel, frozenset(private))
        shared, items = self.uniform(body, depth, numbers, private)
        stmts, _ = _place(items, frozenset(), conflicts, depth)
        span = blocks[0].span if blocks else None
        for phase in _phases(items):
            if conflicts.between(phase.stores, phase.stores, phase.depth):
                raise UnmappedError("threads depend on each other between two barriers", span)
        threads = _Threads(ids, axes, private)
        made = [y for x in stmts for y in threads.uniform(x)]
        for at, loop in reversed(list(enumerate(blocks))):
            made = _in_block(loop, blocks[:at], ids[loop.facts.axis], made)
        counts = {x.facts.axis: _count(x, blocks[:at]) for at, x in enumerate(blocks)}
        own = [Alloc(private[name]) for name in private]
        return Launch(
            tuple((ids[axis], counts[axis]) for axis in sorted(counts)),
            tuple((ids[axis], axes[axis]) for axis in sorted(axes)),
            Block((*map(Alloc, shared), *own, *made)),
            span,
        )

    def uniform(
        self, block: Block, depth: int, numbers: Mapping[int, int], private: Mapping[str, Array]
    ) -> tuple[list[Array], list[_Item]]:
        """What all threads run alike, down to loops over threads; and the arrays that it makes for all of them."""
        shared: list[Array] = []
        out: list[_Item] = []
        for stmt in block.body:
            if isinstance(stmt, Alloc):
                if stmt.array.name not in private:
                    shared.append(_shared(stmt.array, stmt.span))
            elif isinstance(stmt, Let):
                if loads(stmt.value):
                    raise UnmappedError("a name in a block depends on values of arrays", stmt.span)
                out.append(stmt)
            elif isinstance(stmt, For) and not stmt.facts.axis and is_bound(stmt):
                more, items = self.uniform(stmt.body, depth + 1, numbers, private)
                shared += more
                out.append(_Uniform(stmt, (tuple(items),)))
            elif isinstance(stmt, If) and is_bound(stmt):
                if loads(stmt.condition):
                    raise UnmappedError("which threads run depends on values of arrays", stmt.span)
                parts = [self.uniform(x, depth, numbers, private) for x in blocks_of(stmt)]
                shared += [y for x, _ in parts for y in x]
                out.append(_Uniform(stmt, tuple(tuple(x) for _, x in parts)))
            else:
                inside = frozenset(numbers[x.label] for x in _stores(Block((stmt,))))
                _check_chain(stmt)
                out.append(_Phase(stmt, inside, depth))
        return shared, out


def _stores(block: Block) -> list[Assign | Reduce]:
    return [x for x in nodes(block) if isinstance(x, Assign | Reduce)]


def _phases(items: Sequence[_Item]) -> Iterator[_Phase]:
    for item in items:
        if isinstance(item, _Phase):
            yield item
        elif isinstance(item, _Uniform):
            for part in item.parts:
                yield from _phases(part)


@dataclass(frozen=True, slots=True)
class _Pending:
    """Statements that have run since the last barrier in the same iteration of the outermost `depth` loops as what
    comes next, and in an earlier one of the next loop where that is `carried`."""

    stores: frozenset[int]
    depth: int
    carried: bool = False

    def within(self, depth: int) -> _Pending:
        """The same as it is seen behind the loops inside of so many."""
        return self if self.depth < depth else _Pending(self.stores, depth)

    def before(self, depth: int) -> _Pending:
        """The same as the next iteration of the loop inside of so many sees it."""
        return self if self.depth <= depth else _Pending(self.stores, depth, True)


def _place(
    items: Sequence[_Item], pending: frozenset[_Pending], conflicts: Conflicts, depth: int
) -> tuple[list[_Item], frozenset[_Pending]]:
    """The items, in so many loops, with barriers, and what has run since the last one; `pending` has before them."""
    out: list[_Item] = []
    for item in items:
        match item:
            case _Phase():
                if any(conflicts.between(x.stores, item.stores, x.depth, x.carried) for x in pending):
                    out.append(Barrier())
                    pending = frozenset()
                out.append(item)
                pending |= {_Pending(item.stores, depth)}
            case _Uniform(stmt=For() as loop, parts=(part,)):
                _, end = _place(part, pending, conflicts, depth + 1)
                body, end = _place(part, pending | {x.before(depth) for x in end}, conflicts, depth + 1)
                out.append(_Uniform(loop, (tuple(body),)))
                pending |= {x.within(depth) for x in end}
            case _Uniform():
                made = [_place(part, pending, conflicts, depth) for part in item.parts]
                if any(x and isinstance(x[0], Barrier) for x, _ in made):
                    # All wait alike, and what comes behind need not again.
                    out.append(Barrier())
                    pending = frozenset()
                    made = [_place(part, pending, conflicts, depth) for part in item.parts]
                out.append(replace(item, parts=tuple(tuple(x) for x, _ in made)))
                pending = frozenset(x for _, end in made for x in end)
            case Let() | Barrier():
                out.append(item)
    return out, pending


@dataclass(frozen=True, slots=True)
class _Threads:
    """What one thread runs: `ids` name its own, `axes` are the threads of a block, `private` arrays its own."""

    ids: Mapping[str, str]
    axes: Mapping[str, int]
    private: Mapping[str, Array]

    def uniform(self, item: _Item) -> list[Stmt]:
        """What all threads run alike."""
        match item:
            case _Phase(stmt=stmt):
                return self.phase(stmt)
            case _Uniform(stmt=For() as loop, parts=(part,)):
                return [replace(loop, body=Block(tuple(y for x in part for y in self.uniform(x))))]
            case _Uniform(stmt=If() as test, parts=(then, otherwise)):
                parts = [Block(tuple(y for x in part for y in self.uniform(x))) for part in (then, otherwise)]
                return [replace(test, then=parts[0], otherwise=parts[1])]
            case _Uniform():
                raise AssertionError("a loop has one part, a test two")
            case Let() | Barrier():
                return [item]

    def phase(self, stmt: Stmt) -> list[Stmt]:
        """What one thread runs of a phase: nothing where it has no number along an axis."""
        own = {x.facts.axis for x in walk(stmt) if isinstance(x, For) and x.facts.axis}
        tests: list[Expr] = [
            Compare("eq", index(self.ids[axis]), index(0)) for axis, n in self.axes.items() if axis not in own and n > 1
        ]
        (made,) = map_block(self.bound, Block((self.without(stmt),))).body
        for test in tests:
            made = If(test, Block((made,)))
        return [made]

    def bound(self, stmt: Stmt) -> Stmt:
        """A loop over threads as the iteration of one."""
        if not isinstance(stmt, For) or not stmt.facts.axis:
            return stmt
        count = int(stmt.upper.value) if isinstance(stmt.upper, Const) else 0
        own = self.ids[stmt.facts.axis]
        body = Block((Let(stmt.var, index(own)), *stmt.body.body))
        if count < self.axes[stmt.facts.axis]:
            return If(Compare("lt", index(own), index(count)), body)
        return body

    def without(self, stmt: Stmt) -> Stmt:
        """A statement in which arrays of registers have no dimensions for threads."""

        def shorter(array: str, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
            return at[len(at) - len(self.private[array].shape) :] if array in self.private else at

        def load(x: Expr) -> Expr:
            return replace(x, index=shorter(x.array, x.index)) if isinstance(x, Load) else x

        def visit(x: Stmt) -> Stmt:
            x = map_exprs(lambda y: map_expr(load, y), x)
            return replace(x, index=shorter(x.array, x.index)) if isinstance(x, Assign | Reduce) else x

        (made,) = map_block(visit, Block((stmt,))).body
        return made


def _check_chain(stmt: Stmt) -> None:
    """That every store of a phase stands in all the loops over threads of the phase, each axis once."""
    axes = [x.facts.axis for x in walk(stmt) if isinstance(x, For) and x.facts.axis]

    def visit(block: Block, around: frozenset[str]) -> None:
        for x in block.body:
            if isinstance(x, Assign | Reduce) and around != frozenset(axes):
                raise UnmappedError("a statement stands between loops over threads", x.span)
            own = {x.facts.axis} if isinstance(x, For) and x.facts.axis else set()
            for part in blocks_of(x):
                visit(part, around | own)

    if len(set(axes)) < len(axes):
        raise UnmappedError("several loops over threads along an axis run without a barrier between them")
    visit(Block((stmt,)), frozenset())


def _extents(body: Block) -> dict[str, int]:
    """The threads along each axis: the most of all loops."""
    out: dict[str, int] = {}
    for x in walk(body):
        if isinstance(x, For) and x.facts.axis.startswith("thread"):
            if x.lower != index(0) or x.step != 1 or not isinstance(x.upper, Const):
                raise UnmappedError("a loop over threads does not go from 0 to a constant", x.span)
            out[x.facts.axis] = max(out.get(x.facts.axis, 1), int(x.upper.value))
    return out


def _registers(body: Block, axes: Mapping[str, int]) -> dict[str, Array]:
    """The arrays of registers that are made outside of loops over threads, without the dimensions that stand for these:
    the first ones, where each use is by the thread's own number."""
    loops = {x.var: x.facts.axis for x in walk(body) if isinstance(x, For) and x.facts.axis}
    outside = [x.array for x in _outside(body) if x.array.memory == "register" and x.array.shape]
    out: dict[str, Array] = {}
    for array in outside:
        uses = [at for name, at in _uses(body) if name == array.name]
        lost = _own_digits(array, uses, loops, axes)
        for d, extent in enumerate(array.shape[lost:], lost):
            over = {loops.get(x.name, "") if isinstance(x := at[d], Var) else "" for at in uses}
            if len(over) != 1 or extent != index(axes.get(next(iter(over)), 0)):
                break
            lost = d + 1
        if lost:
            out[array.name] = replace(array, shape=array.shape[lost:])
    return out


def _own_digits(
    array: Array, uses: Sequence[tuple[Expr, ...]], loops: Mapping[str, str], axes: Mapping[str, int]
) -> int:
    """The number of first dimensions of an array of registers that together are the number of a thread along an axis:
    in each use they are its digits, as loop coalescing leaves them; 0 where they are not."""
    extents = [int(x.value) for x in array.shape if isinstance(x, Const)]
    for count in range(2, len(extents) + 1):
        total = prod(extents[:count])
        threads = [x for x in loops if axes.get(loops[x]) == total and loops[x].startswith("thread")]
        digits = [_digits(x, extents[:count]) for x in threads]
        if digits and all(any(at[:count] == own for own in digits) for at in uses):
            axis = {loops[x] for at in uses for x, own in zip(threads, digits, strict=True) if at[:count] == own}
            return count if len(axis) == 1 else 0
    return 0


def _digits(thread: str, extents: Sequence[int]) -> tuple[Expr, ...]:
    """The digits of a number to the bases `extents`, the first of which is the highest."""
    out: list[Expr] = []
    for place, extent in enumerate(extents):
        number: Expr = Binary("floordiv", index(thread), index(prod(extents[place + 1 :])))
        out.append(simplify(number if place == 0 else Binary("mod", number, index(extent))))
    return tuple(out)


def _outside(block: Block) -> Iterator[Alloc]:
    """What is made outside of loops over threads."""
    for stmt in block.body:
        if isinstance(stmt, Alloc):
            yield stmt
        elif not isinstance(stmt, For) or not stmt.facts.axis:
            for part in blocks_of(stmt):
                yield from _outside(part)


def _uses(block: Block) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    for stmt in walk(block):
        if isinstance(stmt, Assign | Reduce):
            yield stmt.array, stmt.index
        for x in expressions(stmt):
            yield from ((load.array, load.index) for load in loads(x))


def _shared(array: Array, span: Span | None) -> Array:
    """A local array as all threads of a block have it."""
    if any(not isinstance(x, Const) for x in array.shape):
        raise UnmappedError(f"`{array.name}` has no constant extents, and all threads of a block share it", span)
    return replace(array, memory="shared")


def _count(loop: For, around: Sequence[For]) -> Expr:
    """The number of blocks of a loop: the most that it has in any iteration of those around."""
    length = simplify(Binary("sub", loop.upper, loop.lower))
    found = outer_bound(length, around, True)
    if found is None:
        raise UnmappedError(f"the number of blocks of `{loop.var}` is not known", loop.span)
    return simplify(Binary("floordiv", Binary("add", found, index(loop.step - 1)), index(loop.step)))


def _in_block(loop: For, around: Sequence[For], own: str, body: list[Stmt]) -> list[Stmt]:
    """What a block runs: nothing where it has no iteration."""
    at = simplify(Binary("add", loop.lower, Binary("mul", index(loop.step), Var(own, INDEX))))
    named: list[Stmt] = [Let(loop.var, at)]
    length = simplify(Binary("sub", loop.upper, loop.lower))
    if any(x.var in variables(length) for x in around):
        return [*named, If(Compare("lt", index(loop.var), loop.upper), Block(tuple(body)))]
    return [*named, *body]
