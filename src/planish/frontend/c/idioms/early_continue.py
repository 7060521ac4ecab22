"""Early `continue`: the statements behind `if (...) continue;` are the other side of that condition.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> body = CParser().parse("void f() { for (;;) { if (i < 0) continue; x += a[i]; } }").ext[0].body.block_items[0].stmt
>>> print(" ".join(CGenerator().visit(without_continue(body)).split()))
{ if (i < 0) { } else { x += a[i]; } }
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.types.constants import items_of


def without_continue(body: c_ast.Node) -> c_ast.Node:
    """The same body of a loop without its `continue`s, as far as these stand at the end of a branch of that."""
    items = items_of(body)
    fresh = _cut(items)
    if all(a is b for a, b in zip(items, fresh, strict=False)) and len(items) == len(fresh):
        return body
    return c_ast.Compound(fresh, body.coord)


def _cut(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """The statements of an iteration up to its end."""
    for n, item in enumerate(items):
        if isinstance(item, c_ast.Continue):
            return items[:n]
        if not isinstance(item, c_ast.If):
            continue
        then, otherwise, rest = items_of(item.iftrue), items_of(item.iffalse), items[n + 1 :]
        if then and isinstance(then[-1], c_ast.Continue):
            sides = then[:-1], [*otherwise, *rest]
        elif otherwise and isinstance(otherwise[-1], c_ast.Continue):
            sides = [*then, *rest], otherwise[:-1]
        else:
            continue
        blocks = [c_ast.Compound(_cut(side), item.coord) for side in sides]
        return [*items[:n], c_ast.If(item.cond, *blocks, item.coord)]
    return items
