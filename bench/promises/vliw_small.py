"""Part of the claims `vliw`: small kernels by equality saturation and loops, beside a vectoriser like Diospyros.

What that one does, and what it has not, is told with its sources in `bench.rivals.diospyros`. It is run with its own 4
lanes, which decides, and with all lanes of the machine.

for item in examine_small(quick=True): print(item)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
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
    functions = [x for x in read_file(source, Options(target="generic")).functions if not quick or x.name in QUICK]
    seconds: dict[str, float] = {}
    right = 0

    def build() -> Iterator[tuple[Kernel, PacketResult]]:
        nonlocal right
        for function in functions:
            start = process_time()
            (ours,) = build_packets(source, Options(functions=(function.name,)), target)
            seconds[function.name] = process_time() - start
            right += ours.planned is not None and not ours.message
            yield function.regions[0].kernel, ours

    over = yield from _compare("small kernels", build(), RIVALS, target)
    yield at_least("vliw.small.right", right, len(functions))
    yield at_least("vliw.small.over_diospyros_like", over, DIOSPYROS_BAR)
    yield Note(f"{max(seconds, key=seconds.__getitem__)} takes the most seconds of all small kernels")
    yield at_most("vliw.small.seconds", max(seconds.values()), SECONDS_BAR)


def beside_papers(results: Mapping[str, PacketResult], machine: str = "ftmatrix") -> Iterator[Note]:
    """The small kernels of the paper of FT-Matrix by themselves, whose mean over Diospyros is 7.33x there, from 1.31x
    (FFT) to 33.39x (matrix product): its Diospyros is 3.57x over naive scalar code."""
    path = FOLDER / "papers.c"
    file = read_file(Source(str(path), path.read_text()), Options(target="generic"))
    kernels = ((x.regions[0].kernel, results[x.name]) for x in file.functions if x.name in results)
    rivals = {name: RIVALS[name] for name in (NARROW, IN_ORDER)}
    yield from _compare("the paper's small kernels", kernels, rivals, load_machine(machine))


def _compare(
    which: str, kernels: Iterable[tuple[Kernel, PacketResult]], rivals: Mapping[str, Maker], machine: VliwMachine
) -> Generator[Note, None, float]:
    """Notes of cycles, kernel by kernel, and of geometric means; returns that over the narrow rival."""
    ratios: dict[str, list[float]] = {name: [] for name in rivals}
    over_naive: list[float] = []
    for kernel, ours in kernels:
        if ours.planned is None or ours.message:
            yield Note(f"{ours.function}: {ours.message or 'refused: ' + ours.remarks[0].message}")
            continue
        others = {name: cycles_of(delinearise(kernel), machine, make) for name, make in rivals.items()}
        for name, cycles in others.items():
            ratios[name] += [cycles / ours.cycles] if cycles and ours.cycles else []
        over_naive += [ours.naive / others[NARROW]] if others[NARROW] and ours.naive else []
        beside = ", ".join(f"{name} {cycles or 'none'}" for name, cycles in others.items())
        told = f"{ours.cycles} cycles, naive scalar {ours.naive}; {beside}; {ours.planned.described}"
        yield Note(f"{ours.function}: {told}")
    for name, found in ratios.items():
        yield Note(f"{which}: {mean_of(found):.2f}x over {name} (geometric mean of {len(found)})")
    told = f"{NARROW}: {mean_of(over_naive):.1f}x over naive scalar (geometric mean of {len(over_naive)})"
    yield Note(f"{told}; {PAPER_DIOSPYROS}x in the paper: where it is more, this rival is the stronger one")
    return mean_of(ratios[NARROW])


def cycles_of(kernel: Kernel, machine: VliwMachine, make: Maker) -> int:
    """What packets take; 0 where there are none, or they are wrong."""
    try:
        lowered, code = make(kernel, machine)
    except (RefusedError, PlanishError):
        return 0
    checked = check_code(code, lowered, kernel, machine, draw_values(kernel, {}))
    return 0 if checked.message else checked.cycles


def mean_of(values: list[float]) -> float:
    """The geometric mean; 0 of none."""
    return exp(sum(map(log, values)) / len(values)) if values else 0.0
