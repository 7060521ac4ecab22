"""The C function that packs what is kept, a vector of iterations at a time: `vpcompressd` moves lanes together, and
`vpexpandd` apart.

Lanes are stored under a mask, so that nothing is written behind what the loop itself writes. Elements of less than 32
bits are widened, as many at a time as a vector then holds.

>>> store_lanes("planish_q0", "planish_v0", 4, 16, "planish_m")
['planish_pack_4_16(planish_q0, planish_m, (__m512i)planish_v0);']
>>> len(store_lanes("planish_q0", "planish_v0", 1, 64, "planish_m")) > 4
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planish.poly.early_exit.exit_test import ITERATION

_GROUP = 16
"""So many elements of less than 32 bits are moved together at a time."""
_LEAST = 128
"""The bits of the narrowest register; what is narrower is loaded into its low lanes."""


@dataclass(frozen=True, slots=True)
class PackText:
    """One kind of what is kept: its `mask` in C; the bytes of the elements and the vectors of them; and for those that
    are read where they are kept alone, the row, else None. `spread`: the values are where those elements are stored
    that lie side by side."""

    mask: str
    sizes: tuple[int, ...]
    values: tuple[str, ...]
    rows: tuple[str | None, ...]
    spread: tuple[bool, ...]


def emit_packing(
    name: str, declarations: Sequence[str], lines: Sequence[str], count: int, packs: Sequence[PackText], comment: str
) -> str:
    """The function `name`: so many of the first `planish_n` iterations as are done, of which those that keep something
    are counted."""
    places = [
        f"{'const ' * told}void *planish_q{n}_{m}" for n, x in enumerate(packs) for m, told in enumerate(x.spread)
    ]
    counts = [f"ptrdiff_t *planish_counted{n}" for n in range(len(packs))]
    parameters = ",\n    ".join(["ptrdiff_t planish_n", *declarations, *places, *counts])
    begin = "".join(f"  ptrdiff_t planish_c{n} = 0;\n" for n in range(len(packs)))
    body = [*lines, *(f"const uint64_t planish_m{n} = {x.mask};" for n, x in enumerate(packs))]
    read: list[str] = []
    stored: list[str] = []
    for n, pack in enumerate(packs):
        # A store of no element at all takes long where the page was never written to.
        stored.append(f"if (planish_m{n}) {{")
        for m, (size, value, row) in enumerate(zip(pack.sizes, pack.values, pack.rows, strict=True)):
            if row is not None:
                value = f"planish_w{n}_{m}"
                bits = max(8 * size * count, _LEAST)
                read.append(f"const {_register(bits)} {value} = {_read(row, size, count, f'planish_m{n}')};")
            place = f"(char *)planish_q{n}_{m} + {size} * planish_c{n}"
            if pack.spread[m]:
                stored.append(f"planish_spread_{size}_{count}({value}, planish_m{n}, (const {place[1:]});")
                continue
            stored += store_lanes(place, value, size, count, f"planish_m{n}", row is not None)
        stored += ["}", f"planish_c{n} += __builtin_popcountll(planish_m{n});"]
    inner = "".join(f"    {x}\n" for x in (*body, *read, *stored))
    end = "".join(f"  *planish_counted{n} = planish_c{n};\n" for n in range(len(packs)))
    return f"""/* {comment} */
