"""Spaces of which every point was measured: searches are compared on them without a machine, and give the same curves.

    python -m bench.sweeps.recorded_spaces --record FOLDER     # measures what is not there yet; Ctrl-C keeps the rest
    for space in read_spaces(): print(space.name, space.recorded.space.size())

Each is a nest with some values of the arguments that `planish tune` has for it. A file has a line for each point: its
values, what its strategy knows of it, and its time over that of the default, by the processor's time in turns.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from planish.build.job import make_job, make_workbench
from planish.build.read import read_file
from planish.build.verify import compile_shipped
from planish.core.span import Source
from planish.options import Options
from planish.run.timing.clock import ClockError, measure
from planish.schedule.arguments import (
    VERSION,
    Point,
    TuningArgument,
    TuningArguments,
    TuningConstraint,
    TuningFeature,
    Value,
)
from planish.target.load import load_target
from planish.tuning.measurement import Measurement
from planish.tuning.points.builder import PointBuilder
from planish.tuning.recorded_space import RecordedSpace
from planish.tuning.spaces.search_space import SearchSpace
from planish.tuning.tasks import find_nests

PLACE = Path(__file__).resolve().parents[1] / "programs" / "spaces"
"""Where the recorded spaces are."""
TOGETHER = 10
"""Points that are timed in one race, beside the default."""
SECONDS = 0.12
"""For each of them."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A nest of which all points are measured: its C, sizes, versions, and the values of arguments by the end of their
    names; an argument that is not named is as by default."""

    text: str
    sizes: Mapping[str, int]
    versions: tuple[str, ...]
    values: Mapping[str, tuple[int, ...]]


RECORDINGS = {
    "product": Recording(
        "void f(int n, int m, int k, const float *restrict A, const float *restrict B, float *restrict C)\n"
        "{\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++)\n"
        "            for (int p = 0; p < k; p++)\n                C[i * m + j] += A[i * k + p] * B[p * m + j];\n}\n",
        {"n": 192, "m": 192, "k": 192}, ("maxfuse",),
        {"tile.1.1": (0, 16, 64), "tile.1.2": (0, 64), "tile.1.3": (0, 64),
         "jam.1.1": (1, 2, 4, 8), "jam.1.3": (1, 2, 4, 8), "lanes.1": (2, 3)},
    ),
    "transposed sum": Recording(
        "void f(int n, int m, const double *restrict a, const double *restrict b, double *restrict c)\n"
        "{\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++)\n"
        "            c[i * m + j] = a[i * m + j] + b[j * n + i];\n}\n",
        {"n": 700, "m": 700}, ("maxfuse",),
        {"tile.1.1": (0, 8, 16, 64, 256), "tile.1.2": (0, 8, 16, 64, 256), "jam.1.1": (1, 2, 4, 8),
         "jam.1.2": (1, 4, 8), "lanes.1": (1, 2)},
    ),
    "two products with vectors": Recording(
        "void f(int n, int m, const double *restrict A, const double *restrict p, const double *restrict r,\n"
        "       double *restrict q, double *restrict s)\n"
        "{\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++) {\n"
        "            s[j] += r[i] * A[i * m + j];\n            q[i] += A[i * m + j] * p[j];\n        }\n}\n",
        {"n": 600, "m": 800}, ("maxfuse", "original", "inter-nest-tiling"),
        {f"jam.{band}.{loop}": (1, 2, 4, 8) for band in (1, 2, 3, 4) for loop in (1, 2)}
        | {f"lanes.{band}": (1, 2) for band in (1, 2, 3, 4)},
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class NamedSpace:
    """A recorded space and what it is called."""

    name: str
    recorded: RecordedSpace


def read_spaces(folder: Path = PLACE) -> Iterator[NamedSpace]:
    """The spaces that are in a folder, as far as they were recorded to their end."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(x) for x in path.read_text().splitlines()]
        yield NamedSpace(path.stem.replace("-", " "), _rebuild(lines))


def _rebuild(lines: list[dict[str, object]]) -> RecordedSpace:
    """The space whose points are those of a file, the first one its default."""
    points: dict[Point, float] = {}
    known: dict[Point, Mapping[str, float]] = {}
    for line in lines:
        values, ratio, features = line["point"], line["ratio"], line["features"]
        assert isinstance(values, dict) and isinstance(features, dict) and isinstance(ratio, float | None)
        point = Point.of(values)
        points[point], known[point] = inf if ratio is None else ratio, features
    versions = list(dict.fromkeys(str(x.get(VERSION)) for x in points))
    return RecordedSpace(SearchSpace({x: _arguments(x, points, known) for x in versions}), points)


