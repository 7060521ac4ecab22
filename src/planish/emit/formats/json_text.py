"""Raised kernels as JSON, and back: for tools of other people, in a form that is described in docs/raise.md.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.raising.raised import Loops
>>> kernel = parse_kernel("kernel k(n; x: f64[n]) { for i in 1 .. n { x[i] += x[i - 1] } }")
>>> raised = Raised(kernel, (Loops(kernel.body, {"S0": "it is a recurrence"}),))
>>> parse_json(emit_json(raised)) == (raised,)
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, assert_never

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Span
from planish.emit.formats.step_comment import repeated
from planish.ir.expr import Expr
from planish.ir.nest import Array, Block, Kernel, Stmt
from planish.ir.text.operator_names import TypeScope
from planish.ir.text.parser import parse_expr, parse_kernel
from planish.ir.text.printer import print_expr, print_kernel
from planish.ir.types import INDEX
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Case, Choice, Loops, Raised, Repeat, Reshape, Step, View, arrays_of

FORMAT, VERSION = "planish-raised", 1


def emit_json(*kernels: Raised) -> str:
    """The kernels as one JSON object; equal kernels give equal texts."""
    value = {"format": FORMAT, "version": VERSION, "kernels": [_kernel(x) for x in kernels]}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def parse_json(text: str) -> tuple[Raised, ...]:
    """The kernels that a text of `emit_json` stands for.

    PlanishError E0842 where it is not of the form, and what the parser of kernels and expressions raises.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        _refuse(f"it is no JSON: {error}")
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        _refuse(f'it has no "format": "{FORMAT}"')
    if value.get("version") != VERSION:
        _refuse(f"it is of version {value.get('version')}, and this program reads version {VERSION}")
    try:
        return tuple(_read_kernel(x) for x in value["kernels"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        _refuse(f"it lacks {error}" if isinstance(error, KeyError) else str(error))


def _refuse(reason: str) -> NoReturn:
    raise PlanishError(Diagnostic("E0842", f"not a raised kernel: {reason}", help="give what --to json wrote"))


def _scope(kernel: Kernel, local: Sequence[Array] = ()) -> TypeScope:
    """The types of a kernel's names."""
    scope = TypeScope()
    for name in kernel.sizes:
        scope = scope.with_value(name, INDEX)
    for scalar in kernel.scalars:
        scope = scope.with_value(scalar.name, scalar.type)
    for array in (*kernel.arrays, *local):
        scope = scope.with_array(array.name, array.type)
    return scope


def _kernel(raised: Raised) -> dict[str, Any]:
    kernel = raised.kernel
    scope = _scope(kernel, tuple(arrays_of(raised).values()))
    return {
        "name": kernel.name,
        "sizes": list(kernel.sizes),
        "scalars": [{"name": x.name, "type": str(x.type)} for x in kernel.scalars],
        "arrays": [_array(x, scope) for x in kernel.arrays],
        "locals": [_array(x, scope) for x in raised.locals],
        "reshapes": [{**_array(x.array, scope), "of": x.of} for x in raised.reshapes],
        "assumptions": [print_expr(x, scope) for x in kernel.assumptions],
        "span": _span(kernel.span),
        "original": print_kernel(kernel),
        "steps": [_step(x, raised, scope) for x in raised.steps],
    }


def _array(array: Array, scope: TypeScope) -> dict[str, Any]:
    shape = [None if x is None else print_expr(x, scope) for x in array.shape]
    return {"name": array.name, "type": str(array.type), "shape": shape, "distinct": array.distinct,
            "memory": array.memory}  # fmt: skip


def _span(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {"file": span.file, "line": span.line, "column": span.column, "end_line": span.end_line,
            "end_column": span.end_column}  # fmt: skip


def _step(step: Step, raised: Raised, scope: TypeScope) -> dict[str, Any]:
    match step:
        case Apply():
            own = step.operation
            return {
                "kind": "operation",
                "operation": own.name,
                "einsum": own.einsum,
                "operands": {name: _view(x, scope) for name, x in step.operands.items()},
                "sizes": {name: print_expr(x, scope) for name, x in step.sizes.items()},
                "scalars": {name: print_expr(x, scope) for name, x in step.scalars.items()},
                "conditions": [print_expr(x, scope) for x in step.conditions],
                "statements": list(step.statements),
                "span": _span(step.span),
                "definition": print_kernel(own.definition),
            }
        case Loops(body=body, reasons=reasons):
            return {
                "kind": "loops",
                "reasons": dict(reasons),
                "spans": [_span(None if isinstance(x, Block) else x.span) for x in body.body],
                "body": print_kernel(_around(raised, body.body)),
            }
        case Repeat(var=var):
            inner = scope.with_value(var, INDEX)
            return {
                "kind": "repeat",
                "var": var,
                "lower": print_expr(step.lower, scope),
                "upper": print_expr(step.upper, scope),
                "by": step.by,
                "steps": [_step(x, raised, inner) for x in step.steps],
            }
        case Choice(cases=cases):
            return {"kind": "choice", "cases": [_case(x, raised, scope) for x in cases]}
        case _:
            assert_never(step)


def _case(case: Case, raised: Raised, scope: TypeScope) -> dict[str, Any]:
    return {
        "condition": print_expr(case.condition, scope),
        "locals": [_array(x, scope) for x in case.locals],
        "steps": [_step(x, raised, scope) for x in case.steps],
    }


def _around(raised: Raised, body: Sequence[Stmt]) -> Kernel:
    """A kernel of some statements, in which all names are declared."""
    kernel = raised.kernel
    sizes, arrays = (*kernel.sizes, *dict.fromkeys(repeated(raised.steps))), tuple(arrays_of(raised).values())
    return replace(kernel, sizes=sizes, arrays=arrays, body=Block(tuple(body)), assumptions=())


def _view(view: View, scope: TypeScope) -> dict[str, Any]:
    return {
        "array": view.array,
        "start": [print_expr(x, scope) for x in view.start],
        "steps": [list(x) for x in view.steps],
        "shape": [print_expr(x, scope) for x in view.shape],
    }


def _read_kernel(value: Mapping[str, Any]) -> Raised:
    kernel = replace(parse_kernel(value["original"]), span=_read_span(value["span"]))
    local, seen = (_read_arrays(value[x], kernel.sizes) for x in ("locals", "reshapes"))
    reshapes = tuple(Reshape(x, str(y["of"])) for x, y in zip(seen, value["reshapes"], strict=True))
    reader = _Reader(kernel.sizes, _scope(kernel, (*local, *seen)))
    return Raised(kernel, tuple(map(reader.step, value["steps"])), local, reshapes)


def _read_arrays(arrays: Sequence[Mapping[str, Any]], sizes: Sequence[str]) -> tuple[Array, ...]:
    """Local arrays, which are declared as a kernel's are, so that there is one way to read them."""
    return parse_kernel(_declaring(sizes, arrays)).arrays if arrays else ()


def _declaring(sizes: Sequence[str], arrays: Sequence[Mapping[str, Any]]) -> str:
    items = []
    for x in arrays:
        shape = ", ".join("?" if e is None else e for e in x["shape"])
        words = [f"`{x['name']}`: {x['type']}[{shape}]"]
        words += ["distinct"] * x["distinct"] + [x["memory"]] * (x["memory"] != "dram")
        items.append(" ".join(words))
    names = ", ".join(f"`{name}`" for name in sizes)
    return f"kernel declared({names}; {', '.join(items)}) {{ }}"


def _read_span(value: Mapping[str, Any] | None) -> Span | None:
    if value is None:
        return None
    return Span(value["file"], value["line"], value["column"], value["end_line"], value["end_column"])


@dataclass(frozen=True, slots=True)
class _Reader:
    """What reads steps: the sizes and the names that there are."""

    sizes: tuple[str, ...]
    scope: TypeScope

    def step(self, value: Mapping[str, Any]) -> Step:
        """One step."""
        expr = self.expr
        match value["kind"]:
            case "operation":
                own = Operation(value["operation"], parse_kernel(value["definition"]), value["einsum"])
                return Apply(
                    own,
                    {name: _read_view(x, self.scope) for name, x in value["operands"].items()},
                    {name: expr(x) for name, x in value["sizes"].items()},
                    {name: expr(x) for name, x in value["scalars"].items()},
                    tuple(expr(x) for x in value["conditions"]),
                    tuple(value["statements"]),
                    _read_span(value["span"]),
                )
            case "loops":
                parsed = parse_kernel(value["body"]).body
                places = [_read_span(x) for x in value["spans"]]
                placed = (_placed(x, y) for x, y in zip(parsed.body, places, strict=True))
                return Loops(Block(tuple(placed)), dict(value["reasons"]))
            case "repeat":
                var = value["var"]
                inner = _Reader((*self.sizes, var), self.scope.with_value(var, INDEX))
                steps = tuple(map(inner.step, value["steps"]))
                return Repeat(var, expr(value["lower"]), expr(value["upper"]), value["by"], steps)
            case "choice":
                return Choice(tuple(map(self.case, value["cases"])))
            case other:
                _refuse(f"a step of the kind {other!r}")

    def case(self, value: Mapping[str, Any]) -> Case:
        """One of several ways, with its arrays."""
        local, inner = _read_arrays(value["locals"], self.sizes), self.scope
        for array in local:
            inner = inner.with_array(array.name, array.type)
        steps = map(_Reader(self.sizes, inner).step, value["steps"])
        return Case(self.expr(value["condition"]), tuple(steps), local)

    def expr(self, text: str) -> Expr:
        """An expression of the names that there are."""
        return parse_expr(text, self.scope)


def _placed(stmt: Stmt, span: Span | None) -> Stmt:
    """A statement with the place that it had."""
    return stmt if isinstance(stmt, Block) else replace(stmt, span=span)


def _read_view(value: Mapping[str, Any], scope: TypeScope) -> View:
    start = tuple(parse_expr(x, scope) for x in value["start"])
    shape = tuple(parse_expr(x, scope) for x in value["shape"])
    return View(value["array"], start, tuple(tuple(x) for x in value["steps"]), shape)
