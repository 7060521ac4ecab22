"""Every elementary loop of C: arithmetic types x operators x forms, each as a function with the data it may be run on.

    loop = all_loops()[0]
    print(loop.text("f0"))

>>> loop = Loop("add", "map", BY_NAME["uint8_t"], BY_NAME["char"], BY_NAME["short"], "int", False)
>>> print(loop.text("f"))
void f(int n, const uint8_t *a, const char *b, short *o)
{
    for (int i = 0; i < n; i++)
        o[i] = a[i] + b[i];
}
>>> loop.key
'add/map/uint8_t,char,short/int'
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

Kind = Literal["int", "uint", "bool", "float"]


@dataclass(frozen=True, slots=True)
class CType:
    """An arithmetic type as C spells it (LP64; `char` counts as signed, all of its patterns are used)."""

    name: str
    kind: Kind
    bits: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        """Whether it is `float` or `double`."""
        return self.kind == "float"

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        if self.kind == "int":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, 1 if self.kind == "bool" else (1 << self.bits) - 1


TYPES = (
    CType("char", "int", 8), CType("signed char", "int", 8), CType("unsigned char", "uint", 8),
    CType("short", "int", 16), CType("unsigned short", "uint", 16), CType("int", "int", 32),
    CType("unsigned", "uint", 32), CType("long", "int", 64), CType("unsigned long", "uint", 64),
    CType("long long", "int", 64), CType("unsigned long long", "uint", 64), CType("_Bool", "bool", 8),
    CType("float", "float", 32), CType("double", "float", 64),
)  # fmt: skip
"""The arithmetic types that differ to C (complex numbers and `long double` aside)."""
SPELLINGS = (
    CType("int8_t", "int", 8), CType("uint8_t", "uint", 8), CType("int16_t", "int", 16), CType("uint16_t", "uint", 16),
    CType("int32_t", "int", 32), CType("uint32_t", "uint", 32), CType("int64_t", "int", 64),
    CType("uint64_t", "uint", 64), CType("size_t", "uint", 64), CType("ptrdiff_t", "int", 64),
    CType("intptr_t", "int", 64), CType("unsigned int", "uint", 32), CType("long int", "int", 64),
    CType("short int", "int", 16), CType("wchar_t", "int", 32),
)  # fmt: skip
"""Other names of some of them."""
BY_NAME = {x.name: x for x in (*TYPES, *SPELLINGS)}


@dataclass(frozen=True, slots=True)
class Operation:
    """An expression over `{x}`, `{y}`, the scalar `{s}` and the counter `i`; `{A}`, `{O}` are types, `{U}` is the
    unsigned type of x, `{W}` one twice as wide, `{bits}` and `{high}` are those of x.

    `takes`: of which types x may be. `inexact`: its float result depends on the order of roundings.
    """

    name: str
    text: str
    takes: Literal["any", "int", "uint", "narrow", "half", "float"] = "any"
    divides: bool = False
    inexact: bool = False
    safe: bool = False  # a float result in 0 .. 127 for small data, so that any integer type holds it

    @property
    def reads_y(self) -> bool:
        """Whether there is a second array."""
        return "{y}" in self.text or "b[" in self.text

    @property
    def reads_s(self) -> bool:
        """Whether there is a scalar parameter."""
        return "{s}" in self.text


OPERATIONS = (
    Operation("copy", "{x}", safe=True),
    Operation("constant", "7", safe=True),
    Operation("scalar", "{s}", safe=True),
    Operation("counter", "i", "int"),
    Operation("add", "{x} + {y}", safe=True),
    Operation("sub", "{x} - {y}", safe=True),
    Operation("mul", "{x} * {y}", safe=True),
    Operation("div", "{x} / {y}", divides=True, inexact=True, safe=True),
    Operation("neg", "-{x}"),
    Operation("plus-constant", "{x} + 3", safe=True),
    Operation("times-constant", "{x} * 3", safe=True),
    Operation("from-constant", "100 - {x}", safe=True),
    Operation("over-constant", "{x} / 7", inexact=True, safe=True),
    Operation("scale", "{x} * {s}", safe=True),
    Operation("axpy", "{s} * {x} + {y}", safe=True),
    Operation("square", "{x} * {x}", safe=True),
    Operation("min", "{x} < {y} ? {x} : {y}", safe=True),
    Operation("max", "{x} > {y} ? {x} : {y}", safe=True),
    Operation("clamp", "{x} < 4 ? 4 : {x} > 90 ? 90 : {x}", safe=True),
    Operation("abs-difference", "{x} > {y} ? {x} - {y} : {y} - {x}", safe=True),
    Operation("relu", "{x} > 0 ? {x} : 0", safe=True),
    Operation("negative-to-positive", "{x} < 0 ? -{x} : {x}", safe=True),
    Operation("less", "{x} < {y}", safe=True),
    Operation("less-equal-scalar", "{x} <= {s}", safe=True),
    Operation("equal", "{x} == {y}", safe=True),
    Operation("unequal", "{x} != 4", safe=True),
    Operation("not", "!{x}", safe=True),
    Operation("both", "{x} && {y}", safe=True),
    Operation("either", "{x} || {y} > 2", safe=True),
    Operation("choose", "{x} ? {y} : 5", safe=True),
    Operation("choose-greater", "{x} > {s} ? {y} : {x}", safe=True),
    Operation("sign", "({x} > 0) - ({x} < 0)", safe=False),
    Operation("threshold", "{x} > {s} ? 100 : 0", safe=True),
    Operation("cast", "({O}){x}", safe=True),
    Operation("cast-sum", "({O})({x} + {y})", safe=True),
    Operation("cast-product", "({A})({x} * {y})", safe=True),
    Operation("truth", "(_Bool){x}", safe=True),
    Operation("wide-sum", "(double){x} + {y}", safe=True),
    Operation("quarter", "({x} * 3 + {y}) / 4", safe=True, inexact=True),
    Operation("times-counter", "{x} * i", "int"),
    Operation("rem", "{x} % {y}", "int", divides=True),
    Operation("and", "{x} & {y}", "int"),
    Operation("or", "{x} | {y}", "int"),
    Operation("xor", "{x} ^ {y}", "int"),
    Operation("complement", "~{x}", "int"),
    Operation("shl", "{x} << 3", "int"),
    Operation("shr", "{x} >> 3", "int"),
    Operation("shl-by", "{x} << ({y} & 7)", "int"),
    Operation("shr-by", "{x} >> ({y} & 7)", "int"),
    Operation("shl-scalar", "{x} << ({s} & 3)", "int"),
    Operation("average", "({x} + {y} + 1) >> 1", "int"),
    Operation("average-down", "({x} + {y}) / 2", "int"),
    Operation("rem-constant", "{x} % 10", "int"),
    Operation("mask", "{x} & 0x0f", "int"),
    Operation("set-bit", "{x} | 8", "int"),
    Operation("odd", "{x} & 1", "int"),
    Operation("saturating-sub", "{x} > {y} ? {x} - {y} : 0", "int"),
    Operation("saturating-add", "{x} + {y} > {high} ? {high} : {x} + {y}", "narrow"),
    Operation("saturating-add-unsigned", "({A})({x} + {y}) < {x} ? ({A}){high} : ({A})({x} + {y})", "uint"),
    Operation("magnitude", "abs({x})", "narrow"),
    Operation("wide-product", "({W}){x} * {y}", "half"),
    Operation("high-half", "(({W}){x} * {y}) >> {bits}", "half"),
    Operation("rotate", "({U})({x} << 3) | ({x} >> ({bits} - 3))", "uint"),
    Operation("swap-bytes", "({x} << 8) | ({x} >> 8)", "uint"),
    Operation("swap-four", "{x} >> 24 | ({x} >> 8 & 0xff00u) | ({x} << 8 & 0xff0000u) | {x} << 24", "uint"),
    Operation("swap-nibbles", "{x} >> 4 | {x} << 4", "narrow"),
    Operation("key", "{x} ^ b[i % 4]", "int"),
    Operation("key-mask", "{x} ^ b[i & 3]", "int"),
    Operation("periodic", "{x} + b[i % 4]", safe=True),
    Operation("doubled", "{x} + b[i / 2]", safe=True),
    Operation("gray", "{x} ^ ({x} >> 1)", "int"),
    Operation("luma", "({x} * 77 + {y} * 150 + 128) >> 8", "narrow"),
    Operation("blend", "({x} * (256 - {s}) + {y} * {s}) / 256", "narrow"),
    Operation("power-of-two", "({x} & ({x} - 1)) == 0", "int"),
    Operation("pack", "({x} << 8) | ({y} & 255)", "int"),
    Operation("half", "{x} * 0.5", safe=True),
    Operation("half-single", "{x} * 0.5f", safe=True),
    Operation("root", "sqrt(fabs({x}))", "float", inexact=True, safe=True),
    Operation("root-single", "sqrtf(fabsf({x}))", "float", inexact=True, safe=True),
    Operation("norm", "sqrt({x} * {x} + {y} * {y})", "float", inexact=True, safe=True),
    Operation("fabs", "fabs({x})", "float", safe=True),
    Operation("floor", "floor({x})", "float", safe=True),
    Operation("round-half", "floor({x} + 0.5)", "float", safe=True),
    Operation("reciprocal", "1 / {y}", "float", divides=True, inexact=True, safe=True),
    Operation("fmin", "fmin({x}, {y})", "float", safe=True),
    Operation("through-int", "(int){x}", "float", safe=True),
)

Role = Literal["a", "b", "o", "s"]
MAPS = ("map", "inplace", "update", "rows", "grid", "guard", "clip", "down", "walk", "even")
SUMS = ("row-sums", "column-sums", "window", "matmul")
FOLDS = ("sum", "product", "least", "most", "xor-all", "count", "into")
FORMS = (*MAPS, *FOLDS, "transpose", *SUMS)
"""How an operation is used; see `Loop.text`."""
COUNTERS = ("int", "int", "int", "int", "ptrdiff_t", "long", "unsigned", "size_t")
"""Types of counters, from which one is drawn; the last two cannot count down below 0."""


@dataclass(frozen=True, slots=True)
class Loop:
    """One elementary loop: an operation over arrays of the types `a` and `b` into `o`, in a form."""

    operation: str
    form: str
    a: CType
    b: CType
    o: CType
    counter: str
    restricted: bool

    @property
    def key(self) -> str:
        """What tells it from all others."""
        types = f"{self.a.name},{self.b.name},{self.o.name}"
        return f"{self.operation}/{self.form}/{types}/{self.counter}{'/restrict' if self.restricted else ''}"

    @property
    def of(self) -> Operation:
        """Its operation."""
        return _BY_OPERATION[self.operation]

    @property
    def folds(self) -> bool:
        """Whether it returns a number."""
        return self.form in FOLDS and self.form != "into"

    @property
    def is_grid(self) -> bool:
        """Whether it has rows."""
        return self.form in ("rows", "grid", "transpose", "row-sums", "column-sums", "matmul")

    @property
    def result(self) -> CType:
        """The type of what is returned."""
        return BY_NAME["int"] if self.form == "count" else self.o

    @property
    def wraps(self) -> bool:
        """Whether signed integers overflow with any data, which C leaves undefined where they do not wrap around."""
        return self.form == "product" and not self.o.is_float

    @property
    def takes_nans(self) -> bool:
        """Whether C says what comes out where floats are infinite or NaN."""
        return not self.truncates and self.operation not in ("through-int", "cast-product")

    @property
    def computes_floats(self) -> bool:
        """Whether what is stored was a floating-point number before."""
        wide = "double" in self.of.text or "0.5" in self.of.text
        return wide or self.a.is_float or (self.of.reads_y and self.b.is_float)

    @property
    def truncates(self) -> bool:
        """Whether a floating-point number becomes an integer, which has to be in range."""
        whole = [self.o, *([self.a] if self.operation == "cast-product" else [])]
        return self.computes_floats and any(not x.is_float and x.kind != "bool" for x in whole)

    @property
    def reads_a(self) -> bool:
        """Whether there is the array a."""
        return "{x}" in self.of.text or self.form in ("inplace", "guard")

    def expression(self, x: str, y: str) -> str:
        """The operation's text; y is what stands for the second operand."""
        named = {"A": self.a.name, "O": self.o.name, "U": _unsigned(self.a), "W": _wide(self.a)}
        return self.of.text.format(x=x, y=y, s="s", bits=self.a.bits, high=_spell(self.a), **named)

    def parameters(self) -> list[str]:
        """The C parameters, in order."""
        star = "*restrict " if self.restricted else "*"
        if self.form == "grid":
            out = [f"{self.counter} m", f"{self.counter} n"]
            given = [(self.reads_a, self.a, "a"), (self.of.reads_y, self.b, "b"), (True, self.o, "o")]
            spelt = [f"{t.name} {n}[{'restrict ' if self.restricted else ''}m][n]" for has, t, n in given if has]
        else:
            out = [f"{self.counter} m"] if self.is_grid else []
            out.append(f"{self.counter} n")
            own = self.form == "inplace"
            spelt = [f"{'' if own else 'const '}{self.a.name} {star}a"] if self.reads_a else []
            spelt += [f"const {self.b.name} {star}b"] if self.of.reads_y else []
            spelt += [f"{self.o.name} {star}o"] if not own and not self.folds else []
        return [*out, *spelt, *([f"{self.a.name} s"] if self.of.reads_s else [])]

    def text(self, name: str) -> str:
        """The loop as a C function."""
        head = f"{self.result.name if self.folds else 'void'} {name}({', '.join(self.parameters())})\n{{\n"
        return head + "".join(f"    {x}\n" if x else "\n" for x in self._body()) + "}\n"

    def _body(self) -> Iterator[str]:
        c, o = self.counter, self.o.name
        loop = f"for ({c} i = 0; i < n; i++)"
        e = self.expression("a[i]", "b[i]")
        match self.form:
            case "map":
                yield from (loop, f"    o[i] = {e};")
            case "inplace":
                # Where C has a compound assignment of the operation, it is used.
                compound = e.startswith("a[i] ") and e.count("a[i]") == 1 and e.split()[1] in _COMPOUND
                rest = e.split(" ", 2)
                yield from (loop, f"    a[i] {rest[1]}= {rest[2]};" if compound else f"    a[i] = {e};")
            case "update":
                yield from (loop, f"    o[i] += {e};")
            case "rows":
                x = self.expression("a[r * n + i]", "b[i]")
                yield from (f"for ({c} r = 0; r < m; r++)", f"    {loop}", f"        o[r * n + i] = {x};")
            case "grid":
                x = self.expression("a[r][i]", "b[r][i]").replace("b[i", "b[r][i")
                yield from (f"for ({c} r = 0; r < m; r++)", f"    {loop}", f"        o[r][i] = {x};")
            case "transpose" | "row-sums" | "column-sums":
                at = {"transpose": "i * m + r", "row-sums": "r", "column-sums": "i"}[self.form]
                x = self.expression("a[r * n + i]", "b[i]")
                yield from (f"for ({c} r = 0; r < m; r++)", f"    {loop}")
                yield f"        o[{at}] {'=' if self.form == 'transpose' else '+='} {x};"
            case "window":
                x = self.expression("a[i + k]", "b[k]")
                yield from (loop, f"    for ({c} k = 0; k < 3; k++)", f"        o[i] += {x};")
            case "matmul":
                x = self.expression("a[r * n + k]", "b[k * n + i]")
                yield from (f"for ({c} r = 0; r < m; r++)", f"    {loop}", f"        for ({c} k = 0; k < n; k++)")
                yield f"            o[r * n + i] += {x};"
            case "guard":
                yield from (loop, f"    if (a[i] > {'b[i]' if '{y}' in self.of.text else '2'})", f"        o[i] = {e};")
            case "clip":
                yield from (f"{loop} {{", f"    {o} t = {e};", "    if (t > 50)", "        t = 50;")
                yield from ("    o[i] = t;", "}")
            case "down":
                yield from (f"for ({c} i = n - 1; i >= 0; i--)", f"    o[i] = {e};")
            case "walk":
                steps = [f"{x}++" for x, used in (("a", self.reads_a), ("b", self.of.reads_y), ("o", True)) if used]
                yield f"for ({c} i = 0; i < n; i++, {', '.join(steps)})"
                yield f"    *o = {self.expression('*a', '*b')};"
            case "even":
                yield from (f"for ({c} i = 0; i < n; i += 2)", f"    o[i] = {e};")
            case "into":
                yield from (loop, f"    *o += {e};")
            case "count":
                yield from ("int t = 0;", loop, f"    if ({e})", "        t++;", "return t;")
            case "least" | "most":
                sign, start = ("<", "100") if self.form == "least" else (">", "1")
                yield from (f"{o} t = {start};", loop, f"    t = ({e}) {sign} t ? ({e}) : t;", "return t;")
            case _:
                sign, start = {"sum": ("+", 0), "product": ("*", 1), "xor-all": ("^", 0)}[self.form]
                yield from (f"{o} t = {start};", loop, f"    t {sign}= {e};", "return t;")


