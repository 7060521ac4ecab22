"""Exact modulo scheduling: shows that no shorter interval is possible, or finds it, and makes lifetimes short.

The solver is OR-tools' CP-SAT, which is an optional package (the extra `exact`).

>>> is_installed() or missing().diagnostic.code == "E0913"
True
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.vliw.pack.modulo.iterative import LoopBody, PipelinedKernel, kernel_at
from planish.vliw.pack.modulo.lifetimes import total

_EXTRA = "pip install 'planish[exact]'"


@dataclass(frozen=True, slots=True)
class IntervalProof:
    """What an exact search has shown: no interval below `least` is possible. `lifetimes`: the sum of those of the
    kernel, and `shortest` what none of its interval and stages goes below (0: nothing is known)."""

    least: int
    lifetimes: int = 0
    shortest: int = 0


def is_installed() -> bool:
    """Whether the solver is there."""
    return find_spec("ortools") is not None


def missing() -> PlanishError:
    """What is said where the solver is asked for and is not there."""
    return PlanishError(Diagnostic("E0913", "OR-tools, which schedules exactly, is not installed", help=_EXTRA))


def refine(body: LoopBody, kernel: PipelinedKernel, least: int, limit: float) -> tuple[PipelinedKernel, IntervalProof]:
    """The kernel, or a better one, and what is known about others. `least`: a lower bound of the interval; `limit`:
    deterministic seconds of the solver for each question (about as long as seconds are).

    PlanishError E0913 where the solver is not installed.
    """
    if not is_installed():
        raise missing()
    solve = import_module("planish.vliw.pack.modulo.exact_model").solve
    proven, best = least, kernel
    for interval in range(least, kernel.interval):
        found = solve(body, interval, limit)
        if found.outcome == "none" and proven == interval:
            proven = interval + 1
        if found.outcome == "found":
            made = kernel_at(body, interval, found.cycles)
            if made is not None:
                best = made
                break
    short = solve(body, best.interval, limit, best.cycles, shorten=True)
    if short.outcome == "found":
        made = kernel_at(body, best.interval, short.cycles)
        if made is not None and _sum(body, made) < _sum(body, best):
            best = made
    return best, IntervalProof(proven, _sum(body, best), short.least)


def _sum(body: LoopBody, kernel: PipelinedKernel) -> int:
    return total(body.values, kernel.cycles, kernel.interval)
