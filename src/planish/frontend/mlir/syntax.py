"""MLIR text as xDSL's operations, each with its place in the text.

>>> module = parse_module(Source("a.mlir", "func.func @f(%n_1: index) {\\n  return\\n}"))
>>> [(op.name, module.span_of(op).line) for op in module.operations]
[('func.func', 1)]
>>> module.name_of(module.operations[0].regions[0].blocks[0].args[0])
'n_1'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from xdsl.context import Context
from xdsl.dialects import affine, arith, builtin, func, linalg, math, memref, scf
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, ParseError

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source, Span, lines_of, place_in
from planish.frontend.mlir.operations import OWN_OPERATIONS

_DEEPEST = 60
"""Brackets within brackets; both parser and translation take some frames of Python's stack for each."""
_LONGEST = 4000
"""Signs of one affine expression or attribute between two line breaks or commas, for the same reason."""
_SKIPPED = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
_GENERIC = "write it in generic form, as `mlir-opt --mlir-print-op-generic` prints it"


@dataclass(frozen=True, slots=True)
class Module:
    """The operations at the top of a text, and where each operation and value is named."""

    source: Source
    operations: tuple[Operation, ...]
    _spans: dict[Operation, Span]
    _names: dict[SSAValue, str]

    def span_of(self, op: Operation) -> Span:
        """Where an operation stands; where it has none of its own, that of the one around it."""
        found = self._spans.get(op)
        if found is not None:
            return found
        outer = op.parent_op()
        return self.source.point(1) if outer is None else self.span_of(outer)

    def name_of(self, value: SSAValue) -> str:
        """A value's name without its sign; "" where the text gives none."""
        return self._names.get(value, "")

    def fail(self, op: Operation, code: str, message: str, advice: str = "") -> NoReturn:
        """Raise PlanishError at an operation."""
        raise PlanishError(Diagnostic(code, message, self.span_of(op), advice), self.source)


class _PlacingParser(Parser):
    """xDSL's parser, which also notes where operations and names of values stand."""

    def __init__(self, context: Context, places: _Places) -> None:
        super().__init__(context, places.source.text, places.source.name)
        self.places = places
        self.found: dict[Operation, Span] = {}
        self.called: dict[SSAValue, str] = {}

    def parse_operation(self) -> Operation:
        """An operation; its place is that of its first line."""
        start = self._current_token.span.start
        op = super().parse_operation()
        self.found[op] = self.places.first_line(start, self._current_token.span.start)
        return op

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Any) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            self.called[value] = name


@dataclass(frozen=True, slots=True)
class _Places:
    """Lines and columns of offsets into a text."""

    source: Source
    starts: tuple[int, ...]

    def point(self, start: int, width: int = 1) -> Span:
        """A span on one line."""
        return self.source.point(*place_in(self.starts, start), max(1, width))

    def first_line(self, start: int, end: int) -> Span:
        """What stands from `start` to the end of its line, or to `end`."""
        text = _SKIPPED.sub(lambda x: x[0] if x[0][0] == '"' else "", self.source.text[start:end].partition("\n")[0])
        return self.point(start, len(text.rstrip()))


def parse_module(source: Source) -> Module:
    """Parse a text; PlanishError E0861, E0870."""
    places = _Places(source, lines_of(source.text))
    _check_text(places)
    parser = None
    try:
        parser = _PlacingParser(_context(), places)
        whole = parser.parse_module()
    except ParseError as error:
        _refuse(places, error.span.start, error.span.end - error.span.start, error.msg)
    except Exception as error:
        # On text that is no MLIR its parser may also stumble over itself, with exceptions of any kind.
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        _refuse(places, parser.pos if parser is not None else 0, 1, reason)
    operations = tuple(op for block in whole.body.blocks for op in block.ops)
    return Module(source, operations, parser.found, parser.called)


def _context() -> Context:
    context = Context(allow_unregistered=True)
    context.load_dialect(builtin.Builtin)
    own = {x.name: x for x in OWN_OPERATIONS}
    for dialect in (func.Func, arith.Arith, math.Math, memref.MemRef, scf.Scf, affine.Affine, linalg.Linalg):
        for attribute in dialect.attributes:
            context.load_attr_or_type(attribute)
        for operation in dialect.operations:
            context.load_op(own.pop(operation.name, operation))
    for operation in own.values():
        context.load_op(operation)
    return context


def verify(op: Operation, module: Module) -> None:
    """That an operation, and all inside it, keep the rules of their kinds; PlanishError E0862."""
    for inner in op.walk():
        try:
            inner.verify(verify_nested_ops=False)
        except DiagnosticException as error:
            lines = [x.strip(" ^│|") for x in str(error).strip().splitlines()]
            reason = next((x for x in reversed(lines) if x and not set(x) <= set("-^ ")), str(error))
            module.fail(inner, "E0862", f"`{inner.name}` is not well-formed: {reason}", "check it with mlir-opt")
        except Exception as error:
            # The rules that operations check are written for those that other rules have passed.
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            module.fail(inner, "E0862", f"`{inner.name}` is not well-formed: {reason}", "check it with mlir-opt")


def _refuse(places: _Places, start: int, width: int, reason: str) -> NoReturn:
    text = places.source.text
    start = max(0, min(start, len(text.rstrip()) - 1))
    reason = " ".join(reason.strip().split())
    span = places.point(start, min(width, max(1, len(text[start:].partition("\n")[0]))))
    advice = f"if mlir-opt accepts it, {_GENERIC}"
    unknown = re.search(r"([\w.$]+)\s*$", text[:start])
    if reason.endswith("does not have a custom format.") and unknown:
        span = places.point(unknown.start(), len(unknown[1]))
        if "." in unknown[1]:
            reason, advice = f"the operation `{unknown[1]}` is not known", "docs/mlir.md lists those that are read"
        else:
            reason, advice = f"`{unknown[1]}` is no operation", "an operation is `dialect.name …`"
    raise PlanishError(Diagnostic("E0861", f"this is not MLIR that can be read: {reason}", span, advice), places.source)


def _check_text(places: _Places) -> None:
    """That strings end, that brackets are not nested so deep, and expressions not so long, that reading them takes all
    of the stack."""
    text = _SKIPPED.sub(lambda x: " " * len(x[0]), places.source.text)
    if '"' in text:
        # xDSL looks for the end of it for ever.
        _refuse(places, text.index('"'), 1, "the string does not end on its line")
    depth = run = 0
    for place, sign in enumerate(text):
        if sign in "([{<" and text[place : place + 2] != "<=":
            depth += 1
        elif sign in ")]}>" and text[place - 1] != "-" and text[place + 1 : place + 2] != "=":
            depth -= 1
        run = 0 if sign in "\n,;" else run + (sign in "+-*")
        if depth > _DEEPEST or run > _LONGEST:
            what = f"brackets are nested more than {_DEEPEST} deep" if depth > _DEEPEST else "an expression is too long"
            raise PlanishError(
                Diagnostic("E0870", f"{what} here", places.point(place), "take the text apart"), places.source
            )
