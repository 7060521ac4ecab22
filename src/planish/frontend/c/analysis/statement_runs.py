"""Runs of statements of one block: where they hold a loop, and what at their ends stays outside of a kernel.

>>> from pycparser.c_parser import CParser
>>> text = "void f() { int i; i = 0; for (;;) a[i] = 1; i = 2; }"
>>> items = CParser().parse(text).ext[0].body.block_items
>>> [has_loop(x) for x in items], behind_last(items)
([False, False, True, False], 3)
"""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from planish.frontend.c.analysis.scope import BoundNames, Symbol, is_pointer, written
from planish.frontend.c.idioms.memory_calls import BLOCK_FUNCTIONS
from planish.frontend.c.numbers.library_calls import BUILT_IN
from planish.frontend.c.translate.addresses import call_name
from planish.frontend.c.types.constants import STEPS, fold, walk_tree

LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)


def segments(items: list[c_ast.Node]) -> Iterator[list[c_ast.Node]]:
    """The statements between `#pragma scop` and `#pragma endscop` stay together and apart from the rest."""
    segment: list[c_ast.Node] = []
    for item in items:
        if isinstance(item, c_ast.Pragma):
            words = str(item.string).split() if isinstance(item.string, str) else []
            if words in (["scop"], ["endscop"]):
                yield segment
                segment = []
            continue
        segment.append(item)
    yield segment


def has_loop(node: c_ast.Node) -> bool:
    """Whether a statement is or holds a loop."""
    return any(is_loop(x) for x in walk_tree(node))


def is_loop(node: c_ast.Node) -> bool:
    """Whether a node is a loop; `do { … } while (0)` is how macros make one statement of several.

    >>> from pycparser.c_parser import CParser
    >>> items = CParser().parse("void f() { do { g(); } while (0); do g(); while (x); }").ext[0].body.block_items
    >>> [is_loop(x) for x in items]
    [False, True]
    """
    return isinstance(node, LOOPS) and not (isinstance(node, c_ast.DoWhile) and fold(node.cond, {}) == 0)


def first_inside(run: list[c_ast.Node], bound: BoundNames) -> int:
    """Declarations and scalar definitions in front stay outside: what they set enters as a value."""
    start = 0
    for n, node in enumerate(run):
        if has_loop(node):
            break
        if isinstance(node, (c_ast.Decl, c_ast.EmptyStatement)):
            start = n + 1
            continue
        if not isinstance(node, (c_ast.Assignment, c_ast.UnaryOp)) or not _sets_scalars(node, bound):
            break
        later: set[Symbol] = set()
        for other in run[n + 1 :]:
            later |= written(other, bound)
        if written(node, bound) & {x for x in later if not is_pointer(x)}:
            break
        start = n + 1
    # A declaration further in must not take a name away from the statements behind the region.
    return start


def _sets_scalars(node: c_ast.Node, bound: BoundNames) -> bool:
    while isinstance(node, c_ast.Assignment):
        if not isinstance(node.lvalue, c_ast.ID):
            return False
        node = node.rvalue
    if isinstance(node, c_ast.UnaryOp) and node.op in STEPS:
        return isinstance(node.expr, c_ast.ID)
    return True


def behind_last(run: list[c_ast.Node]) -> int:
    """Scalar statements behind the last loop or store stay outside."""
    for n in range(len(run), 0, -1):
        node = run[n - 1]
        if has_loop(node) or isinstance(node, c_ast.If):
            return n
        if isinstance(node, c_ast.Assignment) and not isinstance(node.lvalue, c_ast.ID):
            return n
        if isinstance(node, c_ast.FuncCall) and call_name(node).removeprefix(BUILT_IN) in BLOCK_FUNCTIONS:
            return n
    return 0
