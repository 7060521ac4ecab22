"""The uses of one array in a nest: found, and redirected to other cells.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> body = parse_kernel("kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = A[i] + 1.0:f32 } }").body
>>> print(print_stmt(redirect(body, "A", lambda at: ("T", at))))
{
  for i in 0 .. n {
    T[i] = T[i] + 1.0:f32
  }
}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planish.ir.accesses import map_accesses
from planish.ir.expr import Expr, Load
from planish.ir.nest import Alloc, Array, Block, For, Kernel, Stmt
from planish.ir.traverse import arrays_in, map_block, walk
from planish.schedule.nodes import nodes

Indices = tuple[Expr, ...]


def redirect(block: Block, array: str, place: Callable[[Indices], tuple[str, Indices]]) -> Block:
    """The nest with every use of an array at another place: the array and the subscripts that `place` gives."""

    def moved(x: Load) -> Load:
        if x.array != array:
            return x
        name, at = place(x.index)
        return replace(x, array=name, index=at)

    def visit(stmt: Stmt) -> Stmt:
        return _renamed_in_facts(stmt, array, *place(())) if isinstance(stmt, For) and _reduces(stmt, array) else stmt

    made = map_accesses(moved, block)
    return map_block(visit, made) if any(isinstance(x, For) and _reduces(x, array) for x in walk(made)) else made


def rename(block: Block, array: str, name: str) -> Block:
    """The nest with another array in the place of one."""
    return redirect(block, array, lambda at: (name, at))


def use_element(block: Block, array: str, name: str, at: Indices = ()) -> Block:
    """The nest with one element of another array in the place of all of one."""
    return redirect(block, array, lambda _: (name, at))


def _reduces(loop: For, cell: str) -> bool:
    return any(name == cell for _, name in loop.facts.reductions)


def _renamed_in_facts(loop: For, cell: str, name: str, at: Indices) -> For:
    """The loop with another name for a cell that its lanes add to; without lanes where that is no scalar any more."""
    facts = loop.facts
    if at:
        return replace(loop, facts=replace(facts, simd=False, reductions=()))
    reductions = tuple((op, name if own == cell else own) for op, own in facts.reductions)
    return replace(loop, facts=replace(facts, reductions=reductions))


def uses(block: Block, array: str) -> bool:
    """Whether a nest reads or writes an array."""
    return array in arrays_in(block)


def arrays_of(kernel: Kernel) -> dict[str, Array]:
    """The arrays by name, parameters and local ones."""
    local = [node.array for node in nodes(kernel.body) if isinstance(node, Alloc)]
    return {x.name: x for x in (*local, *kernel.arrays)}


def find_array(kernel: Kernel, name: str) -> Array | None:
    """The array of a name, a parameter or a local one."""
    return arrays_of(kernel).get(name)
