"""Replaces a region by a call of its new kernel, under the conditions that make the two equivalent.

>>> from planish.ir.expr import index
>>> from planish.ir.nest import Array
>>> from planish.ir.types import F64
>>> overlapping((Array("A", F64, (index(4),)), Array("B", F64, (index(4),), distinct=True)), frozenset({"A"}))
()
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import islpy as isl

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.core.span import Source
from planish.emit.c.callees import emit_callees
from planish.emit.c.compiler_attributes import USUAL, CompilerSettings
from planish.emit.c.element_types import declared_type
from planish.emit.c.expression import refuse_bf16
from planish.emit.c.heap_arrays import is_fallible
from planish.emit.c.instruction_calls import headers_of
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.emit.c.small_kernels import part_of_caller
from planish.emit.dropin.distinct_callees import name_apart
from planish.emit.dropin.patched_file import (
    PassedCopy,
    Patch,
    alias_guard,
    assemble,
    emit_guard,
    guarded_call,
    indentation,
)
from planish.emit.dropin.row_spacing import FUNCTION, declare_spacing, row_ends, spacing_guard
from planish.emit.dropin.size_products import has_product, product_guards
from planish.emit.idioms.conditional_stores import store_changes
from planish.emit.idioms.running_best import branch_on_best
from planish.frontend.c.text.lexer import tokenize
from planish.frontend.c.translation_unit import Region, RowLoop, Update
from planish.frontend.c.types.declarations import ADDRESS
from planish.ir.expr import Binary, Compare, Const, Expr, Var, index
from planish.ir.nest import Array, Block, If, Kernel, Stmt
from planish.ir.passes.speculative_loads import speculate
from planish.ir.traverse import blocks_of, loads, variables, with_children
from planish.ir.types import BF16, INDEX
from planish.isa.instruction import Catalogue
from planish.library.loops.vector_strips.read_ends import between_reads
from planish.poly.isl.expression import FALSE, TRUE, normalise, set_condition
from planish.poly.scop.certain_accesses import always_readable
from planish.poly.scop.extents import NoExtentError, byte_extent, inexact_conditions, negative_sizes
from planish.poly.scop.extraction import Scop

MANY = 100
"""The iterations from which on a condition that asks for them is one of which compilers are to conclude nothing."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What stands for a region: the function that runs it and the patch that calls it; `guards` are C conditions.

    `callees` are the functions that it calls, as they are defined or declared, each once for several regions. `done`
    says what was done, where no schedule does. `settings` are those of the functions. `asked`: what the new code asks
    of sizes; `chooses`: conditions on them by which it does one thing or another.
    """

    function: str
    patch: Patch
    guards: tuple[str, ...]
    headers: tuple[str, ...] = ()
    callees: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    settings: CompilerSettings = USUAL
    asked: tuple[Expr, ...] = ()
    chooses: tuple[Expr, ...] = ()


def replace_region(
    region: Region, scop: Scop, kernel: Kernel, source_text: str, *, threads: bool, strict: bool, comment: str,
    reserved: frozenset[str], catalogue: Catalogue | None = None, suffix: str = "", original: str | None = None,
    settings: CompilerSettings = USUAL, guards: list[str] | None = None,
) -> Replacement:  # fmt: skip
    """The replacement of `region` by `kernel`, which computes what `scop` describes; raises NoExtentError, and
    PlanishError E0710 for values of bf16 that are copied, of which functions have but the bits in memory. `suffix`:
    what the function's name ends with; `original`: what is done where the kernel cannot be called, if not what is
    written there; `settings`, `guards`: as of `call_instead`."""
    copied = (x for x in kernel.arrays if x.name in _copies(region))
    for type in (*(x.type for x in kernel.scalars), *(x.type for x in copied)):
        refuse_bf16(type)
    name = name_of(region) + suffix
    kernel = speculate(kernel, always_readable(scop))
    if settings.reads_whole:
        kernel = between_reads(kernel, region.conditional_stores, wide=True)
    exact = settings.floats == "strict"
    kernel = branch_on_best(store_changes(kernel, region.conditional_stores, region.guarded, exact))
    text = emit_function(
        kernel, name, threads=threads, strict=strict, own_functions=not strict, noalias=True, comment=comment,
        reserved=reserved, catalogue=catalogue, exact=exact, declared=dict(region.declared),
        accumulators=settings.accumulators,
    )  # fmt: skip
    text = part_of_caller(text, name, kernel, exact)
    called = tuple(emit_callees((kernel,), catalogue, threads, declared=dict(region.declared)))
    made = call_instead(
        region, scop, name, text, source_text, is_fallible(kernel), headers_of(kernel, catalogue), called,
        assumptions=kernel.assumptions, original=original, settings=settings, guards=guards,
    )  # fmt: skip
    return replace(made, chooses=_choices(kernel))


def _choices(kernel: Kernel) -> tuple[Expr, ...]:
    """The conditions on sizes of a kernel that stand outside of its loops."""
    sizes, out = {*kernel.sizes}, list[Expr]()
    left: list[Stmt] = [kernel.body]
    while left:
        stmt = left.pop(0)
        if isinstance(stmt, If) and variables(stmt.condition) <= sizes and not loads(stmt.condition):
            out.append(stmt.condition)
        if isinstance(stmt, Block | If):
            left += stmt.body if isinstance(stmt, Block) else blocks_of(stmt)
    return tuple(dict.fromkeys(out))


def name_of(region: Region) -> str:
    """The name of the function that stands for a region."""
    return f"planish_{region.function}_{region.ordinal}"


def passed_names(region: Region) -> dict[str, str]:
    """What is passed for each parameter of a region's kernel, in C: of arrays, where they begin."""
    names = dict(region.names)
    arrays = {x.name: x for x in region.kernel.arrays}
    moved = {x.array: emit_guard(x.before, names) for x in region.bases if x.before != index(0)}
    for name, before in moved.items():
        if len(arrays[name].shape) > 1:  # the pointer counts rows
            names[name] = f"((char *){names[name]} - {arrays[name].type.size} * ({before}))"
        else:
            names[name] = f"({names[name]} - ({before}))"
    return names