_BY_OPERATION = {x.name: x for x in OPERATIONS}
_COMPOUND = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")


def _unsigned(type: CType) -> str:
    return {8: "unsigned char", 16: "unsigned short", 32: "unsigned"}.get(type.bits, "unsigned long")


def _wide(type: CType) -> str:
    names = {8: ("short", "unsigned short"), 16: ("int", "unsigned"), 32: ("long long", "unsigned long long")}
    return names.get(type.bits, ("long", "unsigned long"))[type.kind == "uint"]


def _spell(type: CType) -> str:
    high = type.limits[1] if not type.is_float else 90
    return f"{high}{'u' if type.kind == 'uint' and type.bits >= 32 else ''}{'l' if type.bits == 64 else ''}"


def is_meant(loop: Loop) -> bool:
    """Whether C has the loop, and says what it does for data of `data_of`."""
    of, types = loop.of, (loop.a, loop.b) if loop.of.reads_y else (loop.a,)
    whole = all(not x.is_float for x in types)
    fits = {
        "any": True, "int": whole, "float": loop.a.is_float,
        "uint": whole and loop.a.kind == "uint" and (loop.operation != "swap-four" or loop.a.bits == 32),
        "narrow": whole and loop.a.bits < 32 and loop.a.kind != "bool",
        "half": whole and loop.a.bits < 64 and loop.a.kind != "bool",
    }  # fmt: skip
    if not fits[of.takes]:
        return False
    if loop.operation.startswith("swap-bytes") and loop.a.bits != 16:
        return False
    if loop.form == "inplace" and (loop.o != loop.a or "{x}" not in of.text):
        return False
    if loop.form == "down" and loop.counter in COUNTERS[-2:]:
        return False
    if loop.form == "xor-all" and (loop.o.is_float or loop.computes_floats):
        return False
    if loop.form == "walk" and "b[i" in of.text.replace("{y}", ""):
        return False
    if loop.truncates:
        # What does not fit an integer type is undefined.
        if loop.form == "count":
            return True
        return of.safe and not (loop.form in (*FOLDS, *SUMS) and (loop.o.bits < 32 or loop.form == "product"))
    return True


