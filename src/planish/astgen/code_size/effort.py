"""The cost of a nest: comparisons and loop steps executed for given sizes, and the length of its text.

>>> from planish.astgen.checking.verify import record
>>> from planish.ir.expr import Compare, index
>>> guarded = If(Compare("gt", index("i"), index(2)), Block((record("S", (index("i"),)),)))
>>> nest = Block((For("i", index(0), index("n"), 1, Block((guarded,))),))
>>> measure(nest, {"n": 5})
Effort(statements_run=2, guards=5, control=12, lines=3, copies=1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Literal, assert_never

from planish.astgen.checking.verify import Instance
from planish.ir.expr import Binary, Compare, Const, Expr, Select, Unary, Var
from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Launch, Let, Reduce, Stmt, While
from planish.ir.semantics.arithmetic import quotient, remainder
from planish.ir.traverse import control_names, walk
from planish.ir.types import BOOL

_LOOPS_A_FUNCTION = 12
"""Python allows twenty nested loops in a function; deeper ones move to a function of their own."""

_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_PLAIN = {"add": "+", "sub": "-", "mul": "*"}
_COUNTED = {
    "floordiv": "{} // {}", "mod": "{} % {}", "quo": "quotient({}, {})", "rem": "remainder({}, {})",
    "min": "min({}, {})", "max": "max({}, {})",
}  # fmt: skip

Counter = Literal["g", "c", ""]
"""What an evaluated operation adds to: guards, control, or nothing (subscripts of statements)."""


@dataclass(frozen=True, slots=True)
class Effort:
    """`guards`: comparisons, divisions and extrema evaluated in conditions, which decide from left to right; also in
    those of subscripts.

    `control`: one for entering a loop, one for leaving it, two an iteration, and the divisions, extrema and comparisons
    in its bounds: once an entry, as `emit.readable` writes loops, or the upper one's at each test, as it stands in the
    condition of other texts. `copies`: statements in the text; `lines`: its lines as C.
    """

    statements_run: int
    guards: int
    control: int
    lines: int
    copies: int

    @property
    def overhead(self) -> int:
        """Everything that is executed and is no statement."""
        return self.guards + self.control


class EffortLimitError(Exception):
    """A run would take more loop steps than allowed."""


@dataclass(frozen=True, slots=True)
class Run:
    """The instances that ran, in order, and what that took."""

    trace: list[Instance]
    effort: Effort


def measure(nest: Block, sizes: Mapping[str, int], limit: int = 10_000_000) -> Effort:
    """The effort of a nest of tracing statements for given sizes; EffortLimitError past `limit` loop steps."""
    return compile_nest(nest)(sizes, limit).effort


def compile_nest(nest: Block, at_each_test: bool = False) -> Callable[[Mapping[str, int], int], Run]:
    """The nest as a function of its sizes and of the loop steps allowed (KeyError for a size without a value).
    `at_each_test`: the upper bounds stand in the conditions of the loops, and are evaluated there each time."""
    writer = _Writer(control_names(nest), at_each_test)
    body = writer.block(nest, {}, 0)
    # Every name exists from the start, so that functions within the function may set them.
    names = [*writer.made, "g", "c"]
    head = [f"{' = '.join(names)} = 0", *(f"{x} = sizes[{name!r}]" for name, x in writer.free.items())]
    shared = f"nonlocal {', '.join(names)}"
    lines = ["def main(sizes, limit, out):", *(f" {x}" for x in (*head, *body)), " return g, c"]
    text = "\n".join(lines).replace(_SHARED, shared)
    scope: dict[str, Any] = {"quotient": quotient, "remainder": remainder, "TooLong": EffortLimitError}
    FunctionType(compile(text, "<nest>", "exec"), scope)()
    length, copies = count_lines(nest), count_copies(nest)

    def execute(sizes: Mapping[str, int], limit: int) -> Run:
        out: list[Instance] = []
        guards, control = scope["main"](sizes, limit, out)
        return Run(out, Effort(len(out), guards, control, length, copies))

    return execute


_SHARED = "<shared>"

Scope = dict[str, str]


@dataclass(slots=True)
class _Writer:
    """Python code for statements; `made` are its variables, `free` those of the sizes."""

    control: frozenset[str]
    at_each_test: bool
    made: list[str] = field(default_factory=list)
    free: dict[str, str] = field(default_factory=dict)

    def fresh(self) -> str:
        """A variable that no other part of the program uses."""
        self.made.append(f"v{len(self.made)}")
        return self.made[-1]

    def name(self, name: str, scope: Scope) -> str:
        """The variable that a name stands for here."""
        if name in scope:
            return scope[name]
        if name not in self.free:
            self.free[name] = self.fresh()
        return self.free[name]

    def block(self, block: Block, scope: Scope, loops: int) -> list[str]:
        """Lines for the statements in order; names bound in the block end with it."""
        inner, out = dict(scope), []
        for stmt in block.body:
            out += self.statement(stmt, inner, loops)
        return out or ["pass"]

    def statement(self, stmt: Stmt, scope: Scope, loops: int) -> list[str]:
        """Lines for one statement; a `Let` adds its name to the scope."""
        match stmt:
            case Block():
                return self.block(stmt, scope, loops)
            case For():
                return self.loop(stmt, scope, loops)
            case If():
                out = [f"if {self.expression(stmt.condition, scope, 'g')}:"]
                out += _indent(self.block(stmt.then, scope, loops))
                if stmt.otherwise.body:
                    out += ["else:", *_indent(self.block(stmt.otherwise, scope, loops))]
                return out
            case Assign(array=name, index=index) | Reduce(array=name, index=index):
                at = "".join(f"{self.expression(x, scope, '')}, " for x in index)
                return [f"out.append(({name!r}, ({at})))"]
            case Let(var=var, value=value):
                text = self.expression(value, scope, "c" if var in self.control else "")
                scope[var] = self.fresh()
                return [f"{scope[var]} = {text}"]
            case Alloc():
                return []
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)

    def loop(self, stmt: For, scope: Scope, loops: int) -> list[str]:
        """A loop; its steps are counted when it is entered."""
        lower, upper = (self.expression(x, scope, "c") for x in (stmt.lower, stmt.upper))
        var, values = self.fresh(), self.fresh()
        if self.at_each_test:
            end, work = self.fresh(), self.fresh()
            out = [
                f"{work} = c",
                f"{end} = {upper}",
                f"{work} = c - {work}",
                f"{values} = range({lower}, {end}, {stmt.step})",
                f"c += (2 + {work}) * len({values}) + 2",
            ]
        else:
            out = [f"{values} = range({lower}, {upper}, {stmt.step})", f"c += 2 * len({values}) + 2"]
        out.append("if c > limit: raise TooLong")
        body = self.block(stmt.body, {**scope, stmt.var: var}, (loops + 1) % _LOOPS_A_FUNCTION)
        if loops + 1 == _LOOPS_A_FUNCTION:
            part = f"part{len(self.made)}"
            out += [f"def {part}():", *_indent([_SHARED, *body])]
            body = [f"{part}()"]
        return [*out, f"for {var} in {values}:", *_indent(body)]

    def expression(self, expr: Expr, scope: Scope, counter: Counter) -> str:
        """An expression that counts what it evaluates."""
        match expr:
            case Const(value=value):
                return f"({int(value)})"
            case Var(name=name, type=type):
                text = self.name(name, scope)
                return _counted(text, counter) if type == BOOL else text
            case Unary(op="neg", operand=x):
                return f"(-{self.expression(x, scope, counter)})"
            case Unary(op="not", operand=x):
                return f"(not {self.expression(x, scope, counter)})"
            case Select(condition=condition, then=a, otherwise=b):
                # A condition in a subscript decides as one around the statement would.
                test = self.expression(condition, scope, counter or "g")
                left, right = self.expression(a, scope, counter), self.expression(b, scope, counter)
                return f"({left} if {test} else {right})"
            case Binary(op="and" | "or" as op):
                return f"({f' {op} '.join(self.expression(x, scope, counter) for x in flatten(expr, op))})"
            case Compare(op=op, left=a, right=b):
                left, right = self.expression(a, scope, counter), self.expression(b, scope, counter)
                return _counted(f"{left} {_COMPARISONS[op]} {right}", counter)
            case Binary(op=op, left=a, right=b) if op in _COUNTED:
                left, right = self.expression(a, scope, counter), self.expression(b, scope, counter)
                return _counted(_COUNTED[op].format(left, right), counter)
            case Binary(op=op, left=a, right=b) if op in _PLAIN:
                return f"({self.expression(a, scope, counter)} {_PLAIN[op]} {self.expression(b, scope, counter)})"
            case _:
                raise ValueError(f"not an index expression: {expr}")


def _counted(text: str, counter: Counter) -> str:
    # A count that was just raised is never zero, so that `and` goes on to the value.
    return f"(({counter} := {counter} + 1) and {text})" if counter else f"({text})"


def _indent(lines: list[str]) -> list[str]:
    return [f" {line}" for line in lines]


def flatten(expr: Expr, op: str) -> list[Expr]:
    """The operands of a chain of one operation, from left to right."""
    out: list[Expr] = []
    rest = [expr]
    while rest:
        match rest.pop():
            case Binary(op=other, left=a, right=b) if other == op:
                rest += [b, a]
            case part:
                out.append(part)
    return out


def count_copies(stmt: Stmt) -> int:
    """The statements in the text."""
    match stmt:
        case Block(body=body):
            return sum(count_copies(x) for x in body)
        case For(body=body):
            return count_copies(body)
        case If(then=then, otherwise=otherwise):
            return count_copies(then) + count_copies(otherwise)
        case Assign() | Reduce():
            return 1
        case Let() | Alloc():
            return 0
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
        case _:
            assert_never(stmt)


def count_loops(nest: Block) -> int:
    """The loops in the text."""
    return sum(isinstance(x, For) for x in walk(nest))


def count_lines(stmt: Stmt) -> int:
    """The lines of C: one for each head, statement and closing brace; a single statement in a body needs no brace."""
    match stmt:
        case Block():
            return sum(count_lines(x) for x in _statements(stmt))
        case For(body=body):
            return 1 + _body_lines(body)
        case If(then=then, otherwise=otherwise) if not _statements(otherwise):
            return 1 + _body_lines(then)
        case If(then=then, otherwise=otherwise):
            match _statements(otherwise):
                case [If() as other]:
                    # `} else if (…) {` is one line, and so is the brace at the end of the chain.
                    braced = not other.otherwise.body and len(_statements(other.then)) == 1
                    return 1 + count_lines(then) + count_lines(other) + braced
                case _:
                    return 3 + count_lines(then) + count_lines(otherwise)
        case Assign() | Reduce() | Let() | Alloc():
            return 1
        case Launch() | Barrier() | While():
            raise AssertionError("launches are made last; loops without a count hold nests of their own")
        case _:
            assert_never(stmt)


def _body_lines(body: Block) -> int:
    return count_lines(body) + (len(_statements(body)) != 1)


def _statements(block: Block) -> list[Stmt]:
    """The statements of a block; blocks within it are no statements of their own in C's text."""
    out: list[Stmt] = []
    for x in block.body:
        out += _statements(x) if isinstance(x, Block) else [x]
    return out
