"""Compares what an instruction left with its definition.

Bits are compared as they are. What arithmetic on floats gives is compared as floats: a NaN is as good as any other,
since no standard says which one it is; and approximations may be off by as much as they are said to be.

>>> from planish.isa.semantics.text import parse_definition
>>> text = "(a: 32 f32, b: 32 f32) -> out: 32 f32 { out.u32[0] = fadd.f32(a.u32[0], b.u32[0], 0) }"
>>> definition = parse_definition(text)
>>> nan, other = (np.array([[0, 0, top, 0x7F]], np.uint8) for top in (0xC0, 0xC1))
>>> differing(definition, LaneOutcome(nan, np.full((1, 4), 255, np.uint8), {}), other, {}).tolist()
[False]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, LaneLoop, Put, Statement
from planish.isa.semantics.evaluate import Bytes, Given, LaneOutcome, evaluate
from planish.isa.semantics.floats import FORMATS, Format, take_apart
from planish.isa.semantics.node import FLOAT_OPERATORS, Node, node, rebuild, scaled, terms_of, walk


@dataclass(frozen=True, slots=True)
class _Computed:
    """Where a float that is computed lies: its first bit, its format, and how far off it may be (2^-error, 0: not)."""

    bit: int
    form: Format
    error: int


def differing(
    definition: Definition, expected: LaneOutcome, result: Bytes, memory: Mapping[str, Bytes],
    given: Mapping[str, Given] | None = None,
) -> NDArray[np.bool_]:
    """Which rows are not as expected. With what was `given`, floats are compared as floats only in rows where they were
    computed, not where a mask or a choice let something else through."""
    wrong: NDArray[np.bool_] = np.zeros(len(result), bool)
    differ = ((expected.result ^ result) & expected.defined) != 0
    places = _computed(definition) if differ.any() else ()
    if places:
        chosen = np.ones_like(differ)
        if given is not None:
            chosen = evaluate(_marked(definition), given).result != expected.result
        _forgive(differ, expected.result, result, places, chosen)
    wrong |= differ.any(axis=1)
    for name, data in memory.items():
        wrong |= (expected.memory[name] != data).any(axis=1)
    return wrong


def _marked(definition: Definition) -> Definition:
    """The definition with another lowest bit in each float that is computed: what it changes was computed."""

    def mark(statement: Statement) -> Statement:
        if isinstance(statement, LaneLoop):
            return replace(statement, body=tuple(map(mark, statement.body)))
        results = {id(x) for x in _results(statement.value) if _is_computed(x)}

        def change(old: Node, args: tuple[Node, ...]) -> Node:
            made = old if args == old.args else node(old.op, args, old.attr)
            return build.exclude(made, build.ONE) if id(old) in results else made

        return replace(statement, value=rebuild(statement.value, change))

    return replace(definition, body=tuple(map(mark, definition.body)))


def _forgive(
    differ: NDArray[np.bool_], want: Bytes, got: Bytes, places: tuple[_Computed, ...], chosen: NDArray[np.bool_]
) -> None:
    """Takes back differences between floats that are as good as one another."""
    for place in places:
        low, size = place.bit // 8, place.form.bits // 8
        if place.bit % 8 or low + size > want.shape[1]:
            continue
        lane = slice(low, low + size)
        for row in np.flatnonzero(differ[:, lane].any(axis=1) & chosen[:, lane].any(axis=1)):
            a, b = (int.from_bytes(x[row, lane].tobytes(), "little") for x in (want, got))
            if _alike(place, a, b):
                differ[row, lane] = False


def _alike(place: _Computed, want: int, got: int) -> bool:
    form = place.form
    size = form.sign - 1
    if want & size > form.infinity:
        return got & size > form.infinity
    if not place.error or (want ^ got) & form.sign:
        return False
    normal = 1 << form.fraction
    if want & size in (0, form.infinity):
        return False
    if want & size < normal:
        return got & size <= normal  # below the normal numbers an approximation may be nothing
    if got & size >= form.infinity:
        return False
    (a, p), (b, q) = take_apart(form, want & size), take_apart(form, got & size)
    least = min(p, q)
    exact, found = a << (p - least), b << (q - least)
    return abs(exact - found) << place.error <= exact


def _computed(definition: Definition) -> tuple[_Computed, ...]:
    found = []
    result = definition.result
    if result is None:
        return ()
    for put in definition.puts:
        if put.target != result.name:
            continue
        kind = _kind(put)
        if kind is None:
            continue
        form, error = kind
        for offset in _offsets(put.offset):
            found += [_Computed(offset + at, form, error) for at in range(0, put.width, form.bits)]
    return tuple(found)


def _kind(put: Put) -> tuple[Format, int] | None:
    """The format of what is computed, where something is, and its error."""
    kinds = [x for x in _results(put.value) if _is_computed(x)]
    if not kinds:
        return None
    errors = [int(x.attr[1]) for x in walk([put.value]) if x.op in ("frcp", "frsqrt")]
    return FORMATS[str(kinds[0].attr[0])], min(errors, default=0)


def _is_computed(x: Node) -> bool:
    return x.op in FLOAT_OPERATORS or x.op == "quiet"


def _results(root: Node) -> list[Node]:
    """The operators that a value may be the result of, but for its sign and the cut to its width."""
    found: list[Node] = []
    seen: set[int] = set()
    left = [root]
    while left:
        x = left.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        match x.op:
            case "select":
                left += x.args[1:]
            case "xor" | "wrap" | "add" | "or" | "and":
                left += x.args
            case "mul" if x.args[1].op == "const":
                left.append(x.args[0])
            case _:
                found.append(x)
    return found


def _offsets(offset: Node) -> list[int]:
    """All values of an offset."""
    found = [0]
    for term in terms_of(offset):
        if term.op == "const":
            found = [x + term.low for x in found]
            continue
        inner, factor = scaled(term)
        if inner.op != "var":
            return []
        found = [x + factor * n for x in found for n in range(int(inner.attr[1]))]
    return found
