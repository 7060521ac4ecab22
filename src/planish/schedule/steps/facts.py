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

from planish.ir.nest import For, LoopFacts
from planish.schedule.nodes import exchange
from planish.schedule.order import check_parallel
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
    """Run the iterations of a loop in the lanes of vectors, as many at a time as there are.

    >>> from planish.schedule.example import show_step
    >>> show_step("for i in 0 .. n { A[i] = 0.0:f32 }", Vectorise("i"))
    for i in 0 .. n simd {
      A[i] = 0.0:f32
    }
    """

    loop: Target

    def rewrite(self, program: Program) -> Change:
        """E0613 where an iteration uses what another one writes."""
        loop = program.loop(self.loop)
        return _marked(program, loop, replace(loop.facts, simd=True))


def _marked(program: Program, loop: For, facts: LoopFacts) -> Change:
    kernel = program.kernel
    check_parallel(kernel, program.path(loop.label))
    return Change(replace(kernel, body=exchange(kernel.body, loop.label, lambda x: (replace(loop, facts=facts),))))