def call_instead(
    region: Region, scop: Scop, name: str, text: str, source_text: str, fallible: bool, headers: tuple[str, ...] = (),
    callees: tuple[str, ...] = (), done: tuple[str, ...] = (), assumptions: tuple[Expr, ...] = (),
    original: str | None = None, settings: CompilerSettings = USUAL, guards: list[str] | None = None,
) -> Replacement:  # fmt: skip
    """The replacement of `region` by a call of the function `name`, which `text` defines and which computes what `scop`
    describes for arrays that do not overlap; `fallible`: it returns 0, or something else where it did nothing;
    `assumptions` are conditions besides those of the scop; `original`: what is done where some do not hold, if not what
    is written there; `settings` of the function: it is asked, too, whether the processor has what they need;
    `guards`: all conditions, if not those of `guards_of`.
    Raises NoExtentError."""
    if region.goes_on:
        message = f"{region.function}: a loop that goes on as it is written is no call of a kernel"
        raise PlanishError(Diagnostic("E0717", message, region.span))
    names = passed_names(region)
    guards = guards_of(region, scop, assumptions, settings) if guards is None else guards
    part = region if region.rows is None else region.rows
    original = source_text[part.start : part.end] if original is None else original
    indent = indentation(source_text, region.start)
    after = _updates(region.updates, names)
    if not guards and not fallible:
        after += [f"(void){v};" for v in outer_counters(original)]
    copies = tuple(_copies(region).values())
    call = guarded_call(
        original, indent, name, _arguments(region, scop, names), guards, after, fallible, region.alone, copies
    )
    call = _with_spacing(region, call, names, indent)
    callees = (*callees, *([FUNCTION] if region.spaced else []))
    text_of = call if region.rows is None else _in_rows(region, region.rows, call, source_text)
    patch = Patch(region.start, region.end, text_of)
    asked = tuple(x for x in assumptions if x not in scop.kernel.assumptions)
    return Replacement(text, patch, tuple(guards), headers, callees, done, settings, asked)


