"""Where arrays of a region begin: before their pointers, of `x[i - 3]`, behind them, of `x[c * n + i]` with a size c,
and behind what the function was called with.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> from planish.ir.index.polynomial import show
>>> tree = CParser().parse("void f(float *x, long s, int n) { x += 2 * s; x++; for (int i = 0; i < n; i++) x[i] = 0; }")
>>> bound = bind_function(tree.ext[0], bind_file(tree))
>>> {x: show(y) for x, y in moves_before(bound.function.body.block_items[2], bound).items()}
{'x': '2*s + 1'}
"""

from __future__ import annotations

from functools import reduce

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_integer, is_pointer, settings, step_of, written
from planish.frontend.c.translate.kernels import FinishedKernel
from planish.frontend.c.translate.region_types import distances_of
from planish.frontend.c.translate.state import Again, CTranslation, NotIndex, Refused
from planish.frontend.c.translate.subscripts import index_of
from planish.frontend.c.translation_unit import ArrayBase
from planish.frontend.c.types.constants import walk_tree
from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import add, mul, names, neg, place, sub
from planish.ir.nest import Kernel
from planish.ir.types import INDEX
from planish.poly.canonical.first_element import begin_at_first
from planish.poly.canonical.invariant_offset import begin_at_offset


def find_bases(finished: FinishedKernel, node: c_ast.Node, bound: BoundNames) -> tuple[Kernel, tuple[ArrayBase, ...]]:
    """The kernel of a region that begins with a statement, its arrays from the first elements on that it reaches; and
    which of them do not begin where their pointers pointed when the function was called."""
    texts = dict(finished.names)
    walked = {y for x in distances_of(finished) for y in (x.first, x.last)}
    pinned = {x.array for x in finished.recast} | {x.array for x in finished.spaced} | finished.views.keys()
    pinned |= {x.name for x in finished.kernel.arrays if texts[x.name] in walked or texts[x.name].startswith("&")}
    kernel, offsets = begin_at_offset(finished.kernel, pinned)
    kernel, before = begin_at_first(kernel, frozenset(pinned))
    before |= {x: sub(before.get(x, index(0)), y) for x, y in offsets.items()}
    moves = moves_before(node, bound)
    bases: list[ArrayBase] = []
    for x in kernel.arrays:
        row = [y for y in x.shape[1:] if y is not None]
        moved = mul(moves.get(texts[x.name], index(0)), reduce(mul, row, index(1)))
        if x.name in before or (x.name not in pinned and moved != index(0)):
            bases.append(ArrayBase(x.name, before.get(x.name, index(0)), moved))
    return kernel, tuple(bases)


def moves_before(node: c_ast.Node, bound: BoundNames) -> dict[str, Expr]:
    """The parameters that are pointers and the elements, over integers that are parameters, by which statements of the
    function's body have moved them before the one that `node` is, or is part of; none that change in another way."""
    changed = {symbol for symbol, _ in settings(bound.function.body, bound)}
    cx = CTranslation(bound, "strict", frozenset(), lambda _: None)
    fixed = {x.key: Var(x.name, INDEX) for x in bound.parameters if is_integer(x) and x not in changed}
    moves: dict[Symbol, Expr] = {}
    unknown: set[Symbol] = set()
    for item in bound.function.body.block_items or []:
        if any(x is node for x in walk_tree(item)):
            unknown |= written(item, bound) if item is not node else set()
            break
        moved = _move(item, bound, cx)
        if moved is None or not names(moved[1]) <= fixed.keys():
            unknown |= written(item, bound)
        else:
            moves[moved[0]] = add(moves.get(moved[0], index(0)), moved[1])
    own = {x for x in bound.parameters if is_pointer(x)}
    return {x.name: place(y, fixed) for x, y in moves.items() if x in own and x not in unknown}


def _move(item: c_ast.Node, bound: BoundNames, cx: CTranslation) -> tuple[Symbol, Expr] | None:
    """The variable that a statement adds to, and what; None for another statement."""
    match item:
        case _ if (found := step_of(item, bound)) is not None:
            return found[0], index(found[1])
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID() as target, rvalue=amount):
            symbol = bound.symbol(target)
            try:
                value = index_of(amount, cx).expr
            except (NotIndex, Refused, Again):
                return None
            value = neg(value) if item.op == "-=" else value
        case _:
            return None
    return (symbol, value) if symbol is not None else None


__all__ = ["find_bases", "moves_before"]
