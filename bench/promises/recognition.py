"""The claims `recognition`: what is found in the corpus and run, what it costs, and how fast it is.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.guards.build_time import find_command
from bench.harness.contest import Rules, compiler_state
from bench.harness.places import EXAMPLES
from bench.harness.record import Result, geometric_mean, ratios
from bench.harness.run_suite import Campaign
from bench.harness.suite import Suite
from bench.promises.claim import Claim, Note, at_least, at_most
from bench.races import dense_algebra
from bench.races.dense_algebra import CHAINS, count_products, least_products
from bench.races.polybench import POLYBENCH
from bench.raising import cost
from bench.raising.corpus_run import Record, format_missed, run_corpus, run_misses
from bench.rivals.blas_baselines import Anchor
from planish.run.toolchains.toolchain import find_compilers

DROP_INS = EXAMPLES / "programs"
SAMPLE_STEP, SAMPLE_SHARE = 9, 4
"""The quick run takes every ninth program, and a quarter of each size."""

SAMPLE_KERNELS = ("gemm", "deriche")
SAMPLE_PROGRAMS = ("gemm", "contraction_abc_ad_bdc")
ROUNDS = 5


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All claims; `quick` takes a sample and says so in notes."""
    yield from examine_corpus(quick)
    yield from examine_misses(quick)
    if stored:
        yield Note("costs and programs are not stored: measure them without --stored")
    else:
        yield from examine_cost(quick)
        yield from examine_programs(quick)
        yield from examine_chains(quick)
    yield from examine_polybench(quick, stored)
    if not quick and not stored:
        yield from examine_drop_ins()


def examine_corpus(quick: bool) -> Iterator[Claim | Note]:
    """The share of the sites that are found, and the matches that compute something else than the original."""
    records = run_corpus(step=SAMPLE_STEP if quick else 1)
    if quick:
        yield Note(f"a sample of {len(records)} programs of the corpus")
    for line in format_missed(records).splitlines():
        yield Note(line)
    groups = dict.fromkeys(x.group for x in records)
    for group in groups:
        found, sites = count_found([x for x in records if x.group == group])
        yield Note(f"{group}: {found} of {sites} sites")
    found, sites = count_found(records)
    yield at_least("raising.recall", found / sites, 0.98)
    wrong = [x for x in records if x.wrong]
    yield at_most("raising.false_matches", len(wrong), 0)
    if not quick:
        yield at_least("raising.figure9_programs", sum(map(_is_complete, _of("programs", records))), 16)


def count_found(records: Sequence[Record]) -> tuple[int, int]:
    """How many sites were found in programs that run right, and how many there are."""
    found = [bool(x.form) and not r.wrong for r in records for x in r.findings]
    return sum(found), len(found)


def _of(group: str, records: Sequence[Record]) -> list[Record]:
    return [x for x in records if x.group == group]


def _is_complete(record: Record) -> bool:
    return not record.wrong and all(x.form for x in record.findings)


def examine_misses(quick: bool) -> Iterator[Claim | Note]:
    """Programs that look like an operation and are none."""
    records = run_misses(step=SAMPLE_STEP if quick else 1)
    for line in format_missed(records).splitlines():
        yield Note(line)
    yield at_least("raising.near_misses", len(records), len(records) if quick else 200)
    yield at_most("raising.near_misses_matched", sum(bool(x.taken) for x in records), 0)
    yield at_most("raising.near_misses_wrong", sum(bool(x.wrong) for x in records), 0)


def examine_cost(quick: bool) -> Iterator[Claim | Note]:
    """The seconds to raise each kernel, and what they add to its build."""
    files = POLYBENCH.files(SAMPLE_KERNELS if quick else ())
    with tempfile.TemporaryDirectory(prefix="planish-raising-") as name:
        first = cost.raise_apart(files[0], Path(name))
        costs = cost.measure(files, Path(name))
    slowest = max(costs, key=lambda x: x.seconds)
    yield Note(f"once on a machine, what operations are compared by is made too: {first:.2f} s for the first kernel")
    yield Note(f"the slowest to raise is {slowest.file}, in a process of its own")
    yield at_most("raising.worst_seconds", max(slowest.seconds, first), 2)
    yield at_most("raising.share_of_build", cost.share_of(costs), 0.12)


