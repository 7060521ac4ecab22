"""A raised kernel: operations applied to views of arrays, and the loops between them that have no name.

>>> from planish.ir.expr import index
>>> n = index("n")
>>> print(View("A", (index(0), n), ((1, 0), (0, -1)), (n, n)))
A[0 + x0, n - x1 | x0 < n, x1 < n]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from planish.core.span import Span
from planish.ir.expr import Binary, Expr, index
from planish.ir.nest import Array, Block, Kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import bindings
from planish.raising.operation import Operation


@dataclass(frozen=True, slots=True)
class View:
    """An operand: its element [x0, x1, ..] is the array's at subscripts `start[d] + sum over i of steps[i][d] * xi`.

    `start` has an expression over the kernel's sizes for each dimension of the array; `steps` has, for each dimension
    of the view, what one more of it adds to each subscript (a transposed view swaps them, a reversed one has -1, the
    diagonal (1, 1), a window of a convolution two dimensions that step through the same one); `shape` has the extents
    of the view.
    """

    array: str
    start: tuple[Expr, ...]
    steps: tuple[tuple[int, ...], ...]
    shape: tuple[Expr, ...]

    def __str__(self) -> str:
        subscripts = []
        for d, start in enumerate(self.start):
            text = print_expr(start)
            for i, step in enumerate(x[d] for x in self.steps):
                if step:
                    times = "" if abs(step) == 1 else f"{abs(step)} * "
                    text += f" {'+' if step > 0 else '-'} {times}x{i}"
            subscripts.append(text)
        extents = [f"x{i} < {print_expr(x)}" for i, x in enumerate(self.shape)]
        return f"{self.array}[{', '.join(subscripts)}{' | ' * bool(extents)}{', '.join(extents)}]"


def whole(array: Array) -> View:
    """All of an array whose extents are known."""
    assert None not in array.shape
    rank = len(array.shape)
    steps = tuple(tuple(int(i == d) for d in range(rank)) for i in range(rank))
    return View(array.name, (index(0),) * rank, steps, tuple(x for x in array.shape if x is not None))


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on operands: runs its definition with arrays, sizes and scalars of that name replaced.

    `scalars` may be any expressions that no loop changes. `statements` are those of the kernel's polyhedral view that
    it stands for, `conditions` what has to hold of the sizes (what is not proven is asked when it runs), `span` where
    they stood.
    """

    operation: Operation
    operands: Mapping[str, View]
    sizes: Mapping[str, Expr]
    scalars: Mapping[str, Expr] = field(default_factory=dict)
    conditions: tuple[Expr, ...] = ()
    statements: tuple[str, ...] = ()
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Loops:
    """A nest that has no name, and for each of its statements why (by the statement's name). `settled`: it is run as it
    is, and not scheduled any more."""

    body: Block
    reasons: Mapping[str, str] = field(default_factory=dict)
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """Steps that are run where a condition holds, over the sizes or what steps before have found; its arrays have names
    that no others have."""

    condition: Expr
    steps: tuple[Step, ...]
    locals: tuple[Array, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Ways to the same result, of which the first whose condition holds is run; the last one's is true."""

    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """How threads share out a range: in `number` parts at most, all of `width` values but the last one. The steps may
    use this name, and that of the `share`, which goes from 0 on. The first part is shorter by as many values as what
    is done `besides` in it is worth; all but the last one have as many at least."""

    number: int
    width: str
    share: str
    besides: int = 0

    def least(self, by: int) -> int:
        """The least width of a part that ends before the range does, where parts are multiples of `by`."""
        return self.besides or by


@dataclass(frozen=True, slots=True)
class Repeat:
    """Steps that are run in order for each value of `var` from `lower` to `upper` (exclusive), `by` apart; views,
    sizes and conditions in them may use it. With `shares` the values are those where a part begins, whose width is a
    multiple of `by`, and the order is any."""

    var: str
    lower: Expr
    upper: Expr
    by: int
    steps: tuple[Step, ...]
    shares: Shares | None = None


Step = Apply | Loops | Repeat | Choice


def repeated(extents: Mapping[str, Expr], steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps for all values of some variables below their extents, the first variable's loop outermost."""
    for var, extent in reversed(tuple(extents.items())):
        steps = (Repeat(var, index(0), extent, 1, steps),)
    return steps


def walk_steps(steps: tuple[Step, ...]) -> Iterator[Apply | Loops]:
    """The operations and nests among some steps, in those that are repeated and in those that are chosen between."""
    for step in steps:
        match step:
            case Repeat(steps=inner):
                yield from walk_steps(inner)
            case Choice(cases=cases):
                for case in cases:
                    yield from walk_steps(case.steps)
            case Apply() | Loops():
                yield step
            case _:
                assert_never(step)


@dataclass(frozen=True, slots=True)
class Reshape:
    """A second name for an array's memory, with another shape of as many elements in the same order."""

    array: Array
    of: str


@dataclass(frozen=True, slots=True)
class Raised:
    """A kernel as steps that are run in order: its parameters are those of `kernel`, `locals` are further arrays.

    A view's array may also be one of `reshapes`; `ways` names the ways in which its convolutions are done, where there
    are several.
    """

    kernel: Kernel
    steps: tuple[Step, ...]
    locals: tuple[Array, ...] = ()
    reshapes: tuple[Reshape, ...] = ()
    ways: frozenset[str] = frozenset()


def arrays_of(raised: Raised) -> dict[str, Array]:
    """Every array that steps may use, by name."""
    every = (*raised.kernel.arrays, *raised.locals, *case_locals(raised.steps), *(x.array for x in raised.reshapes))
    return {x.name: x for x in every}


def case_locals(steps: tuple[Step, ...]) -> Iterator[Array]:
    """The arrays of the cases in some steps."""
    for step in steps:
        match step:
            case Repeat(steps=inner):
                yield from case_locals(inner)
            case Choice(cases=cases):
                for case in cases:
                    yield from case.locals
                    yield from case_locals(case.steps)
            case Apply() | Loops():
                pass
            case _:
                assert_never(step)


def bound_names(steps: tuple[Step, ...]) -> Iterator[str]:
    """The names that steps bind, besides those in the definitions of operations."""
    for step in steps:
        match step:
            case Repeat(var=var, steps=inner, shares=shares):
                yield from (var,) if shares is None else (var, shares.width, shares.share)
                yield from bound_names(inner)
            case Loops(body=body):
                yield from bindings(body)
            case Choice(cases=cases):
                for case in cases:
                    yield from (x.name for x in case.locals)
                    yield from bound_names(case.steps)
            case Apply():
                pass
            case _:
                assert_never(step)


def shift(view: View, by: tuple[Expr, ...]) -> View:
    """The view that begins at element `by` of a view."""
    start = list(view.start)
    for x, step in zip(by, view.steps, strict=True):
        for d, factor in enumerate(step):
            if factor:
                start[d] = Binary("add", start[d], Binary("mul", index(factor), x))
    return View(view.array, tuple(start), view.steps, view.shape)
