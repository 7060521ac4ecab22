"""Runs Arm's operations on operands that are not known; what is left in the destination are expressions of their bits.

>>> from planish.isa.vendors.arm.grammar import parse_operation
>>> from planish.isa.semantics.node import const
>>> text = "bits(16) x = V[n];\\nfor e = 0 to 1\\n    Elem[result, e, 8] = NOT(Elem[x, e, 8]);\\nV[d] = result;"
>>> given = Register(background=SymbolicValue(build.bits("a", const(0), 16), 16))
>>> len(run(parse_operation(text), {"n": given}, {}).pieces)
2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.node import Node, const
from planish.isa.vendors.arm import syntax as s
from planish.isa.vendors.arm.functions import call
from planish.isa.vendors.symbolic_state import Register, SymbolicValue, Unreadable, cut, merge_registers, merge_values

_STEPS = 20_000
_HALF = 64
_MOST_BITS = 1024
_FLAGS = ("FPSR.QC",)

Held = SymbolicValue | Register | str


@dataclass(slots=True)
class _Machine:
    registers: dict[str, Register]
    scope: dict[str, Held]
    widths: dict[str, int] = field(default_factory=dict)
    steps: int = 0


def run(body: Sequence[s.Stmt], registers: Mapping[str, Register], known: Mapping[str, Held]) -> Register:
    """What an operation leaves in its destination. `registers` are those that the instruction names ("n", "m", …, and
    "d" where it is read); `known` are the variables that its decoding sets. Unreadable where it uses what is not
    known."""
    machine = _Machine({name: x.copy() for name, x in registers.items()}, dict(known))
    _run(machine, body)
    if "d" not in machine.registers:
        raise Unreadable("nothing is left in the destination")
    return machine.registers["d"]


def _run(machine: _Machine, body: Sequence[s.Stmt]) -> None:
    for stmt in body:
        _step(machine)
        match stmt:
            case s.AslDeclare(name=name, width=width, value=value):
                if width is not None:
                    machine.widths[name] = _width(machine, width)
                    machine.scope[name] = Register()
                if value is not None:
                    _assign(machine, s.AslName(name), value)
            case s.AslAssign(targets=targets, value=value):
                # Of functions that tell more than one thing the first is meant, the others are flags.
                if not (isinstance(targets[0], s.AslName) and targets[0].text in _FLAGS):
                    _assign(machine, targets[0], value)
            case s.AslFor():
                first, last = _number(machine, stmt.first), _number(machine, stmt.last)
                for count in range(first, last + 1):
                    _step(machine)
                    machine.scope[stmt.counter] = SymbolicValue(const(count))
                    _run(machine, stmt.body)
            case s.AslIf():
                if not _sets_flags(stmt):
                    _branch(machine, stmt)
            case s.AslCase():
                _case(machine, stmt)
            case _:
                assert_never(stmt)


def _step(machine: _Machine) -> None:
    machine.steps += 1
    if machine.steps > _STEPS:
        raise Unreadable(f"it takes more than {_STEPS} steps")


def _sets_flags(stmt: s.AslIf) -> bool:
    return not stmt.otherwise and all(
        isinstance(x, s.AslAssign) and isinstance(x.targets[0], s.AslName) and x.targets[0].text in _FLAGS
        for x in stmt.then
    )


def _branch(machine: _Machine, stmt: s.AslIf) -> None:
    condition = _value(machine, stmt.condition).node
    if condition.constant is not None:
        _run(machine, stmt.then if condition.low else stmt.otherwise)
        return
    before = machine.scope
    scopes = []
    for body in (stmt.then, stmt.otherwise):
        machine.scope = {name: x.copy() if isinstance(x, Register) else x for name, x in before.items()}
        _run(machine, body)
        scopes.append(machine.scope)
    one, other = scopes
    machine.scope = {name: _merged(condition, one[name], other[name]) for name in one if name in other}


def _merged(condition: Node, one: Held, other: Held) -> Held:
    if isinstance(one, Register) and isinstance(other, Register):
        return merge_registers(condition, one, other)
    if isinstance(one, SymbolicValue) and isinstance(other, SymbolicValue):
        return one if one.node is other.node else merge_values(condition, one, other)
    return one


def _case(machine: _Machine, stmt: s.AslCase) -> None:
    subject = machine.scope.get(stmt.subject.text) if isinstance(stmt.subject, s.AslName) else None
    for label, body in stmt.ways:
        if isinstance(label, s.AslName) and label.text == subject:
            _run(machine, body)
            return
    raise Unreadable("a case that is not known")


def _assign(machine: _Machine, target: s.Expr, value: s.Expr) -> None:
    """Puts a value; a register is taken as it is, so that its lanes stay apart."""
    held = _register_of(machine, value)
    match target:
        case s.AslName(text=name) if held is not None and name in machine.widths:
            machine.scope[name] = held.copy()
        case s.AslCall(name="V", arguments=[s.AslName(text=name)], square=True) if held is not None:
            machine.registers[name] = held.copy()
        case _:
            _put(machine, target, _value(machine, value))


def _register_of(machine: _Machine, x: s.Expr) -> Register | None:
    match x:
        case s.AslName(text=name):
            held = machine.scope.get(name)
            return held if isinstance(held, Register) and held.pieces else None
        case s.AslCall(name="V" | "X", arguments=[s.AslName(text=name)], square=True):
            return machine.registers.get(name)
        case s.AslCall(name="Vpart", arguments=[s.AslName(text=name), part], square=True) if name in machine.registers:
            width = min(_HALF, _number(machine, s.AslName("datasize")))
            return _moved_down(machine.registers[name], _HALF * _number(machine, part), width)
        case s.AslBinary(op=":", left=s.AslName(text=high), right=s.AslName(text=low)):
            return _joined(machine, high, low)
        case s.AslChoose(condition=condition, then=then, otherwise=otherwise):
            known = build.truth(_value(machine, condition).node).constant
            return None if known is None else _register_of(machine, then if known else otherwise)
        case _:
            return None


def _moved_down(register: Register, by: int, width: int) -> Register | None:
    """Some bits of a register as one, where its pieces are not cut by that."""
    if register.background is not None:
        return Register({0: (width, register.read(by, width))})
    inside = {at: x for at, x in register.pieces.items() if by <= at < by + width}
    whole = all(at + size <= by + width for at, (size, _) in inside.items())
    return Register({at - by: x for at, x in inside.items()}) if whole and inside else None


def _joined(machine: _Machine, high: str, low: str) -> Register | None:
    """Two registers as one."""
    made = Register()
    at = 0
    for name in (low, high):
        held, width = machine.scope.get(name), machine.widths.get(name)
        part = _moved_down(held, 0, width) if isinstance(held, Register) and width else None
        if part is None or width is None:
            return None
        made.pieces |= {at + place: x for place, x in part.pieces.items()}
        at += width
    return made


def _put(machine: _Machine, target: s.Expr, value: SymbolicValue) -> None:
    match target:
        case s.AslName(text=name):
            width = machine.widths.get(name)
            if width is None:
                machine.scope[name] = value
            else:
                machine.scope[name] = Register(background=SymbolicValue(build.wrap(value.node, width), width))
        case s.AslCall(name="Elem", arguments=[s.AslName(text=name), place, size]):
            width = _width(machine, size)
            at = build.multiply(_value(machine, place).node, const(width))
            _write(_register(machine, name), at, width, value)
        case s.AslCall(name="V" | "X", arguments=[s.AslName(text=name)], square=True):
            register = Register()
            register.write(0, value.width or 64, value)
            machine.registers[name] = register
        case s.AslCall(name="Vpart", arguments=[s.AslName(text=name), part], square=True):
            which = _number(machine, part)
            register = machine.registers.get(name, Register()).copy() if which else Register()
            register.write(_HALF * which, value.width or _HALF, value)
            machine.registers[name] = register
        case s.AslSlice(base=s.AslName(text=name), high=high, low=low):
            first = _number(machine, low)
            width = _checked(_number(machine, high) - first + 1)
            _write(_register(machine, name), const(first), width, value)
        case _:
            raise Unreadable("a place that cannot be written to")


def _register(machine: _Machine, name: str) -> Register:
    held = machine.scope.setdefault(name, Register())
    if not isinstance(held, Register):
        raise Unreadable(f"`{name}` holds no bits")
    return held


def _write(register: Register, at: Node, width: int, value: SymbolicValue) -> None:
    kept = SymbolicValue(build.wrap(value.node, width), width)
    if at.constant is not None:
        register.write(at.low, width, kept)
    else:
        register.write_somewhere(at, width, kept)


def _number(machine: _Machine, x: s.Expr) -> int:
    found = _value(machine, x).node.constant
    if found is None:
        raise Unreadable("a number that is not known here")
    return found


def _width(machine: _Machine, x: s.Expr) -> int:
    return _checked(_number(machine, x))


def _checked(width: int) -> int:
    if not 0 < width <= _MOST_BITS:
        raise Unreadable(f"{width} bits" if -_MOST_BITS < width < 10 * _MOST_BITS else "very many bits")
    return width


def _value(machine: _Machine, x: s.Expr) -> SymbolicValue:
    match x:
        case s.AslNumber(value=value):
            return SymbolicValue(const(value))
        case s.AslBits(text=text):
            return SymbolicValue(const(int(text.replace(" ", ""), 2)), len(text.replace(" ", "")))
        case s.AslName(text=name):
            return _named(machine, name)
        case s.AslCall():
            return _called(machine, x)
        case s.AslSlice(base=base, high=high, low=low):
            first = _value(machine, low).node
            width = build.add(_value(machine, high).node, const(1), build.negate(first)).constant
            if width is None or not 0 < width <= 1024:
                raise Unreadable("a slice whose width is not known")
            return _sliced(_value(machine, base), first, width)
        case s.AslUnary(op="-", operand=operand):
            return SymbolicValue(build.negate(_value(machine, operand).node))
        case s.AslUnary(operand=operand):
            return SymbolicValue(build.negation(build.truth(_value(machine, operand).node)))
        case s.AslChoose(condition=condition, then=then, otherwise=otherwise):
            known = build.truth(_value(machine, condition).node)
            if known.constant is not None:
                return _value(machine, then if known.low else otherwise)
            return merge_values(known, _value(machine, then), _value(machine, otherwise))
        case s.AslBinary(op=op, left=left, right=right):
            return _binary(op, _value(machine, left), _value(machine, right))
        case _:
            assert_never(x)


def _named(machine: _Machine, name: str) -> SymbolicValue:
    if name in ("TRUE", "FALSE"):
        return SymbolicValue(const(int(name == "TRUE")))
    held = machine.scope.get(name)
    if isinstance(held, Register):
        width = machine.widths.get(name)
        return held.read(0, width) if width else held.whole()
    if isinstance(held, SymbolicValue):
        return held
    if name == "FPRounding_ODD":
        return SymbolicValue(const(9))
    if name.startswith(("FP", "ReduceOp_")):
        return SymbolicValue(const(4))
    raise Unreadable(f"`{name}` is not known")


def _called(machine: _Machine, x: s.AslCall) -> SymbolicValue:
    match x:
        case s.AslCall(name="Elem", arguments=[base, place, size]):
            width = _width(machine, size)
            at = build.multiply(_value(machine, place).node, const(width))
            held = machine.scope.get(base.text) if isinstance(base, s.AslName) else None
            if isinstance(held, Register) and at.constant is not None:
                return held.read(at.low, width)
            return _sliced(_value(machine, base), at, width)
        case s.AslCall(name="V" | "X", arguments=[s.AslName(text=name)], square=True):
            return machine.registers.get(name, Register()).whole()
        case s.AslCall(name="Vpart", arguments=[s.AslName(text=name), part], square=True):
            width = min(_HALF, _number(machine, s.AslName("datasize")))
            return machine.registers.get(name, Register()).read(_HALF * _number(machine, part), width)
        case s.AslCall(name="Zeros"):
            return SymbolicValue(const(0), _width(machine, x.arguments[0]) if x.arguments else None)
        case s.AslCall(name="Ones"):
            ones = _width(machine, x.arguments[0]) if x.arguments else None
            return SymbolicValue(const((1 << ones) - 1 if ones else -1), ones)
        case s.AslCall(name="FPConvert", arguments=[operand, *rest]):
            value, narrow = _value(machine, operand), _number(machine, s.AslName("esize"))
            target = narrow if value.width == 2 * narrow else 2 * narrow
            return call("FPConvert", [value, SymbolicValue(const(target)), _value(machine, rest[-1])])
        case _:
            return call(x.name, [_value(machine, y) for y in x.arguments])


def _sliced(value: SymbolicValue, at: Node, width: int) -> SymbolicValue:
    if at.constant is not None and at.low == 0 and value.width == width:
        return value
    return SymbolicValue(cut(value, at, width).node, width)


def _binary(op: str, a: SymbolicValue, b: SymbolicValue) -> SymbolicValue:
    if op == ":":
        if a.width is None or b.width is None:
            raise Unreadable("bits without a width are put together")
        return SymbolicValue(bit_parts.join([(0, b.width, b.node), (b.width, a.width, a.node)]), a.width + b.width)
    if op in ("<<", ">>"):
        return SymbolicValue(_moved(a.node, b.node if op == "<<" else build.negate(b.node)))
    made = _OPERATORS[op](a.node, b.node)
    width = a.width if a.width is not None else b.width
    if op in _COMPARISONS or width is None:
        return SymbolicValue(made)
    return SymbolicValue(build.wrap(made, width), width)


def _moved(x: Node, by: Node) -> Node:
    # To the left by a number that may be negative.
    if by.low >= 0:
        return build.shift_left(x, by)
    if by.high <= 0:
        return build.shift_right(x, build.negate(by))
    left = build.shift_left(x, build.maximum(by, const(0)))
    right = build.shift_right(x, build.maximum(build.negate(by), const(0)))
    return build.select(build.less(by, const(0)), right, left)


_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "&&", "||")
_OPERATORS: dict[str, Callable[[Node, Node], Node]] = {
    "+": build.add, "-": build.subtract, "*": build.multiply, "DIV": build.quotient, "MOD": build.modulo,
    "/": build.quotient, "AND": build.conjoin, "OR": build.disjoin, "EOR": build.exclude, "==": build.equal,
    "!=": lambda a, b: build.negation(build.equal(a, b)), "<": build.less, "<=": build.at_most,
    ">": lambda a, b: build.less(b, a), ">=": lambda a, b: build.at_most(b, a),
    "&&": lambda a, b: build.conjoin(build.truth(a), build.truth(b)),
    "||": lambda a, b: build.disjoin(build.truth(a), build.truth(b)),
}  # fmt: skip
