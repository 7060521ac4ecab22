"""Batched checks: the first versions of many functions of a file, built once and checked in one child process.

    taken = check_together([Entrant(signature, cases, version), other], source, reference, bench)
    taken["scale"].verdict.status                   # "ok"; a function that is missing has to be checked by itself
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planish.build.selection import Selection
from planish.build.verify import PATIENCE
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.emit.dropin.replacement import compose
from planish.frontend.c.text.lexer import tokenize
from planish.run.calls.signature import CallCase, Signature
from planish.run.oracle.comparison import compare_each, make_comparison
from planish.run.oracle.nest_coverage import LEAST_CALLS, missed, with_counters
from planish.run.workbench import DropIn, Reference, Workbench


@dataclass(frozen=True, slots=True)
class Entrant:
    """A function, the calls that check it, and the version of it."""

    signature: Signature
    cases: tuple[CallCase, ...]
    version: DropIn

    @property
    def name(self) -> str:
        """The function's."""
        return self.signature.function


def check_together(
    entrants: Sequence[Entrant], source: Source, reference: Reference, bench: Workbench
) -> dict[str, Selection]:  # fmt: skip
    """The versions that compute the same, and were seen to run, where all these replace what they stand for at once, by
    the names of the functions.

    Where one is no good that may be called by another, the others are checked again without it: what was seen of them
    holds for them with new code that stays.
    """
    left = tuple(entrants)
    while left:
        taken = _check(left, source, reference, bench)
        lost = {x.name for x in left if x.name not in taken}
        if not lost & _mentioned(reference.text):
            return taken
        left = tuple(x for x in left if x.name in taken)
    return {}


def _mentioned(text: str) -> frozenset[str]:
    """The words that stand more than once in a text, as that of a function which is called does."""
    words, seen = set[str](), set[str]()
    for token in tokenize(text).tokens:
        (words if token.text in seen else seen).add(token.text)
    return frozenset(words)


def _check(
    entrants: tuple[Entrant, ...], source: Source, reference: Reference, bench: Workbench
) -> dict[str, Selection]:  # fmt: skip
    signatures = tuple(x.signature for x in entrants)
    for signature in signatures:
        reference.library_for(signature)  # first: what is wrong with the file itself is told
    try:
        library = bench.build_checked(_join(entrants, source), signatures)
    except PlanishError:
        if len(entrants) < 2:
            return {}
        half = len(entrants) // 2
        return _check(entrants[:half], source, reference, bench) | _check(entrants[half:], source, reference, bench)
    return compare_together(entrants, library, reference, bench)


def compare_together(
    entrants: Sequence[Entrant], library: Path, reference: Reference, bench: Workbench
) -> dict[str, Selection]:  # fmt: skip
    """The versions that compute the same, and were seen to run, in a library with all of them, by the names of the
    functions. PlanishError where the original does not compile."""
    right = [reference.library_for(x.signature) for x in entrants]
    requests = [
        make_comparison(
            path, library, x.signature, x.cases, x.version.tolerance(bench.floats), PATIENCE, bench.runner.command
        )
        for path, x in zip(right, entrants, strict=True)
    ]
    verdicts = compare_each(requests, bench.limits)
    return {
        x.name: Selection(x.version, verdict, None, None, (), library, cases=x.cases)
        for x, verdict in zip(entrants, verdicts, strict=True)
        if verdict.status == "ok" and not missed(verdict.ran, len(x.version.nests), min(LEAST_CALLS, len(x.cases)))
    }


def _join(entrants: Sequence[Entrant], source: Source) -> DropIn:
    """All versions at once."""
    patches = [patch for x in entrants for patch in x.version.patches]
    counted = with_counters(compose(source, patches, ""), [x.name for x in entrants])
    return DropIn("together", counted, tuple(dict.fromkeys(flag for x in entrants for flag in x.version.link)))
