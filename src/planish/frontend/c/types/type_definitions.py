"""The declarations of a file that define types: what each defines, how it stands in the file, and its text in a header.

>>> from planish.frontend.c.text.syntax import parse_c
>>> source = Source("f.c", "struct cell { int x; } table[4], *first;\\n")
>>> (found,) = find_definitions(parse_c(source.text, source).ast, source)
>>> sorted(found.keys), found.locate().otherwise
(['struct cell'], 'struct cell table[4], *first;')
>>> print(found.spell({}))
struct cell
{
  int x;
};
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from pycparser import c_ast

from planish.core.span import Source
from planish.frontend.c.text.lexer import CToken, Directive, tokenize
from planish.frontend.c.types.constants import fold, walk_tree
from planish.frontend.c.types.declarations import text_of
from planish.frontend.c.types.records import tag_of, walk_outside

_BASE = "planish_base"
_KINDS = (c_ast.Struct, c_ast.Union, c_ast.Enum)
_ATTRIBUTES = frozenset({"__attribute__", "__attribute", "__declspec", "_Alignas", "alignas"})
_NAME = re.compile(r"[A-Za-z_]\w*")


class UndeclarableError(Exception):
    """A header cannot declare something; the message says why."""


@dataclass(frozen=True, slots=True)
class DeclarationPlace:
    """Where a declaration stands: its text, which of the file's texts that read so it is (from 0), and what stands for
    it where its types are defined already: its variables."""

    text: str
    ordinal: int
    otherwise: str


@dataclass(frozen=True, slots=True)
class _Part:
    """A declaration or function at file scope as tokens; `braces`: the tokens of its type's first and last brace."""

    tokens: tuple[CToken, ...]
    braces: tuple[CToken, CToken] | None
    before: str
    words: frozenset[str]

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line."""
        return self.tokens[0].line, self.tokens[-1].line


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """The file as text, and on which lines the nodes of its tree begin."""

    source: Source
    parts: tuple[_Part, ...]
    directives: tuple[Directive, ...]
    begun: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class TypeDefinition:
    """A declaration that defines types: a node for each declarator, and the structure, union or enumeration that they
    share (None: another name for a type that is defined elsewhere). `function`: it is that of a function."""

    nodes: tuple[c_ast.Node, ...]
    base: c_ast.Struct | c_ast.Union | c_ast.Enum | None
    function: bool = False
    layout: _Layout | None = field(default=None, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of types that it gives."""
        return tuple(x.name for x in self.nodes if isinstance(x, c_ast.Typedef))

    @property
    def keys(self) -> frozenset[str]:
        """The names of the types that it defines, and their tags."""
        tags = () if self.base is None else (tag_of(x) for x in walk_tree(self.base) if is_defining(x) and x.name)
        return frozenset((*self.names, *tags))

    @property
    def types(self) -> tuple[c_ast.Node, ...]:
        """The nodes that a header needs."""
        return (*(() if self.base is None else (self.base,)), *(x for x in self.nodes if isinstance(x, c_ast.Typedef)))

    @property
    def file(self) -> str:
        """The file in which it stands."""
        coord = self.nodes[0].coord
        return "" if coord is None else str(coord.file)

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line that it may have a part of."""
        part = self._part()
        if part is not None:
            return part.lines
        lines = [x.coord.line for node in self.nodes for x in walk_tree(node) if x.coord is not None]
        return min(lines), max(lines)

    def vanished(self, read: Mapping[int, str]) -> tuple[str, ...]:
        """The words of it for which there is nothing in what was `read`, the preprocessed text of each line."""
        part = self._part()
        if part is None or self.layout is None or not read:
            return ()
        first, last = part.lines
        chosen = any(first <= x.line <= last for x in self.layout.directives)
        given = [x.text for x in part.tokens if not chosen or read.get(x.line, "").strip()]
        kept = [x.text for x in tokenize("".join(read.get(x, "") for x in range(first, last + 1))).tokens]
        changes = SequenceMatcher(None, given, kept, autojunk=False).get_opcodes()
        gone = [x for change, start, end, _, _ in changes if change == "delete" for x in given[start:end]]
        return tuple(x for x in gone if _NAME.fullmatch(x))

    def spell(self, constants: Mapping[str, int]) -> str:
        """The C text of its types, with numbers for names of `constants`. Raises UndeclarableError."""
        if self.base is None:
            return f"{text_of(_settled(self.nodes[0], constants))};"
        head = text_of(_settled(self.base, constants))
        declarators = []
        for node in self.nodes:
            if isinstance(node, c_ast.Typedef):
                made = _settled(node.type, constants)
                inner = _innermost(made)
                quals = "".join(f"{x} " for x in inner.quals or ())
                inner.type, inner.quals = c_ast.IdentifierType([_BASE]), []
                text = text_of(c_ast.Decl(None, [], [], [], [], made, None, None))
                declarators.append(text.partition(_BASE)[2].strip())
        if declarators:
            head = f"typedef {quals}{head} {', '.join(declarators)}"
        return re.sub(r" +$", "", f"{head};", flags=re.MULTILINE)

    def locate(self) -> DeclarationPlace:
        """Where it stands in the file. Raises UndeclarableError where that cannot be told, or given twice."""
        name = self._shown()
        if self.function:
            raise UndeclarableError(f"{name} is defined in the declaration of a function")
        part = self._part()
        if part is None or self.layout is None:
            raise UndeclarableError(f"{name} is defined by a macro: write it out, or put it into a header of your own")
        text = self.layout.source.text
        start, end = part.tokens[0].start, part.tokens[-1].end
        _check_directives([x for x in self.layout.directives if start < x.start < end], name)
        otherwise = ""
        if any(not isinstance(x, c_ast.Typedef) and x.name for x in self.nodes):
            if part.braces is None or self.base is None or not self.base.name:
                raise UndeclarableError(f"{name} is defined where a variable is that has no other type")
            first, last = part.braces
            otherwise = f"{text[start : first.start].rstrip()} {text[last.end : end].lstrip()}"
        found = text[start:end]
        return DeclarationPlace(found, text.count(found, 0, start), otherwise)

    def _shown(self) -> str:
        return self.names[0] if self.names else min(self.keys, default="a type")

    def _part(self) -> _Part | None:
        """Where it stands in the file; None where a macro hides that."""
        coord = self.nodes[0].coord if self.base is None or self.base.coord is None else self.base.coord
        if self.layout is None or coord is None:
            return None
        around = [x for x in self.layout.parts if x.lines[0] <= coord.line <= x.lines[1]]
        declared = {x.name for x in self.nodes if x.name}
        tag = None if self.base is None else self.base.name
        for part in around:
            whole = self.base is None or (part.braces is not None and (tag is None or part.before == tag))
            if whole and declared <= part.words:
                return part
        if len(around) != 1:
            return None
        # What a macro writes is by itself on its lines.
        first, last = around[0].lines
        alone = all(x in map(id, self.nodes) for x, line in self.layout.begun if first <= line <= last)
        shared = [x for x in self.layout.parts if x.lines[0] <= last and first <= x.lines[1]]
        return around[0] if alone and len(shared) == 1 else None


def find_definitions(tree: c_ast.FileAST, source: Source) -> tuple[TypeDefinition, ...]:
    """The declarations that define types, in their order; those of headers as well."""
    out: list[TypeDefinition] = []
    tokens = tokenize(source.text)
    own = [x for x in tree.ext if x.coord is not None and x.coord.file == source.name]
    layout = _Layout(source, tuple(_parts(tokens.tokens)), tokens.directives, tuple((id(x), x.coord.line) for x in own))
    for node in tree.ext:
        function = isinstance(node, c_ast.FuncDef)
        node = node.decl if function else node
        if not isinstance(node, c_ast.Decl | c_ast.Typedef):
            continue
        inner = _innermost(node)
        base = inner if isinstance(inner, _KINDS) else inner.type
        if not is_defining(base):
            if isinstance(node, c_ast.Typedef):
                out.append(TypeDefinition((node,), None, layout=layout))
            continue
        if out and out[-1].base is base:
            out.append(TypeDefinition((*out.pop().nodes, node), base, function, layout))
        else:
            out.append(TypeDefinition((node,), base, function, layout))
    return tuple(out)


def is_defining(node: c_ast.Node) -> bool:
    """Whether a node says what is in a structure, union or enumeration."""
    match node:
        case c_ast.Struct(decls=inside) | c_ast.Union(decls=inside) | c_ast.Enum(values=inside):
            return inside is not None
        case _:
            return False


def leave_out_idle(node: c_ast.Node) -> None:
    """Takes away what means nothing in declarations of functions, so that compilers warn of it or do not take it:
    qualifiers of results, and `register`."""
    for part in walk_tree(node):
        match part:
            case c_ast.FuncDecl(type=c_ast.TypeDecl() | c_ast.PtrDecl() as result):
                result.quals = []
            case c_ast.ParamList(params=params):
                for x in params:
                    if isinstance(x, c_ast.Decl):
                        x.storage = []
            case _:
                pass


def check_parameters(definition: TypeDefinition) -> None:
    """Raises UndeclarableError where a list of parameters defines types of its own."""
    for node in definition.types:
        outside = {id(x) for x in walk_outside(node)}
        for part in walk_tree(node):
            if id(part) not in outside and is_defining(part):
                raise UndeclarableError(f"parameters of {node.name} define a type of their own")


def _innermost(node: c_ast.Node) -> c_ast.Node:
    """What a declarator says last: the node that has the type's name, or the type of what declares nothing else."""
    while isinstance(node, c_ast.Decl | c_ast.Typedef | c_ast.PtrDecl | c_ast.ArrayDecl | c_ast.FuncDecl):
        node = node.type
    return node


