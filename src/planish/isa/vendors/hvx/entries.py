"""Vector instructions of Hexagon as entries of the library, with definitions where their C can be run.

>>> given = ListedInstruction("V6_x", "Vd32=x(Vu32)", "{ VdV = f(VuV); }")
>>> entry_of(given).reason
'the macro `f` is not known'
"""

from __future__ import annotations

import re

from planish.isa.entry import Entry, IntrinsicSignature
from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, Operand, Put
from planish.isa.semantics.node import Node, const
from planish.isa.semantics.reroll import roll
from planish.isa.vendors.entry_definition import with_definition
from planish.isa.vendors.hvx.execute import run
from planish.isa.vendors.hvx.listing import BITS, ListedInstruction
from planish.isa.vendors.hvx.operands import PREDICATE, HvxOperand, HvxOperands, read_operands
from planish.isa.vendors.symbolic_state import Register, SymbolicValue, Unreadable, put_register

_STORE = re.compile(r"if \((!?)Qv4\) vmem\(Rt32\+#s4\)(?::nt)?=Vs32")
_WHOLE = re.compile(r"(if \(!?Pv4\) )?(Vd32=)?vmemu?\(Rt32\+#s4\)(?::nt)?(?(2)|=Vs32)")
_TAG = re.compile(r"V6_[A-Za-z0-9_]+")
_MEMORY = ("EA", "fLOADMMV", "fSTOREMMV")


def entry_of(given: ListedInstruction) -> Entry:
    """An instruction as an entry: refused with a reason, or not proven as yet."""
    mnemonic = given.syntax
    if stored := _STORE.fullmatch(given.syntax):
        return _store(given, bool(stored[1]))
    if moved := _WHOLE.fullmatch(given.syntax):
        return _moved(given, moved[1] or "", moved[2] is not None)
    try:
        operands = read_operands(given.syntax)
    except Unreadable as error:
        return Entry(
            given.tag, "hvx", IntrinsicSignature("void", ()), "", (), mnemonic, status="refused", reason=str(error)
        )
    parameters = tuple(("int" if x.kind == "immediate" else x.kind, _name(x)) for x in operands.parameters)
    signature = IntrinsicSignature(operands.result.kind, parameters)
    values = {_name(x): tuple(range(1 << x.bits)) for x in operands.parameters if x.kind == "immediate"}
    entry = Entry(given.tag, "hvx", signature, "", (), mnemonic, "", values, "refused")
    return with_definition(entry, _TAG, lambda: _definition(given, operands))


def _store(given: ListedInstruction, inverted: bool) -> Entry:
    # Bytes go to memory where the predicate says so.
    signature = IntrinsicSignature("void", ((PREDICATE, "Qv"), ("void *", "Rt"), ("HVX_Vector", "Vs")))
    puts = []
    for at in range(0, BITS, 8):
        zero = build.equal(build.bits("Qv", const(at), 8), const(0))
        when = zero if inverted else build.negation(zero)
        puts.append(Put("Rt", const(at), 8, build.bits("Vs", const(at), 8), when))
    operands = (Operand("Qv", BITS), Operand("Rt", BITS, "memory"), Operand("Vs", BITS))
    entry = Entry(given.tag, "hvx", signature, "", (), given.syntax)
    return with_definition(entry, _TAG, lambda: Definition(operands, None, roll(puts)))


def _moved(given: ListedInstruction, condition: str, loads: bool) -> Entry:
    """A whole register comes from memory, or goes there, where the lowest bit of a predicate says so; the offset is
    part of the address."""
    memory, vector = Operand("Rt", BITS, "memory"), Operand("Vd" if loads else "Vs", BITS)
    whole = {x.name: build.bits(x.name, const(0), BITS) for x in (memory, vector)}
    holds = build.bits("Pv", const(0), 1) if condition == "if (Pv4) " else build.negation(build.bits("Pv", const(0), 1))
    scalar = (Operand("Pv", 32),) if condition else ()
    asked = (("int", "Pv"),) if condition else ()
    if loads and condition:  # without the condition the register stays what it was
        put = Put("dst", const(0), BITS, build.select(holds, whole["Rt"], whole["Vd"]))
        definition = Definition((vector, *scalar, memory), Operand("dst", BITS), (put,))
        signature = IntrinsicSignature("HVX_Vector", (("HVX_Vector", "Vd"), *asked, ("const void *", "Rt")))
    elif loads:
        definition = Definition((memory,), Operand("dst", BITS), (Put("dst", const(0), BITS, whole["Rt"]),))
        signature = IntrinsicSignature("HVX_Vector", (("const void *", "Rt"),))
    else:
        put = Put("Rt", const(0), BITS, whole["Vs"], holds if condition else build.ONE)
        definition = Definition((*scalar, memory, vector), None, (put,))
        signature = IntrinsicSignature("void", (*asked, ("void *", "Rt"), ("HVX_Vector", "Vs")))
    entry = Entry(given.tag, "hvx", signature, "", (), given.syntax)
    return with_definition(entry, _TAG, lambda: definition)


def _name(x: HvxOperand) -> str:
    return {"#u": "u", "#s": "s"}.get(x.register, x.register)


def _definition(given: ListedInstruction, operands: HvxOperands) -> Definition:
    if any(x in given.body for x in _MEMORY):
        raise Unreadable("it loads or stores")
    result_name = operands.result.register
    registers: dict[str, Register] = {result_name: Register()}
    known: dict[str, Node] = {}
    for x in operands.parameters:
        name = _name(x)
        if x.kind == PREDICATE:
            registers[x.register] = _predicate(name)
        elif x.register[0] == "V":
            registers[x.register] = Register(background=SymbolicValue(build.bits(name, const(0), x.bits), x.bits))
        elif x.kind == "immediate":
            known[f"{name}iV"] = build.bits(name, const(0), x.bits)
        else:
            known[f"{name}V"] = build.bits(name, const(0), x.bits, True)
    if result_name[0] == "R":
        known[f"{result_name}V"] = const(0)
    run(given.body, registers, known)
    made = tuple(
        Operand(_name(x), 8 if x.kind == "immediate" else x.bits, "immediate" if x.kind == "immediate" else "value")
        for x in operands.parameters
    )
    result = Operand("dst", operands.result.bits)
    left = registers[result_name]
    if operands.result.kind == PREDICATE:
        left = _spread(left)
    if not left.pieces and left.background is None:
        raise Unreadable("nothing is left in the result")
    return Definition(made, result, roll(put_register(left, result)))


def _predicate(name: str) -> Register:
    # A bit for each byte that is not zero.
    bits = [build.negation(build.equal(build.bits(name, const(8 * at), 8), const(0))) for at in range(128)]
    return Register({at: (1, SymbolicValue(x, 1)) for at, x in enumerate(bits)})


def _spread(register: Register) -> Register:
    pieces = {}
    for at in range(128):
        bit = register.read(at, 1).node
        pieces[8 * at] = 8, SymbolicValue(build.select(bit, const(255), const(0)), 8)
    return Register(pieces)
