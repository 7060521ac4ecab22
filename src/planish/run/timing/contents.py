"""What arrays hold in calls that are timed: one set of contents, or so many in turn that no processor learns them.

Processors foresee which way branches go that they have seen before: a function that is called again and again on the
same data never goes wrong where its user's does.

>>> from planish.ir.types import F32, I32
>>> from planish.run.calls.signature import Parameter
>>> s = Signature("f", (Parameter("n", I32, "value"), Parameter("x", F32, "array")), None)
>>> case = CallCase({"n": 4096}, {"x": 4096}, choosing=True)
>>> count_sets(s, case), count_sets(s, replace(case, choosing=False))
(32, 1)
"""

from __future__ import annotations

import mmap
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from planish.core.forked_process import fork, wait
from planish.run.calls.loaded_library import Arguments, Drawn, Library, draw
from planish.run.calls.signature import CallCase, Distribution, Signature
from planish.run.oracle.tolerance import finite
from planish.run.sizes.random_arguments import AUTO

UNLEARNT = 1 << 17
"""So many elements in turn are more than a processor remembers of branches."""
MOST_SETS, MOST_BYTES = 1024, 16 << 20
"""More sets than this take too long to draw; larger ones leave the caches that smaller calls have their arrays in."""
LONG_ENOUGH = 4e-3
"""Seconds in which more branches are taken than a processor remembers."""
TRIAL_SECONDS = 3.0
"""For calls with contents that may not suit the function."""


def count_sets(signature: Signature, case: CallCase) -> int:
    """How many sets of contents take turns in a call that is timed."""
    elements = [case.elements.get(p.name, 0) for p in signature.arrays]
    if not case.choosing or not any(elements):
        return 1
    room = MOST_BYTES // max(1, sum(n * p.type.size for n, p in zip(elements, signature.arrays, strict=True)))
    return max(1, min(-(-UNLEARNT // max(elements)), MOST_SETS, room))


def settle(
    signature: Signature, case: CallCase, library: Library, seconds: float
) -> tuple[tuple[Drawn, ...], Arguments]:
    """Contents for which a library gives finite results, as the oracle would choose them, with memory for the arrays of
    a call. Where they decide which way it goes floats have both signs, unless it does not come through that; what takes
    more of the processor's time than `seconds` (0: any) ends this process."""
    chosen = case.distribution
    # Of odd seeds, halves of arrays are alike.
    seeds = [2 * (case.seed + k) for k in range(count_sets(signature, case))] if case.choosing else [case.seed]

    def drawn(distribution: Distribution) -> Iterator[Drawn]:
        return (draw(signature, replace(case, seed=x), distribution) for x in seeds)

    floats = any(p.type.is_float for p in signature.parameters)
    if chosen == "auto" and case.choosing and floats:
        sets = _usable(signature, case, library, tuple(drawn("signed")))
        if sets:
            return sets, Arguments(signature, sets[0], case.placement)
    if chosen == "auto":
        chosen = _first_finite(signature, case, library, (next(drawn(x)) for x in AUTO), seconds)
    first = next(drawn(chosen))
    sets = _usable(signature, case, library, tuple(drawn(chosen))) if len(seeds) > 1 else ()
    return sets or (first,), Arguments(signature, first, case.placement)


def _first_finite(
    signature: Signature, case: CallCase, library: Library, drafts: Iterable[Drawn], seconds: float
) -> Distribution:
    for distribution, drawn in zip(AUTO, drafts, strict=False):
        arguments = Arguments(signature, drawn, case.placement)
        with limited(seconds):
            library.call(arguments)
        if _is_finite(signature, arguments):
            return distribution
    return AUTO[0]


def _is_finite(signature: Signature, arguments: Arguments) -> bool:
    value, kind = arguments.result(), signature.outcome
    returned = value is None or kind is None or finite(value, kind)
    return returned and all(finite(arguments.views[p.name], p.type) for p in signature.arrays)


def _usable(signature: Signature, case: CallCase, library: Library, sets: Sequence[Drawn]) -> tuple[Drawn, ...]:
    """The contents, as many as take some time together, for which a library gives finite results; none where it does
    not for some of these. They are tried in a process of its own: nobody promised that it comes to its end."""
    tried = mmap.mmap(-1, mmap.PAGESIZE)
    child = fork()
    if child:
        return tuple(sets[: int.from_bytes(tried[:8], "little")]) if wait(child) == 0 else ()
    try:
        arguments, spent = Arguments(signature, sets[0], case.placement), 0.0
        with limited(TRIAL_SECONDS):
            for number, drawn in enumerate(sets, 1):
                arguments.fill(drawn.arrays)
                started = time.process_time()
                library.call(arguments)
                spent += time.process_time() - started
                if not _is_finite(signature, arguments):
                    os._exit(1)
                tried[:8] = number.to_bytes(8, "little")
                if spent > LONG_ENOUGH:
                    break
        os._exit(0)
    finally:
        os._exit(1)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """What takes more of the processor's time than it may (0: any) ends this process."""
    if seconds:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    yield
    if seconds:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
