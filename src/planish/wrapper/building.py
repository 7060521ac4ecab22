"""The nests of a file that was read: versions are made, verified and raced, and those that are taken become a drop-in.

Loaded only where a file has something to gain: it brings the whole compiler.

>>> build_translation.__name__
'build_translation'
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planish.build.functions import FunctionResult, build_functions
from planish.build.job import make_workbench
from planish.core.reasons import LOSSES
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.library.gain import GAIN
from planish.options import Options
from planish.report.account import describe_version, remarks_of
from planish.run.processes.sandbox import expect_all_children
from planish.run.toolchains.missing_headers import pointing_at_headers
from planish.target.load import load_target
from planish.tuning.choices import choose_for
from planish.tuning.store.trial_store import TrialStore, default_store
from planish.wrapper.line_markers import compose_with_lines
from planish.wrapper.request import TranslatedFunction, Translation, TranslationRequest


def prepare() -> None:
    """Starts what translations in forks of this process use."""
    expect_all_children()


def build_translation(
    file: CFile, functions: Sequence[CFunction], request: TranslationRequest, until: float | None
) -> Translation:
    """The drop-in of a file with what can be done to some functions, in this order, up to a moment (monotonic)."""
    source = file.source
    options = Options(
        fp=request.floats, measure=False, race=True, gain=GAIN, compiler=request.compiler,
        defines=(*request.predefined, *request.macros), include_dirs=tuple(Path(x) for x in request.folders),
    )  # fmt: skip
    options = choose_for(functions, options, TrialStore(default_store()))
    if until is not None:
        options = replace(options, patience=max(0.01, until - time.monotonic()))
    results = _build(functions, file, options, source)
    listed = tuple(sorted((_account(x, file) for x in results), key=lambda x: x.line))
    replacements = sorted((r for x in results for r in x.replacements), key=lambda r: r.patch.start)
    if not replacements:
        return Translation("", "nothing that was verified is faster", functions=listed)
    return Translation(compose_with_lines(source, replacements), functions=listed)


def _build(functions: Sequence[CFunction], file: CFile, options: Options, source: Source) -> tuple[FunctionResult, ...]:
    target = load_target(options.target)
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        with pointing_at_headers(file.missing, source):
            found = build_functions(functions, file, options, target, bench)
    # What another library than C's would have to be linked for is of no use here.
    return tuple(x for x in found if x.selection is None or x.selection.version is None or not x.selection.version.link)


def _account(result: FunctionResult, file: CFile) -> TranslatedFunction:
    version = result.selection.version.label if result.selection and result.selection.version else ""
    refused = remarks_of(result.function, result.remarks, file.remarks)
    return TranslatedFunction(
        result.function.name, result.function.span.line, bool(result.replacements), version,
        describe_version(result, version) if version else (),
        tuple(dict.fromkeys(f"line {r.span.line}: {r.message}" if r.span else r.message for r in refused)),
        result.lost == LOSSES["wall"],
    )  # fmt: skip
