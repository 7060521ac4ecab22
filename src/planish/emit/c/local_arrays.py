"""Local arrays in C: which are needed, their declarations, and their initialisers where they are tables.

>>> from planish.ir.expr import index
>>> from planish.ir.types import F32
>>> declare(Array("t", F32, (index(2),), memory="table", values=(1.0, -0.5)), "t", "[2]")
'_Alignas(64) static const float t[2] = {1.0f, -0.5f};'
>>> declare(Array("s", F32, (), memory="register"), "s", "")
'float s;'
"""

from __future__ import annotations

from dataclasses import replace

from planish.emit.c.context import EmitContext
from planish.emit.c.expression import c_type, emit_expr, literal
from planish.ir.expr import Binary, Const, Expr, Load, Var, index
from planish.ir.index.interval import range_of
from planish.ir.nest import Alloc, Array, Assign, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import expressions, map_block, walk, walk_expr


def declare(array: Array, name: str, extents: str, portable: bool = False) -> str:
    """The declaration of an array that is not on the heap, by its name in C and the text of its extents; `portable`:
    for C++ as well."""
    constant = all(isinstance(x, Const) for x in array.shape)
    word = "planish_aligned(64) " if portable else "_Alignas(64) "
    aligned = word if array.shape and constant else ""
    if array.memory != "table":
        return f"{aligned}{c_type(array.type)} {name}{extents};"
    values = ", ".join(literal(Const(x, array.type))[0] for x in array.values)
    # One list for all dimensions: C fills the rows one after the other.
    return f"{aligned}static const {c_type(array.type)} {name}{extents} = {{{values}}};"


def without_dead(kernel: Kernel) -> Kernel:
    """The kernel without the lets and local arrays that nothing uses: compilers would warn of them."""
    while True:
        used: set[str] = set()
        for stmt in walk(kernel.body):
            used |= {x.name for e in expressions(stmt) for x in walk_expr(e) if isinstance(x, Var)}
            used |= {x.array for e in expressions(stmt) for x in walk_expr(e) if isinstance(x, Load)}
            if isinstance(stmt, Assign | Reduce):
                used.add(stmt.array)

        def keep(stmt: Stmt, used: set[str] = used) -> Stmt | tuple[Stmt, ...]:
            name = stmt.var if isinstance(stmt, Let) else stmt.array.name if isinstance(stmt, Alloc) else None
            return stmt if name is None or name in used else ()

        body = map_block(keep, kernel.body)
        if body == kernel.body:
            return kernel
        kernel = replace(kernel, body=body)


def write_extents(shape: tuple[Expr | None, ...], context: EmitContext, own: bool = False) -> str:
    """The extents in brackets; those of an array of the function's `own` are at least one: C has no empty arrays."""
    known = [x for x in shape if x is not None]
    empty = [own and not isinstance(x, Const) and range_of(x, context.known)[0] < 1 for x in known]
    kept = [Binary("max", x, index(1)) if y else x for x, y in zip(known, empty, strict=True)]
    return "".join(f"[{emit_expr(x, context)}]" for x in kept)
