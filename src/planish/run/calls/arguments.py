"""A compiled function as its callers from Python see it: what each parameter takes, and how far each array is used.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> text = "void axpy(int n, float a, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }"
>>> interface = interface_of_c(read_c(Source("axpy.c", text)).functions[0], text)
>>> print(interface)
axpy(n: i32, a: f32, x: const f32[], y: f32[])
>>> interface.inferable
frozenset({'n'})
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Literal

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.frontend.c.translation_unit import CFunction, CParameter, Region
from planish.frontend.python.signature import PythonSignature
from planish.ir.expr import Expr, Var, index
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Assign, Kernel, Reduce
from planish.ir.text.printer import print_expr
from planish.ir.traverse import is_counted, substitute, variables, walk
from planish.ir.types import INDEX, Type
from planish.poly.canonical.first_element import begin_at_pointers
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extents import NoExtentError
from planish.poly.scop.footprint import Box, find_boxes, find_known_boxes
from planish.run.calls.signature import Parameter, Signature

_LOOPS = re.compile(r"\b(?:for|while|do|goto)\b")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter.

    `extents` are those of its declaration (none for a value; the first, or that of a pointer, is None). `boxes` say
    which elements are touched; without `bounded` others may be as well. `written`: the array must allow it. `apart`:
    declared not to overlap any other array. `hidden` ones are never passed: they follow from the shapes.
    """

    name: str
    type: Type
    kind: Literal["value", "array"]
    extents: tuple[Expr | None, ...] = ()
    boxes: tuple[Box, ...] = ()
    bounded: bool = True
    written: bool = False
    apart: bool = False
    hidden: bool = False
    default: int | float | bool | None = None

    def __str__(self) -> str:
        text = f"{self.name}: {'' if self.written or self.kind == 'value' else 'const '}{self.type}"
        if self.kind == "array":
            text += f"[{', '.join('' if e is None else print_expr(e) for e in self.extents)}]"
        return text if self.default is None else f"{text} = {self.default}"


