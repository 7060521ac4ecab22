"""An instruction of the library: how it is called in C, what it needs, what it does, and how that was found to be so.

>>> text = "(a: 16, b: 16) -> dst: 16 { for i < 2 { dst.u8[i] = u8(a.u8[i] + b.u8[i]) } }"
>>> add = Entry("add8", "x86", IntrinsicSignature("__m128i", (("__m128i", "a"), ("__m128i", "b"))), text)
>>> add.definition.puts[0].width, add.status
(8, 'unproven')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from planish.isa.semantics.definition import Definition
from planish.isa.semantics.scalable import at_length, is_scalable
from planish.isa.semantics.text import parse_definition

Status = Literal["verified", "unproven", "excluded", "refused"]
"""`verified`: run on this or another machine, and equal to its definition on all inputs that were tried. `unproven`:
not run, because no machine at hand has it. `excluded`: it was run and differs, or its meaning is not a function of its
operands. `refused`: what the vendor says of it could not be read."""


@dataclass(frozen=True, slots=True)
class IntrinsicSignature:
    """A function of C: the type of the result, and those of the parameters with their names."""

    result: str
    parameters: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One instruction, by the name of its intrinsic. `text` is its definition, empty where there is none; `values` are
    those that an immediate may have, where not all of its bits are free."""

    name: str
    isa: str
    signature: IntrinsicSignature
    text: str = ""
    features: tuple[str, ...] = ()
    mnemonic: str = ""
    category: str = ""
    values: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    status: Status = "unproven"
    reason: str = ""

    def plain(self) -> list[Any]:
        """The entry as lists, numbers and texts, as it stands in a file; `parsed` reads it."""
        parameters = [list(x) for x in self.signature.parameters]
        values = {name: list(found) for name, found in self.values.items()}
        return [self.name, self.isa, self.signature.result, parameters, list(self.features), self.mnemonic,
                self.category, values, self.status, self.reason, self.text]  # fmt: skip

    @classmethod
    def parsed(cls, plain: list[Any]) -> Entry:
        """The entry that `plain` gave."""
        name, isa, result, parameters, features, mnemonic, category, values, status, reason, text = plain
        signature = IntrinsicSignature(result, tuple((kind, given) for kind, given in parameters))
        stated = {given: tuple(found) for given, found in values.items()}
        return cls(name, isa, signature, text, tuple(features), mnemonic, category, stated, status, reason)

    @property
    def definition(self) -> Definition:
        """What it does, where registers may have any length those of the usual one; PlanishError E0652 where it has no
        definition."""
        return definition_of(self.text)

    @property
    def is_scalable(self) -> bool:
        """Whether its registers may have any length."""
        return is_scalable(self.text)

    def defined(self, text: str) -> Entry:
        """The entry with a definition, not proven."""
        return replace(self, text=text, status="unproven", reason="")

    def judged(self, status: Status, reason: str = "") -> Entry:
        """The entry with what has been found out about it."""
        return replace(self, status=status, reason=reason)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it is counted as: "memory", "masked", "float" or "integer" (the first that holds is its main kind)."""
        definition = self.definition
        found = []
        if any(x.role == "memory" for x in definition.operands):
            found.append("memory")
        if any(kind.startswith(("__mmask", "HVX_VectorPred", "svbool")) for kind, _ in self.signature.parameters):
            found.append("masked")
        operands = (*definition.operands, *((definition.result,) if definition.result else ()))
        found.append("float" if any(x.element for x in operands) else "integer")
        return tuple(found)


@lru_cache(maxsize=16384)  # all that are shipped fit
def definition_of(text: str) -> Definition:
    """What a text says, where registers may have any length those of the usual one; PlanishError E0652."""
    return parse_definition(at_length(text))
