"""Definitions as text, and back.

A read `a.s16[i]` is element i of 16 bits, signed; `a.u8@[n]` are the 8 bits from bit n on. `u8(x)` and `s8(x)` cut a
value
to a width, `sat_u8(x)` takes the nearest one; `sum(q < 4: x)` adds for each q. Operators of floats name their format:
`fadd.f32(a, b, mode)`.

>>> text = "(a: 32, b: 32) -> out: 32 { for i < 2 { out.u16[i] = u16(a.u16[i] + sum(q < 2: b.s8[2*i + q])) } }"
>>> print_definition(parse_definition(text))
'(a: 32, b: 32) -> out: 32 { for i < 2 { out.u16[i] = u16(a.u16[i] + sum(q < 2: b.s8[2*i + q])) } }'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, lines_of, place_in
from planish.isa.semantics import build
from planish.isa.semantics.definition import Definition, LaneLoop, Operand, Put, Role, Statement
from planish.isa.semantics.node import Node, const, node, var, walk

_INFIX = {
    "or": (1, "|"), "xor": (2, "^"), "and": (3, "&"), "eq": (4, "=="), "lt": (5, "<"), "le": (5, "<="),
    "shl": (6, "<<"), "shr": (6, ">>"), "add": (7, "+"), "mul": (8, "*"),
}  # fmt: skip
_PREFIX = {"not": "!", "invert": "~"}
_TIGHT = 9
_LEVELS = {sign: (level, op) for op, (level, sign) in _INFIX.items()} | {"-": (_INFIX["add"][0], "-")}


def print_definition(definition: Definition) -> str:
    """The text of a definition, on one line."""
    return f"{print_heading(definition)} {{ {' '.join(map(_statement, definition.body))} }}"


def checked_text(name: str, definition: Definition, names: re.Pattern[str]) -> str:
    """The text of the definition of an instruction, which is read back the same; PlanishError E0652 for one that is
    not, or whose name, which becomes part of a program, is no name of an instruction."""
    if not names.fullmatch(name):
        raise PlanishError(Diagnostic("E0652", "this is no name of an instruction"))
    operands = [x.name for x in (*definition.operands, *((definition.result,) if definition.result else ()))]
    if len(set(operands)) < len(operands):
        raise PlanishError(Diagnostic("E0652", "two operands have one name"))
    text = print_definition(definition)
    if print_definition(parse_definition(text)) != text:
        raise PlanishError(Diagnostic("E0652", "its definition is not read back as it was written"))
    return text


def print_heading(definition: Definition) -> str:
    """The operands and the result."""
    operands = ", ".join(map(_operand, definition.operands))
    return f"({operands})" + (f" -> {_operand(definition.result)}" if definition.result else "")


def _operand(x: Operand) -> str:
    role = "" if x.role == "value" else f" {x.role}"
    return f"{x.name}: {x.bits}{' ' + x.element if x.element else ''}{role}"


def _statement(x: Statement) -> str:
    if isinstance(x, LaneLoop):
        return f"for {x.var} < {x.count} {{ {' '.join(map(_statement, x.body))} }}"
    return print_put(x)


def print_put(x: Put) -> str:
    """A statement; what it names first ends with `; `."""
    printer = _Printer((x.offset, x.value, x.when))
    place = printer.place(x.target, x.offset, x.width, "u")
    value = printer.print(x.value)
    when = f" if {printer.print(x.when)}" if x.when is not build.ONE else ""
    return f"{''.join(f'let {name} = {text}; ' for name, text in printer.lets)}{place} = {value}{when}"


class _Printer:
    """Prints the nodes of one statement; what stands in it more than once, and is long, has a name."""

    def __init__(self, roots: tuple[Node, ...]) -> None:
        uses: Counter[int] = Counter()
        counted: set[int] = set()
        for x in walk(roots):
            for y in x.args:
                uses[id(y)] += 1
            if x.op == "var" and str(x.attr[0]) >= "q":  # counters of sums are known in them alone
                counted.add(id(x))
            if any(id(y) in counted for y in x.args) and x.op != "sum":
                counted.add(id(x))
        self.named = {
            id(x) for x in walk(roots)
            if uses[id(x)] > 1 and x.args and id(x) not in counted and _is_long(x)
        }  # fmt: skip
        self.lets: list[tuple[str, str]] = []
        self.names: dict[int, str] = {}

    def print(self, x: Node, around: int = 0) -> str:
        if id(x) in self.names:
            return self.names[id(x)]
        text, level = self.plain(x)
        if id(x) in self.named:
            name = self.names[id(x)] = f"t{len(self.lets)}"
            self.lets.append((name, text))
            return name
        return f"({text})" if level < around else text

    def plain(self, x: Node) -> tuple[str, int]:
        match x.op:
            case "const":
                return (hex(x.low) if x.low > 0xFFFF else str(x.low)), _TIGHT if x.low >= 0 else 0
            case "var":
                return str(x.attr[0]), _TIGHT
            case "bits":
                return self.place(str(x.attr[0]), x.args[0], int(x.attr[1]), "s" if x.attr[2] else "u"), _TIGHT
            case "add":
                return self.sum(x.args), _INFIX["add"][0]
            case "mul" if x.args[1].op == "const":
                level = _INFIX["mul"][0]
                return f"{self.print(x.args[1], level)}*{self.print(x.args[0], level + 1)}", level
            case op if op in _INFIX:
                level, sign = _INFIX[op]
                return f" {sign} ".join((self.print(x.args[0], level), self.print(x.args[1], level + 1))), level
            case op if op in _PREFIX:
                return _PREFIX[op] + self.print(x.args[0], _TIGHT), _TIGHT
            case "wrap":
                return f"{'s' if x.attr[1] else 'u'}{x.attr[0]}({self.print(x.args[0])})", _TIGHT
            case "sat":
                return f"sat_{'s' if x.attr[1] else 'u'}{x.attr[0]}({self.print(x.args[0])})", _TIGHT
            case "sum":
                return f"sum({x.attr[0]} < {x.attr[1]}: {self.print(x.args[0])})", _TIGHT
            case op:
                name = ".".join([op, *(_attribute(y) for y in x.attr)])
                return f"{name}({', '.join(map(self.print, x.args))})", _TIGHT

    def sum(self, terms: tuple[Node, ...]) -> str:
        text = ""
        for term in terms:
            shown = self.print(term, _INFIX["add"][0] + 1)
            text += f" - {shown[2:-1]}" if text and shown.startswith("(-") and term.op == "const" else (
                f" + {shown}" if text else shown
            )
        return text

    def place(self, name: str, offset: Node, width: int, sign: str) -> str:
        element = _divided(offset, width)
        if element is not None:
            return f"{name}.{sign}{width}[{self.print(element)}]"
        return f"{name}.{sign}{width}@[{self.print(offset)}]"


def _attribute(x: str | int | bool) -> str:
    return {True: "s", False: "u"}[x] if isinstance(x, bool) else str(x)


def _is_long(x: Node) -> bool:
    least = 12 if x.op == "bits" else 5
    return x.op != "not" and sum(1 for _ in zip(walk([x]), range(least), strict=False)) == least


def _divided(offset: Node, width: int) -> Node | None:
    """The offset in elements, where it is a whole number of them."""
    terms = offset.args if offset.op == "add" else (offset,)
    made = []
    for term in terms:
        if term.op == "const" and term.low % width == 0:
            made.append(const(term.low // width))
        elif term.op == "mul" and term.args[1].op == "const" and term.args[1].low % width == 0:
            made.append(build.multiply(term.args[0], const(term.args[1].low // width)))
        elif width != 1:
            return None
        else:
            made.append(term)
    divided = build.add(*made)
    return divided if build.multiply(divided, const(width)) is offset else None


_TOKEN = re.compile(r"\s*(0x[0-9a-f]+|\d+|[A-Za-z_]\w*|->|<<|>>|==|<=|@\[|[-+*&|^<>=!~(){}\[\]:;,.])")
_CUT = re.compile(r"(sat_)?([us])(\d+)")


def parse_definition(text: str) -> Definition:
    """The definition of a text; PlanishError E0652 where it is none."""
    return _Parser(text).definition()


class _Parser:
    def __init__(self, text: str) -> None:
        self.source = Source("definition", text)
        self.words: list[tuple[str, int]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise self.wrong(f"`{text[at:].strip()[:1]}` is no part of a definition", at)
            self.words.append((found[1], found.start(1)))
            at = found.end()
        self.words.append(("", len(text)))
        self.at = 0
        self.counters: dict[str, Node] = {}
        self.lets: dict[str, Node] = {}

    def wrong(self, message: str, at: int) -> PlanishError:
        span = self.source.point(*place_in(lines_of(self.source.text), at))
        return PlanishError(Diagnostic("E0652", message, span, "see the page on instructions"), self.source)

    @property
    def word(self) -> str:
        return self.words[self.at][0]

    def next(self) -> str:
        self.at += 1
        return self.words[self.at - 1][0]

    def take(self, word: str) -> bool:
        if self.word == word:
            self.at += 1
            return True
        return False

    def need(self, word: str) -> None:
        if not self.take(word):
            raise self.wrong(f"`{word}` is missing before `{self.word or 'the end'}`", self.words[self.at][1])

    def number(self) -> int:
        minus = self.take("-")
        word = self.next()
        if not word[:1].isdigit():
            self.at -= 1
            raise self.wrong(f"a number is missing before `{word}`", self.words[self.at][1])
        return -int(word, 0) if minus else int(word, 0)

    def definition(self) -> Definition:
        self.need("(")
        operands: list[Operand] = []
        while not self.take(")"):
            operands.append(self.operand())
            if not self.take(","):
                self.need(")")
                break
        result = self.operand() if self.take("->") else None
        self.need("{")
        body = self.statements()
        if self.word:
            raise self.wrong(f"`{self.word}` stands behind the end", self.words[self.at][1])
        return Definition(tuple(operands), result, body)

    def operand(self) -> Operand:
        name = self.next()
        self.need(":")
        bits = self.number()
        element, role = "", "value"
        while self.word in ("f16", "bf16", "f32", "f64", "immediate", "memory"):
            word = self.next()
            if word in ("immediate", "memory"):
                role = word
            else:
                element = word
        roles: dict[str, Role] = {"value": "value", "immediate": "immediate", "memory": "memory"}
        return Operand(name, bits, roles[role], element)

    def statements(self) -> tuple[Statement, ...]:
        found: list[Statement] = []
        while not self.take("}"):
            found.append(self.statement())
        return tuple(found)

    def statement(self) -> Statement:
        if self.take("for"):
            name = self.next()
            self.need("<")
            count = self.number()
            self.need("{")
            before = self.counters.get(name)
            self.counters[name] = var(name, count)
            body = self.statements()
            if before is not None:
                self.counters[name] = before
            return LaneLoop(name, count, body)
        self.lets.clear()
        while self.take("let"):
            name = self.next()
            self.need("=")
            self.lets[name] = self.expression(0)
            self.need(";")
        target, width, offset, _ = self.place(self.next())
        self.need("=")
        value = self.expression(0)
        return Put(target, offset, width, value, self.expression(0) if self.take("if") else build.ONE)

    def place(self, name: str) -> tuple[str, int, Node, bool]:
        self.need(".")
        found = _CUT.fullmatch(self.next())
        if found is None or found[1]:
            raise self.wrong("`u` or `s` and a width stand behind the point", self.words[self.at - 1][1])
        width = int(found[3])
        if self.take("@["):
            offset = self.expression(0)
        else:
            self.need("[")
            offset = build.multiply(self.expression(0), const(width))
        self.need("]")
        return name, width, offset, found[2] == "s"

    def expression(self, level: int) -> Node:
        """What operators of at least a level join; those of one level from left to right."""
        left = self.tight()
        while (found := _LEVELS.get(self.word)) is not None and found[0] >= level:
            (own, op), _ = found, self.next()
            right = self.expression(own + 1)
            match op:
                case "-":
                    left = build.add(left, build.negate(right))
                case "add":
                    left = build.add(left, right)
                case "mul":
                    left = build.multiply(right, left) if left.op == "const" else node("mul", (left, right))
                case _:
                    left = node(op, (left, right))
        return left

    def tight(self) -> Node:
        if self.take("("):
            inner = self.expression(0)
            self.need(")")
            return inner
        for op, sign in _PREFIX.items():
            if self.take(sign):
                return node(op, (self.tight(),))
        if self.word == "-" or self.word[:1].isdigit():
            return const(self.number())
        name = self.next()
        if self.word != ".":  # an operand may have the name of a counter
            if name in self.lets:
                return self.lets[name]
            if name in self.counters:
                return self.counters[name]
        if name == "sum":
            return self.sum()
        if found := _CUT.fullmatch(name):
            if self.take("("):
                inner = self.expression(0)
                self.need(")")
                return node("sat" if found[1] else "wrap", (inner,), (int(found[3]), found[2] == "s"))
        return self.named(name)

    def sum(self) -> Node:
        self.need("(")
        name = self.next()
        self.need("<")
        count = self.number()
        self.need(":")
        self.counters[name] = var(name, count)
        inner = self.expression(0)
        self.need(")")
        return node("sum", (inner,), (name, count))

    def named(self, name: str) -> Node:
        start = self.at
        attributes = list(self.attributes())
        if self.take("("):
            args = []
            while not self.take(")"):
                args.append(self.expression(0))
                if not self.take(","):
                    self.need(")")
                    break
            try:
                return node(name, tuple(args), tuple(attributes))
            except (KeyError, IndexError) as error:
                raise self.wrong(f"`{name}` is no operator", self.words[start - 1][1]) from error
        self.at = start
        if self.word != ".":
            raise self.wrong(f"`{name}` is not known here", self.words[start - 1][1])
        operand, width, offset, signed = self.place(name)
        return node("bits", (offset,), (operand, width, signed))

    def attributes(self) -> Iterator[str | int | bool]:
        while self.take("."):
            word = self.next()
            if word in ("s", "u"):
                yield word == "s"
            else:
                yield int(word) if word.isdigit() else word


