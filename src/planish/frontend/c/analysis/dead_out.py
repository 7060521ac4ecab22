"""Arrays dead on exit: locals whose content nothing reads after a kernel, which may leave anything in them.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "void f(int n, float *a) { float t[9]; for (int i = 0; i < n; i++) { t[i] = a[i]; a[i] += t[i]; } }"
>>> read_c(Source("f.c", text)).functions[0].regions[0].scratch
('t',)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycparser import c_ast

from planish.frontend.c.analysis.escape import keeps
from planish.frontend.c.analysis.liveness import Live
from planish.frontend.c.analysis.scope import BoundNames, Symbol
from planish.frontend.c.idioms.memory_calls import BLOCK_FUNCTIONS
from planish.frontend.c.translate.addresses import call_name
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer, CType
from planish.ir.nest import Kernel
from planish.ir.passes.own_cells import with_own_cells

_ALLOCATORS = frozenset({"malloc", "calloc", "aligned_alloc"})


def is_scratch(symbol: Symbol, nodes: Sequence[c_ast.Node], live: Live, bound: BoundNames) -> bool:
    """Whether nothing of an array is read behind the statements `nodes`, behind which the variables in `live` may be.

    That is so for an array on the stack that is not mentioned any more, and for memory that the function has allocated
    for these statements alone and does nothing with but free it; nowhere may an address of it be kept.
    """
    if symbol.storage != "local" or symbol.lasting or bound.jumps:
        return False
    if isinstance(symbol.ctype, CArray):
        return symbol not in live and not _other_uses(bound.function.body, symbol, bound)
    if not isinstance(symbol.ctype, CPointer):
        return False
    # The statements run once for each allocation: both stand in the outermost block of the function.
    outermost = bound.function.body.block_items or []
    if any(all(x is not node for x in outermost) for node in nodes):
        return False
    inside = [x for node in nodes for x in _other_uses(node, symbol, bound)]
    others = [x for x in outermost if all(x is not node for node in nodes) and any(_mentions(x, symbol, bound))]
    return not inside and all(_allocates_or_frees(x, symbol, bound) for x in others)


def with_cells_inside(kernel: Kernel, nodes: Sequence[c_ast.Node], bound: BoundNames) -> Kernel:
    """The kernel of statements, in which the cells of arrays on the stack are declared that nothing else mentions and
    that it writes before it reads them: whenever the statements are run, they find nothing in these."""
    by_key = bound.by_key()
    for array in kernel.arrays:
        if array.shape and _is_mentioned_only_in(by_key[array.name], nodes, bound):
            kernel = with_own_cells(kernel, array.name)
    return kernel


def _is_mentioned_only_in(symbol: Symbol, nodes: Sequence[c_ast.Node], bound: BoundNames) -> bool:
    """Whether an array on the stack is declared outside of some statements, and mentioned in no others, and nothing
    keeps an address of it."""
    if symbol.storage != "local" or symbol.lasting or bound.jumps or not isinstance(symbol.ctype, CArray):
        return False
    everywhere, inside = [*_mentions(bound.function.body, symbol, bound)], [_mentions(x, symbol, bound) for x in nodes]
    within = {id(y) for x in inside for y in x}
    others = [x for x in everywhere if id(x) not in within]
    if not all(isinstance(x, c_ast.Decl) and x.init is None for x in others):
        return False
    return not any(keeps(x, symbol.name, bound.file.functions) for x in nodes)


def _mentions(node: c_ast.Node, symbol: Symbol, bound: BoundNames) -> Iterator[c_ast.Node]:
    return (x for x in walk_tree(node) if isinstance(x, (c_ast.ID, c_ast.Decl)) and bound.symbol(x) is symbol)


def _other_uses(node: c_ast.Node, symbol: Symbol, bound: BoundNames) -> list[c_ast.Node]:
    """The places that do something else with an array than to read or write an element, or to clear or copy it."""
    match node:
        case c_ast.ArrayRef():
            base, subscripts = node, []
            while isinstance(base, c_ast.ArrayRef):
                subscripts.append(base.subscript)
                base = base.name
            if isinstance(base, c_ast.ID) and bound.symbol(base) is symbol and len(subscripts) == _rank(symbol.ctype):
                return [x for s in subscripts for x in _other_uses(s, symbol, bound)]
        case c_ast.UnaryOp(op="&"):
            return list(_mentions(node, symbol, bound))
        case c_ast.UnaryOp(op="sizeof"):
            return []
        case c_ast.FuncCall() if call_name(node) in BLOCK_FUNCTIONS - bound.file.defined and node.args is not None:
            others = [x for x in node.args.exprs if not isinstance(x, c_ast.ID)]
            return [x for arg in others for x in _other_uses(arg, symbol, bound)]
        case c_ast.ID() if bound.symbol(node) is symbol:
            return [node]
        case _:
            pass
    return [x for _, child in node.children() for x in _other_uses(child, symbol, bound)]


def _rank(ctype: CType) -> int:
    match ctype:
        case CArray(element=inner) | CPointer(target=inner):
            return 1 + _rank(inner)
        case _:
            return 0


def _allocates_or_frees(node: c_ast.Node, symbol: Symbol, bound: BoundNames) -> bool:
    """Whether a statement is `x = malloc(..)`, a test whether there was memory, or `free(x)`."""
    library = _ALLOCATORS - bound.file.defined
    match node:
        case c_ast.Decl(init=None):
            return True
        case c_ast.Decl(init=value) if bound.symbol(node) is symbol:
            return _is_allocation(value, library)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target, rvalue=value) if bound.symbol(target) is symbol:
            return _is_allocation(value, library)
        case c_ast.FuncCall(name=c_ast.ID(name="free"), args=c_ast.ExprList(exprs=[c_ast.ID() as freed])):
            return bound.symbol(freed) is symbol and "free" not in bound.file.defined
        case c_ast.If(cond=c_ast.UnaryOp(op="!", expr=c_ast.ID()), iftrue=then, iffalse=None):
            return not list(_mentions(then, symbol, bound))
        case _:
            return False


def _is_allocation(value: c_ast.Node, library: frozenset[str]) -> bool:
    while isinstance(value, c_ast.Cast):
        value = value.expr
    return isinstance(value, c_ast.FuncCall) and call_name(value) in library
