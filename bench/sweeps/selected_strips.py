"""Random nests of integers in strips of selected instructions: executed, they are to give what the nests give.

    python -m bench.sweeps.selected_strips --count 200 --seed 0 --targets x86-avx2,aarch64-neon

Each program (see `random_bodies`) is made into strips for each target, compiled beside the nest as it is, and run
here or under an emulator in memory before and behind which none may be touched, at sizes from nothing to several
strips; for some, the interpreter runs as well. What was judged is stored with the state of planish, so that a run can
be interrupted and goes on.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.targets.execution import AT_END, Machine, Reply, Request, build, call_all, machine

from bench.harness.journal import Journal
from bench.harness.places import RESULTS
from bench.sweeps.random_bodies import random_kernel
from planish.core.diagnostic import Remark
from planish.ir.expr import Var, index
from planish.ir.index.polynomial import constant
from planish.ir.nest import Array, Kernel
from planish.ir.semantics.interpreter import run_kernel
from planish.ir.text.parser import parse_kernel
from planish.ir.traverse import substitute
from planish.isa.instruction import Catalogue
from planish.isa.shipped import shipped
from planish.library.loops.vector_strips.selected_strips import strip_versions
from planish.schedule.auto.plan import Version, prepare
from planish.target.load import load_target

STORE = RESULTS / "selected_strips"
TARGETS = {
    "x86-avx2": ("x86_64", ("avx2", "fma")),
    "x86-avx512": ("x86_64", ("avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512_vnni", "avx512vbmi")),
    "aarch64-neon": ("aarch64", ("asimd", "asimdhp", "asimddp")),
}
"""The processor and the features that programs for a target need."""
LINES = (0, 1, 3, 16, 17, 64, 67, 130, 257)
PLANES = ((0, 9), (1, 0), (1, 1), (2, 3), (3, 40), (4, 65), (4, 131), (5, 67))
"""Sizes whose arrays lie in a page, with their margins; but for interleaved ones, which may not."""
PAGE = 4096
INTERPRETED = 5
"""The interpreter runs one program in so many."""

Record = dict[str, Any]
"""What became of a program: its seed and target, the fault if there is one, why it was refused, versions, seconds."""


class _Late(Exception):
    """A selection took longer than it may."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed")
    parser.add_argument("--targets", default=",".join(TARGETS), help="which, with commas between")
    parser.add_argument("--limit", type=int, default=120, help="seconds that the versions of a program may take")
    parser.add_argument("--slow", type=float, default=40.0, help="seconds from which a selection is a fault")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after these (0: at the end)")
    parser.add_argument("--again", action="store_true", help="judge what was judged once more")
    parser.add_argument("--store", type=Path, default=STORE, help="folder of what was judged")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Judges, stores, counts; 1 where there is a fault."""
    options = parse(arguments)
    targets, reasons = runnable(options.targets.split(","))
    for reason in reasons:
        print(reason)
    wanted = [(seed, x) for seed in range(options.seed, options.seed + options.count) for x in targets]
    found = list[Record]()
    began = time.monotonic()
    try:
        for record in judge_all(wanted, options):
            found.append(record)
            if record["fault"]:
                print(f"FAULT seed {record['seed']} {record['target']}: {record['fault']}: {record['detail'][-600:]}")
            if options.minutes and time.monotonic() - began > 60 * options.minutes:
                break
    except KeyboardInterrupt:
        print("interrupted; the same command goes on")
    return report(found)


def judge_all(wanted: Sequence[tuple[int, str]], options: argparse.Namespace) -> Iterator[Record]:
    """What became of each program on its target: what is stored of this very planish, and else what is judged, which is
    stored at once; the rate and the time that is left on stderr."""
    work = {f"{seed} {target}": partial(judge, seed, target, options) for seed, target in wanted}
    for _, record in Journal(options.store / "programs.jsonl").run(work, again=options.again):
        yield record


def runnable(targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those of some targets whose programs run here, and why the others do not."""
    made = {x: _machine(x) for x in targets}
    reasons = [f"{x} is left out: {y}" for x, y in made.items() if not isinstance(y, Machine)]
    return [x for x, y in made.items() if isinstance(y, Machine)], reasons


