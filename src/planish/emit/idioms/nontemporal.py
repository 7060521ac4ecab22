"""Non-temporal stores of a loop: peeled up to a cache line, by blocks that are computed in a buffer and then stored,
and a remainder.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.ir.types import F64
>>> from planish.library.loops.nontemporal.row_stores import find_row
>>> loop = parse_kernel("kernel k(n; A: f64[n]) { for j in 0 .. n simd past s { A[j] = 1.0 } }").body.body[0]
>>> row = find_row(loop)
>>> names = StreamNames("ahead", "rest", "part", "made", "lane", "word")
>>> for stmt in in_parts(loop, row, Array("A", F64, (index("n"),)), 8, names):
...     print(print_stmt(stmt).rstrip())
for j in 0 .. ahead simd {
  A[j] = 1.0:f64
}
let rest = ahead + 64 * ((n - ahead) // 64)
for part in ahead .. rest step 64 {
  alloc made: f64[64] stack
  for j in 0 .. 64 simd {
    made[j] = 1.0:f64
  }
  for j in 0 .. 64 step 8 {
    for lane in 0 .. 8 as s {
      A[part + j + lane] = made[j + lane]
    }
  }
}
for j in rest .. n simd {
  A[j] = 1.0:f64
}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from planish.emit.idioms.strip_mined_math import BYTES, REGISTER, find_calls, with_blocks
from planish.ir.expr import Call, Expr, Load, index, type_of
from planish.ir.index.polynomial import add, floordiv, mul, place, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, Let, LoopFacts, Reduce, Stmt
from planish.ir.traverse import expressions, flatten, map_block, map_expr, substitute_block, variables, walk
from planish.isa.instruction import Instruction
from planish.library.loops.nontemporal.row_stores import StoredRow

LINE = 64
"""The bytes of a line of the cache."""
PART = 512
"""The bytes of a part: few enough to be stored while the next ones are made."""


@dataclass(frozen=True, slots=True)
class StreamNames:
    """What is named besides: the iterations before the first line, where the last part ends, the first iteration of a
    part, its elements, a lane of what is stored and of what is fetched; what functions give that are made
    for a whole part."""

    ahead: str
    rest: str
    part: str
    made: str
    lane: str
    word: str
    values: tuple[str, ...] = ()


def take_names(loop: For, take: Callable[[str], str], calls: Sequence[Call] = ()) -> StreamNames:
    """Names like that of the loop's variable, as they are to be had; `calls`: those that are made for a whole part."""
    values = tuple(take("value") for _ in calls)
    ahead, rest, part = (take(f"{loop.var}_{x}") for x in ("ahead", "rest", "part"))
    return StreamNames(ahead, rest, part, take("made"), take("lane"), take("word"), values)


def promise_whole(instruction: Instruction, operands: Mapping[str, str]) -> str:
    """What tells a compiler that an instruction stores to where a whole register begins."""
    written = next(x for x in walk(instruction.definition.body) if isinstance(x, Assign))
    width = (instruction.lanes or 1) * type_of(written.value).size
    return f"planish_promise((uintptr_t){operands[written.array]} % {width} == 0);"


def iterations(loop: For) -> Expr:
    """How often a loop runs that runs at all."""
    return floordiv(add(sub(loop.upper, loop.lower), index(loop.step - 1)), index(loop.step))


def calls_of(loop: For, row: StoredRow, array: Array, lanes: int) -> tuple[Call, ...]:
    """What a loop calls that is made for a whole part, where `lanes` are those of the instruction that stores."""
    count = BYTES // (row.count * array.type.size)
    large = lanes * array.type.size == REGISTER and loop.step == 1
    return tuple(call for x in _split(loop, row) for call in find_calls(x, count)) if large else ()


def _times(row: StoredRow, array: Array, names: StreamNames) -> int:
    """The iterations of a part."""
    return (BYTES if names.values else PART) // (row.count * array.type.size)


def _buffer(row: StoredRow, array: Array, names: StreamNames) -> Array:
    """Where a part is made."""
    times = _times(row, array, names)
    return Array(names.made, array.type, (index(times * row.count),), memory="stack")


