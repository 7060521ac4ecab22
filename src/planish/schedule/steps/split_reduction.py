"""A reduction in parts that are independent, and then over the parts (split-K): for devices with many more threads.

>>> SplitReduction("j", "i", "p").parts
32
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.expr import Binary, Compare, Const, Expr, Load, index
from planish.ir.index.simplify import simplify, simplify_block
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, LoopFacts, Reduce, Stmt
from planish.ir.traverse import arrays_in, expressions, loads, stored_arrays, substitute_block, variables, walk
from planish.schedule.accesses import arrays_of, use_element
from planish.schedule.legality import check_parallel
from planish.schedule.names import check_fresh
from planish.schedule.nodes import exchange
from planish.schedule.program import Change, Program, Target
from planish.schedule.steps.teams import NEUTRAL


@dataclass(frozen=True, slots=True)
class SplitReduction:
    """Make what a loop adds up, in each iteration of the independent loops from `around` down to it, in so many parts,
    which are independent, and then what they give. The order is the same in every run.

    >>> from planish.schedule.example import show_step
    >>> text = "for j in 0 .. m { for i in 0 .. n { B[j] += M[i, j] } }"
    >>> show_step(text, SplitReduction("j", "i", "p", 4), head="kernel f(n, m; M: i64[n, m], B: i64[m])")
    alloc p: i64[4, m]
    for p_part in 0 .. 4 {
      for p_j in 0 .. m {
        alloc p_own: i64[] register
        p_own[] = 0
        for i in p_part .. n step 4 {
          p_own[] += M[i, p_j]
        }
        p[p_part, p_j] = p_own[]
      }
    }
    for j in 0 .. m {
      if n > 0 {
        for p_part in 0 .. 4 {
          B[j] += p[p_part, j]
        }
      }
    }
    """

    around: Target
    loop: Target
    name: str
    parts: int = 32

    def rewrite(self, program: Program) -> Change:
        """E0604 where the loop does more than add to one element, or sums need what the loops around it make; E0613
        where iterations depend on each other otherwise; E0606 where sums of floats may not be made in another order."""
        first, loop, name = program.loop(self.around), program.loop(self.loop), self.name
        path = program.path(loop.label)
        start = next((n for n, x in enumerate(path) if x.label == first.label), len(path))
        chain = [x for x in path[start:-1] if isinstance(x, For)]
        if not chain or len(chain) != len(path) - start - 1 or any(x.step != 1 for x in (*chain, loop)):
            raise _whole(f"`{loop.var}` is not directly in loops from `{first.var}` on, without steps")
        if any(x.body.body != (y,) for x, y in zip(chain, chain[1:], strict=False)) or self.parts < 2:
            raise _whole(f"something stands beside the loops around `{loop.var}`, or there is one part only")
        update = _single_update(loop)
        if update is None or update.op not in NEUTRAL:
            raise _whole(f"`{loop.var}` does more than add to one element")
        read = set(arrays_in(loop)) - {update.array}
        if read & stored_arrays(first) or any(isinstance(x, Alloc) for x in walk(loop)):
            raise _whole("what is added up is made in the loops around it")
        around = {x.var for x in chain}
        if any(variables(x) & around for each in chain for x in (each.lower, each.upper)):
            raise _whole("the loops around are no box")
        kind = arrays_of(program.kernel)[update.array].type
        if kind.is_float and not program.reassociate:
            message = f"the sums in `{update.array}` would be made in another order, which is not allowed"
            raise PlanishError(Diagnostic("E0606", message, help="allow it, or leave the loop as it is"))
        for each in chain:
            check_parallel(program.kernel, program.path(each.label))
        check_parallel(program.kernel, path, {update.array})
        part, own = f"{name}_part", f"{name}_own"
        check_fresh(program.kernel, name, part, own, *(f"{name}_{x.var}" for x in chain))
        lengths = [simplify(Binary("sub", x.upper, x.lower)) for x in chain]
        places = [simplify(Binary("sub", index(x.var), x.lower)) for x in chain]
        neutral = Const(float(NEUTRAL[update.op]) if kind.is_float else int(NEUTRAL[update.op]), kind)
        summed = Block((
            Alloc(Array(own, kind, (), memory="register")),
            Assign(own, (), neutral),
            _part(use_element(Block((loop,)), update.array, own), index(part), self.parts),
            Assign(name, (index(part), *places), Load(own, (), kind)),
        ))  # fmt: skip
        summed = substitute_block(summed, {x.var: index(f"{name}_{x.var}") for x in chain})
        for each in reversed(chain):
            renamed = replace(each, var=f"{name}_{each.var}", body=summed, label=0, facts=LoopFacts())
            summed = Block((renamed,))
        last = replace(update, value=Load(name, (index(part), *places), kind), label=0)
        behind: Stmt = For(part, index(0), index(self.parts), 1, Block((last,)))
        some = simplify(Compare("gt", loop.upper, loop.lower))
        if not isinstance(some, Const):
            behind = If(some, Block((behind,)))
        (rest,) = exchange(Block((first,)), loop.label, lambda x: (behind,)).body
        made = (
            Alloc(Array(name, kind, (index(self.parts), *lengths))),
            For(part, index(0), index(self.parts), 1, simplify_block(summed), span=first.span),
            rest,
        )
        return Change(replace(program.kernel, body=exchange(program.kernel.body, first.label, lambda x: made)))


def _single_update(loop: For) -> Reduce | None:
    """The only store in a loop, which is to the same element each time, and reads nothing of its array."""
    stores = [x for x in walk(loop.body) if isinstance(x, Assign | Reduce)]
    inside = {x.var for x in walk(loop) if isinstance(x, For)}
    if len(stores) != 1 or not isinstance(update := stores[0], Reduce):
        return None
    varies = any(variables(x) & inside or loads(x) for x in update.index)
    bounds = any(loads(x) for y in walk(loop) if isinstance(y, For) for x in expressions(y))
    return None if varies or bounds or list(arrays_in(loop)).count(update.array) > 1 else update


def _part(whole: Block, part: Expr, parts: int) -> For:
    """One part of a loop: every so many-th iteration, since products of sizes are not affine."""
    (loop,) = whole.body
    assert isinstance(loop, For)
    return replace(loop, lower=simplify(Binary("add", loop.lower, part)), step=parts, label=0, facts=LoopFacts())


def _whole(message: str) -> PlanishError:
    return PlanishError(Diagnostic("E0604", message, help="distribute the loop over its statements, or leave it whole"))
