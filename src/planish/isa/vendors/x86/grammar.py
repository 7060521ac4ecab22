"""Reads the pseudocode of an operation into a tree, by recursive descent.

>>> text = "FOR j := 0 to 3\\n\\ti := j*8\\n\\tdst[i+7:i] := ABS(a[i+7:i])\\nENDFOR\\ndst[MAX:32] := 0"
>>> found = parse_operation(text)
>>> loop, rest = found.body
>>> loop.counter, loop.last, loop.body[1].value.name, rest.value
('j', IntelNumber(value=3), 'ABS', IntelNumber(value=0))
"""

from __future__ import annotations

import re
from fractions import Fraction

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.isa.vendors.x86 import syntax as s

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|//[^\n]*|/\*.*?\*/|\\[ \t]*\n)|(?P<line>\n)|(?P<real>\d+\.\d+)"
    r"|(?P<number>0[xX][0-9A-Fa-f]+|\d+)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark><<<|>>>|>>=|<<=|:=|\+=|-=|\|=|&=|\^=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:=()\[\]{}.,;#])",
    re.DOTALL,
)
_LOOSEST = (
    ("OR", "||"), ("AND", "&&"), ("XOR",), ("|",), ("^",), ("&",), ("==", "!=", "OP"),
    ("<", ">", "<=", ">="), ("<<", ">>", "<<<", ">>>"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_ENDS = {"ENDFOR", "FI", "ELSE", "ESAC", "OD", "ENDIF"}
_DEEPEST = 60
_CONTINUES = {"+", "-", "*", "/", "|", "&", "^", "||", "&&", "OR", "AND", "XOR", ",", "(", "[", ":=", "?", "==", "<<"}


def parse_operation(text: str, source: Source | None = None, line: int = 1) -> s.IntelProgram:
    """The tree of an operation that begins in a line of a file; PlanishError E0651 where it cannot be read."""
    return _Parser(text, source or Source("operation", text), line).program()


class _Parser:
    def __init__(self, text: str, source: Source, line: int) -> None:
        self.source = source
        self.tokens: list[tuple[str, str, int]] = []
        self.place = 0
        self.depth = 0
        self.functions: dict[str, s.IntelDefine] = {}
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self.wrong(f"`{text[at]}` is no part of an operation", line)
            kind = str(found.lastgroup)
            if kind not in ("space", "line") or (kind == "line" and self.ends_line()):
                self.tokens.append((kind, found[0], line))
            line += found[0].count("\n")
            at = found.end()
        self.tokens += [("line", "\n", line), ("end", "", line)]

    def ends_line(self) -> bool:
        # A line that ends in an operator goes on in the next one.
        return not self.tokens or self.tokens[-1][1].upper() not in _CONTINUES

    def wrong(self, message: str, line: int) -> PlanishError:
        advice = "the operation is left out; write it anew as an override"
        return PlanishError(Diagnostic("E0651", message, self.source.point(line), advice), self.source)

    @property
    def word(self) -> str:
        return self.tokens[self.place][1]

    @property
    def line(self) -> int:
        return self.tokens[self.place][2]

    def is_word(self, *words: str) -> bool:
        kind, text, _ = self.tokens[self.place]
        return kind == "name" and text.upper() in words

    def take(self, *words: str) -> bool:
        kind, text, _ = self.tokens[self.place]
        if text in words or (kind == "name" and text.upper() in words):
            self.place += 1
            return True
        return False

    def need(self, *words: str) -> None:
        if not self.take(*words):
            found = "the end of the line" if self.word == "\n" else f"`{self.word}`" if self.word else "the end"
            raise self.wrong(f"`{words[0]}` is missing before {found}", self.line)

    def name(self) -> str:
        kind, text, line = self.tokens[self.place]
        if kind != "name":
            raise self.wrong(f"a name is missing before `{text.strip()}`", line)
        self.place += 1
        return text

    def program(self) -> s.IntelProgram:
        body = self.statements()
        if self.tokens[self.place][0] != "end":
            raise self.wrong(f"`{self.word}` ends nothing", self.line)
        return s.IntelProgram(self.functions, body)

    def statements(self) -> tuple[s.Stmt, ...]:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"statements lie more than {_DEEPEST} deep in one another", self.line)
        found: list[s.Stmt] = []
        while True:
            while self.take("\n", ";"):
                pass
            if self.tokens[self.place][0] == "end" or self.word == "}" or self.is_word(*_ENDS) or self.at_label():
                self.depth -= 1
                return tuple(found)
            made = self.statement()
            if isinstance(made, s.IntelDefine):
                self.functions[made.name] = made
            elif made is not None:
                found.append(made)

    def at_label(self) -> bool:
        kind, text, _ = self.tokens[self.place]
        return kind in ("name", "number") and self.tokens[self.place + 1][1] == ":" and text.upper() not in ("IF",)

    def statement(self) -> s.Stmt | None:
        line = self.line
        if self.take("FOR"):
            return self.loop(line)
        if self.take("DO"):
            self.need("WHILE")
            condition = self.expression()
            body = self.statements()
            self.need("OD")
            return s.IntelWhile(line, condition, body)
        if self.take("IF"):
            return self.branch(line)
        if self.take("CASE"):
            return self.cases(line)
        if self.take("DEFINE"):
            return self.definition(line)
        if self.take("RETURN"):
            return s.IntelReturn(line, self.expression())
        if self.take("BREAK"):
            return s.IntelBreak(line)
        if self.take("ENUM"):
            while not self.take("}"):
                if self.tokens[self.place][0] == "end":
                    raise self.wrong("`}` is missing behind `enum`", line)
                self.place += 1
            return None
        if self.take("#"):
            return s.IntelPerform(line, s.IntelName("#" + self.name()))
        return self.assignment(line)

    def assignment(self, line: int) -> s.Stmt:
        target = self.expression()
        if self.take(":=", "="):
            return s.IntelAssign(line, target, "", self.expression())
        for op in ("+=", "-=", "|=", "&=", "^=", ">>=", "<<="):
            if self.take(op):
                return s.IntelAssign(line, target, op[:-1], self.expression())
        return s.IntelPerform(line, target)

    def loop(self, line: int) -> s.IntelFor:
        counter = self.name()
        self.need(":=", "=")
        first = self.expression()
        down = self.take("DOWNTO")
        if not down:
            self.need("TO")
        last = self.expression()
        body = self.statements()
        self.need("ENDFOR")
        return s.IntelFor(line, counter, first, last, -1 if down else 1, body)

    def branch(self, line: int) -> s.IntelIf:
        condition = self.expression()
        self.take("THEN")
        then = self.statements()
        otherwise: tuple[s.Stmt, ...] = ()
        if self.take("ELSE"):
            inner = self.line
            if self.take("IF"):  # a chain has one end
                return s.IntelIf(line, condition, then, (self.branch(inner),))
            otherwise = self.statements()
        self.need("FI", "ENDIF")
        return s.IntelIf(line, condition, then, otherwise)

    def cases(self, line: int) -> s.IntelCase:
        subject = self.expression()
        self.need("OF")
        branches: list[tuple[s.Expr | None, tuple[s.Stmt, ...]]] = []
        while True:
            while self.take("\n", ";"):
                pass
            if self.take("ESAC"):
                return s.IntelCase(line, subject, tuple(branches))
            label = None if self.take("DEFAULT") else self.primary()
            self.need(":")
            branches.append((label, self.statements()))

    def definition(self, line: int) -> s.IntelDefine:
        name = self.name()
        self.need("(")
        parameters: list[s.Expr] = []
        while not self.take(")"):
            parameters.append(self.expression())
            self.take(",")
        self.take("\n")
        self.need("{")
        body = self.statements()
        self.need("}")
        return s.IntelDefine(line, name, tuple(parameters), body)

    def expression(self) -> s.Expr:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"expressions lie more than {_DEEPEST} deep in one another", self.line)
        found = self.binary(0)
        if self.take("?"):
            then = self.expression()
            self.need(":")
            found = s.IntelTernary(found, then, self.expression())
        self.depth -= 1
        return found

    def binary(self, level: int) -> s.Expr:
        if level == len(_LOOSEST):
            return self.unary()
        left = self.binary(level + 1)
        while True:
            word = self.word.upper()
            if word not in _LOOSEST[level]:
                return left
            self.place += 1
            left = s.IntelBinary({"||": "OR", "&&": "AND"}.get(word, word), left, self.binary(level + 1))

    def unary(self) -> s.Expr:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"expressions lie more than {_DEEPEST} deep in one another", self.line)
        try:
            for op in ("-", "~", "!", "NOT", "+"):
                if self.take(op):
                    inner = self.unary()
                    return inner if op == "+" else s.IntelUnary("~" if op == "NOT" else op, inner)
            return self.postfix(self.primary())
        finally:
            self.depth -= 1

    def postfix(self, base: s.Expr) -> s.Expr:
        while True:
            if self.take("["):
                first = self.expression()
                if self.take(":"):
                    base = s.IntelSlice(base, first, self.expression())
                else:
                    base = s.IntelIndex(base, first)
                self.need("]")
            elif self.take("."):
                base = s.IntelField(base, self.name())
            elif self.take("{"):
                raise self.wrong("an operand whose name is put together", self.line)
            else:
                return base

    def primary(self) -> s.Expr:
        kind, text, line = self.tokens[self.place]
        self.place += 1
        match kind:
            case "number":
                if len(text) > 300:
                    raise self.wrong("a number of more than 300 digits", line)
                return s.IntelNumber(int(text, 0) if not text.isdigit() else int(text))
            case "real":
                return s.IntelReal(Fraction(text))
            case "name":
                if self.take("("):
                    arguments: list[s.Expr] = []
                    while not self.take(")"):
                        arguments.append(self.expression())
                        if not self.take(","):
                            self.need(")")
                            break
                    return s.IntelCall(text, tuple(arguments))
                return s.IntelName(text)
            case _ if text == "(":
                inner = self.expression()
                self.need(")")
                return inner
            case _ if text == "#":
                return s.IntelName("#" + self.name())
            case _:
                shown = "the end of the line" if text == "\n" else f"`{text}`" if text else "the end"
                raise self.wrong(f"an operand is missing before {shown}", line)
