"""A selected program as C: one statement for each register, with the vendor's intrinsics.

>>> from planish.select.program import RegisterProgram
>>> program = RegisterProgram()
>>> row = program.make("load", 128, ("p", 8))
>>> total = program.make("call", 128, ("vaddq_u8", ()), (row, row))
>>> print(*write_statements([(total, "q", 0)], DIALECTS["arm"], {"p": "p", "q": "out"}), sep="\\n")
const uint8x16_t planish_v0 = vld1q_u8((const uint8_t *)((char *)(void *)p + 1));
const uint8x16_t planish_v1 = vaddq_u8(planish_v0, planish_v0);
vst1q_u8((uint8_t *)((char *)(void *)out), planish_v1);
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from planish.isa.collection import load_collection
from planish.isa.entry import Entry
from planish.isa.select.lane_values import NoCover
from planish.isa.semantics import build
from planish.isa.semantics.node import Node
from planish.isa.vendors.hvx.intrinsics import intrinsic_of
from planish.select.program import Value, in_order


@dataclass(frozen=True, slots=True)
class IntrinsicDialect:
    """The intrinsics of an architecture that are no instructions of a library: `types` by bits; `load` and `store` by
    bits, of an address and a register; `splat` by bits and width, of a number; `widen` by bits before and after, of a
    register, whose new bits are anything; `part` by bits before and after and the first bit, of a register;
    `masked_load` by bits and width, of a mask and an address; `masked_store` of an address, a mask and a register;
    `intrinsic` says what an instruction is called; `ordered`: compilers leave loads in the order of the text."""

    isa: str
    types: Mapping[int, str]
    load: Mapping[int, str]
    store: Mapping[int, str]
    splat: Mapping[tuple[int, int], str]
    widen: Mapping[tuple[int, int], str] = field(default_factory=dict)
    part: Mapping[tuple[int, int, int], str] = field(default_factory=dict)
    masked_load: Mapping[tuple[int, int], str] = field(default_factory=dict)
    masked_store: Mapping[tuple[int, int], str] = field(default_factory=dict)
    intrinsic: Callable[[Entry], str | None] = lambda entry: entry.name
    ordered: bool = False


def _x86() -> IntrinsicDialect:
    types = {128: "__m128i", 256: "__m256i", 512: "__m512i"}
    words = {128: "_mm", 256: "_mm256", 512: "_mm512"}
    load = {bits: f"{words[bits]}_loadu_si{bits}(({types[bits]} const *)({{}}))" for bits in types}
    store = {bits: f"{words[bits]}_storeu_si{bits}(({types[bits]} *)({{}}), {{}})" for bits in types}
    kinds = {8: ("epi8", "char"), 16: ("epi16", "short"), 32: ("epi32", "int"), 64: ("epi64", "long long")}
    splat = {
        (bits, width): f"{words[bits]}_set1_{kind}{'x' if width == 64 and bits < 512 else ''}(({number})({{}}))"
        for bits in types for width, (kind, number) in kinds.items()
    }  # fmt: skip
    masks = {8: "__mmask8", 16: "__mmask16", 32: "__mmask32", 64: "__mmask64"}
    widen = {(low, high): f"{words[high]}_castsi{low}_si{high}({{}})" for low in types for high in types if low < high}
    chosen = [(bits, width) for bits in types for width in kinds]
    masked_load = {(x, y): f"{words[x]}_maskz_loadu_{kinds[y][0]}({{}}, {{}})" for x, y in chosen}
    masked_store = {(x, y): f"{words[x]}_mask_storeu_{kinds[y][0]}({{}}, {{}}, {{}})" for x, y in chosen}
    return IntrinsicDialect(
        "x86", {**masks, **types}, load, store, splat, widen, masked_load=masked_load, masked_store=masked_store
    )


def _arm() -> IntrinsicDialect:
    types = {64: "uint8x8_t", 128: "uint8x16_t"}
    load = {64: "vld1_u8((const uint8_t *)({}))", 128: "vld1q_u8((const uint8_t *)({}))"}
    store = {64: "vst1_u8((uint8_t *)({}), {})", 128: "vst1q_u8((uint8_t *)({}), {})"}
    splat = {
        (bits, width): f"({types[bits]})vdup{'q' if bits == 128 else ''}_n_u{width}((uint{width}_t)({{}}))"
        for bits in (64, 128) for width in (8, 16, 32, 64)
    }  # fmt: skip
    return IntrinsicDialect("arm", types, load, store, splat)


def _hvx() -> IntrinsicDialect:
    types = {1024: "HVX_Vector", 2048: "HVX_VectorPair"}
    pair = "Q6_W_vcombine_VV({}, {})"
    load = "*(planish_unaligned const *)({0})"
    splat = {8: "Q6_Vb_vsplat_R((int)({0}))", 16: "Q6_Vh_vsplat_R((int)({0}))", 32: "Q6_V_vsplat_R((int)({0}))"}
    return IntrinsicDialect(
        "hvx",
        types,
        {1024: load, 2048: pair.format(load.replace("{0}", "{0} + 128"), load)},
        {1024: "*(planish_unaligned *)({}) = {}"},
        {(bits, width): text if bits == 1024 else pair.format(text, text)
         for bits in types for width, text in splat.items()},
        part={(2048, 1024, 0): "Q6_V_lo_W({})", (2048, 1024, 1024): "Q6_V_hi_W({})"},
        intrinsic=lambda entry: intrinsic_of(entry.mnemonic),
        ordered=True,
    )  # fmt: skip


DIALECTS: Mapping[str, IntrinsicDialect] = {"x86": _x86(), "arm": _arm(), "hvx": _hvx()}

Store = tuple[Value, str, int]
"""A register, the row that it is stored in, and the bit offset there."""


def write_statements(
    stores: Sequence[Store], dialect: IntrinsicDialect, names: Mapping[str, str], scalars: Collection[str] = (),
    ends: Mapping[str, tuple[int, str]] | None = None,
) -> list[str]:  # fmt: skip
    """The statements of a program; NoCover for what C does not say here. `names`: the C of the address of each row, and
    of each of the scalars. `ends`: the bits of a row's elements, and the C of how many there are of it: none behind
    these is read or stored."""
    writer = _Writer(dialect, names, frozenset(scalars), ends or {})
    lines = writer.statements(stores)
    return [*writer.masks(), *lines]


_LOADS = ("load", "masked load")
_UNNAMED = ("scalar", "masked")
_Key = TypeVar("_Key")
_Known = TypeVar("_Known")


@dataclass(slots=True)
class _Writer:
    dialect: IntrinsicDialect
    names: Mapping[str, str]
    scalars: frozenset[str]
    ends: Mapping[str, tuple[int, str]]
    first: dict[tuple[str, int, int], str] = field(default_factory=dict)

    def masks(self) -> list[str]:
        """The masks of the lanes that are there, as far as statements use them."""
        lines = []
        for (end, at, lanes), name in self.first.items():
            kind, count = self.type(max(lanes, 8)), f"{name}_count"
            bits = f"{count} >= {lanes} ? ~0ull : {count} <= 0 ? 0 : (1ull << {count}) - 1"
            lines.append(f"const ptrdiff_t {count} = ({end}) - {at};")
            lines.append(f"const {kind} {name} = ({kind})({bits});")
        return lines

    def there(self, row: str, offset: int, bits: int, width: int | None = None) -> str:
        """The mask of those lanes of a register of a row that are there; NoCover where these are no elements."""
        own, end = self.ends[row]
        if offset % own or width not in (None, own):
            raise NoCover(f"lanes of `{row}` that are no elements")
        return self.first.setdefault((end, offset // own, bits // own), f"planish_m{len(self.first)}")

    def statements(self, stores: Sequence[Store]) -> list[str]:
        values = list(in_order([value for value, _, _ in stores]))
        registers = [x for x in values if x.kind not in _UNNAMED]
        # Operands are the user's expressions, in which such names do not occur.
        texts = {x: f"planish_v{at}" for at, x in enumerate(registers)}
        texts |= {x: self.scalar(x) for x in values if x.kind == "scalar"}
        lines: list[str] = []
        later = Counter(str(x.detail[0]) for x in registers if x.kind in _LOADS)
        waiting: list[Store] = []
        made: set[Value] = set()
        for at, store in enumerate(stores):
            own = self.only_there(stores, at, made) if not waiting else ()
            # Where loads keep their place in the text, those of the next store begin before what this one waits for.
            ahead = stores[at + 1][:1] if self.dialect.ordered and at + 1 < len(stores) else ()
            early = [x for x in in_order(ahead) if x.kind in _LOADS]
            fresh = [x for x in (*early, *in_order([store[0]])) if x.kind not in _UNNAMED and x not in made]
            fresh = [x for x in dict.fromkeys(fresh) if x not in own]
            if self.dialect.ordered:
                fresh.sort(key=lambda x: x.kind not in _LOADS)
            made.update(fresh)
            lines += [f"const {self.kind(x)} {texts[x]} = {self.value(x, texts)};" for x in fresh]
            later.subtract(str(x.detail[0]) for x in (*fresh, *own) if x.kind in _LOADS)
            if own and not later[store[1]]:
                # A store under a mask without lanes takes as long as one with them: what leads to it, longer still.
                lines.append(f"if ({texts[store[0].args[1]]}) {{")
                lines += [f"  const {self.kind(x)} {texts[x]} = {self.value(x, texts)};" for x in own]
                lines += [f"  {self.stored(store, texts)}", "}"]
                continue
            lines += [f"const {self.kind(x)} {texts[x]} = {self.value(x, texts)};" for x in own]
            # Registers are free the sooner; of a row that is read again all is read before.
            waiting.append(store)
            ready = [x for x in waiting if not later[x[1]]]
            waiting = [x for x in waiting if later[x[1]]]
            lines += [self.stored(x, texts) for x in ready]
        return lines

    def only_there(self, stores: Sequence[Store], at: int, made: Collection[Value]) -> tuple[Value, ...]:
        """What a store under a mask alone needs, beside the mask, in order; nothing of other stores. None of it where
        the mask is made of what was there: then lanes that store nothing are few (measured on Zen 5)."""
        value, row, _ = stores[at]
        if value.kind != "masked" or self.dialect.ordered:
            return ()
        inner, mask = value.args
        if any(x.kind in _LOADS and x.detail[0] == row for x in in_order([mask])):
            return ()
        others = {*made, *in_order([mask, *(x for x, _, _ in stores[at + 1 :])])}
        return tuple(x for x in in_order([inner]) if x not in others and x.kind not in _UNNAMED)

    def stored(self, store: Store, texts: Mapping[Value, str]) -> str:
        value, row, offset = store
        if value.kind == "masked":
            (width,), (inner, mask) = value.detail, value.args
            assert isinstance(width, int)
            text = self.known(self.dialect.masked_store, (value.bits, width))
            given = self.cast(texts[inner], inner, self.type(value.bits))
            lanes = f"{texts[mask]} & {self.there(row, offset, value.bits, width)}" if row in self.ends else texts[mask]
            return text.format(self.place(row, offset), lanes, given) + ";"
        given = self.cast(texts[value], value, self.type(value.bits))
        if row in self.ends:
            text = self.known(self.dialect.masked_store, (value.bits, self.ends[row][0]))
            return text.format(self.place(row, offset), self.there(row, offset, value.bits), given) + ";"
        return self.known(self.dialect.store, value.bits).format(self.place(row, offset), given) + ";"

    def known(self, texts: Mapping[_Key, _Known], key: _Key) -> _Known:
        """What the dialect has for a key."""
        if key not in texts:
            raise NoCover(f"{self.dialect.isa} has no intrinsic for {key}")
        return texts[key]

    def type(self, bits: int) -> str:
        return self.known(self.dialect.types, bits)

    def kind(self, x: Value) -> str:
        """The type of a register in C."""
        if x.kind == "call":
            return load_collection(self.dialect.isa).entry(str(x.detail[0])).signature.result
        return self.type(x.bits)

    def place(self, row: str, offset: int) -> str:
        assert offset % 8 == 0
        base = f"(char *)(void *){self.names[row]}"
        return base if offset == 0 else f"{base} {'+' if offset > 0 else '-'} {abs(offset) // 8}"

    def cast(self, text: str, x: Value, wanted: str) -> str:
        """A register as one of another type with the same bits; numbers and masks stay."""
        if x.kind == "scalar":
            return text
        kind = self.kind(x)
        wider = next((y for y, name in self.dialect.types.items() if name == wanted), x.bits)
        if "mask" not in wanted and (x.bits, wider) in self.dialect.widen:
            return self.dialect.widen[x.bits, wider].format(text)
        return text if kind == wanted or "mask" in wanted or "mask" in kind else f"({wanted}){text}"

    def value(self, x: Value, texts: Mapping[Value, str]) -> str:
        match x.kind:
            case "load":
                row, offset = x.detail
                assert isinstance(row, str) and isinstance(offset, int)
                if row in self.ends:
                    load = self.known(self.dialect.masked_load, (x.bits, self.ends[row][0]))
                    return load.format(self.there(row, offset, x.bits), self.place(row, offset))
                return self.known(self.dialect.load, x.bits).format(self.place(row, offset))
            case "masked load":
                row, offset, width = x.detail
                assert isinstance(row, str) and isinstance(offset, int) and isinstance(width, int)
                load = self.known(self.dialect.masked_load, (x.bits, width))
                mask = texts[x.args[0]]
                lanes = f"{mask} & {self.there(row, offset, x.bits, width)}" if row in self.ends else mask
                return load.format(lanes, self.place(row, offset))
            case "constant" | "splat":
                return self.repeated(x)
            case "call":
                entry = load_collection(self.dialect.isa).entry(str(x.detail[0]))
                pairs = zip(x.args, entry.signature.parameters, strict=True)
                name = self.dialect.intrinsic(entry)
                return f"{name}({', '.join(self.cast(texts[y], y, kind) for y, (kind, _) in pairs)})"
            case "part":
                (start,) = x.detail
                assert isinstance(start, int)
                key = x.args[0].bits, x.bits, start
                return self.known(self.dialect.part, key).format(texts[x.args[0]])
            case "scalar":
                return self.scalar(x)
            case "masked":
                raise AssertionError("what is stored has no name of its own")

    def repeated(self, x: Value) -> str:
        """Lanes that have a period: a mask, a broadcast, or bytes in memory."""
        width, lanes = x.detail
        assert isinstance(width, int) and isinstance(lanes, tuple)
        period = width * len(lanes)
        units = [unit for bits, unit in self.dialect.splat if bits == x.bits and unit % period == 0]
        if units:
            filled = lanes * (min(units) // period)
            return self.dialect.splat[x.bits, min(units)].format(self.packed(width, filled))
        if any(isinstance(y, Node) for y in lanes):
            raise NoCover(f"{self.dialect.isa} has no broadcast of {period} bits in {x.bits}")
        number = _packed(width, lanes, x.bits)
        if "mask" in self.type(x.bits):
            return hex(number)
        octets = number.to_bytes(x.bits // 8, "little")
        text = "(const unsigned char[]){" + ", ".join(map(str, octets)) + "}"
        return self.known(self.dialect.load, x.bits).format(text)

    def packed(self, width: int, lanes: tuple[object, ...]) -> str:
        """Numbers side by side, as one."""
        if not any(isinstance(x, Node) for x in lanes):
            number = _packed(width, lanes, width * len(lanes))
            return str(number) if number < 1 << 31 else f"{number:#x}{'ull' if number >= 1 << 32 else 'u'}"
        if len(lanes) == 1 and isinstance(lanes[0], Node):
            return self.term(lanes[0], modulo=True)
        wide = "uint64_t" if width * len(lanes) > 32 else "uint32_t"
        if width == 1 and len({*lanes}) == 1 and isinstance(lanes[0], Node):
            return f"({wide})-{self.term(lanes[0])}"
        given = [(at, x) for at, x in enumerate(lanes) if isinstance(x, Node) and x.constant != 0]
        narrow = f"(uint{width}_t)" if width in (8, 16, 32) else f"{(1 << width) - 1} & "
        return " | ".join(f"({wide})({narrow}{self.term(x)}) << {at * width}" for at, x in given)

    def scalar(self, x: Value) -> str:
        width, lanes = x.detail
        assert isinstance(width, int) and isinstance(lanes, tuple)
        if len(lanes) == 1 and isinstance(lanes[0], Node) and lanes[0].constant is not None:
            return str(lanes[0].constant)
        return f"(int)({self.packed(width, lanes)})"

    def term(self, x: Node, modulo: bool = False) -> str:
        """A value that does not vary, as C of 64 bits; `modulo`: where only these are wanted of more."""
        if (x.low < -(1 << 63) or x.high >= 1 << 63) and not (modulo and x.op in ("bits", "select", "shl")):
            raise NoCover("a scalar of more than 64 bits")
        match x.op:
            case "const":
                return f"INT64_C({x.low})" if x.low >= 0 else f"(-INT64_C({-x.low}))"
            case "bits" if str(x.attr[0]) in self.scalars and x.args[0] is build.ZERO:
                name, width, signed = x.attr
                return _cut(f"({self.names[str(name)]})", int(width), bool(signed))
            case "bits" if str(x.attr[0]) in self.scalars and x.args[0].op == "const":
                name, width, signed = x.attr
                return _cut(f"((int64_t)({self.names[str(name)]}) >> {x.args[0].low})", int(width), bool(signed))
            case "wrap":
                return _cut(self.term(x.args[0], modulo=int(x.attr[0]) <= 64), int(x.attr[0]), bool(x.attr[1]))
            case "add":
                return f"({' + '.join(map(self.term, x.args))})"
            case op if op in _INFIX:
                return f"({self.term(x.args[0])} {_INFIX[op]} {self.term(x.args[1])})"
            case "shl":
                return f"((int64_t)((uint64_t){self.term(x.args[0])} << {self.term(x.args[1])}))"
            case "invert":
                return f"(~{self.term(x.args[0])})"
            case "min" | "max":
                a, b = map(self.term, x.args)
                return f"({a} {'<' if x.op == 'min' else '>'} {b} ? {a} : {b})"
            case "select":
                a, b, c = self.term(x.args[0]), *(self.term(y, modulo) for y in x.args[1:])
                return f"({a} ? {b} : {c})"
            case op:
                raise NoCover(f"a scalar made by `{op}`")


_INFIX = {"mul": "*", "and": "&", "or": "|", "xor": "^", "shr": ">>", "lt": "<", "le": "<=", "eq": "=="}


def _cut(text: str, width: int, signed: bool) -> str:
    """The low bits of a number of C, as one of 64 bits."""
    if width in (8, 16, 32, 64):
        return f"(int64_t)({'' if signed else 'u'}int{width}_t){text}"
    if not signed:
        return f"(int64_t)({text} & {(1 << width) - 1})"
    return f"((int64_t)((uint64_t){text} << {64 - width}) >> {64 - width})"


def _packed(width: int, lanes: tuple[object, ...], bits: int) -> int:
    total = 0
    for at in range(bits // width):
        x = lanes[at % len(lanes)]
        number = x if isinstance(x, int) else 0
        total |= (number & ((1 << width) - 1)) << (at * width)
    return total
