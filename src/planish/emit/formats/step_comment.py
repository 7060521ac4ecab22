"""The comment before a step in every text format: the operation, or why there is none, and its source line.

>>> from planish.ir.nest import Block
>>> from planish.raising.raised import Loops
>>> list(describe(Loops(Block(()), {"S0": "it is a recurrence"})))
['loops without a name', 'S0: it is a recurrence']
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Span
from planish.ir.index.simplify import simplify_block
from planish.ir.nest import Block, For
from planish.ir.text.printer import print_expr
from planish.ir.traverse import bindings
from planish.ir.types import F64
from planish.raising.expansion import inline, without_reshapes
from planish.raising.raised import Apply, Choice, Loops, Raised, Repeat, Step, arrays_of, walk_steps


def describe(step: Step, views: bool = False) -> Iterator[str]:
    """Lines of a comment; `views`: what the operands are is told, too."""
    match step:
        case Apply(operation=operation, span=span):
            yield f"{operation.name}{_place(span)}"
            if views:
                yield from (f"  {name}: {view}" for name, view in step.operands.items())
                given = [*step.sizes.items(), *step.scalars.items()]
                yield "  " + ", ".join(f"{name} = {print_expr(x)}" for name, x in given)
                yield from (f"  where {print_expr(x)}" for x in step.conditions)
        case Loops(reasons=reasons):
            yield "loops without a name"
            yield from (" ".join(f"{name}: {reason}".split()) for name, reason in reasons.items())
        case Choice(cases=cases):
            yield f"{len(cases)} ways to the same, the first that holds"
        case Repeat():
            return
        case _:
            assert_never(step)


def _place(span: Span | None) -> str:
    return f", line {span.line}" if span is not None else ""


def loops_of(step: Apply | Loops, raised: Raised) -> Block:
    """The loops that a step stands for, over the memory of reshaped arrays; PlanishError as of `named_loops_of`."""
    loops = named_loops_of(step, raised)
    return loops if isinstance(step, Loops) else simplify_block(without_reshapes(loops, raised))


def named_loops_of(step: Apply | Loops, raised: Raised) -> Block:
    """The loops that a step stands for, with reshaped arrays by their names; PlanishError E0840 where the elements of
    operands are of several types."""
    if isinstance(step, Loops):
        return step.body
    kernel, definition, arrays = raised.kernel, step.operation.definition, arrays_of(raised)
    held = {step.operands[x.name].array: x.name for x in definition.arrays if x.type == F64}
    if len({arrays[x].type for x in held}) > 1:
        names = ", ".join(f"`{x}` of {arrays[x].type}" for x in held)
        message = f"`{step.operation.name}` has operands of several types: {names}"
        raise PlanishError(Diagnostic("E0840", message, step.span, "convert the elements to one type beforehand"))
    taken = {*arrays, *kernel.sizes, *(x.name for x in kernel.scalars), *repeated(raised.steps)}
    return simplify_block(inline(step, arrays, taken))


def repeated(steps: tuple[Step, ...]) -> Iterator[str]:
    """The names that steps are repeated over."""
    for step in steps:
        match step:
            case Repeat():
                yield step.var
                yield from repeated(step.steps)
            case Choice(cases=cases):
                for case in cases:
                    yield from repeated(case.steps)
            case Apply() | Loops():
                pass
            case _:
                assert_never(step)


def head_of(step: Repeat) -> For:
    """The loop that repeats steps, with nothing in it."""
    return For(step.var, step.lower, step.upper, step.by, Block(()))


def names_in(raised: Raised) -> set[str]:
    """Every name that a text of the kernel may need."""
    kernel = raised.kernel
    out = {*kernel.sizes, *(x.name for x in kernel.scalars), *arrays_of(raised)}
    out |= set(repeated(raised.steps))
    out.update(x for step in walk_steps(raised.steps) for x in bindings(loops_of(step, raised)))
    return out

