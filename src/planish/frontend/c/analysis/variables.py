"""The variables of a file that a function works on, and what the file declares and does not define.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.analysis.scope import bind_file
>>> tree = CParser().parse("float a[8]; extern int n; int k = 3; void g(void) { a[k] = n; } void f(void) { g(); }")
>>> scope = bind_file(tree)
>>> variables = Variables(tree, scope, Forms(scope.records, {}), "")
>>> [(x.name, x.cell.count, x.initial) for x in variables.of("f")]
[('a', 8, False), ('k', 1, True), ('n', 1, False)]
>>> "planish_extern_0[64]" in variables.completion()
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pycparser import c_ast

from planish.frontend.c.analysis.scope import FileScope, Symbol, bind_function
from planish.frontend.c.translation_unit import Global, MemberCell
from planish.frontend.c.types.constants import walk_tree
from planish.frontend.c.types.declarations import CArray, CScalar
from planish.frontend.c.types.parameter_forms import Forms

LARGEST = 64 << 20
"""Bytes of variables that are set before a call; more of them keep what they have."""
_UNKNOWN = 1 << 16
"""Bytes for a variable of which the file does not say how large it is."""

_LABELS = """\
#define planish_spelt(x) #x
#define planish_label(prefix, name) planish_spelt(prefix) name
"""


class Variables:
    """The variables at file scope; those of headers in the folders `system` are the C library's."""

    def __init__(self, tree: c_ast.FileAST, scope: FileScope, forms: Forms, system: str | tuple[str, ...]) -> None:
        self._scope, self._forms = scope, forms
        self._declared: dict[str, list[c_ast.Decl]] = {}
        for node in tree.ext:
            if isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl):
                if not (system and node.coord is not None and str(node.coord.file).startswith(system)):
                    self._declared.setdefault(node.name, []).append(node)
        self._inside: dict[str, c_ast.Decl] = {}
        self._called = {
            x.name.name for x in walk_tree(tree) if isinstance(x, c_ast.FuncCall) and isinstance(x.name, c_ast.ID)
        }
        self._used = {name: self._names(node) for name, node in scope.functions.items()}
        self._points_to = {name: self._initial_names(name) for name in self._declared}

    def of(self, function: str) -> tuple[Global, ...]:
        """What a function, or one that it calls, names, and what addresses in that begin with; of constants there are
        none."""
        bytes_ = 0
        out: list[Global] = []
        for name in (x for x in sorted(self._reached(function)) if x in self._declared):
            for made in self._globals(name):
                bytes_ += made.cell.count * made.cell.type.size
                if bytes_ <= LARGEST:
                    out.append(made)
        return tuple(out)

    def outside(self, function: str) -> tuple[str, ...]:
        """What a function, or one that it calls, names and the file does not define: variables, and functions, of which
        some are the C library's."""
        known = {**self._declared, **self._inside}
        names = (x for x in sorted(self._reached(function)) if x not in self._used)
        return tuple(x for x in names if x in self._called or x in known and self._is_outside(x))

    def unseen(self, function: str) -> frozenset[str]:
        """Variables that a function, or one that it calls, may change, and that are in no list (`of`): no check
        compares what they hold. An address is what it points to."""
        listed = {x.text.partition(".")[0] for x in self.of(function)}
        names = {x for x in self._reached(function) if x in self._declared or x in self._inside}
        return frozenset(x for x in names - listed if not self._is_constant(x) and not self._is_known_address(x))

    def _is_known_address(self, name: str) -> bool:
        node = self._node(name)
        cell = self._forms.cell("", node)
        return cell is not None and cell.address and not self._is_outside(name)

    def reached(self, functions: Iterable[str]) -> set[str]:
        """Functions of some names, and what they, and those that they call, name."""
        found = {x for x in functions if x in self._used}
        return found.union(*map(self._reached, found))

    def _reached(self, function: str) -> set[str]:
        """What a function, and those that it calls, name, and what the initial values of that name."""
        names, left = set[str](), {function}
        while left:
            fresh = set[str]().union(*(self._used.get(x) or self._points_to.get(x) or () for x in left)) - names
            names |= fresh
            left = fresh
        return names

    def _initial_names(self, name: str) -> set[str]:
        found = (x.init for x in self._declared[name] if x.init is not None)
        return {x.name for init in found for x in walk_tree(init) if isinstance(x, c_ast.ID)}

    def completion(self) -> str:
        """C text that makes a library of the file whole: memory for variables that others define, and the definitions
        of functions that are only `inline`."""
        used = set[str]().union(*self._used.values()) if self._used else set[str]()
        lines = []
        outside = [x for x in {**self._declared, **self._inside} if x in used and self._is_outside(x)]
        for number, name in enumerate(outside):
            node = self._node(name)
            thread = "_Thread_local " if self._is_thread_local(node) else ""
            label = f'__asm__(planish_label(__USER_LABEL_PREFIX__, "{name}"))'
            held = f"planish_extern_{number}[{self._bytes(node)}]"
            lines.append(f"{thread}char {held} {label} __attribute__((aligned(64)));\n")
        if lines:
            lines.insert(0, _LABELS)
        for name, node in self._scope.functions.items():
            if "inline" in (node.decl.funcspec or []) and not {"static", "extern"} & {*(node.decl.storage or [])}:
                lines.append(f"extern __typeof__({name}) {name};\n")
        return "".join(lines)

    def _names(self, function: c_ast.FuncDef) -> set[str]:
        """What a function names that is not its own: variables, and functions."""
        bound = bind_function(function, self._scope)
        outside = set[Symbol]()
        for x in walk_tree(function.body):
            if isinstance(x, c_ast.Decl) and "extern" in (x.storage or []) and not isinstance(x.type, c_ast.FuncDecl):
                self._inside.setdefault(x.name, x)
                outside |= {symbol for symbol in [bound.symbol(x)] if symbol is not None}
        own = {x.name for x in bound.symbols if not isinstance(x.ctype, CScalar | CArray) and x not in outside}
        names = set[str]()
        for node in (x for part in (function.decl.type, function.body) for x in _walk_names(part)):
            match bound.symbol(node):
                case None if id(node) in bound.constants or node.name in own:
                    # The names of what is called are bound to nothing; a variable of the function's own that is called
                    # holds an address.
                    pass
                case Symbol(storage="parameter" | "local") as symbol if symbol not in outside:
                    pass
                case _:
                    names.add(node.name)
        return names

    def _node(self, name: str) -> c_ast.Decl:
        """The declaration that tells most: a definition, or one with a size."""
        nodes = self._declared.get(name) or [self._inside[name]]
        known = [x for x in nodes if self._forms.cell("", x) is not None]
        return next((x for x in nodes if x.init is not None), (known or nodes)[-1])

    def _is_outside(self, name: str) -> bool:
        """Whether the file only declares a variable."""
        return all("extern" in (x.storage or []) and x.init is None for x in self._declared.get(name, []))

    def _is_thread_local(self, node: c_ast.Decl) -> bool:
        return bool({"_Thread_local", "__thread", "thread_local"} & {*(node.storage or []), *(node.quals or [])})

    def _bytes(self, node: c_ast.Decl) -> str:
        """How large a variable is, at least, as C text behind all of the file."""
        cell = self._forms.cell("", node)
        if cell is not None:
            return str(max(64, 8 if cell.address else cell.count * cell.type.size))
        whole = node.name in self._declared and self._forms.is_whole(node)
        return f"sizeof({node.name}) + 64" if whole else str(_UNKNOWN)

    def _globals(self, name: str) -> Iterator[Global]:
        node, outside = self._node(name), self._is_outside(name)
        if self._is_constant(name):
            return
        initial = node.init is not None and not _is_zero(node.init)
        cell = self._forms.cell("", node)
        if cell is None and outside and (open_ := self._forms.open_array(node)) is not None:
            cell = MemberCell("", open_, _UNKNOWN // open_.size)
        cells = self._forms.members(node) if cell is None else (cell,)
        for x in cells:
            if x.address and initial:
                continue
            text = f"{name}.{x.path}" if x.path else name
            yield Global(text, text, x, initial)

    def _is_constant(self, name: str) -> bool:
        return "const" in self._qualifiers(self._node(name)) and not self._is_outside(name)

    def _qualifiers(self, node: c_ast.Decl) -> set[str]:
        """Those of the object, or of the elements of an array; what an address is of may have others."""
        inner = node.type
        while isinstance(inner, c_ast.ArrayDecl):
            inner = inner.type
        own = {*(getattr(inner, "quals", None) or [])}
        return own if isinstance(inner, c_ast.PtrDecl) else own | {*(node.quals or [])}


def _walk_names(node: c_ast.Node) -> Iterator[c_ast.ID]:
    """The identifiers below a node but for those of members and of parameters."""
    if isinstance(node, c_ast.ID):
        yield node
    for name, child in node.children():
        if name != "field" and not (isinstance(node, c_ast.ParamList) and isinstance(child, c_ast.ID)):
            yield from _walk_names(child)


def _is_zero(init: c_ast.Node) -> bool:
    """Whether an initialiser says what would be there without it."""
    match init:
        case c_ast.InitList(exprs=exprs):
            return all(_is_zero(x) for x in exprs or ())
        case c_ast.Constant(value=value):
            return value.rstrip("uUlLfF").rstrip("0").rstrip(".") == "" and value[0] in "0."
        case c_ast.ID(name="NULL"):
            return True
        case c_ast.Cast(expr=expr):
            return _is_zero(expr)
        case _:
            return False
