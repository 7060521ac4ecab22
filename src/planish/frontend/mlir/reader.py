"""From MLIR text to kernels; xDSL, an optional extra, is loaded when the first file is read.

>>> from planish.core.span import Source
>>> text = '''
... func.func @zero(%x: memref<?xf32>) {
...   %zero = arith.constant 0.0 : f32
...   linalg.fill ins(%zero : f32) outs(%x : memref<?xf32>)
...   return
... }
... '''
>>> from planish.ir.text.printer import print_kernel
>>> print(print_kernel(read_mlir(Source("zero.mlir", text))[0]), end="")
kernel zero(x_0; x: f32[x_0])
{
  for d0 in 0 .. x_0 {
    x[d0] = 0.0:f32
  }
}
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.ir.checker import check_kernel
from planish.ir.nest import Kernel
from planish.ir.types import Floats

SUFFIX = ".mlir"
"""How the names of files of MLIR end."""

_EXTRA = "pip install 'planish[mlir]'"


def is_mlir(source: Source) -> bool:
    """Whether a text is MLIR, by its name."""
    return source.name.endswith(SUFFIX)


def parser_version() -> str:
    """The version of xDSL that reads MLIR; PlanishError E0860 where it is not installed."""
    try:
        return version("xdsl")
    except PackageNotFoundError:
        raise _missing("xDSL, which reads MLIR, is not installed") from None


def read_mlir(source: Source, wanted: tuple[str, ...] = (), fp: Floats = "reassociate") -> tuple[Kernel, ...]:
    """The kernels of the functions that have a body, in their order; `wanted`: those of these names alone, where any
    are given.

    Raises PlanishError: E0860 xDSL is missing, E0861 the text is not MLIR, E0862 an operation breaks its own rules,
    E0863 there is no function, or not that one, and E0864 to E0873 for what is not supported.
    """
    installed = parser_version()
    try:
        functions = import_module("planish.frontend.mlir.functions")
    except ImportError as error:
        if not (error.name or "").startswith("xdsl"):
            raise
        raise _missing(f"xDSL {installed} is not one that Planish can read MLIR with: {error.msg}") from error
    kernels: tuple[Kernel, ...] = functions.read_functions(source, wanted, fp)
    for kernel in kernels:
        check_kernel(kernel, "the MLIR front-end")
    return kernels


def _missing(message: str) -> PlanishError:
    return PlanishError(Diagnostic("E0860", message, help=f"install the extra `mlir`: {_EXTRA}"))
