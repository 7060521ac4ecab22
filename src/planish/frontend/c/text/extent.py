"""Source extents: the characters of the user's text that a statement is. The parser sees the preprocessed text, we
replace the original.

>>> text = "void f(void) { int i; /* { */ for (i = 0; i < 9; i++) g(i); }"
>>> body = scan_kept(active_tokens(tokenize(text), frozenset({1})), "f", 1)
>>> [text[item.start : item.end] for item in body.children]
['int i;', 'for (i = 0; i < 9; i++) g(i);']
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, Protocol

from pycparser import c_ast

from planish.core.span import Source, Span
from planish.frontend.c.text.lexer import CToken, Tokens, tokenize

Form = Literal["compound", "for", "while", "do", "if", "switch", "plain"]


@dataclass(frozen=True, slots=True)
class Item:
    """A statement in the original text: its extent, its form, and the statements directly inside it."""

    form: Form
    start: int
    end: int
    children: tuple[Item, ...] = ()


class UnreadableText(Exception):
    """The text does not have the shape of the statements that the parser saw (a macro hides part of them)."""


class Lexeme(Protocol):
    """A token with its extent in the user's text."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def line(self) -> int: ...


def scan_kept(kept: Sequence[Lexeme], name: str, line: int) -> Item:
    """The body of the function `name` whose declarator starts near `line`, of the tokens that the preprocessor keeps.
    Raises UnreadableText where no such body is found."""
    return scan_statement(kept, find_body(kept, name, line))[0]


def find_body(kept: Sequence[Lexeme], name: str, line: int) -> int:
    """The position of the brace with which the body of the function `name` begins, whose declarator starts near `line`.
    Raises UnreadableText."""
    candidates = [n for n, t in enumerate(kept) if t.text == name and n + 1 < len(kept) and kept[n + 1].text == "("]
    for n in sorted(candidates, key=lambda n: abs(kept[n].line - line)):
        behind = after = balanced(kept, n + 1)
        while after < len(kept) and kept[after].text not in ("{", ";", ",", ")", "}", "="):
            after = balanced(kept, after) if kept[after].text == "(" else after + 1
        if after < len(kept) and kept[after].text == "{":
            return after
        if (after := behind_declarations(kept, behind)) > behind:
            return after
    raise UnreadableText(f"the body of {name} is not in the text as written")


def behind_declarations(kept: Sequence[Lexeme], at: int) -> int:
    """The position of the brace behind declarations of parameters, as C before 1989 has them, which begin at `at`; `at`
    where it is not such a function. Raises UnreadableText where a bracket is not closed."""
    after = at
    while after < len(kept) and (kept[after].text.isidentifier() or kept[after].text in ("*", "(", "[", ",", ";")):
        after = balanced(kept, after) if kept[after].text in ("(", "[") else after + 1
    ends = after < len(kept) and kept[after].text == "{" and kept[after - 1].text == ";"
    return after if ends and at < len(kept) and kept[at].text.isidentifier() else at


def active_tokens(tokens: Tokens, active: frozenset[int]) -> list[CToken]:
    """The tokens that the preprocessor keeps: of the parts of conditional groups, those that have an `active` line."""
    parts = _conditional_parts(tokens)
    kept = {_part_of(x, parts) for x in active}
    out: list[CToken] = []
    for token in tokens.tokens:
        part = _part_of(token.line, parts)
        if part == 0 or part in kept:
            out.append(token)
    return out


def _part_of(line: int, parts: list[tuple[int, int]]) -> int:
    """The part that a line is in."""
    at = bisect_right(parts, line, key=lambda x: x[0])
    return parts[at - 1][1] if at else 0


def _conditional_parts(tokens: Tokens) -> list[tuple[int, int]]:
    """Where parts of conditional groups begin or go on (a line, the number of the part); 0: what is in no group."""
    out: list[tuple[int, int]] = []
    opened: list[int] = [0]
    for number, directive in enumerate(tokens.directives, 1):
        match directive.conditional:
            case "if" | "ifdef" | "ifndef":
                opened.append(number)
            case "elif" | "else" if len(opened) > 1:
                opened[-1] = number
            case "endif" if len(opened) > 1:
                opened.pop()
            case _:
                continue
        out.append((directive.line, opened[-1]))
    return out


def balanced(tokens: Sequence[Lexeme], at: int) -> int:
    """The position after the bracket that closes the one at `at`."""
    depth = 0
    for n in range(at, len(tokens)):
        if tokens[n].text in ("(", "[", "{"):
            depth += 1
        elif tokens[n].text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return n + 1
    raise UnreadableText("a bracket is not closed")


