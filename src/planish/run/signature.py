"""What a function takes and gives back, and the sizes that it is run with.

>>> from planish.ir.types import F64, I32
>>> scale = Signature("scale", (Parameter("n", I32, "value"), Parameter("x", F64, "array")), None)
>>> Case({"n": 3}, {"x": 3}).describe(scale)
'n=3'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from planish.ir.types import Type

ParameterKind = Literal["value", "array"]
Placement = Literal["end", "start"]
Distribution = Literal["auto", "whole", "uniform", "small", "normal", "wild"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the order of the C function: a scalar passed by value, or a pointer to `type` elements."""

    name: str
    type: Type
    kind: ParameterKind


@dataclass(frozen=True, slots=True)
class Signature:
    """A C function by name, with its parameters and the type of its value (None: void)."""

    function: str
    parameters: tuple[Parameter, ...]
    result: Type | None = None

    @property
    def arrays(self) -> tuple[Parameter, ...]:
        """The parameters that are pointers."""
        return tuple(p for p in self.parameters if p.kind == "array")

    @property
    def values(self) -> tuple[Parameter, ...]:
        """The parameters passed by value."""
        return tuple(p for p in self.parameters if p.kind == "value")


@dataclass(frozen=True, slots=True)
class Case:
    """One call: values of scalar parameters (those left out are drawn at random), and the elements of each array.

    `shapes` tells arrays of several dimensions (a square one is filled so that it can be factorised); `ranges` bounds
    the random integers of a parameter, both ends included. `rows` says how far apart the rows of square matrices lie of
    which no shape is given. `placement` puts every array against the guard page behind
    it ("end") or before it ("start"). `distribution` of floats: "auto" tries them until the result is finite.
    """

    values: Mapping[str, int | float]
    elements: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    placement: Placement = "end"
    distribution: Distribution = "auto"
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    def describe(self, signature: Signature) -> str:
        """The values that were given, in the order of the parameters: "ni=20, nj=25"; without any, the extents."""
        given = [f"{p.name}={self.values[p.name]}" for p in signature.values if p.name in self.values]
        if given:
            return ", ".join(given)
        return ", ".join(f"{p.name}[{self.elements.get(p.name, 0)}]" for p in signature.arrays) or "no arguments"
