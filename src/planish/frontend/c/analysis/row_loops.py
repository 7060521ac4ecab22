"""Loops over the rows of a sparse matrix, whose elements lie from `start[i]` to `start[i + 1]`: how long rows are.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> loops = "for (int i = 0; i < rows; i++) for (int k = start[i]; k < start[i + 1]; k++) s += v[k];"
>>> tree = CParser().parse("void f(int rows, int *start, int *v, int s) { %s }" % loops)
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> long_on_average(bound.function.body.block_items[0], ("start[i]", "start[i + 1]"), bound)
'0 < rows && (ptrdiff_t)start[rows] - (ptrdiff_t)start[0] >= 64 * ((ptrdiff_t)rows - (ptrdiff_t)0)'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pycparser import c_ast

from planish.core.diagnostic import Remark
from planish.frontend.c.analysis.scope import BoundNames, Symbol, root_of, step_of, written
from planish.frontend.c.analysis.statement_runs import is_loop
from planish.frontend.c.text.extent import Item, balanced_conditionals
from planish.frontend.c.text.lexer import Tokens
from planish.frontend.c.translate.data_subscripts import LONG
from planish.frontend.c.translation_unit import Region, RowLoop
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import text_of
from planish.ir.passes.vector_loops import is_short

_PARTS = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp)
_BRANCHES = (c_ast.If, c_ast.Switch, c_ast.TernaryOp, c_ast.While, c_ast.DoWhile)
_JUMPS = (c_ast.Break, c_ast.Return, c_ast.Goto, c_ast.Label, c_ast.Continue)


def in_long_rows(
    loop: c_ast.Node, found: Sequence[Region], item: Item | None, tokens: Tokens, bound: BoundNames
) -> tuple[list[Region], list[Remark]]:
    """The regions that were found in a loop; of those that short rows make slower, the only one with the question how
    long they are, and remarks on others, as on those whose few iterations take no longer than to call them. `item`: the
    text of the loop."""
    kept: list[Region] = []
    refused: list[Remark] = []
    whole = item is not None and balanced_conditionals(tokens, item.start, item.end) and len(found) == 1
    for region in found:
        texts = [text for _, text in region.names]
        condition = long_on_average(loop, texts, bound) if region.in_rows and whole else None
        if is_loop(loop) and not region.stages and is_short(region.kernel):
            message = "the loop stays as written: it has a few iterations in each one of the loop around it"
            refused.append(Remark("scop-short", "refused", message, region.span))
        elif not region.in_rows or region.rows is not None:
            kept.append(region)
        elif condition is not None and item is not None:
            rows = RowLoop(condition, region.start, region.end)
            kept.append(replace(region, start=item.start, end=item.end, rows=rows, alone=True))
        else:
            message = "sums of elements that data choose, in rows that may be short, which lanes do not make faster"
            refused.append(Remark("scop-data", "refused", f"the loop stays as written: {message}", region.span))
    return kept, refused


def long_on_average(loop: c_ast.Node, bounds: Sequence[str], bound: BoundNames) -> str | None:
    """The condition, in C, under which the rows that a loop goes through are long on average; `bounds`: where they
    begin and end, in C. None where it is another loop. The loop reads all that the condition does, if it is run."""
    if not isinstance(loop, c_ast.For) or any(_is_single(x) for x in walk_tree(loop.stmt)):
        return None
    first, name = _first(loop.init)
    match loop.cond:
        case c_ast.BinaryOp(op="<", left=c_ast.ID(name=compared) as counter, right=last) if compared == name:
            stepped = step_of(loop.next, bound)
        case _:
            return None
    if first is None or not _is_plain(first) or not _is_plain(last) or stepped != (bound.symbol(counter), 1):
        return None
    if any(isinstance(x, _BRANCHES) and any(isinstance(y, c_ast.For) for y in walk_tree(x)) for x in walk_tree(loop)):
        return None  # the last row may be one of which it is not asked where it ends
    changed = _changed(loop.stmt, bound)
    if changed & (_called(name, loop.cond, bound) | {bound.symbol(x) for x in walk_tree(last)}):
        return None
    for text in bounds:
        found = re.fullmatch(rf"([A-Za-z_]\w*)\[{name}\]", text)
        if found is None or f"{found[1]}[{name} + 1]" not in bounds:
            continue
        if changed & _called(found[1], loop.stmt, bound):
            continue
        begin, end = text_of(first), text_of(last)
        low, high = (x if x.isalnum() else f"({x})" for x in (begin, end))
        elements = f"(ptrdiff_t){found[1]}[{end}] - (ptrdiff_t){found[1]}[{begin}]"
        return f"{low} < {high} && {elements} >= {LONG} * ((ptrdiff_t){high} - (ptrdiff_t){low})"
    return None


def _changed(node: c_ast.Node, bound: BoundNames) -> set[Symbol | None]:
    """The variables that a part of a program declares or sets, or of which it takes the address."""
    out: set[Symbol | None] = {*written(node, bound)}
    for x in walk_tree(node):
        match x:
            case c_ast.Decl():
                out.add(bound.symbol(x))
            case c_ast.UnaryOp(op="&", expr=target):
                out.add(bound.symbol(root_of(target)))
            case _:
                pass
    return out - {None}


def _called(name: str, node: c_ast.Node, bound: BoundNames) -> set[Symbol | None]:
    """The variables that a name means in a part of a program."""
    return {bound.symbol(x) for x in walk_tree(node) if isinstance(x, c_ast.ID) and x.name == name}


def _is_single(node: c_ast.Node) -> bool:
    """Whether there may not be two of what is written."""
    return isinstance(node, _JUMPS) or (isinstance(node, c_ast.Decl) and "static" in (node.storage or ()))


def _first(init: c_ast.Node | None) -> tuple[c_ast.Node | None, str]:
    match init:
        case c_ast.DeclList(decls=[c_ast.Decl(name=name, init=value)]):
            return value, str(name)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
            return value, str(name)
        case _:
            return None, ""


def _is_plain(node: c_ast.Node) -> bool:
    return all(isinstance(x, _PARTS) for x in walk_tree(node))
