"""Places in a ring that a loop goes through: `(start + i) % length`, `r->at++ & 255`; each iteration adds one to them.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> loop = "for (int i = 0; i < n; i++) { a[(k - i) & 7] = 1; b[k++ % m] = 2; c[i % i] = 3; }"
>>> tree = CParser().parse("void f(int n, int k, int m) { %s }" % loop)
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> counted = read_counted(bound.function.body.block_items[0], bound)
>>> [(text_of(x.node), x.advance) for x in find_rings(counted)]
[('(k++) % m', 1)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pycparser import c_ast

from planish.frontend.c.analysis.aliasing import changes
from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_plain, settings, step_of, written
from planish.frontend.c.translate.arithmetic import common, literal
from planish.frontend.c.translate.state import Refused
from planish.frontend.c.types.constants import STEPS, walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, CType, CUnknown, resolve, text_of
from planish.ir.types import Type

_NO_PART = (
    c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Label, c_ast.Return, c_ast.Switch, c_ast.For, c_ast.While,
    c_ast.DoWhile,
)  # fmt: skip
"""What a loop that is cut does not hold: each iteration comes to its end, and what is cut is an innermost loop."""
_LARGEST_MASK = 1 << 31
C_INTEGERS = {
    ("int", 32): "int", ("uint", 32): "unsigned", ("int", 64): "long long", ("uint", 64): "unsigned long long",
}  # fmt: skip
"""The types that C computes integers in."""


@dataclass(frozen=True, slots=True)
class RingPlace:
    """A place that goes round: `dividend op divisor`, of a type, whose dividend each iteration changes by `advance`.
    `array`: the element at that place, where it is a subscript; `stepped`: the variable that it steps itself;
    `number`: the divisor, where that is one."""

    node: c_ast.BinaryOp
    type: Type
    advance: Literal[1, -1]
    array: c_ast.ArrayRef | None
    stepped: c_ast.UnaryOp | None
    number: int | None


@dataclass(frozen=True, slots=True)
class SteppingLoop:
    """A loop `for (…; counter < end; counter++)` of a function: what its iterations store to, and the steps of what
    they change by one, in one place, each with the number of the statement that it is in. `declared`: the names
    that may stand for something else in an iteration than before the body."""

    node: c_ast.For
    counter: Symbol
    bound: BoundNames
    stores: tuple[c_ast.Node, ...]
    steps: tuple[tuple[c_ast.UnaryOp, int, Literal[1, -1]], ...]
    calls: bool
    declared: frozenset[str]

    def body(self) -> list[c_ast.Node]:
        """The statements of an iteration."""
        stmt = self.node.stmt
        return list(stmt.block_items or []) if isinstance(stmt, c_ast.Compound) else [stmt]

    def advances(self) -> list[c_ast.Node]:
        """What comes behind each iteration."""
        behind = self.node.next
        return [] if behind is None else behind.exprs if isinstance(behind, c_ast.ExprList) else [behind]


def read_counted(node: c_ast.For, bound: BoundNames) -> SteppingLoop | None:
    """A loop whose counter nothing else changes, and whose end stays where it is; None for another one."""
    cond, parts = node.cond, [*walk_tree(node.stmt)]
    if not isinstance(cond, c_ast.BinaryOp) or cond.op != "<" or not isinstance(cond.left, c_ast.ID):
        return None
    counter = bound.symbol(cond.left)
    if counter is None or not is_plain(counter) or any(isinstance(x, _NO_PART) for x in parts):
        return None
    declared = frozenset(x.name for x in parts if isinstance(x, c_ast.Decl | c_ast.Enumerator) and x.name)
    steps = SteppingLoop(node, counter, bound, (), (), False, declared).advances()
    own = [x for x in steps if step_of(x, bound) == (counter, 1)]
    if len(own) != 1 or [s for x in (node.stmt, node.next) for s, _ in settings(x, bound)].count(counter) != 1:
        return None
    parts += walk_tree(node.next)
    stores = tuple(x for x in map(_target, parts) if x is not None)
    calls = any(isinstance(x, c_ast.FuncCall) for x in parts)
    loop = SteppingLoop(node, counter, bound, stores, (), calls, declared)
    told = [text_of(x) for x in stores]
    numbered = [(n, y) for n, x in enumerate(loop.body()) for y in walk_tree(x)]
    numbered += ((len(loop.body()), x) for x in steps)
    found = ((x, n, amount) for n, x in numbered if (amount := _adds(x)) is not None)
    loop = replace(loop, steps=tuple(x for x in found if told.count(text_of(x[0].expr)) == 1))
    return loop if is_steady(cond.right, loop) else None


def _target(node: c_ast.Node) -> c_ast.Node | None:
    """What a node stores to."""
    match node:
        case c_ast.Assignment(lvalue=target):
            return target
        case c_ast.UnaryOp(op=op, expr=target) if op in STEPS:
            return target
        case _:
            return None


def _adds(node: c_ast.Node) -> Literal[1, -1] | None:
    match node:
        case c_ast.UnaryOp(op="++" | "p++", expr=c_ast.ID() | c_ast.StructRef()):
            return 1
        case c_ast.UnaryOp(op="--" | "p--", expr=c_ast.ID() | c_ast.StructRef()):
            return -1
        case _:
            return None


def find_rings(loop: SteppingLoop) -> Iterator[RingPlace]:
    """The places in a loop that go round, and that each iteration reaches."""
    for n, stmt in enumerate(loop.body()):
        for node, array in _places(stmt):
            if isinstance(node, c_ast.BinaryOp) and node.op in ("%", "&"):
                found = _ring(node, array, n, loop)
                if found is not None:
                    yield found


def _places(node: c_ast.Node) -> Iterator[tuple[c_ast.Node, c_ast.ArrayRef | None]]:
    """The subscripts and initial values in a statement that are evaluated in any case."""
    match node:
        case c_ast.If() | c_ast.TernaryOp():
            yield from _places(node.cond)
            return
        case c_ast.BinaryOp(op="&&" | "||"):
            yield from _places(node.left)
            return
        case c_ast.ArrayRef(subscript=at):
            yield at, node
        case c_ast.Decl(init=value) if value is not None:
            yield value, None
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(), rvalue=value):
            yield value, None
        case c_ast.UnaryOp(op="sizeof"):
            return
        case _:
            pass
    for _, child in node.children():
        yield from _places(child)


def _ring(node: c_ast.BinaryOp, array: c_ast.ArrayRef | None, place: int, loop: SteppingLoop) -> RingPlace | None:
    type, divisor = type_in(node, loop), node.right
    if type is None or not is_steady(divisor, loop) or (type_in(divisor, loop) or type).bits > type.bits:
        return None
    moving = _moving(node.left, loop)
    if moving is None or len(moving) != 1 or (type.kind, type.bits) not in C_INTEGERS:
        return None
    (part, sign), stepped = moving[0], None
    if isinstance(part, c_ast.UnaryOp):
        stepped, part = part, part.expr
    name = text_of(part)
    if name == loop.counter.name and loop.bound.symbol(part) is loop.counter:
        advance = 1
    else:
        step = next(((x, n, amount) for x, n, amount in loop.steps if text_of(x.expr) == name), None)
        if step is None or not is_own(part, loop):
            return None
        # A step that is no statement of its own may not be made, unless it is a part of the place.
        alone = step[1] > place and any(step[0] is x for x in (*loop.body(), *loop.advances()))
        if stepped is not step[0] and (stepped is not None or not alone):
            return None
        advance = step[2]
    own = type_in(part, loop)
    mask = loop.bound.value(divisor)
    if own is None or not _keeps_going(own, type, mask if node.op == "&" else None, node.op):
        return None
    if node.op == "&" and mask is not None and (not 0 <= mask < _LARGEST_MASK or mask & (mask + 1)):
        return None
    return RingPlace(node, type, 1 if advance * sign == 1 else -1, array, stepped, mask)


def _keeps_going(own: Type, type: Type, mask: int | None, op: str) -> bool:
    """Whether a dividend of some type goes on by one where the variable in it, of its own type, wraps around, or that
    does not."""
    if op == "&" and mask is not None:
        return mask < 1 << own.bits
    return own.bits >= 32 and (own.kind == "int" or (own.bits, "uint") == (type.bits, type.kind))


def _moving(node: c_ast.Node, loop: SteppingLoop) -> list[tuple[c_ast.Node, int]] | None:
    """The variables in a sum that iterations change, with their signs; None where it is no sum of such and of what
    stays as it is."""
    if is_steady(node, loop):
        return []
    match node:
        case c_ast.BinaryOp(op="+" | "-" as op, left=left, right=right):
            a, b = _moving(left, loop), _moving(right, loop)
            return None if a is None or b is None else [*a, *((x, y if op == "+" else -y) for x, y in b)]
        case c_ast.ID() | c_ast.StructRef() | c_ast.UnaryOp(op="p++", expr=c_ast.ID() | c_ast.StructRef()):
            return [(node, 1)]
        case _:
            return None


def is_own(node: c_ast.Node, loop: SteppingLoop) -> bool:
    """Whether a variable, or a member, is changed by no store of the loop but that of its own name."""
    ctype, name = ctype_in(node, loop), text_of(node)
    symbol = loop.bound.symbol(node)
    if not isinstance(ctype, CScalar):
        return False
    if isinstance(node, c_ast.ID):
        return symbol is not None and not symbol.lasting and node.name not in loop.declared
    return not loop.calls and stays_in(node, loop) and not any(
        _may_change(x, ctype, loop) for x in loop.stores if text_of(x) != name and not _beside(x, node, loop)
    )  # fmt: skip


def is_steady(node: c_ast.Node, loop: SteppingLoop) -> bool:
    """Whether an expression of integers has one value in all iterations."""
    match node:
        case c_ast.Constant():
            return type_in(node, loop) is not None
        case c_ast.ID(name=name) if name in loop.declared:
            return False
        case c_ast.ID() if loop.bound.enumerator(node) is not None:
            return True
        case c_ast.ID():
            symbol, changed = loop.bound.symbol(node), written(loop.node, loop.bound)
            stays = symbol is not None and not symbol.lasting and symbol not in changed
            return stays and type_in(node, loop) is not None
        case c_ast.StructRef():
            return text_of(node) not in map(text_of, loop.stores) and is_own(node, loop)
        case c_ast.BinaryOp(op="+" | "-" | "*", left=left, right=right):
            return is_steady(left, loop) and is_steady(right, loop)
        case _:
            return False


def stays_in(node: c_ast.Node, loop: SteppingLoop) -> bool:
    """Whether it is a member of one structure in all iterations."""
    while isinstance(node, c_ast.StructRef):
        node = node.name
    if isinstance(node, c_ast.ArrayRef | c_ast.UnaryOp):
        return False
    symbol = loop.bound.symbol(node)
    stays = symbol is not None and not symbol.lasting and symbol not in written(loop.node, loop.bound)
    return stays and text_of(node) not in loop.declared


def may_be_seen(node: c_ast.Node, loop: SteppingLoop) -> bool:
    """Whether a loop may read a variable, or a member, in another way than by its own name."""
    held, name = ctype_in(node, loop), text_of(node)
    if isinstance(node, c_ast.ID):
        return False  # no address leads to it
    inside = [y for x in (loop.node.stmt, loop.node.cond, loop.node.next) for y in walk_tree(x)]
    bases = {id(x.name) for x in inside if isinstance(x, c_ast.StructRef | c_ast.ArrayRef)}
    for x in inside:
        if not isinstance(x, c_ast.ArrayRef | c_ast.StructRef) and not (isinstance(x, c_ast.UnaryOp) and x.op == "*"):
            continue
        ctype = ctype_in(x, loop)
        if isinstance(ctype, CScalar) and isinstance(held, CScalar):
            if text_of(x) != name and changes(ctype, held) and not _beside(x, node, loop):
                return True
        elif not isinstance(ctype, CPointer) and id(x) not in bases:
            return True
    return loop.calls


def _beside(target: c_ast.Node, node: c_ast.Node, loop: SteppingLoop) -> bool:
    """Whether a store is to another member of the structure that a member is of, or into an array that is one."""
    while isinstance(target, c_ast.ArrayRef) and isinstance(ctype_in(target.name, loop), CArray):
        target = target.name
    if not isinstance(target, c_ast.StructRef) or not isinstance(node, c_ast.StructRef):
        return False
    if target.type != node.type or text_of(target.name) != text_of(node.name):
        return False
    whole = ctype_in(node.name, loop)
    if node.type == "->":
        whole = whole.target if isinstance(whole, CPointer) else None
    record = whole.record if isinstance(whole, CUnknown) else None
    members = [] if record is None else loop.bound.file.records.members(record) or []
    own = {x.name for x in members if isinstance(x, c_ast.Decl)}
    return target.field.name != node.field.name and {target.field.name, node.field.name} <= own


def _may_change(target: c_ast.Node, held: CScalar, loop: SteppingLoop) -> bool:
    """Whether a store may change a member of some type."""
    symbol = loop.bound.symbol(target)
    if isinstance(target, c_ast.ID) and symbol is not None and not symbol.lasting:
        return False
    ctype = ctype_in(target, loop)
    return not isinstance(ctype, CScalar) or changes(ctype, held)


def ctype_in(node: c_ast.Node, loop: SteppingLoop) -> CType | None:
    """The type of a variable, member or element."""
    records, types = loop.bound.file.records, loop.bound.typedefs
    match node:
        case c_ast.ID():
            symbol = loop.bound.symbol(node)
            return None if symbol is None else symbol.ctype
        case c_ast.ArrayRef(name=base) | c_ast.UnaryOp(op="*", expr=base):
            match ctype_in(base, loop):
                case CPointer(target=inner) | CArray(element=inner):
                    return inner
                case _:
                    return None
        case c_ast.StructRef(name=base, type=how):
            whole = ctype_in(base, loop)
            if how == "->":
                whole = whole.target if isinstance(whole, CPointer) else None
            record = whole.record if isinstance(whole, CUnknown) else None
            found = None if record is None else records.member(record, str(node.field.name))
            if found is None or found.bitsize is not None or records.is_ambiguous(found):
                return None
            return None if "volatile" in (found.quals or ()) else resolve(found.type, types)
        case _:
            return None


def type_in(node: c_ast.Node, loop: SteppingLoop) -> Type | None:
    """The type of an expression of integers (of a comparison: that in which it compares); None where it is another."""
    match node:
        case c_ast.ID() if loop.bound.enumerator(node) is not None:
            return type_in(c_ast.Constant("int", "0"), loop)
        case c_ast.Constant(type=kind, value=text):
            try:
                value = literal(kind, text).type
            except Refused:
                return None
            return value if value.is_int else None
        case c_ast.ID() | c_ast.StructRef() | c_ast.ArrayRef():
            ctype = ctype_in(node, loop)
            return ctype.type if isinstance(ctype, CScalar) and ctype.type.is_int else None
        case c_ast.UnaryOp(op="p++", expr=inner):
            return type_in(inner, loop)
        case c_ast.BinaryOp(op="+" | "-" | "*" | "%" | "&" | "<", left=left, right=right):
            a, b = type_in(left, loop), type_in(right, loop)
            return None if a is None or b is None else common(a, b)
        case _:
            return None
