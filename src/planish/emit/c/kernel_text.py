"""A kernel as a readable C11 function.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(n; x: f64[n] distinct, y: f64[n] distinct) { for i in 0 .. n { y[i] += x[i] * 2.0 } }"
>>> print(emit_function(parse_kernel(text), "scale"))
static void scale(ptrdiff_t n, const double *restrict x, double *restrict y)
{
  for (ptrdiff_t i = 0; i < n; i++)
    y[i] += x[i] * 2.0;
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import assert_never

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.emit.c.c_names import RESERVED, spell_names
from planish.emit.c.cases import hide_cases
from planish.emit.c.context import HUGE, EmitContext, adds_and_subtracts, size_ranges
from planish.emit.c.element_types import Declared, declared_type, others_of, sizes_of
from planish.emit.c.expression import POSTFIX, PREFIX, SUM, c_type, emit_expr, emit_place, helper_suffix
from planish.emit.c.function_head import is_bound, spell_row, write_head
from planish.emit.c.heap_arrays import check_text, is_fallible, is_heap, refuse_inner_blocks, release_text
from planish.emit.c.instruction_calls import check_lanes, find_callee
from planish.emit.c.local_arrays import declare, without_dead, write_extents
from planish.emit.c.partial_sums import MacroCall, StripBody, Strips, needs_low_bits, reduced, sum_alone, without_unused
from planish.emit.c.pragmas import LoopBounds, directives, gains_in_gcc, has_partial_sums, on_threads, own_tables
from planish.emit.c.rolled import roll_kernel
from planish.emit.c.uncounted_loops import UncountedLoop, join_heads, spell_head
from planish.emit.idioms.lane_sums import ACCUMULATORS, Accumulators, LaneSum, Partial
from planish.emit.idioms.nontemporal import LINE, calls_of, in_parts, iterations, promise_whole, take_names
from planish.emit.idioms.running_best import spell_condition
from planish.emit.idioms.strip_mined_math import BLOCKS
from planish.emit.idioms.update_statements import update, update_variable
from planish.emit.tidy.blocks import tidied
from planish.emit.tidy.nested_calls import nest_calls
from planish.ir.expr import Compare, Const, Load, Var, index, type_of
from planish.ir.index.polynomial import extremum, place
from planish.ir.nest import (
    PLAIN_MEMORIES,
    Alloc,
    Array,
    Assign,
    Barrier,
    Block,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Reduce,
    Stmt,
    While,
)
from planish.ir.passes.vector_loops import Values, length_of, values_of
from planish.ir.text.printer import print_expr
from planish.ir.traverse import expressions, used_names, walk, walk_expr
from planish.isa.instruction import Catalogue
from planish.isa.shipped import shipped
from planish.library.loops.nontemporal.row_stores import find_row
from planish.poly.match.matcher import OperandMatch, match_nest, register_rank
from planish.poly.scop.separation import everywhere


def emit_function(
    kernel: Kernel,
    name: str,
    *,
    threads: bool = False,
    strict: bool = False,
    noalias: bool = False,
    comment: str = "",
    reserved: Collection[str] = (),
    catalogue: Catalogue | None = None,
    promised: bool = False,
    own_functions: bool = False,
    declared: Declared | None = None,
    portable: bool = False,
    exact: bool = False,
    accumulators: Accumulators = ACCUMULATORS,
    sized: bool = False,
) -> str:
    """The kernel as a `static` function of its sizes, scalars and arrays, in this order.

    It returns nothing, unless the kernel allocates in `dram`: then it is an `int` that is 0 when done and 1 when
    there was no memory, in which case nothing was done. `threads` heeds parallel loops (OpenMP), `strict` keeps the
    order of float reductions, `noalias` promises that no two arrays overlap, `reserved` are further names to avoid
    (the user's macros). Arrays of rank 2 and more are never `const`, since C11 does not convert pointers to arrays so;
    an argument of another but compatible type passes as `(void *)argument`. `catalogue` has the instructions that loops
    are done by (those that come with Planish where None). `promised`: the bounds that the kernel assumes for its sizes
    hold in every call, and the compiler is told. `own_functions`: loops in lanes do not call all functions of C's
    library (see `functions.py`). `declared`: the parameters' types in C where they are not those of exact width.
    `portable`: C++ takes the text as well, to which no array has rows whose length is not a constant. `exact`: each
    operation of floats is rounded by itself. `accumulators`: registers of a sum in lanes. `sized`: of `spell_row`.
    PlanishError E0710 for arithmetic in bf16, E0711 where lanes of a register are touched but not by an instruction,
    E0713 for a `dram` array below the top level.
    """
    refuse_inner_blocks(kernel)
    kernel = without_dead(kernel)
    check_lanes(kernel)
    known = (catalogue or shipped()).with_instructions(BLOCKS.values())
    kernel = roll_kernel(kernel, known)
    function = _Function(
        kernel, name, threads, strict, noalias, known, promised, own_functions, declared or {}, portable,
        exact and adds_and_subtracts(kernel), accumulators, sized,
    )  # fmt: skip
    function.reserve(frozenset(reserved))
    return function.text(comment)


@dataclass(slots=True)
class _Function:
    """The function that is being written."""

    kernel: Kernel
    name: str
    threads: bool
    strict: bool
    noalias: bool
    catalogue: Catalogue
    promised: bool
    own_functions: bool
    declared: Declared
    portable: bool
    apart: bool
    accumulators: Accumulators
    sized: bool
    spelt: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    arrays: dict[str, Array] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    finishes: dict[str, None] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    values: Values = field(default_factory=dict)
    told: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()

    def reserve(self, reserved: frozenset[str]) -> None:
        """Choose the spelling of every name, and note what is read and written."""
        self.taken = {*RESERVED, *reserved, self.name}
        self.spelt = spell_names(used_names(self.kernel), self.taken)
        self.taken |= {*self.spelt.values()}
        shapes = [x for y in (() if self.portable else self.kernel.arrays) for x in y.shape[1:] if x is not None]
        found = [x for stmt in walk(self.kernel.body) for x in expressions(stmt)]
        for expr in (x for e in [*shapes, *found] for x in walk_expr(e)):
            match expr:
                case Var(name=name) | Load(array=name):
                    self.read.add(name)
                case _:
                    pass
        local = [x.array for x in walk(self.kernel.body) if isinstance(x, Alloc)]
        self.arrays = {x.name: x for x in (*self.kernel.arrays, *local)}
        self.written = {x.array for x in walk(self.kernel.body) if isinstance(x, Assign | Reduce)}
        self.values = values_of(self.kernel)

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        while stem in self.taken:
            stem += "_"
        self.taken.add(stem)
        return stem

    def text(self, comment: str) -> str:
        """The whole function."""
        kernel = self.kernel
        cells = frozenset(x.name for x in kernel.arrays if not x.shape)
        heap = [x.array for x in kernel.body.body if isinstance(x, Alloc) and is_heap(x.array)]
        flat = {x.name: x.shape for x in (*kernel.arrays, *heap) if self.portable and len(x.shape) > 1}
        ranges, seen = size_ranges(kernel, sizes_of(kernel, self.declared)), dict.fromkeys(kernel.sizes, (-HUGE, HUGE))
        context = EmitContext(self.spelt, cells, ranges, seen, flat=flat, apart=self.apart)
        parameters = [f"ptrdiff_t {self.spelt[x]}" for x in kernel.sizes]
        parameters += [f"{declared_type(x, self.declared)} {self.spelt[x.name]}" for x in kernel.scalars]
        parameters += [self.parameter(x, context) for x in kernel.arrays]
        self.lines += [f"/* {line} */" if line else "" for line in comment.splitlines()]
        self.lines += write_head(f"static {'int' if heap else 'void'} {self.name}", parameters)
        self.lines.append("{")
        for name in [*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays)]:
            if name not in self.read | self.written:
                self.lines.append(f"  (void){self.spelt[name]};")
        if self.promised:
            # Else what is only needed behind a loop may be made before it, and take a register in it.
            bounds = [x for x in kernel.assumptions if is_bound(x, self.read)]
            self.lines += [f"  planish_promise({emit_expr(x, context)});" for x in bounds]
        self.allocate(heap, context)
        self.block(kernel.body, context, "  ")
        self.lines += [f"  {x}" for x in self.finishes]
        self.lines += [f"  {release_text(x, self.spelt)}" for x in reversed(heap)]
        self.lines += ["  return 0;"] if heap else []
        self.lines.append("}")
        return "\n".join(tidied(self.lines)) + "\n"

    @property
    def restrict(self) -> str:
        """The word for pointers to what nothing else points to."""
        return "planish_restrict" if self.portable else "restrict"

    def parameter(self, array: Array, context: EmitContext) -> str:
        """An array as a pointer to its elements or rows."""
        spelt = declared_type(array, self.declared)
        restrict = f"{self.restrict} " if array.distinct or self.noalias else ""
        if len(array.shape) <= 1 or self.portable:
            const = "" if array.name in self.written else "const "
            return f"{const}{spelt} {spell_row(array, self.spelt[array.name], restrict, self.sized)}"
        return f"{spelt} (*{restrict}{self.spelt[array.name]}){write_extents(array.shape[1:], context)}"

    def allocate(self, heap: list[Array], context: EmitContext) -> None:
        """Blocks for all heap arrays; the function ends here with 1 where there is no memory for all of them."""
        for array in heap:
            spelt, name = c_type(array.type), self.spelt[array.name]
            factors = [emit_expr(x, context, PREFIX) for x in array.shape if x is not None]
            size = f"sizeof({spelt}) * " + " * ".join(f"(size_t){x}" for x in factors)
            rows = "" if self.portable else write_extents(array.shape[1:], context, own=True)
            pointer = f"(*{self.restrict} {name}){rows}" if rows else f"*{self.restrict} {name}"
            take = "borrow" if array.memory == "scratch" else "allocate"
            taken = f"({spelt} *)" * self.portable
            self.lines.append(f"  {spelt} {pointer} = {taken}planish_{take}({size});")
        self.lines += check_text(heap, self.spelt)

    def block(self, block: Block, context: EmitContext, indent: str) -> None:
        """Statements in order."""
        for stmt in join_heads(block.body):
            if isinstance(stmt, UncountedLoop):
                self.lines.append(f"{indent}{spell_head(stmt, context)} {{")
                self.block(stmt.body, context, indent + "  ")
                self.lines.append(f"{indent}}}")
            else:
                context = self.statement(stmt, context, indent)

    def statement(self, stmt: Stmt, context: EmitContext, indent: str) -> EmitContext:
        """Write one statement; gives the context of those after it."""
        match stmt:
            case Block():
                self.lines.append(f"{indent}{{")
                self.block(stmt, context, indent + "  ")
                self.lines.append(f"{indent}}}")
            case For() if stmt.facts.instruction:
                self.instruction(stmt, context, indent)
            case For() if stmt.facts.stream:
                self.stream(stmt, context, indent)
            case For():
                self.loop(stmt, context, indent)
            case If():
                self.condition(stmt, context, indent, "if")
            case Assign(array=array) | Reduce(array=array) if self.arrays[array].memory == "nowhere":
                pass
            case Assign(array=array, index=index, value=value):
                self.lines.append(f"{indent}{emit_place(array, index, context)} = {emit_expr(value, context)};")
            case Reduce(array=array) if array in self.told:
                self.lines += [f"{indent}{x}" for x in sum_alone(stmt, context, self.fresh)]
            case Reduce(array=array):
                text = update_variable(stmt, context) if array in self.held else f"{update(stmt, context)};"
                self.lines.append(f"{indent}{text}")
            case Alloc(array=array):
                return self.local(array, context, indent)
            case Let(var=var, value=value):
                name, text = self.spelt[var], emit_expr(value, context)
                self.lines.append(f"{indent}const {c_type(type_of(value))} {name} = {text};")
                if type_of(value).is_int:
                    return context.with_value(var, value)
            case Launch() | Barrier() | While():
                raise AssertionError("launches are made last; blocks have the loops without a count")
            case _:
                assert_never(stmt)
        return context

    def condition(self, stmt: If, context: EmitContext, indent: str, word: str) -> None:
        """`if`, with `else if` for a lone one in the other branch."""
        self.lines.append(f"{indent}{word} ({spell_condition(stmt, context)}) {{")
        before = dict(self.finishes)
        self.block(stmt.then, context, indent + "  ")
        if indent == "  ":
            # Calls that do not come here have nothing to finish.
            self.lines += [f"{indent}  {x}" for x in self.finishes if x not in before]
            self.finishes = before
        match stmt.otherwise.body:
            case ():
                self.lines.append(f"{indent}}}")
            case (If() as only,):
                self.condition(only, context, indent, "} else if")
            case _:
                self.lines.append(f"{indent}}} else {{")
                self.block(stmt.otherwise, context, indent + "  ")
                self.lines.append(f"{indent}}}")

    def local(self, array: Array, context: EmitContext, indent: str) -> EmitContext:
        """A local array or variable; heap arrays exist already."""
        context = replace(context, cells=context.cells - {array.name})
        if is_heap(array):
            return context
        if array.memory == "nowhere":
            return context
        kind = self.catalogue.memory(array.memory)
        if kind is not None:
            rows = write_extents(array.shape[: register_rank(array, kind.bits)], context)
            self.lines.append(f"{indent}{kind.types[array.type]} {self.spelt[array.name]}{rows};")
            return context
        name = self.spelt[array.name]
        self.lines.append(indent + declare(array, name, write_extents(array.shape, context, own=True), self.portable))
        if array.name not in self.read:
            self.lines.append(f"{indent}(void){name};")
        return context

    def instruction(self, loop: For, context: EmitContext, indent: str) -> None:
        """The C of the instruction that does a loop, or the call of the kernel that does it; the loop itself for when
        that has no memory."""
        instruction = self.catalogue.instruction(loop.facts.instruction)
        found = match_nest(instruction.definition, loop, self.arrays, self.catalogue.bits, everywhere)
        for name in instruction.immediate:
            if not isinstance(found.sizes[name], Const):
                text, advice = print_expr(found.sizes[name]), "unroll the loops that it depends on"
                message = f"`{name}` of `{instruction.name}` has to be a constant, and is `{text}`"
                raise PlanishError(Diagnostic("E0712", message, loop.span, advice))
        called = instruction.implementation
        if called is None:
            operands = self.operands(found, context, POSTFIX, others_of(self.arrays, self.declared))
            if loop.var in self.whole:
                self.lines.append(f"{indent}{promise_whole(instruction, operands)}")
            self.lines += [f"{indent}{x}" for x in nest_calls(instruction.spell(operands).splitlines())]
            if instruction.finish:
                self.finishes[instruction.finish] = None
            return
        operands = self.operands(found, context, 0)
        passed = [operands[x] for x in called.sizes] + [operands[x.name] for x in called.scalars]
        # C's own types for arrays of rows do not convert.
        rows = {x.name for x in called.arrays if len(x.shape) > 1 and not self.portable}
        passed += [f"(void *){operands[x.name]}" if x.name in rows else operands[x.name] for x in called.arrays]
        callee = find_callee(instruction, called, found, self.arrays, self.declared)
        call = f"{callee.name}({', '.join(passed)})"
        if not is_fallible(called):
            self.lines.append(f"{indent}{call};")
            return
        self.lines.append(f"{indent}if ({call} != 0) {{")
        self.loop(replace(loop, facts=replace(loop.facts, instruction="")), context, indent + "  ")
        self.lines.append(f"{indent}}}")

    def stream(self, loop: For, context: EmitContext, indent: str) -> None:
        """A loop that makes non-temporal stores: by parts, from where the first line of a cache begins."""
        row, lanes = find_row(loop, alone=False), self.catalogue.instruction(loop.facts.stream).lanes
        if row is None or lanes is None or LINE % (row.count * self.arrays[row.array].type.size):
            self.loop(loop, context, indent)
            return
        array, times = self.arrays[row.array], iterations(loop)
        calls = calls_of(loop, row, array, lanes) if self.own_functions and not self.strict else ()
        names = take_names(loop, self.named, calls)
        first = emit_place(row.array, tuple(place(x, {loop.var: loop.lower}) for x in row.first), context)
        self.lines.append(f"{indent}if ({emit_expr(Compare('lt', loop.lower, loop.upper), context)}) {{")
        until = f"planish_until_line(&{first}, {row.count * array.type.size}, {emit_expr(times, context)})"
        self.lines.append(f"{indent}  const ptrdiff_t {self.spelt[names.ahead]} = {until};")
        inner = context.with_value(names.ahead, extremum("max", index(0), times))
        self.whole.add(names.lane)
        block = Block(in_parts(loop, row, array, lanes, names))
        made = {x.array.name: x.array for x in walk(block) if isinstance(x, Alloc)}
        self.arrays |= made
        self.read |= {*made}
        self.block(block, inner, indent + "  ")
        self.lines.append(f"{indent}}}")

    def named(self, stem: str) -> str:
        """A name for something new, which is spelt as it is in C."""
        while stem in self.spelt or stem in self.taken:
            stem += "_"
        self.spelt[stem] = stem
        self.taken.add(stem)
        return stem

    def operands(
        self, found: OperandMatch, context: EmitContext, level: int, others: Declared | None = None
    ) -> dict[str, str]:
        """The operands of an instruction as C: values, registers, addresses; those in `others` as addresses of what has
        the exact type: instructions see all memory as it is."""
        out = {name: emit_expr(x, context, level) for name, x in (*found.sizes.items(), *found.scalars.items())}
        for name, view in found.arrays.items():
            place = emit_place(view.array, view.index, context)
            in_memory = self.arrays[view.array].memory in PLAIN_MEMORIES
            out[name] = f"&{place}" if in_memory and not place.startswith("*") else place.removeprefix("*")
            if view.array in (others or {}):
                out[name] = f"({c_type(self.arrays[view.array].type)} *){out[name]}"
        return out

    def loop(self, loop: For, context: EmitContext, indent: str) -> None:
        """`for` with its directives; cells that lanes or threads reduce are held in variables meanwhile."""
        facts = loop.facts
        sums = [LaneSum(op, name, self.arrays[name].type) for op, name in facts.reductions]
        ordered = self.strict and any(x.type.is_float for x in sums)
        threads = on_threads(loop, self.catalogue) if facts.parallel and self.threads and not ordered else ""
        threads += own_tables(loop, self.arrays, self.spelt) if threads else ""
        lanes = facts.simd and not ordered
        inner = replace(context, lanes=True) if lanes and self.own_functions else context
        bounds = LoopBounds(emit_expr(loop.lower, context, SUM), emit_expr(loop.upper, context, SUM))
        before, after = list[str](), list[str]()
        if any(isinstance(x, Load) for x in walk_expr(loop.upper)):
            # The body may change what the bound reads.
            before.append(f"const ptrdiff_t {(end := self.fresh(f'{self.spelt[loop.var]}_end'))} = {bounds.upper};")
            bounds = replace(bounds, upper=end)
        if lanes:
            loop, cases = hide_cases(loop, self.named)
            for case, name in cases.items():
                before += [f"{c_type(case.type)} {name} = {emit_expr(case)};", f"planish_unknown({name});"]
        if threads or lanes:
            inner = self.hold(sums, inner, before, after, bool(threads))
        if before:
            self.lines.append(f"{indent}{{")
            indent += "  "
        self.lines += [f"{indent}{line}" for line in before]
        told, held = self.told, self.held
        self.held |= {x.name for x in sums if threads or lanes}
        if lanes and not threads and has_partial_sums(loop, sums, self.values, self.strict):
            self.partial(loop, sums, bounds, inner, indent)
        else:
            told_of = directives(loop, threads, lanes, sums, inner.names)
            self.lines += [f"{indent}{line}" for line in told_of]
            self.rounds(loop, bounds, inner, indent, "planish_looked_up" in told_of and not gains_in_gcc(loop))
        self.told, self.held = told, held
        self.lines += [f"{indent}{line}" for line in after]
        if before:
            self.lines.append(f"{indent[:-2]}}}")

    def hold(
        self, sums: list[LaneSum], context: EmitContext, before: list[str], after: list[str], threads: bool
    ) -> EmitContext:
        """Cells behind pointers become variables in a loop; what stands `before` it and `after` it."""
        for x in sums:
            cell = context.names.get(x.name, x.name)
            spelt = c_type(x.type)
            if x.name in context.cells:
                local = self.fresh(f"{cell}_{x.op}")
                before.append(f"{spelt} {local} = *{cell};")
                after.append(f"*{cell} = {local};")
                context = replace(context.with_name(x.name, local), cells=context.cells - {x.name})
                cell = local
            if threads and x.op in ("min", "max") and x.type.is_float:
                # OpenMP begins with an infinity in each thread, and may lose a NaN that was there before.
                before.append(f"const {spelt} {(first := self.fresh(f'{cell}_first'))} = {cell};")
                after.insert(0, f"{cell} = planish_{x.op}{helper_suffix(x.type)}({cell}, {first});")
        return context

    def rounds(self, loop: For, bounds: LoopBounds, context: EmitContext, indent: str, alone: bool = False) -> None:
        """The loop itself; `alone`: no compiler makes lanes of it."""
        head = f"{indent}{bounds.head(self.spelt[loop.var], loop.step)} {{"
        self.lines += [head, f"{indent}  planish_one_by_one"] if alone else [head]
        before = dict(self.finishes)
        self.block(loop.body, context.inside(loop), indent + "  ")
        if loop.facts.parallel and self.threads:
            # Each thread finishes what it did.
            self.lines += [f"{indent}  {x}" for x in self.finishes if x not in before]
            self.finishes = before
        self.lines.append(f"{indent}}}")

    def reduce(self, loop: For, call: MacroCall, sums: list[LaneSum], context: EmitContext, indent: str) -> None:
        """The loop as a call of a macro."""
        told, held, begin = self.told, self.held, len(self.lines)
        self.told |= {x.name for x in sums if x.type.is_float}
        self.held -= {x.name for x in sums}
        self.block(loop.body, context.inside(loop), "")
        self.told, self.held = told, held
        self.lines[begin:] = call.lines(self.lines[begin:], indent)

    def partial(self, loop: For, sums: list[LaneSum], bounds: LoopBounds, context: EmitContext, indent: str) -> None:
        """The loop with partial sums. clang makes them itself where it is told of each sum that it may."""
        told = all(x.type.is_int or x.op in ("add", "mul") for x in sums)
        names = [(x, context.names.get(x.name, x.name)) for x in sums]
        cells, var = [x for _, x in names], self.spelt[loop.var]
        call, (count, few) = reduced(loop, bounds, sums, cells, var, self.accumulators)
        if call is not None and told and not needs_low_bits(loop):
            return self.reduce(loop, call, sums, context, indent)
        if told:
            self.lines += ["#if defined(__clang__)", f"{indent}planish_lanes"]
            outer = self.told
            self.told |= {x.name for x in sums if x.type.is_float}
            self.rounds(loop, bounds, context, indent)
            self.told = outer
            self.lines.append("#else")
        # Behind a condition, what a lane has would be stored under a mask.
        self.held -= {x.name for x in sums}
        own = [
            Partial(x, y, self.fresh(f"{y}_lanes"), self.fresh(f"{y}_many"), self.fresh(f"{y}_lane"), count, few)
            for x, y in names
        ]
        first, lane = self.fresh(f"{self.spelt[loop.var]}_first"), self.fresh("l")
        low = self.fresh(f"{self.spelt[loop.var]}_low") if needs_low_bits(loop) else ""
        strips = Strips(loop, bounds, own, self.spelt[loop.var], first, lane, length_of(loop), low)
        begin = len(self.lines)
        for part in strips.parts():
            match part:
                case str():
                    self.lines.append(indent + part)
                case StripBody(depth=depth, names=renamed, low=low):
                    inner = replace(context, low={loop.var: low}) if low else context
                    for name, spelling in renamed.items():
                        inner = inner.with_name(name, spelling)
                    self.block(loop.body, inner.inside(loop), indent + "  " * depth)
        self.lines[begin:] = without_unused(self.lines[begin:], low)
        if told:
            self.lines.append("#endif")
