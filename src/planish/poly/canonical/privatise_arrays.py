"""Array privatisation: a caller's array used as scratch in each iteration gets elements for every iteration; its final
content is restored at the end.

Before: for i { for j { t[j] = A[i, j] }  for j { B[i, j] = t[j] } }
After:  for i { for j { t_1[i, j] = A[i, j] }  for j { B[i, j] = t_1[i, j] } }  for j { t[j] = t_1[n - 1, j] }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. n { t[0] = A[i] B[i] = t[0] }"
>>> kernel = parse_kernel("kernel k(n; A: f64[n], B: f64[n], t: f64[1]) { " + text + " }")
>>> print(print_stmt(widen(kernel).body))
{
  alloc t_1: f64[max(n, 0), 1] distinct
  for i in 0 .. n {
    t_1[i, 0] = A[i]
    B[i] = t_1[i, 0]
  }
  if n > 0 {
    t[0] = t_1[n - 1, 0]
  }
}
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from itertools import count

import islpy as isl

from planish.ir.expr import Expr, Load, Var, index
from planish.ir.index.polynomial import add, mul
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Stmt
from planish.ir.traverse import walk
from planish.ir.types import INDEX
from planish.poly.canonical.privatise import Expansion, expand_block, expanded, expansion_of, rename_arrays
from planish.poly.isl.expression import TRUE, aff_expr, normalise, set_condition
from planish.poly.isl.to_list import list_maps, list_pieces, unite_maps
from planish.poly.match.access_geometry import geometries
from planish.poly.scop.dependence import find_flow
from planish.poly.scop.extraction import Scop, extract_scop

IN, OUT = isl.dim_type.in_, isl.dim_type.out


def widen(kernel: Kernel) -> Kernel:
    """The kernel with such arrays widened; the same one where there are none."""
    scop = extract_scop(kernel)
    scratch = [x for x in kernel.arrays if _is_scratch(x, scop)]
    if not scratch:
        return kernel
    flow, live = find_flow(scop, {x.name for x in scratch})
    taken = {x.name for x in (*kernel.arrays, *scop.locals)} | set(kernel.sizes) | {x.name for x in kernel.scalars}
    taken |= {x.var for x in walk(kernel.body) if isinstance(x, For)}
    expansions: dict[str, Expansion] = {}
    copies: list[Stmt] = []
    names: dict[str, str] = {}
    allocs: list[Stmt] = []
    for array in scratch:
        expansion = _expansion(array, scop, flow, live)
        if expansion is None:
            continue
        fresh = next(x for n in count(1) if (x := f"{array.name}_{n}") not in taken)
        copy = _copy(array, fresh, scop, expansion, taken)
        if copy is not None:
            taken.add(fresh)
            names[array.name], expansions[fresh] = fresh, expansion
            copies.append(copy)
            allocs.append(Alloc(expanded(replace(array, name=fresh, distinct=True), expansion)))
    if not names:
        return kernel
    stays = tuple(x for x in kernel.body.body if isinstance(x, Alloc))
    work = expand_block(rename_arrays(kernel.body, names), (), expansions)
    return replace(kernel, body=Block((*stays, *allocs, *work.body, *copies)))


def _is_scratch(array: Array, scop: Scop) -> bool:
    """Whether an array is written and read, in one loop only, by several statements."""
    users = [x for x in scop.statements if any(y.array == array.name for y in x.accesses)]
    written = any(x.write.array == array.name for x in users)
    read = any(y.array == array.name for x in users for y in x.accesses if not y.write)
    return written and read and len({x.loops[:1] for x in users}) == 1 and bool(users[0].loops) and len(users) > 1


def _expansion(array: Array, scop: Scop, flow: isl.UnionMap, live: isl.UnionMap) -> Expansion | None:
    """The loops along which nothing that an array holds is passed on, where it holds nothing that is needed at
    first."""
    if not array.shape or any(x is None for x in array.shape):
        return None
    if any(x.get_tuple_name(OUT) == array.name and not x.is_empty() for x in list_maps(live)):
        return None
    expansion = expansion_of(array, scop, flow)
    return expansion if expansion.depth else None


def _copy(array: Array, fresh: str, scop: Scop, expansion: Expansion, taken: Set[str]) -> Stmt | None:
    """What puts the last values into the array; None where each cell serves one iteration only, or where the last
    ones are not in a box."""
    maps, depth = [], expansion.depth
    for statement in (x for x in scop.statements if x.write.array == array.name):
        around = statement.domain.identity().project_out(OUT, depth, len(statement.iterators) - depth)
        maps.append(statement.write.relation.apply_domain(around.reset_tuple_id(OUT)))
    serves = isl.Map.from_union_map(unite_maps(maps)).reverse()
    if serves.is_single_valued():
        return None
    last = serves.lexmax()
    pieces = list_pieces(isl.PwMultiAff.from_map(last))
    cells = last.domain().reset_tuple_id()
    shape = next(iter(geometries(cells)), None)
    if len(pieces) != 1 or shape is None or not shape.box:
        return None
    _, values = pieces[0]
    names = _iterators(len(shape.extents), taken)
    at: list[Expr] = []
    for offset, steps in zip(shape.offsets, shape.steps, strict=True):
        for name, step in zip(names, steps, strict=True):
            offset = add(offset, mul(index(step), Var(name, INDEX))) if step else offset
        at.append(offset)
    iteration = expansion.prefix([normalise(aff_expr(values.get_aff(i), at)) for i in range(depth)])
    nest: Stmt = Assign(array.name, tuple(at), Load(fresh, (*iteration, *at), array.type))
    for name, extent in zip(reversed(names), reversed(shape.extents), strict=True):
        nest = For(name, index(0), extent, 1, Block((nest,)))
    condition = set_condition(isl.Set.from_params(cells.params()), ())
    return nest if condition == TRUE else If(condition, Block((nest,)))


def _iterators(number: int, taken: Set[str]) -> list[str]:
    free = (x for n in count() if (x := f"c{n}") not in taken)
    return [next(free) for _ in range(number)]
