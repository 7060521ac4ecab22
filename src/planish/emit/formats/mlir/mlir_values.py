"""Values in MLIR: numbers, subscripts and conditions as operations of its arith, math, affine and memref dialects.

>>> from planish.ir.text.parser import parse_expr
>>> writer = MlirWriter({"x": "%x"})
>>> writer.value(parse_expr("sqrt(x:f64 * 2.0)"))
'%2'
>>> print("\\n".join(writer.lines))
%0 = arith.constant 2.0 : f64
%1 = arith.mulf %x, %0 : f64
%2 = math.sqrt %1 : f64
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.index.polynomial import constant, normal, polynomial
from planish.ir.nest import Array
from planish.ir.traverse import loads, may_fail
from planish.ir.types import BF16, BOOL, F16, F32, F64, INDEX, Type

_FLOAT_OPS = {"add": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "min": "minimumf", "max": "maximumf"}
_INT_OPS = {"add": "addi", "sub": "subi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori", "shl": "shli",
            "floordiv": "floordivsi"}  # fmt: skip
_SIGNED_OPS = {"quo": "divsi", "rem": "remsi", "min": "minsi", "max": "maxsi", "shr": "shrsi"}
_UNSIGNED_OPS = {"quo": "divui", "rem": "remui", "min": "minui", "max": "maxui", "shr": "shrui", "floordiv": "divui"}
_MATH = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "log10": "log10", "sin": "sin",
    "cos": "cos", "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh", "asin": "asin", "acos": "acos",
    "atan": "atan", "atan2": "atan2", "pow": "powf", "fabs": "absf", "floor": "floor", "ceil": "ceil",
    "round": "round", "trunc": "trunc", "cbrt": "cbrt", "rint": "roundeven", "fma": "fma", "copysign": "copysign",
    "expm1": "expm1", "log1p": "log1p",
}  # fmt: skip
_ARITH_CALLS = {"fmin": "minnumf", "fmax": "maxnumf", "fmod": "remf"}


def mlir_type(type: Type) -> str:
    """MLIR's name of a type; iterators, sizes and whole numbers of 64 bits are `index` while they are computed."""
    match type.kind:
        case "bool":
            return "i1"
        case "float":
            return f"f{type.bits}"
        case "bfloat":
            return "bf16"
        case "int" | "uint":
            return "index" if type == INDEX else f"i{type.bits}"
        case _:
            assert_never(type.kind)


def stored_type(type: Type) -> str:
    """The type of an array's elements: of whole numbers, and of bool, as C has them in memory."""
    return "i64" if type == INDEX else "i8" if type == BOOL else mlir_type(type)


def memref_type(array: Array) -> str:
    """The type of a whole array."""
    extents = [None if x is None else constant(x) for x in array.shape]
    shape = "".join(f"{x}x" if x is not None else "?x" for x in extents)
    return f"memref<{shape}{stored_type(array.type)}>"


