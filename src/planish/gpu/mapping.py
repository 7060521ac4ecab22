"""Maps a program to a device: independent loops become blocks and threads, neighbours in memory neighbouring threads.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n, m; A: f32[n, m], B: f32[m, n]) { for i in 0 .. n { for j in 0 .. m { B[j, i] = A[i, j] } } }"
>>> mapped = map_kernel(parse_kernel(text))
>>> from planish.schedule.script import print_script
>>> print(print_script(mapped.nests[0].steps).splitlines()[0])
split("i", 8, ("i_b", "i_t"), tail="short")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.names import free_name, take_name
from planish.core.span import Span
from planish.gpu.views import views_apart, with_views
from planish.ir.nest import Alloc, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import blocks_of, expressions, loads, map_block, used_names, variables, walk
from planish.ir.types import Floats
from planish.poly.canonical.privatise import rename_arrays
from planish.schedule.context import alone
from planish.schedule.legality import check_parallel
from planish.schedule.nodes import Node, label_kernel, path_to, put_in_place
from planish.schedule.program import Cursor, Program, Step
from planish.schedule.steps.bands import Reorder
from planish.schedule.steps.control import GuardLoop
from planish.schedule.steps.devices import Axis, BoundingBox, MapBlocks, MapThreads, PromoteRegisters
from planish.schedule.steps.kernels import RenameLoop
from planish.schedule.steps.loops import Split
from planish.schedule.steps.tree_reduction import TreeReduction
from planish.schedule.strides import coalescing

SHAPES: dict[int, tuple[int, ...]] = {1: (256,), 2: (8, 32), 3: (2, 4, 32)}
"""The threads of a block for so many independent loops, along z, y and x."""

ONCE, OFTEN = (512, 256), (2, 64)
"""The blocks of a sum and their threads: of one that is made once, and of one in a loop, which is mostly short."""


@dataclass(frozen=True, slots=True)
class MappedNest:
    """A nest in which loops are bound to blocks and threads: where it stands, how it was made, and so many loops that
    are mapped; `special`: by a technique of its own, not one iteration a thread."""

    span: Span | None
    steps: tuple[Step, ...]
    told: str
    loops: int
    special: bool = False


@dataclass(frozen=True, slots=True)
class Mapped:
    """A kernel whose nests are mapped, as far as they have independent loops; `serial`: so many statements run in one
    thread; `chosen`: those of the remarks that say what each nest became, not what was tried for it."""

    kernel: Kernel
    nests: tuple[MappedNest, ...]
    remarks: tuple[Remark, ...]
    chosen: tuple[Remark, ...]
    serial: int = 0

    @property
    def score(self) -> tuple[int, int, int]:
        """The less the better: statements in one thread, nests in which a single loop is mapped, launches."""
        return self.serial, sum(x.loops < 2 for x in self.nests), len(self.nests)


@dataclass(frozen=True, slots=True)
class Chain:
    """Independent loops directly inside of each other, outermost first."""

    loops: tuple[For, ...]

    @property
    def body(self) -> Block:
        """What is in all of them."""
        return self.loops[-1].body


Technique = Callable[[Program, Chain], tuple[Program, str] | None]
"""A way to map a chain, which is all of a program: the program with it, and what was done; None where it is not for
that one."""


@dataclass(slots=True)
class _Mapper:
    kernel: Kernel
    fp: Floats
    techniques: Sequence[Technique]
    plain: Sequence[Technique]
    nests: list[MappedNest] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    chosen: list[Remark] = field(default_factory=list)
    serial: int = 0
    made: dict[int, tuple[Stmt, ...]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    views: list[Kernel] = field(default_factory=list)

    def choose(self, remark: Remark) -> None:
        """Say what a nest becomes."""
        self.remarks.append(remark)
        self.chosen.append(remark)


def map_kernel(
    kernel: Kernel, fp: Floats = "reassociate", techniques: Sequence[Technique] = (), plain: Sequence[Technique] = ()
) -> Mapped:  # fmt: skip
    """The kernel with all its nests mapped that have independent loops; the first of the techniques that is for a nest
    is used, then of the `plain` ones, which are not special, else each thread runs one iteration. Each nest is mapped
    by steps on it alone."""
    mapper = _Mapper(label_kernel(kernel), fp, techniques, plain)
    _map_block(mapper, mapper.kernel.body)
    body = mapper.kernel.body
    for label, stmts in mapper.made.items():
        body = put_in_place(body, label, tuple(map(_unlabelled, stmts)))
    whole = with_views(replace(mapper.kernel, body=body), mapper.views)
    return Mapped(whole, tuple(mapper.nests), tuple(mapper.remarks), tuple(mapper.chosen), mapper.serial)


def _map_block(mapper: _Mapper, block: Block) -> None:
    for stmt in block.body:
        if isinstance(stmt, For):
            _map_loop(mapper, stmt)
        elif isinstance(stmt, If) and not loads(stmt.condition):
            for part in blocks_of(stmt):
                _map_block(mapper, part)
        elif isinstance(stmt, Assign | Reduce | If):
            mapper.serial += sum(isinstance(x, Assign | Reduce) for x in walk(stmt))


def _map_loop(mapper: _Mapper, loop: For) -> None:
    path = path_to(mapper.kernel.body, loop.label)
    program = _alone(mapper, path)
    chain = find_chain(program, program.loop(loop.var))
    if chain is None:
        program, chain = _interchanged(program, program.loop(loop.var))
    if chain is None:
        if any(_is_parallel(program, x) for x in walk(program.loop(loop.var).body) if isinstance(x, For)):
            _map_block(mapper, loop.body)
            return
        if _sum_up(mapper, loop, program):
            return
        mapper.serial += sum(isinstance(x, Assign | Reduce) for x in walk(loop))
        told = f"no iterations of `{loop.var}`, nor of loops in it, are independent: it runs in one thread"
        mapper.choose(Remark("map-serial", "refused", told, loop.span))
        return
    for technique in (*mapper.techniques, *mapper.plain, map_threads):
        try:
            made = technique(*named_apart(program, chain))
        except PlanishError as error:
            told = f"`{loop.var}`: {error.diagnostic.message}"
            mapper.remarks.append(Remark("map-refused", "refused", told, loop.span))
            continue
        if made is not None:
            mapped, told = made
            mapper.made[loop.label] = _in_kernel(mapper, program, mapped).body
            mapper.choose(Remark("map-launch", "done", told, loop.span))
            special = technique in mapper.techniques
            loops = min(3, len(chain.loops) + special)
            mapper.nests.append(MappedNest(loop.span, mapped.steps, told, loops, special))
            return
    mapper.serial += sum(isinstance(x, Assign | Reduce) for x in walk(loop))


def _interchanged(program: Program, loop: For) -> tuple[Program, Chain | None]:
    """The program in which a loop that carries dependences stands in the independent one that is all of it, and the
    chain that begins there; as it is, and None, where there is none, or that is not legal."""
    body = loop.body.body
    if len(body) == 1 and isinstance(inner := body[0], For) and inner.var != loop.var:
        with suppress(PlanishError):
            turned = program.apply(Reorder(cursor(program, loop), (inner.var, loop.var)))
            found = find_chain(turned, turned.loop(inner.var))
            if found is not None and len(found.loops) == 1:
                return turned, found
    return program, None


def _sum_up(mapper: _Mapper, loop: For, program: Program) -> bool:
    """Whether a loop that adds to one element is made in a tree of threads and blocks."""
    again = any(isinstance(x, For) for x in path_to(mapper.kernel.body, loop.label)[:-1])
    blocks, threads = OFTEN if again else ONCE
    name = free_name("partial", used_names(program.kernel))
    try:
        made = program.apply(TreeReduction(loop.var, name, blocks, threads))
    except PlanishError:
        return False
    mapper.made[loop.label] = _in_kernel(mapper, program, made).body
    told = f"`{loop.var}` is summed up by threads, by blocks, and over all blocks"
    mapper.choose(Remark("map-launch", "done", told, loop.span))
    mapper.nests.append(MappedNest(loop.span, made.steps, told, 2, True))
    return True


def _in_kernel(mapper: _Mapper, nest: Program, mapped: Program) -> Block:
    """What was made of a nest, where the arrays in memory that it got have names that nothing else in the kernel has:
    all launches have one workspace."""
    mapped = _with_views_apart(mapper, mapped)
    own = set(used_names(nest.kernel))
    added = [x.array for x in walk(mapped.kernel.body) if isinstance(x, Alloc) and x.array.name not in own]
    others = set(used_names(mapper.kernel)) | mapper.names
    taken = others | set(used_names(mapped.kernel))
    shared = [x.name for x in added if x.memory == "dram"]
    names = {x: take_name(x, taken) for x in shared if x in others}
    mapper.names |= {names.get(x, x) for x in shared}

    def rename(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Alloc) and stmt.array.name in names:
            return replace(stmt, array=replace(stmt.array, name=names[stmt.array.name]))
        return stmt

    return map_block(rename, rename_arrays(mapped.kernel.body, names))


def _with_views_apart(mapper: _Mapper, mapped: Program) -> Program:
    """The program of a nest whose derived sizes and arrays have names of their own, and are noted for the kernel."""
    if not mapped.kernel.derived:
        return mapped
    kernel = views_apart(mapped.kernel, set(used_names(mapper.kernel)) | mapper.names)
    mapper.names |= {x.name for x in kernel.derived}
    mapper.views.append(kernel)
    return replace(mapped, kernel=kernel)


def _unlabelled(stmt: Stmt) -> Stmt:
    """A statement of another kernel: labels are for one only."""
    (made,) = map_block(lambda x: x if isinstance(x, Block) else replace(x, label=0), Block((stmt,))).body
    return made


def _alone(mapper: _Mapper, path: Sequence[Node]) -> Program:
    """The program of the nest at the end of a path: what is around it are sizes and arrays of it."""
    kernel = alone(mapper.kernel, path, Block((path[-1],)))
    inside = {x.array.name for x in walk(path[-1]) if isinstance(x, Alloc)}
    made = [x.array for x in walk(mapper.kernel.body) if isinstance(x, Alloc) and x.array.name not in inside]
    local = tuple(replace(x, distinct=True, memory="dram") for x in made)
    bound = {x.name for x in kernel.arrays}
    return Program.of(replace(kernel, arrays=(*kernel.arrays, *(x for x in local if x.name not in bound))), mapper.fp)


def find_chain(program: Program, loop: For) -> Chain | None:
    """The independent loops that begin with one; None where it is not independent itself."""
    loops: list[For] = []
    at: For | None = loop
    while at is not None and _is_parallel(program, at):
        loops.append(at)
        body = at.body.body
        at = body[0] if len(body) == 1 and isinstance(body[0], For) else None
    return Chain(tuple(loops)) if loops else None


def _is_parallel(program: Program, loop: For) -> bool:
    if any(loads(x) for x in expressions(loop)):
        return False
    try:
        check_parallel(program.kernel, program.path(loop.label))
    except PlanishError:
        return False
    return True


def map_threads(program: Program, chain: Chain) -> tuple[Program, str] | None:
    """Each thread runs one iteration of up to three loops; sums in it are kept in registers."""
    order = order_loops(chain)
    mapped = order[-3:]
    shape = SHAPES[len(mapped)]
    program = boxed(program, chain)
    if [x.var for x in chain.loops] != [x.var for x in (*mapped, *order[:-3])]:
        program = program.apply(Reorder(cursor(program, chain.loops[0]), tuple(x.var for x in (*mapped, *order[:-3]))))
    program = to_blocks(program, [x.var for x in mapped], shape)
    program = keep_in_registers(program, f"{mapped[-1].var}_t")
    counts = " x ".join(str(x) for x in reversed(shape))
    return program, f"{', '.join(f'`{x.var}`' for x in mapped)} in blocks of {counts} threads"


def named_apart(program: Program, chain: Chain) -> tuple[Program, Chain]:
    """The program in which the loops of a chain have names that no other loop has, and the chain in it."""
    for loop in chain.loops:
        names = [x.var for x in walk(program.kernel.body) if isinstance(x, For)]
        if names.count(loop.var) > 1:
            fresh = take_name(loop.var, set(used_names(program.kernel)))
            program = program.apply(RenameLoop(cursor(program, loop), fresh))
    found = [program.path(x.label)[-1] for x in chain.loops]
    return program, Chain(tuple(x for x in found if isinstance(x, For)))


def cursor(program: Program, loop: For) -> Cursor:
    """A cursor to a loop."""
    return program.cursor(Cursor(program, loop.label))


def numbered(program: Program, name: str, number: int) -> Cursor:
    """A cursor to one of the loops of a name, in the order of the text."""
    found = [x.label for x in walk(program.kernel.body) if isinstance(x, For) and x.var == name]
    return Cursor(program, found[number])


def copies(program: Program, name: str) -> range:
    """The numbers of the loops of a name: versions of a loop, of which one may have turned out to be needless."""
    return range(sum(isinstance(x, For) and x.var == name for x in walk(program.kernel.body)))


def check_spread(program: Program) -> None:
    """That each store stands in a loop over threads; PlanishError E0604 where one would be made by a single thread."""

    def visit(block: Block, spread: bool) -> None:
        for stmt in block.body:
            if isinstance(stmt, Assign | Reduce) and not spread:
                message = "a part of the loop would be run by one thread"
                raise PlanishError(Diagnostic("E0604", message, stmt.span, help="let each thread have one iteration"))
            inside = isinstance(stmt, For) and stmt.facts.axis.startswith("thread")
            for part in blocks_of(stmt):
                visit(part, spread or inside)

    visit(program.kernel.body, False)


def boxed(program: Program, chain: Chain) -> Program:
    """The program in which the loops of a chain go over a box."""
    own = {x.var for x in chain.loops}
    for loop in chain.loops:
        if any(variables(x) & own for x in (loop.lower, loop.upper)):
            program = program.apply(BoundingBox(cursor(program, loop)))
            inner = program.path(loop.label)[-1]
            assert isinstance(inner, For)
    return program


def to_blocks(program: Program, names: Sequence[str], shape: Sequence[int]) -> Program:
    """The program with loops, outermost first, in blocks of so many threads; the innermost along x."""
    taken = set(used_names(program.kernel))
    split = [(x, take_name(f"{x}_b", taken), take_name(f"{x}_t", taken)) for x in names]
    for (name, outer, inner), size in zip(split, shape, strict=True):
        program = program.apply(Split(name, size, (outer, inner), tail="short"))
    outers, inners = tuple(x[1] for x in split), tuple(x[2] for x in split)
    if len(names) > 1:
        program = program.apply(Reorder(outers[0], (*outers, *inners)))
    axes: tuple[Axis, ...] = ("x", "y", "z")
    for name, axis in zip(outers, reversed(axes[: len(names)]), strict=True):
        # Of few iterations, as many as is known, there is one block and no loop.
        program = program.apply(MapBlocks(name, axis)) if program.has(name) else program
    for name, axis, size in zip(inners, reversed(axes[: len(names)]), shape, strict=True):
        program = program.apply(MapThreads(name, axis, size))
    return program


def order_loops(chain: Chain) -> list[For]:
    """The loops of a chain, outermost first: last the one along which most accesses go from element to element."""
    best = max(chain.loops, key=lambda x: (coalescing(chain.body, x.var), chain.loops.index(x)))
    return [*(x for x in chain.loops if x is not best), best]


def keep_in_registers(program: Program, thread: str) -> Program:
    """The program in which what each thread adds up in a loop stays in a register while the loop runs."""
    for label in [x.label for x in walk(program.loop(thread).body) if isinstance(x, For)]:
        loop = program.path(label)[-1]
        assert isinstance(loop, For)
        inside = {x.var for x in walk(loop) if isinstance(x, For)}
        stored = [x for x in walk(loop.body) if isinstance(x, Assign | Reduce) and x.index]
        for name in dict.fromkeys(x.array for x in stored if not _varies(x, inside)):
            own = take_name(f"own_{name}", set(used_names(program.kernel)))
            with suppress(PlanishError):
                guarded = program.apply(GuardLoop(Cursor(program, label)))
                program = guarded.apply(PromoteRegisters(Cursor(guarded, label), name, own))
    return program


def _varies(stmt: Assign | Reduce, inside: set[str]) -> bool:
    return any(variables(x) & inside for x in stmt.index)
