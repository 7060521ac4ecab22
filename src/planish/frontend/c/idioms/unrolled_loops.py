"""Loops that are read an iteration at a time, since a constant table chooses what they store to: `out[order[i]] = i`.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> text = "static const int t[2] = {1, 0}; void f(int *a) { for (int i = 0; i < 2; i++) a[t[i]] = i; }"
>>> tree = CParser().parse(text)
>>> bound = bind_function(tree.ext[1], bind_file(tree))
>>> [len(x) for x in loops_over_tables(bound.function.body.block_items, bound)]
[1, 1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, written
from planish.frontend.c.translate.state import CTranslation, Refused
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CArray, CScalar
from planish.ir.expr import CompareOp, Expr
from planish.ir.index.polynomial import constant
from planish.ir.nest import Block

MOST_UNROLLED = 65
"""Iterations of such a loop, and one more."""


def loops_over_tables(nodes: Iterable[c_ast.Node], bound: BoundNames) -> tuple[frozenset[int], frozenset[int]]:
    """The ids of the loops with a constant end whose counters choose elements of constant tables of integers, and those
    of the nodes that read these."""
    loops: set[int] = set()
    reads: set[int] = set()
    if not any(_is_table(x) for x in (*bound.symbols, *bound.file.symbols.values())):
        return frozenset(), frozenset()
    for loop in (x for node in nodes for x in walk_tree(node) if isinstance(x, c_ast.For)):
        cond = loop.cond
        if not isinstance(cond, c_ast.BinaryOp) or bound.value(cond.right) is None or loop.next is None:
            continue
        counters = written(loop.next, bound)
        elements = (x for x in walk_tree(loop.stmt) if isinstance(x, c_ast.ArrayRef))
        elements = (x for x in elements if _is_table(bound.symbol(x.name)))
        found = {id(x) for x in elements if any(bound.symbol(y) in counters for y in walk_tree(x.subscript))}
        reads |= found
        loops |= {id(loop)} if found else set()
    return frozenset(loops), frozenset(reads)


def _is_table(symbol: Symbol | None) -> bool:
    if symbol is None or not symbol.const or not isinstance(symbol.ctype, CArray):
        return False
    if not isinstance(symbol.ctype.element, CScalar) or not symbol.ctype.element.type.is_int:
        return False
    return isinstance(symbol.init, c_ast.InitList) and (symbol.storage == "global" or symbol.static)


class LoopCondition(Protocol):
    """`difference op 0`."""

    @property
    def op(self) -> CompareOp: ...
    @property
    def difference(self) -> Expr: ...


def run_each(
    cond: c_ast.Node, tests: Callable[[], Sequence[LoopCondition]], iterate: Callable[[], None], cx: CTranslation
) -> None:
    """Translate each iteration of a loop by itself. Raises Refused where it is not known how many there are, or these
    are not few."""
    for _ in range(MOST_UNROLLED):
        left = [(x.op, constant(x.difference)) for x in tests()]
        if any(value is None for _, value in left):
            raise Refused("scop-bound", "the number of iterations of the loop is not known", cond)
        if not all(holds(op, value or 0) for op, value in left):
            return
        with cx.inside() as body:
            iterate()
        cx.emit(Block(tuple(body)))
    raise Refused("scop-bound", "the loop has too many iterations to be read one by one", cond)


def holds(op: CompareOp, value: int) -> bool:
    """Whether `value op 0`.

    >>> holds("lt", -1), holds("ne", 0)
    (True, False)
    """
    known = {"eq": value == 0, "ne": value != 0, "lt": value < 0, "le": value <= 0, "gt": value > 0, "ge": value >= 0}
    return known[op]
