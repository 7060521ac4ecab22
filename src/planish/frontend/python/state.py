"""The state of reading a function: names and their types, what was written so far, and under which conditions.

A function is read several times, until the types of its local names agree with what is assigned to them.

>>> from planish.frontend.python.text import find_in_text
>>> text = find_in_text("def f():\\n    for i in range(4):\\n        k = 2 * i\\n        s = k * 0.5\\n", "<text>", "f")
>>> scan_names(text).symbolic == {"k"}, scan_names(text).iterators == {"i"}
(True, True)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from planish.core.span import Span
from planish.frontend.python.arithmetic import Kind, TypedValue, meet
from planish.frontend.python.text import FunctionText
from planish.ir.expr import Binary, Expr, Load
from planish.ir.nest import Array, Stmt
from planish.ir.types import BOOL, Type

_INDEX_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


@dataclass(frozen=True, slots=True)
class LocalNames:
    """Names that a function sets: loop variables, other locals, and those locals that only ever hold index values."""

    iterators: frozenset[str]
    locals: frozenset[str]
    symbolic: frozenset[str]


@dataclass(slots=True)
class PythonTranslation:
    """The state of one reading of a function. `uncounted`: some loop runs as long as a condition holds or, where the
    function is read so (`by_data`), data say how far one goes or what is stored to. What is computed may then stand in
    subscripts and bounds, and branches stay branches."""

    text: FunctionText
    sizes: tuple[str, ...]
    scalars: Mapping[str, TypedValue]
    arrays: Mapping[str, Array]
    names: LocalNames
    symbolic: set[str]
    known: Mapping[str, Kind] = field(default_factory=dict)
    declared: Mapping[str, Type] = field(default_factory=dict)
    found: dict[str, Kind] = field(default_factory=dict)
    clashes: dict[str, tuple[ast.AST, Kind, Kind]] = field(default_factory=dict)
    iterators: dict[str, Expr] = field(default_factory=dict)
    values: dict[str, Expr] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    guards: list[Expr] = field(default_factory=list)
    out: list[Stmt] = field(default_factory=list)
    accesses: dict[tuple[str, tuple[Expr, ...]], Span] = field(default_factory=dict)
    assumptions: list[Expr] = field(default_factory=list)
    asserted: list[tuple[Expr, str]] = field(default_factory=list)
    temporaries: int = 0
    demoted: bool = False
    positive: set[str] = field(default_factory=set)
    by_data: bool = False
    uncounted: bool = field(init=False)

    def __post_init__(self) -> None:
        self.uncounted = any(map(self._goes_by_data, ast.walk(self.text.function)))

    def _goes_by_data(self, node: ast.AST) -> bool:
        """Whether a node is a loop without a count, or one whose bounds are computed, or an element that is computed
        which, but for tables that are read."""
        match node:
            case ast.While():
                return True
            case _ if not self.by_data:
                return False
            case ast.Call(func=ast.Name(id="range"), args=parts):
                return any(self._holds_data(x, True) for x in parts)
            case ast.Subscript(value=value, slice=at) if not isinstance(value, ast.Attribute):
                return self._holds_data(at, isinstance(node.ctx, ast.Store))
            case _:
                return False

    def _holds_data(self, node: ast.expr, elements: bool) -> bool:
        """Whether an expression reads a local cell, or, if these are asked for, an element of an array."""
        cells = self.names.locals - self.names.symbolic
        return any(
            (isinstance(x, ast.Name) and x.id in cells)
            or (elements and isinstance(x, ast.Subscript) and not isinstance(x.value, ast.Attribute))
            for x in ast.walk(node)
        )

    def fail(self, node: ast.AST, code: str, message: str, advice: str = "") -> NoReturn:
        """Raise PlanishError at a node."""
        self.text.fail(node, code, message, advice)

    @contextmanager
    def inside(self) -> Iterator[list[Stmt]]:
        """Statements written meanwhile go to a list of their own."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def kind_of(self, name: str) -> Kind | None:
        """The type of a local cell as far as it is known."""
        if name in self.declared:
            return self.declared[name], False
        return self.known.get(name) or self.found.get(name)

    def record(self, name: str, kind: Kind, node: ast.AST) -> Type:
        """A value of that kind is assigned to a local cell; gives the type that the cell has."""
        if name in self.declared:
            return self.declared[name]
        before = self.found.get(name)
        after = kind if before is None else joined(before, kind)
        if after is None:
            assert before is not None
            self.clashes.setdefault(name, (node, before, kind))
            after = meet(before, kind)
        self.found[name] = after
        return (self.known.get(name) or after)[0]

    def demote(self, name: str) -> None:
        """The name does not always hold one index value: it becomes a cell in the next reading."""
        self.symbolic.discard(name)
        self.demoted = True

    def temporary(self, type: Type) -> str:
        """A fresh cell."""
        self.temporaries += 1
        taken = {*self.sizes, *self.scalars, *self.arrays, *self.names.locals, *self.names.iterators}
        name = f"t{self.temporaries}"
        while name in taken:
            name = f"{name}_"
        self.found[name] = (type, False)
        self.assigned.add(name)
        return name

    def guard(self) -> Expr | None:
        """The conditions on data that hold here, if any."""
        if not self.guards:
            return None
        out = self.guards[0]
        for condition in self.guards[1:]:
            out = Binary("and", out, condition)
        return out

    def load(self, array: str, index: tuple[Expr, ...], node: ast.AST) -> Load:
        """The element of a parameter, its place remembered."""
        self.touch(array, index, node)
        return Load(array, index, self.arrays[array].type)

    def touch(self, array: str, index: tuple[Expr, ...], node: ast.AST) -> None:
        """Remember where an element is accessed first."""
        self.accesses.setdefault((array, index), self.text.span_of(node))