@dataclass(slots=True)
class MlirWriter:
    """Lines of MLIR: `names` are the values of names, `cells` the arrays, `known` values that stand for loads, `affine`
    the names that may stand in affine maps (as dimensions, or as symbols where they are `fixed`)."""

    names: dict[str, str] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    known: Mapping[Load, str] = field(default_factory=dict)
    affine: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    functions: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    indent: str = ""
    count: int = 0

    def line(self, text: str) -> None:
        """One more line."""
        self.lines.append(self.indent + text)

    def fresh(self) -> str:
        """A name for a value."""
        self.count += 1
        return f"%{self.count - 1}"

    def define(self, text: str) -> str:
        """A value."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def value(self, expr: Expr) -> str:
        """The value of an expression."""
        type = type_of(expr)
        match expr:
            case Const(value=value):
                return self.define(f"arith.constant {literal(value, type)}" + f" : {mlir_type(type)}" * (type != BOOL))
            case Var(name=name):
                return self.names[name]
            case Load():
                return self.load(expr)
            case Unary():
                return self.unary(expr, mlir_type(type))
            case Binary():
                return self.binary(expr, type)
            case Compare():
                return self.compare(expr)
            case Select(condition=c, then=a, otherwise=b):
                if any(self.is_risky(x) for x in (a, b)):
                    return self.choice(self.value(c), a, b)
                values = ", ".join(self.value(x) for x in (c, a, b))
                return self.define(f"arith.select {values} : {mlir_type(type)}")
            case Cast(operand=operand):
                return self.cast(self.value(operand), type_of(operand), type)
            case Call():
                return self.call(expr, type)
            case _:
                assert_never(expr)

    def is_risky(self, expr: Expr) -> bool:
        """Whether an expression must not be computed where it is not asked for."""
        return may_fail(expr) or any(x not in self.known for x in loads(expr))

    def load(self, load: Load) -> str:
        """An element."""
        if load in self.known:
            return self.known[load]
        array = self.arrays[load.array]
        value = self.define(f"{self.place('load', self.names[load.array], load.index)} : {memref_type(array)}")
        return self.opened(value, load.type)

    def opened(self, value: str, type: Type) -> str:
        """An element as it is computed with."""
        if type == INDEX:
            return self.define(f"arith.index_cast {value} : i64 to index")
        return self.define(f"arith.trunci {value} : i8 to i1") if type == BOOL else value

    def closed(self, value: str, type: Type) -> str:
        """A value as it is stored."""
        if type == INDEX:
            return self.define(f"arith.index_cast {value} : index to i64")
        return self.define(f"arith.extui {value} : i1 to i8") if type == BOOL else value

    def store(self, array: Array, at: tuple[Expr, ...], value: str) -> None:
        """Store an element."""
        value = self.closed(value, array.type)
        self.line(f"{self.place('store', f'{value}, {self.names[array.name]}', at)} : {memref_type(array)}")

    def place(self, what: str, operands: str, at: tuple[Expr, ...]) -> str:
        """`load` or `store` at some subscripts, which are affine where they can be."""
        if all(self.is_affine(x) for x in at):
            return f"affine.{what} {operands}[{', '.join(self.affine_text(x) for x in at)}]"
        return f"memref.{what} {operands}[{', '.join(self.value(x) for x in at)}]"

    def is_affine(self, expr: Expr) -> bool:
        """Whether an index expression may stand in an affine map."""
        return all(
            len(m) <= 1 and all(isinstance(x, Var) and x.name in self.affine for x in m) for m in polynomial(expr)
        )

    def affine_text(self, expr: Expr, names: Mapping[str, str] | None = None) -> str:
        """An affine expression; `names` are what stands for names in it."""
        terms = []
        for monomial, factor in polynomial(normal(expr)).items():
            if not monomial:
                terms.append(str(factor))
                continue
            (atom,) = monomial
            assert isinstance(atom, Var)
            value = names[atom.name] if names is not None else self.names[atom.name]
            if names is None and atom.name in self.fixed:
                value = f"symbol({value})"
            terms.append(value if factor == 1 else f"{value} * {factor}")
        return " + ".join(terms) or "0"

    def affine_map(self, expr: Expr) -> str:
        """An affine map and its operands, which give a bound."""
        known = constant(expr)
        if known is not None:
            return str(known)
        used = list(dict.fromkeys(x.name for m in polynomial(expr) for x in m if isinstance(x, Var)))
        dims = [x for x in used if x not in self.fixed]
        symbols = [x for x in used if x in self.fixed]
        names = {x: f"d{i}" for i, x in enumerate(dims)} | {x: f"s{i}" for i, x in enumerate(symbols)}
        head = f"({', '.join(names[x] for x in dims)})" + f"[{', '.join(names[x] for x in symbols)}]" * bool(symbols)
        passed = f"({', '.join(self.names[x] for x in dims)})"
        passed += f"[{', '.join(self.names[x] for x in symbols)}]" * bool(symbols)
        return f"affine_map<{head} -> ({self.affine_text(expr, names)})>{passed}"

    def choice(self, condition: str, then: Expr, otherwise: Expr) -> str:
        """One of two values, of which only the one that is chosen is computed."""
        name, type = self.fresh(), mlir_type(type_of(then))
        self.line(f"{name} = scf.if {condition} -> ({type}) {{")
        for i, branch in enumerate((then, otherwise)):
            if i:
                self.line("} else {")
            outer, self.indent = self.indent, self.indent + "  "
            self.line(f"scf.yield {self.value(branch)} : {type}")
            self.indent = outer
        self.line("}")
        return name

    def unary(self, expr: Unary, type: str) -> str:
        """A sign, or flipped bits."""
        x = self.value(expr.operand)
        if expr.op == "neg" and type_of(expr).is_float:
            return self.define(f"arith.negf {x} : {type}")
        if expr.op == "neg":
            zero = self.define(f"arith.constant 0 : {type}")
            return self.define(f"arith.subi {zero}, {x} : {type}")
        ones = self.define("arith.constant true" if type == "i1" else f"arith.constant -1 : {type}")
        return self.define(f"arith.xori {x}, {ones} : {type}")

    def binary(self, expr: Binary, type: Type) -> str:
        """Two operands and what is done to them."""
        op, spelt = expr.op, mlir_type(type)
        if type == BOOL and op in ("and", "or") and self.is_risky(expr.right):
            decided = Const(op == "or", BOOL)
            first = self.value(expr.left)
            return self.choice(first, *((expr.right, decided) if op == "and" else (decided, expr.right)))
        a, b = self.value(expr.left), self.value(expr.right)
        if type.is_float:
            return self.define(f"arith.{_FLOAT_OPS[op]} {a}, {b} : {spelt}")
        if op == "mod":
            if type.kind == "uint":
                return self.define(f"arith.remui {a}, {b} : {spelt}")
            quotient = self.define(f"arith.floordivsi {a}, {b} : {spelt}")
            product = self.define(f"arith.muli {quotient}, {b} : {spelt}")
            return self.define(f"arith.subi {a}, {product} : {spelt}")
        special = _UNSIGNED_OPS if type.kind == "uint" else _SIGNED_OPS
        return self.define(f"arith.{special.get(op) or _INT_OPS[op]} {a}, {b} : {spelt}")

    def compare(self, expr: Compare) -> str:
        """A condition."""
        type = type_of(expr.left)
        a, b = self.value(expr.left), self.value(expr.right)
        if type.is_float:
            word = ("u" if expr.op == "ne" else "o") + expr.op
            return self.define(f"arith.cmpf {word}, {a}, {b} : {mlir_type(type)}")
        equal = expr.op in ("eq", "ne")
        word = expr.op if equal else ("u" if type.kind in ("uint", "bool") else "s") + expr.op
        return self.define(f"arith.cmpi {word}, {a}, {b} : {mlir_type(type)}")

    def cast(self, value: str, source: Type, target: Type) -> str:
        """A number as another type."""
        if source == INDEX != target:
            value = self.define(f"arith.index_cast {value} : index to i64")
        if target == INDEX != source:
            value = self.converted(value, source, target, "i64")
            return self.define(f"arith.index_cast {value} : i64 to index")
        return self.converted(value, source, target, mlir_type(target)) if source != target else value

    def converted(self, value: str, source: Type, target: Type, spelt: str) -> str:
        """A number as another type, where whole numbers of 64 bits are just that."""
        before = "i64" if source == INDEX else mlir_type(source)
        if before == spelt:
            return value
        if target == BOOL:
            zero = self.define(f"arith.constant {'0.0' if source.is_float else '0'} : {before}")
            return self.define(f"arith.cmp{'f une' if source.is_float else 'i ne'}, {value}, {zero} : {before}")
        if source.is_float and target.is_float:
            word = "extf" if target.bits > source.bits else "truncf"
            if source.bits == target.bits:
                value = self.define(f"arith.extf {value} : {before} to f32")
                before, word = "f32", "truncf"
        elif source.is_float:
            word = f"fpto{'u' if target.kind == 'uint' else 's'}i"
        elif target.is_float:
            word = f"{'u' if source.kind in ('uint', 'bool') else 's'}itofp"
        else:
            unsigned = "u" if source.kind in ("uint", "bool") else "s"
            word = f"ext{unsigned}i" if target.bits > source.bits or source == BOOL else "trunci"
        return self.define(f"arith.{word} {value} : {before} to {spelt}")

    def call(self, call: Call, type: Type) -> str:
        """A function of mathematics."""
        values = ", ".join(self.value(x) for x in call.arguments)
        spelt = mlir_type(type)
        if call.function == "abs":
            return values if type.kind == "uint" else self.define(f"math.absi {values} : {spelt}")
        if call.function in _ARITH_CALLS:
            return self.define(f"arith.{_ARITH_CALLS[call.function]} {values} : {spelt}")
        if call.function in _MATH:
            return self.define(f"math.{_MATH[call.function]} {values} : {spelt}")
        name = call.function + "f" * (type == F32)
        kinds = ", ".join([spelt] * len(call.arguments))
        self.functions[name] = f"func.func private @{name}({kinds}) -> {spelt}"
        return self.define(f"func.call @{name}({values}) : ({kinds}) -> {spelt}")


def literal(value: int | float | bool, type: Type) -> str:
    """A number; what is not finite is told by its bits."""
    if type == BOOL:
        return "true" if value else "false"
    if not type.is_float:
        bits = int(value)
        return str(bits - (1 << type.bits) if type.kind == "uint" and bits >= 1 << (type.bits - 1) else bits)
    if not math.isfinite(value):
        return f"0x{_bits(float(value), type):0{type.bits // 4}X}"
    text = repr(float(value))
    # MLIR wants a point, also before an exponent.
    return text if "." in text else text.replace("e", ".0e") if "e" in text else text + ".0"


def _bits(value: float, type: Type) -> int:
    """The bits of a float."""
    match type:
        case t if t == F64:
            return int(struct.unpack("<Q", struct.pack("<d", value))[0])
        case t if t == F16:
            return int(np.float16(value).view(np.uint16))
        case t if t == BF16:
            return int(np.float32(value).view(np.uint32)) >> 16
        case _:
            return int(np.float32(value).view(np.uint32))
