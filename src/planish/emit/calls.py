"""What the instructions of a kernel need: headers, other kernels; and that lanes of registers are theirs alone.

>>> from planish.ir.parser import parse_kernel
>>> text = "kernel k(A: f32[16]) { alloc a: f32[16] @zmm for l in 0 .. 16 as avx512_load_f32 { a[l] = A[l] } }"
>>> headers_of(parse_kernel(text))
('immintrin.h',)
"""

from __future__ import annotations

from collections.abc import Iterable

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Load
from planish.ir.nest import PLAIN_MEMORIES, Alloc, Assign, For, Kernel, Reduce, Stmt
from planish.ir.printer import print_stmt
from planish.ir.traverse import blocks_of, expressions, walk, walk_expr
from planish.isa.instruction import Catalogue, Instruction
from planish.isa.shipped import shipped


def headers_of(kernel: Kernel, catalogue: Catalogue | None = None) -> tuple[str, ...]:
    """The headers that the instructions of a kernel need."""
    known = catalogue or shipped()
    called = [x.implementation for x in callees((kernel,), known) if x.implementation is not None]
    loops = [x.facts for body in (kernel, *called) for x in walk(body.body) if isinstance(x, For)]
    used = {x for facts in loops for x in (facts.instruction, facts.stream, facts.fetch)} - {""}
    return tuple(sorted({known.instruction(x).header for x in used} - {""}))


def callees(kernels: Iterable[Kernel], catalogue: Catalogue | None = None) -> tuple[Instruction, ...]:
    """The kernels that some kernels call, and those that they call, each once, after those that it needs."""
    out: dict[str, Instruction] = {}
    for kernel in kernels:
        _add_callees(kernel, catalogue or shipped(), out)
    return tuple(out.values())


def _add_callees(kernel: Kernel, known: Catalogue, out: dict[str, Instruction]) -> None:
    for stmt in walk(kernel.body):
        if isinstance(stmt, For) and stmt.facts.instruction not in ("", *out):
            called = known.instruction(stmt.facts.instruction)
            if called.implementation is not None:
                _add_callees(called.implementation, known, out)
                out[called.name] = called


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
