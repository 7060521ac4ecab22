"""What a schedule has to know of a vector extension: its registers, and what its instructions are called.

>>> from planish.ir.types import F32
>>> find_vectors("avx512", F32)
Vectors(extension='avx512', memory='zmm', lanes=16, registers=32, type=Type(kind='float', bits=32))
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.types import Type
from planish.isa.shipped import extension, extensions
from planish.target.machine import Target


@dataclass(frozen=True, slots=True)
class Vectors:
    """A vector extension at one type: the kind of its registers, how many elements one holds, how many there are."""

    extension: str
    memory: str
    lanes: int
    registers: int
    type: Type

    def name(self, operation: str) -> str:
        """The instruction of that extension and type: `avx512_load_f32` for "load"."""
        return f"{self.extension}_{operation}_{self.type}"

    def has(self, operation: str) -> bool:
        """Whether there is such an instruction."""
        return self.name(operation) in extension(self.extension).instructions


def choose_vectors(target: Target, type: Type) -> Vectors:
    """The vectors that a machine has for a type; PlanishError E0640 where there are no instructions for it."""
    arm = target.isa.startswith("arm")
    name = "neon" if arm else {256: "avx2", 512: "avx512"}.get(target.vector_bits if target.fma else 0)
    if name is None:
        message = f"there are no instructions for the target `{target.name}`"
        raise PlanishError(Diagnostic("E0640", message, help=f"there are some for {', '.join(extensions())}"))
    return find_vectors(name, type)


def find_vectors(name: str, type: Type) -> Vectors:
    """The vectors of an extension; PlanishError E0640 where there is no such extension, or none for the type."""
    if name not in extensions():
        message = f"there are no instructions for `{name}`"
        raise PlanishError(Diagnostic("E0640", message, help=f"there are {', '.join(extensions())}"))
    kind = next(iter(extension(name).memories.values()))
    found = Vectors(name, kind.name, kind.lanes(type), kind.count, type)
    if type not in kind.types or not found.has("load"):
        message = f"`{name}` has no arithmetic on {type} here"
        raise PlanishError(Diagnostic("E0640", message, help="choose another type or extension"))
    return found
