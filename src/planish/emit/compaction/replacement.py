"""A loop that packs what it keeps goes on behind the iterations that are packed in lanes.

Before: for (int i = 0; i < n; i++) if (x[i] > 0) out[k++] = x[i];
After:  { int i = 0; if (guards) { …; i += planish_k; k += planish_c0; } for (; i < n; i++) if (x[i] > 0) … }

So does one that spreads elements that lie side by side, `if (x[i] > 0) x[i] = in[k++];`.
"""

from __future__ import annotations

from planish.emit.c.compiler_attributes import CompilerSettings
from planish.emit.c.context import EmitContext
from planish.emit.c.element_types import declared_type
from planish.emit.compaction.compress import PackText, emit_packing, packing_functions, spreading_function
from planish.emit.dropin.patched_file import Patch, bracketed, emit_guard, indentation
from planish.emit.dropin.replacement import Replacement, guards_of, name_of
from planish.emit.early_exit.lanes import PICK, LaneTest, lanes_for
from planish.emit.early_exit.replacement import start_of, times, with_rows
from planish.frontend.c.translation_unit import Compaction, Pack, Region
from planish.ir.expr import Load
from planish.ir.nest import Kernel
from planish.ir.traverse import variables
from planish.isa.instruction import Catalogue
from planish.poly.early_exit.exit_test import ITERATION, ExitTest, Row
from planish.poly.idioms.compaction import CompactionTest, find_compaction
from planish.poly.scop.extraction import Scop

LEAST = 64
"""Of fewer iterations, none is packed in lanes."""


def replace_packing(
    region: Region, scop: Scop, kernel: Kernel, source_text: str, *, threads: bool, strict: bool, comment: str,
    reserved: frozenset[str], catalogue: Catalogue, settings: CompilerSettings,
) -> Replacement:  # fmt: skip
    """The replacement of a loop that packs what it keeps, on a processor with AVX-512. Raises NoExtentError,
    NotAffineError and NoExitTest."""
    packing, names = region.packing, dict(region.names)
    assert packing is not None
    test = find_compaction(region.kernel, packing.packs)
    declared = dict(region.declared)
    arrays = {x.name: x for x in region.kernel.arrays}
    used = {y for x in test.packs for e in (x.condition, *x.values) for y in variables(e)} - {ITERATION}
    values = {x: f"planish_s{n}" for n, x in enumerate(x for x in names if x in used)}
    types = dict.fromkeys(region.kernel.sizes, "ptrdiff_t")
    types |= {x.name: declared_type(x, declared) for x in region.kernel.scalars}
    elements = [declared_type(arrays[x.array], declared) for x in test.rows]
    lanes, packs, functions = _lanes(test, packing, EmitContext(values), settings)
    declarations = [
        *(f"const {x} *planish_p{n}" for n, x in enumerate(elements)),
        *(f"{types[x]} {y}" for x, y in values.items()),
    ]
    name = name_of(region)
    function = emit_packing(name, declarations, lanes.lines, lanes.count, packs, comment)
    rows = tuple(f"planish_p{n}" for n in range(len(test.rows)))
    places = [(f"planish_q{n}_{m}", y) for n, x in enumerate(packing.packs) for m, y in enumerate(x.stores)]
    counts = [f"planish_c{n}" for n in range(len(packing.packs))]
    arguments = ["planish_n", *rows, *values.values(), *(x for x, _ in places), *(f"&{x}" for x in counts)]
    sizes = [arrays[x.array].type.size for x in test.rows]
    stored = [(x, y.type.size, -1) for x, y in places if not y.spread]
    later = {x: y.later for x, y in places}
    for pack, told in zip(test.packs, packing.packs, strict=True):
        for value, y in zip(pack.values, told.stores, strict=True):
            if y.spread and isinstance(value, Load):
                stored.append((f"planish_p{value.array}", y.type.size, int(value.array)))
    kept = {
        x: int(value.array) for (x, y), value in zip(places, (y for x in test.packs for y in x.values), strict=True)
        if isinstance(value, Load) and not y.spread
    }  # fmt: skip
    read = [(x, y.type.size) for x, y in places if y.spread]
    bases = [names[x.array].lstrip("&(* ") for x in test.rows]
    apart = [
        _apart(x, y, n, row, sizes[n], bool({"", bases[n]} & {*later.get(x, ())}), kept.get(x))
        for x, y, own in stored for n, row in enumerate(test.rows) if n != own
    ]  # fmt: skip
    for n, (x, a, _) in enumerate(stored):
        apart += [_disjoint(x, a, y, b) for y, b in (*((y, b) for y, b, _ in stored[:n]), *read)]
    taken = f"planish_n{' - 1' if packing.loop.again else ''}"
    body = [
        *(f"const {types[x]} {y} = {names[x]};" for x, y in values.items()),
        *(f"const {x} *const planish_p{n} = {start_of(test.rows[n], x, names)};" for n, x in enumerate(elements)),
        *(f"__typeof__(&({y.address})[0]) const {x} = {y.address};" for x, y in places),
        f"if ({_joined([*apart, *_unwrapped(packing.packs)])}) {{",
        f"  ptrdiff_t {', '.join(counts)};",
        f"  const ptrdiff_t {ITERATION} = {name}({', '.join([taken, *arguments[1:]])});",
        *(f"  {variable} += {times(amount, names)};" for variable, amount in packing.loop.advances),
        *(f"  {x.counter} += {y};" for x, y in zip(packing.packs, counts, strict=True)),
        "}",
    ]
    indent = indentation(source_text, region.start)
    guards = guards_of(region, scop, kernel.assumptions, settings)
    trips = f"const ptrdiff_t planish_n = {emit_guard(test.trips, names)};"
    lines = (trips, f"if (planish_n >= {LEAST}) {{", *(f"  {x}" for x in body), "}")
    inner = "".join(f"{indent}    {x}\n" for x in lines)
    condition = f" &&\n{indent}      ".join(bracketed(guards)) if guards else "1"
    first = f"{indent}  {packing.loop.first}\n" if packing.loop.first else ""
    whole = f"{{\n{first}#ifndef PLANISH_ORIGINAL\n{indent}  if ({condition}) {{\n{inner}{indent}  }}\n#endif\n"
    rest = packing.loop.opening + source_text[packing.loop.rest : region.end]
    patch = Patch(region.start, region.end, f"{whole}{indent}  {rest}\n{indent}}}")
    callees = (*lanes.types.values(), *((PICK,) if lanes.picks else ()), *functions)
    return Replacement(
        function, patch, tuple(guards), ("immintrin.h",), tuple(dict.fromkeys(callees)), settings=settings
    )  # fmt: skip


