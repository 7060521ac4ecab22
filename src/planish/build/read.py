"""A file of C or MLIR, read: its functions and the regions in them.

>>> from planish.core.span import Source
>>> file = read_file(Source("f.c", "void f(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }"), Options())
>>> [(f.name, len(f.regions)) for f in file.functions]
[('f', 1)]
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path

from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.span import Source
from planish.emit.dropin.standalone import emit_standalone
from planish.frontend.c.analysis.data_model import check_data_model
from planish.frontend.c.reader import read_c
from planish.frontend.c.text.feature_macros import functions_by_flags
from planish.frontend.c.text.lexer import tokenize
from planish.frontend.c.text.preprocess import SYSTEM, preprocess
from planish.frontend.c.translation_unit import CFile, CFunction, Region
from planish.frontend.mlir.reader import is_mlir, read_mlir
from planish.options import Options
from planish.run.toolchains.cross import preprocessor_for
from planish.target.load import load_target

_LANGUAGES = {
    ".cpp": "C++", ".cc": "C++", ".cxx": "C++", ".hpp": "C++", ".hh": "C++", ".cu": "CUDA C++", ".rs": "Rust",
    ".f": "Fortran", ".f90": "Fortran", ".F90": "Fortran",
}  # fmt: skip
"""What files are written in that are no C, by what their names end with."""
_BOUND = {
    "C++": 'whose functions C++ declares as extern "C"', "CUDA C++": 'whose functions C++ declares as extern "C"',
    "Fortran": "and build it with --interface fortran", "Rust": "and build it with --interface rust",
}  # fmt: skip
"""How code in these languages calls functions of C."""


def read_file(source: Source, options: Options) -> CFile:
    """The file's functions and regions.

    Raises PlanishError E0104 where one of `options.functions` is not among them, E0105 where there is no loop, E0117
    for a file of Python, E0204 where a function is defined twice, E0205 where the target has a narrower `long` than the
    file is read with, E0623 where a script is given for several nests, and what the front-end raises.
    """
    if source.name.endswith(".py"):
        raise PlanishError(Diagnostic("E0117", f"{source.name} is Python, and commands read C and MLIR"))
    if is_mlir(source):
        kernels = read_mlir(source, options.functions, options.fp)
        file = emit_standalone(*kernels, origin=source, fp=options.fp)
    else:
        target = load_target(options.target)
        try:
            file = read_c(
                source, defines=options.macros, include_dirs=options.include_dirs, fp=options.fp,
                compiler=preprocessor_for(target, options.compiler),
            )  # fmt: skip
        except PlanishError as error:
            raise _of_another_language(source, error) from None
        file = _as_under_any_flags(file, source, options)
        if target.long_bits == 32:
            check_data_model(file.preprocessed, SYSTEM, source, target.name)
    names = [f.name for f in file.functions]
    if missing := [x for x in options.functions if x not in names]:
        known = ", ".join(names) or "none"
        message = f"no function `{missing[0]}` in {source.name}"
        raise PlanishError(Diagnostic("E0104", message, source.point(1), f"the file defines: {known}"), source)
    for earlier, later in combinations(file.functions, 2):
        if earlier.name == later.name:
            message, advice = f"`{later.name}` is defined twice", f"the first definition is in line {earlier.span.line}"
            raise PlanishError(Diagnostic("E0204", message, later.span, advice), source)
    functions = [f for f in file.functions if options.takes(f.name)]
    regions = [region for f in functions for region in f.regions]
    if options.script is not None and len(regions) != 1:
        message = f"a script schedules one nest, and there are {len(regions)} here"
        raise PlanishError(Diagnostic("E0623", message, functions[0].span), source)
    if not any(_has_loop(f, file.source) for f in functions):
        what = " and ".join(f"`{x}`" for x in options.functions) or "the file"
        raise PlanishError(Diagnostic("E0105", f"there is no loop in {what}", functions[0].span), source)
    return file


def _of_another_language(source: Source, error: PlanishError) -> PlanishError:
    """What is said of a file that cannot be read, since its name says that it is none of C."""
    language = _LANGUAGES.get(Path(source.name).suffix)
    if language is None or error.diagnostic.code != "E0201":
        return error
    advice = f"put the loops into a file of C, {_BOUND[language]}"
    message = f"{source.name} is {language}, and commands read C and MLIR: {error.diagnostic.message}"
    return PlanishError(replace(error.diagnostic, message=message, help=advice), source)


def _as_under_any_flags(file: CFile, source: Source, options: Options) -> CFile:
    """The file without the nests of functions that are something else under other flags: remarks say so. A nest that is
    left out under those is none of them."""
    read = partial(preprocess_for, options=options)
    text = file.preprocessed if file.source is source else None
    nests = {x.name: [_lines(y, x) for y in x.regions] for x in file.functions if x.regions}
    found = functions_by_flags(source, nests, read, options.macros, text)
    if not found:
        return file
    told = "what `{}` is depends on {}, which the compiler's flags decide; kept as written"
    remarks = [
        Remark("scop-flags", "refused", told.format(x.name, found[x.name]), x.span)
        for x in file.functions if x.name in found
    ]  # fmt: skip
    functions = tuple(replace(x, regions=()) if x.name in found else x for x in file.functions)
    return replace(file, functions=functions, remarks=(*file.remarks, *remarks))


def _lines(region: Region, function: CFunction) -> tuple[int, int]:
    span = region.span or function.span
    return span.line, span.end_line


def preprocess_for(source: Source, options: Options) -> str:
    """The text of a C file as it is read, with all that it includes. Raises PlanishError E0202."""
    compiler = preprocessor_for(load_target(options.target), options.compiler)
    return preprocess(source, options.macros, options.include_dirs, compiler).text


def _has_loop(function: CFunction, source: Source) -> bool:
    if function.regions or function.start == function.end:
        return True  # a body whose text comes out of macros cannot be looked at
    body = tokenize(source.text[function.start : function.end])
    return any(token.text in ("for", "while", "do") for token in body.tokens)
