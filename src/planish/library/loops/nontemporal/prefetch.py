"""Software prefetch: rows that are traversed several times are fetched while the rows before them are worked on.

The last loop over a row goes by parts; before each of them, as much of the next row is brought near the processor.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> loops = "for j in 0 .. n simd { s[j] = A[i, j] } for j in 0 .. n simd { B[i, j] = A[i, j] * s[j] }"
>>> arrays = "A: f32[m, n] distinct, B: f32[m, n] distinct, s: f32[n] distinct"
>>> body = parse_kernel(f"kernel k(m, n; {arrays}) {{ for i in 0 .. m {{ {loops} }} }}").body
>>> print(print_stmt(fetch_rows(body, {"A": "avx512_prefetch_f32"}, {"i", "j"}).body[0]), end="")
for i in 0 .. m {
  for j in 0 .. n simd {
    s[j] = A[i, j]
  }
  for j_part in 0 .. n step 128 {
    alloc fetched: f32[] nowhere
    for line in j_part .. min(n - 15, j_part + 128) step 16 {
      for l in 0 .. 16 as avx512_prefetch_f32 {
        fetched[] = A[min(i + 1, m - 1), line + l]
      }
    }
    for j in j_part .. min(n, j_part + 128) simd {
      B[i, j] = A[i, j] * s[j]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.ir.accesses import reads
from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import add, coefficient_of, extremum, place, same, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, LoopFacts, Stmt
from planish.ir.traverse import variables, with_stmts
from planish.library.loops.nontemporal.row_stores import find_row

PART = 512
"""The bytes of a part."""
LINE = 64
"""The bytes of a line of the cache."""


@dataclass(frozen=True, slots=True)
class _Names:
    part: str
    fetched: str
    line: str
    lane: str


def fetch_rows(block: Block, instructions: Mapping[str, str], taken: set[str], part: int = PART) -> Block:
    """A block where the rows of some arrays, which nothing stores to, are fetched, each by the instruction of its
    array, so many bytes at a time."""
    return Block(tuple(_fetching(x, instructions, taken, part) for x in block.body))


def _fetching(stmt: Stmt, instructions: Mapping[str, str], taken: set[str], part: int) -> Stmt:
    match stmt:
        case For() if not stmt.facts.simd:
            found = _find(stmt, instructions)
            if found is None:
                return replace(stmt, body=fetch_rows(stmt.body, instructions, taken, part))
            loop, load = found
            instruction = instructions[load.array]
            if loop.facts.stream:
                made = _within(stmt, loop, load, instruction, taken)
            else:
                made = _by_parts(stmt, loop, load, instruction, taken, part)
            return replace(stmt, body=with_stmts(stmt.body, loop, (made,)))
        case If():
            then, otherwise = (fetch_rows(x, instructions, taken, part) for x in (stmt.then, stmt.otherwise))
            return replace(stmt, then=then, otherwise=otherwise)
        case Block():
            return fetch_rows(stmt, instructions, taken, part)
        case _:
            return stmt


def _find(outer: For, instructions: Mapping[str, str]) -> tuple[For, Load] | None:
    """The last loop in lanes over a row that moves with a loop, if it is not the only one; and what it loads."""
    found: list[tuple[For, Load]] = []
    loops = [x for x in _loops(outer.body) if x.facts.simd]
    for loop in loops:
        for load in reads(loop.body):
            if load.array in instructions and _is_row(load, loop, outer):
                found.append((loop, load))
    last = next((x for x in reversed(found) if _may_fetch(x[0])), None)
    if last is None or outer.step != 1:
        return None
    others = [x for x, y in found if x is not last[0] and y.array == last[1].array]
    return last if others else None


def _may_fetch(loop: For) -> bool:
    """Whether a loop is one that may fetch meanwhile. One that makes non-temporal stores has parts of its own, and time
    for it if it does more than that."""
    if loop.facts.stream:
        return find_row(loop) is None
    return not loop.facts.reductions


def _loops(block: Block) -> Iterator[For]:
    """The loops in a block and under its conditions, not those in other loops."""
    for stmt in block.body:
        match stmt:
            case For():
                yield stmt
            case Block():
                yield from _loops(stmt)
            case If():
                yield from _loops(stmt.then)
                yield from _loops(stmt.otherwise)
            case _:
                pass


def _is_row(load: Load, loop: For, outer: For) -> bool:
    """Whether a loop goes through a row, element by element, and the loop around it goes to the next one."""
    if len(load.index) < 2 or loop.step != 1:
        return False
    moved, rest = coefficient_of(load.index[-1], loop.var), load.index[:-1]
    if moved is None or moved[0] != 1 or not same(load.index[-2], index(outer.var)):
        return False
    fixed = {v for x in (loop.lower, loop.upper, moved[1], *rest[:-1]) for v in variables(x)}
    return not fixed & {outer.var, loop.var}


def _within(outer: For, loop: For, load: Load, instruction: str, taken: set[str]) -> For:
    """A loop that makes non-temporal stores, where each of its parts fetches that part of the next row."""
    fetched = take_name("fetched", taken)
    value = Load(load.array, (*load.index[:-2], _next_row(outer), load.index[-1]), load.type)
    fetch = (Alloc(Array(fetched, load.type, (), memory="nowhere")), Assign(fetched, (), value))
    return replace(loop, body=Block((*fetch, *loop.body.body)), facts=replace(loop.facts, fetch=instruction))


def _next_row(outer: For) -> Expr:
    return extremum("min", add(index(outer.var), index(1)), sub(outer.upper, index(1)))


def _by_parts(outer: For, loop: For, load: Load, instruction: str, taken: set[str], part: int) -> For:
    """A loop by parts, before each of which that part of the next row is fetched."""
    names = _Names(*(take_name(x, taken) for x in (f"{loop.var}_part", "fetched", "line", "l")))
    size, line = part // load.type.size, LINE // load.type.size
    end = add(index(names.part), index(size))
    upper = extremum("min", loop.upper, end)
    element = place(load.index[-1], {loop.var: add(index(names.line), index(names.lane))})
    fetch = Assign(names.fetched, (), Load(load.array, (*load.index[:-2], _next_row(outer), element), load.type))
    lanes = For(names.lane, index(0), index(line), 1, Block((fetch,)), LoopFacts(instruction=instruction))
    whole = extremum("min", sub(loop.upper, index(line - 1)), end)
    body = (
        Alloc(Array(names.fetched, load.type, (), memory="nowhere")),
        For(names.line, index(names.part), whole, line, Block((lanes,))),
        replace(loop, lower=index(names.part), upper=upper),
    )
    return For(names.part, loop.lower, loop.upper, size, Block(body))
