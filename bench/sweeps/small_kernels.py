"""Random small kernels by equality saturation: the packets of each in the simulator beside the kernel's meaning.

    python -m bench.sweeps.small_kernels --count 200
    python -m bench.sweeps.small_kernels --first 17 --count 1
"""

from __future__ import annotations

import argparse

from tests.unit.vliw.random_straight import random_straight

from planish.core.diagnostic import PlanishError
from planish.vliw.description import load_machine
from planish.vliw.machine import VliwMachine
from planish.vliw.saturation.plan import saturated
from planish.vliw.streams.oracle import check_code, draw_values
from planish.vliw.streams.stream import RefusedError

SHOWN = 20


def check(seed: int, machine: VliwMachine) -> str:
    """What is wrong with the packets of a random kernel; "" where nothing is."""
    kernel = random_straight(seed)
    try:
        made = saturated(kernel, machine)
    except (RefusedError, PlanishError) as error:
        return f"refused: {error}"
    return check_code(made.packed.code, made.lowered, kernel, machine, draw_values(kernel, {}, seed)).message


def main() -> None:
    """Prints what is wrong, and how many are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many kernels")
    parser.add_argument("--target", default="ftmatrix", help="the machine")
    given = parser.parse_args()
    machine, wrong = load_machine(given.target), 0
    for n in range(given.count):
        message = check(given.first + n, machine)
        if message:
            wrong += 1
            print(f"seed {given.first + n}: {message}")
        if (n + 1) % SHOWN == 0:
            print(f"{n + 1} kernels, {wrong} wrong or refused", flush=True)
    print(f"{given.count} kernels, {wrong} wrong or refused")


if __name__ == "__main__":
    main()
