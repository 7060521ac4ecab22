"""A beam over list scheduling finds what the critical path misses, and never a longer schedule."""

from __future__ import annotations

from random import Random

from tests.unit.vliw.random_loops import Maker, random_machine

from planish.vliw.pack.effects import Described
from planish.vliw.pack.listing import schedule_block


def test_blocks_get_shorter_and_never_longer() -> None:
    shorter = least = 0
    for seed in range(12):
        random = Random(seed)
        machine = random_machine(random)
        described = Described(machine)
        nodes = [described.effects(x) for x in Maker(random, machine, values=30).body(24)]
        listed, searched = (schedule_block(machine, nodes, width=x) for x in (0, 8))
        assert listed.least == searched.least <= searched.length <= listed.length
        shorter += searched.length < listed.length
        least += searched.length == searched.least
    assert shorter and least
