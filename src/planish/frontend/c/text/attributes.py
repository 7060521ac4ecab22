"""Attributes that make a type another one than its words say; the parser does not see attributes.

>>> from planish.frontend.c.text.syntax import parse_c
>>> source = Source("f.c", "typedef float four __attribute__((vector_size(16)));\\ntypedef float one;\\n")
>>> tree = parse_c(source.text.replace("__attribute__((vector_size(16)))", ""), source).ast
>>> mark_attributes(tree, source)
>>> [x.type.type.names for x in tree.ext]
[['attributed'], ['float']]
"""

from __future__ import annotations

import re

from pycparser import c_ast

from planish.core.span import Source
from planish.frontend.c.text.lexer import Tokens, tokenize
from planish.frontend.c.types.constants import walk_tree

_UNKNOWN = "attributed"
_WORD = "__attribute"
_CHANGING = re.compile(
    r"__attribute(?:__)?\W.*\b_*(?:packed|vector_size|ext_vector_type|mode)_*\b"
)
_PACKED = re.compile(r"__attribute(?:__)?\W.*\b_*packed_*\b")
"""Those that leave numbers what they are, and make enumerations short."""
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(.*)", re.S)


def mark_attributes(tree: c_ast.FileAST, source: Source) -> None:
    """Makes types unknown that a file declares with such attributes, also by macros of its own."""
    if _WORD not in source.text:
        return
    tokens = tokenize(source.text)
    lines, packed = _lines(tokens, _CHANGING), _lines(tokens, _PACKED)
    if not lines:
        return
    for node in walk_tree(tree):
        if node.coord is None or node.coord.file != source.name:
            continue
        match node:
            case c_ast.Enum(values=values) if values is not None and _touches(node, lines):
                node.underlying_type = c_ast.IdentifierType([_UNKNOWN])
            case c_ast.Typedef() | c_ast.Decl() if node.coord.line not in packed and _touches(node, lines):
                inner = node.type
                while isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl):
                    inner = inner.type
                if isinstance(inner, c_ast.TypeDecl) and isinstance(inner.type, c_ast.IdentifierType):
                    inner.type = c_ast.IdentifierType([_UNKNOWN], inner.type.coord)
            case _:
                pass


def _touches(node: c_ast.Node, lines: set[int]) -> bool:
    """Whether one of the lines is of a declaration, whose last brace may be on the line behind what is in it."""
    own = [x.coord.line for x in walk_tree(node) if x.coord is not None]
    last = max(own) + (1 if max(own) > min(own) else 0)
    return any(min(own) <= x <= last for x in lines)


def _lines(tokens: Tokens, wanted: re.Pattern[str]) -> set[int]:
    """The lines on which such attributes stand."""
    defined = (_DEFINE.match(x.text) for x in tokens.directives)
    macros = {x[1] for x in defined if x is not None and wanted.search(x[2])}
    found = {x.line for x in tokens.tokens if x.text in macros}
    for number, token in enumerate(tokens.tokens):
        if token.text in (_WORD, f"{_WORD}__"):
            depth, end = 0, number + 1
            while end < len(tokens.tokens):
                depth += {"(": 1, ")": -1}.get(tokens.tokens[end].text, 0)
                end += 1
                if depth == 0:
                    break
            if wanted.search(" ".join(x.text for x in tokens.tokens[number:end])):
                found.add(token.line)
    return found