def _in_rows(region: Region, rows: RowLoop, call: str, source_text: str) -> str:
    """Two loops over rows, of which one calls what stands for a part of it and one is as it is written."""
    before, behind = source_text[region.start : rows.start], source_text[rows.end : region.end]
    as_written = source_text[region.start : region.end]
    return f"{{ if ({rows.condition}) {{\n{before}{call}{behind}\n}} else {{\n{as_written}\n}} }}"


def guards_of(
    region: Region, scop: Scop, assumptions: tuple[Expr, ...] = (), settings: CompilerSettings = USUAL
) -> list[str]:
    """The conditions, in C, under which a region is what `scop` describes, `assumptions` hold, arrays do not overlap,
    and the processor has what the settings need. Raises NoExtentError."""
    names = passed_names(region)
    able = ["planish_able"] if settings.guarded else []
    unsigned = _unsigned_sizes(region)
    every = dict.fromkeys(_decided(x, unsigned) for x in (*scop.kernel.assumptions, *assumptions))
    asked = [x for x in every if x != TRUE]
    counted = {x.apart for x in region.spaced}
    guards = [_emit_condition(a, names, a in scop.kernel.assumptions) for a in asked if not variables(a) & counted]
    # Of products that leave their type compilers conclude that they do not, before they are compared.
    multiplied: list[Expr] = [Var(x, INDEX) for x in region.products if x in scop.kernel.sizes]
    multiplied += (a for a in asked if a in scop.kernel.assumptions or has_product(a, region.products))
    products = partial(product_guards, names=names, products=region.products, declared=dict(region.declared))
    guards = [*products(a for a in multiplied if not variables(a) & counted), *guards]
    # What is read from memory, such as where a row of a sparse matrix begins, is another one in each call.
    from_memory = any(not names.get(x, x).isidentifier() for a in asked for x in variables(a))
    guards = [*guards, *able] if from_memory else [*able, *guards]
    guards += [f"({x})" for x in region.conditions]
    guards += _spacing_guards(region, scop, names)
    guards += products(a for a in multiplied if variables(a) & counted)
    guards += [emit_guard(a, names) for a in asked if variables(a) & counted]
    negative = scop.context.subtract(negative_sizes(scop)).gist(scop.context)
    condition = _decided(set_condition(isl.Set.from_params(negative), ()), unsigned)
    if condition != TRUE:
        guards.append(emit_guard(condition, names))
    guards += [x for c in inexact_conditions(scop) if (x := emit_guard(c, names)) not in guards]
    guards += [x for x in _whole_rows(region, scop, names) if x not in guards]
    written = frozenset(s.write.array for s in scop.statements)
    for a, b in overlapping(scop.kernel.arrays, written):
        if a.name in region.views and region.views[a.name] == region.views.get(b.name):
            continue  # members of different types
        guards.append(alias_guard(byte_range(a, scop, names), byte_range(b, scop, names)))
    stored = {a.name: a for a in scop.kernel.arrays if a.name in written}
    for held in (x for x in region.held if x.array in stored):
        guards.append(alias_guard(byte_range(stored[held.array], scop, names), (held.address, held.bytes)))
    return guards


def _emit_condition(x: Expr, names: Mapping[str, str], known: bool) -> str:
    """A condition in C; where that of many iterations does not hold, compilers are not to know how many there are."""
    match x:
        case Compare(op="ge", left=left, right=Const(value=int(value))) if value >= MANY and not known:
            return f"planish_many({emit_guard(left, names)}, {value})"
        case _:
            return emit_guard(x, names)


