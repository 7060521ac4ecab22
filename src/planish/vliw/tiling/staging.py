"""Where parts of arrays are brought near: each array at the innermost loop over blocks at which its part still changes.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.vliw.tiling.bands import in_blocks
>>> text = "C[i, j] = 0.0:f32 for k in 0 .. 64 { C[i, j] += A[i, k] * B[k, j] }"
>>> text = f"for i in 0 .. 64 {{ for j in 0 .. 40 {{ {text} }} }}"
>>> kernel = parse_kernel(f"kernel f(A: f32[64, 64], B: f32[64, 40], C: f32[64, 40]) {{ {text} }}")
>>> shape = BlockShape((("i", 16), ("j", 32), ("k", 16)))
>>> (node,) = stage(in_blocks(Program.of(kernel), shape), shape)
>>> for x in node.walk(): print(x.loop.var if x.loop else "f", [(y.array.name, y.box.extents) for y in x.stages])
f []
i_t []
j_t [('C', (16, 32))]
k_t [('A', (16, 16)), ('B', (16, 32))]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from planish.core.diagnostic import PlanishError
from planish.ir.index.polynomial import build, constant, linear_in
from planish.ir.nest import Alloc, Array, Assign, Block, For, Reduce, Stmt
from planish.ir.traverse import expressions, loads, variables, walk
from planish.poly.isl.affine import NotAffineError
from planish.schedule.accesses import arrays_of
from planish.schedule.nodes import Node
from planish.schedule.program import Program
from planish.schedule.steps.buffers import StagedBox, StageMem
from planish.vliw.streams.stream import RefusedError
from planish.vliw.tiling.bands import BlockShape, block_loop, is_block_loop


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """The part of an array that is near while a block is worked on. `apart`: those of different blocks have no cell in
    common, so that one may be moved while another is worked on."""

    array: Array
    box: StagedBox
    apart: bool

    @property
    def phases(self) -> int:
        """How many buffers it takes to move parts while others are worked on."""
        if self.box.written:
            return 2 + self.box.copied_in if self.apart else 1
        return 2


@dataclass(slots=True, eq=False)
class BlockNode:
    """What is done for each block of a loop (or once: no loop): the parts that are brought near, then in turn other
    loops over blocks and statements of one block."""

    loop: For | None
    path: tuple[Node, ...]
    body: tuple[Stmt, ...]
    stages: list[Stage] = field(default_factory=list)
    children: list[BlockNode | Block] = field(default_factory=list)

    def walk(self) -> Iterator[BlockNode]:
        """Itself and the nodes in it."""
        yield self
        for x in self.children:
            if isinstance(x, BlockNode):
                yield from x.walk()


def stage(program: Program, shape: BlockShape) -> tuple[BlockNode, ...]:
    """The nests of a program in blocks, with what each brings near; RefusedError where a part has no constant size, or
    may lie outside of its array."""
    out: list[BlockNode] = []
    for stmt in program.kernel.body.body:
        if isinstance(stmt, Alloc):
            continue
        if not isinstance(stmt, For):
            raise RefusedError("statements beside the loops", getattr(stmt, "span", None))
        out.append(_Stager(program, shape).nest(stmt))
    return tuple(out)


@dataclass(frozen=True, slots=True)
class _Stager:
    """Finds the places of arrays in one nest."""

    program: Program
    shape: BlockShape

    def nest(self, nest: For) -> BlockNode:
        inside = self.node(nest) if is_block_loop(nest, self.shape) else Block((nest,))
        node = BlockNode(None, (nest,), (nest,), [], [inside])
        arrays = arrays_of(self.program.kernel)
        outer = {x.array.name for x in self.program.kernel.body.body if isinstance(x, Alloc)}
        outer |= {x.name for x in self.program.kernel.arrays}
        for name in sorted(_used(nest)):
            if name in outer and arrays[name].shape:
                self.place(node, arrays[name])
        return node

    def node(self, loop: For) -> BlockNode:
        """The tree of loops over blocks from one on."""
        body = loop.body.body
        first = next(x for x in body if not isinstance(x, Block))
        made = BlockNode(loop, self.program.path(first.label), body)
        rest: list[Stmt] = []
        for x in body:
            if isinstance(x, For) and is_block_loop(x, self.shape):
                made.children += [Block(tuple(rest))] if rest else []
                made.children.append(self.node(x))
                rest = []
            else:
                rest.append(x)
        made.children += [Block(tuple(rest))] if rest else []
        return made

    def place(self, top: BlockNode, array: Array) -> None:
        """Stage an array at the innermost node whose loop its part depends on, or at the loop that the shape names."""
        chain = [top]
        while (inner := _only_user(chain[-1], array.name)) is not None:
            chain.append(inner)
        wanted = dict(self.shape.kept).get(array.name)
        node, box = chain[-1], self.box(chain[-1], array)
        for outer in reversed(chain[:-1]):
            assert node.loop is not None
            if node.loop.var in _names(box) if wanted is None else node.loop.var == block_loop(wanted):
                break
            try:
                node, box = outer, self.box(outer, array)
            except RefusedError:
                break
        node.stages.append(Stage(array, box, node.loop is not None and _are_apart(box, node.loop)))

    def box(self, node: BlockNode, array: Array) -> StagedBox:
        """The part of an array that a node uses."""
        try:
            return StageMem("", array.name, "", clip=True).part(self.program, node.path, Block(node.body))[1]
        except PlanishError as error:
            raise RefusedError(error.diagnostic.message, node.loop.span if node.loop is not None else None) from error
        except NotAffineError as error:
            raise RefusedError(error.reason, node.loop.span if node.loop is not None else None) from error


def _only_user(node: BlockNode, name: str) -> BlockNode | None:
    """The one loop over blocks in which a node uses an array; None where there are several, or other statements do."""
    using = [x for x in node.children if name in _used(x if isinstance(x, Block) else Block(x.body))]
    return using[0] if len(using) == 1 and isinstance(using[0], BlockNode) else None


def _used(stmt: Stmt) -> set[str]:
    """The arrays that a statement accesses."""
    out: set[str] = set()
    for x in walk(stmt):
        out |= {x.array} if isinstance(x, Assign | Reduce) else set()
        out |= {y.array for e in expressions(x) for y in loads(e)}
    return out


def _names(box: StagedBox) -> set[str]:
    return {y for x in (*box.lowers, *box.counts) for y in variables(x)}


def _are_apart(box: StagedBox, loop: For) -> bool:
    """Whether boxes for different iterations of a loop have no cell in common."""
    for lower, extent in zip(box.lowers, box.extents, strict=True):
        found = linear_in(lower, loop.var)
        factor = constant(build(found[0])) if found is not None else None
        if factor is not None and abs(factor * loop.step) >= extent:
            return True
    return False


def stages_of(nodes: Sequence[BlockNode]) -> Iterator[tuple[BlockNode, Stage]]:
    """All that is brought near, with where."""
    for top in nodes:
        for node in top.walk():
            for x in node.stages:
                yield node, x
