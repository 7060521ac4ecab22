"""A kernel in blocks: parts of arrays are moved between memories by block transfers, while others are worked on.

Loops over blocks have these around what one block does: the transfers of the next block's parts are started, then the
block is worked on, then the transfers of what it has made are started. Parts have up to three buffers, used in turn.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.schedule.program import Program
>>> from planish.vliw.description import load_machine
>>> from planish.vliw.tiling.bands import BlockShape, in_blocks
>>> from planish.vliw.tiling.staging import stage
>>> kernel = parse_kernel("kernel f(A: f32[128], B: f32[128]) { for i in 0 .. 128 { B[i] = A[i] } }")
>>> shape = BlockShape((("i", 64),))
>>> program = in_blocks(Program.of(kernel), shape)
>>> composer = Composer(program.kernel, load_machine("ftmatrix"), "DDR", 32, overlap=False)
>>> nodes = stage(program, shape)
>>> made = composer.composed(nodes, lambda block, parts, loops, near: near.update(A=("AM",), B=("AM",)) or block.body)
>>> print(print_stmt(made.body.body[-1]))
{
  alloc A.near: f32[64] distinct @AM
  alloc B.near: f32[64] distinct @AM
  for i_t in 0 .. 2 {
    for A.0 in 0 .. 64 as DMADA 0 {
      A.near[A.0] = A[64 * i_t + A.0]
    }
    for wait in 0 .. 0 as DMAWAIT 0 {
    }
    for i in 0 .. 64 {
      B.near[i] = A.near[i]
    }
    for B.0 in 0 .. 64 as DMAAD 0 {
      B[64 * i_t + B.0] = B.near[B.0]
    }
    for wait in 0 .. 0 as DMAWAIT 0 {
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planish.ir.expr import Binary, Compare, Const, Expr, Load, Var, index
from planish.ir.index.polynomial import add, constant, sub
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Stmt
from planish.ir.traverse import substitute, variables
from planish.ir.types import INDEX
from planish.schedule.accesses import Indices, redirect
from planish.vliw.machine import VliwMachine
from planish.vliw.streams.moves import copied, find_transfer, mark, waited
from planish.vliw.streams.stream import RefusedError
from planish.vliw.tiling.extents import in_cases, in_cell
from planish.vliw.tiling.staging import BlockNode, Stage

Worker = Callable[[Block, "dict[str, Buffer]", Sequence[For], "dict[str, tuple[str, ...]]"], Sequence[Stmt]]
"""What becomes of the statements of one block, in which arrays are already near, inside of some loops over blocks; it
says in which memories these are to be."""


class SplitArrayError(RefusedError):
    """An array that is stored to would lie in several memories."""

    def __init__(self, array: str, memories: Sequence[str]) -> None:
        super().__init__(f"`{array}` is stored to, and would be in {' and in '.join(memories)}")
        self.array = array


@dataclass(frozen=True, slots=True)
class Buffer:
    """A place for the parts of an array: `array` is near, with a first dimension where it has several `phases`; which
    one is at work is in the cell `phase`. `channels`: of transfers to it, and from it (0: that of all that is waited
    for at once)."""

    stage: Stage
    array: Array
    phases: int
    channels: tuple[int, int]

    @property
    def phase(self) -> str:
        """The cell with the number of the part that is at work."""
        return f"{self.stage.array.name}.phase"

    @property
    def part(self) -> tuple[Expr, ...]:
        """The extents of the part, with the padding of its rows."""
        return tuple(x for x in self.array.shape[-len(self.stage.box.extents) :] if x is not None)

    def within(self, memories: tuple[str, ...]) -> Buffer:
        """In some memories."""
        return replace(self, array=replace(self.array, memory="+".join(memories)))

    def with_row(self, count: int) -> Buffer:
        """With rows of so many elements at least."""
        row = constant(self.part[-1])
        assert row is not None
        if row >= count:
            return self
        return replace(self, array=replace(self.array, shape=(*self.array.shape[:-1], index(count))))

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        total = self.array.type.size
        for x in self.array.shape:
            assert x is not None
            total *= constant(x) or 1
        return total

    def at(self, place: Sequence[Expr], phase: Expr | None = None) -> tuple[Expr, ...]:
        """Where a cell of the part lies."""
        if self.phases == 1:
            return tuple(place)
        return (phase or Load(self.phase, (), INDEX), *place)

    def here(self, place: Indices) -> tuple[str, Indices]:
        """The array, and where a cell of the part at work lies in it."""
        return self.array.name, self.at(place)

    @property
    def coming(self) -> str:
        """The cell with the number of the part after the one at work."""
        return f"{self.stage.array.name}.coming"

    def find_coming(self) -> list[Stmt]:
        """Statements after which it is known: the number after the last one is 0."""
        own, after = Load(self.phase, (), INDEX), Load(self.coming, (), INDEX)
        around = If(Compare("lt", index(self.phases - 1), after), Block((Assign(self.coming, (), index(0)),)))
        cell = Alloc(Array(self.coming, INDEX, (), memory="register"))
        return [cell, Assign(self.coming, (), Binary("add", own, index(1))), around]


@dataclass(slots=True)
class Composer:
    """Writes loops over blocks with transfers. `far`: where arrays lie; rows of buffers are multiples of `lanes`
    elements; `near`: the memories of each array's buffers, as what is done in blocks asks for them; `lifted`: what
    stands before a loop, by its name, because it is kept from one of its iterations to the next."""

    kernel: Kernel
    machine: VliwMachine
    far: str
    lanes: int
    overlap: bool = True
    buffers: dict[str, Buffer] = field(default_factory=dict)
    near: dict[str, tuple[str, ...]] = field(default_factory=dict)
    loops: list[For] = field(default_factory=list)
    lifted: dict[str, list[Stmt]] = field(default_factory=dict)
    used_channels: int = 1
    count: int = 0

    def composed(self, nodes: Sequence[BlockNode], work: Worker) -> Kernel:
        """The kernel whose arrays are far; `work` says what is done in a block."""
        body: list[Stmt] = [
            replace(x, array=replace(x.array, memory=self.far)) if x.array.shape else x
            for x in self.kernel.body.body if isinstance(x, Alloc)
        ]  # fmt: skip
        for node in nodes:
            self.used_channels = 1
            body.append(Block(tuple(self.node(node, work))))
        arrays = tuple(replace(x, memory=self.far) if x.shape else x for x in self.kernel.arrays)
        return replace(self.kernel, body=Block(tuple(body)), arrays=arrays)

    def node(self, node: BlockNode, work: Worker) -> list[Stmt]:
        """The loop of a node with all in it."""
        own = [self.buffer(x, node) for x in node.stages]
        for x in own:
            self.buffers[x.stage.array.name] = x
        loop = node.loop
        outer = self.loops[-1] if self.loops else None
        self.loops += [loop] if loop is not None else []
        inner: list[Stmt] = []
        for child in node.children:
            inner += self.node(child, work) if isinstance(child, BlockNode) else self.block(child, work)
        own = [self.buffers[x.stage.array.name].within(self.near[x.stage.array.name]) for x in own]
        before = self.lifted.pop(loop.var, []) if loop is not None else []
        early = [x for x in own if x.phases > 1 and x.stage.box.copied_in]
        plain = [x for x in own if x.phases == 1]
        rolling = [x for x in early if not x.stage.box.written] if _is_rolling(loop, outer) else []
        start: list[Stmt] = []
        body: list[Stmt] = []
        for x in own:
            cells: list[Stmt] = [Alloc(x.array)]
            if x.phases > 1:
                cells += [Alloc(Array(x.phase, INDEX, (), memory="register")), Assign(x.phase, (), index(0))]
                body += x.find_coming()
            if x in rolling and outer is not None:
                self.lifted.setdefault(outer.var, []).extend(cells)
            else:
                before += cells
        if loop is not None and early:
            start = self.first(loop, [x for x in early if x not in rolling], Compare("lt", loop.lower, loop.upper))
            body += [waited(self.machine, x.channels[0]) for x in early]
            later = add(Var(loop.var, INDEX), index(loop.step))
            more = Compare("lt", later, loop.upper)
            ahead = [y for x in early for y in self.fetch(x, {loop.var: later}, Load(x.coming, (), INDEX))]
            body += _under(more, ahead)
            if outer is not None and rolling:
                # What was fetched at the end of the outer loop's iteration before is there.
                begins = Compare("lt", Var(outer.var, INDEX), add(outer.lower, index(outer.step)))
                start += self.first(loop, rolling, begins)
                body += self.wrapped(loop, outer, rolling, more)
        for x in plain:
            if x.stage.box.copied_in:
                body += [*self.fetch(x, {}, None), waited(self.machine, 0)]
        body += inner
        for x in own:
            if x.stage.box.written:
                late = x.phases > 1
                body += [waited(self.machine, x.channels[1])] if late else []
                body += self.put(x)
                body += [] if late else [waited(self.machine, 0)]
        body += [Assign(x.phase, (), Load(x.coming, (), INDEX)) for x in own if x.phases > 1]
        behind = [waited(self.machine, x.channels[1]) for x in own if x.phases > 1 and x.stage.box.written]
        if loop is None:
            return [*before, *body]
        self.loops.remove(loop)
        return [*before, *start, replace(loop, body=Block(tuple(body))), *behind]

    def first(self, loop: For, buffers: Sequence[Buffer], condition: Expr) -> list[Stmt]:
        """The parts of the first block are fetched, where that is known to be needed or a condition holds."""
        moves = [y for x in buffers for y in self.fetch(x, {loop.var: loop.lower}, Load(x.phase, (), INDEX))]
        known = simplify(condition)
        return moves if isinstance(known, Const) and known.value else _under(condition, moves)

    def wrapped(self, loop: For, outer: For, buffers: Sequence[Buffer], more: Expr) -> list[Stmt]:
        """In the last iteration of a loop the parts are fetched that the first one needs when the loop runs again."""
        self.count += 1
        go = f"again.{self.count}"
        again = add(Var(outer.var, INDEX), index(outer.step))
        out: list[Stmt] = [Alloc(Array(go, INDEX, (), memory="register")), Assign(go, (), index(0))]
        out.append(If(Compare("lt", again, outer.upper), Block((Assign(go, (), index(1)),))))
        out.append(If(more, Block((Assign(go, (), index(0)),))))
        values: Mapping[str, Expr] = {loop.var: loop.lower, outer.var: again}
        moves = [y for x in buffers for y in self.fetch(x, values, Load(x.coming, (), INDEX))]
        return [*out, *_under(Compare("lt", index(0), Load(go, (), INDEX)), moves)]

    def block(self, block: Block, work: Worker) -> list[Stmt]:
        """What one block does, with its arrays near."""
        for name, buffer in self.buffers.items():
            lowers = buffer.stage.box.lowers

            def near(at: Indices, lowers: Indices = lowers, name: str = name) -> tuple[str, Indices]:
                return near_name(name), tuple(simplify(sub(x, low)) for x, low in zip(at, lowers, strict=True))

            block = redirect(block, name, near)
        out = list(work(block, self.buffers, tuple(self.loops), self.near))
        done = Block(tuple(out))
        for buffer in self.buffers.values():
            done = redirect(done, buffer.array.name, buffer.here)
        return list(done.body)

    def buffer(self, stage: Stage, node: BlockNode) -> Buffer:
        """The buffer of an array."""
        array = stage.array
        rows = [index(x) for x in stage.box.extents]
        rows[-1] = index(-(-stage.box.extents[-1] // self.lanes) * self.lanes)
        phases = stage.phases if self.overlap and node.loop is not None else 1
        wanted = (stage.box.copied_in, stage.box.written)
        if self.used_channels + sum(wanted) > self.machine.transfers.channels:
            phases = 1
        channels = [0, 0]
        if phases > 1:
            for n in (0, 1):
                if wanted[n]:
                    channels[n] = self.used_channels
                    self.used_channels += 1
        if phases > 1:
            # Vectors that are read at the end of a part may reach beyond it, where another one is being moved to.
            rows[0] = index((constant(rows[0]) or 0) + (self.lanes if len(rows) == 1 else 1))
        shape = (*([index(phases)] if phases > 1 else []), *rows)
        made = Array(near_name(array.name), array.type, shape, True)
        return Buffer(stage, made, phases, (channels[0], channels[1]))

    # Transfers

    def fetch(self, buffer: Buffer, values: Mapping[str, Expr], phase: Expr | None) -> list[Stmt]:
        """Start to bring a part near: to each memory where it is wanted."""
        out: list[Stmt] = []
        for number, memory in enumerate(self.near[buffer.stage.array.name]):
            if number:
                out.append(waited(self.machine, buffer.channels[0]))
            out += self.move(buffer, values, phase, (self.far, memory), buffer.channels[0])
        return out

    def put(self, buffer: Buffer) -> list[Stmt]:
        """Start to bring a part back."""
        memory, *others = self.near[buffer.stage.array.name]
        if others:
            raise SplitArrayError(buffer.stage.array.name, (memory, *others))
        return self.move(buffer, {}, None, (memory, self.far), buffer.channels[1])

    def move(
        self, buffer: Buffer, values: Mapping[str, Expr], phase: Expr | None, way: tuple[str, str], channel: int
    ) -> list[Stmt]:  # fmt: skip
        """A transfer of the part that belongs to some values of loops."""
        operation = find_transfer(self.machine, *way)
        array, box = buffer.stage.array, buffer.stage.box
        if operation is None:
            raise RefusedError(f"no block transfer goes from {way[0]} to {way[1]}")
        names = [f"{array.name}.{d}" for d in range(len(box.extents))]
        before: list[Stmt] = []
        counts: dict[str, Expr] = {}
        for n, x in zip(names, box.counts, strict=True):
            self.count += 1
            made, counts[n] = in_cell(f"count.{self.count}", substitute(in_cases(x, self.loops), values))
            before += made
        here = buffer.at([Var(x, INDEX) for x in names], phase)
        there = tuple(
            simplify(add(substitute(low, values), Var(x, INDEX))) for low, x in zip(box.lowers, names, strict=True)
        )
        near, far = Load(buffer.array.name, here, array.type), Load(array.name, there, array.type)
        target, source = (near, far) if way[0] == self.far else (far, near)
        return [*before, copied(target.array, target.index, source, counts, mark(operation, channel))]


def _is_rolling(loop: For | None, outer: For | None) -> bool:
    """Whether a loop over blocks always runs, as often in each iteration of the one around it."""
    if loop is None or outer is None:
        return False
    trip = constant(sub(loop.upper, loop.lower))
    return trip is not None and trip > 0 and outer.var not in variables(loop.lower)


def _under(condition: Expr, stmts: Sequence[Stmt]) -> list[Stmt]:
    """Transfers that are started where a condition holds; what they need to know is found out before."""
    moves = tuple(x for x in stmts if isinstance(x, For))
    return [*(x for x in stmts if not isinstance(x, For)), *([If(condition, Block(moves))] if moves else [])]


def near_name(array: str) -> str:
    """The name of an array's buffer."""
    return f"{array}.near"
