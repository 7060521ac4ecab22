"""The claims `drop-ins`: extraction, verification, speed, build time, and what the tests cover.

    for item in examine(quick=True, stored=False): print(item)
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.guards.build_time import Build, median_seconds, peak_bytes, time_build, time_builds, time_help, worst
from bench.harness.contest import Rules, compiler_state
from bench.harness.places import RESULTS, ROOT
from bench.harness.record import Result, geometric_mean, own_ratios, ratios
from bench.harness.run_suite import Campaign
from bench.harness.suite import Suite, read_source
from bench.promises.claim import Claim, Note, at_least, below
from bench.races.dsp import DSP
from bench.races.polybench import POLYBENCH
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.frontend.c.translation_unit import CFunction
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.run.toolchains.toolchain import find_compilers
from planish.schedule.auto.plan import prepare

TESTS = ROOT / "tests"
NOISE = 0.97
"""Two measurements of the same program differ by this much on a machine that is shared."""

SAMPLE = ((POLYBENCH, "gemver"), (DSP, "fir"), (POLYBENCH, "jacobi-2d"), (DSP, "sobel"), (POLYBENCH, "mvt"))
BUILD_STEP = 10
"""The quick run builds every tenth file."""

BUILD_SECONDS, SAMPLE_SECONDS = 20.0, 40.0
"""The quick run begins no build and no race later than this; one build and one race of each suite are always done."""

_LOOP = re.compile(r"\b(?:for|while|do)\b")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_NAME_OF_COUNT = re.compile(r"PROGRAMS|SEEDS|COUNT")


def examine(quick: bool, stored: bool) -> Iterator[Claim | Note]:
    """All claims; `quick` races a sample at MEDIUM in under a minute and says so in notes."""
    started = time.monotonic()
    yield from examine_extraction()
    yield from examine_tests(run=not (quick or stored))
    yield from examine_builds(quick, started + BUILD_SECONDS)
    if quick:
        yield from examine_sample(started + SAMPLE_SECONDS)
    else:
        yield from examine_races(stored)


def examine_extraction() -> Iterator[Claim | Note]:
    """How many PolyBench kernels are read as loop nests completely."""
    files = POLYBENCH.files()
    missing = {file.stem: why for file in files if (why := find_unread(file))}
    for name, why in missing.items():
        yield Note(f"{name} is not extracted fully: {why}")
    yield at_least("polybench.extracted", len(files) - len(missing), 30)


def find_unread(file: Path) -> str:
    """Why a file is not extracted fully: a loop outside of every region, or a nest that is not affine; "" if it is."""
    source = read_source(file)
    try:
        functions = read_file(source, Options(include_dirs=(file.parent,))).functions
        if not any(function.regions for function in functions):
            return "no region"
        for function in functions:
            if _LOOP.search(_text_outside(function, source.text)):
                return f"a loop of {function.name} is in no region"
            for region in function.regions:
                prepare(region.kernel)
    except NotAffineError as error:
        return error.reason
    except PlanishError as error:
        return error.diagnostic.message
    return ""


def _text_outside(function: CFunction, text: str) -> str:
    """The function's text without its regions and comments."""
    pieces, position = [], function.start
    for region in sorted(function.regions, key=lambda r: r.start):
        pieces.append(text[position : region.start])
        position = region.end
    return _COMMENT.sub(" ", "".join((*pieces, text[position : function.end])))


def examine_tests(run: bool) -> Iterator[Claim | Note]:
    """How many random programs and must-fail inputs the tests hold; `run`: the programs count only if they pass."""
    programs = count_programs(TESTS / "property")
    if run and not _passes(TESTS / "property"):
        yield Note("the property tests fail")
        programs = 0
    yield at_least("property.programs", programs, 500)
    yield at_least("errors.inputs", count_inputs(TESTS / "errors"), 40)


def count_programs(folder: Path) -> int:
    """The programs that the property tests generate, as their modules say it in a constant; 0 if none does."""
    counts = [0]
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(number))):
                    counts += [number] if _NAME_OF_COUNT.search(name) else []
    return max(counts)


