"""Loops without a count: `while`, and `for` over a range whose step is computed.

How often they run is data, and so is what subscripts and bounds are made of that they count.

>>> from planish.frontend.python.reader import read_python_source
>>> from planish.ir.text.printer import print_stmt
>>> text = '''
... def halve(A: f32["n"]):
...     h = 1
...     while h < n:
...         for i in range(0, n, 2 * h):
...             A[i] += A[i + h]
...         h *= 2
... '''
>>> print(print_stmt(read_python_source(text, "<text>").kernel.body.body[-1]))
while h[] < n {
  alloc t1: i64[] distinct register
  t1[] = 0
  while t1[] < n {
    A[t1[]] += A[t1[] + h[]]
    t1[] = t1[] + 2 * h[]
  }
  h[] = 2 * h[]
}
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from planish.frontend.python.expressions import condition_of, index_of
from planish.frontend.python.signs import is_positive, positive_where
from planish.frontend.python.state import PythonTranslation
from planish.ir.expr import Binary, Compare, Const, Expr, Load
from planish.ir.index.simplify import simplify
from planish.ir.nest import Assign, Block, While
from planish.ir.traverse import loads
from planish.ir.types import INDEX

Execute = Callable[[Sequence[ast.stmt], PythonTranslation], None]


def run_while(node: ast.While, cx: PythonTranslation, execute: Execute) -> None:
    """`while condition: …`. Raises PlanishError at what has no place in a kernel."""
    if node.orelse:
        cx.fail(node.orelse[0], "E0310", "an else of a loop", "write it after the loop; it always runs")
    changed = assigned_in(node.body)
    forget(changed, cx)
    condition = condition_of(node.test, cx)
    if isinstance(condition, Const):
        if condition.value:
            cx.fail(node, "E0310", "a loop that never ends has no place in a kernel", "say how long it goes on")
        return
    known = cx.positive
    cx.positive = (known - changed) | {x for x in positive_where(node.test) if _starts_with(node.body, x)}
    assigned = set(cx.assigned)
    with cx.inside() as body:
        execute(node.body, cx)
    cx.assigned, cx.positive = assigned, known
    forget(changed, cx)
    cx.out.append(While(condition, Block(tuple(body)), span=cx.text.span_of(node)))


def run_steps(node: ast.For, name: str, bounds: tuple[Expr, Expr], cx: PythonTranslation, execute: Execute) -> None:
    """`for name in range(start, stop, step)` where the step is computed: a cell counts. Raises PlanishError E0316 where
    the step may be negative or zero."""
    assert isinstance(node.iter, ast.Call)
    written = node.iter.args[2]
    changed = assigned_in(node.body)
    if not is_positive(written, cx):
        advice = "say so in the condition of the loop around it: `while h > 0 and …`"
        cx.fail(written, "E0316", "the step of the loop is not seen to be positive", advice)
    start, stop = bounds
    step = index_of(written, "the step of the loop", "E0316", cx)
    counter = cx.temporary(INDEX)
    here, place = cx.text.span_of(node), Load(counter, (), INDEX)
    cx.out.append(Assign(counter, (), start, here))
    stop, step = (hold(x, changed, cx) for x in (stop, step))
    forget(changed, cx)
    assigned = set(cx.assigned)
    cx.iterators[name] = place
    with cx.inside() as body:
        execute(node.body, cx)
        body.append(Assign(counter, (), Binary("add", place, step), here))
    del cx.iterators[name]
    cx.assigned = assigned
    forget(changed, cx)
    cx.out.append(While(simplify(Compare("lt", place, stop)), Block(tuple(body)), span=here))


def hold(value: Expr, changed: set[str], cx: PythonTranslation) -> Expr:
    """A value as it is where a loop begins, which changes some cells."""
    if not any(x.array in changed for x in loads(value)):
        return value
    cell = cx.temporary(INDEX)
    cx.out.append(Assign(cell, (), value))
    return Load(cell, (), INDEX)


def assigned_in(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements set."""
    nodes = (x for stmt in body for x in ast.walk(stmt))
    return {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}


def forget(changed: set[str], cx: PythonTranslation) -> None:
    """What names that a loop sets stand for is not known in it, nor behind it."""
    for name in changed & set(cx.values):
        del cx.values[name]


def _starts_with(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a body sets a name by its last statement only, so that it is what the condition saw before."""
    plain = isinstance(body[-1], ast.Assign | ast.AugAssign) or name not in assigned_in(body[-1:])
    return plain and name not in assigned_in(body[:-1])
