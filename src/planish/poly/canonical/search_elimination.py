"""Search elimination: a search loop for the value of an element becomes a direct subscript.

Before: for row in 0 .. n { B[row] = select(p[] == i32(row), s[], B[row]) }
After:  B[p[]] = s[]

Such nests run like this; to be analysed, subscripts have to be affine, which these are not.

>>> from planish.ir.expr import index
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for row in 0 .. n { B[row] = select(p[] == i32(row), s[], B[row]) }"
>>> nest = parse_kernel("kernel k(n; B: f64[n], p: i32[], s: f64[]) { %s }" % text).body
>>> print(print_stmt(without_searches(nest, {"p": (index(0), index("n"))})))
{
  {
    B[i64(p[])] = s[]
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planish.ir.accesses import reads
from planish.ir.expr import Cast, Compare, Expr, Load, Select, Var
from planish.ir.index.polynomial import same
from planish.ir.index.ranges import Range
from planish.ir.nest import Alloc, Assign, Block, For, Reduce, Stmt
from planish.ir.traverse import blocks_of, chained, map_block, substitute_block, variables, walk, with_blocks
from planish.ir.types import INDEX
from planish.poly.isl.expression import conjunction


def without_searches(block: Block, ranges: Mapping[str, Range]) -> Block:
    """A block with no searches for what cells say of which the `ranges` are known, all of which the searches have to
    go through; other searches stay."""
    out: list[Stmt] = []
    for stmt in block.body:
        inner = with_blocks(stmt, tuple(without_searches(x, ranges) for x in blocks_of(stmt)))
        found = _found_by(inner, ranges) if isinstance(inner, For) else None
        out.append(_direct(inner, found) if isinstance(inner, For) and found is not None else inner)
    return Block(tuple(out))


def _found_by(loop: For, ranges: Mapping[str, Range]) -> str | None:
    """The cell that a loop searches for: nothing else is done in it, and it goes through all that the cell may be."""
    own = {x.array.name for x in walk(loop.body) if isinstance(x, Alloc)}
    found: set[str | None] = set()
    for stmt in walk(loop.body):
        match stmt:
            case Assign(array=array) if array in own and not stmt.index:
                pass
            case Assign(value=Select(condition=test, otherwise=Load(array=array, index=at))):
                same_place = array == stmt.array and len(at) == len(stmt.index) and all(map(same, at, stmt.index))
                found.add(_cell(test, loop.var) if same_place else None)
            case Alloc() | Block():
                pass
            case For():
                found |= {None} if loop.var in variables(stmt.lower) | variables(stmt.upper) else set()
            case _:
                return None
    cell = found.pop() if len(found) == 1 else None
    if cell is None or cell not in ranges or loop.step != 1:
        return None
    lower, upper = ranges[cell]
    stored = {x.array for x in walk(loop.body) if isinstance(x, Assign | Reduce)}
    return cell if same(lower, loop.lower) and same(upper, loop.upper) and cell not in stored else None


def _cell(test: Expr, var: str) -> str | None:
    """The cell that an index has to be equal to."""
    for part in chained(test, "and"):
        match part:
            case Compare(op="eq", left=Load(array=cell, index=()), right=Cast(operand=Var(name=name))) if name == var:
                return cell
            case _:
                pass
    return None


def _direct(loop: For, cell: str) -> Block:
    """The body of a search for the one that is found."""
    read = reads(loop.body)
    type = next(x.type for x in read if x.array == cell)

    def chosen(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Select):
            return stmt
        test = stmt.value.condition
        if _cell(test, loop.var) != cell:
            return stmt
        others = [x for x in chained(test, "and") if _cell(x, loop.var) is None]
        value = stmt.value.then
        if others:
            value = Select(conjunction(others), value, stmt.value.otherwise)
        return replace(stmt, value=value)

    body = map_block(chosen, loop.body)
    return substitute_block(body, {loop.var: Cast(Load(cell, (), type), INDEX)})
