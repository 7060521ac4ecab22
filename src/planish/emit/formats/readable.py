"""A nest of statement instances as C to be read, or pasted into a function: `S(i, j);` for each, macros on top.

>>> from planish.ir.expr import index
>>> from planish.ir.text.parser import parse_expr
>>> from planish.ir.types import BOOL
>>> body = Block((Assign("S", (index("i"),), Const(True, BOOL)),))
>>> print(emit_readable(Block((For("i", index(0), parse_expr("min(n, m)"), 2, body),))), end="")
#define min(x, y) ((x) < (y) ? (x) : (y))
for (int64_t i = 0, i_end = min(n, m); i < i_end; i += 2)
  S(i);
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, index, type_of
from planish.ir.index.interval import Interval, range_of
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import expressions, takes_work, walk, walk_expr
from planish.ir.types import BOOL
from planish.poly.isl.expression import add, normalise

MACROS = {
    "min": "#define min(x, y) ((x) < (y) ? (x) : (y))",
    "max": "#define max(x, y) ((x) > (y) ? (x) : (y))",
    "floord": "#define floord(n, d) ((n) >= 0 ? (n) / (d) : -((-(n) + (d) - 1) / (d)))",
    "modulo": "#define modulo(n, d) ((n) - (d) * floord(n, d))",
}
"""What the text may use, in the order in which it is defined; `floord` rounds down."""

_KEYWORDS = frozenset(
    {
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
        "float", "for", "goto", "if", "inline", "int", "int64_t", "long", "register", "restrict", "return", "short",
        "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
        *MACROS,
    }
)  # fmt: skip

_TERNARY, _OR, _AND, _EQUALITY, _RELATION, _SUM, _PRODUCT, _PREFIX, _ATOM = range(9)
"""How tightly C's operators bind."""

_SIGNS = {
    "add": ("+", _SUM), "sub": ("-", _SUM), "mul": ("*", _PRODUCT), "quo": ("/", _PRODUCT), "rem": ("%", _PRODUCT),
}  # fmt: skip
_COMPARISONS = {
    "eq": ("==", _EQUALITY), "ne": ("!=", _EQUALITY), "lt": ("<", _RELATION), "le": ("<=", _RELATION),
    "gt": (">", _RELATION), "ge": (">=", _RELATION),
}  # fmt: skip

Known = Mapping[str, Interval]


def emit_readable(nest: Block, known: Known | None = None, facts: bool = False) -> str:
    """The C of a nest of tracing statements (see `astgen.verify.record`); `known` are ranges of the sizes, which tell
    where C's own division rounds down. `facts`: what is known of loops stands beside them."""
    writer = _Writer(_spell(nest), facts)
    lines = writer.statements(nest.body, known or {}, "")
    if len(lines) > 1 and len(_flat(nest.body)) > 1:
        lines = ["{", *(f"  {line}" for line in lines), "}"]
    used = writer.used | ({"floord"} if "modulo" in writer.used else set())
    return "\n".join([*(text for name, text in MACROS.items() if name in used), *lines]) + "\n"


def _spell(nest: Block) -> dict[str, str]:
    """C's spelling of every name; those that are keywords or hold odd characters get another."""
    names: dict[str, None] = {}
    for stmt in walk(nest):
        match stmt:
            case For(var=name) | Let(var=name) | Assign(array=name) | Reduce(array=name):
                names[name] = None
            case _:
                pass
        names.update((x.name, None) for e in expressions(stmt) for x in walk_expr(e) if isinstance(x, Var))
    spelt: dict[str, str] = {}
    for name in names:
        spelling = re.sub(r"\W", "_", name)
        while spelling in _KEYWORDS or (spelling != name and spelling in {*names, *spelt.values()}):
            spelling += "_"
        spelt[name] = spelling
    return spelt


