"""A plain matrix-vector product as a kernel that drop-ins share, called where a nest is nothing else.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.library.kernels.vectors import find_vectors
>>> loops = "for k in 0 .. n { y[i] += A[i, k] * x[k] }"
>>> kernel = parse_kernel("kernel k(m, n; A: f64[m, n], x: f64[n], y: f64[m]) { for i in 0 .. m { %s } }" % loops)
>>> found = find_dots(kernel.body.body[0], frozenset(kernel.sizes))
>>> (loop,), kernels = call_gemv(found, find_vectors("avx2", found.type), kernel, 12)
>>> loop.facts.instruction, [x.name for x in kernels]
('planish_gemv_f64', ['planish_gemv_f64'])
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from planish.ir.expr import Const, Expr, Load
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Alloc, Assign, Block, For, Kernel, Reduce, Stmt
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import expressions, loads, used_names, walk
from planish.ir.types import Type
from planish.isa.instruction import Instruction, make_instruction
from planish.library.dense.gemv.register_block import ROWS, Tiles
from planish.library.dense.gemv.row_loops import Dots, find_dots
from planish.library.kernels.vectors import Vectors
from planish.poly.match.matcher import MismatchError, match_nest


def call_gemv(
    found: Dots, vectors: Vectors, kernel: Kernel, rows: int, accumulators: int = 1
) -> tuple[tuple[For, ...], tuple[Instruction, ...]] | None:
    """Loops that set the sums to what they begin with, and that call a kernel, and what is called; None where a loop
    does more than a product, is inside of another one, or has so few elements that compilers know how many."""
    loop, inner = found.loop, found.inner
    if loop not in kernel.body.body or isinstance(loop.upper, Const) or isinstance(inner.upper, Const):
        return None
    local = [x.array for x in walk(kernel.body) if isinstance(x, Alloc)]
    arrays = {x.name: x for x in (*kernel.arrays, *local)}
    parts = _part(found, kernel, frozenset(x.name for x in local if not x.shape))
    if parts is None:
        return None
    gemv = _make_gemv(vectors, found.type, rows, accumulators)
    product = replace(parts[-1], facts=replace(loop.facts, instruction=gemv.name))
    try:
        match_nest(gemv.definition, product, arrays)
    except MismatchError:
        return None
    return (*parts[:-1], product), (gemv,)


def _part(found: Dots, kernel: Kernel, scalars: frozenset[str]) -> tuple[For, ...] | None:
    """The loop over rows as one that begins sums with a constant, where it does, and one that adds products to them;
    None where it does more. A sum in one of the `scalars` is made in the element that it is stored in."""
    match found.sums, found.before, found.after:
        case [dot], [], []:
            return (_rows(found, found.inner),)
        case [dot], [Assign(value=Const()) as begin], [] if (begin.array, begin.index) == _place(dot.cell):
            return _rows(found, begin), _rows(found, found.inner)
        case [dot], [Assign(value=Const()) as begin], [Assign(value=Load() as last) as end] if (
            (begin.array, begin.index) == _place(dot.cell) == _place(last) and dot.cell.array in scalars
        ):
            uses = [x for stmt in kernel.body.body for x in walk(stmt) if _mentions(x, dot.cell.array)]
            inside = [x for x in walk(found.loop) if _mentions(x, dot.cell.array)]
            added = _added(found)
            if len(uses) != len(inside) or added is None:
                return None
            product = Block((replace(added, array=end.array, index=end.index),))
            first = replace(begin, array=end.array, index=end.index)
            return _rows(found, first), _rows(found, replace(found.inner, body=product))
        case _:
            return None


def _added(found: Dots) -> Reduce | None:
    """The statement that adds a product."""
    match found.inner.body.body:
        case (Reduce() as only,):
            return only
        case _:
            return None


def _rows(found: Dots, stmt: Stmt) -> For:
    return replace(found.loop, body=Block((stmt,)))


def _place(load: Load) -> tuple[str, tuple[Expr, ...]]:
    return load.array, load.index


def _mentions(stmt: Stmt, name: str) -> bool:
    """Whether a statement, without those in it, loads from an array or stores to it."""
    stored = isinstance(stmt, Assign | Reduce) and stmt.array == name
    return stored or any(y.array == name for x in expressions(stmt) for y in loads(x))


@cache
def _make_gemv(vectors: Vectors, type: Type, rows: int, accumulators: int) -> Instruction:
    name = f"planish_gemv_{type}" if rows == ROWS else f"planish_gemv_{rows}_{type}"
    name = name if accumulators == 1 else f"{name}_by_{accumulators}"
    definition = parse_kernel(
        f"kernel {name}(m, n, lda; A: {type}[m, lda], x: {type}[n], y: {type}[m] distinct)"
        " { for i in 0 .. m { for k in 0 .. n { y[i] += A[i, k] * x[k] } } }"
    )
    found = find_dots(definition.body.body[0], frozenset(definition.sizes))
    assert found is not None, "a matrix-vector product is one"
    body = Block((Tiles(found, vectors, {*used_names(definition)}, rows, accumulators).loops(),))
    made = replace(definition, body=simplify_block(body, assumptions=definition.assumptions))
    return make_instruction(name, definition, "", fused=True, reassociates=True, implementation=made)
