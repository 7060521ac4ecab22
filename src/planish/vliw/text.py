"""The text of programs and of packets, which people write too: read with carets at what is wrong, and printed.

>>> from planish.vliw.description import load_machine
>>> machine = load_machine("ftmatrix")
>>> parse_program(Source("sum.sa", "program sum\\nVMOVIF V.s, #0.0  ; as its definition has them"), machine)
Traceback (most recent call last):
    ...
planish.core.diagnostic.PlanishError: error[E0720]: the operand `k` of VMOVIF is an immediate, not V.s
 --> sum.sa:2:1
  |
2 | VMOVIF V.s, #0.0  ; as its definition has them
  | ^^^^^^^^^^^^^^^^
  = help: planish isa show NAME tells what an operation takes
>>> program = parse_program(Source("sum.sa", '''
... program sum on ftmatrix
... param x: AR.x in AM
... loop rows 4 {
...   VLDW V.a, *AR.x[0]++128     @x.rows[0:128 +128]
...   VFADDS32 V.s, V.s, V.a
... }
... '''), machine)
>>> print(print_program(program, machine), end="")
program sum on ftmatrix
param x: AR.x in AM
<BLANKLINE>
loop rows 4 {
  VLDW V.a, *AR.x[0]++128 @x.rows[0:128 +128]
  VFADDS32 V.s, V.s, V.a
}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NoReturn

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span
from planish.ir.types import BY_NAME
from planish.vliw.machine import VliwMachine
from planish.vliw.operands import check_operands
from planish.vliw.program import (
    AccessPlace,
    Guard,
    Immediate,
    Instr,
    Issue,
    Item,
    Label,
    Loop,
    MemoryAddress,
    Operand,
    Packet,
    PacketCode,
    StreamParameter,
    StreamProgram,
    StreamRegister,
)

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+|;.*)"
    r"|(?P<register>(?:[A-Za-z_]\w*|`[^`]+`)\.(?:\w+|`[^`]+`))"
    r"|(?P<word>[A-Za-z_]\w*|`[^`]+`)"
    r"|(?P<number>[+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf\b|nan\b))"
    r"|(?P<sign>\+\+|[-+*\[\]#@,:{}!.|=])"
)
_PAIR = re.compile(r"(\w+|`[^`]+`)\.(\w+|`[^`]+`)")
_PLAIN = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def parse_program(source: Source, machine: VliwMachine) -> StreamProgram:
    """The program that a text (`.sa`) stands for. PlanishError E0721 where it is none, E0720 where an operation is not
    the machine's or has other operands."""
    return _Reader(source, machine, _lines(source)).program()


def parse_code(source: Source, machine: VliwMachine) -> PacketCode:
    """The packets that a text stands for, as `print_code` writes them. Raises as `parse_program`."""
    return _Reader(source, machine, _lines(source)).code()


def machine_of(source: Source) -> str:
    """The machine that the first line of a program or of packets is for; empty where it names none.

    >>> machine_of(Source("a.sa", "program p on ftmatrix\\n")), machine_of(Source("a.sa", "program p\\n"))
    ('ftmatrix', '')
    """
    found = re.match(r"(?:[ \t]*(?:;.*)?\n)*[ \t]*(?:program|code)[ \t]+\S+[ \t]+on[ \t]+([^\s;]+)", source.text)
    return found[1] if found else ""


def is_code(source: Source) -> bool:
    """Whether a text holds packets, not a program."""
    return re.match(r"(?:[ \t]*(?:;.*)?\n)*[ \t]*code\b", source.text) is not None


def _lines(source: Source) -> list[tuple[int, list[_Token]]]:
    """The lines that are not blank, with their numbers and tokens."""
    found: list[tuple[int, list[_Token]]] = []
    for number, line in enumerate(source.text.splitlines(), 1):
        tokens: list[_Token] = []
        place = 0
        while place < len(line):
            match = _TOKEN.match(line, place)
            if match is None:
                raise _wrong(source, f"unexpected character {line[place]!r}", source.point(number, place + 1))
            if match.lastgroup != "blank":
                tokens.append(_Token(str(match.lastgroup), match[0], place + 1))
            place = match.end()
        if tokens:
            found.append((number, tokens))
    return found


