"""Which calls time a function: with the sizes of calls in its file, or else as large as time and memory allow, strides,
pads and channels as in real calls; and with arrays that fit in each cache, where no version may be slower either.

>>> window_of(4096), window_of(20)
(63, 3)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.lazy_sequence import Lazy
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.run.calls.signature import CallCase
from planish.run.sizes.call_sizes import (
    LARGEST_GUESS,
    bytes_of,
    instances_of,
    is_bounded,
    loose_names,
    make_case,
    power_of_two,
    powers_of,
    roles_of,
    short_rows,
    size_names,
    sizes_near,
    wanted_sizes,
)
from planish.run.sizes.caller_constants import find_calls
from planish.run.sizes.data_choices import find_choices, with_choices
from planish.run.sizes.derived_sizes import derived_clocks
from planish.run.sizes.guessed_extents import LARGEST_GIVEN
from planish.run.sizes.known_sizes import KnownSizes
from planish.run.sizes.size_roles import USUAL, Role
from planish.target.machine import CacheLevel

CLOCK_SIZES = (4_000_000, 1_000_000, 200_000, 50_000, 20_000, 8192, 4096, 3000, 2000, 1500, 1000, 700, 500, 350, 250,
               180, 128, 90, 64, 45, 32, 20, 10, 4, 1)  # fmt: skip
CLOCK_ATTEMPTS = 8
"""So many calls are tried, of which the first that the original comes through is timed."""
CLOCK_LARGEST, CLOCK_FALL = 4, 4
"""So many of them are the largest that seem possible; behind these, each is smaller than the one before by a factor."""
WINDOWS = (3, 63)
"""The bounds of sizes that some extent is short of, as that of a window is: `n - taps + 1` steps."""
CLOCK_INSTANCES = 400_000_000
CLOCK_BYTES = 256 << 20
WINDOWED = 20
"""The least size of which a window is a part."""
MUCH = 100_000
"""The instances from which on a call of the file itself is the one that is timed first."""
MOST_CALLED = 2
"""So many calls of the file itself are probed."""
SHARED_LEVEL = 3
"""The level from which on caches are not a core's own."""
PROBE_INSTANCES = 50_000_000
"""The most of a call that only confirms that a version is not slower there."""
FEW_COLUMNS = 4
"""What rows that may be short have in a call."""
LEAST_INSTANCES = 64
"""A call of which a version has less to do than this is no matter of speed."""
LARGEST_LOOSE = 1 << 14
"""The most for an integer of which nothing is known."""


def clock_cases(
    function: CFunction, known: tuple[KnownSizes, ...], given: Mapping[str, int], source: Source | None = None
) -> Sequence[CallCase]:
    """Calls that may be timed, the first of them best: as the file `source` calls the function, if that is much to do;
    or bounded sizes at their largest, windows small, strides, channels and the like as usual or as in those calls, the
    others as large as time and memory allow; then smaller ones, for a function that is called with less than it needs
    in the first. Each is made when it is first
    asked for."""
    text = source.text if source is not None else ""
    attempts, choices = _clock_attempts(function, known, given, text), find_choices(function, text)
    return Lazy(with_choices(x, choices) for x in islice(_falling(_different(attempts)), CLOCK_ATTEMPTS))


