"""`planish kernel gemm`: a kernel of the library as C, made by its schedule for a machine.

$ planish kernel gemm --mr 14 --nr 32 --dtype f32 --target x86-avx512 -o ukr.c
$ planish kernel gemm --header -o sgemm.h
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from planish.build.project import MADE_BY
from planish.cli.exits import OK, guarded
from planish.cli.files import check_writable, write_files
from planish.cli.options import Quiet, Target
from planish.cli.small import emit_small, parse_size
from planish.cli.terminal.progress import show_progress
from planish.core.cache import Cache
from planish.core.diagnostic import Diagnostic, PlanishError
from planish.emit.dropin.blis import emit_blis
from planish.emit.dropin.kernel_file import emit_file
from planish.isa.shipped import shipped
from planish.library.kernels.gemm.blocked import Blocking, choose_blocking
from planish.library.kernels.gemm.functions import Request, check_request, count_kernels, make_functions
from planish.library.kernels.gemm.microkernel import Layout, Tile, choose_tile, make_micro
from planish.library.kernels.gemm.operands import OPS, Op
from planish.library.kernels.kernel_cache import KernelCache
from planish.library.kernels.vectors import PRODUCTS, Vectors, choose_vectors
from planish.schedule.script import print_script
from planish.target.load import load_target
from planish.target.machine import Target as Machine
from planish.tuning.blocking import count_trials, describe, refine_blocking, remark_on
from planish.version import VERSION

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class KernelName(StrEnum):
    """A kernel of the library."""

    gemm = "gemm"


class ElementTypeName(StrEnum):
    """A type of elements, or those of both factors."""

    f16 = "f16"
    f32 = "f32"
    f64 = "f64"
    bf16 = "bf16"
    i16 = "i16"
    u8s8 = "u8s8"


PREFIXES = {"f16": "h", "f32": "s", "f64": "d", "bf16": "b", "i16": "i16", "u8s8": "u8"}
"""How the whole product's name begins, by the type."""


class Transposed(StrEnum):
    """Which operands lie transposed."""

    nn = "nn"
    nt = "nt"
    tn = "tn"
    tt = "tt"
    all = "all"


class Order(StrEnum):
    """Whether matrices lie row by row or column by column."""

    row = "row"
    column = "column"


class OperandForm(StrEnum):
    """How A lies."""

    columns = "columns"
    strided = "strided"
    plain = "plain"
    turned = "turned"


class Convention(StrEnum):
    """How a micro-kernel is called."""

    planish = "planish"
    blis = "blis"


