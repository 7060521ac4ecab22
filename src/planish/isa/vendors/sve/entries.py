"""The entries of SVE: each operation for its types, and for what becomes of lanes that a predicate leaves out.

>>> entry = sve_entries()["svadd_s32_z"]
>>> entry.text
'(pg: VL/8, op1: VL, op2: VL) -> dst: VL { for i < VL/32 { dst.u32[i] = \
select(pg.u1[4*i], u32(op1.s32[i] + op2.s32[i]), 0) } }'
>>> entry.signature.parameters
(('svbool_t', 'pg'), ('svint32_t', 'op1'), ('svint32_t', 'op2'))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from planish.isa.entry import Entry, IntrinsicSignature
from planish.isa.vendors.sve.operations import (
    BINARY,
    COMPARED,
    COUNTS,
    EXTENSIONS,
    FLOAT_BINARY,
    FLOAT_COMPARED,
    FLOAT_TERNARY,
    FLOAT_UNARY,
    FLOATS,
    HALVES,
    INTEGERS,
    PERMUTED,
    PREDICATES,
    SATURATED,
    SHIFTS,
    TERNARY,
    UNARY,
    lane_names,
)

_WORDS = {"s": "int", "u": "uint", "f": "float"}
_SCALARS = {"f16": "float16_t", "f32": "float32_t", "f64": "float64_t"}
_PREDICATE = ("svbool_t", "pg")
_OPERANDS = ("op1", "op2", "op3")


@cache
def sve_entries() -> Mapping[str, Entry]:
    """All of them, by their names."""
    made = (*_predicated(), *_unary(), *_plain(), *_compared(), *_moved(), *_memory(), *_sums(), *_predicates())
    return {x.name: x for x in made}


def _vector(kind: str) -> str:
    return f"sv{_WORDS[kind[0]]}{kind[1:]}_t"


def _scalar(kind: str) -> str:
    return _SCALARS.get(kind, f"{_WORDS[kind[0]]}{kind[1:]}_t")


def _operand(name: str, kind: str) -> str:
    """An operand of a definition: a register of a type, or "b" for a predicate."""
    if kind == "b":
        return f"{name}: VL/8"
    return f"{name}: VL {kind}" if kind in FLOATS else f"{name}: VL"


def _kind(kind: str) -> str:
    return "svbool_t" if kind == "b" else _vector(kind)


def _entry(name: str, result: str, operands: Sequence[tuple[str, str]], body: str) -> Entry:
    """An entry of registers and predicates."""
    text = f"({', '.join(_operand(x, kind) for x, kind in operands)}) -> {_operand('dst', result)} {{ {body} }}"
    parameters = tuple((_kind(kind), x) for x, kind in operands)
    return Entry(name, "sve", IntrinsicSignature(_kind(result), parameters), text, ("SVE",))


def _forms(
    op: str, kind: str, operands: Sequence[tuple[str, str]], value: str, result: str = "", inactive: str = "op1"
) -> Iterator[Entry]:
    """Under a predicate: other lanes keep what an operand has (`m`), are zero (`z`), or nothing is said of them."""
    width = int(kind[1:])
    there = f"pg.u1[{width // 8}*i]" if width > 8 else "pg.u1[i]"
    for form, otherwise in (("m", f"{inactive}.u{width}[i]"), ("z", "0"), ("x", "")):
        put = f"dst.u{width}[i] = " + (f"select({there}, {value}, {otherwise})" if otherwise else f"{value} if {there}")
        given = [("pg", "b"), *operands]
        if inactive != "op1" and form == "m":
            given = [(inactive, result or kind), *given]
        yield _entry(f"sv{op}_{kind}_{form}", result or kind, given, f"for i < VL/{width} {{ {put} }}")


def _predicated() -> Iterator[Entry]:
    for kind in (*INTEGERS, *FLOATS):
        names = lane_names(kind)
        two = [(x, kind) for x in _OPERANDS[:2]]
        three = [(x, kind) for x in _OPERANDS]
        for op, value in (BINARY if kind in INTEGERS else FLOAT_BINARY).items():
            yield from _forms(op, kind, two, value.format(**names))
        for op, value in (TERNARY if kind in INTEGERS else FLOAT_TERNARY).items():
            yield from _forms(op, kind, three, value.format(**names))
    for op, (kinds, value) in SHIFTS.items():
        for kind in kinds:
            given = [("op1", kind), ("op2", f"u{kind[1:]}")]
            yield from _forms(op, kind, given, value.format(**lane_names(kind)))


def _unary() -> Iterator[Entry]:
    for op, (kinds, value) in (*UNARY.items(), *COUNTS.items()):
        for kind in kinds:
            result = f"u{kind[1:]}" if op in COUNTS else kind
            given = [("op1", kind)]
            yield from _forms(op, kind, given, value.format(**lane_names(kind)), result, "inactive")
    for kind in FLOATS:
        for op, value in FLOAT_UNARY.items():
            yield from _forms(op, kind, [("op1", kind)], value.format(**lane_names(kind)), kind, "inactive")
    for op, low in EXTENSIONS.items():
        for kind in INTEGERS:
            width = int(kind[1:])
            if width > low:
                value = f"u{width}(op1.{kind[0]}{low}[{width // low}*i])"
                yield from _forms(op, kind, [("op1", kind)], value, kind, "inactive")


def _plain() -> Iterator[Entry]:
    for kind in INTEGERS:
        width = int(kind[1:])
        for op, value in SATURATED.items():
            body = f"for i < VL/{width} {{ dst.u{width}[i] = {value.format(**lane_names(kind))} }}"
            yield _entry(f"sv{op}_{kind}", kind, [("op1", kind), ("op2", kind)], body)
    for kind, part in (("s32", "s8"), ("u32", "u8"), ("s64", "s16"), ("u64", "u16")):
        width = int(kind[1:])
        total = f"op1.{kind}[i] + sum(q < 4: op2.{part}[4*i + q]*op3.{part}[4*i + q])"
        body = f"for i < VL/{width} {{ dst.u{width}[i] = u{width}({total}) }}"
        yield _entry(f"svdot_{kind}", kind, [("op1", kind), ("op2", part), ("op3", part)], body)


def _compared() -> Iterator[Entry]:
    for kind in (*INTEGERS, *FLOATS):
        width = int(kind[1:])
        there = f"pg.u1[{width // 8}*i]" if width > 8 else "pg.u1[i]"
        for op, value in (COMPARED if kind in INTEGERS else FLOAT_COMPARED).items():
            body = f"for i < VL/{width} {{ dst.u{width // 8}[i] = {there} & ({value.format(**lane_names(kind))}) }}"
            yield _entry(f"sv{op}_{kind}", "b", [("pg", "b"), ("op1", kind), ("op2", kind)], body)


def _moved() -> Iterator[Entry]:
    for kind in (*INTEGERS, *FLOATS):
        width = int(kind[1:])
        two = [("op1", kind), ("op2", kind)]
        for op, (first, second, one, other) in PERMUTED.items():
            given = {"w": width, "v": 2 * width}
            parts = {"first": first, "second": second, "one": one, "other": other}
            body = HALVES.format(**given, **{x: y.format(**given) for x, y in parts.items()})
            yield _entry(f"sv{op}_{kind}", kind, two, body)
        there = f"pg.u1[{width // 8}*i]" if width > 8 else "pg.u1[i]"
        chosen = f"select({there}, op1.u{width}[i], op2.u{width}[i])"
        yield _entry(f"svsel_{kind}", kind, [("pg", "b"), *two], f"for i < VL/{width} {{ dst.u{width}[i] = {chosen} }}")
        last = f"op1.u{width}[VL/{width} - 1 - i]"
        yield _entry(f"svrev_{kind}", kind, two[:1], f"for i < VL/{width} {{ dst.u{width}[i] = {last} }}")
        yield _of_scalars(f"svdup_n_{kind}", kind, ("op",), f"op.u{width}[0]")
        if kind in INTEGERS:
            yield _of_scalars(f"svindex_{kind}", kind, ("base", "step"), f"u{width}(base.{kind}[0] + i*step.{kind}[0])")


def _of_scalars(name: str, kind: str, operands: Sequence[str], value: str) -> Entry:
    width = int(kind[1:])
    element = f" {kind}" if kind in FLOATS else ""
    given = ", ".join(f"{x}: {width}{element}" for x in operands)
    text = f"({given}) -> {_operand('dst', kind)} {{ for i < VL/{width} {{ dst.u{width}[i] = {value} }} }}"
    signature = IntrinsicSignature(_vector(kind), tuple((_scalar(kind), x) for x in operands))
    return Entry(name, "sve", signature, text, ("SVE",))


def _memory() -> Iterator[Entry]:
    for kind in (*INTEGERS, *FLOATS):
        width = int(kind[1:])
        element = f" {kind}" if kind in FLOATS else ""
        there = f"pg.u1[{width // 8}*i]" if width > 8 else "pg.u1[i]"
        loop = f"for i < VL/{width}"
        body = f"{loop} {{ dst.u{width}[i] = select({there}, base.u{width}[i], 0) }}"
        text = f"(pg: VL/8, base: VL{element} memory) -> {_operand('dst', kind)} {{ {body} }}"
        load = IntrinsicSignature(_vector(kind), (_PREDICATE, (f"const {_scalar(kind)} *", "base")))
        yield Entry(f"svld1_{kind}", "sve", load, text, ("SVE",))
        body = f"{loop} {{ base.u{width}[i] = data.u{width}[i] if {there} }}"
        text = f"(pg: VL/8, base: VL{element} memory, data: VL{element}) {{ {body} }}"
        store = IntrinsicSignature("void", (_PREDICATE, (f"{_scalar(kind)} *", "base"), (_vector(kind), "data")))
        yield Entry(f"svst1_{kind}", "sve", store, text, ("SVE",))


def _sums() -> Iterator[Entry]:
    for kind in INTEGERS:
        width = int(kind[1:])
        there = f"pg.u1[{width // 8}*q]" if width > 8 else "pg.u1[q]"
        total = f"u64(sum(q < VL/{width}: select({there}, op.{kind}[q], 0)))"
        text = f"(pg: VL/8, op: VL) -> dst: 64 {{ dst.u64[0] = {total} }}"
        signature = IntrinsicSignature(_scalar(f"{kind[0]}64"), (_PREDICATE, (_vector(kind), "op")))
        yield Entry(f"svaddv_{kind}", "sve", signature, text, ("SVE",))


def _predicates() -> Iterator[Entry]:
    for op, value in PREDICATES.items():
        lane = value.replace("a", "op1.u1[i]").replace("b", "op2.u1[i]")
        body = f"for i < VL/8 {{ dst.u1[i] = pg.u1[i] & ({lane}) }}"
        yield _entry(f"sv{op}_b_z", "b", [("pg", "b"), ("op1", "b"), ("op2", "b")], body)
    for width in (8, 16, 32, 64):
        for kind in ("s32", "s64", "u32", "u64"):
            there = f"op1.{kind}[0] + i < op2.{kind}[0]"
            body = f"for i < VL/{width} {{ dst.u{width // 8}[i] = {there} }}"
            text = f"(op1: {kind[1:]}, op2: {kind[1:]}) -> dst: VL/8 {{ {body} }}"
            signature = IntrinsicSignature("svbool_t", ((_scalar(kind), "op1"), (_scalar(kind), "op2")))
            yield Entry(f"svwhilelt_b{width}_{kind}", "sve", signature, text, ("SVE",))
