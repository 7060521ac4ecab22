"""Calls of instructions: the headers and kernels that they need; and that lane registers are private.

>>> from planish.ir.text.parser import parse_kernel
>>> text = "kernel k(A: f32[16]) { alloc a: f32[16] @zmm for l in 0 .. 16 as avx512_load_f32 { a[l] = A[l] } }"
>>> headers_of(parse_kernel(text))
('immintrin.h',)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.emit.c.element_types import Declared, others_of, suffix_of
from planish.ir.expr import Load
from planish.ir.nest import PLAIN_MEMORIES, Alloc, Array, Assign, For, Kernel, Reduce, Stmt
from planish.ir.text.printer import print_stmt
from planish.ir.traverse import blocks_of, expressions, walk, walk_expr
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import shipped
from planish.poly.match.matcher import OperandMatch, match_nest
from planish.poly.scop.separation import everywhere


def headers_of(kernel: Kernel, catalogue: Catalogue | None = None) -> tuple[str, ...]:
    """The headers that the instructions of a kernel need."""
    known = catalogue or shipped()
    called = [x.implementation for x in callees((kernel,), known)]
    loops = [x.facts for body in (kernel, *called) for x in walk(body.body) if isinstance(x, For)]
    used = {x for facts in loops for x in (facts.instruction, facts.stream, facts.fetch)} - {""}
    return tuple(sorted({known.instruction(x).header for x in used} - {""}))


@dataclass(frozen=True, slots=True)
class Callee:
    """A kernel that is called, for arrays of types as `declared` where these are not those of exact width."""

    instruction: Instruction
    implementation: Kernel
    declared: Declared = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the function."""
        return f"{self.instruction.name}{suffix_of(self.declared)}"


def callees(
    kernels: Iterable[Kernel], catalogue: Catalogue | None = None, declared: Declared | None = None
) -> tuple[Callee, ...]:
    """The kernels that some kernels call, and those that they call, each once, after those that it needs; `declared`:
    the types of the kernels' own arrays in C."""
    out: dict[str, Callee] = {}
    for kernel in kernels:
        _add_callees(kernel, catalogue or shipped(), declared or {}, out)
    return tuple(out.values())


def _add_callees(kernel: Kernel, known: Catalogue, declared: Declared, out: dict[str, Callee]) -> None:
    local = [x.array for x in walk(kernel.body) if isinstance(x, Alloc)]
    arrays = {x.name: x for x in (*kernel.arrays, *local)}
    for stmt in walk(kernel.body):
        if not isinstance(stmt, For) or not stmt.facts.instruction:
            continue
        instruction = known.instruction(stmt.facts.instruction)
        if instruction.implementation is None:
            continue
        found = None
        if others_of(arrays, declared):
            found = match_nest(instruction.definition, stmt, arrays, known.bits, everywhere)
        callee = find_callee(instruction, instruction.implementation, found, arrays, declared)
        if callee.name not in out:
            _add_callees(callee.implementation, known, callee.declared, out)
            out[callee.name] = callee


def find_callee(
    instruction: Instruction, implementation: Kernel, found: OperandMatch | None, arrays: Mapping[str, Array],
    declared: Declared,
) -> Callee:  # fmt: skip
    """The function that is called where `found` says what it does it to (None: to arrays of exact types)."""
    others = others_of(arrays, declared) if found is not None else {}
    if found is None or not others:
        return Callee(instruction, implementation)
    passed = {x: view.array for x, view in found.arrays.items()}
    own = {x.name: others[passed[x.name]] for x in implementation.arrays if passed[x.name] in others}
    return Callee(instruction, implementation, own)


def check_lanes(kernel: Kernel) -> None:
    """That lanes of vector registers are touched by instructions only; PlanishError E0711."""
    kinds = {x.array.name: x.array.memory for x in walk(kernel.body) if isinstance(x, Alloc)}
    vectors = {name: kind for name, kind in kinds.items() if kind not in PLAIN_MEMORIES}

    def visit(stmt: Stmt) -> None:
        if isinstance(stmt, For) and stmt.facts.instruction:
            return
        used = {x.array for e in expressions(stmt) for x in walk_expr(e) if isinstance(x, Load)}
        used |= {stmt.array} if isinstance(stmt, Assign | Reduce) else set()
        for name in sorted(used & set(vectors)):
            message = f"`{print_stmt(stmt)}` touches lanes of `{name}`, which is in {vectors[name]}"
            advice = "replace the loop over its lanes by an instruction"
            raise PlanishError(Diagnostic("E0711", message, getattr(stmt, "span", None), advice))
        for inner in blocks_of(stmt):
            for x in inner.body:
                visit(x)

    for stmt in kernel.body.body:
        visit(stmt)
