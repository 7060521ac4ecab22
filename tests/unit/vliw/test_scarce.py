"""Few registers, short offsets: what is tried, when it is given up, and that packets are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.unit.vliw.judge import run_code, run_program
from tests.unit.vliw.machines import narrow, wide

from planish.core.diagnostic import PlanishError
from planish.vliw.machine import VliwMachine
from planish.vliw.pack import pack
from planish.vliw.pack.allocate import TooFewRegisters
from planish.vliw.pack.bounds import IntervalBound
from planish.vliw.pack.control import Control
from planish.vliw.pack.dependence import Edge
from planish.vliw.pack.effects import Described
from planish.vliw.pack.loops.held import held_through
from planish.vliw.pack.modulo.expand import Rolled
from planish.vliw.pack.modulo.iterative import LoopBody, PipelinedKernel
from planish.vliw.pack.modulo.known_loops import KnownLoops
from planish.vliw.pack.modulo.pipelining import interval_for, prepare, roll
from planish.vliw.pack.modulo.search import proven_least
from planish.vliw.pack.passes import PacketPasses
from planish.vliw.pack.plans import NotWorthwhile, PackAttempt, PackPlan, follow
from planish.vliw.pack.register_orders import limited_order
from planish.vliw.pack.reports import LoopReport, Packed, PackOptions
from planish.vliw.program import (
    AccessPlace,
    Immediate,
    Instr,
    Item,
    Loop,
    MemoryAddress,
    PacketCode,
    StreamParameter,
    StreamProgram,
    StreamRegister,
)

P, Q, N = StreamRegister("A", "p"), StreamRegister("A", "q"), StreamRegister("S", "n")


def v(name: str) -> StreamRegister:
    return StreamRegister("V", name)


def with_registers(machine: VliwMachine, file: str, count: int) -> VliwMachine:
    return replace(machine, files=tuple(replace(x, count=count) if x.name == file else x for x in machine.files))


def with_reach(machine: VliwMachine, low: int, high: int, either: bool = False) -> VliwMachine:
    memories = tuple(replace(x, reach=(low, high), either=either) for x in machine.memories)
    return replace(machine, memories=memories)


def program_of(*items: Item) -> StreamProgram:
    parameters = (StreamParameter("p", P, "AM"), StreamParameter("q", Q, "AM"), StreamParameter("n", N))
    return StreamProgram("k", parameters, items)


def check(program: StreamProgram, machine: VliwMachine, counts: Sequence[int] = (0, 1, 9)) -> Packed:
    packed = pack(program, machine)
    for n in counts:
        values = {"p": 0, "q": 8192, "n": n}
        state, _ = run_code(packed.code, machine, values)
        assert state.cells == run_program(program, machine, values).cells
    return packed


def chain(length: int) -> tuple[Instr, ...]:
    """p[i] goes through so many additions one after the other."""
    return (
        Instr("LOAD", (v("a"), MemoryAddress(P))),
        *(Instr("FADD", (v("a"), v("a"), v("a"))) for _ in range(length)),
        Instr("STORE", (MemoryAddress(P), v("a"))),
        Instr("ADDA", (Immediate(128), P, P)),
    )


def moved(count: int) -> tuple[tuple[Instr, ...], tuple[Instr, ...]]:
    """q[0 .. count] are loaded into as many registers, and these are stored."""
    loads = tuple(Instr("LOAD", (v(f"h{i}"), MemoryAddress(Q, i * 128))) for i in range(count))
    stores = tuple(Instr("STORE", (MemoryAddress(Q, (count + i) * 128), v(f"h{i}"))) for i in range(count))
    return loads, stores


@pytest.mark.parametrize("count", [0, 1])
def test_loops_that_get_no_jump_keep_nothing_for_their_time(count: int) -> None:
    loads, stores = moved(5)
    check(program_of(*loads, Loop("few", count, stores), Loop("i", 20, chain(1))), with_registers(wide(), "V", 4))
    # Straight code may be mixed with what comes before and behind it.
    after, described = frozenset({v("h0"), v("h1")}), Described(wide())
    assert list(held_through((Loop("few", 3 + count, chain(1)),), after, described, hoists=False)) == []
    assert list(held_through((Loop("many", 900, chain(1)),), after, described, hoists=False)) == [after]


def test_more_values_through_a_loop_than_registers() -> None:
    loads, stores = moved(6)
    with pytest.raises(PlanishError) as caught:
        pack(program_of(*loads, Loop("i", N, chain(1)), *stores), with_registers(wide(), "V", 4))
    assert caught.value.diagnostic.code == "E0912"
    assert "k wants 6 registers of V at once; wide has 4" in caught.value.diagnostic.message


def test_values_that_are_on_their_way_take_no_registers() -> None:
    r = [StreamRegister("R", x) for x in "abcx"]
    p, n = StreamRegister("G", "p"), StreamRegister("G", "n")
    loop = Loop("i", n, tuple(Instr("MAC", (x, r[3], r[3])) for x in r[:3]))
    described = Described(narrow())
    assert list(held_through((loop,), frozenset(r), described, hoists=False)) == [{r[3]}]
    step = Loop("i", n, (Instr("SUBI", (Immediate(1), p, p)), Instr("LD", (r[0], MemoryAddress(p)))))
    assert list(held_through((step,), frozenset({r[0]}), described, hoists=False)) == [{p}]


def test_operations_that_move_out_of_a_loop_take_their_operands_along() -> None:
    body = (Instr("FADD", (v("c"), v("a"), v("b"))), Instr("STORE", (MemoryAddress(P), v("c"))))
    loop, described = Loop("i", N, body), Described(wide())
    assert list(held_through((loop,), frozenset(), described, hoists=False)) == [{v("a"), v("b"), P}]
    assert list(held_through((loop,), frozenset(), described, hoists=True)) == [{v("c"), P}]


@pytest.mark.parametrize(("length", "reach"), [(1, 1), (2, 2), (3, 1)])
def test_longer_intervals_bring_offsets_within_reach(length: int, reach: int) -> None:
    packed = check(program_of(Loop("i", N, chain(length))), with_reach(wide(), -reach, reach))
    assert [x.method for x in packed.loops] == ["modulo"]


@pytest.mark.parametrize("count", [N, 3, 40])
def test_steps_stay_sums_where_offsets_would_be_out_of_reach(count: int | StreamRegister) -> None:
    places = [MemoryAddress(P, i * 128) for i in range(3)]
    body = (
        *(Instr("LOAD", (v(f"a{i}"), x)) for i, x in enumerate(places)),
        *(Instr("STORE", (x, v(f"a{i}"))) for i, x in enumerate(places)),
        Instr("ADDA", (Immediate(512), P, P)),
    )
    check(program_of(Loop("i", count, body)), with_reach(wide(), 0, 3, either=True))
    check(program_of(*body, *body), with_reach(wide(), 0, 2, either=True))


def rolled_with(copies: dict[StreamRegister, int]) -> Rolled:
    return Rolled((), PipelinedKernel(10, (0, 79), ("L0", "M0")), copies, {})


def test_intervals_with_which_addresses_may_be_within_reach() -> None:
    body = (Instr("LOAD", (v("a"), MemoryAddress(P))), Instr("FADD", (v("b"), v("a"), v("a"))))
    problem = prepare(body, frozenset(), Control(wide()), Described(wide()))
    assert interval_for(problem, rolled_with({})) == 11
    # The first value lives from cycle 9 to cycle 79.
    assert interval_for(problem, rolled_with({v("a"): 2})) == 10 + (71 - 10) // 4
    assert interval_for(problem, rolled_with({v("a"): 8})) == 11


def test_loops_that_differ_in_names_have_the_same_kernels() -> None:
    known = KnownLoops(Control(wide()), Described(wide()))
    loop = chain(2)
    one = known.loop(loop, frozenset())
    assert known.loop(loop, frozenset()) is one
    other = known.loop(
        [replace(x, operands=tuple(v("z") if y == v("a") else y for y in x.operands)) for x in loop], frozenset()
    )
    assert other is not one and other.attempts is one.attempts
    assert known.loop(chain(3), frozenset()).attempts is not one.attempts
    assert known.loop(loop, frozenset({v("a")})).attempts is not one.attempts
    found = [roll(x.problem, 0, 40, attempts=x.attempts) for x in (one, other)]
    assert found[0] is not None and found[1] is not None
    assert found[0].rolled.kernel == found[1].rolled.kernel and len(one.attempts.kernels) == 1


def test_least_intervals_are_proven_as_far_as_the_search_goes() -> None:
    machine = wide()
    node = Described(machine).effects(Instr("FADD", (v("a"), v("b"), v("c"))))
    ring = tuple(Edge(i, (i + 1) % 3, 6, int(i == 2)) for i in range(3))
    body = LoopBody(machine, (node,) * 3, ring, ())
    assert proven_least(body, 16, 30, 100) == 18
    assert proven_least(body, 16, 17, 100) == 17
    assert proven_least(body, 20, 30, 100) == 20


def test_packets_that_are_not_worth_it_are_given_up() -> None:
    asked: list[tuple[int, int]] = []

    def worth(packets: int, passes: Sequence[PacketPasses]) -> bool:
        asked.append((packets, len(passes)))
        return packets < 10

    with pytest.raises(NotWorthwhile):
        pack(program_of(Loop("i", N, chain(2))), wide(), worth=worth)
    assert len(asked) == 1 and asked[0][1] > 0
    assert len(pack(program_of(chain(0)[-1]), wide(), worth=worth).code.packets) < 10


BOUND = IntervalBound(1, "")
FEW = TooFewRegisters("V", 9, ())


def attempts_of(fits: int) -> tuple[list[PackPlan], PackAttempt]:
    """What is tried of a loop that is pipelined with intervals from 4 to 20 and has registers from `fits` on."""
    tried: list[PackPlan] = []
    packed = Packed(PacketCode("k", (), {}, ()), ())

    def attempt(plan: PackPlan) -> PackAttempt:
        tried.append(plan)
        interval = plan.longer.get("i", 4)
        report = LoopReport(
            "i", "modulo" if interval <= 20 else "list", 3, interval, BOUND, BOUND, registers={"V": 9}, longest=20
        )
        return PackAttempt(packed) if interval >= fits else PackAttempt(None, FEW, [report])

    return tried, follow(PackPlan(96), attempt)


@pytest.mark.parametrize("fits", [5, 6, 12, 19, 20])
def test_the_shortest_interval_with_registers_is_found(fits: int) -> None:
    tried, made = attempts_of(fits)
    assert made.packed is not None
    # First loops and blocks overlap no more, then kernels are lean, then the interval is the longest one.
    assert [x.overlaps for x in tried[:2]] == [True, False] and tried[2].lean == {"i"}
    assert tried[3].longer == {"i": 20} and len(tried) <= 8
    assert min(x.longer["i"] for x in tried[3:] if x.longer["i"] >= fits) == fits


def test_intervals_between_are_not_tried_where_the_longest_one_does_not_help() -> None:
    tried, made = attempts_of(1000)
    assert made.packed is None and made.few is FEW
    assert {x.longer["i"] for x in tried if x.longer} == {20, 21}
    assert tried[-1].ordered and not tried[-1].hoists


def test_nothing_is_tried_after_what_is_hopeless() -> None:
    tried: list[PackPlan] = []

    def attempt(plan: PackPlan) -> PackAttempt:
        tried.append(plan)
        return PackAttempt(None, FEW, hopeless=True)

    assert follow(PackPlan(96), attempt).few is FEW
    assert len(tried) == 1


def test_loops_in_order_of_their_chains_are_scheduled_within_the_registers() -> None:
    """Chains side by side, each of which loads first: by their lengths all loads would come before anything else."""
    body: list[Instr] = []
    for n in range(12):
        a, b, at = v(f"a{n}"), v(f"b{n}"), n * 128
        own, other = AccessPlace("p", "p", at, 12 * 128, 128), AccessPlace("q", "q", at, 0, 128)
        body.append(Instr("LOAD", (a, MemoryAddress(P, at)), None, own))
        body.append(Instr("LOAD", (b, MemoryAddress(Q, at)), None, other))
        body += (Instr("FADD", (a, a, b)), Instr("FADD", (a, a, b)))
        body.append(Instr("STORE", (MemoryAddress(P, at), a), None, own))
    body.append(Instr("ADDA", (Immediate(12 * 128), P, P)))
    machine, described = with_registers(wide(), "V", 7), Described(with_registers(wide(), "V", 7))
    order = limited_order(body, {P, Q}, described)
    assert order is not None and sorted(map(id, order)) == sorted(map(id, body)) and order != body
    assert limited_order(body, {P, Q, *(v(f"k{n}") for n in range(6))}, described) is None
    items = (Loop("i", N, tuple(body)),)
    values = {"p": 0, "q": 8192, "n": 3}
    intervals: list[int] = []
    for ordered in (False, True):
        packed = pack(program_of(*items), machine, PackOptions(pipeline=False, ordered=ordered))
        wanted = run_program(program_of(*items), machine, values).cells
        assert run_code(packed.code, machine, values)[0].cells == wanted
        intervals.append(packed.loops[0].interval)
    assert intervals[0] < 0.7 * intervals[1]


@pytest.mark.parametrize("room", [0, 1, 2, 3])
def test_orders_within_the_registers_keep_what_is_read_before_it_is_overwritten(room: int) -> None:
    # The chain behind what overwrites `a` is longer than that behind what reads it.
    body = [
        Instr("LOAD", (v("a"), MemoryAddress(P))),
        Instr("FADD", (v("b"), v("a"), v("a"))),
        Instr("LOAD", (v("a"), MemoryAddress(P, 128))),
        *chain(9)[1:-1],
        Instr("STORE", (MemoryAddress(Q), v("b"))),
    ]
    count = next(x.count for x in wide().files if x.name == "V")
    order = limited_order(body, {P, Q, *(v(f"k{n}") for n in range(count - room))}, Described(wide()))
    assert order is None if room < 2 else order is not None and order.index(body[1]) < order.index(body[2])
