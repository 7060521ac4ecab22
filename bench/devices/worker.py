"""Does the items of a run one after the other: checks of each kernel, then times beside anchors.

    python3 -m bench.devices.worker FOLDER STATE.json --until 1764307200 --place cuda

It ends with 75 where the device is out of order after a fault; the run then starts another one.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bench.devices.arrays import Made, difference, make_values
from bench.devices.manifest import Built, HostFunction, find_head, read_manifest
from bench.devices.native import Native, anchor_heads, object_of, original_of, type_of
from bench.devices.programs import PARTS, PROGRAMS, Measure, Program
from bench.devices.state import State
from bench.devices.suite import measure_program
from bench.devices.timing import Times, run_rounds

AGAIN = 75
ROTATED = 240e6
"""Bytes over which buffers rotate: several times the largest cache."""
MOST_SETS = 12
SHARES = {
    "check": 0.26, "gemm": 0.30, "stencils": 0.14, "time_tiles": 0.22, "rows": 0.5, "small": 0.3, "suite": 0.7,
    "kernels": 1.0,
}  # fmt: skip
"""The share of the time that is left when a part begins."""
MOST_SECONDS = 12.0
"""Of the rounds of one contest."""
LARGEST_DRY = 128


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of work: its name, its part, and what does it within seconds."""

    name: str
    part: str
    work: Callable[[float], dict[str, Any]]


