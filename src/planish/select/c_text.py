"""A selected program as C: one statement for each register, with the vendor's intrinsics.

>>> from planish.select.program import RegisterProgram
>>> program = RegisterProgram()
>>> row = program.make("load", 128, ("p", 8))
>>> total = program.make("call", 128, ("vaddq_u8", ()), (row, row))
>>> print(*write_statements([(total, "q", 0)], DIALECTS["arm"], {"p": "p", "q": "out"}), sep="\\n")
const uint8x16_t v0 = vld1q_u8((const uint8_t *)(const void *)p + 1);
const uint8x16_t v1 = vaddq_u8(v0, v0);
vst1q_u8((uint8_t *)(void *)out, v1);
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planish.isa.collection import load_collection
from planish.isa.semantics.node import Node
from planish.select.program import Value, in_order


@dataclass(frozen=True, slots=True)
class IntrinsicDialect:
    """The intrinsics of an architecture that are no instructions of a library: `types` by bits; `load` and `store` by
    bits, of an address and a register; `splat` by bits and width, of a number. `call`: the text of a name."""

    isa: str
    types: Mapping[int, str]
    load: Mapping[int, str]
    store: Mapping[int, str]
    splat: Mapping[tuple[int, int], str]
    prefix: str = ""
    suffix: str = ""


def _x86() -> IntrinsicDialect:
    types = {128: "__m128i", 256: "__m256i", 512: "__m512i"}
    words = {128: "_mm", 256: "_mm256", 512: "_mm512"}
    load = {bits: f"{words[bits]}_loadu_si{bits}(({types[bits]} const *)(const void *)({{}}))" for bits in types}
    store = {bits: f"{words[bits]}_storeu_si{bits}(({types[bits]} *)(void *)({{}}), {{}})" for bits in types}
    kinds = {8: ("epi8", "char"), 16: ("epi16", "short"), 32: ("epi32", "int"), 64: ("epi64", "long long")}
    splat = {
        (bits, width): f"{words[bits]}_set1_{kind}{'x' if width == 64 and bits < 512 else ''}(({number})({{}}))"
        for bits in types for width, (kind, number) in kinds.items()
    }  # fmt: skip
    masks = {8: "__mmask8", 16: "__mmask16", 32: "__mmask32", 64: "__mmask64"}
    return IntrinsicDialect("x86", {**masks, **types}, load, store, splat)


def _arm() -> IntrinsicDialect:
    load = {64: "vld1_u8((const uint8_t *)(const void *){})", 128: "vld1q_u8((const uint8_t *)(const void *){})"}
    store = {64: "vst1_u8((uint8_t *)(void *){}, {})", 128: "vst1q_u8((uint8_t *)(void *){}, {})"}
    splat = {
        (bits, width): f"vdup{'q' if bits == 128 else ''}_n_u{width}((uint{width}_t)({{}}))"
        for bits in (64, 128) for width in (8, 16, 32, 64)
    }  # fmt: skip
    return IntrinsicDialect("arm", {64: "uint8x8_t", 128: "uint8x16_t"}, load, store, splat)


def _hvx() -> IntrinsicDialect:
    load = {1024: "*(const HVX_UVector *)(const void *)({})", 2048: "*(const HVX_UVectorPair *)(const void *)({})"}
    store = {1024: "*(HVX_UVector *)(void *)({}) = {}"}
    words = {8: "0x01010101u * (uint8_t)", 16: "0x00010001u * (uint16_t)", 32: "(int)"}
    splat = {(1024, width): f"Q6_V_vsplat_R((int)({text}({{}})))" for width, text in words.items()}
    types = {1024: "HVX_Vector", 2048: "HVX_VectorPair"}
    return IntrinsicDialect("hvx", types, load, store, splat, "__builtin_HEXAGON_", "_128B")


DIALECTS: Mapping[str, IntrinsicDialect] = {"x86": _x86(), "arm": _arm(), "hvx": _hvx()}

Store = tuple[Value, str, int]
"""A register, the row that it is stored in, and the bit offset there."""


def write_statements(stores: Sequence[Store], dialect: IntrinsicDialect, rows: Mapping[str, str]) -> list[str]:
    """The statements of a program. `rows`: the C of the address of each row and of each scalar."""
    return _Writer(dialect, rows).statements(stores)


@dataclass(slots=True)
class _Writer:
    dialect: IntrinsicDialect
    rows: Mapping[str, str]

    def statements(self, stores: Sequence[Store]) -> list[str]:
        names: dict[Value, tuple[str, str]] = {}
        lines = []
        for x in in_order([value for value, _, _ in stores]):
            if x.kind == "scalar":
                names[x] = self.scalar(x), ""
                continue
            kind, text = self.value(x, names)
            name = f"v{sum(1 for y in names if y.kind != 'scalar')}"
            lines.append(f"const {kind} {name} = {text};")
            names[x] = name, kind
        for value, row, offset in stores:
            name, kind = names[value]
            given = self.cast(name, kind, self.dialect.types[value.bits])
            lines.append(self.dialect.store[value.bits].format(self.place(row, offset), given) + ";")
        return lines

    def place(self, row: str, offset: int) -> str:
        assert offset % 8 == 0
        base = self.rows[row]
        if offset == 0:
            return base
        cast = "" if self.dialect.isa == "arm" else "(const char *)"
        return f"{cast}{base} {'+' if offset > 0 else '-'} {abs(offset) // 8}"

    def cast(self, text: str, kind: str, wanted: str) -> str:
        return text if kind == wanted or not wanted or "mask" in wanted or "mask" in kind else f"({wanted}){text}"

    def value(self, x: Value, names: Mapping[Value, tuple[str, str]]) -> tuple[str, str]:
        match x.kind:
            case "load":
                row, offset = x.detail
                assert isinstance(row, str) and isinstance(offset, int)
                return self.dialect.types[x.bits], self.dialect.load[x.bits].format(self.place(row, offset))
            case "constant" | "splat":
                return self.dialect.types[x.bits], self.repeated(x)
            case "call":
                return self.call(x, names)
        raise AssertionError(x.kind)

    def call(self, x: Value, names: Mapping[Value, tuple[str, str]]) -> tuple[str, str]:
        entry = load_collection(self.dialect.isa).entry(str(x.detail[0]))
        given = [
            self.cast(*names[y], "" if y.kind == "scalar" else kind)
            for y, (kind, _) in zip(x.args, entry.signature.parameters, strict=True)
        ]
        name = f"{self.dialect.prefix}{entry.name}{self.dialect.suffix}"
        return entry.signature.result, f"{name}({', '.join(given)})"

    def repeated(self, x: Value) -> str:
        """Lanes that have a period."""
        width, lanes = x.detail
        assert isinstance(width, int) and isinstance(lanes, tuple)
        period = width * len(lanes)
        if x.bits <= 64 and (x.bits, 8) not in self.dialect.splat:  # a mask
            return hex(_packed(width, lanes, x.bits))
        if period <= 64:
            unit = max(period, 8)
            texts = {(x.bits, unit)}
            while texts - set(self.dialect.splat) and unit < 64:
                unit *= 2
                texts = {(x.bits, unit)}
            count = unit // width
            filled = tuple(lanes[at % len(lanes)] for at in range(count))
            return self.dialect.splat[x.bits, unit].format(self.packed(width, filled))
        octets = _packed(width, lanes, x.bits).to_bytes(x.bits // 8, "little")
        text = "(const unsigned char[]){" + ", ".join(map(str, octets)) + "}"
        return self.dialect.load[x.bits].format(text)

    def packed(self, width: int, lanes: tuple[object, ...]) -> str:
        if not any(isinstance(x, Node) for x in lanes):
            number = _packed(width, lanes, width * len(lanes))
            return str(number) if number < 1 << 31 else f"{number:#x}{'LL' if number >= 1 << 32 else 'u'}"
        parts = []
        for at, x in enumerate(lanes):
            if isinstance(x, Node) and x.constant != 0:
                cut = self.term(x) if len(lanes) == 1 else f"(uint{width}_t){self.term(x)}"
                wide = "(uint64_t)" if width * len(lanes) > 32 else "(uint32_t)"
                parts.append(cut if at == 0 else f"{wide}{cut} << {at * width}")
        return " | ".join(parts) or "0"

    def scalar(self, x: Value) -> str:
        width, lanes = x.detail
        assert isinstance(width, int) and isinstance(lanes, tuple)
        if all(isinstance(y, Node) and y.op == "const" for y in lanes):
            number = _packed(width, tuple(y.low for y in lanes), width * len(lanes)) if len(lanes) > 1 else lanes[0].low
            return str(number)
        return f"(int)({self.packed(width, lanes)})"

    def term(self, x: Node) -> str:
        """A value that does not vary, as C of 64 bits."""
        match x.op:
            case "const":
                return f"{x.low}" if x.low >= 0 else f"({x.low})"
            case "bits" if x.args[0].op == "const":
                name, width, signed = x.attr
                base = self.rows[str(name)]
                kind = f"{'' if signed else 'u'}int{width}_t"
                if base.startswith("="):  # a scalar
                    return f"(int64_t)({kind})({base[1:]})"
                return f"(int64_t)(({kind} const *)(const void *)({base}))[{x.args[0].low // int(width)}]"
            case "add":
                return f"({' + '.join(map(self.term, x.args))})"
            case "mul" | "and" | "or" | "xor" | "shl" | "shr" | "lt" | "le" | "eq":
                sign = {"mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>", "lt": "<", "le": "<=",
                        "eq": "=="}[x.op]  # fmt: skip
                return f"({self.term(x.args[0])} {sign} {self.term(x.args[1])})"
            case "wrap":
                width, signed = x.attr
                if width in (8, 16, 32):
                    return f"(int64_t)({'' if signed else 'u'}int{width}_t){self.term(x.args[0])}"
            case "invert":
                return f"(~{self.term(x.args[0])})"
            case "min" | "max":
                a, b = map(self.term, x.args)
                return f"({a} {'<' if x.op == 'min' else '>'} {b} ? {a} : {b})"
            case "select":
                a, b, c = map(self.term, x.args)
                return f"({a} ? {b} : {c})"
        raise NotImplementedError(x.op)


def _packed(width: int, lanes: tuple[object, ...], bits: int) -> int:
    total = 0
    for at in range(bits // width):
        x = lanes[at % len(lanes)]
        number = x.low if isinstance(x, Node) else x if isinstance(x, int) else 0
        total |= (number & ((1 << width) - 1)) << (at * width)
    return total
