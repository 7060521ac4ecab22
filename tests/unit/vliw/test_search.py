"""The exhaustive search: what it finds is a schedule, what it says is impossible is so."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from planish.vliw.machine import Unit, VliwMachine
from planish.vliw.pack.dependence import Edge
from planish.vliw.pack.effects import Effects
from planish.vliw.pack.modulo.ejection import place_by_ejection
from planish.vliw.pack.modulo.iterative import LoopBody, kernel_at
from planish.vliw.pack.modulo.overfull import is_overfull
from planish.vliw.pack.modulo.search import search
from planish.vliw.program import Instr

MACHINE = VliwMachine("tiny", {"v": 2}, (Unit("A", "v"), Unit("B", "v")), (), (), ())


def random_body(random: Random, slow: bool = False) -> LoopBody:
    """A few operations with recurrences among them; `slow`: some keep their units for two cycles."""
    count = random.randint(2, 4)
    units = [("A",), ("B",), ("A", "B")]
    busy = [random.choice((1, 2)) if slow else 1 for _ in range(count)]
    nodes = tuple(Effects(Instr("X", ()), "compute", random.choice(units), 2, x, (), (), ()) for x in busy)
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count) if random.random() < 0.7]
    edges = [Edge(i, j, random.randint(0, 3)) for i, j in pairs]
    edges += [Edge(j, i, random.randint(0, 3), 1) for i, j in pairs if random.random() < 0.7]
    return LoopBody(MACHINE, nodes, tuple(edges), ())


def is_possible(body: LoopBody, interval: int) -> bool:
    """Whether there is a schedule, by looking at all of a few periods."""
    for cycles in product(range(interval * 4), repeat=len(body.nodes)):
        kept = all(cycles[x.second] >= cycles[x.first] + x.delay - interval * x.distance for x in body.edges)
        if kept and kernel_at(body, interval, cycles) is not None:
            return True
    return False


@pytest.mark.parametrize("seed", range(25))
def test_no_schedule_is_said_not_to_be_there(seed: int) -> None:
    body = random_body(Random(seed))
    for interval in (1, 2, 3):
        found = search(body, interval, 400)
        if found.outcome == "found":
            kernel = kernel_at(body, interval, found.cycles)
            at = found.cycles
            assert kernel is not None
            assert all(at[x.second] >= at[x.first] + x.delay - interval * x.distance for x in body.edges)
        elif found.outcome == "none":
            assert not is_possible(body, interval)


@pytest.mark.parametrize("seed", range(25))
def test_rows_that_are_overfull_have_no_schedule(seed: int) -> None:
    body = random_body(Random(seed), slow=seed % 2 == 1)
    for interval in (1, 2, 3):
        if is_overfull(body, interval):
            assert not is_possible(body, interval)


@pytest.mark.parametrize("seed", range(25))
def test_what_ejection_leaves_is_a_schedule(seed: int) -> None:
    body = random_body(Random(seed), slow=seed % 2 == 1)
    for interval in (2, 3, 4):
        found = place_by_ejection(body, interval, 200, chosen=True, seed=seed)
        if found is not None:
            at = found.cycles
            assert all(at[x.second] >= at[x.first] + x.delay - interval * x.distance for x in body.edges)
            assert kernel_at(body, interval, at) is not None
        elif interval > 2:
            assert search(body, interval, 400).outcome != "found"