def count_inputs(folder: Path) -> int:
    """The files under a folder that are neither the tests themselves nor what Python leaves beside them."""
    machinery = re.compile(r"test_.*\.py|conftest\.py|__init__\.py|.*\.pyc|\..*")
    return sum(path.is_file() and not machinery.fullmatch(path.name) for path in folder.rglob("*"))


def _passes(tests: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", str(tests)]
    return subprocess.run(command, cwd=tests.parent.parent, capture_output=True).returncode == 0


def examine_builds(quick: bool, deadline: float) -> Iterator[Claim | Note]:
    """What a build without measuring costs; `quick` takes a few files, none begun after the deadline."""
    yield below("help.seconds", time_help(3 if quick else 5), 0.3)
    files = (*POLYBENCH.files(), *DSP.files())
    if quick:
        first, *others = files[::BUILD_STEP]
        builds = [time_build(first)]
        for file in others:
            builds += [time_build(file)] if time.monotonic() < deadline else []
        yield Note(f"build times of {len(builds)} files only: {', '.join(build.file for build in builds)}")
    else:
        builds = time_builds(files)
    for build in builds:
        if build.code:
            yield Note(f"build of {build.file} failed with code {build.code}: {_last_line(build)}")
    yield at_least("build.succeeded", sum(build.code == 0 for build in builds), len(builds))
    yield below("build.median_seconds", median_seconds(builds), 1.5)
    yield below("build.worst_seconds", worst(builds).seconds, 10)
    yield below("build.peak_gb", peak_bytes(builds) / 2**30, 1)


def _last_line(build: Build) -> str:
    return build.said.splitlines()[-1] if build.said else "it said nothing"


def examine_races(stored: bool) -> Iterator[Claim | Note]:
    """All kernels at LARGE on one core; what was measured with the present state of planish is not measured again."""
    rules = Rules(find_compilers())
    for suite in (POLYBENCH, DSP):
        campaign = Campaign(suite, "LARGE", rules)
        results = campaign.run(redo="nothing" if stored else "stale")
        stale = [result.file for result in results if result.state != compiler_state()]
        if stale:
            yield Note(f"{suite.name}: measured with another state of planish: {', '.join(stale)}")
        yield from judge(suite, results, len(suite.files()))


def examine_sample(deadline: float) -> Iterator[Claim | Note]:
    """A few kernels at MEDIUM, measured now: one of each suite, and more up to the deadline (of `time.monotonic`)."""
    rules = Rules(find_compilers(), budget=1.0, time_limit=10.0, build_budget=0.3, remember=False)
    found: dict[str, list[Result]] = {POLYBENCH.name: [], DSP.name: []}
    for number, (suite, name) in enumerate(SAMPLE):
        if number < len(found) or time.monotonic() < deadline:
            campaign = Campaign(suite, "MEDIUM", rules, RESULTS / "sample", show=False)
            found[suite.name] += campaign.run((name,), redo="all")
    for suite in (POLYBENCH, DSP):
        results = found[suite.name]
        names = ", ".join(result.file for result in results) or "nothing"
        yield Note(f"{suite.name}: a sample at MEDIUM, {len(results)} of {len(suite.files())} files: {names}")
        yield from judge(suite, results, len(results))


def judge(suite: Suite, results: Sequence[Result], wanted: int) -> Iterator[Claim | Note]:
    """The claims on one suite's results, of which `wanted` should be there and verified."""
    for result in results:
        if not result.verified:
            yield Note(f"{result.file} is not verified: {result.error or _trouble(result)}")
    yield at_least(f"{suite.name}.verified", sum(result.verified for result in results), wanted)
    own = own_ratios(results)
    if own:
        slowest = min(own, key=lambda name: own[name])
        yield Note(f"{suite.name}: the least ratio is that of {slowest}")
    yield at_least(f"{suite.name}.never_slower", min(own.values(), default=0.0), NOISE)
    if suite is POLYBENCH:
        yield at_least("polybench.over_compilers", geometric_mean(ratios(results, "compiler")), 1.5)
        yield at_least("polybench.over_polly", geometric_mean(ratios(results, "polly")), 1.0)


def _trouble(result: Result) -> str:
    reasons = [f"{x.label}: {x.reason}" for heat in result.heats for x in heat.left_out if x.team == "ours"]
    return "; ".join(reasons) or "its drop-in was not timed"
