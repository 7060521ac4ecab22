"""What is known of functions of the file that nests call: their names apart from the caller's, and what they store.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file
>>> text = "void put(int *p, int v) { *p = v; } int f(int i) { return i; }"
>>> scope = bind_file(CParser().parse(text))
>>> frames = Frames(bind_function(scope.functions["f"], scope))
>>> frame = frames.enter((1,), scope.functions["put"])
>>> [x.key for x in frame.bound.parameters], frame.stores, sorted(x.name for x in frame.steering)
(['p', 'v'], True, [])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pycparser import c_ast

from planish.frontend.c.analysis.early_return import SingleExit, single_exit
from planish.frontend.c.analysis.escape import called_name
from planish.frontend.c.analysis.scope import (
    BoundNames,
    FileScope,
    Symbol,
    bind_function,
    is_constant,
    settings,
    written,
)
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CArray, CPointer, CScalar, resolve


@dataclass(slots=True)
class Frame:
    """One call of a function: its names, and its body with one exit.

    `written`: variables that it sets; `stores`: it writes to memory that is not its own; `steering`: variables that
    subscripts, addresses and bounds of loops depend on; `uses`: how often each of its variables is mentioned, those in
    loops more than once; `fault`: a variable outside of it that it sets, or that keeps its value between calls.
    """

    bound: BoundNames
    exit: SingleExit
    written: frozenset[Symbol]
    stores: bool
    steering: frozenset[Symbol]
    uses: dict[Symbol, int]
    fault: Symbol | None


@dataclass(slots=True)
class Frames:
    """The calls in one function, each by the way to it: the ids of the nodes that call."""

    caller: BoundNames
    known: dict[tuple[int, ...], Frame] = field(default_factory=dict)

    def enter(self, path: tuple[int, ...], callee: c_ast.FuncDef) -> Frame:
        """The frame of a call. Raises NotSingleExit."""
        if path not in self.known:
            self.known[path] = self._make(callee)
        return self.known[path]

    def _make(self, callee: c_ast.FuncDef) -> Frame:
        bound = bind_function(callee, self.caller.file, self.caller.symbols)
        result = resolve(callee.decl.type.type, bound.typedefs)
        taken = {s.key for s in bound.symbols} | set(bound.file.symbols)
        stem = f"{callee.decl.name}_result"
        key = next(x for n in range(1, len(taken) + 2) if (x := stem if n == 1 else f"{stem}_{n}") not in taken)
        exit = single_exit(callee, key)
        if exit.result is not None:
            symbol = Symbol(key, key, result, "local")
            bound.symbols.append(symbol)
            for node in (exit.result, *exit.uses):
                bound.by_node[id(node)] = symbol
        parts = [*exit.statements, *([exit.value] if exit.value is not None else [])]
        changed = frozenset(x for part in parts for x in written(part, bound))
        kept = (x for x in changed if x.static and x.storage == "local" and not is_constant(x))
        outside = [*(x for x in changed if x.storage == "global"), *kept]
        uses: dict[Symbol, int] = {}
        for part in parts:
            _count(part, 1, bound, uses)
        steering = _steering(parts, bound)
        stores = _stores(callee, bound.file)
        return Frame(bound, exit, changed, stores, steering, uses, next(iter(outside), None))


def _count(node: c_ast.Node, times: int, bound: BoundNames, uses: dict[Symbol, int]) -> None:
    if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
        times *= 8
    symbol = bound.symbol(node)
    if symbol is not None and isinstance(node, c_ast.ID):
        uses[symbol] = uses.get(symbol, 0) + times
    for _, child in node.children():
        _count(child, times, bound, uses)


def _stores(callee: c_ast.FuncDef, file: FileScope, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a function, or one that it calls, may write to something that is not its own."""
    name = callee.decl.name
    if name in seen:
        return False
    if name not in file.storing:
        found = _stores_itself(callee, file, seen | {name})
        if seen:
            return found  # of functions that call each other, not all may be known yet
        file.storing[name] = found
    return file.storing[name]


def _stores_itself(callee: c_ast.FuncDef, file: FileScope, seen: frozenset[str]) -> bool:
    bound = bind_function(callee, file)
    for node in walk_tree(callee.body):
        match node:
            case c_ast.Assignment(lvalue=target) | c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=target):
                while isinstance(target, c_ast.ArrayRef):
                    target = target.name
                symbol = bound.symbol(target)
                if symbol is None or symbol.storage == "global" or symbol.static:
                    return True
                if isinstance(symbol.ctype, CPointer) and not _is_variable(node):
                    return True
            case c_ast.FuncCall():
                name = called_name(node)
                if name in file.functions and _stores(file.functions[name], file, seen):
                    return True
            case _:
                pass
    return False


def _is_variable(node: c_ast.Assignment | c_ast.UnaryOp) -> bool:
    return isinstance(node.lvalue if isinstance(node, c_ast.Assignment) else node.expr, c_ast.ID)


def _steered(callee: c_ast.FuncDef, file: FileScope) -> frozenset[int]:
    """The positions of the arguments of a function that steer it."""
    name = callee.decl.name
    if name not in file.steered:
        file.steered[name] = frozenset()  # as far as it calls itself
        bound = bind_function(callee, file)
        steering = _steering([callee.body], bound)
        file.steered[name] = frozenset(n for n, x in enumerate(bound.parameters) if x in steering)
    return file.steered[name]


def _steering(parts: list[c_ast.Node], bound: BoundNames) -> frozenset[Symbol]:
    """The integer variables on which subscripts, addresses and bounds of loops depend."""
    nodes = [node for part in parts for node in walk_tree(part)]
    found = {s for node in nodes for x in _places(node, bound) for s in _named(x, bound)}
    given = [(symbol, value) for part in parts for symbol, value in settings(part, bound)]
    while True:
        more = {s for symbol, value in given if symbol in found for s in _named(value, bound)} - found
        if not more:
            return frozenset(x for x in found if isinstance(x.ctype, CScalar))
        found |= more


def _places(node: c_ast.Node, bound: BoundNames) -> Iterator[c_ast.Node]:
    """The parts of a node of which addresses or trip counts are made."""
    match node:
        case c_ast.ArrayRef(subscript=subscript):
            yield subscript
        case c_ast.UnaryOp(op="*", expr=operand):
            yield operand
        case c_ast.For(init=init, cond=cond, next=step):
            yield from (x for x in (init, cond, step) if x is not None)
        case c_ast.While(cond=cond) | c_ast.DoWhile(cond=cond):
            yield cond
        case c_ast.ArrayDecl(dim=dim) if dim is not None:
            yield dim
        case c_ast.BinaryOp(op="+" | "-", left=left, right=right):
            yield from (b for a, b in ((left, right), (right, left)) if _is_pointer(a, bound))
        case c_ast.Assignment(op="+=" | "-=", lvalue=left, rvalue=right) if _is_pointer(left, bound):
            yield right
        case c_ast.FuncCall(args=c_ast.ExprList(exprs=arguments)) if (
            name := called_name(node)
        ) in bound.file.functions:
            steered = _steered(bound.file.functions[name], bound.file)
            yield from (x for n, x in enumerate(arguments) if n in steered)
        case _:
            pass


def _is_pointer(node: c_ast.Node, bound: BoundNames) -> bool:
    return any(isinstance(s.ctype, CPointer | CArray) for s in _named(node, bound)) and not isinstance(
        node, c_ast.ArrayRef
    )


def _named(node: c_ast.Node, bound: BoundNames) -> Iterator[Symbol]:
    return (s for x in walk_tree(node) if isinstance(x, c_ast.ID) and (s := bound.symbol(x)) is not None)
