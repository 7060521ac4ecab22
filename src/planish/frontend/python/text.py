"""The user's Python text, the function in it, and the names around that function, without running anything.

>>> text = find_in_text("TAPS = 4\\ndef f():\\n    pass\\n", "<text>", "f")
>>> text.function.name, text.outer["TAPS"], str(text.span_of(text.function.body[0]))
('f', 4, '<text>:3:5')
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

import planish.frontend.python.annotations as spellings
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.python_text import parse_module
from planish.core.span import Source, Span
from planish.frontend.python.annotations import EXPORTED, Size
from planish.frontend.python.prompt import find_typed

_NO_TEXT = (
    'put the function in a file, type it in IPython, or pass the text that it is in: planish.compile("""…""", "name")'
)
_MODULES: dict[str, object] = {"math": math, "numpy": np, "planish": spellings}


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function's tree, the text that it stands in, and what the names outside of it mean."""

    source: Source
    function: ast.FunctionDef
    outer: Mapping[str, object]
    lines: tuple[str, ...] = field(repr=False)

    def span_of(self, node: ast.AST) -> Span:
        """Where a node stands; columns count characters (Python's tree counts bytes)."""
        line, end_line = getattr(node, "lineno", 1), getattr(node, "end_lineno", None)
        column, end_column = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None)
        first = self._column(line, column)
        if end_line is None or end_column is None:
            return Span(self.source.name, line, first, line, first + 1)
        return Span(self.source.name, line, first, end_line, self._column(end_line, end_column))

    def head_of(self, node: ast.For | ast.While | ast.If | ast.FunctionDef) -> Span:
        """The first line of a compound statement."""
        whole = self.span_of(node)
        end = len(self.lines[whole.line - 1].split("#")[0].rstrip()) + 1 if whole.line <= len(self.lines) else 1
        return Span(whole.file, whole.line, whole.column, whole.line, max(end, whole.column + 1))

    def _column(self, line: int, offset: int) -> int:
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="replace")) + 1

    def fail(self, node: ast.AST | Span, code: str, message: str, advice: str = "") -> NoReturn:
        """Raise PlanishError at a node."""
        if isinstance(node, Span):
            span = node
        elif isinstance(node, ast.For | ast.While | ast.If | ast.FunctionDef):
            span = self.head_of(node)
        else:
            span = self.span_of(node)
        raise PlanishError(Diagnostic(code, message, span, advice), self.source) from None


def find_live(function: Callable[..., object]) -> FunctionText:
    """The text of a function object. Raises PlanishError E0301 where there is none, E0302 where it has changed."""
    plain = inspect.unwrap(function)
    name = getattr(plain, "__name__", repr(plain))
    if not isinstance(plain, FunctionType) or name == "<lambda>":
        what = "a lambda" if name == "<lambda>" else f"`{name}`"
        raise PlanishError(Diagnostic("E0301", f"{what} is not a function written with `def`"))
    source = _source_of(plain)
    if source is None:
        message, advice = f"the text of `{name}` is not to be had", _NO_TEXT
        raise PlanishError(Diagnostic("E0301", message, help=advice))
    tree = _parse(source)
    first = plain.__code__.co_firstlineno
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            if first == min([node.lineno, *(x.lineno for x in node.decorator_list)]):
                return _checked(source, node, _live_names(plain))
    message = f"`{name}` is no longer on line {first}: the file has changed since it was imported"
    raise PlanishError(Diagnostic("E0301", message, source.point(first)), source)


def _source_of(function: FunctionType) -> Source | None:
    """The text of a function object: its file, or what was typed at the prompt."""
    try:
        lines, _ = inspect.findsource(function)
    except (OSError, TypeError):
        typed = find_typed(function.__code__)
        return None if typed is None else Source(function.__code__.co_filename, typed)
    return Source(inspect.getsourcefile(function) or function.__code__.co_filename, "".join(lines))


