"""Runs the statements of an instruction, in C, on operands that are not known.

>>> from planish.isa.semantics.node import const
>>> whole = SymbolicValue(build.bits("Vu", const(0), 1024), 1024)
>>> body = "{ int i; for (i = 0; i < 128; i++) { VdV.b[i] = VuV.b[i] + 1; } }"
>>> registers = {"Vu": Register(background=whole), "Vd": Register()}
>>> run(body, registers, {}); registers["Vd"].read(8, 8).node
wrap(8, False, add(bits('Vu', 8, False, const(8)), const(1)))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pycparser import c_ast, c_parser
from pycparser.c_parser import ParseError

from planish.isa.semantics import bit_parts, build
from planish.isa.semantics.node import Node, const
from planish.isa.vendors.hvx.functions import call
from planish.isa.vendors.symbolic_state import Register, SymbolicValue, Unreadable, cut, merge_registers

_STEPS = 30_000
_TYPES = "typedef long long size8s_t; typedef unsigned long long size8u_t; typedef int size4s_t; " \
         "typedef unsigned size4u_t; typedef short size2s_t; typedef unsigned short size2u_t; " \
         "typedef int mmvector_t; " \
         "typedef long long int64_t; typedef unsigned char size1u_t; typedef signed char size1s_t; "
_FIELDS = {"b": (8, True), "ub": (8, False), "h": (16, True), "uh": (16, False), "w": (32, True), "uw": (32, False),
           "d": (64, True), "ud": (64, False)}  # fmt: skip
_WHOLE = {
    "int": (32, True), "unsigned": (32, False), "size8s_t": (64, True), "size8u_t": (64, False), "int64_t": (64, True),
    "size4s_t": (32, True), "size4u_t": (32, False), "size2s_t": (16, True), "size2u_t": (16, False),
    "size1u_t": (8, False), "size1s_t": (8, True),
}  # fmt: skip
_VECTOR = 1024
_PARTS = {"fSETBYTE": 8, "fSETHALF": 16}


@dataclass(frozen=True, slots=True)
class _Place:
    """Bits of a register."""

    register: str
    at: Node
    width: int
    signed: bool


@dataclass(slots=True)
class _Machine:
    registers: dict[str, Register]
    scope: dict[str, Node] = field(default_factory=dict)
    steps: int = 0


def run(body: str, registers: dict[str, Register], known: Mapping[str, Node]) -> None:
    """Runs statements; registers, by the names of assembly, are changed. `known` are the values of scalar operands.
    Unreadable where the statements use what is not known."""
    try:
        tree = c_parser.CParser().parse(f"{_TYPES} void f(void) {{ {body} }}")
    except (ParseError, RecursionError, AssertionError) as error:
        raise Unreadable(f"its C cannot be read: {error}") from error
    machine = _Machine(registers, dict(known))
    _run(machine, tree.ext[-1].body)


def _run(machine: _Machine, x: c_ast.Node | None) -> None:
    machine.steps += 1
    if machine.steps > _STEPS:
        raise Unreadable(f"it takes more than {_STEPS} steps")
    match x:
        case None | c_ast.EmptyStatement() | c_ast.ID(name="CANCEL"):
            pass
        case c_ast.Compound():
            for y in x.block_items or ():
                _run(machine, y)
        case c_ast.Decl():
            if x.init is not None:
                machine.scope[x.name] = _as_type(_type_names(x), _value(machine, x.init))
            elif "mmvector_t" in _type_names(x):
                machine.registers[x.name] = Register()
        case c_ast.DeclList():
            for y in x.decls:
                _run(machine, y)
        case c_ast.For():
            _run(machine, x.init)
            while _known(_value(machine, x.cond)):
                _run(machine, x.stmt)
                _run(machine, x.next)
        case c_ast.If():
            _branch(machine, x)
        case c_ast.Assignment():
            _assign(machine, x)
        case c_ast.UnaryOp() if x.op in ("p++", "++", "p--", "--"):
            step = 1 if "+" in x.op else -1
            machine.scope[x.expr.name] = build.add(machine.scope[x.expr.name], const(step))
        case c_ast.FuncCall():
            _perform(machine, x.name.name, list(x.args.exprs) if x.args else [])
        case _:
            raise Unreadable(f"a statement of the kind {type(x).__name__}")


def _known(x: Node) -> int:
    if x.constant is None:
        raise Unreadable("a loop that ends when a value says so")
    return x.low


def _branch(machine: _Machine, x: c_ast.If) -> None:
    condition = build.truth(_value(machine, x.cond))
    if condition.constant is not None:
        _run(machine, x.iftrue if condition.low else x.iffalse)
        return
    registers, scope = machine.registers, machine.scope
    left = []
    for body in (x.iftrue, x.iffalse):
        machine.registers = {name: y.copy() for name, y in registers.items()}
        machine.scope = dict(scope)
        _run(machine, body)
        left.append((machine.registers, machine.scope))
    (one, first), (other, second) = left
    for name in registers:  # in place, so that whoever gave them sees what has become of them
        merged = merge_registers(condition, one[name], other[name])
        registers[name].pieces, registers[name].background = merged.pieces, merged.background
    machine.registers = registers
    machine.scope = {y: build.select(condition, first[y], second[y]) for y in first if y in second}


def _assign(machine: _Machine, x: c_ast.Assignment) -> None:
    value = _value(machine, x.rvalue)
    if isinstance(x.lvalue, c_ast.ID) and not _register_name(machine, x.lvalue):
        name = x.lvalue.name
        machine.scope[name] = value if x.op == "=" else _OPERATORS[x.op[:-1]](machine.scope[name], value)
        return
    place = _place(machine, x.lvalue)
    if x.op != "=":
        value = _OPERATORS[x.op[:-1]](_read(machine, place), value)
    _write(machine, place, value)


def _perform(machine: _Machine, name: str, given: list[c_ast.Node]) -> None:
    if name in _PARTS:
        number, target, value = given
        inside = _place(machine, target)
        at = build.add(inside.at, build.multiply(_value(machine, number), const(_PARTS[name])))
        _write(machine, _Place(inside.register, at, _PARTS[name], False), _value(machine, value))
    elif name in ("fSETQBITS", "fSETQBIT"):
        register = _register_name(machine, given[0])
        width = _known(_value(machine, given[1])) if name == "fSETQBITS" else 1
        bit, value = given[-2:]
        _write(machine, _Place(register, _value(machine, bit), width, False), _value(machine, value))
    elif name == "fSWAPB":
        one, other = (_place(machine, x) for x in given)
        first, second = _read(machine, one), _read(machine, other)
        _write(machine, one, second)
        _write(machine, other, first)
    else:
        raise Unreadable(f"the macro `{name}` is not known")


def _register_name(machine: _Machine, x: c_ast.Node) -> str:
    """The register that an identifier names, "" where it names none."""
    if not isinstance(x, c_ast.ID):
        return ""
    name = x.name.removesuffix("V")
    return name if name in machine.registers else x.name if x.name in machine.registers else ""


def _place(machine: _Machine, x: c_ast.Node) -> _Place:
    match x:
        case c_ast.ArrayRef(name=c_ast.StructRef(name=base, field=kind)) if kind.name in _FIELDS:
            width, signed = _FIELDS[kind.name]
            inside = _base(machine, base)
            at = build.multiply(_value(machine, x.subscript), const(width))
            return _Place(inside.register, build.add(inside.at, at), width, signed)
        case c_ast.FuncCall() if x.name.name == "fVARRAY_ELEMENT_ACCESS":
            register, kind, index = x.args.exprs
            width, signed = _FIELDS[kind.name]
            at = build.multiply(_value(machine, index), const(width))
            return _Place(_register_name(machine, register), at, width, signed)
        case c_ast.ID() if name := _register_name(machine, x):
            return _base_of(machine, name)
        case c_ast.ArrayRef():
            return _base(machine, x)
        case _:
            raise Unreadable("a place that cannot be written to")


def _base(machine: _Machine, x: c_ast.Node) -> _Place:
    match x:
        case c_ast.ID() if name := _register_name(machine, x):
            return _base_of(machine, name)
        case c_ast.ArrayRef(name=c_ast.StructRef(name=base, field=kind)) if kind.name == "v":
            inside = _base(machine, base)
            at = build.multiply(_value(machine, x.subscript), const(_VECTOR))
            return _Place(inside.register, build.add(inside.at, at), _VECTOR, False)
        case _:
            raise Unreadable("a register that is not known")


def _base_of(machine: _Machine, name: str) -> _Place:
    background = machine.registers[name].background
    return _Place(name, const(0), background.width or _VECTOR if background else _VECTOR, False)


def _read(machine: _Machine, place: _Place) -> Node:
    register = machine.registers[place.register]
    if place.at.constant is not None:
        found = register.read(place.at.low, place.width).node
    else:
        found = cut(register.whole(), place.at, place.width).node
    return build.wrap(found, place.width, place.signed)


def _write(machine: _Machine, place: _Place, value: Node) -> None:
    register = machine.registers[place.register]
    kept = SymbolicValue(build.wrap(value, place.width), place.width)
    if place.at.constant is None:
        register.write_somewhere(place.at, place.width, kept)
    else:
        register.write(place.at.low, place.width, kept)


def _value(machine: _Machine, x: c_ast.Node) -> Node:
    match x:
        case c_ast.Constant():
            return const(int(x.value.rstrip("uUlL"), 0))
        case c_ast.ID():
            if x.name in machine.scope:
                return machine.scope[x.name]
            if name := _register_name(machine, x):
                return _read(machine, _base_of(machine, name))
            raise Unreadable(f"`{x.name}` is not known")
        case c_ast.ArrayRef():
            return _read(machine, _place(machine, x))
        case c_ast.FuncCall():
            return _called(machine, x)
        case c_ast.UnaryOp(op="-"):
            return build.negate(_value(machine, x.expr))
        case c_ast.UnaryOp(op="~"):
            return build.invert(_value(machine, x.expr))
        case c_ast.UnaryOp(op="!"):
            return build.negation(build.truth(_value(machine, x.expr)))
        case c_ast.BinaryOp():
            return _OPERATORS[x.op](_value(machine, x.left), _value(machine, x.right))
        case c_ast.TernaryOp():
            condition = build.truth(_value(machine, x.cond))
            if condition.constant is not None:
                return _value(machine, x.iftrue if condition.low else x.iffalse)
            return build.select(condition, _value(machine, x.iftrue), _value(machine, x.iffalse))
        case c_ast.Assignment():
            _assign(machine, x)
            return _value(machine, x.lvalue)
        case c_ast.Cast():
            return _cast(x, _value(machine, x.expr))
        case _:
            raise Unreadable(f"an expression of the kind {type(x).__name__}")


def _type_names(x: c_ast.Decl) -> tuple[str, ...]:
    return tuple(getattr(getattr(x.type, "type", None), "names", ()))


def _as_type(names: tuple[str, ...], value: Node) -> Node:
    for name in reversed(names):
        if name in _WHOLE:
            return build.wrap(value, *_WHOLE["unsigned" if "unsigned" in names and name == "int" else name])
    raise Unreadable(f"the type {' '.join(names)}")


def _cast(x: c_ast.Cast, value: Node) -> Node:
    return _as_type(tuple(getattr(x.to_type.type.type, "names", ())), value)


def _called(machine: _Machine, x: c_ast.FuncCall) -> Node:
    name, given = x.name.name, list(x.args.exprs) if x.args else []
    if name == "fVARRAY_ELEMENT_ACCESS":
        return _read(machine, _place(machine, x))
    if name in ("fGETQBITS", "fGETQBIT"):
        width = _known(_value(machine, given[1])) if name == "fGETQBITS" else 1
        return _read(machine, _Place(_register_name(machine, given[0]), _value(machine, given[-1]), width, False))
    if name.startswith("fCONDMASK"):
        return _chosen(machine, int(name.removeprefix("fCONDMASK")), given)
    return call(name, [_value(machine, y) for y in given])


def _chosen(machine: _Machine, width: int, given: list[c_ast.Node]) -> Node:
    # Byte by byte one of two values.
    register = _register_name(machine, given[0])
    index, yes, no = (_value(machine, x) for x in given[1:])
    parts = []
    for byte in range(width // 8):
        at = build.add(build.multiply(index, const(width // 8)), const(byte))
        bit = _read(machine, _Place(register, at, 1, False))
        one, other = (bit_parts.piece(build.wrap(x, width), 8 * byte, 8) for x in (yes, no))
        parts.append((8 * byte, 8, build.select(bit, one, other)))
    return bit_parts.join(parts)


_OPERATORS: dict[str, Callable[[Node, Node], Node]] = {
    "+": build.add, "-": build.subtract, "*": build.multiply, "/": build.quotient, "%": build.modulo,
    "<<": build.shift_left, ">>": build.shift_right, "&": build.conjoin, "|": build.disjoin, "^": build.exclude,
    "==": build.equal, "!=": lambda a, b: build.negation(build.equal(a, b)), "<": build.less, "<=": build.at_most,
    ">": lambda a, b: build.less(b, a), ">=": lambda a, b: build.at_most(b, a),
    "&&": lambda a, b: build.conjoin(build.truth(a), build.truth(b)),
    "||": lambda a, b: build.disjoin(build.truth(a), build.truth(b)),
}  # fmt: skip
