"""A kernel becomes operations: first what is written as a definition is, then what means one; the rest stays loops.

>>> from planish.ir.text.parser import parse_kernel
>>> scan = parse_kernel("kernel scan(n; x: f64[n]) { for i in 1 .. n { x[i] += x[i - 1] } }")
>>> text = "kernel k(m; s: f64[], A: f32[m]) { for j in 0 .. m - 1 { A[j + 1] = A[j] + A[j + 1] } s[] = 2.0 }"
>>> raised = raise_kernel(parse_kernel(text), [Operation("scan", scan)])
>>> print(raised.steps[0].operation.name, raised.steps[0].operands["x"], raised.steps[0].statements)
scan A[0 + x0 | x0 < m] ('S0',)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planish.ir.nest import Alloc, Array, Assign, Block, Kernel, Let, Reduce, Stmt
from planish.ir.traverse import arrays_in, flatten, walk
from planish.poly.canonical.dense_dims import with_dense_dims
from planish.poly.canonical.scalar_promotion import settle
from planish.raising.match.contraction import CONVOLUTION
from planish.raising.match.operation_index import nest_for, prepare
from planish.raising.match.semantic_match import count_left, recognise_prepared, used_arrays
from planish.raising.match.syntactic_match import compare
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Raised, Step


def raise_kernel(kernel: Kernel, operations: Sequence[Operation], *, reassociate: bool = True) -> Raised:
    """The kernel as operations, the first one in `operations` that fits, products of two arrays without a name, and
    loops for the rest. Without `reassociate`, sums of floats keep their order.

    Raises NotAffineError where the kernel is not a static control part."""
    ready, rows = prepare(kernel, reassociate), with_dense_dims(prepare(kernel, reassociate, settled=True))
    if rows.arrays == ready.arrays:
        return _raise_settled(ready, operations, reassociate)
    # Arrays that are a line of numbers to the schedule may be matrices to those who wrote them.
    other = _raise_settled(rows, operations, reassociate)
    if not count_left(other.steps):
        return other
    found = _raise_settled(ready, operations, reassociate)
    return other if _done(other) > _done(found) else found


def _raise_settled(ready: Kernel, operations: Sequence[Operation], reassociate: bool) -> Raised:
    """As `raise_kernel`, for a kernel that is prepared, with its accumulators or without."""
    settled = settle(ready, reassociate)
    found = _raise(settled, operations, reassociate)
    if settled is ready or not count_left(found.steps):
        return found
    # What stays in loops had better keep its accumulators.
    other = _raise(ready, operations, reassociate)
    return found if _done(found) > _done(other) else other


def _done(raised: Raised) -> tuple[int, int]:
    """How many statements are operations outside of loops; of as many, it is better if convolutions have a name."""
    unnamed = sum(isinstance(x, Apply) and x.operation.name == CONVOLUTION for x in raised.steps)
    return _count(raised.kernel.body.body) - count_left(raised.steps), -unnamed


def _raise(ready: Kernel, operations: Sequence[Operation], reassociate: bool) -> Raised:
    """As `raise_kernel`, for a kernel that is prepared and stays as it is."""
    locals = tuple(x.array for x in ready.body.body if isinstance(x, Alloc))
    body = [x for x in flatten(ready.body.body) if not isinstance(x, Alloc)]
    whole = replace(ready, arrays=(*ready.arrays, *locals), body=Block(tuple(body)))
    runs = list(_runs(whole, operations, {x.name for x in locals}, reassociate))
    if not runs or any(isinstance(x, Let) for x in body):
        return recognise_prepared(ready, operations, reassociate)
    steps: list[Step] = []
    inner: list[Array] = []
    begin = 0
    for start, end, step in [*runs, (len(body), len(body), None)]:
        if start > begin:
            part = _part(whole, locals, begin, start)
            found = recognise_prepared(part, operations, reassociate, _count(body[:begin]))
            steps += found.steps
            inner += found.locals
        if step is not None:
            steps.append(step)
        begin = end
    used = used_arrays(tuple(steps))
    every = dict.fromkeys((*locals, *inner))
    return Raised(ready, tuple(steps), tuple(x for x in every if x.name in used))


def _part(kernel: Kernel, locals: Sequence[Array], begin: int, end: int) -> Kernel:
    """Some statements of a kernel; arrays that only they use are local to them."""
    body = kernel.body.body
    private = {x.name for x in locals} - _used([*body[:begin], *body[end:]])
    own = [Alloc(x) for x in locals if x.name in private]
    arrays = tuple(x for x in kernel.arrays if x.name not in private)
    return replace(kernel, arrays=arrays, body=Block((*own, *body[begin:end])))


def _runs(
    kernel: Kernel, operations: Sequence[Operation], locals: set[str], reassociate: bool
) -> Iterator[tuple[int, int, Apply]]:
    """Statements from one to another that are written as a definition is, the first that fits; none is in two."""
    body = kernel.body.body
    known = [(x, found) for x in operations if (found := nest_for(x, reassociate)) is not None]
    start = 0
    while start < len(body):
        for operation, definition in known:
            end = start + sum(not isinstance(x, Alloc) for x in flatten(definition.body.body))
            if start < end <= len(body):
                free = locals - _used([*body[:start], *body[end:]])
                alike = compare(definition, kernel, body[start:end], free)
                if alike is not None:
                    names = tuple(f"S{x}" for x in range(_count(body[:start]), _count(body[:end])))
                    span = next((x.span for x in body[start:end] if not isinstance(x, Block)), None)
                    yield start, end, Apply(
                        operation, alike.operands, alike.sizes, alike.scalars, alike.conditions, names, span
                    )
                    start = end - 1
                    break
        start += 1


def _count(body: Sequence[Stmt]) -> int:
    return sum(isinstance(x, Assign | Reduce) for stmt in body for x in walk(stmt))


def _used(body: Sequence[Stmt]) -> frozenset[str]:
    """The arrays in some statements."""
    return frozenset(arrays_in(Block(tuple(body))))
