"""A definition over bits as a kernel over lanes: each lane that it writes is an assignment of a value of 64 bits.

>>> from planish.ir.text.printer import print_kernel
>>> from planish.ir.types import I32
>>> from planish.isa.semantics.definition import Definition, LaneLoop, Operand, Put
>>> from planish.isa.semantics.node import const, node, var
>>> i = node("mul", (var("i", 2), const(32)))
>>> sum_ = node("add", (node("bits", (i,), ("a", 32, True)), const(1)))
>>> one_more = Definition((Operand("a", 64),), Operand("d", 64), (LaneLoop("i", 2, (Put("d", i, 32, sum_),)),))
>>> homes = {x: (Array(x, I32, (), memory="V"),) for x in "da"}
>>> kernel = lane_kernel("INC", one_more, homes)
>>> print(print_kernel(kernel), end="")
kernel INC(d: u32[2] @V, a: u32[2] @V)
{
  d[0] = u32(i64(i32(a[0])) + 1)
  d[1] = u32(i64(i32(a[1])) + 1)
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from planish.ir.expr import Binary, BinaryOp, Cast, Compare, CompareOp, Const, Expr, Load, Select, Unary, index
from planish.ir.nest import Array, Assign, Block, Kernel, Stmt
from planish.ir.types import I8, I16, I32, I64, U8, U16, U32, U64, Type
from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, nested_puts
from planish.isa.semantics.node import Node, const, rebuild

_SIGNED: Mapping[int, Type] = {8: I8, 16: I16, 32: I32, 64: I64}
_UNSIGNED: Mapping[int, Type] = {8: U8, 16: U16, 32: U32, 64: U64}
_BINARY: Mapping[str, BinaryOp] = {
    "mul": "mul", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor", "shl": "shl", "shr": "shr",
}  # fmt: skip
_COMPARED: Mapping[str, CompareOp] = {"eq": "eq", "lt": "lt", "le": "le"}
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class NoLanesError(Exception):
    """Why a definition is no kernel over lanes: numbers of more than 64 bits, floats, lanes under a condition."""


Homes = Mapping[str, Sequence[Array]]
"""Where operands are: in one array, or in several that have its bits one after the other; the result under its own
name. An array of rank 0 and no more than 32 bits is one number, any other one gets lanes."""


def lane_kernel(
    name: str, definition: Definition, homes: Homes, tied: str = "", fixed: Mapping[str, int] | None = None
) -> Kernel:
    """The kernel of a definition over the arrays of its operands, in the order of `homes`. `tied`: the operand that the
    result takes the place of; `fixed`: operands that are numbers. NoLanesError where there is none."""
    flat = [(tied or x, offset, width, value) for x, offset, width, value in _flat(definition, fixed or {})]
    bits = {x.name: x.bits for x in (*definition.operands, definition.result) if x is not None}
    widths = _widths(flat, homes)
    rows = {x: _Row(tuple(homes[x]), bits[x] // len(homes[x]), widths[x]) for x in homes}
    writer = _Writer(rows)
    stmts = [y for target, offset, width, value in flat for y in writer.put(target, offset, width, value)]
    arrays = tuple(y for x in rows.values() for y in x.typed)
    return Kernel(name, arrays=arrays, body=Block(tuple(stmts)))


def _flat(definition: Definition, fixed: Mapping[str, int]) -> Iterator[tuple[str, int, int, Node]]:
    """Each lane that is written, for all values of the loops around it: the first bit, how many, and its value."""
    for put, around in nested_puts(definition.body):
        for values in product(*(range(x.count) for x in around)):
            known = {x.var: const(i) for x, i in zip(around, values, strict=True)}
            offset, value, when = (_placed(x, known, fixed) for x in (put.offset, put.value, put.when))
            if offset.constant is None or when.constant != 1:
                raise NoLanesError("lanes are written under a condition, or at places that depend on values")
            yield put.target, offset.constant, put.width, value


def _placed(x: Node, known: Mapping[str, Node], fixed: Mapping[str, int] | None = None) -> Node:
    def change(old: Node, args: tuple[Node, ...]) -> Node:
        if old.op == "var" and old.attr[0] in known:
            return known[str(old.attr[0])]
        if fixed and old.op == "bits" and str(old.attr[0]) in fixed:
            number = build.shift_right(const(fixed[str(old.attr[0])]), args[0])
            return build.wrap(number, int(old.attr[1]), bool(old.attr[2]))
        if old.op == "sum":
            name, count = str(old.attr[0]), int(old.attr[1])
            return build.add(*(_placed(args[0], {name: const(i)}) for i in range(count)))
        return build.construct(old.op, args, old.attr) if args else old

    return rebuild(x, change)


def _widths(flat: Sequence[tuple[str, int, int, Node]], homes: Homes) -> dict[str, int]:
    """The bits of a lane of each operand: those of the narrowest part of it that is read or written."""
    found = dict.fromkeys(homes, 64)
    for target, offset, width, value in flat:
        places = [(target, offset, width), *_reads(value)]
        for name, first, count in places:
            fits = [x for x in _UNSIGNED if x <= min(count, 32) and first % x == 0 and count % x == 0]
            found[name] = min(found[name], max(fits, default=8))
    return found


def _reads(x: Node) -> Iterator[tuple[str, int, int]]:
    stack, seen = [x], set[int]()
    while stack:
        y = stack.pop()
        if id(y) in seen:
            continue
        seen.add(id(y))
        if y.op == "bits":
            first, count = _span(y)
            yield str(y.attr[0]), first, count
        stack += y.args


def _span(x: Node) -> tuple[int, int]:
    """The first of the bits that a node may read, and how many: whole bytes where that depends on values."""
    low, high = x.args[0].low, x.args[0].high + int(x.attr[1])
    if x.args[0].constant is not None:
        return low, high - low
    low, high = low - low % 8, high + -high % 8
    if high - low > 64:
        raise NoLanesError("which lanes are read depends on values")
    return low, high - low


@dataclass(frozen=True, slots=True)
class _Row:
    """The arrays that hold an operand, so many bits each, in lanes of `width` bits."""

    arrays: tuple[Array, ...]
    bits: int
    width: int

    @property
    def is_number(self) -> bool:
        return self.bits <= 32

    @property
    def typed(self) -> tuple[Array, ...]:
        """The arrays with their lanes."""
        if self.is_number:
            return tuple(replace(x, type=I32, shape=()) for x in self.arrays)
        return tuple(
            replace(x, type=_UNSIGNED[self.width], shape=(index(self.bits // self.width),)) for x in self.arrays
        )

    def lane(self, offset: int) -> tuple[str, int]:
        """The array and the lane that begins at a bit."""
        which, inside = divmod(offset, self.bits)
        if which >= len(self.arrays) or inside % self.width:
            raise NoLanesError("bits that are no lanes")
        return self.arrays[which].name, inside // self.width


@dataclass(slots=True)
class _Writer:
    rows: Mapping[str, _Row]
    made: dict[int, Expr] = field(default_factory=dict)
    kept: list[Node] = field(default_factory=list)

    def put(self, target: str, offset: int, width: int, value: Node) -> Iterator[Stmt]:
        """Assignments of what a value is to all lanes that it covers."""
        row = self.rows[target]
        if row.is_number:
            raise NoLanesError("the result is one number")
        if any(name == target and not offset <= first < offset + width for name, first, _ in _reads(value)):
            raise NoLanesError("a lane depends on other lanes of what is written")
        whole = self.value(value)
        for at in range(0, width, row.width):
            name, lane = row.lane(offset + at)
            part = whole if at == 0 else Binary("shr", whole, Const(at, I64))
            yield Assign(name, (index(lane),), Cast(part, _UNSIGNED[row.width]))

    def value(self, x: Node) -> Expr:
        """A value as one of 64 bits."""
        if id(x) not in self.made:
            self.made[id(x)] = self.computed(x)
            self.kept.append(x)  # names of nodes are their addresses
        return self.made[id(x)]

    def computed(self, x: Node) -> Expr:
        if x.low < _LEAST or x.high > _MOST:
            raise NoLanesError("a number of more than 64 bits")
        match x.op:
            case "const":
                return Const(x.low, I64)
            case "bits":
                name, width, signed = x.attr
                first, count = _span(x)
                if x.args[0].constant is not None:
                    return self.read(str(name), first, count, bool(signed))
                by = Binary("sub", self.value(x.args[0]), Const(first, I64))
                whole = self.read(str(name), first, count, False)
                return _cut(Binary("shr", whole, by), int(width), bool(signed))
            case "wrap":
                return _cut(self.value(x.args[0]), int(x.attr[0]), bool(x.attr[1]))
            case "sat":
                width, signed = int(x.attr[0]), bool(x.attr[1])
                low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
                return Binary("min", Binary("max", self.value(x.args[0]), Const(low, I64)), Const(high, I64))
        args = [self.value(y) for y in x.args]
        match x.op:
            case "add":
                total = args[0]
                for y in args[1:]:
                    total = Binary("add", total, y)
                return total
            case "invert":
                return Unary("bitnot", args[0])
            case "not":
                return Binary("sub", Const(1, I64), args[0])
            case "abs":
                negative = Compare("lt", args[0], Const(0, I64))
                return Select(negative, Binary("sub", Const(0, I64), args[0]), args[0])
            case "select":
                return Select(Compare("ne", args[0], Const(0, I64)), args[1], args[2])
            case op if op in _BINARY:
                return Binary(_BINARY[op], *args)
            case op if op in _COMPARED:
                return Cast(Compare(_COMPARED[op], *args), I64)
            case op:
                raise NoLanesError(f"the operator `{op}`")

    def read(self, name: str, offset: int, width: int, signed: bool) -> Expr:
        """Some bits of an operand."""
        row = self.rows[name]
        if row.is_number:
            number: Expr = Load(row.arrays[0].name, (), I32)
            shifted = Binary("shr", Cast(number, I64), Const(offset, I64)) if offset else Cast(number, I64)
            return _cut(shifted, width, signed)
        if width < row.width:
            array, lane = row.lane(offset - offset % row.width)
            bits = Cast(Load(array, (index(lane),), _UNSIGNED[row.width]), I64)
            return _cut(Binary("shr", bits, Const(offset % row.width, I64)), width, signed)
        if width % row.width:
            raise NoLanesError("bits that are no lanes")
        parts: list[Expr] = []
        for at in range(0, width, row.width):
            array, lane = row.lane(offset + at)
            loaded = Load(array, (index(lane),), _UNSIGNED[row.width])
            if width == row.width:
                return Cast(Cast(loaded, _SIGNED[width]) if signed else loaded, I64)
            part = Cast(loaded, I64)
            parts.append(Binary("shl", part, Const(at, I64)) if at else part)
        total = parts[0]
        for x in parts[1:]:
            total = Binary("or", total, x)
        return _cut(total, width, signed) if signed else total


def _cut(x: Expr, width: int, signed: bool) -> Expr:
    """The low bits of a number of 64 bits."""
    if width in _SIGNED:
        return Cast(Cast(x, (_SIGNED if signed else _UNSIGNED)[width]), I64)
    if not signed:
        return Binary("and", x, Const((1 << width) - 1, I64))
    return Binary("shr", Binary("shl", x, Const(64 - width, I64)), Const(64 - width, I64))
