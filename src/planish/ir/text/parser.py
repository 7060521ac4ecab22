"""The text form back to a kernel: recursive descent over the tokens.

>>> kernel = parse_kernel("kernel zero(n; A: f64[n]) { for i in 0 .. n { A[i] = 0.0 } }")
>>> kernel.name, kernel.sizes, kernel.arrays[0].type.bits
('zero', ('n',), 64)
>>> parse_expr("2 * i + 1").op
'add'
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span
from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, UnaryOp, Var, type_of
from planish.ir.nest import (
    AXES,
    PLAIN_MEMORIES,
    Alloc,
    Array,
    Assign,
    Barrier,
    Block,
    Derived,
    For,
    If,
    Kernel,
    Launch,
    Let,
    LoopFacts,
    Memory,
    Reduce,
    ReduceOp,
    Scalar,
    Stmt,
    While,
)
from planish.ir.text.lexer import Token, tokenize
from planish.ir.text.operator_names import CALLED, COMPARISON_LEVEL, COMPARISONS, INFIX, RESERVED, UPDATES, TypeScope
from planish.ir.types import BOOL, BY_NAME, F64, INDEX, Type

_UNARY: dict[str, UnaryOp] = {"-": "neg", "!": "not", "~": "bitnot"}
_REDUCTIONS: dict[str, ReduceOp] = {op: op for op in UPDATES.values()}


def parse_kernel(text: str, name: str = "<text>", constants: Mapping[str, str] | None = None) -> Kernel:
    """The kernel that the text stands for; `name` is what messages call the text, `constants` are words of it that
    stand for numbers or types.

    PlanishError E0401 for text that is not of the form, E0402 for a name that is not in scope, with the place.
    """
    tokens = tokenize(text, name)
    if constants:
        tokens = [_with_constants(x, constants) for x in tokens]
    parser = _Parser(Source(name, text), tokens, TypeScope())
    kernel = parser.kernel()
    parser.finish()
    return kernel


def _with_constants(token: Token, constants: Mapping[str, str]) -> Token:
    """What a word stands for, in its place."""
    if token.kind != "word" or token.text not in constants:
        return token
    text = constants[token.text]
    return replace(token, kind="integer" if text.isdigit() else "word", text=text)


def parse_expr(text: str, scope: TypeScope | None = None, name: str = "<text>") -> Expr:
    """The expression that the text stands for; without a scope, names that carry no type are INDEX."""
    parser = _Parser(Source(name, text), tokenize(text, name), scope or TypeScope(), lenient=scope is None)
    expr = parser.expression()
    parser.finish()
    return expr


@dataclass(slots=True)
class _Parser:
    """A place in the tokens, and the names in scope there."""

    source: Source
    tokens: list[Token]
    scope: TypeScope
    lenient: bool = False
    place: int = 0

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.place]

    def fail(self, message: str, code: str = "E0401", at: Token | None = None, help: str = "") -> NoReturn:
        """PlanishError at a token (the next one, unless given)."""
        raise PlanishError(Diagnostic(code, message, (at or self.token).span, help), self.source)

    def next(self) -> Token:
        """The next token, which is consumed."""
        token = self.token
        if token.kind != "end":
            self.place += 1
        return token

    def sees(self, text: str) -> bool:
        """Whether the next token is that sign or keyword."""
        return self.token.text == text and self.token.kind in ("word", "sign")

    def takes(self, text: str) -> bool:
        """Consume that sign or keyword if it comes next."""
        if self.sees(text):
            self.place += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Consume that sign or keyword, which must come next."""
        if not self.sees(text):
            self.fail(f"expected `{text}`, found {self.found()}")
        return self.next()

    def found(self) -> str:
        """The next token, for a message."""
        return "the end of the text" if self.token.kind == "end" else f"`{self.token.text}`"

    def finish(self) -> None:
        """Nothing may follow."""
        if self.token.kind != "end":
            self.fail(f"expected the end of the text, found {self.found()}")

    def is_name(self) -> bool:
        """Whether a name (not a keyword) comes next."""
        return self.token.kind == "quoted" or (self.token.kind == "word" and self.token.text not in RESERVED)

    def name(self, what: str) -> str:
        """Consume a name."""
        if not self.is_name():
            self.fail(f"expected {what}, found {self.found()}")
        return self.next().text

    def integer(self) -> int:
        """Consume a whole number, which may be negative."""
        sign = -1 if self.takes("-") else 1
        if self.token.kind != "integer":
            self.fail(f"expected a whole number, found {self.found()}")
        return sign * int(self.next().text)

    def type(self) -> Type:
        """Consume the name of a type."""
        if self.token.kind != "word" or self.token.text not in BY_NAME:
            self.fail(f"expected a type, found {self.found()}", help=f"one of {', '.join(BY_NAME)}")
        return BY_NAME[self.next().text]

    def kernel(self) -> Kernel:
        """`kernel NAME(PARAMETERS) assume … { … }`."""
        start = self.expect("kernel")
        name = self.name("the name of the kernel")
        sizes: list[str] = []
        scalars: list[Scalar] = []
        arrays: list[Array] = []
        self.expect("(")
        while not self.sees(")"):
            parameter = self.name("a parameter")
            if not self.takes(":"):
                sizes.append(parameter)
                self.scope = self.scope.with_value(parameter, INDEX)
            else:
                type = self.type()
                if self.sees("["):
                    arrays.append(self.array(parameter, type))
                else:
                    scalars.append(Scalar(parameter, type))
                    self.scope = self.scope.with_value(parameter, type)
            if not (self.takes(",") or self.takes(";")):
                break
        self.expect(")")
        assumptions: list[Expr] = []
        while self.takes("assume"):
            assumptions.append(self.expression())
        derived: list[Derived] = []
        while self.takes("where"):
            derived.append(self.derived())
        body = self.block()
        span = self.since(start)
        own = tuple(sizes), tuple(scalars), tuple(arrays)
        return Kernel(name, *own, body, tuple(assumptions), span, tuple(derived))

    def derived(self) -> Derived:
        """`NAME = …` or `NAME[VARIABLE, …] = …`."""
        name, index, outer = self.name("a size or an array"), list[str](), self.scope
        if self.takes("["):
            while not self.takes("]"):
                index.append(self.name("the name of a subscript"))
                self.scope = self.scope.with_value(index[-1], INDEX)
                self.takes(",")
        self.expect("=")
        value = self.expression()
        self.scope = outer
        return Derived(name, tuple(index), value)

    def since(self, start: Token) -> Span:
        """From a token to the one consumed last."""
        a, b = start.span, self.tokens[max(self.place - 1, 0)].span
        return Span(a.file, a.line, a.column, b.end_line, b.end_column)

    def array(self, name: str, type: Type) -> Array:
        """The shape and the words of an array; it comes into scope."""
        self.expect("[")
        shape: list[Expr | None] = []
        while not self.sees("]"):
            shape.append(None if self.takes("?") else self.expression())
            if not self.takes(","):
                break
        self.expect("]")
        distinct = self.takes("distinct")
        memory: Memory = "dram"
        values: tuple[float, ...] = ()
        if self.token.kind == "word" and self.token.text in PLAIN_MEMORIES:
            memory = self.next().text
            values = self.table(type) if memory == "table" else ()
        elif self.takes("@"):
            memory = self.name("a kind of memory")
        if memory != "table" and self.takes("="):
            values = self.table(type)
        self.scope = self.scope.with_array(name, type)
        return Array(name, type, tuple(shape), distinct, memory, values)

    def table(self, type: Type) -> tuple[float, ...]:
        """`(1.0, …)`: constants."""
        self.expect("(")
        values: list[float] = []
        for x in self.items(")"):
            if not isinstance(x, Const):
                self.fail("a table holds constants only")
            values.append(x.value if type.is_float else int(x.value))
        return tuple(values)

    def block(self) -> Block:
        """`{ … }`; what is bound inside goes out of scope at its end."""
        self.expect("{")
        outer = self.scope
        body: list[Stmt] = []
        while not self.sees("}"):
            if self.token.kind == "end":
                self.fail("expected `}`, found the end of the text")
            body.append(self.statement())
        self.expect("}")
        self.scope = outer
        return Block(tuple(body))

    def statement(self) -> Stmt:
        """One statement."""
        start = self.token
        if self.sees("{"):
            return self.block()
        if self.takes("for"):
            return self.loop(start)
        if self.takes("while"):
            condition = self.expression()
            return While(condition, self.block(), self.since(start))
        if self.takes("if"):
            return self.condition(start)
        if self.takes("alloc"):
            name = self.name("the name of an array")
            self.expect(":")
            return Alloc(self.array(name, self.type()), self.since(start))
        if self.takes("let"):
            name = self.name("a name")
            self.expect("=")
            value = self.expression()
            self.scope = self.scope.with_value(name, type_of(value))
            return Let(name, value, self.since(start))
        if self.takes("launch"):
            return self.launch(start)
        if self.takes("barrier"):
            return Barrier(self.since(start))
        late = self.takes("async")
        array = self.name("a statement")
        self.expect("[")
        index = self.items("]")
        if self.takes("="):
            return Assign(array, index, self.expression(), self.since(start), asynchronous=late)
        if self.token.kind == "sign" and self.token.text in UPDATES:
            op = UPDATES[self.next().text]
            return Reduce(array, index, op, self.expression(), self.since(start))
        self.fail(f"expected `=` or an update such as `+=`, found {self.found()}")

    def loop(self, start: Token) -> For:
        """`for VAR in LOWER .. UPPER [step N] [facts] { … }`."""
        var = self.name("a loop variable")
        self.expect("in")
        lower = self.expression()
        self.expect("..")
        upper = self.expression()
        step = self.integer() if self.takes("step") else 1
        parallel, simd = self.takes("parallel"), self.takes("simd")
        reductions: list[tuple[ReduceOp, str]] = []
        if self.takes("reduce"):
            self.expect("(")
            while not self.sees(")"):
                if self.token.text not in _REDUCTIONS:
                    self.fail(f"expected a reduction, found {self.found()}", help=f"one of {', '.join(_REDUCTIONS)}")
                op = _REDUCTIONS[self.next().text]
                self.expect(":")
                reductions.append((op, self.name("the name of what is reduced")))
                if not self.takes(","):
                    break
            self.expect(")")
        unroll = self.integer() if self.takes("unroll") else 0
        coincident, isolated = self.takes("coincident"), self.takes("isolated")
        instruction = self.name("an instruction") if self.takes("as") else ""
        stream = self.name("an instruction") if self.takes("past") else ""
        fetch = self.name("an instruction") if self.takes("fetching") else ""
        axis = self.name("an axis") if self.takes("on") else ""
        if axis and axis not in AXES:
            self.fail(f"there is no axis `{axis}`", help=f"one of {', '.join(AXES)}")
        outer = self.scope
        self.scope = outer.with_value(var, INDEX)
        body = self.block()
        self.scope = outer
        reduced = tuple(reductions)
        facts = LoopFacts(parallel, simd, reduced, unroll, coincident, isolated, instruction, stream, fetch, axis)
        return For(var, lower, upper, step, body, facts, self.since(start))

    def launch(self, start: Token) -> Launch:
        """`launch (ID: NUMBER, …) of (ID: NUMBER, …) { … }`: blocks of threads."""
        grid: list[tuple[str, Expr]] = []
        threads: list[tuple[str, int]] = []
        self.expect("(")
        while not self.takes(")"):
            name = self.name("the name of an id")
            self.expect(":")
            grid.append((name, self.expression()))
            self.takes(",")
        if not self.takes("of"):
            self.fail("expected `of` and the threads of a block")
        self.expect("(")
        while not self.takes(")"):
            name = self.name("the name of an id")
            self.expect(":")
            threads.append((name, self.integer()))
            self.takes(",")
        outer = self.scope
        for name in (*(x for x, _ in grid), *(x for x, _ in threads)):
            self.scope = self.scope.with_value(name, INDEX)
        body = self.block()
        self.scope = outer
        return Launch(tuple(grid), tuple(threads), body, self.since(start))

    def condition(self, start: Token) -> If:
        """`if CONDITION { … } [else { … } | else if …]`."""
        condition = self.expression()
        then = self.block()
        otherwise = Block(())
        if self.takes("else"):
            inner = self.token
            otherwise = Block((self.condition(inner),)) if self.takes("if") else self.block()
        return If(condition, then, otherwise, self.since(start))

    def expression(self, level: int = 0) -> Expr:
        """An expression whose operators bind at least as tightly as `level`."""
        left = self.unary()
        while self.token.kind == "sign":
            sign = self.token.text
            if sign in COMPARISONS and level <= COMPARISON_LEVEL:
                self.next()
                left = Compare(COMPARISONS[sign], left, self.expression(COMPARISON_LEVEL + 1))
                if self.token.text in COMPARISONS and self.token.kind == "sign":
                    self.fail("comparisons do not chain", help="join two comparisons with `&&`")
            elif sign in INFIX and level <= INFIX[sign][1]:
                op, own = INFIX[sign]
                self.next()
                left = Binary(op, left, self.expression(own + 1))
            else:
                break
        return left

    def unary(self) -> Expr:
        """A prefix operator and its operand, or an atom; a minus before a number belongs to the number."""
        if self.token.kind == "sign" and self.token.text in _UNARY:
            sign = self.next().text
            number = self.token.kind in ("integer", "float") or self.sees("inf") or self.sees("nan")
            return self.number(-1) if sign == "-" and number else Unary(_UNARY[sign], self.unary())
        return self.atom()

    def number(self, sign: int) -> Const:
        """A literal: `3`, `2.5:f32`, `inf:f64`; whole numbers without a type are INDEX, others f64."""
        token = self.next()
        whole = token.kind == "integer"
        words = {"inf": math.inf, "nan": math.nan}
        value = int(token.text) if whole else words[token.text] if token.kind == "word" else float(token.text)
        type = self.type() if self.takes(":") else INDEX if whole else F64
        return Const(value if sign > 0 else -value, type)

    def atom(self) -> Expr:
        """A literal, a name, a subscripted array, a call, a conversion, or an expression in parentheses."""
        token = self.token
        if token.kind in ("integer", "float") or self.sees("inf") or self.sees("nan"):
            return self.number(1)
        if self.takes("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if token.kind == "word":
            if token.text in ("true", "false"):
                self.next()
                return Const(token.text == "true", BOOL)
            if token.text in BY_NAME:
                type = self.type()
                self.expect("(")
                operand = self.expression()
                self.expect(")")
                return Cast(operand, type)
            if token.text == "select" or token.text in CALLED:
                return self.operation()
        name = self.name("an expression")
        if self.takes("["):
            index = self.items("]")
            return Load(name, index, self.suffix(token, self.scope.arrays.get(name), "array"))
        if self.takes("("):
            return Call(name, self.items(")"))
        known = self.scope.values.get(name, INDEX if self.lenient else None)
        return Var(name, self.suffix(token, known, "name"))

    def operation(self) -> Expr:
        """`select(c, a, b)` or a binary operator that is written as a call."""
        token = self.next()
        self.expect("(")
        items = self.items(")")
        wanted = 3 if token.text == "select" else 2
        if len(items) != wanted:
            self.fail(f"`{token.text}` takes {wanted} operands, not {len(items)}", at=token)
        return Select(*items) if token.text == "select" else Binary(CALLED[token.text], *items)

    def suffix(self, token: Token, known: Type | None, what: str) -> Type:
        """The type after a name, or the one that the scope holds."""
        if self.takes(":"):
            return self.type()
        if known is None:
            self.fail(f"no {what} `{token.text}` is in scope", "E0402", token, "declare it, or write its type after it")
        return known

    def items(self, close: str) -> tuple[Expr, ...]:
        """Expressions with commas between them, up to the closing sign, which is consumed."""
        out: list[Expr] = []
        while not self.sees(close):
            out.append(self.expression())
            if not self.takes(","):
                break
        self.expect(close)
        return tuple(out)