@cache
def all_loops() -> tuple[Loop, ...]:
    """All of them: alike types with each operation and form, and as many with mixed ones, in a fixed order."""
    out: dict[str, Loop] = {}
    for operation in OPERATIONS:
        for form in FORMS:
            for type in TYPES:
                for loop in (_alike(operation, form, type), _mixed(operation, form, type)):
                    if loop is not None:
                        out.setdefault(loop.key, loop)
    return tuple(out.values())


def _alike(operation: Operation, form: str, type: CType) -> Loop | None:
    rng = random.Random(f"{operation.name}/{form}/{type.name}/alike")
    spelt = rng.choice([type, type, *(x for x in SPELLINGS if (x.kind, x.bits) == (type.kind, type.bits))])
    loop = Loop(operation.name, form, spelt, spelt, spelt, _counter(rng, form), rng.random() < 0.5)
    return loop if is_meant(loop) else None


def _mixed(operation: Operation, form: str, type: CType) -> Loop | None:
    rng = random.Random(f"{operation.name}/{form}/{type.name}/mixed")
    for _ in range(20):
        b, o = (rng.choice((*TYPES, *SPELLINGS)) for _ in range(2))
        o = type if form == "inplace" else o
        loop = Loop(operation.name, form, type, b, o, _counter(rng, form), rng.random() < 0.5)
        if is_meant(loop):
            return loop
    return None


