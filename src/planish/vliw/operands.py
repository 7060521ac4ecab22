"""Whether an operation can have its operands.

>>> from planish.vliw.description import load_machine
>>> from planish.vliw.program import StreamRegister
>>> check_operands(Instr("SADD", (StreamRegister("S", "a"), StreamRegister("V", "b"))), load_machine("ftmatrix"))
'SADD has 3 operands, not 2'
"""

from __future__ import annotations

import difflib

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.vliw.machine import VliwMachine, operand_names, written_arrays
from planish.vliw.program import Immediate, Instr, Label, MemoryAddress, StreamRegister


def check_operands(instr: Instr, machine: VliwMachine) -> str:
    """Why an operation cannot have its operands, or that it is not there; empty where it can."""
    try:
        operation = machine.operation(instr.operation)
    except KeyError:
        near = difflib.get_close_matches(instr.operation, [x.name for x in machine.operations], 1)
        return f"{machine.name} has no operation {instr.operation}{f'; did you mean {near[0]}?' if near else ''}"
    if operation.branch:
        problem = _check_guard(instr, machine)
        is_jump = len(instr.operands) == 1 and isinstance(instr.operands[0], Label)
        return problem if is_jump else f"the operand of {instr.operation} is a label"
    definition = operation.definition
    count = len(definition.sizes) + len(definition.scalars)
    if len(instr.operands) != count + len(definition.arrays):
        return f"{instr.operation} has {count + len(definition.arrays)} operands, not {len(instr.operands)}"
    for name, operand in zip(operand_names(definition)[:count], instr.operands, strict=False):
        if not isinstance(operand, Immediate):
            return f"the operand `{name}` of {instr.operation} is an immediate, not {operand}"
        if not operation.may_have(operand.value):
            low, high = operation.immediates or (0, 0)
            return f"the operand `{name}` of {instr.operation} is from {low} to {high}, not {operand}"
    files = {x.name: x for x in machine.files}
    for array, operand in zip(definition.arrays, instr.operands[count:], strict=True):
        if array.memory in files:
            if not isinstance(operand, StreamRegister) or operand.file != array.memory:
                return f"the operand `{array.name}` of {instr.operation} is a register of {array.memory}, not {operand}"
        elif not isinstance(operand, MemoryAddress):
            return f"the operand `{array.name}` of {instr.operation} is an address in {array.memory}, not {operand}"
        else:
            if operand.base.file not in files or not files[operand.base.file].addresses:
                return f"{operand.base} cannot be the base of an address"
            offset, step = (x if isinstance(x, int) else 0 for x in (operand.offset, operand.step))
            if not machine.may_address(instr.operation, offset, step, instr.guard is not None):
                return f"{instr.operation} has no address {operand}"
            for x in (operand.offset, operand.step):
                if isinstance(x, StreamRegister) and (x.file not in files or not files[x.file].offsets):
                    return f"{x} cannot be the offset or step of an address"
    if operation.transfer and any(isinstance(x, MemoryAddress) and x.step != 0 for x in instr.operands):
        return f"{instr.operation} moves no address on"
    outputs = instr.operands[count : count + len(written_arrays(definition))]
    changed = [x for x in outputs if isinstance(x, StreamRegister)]
    changed += [x.base for x in instr.operands if isinstance(x, MemoryAddress) and x.step != 0]
    if operation.sequence and set(changed) & set(instr.operands[count + len(outputs) :]):
        return f"{instr.operation} reads a register that it writes before"
    if len(changed) != len(set(changed)):
        return f"{instr.operation} writes one register twice"
    return _check_guard(instr, machine)


def _check_guard(instr: Instr, machine: VliwMachine) -> str:
    guard = instr.guard
    if guard is not None and machine.operation(instr.operation).bare:
        return f"{instr.operation} takes no guard"
    if guard is None or any(x.name == guard.register.file and x.predicates for x in machine.files):
        return ""
    return f"{guard.register} cannot guard an operation"


def refuse(message: str, instr: Instr) -> PlanishError:
    """A diagnostic E0720 for an operation that a machine does not have so."""
    return PlanishError(Diagnostic("E0720", message, instr.span))
