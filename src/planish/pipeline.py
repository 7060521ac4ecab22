"""The whole compiler on one screen: C text, or MLIR, in, a verified and faster drop-in out.

>>> " -> ".join(x.name for x in PASSES)
'read -> plan -> lower -> emit -> verify -> time -> assemble'
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from planish.build.assemble import FileResult, assemble_file
from planish.build.dump import STAGES, Stage
from planish.build.functions import build_functions
from planish.build.job import make_workbench
from planish.build.read import read_file
from planish.core.passes import PassTimes
from planish.core.progress import Progress, keep_quiet
from planish.core.span import Source
from planish.options import Options
from planish.run.toolchains.missing_headers import pointing_at_headers
from planish.target.load import load_target


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass: its name, which `--time-passes` shows, what it does, the module that holds it, and the stages that
    `--dump` shows of what it makes."""

    name: str
    does: str
    module: str
    stages: tuple[Stage, ...] = ()


PASSES = (
    Pass("read", "C or MLIR becomes functions and loop nests", "planish.build.read", ("read",)),
    Pass("plan", "dependences of a nest are found, strategies are ranked", "planish.build.plan", ("prepare",)),
    Pass("lower", "strategies make versions, each proven legal", "planish.build.lower", ("schedule", "nest")),
    Pass("emit", "versions become C", "planish.build.emit", ("c",)),
    Pass("verify", "versions run beside the original", "planish.build.verify"),
    Pass("time", "versions race the original", "planish.build.time"),
    Pass("assemble", "the drop-in and its header are put together", "planish.build.assemble"),
)


def stages_of(name: str) -> tuple[Stage, ...]:
    """The stages that a pass of that name makes, or the stage of that name.

    >>> stages_of("lower"), stages_of("nest")
    (('schedule', 'nest'), ('nest',))
    """
    made = next((x.stages for x in PASSES if x.name == name and x.stages), None)
    return made or tuple(x for x in STAGES if x == name)


def build_file(
    source: Source, options: Options, tell: Progress = keep_quiet, times: PassTimes | None = None
) -> FileResult:  # fmt: skip
    """The drop-in replacement of a C file, or the C of one of MLIR; PlanishError for input that cannot be read. `times`
    gets what passes take."""
    times = times or PassTimes()
    tell("reading")
    with times.during("read"):
        target, file = load_target(options.target), read_file(source, options)
    functions = [f for f in file.functions if options.takes(f.name)]
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        with pointing_at_headers(file.missing, source):
            results = build_functions(functions, file, options, target, bench, tell, times)
    with times.during("assemble"):
        return assemble_file(file, options, results, bench)
