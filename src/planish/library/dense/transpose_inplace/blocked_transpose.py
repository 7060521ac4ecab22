"""The in-place transpose strategy: swaps pairs of blocks that are transposed in registers.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> swap = "alloc t: f64[] t[] = A[i, j] A[i, j] = A[j, i] A[j, i] = t[]"
>>> kernel = parse_kernel("kernel k(n; A: f64[n, n]) { for i in 0 .. n { for j in 0 .. i { %s } } }" % swap)
>>> [x.name for x in mirror_versions(prepare(kernel), load_target("x86-avx2"))]
['transpose-inplace']
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planish.core.diagnostic import PlanishError, Remark
from planish.ir.expr import Compare, Const, Expr, Load, Var, index
from planish.ir.index.polynomial import add
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import arrays_in, blocks_of, flatten, used_names, variables, walk, with_blocks
from planish.ir.types import BOOL
from planish.library.dense.transpose_inplace.block_pairs import BLOCK, has_mirror, make_mirror
from planish.library.dense.transpose_inplace.copy_nests import InplaceTranspose, find_mirror
from planish.library.kernels.vectors import choose_movable
from planish.poly.isl.affine import NotAffineError
from planish.raising.expansion import inline
from planish.raising.operation import Operation
from planish.raising.raised import Apply, View
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.context import region
from planish.schedule.nodes import label_kernel, path_to
from planish.target.machine import Target

NAME = "transpose-inplace"
"""What the version is called."""


def mirror_versions(prepared: Prepared, target: Target, size: int = BLOCK) -> tuple[Version, ...]:
    """The version of a kernel in which matrices that are transposed where they are, are so by squares, those of a
    block of so many rows and columns after each other; none where there are none."""
    kernel = label_kernel(prepared.kernel)
    making = _Making(kernel, target, size)
    body = flatten(making.replaced(kernel.body).body)
    if not making.remarks:
        return ()
    used = {y for x in body for y in arrays_in(x)}
    block = Block(tuple(x for x in body if not isinstance(x, Alloc) or x.array.name in used))
    assumptions = tuple(dict.fromkeys((*kernel.assumptions, *making.conditions)))
    made = replace(kernel, body=simplify_block(block, assumptions=assumptions), assumptions=assumptions)
    return (Version(NAME, prepared.scop.schedule, made, tuple(making.remarks), 0.0),)


def find_exchanges(kernel: Kernel) -> tuple[Stmt, ...]:
    """The loops that only exchange elements, of which some may transpose a matrix."""
    return tuple(x for x in walk(kernel.body) if isinstance(x, For) and _exchanges(x))


@dataclass(slots=True)
class _Making:
    """A kernel on its way: what has to be asked, and what was done."""

    kernel: Kernel
    target: Target
    size: int
    conditions: list[Expr] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    def replaced(self, block: Block) -> Block:
        """Statements with those by squares in place of those that transpose matrices."""
        return Block(tuple(self.nest(x) or with_blocks(x, [*map(self.replaced, blocks_of(x))]) for x in block.body))

    def is_shared(self, loop: For) -> bool:
        """Whether what a loop leaves in a local array may be used elsewhere."""
        inside, own = list(arrays_in(loop)), {x.name for x in self.kernel.arrays}
        everywhere = list(arrays_in(self.kernel.body))
        return any(everywhere.count(x) > inside.count(x) for x in {*inside} - own)

    def find(self, loop: For) -> InplaceTranspose | None:
        """The matrix that a loop transposes where it is, with what has to hold for that known before the kernel runs;
        None where it does something else."""
        if not _exchanges(loop) or self.is_shared(loop):
            return None
        nest = region(self.kernel, path_to(self.kernel.body, loop.label), Block((loop,)))
        found = find_mirror(nest, {x.name for x in self.kernel.arrays})
        if found is None:
            return None
        known = {*self.kernel.sizes}
        return found if all(variables(x) <= known for x in _asked(found, self.kernel.array(found.array))) else None

    def nest(self, stmt: Stmt) -> Stmt | None:
        """The nest that does by squares what a loop does; None where that transposes no matrix, or there are no
        instructions for it."""
        try:
            found = self.find(stmt) if isinstance(stmt, For) else None
            if found is None:
                return None
            array = self.kernel.array(found.array)
            vectors = choose_movable(self.target, array.type)
        except (NotAffineError, PlanishError):
            return None
        if not has_mirror(vectors):
            return None
        self.conditions += _asked(found, array)
        size = f"{vectors.lanes} x {vectors.lanes}"
        what = f"in-place transposition by blocks of {size}, which are transposed in registers"
        self.remarks.append(Remark(NAME, "done", what, stmt.span if isinstance(stmt, For) else None))
        return _inlined(found, make_mirror(vectors, self.size), array, {*used_names(self.kernel)})


def _exchanges(loop: For) -> bool:
    """Whether a loop only copies elements, several of them."""
    inside = [x for x in walk(loop) if isinstance(x, Assign | Reduce | Let)]
    copies = [x for x in inside if isinstance(x, Assign)]
    return len(copies) > 1 and all(not isinstance(x, Reduce) and isinstance(x.value, Load | Var) for x in inside)


def _asked(found: InplaceTranspose, array: Array) -> list[Expr]:
    """What has to hold so that rows of a matrix do not run into each other, but for what is known to."""
    first = found.start[-1]
    tests = (Compare("ge", first, index(0)), Compare("ge", _width(array), add(first, found.order)))
    return [x for x in map(simplify, tests) if x != Const(True, BOOL)]


def _width(array: Array) -> Expr:
    """The distance between rows, which is known where there are any."""
    width = array.shape[-1]
    assert width is not None
    return width


def _inlined(found: InplaceTranspose, mirror: Kernel, array: Array, taken: set[str]) -> Stmt:
    """The kernel's nest for a matrix, with names that are not taken."""
    rank = len(found.start)
    steps = tuple(tuple(int(d == rank - 2 + i) for d in range(rank)) for i in range(2))
    view = View(array.name, found.start, steps, (found.order, found.order))
    step = Apply(Operation(NAME, mirror), {"a": view}, {"n": found.order, "lda": _width(array)})
    return inline(step, {array.name: array}, taken)
