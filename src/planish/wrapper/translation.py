"""A file of a project as a drop-in that its own compiler command takes: read, looked through for nests that are worth a
call, compared with what the compiler sees; the rest of the compiler is loaded only for what is left.

>>> translate.__name__
'translate'
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from planish.core.diagnostic import PlanishError
from planish.core.files import Input, read_input
from planish.core.span import Source
from planish.frontend.c.reader import read_c
from planish.frontend.c.text.preprocess import DIALECT
from planish.frontend.c.translation_unit import CFile, CFunction, Region
from planish.ir.expr import Const
from planish.ir.nest import Block, For, Stmt
from planish.ir.traverse import blocks_of, walk
from planish.target.load import load_target
from planish.wrapper.preprocessing import (
    PreprocessingError,
    changed_macros,
    digest_text,
    predefined_macros,
    preprocess_by,
)
from planish.wrapper.request import CHANGED, Translation, TranslationRequest
from planish.wrapper.seen_alike import same_function, same_headers, same_outside, system_headers

FEWEST = 64
"""Iterations that a nest has at least, where numbers say so, to be worth a call."""
DEEP = 3
"""Loops within each other, beyond which one more says nothing of what can be gained."""
_OWN_PLACE = re.compile(r"__BASE_FILE__|__INCLUDE_LEVEL__|\binclude_next\b")
_USUAL = ("cc", "gcc", "clang")
"""The compilers of which the first one that is there preprocesses for the front end."""
_DIFFERENT = "the compiler's flags make another text of it than the one that was analysed"


def translate(request: TranslationRequest, until: float | None = None) -> Translation:
    """The drop-in of a file, of what can be done up to a moment (monotonic); why there is none, where nothing is
    replaced."""
    try:
        given = read_input(request.source)
        made = _translate(given.source, request, until)
        if made.text and not _is_as_asked(given, request):
            return Translation("", CHANGED)
    except PlanishError as error:
        return Translation("", _first_line(error))
    except PreprocessingError as error:
        return Translation("", f"the compiler does not preprocess it: {error}")
    unfinished = any(x.unfinished for x in made.functions)
    made = replace(made, unfinished=unfinished, seconds=request.seconds or 0.0)
    return replace(made, encoding="utf-8" if given.encoding == "utf-8-sig" else given.encoding)


def _is_as_asked(given: Input, request: TranslationRequest) -> bool:
    """Whether what was read is what the drop-in is wanted for: files may be edited meanwhile, and a server may see
    others than the process that asks it."""
    expanded = preprocess_by(request.compiler, request.flags, request.source)
    return digest_text(expanded) == request.expanded and read_input(request.source) == given


def _translate(source: Source, request: TranslationRequest, until: float | None) -> Translation:
    if found := _OWN_PLACE.search(source.text):
        return Translation("", f"{found[0]} depends on where the text lies")
    usual = next((path for name in _USUAL if (path := shutil.which(name))), request.compiler)
    macros = changed_macros(predefined_macros(usual, ()), predefined_macros(request.compiler, request.options))
    request = replace(request, predefined=macros)
    defines = (*request.predefined, *request.macros, *load_target("native").predefined)
    folders = tuple(Path(x) for x in request.folders)
    file = read_c(source, defines=defines, include_dirs=folders, fp=request.floats)
    chosen = [f for f in file.functions if any(map(_is_promising, f.regions))]
    if not chosen:
        return Translation("", "no loop nest is found that is worth a call")
    if len({f.name for f in file.functions}) < len(file.functions):
        return Translation("", "a function is defined twice")
    theirs = preprocess_by(request.compiler, request.flags, source.name, DIALECT)
    if refused := _difference(file, theirs, source):
        return Translation("", refused)
    alike = [f for f in chosen if _is_alike(file, theirs, f)]
    if not alike:
        return Translation("", _DIFFERENT)
    ordered = sorted(alike, key=_urgency)
    made: Translation = import_module("planish.wrapper.building").build_translation(file, ordered, request, until)
    return made


def _is_promising(region: Region) -> bool:
    """Whether a nest has as many iterations as are worth a call, as far as numbers say."""
    loops = [x for x in walk(region.kernel.body) if isinstance(x, For)]
    product = 1
    for loop in loops:
        if not isinstance(loop.lower, Const) or not isinstance(loop.upper, Const):
            return True
        product *= max(0, int(loop.upper.value) - int(loop.lower.value))
    return bool(loops) and product >= FEWEST


def _urgency(function: CFunction) -> tuple[int, int]:
    """What comes first where there is no time for all: the most loops within each other, as far as products of matrices
    have them, and of these the least text, so that a function with others inlined does not come before them."""
    bodies = [region.kernel.body for region in function.regions]
    return -min(DEEP, max(map(_depth, bodies))), sum(1 for body in bodies for _ in walk(body))


def _depth(statement: Stmt) -> int:
    if isinstance(statement, Block):
        return max(map(_depth, statement.body), default=0)
    return max(map(_depth, blocks_of(statement)), default=0) + isinstance(statement, For)


def _difference(file: CFile, theirs: str, source: Source) -> str:
    bodies = [(f.name, f.span.line, f.span.end_line) for f in file.functions]
    if not same_headers(file.preprocessed_as_written, theirs, source.name, system_headers(theirs)):
        return f"{_DIFFERENT}: a header"
    if not same_outside(file.preprocessed_as_written, theirs, source.name, bodies):
        return f"{_DIFFERENT}: outside of functions"
    return ""


def _is_alike(file: CFile, theirs: str, function: CFunction) -> bool:
    span = function.span
    return same_function(file.preprocessed_as_written, theirs, file.source.name, span.line, span.end_line)


def _first_line(error: PlanishError) -> str:
    return f"{error.diagnostic.code}: {error.diagnostic.message}"
