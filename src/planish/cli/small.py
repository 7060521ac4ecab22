"""`planish kernel gemm --size`: a product of one small size as C.

$ planish kernel gemm --size 4x4x32 --first -o small.c
"""

from __future__ import annotations

import re

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.emit.dropin.kernel_file import emit_file
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import shipped
from planish.library.kernels.gemm.small import GemmSize, make_small
from planish.library.kernels.vectors import Vectors

LARGEST = 256
"""The rows and columns that a product of one size has at most: larger ones are for blocks that fit caches."""


def parse_size(text: str, vectors: Vectors, first: bool) -> GemmSize:
    """The sizes m, n and k in a text; PlanishError E0642 where they are none, or too large."""
    found = re.fullmatch(r"([1-9]\d{0,8})x([1-9]\d{0,8})x([1-9]\d{0,8})", text)
    if found is None:
        advice = "write m, n and k as in 4x4x32, each at least 1"
        raise PlanishError(Diagnostic("E0642", f"`{text}` is no size of a product", help=advice))
    m, n, k = map(int, found.groups())
    if max(m, n) > LARGEST:
        message = f"a product of {m} x {n} elements is not small"
        raise PlanishError(Diagnostic("E0642", message, help=f"--size makes up to {LARGEST}; take --header"))
    if vectors.product.group > 1 or not vectors.has("masked_load"):
        message = f"`{vectors.extension}` has no products of {vectors.product.name} for one size"
        raise PlanishError(Diagnostic("E0642", message, help="take --header, which is for all sizes"))
    return GemmSize(vectors, m, n, k, first=first)


def emit_small(size: GemmSize, name: str) -> str:
    """The C of the product of one size."""
    known: dict[str, Instruction] = {}
    kernel = make_small(f"{name}_{size.name}", size, known).kernel
    return emit_file(kernel, catalogue=shipped().joined(Catalogue().with_instructions(known.values())), inline=True)
