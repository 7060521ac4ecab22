"""Prototypes for a header: a file's functions in C and in C++, and the types that they name.

>>> from planish.frontend.c.text.syntax import parse_c
>>> tree = parse_c("void f(int n, double a[n][n], double *restrict b) { }", Source("f.c", "")).ast
>>> found = find_interface(tree, Source("f.c", ""), "", {}, {})
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

from planish.core.span import Source
from planish.frontend.c.text.old_definitions import is_promoted
from planish.frontend.c.text.syntax import UNKNOWN, main_lines
from planish.frontend.c.translation_unit import HeaderInterface, Prototype, TypeText
from planish.frontend.c.types.constants import fold, walk_tree
from planish.frontend.c.types.declarations import NAMED_BY_HEADERS, OWN_TYPES, CType, text_of
from planish.frontend.c.types.records import tag_of, walk_outside
from planish.frontend.c.types.type_definitions import (
    TypeDefinition,
    UndeclarableError,
    check_parameters,
    find_definitions,
    is_defining,
    leave_out_idle,
)

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
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_SILENT = frozenset({"__extension__", "__inline", "__inline__", "inline"})
"""What may vanish without a trace."""
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<([^>\n]+)>|"([^"\n]+)")', re.MULTILINE)


def find_interface(
    tree: c_ast.FileAST, source: Source, preprocessed: str, constants: Mapping[str, int],
    typedefs: Mapping[str, CType],
) -> HeaderInterface:  # fmt: skip
    """The interface of the functions of a file that others may call; `constants` are its enumerators, `typedefs` its
    names of types."""
    finder = _Finder(source, preprocessed, dict(constants))
    finder.note(tree)
    prototypes, left_out = [], []
    for node in tree.ext:
        if not isinstance(node, c_ast.FuncDef) or node.decl.coord is None or node.decl.coord.file != source.name:
            continue
        words = {*(node.decl.storage or ()), *(node.decl.funcspec or ())}
        if "static" in words or node.decl.name == "main" or ("inline" in words and "extern" not in words):
            continue
        if is_promoted(node, typedefs):
            left_out.append((node.decl.name, "it is defined as before 1989, and what calls pass is promoted"))
            continue
        try:
            prototypes.append(finder.prototype(node))
        except UndeclarableError as reason:
            left_out.append((node.decl.name, str(reason)))
    return HeaderInterface(tuple(prototypes), finder.types(), tuple(finder.includes), tuple(left_out))


@dataclass(slots=True)
class _Finder:
    """Where types are defined, and which of them were asked for."""

    source: Source
    preprocessed: str
    constants: dict[str, int]
    known: dict[str, TypeDefinition] = field(default_factory=dict)
    order: tuple[TypeDefinition, ...] = ()
    texts: dict[TypeDefinition, TypeText] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    forward: dict[str, None] = field(default_factory=dict)
    includes: dict[str, None] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    lines: dict[int, str] = field(default_factory=dict)
    macros: Mapping[str, str] = field(default_factory=dict)
    attributes: frozenset[str] = frozenset()

    def note(self, tree: c_ast.FileAST) -> None:
        """Learn what the file defines at its top."""
        self.order = find_definitions(tree, self.source)
        for definition in self.order:
            for key in definition.keys:
                self.known.setdefault(key, definition)
        outside = (x for node in tree.ext for x in walk_outside(node))
        self.named = frozenset(tag_of(x) for x in outside if isinstance(x, c_ast.Struct | c_ast.Union) and x.name)
        self.origins = _origins(self.preprocessed, self.source)
        self.macros = {x[1]: re.sub(r"\\\r?\n", " ", x[2]) for x in _DEFINE.finditer(self.source.text)}
        self.attributes = _attributes(self.macros)
        for line, text in main_lines(self.preprocessed, self.source.name):
            self.lines[line] = f"{self.lines.get(line, '')}{text}\n"

    def prototype(self, node: c_ast.FuncDef) -> Prototype:
        """The declaration of a function. Raises UndeclarableError."""
        decl = copy.deepcopy(node.decl)
        decl.storage, decl.funcspec = [], []
        decl.type.args = _parameters(decl)
        if any(map(is_defining, walk_tree(decl))):
            raise UndeclarableError("its own declaration defines a type")
        own = {x.name for x in decl.type.args.params if isinstance(x, c_ast.Decl)}
        for part in (x for x in walk_tree(decl.type.args) if isinstance(x, c_ast.ArrayDecl) and x.dim is not None):
            self.settle(part, own)
        leave_out_idle(decl)
        portable = self.ask(decl)
        text = text_of(decl)
        return Prototype(decl.name, text, self.in_cplusplus(decl) if portable and not _C_ONLY.search(text) else None)

    def settle(self, array: c_ast.ArrayDecl, own: set[str]) -> None:
        """Give an extent by numbers and parameters alone."""
        if any(isinstance(x, c_ast.ID) and x.name not in {*own, *self.constants} for x in walk_tree(array.dim)):
            raise UndeclarableError(f"the extent {text_of(array.dim)} is none of its parameters")
        array.dim = _with_numbers(array.dim, {x: y for x, y in self.constants.items() if x not in own})

    def ask(self, node: c_ast.Node) -> bool:
        """Note the types that a declaration names; whether they are C++ as well. Raises UndeclarableError."""
        needed: dict[TypeDefinition, None] = {}
        forward: dict[str, None] = {}
        includes: dict[str, None] = {}
        waiting, seen = [*_named(node)], set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen or name in NAMED_BY_HEADERS or name in OWN_TYPES:
                continue
            seen.add(name)
            definition = self.known.get(name)
            if definition is None:
                self.check_forward(name)
                forward[name] = None
            elif definition.file == self.source.name:
                needed[definition] = None
                waiting += [x for part in definition.types for x in _named(part)]
            elif definition.file in self.origins:
                includes[self.origins[definition.file]] = None
            else:
                raise UndeclarableError(f"{name} is declared by a header that was not found")
        texts = {x: self.texts.get(x) or self.write(x) for x in needed}
        self.texts |= texts
        self.forward |= forward
        self.includes |= includes
        return all(self.is_portable(x) for x in needed) and not any(x.split()[-1] in _CPLUSPLUS for x in forward)

    def check_forward(self, name: str) -> None:
        """Raises UndeclarableError where a type that is defined nowhere is none of the whole file."""
        if not name.startswith(("struct ", "union ")):
            raise UndeclarableError(f"{name} is not declared")
        if name.startswith(f"struct {UNKNOWN}"):
            name = name.removeprefix(f"struct {UNKNOWN}")
            raise UndeclarableError(f"{name} is declared by a header that was not found")
        if name not in self.named:
            raise UndeclarableError(f"{name} is declared within parameters only")

    def write(self, definition: TypeDefinition) -> TypeText:
        """The text of a definition. Raises UndeclarableError."""
        self.check_layout(definition)
        check_parameters(definition)
        text = definition.spell(self.constants)
        if definition.base is None:
            return TypeText(text, portable=self.is_portable(definition))
        place = definition.locate()
        return TypeText(text, place.text, self.is_portable(definition), place.ordinal, place.otherwise)

    def check_layout(self, definition: TypeDefinition) -> None:
        """Raises UndeclarableError where more than the declaration says how a type lies in memory."""
        first, last = definition.lines
        text = "\n".join(self.source.text.splitlines()[first - 1 : last])
        packs = re.search(r"#\s*pragma\s+pack|_Pragma", self.source.text)
        name = definition.names[0] if definition.names else min(definition.keys)
        if _LAYOUT.search(text) or (packs and not isinstance(definition.base, c_ast.Enum | None)):
            raise UndeclarableError(f"attributes say how {name} lies in memory")
        hidden = [x for x in re.findall(r"[A-Za-z_]\w*", text) if x in self.attributes]
        if found := (*hidden, *(x for x in definition.vanished(self.lines) if not self.is_silent(x))):
            raise UndeclarableError(f"the macro {found[0]} may say how {name} lies in memory")

    def is_silent(self, word: str) -> bool:
        """Whether a word that a compiler does not see says nothing of a type."""
        return word in _SILENT or word in self.macros

    def is_portable(self, definition: TypeDefinition) -> bool:
        """Whether C++ takes a definition, and those that it names."""
        waiting, seen = [definition], {definition}
        while waiting:
            part = waiting.pop()
            if not self.is_portable_alone(part):
                return False
            named = {self.known[x] for node in part.types for x in _named(node) if x in self.known}
            fresh = {x for x in named if x.file == self.source.name} - seen
            waiting += fresh
            seen |= fresh
        return True

    def is_portable_alone(self, definition: TypeDefinition) -> bool:
        """Whether C++ takes a definition where it takes those that it names."""
        if any(x.split()[-1] in _CPLUSPLUS for x in definition.keys) or any(map(self.is_hidden, definition.nodes)):
            return False
        for node in definition.types:
            if _C_ONLY.search(text_of(node)):
                return False
            for part in walk_tree(node):
                match part:
                    case c_ast.Typedef():
                        pass
                    case c_ast.Decl(name=None) | c_ast.ArrayDecl(dim=None):
                        return False
                    case c_ast.Decl(name=x) | c_ast.Enumerator(name=x) if x in _CPLUSPLUS:
                        return False
                    case c_ast.Struct(name=x) | c_ast.Union(name=x) | c_ast.Enum(name=x) if x and is_defining(part):
                        # In C++ it would be a part of what it stands in.
                        if part is not definition.base:
                            return False
                    case _:
                        pass
        return True

    def is_hidden(self, node: c_ast.Node) -> bool:
        """Whether a name stands for another type than the tag that reads so, which are one in C++."""
        if not isinstance(node, c_ast.Typedef):
            return False
        own = node.type.type if isinstance(node.type, c_ast.TypeDecl) else None
        own_tag = tag_of(own) if isinstance(own, c_ast.Struct | c_ast.Union | c_ast.Enum) else ""
        tags = {f"{kind} {node.name}" for kind in ("struct", "union", "enum")}
        return any(x != own_tag and (x in self.known or x in self.named) for x in tags)

    def types(self) -> tuple[TypeText, ...]:
        """The types that were asked for, in the order of the file."""
        out = [TypeText(f"{x};", "", x.split()[-1] not in _CPLUSPLUS) for x in self.forward]
        return (*out, *(self.texts[x] for x in self.order if x in self.texts))

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
        return text_of(decl).replace("_Bool", "bool")

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


def _with_numbers(node: c_ast.Node, constants: Mapping[str, int]) -> c_ast.Node:
    """An expression with the values of enumerators in the place of their names."""
    match node:
        case c_ast.ID(name=name) if name in constants:
            return c_ast.Constant("int", str(constants[name]))
        case c_ast.UnaryOp(op=op, expr=inner):
            return c_ast.UnaryOp(op, _with_numbers(inner, constants))
        case c_ast.BinaryOp(op=op, left=left, right=right):
            return c_ast.BinaryOp(op, _with_numbers(left, constants), _with_numbers(right, constants))
        case _:
            return node


def _rename(node: c_ast.Decl, name: str) -> None:
    part = node
    while not isinstance(part, c_ast.TypeDecl):
        part = part.type
    node.name = part.declname = name


def _parameters(decl: c_ast.Decl) -> c_ast.ParamList:
    """The parameters, of which there are none where nothing is said."""
    params = decl.type.args.params if decl.type.args is not None else []
    nothing = c_ast.Typename(None, [], None, c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["void"])))
    return c_ast.ParamList(params or [nothing])


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


def _attributes(bodies: Mapping[str, str]) -> frozenset[str]:
    """The macros that stand for attributes, also by way of others; `bodies` are their texts."""
    found = {name for name, body in bodies.items() if _LAYOUT.search(body)}
    while more := {x for x, body in bodies.items() if x not in found and found & {*re.findall(r"\w+", body)}}:
        found |= more
    return frozenset(found)


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
