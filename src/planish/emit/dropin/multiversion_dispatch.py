"""Multiversion dispatch: a region calls the first of several kernels that applies, each of which runs a number of
iterations.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> from planish.library.signal.fft_stages.radix_stages import stage_versions
>>> from planish.target.load import load_target
>>> nest = "for (int i = 0; i < n; i += 2 * h) for (int j = i; j < i + h; j++) a[j] = a[j] - a[j + h];"
>>> text = "void f(float *a, int n) { for (int h = 1; h < n; h *= 2) { %s } }" % nest
>>> (region,) = read_c(Source("f.c", text)).functions[0].regions
>>> (version,), _ = stage_versions(region, load_target("generic"))
>>> made = replace_by_ladder(region, version, text, True, "stages", frozenset())
>>> made.patch.text.count("else"), made.function.count("static void")
(5, 5)
"""

from __future__ import annotations

from dataclasses import replace

from planish.emit.c.compiler_attributes import USUAL, CompilerSettings
from planish.emit.dropin.replacement import Replacement, replace_region
from planish.frontend.c.translation_unit import Region
from planish.isa.instruction import Catalogue
from planish.library.signal.fft_stages.stage_kernels import StageVersion


def replace_by_ladder(
    region: Region, version: StageVersion, source_text: str, strict: bool, comment: str, reserved: frozenset[str],
    catalogue: Catalogue | None = None, threads: bool = False, settings: CompilerSettings = USUAL,
) -> Replacement:  # fmt: skip
    """The replacement of a region by the kernels of a version, tried from the first one on; what is written there stays
    for where none may do it. Raises NoExtentError."""
    made: list[Replacement] = []
    otherwise: str | None = None
    for piece in reversed(version.pieces):
        made.append(
            replace_region(
                piece.region, piece.scop, piece.kernel, source_text, threads=threads, strict=strict,
                comment=comment, reserved=reserved, catalogue=catalogue,
                suffix=f"_{piece.suffix}", original=otherwise, settings=settings,
            )
        )  # fmt: skip
        otherwise = made[-1].patch.text
    headers = tuple(dict.fromkeys(y for x in made for y in x.headers))
    callees = tuple(dict.fromkeys(y for x in made for y in x.callees))
    text = "\n".join(x.function for x in made)
    return replace(made[-1], function=text, headers=headers, callees=callees, done=(version.name,))
