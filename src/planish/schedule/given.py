"""Loops that are given to instructions: whether one does what the loop does, and what has to hold for it.

>>> from planish.ir.parser import parse_kernel
>>> from planish.ir.printer import print_expr
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

from planish.ir.expr import Expr
from planish.ir.nest import Array, Assign, For, Reduce
from planish.ir.traverse import expressions, loads, walk
from planish.isa.instruction import Instruction
from planish.poly.boxes import Known, nowhere, reads_apart
from planish.poly.matching import Match, MismatchError, match_nest

MOST_MATCHED = 20_000
"""So many answers are kept: micro-kernels have hundreds of loops, of which a step changes a few."""

_Key = tuple[object, ...]
_MATCHED: dict[_Key, tuple[Instruction, tuple[Expr, ...] | None]] = {}


def match_instruction(
    instruction: Instruction, loop: For, arrays: Mapping[str, Array], bits: Mapping[str, int], known: Known = nowhere
) -> Match:
    """The operands with which an instruction does a loop; `arrays` are those in scope, `bits` the widths of registers,
    `known` says of conditions whether they hold where it stands.

    Raises MismatchError where it does something else, or where a kernel would be called with an array twice, one of
    them written, and not with parts of it that are seen to lie apart: its C says that they do."""
    found = match_nest(instruction.definition, loop, arrays, bits, known)
    if instruction.implementation is not None:
        written = {x.array for x in walk(loop) if isinstance(x, Assign | Reduce)}
        for one, other in combinations(found.arrays.values(), 2):
            # What has to hold for parts to lie apart is among the match's conditions.
            shared = one.array == other.array and one.array in written
            if shared and reads_apart(loop, arrays[one.array], known) is None:
                raise MismatchError(f"`{one}` and `{other}` are operands of a call, of which one is written")
    return found


def conditions_of(
    instruction: Instruction, loop: For, arrays: Mapping[str, Array], bits: Mapping[str, int]
) -> tuple[Expr, ...] | None:
    """What has to hold so that an instruction does a loop; None where it does something else."""
    used = {x.array for s in walk(loop) for e in expressions(s) for x in loads(e)}
    used |= {x.array for x in walk(loop) if isinstance(x, Assign | Reduce)}
    key = (id(instruction), loop, *(arrays[name] for name in sorted(used)))
    known = _MATCHED.get(key)
    # An address may be that of an instruction which is no more.
    if known is None or known[0] is not instruction:
        try:
            found = match_instruction(instruction, loop, arrays, bits).conditions
        except MismatchError:
            found = None
        if len(_MATCHED) >= MOST_MATCHED:
            _MATCHED.clear()
        known = _MATCHED[key] = (instruction, found)
    return known[1]
