"""The programs of the paper's Figure 9 against the same programs calling OpenBLAS, and chains of products in any order.

    python -m bench.races.dense_algebra                          # LARGE; goes on where it was stopped
    python -m bench.races.dense_algebra --share 8 --only gemm    # sizes an eighth

>>> shrink({"N": 1300, "KH": 3}, 8)
{'N': 162, 'KH': 3}
>>> count_products((500, 600, 550, 640, 60)), least_products((500, 600, 550, 640, 60))
(360200000, 58920000)
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bench.harness.contest import (
    Contestant,
    Course,
    Rules,
    Tell,
    compiler_state,
    digest,
    enlist_drop_ins,
    machine_name,
    race,
)
from bench.harness.places import EXAMPLES, RESULTS, RIVALS, ROOT
from bench.harness.progress import Progress
from bench.harness.record import Heat, Result, Team, load, save
from bench.harness.suite import Suite
from bench.rivals.blas_baselines import ONE_THREAD, Anchor, find_openblas
from planish.build.assemble import FileResult
from planish.core.diagnostic import PlanishError
from planish.core.span import Source
from planish.options import Options
from planish.pipeline import build_file
from planish.run.calls.abi_wrapper import entry_text
from planish.run.calls.passing import signature_of
from planish.run.processes.process import Limits
from planish.run.sizes.call_sizes import make_case
from planish.run.toolchains.toolchain import choose_compiler, compile_library, find_compilers

RAISED = ROOT / "tests" / "raising" / "programs"
WITH_BLAS = RIVALS / "raising_blas.c"
CHAINS: Mapping[str, tuple[int, ...]] = {
    "chain4": (800, 1100, 900, 1200, 100),
    "chain5": (1000, 2000, 900, 1500, 600, 800),
    "chain6": (1500, 400, 2000, 2200, 600, 1400, 1000),
}
_DEFINE = re.compile(r"^#define (\w+) (\d+)$", re.MULTILINE)
LEAST = 3
"""The sizes of the chains: matrix number i has the i-th times the next one."""


@dataclass(frozen=True, slots=True)
class Program:
    """A function in C with what it is raced against: another text that defines the same function.

    `flags` are what that other text is compiled with; the arrays are as large as `sizes` say, also by `defines`.
    """

    name: str
    path: Path
    text: str
    sizes: Mapping[str, int]
    defines: tuple[str, ...]
    rival: str
    rival_flags: tuple[str, ...] = ()


def programs(share: int, library: Path, folder: Path = RAISED, with_blas: Path = WITH_BLAS) -> list[Program]:
    """The programs of a folder (those of Figure 9) at a share of their sizes, each beside the one that calls a
    library."""
    out = []
    for path in sorted(folder.glob("*.c")):
        text = path.read_text()
        sizes = shrink({name: int(value) for name, value in _DEFINE.findall(text)}, share)
        arguments = {name.lower(): value for name, value in sizes.items()}
        defines = tuple(f"{name}={value}" for name, value in sizes.items())
        out.append(_beside_blas(path, arguments, defines, library, with_blas))
    return out


def programs_of(suite: Suite, names: Sequence[str], dataset: str, library: Path, with_blas: Path) -> list[Program]:
    """Files of a suite, each beside the program that calls a library."""
    defines = suite.defines(dataset)
    return [_beside_blas(x, suite.sizes(x, dataset), defines, library, with_blas) for x in suite.files(names)]


def _beside_blas(
    path: Path, sizes: Mapping[str, int], defines: tuple[str, ...], library: Path, with_blas: Path
) -> Program:
    linked = ("-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}")
    rival = f"#define PROGRAM_{path.stem} 1\n{with_blas.read_text()}"
    return Program(path.stem, path, path.read_text(), sizes, defines, rival, linked)


def shrink(sizes: Mapping[str, int], share: int) -> dict[str, int]:
    """A share of each size; small ones stay."""
    return {name: max(LEAST, value // share) if value > 2 * LEAST else value for name, value in sizes.items()}


def chains(share: int) -> list[Program]:
    """The chains of the paper's Table II, from left to right, beside the same where each product is a function of its
    own: in such a file no product can change places with another."""
    out = []
    for name, sizes in CHAINS.items():
        shrunk = tuple(max(1, x // share) for x in sizes)
        path = EXAMPLES / "chains" / f"{name}.c"
        given, count = {f"n{i}": x for i, x in enumerate(shrunk)}, len(shrunk) - 1
        out.append(Program(name, path, write_chain(name, count), given, (), write_chain(name, count, apart=True)))
    return out


def write_chain(name: str, count: int, apart: bool = False) -> str:
    """C that multiplies `count` matrices from left to right, number i of n_i rows.

    >>> print(write_chain("twice", 2).splitlines()[0])
    void twice(int n0, int n1, int n2, double M0[n0][n1], double M1[n1][n2], double out[n0][n2])
    """
    sizes = ", ".join(f"int n{i}" for i in range(count + 1))
    given = [f"double M{i}[n{i}][n{i + 1}]" for i in range(count)]
    names = ["M0", *(f"P{i}" for i in range(1, count - 1)), "out"]
    products = [(names[i - 1], f"M{i}", names[i], (0, i, i + 1)) for i in range(1, count)]
    local = "".join(f"    double {c}[n{m}][n{n}];\n" for _, _, c, (m, _, n) in products[:-1])
    head = f"void {name}({sizes}, {', '.join([*given, f'double out[n0][n{count}]'])})"
    if not apart:
        return f"{head}\n{{\n{local}{''.join(_product(*x) for x in products)}}}\n"
    functions = "".join(
        f"static void {name}_{i}({sizes}, double {a}[n{m}][n{k}], double {b}[n{k}][n{n}], double {c}[n{m}][n{n}])\n{{\n"
        f"{_product(a, b, c, (m, k, n))}}}\n"
        for i, (a, b, c, (m, k, n)) in enumerate(products)
    )
    passed = ", ".join(f"n{i}" for i in range(count + 1))
    calls = "".join(f"    {name}_{i}({passed}, {a}, {b}, {c});\n" for i, (a, b, c, _) in enumerate(products))
    return f"{functions}{head}\n{{\n{local}{calls}}}\n"


def _product(a: str, b: str, c: str, sizes: tuple[int, int, int]) -> str:
    m, k, n = sizes
    return (
        f"    for (int i = 0; i < n{m}; i++)\n        for (int j = 0; j < n{n}; j++) {{\n            {c}[i][j] = 0;\n"
        f"            for (int k = 0; k < n{k}; k++)\n                {c}[i][j] += {a}[i][k] * {b}[k][j];\n        }}\n"
    )


def count_products(sizes: Sequence[int]) -> int:
    """How many numbers are multiplied from left to right."""
    return sum(sizes[0] * sizes[i] * sizes[i + 1] for i in range(1, len(sizes) - 1))


def least_products(sizes: Sequence[int]) -> int:
    """How many numbers are multiplied in the best order."""

    @cache
    def best(first: int, last: int) -> int:
        if last - first < 2:
            return 0
        return min(
            best(first, i) + best(i, last) + sizes[first] * sizes[i] * sizes[last] for i in range(first + 1, last)
        )

    return best(0, len(sizes) - 1)


def hold(program: Program, rules: Rules, tell: Tell, team: Team = "blas") -> Result:
    """Builds both texts of a program with planish or, of a library's, with the compiler, and races them."""
    started = time.monotonic()
    options = Options(
        sizes=program.sizes, defines=program.defines, include_dirs=(program.path.parent,), budget=rules.build_budget
    )
    heats: tuple[Heat, ...] = ()
    error = ""
    try:
        built = build_file(Source(str(program.path), program.text), options, lambda x: tell(f"building: {x}"))
        with tempfile.TemporaryDirectory(prefix="planish-raising-") as folder:
            heats = (_race(program, built, options, rules, Path(folder), tell, team),)
    except PlanishError as refusal:
        error = refusal.diagnostic.message
    except Exception as bug:
        # One program's bug must not cost the others their hour.
        error = f"bug: {type(bug).__name__}: {bug}"
        traceback.print_exception(bug)
    return Result(
        program.name, "", compiler_state(), _source(program), machine_name(), tuple(str(c) for c in rules.compilers),
        time.strftime("%Y-%m-%d %H:%M"), 0.0, round(time.monotonic() - started, 1), heats, error,
    )  # fmt: skip


