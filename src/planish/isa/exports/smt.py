"""Writes definitions for solvers, in SMT-LIB 2: what an instruction leaves, as assertions about bits and floats.

Each operand of `add` is a constant `|add.a|` of bits, and so is the result. Bits that nothing is put into are free, and
so is which NaN a float is. What is stored is `|add.p.after|`, beside what was there before.

>>> from planish.isa.entry import IntrinsicSignature
>>> text = "(a: 8, b: 8) -> dst: 8 { dst.u8[0] = u8(a.u8[0] + b.u8[0]) }"
>>> print(write_smt([Entry("add", "toy", IntrinsicSignature("char", (("char", "a"), ("char", "b"))), text)]), end="")
(set-logic ALL)
; add
(declare-const |add.a| (_ BitVec 8))
(declare-const |add.b| (_ BitVec 8))
(declare-const |add.dst| (_ BitVec 8))
(define-fun |add.0| () (_ BitVec 9) ((_ zero_extend 1) ((_ extract 7 0) |add.a|)))
(define-fun |add.1| () (_ BitVec 9) ((_ zero_extend 1) ((_ extract 7 0) |add.b|)))
(define-fun |add.2| () (_ BitVec 10) (bvadd ((_ sign_extend 1) |add.0|) ((_ sign_extend 1) |add.1|)))
(define-fun |add.3| () (_ BitVec 9) ((_ zero_extend 1) ((_ extract 7 0) |add.2|)))
(assert (= ((_ extract 7 0) |add.dst|) ((_ extract 7 0) |add.3|)))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from planish.isa.entry import Entry
from planish.isa.semantics.definition import Definition, Put
from planish.isa.semantics.node import Node, walk
from planish.isa.semantics.scalarised import puts_of

_FORMATS = {"f16": (5, 11), "bf16": (8, 8), "f32": (8, 24), "f64": (11, 53)}
_MODES = {0: "RNE", 1: "RTN", 2: "RTP", 3: "RTZ", 4: "RNE", 8: "RNA"}
"""The ways of rounding; as the processor is set is to nearest."""

_ROUNDED = {"fadd": "fp.add", "fsub": "fp.sub", "fmul": "fp.mul", "fdiv": "fp.div", "fma": "fp.fma",
            "fsqrt": "fp.sqrt", "fround": "fp.roundToIntegral"}  # fmt: skip
_COMPARED = {"feq": "fp.eq", "flt": "fp.lt", "fle": "fp.leq"}
_BITWISE = {"and": "bvand", "or": "bvor", "xor": "bvxor"}
_MOST_STATEMENTS = 4096


class NoSmt(Exception):
    """A definition that is not written; the message says what of it."""


def write_smt(entries: Iterable[Entry]) -> str:
    """The text for some entries; those that are not written are told in a comment."""
    parts = ["(set-logic ALL)"]
    for entry in entries:
        parts.append(f"; {entry.name}")
        try:
            parts += _Writer(entry.name, entry.definition).write()
        except NoSmt as reason:
            parts.append(f"; is not written: {reason}")
    return "\n".join([*parts, ""])


def _width(x: Node) -> int:
    """Bits that hold a number and its sign."""
    return max(x.low.bit_length() if x.low >= 0 else (-1 - x.low).bit_length(), x.high.bit_length()) + 1


def _constant(value: int, width: int) -> str:
    return f"(_ bv{value % (1 << width)} {width})"


def _extended(text: str, have: int, want: int) -> str:
    """A number with a sign in another width; what does not fit is cut."""
    if have == want:
        return text
    return f"((_ sign_extend {want - have}) {text})" if have < want else f"((_ extract {want - 1} 0) {text})"


@dataclass(slots=True)
class _Writer:
    name: str
    definition: Definition
    lines: list[str] = field(default_factory=list)
    known: dict[int, str] = field(default_factory=dict)
    alive: list[Node] = field(default_factory=list)
    count: int = 0

    def write(self) -> list[str]:
        puts = puts_of(self.definition)
        if len(puts) > _MOST_STATEMENTS:
            raise NoSmt("it has too many statements")
        _check_places(puts)
        stored = {x.target for x in puts}
        for operand in (*self.definition.operands, *((self.definition.result,) if self.definition.result else ())):
            if not operand.bits:
                raise NoSmt("memory of no known size")
            self.declare(operand.name, operand.bits)
            if operand.role == "memory" and operand.name in stored:
                self.declare(f"{operand.name}.after", operand.bits)
        for put in puts:
            self.put(put)
        return self.lines

    def symbol(self, name: object) -> str:
        return f"|{self.name}.{name}|"

    def declare(self, name: str, bits: int) -> None:
        self.lines.append(f"(declare-const {self.symbol(name)} (_ BitVec {bits}))")

    def put(self, put: Put) -> None:
        first, last = put.offset.low, put.offset.low + put.width - 1
        memory = self.definition.operand(put.target).role == "memory"
        place = f"((_ extract {last} {first}) {self.symbol(put.target + '.after' if memory else put.target)})"
        value = _extended(self.of(put.value), _width(put.value), put.width)
        if put.when.op == "const":
            self.lines.append(f"(assert (= {place} {value}))")
        elif memory:
            before = f"((_ extract {last} {first}) {self.symbol(put.target)})"
            self.lines.append(f"(assert (= {place} (ite {self.holds(put.when)} {value} {before})))")
        else:
            self.lines.append(f"(assert (=> {self.holds(put.when)} (= {place} {value})))")

    def of(self, x: Node) -> str:
        """The name of a value that has been written."""
        for y in walk([x]):
            if id(y) not in self.known:
                self.alive.append(y)
                self.known[id(y)] = self.named(y)
        return self.known[id(x)]

    def named(self, x: Node) -> str:
        if x.op == "const":
            return _constant(x.low, _width(x))
        name = f"|{self.name}.{self.count}"
        self.count += 1
        text = self.text(x, name)
        self.lines.append(f"(define-fun {name}| () (_ BitVec {_width(x)}) {text})")
        return f"{name}|"

    def at(self, x: Node, width: int) -> str:
        return _extended(self.of(x), _width(x), width)

    def holds(self, x: Node) -> str:
        return f"(distinct {self.of(x)} {_constant(0, _width(x))})"

    def text(self, x: Node, name: str) -> str:
        """What a value is; `name` is how names that it needs begin."""
        width, args = _width(x), x.args
        common = max([width, *map(_width, args)])

        def both(op: str) -> str:
            return f"({op} {' '.join(self.at(y, common) for y in args)})"

        match x.op:
            case "bits":
                return self.bits(x)
            case "add" | "mul":
                op = "bvadd" if x.op == "add" else "bvmul"
                return _chain(op, [self.at(y, width) for y in args])
            case "and" | "or" | "xor":
                return _extended(both(_BITWISE[x.op]), common, width)
            case "invert":
                return f"(bvnot {self.at(args[0], width)})"
            case "not":
                return f"(bvsub {_constant(1, width)} {self.at(args[0], width)})"
            case "eq" | "lt" | "le":
                op = {"eq": "=", "lt": "bvslt", "le": "bvsle"}[x.op]
                return self.truth(both(op), width)
            case "select":
                return f"(ite {self.holds(args[0])} {self.at(args[1], width)} {self.at(args[2], width)})"
            case "min" | "max":
                less = both("bvslt")
                then, otherwise = args if x.op == "min" else args[::-1]
                return f"(ite {less} {self.at(then, width)} {self.at(otherwise, width)})"
            case "abs":
                value = self.at(args[0], common)
                return _extended(f"(ite (bvslt {value} {_constant(0, common)}) (bvneg {value}) {value})", common, width)
            case "sat":
                value, low, high = self.at(args[0], common), _constant(x.low, common), _constant(x.high, common)
                kept = f"(ite (bvslt {value} {low}) {low} (ite (bvslt {high} {value}) {high} {value}))"
                return _extended(kept, common, width)
            case "wrap":
                bits, signed = int(x.attr[0]), bool(x.attr[1])
                cut = self.at(args[0], bits)
                return _extended(cut, bits, width) if signed else _extended(_positive(cut), bits + 1, width)
            case "shl" | "shr":
                value, by = (self.at(y, common) for y in args)
                count = f"(ite (bvslt {by} {_constant(0, common)}) {_constant(0, common)} {by})"
                return _extended(f"({'bvshl' if x.op == 'shl' else 'bvashr'} {value} {count})", common, width)
            case "quo" | "mod":
                zero = f"(= {self.at(args[1], common)} {_constant(0, common)})"
                made = both("bvsdiv" if x.op == "quo" else "bvsmod")
                return _extended(f"(ite {zero} {_constant(0, common)} {made})", common, width)
            case "popcount" | "parity":
                each = [f"((_ extract {i} {i}) {self.of(args[0])})" for i in range(_width(args[0]) - 1)]
                if x.op == "popcount":
                    return _chain("bvadd", [f"((_ zero_extend {width - 1}) {y})" for y in each])
                return f"((_ zero_extend {width - 1}) {_chain('bvxor', each)})"
            case "clz":
                made = _constant(int(x.attr[0]), width)
                for i in range(_width(args[0]) - 1):
                    bit = f"(= ((_ extract {i} {i}) {self.of(args[0])}) #b1)"
                    made = f"(ite {bit} {_constant(int(x.attr[0]) - 1 - i, width)} {made})"
                return made
            case _:
                return self.float(x, name)

    def truth(self, condition: str, width: int) -> str:
        return f"(ite {condition} {_constant(1, width)} {_constant(0, width)})"

    def bits(self, x: Node) -> str:
        operand, count, signed = self.definition.operand(str(x.attr[0])), int(x.attr[1]), bool(x.attr[2])
        (offset,) = x.args
        whole, bits = self.symbol(operand.name), operand.bits
        if offset.op == "const" and offset.low + count <= bits:
            found = f"((_ extract {offset.low + count - 1} {offset.low}) {whole})"
        else:
            room = max(bits, offset.high + count, _width(offset)) if offset.high < 1 << 16 else 0
            if not room or offset.low < 0:
                raise NoSmt("bits at a place that has no bounds")
            longer = f"((_ zero_extend {room - bits}) {whole})" if room > bits else whole
            found = f"((_ extract {count - 1} 0) (bvlshr {longer} {self.at(offset, room)}))"
        made, width = (found, count) if signed else (_positive(found), count + 1)
        return _extended(made, width, _width(x))

    def float(self, x: Node, name: str) -> str:
        form = str(x.attr[0]) if x.attr else ""
        if form not in _FORMATS:
            raise NoSmt(x.op)
        if x.op in _COMPARED:
            left, right = (self.number(y, form) for y in x.args)
            return self.truth(f"({_COMPARED[x.op]} {left} {right})", _width(x))
        if x.op == "funord":
            nans = " ".join(f"(fp.isNaN {self.number(y, form)})" for y in x.args)
            return self.truth(f"(or {nans})", _width(x))
        if x.op == "toint":
            return self.whole(x, form)
        if x.op in _ROUNDED:
            given = " ".join(self.number(y, form) for y in x.args[:-1])
            made = f"({_ROUNDED[x.op]} {_mode(x.args[-1])} {given})"
        elif x.op == "fromint":
            made = f"({_into(form)} {_mode(x.args[-1])} {self.of(x.args[0])})"
        elif x.op == "fconvert" and x.attr[1] in _FORMATS:
            made = f"({_into(form)} {_mode(x.args[-1])} {self.number(x.args[0], str(x.attr[1]))})"
        else:
            raise NoSmt(x.op)
        # Solvers make floats of bits, not bits of floats: they are some of which the float is made.
        bits, width = sum(_FORMATS[form]), _width(x)
        symbol = f"{name}.bits|"
        self.lines.append(f"(declare-const {symbol} (_ BitVec {bits}))")
        self.lines.append(f"(assert (= ({_into(form)} {symbol}) {made}))")
        return _extended(_positive(symbol), bits + 1, width)

    def whole(self, x: Node, form: str) -> str:
        """A float as a whole number; where it has none, the least one, or of those without a sign the greatest."""
        bits, signed, width = int(x.attr[1]), bool(x.attr[2]), _width(x)
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        rounded = f"(fp.roundToIntegral {_mode(x.args[1])} {self.number(x.args[0], form)})"
        least, most = (f"({_into(form)} RTZ {_constant(y, bits + 2)})" for y in (low, high))
        made = f"((_ fp.to_sbv {bits + 1}) RTZ {rounded})"
        there = f"(and (fp.leq {least} {rounded}) (fp.leq {rounded} {most}))"
        otherwise = _constant(low if signed else high, width)
        return f"(ite {there} {_extended(made, bits + 1, width)} {otherwise})"

    def number(self, x: Node, form: str) -> str:
        return f"({_into(form)} {self.at(x, sum(_FORMATS[form]))})"


def _chain(op: str, texts: list[str]) -> str:
    first, *others = texts
    return reduce(lambda made, x: f"({op} {made} {x})", others, first)


def _into(form: str) -> str:
    exponent, significand = _FORMATS[form]
    return f"(_ to_fp {exponent} {significand})"


def _positive(text: str) -> str:
    return f"((_ zero_extend 1) {text})"


def _mode(x: Node) -> str:
    if x.op != "const" or x.low not in _MODES:
        raise NoSmt("a way of rounding that is not known")
    return _MODES[x.low]


def _check_places(puts: Iterable[Put]) -> None:
    """NoSmt where a place depends on values, or something is put into it again."""
    filled: dict[str, int] = {}
    for x in puts:
        if x.offset.op != "const":
            raise NoSmt("a place that depends on values")
        bits = ((1 << x.width) - 1) << x.offset.low
        if filled.get(x.target, 0) & bits:
            raise NoSmt("a place that is filled twice")
        filled[x.target] = filled.get(x.target, 0) | bits
