"""An instruction's nest as lane values: what each element of its target becomes.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(d: f32[4] @xmm, a: f32[4] @xmm) { for l in 0 .. 4 { d[l] += a[l] } }"
>>> nest = read_nest(parse_kernel(text))
>>> nest.target, nest.lanes, print_expr(nest.value)
('d', 4, 'd[l] + a[l]')
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.nest import Array, Assign, For, Kernel, Reduce, Stmt
from planish.ir.text.printer import print_expr
from planish.ir.types import BOOL, INDEX, Type
from planish.isa.select.chosen_values import blended, both_hold, chosen_value, cut_to
from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const, node

MASK = "%mask"
"""The operand that says which lanes there are."""

_CURRENT = const(4)
_FORMATS = {"f16": "f16", "f32": "f32", "f64": "f64", "bf16": "bf16"}
_PACKED = {16: "<e", 32: "<f", 64: "<d"}


Counters = Mapping[str, int | Node]
"""The values of counters: numbers, or a counter itself where a value is meant for all lanes."""


class NoCover(Exception):
    """A nest that is not understood as lanes; the message says what of it."""


@dataclass(frozen=True, slots=True)
class LaneNest:
    """`value` is what element `index` of the target becomes for each value of `lane` and of `inner`; `terms` are loops
    over which it is summed onto `start`. `size`: the size that says how many lanes are written, "" where all are;
    `chosen`: the one up to which a value is chosen."""

    target: str
    index: Expr
    value: Expr
    lane: str
    lanes: int
    size: str = ""
    inner: tuple[tuple[str, int], ...] = ()
    terms: tuple[tuple[str, int], ...] = ()
    start: Expr | None = None
    chosen: str = ""

    @property
    def masked(self) -> str:
        """The size that a mask is made of, where there is one."""
        return self.size or self.chosen

    def instances(self) -> Iterator[dict[str, int]]:
        """The values of counters, one for each element that is written."""
        for lane in range(self.lanes):
            yield from _turns(self.inner, {self.lane: lane})


def _turns(loops: tuple[tuple[str, int], ...], known: dict[str, int]) -> Iterator[dict[str, int]]:
    if not loops:
        yield known
        return
    (name, count), *rest = loops
    for turn in range(count):
        yield from _turns(tuple(rest), {**known, name: turn})


def read_nest(kernel: Kernel, lanes: int = 0) -> LaneNest:
    """The nest of a kernel of one loop over lanes; NoCover for another one. `lanes`: how many there are where a size
    says how many of them are meant."""
    (outer,) = kernel.body.body if len(kernel.body.body) == 1 else (None,)
    if not isinstance(outer, For) or outer.step != 1 or outer.lower != Const(0, type_of(outer.lower)):
        raise NoCover("it is no loop over lanes from 0")
    count, size = _count(outer.upper, lanes)
    inner: list[tuple[str, int]] = []
    stmt: Stmt = outer
    while isinstance(stmt, For):
        if stmt is not outer:
            if stmt.step != 1 or stmt.lower != Const(0, type_of(stmt.lower)):
                raise NoCover("an inner loop does not run from 0 by 1")
            inner.append((stmt.var, _count(stmt.upper, 0)[0]))
        if len(stmt.body.body) != 1:
            raise NoCover("it has several statements")
        stmt = stmt.body.body[0]
    if not isinstance(stmt, Assign | Reduce) or len(stmt.index) != 1:
        raise NoCover("it is not one assignment to a row of elements")
    target, index, value = stmt.array, stmt.index[0], stmt.value
    if isinstance(stmt, Assign):
        return LaneNest(target, index, value, outer.var, count, size, tuple(inner), chosen=_chosen(value, outer.var))
    own = Load(target, stmt.index, type_of(value))
    if not inner and stmt.op in ("add", "mul"):
        return LaneNest(target, index, Binary(stmt.op, own, value), outer.var, count, size)
    if stmt.op != "add" or len(inner) != 1 or inner[0][0] in print_expr(index):
        raise NoCover(f"lanes become another {stmt.op}")
    return LaneNest(target, index, value, outer.var, count, size, (), tuple(inner), own)


def _chosen(x: Expr, lane: str) -> str:
    match x:
        case Select(condition=Compare(op="lt", left=Var(name=left), right=Var(name=right))) if left == lane:
            return right
        case _:
            return ""


def _count(upper: Expr, lanes: int) -> tuple[int, str]:
    match upper:
        case Const(value=value):
            return int(value), ""
        case Var(name=name) if lanes:
            return lanes, name
        case _:
            raise NoCover("it has no constant number of lanes")


def fuse(x: Expr) -> Expr:
    """A sum with a product as one operation that rounds once."""
    if not isinstance(x, Binary) or not type_of(x).is_float:
        return x
    left, right = fuse(x.left), fuse(x.right)
    if x.op == "add" and isinstance(right, Binary) and right.op == "mul":
        return Call("fma", (right.left, right.right, left))
    if x.op == "add" and isinstance(left, Binary) and left.op == "mul":
        return Call("fma", (left.left, left.right, right))
    if x.op == "sub" and isinstance(right, Binary) and right.op == "mul":
        return Call("fma", (Unary("neg", right.left), right.right, left))
    if x.op == "sub" and isinstance(left, Binary) and left.op == "mul":
        return Call("fma", (left.left, left.right, Unary("neg", right)))
    return replace(x, left=left, right=right)


@dataclass(frozen=True, slots=True)
class Reader:
    """Makes values of lanes: `arrays` are the operands; `mask_width`: which bit of the mask stands for a lane, the
    first (0) or the last of so many; `names`: values that were named before."""

    arrays: Mapping[str, Array]
    nest: LaneNest
    mask_width: int = 0
    names: Mapping[str, Node] = field(default_factory=dict)

    def element(self, counters: Mapping[str, int]) -> Node:
        """What an element becomes."""
        if self.nest.start is None:
            return self.value(self.nest.value, counters)
        found = self.value(self.nest.start, counters)
        for turn in _turns(self.nest.terms, dict(counters)):
            found = _computed("add", [found, self.value(self.nest.value, turn)], type_of(self.nest.value))
        return found

    def present(self, counters: Counters) -> Node:
        """Whether the mask has a lane."""
        lane = counters[self.nest.lane]
        if isinstance(lane, Node):
            raise NoCover("a mask, which is another bit in each lane")
        place = lane if not self.mask_width else lane * self.mask_width + self.mask_width - 1
        return build.bits(MASK, const(place), 1)

    def place(self, x: Expr, counters: Counters) -> Node:
        """A subscript; sizes are immediate operands."""
        match x:
            case Const(value=value):
                return const(int(value))
            case Var(name=name) if name in counters:
                turn = counters[name]
                return turn if isinstance(turn, Node) else const(turn)
            case Var(name=name):
                return build.bits(name, build.ZERO, 8)
            case Binary(op="add", left=left, right=right):
                return build.add(self.place(left, counters), self.place(right, counters))
            case Binary(op="mul", left=left, right=right):
                return build.multiply(self.place(left, counters), self.place(right, counters))
            case _:
                raise NoCover(f"the subscript {print_expr(x)}")

    def value(self, x: Expr, counters: Counters) -> Node:
        """A value, of floats their bits."""
        match x:
            case Compare() | Binary() | Unary() | Cast() if type_of(x) == BOOL:
                return self.truth(x, counters)
            case Const(value=value, type=kind):
                return const(_bits_of(value, kind))
            case Var(name=name) if name in self.names:
                return self.names[name]
            case Var(name=name, type=kind):
                return build.bits(name, build.ZERO, kind.bits, kind.kind == "int")
            case Load(array=name, index=(place,), type=kind):
                offset = build.multiply(self.place(place, counters), const(kind.bits))
                return build.bits(name, offset, kind.bits, kind.kind == "int")
            case Select(condition=Compare(op="lt", left=Var(name=lane), right=Var(name=size)), then=a, otherwise=b) if (
                lane == self.nest.lane and size == self.nest.masked
            ):
                return build.select(self.present(counters), self.value(a, counters), self.value(b, counters))
            case Select(condition=Compare(op="lt" | "le" | "gt" | "ge" as op, left=a, right=b)) if (
                not type_of(a).is_float and (x.then, x.otherwise) in ((a, b), (b, a))
            ):
                return self.extremum(op in ("lt", "le"), (a, b), (x.then, x.otherwise), counters)
            case Select(condition=Compare(left=Var(type=kind) as size, right=Const(value=bound))) if (
                kind == INDEX and (bounding := _bounds_size(x, size, int(bound))) is not None
            ):
                return _computed(bounding, [self.value(y, counters) for y in (x.then, x.otherwise)], type_of(x))
            case Select(condition=Compare(op="ne" | "eq" | "gt" | "le")) if (
                (rounded := self.rounded(x, counters)) is not None
            ):
                return rounded
            case Select(condition=Compare() as condition, then=a, otherwise=b):
                return self.choice(condition, self.value(a, counters), self.value(b, counters), counters)
            case Select(condition=condition, then=a, otherwise=b):
                return chosen_value(
                    self.truth(condition, counters), self.value(a, counters), self.value(b, counters), type_of(x)
                )
            case Cast(operand=inner, type=kind) if type_of(inner) == BOOL and kind.is_int:
                return self.truth(inner, counters)
            case Unary(op="bitnot", operand=inner):
                plain, kind = self.value(inner, counters), type_of(inner)
                if kind.kind == "int" and plain.low >= -1 and plain.high <= 0:
                    return build.invert(plain)  # all bits or none: how many there are does not matter
                return cut_to(build.exclude(plain, const((1 << kind.bits) - 1)), kind)
            case Unary(op="neg", operand=inner) if type_of(inner).is_float:
                return build.exclude(self.value(inner, counters), const(1 << (type_of(inner).bits - 1)))
            case Unary(op="neg", operand=inner):
                return cut_to(build.negate(self.value(inner, counters)), type_of(inner))
            case Binary(op="shl" | "shr" as op, left=left, right=Const(value=by)) if 0 <= by < type_of(left).bits:
                shift = build.shift_left if op == "shl" else build.shift_right
                return cut_to(shift(self.value(left, counters), const(int(by))), type_of(left))
            case Binary(op="shl" | "shr" as op, left=left, right=right) if type_of(left).is_int:
                amount = _amount(self.value(right, counters), type_of(left))
                shift = build.shift_left if op == "shl" else build.shift_right
                return cut_to(shift(self.value(left, counters), amount), type_of(left))
            case Cast(operand=inner, type=kind) if str(type_of(inner)) == "bf16" and str(kind) == "f32":
                return build.multiply(self.value(inner, counters), const(1 << 16))
            case Cast(operand=inner, type=kind) if kind.is_int and type_of(inner).is_int:
                return _narrowed(self.value(inner, counters), kind)
            case Binary(left=left, right=right) if type_of(left) != type_of(right):
                raise NoCover("operands of two types")
            case Binary(op=op, left=left, right=right):
                return _computed(op, [self.value(left, counters), self.value(right, counters)], type_of(x))
            case Call(function="abs", arguments=(inner,)) if type_of(inner).is_int:
                return cut_to(build.absolute(self.value(inner, counters)), type_of(inner))
            case Call(function="sqrt", arguments=(inner,)):
                return node("fsqrt", (self.value(inner, counters), _CURRENT), (_FORMATS[str(type_of(x))],))
            case Call(function="fma", arguments=arguments):
                given = tuple(self.value(y, counters) for y in arguments)
                return node("fma", (*given, _CURRENT), (_FORMATS[str(type_of(x))],))
            case _:
                raise NoCover(print_expr(x))

    def choice(self, condition: Compare, then: Node, otherwise: Node, counters: Counters) -> Node:
        """One of two values, by a comparison."""
        return chosen_value(self.condition(condition, counters), then, otherwise, type_of(condition.left))

    def rounded(self, x: Select, counters: Counters) -> Node | None:
        """`n ? (v + (1 << (n - 1))) >> n : v` as `(v + (1 << n >> 1)) >> n`, which is `v` for 0; None for another
        choice. C leaves it open what a shift by less than nothing is."""
        condition = x.condition
        if not isinstance(condition, Compare) or not _is_zero(condition.right) or type_of(x).kind != "int":
            return None
        chosen, otherwise = (x.then, x.otherwise) if condition.op in ("ne", "gt") else (x.otherwise, x.then)
        kinds: list[Type] = []
        while isinstance(chosen, Cast) and chosen.type.is_int:
            kinds.append(chosen.type)
            chosen = chosen.operand
        match chosen:
            case Binary(op="shr", left=Binary(op="add", left=first, right=second), right=by):
                a, half = (second, first) if isinstance(first, Binary) and first.op == "shl" else (first, second)
            case _:
                return None
        if not isinstance(half, Binary) or half.op != "shl":
            return None
        one, less = half.left, half.right
        number, value, kind = self.value(condition.left, counters), self.value(otherwise, counters), type_of(chosen)
        before = self.value(less, counters)
        if before.op == "wrap" and 1 << (int(before.attr[0]) - 1) > kind.bits:  # 0 - 1 is no amount in it, either
            before = before.args[0]
        if self.value(one, counters) is not build.ONE or self.value(a, counters) is not value:
            return None
        least = kind.bits.bit_length() - 1
        by_number, plus_one = self.value(by, counters), build.add(before, build.ONE)
        if not (_ends_in(number, by_number, least) and _ends_in(plus_one, by_number, 0)):
            return None
        if not _ends_in(by_number, plus_one, 0):
            return None
        if not all(_holds(y, value) for y in kinds):
            return None  # the other side is not cut
        number = build.maximum(number, build.ZERO) if condition.op in ("gt", "le") else by_number
        amount = _amount(number, kind)
        up = build.shift_right(build.shift_left(build.ONE, amount), build.ONE)
        made = cut_to(build.shift_right(cut_to(build.add(value, up), kind), amount), kind)
        for narrower in reversed(kinds):
            made = _narrowed(made, narrower)
        return made

    def truth(self, x: Expr, counters: Counters) -> Node:
        """Whether a condition holds: 0 or 1."""
        match x:
            case Compare():
                return self.condition(x, counters)
            case Var(name=name) if name in self.names:
                return self.names[name]
            case Const(value=value):
                return const(int(bool(value)))
            case Binary(op="and", left=left, right=right) if type_of(x) == BOOL:
                return both_hold(self.truth(left, counters), self.truth(right, counters))
            case Binary(op="or", left=left, right=right) if type_of(x) == BOOL:
                return build.disjoin(self.truth(left, counters), self.truth(right, counters))
            case Load():
                return build.truth(self.value(x, counters))
            case Unary(op="not", operand=inner):
                return build.negation(self.truth(inner, counters))
            case Cast(operand=inner, type=kind) if kind == BOOL and type_of(inner).is_int:
                return build.truth(self.value(inner, counters))
            case _:
                raise NoCover(f"the condition {print_expr(x)}")

    def condition(self, x: Compare, counters: Counters) -> Node:
        """A comparison; one with NaN does not hold, but for "ne"."""
        a, b = self.value(x.left, counters), self.value(x.right, counters)
        kind = type_of(x.left)
        if x.op in ("gt", "ge"):
            a, b = b, a
        found = _compared({"gt": "lt", "ge": "le", "ne": "eq"}.get(x.op, x.op), a, b, kind)
        return build.negation(found) if x.op == "ne" else found

    def extremum(
        self, below: bool, compared: tuple[Expr, Expr], chosen: tuple[Expr, Expr], counters: Counters
    ) -> Node:
        """The lesser or the greater of two whole numbers, as C has it: `a < b ? a : b`."""
        op = "min" if below == (chosen == compared) else "max"
        return _computed(op, [self.value(x, counters) for x in compared], type_of(compared[0]))


def _amount(x: Node, kind: Type) -> Node:
    """By how much a number is shifted: C leaves it open what a shift by less than nothing, or by all bits or more,
    is."""
    if x.low >= 0 and x.high < kind.bits:
        return x
    return build.wrap(x, min(kind.bits.bit_length() - 1, max(x.high, 1).bit_length()))


def _ends_in(x: Node, low: Node, least: int) -> bool:
    """Whether a value is another one, or has it as its low bits, at least so many, as a size has what a narrower type
    makes of it."""
    if x is low:
        return True
    same = x.op == low.op == "bits" and x.attr[0] == low.attr[0] and x.args == low.args
    return same and least <= int(low.attr[1]) <= int(x.attr[1])


def _holds(kind: Type, x: Node) -> bool:
    """Whether a type has all values that a number may be."""
    return cut_to(x, kind) is x


def _is_zero(x: Expr) -> bool:
    return isinstance(x, Const) and x.value == 0


_INT = 32
"""The bits of C's int, which holds what is passed as one."""