def _lanes(
    test: CompactionTest, packing: Compaction, context: EmitContext, settings: CompilerSettings
) -> tuple[LaneTest, list[PackText], tuple[str, ...]]:
    """The lanes of all that is asked and kept; and the functions that store so many at a time."""
    first = test.packs[0]
    whole = ExitTest(test.trips, first.condition, first.condition, test.rows, 1)
    pairs = [*zip(test.packs, packing.packs, strict=True)]
    kept = tuple(x for pack in test.packs for x in (pack.condition, *pack.values))
    rows = with_rows(context, whole, ITERATION)
    lanes = LaneTest(whole, lanes_for(settings.features), rows, kept)
    packs, shapes, spread = [], list[tuple[int, int]](), list[int]()
    for pack, told in pairs:
        places = [f"planish_p{x.array} + {ITERATION}" if isinstance(x, Load) else "" for x in pack.values]
        apart = tuple(x.spread for x in told.stores)
        masked = tuple(
            x if alone and not other else None for x, alone, other in zip(places, pack.masked, apart, strict=True)
        )
        rows_of = zip(pack.values, places, masked, apart, strict=True)
        vectors = tuple(y if other else "" if z is not None else lanes.value(x) for x, y, z, other in rows_of)
        sizes = tuple(x.type.size for x in told.stores)
        packs.append(PackText(lanes.mask(pack.condition), sizes, vectors, masked, apart))
        shapes += [(x, lanes.count) for x, other in zip(sizes, apart, strict=True) if not other]
        spread += [x for x, other in zip(sizes, apart, strict=True) if other]
    functions = packing_functions(shapes, lanes.count)
    return lanes, packs, (*functions, *(spreading_function(x, lanes.count) for x in dict.fromkeys(spread)))


def _apart(place: str, size: int, number: int, row: Row, element: int, later: bool, kept: int | None) -> str:
    """That nothing is stored over what later iterations read: elsewhere, or not in front of it. `later`: nor over what
    an iteration reads itself behind the store.

    Where the elements of the row `kept` are packed in place, an element that lies in front of the iteration's own is
    read as it was, too: until then, nothing but its own value was stored there.
    """
    start, bytes_ = f"(uintptr_t)planish_p{number}", f"{element}"
    if row.step:
        bytes_ = f"{element * row.step} * (uintptr_t)planish_n"
    apart = f"(uintptr_t){place} + {size} * (uintptr_t)planish_n <= {start} || {start} + {bytes_} <= (uintptr_t){place}"
    if row.step == 1 and size == element:
        apart += f" || (uintptr_t){place} {'<' if later else '<='} {start}"
        if kept is not None and kept != number and not later:
            own = f"(uintptr_t)planish_p{kept}"
            apart += f" || ((uintptr_t){place} == {own} && {own} == {start} + {element})"
    return f"({apart})"


def _disjoint(a: str, size: int, b: str, other: int) -> str:
    return (
        f"((uintptr_t){a} + {size} * (uintptr_t)planish_n <= (uintptr_t){b} || "
        f"(uintptr_t){b} + {other} * (uintptr_t)planish_n <= (uintptr_t){a})"
    )


def _unwrapped(packs: tuple[Pack, ...]) -> list[str]:
    """That counters without a sign do not go round."""
    return [f"{x.counter} + (uint64_t)planish_n <= {(1 << x.bits) - 1}ull" for x in packs if 0 < x.bits < 64]


def _joined(conditions: list[str]) -> str:
    return " &&\n        ".join(conditions) if conditions else "1"
