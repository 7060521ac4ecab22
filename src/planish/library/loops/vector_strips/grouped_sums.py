"""Sums in lanes: the terms of a strip, or the factors of these, in registers, and instructions that add these up.

A term is computed in the narrowest lanes that hold it, as for any strip; an instruction adds groups of neighbours to
wider accumulators (`vpdpbusd`, `vpmaddwd`, `vpadalq`). Both programs are proven, and one is put into the other.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.select.instruction import extension_of
>>> from planish.target.load import load_target
>>> text = "kernel k(A: u8[64], T: u32[64]) { for l in 0 .. 64 { T[l] = select(A[l] > 7:u8, 1:u32, 0:u32) } }"
>>> kernel = parse_kernel(text)
>>> strip = read_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays})
>>> found = cover_sum(strip, extension_of(load_target("x86-avx512")))
>>> found.groups, [x.detail[0] for x in in_order([found.value]) if x.kind == "call"]
(((0, 1, 2, 3),), ['_mm512_cmp_epu8_mask', '_mm512_maskz_mov_epi8', '_mm512_dpbusd_epi32'])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce

from planish.ir.nest import For
from planish.ir.text.parser import parse_kernel
from planish.ir.types import I8, I16, I32, U8, U16, U32, Type
from planish.isa.select.lane_values import NoCover
from planish.isa.semantics import build
from planish.isa.semantics.node import Node, terms_of
from planish.select.cover import Cover
from planish.select.demand import Demand
from planish.select.instruction import VectorExtension, cover_for, cover_strip
from planish.select.lane_cover import LOAD
from planish.select.program import RegisterProgram, Value, in_order
from planish.select.proof import Proof
from planish.select.strip import Strip, read_strip

ACCUMULATED = 32
"""The bits of what sums are accumulated in."""
ACCUMULATOR = "sum"
"""The row of memory that the accumulators are loaded from."""
_FACTORS: tuple[tuple[Type, ...], ...] = (
    (U8,), (I8,), (U16,), (I16,), (I32,), (U8, I8), (I8, U8), (U8, U8), (I8, I8), (I16, I16), (U16, U16), (I32, I32),
)  # fmt: skip
"""The elements of terms, and of the two factors of terms, that may be in registers."""


@dataclass(frozen=True, slots=True)
class GroupedSum:
    """A term of a strip that is added to accumulators: `value` is these, which were loaded from the row `ACCUMULATOR`.
    Accumulator q has, for each of the `groups`, the iterations q times its length behind those in it."""

    groups: tuple[tuple[int, ...], ...]
    value: Value
    cost: float


def cover_sum(strip: Strip, registers: VectorExtension) -> GroupedSum:
    """The program that adds the terms of a strip of one output up, modulo 2^32: as they are, or each of their parts;
    NoCover where none is found and proven."""
    (output,) = strip.body.outputs
    term = build.low_bits(output.value, ACCUMULATED)
    cover, proof = cover_for(strip.body, registers), Proof(strip.body, registers.isa)
    whole = _best(term, cover, proof, registers)
    parts = [_best(x, cover, proof, registers) for x in terms_of(term)] if term.op == "add" else []
    split = [x for x in parts if x is not None]
    one_by_one = len(split) == len(parts) and len({x.groups for x in split}) == 1
    if one_by_one and (whole is None or sum(x.cost for x in split) < whole.cost):
        return reduce(_behind, split)
    if whole is None:
        raise NoCover(f"no instructions of {registers.isa} that add such terms up were found")
    return whole


def _behind(first: GroupedSum, second: GroupedSum) -> GroupedSum:
    """Two sums one after the other."""
    value = _inserted(second.value, RegisterProgram(), {}, {ACCUMULATOR: first.value})
    return GroupedSum(first.groups, value, first.cost + second.cost)


def _best(term: Node, cover: Cover, proof: Proof, registers: VectorExtension) -> GroupedSum | None:
    found = (
        _summed(factors, types, cover, proof, registers)
        for factors in _forms(term) for types in _FACTORS
        if len(types) == len(factors) and all(map(_holds, types, factors))
    )  # fmt: skip
    return min((x for x in found if x is not None), key=lambda x: x.cost, default=None)


def _forms(term: Node) -> Iterator[tuple[Node, ...]]:
    """The term itself, alone or times one, and its factors where it is a product."""
    yield (term,)
    yield term, build.ONE
    if term.op == "mul" and len(term.args) == 2:
        yield term.args
        if term.args[0] is term.args[1]:
            size = build.absolute(term.args[0])  # of which the square is the same
            yield size, size


def _holds(type: Type, x: Node) -> bool:
    signed = type.kind == "int"
    low = -(1 << type.bits - 1) if signed else 0
    return low <= x.low and x.high < low + (1 << type.bits)


def _summed(
    factors: Sequence[Node], types: Sequence[Type], cover: Cover, proof: Proof, registers: VectorExtension
) -> GroupedSum | None:  # fmt: skip
    """What adds products of factors up that lie in lanes of some types, in order; None where that is not to be had."""
    bits, width, lanes = registers.widths[0], types[0].bits, cover.body.lanes
    rule = min(_accumulations(tuple(types), registers), key=lambda x: x[1], default=None)
    if rule is None or lanes * width % bits:
        return None
    program, cost = RegisterProgram(), 0.0
    total: Value | None = None
    groups = []
    for first in range(0, lanes, bits // width):
        wanted = range(first, first + bits // width)
        held = []
        for x in factors:
            in_lanes = [(x, 0 if cover.body.is_invariant(x) else at) for at in wanted]
            found = cover.stored(Demand.of(bits, width, in_lanes))
            if found is None or proof.wrong_lane(found.value, in_lanes, width) is not None:
                return None
            held.append(found.value)
            cost += found.cost
        rows = {f"m{at}": x for at, x in enumerate(held, 1)}
        total = _inserted(rule[0], program, {"m0": ACCUMULATOR}, rows if total is None else rows | {"m0": total})
        cost += rule[1]
        groups.append(tuple(range(first, first + ACCUMULATED // width)))
    assert total is not None
    return GroupedSum(tuple(groups), total, cost)


def _inserted(value: Value, program: RegisterProgram, names: Mapping[str, str], rows: Mapping[str, Value]) -> Value:
    """A program in which what it loads from some `rows` is what was made; others have new names."""
    new: dict[Value, Value] = {}
    for x in in_order([value]):
        row = str(x.detail[0]) if x.kind == "load" else ""
        if row in rows:
            new[x] = rows[row]
        elif row in names:
            new[x] = program.make("load", x.bits, (names[row], x.detail[1]))
        else:
            new[x] = program.make(x.kind, x.bits, x.detail, [new[y] for y in x.args])
    return new[value]


@cache
def _accumulations(types: tuple[Type, ...], registers: VectorExtension) -> tuple[tuple[Value, float], ...]:
    """The programs that add groups of neighbours, or products of these, to accumulators: at once, or pairs first."""
    direct = _covered(_text(types, U32, ACCUMULATED, registers, "a[q]"), registers)
    made = [direct] if direct else []
    if len(types) == 1 and types[0].bits == 8:
        wide = I16
        pairs = _covered(_text(types, wide, wide.bits, registers, ""), registers)
        for rest in _accumulations((wide, wide), registers) if pairs else ():
            assert pairs is not None
            program = RegisterProgram()
            ones = program.make("constant", registers.widths[0], (wide.bits, (1,)))
            total = _inserted(rest[0], program, {}, {"m1": pairs[0], "m2": ones})
            made.append((total, pairs[1] + rest[1]))
    return tuple(made)


def _text(types: Sequence[Type], result: Type, width: int, registers: VectorExtension, before: str) -> str:
    """The loop that adds groups of neighbours up, in lanes of a width."""
    bits = registers.widths[0]
    rows = [f"{name}: {type}[{bits // type.bits}]" for name, type in zip("xy", types, strict=False)]
    group = width // types[0].bits

    def term(at: int) -> str:
        read = [f"i32({name}[{group} * q + {at}])" for name in "xy"[: len(types)]]
        return f"{result}({' * '.join(read)})"

    total = " + ".join([*([before] if before else []), *map(term, range(group))])
    head = f"kernel f(a: {result}[{bits // width}], {', '.join(rows)})"
    return f"{head} {{ for q in 0 .. {bits // width} {{ a[q] = {total} }} }}"


def _covered(text: str, registers: VectorExtension) -> tuple[Value, float] | None:
    """The proven program of such a loop, of registers that are loaded whole, and its cost without the loads of what
    will be computed; None where there is none."""
    kernel = parse_kernel(text)
    (loop,) = kernel.body.body
    assert isinstance(loop, For)
    try:
        ((value, _, _),), cost = cover_strip(read_strip(loop, {x.name: x for x in kernel.arrays}), registers)
    except NoCover:
        return None
    loads = [x for x in in_order([value]) if x.kind == "load"]
    given = sum(x.detail[0] != "m0" for x in loads)
    whole = all(x.bits == registers.widths[0] and x.detail[1] == 0 for x in loads)
    return (value, cost - LOAD * given) if whole else None