def _flat(body: Iterable[Stmt]) -> list[Stmt]:
    """Statements with those of blocks in place of the blocks; a block that binds a name stays one."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Block) and not any(isinstance(x, Let) for x in stmt.body):
            out += _flat(stmt.body)
        else:
            out.append(stmt)
    return out


@dataclass(slots=True)
class _Writer:
    """The text so far: how names are spelt, and which macros are used."""

    spelt: dict[str, str]
    facts: bool = False
    used: set[str] = field(default_factory=set)

    def statements(self, body: Iterable[Stmt], known: Known, indent: str) -> list[str]:
        """Lines for statements in order."""
        out: list[str] = []
        for stmt in _flat(body):
            match stmt:
                case Block():
                    out += [f"{indent}{{", *self.statements(stmt.body, known, indent + "  "), f"{indent}}}"]
                case For():
                    out += self.loop(stmt, known, indent)
                case If():
                    out += self.choice(stmt, known, indent, "if")
                case Assign(array=name, index=at) | Reduce(array=name, index=at):
                    arguments = ", ".join(self.text(x, known) for x in at)
                    out.append(f"{indent}{self.spelt[name]}({arguments});")
                case Let(var=var, value=value):
                    kind = "int" if type_of(value) == BOOL else "int64_t"
                    out.append(f"{indent}const {kind} {self.spelt[var]} = {self.text(value, known)};")
                    if kind != "int":
                        known = {**known, var: range_of(value, known)}
                case Alloc():
                    raise ValueError("a nest of instances has no arrays")
                case Launch() | Barrier() | While():
                    raise AssertionError("launches are made last; loops without a count hold nests of their own")
                case _:
                    assert_never(stmt)
        return out

    def body(self, block: Block, known: Known, indent: str, braces: bool = False) -> tuple[list[str], bool]:
        """Lines below a loop or condition, and whether they stand in braces."""
        inner = self.statements(block.body, known, indent + "  ")
        parts = _flat(block.body)
        alone = len(parts) == 1 and not isinstance(parts[0], Block | Let)
        return inner, braces or not alone

    def loop(self, loop: For, known: Known, indent: str) -> list[str]:
        """`for`, its end written with `<` or `<=`: `i < n`, `i <= 9`; one that takes work is computed beforehand."""
        var = self.spelt[loop.var]
        start = f"{var} = {self.text(loop.lower, known)}"
        last = normalise(add(loop.upper, index(-1)))
        if takes_work(loop.upper):
            name = self.end_name(var)
            start = f"{start}, {name} = {self.text(loop.upper, known)}"
            end = f"{var} < {name}"
        elif isinstance(last, Const) or _size(last) < _size(loop.upper):
            end = f"{var} <= {self.text(last, known, _SUM)}"
        else:
            end = f"{var} < {self.text(loop.upper, known, _SUM)}"
        low, high = range_of(loop.lower, known)[0], range_of(loop.upper, known)[1]
        inner, braces = self.body(loop.body, {**known, loop.var: (low, max(low, high - 1))}, indent)
        head = f"{indent}for (int64_t {start}; {end}; {var} += {loop.step})"
        words = [word for word in ("parallel", "coincident", "isolated") if getattr(loop.facts, word)]
        said = f" /* {', '.join(words)} */" if words and self.facts else ""
        return [f"{head} {{{said}", *inner, f"{indent}}}"] if braces else [head + said, *inner]

    def end_name(self, var: str) -> str:
        """A name for where a loop ends that nothing else has."""
        name = f"{var}_end"
        while name in self.spelt.values():
            name += "_"
        return name

    def choice(self, stmt: If, known: Known, indent: str, word: str) -> list[str]:
        """`if`, with `else if` for a lone one in the other branch."""
        other = _flat(stmt.otherwise.body)
        inner, braces = self.body(stmt.then, known, indent, braces=bool(other))
        head = f"{indent}{word} ({self.text(stmt.condition, known)})"
        out = [f"{head} {{", *inner] if braces else [head, *inner]
        match other:
            case []:
                return [*out, f"{indent}}}"] if braces else out
            case [If() as only]:
                return [*out, *self.choice(only, known, indent, "} else if")]
            case _:
                return [*out, f"{indent}}} else {{", *self.statements(other, known, indent + "  "), f"{indent}}}"]

    def text(self, expr: Expr, known: Known, level: int = _TERNARY) -> str:
        """An expression, in parentheses where it binds less tightly than `level`."""
        text, own = self.form(expr, known)
        return text if own >= level else f"({text})"

    def form(self, expr: Expr, known: Known) -> tuple[str, int]:
        """An expression and how tightly it binds."""
        match expr:
            case Const(value=value):
                return str(int(value)), _PREFIX if value < 0 else _ATOM
            case Var(name=name):
                return self.spelt[name], _ATOM
            case Unary(op=op, operand=x):
                text = self.text(x, known, _PREFIX)
                return f"{'!' if op == 'not' else '~' if op == 'bitnot' else '-'}{_apart(text)}", _PREFIX
            case Compare(op=op, left=a, right=b):
                sign, own = _COMPARISONS[op]
                return f"{self.text(a, known, _SUM)} {sign} {self.text(b, known, _SUM)}", own
            case Select(condition=c, then=a, otherwise=b):
                parts = [self.text(x, known, _OR) for x in (c, a, b)]
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", _TERNARY
            case Cast(operand=x):
                # All integers are wide enough here, so that conversions change nothing.
                return self.form(x, known)
            case Binary():
                return self.binary(expr, known)
            case Load() | Call():
                raise ValueError(f"not an index expression: {expr}")
            case _:
                assert_never(expr)

    def binary(self, expr: Binary, known: Known) -> tuple[str, int]:
        """Two operands and what is done to them."""
        op, left, right = expr.op, expr.left, expr.right
        if op in ("and", "or") and type_of(left) == BOOL:
            own, sign = (_AND, "&&") if op == "and" else (_OR, "||")
            # Compilers ask for parentheses around `&&` within `||`.
            inner = own if op == "and" else _EQUALITY
            first = self.text(left, known, own if isinstance(left, Binary) and left.op == op else inner)
            return f"{first} {sign} {self.text(right, known, inner if op == 'or' else _AND + 1)}", own
        if op in ("floordiv", "mod") and range_of(left, known)[0] >= 0 and range_of(right, known)[0] > 0:
            op = "quo" if op == "floordiv" else "rem"
        if op in ("min", "max", "floordiv", "mod"):
            name = {"floordiv": "floord", "mod": "modulo"}.get(op, op)
            self.used.add(name)
            return f"{name}({self.text(left, known)}, {self.text(right, known)})", _ATOM
        if op not in _SIGNS:
            raise ValueError(f"not an index expression: {expr}")
        sign, own = _SIGNS[op]
        return f"{self.text(left, known, own)} {sign} {_apart(self.text(right, known, own + 1))}", own


def _size(expr: Expr) -> int:
    return sum(1 for _ in walk_expr(expr))


def _apart(text: str) -> str:
    """An operand after a minus: two in a row would read as a decrement."""
    return f"({text})" if text.startswith("-") else text