def _arguments(
    version: str, points: Mapping[Point, float], known: Mapping[Point, Mapping[str, float]]
) -> TuningArguments:  # fmt: skip
    """The arguments of a version with the values that were recorded, together as they were."""
    own = [x for x in points if x.get(VERSION) == version]
    names = [name for name, _ in own[0].values if name != VERSION]
    values: dict[str, list[Value]] = {
        name: sorted({y for x in own if (y := x.get(name)) is not None}, key=lambda y: (isinstance(y, str), y))
        for name in names
    }
    arguments = tuple(TuningArgument(x, tuple(values[x]), own[0].as_dict()[x]) for x in names)

    def point_of(given: Mapping[str, Value]) -> Point:
        return Point.of({VERSION: version, **{x: given[x] for x in names if x in given}})

    there = TuningConstraint(tuple(names), lambda given: point_of(given) in points, "it was recorded")
    features = tuple(
        TuningFeature(x, tuple(names), lambda given, x=x: known.get(point_of(given), {}).get(x, 0.0))  # type: ignore[misc]
        for x in known[own[0]]
    )
    return TuningArguments(arguments, (there,) if names else (), features)


def record(name: str, recording: Recording, folder: Path) -> None:
    """Measures all points of a recording that its file has not yet."""
    path = folder / f"{name.replace(' ', '-')}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    done = {Point.of(json.loads(x)["point"]) for x in path.read_text().splitlines()} if path.exists() else set[Point]()
    source = Source(f"{name.replace(' ', '-')}.c", recording.text)
    options = Options(sizes=recording.sizes, raising=False)
    target = load_target(options.target)
    with tempfile.TemporaryDirectory(prefix="planish-record-") as place:
        bench = make_workbench(options, target, Path(place), source)
        file = read_file(source, options)
        (nest,) = find_nests(file, options, target, bench.compiler)
        builder = PointBuilder.of(nest, make_job(file.functions, file, options, target, bench))
        whole = nest.find_space()
        space = SearchSpace({x: restrict(whole, x, recording) for x in recording.versions if x in whole.alternatives})
        points = [x for x in space.points() if x not in done]
        print(f"{name}: {space.size()} points, {len(points)} left", flush=True)
        default = space.default
        for start in range(0, len(points), TOGETHER):
            batch = points[start : start + TOGETHER]
            ratios = _race(builder, default, batch)
            with path.open("a") as out:
                for point in batch:
                    own = space.alternatives[str(point.get(VERSION))].features
                    features = {x.name: round(x.of(point.as_dict()), 4) for x in own}
                    line = {"point": point.as_dict(), "ratio": ratios.get(point), "features": features}
                    out.write(json.dumps(line) + "\n")
            print(f"{name}: {len(points) - start - len(batch)} left", flush=True)


def restrict(space: SearchSpace, version: str, recording: Recording) -> TuningArguments:
    """A version's arguments with the values of a recording and their defaults."""
    own = space.alternatives[version]

    def values(x: TuningArgument) -> tuple[Value, ...]:
        given = next((y for end, y in recording.values.items() if x.name.endswith(f".{end}")), ())
        return tuple(sorted({x.default, *given}, key=str if isinstance(x.default, str) else int))

    return replace(own, arguments=tuple(replace(x, values=values(x)) for x in own.arguments))


def _race(builder: PointBuilder, default: Point, batch: list[Point]) -> dict[Point, float]:
    """The times of points over that of the default in one race; those that fail are left out."""
    made = {}
    for point in (default, *(x for x in batch if x != default)):
        found = builder.make(point)
        if not isinstance(found, Measurement):
            made[point] = compile_shipped(found, builder.signature, builder.job.bench)
    labels = [(str(number), library) for number, library in enumerate(made.values())]
    try:
        times = measure(labels, builder.signature, builder.clocks[0], SECONDS * len(labels), 5)
    except ClockError:
        return {}
    before = times[0].median
    return {point: time.median / before for point, time in zip(made, times, strict=True)}


def main() -> None:
    """Records what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, default=PLACE, metavar="FOLDER", help="where the files are")
    for name, recording in RECORDINGS.items():
        record(name, recording, parser.parse_args().record)


if __name__ == "__main__":
    main()
