"""Steps on memory: parts of an array are staged in a buffer near their use, buffers are moved and reshaped.

>>> from planish.schedule.example import show_step
>>> show_step("for i in 0 .. n { for j in 0 .. m { B[i] += M[i, j] } }", StageMem("j", "B", "b"))
for i in 0 .. n {
  alloc b: f32[] stack
  b[] = B[i]
  for j in 0 .. m {
    b[] += M[i, j]
  }
  B[i] = b[]
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.conditional_accesses import read_always
from planish.ir.expr import Binary, Compare, Const, Expr, Load, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Memory, Reduce, Stmt
from planish.ir.traverse import expressions, loads, map_expr, variables, walk
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.expression import extreme_expr
from planish.poly.scop.dependence import is_live_in
from planish.poly.scop.extraction import Scop
from planish.schedule.accesses import Indices, find_array, redirect, uses
from planish.schedule.context import always, region
from planish.schedule.names import check_fresh
from planish.schedule.nodes import Node, Siblings, edit, exchange, siblings_of
from planish.schedule.program import Change, Program, Target

SET = isl.dim_type.set


@dataclass(frozen=True, slots=True)
class StageMem:
    """Use a buffer in place of the part of an array that a statement (with all in it) touches: the part is copied in
    before, if anything of it is needed, and copied out after, if anything is written.

    The part is the smallest box around the cells. `accumulate`: the statement only adds to the array; the buffer
    starts with zeros and is added to the array after. `clip`: only as much of the box is copied as there is, where
    loops are shorter at an edge. `rest`: the buffer serves all statements behind it in its block as well.

    >>> from planish.schedule.example import show_step
    >>> step = StageMem("i", "A", "a", accumulate=True)
    >>> head = "kernel f(m; A: f32[4], B: f32[m])"
    >>> show_step("for i in 0 .. 4 { for j in 0 .. m { A[i] += B[j] } }", step, head=head)
    alloc a: f32[4] stack
    for a_0 in 0 .. 4 {
      a[a_0] = 0.0:f32
    }
    for i in 0 .. 4 {
      for j in 0 .. m {
        a[i] += B[j]
      }
    }
    for a_0 in 0 .. 4 {
      A[a_0] += a[a_0]
    }
    """

    around: Target
    array: str
    name: str
    memory: Memory = "stack"
    accumulate: bool = False
    clip: bool = False
    rest: bool = False

    def rewrite(self, program: Program) -> Change:
        """E0606 where the array is not used there, its part has no constant extents or reaches further than the array,
        or is not only added to (`accumulate`); E0633 for an unknown memory."""
        kernel, path = program.kernel, program.path(self.around)
        program.catalogue.memory(self.memory)
        found = siblings_of(kernel.body, path[-1].label)
        assert found is not None
        siblings, place = found
        taken = Block(siblings[place:] if self.rest else (path[-1],))
        array, part = self.part(program, path, taken)
        names = [f"{self.name}_{d}" for d in part.kept]
        check_fresh(kernel, self.name, *names)
        if self.accumulate:
            _check_only_added(program, taken, self.array)

        def moved(at: Indices) -> tuple[str, Indices]:
            return self.name, tuple(simplify(Binary("sub", at[d], part.lowers[d])) for d in part.kept)

        inside = simplify_block(redirect(taken, self.array, moved)).body
        made = (Alloc(part.buffer(self.name, array, self.memory)), *self._before(array, part, names), *inside)
        made = (*made, *self._after(array, part, names))
        end = place + len(taken.body)
        return Change(
            replace(kernel, body=edit(kernel.body, path[-1].label, lambda x, at: (*x[:at], *made, *x[end:])))
        )  # fmt: skip

    def part(self, program: Program, path: Sequence[Node], body: Block | None = None) -> tuple[Array, StagedBox]:
        """The array and the part of it that is staged, for a statement or for some that begin with it (`body`);
        PlanishError E0606."""
        kernel, body = program.kernel, body or Block((path[-1],))
        array = find_array(kernel, self.array)
        local = any(isinstance(x, Alloc) and x.array.name == self.array for x in walk(body))
        if array is None or local or not uses(body, self.array):
            message = f"`{self.array}` is made in there" if local else f"`{self.array}` is not used there"
            raise PlanishError(Diagnostic("E0606", message, help="name an array that the statement uses"))
        try:
            part = StagedBox.of(region(kernel, path, body), array, self.clip)
        except NotAffineError as error:
            message = f"which cells of `{self.array}` are used is not known: {error.reason}"
            raise PlanishError(Diagnostic("E0606", message, help="stage arrays with affine subscripts")) from error
        unsure = _is_chosen(body, self.array)
        outside = not is_inside(kernel, path, array, part) if unsure or not part.is_used else False
        if outside and (unsure or not self.clip):
            message = f"the box around what is used of `{self.array}` may reach outside of the array"
            advice = "assume that the loops inside run, split off the edge, or copy what is there with clip=True"
            raise PlanishError(Diagnostic("E0606", message, help=advice))
        return array, part

    def _before(self, array: Array, part: StagedBox, names: Sequence[str]) -> tuple[Stmt, ...]:
        """What fills the buffer."""
        here, there = part.cells(names)
        if self.accumulate:
            zero = Const(0.0 if array.type.is_float else 0, array.type)
            return part.loops(names, Assign(self.name, here, zero))
        if part.copied_in:
            return part.loops(names, Assign(self.name, here, Load(self.array, there, array.type)))
        return ()

    def _after(self, array: Array, part: StagedBox, names: Sequence[str]) -> tuple[Stmt, ...]:
        """What brings its content back."""
        here, there = part.cells(names)
        value = Load(self.name, here, array.type)
        if self.accumulate:
            return part.loops(names, Reduce(self.array, there, "add", value))
        return part.loops(names, Assign(self.array, there, value)) if part.written else ()


@dataclass(frozen=True, slots=True, eq=False)
class StagedBox:
    """The box of cells that a region uses: where it begins, as expressions over what is around, its extents at most,
    and how many cells are copied; whether all of the box is always used, any of it is written, and what is in it is
    needed first."""

    lowers: tuple[Expr, ...]
    extents: tuple[int, ...]
    counts: tuple[Expr, ...]
    is_used: bool
    written: bool
    copied_in: bool

    @property
    def kept(self) -> tuple[int, ...]:
        """The dimensions of the buffer: those in which the box has more than one cell."""
        return tuple(d for d, extent in enumerate(self.extents) if extent > 1)

    def buffer(self, name: str, array: Array, memory: Memory) -> Array:
        """An array for the box."""
        return Array(name, array.type, tuple(index(self.extents[d]) for d in self.kept), memory=memory)

    def cells(self, names: Sequence[str]) -> tuple[Indices, Indices]:
        """Where a cell of the box is in the buffer and in the array, given names for its place in the kept ones."""
        places = dict(zip(self.kept, map(index, names), strict=True))
        apart = (Binary("add", low, places.get(d, index(0))) for d, low in enumerate(self.lowers))
        return tuple(places.values()), tuple(map(simplify, apart))

    def loops(self, names: Sequence[str], inner: Stmt) -> tuple[Stmt, ...]:
        """Loops over the box around a statement."""
        for name, d in zip(reversed(names), reversed(self.kept), strict=True):
            inner = For(name, index(0), self.counts[d], 1, Block((inner,)))
        return (inner,)

    @staticmethod
    def of(scop: Scop, array: Array, clip: bool) -> StagedBox:
        """The part of an array; PlanishError E0606 where its extents are not constant, or none of it may be used
        (`clip`)."""
        cells = _cells(scop, array.name, (True, False))
        stored = _cells(scop, array.name, (True,))
        if clip and not scop.context.is_subset(cells.params()):
            message = f"for some sizes nothing of `{array.name}` is used there"
            raise PlanishError(Diagnostic("E0606", message, help="assume that the loops inside run"))
        lowers, extents, counts, box = [], [], [], isl.Set.universe(cells.get_space()).intersect_params(scop.context)
        for d in range(len(array.shape)):
            low, high = cells.dim_min(d), cells.dim_max(d)
            extent = high.sub(low).floor().max_val()
            if not extent.is_int():
                message = f"the part of `{array.name}` that is used has no constant extent in dimension {d}"
                advice = "split the loops by constants first, or stage inside of the loop that makes it large"
                raise PlanishError(Diagnostic("E0606", message, help=advice))
            lowers.append(simplify(extreme_expr(low, scop.context)))
            extents.append(int(extent.to_python()) + 1)
            last = high if clip else low.add_constant_val(isl.Val(extents[-1] - 1))
            counts.append(_count(low, last, scop) if clip else index(extents[-1]))
            box = box.intersect(_between(cells, low, last, d))
        # There are sizes for which nothing of it is used; these have an empty box here.
        used, surely = (bool(box.is_subset(x) and scop.context.is_subset(x.params())) for x in (cells, stored))
        needed = not surely or is_live_in(scop, {array.name})
        return StagedBox(tuple(lowers), tuple(extents), tuple(counts), used, not stored.is_empty(), needed)


def _cells(scop: Scop, array: str, writes: Sequence[bool]) -> isl.Set:
    """The cells of an array that are written (True) or read (False)."""
    out: isl.Set | None = None
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array == array and access.inexact:
                message = f"it is not known exactly which part of `{array}` is used: a subscript is not affine"
                raise PlanishError(Diagnostic("E0606", message, help="stage an array with affine subscripts"))
            if access.array == array:
                cells = access.relation.range()
                cells = cells if access.write in writes else isl.Set.empty(cells.get_space())
                out = cells if out is None else out.union(cells)
    if out is None:
        message = f"no statement uses `{array}` there"
        raise PlanishError(Diagnostic("E0606", message, help="name an array that the statement uses"))
    return out.intersect_params(scop.context)


def _is_chosen(block: Block, array: str) -> bool:
    """Whether an array is read in a branch of a choice, and so not always."""
    for stmt in walk(block):
        if isinstance(stmt, Assign | Reduce | Let):
            sure = {*read_always(stmt.value)}
            if any(load.array == array and load not in sure for load in loads(stmt.value)):
                return True
    return False


def _count(low: isl.PwAff, high: isl.PwAff, scop: Scop) -> Expr:
    """The number of cells from one to another, both functions of the parameters."""
    count = high.sub(low).add_constant_val(isl.Val(1))
    return simplify(extreme_expr(count, scop.context))


def _between(cells: isl.Set, low: isl.PwAff, high: isl.PwAff, dimension: int) -> isl.Set:
    """The points whose dimension lies between two functions of the parameters, both among them."""
    space = cells.get_space()
    value = isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), SET, dimension))
    return value.ge_set(low.insert_domain(space)).intersect(value.le_set(high.insert_domain(space)))


def is_inside(kernel: Kernel, path: Sequence[Node], array: Array, part: StagedBox) -> bool:
    """Whether the box is inside of the array wherever the statement runs."""
    for low, count, limit in zip(part.lowers, part.counts, array.shape, strict=True):
        last = Binary("add", low, count)
        if limit is None or not always(kernel, path, Compare("ge", low, index(0))):
            return False
        if not always(kernel, path, Compare("le", last, limit)):
            return False
    return True


def _check_only_added(program: Program, body: Block, array: str) -> None:
    for stmt in walk(body):
        added = isinstance(stmt, Reduce) and stmt.array == array and stmt.op == "add"
        wrong = isinstance(stmt, Assign | Reduce) and stmt.array == array and not added
        read = any(load.array == array for x in expressions(stmt) for load in loads(x))
        if wrong or read:
            message = f"`{array}` is not only added to there"
            raise PlanishError(Diagnostic("E0606", message, help="stage it without accumulate"))
        if added and isinstance(stmt, Reduce) and not program.reassociate:
            kind = find_array(program.kernel, array)
            if kind is not None and kind.type.is_float:
                message = f"the sums in `{array}` would be made in another order, which is not allowed"
                raise PlanishError(Diagnostic("E0606", message, help="allow it, or stage without accumulate"))


@dataclass(frozen=True, slots=True)
class BindExpr:
    """Load an array's element, which the statement needs in any case, into a scalar of its own before it.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = B[i] * B[i] }", BindExpr("A[_] = _", "B", "b"))
    for i in 0 .. n {
      alloc b: f32[] register
      b[] = B[i]
      A[i] = b[] * b[]
    }
    """

    at: Target
    array: str
    name: str

    def rewrite(self, program: Program) -> Change:
        """E0606 where the statement does not read the array."""
        node = program.path(self.at)[-1]
        check_fresh(program.kernel, self.name)
        found = read_always(node.value) if isinstance(node, Assign | Reduce) else ()
        load = next((x for x in found if x.array == self.array), None)
        if load is None or not isinstance(node, Assign | Reduce):
            message = f"the statement does not read `{self.array}` in any case"
            raise PlanishError(Diagnostic("E0606", message, help="point at an assignment that does"))
        bound = Load(self.name, (), load.type)
        value = map_expr(lambda x: bound if x == load else x, node.value)
        made = (
            Alloc(Array(self.name, load.type, (), memory="register")),
            Assign(self.name, (), load),
            replace(node, value=value),
        )
        return Change(replace(program.kernel, body=exchange(program.kernel.body, node.label, lambda x: made)))


@dataclass(frozen=True, slots=True)
class LiftAlloc:
    """Make a buffer outside of the loops around it, so many from the innermost on; with `expand`, each iteration has
    cells of its own, in a new first dimension, else they share theirs.

    >>> from planish.schedule.example import show_step
    >>> steps = BindExpr("A[_] = _", "B", "b"), LiftAlloc("b: _")
    >>> show_step("for i in 0 .. 4 { A[i] = B[i] }", *steps)
    alloc b: f32[4] stack
    for i in 0 .. 4 {
      b[i] = B[i]
      A[i] = b[i]
    }
    """

    buffer: Target
    loops: int = 1
    expand: bool = True

    def rewrite(self, program: Program) -> Change:
        """E0606 where there are fewer loops around, an extent would not be known there, or a value would reach another
        iteration."""
        path = program.path(self.buffer)
        node = path[-1]
        around = [x for x in path[:-1] if isinstance(x, For)][-self.loops :] if self.loops > 0 else []
        if not isinstance(node, Alloc) or len(around) != self.loops or not around:
            message = f"there is no buffer in {self.loops} loops here"
            raise PlanishError(Diagnostic("E0606", message, help="point at it as in `b: _`, and ask for fewer loops"))
        array, kernel = node.array, program.kernel
        if not self.expand:
            self._check_apart(program, path, around[0], array)
        new: list[Expr] = []
        at: list[Expr] = []
        if self.expand:
            for loop in around:
                new.append(_trips(kernel, path[: path.index(loop) + 1], loop))
                at.append(_trip(loop))
        memory = array.memory if not new or array.memory != "register" else "stack"
        outermost = around[0]
        place = path[: path.index(outermost) + 1]
        own = [_extent(kernel, place, x) for x in array.shape if x is not None]
        lifted = replace(array, shape=(*new, *own), memory=memory)
        if program.catalogue.memory(memory) is not None and any(not isinstance(x, Const) for x in new):
            message = f"`{array.name}` is in registers, whose number would not be a constant"
            raise PlanishError(Diagnostic("E0606", message, help="split the loops by constants first"))

        def without(siblings: Siblings, place: int) -> Siblings:
            return (*siblings[:place], *siblings[place + 1 :])

        body = edit(kernel.body, node.label, without)
        body = redirect(body, array.name, lambda own: (array.name, (*at, *own)))
        body = exchange(body, outermost.label, lambda loop: (replace(node, array=lifted), loop))
        return Change(replace(kernel, body=body))

    def _check_apart(self, program: Program, path: Sequence[Node], loop: For, array: Array) -> None:
        """That no iteration reads what another one left in the buffer."""
        within = path[: next(i for i, x in enumerate(path) if x is loop) + 2]
        try:
            left = is_live_in(region(program.kernel, within, loop.body), {array.name})
        except NotAffineError:
            left = True
        if left:
            message = f"an iteration may read from `{array.name}` what another one wrote"
            raise PlanishError(Diagnostic("E0606", message, help="lift it with expand=True"))


def _extent(kernel: Kernel, path: Sequence[Node], extent: Expr) -> Expr:
    """An extent where a statement stands; at least nothing."""
    sure = isinstance(extent, Const) or always(kernel, path, Compare("ge", extent, index(0)))
    return extent if sure else Binary("max", extent, index(0))


def _trips(kernel: Kernel, path: Sequence[Node], loop: For) -> Expr:
    count = simplify(Binary("sub", loop.upper, loop.lower))
    steps = simplify(Binary("floordiv", Binary("add", count, index(loop.step - 1)), index(loop.step)))
    if not variables(steps) <= set(kernel.sizes):
        message = f"the number of iterations of `{loop.var}` is not known outside of the loops"
        raise PlanishError(Diagnostic("E0606", message, help="split the loop by a constant first"))
    return _extent(kernel, path, steps)


def _trip(loop: For) -> Expr:
    """The number of an iteration, from 0."""
    passed = Binary("sub", index(loop.var), loop.lower)
    return simplify(Binary("floordiv", passed, index(loop.step)))
