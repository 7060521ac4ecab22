"""A file of a project as a drop-in that its own compiler command takes; within a time, function by function.

Loaded only where a file has something to gain: it brings the whole compiler.

>>> translate.__name__
'translate'
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planish.build.functions import FunctionResult, build_functions
from planish.build.job import make_workbench
from planish.build.read import read_file
from planish.core.diagnostic import PlanishError
from planish.core.files import read_input
from planish.core.reasons import LOSSES
from planish.core.span import Source
from planish.frontend.c.text.preprocess import DIALECT
from planish.frontend.c.translation_unit import CFile, CFunction, Region
from planish.ir.expr import Const
from planish.ir.nest import Block, For, Stmt
from planish.ir.traverse import blocks_of, walk
from planish.options import Options
from planish.report.account import describe_version, remarks_of
from planish.run.toolchains.missing_headers import pointing_at_headers
from planish.target.load import load_target
from planish.tuning.choices import choose_for
from planish.tuning.store.trial_store import TrialStore, default_store
from planish.wrapper.line_markers import compose_with_lines
from planish.wrapper.preprocessing import PreprocessingError, preprocess_by
from planish.wrapper.request import TranslatedFunction, Translation, TranslationRequest
from planish.wrapper.seen_alike import same_function, same_headers, same_outside, system_headers

FEWEST = 64
"""Iterations that a nest has at least, where numbers say so, to be worth a call."""
_DIFFERENT = "the compiler's flags make another text of it than the one that was analysed"


def translate(request: TranslationRequest, until: float | None = None) -> Translation:
    """The drop-in of a file, of what can be done up to a moment (monotonic); why there is none, where nothing is
    replaced."""
    try:
        given = read_input(request.source)
        made = _translate(given.source, request, until)
    except PlanishError as error:
        return Translation("", _first_line(error))
    except PreprocessingError as error:
        return Translation("", f"the compiler does not preprocess it: {error}")
    unfinished = any(x.unfinished for x in made.functions)
    made = replace(made, unfinished=unfinished, seconds=request.seconds or 0.0)
    return replace(made, encoding="utf-8" if given.encoding == "utf-8-sig" else given.encoding)


def _translate(source: Source, request: TranslationRequest, until: float | None) -> Translation:
    options = Options(
        fp=request.floats, measure=False, race=True, compiler=request.compiler,
        defines=(*request.predefined, *request.macros), include_dirs=tuple(Path(x) for x in request.folders),
    )  # fmt: skip
    file = read_file(source, options)
    chosen = [f for f in file.functions if any(map(_is_promising, f.regions))]
    if not chosen:
        return Translation("", "no loop nest is found that is worth a call")
    theirs = preprocess_by(request.compiler, request.flags, source.name, DIALECT)
    if refused := _difference(file, theirs, source):
        return Translation("", refused)
    alike = [f for f in chosen if _is_alike(file, theirs, f)]
    if not alike:
        return Translation("", _DIFFERENT)
    options = choose_for(alike, options, TrialStore(default_store()))
    if until is not None:
        options = replace(options, patience=max(0.01, until - time.monotonic()))
    results = _build(sorted(alike, key=_promise, reverse=True), file, options, source)
    listed = tuple(sorted((_account(x, file, source) for x in results), key=lambda x: x.line))
    replacements = sorted((r for x in results for r in x.replacements), key=lambda r: r.patch.start)
    if not replacements:
        return Translation("", "nothing that was verified is faster", functions=listed)
    return Translation(compose_with_lines(file.source.text, source.name, replacements), functions=listed)


def _build(functions: Sequence[CFunction], file: CFile, options: Options, source: Source) -> tuple[FunctionResult, ...]:
    target = load_target(options.target)
    with tempfile.TemporaryDirectory(prefix="planish-") as folder:
        bench = make_workbench(options, target, Path(folder), source)
        with pointing_at_headers(file.missing, source):
            found = build_functions(functions, file, options, target, bench)
    # What another library than C's would have to be linked for is of no use here.
    return tuple(x for x in found if x.selection is None or x.selection.version is None or not x.selection.version.link)


def _is_promising(region: Region) -> bool:
    """Whether a nest has as many iterations as are worth a call, as far as numbers say."""
    loops = [x for x in walk(region.kernel.body) if isinstance(x, For)]
    product = 1
    for loop in loops:
        if not isinstance(loop.lower, Const) or not isinstance(loop.upper, Const):
            return True
        product *= max(0, int(loop.upper.value) - int(loop.lower.value))
    return bool(loops) and product >= FEWEST


def _promise(function: CFunction) -> int:
    """The most loops within each other."""
    return max(_depth(region.kernel.body) for region in function.regions)


def _depth(statement: Stmt) -> int:
    if isinstance(statement, Block):
        return max(map(_depth, statement.body), default=0)
    return max(map(_depth, blocks_of(statement)), default=0) + isinstance(statement, For)


def _difference(file: CFile, theirs: str, source: Source) -> str:
    bodies = [(f.name, f.span.line, f.span.end_line) for f in file.functions]
    if not same_headers(file.preprocessed, theirs, source.name, system_headers(theirs)):
        return f"{_DIFFERENT}: a header"
    if not same_outside(file.preprocessed, theirs, source.name, bodies):
        return f"{_DIFFERENT}: outside of functions"
    return ""


def _is_alike(file: CFile, theirs: str, function: CFunction) -> bool:
    span = function.span
    return same_function(file.preprocessed, theirs, file.source.name, span.line, span.end_line)


def _account(result: FunctionResult, file: CFile, source: Source) -> TranslatedFunction:
    version = result.selection.version.label if result.selection and result.selection.version else ""
    refused = remarks_of(result.function, result.remarks, file.remarks)
    return TranslatedFunction(
        result.function.name, result.function.span.line, bool(result.replacements), version,
        describe_version(result, version) if version else (),
        tuple(dict.fromkeys(f"line {r.span.line}: {r.message}" if r.span else r.message for r in refused)),
        result.lost == LOSSES["wall"],
    )  # fmt: skip


def _first_line(error: PlanishError) -> str:
    return f"{error.diagnostic.code}: {error.diagnostic.message}"
