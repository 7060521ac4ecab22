"""What a header has to say of a file's functions: their prototypes in C and in C++, and the types that these name.

>>> from planish.frontend.c.syntax import parse_c
>>> tree = parse_c("void f(int n, double a[n][n], double *restrict b) { }", Source("f.c", "")).ast
>>> found = find_interface(tree, Source("f.c", ""), "", {})
>>> found.prototypes[0].text
'void f(int n, double a[n][n], double * restrict b)'
>>> found.prototypes[0].cplusplus
'void f(int n, double *a, double * restrict b)'
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from planish.core.span import Source
from planish.frontend.c.constants import fold, walk_tree
from planish.frontend.c.declarations import NAMED_BY_HEADERS
from planish.frontend.c.lexer import Token, tokenize
from planish.frontend.c.unit import Interface, Prototype, TypeText

_CPLUSPLUS = frozenset(
    re.findall(
        r"\w+",
        "alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class co_await "
        "co_return  co_yield compl concept const_cast consteval constexpr constinit decltype delete "
        "dynamic_cast explicit export false friend  mutable namespace new noexcept not not_eq nullptr "
        "operator or or_eq private protected public reinterpret_cast  requires static_assert static_cast "
        "template this thread_local throw true try typeid typename using virtual  wchar_t xor xor_eq",
    )
)
"""The words of C++ that are names in C."""

_C_ONLY = re.compile(r"\b_(?!Bool\b)[A-Z]\w*")
_LAYOUT = re.compile(r"__attribute|__declspec|_Alignas|\balignas\b|\bpacked\b|\[\[")
_MARKER = re.compile(r'^#\s*(?:line\s+)?\d+\s+"((?:[^"\\]|\\.)*)"')
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<([^>\n]+)>|"([^"\n]+)")', re.MULTILINE)



class _Undeclarable(Exception):
    """A header cannot declare a function; the message says why."""


def find_interface(tree: c_ast.FileAST, source: Source, preprocessed: str, constants: Mapping[str, int]) -> Interface:
    """The interface of the functions of a file that others may call; `constants` are its enumerators."""
    finder = _Finder(source, preprocessed, dict(constants))
    finder.note(tree)
    prototypes, left_out = [], []
    for node in tree.ext:
        if not isinstance(node, c_ast.FuncDef) or node.decl.coord is None or node.decl.coord.file != source.name:
            continue
        words = {*(node.decl.storage or ()), *(node.decl.funcspec or ())}
        if "static" in words or node.decl.name == "main" or ("inline" in words and "extern" not in words):
            continue
        try:
            prototypes.append(finder.prototype(node))
        except _Undeclarable as reason:
            left_out.append((node.decl.name, str(reason)))
    return Interface(tuple(prototypes), finder.types(), tuple(finder.includes), tuple(left_out))


@dataclass(slots=True)
class _Finder:
    """Where types are defined, and which of them were asked for."""

    source: Source
    preprocessed: str
    constants: dict[str, int]
    known: dict[str, c_ast.Node] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    forward: dict[str, None] = field(default_factory=dict)
    includes: dict[str, None] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def note(self, tree: c_ast.FileAST) -> None:
        """Learn what the file defines at its top."""
        for node in tree.ext:
            if isinstance(node, c_ast.FuncDef):
                continue
            for part in walk_tree(node):
                key = _key(part)
                if key is not None and key not in self.known:
                    self.known[key] = part
                    self.order.append(key)
        self.origins = _origins(self.preprocessed, self.source)

    def prototype(self, node: c_ast.FuncDef) -> Prototype:
        """The declaration of a function. Raises _Undeclarable."""
        decl = copy.deepcopy(node.decl)
        decl.storage, decl.funcspec = [], []
        decl.type.args = _parameters(node, decl)
        own = {x.name for x in decl.type.args.params if isinstance(x, c_ast.Decl)}
        for part in (x for x in walk_tree(decl.type.args) if isinstance(x, c_ast.ArrayDecl) and x.dim is not None):
            self.settle(part, own)
        if isinstance(decl.type.type, c_ast.TypeDecl):
            decl.type.type.quals = []  # Compilers say that they mean nothing there.
        portable = self.ask(decl)
        text = str(CGenerator().visit(decl))
        return Prototype(decl.name, text, self.in_cplusplus(decl) if portable and not _C_ONLY.search(text) else None)

    def settle(self, array: c_ast.ArrayDecl, own: set[str]) -> None:
        """Give an extent by numbers and parameters alone."""
        if any(isinstance(x, c_ast.ID) and x.name not in own for x in walk_tree(array.dim)):
            value = fold(array.dim, self.constants)
            if value is None:
                raise _Undeclarable(f"the extent {CGenerator().visit(array.dim)} is none of its parameters")
            array.dim = c_ast.Constant("int", str(value))

    def ask(self, node: c_ast.Node) -> bool:
        """Note the types that a declaration names; whether they are C++ as well. Raises _Undeclarable."""
        portable = True
        for name in dict.fromkeys(_named(node)):
            if name in NAMED_BY_HEADERS:
                continue
            definition = self.known.get(name)
            if definition is None:
                if name.startswith(("struct ", "union ")):
                    self.forward[name] = None
                    portable = portable and name.split()[-1] not in _CPLUSPLUS
                    continue
                raise _Undeclarable(f"{name} is not declared")
            file = definition.coord.file if definition.coord is not None else ""
            if file == self.source.name:
                self.check_layout(name, definition)
                if name not in self.asked:
                    self.asked.add(name)
                    self.ask(definition)
                portable = portable and self.is_portable(name)
            elif str(file) in self.origins:
                self.includes[self.origins[str(file)]] = None
            else:
                raise _Undeclarable(f"{name} is declared by a header that was not found")
        return portable

    def check_layout(self, name: str, definition: c_ast.Node) -> None:
        """Raises _Undeclarable where more than the declaration says how a type lies in memory."""
        lines = [x.coord.line for x in walk_tree(definition) if x.coord is not None]
        text = "\n".join(self.source.text.splitlines()[min(lines) - 1 : max(lines) + 1])
        is_structure = any(isinstance(x, c_ast.Struct | c_ast.Union) for x in walk_tree(definition))
        if _LAYOUT.search(text) or (is_structure and re.search(r"#\s*pragma\s+pack|_Pragma", self.source.text)):
            raise _Undeclarable(f"attributes say how {name} lies in memory")

    def is_portable(self, name: str) -> bool:
        """Whether C++ takes the definition of a type, and of those that it names."""
        definition = self.known.get(name)
        if definition is None or definition.coord is None or definition.coord.file != self.source.name:
            return True
        if name.split()[-1] in _CPLUSPLUS or _C_ONLY.search(str(CGenerator().visit(definition))):
            return False
        for part in walk_tree(definition):
            match part:
                case c_ast.Decl(name=None) | c_ast.ArrayDecl(dim=None):
                    return False
                case c_ast.Decl(name=x) | c_ast.Enumerator(name=x) if x in _CPLUSPLUS:
                    return False
                case c_ast.Struct(decls=decls) | c_ast.Union(decls=decls) if decls and part is not definition:
                    if part.name and not isinstance(definition, c_ast.Typedef):
                        return False
                case _:
                    pass
        return all(self.is_portable(x) for x in dict.fromkeys(_named(definition)) if x != name)

    def types(self) -> tuple[TypeText, ...]:
        """The types that were asked for, in the order of the file."""
        tokens = tokenize(self.source.text).tokens
        out = [TypeText(f"{x};", "", x.split()[-1] not in _CPLUSPLUS) for x in self.forward]
        said: set[str] = set()
        for name in self.order:
            if name not in self.asked or name in said:
                continue
            definition = self.known[name]
            said |= {key for x in walk_tree(definition) if (key := _key(x)) is not None}
            text = re.sub(r" +$", "", f"{CGenerator().visit(definition)};", flags=re.MULTILINE)
            original = _original(self.source.text, tokens, definition)
            out.append(TypeText(text, original, self.is_portable(name)))
        return tuple(out)

    def in_cplusplus(self, decl: c_ast.Decl) -> str | None:
        """The declaration in C++, whose arrays have no rows of any length but constants."""
        if decl.name in _CPLUSPLUS:
            return None
        decl = copy.deepcopy(decl)
        for node in decl.type.args.params:
            if isinstance(node, c_ast.Decl):
                self.flatten(node)
                if node.name in _CPLUSPLUS:
                    _rename(node, f"{node.name}_")
        return str(CGenerator().visit(decl)).replace("_Bool", "bool")

    def flatten(self, node: c_ast.Decl) -> None:
        """A parameter that is an array as a pointer to its elements, or to rows of a constant length."""
        outer = node.type
        if isinstance(outer, c_ast.ArrayDecl):
            quals = [x for x in outer.dim_quals or [] if x in ("restrict", "const")]
            outer = node.type = c_ast.PtrDecl(quals, outer.type)
        if not isinstance(outer, c_ast.PtrDecl):
            return
        extents, inner = [], outer.type
        while isinstance(inner, c_ast.ArrayDecl):
            extents.append(None if inner.dim is None else fold(inner.dim, self.constants))
            inner = inner.type
        if None in extents:
            outer.type = inner


def _rename(node: c_ast.Decl, name: str) -> None:
    part = node
    while not isinstance(part, c_ast.TypeDecl):
        part = part.type
    node.name = part.declname = name


def _parameters(node: c_ast.FuncDef, decl: c_ast.Decl) -> c_ast.ParamList:
    """The parameters, of which there are none where nothing is said, and which old definitions declare further down."""
    given = decl.type.args.params if decl.type.args is not None else []
    later = {x.name: x for x in node.param_decls or []}
    params = [copy.deepcopy(later.get(x.name)) if isinstance(x, c_ast.ID) else x for x in given]
    if any(x is None for x in params):
        raise _Undeclarable("a parameter has no type")
    nothing = c_ast.Typename(None, [], None, c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["void"])))
    return c_ast.ParamList(params or [nothing])


def _key(node: c_ast.Node) -> str | None:
    """The name of the type that a node defines."""
    match node:
        case c_ast.Typedef(name=name):
            return str(name)
        case c_ast.Struct(name=name, decls=decls) if name and decls is not None:
            return f"struct {name}"
        case c_ast.Union(name=name, decls=decls) if name and decls is not None:
            return f"union {name}"
        case c_ast.Enum(name=name, values=values) if name and values is not None:
            return f"enum {name}"
        case _:
            return None


def _named(node: c_ast.Node) -> Iterator[str]:
    """The types that a declaration names: by a name of their own, or by a tag."""
    for part in walk_tree(node):
        match part:
            case c_ast.IdentifierType(names=[name]) if name not in _WORDS:
                yield name
            case c_ast.Struct(name=name, decls=None) if name:
                yield f"struct {name}"
            case c_ast.Union(name=name, decls=None) if name:
                yield f"union {name}"
            case c_ast.Enum(name=name, values=None) if name:
                yield f"enum {name}"
            case _:
                pass


_WORDS = frozenset(
    {
        "void", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "_Bool", "_Complex",
        "__int128", "_Float16",
    }
)  # fmt: skip


def _original(text: str, tokens: tuple[Token, ...] | list[Token], definition: c_ast.Node) -> str:
    """The declaration as it stands in the file, from its first word to its semicolon."""
    line = definition.coord.line
    depth, start, call = 0, 0, False
    for number, token in enumerate(tokens):
        match token.text:
            case "{":
                call = call or (depth == 0 and number > 0 and tokens[number - 1].text == ")")
                depth += 1
            case "}":
                depth -= 1
        if depth or token.text not in (";", "}") or (token.text == "}" and not call):
            continue
        first = tokens[start]
        if first.line <= line <= token.line:
            whole = first.text in ("typedef", "struct", "union", "enum") and not call
            found = text[first.start : token.end]
            return found if whole and "#" not in found and text.count(found) == 1 else ""
        start, call = number + 1, False
    return ""


def _origins(preprocessed: str, source: Source) -> dict[str, str]:
    """By which include of the file each other file comes in."""
    includes = [(x[2] or x[3], x[1]) for x in _INCLUDE.finditer(source.text)]
    out: dict[str, str] = {}
    current = ""
    for line in preprocessed.splitlines():
        found = _MARKER.match(line)
        if found is None:
            continue
        file = re.sub(r"\\(.)", r"\1", found[1])
        if file == source.name:
            current = ""
        elif not file.startswith("<"):
            if not current:
                current = next((text for name, text in includes if file == name or file.endswith(f"/{name}")), "")
            if current:
                out.setdefault(file, current)
    return out
