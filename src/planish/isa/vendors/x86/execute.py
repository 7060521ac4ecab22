"""Runs the pseudocode of an operation on operands that are not known: what comes out are expressions of their bits.

Loops with known bounds run; where a condition is not known, both sides run and what they leave is selected from.

>>> from planish.isa.vendors.x86.grammar import parse_operation
>>> text = "FOR j := 0 to 1\\ni := j*8\\nIF k[j]\\ndst[i+7:i] := a[i+7:i]\\nELSE\\ndst[i+7:i] := 0\\nFI\\nENDFOR"
>>> program = parse_operation(text)
>>> byte = Element("int", 8, False)
>>> found = run(program, {"a": SymbolicInput("a", 16, byte), "k": SymbolicInput("k", 8)}, "dst", 16, Rounding())
>>> found.register.pieces[8][1].node
select(bits('k', 1, False, const(1)), bits('a', 8, False, const(8)), const(0))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from planish.isa.semantics import build
from planish.isa.semantics.node import Node, const
from planish.isa.vendors.symbolic_state import (
    BitAddress,
    Element,
    NamedSymbol,
    RealNumber,
    Register,
    SymbolChoice,
    SymbolicValue,
    Unreadable,
    cut,
)
from planish.isa.vendors.x86 import syntax as s
from planish.isa.vendors.x86.functions import call
from planish.isa.vendors.x86.machine_state import Stored, SymbolicInput, SymbolicMachine, SymbolicOutcome
from planish.isa.vendors.x86.merge import Held, Scope, as_ladder, merge
from planish.isa.vendors.x86.operators import Operand, Rounding, apply_binary, apply_symbol, apply_unary, as_float
from planish.isa.vendors.x86.places import FIELDS, MOST_BITS, PLAIN, TILE_SHAPE, as_element, clear_above, load, read

_STEPS = 60_000


def run(
    program: s.IntelProgram, inputs: Mapping[str, SymbolicInput], result: str, width: int, rounding: Rounding,
    element: Element = PLAIN
) -> SymbolicOutcome:
    """The outcome of an operation, whose result is a register of some width (0: it has none) and elements; Unreadable
    where it uses what is not known."""
    machine = SymbolicMachine(program, inputs, rounding, result, width, element)
    scope: Scope = {}
    for name, given in inputs.items():
        if given.pointer:
            scope[name] = BitAddress(name, const(0), given.element)
        else:
            whole = build.bits(name, const(0), given.bits, given.element.signed and given.element.bits == given.bits)
            kind = given.element.kind if given.element.bits == given.bits else "int"
            scope[name] = SymbolicValue(whole, given.bits, kind, given.element)
    returned = _run(machine, program.body, scope)
    held = returned if returned is not None else scope.get(result)
    if width == 0:
        return SymbolicOutcome(Register(), machine.stores)
    if isinstance(held, SymbolicValue):
        held = Register({0: (width, cut(replace(held, width=held.width or width), 0, width))})
    if not isinstance(held, Register):
        raise Unreadable("nothing is left in the result")
    return SymbolicOutcome(held, machine.stores)


def _run(machine: SymbolicMachine, body: Sequence[s.Stmt], scope: Scope) -> Operand | None:
    """Runs statements in a scope; the value that a function gives, if it is among them."""
    for place, stmt in enumerate(body):
        _step(machine)
        match stmt:
            case s.IntelAssign():
                _assign(machine, stmt, scope)
            case s.IntelFor():
                given = _loop(machine, stmt, scope)
                if given is not None:
                    return given
            case s.IntelIf():
                condition = _truth(machine, stmt.condition, scope)
                if condition.constant is not None:
                    given = _run(machine, stmt.then if condition.low else stmt.otherwise, scope)
                    if given is not None:
                        return given
                elif _gives(stmt):
                    rest = body[place + 1 :]
                    return _both_give(machine, condition, (*stmt.then, *rest), (*stmt.otherwise, *rest), scope)
                else:
                    _both(machine, condition, stmt.then, stmt.otherwise, scope)
            case s.IntelCase():
                given = _cases(machine, stmt, body[place + 1 :], scope)
                if given is not None:
                    return given
            case s.IntelWhile():
                _repeat(machine, stmt, scope)
            case s.IntelReturn():
                return _operand(_value(machine, stmt.value, scope))
            case s.IntelPerform(what=s.IntelName(text=text)) if text.startswith("#"):
                pass  # a fault that is not raised
            case s.IntelPerform():
                raise Unreadable("a call for what it does")
            case s.IntelDefine() | s.IntelBreak():
                raise Unreadable("a definition, or a way out, within statements")
            case _:
                assert_never(stmt)
    return None


def _step(machine: SymbolicMachine) -> None:
    machine.steps += 1
    if machine.steps > _STEPS:
        raise Unreadable(f"it takes more than {_STEPS} steps")


def _gives(stmt: s.Stmt) -> bool:
    match stmt:
        case s.IntelReturn():
            return True
        case s.IntelIf():
            return any(map(_gives, (*stmt.then, *stmt.otherwise)))
        case s.IntelCase():
            return any(_gives(x) for _, body in stmt.branches for x in body)
        case _:
            return False


def _loop(machine: SymbolicMachine, stmt: s.IntelFor, scope: Scope) -> Operand | None:
    first, last = (_number(machine, x, scope) for x in (stmt.first, stmt.last))
    count = first
    while count <= last if stmt.step > 0 else count >= last:
        scope[stmt.counter] = SymbolicValue(const(count))
        _step(machine)
        given = _run(machine, stmt.body, scope)
        if given is not None:
            return given
        left = scope[stmt.counter]  # a body may move its own counter on
        if not isinstance(left, SymbolicValue) or left.node.constant is None:
            raise Unreadable("a counter that is not known")
        count = left.node.low + stmt.step
    return None


def _repeat(machine: SymbolicMachine, stmt: s.IntelWhile, scope: Scope) -> None:
    condition = _truth(machine, stmt.condition, scope)
    if condition is build.ZERO:
        return
    if condition is not build.ONE:
        raise Unreadable("a loop that ends when a value says so")
    _run(machine, stmt.body, scope)
    _step(machine)
    while _truth(machine, stmt.condition, scope) is build.ONE:
        _run(machine, stmt.body, scope)
        _step(machine)


def _branch(
    machine: SymbolicMachine, condition: Node, body: Sequence[s.Stmt], scope: Scope
) -> tuple[Scope, Operand | None]:
    inner = {name: held.copy() if isinstance(held, Register) else held for name, held in scope.items()}
    machine.path.append(condition)
    given = _run(machine, body, inner)
    machine.path.pop()
    return inner, given


def _both(
    machine: SymbolicMachine, condition: Node, then: Sequence[s.Stmt], otherwise: Sequence[s.Stmt], scope: Scope
) -> None:
    one, _ = _branch(machine, condition, then, scope)
    other, _ = _branch(machine, build.negation(condition), otherwise, scope)
    for name in [*one, *(x for x in other if x not in one)]:
        merged = merge(condition, one.get(name), other.get(name))
        if merged is not None:
            scope[name] = merged


def _both_give(
    machine: SymbolicMachine, condition: Node, then: Sequence[s.Stmt], otherwise: Sequence[s.Stmt], scope: Scope
) -> Operand | None:
    _, one = _branch(machine, condition, then, scope)
    _, other = _branch(machine, build.negation(condition), otherwise, scope)
    merged = merge(condition, one, other)
    return merged if not isinstance(merged, Register | BitAddress) else None


def _cases(machine: SymbolicMachine, stmt: s.IntelCase, rest: Sequence[s.Stmt], scope: Scope) -> Operand | None:
    subject = _value(machine, stmt.subject, scope)
    if not isinstance(subject, SymbolicValue):
        raise Unreadable("a case of a symbol")
    if any(_gives(x) for _, body in stmt.branches for x in body):
        chain: tuple[s.Stmt, ...] = ()
        for label, body in reversed(stmt.branches):
            chain = (
                body
                if label is None
                else (s.IntelIf(stmt.line, s.IntelBinary("==", stmt.subject, label), body, chain),)
            )
        return _run(machine, (*chain, *rest), scope)
    labels = [None if label is None else _number(machine, label, scope) for label, _ in stmt.branches]
    if subject.node.constant is not None:
        for known_label, (_, body) in zip(labels, stmt.branches, strict=True):
            if known_label is None or known_label == subject.node.low:
                return _run(machine, body, scope)
        return None
    ways: list[tuple[Node, Scope]] = []
    left = build.ONE
    for known_label, (_, body) in zip(labels, stmt.branches, strict=True):
        condition = build.ONE if known_label is None else build.equal(subject.node, const(known_label))
        inner, _ = _branch(machine, build.conjoin(left, condition), body, scope)
        ways.append((condition, inner))
        left = build.conjoin(left, build.negation(condition))
    known = {x for x in labels if x is not None}
    if None not in labels and not all(x in known for x in range(subject.node.low, min(subject.node.high + 1, 4096))):
        ways.append((build.ONE, scope))
    _join_ways(ways, scope, subject.node, labels)
    return None


def _join_ways(
    ways: list[tuple[Node, Scope]], scope: Scope, subject: Node, labels: list[int | None]
) -> None:
    names = list(dict.fromkeys(name for _, inner in ways for name in inner))
    for name in names:
        held = ways[-1][1].get(name)
        for condition, inner in reversed(ways[:-1]):
            held = merge(condition, inner.get(name), held)
        if held is None:
            continue
        if len(ways) == len(labels) and None not in labels:
            numbers = [x for x in labels if x is not None]
            held = as_ladder(held, subject, numbers)
        scope[name] = held


def _assign(machine: SymbolicMachine, stmt: s.IntelAssign, scope: Scope) -> None:
    value = _value(machine, stmt.value, scope)
    if stmt.op:
        before = _operand(_value(machine, stmt.target, scope))
        value = apply_binary(stmt.op, before, _operand(value), machine.rounding)
    match stmt.target:
        case s.IntelName(text=name):
            scope[name] = value
        case s.IntelSlice(base=s.IntelName(text="MEM"), high=high, low=low):
            _store(machine, _value(machine, low, scope), _value(machine, high, scope), value, scope)
        case s.IntelSlice(base=base, high=high, low=low):
            if any(isinstance(x, s.IntelName) and x.text == "MAX" for x in (low, high)):
                if isinstance(base, s.IntelName) and base.text == machine.result:
                    clear_above(scope.get(machine.result), _number(machine, low, scope), machine.width)
            else:
                _write(machine, base, high, low, _operand(value), scope)
        case s.IntelIndex(base=s.IntelField(base=base, field=name), index=index) if name in FIELDS:
            width = FIELDS[name].bits
            low_value = _whole(machine, index, scope)
            at = build.multiply(low_value, const(width))
            _write_at(machine, base, at, width, _operand(value), scope)
        case s.IntelIndex(base=base, index=index):
            _write_at(machine, base, _whole(machine, index, scope), 1, _operand(value), scope)
        case s.IntelField(base=s.IntelName(text=name), field=of) if of in FIELDS:
            element = FIELDS[of]
            scope[name] = _as_element(_operand(value), element)
        case _:
            raise Unreadable("a place that cannot be written to")


def _as_element(x: Operand, element: Element) -> SymbolicValue:
    if element.kind != "int":
        if isinstance(x, RealNumber):
            return as_float(x, element.kind)
        if isinstance(x, SymbolicValue):
            return SymbolicValue(build.wrap(x.node, element.bits), element.bits, element.kind, element, x.product)
    if not isinstance(x, SymbolicValue):
        raise Unreadable("a symbol is put into an element")
    # Fields of a width only cut what does not fit; a number that fits keeps its sign.
    fits = -(1 << (element.bits - 1)) <= x.node.low and x.node.high < (1 << element.bits)
    return SymbolicValue(x.node if fits else build.wrap(x.node, element.bits), element.bits)


def _bounds(machine: SymbolicMachine, high: s.Expr, low: s.Expr, scope: Scope) -> tuple[Node, int]:
    first, last = _whole(machine, low, scope), _whole(machine, high, scope)
    width = build.add(build.subtract(last, first), const(1)).constant
    if width is None:
        raise Unreadable("a slice whose width is not known")
    if not 0 <= width <= MOST_BITS:
        raise Unreadable(f"a slice of {width} bits")
    return first, width


def _write(machine: SymbolicMachine, base: s.Expr, high: s.Expr, low: s.Expr, value: Operand, scope: Scope) -> None:
    at, width = _bounds(machine, high, low, scope)
    if isinstance(base, s.IntelIndex) and isinstance(base.base, s.IntelField) and base.base.field in FIELDS:
        inner = _whole(machine, base.index, scope)
        at = build.add(build.multiply(inner, const(FIELDS[base.base.field].bits)), at)
        base = base.base.base
    _write_at(machine, base, at, width, value, scope)


def _write_at(machine: SymbolicMachine, base: s.Expr, at: Node, width: int, value: Operand, scope: Scope) -> None:
    if isinstance(base, s.IntelIndex) and isinstance(base.base, s.IntelField) and base.base.field in FIELDS:
        element = FIELDS[base.base.field]
        at = build.add(build.multiply(_whole(machine, base.index, scope), const(element.bits)), at)
        base = base.base.base
    if not isinstance(base, s.IntelName):
        raise Unreadable("a place that cannot be written to")
    if width == 0:
        return
    held = scope.get(base.text)
    register = (
        held if isinstance(held, Register) else Register(background=held if isinstance(held, SymbolicValue) else None)
    )
    if isinstance(value, RealNumber):
        element = _element_of(machine, base.text, width)
        value = as_float(value, element.kind)
    if not isinstance(value, SymbolicValue):
        raise Unreadable("a symbol is put into a register")
    kept = SymbolicValue(build.wrap(value.node, width), width, value.kind, value.element, value.product)
    if value.node.low < 0 and value.width == width and not value.is_float:
        kept = replace(kept, element=Element("int", width, True))
    if at.constant is not None:
        register.write(at.low, width, kept)
    else:
        register.write_somewhere(at, width, kept)
    scope[base.text] = register


def _element_of(machine: SymbolicMachine, name: str, width: int) -> Element:
    found = [x.element for x in machine.inputs.values() if x.element.bits == width and x.element.kind != "int"]
    return found[0] if found else {16: Element("f16", 16), 32: Element("f32", 32)}.get(width, Element("f64", 64))


def _store(machine: SymbolicMachine, low: Held, high: Held, value: Held, scope: Scope) -> None:
    if not isinstance(low, BitAddress) or not isinstance(high, BitAddress) or low.base != high.base:
        raise Unreadable("a place in memory that is not behind a pointer")
    width = build.add(build.subtract(high.offset, low.offset), const(1)).constant
    if not width or not 0 < width <= MOST_BITS or not isinstance(value, SymbolicValue | Register):
        raise Unreadable("what is stored has no width")
    node = (value.whole() if isinstance(value, Register) else value).node
    when = build.ONE
    for condition in machine.path:
        when = build.conjoin(when, condition)
    machine.stores.append(Stored(low.base, low.offset, width, build.wrap(node, width), when))


def _operand(held: Held) -> Operand:
    if isinstance(held, Register):
        return held.whole()
    if isinstance(held, BitAddress):
        raise Unreadable("an address is used as a number")
    return held


def _truth(machine: SymbolicMachine, expr: s.Expr, scope: Scope) -> Node:
    value = _operand(_value(machine, expr, scope))
    if not isinstance(value, SymbolicValue):
        raise Unreadable("a symbol is used as a condition")
    return build.truth(value.node)


def _whole(machine: SymbolicMachine, expr: s.Expr, scope: Scope) -> Node:
    value = _operand(_value(machine, expr, scope))
    if not isinstance(value, SymbolicValue) or value.is_float:
        raise Unreadable("a whole number is missing")
    return value.node


def _number(machine: SymbolicMachine, expr: s.Expr, scope: Scope) -> int:
    found = _whole(machine, expr, scope).constant
    if found is None:
        raise Unreadable("a number that is not known here")
    return found


def _value(machine: SymbolicMachine, expr: s.Expr, scope: Scope) -> Held:
    match expr:
        case s.IntelNumber(value=value):
            return SymbolicValue(const(value))
        case s.IntelReal(value=real):
            return RealNumber(real)
        case s.IntelName(text=name):
            if name in scope:
                return scope[name]
            if name.startswith("_") or name.upper() in ("NAN", "MAX", "INF"):
                return NamedSymbol(name)
            raise Unreadable(f"`{name}` is not known")
        case s.IntelCall():
            return _call(machine, expr, scope)
        case s.IntelBinary(op=op, left=left, right=right):
            return _binary(machine, op, left, right, scope)
        case s.IntelSlice(base=s.IntelName(text="MEM"), high=high, low=low):
            return load(_value(machine, low, scope), _value(machine, high, scope))
        case s.IntelSlice(base=base, high=high, low=low):
            at, width = _bounds(machine, high, low, scope)
            found = read(_value(machine, base, scope), at, width)
            own = isinstance(base, s.IntelName) and base.text == machine.result
            return as_element(found, machine.element) if own else found
        case s.IntelIndex(base=s.IntelField(base=base, field=name), index=index) if name in FIELDS:
            element = FIELDS[name]
            at = build.multiply(_whole(machine, index, scope), const(element.bits))
            found = read(_value(machine, base, scope), at, element.bits)
            return found if element.kind == "int" else replace(found, kind=element.kind)
        case s.IntelIndex(base=base, index=index):
            return read(_value(machine, base, scope), _whole(machine, index, scope), 1)
        case s.IntelField(base=base, field=name) if name in FIELDS:
            element = FIELDS[name]
            found = read(_value(machine, base, scope), const(0), element.bits)
            return found if element.kind == "int" else replace(found, kind=element.kind)
        case s.IntelField(field=name) if name in TILE_SHAPE:
            return SymbolicValue(const(TILE_SHAPE[name]))
        case s.IntelUnary(op=op, operand=inner):
            return apply_unary(op, _operand(_value(machine, inner, scope)))
        case s.IntelTernary(condition=condition, then=then, otherwise=otherwise):
            known = _truth(machine, condition, scope)
            if known.constant is not None:
                return _value(machine, then if known.low else otherwise, scope)
            merged = merge(known, _value(machine, then, scope), _value(machine, otherwise, scope))
            assert merged is not None
            return merged
        case _:
            raise Unreadable("an expression that is not understood")


def _binary(machine: SymbolicMachine, op: str, left: s.Expr, right: s.Expr, scope: Scope) -> Held:
    a = _value(machine, left, scope)
    if op in ("AND", "OR") and isinstance(a, SymbolicValue) and a.width == 1 and a.node.constant == int(op == "OR"):
        return a  # the other side is not asked
    b = _value(machine, right, scope)
    if isinstance(a, BitAddress) and op in ("+", "-"):
        step = _operand(b)
        if not isinstance(step, SymbolicValue):
            raise Unreadable("something that is no number is added to an address")
        return BitAddress(a.base, (build.add if op == "+" else build.subtract)(a.offset, step.node), a.element)
    if isinstance(b, BitAddress) and op == "+":
        return _binary(machine, op, right, left, scope)
    one, other = _operand(a), _operand(b)
    if op == "OP":
        return _chosen(scope.get("OP"), one, other)
    return apply_binary(op, one, other, machine.rounding)


def _chosen(op: Held | None, a: Operand, b: Operand) -> SymbolicValue:
    if isinstance(op, NamedSymbol):
        return apply_symbol(op, a, b)
    if not isinstance(op, SymbolChoice):
        raise Unreadable("`OP` is not known")
    found = apply_symbol(op.options[-1][1], a, b).node
    for condition, symbol in reversed(op.options[:-1]):
        found = build.select(condition, apply_symbol(symbol, a, b).node, found)
    return SymbolicValue(found, 1)


def _call(machine: SymbolicMachine, expr: s.IntelCall, scope: Scope) -> Held:
    arguments = tuple(_value(machine, x, scope) for x in expr.arguments)
    own = machine.program.functions.get(expr.name)
    if own is None:
        return call(expr.name, tuple(map(_operand, arguments)), machine.rounding)
    machine.calls += 1
    if machine.calls > 40:
        raise Unreadable(f"`{expr.name}` calls itself without end")
    inner: Scope = {name: held.copy() if isinstance(held, Register) else held for name, held in scope.items()}
    for parameter, given in zip(own.parameters, arguments, strict=False):
        name = parameter.base if isinstance(parameter, s.IntelSlice | s.IntelIndex) else parameter
        if not isinstance(name, s.IntelName):
            raise Unreadable("a parameter without a name")
        inner[name.text] = given
    found = _run(machine, own.body, inner)
    machine.calls -= 1
    if found is None:
        raise Unreadable(f"`{expr.name}` gives nothing")
    return found