def scan_statement(tokens: Sequence[Lexeme], at: int) -> tuple[Item, int]:
    """The statement that starts at token `at`, and the position after it."""
    if at >= len(tokens):
        raise UnreadableText("a statement is missing")
    start = tokens[at].start
    match tokens[at].text:
        case "{":
            children: list[Item] = []
            at += 1
            while at < len(tokens) and tokens[at].text != "}":
                if tokens[at].text == "_Pragma":
                    at = balanced(tokens, at + 1)
                    continue
                if (after := _label(tokens, at)) > at:
                    at = after
                    continue
                child, at = scan_statement(tokens, at)
                children.append(child)
            if at >= len(tokens):
                raise UnreadableText("a brace is not closed")
            return Item("compound", start, tokens[at].end, tuple(children)), at + 1
        case "for" | "while" | "switch" as word:
            body, after = scan_statement(tokens, _skip_pragmas(tokens, _header(tokens, at + 1)))
            form: Form = "for" if word == "for" else "while" if word == "while" else "switch"
            return Item(form, start, body.end, (body,)), after
        case "if":
            then, after = scan_statement(tokens, _skip_pragmas(tokens, _header(tokens, at + 1)))
            if after < len(tokens) and tokens[after].text == "else":
                other, after = scan_statement(tokens, _skip_pragmas(tokens, after + 1))
                return Item("if", start, other.end, (then, other)), after
            return Item("if", start, then.end, (then,)), after
        case "do":
            body, after = scan_statement(tokens, _skip_pragmas(tokens, at + 1))
            if after >= len(tokens) or tokens[after].text != "while":
                raise UnreadableText("a do loop has no while")
            after = _header(tokens, after + 1)
            if after >= len(tokens) or tokens[after].text != ";":
                raise UnreadableText("a do loop does not end with a semicolon")
            return Item("do", start, tokens[after].end, (body,)), after + 1
        case _:
            while at < len(tokens) and tokens[at].text != ";":
                if tokens[at].text in ("(", "[", "{"):
                    at = balanced(tokens, at)
                elif tokens[at].text in (")", "]", "}"):
                    break
                else:
                    at += 1
            if at >= len(tokens) or tokens[at].text != ";":
                raise UnreadableText("a statement does not end with a semicolon")
            return Item("plain", start, tokens[at].end), at + 1


def _label(tokens: Sequence[Lexeme], at: int) -> int:
    """The position after `name:`, `default:` or `case …:`, or `at` itself."""
    if tokens[at].text == "case":
        while at < len(tokens) and tokens[at].text != ":":
            at += 1
        return at + 1
    named = tokens[at].text.isidentifier() and at + 1 < len(tokens) and tokens[at + 1].text == ":"
    return at + 2 if named else at


def _header(tokens: Sequence[Lexeme], at: int) -> int:
    if at >= len(tokens) or tokens[at].text != "(":
        raise UnreadableText("a loop or condition has no parenthesis")
    return balanced(tokens, at)


def _skip_pragmas(tokens: Sequence[Lexeme], at: int) -> int:
    while at < len(tokens) and tokens[at].text == "_Pragma":
        at = balanced(tokens, at + 1)
    return at


_FORMS = {c_ast.For: "for", c_ast.While: "while", c_ast.DoWhile: "do", c_ast.If: "if", c_ast.Switch: "switch"}


def match_items(node: c_ast.Node, item: Item, tokens: Tokens, found: dict[int, Item]) -> None:
    """Walk the parsed statement and the scanned one together; fill `found` (id of a node: its item).

    Where the two disagree (a macro stands for statements) the nodes below stay out of `found`.
    """
    if isinstance(node, c_ast.Compound):
        nodes = [x for part in node.block_items or [] for x in _unlabelled(part)]
        if item.form != "compound":
            # The parser wraps `#pragma …` and the statement after it in a compound of its own.
            if len(nodes) == 1 and len(node.block_items) > 1:
                match_items(nodes[0], item, tokens, found)
                if id(nodes[0]) in found:
                    found[id(node)] = item
            return
        if item.start >= 0 and item.end >= 0:
            found[id(node)] = item
        _match_block(nodes, item, tokens, found)
        return
    if item.form != _FORMS.get(type(node), "plain") or not _same_place(node, item, tokens):
        return
    if item.start >= 0 and item.end >= 0:
        found[id(node)] = item
    match node:
        case c_ast.If():
            parts = [x for x in (node.iftrue, node.iffalse) if x is not None]
        case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
            parts = [node.stmt]
        case _:
            parts = []
    for part, child in zip(parts, item.children, strict=False):
        match_items(part, child, tokens, found)


