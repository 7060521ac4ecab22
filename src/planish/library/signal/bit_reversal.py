"""Bit-reversal (digit-reversal) permutations by blocks of squares.

Before: for number { exchange x[number] and x[mirrored] }              (each far from the one before)
After:  for tile { read squares `tile` and `mirrored`; write each into the place of the other, turned }

The first and the last digits of a number say where it is in a square of `TILE` rows, which lie far apart, of `TILE`
elements, which lie side by side; those between say in which square. Backwards, it is in the square whose number is
that of its own one backwards, and rows and columns are exchanged. So what is read and written lies side by side.

>>> from planish.core.span import Source
>>> from planish.frontend.c.reader import read_c
>>> swap = "if (i < j) { float t = x[i]; x[i] = x[j]; x[j] = t; }"
>>> loop = "for (i = 0, j = 0; i < n - 1; i++) { %s for (k = n / 2; k <= j; k /= 2) j -= k; j += k; }" % swap
>>> region, = read_c(Source("f.c", "void f(float *x, int n) { int i, j, k; %s }" % loop)).functions[0].regions
>>> [x.name for x in reversal_versions(region)[0]]
['bit-reversal']
"""

from __future__ import annotations

from planish.core.diagnostic import Remark
from planish.core.names import take_name
from planish.frontend.c.idioms.bit_reversal.exchange_loops import spell_place
from planish.frontend.c.translation_unit import TILE, BitReversal, Region
from planish.ir.expr import index
from planish.ir.index.polynomial import mul
from planish.ir.nest import Array, Kernel
from planish.ir.text.operator_names import quoted
from planish.ir.text.parser import parse_kernel
from planish.library.parallel.thread_threshold import with_starts
from planish.library.signal.fft_stages.stage_kernels import StageKernel, StageVersion
from planish.schedule.auto.plan import prepare

NAME = "bit-reversal"
"""What the version is called."""


def reversal_versions(region: Region, threads: int = 1) -> tuple[tuple[StageVersion, ...], tuple[Remark, ...]]:
    """The version of a region that reverses digits; none of another one. Several `threads` share the squares."""
    if region.reversal is None:
        return (), ()
    kernel = region.kernel
    made = parse_kernel(write_squares(kernel, region.reversal, parallel=threads > 1))
    if threads > 1:
        moved = sum(region.reversal.widths.values()) * TILE * TILE
        made = with_starts(made, mul(index(moved), index("tiles")))
    piece = StageKernel("squares", region, prepare(parse_kernel(_reach(kernel, region.reversal))).scop, made)
    message = f"bit-reversal permutation by blocks of {TILE} x {TILE} elements, from {TILE * TILE} elements on"
    return (StageVersion(NAME, (piece,)),), (Remark(NAME, "done", message, region.span),)


def write_squares(kernel: Kernel, reversal: BitReversal, parallel: bool) -> str:
    """The kernel that swaps pairs of squares, as text: each pair once; a square that is its own partner is read twice
    and written twice, with the same elements. Copies read each square once, and write it into the other's place."""
    base, taken = reversal.base, {x.name for x in kernel.arrays} | {"tiles"}
    order, turned, row, column, tile, mirrored = (
        take_name(x, taken) for x in ("order", "turned", "row", "column", "tile", "mirrored")
    )
    backwards = [_reverse(x, base) for x in range(TILE)]
    reads, writes, buffers = "", "", ""
    for array in (x for x in kernel.arrays if x.name in reversal.widths):
        name, width = quoted(array.name), reversal.widths[array.name]
        source = quoted(reversal.sources.get(array.name, array.name))
        near, far = (take_name(f"{array.name}_{x}", taken) for x in ("near", "far"))
        shape = f"{array.type}[{TILE}, {TILE * width}]"
        pairs = ((mirrored, near), (tile, far)) if not reversal.sources else ((mirrored, near),)
        buffers += "".join(f"alloc {x}: {shape} distinct stack " for _, x in pairs)
        line = TILE * width
        places = {x: f"{line} * (tiles * {row} + {x}) + " for x in (tile, mirrored)}
        reads += f"for {row} in 0 .. {TILE} {{ for {column} in 0 .. {line} simd {{ "
        read = {near: tile, far: mirrored}
        reads += "".join(f"{x}[{row}, {column}] = {source}[{places[read[x]]}{column}] " for _, x in pairs) + "} } "
        writes += f"for {row} in 0 .. {TILE} {{ "
        for square, buffer in pairs:
            for at in range(line):
                source = f"{buffer}[{backwards[at // width]}, {spell_place(f'{turned}[{row}]', width, at % width)}]"
                writes += f"{name}[{places[square]}{at}] = {source} "
        writes += "} "
    loop = f"for {tile} in 0 .. tiles{' parallel' if parallel else ''}"
    digits = ", ".join(map(str, backwards))
    return (
        f"{_head(kernel)} {{ alloc {turned}: i64[{TILE}] distinct table ({digits}) alloc {order}: i64[tiles] distinct "
        f"{order}[0] = 0 for {tile} in 1 .. tiles {{ {order}[{tile}] = {order}[{tile} // {base}] // {base}"
        f" + {tile} % {base} * (tiles // {base}) }} {loop} {{ let {mirrored} = {order}[{tile}] "
        f"if {'0' if reversal.sources else tile} <= {mirrored} {{ {buffers}{reads}{writes}}} }} }}"
    )


def _reach(kernel: Kernel, reversal: BitReversal) -> str:
    """A kernel that comes to the same elements, as text."""
    taken = {x.name for x in kernel.arrays} | {"tiles"}
    at = take_name("at", taken)
    loops = ""
    for array, width in reversal.widths.items():
        read = reversal.sources.get(array, array)
        count = TILE * TILE * width
        loops += f"for {at} in 0 .. {count} * tiles {{ {quoted(array)}[{at}] = {quoted(read)}[{at}] }} "
    return f"{_head(kernel)} {{ {loops} }}"


def _head(kernel: Kernel) -> str:
    arrays = ", ".join(map(_spell, kernel.arrays))
    return f"kernel {quoted(kernel.name)}(tiles; {arrays}) assume tiles >= 1"


def _spell(array: Array) -> str:
    return f"{quoted(array.name)}: {array.type}[?]{' distinct' if array.distinct else ''}"


def _reverse(number: int, base: int) -> int:
    """The digits of a row's or column's number backwards.

    >>> _reverse(1, 2), _reverse(1, 4)
    (8, 4)
    """
    out, left = 0, TILE
    while left > 1:
        number, digit = divmod(number, base)
        out, left = out * base + digit, left // base
    return out
