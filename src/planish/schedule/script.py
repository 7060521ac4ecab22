"""Schedules as text: one step a line, written as a call; a program's steps print to a script that makes it again.

>>> steps = parse_script('split("i", 8, ("io", "ii"), tail="guard")  # blocks\\nreorder("io", ("ii", "io"))\\n')
>>> print(print_script(steps), end="")
split("i", 8, ("io", "ii"), tail="guard")
reorder("io", ("ii", "io"))
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin, get_type_hints

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.python_text import parse_module
from planish.core.span import Source, Span
from planish.schedule.program import Program, Step, Target
from planish.schedule.steps import STEPS, script_name


@dataclass(frozen=True, slots=True, eq=False)
class ScriptLine:
    """A step of a script, and where it stands."""

    step: Step
    span: Span


def parse_script(text: str, name: str = "<script>") -> tuple[Step, ...]:
    """The steps of a script. Raises PlanishError: E0620 for what is no call, E0621 for an unknown step, E0622 for
    arguments that it does not take."""
    return tuple(line.step for line in read_script(Source(name, text)))


def run_script(program: Program, source: Source) -> Program:
    """The program after the steps of a script; the PlanishError of a step points at its line."""
    for line in read_script(source):
        try:
            program = program.apply(line.step)
        except PlanishError as error:
            raise PlanishError(replace(error.diagnostic, span=line.span), source) from error
    return program


def print_script(steps: Sequence[Step]) -> str:
    """Steps as a script, one a line."""
    return "".join(f"{print_step(step)}\n" for step in steps)


def print_step(step: Step) -> str:
    """A step as a script has it; arguments at their defaults are left out."""
    parts = []
    for field in fields(step):
        value = getattr(step, field.name)
        if field.default is MISSING or (value != field.default and field.metadata.get("positional")):
            parts.append(_literal(value))
        elif value != field.default:
            parts.append(f"{field.name}={_literal(value)}")
    return f"{script_name(type(step))}({', '.join(parts)})"


def _literal(value: object) -> str:
    match value:
        case str():
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{quoted}"'
        case tuple():
            return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
        case _:
            return repr(value)


def read_script(source: Source) -> list[ScriptLine]:
    """The steps of a script with their places; PlanishError E0620, E0621, E0622."""
    try:
        tree = parse_module(source.text)
    except SyntaxError as error:
        place = source.point(error.lineno or 1, error.offset or 1)
        message = f"this is no script: {error.msg}"
        raise PlanishError(Diagnostic("E0620", message, place, "write a step as in `unroll(\"i\")`"), source) from error
    return [_read(stmt, source) for stmt in tree.body]


def _read(stmt: ast.stmt, source: Source) -> ScriptLine:
    span = _span(stmt, source)
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=args, keywords=keywords)):
            pass
        case _:
            message = "a script holds steps only"
            raise PlanishError(Diagnostic("E0620", message, span, 'write one as in `unroll("i")`'), source)
    kind = STEPS.get(name)
    if kind is None:
        near = get_close_matches(name, STEPS, 1)
        advice = f"did you mean `{near[0]}`?" if near else f"the steps: {', '.join(STEPS)}"
        raise PlanishError(Diagnostic("E0621", f"there is no step `{name}`", span, advice), source)
    values: dict[str, Any] = {}
    known = [field.name for field in fields(kind)]
    for number, argument in enumerate(args):
        if number >= len(known):
            raise _misfit(f"`{name}` takes {len(known)} arguments at most", argument, name, source)
        values[known[number]] = _value(argument, kind, known[number], name, source)
    for keyword in keywords:
        if keyword.arg not in known or keyword.arg in values:
            what = "is given twice" if keyword.arg in values else "is no argument of it"
            raise _misfit(f"`{name}`: `{keyword.arg}` {what}", keyword.value, name, source)
        values[keyword.arg] = _value(keyword.value, kind, keyword.arg, name, source)
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise _misfit(f"`{name}` lacks the argument `{field.name}`", stmt, name, source)
    return ScriptLine(kind(**values), span)


def _value(node: ast.expr, kind: type[Step], field: str, name: str, source: Source) -> object:
    """An argument's value, of the type that the step's field has."""
    try:
        value = ast.literal_eval(node)
    except ValueError as error:
        raise _misfit(f"`{name}`: `{field}` is no text, number or tuple of these", node, name, source) from error
    value = tuple(value) if isinstance(value, list) else value
    hint = get_type_hints(kind)[field]
    if not _fits(value, hint):
        raise _misfit(f"`{name}`: `{field}` is to be {_describe(hint)}", node, name, source)
    return value


def _fits(value: object, hint: Any) -> bool:
    if hint == Target:
        return isinstance(value, str)
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        wanted = get_args(hint)
        if not isinstance(value, tuple):
            return False
        if len(wanted) == 2 and wanted[1] is Ellipsis:
            return all(_fits(x, wanted[0]) for x in value)
        return len(value) == len(wanted) and all(map(_fits, value, wanted))
    return isinstance(value, hint) and isinstance(value, bool) == (hint is bool)


def _describe(hint: Any) -> str:
    if hint == Target:
        return "a pattern of a place, such as \"i\""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(f'"{x}"' for x in get_args(hint))
    if get_origin(hint) is tuple:
        wanted = get_args(hint)
        return "several texts" if wanted[-1] is Ellipsis else f"{len(wanted)} texts"
    return {int: "a whole number", str: "a text", bool: "True or False"}[hint]


def _misfit(message: str, node: ast.AST, name: str, source: Source) -> PlanishError:
    names = ", ".join(field.name for field in fields(STEPS[name]))
    return PlanishError(Diagnostic("E0622", message, _span(node, source), f"{name}({names})"), source)


def _span(node: Any, source: Source) -> Span:
    end_line, end_column = node.end_lineno, node.end_col_offset
    return Span(source.name, node.lineno, node.col_offset + 1, end_line, end_column + 1)