def compose(source: Source | str, replacements: Sequence[Replacement], banner: str) -> str:
    """The user's text with replacements in place, which have the same settings."""
    prologue = prologue_of(replacements) if replacements else ""
    if replacements and isinstance(source, Source):
        tables = source.borrowed.tables_in([r.patch.text for r in replacements])
        prologue += "".join(f"\n{x}\n" for x in tables)
    return assemble(source, [r.patch for r in replacements], banner, prologue)


def prologue_of(replacements: Sequence[Replacement]) -> str:
    """What stands before the user's text: all functions, each once; kernels of one name that differ have names of their
    own."""
    headers = tuple(dict.fromkeys(header for r in replacements for header in r.headers))
    parts = name_apart([(r.callees, r.function) for r in replacements])
    functions = [*dict.fromkeys(x for callees, _ in parts for x in callees), *(function for _, function in parts)]
    settings = replacements[0].settings.needing(functions)
    return emit_prologue(functions, [r.patch.text for r in replacements], headers, settings)


def _unsigned_sizes(region: Region) -> frozenset[str]:
    """Sizes of which the type of the user's variable, no wider than 32 bits, says that they are not negative."""
    types = ((x, type) for x, type in region.declared if x in region.kernel.sizes)
    return frozenset(x for x, type in types if type.startswith(("unsigned", "uint")))


def _decided(x: Expr, unsigned: Collection[str]) -> Expr:
    """A condition without comparisons that unsigned types decide: compilers warn of these."""
    match x:
        case Compare(op="ge", left=Var(name=name), right=Const(value=value)) if name in unsigned and value <= 0:
            return TRUE
        case Compare(op="le", left=Var(name=name), right=Const(value=value)) if name in unsigned and value < 0:
            return FALSE
        case Binary(op="and" | "or" as op, left=left, right=right):
            a, b = _decided(left, unsigned), _decided(right, unsigned)
            neutral, other = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
            if other in (a, b):
                return other
            return b if a == neutral else a if b == neutral else with_children(x, (a, b))
        case _:
            return x


def _spacing_guards(region: Region, scop: Scop, names: Mapping[str, str]) -> list[str]:
    """Conditions that rows through pointers are evenly spaced, which stores of characters leave as they are."""
    written = {s.write.array for s in scop.statements}
    characters = [a for a in scop.kernel.arrays if a.name in written and a.type.size == 1 and not a.distinct]
    out: list[str] = []
    for rows in region.spaced:
        first, last = (emit_guard(x, names) for x in row_ends(scop, rows.array))
        out.append(spacing_guard(rows.table, (first, last), names[rows.apart], rows.first))
    for rows in region.spaced if characters else ():
        last = emit_guard(row_ends(scop, rows.array)[1], names)
        bytes_ = f"({last} + 1) * (ptrdiff_t)sizeof(*({rows.table}))"
        out += (alias_guard(byte_range(x, scop, names), (rows.table, bytes_)) for x in characters)
    return out


def _with_spacing(region: Region, call: str, names: Mapping[str, str], indent: str) -> str:
    """The call inside a block with the variables that say how far rows lie apart."""
    if not region.spaced:
        return call
    declared = "".join(f"{indent}{declare_spacing(names[x.apart], x.first)}\n" for x in region.spaced)
    return f"{{\n{declared}{indent}{call}\n{indent}}}"


def _whole_rows(region: Region, scop: Scop, names: Mapping[str, str]) -> list[str]:
    """Conditions that rows of which the user's types do not tell are not empty: C has no such type."""
    before = {a.name: a.shape for a in region.kernel.arrays}
    rows = [x for a in scop.kernel.arrays if a.shape != before.get(a.name) for x in a.shape[1:] if x is not None]
    asked = dict.fromkeys(normalise(Compare("ge", x, index(1))) for x in rows if not isinstance(x, Const))
    return [emit_guard(x, names) for x in asked if x != TRUE]


