"""The statements of a nest as operations: the form, what is tested at run time, what runs it, and why.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.target.load import load_target
>>> nest = parse_kernel("kernel zero(n; A: f64[n]) { for i in 0 .. n { A[i] = A[i] * A[i] * A[i] } }")
>>> print("; ".join(x.message for x in describe_operations(nest, (), load_target("generic"), "reassociate")))
S0: loops without a name: not fill: the product is `A * A * A` where the definition has `alpha`
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planish.build.read import read_file
from planish.core.cache import Cache
from planish.core.diagnostic import Remark
from planish.core.span import Source
from planish.frontend.c.translation_unit import CFunction
from planish.ir.nest import Array, Kernel
from planish.ir.text.printer import print_expr
from planish.ir.traverse import variables
from planish.ir.types import Floats
from planish.library.conv.low_precision import widen, with_copies, with_types
from planish.library.dense.blocked_factorisation import is_factor
from planish.library.dense.floyd_warshall import is_paths
from planish.library.dense.triangular import find_triangle
from planish.library.kernels.batched_gemm import NoMatricesError
from planish.library.raise_operations import improve_nest
from planish.library.signal.stockham_fft import transform_versions
from planish.library.work import describe, find_work
from planish.options import Options
from planish.poly.isl.affine import NotAffineError
from planish.raising.raised import Apply, Choice, Loops, Raised, Repeat, Step, case_locals
from planish.report.account import FileAccount, FunctionAccount
from planish.report.tables import format_ratio, format_seconds
from planish.schedule.auto.plan import prepare
from planish.target.load import load_target
from planish.target.machine import Target


def report_operations(source: Source, options: Options, account: FileAccount) -> str:
    """For each nest of a file what its statements are and what runs them, and what became of the function."""
    target, file = load_target(options.target), read_file(source, options)
    parts: list[str] = []
    for function in (x for x in file.functions if options.takes(x.name)):
        parts += _function(function, options, target, source)
        built = next((x for x in account.functions if x.function == function.name), None)
        parts += [] if built is None else [describe_choice(built)]
    return "\n".join(parts) + "\n"


def _function(function: CFunction, options: Options, target: Target, source: Source) -> Iterator[str]:
    for region in function.regions:
        place = f"line {region.span.line}" if region.span else f"nest {region.ordinal}"
        yield f"=== {function.name}, {place}"
        for remark in describe_operations(region.kernel, region.scratch, target, options.fp, dict(options.sizes)):
            yield remark.render(source)


def describe_choice(built: FunctionAccount) -> str:
    """Which version of a function a build took, and what the clock said."""
    what = f"`{built.version}` is in use" if built.replaced else "the original stays in use"
    if built.before is None or built.after is None:
        return f"note[built]: {what}; nothing was timed"
    times = f"{format_seconds(built.before.median)} before, {format_seconds(built.after.median)} after"
    ratio = format_ratio(built.ratio if built.replaced else 1.0)
    return f"note[built]: {what}: {times} ({ratio}), timed with {built.timed}"


def describe_operations(
    kernel: Kernel, scratch: Collection[str], target: Target, fp: Floats, typical: dict[str, int] | None = None
) -> tuple[Remark, ...]:
    """A remark on each operation and each nest without a name, and on what algebra did with them or left."""
    try:
        wide, narrow = widen(kernel)
        raised, remarks = improve_nest(wide, scratch, target, fp, typical, direct=True, cache=Cache(), narrow=narrow)
        _, transforms = transform_versions(prepare(kernel), target, fp, typical)
    except NotAffineError as error:
        return (Remark("raise", "refused", f"no operations: {error.reason}", kernel.span),)
    own = (*raised.locals, *case_locals(raised.steps), *(x.array for x in raised.reshapes))
    arrays = with_types({x.name: x for x in (*raised.kernel.arrays, *own)}, with_copies(raised, narrow))
    return (*transforms, *remarks, *_steps(raised.steps, raised, arrays, fp))


def _steps(steps: tuple[Step, ...], raised: Raised, arrays: dict[str, Array], fp: Floats) -> Iterator[Remark]:
    for step in steps:
        match step:
            case Apply():
                yield Remark("raise", "done", _describe(step, arrays, raised.kernel.sizes, fp), step.span)
            case Loops():
                for name, reason in step.reasons.items() or {"loops": "no operation was looked for"}.items():
                    yield Remark("raise", "note", f"{name}: loops without a name: {reason}")
            case Repeat():
                yield from _steps(step.steps, raised, arrays, fp)
            case Choice():
                for case in step.cases:
                    yield Remark("raise", "note", f"where {print_expr(case.condition)}:")
                    yield from _steps(case.steps, raised, arrays, fp)


def _describe(step: Apply, arrays: dict[str, Array], sizes: Collection[str], fp: Floats) -> str:
    """The statements, the operation, its operands, what is asked, and what runs it."""
    who = f"{', '.join(step.statements)}: " if step.statements else ""
    operands = ", ".join(f"{name} = {view}" for name, view in step.operands.items())
    scalars = "".join(f", {name} = {print_expr(x)}" for name, x in step.scalars.items())
    asked = " and ".join(print_expr(x) for x in step.conditions)
    guards = f"; asked when it runs: {asked}" if asked else "; nothing has to be asked"
    return f"{who}`{step.operation.name}` of {operands}{scalars}{guards}; {_choice(step, arrays, sizes, fp)}"


def _choice(step: Apply, arrays: dict[str, Array], sizes: Collection[str], fp: Floats) -> str:
    taken = {*arrays, *(name for x in step.sizes.values() for name in variables(x))}
    if fp == "reassociate" and is_factor(step, arrays):
        return "by blocks on the diagonal, with products by a kernel of the library where that is faster"
    if is_paths(step, arrays, sizes) and (fp == "reassociate" or arrays[step.operands["D"].array].type.is_int):
        return "by blocks of stops where that is faster, if no distance is negative"
    if fp == "reassociate" and find_triangle(step, arrays, {*taken}) is not None:
        return "a triangle of products of matrices, by blocks for a kernel of the library where that is faster"
    try:
        work = find_work(step, arrays, taken)
    except NoMatricesError as error:
        return f"run as loops: {error}"
    if fp != "reassociate" and arrays[step.operands[step.operation.output].array].type.is_float:
        return f"run as loops: the library sums in another order, which --fp {fp} does not allow"
    return f"a {describe(work)}, for a kernel of the library where that is faster"