def _counter(rng: random.Random, form: str) -> str:
    return rng.choice(COUNTERS[:-2] if form == "down" else COUNTERS)


@dataclass(frozen=True, slots=True)
class Range:
    """From where to where data are; of floats in sixteenths. `whole`: floats are sixteenths, nothing between."""

    low: int
    high: int
    whole: bool = True


def data_of(loop: Loop, type: CType, role: Role, wide: bool) -> Range:
    """The data of an array or scalar. `wide`: all values of the type, for code in which integers wrap around; else none
    with which a signed integer overflows."""
    divisor = loop.of.divides and role == "b"
    if loop.form == "product" and not (wide and not type.is_float and not loop.computes_floats):
        return Range(8, 24, loop.computes_floats and not wide) if type.is_float else Range(1, 1)
    if loop.truncates:
        low, high = {"a": (3, 5), "b": (1, 2), "s": (1, 2), "o": (0, 20)}[role]
        if type.is_float:
            return Range(16 * low, 16 * high)
        return Range(min(low, type.limits[1]), min(high, type.limits[1]))
    if type.is_float:
        return Range(8 if divisor else -128, 128, not wide)
    low, high = type.limits
    if not wide or role == "s":
        most = {8: high, 16: 1 << 11, 32: 1 << 11}.get(type.bits, 1 << 26)
        low, high = max(low, -most), min(high, most)
    if divisor:
        return Range(low, -2) if low < 0 and random.Random(loop.key).random() < 0.4 else Range(1, high)
    return Range(low, high)
