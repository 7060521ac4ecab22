"""Kernels as text that reads like code and parses back to the same value.

>>> from planish.ir.expr import Binary, Const, Load, index
>>> from planish.ir.nest import Array, Block, For, Kernel, Reduce
>>> from planish.ir.types import F32
>>> update = Reduce("s", (), "add", Binary("mul", Load("A", (index("i"),), F32), Const(2.0, F32)))
>>> arrays = (Array("A", F32, (index("n"),)), Array("s", F32))
>>> loop = For("i", index(0), index("n"), 1, Block((update,)))
>>> print(print_kernel(Kernel("sum", sizes=("n",), arrays=arrays, body=Block((loop,)))), end="")
kernel sum(n; A: f32[n], s: f32[])
{
  for i in 0 .. n {
    s[] += A[i] * 2.0:f32
  }
}
"""

from __future__ import annotations

from typing import assert_never

from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, type_of
from planish.ir.nest import (
    PLAIN_MEMORIES,
    Alloc,
    Array,
    Assign,
    Barrier,
    Block,
    For,
    If,
    Kernel,
    Launch,
    Let,
    LoopFacts,
    Reduce,
    Stmt,
    While,
)
from planish.ir.text.operator_names import (
    ATOM_LEVEL,
    CALLED,
    COMPARISON_LEVEL,
    COMPARISONS,
    INFIX,
    UNARY_LEVEL,
    UPDATES,
    TypeScope,
    quoted,
)
from planish.ir.types import BOOL, INDEX

_WIDTH = 110
_INFIX = {op: (sign, level) for sign, (op, level) in INFIX.items()}
_LOGICAL = {"or": ("||", 1), "and": ("&&", 2)}
_COMPARISONS = {op: sign for sign, op in COMPARISONS.items()}
_UPDATES = {op: sign for sign, op in UPDATES.items()}
_SIGNS = {"neg": "-", "not": "!", "bitnot": "~"}


def print_kernel(kernel: Kernel) -> str:
    """The kernel as text; `parse_kernel` gives it back."""
    scope = TypeScope()
    for size in kernel.sizes:
        scope = scope.with_value(size, INDEX)
    for scalar in kernel.scalars:
        scope = scope.with_value(scalar.name, scalar.type)
    arrays: list[str] = []
    for array in kernel.arrays:
        arrays.append(_array(array, scope))
        scope = scope.with_array(array.name, array.type)
    groups = [
        ", ".join(quoted(x) for x in kernel.sizes),
        ", ".join(f"{quoted(x.name)}: {x.type}" for x in kernel.scalars),
        ", ".join(arrays),
    ]
    head = f"kernel {quoted(kernel.name)}({'; '.join(x for x in groups if x)})"
    if len(head) > _WIDTH:
        head = f"kernel {quoted(kernel.name)}(\n    " + ";\n    ".join(x for x in groups if x) + ")"
    lines = [head]
    lines += [f"  assume {print_expr(x, scope)}" for x in kernel.assumptions]
    for x in kernel.derived:
        inner = scope
        for name in x.index:
            inner = inner.with_value(name, INDEX)
        at = f"[{', '.join(map(quoted, x.index))}]" if x.index else ""
        lines.append(f"  where {quoted(x.name)}{at} = {print_expr(x.value, inner)}")
    lines += ["{", *_block(kernel.body, scope), "}"]
    return "\n".join(lines) + "\n"


def print_stmt(stmt: Stmt, scope: TypeScope | None = None) -> str:
    """One statement as text, as it stands in a kernel; without a scope, types of names are left out."""
    return "\n".join(_statement(stmt, scope)[0])


def print_expr(expr: Expr, scope: TypeScope | None = None) -> str:
    """An expression as text; with a scope, names that are not used at the types it holds carry theirs.

    Without a scope no name carries a type: good for messages, but only the types of literals parse back.
    """
    return _expression(expr, scope, 0)


def _expression(expr: Expr, scope: TypeScope | None, level: int) -> str:
    """The text of an expression where operators of at least `level` need no parentheses."""
    text, own = _form(expr, scope)
    return text if own >= level else f"({text})"


def _form(expr: Expr, scope: TypeScope | None) -> tuple[str, int]:
    match expr:
        case Const():
            return _literal(expr), ATOM_LEVEL
        case Var(name=name, type=type):
            suffix = "" if scope is None or scope.values.get(name) == type else f":{type}"
            return quoted(name) + suffix, ATOM_LEVEL
        case Load(array=array, index=index, type=type):
            suffix = "" if scope is None or scope.arrays.get(array) == type else f":{type}"
            return f"{quoted(array)}[{_list(index, scope)}]{suffix}", ATOM_LEVEL
        case Unary(op=op, operand=operand):
            # A minus before a literal belongs to the literal, so a negated literal needs parentheses.
            inside = _expression(operand, scope, ATOM_LEVEL + 1 if isinstance(operand, Const) else UNARY_LEVEL)
            return f"{_SIGNS[op]}{inside}", UNARY_LEVEL
        case Binary(op=op, left=left, right=right):
            if op in CALLED:
                return f"{op}({_list((left, right), scope)})", ATOM_LEVEL
            logical = _LOGICAL.get(op) if type_of(expr) == BOOL else None
            sign, own = logical or _INFIX[op]
            return f"{_expression(left, scope, own)} {sign} {_expression(right, scope, own + 1)}", own
        case Compare(op=op, left=left, right=right):
            own = COMPARISON_LEVEL
            a, b = _expression(left, scope, own + 1), _expression(right, scope, own + 1)
            return f"{a} {_COMPARISONS[op]} {b}", own
        case Select(condition=condition, then=then, otherwise=otherwise):
            return f"select({_list((condition, then, otherwise), scope)})", ATOM_LEVEL
        case Cast(operand=operand, type=type):
            return f"{type}({_expression(operand, scope, 0)})", ATOM_LEVEL
        case Call(function=function, arguments=arguments):
            return f"{quoted(function)}({_list(arguments, scope)})", ATOM_LEVEL
        case _:
            assert_never(expr)


