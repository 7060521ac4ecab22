"""A definition as statements of C: what an instruction does on any processor.

Each value is computed in the narrowest of C's types that holds it and what it is made of, so that nothing overflows but
where the definition cuts. Bits of operands are read from their bytes; what is beyond them is zero.

>>> from planish.isa.semantics.text import parse_definition
>>> text = "(a: 128, b: 128) -> dst: 128 { for i < 16 { dst.u8[i] = u8(a.u8[i] + b.u8[i]) } }"
>>> print("\\n".join(write_statements(parse_definition(text), "dst")))
for (int i0 = 0; i0 < 16; i0++) {
  planishk_put8(&dst, i0, (uint8_t)(planishk_u8(&a, i0) + planishk_u8(&b, i0)));
}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from planish.isa.exports.floats import OPERATORS, write_float
from planish.isa.exports.integers import (
    I32,
    I64,
    I128,
    U64,
    U128,
    CType,
    NoC,
    best_type,
    bounds_of,
    computed_type,
    room_for,
    type_of,
    wrapped,
    write_mask,
    write_number,
)
from planish.isa.exports.words import is_within, step_of, word_of
from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.definition import Definition, LaneLoop, Put, Statement
from planish.isa.semantics.node import Node, const, scaled, terms_of, walk

_ROUNDED = re.compile(r"planishk_f(add|sub|mul|div|sqrt|ma)_f\d+\b")
_INFIX = {"mul": "*", "and": "&", "or": "|", "xor": "^", "eq": "==", "lt": "<", "le": "<="}
_IN_WORDS = ("bits", "select", "and", "or", "xor", "invert")
_LONG_TOO = ("shr", "shl", "invert", "not", "min", "max", "abs", "sat", "clmul")
_RING = ("add", "mul", "and", "or", "xor", "invert", "sum", "shl")
_WHOLE = (8, 16, 32, 64)
_LONGEST = 100_000
_LONG = re.compile(r"planishk_(u?int128|u128|clmul128|far_shl|\w+_[iu]128)\b")


def write_statements(definition: Definition, result: str) -> list[str]:
    """Statements that leave what the definition says in the variable `result` (zeros before) and in memory; NoC where
    some value has no type in C, or it is very long. Operands are variables, of memory addresses, by their names."""
    return _Writer(definition, result).write()


def conditions_of(lines: list[str]) -> frozenset[str]:
    """What a compiler has to have for some statements, as conditions of the preprocessor."""
    long = {"defined(__SIZEOF_INT128__)"} if any(_LONG.search(x) for x in lines) else set()
    rounded = {"__STDC_HOSTED__"} if any(_ROUNDED.search(x) for x in lines) else set()
    return frozenset(long | rounded)


class _Writer:
    def __init__(self, definition: Definition, result: str) -> None:
        self.definition = definition
        self.result = result
        self.operands = {x.name: x for x in definition.operands}
        self.lines: list[str] = []
        self.indent = 0
        self.counters: dict[tuple[str, int], str] = {}
        self.known: dict[int, str] = {}
        self.names = 0
        self.loops = 0
        self.shared: set[int] = set()
        self.kept: list[Node] = []  # what is known by its address has to stay where it is

    def write(self) -> list[str]:
        for x in self.definition.body:
            self.statement(x)
        if sum(map(len, self.lines)) > _LONGEST:
            raise NoC("more text than compilers take in a sensible time")
        return self.lines

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """A block; what is computed in it is not known behind it."""
        self.line(head + " {")
        before, self.indent = dict(self.known), self.indent + 1
        yield
        self.indent -= 1
        self.line("}")
        self.known = before

    @contextmanager
    def counting(self, name: str, count: int) -> Iterator[None]:
        counter = f"i{self.loops}"
        self.loops += 1
        key = (name, count)
        before = self.counters.get(key)
        self.counters[key] = counter
        with self.inside(f"for (int {counter} = 0; {counter} < {count}; {counter}++)"):
            yield
        if before is None:
            del self.counters[key]
        else:
            self.counters[key] = before

    def statement(self, x: Statement) -> None:
        if isinstance(x, LaneLoop):
            with self.counting(x.var, x.count):
                for y in x.body:
                    self.statement(y)
            return
        uses = Counter(id(z) for y in walk((x.offset, x.value, x.when)) for z in y.args)
        self.shared = {id(y) for y in walk((x.offset, x.value, x.when)) if uses[id(y)] > 1 and y.args}
        if x.when is build.ONE:
            self.put(x)
        else:
            with self.inside(f"if ({self.value(x.when)})"):
                self.put(x)
        self.known = {}

    def put(self, x: Put) -> None:
        result = self.definition.result
        if result is not None and x.target == result.name:
            self.store(f"&{self.result}", result.bits, x.offset, x.width, x.value)
        else:
            self.store(x.target, 0, x.offset, x.width, x.value)

    def store(self, target: str, room: int, offset: Node, width: int, value: Node) -> None:
        """Puts a value behind an address, within so many bits where they are not 0."""
        if width > 64:
            self.store_wide(target, room, offset, width, value)
            return
        text = self.low(value, width)
        if width in _WHOLE and step_of(offset) % 8 == 0 and (not room or is_within(offset, width, room)):
            self.line(f"planishk_put{width}({target}, {self.bytes(offset)}, (uint{width}_t){wrapped(text)});")
        else:
            self.line(f"planishk_put({target}, {room}, {self.value(offset)}, {width}, (uint64_t){wrapped(text)});")

    def store_wide(self, target: str, room: int, offset: Node, width: int, value: Node) -> None:
        """Bits that no type of C holds are moved, or computed in words."""
        whole = step_of(offset) % 8 == 0 and width % 8 == 0 and (not room or is_within(offset, width, room))
        if value.op == "select":
            for head, way in ((f"if ({self.value(value.args[0])})", value.args[1]), ("else", value.args[2])):
                with self.inside(head):
                    self.store_wide(target, room, offset, width, way)
        elif whole and value.op == "const" and value.low == 0:
            self.line(f"__builtin_memset((char *){target} + {self.bytes(offset)}, 0, {width // 8});")
        elif whole and value.op == "bits" and self.is_plain(value) and int(value.attr[1]) >= width:
            source = f"(const char *){self.source(value)} + {self.bytes(value.args[0])}"
            self.line(f"__builtin_memcpy((char *){target} + {self.bytes(offset)}, {source}, {width // 8});")
        elif not (whole and width == 128 and self.store_128(target, offset, value)):
            for at in range(0, width, 64):
                size = min(64, width - at)
                self.store(target, room, build.add(offset, const(at)), size, word_of(value, at, size))

    def store_128(self, target: str, offset: Node, value: Node) -> bool:
        """Puts 128 bits that are computed; False where C's longest type does not hold what they are made of."""
        if value.op in ("bits", "and", "or", "xor", "invert"):
            return False
        before = len(self.lines), self.names, dict(self.known)
        try:
            text = self.low(value, 128)
        except NoC:
            del self.lines[before[0] :]
            self.names, self.known = before[1:]
            return False
        place = f"(char *){target} + {self.bytes(offset)}"
        self.line(f"{{ const planishk_uint128 t = {text}; __builtin_memcpy({place}, &t, 16); }}")
        return True

    def source(self, x: Node) -> str:
        name = str(x.attr[0])
        return name if self.operands[name].role == "memory" else f"&{name}"

    def is_plain(self, x: Node) -> bool:
        """Whether the bytes of a read are those of its operand."""
        operand = self.operands[str(x.attr[0])]
        inside = operand.role == "memory" or is_within(x.args[0], int(x.attr[1]), operand.bits)
        return inside and step_of(x.args[0]) % 8 == 0

    def bytes(self, offset: Node) -> str:
        """An offset that is a number of bytes."""
        parts = []
        for x in terms_of(offset):
            inner, factor = scaled(x)
            if x.op == "const":
                parts.append(str(x.low // 8))
            elif factor % 8 == 0:
                value = self.value(inner)
                parts.append(value if factor == 8 else f"{factor // 8}*{wrapped(value)}")
            else:
                return f"{wrapped(self.value(offset))} / 8"
        return " + ".join(parts)

    def value(self, x: Node) -> str:
        """An expression whose value is that of a node, in the node's own type."""
        if id(x) in self.known:
            return self.known[id(x)]
        text = self.plain(x)
        if id(x) in self.shared or x.op == "sum":
            name = self.fresh(type_of(x).name, text) if x.op != "sum" else text
            self.known[id(x)] = name
            self.kept.append(x)
            return name
        return text

    def fresh(self, kind: str, text: str, constant: str = "const ") -> str:
        name = f"t{self.names}"
        self.names += 1
        self.line(f"{constant}{kind} {name} = {text};")
        return name

    def plain(self, x: Node) -> str:
        if x.op in _RING and x.op != "sum" and room_for(x) is None:
            kind = type_of(x)  # what it is made of is longer than it is itself: only its own bits are computed
            return f"({kind.name})({self.low(x, kind.bits)})"
        if x.op == "shr" and x.args[1].op == "const" and room_for(x) is None and x.args[0].op in _IN_WORDS:
            return self.value(word_of(x.args[0], x.args[1].low, bit_parts.needed_width(x)))
        match x.op:
            case "const":
                return write_number(x.low)
            case "var":
                return self.counters[str(x.attr[0]), int(x.attr[1])]
            case "bits":
                return self.read(x)
            case "select":
                return self.choice(x)
            case "sum":
                return self.total(x)
            case "wrap":
                return self.cut(x)
            case "eq" if x.args[1].constant == 0 and best_type(x.args[0]) is None:
                wide = x.args[0]
                words = [word_of(wide, at, 64) for at in range(0, bit_parts.needed_width(wide), 64)]
                return f"(({' | '.join(f'(uint64_t)({self.value(y)})' for y in words)}) == 0)"
            case "add" | "mul" | "and" | "or" | "xor" | "eq" | "lt" | "le":
                return self.infix(x)
            case op if op in OPERATORS:
                return write_float(x, self.value)
            case _:
                return self.call(x)

    def read(self, x: Node) -> str:
        name, width, signed = str(x.attr[0]), int(x.attr[1]), bool(x.attr[2])
        operand = self.operands[name]
        if operand.role == "immediate":
            return self.read_scalar(name, x.args[0], width, signed)
        kind = type_of(x).name
        if width in _WHOLE and self.is_plain(x):
            text = f"planishk_{'s' if signed else 'u'}{width}({self.source(x)}, {self.bytes(x.args[0])})"
            return f"(int64_t){text}" if width == 32 and not signed else text
        if width == 128 and not signed and self.is_plain(x):
            return f"planishk_u128({self.source(x)}, {self.bytes(x.args[0])})"
        if width > 64:
            raise NoC(f"{width} bits at once")
        room = 0 if operand.role == "memory" else operand.bits
        text = f"planishk_get({self.source(x)}, {room}, {self.value(x.args[0])}, {width})"
        return f"({kind})planishk_signed({text}, {width})" if signed else f"({kind}){text}"

    def read_scalar(self, name: str, offset: Node, width: int, signed: bool) -> str:
        shifted = name if offset.constant == 0 else f"({name} >> {wrapped(self.value(offset))})"
        text = f"({shifted} & {write_number((1 << width) - 1)})"
        return f"(int32_t)planishk_signed({text}, {width})" if signed else text

    def choice(self, x: Node) -> str:
        """What is not chosen is not read, since it may not be there."""
        condition, *ways = x.args
        kind = type_of(x)
        if not any(self.is_far(y) for way in ways for y in walk([way])):
            one, other = (self.cast(y, kind) for y in ways)
            text = f"({self.value(condition)} ? {one} : {other})"
            return text if kind == I32 else f"({kind.name}){text}"
        name = self.fresh(kind.name, "0", "")
        for head, way in ((f"if ({self.value(condition)})", ways[0]), ("else", ways[1])):
            with self.inside(head):
                self.line(f"{name} = {self.cast(way, kind)};")
        return name

    def is_far(self, x: Node) -> bool:
        return x.op == "sum" or (x.op == "bits" and self.operands[str(x.attr[0])].role == "memory")

    def total(self, x: Node) -> str:
        kind = computed_type(x)
        name = self.fresh(kind.name, "0", "")
        with self.counting(str(x.attr[0]), int(x.attr[1])):
            self.line(f"{name} += {self.cast(x.args[0], kind)};")
        return name

    def cut(self, x: Node) -> str:
        width, signed = int(x.attr[0]), bool(x.attr[1])
        if width > 128 or (width > 64 and signed):
            raise NoC(f"{width} bits at once")
        text = self.low(x.args[0], width)
        if signed:
            return f"({type_of(x).name})planishk_signed((uint64_t)({text}), {width})"
        if width in _WHOLE:
            return f"({type_of(x).name})(uint{width}_t)({text})"
        if width == 128:
            return f"(planishk_uint128){wrapped(text)}"
        kind = "planishk_uint128" if width > 64 else "uint64_t"
        return f"({type_of(x).name})(({kind})({text}) & {write_mask(width)})"

    def low(self, x: Node, width: int) -> str:
        """An expression whose low bits, so many, are those of a node."""
        if x.op == "wrap" and int(x.attr[0]) >= width and id(x) not in self.known and id(x) not in self.shared:
            return self.low(x.args[0], width)  # it is cut once
        unsigned = U64 if width <= 64 else U128
        kind = room_for(x)
        if kind is not None and kind.bits <= unsigned.bits and kind.bits <= 64:
            return self.value(x)
        if width > 128:
            raise NoC(f"{width} bits at once")
        match x.op:
            case "const":
                return write_number(x.low & ((1 << unsigned.bits) - 1))
            case "add" | "mul" | "and" | "or" | "xor":
                op = " + " if x.op == "add" else f" {_INFIX[x.op]} "
                return f"({op.join(f'({unsigned.name})({self.low(y, width)})' for y in x.args)})"
            case "invert":
                return f"(~({unsigned.name})({self.low(x.args[0], width)}))"
            case "shl":
                value, by = f"({unsigned.name})({self.low(x.args[0], width)})", self.count(x.args[1])
                return f"planishk_shl_{unsigned.suffix}({value}, {by})"
            case "select":
                if any(self.is_far(y) for way in x.args[1:] for y in walk([way])):
                    raise NoC("a choice of long numbers in memory")
                one, other = (f"({unsigned.name})({self.low(y, width)})" for y in x.args[1:])
                return f"({self.value(x.args[0])} ? {one} : {other})"
            case "shr" if kind is None and x.args[1].op == "const" and x.args[0].op in _IN_WORDS:
                return self.low(word_of(x.args[0], x.args[1].low, width), width)
            case "shr" if kind is None and width <= 64 and x.args[0].low >= 0 and _is_side_by_side(x.args[0]):
                name, room = self.laid_out(x.args[0])
                return f"planishk_get({name}, {room}, {self.count(x.args[1])}, {width})"
            case "shr" if kind is None and x.args[0].op in ("add", "select"):
                return f"({unsigned.name}){self.far(x)}"
            case _:
                return self.value(x)

    def laid_out(self, x: Node) -> tuple[str, int]:
        """The name of bytes that hold a long number, and its bits."""
        room = -(-bit_parts.needed_width(x) // 64) * 64
        if id(x) not in self.known:
            name = self.known[id(x)] = f"t{self.names}"
            self.kept.append(x)
            self.names += 1
            if x.op == "const":
                told = ", ".join(map(str, x.low.to_bytes(room // 8, "little")))
                self.line(f"static const unsigned char {name}[{room // 8}] = {{{told}}};")
                return name, room
            self.line(f"unsigned char {name}[{room // 8}] = {{0}};")
            for offset, width, part in bit_parts.parts_of(x, room):
                self.store(name, room, const(offset), min(width, bit_parts.needed_width(part)), part)
        return self.known[id(x)], room

    def infix(self, x: Node) -> str:
        kind = computed_type(x)
        if x.op == "add":
            return self.added(x, kind)
        parts = [self.cast(y, kind) for y in x.args]
        truths = x.op in ("and", "or") and all(y.is_truth for y in x.args)
        return f"({f' {_INFIX[x.op] * (2 if truths else 1)} '.join(parts)})"

    def added(self, x: Node, kind: CType) -> str:
        text = ""
        for y in x.args:
            base, factor = scaled(y)
            if text and factor < 0 and id(y) not in self.known and kind.signed:
                inner = self.cast(base, kind)
                text += f" - {inner}" if factor == -1 else f" - {inner} * {write_number(-factor)}"
            else:
                text += f"{' + ' if text else ''}{self.cast(y, kind)}"
        return f"({text})"

    def cast(self, x: Node, kind: CType) -> str:
        text = self.value(x)
        own = type_of(x)
        if own == kind or x.op in ("var", "const") or (own == I32 and kind == I64 and not x.args):
            return text
        return f"({kind.name}){wrapped(text)}"

    def call(self, x: Node) -> str:
        if x.op == "sat" and best_type(x.args[0]) is None:
            low, high = bounds_of(int(x.attr[0]), bool(x.attr[1]), I128)
            return f"({type_of(x).name})planishk_clamp_i128({self.far(x.args[0])}, {low}, {high})"
        if x.op == "shr" and best_type(x.args[0]) is None and x.args[0].op in ("add", "select"):
            return f"({type_of(x).name}){self.far(x)}"
        kind = computed_type(x)
        if kind.bits == 128 and x.op not in _LONG_TOO:
            raise NoC(f"{x.op} of long numbers")
        args = [self.cast(y, kind) for y in x.args]
        match x.op:
            case "shr":
                return f"planishk_shr_{kind.suffix}({args[0]}, {self.count(x.args[1])})"
            case "shl":
                return f"planishk_shl_{kind.suffix}({args[0]}, {self.count(x.args[1])})"
            case "invert":
                return f"(~{args[0]})"
            case "not":
                return f"(!{args[0]})"
            case "min" | "max" | "quo" | "mod":
                return f"planishk_{x.op}_{kind.suffix}({', '.join(args)})"
            case "abs":
                return f"planishk_abs_{kind.suffix}({args[0]})" if kind.signed else args[0]
            case "sat":
                low, high = bounds_of(int(x.attr[0]), bool(x.attr[1]), kind)
                return f"planishk_clamp_{kind.suffix}({args[0]}, {low}, {high})"
            case "popcount" | "parity":
                return f"planishk_{x.op}((uint64_t)({args[0]}))"
            case "clz":
                return f"planishk_clz({int(x.attr[0])}, (uint64_t)({args[0]}))"
            case "clmul" if x.high < 1 << 64:
                return f"({type_of(x).name})planishk_clmul(" + ", ".join(f"(uint64_t)({y})" for y in args) + ")"
            case "clmul":
                return f"planishk_clmul128({', '.join(f'(uint64_t)({y})' for y in args)})"
            case "nth" | "rank":
                return f"planishk_{x.op}((uint64_t)({args[0]}), (int)({args[1]}))"
            case op:
                raise NoC(op)

    def far(self, x: Node) -> str:
        """A value that no type holds, as 128 bits in which all that is beyond 2^126 is 2^126. That is enough for what
        saturates, and for what rounds: a sum with 2^(n - 1) that is shifted by n."""
        if room_for(x) is not None and x.high <= 1 << 126:
            return f"(planishk_int128){wrapped(self.value(x))}"
        match x.op:
            case "shl":
                return f"planishk_far_shl({self.far(x.args[0])}, {self.count(x.args[1])})"
            case "shr":
                return f"planishk_shr_i128({self.far(x.args[0])}, {self.count(x.args[1])})"
            case "add" if all(y.op != "mul" for y in x.args):
                return f"({' + '.join(self.far(y) for y in x.args)})"
            case "select":
                return f"({self.value(x.args[0])} ? {self.far(x.args[1])} : {self.far(x.args[2])})"
            case op:
                raise NoC(f"{op} of more than 128 bits")

    def count(self, x: Node) -> str:
        """By how much something is shifted."""
        kind = type_of(x)
        if kind == I32:
            return self.value(x)
        low, high = (0, 4096) if not kind.signed else (-1, 4096)
        return f"(int)planishk_clamp_{kind.suffix}({self.value(x)}, {low}, {high})"


def _is_side_by_side(x: Node) -> bool:
    """Whether a long number is made of others that lie side by side."""
    return x.op in (*_IN_WORDS, "const") or len(bit_parts.parts_of(x, bit_parts.needed_width(x))) > 1