def joined(a: Kind, b: Kind) -> Kind | None:
    """The type of a name that holds both kinds at different times; None where neither gives way."""
    if a == b:
        return a
    (one, one_weak), (other, other_weak) = a, b
    if one_weak and other_weak:
        return meet(a, b)
    if one_weak == other_weak or BOOL in (one, other):
        return a if one == other else None
    strong, giving = (b, a) if one_weak else (a, b)
    return strong if strong[0].is_float or giving[0].is_int else None


def scan_names(text: FunctionText) -> LocalNames:
    """Which names the function sets, and how."""
    iterators: set[str] = set()
    plain: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(text.function):
        match node:
            case ast.For(target=ast.Name(id=name)):
                iterators.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                plain.setdefault(name, []).append(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Attribute(attr="shape")):
                for target in targets:
                    if isinstance(target, ast.Name):
                        plain.setdefault(target.id, [])
            case ast.Name(id=name, ctx=ast.Store()):
                plain.setdefault(name, [])
            case ast.AugAssign(target=ast.Name(id=name)) | ast.AnnAssign(target=ast.Name(id=name)):
                plain.setdefault(name, []).append(None)
            case _:
                pass
    written = {x.id for x in ast.walk(text.function) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    shaped = {x.id for node in ast.walk(text.function) for x in _unpacked(node)}
    counted = _stores(text.function)
    held = {n: v for n, v in plain.items() if n not in iterators and n not in shaped}
    symbolic = {n for n, v in held.items() if v and len(v) == counted[n] and all(_is_index(x) for x in v)}
    while True:
        bad = {n for n in symbolic if not all(_reads_index(x, symbolic | shaped, iterators, held) for x in held[n])}
        # A name that depends on its own earlier value is no function of the loop variables.
        bad |= {n for n in symbolic if _depends(n, n, held, frozenset())}
        if not bad:
            break
        symbolic -= bad
    return LocalNames(frozenset(iterators), frozenset(written - iterators), frozenset(symbolic | shaped))


def _unpacked(node: ast.AST) -> list[ast.Name]:
    """Names set by `n, m = A.shape`."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Attribute(attr="shape")):
            return [x for x in targets if isinstance(x, ast.Name)]
        case _:
            return []


def _stores(function: ast.FunctionDef) -> dict[str, int]:
    out: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            out[node.id] = out.get(node.id, 0) + 1
    return out


def _is_index(value: ast.expr | None) -> bool:
    """Whether an expression is made of what index values are made of."""
    match value:
        case ast.Constant(value=number):
            return type(number) is int
        case ast.Name() | ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant()):
            return True
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=x):
            return _is_index(x)
        case ast.BinOp(left=a, op=op, right=b):
            return isinstance(op, _INDEX_OPERATORS) and _is_index(a) and _is_index(b)
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Call(func=ast.Name(id="min" | "max"), args=arguments, keywords=[]):
            return all(_is_index(x) for x in arguments)
        case _:
            return False


def _reads_index(
    value: ast.expr | None, symbolic: set[str], iterators: set[str], held: Mapping[str, list[ast.expr | None]]
) -> bool:
    names = {x.id for x in ast.walk(value) if isinstance(x, ast.Name)} if value is not None else set()
    return all(n in symbolic or n in iterators or n not in held for n in names)


def _depends(name: str, on: str, held: Mapping[str, list[ast.expr | None]], seen: frozenset[str]) -> bool:
    for value in held.get(name, []):
        if value is None:
            continue
        for x in ast.walk(value):
            if isinstance(x, ast.Name) and x.id not in seen:
                if x.id == on or _depends(x.id, on, held, seen | {x.id}):
                    return True
    return False
