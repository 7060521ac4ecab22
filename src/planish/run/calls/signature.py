"""A function's signature, its value, and the sizes that it is run with.

>>> from planish.ir.types import F64, I32
>>> scale = Signature("scale", (Parameter("n", I32, "value"), Parameter("x", F64, "array")), None)
>>> CallCase({"n": 3}, {"x": 3}).describe(scale)
'n=3'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from planish.ir.types import I64, Type
from planish.run.toolchains.c_type_names import c_name

MOST_NESTS = 60
"""So many nests of a function can be counted."""
CHANGED = 63
"""The bit beside those of the nests which says that a variable was changed whose first values the file gives."""
ParameterKind = Literal["value", "array"]
Placement = Literal["end", "start"]
Distribution = Literal["auto", "whole", "uniform", "small", "normal", "near one", "wild", "signed"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the order of the C function: a scalar passed by value, or a pointer to `type` elements."""

    name: str
    type: Type
    kind: ParameterKind

    def argument(self, number: int) -> str:
        """The C expression by which an entry passes it, as its argument of that number."""
        return f"planish_a[{number}]" if self.kind == "array" else f"*({c_name(self.type)} *)planish_a[{number}]"


@dataclass(frozen=True, slots=True)
class Passing:
    """How an entry makes a call of its own arguments, where they are not the function's one for one: C text.

    `prelude` stands at file scope, the statements `before` and `after` around the call, and `arguments` are what is
    passed. `result`: the C type of a structure that is returned, "address", or "" for what the signature says. `plain`:
    the parameters that the function has itself, where they are numbers and arrays, so that it can be called with these.
    """

    prelude: str
    before: tuple[str, ...]
    arguments: tuple[str, ...]
    after: tuple[str, ...]
    result: str = ""
    plain: tuple[Parameter, ...] | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """A C function by name, with its parameters and the type of its value (None: void).

    With a `passing`, the parameters are the numbers and arrays of which the arguments are made. `completion` is C text
    that makes a library of the function's file whole. `outcomes` are parameters that a call only writes.
    """

    function: str
    parameters: tuple[Parameter, ...]
    result: Type | None = None
    passing: Passing | None = None
    completion: str = ""
    outcomes: frozenset[str] = frozenset()

    @property
    def entry(self) -> str:
        """The name of the function that `entry_text` makes for calls with these parameters."""
        return f"planish_{'entry' if self.passing is None else 'check'}_{self.function}"

    @property
    def outcome(self) -> Type | None:
        """The type of what is compared as the returned value: of an address, in which array it lies and where."""
        return I64 if self.passing is not None and self.passing.result == "address" else self.result

    @property
    def arrays(self) -> tuple[Parameter, ...]:
        """The parameters that are pointers."""
        return tuple(p for p in self.parameters if p.kind == "array")

    @property
    def values(self) -> tuple[Parameter, ...]:
        """The parameters passed by value."""
        return tuple(p for p in self.parameters if p.kind == "value")


@dataclass(frozen=True, slots=True)
class CallCase:
    """One call: values of scalar parameters (those left out are drawn at random), and the elements of each array.

    `shapes` tells arrays of several dimensions (a square one is filled so that it can be factorised); `ranges` bounds
    the random integers of a parameter, both ends included. `rows` says how far apart the rows of square matrices lie of
    which no shape is given. `pool` are numbers, of which every fourth element is one, or next to one. `absent` arrays
    are no address at all. `calm` arrays hold the first of some numbers but for few elements, which are the others or
    random; where it is the only one, for none. Integers in `rising` arrays are
    sums of those before, up to what bounds them. `ends`: so many of the last elements of an array are a number, with
    which loops without a count end, and so many in front of another number of elements, if there is one. `placement`
    puts every array against the guard page behind it ("end") or before it ("start"). `distribution` of floats: "auto"
    tries them until the result is finite. `choosing`: which way the function goes depends on what arrays hold, so that
    each call that is timed gets other contents; of "signed" floats none is beyond twice the `spread`.
    """

    values: Mapping[str, int | float]
    elements: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    placement: Placement = "end"
    distribution: Distribution = "auto"
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    pool: tuple[int | float, ...] = ()
    absent: frozenset[str] = frozenset()
    calm: Mapping[str, tuple[int | float, ...]] = field(default_factory=dict)
    rising: frozenset[str] = frozenset()
    ends: Mapping[str, tuple[int, int | float, int | None]] = field(default_factory=dict)
    choosing: bool = False
    spread: float = 1.0

    def describe(self, signature: Signature) -> str:
        """The values that were given, in the order of the parameters: "ni=20, nj=25"; without any, the extents."""
        given = [f"{p.name}={self.values[p.name]}" for p in signature.parameters if p.name in self.values]
        if given:
            return ", ".join(given)
        return ", ".join(f"{p.name}[{self.elements.get(p.name, 0)}]" for p in signature.arrays) or "no arguments"
