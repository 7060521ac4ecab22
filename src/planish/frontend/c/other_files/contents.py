"""What a file of a project declares and defines at file scope, as text behind the preprocessor.

>>> from planish.core.span import Borrowed, Source
>>> text = "static const int t[2] = {1, 2}; int f(int i); int f(int i) { int n = i; return t[n & 1]; }"
>>> file = read_contents(Source("b.c", text))
>>> [(name, x.kind) for name in ("t", "f", "n") for x in file.declared(name)]
[('t', 'variable'), ('f', 'prototype'), ('f', 'function')]
>>> sorted(file.names_in_function("f"))
['int', 't']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from pycparser import c_ast

from planish.core.diagnostic import PlanishError
from planish.core.recursion_limit import deep
from planish.core.span import Borrowed, Source
from planish.frontend.c.analysis.scope import BoundNames, FileScope, bind_file, bind_function
from planish.frontend.c.text.external import Part, split_text
from planish.frontend.c.text.feature_macros import functions_by_flags, written_texts
from planish.frontend.c.text.lexer import CToken, tokenize
from planish.frontend.c.text.preprocess import SYSTEM, preprocess
from planish.frontend.c.text.syntax import parse_c
from planish.frontend.c.types.constants import walk_tree

Kind = Literal["function", "prototype", "variable", "type"]
_TAGS = frozenset({"struct", "union", "enum"})
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_KEPT = ("__attribute__(x)=__attribute__(x)", "__declspec(x)=__declspec(x)")
"""Attributes stay in the text in which they are looked for."""
_FORBIDDEN = re.compile(
    r"_*(weak|weakref|weak_import|alias|ifunc|noinline|noipa|noclone|no_icf|interposable|naked|target|target_clones|"
    r"optimize|optnone|constructor|destructor|symver|section|copy|selectany|dllimport|vector_size|ext_vector_type|mode|"
    r"packed|aligned|scalar_storage_order|transparent_union|ms_struct|ms_abi|sysv_abi|no_sanitize\w*|"
    r"no_instrument_function|patchable_function_entry)_*"
)
"""Attributes of functions that are not what their text says, or not for everyone, and of types with another layout."""
_ATTRIBUTE = re.compile(r"\b(__attribute__|__attribute|__declspec|asm|__asm|__asm__)\b|\[\[")
_PRAGMA = re.compile(
    r"^[ \t]*#[ \t]*pragma[ \t]+(weak|redefine_extname|extern_prefix|pack|STDC|GCC[ \t]+(optimize|target|push_options)|"
    r"clang[ \t]+(optimize|fp|attribute)|float_control|fp_contract)|"
    r"\b_Pragma\b(?!\s*\(\s*\"\s*(omp|once|unroll|(GCC|clang)\s+(ivdep|unroll|loop|diagnostic))\b)",
    re.M,
)
_REPLACEABLE = re.compile(r"weak|ifunc|interposable")
_WEAK = re.compile(r"\b(?:pragma|_Pragma\s*\(\s*\")\s*weak\s+(\w+)")


@dataclass(frozen=True, slots=True)
class Declared:
    """A part of a file that declares a name, by its number, and what it says that this is."""

    part: int
    kind: Kind


@dataclass(frozen=True, eq=False)
class Contents:
    """A file behind the preprocessor: its parts, and the names that they declare; `missing`: headers that were not
    found."""

    source: Source
    text: str
    parts: tuple[Part, ...]
    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    compiler: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    _tokens: dict[int, tuple[CToken, ...]] = field(default_factory=dict)
    _declared: dict[str, tuple[Declared, ...]] = field(default_factory=dict)

    def tokens(self, number: int) -> tuple[CToken, ...]:
        """The tokens of a part, with places in it."""
        if number not in self._tokens:
            self._tokens[number] = tokenize(self.text_of(number)).tokens
        return self._tokens[number]

    def text_of(self, number: int) -> str:
        """The text of a part."""
        part = self.parts[number]
        return self.text[part.start : part.end]

    def words(self, number: int) -> tuple[str, ...]:
        """The texts of the tokens of a part: those that are the same say the same where their words do."""
        return tuple(x.text for x in self.tokens(number))

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        out: dict[str, list[int]] = {}
        for number, part in enumerate(self.parts):
            for name in part.names:
                out.setdefault(name, []).append(number)
        return out

    def declared(self, name: str) -> tuple[Declared, ...]:
        """The parts that declare a name."""
        if name not in self._declared:
            numbers = self._by_name.get(name, ())
            found = (Declared(n, kind) for n in numbers for x, kind in _declared(self.words(n), self.parts[n])
                     if x == name)  # fmt: skip
            self._declared[name] = tuple(dict.fromkeys(found))
        return self._declared[name]

    def names_of(self, number: int) -> set[str]:
        """The names that a part declares."""
        return {x for x, _ in _declared(self.words(number), self.parts[number])}

    def words_of(self, name: str) -> set[tuple[str, ...]]:
        """The parts that declare a name, as words."""
        return {self.words(x.part) for x in self.declared(name)}

    def is_system(self, name: str) -> bool:
        """Whether headers of the C library declare a name, and nothing else does."""
        return all(self.parts[x.part].file.startswith(SYSTEM) for x in self.declared(name))

    def kinds(self, name: str) -> set[Kind]:
        """What a name is."""
        return {x.kind for x in self.declared(name)}

    def is_static(self, name: str) -> bool:
        """Whether a name is one of this file alone."""
        return any("static" in _outside(x) for x in self.words_of(name))

    def is_constant(self, name: str) -> bool:
        """Whether a variable is an object that keeps its value, as a pointer to constants alone does not."""
        return any(_is_constant(x, name) for x in self.words_of(name)) and all(
            len(self.names_of(x.part)) == 1 for x in self.declared(name)
        )

    def defines_function(self, name: str) -> bool:
        """Whether it defines a function for all files."""
        return "function" in self.kinds(name) and not self.is_static(name)

    @cached_property
    def scope(self) -> FileScope | None:
        """What the file declares, as it is parsed; None where it is not."""
        try:
            return bind_file(parse_c(self.text, self.source, complete=not self.missing, compiler=self.compiler).ast)
        except PlanishError:
            return None

    def names_in_function(self, name: str) -> frozenset[str] | None:
        """What a function names that is not its own: functions, variables, types, enumerators; None where it cannot be
        read."""
        if self.scope is None or name not in self.scope.functions:
            return None
        with deep():
            node = self.scope.functions[name]
            declared = (x for x in walk_tree(node.body) if isinstance(x, c_ast.Decl) and x.name is not None)
            others = (x.name for x in declared if isinstance(x.type, c_ast.FuncDecl) or "extern" in (x.storage or ()))
            return frozenset((*_outer_names(node, bind_function(node, self.scope)), *others))

    @cached_property
    def _attributed_parts(self) -> tuple[Part, ...]:
        # Without attributes, it is the same text.
        return split_text(self.attributed) if _ATTRIBUTE.search(self.attributed) else self.parts

    @cached_property
    def attributed(self) -> str:
        """The text with its attributes."""
        return preprocess(self.source, (*self.defines, *_KEPT), self.include_dirs, self.compiler).text

    def why_not_known(self, name: str) -> str:
        """What is said of a name that may be something else than what it is declared as; "": it is that."""
        if any("inline" in _outside(x) for x in self.words_of(name)) and not self.is_static(name):
            return "which is `inline`, so that another definition may be called"
        for part in self._attributed_parts:
            if name in part.names:
                end = part.body[0] if part.body is not None else part.end
                text = self.text if self._attributed_parts is self.parts else self.attributed
                if found := next(_forbidden(text[part.start : end]), None):
                    return f"which is declared with `{found.strip('_')}`"
        return ""

    def attributed_with(self, attributes: re.Pattern[str]) -> Iterator[tuple[str, str]]:
        """The functions that it defines for all files with such attributes, each with one of these."""
        for part in self._attributed_parts:
            text = self.text if self._attributed_parts is self.parts else self.attributed
            said = _forbidden(text[part.start : part.body[0] if part.body is not None else part.end])
            for word in (x.strip("_") for x in said if attributes.search(x)):
                yield from ((x, word) for x in part.names if self.defines_function(x))

    def why_not_lent(self, name: str) -> str:
        """What is said of a function that is not what its text says, or may be another one; "": it is."""
        if why := self.why_not_known(name):
            return why
        if self.pragma:
            return f"whose file has a `{self.pragma}`"
        told = self._by_flags.get(name, "")
        return f"whose text depends on {told}, which the compiler's flags decide" if told else ""

    @cached_property
    def pragma(self) -> str:
        """A directive that makes something else of functions; "": there is none."""
        found = (_PRAGMA.search(x) for x in written_texts(self.source, self.text))
        return next((" ".join(x[0].split()) for x in found if x is not None), "")

    @cached_property
    def _by_flags(self) -> dict[str, str]:
        """The functions whose text depends on the compiler's flags, and what of these decides."""
        nests: dict[str, list[tuple[int, int]]] = {}
        for part in (x for x in self.parts if x.body is not None and x.file == self.source.name):
            lines = part.line, part.line + self.text.count("\n", part.start, part.end)
            nests |= {name: [lines] for name in part.names}
        return functions_by_flags(self.source, nests, self._preprocess, self.defines, self.text)

    def _preprocess(self, source: Source) -> str:
        return preprocess(source, self.defines, self.include_dirs, self.compiler).text


