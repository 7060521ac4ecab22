"""Strip-mined math calls: a loop by blocks of iterations, with the math functions of a whole block evaluated before it.

A compiler that makes lanes of a loop does the operations of one vector one after the other, and each waits for the one
before it. Where there are registers enough, functions of a block do each step for several vectors, with instructions
that no text in C becomes.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel k(x: f32[64], y: f32[64]) { for l in 0 .. 64 simd { y[l] = exp(x[l] - 1.0:f32) * 2.0:f32 } }"
>>> for stmt in with_blocks(parse_kernel(text).body.body[0], ("value",)):
...     print(print_stmt(stmt).rstrip())
alloc value: f32[64] stack
for l in 0 .. 64 simd {
  value[l] = x[l] - 1.0:f32
}
for l in 0 .. 64 as planish_expf_64 {
  value[l] = exp(value[l])
}
for l in 0 .. 64 simd {
  y[l] = value[l] * 2.0:f32
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planish.ir.accesses import map_values
from planish.ir.expr import Binary, Call, Const, Expr, Load, Select, index, type_of
from planish.ir.nest import Alloc, Array, Assign, Block, For, Let, LoopFacts, Reduce, Stmt
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import children, expressions, loads, variables, walk, walk_expr
from planish.ir.types import BOOL, F32, Type
from planish.isa.instruction import Instruction, make_instruction

BYTES = 256
"""The bytes of a block: four registers of 64. Of smaller ones compilers have half as many, and it does not pay."""
REGISTER = 64
"""The bytes of the registers that are large enough, and of which there are enough."""


def _instruction(name: str, function: str, type: Type) -> Instruction:
    count = BYTES // type.size
    loop = f"for l in 0 .. {count} {{ x[l] = {function}(x[l]) }}"
    definition = parse_kernel(f"kernel {name}(x: {type}[{count}]) {{ {loop} }}")
    return make_instruction(name, definition, f"{name}({{x}});", header="immintrin.h")


BLOCKS: Mapping[tuple[str, Type], Instruction] = {("exp", F32): _instruction("planish_expf_64", "exp", F32)}
"""The functions of a block of values (see `functions.py`)."""


def find_calls(loop: For, count: int) -> tuple[Call, ...]:
    """The calls in a loop that may be made for a block of so many iterations before it: what they need is there then,
    and each iteration comes to them."""
    stored = {x.array for x in walk(loop.body) if isinstance(x, Assign | Reduce)}
    named = {x.var for x in walk(loop.body) if isinstance(x, Let)}
    found: dict[Call, None] = {}
    for call in (x for stmt in walk(loop.body) for e in expressions(stmt) for x in _always(e)):
        instruction = BLOCKS.get((call.function, type_of(call)))
        below = [x for e in call.arguments for x in walk_expr(e)]
        if instruction is None or instruction.lanes != count or any(isinstance(x, Call) for x in below):
            continue
        if not any(variables(e) & named or {x.array for x in loads(e)} & stored for e in call.arguments):
            found[call] = None
    return tuple(found)


def _always(expr: Expr) -> Iterator[Call]:
    """The calls that an expression comes to whatever its values are."""
    if isinstance(expr, Select) or (isinstance(expr, Binary) and type_of(expr) == BOOL):
        return
    if isinstance(expr, Call):
        yield expr
    if not isinstance(expr, Const):
        for x in children(expr):
            yield from _always(x)


def with_blocks(loop: For, names: Sequence[str]) -> tuple[Stmt, ...]:
    """A loop from 0 to a constant with what it calls made before it, in an array of its own each, which compilers keep
    in registers; `names`: those of the arrays, one for each of `find_calls`."""
    assert isinstance(loop.upper, Const)
    out: list[Stmt] = []
    made: dict[Expr, Expr] = {}
    at = (index(loop.var),)
    for call, name in zip(find_calls(loop, int(loop.upper.value)), names, strict=True):
        type = type_of(call)
        value = made[call] = Load(name, at, type)
        argument = Assign(name, at, call.arguments[0])
        result = Assign(name, at, replace(call, arguments=(value,)))
        called = LoopFacts(instruction=BLOCKS[call.function, type].name)
        out.append(Alloc(Array(name, type, (loop.upper,), memory="stack")))
        out.append(replace(loop, body=Block((argument,)), facts=LoopFacts(simd=True)))
        out.append(replace(loop, body=Block((result,)), facts=called))
    body = map_values(lambda x: made.get(x, x), loop.body)
    return (*out, replace(loop, body=body))
