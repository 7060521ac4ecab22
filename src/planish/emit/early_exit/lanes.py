"""A condition on elements of rows, for many iterations at a time: vector types of gcc and clang, and a mask of bits.

>>> from planish.poly.early_exit.exit_test import ExitTest, Row
>>> from planish.ir.expr import index
>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.types import I32
>>> test = Compare("gt", Load("0", (), I32), Var("limit", I32))
>>> made = LaneTest(ExitTest(index("n"), test, test, (Row("x", index(0), 1),), 1), Lanes(64, "masks"), EmitContext())
>>> made.count, made.result
(16, '(uint16_t)_mm512_cmp_epi32_mask((__m512i)planish_v0, (__m512i)planish_v1, 6)')
>>> print("\\n".join(made.lines))
const planish_i32x16 planish_v0 = *(const planish_i32x16_at *)(planish_p0 + planish_k);
const planish_i32x16 planish_v1 = limit - (planish_i32x16){0};
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from planish.emit.c.context import EmitContext
from planish.emit.c.expression import c_type, emit_expr
from planish.ir.expr import Binary, Call, Cast, Compare, CompareOp, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.index.polynomial import coefficient_of
from planish.ir.traverse import children, walk_expr
from planish.ir.types import BOOL, INDEX, Type
from planish.poly.early_exit.exit_test import ITERATION, ExitTest

Style = Literal["masks", "movemask", "words"]
"""How lanes become bits: compared into mask registers (AVX-512), by the instruction that collects the signs of bytes
(AVX2), or from 64-bit words."""

_IMMEDIATES: dict[CompareOp, tuple[int, int]] = {
    "eq": (0, 0x00), "lt": (1, 0x11), "le": (2, 0x12), "ne": (4, 0x04), "ge": (5, 0x1D), "gt": (6, 0x1E),
}  # fmt: skip
"""The predicates of `vpcmp`, and those of `vcmpps` that are false for NaN but for `ne`."""
_SIGNS: dict[CompareOp, str] = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_LETTERS = {"int": "i", "uint": "u", "float": "f"}


@dataclass(frozen=True, slots=True)
class Lanes:
    """Vectors of so many bytes, and how their lanes become bits."""

    bytes: int
    style: Style


def lanes_for(features: tuple[str, ...]) -> Lanes:
    """The lanes of a processor with these features."""
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= {*features}:
        return Lanes(64, "masks")
    return Lanes(32, "movemask") if "avx2" in features else Lanes(16, "words")


class LaneTest:
    """The test of `count` iterations: declarations of vector `types`, `lines` of C, and the `result`, a mask with
    `bits` for each iteration, the first of them lowest if rows are read upwards."""

    def __init__(self, test: ExitTest, lanes: Lanes, context: EmitContext, beside: tuple[Expr, ...] = ()) -> None:
        """`beside`: what else is computed in lanes, by `value` and `mask`."""
        self.test, self.lanes, self.context = test, lanes, context
        self.types: dict[str, str] = {}
        self.lines: list[str] = []
        self.picks = False
        self._known: dict[Expr, str] = {}
        own = [type_of(x).size for x in beside if type_of(x) != BOOL]
        self.widest = max((y for x in (test.candidate, *beside) for y in self._widths(x)), default=1)
        self.widest = max((self.widest, *own))
        self.count = lanes.bytes // self.widest
        self.bits = 1 if lanes.style == "masks" else self.widest
        self.result = self._bits_of(self.mask(test.candidate))

    def _moves(self, x: Expr) -> bool:
        """Whether an expression is another one in each lane."""
        match x:
            case Load(array=place):
                return self.test.rows[int(place)].step != 0
            case Var(name=name):
                return name == ITERATION
            case _:
                return any(map(self._moves, children(x)))

    def _widths(self, x: Expr) -> Iterator[int]:
        """The bytes of values that differ from lane to lane."""
        if not self._moves(x):
            return
        if type_of(x) != BOOL:
            yield type_of(x).size
        if not (isinstance(x, Cast) and self._is_number(x.operand)):
            for y in children(x):
                yield from self._widths(y)

    def vector(self, type: Type, count: int | None = None) -> str:
        """The name of a vector type."""
        count = count or self.count
        name = f"planish_{_LETTERS[type.kind]}{type.bits}x{count}"
        size = f"vector_size({type.size * count})"
        self.types[name] = f"typedef {c_type(type)} {name} __attribute__(({size}));"
        return name

    def _place(self, type: Type) -> str:
        """The name of a vector type that may lie anywhere, over elements of any type."""
        name = f"{self.vector(type)}_at"
        size = f"vector_size({type.size * self.count}), aligned(1), may_alias"
        self.types[name] = f"typedef {c_type(type)} {name} __attribute__(({size}));"
        return name

    def _keep(self, x: Expr, type: Type, text: str) -> str:
        name = f"planish_v{len(self._known)}"
        self.lines.append(f"const {self.vector(type)} {name} = {text};")
        self._known[x] = name
        return name

    # Values

    def value(self, x: Expr) -> str:
        """A vector with the values of an expression."""
        if x not in self._known:
            type = type_of(x)
            return self._keep(x, type, self._spell(x, type) if self._moves(x) else self._splat(x, type))
        return self._known[x]

    def _splat(self, x: Expr, type: Type) -> str:
        text = emit_expr(x, self.context)
        if not (isinstance(x, (Var, Load)) and type_of(x) == type):
            text = f"({c_type(type)})({text})"
        return f"{text} - ({self.vector(type)}){{0}}"

    def _spell(self, x: Expr, type: Type) -> str:
        vector = self.vector(type)
        match x:
            case Load(array=place):
                step = self.test.rows[int(place)].step
                if step > 1:
                    return self._picked(place, step, type)
                at = f"+ {ITERATION}" if step > 0 else f"- {ITERATION} - {self.count - 1}"
                return f"*(const {self._place(type)} *)(planish_p{place} {at})"
            case Var():
                return self._numbers(x, type)
            case Cast(operand=operand) if self._is_number(operand):
                return self._numbers(x, type)
            case Cast(operand=operand):
                return self._converted(self.value(operand), type_of(operand), type)
            case Unary(op="neg", operand=operand):
                return self._wrapping(type, "-", self.value(operand))
            case Unary(op="bitnot", operand=operand):
                return f"~{self.value(operand)}"
            case Binary(op="add" | "sub" | "mul" as op, left=left, right=right):
                sign = {"add": "+", "sub": "-", "mul": "*"}[op]
                return self._wrapping(type, sign, self.value(left), self.value(right))
            case Binary(op="div", left=left, right=right):
                return f"{self.value(left)} / {self.value(right)}"
            case Binary(op="and" | "or" | "xor" as op, left=left, right=right):
                return f"{self.value(left)} {'&' if op == 'and' else '|' if op == 'or' else '^'} {self.value(right)}"
            case Binary(op="shl" | "shr" as op, left=left, right=Const(value=by)):
                if op == "shr":
                    return f"{self.value(left)} >> {int(by)}"
                return self._wrapping(type, "<<", self.value(left), str(int(by)))
            case Binary(op="min" | "max" as op, left=left, right=right):
                test = Compare("lt" if op == "min" else "gt", left, right)
                return self._blended(self._lanes(test), left, right, type)
            case Select(condition=Compare() as test, then=then, otherwise=otherwise):
                return self._blended(self._lanes(test), then, otherwise, type)
            case Call(function="fabs", arguments=(operand,)):
                whole = self.vector(_integer(type, "int"))
                return f"({vector})(({whole}){self.value(operand)} & {(1 << (type.bits - 1)) - 1})"
            case Call(function="abs", arguments=(operand,)):
                value, whole = self.value(operand), self.vector(_integer(type, "uint"))
                signs = f"({value} >> {type.bits - 1})"
                return f"({vector})(({whole})({value} ^ {signs}) - ({whole}){signs})"
            case _:
                raise AssertionError(f"lanes of {x.__class__.__name__}")

    def _picked(self, place: str, step: int, type: Type) -> str:
        """Elements that lie `step` apart, out of so many vectors."""
        count, parts = self.count, []
        for n in range(step):
            at = f"planish_p{place} + {step} * {ITERATION}" + (f" + {n * count}" if n else "")
            text = f"*(const {self._place(type)} *)({at})"
            parts.append(self._keep(Load(f"{place}.{n}", (), type), type, text))
        whole, text = self.vector(_integer(type, "int")), parts[0]
        for n in range(1, step):
            sources = [divmod(step * lane, count) for lane in range(count)]
            # Lanes of vectors that are not here yet are anything.
            first = [at if n == 1 and part == 0 else lane for lane, (part, at) in enumerate(sources)]
            lanes = [count + at if part == n else kept for kept, (part, at) in zip(first, sources, strict=True)]
            text = f"planish_pick({whole}, {text}, {parts[n]}, {', '.join(map(str, lanes))})"
            if n < step - 1:
                text = self._keep(Load(f"{place}.to{n}", (), type), type, text)
        self.picks = True
        return text

    def _is_number(self, x: Expr) -> bool:
        """Whether an index grows by a number with each iteration."""
        if type_of(x) != INDEX or not self._moves(x) or any(isinstance(y, Load) for y in walk_expr(x)):
            return False
        return coefficient_of(x, ITERATION) is not None

    def _numbers(self, x: Expr, type: Type) -> str:
        """What grows by a number with each iteration."""
        inner = x.operand if isinstance(x, Cast) else x
        found = coefficient_of(inner, ITERATION)
        assert found is not None
        lanes = [found[0] * (n if self.test.direction > 0 else self.count - 1 - n) for n in range(self.count)]
        first = emit_expr(x, self.context)
        whole, vector = self.vector(_integer(type, "uint")), self.vector(type)
        steps = ", ".join(str(n % (1 << type.bits)) + ("u" if type.bits < 64 else "ull") for n in lanes)
        return f"({vector})(({c_type(_integer(type, 'uint'))})({first}) + ({whole}){{{steps}}})"

    def _converted(self, text: str, old: Type, new: Type) -> str:
        vector = self.vector(new)
        if old.is_int and new.is_int and old.bits == new.bits:
            return f"({vector}){text}"
        return f"__builtin_convertvector({text}, {vector})"

    def _wrapping(self, type: Type, sign: str, *operands: str) -> str:
        """An operation of integers that wraps around."""
        if type.kind == "int":
            whole, vector = self.vector(_integer(type, "uint")), self.vector(type)
            cast = [f"({whole}){x}" if not x.isdigit() else x for x in operands]
            text = f"{sign}{cast[0]}" if len(cast) == 1 else f"{cast[0]} {sign} {cast[1]}"
            return f"({vector})({text})"
        return f"{sign}{operands[0]}" if len(operands) == 1 else f"{operands[0]} {sign} {operands[1]}"

    def _blended(self, test: str, a: Expr, b: Expr, type: Type) -> str:
        whole, vector = self.vector(_integer(type, "int")), self.vector(type)
        first, second = (f"({whole}){self.value(x)}" for x in (a, b))
        return f"({vector})(({first} & {test}) | ({second} & ~{test}))"

    def _lanes(self, test: Compare) -> str:
        """A comparison of values of some type as a vector of integers of that size, 0 or -1."""
        type = type_of(test.left)
        key = Cast(test, _integer(type, "int"))
        if key not in self._known:
            text = f"{self.value(test.left)} {_SIGNS[test.op]} {self.value(test.right)}"
            self._keep(key, _integer(type, "int"), f"({self.vector(_integer(type, 'int'))})({text})")
        return self._known[key]

    # Conditions

    def mask(self, x: Expr) -> str:
        """A condition: bits of a mask register, or a vector of integers that are as wide as the widest values."""
        if not self._moves(x):
            return self._constant(emit_expr(x, self.context))
        match x:
            case Unary(op="not", operand=inner):
                return self._cut(f"~{self.mask(inner)}")
            case Binary(op="and" | "or" | "xor" as op, left=left, right=right):
                sign = {"and": "&", "or": "|", "xor": "^"}[op]
                return f"({self.mask(left)} {sign} {self.mask(right)})"
            case Compare(op=op, left=left, right=right) if type_of(left) == BOOL:
                text = f"({self.mask(left)} ^ {self.mask(right)})"
                return text if op == "ne" else self._cut(f"~{text}")
            case Select(condition=test, then=then, otherwise=otherwise):
                a, b, c = self.mask(test), self.mask(then), self.mask(otherwise)
                return self._cut(f"(({a} & {b}) | (~{a} & {c}))")
            case Compare():
                return self._compared(x)
            case _:
                raise AssertionError("no condition")

    def _constant(self, condition: str) -> str:
        if self.lanes.style == "masks":
            return self._cut(f"({condition} ? -1 : 0)")
        wide = _integer_of(self.widest)
        return f"(({c_type(wide)})({condition} ? -1 : 0) - ({self.vector(wide)}){{0}})"

    def _cut(self, text: str) -> str:
        return f"(uint{max(8, self.count)}_t)({text})" if self.lanes.style == "masks" else text

    def _compared(self, x: Compare) -> str:
        left, right, type = x.left, x.right, type_of(x.left)
        if self.lanes.style != "masks":
            text = self._lanes(x)
            if type.size == self.widest:
                return text
            return self._converted(text, _integer(type, "int"), _integer_of(self.widest))
        while type.size * self.count < 16:
            type = _doubled(type)
            left, right = Cast(left, type), Cast(right, type)
        a, b, bits = self.value(left), self.value(right), 8 * type.size * self.count
        register = f"__m{bits}" + ("i" if type.is_int else "d" if type.bits == 64 else "")
        kind = f"ep{_LETTERS[type.kind]}{type.bits}" if type.is_int else "pd" if type.bits == 64 else "ps"
        name = f"_mm{bits if bits > 128 else ''}_cmp_{kind}_mask"
        number = _IMMEDIATES[x.op][0 if type.is_int else 1]
        return f"(uint{max(8, self.count)}_t){name}(({register}){a}, ({register}){b}, {number})"

    def _bits_of(self, mask: str) -> str:
        match self.lanes.style:
            case "masks":
                return mask
            case "movemask":
                return f"(uint32_t)_mm256_movemask_epi8((__m256i){mask})"
            case "words":
                words = self.vector(_integer_of(8), 2)
                self.lines.append(f"const {words} planish_w = ({words}){mask};")
                return "planish_signs(planish_w[0]) | planish_signs(planish_w[1]) << 8"


PICK = """/* Lanes of two vectors, by their numbers. */
#if defined(__clang__) || __GNUC__ > 11
#define planish_pick(numbers, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define planish_pick(numbers, a, b, ...) __builtin_shuffle(a, b, (numbers){__VA_ARGS__})
#endif"""
"""What lanes need whose elements lie apart."""
SIGNS = """/* The signs of the bytes of a word. */
static inline uint32_t planish_signs(int64_t x) {
  return (uint32_t)((((uint64_t)x & 0x8080808080808080ull) >> 7) * 0x0102040810204080ull >> 56);
}"""
"""What the style "words" needs."""


def _doubled(type: Type) -> Type:
    return Type(type.kind, 2 * type.bits)


def _integer(type: Type, kind: Literal["int", "uint"]) -> Type:
    return Type(kind, type.bits)


def _integer_of(size: int) -> Type:
    return Type("int", 8 * size)