class Worker:
    """All that items need: the prepared folder, its objects, the place of arrays."""

    def __init__(self, folder: Path, state: State, place: str, compile_too: bool):
        self.folder, self.state, self.place, self.compile_too = folder, state, place, compile_too
        self.built = [x for x in read_manifest(folder).built if x.launches]
        self.objects: dict[str, Native] = {}
        heads = anchor_heads((folder / "anchors.cu").read_text())
        anchors = folder / "objects" / "anchors.so"
        self.own = Native(anchors, place, torch, heads) if anchors.exists() else None

    def items(self) -> Iterator[Item]:
        """In order: all checks, then each part's contests."""
        for program in PROGRAMS:
            for x in self._built_of(program):
                yield Item(f"check {x.name}", "check", lambda _, p=program, b=x: self.check(p, b))
        for part in PARTS:
            for program in PROGRAMS:
                if program.part == part and self._built_of(program):
                    for y in program.measures:
                        work = lambda seconds, p=program, m=y: self.measure(p, m, seconds)  # noqa: E731
                        yield Item(f"time {program.name}.{y.name}", part, work)
        for x in self.built:
            if x.sizes and object_of(x, self.folder).exists():
                timed = lambda seconds, b=x: self.measure_suite(b, seconds)  # noqa: E731
                yield Item(f"time {x.program}.large", "suite", timed)
        if self.place == "cuda":
            for program in PROGRAMS:
                for x in self._built_of(program):
                    last = program.measures[-1]
                    yield Item(f"kernels {x.name}", "kernels", lambda _, p=program, b=x, m=last: self.profile(p, b, m))

    def _built_of(self, program: Program) -> list[Built]:
        return [x for x in self.built if x.program == program.name and object_of(x, self.folder).exists()]

    def _object(self, built: Built) -> Native:
        if built.name not in self.objects:
            self.objects[built.name] = Native(object_of(built, self.folder), self.place, torch)
        return self.objects[built.name]

    def bind(self, built: Built, given: Mapping[str, Any]) -> Callable[[], int]:
        """A call of all launches of a version, with workspaces of its own."""
        native, values = self._object(built), dict(given)
        bytes_of = {x.name.removesuffix("_workspace"): x for x in built.workspaces}
        bound: list[Callable[[], int]] = []
        for x in built.launches:
            sized = bytes_of.get(x.name.removesuffix("_launch"))
            if sized is not None:
                size = native.call_sized(sized, values)
                space = torch.full((size // 4 + 64,), float("nan"), device=self.place)
                values = {**values, "workspace": space}
            bound.append(native.bind_function(x, values))
        if len(bound) == 1:
            return bound[0]

        def call() -> int:
            return max(f() for f in bound)

        return call

    def synchronize(self) -> None:
        """Wait until the device is done; raises RuntimeError where it met a fault."""
        if self.place == "cuda":
            torch.cuda.synchronize()

    def check(self, program: Program, built: Built) -> dict[str, Any]:
        """A version beside the C file compiled for the host, at small sizes of which some differ from each other."""
        worst, wrong, calls = 0.0, [], 0
        library = ctypes.CDLL(str(original_of(built, self.folder)))
        head = find_head((self.folder / built.source).read_text(), program.function or program.name)
        for size in program.checks:
            for skew in (0, 1):
                made = make_values(torch, program, program.sizes_at(size, skew), self.place, seed=size + 1)
                wanted = _run_original(library, head, made)
                status = self.bind(built, made.values)()
                self.synchronize()
                calls += 1
                far = {x: difference(torch, made.values[x].cpu(), wanted[x]) for x in made.changed()}
                over = made.overrun()
                if status or over or any(not x <= program.tolerance for x in far.values()):
                    wrong.append(f"{size}{'+' * skew}: status {status}, {far}, overrun {over}")
                worst = max([worst, *(x for x in far.values() if x < 1e30)])
        return {"calls": calls, "worst": worst, "wrong": wrong}

    def measure(self, program: Program, measure: Measure, seconds: float) -> dict[str, Any]:
        """Versions and anchors of a program at a size, in turns; each version is first compared with float64."""
        sizes = self._sizes(program, measure)
        sets = [make_values(torch, program, sizes, self.place, seed=9)]
        while len(sets) < MOST_SETS and len(sets) * sets[0].bytes() < ROTATED and self.place == "cuda":
            sets.append(make_values(torch, program, sizes, self.place, seed=9 + len(sets)))
        wrong: dict[str, str] = {}
        reference = self._reference(program, sets[0])
        contestants: dict[str, list[Callable[[], object]]] = {}
        for built in self._built_of(program):
            made = make_values(torch, program, sizes, self.place, seed=9)
            status = self.bind(built, made.values)()
            self.synchronize()
            far = {x: difference(torch, made.values[x], y.reshape(made.values[x].shape)) for x, y in reference.items()}
            over = made.overrun()
            if status or over or any(not x <= 4 * program.tolerance for x in far.values()):
                wrong[built.version] = f"status {status}, {far}, overrun {over}"
            if status == 0:
                contestants[built.version] = [self.bind(built, x.values) for x in sets]
            del made
        refused: dict[str, str] = {}
        for anchor in program.anchors:
            if anchor.name == "compile" and not self.compile_too:
                continue
            try:
                made_calls = [anchor.make(torch, x.values, self.own) for x in sets]
                made_calls[0]()
                contestants[anchor.name] = made_calls
            except Exception as error:  # An anchor that a library refuses is no reason to lose the others.
                refused[anchor.name] = f"{type(error).__name__}: {error}"[:300]
        self.synchronize()
        del reference
        times = run_rounds(torch, self.place, contestants, min(seconds, MOST_SECONDS))
        work = program.work(sizes)
        return {
            "sizes": sizes, "unit": program.unit, "work": work, "sets": len(sets), "wrong": wrong, "refused": refused,
            "rates": {x: _told(y, work) for x, y in times.items()}, "bars": dict(measure.bars),
            "card_bars": {x: dict(y) for x, y in measure.card_bars.items()},
        }  # fmt: skip

    def measure_suite(self, built: Built, seconds: float) -> dict[str, Any]:
        """A program of PolyBench beside its C file on the host."""
        bind = lambda values: self.bind(built, values)  # noqa: E731
        return measure_program(torch, built, self.folder, self.place, bind, min(seconds / 2, 2.0))

    def profile(self, program: Program, built: Built, measure: Measure) -> dict[str, Any]:
        """Microseconds of each kernel of a version at the last of its sizes."""
        call = self.bind(built, make_values(torch, program, self._sizes(program, measure), self.place, seed=9).values)
        call()
        self.synchronize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
            call()
            self.synchronize()
        kernels: dict[str, float] = {}
        for x in seen.key_averages():
            kernels[x.key[:120]] = round(float(x.device_time_total), 2)
        return {"size": measure.name, "kernels": kernels}

    def _sizes(self, program: Program, measure: Measure) -> dict[str, int]:
        sizes = dict(measure.sizes) or program.sizes_at(measure.size, 0)
        if self.place == "cuda":
            return sizes
        return {x: min(y, 4 if x in ("steps", "count", "batch") else LARGEST_DRY) for x, y in sizes.items()}

    def _reference(self, program: Program, made: Made) -> dict[str, Any]:
        """What a program should have computed, in float64, of the arrays as they are now."""
        if program.reference is None:
            return {}
        values = {x: y.double() if hasattr(y, "double") else y for x, y in made.values.items()}
        return dict(program.reference(torch, values))


def _told(times: Times, work: float) -> dict[str, Any]:
    return {
        "rate": work / times.median, "seconds": times.median, "rounds": len(times.seconds), "calls": times.calls,
        "fastest": min(times.seconds), "slowest": max(times.seconds), "first": round(times.first, 3),
    }  # fmt: skip


def _run_original(library: ctypes.CDLL, head: HostFunction, made: Made) -> dict[str, Any]:
    """Arrays after a call of the C file; what it returns is `sum`."""
    copies = {x: y.cpu().clone() if hasattr(y, "cpu") else y for x, y in made.values.items()}
    function, (result, *parameters) = getattr(library, head.name), head.parameters
    function.restype = type_of(result)
    function.argtypes = [type_of(x) for x in parameters]
    given = [copies[x.name] for x in parameters]
    returned = function(*(x.data_ptr() if hasattr(x, "data_ptr") else x for x in given))
    if returned is not None:
        copies["sum"] = torch.tensor([returned])
    return {x: copies[x] for x in made.changed()}


def main(arguments: list[str]) -> int:
    """Do what is not yet done; 75 where another worker has to go on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("state", type=Path)
    parser.add_argument("--until", type=float, required=True)
    parser.add_argument("--place", default="cuda")
    parser.add_argument("--no-compile", action="store_true")
    given = parser.parse_args(arguments)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    state = State(given.state)
    worker = Worker(given.folder, state, given.place, not given.no_compile)
    items, ends = list(worker.items()), state.content.setdefault("ends", {})
    for number, item in enumerate(items):
        if state.is_done(item.name):
            continue
        now = time.time()
        if item.part not in ends:
            ends[item.part] = now + SHARES[item.part] * max(given.until - now, 0.0)
        left = [x for x in items[number:] if x.part == item.part and not state.is_done(x.name)]
        if now > ends[item.part]:
            state.finish(item.name, {"skipped": "the time of its part was over"})
            continue
        state.begin(item.name, now)
        try:
            found = item.work((ends[item.part] - now) / len(left))
            found["took"] = round(time.time() - now, 2)
            state.finish(item.name, found)
            print(f"{item.name}: {found['took']:.1f} s {_summary(found)}", flush=True)
        except Exception:  # A kernel that fails is reported, and ends nothing.
            state.fail(item.name, traceback.format_exc())
            print(f"{item.name}: failed\n{traceback.format_exc()[-600:]}", flush=True)
            if not _is_sound(given.place):
                return AGAIN
        if given.place == "cuda":
            torch.cuda.empty_cache()
    return 0


def _summary(found: dict[str, Any]) -> str:
    rates = ", ".join(f"{x} {y['rate']:.4g}" for x, y in found.get("rates", {}).items())
    wrong = f"WRONG {found['wrong']}"[:300] if found.get("wrong") else ""
    return f"{rates} {found.get('unit', '')} {wrong}".strip()


def _is_sound(place: str) -> bool:
    """Whether the device still takes work."""
    if place != "cuda":
        return True
    try:
        torch.zeros(8, device="cuda").sum().item()
        torch.cuda.synchronize()
    except Exception:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