def _bounds_size(x: Select, size: Var, bound: int) -> str | None:
    """"min" or "max" where a choice is the lesser, or the greater, of a size as an int and of a number:
    `shift < 15 ? shift : 15`. None where it is neither, or in a type that need not hold the size."""
    assert isinstance(x.condition, Compare)
    if type_of(x).kind != "int" or type_of(x).bits < _INT:
        return None
    sides = (x.then, x.otherwise)
    own = [isinstance(y, Cast) and y.operand == size for y in sides]
    other = [isinstance(y, Const) and y.value == bound for y in sides]
    if x.condition.op not in ("lt", "le", "gt", "ge") or (own, other) not in (
        ([True, False], [False, True]), ([False, True], [True, False]),
    ):  # fmt: skip
        return None
    return "min" if own[0] == (x.condition.op in ("lt", "le")) else "max"


def _compared(op: str, a: Node, b: Node, kind: Type) -> Node:
    """Whether "lt", "le" or "eq" holds."""
    if not kind.is_float:
        return {"lt": build.less, "le": build.at_most, "eq": build.equal}[op](a, b)
    if str(kind) not in _FORMATS:
        raise NoCover(f"a comparison of {kind}")
    return node(f"f{op}", (a, b), (_FORMATS[str(kind)],))


def _bits_of(value: float, kind: Type) -> int:
    if kind.is_int:
        return int(value)
    if kind.kind != "float":
        raise NoCover(f"a constant of type {kind}")
    try:
        return int.from_bytes(struct.pack(_PACKED[kind.bits], value), "little")
    except OverflowError as error:
        raise NoCover(f"{value} is no {kind}") from error


