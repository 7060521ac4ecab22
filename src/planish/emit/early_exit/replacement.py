"""A loop with early exits goes on from the first iteration that may leave it, which is found in lanes.

The first few iterations are tested where the loop stands: a search that ends there costs no call.

Before: for (int i = 0; i < n; i++) if (x[i] > limit) return i;
After:  { int i = 0; if (guards) { …; i += planish_k; } for (; i < n; i++) if (x[i] > limit) return i; }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planish.emit.c.compiler_attributes import CompilerSettings
from planish.emit.c.context import EmitContext
from planish.emit.c.element_types import declared_type
from planish.emit.c.expression import emit_expr
from planish.emit.dropin.patched_file import Patch, bracketed, emit_guard, indentation
from planish.emit.dropin.replacement import Replacement, guards_of, name_of, replace_region
from planish.emit.early_exit.lanes import PICK, SIGNS, LaneTest, lanes_for
from planish.emit.early_exit.search import SearchText, emit_search
from planish.emit.early_exit.unchanged_reads import UNCHANGED, bound_search
from planish.frontend.c.translation_unit import EarlyExit, Region
from planish.ir.expr import Expr, Var
from planish.ir.index.polynomial import mul
from planish.ir.nest import Kernel
from planish.ir.traverse import loads, variables
from planish.ir.types import ALL_TYPES, INDEX
from planish.isa.instruction import Catalogue
from planish.poly.early_exit.exit_condition import COUNT, counted_kernel, search_kernel
from planish.poly.early_exit.exit_test import FARTHEST, ITERATION, ExitTest, Row, find_exit_test
from planish.poly.scop.extraction import Scop
from planish.schedule.auto.plan import prepare

NEVER = f"PTRDIFF_MAX / {FARTHEST * max(x.size for x in ALL_TYPES)}"
"""More iterations than move through any array, in C, which the bytes of the longest step can be multiplied by."""
FIRST = 16
"""So many iterations are tested before the search in lanes is called."""


def replace_early_exit(
    region: Region, scop: Scop, kernel: Kernel, source_text: str, *, threads: bool, strict: bool, comment: str,
    reserved: frozenset[str], catalogue: Catalogue, settings: CompilerSettings,
) -> Replacement:  # fmt: skip
    """The replacement of a loop with early exits; `kernel` runs iterations that stay in the loop, where they have
    effects. Raises NoExtentError, NotAffineError and NoExitTest."""
    exits, names = region.exits, dict(region.names)
    assert exits is not None
    test = find_exit_test(region.kernel, exits.flag)
    declared = dict(region.declared)
    arrays = {x.name: x for x in region.kernel.arrays}
    used = variables(test.condition) - {ITERATION}
    values = {x: f"planish_s{n}" for n, x in enumerate(x for x in names if x in used)}
    types = dict.fromkeys(region.kernel.sizes, "ptrdiff_t")
    types |= {x.name: declared_type(x, declared) for x in region.kernel.scalars}
    elements = [declared_type(arrays[x.array], declared) for x in test.rows]
    context = EmitContext(values)
    one = emit_test(test, context)
    asked = sorted({int(x.array) for x in loads(test.candidate)})
    lanes = LaneTest(test, lanes_for(settings.features), with_rows(context, test, ITERATION))
    text = SearchText(
        one,
        (
            *(f"const {x} *planish_p{n}" for n, x in enumerate(elements)),
            *(f"{types[x]} {y}" for x, y in values.items()),
        ),
        (*(f"planish_p{n}" for n in range(len(test.rows))), *values.values()),
        tuple((n, arrays[test.rows[n].array].type.size, test.rows[n].step) for n in asked),
        "".join(f"  {x}\n" for x in lanes.lines),
        lanes.result, lanes.count, lanes.bits, test.direction, test.condition == test.candidate,
    )  # fmt: skip
    name = name_of(region)
    indent = indentation(source_text, region.start)
    run: list[str] = []
    made: tuple[Replacement, ...] = ()
    bounds: list[str] = []
    if exits.effects:
        bounds = bound_search(region, test, "planish_n")
        full, bare = counted_kernel(region.kernel, exits.flag, COUNT)
        passed = {**names, COUNT: ITERATION}
        parameters = (*bare.sizes, *(x.name for x in bare.scalars), *(x.name for x in bare.arrays))
        counted = replace(region, kernel=bare, names=tuple((x, passed[x]) for x in parameters), exits=None, alone=True)
        # What decides about the exits must not be stored to, either.
        reading = replace(counted, kernel=full, names=tuple(passed.items()))
        asked_of = guards_of(reading, prepare(full).scop, kernel.assumptions)
        made = (
            replace_region(
                counted, prepare(bare).scop, kernel, source_text, threads=threads, strict=strict, comment=comment,
                reserved=reserved, catalogue=catalogue, suffix="_run", original=f"{ITERATION} = 0;", settings=settings,
                guards=asked_of,
            ),
        )  # fmt: skip
        run = [f"if ({ITERATION} <= {FIRST}) {ITERATION} = 0;", f"else {{ {made[0].patch.text}\n{indent}    }}"]
        guards = guards_of(region, prepare(search_kernel(region.kernel, exits.flag)).scop, (), settings)
    else:
        guards = guards_of(region, scop, kernel.assumptions, settings)
    body = [
        *(f"const {types[x]} {y} = {names[x]};" for x, y in values.items()),
        *(f"const {x} *const planish_p{n} = {start_of(test.rows[n], x, names)};" for n, x in enumerate(elements)),
        *bounds,
        f"ptrdiff_t {ITERATION} = 0;",
        f"while ({ITERATION} < planish_n && {ITERATION} < {FIRST} && !({one})) {ITERATION}++;",
        f"if ({ITERATION} == {FIRST}) {ITERATION} = {name}({', '.join((ITERATION, 'planish_n', *text.arguments))});",
        *([f"if ({ITERATION} > 0) {ITERATION}--;"] if exits.loop.again else []),
        *run,
        *(f"{variable} += {times(amount, names)};" for variable, amount in exits.loop.advances),
    ]
    trips = f"ptrdiff_t planish_n = {emit_guard(test.trips, names)};"
    lines = [trips if bounds else f"const {trips}", "if (planish_n > 0) {", *(f"  {x}" for x in body), "}"]
    inner = "".join(f"{indent}    {x}\n" for x in lines)
    condition = f" &&\n{indent}      ".join(bracketed(guards)) if guards else "1"
    rest = exits.loop.opening + source_text[exits.loop.rest : region.end]
    first = f"{indent}  {exits.loop.first}\n" if exits.loop.first else ""
    most = "".join(f"{indent}  {x}\n" for x in declare_most(exits, names))
    whole = f"{{\n{first}#ifndef PLANISH_ORIGINAL\n{most}{indent}  if ({condition}) {{\n{inner}{indent}  }}\n#endif\n"
    patch = Patch(region.start, region.end, f"{whole}{indent}  {rest}\n{indent}}}")
    function = emit_search(name, text, comment)
    helpers = (
        *lanes.types.values(),
        *((PICK,) if lanes.picks else ()),
        *((SIGNS,) if lanes.lanes.style == "words" else ()),
        *((UNCHANGED,) if bounds else ()),
    )
    headers = ("immintrin.h",) if lanes.lanes.style != "words" else ()
    callees = dict.fromkeys((*helpers, *(y for x in made for y in x.callees)))
    return Replacement(
        "\n".join((function, *(x.function for x in made))), patch, tuple(guards),
        tuple(dict.fromkeys((*headers, *(y for x in made for y in x.headers)))), tuple(callees), settings=settings,
    )  # fmt: skip


def declare_most(exits: EarlyExit, names: Mapping[str, str]) -> list[str]:
    """C statements that declare the number of iterations that a loop without a count never reaches."""
    if not exits.uncounted:
        return []
    name, (first, *others) = names[exits.uncounted], [x.iterations for x in exits.rooms] or (NEVER,)
    bounds = [f"if ({x} < {name}) {name} = {x};" for x in others]
    return [f"{'' if bounds else 'const '}ptrdiff_t {name} = {first};", *bounds]


def emit_test(test: ExitTest, context: EmitContext) -> str:
    """The condition under which an iteration leaves, in C."""
    return emit_expr(test.condition, with_rows(context, test, ITERATION))


def with_rows(context: EmitContext, test: ExitTest, at: str) -> EmitContext:
    """The context in which elements of rows are spelt."""
    for place, row in enumerate(test.rows):
        number = {0: "0", 1: at, -1: f"-{at}"}.get(row.step, f"{row.step} * {at}")
        context = context.with_name(str(place), f"planish_p{place}[{number}]")
    return context


def start_of(row: Row, element: str, names: Mapping[str, str]) -> str:
    """The address of a row's first element."""
    return f"(const {element} *)({names[row.array]}) + ({emit_guard(row.start, names)})"


def times(amount: Expr, names: Mapping[str, str]) -> str:
    """What so many iterations add to a variable, in C."""
    return emit_guard(mul(amount, Var(ITERATION, INDEX)), {**names, ITERATION: ITERATION})
