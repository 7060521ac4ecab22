"""What C calls the types of a region's scalars, elements and sizes, and which sizes are distances of addresses.

>>> from planish.ir.nest import Kernel
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> from pycparser.c_parser import CParser
>>> file = bind_file(CParser().parse("void f(int n) {}"))
>>> declared_types(Kernel("f"), bind_function(file.functions["f"], file))
()
"""

from __future__ import annotations

from planish.frontend.c.analysis.scope import BoundNames
from planish.frontend.c.analysis.trip_counts import Distance
from planish.frontend.c.translate.kernels import FinishedKernel
from planish.frontend.c.translation_unit import PointerDistance
from planish.frontend.c.types.declarations import scalar_of
from planish.ir.nest import Kernel

_NARROW = 32
"""The bits of types whose values are worth knowing as bounds of sizes."""


def declared_types(kernel: Kernel, bound: BoundNames) -> tuple[tuple[str, str], ...]:
    """What C calls the types of a kernel's scalars, and of its arrays' elements."""
    by_key = bound.by_key()
    names = [*(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays)]
    types = [(x, scalar_of(by_key[x].ctype)) for x in names if x in by_key]
    return tuple((name, scalar.spelling) for name, scalar in types if scalar is not None and scalar.spelling)


def distances_of(finished: FinishedKernel) -> tuple[PointerDistance, ...]:
    """The sizes of a kernel that are distances of addresses."""
    known = [(name, x) for name, x in finished.quotients.items() if isinstance(x, Distance)]
    passed = dict(finished.names)
    return tuple(PointerDistance(passed[name], x.first, x.last) for name, x in known if name in passed)


def size_types(finished: FinishedKernel, bound: BoundNames) -> tuple[tuple[str, str], ...]:
    """What C calls the types of those sizes of a kernel that are variables; wider ones than 32 bits bound nothing."""
    by_key, passed = bound.by_key(), dict(finished.names)
    known = [(x, by_key[x]) for x in finished.kernel.sizes if x in by_key and passed.get(x) == by_key[x].name]
    types = [(name, scalar_of(x.ctype)) for name, x in known if x.whole is None]
    return tuple((name, x.spelling) for name, x in types if x is not None and x.spelling and x.type.bits <= _NARROW)