def read_contents(
    source: Source, defines: Sequence[str] = (), include_dirs: Sequence[Path] = (), compiler: Sequence[str] = ()
) -> Contents:
    """A file behind the preprocessor, as of `preprocess`. Raises PlanishError E0202."""
    made = preprocess(source, defines, include_dirs, compiler)
    return Contents(
        source, made.text, split_text(made.text), tuple(defines), tuple(include_dirs), tuple(compiler),
        tuple(x.name for x in made.missing),
    )  # fmt: skip


def replaceable_functions(
    source: Source, text: str, defines: Sequence[str] = (), include_dirs: Sequence[Path] = (),
    compiler: Sequence[str] = (),
) -> dict[str, str]:  # fmt: skip
    """The functions of a file in whose place a program may have others, and what of them says so; `text` is what the
    preprocessor makes of it.

    >>> text = "__attribute__((weak)) int f(void) { return 1; } int g(void) { return 2; }"
    >>> replaceable_functions(Source("a.c", text), text)
    {'f': 'weak'}
    """
    written = [*written_texts(source, text), *defines]
    if not any(map(_REPLACEABLE.search, written)):
        return {}
    contents = read_contents(replace(source, borrowed=Borrowed()), defines, include_dirs, compiler)
    found = {name: "weak" for x in written for name in _WEAK.findall(x)}
    return found | dict(contents.attributed_with(_REPLACEABLE))


