"""A loop that stores past the caches, as the loops that are written for it: up to where a line of the cache begins, by
parts of some lines, which are made beside and then stored, and what is left.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_stmt
>>> from planish.ir.types import F64
>>> from planish.library.streaming.rows import find_row
>>> loop = parse_kernel("kernel k(n; A: f64[n]) { for j in 0 .. n simd past s { A[j] = 1.0 } }").body.body[0]
>>> row = find_row(loop)
>>> names = Names("ahead", "rest", "part", "made", "lane", "word")
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

from planish.emit.blocks import BYTES, REGISTER, find_calls, with_blocks
from planish.ir.expr import Call, Expr, Load, index, type_of
from planish.ir.nest import Alloc, Array, Assign, Block, For, Let, LoopFacts, Stmt
from planish.ir.polynomial import add, floordiv, mul, place, sub
from planish.ir.traverse import map_block, map_expr, substitute_block, walk
from planish.isa.instruction import Instruction
from planish.library.streaming.rows import Row

LINE = 64
"""The bytes of a line of the cache."""
PART = 512
"""The bytes of a part: few enough to be stored while the next ones are made."""


@dataclass(frozen=True, slots=True)
class Names:
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


def take_names(loop: For, take: Callable[[str], str], calls: Sequence[Call] = ()) -> Names:
    """Names like that of the loop's variable, as they are to be had; `calls`: those that are made for a whole part."""
    values = tuple(take("value") for _ in calls)
    ahead, rest, part = (take(f"{loop.var}_{x}") for x in ("ahead", "rest", "part"))
    return Names(ahead, rest, part, take("made"), take("lane"), take("word"), values)


def promise_whole(instruction: Instruction, operands: Mapping[str, str]) -> str:
    """What tells a compiler that an instruction stores to where a whole register begins."""
    written = next(x for x in walk(instruction.definition.body) if isinstance(x, Assign))
    width = (instruction.lanes or 1) * type_of(written.value).size
    return f"planish_promise((uintptr_t){operands[written.array]} % {width} == 0);"


def iterations(loop: For) -> Expr:
    """How often a loop runs that runs at all."""
    return floordiv(add(sub(loop.upper, loop.lower), index(loop.step - 1)), index(loop.step))


def calls_of(loop: For, row: Row, array: Array, lanes: int) -> tuple[Call, ...]:
    """What a loop calls that is made for a whole part, where `lanes` are those of the instruction that stores."""
    large = lanes * array.type.size == REGISTER and loop.step == 1
    return find_calls(loop, BYTES // (row.count * array.type.size)) if large else ()


def _times(row: Row, array: Array, names: Names) -> int:
    """The iterations of a part."""
    return (BYTES if names.values else PART) // (row.count * array.type.size)


def _buffer(row: Row, array: Array, names: Names) -> Array:
    """Where a part is made."""
    times = _times(row, array, names)
    return Array(names.made, array.type, (index(times * row.count),), memory="stack")


def in_parts(loop: For, row: Row, array: Array, lanes: int, names: Names) -> tuple[Stmt, ...]:
    """The loops; `lanes`: of the instruction that stores."""
    plain, fetch = _apart(replace(loop, facts=replace(loop.facts, stream="", fetch="")))
    times = _times(row, array, names)
    middle = add(loop.lower, mul(index(names.ahead), index(loop.step)))
    whole = mul(floordiv(iterations(replace(loop, lower=middle)), index(times)), index(times * loop.step))
    buffer = _buffer(row, array, names)
    fetching = [_fetch(loop, x, times, names) for x in fetch]
    made = _make(plain, row, times, names)
    make = with_blocks(made, names.values) if names.values else (made,)
    store = _store(loop, row, buffer, lanes, names)
    body: tuple[Stmt, ...] = (Alloc(buffer), *fetching, *make, store)
    return (
        replace(plain, upper=middle),
        Let(names.rest, add(middle, whole)),
        For(names.part, middle, index(names.rest), times * loop.step, Block(body)),
        replace(plain, lower=index(names.rest)),
    )


def _apart(loop: For) -> tuple[For, list[Assign]]:
    """A loop without what it assigns to arrays that are nowhere, and that."""
    nowhere = {x.array.name for x in walk(loop.body) if isinstance(x, Alloc) and x.array.memory == "nowhere"}
    fetched = [x for x in walk(loop.body) if isinstance(x, Assign) and x.array in nowhere]

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        gone = stmt in fetched or (isinstance(stmt, Alloc) and stmt.array.name in nowhere)
        return () if gone else stmt

    return replace(loop, body=map_block(visit, loop.body)), fetched


def _fetch(loop: For, fetched: Assign, times: int, names: Names) -> For:
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


def _make(loop: For, row: Row, times: int, names: Names) -> For:
    """What makes a part beside."""
    at = add(index(names.part), mul(index(loop.var), index(loop.step)))
    first = place(row.first[-1], {loop.var: index(names.part)})

    def beside(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Assign) or stmt.array != row.array:
            return stmt
        return replace(stmt, array=names.made, index=(sub(stmt.index[-1], first),))

    body = map_block(beside, substitute_block(loop.body, {loop.var: at}))
    return For(loop.var, index(0), index(times), 1, body, loop.facts)


def _store(loop: For, row: Row, buffer: Array, lanes: int, names: Names) -> For:
    """What stores it, so many lanes at a time."""
    first = place(row.first[-1], {loop.var: index(names.part)})
    element = add(index(loop.var), index(names.lane))
    store = Assign(row.array, (*row.first[:-1], add(first, element)), Load(names.made, (element,), buffer.type))
    facts = LoopFacts(instruction=loop.facts.stream)
    lane = For(names.lane, index(0), index(lanes), 1, Block((store,)), facts)
    assert buffer.shape[0] is not None
    return For(loop.var, index(0), buffer.shape[0], lanes, Block((lane,)))
