"""`planish raise FILE.c --to FORM`: what the nests of a file compute, as text that other tools read.

$ planish raise gemm.c --to numpy
$ planish raise gemm.c --to cblas -o gemm_blas.c
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from planish.build.read import read_file
from planish.cli.exits import OK, guarded
from planish.cli.files import check_writable, write_files
from planish.cli.options import Defines, Floats, Fp, Function, Includes, Quiet, read_floats
from planish.core.cache import Cache
from planish.core.diagnostic import Diagnostic, PlanishError, Remark
from planish.core.files import read_input
from planish.emit.formats.blas.cblas_text import emit_cblas
from planish.emit.formats.json_text import emit_json
from planish.emit.formats.mlir.mlir_text import emit_mlir
from planish.emit.formats.numpy.einsum_text import emit_einsum
from planish.emit.formats.numpy.numpy_text import emit_numpy
from planish.frontend.c.translation_unit import CFile, CFunction
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.raising.match.operation_index import load_operations
from planish.raising.nests import raise_kernel
from planish.raising.operation import Operation
from planish.raising.raised import Apply, Loops, Raised, walk_steps
from planish.raising.tdl.constants import specialise_all

FORMS: Mapping[str, Callable[..., str]] = {
    "mlir": emit_mlir, "numpy": emit_numpy, "einsum": emit_einsum, "cblas": emit_cblas, "json": emit_json,
}  # fmt: skip
"""The forms, and what writes them."""


def _asked(form: str) -> str:
    """The text of --to; raises typer.BadParameter where it is not given."""
    if not form:
        raise typer.BadParameter(f"say which form is wanted: one of {', '.join(FORMS)}")
    return form


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command("raise")
@guarded
def raise_file(
    file: Annotated[str, typer.Argument(metavar="FILE.c", help="A C file.", show_default=False)],
    to: Annotated[
        str,
        typer.Option("--to", metavar="|".join(FORMS), help="The form of it.", callback=_asked, show_default=False),
    ] = "",
    output: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="Where the text goes.", show_default="stdout")
    ] = None,
    function: Function = None,
    ilp64: Annotated[
        bool, typer.Option("--ilp64", help="cblas: the integers of the BLAS have 64 bits.")
    ] = False,
    fp: Fp = Floats.reassociate,
    define: Defines = None,
    include: Includes = None,
    quiet: Quiet = False,
) -> int:
    """Print what the nests of a C file compute: operations where they have a name, loops where not.

    Each nest becomes a function of its sizes, numbers and arrays. Remarks say where no operation was found, and why.
    """
    if to not in FORMS:
        near = difflib.get_close_matches(to, FORMS, 1)
        advice = f"did you mean `{near[0]}`?" if near else f"it is one of {', '.join(FORMS)}"
        raise PlanishError(Diagnostic("E0843", f"there is no form `{to}`", help=advice))
    if ilp64 and to != "cblas":
        advice = "leave it out, or ask for --to cblas"
        raise PlanishError(Diagnostic("E0844", f"--ilp64 is of no use to --to {to}", help=advice))
    source = read_input(file).source
    options = Options(
        functions=tuple(function or ()), fp=read_floats(fp), defines=tuple(define or ()),
        include_dirs=tuple(include or ()),
    )  # fmt: skip
    kernels = raise_kernels(read_file(source, options).without_early_exits(), options)
    if not quiet:
        for remark in remarks_on(kernels):
            print(remark.render(source), file=sys.stderr)
    text = emit_cblas(*kernels, wide=True) if ilp64 else FORMS[to](*kernels)
    if output is None:
        sys.stdout.write(text)
        return OK
    if output.parent.exists():
        check_writable(output.parent)
    write_files(output.parent, {output.name: text}, "utf-8")
    if not quiet:
        print(f"wrote {output}")
    return OK


def raise_kernels(file: CFile, options: Options) -> tuple[Raised, ...]:
    """The nests of a file as operations; PlanishError E0845 where there is no nest."""
    operations = load_operations(Cache())
    functions = [x for x in file.functions if options.takes(x.name)]
    out = [x for f in functions for x in _raise_function(f, operations, options)]
    if not out:
        raise _no_nest(file, functions)
    return tuple(out)


def _raise_function(function: CFunction, operations: Sequence[Operation], options: Options) -> list[Raised]:
    """The nests of a function, named like it, with a number where there are several."""
    out = []
    for region in function.regions:
        name = function.name if len(function.regions) == 1 else f"{function.name}_{region.ordinal}"
        kernel = replace(region.kernel, name=name)
        try:
            known = specialise_all(operations, kernel)
            out.append(raise_kernel(kernel, known, reassociate=options.fp == "reassociate"))
        except NotAffineError as error:
            out.append(Raised(kernel, (Loops(kernel.body, {"the nest": error.reason}),)))
    return out


def remarks_on(kernels: tuple[Raised, ...]) -> list[Remark]:
    """A remark on each nest in which no operation was found."""
    out = []
    for raised in kernels:
        if any(isinstance(x, Apply) for x in walk_steps(raised.steps)):
            continue
        reasons = [f"{k}: {v}" for x in walk_steps(raised.steps) if isinstance(x, Loops) for k, v in x.reasons.items()]
        message = "; ".join([f"no operation was found in `{raised.kernel.name}`", *reasons])
        out.append(Remark("raise-nothing", "note", message, raised.kernel.span))
    return out


def _no_nest(file: CFile, functions: list[CFunction]) -> PlanishError:
    """Why there is nothing to raise: what the front-end says of the first loop that it did not take."""
    source = file.source
    refused = [x for x in file.remarks if x.kind == "refused"]
    advice = refused[0].message if refused else "give a file with a loop nest over arrays"
    span = refused[0].span if refused else functions[0].span if functions else None
    message = f"no loop in {source.name} is a nest that can be raised"
    return PlanishError(Diagnostic("E0845", message, span, advice), source)