def _narrowed(x: Node, kind: Type) -> Node:
    """A value cut to a type, or the nearest one that it has, if that is what its bounds make of it."""
    signed = kind.kind == "int"
    low, high = (-(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1) if signed else (0, (1 << kind.bits) - 1)
    x = _reached(x, kind.bits)
    inner, least, most = x, x.low, x.high
    bounds: dict[str, int | None] = {"min": None, "max": None}
    while inner.op in bounds and bounds[inner.op] is None and inner.args[1].op == "const":
        bounds[inner.op] = inner.args[1].constant
        inner = inner.args[0]
    enough = (bounds["max"] == low or inner.low >= low) and (bounds["min"] == high or inner.high <= high)
    if inner is not x and enough and (least, most) == (max(low, inner.low), min(high, inner.high)):
        return build.saturate(inner, kind.bits, signed)
    return cut_to(x, kind)


def _reached(x: Node, bits: int) -> Node:
    """A shifted number without a cut above all bits that are kept of it."""
    if x.op == "shr" and x.args[0].op == "wrap" and x.args[1].op == "const":
        inner, by = x.args[0].args[0], x.args[1]
        if by.low + bits <= int(x.args[0].attr[0]):
            return build.shift_right(inner, by)
    return x


def divided(x: Node, by: Node) -> Node:
    """A quotient of a number that is not negative by a constant, as a product that is shifted: for all x <= high it is
    x*m >> s with m = ceil(2^s / by) where (m*by - 2^s) * high < 2^s (Granlund and Montgomery, 1994). The shift is that
    of a high half of 16 or 32 bits where one will do."""
    divisor = by.low
    if divisor & (divisor - 1) == 0:
        return build.shift_right(x, const(divisor.bit_length() - 1))
    halves = (16, 32) if x.high < 1 << 16 else (32,)
    for width, shift in ((half, shift) for half in halves for shift in range(half, 2 * half)):
        factor = -(-(1 << shift) // divisor)
        if factor < 1 << width and (factor * divisor - (1 << shift)) * x.high < 1 << shift:
            return build.shift_right(build.multiply(x, const(factor)), const(shift))
    return build.quotient(x, by)


def _computed(op: str, args: list[Node], kind: Type) -> Node:
    if kind.is_float:
        name = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}.get(op)
        if name is None or str(kind) not in _FORMATS:
            raise NoCover(f"{op} of {kind}")
        return node(name, (*args, _CURRENT), (_FORMATS[str(kind)],))
    match op:
        case "quo" | "floordiv" if args[0].low >= 0 and args[1].op == "const" and args[1].low > 0:
            return divided(*args)
        case "add":
            return cut_to(blended(build.add(*args)), kind)
        case "sub":
            return cut_to(build.subtract(*args), kind)
        case "mul":
            return cut_to(build.multiply(*args), kind)
        case "min" | "max":
            first, second = sorted(args, key=lambda x: x.op == "const")
            return (build.minimum if op == "min" else build.maximum)(first, second)
        case "and":
            return build.conjoin(*args)
        case "or":
            return build.disjoin(*args)
        case "xor":
            return build.exclude(*args)
        case _:
            raise NoCover(f"{op} of {kind}")


def leaves_of(x: Expr) -> Iterator[Expr]:
    """Loads and scalars under an expression, in their order."""
    match x:
        case Load() | Var():
            yield x
        case Binary(left=left, right=right):
            yield from leaves_of(left)
            yield from leaves_of(right)
        case Call(arguments=arguments):
            for y in arguments:
                yield from leaves_of(y)
        case Cast(operand=inner) | Unary(operand=inner):
            yield from leaves_of(inner)
        case Select(condition=condition, then=a, otherwise=b):
            if isinstance(condition, Compare) and type_of(condition.left) != INDEX:
                yield from leaves_of(condition.left)
                yield from leaves_of(condition.right)
            yield from leaves_of(a)
            yield from leaves_of(b)
        case _:
            return
