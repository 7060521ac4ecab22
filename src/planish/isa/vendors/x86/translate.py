"""An entry of Intel's data becomes a definition: its operation is read, run on unknown operands, and rolled up.

>>> from planish.isa.semantics.text import print_definition
>>> from planish.isa.vendors.x86.data import IntelParameter
>>> a, b = (IntelParameter("__m128i", x, "SI16") for x in "ab")
>>> text = "FOR j := 0 to 7\\ni := j*16\\ndst[i+15:i] := Saturate16(a[i+15:i] + b[i+15:i])\\nENDFOR"
>>> result = IntelParameter("__m128i", "dst", "SI16")
>>> entry = IntelIntrinsic("_mm_adds_epi16", "SSE2", ("SSE2",), "", result, (a, b), text, 1)
>>> print_definition(translate(entry))
'(a: 128, b: 128) -> dst: 128 { for i < 8 { dst.u16[i] = u16(sat_s16(a.s16[i] + b.s16[i])) } }'
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.span import Source
from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, Operand, Put
from planish.isa.semantics.node import Node, const
from planish.isa.semantics.reroll import roll, roll_sums
from planish.isa.vendors.symbolic_state import Unreadable, put_register
from planish.isa.vendors.x86.data import IntelIntrinsic, IntelParameter
from planish.isa.vendors.x86.execute import run
from planish.isa.vendors.x86.grammar import parse_operation
from planish.isa.vendors.x86.machine_state import SymbolicOutcome
from planish.isa.vendors.x86.operands import TILE, as_input, as_operand, bits_of, element_of, is_pointer
from planish.isa.vendors.x86.operators import CURRENT, Rounding
from planish.isa.vendors.x86.overrides import Override, correct, shipped_overrides

_FUSED = ("VFM", "VFNM")
_TILES = ("dst", "tdest")


def translate(
    entry: IntelIntrinsic, source: Source | None = None, overrides: tuple[Override, ...] | None = None
) -> Definition:
    """The definition of an intrinsic; PlanishError E0651 where its operation cannot be read, Unreadable where it cannot
    be run, or is not understood."""
    entries = shipped_overrides() if overrides is None else overrides
    for x in entries:
        if x.exclude and x.holds(entry.name):
            raise Unreadable(x.reason)
    operation = correct(entry.name, entry.operation, entries)
    if not operation.strip():
        raise Unreadable("the data has no operation for it")
    program = parse_operation(operation, source, entry.line)
    inputs = {x.name: as_input(x) for x in entry.parameters}
    left = _left(entry)
    width = 0 if is_pointer(left) else bits_of(left)
    rounding = Rounding(_mode(entry), entry.instruction.startswith(_FUSED))
    try:
        outcome = run(program, inputs, left.name or "dst", width, rounding, element_of(left))
    except RecursionError as error:
        raise Unreadable("it lies too deep in itself") from error
    operands = tuple(as_operand(x) for x in entry.parameters)
    name = "out" if any(x.name == "dst" for x in operands) else "dst"
    result = replace(as_operand(left), name=name, role="value") if width else None
    puts = _puts(outcome, result)
    if not puts:
        raise Unreadable("nothing is left by it")
    return Definition(operands, result, roll(puts))


def _left(entry: IntelIntrinsic) -> IntelParameter:
    # What is done to a tile changes the first one, which the intrinsic does not return.
    into = next((x for x in entry.parameters if x.type == TILE and x.name in _TILES), None)
    return entry.result if into is None else into


def _mode(entry: IntelIntrinsic) -> Node:
    # A way of rounding that the caller gives: bit 2 says to take the one that the processor is set to.
    given = next((x.name for x in entry.parameters if x.role == "_MM_FROUND"), None)
    return CURRENT if given is None else build.bits(given, const(0), 3)


def _puts(outcome: SymbolicOutcome, result: Operand | None) -> list[Put]:
    puts = [
        Put(x.base, x.offset, x.width, roll_sums(x.value), x.when) for x in outcome.stores
    ]
    if result is None:
        return puts
    return puts + put_register(outcome.register, result)