def _machine(target: str) -> Machine | str:
    """Signed arithmetic wraps, as in the language; what is not used, or always true, is no fault of a random nest. The
    nest itself is not vectorised: gcc 12 halves sums of 16 signed bits as if they had no sign on Arm."""
    processor, features = TARGETS[target]
    own = load_target(target).flags_for("gcc")
    flags = (*own, "-fwrapv", "-fno-tree-vectorize", "-Wno-psabi", "-Wno-extra", "-Wno-all")
    found = machine(processor, features, flags)
    return replace(found, compiler=(*found.compiler, "-w")) if isinstance(found, Machine) else found


def judge(seed: int, target: str, options: argparse.Namespace) -> Record:
    """What became of a program on a target."""
    record: Record = {"seed": seed, "target": target, "fault": "", "detail": "", "refused": "", "versions": 0}
    record["text"] = text = random_kernel(seed)
    began = time.process_time()
    signal.signal(signal.SIGALRM, _ring)
    try:
        kernel = parse_kernel(text)
        signal.alarm(options.limit)
        made = list(strip_versions(prepare(kernel), load_target(target)))
    except _Late:
        return {**record, "fault": "slow", "detail": f"more than {options.limit} s\n{text}", "seconds": options.limit}
    except Exception:  # whatever it is, it is a fault
        return {**record, "fault": "raises", "detail": f"{traceback.format_exc()[-1500:]}\n{text}", "seconds": 0.0}
    finally:
        signal.alarm(0)
    record["seconds"] = round(time.process_time() - began, 2)
    record["refused"] = next((x.message for x in made if isinstance(x, Remark)), "")
    versions = [x for x in made if not isinstance(x, Remark) and x.catalogue.instructions]
    record["versions"] = len(versions)
    if record["seconds"] > options.slow:
        record |= {"fault": "slow", "detail": f"{record['seconds']} s\n{text}"}
    if versions:
        with tempfile.TemporaryDirectory(prefix="planish-strips-") as folder:
            try:
                wrong = compare(kernel, versions, target, seed, Path(folder))
            except AssertionError as error:
                return {**record, "fault": "compile", "detail": f"{str(error)[:1200]}\n{text}"}
            except Exception:  # whatever it is, it is a fault
                return {**record, "fault": "emission", "detail": f"{traceback.format_exc()[-1500:]}\n{text}"}
        if wrong:
            record |= {"fault": "wrong", "detail": f"{wrong}\n{text}"}
    return record


def _ring(number: int, frame: object) -> None:
    raise _Late


def compare(kernel: Kernel, versions: Sequence[Version], target: str, seed: int, folder: Path) -> str:
    """Where a version differs from the kernel, or that from the interpreter; empty where none does."""
    there = _machine(target)
    assert isinstance(there, Machine)
    known: Catalogue = shipped()
    for x in versions:
        known = known.joined(x.catalogue)
    kernels = [kernel, *(x.kernel for x in versions)]
    program = build(kernels, known, there, folder)
    sizes = [_values(kernel, x, seed) for x in (PLANES if len(kernel.sizes) == 2 else LINES)]
    cases = [x for x in sizes if all(x[y.name].nbytes <= PAGE for y in kernel.arrays)]
    requests = [_request(kernel, x, at, place) for x in cases for place in (AT_END, 0) for at in range(len(kernels))]
    replies = iter(call_all(program, there, requests))
    for number, values in enumerate(cases):
        sizes = [values[x] for x in kernel.sizes]
        for _ in (AT_END, 0):
            expected, *found = [next(replies) for _ in kernels]
            if expected.signal or any(expected.spilled):
                return f"the nest itself touches other memory at {sizes}"
            for version, reply in zip(versions, found, strict=True):
                if reply != expected:
                    return f"{version.name} at {sizes}: {_difference(kernel, expected, reply)}"
        if seed % INTERPRETED == 0 and number in (3, 5):
            run_kernel(kernel, values)
            if tuple(values[x.name].tobytes() for x in kernel.arrays) != expected.arrays:
                return f"the nest itself differs from the interpreter at {sizes}"
    return ""


