"""Records what pieces of tuning take: building and verifying points, timing them, and the bytes that travel.

    python -m bench.sweeps.recorded_pieces --points 6 > bench/sweeps/recorded_pieces.json

Seconds are the processor's (of the process and of those that it starts) for builds, which do not depend on what else
the machine does; for races they are those on the wall, which a race takes by its budget. The rest is in bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from planish.build.read import read_file
from planish.core.files import read_input
from planish.core.span import Source
from planish.options import Options
from planish.run.toolchains.cross import compiler_for
from planish.target.load import load_target
from planish.tuning.measurement import Measurement
from planish.tuning.points.built_point import BuiltPoint
from planish.tuning.points.site import TuningSite, begin_race, build_point, time_built
from planish.tuning.tasks import find_nests

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_suffix(".json")
KERNELS = ("polybench/gemm", "polybench/atax", "polybench/jacobi-2d", "polybench/doitgen", "dsp/fir", "dsp/dot")


@dataclass(frozen=True, slots=True)
class RecordedPieces:
    """Seconds of builds, of the first races and of others; bytes of sites, libraries, and messages of races."""

    spaces: tuple[float, ...]
    builds: tuple[float, ...]
    begins: tuple[float, ...]
    races: tuple[float, ...]
    sites: tuple[int, ...]
    libraries: tuple[int, ...]
    messages: tuple[int, ...]


def read_record() -> RecordedPieces:
    """The record beside this file."""
    return RecordedPieces(**{name: tuple(x) for name, x in json.loads(RECORD.read_text()).items()})


def _spent() -> float:
    return sum(os.times()[:4])


def record(points: int) -> RecordedPieces:
    """Makes and times some points of each kernel here."""
    found: dict[str, list[Any]] = {x: [] for x in RecordedPieces.__dataclass_fields__}
    options, rng = Options(), Random(1)
    target = load_target(options.target)
    for name in KERNELS:
        path = ROOT / "examples" / f"{name}.c"
        if not path.exists():
            continue
        given = read_input(str(path)).source
        source = Source(str(path), given.text)
        site = TuningSite(source, options, 0)
        nests = find_nests(read_file(source, options), options, target, compiler_for(target, None))
        began = _spent()
        space = nests[0].find_space()
        found["spaces"].append(_spent() - began)
        found["sites"].append(len(pickle.dumps(site)))
        _record_nest(site, [space.default, *(space.sample(rng) for _ in range(points))], found)
        print(f"{name}: {len(found['builds'])} builds", file=sys.stderr, flush=True)
    return RecordedPieces(**{name: tuple(x) for name, x in found.items()})


def _record_nest(site: TuningSite, points: list[Any], found: dict[str, list[Any]]) -> None:
    setup = reference = None
    for point in points:
        began = _spent()
        built = build_point(site, point)
        found["builds"].append(round(_spent() - began, 3))
        if isinstance(built, Measurement):
            continue
        found["libraries"].append(len(built.library))
        began = time.monotonic()
        if reference is None or setup is None:
            measured, setup = begin_race(site, built)
            found["begins"].append(round(time.monotonic() - began, 3))
            reference = built
            continue
        measured = time_built(setup, 1.0, built, reference)
        found["races"].append(round(time.monotonic() - began, 3))
        found["messages"].append(len(pickle.dumps((setup, 1.0))) + len(pickle.dumps(measured)) + 2 * _summary(built))


def _summary(built: BuiltPoint) -> int:
    return len(pickle.dumps((built.label, built.code, built.script)))


def main() -> None:
    """Prints the record as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=6)
    made = record(parser.parse_args().points)
    print(json.dumps(asdict(made)))
    for name, values in asdict(made).items():
        print(f"{name}: {len(values)}, median {median(values):.4g}, most {max(values):.4g}", file=sys.stderr)


if __name__ == "__main__":
    main()
