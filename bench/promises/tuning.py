"""The claims `tuning`: the trial store loses nothing, records give the same C, searches are compared, what is gained.

for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from bench.figures.searches import compare
from bench.harness.record import geometric_mean
from bench.promises import tuning_farms
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.sweeps.killed_writers import TASK, kill_writers
from bench.sweeps.recorded_spaces import read_spaces
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.files import read_input
from planish.core.span import Source
from planish.ir.text.canonical_nest import canonical_text
from planish.options import Options
from planish.pipeline import build_file
from planish.schedule.arguments import NestChoice, Point
from planish.tuning.choices import print_record, read_record
from planish.tuning.session import TuningWishes, tune_file
from planish.tuning.store.trial_store import TrialStore
from planish.tuning.trial import TuningTrial
from planish.tuning.tuner import TuningBudget

ROOT = Path(__file__).resolve().parents[2]
KERNELS = (
    "polybench/gemm", "polybench/2mm", "polybench/mvt", "polybench/atax", "polybench/bicg", "polybench/gesummv",
    "polybench/gemver", "polybench/syrk", "polybench/trmm", "polybench/jacobi-2d", "polybench/heat-3d",
    "polybench/fdtd-2d", "polybench/correlation", "polybench/doitgen", "dsp/fir", "dsp/fft_radix2",
    "dsp/autocorrelation", "dsp/conv2d", "dsp/dot", "dsp/histogram",
)  # fmt: skip
"""Files of examples/ that are tuned, as far as they are there."""
TRIALS, SEEDS = 30, 10


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """quick: fewer kills, seeds and kernels. stored: nothing is tuned."""
    yield from _examine_store(100 if quick else 1000)
    yield from _examine_records()
    yield from tuning_farms.examine(quick)
    yield from _examine_searches(1 if quick else 3, 3 if quick else SEEDS)
    if quick or stored:
        yield Note("what tuning gains takes a minute a kernel: run without --quick and --stored, on a quiet machine")
    else:
        yield from _examine_gains(60.0)


def _examine_store(kills: int) -> Iterator[Claim | Note]:
    """Writers that are killed, and a full disk."""
    with tempfile.TemporaryDirectory(prefix="planish-claims-") as folder:
        found = kill_writers(kills, 4, Path(folder))
        yield Note(f"{kills} kill -9, 4 writers, {found.committed} trials committed, damage: {found.damage or 'none'}")
        yield at_most("tuning.lost_trials", found.lost, 0)
        yield at_most("tuning.corrupted_stores", int(bool(found.damage)), 0)
        told, lost = _fill_disk(TrialStore(Path(folder) / "full.sqlite"))
        yield at_least("tuning.full_disk_told", int(told), 1)
        yield at_most("tuning.full_disk_lost", lost, 0)


def _fill_disk(store: TrialStore) -> tuple[bool, int]:
    """Whether a writer whose file may not grow any more is told so, and how many committed trials are lost."""
    trial = TuningTrial("ok", 1.0, 2.0, message="x" * 4000, task=TASK, point=Point())
    notes = store.path.with_suffix(".notes")
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
            out = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            for number in range(1 << 20):
                made = replace(trial, seed=number)
                store.add(made)
                os.write(out, f"{made.digest}\n".encode())
        except PlanishError as error:
            code = 0 if error.diagnostic.code == "E0920" else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    committed = set(notes.read_text().split())
    return os.waitstatus_to_exitcode(status) == 0, len(committed - {x.digest for x in store.trials()})


def _examine_records() -> Iterator[Claim | Note]:
    """Two builds by one record, without a clock, each with an empty cache."""
    source = Source("matvec.c", _MATVEC)
    choice = Point.of({"version": "gemv-rows", "gemv-rows.rows": 4})
    with tempfile.TemporaryDirectory(prefix="planish-claims-") as folder:
        texts = []
        for number in range(2):
            home = Path(folder) / str(number)
            home.mkdir()
            os.environ["XDG_CACHE_HOME"], before = str(home), os.environ.get("XDG_CACHE_HOME")
            try:
                texts.append(_build_by(source, choice))
            finally:
                os.environ.pop("XDG_CACHE_HOME") if before is None else os.environ.update(XDG_CACHE_HOME=before)
    yield at_least("tuning.replay_identical", int(texts[0] == texts[1] and "tuned" in texts[0]), 1)


def _build_by(source: Source, point: Point) -> str:
    plain = Options(target="x86-avx2", measure=False)
    kernel = read_file(source, plain).functions[0].regions[0].kernel
    record = print_record([NestChoice(canonical_text(kernel), point, "claims")])
    options = replace(plain, choices=read_record(Source("record.json", record)))
    return build_file(source, options).text


def _examine_searches(spaces: int, seeds: int) -> Iterator[Claim | Note]:
    """The searches on spaces that were recorded: how far from the best of all each is after some trials."""
    if find_spec("optuna") is None:
        yield Note("Optuna is not here: nothing is compared with its TPE (pip install 'planish[tune]')")
    ends: dict[str, list[float]] = {}
    for space in islice(read_spaces(), spaces):
        for name, curve in compare(space, TRIALS, seeds).items():
            ends.setdefault(name, []).append(curve[-1])
            shown = ", ".join(f"{curve[n - 1]:.3f} after {n}" for n in (1, 10, 20, TRIALS))
            yield Note(f"{space.name} ({len(space.recorded.ratios)} points), {name}: regret {shown}")
    for rival in ("tpe", "evolutionary"):
        if rival in ends:
            ratio = geometric_mean(ends["model"]) / geometric_mean(ends[rival])
            yield at_most(f"tuning.model_over_{rival}", ratio, 1.0)


def _examine_gains(seconds: float) -> Iterator[Claim | Note]:
    """What tuning gains over the default choice."""
    ratios, clocked = list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="planish-claims-") as folder:
        store = TrialStore(Path(folder) / "trials.sqlite")
        for name in KERNELS:
            path = ROOT / "examples" / f"{name}.c"
            if not path.exists():
                yield Note(f"{name} is not here")
                continue
            wishes = TuningWishes(TuningBudget(seconds=seconds))
            for found in tune_file(read_input(str(path)).source, Options(), wishes, store, tell=_tell):
                if found.result is None or found.result.best is None:
                    yield Note(f"{found.nest.label}: not tuned")
                    continue
                best = found.result.best.score
                ratios.append(1 / best)
                # A build with the clock takes the fastest of the versions as they are by default.
                space, trials = found.space, [*store.trials(found.nest.task)]
                firsts = {space.default_of(x) for x in space.alternatives}
                chosen = min(x.score for x in trials if x.point in firsts)
                clocked.append(max(1.0, chosen / best))
                told = f"{1 / best:.2f}x over the model's choice, {clocked[-1]:.2f}x over the clock's"
                yield Note(f"{found.nest.label}: {told}, in {found.result.trials} trials")
    if ratios:
        yield at_most("tuning.clocked_default_worst", max(clocked), 1.10)
        yield at_least("tuning.over_default", geometric_mean(ratios), 1.05)
        yield at_least("tuning.over_default_worst", min(ratios), 1.0)


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


_MATVEC = """\
void matvec(int m, int n, const double *restrict A, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            y[i] += A[i * n + j] * x[j];
}
"""
