"""A raised kernel as a C function that calls a BLAS where there is a routine, and runs loops where there is none.

>>> from planish.ir.expr import Var, index
>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.types import F64
>>> from planish.raising.operation import Operation
>>> from planish.raising.raised import whole
>>> text = "kernel axpy(n; a: f64; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] += a * x[i] } }"
>>> kernel = parse_kernel(text.replace("axpy", "add").replace("]", "] distinct", 2))
>>> step = Apply(Operation("axpy", parse_kernel(text)), {x.name: whole(x) for x in kernel.arrays},
...              {"n": index("n")}, {"a": Var("a", F64)})
>>> text = emit_cblas(Raised(kernel, (step,)))
>>> print(text[text.index("void add(") : text.rindex("\\n#if defined(__clang__)")], end="")
void add(ptrdiff_t n, double a, const double *restrict x, double *restrict y)
{
  /* axpy */
  if (planish_fits(n, 0)) {
    cblas_daxpy(n, a, x, 1, y, 1);
  } else {
    add_1(n, a, x, y);
  }
}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from planish.emit.c.context import EmitContext
from planish.emit.c.element_types import Declared, declared_type
from planish.emit.c.expression import c_type, emit_expr, emit_place
from planish.emit.c.heap_arrays import is_fallible
from planish.emit.c.kernel_text import emit_function
from planish.emit.c.prologue import emit_prologue
from planish.emit.dropin.patched_file import emit_guard
from planish.emit.dropin.replacement import NoExtentError, byte_range, overlapping
from planish.emit.dropin.standalone import c_name_of, spelt_names
from planish.emit.formats.blas.interface import BlasInterface
from planish.emit.formats.blas.operands import Argument, BlasFlag, BlasPointer, BlasSize, BlasValue, RoutineCall
from planish.emit.formats.blas.routines import Step, choose_calls
from planish.emit.formats.step_comment import describe, named_loops_of, repeated
from planish.ir.expr import index
from planish.ir.index.polynomial import add, constant, extremum, same
from planish.ir.nest import Array, Assign, Block, Kernel, Reduce
from planish.ir.traverse import variables, walk
from planish.poly.isl.affine import NotAffineError
from planish.poly.scop.extraction import Scop, extract_scop
from planish.raising.raised import (
    Apply,
    Choice,
    Loops,
    Raised,
    Repeat,
    Reshape,
    arrays_of,
    case_locals,
    walk_steps,
)
from planish.raising.raised import Step as RaisedStep

_MOST = (1 << 31) - 1
_SIGNS = {"add": "+=", "mul": "*="}


@dataclass(frozen=True, slots=True)
class Callers:
    """A kernel's functions that call a BLAS, the kernel's own at last.

    `declarations` are those of the routines. `fallible`: the function returns 0, or 1 where nothing was done.
    """

    functions: tuple[str, ...]
    declarations: tuple[str, ...]
    fallible: bool


def emit_callers(
    raised: Raised,
    name: str,
    interface: BlasInterface,
    reserved: Collection[str] = (),
    declared: Declared | None = None,
) -> Callers | str:
    """Functions for a drop-in, whose own ways out are the caller's: no two arrays overlap where it is called, and where
    it returns 1 (a condition does not hold, or there is no memory) nothing was done yet. A text says why there is none.

    `reserved` are names to avoid; `declared`: the types of the kernel's own arrays in C. The declarations are C that
    needs no header. PlanishError as of `emit_function`.
    """
    if _askable(raised) is not raised:
        return "a condition of an operation depends on the iteration"
    types = dict(declared or {})
    for second in raised.reshapes:
        types |= {second.array.name: types[second.of]} if second.of in types else {}
    file = _File(raised, interface, name, frozenset(reserved), within=True, declared=types)
    own = set(case_locals(raised.steps))
    if len(arrays_of(raised)) < len(raised.kernel.arrays) + len(raised.locals) + len(own) + len(raised.reshapes):
        return "two ways to the same result have local arrays of one name"
    if any(is_fallible(file.kernel_of(name, named_loops_of(x, raised), ())) for x in walk_steps(raised.steps)):
        return "loops between the operations take memory, which may be missing when a part is done"
    texts = tuple(file.functions())
    if not file.prototypes:
        return "no routine of a BLAS does what the nest does"
    return Callers(texts, tuple(file.prototypes), file.fallible)


def emit_cblas(*kernels: Raised, wide: bool = False) -> str:
    """A C file with a function for each kernel, of its sizes, scalars and arrays, in this order.

    The functions need `cblas.h` and a BLAS; `wide`: one whose integers have 64 bits. A routine is called where its
    sizes fit its integers, else loops run. Where arrays overlap, or a condition does not hold, the kernel as it was
    runs; what the kernel itself assumes is the caller's to keep. A function that takes memory for its loops returns 1
    where there is none, and what is in the arrays then is nobody's promise. PlanishError as of `emit_function`.
    """
    files = [_File(_askable(x), BlasInterface(wide=wide), c_name_of(x.kernel)) for x in kernels]
    texts = [text for x in files for text in x.functions()]
    needed = any(x.prototypes for x in files)
    return emit_prologue(texts, (), ["cblas.h"] if needed else [])


@dataclass(slots=True)
class _File:
    """The functions of one kernel; `within` a drop-in, which has what is done where they cannot do it."""

    raised: Raised
    interface: BlasInterface
    name: str
    reserved: frozenset[str] = frozenset()
    within: bool = False
    declared: Declared = field(default_factory=dict)
    context: EmitContext = EmitContext()
    lines: list[str] = field(default_factory=list)
    prototypes: dict[str, None] = field(default_factory=dict)
    number: int = 0
    fallible: bool = False

    def functions(self) -> Iterator[str]:
        """The functions, the kernel's own at last."""
        raised, kernel, name = self.raised, self.raised.kernel, self.name
        original = self.emit(kernel, f"{name}_loops", "The kernel as it was.")
        head = original[original.index("static ") : original.index("\n{\n")]
        names = [*kernel.sizes, *(x.name for x in kernel.scalars), *(x.name for x in kernel.arrays)]
        spelt = dict(zip(names, spelt_names(head), strict=True))
        locals = tuple(dict.fromkeys((*raised.locals, *case_locals(raised.steps))))
        for array in [*arrays_of(raised).values()][len(kernel.arrays) :]:
            spelt[array.name] = self.free(array.name, spelt.values())
        self.context = EmitContext(spelt, frozenset(x.name for x in arrays_of(raised).values() if not x.shape))
        guards = self.guards(kernel, spelt)
        # With no memory for a local array, the kernel runs as it was.
        kernels = [self.kernel_of(name, named_loops_of(x, raised), ()) for x in walk_steps(raised.steps)]
        self.fallible = bool(guards or locals) if self.within else any(map(is_fallible, (kernel, *kernels)))
        call = f"{name}_loops({', '.join(spelt[x] for x in names)});"
        fallback = ["return 1;"] if self.within else self.leave(call, is_fallible(kernel))
        if guards:
            self.lines += [f"  if (!({_conjunction(guards)})) {{", *(f"    {x}" for x in fallback), "  }"]
        self.allocate(locals, fallback)
        self.lines += (self.second_name(x) for x in raised.reshapes)
        if (guards or locals) and not self.within:
            yield original
        yield from self.steps(raised.steps, (), "  ")
        self.lines += [f"  {self.release().strip()}"] * bool(locals) + ["  return 0;"] * self.fallible
        text = "\n".join(self.lines)
        unused = [f"  (void){spelt[x]};" for x in names if not re.search(rf"\b{spelt[x]}\b", text)]
        self.lines = [*unused, *self.lines]
        kept = "static " if self.within else ""
        head = re.sub(r"static \w+ \w+", f"{kept}{'int' if self.fallible else 'void'} {name}", head, count=1)
        yield "\n".join([head, "{", *self.lines, "}\n"])

    def steps(self, steps: Sequence[RaisedStep], iterators: tuple[str, ...], indent: str) -> Iterator[str]:
        """Write steps in order; gives the functions of those that run as loops."""
        for step in steps:
            match step:
                case Repeat():
                    outer, name = self.context, self.free(step.var, self.context.names.values())
                    lower, upper = emit_expr(step.lower, outer), emit_expr(step.upper, outer)
                    by = f"{name}++" if step.by == 1 else f"{name} += {step.by}"
                    self.lines.append(f"{indent}for (ptrdiff_t {name} = {lower}; {name} < {upper}; {by}) {{")
                    self.context = outer.with_name(step.var, name)
                    yield from self.steps(step.steps, (*iterators, step.var), indent + "  ")
                    self.lines.append(f"{indent}}}")
                    self.context = outer
                case Choice(cases=cases):
                    head = ""
                    for case in cases[:-1]:
                        self.lines.append(f"{indent}{head}if ({emit_expr(case.condition, self.context)}) {{")
                        yield from self.steps(case.steps, iterators, indent + "  ")
                        head = "} else "
                    self.lines.append(f"{indent}{head}{{")
                    yield from self.steps(cases[-1].steps, iterators, indent + "  ")
                    self.lines.append(f"{indent}}}")
                case Apply() | Loops():
                    yield from self.one(step, iterators, indent)
                case _:
                    assert_never(step)

    def one(self, step: Apply | Loops, iterators: tuple[str, ...], indent: str) -> Iterator[str]:
        """Write one step; gives its function where it may run as loops."""
        self.number += 1
        raised = self.raised
        chosen = choose_calls(step, raised) if isinstance(step, Apply) else None
        words = [*describe(step), *(["no routine of a BLAS"] if chosen is None and isinstance(step, Apply) else [])]
        self.lines.append(f"{indent}/* {'; '.join(words).replace('*/', '* /')} */")
        loops = self.kernel_of(f"{self.name}_{self.number}", named_loops_of(step, raised), iterators)
        names = [*loops.sizes, *(x.name for x in loops.scalars), *(x.name for x in loops.arrays)]
        own = f"{loops.name}({', '.join(self.context.names[x] for x in names)});"
        if is_fallible(loops):
            own = f"if ({own[:-1]} != 0) {{ {self.release()}return 1; }}"
        checks = list(dict.fromkeys(x for y in chosen or () for x in self.checks(y)))
        # What is at least one is at least zero.
        checks = [x for x in checks if f"{x.removesuffix(', 0)')}, 1)" not in checks or not x.endswith(", 0)")]
        if chosen is None:
            self.lines.append(f"{indent}{own}")
        elif checks:
            self.lines.append(f"{indent}if ({_conjunction(checks)}) {{")
            self.lines += [f"{indent}  {line}" for x in chosen for line in self.step(x)]
            self.lines += [f"{indent}}} else {{", f"{indent}  {own}", f"{indent}}}"]
        else:
            self.lines += [f"{indent}{line}" for x in chosen for line in self.step(x)]
        if chosen is None or checks:
            yield self.emit(loops, loops.name)

    def emit(self, kernel: Kernel, name: str, comment: str = "") -> str:
        """A kernel as a function; within a drop-in, its arrays are known not to overlap, but for second names."""
        noalias = self.within and not self.raised.reshapes
        return emit_function(
            kernel, name, noalias=noalias, comment=comment, reserved=self.reserved, declared=self.declared
        )

    def kernel_of(self, name: str, body: Block, iterators: tuple[str, ...]) -> Kernel:
        """One step as loops, with all arrays there are, in an iteration of the loops around it."""
        kernel = self.raised.kernel
        arrays = tuple(arrays_of(self.raised).values())
        if self.raised.reshapes:
            arrays = tuple(replace(x, distinct=False) for x in arrays)
        return replace(kernel, name=name, sizes=(*kernel.sizes, *iterators), arrays=arrays, body=body)

    def leave(self, call: str, fallible: bool) -> list[str]:
        """The lines that run the kernel as it was, and end the function."""
        if fallible:
            return [f"return {call}"]
        return [call, "return 0;" if self.fallible else "return;"]

    def release(self) -> str:
        """What gives the memory of all local arrays back."""
        locals = dict.fromkeys((*self.raised.locals, *case_locals(self.raised.steps)))
        return "".join(f"planish_release({self.context.names[x.name]}); " for x in reversed(locals))

    def free(self, name: str, taken: Iterable[str]) -> str:
        """A name that nothing else has."""
        taken = {*taken, *self.reserved}
        spelling = f"{name}_local" if name in taken else name
        while spelling in taken:
            spelling += "_"
        return spelling

    def guards(self, kernel: Kernel, spelt: dict[str, str]) -> list[str]:
        """What has to hold for any of the steps: conditions, and that arrays do not overlap."""
        asked = [c for step in walk_steps(self.raised.steps) if isinstance(step, Apply) for c in step.conditions]
        out = [_within(emit_guard(x, spelt), "||") for x in dict.fromkeys(asked)]
        written = frozenset(x.array for x in walk(kernel.body) if isinstance(x, Assign | Reduce))
        pairs = overlapping(kernel.arrays, written)
        if not pairs or self.within:
            return out
        scop = _scop(kernel)
        for a, b in pairs:
            ranges = [self.bytes(x, scop, spelt) for x in (a, b)]
            if None in ranges:
                self.lines.append(f"  /* {a.name} and {b.name} must not overlap: nothing says how far they reach. */")
                continue
            out.append(f"planish_disjoint({', '.join(text for x in ranges if x is not None for text in x)})")
        return out

    def bytes(self, array: Array, scop: Scop | None, spelt: dict[str, str]) -> tuple[str, str] | None:
        """A pointer, and how many bytes the kernel may reach from there; None where that is not known."""
        if None not in array.shape:
            factors = [emit_guard(x, spelt) for x in array.shape if x is not None]
            return spelt[array.name], " * ".join([str(array.type.size), *(_within(x, "+-") for x in factors)])
        try:
            return byte_range(array, scop, spelt) if scop is not None else None
        except NoExtentError:
            return None

    def allocate(self, arrays: tuple[Array, ...], fallback: list[str]) -> None:
        """Memory for local arrays."""
        for i, array in enumerate(arrays):
            name = self.context.names[array.name]
            extents = [emit_expr(x, self.context) for x in array.shape if x is not None]
            size = " * ".join([f"sizeof({c_type(array.type)})", *(f"(size_t)({x})" for x in extents)])
            self.lines += [f"  {self.pointer(array, name)} = planish_allocate({size});", f"  if ({name} == NULL) {{"]
            self.lines += [f"    planish_release({self.context.names[x.name]});" for x in reversed(arrays[:i])]
            self.lines += [*(f"    {x}" for x in fallback), "  }"]

    @property
    def fits(self) -> str:
        """The function that says whether the BLAS can be told of a size."""
        return "planish_fits_wide" if self.interface.wide else "planish_fits"

    def pointer(self, array: Array, name: str) -> str:
        """A pointer to an array's rows as C declares it; without a name, the pointer's type."""
        rows = "".join(f"[{emit_expr(x, self.context)}]" for x in array.shape[1:] if x is not None)
        text = declared_type(array, self.declared)
        return f"{text} (*{name}){rows}" if rows else f"{text} *{name}"

    def second_name(self, reshape: Reshape) -> str:
        """An array's memory as an array of another shape."""
        array, names = reshape.array, self.context.names
        return f"  {self.pointer(array, names[array.name])} = ({self.pointer(array, '')}){names[reshape.of]};"

    def checks(self, step: Step) -> Iterator[str]:
        """What has to hold of the arguments of a call, as C."""
        if not isinstance(step, RoutineCall):
            return
        for loop in step.loops:
            # Where there is no iteration, sizes need not be good for anything.
            yield f"{self.fits}({emit_expr(loop.extent, self.context)}, 0)"
        for condition in step.conditions:
            yield emit_expr(condition, self.context)
        for argument in step.arguments:
            if isinstance(argument, BlasSize):
                yield from self.check(argument)

    def check(self, number: BlasSize) -> Iterator[str]:
        """What has to hold of a size."""
        value, least = number.value, number.least
        known = constant(value)
        if least is None:
            if known is None and not self.interface.wide:
                yield f"{self.fits}({emit_expr(value, self.context)}, -INT32_MAX)"
            return
        if constant(least) != 0:
            # A leading dimension is at least one.
            least = index(1) if same(value, least) else extremum("max", least, index(1))
        smallest = constant(least)
        if known is not None and smallest is not None and smallest <= known <= _MOST:
            return
        yield f"{self.fits}({emit_expr(value, self.context)}, {emit_expr(least, self.context)})"

    def step(self, step: Step) -> Iterator[str]:
        """A call, or a statement over single elements."""
        if not isinstance(step, RoutineCall):
            yield f"{self.stored(step)} {emit_expr(step.value, self.context)};"
            return
        self.prototypes[self.interface.prototype(step)] = None
        outer = self.context
        indent = ""
        for loop in step.loops:
            name = self.free(loop.var, self.context.names.values())
            self.context = self.context.with_name(loop.var, name)
            lower, upper = (emit_expr(x, self.context) for x in (loop.lower, add(loop.lower, loop.extent)))
            yield f"{indent}for (ptrdiff_t {name} = {lower}; {name} < {upper}; {name}++) {{"
            indent += "  "
        call = f"{self.interface.symbol(step)}({', '.join(self.argument(x) for x in step.arguments)});"
        yield indent + (call if step.result is None else f"{self.stored(step.result)} {call}")
        for _ in step.loops:
            indent = indent[2:]
            yield f"{indent}}}"
        self.context = outer

    def stored(self, stmt: Assign | Reduce) -> str:
        """An element and the sign that changes it."""
        sign = "=" if isinstance(stmt, Assign) else _SIGNS[stmt.op]
        return f"{emit_place(stmt.array, stmt.index, self.context)} {sign}"

    def argument(self, argument: Argument) -> str:
        """One argument as C."""
        match argument:
            case BlasFlag(word=word):
                return f"Cblas{word}"
            case BlasSize(value=value) | BlasValue(value=value):
                return emit_expr(value, self.context)
            case BlasPointer(array=array, at=at):
                place = emit_place(array, at, self.context)
                if len(at) == 1 and constant(at[0]) == 0:
                    return self.context.names[array]
                return place[1:] if place.startswith("*") else f"&{place}"


def _askable(raised: Raised) -> Raised:
    """The kernel as it was where a condition is one of an iteration: it cannot be asked before the first step."""
    names = set(repeated(raised.steps))
    asked = [c for x in walk_steps(raised.steps) if isinstance(x, Apply) for c in x.conditions]
    asked += [x for array in raised.locals for x in array.shape if x is not None]
    if not any(variables(x) & names for x in asked):
        return raised
    reason = {"the nest": "a condition of an operation, or an array for it, depends on the iteration"}
    return Raised(raised.kernel, (Loops(raised.kernel.body, reason),))


def _within(text: str, signs: str) -> str:
    """A text in parentheses where it holds an operator."""
    return f"({text})" if any(x in text for x in signs) else text


def _conjunction(conditions: list[str]) -> str:
    """Conditions that have to hold, on several lines where they are long."""
    return (" &&\n      " if sum(map(len, conditions)) > 90 else " && ").join(conditions)


def _scop(kernel: Kernel) -> Scop | None:
    try:
        return extract_scop(kernel)
    except NotAffineError:
        return None

