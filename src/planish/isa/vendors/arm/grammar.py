"""The parser of Arm's operation language: statements by lines and indents, expressions by precedence.

>>> parse_operation("for e = 0 to elements-1\\n    Elem[result, e, 8] = Elem[operand, e, 8];")[0].counter
'e'
>>> parse_operation("x = a<7:0> EOR b;")[0].value.left
AslSlice(base=AslName(text='a'), high=AslNumber(value=7), low=AslNumber(value=0))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.isa.vendors.arm.syntax import (
    AslAssign,
    AslBinary,
    AslBits,
    AslCall,
    AslCase,
    AslChoose,
    AslDeclare,
    AslFor,
    AslIf,
    AslName,
    AslNumber,
    AslSlice,
    AslUnary,
    Expr,
    Stmt,
)

_DEEPEST = 40
_TOKEN = re.compile(r"0x[0-9A-Fa-f]+|\d+|'[01x ]*'|[A-Za-z_][\w.]*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/(){}\[\]:,<>=!;]")
_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">="), ("OR", "EOR", "AND"), (":",), ("<<", ">>"),
           ("+", "-"), ("*", "/", "DIV", "MOD"))  # fmt: skip
_SKIPPED = ("CheckFPAdvSIMDEnabled64", "AArch64.CheckFPAdvSIMDEnabled")
_TYPES = ("integer", "boolean", "FPRounding", "constant")


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    indent: int
    tokens: tuple[tuple[str, bool], ...]  # with whether something stands before it without a space


def parse_operation(text: str, source: Source | None = None, line: int = 1) -> tuple[Stmt, ...]:
    """The statements of an operation, which begins in a line of a file; PlanishError E0651 where it cannot be read."""
    reader = _Reader(source, list(_lines(text, source, line)))
    found = reader.block(0, 0)
    if reader.place < len(reader.lines):
        raise reader.wrong("a line that is indented more than the one before it", reader.lines[reader.place].number)
    return found


def _lines(text: str, source: Source | None, first: int) -> Iterator[_Line]:
    for number, line in enumerate(text.splitlines(), first):
        code = line.split("//")[0].rstrip()
        if not code.strip():
            continue
        tokens = []
        place = 0
        for found in _TOKEN.finditer(code):
            if code[place : found.start()].strip():
                break
            tokens.append((found[0], found.start() == place and place > 0))
            place = found.end()
        if code[place:].strip():
            raise _wrong(f"`{code[place:].strip()[0]}` is no part of an operation", source, number)
        yield _Line(number, len(code) - len(code.lstrip()), tuple(tokens))


def _wrong(message: str, source: Source | None, line: int) -> PlanishError:
    place = source.point(line) if source else None
    return PlanishError(Diagnostic("E0651", message, place, "the operation is left out"), source)


class _Reader:
    def __init__(self, source: Source | None, lines: list[_Line]) -> None:
        self.source, self.lines, self.place = source, lines, 0

    def wrong(self, message: str, line: int) -> PlanishError:
        return _wrong(message, self.source, line)

    def block(self, indent: int, depth: int) -> tuple[Stmt, ...]:
        """The statements that are indented at least so much."""
        if depth > _DEEPEST:
            raise self.wrong("statements lie too deep in one another", self.lines[self.place].number)
        found: list[Stmt] = []
        own: int | None = None
        while self.place < len(self.lines):
            line = self.lines[self.place]
            if line.indent < indent:
                break
            own = line.indent if own is None else own
            if line.indent > own:
                break
            if line.tokens[0][0] in ("else", "elsif", "when"):
                break
            self.place += 1
            found += self.statement(_Tokens(self, line), depth)
        return tuple(found)

    def inner(self, line: _Line, depth: int) -> tuple[Stmt, ...]:
        return self.block(line.indent + 1, depth + 1)

    def statement(self, tokens: _Tokens, depth: int) -> list[Stmt]:
        match tokens.peek():
            case "for":
                return [self.loop(tokens, depth)]
            case "if":
                return [self.branch(tokens, depth)]
            case "case":
                return [self.cases(tokens, depth)]
            case name if name in _SKIPPED:
                return []
            case _:
                return self.simple(tokens)

    def loop(self, tokens: _Tokens, depth: int) -> AslFor:
        tokens.take("for")
        counter = tokens.next()
        tokens.take("=")
        first = tokens.expression()
        tokens.take("to")
        last = tokens.expression()
        return AslFor(counter, first, last, self.inner(tokens.line, depth))

    def branch(self, tokens: _Tokens, depth: int) -> AslIf:
        tokens.next()
        condition = tokens.expression()
        tokens.take("then")
        if tokens.peek():
            return AslIf(condition, tuple(self.simple(tokens)), ())
        then = self.inner(tokens.line, depth)
        otherwise: tuple[Stmt, ...] = ()
        if self.place < len(self.lines):
            line = self.lines[self.place]
            if line.indent == tokens.line.indent and line.tokens[0][0] in ("else", "elsif"):
                self.place += 1
                following = _Tokens(self, line)
                if following.peek() == "elsif":
                    otherwise = (self.branch(following, depth),)
                else:
                    following.next()
                    otherwise = tuple(self.simple(following)) if following.peek() else self.inner(line, depth)
        return AslIf(condition, then, otherwise)

    def cases(self, tokens: _Tokens, depth: int) -> AslCase:
        tokens.next()
        subject = tokens.expression()
        ways = []
        while self.place < len(self.lines) and self.lines[self.place].tokens[0][0] == "when":
            line = self.lines[self.place]
            self.place += 1
            following = _Tokens(self, line)
            following.next()
            label = following.primary(0)
            body = tuple(self.simple(following)) if following.peek() else self.inner(line, depth)
            ways.append((label, body))
        return AslCase(subject, tuple(ways))

    def simple(self, tokens: _Tokens) -> list[Stmt]:
        found: list[Stmt] = []
        while tokens.peek():
            found.append(self.one(tokens))
            tokens.take(";")
        return found

    def one(self, tokens: _Tokens) -> Stmt:
        width: Expr | None = None
        if tokens.peek() == "bits":
            tokens.next()
            tokens.take("(")
            width = tokens.expression()
            tokens.take(")")
        elif tokens.peek() in _TYPES:
            while tokens.peek() in _TYPES:
                tokens.next()
        else:
            targets = tokens.targets()
            tokens.take("=")
            return AslAssign(targets, tokens.expression())
        name = tokens.next()
        value = None
        if tokens.peek() == "=":
            tokens.next()
            value = tokens.expression()
        return AslDeclare(name, width, value)


class _Tokens:
    """The tokens of a line."""

    def __init__(self, reader: _Reader, line: _Line) -> None:
        self.reader, self.line, self.place = reader, line, 0

    def peek(self) -> str:
        return self.line.tokens[self.place][0] if self.place < len(self.line.tokens) else ""

    def next(self) -> str:
        found = self.peek()
        if not found:
            raise self.reader.wrong("something is missing at the end of the line", self.line.number)
        self.place += 1
        return found

    def take(self, text: str) -> None:
        if self.peek() != text:
            there = f"before `{self.peek()}`" if self.peek() else "at the end of the line"
            raise self.reader.wrong(f"`{text}` is missing {there}", self.line.number)
        self.place += 1

    def targets(self) -> tuple[Expr, ...]:
        if self.peek() != "(":
            return (self.primary(0),)
        self.next()
        found = [self.primary(0)]
        while self.peek() == ",":
            self.next()
            found.append(self.primary(0))
        self.take(")")
        return tuple(found)

    def expression(self, level: int = 0, depth: int = 0) -> Expr:
        if depth > _DEEPEST:
            raise self.reader.wrong("expressions lie too deep in one another", self.line.number)
        if self.peek() == "if":
            return self.choose(depth)
        if level == len(_LEVELS):
            return self.unary(depth)
        left = self.expression(level + 1, depth)
        while self.peek() in _LEVELS[level]:
            op = self.next()
            left = AslBinary(op, left, self.expression(level + 1, depth))
        return left

    def choose(self, depth: int) -> AslChoose:
        self.take("if")
        condition = self.expression(0, depth + 1)
        self.take("then")
        then = self.expression(0, depth + 1)
        self.take("else")
        return AslChoose(condition, then, self.expression(0, depth + 1))

    def unary(self, depth: int) -> Expr:
        if self.peek() in ("-", "!"):
            op = self.next()
            return AslUnary(op, self.unary(depth + 1) if depth < _DEEPEST else self.primary(depth))
        return self.primary(depth)

    def primary(self, depth: int) -> Expr:
        token = self.next()
        found: Expr
        if token == "(":
            found = self.expression(0, depth + 1)
            self.take(")")
        elif token[0] == "'":
            found = AslBits(token[1:-1])
        elif token[0].isdigit():
            if len(token) > 80:
                raise self.reader.wrong("a number of more than 80 digits", self.line.number)
            found = AslNumber(int(token, 0))
        elif token[0].isalpha() or token[0] == "_":
            found = self.named(token, depth)
        else:
            raise self.reader.wrong(f"`{token}` where an operand is missing", self.line.number)
        while self.peek() == "<" and self.line.tokens[self.place][1]:
            found = self.sliced(found, depth)
        return found

    def named(self, name: str, depth: int) -> Expr:
        for opening, closing in (("(", ")"), ("[", "]")):
            if self.peek() == opening and self.line.tokens[self.place][1]:
                self.next()
                arguments = []
                while self.peek() != closing:
                    arguments.append(self.expression(0, depth + 1))
                    if self.peek() == ",":
                        self.next()
                self.take(closing)
                return AslCall(name, tuple(arguments), opening == "[")
        return AslName(name)

    def sliced(self, base: Expr, depth: int) -> AslSlice:
        # Between the brackets stands neither a comparison nor bits that are put together.
        self.take("<")
        high = self.expression(5, depth + 1)
        low = high
        if self.peek() == ":":
            self.next()
            low = self.expression(5, depth + 1)
        self.take(">")
        return AslSlice(base, high, low)
