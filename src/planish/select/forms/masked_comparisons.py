"""Conjunctions of masks: what one comparison finds among the lanes that another one has found is one instruction.

>>> program = RegisterProgram()
>>> x, y, m = (program.make("load", bits, (name, 0)) for bits, name in ((512, "x"), (512, "y"), (64, "m")))
>>> less = program.make("call", 64, ("_mm512_cmp_epu8_mask", ()), (x, y, program.make("scalar", 8, (8, (ONE,)))))
>>> both = program.make("call", 64, ("_kand_mask64", ()), (less, m))
>>> (folded,) = fold_masks([both], program, "x86").roots
>>> folded.detail[0], folded.args[0] is m
('_mm512_mask_cmp_epu8_mask', True)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planish.isa.collection import load_collection
from planish.isa.semantics.node import const
from planish.select.program import RegisterProgram, Value, in_order

ONE = const(1)
_BOTH = re.compile(r"_kand_mask\d+")
_COMPARISON = re.compile(r"(_mm\d*)_(?!mask_)(\w*_mask)")


@dataclass(frozen=True, slots=True)
class FoldedMasks:
    """The roots of the program that is left, and what was made `instead` of what: it costs as much."""

    roots: tuple[Value, ...]
    instead: Mapping[Value, Value]


def fold_masks(roots: Sequence[Value], program: RegisterProgram, isa: str) -> FoldedMasks:
    """A program in which comparisons ask of the lanes of a mask alone, instead of what asks whether both hold."""
    left, instead = tuple(roots), dict[Value, Value]()
    while (found := next(_foldable(left, program, isa), None)) is not None:
        old, comparison, new = found
        changed = {old: new}
        for x in in_order(left):
            if x not in changed and any(y in changed for y in x.args):
                changed[x] = program.make(x.kind, x.bits, x.detail, [changed.get(y, y) for y in x.args])
        left = tuple(changed.get(x, x) for x in left)
        instead |= {y: x for x, y in changed.items()} | {new: comparison}
    return FoldedMasks(left, instead)


def _foldable(
    roots: Sequence[Value], program: RegisterProgram, isa: str
) -> Iterator[tuple[Value, Value, Value]]:  # fmt: skip
    """What asks whether two masks hold, the comparison that is used for nothing else, and what stands for both."""
    values = list(in_order(roots))
    uses = Counter(y for x in values for y in x.args) + Counter(roots)
    both = {frozenset(x.args): x for x in values if _is_both(x)}
    for x in both.values():
        for mask, comparison in (x.args, x.args[::-1]):
            if uses[comparison] > 1 or comparison.kind != "call":
                continue
            name, fixed = comparison.detail
            if (masked := _masked(str(name), isa)) is not None:
                made = program.make("call", x.bits, (masked, fixed), (mask, *comparison.args))
                yield x, comparison, made
            elif _is_masked(str(name), isa):
                # The lanes of two masks may be known as such: those of one are asked for instead.
                within, *operands = comparison.args
                known = both.get(frozenset((mask, within)))
                if known is not None and known is not x:
                    yield x, comparison, program.make("call", x.bits, comparison.detail, (known, *operands))


def _is_both(x: Value) -> bool:
    return x.kind == "call" and len(x.args) == 2 and _BOTH.fullmatch(str(x.detail[0])) is not None


def _masked(name: str, isa: str) -> str | None:
    """The same comparison of the lanes of a mask: its operands come first, in the same order."""
    found = _COMPARISON.fullmatch(name)
    return None if found is None or not _is_known(f"{found[1]}_mask_{found[2]}", isa) else f"{found[1]}_mask_{found[2]}"


def _is_masked(name: str, isa: str) -> bool:
    plain = name.replace("_mask_", "_", 1)
    return plain != name and _masked(plain, isa) == name


def _is_known(name: str, isa: str) -> bool:
    try:
        load_collection(isa).entry(name)
    except KeyError:
        return False
    return True
