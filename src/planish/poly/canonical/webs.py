"""Webs (live-range splitting): a local scalar that serves several purposes in turn becomes one scalar for each.

Before: for i { t = A[i]; B[i] = t };  for i { t = C[i]; D[i] = t }
After:  for i { t = A[i]; B[i] = t };  for i { t_2 = C[i]; D[i] = t_2 }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.poly.scop.dependence import find_dependences
>>> from planish.poly.scop.extraction import extract_scop
>>> text = "alloc t: f64[] for i in 0 .. n { t[] = A[i] B[i] = t[] } for i in 0 .. n { t[] = C[i] D[i] = t[] }"
>>> kernel = parse_kernel(f"kernel k(n; A: f64[n], B: f64[n], C: f64[n], D: f64[n]) {{ {text} }}")
>>> scop = extract_scop(kernel)
>>> [x.name for x in extract_scop(split_webs(kernel, scop, find_dependences(scop).flow)).locals]
['t', 't_2']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

import islpy as isl

from planish.core.names import take_name
from planish.ir.expr import Expr, Load
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import map_expr
from planish.poly.isl.to_list import list_maps
from planish.poly.scop.extraction import Scop

Use = tuple[Literal["read", "write"], str]
"""A use of one array: how, and by which statement."""


def split_webs(kernel: Kernel, scop: Scop, flow: isl.UnionMap) -> Kernel:
    """The kernel with local arrays split by the values that flow through them; itself where none is split."""
    taken = {a.name for a in (*kernel.arrays, *scop.locals)} | set(kernel.sizes) | {s.name for s in kernel.scalars}
    names: dict[str, dict[Use, str]] = {}
    copies: dict[str, list[Array]] = {}
    for array in scop.locals:
        webs = _webs(scop, flow, array.name)
        names[array.name], copies[array.name] = {}, []
        for number, web in enumerate(webs):
            name = array.name if number == 0 else take_name(array.name, taken)
            copies[array.name].append(replace(array, name=name))
            names[array.name] |= dict.fromkeys(web, name)
    if all(len(c) == 1 for c in copies.values()):
        return kernel
    order = iter([s.name for s in scop.statements])
    return replace(kernel, body=_renamed_block(kernel.body, names, copies, order))


def _webs(scop: Scop, flow: isl.UnionMap, array: str) -> list[set[Use]]:
    """The uses of an array, those joined by flow (or by one update in place) together, in textual order."""
    webs: list[set[Use]] = []
    for statement in scop.statements:
        if statement.write.array == array:
            webs.append({("write", statement.name)})
        if any(a.array == array for a in statement.accesses[1:]):
            webs.append({("read", statement.name)})
    pairs: list[tuple[Use, Use]] = []
    for relation in list_maps(flow):
        source, sink = relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out)
        pairs.append((("write", source), ("read", sink)))
    for statement in scop.statements:
        if statement.reduction is not None:
            pairs.append((("write", statement.name), ("read", statement.name)))
    for a, b in pairs:
        first = next((w for w in webs if a in w), None)
        second = next((w for w in webs if b in w), None)
        if first is not None and second is not None and first is not second:
            first |= second
            webs.remove(second)
    return webs or [set()]


def _renamed_block(
    block: Block, names: Mapping[str, Mapping[Use, str]], copies: Mapping[str, list[Array]], order: Iterator[str]
) -> Block:
    out: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case Block():
                out.append(_renamed_block(stmt, names, copies, order))
            case For():
                out.append(replace(stmt, body=_renamed_block(stmt.body, names, copies, order)))
            case If():
                then = _renamed_block(stmt.then, names, copies, order)
                out.append(replace(stmt, then=then, otherwise=_renamed_block(stmt.otherwise, names, copies, order)))
            case Alloc(array=array):
                out += [Alloc(a, stmt.span) for a in copies[array.name]]
            case Assign() | Reduce():
                out.append(_renamed(stmt, names, next(order)))
            case _:
                out.append(stmt)
    return Block(tuple(out))


def _renamed(stmt: Assign | Reduce, names: Mapping[str, Mapping[Use, str]], statement: str) -> Assign | Reduce:
    def visit(x: Expr) -> Expr:
        if isinstance(x, Load) and x.array in names:
            return replace(x, array=names[x.array].get(("read", statement), x.array))
        return x

    target = names[stmt.array].get(("write", statement), stmt.array) if stmt.array in names else stmt.array
    return replace(stmt, array=target, value=map_expr(visit, stmt.value))
