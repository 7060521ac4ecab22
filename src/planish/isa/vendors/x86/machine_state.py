"""What the symbolic execution of an operation is given, what it leaves, and its state on the way.

>>> SymbolicInput("a", 16, Element("int", 8, False)).pointer
False
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planish.isa.semantics.node import Node
from planish.isa.vendors.symbolic_state import Element, Register
from planish.isa.vendors.x86 import syntax as s
from planish.isa.vendors.x86.operators import Rounding


@dataclass(frozen=True, slots=True)
class SymbolicInput:
    """An operand: its bits (of a pointer: those of an element), and what its elements are."""

    name: str
    bits: int
    element: Element = Element()
    pointer: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """Bits that go to memory, where a condition holds."""

    base: str
    offset: Node
    width: int
    value: Node
    when: Node


@dataclass(slots=True)
class SymbolicOutcome:
    """What an operation leaves: the register of its result, and what it stores."""

    register: Register
    stores: list[Stored]


@dataclass(slots=True)
class SymbolicMachine:
    """An operation on its way: what it is given, what it has stored, and under which conditions it runs."""

    program: s.IntelProgram
    inputs: Mapping[str, SymbolicInput]
    rounding: Rounding
    result: str
    width: int
    element: Element
    stores: list[Stored] = field(default_factory=list)
    path: list[Node] = field(default_factory=list)
    steps: int = 0
    calls: int = 0
