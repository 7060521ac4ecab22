"""A text of tactics to definitions: recursive descent over the words, once for each variant of a tactic.

>>> text = "def TTGT { pattern C(a,b,c) += A(a,c,d) * B(d,b) builder D(f,b) = C(a,b,c) where f = a * c }"
>>> found = parse_definitions(Source("t.tdl", text))[0]
>>> print(found.pattern[0], "|", found.builders[0][0])
C(a, b, c) += A(a, c, d) * B(d, b) | D(f, b) = C(a, b, c) where f = a * c
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span
from planish.raising.tdl.lexer import Lexer, TdlToken
from planish.raising.tdl.syntax import (
    INFIX,
    ComparisonChain,
    ElementRef,
    Function,
    IndexGroup,
    Infix,
    Negation,
    NumberLiteral,
    TacticDefinition,
    TdlName,
    TdlStatement,
    Term,
    Use,
    Verbatim,
    level_of,
)
from planish.raising.tdl.values import FUNCTIONS
from planish.raising.tdl.variants import choose, combinations

UPDATES = ("=", "+=", "-=", "*=", "min=", "max=", "or=", "and=")
COMPARISONS = ("<=", "<", ">=", ">", "==", "!=")
CLAUSES = ("pattern", "builder", "when", "cost", "example", "counterexample")
WORDS = frozenset({*CLAUSES, "def", "variants", "in", "where", "and", "or"})
"""Words that stand for themselves."""

Option = tuple[str, tuple[str, ...]]


def parse_definitions(source: Source) -> tuple[TacticDefinition, ...]:
    """The tactics that a text defines, every variant on its own.

    PlanishError E0810 for a character that starts no word, E0811 for what is not of the form.
    """
    parser = _Parser(source, Lexer(source))
    out: list[TacticDefinition] = []
    while parser.token.kind != "end":
        out += parser.definitions()
    return tuple(out)


@dataclass(slots=True)
class _Parser:
    """A place in the words of a text."""

    source: Source
    lexer: Lexer

    @property
    def token(self) -> TdlToken:
        """The token that comes next."""
        return self.lexer.token

    def fail(self, message: str, help: str = "", at: TdlToken | None = None) -> NoReturn:
        """PlanishError at a token (the next one, unless given)."""
        raise PlanishError(Diagnostic("E0811", message, (at or self.token).span, help), self.source)

    def sees(self, *texts: str) -> bool:
        """Whether the next token is one of those words or signs."""
        return self.token.kind in ("word", "sign") and self.token.text in texts

    def takes(self, text: str) -> bool:
        """Consume that word or sign if it comes next."""
        if self.sees(text):
            self.lexer.next()
            return True
        return False

    def expect(self, text: str) -> TdlToken:
        """Consume that word or sign, which must come next."""
        if not self.sees(text):
            self.fail(f"expected `{text}`, found {self.found()}")
        return self.lexer.next()

    def found(self) -> str:
        """The next token, for a message."""
        return "the end of the text" if self.token.kind == "end" else f"`{self.token.text}`"

    def is_name(self) -> bool:
        """Whether a name comes next, which is no word of the language."""
        return self.token.kind == "word" and self.token.text not in WORDS

    def name(self, what: str) -> TdlToken:
        """Consume a name."""
        if not self.is_name():
            self.fail(f"expected {what}, found {self.found()}")
        return self.lexer.next()

    def since(self, start: TdlToken) -> Span:
        """From a token to the one that was consumed last."""
        a, b = start.span, self.lexer.last.span
        return Span(a.file, a.line, a.column, b.end_line, b.end_column)

    def definitions(self) -> list[TacticDefinition]:
        """`def NAME ["SUMMARY"] { [variants …] … }`, in all variants."""
        start = self.expect("def")
        name = self.name("the name of the tactic")
        summary = self.lexer.next().text if self.token.kind == "string" else ""
        self.expect("{")
        options = self.options() if self.takes("variants") else []
        words = [word for _, choices in options for word in choices]
        out: list[TacticDefinition] = []
        body = self.token.start
        for chosen in combinations(options):
            text = choose(self.source.text, {word: word in chosen for word in words})
            shown = Source(self.source.name, text)
            # Places are those of the text as the user has it, which messages show.
            part = _Parser(self.source, Lexer(shown, body)) if options else self
            out.append(part.definition("_".join((name.text, *chosen)), name.text, summary, start, name.span))
            self.lexer = Lexer(self.source, part.token.start)
        return out

    def options(self) -> list[Option]:
        """`uplo in (lower, upper), …`: what the variants of a tactic differ in."""
        out: list[Option] = []
        while True:
            name = self.name("what the variants differ in").text
            self.expect("in")
            self.expect("(")
            words = [self.name("a word that chooses").text]
            while self.takes(","):
                words.append(self.name("a word that chooses").text)
            self.expect(")")
            if twice := {x for _, others in out for x in others} & set(words):
                self.fail(f"`{min(twice)}` is a choice twice", at=self.lexer.last)
            out.append((name, tuple(words)))
            if not self.takes(","):
                return out

    def definition(self, name: str, family: str, summary: str, start: TdlToken, at: Span) -> TacticDefinition:
        """The clauses of a tactic, in any order, and the brace that closes it."""
        pattern: tuple[TdlStatement, ...] | Verbatim | None = None
        builders: list[tuple[TdlStatement | Use, ...]] = []
        guards: list[ComparisonChain] = []
        cost: Term | None = None
        samples: dict[str, list[Verbatim]] = {"example": [], "counterexample": []}
        while not self.takes("}"):
            clause = self.token
            if not self.sees(*CLAUSES):
                self.fail(f"expected a clause of the tactic, found {self.found()}", f"one of {', '.join(CLAUSES)}")
            self.lexer.next()
            match clause.text:
                case "pattern":
                    if pattern is not None:
                        self.fail("a tactic has one pattern", at=clause)
                    pattern = self.nest() if self.sees("(") else self.statements()
                case "builder":
                    builders.append(tuple(self.steps()))
                case "when":
                    guards += self.conditions()
                case "cost":
                    cost = self.term()
                case "example" | "counterexample":
                    if not self.sees("{"):
                        self.fail(f"expected `{{`, found {self.found()}")
                    block = self.lexer.verbatim("C", "{}")
                    samples[clause.text].append(Verbatim(block.text[1:-1], block.start + 1, block.span))
        if pattern is None:
            message, advice = f"the tactic `{family}` has no pattern", "write `pattern` and what to look for"
            raise PlanishError(Diagnostic("E0811", message, at, advice), self.source)
        found, wrong = samples["example"], samples["counterexample"]
        return TacticDefinition(
            name, summary, pattern, tuple(builders), tuple(guards), cost, tuple(found), tuple(wrong), family, at
        )

    def nest(self) -> Verbatim:
        """`(SIZES; SCALARS; ARRAYS) { … }`: a pattern as a nest."""
        head = self.lexer.verbatim("nest", "()")
        if not self.sees("{"):
            self.fail(f"expected `{{`, found {self.found()}", "a nest stands in braces behind its parameters")
        body = self.lexer.verbatim("nest", "{}")
        # What stands between them (blanks, and choices that were not taken) is as long as it was.
        gap = self.lexer.source.text[head.start + len(head.text) : body.start]
        return Verbatim(head.text + gap + body.text, head.start, head.span)

    def statements(self) -> tuple[TdlStatement, ...]:
        """The statements of a pattern."""
        out: list[TdlStatement] = []
        for step in self.steps():
            if isinstance(step, Use):
                raise PlanishError(Diagnostic("E0811", "a pattern uses no other tactic", step.span), self.source)
            out.append(step)
        return tuple(out)

    def steps(self) -> list[TdlStatement | Use]:
        """Statements and uses of other tactics, up to the next clause; at least one."""
        out = [self.step()]
        while self.is_name():
            out.append(self.step())
        return out

    def step(self) -> TdlStatement | Use:
        """`C(i, j) += …` or `gemm(C = D, …)`."""
        start = self.name("a statement such as `C(i, j) += A(i, k) * B(k, j)`")
        self.expect("(")
        items: list[Term] = []
        operands: list[tuple[str, Term]] = []
        while not self.sees(")"):
            term = self.term()
            if self.sees("=") and isinstance(term, TdlName) and not items:
                self.lexer.next()
                operands.append((term.text, self.term()))
            elif operands:
                self.fail(f"expected `NAME = OPERAND`, found `{term}`", at=self.lexer.last)
            else:
                items.append(term)
            if not self.takes(","):
                break
        self.expect(")")
        if operands:
            return Use(start.text, tuple(operands), self.since(start))
        return self.statement(ElementRef(start.text, tuple(items), self.since(start)), start)

    def statement(self, target: ElementRef, start: TdlToken) -> TdlStatement:
        """What follows the target of a statement."""
        if not self.sees(*UPDATES):
            self.fail(f"expected `=` or an update such as `+=`, found {self.found()}", f"one of {', '.join(UPDATES)}")
        op = self.lexer.next().text
        value = self.term()
        groups: list[IndexGroup] = []
        chains: list[ComparisonChain] = []
        if self.takes("where"):
            while True:
                clause = self.clause()
                if isinstance(clause, IndexGroup):
                    groups.append(clause)
                else:
                    chains.append(clause)
                if not self.takes(","):
                    break
        return TdlStatement(target, op, value, tuple(chains), tuple(groups), self.since(start))

    def clause(self) -> IndexGroup | ComparisonChain:
        """`f = a * c`, or a range such as `0 <= k <= i`."""
        start = self.token
        term = self.term()
        if isinstance(term, TdlName) and self.takes("="):
            members = [self.member()]
            while self.takes("*"):
                members.append(self.member())
            return IndexGroup(term.text, tuple(members), self.since(start))
        return self.chain(term, start)

    def member(self) -> TdlName:
        """An index in a group."""
        token = self.name("an index of the group")
        return TdlName(token.text, token.span)

    def conditions(self) -> list[ComparisonChain]:
        """The conditions of `when`."""
        out: list[ComparisonChain] = []
        while True:
            start = self.token
            out.append(self.chain(self.term(), start))
            if not self.takes(","):
                return out

    def chain(self, term: Term, start: TdlToken) -> ComparisonChain:
        """The comparisons behind a term, or behind several names."""
        first = [term]
        while isinstance(first[-1], TdlName) and self.sees(","):
            self.lexer.next()
            first.append(self.term())
        rest: list[tuple[str, Term]] = []
        while self.sees(*COMPARISONS):
            op = self.lexer.next().text
            rest.append((op, self.term()))
        if not rest:
            self.fail(f"expected a comparison, found {self.found()}", f"one of {', '.join(COMPARISONS)}")
        return ComparisonChain(tuple(first), tuple(rest), self.since(start))

    def term(self, level: int = 0) -> Term:
        """An expression whose operators bind at least as tightly as `level`."""
        start = self.token
        left = self.unary()
        while self.sees(*INFIX) and level_of(self.token.text) >= level:
            op = self.lexer.next().text
            right = self.term(level_of(op) + 1)
            left = Infix(op, left, right, self.since(start))
        return left

    def unary(self) -> Term:
        """A minus and its operand, or an atom; a minus before a number belongs to the number."""
        start = self.token
        if not self.takes("-"):
            return self.atom()
        if self.token.kind in ("integer", "float"):
            number = self.number()
            return NumberLiteral(-number.value, self.since(start))
        return Negation(self.unary(), self.since(start))

    def number(self) -> NumberLiteral:
        """A literal."""
        token = self.lexer.next()
        return NumberLiteral(int(token.text) if token.kind == "integer" else float(token.text), token.span)

    def atom(self) -> Term:
        """A literal, a name, an element, a function, or an expression in parentheses."""
        start = self.token
        if start.kind in ("integer", "float"):
            return self.number()
        if self.takes("("):
            inner = self.term()
            self.expect(")")
            return inner
        name = self.name("an expression")
        if not self.takes("("):
            return TdlName(name.text, name.span)
        items: list[Term] = []
        while not self.sees(")"):
            items.append(self.term())
            if not self.takes(","):
                break
        self.expect(")")
        span = self.since(start)
        if name.text in FUNCTIONS:
            wanted = FUNCTIONS[name.text]
            if len(items) != wanted:
                self.fail(f"`{name.text}` takes {wanted} arguments, not {len(items)}", at=name)
            return Function(name.text, tuple(items), span)
        return ElementRef(name.text, tuple(items), span)