def _race(
    program: Program, built: FileResult, options: Options, rules: Rules, folder: Path, tell: Tell, team: Team
) -> Heat:
    function = next(x.function for x in built.functions if x.function.name in _called(program))
    signature = signature_of(function)
    assert signature is not None
    include = program.path.parent
    macros = tuple(f"-D{x}" for x in options.defines)
    limits = Limits(seconds=rules.time_limit)
    strict = ("-w", "-O2", "-ffp-contract=off", *macros)
    text = program.text + entry_text(signature)
    reference = compile_library(rules.compilers[0], text, strict, folder, limits, (include,))
    case = make_case(function, (), program.sizes, seed=1)
    course = Course(reference, signature, case, case, folder, include, rules)
    contestants = enlist_drop_ins(built, options, rules, folder)
    if program.rival_flags:
        flags = ("-O3", "-march=native", *macros, *program.rival_flags)
        contestants += [Contestant(f"{team} {c.name}", team, c, program.rival, flags) for c in rules.compilers]
    else:
        other = build_file(Source(str(program.path), program.rival), options)
        rivals = enlist_drop_ins(other, options, rules, folder)
        contestants += [replace(x, label=x.label.replace("ours", "apart"), team=team) for x in rivals]
    times, left_out = race(contestants, course, tell)
    builder = choose_compiler(options.compiler)
    return Heat(function.name, dict(program.sizes), times, left_out, "", builder.name, kept=False)