@app.command()
@guarded
def kernel(
    name: Annotated[KernelName, typer.Argument(help="The kernel.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="Where the C goes.", show_default="stdout")
    ] = None,
    target: Target = "native",
    dtype: Annotated[
        ElementTypeName,
        typer.Option("--dtype", help="The type of A and B; sums of bf16 are f32, sums of integers i32."),
    ] = ElementTypeName.f32,
    mr: Annotated[
        int | None, typer.Option("--mr", min=1, help="Rows of the micro-kernel's tile.", show_default="the best")
    ] = None,
    nr: Annotated[
        int | None, typer.Option("--nr", min=1, help="Columns of the micro-kernel's tile.", show_default="the best")
    ] = None,
    layout: Annotated[
        OperandForm | None,
        typer.Option("--layout", help="How A lies for the micro-kernel.", show_default="columns where there are any"),
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="Store the products, do not add them to C.")] = False,
    convention: Annotated[
        Convention, typer.Option("--convention", help="How the micro-kernel is called.")
    ] = Convention.planish,
    header: Annotated[bool, typer.Option("--header", help="The whole product as a header of its own.")] = False,
    size: Annotated[
        str | None, typer.Option("--size", metavar="MxNxK", help="A product of one small size, all of it known.")
    ] = None,
    op: Annotated[
        list[Transposed] | None,
        typer.Option("--op", help="Whether A and B lie as they are (n) or transposed (t); may be given many times."),
    ] = None,
    order: Annotated[
        Order, typer.Option("--order", help="column: also functions for matrices of columns.")
    ] = Order.row,
    batch: Annotated[bool, typer.Option("--batch", help="Also functions for many products of one size.")] = False,
    threads: Annotated[bool, typer.Option("--threads", help="Also functions that run on threads (OpenMP).")] = False,
    refine: Annotated[
        bool, typer.Option("--refine", help="Time some sizes of the whole product's blocks here; take the fastest.")
    ] = False,
    script: Annotated[bool, typer.Option("--script", help="Print the micro-kernel's schedule instead.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Make anew what is cached of the whole product.")] = False,
    quiet: Quiet = False,
) -> int:
    """Generate C for a kernel of the library: a micro-kernel, or the whole product as a header.

    A micro-kernel adds to a tile of C what columns of A and rows of B give; tiles whose columns are no multiple of a
    vector's lanes are for any number of columns up to that. The header has one function,
    NAME(m, n, k, lda, ldb, ldc, alpha, beta, A, B, C), for row-major matrices; more of them with --op, --order, --batch
    and --threads. Kernels that are made for it are cached: after Ctrl-C, the same command goes on from there. With
    --size the file has one function, NAME_MxNxK(alpha, A, B, C), for matrices whose rows follow one another.
    """
    if not header and (op or order is Order.column or batch or threads or refine):
        message = "--op, --order, --batch, --threads and --refine are for the whole product"
        raise PlanishError(Diagnostic("E0642", message, help="ask for it with --header"))
    if header and (layout or first or script or convention is Convention.blis):
        message = "--layout, --first, --script and --convention are for a micro-kernel"
        raise PlanishError(Diagnostic("E0642", message, help="leave them out, or --header"))
    if size and (header or mr or nr or layout or script or convention is Convention.blis):
        message = "--size asks for a product of one size, which has neither a tile nor a header"
        raise PlanishError(Diagnostic("E0642", message, help="leave the other one out"))
    machine = load_target(target)
    vectors = choose_vectors(machine, PRODUCTS[dtype.value])
    banner = f"{MADE_BY} {VERSION}: {name.value} of {dtype.value} for {machine.name}"
    if header:
        request = Request(_ops(op or ()), order is Order.column, batch, threads)
        check_request(request, vectors.product)
        blocking, maker = _blocking(vectors, machine, mr, nr), KernelCache(Cache(), anew=force)
        if refine:
            blocking = _refine(vectors, machine, blocking, maker, quiet)
        banner += f", in blocks of {describe(blocking)}; it belongs to you. */\n"
        text = banner + _whole(vectors, blocking, request, maker, quiet)
    elif size:
        banner += "; it belongs to you. */\n"
        text = banner + emit_small(parse_size(size, vectors, first), f"planish_{_stem(vectors)}")
    else:
        form: Layout = layout.value if layout else "columns" if vectors.product.group == 1 else "strided"
        banner += "; it belongs to you. */\n"
        tile = _tile(vectors, mr, nr, form, first)
        made = make_micro(tile)
        if script:
            text = print_script(made.steps)
        elif convention is Convention.blis:
            text = banner + emit_blis(tile)
        else:
            text = banner + emit_file(made.kernel)
    if output is None:
        sys.stdout.write(text)
        return OK
    folder = output.parent
    if folder.exists():
        check_writable(folder)
    write_files(folder, {output.name: text}, "utf-8")
    if not quiet:
        print(f"wrote {output}")
    return OK


def _tile(vectors: Vectors, rows: int | None, columns: int | None, layout: Layout, first: bool) -> Tile:
    """The tile that is asked for; the best one where nothing is said."""
    best = choose_tile(vectors)
    count = best[1] if columns is None else -(-columns // vectors.lanes)
    masked = columns is not None and columns % vectors.lanes != 0
    return Tile(vectors, rows or best[0], count, masked, first, layout)


def _stem(vectors: Vectors) -> str:
    """How the names of whole products begin."""
    return f"{PREFIXES[vectors.product.name]}gemm"


def _ops(asked: Sequence[Transposed]) -> tuple[Op, ...]:
    """The products that are asked for, each once."""
    return tuple(x for x in OPS if x in asked or Transposed.all in asked) or ("nn",)


def _blocking(vectors: Vectors, machine: Machine, rows: int | None, columns: int | None) -> Blocking:
    """The blocks of the whole product, by the model, around the tile that is asked for."""
    best = choose_tile(vectors)
    count = best[1] if columns is None else max(1, columns // vectors.lanes)
    return choose_blocking(vectors, rows or best[0], count, machine.cache(1).share, machine.cache(2).share)


def _refine(vectors: Vectors, machine: Machine, start: Blocking, maker: KernelCache, quiet: bool) -> Blocking:
    """The fastest blocks of those around `start`; a remark on stderr says what was tried."""
    with _counting(maker, count_trials(start), "blocks", quiet):
        chosen, tried = refine_blocking(vectors, start, machine, maker)
    if not quiet:
        print(remark_on(chosen, tried).render(), file=sys.stderr)
    return chosen


def _whole(vectors: Vectors, blocking: Blocking, request: Request, maker: KernelCache, quiet: bool) -> str:
    """The text of the header."""
    name = _stem(vectors)
    with _counting(maker, count_kernels(request, vectors, blocking), name, quiet):
        programs, made = make_functions(f"planish_{name}", vectors, blocking, request, maker)
        kernels = (x.kernel for x in programs)
        return emit_file(*kernels, catalogue=shipped().joined(made), header=True, threads=request.threads)


@contextmanager
def _counting(maker: KernelCache, total: int, name: str, quiet: bool) -> Iterator[None]:
    """A bar over what is made; KeyboardInterrupt says how much is kept."""
    with show_progress(total, quiet) as progress:
        progress.start(name)
        maker.tell = progress.step
        try:
            yield
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"{maker.kept} kernels are kept for the next time") from None
