"""The best value so far: where one that is better is stored, a branch stands, since that happens ever more seldom.

A choice between two values waits for the one before; a branch that is predicted waits for nothing. Compilers make
choices of such branches, where they are not kept from it.

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> from planish.ir.traverse import walk
>>> text = "kernel k(n; x: f64[n], s: f64[]) { for i in 0 .. n { s[] = select(!(x[i] <= s[]), x[i], s[]) } }"
>>> made = branch_on_best(parse_kernel(text))
>>> print(print_stmt(made.body), end="")
{
  for i in 0 .. n {
    if !(x[i] <= s[]) {
      s[] = x[i]
    }
  }
}
>>> [stores_best(x) for x in walk(made.body)].count(True)
1
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from planish.emit.c.context import EmitContext
from planish.emit.c.expression import emit_expr
from planish.ir.conditional_accesses import conditional_store
from planish.ir.expr import Compare, Const, Expr, Load, Unary, type_of
from planish.ir.nest import Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.passes.vector_loops import longest
from planish.ir.traverse import blocks_of, loads, map_expr, walk, with_blocks, with_body

SELDOM = """\
/* What holds ever more seldom, so that nothing has to wait for it: gcc would choose a value in any case. */
#if defined(__clang__)
#define planish_seldom(x) __builtin_expect(!!(x), 0)
#elif defined(__GNUC__)
#define planish_seldom(x) (__builtin_expect(!!(x), 0) && __extension__ ({ __asm__(""); 1; }))
#else
#define planish_seldom(x) (x)
#endif"""

MANY = 64
"""In loops of fewer iterations values are often better than those before."""


def branch_on_best(kernel: Kernel) -> Kernel:
    """The kernel with a branch where a scalar that is carried around a loop becomes a better value."""
    return replace(kernel, body=_inside(kernel.body, frozenset()))


def _inside(block: Block, carried: frozenset[str]) -> Block:
    return with_body(block, [_branching(x, carried) for x in block.body])


def _branching(stmt: Stmt, carried: frozenset[str]) -> Stmt:
    """The statement with branches where the scalars that are `carried` around its loop become better."""
    match stmt:
        case For(facts=facts) if facts.simd or facts.parallel or facts.instruction or facts.stream:
            return stmt
        case For(body=body):
            most = longest(stmt)
            often = most is None or most >= MANY
            return replace(stmt, body=_inside(body, _stored_once(body) if often else frozenset()))
        case Assign(array=array, index=(), value=value) if array in carried:
            found = conditional_store(value, Load(array, (), type_of(value)))
            if found is None:
                return stmt
            made = If(found.guard, Block((replace(stmt, value=found.value),)), span=stmt.span)
            return made if stores_best(made) else stmt
        case _:
            return with_blocks(stmt, [_inside(x, carried) for x in blocks_of(stmt)])


def _stored_once(body: Block) -> frozenset[str]:
    """The arrays that one statement stores to: what is set back, decays or is clamped becomes better ever again."""
    stored = Counter(x.array for x in walk(body) if isinstance(x, Assign | Reduce))
    return frozenset(x for x, count in stored.items() if count == 1)


def stores_best(stmt: Stmt) -> bool:
    """Whether a value is stored to a scalar where it compares with that as it has to: both in the same way."""
    match stmt:
        case If(condition=condition, then=Block(body=(Assign(index=()) as store,)), otherwise=Block(body=())):
            return _is_better(condition, store.value, Load(store.array, (), type_of(store.value)))
        case _:
            return False


def _is_better(x: Expr, value: Expr, best: Load) -> bool:
    match x:
        case Unary(op="not", operand=inner):
            return _is_better(inner, value, best)
        case Compare(op="lt" | "le" | "gt" | "ge", left=left, right=right) if best not in loads(value):
            return not isinstance(value, Const) and any(
                best in loads(b) and best not in loads(a) and map_expr(lambda y: best if y == value else y, a) == b
                for a, b in ((left, right), (right, left))
            )
        case _:
            return False


def spell_condition(stmt: If, context: EmitContext) -> str:
    """The condition of a branch in C."""
    text = emit_expr(stmt.condition, context)
    return f"planish_seldom({text})" if stores_best(stmt) else text
