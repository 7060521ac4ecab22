"""Iterations that data end early, as conditions: what comes after `if (…) continue;` is its other branch.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> loop = "for (;;) { x = f(); if (x == 0) { y = 1; continue; } y = x; z = 2; }"
>>> body = CParser().parse("void g(void) { %s }" % loop).ext[0].body.block_items[0].stmt
>>> print(" ".join(CGenerator().visit(without_skips(body, [])).split()))
{ x = f(); if (x == 0) { y = 1; } else { y = x; z = 2; } }
"""

from __future__ import annotations

from pycparser import c_ast

from planish.frontend.c.state import Translation


def body_of(body: c_ast.Node, cx: Translation) -> c_ast.Node:
    """The body of a loop, with no iteration that ends early where data may choose what is done."""
    return body if cx.searches is None else without_skips(body, cx.bound.kept)


def without_skips(body: c_ast.Node, kept: list[c_ast.Node]) -> c_ast.Node:
    """A loop's body in which nothing is skipped by a `continue` at its end of a branch; `kept`: nodes that are made, so
    that each is known by its identity."""
    if not isinstance(body, c_ast.Compound):
        return body
    items = body.block_items or []
    for n, item in enumerate(items):
        match item:
            case c_ast.If(iffalse=None) if (then := _shortened(item.iftrue, kept)) is not None:
                rest = without_skips(c_ast.Compound(items[n + 1 :], body.coord), kept)
                branch = c_ast.If(item.cond, then, rest, item.coord)
                out = c_ast.Compound([*items[:n], branch], body.coord)
                kept += (rest, branch, out)
                return out
            case _:
                pass
    return body


def _shortened(branch: c_ast.Node, kept: list[c_ast.Node]) -> c_ast.Node | None:
    """A branch without the `continue` that it ends with; None where it does not."""
    match branch:
        case c_ast.Continue():
            out = c_ast.Compound([], branch.coord)
        case c_ast.Compound(block_items=[*before, c_ast.Continue()]):
            out = c_ast.Compound(before, branch.coord)
        case _:
            return None
    kept.append(out)
    return out
