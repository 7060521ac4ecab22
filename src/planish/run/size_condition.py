"""Size conditions: a test on the sizes that tells calls in which a version is faster from the others.

>>> from planish.ir.text.printer import print_expr
>>> fast, slow = [{"n": 5000, "s": 1}, {"n": 800, "s": 2}], [{"n": 50, "s": 1}]
>>> print_expr(tell_apart([index("s"), index("n")], fast, slow))
'n >= 800'
>>> print_expr(tell_apart([index("s"), index("n")], fast, [{"n": 5000, "s": 4}]))
's <= 2'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from planish.frontend.c.translation_unit import CFunction
from planish.ir.expr import Compare, Expr, index
from planish.ir.index.evaluate import evaluate
from planish.ir.nest import Kernel
from planish.library.parallel.work_estimate import estimate
from planish.library.signal.fft_stages.stage_kernels import StageVersion
from planish.run.calls.signature import CallCase
from planish.run.sizes.known_sizes import KnownSizes, find_known
from planish.run.sizes.size_roles import find_roles
from planish.schedule.auto.plan import Version

Values = Mapping[str, int | float]


def find_limit(kernel: Kernel, known: KnownSizes, fast: Sequence[Values], slow: Sequence[Values]) -> Expr | None:
    """A condition on the sizes of a kernel that holds for the calls `fast` and for none of the calls `slow`, as wide as
    these say: on one of those that say how data lies, on the work that is to be done, or on another size; None where
    nothing tells them apart."""
    roles = find_roles(kernel, {})
    shapes = [x for x in kernel.sizes if roles[x] not in ("extent", "window")]
    extents = [x for x in kernel.sizes if x not in shapes]
    work = estimate(kernel.body) if len(extents) > 1 else None
    told = [index(x) for x in shapes] + ([work] if work is not None else []) + [index(x) for x in extents]
    return tell_apart(told, [_inner(known, x) for x in fast], [_inner(known, x) for x in slow])


def tell_apart(
    values: Sequence[Expr], fast: Sequence[Mapping[str, int]], slow: Sequence[Mapping[str, int]]
) -> Expr | None:
    """That one of some values is at least, or at most, what it is for the sizes `fast`, and so for none of `slow`."""
    for value in values:
        try:
            good, bad = [evaluate(value, x) for x in fast], [evaluate(value, x) for x in slow]
        except (KeyError, ValueError, ZeroDivisionError):
            continue
        if not good or not bad:
            return None
        if max(good) < min(bad):
            return Compare("le", value, index(max(good)))
        if min(good) > max(bad):
            return Compare("ge", value, index(min(good)))
    return None


def limit_candidate(
    candidate: Version, kernel: Kernel, known: KnownSizes, fast: Sequence[CallCase], slow: Sequence[CallCase]
) -> Version | None:
    """A version of a kernel that is only called for sizes like those of the calls `fast`, and not for those like the
    calls `slow`, where the original runs; None where nothing tells them apart."""
    limit = find_limit(kernel, known, [x.values for x in fast], [x.values for x in slow])
    return None if limit is None else replace(candidate, kernel=_assume(candidate.kernel, limit))


def limit_stages(
    version: StageVersion, function: CFunction, fast: Sequence[CallCase], slow: Sequence[CallCase]
) -> StageVersion | None:
    """As `limit_candidate`, of a version that does several iterations of the loop around a region: each of its kernels
    asks."""
    pieces = []
    for piece in version.pieces:
        known = find_known(piece.region, piece.scop, function)
        limit = find_limit(piece.scop.kernel, known, [x.values for x in fast], [x.values for x in slow])
        if limit is None:
            return None
        pieces.append(replace(piece, kernel=_assume(piece.kernel, limit)))
    return replace(version, pieces=tuple(pieces))


def _assume(kernel: Kernel, limit: Expr) -> Kernel:
    return replace(kernel, assumptions=(*kernel.assumptions, limit))


def _inner(known: KnownSizes, values: Values) -> dict[str, int]:
    """The kernel's sizes of a call, as far as they are known before it."""
    given = {s: int(values[c]) for s, c in known.sizes.items() if c in values}
    for size, value in known.computed.items():
        with suppress(KeyError, ValueError, ZeroDivisionError):
            given[size] = evaluate(value, given)
    return given
