"""A region of C gives way to calls of a vendor's BLAS, and to loops for what the BLAS has no routine for.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.target.load import load_target
>>> text = "void halve(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 0.5; }"
>>> (function,) = read_c(Source("halve.c", text)).functions
>>> made = replace_by_calls(function.regions[0], load_target("generic"), text, BlasInterface())
>>> print(made.callees[-1], end="")
void cblas_dscal(int, double, double *, int);
>>> made.done
('cblas_dscal',)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from planish.core.cache import Cache
from planish.emit.c.compiler_attributes import USUAL, CompilerSettings
from planish.emit.dropin.replacement import Replacement, call_instead, name_of
from planish.emit.formats.blas.cblas_text import emit_callers
from planish.emit.formats.blas.interface import WORDS, BlasInterface
from planish.frontend.c.translation_unit import Region
from planish.library.raise_operations import improve_nest
from planish.poly.scop.extraction import extract_scop
from planish.raising.raised import Raised
from planish.target.machine import Target

_NAME = re.compile(r"\w*cblas_\w+")


def replace_by_calls(
    region: Region, target: Target, source_text: str, interface: BlasInterface, *, declared: str = "",
    reserved: frozenset[str] = frozenset(), comment: str = "", typical: Mapping[str, int] | None = None,
    settings: CompilerSettings = USUAL,
) -> Replacement | str:  # fmt: skip
    """The replacement of a region by calls of a BLAS; a text says why there is none.

    `declared` is what the compiler sees of the file, which may declare routines itself (by `cblas.h`); `reserved` are
    names to avoid; `typical` are sizes at which costs are compared. Sums are made in any order. Raises NotAffineError,
    NoExtentError and PlanishError.
    """
    if region.conditional_stores:
        return f"{', '.join(region.conditional_stores)}: stored to under conditions on data"
    improved, _ = improve_nest(region.kernel, region.scratch, target, "reassociate", typical, blas=True, cache=Cache())
    raised = _with_scratch(improved, region)
    name = name_of(region)
    made = emit_callers(raised, name, interface, reserved, dict(region.declared))
    if isinstance(made, str):
        return made
    called = tuple(x.group() for y in made.declarations if (x := _NAME.search(y)) is not None)
    known = set(_NAME.findall(declared))
    if interface.wide and known & set(called):
        # Integers of another width would be cut off on the way.
        return "the file declares routines of the BLAS itself, maybe not with integers of 64 bits"
    own = [f"{x}\n" for x, symbol in zip(made.declarations, called, strict=True) if symbol not in known]
    words = [] if re.search(r"\bCblasRowMajor\b", declared) else [WORDS]
    text = "".join([f"/* {comment} */\n" if comment else "", "\n".join(made.functions)])
    scop = extract_scop(raised.kernel)
    return call_instead(
        region, scop, name, text, source_text, made.fallible, (), (*words, *own), called, settings=settings
    )


def _with_scratch(raised: Raised, region: Region) -> Raised:
    """The raised kernel with all of the region's arrays: local ones of the same name are the function's own."""
    known = {x.name: x for x in (*raised.kernel.arrays, *raised.locals)}
    arrays = tuple(known.get(x.name, x) for x in region.kernel.arrays)
    own = tuple(x for x in raised.locals if x not in arrays)
    return replace(raised, kernel=replace(raised.kernel, arrays=arrays), locals=own)
