"""Elements that statements read and that no name in them changes: `w[i]` where neither `i` nor any `w[k]` is set.

>>> from pycparser.c_parser import CParser
>>> from pycparser.c_generator import CGenerator
>>> from planish.frontend.c.analysis.scope import bind_file, bind_function
>>> text = "void f(int i, int *w, int *a) { for (int k = 0; k < w[i]; k++) a[k] = w[k] + *w; }"
>>> bound = bind_function(CParser().parse(text).ext[0], bind_file(CParser().parse("")))
>>> body = bound.function.body.block_items
>>> found, _ = steady_reads(body, bound)
>>> [CGenerator().visit(x) for node in body for x in walk_tree(node) if id(x) in found]
['w[i]', '*w']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.scope import (
    BoundNames,
    ElementRead,
    StatementReads,
    Symbol,
    is_integer,
    settings,
    written,
)
from planish.frontend.c.types.constants import STEPS, walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer

_PLAIN, _STORED, _CHANGED = 1, 2, 4
"""What an expression holds: a structure, or something that is not known; what a store may change; what is set."""
_NONE: frozenset[Symbol] = frozenset()


def steady_reads(nodes: Iterable[c_ast.Node], bound: BoundNames) -> tuple[frozenset[int], frozenset[int]]:
    """The ids of the nodes that read such an element, which a store through another address may still change; and of
    those whose elements no name in them changes if they are addresses, which no nest stores."""
    changed, unsteady = set[Symbol | None](), set[Symbol | None]()
    reads: list[ElementRead] = []
    for node in nodes:
        declared, stored, own = _reads_of(node, bound)
        changed |= written(node, bound) | declared
        unsteady |= stored
        reads += own
    unsteady |= changed
    steady, addresses = set[int](), set[int]()
    for read, fault, symbols in reads:
        if not fault & _CHANGED and changed.isdisjoint(symbols):
            addresses.add(read)
        if not fault & ~_CHANGED and unsteady.isdisjoint(symbols):
            steady.add(read)
    return frozenset(steady), frozenset(addresses)


def _reads_of(node: c_ast.Node, bound: BoundNames) -> StatementReads:
    """What a statement declares, through which arrays and addresses it stores, and what elements it reads."""
    if (known := bound.reads_in.get(id(node))) is not None:
        return known[1]
    declared, stored = set[Symbol | None](), set[Symbol | None]()
    for x in walk_tree(node):
        match x:
            case c_ast.ID() | c_ast.Constant():
                continue
            case c_ast.Decl():
                declared.add(bound.symbol(x))
            case c_ast.Assignment(lvalue=target) | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=target):
                stored |= _stored_through(target, bound)
            case _:
                pass
    reading = _Reading(bound, [])
    reading.visit(node)
    found = frozenset(declared), frozenset(stored), tuple(reading.found)
    bound.reads_in[id(node)] = node, found
    return found


def _stored_through(target: c_ast.Node, bound: BoundNames) -> set[Symbol | None]:
    """The arrays and addresses to whose elements an lvalue may belong, by its names."""
    while isinstance(target, c_ast.ArrayRef | c_ast.StructRef):
        target = target.name
    found = {bound.symbol(x) for x in walk_tree(target) if isinstance(x, c_ast.ID)}
    return {x for x in found if x is None or isinstance(x.ctype, CPointer | CArray)}


def _reads(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.UnaryOp) and node.op == "*")


def _is_member(node: c_ast.Node) -> bool:
    """Whether it is a member of one of several structures in a row."""
    base = node.name if isinstance(node, c_ast.StructRef) else None
    return isinstance(base, c_ast.ArrayRef | c_ast.BinaryOp | c_ast.StructRef | c_ast.UnaryOp)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Expressions gone through once, the innermost first: what each read depends on."""

    bound: BoundNames
    found: list[ElementRead]

    def visit(self, node: c_ast.Node) -> tuple[int, frozenset[Symbol]]:
        """What keeps an expression from being steady in any case, as a sum of `_PLAIN`, `_STORED` and `_CHANGED`, and
        the variables that it holds."""
        match node:
            case c_ast.Constant():
                return 0, _NONE
            case c_ast.ID():
                return self._of_name(node)
            case c_ast.StructRef():
                faults = _PLAIN
            case c_ast.FuncCall() | c_ast.Assignment() | c_ast.Cast():
                faults = _PLAIN | _STORED | _CHANGED
            case c_ast.UnaryOp(op=op) if op in STEPS:
                faults = _PLAIN | _STORED | _CHANGED
            case _:
                faults = 0
        symbols = _NONE
        for part in node:
            more, names = self.visit(part)
            faults |= more
            symbols |= names
        if (read := _reads(node)) or _is_member(node):
            # Only a structure as a whole, and what is not known, is no reason against a member.
            own = faults if read else faults & ~_PLAIN
            self.found.append((id(node), own, symbols))
        return faults, symbols

    def _of_name(self, node: c_ast.ID) -> tuple[int, frozenset[Symbol]]:
        if id(node) in self.bound.constants:
            return 0, _NONE
        symbol = self.bound.symbol(node)
        if symbol is None:
            return (0 if self.bound.enumerator(node) is not None else _PLAIN), _NONE  # the name of a member
        return 0, frozenset((symbol,))


def computed_from_data(
    nodes: Iterable[c_ast.Node], bound: BoundNames, given: Iterable[Symbol] = (), steady: frozenset[int] = frozenset()
) -> frozenset[Symbol]:
    """Integer variables that are somewhere set from memory, from such a variable or one of those `given`: no index
    expression holds them. `steady`: ids of nodes that read what does not change."""
    sources = [(symbol, value) for node in nodes for symbol, value in settings(node, bound) if is_integer(symbol)]
    found = {*given}
    while fresh := {s for s, value in sources if s not in found and _reads_data(value, found, bound, steady)}:
        found |= fresh
    return frozenset(found).difference(given)


def _reads_data(value: c_ast.Node, found: set[Symbol], bound: BoundNames, steady: frozenset[int]) -> bool:
    for part in _walk_but(value, steady):
        if isinstance(part, c_ast.ArrayRef) or (isinstance(part, c_ast.UnaryOp) and part.op in ("*", "&", "sizeof")):
            # Differences of addresses and sizes of types hold such operators and may still be index expressions.
            return not any(isinstance(x, c_ast.UnaryOp) and x.op in ("&", "sizeof") for x in walk_tree(value))
        if isinstance(part, c_ast.ID) and bound.symbol(part) in found:
            return True
    return False


def _walk_but(node: c_ast.Node, left_out: frozenset[int]) -> Iterator[c_ast.Node]:
    """A tree without some of its parts."""
    if id(node) not in left_out:
        yield node
        for _, child in node.children():
            yield from _walk_but(child, left_out)