def _settled(node: c_ast.Node, constants: Mapping[str, int]) -> c_ast.Node:
    """A copy whose extents and values have numbers for the names of constants. Raises UndeclarableError."""
    made = copy.deepcopy(node)
    leave_out_idle(made)
    for part in walk_tree(made):
        for name in ("dim", "bitsize", "value"):
            value = getattr(part, name, None)
            if isinstance(value, c_ast.Node) and any(isinstance(x, c_ast.ID) for x in walk_tree(value)):
                number = fold(value, constants)
                if number is None:
                    raise UndeclarableError(f"what {text_of(value)} is in a type is not known")
                setattr(part, name, c_ast.Constant("int", str(number)))
    return made


def _check_directives(directives: Sequence[Directive], name: str) -> None:
    """Raises UndeclarableError where preprocessor lines do more than choose within a declaration."""
    depth = 0
    for directive in directives:
        word = directive.conditional
        depth += {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(word or "", 0)
        if word is None or depth < 0 or (depth == 0 and word in ("elif", "else")):
            raise UndeclarableError(f"a `{directive.text.strip()}` stands in the definition of {name}")
    if depth:
        raise UndeclarableError(f"the definition of {name} ends in a conditional part of the file")


def _parts(tokens: Sequence[CToken]) -> Iterator[_Part]:
    """The declarations and functions at file scope."""
    start, nested, depth = 0, 0, 0
    body, called = False, ""
    opened, braces, before = -1, None, ""
    words: set[str] = set()
    for number, token in enumerate(tokens):
        previous = tokens[number - 1].text if number > start else ""
        if token.text == "{":
            if depth == 0:
                body = body or not previous or (previous == ")" and called not in _ATTRIBUTES)
                opened = number if braces is None and not body and previous != "=" else -1
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0 and opened >= 0:
                braces, before, opened = (tokens[opened], token), tokens[opened - 1].text, -1
        elif depth == 0:
            if token.text == "(":
                called = called if nested else previous
            nested += {"(": 1, ")": -1}.get(token.text, 0)
            words.add(token.text)
        if depth == 0 and nested == 0 and (token.text == ";" or (token.text == "}" and body)):
            yield _Part(tuple(tokens[start : number + 1]), braces, before, frozenset(words))
            start, body, opened, braces, before, words = number + 1, False, -1, None, "", set()
