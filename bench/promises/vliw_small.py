"""Part of the claims `vliw`: small kernels by equality saturation and loops, beside a vectoriser like Diospyros.

What that one does, and what it has not, is told with its sources in `bench.rivals.diospyros`. It is run with its own 4
lanes, which decides, and with all lanes of the machine.

for item in examine_small(quick=True): print(item)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import exp, log
from pathlib import Path
from time import process_time

from bench.promises.claim import Claim, Note, at_least, at_most
from bench.rivals.diospyros import diospyros_like
from planish.build.packets import PacketResult, build_packets
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.nest import Kernel
from planish.options import Options
from planish.poly.canonical.delinearise import delinearise
from planish.vliw.description import load_machine
from planish.vliw.machine import VliwMachine
from planish.vliw.program import PacketCode
from planish.vliw.saturation.plan import saturated
from planish.vliw.saturation.rules import RuleSet
from planish.vliw.streams.lower import LoweredStream
from planish.vliw.streams.oracle import check_code, draw_values
from planish.vliw.streams.stream import RefusedError

FOLDER = Path(__file__).resolve().parents[1] / "programs" / "vliw"
QUICK = ("mm_2_2_2", "mm_3_3_3", "conv_3_3_2", "conv_4_4_3", "qprod")
DIOSPYROS_BAR, SECONDS_BAR = 7.33, 5.0
NARROW, WIDE = "like Diospyros, 4 lanes", "like Diospyros, all lanes"
IN_ORDER = "like Diospyros, 4 lanes, not scheduled"
PAPER_DIOSPYROS = 3.57
"""Diospyros over naive scalar code, as the paper of FT-Matrix measured it."""

Maker = Callable[[Kernel, VliwMachine], tuple[LoweredStream, PacketCode]]


def _like_diospyros(width: int, scheduled: bool = True) -> Maker:
    def make(kernel: Kernel, machine: VliwMachine) -> tuple[LoweredStream, PacketCode]:
        made = diospyros_like(kernel, machine, width, scheduled)
        return made.lowered, made.packed.code

    return make


def _with_rules(rules: RuleSet) -> Maker:
    def make(kernel: Kernel, machine: VliwMachine) -> tuple[LoweredStream, PacketCode]:
        made = saturated(kernel, machine, rules)
        return made.lowered, made.packed.code

    return make


RIVALS: Mapping[str, Maker] = {
    NARROW: _like_diospyros(4),
    IN_ORDER: _like_diospyros(4, scheduled=False),
    WIDE: _like_diospyros(32),
    "without broadcasts": _with_rules(RuleSet(broadcast=False)),
}
"""What makes packets of the same kernels: rivals, and the same engine with one rule less."""


def examine_small(quick: bool, machine: str = "ftmatrix") -> Iterator[Claim | Note]:
    """The 21 kernels that Diospyros was evaluated with: cycles in the simulator, beside those of rivals."""
    path, target = FOLDER / "small.c", load_machine(machine)
    source = Source(str(path), path.read_text())
    file = read_file(source, Options(target="generic"))
    ratios: dict[str, list[float]] = {}
    over_naive: list[float] = []
    right, seconds, count = 0, [], 0
    for function in file.functions:
        if quick and function.name not in QUICK:
            continue
        start = process_time()
        (ours,) = build_packets(source, Options(functions=(function.name,)), target)
        seconds.append(process_time() - start)
        count += 1
        right += ours.planned is not None and not ours.message
        kernel = delinearise(function.regions[0].kernel)
        others = {name: cycles_of(kernel, target, make) for name, make in RIVALS.items()}
        for name, cycles in others.items():
            if cycles and ours.cycles:
                ratios.setdefault(name, []).append(cycles / ours.cycles)
        if others[NARROW] and ours.naive:
            over_naive.append(ours.naive / others[NARROW])
        yield Note(_line(ours, others, seconds[-1]))
    yield at_least("vliw.small.right", right, count)
    for name, found in ratios.items():
        yield Note(f"small kernels: {mean_of(found):.2f}x over {name} (geometric mean of {len(found)})")
    told = f"{NARROW}: {mean_of(over_naive):.1f}x over naive scalar (geometric mean of {len(over_naive)})"
    yield Note(f"{told}; {PAPER_DIOSPYROS}x in the paper, so that this rival is the stronger one")
    yield at_least("vliw.small.over_diospyros_like", mean_of(ratios[NARROW]), DIOSPYROS_BAR)
    yield at_most("vliw.small.seconds", max(seconds), SECONDS_BAR)


def beside_papers(results: Mapping[str, PacketResult], machine: str = "ftmatrix") -> Iterator[Note]:
    """The small kernels of the paper of FT-Matrix by themselves, whose mean over Diospyros is 7.33x there, from 1.31x
    (FFT) to 33.39x (matrix product): its Diospyros is 3.57x over naive scalar code."""
    path, target = FOLDER / "papers.c", load_machine(machine)
    ratios: dict[str, list[float]] = {}
    over_naive: list[float] = []
    for function in read_file(Source(str(path), path.read_text()), Options(target="generic")).functions:
        ours = results.get(function.name)
        if ours is None or ours.message or not ours.cycles:
            continue
        kernel = delinearise(function.regions[0].kernel)
        others = {name: cycles_of(kernel, target, RIVALS[name]) for name in (NARROW, IN_ORDER)}
        beside = ", ".join(f"{name} {cycles or 'none'}" for name, cycles in others.items())
        yield Note(f"{function.name}: {ours.cycles} cycles, naive scalar {ours.naive}; {beside}")
        for name, cycles in others.items():
            if cycles:
                ratios.setdefault(name, []).append(cycles / ours.cycles)
        over_naive += [ours.naive / others[NARROW]] if others[NARROW] else []
    for name, found in ratios.items():
        yield Note(f"the paper's small kernels: {mean_of(found):.2f}x over {name} (geometric mean of {len(found)})")
    yield Note(f"{NARROW}: {mean_of(over_naive):.1f}x over naive scalar there; {PAPER_DIOSPYROS}x in the paper")


def cycles_of(kernel: Kernel, machine: VliwMachine, make: Maker) -> int:
    """What packets take; 0 where there are none, or they are wrong."""
    try:
        lowered, code = make(kernel, machine)
    except (RefusedError, PlanishError):
        return 0
    checked = check_code(code, lowered, kernel, machine, draw_values(kernel, {}))
    return 0 if checked.message else checked.cycles


def _line(ours: PacketResult, others: Mapping[str, int], seconds: float) -> str:
    if ours.planned is None or ours.message:
        return f"{ours.function}: {ours.message or 'refused: ' + ours.remarks[0].message}"
    beside = ", ".join(f"{name} {cycles or 'none'}" for name, cycles in others.items())
    return (
        f"{ours.function}: {ours.cycles} cycles, naive scalar {ours.naive}; {beside}; {ours.planned.described}; "
        f"{seconds:.1f} s"
    )


def mean_of(values: list[float]) -> float:
    """The geometric mean; 0 of none."""
    return exp(sum(map(log, values)) / len(values)) if values else 0.0
