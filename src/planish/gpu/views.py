"""Launches without views: what sizes and arrays that are derived stand for, in their place.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_kernel
>>> launch = "launch (b: p_count) of (t: 1) { B[b] = A_p[b] }"
>>> derived = "where p_count = n * m where A_p[p] = A[rem(p, m), quo(p, m)]"
>>> head = "kernel k(n, m, p_count; A: f32[m, n], B: f32[n * m], A_p: f32[p_count])"
>>> print(print_kernel(expand_views(parse_kernel(f"{head} {derived} {{ {launch} }}"))).rstrip())
kernel k(n, m; A: f32[m, n], B: f32[n * m])
{
  let p_count = n * m
  launch (b: p_count) of (t: 1) {
    {
      let b_part = rem(b, m)
      let b_part_2 = quo(b, m)
      B[b] = A[b_part, b_part_2]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from planish.core.names import take_name
from planish.gpu.hoisting import hoisted
from planish.ir.expr import Binary, Compare, Const, Expr, Load, Var, index, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Assign, Block, Derived, For, If, Kernel, Launch, Let, Reduce, Stmt
from planish.ir.traverse import (
    children,
    map_block,
    map_expr,
    map_exprs,
    substitute,
    substitute_block,
    used_names,
    variables,
    walk_expr,
    with_children,
)
from planish.poly.canonical.privatise import rename_arrays


def expand_views(kernel: Kernel) -> Kernel:
    """The kernel of launches in which derived sizes are computed first, and accesses to derived arrays are those to
    what they stand for; the subscripts of these are computed outside of loops where they do not change."""
    if not kernel.derived:
        return kernel
    arrays = {x.name: x for x in kernel.derived if x.index}
    sizes = [x for x in kernel.derived if not x.index]
    names = {x.name for x in kernel.derived}
    taken = set(used_names(kernel))
    body = map_block(_Expansion(arrays, taken).statement, kernel.body)
    body = map_block(lambda x: hoisted(x, taken) if isinstance(x, Launch) else x, body)
    return replace(
        kernel, sizes=tuple(x for x in kernel.sizes if x not in names),
        arrays=tuple(x for x in kernel.arrays if x.name not in names), derived=(),
        body=Block((*(Let(x.name, x.value) for x in sizes), *body.body)),
    )  # fmt: skip


def with_views(kernel: Kernel, others: Sequence[Kernel]) -> Kernel:
    """A kernel with the derived sizes and arrays of others."""
    derived = [y for x in others for y in x.derived]
    names = {x.name for x in derived}
    sizes = [y for x in others for y in x.sizes if y in names]
    arrays = [y for x in others for y in x.arrays if y.name in names]
    return replace(
        kernel, sizes=(*kernel.sizes, *sizes), arrays=(*kernel.arrays, *arrays), derived=(*kernel.derived, *derived)
    )  # fmt: skip


def views_apart(kernel: Kernel, others: Set[str]) -> Kernel:
    """The kernel in which derived sizes and arrays have none of some names."""
    taken = {*others, *used_names(kernel)}
    names = {x.name: take_name(x.name, taken) for x in kernel.derived if x.name in others}
    sizes: dict[str, Expr] = {x.name: index(names[x.name]) for x in kernel.derived if x.name in names and not x.index}

    def moved(expr: Expr) -> Expr:
        def renamed(x: Expr) -> Expr:
            return replace(x, array=names.get(x.array, x.array)) if isinstance(x, Load) else x

        return substitute(map_expr(renamed, expr), sizes)

    return replace(
        kernel, sizes=tuple(names.get(x, x) for x in kernel.sizes),
        arrays=tuple(
            replace(x, name=names.get(x.name, x.name), shape=tuple(y if y is None else moved(y) for y in x.shape))
            for x in kernel.arrays
        ),
        derived=tuple(Derived(names.get(x.name, x.name), x.index, moved(x.value)) for x in kernel.derived),
        body=substitute_block(rename_arrays(kernel.body, names), sizes),
    )  # fmt: skip


@dataclass(slots=True)
class _Expansion:
    """The walk over statements, bottom-up; `taken` names are not given again."""

    views: dict[str, Derived]
    taken: set[str]

    def statement(self, stmt: Stmt) -> Stmt:
        """A statement without views: in a block with the names of their subscripts."""
        if isinstance(stmt, For):
            return self.loop(stmt)
        if not isinstance(stmt, Assign | Reduce):
            return map_exprs(lambda x: self.expression(x, []), stmt)
        lets: list[Let] = []
        if stmt.array in self.views:
            place = self.load(Load(stmt.array, stmt.index, type_of(stmt.value)), lets)
            assert isinstance(place, Load), "what is stored to has a place"
            stmt = replace(stmt, array=place.array, index=place.index)
        stmt = map_exprs(lambda x: self.expression(x, lets), stmt)
        return Block((*lets, stmt)) if lets else stmt

    def loop(self, loop: For) -> For | Block:
        """A loop, out of which names are taken that are the same in all iterations, of which there are some."""
        match loop.body.body:
            case (If(then=Block(body=(Block(body=(*lets, last)),)), otherwise=Block(body=())) as test,) if all(
                isinstance(x, Let) for x in lets
            ):
                loop = replace(loop, body=Block((Block((*lets, replace(test, then=Block((last,))))),)))
            case _:
                pass
        match loop:
            case For(lower=Const(value=lower), upper=Const(value=upper), body=Block(body=(Block(body=inner),))):
                own, kept, moved = {loop.var}, list[Stmt](), list[Stmt]()
                for x in inner:
                    fixed = lower < upper and isinstance(x, Let) and not variables(x.value) & own
                    (moved if fixed else kept).append(x)
                    own |= {x.var} if isinstance(x, Let) and not fixed else set()
                body = tuple(kept) if len(kept) == 1 else (Block(tuple(kept)),)
                loop = replace(loop, body=Block(body))
                return Block((*moved, loop)) if moved else loop
            case _:
                return loop

    def expression(self, expr: Expr, lets: list[Let]) -> Expr:
        """An expression without views."""
        if isinstance(expr, Load) and expr.array in self.views:
            return self.load(expr, lets)
        return with_children(expr, tuple(self.expression(x, lets) for x in children(expr)))

    def load(self, load: Load, lets: list[Let]) -> Expr:
        """What a load of a view stands for, and what names are given for that: to subscripts that are divided."""
        view = self.views[load.array]
        values = dict(zip(view.index, load.index, strict=True))
        for name in view.index:
            if not isinstance(values[name], Var | Const) and _is_divided(view.value, name):
                known = next((x.var for x in lets if x.value == values[name]), None)
                if known is None:
                    known = take_name(name, self.taken)
                    lets.append(Let(known, values[name]))
                values[name] = index(known)
        return self.expression(self.named(_simplified(substitute(view.value, values)), lets), lets)

    def named(self, value: Expr, lets: list[Let]) -> Expr:
        """A value in which quotients and remainders have names."""

        def name(x: Expr) -> Expr:
            if not isinstance(x, Binary) or x.op not in ("quo", "rem"):
                return x
            known = next((y.var for y in lets if y.value == x), None)
            if known is None:
                stem = next(iter(sorted(variables(x.left))), "place")
                known = take_name(f"{stem.split('_')[0]}_part", self.taken)
                lets.append(Let(known, x))
            return index(known)

        return map_expr(name, value)


def _is_divided(value: Expr, name: str) -> bool:
    """Whether a name stands in quotients, remainders or conditions."""
    for x in walk_expr(value):
        if isinstance(x, Compare) or (isinstance(x, Binary) and x.op in ("quo", "rem")):
            if name in variables(x):
                return True
    return False


def _simplified(value: Expr) -> Expr:
    if isinstance(value, Load):
        return replace(value, index=tuple(map(simplify, value.index)))
    return value
