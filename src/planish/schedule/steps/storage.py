"""Steps on the form of a buffer: its dimensions, its memory, and which buffers share their cells.

>>> from planish.schedule.example import show_step
>>> text = "alloc s: f32[8] stack for i in 0 .. 8 { s[i] = A[i] } B[0] = s[0]"
>>> show_step(text, SplitDim("s: _", 0, 4))
alloc s: f32[2, 4] stack
for i in 0 .. 8 {
  s[i // 4, i % 4] = A[i]
}
B[0] = s[0, 0]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Expr, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Kernel, Memory
from planish.isa.instruction import MemoryKind
from planish.poly.isl.affine import NotAffineError, constant_of
from planish.poly.match.matcher import MismatchError, register_rank
from planish.poly.scop.dependence import find_flow
from planish.poly.scop.extraction import extract_scop
from planish.schedule.accesses import Indices, redirect
from planish.schedule.nodes import Siblings, edit, exchange, siblings_of
from planish.schedule.program import Change, Program, Target


@dataclass(frozen=True, slots=True)
class SplitDim:
    """Make two dimensions of one of a buffer: blocks of `factor`, and the places in a block.

    >>> from planish.schedule.example import show_step
    >>> from planish.schedule.steps.buffers import BindExpr, LiftAlloc
    >>> steps = LiftAlloc("b: _"), SplitDim("b: _", 0, 4)
    >>> show_step("for i in 0 .. 8 { A[i] = B[i] }", BindExpr("A[_] = _", "B", "b"), *steps)
    alloc b: f32[2, 4] stack
    for i in 0 .. 8 {
      b[i // 4, i % 4] = B[i]
      A[i] = b[i // 4, i % 4]
    }
    """

    buffer: Target
    dimension: int
    factor: int

    def rewrite(self, program: Program) -> Change:
        """E0606 where the factor does not divide the dimension."""
        node = find_buffer(program, self.buffer, self.dimension)
        array, d = node.array, self.dimension
        extent = array.shape[d]
        count = None if extent is None else constant_of(extent)
        if self.factor < 1 or count is None or count % self.factor:
            message = f"{self.factor} does not divide dimension {d} of `{array.name}`"
            raise PlanishError(Diagnostic("E0606", message, help="choose a divisor of its constant extent"))
        factor = index(self.factor)
        shape = (*array.shape[:d], index(count // self.factor), factor, *array.shape[d + 1 :])

        def split(at: Indices) -> Indices:
            return (*at[:d], Binary("floordiv", at[d], factor), Binary("mod", at[d], factor), *at[d + 1 :])

        return _reshaped(program, node, replace(array, shape=shape), split)


@dataclass(frozen=True, slots=True)
class ReorderDims:
    """Put the dimensions of a buffer in another order.

    >>> from planish.schedule.example import show_step
    >>> from planish.schedule.steps.buffers import BindExpr, LiftAlloc
    >>> steps = LiftAlloc("t: _", 2), ReorderDims("t: _", (1, 0))
    >>> text = "for i in 0 .. 4 { for j in 0 .. 8 { M[i, j] = A[i] } }"
    >>> show_step(text, BindExpr("M[_] = _", "A", "t"), *steps)
    alloc t: f32[8, 4] stack
    for i in 0 .. 4 {
      for j in 0 .. 8 {
        t[j, i] = A[i]
        M[i, j] = t[j, i]
      }
    }
    """

    buffer: Target
    order: tuple[int, ...]

    def rewrite(self, program: Program) -> Change:
        """E0606 where that is no order of its dimensions."""
        node = find_buffer(program, self.buffer, 0)
        array = node.array
        if sorted(self.order) != list(range(len(array.shape))):
            message = f"{self.order} is no order of the {len(array.shape)} dimensions of `{array.name}`"
            raise PlanishError(Diagnostic("E0606", message, help="name each dimension once, from 0 on"))
        shape = tuple(array.shape[d] for d in self.order)
        return _reshaped(program, node, replace(array, shape=shape), lambda at: tuple(at[d] for d in self.order))


@dataclass(frozen=True, slots=True)
class SetLayout:
    """Say how a buffer lies in memory, from the outermost dimension to the innermost: each of its dimensions as it is,
    by its number, or cut into blocks (`0 / 4`) and the places in a block (`0 % 4`).

    >>> from planish.schedule.example import show_step
    >>> text = "alloc t: f32[8, 3] stack for i in 0 .. 8 { for j in 0 .. 3 { t[i, j] = A[i] } } B[0] = t[5, 2]"
    >>> show_step(text, SetLayout("t: _", ("0 / 4", "1", "0 % 4")))
    alloc t: f32[2, 3, 4] stack
    for i in 0 .. 8 {
      for j in 0 .. 3 {
        t[i // 4, j, i % 4] = A[i]
      }
    }
    B[0] = t[1, 2, 1]
    """

    buffer: Target
    layout: tuple[str, ...]

    def rewrite(self, program: Program) -> Change:
        """E0606 where that does not name each dimension once, or cuts it by what does not divide its extent."""
        node = find_buffer(program, self.buffer, 0)
        array, parts = node.array, [_read_part(x) for x in self.layout]
        whole = {(d, "", 1) for d in range(len(array.shape))}
        blocks = {(d, sign, factor) for d, _, factor in parts for sign in "/%" if factor > 1 and d < len(array.shape)}
        wanted = {x for x in whole if all(x[0] != d for d, *_ in blocks)} | blocks
        if len(parts) != len(wanted) or set(parts) != wanted:
            message = f"({', '.join(self.layout)}) is no layout of the {len(array.shape)} dimensions of `{array.name}`"
            advice = 'name each dimension once: as "0", or by the two parts "0 / 4" and "0 % 4"'
            raise PlanishError(Diagnostic("E0606", message, help=advice))
        for d, factor in sorted({(d, factor) for d, _, factor in blocks}):
            extent = array.shape[d]
            count = None if extent is None else constant_of(extent)
            if count is None or count % factor:
                message = f"{factor} does not divide dimension {d} of `{array.name}`"
                raise PlanishError(Diagnostic("E0606", message, help="choose a divisor of its constant extent"))

        def place(at: Indices) -> Indices:
            return tuple(_part_of(at[d], sign, factor) for d, sign, factor in parts)

        extents: list[Expr | None] = []
        for d, sign, factor in parts:
            extent = array.shape[d]
            cut = sign == "/" and extent is not None
            extents.append(index(factor) if sign == "%" else _part_of(extent, sign, factor) if cut else extent)
        shape = tuple(x if x is None else simplify(x) for x in extents)
        return _reshaped(program, node, replace(array, shape=shape), place)


def _read_part(text: str) -> tuple[int, str, int]:
    """A dimension's number, and which part of it (""  for all) in blocks of how many; E0606."""
    found = re.fullmatch(r"\s*(\d+)\s*(?:([/%])\s*(\d+)\s*)?", text)
    if found is None or (found[2] and int(found[3]) < 2):
        message = f"`{text}` is no part of a layout"
        raise PlanishError(Diagnostic("E0606", message, help='write "0", "0 / 4" or "0 % 4": blocks of two at least'))
    return int(found[1]), found[2] or "", int(found[3] or 1)


def _part_of(value: Expr | None, sign: str, factor: int) -> Expr:
    """The block in which a place is, or the place in the block."""
    assert value is not None
    if not sign:
        return value
    return Binary("floordiv" if sign == "/" else "mod", value, index(factor))


@dataclass(frozen=True, slots=True)
class PadDim:
    """Make a dimension of a buffer longer, so that rows begin elsewhere in the lines and banks of the cache.

    >>> from planish.schedule.example import show_step
    >>> show_step("alloc t: f32[4, 4] stack t[0, 0] = 0.0:f32", PadDim("t: _", 1, 3))
    alloc t: f32[4, 7] stack
    t[0, 0] = 0.0:f32
    """

    buffer: Target
    dimension: int
    by: int

    def rewrite(self, program: Program) -> Change:
        """E0606 where there is no such dimension, or it would be shorter."""
        node = find_buffer(program, self.buffer, self.dimension)
        extent = node.array.shape[self.dimension]
        if self.by < 0 or extent is None:
            message = f"dimension {self.dimension} of `{node.array.name}` is not made longer by {self.by}"
            raise PlanishError(Diagnostic("E0606", message, help="use 0 or more"))
        longer = simplify(Binary("add", extent, index(self.by)))
        shape = (*node.array.shape[: self.dimension], longer, *node.array.shape[self.dimension + 1 :])
        return _reshaped(program, node, replace(node.array, shape=shape), lambda at: at)


@dataclass(frozen=True, slots=True)
class FoldDim:
    """Keep only so many places of a buffer's dimension, used in turn: two of them are a double buffer.

    >>> from planish.schedule.example import show_step
    >>> text = "alloc t: f32[n] stack for i in 0 .. n { t[i] = A[i] B[i] = t[i] }"
    >>> show_step(text, FoldDim("t: _", 0, 2))
    alloc t: f32[2] stack
    for i in 0 .. n {
      t[i % 2] = A[i]
      B[i] = t[i % 2]
    }
    """

    buffer: Target
    dimension: int
    size: int

    def rewrite(self, program: Program) -> Change:
        """E0606 where the size is not positive; E0616 where a place would be written again while what is in it is
        needed; E0612 where that cannot be decided."""
        node, d = find_buffer(program, self.buffer, self.dimension), self.dimension
        if self.size < 1:
            message = f"`{node.array.name}` does not keep {self.size} places"
            raise PlanishError(Diagnostic("E0606", message, help="keep one or more"))
        size = index(self.size)
        folded = replace(node.array, shape=(*node.array.shape[:d], size, *node.array.shape[d + 1 :]))

        def fold(at: Indices) -> Indices:
            return (*at[:d], Binary("mod", at[d], size), *at[d + 1 :])

        change = _reshaped(program, node, folded, fold)
        if not _same_flow(program.kernel, change.kernel, {node.array.name}):
            message = f"with {self.size} places in dimension {d}, `{node.array.name}` would lose what is still needed"
            raise PlanishError(Diagnostic("E0616", message, help="keep more places"))
        return change


@dataclass(frozen=True, slots=True)
class SetMemory:
    """Say in which memory a buffer is.

    >>> from planish.schedule.example import show_step
    >>> show_step("alloc t: f32[4] stack t[0] = 0.0:f32", SetMemory("t: _", "register"))
    alloc t: f32[4] register
    t[0] = 0.0:f32
    """

    buffer: Target
    memory: Memory

    def rewrite(self, program: Program) -> Change:
        """E0602 where there is no buffer; E0606 for registers where an extent is no constant; E0633 where there is no
        such memory, or the last dimensions of the buffer are not the lanes of one of its registers."""
        node = find_buffer(program, self.buffer, None)
        kind = program.catalogue.memory(self.memory)
        registers = self.memory == "register" or kind is not None
        if registers and any(x is None or constant_of(x) is None for x in node.array.shape):
            message = f"`{node.array.name}` has no constant extents, and registers are not counted at run time"
            raise PlanishError(Diagnostic("E0606", message, help="split the loops by constants first"))
        moved = replace(node.array, memory=self.memory)
        if kind is not None:
            _check_lanes(moved, kind)
        return _reshaped(program, node, moved, lambda at: at)


def _check_lanes(array: Array, kind: MemoryKind) -> None:
    """That the last dimensions of an array are the lanes of a register; PlanishError E0633."""
    advice = f"the last dimension has to be {kind.lanes(array.type)} elements of {array.type}"
    if array.type not in kind.types:
        message = f"a register of {kind.name} does not hold {array.type}"
        raise PlanishError(Diagnostic("E0633", message, help=f"it holds {', '.join(map(str, kind.types))}"))
    try:
        register_rank(array, kind.bits)
    except MismatchError as error:
        raise PlanishError(Diagnostic("E0633", error.reason, help=advice)) from error


@dataclass(frozen=True, slots=True)
class ReuseBuffer:
    """Put what one buffer holds into the cells of another one of the same type and shape, which is not needed then.

    >>> from planish.schedule.example import show_step
    >>> text = "alloc s: f32[] stack alloc t: f32[] stack s[] = A[0] B[0] = s[] t[] = A[1] B[1] = t[]"
    >>> show_step(text, ReuseBuffer("t: _", "s: _"))
    alloc s: f32[] stack
    s[] = A[0]
    B[0] = s[]
    s[] = A[1]
    B[1] = s[]
    """

    buffer: Target
    other: Target

    def rewrite(self, program: Program) -> Change:
        """E0606 where the other one is not there for all uses or has another form; E0616 where both are needed at once;
        E0612 where that cannot be decided."""
        one, other = find_buffer(program, self.buffer, None), find_buffer(program, self.other, None)
        kernel, a, b = program.kernel, one.array, other.array
        if (a.type, a.shape, a.memory) != (b.type, b.shape, b.memory) or a.name == b.name:
            message = f"`{a.name}` and `{b.name}` are not two buffers of the same type, shape and memory"
            raise PlanishError(Diagnostic("E0606", message, help="show the program to see what they are"))
        found = siblings_of(kernel.body, one.label)
        assert found is not None
        if not any(stmt is other for stmt in found[0][: found[1]]):
            message = f"`{b.name}` is not made before `{a.name}`, in the same block"
            raise PlanishError(Diagnostic("E0606", message, help="lift one of them with LiftAlloc"))

        def without(siblings: Siblings, place: int) -> Siblings:
            return (*siblings[:place], *siblings[place + 1 :])

        body = redirect(edit(kernel.body, one.label, without), a.name, lambda at: (b.name, at))
        if not _same_flow(kernel, replace(kernel, body=body), {a.name, b.name}):
            message = f"`{b.name}` still holds something that is needed where `{a.name}` is written, or the other way"
            raise PlanishError(Diagnostic("E0616", message, help="both are needed at once: keep them apart"))
        return Change(replace(kernel, body=body))


def _same_flow(before: Kernel, after: Kernel, buffers: Set[str]) -> bool:
    """Whether each statement of a nest reads what the same instances wrote as those of another nest, which differs in
    nothing but the cells, all in some buffers; PlanishError E0612 where that cannot be decided."""
    try:
        old, new = (find_flow(extract_scop(kernel), buffers) for kernel in (before, after))
    except NotAffineError as error:
        message = f"what is needed when cannot be decided: {error.reason}"
        raise PlanishError(Diagnostic("E0612", message, help="keep the buffers apart")) from error
    (flow, live), (new_flow, new_live) = old, new
    return bool(flow.is_equal(new_flow) and live.domain().is_equal(new_live.domain()))


def find_buffer(program: Program, target: Target, dimension: int | None) -> Alloc:
    node = program.path(target)[-1]
    if not isinstance(node, Alloc):
        raise PlanishError(Diagnostic("E0602", "the place is no buffer", help="point at one as in `b: _`"))
    if dimension is not None and not 0 <= dimension < len(node.array.shape):
        message = f"`{node.array.name}` has {len(node.array.shape)} dimensions, and none with number {dimension}"
        raise PlanishError(Diagnostic("E0606", message, help="dimensions count from 0"))
    return node


def _reshaped(program: Program, node: Alloc, array: Array, place: Callable[[Indices], Indices]) -> Change:
    """The kernel with another form of a buffer, its cells at other places."""
    body = redirect(program.kernel.body, array.name, lambda at: (array.name, place(at)))
    body = exchange(body, node.label, lambda x: (replace(node, array=array),))
    return Change(replace(program.kernel, body=simplify_block(body, assumptions=program.kernel.assumptions)))
