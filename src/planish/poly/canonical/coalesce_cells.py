"""Copy coalescing: a local cell that holds a copy of another one, and does not live beside it, is that one.

Before: t[] = s[] + x[i];  y[i] = t[];  s[] = t[]            m[] = j[];  … m[] -= k[] …;  j[] = m[] + k[]
After:  s[] = s[] + x[i];  y[i] = s[]                         … j[] -= k[] …;  j[] = j[] + k[]

Languages in which values have one name each, such as MLIR, are full of such copies.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> text = "for i in 0 .. n { alloc t: f64[] register  t[] = s[] + x[i]  x[i] = t[]  s[] = t[] }"
>>> kernel = parse_kernel("kernel k(n; x: f64[n]) { alloc s: f64[] register  s[] = 0.0  %s }" % text)
>>> print(print_stmt(coalesce_cells(kernel.body).body[2]))
for i in 0 .. n {
  s[] = s[] + x[i]
  x[i] = s[]
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planish.ir.expr import Load
from planish.ir.nest import Alloc, Assign, Block, Stmt
from planish.ir.traverse import arrays_in, blocks_of, stored_arrays, walk, with_blocks, with_body
from planish.ir.types import Type
from planish.poly.canonical.privatise import rename_arrays


def coalesce_cells(block: Block) -> Block:
    """The block without the copies of cells that are local to it, with all inside."""
    made = (x.array for x in walk(block) if isinstance(x, Alloc))
    return _in_block(block, {x.name: x.type for x in made if not x.shape and x.memory == "register"})


def _in_block(block: Block, cells: Mapping[str, Type]) -> Block:
    body = [with_blocks(x, [_in_block(y, cells) for y in blocks_of(x)]) for x in block.body]
    while (fewer := _without_one(body, cells)) is not None:
        body = fewer
    return with_body(block, body)


def _without_one(body: Sequence[Stmt], cells: Mapping[str, Type]) -> list[Stmt] | None:
    """The statements without one of the cells that are made by them; None where each is needed."""
    copies = (x for x in body if isinstance(x, Assign) and isinstance(x.value, Load) and not x.value.index)
    copied = {name for x in copies for name in (x.array, *arrays_in(x))}
    for place, stmt in enumerate(body):
        # Of a function in which each value has a cell of its own, only those are looked at of which there is a copy.
        if isinstance(stmt, Alloc) and stmt.array.name in cells and stmt.array.name in copied:
            rest = body[place + 1 :]
            found = _copied_out(rest, stmt.array.name, cells) or _copied_in(rest, stmt.array.name, cells)
            if found is not None:
                return [*body[:place], *found]
    return None


def _copied_out(body: Sequence[Stmt], cell: str, cells: Mapping[str, Type]) -> list[Stmt] | None:
    """The statements with the last place of a cell, which is copied to another one, in the place of it."""
    uses = _uses(body, cell)
    if len(uses) < 2:
        return None
    first, last = uses[0], uses[-1]
    target = _copy_of(body[last], cell, cells)
    between = body[first + 1 : last]
    if not isinstance(body[first], Assign) or target is None or any(target in arrays_in(x) for x in between):
        return None
    if cell not in stored_arrays(body[first]) or any(cell in stored_arrays(x) for x in between):
        return None
    made = [x for x in between if isinstance(x, Alloc) and x.array.name == target]
    named = _named([x for x in body[first:last] if x not in made], cell, target)
    return [*body[:first], *made, *named, *body[last + 1 :]]


def _copied_in(body: Sequence[Stmt], cell: str, cells: Mapping[str, Type]) -> list[Stmt] | None:
    """The statements with a cell, of which another one begins as a copy, in the place of that one until it is set."""
    uses = _uses(body, cell)
    source = _copied_by(body[uses[0]], cell, cells) if uses else None
    others = [] if source is None else [x for x in _uses(body, source) if x > uses[0]]
    if source is None or not others or others[0] < uses[-1]:
        return None
    setting = body[others[0]]
    if not isinstance(setting, Assign) or [*arrays_in(setting)].count(source) > 1 or setting.array != source:
        return None
    last = others[0] + 1
    return [*body[: uses[0]], *_named(body[uses[0] + 1 : last], cell, source), *body[last:]]


def _uses(body: Sequence[Stmt], cell: str) -> list[int]:
    return [n for n, x in enumerate(body) if cell in arrays_in(x)]


def _copy_of(stmt: Stmt, cell: str, cells: Mapping[str, Type]) -> str | None:
    """The other cell that a statement sets to what a cell holds."""
    match stmt:
        case Assign(array=array, value=Load(array=source, index=())) if source == cell != array:
            return array if cells.get(array) == cells[cell] else None
        case _:
            return None


def _copied_by(stmt: Stmt, cell: str, cells: Mapping[str, Type]) -> str | None:
    """The other cell that a statement sets a cell to."""
    match stmt:
        case Assign(array=array, value=Load(array=source, index=())) if array == cell != source:
            return source if cells.get(source) == cells[cell] else None
        case _:
            return None


def _named(body: Sequence[Stmt], old: str, new: str) -> tuple[Stmt, ...]:
    return rename_arrays(Block(tuple(body)), {old: new}).body