static __attribute__((noinline, unused)) ptrdiff_t {name}(
    {parameters}) {{
{begin}  ptrdiff_t {ITERATION} = 0;
  for (; {ITERATION} <= planish_n - {count}; {ITERATION} += {count}) {{
{inner}  }}
{end}  return {ITERATION};
}}
"""


def _read(row: str, size: int, count: int, mask: str) -> str:
    bits = 8 * size * count
    width = "" if bits <= _LEAST else bits
    return f"_mm{width}_maskz_loadu_epi{8 * size}({mask}, {row})"


def _register(bits: int) -> str:
    return f"__m{bits}i"


def store_lanes(place: str, value: str, size: int, count: int, mask: str, loaded: bool = False) -> list[str]:
    """Statements that store the lanes of a vector of `count` elements of `size` bytes for which bits of a mask are set,
    side by side from a place, a `char *`, on. `loaded`: it is a register, and no vector that may be narrower."""
    if size >= 4:
        return [f"planish_pack_{size}_{count}({place}, {mask}, ({_register(8 * size * count)}){value});"]
    group = min(count, _GROUP)
    bits = 8 * size * group
    if group == count:
        part = f"({_register(max(bits, _LEAST))}){value}"
        if bits < _LEAST and not loaded:
            part = f"_mm_cvtsi64_si128((long long){value})"
        return [f"planish_pack_{size}_{group}({place}, {mask}, {part});"]
    out = [f"{{ const {_register(bits)} *planish_groups = (const {_register(bits)} *)(const void *)&{value};"]
    behind = place
    for n in range(count // group):
        shifted = f"{mask} >> {n * group}" if n else mask
        out.append(f"  planish_pack_{size}_{group}({behind}, (uint16_t)({shifted}), planish_groups[{n}]);")
        behind = f"{place} + {size} * __builtin_popcountll({mask} & {(1 << (n + 1) * group) - 1:#x}ull)"
    return [*out, "}"]


def spreading_function(size: int, count: int) -> str:
    """The function that stores elements of so many bytes, that lie side by side, to those lanes, of so many, for which
    bits of a mask are set.

    >>> "_mm512_maskz_expand_epi64" in spreading_function(8, 8)
    True
    """
    bits, kind = 8 * size * count, f"epi{8 * size}"
    width, mask = "" if bits <= _LEAST else bits, f"__mmask{max(8, count)}"
    return f"""/* Stores elements of {size} bytes, side by side, to those of {count} for which a mask has bits. */
static inline __attribute__((always_inline)) void planish_spread_{size}_{count}(
    const void *planish_to, uint64_t planish_m, const void *planish_p) {{
  const uint32_t planish_low = (1u << __builtin_popcountll(planish_m)) - 1;
  const {_register(max(bits, _LEAST))} planish_x = _mm{width}_maskz_loadu_{kind}(({mask})planish_low, planish_p);
  _mm{width}_mask_storeu_{kind}(
      (void *)(uintptr_t)planish_to, ({mask})planish_m, _mm{width}_maskz_expand_{kind}(({mask})planish_m, planish_x));
}}"""


def packing_functions(shapes: Sequence[tuple[int, int]], count: int) -> tuple[str, ...]:
    """The functions that store lanes of so many bytes, of vectors of so many elements."""
    return tuple(_function(size, count if size >= 4 else min(count, _GROUP)) for size, count in dict.fromkeys(shapes))


def _function(size: int, count: int) -> str:
    bits = 8 * size * count
    low = f"const uint32_t planish_low = (1u << __builtin_popcount((uint{max(8, count)}_t)planish_m)) - 1;"
    own = f"(__mmask{max(8, count)})"
    width = "" if bits <= _LEAST else bits
    if size >= 4:
        kind = f"epi{8 * size}"
        packed = f"_mm{width}_maskz_compress_{kind}({own}planish_m, planish_x)"
    else:
        kind, wide = f"epi{8 * size}", 512 // count
        widened = f"_mm512_cvtepu{8 * size}_epi{wide}(planish_x)"
        packed = f"_mm512_cvtepi{wide}_{kind}(_mm512_maskz_compress_epi{wide}({own}planish_m, {widened}))"
    register = _register(max(bits, _LEAST))
    mask = f"__mmask{max(8, max(bits, _LEAST) // (8 * size))}"
    return f"""/* Stores {count} elements of {size} bytes, of which a mask has bits, side by side. */
static inline __attribute__((always_inline)) void planish_pack_{size}_{count}(
    void *planish_p, uint64_t planish_m, {register} planish_x) {{
  {low}
  _mm{width}_mask_storeu_{kind}(
      planish_p, ({mask})planish_low, {packed});
}}"""
