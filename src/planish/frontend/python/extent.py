"""Bounds of accesses: one that is never inside its array is an error, one that depends on sizes is an assumption.

Python counts negative subscripts from the end and checks the others when it runs; a kernel does neither.

>>> from planish.frontend.python.reader import read_python_source
>>> from planish.ir.text.printer import print_expr
>>> text = '''
... def copy(A: f32["n"], B: f32["m"]):
...     for i in range(len(A)):
...         B[i] = A[i]
... '''
>>> [print_expr(x) for x in read_python_source(text, "<text>").kernel.assumptions]
['m >= n']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from planish.core.names import take_name
from planish.core.span import Span
from planish.frontend.python.affinity import find_condition_fault, find_fault
from planish.frontend.python.text import FunctionText
from planish.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Select, Unary, Var, index, type_of
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.text.printer import print_expr
from planish.ir.traverse import used_names, variables
from planish.ir.types import BOOL
from planish.poly.isl.coalesce import coalesce
from planish.poly.isl.expression import TRUE, set_condition
from planish.poly.scop.extents import subscript_ends, valid_sizes
from planish.poly.scop.extraction import Scop, Statement, extract_scop
from planish.poly.scop.subscript_range import bound_subscript, forward_conditions

Places = Mapping[tuple[str, tuple[Expr, ...]], Span]


@dataclass(frozen=True, slots=True)
class _Reach:
    """An access, and the conditions on loop variables and sizes within its statement under which it happens."""

    array: str
    index: tuple[Expr, ...]
    conditions: tuple[Expr, ...] = ()


def bound_accesses(kernel: Kernel, places: Places, text: FunctionText) -> Kernel:
    """The kernel with assumptions under which no access leaves its array.

    Raises PlanishError E0322 where an access leaves it for all sizes that let it run. Accesses that depend on data
    (in a branch of a choice) or whose subscripts are not affine are left alone.
    """
    # A shape that an array has is never negative, which spares assumptions about empty loops.
    extents = dict.fromkeys(x for a in kernel.arrays for x in a.shape if x is not None and find_fault(x) is None)
    shapes = tuple(Compare("ge", x, index(0)) for x in extents if not isinstance(x, Const))
    kernel = replace(kernel, assumptions=(*kernel.assumptions, *forward_conditions(kernel)))
    reader = Array(take_name("reach", set(used_names(kernel))), BOOL, ())
    skeleton = replace(
        kernel, body=_skeleton(kernel.body, kernel, places, reader), arrays=(*kernel.arrays, reader),
        assumptions=(*kernel.assumptions, *shapes),
    )  # fmt: skip
    scop = extract_scop(skeleton)
    kernel = replace(kernel, assumptions=(*kernel.assumptions, *_inexact_conditions(scop)))
    valid = None
    for statement in scop.statements:
        alone = replace(scop, statements=(statement,))
        good = valid_sizes(alone)
        runs = statement.domain.params()
        if runs.is_subset(good):
            continue
        if runs.intersect(good).is_empty():
            _refuse(alone, statement, text)
        kept = coalesce(runs.complement().union(good))
        valid = kept if valid is None else coalesce(valid.intersect(kept))
    if valid is None:
        return kernel
    needed = coalesce(valid.intersect(scop.context)).gist(scop.context)
    condition = simplify(set_condition(needed, ()))
    return replace(kernel, assumptions=(*kernel.assumptions, condition))


def _refuse(scop: Scop, statement: Statement, text: FunctionText) -> None:
    """Say on which side the access leaves the array."""
    stmt, name = statement.stmt, statement.accesses[1].array
    loose = tuple(replace(a, shape=tuple(None for _ in a.shape)) if a.name == name else a for a in scop.kernel.arrays)
    below = valid_sizes(replace(scop, kernel=replace(scop.kernel, arrays=loose)))
    extents = ", ".join(print_expr(x) if x is not None else "?" for x in scop.kernel.array(name).shape)
    if statement.domain.params().intersect(below).is_empty():
        message = f"a subscript of `{name}` is negative"
        advice = "negative subscripts do not count from the end in a kernel; start the loop later"
    else:
        message = f"the access leaves `{name}`, whose extents are {extents}"
        advice = "change the bounds of the loop, or the shape in the annotation"
    text.fail(stmt.span or text.head_of(text.function), "E0322", message, advice)


def _inexact_conditions(scop: Scop) -> tuple[Expr, ...]:
    """Conditions under which no subscript that is not affine leaves its array."""
    out: dict[Expr, None] = {}
    for statement in scop.statements:
        runs = set_condition(statement.domain.params().gist(scop.context), ())
        for access in statement.accesses:
            for dimension in sorted(access.inexact):
                low, high = subscript_ends(scop, statement, access, dimension)
                extent = scop.kernel.array(access.array).shape[dimension]
                inside = [Compare("ge", low, index(0)), *([] if extent is None else [Compare("lt", high, extent)])]
                out |= {simplify(Binary("or", Unary("not", runs), x)): None for x in inside}
    return tuple(x for x in out if x != TRUE)


def _skeleton(block: Block, kernel: Kernel, places: Places, reader: Array) -> Block:
    """The same loops around statements that read one element each, for `reader`."""
    arrays = {a.name for a in kernel.arrays}
    out: list[Stmt] = []
    for stmt in block.body:
        match stmt:
            case For(body=body):
                out.append(replace(stmt, body=_skeleton(body, kernel, places, reader)))
            case If(then=then, otherwise=otherwise):
                first, second = (_skeleton(x, kernel, places, reader) for x in (then, otherwise))
                out.append(replace(stmt, then=first, otherwise=second))
            case Block():
                out.append(_skeleton(stmt, kernel, places, reader))
            case Assign(array=array, index=index, value=value) | Reduce(array=array, index=index, value=value):
                reached = [_Reach(array, index), *_reached(value, (), kernel)]
                for reach in dict.fromkeys(reached):
                    if reach.array in arrays:
                        span = places.get((reach.array, reach.index), stmt.span)
                        out += _statement(reach, kernel.array(reach.array), reader, span)
            case Alloc() | Let():
                pass
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; loops without a count hold nests of their own")
            case _:
                assert_never(stmt)
    return Block(tuple(out))


def _statement(reach: _Reach, array: Array, reader: Array, span: Span | None) -> list[Stmt]:
    """A read of the element in its conditions; nothing where nothing says how far a subscript goes."""
    if any(bound_subscript(x, {}, frozenset()) is None for x in reach.index):
        return []
    read = Load(reach.array, reach.index, array.type)
    out: Stmt = Assign(reader.name, (), Compare("eq", read, read), span)
    for condition in reversed(reach.conditions):
        out = If(condition, Block((out,)))
    return [out]


def _reached(expr: Expr, conditions: tuple[Expr, ...], kernel: Kernel) -> list[_Reach]:
    """The loads that are certain to happen under conditions on loop variables and sizes."""
    match expr:
        case Const() | Var():
            return []
        case Load(array=array, index=index):
            return [_Reach(array, index, conditions)]
        case Unary(operand=x) | Cast(operand=x):
            return _reached(x, conditions, kernel)
        case Binary(op="and" | "or" as op, left=a, right=b) if type_of(a) == BOOL and _is_condition(a, kernel):
            decided = a if op == "and" else simplify(Unary("not", a))
            return [*_reached(a, conditions, kernel), *_reached(b, (*conditions, decided), kernel)]
        case Binary(op="and" | "or", left=a) if type_of(a) == BOOL:
            return _reached(a, conditions, kernel)
        case Binary(left=a, right=b) | Compare(left=a, right=b):
            return [*_reached(a, conditions, kernel), *_reached(b, conditions, kernel)]
        case Select(condition=c, then=a, otherwise=b) if _is_condition(c, kernel):
            no = simplify(Unary("not", c))
            return [*_reached(a, (*conditions, c), kernel), *_reached(b, (*conditions, no), kernel)]
        case Select(condition=c):
            return _reached(c, conditions, kernel)
        case Call(arguments=arguments):
            return [y for x in arguments for y in _reached(x, conditions, kernel)]
        case _:
            assert_never(expr)


def _is_condition(expr: Expr, kernel: Kernel) -> bool:
    """Whether the polyhedral model holds the condition."""
    if variables(expr) & {x.name for x in kernel.scalars}:
        return False
    return find_condition_fault(expr) is None
