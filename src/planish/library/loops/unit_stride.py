"""Loop versioning for strides of 1: a nest that walks an array by a step that is not known has a copy for the step 1.

Before: for i { a[i * step] += b[i] }
After:  if step == 1 { for i { a[i] += b[i] } } else { for i { a[i * step] += b[i] } }

The array has rows of `step` elements, of which one column is used. Both copies are the same nest: the compiler finds
by the condition that the elements of the first one are neighbours, which lanes load and store together.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n, s; a: f32[n, s], b: f32[n]) { for i in 0 .. n { a[i, 0] += b[i] } }"
>>> unknown_strides(parse_kernel(text)), unknown_strides(parse_kernel(text.replace("0 .. n", "s .. n")))
(('s',), ())
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from planish.core.diagnostic import Remark
from planish.ir.accesses import accesses
from planish.ir.expr import Binary, Compare, Expr, Var, index
from planish.ir.nest import Alloc, Block, For, If, Kernel
from planish.ir.traverse import variables, walk
from planish.schedule.auto.plan import Version


def version_unit_strides(version: Version) -> Version:
    """The version with a copy of its nest for strides of 1; as it is where there are no unknown strides."""
    kernel = version.kernel
    found = unknown_strides(kernel)
    # What is taken from the heap is taken outside of all conditions.
    heap = any(isinstance(x, Alloc) and x.array.memory in ("dram", "scratch") for x in kernel.body.body)
    if not found or heap or any(isinstance(x, For) and x.facts.instruction for x in walk(kernel.body)):
        return version
    tests: list[Expr] = [Compare("eq", index(x), index(1)) for x in found]
    test = reduce(lambda a, b: Binary("and", a, b), tests)
    body = Block((If(test, kernel.body, kernel.body),))
    message = f"a copy of the nest is for {' and '.join(f'`{x}`' for x in found)} = 1, where elements are neighbours"
    remark = Remark("unit-stride", "done", message, kernel.span)
    return replace(version, kernel=replace(kernel, body=body), remarks=(*version.remarks, remark))


def unknown_strides(kernel: Kernel) -> tuple[str, ...]:
    """The sizes that are nothing but the length of rows of which one column is used."""
    loops = [x for x in walk(kernel.body) if isinstance(x, For)]
    moving = {x.var for x in loops}
    bounds = {y for x in loops for e in (x.lower, x.upper) for y in variables(e)}
    places = list(accesses(kernel.body))
    found: dict[str, bool] = {}
    for array in kernel.arrays:
        for n, extent in enumerate(array.shape):
            names = variables(extent) if extent is not None else frozenset()
            is_row = n > 0 and n == len(array.shape) - 1 and isinstance(extent, Var)
            for name in names & {*kernel.sizes}:
                used = [x.index for x in places if x.array == array.name]
                column = is_row and bool(used) and not any(variables(at[-1]) & moving for at in used)
                found[name] = found.get(name, True) and column
    return tuple(x for x, y in found.items() if y and x not in bounds)