def _unlabelled(node: c_ast.Node) -> list[c_ast.Node]:
    """The statements that a block item stands for: pragmas are none, labels are not part of their statement."""
    match node:
        case c_ast.Pragma():
            return []
        case c_ast.Label(stmt=inner):
            return _unlabelled(inner)
        case c_ast.Case(stmts=inner) | c_ast.Default(stmts=inner):
            return [x for part in inner or [] for x in _unlabelled(part)]
        case _:
            return [node]


def _match_block(nodes: list[c_ast.Node], item: Item, tokens: Tokens, found: dict[int, Item]) -> None:
    groups = _declaration_groups(nodes)
    if len(groups) != len(item.children):
        return
    for group, child in zip(groups, item.children, strict=True):
        for node in group:
            match_items(node, child, tokens, found)


def _declaration_groups(nodes: list[c_ast.Node]) -> list[list[c_ast.Node]]:
    """`int a, b;` is two nodes for the parser and one statement in the text: the nodes share their specifiers."""
    groups: list[list[c_ast.Node]] = []
    for node in nodes:
        if groups and isinstance(node, c_ast.Decl) and isinstance(groups[-1][-1], c_ast.Decl):
            first, base = groups[-1][-1], _specifiers(node)
            if base is not None and base == _specifiers(first):
                groups[-1].append(node)
                continue
        groups.append([node])
    return groups


def _specifiers(node: c_ast.Node) -> str | None:
    """Where the specifiers of a declaration stand."""
    while isinstance(node, (c_ast.Decl, c_ast.PtrDecl, c_ast.ArrayDecl, c_ast.FuncDecl, c_ast.TypeDecl)):
        node = node.type
    return None if node is None or node.coord is None else str(node.coord)


def _same_place(node: c_ast.Node, item: Item, tokens: Tokens) -> bool:
    coord = node.coord
    if coord is None:
        return True
    if item.start < 0 or item.end < 0:
        return True
    first, last = tokens.place(item.start)[0], tokens.place(item.end)[0]
    return first <= int(coord.line) <= last


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Columns of the preprocessed text brought back to the original text, line by line."""

    original: dict[int, list[CToken]]
    expanded: dict[int, list[str]]
    tokens: Tokens

    def span(self, source: Source, line: int, column: int) -> Span:
        """The place in the original of the token that stands at `line`, `column` after preprocessing."""
        here = [(t.text, t.start + 1) for text in self.expanded.get(line, ()) for t in tokenize(text).tokens]
        there = self.original.get(line, [])
        position = next((n for n, (text, at) in enumerate(here) if at <= column < at + len(text)), None)
        if position is None or not there:
            return source.point(line, column)
        matcher = SequenceMatcher(None, [t for t, _ in here], [t.text for t in there], autojunk=False)
        for a, b, size in matcher.get_matching_blocks():
            if a <= position < a + size:
                token = there[b + position - a]
                return source.point(line, self.tokens.place(token.start)[1], len(token.text))
            if a > position and b > 0:
                # The token came out of a macro: point at the last word before the next common token.
                token = there[b - 1]
                return source.point(line, self.tokens.place(token.start)[1], len(token.text))
        return source.point(line, self.tokens.place(there[0].start)[1])


def columns(tokens: Tokens, lines: Iterable[tuple[int, str]]) -> ColumnMap:
    """The `ColumnMap` of the `lines` of the preprocessed text that come from the file, with their numbers."""
    original: dict[int, list[CToken]] = {}
    for token in tokens.tokens:
        original.setdefault(token.line, []).append(token)
    expanded: dict[int, list[str]] = {}
    for number, text in lines:
        expanded.setdefault(number, []).append(text)
    return ColumnMap(original, expanded, tokens)


def balanced_conditionals(tokens: Tokens, start: int, end: int) -> bool:
    """Whether every `#if` group that has a line inside the extent lies wholly inside it."""
    depth = 0
    for directive in tokens.directives:
        if start <= directive.start < end:
            match directive.conditional:
                case "if" | "ifdef" | "ifndef":
                    depth += 1
                case "endif":
                    depth -= 1
                case "elif" | "else" if depth == 0:
                    return False
                case _:
                    pass
            if depth < 0:
                return False
    return depth == 0