def _values(kernel: Kernel, sizes: int | tuple[int, ...], seed: int) -> dict[str, Any]:
    """Sizes, scalars and arrays: random ones, and corners."""
    given = sizes if isinstance(sizes, tuple) else (sizes,)
    values: dict[str, Any] = dict(zip(kernel.sizes, given, strict=True))
    random = np.random.default_rng([seed, *given])
    for x in (*kernel.scalars, *kernel.arrays):
        shape = tuple(_extent(y, values) for y in x.shape) if isinstance(x, Array) else ()
        limits = np.iinfo(x.type.numpy)
        drawn = random.integers(limits.min, limits.max, shape, np.dtype(x.type.numpy), endpoint=True)
        corners = random.choice(np.array([limits.min, limits.max, 0, 1], x.type.numpy), shape)
        small = random.integers(max(limits.min, -9), 10, shape).astype(x.type.numpy)
        turn = random.integers(0, 8, shape)
        mixed = np.where(turn == 0, corners, np.where(turn == 1, small, drawn)).astype(x.type.numpy)
        values[x.name] = mixed if isinstance(x, Array) else int(mixed)
    return values


def _extent(x: Any, values: Mapping[str, Any]) -> int:
    sizes = {name: index(value) for name, value in values.items() if isinstance(value, int)}
    found = constant(substitute(x, {name: sizes[name] for name in sizes})) if not isinstance(x, Var) else values[x.name]
    assert found is not None
    return int(found)


def _request(kernel: Kernel, values: Mapping[str, Any], function: int, place: int) -> Request:
    scalars = tuple(np.array(values[x.name], x.type.numpy).tobytes() for x in kernel.scalars)
    arrays = tuple((place, values[x.name].tobytes()) for x in kernel.arrays)
    return Request(function, tuple(values[x] for x in kernel.sizes), scalars, arrays)


def _difference(kernel: Kernel, expected: Reply, found: Reply) -> str:
    if found.signal:
        return f"signal {found.signal}"
    for x, a, b, spilled in zip(kernel.arrays, expected.arrays, found.arrays, found.spilled, strict=True):
        if spilled:
            return f"{spilled} bytes beside `{x.name}` are changed"
        first, second = (np.frombuffer(y, x.type.numpy) for y in (a, b))
        where = np.flatnonzero(first != second)
        if len(where):
            at = where[0]
            return f"{len(where)} elements of `{x.name}`, the first at {at}: {second[at]}, not {first[at]}"
    return "nothing"


def report(records: Sequence[Record]) -> int:
    """What is refused and why, what is wrong, how long selections take; 1 where there is a fault."""
    for target in dict.fromkeys(x["target"] for x in records):
        own = [x for x in records if x["target"] == target]
        made = sum(1 for x in own if x["versions"])
        refused = sum(1 for x in own if x["refused"])
        faults = Counter(x["fault"] for x in own if x["fault"])
        seconds = sorted(x["seconds"] for x in own if x["versions"] or x["refused"])
        print(f"{target}: {len(own)} programs, {made} in strips, {refused} refused, faults {dict(faults)}")
        if seconds:
            print(f"    selections take {seconds[len(seconds) // 2]:.1f} s in the median, {seconds[-1]:.1f} s at most")
    reasons = Counter(re.sub(r"`[^`]*`|\d+", "…", x["refused"]) for x in records if x["refused"])
    for reason, count in reasons.most_common():
        print(f"{count:5}  {reason}")
    return 1 if any(x["fault"] for x in records) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
