"""Python statements as statements of a nest: loops over ranges, conditions, assignments.

A condition over loop variables and sizes becomes an `If`; one that depends on data guards each store below it.

>>> from planish.frontend.python.reader import read_python_source
>>> from planish.ir.text.printer import print_stmt
>>> text = '''
... def back(A: f64["n"]):
...     for i in range(len(A) - 2, -1, -1):
...         A[i] += A[i + 1]
... '''
>>> print(print_stmt(read_python_source(text, "<text>").kernel.body.body[0]))
for i in 0 .. n - 1 {
  A[n - i - 2] += A[n - i - 1]
}
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from planish.frontend.python.arithmetic import Untranslatable, choose
from planish.frontend.python.assignments import annotated, assign, augment, store
from planish.frontend.python.expressions import (
    affine_index,
    check_affine,
    condition_of,
    evaluate,
    is_static,
    opposite,
    outer_meaning,
)
from planish.frontend.python.state import PythonTranslation
from planish.frontend.python.while_loops import assigned_in, forget, hold, run_steps, run_while
from planish.ir.expr import Binary, Call, Const, Expr, Load, Var, index
from planish.ir.index.simplify import simplify
from planish.ir.nest import Assign, Block, For, If
from planish.ir.traverse import loads, variables, walk_expr
from planish.ir.types import BOOL, INDEX

_REFUSED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.Break: ("a break", "a kernel's loops run to their end"),
    ast.Continue: ("a continue", "put the rest of the loop under the opposite condition"),
    ast.With: ("a with statement", "do it around the call of the kernel"),
    ast.Try: ("a try statement", "do it around the call of the kernel"),
    ast.Raise: ("a raise", "check before the kernel is called"),
    ast.FunctionDef: ("a function in the function", "write its loops where they run"),
    ast.ClassDef: ("a class", "a kernel holds loops and assignments"),
    ast.Import: ("an import", "import at the top of the file"),
    ast.ImportFrom: ("an import", "import at the top of the file"),
    ast.Global: ("a global statement", "a kernel changes its array parameters only"),
    ast.Nonlocal: ("a nonlocal statement", "a kernel changes its array parameters only"),
    ast.Delete: ("a del", "leave it out"),
    ast.Match: ("a match statement", "write `if` and `elif`"),
}


def execute(body: Sequence[ast.stmt], cx: PythonTranslation) -> None:
    """Translate statements in order. Raises PlanishError at what has no place in a kernel."""
    for node in body:
        _execute(node, cx)


def _execute(node: ast.stmt, cx: PythonTranslation) -> None:
    match node:
        case ast.For():
            _loop(node, cx)
        case ast.While():
            run_while(node, cx, execute)
        case ast.If(test=test, body=then, orelse=otherwise):
            _branch(node, test, then, otherwise, cx)
        case ast.Assign():
            assign(node, cx)
        case ast.AugAssign():
            augment(node, cx)
        case ast.AnnAssign():
            annotated(node, cx)
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            pass
        case ast.Assert(test=test):
            _assume(node, test, cx)
        case ast.Return(value=value):
            _leave(node, value, cx)
        case ast.Expr(value=value):
            what = "a call" if isinstance(value, ast.Call) else "an expression"
            advice = "a kernel holds loops and assignments"
            cx.fail(node, "E0310", f"{what} whose result is dropped: `{ast.unparse(value)}`", advice)
        case _:
            what, advice = _REFUSED.get(type(node), (f"a statement of the form {type(node).__name__}", ""))
            cx.fail(node, "E0310", f"{what} has no place in a kernel", advice)


def _leave(node: ast.Return, value: ast.expr | None, cx: PythonTranslation) -> None:
    if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
        cx.fail(node, "E0335", "a kernel returns nothing", "write the result to an array parameter, e.g. `out: f32[1]`")
    if node is not cx.text.function.body[-1]:
        cx.fail(node, "E0335", "a return before the end", "put the rest under the opposite condition")


def _assume(node: ast.Assert, test: ast.expr, cx: PythonTranslation) -> None:
    if cx.iterators or cx.guards or node not in cx.text.function.body:
        cx.fail(node, "E0310", "an assert inside a loop or condition", "assert facts about sizes before the first loop")
    condition = condition_of(test, cx)
    cx.asserted.append((condition, ast.unparse(test)))
    if is_static(condition, cx):
        check_affine(condition, test, cx)
        cx.assumptions.append(condition)
    elif not _is_about_numbers(condition):
        cx.fail(test, "E0323", "an assert about data", "assert facts about sizes and whole numbers only")


def _is_about_numbers(condition: Expr) -> bool:
    """Whether only sizes and integers that are passed by value stand in a condition."""
    parts = [*walk_expr(condition)]
    whole = all(x.type.is_int for x in parts if isinstance(x, Var | Const) and x.type != BOOL)
    return whole and not any(isinstance(x, Load | Call) for x in parts)


def _loop(node: ast.For, cx: PythonTranslation) -> None:
    if not isinstance(node.target, ast.Name):
        cx.fail(node.target, "E0314", "a loop over several names", "write `for i in range(…)`")
    name = node.target.id
    if node.orelse:
        cx.fail(node.orelse[0], "E0310", "an else of a loop", "write it after the loop; it always runs")
    if cx.guards:
        cx.fail(node, "E0324", "a loop under a condition that depends on data", "put the condition into the loop")
    if name in cx.names.locals or name in cx.arrays or name in cx.scalars or name in cx.sizes:
        cx.fail(node.target, "E0317", f"the loop variable `{name}` is another name too", "use another name")
    if name in cx.iterators:
        cx.fail(node.target, "E0317", f"`{name}` is the variable of a loop around this one", "use another name")
    start, stop, step = _range(node.iter, cx)
    if step is None:
        run_steps(node, name, (start, stop), cx, execute)
        return
    changed = assigned_in(node.body)
    start, stop = (hold(x, changed, cx) for x in (start, stop))
    variable = Var(name, INDEX)
    lower, upper, value, stride = start, stop, simplify(variable), step
    if step < 0:
        # Downwards: count the iterations upwards, and step down from the start.
        distance = simplify(Binary("sub", start, stop))
        count = Binary("floordiv", Binary("add", distance, index(-step - 1)), index(-step))
        lower, upper, stride = index(0), simplify(count), 1
        value = simplify(Binary("sub", start, Binary("mul", index(-step), variable)))
    forget(changed, cx)
    assigned = set(cx.assigned)
    cx.iterators[name] = value
    with cx.inside() as body:
        execute(node.body, cx)
    del cx.iterators[name]
    forget(changed, cx)
    cx.assigned = assigned
    cx.out.append(For(name, lower, upper, stride, Block(tuple(body)), span=cx.text.span_of(node)))


def _range(node: ast.expr, cx: PythonTranslation) -> tuple[Expr, Expr, int | None]:
    """Start, stop and step; None for a step that is computed, where loops without a count are."""
    match node:
        case ast.Call(func=function, args=arguments, keywords=[]) if (
            outer_meaning(function, cx) is range and 1 <= len(arguments) <= 3
        ):
            pass
        case _:
            cx.fail(node, "E0314", f"a loop over `{ast.unparse(node)}`", "write `for i in range(…)`")
    for argument in arguments:
        if isinstance(argument, ast.Starred):
            cx.fail(argument, "E0314", "`*` in a range", "write the bounds one by one")
    bounds = [affine_index(x, "a bound of the loop", "E0315", cx) for x in arguments[:2]]
    start, stop = bounds if len(bounds) == 2 else (index(0), bounds[0])
    if len(arguments) < 3:
        return start, stop, 1
    step = affine_index(arguments[2], "the step of the loop", "E0316", cx)
    if not isinstance(step, Const) and cx.uncounted:
        return start, stop, None
    if not isinstance(step, Const):
        cx.fail(arguments[2], "E0316", "the step of the loop is not a constant", "write it as a number")
    if step.value == 0:
        cx.fail(arguments[2], "E0316", "the step of the loop is zero")
    return start, stop, int(step.value)


def _branch(
    node: ast.If, test: ast.expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt], cx: PythonTranslation
) -> None:
    condition = condition_of(test, cx)
    if isinstance(condition, Const):
        execute(then if condition.value else otherwise, cx)
    elif cx.uncounted:
        _branch_on_sizes(node, condition, then, otherwise, cx)
    elif is_static(condition, cx):
        check_affine(condition, test, cx)
        if cx.guards:
            _guard(node, condition, then, otherwise, cx)
        else:
            _branch_on_sizes(node, condition, then, otherwise, cx)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and _starts_static(test, cx):
        # `if i > 0 and A[i - 1] > x`: the first part decides whether the second is looked at.
        first, *rest = test.values
        last = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(ast.And(), rest), test)
        inner = ast.copy_location(ast.If(last, list(then), list(otherwise)), node)
        _branch(node, first, [inner], otherwise, cx)
    else:
        _branch_on_data(node, condition, then, otherwise, cx)


def _starts_static(test: ast.BoolOp, cx: PythonTranslation) -> bool:
    return is_static(condition_of(test.values[0], cx), cx)


def _branch_on_sizes(
    node: ast.If, condition: Expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt], cx: PythonTranslation
) -> None:
    values, assigned = dict(cx.values), set(cx.assigned)
    with cx.inside() as first:
        execute(then, cx)
    after_values, after_assigned = cx.values, cx.assigned
    cx.values, cx.assigned = values, assigned
    with cx.inside() as second:
        execute(otherwise, cx)
    cx.values = {n: x for n, x in cx.values.items() if after_values.get(n) == x}
    cx.assigned &= after_assigned
    cx.out.append(If(condition, Block(tuple(first)), Block(tuple(second)), cx.text.span_of(node)))


def _branch_on_data(
    node: ast.If, condition: Expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt], cx: PythonTranslation
) -> None:
    pair = _same_target(then, otherwise)
    if pair is not None and not (isinstance(pair[0], ast.Name) and pair[0].id in cx.symbolic):
        target, a, b = pair
        try:
            value = choose(condition, evaluate(a, cx), evaluate(b, cx))
        except Untranslatable as reason:
            cx.fail(node, reason.code, reason.message, reason.advice)
        store(target, value, then[0], cx)
        return
    _guard(node, condition, then, otherwise, cx)


def _guard(
    node: ast.If, condition: Expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt], cx: PythonTranslation
) -> None:
    """Run both branches with their stores guarded."""
    if _may_change(condition, [*then, *otherwise]):
        # What the branches store must not change the condition between two uses of it.
        cell = cx.temporary(BOOL)
        outer = cx.guard()
        whole = condition if outer is None else Binary("and", outer, condition)
        cx.out.append(Assign(cell, (), whole, cx.text.head_of(node)))
        condition = Load(cell, (), BOOL)
    guards, assigned = list(cx.guards), set(cx.assigned)
    after: list[set[str]] = []
    before = dict(cx.values)
    kept = set(before)
    for branch, guard in ((then, condition), (otherwise, opposite(condition))):
        cx.guards, cx.assigned = [*guards, guard], set(assigned)
        cx.values = dict(before)
        execute(branch, cx)
        kept &= {x for x in before if cx.values.get(x) == before[x]}
        after.append(cx.assigned)
    cx.guards = guards
    cx.assigned = after[0] & after[1]
    # What a branch sets anew is not one known value afterwards; where it is read, it becomes a cell.
    cx.values = {x: before[x] for x in kept}


def _may_change(condition: Expr, branches: Sequence[ast.stmt]) -> bool:
    """Whether a store in the branches, other than the only one, reaches what the condition reads."""
    match [*branches]:
        case [ast.Assign(targets=[ast.Name() | ast.Subscript()]) | ast.AugAssign() | ast.AnnAssign()]:
            return False
        case _:
            pass
    read = {x.array for x in loads(condition)} | variables(condition)
    written: set[str] = set()
    for stmt in branches:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name | ast.Subscript) and isinstance(node.ctx, ast.Store):
                base: ast.expr = node
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    written.add(base.id)
    return bool(read & written)


def _same_target(then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Target and both values, where the branches are one assignment each to one and the same place."""
    match [*then], [*otherwise]:
        case [ast.Assign(targets=[a], value=x)], [ast.Assign(targets=[b], value=y)]:
            if isinstance(a, ast.Name | ast.Subscript) and ast.unparse(a) == ast.unparse(b):
                return a, x, y
            return None
        case _:
            return None