def examine_programs(quick: bool) -> Iterator[Claim | Note]:
    """The programs of Figure 9 against the same programs calling OpenBLAS."""
    library = dense_algebra.find_library()
    if not isinstance(library, Anchor):
        yield Note(f"skipped the programs: {library}")
        return
    share = SAMPLE_SHARE if quick else 1
    wanted = [x for x in dense_algebra.programs(share, library.path) if not quick or x.name in SAMPLE_PROGRAMS]
    results = dense_algebra.run(wanted, dense_algebra.folder_of("programs", share), dense_algebra.make_rules(quick))
    if quick:
        yield Note(f"{len(results)} programs, sizes divided by {share}")
    for result in results:
        yield Note(f"{result.file}, over {library.name} {library.version}: {dense_algebra.summarise(result, 'blas')}")
    found = ratios(results, "blas")
    yield at_least("raising.programs_timed", len(found), len(wanted))
    yield at_least("raising.over_openblas", geometric_mean(found), 1.2)
    yield at_least("raising.over_openblas_least", min(found, default=0.0), 0.95)


def examine_chains(quick: bool) -> Iterator[Claim | Note]:
    """Chains of products, in the best order over that in which they are written."""
    share = SAMPLE_SHARE if quick else 1
    wanted = [x for x in dense_algebra.chains(share) if not quick or x.name == "chain4"]
    folder = dense_algebra.folder_of("chains", share)
    for result in dense_algebra.run(wanted, folder, dense_algebra.make_rules(quick), team="apart"):
        yield from judge_chain(result, share)


def judge_chain(result: Result, share: int) -> Iterator[Claim | Note]:
    """A chain's ratio against nine tenths of the ratio of the multiplications."""
    yield Note(f"{result.file}, reordered over as written: {dense_algebra.summarise(result, 'apart')}")
    sizes = [x // share for x in CHAINS[result.file]]
    bar = 0.9 * count_products(sizes) / least_products(sizes)
    yield at_least(f"raising.{result.file}", next(iter(ratios([result], "apart")), 0.0), round(bar, 3))


def examine_polybench(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All 30 kernels over the best of gcc, clang and Polly; the race is that of `python -m bench.races.polybench`."""
    results, notes = race_suite(POLYBENCH, quick, stored)
    yield from notes
    if results:
        yield at_least("raising.polybench_over_best", geometric_mean(over_best(results)), 2.5)


def race_suite(suite: Suite, quick: bool, stored: bool) -> tuple[list[Result], list[Note]]:
    """The race of a suite at LARGE sizes, or what is stored of it, and what has to be known of that."""
    campaign = Campaign(suite, "LARGE", Rules(find_compilers()))
    results = campaign.results() if quick else campaign.run(redo="nothing" if stored else "stale")
    notes = []
    if quick:
        notes.append(Note(f"{suite.name}: the stored race, {len(results)} of {len(suite.files())} files"))
    stale = [x.file for x in results if x.state != compiler_state()]
    if stale:
        notes.append(Note(f"measured with another state of planish: {', '.join(stale)}"))
    return results, notes


def over_best(results: Sequence[Result]) -> list[float]:
    """Of each function the ratio over whoever is fastest, a compiler or Polly."""
    found = ([r for r in (heat.ratio("compiler"), heat.ratio("polly")) if r] for x in results for heat in x.heats)
    return [min(of_one) for of_one in found if of_one]


def examine_drop_ins() -> Iterator[Claim | Note]:
    """Programs of others, built with planish and without: the same output, and faster."""
    for folder in sorted(x for x in DROP_INS.iterdir() if (x / "Makefile").exists()):
        ratio, note = race_drop_in(folder)
        if note:
            yield Note(f"{folder.name}: {note}")
        yield at_least(f"raising.program_{folder.name}", ratio, 1.0)


def race_drop_in(folder: Path) -> tuple[float, str]:
    """How many times faster the program is with its drop-in; 0 where that does not print the same, and why."""
    with tempfile.TemporaryDirectory(prefix="planish-program-") as name:
        place = Path(name) / folder.name
        place.mkdir()
        shutil.copy(folder.parent / "program.mk", name)
        for path in folder.iterdir():
            if path.is_file():
                shutil.copy(path, place)
        made = subprocess.run(
            ["make", "compare", f"PLANISH={' '.join(find_command())}"], cwd=place, capture_output=True, text=True
        )
        if made.returncode:
            return 0.0, (made.stderr or made.stdout).strip().splitlines()[-1]
        names = (folder.name, f"{folder.name}-planish")
        plain, ours = ([_run(place / program) for _ in range(ROUNDS)] for program in names)
    return min(plain) / min(ours), f"{min(plain):.3f} s as it is, {min(ours):.3f} s with its drop-in"


def _run(program: Path) -> float:
    started = time.perf_counter()
    subprocess.run([str(program)], cwd=program.parent, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
