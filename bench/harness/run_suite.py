"""A suite raced from end to end: each file's result is stored as it comes, so that a run can stop and go on.

    campaign = Campaign(POLYBENCH, "LARGE", Rules(find_compilers()))
    results = campaign.run(only=("gemm",), redo="missing")
    print(format_table(results))
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from json import dumps
from pathlib import Path
from typing import Literal

from bench.harness.contest import Rules, compiler_state, digest, hold, machine_name
from bench.harness.places import RESULTS
from bench.harness.progress import Progress
from bench.harness.record import Heat, Result, Team, geometric_mean, load, own_ratios, ratios, save, write_atomically
from bench.harness.suite import DATASETS, Suite, read_source
from planish.core.diagnostic import PlanishError
from planish.run.toolchains.toolchain import Compiler, choose_compiler, find_compilers

Redo = Literal["missing", "stale", "all", "nothing"]
"""Which files are measured: those without a result (or with an error that planish may have mended since), also those
of another state of planish, all, or none."""

INTERRUPTED = 130
_WIDEST = 70


@dataclass(frozen=True, slots=True)
class Campaign:
    """A suite at one dataset under fixed rules; its results lie in a folder of their own under `root`."""

    suite: Suite
    dataset: str
    rules: Rules
    root: Path = RESULTS
    show: bool = True

    @property
    def folder(self) -> Path:
        """Where the results are stored, one file each."""
        chosen = f"-{Path(self.rules.builder).name}" if self.rules.builder else ""
        return self.root / f"{self.suite.name}-{self.dataset.lower()}{chosen}"

    def stored(self, file: Path) -> Result | None:
        """The result of an earlier run for this very text, whatever planish was then."""
        result = load(self.folder / f"{file.stem}.json")
        return result if result is not None and result.source == digest(read_source(file).text) else None

    def results(self, only: Sequence[str] = ()) -> list[Result]:
        """What is stored."""
        found = (self.stored(file) for file in self.suite.files(only))
        return [result for result in found if result is not None]

    def run(self, only: Sequence[str] = (), redo: Redo = "missing") -> list[Result]:
        """Measures what `redo` asks for; all results, stored and new. KeyboardInterrupt leaves what was stored."""
        files = self.suite.files(only)
        wanted = [file for file in files if self._is_wanted(file, redo)]
        progress = Progress(len(files), len(files) - len(wanted), self.show)
        try:
            for file in wanted:
                progress.begin(file.stem)
                result = hold(self.suite, file, self.dataset, self.rules, progress.tell)
                save(self.folder / f"{file.stem}.json", result)
                progress.finish(_summarise(result))
        finally:
            progress.close()
        return self.results(only)

    def _is_wanted(self, file: Path, redo: Redo) -> bool:
        if redo in ("all", "nothing"):
            return redo == "all"
        result = self.stored(file)
        if result is None:
            return True
        # An error of another state may be mended by now: to try again costs little.
        return (redo == "stale" or bool(result.error)) and result.state != compiler_state()


def format_table(results: Sequence[Result]) -> str:
    """All functions in rows: the best of each team, the ratios, and what was done."""
    head = ("function", "compilers", "", "Polly", "", "ours", "", "x comp.", "x Polly", "x own", "what was done")
    rows: list[tuple[str, ...]] = [head]
    for result in results:
        if result.error:
            rows.append((result.file, *[""] * 9, f"not built: {result.error}"))
        for heat in result.heats:
            rows.append(_row(heat, stale=result.state != compiler_state()))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    numbers = (1, 3, 5, 7, 8, 9)
    return "\n".join(
        "  ".join([*(_pad(row[i], w, i in numbers) for i, w in enumerate(widths)), row[-1]]).rstrip() for row in rows
    )


def format_summary(results: Sequence[Result]) -> str:
    """The geometric means, the least ratio, and every contestant that was left out."""
    lines = []
    rivals: dict[Team, str] = {"compiler": "the best compiler", "polly": "the best Polly"}
    for team, name in rivals.items():
        found = ratios(results, team)
        if found:
            lines.append(f"geometric mean over {name}: {geometric_mean(found):.2f}x ({len(found)} functions)")
    own = own_ratios(results)
    if own:
        slowest = min(own, key=lambda name: own[name])
        lines.append(f"least ratio under the drop-in's own compiler: {own[slowest]:.3f}x ({slowest})")
    verified = sum(result.verified for result in results)
    lines.append(f"files built, verified and timed: {verified} of {len(results)}")
    stale = [result.file for result in results if result.state != compiler_state()]
    if stale:
        lines.append(f"measured with another state of planish (--stale redoes them): {', '.join(stale)}")
    out = [(heat.function, x) for result in results for heat in result.heats for x in heat.left_out]
    lines += [f"left out: {function}: {x.label}: {x.reason}" for function, x in out]
    return "\n".join(lines)


def store_summary(campaign: Campaign, results: Sequence[Result]) -> Path:
    """One JSON with the means and all results, and the table beside it as text."""
    path = campaign.folder.with_suffix(".json")
    data = {
        "suite": campaign.suite.name,
        "dataset": campaign.dataset,
        "over_compilers": geometric_mean(ratios(results, "compiler")),
        "over_polly": geometric_mean(ratios(results, "polly")),
        "own_ratios": own_ratios(results),
        "results": [asdict(result) for result in results],
    }
    write_atomically(path, dumps(data, indent=1) + "\n")
    write_atomically(path.with_suffix(".txt"), f"{format_table(results)}\n\n{format_summary(results)}\n")
    return path


def main(suite: Suite, arguments: Sequence[str]) -> int:
    """The command line of a suite; 0 where every file asked for was built and verified, 1 otherwise."""
    asked = _parser(suite).parse_args(arguments)
    only = tuple(name for name in asked.kernels.split(",") if name)
    redo: Redo = "all" if asked.fresh else "stale" if asked.stale else "nothing" if asked.report else "missing"
    try:
        suite.files(only)
        compilers = pick_compilers(asked.compilers)
        remember, full = not asked.fresh, not asked.small_check
        rules = Rules(compilers, asked.budget, asked.time_limit, asked.build_budget, asked.cc, remember, full)
        if rules.builder is not None:
            choose_compiler(rules.builder)
    except (PlanishError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    campaign = Campaign(suite, asked.dataset, rules)
    code = 0
    try:
        results = campaign.run(only, redo)
    except KeyboardInterrupt:
        results, code = campaign.results(only), INTERRUPTED
        print("interrupted: what was measured is kept, and the same command goes on from there", file=sys.stderr)
    print(f"{suite.name} {asked.dataset} on {machine_name()}: {', '.join(map(str, rules.compilers))}")
    print(f"seconds per call, median\n\n{format_table(results)}\n\n{format_summary(results)}")
    print(f"\nstored: {store_summary(campaign, results).relative_to(RESULTS.parent.parent)}")
    complete = len(results) == len(suite.files(only)) and all(result.verified for result in results)
    return code or (0 if complete else 1)


def pick_compilers(names: str) -> tuple[Compiler, ...]:
    """The named compilers ("gcc,clang-19"), or all that are found; raises PlanishError where one is not there."""
    if not names:
        return find_compilers() or (choose_compiler(None),)
    return tuple(choose_compiler(name) for name in names.split(","))


def _parser(suite: Suite) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=f"Races the {suite.name} kernels on one core.")
    parser.add_argument("--dataset", default="LARGE", type=str.upper, choices=DATASETS, help="default: LARGE")
    parser.add_argument("--kernels", default="", metavar="A,B", help="only these files (names without .c)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fresh", action="store_true", help="measure all again; default: only what has no result")
    which.add_argument("--stale", action="store_true", help="also measure again what another planish was measured with")
    which.add_argument("--report", action="store_true", help="measure nothing, print what is stored")
    parser.add_argument("--compilers", default="", metavar="A,B", help="default: all that are found")
    parser.add_argument("--cc", metavar="NAME", help="the compiler with which planish chooses; default: its own choice")
    parser.add_argument("--budget", type=float, default=8.0, metavar="S", help="seconds to time a function (8)")
    parser.add_argument("--build-budget", type=float, default=2.0, metavar="S", help="seconds planish may time (2)")
    parser.add_argument("--time-limit", type=float, default=120.0, metavar="S", help="seconds to check one (120)")
    parser.add_argument("--small-check", action="store_true", help="check with the next smaller dataset's sizes only")
    return parser


def _row(heat: Heat, stale: bool) -> tuple[str, ...]:
    teams: tuple[Team, ...] = ("compiler", "polly", "ours")
    cells: list[str] = []
    for team in teams:
        best = heat.best(team)
        cells += [f"{best.median:.3g}", best.label.removeprefix("ours ")] if best is not None else ["-", ""]
    compared = (heat.ratio("compiler"), heat.ratio("polly"), heat.own_ratio)
    shown = ["-" if ratio is None else f"{ratio:.2f}" for ratio in compared]
    done = f"{'' if heat.verified else 'NOT VERIFIED: '}{heat.done}"
    if len(done) > _WIDEST:
        done = done[: _WIDEST - 3] + "..."
    return (heat.function.removeprefix("kernel_"), *cells, *shown, done + (" (stale)" if stale else ""))


def _summarise(result: Result) -> str:
    if result.error:
        return f"not built: {result.error}"
    compared = [heat.ratio("compiler") for heat in result.heats]
    said = ["not timed" if ratio is None else f"{ratio:.2f}x" for ratio in compared]
    return f"{', '.join(said)} in {result.seconds:.0f} s"


def _pad(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)
