"""An instruction's signature: what it computes, without where its operands lie; the form in which people ask for it.

Reads become their types, lanes and masks vanish, operands of what commutes are in order.

>>> from planish.isa.semantics.text import parse_definition
>>> text = '''(c: 64, a: 64, b: 64) -> dst: 64 { for i < 2 {
... dst.u32[i] = u32(c.s32[i] + sum(q < 4: a.u8[4*i + q]*b.s8[4*i + q])) } }'''
>>> [str(x) for x in outlines(parse_definition(text))]
['i32 = i32 + u8*s8 by 4']
>>> read_query("i32 += s8*u8 by 4")
Outline(result='i32', value='i32 + u8*s8 by 4')
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.isa.semantics.definition import Definition, nested_puts
from planish.isa.semantics.node import Node, tree_size

_RING = {"+", "-", "*", "&", "|", "^"}
"""Operators whose low bits depend on the low bits of their operands alone."""

_COMMUTES = {"+", "*", "&", "|", "^", "min", "max", "avg", "=="}
_LEVELS = {"|": 1, "^": 2, "&": 3, "==": 4, "<": 5, "<=": 5, "<<": 6, ">>": 6, "+": 7, "-": 7, "*": 8, "/": 8, "%": 8}
_INFIX = {
    "add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>", "eq": "==", "lt": "<",
    "le": "<=", "quo": "/", "mod": "%", "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "feq": "==",
    "flt": "<", "fle": "<=",
}  # fmt: skip
_ASKED: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Eq: "==", ast.Lt: "<", ast.LtE: "<=",
}  # fmt: skip
_QUERY = re.compile(r"\s*([iusf]\d+|bf16)\s*([-+*&|^]?)=\s*(.*?)\s*")
_BY = re.compile(r"\bby(\s+\d+)")
_TYPE = re.compile(r"([ius])(\d+)$|(f16|f32|f64|bf16)$")
_LONGEST = 300
_LARGEST = 400
LONG = "…"
"""What stands for a value of very many terms."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The type of a lane of the result, and what it becomes."""

    result: str
    value: str

    def __str__(self) -> str:
        return f"{self.result} = {self.value}"


@dataclass(frozen=True, slots=True)
class _Term:
    """An expression: an operator with arguments, or a leaf. `count`: it is summed over so many."""

    head: str
    args: tuple[_Term, ...] = ()
    count: int = 0

    def text(self, level: int = 0) -> str:
        if self.count:
            inner = f"{_Term(self.head, self.args).text(_LEVELS['+'] + 1)} by {self.count}"
            return f"({inner})" if level > _LEVELS["+"] else inner
        own = _LEVELS.get(self.head)
        if own is None or len(self.args) < 2:
            inner = ", ".join(x.text() for x in self.args)
            return f"{self.head}({inner})" if self.args else self.head
        tight = "" if self.head in "*/%" else " "
        parts = [x.text(own + (n > 0 and self.head not in _COMMUTES)) for n, x in enumerate(self.args)]
        text = f"{tight}{self.head}{tight}".join(parts)
        return f"({text})" if own < level else text


def outlines(definition: Definition) -> tuple[Outline, ...]:
    """What the lanes become, each way once; a mask that only chooses whether they do is left out."""
    found: dict[Outline, None] = {}
    for put, _ in nested_puts(definition.body):
        result = definition.result
        element = result.element if result is not None and put.target == result.name else ""
        kind = element if element and put.width == _bits(element) else f"i{put.width}"
        value = _unmasked(put.value)
        text = _ordered(_term(value, put.width)).text() if tree_size(value) <= _LARGEST else LONG
        found[Outline(kind, text)] = None
    return tuple(found)


