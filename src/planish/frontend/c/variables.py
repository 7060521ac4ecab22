"""The variables of a file that a function works on, and what the file declares and does not define.

>>> from pycparser.c_parser import CParser
>>> from planish.frontend.c.scope import bind_file
>>> tree = CParser().parse("float a[8]; extern int n; int k = 3; void g(void) { a[k] = n; } void f(void) { g(); }")
>>> variables = Variables(tree, bind_file(tree), Forms(tree, {}), "")
>>> [(x.name, x.cell.count, x.initial) for x in variables.of("f")]
[('a', 8, False), ('k', 1, True), ('n', 1, False)]
>>> "planish_extern_0[64]" in variables.completion()
True
"""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from planish.frontend.c.constants import walk_tree
from planish.frontend.c.forms import Forms
from planish.frontend.c.scope import FileScope
from planish.frontend.c.unit import Cell, Global

LARGEST = 64 << 20
"""Bytes of variables that are set before a call; more of them keep what they have."""
_UNKNOWN = 1 << 16
"""Bytes for a variable of which the file does not say how large it is."""

_LABELS = """\
#define planish_spelt(x) #x
#define planish_label(prefix, name) planish_spelt(prefix) name
"""


class Variables:
    """The variables at file scope; those of headers in the folder `stubs` are the C library's."""

    def __init__(self, tree: c_ast.FileAST, scope: FileScope, forms: Forms, stubs: str) -> None:
        self._scope, self._forms = scope, forms
        self._declared: dict[str, list[c_ast.Decl]] = {}
        for node in tree.ext:
            if isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl):
                if not (stubs and node.coord is not None and str(node.coord.file).startswith(stubs)):
                    self._declared.setdefault(node.name, []).append(node)
        self._inside: dict[str, c_ast.Decl] = {}
        self._called = {
            x.name.name for x in walk_tree(tree) if isinstance(x, c_ast.FuncCall) and isinstance(x.name, c_ast.ID)
        }
        self._used = {name: self._names(node) for name, node in scope.functions.items()}

    def of(self, function: str) -> tuple[Global, ...]:
        """What a function, or one that it calls, names; of constants there are none."""
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

    def _reached(self, function: str) -> set[str]:
        """What a function, and those that it calls, name."""
        names, left = set[str](), {function}
        while left:
            fresh = set[str]().union(*(self._used[x] for x in left)) - names
            names |= fresh
            left = {x for x in fresh if x in self._used}
        return names

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
        own = {x.name for x in walk_tree(function) if isinstance(x, c_ast.Decl) and "extern" not in (x.storage or [])}
        for x in walk_tree(function.body):
            if isinstance(x, c_ast.Decl) and "extern" in (x.storage or []) and not isinstance(x.type, c_ast.FuncDecl):
                self._inside.setdefault(x.name, x)
        return {x.name for x in walk_tree(function.body) if isinstance(x, c_ast.ID)} - own

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

    def _bytes(self, node: c_ast.Decl) -> int:
        cell = self._forms.cell("", node)
        return _UNKNOWN if cell is None else max(64, 8 if cell.address else cell.count * cell.type.size)

    def _globals(self, name: str) -> Iterator[Global]:
        node, outside = self._node(name), self._is_outside(name)
        if "const" in self._qualifiers(node) and not outside:
            return
        initial = node.init is not None and not _is_zero(node.init)
        cell = self._forms.cell("", node)
        if cell is None and outside and (open_ := self._forms.open_array(node)) is not None:
            cell = Cell("", open_, _UNKNOWN // open_.size)
        cells = self._forms.members(node) if cell is None else (cell,)
        for x in cells:
            if x.address and initial:
                continue
            text = f"{name}.{x.path}" if x.path else name
            yield Global(text, text, x, initial)

    def _qualifiers(self, node: c_ast.Decl) -> set[str]:
        """Those of the object, or of the elements of an array."""
        out, inner = {*(node.quals or [])}, node.type
        while isinstance(inner, c_ast.ArrayDecl):
            inner = inner.type
        return out if isinstance(inner, c_ast.PtrDecl) else out | {*(getattr(inner, "quals", None) or [])}


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