def is_python(text: str) -> bool:
    """Whether a text is a Python program that defines a function.

    >>> is_python("def f(x):\\n    pass\\n"), is_python("void f(int *x) { x[0] = 1; }")
    (True, False)
    """
    try:
        return any(isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef) for x in parse_module(text).body)
    except SyntaxError:
        # Where it is only too deep for the parser, that is to be told.
        return re.search(r"^def \w+\(.*:$", text, re.M) is not None


def find_in_text(text: str, name: str, function: str | None) -> FunctionText:
    """The function of that name (None: the only one) in a program text called `name`; the text is not run.

    Raises PlanishError E0302 for a syntax error, E0303 where there is no such function.
    """
    source = Source(name, text)
    tree = _parse(source)
    found = [x for x in tree.body if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef)]
    picked = found if function is None else [x for x in found if x.name == function]
    if not picked:
        names = ", ".join(f"`{x.name}`" for x in found)
        advice = f"it has {names}" if names else "write `def name(…):`"
        wanted = "a function" if function is None else f"a function `{function}`"
        raise PlanishError(Diagnostic("E0303", f"{name} does not hold {wanted}", source.point(1), advice), source)
    if function is None and len(picked) > 1:
        names = ", ".join(f"`{x.name}`" for x in found)
        advice = "say which one is meant"
        message = f"{name} holds several functions: {names}"
        raise PlanishError(Diagnostic("E0303", message, source.point(picked[1].lineno), advice), source)
    return _checked(source, picked[-1], _names_in(tree))


def _parse(source: Source) -> ast.Module:
    try:
        return parse_module(source.text)
    except SyntaxError as fault:
        line, column = fault.lineno or 1, fault.offset or 1
        width = 1
        if fault.end_lineno == line and fault.end_offset is not None:
            width = max(1, fault.end_offset - column)
        span = source.point(line, max(1, column), width)
        raise PlanishError(Diagnostic("E0302", f"this is not Python: {fault.msg}", span), source) from None


def _checked(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef, outer: Mapping[str, object]) -> FunctionText:
    if isinstance(node, ast.AsyncFunctionDef):
        message = f"`{node.name}` is asynchronous; a kernel is a plain function"
        raise PlanishError(Diagnostic("E0301", message, source.point(node.lineno, node.col_offset + 1, 5)), source)
    return FunctionText(source, node, outer, tuple(re.split(r"\r\n|\r|\n", source.text)))


def _live_names(function: FunctionType) -> Mapping[str, object]:
    """Builtins, globals and what the function closes over."""
    names: dict[str, object] = {**vars(builtins), **function.__globals__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            names[name] = cell.cell_contents
        except ValueError:
            pass  # Not set yet; the name is then reported as unknown.
    return names


def _names_in(tree: ast.Module) -> Mapping[str, object]:
    """Imports of known modules and simple constants at the top of a text that is not run."""
    names: dict[str, Any] = {**vars(builtins), **EXPORTED}
    for node in tree.body:
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    if alias.name in _MODULES:
                        names[alias.asname or alias.name] = _MODULES[alias.name]
            case ast.ImportFrom(module=str(module), names=aliases) if module in _MODULES:
                known = EXPORTED if module == "planish" else vars(_MODULES[module])
                for alias in aliases:
                    if alias.name in known:
                        names[alias.asname or alias.name] = known[alias.name]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names.pop(name, None)
                _define(name, value, names)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names.pop(name, None)
                _define(name, value, names)
            case ast.Assign(
                targets=[ast.Tuple(elts=targets)],
                value=ast.Call(
                    func=ast.Name(id="sizes") | ast.Attribute(attr="sizes"), args=[ast.Constant(value=str(text))]
                ),
            ):
                for target, symbol in zip(targets, text.split(), strict=False):
                    if isinstance(target, ast.Name):
                        names[target.id] = Size(symbol)
            case _:
                pass
    return names


def _define(name: str, value: ast.expr, names: dict[str, Any]) -> None:
    match value:
        case ast.Call(func=ast.Name(id="size") | ast.Attribute(attr="size"), args=[ast.Constant(value=str(text))]):
            names[name] = Size(text)
        case _:
            try:
                number = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, MemoryError):
                return
            if isinstance(number, bool | int | float):
                names[name] = number
