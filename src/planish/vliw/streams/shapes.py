"""Nests in forms that tiles are made of: elements that stay the same in a loop are in registers, short loops are
written out, each loop has a name of its own.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "kernel f(n; A: f32[n], s: f32[4]) { for i in 0 .. 2 { for j in 0 .. n { s[i] += A[j] } } }"
>>> print(print_stmt(promote(parse_kernel(text)).body))
{
  for i in 0 .. 2 {
    alloc s_0: f32[] distinct register
    s_0[] = s[i]
    for j in 0 .. n {
      s_0[] += A[j]
    }
    s[i] = s_0[]
  }
}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from planish.ir.expr import Call, Expr, Load, Var, index, type_of
from planish.ir.index.polynomial import add, constant, normal, sub
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.traverse import (
    bindings,
    blocks_of,
    expressions,
    loads,
    map_block,
    map_expr,
    map_exprs,
    stored_arrays,
    substitute_block,
    used_names,
    variables,
    walk,
    with_blocks,
)
from planish.ir.types import INDEX


def promote(kernel: Kernel) -> Kernel:
    """The kernel where an element that a loop updates, and nothing else of its array is used there, is in a register
    while the loop runs."""
    arrays = {x.name: x for x in kernel.arrays if x.shape}
    taken = set(used_names(kernel))

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if not isinstance(stmt, For):
            return stmt
        before: list[Stmt] = []
        after: list[Stmt] = []
        loop = stmt
        for name in sorted(stored_arrays(stmt) & arrays.keys()):
            place = _only_place(loop, name)
            if place is None:
                continue
            array = arrays[name]
            cell = Array(unused(f"{name}_0", taken), array.type, (), True, "register")
            taken.add(cell.name)
            loop = _with_cell(loop, name, cell)
            value = Load(cell.name, (), array.type)
            before += [Alloc(cell), Assign(cell.name, (), Load(name, place, array.type), stmt.span)]
            after.append(Assign(name, place, value, stmt.span))
        return (*before, loop, *after)

    return replace(kernel, body=map_block(visit, kernel.body))


def unused(name: str, taken: Collection[str]) -> str:
    """A name like another one that nothing has."""
    stem, count = name.rstrip("0123456789"), 0
    while f"{stem}{count}" in taken:
        count += 1
    return f"{stem}{count}"


def with_extrema(kernel: Kernel) -> Kernel:
    """The kernel where a scalar that becomes the greater, or less, of itself and a value is updated by that."""

    def updated(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(array=name, index=(), value=Call(function="fmin" | "fmax" as function, arguments=(a, b))):
                for own, other in ((a, b), (b, a)):
                    if own == Load(name, (), type_of(own)) and not any(x.array == name for x in loads(other)):
                        return Reduce(name, (), "min" if function == "fmin" else "max", other, stmt.span, stmt.label)
        return stmt

    return replace(kernel, body=map_block(updated, kernel.body))


def _only_place(loop: For, name: str) -> tuple[Expr, ...] | None:
    """The one element of an array that a loop uses, always and in each iteration; None where it uses others."""
    own = {loop.var, *bindings(loop)} | stored_arrays(loop)
    places = {tuple(normal(x) for x in p) for p in _places(loop, name)}
    if len(places) != 1:
        return None
    (place,) = places
    fixed = not any(variables(x) & own or any(y.array in own for y in loads(x)) for x in place)
    direct = any(isinstance(x, Assign | Reduce) and x.array == name for x in _always(loop.body))
    return place if fixed and direct else None


def _always(block: Block) -> Iterator[Stmt]:
    """The statements that run whenever a block does."""
    for x in block.body:
        if isinstance(x, Block):
            yield from _always(x)
        else:
            yield x


def _places(loop: For, name: str) -> Iterator[tuple[Expr, ...]]:
    for stmt in walk(loop):
        if isinstance(stmt, Assign | Reduce) and stmt.array == name:
            yield stmt.index
        for e in expressions(stmt):
            yield from (x.index for x in loads(e) if x.array == name)


def _with_cell(loop: For, name: str, cell: Array) -> For:
    def loaded(x: Expr) -> Expr:
        return Load(cell.name, (), x.type) if isinstance(x, Load) and x.array == name else x

    def stored(x: Stmt) -> Stmt:
        x = map_exprs(lambda e: map_expr(loaded, e), x)
        return replace(x, array=cell.name, index=()) if isinstance(x, Assign | Reduce) and x.array == name else x

    return replace(loop, body=map_block(stored, loop.body))


def unroll_short(kernel: Kernel, most: int) -> Kernel:
    """The kernel where loops of a few iterations with nothing but such loops in them are written out, as long as they
    are no more than so many assignments; arrays that are then used by numbers alone are scalars."""

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if not isinstance(stmt, For) or any(isinstance(x, For) for x in walk(stmt.body)):
            return stmt
        trip = constant(sub(stmt.upper, stmt.lower))
        size = sum(isinstance(x, Assign | Reduce) for x in walk(stmt.body))
        if trip is None or stmt.step != 1 or trip * size > most or any(isinstance(x, Alloc) for x in walk(stmt.body)):
            return stmt
        made = [substitute_block(stmt.body, {stmt.var: add(stmt.lower, index(n))}) for n in range(trip)]
        return tuple(map_exprs(_folded, x) for block in made for x in map_block(lambda y: y, block).body)

    body = map_block(lambda s: map_exprs(_folded, s), map_block(visit, kernel.body))
    return _with_scalars(replace(kernel, body=body))


def _folded(x: Expr) -> Expr:
    """Subscripts in normal form."""
    return map_expr(lambda y: replace(y, index=tuple(map(normal, y.index))) if isinstance(y, Load) else y, x)


def _with_scalars(kernel: Kernel) -> Kernel:
    """Local arrays that are used by numbers alone as scalars."""
    own = {x.array.name: x.array for x in walk(kernel.body) if isinstance(x, Alloc) and x.array.shape}
    own = {n: x for n, x in own.items() if not x.values}
    for stmt in walk(kernel.body):
        places = [(stmt.array, stmt.index)] if isinstance(stmt, Assign | Reduce) else []
        places += [(x.array, x.index) for e in expressions(stmt) for x in loads(e)]
        for name, place in places:
            if any(constant(x) is None for x in place):
                own.pop(name, None)
    if not own:
        return kernel

    def cell(name: str, place: tuple[Expr, ...]) -> str:
        return f"{name}.{'.'.join(str(constant(x)) for x in place)}"

    used = {
        (x.array, tuple(map(normal, x.index)))
        for s in walk(kernel.body) for x in [*_targets(s), *(y for e in expressions(s) for y in loads(e))]
        if x.array in own
    }  # fmt: skip

    def loaded(x: Expr) -> Expr:
        return Load(cell(x.array, x.index), (), x.type) if isinstance(x, Load) and x.array in own else x

    def changed(x: Stmt) -> Stmt | tuple[Stmt, ...]:
        if isinstance(x, Alloc) and x.array.name in own:
            cells = sorted(cell(n, p) for n, p in used if n == x.array.name)
            return tuple(Alloc(replace(x.array, name=n, shape=(), memory="register"), x.span) for n in cells)
        x = map_exprs(lambda e: map_expr(loaded, e), x)
        if isinstance(x, Assign | Reduce) and x.array in own:
            return replace(x, array=cell(x.array, x.index), index=())
        return x

    return replace(kernel, body=map_block(changed, kernel.body))


def _targets(stmt: Stmt) -> list[Load]:
    return [Load(stmt.array, stmt.index, INDEX)] if isinstance(stmt, Assign | Reduce) else []


def with_own_names(kernel: Kernel) -> Kernel:
    """The kernel in which no two loops have one name."""
    seen: set[str] = set(kernel.sizes)

    def visit(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block.body:
            if isinstance(stmt, For):
                name, count = stmt.var, 0
                while name in seen:
                    count += 1
                    name = f"{stmt.var}{count}"
                seen.add(name)
                inner = substitute_block(stmt.body, {stmt.var: Var(name, INDEX)}) if name != stmt.var else stmt.body
                out.append(replace(stmt, var=name, body=visit(inner)))
            else:
                out.append(with_blocks(stmt, [visit(x) for x in blocks_of(stmt)]))
        return Block(tuple(out))

    return replace(kernel, body=visit(kernel.body))
