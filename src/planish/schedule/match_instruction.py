"""Instruction matching: whether an instruction does what a loop does, and under which conditions.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_expr
>>> from planish.isa.shipped import shipped
>>> text = "kernel k(n; A: f32[16]) { alloc a: f32[16] @zmm for l in 0 .. n { A[l] = a[l] } }"
>>> kernel = parse_kernel(text)
>>> arrays = {x.name: x for x in (*kernel.arrays, kernel.body.body[0].array)}
>>> store = shipped().instruction("avx512_masked_store_f32")
>>> [print_expr(x) for x in conditions_of(store, kernel.body.body[1], arrays, shipped().bits)]
['n >= 0', 'n <= 16']
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TypeVar

from planish.ir.accesses import reads
from planish.ir.expr import Expr
from planish.ir.nest import Array, Assign, For, Reduce
from planish.ir.traverse import walk
from planish.isa.instruction import Instruction
from planish.poly.match.matcher import MismatchError, OperandMatch, match_nest
from planish.poly.scop.separation import Known, nowhere, reads_apart

MOST_MATCHED = 20_000
"""So many answers are kept: micro-kernels have hundreds of loops, of which a step changes a few."""

_K = TypeVar("_K")
_V = TypeVar("_V")

_Answer = OperandMatch | MismatchError
_MATCHED: dict[tuple[object, ...], tuple[Instruction, _Answer]] = {}
_SEEN: dict[int, tuple[For, Instruction, tuple[Array, ...], _Answer]] = {}
"""The answers for loops by where they are in memory: most loops of a nest are the very same after a step."""


def match_instruction(
    instruction: Instruction, loop: For, arrays: Mapping[str, Array], bits: Mapping[str, int], known: Known = nowhere
) -> OperandMatch:
    """The operands with which an instruction does a loop; `arrays` are those in scope, `bits` the widths of registers,
    `known` says of conditions whether they hold where it stands.

    Raises MismatchError where it does something else, or where a kernel would be called with an array twice, one of
    them written, and not with parts of it that are seen to lie apart: its C says that they do."""
    if known is not nowhere:
        return _match(instruction, loop, arrays, bits, known)
    answer = _answer(instruction, loop, arrays, bits)
    if isinstance(answer, MismatchError):
        raise answer.with_traceback(None)
    return answer


def conditions_of(
    instruction: Instruction, loop: For, arrays: Mapping[str, Array], bits: Mapping[str, int]
) -> tuple[Expr, ...] | None:
    """What has to hold so that an instruction does a loop; None where it does something else."""
    answer = _answer(instruction, loop, arrays, bits)
    return None if isinstance(answer, MismatchError) else answer.conditions


def _answer(instruction: Instruction, loop: For, arrays: Mapping[str, Array], bits: Mapping[str, int]) -> _Answer:
    """The match, or why there is none, of a place of which nothing is known."""
    match _SEEN.get(id(loop)):
        case (own, same, seen, answer) if own is loop and same is instruction:
            if all(arrays.get(x.name) == x for x in seen):
                return answer
        case _:
            pass
    names = {x.array for x in reads(loop)}
    names |= {x.array for x in walk(loop) if isinstance(x, Assign | Reduce)}
    used = tuple(arrays[name] for name in sorted(names))
    # That it was given to the instruction makes no other loop of it.
    key = (id(instruction), loop.var, loop.lower, loop.upper, loop.step, loop.body, *used)
    known = _MATCHED.get(key)
    # An address may be that of an instruction which is no more.
    if known is None or known[0] is not instruction:
        try:
            found: _Answer = _match(instruction, loop, arrays, bits, nowhere)
        except MismatchError as error:
            found = error.with_traceback(None)
        known = _remember(_MATCHED, key, (instruction, found))
    return _remember(_SEEN, id(loop), (loop, instruction, used, known[1]))[3]


def _match(
    instruction: Instruction, loop: For, arrays: Mapping[str, Array], bits: Mapping[str, int], known: Known
) -> OperandMatch:
    found = match_nest(instruction.definition, loop, arrays, bits, known)
    if instruction.implementation is not None:
        written = {x.array for x in walk(loop) if isinstance(x, Assign | Reduce)}
        for one, other in combinations(found.arrays.values(), 2):
            # What has to hold for parts to lie apart is among the match's conditions.
            shared = one.array == other.array and one.array in written
            if shared and reads_apart(loop, arrays[one.array], known) is None:
                raise MismatchError(f"`{one}` and `{other}` are operands of a call, of which one is written")
    return found


def _remember(answers: dict[_K, _V], key: _K, answer: _V) -> _V:
    if len(answers) >= MOST_MATCHED:
        answers.clear()
    answers[key] = answer
    return answer
