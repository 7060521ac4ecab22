"""Column access: whether statements keep to one column of a matrix, as panel algorithms do.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "for k in 0 .. n { for i in k .. n { A[i, k] = 2.0 * A[i, k] } for i in 0 .. n { A[i, 0] = A[i, k] } }"
>>> step, = parse_kernel("kernel z(n; A: f64[n, n]) { %s }" % text).body.body
>>> [is_in_column(x, "A", step, index("k"), index("n")) for x in step.body.body]
[True, False]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from planish.ir.accesses import map_accesses
from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import constant, same, sub
from planish.ir.index.ranges import extreme
from planish.ir.nest import Alloc, Assign, Block, For, Reduce, Stmt
from planish.ir.traverse import arrays_in, blocks_of, expressions, flatten, loads, map_block, stored_arrays, walk

Leaf = tuple[Assign | Reduce, tuple[For, ...]]
"""A store, and the loops around it."""


def is_at_most(a: Expr, b: Expr) -> bool:
    """Whether an index is known to be so much at most, whatever the names in it stand for."""
    number = constant(sub(b, a))
    return number is not None and number >= 0


def sets(stmts: Sequence[Stmt], cell: str) -> bool:
    """Whether statements store to an array."""
    return any(isinstance(x, Assign | Reduce) and x.array == cell for stmt in stmts for x in walk(stmt))


def is_in_column(stmt: Stmt, array: str, step: For, first: Expr, rows: Expr) -> bool:
    """Whether a statement of a step touches nothing of a matrix but the column of the step's number, of its rows only
    those from `first` up to below `rows`."""
    for at, loops in accesses((stmt,), array, ()):
        low, high = extreme(at[0], loops, False), extreme(at[0], loops, True)
        if not same(at[1], index(step.var)) or low is None or high is None:
            return False
        most = extreme(sub(sub(rows, index(1)), high), (step,), False)
        if not is_at_most(first, low) or most is None or not is_at_most(index(0), most):
            return False
    return True


def accesses(
    stmts: Iterable[Stmt], array: str, loops: tuple[For, ...]
) -> Iterator[tuple[tuple[Expr, ...], tuple[For, ...]]]:
    """The subscripts of an array in some statements, with the loops around."""
    for stmt in stmts:
        if isinstance(stmt, Assign | Reduce) and stmt.array == array:
            yield stmt.index, loops
        for expr in expressions(stmt):
            yield from ((x.index, loops) for x in loads(expr) if x.array == array)
        inner = (*loops, stmt) if isinstance(stmt, For) else loops
        for block in blocks_of(stmt):
            yield from accesses(block.body, array, inner)


def leaves_of(stmts: Sequence[Stmt], loops: tuple[For, ...] = ()) -> Iterator[Leaf | None]:
    """The stores in statements, in the order of the text; None for what is neither a loop nor a store."""
    for stmt in flatten(stmts):
        match stmt:
            case For():
                yield from leaves_of(stmt.body.body, (*loops, stmt))
            case Assign() | Reduce():
                yield stmt, loops
            case Alloc():
                pass
            case _:
                yield None


def in_elements(block: Block, cells: Collection[str]) -> Block:
    """Statements in which a sum that is made in one of the `cells`, and stored to an element then, is made in the
    element itself: what a loop's iteration sets first, and nothing outside of it uses.

    >>> from planish.ir.text.parser import parse_kernel
    >>> from planish.ir.text.printer import print_stmt
    >>> text = "for j in 0 .. n { d[] = 0.0 for i in 0 .. n { d[] += A[i] } s[j] = d[] t[j] = 2.0 * d[] }"
    >>> kernel = parse_kernel("kernel z(n; A: f64[n], s: f64[n], t: f64[n]) { alloc d: f64[] %s }" % text)
    >>> print(print_stmt(in_elements(kernel.body, {"d"}).body[1]), end="")
    for j in 0 .. n {
      s[j] = 0.0:f64
      for i in 0 .. n {
        s[j] += A[i]
      }
      t[j] = 2.0:f64 * s[j]
    }
    """
    for cell in cells:
        uses = [*arrays_in(block)].count(cell)

        def visit(stmt: Stmt, cell: str = cell, uses: int = uses) -> Stmt:
            alone = isinstance(stmt, For) and [*arrays_in(stmt.body)].count(cell) == uses
            made = _in_element(stmt, cell) if isinstance(stmt, For) and alone else None
            return stmt if made is None else made

        block = map_block(visit, block)
    return block


def _in_element(loop: For, cell: str) -> For | None:
    """A loop with an element in the place of a cell; None where the cell is not set first, or where the element is seen
    by anything else in the iteration, or not the same one all along."""
    body = [x for x in flatten(loop.body.body) if not (isinstance(x, Alloc) and x.array.name == cell)]
    stores = [x for x in body if isinstance(x, Assign) and isinstance(x.value, Load) and x.value.array == cell]
    used = [x for x in body if cell in arrays_in(Block((x,)))]
    if len(stores) != 1 or not used or not (isinstance(used[0], Assign) and used[0].array == cell):
        return None
    (store,) = stores
    around = body[body.index(used[0]) : body.index(used[-1]) + 1]
    last = Block(tuple(around[around.index(store) + 1 :]))
    others = Block(tuple(x for x in around if x is not store))
    if any(map(loads, store.index)) or store.array in arrays_in(others) or cell in stored_arrays(last):
        return None

    def moved(x: Load) -> Load:
        return replace(x, array=store.array, index=store.index) if x.array == cell else x

    return replace(loop, body=map_accesses(moved, Block(tuple(x for x in body if x is not store))))
