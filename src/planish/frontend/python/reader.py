"""From a Python function, or its text, to a kernel: nothing of the user's is run.

>>> from planish.ir.text.printer import print_kernel
>>> text = '''
... def axpy(n: size, alpha: f32, x: f32["n"], y: f32["n"]):
...     for i in range(n):
...         y[i] += alpha * x[i]
... '''
>>> print(print_kernel(read_python_source(text, "axpy.py").kernel))
kernel axpy(n; alpha: f32; x: f32[n], y: f32[n])
{
  for i in 0 .. n {
    y[i] += alpha * x[i]
  }
}
<BLANKLINE>
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.frontend.python.arithmetic import Kind
from planish.frontend.python.assignments import declared_type
from planish.frontend.python.declaration import Declaration, declare
from planish.frontend.python.extent import bound_accesses
from planish.frontend.python.placement import place_cell
from planish.frontend.python.signature import PythonSignature
from planish.frontend.python.state import LocalNames, PythonTranslation, scan_names
from planish.frontend.python.statements import execute
from planish.frontend.python.text import FunctionText, find_in_text, find_live
from planish.ir.checker import check_kernel
from planish.ir.expr import Expr
from planish.ir.nest import Array, Block, For, Kernel, While
from planish.ir.passes.number_ranges import narrow_numbers, number_ranges
from planish.ir.passes.reduction_idioms import as_accumulation
from planish.ir.traverse import chained, map_block, walk
from planish.ir.types import Type

_READINGS = 20
"""Types only ever grow (weak integer, weak float, the other operand's), so a few readings settle them."""


@dataclass(frozen=True, slots=True)
class PythonKernel:
    """A kernel, how it is called, the text that it comes from, and the function itself where there is one; `asserted`:
    conditions on sizes and numbers that every call has to keep, with their texts."""

    kernel: Kernel
    signature: PythonSignature
    source: Source
    function: Callable[..., object] | None = None
    asserted: tuple[tuple[Expr, str], ...] = ()


def read_python(function: Callable[..., object]) -> PythonKernel:
    """The kernel that a function of annotated parameters and nested loops describes.

    Raises PlanishError: E0301 (no text), E0304–E0306 (parameters), E0310–E0319 (statements, names and loops),
    E0320–E0324 (accesses and conditions), E0330–E0335 (values and assignments).
    """
    return _read(find_live(function), function)


def read_python_source(text: str, name: str, function: str | None = None) -> PythonKernel:
    """The kernel that a function in a program text describes; `name` is the text's name in messages.

    `function` may be left out where the text holds one only. Raises what `read_python` raises, and PlanishError E0302
    for text that is not Python, E0303 where there is no such function.
    """
    return _read(find_in_text(text, name, function), None)


def _read(text: FunctionText, function: Callable[..., object] | None) -> PythonKernel:
    declaration = declare(text)
    try:
        body, cx = _translate(text, declaration)
    except PlanishError:
        # Where it is known how far data go, bounds of accesses are known as well; else they are not.
        body, cx = _translate(text, declaration, by_data=True)
    if not cx.uncounted:
        # What loops without a count count with is set: updates of numbers wrap around.
        body = map_block(lambda x: as_accumulation(x, False), body)
    if not any(isinstance(x, For | While) for x in walk(body)):
        text.fail(text.function, "E0319", f"`{text.function.name}` holds no loop", "write `for … in range(…)`")
    plain = Kernel(
        text.function.name,
        declaration.sizes,
        declaration.scalars,
        declaration.arrays,
        body,
        tuple(cx.assumptions),
        text.head_of(text.function),
    )
    types = {x.name: x.type for x in declaration.scalars}
    ranges = number_ranges((y for x, _ in cx.asserted for y in chained(x, "and")), types)
    narrow = replace(plain, body=narrow_numbers(body, ranges, types))
    # How far loops go whose counters are computed is not known.
    kernel = narrow if cx.uncounted else bound_accesses(narrow, cx.accesses, text)
    check_kernel(kernel, "the Python front-end")
    return PythonKernel(kernel, declaration.signature, text.source, function, tuple(cx.asserted))


def _translate(text: FunctionText, declaration: Declaration, by_data: bool = False) -> tuple[Block, PythonTranslation]:
    """Read the body until the types of its local names are settled."""
    names = scan_names(text)
    _check_targets(text, declaration, names)
    symbolic = set(names.symbolic)
    known: Mapping[str, Kind] = {}
    declared = _declared(text, declaration, names)
    for _ in range(_READINGS):
        cx = PythonTranslation(
            text,
            declaration.sizes,
            dict(declaration.values),
            {a.name: a for a in declaration.arrays},
            names,
            symbolic,
            known,
            declared,
            by_data=by_data,
        )
        try:
            execute(text.function.body, cx)
        except PlanishError:
            # A name was taken for an index value in this reading; it is not, and much may follow from that.
            if not cx.demoted:
                raise
        if not cx.demoted and cx.found == known:
            break
        known = {} if cx.demoted else cx.found
    for name, (node, (one, _), (other, _)) in cx.clashes.items():
        advice = f"use two names, or state one type: `{name}: {one} = …`"
        text.fail(node, "E0332", f"`{name}` holds {one} in one place and {other} in another", advice)
    return _place(cx, names), cx


def _check_targets(text: FunctionText, declaration: Declaration, names: LocalNames) -> None:
    """Parameters and loop variables are not assigned."""
    nodes = list(ast.walk(text.function))
    own = {id(x.target) for x in nodes if isinstance(x, ast.For | ast.comprehension)}
    stored = [x for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store) and id(x) not in own]
    kinds = {x.name: x.kind for x in declaration.signature.parameters}
    for node in sorted(stored, key=lambda x: (x.lineno, x.col_offset)):
        name = node.id
        if name in names.iterators:
            text.fail(node, "E0317", f"`{name}` is a loop variable, and is assigned too", "use another name")
        if kinds.get(name) == "array":
            advice = f"assign to its elements: `{name}[…] = …`"
            text.fail(node, "E0334", f"the array `{name}` is assigned as a whole", advice)
        if name in kinds:
            text.fail(node, "E0334", f"the parameter `{name}` is assigned", "use another name for the changed value")


def _declared(text: FunctionText, declaration: Declaration, names: LocalNames) -> dict[str, Type]:
    """The types that annotations of local names state."""
    cx = PythonTranslation(text, declaration.sizes, {}, {}, names, set())
    out: dict[str, Type] = {}
    for node in ast.walk(text.function):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            type = declared_type(node, cx)
            if type is not None:
                out[node.target.id] = type
    return out


def _place(cx: PythonTranslation, names: LocalNames) -> Block:
    """The body with the local cells declared."""
    block = Block(tuple(cx.out))
    taken = {*cx.sizes, *cx.scalars, *cx.arrays, *names.iterators, *cx.found, *cx.declared}
    for name in (*cx.found, *(x for x in cx.declared if x not in cx.found)):
        type = cx.declared.get(name) or cx.found[name][0]
        if name not in cx.sizes:
            # A local may bear the name of a size that stands in shapes only; its cell then has another one.
            taken.discard(name)
        block = place_cell(name, Array(name, type, (), True, "register"), block, taken)
    return block
