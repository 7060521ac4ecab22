"""Scalar promotion: a variable that accumulates an array element lives in the array, so that loop orders for in-place
updates are tried.

Before: for l { for i { b = inf;  for k { b min= m[i, k] + m[k + 1, i + l] };  m[i, i + l] = b } }
After:  for l { for i { m[i, i + l] = inf;  for k { m[i, i + l] min= m[i, k] + m[k + 1, i + l] } } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import prepare
>>> from planish.target.load import load_target
>>> update = "for k in i .. i + l { b[] min= m[i, k] + m[k + 1, i + l] }"
>>> nest = "for l in 1 .. n { for i in 0 .. n - l { alloc b: f64[] b[] = 1e30 %s m[i, i + l] = b[] } }" % update
>>> prepared = prepare(parse_kernel("kernel chain(n; m: f64[n, n]) { %s }" % nest))
>>> sorted(x.name for x in settled_versions(prepared, load_target("x86-avx512"), reassociate=False))
['block-wavefront, scalar-promote', 'interchange, scalar-promote']
"""

from __future__ import annotations

from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.ir.nest import Alloc, Kernel, Let, Reduce
from planish.ir.traverse import expressions, loads, variables, walk
from planish.poly.canonical.scalar_promotion import settle
from planish.poly.isl.affine import NotAffineError
from planish.schedule.auto.plan import Prepared, Version, analyse, plan
from planish.schedule.auto.policies import POLICIES
from planish.target.machine import Target

TRIED = ("block-wavefront", "interchange")
"""The strategies for what is filled from itself."""


def settled_versions(
    prepared: Prepared, target: Target, *, reassociate: bool, threads: int = 1
) -> tuple[Version, ...]:
    """The versions of a kernel with such variables in the array; none where it has no such ones."""
    kernel = prepared.kernel
    names = find_settled(kernel)
    if not names:
        return ()
    try:
        moved = analyse(settle(kernel, reassociate=False), prepared.declared)
    except NotAffineError:
        return ()
    tried = [x for x in POLICIES if x.name in TRIED]
    made = plan(moved, target, reassociate=reassociate, threads=threads, policies=tried)
    message = f"{', '.join(sorted(names))}: accumulated in the array, in place of a scalar"
    remark = Remark("scalar-promote", "done", message, kernel.span)
    return tuple(replace(x, name=f"{x.name}, scalar-promote", remarks=(*x.remarks, remark)) for x in made)


def find_settled(kernel: Kernel) -> frozenset[str]:
    """The arrays that are filled from themselves once variables are elements of them."""
    return frozenset(fed_back(settle(kernel, reassociate=False)) - fed_back(kernel))


def fed_back(kernel: Kernel) -> set[str]:
    """The arrays of a kernel that are updated with other elements of themselves."""
    local = {x.array.name for x in walk(kernel.body) if isinstance(x, Alloc)}
    named = {x.var: x.value for x in walk(kernel.body) if isinstance(x, Let)}
    out = set()
    for stmt in walk(kernel.body):
        if isinstance(stmt, Reduce) and stmt.array not in local:
            values = [*expressions(stmt), *(named[x] for x in variables(stmt.value) if x in named)]
            read = {x.index for value in values for x in loads(value) if x.array == stmt.array}
            if read - {stmt.index}:
                out.add(stmt.array)
    return out
