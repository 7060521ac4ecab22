"""Small arrays of addresses, or of subscripts, that a function has for itself: each element as a variable of its own.

Before: const int *row[2]; row[0] = a; row[1] = row[0] + n; s = sum(row, i);
After:  const int *row[0], *row[1]; row[0] = a; row[1] = row[0] + n; s = sum by elements(row[0], row[1], i);

Each variable is named as its element is written, so that what reads it is C as before. Only what is inlined sees the
second function, which the text does not have.

>>> from pycparser.c_generator import CGenerator
>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file
>>> head = "static int sum(int *row[2], int i) { return row[0][i] + row[1][i]; } "
>>> tree = CParser().parse(head + "int f(int *a, int n) { int *row[2] = {a, a + n}; return sum(row, n - 1); }")
>>> scope = bind_file(tree)
>>> AddressTables(scope).rewrite(tree.ext[-1])
>>> print(CGenerator().visit(tree.ext[-1].body).strip())
{
  int *row[0] = a;
  int *row[1] = a + n;
  return sum by elements(row[0], row[1], n - 1);
}
>>> print(CGenerator().visit(scope.functions["sum by elements"].decl))
static int sum by elements(int *row[0], int *row[1], int i)
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

from pycparser import c_ast

from planish.frontend.c.analysis.escape import called_name
from planish.frontend.c.analysis.scope import FileScope
from planish.frontend.c.types.constants import STEPS, fold, walk_tree
from planish.frontend.c.types.declarations import CPointer, CScalar, resolve
from planish.frontend.c.types.records import BY_ELEMENTS

MOST = 32
"""The elements that are worth as many variables."""
_Tables = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _ByElements:
    """A function by another name, and how many elements are given for each of its arguments (0: it is no table)."""

    name: str
    elements: tuple[int, ...]


class AddressTables:
    """What is made of the functions of a file."""

    def __init__(self, scope: FileScope) -> None:
        self._scope = scope
        self._made: dict[tuple[str, tuple[int, ...]], _ByElements | None] = {}

    def rewrite(self, function: c_ast.FuncDef) -> None:
        """Declare the elements in the place of the arrays of a function that are such tables."""
        declared = [x for x in walk_tree(function) if isinstance(x, c_ast.Decl) and x.name is not None]
        local, known = [x for x in declared if x not in _parameters(function)], self._enumerators(function)
        counts = {x.name: n for x in local if (n := self._elements(x, known))}
        once = {x: n for x, n in counts.items() if sum(y.name == x for y in declared) == 1}
        tables = {x: n for x, n in once.items() if self._is_taken_apart(function, {x: n}, stored=True)}
        numbers = {x.name for x in declared if x.name in tables and not self._holds_addresses(x)}
        tables = {x: n for x, n in tables.items() if x not in numbers or self._chooses(function.body, x)}
        if tables:
            self._replace(function, tables)

    def _enumerators(self, function: c_ast.FuncDef) -> Mapping[str, int]:
        """Those of the file that mean the same all over a function: no declaration in it has their names."""
        own = {x.name for x in walk_tree(function) if isinstance(x, c_ast.Decl | c_ast.Enumerator | c_ast.Typedef)}
        return {x: n for x, n in self._scope.constants.items() if x not in own}

    def _elements(self, declared: c_ast.Decl, enumerators: Mapping[str, int]) -> int:
        """How many elements a local array of addresses or of whole numbers has; 0 where it is something else."""
        array = declared.type
        if not isinstance(array, c_ast.ArrayDecl) or {"static", "extern"} & {*declared.storage}:
            return 0
        listed = declared.init
        if listed is not None and (
            not isinstance(listed, c_ast.InitList)
            or any(isinstance(x, c_ast.NamedInitializer | c_ast.InitList) for x in listed.exprs)
        ):
            return 0
        count = None if array.dim is None else fold(array.dim, enumerators)
        if array.dim is None and listed is not None:
            count = len(listed.exprs)
        held = resolve(array.type, self._scope.typedefs)
        fits = isinstance(held, CPointer) or (isinstance(held, CScalar) and held.type.is_int and held.type.bits >= 32)
        given = 0 if listed is None else len(listed.exprs)
        whole = isinstance(count, int) and 0 < count <= MOST and given in (0, count)
        return count if whole and fits and isinstance(count, int) else 0

    def _holds_addresses(self, declared: c_ast.Decl) -> bool:
        return isinstance(resolve(declared.type.type, self._scope.typedefs), CPointer)

    def _is_taken_apart(self, function: c_ast.FuncDef, tables: _Tables, stored: bool) -> bool:
        """Whether all that is done with tables is to read elements of known numbers, or to pass the table to a function
        which does no more; `stored`: or to set such elements."""
        named = sum(isinstance(x, c_ast.ID) and x.name in tables for x in walk_tree(function.body))
        known, enumerators = 0, self._enumerators(function)
        for node in walk_tree(function.body):
            match node:
                case c_ast.Decl(name=name) if name in tables and not stored:
                    return False
                case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=c_ast.ID(name=name))) if name in tables:
                    return False
                case c_ast.UnaryOp(op=op, expr=c_ast.ArrayRef(name=c_ast.ID(name=name))) if (
                    op in STEPS and name in tables and not stored
                ):
                    return False
                case c_ast.Assignment(lvalue=c_ast.ArrayRef(name=c_ast.ID(name=name))) if name in tables and not stored:
                    return False
                case c_ast.ArrayRef(name=c_ast.ID(name=name), subscript=number) if name in tables:
                    at = fold(number, enumerators)
                    known += isinstance(at, int) and 0 <= at < tables[name]
                case c_ast.FuncCall() if node.args is not None and called_name(node) in self._scope.functions:
                    given = [tables.get(x.name, 0) if isinstance(x, c_ast.ID) else 0 for x in node.args.exprs]
                    if any(given) and self._by_elements(called_name(node), tuple(given)) is not None:
                        known += sum(x > 0 for x in given)
                case _:
                    pass
        return known == named

    def _chooses(self, body: c_ast.Node, name: str) -> bool:
        """Whether an element is a subscript, or is passed to be one."""
        for node in walk_tree(body):
            match node:
                case c_ast.ArrayRef(name=c_ast.ID(), subscript=subscript):
                    if any(isinstance(x, c_ast.ID) and x.name == name for x in walk_tree(subscript)):
                        return True
                case c_ast.FuncCall(args=c_ast.ExprList(exprs=given)) if called_name(node) in self._scope.functions:
                    if any(isinstance(x, c_ast.ID) and x.name == name for x in given):
                        return True
                case _:
                    pass
        return False

    def _by_elements(self, name: str, given: tuple[int, ...]) -> _ByElements | None:
        """The function with elements in the place of tables among its arguments; None where it needs these whole."""
        if (name, given) not in self._made:
            self._made[name, given] = None  # as far as it calls itself
            self._made[name, given] = self._make(self._scope.functions[name], given)
        return self._made[name, given]

    def _make(self, function: c_ast.FuncDef, given: tuple[int, ...]) -> _ByElements | None:
        parameters = _parameters(function)
        if len(parameters) != len(given) or not all(isinstance(x, c_ast.Decl) for x in parameters):
            return None
        chosen = [(x, n) for x, n in zip(parameters, given, strict=True) if n]
        if not all(isinstance(x.type, c_ast.ArrayDecl | c_ast.PtrDecl) for x, _ in chosen):
            return None
        tables = {x.name: n for x, n in chosen}
        if not self._is_taken_apart(function, tables, stored=False):
            return None
        made = deepcopy(function)
        params: list[c_ast.Node] = []
        for parameter, count in zip(made.decl.type.args.params, given, strict=True):
            params += _declared(parameter, count) if count else [parameter]
        self._replace(made, tables)
        made.decl.type.args.params = params
        made.decl.name = f"{function.decl.name}{BY_ELEMENTS}"
        while made.decl.name in self._scope.functions:
            made.decl.name += "_"
        _rename(made.decl.type.type, made.decl.name)
        self._scope.functions[made.decl.name] = made
        return _ByElements(made.decl.name, given)

    def _replace(self, function: c_ast.FuncDef, tables: _Tables) -> None:
        """Put variables in the place of the elements of tables."""
        enumerators = self._enumerators(function)

        def instead(x: object) -> list[c_ast.Node]:
            match x:
                case c_ast.ArrayRef(name=c_ast.ID(name=name), subscript=number) if name in tables:
                    return [c_ast.ID(f"{name}[{fold(number, enumerators)}]", x.coord)]
                case c_ast.Decl(name=name) if name in tables:
                    return [*_declared(x, tables[name])]
                case c_ast.ID(name=name) if name in tables:
                    return [c_ast.ID(f"{name}[{n}]", x.coord) for n in range(tables[name])]
                case _:
                    assert isinstance(x, c_ast.Node)
                    return [x]

        for part in [*walk_tree(function.body)]:
            if isinstance(part, c_ast.FuncCall) and part.args is not None:
                given = tuple(tables.get(x.name, 0) if isinstance(x, c_ast.ID) else 0 for x in part.args.exprs)
                if any(given) and (made := self._by_elements(called_name(part), given)) is not None:
                    part.name = c_ast.ID(made.name, part.coord)
            for slot in part.__slots__:
                match getattr(part, slot, None):
                    case list() as items if items and all(isinstance(x, c_ast.Node) for x in items):
                        items[:] = [y for x in items for y in instead(x)]
                    case c_ast.ArrayRef() as element:
                        setattr(part, slot, instead(element)[0])
                    case _:
                        pass


def _parameters(function: c_ast.FuncDef) -> list[c_ast.Node]:
    arguments = function.decl.type.args
    return list(arguments.params) if arguments is not None else []


def _declared(table: c_ast.Decl, count: int) -> list[c_ast.Decl]:
    """The elements of a table as variables; what they have in common stands in the text once."""
    listed = [None] * count if table.init is None else table.init.exprs
    made = []
    for n, value in enumerate(listed):
        name, ctype = f"{table.name}[{n}]", deepcopy(table.type.type)
        _rename(ctype, name)
        made.append(c_ast.Decl(name, table.quals, [], table.storage, table.funcspec, ctype, value, None, table.coord))
    return made


def _rename(ctype: c_ast.Node, name: str) -> None:
    """Give what a type declares another name."""
    while not isinstance(ctype, c_ast.TypeDecl):
        ctype = ctype.type
    ctype.declname = name


__all__ = ["AddressTables"]
