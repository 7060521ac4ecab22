"""The first and the last iteration that read an element under a condition: between them, all elements of the row exist.

An array of C is one object, so that what lies between two of its elements that are read may be read as well. Machines
without masked loads make strips of these iterations; those before and behind read nothing under the condition.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr, print_stmt
>>> body = "for i in 0 .. n { s[] += select(m[i] != 0:u8, u32(x[i]), 0:u32) }"
>>> made = between_reads(parse_kernel("kernel k(n; m: u8[n], x: u8[n], s: u32[] distinct) { %s }" % body))
>>> [print_expr(x.condition) for x in made.body.body if isinstance(x, While)][1::2]
['n - i_first[] > 0 && m[i_first[]] == 0:u8', 'i_last[] - i_first[] > 0 && m[i_last[] - 1] == 0:u8']
>>> print(print_stmt(made.body.body[-1]), end="")
for i in i_begin .. i_end {
  let x_read = x[i]
  s[] += select(m[i] != 0:u8, u32(x_read), 0:u32)
}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce

from planish.core.names import take_name
from planish.ir.conditional_accesses import ReadConditions, TooMany, opposite, read_always
from planish.ir.expr import Binary, Cast, Compare, Const, Expr, Load, Select, Var, index, type_of
from planish.ir.index.polynomial import add, extremum, polynomial, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Let, LoopFacts, Reduce, Stmt, While
from planish.ir.passes.speculative_loads import speculate_block
from planish.ir.traverse import (
    arrays_in,
    bindings,
    blocks_of,
    loads,
    stored_arrays,
    substitute,
    used_names,
    variables,
    walk,
    with_blocks,
    with_body,
)
from planish.ir.types import BOOL, INDEX, U8, Type
from planish.library.loops.vector_strips.narrow_elements import are_narrow, element_types

_BLOCK = 32
"""So many iterations are asked at once."""
_MOST_CONDITIONS = 2
"""So many conditions may have ends of their own: where all of them hold somewhere, what is left is short."""


def between_reads(kernel: Kernel, kept: Container[str] = (), wide: bool = False) -> Kernel:
    """The kernel with its innermost loops of narrow integers that read under conditions in three: what lies before the
    first iteration of a condition, up to its last one, where all is read, and behind. Loops that store to arrays that
    are `kept` stay. `wide`: instead of these, loops in lanes that add up such elements in wider integers than strips
    have."""
    taken = {*used_names(kernel), *bindings(kernel.body)}
    derived = {x.name for x in kernel.derived}
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    types = element_types(kernel)
    parts = partial(_parts, kept, derived | local, partial(_adds_wide if wide else _is_narrow, types), taken)
    return replace(kernel, body=_block(kernel.body, parts))


def _is_narrow(types: Mapping[str, Type], loop: For, read: Collection[Load]) -> bool:
    return are_narrow([types.get(x) for x in arrays_in(loop)])


def _adds_wide(types: Mapping[str, Type], loop: For, read: Collection[Load]) -> bool:
    """Whether a loop in lanes adds up narrow elements that it reads under conditions in integers wider than strips
    have."""
    facts, sums = loop.facts, [types.get(x) for _, x in loop.facts.reductions]
    updated = {x.array for x in loop.body.body if isinstance(x, Reduce)} == {x for _, x in facts.reductions}
    plain = all(isinstance(x, Reduce | Let) for x in loop.body.body)
    if not (facts.simd and not facts.parallel and sums and updated and plain):
        return False
    wide = all(x is not None and x.is_int for x in sums) and not _is_narrow(types, loop, read)
    return wide and all(are_narrow([x.type]) for x in read)


def _block(block: Block, parts: partial[tuple[Stmt, ...] | None]) -> Block:
    made: list[Stmt] = []
    for x in block.body:
        found = parts(x) if isinstance(x, For) else None
        made += (with_blocks(x, [_block(y, parts) for y in blocks_of(x)]),) if found is None else found
    return with_body(block, made)


def _parts(
    kept: Container[str], none: set[str], suits: Callable[[For, Collection[Load]], bool], taken: set[str], loop: For
) -> tuple[Stmt, ...] | None:
    """What stands for a loop; None where it stays. `none`: arrays that are no object of C, or are read in any case;
    `suits`: whether it is asked for a loop, and what it reads under conditions."""
    if not suits(loop, ()):
        return None
    stored = stored_arrays(loop)
    body = loop.body.body
    if loop.step != 1 or any(x in kept for x in stored) or not all(isinstance(x, Assign | Reduce | Let) for x in body):
        return None
    read = _conditions(loop)
    if not read or not suits(loop, read):
        return None
    if any(x.array in none | stored or not _moves_along(x, loop.var) for x in read):
        return None
    tests = list(dict.fromkeys(read.values()))
    if len(tests) > _MOST_CONDITIONS or not all(_is_known(x, loop, stored) for x in tests):
        return None
    made: list[Stmt] = []
    ends: list[tuple[Expr, Expr]] = []
    for x in tests:
        names = take_name(f"{loop.var}_first", taken), take_name(f"{loop.var}_last", taken)
        made += _scans(loop, x, *names, taken)
        ends.append((Load(names[0], (), INDEX), Load(names[1], (), INDEX)))
    first, behind = (take_name(f"{loop.var}_{x}", taken) for x in ("begin", "end"))
    made.append(Let(first, reduce(partial(extremum, "max"), (x for x, _ in ends))))
    least = reduce(partial(extremum, "min"), (x for _, x in ends))
    made.append(Let(behind, extremum("max", index(first), least)))
    arrays = {x.array for x in read}
    whole = speculate_block(loop.body, arrays, taken)
    values: dict[str, Expr] = {}
    for y in body:
        values |= {y.var: substitute(y.value, values)} if isinstance(y, Let) else {}
    between = replace(loop, lower=index(first), upper=index(behind), body=whole, label=0)
    if len(tests) == 1 and all(_does_nothing(x, tests[0], values) for x in body):
        return (*made, between)
    before = replace(loop, upper=index(first), label=0)
    return (*made, before, between, replace(loop, lower=index(behind), label=0))


def _conditions(loop: For) -> dict[Load, Expr]:
    """Under which conditions, over what is there before an iteration, elements are read that are not read always."""
    names: dict[str, Expr] = {}
    reads = ReadConditions(names)
    try:
        for x in loop.body.body:
            assert isinstance(x, Assign | Reduce | Let)
            if isinstance(x, Let):
                reads.read(x.value)
                names[x.var] = substitute(x.value, names)
                continue
            if isinstance(x, Reduce):
                reads.read(Load(x.array, x.index, type_of(x.value)))
            for y in (*x.index, x.value):
                reads.read(y)
        found = reads.conditions()
    except TooMany:
        return {}
    return {substitute_load(x, names): substitute(y, names) for x, y in found.items()}


def substitute_load(x: Load, names: Mapping[str, Expr]) -> Load:
    """An element at a place in which names are replaced by values."""
    return replace(x, index=tuple(substitute(y, names) for y in x.index))


def _moves_along(x: Load, var: str) -> bool:
    """Whether an element is one of a row that each iteration is as far along as any other, or the same in all."""
    if not x.index:
        return False
    *rows, place = x.index
    if any(var in variables(y) for y in rows) or any(loads(y) for y in x.index):
        return False
    moving = [m for m in polynomial(place) if any(var in variables(y) for y in m)]
    return moving in ([], [(Var(var, INDEX),)])


def _is_known(test: Expr, loop: For, stored: Collection[str]) -> bool:
    """Whether iterations differ in a condition, and it is no matter when it is asked."""
    return loop.var in variables(test) and not any(x.array in stored for x in loads(test))


def _scans(loop: For, test: Expr, first: str, last: str, taken: set[str]) -> Iterator[Stmt]:
    """The loops to the first iteration in which a condition holds, and from behind the last one."""
    at, end = Load(first, (), INDEX), Load(last, (), INDEX)
    lane = take_name(f"{loop.var}_lane", taken)
    known = {*loads(test)} == {*read_always(test)}
    for cell, start, left, place, by in (
        (at, loop.lower, sub(loop.upper, at), at, 1),
        (end, loop.upper, sub(end, at), sub(end, index(1)), -1),
    ):
        yield Alloc(Array(cell.array, INDEX, memory="register"))
        yield Assign(cell.array, (), start)
        if known:
            yield from _blocks(cell, left, by, partial(_at, test, loop.var), lane, take_name("found", taken))
        there = opposite(_at(test, loop.var, place))
        step = Block((Assign(cell.array, (), add(cell, index(by))),))
        yield While(Binary("and", Compare("gt", left, index(0)), there), step)


def _blocks(cell: Load, left: Expr, by: int, holds: Callable[[Expr], Expr], lane: str, found: str) -> Iterator[Stmt]:
    """The same by whole blocks in which the condition holds nowhere: these are asked in lanes."""
    first = cell if by > 0 else sub(cell, index(_BLOCK))
    yield Alloc(Array(found, U8, memory="register"))
    yield Assign(found, (), Const(0, U8))
    ask = Reduce(found, (), "or", Cast(holds(add(first, index(lane))), U8))
    none = Compare("eq", Load(found, (), U8), Const(0, U8))
    step = Assign(cell.array, (), add(cell, Select(none, index(by * _BLOCK), index(0))))
    block = For(lane, index(0), index(_BLOCK), 1, Block((ask,)), LoopFacts(simd=True, reductions=(("or", found),)))
    yield While(Binary("and", Compare("ge", left, index(_BLOCK)), none), Block((block, step)))


def _at(test: Expr, var: str, place: Expr) -> Expr:
    """A condition in another iteration."""
    return substitute(test, {var: place})


def _does_nothing(stmt: Stmt, test: Expr, names: Mapping[str, Expr]) -> bool:
    """Whether a statement changes nothing where a condition does not hold; `names`: values of variables. (Zero changes
    a sum of floats: -0.0.)"""
    match stmt:
        case Let():
            return True
        case Reduce(op="add" | "or" | "xor", value=value) if not type_of(value).is_float:
            while isinstance(value, Cast):
                value = value.operand
            match value:
                case Select(condition=condition, otherwise=Const(value=0)):
                    return substitute(condition, names) == test
                case Binary(op="and", left=left) if type_of(value) == BOOL:
                    return substitute(left, names) == test
        case _:
            pass
    return False