@dataclass(frozen=True, slots=True)
class CallInterface:
    """A function: its arguments in the order of a call, and its `signature` with the order of the C function.

    `inferable` are the integers that the shapes of arrays tell: a call may leave them out. `asserted` are conditions on
    integers that a call has to keep, with their texts.
    """

    signature: Signature
    arguments: tuple[Argument, ...]
    inferable: frozenset[str]
    asserted: tuple[tuple[Expr, str], ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(str(a) for a in self.arguments if not a.hidden)
        result = "" if self.signature.result is None else f" -> {self.signature.result}"
        return f"{self.signature.function}({shown}){result}"


def _make_interface(signature: Signature, arguments: tuple[Argument, ...]) -> CallInterface:
    named = {v for a in arguments for e in _expressions(a) for v in variables(e) if _moves(e, v)}
    told = frozenset(a.name for a in arguments if a.kind == "value" and a.type.is_int and a.name in named)
    return CallInterface(signature, arguments, told)


def without(interface: CallInterface, names: Set[str]) -> CallInterface:
    """The interface of calls in which some arrays do not stand yet: sizes follow from the others."""
    rest = tuple(x for x in interface.arguments if x.name not in names)
    return replace(_make_interface(interface.signature, rest), asserted=interface.asserted)


def _moves(expr: Expr, name: str) -> bool:
    """Whether the value follows a size when all are large; others only decide whether anything runs at all."""
    large = dict.fromkeys(variables(expr), 1 << 22)
    return evaluate(expr, {**large, name: 1 << 20}) != evaluate(expr, {**large, name: (1 << 20) + 1})


def _expressions(argument: Argument) -> list[Expr]:
    boxed = [e for box in argument.boxes for e in (*box.shape, *box.upper) if e is not None]
    return [*(e for e in argument.extents if e is not None), *boxed]


def interface_of_c(function: CFunction, text: str) -> CallInterface:
    """How to call a C function of the file `text`; raises PlanishError E0120 for types that Planish does not know."""
    parameters = []
    for p in function.parameters:
        if p.type is None:
            message = f"`{function.name}` cannot be called from Python: `{p.text}` has no type that Planish knows"
            advice = "known are integers, floating point numbers, and pointers to them and arrays of them"
            raise PlanishError(Diagnostic("E0120", message, function.span, advice))
        parameters.append(Parameter(p.name, p.type, "array" if p.pointer else "value"))
    if function.result is None and "void" not in function.prototype.split("(")[0].split():
        message = f"`{function.name}` cannot be called from Python: its result has no type that Planish knows"
        raise PlanishError(Diagnostic("E0120", message, function.span))
    signature = Signature(function.name, tuple(parameters), function.result)
    outside = text_outside(function, text)
    arguments = tuple(
        _argument(p, q, function, outside) for p, q in zip(parameters, function.parameters, strict=True)
    )
    return _make_interface(signature, arguments)


def text_outside(function: CFunction, text: str) -> str:
    """The function's body without its regions and comments."""
    place, parts = function.start, []
    for region in sorted(function.regions, key=lambda r: r.start):
        parts.append(text[place : region.start])
        place = region.end
    parts.append(text[place : function.end])
    whole = _COMMENT.sub(" ", " ".join(parts))
    return whole[whole.find("{") :]


def _argument(parameter: Parameter, declared: CParameter, function: CFunction, outside: str) -> Argument:
    if parameter.kind == "value":
        return Argument(parameter.name, parameter.type, "value")
    boxes, known = [], _is_whole(declared.name, function, outside)
    for region in function.regions:
        for name, text in region.names:
            if name in {a.name for a in region.kernel.arrays} and re.search(rf"\b{declared.name}\b", text):
                box = _region_box(region, name, function, outside) if text == declared.name and known else None
                known = known and box is not None
                boxes += [box] if box is not None else []
    # The number of rows says nothing to C: `double A[10][20]` is a pointer to rows of 20.
    extents = tuple(declared.extents) or (None,)
    written = re.search(r"\bconst\b", declared.text) is None
    apart = re.search(r"\b(?:__)?restrict(?:__)?\b", declared.text) is not None
    return Argument(declared.name, parameter.type, "array", extents, tuple(boxes), known, written, apart)


def _is_whole(name: str, function: CFunction, outside: str) -> bool:
    """Whether an array is touched in the regions only, always from its first element on."""
    moved = any(u.variable == name for r in function.regions for u in r.updates)
    return not moved and re.search(rf"\b{name}\b", outside) is None


def _region_box(region: Region, array: str, function: CFunction, outside: str) -> Box | None:
    """What a region touches of an array, over the function's parameters; None where it is not known."""
    if any(x.array == array and x.moved != index(0) for x in region.bases):
        return None
    try:
        box = find_boxes(begin_at_pointers(region.kernel, {x.array: x.before for x in region.bases}))[array]
    except (NotAffineError, NoExtentError):
        return None
    names = dict(region.names)
    own = {p.name for p in function.parameters}
    named = {v for e in (*box.shape, *box.lower, *box.upper) if e is not None for v in variables(e)}
    if any(names[v] not in own or not _is_constant(names[v], function, outside) for v in named):
        return None
    fresh = {v: Var(names[v], INDEX) for v in named}
    return Box(
        tuple(None if e is None else substitute(e, fresh) for e in box.shape),
        tuple(substitute(e, fresh) for e in box.lower),
        tuple(substitute(e, fresh) for e in box.upper),
    )


def _is_constant(name: str, function: CFunction, outside: str) -> bool:
    """Whether a parameter has the caller's value wherever a region reads it."""
    if re.search(rf"(?:\+\+|--|&)\s*{name}\b|\b{name}\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))", outside):
        return False
    changed = [r for r in function.regions if any(u.variable == name for u in r.updates)]
    # One region that leaves another value behind is harmless where nothing follows and nothing repeats it.
    return not changed or (len(function.regions) == 1 and _LOOPS.search(outside) is None)


def interface_of_kernel(
    kernel: Kernel, declared: PythonSignature, function: str, asserted: tuple[tuple[Expr, str], ...] = ()
) -> CallInterface:
    """How to call a kernel that was a Python function: its own order of parameters, over the C function's order."""
    # Where loops run as long as conditions hold, nothing says how far they go.
    boxes = _boxes(kernel) if is_counted(kernel) else {}
    written = {s.array for s in walk(kernel.body) if isinstance(s, Assign | Reduce)}
    found = {s: Argument(s, INDEX, "value", hidden=s in declared.hidden) for s in kernel.sizes}
    found |= {s.name: Argument(s.name, s.type, "value") for s in kernel.scalars}
    for a in kernel.arrays:
        box, stored = boxes.get(a.name, ()), a.name in written
        found[a.name] = Argument(a.name, a.type, "array", a.shape, box, bool(box), stored, a.distinct)
    shown = [replace(found.pop(p.name), default=p.default) for p in declared.parameters]
    parameters = [Parameter(s, INDEX, "value") for s in kernel.sizes]
    parameters += [Parameter(s.name, s.type, "value") for s in kernel.scalars]
    parameters += [Parameter(a.name, a.type, "array") for a in kernel.arrays]
    made = _make_interface(Signature(function, tuple(parameters)), (*shown, *found.values()))
    return replace(made, asserted=asserted)


def _boxes(kernel: Kernel) -> dict[str, tuple[Box, ...]]:
    """What a kernel touches of its arrays; nothing where subscripts divide by sizes, so that no bounds are known."""
    try:
        return {x: (y,) for x, y in find_known_boxes(kernel).items()}
    except NotAffineError:
        return {}
