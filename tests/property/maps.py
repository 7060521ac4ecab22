"""Random schedule maps from a seed: pieces, remainders, existentials, several statements at one time, options.

>>> problem = make_map(1)
>>> problem.schedule.is_empty(), sorted(problem.sizes[0])
(False, ['m', 'n'])
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

import islpy as isl

from planish.astgen.checking.symbolic import ScheduleVerdict, verify_map
from planish.astgen.checking.times import list_times, map_times
from planish.astgen.checking.verify import compare_traces, record
from planish.astgen.code_size.effort import EffortLimitError, compile_nest
from planish.astgen.generate import generate_map
from planish.ir.nest import Block
from planish.poly.isl.op_budget import budget, is_used_up
from planish.poly.isl.to_list import list_sets

LETTERS = "ijk"
SET, PARAM = isl.dim_type.set, isl.dim_type.param
MOST_COPIES = 10
"""A dimension with at most so many values, for whatever sizes, may be unrolled."""

WORK_LIMIT, PROOF_LIMIT = 3_000_000, 1_000_000
"""Bounds on isl's operations for one nest and for one proof; what needs more is given up, and counted."""

STEP_LIMIT = 200_000
"""The loop steps that one run may take."""

SIZES = ((0, 0), (1, 2), (4, 1), (5, 3), (3, 4), (6, 2))


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A schedule map with what is known of n and m, options, and values of n and m that are allowed."""

    seed: int
    schedule: isl.UnionMap
    context: isl.Set
    options: isl.UnionMap
    sizes: tuple[dict[str, int], ...]

    def __str__(self) -> str:
        return f"{self.schedule}\n{self.context}\n{self.options}"


def make_map(seed: int) -> Problem:
    """The problem of a seed."""
    rng = random.Random(seed)
    condition = rng.choice(("", "", "n >= 1", "n >= m", "n mod 2 = 0", "m >= 2 and n >= 3", "0 <= m <= 6"))
    context = isl.Set(f"[n, m] -> {{ : {condition or '1 = 1'} }}")
    allowed = [
        {"n": n, "m": m}
        for n, m in SIZES
        if isl.Set(f"[n, m] -> {{ : n = {n} and m = {m} }}").is_subset(context)
    ]  # fmt: skip
    rng.shuffle(allowed)
    length = rng.choice((1, 1, 1, 2, 2, 3, 4))
    parts: list[str] = []
    left = 4
    for name in ("S", "T", "U")[: rng.choice((1, 1, 2, 2, 3))]:
        # Several deep statements would cost more time than they are worth.
        dims = min(left, rng.choice((0, 1, 1, 1, 2, 2, 3)))
        left -= dims
        parts += _statement(name, dims, length, rng)
    schedule = isl.UnionMap("[n, m] -> { " + "; ".join(parts) + " }")
    options = _options(schedule, length, rng)
    return Problem(seed, schedule, context, options, tuple(allowed[:3]))


def _statement(name: str, dims: int, length: int, rng: random.Random) -> list[str]:
    """The parts of the schedule of one statement."""
    names = LETTERS[:dims]
    head, domain = f"{name}[{', '.join(names)}]", _domain(names, rng)
    roll = rng.random()
    rows = [_row(names, rng) for _ in range(length)]
    if roll < 0.25:
        cut = _cut(names, rng)
        other = [_row(names, rng) if rng.random() < 0.6 else row for row in rows]
        return [
            f"{head} -> [{', '.join(rows)}] : {domain} and ({cut})",
            f"{head} -> [{', '.join(other)}] : {domain} and not ({cut})",
        ]
    if roll < 0.31:
        # Each instance runs several times.
        some = rng.randrange(length)
        often = f"{rows[some]} <= t <= {rows[some]} + {rng.choice((1, 2))}"
        rows[some] = "t"
        return [f"{head} -> [{', '.join(rows)}] : {often} and {domain}"]
    return [f"{head} -> [{', '.join(rows)}] : {domain}"]


def _cut(names: str, rng: random.Random) -> str:
    x = rng.choice(names) if names else "n"
    return rng.choice((f"{x} < m", f"{x} >= 2", f"2*{x} <= n", f"{x} mod 2 = 0", "n >= m", f"{x} = 1 or {x} = 3"))


def _domain(names: str, rng: random.Random) -> str:
    parts: list[str] = []
    for d, x in enumerate(names):
        outer = names[rng.randrange(d)] if d else "0"
        low = rng.choice(("0", "0", "0", "1", "-1", outer, f"{outer} - 1", "m", "n - 3"))
        high = rng.choice(("n", "n", "n - 1", "m", f"{outer} + 2", "4", "n - m", "m + 2", f"n - {outer}"))
        # Every dimension keeps constant bounds, so that few instances are listed.
        parts.append(f"{low} <= {x} <= {high} and -1 <= {x} <= {7 - len(names)}")
        roll = rng.random()
        if roll < 0.12:
            parts.append(f"({x} + {rng.randint(0, 2)}) mod {rng.choice((2, 3, 4))} = {rng.choice((0, 1))}")
        elif roll < 0.2:
            parts.append(f"(exists a : {x} + {rng.choice(('n', 'm', outer))} = {rng.choice((2, 3))}*a)")
        elif roll < 0.27:
            parts.append(f"(exists a, b : {x} = 2*a + 3*b and 0 <= a < {rng.choice(('3', 'n'))} and 0 <= b)")
        elif roll < 0.32:
            parts.append(f"(exists a, b : {outer} + {x} = 3*a + 5*b and 0 <= a <= 1 and 0 <= b <= m)")
        elif roll < 0.36:
            parts.append(f"(exists a : {x} - 1 <= 3*a <= {x})")
        elif roll < 0.42:
            parts.append(f"{rng.choice((2, 3))}*{x} <= {rng.choice(('n', 'm + 4', '9'))}")
        elif roll < 0.46:
            parts.append(f"{x} = {rng.choice((outer, 'n', 'm', '2'))}")
        elif roll < 0.5:
            parts.append(f"({x} <= 1 or {x} >= {rng.choice(('3', 'm', 'n - 1'))})")
    if rng.random() < 0.2:
        parts.append(rng.choice(("n >= 2", "m >= 1", "n > m", "n mod 2 = 0", "n != m", "m = 2")))
    return " and ".join(parts) or "1 = 1"


def _row(names: str, rng: random.Random) -> str:
    """The value of one dimension of the schedule."""
    if not names or rng.random() < 0.15:
        return rng.choice(("0", "0", "1", "2", "n", "m"))
    text = rng.choice(names)
    roll = rng.random()
    if roll < 0.15:
        text = f"-{text}"
    elif roll < 0.25:
        text = f"2*{text}" if rng.random() < 0.5 else f"3*{text} + 1"
    if rng.random() < 0.25:
        text += rng.choice((" + ", " - ", " + 2*")) + rng.choice(names)
    if rng.random() < 0.2:
        text += rng.choice((" + 1", " - 1", " + n", " - m"))
    roll = rng.random()
    if roll < 0.12:
        return f"(({text}) mod {rng.choice((2, 3, 4))})"
    if roll < 0.25:
        size = rng.choice((2, 3, 4))
        return f"{rng.choice((1, size))}*floor(({text})/{size})"
    return text


def _options(schedule: isl.UnionMap, length: int, rng: random.Random) -> isl.UnionMap:
    """How the loops of each dimension are made: said for some of them."""
    times = ", ".join(f"c{i}" for i in range(length))
    found = []
    for i in range(length):
        kind = rng.choice(("atomic", "separate", "unroll", "unroll", "", "", ""))
        if kind == "unroll" and not _is_short(schedule.range(), i):
            kind = ""
        if kind:
            found.append(f"[{times}] -> {kind}[{i}]")
    return isl.UnionMap("{ " + "; ".join(found) + " }")


def _is_short(times: isl.UnionSet, position: int) -> bool:
    """Whether a dimension has few values, for whatever sizes."""
    for values in list_sets(times):
        values = values.project_out(PARAM, 0, values.dim(PARAM))
        if values.is_empty():
            continue
        low, high = values.dim_min_val(position), values.dim_max_val(position)
        if not (low.is_int() and high.is_int()) or int(high.to_python()) - int(low.to_python()) >= MOST_COPIES:
            return False
    return True


MAP_CHECKS = ("trace", "proof")


def check_map(seed: int, names: tuple[str, ...], count: Counter[str]) -> list[str]:
    """What is wrong with the nest of a seed's problem: run for a few sizes ("trace"), proven for all ("proof")."""
    problem = make_map(seed)
    with budget(isl.DEFAULT_CONTEXT, WORK_LIMIT):
        try:
            nest = generate_map(problem.schedule, problem.context, problem.options, record, frozenset({"n", "m"}))
        except (isl.Error, TypeError):
            if not is_used_up(isl.DEFAULT_CONTEXT):
                raise
            count["given up"] += 1
            return []
    count["nests"] += 1
    faults = [_trace(problem, nest, count)] if "trace" in names else []
    if "proof" in names:
        faults.append(_prove(problem, nest, count))
    return [x for x in faults if x is not None]


def _trace(problem: Problem, nest: Block, count: Counter[str]) -> str | None:
    run, times = compile_nest(nest), map_times(problem.schedule, problem.context)
    for sizes in problem.sizes:
        wanted = list_times(times, sizes)
        count["instances"] += len(wanted)
        try:
            fault = compare_traces(run(sizes, STEP_LIMIT).trace, wanted)
        except EffortLimitError:
            fault = f"the loops take more than {STEP_LIMIT} steps"
        if fault is not None:
            return f"map {problem.seed} for {sizes}: {fault}\n{problem}"
    return None


def _prove(problem: Problem, nest: Block, count: Counter[str]) -> str | None:
    verdict = verify_map(nest, problem.schedule, problem.context, PROOF_LIMIT)
    if verdict.answer == "differs" and _trace(replace(problem, sizes=(dict(verdict.sizes),)), nest, Counter()) is None:
        # The example is none: one of isl's operations lost something on the way to it.
        verdict = ScheduleVerdict("given up")
    count[verdict.answer if verdict.answer != "given up" else "not proven"] += 1
    return f"map {problem.seed}: {verdict.detail}\n{problem}" if verdict.answer == "differs" else None
