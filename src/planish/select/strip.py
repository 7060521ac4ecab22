"""A loop over lanes as a strip: its rows of memory and scalars become operands, its assignments outputs.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> loop = "for l in 0 .. 16 { B[3, l] = u8(i32(A[2, l + 1]) + i32(A[2, l]) >> 1:i32) }"
>>> text = f"kernel k(n; A: u8[n, n], B: u8[n, n]) {{ {loop} }}"
>>> kernel = parse_kernel(text)
>>> strip = read_strip(kernel.body.body[0], {x.name: x for x in kernel.arrays})
>>> print(*print_kernel(strip.kernel).split())
kernel strip(m0: u8[16], m1: u8[17]) { for l in 0 .. 16 { m0[l] = u8(i32(m1[l + 1]) + i32(m1[l]) >> 1:i32) } }
>>> strip.body.outputs[0].value.op, [strip.body.address(x) for x in strip.body.leaves]
('shr', [LaneAddress(row='m1', offset=8, step=8), LaneAddress(row='m1', offset=0, step=8)])
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace

from planish.ir.conditional_accesses import ReadConditions, TooMany, conditional_store, read_always
from planish.ir.expr import Binary, Cast, Const, Expr, Load, Select, Var, type_of
from planish.ir.index.polynomial import Polynomial, build, constant, normal, polynomial, sub
from planish.ir.nest import Array, Assign, Block, For, Kernel, Let, Reduce, Scalar, Stmt
from planish.ir.text.printer import print_expr
from planish.ir.traverse import children, expressions, may_fail, substitute_block, walk_expr, with_children
from planish.ir.types import INDEX
from planish.isa.select.lane_values import LaneNest, NoCover, Reader
from planish.isa.semantics import build as semantic
from planish.isa.semantics.definition import Definition, LaneLoop, Operand, Put
from planish.isa.semantics.node import Node, const, var, walk
from planish.select.body import LaneBody, read_body
from planish.select.forms.bounded_operands import bound_operands
from planish.select.forms.guarded_values import plainly, where_holds
from planish.select.forms.invariant_choices import join_choices
from planish.select.forms.sign_masks import as_extrema


@dataclass(frozen=True, slots=True)
class Strip:
    """`kernel`: the strip in the language of nests, with operands m0, m1, … in memory and scalars x0, …; `body`: the
    same as terms over lanes. `rows`: where the first element of each row of memory lies, as a place and how many
    elements behind it; `values`: what each scalar is; `places` and `scalars`: both as expressions of the loop."""

    kernel: Kernel
    body: LaneBody
    rows: Mapping[str, tuple[str, int]]
    values: Mapping[str, str]
    places: Mapping[str, Load]
    scalars: Mapping[str, Expr]


def read_strip(
    loop: For, arrays: Mapping[str, Array], conditional: Container[str] = (), covered: bool = True
) -> Strip:
    """The strip of a loop over a constant number of lanes from 0; NoCover where it is none. `conditional`: arrays to
    which nothing but what is chosen instead of an element's own value is stored. `covered`: loads are made for it, so
    that it is asked under which conditions lanes read."""
    if loop.lower != Const(0, INDEX) or not isinstance(loop.upper, Const) or loop.step != 1:
        raise NoCover("it does not run over a constant number of lanes from 0")
    reader = _Operands(loop.var, int(loop.upper.value), arrays)
    statements = _statements(loop, reader)
    for x in statements:
        reader.collect(x)
    made = [reader.rewritten(x) for x in statements]
    plain = replace(loop, body=Block(tuple(made)), facts=type(loop.facts)(), span=None, label=0)
    kernel = Kernel(
        "strip", scalars=tuple(reader.scalars.values()), arrays=tuple(reader.operands().values()), body=Block((plain,))
    )
    rows = {name: (text, reader.least[name]) for text, name in reader.rows.items()}
    values = {name: text for text, name in reader.names.items()}
    guarded = frozenset(name for name, kind in reader.kinds.items() if kind.name in conditional)
    called = {row: kind.name for row, kind in reader.kinds.items()} if covered else {}
    cells = frozenset(row for row, kind in reader.kinds.items() if kind.memory == "stack")
    body = replace(_body_of(kernel, plain, guarded, called), cells=cells)
    return Strip(kernel, body, rows, values, reader.places, reader.given)


def _statements(loop: For, reader: _Operands) -> list[Let | Assign]:
    """What a loop does: names of values that are others in each lane, and assignments. Names of other values are
    replaced by these."""
    values: dict[str, Expr] = {}
    made: list[Let | Assign] = []
    for x in loop.body.body:
        if not isinstance(x, Let | Assign | Reduce):
            raise NoCover("it is more than assignments")
        (inner,) = substitute_block(Block((x,)), values).body
        if not isinstance(inner, Let):
            made.append(_as_assignment(inner))
        elif reader.moves(inner.value):
            reader.varying.add(inner.var)
            made.append(inner)
        else:
            values[inner.var] = inner.value
    found = [x for x in made if isinstance(x, Assign)]
    if not found:
        raise NoCover("it assigns nothing")
    written: dict[str, list[tuple[Expr, ...]]] = {}
    for x in found:
        if not all(reader.are_apart(x.index, y) for y in written.get(x.array, ())):
            raise NoCover("two assignments may write one element")
        written.setdefault(x.array, []).append(x.index)
    always = {y for x in made for y in read_always(x.value)}
    for x in made:
        for y in walk_expr(x.value):
            if isinstance(y, Load) and y not in always and not reader.moves(y):
                raise NoCover(f"`{print_expr(y)}` is read under a condition only")
    before: set[str] = set()
    for x in made:
        for y in walk_expr(x.value):
            if isinstance(y, Load) and y.array in written:
                # All is read before anything is stored: only a lane's own elements are the same then.
                own = all(y.index == z or reader.are_apart(y.index, z) for z in written[y.array])
                if not own or y.array in before:
                    raise NoCover(f"`{y.array}` is read at another place than that which is written")
        if isinstance(x, Assign):
            before.add(x.array)
    return made


def _as_assignment(x: Stmt) -> Assign:
    match x:
        case Assign():
            return x
        case Reduce(op="add" | "mul" | "min" | "max" as op):
            value = Binary(op, Load(x.array, x.index, type_of(x.value)), x.value)
            return Assign(x.array, x.index, value)
        case _:
            raise NoCover("it updates in a way of its own")


@dataclass(slots=True)
class _Operands:
    lane: str
    lanes: int
    arrays: Mapping[str, Array]
    rows: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, Array] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    varying: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    places: dict[str, Load] = field(default_factory=dict)
    given: dict[str, Expr] = field(default_factory=dict)

    def collect(self, x: Let | Assign) -> None:
        """Which rows there are, and between which elements."""
        if isinstance(x, Assign):
            self.row(x.array, x.index)
        for y in walk_expr(x.value):
            if isinstance(y, Load) and self.moves(y):
                self.row(y.array, y.index)

    def row(self, array: str, index: tuple[Expr, ...]) -> tuple[str, int, int]:
        """The operand of an access, by how many elements it moves from lane to lane, and its element for lane 0."""
        if not index or any(self.moves(y) for y in index[:-1]):
            raise NoCover(f"lanes of `{array}` are not neighbours")
        step, start, rest = self.split(index[-1])
        places = [print_expr(normal(x)) for x in (*index[:-1], build(rest))]
        text = f"{array}[{', '.join(places)}]"
        name = self.rows.setdefault(text, f"m{len(self.rows)}")
        last = start + step * (self.lanes - 1)
        self.kinds[name] = self.arrays[array]
        self.places.setdefault(name, Load(array, (*index[:-1], build(rest)), self.arrays[array].type))
        self.least[name] = min(self.least.get(name, start), start, last)
        self.most[name] = max(self.most.get(name, start), start, last)
        return name, step, start

    def split(self, x: Expr) -> tuple[int, int, Polynomial]:
        step = start = 0
        rest: Polynomial = {}
        for monomial, factor in polynomial(x).items():
            if not monomial:
                start = factor
            elif monomial == (Var(self.lane, INDEX),):
                step = factor
            elif any(self.moves(y) for y in monomial):
                raise NoCover(f"the subscript `{print_expr(x)}`")
            else:
                rest[monomial] = factor
        return step, start, rest

    def are_apart(self, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
        """Whether two places are different ones, whatever the lanes: in different rows, or, where each lane has several
        elements side by side, never the same of these."""
        differences = [constant(sub(x, y)) for x, y in zip(a, b, strict=True)]
        if any(x is not None and x != 0 for x in differences[:-1]):
            return True
        step, apart = self.split(a[-1])[0], differences[-1]
        return apart is not None and step != 0 and apart % step != 0

    def moves(self, x: Expr) -> bool:
        """Whether an expression is another one in each lane."""
        return any(isinstance(y, Var) and (y.name == self.lane or y.name in self.varying) for y in walk_expr(x))

    def place(self, array: str, index: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
        name, step, start = self.row(array, index)
        lane = Var(self.lane, INDEX)
        at: Expr = lane if step == 1 else Binary("mul", lane, Const(step, INDEX))
        offset = start - self.least[name]
        if step == 0:
            return name, (Const(offset, INDEX),)
        return name, (at if offset == 0 else Binary("add", at, Const(offset, INDEX)),)

    def rewritten(self, x: Let | Assign) -> Let | Assign:
        if isinstance(x, Let):
            return replace(x, value=self.value(x.value), span=None, label=0)
        name, place = self.place(x.array, x.index)
        return replace(x, array=name, index=place, value=self.value(x.value), span=None, label=0)

    def value(self, x: Expr, chosen: bool = False) -> Expr:
        """`chosen`: it is evaluated under a condition, where what may fail is no operand, which always is."""
        match x:
            case Load() if self.moves(x):
                name, place = self.place(x.array, x.index)
                return replace(x, array=name, index=place)
            case Var(name=name) if name == self.lane:
                raise NoCover("the number of the lane is a value in it")
            case Var(name=name) if name in self.varying:
                return x
            case Load() | Var():
                return self.scalar(x)
            case Const():
                return x
            case _ if self.is_place(x) and not (chosen and may_fail(x)):
                return self.scalar(x)
            case _:
                inside = chosen or isinstance(x, Select)
                return with_children(x, tuple(self.value(y, inside) for y in children(x)))

    def is_place(self, x: Expr) -> bool:
        """Whether an expression of 64 bits is the same in all lanes, and nothing is known of what it is made of."""
        return not self.moves(x) and type_of(x) == INDEX and not _is_widened(x)

    def scalar(self, x: Expr) -> Expr:
        """A value that is the same in all lanes."""
        if type_of(x).is_float:
            raise NoCover(f"`{print_expr(x)}`, a float that is the same in all lanes")
        text = print_expr(x)
        if text not in self.names:
            name = self.names[text] = f"x{len(self.scalars)}"
            self.scalars[name], self.given[name] = Scalar(name, type_of(x)), x
        return Var(self.names[text], type_of(x))

    def operands(self) -> dict[str, Array]:
        """The rows, as long as they are used."""
        return {
            name: Array(name, kind.type, (Const(self.most[name] - self.least[name] + 1, INDEX),))
            for name, kind in self.kinds.items()
        }


def _is_widened(x: Expr) -> bool:
    """Whether it is a narrower value as one of 64 bits: of that its range is known."""
    return isinstance(x, Cast) and type_of(x.operand).is_int and type_of(x.operand) != INDEX


def _body_of(kernel: Kernel, loop: For, guarded: Container[str], called: Mapping[str, str]) -> LaneBody:
    arrays = {x.name: x for x in kernel.arrays}
    assert isinstance(loop.upper, Const)
    lanes = int(loop.upper.value)
    counter = var(loop.var, lanes)
    counters = {loop.var: counter}

    def is_fixed(x: Node) -> bool:
        return counter not in walk([x])

    def bounded(x: Node) -> Node:
        return bound_operands(as_extrema(x), is_fixed)

    puts: list[Put] = []
    stores: list[tuple[Node, Node | None]] = []
    names: dict[str, Node] = {}
    values: dict[str, Expr] = {}
    reads = ReadConditions(values)
    reader = Reader(arrays, LaneNest("", Const(0, INDEX), Const(0, INDEX), loop.var, lanes), names=names)
    for x in loop.body.body:
        assert isinstance(x, Let | Assign)
        target, place = (x.array, x.index[0]) if isinstance(x, Assign) else ("", Const(0, INDEX))
        reader = Reader(arrays, LaneNest(target, place, x.value, loop.var, lanes), names=names)
        if isinstance(x, Let):
            names[x.var], values[x.var] = reader.value(x.value, counters), x.value
            # It is read whether it is used or not, but for what is stored where a condition holds, which comes below.
            if isinstance(x.value, Load) or not any(y.array in guarded for y in reads.cells(x.value)):
                reads.read(x.value)
            continue
        width = arrays[x.array].type.bits
        offset = semantic.multiply(reader.place(x.index[0], counters), const(width))
        value = bounded(join_choices(reader.value(x.value, counters), is_fixed))
        puts.append(Put(x.array, offset, width, value))
        own = Load(x.array, x.index, arrays[x.array].type)
        found = conditional_store(x.value, own, values) if x.array in guarded else None
        if found is None and x.array in guarded:
            raise NoCover(f"`{x.array}` is stored to under a condition, and it is not known which")
        try:
            if found is None:
                reads.read(x.value)
                stores.append((puts[-1].value, None))
            else:
                reads.store(x.value, own)
                guard = plainly(bounded(reader.truth(found.guard, counters)))
                stores.append((where_holds(bounded(reader.value(found.value, counters)), guard), guard))
        except TooMany:
            raise NoCover("too many conditions under which something is read") from None
    operands = [
        Operand(x.name, x.type.bits * int(x.shape[0].value)) for x in kernel.arrays if isinstance(x.shape[0], Const)
    ]
    scalars = [Operand(x.name, x.type.bits, "immediate") for x in kernel.scalars]
    definition = Definition((*operands, *scalars), None, (LaneLoop(loop.var, lanes, tuple(puts)),))
    body = read_body(definition, {x.name: x.type.bits for x in kernel.arrays})
    made = [replace(x, value=value, guard=guard) for x, (value, guard) in zip(body.outputs, stores, strict=True)]
    read = {x.array: y for x, y in reads.conditions().items() if x.array in called}
    where = {row: plainly(bounded(reader.truth(x, counters))) for row, x in read.items()}
    for row in where:
        _check_own(row, called[row], loop)
    return replace(body, outputs=tuple(made), read_where=where)


def _check_own(row: str, array: str, loop: For) -> None:
    """Raises NoCover where lanes read others than their own element of a row that is read under conditions."""
    for x in loop.body.body:
        for y in (z for e in expressions(x) for z in walk_expr(e)):
            if isinstance(y, Load) and y.array == row and y.index != (Var(loop.var, INDEX),):
                raise NoCover(f"`{print_expr(replace(y, array=array))}` is read under a condition only")
