"""Operations of many lanes as several of fewer: what each lane becomes does not depend on how many there are.

>>> from planish.isa.entry import Entry, IntrinsicSignature
>>> from planish.isa.exports.operations import find_operations
>>> from planish.isa.classes.operation_classes import find_classes
>>> text = "(a: {0}, b: {0}) -> dst: {0} {{ for i < {1} {{ dst.u8[i] = u8(a.u8[i] + b.u8[i]) }} }}"
>>> kinds = {"_mm_add_epi8": ("__m128i", 128, 16), "_mm256_add_epi8": ("__m256i", 256, 32)}
>>> signature = lambda c: IntrinsicSignature(c, ((c, "a"), (c, "b")))
>>> entries = [Entry(name, "x86", signature(c), text.format(bits, lanes), status="verified")
...            for name, (c, bits, lanes) in kinds.items()]
>>> {whole: (x.operation.name, x.times) for whole, x in find_parts(find_operations(find_classes(entries))).items()}
{'add_i8x32': ('add_i8x16', 2)}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from planish.isa.exports.operations import ExportedOperation
from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, LaneLoop, Operand, Put
from planish.isa.semantics.node import Node, const, node, rebuild, scaled, terms_of, var, walk
from planish.isa.semantics.rename import rename_operands
from planish.isa.semantics.text import print_definition

_TIMES = (2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class SplitOperation:
    """The operation that does each part of another one, and how many parts that has."""

    operation: ExportedOperation
    times: int


def find_parts(operations: Sequence[ExportedOperation]) -> Mapping[str, SplitOperation]:
    """For the names of those operations that have one, the largest operation that does a part of it."""
    return _parts(tuple(operations))


@lru_cache(maxsize=8)
def _parts(operations: tuple[ExportedOperation, ...]) -> Mapping[str, SplitOperation]:
    known: dict[tuple[str, str], ExportedOperation] = {}
    for x in operations:
        known.setdefault((x.of, _written(x.definition)), x)
    found = {}
    for x in operations:
        for times in _TIMES:
            part = _part(x.definition, times)
            if part is None:
                break
            made = known.get((x.of, _written(part)))
            if made is not None and made.values == x.values:
                found[x.name] = SplitOperation(made, times)
                break
    return found


def _written(definition: Definition) -> str:
    """A definition as text, whatever its operands are called and hold."""
    names = {x.name: f"p{at}" for at, x in enumerate(definition.operands)}
    names |= {definition.result.name: "out"} if definition.result else {}
    made = rename_operands(definition, names)
    operands = tuple(replace(x, element="") for x in made.operands)
    return print_definition(replace(made, operands=operands, result=made.result and replace(made.result, element="")))


def _part(definition: Definition, times: int) -> Definition | None:
    """The lowest part of an operation all of whose parts do the same with the parts of its operands."""
    result = definition.result
    if result is None or result.bits < 8 * times or len(definition.body) != 1:
        return None
    (loop,) = definition.body
    if not isinstance(loop, LaneLoop) or loop.count % times or len(loop.body) != 1:
        return None
    (put,) = loop.body
    if not isinstance(put, Put) or put.target != result.name or any(x.role == "memory" for x in definition.operands):
        return None
    counter, fewer = var(loop.var, loop.count), loop.count // times
    strides: dict[str, int] = {}
    for x in walk((put.offset, put.value, put.when)):
        if x.op == "bits" and not _moves(x, counter, strides):
            return None
    step = _stride(put.offset, counter)
    if step is None or put.offset.low != 0 or step * loop.count != result.bits:
        return None
    if _uses_outside_of_places((put.value, put.when), counter):
        return None
    operands = []
    for operand in definition.operands:
        stride = strides.get(operand.name, 0)
        if stride and (stride * loop.count != operand.bits or operand.bits < 8 * times):
            return None
        operands.append(replace(operand, bits=operand.bits // times) if stride else operand)
    shorter = var(loop.var, fewer)

    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old is counter:
            return shorter
        return old if args == old.args else node(old.op, args, old.attr)

    value, offset, when = (rebuild(x, change) for x in (put.value, put.offset, put.when))
    body = LaneLoop(loop.var, fewer, (replace(put, value=value, offset=offset, when=when),))
    return Definition(tuple(operands), Operand(result.name, result.bits // times, result.role, result.element), (body,))


def _uses_outside_of_places(roots: tuple[Node, ...], counter: Node) -> bool:
    """Whether a value depends on the counter but by way of what is read."""
    seen: set[int] = set()
    left = list(roots)
    while left:
        x = left.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if x is counter:
            return True
        if x.op != "bits":
            left += x.args
    return False


def _moves(x: Node, counter: Node, strides: dict[str, int]) -> bool:
    """Whether a read moves with the counter by whole lanes, and stays within its own one."""
    name = str(x.attr[0])
    stride = _stride(x.args[0], counter)
    if stride is None:
        return False
    if strides.setdefault(name, stride) != stride:
        return False
    if stride == 0:
        return True
    rest = build.subtract(x.args[0], build.multiply(counter, const(stride)))
    return rest.low >= 0 and rest.high + int(x.attr[1]) <= stride


def _stride(offset: Node, counter: Node) -> int | None:
    """By how much an offset grows with the counter; None where it depends on it in another way."""
    found = 0
    for term in terms_of(offset):
        inner, factor = scaled(term)
        if inner is counter:
            found += factor
        elif any(y is counter for y in walk([inner])):
            return None
    return found
