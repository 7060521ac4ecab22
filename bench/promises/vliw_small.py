"""Part of the claims `vliw`: small kernels by equality saturation and loops, beside a vectoriser like Diospyros.

That one is the same engine with fewer rules: vectors are filled with what follows in memory, operands come by shuffles;
there is no broadcast, no sum of lanes, nothing is computed one by one beside vectors, and no loop. It is told for all
lanes of the machine, and for the 4 that Diospyros has.

for item in examine_small(quick=True): print(item)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp, log
from pathlib import Path
from time import process_time

from bench.promises.claim import Claim, Note, at_least, at_most
from planish.build.packets import PacketResult, build_packets
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.ir.nest import Kernel
from planish.options import Options
from planish.poly.canonical.delinearise import delinearise
from planish.vliw.description import load_machine
from planish.vliw.machine import VliwMachine
from planish.vliw.saturation.plan import saturated
from planish.vliw.saturation.rules import RuleSet
from planish.vliw.streams.oracle import check_code, draw_values
from planish.vliw.streams.stream import RefusedError

FOLDER = Path(__file__).resolve().parents[1] / "programs" / "vliw"
QUICK = ("mm_2_2_2", "mm_3_3_3", "conv_3_3_2", "conv_4_4_3", "qprod")
DIOSPYROS_BAR, SECONDS_BAR = 7.33, 5.0
DIOSPYROS_LIKE = RuleSet(broadcast=False, fold=False, scalars=False)
VARIANTS: Mapping[str, RuleSet] = {
    "like Diospyros, all lanes": DIOSPYROS_LIKE,
    "like Diospyros, 4 lanes": RuleSet(broadcast=False, fold=False, scalars=False, width=4),
    "without broadcasts": RuleSet(broadcast=False),
}
"""The same engine with fewer rules."""


def examine_small(quick: bool, machine: str = "ftmatrix") -> Iterator[Claim | Note]:
    """The 21 kernels that Diospyros was evaluated with: cycles in the simulator, those of loops alone, and those of the
    same engine with fewer rules."""
    path, target = FOLDER / "small.c", load_machine(machine)
    source = Source(str(path), path.read_text())
    file = read_file(source, Options(target="generic"))
    ratios: dict[str, list[float]] = {}
    right, seconds, count = 0, [], 0
    for function in file.functions:
        if quick and function.name not in QUICK:
            continue
        start = process_time()
        (ours,) = build_packets(source, Options(function=function.name), target)
        seconds.append(process_time() - start)
        count += 1
        right += ours.planned is not None and not ours.message
        kernel = delinearise(function.regions[0].kernel)
        others = {name: cycles_of(kernel, target, rules) for name, rules in VARIANTS.items()}
        others["loops alone"] = ours.loop_cycles if ours.loops is not None else ours.cycles
        for name, cycles in others.items():
            if cycles and ours.cycles:
                ratios.setdefault(name, []).append(cycles / ours.cycles)
        yield Note(_line(ours, others, seconds[-1]))
    yield at_least("vliw.small.right", right, count)
    for name, found in ratios.items():
        yield Note(f"small kernels: {mean_of(found):.2f}x over {name} (geometric mean of {len(found)})")
    # The stricter of the two decides.
    yield at_least("vliw.small.over_diospyros_like", mean_of(ratios["like Diospyros, all lanes"]), DIOSPYROS_BAR)
    yield at_most("vliw.small.seconds", max(seconds), SECONDS_BAR)


def cycles_of(kernel: Kernel, machine: VliwMachine, rules: RuleSet) -> int:
    """What the engine's packets take with some rules; 0 where there are none, or they are wrong."""
    try:
        made = saturated(kernel, machine, rules)
    except (RefusedError, PlanishError):
        return 0
    checked = check_code(made.packed.code, made.lowered, kernel, machine, draw_values(kernel, {}))
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