def _called(program: Program) -> tuple[str, ...]:
    """The name of the function that is raced: the last one of the file."""
    return (re.findall(r"^void (\w+)\(", program.text, re.MULTILINE)[-1],)


def _source(program: Program) -> str:
    return digest("".join((program.text, program.rival, *program.defines)))


def run(
    wanted: Sequence[Program], folder: Path, rules: Rules, redo: bool = False, team: Team = "blas", show: bool = True
) -> list[Result]:
    """Races programs one after the other; what is stored for this state of planish is not measured again."""
    stored = {x.name: found for x in wanted if not redo and (found := _stored(x, folder)) is not None}
    progress = Progress(len(wanted), len(stored), show)
    # What is inherited, such as OPENBLAS_CORETYPE, may hold the library back.
    for name in [x for x in os.environ if x.startswith(("OPENBLAS_", "GOTO_", "OMP_"))]:
        del os.environ[name]
    os.environ.update(ONE_THREAD)
    # What is between the products of a chain are arrays of the function's own: larger than a stack usually is.
    resource.setrlimit(resource.RLIMIT_STACK, (resource.getrlimit(resource.RLIMIT_STACK)[1],) * 2)
    try:
        for program in wanted:
            if program.name in stored:
                continue
            progress.begin(program.name)
            result = hold(program, rules, progress.tell, team)
            save(folder / f"{program.name}.json", result)
            stored[program.name] = result
            progress.finish(summarise(result, team))
    finally:
        progress.close()
    return [stored[x.name] for x in wanted]


def _stored(program: Program, folder: Path) -> Result | None:
    found = load(folder / f"{program.name}.json")
    current = found is not None and (found.state, found.source) == (compiler_state(), _source(program))
    return found if current and found is not None and not found.error else None


def summarise(result: Result, team: Team) -> str:
    """A result in one line: the ratio, or what went wrong."""
    if result.error:
        return f"not built: {result.error}"
    (heat,) = result.heats
    ratio = heat.ratio(team)
    if ratio is None:
        return "; ".join(f"{x.label}: {x.reason}" for x in heat.left_out)[:300] or "not timed"
    ours, theirs = heat.best("ours"), heat.best(team)
    assert ours is not None and theirs is not None
    return f"{ours.median:.4g} s against {theirs.median:.4g} s: {ratio:.2f}x"


def folder_of(name: str, share: int) -> Path:
    """Where results are stored."""
    return RESULTS / f"raising-{name}{'' if share == 1 else f'-{share}th'}"


def make_rules(quick: bool) -> Rules:
    """Both sides under every compiler; checked with the sizes that are timed."""
    found = find_compilers()
    if quick:
        return Rules(found[:1], budget=0.5, time_limit=60.0, build_budget=0.3, remember=False, full_check=False)
    return Rules(found, full_check=False)


def find_library() -> Anchor | str:
    """OpenBLAS, or why there is none."""
    return find_openblas()


def main(arguments: Sequence[str]) -> int:
    """0 where all were raced, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Races raised programs against OpenBLAS, and chains in any order.")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="sizes divided by this (1)")
    parser.add_argument("--only", default="", metavar="A,B", help="only these programs or chains")
    parser.add_argument("--fresh", action="store_true", help="measure all again")
    parser.add_argument("--short", action="store_true", help="one compiler and little time for each")
    asked = parser.parse_args(arguments)
    only, rules = {x for x in asked.only.split(",") if x}, make_rules(asked.short)
    library = find_library()
    jobs: list[tuple[str, list[Program], Team]] = [("chains", chains(asked.share), "apart")]
    if isinstance(library, Anchor):
        jobs.insert(0, ("programs", programs(asked.share, library.path), "blas"))
    else:
        print(f"no OpenBLAS: {library}", file=sys.stderr)
    good = True
    try:
        for name, wanted, team in jobs:
            wanted = [x for x in wanted if not only or x.name in only]
            for result in run(wanted, folder_of(name, asked.share), rules, asked.fresh, team):
                print(f"{result.file}: {summarise(result, team)}", flush=True)
                good &= bool(result.heats) and result.heats[0].ratio(team) is not None
    except KeyboardInterrupt:
        print("interrupted: what was measured is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
