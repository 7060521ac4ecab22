"""The child's side of the oracle: differential runs of reference and candidate on equal arguments.

    value = compare_cases(Comparison(reference, candidate, signature, cases, Tolerance()), report)
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from planish.ir.types import Type
from planish.run.calls.loaded_library import Arguments, Drawn, Library, LibraryError, call_widely, draw
from planish.run.calls.signature import CHANGED, MOST_NESTS, CallCase, Distribution, Signature
from planish.run.oracle.tolerance import EXACTNESS, LEAST_EXACT, Difference, Tolerance, difference, distance, finite
from planish.run.processes.child import Report
from planish.run.sizes.random_arguments import AUTO, epsilon, from_memory, least_normal, perturbed
from planish.run.toolchains.emulated import EmulatedLibrary, open_library

_PATIENCE = 50.0  # a candidate that is this much slower than the reference counts as endless
LEAST_SECONDS = 5.0
_ELEMENTS_A_SECOND = 20_000
_EXACT_PASS_SECONDS = 0.3
_CONDITION_SLACK = 8.0
_MORE_SAMPLES, _FAR = 3, 7919
"""Other data with which the reference is compared with a more exact one, and how far apart their seeds are."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The request: two libraries with entries, and what to call them with; tolerance None asks for the same bits.

    `patience`: the seconds that a call of the reference may take, besides some for its elements; 0 is no bound.
    `least_seconds`: those that one of the candidate may take however fast the reference is. `emulator`: the command
    that calls libraries for another processor. `exact`: a library of the reference in which numbers are wider
    (`planish.run.oracle.long_double`), which judges where the tolerance does not hold.
    """

    reference: str
    candidate: str
    signature: Signature
    cases: tuple[CallCase, ...]
    tolerance: Tolerance | None
    patience: float = 0.0
    emulator: tuple[str, ...] = ()
    exact: str = ""
    least_seconds: float = LEAST_SECONDS


@dataclass(frozen=True, slots=True)
class _State:
    """What a call left behind: the arrays, and the value under the name "return"."""

    arrays: Mapping[str, npt.NDArray[Any]]
    seconds: float
    rounded: bool
    effect: bool
    """Whether anything changed, or another number than 0 was returned."""
    nests: int
    """The bits of the nests that ran, where there was an effect."""


@dataclass(frozen=True, slots=True)
class _Found:
    worst: Difference
    """Over all arrays, of the greatest relative difference."""
    array: str
    """The array with the first element out of bounds, or ""."""
    place: int
    absolute: float


_Sides = tuple[Library | EmulatedLibrary, Library | EmulatedLibrary]


class _Stop(Exception):
    """The comparison is decided: carries the answer."""

    def __init__(self, status: str, message: str, where: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.answer = {"status": status, "message": message, "where": where}


def compare_cases(request: Comparison, report: Report) -> dict[str, Any]:
    """Runs every case; the answer has status, message, where, cases_run, weak_cases and the worst differences."""
    tally: dict[str, Any] = {"cases_run": 0, "weak_cases": [], "worst_absolute": 0.0, "worst_relative": 0.0}
    tally |= {"ran": [0] * MOST_NESTS, "effects": 0}
    try:
        sides = (_load(request.reference, request, "reference"), _load(request.candidate, request, "candidate"))
        for number in range(len(request.cases)):
            if not _compare_case(request, number, sides, report, tally):
                tally["weak_cases"].append(number)
            tally["cases_run"] += 1
    except _Stop as stop:
        return {**tally, **stop.answer}
    return {**tally, "status": "ok", "message": "", "where": None}


def survey_cases(request: Comparison, first: int, report: Report) -> Iterator[tuple[int, int, bool]]:
    """Calls the reference with the cases from the `first` on: of each its number, the bits of the nests that ran, and
    whether there was an effect. LibraryError where it cannot be called."""
    library = open_library(request.reference, request.signature, request.emulator)
    for number, case in enumerate(request.cases[first:], first):
        drawn = draw(request.signature, case, "uniform")
        try:
            state = _run(library, "reference", request, number, drawn, report, None)
        except _Stop:
            yield number, 0, False
        else:
            yield number, state.nests, state.effect


def _load(path: str, request: Comparison, side: str) -> Library | EmulatedLibrary:
    try:
        return open_library(path, request.signature, request.emulator)
    except LibraryError as error:
        status = "not comparable" if side == "reference" else "crashed"
        raise _Stop(status, f"the {side} cannot be called: {error}") from error


def _compare_case(
    request: Comparison, number: int, sides: _Sides, report: Report, tally: dict[str, Any]
) -> bool:
    """Whether the case is conclusive; raises _Stop on a real difference."""
    case, signature = request.cases[number], request.signature
    floats = any(type.is_float for type in (*(p.type for p in signature.parameters), signature.outcome) if type)
    distributions = AUTO if case.distribution == "auto" and floats else (case.distribution,)
    quick = True
    drafts = _drafts(request, number, sides[0], distributions, report)
    for index, (distribution, drawn, wanted) in enumerate(drafts):
        quick = wanted.seconds < _EXACT_PASS_SECONDS
        is_finite = all(finite(wanted.arrays[name], type) for name, type in _outputs(signature))
        if not is_finite and index + 1 < len(distributions):
            continue
        got = _run(sides[1], "candidate", request, number, drawn, report, wanted.seconds)
        found = _differences(request, case, drawn, wanted, got)
        if found.array:
            if request.tolerance is None:
                raise _mismatch(request, number, wanted, got, found)
            more = (request, number, sides[0], drawn, wanted, got, distribution, report)
            if is_finite and request.exact and _is_as_exact(*more):
                pass
            elif not is_finite or (
                # Where neither side rounded anything, numbers at which a comparison turns are no excuse.
                (wanted.rounded or got.rounded)
                and _ill_conditioned(request, number, sides[0], drawn, wanted, found, report)
            ):
                continue
            else:
                raise _mismatch(request, number, wanted, got, found)
        tally["worst_absolute"] = max(tally["worst_absolute"], found.absolute)
        tally["worst_relative"] = max(tally["worst_relative"], found.worst.relative)
        tally["ran"] = [n + (got.nests >> bit & 1) for bit, n in enumerate(tally["ran"])]
        tally["effects"] += got.effect
        if not is_finite:
            return False
        break
    else:
        return False
    if floats and request.tolerance is not None and case.distribution == "auto" and quick:
        _compare_exactly(request, number, sides, report)
    return True


def _drafts(
    request: Comparison, number: int, reference: Library | EmulatedLibrary, distributions: tuple[Distribution, ...],
    report: Report,
) -> Iterator[tuple[Distribution, Drawn, _State]]:  # fmt: skip
    """Arguments by each distribution, and what the reference makes of them. Those without an effect come last: positive
    numbers tell nothing of `x[i] = x[i] > 0 ? x[i] : 0`."""
    idle: list[tuple[Distribution, Drawn, _State]] = []
    for distribution in distributions:
        drawn = draw(request.signature, request.cases[number], distribution)
        wanted = _run(reference, "reference", request, number, drawn, report, None)
        if wanted.effect:
            yield distribution, drawn, wanted
        else:
            idle.append((distribution, drawn, wanted))
    yield from idle


def _compare_exactly(request: Comparison, number: int, sides: _Sides, report: Report) -> None:
    """On small whole numbers: where neither side rounded anything, any difference at all is a wrong result."""
    drawn = draw(request.signature, request.cases[number], "whole")
    wanted = _run(sides[0], "reference", request, number, drawn, report, None)
    if wanted.rounded or not all(finite(wanted.arrays[name], type) for name, type in _outputs(request.signature)):
        return
    got = _run(sides[1], "candidate", request, number, drawn, report, wanted.seconds)
    if got.rounded:
        return
    strict = Comparison(request.reference, request.candidate, request.signature, request.cases, Tolerance(ulps=0.0))
    found = _differences(strict, request.cases[number], drawn, wanted, got)
    if found.array:
        raise _mismatch(request, number, wanted, got, found)


def _is_as_exact(
    request: Comparison, number: int, reference: Library | EmulatedLibrary, drawn: Drawn, wanted: _State, got: _State,
    distribution: Distribution, report: Report,
) -> bool:  # fmt: skip
    """Whether floats are as near to what wider numbers give as those of the reference are, or nearly so.

    How near the reference is, other data tell as well, since it may be nearer by chance. Where it is farther than its
    results' own type would have it, it computes in a less exact one, whose rounding a version has, too.
    """
    assert request.tolerance is not None
    case, signature = request.cases[number], request.signature
    exact = _call_exactly(request, number, drawn, wanted.seconds, report)
    if exact is None:
        return False
    samples = [(exact, wanted, drawn)]
    for k in range(1, _MORE_SAMPLES + 1):
        other = draw(signature, replace(case, seed=case.seed + _FAR * k), distribution)
        left = _run(reference, "reference", request, number, other, report, None)
        if (more := _call_exactly(request, number, other, left.seconds, report)) is not None:
            samples.append((more, left, other))
    known = (*(p.type for p in signature.parameters), signature.outcome)
    coarse = max((x for x in known if x is not None and x.is_float), key=epsilon)
    most = min(LEAST_EXACT, request.tolerance.ulps * epsilon(coarse) * _terms(case))
    for name, type in _outputs(signature):
        if not type.is_float:
            if not np.array_equal(wanted.arrays[name], got.arrays[name]):
                return False
            continue
        bound = request.tolerance.bound(type, _size(case), name)
        own = max(distance(x[name], y.arrays[name], type, z.arrays.get(name)) for x, y, z in samples)
        if own > bound:
            bound = max(request.tolerance.bound(coarse, _size(case), name), EXACTNESS * own)
        if own > most or distance(exact[name], got.arrays[name], type, drawn.arrays.get(name)) > bound:
            return False
    return True


def _call_exactly(
    request: Comparison, number: int, drawn: Drawn, seconds: float, report: Report
) -> dict[str, npt.NDArray[Any]] | None:
    """What the reference gives in wider numbers, where it took so many seconds in its own."""
    report(f"exact\t{number}")
    signal.setitimer(signal.ITIMER_REAL, max(request.least_seconds, _PATIENCE * seconds))
    try:
        return call_widely(request.exact, request.signature, drawn, request.cases[number].absent)
    except LibraryError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _size(case: CallCase) -> int:
    """The largest size of a call."""
    return max([1, *(v for v in case.values.values() if isinstance(v, int))])


def _terms(case: CallCase) -> int:
    """How many terms the longest sum of a call has at most: arrays of fixed extents have sizes that no value tells."""
    return max([_size(case), *case.elements.values()])


def _ill_conditioned(
    request: Comparison,
    number: int,
    reference: Library | EmulatedLibrary,
    drawn: Drawn,
    wanted: _State,
    found: _Found,
    report: Report,
) -> bool:
    """Whether the reference itself moves that far when its floats move by a unit in the last place.

    Such arguments say nothing about the candidate; the next distribution is to decide.
    """
    types = {p.name: p.type for p in request.signature.parameters}
    moved = Drawn(
        {name: perturbed(values, types[name], 2 * number + 1) for name, values in drawn.arrays.items()}, drawn.scalars
    )
    again = _run(reference, "reference", request, number, moved, report, None)
    type = dict(_outputs(request.signature))[found.array]
    before = drawn.arrays.get(found.array)
    shift = difference(wanted.arrays[found.array], again.arrays[found.array], type, 0.0, before)
    return shift.relative * _CONDITION_SLACK >= found.worst.relative


def _run(
    library: Library | EmulatedLibrary,
    side: str,
    request: Comparison,
    number: int,
    drawn: Drawn,
    report: Report,
    expected: float | None,
) -> _State:
    case = request.cases[number]
    arguments = Arguments(request.signature, drawn, case.placement, case.absent)
    report(f"{side}\t{number}")
    # The default action of the signal ends this process; Python could not act inside a C function.
    signal.setitimer(signal.ITIMER_REAL, _patience(request, case, expected))
    started = time.perf_counter()
    rounded = library.call(arguments)
    seconds = time.perf_counter() - started
    signal.setitimer(signal.ITIMER_REAL, 0)
    spilled = arguments.spilled()
    if spilled:
        where = f"writes outside of the array {spilled} ({case.describe(request.signature)})"
        if side == "reference":
            raise _Stop("not comparable", f"the reference {where}")
        raise _Stop("mismatch", f"it {where}", _place(spilled, -1, None, None, number))
    arrays: dict[str, npt.NDArray[Any]] = dict(arguments.views)
    value = arguments.result()
    if value is not None:
        arrays["return"] = value
    effect = _has_effect(request.signature, drawn, arrays, arguments.entered())
    return _State(arrays, seconds, rounded, effect, arguments.entered() if effect else 0)


def _has_effect(
    signature: Signature, drawn: Drawn, arrays: Mapping[str, npt.NDArray[Any]], entered: int
) -> bool:
    """Whether a call left anything changed, or gave a value that is not all zeros, nor below the least normal number:
    what is left there of a product tells nothing of its factors."""
    if entered >> CHANGED & 1:
        return True
    types = dict(_outputs(signature))
    for name, array in arrays.items():
        before = drawn.arrays.get(name)
        if before is None or (name in signature.outcomes and name.startswith("return.")):
            if _is_a_number_but_zero(array, types[name]):
                return True
        elif name not in signature.outcomes and not np.array_equal(array.view(np.uint8), before.view(np.uint8)):
            return True
    return False


def _is_a_number_but_zero(array: npt.NDArray[Any], type: Type) -> bool:
    if not type.is_float:
        return bool(array.view(np.uint8).any())
    return bool((~(np.abs(from_memory(array, type)) < least_normal(type))).any())


def _patience(request: Comparison, case: CallCase, expected: float | None) -> float:
    """The seconds that a call may take; `expected` are those of the reference, where the candidate is called."""
    if expected is not None:
        return max(request.least_seconds, _PATIENCE * expected)
    if not request.patience:
        return 0.0
    return request.patience + sum(case.elements.values()) / _ELEMENTS_A_SECOND


def _outputs(signature: Signature) -> list[tuple[str, Type]]:
    outputs = [(p.name, p.type) for p in signature.arrays]
    return outputs if signature.outcome is None else [*outputs, ("return", signature.outcome)]


def _differences(request: Comparison, case: CallCase, drawn: Drawn, wanted: _State, got: _State) -> _Found:
    size = _size(case)
    worst, array, place, absolute = Difference(0.0, 0.0, -1), "", -1, 0.0
    for name, type in _outputs(request.signature):
        bound = None if request.tolerance is None else request.tolerance.bound(type, size, name)
        one = difference(wanted.arrays[name], got.arrays[name], type, bound, drawn.arrays.get(name))
        absolute = max(absolute, one.absolute)
        if one.place >= 0 and (not array or one.relative > worst.relative):
            worst, array, place = one, name, one.place
        elif not array and one.relative > worst.relative:
            worst = one
    return _Found(worst, array, place, absolute)


def _mismatch(request: Comparison, number: int, wanted: _State, got: _State, found: _Found) -> _Stop:
    type = dict(_outputs(request.signature))[found.array]
    want = from_memory(wanted.arrays[found.array], type)[found.place].item()
    have = from_memory(got.arrays[found.array], type)[found.place].item()
    place = "the returned value" if found.array == "return" else f"{found.array}[{found.place}]"
    message = f"{place} is {have!r} instead of {want!r} ({request.cases[number].describe(request.signature)})"
    return _Stop("mismatch", message, _place(found.array, found.place, have, want, number))


def _place(array: str, index: int, got: Any, want: Any, case: int) -> dict[str, Any]:
    return {"array": array, "index": index, "got": got, "want": want, "case": case}
