"""Exact modulo schedules: what the iterative scheduler misses is found, and what is impossible is shown to be."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from tests.unit.vliw.machines import operation, wide

from planish.core.diagnostic import PlanishError
from planish.vliw.machine import Unit, VliwMachine, VliwRegisterFile
from planish.vliw.pack import PackOptions, pack
from planish.vliw.pack.dependence import Edge
from planish.vliw.pack.effects import Described
from planish.vliw.pack.modulo.exact import refine
from planish.vliw.pack.modulo.iterative import LoopBody, schedule_loop
from planish.vliw.pack.modulo.lifetimes import values_of
from planish.vliw.program import Instr, Loop, StreamProgram, StreamRegister

needed = pytest.mark.skipif(find_spec("ortools") is None, reason="OR-tools is not installed (the extra `exact`)")


def two_slow() -> LoopBody:
    """Two operations that keep the one unit for two cycles each, bound to rows that meet: MII 4 is impossible."""
    slow = operation("kernel SLOW(d: f32[4] @V, a: f32[4] @V) { for l in 0 .. 4 { d[l] = a[l] } }", "U", 2, busy=2)
    machine = VliwMachine("m", {"s": 1}, (Unit("U", "s"),), (VliwRegisterFile("V", 8, 128),), (), (slow,))
    described = Described(machine)
    names = [StreamRegister("V", x) for x in "abcd"]
    nodes = tuple(described.effects(Instr("SLOW", (names[i], names[i + 2]))) for i in range(2))
    # The second one is issued 3 to 3 cycles after the first, modulo 4: their cells meet.
    edges = (Edge(0, 1, 3), Edge(1, 0, 1, 1))
    return LoopBody(machine, nodes, edges, tuple(values_of(nodes, ())))


def chain() -> StreamProgram:
    """A sum of what three operations make of a value that doubles."""
    v = [StreamRegister("V", f"v{i}") for i in range(5)]
    made = ((v[1], v[0], v[0]), (v[2], v[0], v[1]), (v[3], v[1], v[2]), (v[4], v[4], v[3]), (v[0], v[0], v[0]))
    return StreamProgram("p", (), (Loop("i", 500, tuple(Instr("FADD", x) for x in made)),))


@needed
def test_an_interval_that_cannot_be_is_ruled_out() -> None:
    body = two_slow()
    kernel = schedule_loop(body)
    assert kernel is not None and kernel.interval == 5
    best, proof = refine(body, kernel, least=4, limit=2.0)
    assert (best.interval, proof.least) == (5, 5)


@needed
def test_lifetimes_do_not_get_longer() -> None:
    (loop,) = pack(chain(), wide(), PackOptions(exact=1.0)).loops
    assert loop.interval == loop.least
    assert loop.proof is not None and loop.proof.shortest <= loop.proof.lifetimes


def test_what_is_missing_is_said() -> None:
    if find_spec("ortools") is not None:
        pytest.skip("OR-tools is installed")
    with pytest.raises(PlanishError, match="E0913"):
        pack(chain(), wide(), PackOptions(exact=1.0))
