"""Packing: table elements that are far apart and reread are copied once, side by side.

Before: for t { for j { x[t, j] *= w[j, 0] } }      (rows of w are long)
After:  for j { w_table[j] = w[j, 0] };  for t { for j { x[t, j] *= w_table[j] } }

>>> from planish.ir.text.parser import parse_kernel
>>> from planish.ir.text.printer import print_stmt
>>> loops = "for t in 0 .. m { for j in 0 .. n { x[t, j] *= w[j, 0] } }"
>>> kernel = parse_kernel("kernel k(m, n, s; w: f32[?, s], x: f32[m, n]) { %s }" % loops)
>>> print(print_stmt(copy_tables(kernel).body), end="")
{
  alloc w_table: f32[n] distinct
  if 0 < m {
    for j_2 in 0 .. n {
      w_table[j_2] = w[j_2, 0]
    }
  }
  for t in 0 .. m {
    for j in 0 .. n {
      x[t, j] *= w_table[j]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planish.core.names import take_name
from planish.ir.expr import Binary, Compare, Expr, Load, Select, Var, index, type_of
from planish.ir.index.polynomial import coefficient_of, constant, place
from planish.ir.nest import Alloc, Array, Assign, Block, For, If, Kernel, Reduce, Stmt
from planish.ir.traverse import expressions, loads, map_expr, map_exprs, used_names, variables, walk, walk_expr
from planish.ir.types import BOOL, INDEX
from planish.poly.isl.expression import conjunction


def copy_tables(kernel: Kernel) -> Kernel:
    """The kernel that reads copies of the elements that are far apart; itself where there are no such."""
    stored = {x.array for x in walk(kernel.body) if isinstance(x, Assign | Reduce)}
    copying = _Copying({x.name for x in kernel.arrays} - stored, {*kernel.sizes}, {*used_names(kernel)})
    body = copying.visit(kernel.body, ())
    return replace(kernel, body=Block((*copying.before, *body.body))) if copying.before else kernel


@dataclass(slots=True)
class _Copying:
    """A kernel on its way: the arrays that stay as they are, its sizes and names; copies, and what makes them."""

    fixed: set[str]
    sizes: set[str]
    taken: set[str]
    copies: dict[tuple[Load, Expr], str] = field(default_factory=dict)
    before: list[Stmt] = field(default_factory=list)

    def visit(self, block: Block, around: tuple[For, ...]) -> Block:
        """A block inside of some loops; what stands in conditions need not run."""
        out: list[Stmt] = []
        for stmt in block.body:
            match stmt:
                case For():
                    out.append(replace(stmt, body=self.visit(stmt.body, (*around, stmt))))
                case Block():
                    out.append(self.visit(stmt, around))
                case Assign() | Reduce() if self.are_known(around) and not chooses(stmt):
                    out.append(map_exprs(lambda e: map_expr(lambda x: self.read(x, around), e), stmt))
                case _:
                    out.append(stmt)
        return Block(tuple(out))

    def are_known(self, around: Sequence[For]) -> bool:
        """Whether some loops, two at least, run from 0 by one to where sizes tell."""
        bounds = all(x.step == 1 and constant(x.lower) == 0 and variables(x.upper) <= self.sizes for x in around)
        return len(around) > 1 and bounds

    def read(self, expr: Expr, around: Sequence[For]) -> Expr:
        """What is read: from the copy, where it is an element of those that one loop goes through and others again."""
        if not isinstance(expr, Load) or not expr.index or any(x.array not in self.fixed for x in loads(expr)):
            return expr
        used = frozenset().union(*map(variables, expr.index)) - self.sizes
        moving = next((x for x in around if {x.var} == used), None)
        if moving is None or not _is_apart(expr, moving.var):
            return expr
        key = replace(expr, index=tuple(place(x, {moving.var: Var("", INDEX)}) for x in expr.index)), moving.upper
        if key not in self.copies:
            self.copies[key] = self.copied(expr, moving, [x for x in around if x is not moving])
        return Load(self.copies[key], (Var(moving.var, INDEX),), expr.type)

    def copied(self, load: Load, moving: For, others: Sequence[For]) -> str:
        """The name of the copy, which is made if the loops around run at all."""
        name, var = take_name(f"{load.array}_table", self.taken), take_name(moving.var, self.taken)
        at = Var(var, INDEX)
        value = replace(load, index=tuple(place(x, {moving.var: at}) for x in load.index))
        loop = For(var, moving.lower, moving.upper, 1, Block((Assign(name, (at,), value),)))
        runs = conjunction(Compare("lt", index(0), x.upper) for x in others)
        self.before += [Alloc(Array(name, load.type, (moving.upper,), distinct=True)), If(runs, Block((loop,)))]
        return name


def chooses(stmt: Assign | Reduce) -> bool:
    """Whether a statement may leave out some of what it reads, which then need not be there."""
    parts = (x for e in expressions(stmt) for x in walk_expr(e))
    return any(isinstance(x, Select) or (isinstance(x, Binary) and type_of(x) == BOOL) for x in parts)


def _is_apart(load: Load, var: str) -> bool:
    """Whether a loop does not go through elements that lie one after the other."""
    moved = coefficient_of(load.index[-1], var)
    return moved is None or moved[0] not in (1, -1) or any(var in variables(x) for x in load.index[:-1])