def read_query(query: str, sign: str = "i") -> Outline | None:
    """What a person asks for, None where it is no assignment; `sign` is what `i` means where signs matter.
    PlanishError E0658 where it cannot be read."""
    if not query.strip() or len(query) > _LONGEST:
        _refuse(query[:40], 1, f"give an expression or words, at most {_LONGEST} characters")
    found = _QUERY.fullmatch(query)
    if found is None:
        if "=" in query:
            _refuse(query, 1, "write `TYPE = EXPRESSION`, `TYPE += EXPRESSION by N`, or a word of a name")
        return None
    result, op, text = found.groups()
    try:
        tree = ast.parse(_BY.sub(r"@ \1", text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = found.start(3) + (error.offset or 1) if isinstance(error, SyntaxError) else found.start(3) + 1
        _refuse(query, column, "write an expression of types, as `u8*s8` or `max(i16, i16)`")
    kind = "i" + result[1:] if result[0] in "us" else result
    value = _Asking(query, found.start(3), sign).term(tree, kind)
    if op:
        value = _Term(op, (_Term(kind), value))
    return Outline(kind, _ordered(value).text())


@dataclass(frozen=True, slots=True)
class _Asking:
    """A query, where the expression begins in it, and what `i` means where signs matter."""

    query: str
    start: int
    sign: str

    def term(self, tree: ast.AST, ring: str = "") -> _Term:
        """A part of it; `ring` is the type whose sign does not matter there, "" where signs do."""
        match tree:
            case ast.BinOp(left=left, op=ast.MatMult(), right=ast.Constant(value=int(count))) if count > 0:
                summed = self.term(left, ring)
                return _Term(summed.head, summed.args, count)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ASKED:
                inner = ring if _ASKED[type(op)] in _RING else ""
                first = ring if isinstance(op, ast.LShift) else inner
                return _Term(_ASKED[type(op)], (self.term(left, first), self.term(right, inner)))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _ASKED:
                return _Term(_ASKED[type(op)], (self.term(left), self.term(right)))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return _Term(name, tuple(map(self.term, args)))
            case ast.Name(id=name) if found := _TYPE.fullmatch(name):
                if found[2] is None or "i" + found[2] == ring:
                    return _Term("i" + found[2] if found[2] else name)
                return _Term((self.sign if found[1] == "i" else found[1]) + found[2])
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return _Term(str(value))
            case _:
                column = self.start + getattr(tree, "col_offset", 0) + 1
                advice = "types are i8, u16, s32, f32 and such; operators those of C, min, max, abs, avg"
                _refuse(self.query, column, advice)
        raise AssertionError


def _refuse(query: str, column: int, advice: str) -> None:
    source = Source("query", query)
    raise PlanishError(Diagnostic("E0658", "this query cannot be read", source.point(1, column), advice), source)


def _unmasked(x: Node) -> Node:
    while x.op == "select" and x.args[0].op == "bits" and x.args[0].attr[1] == 1:
        x = x.args[1]
    return x


def _bits(kind: str) -> int:
    return {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}.get(kind, 0)


def _term(x: Node, width: int, kind: str = "", ring: bool = True) -> _Term:
    """A node as a term. `width` is that of the result; `ring`: whether only so many bits of the term matter, so that
    the sign of a read of that width does not; `kind`: the format of floats that reads have."""

    def inner(y: Node, keeps: bool = False) -> _Term:
        return _term(y, width, kind, ring and keeps)

    match x.op:
        case "const":
            return _Term(str(x.low))
        case "bits":
            own = int(x.attr[1])
            sign = "i" if own == width and ring else "s" if x.attr[2] else "u"
            return _Term(kind if kind and _bits(kind) == own else f"{sign}{own}")
        case "wrap":
            if x.attr[0] == width:
                return inner(x.args[0], True)
            return _Term(f"{'s' if x.attr[1] else 'u'}{x.attr[0]}", (inner(x.args[0]),))
        case "sat":
            name = "sat" if x.attr[1] else "satu"
            return _Term(name if x.attr[0] == width else f"{name}{x.attr[0]}", (inner(x.args[0]),))
        case "sum":
            summed = inner(x.args[0], True)
            return _Term("sum", (summed,)) if summed.count else _Term(summed.head, summed.args, int(x.attr[1]))
        case "var":
            return _Term("lane")
        case "select":
            return _Term("select", (inner(x.args[0]), *(inner(y, True) for y in x.args[1:])))
        case "add":
            return _sum([inner(y, True) for y in x.args])
        case "fma":
            a, b, c = (_term(y, width, str(x.attr[0])) for y in x.args[:3])
            return _Term("+", (_Term("*", (a, b)), c))
        case op if op[0] == "f" and op in _INFIX:
            return _Term(_INFIX[op], tuple(_term(y, width, str(x.attr[0])) for y in x.args[:2]))
        case "shl":
            return _Term("<<", (inner(x.args[0], True), inner(x.args[1])))
        case op if op in _INFIX:
            return _Term(_INFIX[op], tuple(inner(y, _INFIX[op] in _RING) for y in x.args))
        case op:
            form = str(x.attr[0]) if x.attr and _bits(str(x.attr[0])) else ""
            args = x.args[:-1] if form and len(x.args) > 1 else x.args
            return _Term(op, tuple(_term(y, width, form or kind, False) for y in args))


def _sum(terms: list[_Term]) -> _Term:
    plus, minus = [], []
    for x in terms:
        if x.head == "*" and len(x.args) == 2 and x.args[1].head == "-1" and not x.count:
            minus.append(x.args[0])
        elif re.fullmatch(r"-\d+", x.head):
            minus.append(_Term(x.head[1:]))
        else:
            plus.append(x)
    found = plus[0] if len(plus) == 1 else _Term("+", tuple(plus)) if plus else _Term("0")
    for x in minus:
        found = _Term("-", (found, x))
    return found


def _ordered(x: _Term) -> _Term:
    args = tuple(map(_ordered, x.args))
    if x.head in _COMMUTES:
        args = tuple(_flat(x.head, args))
        # What is added to comes first, as people write it; else as text.
        last = x.head != "*"  # numbers, but factors
        order = {id(y): (y.head[:1].isdigit() == last, y.count > 0, bool(y.args), _rank(y.text())) for y in args}
        args = tuple(sorted(args, key=lambda y: order[id(y)]))
    if x.head == ">>" and args[0].head == "+" and len(args) == 2 and args[1].head == "1":
        inner = [y for y in args[0].args if y.head != "1"]
        if len(inner) == 2 and len(args[0].args) == 3:
            return _Term("avg", tuple(inner), x.count)
    return _Term(x.head, args, x.count)


def _rank(text: str) -> tuple[int, str]:
    return ("iuspf".find(text[0]) if text else 9, text)


def _flat(head: str, args: tuple[_Term, ...]) -> Iterator[_Term]:
    for x in args:
        if x.head == head and not x.count and head in ("+", "*", "&", "|", "^"):
            yield from x.args
        else:
            yield x
