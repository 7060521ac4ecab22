"""The step that fetches what will be used: nothing is computed by it, and nothing that it fetches is relied on.

>>> from planish.schedule.example import show_step
>>> text = "for j in 0 .. 8 { B[j] = 0.0:f32 } for i in 0 .. 2 { for k in 0 .. 16 { A[i, k] = B[i] } }"
>>> step = Prefetch("i", "A", "j", "pf", "avx512_prefetch_f32", every=4)
>>> show_step(text, step, head="kernel f(A: f32[2, 16], B: f32[8])")
for j in 0 .. 8 {
  alloc pf: f32[] nowhere
  for pf_1 in 0 .. 16 as avx512_prefetch_f32 {
    pf[] = A[min(j // 4, 1), pf_1]
  }
  B[j] = 0.0:f32
}
for i in 0 .. 2 {
  for k in 0 .. 16 {
    A[i, k] = B[i]
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Expr, Load, index
from planish.ir.index.simplify import simplify
from planish.ir.nest import Alloc, Array, Assign, Block, For, Kernel, LoopFacts, Stmt
from planish.ir.traverse import substitute, walk
from planish.poly.match.matcher import MismatchError
from planish.schedule.accesses import arrays_of
from planish.schedule.match_instruction import match_instruction
from planish.schedule.names import check_fresh
from planish.schedule.nodes import Node, exchange, siblings_of
from planish.schedule.program import Change, Program, Target
from planish.schedule.steps.buffers import StagedBox, StageMem, is_inside


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Bring the part of an array that a statement will use near the processor, before another statement of the same
    block: loops whose innermost one an instruction does, over as many elements as a line of the cache holds.

    Nothing is computed: what they load goes `nowhere`, a memory that cannot be read. `ahead`: what the iteration of a
    loop so many later will use (or the last one) is fetched. `every`: the statement in front of which to fetch is a
    loop, and a row is fetched in each of so many of its iterations; then the next row, up to the last.

    >>> from planish.schedule.example import show_step
    >>> text = "alloc t: f32[16] stack for i in 0 .. 16 { t[i] = B[i] } for j in 0 .. 16 { A[j] += t[j] }"
    >>> show_step(text, Prefetch("j", "A", "i", "pf", "avx512_prefetch_f32"), head="kernel f(A: f32[16], B: f32[16])")
    alloc t: f32[16] stack
    alloc pf: f32[] nowhere
    for pf_0 in 0 .. 16 as avx512_prefetch_f32 {
      pf[] = A[pf_0]
    }
    for i in 0 .. 16 {
      t[i] = B[i]
    }
    for j in 0 .. 16 {
      A[j] += t[j]
    }
    """

    of: Target
    array: str
    before: Target
    name: str
    instruction: str
    ahead: int = 0
    loop: str = ""
    every: int = 0

    def rewrite(self, program: Program) -> Change:
        """E0606 where the array is not used there, its part has no constant extents, reaches further than the array, or
        is not made of whole lines; E0604 where the statements are not in one block, or not in the loop, or what is to
        be spread over a loop is one row, or there is no such loop."""
        kernel, path, place = program.kernel, program.path(self.of), program.path(self.before)
        here, there = (siblings_of(kernel.body, x[-1].label) for x in (path, place))
        if here is None or there is None or here[0] is not there[0]:
            message = "the statement before which to fetch is in another block"
            raise PlanishError(Diagnostic("E0604", message, help="point at one beside the statement that needs it"))
        array, part = StageMem(self.of, self.array, self.name).part(program, path)
        line = program.catalogue.instruction(self.instruction).lanes or 1
        whole = [d for d in part.kept if d < len(part.extents) - 1]
        if not part.kept or part.kept[-1] != len(part.extents) - 1 or part.extents[-1] % line:
            message = f"the part of `{self.array}` has no rows of a multiple of {line} elements"
            raise PlanishError(Diagnostic("E0606", message, help="fetch parts of whole lines"))
        names = {d: f"{self.name}_{d}" for d in part.kept}
        check_fresh(kernel, self.name, *names.values())
        later = self._later(path)
        ahead = replace(part, lowers=tuple(simplify(substitute(x, later)) for x in part.lowers))
        if later and not is_inside(kernel, path, array, ahead):
            message = f"what a later iteration uses of `{self.array}` may lie outside of the array"
            raise PlanishError(Diagnostic("E0606", message, help="fetch for a loop whose last iteration uses it"))
        made: list[Stmt] = [Alloc(Array(self.name, array.type, (), memory="nowhere"))]
        last = len(part.extents) - 1
        row = self._row(place[-1], part, whole)
        whole = [d for d in whole if d not in row]
        for number in range(part.extents[-1] // line):
            at: list[Expr] = [
                Binary("add", low, row.get(d, index(names.get(d, 0)))) for d, low in enumerate(part.lowers)
            ]
            at[last] = Binary("add", at[last], index(number * line))
            value = Load(self.array, tuple(simplify(substitute(x, later)) for x in at), array.type)
            facts = LoopFacts(instruction=self.instruction)
            body = Block((Assign(self.name, (), value),))
            inner = For(names[last], index(0), index(line), 1, body, facts)
            for d in reversed(whole):
                inner = For(names[d], index(0), index(part.extents[d]), 1, Block((inner,)))
            made.append(inner)
        def insert(stmt: Node) -> tuple[Stmt, ...]:
            if not row:
                return (*made, stmt)
            assert isinstance(stmt, For)
            return (replace(stmt, body=Block((*made, *stmt.body.body))),)

        change = replace(kernel, body=exchange(kernel.body, place[-1].label, insert))
        _check_instruction(program, change, [x for stmt in made for x in walk(stmt) if isinstance(x, For)])
        return Change(change)

    def _row(self, before: Node, part: StagedBox, whole: Sequence[int]) -> dict[int, Expr]:
        """The row that an iteration of a loop fetches, by its dimension; none where all of them are fetched at once."""
        if not self.every:
            return {}
        if not isinstance(before, For) or before.step != 1 or self.every < 1 or not whole:
            message = "what is fetched has no rows, or there is no loop over which to spread them"
            raise PlanishError(Diagnostic("E0604", message, help="fetch it at once: every=0"))
        first = Binary("sub", index(before.var), before.lower)
        row = Binary("min", Binary("floordiv", first, index(self.every)), index(part.extents[whole[0]] - 1))
        return {whole[0]: simplify(row)}

    def _later(self, path: Sequence[Node]) -> dict[str, Expr]:
        """The value of the loop's variable in the iteration for which to fetch: the last one where there is none."""
        if not self.ahead and not self.loop:
            return {}
        loop = next((x for x in path[:-1] if isinstance(x, For) and x.var == self.loop), None)
        if loop is None or self.ahead < 1 or loop.step != 1:
            message = f"the statement is in no loop over `{self.loop}` whose iterations follow each other"
            raise PlanishError(Diagnostic("E0604", message, help="name a loop around it, and fetch 1 or more ahead"))
        last = Binary("sub", loop.upper, index(1))
        return {loop.var: simplify(Binary("min", Binary("add", index(loop.var), index(self.ahead)), last))}


def _check_instruction(program: Program, kernel: Kernel, loops: Sequence[For]) -> None:
    """That the instruction that is to do a loop does that; PlanishError E0632."""
    for loop in (x for x in loops if x.facts.instruction):
        instruction = program.catalogue.instruction(loop.facts.instruction)
        try:
            match_instruction(instruction, loop, arrays_of(kernel), program.catalogue.bits)
        except MismatchError as error:
            message = f"`{loop.facts.instruction}` does not fetch that: {error.reason}"
            raise PlanishError(Diagnostic("E0632", message, help="choose an instruction for the type")) from error