def _forbidden(text: str) -> Iterator[str]:
    """The attributes in a text that make something else of a declaration, and other names for the linker.

    >>> list(_forbidden("int f(int copy, int b[weak[0]]) __attribute__((aligned(sizeof(int)), __weak__)), packed;"))
    ['aligned', '__weak__']
    >>> list(_forbidden("[[gnu::noinline]] int f(void) asm(g);"))
    ['noinline', 'asm']
    """
    tokens = [x.text for x in tokenize(text).tokens]
    depth, awaited = 0, False
    for n, token in enumerate(tokens):
        if token in ("asm", "__asm", "__asm__"):
            yield token
        elif depth:
            depth += (token in ("(", "[")) - (token in (")", "]"))
            if _FORBIDDEN.fullmatch(token):
                yield token
        elif (awaited and token == "(") or tokens[n : n + 2] == ["[", "["]:
            depth, awaited = 1, False
        else:
            awaited = token in ("__attribute__", "__attribute", "__declspec")


def _outside(words: Sequence[str]) -> list[str]:
    """The words of a declaration that stand in no brackets, or in one that is not closed.

    >>> " ".join(_outside("_Alignas ( 16 ) static struct { const int x ; } ( * const p".split()))
    '_Alignas static struct ( * const p'
    """
    out: list[str] = []
    opened: list[int] = []
    for word in words:
        if word in ("{", "(", "["):
            opened.append(len(out))
        if word in ("}", ")", "]") and opened:
            del out[opened.pop() :]
        else:
            out.append(word)
    return out


def _is_constant(words: Sequence[str], name: str) -> bool:
    """Whether a declaration says that an object is constant.

    >>> [_is_constant(x.split(), "p") for x in ("const int p [ 2 ]", "const int * p", "int ( * const p ) ( int )")]
    [True, False, True]
    """
    words = words[: words.index(name)] if name in words else ()
    said = _outside(words)
    if "volatile" in said:
        return False
    last = max((n for n, x in enumerate(said) if x == "*"), default=0)
    return "const" in said[last:]


def _declared(words: Sequence[str], part: Part) -> Iterator[tuple[str, Kind]]:
    """The names that a part makes known at file scope."""
    depth, listed, value = 0, [False], False
    for n, word in enumerate(words):
        before, after = words[n - 1] if n else "", words[n + 1] if n + 1 < len(words) else ""
        if word in ("{", "(", "["):
            if word == "{" and depth == 0 and before == ")" and part.body is not None:
                return
            listed.append(word == "{" and "enum" in (before, words[n - 2] if n > 1 else ""))
            depth += 1
        elif word in ("}", ")", "]"):
            depth -= 1
            listed[1:] = listed[1:-1]
        elif depth == 0 and word in ("=", ","):
            value = word == "="
        elif not _WORD.fullmatch(word) or value:
            continue
        elif before in _TAGS:
            if after == "{" or (after == ";" and n == 1):
                yield word, "type"
        elif listed[-1]:
            if before in ("{", ","):
                yield word, "type"
        elif part.typedef:
            if (depth == 0 and after in (";", ",", "[", "(")) or (before == "*" and after == ")" and depth == 1):
                yield word, "type"
        elif depth == 0 and after == "(":
            if word not in ("__attribute__", "__asm__", "asm", "_Static_assert", "_Alignas", "typeof", "__typeof__"):
                yield word, "function" if part.body is not None else "prototype"
        elif depth == 0 and after in (";", ",", "[", "=") and part.body is None:
            if n:
                yield word, "variable"
        elif depth == 1 and before == "*" and part.body is None and words[n - 2] == "(" and after in (")", "["):
            yield word, "variable"


def _outer_names(node: c_ast.Node, bound: BoundNames) -> Iterator[str]:
    match node:
        case c_ast.ID(name=name):
            symbol = bound.symbol(node)
            if symbol is None or symbol.storage == "global":
                yield name
        case c_ast.IdentifierType(names=names):
            yield from names
        case c_ast.Struct(name=name) | c_ast.Union(name=name) | c_ast.Enum(name=name) if name:
            yield name
        case _:
            pass
    for label, child in node.children():
        named = isinstance(node, c_ast.StructRef) and label == "field"
        placed = isinstance(node, c_ast.NamedInitializer) and isinstance(child, c_ast.ID)
        if not (named or placed or (isinstance(node, c_ast.ParamList) and isinstance(child, c_ast.ID))):
            yield from _outer_names(child, bound)