def overlapping(arrays: tuple[Array, ...], written: frozenset[str]) -> tuple[tuple[Array, Array], ...]:
    """Pairs of arrays of which one is written and neither is known to be apart from all others."""
    return tuple(
        (a, b) for a, b in combinations(arrays, 2)
        if not (a.distinct or b.distinct) and (a.name in written or b.name in written)
    )  # fmt: skip


def _arguments(region: Region, scop: Scop, names: Mapping[str, str]) -> list[str]:
    """The C arguments, in the order of the kernel's parameters; arrays of rows are cast, since C's own types for
    them (const rows, linear pointers) do not convert. Their elements have the type that the user declared."""
    out = []
    shapes = {a.name: a.shape for a in scop.kernel.arrays}
    before = {a.name: a.shape for a in region.kernel.arrays}
    # Of what C has no name for, there are but the bits.
    addresses = {x for x, type in region.declared if type == ADDRESS.spelling}
    copies = _copies(region)
    nameless = addresses | {a.name for a in scop.kernel.arrays if a.type == BF16}
    for name, text in names.items():
        shape = shapes.get(name, ())
        if name in copies:
            out.append(f"&{copies[name].name}")
        elif len(shape) > 1 or shape != before.get(name, ()) or name in nameless:
            out.append(f"(void *){text}")
        else:
            out.append(text)
    return out


def outer_counters(text: str) -> tuple[str, ...]:
    """The loop counters of a nest that are declared outside of it; without the nest compilers call them unused.

    >>> outer_counters("for (i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i] = 0;")
    ('i',)
    """
    tokens = [t.text for t in tokenize(text).tokens]
    found = [
        tokens[k + 2] for k in range(len(tokens) - 3)
        if tokens[k : k + 2] == ["for", "("] and tokens[k + 2].isidentifier() and tokens[k + 3] == "="
    ]  # fmt: skip
    declared = {b for a, b in zip(tokens, tokens[1:], strict=False) if a == "," or (a.isidentifier() and a != "return")}
    return tuple(dict.fromkeys(v for v in found if v not in declared))


def _copies(region: Region) -> dict[str, PassedCopy]:
    """What is passed as a copy, by the kernel's arrays that stand for it. Copies are called after these: a member of a
    structure has no name of its own. No macro of a drop-in has such a name."""
    passed, declared = {x: text.lstrip("&") for x, text in region.names}, dict(region.declared)
    found = ((a, passed[a.name]) for a in region.kernel.arrays if passed.get(a.name) in region.registers)
    return {a.name: PassedCopy(declared_type(a, declared), text, f"planish_of_{a.name}") for a, text in found}


def byte_range(array: Array, scop: Scop, names: Mapping[str, str]) -> tuple[str, str]:
    """A pointer and the number of bytes that the kernel may reach from it."""
    if not array.shape:
        return names[array.name], str(array.type.size)
    first = byte_extent(scop, array)
    if first is None:
        return names[array.name], "0"
    bytes_: Expr = Binary("mul", Binary("add", first, index(1)), index(array.type.size))
    for extent in array.shape[1:]:
        if extent is None:
            raise NoExtentError(array.name)
        bytes_ = Binary("mul", bytes_, extent)
    return names[array.name], emit_guard(normalise(bytes_), names)


def _updates(updates: tuple[Update, ...], names: Mapping[str, str]) -> list[str]:
    """C statements that give variables their values on exit; all are computed before any is stored."""
    if len(updates) == 1:
        return [_store(updates[0].variable, updates[0].kind, emit_guard(updates[0].value, names))]
    values = [f"const ptrdiff_t planish_exit{i} = {emit_guard(u.value, names)};" for i, u in enumerate(updates)]
    return values + [_store(u.variable, u.kind, f"planish_exit{i}") for i, u in enumerate(updates)]


def _store(variable: str, kind: str, value: str) -> str:
    return f"{variable} = {value};" if kind == "set" else f"{variable} += {value};"


__all__ = [
    "NoExtentError", "Replacement", "byte_range", "call_instead", "compose", "name_of", "outer_counters", "overlapping",
    "passed_names", "replace_region", "prologue_of",
]