def _list(items: tuple[Expr, ...], scope: TypeScope | None) -> str:
    return ", ".join(_expression(x, scope, 0) for x in items)


def _literal(expr: Const) -> str:
    value, type = expr.value, expr.type
    if type == BOOL and (value == 0 or value == 1):
        return "true" if value else "false"
    # bool is a kind of int, and NumPy's doubles are a kind of float: both print as plain numbers.
    number = repr(float(value)) if isinstance(value, float) else repr(int(value))
    return number if type == INDEX and not isinstance(value, float) else f"{number}:{type}"


def _array(array: Array, scope: TypeScope | None) -> str:
    shape = ", ".join("?" if x is None else _expression(x, scope, 0) for x in array.shape)
    words = [f"{quoted(array.name)}: {array.type}[{shape}]"]
    if array.distinct:
        words.append("distinct")
    if array.memory != "dram":
        words.append(array.memory if array.memory in PLAIN_MEMORIES else f"@{array.memory}")
    if array.memory == "table" or array.values:
        values = f"({', '.join(repr(x) for x in array.values)})"
        words += [values] if array.memory == "table" else ["=", values]
    return " ".join(words)


def _block(block: Block, scope: TypeScope | None) -> list[str]:
    lines: list[str] = []
    for stmt in block.body:
        text, scope = _statement(stmt, scope)
        lines += [f"  {line}" for line in text]
    return lines


def _statement(stmt: Stmt, scope: TypeScope | None) -> tuple[list[str], TypeScope | None]:
    """The lines of a statement, and the scope of those after it."""
    match stmt:
        case Block():
            return ["{", *_block(stmt, scope), "}"], scope
        case For(var=var, lower=lower, upper=upper, step=step, body=body, facts=facts):
            head = f"for {quoted(var)} in {_expression(lower, scope, 0)} .. {_expression(upper, scope, 0)}"
            words = [head, *([f"step {step}"] if step != 1 else []), *_facts(facts), "{"]
            inner = scope.with_value(var, INDEX) if scope is not None else None
            return [" ".join(words), *_block(body, inner), "}"], scope
        case While(condition=condition, body=body):
            return [f"while {_expression(condition, scope, 0)} {{", *_block(body, scope), "}"], scope
        case If(condition=condition, then=then, otherwise=otherwise):
            lines = [f"if {_expression(condition, scope, 0)} {{", *_block(then, scope)]
            match otherwise.body:
                case ():
                    return [*lines, "}"], scope
                case (If() as only,):
                    first, *rest = _statement(only, scope)[0]
                    return [*lines, f"}} else {first}", *rest], scope
                case _:
                    return [*lines, "} else {", *_block(otherwise, scope), "}"], scope
        case Assign(array=array, index=index, value=value, asynchronous=late):
            head = "async " * late + f"{quoted(array)}[{_list(index, scope)}]"
            return [f"{head} = {_expression(value, scope, 0)}"], scope
        case Reduce(array=array, index=index, op=op, value=value):
            return [f"{quoted(array)}[{_list(index, scope)}] {_UPDATES[op]} {_expression(value, scope, 0)}"], scope
        case Alloc(array=array):
            after = scope.with_array(array.name, array.type) if scope is not None else None
            return [f"alloc {_array(array, scope)}"], after
        case Barrier():
            return ["barrier"], scope
        case Launch(grid=grid, block=threads, body=body):
            inner = scope
            for name, _ in (*grid, *threads):
                inner = inner.with_value(name, INDEX) if inner is not None else None
            blocks = ", ".join(f"{quoted(name)}: {_expression(x, scope, 0)}" for name, x in grid)
            of = ", ".join(f"{quoted(name)}: {number}" for name, number in threads)
            return [f"launch ({blocks}) of ({of}) {{", *_block(body, inner), "}"], scope
        case Let(var=var, value=value):
            after = scope.with_value(var, type_of(value)) if scope is not None else None
            return [f"let {quoted(var)} = {_expression(value, scope, 0)}"], after
        case _:
            assert_never(stmt)


def _facts(facts: LoopFacts) -> list[str]:
    words: list[str] = []
    if facts.parallel:
        words.append("parallel")
    if facts.simd:
        words.append("simd")
    if facts.reductions:
        words.append(f"reduce({', '.join(f'{op}: {quoted(name)}' for op, name in facts.reductions)})")
    if facts.unroll:
        words.append(f"unroll {facts.unroll}")
    words += ["coincident"] * facts.coincident + ["isolated"] * facts.isolated
    words += [f"as {quoted(facts.instruction)}"] if facts.instruction else []
    words += [f"past {quoted(facts.stream)}"] if facts.stream else []
    words += [f"fetching {quoted(facts.fetch)}"] if facts.fetch else []
    return words + ([f"on {facts.axis}"] if facts.axis else [])
