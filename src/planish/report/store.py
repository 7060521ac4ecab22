"""Builds that are remembered: the same text, options, target, compiler and program give the account at once.

account, cached = build_cached(Source("dot.c", text), Options(), Cache())
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial

from planish.build.read import preprocess_for
from planish.build.several_targets import JoinedTargets, TargetBuild, join_targets, per_target
from planish.core.cache import Cache, key
from planish.core.fingerprint import stamp_program
from planish.core.passes import PassTimes
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.frontend.mlir.reader import is_mlir, parser_version
from planish.options import Options
from planish.pipeline import build_file
from planish.report.account import FileAccount, account_for, account_for_targets, parse_account, print_account
from planish.run.toolchains.blas import find_blas
from planish.run.toolchains.cross import compiler_for, is_foreign
from planish.run.toolchains.emulator import find_emulator
from planish.target.load import load_target
from planish.tuning.choices import with_known_choices
from planish.tuning.store.trial_store import TrialStore


def build_cached(
    source: Source, options: Options, cache: Cache, *, force: bool = False, tell: Progress = keep_quiet,
    times: PassTimes | None = None, trials: TrialStore | None = None,
) -> tuple[FileAccount, bool]:
    """The account of building a file, and whether it was remembered; with `force` it is built anew;
    `times` gets what its passes take. `trials`: where the best points of its nests are looked up.

    Raises PlanishError for input that cannot be read or compiled; such builds are not remembered, and no others that
    may come to something else the next time.
    """
    tell("looking for an earlier build")
    each = per_target(options)
    if trials is not None:
        each = tuple(with_known_choices(source, x, trials) for x in each)
    one = each[0] if len(each) == 1 else None
    found = [build_address(source, x) for x in each]
    address = found[0] if one is not None else key("targets", options.describe(), *found)
    known = None if force else cache.get(address)
    if known is not None:
        return parse_account(known.decode()), True
    if one is not None:
        account = account_for(build_file(source, one, tell, times), one)
    else:
        account = account_for_targets(_build_for_targets(source, options, each, tell, times), options.fp)
    if account.lasting:
        cache.put(address, print_account(account).encode())
    return account, False


def _build_for_targets(
    source: Source, options: Options, each: Sequence[Options], tell: Progress, times: PassTimes | None
) -> JoinedTargets:
    """One drop-in with code for several targets, which `options` list; `each` are the options for one of them, as of
    `planish.build.several_targets.per_target`. PlanishError as of `build_file`, for any of them."""
    times = times or PassTimes()
    builds = [TargetBuild(x, build_file(source, x, partial(_tell_target, x, tell), times)) for x in each]
    with times.during("assemble"):
        return join_targets(source, options, builds, tell)


def _tell_target(options: Options, tell: Progress, what: str) -> None:
    tell(f"{options.target}: {what}")


def recall(source: Source, options: Options, cache: Cache, trials: TrialStore | None = None) -> FileAccount | None:
    """The account of an earlier build with these options, or None; nothing is built."""
    if trials is not None:
        options = with_known_choices(source, options, trials)
    known = cache.get(build_address(source, options))
    return None if known is None else parse_account(known.decode())


def build_address(source: Source, options: Options) -> str:
    """What determines a build: the text and all that it includes, or what reads it, the options, the machine, tools."""
    target = load_target(options.target)
    # What the processor runs at changes from moment to moment, and no schedule looks at it.
    machine = replace(target, frequency_ghz=0.0)
    if is_mlir(source):
        included = parser_version()
    else:
        included = preprocess_for(source, options)
    wishes = [(f.name, getattr(options, f.name)) for f in fields(options) if f.name != "sizes"]
    sizes = sorted(options.sizes.items())
    compiler = compiler_for(target, options.compiler)
    blas = str(find_blas(options.blas, options.ilp64, compiler)) if options.blas is not None else ""
    emulator = str(find_emulator(target.architecture)) if is_foreign(target) else ""
    tools = (compiler.stamp, blas, emulator)
    text = (source.name, source.text, source.borrowed)
    return key("build", stamp_program(), text, included, wishes, sizes, machine, tools)
