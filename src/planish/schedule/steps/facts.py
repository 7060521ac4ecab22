"""Steps that say how a loop runs: its iterations on several threads, or in the lanes of vectors.

>>> from planish.schedule.example import show_step
>>> show_step("for i in 0 .. n { for j in 0 .. m { M[i, j] = A[i] } }", Parallelise("i"), Vectorise("j"))
for i in 0 .. n parallel {
  for j in 0 .. m simd {
    M[i, j] = A[i]
  }
}
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planish.ir.expr import type_of
from planish.ir.nest import Alloc, Assign, For, LoopFacts, Reduce, ReduceOp
from planish.ir.traverse import expressions, loads, walk
from planish.schedule.legality import check_parallel
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target


@dataclass(frozen=True, slots=True)
class Parallelise:
    """Run the iterations of a loop on the threads that there are.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Parallelise("i"))
    for i in 0 .. n parallel {
      A[i] = 0.0:f32
    }
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0613 where an iteration uses what another one writes."""
        loop = program.loop(self.loop)
        return _marked(program, loop, replace(loop.facts, parallel=True))


@dataclass(frozen=True, slots=True)
class Vectorise:
    """Run the iterations of a loop in the lanes of vectors, as many at a time as there are; cells that it only adds to
    are summed apart in each.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Vectorise("i"))
    for i in 0 .. n simd {
      A[i] = 0.0:f32
    }
    >>> show_step("alloc s: f32[] for i in 0 .. n { s[] += A[i] } B[0] = s[]", Vectorise("i"))
    alloc s: f32[]
    for i in 0 .. n simd reduce(add: s) {
      s[] += A[i]
    }
    B[0] = s[]
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0613 where an iteration uses what another one writes."""
        loop = program.loop(self.loop)
        sums = _sums(program, loop)
        facts = replace(loop.facts, simd=True, reductions=tuple((op, name) for name, op in sums.items()))
        return _marked(program, loop, facts, frozenset(sums))


def _sums(program: Program, loop: For) -> dict[str, ReduceOp]:
    """The cells that a loop only updates, by one operation each, in whatever order."""
    out: dict[str, ReduceOp] = {}
    others: set[str] = set()
    for stmt in walk(loop):
        others |= {load.array for x in expressions(stmt) for load in loads(x)}
        if isinstance(stmt, Reduce) and not stmt.index and out.get(stmt.array, stmt.op) == stmt.op:
            exact = not type_of(stmt.value).is_float or stmt.op in ("min", "max")
            if exact or program.reassociate:
                out[stmt.array] = stmt.op
                continue
        if isinstance(stmt, Assign | Reduce | Alloc):
            others.add(stmt.array.name if isinstance(stmt, Alloc) else stmt.array)
    return {name: op for name, op in out.items() if name not in others}


def _marked(program: Program, loop: For, facts: LoopFacts, sums: frozenset[str] = frozenset()) -> Change:
    kernel = program.kernel
    check_parallel(kernel, program.path(loop.label), sums)
    return Change(replace(kernel, body=exchange(kernel.body, loop.label, lambda x: (replace(loop, facts=facts),))))