def probe_cases(
    function: CFunction, known: tuple[KnownSizes, ...], given: Mapping[str, int], caches: Sequence[CacheLevel],
    source: Source | None = None,
) -> tuple[CallCase, ...]:  # fmt: skip
    """Calls in which a version must not be slower either: those of the file `source` itself, others with arrays that
    fill half of each cache that is a core's own, and with larger ones, with other strides and channels in each; none
    where the user gave all sizes, or there are none."""
    roles = roles_of(known)
    extents = [x for x, role in roles.items() if role == "extent" and x not in given]
    if not extents:
        return ()
    text = source.text if source is not None else ""
    out = [x for x in _called(function, known, given, roles, text) if _work(known, x) <= PROBE_INSTANCES][:MOST_CALLED]
    rooms = [x.share for x in caches if x.level < SHARED_LEVEL]
    # Rows that may be short are so in one more call, in the largest of the caches.
    few = {x: FEW_COLUMNS for x in short_rows(known) if x not in given}
    looked: list[tuple[int, int, dict[str, int]]] = [(v, x, {}) for v, x in enumerate((*rooms, CLOCK_BYTES // 4))]
    for variant, room, short in (*looked, *([(0, rooms[-1], few)] if few and rooms else [])):
        fitting = (_case(function, known, _wanted(roles, x, variant) | short, given, x) for x in CLOCK_SIZES)
        for case in (x for x in fitting if x is not None):
            if LEAST_INSTANCES <= _work(known, case) <= PROBE_INSTANCES and 2 * bytes_of(function, case) <= room:
                out.append(case)
                break
    choices = find_choices(function, text)
    return tuple(with_choices(x, choices) for x in _different(iter(out)))


def require_sizes(
    function: CFunction, known: tuple[KnownSizes, ...], given: Mapping[str, int], source: Source | None
) -> None:
    """PlanishError E0110 where the function cannot be called with the sizes that the user asked for, or does nothing
    then, whatever the others are."""
    own = {x: y for x, y in given.items() if x in size_names(known)}
    if not own:
        return
    found = sizes_near(known, wanted_sizes(size_names(known), 20), given)
    if found is not None and all(found[x] == y for x, y in own.items()) and instances_of(known, found):
        return
    asked = ", ".join(f"{x}={y}" for x, y in own.items())
    possible = sizes_near(known, wanted_sizes(size_names(known), 20) | own, {})
    near = "" if possible is None else f", such as {', '.join(f'{x}={possible[x]}' for x in own)}"
    message = f"`{function.name}` cannot run with {asked}: its loops would leave its arrays, or do nothing"
    advice = f"give sizes that its declarations allow{near}, or choose another function with --function"
    raise PlanishError(Diagnostic("E0110", message, function.span, advice), source)


def _calls(function: CFunction, text: str) -> tuple[dict[str, int], ...]:
    """The integers with which a file calls a function."""
    names = [p.name for p in function.parameters]
    integers = {p.name for p in function.parameters if not p.pointer and p.type is not None and p.type.is_int}
    found = find_calls(text, function.name, names)
    return tuple({x: y for x, y in call.items() if x in integers} for call in found)


def _different(cases: Iterator[CallCase]) -> Iterator[CallCase]:
    """The cases without those that have the values of one before."""
    seen = set[str]()
    for case in cases:
        values = repr(sorted(case.values.items()))
        if values not in seen:
            seen.add(values)
            yield case


def _falling(cases: Iterator[CallCase]) -> Iterator[CallCase]:
    """The first cases, and then those whose largest value is a fraction of that of the one before: where arrays are
    too short, or there is more to do than is known, sizes that are a little smaller are no better."""
    least = 0.0
    for number, case in enumerate(cases):
        largest = max(case.values.values(), default=0)
        if number < CLOCK_LARGEST or CLOCK_FALL * largest <= least:
            least = largest
            yield case


def _called(
    function: CFunction, known: tuple[KnownSizes, ...], given: Mapping[str, int], roles: Mapping[str, Role], text: str
) -> list[CallCase]:
    """The calls of a file whose extents are known, those with most to do first."""
    extents = {x for x, role in roles.items() if role == "extent"}
    calls = ({x: y for x, y in call.items() if x in roles} for call in _calls(function, text))
    whole = [call for call in calls if extents and extents <= call.keys()]
    made = (_case(function, known, _wanted(roles, 1, 0) | x, {**x, **given}, WINDOWED) for x in whole)
    possible = [x for x in made if x is not None and _is_possible(function, known, x)]
    return sorted(possible, key=lambda x: -_work(known, x))


def _clock_attempts(
    function: CFunction, known: tuple[KnownSizes, ...], given: Mapping[str, int], text: str
) -> Iterator[CallCase]:
    roles, names = roles_of(known), size_names(known)
    yield from (x for x in _called(function, known, given, roles, text) if _work(known, x) >= MUCH)
    yield from (x for x in derived_clocks(function, known, given) if bytes_of(function, x) <= CLOCK_BYTES)
    calls = _calls(function, text)
    told = {x: y for call in calls for x, y in call.items() if x in roles and roles[x] not in ("extent", "window")}
    wanted = [(x, _wanted(roles, x, 0) | told) for x in CLOCK_SIZES]
    bounded = {n: CLOCK_SIZES[0] for n in names if is_bounded(n, known)}
    if bounded:
        wanted = [(x, y | bounded) for x, y in wanted if x >= WINDOWED] + wanted
    for value, sizes in wanted:
        case = _case(function, known, sizes, given, value)
        if case is not None and _is_possible(function, known, case):
            yield case
    smallest = sizes_near(known, wanted_sizes(names, 1), given)
    if smallest is not None:
        yield make_case(function, known, smallest, seed=1, most_guess=LARGEST_GIVEN)


def _wanted(roles: Mapping[str, Role], value: int, variant: int) -> dict[str, int]:
    """Sizes to ask for, those first of which others depend: extents of a value, and what is usual for the others."""
    out = {x: value for x, role in roles.items() if role == "extent"}
    out |= {x: window_of(value) if value >= WINDOWED else value for x, role in roles.items() if role == "window"}
    for role in ("offset", "channels", "sections", "stride", "distance"):
        usual = USUAL[role]
        out |= {x: usual[variant % len(usual)] for x, own in roles.items() if own == role}
    return out


def _case(
    function: CFunction, known: tuple[KnownSizes, ...], wanted: Mapping[str, int], given: Mapping[str, int], value: int
) -> CallCase | None:
    """The call with such sizes; where nothing is known of any, fewer elements are tried where they may not be
    enough."""
    sizes = sizes_near(known, wanted, given)
    if sizes is None:
        return None
    loose = dict.fromkeys(loose_names(function, known), power_of_two(min(LARGEST_LOOSE, value)))
    loose |= {x: loose[x].bit_length() - 1 for x in powers_of(function, loose)}
    sizes |= {name: given.get(name, value) for name, value in loose.items()}
    return make_case(function, known, sizes, seed=1, most_guess=LARGEST_GIVEN if given else LARGEST_GUESS)


def _is_possible(function: CFunction, known: tuple[KnownSizes, ...], case: CallCase) -> bool:
    """Whether a call does something (one in which no region does says nothing of how fast they are), and not too
    much."""
    return 0 < _work(known, case) <= CLOCK_INSTANCES and bytes_of(function, case) <= CLOCK_BYTES


def _work(known: tuple[KnownSizes, ...], case: CallCase) -> int:
    return instances_of(known, {x: int(y) for x, y in case.values.items()})


def window_of(size: int) -> int:
    """How large a window is that is seen in so many places: odd."""
    least, most = WINDOWS
    return min(most, max(least, size // 32 | 1))
