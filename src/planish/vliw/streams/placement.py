"""In which memories the arrays of a kernel lie: those that the operations which access them can reach.

>>> LANES
'lanes'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planish.ir.expr import Cast, Expr, Load, type_of
from planish.ir.nest import Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.text.printer import print_expr
from planish.ir.traverse import blocks_of, children, expressions, loads, map_block, variables, walk
from planish.ir.types import INDEX, Type
from planish.vliw.streams.patterns import OperationPattern, PatternSet
from planish.vliw.streams.stream import RefusedError

LANES = "lanes"
"""The memory of local arrays that are vectors in registers: one element for each lane."""


def place_arrays(kernel: Kernel, patterns: PatternSet, arrays: Sequence[Array]) -> dict[str, tuple[str, ...]]:
    """The memory of each array: the one that it names (`A+B`: two), or that all its accesses reach; two where one is
    only read, by single elements and by vectors, and no memory serves both. RefusedError where there is none."""
    check_widths(kernel, patterns)
    names = {x.name for x in patterns.machine.memories}
    told = {x.name: tuple(x.memory.split("+")) for x in arrays if names.issuperset(x.memory.split("+"))}
    wanted: dict[str, set[tuple[int, bool]]] = {x.name: set() for x in arrays}
    for name, lanes, stored in _accesses(kernel.body, "", 0):
        if name in wanted:
            wanted[name].add((lanes, stored))
    return told | {x.name: _memories(x, wanted[x.name], patterns) for x in arrays if x.name not in told}


def check_widths(kernel: Kernel, patterns: PatternSet) -> None:
    """RefusedError where values of 64 bits are computed and the machine's counters, of the same type, have fewer: what
    counters are would be taken for them. Loops that are done by instructions compute none."""
    if patterns.counter.bits >= INDEX.bits:
        return
    body = map_block(lambda x: () if isinstance(x, For) and x.facts.instruction else x, kernel.body)
    for stmt in walk(body):
        values = [stmt.value] if isinstance(stmt, Assign | Reduce) else []
        values += [stmt.condition] if isinstance(stmt, If) else []
        for x in (y for value in values for y in _valued(value)):
            inner = x.operand if isinstance(x, Cast) else None
            wide = isinstance(x, Load) or (inner is not None and type_of(inner) != INDEX)
            if wide and type_of(x).is_int and type_of(x).bits > patterns.counter.bits:
                message = f"`{print_expr(x)}` has 64 bits, of which {patterns.machine.name} has no numbers"
                raise RefusedError(message, getattr(stmt, "span", None))


def _valued(x: Expr) -> Iterator[Expr]:
    """An expression and its parts, but for subscripts."""
    yield x
    for y in () if isinstance(x, Load) else children(x):
        yield from _valued(y)


def _memories(array: Array, wanted: set[tuple[int, bool]], patterns: PatternSet) -> tuple[str, ...]:
    order = sorted(patterns.machine.memories, key=lambda x: x.bytes)
    if not wanted:
        wanted = {(0, False), (0, True)}
    fits = {w: [m.name for m in order if serves(patterns, array.type, m.name, *w)] for w in wanted}
    common = [m.name for m in order if all(m.name in x for x in fits.values())]
    if common:
        return (common[0],)
    missing = next((w for w, x in fits.items() if not x), None)
    if missing is not None:
        what = f"vectors of {missing[0]} lanes" if missing[0] else "elements"
        verb = "stores" if missing[1] else "loads"
        raise RefusedError(f"no operation {verb} {what} of `{array.name}` ({array.type})")
    if any(stored for _, stored in wanted):
        raise RefusedError(f"`{array.name}` is used by vectors and by single elements, which lie in different memories")
    return tuple(dict.fromkeys(x[0] for x in fits.values()))


_SERVED: dict[tuple[int, Type, str, int, bool], tuple[PatternSet, bool]] = {}


def serves(patterns: PatternSet, kind: Type, memory: str, lanes: int, stored: bool) -> bool:
    """Whether an operation loads, or stores, elements of a type in a memory: one (`lanes` 0), or vectors."""
    """Whether some operation accesses a memory so; looked for once for each machine."""
    key = (id(patterns), kind, memory, lanes, stored)
    known = _SERVED.get(key)
    if known is None or known[0] is not patterns:
        found = any(_accesses_so(x, kind, memory, lanes, stored) for x in patterns.patterns)
        known = _SERVED[key] = (patterns, found)
    return known[1]


def _accesses_so(pattern: OperationPattern, kind: Type, memory: str, lanes: int, stored: bool) -> bool:
    """Whether an operation loads, or stores, elements of a type in a memory: one, or one for each lane."""
    if stored:
        own = pattern.result
        same = own.type.bits == kind.bits and own.type.is_float == kind.is_float
        return own.memory == memory and same and pattern.lanes == lanes
    for x in loads(pattern.value):
        own = pattern.operation.definition.array(x.array)
        if own.memory == memory and _alike(x.type, kind) and (pattern.lanes if x.index else 0) == lanes:
            return True
    return False


def _alike(own: Type, kind: Type) -> bool:
    return own.bits == kind.bits and own.is_float == kind.is_float and (own.kind == kind.kind or kind.bits >= 32)


def _accesses(block: Block, lane: str, lanes: int) -> Iterator[tuple[str, int, bool]]:
    """The arrays that are accessed, by how many lanes, and whether they are stored to."""
    for stmt in block.body:
        if isinstance(stmt, For) and stmt.facts.instruction:
            continue  # a block transfer
        inner = (lane, lanes)
        if isinstance(stmt, For) and stmt.facts.simd and not lane:
            inner = (stmt.var, getattr(stmt.upper, "value", 0))
        yield from _own(stmt, lane, lanes)
        for x in blocks_of(stmt):
            yield from _accesses(x, *inner)


def _own(stmt: Stmt, lane: str, lanes: int) -> Iterator[tuple[str, int, bool]]:
    if isinstance(stmt, Assign | Reduce):
        moves = any(lane in variables(x) for x in stmt.index) if lane else False
        yield stmt.array, lanes if moves else 0, True
        if isinstance(stmt, Reduce):
            yield stmt.array, lanes if moves else 0, False
    for e in expressions(stmt):
        for x in loads(e):
            yield x.array, lanes if lane and _moves(x, lane) else 0, False


def _moves(x: Load, lane: str) -> bool:
    return any(lane in variables(y) for y in x.index)