def in_parts(loop: For, row: StoredRow, array: Array, lanes: int, names: StreamNames) -> tuple[Stmt, ...]:
    """The loops; `lanes`: of the instruction that stores."""
    plain, fetch = _apart(replace(loop, facts=replace(loop.facts, stream="", fetch="")))
    *others, own = _split(plain, row)
    times = _times(row, array, names)
    middle = add(loop.lower, mul(index(names.ahead), index(loop.step)))
    whole = mul(floordiv(iterations(replace(loop, lower=middle)), index(times)), index(times * loop.step))
    buffer = _buffer(row, array, names)
    fetching = [_fetch(loop, x, times, names) for x in fetch]
    # What goes to other arrays begins where the loop does, so that less of it is left over.
    shift = mul(index(names.ahead), index(loop.step))
    values = iter(names.values)

    def make(part: For, shift: Expr) -> tuple[Stmt, ...]:
        made = _make(part, row, times, names, shift)
        return with_blocks(made, [next(values) for _ in find_calls(made, times) if names.values])

    store = _store(loop, row, buffer, lanes, names)
    meanwhile = [y for x in others for y in make(x, shift)]
    body: tuple[Stmt, ...] = (Alloc(buffer), *fetching, *make(own, index(0)), store, *meanwhile)
    return (
        replace(own, upper=middle),
        Let(names.rest, add(middle, whole)),
        For(names.part, middle, index(names.rest), times * loop.step, Block(body)),
        replace(own, lower=index(names.rest)),
        *(replace(x, lower=sub(index(names.rest), shift)) for x in others),
    )


def _split(loop: For, row: StoredRow) -> tuple[For, ...]:
    """A loop as one that does what it does with other arrays, if it does, and one that makes the row: what the first
    one makes the other one does not read, but it may have read before what is replaced there."""
    own = _only(loop, lambda x: isinstance(x, Assign) and x.array == row.array)
    others = _only(loop, lambda x: not isinstance(x, Assign) or x.array != row.array)
    if not any(isinstance(x, Assign | Reduce) for x in walk(others.body)):
        return (loop,)
    return others, replace(own, facts=replace(own.facts, reductions=()))


def _only(loop: For, wanted: Callable[[Stmt], bool]) -> For:
    """A loop with some of its statements, and the names that these need."""
    needed: set[str] = set()
    out: list[Stmt] = []
    for stmt in reversed(flatten(loop.body.body)):
        if stmt.var in needed if isinstance(stmt, Let) else wanted(stmt):
            needed |= {v for e in expressions(stmt) for v in variables(e)}
            out.append(stmt)
    return replace(loop, body=Block(tuple(reversed(out))))


def _apart(loop: For) -> tuple[For, list[Assign]]:
    """A loop without what it assigns to arrays that are nowhere, and that."""
    nowhere = {x.array.name for x in walk(loop.body) if isinstance(x, Alloc) and x.array.memory == "nowhere"}
    fetched = [x for x in walk(loop.body) if isinstance(x, Assign) and x.array in nowhere]

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        gone = stmt in fetched or (isinstance(stmt, Alloc) and stmt.array.name in nowhere)
        return () if gone else stmt

    return replace(loop, body=map_block(visit, loop.body)), fetched


def _fetch(loop: For, fetched: Assign, times: int, names: StreamNames) -> For:
    """What fetches the lines of a part, at least one of each."""
    count = LINE // type_of(fetched.value).size
    element = add(index(loop.var), index(names.word))
    value = map_expr(lambda x: _placed(x, {loop.var: element}), fetched.value)
    facts = LoopFacts(instruction=loop.facts.fetch)
    lanes = For(names.word, index(0), index(count), 1, Block((replace(fetched, value=value),)), facts)
    end = add(index(names.part), index(times * loop.step))
    return For(loop.var, index(names.part), end, count, Block((lanes,)))


def _placed(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    return replace(expr, index=tuple(place(x, values) for x in expr.index)) if isinstance(expr, Load) else expr


def _make(loop: For, row: StoredRow, times: int, names: StreamNames, shift: Expr) -> For:
    """What makes a part beside, or, of other arrays, what begins earlier."""
    at = add(sub(index(names.part), shift), mul(index(loop.var), index(loop.step)))
    first = place(row.first[-1], {loop.var: index(names.part)})

    def beside(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Assign) or stmt.array != row.array:
            return stmt
        return replace(stmt, array=names.made, index=(sub(stmt.index[-1], first),))

    body = map_block(beside, substitute_block(loop.body, {loop.var: at}))
    return For(loop.var, index(0), index(times), 1, body, loop.facts)


def _store(loop: For, row: StoredRow, buffer: Array, lanes: int, names: StreamNames) -> For:
    """What stores it, so many lanes at a time."""
    first = place(row.first[-1], {loop.var: index(names.part)})
    element = add(index(loop.var), index(names.lane))
    store = Assign(row.array, (*row.first[:-1], add(first, element)), Load(names.made, (element,), buffer.type))
    facts = LoopFacts(instruction=loop.facts.stream)
    lane = For(names.lane, index(0), index(lanes), 1, Block((store,)), facts)
    assert buffer.shape[0] is not None
    return For(loop.var, index(0), buffer.shape[0], lanes, Block((lane,)))
