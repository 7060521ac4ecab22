"""What all functions of a build have in common: the file, the options, the compiler, the original to compare with.

>>> Options(target="generic").fp
'reassociate'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planish.core.passes import PassTimes
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.options import Options
from planish.run.calls.passing import signature_of
from planish.run.toolchains.blas import find_blas
from planish.run.toolchains.cross import compiler_for, runner_for
from planish.run.workbench import Reference, Workbench
from planish.target.machine import Target


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What all functions of a build have in common; see `make_job`. `times`: what passes take in this process."""

    file: CFile
    options: Options
    target: Target
    bench: Workbench
    reference: Reference
    times: PassTimes


def make_job(
    functions: Sequence[CFunction], file: CFile, options: Options, target: Target, bench: Workbench,
    times: PassTimes | None = None,
) -> Job:  # fmt: skip
    """What is given to build some functions of a file. How long an emulator takes says nothing of the processor."""
    signatures = tuple(x for f in functions if f.regions and (x := signature_of(f)) is not None)
    options = replace(options, measure=options.measure and not bench.runner.command)
    reference = Reference(file.source.written.text, bench, signatures)
    return Job(file, options, target, bench, reference, times or PassTimes())


def make_workbench(options: Options, target: Target, folder: Path, source: Source) -> Workbench:
    """The compiler and flags with which versions are checked and timed, what runs them, and the BLAS; PlanishError as
    of `compiler_for` and `find_blas`."""
    compiler = compiler_for(target, options.compiler)
    blas = find_blas(options.blas, options.ilp64, compiler) if options.blas is not None else None
    beside = Path(source.name).resolve().parent
    # What is for several targets is compiled for any processor; functions that need more say so themselves.
    flags = () if options.variant and options.settings.features else target.flags_for(compiler.kind)
    return Workbench(
        compiler, flags, folder, options.fp, options.threads,
        (beside, *options.include_dirs), options.defines, options.budget, blas, runner_for(target, compiler, folder),
    )  # fmt: skip
