"""Views as Python: slices where they are slices, windows and diagonals by their strides.

>>> from planish.ir.expr import index
>>> from planish.ir.nest import Array
>>> from planish.ir.types import F64
>>> from planish.raising.raised import View
>>> n = index("n")
>>> view = View("A", (index(0), sub(n, index(1))), ((0, -1), (2, 0)), (n, index(5)))
>>> found = slice_view(ViewAccess(("j", "i"), view), Array("A", F64, (index(10), n)), NameSpelling(), frozenset({"n"}))
>>> found.text, found.loops
('A[0:10:2, n - 1::-1][:, :n]', ('i', 'j'))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planish.emit.formats.numpy.array_expressions import NameSpelling, python_text
from planish.emit.formats.numpy.array_statements import ViewAccess
from planish.ir.expr import Expr, Var, index
from planish.ir.index.polynomial import add, constant, mul, polynomial, same, sub
from planish.ir.nest import Array


@dataclass(frozen=True, slots=True)
class Sliced:
    """The text of a view, and the loops that its dimensions are."""

    text: str
    loops: tuple[str, ...]


def slice_view(access: ViewAccess, array: Array, to: NameSpelling, positive: frozenset[str]) -> Sliced | None:
    """A view as a subscripted array, its dimensions in the order of the array's; None where it is no slice.

    `positive` are the names of which none is negative.
    """
    view = access.view
    parts: list[str] = []
    cuts: list[str] = []
    loops: list[str] = []
    if any(sum(step != 0 for step in steps) != 1 for steps in view.steps):
        return None
    for d, start in enumerate(view.start):
        moving = [i for i, steps in enumerate(view.steps) if steps[d]]
        if len(moving) > 1:
            return None
        if not moving:
            parts.append(python_text(start, to))
            continue
        loops.append(access.loops[moving[0]])
        step, extent = view.steps[moving[0]][d], view.shape[moving[0]]
        first = python_text(start, to)
        if step < 0:
            # The element before the first one would be the last one, counted from the end.
            parts.append(f"{first}::{step}")
            cuts.append(f":{count_text(extent, to, positive)}")
            continue
        cuts.append(":")
        bound = array.shape[d]
        if step == 1 and constant(start) == 0 and bound is not None and same(extent, bound):
            parts.append(":")
            continue
        end = count_text(add(start, mul(index(step), extent)), to, positive)
        parts.append(f"{first}:{end}" + (f":{step}" if step > 1 else ""))
    text = to.names.get(view.array, view.array)
    if not parts:
        return Sliced(f"{text}[()]", ())
    if any(x != ":" for x in parts):
        text += f"[{', '.join(parts)}]"
    if any(x != ":" for x in cuts):
        text += f"[{', '.join(cuts)}]"
    return Sliced(text, tuple(loops))


def count_text(count: Expr, to: NameSpelling, positive: frozenset[str]) -> str:
    """A number of elements, which is zero where the expression is negative."""
    return python_text(count, to) if is_positive(count, positive) else f"max(0, {python_text(count, to)})"


def is_positive(expr: Expr, positive: frozenset[str]) -> bool:
    """Whether an index expression is seen not to be negative: a sum of products of what is not."""
    return all(
        factor > 0 and all(isinstance(x, Var) and x.name in positive for x in monomial)
        for monomial, factor in polynomial(expr).items()
    )


def stride_view(access: ViewAccess, to: NameSpelling, positive: frozenset[str]) -> str:
    """A view by its strides in bytes: dimensions may share a dimension of the array, or step through two."""
    view = access.view
    name = to.names.get(view.array, view.array)
    windows = _windows(access, to, positive)
    if windows is not None:
        return windows
    strides = [_sum((step, f"{name}.strides[{d}]") for d, step in enumerate(steps)) for steps in view.steps]
    shape = [count_text(x, to, positive) for x in view.shape]
    reversed_ = [any(steps[d] < 0 for steps in view.steps) for d in range(len(view.start))]
    first = ", ".join(f"{python_text(x, to)}:" for x in view.start)
    base = name if all(constant(x) == 0 for x in view.start) and not any(reversed_) else f"{name}[{first}]"
    return f"np.lib.stride_tricks.as_strided({base}, ({_tuple(shape)}), ({_tuple(strides)}))"


def _windows(access: ViewAccess, to: NameSpelling, positive: frozenset[str]) -> str | None:
    """A view in which pairs of dimensions step through one dimension of the array together, the second by one: windows
    that slide along it. None where it is something else."""
    view = access.view
    name = to.names.get(view.array, view.array)
    parts: list[str] = []
    heads: list[str] = []
    outer: list[int] = []
    inner: list[tuple[int, int]] = []
    if any(sum(step != 0 for step in steps) != 1 for steps in view.steps):
        return None
    for d, start in enumerate(view.start):
        moving = [i for i, steps in enumerate(view.steps) if steps[d]]
        steps_ = [view.steps[i][d] for i in moving]
        if not moving or len(moving) > 2 or min(steps_) < 1 or (len(moving) == 2 and steps_[1] != 1):
            return None
        extent = view.shape[moving[0]]
        reach = mul(index(steps_[0]), sub(extent, index(1)))
        reach = add(reach, view.shape[moving[1]]) if len(moving) == 2 else add(reach, index(1))
        single = "" if len(moving) == 2 or steps_[0] == 1 else f":{steps_[0]}"
        parts.append(f"{python_text(start, to)}:{count_text(add(start, reach), to, positive)}{single}")
        heads.append(f"::{steps_[0]}" if len(moving) == 2 and steps_[0] > 1 else ":")
        outer.append(moving[0])
        inner += [(moving[1], d)] if len(moving) == 2 else []
    # There must be a window, and something in it.
    if not inner or not all(is_positive(sub(x, index(1)), positive) for x in view.shape):
        return None
    sizes = _tuple([python_text(view.shape[i], to) for i, _ in inner])
    axes = _tuple([str(d) for _, d in inner])
    text = f"np.lib.stride_tricks.sliding_window_view({name}[{', '.join(parts)}], ({sizes}), axis=({axes}))"
    if any(x != ":" for x in heads):
        text += f"[{', '.join(heads)}]"
    order = [*outer, *(i for i, _ in inner)]
    if order == list(range(len(order))):
        return text
    return f"{text}.transpose({', '.join(str(order.index(i)) for i in range(len(order)))})"


def _sum(terms: Iterable[tuple[int, str]]) -> str:
    out = ""
    for factor, text in terms:
        if factor:
            times = text if abs(factor) == 1 else f"{abs(factor)} * {text}"
            out += (f" {'+' if factor > 0 else '-'} " if out else "-" * (factor < 0)) + times
    return out or "0"


def _tuple(items: Sequence[str]) -> str:
    return ", ".join(items) + "," * (len(items) == 1)

