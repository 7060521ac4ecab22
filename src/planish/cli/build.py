"""`planish build FILE.c…`: a drop-in for each file, or C for one of MLIR, and a table of what was done.

$ planish build gemm.c -o fast --function gemm
$ planish build src/ --tune --budget 10m
$ planish build build/compile_commands.json
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from planish.build.dump import STAGES, Stage, only_changed, print_stages
from planish.build.project import MADE_BY, OUTPUT, IdleFiles, JoinedFiles, ProjectFile, list_files
from planish.build.read import preprocess_for
from planish.build.several_targets import per_target, read_for_all, split_targets
from planish.cli.exits import OK, USER_ERROR, guarded, tell, tell_crashes, tell_interrupted
from planish.cli.files import check_outputs, spell_beside, spell_dependences, write_files
from planish.cli.machines.device_build import build_on_device
from planish.cli.machines.machine_build import build_for_machine
from planish.cli.options import (
    Compiler,
    Defines,
    Floats,
    Fp,
    Function,
    Gain,
    Includes,
    Measure,
    ProjectFiles,
    Quiet,
    Sizes,
    Style,
    Targets,
    Threads,
    check_gain,
    parse_sizes,
    read_floats,
)
from planish.cli.terminal.progress import show_progress
from planish.cli.tuning.project import tune_project
from planish.cli.tuning.trials import StorePath, open_store
from planish.cli.tuning.tune import ClusterName, Jobs, WorkerCount, check_budget, parse_budget
from planish.core.cache import Cache
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.files import Input, check_ours, read_input
from planish.core.passes import PassTimes, spell_times
from planish.core.reasons import LOSSES
from planish.core.span import Source
from planish.emit.dropin.foreign_interfaces import InterfaceFiles, Language, interface_files, read_languages
from planish.emit.dropin.shared_header import share_prologue
from planish.frontend.c.text.preprocess import included_files
from planish.frontend.mlir.reader import is_mlir
from planish.isa.instruction import Catalogue
from planish.isa.instruction_file import read_instructions
from planish.options import Options
from planish.pipeline import stages_of
from planish.report.account import FileAccount, drop_in_files
from planish.report.console import make_console
from planish.report.operations import report_operations
from planish.report.store import build_cached
from planish.report.tables import WIDTH, build_table, describe_floats, describe_refusals, describe_times
from planish.report.verdicts.advice import advise
from planish.report.verdicts.json_summary import FORMAT, summarise_file
from planish.run.toolchains.blas import check_name, find_blas
from planish.run.toolchains.cross import compiler_for
from planish.target.device import is_device
from planish.target.load import load_target
from planish.tuning.choices import check_asked, read_asked, read_records, with_known_choices
from planish.tuning.farm.elsewhere import Elsewhere
from planish.tuning.farm.farm_session import FarmWishes
from planish.tuning.farm.profile import read_profile
from planish.tuning.store.trial_store import TrialStore
from planish.vliw.description import is_machine

BUDGET = "60s"


class StageName(StrEnum):
    """A stage that can be shown, or a pass with all that it makes; see planish.build.dump and planish.pipeline."""

    read = "read"
    prepare = "prepare"
    schedule = "schedule"
    nest = "nest"
    c = "c"
    plan = "plan"
    lowered = "lower"
    emit = "emit"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@guarded
def build(
    files: ProjectFiles,
    output: Annotated[Path, typer.Option("-o", metavar="DIR", help="Where the drop-ins go.")] = OUTPUT,
    target: Targets = "native",
    function: Function = None,
    threads: Threads = 1,
    fp: Fp = Floats.reassociate,
    measure: Measure = True,
    gain: Gain = 0.0,
    raising: Annotated[
        bool, typer.Option("--raise/--no-raise", help="Try calls of the library's own kernels.")
    ] = True,
    size: Sizes = None,
    define: Defines = None,
    include: Includes = None,
    cc: Compiler = None,
    script: Annotated[
        str | None,
        typer.Option("--script", metavar="FILE.sched", help="Schedule the nest by these steps.", show_default=False),
    ] = None,
    instructions: Annotated[
        list[str] | None,
        typer.Option("--instructions", metavar="FILE.isa", help="Instructions for the script.", show_default=False),
    ] = None,
    dump: Annotated[
        list[StageName] | None,
        typer.Option(
            "--dump", help="Print a stage, or what a pass makes, on stdout; the table goes to stderr.",
            show_default=False,
        ),
    ] = None,
    stop_after: Annotated[
        StageName | None,
        typer.Option("--stop-after", help="Print a stage on stdout; write no file.", show_default=False),
    ] = None,
    print_changed: Annotated[
        bool, typer.Option("--print-changed", help="Print each stage that differs from the one before; write no file.")
    ] = False,
    time_passes: Annotated[bool, typer.Option("--time-passes", help="Print what each pass takes, on stderr.")] = False,
    style: Annotated[
        Style, typer.Option("--style", help="full: one file; compact: what drop-ins share is in a header beside them.")
    ] = Style.full,
    blas: Annotated[
        str | None,
        typer.Option(
            "--blas", metavar="openblas|blis|mkl|cblas", help="Try calls of this library, too.", show_default=False
        ),
    ] = None,
    ilp64: Annotated[bool, typer.Option("--ilp64", help="--blas: its integers have 64 bits.")] = False,
    trials: Annotated[
        bool, typer.Option("--trials/--no-trials", help="Take what `planish tune` has found on this machine.")
    ] = True,
    store: StorePath = None,
    replay: Annotated[
        str | None,
        typer.Option("--replay", metavar="FILE", show_default=False,
                     help="Take what this record of tuning has; FILE,FILE… for several targets."),
    ] = None,
    point: Annotated[
        str | None,
        typer.Option("--point", metavar="'NAME=VALUE …'", help="Take this version, with these arguments of it.",
                     show_default=False),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Search first: one budget for all nests, spent where most is gained.")
    ] = False,
    budget: Annotated[
        str, typer.Option("--budget", metavar="60s|N", help="--tune: a time or trials, for all nests together.",
                          callback=check_budget)
    ] = BUDGET,
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="FILE", help="--tune: functions' shares of the time.", show_default=False),
    ] = None,
    cluster: ClusterName = "", jobs: Jobs = 0, workers: WorkerCount = None,
    report: Annotated[
        bool, typer.Option("--report", help="Say of each statement which operation it is, what runs it, and why.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Build anew what is cached; replace files that Planish did not write.")
    ] = False,
    depfile: Annotated[
        Path | None,
        typer.Option("--depfile", metavar="FILE", help="Write what the drop-ins are made of, for make and CMake.",
                     show_default=False),
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option("--interface", metavar="fortran,rust", help="Declare the functions in FILE.f90, FILE.rs, too.",
                     show_default=False),
    ] = None,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON in place of the table.")] = False,
) -> int:
    """Write a verified and faster drop-in for each C file, and C for each file of MLIR (`.mlir`).

    A folder stands for all C files in it, compile_commands.json for those of a project with their own flags.

    DIR/FILE.c has the functions of FILE.c with the same signatures; every loop nest that was replaced stays in it for
    the calls that the new one does not cover. DIR/FILE.h declares them. The new code is checked beside the original on
    random data, and used only where it was measured to be faster.
    """
    if ilp64 and blas is None:
        advice = "name the library with --blas, or leave it out"
        raise PlanishError(Diagnostic("E0848", "--ilp64 is of no use without --blas", help=advice))
    targets = split_targets(target)
    target = target if len(targets) == 1 else ",".join(targets)
    options = Options(
        target=target, functions=tuple(function or ()), threads=threads, fp=read_floats(fp), measure=measure,
        gain=gain,
        sizes=parse_sizes(size), defines=tuple(define or ()), include_dirs=tuple(include or ()),
        compiler=cc, script=read_input(script).source if script is not None else None,
        catalogue=_read_instructions(instructions or ()), instructions=tuple(instructions or ()),
        blas=check_name(blas) if blas is not None else None, ilp64=ilp64, raising=raising,
        choices=(
            read_asked(point) if point is not None
            else () if replay is None else read_records(replay, targets)
        ),
    )  # fmt: skip
    untimed = is_machine(target) or is_device(target)
    texts = {"--dump": dump, "--stop-after": stop_after, "--print-changed": print_changed}
    if as_json and (untimed or any(texts.values())):
        what = f"for {target}" if untimed else f"with {next(x for x, given in texts.items() if given)}"
        raise PlanishError(Diagnostic("E0127", f"there is no JSON {what}", help="leave out --json"))
    asked = {"--tune": tune and untimed} if tune else {
        "--budget": budget != BUDGET, "--profile": profile, "--cluster": cluster, "--jobs": jobs, "--workers": workers
    }  # fmt: skip
    check_gain(gain, measure, f"for {target}" if untimed else "with --script" if script is not None else "")
    for name in (x for x, given in asked.items() if given):
        where = f"for {target}, which is not tuned" if tune else "without --tune"
        raise PlanishError(Diagnostic("E0113", f"{name} is of no use {where}", help="leave it out"))
    each = per_target(options)
    alone = {**texts, "--tune": tune, "--report": report, "--blas": blas, "--script": script,
             "--style compact": style is Style.compact}  # fmt: skip
    for name in (x for x, given in alone.items() if given and len(targets) > 1):
        raise PlanishError(Diagnostic("E0113", f"{name} is of no use for several targets", help="name one of them"))
    for name in (x for x, given in {"--depfile": depfile, "--interface": interface}.items() if given is not None):
        if untimed or print_changed or stop_after is not None:
            where = f"for {target}" if untimed else "where no file is written"
            raise PlanishError(Diagnostic("E0113", f"{name} is of no use {where}", help="leave it out"))
    languages = () if interface is None else read_languages(interface)
    project = list_files(files, output)
    names = [x.name for x in project]
    if point is not None:
        others = {"--replay": replay, "--script": script, "--tune": tune, f"--target {target}": untimed}
        for name in (x for x, given in others.items() if given):
            raise PlanishError(Diagnostic("E0113", f"--point is of no use with {name}", help="leave one of them out"))
        for file in project:
            for own in per_target(file.options(options)):
                check_asked(read_input(file.name).source, own)
    if is_machine(target):
        return build_for_machine(names, output, options, target, quiet)
    if is_device(target):
        return build_on_device(names, output, options, target, quiet, force)
    known = open_store(store) if trials or tune else None
    if print_changed:
        return _show_changed(project, options, known)
    if stop_after is not None:
        return _show(project, options, (stop_after,), known)
    compiler, *_ = [compiler_for(load_target(x.target), x.compiler) for x in each]
    if blas is not None:
        find_blas(blas, ilp64, compiler)
    for folder in dict.fromkeys(x.folder for x in project):
        check_outputs([x.name for x in project if x.folder == folder], output / folder, force)
    if tune:
        assert known is not None
        wishes = FarmWishes(all=parse_budget(budget), weights={} if profile is None else read_profile(profile))
        out = sys.stderr if as_json or dump else sys.stdout
        if not tune_project(project, options, known, Elsewhere(cluster, jobs, workers, wishes), quiet, out):
            return tell_interrupted(0, "all trials so far are in the store: without --tune they are used")
    if dump:
        shown = _show(project, options, tuple(dump), known)
        if shown != OK:
            return shown
    done = _build(
        project, output, options, style, force, quiet, report, bool(dump), time_passes, known, as_json, languages
    )
    if depfile is not None and done == OK:
        records = () if replay is None else replay.split(",") if len(targets) > 1 else (replay,)
        joined = JoinedFiles(project, options)
        rules = [_dependences(x, joined, output, options, records) for x in project]
        write_files(depfile.parent, {depfile.name: spell_dependences(rules)})
    return done


def _dependences(
    file: ProjectFile, joined: JoinedFiles, output: Path, options: Options, records: Sequence[str]
) -> tuple[list[Path], list[str]]:
    """A drop-in, and all that decides about it: the file, its headers for each target, files of the project whose
    functions it has, the schedule, instructions, descriptions of the targets, the records of tuning."""
    targets, source = per_target(file.options(options)), joined.read(file, read_input(file.name).source)
    texts = [] if is_mlir(source) else [preprocess_for(source, x) for x in targets]
    headers = dict.fromkeys(spell_beside(y, source.name) for x in texts for y in included_files(x, source.name))
    schedule = [] if options.script is None else [options.script.name]
    described = [x.target for x in targets if x.target.endswith(".toml")]
    made = output / file.folder / f"{Path(file.name).stem}.c"
    lent = [spell_beside(x, source.name) for x in joined.depends_on(source)]
    names = dict.fromkeys((file.name, *headers, *lent))
    return [made], [*names, *schedule, *options.instructions, *described, *records]


def _read_instructions(names: Sequence[str]) -> Catalogue:
    catalogue = Catalogue()
    for name in names:
        catalogue = catalogue.joined(read_instructions(read_input(name).source))
    return catalogue


def _stages_of(
    file: ProjectFile, joined: JoinedFiles, common: Options, stages: tuple[Stage, ...], trials: TrialStore | None
) -> dict[Stage, str]:
    """The stages of a file as it would be built."""
    source, options = joined.read(file, read_input(file.name).source), file.options(common)
    chosen = options if trials is None else with_known_choices(source, options, trials)
    return print_stages(source, chosen, stages)


def _show(
    project: Sequence[ProjectFile], options: Options, wanted: tuple[StageName, ...], trials: TrialStore | None
) -> int:
    """The stages of every file on stdout, in the order in which a nest goes through them."""
    named = {x for w in wanted for x in stages_of(w.value)}
    stages: tuple[Stage, ...] = tuple(x for x in STAGES if x in named)
    joined = JoinedFiles(project, options)
    for file in project:
        texts = _stages_of(file, joined, options, stages, trials)
        sys.stdout.write("\n".join(texts[stage] for stage in stages))
    return OK


def _show_changed(project: Sequence[ProjectFile], options: Options, trials: TrialStore | None) -> int:
    """The stages of every file on stdout, of each only what the pass before has not shown already."""
    joined = JoinedFiles(project, options)
    for file in project:
        texts = _stages_of(file, joined, options, STAGES, trials)
        sys.stdout.write("\n".join(only_changed(texts)))
    return OK


def _build(
    project: Sequence[ProjectFile], folder: Path, options: Options, style: Style, force: bool, quiet: bool,
    report: bool, to_stderr: bool, time_passes: bool, trials: TrialStore | None, as_json: bool,
    languages: Sequence[Language],
) -> int:  # fmt: skip
    cache, times, joined = Cache(), PassTimes(), JoinedFiles(project, options)
    done: list[tuple[FileAccount, bool]] = []
    written: list[Path] = []
    summaries: list[dict[str, Any]] = []
    warnings: list[str] = []
    idle = IdleFiles()
    failed = False
    with show_progress(len(project), quiet) as progress:
        for file in project:
            progress.start(file.name)
            try:
                given = read_input(file.name)
                given = replace(given, source=joined.read(file, given.source))
                interfaces = _interfaces(given.source, file.options(options), languages)
                interfaces.check(folder / file.folder, force)
                account, cached = build_cached(
                    given.source, file.options(options), cache, force=force, tell=progress.tell, times=times,
                    trials=trials,
                )  # fmt: skip
                own = _write(given, account, folder / file.folder, style, force, interfaces.texts)
            except PlanishError as error:
                if not idle.takes(file, error):
                    # The other files are built all the same.
                    tell(error)
                    failed = True
            else:
                done.append((account, cached))
                written += own
                warnings += interfaces.warnings
                summaries.append(summarise_file(account, cached, [str(x) for x in own]))
            progress.finish()
    for refused in idle.settle(done=bool(done)):
        tell(refused)
        failed = True
    empty = idle.names
    for warning in () if quiet else (*warnings, *(w for account, _ in done for w in account.warnings)):
        print(warning, file=sys.stderr)
    _report(done, written, quiet or as_json, to_stderr, options.measure)
    if as_json:
        print(json.dumps({"format": FORMAT, "files": summaries, "empty": empty}, indent=1))
    elif empty and not quiet:
        print(f"nothing to build in {', '.join(empty)}", file=sys.stderr if to_stderr else sys.stdout)
    if time_passes:
        kept = "nothing was built: the results of an earlier build are in the store (--force builds anew)\n"
        sys.stderr.write(spell_times(times.seconds) if times.seconds else kept)
    for account, _ in done if report else ():
        reported = next(x for x in project if x.name == account.name)
        source = joined.read(reported, read_input(account.name).source)
        text = report_operations(source, reported.options(options), account)
        print(text, end="", file=sys.stderr if to_stderr or as_json else sys.stdout)
    tell_crashes([f"`{x.function}` in {account.name}" for account, _ in done for x in account.functions
                  if x.lost == LOSSES["crash"]])  # fmt: skip
    return USER_ERROR if failed else OK


def _interfaces(source: Source, options: Options, languages: Sequence[Language]) -> InterfaceFiles:
    if not languages:
        return InterfaceFiles({}, ())
    return interface_files(read_for_all(source, options), languages)


def _write(
    given: Input, account: FileAccount, folder: Path, style: Style, force: bool, more: Mapping[str, str]
) -> tuple[Path, ...]:
    stem = Path(given.source.name).stem
    files = {**drop_in_files(given.source.name, account.text, account.header), **more}
    if style is Style.compact:
        parted = share_prologue(account.text)
        files[f"{stem}.c"] = parted.text
        for name, header in parted.headers.items():
            check_ours(folder / name, MADE_BY, force=force)
            files[name] = header
    return write_files(folder, files, given.encoding)


def _report(
    done: list[tuple[FileAccount, bool]], written: list[Path], quiet: bool, to_stderr: bool, measured: bool
) -> None:
    if quiet or not done:
        return
    stream = sys.stderr if to_stderr else sys.stdout
    console = make_console(stream)
    accounts = [account for account, _ in done]
    for refusal in describe_refusals(accounts):
        console.print(f"{refusal}\n", markup=False, soft_wrap=True)
    for line in filter(None, (*describe_times(accounts), describe_floats(accounts))):
        console.print(line, markup=False, soft_wrap=True)
    for account in accounts:
        name = shlex.quote(f"{Path(account.name).stem}.c")
        console.print(f"compile {name} with: {_command(account)}", markup=False, soft_wrap=True)
        if account.link:
            console.print(f"link {name} with: {account.link}", markup=False, soft_wrap=True)
    console.print(f"wrote {', '.join(map(str, written))}\n", markup=False, soft_wrap=True)
    make_console(stream, WIDTH).print(build_table(done))
    console.print(f"\n{advise(accounts, measured)}", markup=False, soft_wrap=True)


def _command(account: FileAccount) -> str:
    """The compiler's command line; headers beside the original are looked for there."""
    local = re.search(r'^[ \t]*#[ \t]*include[ \t]*"', account.text, re.MULTILINE)
    return f"{account.compile} -I{shlex.quote(str(Path(account.name).parent))}" if local else account.compile