def _wrong(source: Source, message: str, span: Span, code: str = "E0721", help: str = "") -> PlanishError:
    return PlanishError(Diagnostic(code, message, span, help), source)


@dataclass(slots=True)
class _Reader:
    """A place in the lines of a text, and in the tokens of that line."""

    source: Source
    machine: VliwMachine
    lines: list[tuple[int, list[_Token]]]
    row: int = 0
    at: int = 0
    parameters: list[StreamParameter] = field(default_factory=list)

    @property
    def tokens(self) -> list[_Token]:
        return self.lines[self.row][1] if self.row < len(self.lines) else []

    def token(self) -> _Token | None:
        """The next token of the line; None at its end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def span(self, first: int | None = None) -> Span:
        """The next token, or from token `first` of the line to the one before the next."""
        if self.row >= len(self.lines):
            last = len(self.source.text.splitlines()) or 1
            return self.source.point(last, max(1, len(self.source.line(last))))
        number, tokens = self.lines[self.row]
        if first is None:
            token = self.token() or _Token("end", " ", tokens[-1].column + len(tokens[-1].text))
            return self.source.point(number, token.column, len(token.text))
        start, last_token = tokens[first].column, tokens[self.at - 1]
        return self.source.point(number, start, last_token.column + len(last_token.text) - start)

    def fail(self, message: str, help: str = "") -> NoReturn:
        raise _wrong(self.source, message, self.span(), help=help)

    def expected(self, what: str) -> NoReturn:
        token = self.token()
        found = "the end of the text" if self.row >= len(self.lines) else f"`{token.text}`" if token else "the end"
        self.fail(f"expected {what}, found {found}{'' if token or self.row >= len(self.lines) else ' of the line'}")

    def sees(self, text: str) -> bool:
        token = self.token()
        return token is not None and token.text == text

    def takes(self, text: str) -> bool:
        if self.sees(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.takes(text):
            self.expected(f"`{text}`")

    def take(self, kind: str, what: str) -> str:
        token = self.token()
        if token is None or token.kind != kind:
            self.expected(what)
        self.at += 1
        return token.text

    def word(self, what: str) -> str:
        return self.take("word", what).strip("`")

    def register(self, what: str = "a register") -> StreamRegister:
        file, name = self.pair(what)
        if all(x.name != file for x in self.machine.files):
            self.at -= 1
            known = ", ".join(x.name for x in self.machine.files)
            self.fail(f"{self.machine.name} has no register file {file}", f"there are {known}")
        return StreamRegister(file, name)

    def pair(self, what: str) -> tuple[str, str]:
        """`NAME.NAME`."""
        found = _PAIR.fullmatch(self.take("register", what))
        assert found is not None
        return found[1].strip("`"), found[2].strip("`")

    def whole(self) -> int:
        text = self.take("number", "a whole number")
        if not re.fullmatch(r"[+-]?\d+", text):
            self.at -= 1
            self.expected("a whole number")
        return int(text)

    def end_line(self) -> None:
        if self.token() is not None:
            self.expected("the end of the line")
        self.row, self.at = self.row + 1, 0

    def head(self, kind: str) -> str:
        """`program NAME [on MACHINE]` and the parameters."""
        if not self.takes(kind):
            self.expected(f"`{kind} NAME on MACHINE`")
        name = self.word("a name")
        if self.takes("on"):
            self.at = len(self.tokens)  # which `machine_of` has read: it may be the path of a file
        self.end_line()
        while self.takes("param"):
            parameter = self.word("the name of a parameter")
            self.expect(":")
            register, memory = self.register(), ""
            if self.takes("in"):
                memory = self.word("a memory")
                if all(x.name != memory for x in self.machine.memories):
                    self.at -= 1
                    known = ", ".join(x.name for x in self.machine.memories)
                    self.fail(f"{self.machine.name} has no memory {memory}", f"there are {known}")
            self.parameters.append(self.typed(StreamParameter(parameter, register, memory)))
            self.end_line()
        return name

    def typed(self, parameter: StreamParameter) -> StreamParameter:
        """A parameter with `TYPE[COUNT]` for an array, `TYPE [= VALUE]` for a number, where they follow."""
        if self.token() is None:
            return parameter
        name = self.word("a type")
        if name not in BY_NAME:
            self.at -= 1
            self.fail(f"`{name}` is no type", f"one of {', '.join(BY_NAME)}")
        if parameter.memory:
            self.expect("[")
            count = self.whole()
            self.expect("]")
            return replace(parameter, type=BY_NAME[name], count=count)
        value = self.number() if self.takes("=") else None
        return replace(parameter, type=BY_NAME[name], value=value)

    def number(self) -> int | float:
        named = self.sees("inf") or self.sees("nan")
        text = self.word("a number") if named else self.take("number", "a number")
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)

    def program(self) -> StreamProgram:
        name = self.head("program")
        body = self.items(inside=False)
        return StreamProgram(name, tuple(self.parameters), body)

    def items(self, inside: bool) -> tuple[Item, ...]:
        found: list[Item] = []
        while self.row < len(self.lines) and not (inside and self.sees("}")):
            found.append(self.loop() if self.sees("loop") else self.instr())
            self.end_line()
        if inside and self.row >= len(self.lines):
            self.expected("`}`")
        return tuple(found)

    def loop(self) -> Loop:
        """`loop NAME COUNT [at_least N] [multiple N] {`, its operations, `}`."""
        row = self.row
        self.at += 1
        name = self.word("the name of the loop")
        token = self.token()
        count: int | StreamRegister
        if token is not None and token.kind == "register":
            count = self.register()
        else:
            count = self.whole()
        at_least = self.whole() if self.takes("at_least") else 0
        multiple = self.whole() if self.takes("multiple") else 1
        if multiple < 1:
            self.at -= 1
            self.fail("a count is a multiple of 1 or more")
        self.expect("{")
        span = self.span(0)
        self.end_line()
        body = self.items(inside=True)
        self.expect("}")
        if not body:
            self.row, self.at = row, 0
            self.fail(f"the loop {name} has no operations")
        return Loop(name, count, body, at_least, multiple, span)

    def instr(self) -> Instr:
        """`[GUARD] NAME OPERANDS @PLACE`."""
        first = self.at
        guard: Guard | None = None
        if self.takes("["):
            negated = self.takes("!")
            guard = Guard(self.register(), negated)
            self.expect("]")
        name = self.word("the name of an operation")
        operands: list[Operand] = []
        token = self.token()
        while token is not None and token.kind in ("register", "sign") and token.text not in ("|", "}"):
            if token.text == "@" and not (operands == [] and self.is_jump(name)):
                break
            operands.append(self.operand())
            if not self.takes(","):
                break
            token = self.token()
            if token is None:
                self.expected("an operand")
        span = self.span(first)
        place = self.place() if self.takes("@") else None
        instr = Instr(name, tuple(operands), guard, place, span)
        problem = check_operands(instr, self.machine)
        if problem:
            raise _wrong(self.source, problem, span, "E0720")
        return instr

    def is_jump(self, name: str) -> bool:
        return any(x.name == name and x.branch for x in self.machine.operations)

    def operand(self) -> Operand:
        if self.takes("#"):
            return Immediate(self.number())
        if self.takes("@"):
            return Label(self.word("a label"))
        if self.takes("*"):
            base = self.register("the register of an address")
            offset: int | StreamRegister = 0
            if self.takes("["):
                offset = self.amount()
                self.expect("]")
            step = self.amount() if self.takes("++") else 0
            return MemoryAddress(base, offset, step)
        return self.register("a register, `#` and a number, or `*` and an address")

    def amount(self) -> int | StreamRegister:
        token = self.token()
        return self.register() if token is not None and token.kind == "register" else self.whole()

    def place(self) -> AccessPlace:
        """`ARRAY.GROUP[FROM:TO +STRIDE]`."""
        array, group = self.pair("the array and the group of an access")
        self.expect("[")
        start = self.whole()
        self.expect(":")
        end = self.whole()
        token = self.token()
        stride = self.whole() if token is not None and token.kind == "number" else 0
        self.expect("]")
        return AccessPlace(array, group, start, stride, end - start)

    def code(self) -> PacketCode:
        """Labels, and packets: a line each, operations with a unit and `|` between them; `-` is an empty one."""
        name = self.head("code")
        packets: list[Packet] = []
        labels: dict[str, int] = {}
        while self.row < len(self.lines):
            tokens = self.tokens
            if len(tokens) == 2 and tokens[0].kind == "word" and tokens[1].text == ":":
                label = self.word("a label")
                if label in labels:
                    self.at = 0
                    self.fail(f"the label {label} is there twice")
                labels[label] = len(packets)
                self.at = 2
            else:
                packets.append(() if self.takes("-") else self.packet())
            self.end_line()
        return PacketCode(name, tuple(packets), labels, tuple(self.parameters))

    def packet(self) -> Packet:
        issues: list[Issue] = []
        while True:
            unit = self.word("a unit")
            if all(x.name != unit for x in self.machine.units):
                self.at -= 1
                self.fail(f"{self.machine.name} has no unit {unit}", ", ".join(x.name for x in self.machine.units))
            self.expect(":")
            issues.append(Issue(self.instr(), unit))
            if not self.takes("|"):
                return tuple(issues)


def print_program(program: StreamProgram, machine: VliwMachine | None = None) -> str:
    """The text of a program, which `parse_program` reads."""
    head = _head("program", program.name, program.parameters, machine)
    return "\n".join([*head, *_items(program.body, 0)]) + "\n"


def print_code(code: PacketCode, machine: VliwMachine | None = None) -> str:
    """The text of packets, which `parse_code` reads."""
    lines = _head("code", code.name, code.parameters, machine)
    at: dict[int, list[str]] = {}
    for label, place in code.labels.items():
        at.setdefault(place, []).append(f"{_name(label)}:")
    for number, packet in enumerate(code.packets):
        lines += at.pop(number, [])
        lines.append("  " + (" | ".join(f"{x.unit}: {print_instr(x.instr)}" for x in packet) or "-"))
    lines += [label for place in sorted(at) for label in at[place]]
    return "\n".join(lines) + "\n"


def _head(kind: str, name: str, parameters: Iterable[StreamParameter], machine: VliwMachine | None) -> list[str]:
    lines = [f"{kind} {_name(name)}{f' on {machine.name}' if machine else ''}"]
    for x in parameters:
        memory = f" in {x.memory}" if x.memory else ""
        type = f" {x.type}" if x.type else ""
        type += f"[{x.count}]" if x.type and x.memory else f" = {x.value}" if x.type and x.value is not None else ""
        lines.append(f"param {_name(x.name)}: {_register(x.register)}{memory}{type}")
    return [*lines, ""]


def _items(items: Iterable[Item], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for x in items:
        if isinstance(x, Loop):
            count = _register(x.count) if isinstance(x.count, StreamRegister) else str(x.count)
            known = f" at_least {x.at_least}" if x.at_least else ""
            known += f" multiple {x.multiple}" if x.multiple != 1 else ""
            yield f"{indent}loop {_name(x.name)} {count}{known} {{"
            yield from _items(x.body, depth + 1)
            yield f"{indent}}}"
        else:
            yield indent + print_instr(x)


def print_instr(instr: Instr) -> str:
    """The text of one operation, with what is known of its access."""
    guard = f"[{'!' if instr.guard.negated else ''}{_register(instr.guard.register)}] " if instr.guard else ""
    text = f"{guard}{instr.operation} {', '.join(map(_operand, instr.operands))}".rstrip()
    place = instr.place
    if place is None:
        return text
    stride = f" {place.stride:+d}" if place.stride else ""
    where = f"{place.offset}:{place.offset + place.bytes}{stride}"
    return f"{text} @{_name(place.array)}.{_name(place.group, digits=True)}[{where}]"


def _operand(operand: Operand) -> str:
    match operand:
        case StreamRegister():
            return _register(operand)
        case MemoryAddress(base=base, offset=offset, step=step):
            return f"*{_register(base)}[{_amount(offset)}]" + (f"++{_amount(step)}" if step != 0 else "")
        case Label(name=name):
            return f"@{_name(name)}"
        case Immediate():
            return str(operand)


def _amount(x: int | StreamRegister) -> str:
    return _register(x) if isinstance(x, StreamRegister) else str(x)


def _register(x: StreamRegister) -> str:
    return f"{x.file}.{_name(x.name, digits=True)}"


def _name(text: str, digits: bool = False) -> str:
    """A name as it is written: between backquotes where it is no word."""
    plain = re.fullmatch(r"\w+", text) if digits else _PLAIN.fullmatch(text)
    return text if plain and text.isascii() else f"`{text}`"
