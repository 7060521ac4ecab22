"""Size specialisation: versions for small sizes that calls are likely to have, with their loops unrolled and sums in
registers; other calls take another version.

Before: for x { s = 0;  for i in 0 .. k { s += A[x + i] * w[i] };  B[x] = s }      (k is 3, most likely)
After:  if k == 3 { for x simd { s = 0;  s += A[x] * w[0];  s += …;  B[x] = s } } else { … }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.schedule.auto.plan import plan, prepare
>>> from planish.target.load import load_target
>>> nest = "for x in 0 .. n { alloc s: f32[] s[] = 0.0:f32 for i in 0 .. k { s[] += A[x + i] * w[i] } B[x] = s[] }"
>>> arrays = "A: f32[n + k], w: f32[k], B: f32[n] distinct"
>>> prepared, target = prepare(parse_kernel("kernel k(n, k; %s) { %s }" % (arrays, nest))), load_target("x86-avx512")
>>> known = plan(prepared, target, reassociate=True)
>>> made, = given_versions(prepared, target, known, {"k": 3, "n": 1000}, reassociate=True)
>>> made.name, [x.var for x in walk(made.kernel.body) if isinstance(x, For)][0]
('original, register-promote, size-specialise', 'x')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.polynomial import constant
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Block, For, If, Kernel, Stmt
from planish.ir.traverse import map_block, substitute_block, used_names, variables, walk
from planish.poly.canonical.privatise import rename_arrays
from planish.poly.isl.expression import conjunction
from planish.schedule.auto.plan import Prepared, Version
from planish.schedule.auto.rewrites.register_promotion import forward, plan_with_cells
from planish.target.machine import Target

LARGEST = 16
"""The largest size for which loops are written out."""
MOST = 64
"""The statements that a loop becomes, at most."""


def given_versions(
    prepared: Prepared, target: Target, known: Sequence[Version], sizes: Mapping[str, int], *, reassociate: bool,
    threads: int = 1,
) -> tuple[Version, ...]:  # fmt: skip
    """The versions of a kernel for the small ones of some `sizes`, with the first of the `known` ones for others; none
    where no loop goes through a small size in others that do not."""
    kernel, small = prepared.kernel, find_small_sizes(prepared.kernel, sizes)
    if not small or not known:
        return ()
    chosen = {x: index(n) for x, n in small.items()}
    body = map_block(_written_out, substitute_block(kernel.body, chosen))
    left = [x for x in walk(body) if isinstance(x, For)]
    if not left or any(constant(x.lower) is not None and constant(x.upper) is not None for x in left):
        return ()
    holds = conjunction(Compare("eq", index(x), n) for x, n in chosen.items())
    fixed = replace(kernel, body=body, assumptions=(*kernel.assumptions, holds))
    made = plan_with_cells(forward(fixed), target, reassociate=reassociate, threads=threads)
    words = ", ".join(f"{x} = {n}" for x, n in small.items())
    message = f"specialised for {words}: loops are unrolled; other sizes take the general loops"
    remark = Remark("size-specialise", "done", message, kernel.span)
    out = ((x, _either(kernel, holds, x.kernel.body, known[0].kernel.body)) for x in made)
    return tuple(
        replace(x, name=f"{x.name}, size-specialise", kernel=whole, remarks=(*x.remarks, remark)) for x, whole in out
    )  # fmt: skip


def find_small_sizes(kernel: Kernel, sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Those of some sizes that inner loops go to, and that are small."""
    inner = {v for x in walk(kernel.body) if isinstance(x, For) for y in _inside(x) for v in variables(y.upper)}
    return {x: n for x, n in sizes.items() if x in inner and x in kernel.sizes and 1 <= n <= LARGEST}


def _inside(loop: For) -> Iterator[For]:
    """The loops in another one."""
    return (x for x in walk(loop.body) if isinstance(x, For))


def _written_out(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
    """The statements that a loop between two numbers stands for, where these are few and are no loops themselves."""
    if not isinstance(stmt, For) or stmt.step != 1 or any(True for _ in _inside(stmt)):
        return stmt
    lower, upper = constant(stmt.lower), constant(stmt.upper)
    if lower is None or upper is None or (upper - lower) * len(stmt.body.body) > MOST:
        return stmt
    steps = (substitute_block(stmt.body, {stmt.var: index(x)}) for x in range(lower, upper))
    return tuple(x for step in steps for x in step.body)


def _either(kernel: Kernel, holds: Expr, given: Block, usual: Block) -> Kernel:
    """The kernel that runs one of two bodies; what they allocate at their beginning is allocated first."""
    taken = {*used_names(kernel), *(x.array.name for x in walk(usual) if isinstance(x, Alloc))}
    names = {x.array.name: take_name(x.array.name, taken) for x in walk(given) if isinstance(x, Alloc)}
    given = map_block(lambda x: _named(x, names), rename_arrays(given, names))
    allocated = [x for y in (given, usual) for x in y.body if isinstance(x, Alloc)]
    then, otherwise = (Block(tuple(x for x in y.body if not isinstance(x, Alloc))) for y in (given, usual))
    whole = Block((*allocated, If(holds, then, otherwise)))
    return replace(kernel, body=simplify_block(whole, assumptions=kernel.assumptions))


def _named(stmt: Stmt, names: Mapping[str, str]) -> Stmt:
    return replace(stmt, array=replace(stmt.array, name=names[stmt.array.name])) if isinstance(stmt, Alloc) else stmt
